"""Falling back: where a fine cell cannot be published, a coarser one around it may still be.

Two ways to know the coarser cells, each with its exact error:

* ``summed``: every device reports its fine cell, as in a plain release; a parent is the sum of its fine cells, and its
  error grows with their number.
* ``groups``: each device picks one level of the tree by chance and reports its ancestor there at the full epsilon.
  Each level then has fewer devices, but a parent is one cell; constrained inference makes the levels agree.

Each fine cell is answered by the finest cell around it whose lower bound reaches the floor, the correction counting
every cell of the tree. A parent's figure stands for the whole parent, its published children included. Holding back is
about honesty here, not privacy: the estimates are private already, and nothing is exposed by publishing parent and
child together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final, TypeAlias

import h3
import numpy as np
import pandas as pd
from scipy.special import ndtri

from ldpcore.covariance import UNCORRELATED, pair_terms, region_terms
from ldpcore.errors import ParameterError
from ldpcore.estimate import CORRECTIONS, Estimates, score_interval
from ldpcore.hierarchy import CellTree, cell_tree, constrained_inference
from ldpcore.mechanisms import Mechanism, make_mechanism
from ldpcore.mechanisms.options import checked_integer
from ldpcore.population import Population
from ldpcore.release import Status, decide
from ldpcore.scenario import noise_generator, randomise, scenario_mechanism
from ldpcore.settings import Scenario
from ldpcore.shapes import ByteArray, FloatArray, IntArray

LEVELS: Final = 3
"""Levels of the tree by default: the scenario's resolution and two coarser ones."""


@dataclass(frozen=True, eq=False, slots=True)
class FallbackRelease:
    """A release of mixed resolutions.

    Parameters
    ----------
    scenario
        Settings of the run.
    population
        What the devices held.
    method
        A key of `METHODS`.
    tree
        The cells of all levels.
    estimates
        Estimates of all k nodes with error bars.
    status
        (k,) uint8, a `Status` per node.
    answer
        (d,) int64, for each cell of the domain the finest published node that holds it, -1 where there is none.
    """

    scenario: Scenario
    population: Population
    method: str
    tree: CellTree
    estimates: Estimates
    status: ByteArray
    answer: IntArray

    @property
    def true_counts(self) -> IntArray:
        """(k,) int64, devices in each node."""
        return np.asarray(self.tree.sums(self.population.true_counts), np.int64)

    @property
    def answered(self) -> dict[int, int]:
        """How many cells of the domain are answered at each resolution."""
        resolution = self.tree.resolution[self.answer[self.answer >= 0]]
        return {level: int((resolution == level).sum()) for level in self.tree.resolutions}

    def frame(self, *, truth: bool) -> pd.DataFrame:
        """Return the mixed-resolution table.

        Parameters
        ----------
        truth
            Whether the column ``true_count`` is added, which no server could publish.

        Returns
        -------
        One row per node that answers at least one cell of the domain, and one per coarsest cell that leaves some
        without an answer; ``cells_answered`` says how many cells of the domain each row stands for.
        """
        unanswered = self.tree.ancestors()[0][self.answer < 0]
        stands_for = np.concatenate([self.answer[self.answer >= 0], unanswered])
        cells_answered = np.bincount(stands_for, minlength=self.tree.size)
        rows = np.flatnonzero(cells_answered)
        estimates = self.estimates
        columns: dict[str, Any] = {
            "cell": [h3.int_to_str(int(cell)) for cell in self.tree.cells[rows]],
            "resolution": self.tree.resolution[rows],
            "cells_answered": cells_answered[rows],
            "reports": np.full(rows.size, self.population.size, np.int64),
            "estimate": estimates.estimate[rows],
            "std_error": estimates.std_error[rows],
            "ci_low": estimates.ci_low[rows],
            "ci_high": estimates.ci_high[rows],
            "at_least": estimates.at_least[rows],
            "status": np.array([status.word for status in Status])[self.status[rows]],
        }
        if truth:
            columns["true_count"] = self.true_counts[rows]
        return pd.DataFrame(columns)


