"""The two charts as SVG, drawn from the figures alone: logarithmic axes, labels instead of legends."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

INK, QUIET, GRID, PAPER = "#1B2733", "#5C6B78", "#E3E1DA", "#FBFAF7"
OURS = "#0B6E6E"
PEER_MARKS = {
    "pure-ldp": ("#B2182B", "circle"),
    "multi-freq-ldpy": ("#2166AC", "square"),
    "ldp-toolbox": ("#8A6D00", "diamond"),
}
LINE_COLOURS = ("#0B6E6E", "#2166AC", "#B2182B", "#8A6D00", "#6A4C93", "#3C4A55", "#2E8FA3", "#9C4F2F")
FONT = 'font-family="Source Sans 3, Source Sans Pro, Helvetica, Arial, sans-serif"'


@dataclass(frozen=True)
class LogScale:
    """Positions of numbers between two ends, by their logarithm.

    Parameters
    ----------
    low, high
        Numbers at the ends; above 0.
    start, end
        Their positions, pixels.
    """

    low: float
    high: float
    start: float
    end: float

    def __call__(self, number: float) -> float:
        """Return the position of a number."""
        share = math.log(number / self.low) / math.log(self.high / self.low)
        return self.start + share * (self.end - self.start)

    def decades(self) -> list[float]:
        """Return the powers of ten from end to end.

        Examples
        --------
        >>> LogScale(0.05, 120, 0, 1).decades()
        [0.1, 1.0, 10.0, 100.0]
        """
        first, last = math.ceil(math.log10(self.low) - 1e-9), math.floor(math.log10(self.high) + 1e-9)
        return [float(f"1e{power}") for power in range(first, last + 1)]


@dataclass
class Drawing:
    """An SVG in the making."""

    width: int
    height: int
    title: str
    parts: list[str] = field(default_factory=list)

    def line(self, x1: float, y1: float, x2: float, y2: float, colour: str, width: float = 1) -> None:
        """Draw a line."""
        self.parts.append(
            f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" stroke-width="{width}"/>'
        )

    def path(self, points: Iterable[tuple[float, float]], colour: str) -> None:
        """Draw a line through points."""
        text = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self.parts.append(f'<polyline points="{text}" fill="none" stroke="{colour}" stroke-width="1.6"/>')

    def words(
        self,
        x: float,
        y: float,
        text: str,
        *,
        colour: str = INK,
        anchor: str = "start",
        size: int = 13,
        bold: bool = False,
    ) -> None:
        """Write words."""
        weight = ' font-weight="600"' if bold else ""
        self.parts.append(
            f'<text x="{x:.1f}" y="{y:.1f}" fill="{colour}" text-anchor="{anchor}" font-size="{size}"{weight} {FONT}>'
            f"{escape(text)}</text>"
        )

    def mark(self, x: float, y: float, colour: str, shape: str, *, hollow: bool = False) -> None:
        """Draw a dot; a hollow one is extrapolated."""
        fill = f'fill="{PAPER}" stroke="{colour}" stroke-width="1.8"' if hollow else f'fill="{colour}"'
        if shape == "circle":
            self.parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.4" {fill}/>')
            return
        turn = f' transform="rotate(45 {x:.1f} {y:.1f})"' if shape == "diamond" else ""
        self.parts.append(f'<rect x="{x - 4:.1f}" y="{y - 4:.1f}" width="8" height="8" {fill}{turn}/>')

    def text(self) -> str:
        """Return the SVG."""
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" role="img" '
            f'aria-label="{escape(self.title, quote=True)}">\n<rect width="100%" height="100%" fill="{PAPER}"/>\n'
            + "\n".join(self.parts)
            + "\n</svg>\n"
        )


def number_words(number: float) -> str:
    """Write a power of ten as people say it.

    Examples
    --------
    >>> [number_words(number) for number in (0.00001, 0.1, 1.0, 1000.0, 1e6)]
    ['0.00001', '0.1', '1', '1,000', '1M']
    """
    if number >= 1e6:
        return f"{number / 1e6:g}M"
    return f"{number:,.0f}" if number >= 1 else f"{number:.9f}".rstrip("0")


def speed_chart(rows: Sequence[dict[str, Any]]) -> str:
    """Draw CPU seconds of every library, a line a mechanism, the two shapes side by side."""
    shapes = list(dict.fromkeys((row["devices"], row["cells"]) for row in rows))
    names = list(dict.fromkeys(row["mechanism"] for row in rows))
    left, panel, gap, top, step = 60, 400, 28, 92, 25
    drawing = Drawing(
        left + len(shapes) * panel + (len(shapes) - 1) * gap + 24,
        top + step * len(names) + 46,
        "CPU seconds of LDP Atlas and of three other libraries for the same work",
    )
    drawing.words(12, 26, "CPU seconds to make, count and invert every report, ε = 2", size=17, bold=True)
    _speed_key(drawing, 12, 50)
    for at, (devices, cells) in enumerate(shapes):
        start = left + at * (panel + gap)
        chosen = {row["mechanism"]: row for row in rows if (row["devices"], row["cells"]) == (devices, cells)}
        seconds = [figures["cpu_s"] for row in chosen.values() for figures in _all_figures(row)]
        scale = LogScale(min(seconds) / 1.6, max(seconds) * 1.6, start, start + panel)
        bottom = top + step * len(names) - 8
        drawing.words(start, top - 20, f"{number_words(devices)} devices × {cells:,} cells", bold=True)
        for decade in scale.decades():
            drawing.line(scale(decade), top - 10, scale(decade), bottom, GRID)
            drawing.words(
                scale(decade), bottom + 18, number_words(decade), colour=QUIET, anchor="middle", size=12
            )
        drawing.words(start + panel, bottom + 34, "seconds", colour=QUIET, anchor="end", size=12)
        for place, name in enumerate(names):
            y = top + step * place + 6
            if at == 0:
                drawing.words(left - 12, y + 4, name, anchor="end", bold=True)
            if name in chosen:
                _speed_line(drawing, scale, y, chosen[name])
    return drawing.text()


def _all_figures(row: dict[str, Any]) -> list[dict[str, Any]]:
    return [figures for figures in (row["ours"]["1"], *row["peers"].values()) if figures]


def _speed_key(drawing: Drawing, x: float, y: float) -> None:
    for label, colour, shape in (("LDP Atlas", OURS, "circle"), *((k, *v) for k, v in PEER_MARKS.items())):
        drawing.mark(x + 5, y - 4, colour, shape)
        drawing.words(x + 16, y, label, colour=colour)
        x += 34 + 7.4 * len(label)
    drawing.mark(x + 5, y - 4, QUIET, "circle", hollow=True)
    drawing.words(x + 16, y, "hollow: extrapolated from fewer devices", colour=QUIET)


def _speed_line(drawing: Drawing, scale: LogScale, y: float, row: dict[str, Any]) -> None:
    places = [scale(figures["cpu_s"]) for figures in _all_figures(row)]
    if not places:
        return
    drawing.line(min(places), y, max(places), y, "#C9CDD0", 1.4)
    for label, figures in row["peers"].items():
        if figures:
            colour, shape = PEER_MARKS[label]
            drawing.mark(scale(figures["cpu_s"]), y, colour, shape, hollow=bool(figures["extrapolated"]))
    ours = row["ours"]["1"]
    if ours:
        drawing.mark(scale(ours["cpu_s"]), y, OURS, "circle", hollow=bool(ours["extrapolated"]))


def scaling_chart(rows: Sequence[dict[str, Any]]) -> str:
    """Draw CPU seconds as devices, cells and epsilon grow, a panel each; lines are labelled at their end."""
    left, panel, label, top, height = 56, 230, 62, 70, 300
    drawing = Drawing(
        left + 3 * (panel + label) + 8, top + height + 52, "CPU seconds as devices, cells and epsilon grow"
    )
    drawing.words(
        12, 26, "CPU seconds to make, count and invert every report, one thread", size=17, bold=True
    )
    names = list(dict.fromkeys(row["mechanism"] for row in rows))
    vertical = LogScale(
        min(row["cpu_s"] for row in rows) / 1.3, max(row["cpu_s"] for row in rows) * 1.3, top + height, top
    )
    for at, grows in enumerate(("devices", "cells", "epsilon")):
        chosen = [row for row in rows if row["grows"] == grows]
        start = left + at * (panel + label)
        values = [row["value"] for row in chosen]
        across = LogScale(min(values), max(values), start, start + panel)
        for decade in vertical.decades():
            drawing.line(start, vertical(decade), start + panel, vertical(decade), GRID)
            if at == 0:
                drawing.words(
                    start - 8, vertical(decade) + 4, number_words(decade), colour=QUIET, anchor="end", size=12
                )
        for value in dict.fromkeys(values):
            text = f"{value:g}" if grows == "epsilon" else number_words(value)
            drawing.words(across(value), top + height + 20, text, colour=QUIET, anchor="middle", size=12)
        drawing.words(start, top - 14, _panel_title(chosen[0], grows), bold=True)
        ends = {}
        for name in names:
            points = [
                (across(row["value"]), vertical(row["cpu_s"])) for row in chosen if row["mechanism"] == name
            ]
            drawing.path(points, LINE_COLOURS[names.index(name) % len(LINE_COLOURS)])
            ends[name] = points[-1][1]
        for name, y in spread(ends, 13).items():
            colour = LINE_COLOURS[names.index(name) % len(LINE_COLOURS)]
            drawing.words(start + panel + 6, y + 4, name, colour=colour, size=12)
    return drawing.text()


def _panel_title(row: dict[str, Any], grows: str) -> str:
    devices, cells, epsilon = (
        f"{row['devices']:,} devices",
        f"{row['cells']:,} cells",
        f"ε = {row['epsilon']:g}",
    )
    return {
        "devices": f"devices ({cells}, {epsilon})",
        "cells": f"cells ({devices}, {epsilon})",
        "epsilon": f"ε ({devices}, {cells})",
    }[grows]


def spread(places: dict[str, float], least: float) -> dict[str, float]:
    """Move places apart until neighbours are at least so far from one another, keeping their order.

    Examples
    --------
    >>> spread({"a": 0.0, "b": 1.0, "c": 30.0}, 10)
    {'a': -4.5, 'b': 5.5, 'c': 30.0}
    """
    groups: list[tuple[float, list[str]]] = []
    for name in sorted(places, key=lambda key: places[key]):
        groups.append((places[name], [name]))
        # A group is as long as its labels need; one that touches the group before joins it around their centre.
        while len(groups) > 1 and _touch(groups[-2], groups[-1], least):
            (centre, members), (other, more) = groups[-2], groups[-1]
            joined = members + more
            middle = (centre * len(members) + other * len(more)) / len(joined)
            groups[-2:] = [(middle, joined)]
    return {
        name: centre + (at - (len(members) - 1) / 2) * least
        for centre, members in groups
        for at, name in enumerate(members)
    }


def _touch(one: tuple[float, list[str]], other: tuple[float, list[str]], least: float) -> bool:
    return other[0] - one[0] < (len(one[1]) + len(other[1])) / 2 * least
