"""Estimate against truth, and what theory says it should have been.

Only a simulation can know these figures: a real server never sees the truth. Each measured
figure has its prediction beside it, from the exact variance of the mechanism.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ldpcore.estimate import Estimates, publication_probability
from ldpcore.mechanisms import FrequencyOracle
from ldpcore.shapes import BoolArray, IntArray


@dataclass(frozen=True, slots=True)
class Figures:
    """Measured figures of one release, each beside its prediction.

    Parameters
    ----------
    published, published_expected
        Cells published.
    rmse, rmse_expected
        Root mean squared error over all cells of the domain, in devices, of the raw estimates;
        the prediction is the root of the mean exact variance.
    coverage, coverage_expected
        Share of all cells whose truth lies in the two-sided per-cell interval.
    false_published, false_published_expected
        Cells published though fewer devices than the floor were there.
    false_suppressed, false_suppressed_expected
        Cells not published though at least as many devices as the floor were there.
    """

    published: int
    published_expected: float
    rmse: float
    rmse_expected: float
    coverage: float
    coverage_expected: float
    false_published: int
    false_published_expected: float
    false_suppressed: int
    false_suppressed_expected: float


def compare(
    mechanism: FrequencyOracle,
    estimates: Estimates,
    *,
    true_counts: IntArray,
    published: BoolArray,
    floor: int,
    confidence: float,
    correction: str,
) -> Figures:
    """Compare a release with the truth.

    Parameters
    ----------
    mechanism
        The randomiser that made the reports.
    estimates
        Estimates and intervals, each (d,).
    true_counts
        (d,) int64 devices in each cell.
    published
        (d,) bool, whether each cell was published.
    floor, confidence, correction
        The rule it was published by.
    """
    n = int(true_counts.sum())
    needed = max(floor, 1)
    expected = expected_publications(
        mechanism, true_counts, floor=floor, confidence=confidence, correction=correction
    )
    error = estimates.estimate - true_counts
    covered = (estimates.ci_low <= true_counts) & (true_counts <= estimates.ci_high)
    return Figures(
        published=int(published.sum()),
        rmse=float(np.sqrt(np.mean(error**2))),
        rmse_expected=float(np.sqrt(np.mean(mechanism.variance(true_counts, n=n)))),
        coverage=float(covered.mean()),
        coverage_expected=confidence,
        false_published=int((published & (true_counts < floor)).sum()),
        false_suppressed=int((~published & (true_counts >= needed)).sum()),
        **expected,
    )


def expected_publications(
    mechanism: FrequencyOracle, true_counts: IntArray, *, floor: int, confidence: float, correction: str
) -> dict[str, float]:
    """Predict how many cells are published, falsely published and falsely held back.

    Parameters
    ----------
    mechanism
        The randomiser.
    true_counts
        (d,) int64 devices in each cell.
    floor, confidence, correction
        The rule of publication.

    Returns
    -------
    Cells, under the names that `Figures` gives them.
    """
    probability = publication_probability(
        mechanism,
        true_counts,
        n=int(true_counts.sum()),
        floor=floor,
        confidence=confidence,
        correction=correction,
    )
    return {
        "published_expected": float(probability.sum()),
        "false_published_expected": float(probability[true_counts < floor].sum()),
        "false_suppressed_expected": float((1 - probability[true_counts >= max(floor, 1)]).sum()),
    }
