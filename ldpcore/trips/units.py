"""Coordinates far beyond 180, parts of a degree written as whole numbers or metres, told apart.

The size of a number tells little. A whole metre and 1/100,000 of a degree are almost the same length,
and metres and feet of the usual projections reach 20 million, where millionths of a degree are too. So a
scale is taken only where the name of the column says it, where the result lies in a box the size of a
city that the trips are known to be in, or where no projection writes such numbers. Else the file is
refused: a question costs a minute, a wrong place is believed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from ldpcore.shapes import BoolArray, FloatArray
from ldpcore.trips.geometry import check_crs, to_degrees
from ldpcore.trips.names import reduce_name
from ldpcore.trips.schemas import Box

SCALES = (1e5, 1e6, 1e7)
#: A longitude of 180 that is a full turn off; whatever is beyond is in another unit.
_MOST_DEGREES = 540.0
#: A box no wider and no higher than this is a city: a country holds its own metres, misread as degrees.
_CITY_DEG = 4.0
#: Web Mercator ends at 20,037,508 m, and the false northings of feet are below that.
_MOST_PROJECTED = 2.1e7
#: Gauss-Krueger writes the zone before the easting (zone 45 is the last of China), beside a plain northing.
_MOST_NORTHING, _MOST_ZONED_EASTING = 1.1e7, 4.6e7
_WEB_MERCATOR = "EPSG:3857"
_TRIED = 500  # places looked at to try a projection

_SAYS_SCALE = re.compile(
    r"(?:lat|lng|lon|long|latitude|longitude|[xy])(?:1|x1|times1)?e([567])(?:deg|degrees)?"
)
_SCALE = re.compile(r"(?i)1?e([567])")
_SAYS_MICRO = re.compile(r"micro(?:deg|degree|degrees)?")


def inside(lat: FloatArray, lng: FloatArray, box: Box) -> BoolArray:
    """Tell which places lie in a box (west, south, east, north), (n,) bool; east may be beyond 180."""
    west, south, east, north = box
    across = (lng >= west) & (lng <= east)
    if east > 180.0:  # over the date line
        across |= (lng + 360.0 >= west) & (lng + 360.0 <= east)
    return np.asarray((lat >= south) & (lat <= north) & across, dtype=np.bool_)


def share_inside(lat: FloatArray, lng: FloatArray, box: Box) -> float:
    """Share of the places that lie in a box (west, south, east, north); 0 where there are none."""
    known = int(np.count_nonzero(~np.isnan(lat) & ~np.isnan(lng)))
    return int(np.count_nonzero(inside(lat, lng, box))) / known if known else 0.0


def best_share(lat: FloatArray, lng: FloatArray, boxes: Sequence[Box]) -> float:
    """Share of the places in the box that holds most of them; 0 without a box."""
    return max((share_inside(lat, lng, box) for box in boxes), default=0.0)


def _either_order(lat: FloatArray, lng: FloatArray, boxes: Sequence[Box]) -> float:
    return max(best_share(lat, lng, boxes), best_share(lng, lat, boxes))


def beyond_degrees(lat: FloatArray, lng: FloatArray) -> bool:
    """Whether most of the numbers are too large for degrees."""
    size = np.maximum(np.abs(lat), np.abs(lng))
    size = size[~np.isnan(size)]
    return bool(size.size and float(np.median(size)) > _MOST_DEGREES)


def looks_like_degrees(lat: FloatArray, lng: FloatArray) -> bool:
    """Whether every number there is a latitude and a longitude, in either order, and not both zero."""
    small, large = np.fmin(np.abs(lat), np.abs(lng)), np.fmax(np.abs(lat), np.abs(lng))
    known = ~np.isnan(lat) & ~np.isnan(lng) & (large > 0)
    return bool(known.any() and np.all(small[known] <= 90) and np.all(large[known] <= 180))


def scale_from_text(text: str) -> float | None:
    """Return the scale that a user names in place of a coordinate system, None where it is none.

    >>> scale_from_text("e6"), scale_from_text("EPSG:25833")
    (1000000.0, None)
    """
    said = _SCALE.fullmatch(text.strip())
    return 10.0 ** int(said.group(1)) if said else None


def named_scale(columns: Mapping[str, str]) -> float | None:
    """Return the scale that the name of a latitude says: 1e6 for "latitudeE6"; None where it says none.

    >>> named_scale({"start_lat": "lat_e5"}), named_scale({"start_lat": "latitude 5"})
    (100000.0, None)
    """
    name = reduce_name(columns.get("start_lat", columns.get("end_lat", "")))
    said = _SAYS_SCALE.search(name)
    if said:
        return 10.0 ** int(said.group(1))
    return 1e6 if _SAYS_MICRO.search(name) else None


def scale_of(
    lat: FloatArray, lng: FloatArray, *, columns: Mapping[str, str], homes: Sequence[Box]
) -> float | None:
    """Find what whole numbers have to be divided by to be degrees.

    Parameters
    ----------
    lat, lng
        (n,) float64 without NaN, beyond degrees.
    columns
        Canonical column to its name in the file.
    homes
        Boxes (west, south, east, north) in which the places may lie.

    Returns
    -------
    100,000, a million or ten million, or None where nothing settles it.
    """
    if not (np.all(lat == np.floor(lat)) and np.all(lng == np.floor(lng))):
        return None
    named = named_scale(columns)
    if named is not None:
        return named
    cities = city_sized(homes)
    near = [scale for scale in SCALES if _either_order(lat / scale, lng / scale, cities) >= 0.5]
    if len(near) == 1 and not systems_at_home(lat, lng, cities):
        return near[0]
    if near or _may_be_projected(lat, lng):
        return None
    somewhere = [scale for scale in SCALES if _either_order(lat / scale, lng / scale, homes) >= 0.5]
    if len(somewhere) == 1:
        return somewhere[0]
    possible = _possible(lat, lng)
    return possible[0] if len(possible) == 1 else None


def _possible(lat: FloatArray, lng: FloatArray) -> list[float]:
    """List the scales at which nearly all numbers are a latitude and a longitude, in either order."""
    small, large = np.minimum(np.abs(lat), np.abs(lng)), np.maximum(np.abs(lat), np.abs(lng))
    return [
        scale for scale in SCALES if float(np.mean((small <= 90 * scale) & (large <= 180 * scale))) >= 0.95
    ]


def _may_be_projected(lat: FloatArray, lng: FloatArray) -> bool:
    """Whether a projection in use writes numbers of this size, in metres or feet."""
    small, large = sorted((float(np.median(np.abs(lat))), float(np.median(np.abs(lng)))))
    return large <= _MOST_PROJECTED or (small <= _MOST_NORTHING and large <= _MOST_ZONED_EASTING)


def city_sized(boxes: Sequence[Box]) -> list[Box]:
    """Keep the boxes small enough for a place inside to be no accident."""
    return [box for box in boxes if box[2] - box[0] <= _CITY_DEG and box[3] - box[1] <= _CITY_DEG]


def _systems_near(box: Box) -> Iterator[str]:
    """Name the projections that a file of a city may be in without saying so."""
    yield _WEB_MERCATOR
    west, south, east, north = box
    base = 32700 if south + north < 0 else 32600
    # A country may use one zone throughout: Oslo lies in zone 32 and is mapped in 33.
    for zone in range(int((west + 180) // 6) - 1, int((east + 180) // 6) + 2):
        yield f"EPSG:{base + zone % 60 + 1}"


def systems_at_home(lat: FloatArray, lng: FloatArray, cities: Sequence[Box]) -> list[str]:
    """List the projections (EPSG) in which the numbers lie in a city they may be from.

    Parameters
    ----------
    lat, lng
        (n,) float64 without NaN: north and east, or the other way round.
    cities
        Boxes of the size of a city.
    """
    step = max(1, lat.size // _TRIED)
    north, east = lat[::step], lng[::step]
    found = []
    for box in cities:
        for name in _systems_near(box):
            places = (to_degrees(check_crs(name), x, y) for x, y in ((east, north), (north, east)))
            if name not in found and any(share_inside(*place, box) >= 0.5 for place in places):
                found.append(name)
    return found


def not_degrees(label: str, lat: FloatArray, lng: FloatArray, homes: Sequence[Box]) -> str:
    """Write the sentence that refuses coordinates that are no degrees and of no unit that is known.

    Parameters
    ----------
    label
        Label of the file.
    lat, lng
        (n,) float64 without NaN.
    homes
        Boxes in which the places may lie.
    """
    start = f"{label} has coordinates such as {np.median(lat):,.0f} and {np.median(lng):,.0f}, which are not degrees"
    whole = bool(np.all(lat == np.floor(lat)) and np.all(lng == np.floor(lng)))
    if whole and not _may_be_projected(lat, lng) and _possible(lat, lng):
        return (
            f"{start} but whole numbers, of 1/1,000,000 or of 1/10,000,000 of a degree; say which by writing E6 or E7 "
            "for the coordinate system."
        )
    near = systems_at_home(lat, lng, city_sized(homes))
    example = (
        f" ({near[0]} would put them where the trips should be)" if len(near) == 1 else ", such as EPSG:25833"
    )
    other = "; if they are parts of a degree, write E5, E6 or E7 for the coordinate system" if whole else ""
    return (
        f"{start} but probably metres; say which coordinate system (EPSG) they are in{example}, or convert them "
        f"to latitude and longitude (WGS 84){other}."
    )
