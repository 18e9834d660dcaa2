"""How cost grows: with devices, cells and epsilon; memory with devices; counts drawn without reports.

    python -m benchmarks.scaling [--quick] [--part cost|memory|samplers|client]

Memory is the peak of a process of its own for each point. Writes benchmarks/results/scaling.json.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from benchmarks.machine import ROOT, cpu_seconds, describe, read_results, write_results
from benchmarks.peer_jobs.worker import peak_mb, zipf_values
from benchmarks.tables import markdown_table, significant
from ldpcore.device.wire import make_client
from ldpcore.mechanisms import MECHANISMS, Mechanism, make_mechanism

EPSILON = 2.0
LONG_STEP_S = 1.0
"""A measurement that takes longer than this is not repeated."""

DEVICES = (1_000, 10_000, 100_000, 1_000_000)
CELLS = (100, 1_000, 10_000, 100_000)
EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0)
COST_DEVICES, COST_CELLS = 20_000, 2_000

MEMORY_DEVICES = (100_000, 1_000_000, 10_000_000)
MEMORY_CELLS = 2_218
FEWER_DEVICES = {"she": 100_000}
"""Where a million devices take a quarter of a minute: times are extrapolated from these and marked so."""

SAMPLER_CELLS = (2_000, 100_000)
SAMPLER_DEVICES = (1_000, 1_000_000, 1_000_000_000)

CLIENT_CELLS = 2_000


def best_seconds(work: Callable[[], object]) -> float:
    """Return the CPU seconds of some work: the best of five, or of one where it takes long."""
    start = time.process_time()
    work()
    once = time.process_time() - start
    return once if once > LONG_STEP_S else min(once, cpu_seconds(work, repeats=4)["cpu_best"])


def _collect(mechanism: Mechanism, devices: int) -> Callable[[], object]:
    values = zipf_values(devices, mechanism.domain_size)
    return lambda: mechanism.estimate(mechanism.collect(values, rng=np.random.default_rng(1)), n=devices)


def cost_points(scale: float) -> list[tuple[str, float, int, int, float]]:
    """Return (what grows, its value, devices, cells, epsilon) of every point."""
    devices = max(int(COST_DEVICES * scale), 100)
    return [
        *(("devices", n, max(int(n * scale), 100), COST_CELLS, EPSILON) for n in DEVICES),
        *(("cells", d, devices, d, EPSILON) for d in CELLS),
        *(("epsilon", epsilon, devices, COST_CELLS, epsilon) for epsilon in EPSILONS),
    ]


def cost(names: Sequence[str], scale: float) -> list[dict[str, Any]]:
    """Time making, counting and inverting all reports, one thread, as one of three numbers grows."""
    rows = []
    for name in names:
        make_mechanism(name, epsilon=EPSILON, domain_size=70).collect(
            np.arange(3), rng=np.random.default_rng(1)
        )
        for grows, value, wanted, cells, epsilon in cost_points(scale):
            devices = min(wanted, FEWER_DEVICES.get(name, wanted))
            mechanism = make_mechanism(name, epsilon=epsilon, domain_size=cells)
            seconds = best_seconds(_collect(mechanism, devices)) * wanted / devices
            rows.append(
                {
                    "mechanism": name,
                    "grows": grows,
                    "value": value,
                    "devices": wanted,
                    "cells": cells,
                    "epsilon": epsilon,
                    "cpu_s": seconds,
                    "extrapolated": devices < wanted,
                }
            )
    return rows


def memory_point(name: str, devices: int) -> float:
    """Return the peak memory, MB, of this process after it has made and counted so many reports."""
    values = np.resize(zipf_values(min(devices, 100_000), MEMORY_CELLS), devices)
    make_mechanism(name, epsilon=EPSILON, domain_size=MEMORY_CELLS).collect(
        values, rng=np.random.default_rng(1), threads=2
    )
    return peak_mb()


def memory(names: Sequence[str], scale: float) -> list[dict[str, Any]]:
    """Measure the peak memory of a process a point: everything, the values themselves included."""
    rows = []
    for name in names:
        for wanted in MEMORY_DEVICES:
            devices = int(wanted * scale)
            command = [sys.executable, "-m", "benchmarks.scaling", "--memory-point", name, str(devices)]
            done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
            rows.append({"mechanism": name, "devices": devices, "peak_mb": float(done.stdout)})
    return rows


def samplers(names: Sequence[str], shapes: Sequence[int]) -> list[dict[str, Any]]:
    """Time drawing the counts without making reports, from a thousand devices to a billion."""
    rows = []
    for name in names:
        for cells in shapes:
            mechanism = make_mechanism(name, epsilon=EPSILON, domain_size=cells)
            if not mechanism.exact_joint_sampler:
                continue
            shares = np.arange(1, cells + 1, dtype=np.float64) ** -1.2
            for devices in SAMPLER_DEVICES:
                true_counts = np.random.default_rng(1).multinomial(devices, shares / shares.sum())
                draw = partial(mechanism.sample_counts, true_counts, rng=np.random.default_rng(1))
                rows.append(
                    {
                        "mechanism": name,
                        "cells": cells,
                        "devices": devices,
                        "cpu_s": best_seconds(draw),
                    }
                )
    return rows


def client(names: Sequence[str], reports: int) -> list[dict[str, Any]]:
    """Time the on-device client, which is written in whole numbers and the standard library alone."""
    rows = []
    for name in names:
        mechanism = make_mechanism(name, epsilon=EPSILON, domain_size=CLIENT_CELLS)
        made = make_client(mechanism, "0" * 16)
        many = max(reports // 100, 1) if name == "she" else reports

        def send(made: Any = made, many: int = many) -> None:  # noqa: ANN401
            for cell in range(many):
                made.report(cell)

        rows.append(
            {
                "mechanism": name,
                "cells": CLIENT_CELLS,
                "us_per_report": best_seconds(send) / many * 1e6,
                "report_bytes": mechanism.payload_bytes,
            }
        )
    return rows


def tables(results: dict[str, Any]) -> str:
    """Return the tables in Markdown."""
    parts = []
    if "cost" in results:
        parts += [_cost_table(results["cost"], grows) for grows in ("devices", "cells", "epsilon")]
    if "memory" in results:
        parts.append(
            _pivot(
                results["memory"],
                "devices",
                lambda row: f"{row['peak_mb']:,.0f} MB",
                "peak memory, {:,} devices",
            )
        )
    if "samplers" in results:
        for cells in dict.fromkeys(row["cells"] for row in results["samplers"]):
            rows = [row for row in results["samplers"] if row["cells"] == cells]
            parts.append(
                _pivot(
                    rows,
                    "devices",
                    lambda row: f"{significant(row['cpu_s'])} s",
                    f"{cells:,} cells, {{:,}} devices",
                )
            )
    if "client" in results:
        parts.append(
            markdown_table(
                ("on-device client, 2,000 cells", "µs a report", "bytes a report"),
                [
                    [f"`{row['mechanism']}`", significant(row["us_per_report"]), f"{row['report_bytes']:,}"]
                    for row in results["client"]
                ],
            )
        )
    return "\n\n".join(parts)


def _cost_table(rows: list[dict[str, Any]], grows: str) -> str:
    chosen = [row for row in rows if row["grows"] == grows]
    first = chosen[0]
    fixed = {
        "devices": f"{COST_CELLS:,} cells, ε 2, {{:,}} devices",
        "cells": f"{first['devices']:,} devices, ε 2, {{:,}} cells",
        "epsilon": f"{first['devices']:,} devices, {COST_CELLS:,} cells, ε {{:g}}",
    }[grows]

    def text(row: dict[str, Any]) -> str:
        return ("~" if row["extrapolated"] else "") + significant(row["cpu_s"] * 1e3) + " ms"

    return _pivot(chosen, "value", text, fixed)


def _pivot(
    rows: list[dict[str, Any]], column: str, text: Callable[[dict[str, Any]], str], heading: str
) -> str:
    """Lay rows out as mechanisms by one other key."""
    columns = list(dict.fromkeys(row[column] for row in rows))
    names = list(dict.fromkeys(row["mechanism"] for row in rows))
    cells = {(row["mechanism"], row[column]): text(row) for row in rows}
    lines = [[f"`{name}`", *(cells.get((name, value), "") for value in columns)] for name in names]
    return markdown_table(("", *(heading.format(value) for value in columns)), lines)


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="small sizes, nothing written")
    parser.add_argument("--part", action="append", choices=["cost", "memory", "samplers", "client"])
    parser.add_argument("--memory-point", nargs=2, metavar=("MECHANISM", "DEVICES"))
    given = parser.parse_args()
    if given.memory_point:
        print(memory_point(given.memory_point[0], int(given.memory_point[1])))
        return
    scale = 0.01 if given.quick else 1.0
    names = ("grr", "oue", "hr") if given.quick else tuple(MECHANISMS)
    parts: dict[str, Callable[[], list[dict[str, Any]]]] = {
        "cost": partial(cost, names, scale),
        "memory": partial(memory, names, scale),
        "samplers": partial(samplers, names, SAMPLER_CELLS[:1] if given.quick else SAMPLER_CELLS),
        "client": partial(client, names, 20 if given.quick else 500),
    }
    # A part that is not measured again keeps its figures, with the machine they were measured on.
    results = {} if given.quick else read_results("scaling") or {}
    for part in given.part or parts:
        results[part] = parts[part]()
        results.setdefault("machines", {})[part] = describe()
    print(tables(results))
    if not given.quick:
        write_results("scaling", results)


if __name__ == "__main__":
    main()
