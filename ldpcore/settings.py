"""A scenario: every setting of a run, frozen, in one object that fits in a link.

The dashboard, the command line, the benchmarks and the tests describe a run by a
`Scenario` and nothing else, so any figure on any page can be made again from its link.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from types import MappingProxyType
from typing import Any, Final

from ldpcore.errors import ParameterError
from ldpcore.estimate import CORRECTIONS, INTERVALS
from ldpcore.mechanisms import MECHANISMS, parse_options
from ldpcore.mechanisms.options import option_names
from ldpcore.trips.cities import CITIES

RESOLUTIONS: Final = (5, 6, 7, 8, 9, 10)
DAYS: Final = ("weekday", "weekend")
MAX_EPSILON: Final = 20.0
MAX_DEVICES: Final = 10_000_000_000
MAX_SEED: Final = 2**63 - 1

QUERIES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "origins": "Where do trips start?",
        "destinations": "Where do trips end?",
        "presence": "Where are devices at a given hour?",
    }
)
"""The questions a device can answer with one cell, and how a page asks them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Scenario:
    """Every setting of one run.

    Parameters
    ----------
    city
        Slug of a built-in service area; None where the trips come from a file and the area
        is found from it or given by `area`.
    area
        A service area of the user's: ``"W,S,E,N"`` in degrees, or the path of a GeoJSON file.
    trips
        SHA-256 of the trip file's content, hexadecimal; None for synthetic trips. The digest
        names the file without holding it, so a link to a run on a user's file says which
        file is needed and gives nothing of it away.
    timezone
        IANA zone of an `area`; built-in cities have their own.
    devices
        Number of simulated devices; without meaning where `trips` is set.
    query
        The question each device answers, a key of `QUERIES`.
    day
        ``"weekday"`` or ``"weekend"``; None is a weekday for synthetic trips and every day for
        a file.
    hour
        Local hour of the day, 0 to 23, or None for the whole day.
    resolution
        H3 resolution of the published cells, 5 to 10.
    mechanism, options
        The randomiser: a name of `ldpcore.mechanisms.MECHANISMS` and its options as sorted
        (name, value) pairs.
    epsilon
        Privacy loss of one report, greater than 0 and at most 20.
    floor
        Smallest number of devices in a cell that may be published.
    confidence
        Of the error bars and of the promise behind the floor, between 0 and 1.
    correction
        How the promise is kept over all cells at once, a key of `CORRECTIONS`.
    interval
        How error bars are computed, a key of `INTERVALS`.
    seed
        Of the synthetic trips and of the simulated randomisation.
    draw
        Which of the independent redraws of the randomisation; the trips stay the same.
    per_report
        Whether every device's report is really made and counted, rather than the server's
        counts drawn from their joint law.
    """

    city: str | None = "new_york"
    area: str | None = None
    trips: str | None = None
    timezone: str | None = None
    devices: int = 10_000_000
    query: str = "origins"
    day: str | None = None
    hour: int | None = None
    resolution: int = 7
    mechanism: str = "oue"
    options: tuple[tuple[str, Any], ...] = ()
    epsilon: float = 2.0
    floor: int = 300
    confidence: float = 0.95
    correction: str = "bonferroni"
    interval: str = "score"
    seed: int = 1
    draw: int = 0
    per_report: bool = False

    def __post_init__(self) -> None:
        for name, table in _TABLES.items():
            value = getattr(self, name)
            if value is not None:
                _require_member(name, value, table)
        for name, (label, low, high, example) in _RANGES.items():
            value = getattr(self, name)
            if value is not None:
                _require_range(name, label, value, low, high, example)
        self._check_trips()
        self._check_rules()

    def _check_trips(self) -> None:
        if self.trips is not None:
            return
        if self.area is not None:
            raise ParameterError("area", "An area of your own needs a trip file; choose a built-in city.")
        if self.city is None:
            raise ParameterError("city", f"Choose a city: {_listed(CITIES)}.")
        if self.devices == 0:
            raise ParameterError(
                "devices",
                "No data: with 0 devices there is nothing to estimate, not even a zero; try 1000000.",
            )
        _require_range("devices", "The number of devices", self.devices, 1, MAX_DEVICES, 1_000_000)

    def _check_rules(self) -> None:
        if self.resolution not in RESOLUTIONS:
            raise ParameterError(
                "resolution", f"The resolution must be 5, 6, 7, 8, 9 or 10, got {self.resolution}; try 7."
            )
        if not (math.isfinite(self.epsilon) and 0 < self.epsilon <= MAX_EPSILON):
            raise ParameterError(
                "epsilon", f"Epsilon must be greater than 0 and at most 20, got {self.epsilon:g}; try 2."
            )
        known = option_names(MECHANISMS[self.mechanism])
        for name in dict(self.options):
            if name not in known:
                raise ParameterError(
                    "options",
                    f"The randomiser {self.mechanism} has no option {name!r}; "
                    + (f"it has {_listed(known)}." if known else "it has none."),
                )
        if not 0 < self.confidence < 1:
            raise ParameterError(
                "confidence",
                f"The confidence must lie between 0 and 1, both excluded, got {self.confidence:g}; try 0.95.",
            )

    @property
    def synthetic(self) -> bool:
        """Whether the trips are generated rather than read from a file."""
        return self.trips is None

    def to_params(self) -> dict[str, str]:
        """Return the settings that differ from the defaults, as text for a link.

        Examples
        --------
        >>> Scenario(epsilon=1.5, resolution=8).to_params()
        {'resolution': '8', 'epsilon': '1.5'}
        """
        default = DEFAULT
        return {
            field.name: _CODECS[field.name].write(getattr(self, field.name))
            for field in fields(self)
            if getattr(self, field.name) != getattr(default, field.name)
        }

    def to_dict(self) -> dict[str, Any]:
        """Return every setting by name, ready for JSON."""
        return {
            field.name: (dict(self.options) if field.name == "options" else getattr(self, field.name))
            for field in fields(self)
            if self.synthetic or field.name != "devices"
        }

    def to_command(
        self, *, trips_path: str = "TRIPS", reading: Sequence[str] = (), out: str | None = None
    ) -> str:
        """Return the command line that makes the same run.

        Parameters
        ----------
        trips_path
            What stands for the path of the user's file, which the scenario doesn't know.
        reading
            Words that say how the file was read, beyond what it says itself.
        out
            File to write the release to, if any.

        Examples
        --------
        >>> Scenario(epsilon=1.0).to_command()
        'python -m ldpcore run --city new_york --devices 10000000 --query origins --resolution 7 \
--mechanism oue --epsilon 1.0 --floor 300 --confidence 0.95 --seed 1'
        """
        words = ["python", "-m", "ldpcore", "run"]
        if self.trips is not None:
            words += ["--trips", trips_path, *reading]
        if self.city is not None:
            words += ["--city", self.city]
        if self.area is not None:
            words += [f"--area={self.area}"]  # a leading minus would read as an option
        if self.timezone is not None:
            words += ["--timezone", self.timezone]
        if self.synthetic:
            words += ["--devices", str(self.devices)]
        words += ["--query", self.query, "--resolution", str(self.resolution)]
        words += ["--mechanism", self.mechanism, "--epsilon", repr(self.epsilon)]
        words += ["--floor", str(self.floor), "--confidence", repr(self.confidence), "--seed", str(self.seed)]
        for name in ("draw", "hour", "day", "correction", "interval", "options"):
            value = getattr(self, name)
            if value != getattr(DEFAULT, name):
                words += [f"--{name}", _CODECS[name].write(value)]
        if self.per_report:
            words.append("--per-report")
        if out is not None:
            words += ["--out", out]
        return shlex.join(words)

    @classmethod
    def from_params(cls, params: Mapping[str, str]) -> tuple[Scenario, list[str]]:
        """Read a link's settings; what can't be used is left at its default and named.

        A link that somebody edited should still open: each setting is tried on its own.

        Returns
        -------
        The scenario, and one sentence for each setting that was not used.
        """
        scenario, problems = cls(), []
        pending = {name: text for name, text in params.items() if name in _CODECS}
        # A setting can depend on another (an area needs a file), so retry until none is accepted.
        accepted = True
        reasons: dict[str, str] = {}
        while pending and accepted:
            accepted = False
            for name, text in list(pending.items()):
                try:
                    scenario = replace(scenario, **{name: _CODECS[name].read(text)})
                except ParameterError as error:
                    reasons[name] = str(error)
                except ValueError:
                    reasons[name] = f"{text!r} is not a value of {name}."
                else:
                    del pending[name]
                    accepted = True
        problems += [f"The setting {name} of the link was not used. {reasons[name]}" for name in pending]
        return scenario, problems


