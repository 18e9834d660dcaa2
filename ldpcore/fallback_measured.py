"""What falling back gains on a scenario, measured by drawing the devices' coins again and again.

The redraws share their coins between the methods' fine cells and the plain release, so that what differs is the
method. Every figure is kept draw by draw, because a gain without its spread says nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

import numpy as np

from ldpcore.fallback import (
    FallbackRelease,
    NodeEstimates,
    draw_nodes,
    fallback_tree,
    fitting_methods,
    release_nodes,
    tree_std_error,
)
from ldpcore.hierarchy import CellTree, cell_tree
from ldpcore.mechanisms.options import checked_integer
from ldpcore.population import Population
from ldpcore.settings import Scenario
from ldpcore.shapes import FloatArray, IntArray

PLAIN: Final = "none"
"""Name of the release without falling back: fine cells alone."""

Drawer: TypeAlias = Callable[[Scenario, str], NodeEstimates]
"""Gives the estimates of all nodes for a scenario's draw and a method; a page hands over one that keeps them."""


@dataclass(frozen=True, eq=False, slots=True)
class MeasuredFallback:
    """What a method answered over redraws of the coins, each figure draw by draw.

    Parameters
    ----------
    method
        A key of `METHODS`, or `PLAIN`.
    resolutions
        Levels, coarsest first.
    cells_answered
        (draws, levels) int64, cells of the domain answered by each level.
    devices_answered
        (draws,) float64, share of the devices that are in answered cells.
    false_published
        (draws,) int64, published nodes that hold fewer devices than the floor.
    relative_error
        (draws,) float64, median over the answered cells of the answering node's error over its true count; NaN where
        nothing is answered.
    rmse, rmse_error, rmse_expected
        (levels,) float64, root mean squared error of all nodes of a level in devices: measured over the redraws, one
        standard error of that measurement, and by theory.
    """

    method: str
    resolutions: tuple[int, ...]
    cells_answered: IntArray
    devices_answered: FloatArray
    false_published: IntArray
    relative_error: FloatArray
    rmse: FloatArray
    rmse_error: FloatArray
    rmse_expected: FloatArray

    @property
    def draws(self) -> int:
        """Number of redraws."""
        return int(self.devices_answered.size)


def measure_fallback(
    scenario: Scenario,
    population: Population,
    *,
    draws: int = 20,
    methods: Sequence[str] | None = None,
    coarsest: int | None = None,
    drawer: Drawer | None = None,
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
    drawer
        Where the estimates come from; by default they are drawn. It must know ``"summed"``, whose fine cells are
        the plain release, and every method.

    Returns
    -------
    First fine cells alone (`PLAIN`), then one entry a method.

    Raises
    ------
    ParameterError
        If the error of sums is not known for the randomiser, or a setting is impossible.
    """
    draws = checked_integer("draws", draws, minimum=2)
    tree = fallback_tree(population, coarsest)
    fine = cell_tree(population.domain, population.domain.resolution)
    chosen = fitting_methods(scenario, population) if methods is None else methods

    def drawn(at: Scenario, method: str) -> NodeEstimates:
        return draw_nodes(at, population, tree, method=method)

    take = drawer or drawn

    def fine_cells(at: Scenario, method: str) -> NodeEstimates:
        return NodeEstimates(*(part[tree.leaves] for part in take(at, method)))

    return [
        _measure(scenario, population, fine, PLAIN, draws, fine_cells),
        *(_measure(scenario, population, tree, method, draws, take) for method in chosen),
    ]


def _measure(
    scenario: Scenario,
    population: Population,
    tree: CellTree,
    method: str,
    draws: int,
    take: Drawer,
) -> MeasuredFallback:
    used = "summed" if method == PLAIN else method
    true_counts = np.asarray(tree.sums(population.true_counts), np.int64)
    devices, false, cells, relative = [], [], [], []
    squares = []
    levels = [tree.level(level) for level in tree.resolutions]
    for draw in range(draws):
        at = replace(scenario, draw=scenario.draw + draw)
        run = release_nodes(at, population, tree, take(at, used), method=used)
        devices.append(population.true_counts[run.answer >= 0].sum() / population.size)
        false.append((run.published & (true_counts < scenario.floor)).sum())
        cells.append(list(run.answered.values()))
        relative.append(_relative_error(run, true_counts))
        square = (run.estimates.estimate - true_counts) ** 2
        squares.append([square[nodes].mean() for nodes in levels])
    variance = tree_std_error(scenario, population, tree, method=used) ** 2
    rmse = np.sqrt(np.mean(squares, axis=0))
    # Of a root: half the relative error of what is under it.
    rmse_error = np.std(squares, axis=0, ddof=1) / np.sqrt(draws) / np.maximum(2 * rmse, 1e-12)
    return MeasuredFallback(
        method=method,
        resolutions=tree.resolutions,
        cells_answered=np.array(cells, np.int64),
        devices_answered=np.array(devices, np.float64),
        false_published=np.array(false, np.int64),
        relative_error=np.array(relative, np.float64),
        rmse=rmse,
        rmse_error=rmse_error,
        rmse_expected=np.array([np.sqrt(variance[nodes].mean()) for nodes in levels]),
    )


def _relative_error(run: FallbackRelease, true_counts: IntArray) -> float:
    answers = run.answer[run.answer >= 0]
    if not answers.size:
        return float("nan")
    error = np.abs(run.estimates.estimate[answers] - true_counts[answers])
    return float(np.median(error / np.maximum(true_counts[answers], 1)))
