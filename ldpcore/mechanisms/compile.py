"""Compile every kernel ahead of time, so that no user waits for it: `python -m ldpcore.mechanisms.compile`.

The machine code is kept beside the kernels in `__pycache__` (or where NUMBA_CACHE_DIR says), and is made
again when a kernel's file or the processor changes.
"""

from __future__ import annotations

import sys
import time

import numpy as np

from ldpcore.mechanisms import MECHANISMS, make_mechanism

_DOMAIN_SIZE = 70
"""More than one 64-bit word of cells, and not a whole number of them."""


def compile_kernels() -> float:
    """Make and count a few reports with every mechanism; return the seconds it took."""
    start = time.perf_counter()
    values = np.arange(3)
    for name in MECHANISMS:
        mechanism = make_mechanism(name, epsilon=2.0, domain_size=_DOMAIN_SIZE)
        rng = np.random.default_rng(0)
        mechanism.collect(values, rng=rng)
        mechanism.aggregate(mechanism.perturb(mechanism.encode(values, rng=rng), rng=rng))
    return time.perf_counter() - start


if __name__ == "__main__":
    sys.stderr.write(f"kernels ready after {compile_kernels():.1f} s\n")
