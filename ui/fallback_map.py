"""The map of the Falling back page: mixed resolutions beside the plain release, both in devices per square kilometre.

A coarse answer is drawn as the fine cells it counts, in one colour and one outline. The hexagon of an index parent
would not do: its children stick out of it, and at a coast most of it may be water that nobody reports from. Counts of
cells of different size cannot be compared by colour, so the colour is devices per area.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from html import escape
from typing import Final

import h3
import numpy as np

from ldpcore.domain import Domain
from ldpcore.fallback import FallbackRelease, finest_published
from ldpcore.release import Release, Status
from ldpcore.shapes import BoolArray, ByteArray, CellArray, FloatArray, IntArray
from ui.explore_map import MAX_DRAWN, drawable_parents
from ui.hex_map import HoverColumn, HoverStatus, Panel
from ui.legend import legend_html
from ui.palettes import RAMPS, CountScale, Tokens, count_scale
from ui.palettes import tokens as tokens_of

THIN_DENSITY: Final = 20.0
"""Where the busiest cells hold fewer devices per square kilometre, the scale counts them per hundred."""


@dataclass(frozen=True, eq=False, slots=True)
class MixedMap:
    """What the map draws.

    Parameters
    ----------
    cells
        (m,) H3 cells drawn: those of the domain, or parents where it has too many.
    fine
        Resolution of the domain.
    resolution, version
        Of the cells drawn.
    panels, columns, status
        For `ui.hex_map.hex_map`.
    scale, unit_km2
        The scale of both panels, in devices per so many square kilometres.
    levels
        Resolutions that answer at least one cell drawn, finest first.
    """

    cells: CellArray
    fine: int
    resolution: int
    version: str
    panels: Sequence[Panel]
    columns: Sequence[HoverColumn]
    status: HoverStatus
    scale: CountScale
    unit_km2: int
    levels: tuple[int, ...]


@dataclass(frozen=True, eq=False, slots=True)
class _Drawn:
    """Per cell drawn, (m,): the node that answers it or -1, and the plain release of it."""

    cells: CellArray
    node: IntArray
    area: FloatArray
    truth: FloatArray
    estimate: FloatArray
    half_width: FloatArray
    published: BoolArray
    resolution: int
    version: str


def mixed_map(plain: Release, run: FallbackRelease) -> MixedMap | None:
    """Turn a release and its plain twin into panels; None where only cells too many to draw could answer."""
    drawn = _drawn(plain, run)
    if drawn is None:
        return None
    tree, fine = run.tree, run.population.domain.resolution
    areas = tree.sums(cell_areas_km2(run.population.domain))
    answered = drawn.node >= 0
    node = np.where(answered, drawn.node, 0)
    estimates = run.estimates
    estimate = np.where(answered, estimates.estimate[node], np.nan)
    half_width = np.where(answered, (estimates.ci_high - estimates.ci_low)[node] / 2, np.nan)
    density = estimate / areas[node]
    truth_density = drawn.truth / drawn.area
    # Truth sets the scale, so that colours stay put while epsilon moves.
    unit = 1 if count_scale(truth_density).top >= THIN_DENSITY else 100
    scale = count_scale(truth_density * unit)
    level = np.where(answered, tree.resolution[node], -1)
    weight = np.where(answered, np.minimum(drawn.resolution - level, 4), 0)
    panels = (
        Panel(
            id="mixed",
            title="Mixed resolutions",
            subtitle="finest published cell around each place",
            index=scale.index(density * unit),
            ramp=RAMPS["counts"],
            hatched=~answered,
            # A cell without an answer stands for nothing but itself.
            groups=np.where(answered, drawn.node, tree.size + np.arange(drawn.cells.size)),
            weights=weight,
        ),
        Panel(
            id="plain",
            title="Plain release",
            subtitle=f"resolution {fine} alone",
            index=scale.index(drawn.estimate / drawn.area * unit),
            ramp=RAMPS["counts"],
            hatched=~drawn.published,
        ),
    )
    noun = "devices" if run.population.unit == "device" else "trips"
    columns = (
        HoverColumn(label="Answered at resolution", values=np.where(answered, level, np.nan), optional=True),
        HoverColumn(label="Count there", values=estimate, error=half_width, unit=noun, optional=True),
        HoverColumn(
            label=f"Per {_unit_words(unit)}",
            values=density * unit,
            error=half_width / areas[node] * unit,
            unit=noun,
            optional=True,
        ),
        HoverColumn(
            label="Truth there",
            values=np.where(answered, run.true_counts[node], np.nan),
            unit=noun,
            optional=True,
        ),
        HoverColumn(
            label=f"This cell alone (r{drawn.resolution})",
            values=drawn.estimate,
            error=drawn.half_width,
            unit=noun,
        ),
    )
    levels = tuple(int(found) for found in np.unique(level[answered])[::-1])
    sentences = [
        "published by itself" if found == fine else f"published by its parent of resolution {found}"
        for found in tree.resolutions
    ]
    codes = np.where(answered, level - tree.resolutions[0], len(sentences)).astype(np.uint8)
    return MixedMap(
        cells=drawn.cells,
        fine=fine,
        resolution=drawn.resolution,
        version=drawn.version,
        panels=panels,
        columns=columns,
        status=HoverStatus(codes=codes, labels=[*sentences, "not published at any resolution"]),
        scale=scale,
        unit_km2=unit,
        levels=levels,
    )


def _drawn(plain: Release, run: FallbackRelease) -> _Drawn | None:
    domain, estimates = run.population.domain, plain.estimates
    half_width = (estimates.ci_high - estimates.ci_low) / 2
    truth = run.population.true_counts.astype(np.float64)
    areas = cell_areas_km2(domain)
    if domain.size <= MAX_DRAWN:
        return _Drawn(
            domain.cells,
            run.answer,
            areas,
            truth,
            estimates.estimate,
            half_width,
            plain.published,
            domain.resolution,
            domain.version,
        )
    resolution, parents, parent_of = drawable_parents(domain)
    if resolution < run.tree.resolutions[0]:
        return None
    # Only answers that are no finer than what is drawn; the table has all of them.
    status: ByteArray = np.where(run.tree.resolution > resolution, Status.BELOW_FLOOR, run.status).astype(
        np.uint8
    )
    node = np.full(parents.size, -1, np.int64)
    node[parent_of] = finest_published(run.tree, status)

    def summed(column: FloatArray) -> FloatArray:
        return np.bincount(parent_of, weights=column, minlength=parents.size).astype(np.float64)

    return _Drawn(
        parents,
        node,
        summed(areas),
        summed(truth),
        summed(estimates.estimate),
        # At least the error of the sum: errors of cells are uncorrelated or negatively correlated.
        np.sqrt(summed(half_width**2)),
        summed(plain.published.astype(np.float64)) > 0,
        resolution,
        f"{domain.version}/{resolution}",
    )


def cell_areas_km2(domain: Domain) -> FloatArray:
    """Return (d,) the area of each cell, in square kilometres."""
    return _areas(domain.cells.tobytes())


@lru_cache(maxsize=8)
def _areas(cells: bytes) -> FloatArray:
    numbers = np.frombuffer(cells, np.uint64).tolist()
    areas = np.array([h3.cell_area(h3.int_to_str(cell), unit="km^2") for cell in numbers])
    areas.flags.writeable = False
    return areas


def _unit_words(unit_km2: int) -> str:
    return "km²" if unit_km2 == 1 else f"{unit_km2} km²"


def mixed_legend(content: MixedMap, *, noun: str, dark: bool) -> str:
    """Return the legend: the shared scale, the hatch, and how heavy the outline of each resolution is."""
    scale = legend_html(
        scale=content.scale,
        dark=dark,
        counts_label=f"{noun.capitalize()} per {_unit_words(content.unit_km2)}",
        counts_note="Both maps share this scale.",
    )
    theme = tokens_of(dark=dark)
    rows = []
    for level in content.levels:
        words = (
            f"resolution {level}, published by itself"
            if level == content.fine
            else f"resolution {level}, all cells in the outline together"
        )
        rows.append(
            f'<div style="display:flex;gap:8px;align-items:center;margin-bottom:4px">'
            f"{_outline(min(content.resolution - level, 4), theme, dark=dark)}<span>{escape(words)}</span></div>"
        )
    outlines = (
        '<div style="font-size:14px;line-height:1.35;max-width:100%"><div style="font-weight:600;margin-bottom:4px">'
        f"Outlines of the mixed map</div>{''.join(rows)}</div>"
    )
    return f'<div class="mixed-legend">{scale}{outlines if rows else ""}</div>'


def _outline(weight: int, theme: Tokens, *, dark: bool) -> str:
    """Return a small hexagon whose outline is as heavy as on the map."""
    width, stroke = (1.0, theme.grid) if weight == 0 else (1.1 * weight, theme.quiet if dark else theme.text)
    fill = RAMPS["counts"].css(96, dark=dark)
    svg = (
        '<svg xmlns="http://www.w3.org/2000/svg" width="24" height="24" viewBox="0 0 24 24">'
        f'<path d="M12 2.5 20.2 7.2v9.6L12 21.5 3.8 16.8V7.2Z" fill="{fill}" stroke="{stroke}" stroke-width="{width}"/>'
        "</svg>"
    )
    address = base64.b64encode(svg.encode()).decode()
    return f'<img src="data:image/svg+xml;base64,{address}" width="24" height="24" alt="" style="flex:none">'
