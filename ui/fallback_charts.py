"""The pictures of the Falling back page: what each way answers, how wrong it is, what post-processing shifts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import pandas as pd

from ldpcore.fallback_measured import MeasuredFallback
from ldpcore.shapes import FloatArray
from ui.charts import Chart, themed
from ui.fallback_words import METHOD_LABELS
from ui.number_words import thousands, to_error
from ui.palettes import tokens as tokens_of

ROW_HEIGHT = 36


def answered_bars(measured: Sequence[MeasuredFallback], *, cells: int, dark: bool) -> Chart:
    """Draw how many cells each method answers, by resolution, with the spread of the total over redraws."""
    tokens = tokens_of(dark=dark)
    finest = measured[0].resolutions[-1]
    bars: list[dict[str, Any]] = []
    totals: list[dict[str, Any]] = []
    for entry in measured:
        title = METHOD_LABELS[entry.method]
        for place, level in enumerate(entry.resolutions):
            mean = float(entry.cells_answered[:, place].mean())
            bars.append(
                {
                    "method": title,
                    "level": level,
                    "name": f"resolution {level}",
                    "cells": mean,
                    "above": finest - level,
                }
            )
        total = entry.cells_answered.sum(axis=1)
        mean, spread = float(total.mean()), float(total.std(ddof=1))
        totals.append(
            {
                "method": title,
                "cells": mean,
                "low": float(total.min()),
                "high": float(total.max()),
                "label": f"{to_error(mean, spread)} ±{to_error(spread, spread)}",
            }
        )
    order = [METHOD_LABELS[entry.method] for entry in measured]
    y = alt.Y(
        "method:N",
        sort=order,
        title=None,
        axis=alt.Axis(labelLimit=170, grid=False, ticks=False, labelOverlap=False),
    )
    levels = sorted({bar["level"] for bar in bars}, reverse=True)
    x_scale = alt.Scale(domain=[0, 1.02 * max(total["high"] for total in totals) or 1.0], nice=False)
    stacked = (
        alt.Chart(pd.DataFrame(bars))
        .mark_bar(height=20, color=tokens.accent, stroke=tokens.page, strokeWidth=1)
        .encode(
            y=y,
            x=alt.X(
                "cells:Q",
                stack="zero",
                title=f"Cells answered, of {thousands(cells)}",
                scale=x_scale,
                axis=alt.Axis(tickCount=8, tickMinStep=1),
            ),
            order=alt.Order("above:Q"),
            opacity=alt.Opacity(
                "level:O",
                sort=levels,
                scale=alt.Scale(
                    domain=levels,
                    range=[1.0, 0.3],  # the ends; Vega spreads the levels between them
                ),
                # In one row even on a phone, where names in full would be cut off.
                legend=alt.Legend(
                    title="Resolution",
                    titleColor=tokens.text,
                    titleFontWeight="normal",
                    titleOrient="left",
                    orient="top",
                    labelColor=tokens.text,
                    labelFontSize=12,
                    symbolType="square",
                    symbolSize=140,
                ),
            ),
            tooltip=[
                alt.Tooltip("method:N", title="Method"),
                alt.Tooltip("name:N", title="Answered by"),
                alt.Tooltip("cells:Q", format=",.1f", title="Cells, mean"),
            ],
        )
    )
    ends = alt.Chart(pd.DataFrame(totals))
    whiskers = ends.mark_rule(color=tokens.text, strokeWidth=2).encode(y=y, x="low:Q", x2="high:Q")
    labels = ends.mark_text(align="left", dx=8, color=tokens.text).encode(y=y, x="high:Q", text="label:N")
    # The labels stand to the right of the longest bar.
    padding = {"right": 84, "left": 4, "top": 4, "bottom": 4}
    chart = alt.layer(stacked, whiskers, labels).properties(padding=padding)
    return themed(chart, tokens, height=ROW_HEIGHT * len(measured) + 96)


def level_errors(measured: Sequence[MeasuredFallback], *, noun: str, dark: bool) -> Chart:
    """Draw the typical error of a cell at each resolution, theory as a tick, the redraws as a dot with two standard errors."""
    tokens = tokens_of(dark=dark)
    rows = [
        {
            "method": METHOD_LABELS[entry.method],
            "level": f"resolution {level}",
            "theory": float(entry.rmse_expected[place]),
            "measured": float(entry.rmse[place]),
            "low": float(max(entry.rmse[place] - 2 * entry.rmse_error[place], entry.rmse[place] / 2)),
            "high": float(entry.rmse[place] + 2 * entry.rmse_error[place]),
        }
        for entry in measured
        if len(entry.resolutions) > 1
        for place, level in enumerate(entry.resolutions)
    ]
    frame = pd.DataFrame(rows)
    methods = [METHOD_LABELS[entry.method] for entry in measured if len(entry.resolutions) > 1]
    levels = [f"resolution {level}" for level in measured[-1].resolutions][::-1]
    y = alt.Y("level:N", sort=levels, title=None, axis=alt.Axis(grid=False, ticks=False, labelOverlap=False))
    offset = alt.YOffset("method:N", sort=methods)
    color = alt.Color(
        "method:N",
        sort=methods,
        title=None,
        scale=alt.Scale(domain=methods, range=[tokens.accent, tokens.text][: len(methods)]),
        legend=alt.Legend(orient="top", labelColor=tokens.text, labelFontSize=12, symbolType="circle"),
    )
    tooltip = [
        alt.Tooltip("method:N", title="Method"),
        alt.Tooltip("level:N", title="Cells of"),
        alt.Tooltip("theory:Q", format=",.0f", title="Theory"),
        alt.Tooltip("measured:Q", format=",.0f", title="Measured"),
    ]
    base = alt.Chart(frame)
    scale = alt.Scale(type="log", nice=False, padding=24)
    x = alt.X(
        "theory:Q",
        title=f"Typical error of a cell, {noun}",
        scale=scale,
        axis=alt.Axis(format="~s", tickCount=4),
    )
    ticks = base.mark_tick(thickness=2, size=16).encode(
        y=y, yOffset=offset, x=x, color=color, tooltip=tooltip
    )
    dots = base.mark_point(filled=True, size=48, opacity=0.8).encode(
        y=y, yOffset=offset, x=alt.X("measured:Q", scale=scale), color=color, tooltip=tooltip
    )
    spread = base.mark_rule(strokeWidth=4, opacity=0.35, strokeCap="round").encode(
        y=y, yOffset=offset, x=alt.X("low:Q", scale=scale), x2="high:Q", color=color, tooltip=tooltip
    )
    return themed(alt.layer(spread, ticks, dots), tokens, height=ROW_HEIGHT * len(levels) + 96)


def sum_errors(
    names: Sequence[str], values: Sequence[FloatArray], *, title: str, zero: bool, dark: bool
) -> Chart:
    """Draw one figure of every way of post-processing over the redraws: its mean as a dot, its range as a bar.

    Parameters
    ----------
    names
        Ways, in the order of rows.
    values
        One (draws,) array a way.
    title
        Of the axis, with the unit.
    zero
        Whether the figure is an error with a sign, so that zero is marked.
    dark
        Whether the page is dark.
    """
    tokens = tokens_of(dark=dark)
    frame = pd.DataFrame(
        {
            "way": list(names),
            "mean": [float(value.mean()) for value in values],
            "low": [float(value.min()) for value in values],
            "high": [float(value.max()) for value in values],
            "raw": [name == "raw" for name in names],
        }
    )
    y = alt.Y(
        "way:N", sort=list(names), title=None, axis=alt.Axis(grid=False, ticks=False, labelOverlap=False)
    )
    x = alt.X(
        "low:Q", title=title, axis=alt.Axis(format="~s", tickCount=4), scale=alt.Scale(zero=zero, padding=8)
    )
    tooltip = [
        alt.Tooltip("way:N", title="Column"),
        alt.Tooltip("mean:Q", format=",.0f", title="Mean"),
        alt.Tooltip("low:Q", format=",.0f", title="Least"),
        alt.Tooltip("high:Q", format=",.0f", title="Most"),
    ]
    color = alt.condition("datum.raw", alt.value(tokens.text), alt.value(tokens.accent))
    base = alt.Chart(frame)
    layers: list[Chart] = [
        base.mark_rule(strokeWidth=5, opacity=0.35, strokeCap="round").encode(
            y=y, x=x, x2="high:Q", color=color, tooltip=tooltip
        ),
        base.mark_point(filled=True, size=44, opacity=1).encode(
            y=y, x="mean:Q", color=color, tooltip=tooltip
        ),
    ]
    if zero:
        nothing = alt.Chart(pd.DataFrame({"at": [0.0]}))
        layers.insert(0, nothing.mark_rule(color=tokens.quiet, strokeDash=[4, 3]).encode(x="at:Q"))
    return themed(alt.layer(*layers), tokens, height=26 * len(names) + 56)
