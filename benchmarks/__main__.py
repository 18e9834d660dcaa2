"""Run every benchmark, one after another, and write the tables and charts.

    python -m benchmarks [--quick]        (or: make bench, make bench QUICK=--quick)

A quiet machine and about twenty minutes; with --quick small sizes, two minutes, and nothing is written.
"""

from __future__ import annotations

import subprocess
import sys

from benchmarks.machine import ROOT

MEASUREMENTS = ("peers", "limits", "scaling", "page", "main_job")


def main() -> None:
    """Run each in a process of its own, so that none pays for the memory of another."""
    quick = [word for word in sys.argv[1:] if word == "--quick"]
    for name in MEASUREMENTS:
        print(f"\n## {name}\n", flush=True)
        subprocess.run([sys.executable, "-m", f"benchmarks.{name}", *quick], cwd=ROOT, check=True)
    if not quick:
        subprocess.run([sys.executable, "-m", "benchmarks.report"], cwd=ROOT, check=True)


if __name__ == "__main__":
    main()
