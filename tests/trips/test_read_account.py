"""What the page shows of a file: choices, counts, reasons, some points, a share of a large file."""

from __future__ import annotations

import io

import numpy as np
import pytest

from ldpcore.domain import cells_over
from ldpcore.errors import TripFileError
from ldpcore.trips.account import account, mapping_choices, rows_not_used, sample_trips, some_points
from ldpcore.trips.areas import choose_area
from ldpcore.trips.read import ENDINGS, peek, read_trips
from ldpcore.trips.values import table_values

TEXT = b"""ride_id,started_at,start_lat,start_lng,end_lat,end_lng
a,2024-03-04 08:00,40.70,-74.00,40.71,-73.99
b,2024-03-04 08:00,,,40.71,-73.99
a,2024-03-04 08:00,40.70,-74.00,40.71,-73.99
c,2024-03-04 09:00,0,0,40.71,-73.99
d,2024-03-04 09:00,40.70,286.00,40.71,-73.99
e,2024-03-04 10:00,51.50,-0.10,40.71,-73.99
"""


def test_the_account_adds_up() -> None:
    table = read_trips(TEXT)
    area = choose_area(table)
    values = table_values(table, area=area, domain=cells_over(area, 7))
    lines = account(table, values).set_index(["what", "reason"])["rows"].to_dict()
    assert lines == {
        ("used", "used"): 2,
        ("dropped", "duplicate_id"): 1,
        ("dropped", "missing_origin"): 1,
        ("dropped", "zero_zero"): 1,
        ("dropped", "outside_area"): 1,
        ("mended", "longitude_360"): 1,
    }
    left = rows_not_used(table, values)
    assert list(zip(left["row"], left["reason"], strict=True)) == [
        (2, "missing_origin"),
        (3, "duplicate_id"),
        (4, "zero_zero"),
        (6, "outside_area"),
    ]
    assert account(table)["rows"].iloc[0] == 5  # before a question is asked


def test_choices_of_the_mapping() -> None:
    table = read_trips(TEXT)
    choices = {choice.field: choice for choice in mapping_choices(table.columns, table.mapping)}
    assert choices["start_lat"].column == "start_lat"
    assert choices["device"].column == ""
    assert choices["device"].options == ("", *table.columns)
    again = read_trips(TEXT, mapping={c.field: c.column for c in choices.values()})
    assert again.mapping == table.mapping


def test_some_points_for_a_map() -> None:
    table = read_trips(TEXT)
    assert len(some_points(table)) == 3 + 5  # usable starts (the repeat is gone) and ends
    few = some_points(table, most=4)
    assert len(few) == 4
    assert few["lat"].notna().all()


@pytest.mark.parametrize("person", [False, True])
def test_a_sample_is_counted_and_said(person: bool) -> None:
    rng = np.random.default_rng(9)
    head = "uid" if person else "note"
    rows = [f"p{i % 500},{40.6 + rng.random() / 5:.6f},{-74.0 + rng.random() / 5:.6f}\n" for i in range(5000)]
    table = read_trips((f"{head},start_lat,start_lng\n" + "".join(rows)).encode())
    sample = sample_trips(table, most=1000, seed=4)
    kept = len(sample.frame)
    assert sample.dropped == {"not_sampled": 5000 - kept}
    if person:
        # 500 persons, each kept with probability 1/5: sd of the persons is 8.9; 6 sd either way.
        assert abs(kept / 10 - 100) < 54
        assert sample.frame["device"].value_counts().unique().tolist() == [10]
    else:
        assert kept == 1000
    assert f"{kept / 5000:.1%}" in sample.notes[-1]
    area = choose_area(sample)
    values = table_values(sample, area=area, domain=cells_over(area, 7))
    assert sum(values.dropped.values()) + len(values.values) == kept
    assert sample_trips(table, most=5000) is table


def test_a_look_at_a_file_whose_columns_nobody_knows() -> None:
    text = b"colA,colB,started_at\n40.1,-74.1,=1+1\n"
    with pytest.raises(TripFileError, match="Name them in the mapping"):
        read_trips(text)
    seen = peek(text, name="x.csv")
    assert seen.columns == ("colA", "colB", "started_at")
    assert seen.preview.iloc[0].tolist() == ["40.1", "-74.1", "'=1+1"]
    assert seen.mapping == {"start_time": "started_at"}
    assert {"csv", "parquet", "gpx", "geojson", "zip", "gz"} <= set(ENDINGS)


def test_persons_who_travel_all_day_may_be_vehicles() -> None:
    head = "user_id,start_time,start_lat,start_lng,end_lat,end_lng\n"
    busy = "".join(f"u,2024-03-04 {h:02d}:00,40.7,-74.0,40.71,-74.0\n" for h in range(13))
    assert any("13 trips a day" in note for note in read_trips((head + busy).encode()).notes)
    calm = "".join(f"u{h % 4},2024-03-04 {h:02d}:00,40.7,-74.0,40.71,-74.0\n" for h in range(13))
    assert not any("trips a day" in note for note in read_trips((head + calm).encode()).notes)


def test_progress_is_told_and_an_upload_is_not_copied() -> None:
    told: list[float] = []
    upload = io.BytesIO(TEXT)
    upload.name = "trips.csv"  # type: ignore[attr-defined]
    table = read_trips(upload, progress=lambda share, _words: told.append(share))
    assert table.name == "trips.csv"
    assert told == sorted(told)
    assert (told[0], told[-1]) == (0.0, 1.0)
