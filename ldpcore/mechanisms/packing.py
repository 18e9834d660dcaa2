"""Packed bits: bytes on the wire, 64-bit words inside the kernels.

Bit i of a report is bit i mod 8, counted from the least significant one, of byte i div 8. On a little-endian
machine the bytes of a 64-bit word already lie in that order; on any other they are swapped.
"""

from __future__ import annotations

import sys

import numpy as np

from ldpcore.shapes import AnyArray, ByteArray


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


def padding_is_clear(reports: ByteArray, bits: int) -> bool:
    """Tell whether every bit above the last one is 0."""
    used = bits % 8
    return used == 0 or not (reports[:, -1] >> used).any()
