"""The domain: the fixed, ordered list of H3 cells that a device may report.

Both sides of the protocol must agree on the list and on its order, so it carries a version: a
hash that changes with any cell, with their order and with the resolution. It is always made
from a public service area, never from the cells that data happen to visit, because a list of
visited cells is itself a leak.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

import h3.api.numpy_int as h3
import numpy as np
import numpy.typing as npt
import shapely
from shapely import affinity
from shapely.geometry import mapping
from shapely.geometry.base import BaseGeometry

from ldpcore.errors import ParameterError
from ldpcore.shapes import CellArray, FloatArray, IntArray

MAX_CELLS = 300_000
"""A domain above this size is refused: its estimates would drown in noise and its arrays in memory."""

RESOLUTIONS = range(5, 11)
"""H3 resolutions offered for a domain; mean cell area from about 250 km² (5) to 0.015 km² (10)."""

# A band of longitudes no wider than this is handed to H3 at once. H3 reads an edge that spans more
# than 180 degrees as one that crosses the antimeridian, so wide areas are cut into bands first.
_BAND_DEG = 90.0

# The cheap estimate of a cell count was within 20 % of the count on the cities and on boxes from
# 0.1 to 60 degrees; between these two multiples of MAX_CELLS the cells are counted instead.
_SURELY_BELOW = 0.6
_SURELY_ABOVE = 1.5

_EARTH_RADIUS_KM = 6371.0072


@dataclass(frozen=True)
class Area:
    """A public service area.

    Parameters
    ----------
    name
        Identifier, such as ``new_york``.
    label
        Name for people, such as ``New York``.
    geometry
        Polygon or MultiPolygon, WGS 84, x = longitude and y = latitude in degrees. Longitudes
        beyond ±180 are allowed for an area that crosses the antimeridian.
    timezone
        IANA zone whose local time trips in the area are told in.
    attribution
        Line to show beside any map of the area.
    from_data
        Whether the area was guessed from the trips themselves, which is a leak to warn about.
    """

    name: str
    label: str
    geometry: BaseGeometry
    timezone: str
    attribution: str
    from_data: bool = False

    @property
    def bounds(self) -> tuple[float, float, float, float]:
        """West, south, east and north edge, degrees."""
        west, south, east, north = self.geometry.bounds
        return west, south, east, north


@dataclass(frozen=True, eq=False)
class Domain:
    """An ordered, versioned list of H3 cells of one resolution.

    Two domains are equal when their versions are, whatever their names.

    Parameters
    ----------
    name
        Name of the area.
    resolution
        H3 resolution of every cell.
    cells
        (d,) uint64, H3 cell ids, strictly ascending. Kept as a read-only copy.

    Attributes
    ----------
    version
        16 hexadecimal digits, the start of the SHA-256 of the resolution and the ordered cells.

    Raises
    ------
    ParameterError
        If the cells are empty, not strictly ascending, not H3 cells, or of another resolution.
    """

    name: str
    resolution: int
    cells: CellArray
    version: str = field(init=False)

    def __post_init__(self) -> None:
        cells = np.array(self.cells, dtype=np.uint64).reshape(-1)
        if cells.size == 0:
            raise ParameterError(
                "area", f"The area {self.name!r} holds no cell; a domain needs at least one."
            )
        if not bool(np.all(cells[1:] > cells[:-1])):
            raise ParameterError("domain", "The cells of a domain must be unique and in ascending order.")
        # Bits 52 to 55 of an H3 id are its resolution and bits 59 to 62 are 1 for a cell.
        if not bool(np.all((cells >> np.uint64(52)) == np.uint64(0x80 | self.resolution))):
            raise ParameterError(
                "domain", f"Every cell of the domain must be of resolution {self.resolution}."
            )
        cells.flags.writeable = False
        object.__setattr__(self, "cells", cells)
        object.__setattr__(self, "version", domain_version(self.resolution, cells))

    @property
    def size(self) -> int:
        """Number of cells."""
        return int(self.cells.size)

    def __len__(self) -> int:
        """Return the number of cells."""
        return self.size

    def __eq__(self, other: object) -> bool:
        """Compare by version."""
        return self.version == other.version if isinstance(other, Domain) else NotImplemented

    def __hash__(self) -> int:
        """Hash by version."""
        return hash(self.version)

    def cell_ids(self) -> list[str]:
        """Return the H3 ids as hexadecimal strings, in domain order."""
        return list(self._cell_ids)

    @cached_property
    def _cell_ids(self) -> tuple[str, ...]:
        return tuple(f"{cell:x}" for cell in self.cells.tolist())

    def centres(self) -> FloatArray:
        """Return the cell centres.

        Returns
        -------
        (d, 2) float64, latitude and longitude in degrees, read-only.
        """
        return self._centres

    @cached_property
    def _centres(self) -> FloatArray:
        centres = np.array([h3.cell_to_latlng(cell) for cell in self.cells.tolist()], dtype=np.float64)
        centres.flags.writeable = False
        return centres

    def index_of_cells(self, cells: npt.ArrayLike) -> IntArray:
        """Return where each cell stands in the domain.

        Parameters
        ----------
        cells
            (n,) uint64, H3 cell ids.

        Returns
        -------
        (n,) int64, each in [0, d), or -1 for a cell outside the domain.
        """
        wanted = np.asarray(cells, dtype=np.uint64)
        position = np.searchsorted(self.cells, wanted)
        inside = self.cells[np.minimum(position, self.size - 1)] == wanted
        return np.where(inside, position, -1).astype(np.int64)

    def index_of_points(self, lat: npt.ArrayLike, lng: npt.ArrayLike) -> IntArray:
        """Return the index of the cell that holds each point.

        Parameters
        ----------
        lat, lng
            (n,) float, degrees, WGS 84.

        Returns
        -------
        (n,) int64, each in [0, d), or -1 outside the domain and where a coordinate is missing.
        """
        return self.index_of_cells(points_to_cells(lat, lng, self.resolution))

    def parents(self, resolution: int) -> CellArray:
        """Return each cell's ancestor in the H3 tree.

        A cell is not wholly contained in its ancestor: the tree is exact, the outlines are not.

        Parameters
        ----------
        resolution
            Resolution of the ancestors, from 0 to that of the domain.

        Returns
        -------
        (d,) uint64, in domain order.

        Raises
        ------
        ParameterError
            If the resolution is finer than the domain's or below 0.
        """
        if not 0 <= resolution <= self.resolution:
            raise ParameterError(
                "resolution",
                f"Ancestors exist at resolutions 0 to {self.resolution}, not at {resolution}.",
            )
        return ancestors(self.cells, resolution)


def ancestors(cells: CellArray, resolution: int) -> CellArray:
    """Return the ancestor of each cell in the H3 tree, by bit arithmetic.

    Parameters
    ----------
    cells
        (n,) uint64, H3 cells no coarser than `resolution`.
    resolution
        Of the ancestors.

    Returns
    -------
    (n,) uint64.
    """
    # An ancestor differs only in its resolution bits and in the three bits of every finer
    # digit, which are set to 7 ("unused"): H3 specification, "H3Index representations".
    unused = sum(7 << (3 * (15 - level)) for level in range(resolution + 1, 16))
    cleared = cells & ~np.uint64(0xF << 52)
    coarse: CellArray = cleared | np.uint64(resolution << 52) | np.uint64(unused)
    return coarse


def domain_version(resolution: int, cells: CellArray) -> str:
    """Return the hash that names an ordered list of cells.

    Parameters
    ----------
    resolution
        H3 resolution.
    cells
        (d,) uint64 in the order that reports refer to.

    Returns
    -------
    16 hexadecimal digits.
    """
    digest = hashlib.sha256(f"h3:{resolution}:".encode())
    digest.update(np.ascontiguousarray(cells, dtype="<u8").tobytes())
    return digest.hexdigest()[:16]


def points_to_cells(lat: npt.ArrayLike, lng: npt.ArrayLike, resolution: int) -> CellArray:
    """Return the H3 cell that holds each point.

    Parameters
    ----------
    lat, lng
        (n,) float, degrees, WGS 84.
    resolution
        H3 resolution, 0 to 15.

    Returns
    -------
    (n,) uint64, 0 where the point is not a coordinate: missing, infinite, or beyond ±90 or ±180.
    """
    lat_deg = np.asarray(lat, dtype=np.float64).reshape(-1)
    lng_deg = np.asarray(lng, dtype=np.float64).reshape(-1)
    # A comparison with NaN is false, so missing coordinates fall out here too.
    valid = (np.abs(lat_deg) <= 90.0) & (np.abs(lng_deg) <= 180.0)
    cells = np.zeros(lat_deg.shape, dtype=np.uint64)
    to_cell = h3.latlng_to_cell
    pairs = zip(lat_deg[valid].tolist(), lng_deg[valid].tolist(), strict=True)
    cells[valid] = np.fromiter(
        (to_cell(y, x, resolution) for y, x in pairs), dtype=np.uint64, count=int(np.count_nonzero(valid))
    )
    return cells


def cells_over(area: Area, resolution: int) -> Domain:
    """Return the domain of an area: every cell that overlaps it.

    Overlap, not centre-in-area, so that a quay or a pier at the edge of the land never falls
    outside.

    Parameters
    ----------
    area
        Service area.
    resolution
        H3 resolution, 5 to 10.

    Raises
    ------
    ParameterError
        If the resolution is not offered, the area is empty, or it holds more than ``MAX_CELLS``
        cells; the message names the finest resolution that works.
    """
    if resolution not in RESOLUTIONS:
        raise ParameterError(
            "resolution",
            f"The resolution must be a whole number from {RESOLUTIONS[0]} to {RESOLUTIONS[-1]}, "
            f"not {resolution}.",
        )
    if next(_polygons([area.geometry]), None) is None:
        raise ParameterError(
            "area", f"{area.label} holds no polygon, so it has no cells; give an area with an extent."
        )
    estimate = _estimated_cells(area.geometry, resolution)
    cells = None
    if estimate <= _SURELY_ABOVE * MAX_CELLS:
        cells = _overlapping_cells(area.geometry, resolution)
        estimate = cells.size
    if cells is None or cells.size > MAX_CELLS:
        raise ParameterError("resolution", _too_many(area, resolution, estimate))
    return Domain(name=area.name, resolution=int(resolution), cells=cells)


def _too_many(area: Area, resolution: int, estimate: float) -> str:
    """Return the sentence that refuses a domain and names the finest resolution that works."""
    magnitude = 10 ** max(0, math.floor(math.log10(estimate)) - 1)
    about = f"{round(estimate / magnitude) * magnitude:,.0f}"
    start = f"Resolution {resolution} gives about {about} cells over {area.label}, more than {MAX_CELLS:,}"
    for coarser in range(resolution - 1, RESOLUTIONS[0] - 1, -1):
        guess = _estimated_cells(area.geometry, coarser)
        if guess > _SURELY_ABOVE * MAX_CELLS:
            continue
        if guess < _SURELY_BELOW * MAX_CELLS or _overlapping_cells(area.geometry, coarser).size <= MAX_CELLS:
            return f"{start}; the finest resolution that works is {coarser}."
    return f"{start}; no resolution from {RESOLUTIONS[0]} works, so choose a smaller area."


def _overlapping_cells(geometry: BaseGeometry, resolution: int) -> CellArray:
    """Return every cell that overlaps the geometry, (d,) uint64, ascending and unique."""
    found = [
        np.asarray(
            h3.polygon_to_cells_experimental(h3.geo_to_h3shape(mapping(part)), resolution, contain="overlap")
        )
        for part in _parts_for_h3(geometry)
    ]
    # Neighbouring parts share cells, and H3 lists such a cell once for each part.
    return np.unique(np.concatenate([np.empty(0, dtype=np.uint64), *found])).astype(np.uint64)


def _parts_for_h3(geometry: BaseGeometry) -> Iterator[shapely.Polygon]:
    """Cut a geometry into polygons that are narrow and lie within longitudes -180 to 180."""
    for polygon in _polygons([geometry]):
        west, south, east, north = polygon.bounds
        if west >= -180.0 and east <= 180.0 and east - west <= _BAND_DEG:
            yield polygon
            continue
        first, last = math.floor(west / _BAND_DEG), math.ceil(east / _BAND_DEG)
        for band in range(first, last):
            strip = shapely.box(band * _BAND_DEG, south, (band + 1) * _BAND_DEG, north)
            turns = math.floor((band * _BAND_DEG + 180.0) / 360.0)
            yield from _polygons([affinity.translate(polygon.intersection(strip), xoff=-360.0 * turns)])


def _polygons(geometries: Iterable[BaseGeometry]) -> Iterator[shapely.Polygon]:
    """Yield the polygons of geometries, leaving out the lines and points that cutting may make."""
    for geometry in geometries:
        if isinstance(geometry, shapely.Polygon):
            if not geometry.is_empty:
                yield geometry
        elif hasattr(geometry, "geoms"):
            yield from _polygons(geometry.geoms)


def _rings(geometry: BaseGeometry) -> Iterator[shapely.LinearRing]:
    """Yield the outer and inner rings of a geometry's polygons."""
    for polygon in _polygons([geometry]):
        yield polygon.exterior
        yield from polygon.interiors


