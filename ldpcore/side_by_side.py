"""Two scenarios side by side: which settings differ, what changes in the promise, and what changes in use.

The promise follows from the settings alone. What is got is measured over redraws of the devices' coins, beside what
theory expects, so that a difference that is only luck can be seen for what it is.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from types import MappingProxyType
from typing import Any, Final

import numpy as np
import pandas as pd

from ldpcore.errors import ParameterError
from ldpcore.estimate import smallest_count
from ldpcore.guessing import best_guess
from ldpcore.mechanisms import Mechanism
from ldpcore.metrics import Figures
from ldpcore.population import UNITS, Population
from ldpcore.privacy.composition import device_loss
from ldpcore.release import Release
from ldpcore.release_files import csv_bytes
from ldpcore.scenario_file import ScenarioFile
from ldpcore.schedule import Schedule
from ldpcore.settings import Scenario

REDRAWS: Final = 20
"""Redraws that a figure of use is the mean of."""
_MANY_CELLS: Final = 20_000
_FEW_REDRAWS: Final = 5
RELATIVE_ERROR: Final = 0.10
BY_CHANCE: Final = 3.0
"""Standard errors beyond which a difference is not put down to luck."""

SETTING_LABELS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "city": "City",
        "area": "Service area",
        "trips": "Trip file (SHA-256)",
        "timezone": "Time zone of the area",
        "devices": "Devices",
        "query": "Question",
        "day": "Day",
        "hour": "Hour",
        "resolution": "Resolution (H3)",
        "mechanism": "Randomiser (mechanism)",
        "options": "Options of the randomiser",
        "epsilon": "Privacy loss of one report (ε)",
        "floor": "Floor, devices",
        "confidence": "Confidence",
        "correction": "Correction over cells",
        "interval": "Error bars (intervals)",
        "seed": "Seed",
        "draw": "Redraw",
        "per_report": "Every report really made",
        "reports_a_day": "Reports a day",
        "memo": "Answers remembered (memoisation)",
        "cap": "Distinct cells an epoch at most",
        "epoch_days": "Days of an epoch",
        "at_cap": "At the cap",
    }
)
"""Plain words for every setting of a scenario and its schedule."""

_UNIT_DAYS: Final = ((1, "a day"), (30, "30 days"), (365, "a year"))


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a comparison.

    Parameters
    ----------
    group
        ``"settings"``, ``"promise"`` or ``"use"``.
    key
        Name of the figure in files.
    label
        Plain words.
    first, second
        The two values; None where there is none.
    first_error, second_error
        Standard error of the mean where it was measured over redraws, else None.
    first_expected, second_expected
        What theory expects, where it says anything.
    unit
        Of the values; may be empty.
    """

    group: str
    key: str
    label: str
    first: Any
    second: Any
    unit: str = ""
    first_error: float | None = None
    second_error: float | None = None
    first_expected: float | None = None
    second_expected: float | None = None

    @property
    def differs(self) -> bool:
        """Whether the two values differ, beyond luck where they were measured."""
        if self.first_error is None or self.second_error is None:
            return bool(self.first != self.second)
        gap = abs(self.first - self.second)
        return bool(gap > BY_CHANCE * math.hypot(self.first_error, self.second_error) and gap > 0)


@dataclass(frozen=True, eq=False, slots=True)
class Side:
    """One of two scenarios, with all that is compared.

    Parameters
    ----------
    file
        Its name, scenario and schedule.
    population
        What its devices hold.
    mechanism
        Its randomiser.
    counts
        Of the draw it shows, for randomisers whose error depends on other cells.
    draws
        Figures of `REDRAWS` redraws.
    """

    file: ScenarioFile
    population: Population
    mechanism: Mechanism
    counts: Any
    draws: tuple[Figures, ...]

    @property
    def scenario(self) -> Scenario:
        """The settings of the run."""
        return self.file.scenario

    @property
    def schedule(self) -> Schedule:
        """When its devices report."""
        return self.file.schedule


