"""A disk that can be stopped before, after, or in the middle of any single operation.

It stands in for the functions of `os` that `ldpcore.device.store` uses, and keeps two pictures: what running
programs see, and what would be there after the power was cut. A file's bytes reach the second picture when
the file is flushed, a new name when its folder is.
"""

from __future__ import annotations

import os
from types import SimpleNamespace


class KilledError(BaseException):
    """The process died; no handler of an ordinary error may catch this."""


class _File:
    def __init__(self) -> None:
        self.seen = b""
        self.flushed = b""


class Disk:
    """Files by name. `stop` is the number of the operation that is not survived; 0 for none."""

    O_RDONLY, O_WRONLY, O_RDWR = os.O_RDONLY, os.O_WRONLY, os.O_RDWR
    O_CREAT, O_TRUNC = os.O_CREAT, os.O_TRUNC
    fspath = staticmethod(os.fspath)
    path = SimpleNamespace(dirname=os.path.dirname)

    def __init__(self) -> None:
        self.names: dict[str, _File] = {}
        self.lasting: dict[str, _File] = {}
        self.handles: dict[int, list] = {}
        self.operations = 0
        self.opened = 0
        self.stop = 0
        self.middle = False
        self.error: OSError | None = None

    # -- what a test does ------------------------------------------------------------------------

    def tick(self) -> bool:
        """Count an operation; tell whether this one stops in its middle."""
        self.operations += 1
        if self.operations != self.stop:
            return False
        if self.middle:
            return True
        self.end()
        return False

    def restart(self, *, power_cut: bool, lost_bytes: bool = False, lost_names: bool = False) -> None:
        """Begin again after a kill, or after a power cut with what that may lose.

        A power cut keeps unflushed bytes or loses them, and keeps unflushed names or loses them, each by
        itself: no order is promised between the two.
        """
        self.handles.clear()
        self.stop = 0
        if not power_cut:
            return
        if lost_names:
            self.names = dict(self.lasting)
        if lost_bytes:
            for file in self.names.values():
                file.seen = file.flushed
        self.lasting = dict(self.names)
        for file in self.names.values():
            file.flushed = file.seen

    def end(self) -> None:
        if self.error is not None:
            raise self.error
        raise KilledError

    # -- what the store does -----------------------------------------------------------------------

    def open(self, path: str, flags: int, mode: int = 0) -> int:
        assert mode in {0, 0o600}
        stops = self.tick()
        if path not in self.names and path.endswith(("store", "keys", ".new", ".lock")):
            if not flags & os.O_CREAT:
                if stops:
                    self.end()
                raise FileNotFoundError(path)
            self.names[path] = _File()
        if flags & os.O_TRUNC:
            self.names[path].seen = b""
        self.opened += 1
        number = 1000 + self.opened
        self.handles[number] = [path, self.names.get(path), 0]
        if stops:
            self.end()
        return number

    def read(self, handle: int, size: int) -> bytes:
        stops = self.tick()
        _, file, place = self.handles[handle]
        part = file.seen[place : place + size]
        self.handles[handle][2] += len(part)
        if stops:
            self.end()
        return part

    def write(self, handle: int, data: memoryview) -> int:
        stops = self.tick()
        file = self.handles[handle][1]
        # A write may take a part only, and does here: the caller has to come back with the rest.
        taken = min(len(data), 3000) // (2 if stops else 1)
        file.seen += bytes(data[:taken])
        if stops:
            self.end()
        return taken

    def fsync(self, handle: int) -> None:
        stops = self.tick()
        path, file, _ = self.handles[handle]
        if file is None:
            self.lasting = {name: kept for name, kept in self.names.items() if name.startswith(path)}
        else:
            file.flushed = file.seen
        if stops:
            self.end()

    def replace(self, source: str, target: str) -> None:
        stops = self.tick()
        self.names[target] = self.names.pop(source)
        if stops:
            self.end()

    def close(self, handle: int) -> None:
        # Also reached while an error is on its way out; a dead process has no handles.
        self.handles.pop(handle, None)
