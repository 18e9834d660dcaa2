"""The top of the Device page: its sentence, its choices and its four figures."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Final

import numpy as np
import streamlit as st

from ldpcore.schedule import Schedule
from ldpcore.settings import DEFAULT, Scenario
from ldpcore.trips.cities import CITIES, city_domain
from ldpcore.week import FRESH, REPLAY, SILENT, Week
from ldpcore.whereabouts import OUTSIDE
from ui.controls import note
from ui.device_data import (
    DAYS,
    PHONES_TO_CHOOSE,
    PRIORS,
    Setting,
    days_offered,
    get_week,
    setting_of,
)
from ui.headline import Figure, figures_html
from ui.number_words import count_of, thousands, unbroken
from ui.schedule import get_schedule, set_schedule
from ui.view_choice import keep_choice, one_of, open_choice, whole, whole_of

PHONE_KEY, DAYS_KEY, PRIOR_KEY = "device_phone", "device_days", "device_prior"
CADENCES: Final = {1: "Once a day", 24: "Every hour", 288: "Every 5 minutes"}
OTHER_CADENCE: Final = "As in the budget"
HEADLINE_NOTE: Final = (
    "A report is one randomised answer. Fresh: drawn anew each time. Memory (memoisation): one answer per cell, repeated until "
    "the epoch ends. The phone is simulated and runs the shipped phone code; its coins are seeded, so that this link shows the "
    "same week again. A real phone takes its coins from the operating system."
)
"""The small print of the headline."""
NUDGE: Final = (
    "Once a day is a gentle schedule. Choose “Every 5 minutes” below to see why how often a phone answers matters as much as how "
    "well each answer is hidden."
)
"""Where to look first."""


@dataclass(frozen=True, slots=True)
class View:
    """The phone that is looked at, and what it did."""

    setting: Setting
    week: Week

    @property
    def span(self) -> str:
        """The days in words."""
        return "week" if self.setting.days == 7 else f"{self.setting.days} days"


def is_dark() -> bool:
    """Return whether the reader's page is dark."""
    return st.context.theme.type == "dark"


def ask(scenario: Scenario) -> View:
    """Draw the sentence and the choices of the page, and return the phone they name."""
    top = st.container()
    schedule = get_schedule()
    if not scenario.synthetic:
        city = CITIES[scenario.city or DEFAULT.city or ""].label
        st.info(
            f"Your file stays out of this page: it follows a simulated phone, in {city}, with your settings for privacy."
        )
    open_choice(
        "phone",
        PHONE_KEY,
        default=0,
        read=whole(0, PHONES_TO_CHOOSE - 1),
        must=f"a whole number from 0 to {PHONES_TO_CHOOSE - 1}",
    )
    offered = days_offered(schedule.reports_a_day)
    open_choice(
        "days",
        DAYS_KEY,
        default=DAYS[0],
        read=whole_of(offered),
        must="one of " + ", ".join(map(str, offered)),
    )
    if st.session_state[DAYS_KEY] not in offered:
        st.session_state[DAYS_KEY] = offered[0]
    open_choice(
        "prior",
        PRIOR_KEY,
        default="",
        read=one_of(PRIORS),
        must="one of " + ", ".join(name for name in PRIORS if name),
        used=f"“{PRIORS['']}”",
    )
    cadence, days, phone = st.columns([0.55, 0.25, 0.2], gap="medium", vertical_alignment="top")
    with cadence:
        _cadence(schedule)
    with days:
        st.segmented_control(
            "Days followed",
            offered,
            key=DAYS_KEY,
            required=True,
            width="stretch",
            help="From Monday on, so epochs of seven days begin with the first. Once a minute, a week is the most.",
        )
    with phone:
        st.number_input(
            "Phone",
            min_value=0,
            max_value=PHONES_TO_CHOOSE - 1,
            step=1,
            key=PHONE_KEY,
            help="One of 500 simulated people of this city, each with a home, work and usual places.",
        )
    state = st.session_state
    keep_choice("phone", state[PHONE_KEY], 0)
    keep_choice("days", state[DAYS_KEY], DAYS[0])
    keep_choice("prior", state[PRIOR_KEY], "")
    setting = setting_of(
        scenario, schedule, phone=state[PHONE_KEY] or 0, days=state[DAYS_KEY], prior=state[PRIOR_KEY]
    )
    with st.spinner("Following the phone"):
        view = View(setting, get_week(setting))
    top.html(f'<h1 class="headline">{escape(unbroken(headline(view)))}</h1>')
    with top:
        note(HEADLINE_NOTE)
        if schedule.reports_a_day == 1:
            note(NUDGE)
    return view


