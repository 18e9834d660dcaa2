"""Places and paths written in one column: JSON, WKT, WKB, encoded polylines, "lat, lng"."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyproj
import shapely
from pyproj.exceptions import CRSError, ProjError

from ldpcore.errors import ParameterError
from ldpcore.shapes import BoolArray, FloatArray
from ldpcore.trips.convert import clean_text, is_text, one_array, to_numbers, to_text

_NUM = r"-?\d+\.?\d*(?:[eE][+-]?\d+)?"
_JSON_PAIR = rf"\[\s*(?P<lng>{_NUM})\s*,\s*(?P<lat>{_NUM})\s*(?:,[^\[\]]*)?\]"
_PAIR = rf"^\(?\s*(?P<lat>{_NUM})\s*[,; ]\s*(?P<lng>{_NUM})\s*\)?$"
_LATITUDE_KEYS = ("lat", "latitude", "y")
_LONGITUDE_KEYS = ("lng", "lon", "long", "longitude", "x")
_POLYLINE_SCALE = 1e5
_MAX_DEPTH = 6


@dataclass
class Ends:
    """First and last place of each path.

    Attributes
    ----------
    first_lat, first_lng, last_lat, last_lng
        (n,) float64, NaN where there is none; before any change of coordinate system, with lat
        for y and lng for x.
    missing
        (n,) bool, nothing written.
    unreadable
        (n,) bool, something written that is no place.
    points
        (n,) float64, number of points, 1 for a single place, 0 where there is none.
    """

    first_lat: FloatArray
    first_lng: FloatArray
    last_lat: FloatArray
    last_lng: FloatArray
    missing: BoolArray
    unreadable: BoolArray
    points: FloatArray


def ends_of(column: Any) -> Ends:  # noqa: ANN401 - pyarrow array
    """Read the first and last place of each value, whatever way it is written.

    Parameters
    ----------
    column
        pyarrow array of text or bytes.
    """
    column = one_array(column)
    if pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type):
        return _from_shapes(_parsed(column, shapely.from_wkb), _nulls(column))
    text = clean_text(column if is_text(column) else to_text(column))
    missing = _nulls(text)
    some = text.filter(pa.array(~missing)).slice(0, 200).to_pylist()
    for matches, read in _FORMS:
        if some and sum(bool(matches(word)) for word in some) * 2 >= len(some):
            return read(text, missing)
    everything = np.full(len(text), np.nan)
    return _ends([everything] * 4, missing, ~missing, np.zeros(len(text)))


def _ends(
    places: Sequence[FloatArray] | FloatArray, missing: BoolArray, unreadable: BoolArray, points: FloatArray
) -> Ends:
    first_lat, first_lng, last_lat, last_lng = (np.array(place, dtype=np.float64) for place in places)
    return Ends(first_lat, first_lng, last_lat, last_lng, missing, unreadable, points)


def _nulls(column: Any) -> BoolArray:  # noqa: ANN401
    return np.asarray(column.is_null().to_numpy(zero_copy_only=False), dtype=np.bool_)


def _from_pairs(text: Any, missing: BoolArray) -> Ends:  # noqa: ANN401
    pair = pc.extract_regex(text, pattern=_PAIR)
    lat, lng = (to_numbers(pc.struct_field(pair, place)).value for place in (0, 1))
    unreadable = (np.isnan(lat) | np.isnan(lng)) & ~missing
    return Ends(lat, lng, lat.copy(), lng.copy(), missing, unreadable, np.where(np.isnan(lat), 0.0, 1.0))


def _from_json_lists(text: Any, missing: BoolArray) -> Ends:  # noqa: ANN401
    """Read [lng, lat] and [[lng, lat], ...] by pattern: a hundred times faster than parsing each."""
    empty = pc.fill_null(pc.match_substring_regex(text, pattern=r"^[\[\]\s]*$"), fill_value=True)
    missing = missing | np.asarray(empty.to_numpy(zero_copy_only=False), dtype=np.bool_)
    places = []
    for pattern in (rf"^[\[\s]*{_JSON_PAIR}", rf"{_JSON_PAIR}[\]\s]*$"):
        pair = pc.extract_regex(text, pattern=pattern)
        lng, lat = (to_numbers(pc.struct_field(pair, place)).value for place in (0, 1))
        places += [lat, lng]
    unreadable = (np.isnan(places[0]) | np.isnan(places[2])) & ~missing
    count = pc.fill_null(pc.count_substring_regex(text, pattern=r"\[\s*-?\d"), fill_value=0)
    points = count.to_numpy(zero_copy_only=False).astype(np.float64)
    return _ends(places, missing, unreadable, np.where(missing | unreadable, 0, points))


def _from_json_objects(text: Any, missing: BoolArray) -> Ends:  # noqa: ANN401
    """Read {"lat": ..., "lng": ...} and GeoJSON geometries."""
    length = len(text)
    out = np.full((4, length), np.nan)
    points = np.zeros(length)
    for row, word in enumerate(text.to_pylist()):
        if word is None:
            continue
        try:
            path = path_of(json.loads(word))
        except (ValueError, RecursionError):
            continue
        if path:
            out[:, row] = (path[0][1], path[0][0], path[-1][1], path[-1][0])
            points[row] = len(path)
    return _ends(out, missing, (points == 0) & ~missing, points)


def path_of(value: object, depth: int = 0) -> list[tuple[float, float]]:
    """Return the (x, y) points of a JSON place, GeoJSON point or line, or list of either; else nothing.

    Only the two ends are read; what lies between is counted and stands for its neighbour.
    """
    if isinstance(value, dict) and depth <= _MAX_DEPTH:
        inner = next((value[key] for key in ("coordinates", "geometry", "features") if key in value), None)
        if inner is not None:
            return path_of(inner, depth + 1)
        lower = {str(key).lower(): item for key, item in value.items()}
        lat = next((lower[key] for key in _LATITUDE_KEYS if key in lower), None)
        lng = next((lower[key] for key in _LONGITUDE_KEYS if key in lower), None)
        point = _point([lng, lat])
        return [point] if point else []
    if not isinstance(value, list) or not value or depth > _MAX_DEPTH:
        return []
    point = _point(value)
    if point:
        return [point]
    first = path_of(value[0], depth + 1)
    last = path_of(value[-1], depth + 1) if len(value) > 1 else []
    if not first or (len(value) > 1 and not last):
        return []
    return [*first, *[first[-1]] * max(len(value) - 2, 0), *last]


def _point(value: list[Any]) -> tuple[float, float] | None:
    if len(value) < 2 or any(isinstance(v, bool) or not isinstance(v, int | float | str) for v in value[:2]):
        return None
    try:
        x, y = float(value[0]), float(value[1])
    except (ValueError, OverflowError):
        return None
    return (x, y) if np.isfinite(x) and np.isfinite(y) else None


def _parsed(column: Any, read: Callable[..., Any]) -> Any:  # noqa: ANN401
    values = column.to_numpy(zero_copy_only=False)
    return read(values, on_invalid="ignore")


def _from_wkt(text: Any, missing: BoolArray) -> Ends:  # noqa: ANN401
    plain = pc.replace_substring_regex(text, pattern=r"^SRID=\d+;", replacement="")
    return _from_shapes(_parsed(plain, shapely.from_wkt), missing)


def _from_hex(text: Any, missing: BoolArray) -> Ends:  # noqa: ANN401
    return _from_shapes(_parsed(text, shapely.from_wkb), missing)


def _from_shapes(shapes: Any, missing: BoolArray) -> Ends:  # noqa: ANN401
    """Take the ends of shapely points and lines; areas have none."""
    shapes = np.asarray(shapes, dtype=object)
    kinds = shapely.get_type_id(shapes)
    many = np.isin(kinds, (4, 5))  # MultiPoint, MultiLineString
    head, tail = shapes.copy(), shapes.copy()
    if many.any():
        head[many] = shapely.get_geometry(shapes[many], 0)
        tail[many] = shapely.get_geometry(shapes[many], -1)
    line = np.isin(shapely.get_type_id(head), (1, 2))
    head[line] = shapely.get_point(head[line], 0)
    line = np.isin(shapely.get_type_id(tail), (1, 2))
    tail[line] = shapely.get_point(tail[line], -1)
    good = (shapely.get_type_id(head) == 0) & (shapely.get_type_id(tail) == 0)
    good &= ~(shapely.is_empty(head) | shapely.is_empty(tail))
    out = np.full((4, shapes.size), np.nan)
    for place, ends in ((0, head), (2, tail)):
        out[place, good], out[place + 1, good] = shapely.get_y(ends[good]), shapely.get_x(ends[good])
    if np.any(kinds[good] != 0):  # among paths a single place has no end
        out[2:, kinds == 0] = np.nan
    empty = ~missing & np.asarray(shapely.is_empty(shapes), dtype=np.bool_) & (kinds >= 0)
    points = np.where(good, shapely.get_num_coordinates(shapes).astype(np.float64), 0.0)
    return _ends(out, missing | empty, ~good & ~missing & ~empty, points)


def _from_polylines(text: Any, missing: BoolArray) -> Ends:  # noqa: ANN401
    """Decode the polyline format of Google (five digits), all rows at once.

    Each number is a zigzag of 5-bit groups, lowest first, sent as characters from 63 on; bit 32
    says that more follow. Numbers alternate latitude and longitude, each the difference from the
    one before, so the last place is the sum of all.
    """
    words = [word if word is not None else "" for word in text.to_pylist()]
    rows = np.repeat(np.arange(len(words)), [len(word) for word in words])
    code = (
        np.frombuffer("".join(words).encode("latin-1", errors="replace"), dtype=np.uint8).astype(np.int64)
        - 63
    )
    out = np.full((4, len(words)), np.nan)
    points = np.zeros(len(words))
    bad = np.zeros(len(words), dtype=np.bool_)
    if code.size:
        bad[rows[(code < 0) | (code > 63)]] = True
        last_char = np.append(rows[1:] != rows[:-1], True)
        final = (code & 32) == 0
        bad[rows[last_char & ~final]] = True  # ends in the middle of a number
        stop = final | last_char
        number = np.concatenate([[0], np.cumsum(stop)[:-1]])
        start = np.flatnonzero(np.append(True, stop[:-1]))
        shift = np.arange(code.size) - start[number]
        bad[rows[shift > 6]] = True
        zigzag = np.bincount(number, weights=(code & 31) * 32.0 ** np.minimum(shift, 7)).astype(np.int64)
        value = np.where(zigzag & 1, ~(zigzag >> 1), zigzag >> 1) / _POLYLINE_SCALE
        owner = rows[start]
        per_row = np.bincount(owner, minlength=len(words))
        offset = np.concatenate([[0], np.cumsum(per_row)[:-1]])
        place = np.arange(value.size) - offset[owner]
        bad |= per_row % 2 == 1
        even = place % 2 == 0
        have = per_row >= 2
        out[0, have], out[1, have] = value[offset[have]], value[offset[have] + 1]
        out[2] = np.bincount(owner[even], weights=value[even], minlength=len(words))
        out[3] = np.bincount(owner[~even], weights=value[~even], minlength=len(words))
        out[2:, ~have] = np.nan
        points = np.where(have, per_row // 2, 0).astype(np.float64)
    out[:, bad] = np.nan
    points[bad] = 0
    unreadable = (bad | np.isnan(out[0])) & ~missing
    return _ends(out, missing, unreadable, points)


def _like(pattern: str) -> Callable[[str], bool]:
    compiled = re.compile(pattern)
    return lambda word: compiled.match(word) is not None


#: How to tell each way of writing, and what reads it. An encoded polyline can look like almost
#: anything, so it comes last.
_FORMS: tuple[tuple[Callable[[str], bool], Callable[[Any, BoolArray], Ends]], ...] = (
    (_like(r"\["), _from_json_lists),
    (_like(r"\{"), _from_json_objects),
    (_like(r"(?i)(SRID=\d+;)?\s*(MULTI)?(POINT|LINESTRING|POLYGON)"), _from_wkt),
    (_like(r"0[01][0-9A-Fa-f]{18,}$"), _from_hex),
    (_like(_PAIR), _from_pairs),
    (_like(r"[?-~]{4,}$"), _from_polylines),
)


def check_crs(crs: object) -> pyproj.CRS:
    """Take a coordinate system by its EPSG number, or as the projection JSON or text inside a file.

    Raises
    ------
    ParameterError
        If it is unknown.
    """
    try:
        if isinstance(crs, dict):
            return pyproj.CRS.from_json_dict(crs)
        text = str(crs).strip()
        number = re.fullmatch(r"(?i)(?:urn:ogc:def:crs:)?EPSG:{1,2}(?:[\d.]*:)?(\d{4,6})|(\d{4,6})", text)
        if number:
            return pyproj.CRS.from_epsg(int(number.group(1) or number.group(2)))
        if re.fullmatch(r"(?i)(?:urn:ogc:def:crs:)?OGC:(?:[\d.]*:)?CRS84h?", text):
            return pyproj.CRS.from_user_input("OGC:CRS84")
        # Text of a projection from a file, never a name that the library would look up on disk.
        if text.endswith("]") and text.split("[")[0].strip().isupper():
            return pyproj.CRS.from_wkt(text)
    except (CRSError, ProjError, ValueError, OverflowError) as error:
        raise ParameterError("crs", _NO_CRS.format(str(crs)[:60])) from error
    raise ParameterError("crs", _NO_CRS.format(str(crs)[:60]))


_NO_CRS = "The coordinate system {!r} is unknown; write it like EPSG:25833."


def to_degrees(crs: pyproj.CRS, x: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Convert places to latitude and longitude (WGS 84).

    Parameters
    ----------
    crs
        Coordinate system of the places.
    x, y
        (n,) float64, east and north (or longitude and latitude), NaN where there is none.

    Returns
    -------
    latitude and longitude, each (n,) float64 in degrees, infinite where they have no place there.
    """
    change = pyproj.Transformer.from_crs(crs, "EPSG:4326", always_xy=True)
    lng, lat = change.transform(x, y)
    nowhere = np.isnan(x) | np.isnan(y)
    lat, lng = np.asarray(lat, dtype=np.float64), np.asarray(lng, dtype=np.float64)
    lat[nowhere], lng[nowhere] = np.nan, np.nan
    return lat, lng
