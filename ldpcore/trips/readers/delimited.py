"""CSV and its relatives: any delimiter, encoding and line end; rows of a wrong length are counted."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from ldpcore.errors import TripFileError
from ldpcore.trips.convert import one_array
from ldpcore.trips.readers.combine import with_constants
from ldpcore.trips.readers.source import MAX_COLUMNS, MAX_ROWS, Source, preview_of, unique_names
from ldpcore.trips.schemas import SCHEMAS
from ldpcore.trips.table import Loaded, RawTable

DELIMITERS = (",", ";", "\t", "|")
#: A row longer than this is an attack or a missing quotation mark, not a trip.
MAX_ROW_BYTES = 4 * 1024 * 1024
_SAMPLE_BYTES = 256 * 1024
_UTF16_SHARE = 0.3


@dataclass(frozen=True)
class _Layout:
    body: memoryview  # UTF-8, from the line after the header on
    delimiter: str
    names: tuple[str, ...]
    width: int  # fields per row; more than names where every row has spare empty ones
    header: tuple[str, ...]
    encoding: str


def is_text(head: bytes) -> bool:
    """Whether bytes look like text of some encoding."""
    if _utf16(head):
        return True
    controls = sum(1 for b in head if b < 9 or 13 < b < 32)
    return controls <= len(head) // 200


def _utf16(head: bytes) -> str | None:
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    even, odd = head[::2].count(0), head[1::2].count(0)
    if (
        len(head) >= 4
        and max(even, odd) > _UTF16_SHARE * len(head) / 2
        and min(even, odd) < max(even, odd) / 4
    ):
        return "utf-16-le" if odd > even else "utf-16-be"
    return None


def _utf8(source: Source) -> tuple[memoryview, str]:
    """Return the content as UTF-8 without a byte-order mark, and the encoding it had."""
    head = source.head(_SAMPLE_BYTES)
    wide = _utf16(head)
    if wide:
        text = bytes(source.data).decode(wide, errors="replace")
        return memoryview(text.lstrip("\ufeff").encode("utf-8", errors="replace")), "UTF-16"
    if head.startswith(codecs.BOM_UTF8):
        return source.data[len(codecs.BOM_UTF8) :], "UTF-8"
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head, final=len(head) == len(source.data))
    except UnicodeDecodeError:
        return _from_latin(source.data), "Latin-1"
    return source.data, "UTF-8"


def _from_latin(data: memoryview) -> memoryview:
    # Windows-1252 is what "Latin-1" files really are; its five gaps become the replacement sign.
    return memoryview(bytes(data).decode("cp1252", errors="replace").encode("utf-8"))


def _lines(data: memoryview) -> tuple[list[list[str]], str, int, int]:
    """Return the first records, the delimiter, where they begin, and where those after the first do."""
    sample = bytes(data[:_SAMPLE_BYTES])
    complete = len(sample) == len(data)
    start = 0
    while True:  # leave out empty lines and the hint that spreadsheets write
        end = min(
            (p for p in (sample.find(b"\n", start), sample.find(b"\r", start)) if p >= 0), default=len(sample)
        )
        line = sample[start:end].strip()
        if end >= len(sample) or (line and not line.lower().startswith(b"sep=")):
            break
        start = end + 1
    if not sample[start:].strip():
        return [], ",", 0, 0
    text = sample[start:].decode("utf-8", errors="replace")
    if not complete:
        cut = max(text.rfind("\n"), text.rfind("\r"))
        text = text[: cut + 1] if cut > 0 else text
    first = text.splitlines()[0]
    delimiter = max(DELIMITERS, key=first.count)
    stream = io.StringIO(text, newline="")
    records = []
    try:
        for record in csv.reader(stream, delimiter=delimiter):
            if record:
                records.append(record)
            if len(records) > 200:
                break
    except csv.Error as error:
        raise TripFileError(
            f"A cell is longer than {csv.field_size_limit():,} characters; a quotation mark may be missing."
        ) from error
    after = len(first.encode("utf-8"))
    body = start + after
    for mark in (b"\r\n", b"\n", b"\r"):
        if sample[body : body + len(mark)] == mark:
            body += len(mark)
            break
    return records, delimiter, start, body


def open_delimited(source: Source) -> RawTable:
    """Open CSV, TSV and the like, with a header or of a known layout without one.

    Raises
    ------
    TripFileError
        If there is no table of text in it, or only one column, or far too many rows.
    """
    data, encoding = _utf8(source)
    _check_rows(data, source.name)
    records, delimiter, start, body = _lines(data)
    if not records:
        raise TripFileError(f"{source.name} is empty.")
    if len(records[0]) < 2:
        raise TripFileError(
            f"{source.name} has a single column; a table of trips has a header line and columns "
            "parted by commas, semicolons or tabs."
        )
    if len(records[0]) > MAX_COLUMNS:
        raise TripFileError(
            f"{source.name} has {len(records[0]):,} columns, more than the {MAX_COLUMNS:,} that are read."
        )
    schema_name, columns, note = _headless(records)
    if columns:
        header, rows, body = list(columns), records, start
    else:
        header, rows = records[0], records[1:]
    width = _row_width(header, rows)
    names = unique_names(header)
    notes = _notes(header, encoding, delimiter, width)
    layout = _Layout(data[body:], delimiter, names, width, tuple(header), encoding)
    return _raw(layout, rows, (*notes, *note), schema_name)


def _raw(
    layout: _Layout, rows: Sequence[Sequence[str]], notes: tuple[str, ...], schema_name: str
) -> RawTable:
    named = len(layout.names)
    return RawTable(
        format="CSV"
        if layout.delimiter == ","
        else f"text table parted by {_DELIMITER_WORDS[layout.delimiter]}",
        names=layout.names,
        preview=preview_of(layout.names, ([*row, *[""] * named][:named] for row in rows)),
        load=lambda places: _load(layout, places),
        notes=notes,
        decimal_comma=layout.delimiter != ",",
        schema_name=schema_name,
    )


def _check_rows(data: memoryview, name: str) -> None:
    size = 0
    for start in range(0, len(data), _SAMPLE_BYTES * 64):
        part = np.frombuffer(data[start : start + _SAMPLE_BYTES * 64], dtype=np.uint8)
        size += max(int(np.count_nonzero(part == 10)), int(np.count_nonzero(part == 13)))
    if size > MAX_ROWS:
        raise TripFileError(f"{name} has {size:,} lines, more than the {MAX_ROWS:,} that are read; split it.")


def _headless(records: Sequence[Sequence[str]]) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """Tell a file without a header: its schema, the names of its columns, and a sentence; or nothing."""
    first = records[0]
    for schema in SCHEMAS:
        if schema.layout and all(_fits(record, schema.layout) for record in records[:20]):
            return (
                schema.name,
                schema.columns,
                ("The file has no header; its columns were told by what they hold.",),
            )
    if sum(bool(_DATA.fullmatch(cell.strip())) for cell in first) * 2 > len(first) and not any(
        cell.strip().isidentifier() for cell in first
    ):
        columns = tuple(f"column {place + 1}" for place in range(len(first)))
        return "", columns, ("The file has no header; name its columns in the mapping.",)
    return "", (), ()


def _fits(record: Sequence[str], layout: Sequence[str]) -> bool:
    return len(record) == len(layout) and all(
        re.fullmatch(pattern, cell.strip()) for pattern, cell in zip(layout, record, strict=True)
    )


#: A number or a time: what a cell of data is and the name of a column is not.
_DATA = re.compile(r"-?\d+[.,]?\d*|\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}([ T].*)?")

_PLT_LINES = 6


def is_plt(head: bytes) -> bool:
    """Whether text begins like a track of GeoLife."""
    return head.lstrip(codecs.BOM_UTF8).lower().startswith(b"geolife trajectory")


def open_plt(source: Source) -> RawTable:
    """Open a track of GeoLife: six lines to leave out, then points; the person is a folder's name.

    Raises
    ------
    TripFileError
        If there is no point in it.
    """
    data, encoding = _utf8(source)
    head = bytes(data[:_SAMPLE_BYTES]).splitlines(keepends=True)
    body = sum(len(line) for line in head[:_PLT_LINES])
    rows = list(
        csv.reader(line.decode("utf-8", errors="replace") for line in head[_PLT_LINES : _PLT_LINES + 50])
    )
    if not rows:
        raise TripFileError(f"{source.name} is a GeoLife track without a point.")
    columns = next(schema.columns for schema in SCHEMAS if schema.name == "geolife")
    layout = _Layout(data[body:], ",", columns, len(columns), columns, encoding)
    person = source.folders[-2] if source.folders[-1:] == ("Trajectory",) and len(source.folders) > 1 else ""
    return with_constants(_raw(layout, rows, (), "geolife"), {"file": source.name, "user": person})


_DELIMITER_WORDS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}


def _row_width(header: Sequence[str], rows: Sequence[Sequence[str]]) -> int:
    """Fields of most rows, where they only add empty ones at the end of what the header names."""
    lengths = [len(row) for row in rows]
    if not lengths:
        return len(header)
    usual = max(set(lengths), key=lengths.count)
    spare = [row for row in rows if len(row) == usual]
    if usual > len(header) and all(not "".join(row[len(header) :]).strip() for row in spare):
        return usual
    return len(header)


def _notes(header: Sequence[str], encoding: str, delimiter: str, width: int) -> tuple[str, ...]:
    notes = []
    if encoding != "UTF-8":
        notes.append(f"The text is {encoding}, not UTF-8; it was converted.")
    if delimiter != ",":
        notes.append(f"Columns are parted by {_DELIMITER_WORDS[delimiter]}.")
    if width > len(header):
        notes.append(
            "Every row ends with a delimiter more than the header has; the empty field at the end was left "
            "out, so that no column is shifted."
        )
    repeated = sorted({h for h in header if h.strip() and header.count(h) > 1})
    if repeated:
        notes.append(
            f"Several columns are named {', '.join(repeated)}; the first of each is used unless you choose."
        )
    return tuple(notes)


def _load(layout: _Layout, places: Sequence[int]) -> Loaded:
    wrong: list[tuple[int | None, str]] = []
    try:
        table = _read(layout, places, wrong)
    except pa.ArrowInvalid as error:
        message = str(error)
        if "UTF8" in message or "UTF-8" in message:
            layout = _Layout(
                _from_latin(layout.body),
                layout.delimiter,
                layout.names,
                layout.width,
                layout.header,
                "Latin-1",
            )
            wrong.clear()
            table = _read(layout, places, wrong)
        elif "straddl" in message or "block" in message:
            raise TripFileError(
                f"A row is longer than {MAX_ROW_BYTES // 2**20} MB; a quotation mark may be missing."
            ) from error
        else:
            raise TripFileError("The rows cannot be read as a table of text.") from error
    # Left in the pieces they were read in: joining them here would hold everything twice.
    columns = [table.column(str(place)) for place in places]
    return _account(layout, places, columns, table.num_rows, wrong)


def _read(layout: _Layout, places: Sequence[int], wrong: list[tuple[int | None, str]]) -> Any:  # noqa: ANN401
    def keep_aside(row: Any) -> str:  # noqa: ANN401
        wrong.append((row.number, row.text))
        return "skip"

    names = [str(i) for i in range(layout.width)]
    if not len(layout.body):
        return pa.table({str(place): pa.array([], type=pa.string()) for place in places})
    # One thread: only then does pyarrow number the rows it leaves out, and it is fast enough.
    return pa_csv.read_csv(
        pa.BufferReader(pa.py_buffer(layout.body)),
        read_options=pa_csv.ReadOptions(column_names=names, use_threads=False, block_size=MAX_ROW_BYTES),
        parse_options=pa_csv.ParseOptions(
            delimiter=layout.delimiter, newlines_in_values=True, invalid_row_handler=keep_aside
        ),
        convert_options=pa_csv.ConvertOptions(
            include_columns=[str(place) for place in dict.fromkeys(places)],
            column_types={name: pa.string() for name in names},
            strings_can_be_null=True,
            null_values=[""],
        ),
    )


def _account(
    layout: _Layout,
    places: Sequence[int],
    columns: list[Any],
    rows: int,
    wrong: list[tuple[int | None, str]],
) -> Loaded:
    """Put rows of a wrong length back where only empty fields differ, and count the others."""
    if not wrong:
        return _without_headers(layout, places, Loaded(columns, rows))
    mended: dict[int, list[str]] = {}
    dropped: dict[int, str] = {}
    for number, text in wrong:
        place = int(number or 1) - 1
        try:
            fields = next(csv.reader(io.StringIO(text, newline=""), delimiter=layout.delimiter), [])
        except csv.Error:  # a giant cell
            fields = []
        fixed = _fit(fields, layout)
        if fixed is None:
            dropped[place] = "wrong_number_of_fields"
        else:
            mended[place] = fixed
    total = rows + len(wrong)
    aside = np.array(sorted([*mended, *dropped]), dtype=np.int64)
    regular = np.setdiff1d(np.arange(total, dtype=np.int64), aside, assume_unique=True)
    put_back = np.array(sorted(mended), dtype=np.int64)
    numbers = np.concatenate([regular, put_back])
    order = np.argsort(numbers, kind="stable")
    merged = []
    for column, place in zip(columns, places, strict=True):
        extra = pa.array([mended[int(row)][place] or None for row in put_back], type=pa.string())
        merged.append(pa.concat_arrays([one_array(column), extra]).take(pa.array(order)))
    notes = []
    if mended:
        notes.append(
            f"{len(mended):,} rows had empty fields too many or too few at the end; they were evened out."
        )
    return _without_headers(
        layout,
        places,
        Loaded(
            merged,
            total,
            row_numbers=numbers[order],
            dropped=dropped,
            mended={"trailing_delimiter": len(mended)} if mended else {},
            notes=notes,
        ),
    )


def _fit(fields: list[str], layout: _Layout) -> list[str] | None:
    """Give a row the width of the others if nothing but empty fields at its end has to change."""
    named = len(layout.names)
    if len(fields) >= named and not "".join(fields[named:]).strip():
        return [*fields, *[""] * (layout.width - named)][: max(layout.width, named)]
    last_filled = max((i for i, h in enumerate(layout.header) if h.strip()), default=-1) + 1
    if last_filled <= len(fields) < named:
        return [*fields, *[""] * (layout.width - len(fields))]
    return None


def _without_headers(layout: _Layout, places: Sequence[int], loaded: Loaded) -> Loaded:
    """Take out rows that repeat the header."""
    if not loaded.columns or not len(loaded.columns[0]):
        return loaded
    same: Any = True
    for column, place in zip(loaded.columns, places, strict=True):
        here = pc.fill_null(pc.equal(column, layout.header[place]), fill_value=False)
        same = pc.and_(same, here)
    mask = np.asarray(same.to_numpy(zero_copy_only=False), dtype=np.bool_)
    if not mask.any():
        return loaded
    numbers = loaded.row_numbers
    if numbers is None:
        numbers = np.arange(len(mask), dtype=np.int64)
    keep = pa.array(~mask)
    dropped = dict(loaded.dropped) | {int(row): "repeated_header" for row in numbers[mask]}
    return Loaded(
        [column.filter(keep) for column in loaded.columns],
        loaded.rows_read,
        row_numbers=numbers[~mask],
        dropped=dropped,
        mended=loaded.mended,
        notes=loaded.notes,
    )
