"""Figures of a fault, measured beside expected, as cards and as a table."""

from __future__ import annotations

from html import escape

from ldpcore.faults import Cell, Line, Table
from ldpcore.plain_numbers import plain
from ui.headline import Figure
from ui.number_words import percent, plus_minus, round_significant, thousands, to_error

NONE = "–"


def value_words(value: float | None, unit: str, error: float | None = None) -> str:
    """Return a figure in words, with no more digits than its error allows."""
    if value is None:
        return NONE
    if unit == "share":
        text = percent(value, 0 if value >= 2 else 1 if value >= 0.001 or value == 0 else 3)
        if not error:
            return text
        return f"{text} ±{100 * error:.1f}\N{NARROW NO-BREAK SPACE}%"
    if error:
        text = f"{to_error(value, error)} {plus_minus(error)}"
    elif abs(value) >= 1000:
        text = thousands(round_significant(value, 4) if unit else value)
    else:
        text = plain(value)
    return f"{text} {unit}" if unit else text


def card(line: Line, column: int, *, label: str | None = None, theory: str | None = None) -> Figure:
    """Return one cell of a table as a card: what was measured over what theory expects."""
    cell = line.cells[column]
    unit = "" if line.unit == "cells" else line.unit  # a narrow card has its unit in the label
    return Figure(
        label or line.label,
        value_words(cell.measured, unit, cell.error),
        theory if theory is not None else theory_words(cell, unit),
        line.label,
    )


def theory_words(cell: Cell, unit: str) -> str:
    """Return what theory expects of a figure, or that it follows from the settings alone."""
    if cell.expected is not None:
        return f"theory {value_words(cell.expected, unit)}"
    return "measured" if cell.error else ""


def table_html(table: Table) -> str:
    """Return a table of figures as HTML."""
    head = "".join(f'<th scope="col">{escape(column)}</th>' for column in table.columns)
    rows = "".join(
        f'<tr><th scope="row">{escape(line.label)}</th>'
        + "".join(f"<td>{_cell(line, cell)}</td>" for cell in line.cells)
        + "</tr>"
        for line in table.lines
    )
    return (
        f'<div class="scroll"><table class="pair"><thead><tr><th scope="col">Figure</th>{head}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )


def _cell(line: Line, cell: Cell) -> str:
    value = escape(value_words(cell.measured, line.unit, cell.error))
    if cell.expected is None:
        return value
    return f'{value} <span class="quiet">theory {escape(value_words(cell.expected, line.unit))}</span>'
