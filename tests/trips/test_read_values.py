"""Real excerpts, read again with the standard csv module and h3: the same cells and the same account."""

from __future__ import annotations

import csv
import datetime as dt
from collections import Counter
from pathlib import Path
from zoneinfo import ZoneInfo

import h3
import numpy as np
import pytest

from ldpcore.domain import Domain, cells_over
from ldpcore.errors import ParameterError, TripFileError
from ldpcore.trips.areas import area_from_text, choose_area
from ldpcore.trips.read import read_trips
from ldpcore.trips.values import TableValues, table_values

FILES = Path(__file__).parent / "files"
OSLO_BOX = "10.6,59.8,10.9,60.0"
CHICAGO_BOX = "-88,41.6,-87.5,42.1"


def csv_rows(name: str) -> list[dict[str, str]]:
    with (FILES / name).open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def cells_of(values: TableValues, domain: Domain) -> Counter[str]:
    ids = domain.cell_ids()
    return Counter(ids[v] for v in values.values)


def values_of(
    name: str, box: str, timezone: str, **question: object
) -> tuple[TableValues, Domain, int, dict[str, int]]:
    table = read_trips(FILES / name)
    area = choose_area(table, area_text=box, timezone=timezone)
    domain = cells_over(area, 8)
    values = table_values(table, area=area, domain=domain, **question)  # type: ignore[arg-type]
    total = Counter(table.dropped) + Counter(values.dropped)
    assert table.rows_read == len(values.values) + sum(total.values())
    # The account by row says the same as the account by reason.
    assert np.count_nonzero(values.row_codes == 0) == len(values.values)
    assert np.array_equal(np.flatnonzero(values.row_codes == 0), values.rows)
    return values, domain, table.rows_read, dict(total)


@pytest.mark.parametrize(("query", "side"), [("origins", "start"), ("destinations", "end")])
def test_every_oslo_row_lands_in_its_cell(query: str, side: str) -> None:
    values, domain, read, dropped = values_of("oslo_bysykkel.csv", OSLO_BOX, "Europe/Oslo", query=query)
    expected = Counter(
        h3.latlng_to_cell(float(r[f"{side}_station_latitude"]), float(r[f"{side}_station_longitude"]), 8)
        for r in csv_rows("oslo_bysykkel.csv")
    )
    assert read == 200
    assert dropped == {}
    assert cells_of(values, domain) == expected


def oslo_local(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text).astimezone(ZoneInfo("Europe/Oslo"))


def test_oslo_times_are_converted_and_none_is_lost_for_want_of_a_fraction() -> None:
    rows = csv_rows("oslo_bysykkel.csv")
    assert any(len(r["started_at"]) == 25 for r in rows)  # no fractional second
    for hour in (7, 17):
        values, _, _, dropped = values_of(
            "oslo_bysykkel.csv", OSLO_BOX, "Europe/Oslo", query="origins", day="weekday", hour=hour
        )
        weekday = [oslo_local(r["started_at"]) for r in rows if oslo_local(r["started_at"]).weekday() < 5]
        assert len(values.values) == sum(t.hour == hour for t in weekday) > 0
        assert dropped.get("other_day", 0) == len(rows) - len(weekday)
        assert "unreadable_time" not in dropped


def test_oslo_presence_counts_trips_under_way() -> None:
    values, domain, _, dropped = values_of(
        "oslo_bysykkel.csv", OSLO_BOX, "Europe/Oslo", query="presence", hour=16
    )
    expected: Counter[str] = Counter()
    for r in csv_rows("oslo_bysykkel.csv"):
        start, end = oslo_local(r["started_at"]), oslo_local(r["ended_at"])
        side = None
        if start.hour == 16:
            side = "start"
        elif start.hour < 16 <= end.hour and start.date() == end.date():
            side = "end"
        if side:
            place = float(r[f"{side}_station_latitude"]), float(r[f"{side}_station_longitude"])
            expected[h3.latlng_to_cell(*place, 8)] += 1
    assert cells_of(values, domain) == expected
    assert set(dropped) == {"other_hour"}


@pytest.mark.parametrize(
    ("query", "side", "reason"),
    [("origins", "pickup", "missing_origin"), ("destinations", "dropoff", "missing_destination")],
)
def test_chicago_rows_need_only_what_is_asked(query: str, side: str, reason: str) -> None:
    values, domain, read, dropped = values_of("chicago_taxi.csv", CHICAGO_BOX, "America/Chicago", query=query)
    rows = csv_rows("chicago_taxi.csv")
    placed = [r for r in rows if r[f"{side}_latitude"]]
    cells = [
        h3.latlng_to_cell(float(r[f"{side}_latitude"]), float(r[f"{side}_longitude"]), 8) for r in placed
    ]
    inside = set(domain.cell_ids())
    assert read == 120
    assert dropped[reason] == len(rows) - len(placed) > 0
    assert dropped.get("outside_area", 0) == sum(c not in inside for c in cells)
    assert cells_of(values, domain) == Counter(c for c in cells if c in inside)


def test_chicago_clock_is_the_wall_clock() -> None:
    # The file also carries the hour as a number of its own: trip_start_hour.
    rows = csv_rows("chicago_taxi.csv")
    for hour in (2, 19):
        values, _, _, _ = values_of(
            "chicago_taxi.csv", CHICAGO_BOX, "America/Chicago", query="origins", hour=hour
        )
        assert [int(rows[row]["trip_start_hour"]) for row in values.rows] == [hour] * len(values.rows)
        assert len(values.rows) == sum(
            r["trip_start_hour"] == str(hour) and bool(r["pickup_latitude"]) for r in rows
        )


