"""From trips to values: what the devices of a scenario hold before anything is randomised.

This is the only place that sees the truth. A real server never does; here the trips are
simulated or the user's own, so the truth can stand beside the estimate and show what was lost.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ldpcore.domain import Area, Domain, cells_over
from ldpcore.errors import ParameterError
from ldpcore.limits import MOST_DEVICES_ONE_BY_ONE
from ldpcore.settings import Scenario
from ldpcore.shapes import IntArray
from ldpcore.trips.cities import city_area, city_domain
from ldpcore.trips.generate import synthetic_counts, synthetic_values
from ldpcore.trips.table import REASONS, TripTable

if TYPE_CHECKING:
    from ldpcore.trips.values import TableValues

UNITS: Final[Mapping[str, str]] = {
    "device": "one device for one day: one report, of one of its trips chosen at random",
    "trip": "one trip: the file names no person, so somebody who made several trips is covered for each alone",
}
"""What one report's epsilon covers, by the unit of the trips."""


DROPPED_WORDS: Final[Mapping[str, str]] = {
    **REASONS,
    "not_chosen": "other trips of devices that report one of theirs",
    "no_value_at_hour": "trips of devices that have nothing to report for that hour",
}
"""Why trips gave no value, in words, by the key that files and the command line use."""


@dataclass(frozen=True, eq=False, slots=True)
class Population:
    """The values of all devices of a scenario, as counts and, where asked for, one by one.

    Parameters
    ----------
    area
        The public service area.
    domain
        Its cells at the scenario's resolution.
    true_counts
        (d,) int64, devices whose value is each cell.
    values
        (n,) int64, each device's cell as an index of the domain; None where only the counts
        were made.
    unit
        ``"device"`` or ``"trip"``, a key of `UNITS`.
    rows_read
        Trips read, used or not.
    rows_dropped
        Why trips were not used, and how many; with the devices of `true_counts` they add up
        to `rows_read`.
    drawn
        Whether the counts were drawn from the city's exact cell law rather than counted over
        generated trips.
    notes
        Sentences the reader of a file should see: what was mended, what was assumed.
    table_values
        What became of each row of the user's file; None for synthetic trips.
    """

    area: Area
    domain: Domain
    true_counts: IntArray
    values: IntArray | None
    unit: str
    rows_read: int
    rows_dropped: Mapping[str, int]
    drawn: bool = False
    notes: tuple[str, ...] = field(default=())
    table_values: TableValues | None = None

    @property
    def size(self) -> int:
        """Number of devices (or trips) that report."""
        return int(self.true_counts.sum())

    @property
    def noun(self) -> str:
        """What is counted, as many: ``"devices"`` or ``"trips"``."""
        return f"{self.unit}s"


def scenario_area(scenario: Scenario, trips: TripTable | None = None) -> Area:
    """Return the service area of a scenario, found from the file where nothing names it."""
    if trips is None:
        if scenario.city is None:
            raise ParameterError("trips", "This scenario needs its trip file, which a link doesn't carry.")
        return city_area(scenario.city)
    from ldpcore.trips.areas import choose_area  # the readers of files are not needed by a bundled city

    return choose_area(trips, city=scenario.city, area_text=scenario.area, timezone=scenario.timezone)


def scenario_domain(scenario: Scenario, area: Area) -> Domain:
    """Return the ordered cells of an area at the scenario's resolution."""
    if scenario.city is not None:
        return city_domain(scenario.city, scenario.resolution)
    return cells_over(area, scenario.resolution)


