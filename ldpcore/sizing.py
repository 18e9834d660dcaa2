"""Can local privacy work here? The one relation between epsilon, devices, cells, counts and error, solved for any of them.

A cell with `count` of `devices` devices is estimated with variance devices V0 + count V1, so its relative error is
sqrt(devices V0 + count V1) / count, where V0 and V1 depend on epsilon, the randomiser and, for some, the number of
cells. Relative error is one standard error over the count; the 95 % error bar is about twice as wide.

One trap is stated with every answer: at a fixed *count*, more devices make a cell worse, because each adds noise;
at a fixed *share* of the devices they make it better.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

import numpy as np

from ldpcore.errors import ParameterError
from ldpcore.estimate import publication_probability, smallest_count
from ldpcore.mechanisms import Mechanism, make_mechanism
from ldpcore.mechanisms.base import MAX_DOMAIN_SIZE
from ldpcore.mechanisms.options import checked_integer
from ldpcore.plain_numbers import plain, plain_percent
from ldpcore.rational import MAX_EPSILON
from ldpcore.shapes import FloatArray

LEAST_EPSILON: Final = 1e-4
MOST_DEVICES: Final = 10**15
LEAST_ERROR: Final = 1e-6
MOST_ERROR: Final = 1000
LEAST_COUNT: Final = 0.001
_ROUNDING: Final = 1e-9


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """One deployment: who reports what, how, and how well a cell must be known.

    Parameters
    ----------
    devices
        Devices that report, at least 1.
    cells
        Cells of the domain, at least 2.
    epsilon
        Of one report.
    target_error
        Relative error wanted, one standard error over the count, above 0.
    mechanism, options
        The randomiser: a key of `MECHANISMS` and its options as (name, value) pairs.
    count
        Devices in the cell that must be known so well; None where all cells hold the same, devices / cells.

    Raises
    ------
    ParameterError
        If a setting is outside its range, or the count is greater than the devices.
    """

    devices: int
    cells: int
    epsilon: float
    target_error: float
    mechanism: str = "oue"
    options: tuple[tuple[str, object], ...] = ()
    count: float | None = None

    def __post_init__(self) -> None:
        checked_integer("devices", self.devices, minimum=1, maximum=MOST_DEVICES, example=1_000_000)
        checked_integer("cells", self.cells, minimum=2, maximum=MAX_DOMAIN_SIZE, example=300)
        if not LEAST_ERROR <= self.target_error <= MOST_ERROR:
            raise ParameterError(
                "target_error",
                f"The target error must be greater than 0, between {LEAST_ERROR:.6f} and {MOST_ERROR:,}, "
                f"got {self.target_error:g}; try 0.1.",
            )
        if self.count is not None and not LEAST_COUNT <= self.count <= self.devices:
            raise ParameterError(
                "smallest_count",
                f"The smallest count must be at least {LEAST_COUNT} and at most the {self.devices:,} devices, "
                f"got {self.count:g}; try {min(100, self.devices)}.",
            )
        self.randomiser()

    def randomiser(self, *, epsilon: float | None = None, cells: int | None = None) -> Mechanism:
        """Return the mechanism of this case, or of one that differs in epsilon or cells."""
        return make_mechanism(
            self.mechanism,
            epsilon=self.epsilon if epsilon is None else epsilon,
            domain_size=self.cells if cells is None else cells,
            **dict(self.options),
        )

    @property
    def target_count(self) -> float:
        """Devices in the cell in question."""
        return self.devices / self.cells if self.count is None else self.count

    @property
    def share(self) -> float:
        """Share of the devices in the cell in question."""
        return self.target_count / self.devices


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a case is affordable, why, and the nearest cases that are.

    Parameters
    ----------
    affordable
        Whether the cell in question is known to the target.
    smallest_count
        Devices a cell needs to be known to the target.
    devices_needed
        Fewest devices with which the same *share* of them is known to the target.
    cells_at_most
        Most cells that can share the devices evenly and all be known to the target; 0 where not even one can.
    epsilon_needed
        Smallest epsilon that is enough, None where even 20 is not.
    error
        Relative error of the cell in question.
    devices_at_most
        Most devices with which the same *count* is known to the target, 0 where none.
    reasons
        Whole sentences.
    """

    affordable: bool
    smallest_count: float
    devices_needed: int
    cells_at_most: int
    epsilon_needed: float | None
    error: float
    devices_at_most: int
    reasons: tuple[str, ...]


