"""The section that sets another scenario beside the report's own: settings, promise and use, and no ranking.

It is there only where somebody asked for it. A is the report's scenario, B the other one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from ldpcore.mechanisms import MECHANISMS
from ldpcore.population import UNITS
from ldpcore.review.facts import Facts, configuration_of, full_review_command
from ldpcore.review.other import Beside
from ldpcore.review.report import BESIDE, Claim, Section, Table
from ldpcore.review.words import percent, rounded, whole
from ldpcore.schedule import AT_CAP
from ldpcore.settings import QUERIES
from ldpcore.side_by_side import BY_CHANCE, Row, Side, compare_sides, redraws_for
from ldpcore.trips.cities import CITIES
from ldpcore.trips.generate import DEFAULT_PRESENCE_HOUR

_NONE: Final = "–"
_NOTHING: Final[Mapping[str, str]] = MappingProxyType(
    {
        "hour": "all day",
        "day": "every day",
        "options": "its own",
        "best_guess": "not known",
        "smallest_count": "none: not even all in one cell",
    }
)
_TABLES: Final[Mapping[str, Mapping[str, str]]] = MappingProxyType(
    {
        "city": {slug: city.label for slug, city in CITIES.items()},
        "query": QUERIES,
        "mechanism": {name: f"{kind.label} ({name})" for name, kind in MECHANISMS.items()},
        "at_cap": AT_CAP,
    }
)
_WRITERS: Final[Mapping[str, Callable[[Any], str]]] = MappingProxyType(
    {
        "trips": lambda digest: f"{digest[:12]}…",
        "hour": lambda hour: f"{hour:02d}:00",
        "epsilon": lambda epsilon: f"{epsilon:g}",
        "epsilon_effective": lambda epsilon: rounded(epsilon, 9),
        "odds": rounded,
        "smallest_count": rounded,
        **dict.fromkeys(
            ("devices", "floor", "reports", "cells", "reports_a_day", "cap", "epoch_days"), whole
        ),
    }
)


def beside(facts: Facts) -> Section | None:
    """Say what another scenario changes; None where the report stands alone."""
    pair = facts.beside
    if pair is None:
        return None
    rows = compare_sides(pair.first, pair.second)
    groups = {name: [row for row in rows if row.group == name] for name in ("settings", "promise", "use")}
    return Section(
        BESIDE,
        "Beside another scenario",
        (
            _which(facts, pair),
            _settings(facts, _hours_taken(groups["settings"], pair)),
            _promise(facts, pair, groups["promise"]),
            _use(facts, pair, groups["use"]),
        ),
    )


def _hours_taken(rows: list[Row], pair: Beside) -> list[Row]:
    """Return the settings with the hour that is taken where the question needs one and none is named."""
    first, second = (
        DEFAULT_PRESENCE_HOUR
        if side.scenario.hour is None and side.scenario.query == "presence"
        else side.scenario.hour
        for side in (pair.first, pair.second)
    )
    others = [row for row in rows if row.key != "hour"]
    if first == second:
        return others
    return [*others, Row("settings", "hour", "Hour", first, second)]


def _which(facts: Facts, pair: Beside) -> Claim:
    file = pair.second.file
    configuration = configuration_of(file.scenario, file.schedule)
    return Claim(
        f"A is the scenario of this report. B is “{file.name}”. The checks of this report were run on A alone. What follows sets "
        "figures side by side and ranks nothing: a promise and a use are given up for one another by a decision, not by a computation. "
        "The command makes the whole report of B.",
        reproduce=full_review_command(file.scenario, file.schedule, level=facts.evidence.level),
        figures={"name": file.name, "configuration": configuration},
        about="Which two",
        exact=(("Configuration of B (SHA-256)", configuration),),
    )


def _settings(facts: Facts, rows: list[Row]) -> Claim:
    count = len(rows)
    if not count:
        return Claim(
            "No setting differs: both are the same run under the same schedule.",
            reproduce=facts.review_command,
            figures={"differ": 0},
            about="Settings that differ",
        )
    return Claim(
        f"{count} settings differ; all others are the same."
        if count > 1
        else "One setting differs; all others are the same.",
        reproduce=facts.review_command,
        figures={"differ": count, **_figures(rows)},
        about="Settings that differ",
        table=Table(("setting", "A, this report", "B, the other"), _pairs(rows)),
    )


def _promise(facts: Facts, pair: Beside, rows: list[Row]) -> Claim:
    values = {row.key: row for row in rows}
    first, second = pair.first, pair.second
    label, exact, day = values["epsilon"], values["epsilon_effective"], values["epsilon_1_days"]
    told = (
        f"The label says ε = {label.first:g} in A and ε = {label.second:g} in B; the exact probabilities imply "
        f"{rounded(exact.first, 9)} and {rounded(exact.second, 9)}. "
    )
    if first.population.unit == second.population.unit:
        unit = f"One report covers the same in both: {UNITS[first.population.unit]}. "
    else:
        unit = (
            f"One report covers {UNITS[first.population.unit]} in A, and {UNITS[second.population.unit]} in B. An ε protects what it is "
            "stated for: these two are not of the same thing, so neither is the smaller one. "
        )
    total = f"Under its schedule the worst device adds up to at most ε = {rounded(day.first, 6)} a day in A and {rounded(day.second, 6)} in B."
    hidden = values["pattern_hidden"]
    if hidden.differs:
        more, less = ("A", "B") if hidden.first else ("B", "A")
        total += (
            f" These totals are not of the same thing either: that of {more} also covers when the device changed cell, that of {less} only "
            "which cells it was in."
        )
    elif not hidden.first:
        total += " Both totals are for which cells it was in; when it changed cell is covered by neither."
    if "trip" in {first.population.unit, second.population.unit}:
        total += (
            " A file of trips names no person, so a total there is for a device that keeps to the schedule."
        )
    return Claim(
        told + unit + total,
        reproduce=facts.review_command,
        figures=_figures(rows),
        about="What changes in the promise",
        table=Table(("promise", "A, this report", "B, the other"), _pairs(rows)),
    )


def _use(facts: Facts, pair: Beside, rows: list[Row]) -> Claim:
    measured = [row for row in rows if row.first_error is not None]
    apart = sum(row.differs for row in measured)
    text = (
        f"A: {_drawn(pair.first)}. B: {_drawn(pair.second)}. Measured figures are the mean ± its standard error, beside what theory expects. "
        f"{apart} of {len(measured)} measured figures differ by more than {BY_CHANCE:g} standard errors; for the others the gap may be luck. "
        "Truth, and so errors and false publications, only a simulation or the reviewer's own file can know."
    )
    if pair.first.population.domain.version != pair.second.population.domain.version:
        text += " The cells are not the same in A and B, so counts of cells are each of their own domain."
    return Claim(
        text,
        reproduce=facts.review_command,
        # The page draws every redraw there is; where reports are made one by one, a report draws fewer.
        page=facts.page("library", second=pair.token)
        if all(
            len(side.draws) == redraws_for(side.population.domain.size) for side in (pair.first, pair.second)
        )
        else "",
        figures={"redraws": [len(pair.first.draws), len(pair.second.draws)], **_figures(rows)},
        about="What changes in use",
        table=Table(
            ("figure", "A, measured", "A, theory", "B, measured", "B, theory", "differ"),
            tuple(_use_row(row) for row in rows),
            (1, 2, 3, 4),
        ),
    )


def _drawn(side: Side) -> str:
    count = len(side.draws)
    first = side.scenario.draw - side.scenario.draw % count
    return f"{count} redraws of the devices' coins, draws {first} to {first + count - 1}"


def _use_row(row: Row) -> tuple[str, ...]:
    label = row.label if row.unit in {"", "share", "cells"} else f"{row.label}, {row.unit}"
    differ = "yes" if row.differs else "no"
    if row.key == "smallest_count":  # exact, nothing is drawn for it
        return (label, _NONE, _value(row, row.first), _NONE, _value(row, row.second), differ)
    return (
        label,
        _measured(row, row.first, row.first_error),
        _expected(row, row.first_expected),
        _measured(row, row.second, row.second_error),
        _expected(row, row.second_expected),
        differ,
    )


def _measured(row: Row, value: Any, error: float | None) -> str:  # noqa: ANN401 - any figure
    if value is None or error is None:
        return _value(row, value)
    if error == 0:  # no spread to state an error by
        return f"{_value(row, value)} in every redraw"
    if row.unit == "share":
        return f"{rounded(100 * value)} ± {percent(error, 2)}".replace(" ", "\u00a0")
    return f"{rounded(value, 4)} ± {rounded(error, 2)}".replace(" ", "\u00a0")


def _expected(row: Row, expected: float | None) -> str:
    if expected is None:
        return _NONE
    return percent(expected) if row.unit == "share" else rounded(expected, 4)


def _pairs(rows: list[Row]) -> tuple[tuple[str, ...], ...]:
    return tuple((row.label, _value(row, row.first), _value(row, row.second)) for row in rows)


def _value(row: Row, value: Any) -> str:  # noqa: ANN401 - any figure
    if value is None:
        return _NOTHING.get(row.key, _NONE)
    if row.unit == "share":
        return percent(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if row.key in _TABLES:
        text = _TABLES[row.key].get(str(value), str(value))
    elif row.key in _WRITERS:
        text = _WRITERS[row.key](value)
    else:
        text = rounded(value, 6) if isinstance(value, float) else str(value)
    return f"{text} {row.unit}" if row.unit == "to 1" else text


def _figures(rows: list[Row]) -> dict[str, Any]:
    """Return the values of lines by name, ready for JSON; errors and theory only where there are some."""
    found: dict[str, Any] = {}
    for row in rows:
        entry: dict[str, Any] = {"a": _plain(row.first), "b": _plain(row.second)}
        if row.first_error is not None:
            entry |= {
                "a_error": _plain(row.first_error),
                "b_error": _plain(row.second_error),
                "a_expected": _plain(row.first_expected),
                "b_expected": _plain(row.second_expected),
            }
        found[row.key] = entry | {"differs": row.differs}
    return found


def _plain(value: Any) -> Any:  # noqa: ANN401 - any figure
    return value.item() if hasattr(value, "item") else value
