"""The main job: making trips, and running a scenario whose trips are made.

    python -m benchmarks.main_job [--quick]

Prints a table and writes benchmarks/results/main_job.json.
"""

from __future__ import annotations

import argparse
import resource
import time
from functools import partial
from typing import Any

from benchmarks.machine import cpu_seconds, describe, write_results
from benchmarks.tables import markdown_table, significant
from ldpcore.mechanisms import MECHANISMS
from ldpcore.population import population_of
from ldpcore.scenario import run_population
from ldpcore.settings import Scenario
from ldpcore.trips.generate import synthetic_counts, trip_blocks

DEVICES = 1_000_000
NOT_PER_REPORT = ("she",)
"""A quarter of a minute a run; `benchmarks.peers` has it."""


def measure_runs(devices: int) -> list[dict[str, Any]]:
    """Time `run_population` for every randomiser: one million devices, New York at resolution 8."""
    rows = []
    for per_report in (False, True):
        scenario = Scenario(devices=devices, resolution=8, per_report=per_report)
        population = population_of(scenario)
        for name in MECHANISMS:
            if per_report and name in NOT_PER_REPORT:
                continue
            chosen = Scenario(devices=devices, resolution=8, per_report=per_report, mechanism=name)
            figures = cpu_seconds(partial(run_population, chosen, population), repeats=5)
            rows.append(
                {
                    "what": f"run {name}, {'every report made' if per_report else 'counts drawn'}",
                    "devices": devices,
                    "cells": population.domain.size,
                    **figures,
                }
            )
    return rows


def measure_trips(devices: int) -> list[dict[str, Any]]:
    """Time the trips of one million devices, as rows and as counts."""
    synthetic_counts(
        "new_york", devices=1000, seed=1, query="origins", resolution=8, day="weekday", hour=None
    )  # the city is loaded once per process
    rows = []
    start, wall = time.process_time(), time.perf_counter()
    trips = sum(len(block) for block in trip_blocks("new_york", devices=devices, seed=1))
    rows.append(
        {
            "what": f"trips of a million devices as rows, {trips / devices:.2f} trips a device",
            "devices": devices,
            "cells": None,
            "cpu_best": time.process_time() - start,
            "wall_best": time.perf_counter() - wall,
        }
    )
    figures = cpu_seconds(
        lambda: synthetic_counts(
            "new_york", devices=devices, seed=1, query="origins", resolution=8, day="weekday", hour=None
        ),
        repeats=3,
    )
    rows.append(
        {
            "what": "trips of a million devices as counts per cell",
            "devices": devices,
            "cells": None,
            **figures,
        }
    )
    rows[-1]["peak_memory_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return rows


def tables(results: dict[str, Any]) -> str:
    """Return the table in Markdown."""
    rows = [
        [row["what"], f"{significant(row['cpu_best'])} s", f"{significant(row['wall_best'])} s"]
        for row in results["rows"]
    ]
    return markdown_table(("", "CPU", "wall"), rows)


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="few devices, nothing written")
    given = parser.parse_args()
    devices = 20_000 if given.quick else DEVICES
    results = {"machine": describe(), "rows": measure_trips(devices) + measure_runs(devices)}
    print(tables(results))
    if not given.quick:
        write_results("main_job", results)


if __name__ == "__main__":
    main()
