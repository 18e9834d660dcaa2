"""The main job: making trips, and running a scenario whose trips are made.

    python -m benchmarks.main_job

Prints a table and writes benchmarks/results/main_job.json.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.machine import cpu_seconds, describe
from ldpcore.mechanisms import MECHANISMS
from ldpcore.population import population_of
from ldpcore.scenario import run_population
from ldpcore.settings import Scenario
from ldpcore.trips.generate import synthetic_counts, trip_blocks

RESULTS = Path(__file__).parent / "results" / "main_job.json"
DEVICES = 1_000_000


def measure_runs() -> list[dict[str, Any]]:
    """Time `run_population` for every randomiser: one million devices, New York at resolution 8."""
    rows = []
    for per_report in (False, True):
        scenario = Scenario(devices=DEVICES, resolution=8, per_report=per_report)
        population = population_of(scenario)
        for name in MECHANISMS:
            chosen = Scenario(devices=DEVICES, resolution=8, per_report=per_report, mechanism=name)
            figures = cpu_seconds(partial(run_population, chosen, population), repeats=5)
            rows.append(
                {
                    "what": f"run {name}, {'every report made' if per_report else 'counts drawn'}",
                    "devices": DEVICES,
                    "cells": population.domain.size,
                    **figures,
                }
            )
    return rows


def measure_trips() -> list[dict[str, Any]]:
    """Time the trips of one million devices, as rows and as counts."""
    synthetic_counts(
        "new_york", devices=1000, seed=1, query="origins", resolution=8, day="weekday", hour=None
    )  # the city is loaded once per process
    rows = []
    start, wall = time.process_time(), time.perf_counter()
    trips = sum(len(block) for block in trip_blocks("new_york", devices=DEVICES, seed=1))
    rows.append(
        {
            "what": f"trips of a million devices as rows, {trips / DEVICES:.2f} trips a device",
            "devices": DEVICES,
            "cells": None,
            "cpu_best": time.process_time() - start,
            "wall_best": time.perf_counter() - wall,
        }
    )
    figures = cpu_seconds(
        lambda: synthetic_counts(
            "new_york", devices=DEVICES, seed=1, query="origins", resolution=8, day="weekday", hour=None
        ),
        repeats=3,
    )
    rows.append(
        {
            "what": "trips of a million devices as counts per cell",
            "devices": DEVICES,
            "cells": None,
            **figures,
        }
    )
    rows[-1]["peak_memory_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return rows


def main() -> None:
    """Measure, print, write."""
    rows = measure_trips() + measure_runs()
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps({"machine": describe(), "rows": rows}, indent=2) + "\n", encoding="utf-8")
    for row in rows:
        print(f"{row['what']:<62} {row['cpu_best']:8.3f} CPU s  {row['wall_best']:8.3f} s wall")
    print(f"wrote {RESULTS}", file=sys.stderr)


if __name__ == "__main__":
    main()