NodeEstimates: TypeAlias = tuple[FloatArray, FloatArray, FloatArray]
"""Estimate, and (base, slope) of the variance as a function of the node's own count, each (k,)."""


def fall_back(
    scenario: Scenario, population: Population, *, method: str = "summed", coarsest: int | None = None
) -> FallbackRelease:
    """Publish each cell at the finest resolution that clears the floor.

    Parameters
    ----------
    scenario
        Settings; its draw of the coins is the one of a plain run.
    population
        What the devices hold.
    method
        A key of `METHODS`.
    coarsest
        Resolution of the coarsest cells; by default two above the scenario's.

    Raises
    ------
    ParameterError
        If the method is unknown, the tree is impossible, or the error of sums is not known for the randomiser.
    """
    tree = fallback_tree(scenario, population, coarsest)
    if method not in METHODS:
        raise ParameterError("method", f"There is no method {method!r}; choose one of {', '.join(METHODS)}.")
    estimate, base, slope = METHODS[method](scenario, population, tree)
    estimates = _with_bounds(scenario, estimate, base, slope, n=population.size)
    status = decide(estimates, floor=scenario.floor)
    answer = np.full(population.domain.size, -1, np.int64)
    for nodes in tree.ancestors():  # coarse to fine, so that the finest has the last word
        answer = np.where(status[nodes] == Status.PUBLISHED, nodes, answer)
    return FallbackRelease(scenario, population, method, tree, estimates, status, answer)


def fallback_tree(scenario: Scenario, population: Population, coarsest: int | None = None) -> CellTree:
    """Return the tree that a scenario falls back over; its roots are at least two cells."""
    if coarsest is None:
        coarsest = max(scenario.resolution - LEVELS + 1, 0)
    tree = cell_tree(population.domain, coarsest)
    roots = tree.level(coarsest)
    if roots.stop - roots.start < 2:
        raise ParameterError(
            "coarsest",
            f"The whole area is one cell of resolution {coarsest}, whose count is the number of reports; choose a finer "
            "coarsest resolution.",
        )
    return tree


@dataclass(frozen=True, slots=True)
class MeasuredFallback:
    """What a method answered over redraws of the coins.

    Parameters
    ----------
    method
        A key of `METHODS`, or ``"none"``: fine cells alone.
    cells_answered
        Mean number of cells of the domain answered, by resolution.
    devices_answered, devices_error
        Mean share of the devices in cells that are answered at any resolution, and the standard error of that mean.
    false_published
        Mean number of published nodes that hold fewer devices than the floor.
    rmse, rmse_expected
        Root mean squared error of all nodes of a resolution, in devices, measured and by theory.
    draws
        Number of redraws.
    """

    method: str
    cells_answered: Mapping[int, float]
    devices_answered: float
    devices_error: float
    false_published: float
    rmse: Mapping[int, float]
    rmse_expected: Mapping[int, float]
    draws: int


def measure_fallback(
    scenario: Scenario,
    population: Population,
    *,
    draws: int = 20,
    methods: Sequence[str] | None = None,
    coarsest: int | None = None,
) -> list[MeasuredFallback]:
    """Measure what falling back gains on a scenario, over redraws of the coins.

    Parameters
    ----------
    scenario, population, coarsest
        As for `fall_back`.
    draws
        Number of redraws, at least 2; they start at the scenario's own.
    methods
        Keys of `METHODS`; by default those that fit the randomiser.

    Returns
    -------
    First fine cells alone (``"none"``), then one entry a method.
    """
    draws = checked_integer("draws", draws, minimum=2)
    tree = fallback_tree(scenario, population, coarsest)
    fine = population.domain.resolution
    found = [_measure(scenario, population, "none", fine, draws)]
    chosen = fitting_methods(scenario, population) if methods is None else methods
    found += [_measure(scenario, population, method, tree.resolutions[0], draws) for method in chosen]
    return found


