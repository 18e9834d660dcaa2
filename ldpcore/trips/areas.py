"""The service area of a trip file: a built-in city, a box, a polygon, or a box around the points."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import h3
import numpy as np
import shapely
from shapely import affinity
from shapely.geometry import shape
from shapely.geometry.base import BaseGeometry

from ldpcore.domain import Area, points_to_cells
from ldpcore.errors import ParameterError
from ldpcore.shapes import FloatArray
from ldpcore.trips.cities import CITIES, city_area
from ldpcore.trips.clock import check_timezone
from ldpcore.trips.quality import Draft, Side, swap_into
from ldpcore.trips.readers.source import harmless
from ldpcore.trips.table import TripTable
from ldpcore.trips.units import share_inside

DEFAULT_TIMEZONE = "UTC"
_MAX_AREA_BYTES = 32 * 1024 * 1024
_STEP_DEG = 0.1
_MAX_CORNERS = 200_000
_SAME_CORNER_DEG = 1e-4
_VISITED_SHARE = 0.95
_FILE_ENDINGS = (".geojson", ".json")
_FORM = "write W,S,E,N in degrees, such as 10.6,59.8,10.9,60.0, or name a .geojson file"
#: A box that is wider than this when it goes over the date line has west and east exchanged.
_WIDEST_ACROSS = 180.0


def area_from_text(text: str, *, timezone: str | None = None) -> Area:
    """Read an area as the command line gives it.

    Parameters
    ----------
    text
        "W,S,E,N" in degrees, or the path of a GeoJSON file with polygons.
    timezone
        IANA zone; UTC by default.

    Raises
    ------
    ParameterError
        If it is neither, or names no area.
    """
    if text.strip().lower().endswith(_FILE_ENDINGS):
        path = Path(text.strip())
        try:
            if path.stat().st_size > _MAX_AREA_BYTES:
                most = _MAX_AREA_BYTES // 2**20
                raise ParameterError(
                    "area", f"{harmless(path.name)} is larger than {most} MB; simplify the polygon."
                )
            content = path.read_bytes()
        except (OSError, ValueError) as error:
            if isinstance(error, ParameterError):
                raise
            raise ParameterError("area", f"The area file {harmless(path.name)} cannot be opened.") from error
        return area_from_geojson(content, label=harmless(path.stem), timezone=timezone)
    parts = text.split(",")
    try:
        west, south, east, north = (float(part) for part in parts)
    except ValueError as error:
        raise ParameterError("area", f"The area {harmless(text)!r} is not four numbers; {_FORM}.") from error
    return box_area(west, south, east, north, timezone=timezone)


def box_area(
    west: float,
    south: float,
    east: float,
    north: float,
    *,
    timezone: str | None = None,
    from_data: bool = False,
) -> Area:
    """Make an area of a box, degrees; west beyond east goes over the date line, as in 179,-18,-179,-16.

    Raises
    ------
    ParameterError
        If the edges are not numbers in range, or in the wrong order.
    """
    edges = f"{west:g},{south:g},{east:g},{north:g}"
    if not all(math.isfinite(edge) for edge in (west, south, east, north)):
        raise ParameterError("area", f"The area {edges} has an edge that is not a number; {_FORM}.")
    if max(abs(south), abs(north)) > 90 or max(abs(west), abs(east)) > 180:
        raise ParameterError(
            "area", f"The area {edges} lies beyond ±180 degrees of longitude or ±90 of latitude; {_FORM}."
        )
    across = west > east and east + 360.0 - west <= _WIDEST_ACROSS
    if (west >= east and not across) or south >= north:
        raise ParameterError(
            "area",
            f"The area {edges} must have west before east and south before north (west beyond east only over the "
            f"date line, as in 179,-18,-179,-16); {_FORM}.",
        )
    if across:  # kept in one piece, with an eastern edge beyond 180
        east += 360.0
    zone = check_timezone(timezone) if timezone else DEFAULT_TIMEZONE
    label = f"the box {edges}"
    return Area("box", label, shapely.box(west, south, east, north), zone, "", from_data)


def area_from_geojson(content: bytes, *, label: str = "area", timezone: str | None = None) -> Area:
    """Make an area of the polygons in a GeoJSON file (WGS 84, longitude first).

    Raises
    ------
    ParameterError
        If it is not GeoJSON or holds no polygon.
    """
    try:
        document = json.loads(content.decode("utf-8-sig"))
    except (UnicodeDecodeError, ValueError, RecursionError) as error:
        raise ParameterError("area", f"The area file {label} is not GeoJSON.") from error
    try:
        polygons = [p for p in _polygons(document) if not p.is_empty]
        whole = shapely.unary_union([shapely.make_valid(p) for p in polygons])
    except (
        shapely.errors.ShapelyError,
        ValueError,
        TypeError,
        KeyError,
        AttributeError,
        IndexError,
    ) as error:
        raise ParameterError("area", f"The area file {label} has a polygon that cannot be read.") from error
    whole = shapely.union_all(
        [g for g in shapely.get_parts(whole) if g.geom_type in {"Polygon", "MultiPolygon"}]
    )
    if whole.is_empty or whole.area == 0:
        raise ParameterError(
            "area", f"The area file {label} holds no polygon; draw the outline of the service area."
        )
    west, south, east, north = whole.bounds
    if west < -180:  # an outline over the date line may be drawn on either side of it
        whole = affinity.translate(whole, xoff=360.0)
        west, south, east, north = whole.bounds
    if west < -180 or west > 180 or east > 360 or max(abs(south), abs(north)) > 90:
        raise ParameterError(
            "area", f"The area file {label} is not in degrees of longitude and latitude; save it as WGS 84."
        )
    zone = check_timezone(timezone) if timezone else DEFAULT_TIMEZONE
    return Area("polygon", label, whole, zone, "")


def _polygons(document: Any) -> Iterator[BaseGeometry]:  # noqa: ANN401 - any JSON
    kind = document.get("type")
    if kind == "FeatureCollection":
        for feature in document["features"]:
            yield from _polygons(feature)
    elif kind == "Feature":
        if document.get("geometry"):
            yield from _polygons(document["geometry"])
    elif kind == "GeometryCollection":
        for part in document["geometries"]:
            yield from _polygons(part)
    elif kind in {"Polygon", "MultiPolygon"}:
        yield shape(document)


def choose_area(
    table: TripTable, *, city: str | None = None, area_text: str | None = None, timezone: str | None = None
) -> Area:
    """Choose the service area of a file.

    What the user names is taken. Else it is the built-in city whose box holds at least half of
    the places, and else the box of the middle 98 % of them (between the 1st and the 99th
    percentile of latitude and of longitude), rounded outward to 0.1 degrees and marked as taken
    from the data. Where the places lie on both sides of the date line the box goes over it.

    Parameters
    ----------
    table
        Trips.
    city
        Slug of a built-in city.
    area_text
        See `area_from_text`.
    timezone
        IANA zone of a box or polygon, UTC by default; a city has its own.

    Raises
    ------
    ParameterError
        If both a city and an area are named, or one of them does not exist.
    """
    if city and area_text:
        raise ParameterError("area", "Name a city or an area, not both.")
    if city:
        area = city_area(city)
        return replace(area, timezone=check_timezone(timezone)) if timezone else area
    if area_text:
        return flag_area(area_from_text(area_text, timezone=timezone), table)
    lat, lng = _all_places(table)
    shares = {slug: share_inside(lat, lng, known.bounds) for slug, known in CITIES.items()}
    best = max(shares, key=lambda slug: shares[slug])
    if shares[best] >= 0.5:
        area = city_area(best)
        return replace(area, timezone=check_timezone(timezone)) if timezone else area
    south, north = _middle(lat, 90.0)
    turned = _in_one_piece(lng)
    west, east = _middle(turned, 180.0 if turned is lng else 360.0)
    return box_area(
        west, south, east - 360.0 if east > 180 else east, north, timezone=timezone, from_data=True
    )


def _in_one_piece(lng: FloatArray) -> FloatArray:
    """Turn western longitudes a full turn east where the places lie on both sides of the date line."""
    eastward = np.where(lng < 0, lng + 360.0, lng)
    here, there = (float(np.ptp(np.quantile(value, [0.01, 0.99]))) for value in (lng, eastward))
    return eastward if here > 180.0 and there <= _WIDEST_ACROSS - 1.0 else lng


def flag_area(area: Area, table: TripTable) -> Area:
    """Mark an area as taken from the data where it follows the trips too closely to be public knowledge.

    An area made of H3 cells nearly all of which hold a place is a list of visited cells; a box that
    ends exactly at the outermost places was drawn around them.

    Parameters
    ----------
    area
        Area that the user named.
    table
        Trips.
    """
    lat, lng = _all_places(table)
    if not lat.size or area.from_data:
        return area
    if area.bounds[2] > 180.0:
        lng = np.where(lng < 0, lng + 360.0, lng)
    outermost = (lng.min(), lat.min(), lng.max(), lat.max())
    fits = bool(np.allclose(area.bounds, outermost, rtol=0, atol=1e-6)) and lat.size > 1
    return replace(area, from_data=fits or _visited_cells(area, lat, lng))


def _visited_cells(area: Area, lat: FloatArray, lng: FloatArray) -> bool:
    """Whether an area is a patchwork of H3 cells, nearly all of them visited."""
    corners = np.unique(np.round(shapely.get_coordinates(area.geometry), 7), axis=0)
    lng = np.where(lng > 180.0, lng - 360.0, lng)
    if not 5 <= len(corners) <= _MAX_CORNERS:
        return False
    for resolution in range(5, 11):
        # Every corner of a patchwork is a corner of the three cells that meet near it.
        around = h3.latlng_to_cell(float(corners[0, 1]), float(corners[0, 0]), resolution)
        known = np.array([b[::-1] for cell in h3.grid_disk(around, 1) for b in h3.cell_to_boundary(cell)])
        if np.abs(known - corners[0]).sum(axis=1).min() > _SAME_CORNER_DEG:
            continue
        try:
            cells = h3.geo_to_cells(area.geometry, resolution)
        except ValueError:
            return False
        inside = points_to_cells(lat, lng, resolution)
        visited = np.isin(np.array([h3.str_to_int(cell) for cell in cells], dtype=np.uint64), inside)
        return bool(visited.size > 1 and visited.mean() >= _VISITED_SHARE)
    return False


def fit_to_area(table: TripTable, area: Area) -> TripTable:
    """Exchange latitude and longitude where only the other order lies in the area.

    Reading a file can tell the order by its vendor or by the built-in cities; an area that the
    user names tells it for every other file. An area taken from the data tells nothing.

    Parameters
    ----------
    table
        Trips; left as they are, a changed copy is returned.
    area
        Service area.
    """
    if area.from_data:
        return table
    problems = {"start": table.start_problem, "end": table.end_problem}
    sides = []
    for name, problem in problems.items():
        if problem is not None:
            lat, lng = (
                table.frame[f"{name}_{axis}"].to_numpy(dtype=np.float64, copy=True) for axis in ("lat", "lng")
            )
            nothing = np.zeros(len(lat), dtype=np.bool_)
            sides.append(Side(name, lat, lng, nothing, nothing))
    draft = Draft(table.name, sides, [area.bounds])
    swap_into(draft)
    if not draft.mended:
        return table
    places = {f"{s.name}_{axis}": value for s in sides for axis, value in (("lat", s.lat), ("lng", s.lng))}
    beyond = [
        name
        for name, value in places.items()
        if np.any(np.abs(value) > (90 if name.endswith("lat") else 180))
    ]
    if beyond:  # a pair that only one order allows was never a swapped one
        return table
    return replace(
        table,
        frame=table.frame.assign(**places),
        mended={**table.mended, **draft.mended},
        notes=[*table.notes, *draft.notes],
    )


def _all_places(table: TripTable) -> tuple[FloatArray, ...]:
    frame = table.frame
    sides = [side for side in ("start", "end") if f"{side}_lat" in frame]
    lat = np.concatenate([frame[f"{side}_lat"].to_numpy(dtype=np.float64) for side in sides])
    lng = np.concatenate([frame[f"{side}_lng"].to_numpy(dtype=np.float64) for side in sides])
    known = ~np.isnan(lat) & ~np.isnan(lng)
    return lat[known], lng[known]


def _middle(value: FloatArray, limit: float) -> tuple[float, float]:
    low, high = np.quantile(value, [0.01, 0.99])
    steps = round(1 / _STEP_DEG)
    # A millionth of a step absorbs that 10.7 * 10 is not 107 in binary.
    first = math.floor(float(low) * steps + 1e-6)
    last = math.ceil(float(high) * steps - 1e-6)
    if last <= first:
        last = first + 1
    return max(first / steps, -limit), min(last / steps, limit)
