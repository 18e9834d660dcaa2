"""The legend below the map: numeric breaks, units, and a swatch for each thing that is no number."""

from __future__ import annotations

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

_BAR_WIDTH = 260
_BAR_HEIGHT = 14


def legend_html(
    *,
    scale: CountScale,
    dark: bool,
    errors: ErrorScale | None = None,
    hatched: bool = True,
    vsup: bool = False,
    counts_label: str = "Devices per cell",
    error_label: str = "Published less truth, devices",
    counts_note: str = "Truth and Published share this scale",
) -> str:
    """Return the legend as HTML that needs no script and no style sheet.

    Parameters
    ----------
    scale
        The scale that truth and estimate share.
    dark
        Whether the page is dark.
    errors
        The scale of the error panel, or none where there is no such panel.
    hatched
        Whether any cell on the map is hatched.
    vsup
        Whether the estimates are drawn in the value-suppressing palette; its wedge is then added.
    counts_label, error_label, counts_note
        What is counted, in words with the unit; shown as text, whatever they contain.

    Returns
    -------
    str
        One block that wraps on a narrow screen.
    """
    theme = tokens(dark=dark)
    parts = [_counts(scale, counts_label, counts_note, theme, dark=dark)]
    if vsup:
        parts.append(_wedge(scale, theme, dark=dark))
    parts.append(_swatches(theme, dark=dark, hatched=hatched))
    if errors is not None:
        parts.append(_error(errors, error_label, theme, dark=dark))
    style = (
        "display:flex;flex-wrap:wrap;gap:12px 32px;align-items:flex-start;font-size:14px;line-height:1.35;"
        f"font-variant-numeric:tabular-nums;color:{theme.text}"
    )
    return f'<div role="group" aria-label="Legend" data-testid="legend" style="{style}">{"".join(parts)}</div>'


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


def _bar(gradient: str, theme: Tokens) -> str:
    return (
        f'<div style="height:{_BAR_HEIGHT}px;border-radius:4px;box-sizing:border-box;'
        f'border:1px solid {theme.grid};background:{gradient}"></div>'
    )


def _labels(places: list[tuple[float, str]]) -> str:
    """Return labels under a bar, each at its share of the width; the outer ones stay inside it."""
    spans = []
    for share, text in places:
        shift = "0" if share <= 0 else "-100%" if share >= 1 else "-50%"
        spans.append(
            f'<span style="position:absolute;left:{100 * share:.1f}%;transform:translateX({shift});'
            f'white-space:nowrap">{escape(text)}</span>'
        )
    return f'<div style="position:relative;height:20px">{"".join(spans)}</div>'


def _counts(scale: CountScale, label: str, note: str, theme: Tokens, *, dark: bool) -> str:
    places = [
        (float(scale.position(value)), thousands(value) + (" or more" if value == scale.top else ""))
        for value in scale.breaks
    ]
    body = f'<div style="width:{_BAR_WIDTH}px">{_bar(_gradient("counts", dark=dark), theme)}{_labels(places)}</div>'
    return _block(label, body, theme, note)


def _error(errors: ErrorScale, label: str, theme: Tokens, *, dark: bool) -> str:
    limit = thousands(errors.limit)
    places = [(0.0, f"{MINUS}{limit}"), (0.5, "0"), (1.0, f"+{limit}")]
    body = f'<div style="width:{_BAR_WIDTH}px">{_bar(_gradient("error", dark=dark), theme)}{_labels(places)}</div>'
    return _block(label, body, theme, "Blue: too low. Red: too high.")


