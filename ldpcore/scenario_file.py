"""Scenario files: one scenario with its name, its schedule and the user's own words, as JSON.

A file that somebody edited, or that came by mail, is hostile until read: it is small, it holds known fields of known
types and nothing twice, and its settings don't contradict each other. What can't be used is refused with the field
named, never repaired in silence. A scenario on a user's trips names that file by its digest and holds none of it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any, Final, NoReturn
from urllib.parse import urlencode

from ldpcore.errors import ParameterError
from ldpcore.schedule import Schedule
from ldpcore.settings import Scenario
from ldpcore.statements import checked_statements, visible
from ldpcore.trips.areas import area_from_text
from ldpcore.trips.clock import check_timezone

FORMAT: Final = "ldp-atlas-scenario"
VERSION: Final = 1
MAX_BYTES: Final = 256 * 1024
LONGEST_NAME: Final = 80
LONGEST_ABOUT: Final = 2_000

_TOP: Final = ("format", "version", "name", "about", "scenario", "schedule", "statements")
_POLYGON: Final = "polygon:"
_HEXADECIMAL: Final = frozenset("0123456789abcdef")


@dataclass(frozen=True, kw_only=True)
class ScenarioFile:
    """A scenario with what people say of it.

    Parameters
    ----------
    name
        One line, at most 80 characters.
    about
        What it is for, at most 2,000 characters; may be empty.
    scenario
        Every setting of the run.
    schedule
        When devices report.
    statements
        The user's own words by name of `ldpcore.statements.STATEMENTS`.

    Raises
    ------
    ParameterError
        If the name is empty or too long, or another text can't be used.
    """

    name: str
    about: str = ""
    scenario: Scenario = field(default_factory=Scenario)
    schedule: Schedule = field(default_factory=Schedule)
    statements: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", checked_name(self.name))
        object.__setattr__(self, "about", _checked_about(self.about))
        object.__setattr__(self, "statements", MappingProxyType(checked_statements(self.statements)))

    def to_json(self) -> str:
        """Return the file's text: the same scenario gives the same bytes."""
        document = {
            "format": FORMAT,
            "version": VERSION,
            "name": self.name,
            "about": self.about,
            "scenario": self.scenario.to_dict(),
            "schedule": self.schedule.to_dict(),
            "statements": dict(self.statements),
        }
        return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def link_token(file: ScenarioFile) -> str:
    """Return a scenario as one parameter of a link: its name and the settings that differ from the defaults."""
    return urlencode({"name": file.name, **file.scenario.to_params(), **file.schedule.to_params()})


def checked_name(text: str) -> str:
    """Return a name in its usual form: one line, spaces single, nothing that hides or reorders text.

    Raises
    ------
    ParameterError
        If nothing is left, or more than 80 characters.
    """
    name = " ".join(visible(text).split())
    if not name.strip("\u200c\u200d "):  # joiners alone show nothing
        raise ParameterError("name", "A scenario needs a name, such as Congestion map.")
    if len(name) > LONGEST_NAME:
        raise ParameterError(
            "name", f"A name has at most {LONGEST_NAME} characters, got {len(name):,}; shorten it."
        )
    return name


def _checked_about(text: str) -> str:
    about = visible(text).strip()
    if len(about) > LONGEST_ABOUT:
        raise ParameterError(
            "about",
            f"The description has at most {LONGEST_ABOUT:,} characters, got {len(about):,}; shorten it.",
        )
    return about


