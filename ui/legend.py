"""The legend below the map: numeric breaks, units, and a swatch for each thing that is no number.

Plain HTML for `st.html`, which keeps no inline SVG; pictures are therefore images with their SVG
inside the address. Whatever text comes from outside is escaped.
"""

from __future__ import annotations

import base64
from html import escape

import numpy as np

from ui.number_words import MINUS, thousands
from ui.palettes import (
    RAMP_SIZE,
    RAMPS,
    VSUP_BINS,
    VSUP_LIMITS,
    CountScale,
    ErrorScale,
    Tokens,
    tokens,
    vsup_swatch,
)

_BAR_WIDTH = 264
_BAR_HEIGHT = 14
_CHARACTER_WIDTH = 7.6
"""Pixels of one tabular digit at 14 pixels, rounded up."""
_HEXAGON = "M10 .8 18 5.4v9.2L10 19.2 2 14.6V5.4Z"


def legend_html(
    *,
    scale: CountScale | None,
    dark: bool,
    errors: ErrorScale | None = None,
    hatched: bool = True,
    vsup: bool = False,
    counts_label: str = "Devices per cell",
    counts_note: str = "Truth and Published share this scale.",
    error_label: str = "Published less truth, devices",
    error_note: str = "Left of 0: too low. Right of 0: too high.",
    open_top: bool = True,
) -> str:
    """Return the legend as HTML that needs no script and no style sheet.

    Parameters
    ----------
    scale
        The scale that truth and estimate share, or none where no panel shows counts.
    dark
        Whether the page is dark.
    errors
        The scale of the error panel, or none where there is no such panel.
    hatched
        Whether any cell on the map is hatched.
    vsup
        Whether the estimates are drawn in the value-suppressing palette; its wedge is then added.
    counts_label, counts_note, error_label, error_note
        What is counted, in words with the unit; shown as text, whatever they contain.
    open_top
        Whether values above the top of the scale are possible, and its last number says so.

    Returns
    -------
    str
        One block that wraps on a narrow screen.
    """
    theme = tokens(dark=dark)
    parts = []
    if scale is not None:
        counts = [
            (
                float(scale.position(value)),
                thousands(value) + ("+" if open_top and value == scale.top else ""),
            )
            for value in scale.breaks
        ]
        note = "The colours of Truth." if vsup else counts_note
        parts.append(_block(counts_label, _bar("counts", counts, theme, dark=dark), theme, note))
        if vsup:
            parts.append(_wedge(scale, theme, dark=dark))
    parts.append(
        _swatches(theme, dark=dark, hatched=hatched, zero="counts" if scale is not None else "error")
    )
    if errors is not None:
        limit = thousands(errors.limit)
        places = [(0.0, f"{MINUS}{limit}"), (0.5, "0"), (1.0, f"+{limit}")]
        bar = _bar("error", places, theme, dark=dark)
        parts.append(_block(error_label, bar, theme, error_note))
    style = (
        "display:flex;flex-wrap:wrap;gap:16px 32px;align-items:flex-start;font-size:14px;line-height:1.35;"
        f"font-variant-numeric:tabular-nums;color:{theme.text}"
    )
    return (
        f'<div role="group" aria-label="Legend" data-testid="legend" style="{style}">{"".join(parts)}</div>'
    )


def _block(title: str, body: str, theme: Tokens, note: str = "") -> str:
    extra = f'<div style="color:{theme.quiet}">{escape(note)}</div>' if note else ""
    return (
        f'<div style="max-width:100%"><div style="font-weight:600;margin-bottom:4px">{escape(title)}</div>'
        f"{body}{extra}</div>"
    )


def _gradient(name: str, *, dark: bool) -> str:
    """Return a CSS gradient through a ramp; 17 stops, since browsers mix in sRGB and the ramp does not."""
    stops = np.rint(np.linspace(0, RAMP_SIZE - 1, 17)).astype(int)
    return f"linear-gradient(90deg,{','.join(RAMPS[name].css(int(at), dark=dark) for at in stops)})"


def _bar(name: str, places: list[tuple[float, str]], theme: Tokens, *, dark: bool) -> str:
    """Return a ramp with labels under it, each at its share of the width."""
    ticks = []
    spans = []
    for share, text in _without_overlap(places):
        # The outer labels stay inside the bar.
        shift = "0" if share <= 0 else "-100%" if share >= 1 else "-50%"
        spans.append(
            f'<span style="position:absolute;left:{100 * share:.1f}%;transform:translateX({shift});'
            f'white-space:nowrap">{escape(text)}</span>'
        )
        if 0 < share < 1:
            ticks.append(
                f'<span style="position:absolute;left:{100 * share:.1f}%;top:{_BAR_HEIGHT}px;width:1px;'
                f'height:4px;background:{theme.quiet}"></span>'
            )
    return (
        f'<div style="position:relative;width:{_BAR_WIDTH}px;max-width:100%">'
        f'<div style="height:{_BAR_HEIGHT}px;border-radius:4px;box-sizing:border-box;'
        f'border:1px solid {theme.grid};background:{_gradient(name, dark=dark)}"></div>{"".join(ticks)}'
        f'<div style="position:relative;height:20px;margin-top:4px">{"".join(spans)}</div></div>'
    )


