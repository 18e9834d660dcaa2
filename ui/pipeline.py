"""Cached calls of the core, keyed by frozen scenarios and bounded in bytes.

A run on bundled trips is the same for everybody, so it is shared between sessions. A run on
a user's file belongs to that user: it is kept in the session and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import replace
from typing import Any, Final, TypeVar

import streamlit as st

from ldpcore.comparison import measured_error
from ldpcore.domain import Area
from ldpcore.errors import ParameterError
from ldpcore.metrics import Figures
from ldpcore.population import Population, population_of
from ldpcore.release import Release
from ldpcore.scenario import run_population
from ldpcore.settings import Scenario
from ldpcore.trips.table import TripTable
from ui.run_cache import RunCache

_Made = TypeVar("_Made")

TRIPS_KEY: Final = "own_trips"
AREA_KEY: Final = "own_area"
_SESSION_RUNS: Final = "_own_runs"
_SHARED_BYTES: Final = 384 * 2**20
_SESSION_BYTES: Final = 96 * 2**20


def own_trips() -> TripTable | None:
    """Return the file the user loaded in this session, if any."""
    table: TripTable | None = st.session_state.get(TRIPS_KEY)
    return table


def get_population(scenario: Scenario) -> Population:
    """Return what the devices hold; the settings that don't touch the trips are not part of the key."""
    part = trips_part(scenario)

    def make() -> Population:
        if part.synthetic:
            with st.spinner("Making the trips"):
                return population_of(part)
        return population_of(part, _require_trips(part), area=_own_area(part))

    population: Population = _runs(part).get(("population", part), make)
    return population


def population_source(scenario: Scenario) -> Callable[[Scenario], Population]:
    """Return a function that gives the devices of scenarios about the same trips, and may be called from any thread.

    What it makes is kept where `get_population` keeps it.

    Raises
    ------
    ParameterError
        If the scenario needs a file or an outline that this session doesn't hold.
    """
    runs = _runs(scenario)
    trips = None if scenario.synthetic else _require_trips(scenario)
    area = _own_area(scenario)

    def give(wanted: Scenario) -> Population:
        part = trips_part(wanted)
        made: Population = runs.get(("population", part), lambda: population_of(part, trips, area=area))
        return made

    return give


def get_release(scenario: Scenario) -> Release:
    """Return the run of a scenario."""
    release: Release = _runs(scenario).get(
        ("release", scenario), lambda: run_population(scenario, get_population(scenario))
    )
    return release


def get_figures(scenario: Scenario) -> Figures:
    """Return the figures of a run, kept without its cells: many redraws of a fine grid would fill the cache."""

    def make() -> Figures:
        return run_population(scenario, get_population(scenario)).figures

    figures: Figures = _runs(scenario).get(("figures", scenario), make)
    return figures


def kept(scenario: Scenario, key: Hashable, make: Callable[[], _Made]) -> _Made:
    """Return what a page worked out for a scenario, made if it is not there; kept where the scenario's runs are."""
    made: _Made = _runs(scenario).get(("kept", key, scenario), make)
    return made


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
    errors: tuple[float, ...] = _runs(part).get((f"errors of {count}", part), lambda: _errors(part, count))
    return errors


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


def runs_of(scenario: Scenario) -> RunCache[Any]:
    """Return the cache that a page keeps what it made of a scenario in, also for a thread that has no session."""
    return _runs(scenario)


def _runs(scenario: Scenario) -> RunCache[Any]:
    """Return the cache a run belongs to: everybody's for bundled trips, the session's for a user's file."""
    if scenario.synthetic:
        return _shared_runs()
    cache: RunCache[Any] = st.session_state.setdefault(_SESSION_RUNS, RunCache(_SESSION_BYTES))
    return cache


@st.cache_resource(show_spinner=False)
def _shared_runs() -> RunCache[Any]:
    return RunCache(_SHARED_BYTES)


def _own_area(scenario: Scenario) -> Area | None:
    """Return the outline the user loaded, where the scenario is about it."""
    held: tuple[str, Area] | None = st.session_state.get(AREA_KEY)
    if scenario.area is None:
        return None
    if not scenario.area.startswith("polygon:"):
        if scenario.area.count(",") != 3:
            # On the command line this may be a path; here it would name a file of the server.
            raise ParameterError(
                "area",
                "An area is written W,S,E,N in degrees, such as 10.6,59.8,10.9,60.0; load an outline as a file.",
            )
        return None
    if held is None or held[0] != scenario.area:
        raise ParameterError(
            "area",
            "This scenario needs the outline of its service area, which a link doesn't carry. Load it again.",
        )
    return held[1]


def _require_trips(scenario: Scenario) -> TripTable:
    table = own_trips()
    if table is None or table.digest != scenario.trips:
        raise ParameterError(
            "trips", "This scenario needs its trip file, which a link doesn't carry. Load it again."
        )
    return table
