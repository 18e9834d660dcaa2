"""What a report file says about its reports: written once in its metadata, and believed only as far as it is checked.

A file may come from anywhere. Every entry is looked at before it is used, so that a damaged or hostile file
ends in one sentence that names the file and the entry, never in an error of the language it is read with.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import h3.api.numpy_int as h3
import numpy as np

import ldpcore
from ldpcore.domain import MAX_CELLS, Domain
from ldpcore.errors import ParameterError
from ldpcore.mechanisms import Mechanism, make_mechanism, option_names
from ldpcore.trips.generate import DEFAULT_PRESENCE_HOUR

if TYPE_CHECKING:
    from ldpcore.population import Population
    from ldpcore.settings import Scenario

SHIPPED: Final = "the client that ships"
SIMULATION: Final = "a simulation, whose coins come from a seed"

FORMAT_VERSION: Final = 1
REPORTS_KEY: Final = b"ldp_atlas.reports"
CELLS_KEY: Final = b"ldp_atlas.cells"
MOST_BYTES: Final = 256 * 2**10
"""Longest description that is read; those of `perturb` have about one thousand bytes."""

QUESTION: Final = ("query", "day", "hour", "unit", "clock")
"""Entries of a context that say what was asked and of whom; answers that differ in one are never added up."""

_KINDS: Final[Mapping[type, str]] = MappingProxyType(
    {dict: "an object", str: "a text", int: "a whole number"}
)


@dataclass(frozen=True, eq=False)
class Header:
    """What a report file says about itself, checked.

    Parameters
    ----------
    mechanism, domain
        What its reports mean.
    context
        What its writer said: the question, the unit, where the area came from.
    """

    mechanism: Mechanism
    domain: Domain
    context: Mapping[str, Any]

    @property
    def question(self) -> dict[str, Any]:
        """What was asked and of whom, None where the writer did not say."""
        return {name: self.context.get(name) for name in QUESTION}

    @property
    def key(self) -> tuple[str, str, str]:
        """Equal for reports that may be added up: domain, parameters and question."""
        question = json.dumps(self.question, sort_keys=True)
        return self.domain.version, self.mechanism.parameters_version, question


def context_of(scenario: Scenario, population: Population, *, shipped: bool) -> dict[str, Any]:
    """Return what a report file says of a scenario: the question, the unit, and where all of it came from.

    Parameters
    ----------
    scenario, population
        What was asked, and of whom.
    shipped
        Whether the client that ships made the reports.
    """
    # Two ways of asking for the same thing are one question, so defaults are written out.
    day = "weekday" if scenario.synthetic and scenario.day is None else scenario.day
    presence = scenario.query == "presence"
    hour = DEFAULT_PRESENCE_HOUR if presence and scenario.hour is None else scenario.hour
    return {
        "query": scenario.query,
        "day": day,
        "hour": hour,
        "unit": population.unit,
        # Whose midnight and whose eight o'clock; without a day and an hour nothing is read off a clock.
        "clock": None if day is None and hour is None else population.area.timezone,
        "domain_from_data": population.area.from_data,
        "attribution": population.area.attribution,
        "trips": "synthetic" if scenario.synthetic else "a file",
        "made_by": SHIPPED if shipped else SIMULATION,
    }


def header_metadata(
    mechanism: Mechanism, domain: Domain, context: Mapping[str, Any] | None
) -> dict[bytes, bytes]:
    """Return the metadata of a new report file.

    Each file gets a random number of its own, so that two files of equal content are one file twice, and never
    two phones that happened to answer alike.
    """
    about = {
        "format": FORMAT_VERSION,
        "file": uuid.uuid4().hex,
        "package_version": ldpcore.__version__,
        "created": datetime.now(tz=UTC).isoformat(timespec="seconds"),
        "mechanism": mechanism.parameters(),
        "parameters_version": mechanism.parameters_version,
        "epsilon_effective": mechanism.epsilon_effective,
        "domain": {"name": domain.name, "resolution": domain.resolution, "version": domain.version},
        "context": dict(context or {}),
    }
    return {REPORTS_KEY: json.dumps(about).encode(), CELLS_KEY: domain.cells.astype("<u8").tobytes()}


def read_header(name: str, metadata: Mapping[bytes, bytes]) -> Header:
    """Read and check the metadata of a report file.

    Parameters
    ----------
    name
        Of the file, for messages.
    metadata
        Of its schema.

    Raises
    ------
    ParameterError
        If it is not a report file, is of another format, misses an entry or has one that cannot be, or if
        its parameters or cells are not what their versions say.
    """
    if REPORTS_KEY not in metadata or CELLS_KEY not in metadata:
        raise ParameterError("files", f"{name} is not a report file; write one with the verb perturb.")
    about = _object(name, metadata[REPORTS_KEY])
    version = _entry(name, about, "format", int)
    if version != FORMAT_VERSION:
        raise ParameterError(
            "files",
            f"{name} has report format {version}, this version reads {FORMAT_VERSION}; "
            "read it with the version that wrote it.",
        )
    parameters = _entry(name, about, "mechanism", dict)
    place = _entry(name, about, "domain", dict)
    context = _entry(name, about, "context", dict)
    stated = (_entry(name, about, "parameters_version", str), _entry(name, place, "version", str, "domain"))
    domain = _domain(name, place, metadata[CELLS_KEY])
    size = _entry(name, parameters, "domain_size", int, "mechanism")
    if size != domain.size:  # before anything of that size is made
        raise _lies(name)
    mechanism = _mechanism(name, parameters)
    if stated != (mechanism.parameters_version, domain.version):
        raise _lies(name)
    return Header(mechanism, domain, context)


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


def question_words(question: Mapping[str, Any]) -> str:
    """Return a question in the words of the command line, which also fit into the name of a file.

    >>> question_words({"query": "origins", "day": "weekday", "hour": 8, "unit": "device", "clock": None})
    'origins-weekday-h8-device'
    """
    parts = [question.get("query"), question.get("day"), question.get("hour"), question.get("unit")]
    texts = [f"h{part}" if place == 2 else str(part) for place, part in enumerate(parts) if part is not None]
    clock = question.get("clock")
    if clock is not None:
        texts.append(str(clock).replace("/", "_"))
    # The text of a stranger's file must not choose a folder, nor fill a line.
    return re.sub(r"[^A-Za-z0-9_+-]", "_", "-".join(texts))[:80] or "no-question-stated"


def _object(name: str, text: bytes) -> dict[str, Any]:
    if len(text) > MOST_BYTES:
        raise ParameterError(
            "files",
            f"{name} describes its reports in {len(text):,} bytes, more than the {MOST_BYTES:,} that are read; "
            "write it again with the verb perturb.",
        )
    try:
        about = json.loads(text)
        # What it says is repeated in the sidecar of the release, so it must be text that can be written.
        json.dumps(about, allow_nan=False, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        about = None
    if not isinstance(about, dict):
        raise ParameterError(
            "files",
            f"{name} has a description that is not a JSON object of finite numbers and plain text; "
            "write it again with the verb perturb.",
        )
    return about


def _entry(name: str, holder: Mapping[str, Any], entry: str, kind: type, inside: str = "") -> Any:  # noqa: ANN401
    path = f"{inside}.{entry}" if inside else entry
    if entry not in holder:
        raise _wrong(name, f"the entry {path} is missing")
    value = holder[entry]
    if not isinstance(value, kind) or isinstance(value, bool):
        raise _wrong(name, f"the entry {path} must be {_KINDS[kind]}")
    return value


def _domain(name: str, place: Mapping[str, Any], raw: bytes) -> Domain:
    label = _entry(name, place, "name", str, "domain")
    resolution = _entry(name, place, "resolution", int, "domain")
    if not 0 <= resolution <= 15:
        raise _wrong(name, "the entry domain.resolution must lie between 0 and 15")
    if len(raw) % 8 or len(raw) > 8 * MAX_CELLS:
        raise _wrong(name, f"its list of cells must be 64-bit numbers, at most {MAX_CELLS:,} of them")
    try:
        domain = Domain(label, resolution, np.frombuffer(raw, "<u8"))
    except ParameterError as error:
        raise _wrong(name, str(error)) from None
    if not all(h3.is_valid_cell(cell) for cell in domain.cells.tolist()):
        raise _wrong(name, "its list of cells holds numbers that are no H3 cells")
    return domain


def _mechanism(name: str, parameters: Mapping[str, Any]) -> Mechanism:
    _entry(name, parameters, "mechanism", str, "mechanism")
    try:
        return mechanism_from(parameters)
    except KeyError as error:
        raise _wrong(name, f"the entry mechanism.{error.args[0]} is missing") from None
    except ParameterError as error:
        raise _wrong(name, str(error)) from None
    except (TypeError, ValueError, ArithmeticError, AttributeError):
        # An option of a kind that the mechanism does not expect; which one, only the mechanism could tell.
        raise _wrong(name, "an entry of mechanism has a value of the wrong kind") from None


def _wrong(name: str, what: str) -> ParameterError:
    what = what.rstrip(".")
    return ParameterError(
        "files", f"{name} describes its reports wrongly: {what}. Write it again with the verb perturb."
    )


def _lies(name: str) -> ParameterError:
    return ParameterError(
        "files",
        f"{name} was made with parameters or cells that its versions do not describe; "
        "write it again with the verb perturb.",
    )
