"""Would the decision change? The list of the fullest cells, and how firm it is under the noise.

A reader who acts on a list of the ten fullest cells does not care for errors as such: only whether another toss of
the devices' coins would have given another list. That is a probability, by theory for independent normal errors and
by redraws for the errors as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import pandas as pd
from scipy.special import ndtr
from scipy.stats import binomtest

from ldpcore.mechanisms.options import checked_integer
from ldpcore.population import Population
from ldpcore.scenario import randomise, scenario_mechanism
from ldpcore.settings import Scenario
from ldpcore.shapes import FloatArray, IntArray

TOP: Final = 10
"""Cells of the list that a reader would act on."""

TOP_LIST_ERROR: Final = 0.02
"""How far `list_right_probability` may be off for real randomisers, whose errors are neither quite normal nor independent."""

_REACH: Final = 9.0  # standard deviations beyond which a normal law has no mass that a double can show
_STEPS: Final = 256
_ROWS: Final = 4096


def top_cells(counts: IntArray | FloatArray, size: int = TOP) -> IntArray:
    """Return the cells of the list a reader would act on, fullest first; of equal ones the first.

    Parameters
    ----------
    counts
        (d,) true or estimated devices.
    size
        Cells of the list; fewer are returned where the domain has fewer.
    """
    if size < counts.size:
        # Sorting all cells takes most of a redraw's time at resolution 10: only those at or above the last are sorted.
        last = np.partition(counts, counts.size - size)[counts.size - size]
        near = np.flatnonzero(counts >= last)
        return np.asarray(near[np.argsort(-counts[near], kind="stable")[:size]], np.int64)
    return np.asarray(np.argsort(-counts, kind="stable"), np.int64)


def list_right_probability(true_counts: IntArray, deviation: FloatArray, *, size: int = TOP) -> float:
    """Predict how likely the estimated list holds the same cells as the true one, in any order.

    Parameters
    ----------
    true_counts
        (d,) devices in each cell.
    deviation
        (d,) one standard error of each cell's estimate, devices.
    size
        Cells of the list.

    Returns
    -------
    float
        In [0, 1]: the probability that the smallest estimate of the list exceeds the greatest of all others, with
        independent normal errors. For real randomisers it is within `TOP_LIST_ERROR`; the rule of integration
        errs by less than 0.001.

    Examples
    --------
    >>> round(list_right_probability(np.array([10, 10]), np.array([3.0, 3.0]), size=1), 3)
    0.5
    """
    if size >= true_counts.size:
        return 1.0
    top = top_cells(true_counts, size)
    others = np.ones(true_counts.size, np.bool_)
    others[top] = False
    mean = true_counts.astype(np.float64)
    sd = np.maximum(deviation, 1e-9)  # no noise at all is a step, as good as none
    low = float((mean[top] - _REACH * sd[top]).min())
    reach = mean + _REACH * sd
    others &= reach > low  # the rest can't come near the list
    if not others.any():
        return 1.0
    levels = np.linspace(low, float(reach[others].max()), _STEPS + 1)
    # Cells with the same law count together: at resolution 10 most have one of a few hundred counts.
    laws, many = np.unique(mean[others] + 1j * sd[others], return_counts=True)
    below = np.zeros(levels.size)
    with np.errstate(divide="ignore"):
        for start in range(0, laws.size, _ROWS):
            rows = laws[start : start + _ROWS, None]
            below += many[start : start + _ROWS] @ np.log(ndtr((levels - rows.real) / rows.imag))
    greatest_other = np.exp(below)
    all_above = np.prod(ndtr((mean[top, None] - levels) / sd[top, None]), axis=0)
    gained = np.diff(greatest_other)
    return float(greatest_other[0] + (gained * (all_above[1:] + all_above[:-1]) / 2).sum())


@dataclass(frozen=True, eq=False, slots=True)
class ListRedraws:
    """The list in many redraws of the devices' coins, over the same trips.

    Parameters
    ----------
    truth
        (k,) int64, the true list, fullest first, as indices of the domain.
    lists
        (m, k) int64, the estimated list of each redraw, fullest first.
    ranks
        (m, k) int64, the rank in each redraw, from 1, of each cell of the true list among all cells.
    """

    truth: IntArray
    lists: IntArray
    ranks: IntArray

    @property
    def redraws(self) -> int:
        """Number of redraws."""
        return len(self.lists)

    @property
    def changed(self) -> int:
        """Redraws in which the list did not hold just the cells of the true one, in any order."""
        return int((np.sort(self.lists, axis=1) != np.sort(self.truth)).any(axis=1).sum())

    def times_listed(self, cell: int) -> int:
        """Return in how many redraws a cell, as an index of the domain, was on the list."""
        return int((self.lists == cell).any(axis=1).sum())

    def rank_frame(self) -> pd.DataFrame:
        """Return how firm each place of the list is.

        Returns
        -------
        One row a true rank: ``rank``, ``cell`` (index of the domain), ``listed`` and ``same_rank`` (redraws in which
        the cell was on the list, and at just this rank), ``rank_low``, ``rank_median``, ``rank_high`` (5th, 50th and
        95th percentile of its rank).
        """
        low, median, high = np.percentile(self.ranks, (5, 50, 95), axis=0)
        return pd.DataFrame(
            {
                "rank": np.arange(1, self.truth.size + 1),
                "cell": self.truth,
                "listed": (self.ranks <= self.truth.size).sum(axis=0),
                "same_rank": (self.ranks == np.arange(1, self.truth.size + 1)).sum(axis=0),
                "rank_low": low,
                "rank_median": median,
                "rank_high": high,
            }
        )

    def intruders(self) -> pd.DataFrame:
        """Return the cells that were on the list and do not belong there, the most frequent first.

        Returns
        -------
        ``cell`` (index of the domain) and ``listed`` (redraws).
        """
        cells, times = np.unique(self.lists, return_counts=True)
        wrong = ~np.isin(cells, self.truth)
        frame = pd.DataFrame({"cell": cells[wrong], "listed": times[wrong]})
        return frame.sort_values(["listed", "cell"], ascending=[False, True], ignore_index=True)


def list_over_redraws(
    scenario: Scenario,
    population: Population,
    *,
    redraws: int = 100,
    size: int = TOP,
    told: Callable[[int], bool] | None = None,
) -> ListRedraws:
    """Draw the devices' coins again and again and keep the list of each draw.

    Parameters
    ----------
    scenario
        Every setting; its draw is the first of the redraws.
    population
        Its devices.
    redraws
        At least 1.
    size
        Cells of the list; all cells where the domain has fewer.
    told
        Called after each redraw with the number done; returning False ends the work early.

    Raises
    ------
    ParameterError
        If `redraws` is below 1 or a setting of the scenario is impossible.
    """
    checked_integer("redraws", redraws, minimum=1, example=100)
    mechanism = scenario_mechanism(scenario, population)
    truth = top_cells(population.true_counts, size)
    lists, ranks = [], []
    for done in range(1, redraws + 1):
        counts = randomise(replace(scenario, draw=scenario.draw + done - 1), population, mechanism)
        estimate = mechanism.estimate(counts, n=population.size)
        lists.append(top_cells(estimate, size))
        ranks.append(_ranks(estimate, truth))
        if told is not None and not told(done):
            break
    return ListRedraws(truth, np.array(lists, np.int64), np.array(ranks, np.int64))


def share_interval(times: int, of: int, *, confidence: float = 0.95) -> tuple[float, float]:
    """Return the exact interval of a share that was counted (C. J. Clopper, E. S. Pearson, 1934).

    Parameters
    ----------
    times, of
        How often it happened, of how many redraws.
    confidence
        Of the interval, between 0 and 1.
    """
    if of == 0:
        return 0.0, 1.0
    found = binomtest(times, of).proportion_ci(confidence, method="exact")
    return float(found.low), float(found.high)


def _ranks(estimate: FloatArray, cells: IntArray) -> list[int]:
    """Return the ranks of some cells from 1; of equal ones the first comes first, as on the list."""
    ordered = np.sort(estimate)
    ranks = []
    for cell, here in zip(cells.tolist(), estimate[cells].tolist(), strict=True):
        first, last = (int(np.searchsorted(ordered, here, side=side)) for side in ("left", "right"))
        earlier = int((estimate[:cell] == here).sum()) if last - first > 1 else 0
        ranks.append(estimate.size - last + earlier + 1)
    return ranks