def _without_overlap(places: list[tuple[float, str]]) -> list[tuple[float, str]]:
    """Leave out inner labels that would touch their neighbour or the last one."""

    def extent(share: float, text: str) -> tuple[float, float]:
        width = _CHARACTER_WIDTH * len(text)
        left = share * _BAR_WIDTH - width * (0 if share <= 0 else 1 if share >= 1 else 0.5)
        return left, left + width

    gap = 8.0
    kept = [places[0]]
    last_left = extent(*places[-1])[0]
    for place in places[1:-1]:
        left, right = extent(*place)
        if left >= extent(*kept[-1])[1] + gap and right + gap <= last_left:
            kept.append(place)
    return [*kept, places[-1]]


def _image(svg: str, width: int, height: int, alt: str) -> str:
    address = base64.b64encode(svg.encode()).decode()
    return (
        f'<img src="data:image/svg+xml;base64,{address}" width="{width}" height="{height}" '
        f'alt="{escape(alt)}" style="display:block;flex:none;max-width:100%">'
    )


def _hexagon(fill: str, theme: Tokens, *, hatched: bool = False) -> str:
    lines = ""
    if hatched:
        strokes = "".join(f"M{x} 20 {x + 20} 0" for x in range(-17, 22, 6))
        lines = (
            f'<clipPath id="h"><path d="{_HEXAGON}"/></clipPath>'
            f'<path clip-path="url(#h)" d="{strokes}" stroke="{theme.hatch}" stroke-width="1.5"/>'
        )
    svg = (
        '<svg xmlns="http://www.w3.org/2000/svg" width="20" height="20" viewBox="0 0 20 20">'
        f'<path d="{_HEXAGON}" fill="{fill}"/>{lines}'
        f'<path d="{_HEXAGON}" fill="none" stroke="{theme.grid}" stroke-width="1.2"/></svg>'
    )
    return _image(svg, 20, 20, "")


def _swatches(theme: Tokens, *, dark: bool, hatched: bool, zero: str) -> str:
    """Return the swatches of what is no number; `zero` is the ramp whose zero is drawn."""
    rows = []
    if hatched:
        rows.append((_hexagon(theme.land, theme, hatched=True), "not published"))
    colour = RAMPS[zero].css(0 if zero == "counts" else RAMP_SIZE // 2, dark=dark)
    rows.append((_hexagon(colour, theme), "about zero"))
    bare = (
        '<span style="width:18px;height:18px;margin:1px;border-radius:4px;flex:none;box-sizing:border-box;'
        f'background:{theme.land};border:1px solid {theme.coast}"></span>'
    )
    rows.append((bare, "land without a cell: outside the area"))
    items = "".join(
        '<div style="display:flex;gap:8px;align-items:center;margin-bottom:4px">'
        f"{picture}<span>{escape(text)}</span></div>"
        for picture, text in rows
    )
    return f"<div>{items}</div>"


def _wedge(scale: CountScale, theme: Tokens, *, dark: bool) -> str:
    """Return the fan of the VSUP: counts grow from left to right, certainty from the tip outward."""
    centre_x, centre_y, radius, half = 100.0, 128.0, 108.0, np.pi / 4
    levels = len(VSUP_BINS)

    def point(distance: float, turn: float) -> str:
        return f"{centre_x + distance * np.sin(turn):.1f} {centre_y - distance * np.cos(turn):.1f}"

    parts = []
    names = [f"within ±{100 * limit:.0f}\N{NARROW NO-BREAK SPACE}%" for limit in VSUP_LIMITS] + [
        "less certain"
    ]
    for level, (bins, name) in enumerate(zip(VSUP_BINS, names, strict=True)):
        outer, inner = (radius * (levels - level - step) / levels for step in (0, 1))
        for number in range(bins):
            left, right = (-half + 2 * half * at / bins for at in (number, number + 1))
            parts.append(
                f'<path d="M{point(outer, left)}A{outer} {outer} 0 0 1 {point(outer, right)}'
                f'L{point(inner, right)}A{inner} {inner} 0 0 0 {point(inner, left)}Z" '
                f'fill="{vsup_swatch(level, number, dark=dark)}" stroke="{theme.page}"/>'
            )
        x, y = (float(part) for part in point((outer + inner) / 2, half).split())
        parts.append(f'<text x="{x + 12:.1f}" y="{y + 10:.1f}">{escape(name)}</text>')
    ends = [(-half, 0.0, "end"), (0.0, scale.top / 4, "middle"), (half, scale.top, "start")]
    for turn, value, anchor in ends:
        x, y = (float(part) for part in point(radius + 6, turn).split())
        parts.append(f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{thousands(value)}</text>')
    svg = (
        '<svg xmlns="http://www.w3.org/2000/svg" width="264" height="132" viewBox="0 0 264 132" '
        f'font-family="sans-serif" font-size="12" fill="{theme.text}">{"".join(parts)}</svg>'
    )
    description = (
        f"A fan. From left to right devices from 0 to {thousands(scale.top)}; from the rim to the tip "
        "one standard error of up to 10, 25 and 50 per cent of the count, then all one grey-green."
    )
    picture = _image(svg, 264, 132, description)
    return _block("Published, by certainty", picture, theme, "±: one standard error over the count")
