"""Counts on a rough outline of New York, for the browser tests of the map alone."""

from __future__ import annotations

import hashlib
import json

import h3
import numpy as np

BOUNDS = (-74.26, 40.48, -73.70, 40.92)

# Rough on purpose, but with islands, bays and rivers where the city has them; (lng, lat).
_LAND = {
    "manhattan": [
        (-74.02, 40.70),
        (-73.972, 40.71),
        (-73.968, 40.745),
        (-73.935, 40.79),
        (-73.928, 40.84),
        (-73.925, 40.875),
        (-74.01, 40.755),
    ],
    "bronx": [
        (-73.932, 40.81),
        (-73.905, 40.80),
        (-73.80, 40.81),
        (-73.79, 40.86),
        (-73.77, 40.88),
        (-73.83, 40.92),
        (-73.91, 40.92),
        (-73.918, 40.875),
    ],
    "long_island": [
        (-74.03, 40.62),
        (-74.00, 40.575),
        (-73.94, 40.575),
        (-73.89, 40.585),
        (-73.84, 40.61),
        (-73.80, 40.60),
        (-73.78, 40.63),
        (-73.73, 40.60),
        (-73.70, 40.59),
        (-73.70, 40.86),
        (-73.77, 40.80),
        (-73.86, 40.785),
        (-73.93, 40.775),
        (-73.96, 40.74),
        (-73.965, 40.705),
        (-74.00, 40.70),
        (-74.015, 40.665),
    ],
    "rockaway": [(-73.93, 40.545), (-73.75, 40.585), (-73.75, 40.595), (-73.93, 40.56)],
    "staten_island": [
        (-74.255, 40.505),
        (-74.12, 40.54),
        (-74.055, 40.605),
        (-74.08, 40.645),
        (-74.19, 40.64),
        (-74.20, 40.59),
        (-74.245, 40.55),
    ],
    "new_jersey": [
        (-74.26, 40.56),
        (-74.215, 40.60),
        (-74.21, 40.65),
        (-74.09, 40.655),
        (-74.03, 40.70),
        (-74.025, 40.755),
        (-73.96, 40.84),
        (-73.92, 40.92),
        (-74.26, 40.92),
    ],
}


def land_geojson() -> str:
    """Return the outline as GeoJSON."""
    rings = [[[*map(list, ring), list(ring[0])]] for ring in _LAND.values()]
    return json.dumps({"type": "MultiPolygon", "coordinates": rings})


def city_cells(resolution: int) -> np.ndarray:
    """Return the ascending (d,) uint64 cells that overlap the outline."""
    cells: set[str] = set()
    for ring in _LAND.values():
        polygon = h3.LatLngPoly([(lat, lng) for lng, lat in ring])
        cells.update(h3.polygon_to_cells_experimental(polygon, resolution, contain="overlap"))
    return np.sort(np.array([int(cell, 16) for cell in cells], dtype=np.uint64))


def disk_cells(size: int, resolution: int) -> np.ndarray:
    """Return `size` cells around the middle of Manhattan, for timings at a given size."""
    rings = 0
    while 3 * rings * (rings + 1) + 1 < size:
        rings += 1
    cells = h3.grid_disk(h3.latlng_to_cell(40.75, -73.98, resolution), rings)[:size]
    return np.sort(np.array([int(cell, 16) for cell in cells], dtype=np.uint64))


def parent_groups(cells: np.ndarray, resolution: int) -> np.ndarray:
    """Return (d,) which cells have the same index parent, counted from 0."""
    parents = [h3.cell_to_parent(f"{cell:x}", resolution) for cell in cells]
    return np.unique(parents, return_inverse=True)[1].astype(np.int64)


def version_of(cells: np.ndarray) -> str:
    """Return 16 hex digits that change with the cells."""
    return hashlib.sha256(cells.tobytes()).hexdigest()[:16]


def counts(cells: np.ndarray, devices: int) -> np.ndarray:
    """Return (d,) devices per cell: a few busy centres on a thin, uneven carpet."""
    places = np.array([h3.cell_to_latlng(f"{cell:x}") for cell in cells])
    rng = np.random.default_rng(7)
    weight = 0.004 * rng.pareto(1.5, len(cells))
    for lat, lng, height, width in [
        (40.755, -73.985, 1, 0.02),
        (40.71, -74.01, 0.7, 0.014),
        (40.69, -73.985, 0.35, 0.025),
        (40.75, -73.90, 0.2, 0.05),
        (40.83, -73.91, 0.16, 0.04),
        (40.64, -73.96, 0.2, 0.05),
        (40.735, -74.17, 0.15, 0.03),
    ]:
        squared = ((places[:, 0] - lat) ** 2 + ((places[:, 1] - lng) * 0.76) ** 2) / width**2
        weight += height * np.exp(-squared) * rng.gamma(4, 0.25, len(cells))
    return rng.multinomial(devices, weight / weight.sum())
