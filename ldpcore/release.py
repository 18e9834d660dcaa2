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

from ldpcore.domain import Domain
from ldpcore.errors import ParameterError
from ldpcore.estimate import Estimates, estimate_counts
from ldpcore.mechanisms import FrequencyOracle
from ldpcore.metrics import Figures
from ldpcore.population import Population
from ldpcore.settings import Scenario, require_publishing_rules
from ldpcore.shapes import AnyArray, BoolArray, ByteArray, IntArray


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
        return release_frame(
            self.population.domain,
            self.mechanism,
            self.counts,
            self.estimates,
            self.status,
            n=self.population.size,
            true_counts=self.population.true_counts if truth else None,
        )


def release_frame(
    domain: Domain,
    mechanism: FrequencyOracle,
    counts: AnyArray,
    estimates: Estimates,
    status: ByteArray,
    *,
    n: int,
    true_counts: IntArray | None = None,
) -> pd.DataFrame:
    """Return the columns of a release, one row per cell of the domain.

    Parameters
    ----------
    domain
        The ordered cells.
    mechanism, counts
        Whose reports were counted, and the count.
    estimates, status
        Per cell of the domain.
    n
        Number of reports.
    true_counts
        (d,) int64 where the truth is known and wanted.
    """
    columns: dict[str, Any] = {
        "cell": domain.cell_ids(),
        "resolution": np.full(domain.size, domain.resolution, dtype=np.int64),
        "reports": np.full(domain.size, n, dtype=np.int64),
        "support": mechanism.support(counts, n=n),
        "estimate": estimates.estimate,
        "std_error": estimates.std_error,
        "ci_low": estimates.ci_low,
        "ci_high": estimates.ci_high,
        "at_least": estimates.at_least,
        "status": np.array([status.word for status in Status])[status],
    }
    if true_counts is not None:
        columns["true_count"] = true_counts
    return pd.DataFrame(columns)


def release_of_reports(
    domain: Domain,
    mechanism: FrequencyOracle,
    counts: AnyArray,
    *,
    n: int,
    floor: int,
    confidence: float,
    correction: str,
    interval: str,
) -> pd.DataFrame:
    """Return the release of reports that were collected, whose truth nobody knows.

    Parameters
    ----------
    domain, mechanism, counts, n
        What was counted: cells, randomiser, statistic, and number of reports.
    floor, confidence, correction, interval
        The rules of publishing, as in `Scenario`.

    Raises
    ------
    ParameterError
        If there are no reports, which is no data and not zero, or a rule is impossible.
    """
    require_publishing_rules(floor=floor, confidence=confidence, correction=correction, interval=interval)
    if n == 0:
        raise ParameterError("files", "No data: the files hold no report that can be counted.")
    estimates = estimate_counts(
        mechanism, counts, n=n, confidence=confidence, correction=correction, interval=interval
    )
    return release_frame(domain, mechanism, counts, estimates, decide(estimates, floor=floor), n=n)


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