def read_scenario_file(content: str | bytes) -> ScenarioFile:
    """Read a scenario file.

    A setting that the file leaves out has its default; one that is there must be right.

    Parameters
    ----------
    content
        The file's text, or its bytes in UTF-8.

    Raises
    ------
    ParameterError
        If it is no scenario file, of a newer version, too large, or has a field that is unknown, of the wrong type,
        there twice, or against another one. ``parameter`` names the field.
    """
    document = _object("file", _parse(content))
    if document.get("format") != FORMAT:
        _refuse(
            "format", f"This is no scenario file: its format must be {FORMAT!r}, {_got(document, 'format')}."
        )
    version: Any = document.get("version")
    if not _is_integer(version) or version < 1:
        _refuse("version", f"The version must be the whole number {VERSION}, {_got(document, 'version')}.")
    if version > VERSION:
        _refuse(
            "version",
            f"This scenario file is of version {_short(version)}, newer than version {VERSION} that is read here; use a "
            "newer LDP Atlas.",
        )
    _known(document, _TOP, where="the file")
    if "name" not in document:
        _refuse("name", "A scenario file needs a name, such as Congestion map.")
    if "scenario" not in document:
        _refuse("scenario", "A scenario file needs a scenario: an object with its settings.")
    return ScenarioFile(
        name=_text("name", document["name"]),
        about=_text("about", document.get("about", "")),
        scenario=_scenario(_object("scenario", document["scenario"])),
        schedule=_schedule(_object("schedule", document.get("schedule", {}))),
        statements=_object("statements", document.get("statements", {})),
    )


def _parse(content: str | bytes) -> Any:  # noqa: ANN401 - any JSON
    size = len(content) if isinstance(content, bytes) else len(content.encode("utf-8", "surrogatepass"))
    if size > MAX_BYTES:
        _refuse(
            "file", f"A scenario file has at most {MAX_BYTES // 1024} kB; this one has {size / 1024:,.0f} kB."
        )
    try:
        text = content.decode("utf-8-sig") if isinstance(content, bytes) else content.removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise ParameterError(
            "file", f"This is no text in UTF-8: byte {error.start:,} can't be read; save it as UTF-8."
        ) from None
    try:
        return json.loads(
            text,
            object_pairs_hook=_without_repeats,
            parse_constant=lambda word: _refuse("file", f"{word} is no number of JSON; write a number."),
        )
    except json.JSONDecodeError as error:
        raise ParameterError(
            "file", f"This is no JSON: {error.msg.lower()} in line {error.lineno:,}, column {error.colno:,}."
        ) from None
    except RecursionError:
        raise ParameterError("file", "This file nests too deeply to be a scenario file.") from None
    except ParameterError:
        raise
    except ValueError:  # a whole number of more digits than Python reads
        raise ParameterError("file", "This file holds a number with too many digits.") from None


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            _refuse(name, f"The field {_short(name)} stands twice in the file; keep one.")
        found[name] = value
    return found


def _scenario(settings: dict[str, Any]) -> Scenario:
    _known(settings, tuple(entry.name for entry in fields(Scenario)), where="the scenario")
    read: dict[str, Any] = {name: _SCENARIO[name](name, value) for name, value in settings.items()}
    own = read.get("trips") is not None
    if own and "devices" in read:
        _refuse(
            "devices",
            "devices counts synthetic devices, but trips names a file, which has its own; leave one of them out.",
        )
    if not own and read.get("area") is not None:
        _refuse(
            "area", "area is the service area of a trip file, but trips names none; choose a city instead."
        )
    if not own and read.get("timezone") is not None:
        _refuse(
            "timezone",
            "timezone belongs to the service area of a trip file, but trips names none; leave it out.",
        )
    if own and "city" not in read:
        read["city"] = None
    if own and read["city"] is not None and read.get("area") is not None:
        _refuse("area", "The scenario names both a city and an area; keep one.")
    if read.get("timezone") is not None:
        check_timezone(read["timezone"])
    return Scenario(**read)


def _schedule(settings: dict[str, Any]) -> Schedule:
    _known(settings, tuple(entry.name for entry in fields(Schedule)), where="the schedule")
    return Schedule(**{name: _SCHEDULE[name](name, value) for name, value in settings.items()})


def _integer(name: str, value: Any) -> int:  # noqa: ANN401 - any JSON
    if not _is_integer(value):
        _refuse(name, f"{name} must be a whole number, got {_short(value)}.")
    return int(value)


def _number(name: str, value: Any) -> float:  # noqa: ANN401 - any JSON
    if isinstance(value, bool) or not isinstance(value, int | float):
        _refuse(name, f"{name} must be a number, got {_short(value)}.")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        _refuse(name, f"{name} must be a finite number, got {_short(value)}.")
    return number


