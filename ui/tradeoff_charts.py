"""The pictures of the Trade-offs page: heat map, theory over dots, front, tenths and ranks, in the product's theme."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

import altair as alt
import numpy as np
import pandas as pd

from ui.charts import Chart, themed
from ui.mechanism_charts import apart
from ui.palettes import RAMP_SIZE, RAMPS, hex_to_rgb, rgb_to_oklab
from ui.palettes import tokens as tokens_of
from ui.tradeoff_words import Measure

PICK: Final = "pick"
"""Name of the selection of a point, in the heat map and the front alike."""
_ROW: Final = 46
_POWERS: Final = [first * 10.0**power for power in range(-5, 10) for first in (1, 3)]


def heat_map(
    frame: pd.DataFrame,
    measure: Measure,
    *,
    epsilons: Sequence[float],
    resolutions: Sequence[int],
    noun: str,
    dark: bool,
) -> Chart:
    """Draw a figure over epsilon and resolution; stronger colours are more useful.

    Parameters
    ----------
    frame
        As `heat_frame` gives it.
    measure
        The figure.
    epsilons, resolutions
        All that are tried: a combination that is still to come has its place.
    noun
        What reports: devices or trips.
    dark
        Whether the page is dark.
    """
    tokens = tokens_of(dark=dark)
    ramp = RAMPS["counts"]
    shown = frame.assign(
        fill=[
            tokens.land if failed else ramp.css(round(strong * (RAMP_SIZE - 1)), dark=dark)
            for strong, failed in zip(frame["strength"], frame["error"].notna(), strict=True)
        ]
    )
    shown["ink"] = [_ink(fill) for fill in shown["fill"]]
    shown.loc[frame["error"].notna(), "ink"] = tokens.text
    pick = alt.selection_point(name=PICK, fields=["epsilon", "resolution"], toggle=False)
    x = alt.X(
        "epsilon:O",
        scale=alt.Scale(domain=list(epsilons)),
        title="Privacy loss ε: left more private, right more accurate",
        axis=alt.Axis(labelAngle=0, format="~g", grid=False),
    )
    y = alt.Y(
        "resolution:O",
        scale=alt.Scale(domain=list(resolutions)),
        title="Resolution (H3)",
        axis=alt.Axis(grid=False),
    )
    base = alt.Chart(shown).encode(x=x, y=y, tooltip=_point_tooltip(measure, noun))
    cells = base.mark_rect(stroke=tokens.page, strokeWidth=2, cornerRadius=4).encode(
        color=alt.Color("fill:N", scale=None, legend=None)
    )
    # On a phone a cell is narrower than its number: smaller there, and without spaces.
    narrow = f"width / {max(len(epsilons), 1)} < 52"
    texts = (
        base.transform_calculate(
            short=f"{narrow} ? replace(datum.written, regexp('\\\\s', 'g'), '') : datum.written"
        )
        .mark_text(fontSize=alt.ExprRef(f"{narrow} ? 11 : 13"))
        .encode(text="short:N", color=alt.Color("ink:N", scale=None, legend=None))
    )
    # A light line inside the dark one, so that the frame shows on every colour.
    frames = [
        base.transform_filter("datum.now").mark_rect(
            fillOpacity=0, stroke=stroke, strokeWidth=width, cornerRadius=4
        )
        for stroke, width in ((tokens.page, 7), (tokens.text, 3))
    ]
    # On top and all but clear: a click on a number or a frame is a click on its cell.
    hits = base.mark_rect(color=tokens.page, opacity=0.01, cursor="pointer").add_params(pick)
    return themed(alt.layer(cells, *frames, texts, hits), tokens, height=_ROW * len(resolutions) + 84)


def _ink(fill: str) -> str:
    """Return black or white, whichever is read more easily on a colour."""
    lightness = float(rgb_to_oklab(hex_to_rgb(fill))[0])
    return "#14202B" if lightness > 0.62 else "#FFFFFF"


def _point_tooltip(measure: Measure, noun: str) -> list[Any]:
    unit = f", {noun}" if measure.key == "mean_absolute_error" else ""
    return [
        alt.Tooltip("epsilon:Q", title="ε", format="~g"),
        alt.Tooltip("resolution:Q", title="Resolution"),
        alt.Tooltip("written:N", title=measure.label + unit),
        alt.Tooltip("error_words:N", title="Error"),
        alt.Tooltip("cells:Q", title="Cells", format=","),
        alt.Tooltip("redraws:Q", title="Redraws"),
    ]


_FEW_EPSILONS: Final = {0.1, 0.2, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0}


def theory_lines(
    dots: pd.DataFrame,
    lines: pd.DataFrame,
    measure: Measure,
    *,
    chosen: Any,  # noqa: ANN401 - the value of the axis that tells the lines apart
    now: float,
    names: Mapping[Any, str],
    noun: str,
    dark: bool,
) -> Chart:
    """Draw theory as thin lines and the redraws as dots with their spread, in the same colours.

    Parameters
    ----------
    dots, lines
        As `line_frames` gives them.
    measure
        The figure.
    chosen
        Line of the scenario in force, drawn in the accent.
    now
        Its epsilon.
    names
        What each line is called at its right end.
    noun
        What reports: devices or trips.
    dark
        Whether the page is dark.
    """
    tokens = tokens_of(dark=dark)
    ordered = not any(isinstance(name, str) for name in names)
    shades = _series_colours(len(names), dark=dark) if ordered else [tokens.quiet] * len(names)
    colours = dict(zip(names, shades, strict=True))
    colours[chosen] = tokens.accent
    scale = alt.Scale(domain=[str(key) for key in names], range=[colours[key] for key in names])
    if measure.logarithmic:
        values = np.concatenate([dots["value"], dots["high"], lines["theory"]]).astype(np.float64)
        values = values[np.isfinite(values) & (values > 0)]
        low, high = (float(values.min()) * 0.85, float(values.max()) * 1.15) if values.size else (0.1, 1.0)
        dots = dots.assign(low=np.maximum(dots["low"].to_numpy(np.float64), low))
        y_scale = alt.Scale(type="log", domain=[low, high], nice=False)
    else:
        top = (
            1.0
            if measure.kind == "share"
            else max(float(np.nanmax([*dots["high"], *lines["theory"], 1.0])), 1.0)
        )
        low, high = 0.0, 1.03 * top
        y_scale = alt.Scale(domain=[low, high], nice=False)
    y_axis = _value_axis(measure, low, high)
    unit = f", {noun}" if measure.key == "mean_absolute_error" else ""
    epsilons = [*dots["epsilon"], *lines["epsilon"]] or [now]
    ticks = {*map(float, dots["epsilon"])} or {
        epsilon for epsilon in _FEW_EPSILONS if min(epsilons) <= epsilon <= max(epsilons)
    }
    x = alt.X(
        "epsilon:Q",
        title="Privacy loss ε",
        scale=alt.Scale(type="log", domain=[min(epsilons) * 0.94, max(epsilons) * 1.06], nice=False),
        axis=alt.Axis(
            values=sorted(ticks),
            format="~g",
            grid=False,
            labelOverlap=True,
        ),
    )
    y = alt.Y("value:Q", title=measure.axis + unit, scale=y_scale, axis=y_axis)
    color = alt.Color("name:N", scale=scale, legend=None)
    frame = dots.assign(name=dots["line"].map(str), title=dots["line"].map(names))
    curve = lines.assign(name=lines["line"].map(str)).rename(columns={"theory": "value"})
    percent = ".3~%" if measure.kind in {"share", "relative"} else ",.4~g"
    tooltip = [
        alt.Tooltip("title:N", title="Line"),
        alt.Tooltip("epsilon:Q", title="ε", format="~g"),
        alt.Tooltip("value:Q", title="Mean of the redraws", format=percent),
        alt.Tooltip("low:Q", title="From", format=percent),
        alt.Tooltip("high:Q", title="To", format=percent),
        alt.Tooltip("theory:Q", title="Theory", format=percent),
    ]
    drawn = alt.Chart(curve).mark_line(strokeWidth=1.5).encode(x=x, y=y, color=color, detail="name:N")
    bars = (
        alt.Chart(frame)
        .mark_rule(strokeWidth=2, opacity=0.5)
        .encode(x=x, y=alt.Y("low:Q"), y2="high:Q", color=color)
    )
    circles = (
        alt.Chart(frame)
        .mark_point(filled=True, size=44, opacity=1)
        .encode(x=x, y=y, color=color, tooltip=tooltip)
    )
    here = (
        alt.Chart(pd.DataFrame({"epsilon": [now]}))
        .mark_rule(strokeDash=[4, 4], color=tokens.quiet)
        .encode(x=x)
    )
    # A line without a dot so far is named at the end of its theory.
    bare = curve[~curve["line"].isin(frame["line"])]
    named = pd.concat([part for part in (frame, bare) if not part.empty] or [frame])
    labels = _end_labels(named, names, low=low, high=high, logarithmic=measure.logarithmic)
    texts = (
        alt.Chart(labels)
        .mark_text(align="left", dx=8, clip=False)
        .encode(x=alt.value("width"), y=y, text="title:N", color=alt.value(tokens.text))
    )
    longest = max((len(name) for name in names.values()), default=0)
    chart = alt.layer(here, drawn, bars, circles, texts).properties(
        padding={"right": 16 + 7 * longest, "left": 4, "top": 6, "bottom": 4}
    )
    return themed(chart, tokens, height=340)


def _value_axis(measure: Measure, low: float, high: float) -> alt.Axis:
    """Return an axis whose grid has few lines; Vega draws nine a decade on a logarithmic one."""
    text = "~%" if measure.kind in {"share", "relative"} else "~s"
    if not measure.logarithmic:
        return alt.Axis(format=text, tickCount=6)
    inside = [value for value in _POWERS if low <= value <= high]
    return alt.Axis(format=text, values=inside[::2] if len(inside) > 8 else inside)


def _series_colours(many: int, *, dark: bool) -> list[str]:
    """Return colours of ordered lines, from the ramp of counts without its palest end."""
    places = np.linspace(110, RAMP_SIZE - 1, many) if not dark else np.linspace(70, RAMP_SIZE - 1, many)
    return [RAMPS["counts"].css(round(float(place)), dark=dark) for place in places]


def _end_labels(
    dots: pd.DataFrame, names: Mapping[Any, str], *, low: float, high: float, logarithmic: bool
) -> pd.DataFrame:
    """Return the name of each line at the height of its last dot, moved apart."""
    if dots.empty:
        return pd.DataFrame({"title": [], "value": []})
    last = dots.loc[dots.groupby("line")["epsilon"].idxmax()]
    values = last["value"].to_numpy(np.float64)
    if logarithmic:
        moved = apart(np.clip(values, low, high).tolist(), low=low, high=high, share=0.05)
    else:
        # The same spacing on a linear axis: its exponential is a logarithmic one.
        unit = np.exp(np.clip((values - low) / (high - low), 0, 1))
        moved = [
            low + (high - low) * math.log(place)
            for place in apart(unit.tolist(), low=1.0, high=math.e, share=0.05)
        ]
    return pd.DataFrame({"title": [names[line] for line in last["line"]], "value": moved})


def front_chart(frame: pd.DataFrame, measure: Measure, *, noun: str, dark: bool) -> Chart:
    """Draw usefulness against privacy: what nothing beats is joined by a line, what something beats is faint.

    Parameters
    ----------
    frame
        As `pareto_frame` gives it.
    measure
        The figure.
    noun
        What reports: devices or trips.
    dark
        Whether the page is dark.
    """
    tokens = tokens_of(dark=dark)
    shown = frame.assign(name=[f"r{resolution}" for resolution in frame["resolution"]])
    values = shown["value"].to_numpy(np.float64)
    if measure.logarithmic:
        positive = values[values > 0]
        least, most = (
            (0.8 * float(positive.min()), 1.25 * float(positive.max())) if positive.size else (0.1, 1.0)
        )
        y_scale = alt.Scale(type="log", domain=[least, most], nice=False, reverse=True)
    else:
        # Cells to publish range from a few to thousands; the square root keeps the few apart.
        least, most = 0.0, 1.1 * max(float(values.max(initial=0.0)), 1e-9)
        y_scale = alt.Scale(type="sqrt", domain=[least, most], nice=False)
    unit = f", {noun}" if measure.key == "mean_absolute_error" else ""
    epsilons = sorted({*map(float, shown["epsilon"])})
    x = alt.X(
        "epsilon:Q",
        title="Privacy loss ε: left more private",
        scale=alt.Scale(type="log", domain=[epsilons[0] * 0.9, epsilons[-1] * 1.1], nice=False),
        axis=alt.Axis(values=epsilons, format="~g", grid=False, labelOverlap=True),
    )
    y = alt.Y(
        "value:Q",
        title=measure.axis + unit,
        scale=y_scale,
        axis=_value_axis(measure, least, most),
    )
    pick = alt.selection_point(name=PICK, fields=["epsilon", "resolution"], toggle=False)
    base = alt.Chart(shown).encode(x=x, y=y, tooltip=_point_tooltip(measure, noun))
    front = base.transform_filter("datum.front")
    line = front.mark_line(interpolate="step-after", strokeWidth=1.5, color=tokens.accent)
    dots = (
        base.mark_point(filled=True, size=90, cursor="pointer")
        .encode(
            color=alt.condition("datum.front", alt.value(tokens.accent), alt.value(tokens.quiet)),
            opacity=alt.condition("datum.front", alt.value(1.0), alt.value(0.35)),
        )
        .add_params(pick)
    )
    names = front.mark_text(dy=-13, color=tokens.text).encode(text="name:N")
    now = base.transform_filter("datum.now").mark_point(size=320, strokeWidth=2.5, color=tokens.text)
    word = (
        base.transform_filter("datum.now")
        .mark_text(align="left", dx=14, fontWeight=600, color=tokens.text)
        .encode(text=alt.value("now"))
    )
    return themed(alt.layer(line, dots, now, names, word), tokens, height=300)


def decile_chart(frame: pd.DataFrame, *, dark: bool) -> Chart:
    """Draw the error of each tenth of the cells as a share of its count: theory a tick, redraws a dot."""
    tokens = tokens_of(dark=dark)
    known = frame[frame["relative_error_expected"].notna()]
    x = _decile_axis()
    positive = known["relative_error_expected"]
    low, high = (0.7 * positive.min(), 1.4 * positive.max()) if len(known) else (0.01, 1.0)
    y = alt.Y(
        "relative_error:Q",
        title="Error over the count (one standard error)",
        scale=alt.Scale(type="log", domain=[low, high], nice=False),
        axis=alt.Axis(format="~%", values=_POWERS),
    )
    base = alt.Chart(known).encode(x=x, tooltip=_decile_tooltip())
    ticks = base.mark_tick(thickness=2, color=tokens.text, bandSize=26).encode(
        y=alt.Y("relative_error_expected:Q")
    )
    dots = base.mark_point(filled=True, size=46, color=tokens.accent, opacity=1).encode(y=y)
    return themed(alt.layer(ticks, dots), tokens, height=250)


def decile_share_chart(frame: pd.DataFrame, *, dark: bool) -> Chart:
    """Draw the share of each tenth's cells that is published, with the spread over the redraws."""
    tokens = tokens_of(dark=dark)
    known = frame[frame["cells"] > 0].assign(
        low=lambda rows: rows["published_share"] - rows["published_share_sd"],
        high=lambda rows: rows["published_share"] + rows["published_share_sd"],
    )
    x = _decile_axis()
    y = alt.Y(
        "published_share:Q",
        title="Share of its cells published",
        scale=alt.Scale(domain=[0, 1.05], nice=False),
        axis=alt.Axis(format="~%", values=[0, 0.25, 0.5, 0.75, 1]),
    )
    base = alt.Chart(known).encode(x=x, tooltip=_decile_tooltip())
    bars = base.mark_bar(color=tokens.accent, opacity=0.3, cornerRadius=3).encode(y=y)
    spread = base.mark_rule(strokeWidth=2, color=tokens.accent, opacity=0.6).encode(
        y=alt.Y("low:Q"), y2="high:Q"
    )
    ticks = base.mark_tick(thickness=2, color=tokens.text, bandSize=26).encode(
        y=alt.Y("published_share_expected:Q")
    )
    dots = base.mark_point(filled=True, size=46, color=tokens.accent, opacity=1).encode(y=y)
    return themed(alt.layer(bars, spread, ticks, dots), tokens, height=250)


