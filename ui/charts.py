"""The charts of a pinned cell, in one theme: no frame, light grid, direct labels."""

from __future__ import annotations

import json
from typing import Any, TypeAlias

import altair as alt
import numpy as np
import pandas as pd

from ui.number_words import thousands
from ui.palettes import RAMPS, Tokens
from ui.palettes import tokens as tokens_of

Chart: TypeAlias = Any  # Altair's layering functions return several classes that share no useful base


def themed(chart: Chart, tokens: Tokens, *, height: int) -> Chart:
    """Give a chart the product's look."""
    return (
        chart.properties(height=height, width="container", background="transparent")
        .configure_view(stroke=None)
        .configure_axis(
            labelColor=tokens.quiet,
            titleColor=tokens.quiet,
            gridColor=tokens.grid,
            domainColor=tokens.grid,
            tickColor=tokens.grid,
            labelFontSize=12,
            titleFontSize=12,
            titleFontWeight="normal",
            grid=True,
        )
        .configure_text(fontSize=12)
    )


def redraw_strip(
    draws: pd.DataFrame, *, truth: float, this_draw: int, floor: int | None, dark: bool
) -> Chart:
    """Draw a cell's error bar in many redraws as upright bars against the truth.

    Parameters
    ----------
    draws
        One row per redraw: ``draw``, ``estimate``, ``low``, ``high`` in devices, ``holds`` whether
        the interval holds the truth.
    truth
        Devices truly in the cell.
    this_draw
        The redraw the page shows.
    floor
        Smallest number that may be published; None leaves its line out.
    dark
        Whether the page is dark.
    """
    tokens = tokens_of(dark=dark)
    miss = RAMPS["error"].css(255, dark=dark)
    frame = draws.assign(shown=np.where(draws["draw"] == this_draw, "shown on the map", "other redraws"))
    x = alt.X("draw:O", title="Redraw of the coins (same trips)", axis=alt.Axis(labelAngle=0, grid=False))
    color = alt.condition("datum.holds", alt.value(tokens.accent), alt.value(miss))
    opacity = alt.condition(f"datum.draw == {int(this_draw)}", alt.value(1.0), alt.value(0.55))
    tooltip = [
        alt.Tooltip("draw:O", title="Redraw"),
        alt.Tooltip("estimate:Q", format=",.0f", title="Estimate"),
        alt.Tooltip("low:Q", format=",.0f", title="From"),
        alt.Tooltip("high:Q", format=",.0f", title="To"),
        alt.Tooltip("holds:N", title="Holds the truth"),
    ]
    base = alt.Chart(frame)
    bars = base.mark_rule(strokeWidth=3).encode(
        x=x,
        y=alt.Y("low:Q", title="Devices in the cell", scale=alt.Scale(zero=False)),
        y2="high:Q",
        color=color,
        opacity=opacity,
        tooltip=tooltip,
    )
    dots = base.mark_point(filled=True, size=46).encode(
        x=x, y="estimate:Q", color=color, opacity=opacity, tooltip=tooltip
    )
    levels = {f"truth {thousands(truth)}": truth}
    # A floor far below the cell would press its error bars into a corner.
    if floor is not None and draws["low"].min() - floor < 2 * (draws["high"].max() - draws["low"].min()):
        levels[f"floor {thousands(floor)}"] = float(floor)
    lines = alt.Chart(pd.DataFrame({"level": levels.values(), "name": levels.keys()}))
    rules = lines.mark_rule(strokeWidth=1.2).encode(
        y="level:Q",
        strokeDash=alt.StrokeDash("name:N", legend=None),
        color=alt.value(tokens.text),
    )
    labels = lines.mark_text(align="left", dx=4).encode(
        y="level:Q", x=alt.value("width"), text="name:N", color=alt.value(tokens.text)
    )
    return themed(
        alt.layer(bars, dots, rules, labels).properties(
            padding={"right": 96, "left": 4, "top": 4, "bottom": 4}
        ),
        tokens,
        height=230,
    )


