"""Text to numbers and times, column by column, so that one odd value costs one row and not the file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ldpcore.shapes import BoolArray, FloatArray

#: How files write "nothing here".
MISSING_WORDS = ("", "na", "n/a", "nan", "nat", "null", "none", "nil", "-", "--", "\\n", "#n/a")
_NUMBER = r"^-?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"
_ISO = r"^\d{4}-\d{2}-\d{2}([ T]\d{2}:\d{2}(:\d{2}([.,]\d+)?)?( ?(Z|z|UTC|[+-]\d{2}(:?\d{2})?))?)?$"
_ZONE = r" ?(Z|z|UTC|[+-]\d{2}(:?\d{2})?)$"
#: Tried in this order on what is not ISO 8601; the dates with a slash or a dot are read in one
#: order for the whole column (see `_date_order`).
_CLOCKS = ("%H:%M:%S", "%H:%M", "%I:%M:%S %p", "%I:%M %p", "")
#: Forms of a date, and where the day stands in each.
_DATES = {
    "%m/%d/%Y": r"^\d+/(?P<day>\d{1,2})/",
    "%d/%m/%Y": r"^(?P<day>\d{1,2})/",
    "%Y/%m/%d": r"^\d+/\d+/(?P<day>\d{1,2})",
    "%Y-%m-%d": r"^\d+-\d+-(?P<day>\d{1,2})",
    "%Y%m%d": r"^\d{6}(?P<day>\d{2})",
}
_PLAIN_DATES = ("%Y/%m/%d", "%Y-%m-%d", "%Y%m%d")
_EPOCH_UNITS = ((1e8, 1e10, 1_000_000.0), (1e11, 1e13, 1_000.0), (1e14, 1e16, 1.0), (1e17, 1e19, 0.001))


@dataclass(frozen=True)
class Numbers:
    """A column as numbers: (n,) float64 with NaN where absent or unreadable, and which it was."""

    value: FloatArray
    missing: BoolArray
    unreadable: BoolArray


@dataclass(frozen=True)
class Times:
    """A column as times.

    Attributes
    ----------
    value
        (n,) datetime64[us] without zone, NaT where absent or unreadable.
    utc
        (n,) bool, True where the text carried a zone (or was a Unix time) and the value is UTC.
    unreadable
        (n,) bool, True where there was text but no time in it.
    notes
        Sentences, for example on an order of day and month that had to be guessed.
    """

    value: np.ndarray[Any, np.dtype[np.datetime64]]
    utc: BoolArray
    unreadable: BoolArray
    notes: tuple[str, ...] = ()


def one_array(column: Any) -> Any:  # noqa: ANN401 - pyarrow has no types of its own here
    """Return a chunked column as one contiguous array, dictionaries decoded."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    return column


def is_text(column: Any) -> bool:  # noqa: ANN401
    """Whether a pyarrow column holds strings."""
    return bool(pa.types.is_string(column.type) or pa.types.is_large_string(column.type))


def _to_mask(array: Any) -> BoolArray:  # noqa: ANN401
    return np.asarray(pc.fill_null(array, fill_value=False).to_numpy(zero_copy_only=False), dtype=np.bool_)


def clean_text(column: Any) -> Any:  # noqa: ANN401
    """Trim a text column and make every word for "nothing" a null."""
    text = pc.utf8_trim_whitespace(column)
    nothing = pc.is_in(pc.utf8_lower(text), value_set=pa.array(MISSING_WORDS, type=text.type))
    return pc.if_else(nothing, pa.scalar(None, type=text.type), text)


def to_text(column: Any) -> Any:  # noqa: ANN401
    """Return any column as text, for ids and previews."""
    column = one_array(column)
    if is_text(column):
        return column
    if pa.types.is_floating(column.type):
        # Ids that pandas once widened to floats: 141.0 is zone 141.
        value = column.to_numpy(zero_copy_only=False)
        finite = value[np.isfinite(value)]
        if finite.size and np.all(finite == np.floor(finite)) and np.all(np.abs(finite) < 2**53):
            column = pc.cast(column, pa.int64(), safe=False)
    try:
        return pc.cast(column, pa.string())
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        return pa.array([None if v is None else str(v) for v in column.to_pylist()], type=pa.string())


