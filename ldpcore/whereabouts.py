"""Where simulated phones are at every moment at which they would report.

The trips are those of `ldpcore.trips.generate`: each phone keeps its home, work and usual places over all
days. Between trips it stays where the last one ended; on a trip it moves along a straight line at an even
speed; a day begins where its first trip does. The calendar begins on Monday, 10 June 2024.

A phone stays in few cells for long, so its days are kept as *stays*: from which report on it is in which cell.
Ten thousand phones over a week are some 600,000 stays, where they would be twenty million reports.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Final

import numpy as np
import pandas as pd

from ldpcore.domain import Domain
from ldpcore.mechanisms.options import checked_integer
from ldpcore.shapes import AnyArray, BoolArray, IntArray
from ldpcore.trips.cities import city_domain
from ldpcore.trips.generate import generate_trips

FIRST_DAY: Final = date(2024, 6, 10)
"""A Monday, so that epochs of seven days begin with the simulation."""

OUTSIDE: Final = -1
"""Cell of a phone that is outside the domain, on a long bridge for instance."""

_DAY_S: Final = 86_400
# The trip generator counts its weekdays and its weekend days apart, each from its own first date.
_FIRST_WEEKDAY, _FIRST_WEEKEND_DAY = "2024-06-05", "2024-06-08"


@dataclass(frozen=True, eq=False, slots=True)
class Stays:
    """Stays of some phones, sorted by phone and time.

    Parameters
    ----------
    domain
        Cells of the city.
    devices
        Number of phones, 0 to devices - 1.
    days
        Days in a row.
    reports_a_day
        Moments a day at which a phone would report, evenly spread and the same for all.
    device, start, length, cell
        (m,) int64, for each stay: the phone, the number of its first moment since the start, how many moments
        it lasts, and the cell as an index of the domain or `OUTSIDE`. A stay ends with its day at the latest, so
        the next one may be in the same cell.
    """

    domain: Domain
    devices: int
    days: int
    reports_a_day: int
    device: IntArray
    start: IntArray
    length: IntArray
    cell: IntArray

    @property
    def moments(self) -> int:
        """Moments at which one phone would report."""
        return self.days * self.reports_a_day

    @property
    def day(self) -> IntArray:
        """(m,) int64, the day of each stay, counted from 0."""
        return self.start // self.reports_a_day

    def cells_of(self, device: int) -> IntArray:
        """Return (moments,) int64, the cell of one phone at every moment."""
        mine = slice(*np.searchsorted(self.device, [device, device + 1]))
        return np.repeat(self.cell[mine], self.length[mine])


def stays(
    city: str, *, resolution: int, devices: int, seed: int, days: int = 7, reports_a_day: int = 288
) -> Stays:
    """Follow some phones through their days.

    Parameters
    ----------
    city
        Slug of a built-in city.
    resolution
        H3 resolution, 5 to 10.
    devices
        Number of phones, 1 to 100,000. The first phones of many are those of few.
    seed
        Of the trips.
    days
        1 to 90.
    reports_a_day
        1 to 1440.

    Raises
    ------
    ParameterError
        If a setting does not exist or is out of range.
    """
    devices = checked_integer("devices", devices, minimum=1, maximum=100_000, example=1000)
    days = checked_integer("days", days, minimum=1, maximum=90, example=7)
    reports_a_day = checked_integer("reports_a_day", reports_a_day, minimum=1, maximum=1440, example=288)
    domain = city_domain(city, resolution)
    parts = [
        _day_of(city, domain, devices=devices, seed=seed, day=day, reports_a_day=reports_a_day)
        for day in range(days)
    ]
    device, start, cell = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.lexsort((start, device))
    device, start, cell = device[order], start[order], cell[order]
    ends = np.append(start[1:], 0)
    last = np.append(device[1:] != device[:-1], True)
    ends[last] = days * reports_a_day
    return Stays(domain, devices, days, reports_a_day, device, start, ends - start, cell)


def moment_time(moment: int, reports_a_day: int) -> datetime:
    """Return the local time of a moment: the middle of its share of the day, so once a day is noon.

    Examples
    --------
    >>> moment_time(0, 1)
    datetime.datetime(2024, 6, 10, 12, 0)
    """
    return datetime.combine(FIRST_DAY, datetime.min.time()) + timedelta(
        seconds=(moment + 0.5) * _DAY_S / reports_a_day
    )


def _trips(city: str, *, devices: int, seed: int, day: int) -> tuple[pd.DataFrame, date]:
    """Return the trips of a day of the calendar, and its date."""
    today = FIRST_DAY + timedelta(days=day)
    weekend = today.weekday() >= 5
    number = (
        np.busday_count(_FIRST_WEEKEND_DAY, today, weekmask="0000011")
        if weekend
        else np.busday_count(_FIRST_WEEKDAY, today)
    )
    kind = "weekend" if weekend else "weekday"
    return generate_trips(city, devices=devices, seed=seed, day=kind, day_number=int(number)), today


def _day_of(
    city: str, domain: Domain, *, devices: int, seed: int, day: int, reports_a_day: int
) -> tuple[IntArray, IntArray, IntArray]:
    """Return phone, first moment and cell of every stay of one day, unsorted."""
    trips, today = _trips(city, devices=devices, seed=seed, day=day)
    midnight = np.datetime64(today, "s")
    device = trips["device"].to_numpy()
    start_s, end_s = (
        (trips[column].to_numpy().astype("datetime64[s]") - midnight).astype(np.float64)
        for column in ("start_time", "end_time")
    )
    step = _DAY_S / reports_a_day
    # A moment m lies at (m + 1/2) steps. A phone is under way after the start of a trip and before its end.
    leaves = np.minimum(np.floor(start_s / step - 0.5).astype(np.int64) + 1, reports_a_day)
    arrives = np.minimum(np.ceil(end_s / step - 0.5).astype(np.int64), reports_a_day)
    arrives = np.maximum(arrives, leaves)
    under_way = np.repeat(np.arange(len(trips)), arrives - leaves)
    moment = np.arange(under_way.size) - np.repeat(
        np.cumsum(arrives - leaves) - (arrives - leaves), arrives - leaves
    )
    moment += leaves[under_way]
    share = ((moment + 0.5) * step - start_s[under_way]) / np.maximum(end_s - start_s, 1.0)[under_way]
    places = {name: trips[name].to_numpy() for name in ("start_lat", "start_lng", "end_lat", "end_lng")}
    first = np.flatnonzero(np.append(True, device[1:] != device[:-1]))

    lat, lng = (
        np.concatenate(
            [
                places[f"start_{axis}"][first],
                places[f"start_{axis}"][under_way]
                + share * (places[f"end_{axis}"] - places[f"start_{axis}"])[under_way],
                places[f"end_{axis}"],
            ]
        )
        for axis in ("lat", "lng")
    )
    who = np.concatenate([device[first], device[under_way], device])
    when = np.concatenate([np.zeros(first.size, np.int64), moment, arrives])
    # Where two fall on one moment the later event holds: the start of the day, then each trip and its end.
    turn = np.concatenate([np.zeros(first.size, np.int64), 2 * under_way + 1, 2 * np.arange(len(trips)) + 2])
    cell = domain.index_of_points(lat, lng)
    here = when < reports_a_day
    order = np.lexsort((turn[here], when[here], who[here]))
    who, when, cell = who[here][order], when[here][order], cell[here][order]
    kept = _last_of_each(who, when)
    who, when, cell = who[kept], when[kept], cell[kept]
    changed = np.append(True, (who[1:] != who[:-1]) | (cell[1:] != cell[:-1]))
    return who[changed], when[changed] + day * reports_a_day, cell[changed]


def _last_of_each(who: AnyArray, when: AnyArray) -> BoolArray:
    """Tell which rows are the last with their phone and moment."""
    return np.append((who[1:] != who[:-1]) | (when[1:] != when[:-1]), True)
