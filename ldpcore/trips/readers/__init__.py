"""How bytes become a raw table: one row per kind of file, recognised by content, never by its name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ldpcore.errors import TripFileError
from ldpcore.trips.readers.archive import gunzip, unzip
from ldpcore.trips.readers.delimited import is_text, open_delimited
from ldpcore.trips.readers.parquet import open_parquet
from ldpcore.trips.readers.source import MAX_BYTES, Readable, Source, as_source
from ldpcore.trips.table import RawTable

__all__ = ["MAX_BYTES", "READERS", "Readable", "Reader", "Source", "as_source", "open_raw"]

_HEAD_BYTES = 4096


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
    """

    name: str
    label: str
    endings: tuple[str, ...]
    matches: Callable[[bytes], bool]
    unpack: Callable[[Source], Source] | None = None
    open: Callable[[Source], RawTable] | None = None


def _starts(*marks: bytes) -> Callable[[bytes], bool]:
    return lambda head: head.startswith(marks)


#: Tried in this order on the first bytes.
READERS: tuple[Reader, ...] = (
    Reader("gzip", "gzip", ("gz",), _starts(b"\x1f\x8b"), unpack=gunzip),
    Reader("zip", "zip archive", ("zip",), _starts(b"PK\x03\x04", b"PK\x05\x06"), unpack=unzip),
    Reader("parquet", "Parquet", ("parquet",), _starts(b"PAR1"), open=open_parquet),
    Reader("delimited", "CSV", ("csv", "tsv", "txt"), is_text, open=open_delimited),
)

#: Kinds that are recognised only to say what to do instead.
_OTHERS: tuple[tuple[tuple[bytes, ...], str], ...] = (
    ((b"%PDF",), "is a PDF, not a table of trips."),
    ((b"\x89PNG", b"\xff\xd8\xff", b"GIF8"), "is a picture, not a table of trips."),
    ((b"SQLite format 3",), "is a database; export the table of trips as CSV."),
    ((b"\xd0\xcf\x11\xe0",), "is an old spreadsheet; save it as CSV."),
    ((b"{", b"["), "is JSON, which is not read; export the trips as CSV or Parquet."),
    ((b"<",), "is a page or an XML document, not a table of trips."),
)
_MAX_WRAPPINGS = 3


def open_raw(source: Source) -> RawTable:
    """Open a file as a raw table, by what it contains.

    Raises
    ------
    TripFileError
        If it is of no kind that is read, or damaged.
    """
    for _ in range(_MAX_WRAPPINGS):
        head = source.head(_HEAD_BYTES)
        plain = head.removeprefix(b"\xef\xbb\xbf").lstrip()
        for marks, sentence in _OTHERS:
            if plain.startswith(marks):
                raise TripFileError(f"{source.name} {sentence}")
        reader = next((r for r in READERS if r.matches(head)), None)
        if reader is None:
            raise TripFileError(f"{source.name} is not a table of trips; CSV and Parquet are read.")
        if reader.open is not None:
            return reader.open(source)
        if reader.unpack is not None:
            source = reader.unpack(source)
    raise TripFileError(f"{source.name} is packed inside itself too often; unpack it first.")
