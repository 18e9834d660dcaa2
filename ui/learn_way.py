"""A report's way from the phone to the map, in five pictures of one line of cells."""

from __future__ import annotations

from typing import Final

import numpy as np

from ldpcore.shapes import FloatArray
from ui.palettes import Tokens

SHOWN: Final = 12
"""Cells drawn: the phone's own and its neighbours in the list."""


def way_svg(support: FloatArray, cell: int, *, raw: FloatArray, estimates: FloatArray, tokens: Tokens) -> str:
    """Return the picture that plays: what the phone writes, what chance makes of it, what the server adds up.

    Parameters
    ----------
    support
        (d,) what the report says of each cell.
    cell
        The phone's own, as an index.
    raw, estimates
        (d,) the raw counts and the estimates of the whole crowd.
    tokens
        Colours of the page.
    """
    first = min(max(cell - SHOWN // 2, 0), max(support.size - SHOWN, 0))
    places = range(first, min(first + SHOWN, support.size))
    pitch, side, left = 26, 22, 118
    width = left + SHOWN * pitch + 12

    def row(y: int, values: list[bool], start: int, name: str, where: str) -> str:
        boxes = "".join(
            f'<rect x="{left + number * pitch}" y="{y}" width="{side}" height="{side}" rx="4" '
            f'fill="{tokens.accent if value else tokens.land}" stroke="{tokens.coast}"/>'
            f'<text x="{left + number * pitch + side / 2}" y="{y + 15}" text-anchor="middle" '
            f'fill="{tokens.page if value else tokens.quiet}">{int(value)}</text>'
            for number, value in enumerate(values)
        )
        return (
            f'<g data-from="{start}"><text x="4" y="{y + 9}" fill="{tokens.text}" font-weight="600">{name}</text>'
            f'<text x="4" y="{y + 24}" fill="{tokens.quiet}">{where}</text>{boxes}</g>'
        )

    encoded = [place == cell for place in places]
    sent = [bool(support[place] > 0.5) for place in places]
    turned = [number for number, (a, b) in enumerate(zip(encoded, sent, strict=True)) if a != b]
    marks = "".join(
        f'<path d="M{left + number * pitch + side / 2} 44v12" stroke="{tokens.text}" stroke-width="2"/>'
        for number in turned
    )
    heights = 52 * raw[places.start : places.stop] / max(float(raw[places.start : places.stop].max()), 1.0)
    floor = 214
    bars = "".join(
        f'<rect x="{left + number * pitch + 2}" y="{floor - height:.1f}" width="{side - 4}" height="{height:.1f}" '
        f'fill="{tokens.quiet}" fill-opacity="0.55"/>'
        + (
            f'<rect data-from="3" x="{left + number * pitch + 2}" y="{floor - height - 5:.1f}" width="{side - 4}" '
            f'height="5" fill="{tokens.accent}"/>'
            if sent[number]
            else ""
        )
        for number, height in enumerate(heights.tolist())
    )
    base = 292
    near = estimates[places.start : places.stop]
    lifted = 44 * near / max(float(np.abs(near).max()), 1.0)
    after = "".join(
        f'<rect x="{left + number * pitch + 2}" y="{base - max(value, 0):.1f}" width="{side - 4}" '
        f'height="{max(abs(value), 1):.1f}" fill="{tokens.accent}" fill-opacity="0.8"/>'
        for number, value in enumerate(lifted.tolist())
    )
    dot_x = ";".join(str(left - 12) for _ in range(5))
    dot_y = "23;67;112;190;280"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} 316" font-size="12" class="w440" '
        'style="max-width:560px">'
        f"{row(12, encoded, 0, 'Encode', 'on the phone')}"
        f'{row(56, sent, 1, "Perturb", "on the phone")}<g data-from="1">{marks}</g>'
        f'<g data-from="2"><path d="M4 104H{width - 6}" stroke="{tokens.text}" stroke-dasharray="5 4"/>'
        f'<text x="4" y="122" fill="{tokens.quiet}">only the second row leaves the phone</text></g>'
        f'<g data-from="3"><text x="4" y="176" fill="{tokens.text}" font-weight="600">Aggregate</text>'
        f'<text x="4" y="191" fill="{tokens.quiet}">on the server</text>{bars}'
        f'<path d="M{left} {floor}H{width - 8}" stroke="{tokens.quiet}"/></g>'
        f'<g data-from="4"><text x="4" y="262" fill="{tokens.text}" font-weight="600">Estimate</text>'
        f'<text x="4" y="277" fill="{tokens.quiet}">on the server</text>{after}'
        f'<path d="M{left} {base}H{width - 8}" stroke="{tokens.quiet}"/></g>'
        f'<circle r="5" fill="{tokens.text}" data-seq="cx={dot_x}|cy={dot_y}"/></svg>'
    )


def way_frames(
    *, cell_name: str, cells: int, count: int, own: bool, p: float, q: float, one_a_cell: bool, crowd: int
) -> list[str]:
    """Return the sentence of each picture.

    Parameters
    ----------
    cell_name, cells
        The phone's own cell and how many there are.
    count, own
        To how many cells the report points, and whether the own one is among them.
    p, q
        The chances that decide it.
    one_a_cell
        Whether a report is one bit a cell; else the picture shows which cells a report points to.
    crowd
        Reports behind the sums.
    """
    if one_a_cell:
        encode = f"the phone in cell {cell_name} writes a list of {cells:,} cells, 1 at its own and 0 at all others"
        perturb = (
            f"chance decides anew what the list says. The own cell keeps its 1 with chance {p:.3f}; any other gets one with "
            f"chance {q:.3f}"
        )
    else:
        encode = f"the phone puts cell {cell_name} into the form its randomiser needs; drawn is the cell it stands for"
        perturb = (
            f"chance decides what is sent; drawn are the cells the report points to, the own one with chance {p:.3f}, any "
            f"other with chance {q:.3f}"
        )
    return [
        f"Encode: {encode} ({SHOWN} of {cells:,} cells are drawn).",
        f"Perturb: {perturb}. Strokes mark what changed.",
        f"Send: only the second row leaves the phone. It points to {count:,} of {cells:,} cells; the own one "
        f"{'is' if own else 'is not'} among them.",
        f"Aggregate: the server adds this report to the sums of all {crowd:,}: one more on each cell it points to, drawn "
        "larger than it is.",
        "Estimate: the server takes away what chance alone adds and scales up the rest. Steps 3 and 4 do it for the whole city.",
    ]
