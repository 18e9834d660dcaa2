"""Inner loops of unary encodings: exact Bernoulli bits, 64 at a time, and column sums of packed bits.

A bit is 1 with probability q when a random binary fraction lies below q. Word by word, the first ten
digits of 64 such fractions are compared with those of q at once; about one fraction in a thousand still
agrees with q then and is finished alone with up to 128 more digits. So each bit is met to within 2^-138.

Ten rounds are unrolled by hand: with twelve LLVM stops vectorising the loop, and it takes six times as long.
The words come from 32 lanes of the generator sfc64 (C. Doty-Humphrey, *PractRand*, 2010) side by side.

Columns are added with carry-save adders, 16 reports at a time, into 14 bit planes that hold a whole block
(W. Mula, N. Kurz, D. Lemire, *Faster Population Counts Using AVX2 Instructions*, 2018).
"""

from __future__ import annotations

from fractions import Fraction
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from ldpcore.mechanisms.kernels.streams import U, inline, kernel, mix, next_bernoulli, next_word, stream_of
from ldpcore.shapes import CellArray, IntArray

LANES = 32
LEADING_DIGITS = 10
GROUP = 16
"""Reports that are made and added together."""

PLANES = 14

_UnaryLaw: TypeAlias = tuple[CellArray, np.uint64, np.uint64, np.uint64, np.uint64]


def unary_law(p: Fraction, q: Fraction) -> _UnaryLaw:
    """Return the digits of q (ten masks, then two words) and of p (two words) as the kernels take them."""
    digits = (q.numerator << (LEADING_DIGITS + 128)) // q.denominator
    leading, rest = digits >> 128, digits & (2**128 - 1)
    masks = [
        2**64 - 1 if leading >> (LEADING_DIGITS - 1 - place) & 1 else 0 for place in range(LEADING_DIGITS)
    ]
    own = (p.numerator << 128) // p.denominator
    word = 2**64 - 1
    return np.array(masks, np.uint64), U(rest >> 64), U(rest & word), U(own >> 64), U(own & word)


@kernel
def seed_lanes(lanes: npt.NDArray[np.uint64], seed: np.uint64, block: np.uint64) -> None:
    """Start 32 sfc64 generators, each mixed for twelve rounds."""
    state = stream_of(seed, block)
    for lane in range(LANES):
        a, state = next_word(state)
        b, state = next_word(state)
        c, state = next_word(state)
        counter = U(1)
        for _ in range(12):
            word = a + b + counter
            counter += U(1)
            a = b ^ (b >> U(11))
            b = c + (c << U(3))
            c = ((c << U(24)) | (c >> U(40))) + word
        lanes[0, lane] = a
        lanes[1, lane] = b
        lanes[2, lane] = c
        lanes[3, lane] = counter


@inline
def _leading_digits(
    lanes: npt.NDArray[np.uint64],
    masks: npt.NDArray[np.uint64],
    words: npt.NDArray[np.uint64],
    start: int,
    undecided: npt.NDArray[np.uint64],
) -> np.uint64:
    """Write 32 words of bits decided by ten digits; return where any bit is still undecided."""
    m0, m1, m2, m3, m4 = masks[0], masks[1], masks[2], masks[3], masks[4]
    m5, m6, m7, m8, m9 = masks[5], masks[6], masks[7], masks[8], masks[9]
    anywhere = U(0)
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
            # The first digit that differs decides: below where the digit of q is the 1.
            ones |= equal & differs & mask
            equal &= ~differs
        lanes[0, lane] = a
        lanes[1, lane] = b
        lanes[2, lane] = c
        lanes[3, lane] = counter
        words[start + lane] = ones
        undecided[lane] = equal
        anywhere |= equal
    return anywhere


@kernel
def fill_words(
    lanes: npt.NDArray[np.uint64],
    state: np.uint64,
    masks: npt.NDArray[np.uint64],
    rest_high: np.uint64,
    rest_low: np.uint64,
    words: npt.NDArray[np.uint64],
    undecided: npt.NDArray[np.uint64],
) -> np.uint64:
    """Fill words, a multiple of 32 of them, with independent bits; return the next scalar state."""
    for start in range(0, words.size, LANES):
        if _leading_digits(lanes, masks, words, start, undecided) != U(0):
            for lane in range(LANES):
                equal = undecided[lane]
                while equal != U(0):
                    lowest = equal & (~equal + U(1))
                    one, state = next_bernoulli(state, rest_high, rest_low)
                    if one:
                        words[start + lane] |= lowest
                    equal ^= lowest
    return state


@kernel
def own_bits(
    values: IntArray,
    first: int,
    width: int,
    tail: np.uint64,
    own_high: np.uint64,
    own_low: np.uint64,
    state: np.uint64,
    words: npt.NDArray[np.uint64],
) -> np.uint64:
    """Redraw the bit of each device's own cell with probability p and clear the padding; up to 16 devices."""
    for row in range(min(GROUP, values.size - first)):
        one, state = next_bernoulli(state, own_high, own_low)
        value = values[first + row]
        place = row * width + (value >> 6)
        shift = U(value & 63)
        words[place] = (words[place] & ~(U(1) << shift)) | (U(one) << shift)
        words[row * width + width - 1] &= tail
    return state


