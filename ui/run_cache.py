"""A cache of runs that is bounded in bytes: the ones used longest ago go first.

A run at resolution 10 holds ten megabytes, one at resolution 6 a few kilobytes; a bound on their
number would bound nothing.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import fields, is_dataclass
from threading import Lock
from typing import Any, Generic, TypeVar

import numpy as np

_Made = TypeVar("_Made")
_SMALLEST = 1024


class RunCache(Generic[_Made]):
    """Keeps what was made, up to a number of bytes.

    Parameters
    ----------
    max_bytes
        Bytes of arrays kept at most. The newest entry stays even if it alone is larger.
    """

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self.bytes = 0
        self._entries: OrderedDict[Hashable, tuple[_Made, int]] = OrderedDict()
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._entries)

    def peek(self, key: Hashable) -> _Made | None:
        """Return the entry of a key if it is there; nothing is made."""
        with self._lock:
            if key not in self._entries:
                return None
            self._entries.move_to_end(key)
            return self._entries[key][0]

    def get(self, key: Hashable, make: Callable[[], _Made]) -> _Made:
        """Return the entry of a key, made if it is not there.

        Two threads may make the same entry at once: both get the same numbers, and waiting for
        one another could block a page for the length of a run.
        """
        with self._lock:
            if key in self._entries:
                self._entries.move_to_end(key)
                return self._entries[key][0]
        made = make()
        size = max(_SMALLEST, bytes_of(made))
        with self._lock:
            if key in self._entries:
                self.bytes -= self._entries.pop(key)[1]
            self._entries[key] = (made, size)
            self.bytes += size
            while self.bytes > self.max_bytes and len(self._entries) > 1:
                _, (_, freed) = self._entries.popitem(last=False)
                self.bytes -= freed
        return made


def bytes_of(made: Any) -> int:  # noqa: ANN401 - whatever a run is made of
    """Return the bytes of the arrays in a value, in its fields and in theirs."""
    if isinstance(made, np.ndarray):
        return int(made.nbytes)
    if isinstance(made, tuple):
        return sum(bytes_of(part) for part in made)
    if is_dataclass(made) and not isinstance(made, type):
        return sum(bytes_of(getattr(made, field.name)) for field in fields(made))
    return 0
