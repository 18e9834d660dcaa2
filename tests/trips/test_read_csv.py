"""Dialects, encodings, damaged and mislabelled files: the same trips, or one clear sentence."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from ldpcore.errors import ParameterError, TripFileError
from ldpcore.trips.read import read_trips
from ldpcore.trips.table import TripTable

FILES = Path(__file__).parent / "files"
OSLO = (FILES / "oslo_bysykkel.csv").read_bytes()


def records() -> list[list[str]]:
    return list(csv.reader(io.StringIO(OSLO.decode(), newline="")))


def written(rows: list[list[str]], delimiter: str = ",", encoding: str = "utf-8") -> bytes:
    stream = io.StringIO(newline="")
    csv.writer(stream, delimiter=delimiter).writerows(rows)
    return stream.getvalue().encode(encoding)


def same_trips(table: TripTable, clean: TripTable) -> None:
    columns = ["start_lat", "start_lng", "end_lat", "end_lng"]
    assert np.array_equal(table.frame[columns].to_numpy(), clean.frame[columns].to_numpy())
    assert table.frame["start_time"].equals(clean.frame["start_time"])
    assert (table.schema_name, table.rows_read, table.dropped) == ("urban_sharing", 200, {})


def zipped(content: bytes) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("__MACOSX/._trips.csv", b"\x00\x05\x16\x07" * 50_000)
        archive.writestr("readme.txt", b"Trips of January.")
        archive.writestr("folder/../../trips.csv", content)
    return stream.getvalue()


def decimal_commas() -> bytes:
    rows = records()
    return written([rows[0], *([*r[:6], *(v.replace(".", ",") for v in r[6:8]), *r[8:11],
                                *(v.replace(".", ",") for v in r[11:])] for r in rows[1:])], ";")  # fmt: skip


SAME: dict[str, Callable[[], bytes]] = {
    "as it is": lambda: OSLO,
    "byte-order mark": lambda: codecs.BOM_UTF8 + OSLO,
    "UTF-16": lambda: OSLO.decode().encode("utf-16"),
    "UTF-16 without a mark": lambda: OSLO.decode().encode("utf-16-be"),
    "Latin-1 with tabs": lambda: written(records(), "\t", "latin-1"),
    "semicolons and decimal commas": decimal_commas,
    "Unix lines": lambda: OSLO.replace(b"\r\n", b"\n"),
    "old Mac lines": lambda: OSLO.replace(b"\r\n", b"\r"),
    "mixed lines": lambda: OSLO.replace(b"\r\n", b"\n", 90).replace(b"\r\n", b"\r", 30),
    "empty lines": lambda: b"\r\n\r\n" + OSLO.replace(b"\r\n", b"\r\n\r\n", 20) + b"\r\n\r\n",
    "a hint for spreadsheets": lambda: b"sep=,\r\n" + OSLO,
    "no line end at the end": OSLO.rstrip,
    "trailing delimiter on every row": lambda: OSLO.replace(b"\r\n", b",\r\n").replace(b",\r\n", b"\r\n", 1),
    "trailing delimiter on some rows": lambda: OSLO[:20_000] + OSLO[20_000:].replace(b"\r\n", b",,\r\n"),
    "gzip": lambda: gzip.compress(OSLO),
    "gzip in two parts": lambda: gzip.compress(OSLO[:9_000]) + gzip.compress(OSLO[9_000:]),
    "zip with extra members": lambda: zipped(OSLO),
    "zip of gzip named csv": lambda: zipped(gzip.compress(OSLO)),
}


@pytest.mark.parametrize("kind", SAME)
def test_the_same_trips_in_any_wrapping(kind: str) -> None:
    clean = read_trips(OSLO)
    same_trips(read_trips(SAME[kind](), name="trips.parquet"), clean)


def test_header_repeated_in_the_middle_is_counted() -> None:
    lines = OSLO.split(b"\r\n")
    table = read_trips(b"\r\n".join([*lines[:50], lines[0], *lines[50:]]))
    assert table.rows_read == 201
    assert table.dropped == {"repeated_header": 1}
    assert np.flatnonzero(table.row_codes).tolist() == [49]
    assert table.frame.index.tolist() == [*range(49), *range(50, 201)]


def test_rows_of_a_wrong_length_are_counted_and_never_shifted() -> None:
    text = (
        b"name,start_lat,start_lng\n"
        b"quay,40.1,-74.1\n"
        b"a, b,40.2,-74.2\n"  # a comma without quotation marks: which field is which?
        b"40.3,-74.3\n"
        b'"a, b",40.4,-74.4\n'
        b"quay,40.5,-74.5,\n"
    )
    table = read_trips(text)
    assert table.frame["start_lat"].tolist() == [40.1, 40.4, 40.5]
    assert table.frame.index.tolist() == [0, 3, 4]
    assert (table.rows_read, table.dropped) == (5, {"wrong_number_of_fields": 2})
    assert table.mended == {"trailing_delimiter": 1}


def test_a_quoted_line_break_does_not_break_the_row() -> None:
    table = read_trips(b'name,lat,lng\n"two\nlines",40.1,-74.1\n"say ""hi""",40.2,-74.2\n')
    assert table.frame["start_lat"].tolist() == [40.1, 40.2]


