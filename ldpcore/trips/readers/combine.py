"""Several raw tables as one, and columns that are the same in every row."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from ldpcore.trips.convert import one_array, to_text
from ldpcore.trips.table import Loaded, RawTable


def with_constants(raw: RawTable, constants: Mapping[str, str]) -> RawTable:
    """Add columns that hold one word in every row; an empty word is nothing."""
    width = len(raw.names)
    words = list(constants.values())

    def load(places: Sequence[int]) -> Loaded:
        # Without a column of its own the length of the table would be unknown.
        inner = [place for place in places if place < width] or [0]
        loaded = raw.load(inner)
        columns = dict(zip(inner, loaded.columns, strict=True))
        length = len(loaded.columns[0])
        out = [
            columns[place]
            if place < width
            else pa.array([words[place - width] or None], type=pa.string()).take(
                pa.array(np.zeros(length, dtype=np.int64))
            )
            for place in places
        ]
        return replace(loaded, columns=out)

    preview = raw.preview.assign(**dict(constants))
    return replace(raw, names=(*raw.names, *constants), preview=preview, load=load)


def stacked(tables: Sequence[RawTable]) -> RawTable:
    """Put tables with the same columns one below the other."""
    if len(tables) == 1:
        return tables[0]

    def load(places: Sequence[int]) -> Loaded:
        parts = [table.load(places) for table in tables]
        starts = np.concatenate([[0], np.cumsum([part.rows_read for part in parts])]).astype(np.int64)
        numbers = [
            start + (np.arange(len(part.columns[0])) if part.row_numbers is None else part.row_numbers)
            for start, part in zip(starts, parts, strict=False)
        ]
        mended: dict[str, int] = {}
        for part in parts:
            for reason, count in part.mended.items():
                mended[reason] = mended.get(reason, 0) + count
        return Loaded(
            [_joined([part.columns[i] for part in parts]) for i in range(len(places))],
            int(starts[-1]),
            row_numbers=np.concatenate(numbers).astype(np.int64),
            dropped={
                int(start) + row: why
                for start, p in zip(starts, parts, strict=False)
                for row, why in p.dropped.items()
            },
            mended=mended,
            notes=list(dict.fromkeys(note for part in parts for note in part.notes)),
        )

    note = f"{len(tables):,} files of the archive were read as one table."
    return replace(tables[0], load=load, notes=(*tables[0].notes, note))


def _joined(columns: Sequence[object]) -> object:
    arrays = [one_array(column) for column in columns]
    if len({str(array.type) for array in arrays}) > 1:
        arrays = [to_text(array) for array in arrays]
    return pa.concat_arrays(arrays)


def same_columns(tables: Sequence[RawTable], size: Callable[[int], int]) -> tuple[list[int], list[int]]:
    """Part tables into the largest group with the same columns, and the rest; places in the list."""
    groups: dict[tuple[str, ...], list[int]] = {}
    for place, table in enumerate(tables):
        groups.setdefault((*table.names, table.format), []).append(place)
    best = max(groups.values(), key=lambda places: sum(size(place) for place in places))
    return best, [place for place in range(len(tables)) if place not in best]