def require_publishing_rules(*, floor: int, confidence: float, correction: str, interval: str) -> None:
    """Refuse rules of publishing that no scenario could have.

    Parameters are those of `Scenario`.

    Raises
    ------
    ParameterError
        If one is out of range or not known.
    """
    Scenario(floor=floor, confidence=confidence, correction=correction, interval=interval)


@dataclass(frozen=True, slots=True)
class _Codec:
    """How one setting is written as text and read back."""

    read: Any
    write: Any = str


def _read_flag(text: str) -> bool:
    if text not in {"0", "1"}:
        raise ValueError(text)
    return text == "1"


def _read_digest(text: str) -> str:
    if len(text) != 64 or not set(text) <= set("0123456789abcdef"):
        raise ParameterError("trips", "A trip file is named by the 64 hexadecimal digits of its SHA-256.")
    return text


_CODECS: Final[Mapping[str, _Codec]] = MappingProxyType(
    {
        "city": _Codec(lambda text: text or None, lambda city: city or ""),
        "area": _Codec(str),
        "trips": _Codec(_read_digest),
        "timezone": _Codec(str),
        "devices": _Codec(int),
        "query": _Codec(str),
        "day": _Codec(str),
        "hour": _Codec(int),
        "resolution": _Codec(int),
        "mechanism": _Codec(str),
        "options": _Codec(
            lambda text: tuple(sorted(parse_options(text).items())),
            lambda options: ",".join(f"{name}={value}" for name, value in options),
        ),
        "epsilon": _Codec(float, repr),
        "floor": _Codec(int),
        "confidence": _Codec(float, repr),
        "correction": _Codec(str),
        "interval": _Codec(str),
        "seed": _Codec(int),
        "draw": _Codec(int),
        "per_report": _Codec(_read_flag, lambda flag: str(int(flag))),
    }
)


