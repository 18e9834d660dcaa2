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

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import h3
import numpy as np
import pandas as pd
from scipy.special import ndtri

from ldpcore.binomial_sums import greatest_count_kept, smallest_count_kept
from ldpcore.covariance import UNCORRELATED, has_region_variance, pair_terms, region_terms
from ldpcore.errors import ParameterError
from ldpcore.estimate import CORRECTIONS, Estimates, needs_exact, needs_exact_bound, score_interval
from ldpcore.hierarchy import CellTree, cell_tree, constrained_inference
from ldpcore.mechanisms import Mechanism, make_mechanism
from ldpcore.population import Population
from ldpcore.release import Status, decide
from ldpcore.scenario import noise_generator, randomise, scenario_mechanism
from ldpcore.settings import Scenario
from ldpcore.shapes import BoolArray, ByteArray, FloatArray, IntArray

LEVELS: Final = 3
"""Levels of the tree by default: the scenario's resolution and two coarser ones."""

MOST_LEVELS: Final = 5
"""Levels a page offers at most; four resolutions up, a cell holds 2,401 of the fine ones."""


class NodeEstimates(NamedTuple):
    """What one draw of the coins says of every node of a tree, before anything is decided.

    Estimate, and base and slope of its variance base + count * slope, each (k,) float64, in devices and devices
    squared. None depends on the floor or the confidence.
    """

    estimate: FloatArray
    base: FloatArray
    slope: FloatArray


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
    def published(self) -> BoolArray:
        """(k,) bool, whether each node may be published."""
        return np.equal(self.status, Status.PUBLISHED)

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
        Resolution of the coarsest cells; by default `default_coarsest`.

    Raises
    ------
    ParameterError
        If the method is unknown, the tree is impossible, or the error of sums is not known for the randomiser.
    """
    tree = fallback_tree(population, coarsest)
    return release_nodes(
        scenario, population, tree, draw_nodes(scenario, population, tree, method=method), method=method
    )


def draw_nodes(
    scenario: Scenario, population: Population, tree: CellTree, *, method: str = "summed"
) -> NodeEstimates:
    """Draw the devices' coins and estimate every node; the floor and the confidence play no part.

    Parameters and errors as for `fall_back`.
    """
    if method not in METHODS:
        raise ParameterError("method", f"There is no method {method!r}; choose one of {', '.join(METHODS)}.")
    return METHODS[method](scenario, population, tree)


def release_nodes(
    scenario: Scenario, population: Population, tree: CellTree, nodes: NodeEstimates, *, method: str
) -> FallbackRelease:
    """Decide which nodes are published and which one answers each cell of the domain.

    Parameters
    ----------
    scenario, population, method
        As for `fall_back`.
    tree
        Of `fallback_tree`.
    nodes
        Of `draw_nodes`, for the same tree and method.
    """
    estimates = _with_bounds(scenario, population, tree, nodes, sums=method == "summed")
    status = decide(estimates, floor=scenario.floor)
    return FallbackRelease(
        scenario, population, method, tree, estimates, status, finest_published(tree, status)
    )


def finest_published(tree: CellTree, status: ByteArray) -> IntArray:
    """Return (d,) int64, the finest published node around each cell of the domain, -1 where there is none."""
    answer = np.full(tree.leaves.size, -1, np.int64)
    for nodes in tree.ancestors():  # coarse to fine, so that the finest has the last word
        answer = np.where(status[nodes] == Status.PUBLISHED, nodes, answer)
    return answer


def coarsest_choices(population: Population) -> tuple[int, ...]:
    """Return the coarsest resolutions that a domain can fall back to, coarsest first; there may be none.

    At least two cells must remain: the count of a single one is the number of reports.
    """
    domain = population.domain
    lowest = max(domain.resolution - MOST_LEVELS + 1, 0)
    return tuple(
        level for level in range(lowest, domain.resolution) if np.unique(domain.parents(level)).size > 1
    )


def default_coarsest(population: Population) -> int:
    """Return two resolutions above the domain's, or the nearest that leaves at least two cells.

    Raises
    ------
    ParameterError
        If all cells of the domain have one parent.
    """
    choices = coarsest_choices(population)
    if not choices:
        raise ParameterError(
            "coarsest",
            f"All {population.domain.size:,} cells have one parent, whose count is the number of reports, so there is "
            "nothing to fall back to; choose a finer resolution.",
        )
    return max(population.domain.resolution - LEVELS + 1, choices[0])


def fallback_tree(population: Population, coarsest: int | None = None) -> CellTree:
    """Return the tree that a domain falls back over; its roots are at least two cells."""
    if coarsest is None:
        coarsest = default_coarsest(population)
    tree = cell_tree(population.domain, coarsest)
    roots = tree.level(coarsest)
    if roots.stop - roots.start < 2:
        raise ParameterError(
            "coarsest",
            f"The whole area is one cell of resolution {coarsest}, whose count is the number of reports; choose a finer "
            "coarsest resolution.",
        )
    return tree


def why_unfit(scenario: Scenario, population: Population, method: str) -> str | None:
    """Return one sentence why a method does not fit the scenario's randomiser, or None where it does.

    Raises
    ------
    ParameterError
        If the randomiser itself is impossible.
    """
    mechanism = scenario_mechanism(scenario, population)
    if not has_region_variance(mechanism):
        return (
            f"The exact error of a sum of cells is not known for {mechanism.label} with these options; leave its options "
            "empty or choose another randomiser."
        )
    if method == "groups" and pair_terms(mechanism) != UNCORRELATED:
        return (
            f"Constrained inference needs cells with independent errors, and one report of {mechanism.label} ties "
            "its cells together; choose oue, olh or sue for it."
        )
    return None


def fitting_methods(scenario: Scenario, population: Population) -> tuple[str, ...]:
    """Return the methods whose exact error is known for a scenario's randomiser."""
    return tuple(method for method in METHODS if why_unfit(scenario, population, method) is None)


