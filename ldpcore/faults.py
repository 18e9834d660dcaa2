"""What goes wrong with local privacy on a map, made to happen: each fault with what theory expects of it.

A fault is reproduced on the scenario in force, from the same reports as the right answer, so that only the mistake
differs. This module holds the server's mistakes; `ldpcore.faults_device` those of the device and the promise.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final

import numpy as np
import pandas as pd
from scipy.stats import norm

from ldpcore.estimate import CORRECTIONS, true_variance_terms
from ldpcore.mechanisms import FrequencyOracle, make_mechanism
from ldpcore.mechanisms.options import option_names
from ldpcore.release import Release
from ldpcore.release_files import csv_bytes
from ldpcore.settings import MAX_EPSILON, Scenario
from ldpcore.shapes import BoolArray, FloatArray

FALLBACK: Final = "oue"
"""Randomiser that shows a fault where the scenario's own has no single pair of probabilities."""
ERROR_BAR: Final = 1.96
"""Standard errors of an error bar of 95 %."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One figure: what was measured, its standard error where it is a mean, and what theory expects."""

    measured: float | None
    error: float | None = None
    expected: float | None = None


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a table of figures: a cell for each column."""

    key: str
    label: str
    cells: tuple[Cell, ...]
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """Figures of a fault beside those of what is right."""

    columns: tuple[str, ...]
    lines: tuple[Line, ...]

    def line(self, key: str) -> Line:
        """Return the line of a figure."""
        return next(line for line in self.lines if line.key == key)

    def to_csv(self) -> bytes:
        """Return the table as CSV: one row for each figure and column."""
        rows = [
            {
                "figure": line.key,
                "label": line.label,
                "column": column,
                "measured": cell.measured,
                "std_error": cell.error,
                "expected": cell.expected,
                "unit": line.unit,
            }
            for line in self.lines
            for column, cell in zip(self.columns, line.cells, strict=True)
        ]
        return csv_bytes(pd.DataFrame(rows), {})


def demonstrable(release: Release) -> Scenario:
    """Return the scenario of a run, with a randomiser that has one pair p and q where its own has none."""
    if release.mechanism.p is not None and release.mechanism.q is not None:
        return release.scenario
    return replace(release.scenario, mechanism=FALLBACK, options=())


# --- Every cell looks equally busy --------------------------------------------------------------

CAUSES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "raw": "The counts are not inverted",
        "epsilon": "Inverted with another ε",
        "scheme": "Inverted for another encoding",
    }
)
"""Why every cell may look equally busy."""

_OTHER_ENCODING: Final[Mapping[str, str]] = MappingProxyType({"oue": "sue", "sue": "oue"})


@dataclass(frozen=True, eq=False, slots=True)
class Inversion:
    """One set of reports, inverted wrongly and rightly.

    Parameters
    ----------
    what
        What the server did, in words.
    wrong, right
        (d,) estimates in devices.
    expected
        (d,) exact mean of the wrong ones at this truth.
    offset
        What the mistake adds to a cell without a device, in devices; exact.
    stretch
        What it multiplies differences between cells by; exact.
    table
        Figures, columns truth, with the fault, mended.
    """

    what: str
    wrong: FloatArray
    right: FloatArray
    expected: FloatArray
    offset: float
    stretch: float
    table: Table

    @property
    def seen_in_total(self) -> bool:
        """Whether the cells added up say that something is wrong; direct response and sets always add up."""
        total = self.table.line("check").cells[1].expected
        return total is not None and abs(total - 1) > 0.01


def causes_for(mechanism: FrequencyOracle) -> tuple[str, ...]:
    """Return the causes that this randomiser can show."""
    other = mechanism.name in _OTHER_ENCODING
    return tuple(cause for cause in CAUSES if cause != "scheme" or other)


def invert_wrongly(release: Release, cause: str) -> Inversion:
    """Invert the counts of a run with the wrong probabilities.

    Parameters
    ----------
    release
        Of a randomiser with one pair p and q.
    cause
        A key of `CAUSES` that `causes_for` allows.

    Notes
    -----
    With supports C of n reports and the server's pair p', q' the estimate is (C - n q') / (p' - q'), whose mean at
    the truth c is (c (p - q) + n (q - q')) / (p' - q'): every cell is off by n (q - q') / (p' - q'), and every
    difference is stretched by (p - q) / (p' - q'). Not inverting is the pair 1 and 0.
    """
    mechanism, n = release.mechanism, release.population.size
    p, q = _pair(mechanism)
    what, (server_p, server_q) = _server_pair(release, cause)
    true = release.population.true_counts.astype(np.float64)
    support = np.asarray(mechanism.support(release.counts, n=n), np.float64)
    wrong = (support - n * server_q) / (server_p - server_q)
    expected = (true * (p - q) + n * (q - server_q)) / (server_p - server_q)
    spread = np.sqrt(true * p * (1 - p) + (n - true) * q * (1 - q)) / (server_p - server_q)
    right = release.estimates.estimate
    right_spread = np.sqrt(mechanism.variance(true, n=n))
    return Inversion(
        what=what,
        wrong=wrong,
        right=right,
        expected=expected,
        offset=n * (q - server_q) / (server_p - server_q),
        stretch=(p - q) / (server_p - server_q),
        table=_inversion_table(
            true, (wrong, expected, spread), (right, true, right_spread), n=n, noun=release.population.noun
        ),
    )


def _pair(mechanism: Any) -> tuple[float, float]:  # noqa: ANN401 - any frequency oracle
    return float(mechanism.p), float(mechanism.q)


def _server_pair(release: Release, cause: str) -> tuple[str, tuple[float, float]]:
    scenario, d = release.scenario, release.population.domain.size
    if cause == "raw":
        return "counts every report that points to a cell as if it came from there", (1.0, 0.0)
    mechanism: Any = release.mechanism
    if cause == "scheme":
        other = make_mechanism(_OTHER_ENCODING[scenario.mechanism], epsilon=scenario.epsilon, domain_size=d)
        return f"reads {mechanism.label} as {other.label}", _pair(other)
    epsilon = other_epsilon(scenario.epsilon)
    # The form of a report (buckets, set size, threshold) can be read from it; only the epsilon is taken wrongly.
    form = {name: getattr(mechanism, name) for name in option_names(type(mechanism))}
    other = make_mechanism(scenario.mechanism, epsilon=epsilon, domain_size=d, **form)
    return f"inverts for ε = {epsilon:g} what was randomised at ε = {scenario.epsilon:g}", _pair(other)


def other_epsilon(epsilon: float) -> float:
    """Return the epsilon that the server takes for the client's: one more, as after an update of one side only."""
    return epsilon + 1 if epsilon + 1 <= MAX_EPSILON else epsilon - 1


def _inversion_table(
    true: FloatArray,
    wrong: tuple[FloatArray, FloatArray, FloatArray],
    right: tuple[FloatArray, FloatArray, FloatArray],
    *,
    n: int,
    noun: str,
) -> Table:
    """Return the figures of (estimates, their exact means, their exact standard errors) of both inversions."""
    busiest = int(np.argmax(true))
    quiet = true <= np.median(true)

    def cells(measure: Any) -> tuple[Cell, ...]:  # noqa: ANN401 - a function of estimates
        return (
            Cell(measure(true)),
            Cell(measure(wrong[0]), expected=measure(wrong[1])),
            Cell(measure(right[0]), expected=measure(right[1])),
        )

    lines = (
        Line("busiest", "Busiest cell", cells(lambda values: float(values[busiest])), noun),
        Line(
            "quiet",
            "Quieter half, mean of a cell",
            cells(lambda values: float(values[quiet].mean())),
            noun,
        ),
        Line(
            "ratio",
            "Busiest cell over the mean of the quieter half",
            cells(lambda values: _ratio(float(values[busiest]), float(values[quiet].mean()))),
            "times",
        ),
        Line("total", "All cells added up", cells(lambda values: float(values.sum())), noun),
        Line("check", "All cells over all reports: should be 1", cells(lambda v: float(v.sum()) / n)),
        Line(
            "rmse",
            "Typical error of a cell",
            (
                Cell(0.0),
                *(
                    Cell(
                        float(np.sqrt(np.mean((estimate - true) ** 2))),
                        expected=float(np.sqrt(np.mean((mean - true) ** 2 + spread**2))),
                    )
                    for estimate, mean, spread in (wrong, right)
                ),
            ),
            noun,
        ),
    )
    return Table(("Truth", "With the fault", "Mended"), lines)


def _ratio(top: float, bottom: float) -> float | None:
    return top / bottom if bottom > 0 else None


# --- Wildly noisy ---------------------------------------------------------------------------------

HASHING: Final = "olh"


def noise_scenarios(scenario: Scenario) -> Mapping[str, Scenario]:
    """Return the grids of the fault, by what was tried, too fine first.

    The fault is a grid two steps finer than the scenario's, at most resolution 9, or the scenario's own where it is
    finer. Tried are local hashing on the same grid, which the guide recommends, and coarser grids.
    """
    fine = max(scenario.resolution, min(scenario.resolution + 2, 9))
    base = replace(scenario, resolution=fine, per_report=False)
    other = FALLBACK if scenario.mechanism == HASHING else HASHING
    return MappingProxyType(
        {
            "fine": base,
            "hashing": replace(base, mechanism=other, options=()),
            "coarser": replace(base, resolution=fine - 1),
            "coarse": replace(base, resolution=max(fine - 2, 5)),
        }
    )


def noise_table(releases: Mapping[str, Release]) -> Table:
    """Return the figures of runs on finer and coarser grids, one column each."""

    def cells(measured: Any, expected: Any = None) -> tuple[Cell, ...]:  # noqa: ANN401 - functions of a release
        return tuple(
            Cell(float(measured(release)), expected=float(expected(release)) if expected else None)
            for release in releases.values()
        )

    def mean(release: Release) -> float:
        return release.population.size / release.population.domain.size

    noun = next(iter(releases.values())).population.noun
    lines = (
        Line("cells", "Cells", cells(lambda release: release.population.domain.size)),
        Line("mean", f"{noun.capitalize()} in a cell, on average", cells(mean), noun),
        Line(
            "rmse",
            "Typical error of a cell",
            cells(lambda release: release.figures.rmse, lambda release: release.figures.rmse_expected),
            noun,
        ),
        Line(
            "relative",
            "The same over an average cell",
            cells(
                lambda release: release.figures.rmse / mean(release),
                lambda release: release.figures.rmse_expected / mean(release),
            ),
            "share",
        ),
        Line(
            "published",
            "Cells published",
            cells(
                lambda release: release.figures.published, lambda release: release.figures.published_expected
            ),
            "cells",
        ),
    )
    columns = tuple(
        f"{release.mechanism.label}, resolution {release.scenario.resolution}"
        for release in releases.values()
    )
    return Table(columns, lines)


# --- Sparse cells swing ----------------------------------------------------------------------------

RULES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "all": "Publish every estimate",
        "bar": "Hide what lies within its error bar of zero",
        "sure": "Publish where the floor is sure",
    }
)
"""Rules of what is shown: none, the guide's, and the one of this dashboard."""


