"""Read the trip files that users bring: recognise, map, check, and account for every row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from ldpcore.errors import TripFileError
from ldpcore.shapes import BoolArray, IntArray
from ldpcore.trips.cities import CITIES
from ldpcore.trips.clock import check_timezone
from ldpcore.trips.convert import Times, clean_text, one_array, to_numbers, to_text, to_times
from ldpcore.trips.quality import Draft, Side, check
from ldpcore.trips.readers import Readable, as_source, open_raw
from ldpcore.trips.schemas import FIELDS, SCHEMAS, Box, Recognised, correct, recognise
from ldpcore.trips.table import REASON_CODES, Loaded, RawTable, TripTable, Unit, count_reasons

__all__ = ["FIELDS", "SCHEMAS", "TripTable", "read_trips"]

_POLYLINE_STEP_S = 15
_NO_TIME = np.datetime64("NaT", "us")


def read_trips(
    source: Readable,
    *,
    name: str = "",
    mapping: Mapping[str, str] | None = None,
    timezone: str | None = None,
    homes: Sequence[Box] = (),
) -> TripTable:
    """Read a file of trips.

    Parameters
    ----------
    source
        Path, bytes, or an open binary file. Everything stays in memory.
    name
        Label for messages; by default the last part of the path. Never used as a path.
    mapping
        Corrections: canonical column (see `FIELDS`) to column of the file; an empty name takes
        the field out.
    timezone
        IANA zone of times that carry none; by default the clock of the area.
    homes
        Boxes (west, south, east, north) in which the trips should lie, where that is known, to
        tell latitude and longitude apart.

    Returns
    -------
    TripTable
        One row per trip, and what became of each row of the file.

    Raises
    ------
    TripFileError
        If the file cannot be used; one sentence with the reason and the remedy.
    ParameterError
        If the mapping names what does not exist, or the time zone is unknown.
    """
    zone = check_timezone(timezone) if timezone else None
    content = as_source(source, name)
    raw = open_raw(content)
    recognised = recognise(raw.names, label=content.name)
    if mapping:
        recognised = correct(recognised, raw.names, mapping)
    _require_places(recognised, raw, content.name)
    columns, loaded = _load(raw, recognised)
    if loaded.rows_read == 0:
        raise TripFileError(f"{content.name} has a header and no rows, so there is no trip in it.")
    builder = _Builder(raw, recognised, columns, loaded, content.name)
    builder.places(homes)
    builder.times()
    builder.ids()
    return builder.finish(digest=content.digest, timezone=zone)


def _require_places(recognised: Recognised, raw: RawTable, label: str) -> None:
    places = recognised.places
    if "polyline" in places:
        return
    pairs = [(f"{side}_lat" in places, f"{side}_lng" in places) for side in ("start", "end")]
    if any(all(pair) for pair in pairs) and not any(any(pair) and not all(pair) for pair in pairs):
        return
    shown = ", ".join(raw.names[:12]) + (", ..." if len(raw.names) > 12 else "")
    raise TripFileError(
        f"{label} has no pair of columns for latitude and longitude that can be told by their names; "
        f"it has {shown}. Name them in the mapping."
    )


def _load(raw: RawTable, recognised: Recognised) -> tuple[dict[str, Any], Loaded]:
    order = list(recognised.places.items())
    loaded = raw.load([place for _, place in order])
    return {canonical: one_array(c) for (canonical, _), c in zip(order, loaded.columns, strict=True)}, loaded


class _Builder:
    """Holds the columns while a file turns into a `TripTable`; lives for one call of `read_trips`."""

    def __init__(
        self, raw: RawTable, recognised: Recognised, columns: dict[str, Any], loaded: Loaded, label: str
    ) -> None:
        self.raw, self.recognised, self.columns, self.loaded, self.label = (
            raw,
            recognised,
            columns,
            loaded,
            label,
        )
        self.length = len(next(iter(columns.values())))
        self.sides: dict[str, Side] = {}
        self.notes: list[str] = [*raw.notes, *loaded.notes]
        self.mended: dict[str, int] = dict(loaded.mended)
        self.frame: dict[str, Any] = {}
        self.utc: dict[str, BoolArray] = {}
        self.unit: Unit = "trip"
        self.codes = np.zeros(self.length, dtype=np.uint8)

    def places(self, homes: Sequence[Box]) -> None:
        """Read the coordinates and check them."""
        if "polyline" in self.columns:
            self.sides = _path_ends(self.columns["polyline"], self.frame)
        for name in ("start", "end"):
            if f"{name}_lat" in self.columns:
                numbers = [
                    to_numbers(self.columns[f"{name}_{axis}"], decimal_comma=self.raw.decimal_comma)
                    for axis in ("lat", "lng")
                ]
                self.sides[name] = Side(
                    name,
                    numbers[0].value,
                    numbers[1].value,
                    numbers[0].missing | numbers[1].missing,
                    numbers[0].unreadable | numbers[1].unreadable,
                )
        if "start" not in self.sides:
            self.sides = {"start": _nowhere("start", self.length), **self.sides}
        draft = Draft(
            self.label,
            list(self.sides.values()),
            [*homes, *(self.recognised.schema.homes or [city.bounds for city in CITIES.values()])],
            self.mended,
            self.notes,
        )
        check(draft)
        if self.length and not any(np.any(side.problem == 0) for side in draft.sides):
            raise TripFileError(f"{self.label} has no row with a usable latitude and longitude.")

    def times(self) -> None:
        """Read start and end times, and the end from the duration where only that is there."""
        local_epochs = self.recognised.schema.epoch_is_local
        for name in ("start", "end"):
            if f"{name}_time" in self.columns:
                self._keep(
                    f"{name}_time", to_times(self.columns[f"{name}_time"], epoch_is_local=local_epochs)
                )
        start = self.frame.get("start_time")
        duration = self.frame.pop("duration_s", None)
        if "duration_s" in self.columns:
            duration = to_numbers(self.columns["duration_s"], decimal_comma=self.raw.decimal_comma).value
        if start is not None and "end_time" not in self.frame and duration is not None:
            usable = np.isfinite(duration) & (duration >= 0) & (duration < 1e8)
            step = np.where(usable, duration, 0) * 1e6
            self.frame["end_time"] = np.where(usable, start + step.astype("timedelta64[us]"), _NO_TIME)
            self.utc["end_time"] = self.utc["start_time"].copy()
        if "length_m" in self.columns:
            length = to_numbers(self.columns["length_m"], decimal_comma=self.raw.decimal_comma).value
            self.frame["length_m"] = length * self.recognised.schema.length_factor

    def _keep(self, canonical: str, times: Times) -> None:
        self.frame[canonical], self.utc[canonical] = times.value, times.utc
        self.notes += [note for note in times.notes if note not in self.notes]
        if times.utc.any() and not times.utc.all() and np.count_nonzero(~np.isnat(times.value) & ~times.utc):
            self.notes.append("Some times carry a zone and some do not; those without are taken as local.")
        unreadable = int(np.count_nonzero(times.unreadable))
        if unreadable:
            self.notes.append(
                f"{unreadable:,} values of {self._column(canonical)} are not times; "
                "such rows are left out of questions about time only."
            )

    def _column(self, canonical: str) -> str:
        return self.raw.names[self.recognised.places[canonical]]

    def ids(self) -> None:
        """Read the ids of persons and trips, drop repeated trips and join the points of one trip."""
        if "device" in self.columns:
            person = to_text(self.columns["device"])
            self.unit = "device"
            self.frame["device"] = pd.array(person.to_pandas(), dtype="str")
        if "trip" not in self.columns:
            return
        trip = pc.utf8_trim_whitespace(to_text(self.columns["trip"]))
        trip = pc.if_else(pc.equal(trip, ""), pa.scalar(None, type=trip.type), trip)
        coded = pc.dictionary_encode(trip)
        codes = coded.indices.to_numpy(zero_copy_only=False)
        known = ~np.isnan(codes) if codes.dtype.kind == "f" else np.ones(codes.size, dtype=np.bool_)
        trip_codes = np.where(known, codes, -1).astype(np.int64)
        self.frame["trip"] = pd.array(trip.to_pandas(), dtype="str")
        if self.recognised.schema.points:
            self._join_points(trip_codes)
            return
        repeated = pd.Series(trip_codes).duplicated().to_numpy() & (trip_codes >= 0)
        self.codes[repeated & (self.codes == 0)] = REASON_CODES["duplicate_id"]

    def _join_points(self, trip_codes: IntArray) -> None:
        """Make one trip of the points that share person and trip id: first place, last place."""
        start = self.sides["start"]
        alone = trip_codes < 0
        group = trip_codes.copy()
        group[alone] = trip_codes.max(initial=-1) + 1 + np.arange(np.count_nonzero(alone))
        if "device" in self.frame:
            person, _ = pd.factorize(self.frame["device"])
            group = group * (int(person.max(initial=0)) + 2) + person + 1
        usable = start.problem == 0
        time = self.frame.get("start_time")
        stamp = np.arange(self.length) if time is None else time.astype(np.int64)
        by_first = np.lexsort((stamp, ~usable, group))
        by_last = np.lexsort((stamp, usable, group))
        _, first_at, count = np.unique(group[by_first], return_index=True, return_counts=True)
        first, last = by_first[first_at], by_last[first_at + count - 1]
        several = count > 1
        end = _nowhere("end", self.length)
        end.problem[:] = REASON_CODES["missing_destination"]
        at = first[several]
        end.lat[at], end.lng[at] = start.lat[last[several]], start.lng[last[several]]
        end.problem[at] = start.problem[last[several]]
        self.sides["end"] = end
        if time is not None:
            end_time = np.full(self.length, _NO_TIME)
            end_time[first] = time[last]
            self.frame["end_time"] = end_time
            end_utc = np.zeros(self.length, dtype=np.bool_)
            end_utc[first] = self.utc["start_time"][last]
            self.utc["end_time"] = end_utc
        joined = np.ones(self.length, dtype=np.bool_)
        joined[first] = False
        self.codes[joined & (self.codes == 0)] = REASON_CODES["not_chosen"]
        if joined.any():
            self.notes.append(
                f"{self.length:,} points make {first.size:,} trips, each from its first to its last point."
            )

    def finish(self, *, digest: str, timezone: str | None) -> TripTable:
        """Put the table together."""
        loaded = self.loaded
        numbers = loaded.row_numbers
        if numbers is None:
            numbers = np.arange(self.length, dtype=np.int64)
        row_codes = np.zeros(loaded.rows_read, dtype=np.uint8)
        for row, reason in loaded.dropped.items():
            row_codes[row] = REASON_CODES[reason]
        row_codes[numbers] = self.codes
        keep = self.codes == 0
        end = self.sides.get("end")
        return TripTable(
            frame=self._frame(keep, numbers),
            start_problem=self.sides["start"].problem[keep],
            end_problem=None if end is None else end.problem[keep],
            start_utc=self.utc["start_time"][keep] if "start_time" in self.utc else None,
            end_utc=self.utc["end_time"][keep] if "end_time" in self.utc else None,
            row_codes=row_codes,
            rows_read=loaded.rows_read,
            dropped=count_reasons(row_codes),
            mended=self.mended,
            schema=self.recognised.schema.label,
            schema_name=self.recognised.schema.name,
            format=self.raw.format,
            mapping={field: self.raw.names[place] for field, place in self.recognised.places.items()},
            columns=self.raw.names,
            reasons=list(self.recognised.reasons),
            notes=self.notes,
            preview=self.raw.preview,
            digest=digest,
            unit=self.unit,
            name=self.label,
            timezone=timezone,
        )

    def _frame(self, keep: BoolArray, numbers: IntArray) -> pd.DataFrame:
        data: dict[str, Any] = {
            field: self.frame[field] for field in ("device", "trip") if field in self.frame
        }
        for name, side in self.sides.items():
            data[f"{name}_lat"], data[f"{name}_lng"] = side.lat, side.lng
        for field in ("start_time", "end_time", "length_m"):
            if field in self.frame:
                data[field] = self.frame[field]
        frame = pd.DataFrame(data, index=pd.Index(numbers), copy=False)
        return frame if keep.all() else frame[keep]


def _nowhere(name: str, length: int) -> Side:
    nothing = np.full(length, np.nan)
    return Side(name, nothing, nothing.copy(), np.ones(length, np.bool_), np.zeros(length, np.bool_))


_PAIR = r"\[\s*(?P<lng>-?\d+\.?\d*(?:[eE][+-]?\d+)?)\s*,\s*(?P<lat>-?\d+\.?\d*(?:[eE][+-]?\d+)?)\s*\]"


def _path_ends(column: Any, frame: dict[str, Any]) -> dict[str, Side]:  # noqa: ANN401
    """Read first and last place of paths written as [[lng, lat], ...], and the time they take."""
    text = clean_text(to_text(column))
    empty = pc.fill_null(pc.match_substring_regex(text, pattern=r"^\[\s*\]$"), fill_value=True)
    missing = np.asarray(empty.to_numpy(zero_copy_only=False), dtype=np.bool_)
    sides = {}
    for name, pattern in (("start", r"^\[\s*" + _PAIR), ("end", _PAIR + r"\s*\]$")):
        pair = pc.extract_regex(text, pattern=pattern)
        lng, lat = (to_numbers(pc.struct_field(pair, place)) for place in (0, 1))
        sides[name] = Side(name, lat.value, lng.value, missing, (lat.missing | lng.missing) & ~missing)
    points = pc.fill_null(pc.count_substring(text, pattern="["), fill_value=0)
    steps = np.maximum(points.to_numpy(zero_copy_only=False).astype(np.float64) - 2, 0)
    frame["duration_s"] = steps * _POLYLINE_STEP_S
    return sides