def test_late_latin_1_is_noticed() -> None:
    filler = "a,station without letters of note,40.1,-74.1\n" * 12_000
    text = "rider_id,name,lat,lng\n" + filler + "Møllergata,x,40.2,-74.2\n"
    table = read_trips(text.encode("latin-1"))
    assert table.rows_read == 12_001
    assert table.frame["device"].iloc[-1] == "Møllergata"


def test_missing_zero_and_words_each_have_their_reason() -> None:
    text = (
        "start_lat,start_lng,end_lat,end_lng\n"
        "0,0,40.1,-74.1\n"
        ",,40.1,-74.1\n"
        "NaN,-74.0,0.0,0.0\n"
        "north,-74.0,91,-74\n"
        "40.1,-74.1,40.2,-434.2\n"
        "inf,-74.1,40.2,-74.2\n"
    )
    table = read_trips(text.encode())
    assert [int(p) for p in table.start_problem] == [7, 4, 4, 6, 0, 6]
    assert table.end_problem is not None
    assert [int(p) for p in table.end_problem] == [0, 0, 7, 6, 0, 0]
    assert table.mended == {"longitude_360": 1}
    assert table.frame["end_lng"].iloc[4] == pytest.approx(-74.2)


def test_swapped_coordinates_are_put_right_where_the_region_tells() -> None:
    rows = records()
    swapped = [[*r[:6], r[7], r[6], *r[8:11], r[12], r[11]] for r in rows[1:]]
    table = read_trips(written([rows[0], *swapped]))
    assert table.mended == {"swapped_lat_lng": 200}
    assert np.array_equal(table.frame["start_lat"], read_trips(OSLO).frame["start_lat"])
    # A file of no known vendor: only the other order lies in a built-in city.
    assert read_trips(b"lat,lng\n-74.0,40.7\n-73.9,40.8\n").frame["start_lat"].tolist() == [40.7, 40.8]
    # Where nothing tells, nothing is touched.
    assert read_trips(b"lat,lng\n10.7,59.9\n10.8,59.8\n").frame["start_lat"].tolist() == [10.7, 10.8]
    hinted = read_trips(b"lat,lng\n10.7,59.9\n10.8,59.8\n", homes=[(10.0, 59.0, 11.0, 60.0)])
    assert hinted.frame["start_lat"].tolist() == [59.9, 59.8]


def test_the_same_id_again_is_dropped_but_no_id_is_no_repeat() -> None:
    rows = "a,,40.1,-74\nb,,40.2,-74\na,,40.3,-74\n,,40.4,-74\n,,40.5,-74\n"
    table = read_trips(("ride_id,started_at,start_lat,start_lng\n" + rows).encode())
    assert table.frame["start_lat"].tolist() == [40.1, 40.2, 40.4, 40.5]
    assert table.dropped == {"duplicate_id": 1}


