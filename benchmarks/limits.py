"""Against the machine: nanoseconds of each kernel beside what the same machine does in a bare loop.

    python -m benchmarks.limits [--quick]

Every mechanism is set against the loop that does the part of its work that cannot be left out: a random bit,
a hash and a comparison, a random word and a histogram update. The kernels are also run as they come out for
processors without AVX-512 and without AVX2, in processes of their own. Writes benchmarks/results/limits.json.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks import bare
from benchmarks.machine import ROOT, cpu_seconds, describe, write_results
from benchmarks.peer_jobs.worker import zipf_values
from benchmarks.tables import markdown_table, significant, times_text
from ldpcore.mechanisms import make_mechanism

EPSILON = 2.0
SHAPES = ((1_000_000, 2_000), (100_000, 100_000))
QUICK_SHAPES = ((20_000, 500),)

PER_CELL = {
    "sue": ("bits",),
    "oue": ("bits",),
    "the": ("bits",),
    "ss": ("bits",),
    "blh": ("hash",),
    "olh": ("hash",),
}
"""Mechanisms that do something for every report and cell, and the bare loops that are their floor."""

PER_REPORT = {
    "grr": ("word", "word", "update"),
    "hrr": ("word", "word", "update"),
    "hr": ("word", "word", "update"),
}
"""Mechanisms whose work does not depend on the cells: two random words and one update a report."""

LOOPS = {
    "word": "a random 64-bit word, sfc64",
    "bits": "a random bit of given probability, 64 at a time from ten words",
    "hash": "a 32-bit multiplication and a comparison",
    "update": "a histogram update among 2,000 counters",
    "update_many": "a histogram update among 100,000 counters",
}

PROCESSORS = {"x86-64-v3": "AVX2, no AVX-512", "x86-64": "SSE2, no AVX2"}
"""Instruction sets that the kernels are compiled for besides this machine's own."""

STREAMED = (("oue", 200_000, 2_000), ("grr", 20_000_000, 2_000))
"""Reports that exist already and are only counted, for the rate in GB/s."""


