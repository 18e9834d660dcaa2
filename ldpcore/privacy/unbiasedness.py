"""Is an estimator right on average, and as noisy as it says: two tests with a failure rate that is proven.

A known number of devices in each cell report again and again. Over T draws the mean of a cell's estimate may
lie away from the truth by z sigma(c) / sqrt(T), sigma the exact standard error at that truth and z a
normal quantile shared among all cells; and the squares of its errors must add up to what T draws of
that variance give. (A mean within 2 sigma of one draw, as the guide has it, would pass an estimator that
is wrong by two standard errors for ever.)

Where a mechanism is pure the law of its counts is known exactly, Bin(c, p) + Bin(n - c, q), and both
probabilities are taken from it: that of the mean as an exact tail, that of the squares by Chernoff's bound
with the exact moment generating function, which holds for any n. For other mechanisms the normal law is
used, and an estimator is accused only at a thousandth of the stated failure rate.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import chdtr, chdtrc, logsumexp, ndtr
from scipy.stats import binom

from ldpcore.binomial_sums import upper_tail
from ldpcore.mechanisms.base import Mechanism
from ldpcore.shapes import FloatArray, IntArray

_TILTS = np.concatenate([-np.geomspace(30, 1e-3, 120), np.geomspace(1e-3, 30, 240)])
"""Exponents tried in Chernoff's bound; each of them gives a valid bound."""

_NORMAL_MARGIN = 1e-3


@dataclass(frozen=True, eq=False, slots=True)
class Fit:
    """How well draws fit the law; all arrays (cells,).

    Parameters
    ----------
    mean
        Mean estimate, in devices.
    error
        Mean estimate minus truth, in standard errors of the mean.
    spread
        Mean square of the error over the exact variance; 1 if all is right.
    mean_chance, spread_chance
        Probability, or a bound on it, that a right estimator is so far off on that side.
    mean_accused, spread_accused
        Cells in which that is less than the failure rate allows.
    """

    mean: FloatArray
    error: FloatArray
    spread: FloatArray
    mean_chance: FloatArray
    spread_chance: FloatArray
    mean_accused: IntArray
    spread_accused: IntArray


def judge_estimates(
    mechanism: Mechanism, estimates: FloatArray, true_counts: IntArray, *, failure: float
) -> Fit:
    """Hold estimates of many draws against the exact law of a mechanism.

    Parameters
    ----------
    mechanism
        Says what the law is.
    estimates
        (draws, cells) estimated devices, each row from fresh reports of the same devices.
    true_counts
        (cells,) devices in each cell; their sum is the number of reports of a draw.
    failure
        Probability that a right estimator is accused in any cell, shared among both tests, both sides and
        all cells.
    """
    draws, cells = estimates.shape
    n = int(true_counts.sum())
    variance = mechanism.variance(true_counts, n=n)
    mean = estimates.mean(axis=0)
    error = (mean - true_counts) / np.sqrt(variance / draws)
    squares = ((estimates - true_counts) ** 2 / variance).sum(axis=0)
    level = failure / (4 * cells)
    if mechanism.p is None or mechanism.q is None:
        level *= _NORMAL_MARGIN
        mean_chance = ndtr(-np.abs(error))
        spread_chance = np.where(squares > draws, chdtrc(draws, squares), chdtr(draws, squares))
    else:
        p, q = float(mechanism.p), float(mechanism.q)
        mean_chance = _mean_chance(mean, true_counts, draws=draws, n=n, p=p, q=q)
        spread_chance = _spread_chance(squares, true_counts, variance, draws=draws, n=n, p=p, q=q)
    return Fit(
        mean,
        error,
        squares / draws,
        mean_chance,
        spread_chance,
        np.flatnonzero(mean_chance < level),
        np.flatnonzero(spread_chance < level),
    )


def _mean_chance(
    mean: FloatArray, true_counts: IntArray, *, draws: int, n: int, p: float, q: float
) -> FloatArray:
    """Exact tail of the number of supports over all draws that this mean stands for."""
    supports = draws * (mean * (p - q) + n * q)
    count, total = draws * true_counts, draws * n
    above = upper_tail(np.ceil(supports - 1e-6), count, n=total, p=p, q=q)
    below = upper_tail(total - np.floor(supports + 1e-6), count, n=total, p=1 - p, q=1 - q)
    return np.minimum(above, below)


def _spread_chance(
    squares: FloatArray,
    true_counts: IntArray,
    variance: FloatArray,
    *,
    draws: int,
    n: int,
    p: float,
    q: float,
) -> FloatArray:
    """Chernoff's bound on the side that the sum of squares lies on."""
    chance = np.ones(squares.shape)
    tilts = _TILTS[:, None]
    for count in np.unique(true_counts):
        here = np.flatnonzero(true_counts == count)
        estimate = (np.arange(n + 1) - n * q) / (p - q)
        square = (estimate - count) ** 2 / variance[here[0]]
        moments = logsumexp(tilts * square + _log_law(int(count), n=n, p=p, q=q), axis=1, keepdims=True)
        # Tilts above 0 bound the upper side, those below 0 the lower one.
        bound = draws * moments - tilts * squares[here]
        upper = np.where(tilts > 0, bound, np.inf).min(axis=0)
        lower = np.where(tilts < 0, bound, np.inf).min(axis=0)
        chance[here] = np.exp(np.minimum(np.minimum(upper, lower), 0.0))
    return chance


def _log_law(count: int, *, n: int, p: float, q: float) -> FloatArray:
    """Logarithm of P(Bin(count, p) + Bin(n - count, q) = k) for k = 0..n, without underflow."""
    own = binom.logpmf(np.arange(count + 1), count, p)
    other = binom.logpmf(np.arange(n - count + 1), n - count, q)
    table = np.full((count + 1, n + 1), -np.inf)
    for held in range(count + 1):
        table[held, held : held + other.size] = own[held] + other
    return np.asarray(logsumexp(table, axis=0))
