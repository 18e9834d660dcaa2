"""What machine and versions a measurement was made with."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RESULTS = Path(__file__).resolve().parent / "results"
PACKAGES = ("numpy", "scipy", "pandas", "numba", "h3", "streamlit", "pydeck", "pyarrow")


def describe() -> dict[str, Any]:
    """Return processor, cores, system, versions and commit."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return {
        "date": time.strftime("%Y-%m-%d %H:%M", time.gmtime()),
        "processor": _processor(),
        "vector_instructions": _vector_instructions(),
        "cores": os.cpu_count(),
        "load_before": round(os.getloadavg()[0], 2),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "packages": {name: importlib.metadata.version(name) for name in PACKAGES},
        "commit": commit.stdout.strip() or "unknown",
    }


def write_results(name: str, results: dict[str, Any]) -> None:
    """Write figures to benchmarks/results/NAME.json."""
    path = RESULTS / f"{name}.json"
    RESULTS.mkdir(exist_ok=True)
    path.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    print(f"wrote {path.relative_to(ROOT)}", file=sys.stderr)


def read_results(name: str) -> dict[str, Any] | None:
    """Return the figures of benchmarks/results/NAME.json, or None where there are none."""
    path = RESULTS / f"{name}.json"
    if not path.is_file():
        return None
    results: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return results


def _vector_instructions() -> str:
    info = Path("/proc/cpuinfo")
    flags = set(info.read_text(encoding="utf-8").split()) if info.is_file() else set()
    return next((name for name in ("avx512f", "avx2", "sse4_1", "sse2") if name in flags), "unknown")


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.is_file():
        for line in info.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or "unknown"


def cpu_seconds(work: Callable[[], object], *, repeats: int = 7) -> dict[str, float]:
    """Run something several times and return the best and the median CPU seconds and the best wall time.

    CPU time of the whole process, so that a second thread is not free.
    """
    work()  # caches filled and kernels compiled
    cpu, wall = [], []
    for _ in range(repeats):
        cpu_start, wall_start = time.process_time(), time.perf_counter()
        work()
        cpu.append(time.process_time() - cpu_start)
        wall.append(time.perf_counter() - wall_start)
    cpu.sort()
    return {"cpu_best": cpu[0], "cpu_median": cpu[len(cpu) // 2], "wall_best": min(wall)}
