"""Post-processing: estimates made to look like counts, at the price of bias.

Raw estimates are unbiased, some are negative and they need not add up. Each function here repairs that in its
own way. It costs no privacy, because it reads only what the server has already; it always costs bias, which
`ldpcore.postprocess_measured` measures by redraws. The results are named columns beside the raw estimate, never in
place of it, and no interval is ever computed from them: at the boundary their errors are neither normal nor
centred.

T. Wang, M. Lopuhaä-Zwakenberg, Z. Li, B. Škorić, N. Li, *Locally Differentially Private Frequency Estimation
with Consistency*, 2020; D. Agrawal, C. C. Aggarwal, *On the Design and Quantification of Privacy Preserving
Data Mining Algorithms*, 2001.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from ldpcore.errors import ParameterError
from ldpcore.estimate import checked_confidence
from ldpcore.mechanisms.options import checked_integer
from ldpcore.mechanisms.oracle import FrequencyOracle
from ldpcore.shapes import AnyArray, FloatArray

IBU_ITERATIONS = 2_000
IBU_TOLERANCE = 1e-9
"""The stop rule of `ibu` is part of its answer: at most so many steps, or none of which moves any share more."""


@dataclass(frozen=True, eq=False, slots=True)
class Measurement:
    """What a post-processor may read: all of it is known to the server.

    Parameters
    ----------
    mechanism
        The randomiser.
    counts
        What `mechanism.aggregate` returned.
    n
        Number of reports, at least 1; the total that consistent counts add up to.
    estimate
        (d,) float64, the raw estimates.
    confidence
        Of the whole map, for the threshold of `base-cut`.
    """

    mechanism: FrequencyOracle
    counts: AnyArray
    n: int
    estimate: FloatArray
    confidence: float


@dataclass(frozen=True, slots=True)
class Postprocessor:
    """One way to repair estimates.

    Parameters
    ----------
    name, label, summary, reference
        Key, words for a menu, what it does and to whom, and the source.
    apply
        From a measurement to (d,) float64.
    """

    name: str
    label: str
    summary: str
    reference: str
    apply: Callable[[Measurement], FloatArray]


def base_pos(estimate: npt.ArrayLike) -> FloatArray:
    """Set negative estimates to zero.

    An empty cell gains std_error / sqrt(2 pi) on average, see `clamping_bias`.
    """
    return np.asarray(np.maximum(estimate, 0.0), np.float64)


def base_cut(estimate: npt.ArrayLike, *, threshold: float) -> FloatArray:
    """Set estimates below the threshold to zero; cells near it are biased down."""
    raw = np.asarray(estimate, np.float64)
    return np.where(raw >= threshold, raw, 0.0)


def norm(estimate: npt.ArrayLike, *, total: float) -> FloatArray:
    """Add the same number to all estimates so that they sum to the total; some may stay negative."""
    raw = np.asarray(estimate, np.float64)
    return np.asarray(raw + (total - raw.sum()) / raw.size, np.float64)


def norm_mul(estimate: npt.ArrayLike, *, total: float) -> FloatArray:
    """Set negative estimates to zero and scale the rest to the total; biases heavy cells strongly down.

    Where no estimate is positive there is nothing to scale and all are zero.
    """
    raw = base_pos(estimate)
    positive = raw.sum()
    return np.asarray(raw * (total / positive), np.float64) if positive > 0 else raw


def norm_sub(estimate: npt.ArrayLike, *, total: float) -> FloatArray:
    """Subtract the same number from all estimates and set negative ones to zero, so that they sum to the total.

    This is the nearest vector of counts (Euclidean projection on the simplex).

    Examples
    --------
    >>> norm_sub([120, -30, 45, 10, -60, 5], total=100).tolist()
    [87.5, 0.0, 12.5, 0.0, 0.0, 0.0]
    """
    raw = np.asarray(estimate, np.float64)
    falling = -np.sort(-raw)
    shift = (np.cumsum(falling) - total) / np.arange(1, raw.size + 1)
    # The cells kept are the longest run of the greatest that all stay above zero.
    kept = np.flatnonzero(falling > shift)
    return base_pos(raw - shift[kept[-1] if kept.size else 0])


def norm_cut(estimate: npt.ArrayLike, *, total: float) -> FloatArray:
    """Set negative estimates to zero, then the smallest positive ones until the sum is at most the total.

    Nothing is scaled, so the sum may end below the total. Of equal estimates the first goes first.
    """
    raw = base_pos(estimate)
    order = np.argsort(raw, kind="stable")
    # What remains when all up to and including each cell of the order are zero.
    remaining = np.cumsum(raw[order][::-1])[::-1]
    raw[order[remaining > total]] = 0.0
    return raw


def mle_apx(shares: npt.ArrayLike, *, empty: float, slope: float) -> FloatArray:
    """Return the most likely shares under the normal approximation with variance empty + share slope.

    Parameters
    ----------
    shares
        (d,) raw estimates as shares of the total.
    empty, slope
        V0 and V1 of the mechanism, up to a common factor 1 / n.

    Returns
    -------
    (d,) float64, not negative, summing to 1. With a slope of 0 this is `norm_sub`.
    """
    raw = np.asarray(shares, np.float64)
    active = np.ones(raw.size, bool)
    while True:
        rest = 1 - raw[active].sum()
        lift = rest / (active.sum() * empty + slope)
        moved = (raw + empty * lift) / (1 - slope * lift)
        falling = active & (moved <= 0)
        if not falling.any() or active.sum() == 1:
            return np.where(active, np.maximum(moved, 0.0), 0.0)
        if (falling == active).all():
            # A lift past its pole turns all signs at once: keep the greatest, which the maximum holds on to.
            falling[np.argmax(np.where(active, raw, -np.inf))] = False
        active &= ~falling


def ibu(
    reports: npt.ArrayLike,
    *,
    own: float,
    other: float,
    iterations: int = IBU_ITERATIONS,
    tolerance: float = IBU_TOLERANCE,
) -> FloatArray:
    """Climb to the most likely shares when each report is one cell: iterative Bayesian update.

    Parameters
    ----------
    reports
        (d,) how many devices reported each cell.
    own, other
        Probability of reporting the own cell, and each other one.
    iterations
        Most steps, from equal shares.
    tolerance
        Stop when no share moved by more than this.

    Returns
    -------
    (d,) float64 shares, not negative, summing to 1.
    """
    seen = np.asarray(reports, np.float64)
    weight = seen / seen.sum()
    shares = np.full(seen.size, 1 / seen.size)
    for _ in range(iterations):
        ratio = weight / (other * shares.sum() + (own - other) * shares)
        updated = shares * (other * ratio.sum() + (own - other) * ratio)
        if np.abs(updated - shares).max() <= tolerance:
            return np.asarray(updated, np.float64)
        shares = updated
    return shares


def clamping_bias(std_error: float) -> float:
    """Return what an empty cell gains on average when negative estimates are set to zero.

    Examples
    --------
    >>> round(clamping_bias(1000.0), 1)
    398.9
    """
    return std_error / math.sqrt(2 * math.pi)


def cut_threshold(mechanism: FrequencyOracle, *, n: int, confidence: float) -> float:
    """Return the estimate that no empty cell of the map reaches, at this confidence: z sqrt(n V0)."""
    if (unfit := why_unfit("base-cut", mechanism)) is not None:
        raise ParameterError("postprocess", unfit)
    alpha = (1 - checked_confidence(confidence)) / mechanism.domain_size
    empty, _ = _terms(mechanism)
    return -float(ndtri(alpha)) * math.sqrt(n * empty)


def postprocess(
    name: str,
    mechanism: FrequencyOracle,
    counts: npt.ArrayLike,
    *,
    n: int,
    confidence: float = 0.95,
) -> FloatArray:
    """Return the estimates of one mechanism's counts, repaired in the named way.

    Parameters
    ----------
    name
        A key of `POSTPROCESSORS`.
    mechanism
        The randomiser that made the reports.
    counts
        What `mechanism.aggregate` returned.
    n
        Number of reports.
    confidence
        Of the whole map, for `base-cut`.

    Returns
    -------
    (d,) float64, in devices. No interval may be computed from it.

    Raises
    ------
    ParameterError
        If there is no such way, it does not fit the mechanism, or there are no reports.
    """
    if name not in POSTPROCESSORS:
        raise ParameterError(
            "postprocess",
            f"There is no post-processing {name!r}; choose one of {', '.join(POSTPROCESSORS)}.",
        )
    n = checked_integer("n", n, minimum=1)
    if (unfit := why_unfit(name, mechanism)) is not None:
        raise ParameterError("postprocess", unfit)
    measurement = Measurement(
        mechanism, np.asarray(counts), n, mechanism.estimate(counts, n=n), checked_confidence(confidence)
    )
    return POSTPROCESSORS[name].apply(measurement)


def why_unfit(name: str, mechanism: FrequencyOracle) -> str | None:
    """Return one sentence why a way of post-processing does not fit a mechanism, or None where it does."""
    if name in _NEEDS_TERMS and mechanism.variance_empty is None:
        return (
            f"{name} needs a variance that depends on no other cell, which {mechanism.name} does not have; "
            "try norm-sub."
        )
    if name == "ibu" and mechanism.name not in _CHANNELS:
        return (
            f"ibu needs how often each whole report was sent, which the counts of {mechanism.name} no longer tell; "
            f"use it with {', '.join(_CHANNELS)}, or try norm-sub."
        )
    return None


def fitting_postprocessors(mechanism: FrequencyOracle) -> tuple[str, ...]:
    """Return the names of the ways that can be used with a mechanism, in the order of menus."""
    return tuple(name for name in POSTPROCESSORS if why_unfit(name, mechanism) is None)


def _terms(mechanism: FrequencyOracle) -> tuple[float, float]:
    empty, slope = mechanism.variance_empty, mechanism.variance_slope
    assert empty is not None  # noqa: S101 - why_unfit looked
    assert slope is not None  # noqa: S101
    return empty, slope


def _apply_mle(measurement: Measurement) -> FloatArray:
    empty, slope = _terms(measurement.mechanism)
    return measurement.n * mle_apx(measurement.estimate / measurement.n, empty=empty, slope=slope)


def _apply_ibu(measurement: Measurement) -> FloatArray:
    own, other = _CHANNELS[measurement.mechanism.name](measurement.mechanism)
    return measurement.n * ibu(measurement.counts, own=own, other=other)


def _direct_channel(mechanism: FrequencyOracle) -> tuple[float, float]:
    assert mechanism.p is not None  # noqa: S101 - a report of one cell is always pure
    assert mechanism.q is not None  # noqa: S101
    return float(mechanism.p), float(mechanism.q)


_CHANNELS: Mapping[str, Callable[[FrequencyOracle], tuple[float, float]]] = MappingProxyType(
    {"grr": _direct_channel}
)
"""Mechanisms whose counts are a histogram of whole reports, and the probabilities of the reports."""

_NEEDS_TERMS = frozenset({"base-cut", "mle-apx"})

_CONSISTENCY = "T. Wang et al., Locally Differentially Private Frequency Estimation with Consistency, 2020"

_FAMILY = (
    Postprocessor(
        "base-pos",
        "Negative to zero",
        "Sets negative estimates to zero. Every empty cell gains 0.4 standard errors on average, so a sparse map "
        "shows devices that are not there.",
        _CONSISTENCY,
        lambda given: base_pos(given.estimate),
    ),
    Postprocessor(
        "base-cut",
        "Small to zero",
        "Sets to zero what an empty cell could show by chance. Cells near the cut are biased down.",
        _CONSISTENCY,
        lambda given: base_cut(
            given.estimate,
            threshold=cut_threshold(given.mechanism, n=given.n, confidence=given.confidence),
        ),
    ),
    Postprocessor(
        "norm",
        "Shift to the total",
        "Adds the same number to every cell so that they sum to the reports. Unbiased; may stay negative.",
        _CONSISTENCY,
        lambda given: norm(given.estimate, total=given.n),
    ),
    Postprocessor(
        "norm-mul",
        "Scale to the total",
        "Sets negative estimates to zero and scales the rest. Heavy cells are biased strongly down.",
        _CONSISTENCY,
        lambda given: norm_mul(given.estimate, total=given.n),
    ),
    Postprocessor(
        "norm-sub",
        "Nearest counts",
        "Subtracts the same number everywhere and stops at zero, so that the cells sum to the reports. Usually the "
        "smallest error a cell; sparse cells are biased up, heavy ones down, and sums over large regions too.",
        _CONSISTENCY,
        lambda given: norm_sub(given.estimate, total=given.n),
    ),
    Postprocessor(
        "norm-cut",
        "Smallest to zero until the total",
        "Sets to zero the smallest estimates until the rest sums to at most the reports. Heavy cells stay as they are.",
        _CONSISTENCY,
        lambda given: norm_cut(given.estimate, total=given.n),
    ),
    Postprocessor(
        "mle-apx",
        "Most likely counts, by the normal law",
        "The counts under which normal estimates of these variances are most likely.",
        _CONSISTENCY,
        _apply_mle,
    ),
    Postprocessor(
        "ibu",
        "Most likely counts, by the reports' own law",
        f"Climbs to the counts under which the reports are most likely, for at most {IBU_ITERATIONS} steps. Only where "
        "the counts tell how often each whole report was sent.",
        "D. Agrawal, C. C. Aggarwal, On the Design and Quantification of Privacy Preserving Data Mining "
        "Algorithms, 2001",
        _apply_ibu,
    ),
)

POSTPROCESSORS: Mapping[str, Postprocessor] = MappingProxyType({entry.name: entry for entry in _FAMILY})
"""Every way of post-processing by its name, in the order of menus."""
