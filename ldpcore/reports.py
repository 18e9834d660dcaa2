"""Report files: what a collector stores, and how counts come back out of them.

A report file is Parquet with one column, `payload`, of fixed-size binary: the bytes after the header of
`ldpcore.device.wire`, whose description of each mechanism's payload holds here too. What the header says
of every report is said once, in the schema's metadata:

    ldp_atlas.reports   JSON: version of this format, exact parameters of the mechanism and their
                        version, name, resolution and version of the domain, context from the writer
    ldp_atlas.cells     the ordered cells of the domain, unsigned 64-bit, little-endian

So a file can be counted without anything else, and reports of other parameters or of another domain are
kept apart, never decoded with the wrong ones. Payloads are random, so the column is neither compressed
nor dictionary-encoded, and is read at the speed of memory.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

import ldpcore
from ldpcore.device.wire import make_client, payload_matrix
from ldpcore.domain import Domain
from ldpcore.errors import ParameterError
from ldpcore.mechanisms import Mechanism, make_mechanism, option_names
from ldpcore.mechanisms.blocks import BLOCK_DEVICES
from ldpcore.mechanisms.checks import checked_values
from ldpcore.shapes import AnyArray, ByteArray

FORMAT_VERSION = 1
_REPORTS_KEY = b"ldp_atlas.reports"
_CELLS_KEY = b"ldp_atlas.cells"
_CHUNK_BYTES = 8 * 2**20


class Written(NamedTuple):
    """What went into a report file."""

    reports: int
    bytes_per_report: int
    domain_version: str


@dataclass(frozen=True, eq=False)
class ReportGroup:
    """Counts of all reports of one mechanism over one domain.

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
    contexts
        What the writers of the files said, one entry for each different one.
    """

    mechanism: Mechanism
    domain: Domain
    counts: AnyArray
    reports: int
    contexts: tuple[Mapping[str, Any], ...]


class Aggregated(NamedTuple):
    """Groups that must not be mixed, and how many reports were refused for each reason."""

    groups: list[ReportGroup]
    rejected: dict[str, int]


@dataclass(frozen=True, eq=False)
class ReportFile:
    """A report file that was opened and found to be one; the reports are still on disk.

    Parameters
    ----------
    path
        Where it is.
    mechanism, domain
        What its reports mean.
    context
        What its writer said.
    reports
        Number of rows.
    """

    path: Path
    mechanism: Mechanism
    domain: Domain
    context: Mapping[str, Any]
    reports: int

    def payloads(self) -> Iterator[ByteArray]:
        """Yield payloads in chunks, each (n, payload_bytes) uint8."""
        width = self.mechanism.payload_bytes
        rows = max(1, _CHUNK_BYTES // width)
        with pq.ParquetFile(self.path, memory_map=True) as file:
            for batch in file.iter_batches(batch_size=rows, columns=["payload"]):
                column = batch.column(0)
                start = column.offset * width
                data = np.frombuffer(column.buffers()[1], np.uint8)
                yield data[start : start + len(column) * width].reshape(len(column), width)


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
    about = {
        "format": FORMAT_VERSION,
        "package_version": ldpcore.__version__,
        "created": datetime.now(tz=UTC).isoformat(timespec="seconds"),
        "mechanism": mechanism.parameters(),
        "parameters_version": mechanism.parameters_version,
        "domain": {"name": domain.name, "resolution": domain.resolution, "version": domain.version},
        "context": dict(context or {}),
    }
    return pa.schema(
        [pa.field("payload", pa.binary(mechanism.payload_bytes), nullable=False)],
        metadata={
            _REPORTS_KEY: json.dumps(about).encode(),
            _CELLS_KEY: domain.cells.astype("<u8").tobytes(),
        },
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
    metadata = schema.metadata or {}
    if _REPORTS_KEY not in metadata or _CELLS_KEY not in metadata:
        raise ParameterError("files", f"{path.name} is not a report file; write one with the verb perturb")
    try:
        about = json.loads(metadata[_REPORTS_KEY])
        if about["format"] != FORMAT_VERSION:
            raise ParameterError(
                "files",
                f"{path.name} has report format {about['format']}, this version reads {FORMAT_VERSION}",
            )
        mechanism = mechanism_from(about["mechanism"])
        cells = np.frombuffer(metadata[_CELLS_KEY], "<u8")
        domain = Domain(about["domain"]["name"], about["domain"]["resolution"], cells)
        stated = (about["parameters_version"], about["domain"]["version"])
        context = dict(about["context"])
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, ParameterError) and error.parameter == "files":
            raise
        raise ParameterError("files", f"{path.name} describes its reports wrongly: {error}") from None
    if stated != (mechanism.parameters_version, domain.version) or mechanism.domain_size != domain.size:
        raise ParameterError(
            "files", f"{path.name} was made with parameters or cells that its versions do not describe"
        )
    field = schema.field(0)
    if schema.names != ["payload"] or field.type != pa.binary(mechanism.payload_bytes) or field.nullable:
        raise ParameterError(
            "files",
            f"{path.name} must have one column payload of {mechanism.payload_bytes} bytes, without gaps, "
            f"got {', '.join(f'{entry.name} {entry.type}' for entry in schema)}",
        )
    return ReportFile(path, mechanism, domain, context, rows)


def aggregate_files(paths: Sequence[str | Path]) -> Aggregated:
    """Count the reports of files, those of different parameters or domains apart.

    Parameters
    ----------
    paths
        Report files, at least one.

    Returns
    -------
    Aggregated
        One group for each pair of domain and parameters, in the order they first appear. Malformed reports
        are refused and counted by reason.

    Raises
    ------
    ParameterError
        If there is no file, or one of them is not a report file.
    """
    if not paths:
        raise ParameterError("files", "aggregate needs at least one report file")
    files = [open_reports(path) for path in paths]
    together: dict[tuple[str, str], list[ReportFile]] = {}
    for file in files:
        together.setdefault((file.domain.version, file.mechanism.parameters_version), []).append(file)
    rejected: Counter[str] = Counter()
    groups = []
    for members in together.values():
        mechanism = members[0].mechanism
        counts = np.zeros(mechanism.counts_shape, mechanism.counts_dtype)
        counted = 0
        for file in members:
            for payloads in file.payloads():
                unpacked = mechanism.unpack(payloads)
                counts += mechanism.aggregate(unpacked.reports)
                counted += len(unpacked.reports)
                rejected.update(unpacked.rejected)
        contexts = {json.dumps(file.context, sort_keys=True): file.context for file in members}
        groups.append(ReportGroup(mechanism, members[0].domain, counts, counted, tuple(contexts.values())))
    return Aggregated(groups, dict(rejected))


def mechanism_from(parameters: Mapping[str, Any]) -> Mechanism:
    """Make a mechanism from what its `parameters` method returned.

    Raises
    ------
    ParameterError
        If the name is unknown, a setting is out of range, or this version computes other fractions.
    KeyError
        If a setting is missing.
    """
    name = parameters["mechanism"]
    blank = make_mechanism(name, epsilon=parameters["epsilon"], domain_size=parameters["domain_size"])
    options = {option: parameters[option] for option in option_names(type(blank))}
    mechanism = make_mechanism(
        name, epsilon=parameters["epsilon"], domain_size=parameters["domain_size"], **options
    )
    if mechanism.parameters() != dict(parameters):
        raise ParameterError("parameters", f"this version computes other probabilities for {name}")
    return mechanism


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
