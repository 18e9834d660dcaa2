"""Write synthetic trips to a file, block by block, so that memory stays bounded."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pandas as pd

from ldpcore.errors import ParameterError
from ldpcore.trips.generate import trip_blocks

if TYPE_CHECKING:
    from ldpcore.settings import Scenario

COLUMNS: Final = {
    "device": "uid",
    "trip": "trip_id",
    "start_time": "started_at",
    "end_time": "ended_at",
    "start_lat": "start_lat",
    "start_lng": "start_lng",
    "end_lat": "end_lat",
    "end_lng": "end_lng",
    "length_m": "length_m",
}
"""Canonical columns and their names in the file, which the reader recognises."""


def write_trips(path: Path, scenario: Scenario, *, progress: Callable[[str], None]) -> int:
    """Write the trips of a synthetic scenario.

    Parameters
    ----------
    path
        File to write; the ending says the format, ``.csv`` or ``.parquet``.
    scenario
        City, devices, seed and day.
    progress
        Called with a sentence after each block.

    Returns
    -------
    Rows written: one per trip.

    Raises
    ------
    ParameterError
        If the ending is neither, or the folder doesn't exist.
    """
    writers = {".csv": _write_csv, ".parquet": _write_parquet}
    if path.suffix.lower() not in writers:
        raise ParameterError(
            "out", f"--out must end in .csv or .parquet, got {path.name!r}; try trips.parquet."
        )
    if not path.parent.is_dir():
        raise ParameterError(
            "out", f"The folder {str(path.parent)!r} of --out does not exist; create it first."
        )
    return writers[path.suffix.lower()](path, _blocks(scenario, progress))


def _blocks(scenario: Scenario, progress: Callable[[str], None]) -> Iterator[pd.DataFrame]:
    written = 0
    assert scenario.city is not None  # noqa: S101 - a synthetic scenario was validated to have one
    for block in trip_blocks(
        scenario.city, devices=scenario.devices, seed=scenario.seed, day=scenario.day or "weekday"
    ):
        yield block[list(COLUMNS)].rename(columns=COLUMNS)
        written += len(block)
        progress(f"{written} trips written")


def _write_csv(path: Path, blocks: Iterator[pd.DataFrame]) -> int:
    rows = 0
    with path.open("w", encoding="utf-8", newline="") as file:
        for block in blocks:
            block.to_csv(file, index=False, header=rows == 0, lineterminator="\n")
            rows += len(block)
    return rows


def _write_parquet(path: Path, blocks: Iterator[pd.DataFrame]) -> int:
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows, writer = 0, None
    try:
        for block in blocks:
            table = pa.Table.from_pandas(block, preserve_index=False)
            if writer is None:
                writer = pq.ParquetWriter(path, table.schema)
            writer.write_table(table)
            rows += len(block)
    finally:
        if writer is not None:
            writer.close()
    return rows