def test_chicago_end_comes_from_the_seconds() -> None:
    table = read_trips(FILES / "chicago_taxi.csv")
    rows = csv_rows("chicago_taxi.csv")
    taken = (table.frame["end_time"] - table.frame["start_time"]).dt.total_seconds()
    assert taken.tolist() == [float(r["trip_seconds"]) for r in rows]
    miles = [float(r["trip_miles"]) for r in rows]
    assert np.allclose(table.frame["length_m"], np.array(miles) * 1609.344)


def test_parquet_gives_the_same_as_csv_would() -> None:
    values, _, read, dropped = values_of(
        "chicago_taxi.parquet", CHICAGO_BOX, "America/Chicago", query="destinations"
    )
    table = read_trips(FILES / "chicago_taxi.parquet")
    assert (read, table.format, table.schema_name) == (100, "Parquet", "chicago_taxi")
    text = FILES.joinpath("chicago_taxi.parquet").read_bytes()
    assert read_trips(text, name="trips.csv").digest == table.digest  # the name decides nothing
    assert dropped == {"missing_destination": 25}
    assert len(values.values) == 75


PEOPLE = (
    "uid,tid,datetime,lat,lng\n"
    "a,1,2024-03-04 08:00:00,40.70,-74.00\n"
    "a,1,2024-03-04 08:20:00,40.75,-73.98\n"
    "a,2,2024-03-04 18:00:00,40.75,-73.98\n"
    "a,2,2024-03-04 18:30:00,40.70,-74.00\n"
    "b,1,2024-03-04 09:00:00,40.72,-73.95\n"
    "b,1,2024-03-04 09:10:00,40.73,-73.99\n"
    "a,3,2024-03-05 08:00:00,40.70,-74.00\n"
)  # fmt: skip


def people(query: str, seed: int = 1, **question: object) -> tuple[TableValues, Domain]:
    table = read_trips(PEOPLE.encode(), name="people.csv")
    area = choose_area(table)
    assert area.name == "new_york"
    domain = cells_over(area, 8)
    return table_values(table, area=area, domain=domain, query=query, seed=seed, **question), domain  # type: ignore[arg-type]


def test_a_person_gives_one_value_a_day() -> None:
    table = read_trips(PEOPLE.encode(), name="people.csv")
    assert (table.unit, len(table.frame), table.rows_read) == ("device", 4, 7)
    assert table.dropped == {"not_chosen": 3}  # further points of the same trip
    seen = Counter()
    for seed in range(40):
        values, domain = people("origins", seed)
        assert len(values.values) == 3  # a on two days, b on one
        assert values.dropped == {"not_chosen": 1}
        first = domain.cell_ids()[values.values[0]]
        seen[first] += 1
    # Either trip of a's first day is chosen, each with probability 1/2: all 40 alike has 2 in 2^40.
    assert set(seen) == {h3.latlng_to_cell(40.70, -74.00, 8), h3.latlng_to_cell(40.75, -73.98, 8)}
    again, _ = people("origins", 7)
    assert np.array_equal(again.rows, people("origins", 7)[0].rows)


@pytest.mark.parametrize(
    ("hour", "place_a", "place_b"),
    [
        (6, (40.70, -74.00), (40.72, -73.95)),  # before any: the first place
        (12, (40.75, -73.98), (40.73, -73.99)),  # the last known place
        (18, (40.75, -73.98), (40.73, -73.99)),
        (19, (40.70, -74.00), (40.73, -73.99)),
    ],
)
def test_presence_of_people_is_the_last_known_place(
    hour: int, place_a: tuple[float, float], place_b: tuple[float, float]
) -> None:
    values, domain = people("presence", hour=hour)
    ids = domain.cell_ids()
    expected = Counter(h3.latlng_to_cell(*p, 8) for p in (place_a, place_b, (40.70, -74.00)))
    assert Counter(ids[v] for v in values.values) == expected


def test_a_question_the_file_cannot_answer_is_one_sentence() -> None:
    table = read_trips(b"lat,lng\n40.7,-74.0\n40.8,-73.9\n")
    area = choose_area(table)
    domain = cells_over(area, 7)
    assert len(table_values(table, area=area, domain=domain).values) == 2
    with pytest.raises(TripFileError, match="no end places"):
        table_values(table, area=area, domain=domain, query="destinations")
    with pytest.raises(TripFileError, match="no column of start times"):
        table_values(table, area=area, domain=domain, hour=8)
    with pytest.raises(ParameterError, match="there are origins, destinations, presence"):
        table_values(table, area=area, domain=domain, query="nowhere")
    with pytest.raises(ParameterError, match="between 0 and 23"):
        table_values(table, area=area, domain=domain, hour=24)
    far = area_from_text("10,59,11,60")
    with pytest.raises(TripFileError, match="None of the 2 places"):
        table_values(table, area=far, domain=cells_over(far, 7))


def test_an_unreadable_time_matters_only_to_a_question_about_time() -> None:
    text = "start_lat,start_lng,started_at\n40.7,-74.0,2024-01-02 08:00\n40.7,-74.0,soon\n40.7,-74.0,\n"
    table = read_trips(text.encode())
    area = choose_area(table)
    domain = cells_over(area, 7)
    assert len(table_values(table, area=area, domain=domain).values) == 3
    timed = table_values(table, area=area, domain=domain, hour=8)
    assert (len(timed.values), timed.dropped) == (1, {"unreadable_time": 2})
