"""Inner loop of generalized randomised response: two draws a device."""

from __future__ import annotations

import numpy as np

from ldpcore.mechanisms.kernels.streams import U, kernel, next_below, next_bernoulli, stream_of
from ldpcore.shapes import IntArray, WordArray


@kernel
def direct_block(
    values: IntArray,
    domain_size: np.uint64,
    keep_high: np.uint64,
    keep_low: np.uint64,
    seed: np.uint64,
    block: np.uint64,
    reports: WordArray,
) -> None:
    """Fill reports with each value kept with the given probability, else any other cell, uniformly."""
    state = stream_of(seed, block)
    others = domain_size - U(1)
    for device in range(values.size):
        kept, state = next_bernoulli(state, keep_high, keep_low)
        other, state = next_below(state, others)
        value = U(values[device])
        if other >= value:
            other += U(1)
        reports[device] = np.uint32(value if kept else other)


@kernel
def count_block(reports: WordArray, counts: IntArray) -> None:
    """Add the histogram of the reports to counts."""
    for device in range(reports.size):
        counts[reports[device]] += 1
