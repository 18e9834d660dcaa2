"""What a page shows of a trip file: the account of every row, the mapping, some of the points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from ldpcore.trips.quality import MENDED
from ldpcore.trips.schemas import FIELDS
from ldpcore.trips.table import REASON_CODES, REASONS, TripTable, count_reasons
from ldpcore.trips.values import TableValues


@dataclass(frozen=True)
class Choice:
    """One control of the mapping.

    Attributes
    ----------
    field, label
        Canonical column and its words.
    column
        Column of the file that is taken now, "" for none.
    options
        What can be chosen: "" and every column of the file.
    """

    field: str
    label: str
    column: str
    options: tuple[str, ...]


def mapping_choices(columns: Sequence[str], mapping: dict[str, str]) -> list[Choice]:
    """List the controls of the mapping, what is taken first.

    Parameters
    ----------
    columns
        Columns of the file.
    mapping
        Canonical column to column of the file, as in `TripTable`.
    """
    options = ("", *columns)
    choices = [Choice(field, label, mapping.get(field, ""), options) for field, label in FIELDS.items()]
    return sorted(choices, key=lambda choice: not choice.column)


def account(table: TripTable, values: TableValues | None = None) -> pd.DataFrame:
    """Count what became of the rows.

    Parameters
    ----------
    table
        Trips of a file.
    values
        Answer to a question; without it only the reading is accounted for.

    Returns
    -------
    Columns `what` ("used", "dropped" or "mended"), `reason`, `meaning` and `rows`. Rows used and
    dropped add up to the rows read; mended rows are counted again.
    """
    codes = table.row_codes if values is None else values.row_codes
    dropped = count_reasons(codes)
    mended = table.mended if values is None else values.mended
    lines = [("used", "used", REASONS["used"], table.rows_read - sum(dropped.values()))]
    lines += [("dropped", reason, REASONS[reason], count) for reason, count in dropped.items()]
    lines += [("mended", reason, MENDED.get(reason, reason), count) for reason, count in mended.items()]
    return pd.DataFrame(lines, columns=["what", "reason", "meaning", "rows"])


def rows_not_used(table: TripTable, values: TableValues | None = None) -> pd.DataFrame:
    """List every row that was not used with its reason, for download.

    Returns
    -------
    Columns `row` (counted from 1 after the header), `reason` and `meaning`. Nothing that the file
    itself says is repeated, so nothing in it can act in a spreadsheet.
    """
    codes = table.row_codes if values is None else values.row_codes
    rows = np.flatnonzero(codes)
    names = np.array(list(REASONS), dtype=object)
    words = np.array(list(REASONS.values()), dtype=object)
    return pd.DataFrame({"row": rows + 1, "reason": names[codes[rows]], "meaning": words[codes[rows]]})


def some_points(table: TripTable, *, most: int = 5_000, seed: int = 1) -> pd.DataFrame:
    """Draw some of the usable places for a small map.

    Parameters
    ----------
    table
        Trips.
    most
        Places at most.
    seed
        Seed of the draw.

    Returns
    -------
    Columns `lat`, `lng` (degrees) and `side` ("start" or "end").
    """
    parts = []
    for side, problem in (("start", table.start_problem), ("end", table.end_problem)):
        if problem is not None:
            part = table.frame.loc[problem == 0, [f"{side}_lat", f"{side}_lng"]]
            parts.append(part.set_axis(["lat", "lng"], axis=1).assign(side=side))
    points: pd.DataFrame = pd.concat(parts, ignore_index=True)
    if len(points) <= most:
        return points
    rows = np.random.default_rng(seed).choice(len(points), most, replace=False)
    some: pd.DataFrame = points.iloc[np.sort(rows)].reset_index(drop=True)
    return some


def sample_trips(table: TripTable, *, most: int, seed: int = 1) -> TripTable:
    """Keep a random part of a large file; the rest is counted as left out by the sampling.

    Persons are drawn whole, so that each keeps all of its trips.

    Parameters
    ----------
    table
        Trips.
    most
        About how many trips to keep; a table with no more is returned as it is.
    seed
        Seed of the draw.
    """
    size = len(table.frame)
    if size <= most:
        return table
    rng = np.random.default_rng(seed)
    if "device" in table.frame:
        person, people = pd.factorize(table.frame["device"], use_na_sentinel=False)
        keep = (rng.random(len(people)) < most / size)[person]
    else:
        keep = np.zeros(size, dtype=np.bool_)
        keep[rng.choice(size, most, replace=False)] = True
    numbers = np.asarray(table.frame.index, dtype=np.int64)
    row_codes = table.row_codes.copy()
    row_codes[numbers[~keep]] = REASON_CODES["not_sampled"]
    kept = int(np.count_nonzero(keep))
    note = f"A random {kept:,} of {size:,} trips ({kept / size:.1%}) are used, the same for the same seed."
    return replace(
        table,
        frame=table.frame[keep],
        start_problem=table.start_problem[keep],
        end_problem=None if table.end_problem is None else table.end_problem[keep],
        start_utc=None if table.start_utc is None else table.start_utc[keep],
        end_utc=None if table.end_utc is None else table.end_utc[keep],
        row_codes=row_codes,
        dropped=count_reasons(row_codes),
        notes=[*table.notes, note],
    )
