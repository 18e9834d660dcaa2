"""The bytes of a file, with a label that is never used as a path."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import BinaryIO, TypeAlias

import pandas as pd

from ldpcore.errors import TripFileError

#: Most bytes taken from a file, and most that an archive may unpack to.
MAX_BYTES = 512 * 1024 * 1024
MAX_ROWS = 20_000_000
MAX_COLUMNS = 1_000
PREVIEW_ROWS = 8
_NAME_LENGTH = 80
#: What a page could take for a link, a picture, a formula or a command, and what stands for it.
_HARMLESS = str.maketrans(
    {"<": "‹", ">": "›", "[": "(", "]": ")", "`": "'", "$": "S", "\\": "/", "\ufeff": ""}
)

Readable: TypeAlias = str | os.PathLike[str] | bytes | bytearray | memoryview | BinaryIO


@dataclass(frozen=True, eq=False)
class Source:
    """Content in memory and the label it came with.

    Attributes
    ----------
    data
        The content.
    name
        Last part of the name the user gave, for display and for its extension only.
    folders
        The parts of the name before that, as labels: GeoLife has the person there.
    """

    data: memoryview
    name: str
    folders: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """SHA-256 of the content, hexadecimal."""
        return hashlib.sha256(self.data).hexdigest()

    def head(self, size: int = 4096) -> bytes:
        """Return the first bytes."""
        return bytes(self.data[:size])


def plain_name(name: str) -> str:
    """Keep the last part of a name, printable characters only, so that it can do no harm on a page."""
    last = name.replace("\\", "/").rsplit("/", 1)[-1]
    return "".join(c for c in last if c.isprintable() and c not in "<>&\"'`[]$")[:120]


def folder_names(name: str) -> tuple[str, ...]:
    """Return the parts of a name before the last one, as labels."""
    return tuple(
        plain_name(part) for part in name.replace("\\", "/").split("/")[:-1] if part not in {"", ".", ".."}
    )


def harmless(text: str, limit: int = _NAME_LENGTH) -> str:
    """Make text from a file safe to show on a page, in a table or in a spreadsheet.

    >>> harmless("=1+1"), harmless("<b>[x](y)"), harmless("-73.9")
    ("'=1+1", '‹b›(x)(y)', '-73.9')
    """
    plain = "".join(c if c.isprintable() else " " for c in text[: 4 * limit].translate(_HARMLESS)).strip()
    plain = plain if len(plain) <= limit else plain[: limit - 1] + "…"
    if plain[:1] in {"=", "@", "+", "-"}:
        try:
            float(plain)
        except ValueError:
            return "'" + plain
    return plain


def unique_names(header: Iterable[object]) -> tuple[str, ...]:
    """Make column names harmless and unique: a repeat gets its number, a nameless one its place."""
    names: list[str] = []
    seen: set[str] = set()
    for place, raw in enumerate(header):
        name = harmless(" ".join(str(raw).split())) or f"column {place + 1}"
        spelled, number = name, 1
        while spelled in seen:
            number += 1
            spelled = f"{name} ({number})"
        seen.add(spelled)
        names.append(spelled)
    return tuple(names)


def preview_of(names: Sequence[str], rows: Iterable[Sequence[object]]) -> pd.DataFrame:
    """Make the table of first rows, as harmless text."""
    shown = [[harmless("" if v is None else str(v)) for v in row] for row in islice(rows, PREVIEW_ROWS)]
    return pd.DataFrame(shown, columns=list(names), dtype=str)


def as_source(source: Readable, name: str = "") -> Source:
    """Take a path, bytes or an open binary file into memory.

    Parameters
    ----------
    source
        Path of a file, its bytes, or an object with `read` (an upload).
    name
        Label of the file; by default the last part of the path.

    Raises
    ------
    TripFileError
        If there is no such file, or it is empty or larger than `MAX_BYTES`.
    """
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        label = name or path.name
        try:
            if path.is_dir():
                raise TripFileError(f"{plain_name(label)} is a folder; name one file.")
            size = path.stat().st_size
            if size > MAX_BYTES:
                raise _too_large(label, size)
            data: bytes | bytearray | memoryview = path.read_bytes()
        except OSError as error:
            reason = "there is no such file" if isinstance(error, FileNotFoundError) else str(error.strerror)
            raise TripFileError(f"{plain_name(label)} cannot be opened: {reason}.") from error
        except ValueError as error:
            if isinstance(error, TripFileError):
                raise
            raise TripFileError("The name of the trip file is not a valid path.") from error
    elif isinstance(source, bytes | bytearray | memoryview):
        data, label = source, name
    else:
        # An upload lies in memory already; its `getvalue` hands it over without a copy.
        whole = getattr(source, "getvalue", source.read)
        data, label = whole(), name or str(getattr(source, "name", ""))
    view = memoryview(data).cast("B") if len(data) else memoryview(b"")
    folders = folder_names(str(source) if isinstance(source, str | os.PathLike) else label)
    label = plain_name(label) or "The file"
    if len(view) > MAX_BYTES:
        raise _too_large(label, len(view))
    if not len(view):
        raise TripFileError(f"{label} is empty.")
    return Source(view, label, folders)


def _too_large(label: str, size: int) -> TripFileError:
    return TripFileError(
        f"{plain_name(label)} has {size / 2**20:,.0f} MB, more than the {MAX_BYTES // 2**20} MB that are "
        "read; split it, for example by month."
    )
