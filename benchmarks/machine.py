"""What machine and versions a measurement was made with."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

PACKAGES = ("numpy", "scipy", "pandas", "numba", "h3", "streamlit", "pydeck", "pyarrow")


def describe() -> dict[str, Any]:
    """Return processor, cores, system, versions and commit."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
    )
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "packages": {name: importlib.metadata.version(name) for name in PACKAGES},
        "commit": commit.stdout.strip() or "unknown",
    }


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
