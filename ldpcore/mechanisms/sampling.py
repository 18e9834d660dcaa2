"""Draws from joint laws of counts that more than one mechanism needs."""

from __future__ import annotations

import numpy as np
from scipy.special import bdtr, bdtrc

from ldpcore.shapes import IntArray


def uniform_split(total: int, cells: int, rng: np.random.Generator) -> IntArray:
    """Throw `total` balls into `cells` boxes, each box equally likely; return the (cells,) int64 counts.

    The boxes are halved again and again and each half gets a binomial share. Every share is a
    ratio of two integers, so no rounding piles up as it does in sequential conditioning, and a level is one
    vectorised draw.
    """
    counts = np.array([total], np.int64)
    sizes = np.array([cells], np.int64)
    while sizes.size < cells:
        left_sizes = (sizes + 1) // 2
        left_counts = rng.binomial(counts, left_sizes / sizes)
        counts = np.column_stack([left_counts, counts - left_counts]).ravel()
        sizes = np.column_stack([left_sizes, sizes - left_sizes]).ravel()
        filled = sizes > 0
        counts, sizes = counts[filled], sizes[filled]
    return counts


def support_counts(true_counts: IntArray, p: float, q: float, rng: np.random.Generator) -> IntArray:
    """Draw Bin(count, p) + Bin(n - count, q) for every cell, independently; (d,) int64."""
    own: IntArray = rng.binomial(true_counts, p)
    others: IntArray = rng.binomial(true_counts.sum() - true_counts, q)
    return own + others


def binomial_range(trials: int, probability: float, *, failure: float) -> tuple[int, int]:
    """Return (low, high) such that Bin(trials, probability) lies outside with at most this probability."""
    places = np.arange(trials + 1)
    low = int(np.searchsorted(bdtr(places, trials, probability), failure / 2, side="right"))
    above = bdtrc(places, trials, probability)
    high = int(np.argmax(above <= failure / 2))
    return low, high