def size(case: Case) -> Verdict:
    """Judge a case and find the nearest affordable ones.

    Raises
    ------
    ParameterError
        If the variance of the randomiser depends on other cells, so that no count alone decides.
    """
    least = solve_count(case)
    verdict = Verdict(
        affordable=case.target_count >= least * (1 - _ROUNDING),
        smallest_count=least,
        devices_needed=solve_devices(case),
        cells_at_most=solve_cells(case),
        epsilon_needed=solve_epsilon(case),
        error=solve_error(case),
        devices_at_most=devices_at_most(case),
        reasons=(),
    )
    return replace(verdict, reasons=tuple(_reasons(case, verdict)))


def solve_error(case: Case) -> float:
    """Return the relative error of the cell in question, one standard error over its count."""
    empty, slope = _terms(case.randomiser())
    count = case.target_count
    return math.sqrt(max(case.devices * empty + count * slope, 0.0)) / count


def solve_count(case: Case) -> float:
    """Return the devices that a cell needs to be known to the target; may exceed all devices."""
    mechanism = case.randomiser()
    _terms(mechanism)  # refuses in words what has no closed form
    return smallest_count(mechanism, n=case.devices, relative_error=case.target_error)


def solve_devices(case: Case) -> int:
    """Return the fewest devices with which a cell that holds the same share of them is known to the target."""
    return devices_for_share(case.randomiser(), case.share, relative_error=case.target_error)


def devices_for_share(mechanism: Mechanism, share: float, *, relative_error: float) -> int:
    """Return the fewest devices of which the given share is counted to the relative error.

    Examples
    --------
    >>> devices_for_share(make_mechanism("oue", epsilon=1, domain_size=9), 0.001, relative_error=0.1)
    368369438
    """
    return math.ceil(_devices_for_share(mechanism, share, relative_error=relative_error) * (1 - 1e-14))


def devices_at_most(case: Case) -> int:
    """Return the most devices among which a cell with this very count is still known to the target."""
    empty, slope = _terms(case.randomiser())
    count = case.target_count
    allowed = ((case.target_error * count) ** 2 - count * slope) / empty
    return max(math.floor(allowed), 0) if allowed >= count else 0


def solve_epsilon(case: Case) -> float | None:
    """Return the smallest epsilon at which the cell in question is known to the target; None above 20."""

    def enough(epsilon: float) -> bool:
        need = smallest_count(
            case.randomiser(epsilon=epsilon), n=case.devices, relative_error=case.target_error
        )
        return case.target_count >= need

    if not enough(MAX_EPSILON):
        return None
    if enough(LEAST_EPSILON):
        return LEAST_EPSILON
    low, high = LEAST_EPSILON, MAX_EPSILON
    while high - low > 1e-9 * high:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def solve_cells(case: Case) -> int:
    """Return the most cells that can share the devices evenly, each known to the target.

    The count of the case plays no part. Where V0 and V1 don't depend on the number of cells this is a closed form,
    else a search; 0 where not even one cell that holds all devices would do.
    """
    at = case.randomiser(cells=2)
    if _terms(at) == _terms(case.randomiser(cells=1_000)) == _terms(case.randomiser(cells=100_000)):
        empty, slope = _terms(at)
        square = case.devices * case.target_error**2
        root = (-slope + math.sqrt(slope**2 + 4 * empty * square)) / (2 * empty)
        return max(math.floor(root * (1 + 1e-14)), 0)
    low, high = 0, min(case.devices, MAX_DOMAIN_SIZE)
    while high > low:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if _even_cells_fit(case, middle) else (low, middle - 1)
    return low


def _even_cells_fit(case: Case, cells: int) -> bool:
    if cells < 2:
        return True  # one cell holds every device: its count is known without a report
    need = smallest_count(case.randomiser(cells=cells), n=case.devices, relative_error=case.target_error)
    return case.devices / cells >= need


SOLVERS: Final[Mapping[str, Callable[[Case], float | None]]] = MappingProxyType(
    {
        "epsilon": solve_epsilon,
        "devices": solve_devices,
        "cells": solve_cells,
        "smallest_count": solve_count,
        "target_error": solve_error,
    }
)
"""What can be asked for, given the rest; the field of the case that is asked for plays no part."""


@dataclass(frozen=True, slots=True)
class CityFit:
    """How a case fares over a city's real distribution, busiest cells first.

    Parameters
    ----------
    cells
        Cells of the domain.
    cells_known
        Cells known to the target (and holding the wanted count, where one is named).
    share_known
        Share of the devices that are in them.
    cells_published
        Expected number of cells whose lower bound reaches the floor.
    busiest_count, median_count
        Devices in the busiest cell and in the median one.
    """

    cells: int
    cells_known: int
    share_known: float
    cells_published: float
    busiest_count: float
    median_count: float


