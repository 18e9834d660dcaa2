"""The work behind the Trade-offs page: a sweep and its redraws on a thread of their own.

The page is drawn at once and looks in on the work while it goes on. Work that nobody looks at any more ends by
itself, so that a closed tab or another page costs nothing; what it had found by then is kept.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import zip_longest
from typing import Any, Final

import numpy as np
import pandas as pd
import streamlit as st

from ldpcore.deciles import error_by_decile
from ldpcore.errors import ParameterError, TripFileError
from ldpcore.population import Population
from ldpcore.settings import DEFAULT, Scenario
from ldpcore.sweep import Grid, Point, at_floor, sweep
from ldpcore.sweep_figures import Record, theory_figures
from ldpcore.sweep_grid import Settings
from ldpcore.top_list import ListRedraws, list_over_redraws
from ui.pipeline import population_source, runs_of
from ui.run_cache import RunCache

LEFT_AFTER_S: Final = 25.0
"""Seconds without a look after which the work ends; a browser slows the timers of a page that is out of sight."""

THEORY_POINTS: Final = 13
DECILE_REDRAWS: Final = 20
LIST_REDRAWS: Final = 100
_WORK: Final = "_tradeoff_work"


class State(StrEnum):
    """How a piece of work stands."""

    RUNNING = "running"
    DONE = "done"
    CANCELLED = "cancelled"
    LEFT = "left"


@dataclass(frozen=True, slots=True)
class Study:
    """What the page wants to know.

    Parameters
    ----------
    scenario
        The scenario in force, at redraw 0 and with counts drawn from their law, as the command line sweeps.
    grid
        Epsilon by resolution.
    lines
        Another grid for the lines, epsilon by something else; None where they are those of `grid`.
    """

    scenario: Scenario
    grid: Grid
    lines: Grid | None = None


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the work is: in words, as a share of its present step, and the time that step still takes."""

    step: str
    share: float
    seconds_left: float | None


@dataclass(eq=False)
class Work:
    """Runs a study.

    Parameters
    ----------
    study
        What to run.
    populate
        Gives the devices of a scenario, from any thread.
    kept
        Where finished figures are kept between pieces of work.
    """

    study: Study
    populate: Callable[[Scenario], Population]
    kept: RunCache[Any]
    state: State = State.RUNNING
    failed: str | None = None
    points: dict[int, Point] = field(default_factory=dict)
    line_points: dict[int, Point] = field(default_factory=dict)
    theory: dict[Any, list[Record]] = field(default_factory=dict)
    deciles: pd.DataFrame | None = None
    lists: ListRedraws | None = None
    progress: Progress = field(default_factory=lambda: Progress("Starting", 0.0, None))

    def __post_init__(self) -> None:
        self._stop = threading.Event()
        self._seen = time.monotonic()
        # What is known is on the page at its first drawing.
        self.points.update(self._known(self.study.grid))
        if self.study.lines is not None:
            self.line_points.update(self._known(self.study.lines))
        self._thread = threading.Thread(target=self._run, name="trade-offs", daemon=True)

    @property
    def running(self) -> bool:
        """Whether more is to come."""
        return self.state is State.RUNNING

    @property
    def current(self) -> Point | None:
        """The point of the scenario in force, once it is there."""
        here = self.study.scenario
        for point in list(self.points.values()):
            same = (here.epsilon, here.resolution)
            if (point.settings["epsilon"], point.settings["resolution"]) == same:
                return point
        return None

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def look(self) -> None:
        """Say that somebody still waits for this."""
        self._seen = time.monotonic()

    def cancel(self) -> None:
        """End as soon as the runs under way are done; what is finished stays."""
        if self.running:
            self.state = State.CANCELLED
        self._stop.set()

    def wait(self, seconds: float) -> None:
        """Wait for the end, at most some seconds."""
        self._thread.join(seconds)

    def _run(self) -> None:
        try:
            for _ in self._steps():
                if time.monotonic() - self._seen > LEFT_AFTER_S and self.running:
                    self.state = State.LEFT
                    self._stop.set()
                if self._stop.is_set():
                    return
        except (ParameterError, TripFileError) as error:
            self.failed = str(error)
        except Exception as error:  # noqa: BLE001 - a thread has nobody above it; the page tells what happened
            self.failed = f"The sweep stopped with {type(error).__name__}: {error}".rstrip(": ")
        finally:
            if self.running:
                self.state = State.DONE

    def _steps(self) -> Iterator[None]:
        """Do the work, most wanted first, and come up for air after each piece of it."""
        study = self.study
        # Theory needs no redraws, so its lines are drawn by turns with the dots, each line ahead of most of its dots.
        dots = self._sweep(study.grid, self.points, "Sweep of ε and resolution")
        for _ in zip_longest(self._theory(), dots):
            yield
        if study.lines is not None:
            yield from self._sweep(study.lines, self.line_points, "Sweep for the lines")
        if self.current is None or self.current.error is not None:
            return
        self.progress = Progress("Error by tenth of density", 0.0, None)
        key = ("deciles", study.scenario, DECILE_REDRAWS)
        self.deciles = self.kept.get(
            key,
            lambda: error_by_decile(study.scenario, self.populate(study.scenario), redraws=DECILE_REDRAWS),
        )
        yield
        self._lists()
        yield

    def _sweep(self, grid: Grid, points: dict[int, Point], step: str) -> Iterator[None]:
        names = _point_keys(grid)
        many = len(names)
        for place, name in enumerate(names):
            # Only what is published depends on the floor: at another one nothing is drawn again.
            held = None if place in points else self.kept.peek(name)
            if held is not None:
                scenario = _scenario_of(grid, grid.points()[place])
                points[place] = at_floor(held, scenario, self.populate(scenario))
                yield
        updates = sweep(grid, populate=self.populate, known=dict(points), cancelled=self._stop)
        for update in updates:
            for place, point in update.finished:
                points[place] = point
                if point.error is None:
                    _keep(self.kept, names[place], point)
            share = update.done / update.total if update.total else 1.0
            self.progress = Progress(
                f"{step}: {len(points)} of {many} combinations", share, update.seconds_left
            )
            yield

    def _known(self, grid: Grid) -> dict[int, Point]:
        found = ((place, self.kept.peek(key)) for place, key in enumerate(_point_keys(grid)))
        return {
            place: point
            for place, point in found
            if point is not None and point.settings["floor"] == dict(grid.points()[place])["floor"]
        }

    def _theory(self) -> Iterator[None]:
        study = self.study
        grid = study.lines or study.grid
        curves: dict[Any, Scenario] = {}
        for settings in grid.points():
            value = dict(settings)[line_axis(study)]
            if value not in curves:
                changed = {line_axis(study): value, "options": grid.options_for(dict(settings))}
                curves[value] = replace(study.scenario, **changed)
        epsilons = theory_epsilons(grid)
        for done, (value, scenario) in enumerate(curves.items()):
            if len(self.points) == len(study.grid.points()):  # else the sweep says how far it is
                self.progress = Progress("Theory between the points", done / len(curves), None)
            part = replace(scenario, epsilon=1.0)
            curve = self.kept.peek(("theory", part, epsilons))
            if curve is None:
                curve = self._curve(scenario, epsilons)
                if self._stop.is_set():
                    return  # cut short
                _keep(self.kept, ("theory", part, epsilons), curve)
            self.theory[value] = curve
            yield

    def _curve(self, scenario: Scenario, epsilons: tuple[float, ...]) -> list[Record]:
        """Return theory at some epsilons; none where the randomiser can't be made, which its points say."""
        try:
            population = self.populate(scenario)
            return [
                {"epsilon": epsilon, **theory_figures(replace(scenario, epsilon=epsilon), population)}
                for epsilon in epsilons
                if not self._stop.is_set()
            ]
        except (ParameterError, TripFileError):
            return []

    def _lists(self) -> None:
        key = ("lists", list_part(self.study.scenario), LIST_REDRAWS)
        known = self.kept.peek(key)
        if known is not None:
            self.lists = known
            return
        start = time.monotonic()

        def told(done: int) -> bool:
            rate = (time.monotonic() - start) / done
            self.progress = Progress(
                f"Redraws of the list: {done} of {LIST_REDRAWS}",
                done / LIST_REDRAWS,
                rate * (LIST_REDRAWS - done),
            )
            if time.monotonic() - self._seen > LEFT_AFTER_S:
                self.state = State.LEFT
                self._stop.set()
            return not self._stop.is_set()

        scenario = self.study.scenario
        lists = list_over_redraws(scenario, self.populate(scenario), redraws=LIST_REDRAWS, told=told)
        if lists.redraws == LIST_REDRAWS:
            _keep(self.kept, key, lists)
        self.lists = lists