def side_of(
    file: ScenarioFile,
    release_of: Callable[[Scenario], Release],
    *,
    figures_of: Callable[[Scenario], Figures] | None = None,
    redraws: int | None = None,
) -> Side:
    """Run one side: the draw it names and the block of redraws around it.

    Parameters
    ----------
    file
        What to run.
    release_of
        Runs a scenario; a page gives its cache, the command line `ldpcore.scenario.run`.
    figures_of
        Gives the figures of a scenario alone, where they are kept without the run.
    redraws
        How many redraws, at least 2; as many as `redraws_for` says where None.

    Raises
    ------
    ParameterError
        If a setting is impossible, or the scenario needs a trip file that is not there.
    """
    shown = release_of(file.scenario)
    count = redraws_for(shown.population.domain.size) if redraws is None else redraws
    first = file.scenario.draw - file.scenario.draw % count
    # The counts' joint law stands in for reports one by one: twenty times ten million reports are no page's work.
    drawn = replace(file.scenario, per_report=False)
    scenarios = [replace(drawn, draw=draw) for draw in range(first, first + count)]
    figures = tuple(
        figures_of(scenario) if figures_of is not None else release_of(scenario).figures
        for scenario in scenarios
    )
    mechanism: Any = shown.mechanism
    return Side(file, shown.population, mechanism, shown.counts, figures)


def redraws_for(cells: int) -> int:
    """Return how many redraws a figure is the mean of: fewer on grids so fine that each costs seconds."""
    return REDRAWS if cells <= _MANY_CELLS else _FEW_REDRAWS


def compare_sides(first: Side, second: Side) -> tuple[Row, ...]:
    """Return every line of the comparison: settings that differ, the promise, and the use."""
    return (*settings_that_differ(first.file, second.file), *promise(first, second), *use(first, second))


def settings_that_differ(first: ScenarioFile, second: ScenarioFile) -> tuple[Row, ...]:
    """Return a line for each setting of scenario and schedule that is not the same."""
    one, other = (_settings(file) for file in (first, second))
    return tuple(
        Row("settings", name, label, one.get(name), other.get(name))
        for name, label in SETTING_LABELS.items()
        if one.get(name) != other.get(name)
    )


def _settings(file: ScenarioFile) -> dict[str, Any]:
    settings = {**file.scenario.to_dict(), **file.schedule.to_dict()}
    settings["options"] = ", ".join(f"{name}={value}" for name, value in file.scenario.options) or None
    if file.scenario.synthetic:
        settings["day"] = settings["day"] or "weekday"  # both are the same day
    return settings


def promise(first: Side, second: Side) -> tuple[Row, ...]:
    """Return what each side promises to a device, all of it computed from settings and exact probabilities."""
    sides = (first, second)

    def row(key: str, label: str, values: Sequence[Any], unit: str = "") -> Row:
        return Row("promise", key, label, values[0], values[1], unit)

    rows = [
        row("epsilon", "Loss of one report, on the label (ε)", [side.scenario.epsilon for side in sides]),
        row(
            "epsilon_effective",
            "Loss of one report, from its exact probabilities",
            [side.mechanism.epsilon_effective for side in sides],
        ),
        row(
            "odds",
            "Odds about a device change by at most",
            [math.exp(side.mechanism.epsilon_effective) for side in sides],
            "to 1",
        ),
        row(
            "best_guess",
            "One report names its device's cell, every cell equally likely before",
            [best_guess(side.mechanism).success for side in sides],
            "share",
        ),
        row("unit", "One report covers", [UNITS[side.population.unit] for side in sides]),
    ]
    losses = [
        [
            device_loss(
                side.scenario.epsilon,
                side.schedule,
                days=days,
                distinct_cells=side.population.domain.size,
            )
            for side in sides
        ]
        for days, _ in _UNIT_DAYS
    ]
    for (days, words), pair in zip(_UNIT_DAYS, losses, strict=True):
        rows.append(
            row(
                f"epsilon_{days}_days",
                f"Total loss of the worst device in {words}",
                [loss.epsilon for loss in pair],
            )
        )
    rows.append(
        row(
            "pattern_hidden",
            "When the device changed cell is covered too",
            [loss.pattern_hidden for loss in losses[-1]],
        )
    )
    return tuple(rows)


def use(first: Side, second: Side) -> tuple[Row, ...]:
    """Return what each side gives: means over redraws with their standard errors, beside what theory expects."""
    sides = (first, second)
    cells = [float(side.population.domain.size) for side in sides]
    return (
        _plain_row("reports", "Reports", [side.population.size for side in sides]),
        _plain_row("cells", "Cells of the domain", [side.population.domain.size for side in sides]),
        _measured(sides, "published", "Cells published", "cells"),
        _measured(sides, "published", "Share of cells published", "share", per=cells),
        _error_row(sides),
        _plain_row(
            "smallest_count",
            f"Smallest count known to ±{100 * RELATIVE_ERROR:g} % (one standard error)",
            [_trusted(side) for side in sides],
            _noun(sides),
        ),
        _measured(sides, "coverage", "Error bars that hold the truth", "share"),
        _measured(sides, "false_published", "False publications", "cells"),
        _measured(sides, "false_suppressed", "Cells held back that reach the floor", "cells"),
    )


