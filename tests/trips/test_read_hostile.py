"""Files made to do harm: refused with a reason or rendered harmless, and never another kind of error."""

from __future__ import annotations

import gzip
import io
import json
import struct
import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from ldpcore.domain import cells_over
from ldpcore.errors import ParameterError, TripFileError
from ldpcore.trips.account import account, rows_not_used, some_points
from ldpcore.trips.areas import area_from_geojson, area_from_text, choose_area
from ldpcore.trips.read import read_trips, read_zones
from ldpcore.trips.readers import MAX_BYTES
from ldpcore.trips.readers.source import harmless
from ldpcore.trips.values import QUERIES, table_values

FILES = Path(__file__).parent / "files"
SEEDS = [
    *(FILES / "made_up").iterdir(),
    FILES / "oslo_bysykkel.csv",
    FILES / "chicago_taxi.parquet",
]
EVIL = '=HYPERLINK("http://evil.example","x")'
SCRIPT = "<script>alert(1)</script>"
MARKDOWN = "![x](http://evil.example/x.png)"


def parquet(table: pa.Table, **options: object) -> bytes:
    stream = io.BytesIO()
    pq.write_table(table, stream, **options)
    return stream.getvalue()


def zip_lying_about_size() -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("trips.csv", b"lat,lng\n" + b"0" * 40_000_000)
    data = bytearray(stream.getvalue())
    for mark, offset in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):  # both places that declare it
        at = data.find(mark)
        data[at + offset : at + offset + 4] = struct.pack("<I", 100)
    return bytes(data)


def zip_with_many(count: int) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for i in range(count):
            archive.writestr(f"{i}.csv", "")
    return stream.getvalue()


def zip_in_zip(depth: int) -> bytes:
    data = b"lat,lng\n40.7,-74\n"
    for _ in range(depth):
        data = gzip.compress(data)
    return data


def billion_laughs() -> bytes:
    entities = '<!ENTITY a "aaaaaaaaaa">' + "".join(
        f'<!ENTITY {chr(98 + i)} "{f"&{chr(97 + i)};" * 10}">' for i in range(8)
    )
    body = '<gpx version="1.1"><wpt lat="&i;" lon="1"/></gpx>'
    return f'<?xml version="1.0"?><!DOCTYPE gpx [{entities}]>{body}'.encode()


def outside_entity() -> bytes:
    return (
        b'<?xml version="1.0"?><!DOCTYPE gpx [<!ENTITY x SYSTEM "file:///etc/passwd">]>'
        b'<gpx version="1.1"><wpt lat="60" lon="24"><name>&x;</name></wpt></gpx>'
    )


