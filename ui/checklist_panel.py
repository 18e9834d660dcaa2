"""The guide's checklist as a panel: run on a button, with its evidence, under the scenario and schedule in force.

The client draws its coins from the operating system, so these are the only figures that a link does not
bring back; the panel says so.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from html import escape
from typing import Final, NamedTuple

import streamlit as st

from ldpcore.checklist import FAILURE, ITEMS, Check, Publishing, checked_mechanism, checklist
from ldpcore.errors import ParameterError
from ldpcore.mechanisms import Mechanism
from ldpcore.schedule import Schedule
from ldpcore.settings import Scenario
from ui.controls import note
from ui.number_words import count_of, thousands
from ui.pipeline import get_population
from ui.schedule import get_schedule

RESULT_KEY: Final = "_checklist"
"""Session key of the last result: a pair of `_Subject` and its checks."""


class _Subject(NamedTuple):
    """What is checked; another one makes an old result out of date."""

    mechanism: Mechanism
    cells: int
    schedule: Schedule
    rules: Publishing
    seed: int


def checklist_panel(scenario: Scenario) -> None:
    """Draw the panel: a button, then what was found. Draw it last on a page, and not inside a fragment.

    Parameters
    ----------
    scenario
        Gives the randomiser, the number of cells and the rules of publishing. The schedule is the session's.
    """
    cells = get_population(scenario).domain.size
    try:
        mechanism = checked_mechanism(scenario, cells)
    except ParameterError as error:
        st.error(str(error))
        return
    rules = Publishing(scenario.floor, scenario.confidence, scenario.correction, scenario.interval)
    _panel(_Subject(mechanism, cells, get_schedule(), rules, scenario.seed))


def checklist_result() -> list[Check] | None:
    """Return what the panel found last in this session, or None if it has not run."""
    kept: tuple[_Subject, list[Check]] | None = st.session_state.get(RESULT_KEY)
    return None if kept is None else kept[1]


def _panel(subject: _Subject) -> None:
    made = subject.mechanism
    over = f"{thousands(made.domain_size)} cells"
    if made.domain_size < subject.cells:
        over = f"{over} in place of {thousands(subject.cells)}, so that it ends in seconds"
    note(
        f"Six checks of the program that ships on a phone and of the estimator that reads it: {made.label} at "
        f"ε = {made.epsilon:g} over {over}. The phone's coins have no seed, so figures differ from run to run; a right "
        f"program fails at most once in {1 / FAILURE:,.0f} runs."
    )
    with st.container(horizontal=True, vertical_alignment="center"):
        started = st.button("Run the six checks", key="checklist_run")
        stop = st.empty()
    waiting, shown = st.empty(), st.empty()
    if started:
        # A click anywhere ends the running script at its next word about progress; this one says so. (In a
        # fragment it would wait for the end.)
        stop.button("Stop", key="checklist_stop")
        st.session_state.pop(RESULT_KEY, None)
        bar = waiting.progress(0.0)
        found: list[Check] = []

        def tell(share: float) -> None:
            bar.progress((len(found) + share) / len(ITEMS), f"Check {len(found) + 1} of {len(ITEMS)}")

        running = checklist(
            made, schedule=subject.schedule, rules=subject.rules, seed=subject.seed, progress=tell
        )
        for _ in ITEMS:
            tell(0.0)
            found.append(next(running))
            shown.html(checks_html(found))
        waiting.empty()
        stop.empty()
        st.session_state[RESULT_KEY] = (subject, found)
    kept: tuple[_Subject, list[Check]] | None = st.session_state.get(RESULT_KEY)
    if kept is None:
        return
    before, checks = kept
    failed = sum(not check.passed for check in checks)
    verdict = f"All {len(checks)} checks passed." if not failed else f"{count_of(failed, 'check')} failed."
    shown.html(f"<p><b>{verdict}</b></p>" + checks_html(checks))
    if before != subject:
        st.warning("This was found under other settings; run the checks again for those in force.")
    st.download_button(
        "Evidence as JSON",
        json.dumps([asdict(check) for check in checks], indent=1),
        file_name="checklist.json",
        mime="application/json",
        key="checklist_file",
    )


def checks_html(checks: list[Check]) -> str:
    """Return checks as a list: passed or failed in words, the claim, the evidence."""
    rows = "".join(
        f'<li class="{"held" if check.passed else "broken"}"><span class="verdict">'
        f"{'Passed' if check.passed else 'Failed'}</span><div><h4>{escape(check.item)}</h4>"
        f"<p>{escape(check.evidence)}</p></div></li>"
        for check in checks
    )
    return f'<ol class="checks">{rows}</ol>'
