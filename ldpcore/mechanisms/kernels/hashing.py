"""Inner loops of local hashing: a random quadratic per report, evaluated over all cells by differences.

The hash of a report is z(cell) = (a2 cell^2 + a1 cell + a0) mod P, cut into g buckets of equal width, give or
take one. Three coefficients make the values at any three cells independent and uniform (M. N. Wegman, J. L.
Carter, *New Hash Functions and Their Use in Authentication and Set Equality*, 1981), so that pairs of
estimates have exactly the covariance of an ideal hash.

From one cell to the next z grows by a first difference, which itself grows by 2 a2: two additions modulo the
prime and one comparison per report and cell. 512 reports advance together. P is below 2^31, so that a sum
of two residues fits into 32 bits.
"""

from __future__ import annotations

import numpy as np

from ldpcore.mechanisms.kernels.streams import (
    U,
    inline,
    kernel,
    next_below,
    next_bernoulli,
    stream_of,
)
from ldpcore.shapes import IntArray, WordArray

_LANES = 512


@kernel
def hash_block(
    values: IntArray,
    prime: np.uint64,
    buckets: np.uint64,
    seed: np.uint64,
    block: np.uint64,
    rows: WordArray,
) -> None:
    """Fill rows (n, 4) with a fresh hash (a0, a1, a2) and the bucket of the value under it."""
    state = stream_of(seed, block)
    for device in range(values.size):
        a0, state = next_below(state, prime)
        a1, state = next_below(state, prime)
        a2, state = next_below(state, prime)
        cell = U(values[device])
        place = ((a2 * cell + a1) % prime * cell + a0) % prime
        rows[device, 0] = np.uint32(a0)
        rows[device, 1] = np.uint32(a1)
        rows[device, 2] = np.uint32(a2)
        rows[device, 3] = np.uint32(place * buckets // prime)


@kernel
def move_buckets(
    rows: WordArray,
    buckets: np.uint64,
    keep_high: np.uint64,
    keep_low: np.uint64,
    seed: np.uint64,
    block: np.uint64,
) -> None:
    """Keep each row's bucket with the given probability, else replace it by any other, uniformly."""
    state = stream_of(seed, block)
    others = buckets - U(1)
    for device in range(rows.shape[0]):
        kept, state = next_bernoulli(state, keep_high, keep_low)
        other, state = next_below(state, others)
        if not kept:
            if other >= U(rows[device, 3]):
                other += U(1)
            rows[device, 3] = np.uint32(other)


@inline
def _smaller(a: np.uint32, b: np.uint32) -> np.uint32:
    return a if a < b else b


@kernel
def add_supports(rows: WordArray, prime: np.uint64, buckets: np.uint64, counts: IntArray) -> None:
    """Add to counts, for each cell, how many reports hash it into the bucket they name."""
    cells = counts.size
    modulus = np.uint32(prime)
    found = np.zeros((cells + 3) // 4 * 4, np.int64)
    place = np.zeros(_LANES, np.uint32)
    step = np.zeros(_LANES, np.uint32)
    twist = np.zeros(_LANES, np.uint32)
    width = np.zeros(_LANES, np.int32)
    for first in range(0, rows.shape[0], _LANES):
        used = min(_LANES, rows.shape[0] - first)
        for lane in range(used):
            a0, a1, a2 = U(rows[first + lane, 0]), U(rows[first + lane, 1]), U(rows[first + lane, 2])
            bucket = U(rows[first + lane, 3])
            # The bucket is where low <= z < high; with low folded into a0 one comparison is enough.
            low = (bucket * prime + buckets - U(1)) // buckets
            high = ((bucket + U(1)) * prime + buckets - U(1)) // buckets
            place[lane] = np.uint32((a0 + prime - low) % prime)
            width[lane] = np.int32(high - low)
            step[lane] = np.uint32((a1 + a2) % prime)
            twist[lane] = np.uint32(a2 * U(2) % prime)
        for lane in range(used, _LANES):
            width[lane] = np.int32(0)
        for cell in range(0, cells, 4):
            # Every sum is cast back to 32 bits: numba widens it otherwise, and half of the speed is gone.
            s0, s1, s2, s3 = np.int32(0), np.int32(0), np.int32(0), np.int32(0)
            for lane in range(_LANES):
                z, dz, a, w = place[lane], step[lane], twist[lane], width[lane]
                s0 = np.int32(s0 + np.int32(np.int32(z) < w))
                z = np.uint32(z + dz)
                z = _smaller(z, np.uint32(z - modulus))
                dz = np.uint32(dz + a)
                dz = _smaller(dz, np.uint32(dz - modulus))
                s1 = np.int32(s1 + np.int32(np.int32(z) < w))
                z = np.uint32(z + dz)
                z = _smaller(z, np.uint32(z - modulus))
                dz = np.uint32(dz + a)
                dz = _smaller(dz, np.uint32(dz - modulus))
                s2 = np.int32(s2 + np.int32(np.int32(z) < w))
                z = np.uint32(z + dz)
                z = _smaller(z, np.uint32(z - modulus))
                dz = np.uint32(dz + a)
                dz = _smaller(dz, np.uint32(dz - modulus))
                s3 = np.int32(s3 + np.int32(np.int32(z) < w))
                z = np.uint32(z + dz)
                z = _smaller(z, np.uint32(z - modulus))
                dz = np.uint32(dz + a)
                dz = _smaller(dz, np.uint32(dz - modulus))
                place[lane] = z
                step[lane] = dz
            found[cell] += s0
            found[cell + 1] += s1
            found[cell + 2] += s2
            found[cell + 3] += s3
    for cell in range(cells):
        counts[cell] += found[cell]