def busiest_first(shares: FloatArray) -> FloatArray:
    """Return the shares of a city's cells, greatest first, summing to 1."""
    falling = -np.sort(-np.asarray(shares, np.float64))
    return np.asarray(falling / falling.sum(), np.float64)


def city_fit(
    case: Case,
    shares: FloatArray,
    *,
    floor: int,
    confidence: float = 0.95,
    correction: str = "bonferroni",
) -> CityFit:
    """Count the cells of a real distribution that a case can know.

    Parameters
    ----------
    case
        Its cells must be those of the distribution; a count, where it has one, is the least a cell must hold.
    shares
        (d,) share of the devices in each cell.
    floor, confidence, correction
        The rule of publication.
    """
    if shares.size != case.cells:
        raise ParameterError(
            "cells", f"The distribution has {shares.size} cells, the case {case.cells}; they must agree."
        )
    counts = case.devices * busiest_first(shares)
    known = counts >= max(solve_count(case), case.count or 0.0)
    published = publication_probability(
        case.randomiser(),
        counts,
        n=case.devices,
        floor=floor,
        confidence=confidence,
        correction=correction,
    )
    return CityFit(
        cells=case.cells,
        cells_known=int(known.sum()),
        share_known=float(counts[known].sum()) / case.devices,
        cells_published=float(published.sum()),
        busiest_count=float(counts[0]),
        median_count=float(np.median(counts)),
    )


def case_of_busiest(case: Case, shares: FloatArray, *, rank: int) -> Case:
    """Return the case about the cell of a given rank in a real distribution, 1 being the busiest.

    Solving it answers "which epsilon, or how many devices, so that so many cells are known to the target".
    """
    rank = checked_integer("rank", rank, minimum=1, maximum=shares.size)
    return replace(case, count=float(case.devices * busiest_first(shares)[rank - 1]))


def _devices_for_share(mechanism: Mechanism, share: float, *, relative_error: float) -> float:
    empty, slope = _terms(mechanism)
    return (empty + share * slope) / (relative_error * share) ** 2


def _terms(mechanism: Mechanism) -> tuple[float, float]:
    empty, slope = mechanism.variance_empty, mechanism.variance_slope
    if empty is None or slope is None:
        raise ParameterError(
            "mechanism",
            f"The error of a cell under {mechanism.name} depends on what other cells hold, so no count alone says "
            "whether it is affordable; choose oue.",
        )
    return empty, slope


def _reasons(case: Case, verdict: Verdict) -> list[str]:
    target, count = _percent(case.target_error), case.target_count
    cell = (
        f"Spread evenly over {case.cells:,} cells, each holds {count:,.0f} of {case.devices:,} devices"
        if case.count is None
        else f"A cell of {count:,.0f} devices is {plain_percent(case.share, 3)} of {case.devices:,}"
    )
    reasons = [
        f"{cell}; a count is known to {target} from {math.ceil(verdict.smallest_count):,} devices on.",
        f"Its relative error is {_percent(verdict.error)} as one standard error, so the 95 % error bar is "
        f"{_percent(1.96 * verdict.error)}.",
    ]
    if verdict.affordable:
        reasons.append("So local privacy can work here.")
    else:
        reasons += _nearest_yes(case, verdict)
    trap = (
        "More devices at this same count make the cell worse, because each report adds noise; at the same share of the "
        "devices they make it better."
    )
    return [*reasons, trap]


def _nearest_yes(case: Case, verdict: Verdict) -> list[str]:
    """Name the cases that differ in one setting and are affordable."""
    found = []
    if verdict.epsilon_needed is None:
        found.append(f"No epsilon up to {MAX_EPSILON:g} is enough.")
    else:
        # Rounded up, so that what is read is really enough.
        enough = math.ceil(verdict.epsilon_needed * 100) / 100
        found.append(f"An epsilon of {enough:g} would be enough, instead of {case.epsilon:g}.")
    found.append(
        f"{verdict.devices_needed:,} devices would be enough, if the same share of them were in the cell."
    )
    if case.count is None:
        found.append(
            f"{verdict.cells_at_most:,} cells could share the devices evenly."
            if verdict.cells_at_most >= 2
            else "Not even two cells could share the devices evenly."
        )
    elif verdict.devices_at_most > 0:
        found.append(
            f"Among at most {verdict.devices_at_most:,} devices this same count would be known so well."
        )
    if verdict.smallest_count <= case.devices:
        found.append(f"Cells of {math.ceil(verdict.smallest_count):,} devices or more are known so well.")
    else:
        found.append("Not even a cell that held every device would be known so well.")
    return found


def _percent(error: float) -> str:
    return f"±{100 * error:,.0f} %" if error >= 1 else f"±{plain(100 * error)} %"
