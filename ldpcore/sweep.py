"""Many scenarios at once: a grid of settings, each redrawn several times, on Dask.

By default the grid runs on Dask's local scheduler inside this process; with an address it runs on an existing
cluster. A run's coins depend on the scenario's seed and draw alone, and results are put together in the order of the
grid, so the answer is the same for any number of workers, in any order, and after a worker was lost. A setting that
cannot be run is reported in its place and the rest is kept.
"""

from __future__ import annotations

import io
import itertools
import math
import os
import queue
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
import pandas as pd

from ldpcore.deciles import density_tenths
from ldpcore.domain import Area
from ldpcore.errors import ParameterError, TripFileError
from ldpcore.population import Population, population_of
from ldpcore.scenario import run_population
from ldpcore.settings import DEFAULT, Scenario
from ldpcore.shapes import IntArray
from ldpcore.sweep_figures import (
    Bounds,
    Record,
    bounds_of,
    expected_at_floor,
    fixed_figures,
    measured_figures,
    published_figures,
)
from ldpcore.sweep_grid import AXES, MAX_RUNS, Grid, Point, Settings
from ldpcore.trips.table import TripTable

__all__ = [
    "AXES",
    "DRAWS_A_TASK",
    "MAX_RUNS",
    "Grid",
    "Point",
    "Settings",
    "Update",
    "points_frame",
    "require_parquet",
    "run_sweep",
    "sweep",
    "sweep_bytes",
    "write_sweep",
]

