"""The figures of one run in a sweep: what was measured, and beside it what theory predicts.

Beside the figures of a run they say how well the list of the fullest cells is known, and who bears the error: the
mean absolute error of each tenth of the cells, emptiest first.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, TypeAlias

import numpy as np

from ldpcore.deciles import MEAN_ABSOLUTE, density_tenths
from ldpcore.estimate import publication_probability
from ldpcore.mechanisms import FrequencyOracle
from ldpcore.metrics import expected_publications
from ldpcore.population import Population
from ldpcore.release import Release
from ldpcore.scenario import scenario_mechanism
from ldpcore.settings import Scenario
from ldpcore.shapes import FloatArray, IntArray
from ldpcore.top_list import list_right_probability, top_cells

Record: TypeAlias = dict[str, Any]


@dataclass(frozen=True, eq=False, slots=True)
class Bounds:
    """The cells of one redraw that some floor would publish.

    Parameters
    ----------
    at_least
        (k,) float64, lower bounds of 1 device and more.
    true_counts
        (k,) int64, devices in these cells.
    """

    at_least: FloatArray
    true_counts: IntArray


def bounds_of(release: Release) -> Bounds:
    """Return what publication at any floor depends on; no floor publishes a cell that may be empty."""
    held = release.estimates.at_least >= 1
    return Bounds(release.estimates.at_least[held], release.population.true_counts[held])


def published_figures(bounds: Bounds, true_counts: IntArray, *, floor: int) -> Record:
    """Return what one redraw gave at a floor.

    Parameters
    ----------
    bounds
        Of the redraw.
    true_counts
        (d,) int64 devices in each cell of the domain.
    floor
        Fewest devices that a published cell may have.
    """
    needed = max(floor, 1)
    published = bounds.true_counts[bounds.at_least >= needed]
    return {
        "published": float(published.size),
        "published_share": published.size / true_counts.size,
        "suppressed": float(true_counts.size - published.size),
        "false_published": float((published < floor).sum()),
        "false_suppressed": float((true_counts >= needed).sum() - (published >= needed).sum()),
    }


def expected_at_floor(scenario: Scenario, population: Population) -> Record:
    """Return what theory predicts of publication at a scenario's floor, named as in `fixed_figures`."""
    expected = expected_publications(
        scenario_mechanism(scenario, population),
        population.true_counts,
        floor=scenario.floor,
        confidence=scenario.confidence,
        correction=scenario.correction,
    )
    return {**expected, "published_share_expected": expected["published_expected"] / population.domain.size}


def fixed_figures(release: Release) -> Record:
    """Return what no redraw changes: the domain, the reports, p and q, and what theory predicts."""
    population, mechanism, figures = release.population, release.mechanism, release.figures
    true_counts = population.true_counts
    deviation = np.sqrt(mechanism.variance(true_counts, n=population.size))
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
        "published_share_expected": figures.published_expected / population.domain.size,
        **_error_figures(true_counts, deviation),
        **{
            f"error_decile_{number}_expected": float(MEAN_ABSOLUTE * deviation[cells].mean())
            if cells.size
            else None
            for number, cells in enumerate(density_tenths(true_counts), start=1)
        },
    }


def theory_figures(scenario: Scenario, population: Population) -> Record:
    """Return what theory predicts of a scenario, without running it.

    Parameters
    ----------
    scenario
        Every setting.
    population
        Its devices.

    Returns
    -------
    Published cells and their share, mean absolute error in devices, relative error of the fullest cells, and the
    probability that their list is right, named as in `fixed_figures`.

    Raises
    ------
    ParameterError
        If the randomiser can't be made with these settings.
    """
    mechanism: FrequencyOracle = scenario_mechanism(scenario, population)
    true_counts, n = population.true_counts, population.size
    published = float(
        publication_probability(
            mechanism,
            true_counts,
            n=n,
            floor=scenario.floor,
            confidence=scenario.confidence,
            correction=scenario.correction,
        ).sum()
    )
    return {
        "published_expected": published,
        "published_share_expected": published / population.domain.size,
        **_error_figures(true_counts, np.sqrt(mechanism.variance(true_counts, n=n))),
    }


def _error_figures(true_counts: IntArray, deviation: FloatArray) -> Record:
    top = top_cells(true_counts)
    return {
        "mean_absolute_error_expected": float(MEAN_ABSOLUTE * deviation.mean()),
        "top_relative_error_expected": float(np.mean(_over(deviation[top], true_counts[top]))),
        "top_list_right_expected": list_right_probability(true_counts, deviation),
    }


def measured_figures(release: Release, tenths: list[IntArray] | None = None) -> Record:
    """Return what one redraw gave, each figure a number.

    Parameters
    ----------
    release
        The run.
    tenths
        Cells by density, as `density_tenths` gives them, where the caller has them already.
    """
    figures, population = asdict(release.figures), release.population
    true_counts, estimate = population.true_counts, release.estimates.estimate
    error = np.abs(estimate - true_counts)
    top = top_cells(true_counts)
    measured = {name: float(value) for name, value in figures.items() if not name.endswith("_expected")}
    deciles = {
        f"error_decile_{number}": float(error[cells].mean()) if cells.size else float("nan")
        for number, cells in enumerate(tenths or density_tenths(true_counts), start=1)
    }
    return {
        **measured,
        **published_figures(bounds_of(release), true_counts, floor=release.scenario.floor),
        "mean_absolute_error": float(error.mean()),
        # One standard error over the count, measured by the mean absolute error of a normal.
        "top_relative_error": float(np.mean(_over(error[top], true_counts[top])) / MEAN_ABSOLUTE),
        "top_list_right": float(set(top.tolist()) == set(top_cells(estimate).tolist())),
        **deciles,
    }


def _over(error: Any, counts: IntArray) -> Any:  # noqa: ANN401 - arrays
    return error / np.maximum(counts, 1)
