"""The grid of a sweep: which settings are tried, and what each combination gave."""

from __future__ import annotations

import itertools
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from ldpcore.errors import ParameterError
from ldpcore.mechanisms.options import checked_integer
from ldpcore.settings import DEFAULT, Scenario
from ldpcore.sweep_figures import Bounds

MAX_RUNS: Final = 200_000

AXES: Final = ("epsilon", "resolution", "mechanism", "devices", "floor", "query")
"""Settings a grid can vary, the last one fastest."""

Settings: TypeAlias = tuple[tuple[str, Any], ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Grid:
    """Every combination of some settings, the others as in one scenario.

    Parameters
    ----------
    base
        What is not varied.
    epsilons, resolutions, mechanisms, devices, floors, queries
        Values to try; empty keeps the one of `base`.
    repeats
        Redraws of each combination, at least 1, starting at the draw of `base`.
    options
        Options of every randomiser tried; by default those of `base`, for its own randomiser alone.

    Raises
    ------
    ParameterError
        If there are no repeats, too many runs, or several numbers of devices for a file.
    """

    base: Scenario
    epsilons: tuple[float, ...] = ()
    resolutions: tuple[int, ...] = ()
    mechanisms: tuple[str, ...] = ()
    devices: tuple[int, ...] = ()
    floors: tuple[int, ...] = ()
    queries: tuple[str, ...] = ()
    repeats: int = 10
    options: tuple[tuple[str, Any], ...] | None = None

    def __post_init__(self) -> None:
        checked_integer("repeats", self.repeats, minimum=1, example=10)
        if self.devices and not self.base.synthetic:
            raise ParameterError("devices", "The devices of a file are those in it; leave devices out.")
        runs = len(self.points()) * self.repeats
        if runs > MAX_RUNS:
            raise ParameterError(
                "repeats", f"A sweep is at most {MAX_RUNS:,} runs, this one has {runs:,}; try fewer values."
            )

    def points(self) -> list[Settings]:
        """Return every combination as (name, value) pairs, in the order of the answer."""
        tried = (self.epsilons, self.resolutions, self.mechanisms, self.devices, self.floors, self.queries)
        values = [given or (getattr(self.base, name),) for name, given in zip(AXES, tried, strict=True)]
        return [tuple(zip(AXES, point, strict=True)) for point in itertools.product(*values)]

    def to_command(self, *, trips_path: str = "TRIPS", reading: Sequence[str] = ()) -> str:
        """Return the command line that gives the same figures.

        Parameters
        ----------
        trips_path
            What stands for the path of the user's file, which the scenario doesn't know.
        reading
            Words that say how the file was read, beyond what it says itself.

        Raises
        ------
        ParameterError
            If the command line can't say it: it starts at redraw 0, draws counts from their law, and gives all
            randomisers the same options.

        Examples
        --------
        >>> Grid(base=Scenario(), epsilons=(1.0, 2.0), repeats=5).to_command()
        'python -m ldpcore sweep --city new_york --devices 10000000 --epsilons 1.0,2.0 --resolutions 7 \
--mechanisms oue --floors 300 --queries origins --repeats 5 --confidence 0.95 --seed 1'
        """
        base = self.base
        if base.draw or base.per_report:
            raise ParameterError("draw", "The command line's sweeps start at redraw 0 and draw from the law.")
        options = base.options if self.options is None else self.options
        if self.options is None and options and set(self.mechanisms) - {base.mechanism}:
            raise ParameterError("options", "The command line gives all randomisers the same options.")
        words = ["python", "-m", "ldpcore", "sweep"]
        if base.trips is not None:
            words += ["--trips", trips_path, *reading]
        if base.city is not None:
            words += ["--city", base.city]
        if base.area is not None:
            words += [f"--area={base.area}"]  # a leading minus would read as an option
        if base.timezone is not None:
            words += ["--timezone", base.timezone]
        if base.synthetic:
            words += ["--devices", _listed(self.devices or (base.devices,))]
        words += ["--epsilons", _listed(self.epsilons or (base.epsilon,))]
        words += ["--resolutions", _listed(self.resolutions or (base.resolution,))]
        words += ["--mechanisms", _listed(self.mechanisms or (base.mechanism,))]
        words += ["--floors", _listed(self.floors or (base.floor,))]
        words += ["--queries", _listed(self.queries or (base.query,)), "--repeats", str(self.repeats)]
        words += ["--confidence", repr(base.confidence), "--seed", str(base.seed)]
        for name in ("hour", "day", "correction", "interval"):
            value = getattr(base, name)
            if value != getattr(DEFAULT, name):
                words += [f"--{name}", str(value)]
        if options:
            words += ["--options", ",".join(f"{name}={value}" for name, value in options)]
        return shlex.join(words)

    def options_for(self, settings: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
        """Return the randomiser's options at a combination."""
        if self.options is not None:
            return self.options
        return self.base.options if settings["mechanism"] == self.base.mechanism else ()


@dataclass(frozen=True, eq=False, slots=True)
class Point:
    """What one combination gave.

    Parameters
    ----------
    settings
        Value of each of `AXES`.
    fixed
        Figures that no redraw changes: the domain, the reports, p and q, and what theory predicts.
    mean, spread
        Mean and standard deviation over the redraws of each figure that changes; None where there is none.
    repeats
        Redraws done; 0 where the combination could not be run.
    error
        Why it could not be run, in one sentence, else None.
    bounds
        What publication at any floor depends on, one a redraw.
    """

    settings: Mapping[str, Any]
    fixed: Mapping[str, Any] = field(default_factory=dict)
    mean: Mapping[str, float | None] = field(default_factory=dict)
    spread: Mapping[str, float | None] = field(default_factory=dict)
    repeats: int = 0
    error: str | None = None
    bounds: tuple[Bounds, ...] = ()

    def row(self) -> dict[str, Any]:
        """Return everything in one flat row: a figure under its name, its deviation under the name with ``_sd``."""
        spreads = {f"{name}_sd": value for name, value in self.spread.items()}
        return {
            **self.settings,
            "repeats": self.repeats,
            **self.fixed,
            **self.mean,
            **spreads,
            "error": self.error,
        }


def _listed(values: Sequence[Any]) -> str:
    return ",".join(str(value) for value in values)
