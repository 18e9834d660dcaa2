"""Make data/cities/<city>_addresses.npz: how many addresses of each kind lie in each fine cell.

Run by a developer after build_cities.py. The model is a sketch of a city, not a map of one: named
centres from public knowledge with radial decay, quiet places (parks, hills, airports), a
correlated log-normal field, and a calibration of the busyness of resolution-8 cells to the
rank-size shape measured on public trip files. Nothing here comes from data about people.

    python data/build_addresses.py [city ...]
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import NormalDist

import h3.api.numpy_int as h3
import numpy as np
import pandas as pd
from scipy.ndimage import gaussian_filter, map_coordinates
from shapely.geometry import mapping

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from data.city_sketches import SKETCHES, Sketch  # noqa: E402
from ldpcore.domain import points_to_cells  # noqa: E402
from ldpcore.trips import addresses as ab  # noqa: E402
from ldpcore.trips.cities import CITIES, city_area, city_domain  # noqa: E402
from ldpcore.trips.generate import trips_of_book  # noqa: E402
from ldpcore.trips.realism import BANDS, measure  # noqa: E402
from ldpcore.trips.schedule import Place, day_schedule  # noqa: E402

OUT = Path(__file__).resolve().parent / "cities"
ADDRESSES = 260_000
KIND_SHARES = np.array([0.56, 0.20, 0.13, 0.11])
SEED = 7
SAMPLE_DEVICES = 42_000
SAME_CELL = 0.090
# What the distance scales move, with the standard deviation of each between samples.
SEARCHED = {
    "length_mu": 0.006,
    "length_sigma": 0.004,
    "same_cell": 0.0013,
    "pairs_once": 0.003,
    "duration_sigma": 0.003,
}


@dataclass
class Ground:
    """The fine cells of a city: those wholly on land, with their places in kilometres."""

    cells: np.ndarray
    lat: np.ndarray
    lng: np.ndarray
    x_km: np.ndarray
    y_km: np.ndarray


def ground(slug: str) -> Ground:
    """Return the resolution-10 cells that lie wholly on land, so that every point in them does."""
    found = [
        h3.polygon_to_cells_experimental(
            h3.geo_to_h3shape(mapping(part)), ab.ADDRESS_RESOLUTION, contain="full"
        )
        for part in city_area(slug).geometry.geoms
    ]
    cells = np.unique(np.concatenate(found))
    centre = np.array([h3.cell_to_latlng(cell) for cell in cells.tolist()])
    west, south, east, north = CITIES[slug].bounds
    x = (centre[:, 1] - (west + east) / 2) * 111.195 * math.cos(math.radians((south + north) / 2))
    y = (centre[:, 0] - (south + north) / 2) * 111.195
    return Ground(cells, centre[:, 0], centre[:, 1], x, y)


def field(land: Ground, scale_km: float, rng: np.random.Generator) -> np.ndarray:
    """Return a Gaussian field of unit variance, correlated over a distance, at the fine cells."""
    step = min(0.15, scale_km / 2)
    shape = [int(np.ptp(land.y_km) / step) + 8, int(np.ptp(land.x_km) / step) + 8]
    noise = gaussian_filter(rng.standard_normal(shape), scale_km / step, mode="wrap")
    at = [(land.y_km - land.y_km.min()) / step + 2, (land.x_km - land.x_km.min()) / step + 2]
    return map_coordinates(noise / noise.std(), at, order=1)


def densities(land: Ground, sketch: Sketch, rng: np.random.Generator) -> np.ndarray:
    """Return (4, m): relative density of homes, work, shops and places out in each fine cell."""
    density = np.full((4, land.cells.size), 0.0)
    for centre in sketch.centres:
        dx = (land.lng - centre.lng) * 111.195 * np.cos(np.radians(centre.lat))
        dy = (land.lat - centre.lat) * 111.195
        ratio = (dx * dx + dy * dy) / centre.scale_km**2
        inner = (dx * dx + dy * dy) / (0.45 * centre.scale_km) ** 2
        near, wide = (1 + inner) ** -1.8, (1 + ratio) ** -1.7
        density[0] += centre.weight * (0.9 * wide + 0.3 * near)
        density[1] += centre.weight * (0.25 * wide + 2.6 * near) * centre.jobs
        density[2] += centre.weight * (0.5 * wide + 1.4 * near)
        density[3] += centre.weight * (0.3 * wide + 2.2 * near)
    density += 0.02
    # Towns form along lines and in patches: one field for all kinds, and a weaker one for each.
    common = 0.30 * field(land, 2.2, rng) + 0.45 * field(land, 0.8, rng) + 0.45 * field(land, 0.25, rng)
    for kind, strength in enumerate([0.25, 0.55, 0.45, 0.45]):
        density[kind] *= np.exp(common + strength * field(land, 0.5, rng))
    for quiet in sketch.quiet:
        dx = (land.lng - quiet.lng) * 111.195 * np.cos(np.radians(quiet.lat))
        dy = (land.lat - quiet.lat) * 111.195
        density *= 1e-6 + (1 - np.exp(-(((dx * dx + dy * dy) / quiet.radius_km**2) ** 3)))
    return density / density.sum(axis=1, keepdims=True)


def active_mask(slug: str, land: Ground, density: np.ndarray, share: float) -> np.ndarray:
    """Return the fine cells with any address: the densest ones, such that a share of cells is touched."""
    domain = city_domain(slug, 8)
    corners = [np.array([h3.cell_to_boundary(cell) for cell in land.cells.tolist()])]
    middle = np.stack([land.lat, land.lng], axis=1)[:, None, :]
    points = middle + ab.SHRINK_PER_1024 / 1024 * (corners[0] - middle)
    touched = domain.index_of_points(points[..., 0].ravel(), points[..., 1].ravel()).reshape(-1, 6)
    zone = domain.index_of_points(land.lat, land.lng)
    score = density.mean(axis=0)
    # Judged by a whole zone and by the spot, so that the built-up area has a natural edge.
    mean = np.bincount(zone, score, domain.size) / np.maximum(np.bincount(zone, minlength=domain.size), 1)
    score = score**0.35 * mean[zone] ** 0.65
    order = np.argsort(-score, kind="stable")
    seen = np.zeros(domain.size, dtype=bool)
    first = np.full(domain.size, order.size)
    for column in touched.T:
        np.minimum.at(first, column[order], np.arange(order.size))
    cut = np.sort(first)[int(share * domain.size)]
    seen[:] = first < cut
    mask = np.zeros(land.cells.size, dtype=bool)
    mask[order[:cut]] = True
    return mask


def target_by_rank(zones: int, log_sd: float) -> np.ndarray:
    """Return the share of visits of each zone by rank: quantiles of a log-normal law."""
    law = NormalDist()
    value = np.array([math.exp(log_sd * law.inv_cdf(1 - (i + 0.5) / zones)) for i in range(zones)])
    return value / value.sum()


def whole(counts: np.ndarray, total: int) -> np.ndarray:
    """Round to whole numbers of a given sum by largest remainders."""
    exact = counts / counts.sum() * total
    down = np.floor(exact).astype(np.int64)
    short = total - int(down.sum())
    down[np.argsort(-(exact - down), kind="stable")[:short]] += 1
    return down


def visit_weights() -> np.ndarray:
    """Return how often an end of a weekday trip is a place of each kind."""
    schedule = day_schedule("weekday")
    ends = np.zeros(len(Place))
    for leg in range(schedule.hours.shape[1]):
        made = np.where(leg < schedule.trips, schedule.weights, 0)
        for side in (0, 1):
            np.add.at(ends, schedule.places[:, leg + side].astype(int), made)
    return ends / ends.sum()


def build(slug: str) -> dict[str, np.ndarray]:
    """Build the address counts of a city."""
    sketch = SKETCHES[slug]
    rng = np.random.default_rng([SEED, list(CITIES).index(slug)])
    land = ground(slug)
    density = densities(land, sketch, rng)
    keep = active_mask(slug, land, density, sketch.active_share)
    cells, density = land.cells[keep], density[:, keep]
    zone_cells, zone = np.unique(
        points_to_cells(land.lat[keep], land.lng[keep], ab.ZONE_RESOLUTION), return_inverse=True
    )
    ends = visit_weights()
    domain = city_domain(slug, 8)
    factor = np.ones(zone_cells.size)
    reach = np.array([6000.0, 5000.0, 5800.0, 4800.0]) * sketch.reach
    local = 20.0
    target = target_by_rank(zone_cells.size, sketch.log_sd)
    row = domain.index_of_cells(zone_cells)
    counts = np.empty(0)
    for step in range(14):
        weighted = density * factor[zone]
        counts = np.stack([whole(weighted[k], int(ADDRESSES * KIND_SHARES[k])) for k in range(4)], axis=1)
        used = counts.sum(axis=1) > 0
        book = ab.make_book(slug, cells[used], counts[used], np.rint(reach).astype(np.int64), round(local))
        law = ends @ book.place_law
        visits = np.bincount(book.index_at(8), law, domain.size)
        here = np.maximum(visits[row], 1e-9)
        if step == 0:
            goal = np.empty_like(target)
            goal[np.argsort(-here, kind="stable")] = target
        else:
            # The order follows the model; the shape is pulled to the target.
            factor *= np.clip(goal / here, 0.4, 2.5) ** 0.7
        if step % 3 == 2:
            found = measure(sample(book), slug)
            reach *= math.exp(1.3 * (sketch.length_mu - found["length_mu"]))
            local *= (SAME_CELL / found["same_cell"]) ** 0.9
    used = counts.sum(axis=1) > 0
    cells, counts = cells[used], counts[used]
    reach, local, found = best_reach(slug, cells, counts, reach, local)
    outside = [f"{name} {found[name]:.3f}" for name, band in BANDS.items() if not band.holds(found[name])]
    print(slug, np.rint(reach), round(local), "outside a band:", ", ".join(outside) or "nothing", flush=True)
    return {
        "cell_steps": np.diff(cells, prepend=np.uint64(0)),
        "counts": counts.astype(np.uint16),
        "reach_m": np.rint(reach).astype(np.int64),
        "local_factor": np.int64(round(local)),
        **{
            f"strays_{resolution}": np.packbits(stray)
            for resolution, stray in ab.find_strays(cells, counts).items()
        },
    }


def sample(book: ab.AddressBook) -> pd.DataFrame:
    """Make 100,000 trips of a weekday to judge by; tests use other seeds."""
    return trips_of_book(book, devices=SAMPLE_DEVICES, seed=99).head(100_000)


def best_reach(
    slug: str, cells: np.ndarray, counts: np.ndarray, reach: np.ndarray, local: float
) -> tuple[np.ndarray, float, dict[str, float]]:
    """Search near the distance scales for those that keep furthest from the ends of all bands."""
    best: tuple[float, np.ndarray, float, dict[str, float]] | None = None
    book = ab.make_book(slug, cells, counts, np.rint(reach).astype(np.int64), round(local))
    for stretch in (0.82, 0.86, 0.90, 0.94, 0.97, 1.0, 1.03, 1.06):
        for pull in (0.8, 0.9, 1.0, 1.12):
            trial, near = reach * stretch, local * pull
            scales = dict(zip(book.reach_m, np.rint(trial).astype(int).tolist(), strict=True))
            found = measure(sample(replace(book, reach_m=scales, local_factor=round(near))), slug)
            margin = min(
                min(found[name] - BANDS[name].low, BANDS[name].high - found[name]) / noise
                for name, noise in SEARCHED.items()
            )
            if best is None or margin > best[0]:
                best = margin, trial, near, found
    if best is None:
        raise RuntimeError("nothing tried")
    return best[1:]


def main() -> None:
    """Build the cities named on the command line, or all."""
    for slug in sys.argv[1:] or list(CITIES):
        parts = build(slug)
        path = OUT / f"{slug}_addresses.npz"
        np.savez_compressed(path, **parts)
        print(f"{path.relative_to(ROOT)}  {path.stat().st_size:,} bytes, {parts['counts'].sum():,} addresses")


if __name__ == "__main__":
    main()
