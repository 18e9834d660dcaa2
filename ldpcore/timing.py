"""How long the phone and the server take for one report, measured here and now.

Times belong to a machine: none is written down anywhere, each is measured in this process when somebody asks.
"""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ldpcore.mechanisms import Mechanism

_LEAST_S = 0.03
_MOST_BYTES = 32 * 2**20
_MOST_REPORTS = 2**18
_REPEATS = 3


@dataclass(frozen=True, slots=True)
class Times:
    """Measured times of one randomiser, in seconds a report on one core.

    Parameters
    ----------
    device_s
        The on-device client making one report; None where it was not measured.
    server_s
        Adding one report to the counts, in a batch.
    batch
        Reports in that batch.
    """

    device_s: float | None
    server_s: float
    batch: int


def measure(mechanism: Mechanism, *, client: Callable[[int], object] | None = None) -> Times:
    """Measure one randomiser; takes about a quarter of a second.

    Parameters
    ----------
    mechanism
        The server's half.
    client
        The on-device client: makes a report for a cell.

    Notes
    -----
    The server's batch grows until it takes 0.03 s, 32 MiB or 262,144 reports; work that is done once
    for all reports, such as the Hadamard transform, is shared out among them. The best of three runs
    counts, since other programs can only slow a run down.
    """
    rng = np.random.default_rng(0)
    cells = rng.integers(mechanism.domain_size, size=_MOST_REPORTS)
    batch = 64
    mechanism.aggregate(mechanism.privatize(cells[:1], rng=rng))  # compiles
    while True:
        reports = mechanism.privatize(cells[:batch], rng=rng)
        seconds = _best(lambda reports=reports: mechanism.aggregate(reports))  # type: ignore[misc]
        if seconds >= _LEAST_S or 2 * reports.nbytes > _MOST_BYTES or batch >= _MOST_REPORTS:
            break
        batch *= 2
    return Times(None if client is None else _device_seconds(client, cells), seconds / batch, batch)


def _device_seconds(
    client: Callable[[int], object], cells: np.ndarray[tuple[int], np.dtype[np.int64]]
) -> float:
    made, start = 0, time.perf_counter()
    while made < cells.size:
        client(int(cells[made]))
        made += 1
        if time.perf_counter() - start >= _LEAST_S and made >= _REPEATS:
            break
    return (time.perf_counter() - start) / made


def _best(run: Callable[[], object]) -> float:
    best = float("inf")
    for _ in range(_REPEATS):
        start = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - start)
        if best >= _LEAST_S:
            break
    return best


def machine_name() -> str:
    """Return what the times were measured on: processor, cores, Python."""
    processor = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.is_file():
        for line in cpuinfo.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                processor = line.partition(":")[2].strip()
                break
    cores = os.cpu_count() or 1
    return f"{processor}, {cores} cores, Python {platform.python_version()}"
