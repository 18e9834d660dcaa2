"""How the lines of a comparison read: plain words, units, and no more digits than the error allows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from typing import Any, Final

from ldpcore.mechanisms import MECHANISMS
from ldpcore.plain_numbers import plain
from ldpcore.schedule import AT_CAP
from ldpcore.settings import QUERIES
from ldpcore.side_by_side import Row, Side
from ldpcore.trips.cities import CITIES
from ui.number_words import count_of, percent, plus_minus, round_significant, thousands, to_error
from ui.scenario import CORRECTION_WORDS, INTERVAL_WORDS

NONE: Final = "–"
GROUPS: Final = {
    "settings": "Settings that differ",
    "promise": "What changes in the promise",
    "use": "What changes in use",
}
_TABLES: Final[dict[str, dict[str, str]]] = {
    "city": {slug: city.label for slug, city in CITIES.items()},
    "query": dict(QUERIES),
    "mechanism": {name: kind.label for name, kind in MECHANISMS.items()},
    "correction": CORRECTION_WORDS,
    "interval": INTERVAL_WORDS,
    "at_cap": dict(AT_CAP),
}
_WRITERS: Final[dict[str, Callable[[Any], str]]] = {
    "trips": lambda digest: f"{str(digest)[:12]}…",
    "hour": lambda hour: f"{hour:02d}:00",
    "odds": plain,
    "smallest_count": lambda count: thousands(round_significant(count, 3)),
    **dict.fromkeys(("devices", "floor", "reports", "cells"), thousands),
}
_NOTHING: Final = {
    "hour": "all day",
    "options": "its own",
    "day": "every day",
    "smallest_count": "none: not even all devices in one cell",
}


def headline(first: Side, second: Side) -> str:
    """Return the comparison in one sentence."""
    if first.scenario == second.scenario:
        return "Both sides are the same run; choose another scenario for one of them."
    return f"A ({first.file.name}) publishes {_clause(first)}; B ({second.file.name}) publishes {_clause(second)}."


def _clause(side: Side) -> str:
    cells = count_of(side.population.domain.size, "cell")
    mean = sum(figures.published for figures in side.draws) / len(side.draws)
    published = "none" if mean == 0 else "hardly any" if mean < 0.5 else f"about {thousands(mean)}"
    return f"{published} of {cells} at ε = {side.scenario.epsilon:g}"


def table_html(rows: Sequence[Row], group: str, *, names: tuple[str, str]) -> str:
    """Return the lines of one group as a table; names of the user's are escaped."""
    shown = [row for row in rows if row.group == group]
    head = "".join(
        f'<th scope="col">{letter}<span class="quiet"> {escape(name)}</span></th>'
        for letter, name in zip("AB", names, strict=True)
    )
    body = "".join(
        f'<tr{" class=differs" if row.differs else ""}><th scope="row">{escape(row.label)}</th>'
        f"<td>{_cell(row, first=True)}</td><td>{_cell(row, first=False)}</td></tr>"
        for row in shown
    )
    return (
        f'<div class="scroll"><table class="pair"><thead><tr><th scope="col">{GROUPS[group]}</th>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _cell(row: Row, *, first: bool) -> str:
    value, error, expected = (
        (row.first, row.first_error, row.first_expected)
        if first
        else (row.second, row.second_error, row.second_expected)
    )
    text = escape(value_words(row, value, error))
    if expected is None:
        return text
    return f'{text} <span class="quiet">theory {escape(_expected_words(row, expected))}</span>'


def value_words(row: Row, value: Any, error: float | None = None) -> str:  # noqa: ANN401 - any figure
    """Return one value of a line in words."""
    if value is None:
        return _NOTHING.get(row.key, NONE)
    if row.unit == "share":
        return _share(value, error)
    if error is not None:
        text = _measured(value, error)
    elif row.key in _TABLES:
        text = _TABLES[row.key].get(str(value), str(value))
    else:
        text = _WRITERS.get(row.key, _usual)(value)
    return f"{text} {row.unit}" if row.unit else text


def _usual(value: Any) -> str:  # noqa: ANN401 - any figure
    if isinstance(value, bool):
        return "yes" if value else "no"
    return plain(value, 6) if isinstance(value, float) else str(value)


def _measured(value: float, error: float) -> str:
    # Where no redraw differed from another there is no spread to round by.
    return f"{to_error(value, error)} {plus_minus(error)}" if error > 0 else plain(value)


def _share(value: float, error: float | None) -> str:
    if error:
        decimals = 1 if error >= 0.0005 else 2
        return f"{percent(value, decimals)} {plus_minus(100 * error)}\N{NARROW NO-BREAK SPACE}%"
    return percent(value, 1 if value >= 0.01 else 2)


def _expected_words(row: Row, expected: float) -> str:
    if row.unit == "share":
        return percent(expected)
    if expected < 0.001:
        return "under 0.001"
    return thousands(expected) if expected >= 100 else plain(expected)


def literal(text: str) -> str:
    """Return text that Streamlit's Markdown shows as it is."""
    return "".join(f"\\{letter}" if letter in _MARKDOWN else letter for letter in text.replace("\n", " "))


_MARKDOWN: Final = frozenset("\\`*_{}[]()<>#+-!|~$:^=&")