def _estimated_cells(geometry: BaseGeometry, resolution: int) -> float:
    """Estimate how many cells overlap a geometry, without listing them.

    Area over mean cell area, plus half a ring of cells along the outline.
    """
    cell_deg = math.degrees(math.sqrt(h3.average_hexagon_area(resolution, unit="km^2")) / _EARTH_RADIUS_KM)
    area_km2 = 0.0
    outline_km = 0.0
    for polygon in _polygons([geometry]):
        # Lambert's cylindrical projection keeps areas.
        equal_area = shapely.transform(
            shapely.segmentize(polygon, 1.0),
            lambda xy: (
                np.column_stack([np.radians(xy[:, 0]), np.sin(np.radians(xy[:, 1]))]) * _EARTH_RADIUS_KM
            ),
        )
        area_km2 += equal_area.area
        # A coast has no length of its own: only its course at the scale of a cell adds cells.
        coarse = polygon.simplify(0.3 * cell_deg, preserve_topology=False)
        for x, y in (np.radians(shapely.get_coordinates(ring)).T for ring in _rings(coarse)):
            east = np.diff(x) * np.cos((y[1:] + y[:-1]) / 2)
            outline_km += float(np.hypot(east, np.diff(y)).sum()) * _EARTH_RADIUS_KM
    if area_km2 > 1e6:
        cell_km2 = h3.average_hexagon_area(resolution, unit="km^2")
    else:
        middle = geometry.representative_point()
        cell_km2 = h3.cell_area(h3.latlng_to_cell(middle.y, middle.x, resolution), unit="km^2")
    return float(area_km2 / cell_km2 + 0.6 * outline_km / math.sqrt(cell_km2) + 1.0)
