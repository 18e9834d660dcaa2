"""Times of trips on the clock of an area."""

from __future__ import annotations

from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np
import pandas as pd

from ldpcore.errors import ParameterError
from ldpcore.shapes import BoolArray, IntArray

TimeArray = np.ndarray[Any, np.dtype[np.datetime64]]

MICROSECONDS_A_DAY = 86_400_000_000
_THURSDAY = 3  # 1970-01-01, day 0 of numpy, with Monday as 0


def check_timezone(name: str) -> str:
    """Return the name of an IANA time zone if it exists.

    Raises
    ------
    ParameterError
        If it does not.
    """
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ParameterError(
            "timezone", f"There is no time zone {name!r}; write it like Europe/Oslo or America/New_York."
        ) from error
    return name


def to_local(value: TimeArray, utc: BoolArray, *, timezone: str, written_in: str | None = None) -> TimeArray:
    """Bring times to the clock of an area.

    Parameters
    ----------
    value
        (n,) datetime64, in UTC where `utc`, else as written in the file.
    utc
        (n,) bool.
    timezone
        IANA zone of the area.
    written_in
        Zone of the times without one; None means they are on the area's clock already.

    Returns
    -------
    (n,) datetime64[us], local, without zone.
    """
    out = value.astype("datetime64[us]", copy=True)
    naive = ~utc
    if utc.any() and timezone != "UTC":
        out[utc] = _shift(pd.DatetimeIndex(value[utc]).tz_localize("UTC"), timezone)
    if written_in is not None and written_in != timezone and naive.any():
        # In the hour that is repeated in autumn the first reading is taken; in the one left out
        # in spring the next moment that exists.
        index = pd.DatetimeIndex(value[naive])
        placed = index.tz_localize(
            written_in, ambiguous=np.ones(len(index), dtype=np.bool_), nonexistent="shift_forward"
        )
        out[naive] = _shift(placed, timezone)
    return out


def _shift(index: pd.DatetimeIndex, timezone: str) -> TimeArray:
    return index.tz_convert(timezone).tz_localize(None).to_numpy().astype("datetime64[us]")


def day_number(value: TimeArray) -> IntArray:
    """Days since 1970-01-01 of local times, (n,) int64; meaningless where NaT."""
    return value.astype("datetime64[D]").astype(np.int64)


def hour_of_day(value: TimeArray) -> IntArray:
    """Hour of local times, (n,) int64 in [0, 24), -1 where NaT."""
    hours = value.astype("datetime64[h]").astype(np.int64) % 24
    return np.where(np.isnat(value), -1, hours)


def is_weekend(days: IntArray) -> BoolArray:
    """Whether days since 1970-01-01 are Saturdays or Sundays."""
    return np.asarray((days + _THURSDAY) % 7 >= 5, dtype=np.bool_)