def fitting_methods(scenario: Scenario, population: Population) -> tuple[str, ...]:
    """Return the methods whose exact error is known for a scenario's randomiser."""
    mechanism = scenario_mechanism(scenario, population)
    fits = []
    try:
        region_terms(
            mechanism, np.zeros(mechanism.domain_size, np.int64), np.zeros(mechanism.domain_size), n=1, size=1
        )
        fits.append("summed")
    except ParameterError:
        return ()
    if pair_terms(mechanism) == UNCORRELATED:
        fits.append("groups")
    return tuple(fits)


def expected_std_error(
    scenario: Scenario, population: Population, *, method: str, coarsest: int | None = None
) -> FloatArray:
    """Return the exact standard error of every node, from the true counts, (k,) in devices."""
    tree = fallback_tree(scenario, population, coarsest)
    return _expected(scenario, population, tree, method)


def _measure(
    scenario: Scenario, population: Population, method: str, coarsest: int, draws: int
) -> MeasuredFallback:
    used = "summed" if method == "none" else method
    devices, false, cells, squares = [], [], [], []
    tree = cell_tree(population.domain, coarsest)
    for draw in range(draws):
        run = fall_back(
            replace(scenario, draw=scenario.draw + draw), population, method=used, coarsest=coarsest
        )
        true_counts = run.true_counts
        devices.append(population.true_counts[run.answer >= 0].sum() / population.size)
        false.append(((run.status == Status.PUBLISHED) & (true_counts < scenario.floor)).sum())
        cells.append(list(run.answered.values()))
        squares.append((run.estimates.estimate - true_counts) ** 2)
    levels = {level: tree.level(level) for level in tree.resolutions}
    square, variance = np.mean(squares, axis=0), _expected(scenario, population, tree, used) ** 2
    return MeasuredFallback(
        method=method,
        cells_answered=dict(zip(levels, np.mean(cells, axis=0).tolist(), strict=True)),
        devices_answered=float(np.mean(devices)),
        devices_error=float(np.std(devices, ddof=1) / np.sqrt(draws)),
        false_published=float(np.mean(false)),
        rmse={level: float(np.sqrt(square[nodes].mean())) for level, nodes in levels.items()},
        rmse_expected={level: float(np.sqrt(variance[nodes].mean())) for level, nodes in levels.items()},
        draws=draws,
    )


def _with_bounds(
    scenario: Scenario, estimate: FloatArray, base: FloatArray, slope: FloatArray, *, n: int
) -> Estimates:
    """Give nodes score intervals; the correction counts every node, since every node is looked at."""
    alpha = 1 - scenario.confidence
    level = CORRECTIONS[scenario.correction](alpha, estimate.size)
    low, high = score_interval(estimate, base=base, slope=slope, z=-float(ndtri(alpha / 2)), n=n)
    z = -float(ndtri(level))
    below, above = score_interval(estimate, base=base, slope=slope, z=abs(z), n=n)
    std_error = np.sqrt(np.maximum(base + np.maximum(estimate, 0.0) * slope, 0.0))
    return Estimates(estimate, std_error, low, high, below if z >= 0 else above, exact_used=False)


def _summed(scenario: Scenario, population: Population, tree: CellTree) -> NodeEstimates:
    mechanism = scenario_mechanism(scenario, population)
    fine = mechanism.estimate(randomise(scenario, population, mechanism), n=population.size)
    base, slope = _region_terms(mechanism, tree, fine, n=population.size)
    return tree.sums(fine), base, slope


def _region_terms(
    mechanism: Any,  # noqa: ANN401 - a mechanism or a test's double
    tree: CellTree,
    fine: FloatArray,
    *,
    n: int,
) -> tuple[FloatArray, FloatArray]:
    base, slope = np.zeros(tree.size), np.zeros(tree.size)
    for nodes in tree.ancestors():
        first, last = int(nodes.min()), int(nodes.max()) + 1
        base[first:last], slope[first:last] = region_terms(
            mechanism, nodes - first, fine, n=n, size=last - first
        )
    return base, slope


