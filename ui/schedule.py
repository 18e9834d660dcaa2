"""The budget: what a device spends in all, always in view, and the schedule that decides it.

The schedule stands beside the scenario in the link and in the session; moving it runs nothing again.
"""

from __future__ import annotations

from html import escape
from typing import Final

import streamlit as st

from ldpcore.errors import ParameterError
from ldpcore.plain_numbers import plain
from ldpcore.population import UNITS
from ldpcore.privacy.composition import LIFETIME_DAYS, MEMO_CAVEAT, device_loss
from ldpcore.schedule import AT_CAP, DEFAULT_SCHEDULE, Schedule
from ldpcore.settings import Scenario
from ldpcore.trips.cities import CITIES
from ui.glossary import explained
from ui.number_words import thousands

SCHEDULE_KEY: Final = "schedule"
SPANS: Final = (("a day", 1), ("a week", 7), ("two years", LIFETIME_DAYS))
"""Spans the budget is shown for, and their days."""
_CONTROLS: Final = ("reports_a_day", "memo", "cap", "epoch_days", "at_cap")


def get_schedule() -> Schedule:
    """Return the schedule in force; the default where a page runs alone."""
    schedule: Schedule = st.session_state.get(SCHEDULE_KEY, DEFAULT_SCHEDULE)
    return schedule


def set_schedule(schedule: Schedule) -> None:
    """Put a schedule into the controls; call before they are drawn, or from a callback."""
    st.session_state[SCHEDULE_KEY] = schedule
    st.session_state.update({f"sched_{name}": getattr(schedule, name) for name in _CONTROLS})


def budget_meter(scenario: Scenario, schedule: Schedule, *, unit: str) -> str:
    """Return the budget as HTML: the total of the unit, then what a device spends in a day, a week and two years.

    Parameters
    ----------
    scenario, schedule
        What one report costs, and how often it is made.
    unit
        ``"device"`` or ``"trip"``, a key of `UNITS`. Where a file names no person, nothing bounds what a person spends,
        and the meter says so instead of adding up.
    """
    if unit == "trip":
        return (
            f'<p class="budget"><b>Total ε {scenario.epsilon:g}</b> for {escape(UNITS[unit])}.</p>'
            '<p class="quiet">Nothing bounds what a person spends: each of their trips costs ε '
            f"{scenario.epsilon:g}. A file with a column for the person makes the device the unit.</p>"
        )
    losses = [(words, device_loss(scenario.epsilon, schedule, days=days)) for words, days in SPANS]
    rows = "".join(
        f'<tr><td>{words}</td><td title="{escape(loss.formula)}">{_total(loss.epsilon)}</td></tr>'
        for words, loss in losses
    )
    reports = schedule.reports_a_day
    covered = f"one device for one day: {thousands(reports)} reports" if reports > 1 else UNITS[unit]
    caveat = "" if all(loss.pattern_hidden for _, loss in losses) else f" {MEMO_CAVEAT}"
    return (
        f'<p class="budget"><b>Total ε {_total(losses[0][1].epsilon)}</b> for {escape(covered)}.</p>'
        f'<table class="meter"><caption>One device at most spends</caption><tbody>{rows}</tbody></table>'
        f'<p class="quiet">{escape(_rule(schedule))}{escape(caveat)}</p>'
    )


def standing_line(scenario: Scenario, schedule: Schedule, *, unit: str, class_seed: int | None = None) -> str:
    """Return the line above every page as HTML: the total epsilon, its unit, the place and the seed.

    Parameters
    ----------
    scenario, schedule, unit
        As for `budget_meter`.
    class_seed
        The number a class shares, where the page draws its coins from it instead of the scenario's seed and redraw.
    """
    total, covered = scenario.epsilon, "one trip"
    if unit == "device":
        total, covered = device_loss(scenario.epsilon, schedule, days=1).epsilon, "one device for one day"
    known = scenario.synthetic and scenario.city is not None
    place = CITIES[str(scenario.city)].label if known else "your own file"
    coins = f"seed {scenario.seed}, redraw {scenario.draw}" if class_seed is None else f"class {class_seed}"
    return f'<p class="standing"><b>Total ε {_total(total)}</b> for {covered}<span> · {escape(place)} · {coins}</span></p>'


def _total(epsilon: float) -> str:
    return plain(epsilon, 4) if epsilon < 9999 else thousands(epsilon)


def _rule(schedule: Schedule) -> str:
    if not schedule.memo:
        return "Every report is drawn afresh, so each costs its ε."
    days = "day" if schedule.epoch_days == 1 else f"{schedule.epoch_days} days"
    cells = "1 cell" if schedule.cap == 1 else f"{schedule.cap} cells"
    return f"One answer per cell, drawn anew every {days}, at most {cells} in between."


def schedule_controls() -> Schedule:
    """Draw the controls of the schedule and return what they say; an emptied box keeps its last value."""
    state = st.session_state
    last = get_schedule()
    # Streamlit forgets a control that a run didn't draw.
    for name in _CONTROLS:
        state.setdefault(f"sched_{name}", getattr(last, name))
    st.number_input(
        "Reports a day",
        value=None,
        step=1,
        key="sched_reports_a_day",
        help=explained("Of one device. 288 is every five minutes.", 7),
    )
    st.toggle(
        "Remember the answer per cell",
        key="sched_memo",
        help=explained(
            "Memoisation: within an epoch the same cell gives the same answer again, at no further cost.", 7
        ),
    )
    memo = bool(state["sched_memo"])
    left, right = st.columns(2, gap="small")
    with left:
        st.number_input(
            "Cap on cells",
            value=None,
            step=1,
            key="sched_cap",
            disabled=not memo,
            help=explained("Distinct cells a device reports in one epoch at most.", 7),
        )
    with right:
        st.number_input(
            "Epoch, days",
            value=None,
            step=1,
            key="sched_epoch_days",
            disabled=not memo,
            help=explained("After so many days the remembered answers are drawn anew.", 7),
        )
    st.selectbox(
        "At the cap a device",
        list(AT_CAP),
        format_func=AT_CAP.__getitem__,
        key="sched_at_cap",
        disabled=not memo,
        help=explained(
            "Silence shows that the cap was hit; replaying hides that and biases the counts a little.", 7
        ),
    )
    settings = {name: state[f"sched_{name}"] for name in _CONTROLS}
    emptied = [name for name, value in settings.items() if value is None]
    settings |= {name: getattr(last, name) for name in emptied}
    try:
        schedule = Schedule(**settings)
    except ParameterError as error:
        st.error(str(error))
        schedule = last
    if emptied:
        st.error("Enter a number; until then the last one is used.")
    state[SCHEDULE_KEY] = schedule
    return schedule