def to_numbers(column: Any, *, decimal_comma: bool = False) -> Numbers:  # noqa: ANN401
    """Read a column as numbers.

    Parameters
    ----------
    column
        pyarrow array, of text or of numbers.
    decimal_comma
        Whether a comma may stand for the decimal point.
    """
    column = one_array(column)
    if pa.types.is_null(column.type):
        everything = np.ones(len(column), dtype=np.bool_)
        return Numbers(np.full(len(column), np.nan), everything, ~everything)
    if not is_text(column):
        return _typed_numbers(column)
    try:  # the plain case: every text is a number already
        value = np.array(pc.cast(column, pa.float64()).to_numpy(zero_copy_only=False), dtype=np.float64)
        missing = _to_mask(column.is_null()) | np.isnan(value)
        unreadable = np.isinf(value)
    except pa.ArrowInvalid:
        text = clean_text(column)
        if decimal_comma:
            text = pc.replace_substring(text, pattern=",", replacement=".")
        text = pc.replace_substring_regex(text, pattern=r"^\+", replacement="")
        missing = _to_mask(text.is_null())
        good = pc.match_substring_regex(text, pattern=_NUMBER)
        unreadable = ~_to_mask(good) & ~missing
        readable = pc.if_else(good, text, pa.scalar(None, type=text.type))
        value = np.array(pc.cast(readable, pa.float64()).to_numpy(zero_copy_only=False), dtype=np.float64)
        unreadable |= np.isinf(value)
    value[missing | unreadable] = np.nan
    return Numbers(value, missing, unreadable)


def _typed_numbers(column: Any) -> Numbers:  # noqa: ANN401
    length = len(column)
    missing = _to_mask(column.is_null())
    try:
        if pa.types.is_boolean(column.type) or pa.types.is_temporal(column.type):
            raise pa.ArrowInvalid("truth values and times are no numbers")  # noqa: TRY301
        number = pc.cast(column, pa.float64(), safe=False)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return Numbers(np.full(length, np.nan), missing, ~missing)
    value = np.array(number.to_numpy(zero_copy_only=False), dtype=np.float64)
    missing |= np.isnan(value)
    unreadable = np.isinf(value)
    value[unreadable] = np.nan
    return Numbers(value, missing, unreadable)


def to_times(column: Any, *, epoch_is_local: bool = False) -> Times:  # noqa: ANN401
    """Read a column as times, each value by itself, so that formats may be mixed.

    Parameters
    ----------
    column
        pyarrow array of text, numbers (Unix time in s, ms, µs or ns) or timestamps.
    epoch_is_local
        Whether a Unix time is the local clock written as if it were UTC (Chicago does so).
    """
    column = one_array(column)
    length = len(column)
    if pa.types.is_null(column.type):
        return Times(
            np.full(length, np.datetime64("NaT"), dtype="datetime64[us]"),
            np.zeros(length, dtype=np.bool_),
            np.zeros(length, dtype=np.bool_),
        )
    if pa.types.is_timestamp(column.type) or pa.types.is_date(column.type):
        aware = bool(getattr(column.type, "tz", None))
        plain = pc.cast(column, pa.timestamp("us", "UTC" if aware else None), safe=False)
        value = _as_times(plain)
        return Times(value, np.full(length, aware), np.zeros(length, dtype=np.bool_))
    if not is_text(column):
        numbers = to_numbers(column)
        value, good = _epochs(numbers.value)
        return Times(value, good & (not epoch_is_local), ~good & ~numbers.missing)
    for aware in (True, False):  # the plain case: one ISO form throughout
        try:
            stamps = pc.cast(column, pa.timestamp("us", "UTC" if aware else None))
        except pa.ArrowInvalid:
            continue
        value = _as_times(stamps)
        return Times(value, np.full(length, aware), np.zeros(length, dtype=np.bool_))
    return _mixed_times(column, epoch_is_local=epoch_is_local)


