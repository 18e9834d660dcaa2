"""The built-in cities: public service areas, their land, their clocks and their named regions.

A service area is the land inside a box, or for London the 33 boroughs. The files under
``data/cities`` are made by ``data/build_cities.py``; sources and licences stand in
``data/README.md``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from types import MappingProxyType

from shapely.geometry import shape
from shapely.geometry.base import BaseGeometry

from ldpcore.domain import Area, Domain, cells_over
from ldpcore.errors import ParameterError

DATA_FOLDER = Path(__file__).resolve().parents[2] / "data" / "cities"

_OSM = "© OpenStreetMap contributors"
_ODBL = "ODbL-1.0"
_ONS = (
    "Contains National Statistics data © Crown copyright and database right 2015. "
    "Contains Ordnance Survey data © Crown copyright and database right 2015."
)
_OGL = "OGL-UK-3.0"


@dataclass(frozen=True)
class City:
    """A built-in city.

    Parameters
    ----------
    slug
        Identifier on the command line and in links.
    label
        Name for people.
    bounds
        West, south, east and north edge of the box around the service area, degrees.
    timezone
        IANA zone.
    attribution, licence
        Line to show beside a map of the land, and the licence (SPDX) of the land file.
    regions_attribution, regions_licence
        The same for the named regions; empty where the city has none.
    """

    slug: str
    label: str
    bounds: tuple[float, float, float, float]
    timezone: str
    attribution: str = _OSM
    licence: str = _ODBL
    regions_attribution: str = ""
    regions_licence: str = ""

    @property
    def has_regions(self) -> bool:
        """Whether the city has named regions."""
        return bool(self.regions_attribution)


CITIES: Mapping[str, City] = MappingProxyType(
    {
        city.slug: city
        for city in (
            City(
                "new_york",
                "New York",
                (-74.20, 40.52, -73.70, 40.92),
                "America/New_York",
                regions_attribution="New York City Department of City Planning",
                regions_licence="public data of the City of New York",
            ),
            City(
                "san_francisco", "San Francisco Bay", (-122.53, 37.50, -122.00, 37.92), "America/Los_Angeles"
            ),
            City(
                "london",
                "London",
                (-0.52, 51.28, 0.34, 51.70),
                "Europe/London",
                attribution=_ONS,
                licence=_OGL,
                regions_attribution=_ONS,
                regions_licence=_OGL,
            ),
            City("singapore", "Singapore", (103.58, 1.15, 104.10, 1.50), "Asia/Singapore"),
            City("tokyo", "Tokyo", (139.53, 35.52, 139.96, 35.84), "Asia/Tokyo"),
            City("helsinki", "Helsinki", (24.55, 60.08, 25.25, 60.38), "Europe/Helsinki"),
            City("cape_town", "Cape Town", (18.30, -34.20, 18.80, -33.70), "Africa/Johannesburg"),
        )
    }
)


def find_city(slug: str) -> City:
    """Return a built-in city.

    Raises
    ------
    ParameterError
        If there is no such city; the message names those that exist.
    """
    city = CITIES.get(slug)
    if city is None:
        raise ParameterError(
            "city", f"There is no built-in city {slug!r}; choose one of {', '.join(CITIES)}."
        )
    return city


@cache
def city_area(slug: str) -> Area:
    """Return the service area of a city: the land inside its box, or the boroughs of London.

    Raises
    ------
    ParameterError
        If there is no such city.
    """
    city = find_city(slug)
    collection = json.loads(city_land_geojson(slug))
    return Area(
        name=slug,
        label=city.label,
        geometry=shape(collection["features"][0]["geometry"]),
        timezone=city.timezone,
        attribution=city.attribution,
    )


@lru_cache(maxsize=len(CITIES) * 6)
def city_domain(slug: str, resolution: int) -> Domain:
    """Return the domain of a city: every cell that overlaps its service area.

    Parameters
    ----------
    slug
        City.
    resolution
        H3 resolution, 5 to 10.

    Raises
    ------
    ParameterError
        If there is no such city or no such resolution.
    """
    return cells_over(city_area(slug), resolution)


@cache
def city_regions(slug: str) -> Mapping[str, BaseGeometry]:
    """Return the outlines of a city's named regions, WGS 84, x = longitude; empty where it has none.

    They only name places; the service area does not depend on them.

    Raises
    ------
    ParameterError
        If there is no such city.
    """
    city = find_city(slug)
    if not city.has_regions:
        return MappingProxyType({})
    collection = json.loads((DATA_FOLDER / f"{slug}_regions.geojson").read_text(encoding="utf-8"))
    return MappingProxyType(
        {item["properties"]["name"]: shape(item["geometry"]) for item in collection["features"]}
    )


@cache
def city_land_geojson(slug: str) -> str:
    """Return the land of a city as a GeoJSON text of some tens of kilobytes, for a map.

    Raises
    ------
    ParameterError
        If there is no such city.
    """
    find_city(slug)
    return (DATA_FOLDER / f"{slug}.geojson").read_text(encoding="utf-8")
