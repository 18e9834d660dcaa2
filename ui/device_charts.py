"""The charts of the Device page, in the theme of `ui.charts`."""

from __future__ import annotations

import altair as alt
import pandas as pd

from ui.charts import Chart, themed
from ui.palettes import tokens as tokens_of

FONT = "Source Sans, sans-serif"
_ROW = 17
_AROUND = 48
"""Pixels of the title and of the axis, which count towards the height."""
_LEFT = 48
_MOST_RULES = 60


def timeline_chart(
    bars: pd.DataFrame, *, rows: list[str], title: str, truth: bool, epochs: pd.DataFrame, dark: bool
) -> Chart:
    """Draw one line a place, or a distinguishable answer, with a bar for each stretch of time.

    Parameters
    ----------
    bars
        ``row``, ``start``, ``end``.
    rows
        The lines from top to bottom.
    title
        What is drawn, in words.
    truth
        Whether it is the truth rather than what the server sees.
    epochs
        ``time`` at which an epoch begins after the first.
    dark
        Whether the page is dark.
    """
    tokens = tokens_of(dark=dark)
    colour = tokens.text if truth else tokens.accent
    layers: list[Chart] = [
        alt.Chart(bars)
        .mark_bar(color=colour, stroke=colour, strokeWidth=1, cornerRadius=2, height={"band": 0.66})
        .encode(
            x=alt.X("start:T", title=None, axis=_day_axis()),
            x2="end:T",
            y=alt.Y(
                "row:N",
                sort=rows,
                title=None,
                axis=alt.Axis(grid=True, ticks=False, domain=False, minExtent=_LEFT, maxExtent=_LEFT),
            ),
            tooltip=[
                alt.Tooltip("row:N", title="Place" if truth else "Answer"),
                alt.Tooltip("start:T", format="%a %-d %b, %H:%M", title="From"),
                alt.Tooltip("end:T", format="%a %-d %b, %H:%M", title="To"),
            ],
        )
    ]
    if 0 < len(epochs) <= _MOST_RULES:
        rule = alt.Chart(epochs).mark_rule(strokeDash=[4, 4], color=tokens.quiet, strokeWidth=1.2)
        layers.append(rule.encode(x="time:T"))
    drawn = alt.layer(*layers).properties(
        title=alt.TitleParams(
            title, anchor="start", frame="bounds", color=tokens.text, fontSize=14, fontWeight=600, offset=6
        )
    )
    return _drawn(drawn, height=_ROW * max(len(rows), 2) + _AROUND, dark=dark)


def _day_axis() -> alt.Axis:
    return alt.Axis(format="%a %-d", tickCount="day", labelAlign="left", labelBound=True, labelOverlap=True)


def _drawn(chart: Chart, *, height: int, dark: bool) -> Chart:
    # The font goes first: setting it replaces what was configured before.
    return themed(chart.configure(font=FONT), tokens_of(dark=dark), height=height)


def spend_chart(spent: pd.DataFrame, *, dark: bool) -> Chart:
    """Draw the epsilon spent so far, fresh against remembered, on a logarithmic scale.

    Parameters
    ----------
    spent
        ``kind``, ``time``, ``epsilon``.
    dark
        Whether the page is dark.
    """
    tokens = tokens_of(dark=dark)
    names = list(dict.fromkeys(spent["kind"]))
    colours = [tokens.quiet, tokens.accent][: len(names)]
    base = alt.Chart(spent).encode(
        x=alt.X("time:T", title=None, axis=alt.Axis(format="%a %-d", tickCount="day", labelAlign="left")),
        y=alt.Y(
            "epsilon:Q",
            scale=alt.Scale(type="log"),
            title="ε spent so far",
            axis=alt.Axis(
                values=[0.01, 0.1, 1, 10, 100, 1_000, 10_000, 100_000], format=",~g", minExtent=_LEFT
            ),
        ),
        color=alt.Color("kind:N", legend=None, scale=alt.Scale(domain=names, range=colours)),
    )
    line = base.mark_line(strokeWidth=2, interpolate="step-after").encode(
        tooltip=[
            alt.Tooltip("kind:N", title="Answers"),
            alt.Tooltip("time:T", format="%a %-d %b, %H:%M", title="Time"),
            alt.Tooltip("epsilon:Q", format=",.6g", title="ε so far"),
        ]
    )
    last = spent.loc[spent.groupby("kind")["time"].idxmax()]
    named = alt.Chart(last.assign(name=[f"{row.kind}: ε = {row.epsilon:,.6g}" for row in last.itertuples()]))
    place = {"x": "time:T", "y": "epsilon:Q", "text": "name:N"}
    # The page's own colour around the letters keeps the grid out of them.
    halo = named.mark_text(
        align="right", dx=-4, dy=-9, color=tokens.page, stroke=tokens.page, strokeWidth=5
    ).encode(**place)
    labels = named.mark_text(align="right", dx=-4, dy=-9).encode(
        **place, color=alt.Color("kind:N", legend=None, scale=alt.Scale(domain=names, range=colours))
    )
    return _drawn(alt.layer(line, halo, labels), height=150, dark=dark)


