"""How a simulated day is laid out: which kinds of place in which order, and when one leaves.

A day is a row of a finite table: a chain of places and the hour of each departure. Rows are drawn
with whole-number weights and independently of geography, so shares such as "trips that start
at home between 8 and 9" are exact sums over the table. Departures of one device are at least
two hours apart, so at most one of its trips starts in any one hour.

The chains and hours are the author's, set so that the hourly shares fall into the bands measured
on public trip files (see ``data/README.md``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from ldpcore.errors import ParameterError
from ldpcore.shapes import BoolArray, FloatArray, IntArray

MAX_TRIPS = 4
"""Most trips a device makes in one day."""

MIN_GAP_H = 2
"""Departures of one device differ by at least this many in the hour of the clock."""

_WEIGHT_SCALE = 1 << 20


class Place(IntEnum):
    """The kinds of place a chain is made of."""

    HOME = 0
    WORK = 1  # or a place of study
    SHOP = 2  # shops and errands, near home
    OUT = 3  # going out, drawn from home
    NEAR_WORK = 4  # lunch or a drink, drawn from work


@dataclass(frozen=True)
class Schedule:
    """The table of days of one day type.

    Parameters
    ----------
    day
        Day type.
    weights
        (rows,) int64, how often each row is drawn, out of their sum, which is below 2^32.
    cumulative
        (rows,) int64, running sum of the weights.
    trips
        (rows,) int64, trips in the day, 1 to ``MAX_TRIPS``.
    places
        (rows, MAX_TRIPS + 1) int8, kinds of place in order; the last one is repeated to fill the row.
    hours
        (rows, MAX_TRIPS) int8, hour of each departure; 24 fills the row.
    """

    day: str
    weights: IntArray
    cumulative: IntArray
    trips: IntArray
    places: npt.NDArray[np.int8]
    hours: npt.NDArray[np.int8]

    @property
    def total(self) -> int:
        """Sum of the weights."""
        return int(self.cumulative[-1])

    def place_shares(self, query: str, hour: int | None) -> FloatArray:
        """Return how often the value of a device is a place of each kind.

        Parameters
        ----------
        query
            ``origins``, ``destinations`` or ``presence``.
        hour
            Hour of the departure or of the presence, 0 to 23; None for the whole day
            (``origins`` and ``destinations`` only).

        Returns
        -------
        (MAX_TRIPS + 1, 5) float64: entry [t, p] is the probability that a device makes t trips and
        that its value is a place of kind p. The sum is below 1 where devices may have no value.
        """
        shares = np.zeros((MAX_TRIPS + 1, len(Place)), dtype=np.float64)
        chance = self.weights / self.total
        if query == "presence":
            if hour is None:
                raise ParameterError("hour", "Presence needs an hour from 0 to 23.")
            here = self.place_at(np.arange(self.weights.size), hour)
            np.add.at(shares, (self.trips, here), chance)
            return shares
        end = {"origins": 0, "destinations": 1}[query]
        for leg in range(MAX_TRIPS):
            if hour is None:
                part = np.where(leg < self.trips, chance / self.trips, 0.0)
            else:
                part = np.where(self.hours[:, leg] == hour, chance, 0.0)
            np.add.at(shares, (self.trips, self.places[:, leg + end].astype(np.int64)), part)
        return shares

    def place_at(self, rows: IntArray, hour: int) -> IntArray:
        """Return the kind of place a device is at when an hour begins.

        A device that is under way counts at the place it is heading for.
        """
        kinds: IntArray = self.places[rows, self.stop_at(rows, hour)].astype(np.int64)
        return kinds

    def stop_at(self, rows: IntArray, hour: int) -> IntArray:
        """Return which stop of its chain a device is at, or heading for, when an hour begins."""
        begun: BoolArray = self.hours[rows] < hour
        stops: IntArray = begun.sum(axis=1, dtype=np.int64)
        return stops


# Chains: one letter a place, and how many devices in a thousand live such a day.
_LETTERS: Mapping[str, Place] = MappingProxyType(
    {"H": Place.HOME, "W": Place.WORK, "S": Place.SHOP, "O": Place.OUT, "N": Place.NEAR_WORK}
)
_CHAINS: Mapping[str, Mapping[str, int]] = MappingProxyType(
    {
        "weekday": MappingProxyType(
            {
                "HWH": 345,
                "HWSH": 120,
                "HWNH": 55,
                "HWNWH": 55,
                "HSH": 130,
                "HOH": 75,
                "HWHSH": 55,
                "HWHOH": 45,
                "HSHOH": 20,
                "HSOH": 30,
                "HO": 20,
                "WH": 25,
                "HW": 25,
            }
        ),
        "weekend": MappingProxyType(
            {
                "HSH": 270,
                "HOH": 210,
                "HSOH": 130,
                "HOSH": 70,
                "HSHOH": 110,
                "HWH": 90,
                "HWNH": 20,
                "HO": 50,
                "OH": 50,
            }
        ),
    }
)

DAYS = tuple(_CHAINS)


def _spread(start: int, *weights: int) -> dict[int, int]:
    """Return weights of successive hours."""
    return {start + step: weight for step, weight in enumerate(weights)}


# Hours of departure of each leg, by its two ends. What is not named here falls back on "*".
_HOURS: Mapping[str, Mapping[str, Mapping[int, int]]] = MappingProxyType(
    {
        "weekday": MappingProxyType(
            {
                "HW": _spread(4, 1, 4, 14, 40, 39, 13, 6, 4, 4, 4, 3, 2),
                "WH": _spread(
                    0, 20, 12, 8, 6, 5, 8, 9, 8, 2, 1, 1, 2, 4, 5, 7, 11, 27, 28, 15, 8, 6, 4, 4, 3
                ),
                "WS": _spread(13, 2, 4, 9, 24, 26, 14, 6, 3),
                "WN": _spread(11, 20, 24, 8, 2, 4, 14, 22, 18, 8),
                "NW": _spread(13, 20, 24, 12),
                "NH": _spread(17, 4, 8, 16, 22, 24, 20, 14),
                "HS": _spread(7, 5, 10, 11, 13, 12, 9, 8, 9, 9, 10, 11, 10, 7, 3),
                "SH": _spread(9, 4, 7, 10, 11, 9, 9, 10, 12, 12, 12, 10, 7, 4),
                "HO": _spread(8, 3, 5, 6, 6, 6, 6, 6, 7, 8, 9, 12, 14, 9, 4),
                "OH": _spread(10, 2, 3, 4, 5, 6, 7, 8, 8, 9, 10, 12, 14, 13, 10),
                "*": _spread(9, 4, 8, 10, 10, 10, 10, 10, 10, 10, 8, 6, 4),
            }
        ),
        "weekend": MappingProxyType(
            {
                "HW": _spread(5, 3, 8, 14, 16, 14, 10, 8, 6, 5, 4, 3, 2),
                "WH": _spread(10, 3, 4, 5, 8, 10, 12, 14, 14, 10, 8, 6, 5, 4, 3),
                "HO": _spread(8, 3, 6, 10, 11, 10, 10, 10, 9, 9, 10, 12, 11, 7, 3),
                "OH": _spread(
                    0, 4, 2, 1, 0, 0, 0, 0, 2, 3, 4, 5, 5, 6, 7, 8, 9, 10, 11, 11, 10, 10, 11, 12, 9
                ),
                "*": _spread(8, 3, 7, 12, 14, 13, 12, 11, 10, 10, 9, 8, 6, 4, 2),
            }
        ),
    }
)


def _rows_of(chain: str, hours: Mapping[str, Mapping[int, int]]) -> Iterator[tuple[tuple[int, ...], int]]:
    """Yield every row of departure hours of a chain with its relative weight."""

    def extend(
        leg: int, earliest: int, so_far: tuple[int, ...], weight: int
    ) -> Iterator[tuple[tuple[int, ...], int]]:
        if leg == len(chain) - 1:
            yield so_far, weight
            return
        table = hours.get(chain[leg : leg + 2], hours["*"])
        for hour, part in table.items():
            if hour >= earliest and part:
                yield from extend(leg + 1, hour + MIN_GAP_H, (*so_far, hour), weight * part)

    yield from extend(0, 0, (), 1)


@cache
def day_schedule(day: str) -> Schedule:
    """Return the table of days of a day type.

    Parameters
    ----------
    day
        ``weekday`` or ``weekend``.

    Raises
    ------
    ParameterError
        If there is no such day type.
    """
    if day not in _CHAINS:
        raise ParameterError("day", f"There is no day type {day!r}; choose one of {', '.join(DAYS)}.")
    weights, trips, places, hours = [], [], [], []
    for chain, share in _CHAINS[day].items():
        legs = len(chain) - 1
        kinds = [int(_LETTERS[letter]) for letter in chain]
        rows = list(_rows_of(chain, _HOURS[day]))
        total = sum(weight for _, weight in rows)
        for departures, weight in rows:
            scaled = share * _WEIGHT_SCALE * weight // total
            if scaled:
                weights.append(scaled)
                trips.append(legs)
                places.append(kinds + [kinds[-1]] * (MAX_TRIPS - legs))
                hours.append([*departures, *[24] * (MAX_TRIPS - legs)])
    weight_array = np.array(weights, dtype=np.int64)
    return Schedule(
        day=day,
        weights=weight_array,
        cumulative=np.cumsum(weight_array),
        trips=np.array(trips, dtype=np.int64),
        places=np.array(places, dtype=np.int8),
        hours=np.array(hours, dtype=np.int8),
    )
