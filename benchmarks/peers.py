"""Against the other libraries: the same work in one run, CPU seconds, every report really made and counted.

    python -m benchmarks.peers [--quick] [--only grr,oue] [--most-seconds 120]

Makes a virtual environment a library under `.bench/`, measures each job in a process of its own, one after
another, writes benchmarks/results/peers.json and prints the table. What cannot end in two minutes is measured
on fewer devices and marked with "~".
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.machine import ROOT, describe, write_results
from benchmarks.tables import markdown_table, seconds_text, times_text
from ldpcore.mechanisms import MECHANISMS
from ldpcore.mechanisms.blocks import BLOCK_DEVICES

ENVIRONMENTS = ROOT / ".bench"
EPSILON = 2.0
SHAPES = ((1_000_000, 2_000), (100_000, 100_000))
QUICK_SHAPES = ((20_000, 500),)
QUICK_NAMES = "grr,oue,hr"
OURS = "ldp_atlas"
SHORT = {"she": 10.0, "the": 20.0}
"""Longest run in seconds of mechanisms that are here for comparison only and take every library minutes."""


FIGURES_TO_REACH = {
    "grr": (0.01, 0.002),
    "sue": (0.35, 1.6),
    "oue": (0.35, 1.6),
    "blh": (0.4, 1.6),
    "olh": (0.4, 1.6),
    "ss": (0.35, 1.1),
    "hrr": (0.01, 0.01),
    "hr": (0.01, 0.01),
}
"""CPU seconds the project set itself, for each of `SHAPES`."""


@dataclass(frozen=True)
class Peer:
    """A library and what must be installed for it to work.

    Parameters
    ----------
    label
        Its name in the package registry.
    module
        Name of its jobs.
    packages
        Pinned: itself, what it needs and does not declare, and what a newer version of broke it.
    jobs
        Mechanisms it has that are in our table too.
    """

    label: str
    module: str
    packages: tuple[str, ...]
    jobs: tuple[str, ...]


# xxhash 4 takes bytes only, and each of these hands it text. pure-ldp imports scikit-learn and statsmodels,
# multi-freq-ldpy imports scipy, and neither says so.
PEERS = (
    Peer(
        "pure-ldp",
        "pure_ldp_jobs",
        (
            "pure-ldp==1.2.0",
            "xxhash==3.6.0",
            "numpy==2.4.6",
            "scipy==1.17.1",
            "bitarray==3.12.3",
            "bitstring==5.0.0",
            "scikit-learn==1.9.1",
            "statsmodels==0.15.0",
        ),
        ("grr", "sue", "oue", "she", "the", "blh", "olh", "hrr", "hr", "cms", "hcms"),
    ),
    Peer(
        "multi-freq-ldpy",
        "multi_freq_ldpy_jobs",
        ("multi-freq-ldpy==0.2.5", "xxhash==3.6.0", "numpy==2.4.6", "scipy==1.17.1", "numba==0.68.1"),
        ("grr", "sue", "oue", "she", "the", "blh", "olh", "ss"),
    ),
    Peer(
        "ldp-toolbox",
        "ldp_toolbox_jobs",
        ("ldp-toolbox==0.1.3", "xxhash==3.6.0", "numpy==2.4.6", "scipy==1.17.1", "numba==0.68.1"),
        ("grr", "sue", "oue", "she", "the", "blh", "olh", "ss"),
    ),
)


def environment(peer: Peer) -> Path:
    """Return the Python of a library's environment, making it when its packages have changed."""
    folder = ENVIRONMENTS / peer.label
    python = folder / "bin" / "python"
    stamp = folder / "packages.txt"
    wanted = "\n".join(peer.packages)
    if not stamp.is_file() or stamp.read_text(encoding="utf-8") != wanted:
        print(f"installing {peer.label}", file=sys.stderr)
        venv.create(folder, with_pip=True, clear=True)
        install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*install, *peer.packages], check=True)
        stamp.write_text(wanted, encoding="utf-8")
    return python


