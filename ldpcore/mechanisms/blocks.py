"""Cut the work on many devices into blocks with their own stream of randomness.

A block is a fixed number of devices and its stream depends only on a key and the block's number, so
a result never depends on how many threads shared the blocks. Kernels release the interpreter lock;
plain threads over one serial kernel compile in a quarter of the time of numba's own parallel loops.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, TypeVar

import numpy as np

from ldpcore.shapes import AnyArray

_Result = TypeVar("_Result")

BLOCK_DEVICES = 8192
"""Devices in a block. Part of what a seed means: changing it changes every simulated report."""


class Key(NamedTuple):
    """Where a block's randomness comes from: a 64-bit key and the number of the block."""

    seed: int
    block: int


def draw_key(rng: np.random.Generator) -> int:
    """Draw the 64-bit key of one pass over the devices."""
    return int(rng.integers(0, 2**64, dtype=np.uint64))


def block_slices(devices: int) -> Iterator[slice]:
    """Yield the slices of consecutive blocks."""
    for start in range(0, devices, BLOCK_DEVICES):
        yield slice(start, min(start + BLOCK_DEVICES, devices))


def map_blocks(work: Callable[[int, slice], _Result], devices: int, *, threads: int = 1) -> list[_Result]:
    """Call work(block number, slice) on every block and return the results in the order of the devices.

    Parameters
    ----------
    work
        What to do with the devices of one block.
    devices
        Number of devices; with 0 work is called once with an empty slice, so that a result still has
        the right type and trailing shape.
    threads
        Number of threads. Thread t takes blocks t, t + threads, ...
    """
    parts = list(block_slices(devices)) or [slice(0, 0)]

    def work_through(thread: int) -> list[_Result]:
        return [work(block, parts[block]) for block in range(thread, len(parts), threads)]

    if threads == 1 or len(parts) == 1:
        return [work(block, part) for block, part in enumerate(parts)]
    with ThreadPoolExecutor(threads) as pool:
        shares = list(pool.map(work_through, range(threads)))
    return [shares[block % threads][block // threads] for block in range(len(parts))]


def join_blocks(results: list[AnyArray]) -> AnyArray:
    """Join what `map_blocks` returned along the first axis, without a copy where there is one block."""
    return results[0] if len(results) == 1 else np.concatenate(results)