REFUSED: dict[str, tuple[bytes, str]] = {
    "gzip that grows": (gzip.compress(b"lat,lng\n" + b"0" * 40_000_000), "grows more than 200 times"),
    "zip that lies about its size": (zip_lying_about_size(), "not a complete zip|grows more"),
    "gzip in gzip in gzip in gzip": (zip_in_zip(4), "packed inside itself"),
    "thousands of members": (zip_with_many(20_001), "more than 20,000 files"),
    "one word, many rows": (
        parquet(pa.table({"lat": pa.array([1], pa.int8()).take(pa.array([0] * 20_000_001, pa.int8()))})),
        "rows",
    ),
    "thousands of columns": (",".join(f"c{i}" for i in range(1001)).encode() + b"\n1\n", "1,001 columns"),
    "deep JSON": (b"[" * 100_000 + b"]" * 100_000, "nested too deeply"),
    "deep objects": (b'{"a":' * 50_000 + b"1" + b"}" * 50_000, "nested too deeply"),
    "deep JSON, line by line": (b"\n".join([b"[" * 50_000, b"{}"]), "nested too deeply|not complete JSON"),
    "entities that expand": (billion_laughs(), "XML entities"),
    "an entity from outside": (outside_entity(), "XML entities"),
    "endless lines": (b"lat,lng\n" + b"1\n" * 20_000_001, "lines, more than"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_hostile_files_are_refused_with_a_reason(kind: str) -> None:
    content, words = REFUSED[kind]
    with pytest.raises(TripFileError, match=words):
        read_trips(content, name="trips.csv")


@pytest.mark.parametrize("read", [read_trips, read_zones])
def test_a_zip_of_a_version_yet_to_come(read: object) -> None:
    # Found by fuzzing: the library says so with an error of a kind of its own.
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("zones.shp", b"x")
    data = bytearray(stream.getvalue())
    data[data.find(b"PK\x01\x02") + 6] = 187
    with pytest.raises(TripFileError, match="not a complete zip"):
        read(bytes(data))  # type: ignore[operator]


def test_deep_geometry_is_an_unusable_row_and_not_a_crash() -> None:
    deep = '{"type":"LineString","coordinates":' + "[" * 300 + "1,2" + "]" * 300 + "}"
    good = '{"type":"Point","coordinates":[24.9,60.2]}'
    features = ",".join(f'{{"type":"Feature","properties":{{}},"geometry":{g}}}' for g in (deep, good))
    table = read_trips(f'{{"type":"FeatureCollection","features":[{features}]}}'.encode())
    assert [bool(problem) for problem in table.start_problem] == [True, False]


def test_too_large_a_file_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "large.csv"
    with path.open("wb") as stream:
        stream.truncate(MAX_BYTES + 1)  # sparse: takes no room
    with pytest.raises(TripFileError, match="more than the 512 MB"):
        read_trips(path)


@pytest.mark.parametrize(
    "name", ["../../etc/passwd", "C:\\x\\trips.csv", f"{SCRIPT}.csv", MARKDOWN, "a\x00b\n.csv"]
)
def test_names_are_labels_only(name: str) -> None:
    with pytest.raises(TripFileError) as caught:
        read_trips(b"a,b\n1,2\n", name=name)
    message = str(caught.value)
    for part in ("..", "\\", "<", "http:", "](", "\x00", "\n", "/"):
        assert part not in message
    table = read_trips(b"lat,lng\n40.7,-74\n", name=name)
    assert not set(table.name) & set("<>[]\\/\x00\n")


def test_text_from_the_file_is_harmless_wherever_it_is_shown() -> None:
    quoted = EVIL.replace('"', '""')
    head = f'lat,lng,"{quoted}",{SCRIPT},{MARKDOWN},user_id'
    row = f'40.7,-74,"{quoted}",{SCRIPT},{MARKDOWN},"{quoted}"'
    table = read_trips(f"{head}\n{row}\n,,,,,\n".encode())
    area = choose_area(table)
    values = table_values(table, area=area, domain=cells_over(area, 7))
    shown = [
        *table.columns,
        *table.preview.to_numpy().ravel(),
        *table.preview.columns,
        *table.notes,
        *table.reasons,
        *table.mapping.values(),
        *account(table, values).astype(str).to_numpy().ravel(),
        *rows_not_used(table, values).astype(str).to_numpy().ravel(),
    ]
    for word in shown:
        assert not word.startswith(("=", "+", "@"))
        assert not set(word) & set("<>[]`")
    assert set(some_points(table).columns) == {"lat", "lng", "side"}


@given(st.text(max_size=200))
def test_harmless_is_harmless(text: str) -> None:
    word = harmless(text)
    assert len(word) <= 82
    assert word.isprintable()
    assert not set(word) & set("<>[]`$\\")
    if word[:1] in {"=", "@", "+", "-"}:
        float(word)


def one_sentence(error: ValueError) -> None:
    message = str(error)
    assert message.endswith(".")
    assert "\n" not in message


def answer_everything(content: bytes, **options: object) -> None:
    """Read a file and ask it everything; only the two errors that a user is shown may come out."""
    try:
        table = read_trips(content, name="f", **options)  # type: ignore[arg-type]
    except (TripFileError, ParameterError) as error:
        one_sentence(error)
        return
    assert table.rows_read == len(table.frame) + sum(table.dropped.values())
    account(table)
    area = choose_area(table)
    try:
        domain = cells_over(area, 5)
    except ParameterError:  # a box as large as a continent
        return
    for query in QUERIES:
        for hour in (None, 8):
            try:
                values = table_values(table, area=area, domain=domain, query=query, hour=hour)
            except TripFileError:
                continue
            assert len(table.frame) == len(values.values) + sum(values.dropped.values())


slow = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)


@slow
@given(st.sampled_from(SEEDS), st.data())
def test_damaged_files_of_every_kind(path: Path, data: st.DataObject) -> None:
    content = bytearray(path.read_bytes()[:6_000])
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, max(len(content) - 1, 0)))
        kind = data.draw(st.integers(0, 3))
        if kind == 0:
            content[at : at + 1] = bytes([data.draw(st.integers(0, 255))])
        elif kind == 1:
            del content[at : at + data.draw(st.integers(1, 400))]
        elif kind == 2:
            content[at:at] = data.draw(st.binary(max_size=12))
        else:
            content[at:at] = content[at : at + data.draw(st.integers(1, 60))]
    answer_everything(bytes(content))


