"""What post-processing does to a scenario's counts, measured by drawing the devices' coins again and again.

A bias of a few devices a cell is nothing in a cell and a great deal in a sum, so errors are kept for sums over the
groups of cells that people add up: empty cells, busy cells, a region, everything.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import h3
import numpy as np

from ldpcore.mechanisms.options import checked_integer
from ldpcore.mechanisms.oracle import FrequencyOracle
from ldpcore.population import Population
from ldpcore.postprocess import fitting_postprocessors, postprocess
from ldpcore.scenario import randomise, scenario_mechanism
from ldpcore.settings import Scenario
from ldpcore.shapes import AnyArray, BoolArray, FloatArray, IntArray

RAW: Final = "raw"
"""Name of the estimate as it is."""

BUSY_SHARE: Final = 0.05
QUIET_SHARE: Final = 0.10


@dataclass(frozen=True, eq=False, slots=True)
class CellGroup:
    """Cells that are added up.

    Parameters
    ----------
    name
        ``"quiet"``, ``"busy"``, ``"region"`` or ``"all"``.
    label
        What they are, in words.
    cells
        (d,) bool.
    """

    name: str
    label: str
    cells: BoolArray


def cell_groups(population: Population) -> tuple[CellGroup, ...]:
    """Return the groups of a domain whose sums are looked at.

    Quiet cells are the empty ones, or the tenth with the fewest devices where fewer are empty; busy ones the twentieth
    with the most; the region is the busiest cell of two resolutions above, left out where that is everything.
    """
    counts, domain = population.true_counts, population.domain
    order = np.argsort(counts, kind="stable")
    empty = counts == 0
    quietest = np.zeros(domain.size, bool)
    quietest[order[: max(round(QUIET_SHARE * domain.size), 1)]] = True
    busiest = np.zeros(domain.size, bool)
    busiest[order[-max(round(BUSY_SHARE * domain.size), 1) :]] = True
    if empty.sum() >= quietest.sum():
        quiet = CellGroup("quiet", f"{int(empty.sum()):,} empty cells", empty)
    else:
        quiet = CellGroup("quiet", f"{int(quietest.sum()):,} quietest cells", quietest)
    groups = [quiet, CellGroup("busy", f"{int(busiest.sum()):,} busiest cells", busiest)]
    level = max(domain.resolution - 2, 0)
    parents, parent_of = np.unique(domain.parents(level), return_inverse=True)
    if parents.size > 1:
        best = int(np.argmax(np.bincount(parent_of, weights=counts)))
        name = h3.int_to_str(int(parents[best]))
        groups.append(CellGroup("region", f"region {name} (resolution {level})", parent_of == best))
    groups.append(CellGroup("all", f"all {domain.size:,} cells", np.ones(domain.size, bool)))
    return tuple(groups)


@dataclass(frozen=True, eq=False, slots=True)
class MeasuredBias:
    """What one way of post-processing did over redraws.

    Parameters
    ----------
    name
        A key of `POSTPROCESSORS`, or `RAW`.
    bias, bias_error
        (d,) float64, mean error of each cell in devices, and one standard error of that mean.
    rmse
        (draws,) float64, root mean squared error over all cells of each redraw, in devices.
    sums
        (groups, draws) float64, error of the sum over each group in each redraw, in devices.
    """

    name: str
    bias: FloatArray
    bias_error: FloatArray
    rmse: FloatArray
    sums: FloatArray

    @property
    def draws(self) -> int:
        """Number of redraws."""
        return int(self.rmse.size)

    @property
    def sum_bias(self) -> FloatArray:
        """(groups,) float64, mean error of each sum, in devices."""
        return np.asarray(self.sums.mean(axis=1), np.float64)

    @property
    def sum_bias_error(self) -> FloatArray:
        """(groups,) float64, one standard error of that mean."""
        return np.asarray(self.sums.std(axis=1, ddof=1) / math.sqrt(self.draws), np.float64)


def redrawn_counts(scenario: Scenario, population: Population, *, draws: int) -> Iterator[IntArray]:
    """Yield the server's counts in a number of redraws, the scenario's own first."""
    mechanism = scenario_mechanism(scenario, population)
    for draw in range(draws):
        yield randomise(replace(scenario, draw=scenario.draw + draw), population, mechanism)


def measure_postprocessing(
    mechanism: FrequencyOracle,
    true_counts: IntArray,
    redraws: Iterable[AnyArray],
    *,
    names: Sequence[str] | None = None,
    confidence: float = 0.95,
    groups: Sequence[BoolArray] = (),
) -> list[MeasuredBias]:
    """Measure bias and error of every way of post-processing by redrawing the randomisation.

    Parameters
    ----------
    mechanism
        The randomiser.
    true_counts
        (d,) int64 devices in each cell.
    redraws
        What `mechanism.aggregate` returned in each redraw; at least 2.
    names
        Keys of `POSTPROCESSORS`; by default all that fit the mechanism. The raw estimate is always first.
    confidence
        Of the whole map, for `base-cut`.
    groups
        (d,) bool each, cells whose sums are looked at.

    Returns
    -------
    One `MeasuredBias` for the raw estimate and one a name, all over the same redraws.
    """
    n = checked_integer("n", int(true_counts.sum()), minimum=1)
    chosen = (RAW, *(fitting_postprocessors(mechanism) if names is None else names))
    members = np.array(groups, np.float64).reshape(len(groups), true_counts.size)
    moments = {name: np.zeros((2, true_counts.size)) for name in chosen}
    rmse: Mapping[str, list[float]] = {name: [] for name in chosen}
    sums: Mapping[str, list[FloatArray]] = {name: [] for name in chosen}
    for counts in redraws:
        for name in chosen:
            values = (
                mechanism.estimate(counts, n=n)
                if name == RAW
                else postprocess(name, mechanism, counts, n=n, confidence=confidence)
            )
            error = values - true_counts
            np.add(moments[name], (error, error**2), out=moments[name])
            rmse[name].append(math.sqrt(float((error**2).mean())))
            sums[name].append(members @ error)
    draws = checked_integer("draws", len(rmse[RAW]), minimum=2)
    found = []
    for name in chosen:
        first, second = moments[name]
        bias = first / draws
        spread = np.maximum(second / draws - bias**2, 0.0) * draws / (draws - 1)
        found.append(
            MeasuredBias(
                name=name,
                bias=bias,
                bias_error=np.sqrt(spread / draws),
                rmse=np.array(rmse[name]),
                sums=np.array(sums[name]).T.reshape(len(groups), draws),
            )
        )
    return found
