"""Unpack gzip and zip in memory, with limits on size and ratio; names inside are labels, never paths."""

from __future__ import annotations

import io
import zipfile
import zlib
from typing import IO

from ldpcore.errors import TripFileError
from ldpcore.trips.readers.source import MAX_BYTES, Source, folder_names, plain_name

#: Text packs to a tenth or so; a file that grows this much was made to.
MAX_RATIO = 200
MAX_MEMBERS = 20_000
#: Below this an odd ratio does no harm.
_HARMLESS_BYTES = 16 * 1024 * 1024
_CHUNK = 1024 * 1024
#: What the library raises on an archive that is cut off, locked, or makes no sense.
_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, NotImplementedError, ValueError)
_TABLES = (".csv", ".tsv", ".parquet", ".json", ".geojson", ".jsonl", ".ndjson", ".gpx", ".plt", ".gz")
_TIMETABLE = frozenset({"stops.txt", "stop_times.txt", "trips.txt", "routes.txt"})


def gunzip(source: Source) -> list[Source]:
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
    return [_unpacked(bytes(out), source.name.removesuffix(".gz"), source.folders, source)]


def unzip(source: Source) -> list[Source]:
    """Unpack the tables of trips out of a zip archive, leaving out read-me files and system folders.

    Raises
    ------
    TripFileError
        If the archive is damaged, locked, unpacks to too much, is a timetable or a spreadsheet, or
        holds no table.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(source.data)) as archive:
            return _tables(archive, source)
    except TripFileError:
        raise
    except _DAMAGE as error:
        raise TripFileError(f"{source.name} is not a complete zip archive.") from error


def _tables(archive: zipfile.ZipFile, source: Source) -> list[Source]:
    members = archive.infolist()
    _check_kind([member.filename for member in members], source)
    chosen = _choose(members)
    if not chosen:
        raise TripFileError(f"{source.name} holds no file of trips of a kind that is read.")
    if any(member.flag_bits & 0x1 for member in chosen):
        raise TripFileError(f"{source.name} is locked with a password; unpack it first.")
    _check_size(sum(member.file_size for member in chosen), max(len(source.data), 1), source.name)
    out, total = [], 0
    for member in chosen:
        with archive.open(member) as stream:
            data = _take(stream, total, len(source.data), source.name)
        total += len(data)
        if data or len(chosen) == 1:
            label = f"{source.name}: {plain_name(member.filename)}"
            out.append(_unpacked(data, label, folder_names(member.filename), source))
    if not out:
        raise TripFileError(f"{source.name} holds only empty files.")
    return out


def _check_kind(names: list[str], source: Source) -> None:
    if len(names) > MAX_MEMBERS:
        raise TripFileError(f"{source.name} holds more than {MAX_MEMBERS:,} files; pack only the trips.")
    plain = {plain_name(name).lower() for name in names}
    if len(_TIMETABLE & plain) > 2:
        raise TripFileError(
            f"{source.name} is a timetable (GTFS), which says when vehicles run, not where people travel."
        )
    if "[content_types].xml" in {name.lower() for name in names}:
        raise TripFileError(f"{source.name} is a spreadsheet; save the sheet of trips as CSV.")
    if any(name.endswith(".shp") for name in plain):
        raise TripFileError(f"{source.name} is a shapefile; save the trips as GeoJSON or GeoParquet.")


def _choose(members: list[zipfile.ZipInfo]) -> list[zipfile.ZipInfo]:
    """Tables by their ending; notes are .txt and so are some tables, so those only where nothing else is."""
    good = []
    for member in members:
        parts = member.filename.replace("\\", "/").split("/")
        if not member.is_dir() and not parts[-1].startswith(".") and "__MACOSX" not in parts and parts[-1]:
            good.append(member)
    tables = [member for member in good if member.filename.lower().endswith(_TABLES)]
    if tables:
        return tables
    maybe = [m for m in good if m.filename.lower().endswith(".txt") or "." not in plain_name(m.filename)]
    return [max(maybe, key=lambda member: member.file_size)] if maybe else []


def _take(stream: IO[bytes], before: int, packed: int, name: str) -> bytes:
    # The size that the archive declares may be a lie: count what really comes out.
    out = bytearray()
    while piece := stream.read(_CHUNK):
        out += piece
        _check_size(before + len(out), max(packed, 1), name)
    return bytes(out)


def _check_size(unpacked: int, packed: int, name: str) -> None:
    if unpacked > MAX_BYTES:
        raise TripFileError(f"{name} unpacks to more than the {MAX_BYTES // 2**20} MB that are read.")
    if unpacked > _HARMLESS_BYTES and unpacked > MAX_RATIO * packed:
        raise TripFileError(
            f"{name} grows more than {MAX_RATIO} times when unpacked, which no file of trips does."
        )


def _unpacked(data: bytes, name: str, folders: tuple[str, ...], outer: Source) -> Source:
    if not data:
        raise TripFileError(f"{outer.name} is empty.")
    return Source(memoryview(data), name, folders)


def take_members(source: Source, endings: tuple[str, ...]) -> dict[str, bytes]:
    """Unpack the largest member of the first ending and those that belong to it, for a shapefile.

    Raises
    ------
    TripFileError
        If the archive is damaged or unpacks to too much.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(source.data)) as archive:
            return _beside(archive, source, endings)
    except TripFileError:
        raise
    except _DAMAGE as error:
        raise TripFileError(f"{source.name} is not a complete zip archive.") from error


def _beside(archive: zipfile.ZipFile, source: Source, endings: tuple[str, ...]) -> dict[str, bytes]:
    out: dict[str, bytes] = {}
    members = [m for m in archive.infolist() if "__MACOSX" not in m.filename]
    shapes = [m for m in members if m.filename.lower().endswith(endings[0])]
    if not shapes:
        return out
    stem = max(shapes, key=lambda member: member.file_size).filename[: -len(endings[0])]
    total = 0
    for member in members:
        ending = member.filename[len(stem) :].lower()
        if member.filename.startswith(stem) and ending in endings and ending not in out:
            with archive.open(member) as stream:
                out[ending] = _take(stream, total, len(source.data), source.name)
            total += len(out[ending])
    return out