def interval_line(
    *, estimate: float, low: float, high: float, at_least: float, truth: float, floor: int, n: int, dark: bool
) -> Chart:
    """Draw one cell's estimate and error bar on a line with the truth and the floor.

    All counts in devices. The bar is clipped to [0, n] as it is drawn; the table keeps it whole.
    """
    tokens = tokens_of(dark=dark)
    bound = max(at_least, 0.0)
    drawn = pd.DataFrame({"low": [max(low, 0.0)], "high": [min(high, float(n))], "line": [0.5]})
    marks = pd.DataFrame(
        {
            "at": [truth, estimate, bound, float(floor)],
            "name": [
                f"truth {thousands(truth)}",
                f"estimate {thousands(estimate)}",
                f"sure of at least {thousands(bound)}",
                f"floor {thousands(floor)}",
            ],
            # Each mark has a line of its own, so that labels never lie on one another.
            "line": [4, 3, 2, 1],
            "foot": 0.1,
        }
    )
    if estimate - floor > 8 * (high - low):
        marks = marks[marks["line"] > 1].copy()  # a floor far below would press the error bar into a corner
    span = max(marks["at"].max(), high) - min(marks["at"].min(), low)
    middle = (max(marks["at"].max(), high) + min(marks["at"].min(), low)) / 2
    marks["left"] = marks["at"] > middle
    x_scale = alt.Scale(
        domain=[
            min(marks["at"].min(), max(low, 0.0)) - 0.03 * span,
            max(marks["at"].max(), high) + 0.03 * span,
        ],
        nice=False,
    )
    y = alt.Y("line:Q", axis=None, scale=alt.Scale(domain=[0, 4.6]))
    colors = alt.Color(
        "line:N",
        legend=None,
        scale=alt.Scale(domain=[4, 3, 2, 1], range=[tokens.text, tokens.accent, tokens.quiet, tokens.quiet]),
    )
    bar = (
        alt.Chart(drawn)
        .mark_bar(height=12, cornerRadius=6, opacity=0.45, color=tokens.accent)
        .encode(
            x=alt.X("low:Q", title="Devices in the cell", scale=x_scale, axis=alt.Axis(tickCount=6)),
            x2="high:Q",
            y=y,
        )
    )
    base = alt.Chart(marks).encode(x=alt.X("at:Q", scale=x_scale), color=colors)
    stems = base.mark_rule(strokeWidth=1.5).encode(y=y, y2="foot:Q")
    right = base.transform_filter("!datum.left").mark_text(align="left", dx=5).encode(y=y, text="name:N")
    left = base.transform_filter("datum.left").mark_text(align="right", dx=-5).encode(y=y, text="name:N")
    return themed(alt.layer(bar, stems, right, left), tokens, height=150)


def points_chart(points: pd.DataFrame, *, land: str | None, dark: bool) -> Chart:
    """Draw places of a file on a small map.

    Parameters
    ----------
    points
        Columns ``lat`` and ``lng`` in degrees.
    land
        Land of a built-in city as GeoJSON text, or none.
    dark
        Whether the page is dark.
    """
    tokens = tokens_of(dark=dark)
    dots = (
        alt.Chart(points[["lat", "lng"]])
        .mark_circle(size=10, opacity=0.5, color=tokens.accent)
        .encode(longitude="lng:Q", latitude="lat:Q")
    )
    layers = [dots]
    if land is not None:
        # Vega fills the outside of a ring that runs the other way round; drawing outlines alone avoids it.
        outline = alt.Chart({"values": json.loads(land)["features"]}).mark_geoshape(
            filled=False, stroke=tokens.coast
        )
        layers.insert(0, outline)
    # Places on both sides of the date line are drawn around it, not at the two edges of the world.
    across = len(points) > 0 and float(points["lng"].max() - points["lng"].min()) > 180
    plane = {"type": "mercator", "rotate": [180, 0, 0]} if across else {"type": "mercator"}
    return themed(alt.layer(*layers).project(**plane), tokens, height=300)