def _keep(kept: RunCache[Any], key: Hashable, made: Any) -> None:  # noqa: ANN401 - points, curves, lists
    kept.get(key, lambda: made)


def theory_epsilons(grid: Grid) -> tuple[float, ...]:
    """Return the epsilons at which the lines of theory are worked out, ascending."""
    tried = grid.epsilons or (grid.base.epsilon,)
    between = np.geomspace(min(tried), max(tried), THEORY_POINTS)
    return tuple(sorted({*tried, *(float(f"{epsilon:.6g}") for epsilon in between[1:-1])}))


def line_axis(study: Study) -> str:
    """Return the setting that tells the lines apart."""
    if study.lines is None:
        return "resolution"
    return "mechanism" if study.lines.mechanisms else "devices"


def list_part(scenario: Scenario) -> Scenario:
    """Return the scenario with what doesn't touch the estimates at its default: the list is ranked by estimate."""
    default = Scenario()
    return replace(
        scenario,
        floor=default.floor,
        confidence=default.confidence,
        correction=default.correction,
        interval=default.interval,
    )


def _scenario_of(grid: Grid, settings: Settings) -> Scenario:
    named = dict(settings)
    return replace(grid.base, **named, options=grid.options_for(named))


def _point_keys(grid: Grid) -> list[tuple[str, Any, int]]:
    """Return what each point of a grid is kept under, whatever its floor."""
    keys = []
    for settings in grid.points():
        try:
            scenario: Any = replace(_scenario_of(grid, settings), floor=DEFAULT.floor)
        except ParameterError:
            scenario = (grid.base, settings)
        keys.append(("point", scenario, grid.repeats))
    return keys


def get_work(study: Study) -> Work:
    """Return the work on a study, begun if need be; work on another study of this session is ended.

    Raises
    ------
    ParameterError
        If the scenario needs a file or an outline that this session doesn't hold.
    """
    work: Work | None = st.session_state.get(_WORK)
    if work is not None and work.study == study and work.state is not State.LEFT:
        work.look()
        return work
    if work is not None:
        work.cancel()
    work = Work(study, population_source(study.scenario), runs_of(study.scenario))
    st.session_state[_WORK] = work
    work.start()
    return work


def go_on() -> None:
    """Take cancelled work up again; call from a callback."""
    st.session_state.pop(_WORK, None)


def cancel_work() -> None:
    """Cancel this session's work; call from a callback."""
    work: Work | None = st.session_state.get(_WORK)
    if work is not None:
        work.cancel()
