"""Repeated trip ids: left out and counted whatever schema the file has; a bare "id" is weighed first."""

from __future__ import annotations

import pytest

from ldpcore.errors import TripFileError
from ldpcore.trips.read import read_trips
from ldpcore.trips.table import TripTable

#: A header of each schema of trips whose vendor gives no trip id, and a row of it.
WITHOUT_IDS = {
    "urban_sharing": (
        "started_at,ended_at,duration,start_station_latitude,start_station_longitude,end_station_latitude,"
        "end_station_longitude",
        "2024-01-01 08:0{i}:00+00:00,2024-01-01 08:30:00+00:00,600,59.91,10.75,59.92,10.76",
    ),
    "bikeshare_old": (
        "tripduration,starttime,stoptime,start station latitude,start station longitude,end station latitude,"
        "end station longitude,bikeid",
        "600,2018-01-01 08:0{i}:00,2018-01-01 08:30:00,40.71,-74.0,40.72,-73.98,333",
    ),
    "named": ("origin_lat,origin_lng,origin_time", "40.71,-74.0,2024-01-01 08:0{i}:00"),
}


def read(schema: str, column: str, ids: list[str], *, last: bool = False, **options: object) -> TripTable:
    header, row = WITHOUT_IDS[schema]
    rows = [row.format(i=i % 10) for i in range(len(ids))]
    pairs = [(column, header), *zip(ids, rows, strict=True)]
    text = "".join(f"{b},{a}\n" if last else f"{a},{b}\n" for a, b in pairs)
    return read_trips(text.encode(), **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("schema", WITHOUT_IDS)
@pytest.mark.parametrize("column", ["ride_id", "trip_id", "Trip ID", "journey_id", "rental_id"])
@pytest.mark.parametrize("last", [False, True])
def test_a_trip_id_counts_in_every_schema(schema: str, column: str, last: bool) -> None:
    found = read(schema, column, ["a", "b", "a", "", "", "c", "b"], last=last)
    assert found.schema_name == schema
    assert found.mapping["trip"] == column
    assert found.dropped == {"duplicate_id": 2}
    assert found.frame.index.tolist() == [0, 1, 3, 4, 5]


def test_persons_count_in_every_schema() -> None:
    for schema in WITHOUT_IDS:
        assert read(schema, "user_id", ["a", "b", "a"]).unit == "device"
        assert read(schema, "bike_id_2", ["a", "b", "a"]).unit == "trip"


@pytest.mark.parametrize("schema", WITHOUT_IDS)
@pytest.mark.parametrize("column", ["id", "ID", "uuid"])
def test_a_bare_id_that_hardly_repeats_names_trips(schema: str, column: str) -> None:
    ids = [str(i) for i in range(20)]
    assert read(schema, column, ids).dropped == {}
    twice = read(schema, column, [*ids[:19], "3"])
    assert twice.dropped == {"duplicate_id": 1}
    assert any(f"{column} was taken for the trip id, and 1 rows" in note for note in twice.notes)
    assert read(schema, column, [*ids[:19], "3"], mapping={"trip": ""}).dropped == {}


def test_a_bare_id_of_vehicles_leaves_no_row_out() -> None:
    cars = [str(i % 7) for i in range(20)]
    found = read("named", "id", cars)
    assert (found.dropped, "trip" in found.mapping) == ({}, False)
    assert any("id has 7 values in 20 rows" in note and "mapping" in note for note in found.notes)
    # The user may say that it is the trip id all the same, or that it names people.
    assert read("named", "id", cars, mapping={"trip": "id"}).dropped == {"duplicate_id": 13}
    people = read("named", "id", cars, mapping={"device": "id"})
    assert (people.unit, people.dropped, "trip" in people.mapping) == ("device", {}, False)


def test_a_bare_id_that_repeats_whole_rows_names_trips() -> None:
    # Two exports of the same month, one after the other.
    once = [str(i) for i in range(10)]
    assert read("named", "id", once * 2).dropped == {"duplicate_id": 10}


def test_a_bare_id_does_not_make_trips_of_totals() -> None:
    rows = "".join(f"{i},59.9,10.7,59.8,10.8,{3 + i}\n" for i in range(9))
    with pytest.raises(TripFileError, match="totals, not trips"):
        read_trips(f"id,from_lat,from_lng,to_lat,to_lng,trips\n{rows}".encode())


def test_points_of_paths_may_repeat_a_bare_id() -> None:
    rows = "".join(f"{i // 9},59.9{i},10.7{i}\n" for i in range(9))
    found = read_trips(f"id,lat,lng\n{rows}".encode())
    assert (len(found.frame), found.dropped) == (9, {})
