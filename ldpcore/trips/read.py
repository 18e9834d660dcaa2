"""Read the trip files that users bring: recognise, map, check, and account for every row."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd
import pyarrow as pa

from ldpcore.errors import ParameterError, TripFileError
from ldpcore.trips.builder import Builder
from ldpcore.trips.clock import check_timezone
from ldpcore.trips.geometry import check_crs
from ldpcore.trips.names import guess
from ldpcore.trips.readers import READERS, Readable, Source, as_source, open_raw
from ldpcore.trips.recognise import Recognised, correct, recognise
from ldpcore.trips.schemas import FIELDS, SCHEMAS, Box
from ldpcore.trips.table import Loaded, RawTable, TripTable
from ldpcore.trips.units import scale_from_text
from ldpcore.trips.zones import ZoneFileNeededError, Zones, read_zones

__all__ = [
    "ENDINGS",
    "FIELDS",
    "SCHEMAS",
    "TripTable",
    "ZoneFileNeededError",
    "Zones",
    "peek",
    "read_trips",
    "read_zones",
]

#: Ends of file names for an upload control; what a file is, its content decides.
ENDINGS = tuple(sorted({ending for reader in READERS for ending in reader.endings}))

#: What the libraries raise on files made to break them.
_LIBRARY_ERRORS = (
    *(pa.ArrowException, ValueError, TypeError, KeyError, IndexError, AttributeError, OSError),
    *(RecursionError, OverflowError, MemoryError, AssertionError),
)
Progress = Callable[[float, str], None]


def read_trips(
    source: Readable,
    *,
    name: str = "",
    mapping: Mapping[str, str] | None = None,
    timezone: str | None = None,
    homes: Sequence[Box] = (),
    zones: Zones | None = None,
    crs: str | None = None,
    progress: Progress | None = None,
) -> TripTable:
    """Read a file of trips.

    Parameters
    ----------
    source
        Path, bytes, or an open binary file. Everything stays in memory.
    name
        Label for messages; by default the last part of the path. Never used as a path.
    mapping
        Corrections: canonical column (see `FIELDS`) to column of the file; an empty name takes
        the field out.
    timezone
        IANA zone of times that carry none; by default the clock of the area.
    homes
        Boxes (west, south, east, north) in which the trips should lie, where that is known, to
        tell latitude and longitude apart.
    zones
        Where zones are, for files that name zones or stations only.
    crs
        Coordinate system of the places, such as "EPSG:25833", where they are not in degrees and
        the file does not say; or "E5", "E6" or "E7" for whole numbers of 1/100,000, 1/1,000,000 or
        1/10,000,000 of a degree.
    progress
        Called with the share done, in [0, 1], and a few words.

    Returns
    -------
    TripTable
        One row per trip, and what became of each row of the file.

    Raises
    ------
    TripFileError
        If the file cannot be used; one sentence with the reason and the remedy.
    ParameterError
        If the mapping names what does not exist, or the time zone or coordinate system is unknown.
    """
    tell = progress or (lambda _share, _words: None)
    zone = check_timezone(timezone) if timezone else None
    scale = scale_from_text(crs or "")
    system = check_crs(crs) if crs and scale is None else None
    tell(0.0, "Opening the file")
    content = as_source(source, name)
    raw = _guarded(content, lambda: open_raw(content))
    if system is not None and raw.crs is None:
        raw = replace(raw, crs=system)
    recognised = recognise(raw.names, label=content.name, given=raw.given, schema_name=raw.schema_name)
    if mapping:
        recognised = correct(recognised, raw.names, mapping)
    _require_places(recognised, raw, content.name)
    tell(0.1, "Reading the columns")
    columns, loaded = _guarded(content, lambda: _load(raw, recognised))
    if loaded.rows_read == 0:
        raise TripFileError(f"{content.name} has a header and no rows, so there is no trip in it.")
    builder = Builder(raw, recognised, columns, loaded, content.name)
    tell(0.4, "Checking the places")
    builder.places(homes, zones, scale)
    tell(0.6, "Reading the times")
    builder.times()
    tell(0.8, "Telling trips apart")
    builder.ids()
    table = builder.finish(digest=content.digest, timezone=zone)
    tell(1.0, "Done")
    return table


@dataclass(frozen=True)
class Peek:
    """A file as it lies there, before anything is read out of it.

    Attributes
    ----------
    format
        What the file is, in words.
    columns
        Its columns.
    preview
        First rows, as harmless text.
    mapping
        Canonical column to column of the file, as far as the names tell.
    """

    format: str
    columns: tuple[str, ...]
    preview: pd.DataFrame
    mapping: dict[str, str]


def peek(source: Readable, *, name: str = "") -> Peek:
    """Look at a file that `read_trips` cannot use as it is, so that the user can name its columns.

    Parameters
    ----------
    source
        Path, bytes, or an open binary file.
    name
        Label for messages.

    Raises
    ------
    TripFileError
        If it is no table at all.
    """
    content = as_source(source, name)
    raw = _guarded(content, lambda: open_raw(content))
    places = guess(raw.names, raw.given)
    return Peek(
        raw.format, raw.names, raw.preview, {field: raw.names[place] for field, place in places.items()}
    )


def _guarded(content: Source, step: Callable[[], Any]) -> Any:  # noqa: ANN401
    """Run a step that hands the file to a library; what that trips over is one sentence to the user."""
    try:
        return step()
    except (TripFileError, ParameterError):
        raise
    except _LIBRARY_ERRORS as error:
        raise TripFileError(f"{content.name} is damaged, or made in a way that cannot be read.") from error


def _require_places(recognised: Recognised, raw: RawTable, label: str) -> None:
    places = recognised.places
    pairs = [(f"{side}_lat" in places, f"{side}_lng" in places) for side in ("start", "end")]
    whole = any(all(pair) for pair in pairs) and all(all(pair) or not any(pair) for pair in pairs)
    if whole or {"geometry", "start_zone", "end_zone"} & places.keys():
        return
    shown = ", ".join(raw.names[:12]) + (", ..." if len(raw.names) > 12 else "")
    raise TripFileError(
        f"{label} has no pair of columns for latitude and longitude that can be told by their names; "
        f"it has {shown}. Name them in the mapping."
    )


def _load(raw: RawTable, recognised: Recognised) -> tuple[dict[str, Any], Loaded]:
    order = list(recognised.places.items())
    loaded = raw.load([place for _, place in order])
    columns = {canonical: column for (canonical, _), column in zip(order, loaded.columns, strict=True)}
    # The builder lets go of each column as it reads it; nothing else may hold on to it.
    return columns, replace(loaded, columns=())
