"""Each defect is mended and said, dropped and counted, or refused: never a silent wrong place."""

from __future__ import annotations

import h3
import numpy as np
import pytest

from ldpcore.domain import cells_over
from ldpcore.errors import TripFileError
from ldpcore.trips.account import account
from ldpcore.trips.areas import box_area
from ldpcore.trips.quality import DETECTORS, cell_spacing_m
from ldpcore.trips.read import read_trips
from ldpcore.trips.table import TripTable
from ldpcore.trips.values import table_values

OSLO = [(10.3, 59.7, 11.2, 60.2)]


def table(
    rows: list[tuple[object, ...]], header: str = "start_lat,start_lng", **options: object
) -> TripTable:
    text = header + "\n" + "".join(",".join(map(str, row)) + "\n" for row in rows)
    return read_trips(text.encode(), **options)  # type: ignore[arg-type]


def around_oslo(count: int = 300, seed: int = 3) -> list[tuple[float, float]]:
    rng = np.random.default_rng(seed)
    lat, lng = rng.uniform(59.85, 59.97, count), rng.uniform(10.6, 10.9, count)
    return list(zip(lat.round(6).tolist(), lng.round(6).tolist(), strict=True))


def test_every_detector_has_its_own_name() -> None:
    names = [detector.name for detector in DETECTORS]
    assert len(set(names)) == len(names)
    assert {detector.action for detector in DETECTORS} == {"mends", "drops", "refuses", "warns"}


def test_clean_places_are_left_alone() -> None:
    points = around_oslo()
    clean = table(points, homes=OSLO)
    assert list(zip(clean.frame["start_lat"], clean.frame["start_lng"], strict=True)) == points
    assert (clean.mended, clean.notes, clean.finest_resolution) == ({}, [], None)


def test_single_swapped_rows_are_put_right() -> None:
    points = around_oslo()
    mixed = [(lng, lat) if i % 10 == 0 else (lat, lng) for i, (lat, lng) in enumerate(points)]
    mended = table(mixed, homes=OSLO)
    assert mended.mended == {"swapped_lat_lng": 30}
    assert list(zip(mended.frame["start_lat"], mended.frame["start_lng"], strict=True)) == points


@pytest.mark.parametrize("share", [1.0, 0.1])
def test_the_area_that_is_named_tells_the_order(share: float) -> None:
    points = around_oslo()
    wrong = int(share * len(points))
    mixed = [(lng, lat) if i < wrong else (lat, lng) for i, (lat, lng) in enumerate(points)]
    read = table(mixed)  # no city, no vendor: the reading alone cannot know
    assert read.mended == {}
    area = box_area(10.4, 59.7, 11.2, 60.2)
    domain = cells_over(area, 7)
    values = table_values(read, area=area, domain=domain)
    assert (values.mended, values.dropped) == ({"swapped_lat_lng": wrong}, {})
    right = [h3.str_to_int(h3.latlng_to_cell(lat, lng, 7)) for lat, lng in points]
    assert domain.cells[values.values].tolist() == right
    assert account(read, values).set_index("reason")["rows"]["swapped_lat_lng"] == wrong


def test_an_area_that_holds_both_orders_tells_nothing_of_single_rows() -> None:
    read = table([(10.0, 12.0)] * 3 + [(12.6, 9.6)], homes=[(9.5, 9.5, 12.5, 12.5)])
    assert read.mended == {}


def test_an_impossible_latitude_settles_the_order() -> None:
    swapped = table([(139.7, 35.6), (139.8, 35.7)], homes=[(0.0, 0.0, 1.0, 1.0)])
    assert swapped.frame["start_lat"].tolist() == [35.6, 35.7]
    assert swapped.mended == {"swapped_lat_lng": 2}


@pytest.mark.parametrize("turn", [360, -360])
def test_a_full_turn_is_turned_back(turn: int) -> None:
    points = around_oslo()
    turned = table([(lat, lng + turn) for lat, lng in points], homes=OSLO)
    assert turned.mended == {"longitude_360": 300}
    assert np.allclose(turned.frame["start_lng"], [lng for _, lng in points])


@pytest.mark.parametrize("scale", [10**6, 10**7])
def test_whole_numbers_are_divided(scale: int) -> None:
    points = around_oslo()
    whole = table([(round(lat * scale), round(lng * scale)) for lat, lng in points], homes=OSLO)
    assert whole.mended == {"whole_numbers": 300}
    assert np.allclose(whole.frame["start_lat"], [lat for lat, _ in points], atol=1e-6)
    # Near the equator the size settles nothing: only the name of the column or the home does.
    near = [(1_300_000, 103_800_000), (1_310_000, 103_810_000)]
    assert table(near, "latitudeE6,longitudeE6", homes=OSLO).frame["start_lat"].tolist() == [1.3, 1.31]
    assert table(near).frame["start_lat"].tolist() == [1.3, 1.31]  # Singapore is a built-in city
    with pytest.raises(TripFileError, match="not degrees"):
        table(near, homes=OSLO)


