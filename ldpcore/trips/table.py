"""What a trip file becomes: a raw table, then one row per trip, with an account of every row."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
import pandas as pd

from ldpcore.shapes import BoolArray, ByteArray, IntArray

Unit = Literal["device", "trip"]

#: Why a row of the file gave no value, in the order in which the reasons are tried. The place
#: in this table is the code kept per row, so that the whole account can be downloaded.
REASONS: Mapping[str, str] = MappingProxyType(
    {
        "used": "used",
        "repeated_header": "the header line again, as in files that were joined",
        "wrong_number_of_fields": "more or fewer fields than the header names",
        "duplicate_id": "a trip id that an earlier row has",
        "missing_origin": "no start place",
        "missing_destination": "no end place",
        "not_a_coordinate": "latitude or longitude is not a number in range",
        "zero_zero": "latitude 0 and longitude 0, which is how devices write an unknown place",
        "unknown_zone": "a zone that the zone file does not have",
        "unreadable_time": "no time, or one that cannot be read, and the question is about time",
        "other_day": "on another kind of day than asked for",
        "other_hour": "not in the hour asked for",
        "outside_area": "outside the service area",
        "not_sampled": "left out by the sampling of a large file",
        "not_chosen": "another row of the same trip, or of the same person and day, was used",
    }
)
REASON_CODES: Mapping[str, int] = MappingProxyType({reason: code for code, reason in enumerate(REASONS)})


def count_reasons(codes: ByteArray) -> dict[str, int]:
    """Count the rows of each reason, without those used.

    Parameters
    ----------
    codes
        (n,) uint8, each the place of a reason in `REASONS`.
    """
    counts = np.bincount(codes, minlength=len(REASONS))
    return {reason: int(counts[code]) for reason, code in REASON_CODES.items() if code and counts[code]}


@dataclass(frozen=True)
class Loaded:
    """Columns taken out of a raw table.

    Attributes
    ----------
    columns
        One pyarrow array per column asked for, all of one length.
    rows_read
        Rows the file holds, those below included.
    row_numbers
        (length,) row of the file each entry comes from, counted from 0 after the header;
        None when every row is there.
    dropped
        Row number to reason, for rows that cannot be laid out in columns.
    mended
        Reason to number of rows put right while reading.
    notes
        Sentences for the user.
    """

    columns: Sequence[Any]
    rows_read: int
    row_numbers: IntArray | None = None
    dropped: Mapping[int, str] = field(default_factory=dict)
    mended: Mapping[str, int] = field(default_factory=dict)
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class RawTable:
    """A file opened as a table, of which only the columns that are needed will be read.

    Attributes
    ----------
    format
        What the file is, in words.
    names
        Column names as the file spells them; a repeated one carries "(2)", "(3)" and so on.
    preview
        First rows, as text.
    load
        Takes places in `names`, returns those columns.
    notes
        What was noticed while opening.
    decimal_comma
        Whether numbers may be written with a decimal comma.
    given
        Canonical column to place in `names`, where the kind of file settles it.
    schema_name
        Row of `SCHEMAS` that the kind of file settles; empty where the header decides.
    crs
        Coordinate system of the places as `pyproj` takes it; None is WGS 84 or unknown.
    """

    format: str
    names: tuple[str, ...]
    preview: pd.DataFrame
    load: Callable[[Sequence[int]], Loaded]
    notes: tuple[str, ...] = ()
    decimal_comma: bool = False
    given: Mapping[str, int] = field(default_factory=dict)
    schema_name: str = ""
    crs: Any = None


@dataclass(frozen=True, eq=False)
class TripTable:
    """Trips from a file, with what was recognised and what became of every row.

    Attributes
    ----------
    frame
        One row per trip; the index is the row of the file, counted from 0 after the header.
        Columns as far as the file has them: device, trip, start_lat, start_lng, end_lat,
        end_lng (degrees, NaN where unusable), start_time, end_time (datetime64, without zone),
        length_m. Times are local where the file has local ones, else UTC: see `start_utc`.
    start_problem, end_problem
        (n,) uint8, place in `REASONS` of what is wrong with the place, 0 where it is usable.
        `end_problem` is None where the file has no end places at all.
    start_utc, end_utc
        (n,) bool, True where the time was given with a zone and stands in UTC; None where the
        column is absent. `local_times` brings both kinds to the clock of an area.
    row_codes
        (rows_read,) uint8, place in `REASONS` of why a row was left out while reading.
    rows_read
        Rows in the file.
    dropped
        Rows left out while reading, by reason.
    mended
        Rows put right, by what was done.
    schema, schema_name
        Label and key of the schema recognised.
    format
        What the file is, in words.
    mapping
        Canonical column to column of the file.
    columns
        All column names of the file.
    reasons
        Why the schema was recognised and each column taken, in sentences.
    notes
        What was mended and what to be careful of, in sentences.
    preview
        First rows as in the file, as text.
    digest
        SHA-256 of the content, hexadecimal.
    unit
        "device" where a column names people, else "trip".
    name
        Label of the file, for display only.
    timezone
        Zone of the times without one, where the user said so; None means the clock of the area.
    finest_resolution
        Finest H3 resolution that the coordinates support when they are rounded or snapped; None
        where nothing was noticed.
    """

    frame: pd.DataFrame
    start_problem: ByteArray
    end_problem: ByteArray | None
    start_utc: BoolArray | None
    end_utc: BoolArray | None
    row_codes: ByteArray
    rows_read: int
    dropped: dict[str, int]
    mended: dict[str, int]
    schema: str
    schema_name: str
    format: str
    mapping: dict[str, str]
    columns: tuple[str, ...]
    reasons: list[str]
    notes: list[str]
    preview: pd.DataFrame
    digest: str
    unit: Unit
    name: str = ""
    timezone: str | None = None
    finest_resolution: int | None = None

    @property
    def unit_sentence(self) -> str:
        """The unit of privacy in a sentence."""
        if self.unit == "device":
            return (
                f"The unit is one person for one day: the column {self.mapping['device']} names people, "
                "and one of a person's values a day is reported, chosen at random."
            )
        return (
            "The unit is one trip: no column names people, so somebody who makes several trips "
            "is protected for each trip by itself, not for all together."
        )
