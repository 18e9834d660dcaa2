"""Inner loop of noisy histograms: a discrete Laplace number for every cell of every device."""

from __future__ import annotations

import math

import numpy as np

from ldpcore.mechanisms.kernels.streams import U, kernel, next_word, stream_of
from ldpcore.shapes import IntArray

LARGEST = 2**53 - 1
"""Numbers are clamped here on the wire, far beyond any that occurs at an epsilon worth the name."""


@kernel
def noisy_rows(
    values: IntArray,
    domain_size: int,
    grid: int,
    scale: float,
    seed: np.uint64,
    block: np.uint64,
    counts: IntArray,
    rows: IntArray,
) -> None:
    """Add noise to the one-hot vectors of a block: into counts if it has cells, into rows if it has rows.

    A number z of noise has probability proportional to e^(-|z| / scale): an exponential is rounded down
    and given a random sign, and a negative zero is drawn again. The exponential has 53 random bits, so
    this is a simulation; the device client draws from the exact law.
    """
    state = stream_of(seed, block)
    for device in range(values.size):
        for cell in range(domain_size):
            magnitude = np.int64(0)
            negative = True
            while negative and magnitude == 0:
                word, state = next_word(state)
                negative = (word & U(1)) == U(1)
                uniform = (np.float64(word >> U(11)) + 1.0) * 2.0**-53
                magnitude = np.int64(-math.log(uniform) * scale)
            number = -magnitude if negative else magnitude
            if cell == values[device]:
                number += grid
            number = min(max(number, np.int64(-LARGEST)), np.int64(LARGEST))
            if rows.size:
                rows[device, cell] = number
            if counts.size:
                counts[cell] += number