def _flag(name: str, value: Any) -> bool:  # noqa: ANN401 - any JSON
    if not isinstance(value, bool):
        _refuse(name, f"{name} must be true or false, got {_short(value)}.")
    return bool(value)


def _text(name: str, value: Any) -> str:  # noqa: ANN401 - any JSON
    if not isinstance(value, str):
        _refuse(name, f"{name} must be text, got {_short(value)}.")
    return str(value)


def _digest(name: str, value: Any) -> str:  # noqa: ANN401 - any JSON
    text = _text(name, value)
    if len(text) != 64 or not set(text) <= _HEXADECIMAL:
        _refuse(name, "trips must be the 64 hexadecimal digits of the trip file's SHA-256.")
    return text


def _area(name: str, value: Any) -> str:  # noqa: ANN401 - any JSON
    """Return an area; a path is refused, since the file that would be opened isn't the sender's to choose."""
    text = _text(name, value)
    digits = text.removeprefix(_POLYGON)
    if text.startswith(_POLYGON) and len(digits) == 16 and set(digits) <= _HEXADECIMAL:
        return text
    if text.count(",") != 3:
        _refuse(
            name,
            "area must be W,S,E,N in degrees or the name of an outline, polygon: and its digest; a scenario file "
            "names no other file.",
        )
    area_from_text(text)
    return text


def _options(name: str, value: Any) -> tuple[tuple[str, Any], ...]:  # noqa: ANN401 - any JSON
    options = _object(name, value)
    return tuple(sorted((key, _option(key, entry)) for key, entry in options.items()))


def _option(key: str, value: Any) -> Any:  # noqa: ANN401 - any JSON
    if isinstance(value, list):  # a pair of probabilities
        return tuple(_number("options", entry) for entry in value)
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return _number("options", value)
    if isinstance(value, str) and len(value) <= LONGEST_NAME:
        return value
    return _refuse("options", f"The option {_short(key)} must be a number, a word, true, false or null.")


def _optional(read: Callable[[str, Any], Any]) -> Callable[[str, Any], Any]:
    return lambda name, value: None if value is None else read(name, value)


_SCENARIO: Final[Mapping[str, Callable[[str, Any], Any]]] = MappingProxyType(
    {
        "city": _optional(_text),
        "area": _optional(_area),
        "trips": _optional(_digest),
        "timezone": _optional(_text),
        "devices": _integer,
        "query": _text,
        "day": _optional(_text),
        "hour": _optional(_integer),
        "resolution": _integer,
        "mechanism": _text,
        "options": _options,
        "epsilon": _number,
        "floor": _integer,
        "confidence": _number,
        "correction": _text,
        "interval": _text,
        "seed": _integer,
        "draw": _integer,
        "per_report": _flag,
    }
)
_SCHEDULE: Final[Mapping[str, Callable[[str, Any], Any]]] = MappingProxyType(
    {"reports_a_day": _integer, "memo": _flag, "cap": _integer, "epoch_days": _integer, "at_cap": _text}
)


def _object(name: str, value: Any) -> dict[str, Any]:  # noqa: ANN401 - any JSON
    if not isinstance(value, dict):
        what = "This file" if name == "file" else name
        _refuse(name, f"{what} must be an object with named fields, got {_short(value)}.")
    found: dict[str, Any] = value
    return found


def _known(found: Mapping[str, Any], names: tuple[str, ...], *, where: str) -> None:
    for name in found:
        if name not in names:
            _refuse(name, f"There is no field {_short(name)} in {where}; it may hold {', '.join(names)}.")


def _is_integer(value: Any) -> bool:  # noqa: ANN401 - any JSON
    return isinstance(value, int) and not isinstance(value, bool)


def _got(document: Mapping[str, Any], name: str) -> str:
    return f"got {_short(document[name])}" if name in document else "and it has none"


def _short(value: Any) -> str:  # noqa: ANN401 - any JSON
    """Return a value for a message: what it is and how it starts, on one line."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int) and abs(value) >= 10**40:
        return "a number of very many digits"
    text = repr(visible(value) if isinstance(value, str) else value)
    return text if len(text) <= 60 else text[:57] + "..."


def _refuse(parameter: str, sentence: str) -> NoReturn:
    raise ParameterError(parameter, sentence)