def _listed(names: Mapping[str, Any] | tuple[str, ...]) -> str:
    return ", ".join(names)


def _require_member(parameter: str, value: str, table: Mapping[str, Any] | tuple[str, ...]) -> None:
    if value not in table:
        raise ParameterError(parameter, f"There is no {parameter} {value!r}; choose one of {_listed(table)}.")


def _require_range(parameter: str, label: str, value: int, low: int, high: int, example: int) -> None:
    if not low <= value <= high:
        raise ParameterError(
            parameter, f"{label} must be between {low:,} and {high:,}, got {value:,}; try {example}."
        )


_TABLES: Final[Mapping[str, Mapping[str, Any] | tuple[str, ...]]] = MappingProxyType(
    {
        "city": CITIES,
        "query": QUERIES,
        "day": DAYS,
        "mechanism": MECHANISMS,
        "correction": CORRECTIONS,
        "interval": INTERVALS,
    }
)
_RANGES: Final[Mapping[str, tuple[str, int, int, int]]] = MappingProxyType(
    {
        "floor": ("The floor", 0, MAX_DEVICES, 300),
        "seed": ("The seed", 0, MAX_SEED, 1),
        "draw": ("The draw", 0, MAX_SEED, 0),
        "hour": ("The hour", 0, 23, 8),
    }
)

DEFAULT: Final = Scenario()
"""The scenario a page and the command line start from."""
