"""Synthetic trips of a city, and the exact law they follow.

Every device has a home, a work or study place, and places for shopping and going out; each day it
lives one row of a table of days (``ldpcore.trips.schedule``) over its own addresses
(``ldpcore.trips.addresses``). Devices come in blocks of 100,000, each with its own random streams
named by (seed, block number): asking for more devices only adds to what is there.

Because the table of days does not depend on geography, the law of what a device reports is an exact
finite mixture: (how often its value is a place of each kind) times (where places of that kind are).
``cell_law`` gives it, and above two million devices ``synthetic_counts`` draws from it.

An hour always means the hour in which a trip starts, for destinations too. ``presence`` is where a
device is when the hour begins; one that is under way counts at the place it is heading for.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pandas as pd

from ldpcore.errors import ParameterError
from ldpcore.shapes import FloatArray, IntArray
from ldpcore.trips.addresses import AddressBook, address_book, lognormal_table
from ldpcore.trips.cities import city_domain
from ldpcore.trips.schedule import DAYS, MAX_TRIPS, Place, Schedule, day_schedule

BLOCK_DEVICES = 100_000
"""Devices in a block."""

MAX_DEVICES_BY_TRIPS = 2_000_000
"""Above this number of devices, ``synthetic_counts`` draws from the exact law instead of making trips."""

DEFAULT_PRESENCE_HOUR = 12
"""Hour of ``presence`` when none is given."""

QUERIES = ("origins", "destinations", "presence")
"""Questions with one value per device."""

_MICRO = 1_000_000
_FIRST_DAY = {
    "weekday": (np.datetime64("2024-06-05"), "1111100"),
    "weekend": (np.datetime64("2024-06-08"), "0000011"),
}

# Names of the random streams; a new one takes a new number, so the old ones keep their values.
_ANCHORS, _DAY, _FRESH, _CLOCK, _LAW = range(5)

# Share of visits to shops, places out and places near work that go to one not among the device's usual.
_FRESH_SHARE = int(0.80 * (1 << 32))

# Minutes for the first path kilometre; longer trips are faster: minutes grow as km^(5/8).
_FIRST_KM_MIN = 3.9
_DURATION_LOG_SD = 0.42
_SHORTEST_S = 60
# Path length over straight line, from the first to the sum of both, evenly.
_NETWORK_FACTOR = (1.20, 0.30)


class CellLaw(NamedTuple):
    """What a device reports, as a probability law.

    Parameters
    ----------
    probabilities
        (d,) float64, probability of each cell given that the device has a value; sums to 1.
    share
        Share of devices that have a value.
    """

    probabilities: FloatArray
    share: float


@dataclass(frozen=True, eq=False)
class SyntheticCounts:
    """True counts of a synthetic city.

    ``true_counts.sum() + not_chosen + no_value == trips_read``.

    Parameters
    ----------
    true_counts
        (d,) int64, devices whose value is each cell.
    trips_read
        Trips made by all devices.
    not_chosen
        Trips of devices that have a value, beside the one trip it comes from.
    no_value
        Trips of devices that have no value, because none of their trips starts in the hour.
    drawn
        Whether the counts were drawn from the exact law rather than counted over trips.
    """

    true_counts: IntArray
    trips_read: int
    not_chosen: int
    no_value: int
    drawn: bool


def generate_trips(
    city: str, *, devices: int, seed: int, day: str = "weekday", day_number: int = 0
) -> pd.DataFrame:
    """Make the trips of a simulated day.

    Parameters
    ----------
    city
        Slug of a built-in city.
    devices
        Number of devices, 0 or more. Each makes 1 to 4 trips, about 2.5 on a weekday.
    seed
        Whole number, 0 or more. The first devices of a longer run are those of a shorter one.
    day
        ``weekday`` or ``weekend``.
    day_number
        Which weekday or weekend day, counted from 0; the same devices keep their home, work and
        usual places from day to day.

    Returns
    -------
    One row per trip, sorted by device and time: ``device`` and ``trip`` (int64), ``start_lat``,
    ``start_lng``, ``end_lat``, ``end_lng`` (degrees), ``start_time``, ``end_time`` (local, without zone),
    ``length_m`` (along the path).

    Raises
    ------
    ParameterError
        If the city or the day type does not exist, or a number is out of range.
    """
    blocks = list(trip_blocks(city, devices=devices, seed=seed, day=day, day_number=day_number))
    return pd.concat(blocks, ignore_index=True)


def trip_blocks(
    city: str, *, devices: int, seed: int, day: str = "weekday", day_number: int = 0
) -> Iterator[pd.DataFrame]:
    """Make the trips of a simulated day, a block of 100,000 devices at a time.

    Parameters and columns are those of ``generate_trips``; there is at least one block, which is
    empty without devices. Settings are checked at once, before the first block is asked for.
    """
    book, schedule = address_book(city), day_schedule(day)
    _check(devices=devices, seed=seed, day_number=day_number)
    return (
        _Block(book, schedule, seed=seed, number=number, size=size, day_number=day_number).frame()
        for number, size in _block_sizes(devices)
    )


def trips_of_book(book: AddressBook, *, devices: int, seed: int, day: str = "weekday") -> pd.DataFrame:
    """Make up to one block of trips over addresses that are not yet those of a built-in city."""
    return _Block(book, day_schedule(day), seed=seed, number=0, size=min(devices, BLOCK_DEVICES)).frame()


def synthetic_values(
    city: str,
    *,
    devices: int,
    seed: int,
    query: str,
    resolution: int,
    day: str = "weekday",
    hour: int | None = None,
) -> IntArray:
    """Return what each device would report.

    ``origins`` and ``destinations``: one trip of the day, chosen at random, or with an hour the one
    trip that starts in it. ``presence``: where the device is when the hour begins.

    Parameters
    ----------
    city, devices, seed, day
        As in ``generate_trips``.
    query
        One of ``QUERIES``.
    resolution
        H3 resolution, 5 to 10.
    hour
        0 to 23, or None for the whole day; ``presence`` then takes ``DEFAULT_PRESENCE_HOUR``.

    Returns
    -------
    (n,) int64, indices in ``city_domain(city, resolution)``, in the order of the devices, n at most
    ``devices``: one for each device that has a value.

    Raises
    ------
    ParameterError
        If a setting does not exist or is out of range.
    """
    parts = [
        values
        for values, _ in _values_by_block(
            city, devices=devices, seed=seed, query=query, resolution=resolution, day=day, hour=hour
        )
    ]
    return np.concatenate([np.empty(0, dtype=np.int64), *parts])


def synthetic_counts(
    city: str,
    *,
    devices: int,
    seed: int,
    query: str,
    resolution: int,
    day: str = "weekday",
    hour: int | None = None,
) -> SyntheticCounts:
    """Count the devices in each cell.

    Up to ``MAX_DEVICES_BY_TRIPS`` devices the counts are those of ``synthetic_values``. Above, they are
    drawn from the exact law, in time that depends on the cells and not on the devices; the result
    has the same distribution, but a given seed gives other counts.

    Parameters are those of ``synthetic_values``; so are the errors.
    """
    size = city_domain(city, resolution).size
    if devices > MAX_DEVICES_BY_TRIPS:
        return _drawn_counts(
            city, devices=devices, seed=seed, query=query, resolution=resolution, day=day, hour=hour
        )
    counts = np.zeros(size, dtype=np.int64)
    trips_read = trips_with_value = 0
    for values, block in _values_by_block(
        city, devices=devices, seed=seed, query=query, resolution=resolution, day=day, hour=hour
    ):
        counts += np.bincount(values, minlength=size)
        trips_read += int(block.trips.sum())
        trips_with_value += int(block.trips[block.chosen(query, hour)[0]].sum())
    return SyntheticCounts(
        true_counts=counts,
        trips_read=trips_read,
        not_chosen=trips_with_value - int(counts.sum()),
        no_value=trips_read - trips_with_value,
        drawn=False,
    )


def cell_law(
    city: str, *, query: str, resolution: int, day: str = "weekday", hour: int | None = None
) -> CellLaw:
    """Return the exact law of what a device of the synthetic city reports.

    Exact up to the generator's 32-bit uniform numbers: below one part in a thousand million.

    Parameters are those of ``synthetic_values``; so are the errors.
    """
    shares = _place_shares(query, day, hour).sum(axis=0)
    share = float(shares.sum())
    mass = shares @ _place_cell_law(city, resolution)
    return CellLaw(mass / share if share > 0 else mass, min(share, 1.0))


def _check(**numbers: int) -> None:
    """Refuse numbers that are not whole or are negative."""
    for name, value in numbers.items():
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 0:
            raise ParameterError(
                name, f"{name.replace('_', ' ')} must be a whole number, 0 or more, not {value!r}."
            )


def _checked_hour(query: str, hour: int | None) -> int | None:
    """Check the question and its hour; return the hour to use."""
    if query not in QUERIES:
        raise ParameterError(
            "query", f"There is no query {query!r} for one value; choose one of {', '.join(QUERIES)}."
        )
    if hour is None:
        return DEFAULT_PRESENCE_HOUR if query == "presence" else None
    if isinstance(hour, bool) or not isinstance(hour, (int, np.integer)) or not 0 <= hour <= 23:
        raise ParameterError("hour", f"The hour must be a whole number from 0 to 23, not {hour!r}.")
    return int(hour)


def _block_sizes(devices: int) -> Iterator[tuple[int, int]]:
    """Yield the number and size of each block; one empty block without devices."""
    for number in range(max(1, math.ceil(devices / BLOCK_DEVICES))):
        yield number, min(BLOCK_DEVICES, devices - number * BLOCK_DEVICES)


def _values_by_block(
    city: str, *, devices: int, seed: int, query: str, resolution: int, day: str, hour: int | None
) -> Iterator[tuple[IntArray, _Block]]:
    """Yield the values of each block with the block."""
    book, schedule = address_book(city), day_schedule(day)
    hour = _checked_hour(query, hour)
    _check(devices=devices, seed=seed)
    index = book.index_at(city_domain(city, resolution).resolution)
    for number, size in _block_sizes(devices):
        block = _Block(book, schedule, seed=seed, number=number, size=size)
        yield index[block.value_addresses(query, hour)].astype(np.int64), block


def _place_shares(query: str, day: str, hour: int | None) -> FloatArray:
    """Return [trips a day, kind of place] probabilities of a device's value."""
    return day_schedule(day).place_shares(query, _checked_hour(query, hour))


