"""Report files: what a collector stores, and how counts come back out of them.

A report file is Parquet with one column, `payload`, of fixed-size binary: the bytes after the header of
`ldpcore.device.wire`, whose description of each mechanism's payload holds here too. What the header says
of every report is said once, in the schema's metadata:

    ldp_atlas.reports   JSON: version of this format, exact parameters of the mechanism and their
                        version, name, resolution and version of the domain, context from the writer,
                        package version, time, and a random number that tells files apart
    ldp_atlas.cells     the ordered cells of the domain, unsigned 64-bit, little-endian

So a file can be counted without anything else, and reports of other parameters, of another domain or about
another question are kept apart, never decoded with the wrong ones and never added up. Payloads are
random, so the column is neither compressed nor dictionary-encoded, and is read at the speed of memory.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from ldpcore.device.wire import make_client, payload_matrix
from ldpcore.domain import Domain
from ldpcore.errors import ParameterError
from ldpcore.mechanisms import Mechanism
from ldpcore.mechanisms.blocks import BLOCK_DEVICES
from ldpcore.mechanisms.checks import checked_values
from ldpcore.report_header import Header, header_metadata, mechanism_from, read_header
from ldpcore.shapes import AnyArray, ByteArray

_CHUNK_BYTES = 8 * 2**20

SAME_FILE = "the same file again"
WRONG_LENGTH = "wrong length"


class Written(NamedTuple):
    """What went into a report file."""

    reports: int
    bytes_per_report: int
    domain_version: str


@dataclass(frozen=True, eq=False)
class ReportGroup:
    """Counts of all reports that answer one question by one mechanism over one domain.

    Parameters
    ----------
    mechanism
        The mechanism with its exact parameters.
    domain
        The domain.
    counts
        What `mechanism.aggregate` would have returned for all of them.
    reports
        How many reports were counted.
    question
        What was asked and of whom: the entries `ldpcore.report_header.QUESTION`, None where not stated.
    contexts
        What the writers of the files said, one entry for each different one.
    """

    mechanism: Mechanism
    domain: Domain
    counts: AnyArray
    reports: int
    question: Mapping[str, Any]
    contexts: tuple[Mapping[str, Any], ...]

    @property
    def domain_from_data(self) -> bool | None:
        """Whether a writer took the service area from the trips themselves; None where nobody says."""
        said = [context["domain_from_data"] for context in self.contexts if "domain_from_data" in context]
        return any(map(bool, said)) if said else None


class Aggregated(NamedTuple):
    """Groups that must not be mixed, how many reports were refused for each reason, and what to know."""

    groups: list[ReportGroup]
    rejected: dict[str, int]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class ReportFile:
    """A report file that was opened and found to be one; the reports are still on disk.

    Parameters
    ----------
    path
        Where it is.
    header
        What it says about itself.
    reports
        Number of rows.
    payload
        Type of its one column; reports of another width than the mechanism's are counted as refused.
    """

    path: Path
    header: Header
    reports: int
    payload: pa.DataType

    @property
    def mechanism(self) -> Mechanism:
        """What its reports mean."""
        return self.header.mechanism

    @property
    def domain(self) -> Domain:
        """Which cells its reports are about."""
        return self.header.domain

    def payloads(self, refused: Counter[str] | None = None) -> Iterator[ByteArray]:
        """Yield payloads in chunks, each (n, payload_bytes) uint8.

        Parameters
        ----------
        refused
            Told how many rows are no payload of the mechanism, by reason.

        Raises
        ------
        ParameterError
            If the file is damaged.
        """
        refused = Counter() if refused is None else refused
        width = self.mechanism.payload_bytes
        exact = self.payload == pa.binary(width)
        if pa.types.is_fixed_size_binary(self.payload) and not exact:
            if self.reports:
                refused[WRONG_LENGTH] += self.reports
            return
        rows = max(1, _CHUNK_BYTES // width)
        try:
            with pq.ParquetFile(self.path, memory_map=True) as file:
                for batch in file.iter_batches(batch_size=rows, columns=["payload"]):
                    column = batch.column(0)
                    if exact and not column.null_count:
                        start = column.offset * width
                        data = np.frombuffer(column.buffers()[1], np.uint8)
                        yield data[start : start + len(column) * width].reshape(len(column), width)
                    else:
                        yield _of_width(column.to_pylist(), width, refused)
        except (OSError, pa.ArrowException):
            raise ParameterError(
                "files", f"{self.path.name} is damaged: its reports cannot be read; fetch or write it again."
            ) from None


def report_schema(
    mechanism: Mechanism, domain: Domain, context: Mapping[str, Any] | None = None
) -> pa.Schema:
    """Return the Arrow schema of the report files of a mechanism over a domain.

    Parameters
    ----------
    mechanism
        The mechanism; its domain size must be that of the domain.
    domain
        The domain.
    context
        Anything that JSON can hold: the question asked, the unit of privacy.

    Raises
    ------
    ParameterError
        If the sizes differ.
    """
    if mechanism.domain_size != domain.size:
        raise ParameterError(
            "domain_size",
            f"the mechanism has {mechanism.domain_size} cells and the domain has {domain.size}; "
            "make the mechanism for the domain",
        )
    return pa.schema(
        [pa.field("payload", pa.binary(mechanism.payload_bytes), nullable=False)],
        metadata=header_metadata(mechanism, domain, context),
    )


def write_reports(
    path: str | Path,
    payloads: Iterable[ByteArray],
    mechanism: Mechanism,
    domain: Domain,
    *,
    context: Mapping[str, Any] | None = None,
) -> Written:
    """Write payloads to a report file, chunk by chunk.

    Parameters
    ----------
    path
        File to write.
    payloads
        Chunks of (n, payload_bytes) uint8, as `mechanism.pack` makes them.
    mechanism, domain, context
        As for `report_schema`.
    """
    schema = report_schema(mechanism, domain, context)
    written = 0
    with pq.ParquetWriter(
        path, schema, compression="none", use_dictionary=False, write_statistics=False
    ) as file:
        for chunk in payloads:
            buffer = pa.py_buffer(np.ascontiguousarray(chunk))
            column = pa.FixedSizeBinaryArray.from_buffers(schema.field(0).type, len(chunk), [None, buffer])
            file.write_batch(pa.record_batch([column], schema=schema))
            written += len(chunk)
    return Written(written, mechanism.payload_bytes, domain.version)


def perturb_to_file(
    path: str | Path,
    values: npt.ArrayLike,
    mechanism: Mechanism,
    domain: Domain,
    *,
    rng: np.random.Generator | None,
    context: Mapping[str, Any] | None = None,
    threads: int = 1,
) -> Written:
    """Randomise values and write the reports; with `rng` None by the real client, which takes no seed.

    Parameters
    ----------
    path
        File to write.
    values
        (n,) integers, each in [0, domain.size): one per device that has a value.
    mechanism, domain, context
        As for `report_schema`.
    rng
        Source of a simulation's coins, or None for the on-device client: then each report costs some
        microseconds to milliseconds.
    threads
        Threads of the simulation; the file is the same for any number.

    Raises
    ------
    ParameterError
        If a value lies outside the domain, or the mechanism has no client.
    """
    cells = checked_values(values, domain.size)
    chunks = (
        _device_chunks(cells, mechanism, domain)
        if rng is None
        else _simulated_chunks(cells, mechanism, rng, threads)
    )
    return write_reports(path, chunks, mechanism, domain, context=context)


def open_reports(path: str | Path) -> ReportFile:
    """Open a report file and check everything it says about itself.

    Raises
    ------
    ParameterError
        If it cannot be read, is not a report file, is of a newer format, or its parameters or cells are
        not what their versions say.
    """
    path = Path(path)
    try:
        with pq.ParquetFile(path) as file:
            schema, rows = file.schema_arrow, file.metadata.num_rows
    except (OSError, pa.ArrowException) as error:
        raise ParameterError("files", f"{path.name} cannot be read as Parquet: {error}") from None
    header = read_header(path.name, schema.metadata or {})
    kinds = (pa.types.is_fixed_size_binary, pa.types.is_binary, pa.types.is_large_binary)
    if schema.names != ["payload"] or not any(kind(schema.field(0).type) for kind in kinds):
        raise ParameterError(
            "files",
            f"{path.name} must have one column payload of {header.mechanism.payload_bytes} bytes, "
            f"got {', '.join(f'{entry.name} {entry.type}' for entry in schema) or 'none'}; "
            "write it with the verb perturb.",
        )
    return ReportFile(path, header, rows, schema.field(0).type)


def aggregate_files(paths: Sequence[str | Path]) -> Aggregated:
    """Count the reports of files; other parameters, domains or questions are kept apart.

    Parameters
    ----------
    paths
        Report files, at least one. One that is given twice, under any name, is counted once.

    Returns
    -------
    Aggregated
        One group for each domain, parameters and question, in the order they first appear. Malformed reports
        and those of a repeated file are refused and counted by reason.

    Raises
    ------
    ParameterError
        If there is no file, or one of them is not a report file.
    """
    if not paths:
        raise ParameterError(
            "files", "aggregate needs at least one report file; write one with the verb perturb."
        )
    rejected: Counter[str] = Counter()
    notes = []
    together: dict[tuple[str, str, str], list[ReportFile]] = {}
    files = [open_reports(path) for path in paths]
    for file, first in zip(files, _first_copies([file.path for file in files]), strict=True):
        if first is not None:
            rejected[SAME_FILE] += file.reports
            notes.append(f"{file.path} is the same file as {first}; it is counted once.")
            continue
        together.setdefault(file.header.key, []).append(file)
    groups = []
    for members in together.values():
        mechanism = members[0].mechanism
        counts = np.zeros(mechanism.counts_shape, mechanism.counts_dtype)
        counted = 0
        for file in members:
            for payloads in file.payloads(rejected):
                unpacked = mechanism.unpack(payloads)
                counts += mechanism.aggregate(unpacked.reports)
                counted += len(unpacked.reports)
                rejected.update(unpacked.rejected)
        contexts: list[Mapping[str, Any]] = []
        for file in members:
            if file.header.context not in contexts:
                contexts.append(file.header.context)
        groups.append(
            ReportGroup(
                mechanism, members[0].domain, counts, counted, members[0].header.question, tuple(contexts)
            )
        )
    if len({key[:2] for key in together}) < len(together):
        notes.append(
            "The files answer different questions about the same cells; each question is counted apart, because "
            "the sum of their answers would mean nothing."
        )
    return Aggregated(groups, dict(rejected), tuple(notes))


def _first_copies(paths: Sequence[Path]) -> list[Path | None]:
    """Return for each file the earlier one that it repeats, or None.

    A repeat is the same file under any path, or a copy with the same bytes; only files of equal size are read.
    """
    status = [path.stat() for path in paths]
    sizes = Counter(entry.st_size for entry in status)
    found: dict[object, Path] = {}
    repeated: list[Path | None] = []
    for path, entry in zip(paths, status, strict=True):
        names: list[object] = [(entry.st_dev, entry.st_ino)]
        if sizes[entry.st_size] > 1:
            with path.open("rb") as file:
                names.append(hashlib.file_digest(file, "sha256").digest())
        first = next((found[name] for name in names if name in found), None)
        repeated.append(first)
        for name in names:
            found.setdefault(name, path)
    return repeated


def _of_width(payloads: Sequence[bytes | None], width: int, refused: Counter[str]) -> ByteArray:
    """Stack the payloads that have the right width and count the others."""
    fitting = [payload for payload in payloads if payload is not None and len(payload) == width]
    missing = sum(payload is None for payload in payloads)
    for reason, rows in (("missing", missing), (WRONG_LENGTH, len(payloads) - missing - len(fitting))):
        if rows:
            refused[reason] += rows
    return payload_matrix(fitting, width)


def _simulated_chunks(
    values: AnyArray, mechanism: Mechanism, rng: np.random.Generator, threads: int
) -> Iterator[ByteArray]:
    """Privatize whole blocks at a time, about as many as fit into a chunk."""
    blocks = max(1, _CHUNK_BYTES // (mechanism.payload_bytes * BLOCK_DEVICES))
    for start in range(0, len(values), blocks * BLOCK_DEVICES):
        part = values[start : start + blocks * BLOCK_DEVICES]
        yield mechanism.pack(mechanism.privatize(part, rng=rng, threads=threads))


def _device_chunks(values: AnyArray, mechanism: Mechanism, domain: Domain) -> Iterator[ByteArray]:
    client = make_client(mechanism, domain.version)
    size = max(1, min(BLOCK_DEVICES, _CHUNK_BYTES // mechanism.payload_bytes))
    cells = iter(values.tolist())
    while part := list(islice(cells, size)):
        yield payload_matrix([client.payload(cell) for cell in part], mechanism.payload_bytes)


__all__ = [
    "Aggregated",
    "ReportFile",
    "ReportGroup",
    "Written",
    "aggregate_files",
    "mechanism_from",
    "open_reports",
    "perturb_to_file",
    "report_schema",
    "write_reports",
]