def _noun(sides: tuple[Side, Side]) -> str:
    """Return what both sides count; a report is one device's or one trip's where they differ."""
    nouns = {side.population.noun for side in sides}
    return nouns.pop() if len(nouns) == 1 else "reports"


def _plain_row(key: str, label: str, values: Sequence[float | None], unit: str = "") -> Row:
    return Row("use", key, label, values[0], values[1], unit)


def _measured(
    sides: tuple[Side, Side], name: str, label: str, unit: str, *, per: Sequence[float] = (1.0, 1.0)
) -> Row:
    """Return a line of a figure's mean over redraws, over `per` where it is a share."""
    means, errors, expected = [], [], []
    for side, whole in zip(sides, per, strict=True):
        mean, error = _mean_and_error([getattr(figures, name) / whole for figures in side.draws])
        means.append(mean)
        errors.append(error)
        expected.append(getattr(side.draws[0], f"{name}_expected") / whole)
    key = name if per == (1.0, 1.0) else f"{name}_share"
    return _row_of(key, label, unit, means, errors, expected)


def _error_row(sides: tuple[Side, Side]) -> Row:
    """Return the line of the typical error: the root of the mean square over cells and redraws, as theory has it.

    A mean of roots would lie below what the exact variance says, the more the fewer cells there are.
    """
    roots, errors = [], []
    for side in sides:
        square, square_error = _mean_and_error([figures.rmse**2 for figures in side.draws])
        root = math.sqrt(square)
        roots.append(root)
        errors.append(square_error / (2 * root) if root else 0.0)
    expected = [side.draws[0].rmse_expected for side in sides]
    return _row_of("rmse", "Typical error of a cell", _noun(sides), roots, errors, expected)


def _row_of(
    key: str,
    label: str,
    unit: str,
    means: Sequence[float],
    errors: Sequence[float],
    expected: Sequence[float],
) -> Row:
    return Row("use", key, label, means[0], means[1], unit, errors[0], errors[1], expected[0], expected[1])


def _mean_and_error(values: Sequence[float]) -> tuple[float, float]:
    array = np.asarray(values, np.float64)
    return float(array.mean()), float(array.std(ddof=1) / math.sqrt(array.size))


def _trusted(side: Side) -> float | None:
    """Return the smallest count known well enough; None where not even all devices in one cell would be."""
    n = side.population.size
    try:
        count = smallest_count(side.mechanism, n=n, relative_error=RELATIVE_ERROR, counts=side.counts)
    except ParameterError:
        return None
    return count if count <= n else None


def comparison_dict(first: Side, second: Side) -> dict[str, Any]:
    """Return the whole comparison ready for JSON: both scenarios and every line."""
    return {
        "first": json.loads(first.file.to_json()),
        "second": json.loads(second.file.to_json()),
        "redraws": [len(first.draws), len(second.draws)],
        "rows": [
            {entry.name: _plain(getattr(row, entry.name)) for entry in fields(row)} | {"differs": row.differs}
            for row in compare_sides(first, second)
        ],
    }


def comparison_json(first: Side, second: Side) -> bytes:
    """Return the comparison as a JSON file."""
    text = json.dumps(comparison_dict(first, second), indent=2, ensure_ascii=False, allow_nan=False)
    return (text + "\n").encode()


def comparison_csv(first: Side, second: Side) -> bytes:
    """Return the lines of the comparison as a CSV file, which no spreadsheet runs as formulas."""
    document = comparison_dict(first, second)
    frame = pd.DataFrame(document["rows"]).astype(object)
    frame = frame.where(frame.notna(), "")
    frame = frame.rename(
        columns={
            name: name.replace("first", "a").replace("second", "b")
            for name in frame.columns
            if name.startswith(("first", "second"))
        }
    )
    frame.insert(0, "name_a", first.file.name)
    frame.insert(1, "name_b", second.file.name)
    return csv_bytes(frame, {})


def _plain(value: Any) -> Any:  # noqa: ANN401 - any figure
    return (
        float(value)
        if isinstance(value, np.floating)
        else int(value)
        if isinstance(value, np.integer)
        else value
    )
