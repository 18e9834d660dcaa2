"""Inner loops of Hadamard mechanisms; a sign of the matrix is the parity of the bits row and column share."""

from __future__ import annotations

import numpy as np

from ldpcore.mechanisms.kernels.streams import (
    U,
    kernel,
    next_bernoulli,
    next_word,
    population_count,
    stream_of,
)
from ldpcore.shapes import IntArray, WordArray


@kernel
def sign_block(
    values: IntArray, rows: np.uint64, seed: np.uint64, block: np.uint64, codes: WordArray
) -> None:
    """Fill codes with 2 row + (1 where the entry of the value in a random row is -1)."""
    state = stream_of(seed, block)
    mask = rows - U(1)
    for device in range(values.size):
        word, state = next_word(state)
        row = word & mask
        negative = population_count(row & U(values[device])) & U(1)
        codes[device] = np.uint32((row << U(1)) | negative)


@kernel
def flip_signs(
    codes: WordArray, keep_high: np.uint64, keep_low: np.uint64, seed: np.uint64, block: np.uint64
) -> None:
    """Keep the sign of each code with the given probability, else turn it."""
    state = stream_of(seed, block)
    for device in range(codes.size):
        kept, state = next_bernoulli(state, keep_high, keep_low)
        if not kept:
            codes[device] ^= np.uint32(1)


@kernel
def response_block(
    values: IntArray,
    outputs_of_block: np.uint64,
    blocks: np.uint64,
    telling_high: np.uint64,
    telling_low: np.uint64,
    seed: np.uint64,
    block: np.uint64,
    reports: WordArray,
) -> None:
    """With the given probability report a uniform member of the value's set, else any output, uniformly."""
    state = stream_of(seed, block)
    inside = outputs_of_block - U(1)
    everywhere = outputs_of_block * blocks - U(1)
    for device in range(values.size):
        telling, state = next_bernoulli(state, telling_high, telling_low)
        word, state = next_word(state)
        output = word & everywhere
        if telling:
            value = U(values[device])
            row = value % inside + U(1)
            column = word & inside
            # Turning the lowest bit of the row turns the parity, so every member is met by two columns.
            parity = population_count(column & row) & U(1)
            column ^= (row & (~row + U(1))) * parity
            output = value // inside * outputs_of_block + column
        reports[device] = np.uint32(output)