def expected_std_error(
    scenario: Scenario, population: Population, *, method: str, coarsest: int | None = None
) -> FloatArray:
    """Return the exact standard error of every node, from the true counts, (k,) in devices."""
    return tree_std_error(scenario, population, fallback_tree(population, coarsest), method=method)


def tree_std_error(scenario: Scenario, population: Population, tree: CellTree, *, method: str) -> FloatArray:
    """Return the exact standard error of every node of a tree, from the true counts, (k,) in devices."""
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


def _with_bounds(
    scenario: Scenario, population: Population, tree: CellTree, nodes: NodeEstimates, *, sums: bool
) -> Estimates:
    """Give nodes score intervals; the correction counts every node, since every node is looked at.

    Where a plain run has exact intervals, so have the fine cells of sums; the more reports support a sum, the
    better the normal law holds for it.
    """
    estimate, base, slope = nodes
    n, alpha = population.size, 1 - scenario.confidence
    level = CORRECTIONS[scenario.correction](alpha, estimate.size)
    low, high = score_interval(estimate, base=base, slope=slope, z=-float(ndtri(alpha / 2)), n=n)
    z = -float(ndtri(level))
    below, above = score_interval(estimate, base=base, slope=slope, z=abs(z), n=n)
    at_least = below if z >= 0 else above
    std_error = np.sqrt(np.maximum(base + np.maximum(estimate, 0.0) * slope, 0.0))
    mechanism = scenario_mechanism(scenario, population)
    p, q = mechanism.p, mechanism.q
    exact = sums and (needs_exact(mechanism, n=n) or scenario.interval == "exact")
    exact_bound = sums and (exact or needs_exact_bound(mechanism, n=n, level=level))
    if exact_bound and p is not None and q is not None:
        fine = tree.leaves
        support = np.rint(estimate[fine] * float(p - q) + n * float(q)).astype(np.int64)
        law: dict[str, Any] = {"n": n, "p": float(p), "q": float(q)}
        at_least[fine] = smallest_count_kept(support, **law, alpha=level)
        if exact:
            low[fine] = smallest_count_kept(support, **law, alpha=alpha / 2)
            high[fine] = greatest_count_kept(support, **law, alpha=alpha / 2)
    return Estimates(estimate, std_error, low, high, at_least, exact_used=exact, exact_bound=exact_bound)


def _summed(scenario: Scenario, population: Population, tree: CellTree) -> NodeEstimates:
    mechanism = scenario_mechanism(scenario, population)
    fine = mechanism.estimate(randomise(scenario, population, mechanism), n=population.size)
    base, slope = _region_terms(mechanism, tree, fine, n=population.size)
    return NodeEstimates(tree.sums(fine), base, slope)


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
    values = np.zeros(tree.size)
    made = _level_counts(scenario, population, levels, mechanisms)
    for nodes, mechanism, (counts, reports) in zip(levels, mechanisms, made, strict=True):
        first = int(nodes.min())
        # With L levels each device speaks for L.
        values[first : first + mechanism.domain_size] = len(levels) * mechanism.estimate(counts, n=reports)
    empty, slope = _level_terms(mechanisms, tree, n=population.size)
    consistent = constrained_inference(tree.parents, values, empty)
    plug_in = empty + slope * np.maximum(consistent.estimate, 0.0)
    noisy = constrained_inference(tree.parents, values, empty, true_variances=plug_in)
    # The variance depends on the counts of all ancestors, so the estimated ones stand in for the true.
    variance = noisy.variance - np.maximum(consistent.estimate, 0.0)
    return NodeEstimates(consistent.estimate, np.maximum(variance, 0.0), np.zeros(tree.size))


def _level_counts(
    scenario: Scenario, population: Population, levels: IntArray, mechanisms: Sequence[Mechanism]
) -> Iterator[tuple[IntArray, int]]:
    """Yield each level's counts and number of reports; each device picks its level by its own fair coin."""
    rng = noise_generator(scenario)
    if scenario.per_report and population.values is not None:
        picked = rng.integers(len(levels), size=population.size)
        for level, (nodes, mechanism) in enumerate(zip(levels, mechanisms, strict=True)):
            cells = population.values[picked == level]
            yield mechanism.collect(nodes[cells] - nodes.min(), rng=rng), cells.size
        return
    split = rng.multinomial(population.true_counts, np.full(len(levels), 1 / len(levels))).T
    for nodes, mechanism, devices in zip(levels, mechanisms, split, strict=True):
        held = np.bincount(nodes - nodes.min(), weights=devices, minlength=mechanism.domain_size)
        yield mechanism.sample_counts(held.astype(np.int64), rng=rng), int(devices.sum())


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


METHODS: Final[Mapping[str, Callable[[Scenario, Population, CellTree], NodeEstimates]]] = MappingProxyType(
    {"summed": _summed, "groups": _groups}
)
"""Ways to know the coarser cells."""
