"""What is tried and measured for a report: everything that takes time, done before a sentence is written.

Every figure is a function of the scenario and the level: coins come from the scenario's seed, and work is set by
counts and never by the clock. The client with its own coins and the checklist are run as well; what they measure
varies, so only whether they passed is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

import pandas as pd

from ldpcore.comparison import Comparison
from ldpcore.guessing import Guess
from ldpcore.mechanisms import Mechanism
from ldpcore.population import Population
from ldpcore.postprocess_measured import MeasuredBias
from ldpcore.privacy.poisoning import Leverage, Poisoning
from ldpcore.release import Release
from ldpcore.review.checklist import Checks
from ldpcore.review.replica import ClientAudit, Generator
from ldpcore.schedule import Schedule
from ldpcore.settings import Scenario

Progress = Callable[[int, int, str], None]
FAKES: Final = (0.01, 0.05)
"""Shares of fake devices that a report shows."""

TRUSTED: Final = 0.1
"""Relative error of a count that can be used, one standard error."""


@dataclass(frozen=True, slots=True)
class Level:
    """How much is tried.

    Parameters
    ----------
    label
        In words.
    redraws
        Redraws of the devices' coins.
    audit_microseconds
        Work for one world of one attack on the client.
    checked_cells
        Cells of the domain that the checklist runs over at most.
    """

    label: str
    redraws: int
    audit_microseconds: float
    checked_cells: int


LEVELS: Final[Mapping[str, Level]] = MappingProxyType(
    {
        "quick": Level("quick: under half a minute", 20, 2e5, 40),
        "full": Level("full: a minute or more", 200, 5e6, 600),
    }
)


class ReviewCancelled(Exception):  # noqa: N818 - nothing went wrong
    """The reader asked to stop."""


@dataclass(frozen=True, slots=True)
class Selection:
    """What holding cells back does to those that are printed, over the redraws; devices a printed cell.

    Parameters
    ----------
    bias, bias_error
        Mean of estimate minus truth over all printed cells, and its standard error.
    borderline_bias, borderline_bias_error
        The same for printed cells that are printed in fewer than half of all draws (and in more than one in a
        thousand); None where none was.
    borderline
        How many such cells the domain has.
    held_back_share
        Expected share of the devices in cells that are held back.
    printed
        Cells printed, over all redraws.
    coverage, coverage_printed
        Share of all cells, and of printed ones, whose truth lies in the interval of the cell.
    """

    bias: float | None
    bias_error: float | None
    borderline_bias: float | None
    borderline_bias_error: float | None
    borderline: int
    held_back_share: float
    printed: int
    coverage: float
    coverage_printed: float | None


@dataclass(frozen=True, slots=True)
class Alternative:
    """Another setting and what it would give, by exact theory.

    Parameters
    ----------
    what
        The setting in words.
    epsilon, resolution
        Its values.
    cells
        Of its domain.
    published
        Expected number of published cells.
    share
        Expected share of the devices in them.
    error
        Root mean squared error over all cells, in devices.
    own
        Whether it is the scenario itself.
    """

    what: str
    epsilon: float
    resolution: int
    cells: int
    published: float
    share: float
    error: float
    own: bool


@dataclass(frozen=True, eq=False, slots=True)
class Evidence:
    """All that was tried and measured for one report.

    Parameters
    ----------
    scenario, schedule, level
        For which it was.
    mechanism
        The randomiser.
    release
        The run itself.
    redraws
        How many redraws the measured figures are over.
    measured
        Mean and standard error over the redraws of ``rmse``, ``published``, ``false_published`` and
        ``false_suppressed``.
    selection
        What holding back does.
    deciles
        From `error_by_decile`.
    postprocessing
        Bias of each way of post-processing.
    comparison
        All randomisers at these settings.
    alternatives
        Other resolutions and other epsilons.
    smallest
        Smallest count known to `TRUSTED`, in devices.
    guess
        Best guess from one report, every cell equally likely before.
    prior_before, prior_after
        Success of an observer who knows the city, without and with one report.
    prior_spread
        Standard error of the latter where it was measured, else 0.
    lever, poisonings
        Of forged reports; None and empty where the randomiser has no one pair of probabilities.
    audit
        Of the client.
    generator
        Of its coins.
    refused
        Why the server refuses a report made with another epsilon; None where it doesn't.
    checks
        The six points of the checklist.
    """

    scenario: Scenario
    schedule: Schedule
    level: str
    mechanism: Mechanism
    release: Release
    redraws: int
    measured: Mapping[str, tuple[float, float]]
    selection: Selection
    deciles: pd.DataFrame
    postprocessing: tuple[MeasuredBias, ...]
    comparison: Comparison
    alternatives: tuple[Alternative, ...]
    smallest: float
    guess: Guess
    prior_before: float
    prior_after: float
    prior_spread: float
    lever: Leverage | None
    poisonings: tuple[Poisoning, ...]
    audit: ClientAudit
    generator: Generator
    refused: str | None
    checks: Checks

    @property
    def population(self) -> Population:
        """What the devices hold."""
        return self.release.population
