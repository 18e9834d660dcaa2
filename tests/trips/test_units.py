"""Whole numbers that are parts of a degree are divided; metres and feet are refused, never misread."""

from __future__ import annotations

import numpy as np
import pytest
from pyproj import Transformer

from ldpcore.errors import TripFileError
from ldpcore.trips.read import read_trips
from ldpcore.trips.table import TripTable

OSLO_BOX = (10.4, 59.7, 11.2, 60.2)
URBAN_SHARING = (
    "started_at,ended_at,duration,start_station_latitude,start_station_longitude,end_station_latitude,"
    "end_station_longitude"
)
PLAIN = "start_lat,start_lng,end_lat,end_lng"


def around(lat: float, lng: float, count: int = 200) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(5)
    return rng.uniform(lat - 0.04, lat + 0.04, count), rng.uniform(lng - 0.08, lng + 0.08, count)


def read(a: np.ndarray, b: np.ndarray, header: str = PLAIN, **options: object) -> TripTable:
    times = "2024-01-01 08:00:00+00:00,2024-01-01 08:10:00+00:00,600," if header == URBAN_SHARING else ""
    rows = "".join(f"{times}{x},{y},{x},{y}\n" for x, y in zip(a, b, strict=True))
    return read_trips(f"{header}\n{rows}".encode(), name="trips.csv", **options)  # type: ignore[arg-type]


def projected(epsg: int, lat: float, lng: float, *, swap: bool = False) -> tuple[np.ndarray, np.ndarray]:
    north_east = around(lat, lng)
    x, y = Transformer.from_crs(4326, epsg, always_xy=True).transform(north_east[1], north_east[0])
    pair = (np.rint(y).astype(int), np.rint(x).astype(int))
    return pair[::-1] if swap else pair


#: EPSG, and a city in it. Houston's feet reach 13.8 million and China's eastings carry their zone.
SYSTEMS = {
    "UTM 32 in Oslo": (25832, 59.92, 10.75),
    "UTM 33 in Oslo": (25833, 59.92, 10.75),
    "web Mercator in Oslo": (3857, 59.92, 10.75),
    "web Mercator in Tromsø": (3857, 69.65, 18.95),
    "web Mercator in Tokyo": (3857, 35.68, 139.76),
    "British grid in Edinburgh": (27700, 55.95, -3.19),
    "Texas in feet": (2278, 29.76, -95.37),
    "Gauss-Krueger zone 3": (31467, 50.11, 8.68),
    "China, zone before the easting": (4527, 39.90, 116.40),
    "UTM 31 in Lagos": (32631, 6.50, 3.40),
    "web Mercator in Accra": (3857, 5.60, -0.20),
    "Singapore": (3414, 1.35, 103.82),
}


@pytest.mark.parametrize("swap", [False, True])
@pytest.mark.parametrize("header", [URBAN_SHARING, PLAIN])
@pytest.mark.parametrize("system", SYSTEMS)
def test_whole_metres_and_feet_are_refused_in_every_schema(system: str, header: str, swap: bool) -> None:
    epsg, lat, lng = SYSTEMS[system]
    a, b = projected(epsg, lat, lng, swap=swap)
    around_it = (lng - 1.0, lat - 1.0, lng + 1.0, lat + 1.0)
    country = (lng - 12.0, lat - 9.0, lng + 12.0, lat + 9.0)
    for homes in ([], [around_it], [country]):
        with pytest.raises(TripFileError, match=r"not degrees.*metres.*EPSG"):
            read(a, b, header, homes=homes)


@pytest.mark.parametrize("epsg", [25832, 25833])
def test_the_remedy_for_metres_works(epsg: int) -> None:
    lat, lng = around(59.92, 10.75)
    found = read(*projected(epsg, 59.92, 10.75), URBAN_SHARING, crs=f"EPSG:{epsg}")
    # Half a metre of rounding is at most 0.5 / 111,000 degrees of latitude and twice that of longitude.
    assert np.allclose(found.frame["start_lat"], lat, atol=5e-6)
    assert np.allclose(found.frame["start_lng"], lng, atol=1e-5)


def test_a_named_area_tells_the_projection_that_fits() -> None:
    with pytest.raises(TripFileError, match="EPSG:32632 would put them where the trips should be"):
        read(*projected(25832, 59.92, 10.75), URBAN_SHARING, homes=[OSLO_BOX])
    with pytest.raises(TripFileError, match="EPSG:32633 would put them where the trips should be"):
        read(*projected(25833, 59.92, 10.75), URBAN_SHARING, homes=[OSLO_BOX])
    with pytest.raises(TripFileError, match="EPSG:3857 would put them"):
        read(*projected(3857, 40.72, -73.99, swap=True))  # New York is a built-in city


