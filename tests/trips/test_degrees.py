"""Coordinates as people write them: read where there is one way to, else refused with what to write."""

from __future__ import annotations

import csv
import io

import pytest

from ldpcore.errors import TripFileError
from ldpcore.trips.read import read_trips, read_zones
from ldpcore.trips.table import TripTable


def read(rows: list[tuple[str, str]], **options: object) -> TripTable:
    stream = io.StringIO()
    csv.writer(stream).writerows([("start_lat", "start_lng"), *rows])
    return read_trips(stream.getvalue().encode(), name="t.csv", **options)  # type: ignore[arg-type]


#: 40°42'46"N is 40 + 42/60 + 46/3600 degrees, 74°0'22"W is -(74 + 22/3600).
NORTH, WEST = 40 + 42 / 60 + 46 / 3600, -(74 + 22 / 3600)
SPELLINGS = [
    ("40°42'46\"N", "74°0'22\"W"),
    ("40° 42' 46\" N", "74° 0' 22\" W"),
    ("N40°42'46\"", "W74°0'22\""),
    ("40º42′46″N", "74º0′22″W"),
    ("40°42’46”N", "74°00’22”W"),
    ("40 42 46 N", "74 0 22 W"),
    ("40:42:46N", "74:00:22W"),
    ("40d42m46sN", "74d0m22sW"),
    ("40°42'46\"", "-74°0'22\""),
    ("+40°42'46\"", "−74°0'22\""),
    ("40°42'46''N", "74°0'22''W"),
    ("40°42'46.0\"N", "74°0'22,0\"W"),
]


@pytest.mark.parametrize(("lat", "lng"), SPELLINGS)
def test_degrees_minutes_and_seconds_are_read(lat: str, lng: str) -> None:
    found = read([(lat, lng), ("40.5", "-73.5")])
    assert found.frame["start_lat"].tolist() == pytest.approx([NORTH, 40.5], abs=1e-12)
    assert found.frame["start_lng"].tolist() == pytest.approx([WEST, -73.5], abs=1e-12)
    assert found.mended == {"written_degrees": 1}
    assert any("written with marks or letters" in note for note in found.notes)


@pytest.mark.parametrize(
    ("lat", "lng", "there"),
    [
        ("40°42.767'N", "74°0.3667'W", (40 + 42.767 / 60, -(74 + 0.3667 / 60))),
        ("40.7128°", "-74.0060°", (40.7128, -74.006)),
        ("40.7128N", "74.0060W", (40.7128, -74.006)),
        ("N 40.7128", "W 74.0060", (40.7128, -74.006)),
        ("33°55'31\"S", "18°25'26\"E", (-(33 + 55 / 60 + 31 / 3600), 18 + 25 / 60 + 26 / 3600)),
        ("40,7128° N", "74,006° W", (40.7128, -74.006)),
    ],
)
def test_decimal_minutes_and_letters_are_read(lat: str, lng: str, there: tuple[float, float]) -> None:
    frame = read([(lat, lng)]).frame
    assert (frame["start_lat"].iloc[0], frame["start_lng"].iloc[0]) == pytest.approx(there, abs=1e-12)


def test_letters_put_exchanged_columns_right() -> None:
    # 18 and 34 are both possible latitudes: only the letters tell.
    found = read([("18°25'26\"E", "33°55'31\"S"), ("33°55'31\"S", "18°25'26\"E")])
    assert found.frame["start_lat"].nunique() == 1
    assert found.frame["start_lat"].iloc[0] < -33
    assert found.mended == {"written_degrees": 2, "swapped_lat_lng": 1}


@pytest.mark.parametrize(
    "wrong",
    [
        "40°61'00\"N",  # 61 minutes
        "40°42'60\"N",
        "-40°42'46\"N",  # a sign and a letter
        "40.5°42'N",  # half a degree and minutes
        "40°42.5'30\"N",
        "40 42 46",  # may be a number with gaps
        "N40N",
        "40°42'46\"E",  # an eastern latitude beside a western longitude
        "40°42'46\"O",  # east in German, west in French
        "1.5e",
    ],
)
def test_what_contradicts_itself_is_no_coordinate(wrong: str) -> None:
    found = read([("40.7", "-74.0"), (wrong, "74°0'22\"W")])
    assert [bool(code) for code in found.start_problem] == [False, True]


def test_decimal_commas_in_quotation_marks_are_read() -> None:
    found = read([("40,7128", "-74,0060"), ("40,7", "-74"), ("40.75", "-74,123")])
    assert found.frame["start_lat"].tolist() == [40.7128, 40.7, 40.75]
    assert found.frame["start_lng"].tolist() == [-74.006, -74.0, -74.123]
    assert "Coordinates have a decimal comma." in found.notes


@pytest.mark.parametrize(
    "rows",
    [
        [("28,000", "30,000"), ("28,123", "30,456")],  # SVY21 in Singapore, or Egypt
        [("6,643,000", "597,859"), ("6,643,100", "597,958")],
        [("1,234.5", "1,000.25"), ("1,235.5", "1,001.25")],
        [("6,643,000", "597,85")],
    ],
)
def test_commas_that_may_be_thousands_are_refused_with_the_remedy(rows: list[tuple[str, str]]) -> None:
    with pytest.raises(
        TripFileError, match=r"text such as [\d,.]+; write degrees as plain numbers.*thousands"
    ):
        read(rows)


def test_text_that_is_no_coordinate_is_shown_harmless() -> None:
    with pytest.raises(TripFileError) as caught:
        read([("=cmd|x<b>", "[x](y)")])
    assert "such as '=cmd|x‹b›" in str(caught.value)
    with pytest.raises(TripFileError, match="such as 40°42'46"):  # two latitudes
        read([("40°42'46\"N", "40°42'46\"N")])
    with pytest.raises(TripFileError, match="blank, 0/0 or out of range"):
        read([("", ""), ("0", "0"), ("91", "179")])


def test_zone_files_may_be_written_so_too() -> None:
    text = 'zone_id,latitude,longitude\nA,"40°42\'46""N","74°0\'22""W"\nB,"40,7001","-73,9999"\n'
    zones = read_zones(text.encode(), name="z.csv")
    assert zones.lat.tolist() == pytest.approx([NORTH, 40.7001])
    with pytest.raises(TripFileError, match="such as 28,000; write degrees"):
        read_zones(b'zone_id,latitude,longitude\nA,"28,000","30,000"\n', name="z.csv")