@kernel
def unary_rows(
    values: IntArray,
    domain_size: int,
    masks: npt.NDArray[np.uint64],
    rest_high: np.uint64,
    rest_low: np.uint64,
    own_high: np.uint64,
    own_low: np.uint64,
    seed: np.uint64,
    block: np.uint64,
    counts: IntArray,
    rows: npt.NDArray[np.uint64],
) -> None:
    """Make the reports of a block: add them to counts if it has cells, keep them in rows if it has rows.

    Both uses go through the same draws, so a report that is kept and one that is only counted are the same.
    """
    width = (domain_size + 63) // 64
    tail = ~U(0) >> U(width * 64 - domain_size)
    # One piece of memory for everything that the inner loop touches: separate arrays now and then land where
    # the first-level cache takes them for one another, and the loop is three times slower.
    bits = (GROUP * width + LANES - 1) // LANES * LANES
    scratch = np.zeros(5 * LANES + bits + (PLANES * width if counts.size else 0), np.uint64)
    lanes = scratch[: 4 * LANES].reshape(4, LANES)
    undecided = scratch[4 * LANES : 5 * LANES]
    words = scratch[5 * LANES : 5 * LANES + bits]
    group = words[: GROUP * width].reshape(GROUP, width)
    planes = scratch[5 * LANES + bits :].reshape(PLANES, width if counts.size else 0)
    seed_lanes(lanes, seed, block)
    state = mix(stream_of(seed, block))
    for first in range(0, values.size, GROUP):
        state = fill_words(lanes, state, masks, rest_high, rest_low, words, undecided)
        state = own_bits(values, first, width, tail, own_high, own_low, state, words)
        used = min(GROUP, values.size - first)
        if rows.size:
            rows[first : first + used] = group[:used]
        if counts.size:
            group[used:] = U(0)
            add_group(group, planes)
    flush_planes(planes, counts)


@kernel
def add_rows(rows: npt.NDArray[np.uint64], counts: IntArray) -> None:
    """Add the columns of at most one block of packed reports to counts."""
    width = rows.shape[1]
    planes = np.zeros((PLANES, width), np.uint64)
    group = np.empty((GROUP, width), np.uint64)
    for first in range(0, rows.shape[0], GROUP):
        used = min(GROUP, rows.shape[0] - first)
        group[:used] = rows[first : first + used]
        group[used:] = U(0)
        add_group(group, planes)
    flush_planes(planes, counts)


@inline
def _full_adder(a: np.uint64, b: np.uint64, c: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Return (sum bits, carry bits) of three words."""
    partial = a ^ b
    return partial ^ c, (a & b) | (partial & c)


@kernel
def add_group(group: npt.NDArray[np.uint64], planes: npt.NDArray[np.uint64]) -> None:
    """Add 16 packed rows into the bit planes: plane j holds bit j of every column's count."""
    for w in range(group.shape[1]):
        ones, twos, fours, eights = planes[0, w], planes[1, w], planes[2, w], planes[3, w]
        ones, a = _full_adder(ones, group[0, w], group[1, w])
        ones, b = _full_adder(ones, group[2, w], group[3, w])
        twos, c = _full_adder(twos, a, b)
        ones, a = _full_adder(ones, group[4, w], group[5, w])
        ones, b = _full_adder(ones, group[6, w], group[7, w])
        twos, d = _full_adder(twos, a, b)
        fours, e = _full_adder(fours, c, d)
        ones, a = _full_adder(ones, group[8, w], group[9, w])
        ones, b = _full_adder(ones, group[10, w], group[11, w])
        twos, c = _full_adder(twos, a, b)
        ones, a = _full_adder(ones, group[12, w], group[13, w])
        ones, b = _full_adder(ones, group[14, w], group[15, w])
        twos, d = _full_adder(twos, a, b)
        fours, f = _full_adder(fours, c, d)
        eights, carry = _full_adder(eights, e, f)
        planes[0, w], planes[1, w], planes[2, w], planes[3, w] = ones, twos, fours, eights
        # Written out, because a loop over the planes with an early exit would not vectorise.
        plane = planes[4, w]
        planes[4, w] = plane ^ carry
        carry &= plane
        plane = planes[5, w]
        planes[5, w] = plane ^ carry
        carry &= plane
        plane = planes[6, w]
        planes[6, w] = plane ^ carry
        carry &= plane
        plane = planes[7, w]
        planes[7, w] = plane ^ carry
        carry &= plane
        plane = planes[8, w]
        planes[8, w] = plane ^ carry
        carry &= plane
        plane = planes[9, w]
        planes[9, w] = plane ^ carry
        carry &= plane
        plane = planes[10, w]
        planes[10, w] = plane ^ carry
        carry &= plane
        plane = planes[11, w]
        planes[11, w] = plane ^ carry
        carry &= plane
        plane = planes[12, w]
        planes[12, w] = plane ^ carry
        carry &= plane
        planes[13, w] ^= carry


@kernel
def flush_planes(planes: npt.NDArray[np.uint64], counts: IntArray) -> None:
    """Add what the bit planes hold to counts, which may end inside the last word."""
    for w in range(planes.shape[1]):
        cells = min(64, counts.size - w * 64)
        for j in range(planes.shape[0]):
            plane = planes[j, w]
            if plane != U(0):
                for cell in range(cells):
                    counts[w * 64 + cell] += np.int64((plane >> U(cell)) & U(1)) << j