def _place_cell_law(city: str, resolution: int) -> FloatArray:
    """Return (5, d) float64: for each kind of place the probability of each cell."""
    book = address_book(city)
    size = city_domain(city, resolution).size
    index = book.index_at(resolution)
    return np.stack([np.bincount(index, weights=law, minlength=size) for law in book.place_law])


def _drawn_counts(
    city: str, *, devices: int, seed: int, query: str, resolution: int, day: str, hour: int | None
) -> SyntheticCounts:
    """Draw counts from the exact law, jointly with the numbers of trips."""
    _check(devices=devices, seed=seed)
    places = _place_shares(query, day, hour)  # (MAX_TRIPS + 1, 5)
    cells = _place_cell_law(city, resolution)
    schedule = day_schedule(day)
    all_shares = np.bincount(schedule.trips, schedule.weights, MAX_TRIPS + 1) / schedule.total
    # Trips come before the question, on a stream of their own for who has a value: one seed is one set of
    # trips, whatever is asked about them.
    rng = _stream(seed, 0, _LAW, 0)
    order = np.roll(np.arange(MAX_TRIPS + 1), -1)  # devices without trips last
    making = np.empty(MAX_TRIPS + 1, dtype=np.int64)
    making[order] = rng.multinomial(devices, all_shares[order] / all_shares.sum())
    chance = np.divide(places.sum(axis=1), all_shares, out=np.zeros_like(all_shares), where=all_shares > 0)
    # The sums are rounded: a chance within their last digits of 1 is certain.
    chance = np.where(chance > 1 - 1e-12, 1.0, chance)
    holding = _stream(seed, 0, _LAW, 1).binomial(making, chance)
    drawn = np.stack([holding, making - holding])
    counts = np.zeros(cells.shape[1], dtype=np.int64)
    for trips in range(1, MAX_TRIPS + 1):
        if drawn[0, trips]:
            law = places[trips] @ cells
            counts += rng.multinomial(drawn[0, trips], law / law.sum())
    number = np.arange(MAX_TRIPS + 1)
    trips_with_value, trips_without = (int(part) for part in drawn @ number)
    return SyntheticCounts(
        true_counts=counts,
        trips_read=trips_with_value + trips_without,
        not_chosen=trips_with_value - int(counts.sum()),
        no_value=trips_without,
        drawn=True,
    )


