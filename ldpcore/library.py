"""The scenario library: a handful of worked cases to start from, each with the one sentence it teaches.

The numbers in the sentences are those of the scenario itself; a test computes them again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ldpcore.scenario_file import ScenarioFile
from ldpcore.schedule import DEFAULT_SCHEDULE, Schedule
from ldpcore.settings import Scenario


@dataclass(frozen=True, kw_only=True, slots=True)
class Named:
    """A scenario of the library.

    Parameters
    ----------
    slug
        Identifier in links.
    name
        Two or three words.
    sentence
        What it shows, short enough for the strip under Explore.
    about
        The same with all its numbers.
    scenario, schedule
        What opens.
    """

    slug: str
    name: str
    sentence: str
    about: str
    scenario: Scenario
    schedule: Schedule = DEFAULT_SCHEDULE

    def to_file(self) -> ScenarioFile:
        """Return it as a scenario file holds it."""
        return ScenarioFile(name=self.name, about=self.about, scenario=self.scenario, schedule=self.schedule)


LIBRARY: Final[tuple[Named, ...]] = (
    Named(
        slug="congestion",
        name="Congestion map",
        sentence="New York between 8 and 9 in the morning: about 122 of 357 cells surely hold 300 devices.",
        about=(
            "New York between 8 and 9 in the morning: about 2.46 million of 10 million devices start a trip, and about "
            "122 of 357 cells surely hold the 300 devices that a congestion map needs."
        ),
        scenario=Scenario(hour=8),
        schedule=Schedule(reports_a_day=24, cap=10, epoch_days=1),
    ),
    Named(
        slug="coverage",
        name="Coverage map",
        sentence="London at 6 in the evening, ε = 1: about 36 of 71 cells of some 36 km² surely hold 3,000 devices.",
        about=(
            "Where 5 million devices are in London at 6 in the evening, at half the privacy loss (ε = 1): with cells of "
            "some 36 km² about 36 of 71 surely hold the 3,000 devices of a coverage map."
        ),
        scenario=Scenario(
            city="london",
            devices=5_000_000,
            query="presence",
            hour=18,
            resolution=6,
            epsilon=1.0,
            floor=3_000,
        ),
    ),
    Named(
        slug="night",
        name="Night-time demand",
        sentence="New York between 2 and 3 on a weekend night: few devices start a trip, and about 2 of 63 cells can be published.",
        about=(
            "On a weekend night between 2 and 3 only about 3,600 of 10 million devices in New York start a trip: about "
            "2 of 63 cells can be published."
        ),
        scenario=Scenario(hour=2, day="weekend", resolution=6),
    ),
    Named(
        slug="districts",
        name="District report",
        sentence="Tokyo in 12 cells: about 8 of 12 can be published, and one report is right 40 % of the time.",
        about=(
            "Tokyo in 12 cells the size of districts, the fewest that any city here has: 100,000 devices are enough for "
            "about 8 of them, but one report names its device's own cell 40 % of the time."
        ),
        scenario=Scenario(city="tokyo", devices=100_000, resolution=5, mechanism="grr"),
    ),
    Named(
        slug="unaffordable",
        name="Not affordable",
        sentence="Helsinki in 1,957 cells with 50,000 devices at ε = 0.5: nothing can be published.",
        about=(
            "50,000 devices over 1,957 cells of Helsinki at ε = 0.5: nothing can be published, since the busiest cell "
            "holds about 1,200 devices and ±10 % takes about 8,900."
        ),
        scenario=Scenario(city="helsinki", devices=50_000, resolution=8, epsilon=0.5),
    ),
)
"""Every scenario of the library, in the order of the strip under Explore."""


def find_named(slug: str) -> Named | None:
    """Return the library's scenario of a slug, or None where there is none."""
    return next((named for named in LIBRARY if named.slug == slug), None)
