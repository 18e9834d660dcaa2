"""What the server publishes: one row per cell, with its error bar, or held back.

A cell is published when the lower confidence bound of its devices reaches the floor. Holding
back protects the reader from noise, not the devices: the estimates are already private, so
nothing is exposed by publishing one and nothing is undone by subtracting published ones from
a total.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
import pandas as pd

from ldpcore.estimate import Estimates
from ldpcore.mechanisms import FrequencyOracle
from ldpcore.metrics import Figures
from ldpcore.population import Population
from ldpcore.settings import Scenario
from ldpcore.shapes import BoolArray, ByteArray, IntArray


class Status(IntEnum):
    """What became of a cell."""

    PUBLISHED = 0
    BELOW_FLOOR = 1
    WITHIN_NOISE = 2

    @property
    def word(self) -> str:
        """The status as it stands in files."""
        return self.name.lower()


@dataclass(frozen=True, eq=False, slots=True)
class Release:
    """The published table of one run, with all that is needed to make it again.

    Parameters
    ----------
    scenario
        Every setting of the run.
    population
        What the devices held: the domain and, here, the truth.
    mechanism
        The randomiser with its exact parameters.
    counts
        The server's sufficient statistic, int64 of the mechanism's ``counts_shape``.
    estimates
        Unbiased estimates with their error bars, each (d,).
    status
        (d,) uint8, a `Status` per cell.
    figures
        Comparison with the truth.
    seconds
        Wall time of randomising, estimating and deciding; making the trips is not in it.
    """

    scenario: Scenario
    population: Population
    mechanism: FrequencyOracle
    counts: IntArray
    estimates: Estimates
    status: ByteArray
    figures: Figures
    seconds: float

    @property
    def published(self) -> BoolArray:
        """(d,) bool, whether each cell is published."""
        return np.equal(self.status, Status.PUBLISHED)

    def frame(self, *, truth: bool) -> pd.DataFrame:
        """Return the release as a table, one row per cell of the domain.

        Parameters
        ----------
        truth
            Whether the column ``true_count`` is added, which no server could publish.
        """
        domain, estimates = self.population.domain, self.estimates
        support = self.mechanism.support(self.counts, n=self.population.size)
        columns: dict[str, Any] = {
            "cell": domain.cell_ids(),
            "resolution": np.full(domain.size, domain.resolution, dtype=np.int64),
            "reports": np.full(domain.size, self.population.size, dtype=np.int64),
            "support": support,
            "estimate": estimates.estimate,
            "std_error": estimates.std_error,
            "ci_low": estimates.ci_low,
            "ci_high": estimates.ci_high,
            "at_least": estimates.at_least,
            "status": np.array([status.word for status in Status])[self.status],
        }
        if truth:
            columns["true_count"] = self.population.true_counts
        return pd.DataFrame(columns)


def decide(estimates: Estimates, *, floor: int) -> ByteArray:
    """Decide what becomes of each cell.

    Parameters
    ----------
    estimates
        With lower bounds `at_least` (d,).
    floor
        Smallest number of devices that may be published.

    Returns
    -------
    (d,) uint8 of `Status`: published where the lower bound reaches the floor (and one
    device), within noise where it doesn't exceed zero, below the floor otherwise.
    """
    status = np.full(estimates.at_least.shape, Status.BELOW_FLOOR, dtype=np.uint8)
    status[estimates.at_least <= 0] = Status.WITHIN_NOISE
    status[estimates.at_least >= max(floor, 1)] = Status.PUBLISHED
    return status
