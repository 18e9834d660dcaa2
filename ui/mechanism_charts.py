"""The pictures of the Mechanisms page: theory as a tick or a thin line, redraws as dots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from ldpcore.comparison import Comparison
from ldpcore.shapes import FloatArray
from ui.charts import Chart, themed
from ui.mechanism_words import spread
from ui.palettes import tokens as tokens_of

LIMIT = "limit"
ROW_HEIGHT = 42
_SAME = 0.02
"""Curves that differ by less than this share everywhere are one line."""


def error_rows(comparison: Comparison, measured: Mapping[str, Sequence[float]], *, dark: bool) -> Chart:
    """Draw every randomiser's typical error on one logarithmic scale, a row each, best first.

    Parameters
    ----------
    comparison
        Theory.
    measured
        By name, typical errors of the redraws; may be empty while they are drawn.
    dark
        Whether the page is dark.
    """
    tokens = tokens_of(dark=dark)
    ranked = comparison.ranked()
    order = [LIMIT, *(entry.name for entry in ranked)]
    rows = pd.DataFrame(
        {
            "name": order,
            "title": [
                "No randomiser can do better",
                *(
                    f"{entry.label} ({entry.name}){', chosen' if entry.name == comparison.chosen else ''}"
                    for entry in ranked
                ),
            ],
            "error": [comparison.limit, *(entry.error_typical for entry in ranked)],
            "chosen": [False, *(entry.name == comparison.chosen for entry in ranked)],
        }
    )
    rows["written"] = [spread(error) for error in rows["error"]]
    dots = pd.DataFrame(
        [
            {"name": name, "error": error, "redraw": at, "chosen": name == comparison.chosen}
            for name, errors in measured.items()
            for at, error in enumerate(errors)
        ],
        columns=["name", "error", "redraw", "chosen"],
    )
    everything = np.concatenate([rows["error"].to_numpy(float), dots["error"].to_numpy(float)])
    scale = alt.Scale(type="log", domain=[everything.min() * 0.93, everything.max() * 1.07], nice=False)
    x = alt.X(
        "error:Q",
        title=f"Typical error of a cell, {comparison.noun} (one standard error)",
        scale=scale,
        axis=alt.Axis(format="~s", tickCount=6),
    )
    y = alt.Y("name:N", sort=order, axis=None)
    color = alt.condition("datum.chosen", alt.value(tokens.accent), alt.value(tokens.quiet))
    base = alt.Chart(rows)
    limit = (
        base.transform_filter(f"datum.name == '{LIMIT}'")
        .mark_rule(strokeDash=[3, 3], strokeWidth=1)
        .encode(x=x, color=alt.value(tokens.text))
    )
    ticks = base.mark_tick(thickness=2, size=16, yOffset=8).encode(
        x=x,
        y=y,
        color=color,
        tooltip=[
            alt.Tooltip("title:N", title="Randomiser"),
            alt.Tooltip("error:Q", format=",.4g", title=f"Theory, {comparison.noun}"),
        ],
    )
    circles = (
        alt.Chart(dots)
        .mark_circle(size=34, yOffset=8)
        .encode(
            x=x,
            y=y,
            color=color,
            opacity=alt.value(0.4),
            tooltip=[
                alt.Tooltip("name:N", title="Randomiser"),
                alt.Tooltip("redraw:Q", title="Redraw"),
                alt.Tooltip("error:Q", format=",.4g", title=f"Measured, {comparison.noun}"),
            ],
        )
    )
    # The page's colour behind the letters keeps the dashed line out of them.
    halo = base.mark_text(
        align="left", dx=1, dy=-7, fontSize=13, stroke=tokens.page, strokeWidth=5, strokeJoin="round"
    ).encode(y=y, x=alt.value(0), text="title:N")
    texts = []
    for row, bold in (
        (base.transform_filter("datum.chosen"), True),
        (base.transform_filter("!datum.chosen"), False),
    ):
        look: dict[str, Any] = {
            "dy": -7,
            "fontSize": 13,
            "fontWeight": 600 if bold else 400,
            "color": tokens.text,
        }
        texts += [
            row.mark_text(align="left", dx=1, **look).encode(y=y, x=alt.value(0), text="title:N"),
            row.mark_text(align="right", **look).encode(y=y, x=alt.value("width"), text="written:N"),
        ]
    return themed(alt.layer(limit, circles, ticks, halo, *texts), tokens, height=ROW_HEIGHT * len(order))


def curve_chart(
    epsilons: FloatArray,
    curves: Mapping[str, FloatArray],
    limit: FloatArray,
    *,
    chosen: str,
    now: float,
    noun: str,
    dark: bool,
) -> Chart:
    """Draw typical error against epsilon, one thin line for randomisers that agree within 2 %.

    Parameters
    ----------
    epsilons
        (m,) ascending.
    curves
        By name, (m,) typical error in devices.
    limit
        (m,) the least possible.
    chosen
        Name of the scenario's randomiser.
    now
        The scenario's epsilon.
    noun
        What reports: devices or trips.
    dark
        Whether the page is dark.
    """
    tokens = tokens_of(dark=dark)
    groups = grouped(curves)
    lines = [(", ".join(names), curves[names[0]], chosen in names) for names in groups]
    frame = pd.DataFrame(
        [
            {"epsilon": epsilon, "error": error, "line": line, "chosen": own}
            for line, errors, own in lines
            for epsilon, error in zip(epsilons, errors, strict=True)
        ]
    )
    floor = pd.DataFrame({"epsilon": epsilons, "error": limit})
    low, high = float(limit.min()), float(frame["error"].max())
    labels = pd.DataFrame(
        {
            "line": [line for line, _, _ in lines],
            "chosen": [own for _, _, own in lines],
            "epsilon": float(epsilons[-1]),
            "error": apart([float(errors[-1]) for _, errors, _ in lines], low=low, high=high),
        }
    )
    x = alt.X(
        "epsilon:Q",
        title="Privacy loss ε",
        scale=alt.Scale(type="log", domain=[float(epsilons[0]), float(epsilons[-1])], nice=False),
        axis=alt.Axis(values=[0.1, 0.2, 0.5, 1, 2, 5, 10], format="~g"),
    )
    y = alt.Y(
        "error:Q",
        title=f"Typical error of a cell, {noun}",
        scale=alt.Scale(type="log", domain=[low * 0.9, high * 1.1], nice=False),
        axis=alt.Axis(format="~s", tickCount=6),
    )
    color = alt.condition("datum.chosen", alt.value(tokens.accent), alt.value(tokens.quiet))
    drawn = (
        alt.Chart(frame)
        .mark_line(strokeWidth=1.5)
        .encode(
            x=x,
            y=y,
            detail="line:N",
            color=color,
            tooltip=[
                alt.Tooltip("line:N", title="Randomiser"),
                alt.Tooltip("epsilon:Q", format=".3g", title="ε"),
                alt.Tooltip("error:Q", format=",.4g", title=f"Typical error, {noun}"),
            ],
        )
    )
    least = alt.Chart(floor).mark_line(strokeWidth=1, strokeDash=[3, 3], color=tokens.text).encode(x=x, y=y)
    here = (
        alt.Chart(pd.DataFrame({"epsilon": [now]}))
        .transform_filter(f"datum.epsilon >= {float(epsilons[0])} && datum.epsilon <= {float(epsilons[-1])}")
        .mark_rule(strokeWidth=1, color=tokens.accent)
        .encode(x=x)
    )
    texts = alt.Chart(labels).mark_text(align="left", dx=6).encode(x=x, y=y, text="line:N", color=color)
    chart = alt.layer(drawn, least, here, texts).properties(
        padding={"right": 76, "left": 4, "top": 6, "bottom": 4}
    )
    return themed(chart, tokens, height=340)


def grouped(curves: Mapping[str, FloatArray]) -> list[list[str]]:
    """Return names whose curves agree within 2 % everywhere, together.

    >>> grouped({"a": np.array([1.0, 2.0]), "b": np.array([1.01, 2.0]), "c": np.array([1.0, 3.0])})
    [['a', 'b'], ['c']]
    """
    groups: list[list[str]] = []
    for name, curve in curves.items():
        for group in groups:
            if np.abs(curve / curves[group[0]] - 1).max() < _SAME:
                group.append(name)
                break
        else:
            groups.append([name])
    return groups


def apart(values: Sequence[float], *, low: float, high: float, share: float = 0.055) -> list[float]:
    """Move positive values apart on a logarithmic axis, so that labels beside them don't overlap.

    Parameters
    ----------
    values
        Where labels want to be.
    low, high
        Ends of the axis.
    share
        Least distance, as a share of the axis.

    Examples
    --------
    >>> [round(value, 2) for value in apart([1.0, 1.0, 100.0], low=1.0, high=100.0, share=0.5)]
    [1.0, 10.0, 100.0]
    """
    step = share * np.log(high / low)
    order = np.argsort(values, kind="stable")
    places = np.log(np.asarray(values, np.float64))[order]
    for at in range(1, places.size):
        places[at] = max(places[at], places[at - 1] + step)
    top = np.log(high)
    for at in range(places.size - 1, -1, -1):
        places[at] = min(places[at], top)
        top = places[at] - step
    moved = np.empty(places.size)
    moved[order] = np.exp(places)
    return [float(value) for value in moved]