def test_whole_metres_are_not_taken_for_millionths() -> None:
    with pytest.raises(TripFileError, match="EPSG"):
        table([(6_649_402, 262_268), (6_650_100, 261_900)], homes=OSLO)
    with pytest.raises(TripFileError, match="EPSG"):  # web Mercator
        table([(4_250_000, 15_560_000), (4_251_000, 15_561_000)])


@pytest.mark.parametrize(("digits", "finest"), [(1, 5), (2, 7), (3, None), (4, None)])
def test_rounded_coordinates_cap_the_resolution(digits: int, finest: int | None) -> None:
    rounded = table([(round(lat, digits), round(lng * 3, digits)) for lat, lng in around_oslo(150)])
    if digits == 1:
        rng = np.random.default_rng(1)
        rounded = table([(v, w) for v, w in rng.uniform(40, 50, (100, 2)).round(1)])
    assert rounded.finest_resolution == finest
    if finest is not None:
        step_m = 111_195 / 10**digits
        assert cell_spacing_m(finest) >= step_m > cell_spacing_m(finest + 1)
        assert any(f"rounded to {digits} digits" in note for note in rounded.notes)


def test_few_points_cap_the_resolution() -> None:
    # A lattice of 10 x 10 centres, 0.02 degrees of latitude apart: 2,224 m.
    rng = np.random.default_rng(2)
    lat = 40 + 0.02 * rng.integers(0, 10, 4000) + 0.001234567
    lng = -80 + 0.04 * rng.integers(0, 10, 4000) + 0.001234567
    snapped = table(list(zip(lat.tolist(), lng.tolist(), strict=True)))
    assert snapped.finest_resolution == 7
    assert cell_spacing_m(7) > 2224 > cell_spacing_m(8)
    assert any("among 100 points" in note and "2,224 m" in note for note in snapped.notes)


@pytest.mark.parametrize("rows", [20_000, 60_000, 1_000_000])
def test_the_count_of_points_is_of_every_row(rows: int) -> None:
    # 2,000 places one after the other, again and again: any sample in even steps meets only some of them.
    rng = np.random.default_rng(4)
    lat, lng = rng.uniform(40, 40.2, 2000), rng.uniform(-80.2, -80, 2000)
    block = "".join(f"{a},{b}\n" for a, b in zip(lat.tolist(), lng.tolist(), strict=True))
    read = read_trips(f"start_lat,start_lng\n{block * (rows // 2000)}".encode())
    said = [note for note in read.notes if "are among" in note]
    assert [note.split(" (")[0] for note in said] == (
        ["All places are among 2,000 points"] if rows >= 20 * 2000 else []
    )


def test_only_the_side_that_is_snapped_is_called_so() -> None:
    rng = np.random.default_rng(6)
    lat, lng = 40 + 0.02 * rng.integers(0, 5, 2000) + 1e-9, -80 + 0.04 * rng.integers(0, 5, 2000) + 1e-9
    free = rng.uniform(40, 40.1, (2000, 2))
    header = "start_lat,start_lng,end_lat,end_lng"
    both = table(list(zip(lat, lng, lat[::-1] + 0.01, lng[::-1] + 0.01, strict=True)), header)
    assert any("All places are among 50 points" in note for note in both.notes)
    starts = table(list(zip(lat, lng, free[:, 0], free[:, 1], strict=True)), header)
    assert any("All start places are among 25 points" in note for note in starts.notes)
    ends = table(list(zip(free[:, 0], free[:, 1], lat, lng, strict=True)), header)
    assert (ends.finest_resolution, ends.notes) == (None, [])


def test_rounding_is_seen_in_every_row() -> None:
    # Every twentieth row is rounded, as a sample in even steps could happen to meet alone.
    rng = np.random.default_rng(7)
    lat, lng = rng.uniform(40, 40.2, 400_000), rng.uniform(-80.2, -80, 400_000)
    lat[::20], lng[::20] = lat[::20].round(1), lng[::20].round(1)
    assert table(list(zip(lat.tolist(), lng.tolist(), strict=True))).notes == []
    lat, lng = lat.round(2), lng.round(2)
    lat[7] = 40.123456
    assert "Nearly all coordinates are rounded to 2" in table(list(zip(lat, lng, strict=True))).notes[0]


def test_totals_can_be_taken_out_of_the_mapping() -> None:
    header, rows = (
        "from_lat,from_lng,to_lat,to_lng,trips",
        [(59.9, 10.7, 59.8, 10.8, 12), (59.8, 10.7, 59.8, 10.8, 1)],
    )
    with pytest.raises(TripFileError, match="a row stands for up to 12 trips"):
        table(rows, header)
    assert table(rows, header, mapping={"total": ""}).rows_read == 2
    ones = [(*row[:4], 1) for row in rows]
    assert table(ones, header).rows_read == 2
    assert table(rows, header.replace("trips", "passenger_count")).rows_read == 2


