"""When a device reports: how often, what it remembers, and where it stops.

The schedule decides what a device's reports add up to. It changes no single run, so it stands beside the `Scenario`
and not in it: moving it recomputes nothing but the budget.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from types import MappingProxyType
from typing import Any, Final

from ldpcore.errors import ParameterError

AT_CAP: Final[Mapping[str, str]] = MappingProxyType(
    {
        "silent": "falls silent",
        "replay": "repeats an old answer",
    }
)
"""What a device does that has reported as many distinct cells as it may."""

_RANGES: Final[Mapping[str, tuple[str, int, int, int]]] = MappingProxyType(
    {
        "reports_a_day": ("Reports a day", 1, 1440, 288),
        "cap": ("The cap on distinct cells", 1, 1000, 10),
        "epoch_days": ("The length of an epoch in days", 1, 3650, 7),
    }
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Schedule:
    """When a device reports and what it remembers.

    Parameters
    ----------
    reports_a_day
        Reports of one device a day, 1 to 1440; 288 is every five minutes.
    memo
        Whether the device draws one answer per cell, domain version and epoch, and repeats it (memoisation); else it
        randomises every report afresh.
    cap
        Distinct cells a remembering device reports in one epoch, 1 to 1000.
    epoch_days
        Days after which the answers are drawn anew, 1 to 3650.
    at_cap
        What a device does at the cap, a key of `AT_CAP`.

    Raises
    ------
    ParameterError
        If a setting is not one of these.
    """

    reports_a_day: int = 1
    memo: bool = True
    cap: int = 10
    epoch_days: int = 7
    at_cap: str = "silent"

    def __post_init__(self) -> None:
        for name, (label, low, high, example) in _RANGES.items():
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int):
                raise ParameterError(name, f"{label} must be a whole number, got {value!r}; try {example}.")
            if not low <= value <= high:
                raise ParameterError(
                    name, f"{label} must be between {low:,} and {high:,}, got {value:,}; try {example}."
                )
        if not isinstance(self.memo, bool):
            raise ParameterError("memo", f"memo is true or false, got {self.memo!r}.")
        if self.at_cap not in AT_CAP:
            raise ParameterError(
                "at_cap", f"At the cap a device is silent or replays, got {self.at_cap!r}; try silent."
            )

    def to_dict(self) -> dict[str, Any]:
        """Return every setting by name, ready for JSON."""
        return asdict(self)

    def to_params(self) -> dict[str, str]:
        """Return the settings that differ from the defaults, as text for a link.

        Examples
        --------
        >>> Schedule(reports_a_day=288, memo=False).to_params()
        {'reports_a_day': '288', 'memo': '0'}
        """
        return {
            field.name: str(int(value)) if isinstance(value, bool) else str(value)
            for field in fields(self)
            if (value := getattr(self, field.name)) != getattr(DEFAULT_SCHEDULE, field.name)
        }

    @classmethod
    def from_params(cls, params: Mapping[str, str]) -> tuple[Schedule, list[str]]:
        """Read a link's settings; what can't be used is left at its default and named.

        Returns
        -------
        The schedule, and one sentence for each setting that was not used.
        """
        schedule, problems = cls(), []
        for name, read in _READERS.items():
            if name not in params:
                continue
            try:
                schedule = replace(schedule, **{name: read(params[name])})
            except ParameterError as error:
                problems.append(f"The setting {name} of the link was not used. {error}")
            except ValueError:
                problems.append(
                    f"The setting {name} of the link was not used. {params[name]!r} is not a value of {name}."
                )
        return schedule, problems


def _read_flag(text: str) -> bool:
    if text not in {"0", "1"}:
        raise ValueError(text)
    return text == "1"


_READERS: Final[Mapping[str, Callable[[str], Any]]] = MappingProxyType(
    {"reports_a_day": int, "memo": _read_flag, "cap": int, "epoch_days": int, "at_cap": str}
)

DEFAULT_SCHEDULE: Final = Schedule()
"""One report a day; the unit of a run with the default scenario."""
