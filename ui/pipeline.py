"""Cached calls of the core, keyed by frozen scenarios and bounded in number.

A run on bundled trips is the same for everybody, so it is shared between sessions. A run on
a user's file belongs to that user: it is kept in the session and nowhere else.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final, TypeAlias

import streamlit as st

from ldpcore.comparison import measured_error
from ldpcore.domain import Area
from ldpcore.errors import ParameterError
from ldpcore.population import Population, population_of
from ldpcore.release import Release
from ldpcore.scenario import run_population
from ldpcore.settings import Scenario
from ldpcore.trips.table import TripTable

TRIPS_KEY: Final = "own_trips"
AREA_KEY: Final = "own_area"
_SESSION_RUNS: Final = "_own_runs"
_KEPT_OWN_RUNS: Final = 32

_Made: TypeAlias = Population | Release | tuple[float, ...]
_Runs: TypeAlias = dict[tuple[str, Scenario], _Made]


def own_trips() -> TripTable | None:
    """Return the file the user loaded in this session, if any."""
    table: TripTable | None = st.session_state.get(TRIPS_KEY)
    return table


def get_population(scenario: Scenario) -> Population:
    """Return what the devices hold; the settings that don't touch the trips are not part of the key."""
    part = trips_part(scenario)
    if scenario.synthetic:
        return _shared_population(part)
    populations = _session_runs()
    key = ("population", part)
    if key not in populations:
        _keep(populations, key, population_of(part, _require_trips(scenario), area=_own_area(scenario)))
    return populations[key]  # type: ignore[return-value]


def get_release(scenario: Scenario) -> Release:
    """Return the run of a scenario."""
    if scenario.synthetic:
        return _shared_release(scenario)
    runs = _session_runs()
    key = ("release", scenario)
    if key not in runs:
        _keep(runs, key, run_population(scenario, get_population(scenario)))
    return runs[key]  # type: ignore[return-value]


def get_measured_errors(scenario: Scenario, *, first: int, count: int) -> tuple[float, ...]:
    """Return the typical error of one randomiser in `count` redraws from `first` on, in devices."""
    default = Scenario()
    # What happens after the estimate doesn't touch its error.
    part = replace(
        scenario,
        floor=default.floor,
        confidence=default.confidence,
        correction=default.correction,
        interval=default.interval,
        per_report=False,
        draw=first,
    )
    if scenario.synthetic:
        return _shared_errors(part, count)
    runs = _session_runs()
    key = (f"errors of {count}", part)
    if key not in runs:
        _keep(runs, key, _errors(part, count))
    return runs[key]  # type: ignore[return-value]


def _errors(part: Scenario, count: int) -> tuple[float, ...]:
    population = get_population(part)
    return tuple(
        measured_error(replace(part, draw=draw), population) for draw in range(part.draw, part.draw + count)
    )


def trips_part(scenario: Scenario) -> Scenario:
    """Return the scenario with every setting that doesn't touch the trips at its default."""
    default = Scenario()
    return replace(
        scenario,
        mechanism=default.mechanism,
        options=default.options,
        epsilon=default.epsilon,
        floor=default.floor,
        confidence=default.confidence,
        correction=default.correction,
        interval=default.interval,
        draw=default.draw,
    )


def forget_own_trips(*, keep_area: bool = False) -> None:
    """Drop the user's file and every run made of it.

    Parameters
    ----------
    keep_area
        Whether the outline of the service area stays, for the same file read another way.
    """
    if not keep_area:
        st.session_state.pop(AREA_KEY, None)
    st.session_state.pop(TRIPS_KEY, None)
    st.session_state.pop(_SESSION_RUNS, None)


@st.cache_resource(max_entries=24, show_spinner="Making the trips", hash_funcs={Scenario: repr})
def _shared_population(part: Scenario) -> Population:
    return population_of(part)


@st.cache_resource(max_entries=96, show_spinner=False, hash_funcs={Scenario: repr})
def _shared_release(scenario: Scenario) -> Release:
    return run_population(scenario, get_population(scenario))


def _own_area(scenario: Scenario) -> Area | None:
    """Return the outline the user loaded, where the scenario is about it."""
    held: tuple[str, Area] | None = st.session_state.get(AREA_KEY)
    if scenario.area is None or not scenario.area.startswith("polygon:"):
        return None
    if held is None or held[0] != scenario.area:
        raise ParameterError(
            "area",
            "This scenario needs the outline of its service area, which a link doesn't carry. Load it again.",
        )
    return held[1]


@st.cache_data(max_entries=512, show_spinner=False, hash_funcs={Scenario: repr})
def _shared_errors(part: Scenario, count: int) -> tuple[float, ...]:
    return _errors(part, count)


def _require_trips(scenario: Scenario) -> TripTable:
    table = own_trips()
    if table is None or table.digest != scenario.trips:
        raise ParameterError(
            "trips", "This scenario needs its trip file, which a link doesn't carry. Load it again."
        )
    return table


def _session_runs() -> _Runs:
    runs: _Runs = st.session_state.setdefault(_SESSION_RUNS, {})
    return runs


def _keep(runs: _Runs, key: tuple[str, Scenario], made: _Made) -> None:
    while len(runs) >= _KEPT_OWN_RUNS:
        runs.pop(next(iter(runs)))
    runs[key] = made