@pytest.mark.parametrize("column", ["bike_id", "Taxi ID", "vehicle_id", "medallion"])
def test_vehicles_are_not_people(column: str) -> None:
    header, rows = f"start_lat,start_lng,{column}", [(59.9, 10.7, "x"), (59.8, 10.7, "x")]
    assert table(rows, header).unit == "trip"
    forced = table(rows, header, mapping={"device": column})
    assert forced.unit == "trip"
    assert any("names vehicles" in note for note in forced.notes)
    assert "device" not in forced.frame


@pytest.mark.parametrize("column", ["uid", "user_id", "Rider ID", "userId", "customer_id", "person"])
def test_people_are(column: str) -> None:
    people = table([(59.9, 10.7, "x"), (59.8, 10.7, "")], f"start_lat,start_lng,{column}")
    assert people.unit == "device"
    assert people.frame["device"].isna().tolist() == [False, True]
    assert "one person for one day" in people.unit_sentence


def test_a_column_of_people_without_a_person_makes_no_device() -> None:
    assert table([(59.9, 10.7, ""), (59.8, 10.7, "")], "start_lat,start_lng,user_id").unit == "trip"


TIMES = [
    ("2024-03-04T08:05:06", "2024-03-04T08:05:06"),
    ("2024-03-04 08:05:06.123456789", "2024-03-04T08:05:06.123456"),
    ("2024-03-04 08:05:06,5", "2024-03-04T08:05:06.500000"),
    ("2024-03-04 08:05", "2024-03-04T08:05:00"),
    ("2024-03-04", "2024-03-04T00:00:00"),
    ("3/4/2024 8:05", "2024-03-04T08:05:00"),
    ("3/14/2024 8:05:06 PM", "2024-03-14T20:05:06"),
    ("03/04/24 08:05", "2024-03-04T08:05:00"),
    ("20240304 08:05", "2024-03-04T08:05:00"),
]
AWARE = [
    ("2024-03-04T08:05:06Z", "2024-03-04T08:05:06"),
    ("2024-03-04 08:05:06+02:00", "2024-03-04T06:05:06"),
    ("2024-03-04 08:05:06.5-0530", "2024-03-04T13:35:06.500000"),
    ("2024-03-04 08:05:06 UTC", "2024-03-04T08:05:06"),
    ("2024-03-04T08:05+01", "2024-03-04T07:05:00"),
    ("Mon Mar 04 08:05:06 +0000 2024", "2024-03-04T08:05:06"),
    ("1709539506", "2024-03-04T08:05:06"),
    ("1709539506000", "2024-03-04T08:05:06"),
    ("1709539506000000", "2024-03-04T08:05:06"),
]
NO_TIMES = [
    "soon",
    "2024-02-31 08:00",
    "31/02/2024 08:00",
    "2024-13-01",
    "25:00",
    "12",
    "0",
    "99/99/2024",
    "-",
]


def test_times_in_several_formats_in_one_column() -> None:
    rows = [(59.9, 10.7, f'"{text}"') for text, _ in [*TIMES, *AWARE]] + [
        (59.9, 10.7, text) for text in NO_TIMES
    ]
    read = table(rows, "start_lat,start_lng,started_at")
    assert read.frame["start_time"].iloc[: len(TIMES) + len(AWARE)].tolist() == [
        np.datetime64(value, "us") for _, value in [*TIMES, *AWARE]
    ]
    assert read.frame["start_time"].iloc[-len(NO_TIMES) :].isna().all()
    assert read.start_utc is not None
    assert read.start_utc.tolist() == [False] * len(TIMES) + [True] * len(AWARE) + [False] * len(NO_TIMES)
    assert any(f"{len(NO_TIMES) - 1:,} values of started_at are not times" in note for note in read.notes)


def test_the_order_of_day_and_month_is_settled_by_the_column() -> None:
    header = "start_lat,start_lng,started_at"
    day_first = table([(59.9, 10.7, "13/04/2024 08:00"), (59.9, 10.7, "03/04/2024 08:00")], header)
    assert day_first.frame["start_time"].dt.month.tolist() == [4, 4]
    dots = table([(59.9, 10.7, "13.04.2024 08:00"), (59.9, 10.7, "3.4.2024 8:00")], header)
    assert dots.frame["start_time"].dt.day.tolist() == [13, 3]
    open_ = table([(59.9, 10.7, "03/04/2024 08:00")], header)
    assert open_.frame["start_time"].dt.month.tolist() == [3]
    assert any("month first" in note for note in open_.notes)