def _epochs(value: FloatArray) -> tuple[np.ndarray[Any, np.dtype[np.datetime64]], BoolArray]:
    stamp = np.full(value.shape, np.iinfo(np.int64).min, dtype=np.int64)
    good = np.zeros(value.shape, dtype=np.bool_)
    size = np.abs(value)
    for low, high, factor in _EPOCH_UNITS:
        inside = (size >= low) & (size < high)
        stamp[inside] = np.round(value[inside] * factor).astype(np.int64)
        good |= inside
    return stamp.astype("datetime64[us]"), good


def _mixed_times(column: Any, *, epoch_is_local: bool) -> Times:  # noqa: ANN401
    text = clean_text(column)
    length = len(text)
    present = ~_to_mask(text.is_null())
    value = np.full(length, np.datetime64("NaT"), dtype="datetime64[us]")
    utc = np.zeros(length, dtype=np.bool_)

    iso = _to_mask(pc.match_substring_regex(text, pattern=_ISO))
    if iso.any():
        chosen = text.filter(pa.array(iso))
        aware = _to_mask(pc.match_substring_regex(chosen, pattern=r"\d{2}:\d{2}.*" + _ZONE))
        value[iso] = _iso_times(chosen, aware)
        utc[iso] = aware
    rest = present & ~iso
    if rest.any():
        chosen = text.filter(pa.array(rest))
        numeric = pc.match_substring_regex(chosen, pattern=_NUMBER)
        numbers = pc.cast(pc.if_else(numeric, chosen, pa.scalar(None, type=chosen.type)), pa.float64())
        stamps, good = _epochs(np.array(numbers.to_numpy(zero_copy_only=False), dtype=np.float64))
        value[rest] = stamps
        utc[rest] = good & (not epoch_is_local)
    rest = present & np.isnat(value)
    if rest.any():
        value[rest] = _words_times(text.filter(pa.array(rest)))
        utc[rest] = True
    notes: tuple[str, ...] = ()
    rest = present & np.isnat(value)
    utc[rest] = False
    if rest.any():
        value[rest], notes = _written_times(text.filter(pa.array(rest)))
    unreadable = present & np.isnat(value)
    utc &= ~np.isnat(value)
    return Times(value, utc, unreadable, notes)


def _iso_times(text: Any, aware: BoolArray) -> np.ndarray[Any, np.dtype[np.datetime64]]:  # noqa: ANN401
    out = np.full(len(text), np.datetime64("NaT"), dtype="datetime64[us]")
    for with_zone in (True, False):
        mask = aware if with_zone else ~aware
        if not mask.any():
            continue
        part = text.filter(pa.array(mask))
        offset = None
        if with_zone:
            zone = pc.struct_field(
                pc.extract_regex(part, pattern=r"(?P<zone>(?:Z|z|UTC|[+-]\d{2}(?::?\d{2})?)$)"), 0
            )
            offset = _offset_minutes(zone)
            part = pc.replace_substring_regex(part, pattern=_ZONE, replacement="")
        # Six digits of a second are kept; some feeds write seven or nine.
        part = pc.utf8_slice_codeunits(pc.replace_substring(part, pattern=",", replacement="."), 0, 26)
        stamps = _cast_each(part)
        if offset is not None:
            stamps = stamps - offset.astype("timedelta64[m]")
        out[mask] = stamps
    return out


def _as_times(stamps: Any) -> np.ndarray[Any, np.dtype[np.datetime64]]:  # noqa: ANN401
    return np.asarray(stamps.to_numpy(zero_copy_only=False), dtype="datetime64[us]")


def _cast_each(text: Any) -> np.ndarray[Any, np.dtype[np.datetime64]]:  # noqa: ANN401
    """Cast ISO text to times, with NaT for what looks like a date but is none, such as 2024-02-31."""
    try:
        return _as_times(pc.cast(text, pa.timestamp("us")))
    except pa.ArrowInvalid:
        distinct = pc.dictionary_encode(text)
        table = np.full(len(distinct.dictionary), np.datetime64("NaT"), dtype="datetime64[us]")
        for place, word in enumerate(distinct.dictionary.to_pylist()):
            try:
                table[place] = np.datetime64(word.replace(" ", "T"), "us")
            except ValueError:
                continue
        return np.asarray(table[distinct.indices.to_numpy(zero_copy_only=False)])


