"""Packed bits: bytes on the wire, 64-bit words inside the kernels.

Bit i of a report is bit i mod 8, counted from the least significant one, of byte i div 8. On a little-endian
machine the bytes of a 64-bit word already lie in that order; on any other they are swapped.
"""

from __future__ import annotations

import sys
from fractions import Fraction

import numpy as np

from ldpcore.mechanisms.blocks import block_slices
from ldpcore.shapes import AnyArray, BoolArray, ByteArray, IntArray


def packed_width(bits: int) -> int:
    """Return how many bytes hold so many bits."""
    return (bits + 7) // 8


def bytes_from_words(rows: AnyArray, bits: int) -> ByteArray:
    """Turn (n, words) uint64 rows into (n, ceil(bits / 8)) uint8."""
    if sys.byteorder != "little":
        rows = rows.byteswap()
    return rows.view(np.uint8)[:, : packed_width(bits)].copy()


def words_from_bytes(reports: ByteArray) -> AnyArray:
    """Turn (n, bytes) uint8 into (n, words) uint64 rows, padded with zeros."""
    devices, width = reports.shape
    padded = np.zeros((devices, (width + 7) // 8 * 8), np.uint8)
    padded[:, :width] = reports
    rows = padded.view(np.uint64)
    return rows if sys.byteorder == "little" else rows.byteswap()


def padding_set(reports: ByteArray, bits: int) -> BoolArray:
    """Tell which rows have a bit set above the last one."""
    used = bits % 8
    return np.zeros(len(reports), bool) if used == 0 else np.asarray(reports[:, -1] >> used, bool)


def numbers_to_bytes(numbers: AnyArray, width: int) -> ByteArray:
    """Write (n,) non-negative integers below 256^width as (n, width) uint8, little-endian."""
    return np.ascontiguousarray(numbers.astype("<u8")).view(np.uint8).reshape(-1, 8)[:, :width].copy()


def bytes_to_numbers(payloads: ByteArray) -> AnyArray:
    """Read (n, width) uint8, width at most 8, as (n,) uint64, little-endian."""
    padded = np.zeros((len(payloads), 8), np.uint8)
    padded[:, : payloads.shape[1]] = payloads
    return padded.view("<u8").reshape(-1).astype(np.uint64)


def weights_of(reports: ByteArray) -> IntArray:
    """Count the set bits of each of (n, bytes) packed rows; (n,) int64."""
    weights = np.empty(len(reports), np.int64)
    # Block by block, so that the padded copy stays in the cache.
    for part in block_slices(len(reports)):
        weights[part] = np.bitwise_count(words_from_bytes(reports[part])).sum(axis=1)
    return weights


def bit_of(reports: ByteArray, place: int) -> BoolArray:
    """Tell which of (n, bytes) packed rows have the bit at a place set."""
    return np.asarray(reports[:, place >> 3] >> (place & 7) & 1, bool)


def weights(ratio: Fraction) -> dict[str, int]:
    """Return a ratio as the pair of whole numbers that the device client takes."""
    return {"ratio": ratio.numerator, "one": ratio.denominator}
