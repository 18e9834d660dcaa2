"""The figures of one run in a sweep: what was measured, and beside it what theory predicts.

Beside the figures of a run they say how well the list of the fullest cells is known, and who bears the error: the
mean absolute error of each tenth of the cells, emptiest first.
"""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any, Final, TypeAlias

import numpy as np

from ldpcore.release import Release
from ldpcore.shapes import IntArray

TOP: Final = 10
"""Cells of the list that a reader would act on."""

_ABSOLUTE: Final = math.sqrt(2 / math.pi)  # mean absolute value of a standard normal

Record: TypeAlias = dict[str, Any]


def top_cells(counts: IntArray) -> IntArray:
    """Return the cells of the list a reader would act on, fullest first; of equal ones the first."""
    return np.asarray(np.argsort(-counts, kind="stable")[:TOP], np.int64)


def fixed_figures(release: Release) -> Record:
    """Return what no redraw changes: the domain, the reports, p and q, and what theory predicts."""
    population, mechanism, figures = release.population, release.mechanism, release.figures
    true_counts = population.true_counts
    deviation = np.sqrt(mechanism.variance(true_counts, n=population.size))
    top = top_cells(true_counts)
    expected = {name: value for name, value in asdict(figures).items() if name.endswith("_expected")}
    return {
        "domain_size": population.domain.size,
        "domain_version": population.domain.version,
        "reports": population.size,
        "p": None if mechanism.p is None else float(mechanism.p),
        "q": None if mechanism.q is None else float(mechanism.q),
        "p_exact": None if mechanism.p is None else f"{mechanism.p.numerator}/{mechanism.p.denominator}",
        "q_exact": None if mechanism.q is None else f"{mechanism.q.numerator}/{mechanism.q.denominator}",
        "epsilon_effective": mechanism.epsilon_effective,
        **expected,
        "mean_absolute_error_expected": float(_ABSOLUTE * deviation.mean()),
        "top_relative_error_expected": float(np.mean(_over(deviation[top], true_counts[top]))),
        **{
            f"error_decile_{number}_expected": float(_ABSOLUTE * deviation[cells].mean())
            if cells.size
            else None
            for number, cells in enumerate(_deciles(true_counts), start=1)
        },
    }


def measured_figures(release: Release) -> Record:
    """Return what one redraw gave, each figure a number."""
    figures, population = asdict(release.figures), release.population
    true_counts, estimate = population.true_counts, release.estimates.estimate
    error = np.abs(estimate - true_counts)
    top = top_cells(true_counts)
    measured = {name: float(value) for name, value in figures.items() if not name.endswith("_expected")}
    deciles = {
        f"error_decile_{number}": float(error[cells].mean()) if cells.size else float("nan")
        for number, cells in enumerate(_deciles(true_counts), start=1)
    }
    return {
        **measured,
        "suppressed": population.domain.size - measured["published"],
        "published_share": measured["published"] / population.domain.size,
        "mean_absolute_error": float(error.mean()),
        # One standard error over the count, measured by the mean absolute error of a normal.
        "top_relative_error": float(np.mean(_over(error[top], true_counts[top])) / _ABSOLUTE),
        "top_list_right": float(
            set(top.tolist()) == set(np.argsort(-estimate, kind="stable")[:TOP].tolist())
        ),
        **deciles,
    }


def _over(error: Any, counts: IntArray) -> Any:  # noqa: ANN401 - arrays
    return error / np.maximum(counts, 1)


def _deciles(true_counts: IntArray) -> list[IntArray]:
    """Return the cells of each tenth by density, emptiest first."""
    return [np.asarray(part, np.int64) for part in np.array_split(np.argsort(true_counts, kind="stable"), 10)]