def sparse_cells(release: Release) -> BoolArray:
    """Return (d,) which cells hold fewer devices than the standard error of an empty cell."""
    base, _ = _variance_terms(release)
    return np.asarray(release.population.true_counts < np.sqrt(base), np.bool_)


def swinging_cell(release: Release) -> int:
    """Return the cell whose count is nearest to half a standard error, as an index of the domain."""
    base, _ = _variance_terms(release)
    return int(np.argmin(np.abs(release.population.true_counts - np.sqrt(base) / 2)))


def shown_by(rule: str, release: Release) -> BoolArray:
    """Return (d,) which cells a rule shows."""
    if rule == "sure":
        return release.published
    if rule == "all":
        return np.ones(release.status.shape, np.bool_)
    base, _ = _variance_terms(release)
    return np.asarray(np.abs(release.estimates.estimate) > ERROR_BAR * np.sqrt(base), np.bool_)


def swing_table(releases: Sequence[Release]) -> Table:
    """Return what each rule shows, mean over redraws beside the normal law.

    Parameters
    ----------
    releases
        Redraws of one scenario, at least 2.
    """
    first = releases[0]
    true = first.population.true_counts.astype(np.float64)
    shown: dict[str, list[Cell]] = {"shown": [], "off": [], "negative": []}
    for rule in RULES:
        counted = np.array([_counted(rule, release, true) for release in releases], np.float64)
        expected = _expected(rule, first, true)
        spread = counted.std(axis=0, ddof=1) / math.sqrt(len(releases))
        for place, key in enumerate(shown):
            shown[key].append(
                Cell(float(counted[:, place].mean()), float(spread[place]), float(expected[place]))
            )
    labels = {
        "shown": "Cells shown",
        "off": "Shown, and off by more than its own count",
        "negative": "Shown as negative",
    }
    return Table(
        tuple(RULES.values()),
        tuple(Line(key, labels[key], tuple(cells), "cells") for key, cells in shown.items()),
    )


