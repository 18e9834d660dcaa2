"""The bytes of a file, with a label that is never used as a path."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, TypeAlias

from ldpcore.errors import TripFileError

#: Most bytes taken from a file, and most that an archive may unpack to.
MAX_BYTES = 512 * 1024 * 1024

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
    """

    data: memoryview
    name: str

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
    return "".join(c for c in last if c.isprintable() and c not in "<>&\"'`")[:120]


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
        data, label = source.read(), name or str(getattr(source, "name", ""))
    view = memoryview(data).cast("B") if len(data) else memoryview(b"")
    label = plain_name(label) or "The file"
    if len(view) > MAX_BYTES:
        raise _too_large(label, len(view))
    if not len(view):
        raise TripFileError(f"{label} is empty.")
    return Source(view, label)


def _too_large(label: str, size: int) -> TripFileError:
    return TripFileError(
        f"{plain_name(label)} has {size / 2**20:,.0f} MB, more than the {MAX_BYTES // 2**20} MB that are "
        "read; split it, for example by month."
    )
