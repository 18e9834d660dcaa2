"""Many scenarios at once: a grid of settings, each redrawn several times, on Dask.

By default the grid runs on Dask's local scheduler inside this process; with an address it runs on an existing
cluster. A run's coins depend on the scenario's seed and draw alone, and results are put together in the order of the
grid, so the answer is the same for any number of workers, in any order, and after a worker was lost. A setting that
cannot be run is reported in its place and the rest is kept.
"""

from __future__ import annotations

import itertools
import math
import os
import queue
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
import pandas as pd

from ldpcore.errors import ParameterError, TripFileError
from ldpcore.mechanisms.options import checked_integer
from ldpcore.population import Population, population_of
from ldpcore.scenario import run_population
from ldpcore.settings import DEFAULT, Scenario
from ldpcore.sweep_figures import Record, fixed_figures, measured_figures
from ldpcore.trips.table import TripTable

DRAWS_A_TASK: Final = 5
MAX_RUNS: Final = 200_000
_PATIENCE_S: Final = 0.2
_CONNECT_S: Final = 10

AXES: Final = ("epsilon", "resolution", "mechanism", "devices", "floor", "query")
"""Settings a grid can vary, the last one fastest."""

Settings: TypeAlias = tuple[tuple[str, Any], ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Grid:
    """Every combination of some settings, the others as in one scenario.

    Parameters
    ----------
    base
        What is not varied.
    epsilons, resolutions, mechanisms, devices, floors, queries
        Values to try; empty keeps the one of `base`.
    repeats
        Redraws of each combination, at least 1, starting at the draw of `base`.
    options
        Options of every randomiser tried; by default those of `base`, for its own randomiser alone.

    Raises
    ------
    ParameterError
        If there are no repeats, too many runs, or several numbers of devices for a file.
    """

    base: Scenario
    epsilons: tuple[float, ...] = ()
    resolutions: tuple[int, ...] = ()
    mechanisms: tuple[str, ...] = ()
    devices: tuple[int, ...] = ()
    floors: tuple[int, ...] = ()
    queries: tuple[str, ...] = ()
    repeats: int = 10
    options: tuple[tuple[str, Any], ...] | None = None

    def __post_init__(self) -> None:
        checked_integer("repeats", self.repeats, minimum=1, example=10)
        if self.devices and not self.base.synthetic:
            raise ParameterError("devices", "The devices of a file are those in it; leave devices out.")
        runs = len(self.points()) * self.repeats
        if runs > MAX_RUNS:
            raise ParameterError(
                "repeats", f"A sweep is at most {MAX_RUNS:,} runs, this one has {runs:,}; try fewer values."
            )

    def points(self) -> list[Settings]:
        """Return every combination as (name, value) pairs, in the order of the answer."""
        tried = (self.epsilons, self.resolutions, self.mechanisms, self.devices, self.floors, self.queries)
        values = [given or (getattr(self.base, name),) for name, given in zip(AXES, tried, strict=True)]
        return [tuple(zip(AXES, point, strict=True)) for point in itertools.product(*values)]

    def options_for(self, settings: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
        """Return the randomiser's options at a combination."""
        if self.options is not None:
            return self.options
        return self.base.options if settings["mechanism"] == self.base.mechanism else ()


@dataclass(frozen=True, eq=False, slots=True)
class Point:
    """What one combination gave.

    Parameters
    ----------
    settings
        Value of each of `AXES`.
    fixed
        Figures that no redraw changes: the domain, the reports, p and q, and what theory predicts.
    mean, spread
        Mean and standard deviation over the redraws of each figure that changes; None where there is none.
    repeats
        Redraws done; 0 where the combination could not be run.
    error
        Why it could not be run, in one sentence, else None.
    """

    settings: Mapping[str, Any]
    fixed: Mapping[str, Any] = field(default_factory=dict)
    mean: Mapping[str, float | None] = field(default_factory=dict)
    spread: Mapping[str, float | None] = field(default_factory=dict)
    repeats: int = 0
    error: str | None = None

    def row(self) -> dict[str, Any]:
        """Return everything in one flat row: a figure under its name, its deviation under the name with ``_sd``."""
        spreads = {f"{name}_sd": value for name, value in self.spread.items()}
        return {
            **self.settings,
            "repeats": self.repeats,
            **self.fixed,
            **self.mean,
            **spreads,
            "error": self.error,
        }


@dataclass(frozen=True, eq=False, slots=True)
class Update:
    """How far a sweep is.

    Parameters
    ----------
    done, total
        Tasks.
    seconds_left
        Estimate from the tasks done so far; None before the first.
    finished
        Place of a combination in the grid and its result, for those that the last task completed.
    """

    done: int
    total: int
    seconds_left: float | None
    finished: tuple[tuple[int, Point], ...]


def sweep(
    grid: Grid,
    *,
    trips: TripTable | None = None,
    scheduler: str | None = None,
    workers: int | None = None,
    cancelled: threading.Event | None = None,
) -> Iterator[Update]:
    """Run a grid and tell after each task how far it is.

    Parameters
    ----------
    grid
        What to run.
    trips
        The user's file, where the scenario is about one.
    scheduler
        Address of a Dask scheduler, such as ``tcp://host:8786``; by default Dask's local one.
    workers
        Threads of the local scheduler; by default one a core. The answer doesn't depend on it.
    cancelled
        Set it to stop: no further task starts, and what is finished has been told.

    Raises
    ------
    ParameterError
        If the scheduler does not answer.
    """
    stop = threading.Event() if cancelled is None else cancelled
    plan = _Plan(grid)
    yield Update(0, len(plan.tasks), None, tuple(plan.refused))
    outcomes = (
        _on_threads(plan, trips, workers, stop)
        if scheduler is None
        else _on_cluster(plan, trips, scheduler, stop)
    )
    start = time.monotonic()
    for done, (task, outcome) in enumerate(outcomes, start=1):
        point = plan.take(task, outcome)
        rate = (time.monotonic() - start) / done
        finished = () if point is None else ((task.place, point),)
        yield Update(done, len(plan.tasks), rate * (len(plan.tasks) - done), finished)


def run_sweep(
    grid: Grid,
    *,
    told: Callable[[Update], None] | None = None,
    **how: Any,  # noqa: ANN401 - as for `sweep`
) -> list[Point]:
    """Run a grid to its end and return its points in the order of the grid.

    Parameters
    ----------
    grid
        What to run.
    told
        Called after each task.
    **how
        As for `sweep`. A cancelled sweep returns the points that were finished.
    """
    found: dict[int, Point] = {}
    for update in sweep(grid, **how):
        found.update(update.finished)
        if told is not None:
            told(update)
    return [found[place] for place in sorted(found)]


def points_frame(points: Iterable[Point]) -> pd.DataFrame:
    """Return one row a point, with every column that any of them has."""
    return pd.DataFrame([point.row() for point in points])


def require_parquet(path: Path) -> None:
    """Refuse a file that `write_sweep` could not write, before any work."""
    if path.suffix.lower() != ".parquet" or not path.parent.is_dir():
        raise ParameterError(
            "out", f"A sweep is written to a .parquet file in a folder that exists, got {path}."
        )


def write_sweep(points: Iterable[Point], path: Path) -> None:
    """Write one row a point as Parquet."""
    require_parquet(path)
    points_frame(points).to_parquet(path, index=False)


@dataclass(frozen=True, slots=True)
class _Task:
    """Some redraws of one point."""

    place: int
    block: int
    scenario: Scenario
    draws: tuple[int, ...]


Outcome: TypeAlias = tuple[Record, list[Record]] | str
"""Figures that don't change and one record a redraw, or why it could not be run."""


class _Plan:
    """The tasks of a grid, and what has come back."""

    def __init__(self, grid: Grid) -> None:
        self.points = grid.points()
        self._synthetic = grid.base.synthetic
        self.tasks: list[_Task] = []
        self.refused: list[tuple[int, Point]] = []
        self._missing: dict[int, set[int]] = {}
        self._came: dict[int, dict[int, Outcome]] = {}
        draws = [grid.base.draw + repeat for repeat in range(grid.repeats)]
        blocks = [tuple(draws[start : start + DRAWS_A_TASK]) for start in range(0, len(draws), DRAWS_A_TASK)]
        for place, settings in enumerate(self.points):
            try:
                scenario = replace(grid.base, **dict(settings), options=grid.options_for(dict(settings)))
            except ParameterError as error:
                self.refused.append((place, Point(self._told(place), error=str(error))))
                continue
            self.tasks += [_Task(place, block, scenario, part) for block, part in enumerate(blocks)]
            self._missing[place], self._came[place] = set(range(len(blocks))), {}

    def _told(self, place: int) -> dict[str, Any]:
        """Return a combination's settings as they are told; a file's devices are those in it."""
        settings = dict(self.points[place])
        return settings if self._synthetic else {**settings, "devices": None}

    def populations(self) -> dict[Scenario, list[_Task]]:
        """Return the tasks by what their trips depend on."""
        found: dict[Scenario, list[_Task]] = {}
        for task in self.tasks:
            found.setdefault(_trips_part(task.scenario), []).append(task)
        return found

    def take(self, task: _Task, outcome: Outcome) -> Point | None:
        """Keep a task's outcome and return the point it completes, if any."""
        self._came[task.place][task.block] = outcome
        self._missing[task.place].discard(task.block)
        if self._missing[task.place]:
            return None
        settings = self._told(task.place)
        outcomes = [came for _, came in sorted(self._came[task.place].items())]
        failed = [came for came in outcomes if isinstance(came, str)]
        if failed:
            return Point(settings, error=failed[0])
        records = [record for came in outcomes if not isinstance(came, str) for record in came[1]]
        fixed = outcomes[0][0]
        assert not isinstance(fixed, str)  # noqa: S101 - failures have left above
        values = {name: np.array([record[name] for record in records], np.float64) for name in records[0]}
        many = len(records) > 1
        return Point(
            settings,
            fixed,
            {name: _known(value.mean()) for name, value in values.items()},
            {name: _known(value.std(ddof=1)) if many else None for name, value in values.items()},
            len(records),
        )


def _known(value: float) -> float | None:
    """Return None for what has no value, such as the error of a tenth that has no cells."""
    return float(value) if math.isfinite(value) else None


def _trips_part(scenario: Scenario) -> Scenario:
    """Return the scenario with every setting that doesn't touch the trips at its default."""
    names = ("mechanism", "options", "epsilon", "floor", "confidence", "correction", "interval", "draw")
    return replace(scenario, **{name: getattr(DEFAULT, name) for name in names})


def _make_population(part: Scenario, trips: TripTable | None) -> Population | str:
    try:
        return population_of(part, trips)
    except (ParameterError, TripFileError) as error:
        return str(error)
    except Exception as error:  # noqa: BLE001 - whatever it was, the rest of the grid is kept and this is told
        return _sentence(error)


def _run_block(scenario: Scenario, draws: Sequence[int], population: Population | str) -> Outcome:
    if isinstance(population, str):
        return population
    try:
        releases = [run_population(replace(scenario, draw=draw), population) for draw in draws]
        return fixed_figures(releases[0]), [measured_figures(release) for release in releases]
    except (ParameterError, TripFileError) as error:
        return str(error)
    except Exception as error:  # noqa: BLE001 - as above
        return _sentence(error)


def _sentence(error: BaseException) -> str:
    return f"This combination failed with {type(error).__name__}: {error}".rstrip(": ")


def _on_threads(
    plan: _Plan, trips: TripTable | None, workers: int | None, stop: threading.Event
) -> Iterator[tuple[_Task, Outcome]]:
    """Run the tasks on Dask's local scheduler, and hand each outcome over as it comes."""
    from dask.base import compute
    from dask.delayed import delayed

    came: queue.Queue[tuple[_Task, Outcome] | None] = queue.Queue()

    def populate(part: Scenario) -> Population | str:
        return "Cancelled." if stop.is_set() else _make_population(part, trips)

    def work(tasks: Sequence[_Task], population: Population | str) -> None:
        for task in tasks:
            if not stop.is_set():
                came.put((task, _run_block(task.scenario, task.draws, population)))

    # Where combinations are many, one thread does all redraws of one, so that it is told soon; else they are shared.
    together = len(plan.points) >= 2 * (workers or os.cpu_count() or 1)
    # Arguments inside a partial are handed on as they are; Dask would look into a scenario's fields.
    jobs = []
    for part, tasks in plan.populations().items():
        population = delayed(partial(populate, part), pure=False)()
        groups = itertools.groupby(tasks, key=lambda task: (task.place, 0 if together else task.block))
        jobs += [delayed(partial(work, list(group)), pure=False)(population) for _, group in groups]

    def run_all() -> None:
        try:
            compute(*jobs, scheduler="threads", num_workers=workers, optimize_graph=False)
        finally:
            came.put(None)

    runner = threading.Thread(target=run_all, name="sweep", daemon=True)
    runner.start()
    try:
        while not stop.is_set():
            try:
                outcome = came.get(timeout=_PATIENCE_S)
            except queue.Empty:
                continue
            if outcome is None:
                break
            yield outcome
    finally:
        # A reader who leaves early ends the work too.
        stop.set()
        runner.join()


def _on_cluster(
    plan: _Plan, trips: TripTable | None, scheduler: str, stop: threading.Event
) -> Iterator[tuple[_Task, Outcome]]:
    """Run the tasks on a cluster; what a lost worker held is done again by another."""
    import distributed

    try:
        client = distributed.Client(scheduler, timeout=_CONNECT_S, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ParameterError(
            "scheduler", f"No Dask scheduler answers at {scheduler!r}; start one, or leave the scheduler out."
        ) from error
    with client:
        table = None if trips is None else client.scatter(trips, broadcast=True)
        futures: dict[Any, _Task] = {}
        for part, tasks in plan.populations().items():
            population = client.submit(partial(_make_population, part), table, pure=False)
            for task in tasks:
                job = partial(_run_block, task.scenario, task.draws)
                futures[client.submit(job, population, pure=False, priority=-task.place)] = task
        try:
            waiting = set(futures)
            while waiting and not stop.is_set():
                try:
                    with client.as_current():
                        done = distributed.wait(
                            waiting, timeout=_PATIENCE_S, return_when="FIRST_COMPLETED"
                        ).done
                except TimeoutError:
                    continue
                for future in sorted(done, key=lambda future: (futures[future].place, futures[future].block)):
                    failure = future.exception()
                    outcome = future.result() if failure is None else _sentence(failure)
                    waiting.discard(future)
                    yield futures[future], outcome
        finally:
            client.cancel(list(waiting))
