"""What the errors of two cells have in common, and so how wrong a sum over a region is.

Var(sum) = sum of variances + 2 sum of covariances over pairs of its cells. Unary encoding, local hashing with
a hash of each device's own, summed histograms and rows of a Hadamard matrix leave cells uncorrelated; direct
encoding and subset selection make them negatively correlated, because a report that supports one cell cannot
support many others; Hadamard response correlates two cells through a third.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from ldpcore.errors import ParameterError
from ldpcore.mechanisms.hadamard import HadamardResponse
from ldpcore.mechanisms.oracle import FrequencyOracle
from ldpcore.mechanisms.subset import SubsetSelection
from ldpcore.shapes import FloatArray, IntArray


class PairTerms(NamedTuple):
    """Covariance of two cells i, j: (c_i + c_j) own + (n - c_i - c_j) other, in devices squared."""

    own: float
    other: float


UNCORRELATED = PairTerms(0.0, 0.0)


def _direct_pairs(mechanism: FrequencyOracle) -> PairTerms:
    p, q = _exact_pair(mechanism)
    # No report supports two cells.
    return PairTerms(float(-p * q / (p - q) ** 2), float(-q * q / (p - q) ** 2))


def _subset_pairs(mechanism: FrequencyOracle) -> PairTerms:
    assert isinstance(mechanism, SubsetSelection)  # noqa: S101 - the table says so
    p, q = _exact_pair(mechanism)
    size, cells = mechanism.size, mechanism.domain_size
    with_own = p * Fraction(size - 1, cells - 1)
    without = Fraction(0)
    if cells > 2:
        pairs = p * (size - 1) * (size - 2) + (1 - p) * size * (size - 1)
        without = pairs / ((cells - 1) * (cells - 2))
    scale = (p - q) ** 2
    return PairTerms(float((with_own - p * q) / scale), float((without - q * q) / scale))


_PAIRS: Mapping[str, Callable[[FrequencyOracle], PairTerms]] = MappingProxyType(
    {
        "grr": _direct_pairs,
        "ss": _subset_pairs,
        **dict.fromkeys(("sue", "oue", "she", "the", "blh", "olh", "hrr"), lambda _: UNCORRELATED),
    }
)
"""Mechanisms of which any two cells have the same law of covariance."""


def pair_terms(mechanism: FrequencyOracle) -> PairTerms | None:
    """Return the covariance of any two cells, or None where it is not the same for all pairs or not known."""
    if mechanism.name not in _PAIRS or mechanism.variance_empty is None:
        return None
    return _PAIRS[mechanism.name](mechanism)


def has_region_variance(mechanism: FrequencyOracle) -> bool:
    """Tell whether the exact error of sums is known."""
    return pair_terms(mechanism) is not None or _single_block(mechanism)


def region_terms(
    mechanism: FrequencyOracle, regions: IntArray, counts: FloatArray, *, n: int, size: int
) -> tuple[FloatArray, FloatArray]:
    """Return (base, slope) such that the variance of a region's summed estimate is base + count * slope.

    Parameters
    ----------
    mechanism
        The randomiser.
    regions
        (d,) int64, which region each cell belongs to, each in [0, size).
    counts
        (d,) devices in each cell, true or estimated; read only where the covariance of two cells depends on a third.
    n
        Number of reports.
    size
        Number of regions.

    Returns
    -------
    Two (size,) float64 arrays. Exact at the true counts.

    Raises
    ------
    ParameterError
        If the covariance of this mechanism is not known.
    """
    cells = np.bincount(regions, minlength=size).astype(np.float64)
    pairs = pair_terms(mechanism)
    if pairs is not None:
        empty, slope = mechanism.variance_empty, mechanism.variance_slope
        assert empty is not None  # noqa: S101 - pair_terms looked
        assert slope is not None  # noqa: S101
        base = n * (cells * empty + cells * (cells - 1) * pairs.other)
        return base, slope + 2 * (cells - 1) * (pairs.own - pairs.other)
    if _single_block(mechanism):
        return _hadamard_terms(mechanism, regions, counts, n=n, size=size)
    raise ParameterError(
        "mechanism",
        f"The error of a sum of cells is not known for {mechanism.name}: its cells are correlated in a way that has "
        f"no closed form here; choose one of {', '.join(_PAIRS)}.",
    )


def region_variance(
    mechanism: FrequencyOracle, regions: IntArray, true_counts: IntArray, *, size: int
) -> FloatArray:
    """Return the exact variance of the summed estimates of regions, (size,) in devices squared.

    Parameters and errors as for `region_terms`, with the true counts, which add up to the number of reports.
    """
    counts = np.asarray(true_counts, np.float64)
    base, slope = region_terms(mechanism, regions, counts, n=int(true_counts.sum()), size=size)
    return np.asarray(base + slope * np.bincount(regions, weights=counts, minlength=size), np.float64)


def _single_block(mechanism: FrequencyOracle) -> bool:
    return isinstance(mechanism, HadamardResponse) and mechanism.blocks == 1


def _hadamard_terms(
    mechanism: FrequencyOracle, regions: IntArray, counts: FloatArray, *, n: int, size: int
) -> tuple[FloatArray, FloatArray]:
    """Add c_x (R + 1) / (R - 1) for each ordered pair of cells whose rows add, without carry, to the row of x."""
    assert isinstance(mechanism, HadamardResponse)  # noqa: S101 - the caller looked
    by_row = np.zeros(mechanism.block_outputs)
    by_row[1 : mechanism.domain_size + 1] = counts
    order = np.argsort(regions, kind="stable")
    starts = np.searchsorted(regions[order], np.arange(size + 1))
    met = np.zeros(size)
    for region in range(size):
        rows = order[starts[region] : starts[region + 1]] + 1
        met[region] = sum(by_row[row ^ rows].sum() for row in rows)
    cells = np.diff(starts)
    base = n * cells * float(mechanism.variance_empty or 0.0)
    return base + met * float((mechanism.ratio + 1) / (mechanism.ratio - 1)), np.full(size, -1.0)


def _exact_pair(mechanism: FrequencyOracle) -> tuple[Fraction, Fraction]:
    p, q = mechanism.p, mechanism.q
    assert p is not None  # noqa: S101 - the table holds pure mechanisms here
    assert q is not None  # noqa: S101
    return p, q
