"""The built-in cities: cell counts, land, clocks, regions, load time."""

from __future__ import annotations

import json
import time
from zoneinfo import ZoneInfo

import numpy as np
import pytest
import shapely
from shapely.geometry import shape

from ldpcore.domain import cells_over
from ldpcore.errors import ParameterError
from ldpcore.trips.cities import CITIES, city_area, city_domain, city_land_geojson, city_regions

# Cells at resolution 8 that overlap the land, and land in km², as measured for the plan of this
# project from the same sources. (Those counts held a cell once per polygon part that it overlaps,
# which is why the many islands of Helsinki come out lower here.)
REFERENCE = {
    "new_york": (2218, 1353),
    "san_francisco": (2232, 1471),
    "tokyo": (1915, 1177),
    "helsinki": (2054, 941),
    "london": (2587, 1574),
    "singapore": (1779, 1136),
    "cape_town": (2523, 1649),
}
# Well-known places on land, and places in the water of the same box.
ON_LAND = {
    "new_york": [
        (40.7580, -73.9855),
        (40.6895, -74.0168),
        (40.7033, -74.0170),
    ],  # Times Square, Governors Island, a quay
    "san_francisco": [(37.7955, -122.3937), (37.8235, -122.3706)],  # Ferry Building, Treasure Island
    "london": [(51.5007, -0.1246), (51.4779, -0.0015)],
    "singapore": [(1.2868, 103.8545), (1.2494, 103.8303)],
    "tokyo": [(35.6586, 139.7454), (35.6298, 139.7756)],
    "helsinki": [(60.1699, 24.9384), (60.1454, 24.9881)],  # the second is the island of Suomenlinna
    "cape_town": [(-33.9036, 18.4201), (-33.8076, 18.3712)],  # the second is Robben Island
}
IN_WATER = {
    "new_york": (40.53, -73.90),
    "san_francisco": (37.70, -122.28),
    "london": (51.30, -0.50),  # outside the boroughs
    "singapore": (1.22, 103.95),
    "tokyo": (35.56, 139.90),
    "helsinki": (60.09, 25.05),
    "cape_town": (-34.15, 18.62),
}


def test_seven_cities_are_built_in() -> None:
    assert set(CITIES) == set(REFERENCE)
    with pytest.raises(TypeError):
        CITIES["atlantis"] = CITIES["tokyo"]  # type: ignore[index]


@pytest.mark.parametrize("slug", REFERENCE)
def test_cell_count_is_within_five_percent_of_the_reference(slug: str) -> None:
    assert city_domain(slug, 8).size == pytest.approx(REFERENCE[slug][0], rel=0.05)


@pytest.mark.parametrize("slug", REFERENCE)
def test_land_area_is_that_of_the_city(slug: str) -> None:
    geometry = city_area(slug).geometry
    assert geometry.is_valid
    lat = np.radians(np.mean([city_area(slug).bounds[1], city_area(slug).bounds[3]]))
    km2 = geometry.area * 111.195**2 * np.cos(lat)
    # The land is widened by 20 m along its shores, most in the archipelago of Helsinki.
    assert km2 == pytest.approx(REFERENCE[slug][1], rel=0.02)


@pytest.mark.parametrize("slug", REFERENCE)
def test_known_places_are_in_the_domain_and_open_water_is_not(slug: str) -> None:
    for resolution in (5, 8, 10):
        lat, lng = zip(*ON_LAND[slug], strict=True)
        assert (city_domain(slug, resolution).index_of_points(lat, lng) >= 0).all()
    lat_in_water, lng_in_water = IN_WATER[slug]
    assert city_domain(slug, 8).index_of_points([lat_in_water], [lng_in_water]).tolist() == [-1]


@pytest.mark.parametrize("slug", REFERENCE)
def test_bounds_clock_and_attribution(slug: str) -> None:
    city, area = CITIES[slug], city_area(slug)
    ZoneInfo(city.timezone)
    assert area.timezone == city.timezone
    west, south, east, north = city.bounds
    assert west - 1e-9 <= area.bounds[0] < area.bounds[2] <= east + 1e-9
    assert south - 1e-9 <= area.bounds[1] < area.bounds[3] <= north + 1e-9
    assert ("Crown copyright" if slug == "london" else "OpenStreetMap contributors") in area.attribution
    assert not area.from_data


@pytest.mark.parametrize("slug", REFERENCE)
def test_land_for_the_map_is_small_valid_geojson(slug: str) -> None:
    text = city_land_geojson(slug)
    assert len(text.encode()) < 60_000
    land = json.loads(text)
    assert land["type"] == "FeatureCollection"
    assert shape(land["features"][0]["geometry"]).equals(city_area(slug).geometry)


def test_regions_name_the_boroughs() -> None:
    assert set(city_regions("new_york")) == {"Bronx", "Brooklyn", "Manhattan", "Queens", "Staten Island"}
    london = city_regions("london")
    assert len(london) == 33
    assert {"Camden", "City of London", "Westminster"} <= set(london)
    assert not city_regions("tokyo")
    brooklyn_bridge_park = shapely.Point(-73.9965, 40.7003)
    assert [
        name for name, outline in city_regions("new_york").items() if outline.contains(brooklyn_bridge_park)
    ] == ["Brooklyn"]


def test_an_unknown_city_is_refused_with_those_that_exist() -> None:
    for look_up in (city_area, city_regions, city_land_geojson):
        with pytest.raises(
            ParameterError, match=r"no built-in city 'atlantis'.*new_york.*cape_town"
        ) as caught:
            look_up("atlantis")
        assert caught.value.parameter == "city"
    with pytest.raises(ParameterError, match="from 5 to 10"):
        city_domain("tokyo", 4)


def test_new_york_loads_quickly_at_every_resolution() -> None:
    area = city_area("new_york")
    for resolution in range(5, 11):
        began = time.process_time()
        cells_over(area, resolution)
        # Measured at 0.06 s or less, and 0.3 s at resolution 10; the limits leave room for a slow machine.
        assert time.process_time() - began < (0.3 if resolution < 10 else 1.5)
    assert city_domain("new_york", 8) is city_domain("new_york", 8)


def test_versions_differ_between_cities_and_resolutions() -> None:
    versions = {city_domain(slug, resolution).version for slug in CITIES for resolution in (6, 7, 8)}
    assert len(versions) == 3 * len(CITIES)
