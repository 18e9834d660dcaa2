"""Parquet: only the columns that are needed are read."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from ldpcore.errors import TripFileError
from ldpcore.trips.convert import to_text
from ldpcore.trips.readers.delimited import MAX_COLUMNS, PREVIEW_ROWS
from ldpcore.trips.readers.source import MAX_BYTES, Source
from ldpcore.trips.table import Loaded, RawTable

_DAMAGED = "is not a complete Parquet file; it may have been cut off on the way."


def open_parquet(source: Source) -> RawTable:
    """Open a Parquet file.

    Raises
    ------
    TripFileError
        If it is damaged, or unpacks to more than is read.
    """
    try:
        file = pq.ParquetFile(pa.BufferReader(pa.py_buffer(source.data)))
        names = tuple(field.name for field in file.schema_arrow)
        rows = file.metadata.num_rows
        unpacked = sum(
            file.metadata.row_group(i).total_byte_size for i in range(file.metadata.num_row_groups)
        )
    except (pa.ArrowException, OSError, ValueError) as error:
        raise TripFileError(f"{source.name} {_DAMAGED}") from error
    if len(names) > MAX_COLUMNS:
        raise TripFileError(
            f"{source.name} has {len(names):,} columns, more than the {MAX_COLUMNS:,} that are read."
        )
    if unpacked > 4 * MAX_BYTES or rows > MAX_BYTES:
        raise TripFileError(f"{source.name} unpacks to more than is read ({rows:,} rows); split it.")

    def load(places: Sequence[int]) -> Loaded:
        try:
            table = file.read(columns=[names[place] for place in places])
            columns = [table.column(names[place]).combine_chunks() for place in places]
        except (pa.ArrowException, OSError, ValueError) as error:
            raise TripFileError(f"{source.name} {_DAMAGED}") from error
        return Loaded(columns, rows)

    try:
        first = next(file.iter_batches(batch_size=PREVIEW_ROWS), None)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise TripFileError(f"{source.name} {_DAMAGED}") from error
    shown = {} if first is None else {n: to_text(first.column(i)).to_pylist() for i, n in enumerate(names)}
    preview = pd.DataFrame(shown, columns=list(names)).fillna("").astype(str)
    return RawTable(format="Parquet", names=names, preview=preview, load=load)
