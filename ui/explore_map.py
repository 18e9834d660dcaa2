"""The three panels of Explore: truth, estimate and error of one release, ready to draw."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Final

import h3
import numpy as np
import shapely
from shapely.geometry import mapping

from ldpcore.domain import Area, Domain
from ldpcore.release import Release, Status
from ldpcore.shapes import BoolArray, ByteArray, CellArray, FloatArray, IntArray
from ui.hex_map import HoverColumn, HoverStatus, Panel
from ui.palettes import RAMPS, CountScale, ErrorScale, count_scale, error_scale, vsup_index

MAX_DRAWN: Final = 20_000
"""Cells drawn at most; beyond, the map draws their parents."""

STATUS_SENTENCES: Final = {
    Status.PUBLISHED: "published",
    Status.BELOW_FLOOR: "not published: not sure to reach the floor",
    Status.WITHIN_NOISE: "not published: within the noise of zero",
}


@dataclass(frozen=True, slots=True)
class Choices:
    """How the reader wants to see the release.

    Parameters
    ----------
    vsup
        Whether the estimate is drawn in colours that fade where it is uncertain.
    raw
        Whether the raw counts are drawn instead of the estimate: the commonest bug.
    """

    vsup: bool = False
    raw: bool = False


@dataclass(frozen=True, eq=False, slots=True)
class Drawing:
    """What the map draws, (m,) each: the cells of the domain, or their parents where it has too many.

    Parameters
    ----------
    cells
        H3 cells drawn.
    truth, estimate, error
        Devices.
    std_error, half_width
        One standard error, and half the two-sided interval, devices.
    hatched
        Not published.
    status
        Per cell, an index into the sentences of `Status`.
    resolution
        Of the cells drawn.
    """

    cells: CellArray
    truth: FloatArray
    estimate: FloatArray
    error: FloatArray
    std_error: FloatArray
    half_width: FloatArray
    hatched: BoolArray
    status: ByteArray
    resolution: int
    version: str

    @property
    def coarsened(self) -> bool:
        """Whether parents are drawn instead of the cells themselves."""
        return "/" in self.version


@dataclass(frozen=True, eq=False, slots=True)
class MapContent:
    """Panels, tooltip and scales of one update."""

    drawing: Drawing
    panels: Sequence[Panel]
    columns: Sequence[HoverColumn]
    status: HoverStatus
    hatched: BoolArray | None
    counts: CountScale
    errors: ErrorScale


def map_content(release: Release, choices: Choices) -> MapContent:
    """Turn a release into panels."""
    drawing = draw(release, raw=choices.raw)
    # Truth sets the scale, so that colours stay put while epsilon moves.
    counts = count_scale(drawing.truth)
    if choices.raw:
        counts = count_scale(drawing.estimate)
    errors = error_scale(drawing.error)
    faded = choices.vsup and not choices.raw
    if faded:
        estimate_index = vsup_index(counts, drawing.estimate, drawing.std_error)
    else:
        estimate_index = counts.index(drawing.estimate)
    panels = (
        Panel(
            id="truth",
            title="Truth",
            subtitle="no server ever sees this",
            index=counts.index(drawing.truth),
            ramp=RAMPS["counts"],
            hatch=False,
        ),
        Panel(
            id="estimate",
            title="Raw counts" if choices.raw else "Published estimate",
            subtitle="reports that point to the cell" if choices.raw else "from randomised reports alone",
            index=estimate_index,
            ramp=RAMPS["vsup" if faded else "counts"],
        ),
        Panel(
            id="error",
            title="Error",
            subtitle="raw counts minus truth" if choices.raw else "estimate minus truth",
            index=errors.index(drawing.error),
            ramp=RAMPS["error"],
            hatch=False,
        ),
    )
    columns = (
        HoverColumn(label="Truth", values=drawing.truth, unit="devices"),
        HoverColumn(
            label="Raw count" if choices.raw else "Estimate",
            values=drawing.estimate,
            error=None if choices.raw else drawing.half_width,
            unit="reports" if choices.raw else "devices",
        ),
        HoverColumn(label="Error", values=drawing.error, unit="devices", signed=True),
    )
    return MapContent(
        drawing=drawing,
        panels=panels,
        columns=columns,
        status=HoverStatus(codes=drawing.status, labels=tuple(STATUS_SENTENCES.values())),
        hatched=None if choices.raw else drawing.hatched,
        counts=counts,
        errors=errors,
    )


def draw(release: Release, *, raw: bool) -> Drawing:
    """Return what the map draws of a release.

    Parameters
    ----------
    release
        The run.
    raw
        Whether raw counts stand in for the estimates.
    """
    domain = release.population.domain
    truth = release.population.true_counts.astype(np.float64)
    estimate = raw_counts(release) if raw else release.estimates.estimate
    half_width = (release.estimates.ci_high - release.estimates.ci_low) / 2
    if domain.size <= MAX_DRAWN:
        return Drawing(
            cells=domain.cells,
            truth=truth,
            estimate=estimate,
            error=estimate - truth,
            std_error=release.estimates.std_error,
            half_width=half_width,
            hatched=~release.published,
            status=release.status,
            resolution=domain.resolution,
            version=domain.version,
        )
    resolution, parents, parent_of = drawable_parents(domain)
    truth_sum, estimate_sum = (_summed(column, parent_of, parents.size) for column in (truth, estimate))
    published = _summed(release.published.astype(np.float64), parent_of, parents.size) > 0
    # Errors of cells are uncorrelated or negatively correlated in every mechanism drawn here, so
    # the root of summed squares is at least the error of the sum.
    std_error, half_width = (
        np.sqrt(_summed(column**2, parent_of, parents.size))
        for column in (release.estimates.std_error, half_width)
    )
    return Drawing(
        cells=parents,
        truth=truth_sum,
        estimate=estimate_sum,
        error=estimate_sum - truth_sum,
        std_error=std_error,
        half_width=half_width,
        hatched=~published,
        status=np.where(published, Status.PUBLISHED, Status.BELOW_FLOOR).astype(np.uint8),
        resolution=resolution,
        version=f"{domain.version}/{resolution}",
    )


def drawable_parents(domain: Domain) -> tuple[int, CellArray, IntArray]:
    """Return the finest resolution whose parents can be drawn, the parents, and each cell's parent."""
    for resolution in range(domain.resolution - 1, -1, -1):
        parents, parent_of = np.unique(domain.parents(resolution), return_inverse=True)
        if parents.size <= MAX_DRAWN:
            return resolution, parents, parent_of.astype(np.int64)
    raise AssertionError("resolution 0 has 122 cells")