@pytest.mark.parametrize("scale", [10**5, 10**6, 10**7])
@pytest.mark.parametrize("swap", [False, True])
def test_parts_of_a_degree_are_divided_where_a_city_is_known(scale: int, swap: bool) -> None:
    lat, lng = around(59.92, 10.75)
    whole = [np.rint(v * scale).astype(int) for v in (lat, lng)]
    for header, columns in ((PLAIN, whole[::-1] if swap else whole), (URBAN_SHARING, whole)):
        found = read(*columns, header, homes=[OSLO_BOX])
        assert found.mended["whole_numbers"] == 200
        assert np.allclose(found.frame["start_lat"], lat, atol=0.5 / scale + 1e-12)
        assert np.allclose(found.frame["start_lng"], lng, atol=0.5 / scale + 1e-12)


@pytest.mark.parametrize(("scale", "divided"), [(10**5, False), (10**6, True), (10**7, True)])
def test_a_country_is_no_proof_of_the_scale_of_a_metre(scale: int, divided: bool) -> None:
    # Oslo Bysykkel's files lie in a box from 4 to 32 degrees east: whole metres over 100,000 do as well.
    lat, lng = around(59.92, 10.75)
    whole = [np.rint(v * scale).astype(int) for v in (lat, lng)]
    if divided:
        assert np.allclose(read(*whole, URBAN_SHARING).frame["end_lng"], lng, atol=0.5 / scale + 1e-12)
    else:
        with pytest.raises(TripFileError, match=r"metres.*E5"):
            read(*whole, URBAN_SHARING)


@pytest.mark.parametrize("digits", [5, 6, 7])
@pytest.mark.parametrize(
    "spelling", ["latitudeE{},longitudeE{}", "lat_e{},lng_e{}", "start_lat_1e{},start_lng_1e{}"]
)
def test_the_name_of_a_column_says_the_scale(digits: int, spelling: str) -> None:
    lat, lng = around(-33.9, 18.4)
    rows = "".join(
        f"{round(x * 10**digits)},{round(y * 10**digits)}\n" for x, y in zip(lat, lng, strict=True)
    )
    found = read_trips(f"{spelling.format(digits, digits)}\n{rows}".encode())
    assert np.allclose(found.frame["start_lat"], lat, atol=0.5 / 10**digits + 1e-12)


def test_a_name_that_merely_ends_in_e_and_a_number_says_nothing() -> None:
    a, b = projected(25832, 59.92, 10.75)
    rows = "".join(f"{x},{y}\n" for x, y in zip(a, b, strict=True))
    for header in ("latitude_5,longitude_5", "latitude 6,longitude 6"):
        with pytest.raises(TripFileError, match="EPSG"):
            read_trips(f"{header}\n{rows}".encode())


def test_millionths_and_ten_millionths_that_both_make_sense_are_asked_about() -> None:
    # Lomé at 6.13 N, 1.22 E in ten millionths would be 61.3 N, 12.2 E, in Norway, in millionths.
    lome = [np.rint(v * 10**7).astype(int) for v in around(6.13, 1.22)]
    with pytest.raises(TripFileError, match="writing E6 or E7"):
        read(*lome)
    found = read(*lome, homes=[(1.0, 6.0, 1.5, 6.4)])
    assert 6.0 < found.frame["start_lat"].mean() < 6.3
    # Above 90 millions only ten millionths are left.
    paris = [np.rint(v * 10**7).astype(int) for v in around(48.85, 2.35)]
    assert 48.8 < read(*paris).frame["start_lat"].mean() < 48.9


@pytest.mark.parametrize(("text", "digits"), [("E5", 5), ("e6", 6), (" E7 ", 7), ("1e6", 6)])
def test_the_user_may_say_the_scale(text: str, digits: int) -> None:
    lat, lng = around(48.85, 2.35)
    whole = [np.rint(v * 10**digits).astype(int) for v in (lat, lng)]
    found = read(*whole, crs=text)
    assert np.allclose(found.frame["end_lng"], lng, atol=0.5 / 10**digits + 1e-12)
    assert any("degrees already" in note for note in read(lat, lng, crs=text).notes)


def test_degrees_are_not_taken_for_metres() -> None:
    lat, lng = around(59.92, 10.75)
    for pair in ((lat, lng), (lng, lat)):
        with pytest.raises(
            TripFileError, match=r"in metres, but are such as .* degrees; leave the coordinate system"
        ):
            read(*pair, crs="EPSG:25833")
    assert np.allclose(read(lat, lng, crs="EPSG:4258").frame["start_lat"], lat)
