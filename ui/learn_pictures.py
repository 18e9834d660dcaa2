"""The lesson's drawn pictures: phones by the hundred, bits one by one, a strip of all cells, bars.

Each is one SVG inside the address of an image with its description as text, so that it needs no script, no
WebGL and no other host. What the pictures show also stands in words or in a table beside them.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

import numpy as np

from ldpcore.shapes import BoolArray, FloatArray
from ui.number_words import thousands
from ui.palettes import RAMPS, Tokens

PHONES_A_ROW: Final = 20
STRIP_BINS: Final = 180
_PHONE = (
    '<rect x="{x}" y="{y}" width="11" height="18" rx="2.5" fill="{fill}" stroke="{stroke}" '
    'stroke-width="1.2"/><path d="M{foot} {ground}h3" stroke="{stroke}" stroke-width="1"/>'
)


@dataclass(frozen=True, slots=True)
class Phone:
    """How one phone of an icon array is drawn.

    Parameters
    ----------
    filled
        Whether its body is filled with the accent.
    marked
        Whether a diagonal stroke lies over it.
    """

    filled: bool
    marked: bool = False


def picture(svg: str, description: str, *, width: int) -> str:
    """Return an SVG as an image that shrinks with the page and never grows beyond its width in pixels."""
    address = base64.b64encode(svg.encode()).decode()
    return (
        f'<img class="lesson-picture" style="max-width:{width}px" src="data:image/svg+xml;base64,{address}" '
        f'alt="{escape(description, quote=True)}">'
    )


def phones(drawn: Sequence[Phone], tokens: Tokens, description: str) -> str:
    """Return an icon array, twenty phones a row."""
    step_x, step_y = 17, 25
    rows = -(-len(drawn) // PHONES_A_ROW)
    parts = []
    for number, phone in enumerate(drawn):
        x, y = 3 + number % PHONES_A_ROW * step_x, 3 + number // PHONES_A_ROW * step_y
        fill = tokens.accent if phone.filled else tokens.land
        parts.append(
            _PHONE.format(
                x=x,
                y=y,
                fill=fill,
                stroke=tokens.quiet if not phone.filled else tokens.accent,
                foot=x + 4,
                ground=y + 15.5,
            )
        )
        if phone.marked:
            parts.append(
                f'<path d="M{x - 1.5} {y + 19}L{x + 12.5} {y - 1}" stroke="{tokens.page}" stroke-width="4"/>'
                f'<path d="M{x - 1.5} {y + 19}L{x + 12.5} {y - 1}" stroke="{tokens.text}" stroke-width="1.8"/>'
            )
    width, height = 6 + PHONES_A_ROW * step_x - 4, 6 + rows * step_y - 5
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}">{"".join(parts)}</svg>'
    return picture(svg, description, width=520)


def bit_grid(bits: BoolArray, *, own: int | None, tokens: Tokens, description: str) -> str:
    """Return bits as squares, read by rows; the own one, if any, carries a frame."""
    count = int(bits.size)
    across = max(16, min(42, round(np.sqrt(count * 3.2))))
    rows = -(-count // across)
    side, gap = 12, 3
    pitch = side + gap
    parts = []
    for number, bit in enumerate(bits.tolist()):
        x, y = 3 + number % across * pitch, 3 + number // across * pitch
        fill = tokens.accent if bit else tokens.land
        parts.append(f'<rect x="{x}" y="{y}" width="{side}" height="{side}" rx="2" fill="{fill}"/>')
        if number == own:
            parts.append(
                f'<rect x="{x - 2}" y="{y - 2}" width="{side + 4}" height="{side + 4}" rx="3" fill="none" '
                f'stroke="{tokens.text}" stroke-width="2"/>'
            )
    width, height = across * pitch + 4, rows * pitch + 4
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}">{"".join(parts)}</svg>'
    return picture(svg, description, width=min(640, width))


def strip_bins(values: FloatArray, order: np.ndarray) -> FloatArray:
    """Return the means of values over at most `STRIP_BINS` neighbours in an order."""
    ordered = np.asarray(values, np.float64)[order]
    bins = min(ordered.size, STRIP_BINS)
    edges = np.linspace(0, ordered.size, bins + 1).astype(np.int64)
    return np.asarray(np.add.reduceat(ordered, edges[:-1]) / np.diff(edges), np.float64)


def strip(
    values: FloatArray, truth: FloatArray, *, dark: bool, tokens: Tokens, bars_are: str, unit: str
) -> str:
    """Draw all cells in a row, the truly busiest first: a bar for a value, a line for the truth.

    Parameters
    ----------
    values
        (d,) what the bars show; may be negative.
    truth
        (d,) devices.
    dark
        Whether the page is dark.
    tokens
        Its colours.
    bars_are, unit
        What the bars are and in what, in words.
    """
    order = np.argsort(-truth, kind="stable")
    bars, line = strip_bins(values, order), strip_bins(truth, order)
    top, bottom = max(float(bars.max()), float(line.max()), 1.0), min(float(bars.min()), 0.0)
    width, height, left, right = 720, 120, 0, 0
    span = top - bottom

    def at(value: float) -> float:
        return 2 + (top - value) / span * (height - 4)

    each = (width - left - right) / bars.size
    zero = at(0.0)
    below = RAMPS["error"].css(40, dark=dark)
    parts = [
        f'<rect x="{left + number * each:.2f}" y="{min(at(value), zero):.1f}" width="{max(each - 0.6, 0.8):.2f}" '
        f'height="{max(abs(at(value) - zero), 0.4):.1f}" fill="{tokens.accent if value >= 0 else below}" '
        'fill-opacity="0.75"/>'
        for number, value in enumerate(bars.tolist())
    ]
    path = "".join(
        f"{'M' if number == 0 else 'H'}{left + number * each:.1f}{' ' if number == 0 else 'V'}{at(value):.1f}"
        for number, value in enumerate(line.tolist())
    )
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" preserveAspectRatio="none">'
        f'{"".join(parts)}<path d="M{left} {zero:.1f}H{width - right}" stroke="{tokens.quiet}" stroke-width="1"/>'
        f'<path d="{path}H{width - right}" fill="none" stroke="{tokens.text}" stroke-width="1.8"/></svg>'
    )
    description = (
        f"All {thousands(truth.size)} cells in a row, the truly busiest first. Bars, {bars_are}: from "
        f"{thousands(bars[0])} at the busiest to {thousands(bars[-1])} at the emptiest. Line, the truth: from "
        f"{thousands(line[0])} to {thousands(line[-1])}."
    )
    address = base64.b64encode(svg.encode()).decode()
    return (
        f'<div class="strip-caption"><span>{escape(thousands(top))} {escape(unit)}</span>'
        f"<span>bars: {escape(bars_are)}, line: truth</span></div>"
        f'<img class="lesson-strip" src="data:image/svg+xml;base64,{address}" alt="{escape(description, quote=True)}">'
        '<div class="strip-caption"><span>truly busiest cell</span><span>truly emptiest cells</span></div>'
    )


def columns(rows: Sequence[tuple[str, float, str]], *, most: float) -> str:
    """Return labelled bars as HTML that wraps on a phone.

    Parameters
    ----------
    rows
        Label, value (not negative) and the text after the bar, one a row.
    most
        Value of a full bar.
    """
    return (
        '<div class="bar-rows">'
        + "".join(
            f'<div class="bar-row"><span>{escape(label)}</span><span><i style="width:{100 * min(value / most, 1.0):.1f}%"></i>'
            f"</span><span>{escape(text)}</span></div>"
            for label, value, text in rows
        )
        + "</div>"
    )