def _offset_minutes(zone: Any) -> np.ndarray[Any, np.dtype[np.int64]]:  # noqa: ANN401
    coded = pc.dictionary_encode(zone)
    minutes = []
    for word in coded.dictionary.to_pylist():
        digits = "".join(c for c in word if c.isdigit())
        total = int(digits[:2]) * 60 + int(digits[2:4] or 0) if digits else 0
        minutes.append(-total if word.startswith("-") else total)
    return np.asarray(np.array(minutes, dtype=np.int64)[coded.indices.to_numpy(zero_copy_only=False)])


def _date_order(text: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:  # noqa: ANN401
    """Decide once for a column whether 03/04 is the third of April or the fourth of March."""
    parts = pc.extract_regex(text, pattern=r"^(?P<a>\d{1,2})[/.-](?P<b>\d{1,2})[/.-](?P<y>\d{2,4})")
    first, second = (pc.cast(pc.struct_field(parts, i), pa.int64()) for i in (0, 1))
    day_first = bool(pc.any(pc.greater(first, 12)).as_py())
    month_first = bool(pc.any(pc.greater(second, 12)).as_py())
    months, days = ("%m/%d/%Y",), ("%d/%m/%Y",)
    if day_first and not month_first:
        return days, ()
    if month_first and not day_first:
        return months, ()
    if pc.any(first.is_valid()).as_py():
        return months, (
            "Dates such as 03/04/2024 were read with the month first, which nothing here settles.",
        )
    return months, ()


def _written_times(text: Any) -> tuple[np.ndarray[Any, np.dtype[np.datetime64]], tuple[str, ...]]:  # noqa: ANN401
    orders, notes = _date_order(text)
    plain = pc.replace_substring_regex(
        text, pattern=r"^(\d{1,2})[.-](\d{1,2})[.-](\d{2,4})", replacement=r"\1/\2/\3"
    )
    # A year of two digits would be read as one of the first century.
    plain = pc.replace_substring_regex(plain, pattern=r"^(\d+/\d+/)(\d{2})($|\D)", replacement=r"\120\2\3")
    plain = pc.replace_substring_regex(plain, pattern=r"(:\d{2})[.]\d+", replacement=r"\1")
    plain = pc.replace_substring_regex(plain, pattern=r",? +", replacement=" ")
    value = np.full(len(text), np.datetime64("NaT"), dtype="datetime64[us]")
    for date in (*orders, *_PLAIN_DATES):
        for clock in _CLOCKS:
            left = np.isnat(value)
            if not left.any():
                return value, notes
            value[left] = _parsed(plain.filter(pa.array(left)), date, clock)
    return value, notes


def _parsed(text: Any, date: str, clock: str) -> np.ndarray[Any, np.dtype[np.datetime64]]:  # noqa: ANN401
    """Read one form, with NaT where the day does not exist: the library takes 31 February for 2 March."""
    stamps = pc.strptime(text, format=f"{date} {clock}".strip(), unit="us", error_is_null=True)
    written = pc.struct_field(pc.extract_regex(text, pattern=_DATES[date]), 0)
    real = pc.equal(pc.day(stamps), pc.cast(written, pa.int64()))
    return _as_times(
        pc.if_else(pc.fill_null(real, fill_value=False), stamps, pa.scalar(None, type=stamps.type))
    )


def _words_times(text: Any) -> np.ndarray[Any, np.dtype[np.datetime64]]:  # noqa: ANN401
    """Read "Tue Apr 03 18:00:09 +0000 2012", which is UTC."""
    short = pc.replace_substring_regex(
        text, pattern=r"^\w{3} (\w{3} \d{2} \d{2}:\d{2}:\d{2}) [+]0000 (\d{4})$", replacement=r"\1 \2"
    )
    return _as_times(pc.strptime(short, format="%b %d %H:%M:%S %Y", unit="us", error_is_null=True))
