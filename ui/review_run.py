"""Running the checks of a report: by a click, with progress, and stopped by another click.

The evidence is kept in the session, bounded in bytes and by scenario, schedule and level; the report is written from it
anew with every statement that changes.
"""

from __future__ import annotations

import time
from typing import Final

import streamlit as st

from ldpcore.errors import ParameterError, TripFileError
from ldpcore.review import LEVELS, Evidence, gather
from ldpcore.schedule import Schedule
from ldpcore.settings import Scenario
from ui.pipeline import get_population
from ui.run_cache import RunCache
from ui.scenario import halt
from ui.view_choice import keep_choice, one_of, open_choice

LEVEL_KEY: Final = "review_level"
RUN_KEY: Final = "review_run"
LEVEL_WORDS: Final = {"quick": "Quick: under half a minute", "full": "Full: a minute or more"}
_KEPT: Final = "_review_evidence"
_RUNNING: Final = "_review_running"
_KEPT_BYTES: Final = 64 * 2**20
_REDRAW_S: Final = 0.15


def choose_level() -> str:
    """Draw the choice of the level, which the link carries."""
    open_choice("level", LEVEL_KEY, default="quick", read=one_of(LEVELS), must="one of " + ", ".join(LEVELS))
    level = st.segmented_control(
        "How much to try",
        list(LEVELS),
        format_func=LEVEL_WORDS.__getitem__,
        key=LEVEL_KEY,
        required=True,
        help="Full redraws the coins ten times as often and attacks the client with 25 times as many reports.",
    )
    level = level or "quick"
    keep_choice("level", level, "quick")
    return level


def held_evidence(scenario: Scenario, schedule: Schedule, level: str) -> Evidence | None:
    """Return the evidence of these settings if it was gathered in this session."""
    return _kept().peek((scenario, schedule, level))


def run_checks(scenario: Scenario, schedule: Schedule, level: str) -> None:
    """Gather the evidence while telling how far it is, then draw the page again.

    A click on anything ends Streamlit's run of the page at its next sign of progress, and with it the checks.
    """
    state = st.session_state
    state[_RUNNING] = True
    bar = st.progress(0.0, "Starting")
    st.button("Stop", key="review_stop", help="What was tried so far is dropped.")
    shown, last = "", 0.0

    def told(done: int, total: int, sentence: str) -> None:
        nonlocal shown, last
        now = time.monotonic()
        if sentence == shown and now - last < _REDRAW_S:
            return
        shown, last = sentence, now
        bar.progress(done / total, f"{sentence[0].upper()}{sentence[1:]} ({done} of {total} steps done)")

    try:
        evidence = gather(
            scenario, schedule=schedule, level=level, population_at=get_population, progress=told
        )
    except (ParameterError, TripFileError) as error:
        state.pop(_RUNNING, None)
        halt(error, titled=True)
    _kept().get((scenario, schedule, level), lambda: evidence)
    state.pop(_RUNNING, None)
    st.rerun()


def was_stopped() -> bool:
    """Tell, once, whether the last run of the checks was ended before it was done."""
    return bool(st.session_state.pop(_RUNNING, False))


def _kept() -> RunCache[Evidence]:
    cache: RunCache[Evidence] = st.session_state.setdefault(_KEPT, RunCache(_KEPT_BYTES))
    return cache