def test_repeated_column_names_can_be_told_apart() -> None:
    text = b"lat,lng,lat,lng\n40.1,-74.1,40.2,-74.2\n"
    table = read_trips(text)
    assert table.columns == ("lat", "lng", "lat (2)", "lng (2)")
    assert table.frame["start_lat"].tolist() == [40.1]
    assert any("lat, lng" in note for note in table.notes)
    other = read_trips(text, mapping={"start_lat": "lat (2)", "start_lng": "lng (2)"})
    assert other.frame["start_lat"].tolist() == [40.2]
    assert other.mapping["start_lat"] == "lat (2)"


def test_mapping_names_what_does_not_exist() -> None:
    with pytest.raises(ParameterError, match="no field 'begin'"):
        read_trips(b"lat,lng\n40.1,-74.1\n", mapping={"begin": "lat"})
    with pytest.raises(ParameterError, match="no column 'Lat'; it has lat, lng"):
        read_trips(b"lat,lng\n40.1,-74.1\n", mapping={"start_lat": "Lat"})
    with pytest.raises(ParameterError, match="no time zone 'Mars'"):
        read_trips(b"lat,lng\n40.1,-74.1\n", timezone="Mars")


def test_unknown_headers_work_once_they_are_mapped() -> None:
    text = b"colA,colB\n40.1,-74.1\n"
    with pytest.raises(TripFileError, match="it has colA, colB"):
        read_trips(text)
    table = read_trips(text, mapping={"start_lat": "colA", "start_lng": "colB"})
    assert table.frame["start_lat"].tolist() == [40.1]


REFUSED: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", "is empty"),
    "only blanks": (b"\n \n\n", "is empty"),
    "header only": (OSLO.split(b"\r\n")[0] + b"\r\n", "has a header and no rows"),
    "one column": (b"words\nand\nmore\n", "single column"),
    "binary": (bytes(range(256)) * 20, "is of no kind that is read"),
    "picture": (b"\x89PNG\r\n\x1a\n" + bytes(200), "is a picture"),
    "cut-off gzip": (gzip.compress(OSLO)[:3000], "ends in the middle"),
    "broken gzip": (b"\x1f\x8b" + b"junk" * 20, "not a complete gzip"),
    "broken zip": (b"PK\x03\x04" + b"junk" * 20, "not a complete zip"),
    "cut-off Parquet": ((FILES / "chicago_taxi.parquet").read_bytes()[:5000], "not a complete Parquet"),
    "metres": (b"lat,lng\n6649402,262268\n6649000,262000\n", "not degrees"),
    "no place usable": (b"lat,lng\n0,0\n,\n", "no row with a usable latitude"),
    "New York zones": (b"VendorID,PULocationID,DOLocationID\n1,141,233\n", "by zone only"),
    "giant cell": (b"lat,lng\n40.1,-74\n" + b"9" * 9_000_000 + b",1\n", "longer than"),
    "giant quoted cell": (b'lat,lng\n40.1,-74\n"' + b"a,\n" * 3_000_000 + b'",1\n', "longer than"),
    "gzip bomb": (gzip.compress(b"lat,lng\n" + b"0" * 60_000_000), "grows more than 200 times"),
    "zip bomb": (zipped(b"lat,lng\n" + b"0" * 60_000_000), "grows more than 200 times"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_one_sentence_says_why_not(kind: str) -> None:
    content, words = REFUSED[kind]
    with pytest.raises(TripFileError, match=words) as caught:
        read_trips(content, name="../../etc/<b>trips.csv")
    message = str(caught.value)
    assert message.endswith(".")
    assert "\n" not in message
    assert "<" not in message
    assert "etc/" not in message


def test_paths_that_cannot_be_opened(tmp_path: Path) -> None:
    with pytest.raises(TripFileError, match="no such file"):
        read_trips(tmp_path / "none.csv")
    with pytest.raises(TripFileError, match="is a folder"):
        read_trips(tmp_path)
