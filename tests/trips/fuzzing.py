"""Files broken on purpose: samples of every reader, ways to break them, and what must hold of the outcome.

The tests run a bounded part of it on every change. ``make fuzz`` runs it for ten minutes, guided by coverage;
what that finds is written to ``.fuzz`` and belongs into `FOUND` of ``test_read_fuzz.py`` once mended.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import random
import re
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import geopandas
import pandas as pd
import shapely

from ldpcore.domain import cells_over
from ldpcore.errors import ParameterError, TripFileError
from ldpcore.trips.account import account, mapping_choices, rows_not_used, some_points
from ldpcore.trips.areas import area_from_geojson, choose_area
from ldpcore.trips.read import peek, read_trips, read_zones
from ldpcore.trips.table import TripTable
from ldpcore.trips.values import QUERIES, table_values

FILES = Path(__file__).parent / "files"
#: Processor seconds for one file of some kilobytes, the questions included; usually it is a twentieth.
LIMIT_S = 10.0
_MOST_BYTES = 30_000
_HUGE = ("1e308", "-1e309", "NaN", "inf", "1" * 400, "-0", "9223372036854775808", "1e-320", "6642893", "0x1F")
_ODD = ("°", "\ufeff", "\x00", "\u202e", "=1+1", "<b>", '"', "\r", "é", "\U0001f6b2", "40°42'46\"N", "28,000")
_ENCODINGS = ("utf-16", "utf-16-le", "utf-32", "latin-1", "cp1252", "utf-8-sig", "utf-7", "cp037")


def _parquet(frame: pd.DataFrame, **options: Any) -> bytes:
    stream = io.BytesIO()
    frame.to_parquet(stream, **options)
    return stream.getvalue()


def _zip(members: dict[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return stream.getvalue()


def samples() -> dict[str, bytes]:
    """Return a small sound file for every reader and schema."""
    found = {path.name: path.read_bytes() for path in sorted((FILES / "made_up").iterdir())}
    for name in ("oslo_bysykkel.csv", "chicago_taxi.csv"):
        found[name] = b"".join((FILES / name).read_bytes().splitlines(keepends=True)[:40])
    oslo, points = found["oslo_bysykkel.csv"], found["points.geojson"]
    frame = pd.read_csv(io.BytesIO(oslo)).head(20)
    places = geopandas.GeoDataFrame(
        {"uid": range(6)}, geometry=shapely.points([[10.7 + i / 50, 59.9] for i in range(6)]), crs=4326
    )
    rows = frame.to_dict("records")
    made = {
        "trips.csv.gz": gzip.compress(oslo, mtime=0),
        "trips.zip": _zip({"2024/01.csv": oslo, "2024/02.csv": oslo, "__MACOSX/._01.csv": b"\x00\x05"}),
        "geolife.zip": _zip({"Data/007/Trajectory/1.plt": found["geolife.plt"]}),
        "trips.parquet": _parquet(frame),
        "places.parquet": _parquet(places.to_crs(25833)),
        "records.json": json.dumps(rows).encode(),
        "lines.jsonl": "\n".join(map(json.dumps, rows)).encode(),
        "columns.json": frame.to_json(orient="split").encode(),
        "written.csv": 'lat,lng,id\n"40°42\'46""N","74°0\'22""W",1\n"40,71","-74,01",2\n'.encode(),
        "whole.csv": b"start_lat,start_lng\n40712800,-74006000\n40712900,-74006100\n",
        "date_line.csv": b"start_lat,start_lng\n-17,179.9\n-17.1,-179.9\n",
        "semicolons.csv": b"sep=;\nlat;lng;date;time\n59,91;10,75;1.2.2024;08:00\n59,92;10,76;2.2.2024;09:00\n",
        "zones.csv": b'zone_id,wkt\nA,"POLYGON((10 59,11 59,11 60,10 59))"\nB,"POINT(10 59)"\n',
        "zones.zip": _zip({"points.geojson": points}),
        "page.html": b"<!doctype html><html><table><tr><td>1</td></tr></table></html>",
        "track.kml": b'<?xml version="1.0"?><kml><Placemark/></kml>',
    }
    return found | made


# --- Ways to break a file, each a function of its bytes and of a source of chance -------------


def flip(content: bytes, rng: random.Random) -> bytes:
    """Change some bytes."""
    out = bytearray(content)
    for _ in range(rng.randint(1, 8)):
        if out:
            out[rng.randrange(len(out))] ^= 1 << rng.randrange(8)
    return bytes(out)


def truncate(content: bytes, rng: random.Random) -> bytes:
    """Cut off the end, or the start."""
    at = rng.randint(0, len(content))
    return content[at:] if rng.random() < 0.2 else content[:at]


def remove(content: bytes, rng: random.Random) -> bytes:
    """Take a piece out of the middle."""
    at = rng.randint(0, len(content))
    return content[:at] + content[at + rng.randint(1, 300) :]


def repeat(content: bytes, rng: random.Random) -> bytes:
    """Put a piece in again, there or elsewhere."""
    at, size = rng.randint(0, len(content)), rng.randint(1, 400)
    to = rng.randint(0, len(content))
    return content[:to] + content[at : at + size] * rng.randint(1, 5) + content[to:]


def huge_numbers(content: bytes, rng: random.Random) -> bytes:
    """Put numbers that no place or time has where the file has numbers."""
    share = rng.choice((0.02, 0.3, 1.0))
    return re.sub(
        rb"-?\d+\.?\d*",
        lambda hit: rng.choice(_HUGE).encode() if rng.random() < share else hit.group(),
        content,
    )


def odd_text(content: bytes, rng: random.Random) -> bytes:
    """Put signs that mean something to somebody into it."""
    for _ in range(rng.randint(1, 6)):
        at = rng.randint(0, len(content))
        content = content[:at] + rng.choice(_ODD).encode("utf-8") + content[at:]
    return content


def recode(content: bytes, rng: random.Random) -> bytes:
    """Write the text in another encoding."""
    return content.decode("utf-8", errors="replace").encode(rng.choice(_ENCODINGS), errors="replace")


def newlines(content: bytes, rng: random.Random) -> bytes:
    """End lines in another way, or in several."""
    ends = rng.choice(((b"\r\n",), (b"\r",), (b"\r\n", b"\n", b"\r"), (b"\n\n",), (b",\n", b"\n")))
    return b"".join(line + rng.choice(ends) for line in content.splitlines())


def delimiters(content: bytes, rng: random.Random) -> bytes:
    """Part the columns by another sign."""
    return content.replace(rng.choice((b",", b";", b"\t")), rng.choice((b",", b";", b"\t", b"|", b" ", b":")))


def shuffle_columns(content: bytes, rng: random.Random) -> bytes:
    """Exchange, repeat, drop and rename the columns of a table of text."""
    text = content.decode("utf-8", errors="replace").replace("\x00", "")
    try:
        rows = list(csv.reader(io.StringIO(text)))
    except csv.Error:
        return content
    width = max(map(len, rows), default=0)
    if not width:
        return content
    order = (
        [rng.randrange(width) for _ in range(width)]
        if rng.random() < 0.5
        else rng.sample(range(width), width)
    )
    body = [[row[at] if at < len(row) else "" for at in order] for row in rows]
    if rng.random() < 0.5:
        names = [
            "lat",
            "lng",
            "id",
            "uid",
            "tid",
            "trips",
            "geometry",
            "time",
            "latitudeE6",
            "PULocationID",
            "",
        ]
        body[0] = [rng.choice((name, rng.choice(names))) for name in body[0]]
    if rng.random() < 0.3:  # the header shifts against the rows
        body[0] = body[0][rng.randint(0, 1) :] + [""] * rng.randint(0, 2)
    stream = io.StringIO()
    csv.writer(stream).writerows(body)
    return stream.getvalue().encode("utf-8", errors="replace")


def shuffle_rows(content: bytes, rng: random.Random) -> bytes:
    """Exchange and repeat lines, the header among them."""
    lines = content.splitlines(keepends=True)
    return b"".join(rng.choices(lines, k=rng.randint(1, 2 * len(lines)))) if lines else content


def rebuild_json(content: bytes, rng: random.Random) -> bytes:
    """Exchange, drop and nest the parts of a JSON document."""
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        return content
    other = [None, [], {}, "x", 1e300, True, -1, [[[1]]], {"type": "Point", "coordinates": [1]}, 2**70]

    def change(part: Any, depth: int) -> Any:
        if rng.random() < 0.04:
            return rng.choice(other)
        if depth > 30:
            return part
        if isinstance(part, dict):
            return {k if rng.random() > 0.03 else "": change(v, depth + 1) for k, v in part.items()}
        if isinstance(part, list):
            return [change(v, depth + 1) for v in part if rng.random() > 0.03]
        return part

    return json.dumps(change(document, 0)).encode()


def wrap(content: bytes, rng: random.Random) -> bytes:
    """Pack it, under a name that promises something else."""
    name = rng.choice(("a.csv", "../../a.gpx", "Data/1/Trajectory/a.plt", "stops.txt", "a.shp", "x" * 200))
    return (
        gzip.compress(content, mtime=0)
        if rng.random() < 0.4
        else _zip({name: content, "b.csv": content[:99]})
    )


def inside_gzip(content: bytes, rng: random.Random) -> bytes:
    """Break what is packed rather than the packing."""
    try:
        plain = gzip.decompress(content)
    except (OSError, EOFError, ValueError, gzip.zlib.error):  # type: ignore[attr-defined]
        return flip(content, rng)
    return gzip.compress(rng.choice((flip, truncate, odd_text, huge_numbers))(plain, rng), mtime=0)


MUTATIONS: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    *(flip, truncate, remove, repeat, huge_numbers, odd_text, recode, newlines, delimiters),
    *(shuffle_columns, shuffle_rows, rebuild_json, wrap, inside_gzip),
)


def broken(content: bytes, ways: list[Callable[[bytes, random.Random], bytes]], seed: int) -> bytes:
    """Break a file in several ways, one after the other."""
    rng = random.Random(seed)  # noqa: S311 - not for secrets
    for way in ways:
        content = way(content, rng)[:_MOST_BYTES]
    return content


# --- What must hold ---------------------------------------------------------------------------


def judge(content: bytes) -> str:
    """Read a file and ask it everything; any error but the two that a user is shown comes out.

    Returns
    -------
    "refused", or the name of the schema it was read as.
    """
    began = time.process_time()
    try:
        table = read_trips(content, name="f")
    except (TripFileError, ParameterError) as error:
        _one_sentence(error)
        outcome = "refused"
    else:
        _question(table)
        outcome = table.schema_name
    readers: tuple[Callable[[bytes], object], ...] = (peek, read_zones, area_from_geojson)
    for read in readers:
        try:
            read(content)
        except (TripFileError, ParameterError) as error:
            _one_sentence(error)
    took = time.process_time() - began
    assert took < LIMIT_S, f"took {took:.1f} s"
    return outcome


def _one_sentence(error: ValueError) -> None:
    message = str(error)
    assert message.endswith("."), message
    assert len(message) > 8, message
    assert message.isprintable(), message
    assert not set(message) & set("<>`"), message


def _question(table: TripTable) -> None:
    assert table.rows_read == len(table.frame) + sum(table.dropped.values())
    assert all(0 < rows <= table.rows_read for rows in table.mended.values()), table.mended
    assert table.frame.index.is_monotonic_increasing
    assert table.frame.index.is_unique
    for side, problem in (("start", table.start_problem), ("end", table.end_problem)):
        if problem is not None:
            lat, lng = (table.frame[f"{side}_{axis}"].to_numpy()[problem == 0] for axis in ("lat", "lng"))
            assert ((abs(lat) <= 90) & (abs(lng) <= 180)).all()
    mapping_choices(table.columns, table.mapping)
    some_points(table)
    area = choose_area(table)
    try:
        domain = cells_over(area, 5)
    except ParameterError as error:  # a box as large as a continent
        _one_sentence(error)
        domain = None
    for query in QUERIES if domain is not None else ():
        for hour in (None, 8):
            try:
                values = table_values(table, area=area, domain=domain, query=query, hour=hour)
            except TripFileError as error:
                _one_sentence(error)
                continue
            lost = sum(values.dropped.values())
            assert len(table.frame) == len(values.values) + lost
            shown = account(table, values)
            assert shown[shown["what"] != "mended"]["rows"].sum() == table.rows_read
            assert len(rows_not_used(table, values)) == table.rows_read - len(values.values)
