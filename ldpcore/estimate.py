"""From support counts to estimates with error bars: what the server may say about each cell.

Intervals come from the exact variance of a cell's estimate, n V0 + count V1, whose second term
depends on the true count: leaving it out makes an interval of nominal 95 % cover 82 % where a cell is full.
The score interval (E. B. Wilson, *Probable Inference, the Law of Succession, and Statistical Inference*,
1927) solves (estimate - count)^2 = z^2 (n V0 + count V1) for the count. Where few false supports are
expected the normal law is not good enough and the exact test of Bin(count, p) + Bin(n - count, q) is
inverted instead (C. J. Clopper, E. S. Pearson, 1934). A bound that must hold for thousands of cells at once lies
far out in the tail, where the normal law fails much earlier than in an interval: it turns exact by a rule of its own.

Nothing here clips an estimate or an interval: a clipped interval of an empty cell covers 97.5 %, not 95 %.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri

from ldpcore.binomial_sums import (
    greatest_count_kept,
    smallest_count_kept,
    smallest_support_rejecting,
    upper_tail,
)
from ldpcore.errors import ParameterError
from ldpcore.mechanisms.options import checked_integer
from ldpcore.mechanisms.oracle import FrequencyOracle
from ldpcore.shapes import AnyArray, FloatArray

NORMAL_ENOUGH = 20.0
"""Variance n q (1 - q) of the false supports from which the normal law is trusted for an interval of one cell."""
TAIL_TRUSTED = 1.1
"""How many times the stated error of a one-sided bound the normal tail may be before the exact one is used."""


@dataclass(frozen=True, eq=False, slots=True)
class Estimates:
    """Estimates of every cell, in devices.

    Parameters
    ----------
    estimate
        (d,) float64, unbiased, may be negative.
    std_error
        (d,) float64, plug-in: the square root of n V0 + max(estimate, 0) V1.
    ci_low, ci_high
        (d,) float64, two-sided interval of each cell by itself, not clipped.
    at_least
        (d,) float64, one-sided lower bound, corrected for looking at many cells.
    exact_used
        Whether the intervals come from the exact law rather than the normal one.
    exact_bound
        Whether the lower bounds do.
    """

    estimate: FloatArray
    std_error: FloatArray
    ci_low: FloatArray
    ci_high: FloatArray
    at_least: FloatArray
    exact_used: bool
    exact_bound: bool = False


Interval: TypeAlias = tuple[FloatArray, FloatArray]

CORRECTIONS: Mapping[str, Callable[[float, int], float]] = MappingProxyType(
    {
        "none": lambda alpha, cells: alpha,  # noqa: ARG005 - every correction takes the number of cells
        "bonferroni": lambda alpha, cells: alpha / cells,
        "sidak": lambda alpha, cells: -math.expm1(math.log1p(-alpha) / cells),
    }
)
"""How the error probability of the whole map becomes that of a cell: level(alpha, cells).