cell = st.one_of(
    st.just(""),
    st.floats().map(str),
    st.floats(-90, 90).map(str),
    st.integers(-(10**20), 10**20).map(str),
    st.sampled_from(
        ["NaN", "null", EVIL, SCRIPT, "0", "1e400", "2024-01-01 08:00", "2024-01-01T08:00Z", "1.5,2.5"]
    ),
    st.text(max_size=8),
)
header = st.sampled_from(
    [
        *(
            "lat",
            "lng",
            "start_lat",
            "start_lng",
            "end_lat",
            "end_lng",
            "uid",
            "tid",
            "trip_id",
            "time",
            "date",
        ),
        *("started_at", "ended_at", "polyline", "geometry", "from_location", "count", "PULocationID"),
        *("duration", "station_id", ""),
    ]
)


@slow
@given(st.lists(header, min_size=1, max_size=8), st.data())
def test_tables_of_anything(names: list[str], data: st.DataObject) -> None:
    rows = data.draw(st.lists(st.lists(cell, min_size=len(names), max_size=len(names)), max_size=6))
    delimiter = data.draw(st.sampled_from([",", ";", "\t"]))
    text = "\n".join(delimiter.join(f'"{c}"' if '"' not in c else c for c in row) for row in [names, *rows])
    answer_everything(text.encode(data.draw(st.sampled_from(["utf-8", "utf-16"])), errors="replace"))
    records = [dict(zip(names, row, strict=True)) for row in rows]
    answer_everything(json.dumps(records).encode())
    if len(set(names)) == len(names):
        answer_everything(parquet(pa.table({n: [row[i] for row in rows] for i, n in enumerate(names)})))


key = st.sampled_from(
    [
        *("type", "features", "geometry", "coordinates", "properties", "crs", "name", "data", "columns"),
        *("lat", "lng", "schema", "id", "trips", "route"),
    ]
)
json_value = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(key, inner, max_size=5),
    max_leaves=25,
)


@slow
@example(
    {"type": "FeatureCollection", "features": [{"geometry": {"type": "Point", "coordinates": [1e308, "x"]}}]}
)
@example({"type": "Feature", "geometry": {"type": "Point", "coordinates": [10, 60]}, "properties": []})
@example({"columns": ["lat", "lng"], "data": [[1, 2], [3]]})
@given(json_value)
def test_json_of_anything(value: object) -> None:
    content = json.dumps(value).encode()
    answer_everything(content)
    for read in (read_zones, area_from_geojson):
        try:
            read(content)  # type: ignore[operator]
        except (TripFileError, ParameterError) as error:
            one_sentence(error)


@slow
@given(
    st.sampled_from(["{}", "<gpx version='1.1'>{}</gpx>", "<gpx><trk><trkseg>{}</trkseg></trk></gpx>"]),
    st.data(),
)
def test_gpx_of_anything(frame: str, data: st.DataObject) -> None:
    attribute = st.sampled_from(["60.1", "-200", "x", "", "1e999", "&lt;"])
    points = data.draw(
        st.lists(st.tuples(st.sampled_from(["trkpt", "wpt", "rtept", "time"]), attribute, attribute))
    )
    inner = "".join(f'<{tag} lat="{a}" lon="{b}"><time>{a}</time></{tag}>' for tag, a, b in points)
    answer_everything(frame.format(inner).encode())


@slow
@given(st.text(max_size=60))
@example("1,2,3,4,5")
@example("1e999,0,1,1")
@example("/etc/passwd")
@example("\x00.geojson")
def test_areas_of_anything(text: str) -> None:
    try:
        area_from_text(text)
    except ParameterError as error:
        one_sentence(error)
