"""The link: the address bar holds the whole scenario, and the run that was left comes back.

A link that somebody edited still opens; what can't be used is named. Switching between a bundled
city and an own file, or going back in the browser, returns to just the run that was there.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, Final

import streamlit as st

from ldpcore.schedule import Schedule
from ldpcore.settings import DAYS, DEFAULT, Scenario
from ui.pipeline import own_trips
from ui.schedule import get_schedule, set_schedule
from ui.upload import WANTED_KEY

SCENARIO_KEY: Final = "scenario"
SOURCE_KEY: Final = "set_source"
BUNDLED, OWN_FILE = "A bundled city", "Your own file"
EVERY_DAY: Final = "every"
WHOLE_DAY: Final = -1
EXTRA_PARAMS: Final = (
    "cell",
    "colours",
    "raw",
    "report",
    "server",
    "prefer",
    "count",
    "error",
    "columns",
    "crs",
    "first",
    "second",
    "fault",
    "off",
    "figure",
    "useful",
    "lines",
    "utility",
    "try_epsilons",
    "try_resolutions",
    "redraws",
    "watch",
    "fall_back",
    "coarsest",
    "phone",
    "days",
    "prior",
    "after",
    "level",
    "step",
    "class",
    "spoilers",
    "yes",
    "toss",
    "crowd",
    "place",
    "invert",
    "clamp",
    "finer",
    "repeats",
    "memory",
    "belief",
    "fakes",
    "beside",
)
"""Choices of the view that a link carries beside the scenario.

Online tiles are not among them: whoever opens a link must not ask another host without having chosen to.
"""

_STARTED: Final = "_started"
_WRITTEN: Final = "_written_link"
_KEPT: Final = "_kept_scenarios"
_SOURCE_BEFORE: Final = "_source_before"


def session_started() -> bool:
    """Return whether the frame has opened a link in this session."""
    return bool(st.session_state.get(_STARTED))


def start_session() -> list[str]:
    """Fill the controls from the link at the first run of a session.

    Returns
    -------
    One sentence for each setting of the link that can't be used.
    """
    if st.session_state.get(_STARTED):
        return []
    st.session_state[_STARTED] = True
    return _open_link()


def _open_link() -> list[str]:
    state = st.session_state
    params = {name: st.query_params[name] for name in st.query_params}
    scenario, problems = Scenario.from_params(params)
    for name in EXTRA_PARAMS:
        state[f"view_{name}"] = params.get(name, "")
    schedule, schedule_problems = Schedule.from_params(params)
    open_scenario(scenario, schedule)
    return problems + schedule_problems


def open_scenario(scenario: Scenario, schedule: Schedule) -> None:
    """Put a scenario and its schedule in the place of those in force; call before they are drawn, or from a callback.

    A scenario on a user's file that is not loaded waits for it.
    """
    state = st.session_state
    table = own_trips()
    state.pop(WANTED_KEY, None)
    if scenario.trips is not None and (table is None or table.digest != scenario.trips):
        state[WANTED_KEY] = scenario.trips
    set_controls(scenario)
    for key in ("options_text", "_options_error"):
        state.pop(key, None)  # words about the randomiser that was chosen before
    set_schedule(schedule)
    state[_SOURCE_BEFORE] = state[SOURCE_KEY]


def set_controls(scenario: Scenario) -> None:
    """Put a scenario into the controls; call before they are drawn, or from a callback."""
    st.session_state.update(control_values(scenario))
    st.session_state[SOURCE_KEY] = BUNDLED if scenario.synthetic else OWN_FILE
    st.session_state[SCENARIO_KEY] = scenario


def control_values(scenario: Scenario) -> dict[str, Any]:
    """Return what each control holds for a scenario, by session key."""
    values = {f"set_{field.name}": getattr(scenario, field.name) for field in fields(scenario)}
    values["set_day"] = scenario.day or (DAYS[0] if scenario.synthetic else EVERY_DAY)
    values["set_hour"] = WHOLE_DAY if scenario.hour is None else scenario.hour
    return values


def remember_link(scenario: Scenario) -> None:
    """Write the scenario and the choices of the view to the address bar."""
    if st.session_state.get(WANTED_KEY):
        return  # the link still waits for its file
    params = link_params(scenario)
    if dict(st.query_params) != params:
        st.query_params.from_dict(params)
    st.session_state[_WRITTEN] = params


def follow_history() -> list[str]:
    """Open the link of the address bar where the reader went back to one.

    Going to another page empties the address, which is no link.
    """
    now = dict(st.query_params)
    if not now or now == st.session_state.get(_WRITTEN, now):
        return []
    return _open_link()


def follow_source() -> None:
    """Put the run back that was left where the reader switches between a city and their own file."""
    state = st.session_state
    source = state[SOURCE_KEY]
    before = state.get(_SOURCE_BEFORE, source)
    state[_SOURCE_BEFORE] = source
    if source == before:
        return
    state.pop(WANTED_KEY, None)
    current: Scenario = state[SCENARIO_KEY]
    kept: dict[str, Scenario] = state.setdefault(_KEPT, {})
    if current.synthetic == (before == BUNDLED):
        kept[before] = current
    target = kept.get(source)
    table = own_trips()
    if source == OWN_FILE and (target is None or table is None or target.trips != table.digest):
        return
    if target is None:
        city = current.city or DEFAULT.city
        target = replace(current, trips=None, area=None, timezone=None, city=city)
    state.update(control_values(target))
    state[SCENARIO_KEY] = target


def link_params(scenario: Scenario) -> dict[str, str]:
    """Return what the address bar holds: the scenario, the schedule and the choices of the view."""
    params = scenario.to_params() | get_schedule().to_params()
    for name in EXTRA_PARAMS:
        value = st.session_state.get(f"view_{name}")
        if value:
            params[name] = str(value)
    return params