def success_chart(lines: pd.DataFrame, dots: pd.DataFrame, *, marks: pd.DataFrame, dark: bool) -> Chart:
    """Draw how often the best guess is right: theory as lines, simulated phones as dots of the same colour.

    Parameters
    ----------
    lines
        ``kind``, ``reports``, ``success``.
    dots
        ``kind``, ``reports``, ``success``, ``low``, ``high``.
    marks
        ``reports`` and ``name`` of spans of time on the axis.
    dark
        Whether the page is dark.
    """
    tokens = tokens_of(dark=dark)
    names = ["fresh answers", "with memory"]
    scale = alt.Scale(domain=names, range=[tokens.text, tokens.accent])
    colour = alt.Color("kind:N", legend=None, scale=scale)
    x = alt.X(
        "reports:Q",
        scale=alt.Scale(type="log", nice=False),
        title="Reports sent from the same cell",
        axis=alt.Axis(format="~s", tickCount=6),
    )
    y = alt.Y(
        "success:Q",
        scale=alt.Scale(domain=[0, 1.04], nice=False),
        title="Guess is right",
        axis=alt.Axis(format=".0%", tickCount=5),
    )
    tooltip = [
        alt.Tooltip("kind:N", title="Answers"),
        alt.Tooltip("reports:Q", format=",", title="Reports"),
        alt.Tooltip("success:Q", format=".3f", title="Guess is right"),
    ]
    layers: list[Chart] = []
    if len(marks):
        base = alt.Chart(marks)
        layers += [
            base.mark_rule(strokeDash=[3, 4], color=tokens.grid, strokeWidth=1.5).encode(x="reports:Q"),
            base.mark_text(align="left", baseline="top", dx=4, color=tokens.quiet).encode(
                x="reports:Q", y=alt.value(24), text="name:N"
            ),
        ]
    if len(lines):
        layers.append(
            alt.Chart(lines).mark_line(strokeWidth=2).encode(x=x, y=y, color=colour, tooltip=tooltip)
        )
        ends = lines.loc[lines.groupby("kind")["reports"].idxmax()]
        layers.append(
            alt.Chart(ends[ends["kind"] == names[1]])
            .mark_text(align="right", dx=-6, dy=-12)
            .encode(x=x, y=y, text="kind:N", color=colour)
        )
        middle = lines[(lines["kind"] == names[0]) & (lines["success"] > 0.45)].head(1)
        layers.append(
            alt.Chart(middle).mark_text(align="right", dx=-10).encode(x=x, y=y, text="kind:N", color=colour)
        )
    if len(dots):
        base = alt.Chart(dots)
        layers += [
            base.mark_rule(strokeWidth=1.5).encode(x=x, y=alt.Y("low:Q"), y2="high:Q", color=colour),
            base.mark_point(filled=True, size=48, opacity=1).encode(x=x, y=y, color=colour, tooltip=tooltip),
        ]
    return _drawn(alt.layer(*layers), height=300, dark=dark)


def spend_histogram(counts: pd.DataFrame, *, dark: bool) -> Chart:
    """Draw how many phones spend how much.

    Parameters
    ----------
    counts
        ``epsilon`` and ``phones``.
    dark
        Whether the page is dark.
    """
    tokens = tokens_of(dark=dark)
    bars = (
        alt.Chart(counts)
        .mark_bar(color=tokens.accent, cornerRadiusTopLeft=2, cornerRadiusTopRight=2)
        .encode(
            x=alt.X(
                "epsilon:O",
                title="ε spent by one phone, with memory",
                axis=alt.Axis(labelAngle=0, labelOverlap=True, grid=False),
            ),
            y=alt.Y("phones:Q", title="Phones", axis=alt.Axis(format=",d", tickCount=5)),
            tooltip=[
                alt.Tooltip("epsilon:Q", title="ε spent"),
                alt.Tooltip("phones:Q", format=",", title="Phones"),
            ],
        )
    )
    return _drawn(bars, height=220, dark=dark)
