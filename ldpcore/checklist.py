"""The guide's checklist, run: six checks of the client that ships and of the estimator that reads it.

Each check takes what it checks as a parameter, so that a broken one can be shown to fail, and says what it
found with figures. Where the guide's criterion would pass a wrong client or fail a right one, the corrected
one is used: the exact error in place of "two standard errors", and for the floor a stated confidence, because
nobody can see how many devices are in a cell.

The client draws its coins from the operating system, so figures differ from run to run. A right client and a
right estimator fail the first check at most once in 10^9 runs (`FAILURE`), the fifth is a simulation from a
fixed seed, and nothing is left to chance in the other four.
"""

from __future__ import annotations

from collections.abc import Iterator

from ldpcore.checks import FAILURE, ITEMS, Check, Progress
from ldpcore.checks.estimator import Publishing, check_floor, check_unbiased
from ldpcore.checks.phone import check_cap, check_generator, check_memo, check_versions
from ldpcore.mechanisms import Mechanism, make_mechanism
from ldpcore.schedule import DEFAULT_SCHEDULE, Schedule
from ldpcore.settings import Scenario

__all__ = ["FAILURE", "ITEMS", "Check", "Publishing", "checked_mechanism", "checklist", "run_checklist"]

_MOST_CELLS = 600
_MOST_BYTES = 160


def checklist(
    mechanism: Mechanism,
    *,
    schedule: Schedule = DEFAULT_SCHEDULE,
    rules: Publishing | None = None,
    seed: int = 1,
    progress: Progress | None = None,
) -> Iterator[Check]:
    """Run the six checks one after another, against what ships.

    Parameters
    ----------
    mechanism
        The randomiser; its domain may be a small one (`checked_mechanism`).
    schedule
        The phone's rules.
    rules
        How cells are published; by default as in a scenario.
    seed
        Of the simulation in the fifth check, the only one that has a seed.
    progress
        Told the share of the running check that is done, where it takes long.
    """
    yield check_unbiased(mechanism, progress=progress)
    yield check_memo(mechanism, schedule=schedule)
    yield check_generator()
    yield check_cap(mechanism, schedule=schedule)
    yield check_floor(mechanism, rules=rules or Publishing(), seed=seed, progress=progress)
    yield check_versions(mechanism)


def run_checklist(
    mechanism: Mechanism,
    *,
    schedule: Schedule = DEFAULT_SCHEDULE,
    rules: Publishing | None = None,
    seed: int = 1,
) -> list[Check]:
    """Run all six checks; parameters as for `checklist`."""
    return list(checklist(mechanism, schedule=schedule, rules=rules, seed=seed))


def checked_mechanism(scenario: Scenario, cells: int) -> Mechanism:
    """Return the randomiser of a scenario over as many of its cells as can be checked in some seconds.

    Parameters
    ----------
    scenario
        Which randomiser, epsilon and options.
    cells
        Cells of its domain. Taken are at most 600, and fewer where a payload would exceed 160 bytes.

    Raises
    ------
    ParameterError
        If the options do not allow so few cells.
    """

    def over(size: int) -> Mechanism:
        return make_mechanism(
            scenario.mechanism, epsilon=scenario.epsilon, domain_size=size, **dict(scenario.options)
        )

    size = min(cells, _MOST_CELLS)
    made = over(size)
    while made.payload_bytes > _MOST_BYTES:
        size = max(2, size * _MOST_BYTES // made.payload_bytes)
        made = over(size)
    return made