def sign_changes(releases: Sequence[Release]) -> Cell:
    """Return the share of sparse cells whose sign changes from one redraw to the next."""
    first = releases[0]
    sparse = sparse_cells(first)
    if not sparse.any():
        return Cell(None)
    positive = np.array([release.estimates.estimate[sparse] > 0 for release in releases])
    changes = (positive[1:] != positive[:-1]).mean(axis=1)
    true = first.population.true_counts[sparse].astype(np.float64)
    base, slope = (term[sparse] for term in _variance_terms(first))
    up = norm.cdf(true / np.sqrt(base + true * slope))
    error = float(changes.std(ddof=1) / math.sqrt(changes.size)) if changes.size > 1 else None
    return Cell(float(changes.mean()), error, float(np.mean(2 * up * (1 - up))))


def _variance_terms(release: Release) -> tuple[FloatArray, FloatArray]:
    true = release.population.true_counts.astype(np.float64)
    return true_variance_terms(release.mechanism, true, n=release.population.size)


def _counted(rule: str, release: Release, true: FloatArray) -> tuple[int, int, int]:
    shown, estimate = shown_by(rule, release), release.estimates.estimate
    off = shown & (np.abs(estimate - true) > true)
    return int(shown.sum()), int(off.sum()), int((shown & (estimate < 0)).sum())


def _expected(rule: str, release: Release, true: FloatArray) -> tuple[float, float, float]:
    """Return cells shown, shown and off, shown and negative, by the normal law at the truth."""
    base, slope = _variance_terms(release)
    spread = np.sqrt(base + true * slope)

    def above(level: FloatArray) -> FloatArray:
        return np.asarray(norm.sf((level - true) / spread), np.float64)

    def below(level: FloatArray) -> FloatArray:
        return np.asarray(norm.cdf((level - true) / spread), np.float64)

    if rule == "all":
        negative = below(np.zeros_like(true))
        return float(true.size), float((above(2 * true) + negative).sum()), float(negative.sum())
    if rule == "bar":
        level = ERROR_BAR * np.sqrt(base)
        negative = below(-level)
        off = above(np.maximum(level, 2 * true)) + negative
        return float((above(level) + negative).sum()), float(off.sum()), float(negative.sum())
    scenario = release.scenario
    floor = max(scenario.floor, 1)
    alpha = CORRECTIONS[scenario.correction](1 - scenario.confidence, true.size)
    level = floor + norm.isf(alpha) * np.sqrt(base + floor * slope)
    return float(above(level).sum()), float(above(np.maximum(level, 2 * true)).sum()), 0.0
