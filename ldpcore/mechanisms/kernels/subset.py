"""Inner loop of subset selection: a uniform subset of exactly k cells, made from crude random bits.

First every cell gets an independent bit of a probability that is a multiple of 1/128 and aims a little
below k cells in all. Then uniformly random absent cells are added, or present ones removed, until the
size is right. Every step treats all cells alike, so every subset of the right size is equally likely,
whatever the crude probability was; that is only a matter of speed. (Removing costs many tries, hence the
low aim.)
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ldpcore.mechanisms.kernels.streams import (
    U,
    inline,
    kernel,
    mix,
    next_bernoulli,
    next_word,
    population_count,
    stream_of,
)
from ldpcore.mechanisms.kernels.unary import GROUP, LANES, PLANES, add_group, flush_planes, seed_lanes
from ldpcore.shapes import CellArray, IntArray

CRUDE_DIGITS = 7


def crude_masks(share: float) -> CellArray:
    """Return the digits of a share in [0, 1), rounded down to a multiple of 1/128, the last one first."""
    digits = max(0, int(share * 2**CRUDE_DIGITS))
    return np.array([2**64 - 1 if digits >> place & 1 else 0 for place in range(CRUDE_DIGITS)], np.uint64)


@inline
def _crude_words(
    lanes: npt.NDArray[np.uint64], masks: npt.NDArray[np.uint64], words: npt.NDArray[np.uint64], start: int
) -> None:
    """Write 32 words of independent bits by a ladder of AND and OR, one random word a digit."""
    m0, m1, m2, m3 = masks[0], masks[1], masks[2], masks[3]
    m4, m5, m6 = masks[4], masks[5], masks[6]
    for lane in range(LANES):
        a, b, c, counter = lanes[0, lane], lanes[1, lane], lanes[2, lane], lanes[3, lane]
        bits = U(0)
        for mask in (m0, m1, m2, m3, m4, m5, m6):
            word = a + b + counter
            counter += U(1)
            a = b ^ (b >> U(11))
            b = c + (c << U(3))
            c = ((c << U(24)) | (c >> U(40))) + word
            bits = (bits & word) | ((bits | word) & mask)
        lanes[0, lane] = a
        lanes[1, lane] = b
        lanes[2, lane] = c
        lanes[3, lane] = counter
        words[start + lane] = bits


@kernel
def _repair(
    row: npt.NDArray[np.uint64], cells: np.uint64, own: np.uint64, size: int, state: np.uint64
) -> np.uint64:
    """Bring the subset of cells other than the own one, whose bit is 0, to exactly this size."""
    present = U(0)
    for w in range(row.size):
        present += population_count(row[w])
    missing = size - np.int64(present)
    low_half = U(0xFFFFFFFF)
    # Two places from one word: 32 bits times the number of cells, rejecting what would favour some.
    limit = U(0x100000000) % cells
    while missing != 0:
        word, state = next_word(state)
        for _ in range(2):
            product = (word & low_half) * cells
            word >>= U(32)
            if (product & low_half) >= limit and missing != 0:
                place = product >> U(32)
                bit = U(1) << (place & U(63))
                at = place >> U(6)
                absent = (row[at] & bit) == U(0)
                if missing > 0 and absent and place != own:
                    row[at] |= bit
                    missing -= 1
                elif missing < 0 and not absent:
                    row[at] ^= bit
                    missing += 1
    return state


@kernel
def subset_rows(
    values: IntArray,
    domain_size: int,
    size: int,
    masks: npt.NDArray[np.uint64],
    include_high: np.uint64,
    include_low: np.uint64,
    seed: np.uint64,
    block: np.uint64,
    counts: IntArray,
    rows: npt.NDArray[np.uint64],
) -> None:
    """Make the subsets of a block: add them to counts if it has cells, keep them in rows if it has rows."""
    width = (domain_size + 63) // 64
    tail = ~U(0) >> U(width * 64 - domain_size)
    # One piece of memory, for the reason given in the unary kernel.
    bits = (GROUP * width + LANES - 1) // LANES * LANES
    scratch = np.zeros(4 * LANES + bits + (PLANES * width if counts.size else 0), np.uint64)
    lanes = scratch[: 4 * LANES].reshape(4, LANES)
    words = scratch[4 * LANES : 4 * LANES + bits]
    group = words[: GROUP * width].reshape(GROUP, width)
    planes = scratch[4 * LANES + bits :].reshape(PLANES, width if counts.size else 0)
    seed_lanes(lanes, seed, block)
    state = mix(stream_of(seed, block))
    for first in range(0, values.size, GROUP):
        for start in range(0, bits, LANES):
            _crude_words(lanes, masks, words, start)
        used = min(GROUP, values.size - first)
        for device in range(used):
            own = U(values[first + device])
            own_bit = U(1) << (own & U(63))
            row = group[device]
            row[width - 1] &= tail
            row[own >> U(6)] &= ~own_bit
            included, state = next_bernoulli(state, include_high, include_low)
            state = _repair(row, U(domain_size), own, size - 1 if included else size, state)
            if included:
                row[own >> U(6)] |= own_bit
        if rows.size:
            rows[first : first + used] = group[:used]
        if counts.size:
            group[used:] = U(0)
            add_group(group, planes)
    flush_planes(planes, counts)
