"""Unpack gzip and zip in memory, with limits on size and ratio; names inside are labels, never paths."""

from __future__ import annotations

import io
import zipfile
import zlib
from typing import IO

from ldpcore.errors import TripFileError
from ldpcore.trips.readers.source import MAX_BYTES, Source, plain_name

#: Text packs to a tenth or so; a file that grows this much was made to.
MAX_RATIO = 200
MAX_MEMBERS = 1_000
#: Below this an odd ratio does no harm.
_HARMLESS_BYTES = 16 * 1024 * 1024
_CHUNK = 1024 * 1024
_DATA_ENDINGS = (".csv", ".tsv", ".txt", ".parquet")


def gunzip(source: Source) -> Source:
    """Unpack gzip.

    Raises
    ------
    TripFileError
        If it is damaged or unpacks to too much.
    """
    out = bytearray()
    rest = source.data
    while len(rest):
        unpacker = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
        try:
            for start in range(0, len(rest), _CHUNK):
                piece: bytes | memoryview = rest[start : start + _CHUNK]
                while len(piece):
                    out += unpacker.decompress(piece, _CHUNK)
                    _check_size(len(out), len(source.data), source.name)
                    piece = unpacker.unconsumed_tail
                if unpacker.eof:
                    rest = rest[min(start + _CHUNK, len(rest)) - len(unpacker.unused_data) :]
                    break
            else:
                raise TripFileError(f"{source.name} ends in the middle; it may have been cut off on the way.")
        except zlib.error as error:
            if out:  # padding after the last part is common and harmless
                break
            raise TripFileError(f"{source.name} is not a complete gzip file.") from error
        if bytes(rest[:2]) != b"\x1f\x8b":
            break
    return _unpacked(bytes(out), source.name.removesuffix(".gz"), source)


def unzip(source: Source) -> Source:
    """Unpack the table of trips out of a zip archive, leaving out read-me files and system folders.

    Raises
    ------
    TripFileError
        If the archive is damaged, locked, unpacks to too much, or holds no table.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(source.data)) as archive:
            members = [m for m in archive.infolist() if _is_data(m)]
            if len(archive.infolist()) > MAX_MEMBERS:
                raise TripFileError(
                    f"{source.name} holds more than {MAX_MEMBERS:,} files; pack only the trips."
                )
            if not members:
                raise TripFileError(f"{source.name} holds no CSV or Parquet file.")
            # Notes are .txt, and so are some tables: such a file counts only where there is no other.
            chosen = max(members, key=lambda m: (not m.filename.lower().endswith(".txt"), m.file_size))
            if chosen.flag_bits & 0x1:
                raise TripFileError(f"{source.name} is locked with a password; unpack it first.")
            _check_size(chosen.file_size, max(chosen.compress_size, 1), source.name)
            with archive.open(chosen) as stream:
                data = _take(stream, chosen.compress_size, source.name)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, OSError, RuntimeError) as error:
        raise TripFileError(f"{source.name} is not a complete zip archive.") from error
    return _unpacked(data, f"{source.name}: {plain_name(chosen.filename)}", source)


def _is_data(member: zipfile.ZipInfo) -> bool:
    parts = member.filename.replace("\\", "/").split("/")
    hidden = parts[-1].startswith(".") or "__MACOSX" in parts
    return not member.is_dir() and not hidden and parts[-1].lower().endswith(_DATA_ENDINGS)


def _take(stream: IO[bytes], packed: int, name: str) -> bytes:
    # The size that the archive declares may be a lie: count what really comes out.
    out = bytearray()
    while piece := stream.read(_CHUNK):
        out += piece
        _check_size(len(out), max(packed, 1), name)
    return bytes(out)


def _check_size(unpacked: int, packed: int, name: str) -> None:
    if unpacked > MAX_BYTES:
        raise TripFileError(f"{name} unpacks to more than the {MAX_BYTES // 2**20} MB that are read.")
    if unpacked > _HARMLESS_BYTES and unpacked > MAX_RATIO * packed:
        raise TripFileError(
            f"{name} grows more than {MAX_RATIO} times when unpacked, which no file of trips does."
        )


def _unpacked(data: bytes, name: str, outer: Source) -> Source:
    if not data:
        raise TripFileError(f"{outer.name} is empty.")
    return Source(memoryview(data), name)