def _decile_axis() -> Any:  # noqa: ANN401 - Altair's channel
    return alt.X(
        "decile:O",
        title="Tenth of the cells: 1 the emptiest, 10 the fullest",
        axis=alt.Axis(labelAngle=0, grid=False),
    )


def _decile_tooltip() -> list[Any]:
    return [
        alt.Tooltip("decile:Q", title="Tenth"),
        alt.Tooltip("cells:Q", title="Cells", format=","),
        alt.Tooltip("mean_count:Q", title="Devices a cell", format=",.3~r"),
        alt.Tooltip("error:Q", title="Mean absolute error", format=",.3~r"),
        alt.Tooltip("error_expected:Q", title="Its theory", format=",.3~r"),
        alt.Tooltip("relative_error:Q", title="Error over the count", format=".3~%"),
        alt.Tooltip("published_share:Q", title="Published", format=".3~%"),
    ]


def rank_chart(frame: pd.DataFrame, *, size: int, redraws: int, dark: bool) -> Chart:
    """Draw where each cell of the true list ends up: from the 5th to the 95th percentile of its rank.

    Parameters
    ----------
    frame
        As `ListRedraws.rank_frame` gives it.
    size
        Cells of the list.
    redraws
        How many redraws.
    dark
        Whether the page is dark.
    """
    tokens = tokens_of(dark=dark)
    most = max(float(frame["rank_high"].max()), size + 2.0)
    shown = frame.assign(words=[f"{listed}/{redraws}" for listed in frame["listed"]])
    x = alt.X(
        "rank_median:Q",
        title="Rank in the redraws",
        scale=alt.Scale(type="log", domain=[0.93, most * 1.05], nice=False),
        axis=alt.Axis(
            values=[value for value in (1, 2, 5, 10, 20, 50, 100, 1000, 10_000, 100_000) if value <= most],
            format="~s",
        ),
    )
    y = alt.Y("rank:O", title="True rank", axis=alt.Axis(grid=False))
    base = alt.Chart(shown).encode(
        y=y,
        tooltip=[
            alt.Tooltip("rank:Q", title="True rank"),
            alt.Tooltip("words:N", title="On the list in redraws"),
            alt.Tooltip("same_rank:Q", title="At just this rank"),
            alt.Tooltip("rank_low:Q", title="Rank, 5 %", format=",.0f"),
            alt.Tooltip("rank_high:Q", title="Rank, 95 %", format=",.0f"),
        ],
    )
    spans = base.mark_rule(strokeWidth=7, strokeCap="round", color=tokens.accent, opacity=0.4).encode(
        x=alt.X("rank_low:Q"), x2="rank_high:Q"
    )
    dots = base.mark_point(filled=True, size=60, color=tokens.accent, opacity=1).encode(x=x)
    end = (
        alt.Chart(pd.DataFrame({"rank_median": [size + 0.5], "name": ["end of the list"]}))
        .mark_rule(strokeDash=[4, 4], color=tokens.quiet)
        .encode(x=x)
    )
    words = base.mark_text(align="left", dx=8, color=tokens.text).encode(x=alt.value("width"), text="words:N")
    chart = alt.layer(end, spans, dots, words).properties(
        padding={"right": 64, "left": 4, "top": 6, "bottom": 4}
    )
    return themed(chart, tokens, height=27 * max(len(frame), 1) + 20)
