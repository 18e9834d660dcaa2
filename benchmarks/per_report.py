"""Every report made and counted, counts drawn without reports, and the on-device client.

    python -m benchmarks.per_report

Prints a table and writes benchmarks/results/per_report.json.
"""

from __future__ import annotations

import json
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.machine import cpu_seconds, describe
from ldpcore.device.wire import make_client
from ldpcore.mechanisms import MECHANISMS, Mechanism, make_mechanism

RESULTS = Path(__file__).parent / "results" / "per_report.json"
EPSILON = 2.0
SIZES = ((1_000_000, 2_000), (100_000, 100_000))
FEWER_DEVICES = {"she": 50}
"""Times slower than the others, so it is measured on a fiftieth of the devices and said so."""


def zipf_values(devices: int, cells: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Draw cells of which a few are crowded and most are nearly empty."""
    weights = 1 / np.arange(1, cells + 1) ** 1.2
    return np.random.default_rng(1).choice(cells, devices, p=weights / weights.sum())


def collect(mechanism: Mechanism, values: np.ndarray[Any, Any], threads: int) -> None:
    """Make and count one report per device."""
    mechanism.collect(values, rng=np.random.default_rng(5), threads=threads)


def sample(mechanism: Mechanism, true_counts: np.ndarray[Any, Any]) -> None:
    """Draw the counts."""
    mechanism.sample_counts(true_counts, rng=np.random.default_rng(5))


def measure(name: str, devices: int, cells: int) -> dict[str, Any]:
    """Time one mechanism at one size."""
    devices //= FEWER_DEVICES.get(name, 1)
    mechanism = make_mechanism(name, epsilon=EPSILON, domain_size=cells)
    values = zipf_values(devices, cells)
    true_counts = np.bincount(values, minlength=cells) * 1000
    row: dict[str, Any] = {"mechanism": name, "devices": devices, "cells": cells}
    for threads in (1, 2):
        figures = cpu_seconds(partial(collect, mechanism, values, threads), repeats=5)
        row.update({f"{key}_{threads}_threads": value for key, value in figures.items()})
    row["ns_per_report"] = row["cpu_best_1_threads"] / devices * 1e9
    row["ns_per_report_and_cell"] = row["ns_per_report"] / cells
    row["sampler_cpu_best"] = cpu_seconds(partial(sample, mechanism, true_counts), repeats=3)["cpu_best"]
    if cells <= SIZES[0][1]:
        client = make_client(mechanism, "0" * 16)
        reports = 5 if name == "she" else 500

        def send() -> None:
            for cell in range(reports):
                client.report(cell)

        row["client_us_per_report"] = cpu_seconds(send, repeats=3)["cpu_best"] / reports * 1e6
        row["report_bytes"] = mechanism.payload_bytes
    return row


def main() -> None:
    """Measure, print, write."""
    rows = []
    print(
        f"{'':<5}{'devices':>9}{'cells':>8}{'CPU s':>9}{'2 threads':>10}{'wall':>8}"
        f"{'ns/report':>11}{'sampler s':>11}{'client us':>11}{'bytes':>7}"
    )
    for devices, cells in SIZES:
        for name in MECHANISMS:
            row = measure(name, devices, cells)
            rows.append(row)
            print(
                f"{name:<5}{row['devices']:>9}{cells:>8}{row['cpu_best_1_threads']:>9.4f}"
                f"{row['cpu_best_2_threads']:>10.4f}{row['wall_best_2_threads']:>8.3f}"
                f"{row['ns_per_report']:>11.1f}{row['sampler_cpu_best']:>11.4f}"
                f"{row.get('client_us_per_report', float('nan')):>11.1f}{row.get('report_bytes', ''):>7}",
                flush=True,
            )
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps({"machine": describe(), "rows": rows}, indent=2) + "\n", encoding="utf-8")
    print(f"wrote {RESULTS}", file=sys.stderr)


if __name__ == "__main__":
    main()
