"""Where a ledger is kept: one sealed file, and the few bytes that the platform's key store keeps for it.

The file is replaced as a whole: written beside, flushed to the disk, renamed, and the folder flushed. After
a crash it is therefore the old one or the new one, never half of one, and a file that cannot be opened has
been damaged, not interrupted. It is sealed with AES-256 in Galois/counter mode, so any changed bit is
noticed, and filled up to a power of two, so that its size does not count the cells in it.

The key store keeps the key and three numbers that only grow: how many reports were ever drawn, the last
day of the newest epoch, and how often the ledger was found lost. An older copy of the file, put back by a backup or by somebody, is behind these
numbers and is refused. On a phone this is the platform's store (Keychain, Android Keystore), which a copy
of the storage does not contain. **Here a file stands in for it**, which protects nothing from somebody who
can read both files.

What this does not protect: somebody who controls the running phone; deleting the application with all of
its data, after which nothing is known of what was spent; old blocks of a flash memory, which stay sealed
but are not erased.
"""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_bytes
from typing import NamedTuple, Protocol

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

_MAGIC = b"LDP ledger 1\0\0\0\0"
_NONCE_BYTES = 12
_SMALLEST = 4096
_LENGTH = struct.Struct("<I")
_ANCHOR = struct.Struct("<32sQII")


class DamagedError(Exception):
    """A sealed file that cannot be opened with the key."""


class Anchor(NamedTuple):
    """What the key store keeps: the key, reports ever drawn, last day of the newest epoch as an ordinal, losses."""

    key: bytes
    drawn: int = 0
    last_day: int = 0
    losses: int = 0


class KeyStore(Protocol):
    """The platform's key store."""

    def load(self) -> Anchor | None:
        """Return what was saved, or None where there is nothing (any more)."""

    def save(self, anchor: Anchor) -> None:
        """Keep an anchor for good; return only then."""


class Store(Protocol):
    """The file of the ledger."""

    def read(self) -> bytes | None:
        """Return the whole file, or None where there is none."""

    def replace(self, data: bytes) -> None:
        """Put a new file in place of the old one, for good and at once; return only then."""

    def close(self) -> None:
        """Let another process use it."""


def new_key() -> bytes:
    """Draw a key."""
    return token_bytes(32)


def seal(key: bytes, data: bytes) -> bytes:
    """Encrypt and authenticate data, filled up to a power of two of at least 4,096 bytes."""
    room = max(_SMALLEST, 1 << (len(data) + _LENGTH.size - 1).bit_length())
    filled = (_LENGTH.pack(len(data)) + data).ljust(room, b"\0")
    # A random 96-bit nonce a write: at one write every five minutes 2^32 of them last 40,000 years.
    nonce = token_bytes(_NONCE_BYTES)
    return _MAGIC + nonce + AESGCM(key).encrypt(nonce, filled, _MAGIC)


def unseal(key: bytes, sealed: bytes) -> bytes:
    """Return the data of a sealed file.

    Raises
    ------
    DamagedError
        If it is not one, was sealed with another key, or any bit of it changed.
    """
    start = len(_MAGIC) + _NONCE_BYTES
    if not sealed.startswith(_MAGIC):
        raise DamagedError("it is not a ledger of this version")
    try:
        filled = AESGCM(key).decrypt(sealed[len(_MAGIC) : start], sealed[start:], _MAGIC)
    except (InvalidTag, ValueError):
        raise DamagedError("it was cut, changed, or sealed with another key") from None
    (length,) = _LENGTH.unpack_from(filled)
    return filled[_LENGTH.size : _LENGTH.size + length]


# -- on a disk -----------------------------------------------------------------------------------


class FileStore:
    """A ledger's file on a disk, used by one process at a time.

    Parameters
    ----------
    path
        The file; its folder must exist.

    Raises
    ------
    BlockingIOError
        If another process has it open: two that draw from one budget would spend it twice.
    """

    def __init__(self, path: str | Path) -> None:
        # Only here, so that a system without such locks can still simulate phones in memory.
        import fcntl

        self._path = os.fspath(path)
        self._lock = os.open(self._path + ".lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(self._lock)
            raise BlockingIOError(
                error.errno, "another process keeps this ledger; close it there first", self._path
            ) from None

    def read(self) -> bytes | None:
        """Return the whole file, or None where there is none."""
        return _read(self._path)

    def replace(self, data: bytes) -> None:
        """Put a new file in place of the old one."""
        _replace(self._path, data)

    def close(self) -> None:
        """Let another process use it."""
        os.close(self._lock)


class FileKeyStore:
    """A file that stands in for the platform's key store in the simulation; see the top of this module.

    It holds everything twice, so that a bit that changed is noticed and not taken for another day or total.
    """

    def __init__(self, path: str | Path) -> None:
        self._path = os.fspath(path)

    def load(self) -> Anchor | None:
        """Return what was saved; None if it is gone or unreadable."""
        data = _read(self._path)
        if data is None or len(data) != 2 * _ANCHOR.size or data[: _ANCHOR.size] != data[_ANCHOR.size :]:
            return None
        return Anchor(*_ANCHOR.unpack_from(data))

    def save(self, anchor: Anchor) -> None:
        """Keep an anchor."""
        _replace(self._path, 2 * _ANCHOR.pack(*anchor))


def _read(path: str) -> bytes | None:
    try:
        file = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return None
    try:
        parts = []
        while part := os.read(file, 1 << 20):
            parts.append(part)
        return b"".join(parts)
    finally:
        os.close(file)


def _replace(path: str, data: bytes) -> None:
    beside = path + ".new"
    file = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(file, rest) :]
        os.fsync(file)
    finally:
        os.close(file)
    os.replace(beside, path)
    # The rename itself lasts only when the folder was flushed too.
    folder = os.open(os.path.dirname(path) or ".", os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


# -- in memory, for simulations ------------------------------------------------------------------


@dataclass(slots=True)
class MemoryStore:
    """A ledger's file that lives as long as the object does."""

    data: bytes | None = None

    def read(self) -> bytes | None:
        """Return the whole file."""
        return self.data

    def replace(self, data: bytes) -> None:
        """Put a new file in place of the old one."""
        self.data = data

    def close(self) -> None:
        """Do nothing."""


@dataclass(slots=True)
class MemoryKeyStore:
    """A key store that lives as long as the object does."""

    anchor: Anchor | None = field(default=None, repr=False)

    def load(self) -> Anchor | None:
        """Return what was saved."""
        return self.anchor

    def save(self, anchor: Anchor) -> None:
        """Keep an anchor."""
        self.anchor = anchor