`bonferroni` is always valid; `sidak` is exact for independent cells (unary encoding, local hashing with an
ideal hash) and valid for two-sided intervals of Gaussian estimates in general.
"""


def estimate_counts(
    mechanism: FrequencyOracle,
    counts: npt.ArrayLike,
    *,
    n: int,
    confidence: float = 0.95,
    correction: str = "bonferroni",
    interval: str = "score",
) -> Estimates:
    """Estimate every cell with its standard error, interval and lower bound.

    Parameters
    ----------
    mechanism
        The mechanism that made the reports.
    counts
        What `mechanism.aggregate` returned.
    n
        Number of reports. With 0 everything is 0: say "no data" then, not zero.
    confidence
        Strictly between 0 and 1. Of each cell for `ci_low` and `ci_high`; of all cells together for
        `at_least`, unless the correction is "none".
    correction
        A key of `CORRECTIONS`.
    interval
        A key of `INTERVALS`. "score" turns to the exact interval by itself where n q (1 - q) < 20, and to the exact
        lower bound where `needs_exact_bound` says so.

    Raises
    ------
    ParameterError
        If a setting is unknown or outside its range, or "exact" is asked of a mechanism without p and q.
    """
    n = checked_integer("n", n, minimum=0)
    alpha = 1 - checked_confidence(confidence)
    cell_level = _choose("correction", CORRECTIONS, correction)
    method = _choose("interval", INTERVALS, interval)
    if method is _exact_interval and not mechanism.pure:
        raise ParameterError(
            "interval",
            f"The exact interval needs a randomiser with one pair of probabilities p and q; {mechanism.name} has none. "
            "Choose score.",
        )
    estimate = mechanism.estimate(counts, n=n)
    base, slope = mechanism.variance_terms(counts, n=n)
    std_error = np.sqrt(np.maximum(base + np.maximum(estimate, 0.0) * slope, 0.0))
    if n == 0:
        zeros = np.zeros_like(estimate)
        return Estimates(estimate, std_error, zeros, zeros.copy(), zeros.copy(), exact_used=False)
    if method is _score_interval and needs_exact(mechanism, n=n):
        method = _exact_interval
    level = cell_level(alpha, mechanism.domain_size)
    bound_exact = method is _exact_interval or needs_exact_bound(mechanism, n=n, level=level)
    observed = np.asarray(counts)
    low, high = method(mechanism, observed, n, alpha / 2)
    at_least = (_exact_bound if bound_exact else _score_bound)(mechanism, observed, n, level)
    return Estimates(
        estimate,
        std_error,
        low,
        high,
        at_least,
        exact_used=method is _exact_interval,
        exact_bound=bound_exact,
    )


def score_interval(
    estimate: npt.ArrayLike, *, base: npt.ArrayLike, slope: npt.ArrayLike, z: float, n: int
) -> tuple[FloatArray, FloatArray]:
    """Solve (estimate - count)^2 = z^2 (base + count slope) for the count.

    Parameters
    ----------
    estimate
        Unbiased estimates, any shape.
    base, slope
        Variance of the estimate as a function of the true count, base + count slope; broadcast.
    z
        Normal quantile, not negative.
    n
        Number of reports; where no count solves the equation (only with a negative slope and an
        estimate far above n) both ends are n.

    Returns
    -------
    tuple of arrays
        Lower and upper root, not clipped.
    """
    centre, constant, rate = (np.asarray(part, np.float64) for part in (estimate, base, slope))
    shift = z * z * rate / 2
    radicand = constant + centre * rate + shift * rate / 2
    reach = z * np.sqrt(np.maximum(radicand, 0.0))
    solvable = radicand >= 0
    end = np.where(centre > n, float(n), 0.0)
    return (
        np.where(solvable, centre + shift - reach, end),
        np.where(solvable, centre + shift + reach, end),
    )


def needs_exact(mechanism: FrequencyOracle, *, n: int) -> bool:
    """Tell whether so few false supports are expected that the normal law is not good enough."""
    q = mechanism.q
    return q is not None and n * float(q * (1 - q)) < NORMAL_ENOUGH


def needs_exact_bound(mechanism: FrequencyOracle, *, n: int, level: float) -> bool:
    """Tell whether the normal tail understates the error of a one-sided bound.

    False supports are skewed to the right where q is small. To first order (H. Cramér, 1938) the true tail beyond z
    deviations is exp(z^3 skewness / 6) times the normal one; that may be `TAIL_TRUSTED` at most.

    Parameters
    ----------
    mechanism
        The randomiser; without p and q there is no exact law to turn to.
    n
        Number of reports, at least 1.
    level
        Probability of error of one cell's bound.
    """
    if mechanism.q is None:
        return False
    q = float(mechanism.q)
    z = -float(ndtri(level))
    skewness = (1 - 2 * q) / math.sqrt(n * q * (1 - q))
    return needs_exact(mechanism, n=n) or (z > 0 and z**3 * skewness / 6 > math.log(TAIL_TRUSTED))


def critical_value(
    confidence: float, *, correction: str = "none", cells: int = 1, two_sided: bool = True
) -> float:
    """Return the normal quantile of an interval or bound that holds for `cells` cells together.

    Parameters
    ----------
    confidence
        Strictly between 0 and 1.
    correction
        A key of `CORRECTIONS`.
    cells
        Number of cells looked at.
    two_sided
        Whether the error may lie on either side.

    Examples
    --------
    >>> round(critical_value(0.95), 4)
    1.96
    >>> round(critical_value(0.95, correction="bonferroni", cells=2000), 4)
    4.2148
    """
    alpha = _choose("correction", CORRECTIONS, correction)(1 - checked_confidence(confidence), cells)
    return -float(ndtri(alpha / 2 if two_sided else alpha))


def checked_confidence(confidence: float) -> float:
    """Return the confidence, or say what is wrong with it."""
    if not 0 < confidence < 1:
        raise ParameterError(
            "confidence", f"confidence must lie strictly between 0 and 1, got {confidence:g}; try 0.95"
        )
    return confidence


def _probabilities(mechanism: FrequencyOracle) -> tuple[float, float]:
    if mechanism.p is None or mechanism.q is None:
        raise ParameterError("interval", f"{mechanism.name} has no p and q")
    return float(mechanism.p), float(mechanism.q)


def _exact_interval(mechanism: FrequencyOracle, counts: AnyArray, n: int, each_side: float) -> Interval:
    """Clopper-Pearson interval; whole numbers in [0, n]."""
    p, q = _probabilities(mechanism)
    return (
        smallest_count_kept(counts, n=n, p=p, q=q, alpha=each_side).astype(np.float64),
        greatest_count_kept(counts, n=n, p=p, q=q, alpha=each_side).astype(np.float64),
    )


def _score_interval(mechanism: FrequencyOracle, counts: AnyArray, n: int, each_side: float) -> Interval:
    """Wilson-type interval."""
    base, slope = mechanism.variance_terms(counts, n=n)
    estimate = mechanism.estimate(counts, n=n)
    return score_interval(estimate, base=base, slope=slope, z=-float(ndtri(each_side)), n=n)


def _exact_bound(mechanism: FrequencyOracle, counts: AnyArray, n: int, level: float) -> FloatArray:
    """One-sided Clopper-Pearson bound; whole numbers in [0, n]."""
    p, q = _probabilities(mechanism)
    return smallest_count_kept(counts, n=n, p=p, q=q, alpha=level).astype(np.float64)


def _score_bound(mechanism: FrequencyOracle, counts: AnyArray, n: int, level: float) -> FloatArray:
    """Return the count that the one-sided score test just keeps.

    So `at_least >= floor` says the same as `estimate >= publication_threshold(floor)`.
    """
    base, slope = mechanism.variance_terms(counts, n=n)
    z = -float(ndtri(level))
    below, above = score_interval(mechanism.estimate(counts, n=n), base=base, slope=slope, z=abs(z), n=n)
    # A confidence below one half asks for the upper root.
    return below if z >= 0 else above


INTERVALS: Mapping[str, Callable[[FrequencyOracle, AnyArray, int, float], Interval]] = MappingProxyType(
    {"score": _score_interval, "exact": _exact_interval}
)
"""How intervals are made: interval(mechanism, counts, n, error probability of each side)."""


def publication_threshold(
    mechanism: FrequencyOracle, *, n: int, floor: float, confidence: float, correction: str
) -> float:
    """Return the estimate from which the score test publishes a cell: floor + z sqrt(n V0 + floor V1).

    Parameters
    ----------
    mechanism
        A mechanism whose variance of a cell depends on no other cell.
    n
        Number of reports.
    floor
        Fewest devices that a published cell may have, not negative.
    confidence, correction
        As for `estimate_counts`.

    Raises
    ------
    ParameterError
        If the mechanism has no variance of this form, or a setting is outside its range.
    """
    z = _publication_quantile(mechanism, confidence, correction)
    empty, slope = _variance_pair(mechanism)
    return floor + z * math.sqrt(max(n * empty + floor * slope, 0.0))


def publication_probability(
    mechanism: FrequencyOracle,
    true_counts: npt.ArrayLike,
    *,
    n: int,
    floor: float,
    confidence: float = 0.95,
    correction: str = "bonferroni",
) -> FloatArray:
    """Predict for each cell how likely its lower bound reaches the floor.

    Parameters
    ----------
    mechanism
        The randomiser.
    true_counts
        Devices in each cell, any shape; (domain_size,) where the variance of a cell depends on other cells.
    n
        Number of reports.
    floor
        Fewest devices that a published cell may have; below 1 counts as 1, as in a release.
    confidence, correction
        As for `estimate_counts`.

    Returns
    -------
    Array
        Probabilities, shape of `true_counts`: by the normal law, or exact where `needs_exact_bound`.
    """
    true = np.asarray(true_counts, np.float64)
    floor = max(float(floor), 1.0)
    if n == 0:
        return np.zeros_like(true)
    level = _choose("correction", CORRECTIONS, correction)
    alpha = level(1 - checked_confidence(confidence), mechanism.domain_size)
    if needs_exact_bound(mechanism, n=n, level=alpha):
        p, q = _probabilities(mechanism)
        support = smallest_support_rejecting(math.ceil(floor) - 1, n=n, p=p, q=q, alpha=alpha)
        # Many cells hold equally many devices, and the exact tail of one is an integral.
        distinct, place = np.unique(true, return_inverse=True)
        return upper_tail(support, distinct, n=n, p=p, q=q)[place].reshape(true.shape)
    z = _publication_quantile(mechanism, confidence, correction)
    base, slope = true_variance_terms(mechanism, true, n=n)
    threshold = floor + z * np.sqrt(np.maximum(base + floor * slope, 0.0))
    deviation = np.sqrt(np.maximum(base + true * slope, 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        score = np.where(deviation > 0, (true - threshold) / deviation, np.copysign(np.inf, true - threshold))
    return np.asarray(ndtr(score), np.float64)


def expected_false_publications(
    mechanism: FrequencyOracle,
    true_counts: npt.ArrayLike,
    *,
    n: int,
    floor: float,
    confidence: float = 0.95,
    correction: str = "bonferroni",
) -> float:
    """Predict how many cells are published although fewer devices than the floor are in them.

    Parameters and errors as for `publication_probability`. With a floor of 0 no publication is false.
    """
    true = np.asarray(true_counts, np.float64)
    probability = publication_probability(
        mechanism, true, n=n, floor=floor, confidence=confidence, correction=correction
    )
    return float(probability[true < floor].sum())


def smallest_count(
    mechanism: FrequencyOracle, *, n: int, relative_error: float, counts: npt.ArrayLike | None = None
) -> float:
    """Return the smallest count whose standard error is at most the given share of it.

    Parameters
    ----------
    mechanism
        The randomiser.
    n
        Number of reports, at least 1.
    relative_error
        One standard error over the count, above 0.
    counts
        What `mechanism.aggregate` returned. Needed only where the variance of a cell depends on other
        cells; the answer then is that of the cell with the greatest one, so that it holds in all.

    Returns
    -------
    float
        Devices; the root of relative_error^2 count^2 = n V0 + count V1. May exceed n: then no cell is
        counted that well.

    Raises
    ------
    ParameterError
        If relative_error is not above 0, or the variance depends on other cells and no counts are given.
    """
    if not relative_error > 0:
        raise ParameterError(
            "relative_error", f"relative_error must be greater than 0, got {relative_error:g}; try 0.1"
        )
    if mechanism.variance_empty is None and counts is not None:
        base, slope = mechanism.variance_terms(counts, n=n)
    else:
        empty, rate = _variance_pair(mechanism)
        base, slope = np.array([n * empty]), np.array([rate])
    square = relative_error**2
    return float(((slope + np.sqrt(slope**2 + 4 * square * base)) / (2 * square)).max())


def true_variance_terms(
    mechanism: FrequencyOracle, true_counts: FloatArray, *, n: int
) -> tuple[FloatArray, FloatArray]:
    """Return (base, slope) such that the variance of a cell's estimate is base + count * slope at this truth.

    Parameters
    ----------
    mechanism
        The randomiser.
    true_counts
        Devices in each cell, any shape; (domain_size,) where the variance of a cell depends on other cells.
    n
        Number of reports.

    Returns
    -------
    tuple of arrays
        Two float64 arrays, shape of `true_counts`. The slope is that of the intervals: what other cells
        add stays in the base.
    """
    empty, rate = mechanism.variance_empty, mechanism.variance_slope
    if empty is not None and rate is not None:
        return np.full(true_counts.shape, n * empty), np.full(true_counts.shape, rate)
    # The slope depends on no count, so any counts give it.
    _, slope = mechanism.variance_terms(np.zeros(mechanism.counts_shape), n=n)
    return mechanism.variance(true_counts, n=n) - true_counts * slope, slope


def _publication_quantile(mechanism: FrequencyOracle, confidence: float, correction: str) -> float:
    return critical_value(confidence, correction=correction, cells=mechanism.domain_size, two_sided=False)


def _variance_pair(mechanism: FrequencyOracle) -> tuple[float, float]:
    empty, slope = mechanism.variance_empty, mechanism.variance_slope
    if empty is None or slope is None:
        raise ParameterError(
            "mechanism",
            f"the variance of {mechanism.name} depends on other cells, so there is no closed form",
        )
    return empty, slope


_Choice = TypeVar("_Choice")


def _choose(parameter: str, table: Mapping[str, _Choice], name: str) -> _Choice:
    if name not in table:
        raise ParameterError(parameter, f"there is no {parameter} {name!r}; choose one of {', '.join(table)}")
    return table[name]
