"""From the columns of a raw table to trips: places, times, ids, and the account of every row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from ldpcore.errors import TripFileError
from ldpcore.shapes import BoolArray, FloatArray, IntArray
from ldpcore.trips.cities import CITIES
from ldpcore.trips.convert import Times, one_array, to_numbers, to_text, to_times
from ldpcore.trips.degrees import read_pair
from ldpcore.trips.geometry import Ends, ends_of, to_degrees
from ldpcore.trips.quality import Draft, Side, check
from ldpcore.trips.readers.source import harmless
from ldpcore.trips.recognise import Recognised
from ldpcore.trips.schemas import Box
from ldpcore.trips.table import REASON_CODES, Loaded, RawTable, TripTable, Unit, count_reasons
from ldpcore.trips.units import looks_like_degrees
from ldpcore.trips.zones import ZoneFileNeededError, Zones

_NO_TIME = np.datetime64("NaT", "us")
_MOST_SECONDS = 1e8
_MOST_TRIPS_A_DAY = 12
_OWN_ID_SHARE = 0.9


class Builder:
    """Holds the columns while a file turns into a `TripTable`; lives for one call of `read_trips`.

    Parameters
    ----------
    raw
        The file opened as a table.
    recognised
        Which column is which.
    columns
        Canonical column to pyarrow array; each is let go of once it is read.
    loaded
        What else was found while loading.
    label
        Label of the file.
    """

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
        self.path_points: FloatArray | None = None
        self.finest_resolution: int | None = None
        self.example = ""  # a text that stands for a coordinate and is none
        self._marked: dict[str, BoolArray] = {}

    def _take(self, canonical: str) -> Any:  # noqa: ANN401
        return self.columns.pop(canonical)

    def _numbers(self, canonical: str) -> tuple[FloatArray, BoolArray, BoolArray]:
        numbers = to_numbers(self._take(canonical), decimal_comma=self.raw.decimal_comma)
        return numbers.value, numbers.missing, numbers.unreadable

    def places(self, homes: Sequence[Box], zones: Zones | None, scale: float | None = None) -> None:
        """Read the places and check them; `scale` is what whole numbers are to be divided by, where known.

        Raises
        ------
        TripFileError
            If a detector refuses the file.
        ZoneFileNeededError
            If places are zones and there is no zone file.
        """
        draft = Draft(
            self.label,
            [],
            [*homes, *self.recognised.schema.homes] or [city.bounds for city in CITIES.values()],
            columns={
                field: self.raw.names[place]
                for field, place in self.recognised.places.items()
                if field != "trip" or not self.recognised.bare_id
            },
            totals=self._numbers("total")[0] if "total" in self.columns else None,
            mended=self.mended,
            notes=self.notes,
            person_column="device" in self.columns,
            scale=scale,
        )
        check(draft, "columns")
        self._paths()
        for name in ("start", "end"):
            if f"{name}_lat" in self.columns and f"{name}_lng" in self.columns:
                self.sides[name] = self._pair(name)
        self._project()
        if not self.sides:
            self._zones(zones)
        if "start" not in self.sides:
            self.sides = {"start": _nowhere("start", self.length), **self.sides}
        draft.sides = list(self.sides.values())
        check(draft, "places")
        self.finest_resolution = draft.finest_resolution
        self.unit = "device" if draft.person_column else "trip"

    def _pair(self, name: str) -> Side:
        """Read the latitudes and longitudes of a side."""
        pair = read_pair(
            self._take(f"{name}_lat"), self._take(f"{name}_lng"), decimal_comma=self.raw.decimal_comma
        )
        said = []
        if pair.decimal_comma:
            said.append("Coordinates have a decimal comma.")
        if pair.converted.any():
            said.append(
                "Coordinates are written with marks or letters, as in 40°42'46\"N, and were converted."
            )
        if pair.exchanged.any():
            said.append("Some latitudes end in E or W and their longitudes in N or S; they were exchanged.")
        self.notes += [sentence for sentence in said if sentence not in self.notes]
        for what, rows in (("written_degrees", pair.converted), ("swapped_lat_lng", pair.exchanged)):
            self._marked.setdefault(what, np.zeros(self.length, dtype=np.bool_))
            self._marked[what] |= rows
            if self._marked[what].any():
                self.mended[what] = int(np.count_nonzero(self._marked[what]))
        self.example = self.example or pair.example
        return Side(name, pair.lat, pair.lng, pair.missing, pair.unreadable)

    def _paths(self) -> None:
        """Read places and paths that stand in one column."""
        if "geometry" in self.columns:
            ends = ends_of(self._take("geometry"))
            self.path_points = ends.points
            self.sides["start"] = Side("start", ends.first_lat, ends.first_lng, ends.missing, ends.unreadable)
            if np.any(ends.points > 1):
                self.sides["end"] = _last(ends)
        if "end_geometry" in self.columns:
            ends = ends_of(self._take("end_geometry"))
            self.sides["end"] = _last(ends)

    def _project(self) -> None:
        """Bring places to degrees where they are in another coordinate system."""
        if self.raw.crs is None:
            return
        lat, lng = (
            np.concatenate([getattr(s, axis) for s in self.sides.values()]) for axis in ("lat", "lng")
        )
        if self.raw.crs.is_projected and looks_like_degrees(lat, lng):
            raise TripFileError(
                f"The places of {self.label} should be in {self.raw.crs.name}, which is in metres, but are such as "
                f"{np.nanmedian(lat):.4f} and {np.nanmedian(lng):.4f}, which are degrees; leave the coordinate "
                "system out, or mend the one that the file names."
            )
        for side in self.sides.values():
            side.lat, side.lng = to_degrees(self.raw.crs, side.lng, side.lat)
            beyond = np.isinf(side.lat) | np.isinf(side.lng)
            side.unreadable = side.unreadable | beyond
            side.lat[beyond], side.lng[beyond] = np.nan, np.nan
        if not self.raw.crs.equals("OGC:CRS84") and not self.raw.crs.equals("EPSG:4326"):
            self.mended["projected"] = self.length
            self.notes.append(
                f"Places were converted from {self.raw.crs.name} to latitude and longitude (WGS 84)."
            )

    def _zones(self, zones: Zones | None) -> None:
        fields = [f"{side}_zone" for side in ("start", "end") if f"{side}_zone" in self.columns]
        if zones is None:
            shown = " and ".join(self.raw.names[self.recognised.places[field]] for field in fields)
            raise ZoneFileNeededError(
                f"{self.label} says where trips start and end by zone only ({shown}), without coordinates; "
                "add a zone file with the shape or the latitude and longitude of each zone."
            )
        for field in fields:
            lat, lng, missing, unknown, column = zones.locate(self._take(field))
            name = field.removesuffix("_zone")
            self.sides[name] = Side(name, lat, lng, missing, np.zeros(self.length, np.bool_), unknown)
            mine = self.raw.names[self.recognised.places[field]]
            self.notes.append(
                f"{mine} was looked up in {zones.label} by {column}; each zone counts at one place inside it."
            )

    def times(self) -> None:
        """Read start and end times, and the end from the duration where only that is there."""
        for name in ("start", "end"):
            if f"{name}_time" in self.columns:
                self._time(name)
        start = self.frame.get("start_time")
        duration = self._numbers("duration_s")[0] if "duration_s" in self.columns else None
        step = self.recognised.schema.path_step_s
        if duration is None and step and self.path_points is not None:
            duration = np.where(self.path_points > 0, (self.path_points - 1) * step, np.nan)
        if start is not None and "end_time" not in self.frame and duration is not None:
            usable = (duration >= 0) & (duration < _MOST_SECONDS)
            micro = (np.where(usable, duration, 0) * 1e6).astype("timedelta64[us]")
            self.frame["end_time"] = np.where(usable, start + micro, _NO_TIME)
            self.utc["end_time"] = self.utc["start_time"].copy()
        if "length_m" in self.columns:
            self.frame["length_m"] = self._numbers("length_m")[0] * self.recognised.schema.length_factor

    def _time(self, name: str) -> None:
        schema = self.recognised.schema
        column = self._take(f"{name}_time")
        if f"{name}_clock" in self.columns:
            column = _date_and_clock(column, self._take(f"{name}_clock"))
        times = to_times(column, epoch_is_local=schema.epoch_is_local)
        field = f"{name}_time"
        self.frame[field] = times.value
        self.utc[field] = times.utc | (~np.isnat(times.value) & schema.naive_is_utc)
        self._time_notes(field, times)

    def _time_notes(self, field: str, times: Times) -> None:
        column = self.raw.names[self.recognised.places[field]]
        written = ~np.isnat(times.value)
        zoneless = written & ~self.utc[field]
        notes = list(times.notes)
        if zoneless.any() and self.utc[field].any():
            notes.append(
                f"Some times of {column} carry a zone and some do not; those without are taken as local."
            )
        elif zoneless.any():
            notes.append("Times carry no zone; they are taken as local.")
        unreadable = int(np.count_nonzero(times.unreadable))
        if unreadable:
            notes.append(
                f"{unreadable:,} values of {column} are not times; "
                "such rows are left out of questions about time only."
            )
        self.notes += [note for note in notes if note not in self.notes]

    def ids(self) -> None:
        """Read the ids of persons and trips, drop repeated trips and join the points of one trip."""
        if self.unit == "device":
            person = pc.utf8_trim_whitespace(to_text(self._take("device")))
            person = pc.if_else(pc.equal(person, ""), pa.scalar(None, type=person.type), person)
            if person.null_count == len(person):
                self.unit = "trip"
            else:
                self.frame["device"] = _text_column(person)
                self._busy_persons()
        trip_codes = np.full(self.length, -1, dtype=np.int64)
        if "trip" in self.columns:
            trip = pc.utf8_trim_whitespace(to_text(self._take("trip")))
            trip = pc.if_else(pc.equal(trip, ""), pa.scalar(None, type=trip.type), trip)
            coded = pc.dictionary_encode(trip)
            trip_codes = np.asarray(
                coded.indices.fill_null(-1).to_numpy(zero_copy_only=False), dtype=np.int64
            )
            if self.recognised.bare_id and not self._names_trips(trip_codes):
                return
            self.frame["trip"] = _text_column(trip)
            if self.recognised.schema.points and "end" not in self.sides:
                self._join_points(trip_codes)
                return
        repeated = pd.Series(trip_codes).duplicated().to_numpy() & (trip_codes >= 0)
        self.codes[repeated & (self.codes == 0)] = REASON_CODES["duplicate_id"]

    def _names_trips(self, codes: IntArray) -> bool:
        """Tell by its content whether a column named "id" names trips, and say so where it matters.

        It does where hardly an id comes twice, or where rows with the same id are the same trip again:
        the same place at the same time. Ids of vehicles, persons and stations are neither.
        """
        column = self.raw.names[self.recognised.places["trip"]]
        named = codes >= 0
        again = int(np.count_nonzero(pd.Series(codes[named]).duplicated()))
        rows = int(np.count_nonzero(named))
        whole = pd.DataFrame({"id": codes[named]})
        for name, side in self.sides.items():
            whole[f"{name}_lat"], whole[f"{name}_lng"] = side.lat[named], side.lng[named]
        timed = "start_time" in self.frame
        if timed:
            whole["time"] = self.frame["start_time"][named]
        if again <= (1 - _OWN_ID_SHARE) * rows or (timed and int(whole.duplicated().sum()) == again):
            if again:
                self.notes.append(
                    f"{column} was taken for the trip id, and {again:,} rows that have it again were left out; "
                    "take it out of the mapping if it names something else."
                )
            return True
        places = {field: place for field, place in self.recognised.places.items() if field != "trip"}
        self.recognised = replace(self.recognised, places=places)
        self.notes.append(
            f"{column} has {rows - again:,} values in {rows:,} rows, so it was not taken for the trip id and no row "
            "was left out for it; choose it as the trip id in the mapping if it is."
        )
        return False

    def _busy_persons(self) -> None:
        """Say so where the persons make more trips a day than people do: they may be vehicles."""
        time = self.frame.get("start_time")
        if time is None or "end" not in self.sides:
            return
        known = ~np.isnat(time)
        pairs = pd.DataFrame({"person": self.frame["device"], "day": time.astype("datetime64[D]")})[known]
        a_day = pairs.groupby(["person", "day"]).size()
        if len(a_day) and float(a_day.median()) > _MOST_TRIPS_A_DAY:
            column = self.raw.names[self.recognised.places["device"]]
            self.notes.append(
                f"Each value of {column} has {a_day.median():,.0f} trips a day, more than people make; if it names "
                "vehicles or accounts, take it out of the mapping, and the unit is one trip."
            )

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
        order = np.arange(self.length)
        # Points without a time stay where the file has them, which is the order of the path.
        stamp = order if time is None or np.isnat(time).any() else time.astype(np.int64)
        by_first = np.lexsort((order, stamp, ~usable, group))
        by_last = np.lexsort((order, stamp, usable, group))
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
        """Put the table together.

        Parameters
        ----------
        digest
            SHA-256 of the content.
        timezone
            Zone of times without one, None for the clock of the area.

        Raises
        ------
        TripFileError
            If no trip has a usable place.
        """
        loaded = self.loaded
        numbers = loaded.row_numbers
        if numbers is None:
            numbers = np.arange(self.length, dtype=np.int64)
        row_codes = np.zeros(loaded.rows_read, dtype=np.uint8)
        for row, reason in loaded.dropped.items():
            row_codes[row] = REASON_CODES[reason]
        row_codes[numbers] = self.codes
        keep = self.codes == 0
        if not any(np.any(keep & (side.problem == 0)) for side in self.sides.values()):
            raise TripFileError(self._no_place())
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
            finest_resolution=self.finest_resolution,
        )

    def _no_place(self) -> str:
        start = f"{self.label} has no row with a usable latitude and longitude"
        if not self.example:
            return f"{start}: each is blank, 0/0 or out of range; choose the columns that hold the places in the mapping."
        return (
            f"{start}: their columns hold text such as {harmless(self.example)}; write degrees as plain numbers "
            "with a decimal point and without separators of thousands, such as 59.9127."
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


def _last(ends: Ends) -> Side:
    missing = ends.missing | (np.isnan(ends.last_lat) & ~ends.unreadable)
    return Side("end", ends.last_lat, ends.last_lng, missing, ends.unreadable.copy())


def _text_column(column: Any) -> Any:  # noqa: ANN401
    return pd.array(column.to_pandas(), dtype="str")


def _date_and_clock(date: Any, clock: Any) -> Any:  # noqa: ANN401
    """Join a date and a time of day that stand in two columns."""
    day = to_text(one_array(date))
    # A date written as a time ("2024-01-02 00:00:00") gives its first part.
    day = pc.replace_substring_regex(day, pattern=r"[ T]00:00(:00(\.0+)?)?$", replacement="")
    time = pc.cast(to_text(one_array(clock)), day.type)
    return pc.binary_join_element_wise(day, time, pa.scalar(" ", type=day.type))
