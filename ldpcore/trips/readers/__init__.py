"""How bytes become a raw table: one row per kind of file, recognised by content, never by its name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from ldpcore.errors import TripFileError
from ldpcore.trips.readers.archive import gunzip, unzip
from ldpcore.trips.readers.combine import same_columns, stacked
from ldpcore.trips.readers.delimited import is_plt, is_text, open_delimited, open_plt
from ldpcore.trips.readers.gpx import is_gpx, open_gpx
from ldpcore.trips.readers.jsontext import is_json, open_json, text_start
from ldpcore.trips.readers.parquet import open_parquet
from ldpcore.trips.readers.source import MAX_BYTES, Readable, Source, as_source, harmless
from ldpcore.trips.table import RawTable

__all__ = ["MAX_BYTES", "READERS", "Readable", "Reader", "Source", "as_source", "harmless", "open_raw"]

_HEAD_BYTES = 4096
_MAX_WRAPPINGS = 3


@dataclass(frozen=True)
class Reader:
    """One kind of file.

    Attributes
    ----------
    name, label
        Key and plain words.
    endings
        Usual ends of the name, for an upload control; they decide nothing.
    matches
        Whether the first bytes are of this kind.
    unpack
        For a wrapping: returns what is inside.
    open
        For a table: opens it.
    refusal
        For a kind that is recognised only to say what to do instead.
    """

    name: str
    label: str
    endings: tuple[str, ...]
    matches: Callable[[bytes], bool]
    unpack: Callable[[Source], list[Source]] | None = None
    open: Callable[[Source], RawTable] | None = None
    refusal: str = ""


def _starts(*marks: bytes) -> Callable[[bytes], bool]:
    return lambda head: head.startswith(marks)


def _says(*marks: str) -> Callable[[bytes], bool]:
    def matches(head: bytes) -> bool:
        start = text_start(head)[:1000].lower()
        return start.startswith("<") and any(mark in start for mark in marks)

    return matches


#: Tried in this order on the first bytes.
READERS: tuple[Reader, ...] = (
    Reader("gzip", "gzip", ("gz",), _starts(b"\x1f\x8b"), unpack=gunzip),
    Reader("zip", "zip archive", ("zip",), _starts(b"PK\x03\x04", b"PK\x05\x06"), unpack=unzip),
    Reader("parquet", "Parquet and GeoParquet", ("parquet",), _starts(b"PAR1"), open=open_parquet),
    Reader("pdf", "PDF", (), _starts(b"%PDF"), refusal="is a PDF, not a table of trips."),
    Reader(
        "picture",
        "picture",
        (),
        _starts(b"\x89PNG", b"\xff\xd8\xff", b"GIF8"),
        refusal="is a picture, not a table of trips.",
    ),
    Reader(
        "database",
        "database",
        (),
        _starts(b"SQLite format 3"),
        refusal="is a database; export the trips as CSV.",
    ),
    Reader(
        "sheet",
        "old spreadsheet",
        (),
        _starts(b"\xd0\xcf\x11\xe0"),
        refusal="is a spreadsheet; save it as CSV.",
    ),
    Reader("json", "JSON and GeoJSON", ("json", "geojson", "jsonl"), is_json, open=open_json),
    Reader("gpx", "GPX", ("gpx",), is_gpx, open=open_gpx),
    Reader("kml", "KML", (), _says("<kml"), refusal="is KML; save it as GPX or GeoJSON."),
    Reader(
        "page", "web page", (), _says("<html", "<!doctype"), refusal="is a web page, not a table of trips."
    ),
    Reader("xml", "XML", (), _says("<?xml", "<"), refusal="is an XML document that is not GPX."),
    Reader("plt", "GeoLife", ("plt",), is_plt, open=open_plt),
    Reader("delimited", "CSV", ("csv", "tsv", "txt"), is_text, open=open_delimited),
)


def open_raw(source: Source) -> RawTable:
    """Open a file as a raw table, by what it contains.

    Raises
    ------
    TripFileError
        If it is of no kind that is read, or damaged.
    """
    return _open(source, _MAX_WRAPPINGS)


def _open(source: Source, wrappings: int) -> RawTable:
    head = source.head(_HEAD_BYTES)
    reader = next((r for r in READERS if r.matches(head)), None)
    if reader is None:
        raise TripFileError(
            f"{source.name} is of no kind that is read; CSV, Parquet, GeoJSON, JSON and GPX are."
        )
    if reader.refusal:
        raise TripFileError(f"{source.name} {reader.refusal}")
    if reader.open is not None:
        return reader.open(source)
    assert reader.unpack is not None  # noqa: S101 - a row of the table has one of the three
    if wrappings == 0:
        raise TripFileError(f"{source.name} is packed inside itself too often; unpack it first.")
    return _one_of(reader.unpack(source), wrappings - 1)


def _one_of(inner: list[Source], wrappings: int) -> RawTable:
    """Open what an archive holds; the largest set of files with the same columns is one table."""
    if len(inner) == 1:
        return _open(inner[0], wrappings)
    tables, sources, failed = [], [], []
    for source in inner:
        try:
            tables.append(_open(source, wrappings))
            sources.append(source)
        except TripFileError as error:
            failed.append((source, error))
    if not tables:
        raise failed[0][1]
    best, rest = same_columns(tables, lambda place: len(sources[place].data))
    left = [sources[place].name for place in rest] + [source.name for source, _ in failed]
    table = stacked([tables[place] for place in best])
    if left:
        shown = ", ".join(name.rsplit(": ", 1)[-1] for name in left[:3]) + (", ..." if len(left) > 3 else "")
        note = f"{len(left):,} files of the archive were left out (other columns, or unreadable): {shown}."
        table = replace(table, notes=(*table.notes, note))
    return table
