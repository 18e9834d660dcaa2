"""The guide's checklist as a report can hold it: run against what ships, told in figures that can be made again.

Five of the six checks give the same words in every run. The first one lets the client report with its own coins, so its
figures vary: of that the report keeps whether it passed, and tells the figures of the same check on the client's source
with seeded coins.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from ldpcore.checklist import Check, Publishing, checked_mechanism, checklist
from ldpcore.checks.estimator import check_unbiased
from ldpcore.errors import ParameterError
from ldpcore.mechanisms import Mechanism
from ldpcore.review.replica import seeded_client
from ldpcore.schedule import Schedule
from ldpcore.settings import Scenario

OF_THE_SCHEDULE = (1, 3)
"""Places of the checks that a schedule without memory doesn't ask for: repeated bytes, and the cap."""


@dataclass(frozen=True, slots=True)
class Checks:
    """The six points.

    Parameters
    ----------
    entries
        Each with evidence that does not vary between runs.
    cells
        Of the domain they ran over.
    live_figures
        What the first check measured on the client with its own coins, which does vary: for a page, not for a report.
    """

    entries: tuple[Check, ...]
    cells: int
    live_figures: str

    @property
    def failed(self) -> tuple[Check, ...]:
        """The points that failed."""
        return tuple(entry for entry in self.entries if not entry.passed)

    def contradicts(self, schedule: Schedule) -> bool:
        """Tell whether a point failed that the schedule asks for."""
        return any(
            not entry.passed and (schedule.memo or place not in OF_THE_SCHEDULE)
            for place, entry in enumerate(self.entries)
        )


def run_checks(scenario: Scenario, schedule: Schedule, *, cells: int, tick: Callable[[], None]) -> Checks:
    """Run the six checks.

    Parameters
    ----------
    scenario
        Which randomiser, and the rule of publication.
    schedule
        The phone's rules.
    cells
        Cells of the domain to check over.
    tick
        Called now and then; it may raise, which ends the checks.
    """
    mechanism = _over(scenario, cells)
    rules = Publishing(scenario.floor, scenario.confidence, scenario.correction, scenario.interval)

    def told(share: float) -> None:  # noqa: ARG001 - only that it still works
        tick()

    found = []
    for entry in checklist(mechanism, schedule=schedule, rules=rules, seed=scenario.seed, progress=told):
        tick()
        found.append(entry)
    live = found[0]
    copy = check_unbiased(mechanism, client=seeded_client(mechanism, scenario.seed), progress=told)
    own = "passed with its own coins" if live.passed else "FAILED with its own coins"
    found[0] = replace(
        copy,
        passed=live.passed and copy.passed,
        evidence=f"The client {own}. The same source with seeded coins: {copy.evidence}",
    )
    return Checks(tuple(found), mechanism.domain_size, live.evidence)


def _over(scenario: Scenario, cells: int) -> Mechanism:
    """Return the randomiser over few cells, or over as many as its options need."""
    try:
        return checked_mechanism(scenario, cells)
    except ParameterError:
        return checked_mechanism(scenario, 600)