def _groups(scenario: Scenario, population: Population, tree: CellTree) -> NodeEstimates:
    levels = tree.ancestors()
    mechanisms = _level_mechanisms(scenario, tree)
    rng = noise_generator(scenario)
    # Each device picks its level by its own fair coin.
    split = rng.multinomial(population.true_counts, np.full(len(levels), 1 / len(levels))).T
    values = np.zeros(tree.size)
    for nodes, mechanism, devices in zip(levels, mechanisms, split, strict=True):
        first = int(nodes.min())
        held = np.bincount(nodes - first, weights=devices, minlength=mechanism.domain_size).astype(np.int64)
        counts = mechanism.sample_counts(held, rng=rng)
        estimate = mechanism.estimate(counts, n=int(devices.sum()))
        values[first : first + mechanism.domain_size] = len(levels) * estimate
    empty, slope = _level_terms(mechanisms, tree, n=population.size)
    consistent = constrained_inference(tree.parents, values, empty)
    plug_in = empty + slope * np.maximum(consistent.estimate, 0.0)
    noisy = constrained_inference(tree.parents, values, empty, true_variances=plug_in)
    # The variance depends on the counts of all ancestors, so the estimated ones stand in for the true.
    variance = noisy.variance - np.maximum(consistent.estimate, 0.0)
    return consistent.estimate, np.maximum(variance, 0.0), np.zeros(tree.size)


def _level_mechanisms(scenario: Scenario, tree: CellTree) -> list[Mechanism]:
    """Return one randomiser a level, at the full epsilon, for the cells of that level."""
    made = []
    for resolution in tree.resolutions:
        nodes = tree.level(resolution)
        mechanism = make_mechanism(
            scenario.mechanism,
            epsilon=scenario.epsilon,
            domain_size=nodes.stop - nodes.start,
            **dict(scenario.options),
        )
        if pair_terms(mechanism) != UNCORRELATED:
            raise ParameterError(
                "mechanism",
                f"Levels by groups need a randomiser whose cells have independent errors, which {scenario.mechanism} does "
                "not have; choose oue, olh or sue, or the method summed.",
            )
        made.append(mechanism)
    return made


def _level_terms(mechanisms: Sequence[Mechanism], tree: CellTree, *, n: int) -> tuple[FloatArray, FloatArray]:
    """Return variance of an empty node and its slope, such that the consistent estimates have an exact variance.

    With L levels picked by chance, a weighted sum of level estimates that is unbiased for a node of count c has
    variance sum of weight^2 L (n V0 + count (V1 + 1)) minus c: each device speaks for one level, L times over.
    """
    many = len(mechanisms)
    empty, slope = np.zeros(tree.size), np.zeros(tree.size)
    for resolution, mechanism in zip(tree.resolutions, mechanisms, strict=True):
        nodes = tree.level(resolution)
        empty[nodes] = many * n * float(mechanism.variance_empty or 0.0)
        slope[nodes] = many * (float(mechanism.variance_slope or 0.0) + 1.0)
    return empty, slope


def _expected(scenario: Scenario, population: Population, tree: CellTree, method: str) -> FloatArray:
    n, true_counts = population.size, tree.sums(population.true_counts)
    if method == "groups":
        empty, slope = _level_terms(_level_mechanisms(scenario, tree), tree, n=n)
        exact = constrained_inference(
            tree.parents, np.zeros(tree.size), empty, true_variances=empty + slope * true_counts
        )
        return np.asarray(np.sqrt(np.maximum(exact.variance - true_counts, 0.0)), np.float64)
    mechanism = scenario_mechanism(scenario, population)
    base, rate = _region_terms(mechanism, tree, population.true_counts.astype(np.float64), n=n)
    return np.asarray(np.sqrt(np.maximum(base + rate * true_counts, 0.0)), np.float64)


METHODS: Final[Mapping[str, Callable[[Scenario, Population, CellTree], NodeEstimates]]] = MappingProxyType(
    {"summed": _summed, "groups": _groups}
)
"""Ways to know the coarser cells."""