def run_job(python: str, module: str, mechanism: str, **options: float) -> dict[str, Any] | None:
    """Measure one job in a process of its own; None where it failed."""
    command = [python, "-m", "benchmarks.peer_jobs.worker", module, mechanism]
    for name, value in options.items():
        command += [f"--{name.replace('_', '-')}", str(value)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        reason = done.stderr.strip().splitlines()[-1:] or ["no output"]
        print(f"  {module} {mechanism} failed: {reason[0]}", file=sys.stderr)
        return None
    figures: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return figures


def measure(names: list[str], shapes: tuple[tuple[int, int], ...], **limits: float) -> list[dict[str, Any]]:
    """Measure ours and every peer's for each mechanism and shape, next to one another in time."""
    pythons = {peer.label: str(environment(peer)) for peer in PEERS}
    rows = []
    for devices, cells in shapes:
        for name in names:
            most = min(limits["most_seconds"], SHORT.get(name, limits["most_seconds"]))
            shape = {"devices": devices, "cells": cells, "epsilon": EPSILON, **limits, "most_seconds": most}
            ours = {
                str(threads): run_job(sys.executable, f"{OURS}_jobs", name, threads=threads, **shape)
                for threads in (1, 2)
            }
            peers = {
                peer.label: run_job(pythons[peer.label], peer.module, name, **shape)
                for peer in PEERS
                if name in peer.jobs
            }
            row = {"mechanism": name, "devices": devices, "cells": cells, "ours": ours, "peers": peers}
            rows.append(row)
            print("  " + "  ".join(cell or "-" for cell in table_cells(row)), file=sys.stderr)
    return rows


def best_peer(row: dict[str, Any]) -> tuple[str, dict[str, Any]] | None:
    """Return the fastest peer of a row and its figures; None where no peer has the mechanism."""
    ran = {label: figures for label, figures in row["peers"].items() if figures}
    if not ran:
        return None
    label = min(ran, key=lambda name: float(ran[name]["cpu_s"]))
    return label, ran[label]


def ratio_to_best_peer(row: dict[str, Any]) -> float | None:
    """Return how many times our CPU seconds the fastest peer needs."""
    best, ours = best_peer(row), row["ours"]["1"]
    return best[1]["cpu_s"] / ours["cpu_s"] if best and ours else None


def figure_to_reach(row: dict[str, Any]) -> float | None:
    """Return the CPU seconds the project set itself for this row."""
    shape = (row["devices"], row["cells"])
    if shape not in SHAPES or row["mechanism"] not in FIGURES_TO_REACH:
        return None
    return FIGURES_TO_REACH[row["mechanism"]][SHAPES.index(shape)]


def seconds_cell(figures: dict[str, Any] | None, key: str = "cpu_s") -> str:
    """Write the seconds of a measurement, with "~" where they are extrapolated."""
    if not figures:
        return ""
    return ("~" if figures["extrapolated"] else "") + seconds_text(figures[key])


HEADER = (
    "mechanism",
    "one thread",
    "two threads, wall",
    "figure to reach",
    *(peer.label for peer in PEERS),
    "best peer / ours",
)


def table_cells(row: dict[str, Any]) -> list[str]:
    """Return the cells of a row of the table."""
    goal, ratio = figure_to_reach(row), ratio_to_best_peer(row)
    return [
        f"`{row['mechanism']}`",
        seconds_cell(row["ours"]["1"]),
        "" if _too_short_for_threads(row["ours"]["2"]) else seconds_cell(row["ours"]["2"], "wall_s"),
        "" if goal is None else seconds_text(goal),
        *(seconds_cell(row["peers"].get(peer.label)) for peer in PEERS),
        "no peer has it" if ratio is None else times_text(ratio),
    ]


def _too_short_for_threads(figures: dict[str, Any] | None) -> bool:
    """Tell whether a prediction rests on so few blocks of devices that two threads had no work."""
    return bool(figures and figures["extrapolated"] and figures["measured_devices"] < 4 * BLOCK_DEVICES)


def tables(results: dict[str, Any]) -> str:
    """Return one Markdown table a shape."""
    parts = []
    shapes = list(dict.fromkeys((row["devices"], row["cells"]) for row in results["rows"]))
    for devices, cells in shapes:
        rows = [
            table_cells(row) for row in results["rows"] if (row["devices"], row["cells"]) == (devices, cells)
        ]
        parts.append(f"**{devices:,} devices × {cells:,} cells**, seconds\n\n{markdown_table(HEADER, rows)}")
    return "\n\n".join(parts)


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="small sizes, nothing written")
    parser.add_argument("--only", help="mechanisms, separated by commas; all by default")
    parser.add_argument(
        "--most-seconds", type=float, default=120.0, help="longest run that is not extrapolated"
    )
    parser.add_argument("--sample-seconds", type=float, default=3.0)
    given = parser.parse_args()
    shapes: tuple[tuple[int, int], ...]
    if given.quick:
        shapes, names = QUICK_SHAPES, given.only or QUICK_NAMES
        limits = {"most_seconds": 0.5, "sample_seconds": 0.1}
    else:
        shapes, names = SHAPES, given.only or ",".join(MECHANISMS)
        limits = {"most_seconds": given.most_seconds, "sample_seconds": given.sample_seconds}
    results = {
        "machine": describe(),
        "epsilon": EPSILON,
        "limits": limits,
        "packages": {peer.label: peer.packages for peer in PEERS},
        "rows": measure(names.split(","), shapes, **limits),
    }
    print(tables(results))
    if not given.quick:
        write_results("peers", results)


if __name__ == "__main__":
    main()
