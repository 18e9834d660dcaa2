"""Another scenario that a report sets beside its own: which one, and the runs of both."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from ldpcore.errors import ParameterError
from ldpcore.library import find_named
from ldpcore.metrics import Figures
from ldpcore.population import Population
from ldpcore.release import Release
from ldpcore.scenario import scenario_mechanism
from ldpcore.scenario_file import ScenarioFile, link_token
from ldpcore.schedule import Schedule
from ldpcore.settings import Scenario
from ldpcore.side_by_side import Side, redraws_for, side_of

NAME_HERE: Final = "This scenario"
ANY_FILE: Final = "SCENARIO.json"
"""What stands in a command for a scenario file that has no path, such as one saved on the page."""
DEVICES_BY_HAND: Final = 20_000_000
"""Reports made one by one over all redraws at most, for randomisers whose counts can't be drawn at once."""


@dataclass(frozen=True, slots=True)
class Other:
    """A scenario to set beside, and what it is called in a command.

    Parameters
    ----------
    file
        Its name, scenario and schedule; its statements are not read.
    word
        What follows ``--beside``: a name of the library, or the name of a scenario file without its folder.
    """

    file: ScenarioFile
    word: str = ANY_FILE


@dataclass(frozen=True, eq=False, slots=True)
class Beside:
    """Both scenarios, run.

    Parameters
    ----------
    first
        The report's own.
    second
        The other one.
    word
        Of `Other`.
    """

    first: Side
    second: Side
    word: str

    @property
    def token(self) -> str:
        """The other scenario in the link of the page that shows both: its name in the library, or its settings."""
        return f"library.{self.word}" if find_named(self.word) is not None else link_token(self.second.file)


def require_same_trips(own: Scenario, other: Scenario) -> None:
    """Refuse another scenario on a trip file that the report doesn't hold, before any work.

    Raises
    ------
    ParameterError
        If it is about another file, or about an outline that a scenario only names.
    """
    if other.trips is None:
        return
    if other.trips != own.trips:
        raise ParameterError(
            "beside",
            f"The scenario to set beside is about the trip file with SHA-256 {other.trips}, which this report does not read; "
            "choose one on the same trips, or one with synthetic trips.",
        )
    if other.area is not None and other.area.startswith("polygon:") and other.area != own.area:
        raise ParameterError(
            "beside",
            "The service area of the scenario to set beside is an outline that a scenario file doesn't carry; choose one with the "
            "area of this report.",
        )


def run_both(
    scenario: Scenario,
    schedule: Schedule,
    other: Other,
    *,
    release_of: Callable[[Scenario], Release],
    population_of: Callable[[Scenario], Population],
    figures_of: Callable[[Scenario], Figures] | None = None,
) -> Beside:
    """Run a report's scenario and another one, each with its block of redraws.

    Parameters
    ----------
    scenario, schedule
        Of the report.
    other
        What to set beside.
    release_of, figures_of
        As for `ldpcore.side_by_side.side_of`.
    population_of
        Makes the devices of a scenario.

    Raises
    ------
    ParameterError
        If a setting of either is impossible, or the other needs a trip file that is not there.
    """
    require_same_trips(scenario, other.file.scenario)
    own = ScenarioFile(name=NAME_HERE, scenario=scenario, schedule=schedule)
    first, second = (
        side_of(
            file,
            release_of,
            figures_of=figures_of,
            redraws=_redraws(file.scenario, population_of(file.scenario)),
        )
        for file in (own, other.file)
    )
    return Beside(first, second, other.word)


def _redraws(scenario: Scenario, population: Population) -> int:
    count = redraws_for(population.domain.size)
    if scenario_mechanism(scenario, population).exact_joint_sampler:
        return count
    return max(2, min(count, DEVICES_BY_HAND // population.size))