DRAWS_A_TASK: Final = 5
_PATIENCE_S: Final = 0.2
_CONNECT_S: Final = 10


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
    area: Area | None = None,
    populate: Callable[[Scenario], Population] | None = None,
    known: Mapping[int, Point] | None = None,
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
    area
        The service area, where the caller holds an outline that the scenario only names.
    populate
        Gives the devices of a scenario, where the caller keeps them; called from several threads, and on the local
        scheduler only. By default they are made from `trips` and `area`.
    known
        Points that are there already, by their place in the grid: told at once and not run again.
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
    plan = _Plan(grid, known or {})
    yield Update(0, len(plan.tasks), None, tuple(plan.told))
    outcomes = (
        _on_threads(plan, populate or partial(population_of, trips=trips, area=area), workers, stop)
        if scheduler is None
        else _on_cluster(plan, trips, area, scheduler, stop)
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


def sweep_bytes(points: Iterable[Point]) -> bytes:
    """Return one row a point as the bytes of a Parquet file."""
    buffer = io.BytesIO()
    points_frame(points).to_parquet(buffer, index=False)
    return buffer.getvalue()


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


Outcome: TypeAlias = tuple[Record, list[Record], list[Bounds]] | str
"""Figures that don't change, one record a redraw and its lower bounds, or why it could not be run."""


class _Plan:
    """The tasks of a grid, and what has come back."""

    def __init__(self, grid: Grid, known: Mapping[int, Point]) -> None:
        self.points = grid.points()
        self._synthetic = grid.base.synthetic
        self.tasks: list[_Task] = []
        self.told = sorted(known.items())
        self._missing: dict[int, set[int]] = {}
        self._came: dict[int, dict[int, Outcome]] = {}
        draws = [grid.base.draw + repeat for repeat in range(grid.repeats)]
        blocks = [tuple(draws[start : start + DRAWS_A_TASK]) for start in range(0, len(draws), DRAWS_A_TASK)]
        for place, settings in enumerate(self.points):
            if place in known:
                continue
            try:
                scenario = replace(grid.base, **dict(settings), options=grid.options_for(dict(settings)))
            except ParameterError as error:
                self.told.append((place, Point(self._settings(place), error=str(error))))
                continue
            self.tasks += [_Task(place, block, scenario, part) for block, part in enumerate(blocks)]
            self._missing[place], self._came[place] = set(range(len(blocks))), {}

    def _settings(self, place: int) -> dict[str, Any]:
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
        settings = self._settings(task.place)
        outcomes = [came for _, came in sorted(self._came[task.place].items())]
        failed = [came for came in outcomes if isinstance(came, str)]
        if failed:
            return Point(settings, error=failed[0])
        records = [record for came in outcomes if not isinstance(came, str) for record in came[1]]
        fixed = outcomes[0][0]
        assert not isinstance(fixed, str)  # noqa: S101 - failures have left above
        bounds = tuple(bound for came in outcomes if not isinstance(came, str) for bound in came[2])
        return Point(settings, fixed, *_over_redraws(records), len(records), bounds=bounds)


def _over_redraws(records: Sequence[Record]) -> tuple[dict[str, float | None], dict[str, float | None]]:
    """Return mean and standard deviation of each figure over the redraws."""
    values = {name: np.array([record[name] for record in records], np.float64) for name in records[0]}
    many = len(records) > 1
    return (
        {name: _known(value.mean()) for name, value in values.items()},
        {name: _known(value.std(ddof=1)) if many else None for name, value in values.items()},
    )


def at_floor(point: Point, scenario: Scenario, population: Population) -> Point:
    """Return what a sweep would give at another floor, without drawing anything again.

    Parameters
    ----------
    point
        What the sweep gave at some floor, run without an error.
    scenario
        That of the point, but for its floor.
    population
        Its devices.
    """
    records = [
        published_figures(bound, population.true_counts, floor=scenario.floor) for bound in point.bounds
    ]
    mean, spread = _over_redraws(records)
    return replace(
        point,
        settings={**point.settings, "floor": scenario.floor},
        fixed={**point.fixed, **expected_at_floor(scenario, population)},
        mean={**point.mean, **mean},
        spread={**point.spread, **spread},
    )


def _known(value: float) -> float | None:
    """Return None for what has no value, such as the error of a tenth that has no cells."""
    return float(value) if math.isfinite(value) else None


def _trips_part(scenario: Scenario) -> Scenario:
    """Return the scenario with every setting that doesn't touch the trips at its default."""
    names = ("mechanism", "options", "epsilon", "floor", "confidence", "correction", "interval", "draw")
    return replace(scenario, **{name: getattr(DEFAULT, name) for name in names})


def _make_population(part: Scenario, populate: Callable[[Scenario], Population]) -> Population | str:
    try:
        return populate(part)
    except (ParameterError, TripFileError) as error:
        return str(error)
    except Exception as error:  # noqa: BLE001 - whatever it was, the rest of the grid is kept and this is told
        return _sentence(error)


def _population_there(part: Scenario, trips: TripTable | None, *, area: Area | None) -> Population | str:
    return _make_population(part, partial(population_of, trips=trips, area=area))


def _run_block(scenario: Scenario, draws: Sequence[int], block: int, population: Population | str) -> Outcome:
    """Run some redraws; what no redraw changes is found with the first block alone."""
    if isinstance(population, str):
        return population
    try:
        tenths: list[IntArray] = density_tenths(population.true_counts)
        fixed: Record = {}
        records, bounds = [], []
        for draw in draws:
            release = run_population(replace(scenario, draw=draw), population)
            records.append(measured_figures(release, tenths))
            bounds.append(bounds_of(release))
            if block == 0 and not fixed:
                fixed = fixed_figures(release)
    except (ParameterError, TripFileError) as error:
        return str(error)
    except Exception as error:  # noqa: BLE001 - as above
        return _sentence(error)
    else:
        return fixed, records, bounds


def _sentence(error: BaseException) -> str:
    return f"This combination failed with {type(error).__name__}: {error}".rstrip(": ")


def _on_threads(
    plan: _Plan, make: Callable[[Scenario], Population], workers: int | None, stop: threading.Event
) -> Iterator[tuple[_Task, Outcome]]:
    """Run the tasks on Dask's local scheduler, and hand each outcome over as it comes."""
    from dask.base import compute
    from dask.delayed import delayed

    came: queue.Queue[tuple[_Task, Outcome] | Exception | None] = queue.Queue()
    left = threading.Event()  # the caller's own event says whether the caller cancelled, and nothing else

    def over() -> bool:
        return stop.is_set() or left.is_set()

    def populate(part: Scenario) -> Population | str:
        return "Cancelled." if over() else _make_population(part, make)

    def work(tasks: Sequence[_Task], population: Population | str) -> None:
        for task in tasks:
            if not over():
                came.put((task, _run_block(task.scenario, task.draws, task.block, population)))

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
        except Exception as error:  # noqa: BLE001 - raised again where somebody can hear it
            came.put(error)
        else:
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
            if isinstance(outcome, Exception):
                raise outcome
            yield outcome
    finally:
        # A reader who leaves early ends the work too.
        left.set()
        runner.join()


def _on_cluster(
    plan: _Plan, trips: TripTable | None, area: Area | None, scheduler: str, stop: threading.Event
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
            population = client.submit(partial(_population_there, part, area=area), table, pure=False)
            for task in tasks:
                job = partial(_run_block, task.scenario, task.draws, task.block)
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
