"""Measure one job of one library in a process of its own, and print the figures as one line of JSON.

    python -m benchmarks.peer_jobs.worker MODULE MECHANISM --devices N --cells D ...

Runs on standard library and numpy alone, inside the virtual environment of the library.

The number of devices grows fourfold until a run takes long enough to be judged. The rest is predicted by the
straight line through the last two runs, so that a fixed cost is not multiplied. Where the whole is predicted
to end in time and to fit into memory it is really run.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import json
import os
import resource
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

FIRST_DEVICES = 8
GROWTH = 4
ZIPF_EXPONENT = 1.2
MOST_OF_MEMORY = 0.5
"""Share of the memory that is free now; a list of reports beyond it is not really made."""

REPEATS = 9

Prepare = Callable[[npt.NDArray[np.int64], int, float, int], Callable[[], Any]]


@dataclass(frozen=True)
class Timing:
    """What one job cost.

    Parameters
    ----------
    cpu_s, wall_s
        Seconds at the full number of devices, best of `repeats`; CPU of the process and its children.
    measured_devices
        How many devices were really run.
    extrapolated
        "" where they were all run, else what stood against it: "time" or "memory".
    repeats
        How often the whole was run.
    peak_memory_mb
        Peak resident memory of the process, at the number of devices really run.
    """

    cpu_s: float
    wall_s: float
    measured_devices: int
    extrapolated: str
    repeats: int
    peak_memory_mb: float


def zipf_values(devices: int, cells: int, *, seed: int = 1) -> npt.NDArray[np.int64]:
    """Return (devices,) int64 cells, cell i with probability proportional to (i + 1)^-1.2."""
    weights = np.arange(1, cells + 1, dtype=np.float64) ** -ZIPF_EXPONENT
    ends = np.cumsum(weights) / weights.sum()
    drawn = np.searchsorted(ends, np.random.default_rng(seed).random(devices), side="right")
    return np.minimum(drawn, cells - 1).astype(np.int64)


def predicted(few: int, few_s: float, many: int, many_s: float, devices: int) -> float:
    """Return the seconds at `devices` on the straight line through two runs, neither part below 0.

    Examples
    --------
    >>> predicted(10, 3.0, 20, 4.0, 120)
    14.0
    """
    slope = max((many_s - few_s) / (many - few), 0.0)
    if slope == 0.0:
        return many_s * devices / many
    fixed = many_s - slope * many
    return slope * devices + fixed if fixed > 0 else many_s * devices / many


def children_cpu_seconds() -> float:
    """Return the CPU seconds of the ended children of this process and, on Linux, of its living ones."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return ended.ru_utime + ended.ru_stime + _living_children_seconds()


def _living_children_seconds() -> float:
    tick = os.sysconf("SC_CLK_TCK")
    parents: dict[int, tuple[int, float]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents[int(stat.parent.name)] = int(fields[1]), (int(fields[11]) + int(fields[12])) / tick
    total = 0.0
    for process, (_, seconds) in parents.items():
        above = parents[process][0]
        while above > 1 and above != os.getpid():
            above = parents.get(above, (0, 0.0))[0]
        if above == os.getpid():
            total += seconds
    return total


def available_mb() -> float:
    """Return how much memory could be taken now, or infinity where the system does not say."""
    info = Path("/proc/meminfo")
    if info.is_file():
        for line in info.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) / 1024
    return float("inf")


def peak_mb() -> float:
    """Return the peak resident memory of this process."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _timed(
    prepare: Prepare, values: npt.NDArray[np.int64], cells: int, epsilon: float, threads: int
) -> tuple[float, float]:
    work = prepare(values, cells, epsilon, threads)
    gc.collect()
    children = children_cpu_seconds()
    cpu, wall = time.process_time(), time.perf_counter()
    work()
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    return cpu + children_cpu_seconds() - children, wall


def measure(
    prepare: Prepare,
    *,
    devices: int,
    cells: int,
    epsilon: float,
    threads: int,
    sample_s: float,
    most_s: float,
) -> Timing:
    """Time a job, in full where it ends within `most_s`; sampling runs last about `sample_s`."""
    values = zipf_values(devices, cells)

    def run(many: int) -> tuple[float, float]:
        return _timed(prepare, values[:many], cells, epsilon, threads)

    run(min(2, devices))  # compiles what is compiled at the first call
    few, many = 0, min(FIRST_DEVICES, devices)
    few_times, times = (0.0, 0.0), run(many)
    base_mb = peak_mb()
    while many < devices and times[1] < sample_s:
        few, few_times, many = many, times, min(many * GROWTH, devices)
        times = run(many)
    if many < devices:
        cpu, wall = (
            predicted(few, before, many, now, devices) for before, now in zip(few_times, times, strict=True)
        )
        memory_mb = base_mb + (peak_mb() - base_mb) * devices / many
        stops = "time" if wall > most_s else "memory" if memory_mb > MOST_OF_MEMORY * available_mb() else ""
        if stops:
            return Timing(cpu, wall, many, stops, 1, peak_mb())
        times = run(devices)
    runs = [times]
    while len(runs) < REPEATS and sum(wall for _, wall in runs) < sample_s:
        runs.append(run(devices))
    best_cpu, best_wall = min(cpu for cpu, _ in runs), min(wall for _, wall in runs)
    return Timing(best_cpu, best_wall, devices, "", len(runs), peak_mb())


def main() -> None:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser()
    parser.add_argument("module")
    parser.add_argument("mechanism")
    parser.add_argument("--devices", type=int, required=True)
    parser.add_argument("--cells", type=int, required=True)
    parser.add_argument("--epsilon", type=float, default=2.0)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--sample-seconds", type=float, default=3.0)
    parser.add_argument("--most-seconds", type=float, default=120.0)
    given = parser.parse_args()
    jobs = importlib.import_module(f"benchmarks.peer_jobs.{given.module}").JOBS
    # What a library warns of is its own business, and would only slow its loop down.
    warnings.simplefilter("ignore")
    timing = measure(
        jobs[given.mechanism],
        devices=given.devices,
        cells=given.cells,
        epsilon=given.epsilon,
        threads=given.threads,
        sample_s=given.sample_seconds,
        most_s=given.most_seconds,
    )
    print(json.dumps(asdict(timing)))


if __name__ == "__main__":
    main()