def _hexagon(fill: str, theme: Tokens, *, hatched: bool = False) -> str:
    lines = ""
    if hatched:
        # Drawn line by line: a pattern would need an id, and ids may collide within a page.
        strokes = "".join(f"M{x} 20L{x + 20} 0" for x in range(-17, 22, 6))
        lines = f'<path d="{strokes}" stroke="{theme.hatch}" stroke-width="1.5" clip-path="polygon(50% 0,93% 25%,93% 75%,50% 100%,7% 75%,7% 25%)"/>'
    return (
        '<svg width="20" height="20" viewBox="0 0 20 20" aria-hidden="true" style="flex:none">'
        f'<path d="M10 .8 18.2 5.4v9.2L10 19.2 1.8 14.6V5.4Z" fill="{fill}"/>{lines}'
        f'<path d="M10 .8 18.2 5.4v9.2L10 19.2 1.8 14.6V5.4Z" fill="none" stroke="{theme.grid}" stroke-width="1.2"/></svg>'
    )


def _swatches(theme: Tokens, *, dark: bool, hatched: bool) -> str:
    rows = []
    if hatched:
        rows.append((_hexagon(theme.land, theme, hatched=True), "not published"))
    rows.append((_hexagon(RAMPS["counts"].css(0, dark=dark), theme), "about zero"))
    bare = f'<span style="width:18px;height:18px;margin:1px;border-radius:4px;flex:none;background:{theme.land};outline:1px solid {theme.coast}"></span>'
    rows.append((bare, "no cell: outside the area"))
    items = "".join(
        f'<div style="display:flex;gap:8px;align-items:center;margin-bottom:4px">{picture}<span>{escape(text)}</span></div>'
        for picture, text in rows
    )
    return f"<div>{items}</div>"


def _wedge(scale: CountScale, theme: Tokens, *, dark: bool) -> str:
    """Return the fan of the VSUP: count from left to right, certainty from bottom to top."""
    centre_x, centre_y, radius = 100.0, 112.0, 104.0
    edges = [radius * (4 - level) / 4 for level in range(5)]  # outer radius of each level, then 0
    half = np.pi / 4
    fields = []
    for level, bins in enumerate(VSUP_BINS):
        for number in range(bins):
            turn = [-half + 2 * half * at / bins for at in (number, number + 1)]
            outer, inner = edges[level], edges[level + 1]
            points = [(r * np.sin(a), r * np.cos(a)) for r, a in ((outer, turn[0]), (outer, turn[1]), (inner, turn[1]), (inner, turn[0]))]
            (ax, ay), (bx, by), (cx, cy), (dx, dy) = ((centre_x + x, centre_y - y) for x, y in points)
            path = f"M{ax:.1f} {ay:.1f}A{outer:.1f} {outer:.1f} 0 0 1 {bx:.1f} {by:.1f}L{cx:.1f} {cy:.1f}A{inner:.1f} {inner:.1f} 0 0 0 {dx:.1f} {dy:.1f}Z"
            fields.append(f'<path d="{path}" fill="{vsup_swatch(level, number, dark=dark)}" stroke="{theme.page}" stroke-width="1"/>')
    text = f'font-size="12" fill="{theme.text}"'
    labels = []
    for level, name in enumerate([f"±{100 * limit:.0f} %" for limit in VSUP_LIMITS] + ["worse"]):
        middle = (edges[level] + edges[level + 1]) / 2
        x, y = centre_x + middle * np.sin(half) + 8, centre_y - middle * np.cos(half) + 10
        labels.append(f'<text x="{x:.0f}" y="{y:.0f}" {text}>{escape(name)}</text>')
    low, high = escape("0"), escape(thousands(scale.top))
    ends = (
        f'<text x="{centre_x - radius * np.sin(half) - 4:.0f}" y="{centre_y - radius * np.cos(half) - 4:.0f}" text-anchor="end" {text}>{low}</text>'
        f'<text x="{centre_x + radius * np.sin(half):.0f}" y="{centre_y - radius * np.cos(half) - 8:.0f}" {text}>{high}</text>'
    )
    picture = (
        f'<svg width="240" height="116" viewBox="0 0 240 116" role="img" aria-label="Wedge: count from left to right, certainty from bottom to top">'
        f"{''.join(fields)}{''.join(labels)}{ends}</svg>"
    )
    return _block("Published, by certainty", picture, theme, "One standard error over the count")
