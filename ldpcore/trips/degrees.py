"""Coordinates as people write them: decimal commas, degrees and minutes, letters for the hemisphere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ldpcore.shapes import BoolArray, FloatArray, IntArray
from ldpcore.trips.convert import Numbers, clean_text, is_text, one_array, to_numbers

_AMOUNT, _PART = r"\d{1,3}(?:[.,]\d+)?", r"\d{1,2}(?:[.,]\d+)?"
#: 40°42'46"N, N 40° 42.77', 40.71° N, 74d0m22sW, 40 42 46 N, -74°0'22" and the like, capital letters only.
_WRITTEN = (
    r"^(?P<before>[NSEW]?) ?(?P<sign>[+-]?)(?P<degrees>" + _AMOUNT + r") ?(?P<mark>(?:°|deg|d|:)?) ?"
    r"(?:(?P<minutes>" + _PART + r") ?(?:'|m|min|:)? ?)?"
    r"(?:(?P<seconds>" + _PART + r") ?(?:\"|''|s|sec)? ?)?(?P<after>[NSEW]?)$"
)
_PARTS = ("before", "sign", "degrees", "mark", "minutes", "seconds", "after")
#: Signs that stand for the three marks, whatever keyboard they were typed on.
_SAME_MARKS = (
    (r"[º˚]", "°"),
    (r"[’‘′´`ʹ]", "'"),
    (r"[”“″˝ʺ]", '"'),
    (r"[−–]", "-"),
    (r"\s+", " "),
)
_ONE_COMMA = r"^[+-]?\d{1,3},\d+$"
_NORTH_SOUTH, _EAST_WEST = 1, 2


@dataclass
class Written:
    """A column of coordinates as numbers.

    Attributes
    ----------
    value, missing, unreadable
        (n,) as in `Numbers`.
    axis
        (n,) int64, 1 where a letter says north or south, 2 for east or west, 0 without a letter.
    converted
        (n,) bool, written with minutes, marks or letters.
    """

    value: FloatArray
    missing: BoolArray
    unreadable: BoolArray
    axis: IntArray
    converted: BoolArray


@dataclass(frozen=True)
class Pair:
    """The places of two columns.

    Attributes
    ----------
    lat, lng
        (n,) float64, NaN where there is none.
    missing, unreadable
        (n,) bool, one of the two is absent, or no number.
    converted, exchanged
        (n,) bool, written with minutes, marks or letters, and found in the other column by its letter.
    decimal_comma
        Whether commas were found to be decimal ones.
    example
        A text that is no number, "" where every text is one.
    """

    lat: FloatArray
    lng: FloatArray
    missing: BoolArray
    unreadable: BoolArray
    converted: BoolArray
    exchanged: BoolArray
    decimal_comma: bool
    example: str


def read_pair(latitude: Any, longitude: Any, *, decimal_comma: bool = False) -> Pair:  # noqa: ANN401
    """Read a column of latitudes and one of longitudes.

    Parameters
    ----------
    latitude, longitude
        pyarrow arrays of text or of numbers.
    decimal_comma
        Whether commas are decimal ones; else the columns may still show that they are.
    """
    columns = [one_array(latitude), one_array(longitude)]
    plain = [to_numbers(column, decimal_comma=decimal_comma) for column in columns]
    found = not decimal_comma and any(p.unreadable.any() for p in plain) and _comma_is_decimal(columns)
    if found:
        plain = [to_numbers(column, decimal_comma=True) for column in columns]
    lat, lng = (_written(column, numbers) for column, numbers in zip(columns, plain, strict=True))
    exchanged = (lat.axis == _EAST_WEST) & (lng.axis == _NORTH_SOUTH)
    contradicted = ((lat.axis == _EAST_WEST) | (lng.axis == _NORTH_SOUTH)) & ~exchanged
    missing = lat.missing | lng.missing
    unreadable = (lat.unreadable | lng.unreadable | contradicted) & ~missing
    north = np.where(exchanged, lng.value, lat.value)
    east = np.where(exchanged, lat.value, lng.value)
    north[contradicted], east[contradicted] = np.nan, np.nan
    example = ""
    for column, written in zip(columns, (lat, lng), strict=True):
        bad = np.flatnonzero(written.unreadable | contradicted)
        if bad.size and not example:
            example = str(column[int(bad[0])].as_py())
    return Pair(north, east, missing, unreadable, lat.converted | lng.converted, exchanged, found, example)


def _comma_is_decimal(columns: Sequence[Any]) -> bool:
    """Tell whether the commas in columns of coordinates are decimal ones.

    Three digits after each comma, as in "28,000", may be thousands; a single other number settles it.

    Parameters
    ----------
    columns
        pyarrow arrays; all of them are of one hand.
    """
    decimal = False
    for column in columns:
        if not is_text(column):
            continue
        text = clean_text(column)
        if _any(pc.match_substring_regex(text, pattern=r",.*,|,\d*\.|\.\d*,")):
            return False
        single = pc.match_substring_regex(text, pattern=_ONE_COMMA)
        three = pc.match_substring_regex(text, pattern=r",\d{3}$")
        decimal = decimal or _any(pc.and_(single, pc.invert(three)))
    return decimal


def _any(mask: Any) -> bool:  # noqa: ANN401 - pyarrow has no types of its own
    return bool(pc.any(mask).as_py())


def _written(column: Any, plain: Numbers) -> Written:  # noqa: ANN401
    """Read what is no plain number in a column."""
    nothing = np.zeros(len(column), dtype=np.bool_)
    out = Written(plain.value, plain.missing, plain.unreadable, nothing.astype(np.int64), nothing)
    rows = np.flatnonzero(plain.unreadable)
    if rows.size and is_text(column):
        _read_marks(out, rows, clean_text(column.take(pa.array(rows))))
    return out


def _read_marks(out: Written, rows: IntArray, text: Any) -> None:  # noqa: ANN401
    """Read what `_WRITTEN` matches, in the rows of a column that are no plain numbers."""
    for pattern, mark in _SAME_MARKS:
        text = pc.replace_substring_regex(text, pattern=pattern, replacement=mark)
    parts = pc.extract_regex(text, pattern=_WRITTEN)
    if parts.null_count == len(parts):
        return
    found = ~np.asarray(parts.is_null().to_numpy(zero_copy_only=False), dtype=np.bool_)
    part = {name: pc.fill_null(pc.struct_field(parts, place), "") for place, name in enumerate(_PARTS)}
    degrees, minutes, seconds = (_amount(part[name]) for name in ("degrees", "minutes", "seconds"))
    letters = pc.binary_join_element_wise(part["before"], part["after"], pa.scalar("", part["after"].type))
    north_south, east_west = _is_one_of(letters, "NS"), _is_one_of(letters, "EW")
    lettered, signed = north_south | east_west, _is_one_of(part["sign"], "+-")
    # A part before the last is whole, an hour of arc has sixty minutes, and a sign beside a letter contradicts it.
    whole_degrees = (degrees == np.floor(degrees)) | np.isnan(minutes)
    whole_minutes = (minutes == np.floor(minutes)) | np.isnan(seconds)
    found &= whole_degrees & whole_minutes & (np.nan_to_num(minutes) < 60) & (np.nan_to_num(seconds) < 60)
    found &= lettered ^ (_length(letters) == 0)
    found &= ~(lettered & signed) & (lettered | (_length(part["mark"]) > 0))
    size = degrees + np.nan_to_num(minutes) / 60 + np.nan_to_num(seconds) / 3600
    negative = _is_one_of(letters, "SW") | _is_one_of(part["sign"], "-")
    good = rows[found]
    out.value[good] = np.where(negative, -size, size)[found]
    out.unreadable[good] = False
    out.converted[good] = True
    out.axis[good] = np.where(north_south, _NORTH_SOUTH, np.where(east_west, _EAST_WEST, 0))[found]


def _amount(text: Any) -> FloatArray:  # noqa: ANN401
    return to_numbers(text, decimal_comma=True).value


def _is_one_of(text: Any, letters: str) -> BoolArray:  # noqa: ANN401
    same = pc.is_in(text, value_set=pa.array(list(letters), type=text.type))
    return np.asarray(same.to_numpy(zero_copy_only=False), dtype=np.bool_)


def _length(text: Any) -> IntArray:  # noqa: ANN401
    return np.asarray(pc.utf8_length(text).to_numpy(zero_copy_only=False), dtype=np.int64)