def population_of(
    scenario: Scenario,
    trips: TripTable | None = None,
    *,
    area: Area | None = None,
    with_values: bool | None = None,
) -> Population:
    """Make the values of a scenario's devices.

    Parameters
    ----------
    scenario
        What to make.
    trips
        The user's file, needed where ``scenario.trips`` is set.
    area
        The service area, where the caller holds an outline that the scenario only names.
    with_values
        Whether each device's value is needed one by one, and not only how many devices hold
        each cell; by default only for reports that are really made.

    Raises
    ------
    ParameterError
        If no device has a value in the area, or the file is missing or another one.
    """
    if with_values is None:
        with_values = scenario.per_report
    if scenario.synthetic:
        return _synthetic_population(scenario, with_values=with_values)
    if trips is None:
        raise ParameterError("trips", "This scenario needs its trip file, which a link doesn't carry.")
    if trips.digest != scenario.trips:
        raise ParameterError(
            "trips",
            "This file is not the one the scenario was made with: its content differs. Load the same file.",
        )
    return _file_population(scenario, trips, area or scenario_area(scenario, trips))


def _synthetic_population(scenario: Scenario, *, with_values: bool) -> Population:
    assert scenario.city is not None  # noqa: S101 - a synthetic scenario was validated to have one
    area = city_area(scenario.city)
    domain = city_domain(scenario.city, scenario.resolution)
    what: dict[str, Any] = {
        "devices": scenario.devices,
        "seed": scenario.seed,
        "query": scenario.query,
        "resolution": scenario.resolution,
        "day": scenario.day or "weekday",
        "hour": scenario.hour,
    }
    if with_values and scenario.devices > MOST_DEVICES_ONE_BY_ONE:
        raise ParameterError(
            "devices",
            f"Reports are made one by one for at most {MOST_DEVICES_ONE_BY_ONE:,} devices, got {scenario.devices:,}; "
            "take fewer, or let run draw the counts without --per-report.",
        )
    counts = synthetic_counts(scenario.city, **what)
    values = None
    if with_values:
        if counts.drawn:
            # The counts come from the law, so the devices are made from them: their order carries nothing.
            values = np.repeat(np.arange(domain.size, dtype=np.int64), counts.true_counts)
        else:
            values = synthetic_values(scenario.city, **what)
    return Population(
        area=area,
        domain=domain,
        true_counts=counts.true_counts,
        values=values,
        unit="device",
        rows_read=counts.trips_read,
        rows_dropped=_without_zeros({"not_chosen": counts.not_chosen, "no_value_at_hour": counts.no_value}),
        drawn=counts.drawn,
    )


def _file_population(scenario: Scenario, trips: TripTable, area: Area) -> Population:
    from ldpcore.trips.values import table_values

    domain = scenario_domain(scenario, area)
    found = table_values(
        trips,
        area=area,
        domain=domain,
        query=scenario.query,
        day=scenario.day,
        hour=scenario.hour,
        seed=scenario.seed,
    )
    dropped = dict(trips.dropped)
    for reason, rows in found.dropped.items():
        dropped[reason] = dropped.get(reason, 0) + rows
    return Population(
        area=area,
        domain=domain,
        true_counts=np.bincount(found.values, minlength=domain.size).astype(np.int64),
        values=found.values,
        unit=found.unit,
        rows_read=trips.rows_read,
        rows_dropped=_without_zeros(dropped),
        notes=(*trips.notes, *_area_notes(area), *_clock_notes(scenario, area)),
        table_values=found,
    )


def _area_notes(area: Area) -> tuple[str, ...]:
    if not area.from_data:
        return ()
    return (
        f"The service area was taken from the data ({area.label}). Cells chosen from where people went say where they "
        "went: before a real release, name a public area instead.",
    )


def _clock_notes(scenario: Scenario, area: Area) -> tuple[str, ...]:
    about_time = scenario.hour is not None or scenario.day is not None or scenario.query == "presence"
    if not about_time or scenario.city is not None or scenario.timezone is not None or area.timezone != "UTC":
        return ()
    return (
        "Hours and days are on the clock of UTC, because nothing says where the area's clock is: name its IANA zone, "
        "such as Europe/Oslo, as the time zone.",
    )


def _without_zeros(dropped: Mapping[str, int]) -> dict[str, int]:
    return {reason: rows for reason, rows in dropped.items() if rows}