def bare_nanoseconds(scale: float = 1.0) -> dict[str, float]:
    """Time every bare loop; nanoseconds a step. `scale` shortens them for a smoke run."""
    lanes = bare.started_lanes()
    rounds = int(2_000_000 * scale) + 1
    out = np.zeros(32_000, np.uint64)
    fills = int(40 * scale) + 1
    masks = np.array([2**64 - 1, 0] * (bare.DIGITS // 2), np.uint64)
    multipliers = np.random.default_rng(1).integers(0, 2**32, bare.PRODUCTS, dtype=np.uint32)
    cells = int(400_000 * scale) + 1
    updates = int(5_000_000 * scale) + 1

    def fill() -> None:
        for _ in range(fills):
            bare.bernoulli_bits(lanes, masks, out)

    def update(counters: int) -> Callable[[], None]:
        places = np.random.default_rng(1).integers(0, counters, updates, dtype=np.uint32)
        return partial(bare.histogram, places, np.zeros(counters, np.int64))

    loops: dict[str, tuple[Callable[[], object], int]] = {
        "word": (lambda: bare.random_words(lanes, rounds), rounds * bare.LANES),
        "bits": (fill, fills * out.size * 64),
        "hash": (lambda: bare.hash_and_compare(multipliers, cells), cells * bare.PRODUCTS),
        "update": (update(2_000), updates),
        "update_many": (update(100_000), updates),
    }
    return {name: cpu_seconds(work)["cpu_best"] / steps * 1e9 for name, (work, steps) in loops.items()}


def read_rate(megabytes: int) -> float:
    """Return the GB/s at which a bare loop reads memory, one thread."""
    words = np.ones(megabytes * 125_000, np.uint64)
    return words.nbytes / cpu_seconds(lambda: bare.read_memory(words))["cpu_best"] / 1e9


def kernel_seconds(name: str, devices: int, cells: int) -> float:
    """Return the CPU seconds of making, counting and inverting all reports, one thread, best of 7."""
    mechanism = make_mechanism(name, epsilon=EPSILON, domain_size=cells)
    values = zipf_values(devices, cells)

    def work() -> None:
        mechanism.estimate(mechanism.collect(values, rng=np.random.default_rng(1)), n=devices)

    return cpu_seconds(work, repeats=7 if devices * cells <= 2e9 else 3)["cpu_best"]


def kernel_figures(shapes: tuple[tuple[int, int], ...]) -> list[dict[str, Any]]:
    """Time every mechanism that has a floor on every shape."""
    return [
        {
            "mechanism": name,
            "devices": devices,
            "cells": cells,
            "cpu_s": kernel_seconds(name, devices, cells),
            "floor": loops,
            "steps": devices * (cells if name in PER_CELL else 1),
        }
        for devices, cells in shapes
        for name, loops in {**PER_CELL, **PER_REPORT}.items()
    ]


def stream_rates(scale: float = 1.0) -> list[dict[str, Any]]:
    """Time the counting of reports that exist already, GB/s of packed reports, one thread."""
    rows = []
    for name, most, cells in STREAMED:
        devices = int(most * scale)
        mechanism = make_mechanism(name, epsilon=EPSILON, domain_size=cells)
        reports = mechanism.privatize(zipf_values(devices, cells), rng=np.random.default_rng(1))
        seconds = cpu_seconds(partial(mechanism.aggregate, reports), repeats=5)["cpu_best"]
        rate = reports.nbytes / seconds / 1e9
        rows.append({"mechanism": name, "devices": devices, "cells": cells, "gigabytes_per_s": rate})
    return rows


def on_processor(processor: str, *, quick: bool) -> dict[str, float]:
    """Return CPU seconds by mechanism with kernels compiled for a lesser processor, at the first shape."""
    environment = {
        **os.environ,
        "NUMBA_CPU_NAME": processor,
        "NUMBA_CPU_FEATURES": "",
        "NUMBA_CACHE_DIR": str(ROOT / ".bench" / f"numba-{processor}"),
    }
    command = [sys.executable, "-m", "benchmarks.limits", "--kernels-only", *(["--quick"] if quick else [])]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    seconds: dict[str, float] = json.loads(done.stdout)
    return seconds


def compile_and_start_seconds() -> dict[str, float]:
    """Return wall seconds: compiling every kernel from nothing, and a process that counts with compiled ones."""

    def wall(command: list[str], cache: str) -> float:
        environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
        start = time.perf_counter()
        subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=True)
        return time.perf_counter() - start

    cache = str(ROOT / ".bench" / "numba-fresh")
    subprocess.run(["rm", "-rf", cache], check=True)
    compile_all = [sys.executable, "-m", "ldpcore.mechanisms.compile"]
    one = (
        "import numpy as np; from ldpcore.mechanisms import make_mechanism; "
        "make_mechanism('oue', epsilon=2, domain_size=2000).collect(np.arange(2000), rng=np.random.default_rng(1))"
    )
    return {
        "compile every kernel, once a machine": wall(compile_all, cache),
        "start, load and run every kernel": min(wall(compile_all, cache) for _ in range(3)),
        "start, make and count reports with one": min(
            wall([sys.executable, "-c", one], cache) for _ in range(3)
        ),
    }


def floor_nanoseconds(row: dict[str, Any], loops: dict[str, float]) -> float:
    """Return the nanoseconds a step that the bare loops of a row take together."""
    many = row["cells"] > 10_000
    return sum(loops["update_many" if many and loop == "update" else loop] for loop in row["floor"])


def tables(results: dict[str, Any]) -> str:
    """Return the tables in Markdown."""
    loops = results["loops"]
    bare_rows = [[LOOPS[name], f"{significant(value)} ns"] for name, value in loops.items()]
    bare_rows.append(["reading memory", f"{significant(results['read_gigabytes_per_s'])} GB/s"])
    rows = []
    for row in results["kernels"]:
        own = row["cpu_s"] / row["steps"] * 1e9
        floor = floor_nanoseconds(row, loops)
        unit = "report and cell" if row["mechanism"] in PER_CELL else "report"
        rows.append(
            [
                f"`{row['mechanism']}`",
                f"{row['devices']:,} × {row['cells']:,}",
                unit,
                f"{significant(own)} ns",
                f"{significant(floor)} ns",
                times_text(own / floor),
            ]
        )
    parts = [
        markdown_table(("bare loop, one thread", "a step"), bare_rows),
        markdown_table(
            ("mechanism", "devices × cells", "a step is a", "here", "bare loop", "here / bare"), rows
        ),
        markdown_table(
            ("counting reports that exist", "rate", "of reading memory"),
            [
                [
                    f"`{row['mechanism']}`, {row['cells']:,} cells",
                    f"{significant(row['gigabytes_per_s'])} GB/s",
                    f"{100 * row['gigabytes_per_s'] / results['read_gigabytes_per_s']:.0f} %",
                ]
                for row in results["streams"]
            ],
        ),
        _processor_table(results),
        markdown_table(
            ("process", "wall"),
            [[name, f"{significant(value)} s"] for name, value in results["start"].items()],
        ),
    ]
    return "\n\n".join(parts)


def _processor_table(results: dict[str, Any]) -> str:
    own = {row["mechanism"]: row["cpu_s"] for row in reversed(results["kernels"])}
    header = ("mechanism", "this machine", *(PROCESSORS[name] for name in results["processors"]))
    rows = [
        [
            f"`{name}`",
            significant(seconds),
            *(significant(lesser[name]) for lesser in results["processors"].values()),
        ]
        for name, seconds in reversed(own.items())
    ]
    return markdown_table(header, rows)


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="small sizes, nothing written")
    parser.add_argument("--kernels-only", action="store_true", help="print CPU seconds by mechanism as JSON")
    given = parser.parse_args()
    shapes, scale = (QUICK_SHAPES, 0.02) if given.quick else (SHAPES, 1.0)
    if given.kernels_only:
        figures = kernel_figures(shapes[:1])
        print(json.dumps({row["mechanism"]: row["cpu_s"] for row in figures}))
        return
    results = {
        "machine": describe(),
        "epsilon": EPSILON,
        "loops": bare_nanoseconds(scale),
        "read_gigabytes_per_s": read_rate(32 if given.quick else 512),
        "kernels": kernel_figures(shapes),
        "streams": stream_rates(scale),
        "processors": {name: on_processor(name, quick=given.quick) for name in PROCESSORS},
        "start": {} if given.quick else compile_and_start_seconds(),
    }
    print(tables(results))
    if not given.quick:
        write_results("limits", results)


if __name__ == "__main__":
    main()