def _summed(column: FloatArray, parent_of: IntArray, parents: int) -> FloatArray:
    return np.bincount(parent_of, weights=column, minlength=parents).astype(np.float64)


def raw_counts(release: Release) -> FloatArray:
    """Return (d,) how many reports point to each cell, before anything is inverted."""
    return np.asarray(release.mechanism.support(release.counts, n=release.population.size), np.float64)


def cell_bounds(cells: CellArray) -> tuple[float, float, float, float]:
    """Return west, south, east and north of some cells in degrees, their edges included.

    West is beyond east where the cells lie on both sides of the date line.
    """
    return _bounds_of(cells.tobytes())


@lru_cache(maxsize=32)
def _bounds_of(cells: bytes) -> tuple[float, float, float, float]:
    outermost = _outermost(np.frombuffer(cells, np.uint64))
    ends = np.array([ring for cell in outermost for ring in h3.cell_to_boundary(f"{cell:x}")])
    if np.ptp(ends[:, 1]) > 180:  # in one piece east of Greenwich
        ends[:, 1] %= 360
    south, west = ends.min(axis=0)
    north, east = ends.max(axis=0)
    return float(west), float(south), float(east - 360 if east > 180 else east), float(north)


def _outermost(cells: CellArray) -> set[int]:
    """Return the cells that lie farthest out, so that only their edges need be looked at."""
    centres = np.array([h3.cell_to_latlng(f"{cell:x}") for cell in cells.tolist()])
    if np.ptp(centres[:, 1]) > 180:
        centres[:, 1] %= 360
    return {
        int(cells[at]) for axis in (0, 1) for at in (centres[:, axis].argmin(), centres[:, axis].argmax())
    }


@cache
def area_geojson(area: Area) -> str:
    """Return the outline of a service area of the user's, as the land its map is drawn on."""
    geometry = shapely.simplify(area.geometry, 0.0005)
    feature = {"type": "Feature", "properties": {}, "geometry": mapping(geometry)}
    return json.dumps({"type": "FeatureCollection", "features": [feature]}, separators=(",", ":"))
