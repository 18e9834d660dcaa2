"""Parquet and GeoParquet: only the columns that are needed are read; the coordinate system is kept."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from ldpcore.errors import ParameterError, TripFileError
from ldpcore.trips.convert import to_text
from ldpcore.trips.geometry import check_crs
from ldpcore.trips.readers.source import (
    MAX_BYTES,
    MAX_COLUMNS,
    MAX_ROWS,
    PREVIEW_ROWS,
    Source,
    preview_of,
    unique_names,
)
from ldpcore.trips.table import Loaded, RawTable

_DAMAGED = "is not a complete Parquet file; it may have been cut off on the way."
_ERRORS = (pa.ArrowException, OSError, ValueError, TypeError, KeyError, IndexError, OverflowError)
#: Columns of one word repeated take no room in the file and all of it in memory.
_MAX_CELLS = 400_000_000


def open_parquet(source: Source) -> RawTable:
    """Open a Parquet file.

    Raises
    ------
    TripFileError
        If it is damaged, or unpacks to more than is read.
    """
    try:
        file = pq.ParquetFile(pa.BufferReader(pa.py_buffer(source.data)))
        leaves = [leaf for column in file.schema_arrow for leaf in _leaves(column, column.name)]
        rows = file.metadata.num_rows
        unpacked = sum(
            file.metadata.row_group(i).total_byte_size for i in range(file.metadata.num_row_groups)
        )
    except _ERRORS as error:
        raise TripFileError(f"{source.name} {_DAMAGED}") from error
    if len(leaves) > MAX_COLUMNS:
        raise TripFileError(
            f"{source.name} has {len(leaves):,} columns, more than the {MAX_COLUMNS:,} that are read."
        )
    if rows > MAX_ROWS or unpacked > 4 * MAX_BYTES or rows * len(leaves) > _MAX_CELLS:
        raise TripFileError(f"{source.name} has {rows:,} rows and unpacks to more than is read; split it.")

    def load(places: Sequence[int]) -> Loaded:
        try:
            table = file.read(columns=list(dict.fromkeys(leaves[place] for place in places)))
            columns = [_leaf(table, leaves[place]) for place in places]
        except _ERRORS as error:
            raise TripFileError(f"{source.name} {_DAMAGED}") from error
        return Loaded(columns, rows)

    try:
        batch = next(file.iter_batches(batch_size=PREVIEW_ROWS), None)
        shown = (
            [] if batch is None else [to_text(_leaf(pa.table(batch), leaf)).to_pylist() for leaf in leaves]
        )
    except _ERRORS as error:
        raise TripFileError(f"{source.name} {_DAMAGED}") from error
    names = unique_names(leaves)
    given, crs = _geography(source, file, leaves)
    return RawTable(
        format="GeoParquet" if given else "Parquet",
        names=names,
        preview=preview_of(names, zip(*shown, strict=True)),
        load=load,
        given=given,
        crs=crs,
        schema_name="geoparquet" if given else "",
    )


def _leaves(column: Any, path: str) -> list[str]:  # noqa: ANN401
    if pa.types.is_struct(column.type) and column.type.num_fields:
        return [leaf for i in range(column.type.num_fields) for leaf in _inner(column.type.field(i), path)]
    return [path]


def _inner(field: Any, path: str) -> list[str]:  # noqa: ANN401
    return _leaves(field, f"{path}.{field.name}")


def _leaf(table: Any, path: str) -> Any:  # noqa: ANN401
    """Take a column out of a table, also from inside a record, as one array of plain values."""
    if path in table.column_names:
        column = table.column(path).combine_chunks()
    else:
        first = max((n for n in table.column_names if path.startswith(f"{n}.")), key=len)
        column = table.column(first).combine_chunks()
        for part in path[len(first) + 1 :].split("."):
            column = pa.compute.struct_field(column, part)
    if isinstance(column, pa.ExtensionArray):
        column = column.storage
    return column


def _geography(source: Source, file: Any, leaves: Sequence[str]) -> tuple[dict[str, int], Any]:  # noqa: ANN401
    """Find the geometry column that GeoParquet declares, and its coordinate system."""
    described = (file.schema_arrow.metadata or {}).get(b"geo")
    if described is None:
        return {}, None
    try:
        geo = json.loads(described)
        primary = geo.get("primary_column", "geometry")
        column = geo["columns"][primary]
        encoding = str(column.get("encoding", "WKB")).lower()
        crs = column.get("crs")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise TripFileError(f"{source.name} describes its geometry in a way that cannot be read.") from error
    if encoding == "point" and {f"{primary}.x", f"{primary}.y"} <= set(leaves):
        given = {"start_lng": leaves.index(f"{primary}.x"), "start_lat": leaves.index(f"{primary}.y")}
    elif encoding == "wkb" and primary in leaves:
        given = {"geometry": leaves.index(primary)}
    else:
        raise TripFileError(
            f"{source.name} stores its geometry as {harmless_word(encoding)}; save it as WKB."
        )
    if crs is None:  # absent means WGS 84, null means nobody knows: degrees are checked either way
        return given, None
    try:
        return given, check_crs(crs)
    except ParameterError as error:
        raise TripFileError(
            f"{source.name} has a coordinate system that is unknown; save it as WGS 84."
        ) from error


def harmless_word(word: str) -> str:
    """Keep the letters of a word from a file."""
    return "".join(c for c in word if c.isalnum())[:30] or "nothing"
