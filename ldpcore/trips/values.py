"""From trips to one value per device or trip: the cell that answers the question.

What a question means for a file (all times on the clock of the area):

* ``origins`` - where a trip starts; with an hour, of the trips that start in it.
* ``destinations`` - where a trip ends; with an hour, of the trips that end in it.
* ``presence`` - where one is in hour h (12 if none is given). Without ids of persons each trip
  under way at some time in the hour counts: at its origin if it started in the hour, else at its
  destination. With persons it is the last place known at h o'clock that day, else the first one;
  an end after midnight is left out.

A person gives one value a day: of the rows that answer the question inside the area, one chosen
at random (for presence, the one described). The day is that of the start (destinations: of the end).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np
import pandas as pd

from ldpcore.domain import Area, Domain
from ldpcore.errors import ParameterError, TripFileError
from ldpcore.shapes import ByteArray, IntArray
from ldpcore.trips.areas import fit_to_area
from ldpcore.trips.clock import MICROSECONDS_A_DAY, TimeArray, day_number, hour_of_day, is_weekend, to_local
from ldpcore.trips.table import REASON_CODES, REASONS, TripTable, Unit, count_reasons

DEFAULT_HOUR = 12
_DAYS = ("weekday", "weekend")


@dataclass(frozen=True, eq=False)
class TableValues:
    """One value per device-day or trip.

    Attributes
    ----------
    values
        (n,) int64, each the index of a cell in the domain.
    dropped
        Rows left out at this stage, by reason; those left out while reading are in the table.
    unit
        "device" or "trip".
    rows
        (n,) int64, row of the file each value comes from.
    row_codes
        (rows_read,) uint8, place in `REASONS` of what became of each row, both stages together.
    mended, notes
        What was put right, with that of the reading, now that the area is known.
    """

    values: IntArray
    dropped: dict[str, int]
    unit: Unit
    rows: IntArray
    row_codes: ByteArray
    mended: Mapping[str, int] = field(default_factory=dict)
    notes: Sequence[str] = ()


@dataclass
class _Work:
    """A question on its way to an answer, over the rows of the frame."""

    table: TripTable
    domain: Domain
    day: str | None
    hour: int | None
    rng: np.random.Generator
    start: TimeArray | None
    end: TimeArray | None
    codes: ByteArray  # reason per row so far
    index: IntArray  # cell per row, -1 where there is none


def table_values(
    table: TripTable,
    *,
    area: Area,
    domain: Domain,
    query: str = "origins",
    day: str | None = None,
    hour: int | None = None,
    seed: int = 1,
) -> TableValues:
    """Turn trips into values.

    Parameters
    ----------
    table
        Trips from `read_trips`.
    area
        Service area; its time zone is the clock used.
    domain
        Cells of the area.
    query
        One of `QUERIES`.
    day
        "weekday", "weekend", or None for every day.
    hour
        Local hour from 0 to 23, or None.
    seed
        Seed of the choice among a person's trips of a day.

    Raises
    ------
    ParameterError
        If the query, day or hour does not exist.
    TripFileError
        If no row gives a value; the sentence says why.
    """
    if query not in QUERIES:
        raise ParameterError(
            "query", f"There is no query {query!r} for a file; there are {', '.join(QUERIES)}."
        )
    if day is not None and day not in _DAYS:
        raise ParameterError("day", f"There is no kind of day {day!r}; there are weekday and weekend.")
    if hour is not None and not 0 <= hour <= 23:
        raise ParameterError("hour", f"The hour must be between 0 and 23, not {hour}.")
    table = fit_to_area(table, area)
    size = len(table.frame)
    work = _Work(
        table,
        domain,
        day,
        hour,
        np.random.default_rng(seed),
        _local(table, "start", area),
        _local(table, "end", area),
        np.zeros(size, dtype=np.uint8),
        np.full(size, -1, dtype=np.int64),
    )
    QUERIES[query](work)
    used = work.codes == 0
    numbers = np.asarray(table.frame.index, dtype=np.int64)
    row_codes = table.row_codes.copy()
    row_codes[numbers] = work.codes
    dropped = count_reasons(work.codes)
    if not used.any():
        raise TripFileError(_nothing(table, area, dropped))
    return TableValues(
        work.index[used], dropped, table.unit, numbers[used], row_codes, table.mended, table.notes
    )


def _local(table: TripTable, side: str, area: Area) -> TimeArray | None:
    utc = table.start_utc if side == "start" else table.end_utc
    if utc is None:
        return None
    value = table.frame[f"{side}_time"].to_numpy()
    return to_local(value, utc, timezone=area.timezone, written_in=table.timezone)


def _nothing(table: TripTable, area: Area, dropped: Mapping[str, int]) -> str:
    if set(dropped) == {"outside_area"}:
        return (
            f"None of the {dropped['outside_area']:,} places in {table.name} lies in {area.label}; "
            "choose the area that the trips are in."
        )
    parts = ", ".join(f"{count:,} {REASONS[reason]}" for reason, count in dropped.items())
    return f"No row of {table.name} answers the question: {parts}."


def _problem(work: _Work, side: str) -> ByteArray:
    """Reason why the start or end place of each row is unusable."""
    if side == "start":
        return work.table.start_problem
    if work.table.end_problem is None:
        raise TripFileError(f"{work.table.name} has no end places; ask for origins.")
    return work.table.end_problem


def _mark(work: _Work, where: np.ndarray[tuple[int], np.dtype[np.bool_]], reason: str) -> None:
    work.codes[where & (work.codes == 0)] = REASON_CODES[reason]


def _place(work: _Work, side: str, rows: IntArray) -> None:
    """Find the cell of the start or end of some rows."""
    frame = work.table.frame
    lat = frame[f"{side}_lat"].to_numpy()[rows]
    lng = frame[f"{side}_lng"].to_numpy()[rows]
    work.index[rows] = work.domain.index_of_points(lat, lng)


def _time(work: _Work, side: str) -> TimeArray:
    value = work.start if side == "start" else work.end
    if value is None:
        raise TripFileError(
            f"{work.table.name} has no column of {side} times; ask without a day and an hour."
        )
    return value


def _ends_of_trips(work: _Work, side: str) -> None:
    np.copyto(work.codes, _problem(work, side))
    if work.day is not None or work.hour is not None:
        time = _time(work, side)
        _mark(work, np.isnat(time), "unreadable_time")
        if work.day is not None:
            _mark(work, is_weekend(day_number(time)) != (work.day == "weekend"), "other_day")
        if work.hour is not None:
            _mark(work, hour_of_day(time) != work.hour, "other_hour")
    _place(work, side, np.flatnonzero(work.codes == 0))
    _mark(work, work.index < 0, "outside_area")
    if work.table.unit == "device":
        _one_a_day(work, work.start if side == "start" else work.end)


def _one_a_day(work: _Work, time: TimeArray | None) -> None:
    """Keep one row per person and local day, at random; rows without a person stand alone."""
    rows = np.flatnonzero(work.codes == 0)
    rows = rows[work.rng.permutation(rows.size)]
    group = _groups(work, rows, time)
    _, first = np.unique(group, return_index=True)
    chosen = np.zeros(work.codes.size, dtype=np.bool_)
    chosen[rows[first]] = True
    _mark(work, ~chosen, "not_chosen")


def _groups(work: _Work, rows: IntArray, time: TimeArray | None) -> IntArray:
    """Return (n,) int64, equal for rows of one person and day."""
    person, people = pd.factorize(work.table.frame["device"].to_numpy()[rows])
    person = person.astype(np.int64)
    alone = person < 0
    person[alone] = len(people) + np.arange(np.count_nonzero(alone))
    if time is None:
        return person
    unknown = np.isnat(time[rows])
    day = np.where(unknown, 0, day_number(time[rows]))
    day = np.where(unknown, 0, day - day.min() + 1) if day.size else day
    return person * (int(day.max(initial=0)) + 1) + day


def _presence(work: _Work) -> None:
    if work.table.unit == "device":
        _presence_of_people(work)
    else:
        _presence_of_trips(work)


def _presence_of_trips(work: _Work) -> None:
    hour = DEFAULT_HOUR if work.hour is None else work.hour
    start = _time(work, "start")
    end = start if work.end is None else work.end
    no_end = np.isnat(end)
    known_end = np.where(no_end, start, end)
    _mark(work, np.isnat(start), "unreadable_time")
    # The latest o'clock of that hour at or before the start, and the next one.
    stamp = start.astype(np.int64)
    offset = np.int64(hour) * (MICROSECONDS_A_DAY // 24)
    day = (stamp - offset) // MICROSECONDS_A_DAY
    clock = day * MICROSECONDS_A_DAY + offset
    started_in = stamp - clock < MICROSECONDS_A_DAY // 24
    later = known_end.astype(np.int64) >= clock + MICROSECONDS_A_DAY
    if work.end is not None:
        _mark(work, ~started_in & no_end, "unreadable_time")
    if work.day is not None:
        counted = np.where(started_in, day, day + 1)
        _mark(work, is_weekend(counted) != (work.day == "weekend"), "other_day")
    _mark(work, ~started_in & ~later, "other_hour")
    begun = np.flatnonzero(started_in & (work.codes == 0))
    work.codes[begun] = work.table.start_problem[begun]
    _place(work, "start", begun[work.codes[begun] == 0])
    ended = np.flatnonzero(~started_in & (work.codes == 0))
    if ended.size:
        work.codes[ended] = _problem(work, "end")[ended]
        _place(work, "end", ended[work.codes[ended] == 0])
    _mark(work, work.index < 0, "outside_area")


def _presence_of_people(work: _Work) -> None:
    hour = DEFAULT_HOUR if work.hour is None else work.hour
    start = _time(work, "start")
    day = day_number(start)
    _mark(work, np.isnat(start), "unreadable_time")
    if work.day is not None:
        _mark(work, is_weekend(day) != (work.day == "weekend"), "other_day")
    open_rows = work.codes == 0
    rows = [np.flatnonzero(open_rows & (work.table.start_problem == 0))]
    times, sides = [start[rows[0]]], [np.zeros(rows[0].size, dtype=np.int64)]
    if work.end is not None and work.table.end_problem is not None:
        same_day = ~np.isnat(work.end) & (day_number(work.end) == day)
        ends = np.flatnonzero(open_rows & same_day & (work.table.end_problem == 0))
        rows.append(ends)
        times.append(work.end[ends])
        sides.append(np.ones(ends.size, dtype=np.int64))
    row, time, side = np.concatenate(rows), np.concatenate(times), np.concatenate(sides)
    without = open_rows.copy()
    without[row] = False
    work.codes[without] = work.table.start_problem[without]
    group = _groups(work, row, start)
    since = time.astype(np.int64) - day[row] * MICROSECONDS_A_DAY - hour * (MICROSECONDS_A_DAY // 24)
    # Known places first, latest first; then the later ones, earliest first.
    order = np.lexsort((side, np.where(since <= 0, -since, since), since > 0, group))
    _, first = np.unique(group[order], return_index=True)
    picked = order[first]
    chosen = np.zeros(work.codes.size, dtype=np.bool_)
    chosen[row[picked]] = True
    _mark(work, ~chosen, "not_chosen")
    for number, name in enumerate(("start", "end")):
        mine = row[picked[side[picked] == number]]
        if mine.size:
            _place(work, name, mine)
    _mark(work, work.index < 0, "outside_area")


#: The questions a file can answer, each a function that fills in cell and reason per row.
QUERIES: Mapping[str, Callable[[_Work], None]] = MappingProxyType(
    {
        "origins": lambda work: _ends_of_trips(work, "start"),
        "destinations": lambda work: _ends_of_trips(work, "end"),
        "presence": _presence,
    }
)
