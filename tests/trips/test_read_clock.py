"""Times on the clock of an area, over the days when clocks change, and what an hour means."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from ldpcore.domain import cells_over
from ldpcore.trips.areas import box_area
from ldpcore.trips.clock import day_number, is_weekend, to_local
from ldpcore.trips.read import read_trips
from ldpcore.trips.values import TableValues, table_values

HEAD = "trip_id,start_time,end_time,start_lat,start_lng,end_lat,end_lng\n"
START, END = "60.17,24.94", "60.19,24.96"


def at(text: str) -> np.ndarray:
    return np.array([text], dtype="datetime64[us]")


@pytest.mark.parametrize(
    ("utc", "local"),
    [
        ("2024-03-31T00:59", "2024-03-31T01:59"),  # an hour is left out in Oslo
        ("2024-03-31T01:00", "2024-03-31T03:00"),
        ("2024-10-27T00:30", "2024-10-27T02:30"),  # and given twice
        ("2024-10-27T01:30", "2024-10-27T02:30"),
        ("2024-12-31T23:30", "2025-01-01T00:30"),
    ],
)
def test_aware_times_over_the_change_of_clocks(utc: str, local: str) -> None:
    assert to_local(at(utc), np.array([True]), timezone="Europe/Oslo")[0] == np.datetime64(local)


def test_times_without_a_zone_stay_unless_it_is_named() -> None:
    naive = np.array([False])
    assert to_local(at("2024-07-01T08:00"), naive, timezone="Asia/Tokyo")[0] == np.datetime64(
        "2024-07-01T08:00"
    )
    moved = to_local(at("2024-07-01T08:00"), naive, timezone="Asia/Tokyo", written_in="Europe/London")
    assert moved[0] == np.datetime64("2024-07-01T16:00")
    # 02:30 does not exist in Oslo on that day: the next moment that does is 03:00, 01:00 UTC.
    gap = to_local(at("2024-03-31T02:30"), naive, timezone="UTC", written_in="Europe/Oslo")
    assert gap[0] == np.datetime64("2024-03-31T01:00")


def test_days_of_the_week() -> None:
    days = day_number(np.arange("2024-03-04", "2024-03-11", dtype="datetime64[D]").astype("datetime64[us]"))
    assert is_weekend(days).tolist() == [False] * 5 + [True] * 2  # a Monday to a Sunday
    assert not is_weekend(day_number(at("1969-12-31T12:00")))[0]  # a Wednesday, before the epoch


def ask(rows: list[str], *, timezone: str = "UTC", **question: object) -> TableValues:
    table = read_trips((HEAD + "".join(f"{row}\n" for row in rows)).encode())
    area = box_area(24.5, 60.0, 25.3, 60.4, timezone=timezone)
    return table_values(table, area=area, domain=cells_over(area, 8), **question)  # type: ignore[arg-type]


PRESENCE = [
    f"1,2024-03-04 11:50,2024-03-04 12:10,{START},{END}",  # under way at noon: at its end
    f"2,2024-03-04 12:30,2024-03-04 13:10,{START},{END}",  # begins in the hour: at its start
    f"3,2024-03-04 13:00,2024-03-04 13:10,{START},{END}",  # after the hour
    f"4,2024-03-04 11:00,2024-03-04 11:59,{START},{END}",  # before it
    f"5,2024-03-03 23:00,2024-03-05 01:00,{START},{END}",  # over the whole of Monday's hour
    f"6,2024-03-04 12:00,,{START},{END}",  # no end needed
    f"7,2024-03-04 10:00,,{START},{END}",  # nobody knows
    f"8,,2024-03-04 12:10,{START},{END}",
    f"9,2024-03-04 11:00,2024-03-04 12:00,{START},{END}",  # ends as the hour strikes
]


def test_who_is_under_way_in_an_hour() -> None:
    values = ask(PRESENCE, query="presence", hour=12)
    assert values.rows.tolist() == [0, 1, 4, 5, 8]
    assert values.dropped == {"other_hour": 2, "unreadable_time": 2}
    first, second = values.values[0], values.values[1]
    assert first != second
    assert values.values.tolist() == [first, second, first, second, first]
    assert ask(PRESENCE, query="presence").rows.tolist() == values.rows.tolist()  # noon by default


def test_the_day_of_presence_is_that_of_the_hour() -> None:
    night = [f"1,2024-03-03 23:30,2024-03-04 00:30,{START},{END}"]  # Sunday to Monday
    assert ask(night, query="presence", hour=0, day="weekday").rows.tolist() == [0]
    assert ask(night, query="presence", hour=23, day="weekend").rows.tolist() == [0]
    with pytest.raises(ValueError, match="another kind of day"):
        ask(night, query="presence", hour=0, day="weekend")


def test_starts_and_ends_in_an_hour() -> None:
    assert ask(PRESENCE, query="origins", hour=12).rows.tolist() == [1, 5]
    assert ask(PRESENCE, query="destinations", hour=12).rows.tolist() == [0, 7, 8]


def test_zones_of_area_and_file_meet() -> None:
    rows = [f"1,2024-07-01T06:30Z,,{START},{END}", f"2,2024-07-01 09:30,,{START},{END}"]
    values = ask(rows, timezone="Europe/Helsinki", hour=9)  # 06:30 UTC is 09:30 there
    assert Counter(values.values.tolist()) == Counter([values.values[0]] * 2)
