"""What the machine does in bare loops: the yardstick of `benchmarks.limits`.

Each loop does one thing that a mechanism cannot do without, and nothing else, in the form that was found to
be the fastest here. They are written apart from the product's kernels on purpose.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.uint64]
U = np.uint64

LANES = 32
DIGITS = 10
"""Random words for 64 bits of any probability, but for one bit in a thousand that needs more."""

PRODUCTS = 512


def _compiled(function: Any) -> Any:  # noqa: ANN401
    return numba.njit(nogil=True, cache=True)(function)


def started_lanes(seed: int = 1) -> Words:
    """Return the state of 32 generators side by side, (4, 32)."""
    lanes = np.random.default_rng(seed).integers(0, 2**64, (4, LANES), dtype=np.uint64)
    lanes[3] = 1
    return lanes


@_compiled
def random_words(lanes: Words, rounds: int) -> np.uint64:
    """Make 32 words of sfc64 a round and fold them into one."""
    folded = U(0)
    for _ in range(rounds):
        for lane in range(LANES):
            a, b, c, counter = lanes[0, lane], lanes[1, lane], lanes[2, lane], lanes[3, lane]
            word = a + b + counter
            lanes[0, lane] = b ^ (b >> U(11))
            lanes[1, lane] = c + (c << U(3))
            lanes[2, lane] = ((c << U(24)) | (c >> U(40))) + word
            lanes[3, lane] = counter + U(1)
            folded ^= word
    return folded


@_compiled
def bernoulli_bits(lanes: Words, masks: Words, out: Words) -> None:
    """Fill words (a multiple of 32) with bits of one probability: ten random words each, compared digit by digit."""
    m0, m1, m2, m3, m4 = masks[0], masks[1], masks[2], masks[3], masks[4]
    m5, m6, m7, m8, m9 = masks[5], masks[6], masks[7], masks[8], masks[9]
    for start in range(0, out.size, LANES):
        for lane in range(LANES):
            a, b, c, counter = lanes[0, lane], lanes[1, lane], lanes[2, lane], lanes[3, lane]
            ones = U(0)
            equal = ~U(0)
            for mask in (m0, m1, m2, m3, m4, m5, m6, m7, m8, m9):
                word = a + b + counter
                counter += U(1)
                a = b ^ (b >> U(11))
                b = c + (c << U(3))
                c = ((c << U(24)) | (c >> U(40))) + word
                differs = word ^ mask
                ones |= equal & differs & mask
                equal &= ~differs
            lanes[0, lane] = a
            lanes[1, lane] = b
            lanes[2, lane] = c
            lanes[3, lane] = counter
            out[start + lane] = ones


@_compiled
def hash_and_compare(multipliers: npt.NDArray[np.uint32], cells: int) -> np.int64:
    """Hash every cell with each of 512 multipliers and count the hashes below a bound: 32-bit multiply and compare.

    The simplest hash there is. It is not enough for a local hash: pairs of cells would be correlated.
    """
    found = np.int64(0)
    for cell in range(cells):
        place = np.uint32(cell)
        below = np.int32(0)
        for lane in range(PRODUCTS):
            product = np.uint32(multipliers[lane] * place)
            below = np.int32(below + np.int32(np.int32(product) < np.int32(-1610612736)))
        found += below
    return found


@_compiled
def histogram(places: npt.NDArray[np.uint32], counts: npt.NDArray[np.int64]) -> None:
    """Count how often each place occurs."""
    for at in range(places.size):
        counts[places[at]] += 1


@_compiled
def read_memory(words: Words) -> np.uint64:
    """Fold an array into one word."""
    folded = U(0)
    for at in range(words.size):
        folded ^= words[at]
    return folded