def _stream(seed: int, block: int, purpose: int, day_number: int) -> np.random.Generator:
    """Return the random stream of a block for one purpose."""
    return np.random.Generator(
        np.random.Philox(np.random.SeedSequence((int(seed), block, purpose, day_number)))
    )


class _Block:
    """Up to 100,000 devices on one day; every array is made when first asked for."""

    def __init__(
        self, book: AddressBook, schedule: Schedule, *, seed: int, number: int, size: int, day_number: int = 0
    ) -> None:
        self.book = book
        self.schedule = schedule
        self.seed = seed
        self.number = number
        self.size = size
        self.day_number = day_number

    def _uniform(self, purpose: int, rows: int, day_number: int) -> IntArray:
        """Return (rows, size) int64, uniform in [0, 2^32)."""
        # A whole block is always drawn, so that device i has the same numbers in a block of any size.
        rng = _stream(self.seed, self.number, purpose, day_number)
        bits = rng.integers(0, 1 << 32, size=(rows, BLOCK_DEVICES), dtype=np.uint32)
        return bits[:, : self.size].astype(np.int64)

    @cached_property
    def _anchor_bits(self) -> IntArray:
        return self._uniform(_ANCHORS, 2 * len(Place), 0)

    @cached_property
    def _day_bits(self) -> IntArray:
        return self._uniform(_DAY, 2, self._day_key)

    @cached_property
    def _fresh_bits(self) -> IntArray:
        return self._uniform(_FRESH, 9, self._day_key)

    @property
    def _day_key(self) -> int:
        return 2 * self.day_number + DAYS.index(self.schedule.day)

    @cached_property
    def rows(self) -> IntArray:
        """Row of the table of days that each device lives."""
        target = (self._day_bits[0] * self.schedule.total) >> 32
        rows: IntArray = np.searchsorted(self.schedule.cumulative, target, side="right").astype(np.int64)
        return rows

    @cached_property
    def trips(self) -> IntArray:
        """Trips of each device."""
        trips: IntArray = self.schedule.trips[self.rows]
        return trips

    @cached_property
    def _homes(self) -> IntArray:
        return self.book.draw(Place.HOME, None, *self._anchor_bits[:2])

    def addresses(self, place: Place, who: IntArray) -> IntArray:
        """Return the addresses at which some devices have a kind of place on this day."""
        home = self._homes[who]
        if place == Place.HOME:
            return home
        zone_bits, bits = self._anchor_bits[2 * place, who], self._anchor_bits[2 * place + 1, who]
        if place == Place.WORK:
            return self.book.draw(place, home, zone_bits, bits)
        row = 3 * (place - Place.SHOP)
        fresh = self._fresh_bits[row, who] < _FRESH_SHARE
        zone_bits = np.where(fresh, self._fresh_bits[row + 1, who], zone_bits)
        bits = np.where(fresh, self._fresh_bits[row + 2, who], bits)
        given = self.addresses(Place.WORK, who) if place == Place.NEAR_WORK else home
        return self.book.draw(place, given, zone_bits, bits)

    def chosen(self, query: str, hour: int | None) -> tuple[IntArray, IntArray]:
        """Return which devices have a value, and at which stop of their chain it lies."""
        everyone = np.arange(self.size)
        if query == "presence":
            return everyone, self.schedule.stop_at(self.rows, DEFAULT_PRESENCE_HOUR if hour is None else hour)
        shift = 1 if query == "destinations" else 0
        if hour is None:
            return everyone, ((self._day_bits[1] * self.trips) >> 32) + shift
        starts = self.schedule.hours[self.rows] == hour
        return np.flatnonzero(starts.any(axis=1)), starts.argmax(axis=1)[starts.any(axis=1)] + shift

    def value_addresses(self, query: str, hour: int | None) -> IntArray:
        """Return the address that each device with a value would report."""
        who, stop = self.chosen(query, hour)
        kinds = self.schedule.places[self.rows[who], stop]
        found = np.empty(who.size, dtype=np.int64)
        for place in Place:
            of_kind = np.flatnonzero(kinds == place)
            found[of_kind] = self.addresses(place, who[of_kind])
        return found

    def frame(self) -> pd.DataFrame:
        """Return the trips as a table."""
        schedule, book = self.schedule, self.book
        kinds = schedule.places[self.rows]
        stops = np.empty(kinds.shape, dtype=np.int64)
        for place in Place:
            here = kinds == place
            who = np.flatnonzero(here.any(axis=1))
            row, column = np.nonzero(here[who])
            stops[who[row], column] = self.addresses(place, who)[row]
        leg = np.arange(MAX_TRIPS)
        made = leg[None, :] < self.trips[:, None]
        origin, destination = stops[:, :-1][made], stops[:, 1:][made]
        device = np.broadcast_to(np.arange(self.size)[:, None], made.shape)[made]
        leg_number = np.broadcast_to(leg[None, :], made.shape)[made]

        clock = self._uniform(_CLOCK, 3 * MAX_TRIPS, self._day_key).reshape(3, MAX_TRIPS, self.size)
        second, slowness, detour = (np.ascontiguousarray(part.T)[made] for part in clock)
        start_s = schedule.hours[self.rows][made].astype(np.int64) * 3600 + ((second * 3600) >> 32)
        start_lat, start_lng = book.lat_e6[origin], book.lng_e6[origin]
        end_lat, end_lng = book.lat_e6[destination], book.lng_e6[destination]
        straight_m = book.distance_m(start_lat, start_lng, end_lat, end_lng)
        length_m = np.maximum(
            np.rint(straight_m * (_NETWORK_FACTOR[0] + _NETWORK_FACTOR[1] * detour / 2**32)), 1.0
        )
        end_s = start_s + _duration_s(length_m, slowness)
        # A trip is over before the next one of the same device starts.
        followed = device[1:] == device[:-1]
        end_s[:-1] = np.where(followed, np.minimum(end_s[:-1], start_s[1:]), end_s[:-1])

        first, mask = _FIRST_DAY[schedule.day]
        date = np.busday_offset(first, self.day_number, weekmask=mask).astype("datetime64[s]")
        number = device + self.number * BLOCK_DEVICES
        return pd.DataFrame(
            {
                "device": number,
                "trip": number * MAX_TRIPS + leg_number,
                "start_lat": start_lat / _MICRO,
                "start_lng": start_lng / _MICRO,
                "end_lat": end_lat / _MICRO,
                "end_lng": end_lng / _MICRO,
                "start_time": date + start_s.astype("timedelta64[s]"),
                "end_time": date + end_s.astype("timedelta64[s]"),
                "length_m": length_m,
            }
        )


_SLOWNESS = lognormal_table(_DURATION_LOG_SD)


def _duration_s(length_m: FloatArray, slowness: IntArray) -> IntArray:
    """Return trip durations in whole seconds, from path lengths and uniform 32-bit numbers."""
    # km^(5/8) by square roots, which IEEE 754 rounds exactly; a power function is not.
    root = np.sqrt(length_m / 1000.0)
    minutes = _FIRST_KM_MIN * root * np.sqrt(np.sqrt(root)) * _SLOWNESS[slowness >> 22]
    seconds: IntArray = np.maximum(np.rint(minutes * 60.0), _SHORTEST_S).astype(np.int64)
    return seconds