def _cadence(schedule: Schedule) -> None:
    options = [*CADENCES.values()]
    now = CADENCES.get(schedule.reports_a_day, OTHER_CADENCE)
    if now == OTHER_CADENCE:
        options.append(OTHER_CADENCE)
    key = "device_cadence"
    st.session_state[key] = now

    def take() -> None:
        chosen = {words: count for count, words in CADENCES.items()}.get(st.session_state[key] or "")
        if chosen is not None:
            current = get_schedule()
            set_schedule(
                Schedule(
                    reports_a_day=chosen,
                    memo=current.memo,
                    cap=current.cap,
                    epoch_days=current.epoch_days,
                    at_cap=current.at_cap,
                )
            )

    st.segmented_control(
        "The phone reports",
        options,
        key=key,
        on_change=take,
        required=True,
        width="stretch",
        help="Memory, cap, epoch and any other cadence are set at the side, under “How often a device reports”.",
    )


def headline(view: View) -> str:
    """Return the answer in words."""
    week, schedule = view.week, view.setting.schedule
    epsilon = view.setting.scenario.epsilon
    times = count_of(week.sent_count, "time")
    in_span = f"in the {view.span}"
    fresh = f"{week.moments * epsilon:,.6g}"
    cells = count_of(week.distinct_cells, "cell")
    if not schedule.memo:
        return (
            f"This phone reported {times} {in_span}, from {cells}, and drew a fresh answer each time. "
            f"It spent ε = {fresh}{_no_guarantee(week.moments * epsilon)}."
        )
    spent = f"{week.spent[-1]:,.6g}"
    silent, replayed = week.count(SILENT), week.count(REPLAY)
    opening = f"This phone reported {times} {in_span}, from {cells}."
    if silent:
        opening = f"This phone was in {cells} {in_span}. It reported {times} and fell silent {count_of(silent, 'time')}, at its cap."
    elif replayed:
        opening = (
            f"This phone was in {cells} {in_span}. It reported {times}; {thousands(replayed)} of these repeat an older answer, "
            "because it was at its cap."
        )
    return (
        f"{opening} Fresh answers would spend ε = {fresh}; with memory and a cap of {schedule.cap} it spends at most "
        f"{spent}, for which cells they were, not when it moved."
    )


def _no_guarantee(total: float) -> str:
    return ", which guarantees nothing" if total > 20 else ""


def figures(view: View, *, fresh_success: str, memo_success: str, map_version: str) -> None:
    """Draw the four figures."""
    week, setting = view.week, view.setting
    epsilon, schedule = setting.scenario.epsilon, setting.schedule
    used = int(week.cells_so_far.max())
    silent, replayed = week.count(SILENT), week.count(REPLAY)
    beyond = (
        f"silent {count_of(silent, 'time')}"
        if silent
        else f"older answer {count_of(replayed, 'time')}"
        if replayed
        else "never reached"
    )
    epochs = int(week.epochs[-1]) + 1
    shown = (
        Figure(
            f"Reports in the {view.span}",
            thousands(week.sent_count),
            _drawn_words(week),
            "How often something was sent; only drawn answers cost privacy.",
        ),
        Figure(
            "Privacy spent (total ε)",
            f"{week.spent[-1]:,.6g}",
            f"{count_of(week.count(FRESH), 'answer')} × ε {epsilon:g}"
            + (f"; all fresh: {week.moments * epsilon:,.6g}" if schedule.memo else ""),
            "For which cells were reported. When the phone changed cell is not covered by any ε.",
        ),
        Figure(
            "Cells in one epoch",
            f"{used} of {schedule.cap}" if schedule.memo else f"{used}, no cap",
            f"cap {beyond} in {count_of(epochs, 'epoch')}"
            if schedule.memo
            else "without memory nothing is capped",
            "Different cells reported in the fullest epoch, against the cap.",
        ),
        Figure(
            "Its home named right",
            fresh_success,
            memo_success,
            "Probability that the best guess from these reports is right, over the phone's coins. With ±: simulated, "
            "half of the 95 % interval; else exact.",
        ),
    )
    st.html(figures_html(shown, map_version=map_version))


def _drawn_words(week: Week) -> str:
    """Return how many of the reports were drawn, and what the others are."""
    drawn, sent = week.count(FRESH), week.sent_count
    if drawn == sent:
        return "each drawn anew"
    return f"{thousands(drawn)} drawn, {thousands(sent - drawn)} repeats"


def share_here(view: View) -> np.ndarray:
    """Return (d,) the share of its time that the phone spent in each cell."""
    week = view.week
    size = city_domain(view.setting.city, view.setting.scenario.resolution).size
    inside = week.cells[week.cells != OUTSIDE]
    return np.bincount(inside, minlength=size) / week.moments
