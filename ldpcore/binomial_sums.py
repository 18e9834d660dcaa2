"""Exact tails of Bin(count, p) + Bin(n - count, q), and the counts that such a tail does not reject.

The number of reports that support a cell has this law at every pure mechanism. Its tail is found from
the generating function: P(X >= k) is an integral over a circle, taken through the saddle point, where the
integrand is almost a Gaussian and does not oscillate, with the trapezoid rule, which converges
exponentially for periodic analytic integrands. A few dozen nodes give about eleven correct digits of
the tail, however small it is, in time that does not depend on n. (Saddle point: H. E. Daniels, *Tail
Probability Approximations*, 1987; trapezoid rule: L. N. Trefethen, J. A. C. Weideman, *The Exponentially
Convergent Trapezoidal Rule*, 2014.)
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from ldpcore.shapes import FloatArray, IntArray

_NODES = 48
_REACH = 10.0
"""How far the integral runs from the saddle point, in standard deviations of the tilted law."""

_CLEARANCE = 1.25
"""How far the integral stays away from the pole, in units of one over that deviation."""

_NEWTON_STEPS = 12


def upper_tail(at_least: npt.ArrayLike, count: npt.ArrayLike, *, n: int, p: float, q: float) -> FloatArray:
    """Return P(Bin(count, p) + Bin(n - count, q) >= at_least).

    Parameters
    ----------
    at_least
        Integers; broadcast with `count`.
    count
        Numbers in [0, n]. Between integers the tail is interpolated smoothly.
    n
        Number of reports.
    p, q
        Probabilities strictly between 0 and 1.

    Returns
    -------
    Array
        Float64, within about 1e-11 of the tail, relative to the tail or its complement, whichever is smaller
        (floating point ends that at 1e-16 of 1 for complements).

    Examples
    --------
    >>> upper_tail(2, 1, n=2, p=0.5, q=0.25).round(9).item()
    0.125
    """
    thresholds, counts = np.broadcast_arrays(np.asarray(at_least, np.float64), np.asarray(count, np.float64))
    above_mean = thresholds - 0.5 >= counts * p + (n - counts) * q
    # Below the mean the complement is the small tail: that of the reports that do not support the cell.
    tail = _small_tail(
        np.where(above_mean, thresholds, n - thresholds + 1),
        counts,
        n,
        np.where(above_mean, p, 1 - p),
        np.where(above_mean, q, 1 - q),
    )
    return np.where(above_mean, tail, 1 - tail)


def smallest_count_kept(support: npt.ArrayLike, *, n: int, p: float, q: float, alpha: float) -> IntArray:
    """Return the smallest true count at which so high a support is not rejected at level alpha.

    Parameters
    ----------
    support
        (m,) integers in [0, n]: how many reports support each cell.
    n
        Number of reports.
    p, q
        Probabilities of support from a device inside and outside the cell, 0 < q < p < 1.
    alpha
        Level of the one-sided test, in (0, 1).

    Returns
    -------
    Array
        (m,) int64, min {c in [0, n] : P_c(X >= support) > alpha}; n where every count is rejected.
    """
    distinct, place = np.unique(np.asarray(support, np.int64), return_inverse=True)
    return _smallest_kept(distinct.astype(np.float64), n, p, q, alpha)[place]


def greatest_count_kept(support: npt.ArrayLike, *, n: int, p: float, q: float, alpha: float) -> IntArray:
    """Return the greatest true count at which so low a support is not rejected at level alpha.

    Parameters
    ----------
    support
        (m,) integers in [0, n].
    n, p, q, alpha
        As for `smallest_count_kept`.

    Returns
    -------
    Array
        (m,) int64, max {c in [0, n] : P_c(X <= support) > alpha}; 0 where every count is rejected.
    """
    # Seen from the reports that do not support the cell the roles of inside and outside swap.
    return n - smallest_count_kept(n - np.asarray(support, np.int64), n=n, p=1 - q, q=1 - p, alpha=alpha)


def smallest_support_rejecting(count: int, *, n: int, p: float, q: float, alpha: float) -> int:
    """Return the smallest support at which a true count is rejected as too low, at level alpha.

    Parameters
    ----------
    count
        True count in [0, n].
    n, p, q, alpha
        As for `smallest_count_kept`.

    Returns
    -------
    int
        min {k : P_count(X >= k) <= alpha}, in [1, n + 1]; at n + 1 no support rejects.
    """
    low, high = 0, n + 1
    while high - low > 1:
        middle = (low + high) // 2
        if upper_tail(middle, count, n=n, p=p, q=q) <= alpha:
            high = middle
        else:
            low = middle
    return high


def _small_tail(
    thresholds: FloatArray, counts: FloatArray, n: int, p: FloatArray, q: FloatArray
) -> FloatArray:
    """P(X >= threshold) for thresholds above the mean; 1 below 1 and 0 above n."""
    inside = (thresholds >= 1) & (thresholds <= n)
    middle = np.where(inside, thresholds, 1.0) - 0.5
    others = n - counts

    # The saddle point e^s solves a quadratic; the root is written so that nothing cancels.
    square = p * q * (n - middle)
    linear = counts * p * (1 - q) + others * q * (1 - p) - middle * (p * (1 - q) + q * (1 - p))
    constant = middle * (1 - p) * (1 - q)
    root = np.sqrt(linear * linear + 4 * square * constant)
    with np.errstate(divide="ignore", invalid="ignore"):
        tilt = np.log(np.where(linear > 0, 2 * constant / (linear + root), (root - linear) / (2 * square)))
    # The integrand has a pole at 0: where the threshold is near the mean the circle is kept off it.
    tilt = np.maximum(tilt, _CLEARANCE / _tilted_deviation(tilt, counts, others, p, q))
    deviation = _tilted_deviation(tilt, counts, others, p, q)

    growth = np.expm1(tilt)
    height = counts * np.log1p(p * growth) + others * np.log1p(q * growth) - middle * tilt
    height = np.where(inside, height, 0.0)

    step = np.minimum(np.pi, _REACH / deviation) / _NODES
    angle = step[..., None] * np.arange(_NODES + 1)
    half_sine_squared = np.sin(angle / 2) ** 2
    modulus, phase = np.zeros_like(angle), -middle[..., None] * angle
    for trials, probability in ((counts, p), (others, q)):
        tilted = _tilted(tilt, probability)[..., None]
        # A fair coin has modulus 0 at half a turn; one rounding step short of it keeps the logarithm finite.
        loss = np.minimum(4 * tilted * (1 - tilted) * half_sine_squared, 1 - 2.0**-53)
        modulus += trials[..., None] / 2 * np.log1p(-loss)
        phase += trials[..., None] * np.arctan2(tilted * np.sin(angle), 1 - 2 * tilted * half_sine_squared)
    integrand = np.exp(modulus + 1j * phase) / (2 * np.sinh((tilt[..., None] + 1j * angle) / 2))
    total = integrand.real.sum(axis=-1) - (integrand.real[..., 0] + integrand.real[..., -1]) / 2
    tail = np.clip(np.exp(height) * step / np.pi * total, 0.0, 1.0)
    return np.where(inside, tail, np.where(thresholds < 1, 1.0, 0.0))


def _tilted(tilt: FloatArray, probability: FloatArray) -> FloatArray:
    """Probability of success after weighting success by e^tilt."""
    return probability / (probability + (1 - probability) * np.exp(-tilt))


def _tilted_deviation(
    tilt: FloatArray, counts: FloatArray, others: FloatArray, p: FloatArray, q: FloatArray
) -> FloatArray:
    own, other = _tilted(tilt, p), _tilted(tilt, q)
    variance: FloatArray = counts * own * (1 - own) + others * other * (1 - other)
    return np.sqrt(variance)


def _smallest_kept(support: FloatArray, n: int, p: float, q: float, alpha: float) -> IntArray:
    """Newton steps on the normal score of the tail, inside a bracket of integers that only shrinks."""
    target = ndtri(alpha)
    rejected = np.full(support.shape, -1.0)
    kept = np.where(support <= 0, 0.0, float(n))
    guess = np.clip((support - n * q) / (p - q), 0, n)
    for step in range(_NEWTON_STEPS + n.bit_length()):
        active = np.flatnonzero(kept - rejected > 1)
        if active.size == 0:
            break
        low, high = rejected[active], kept[active]
        if step < _NEWTON_STEPS:
            trial = np.clip(np.ceil(guess[active]), low + 1, high - 1)
        else:
            trial = np.floor((low + high) / 2)
        tail = upper_tail(support[active], trial, n=n, p=p, q=q)
        keep = tail > alpha
        kept[active] = np.where(keep, trial, high)
        rejected[active] = np.where(keep, low, trial)
        deviation = np.sqrt(trial * p * (1 - p) + (n - trial) * q * (1 - q))
        score = ndtri(np.clip(tail, 1e-300, 1 - 1e-15))
        guess[active] = trial + (target - score) * deviation / (p - q)
    return kept.astype(np.int64)
