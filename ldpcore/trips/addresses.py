"""The addresses of a city, and how places depend on one another.

A city has a fixed set of addresses: points on land where people live, work, shop or go out. The
file ``data/cities/<city>_addresses.npz`` holds how many of each kind lie in each fine cell; the
points are spread inside the cells by a fixed stream. Everything a simulated device visits is an
address, so a trip is a pair of address numbers until coordinates are asked for, and a cell at any
resolution is one look-up.

A place that depends on another (work on home, a shop on home, ...) is drawn by gravity: first a
zone, with a weight that is its number of addresses times a falling function of distance, then an
address of the zone, each as likely as the others. All weights are whole numbers, and functions of
distance use only operations that IEEE 754 rounds exactly, so the draws are the same anywhere.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from statistics import NormalDist
from types import MappingProxyType

import h3.api.numpy_int as h3
import numpy as np
import numpy.typing as npt

from ldpcore.domain import ancestors, points_to_cells
from ldpcore.shapes import BoolArray, CellArray, FloatArray, IntArray
from ldpcore.trips.cities import DATA_FOLDER, city_domain, find_city
from ldpcore.trips.schedule import Place

ADDRESS_RESOLUTION = 10
ZONE_RESOLUTION = 8
COARSER = (5, 6, 7, 8, 9)
KINDS = ("home", "work", "shop", "out")
"""Kinds of address; no address is of two kinds, so no trip begins and ends at one point."""

M_PER_DEGREE = 111_195.0
"""Metres in a degree of latitude, on the sphere of radius 6,371 km."""

_MICRO = 1_000_000
_KERNEL_SCALE = 1 << 9
_KERNEL_CEILING = float(1 << 16)
_AFFINITY_LOG_SD = 3.0
# Points stay clear of the edges of their cell, so that rounding cannot carry them across.
SHRINK_PER_1024 = 983
_SPREAD_SEED = 20_240_601

# For each kind of place: the kind of its addresses, and the place whose zone it is drawn from.
_DRAWN_FROM: Mapping[Place, tuple[int, Place | None]] = MappingProxyType(
    {
        Place.HOME: (0, None),
        Place.WORK: (1, Place.HOME),
        Place.SHOP: (2, Place.HOME),
        Place.OUT: (3, Place.HOME),
        Place.NEAR_WORK: (3, Place.WORK),
    }
)


@dataclass(frozen=True, eq=False)
class AddressBook:
    """The addresses of a city.

    Addresses are numbered kind by kind, zone by zone within a kind.

    Parameters
    ----------
    city
        Slug.
    lat_e6, lng_e6
        (A,) int64, degrees times a million.
    fine_cells
        (A,) uint64, H3 cell of each address at resolution 10.
    zone_first
        (4, Z + 1) int64: addresses of kind k in zone z are those from [k, z] to [k, z + 1] - 1.
    zone_cells
        (Z,) uint64, H3 cells of resolution 8: the zones that hold any address.
    zone_lat_e6, zone_lng_e6
        (Z,) int64, middle of each zone's addresses.
    reach_m
        Distance scale of each dependent kind of place, metres.
    local_factor
        How much more a place in the same zone draws than its distance alone would make it.
    strays
        By resolution, (A,) bool: addresses that don't lie in the ancestor of their fine cell. The H3 tree is exact,
        outlines are not, and one address in fifteen lies beside; the others need no look-up by coordinates.
    """

    city: str
    lat_e6: IntArray
    lng_e6: IntArray
    fine_cells: CellArray
    zone_first: IntArray
    zone_cells: CellArray
    zone_lat_e6: IntArray
    zone_lng_e6: IntArray
    reach_m: Mapping[Place, int]
    local_factor: int
    strays: Mapping[int, BoolArray]
    tables: dict[Place, tuple[IntArray, IntArray, IntArray]] = field(
        default_factory=dict, init=False, repr=False
    )
    indices: dict[int, npt.NDArray[np.int32]] = field(default_factory=dict, init=False, repr=False)

    @property
    def size(self) -> int:
        """Number of addresses, A."""
        return int(self.lat_e6.size)

    @property
    def zones(self) -> int:
        """Number of zones, Z."""
        return int(self.zone_lat_e6.size)

    @cached_property
    def _zone_of_address(self) -> IntArray:
        zones = [np.repeat(np.arange(self.zones), np.diff(first)) for first in self.zone_first]
        return np.concatenate(zones).astype(np.int64)

    @cached_property
    def _middle(self) -> tuple[float, float, float]:
        """Latitude of the middle of the city in millionths of a degree, and its cosine and sine."""
        _, south, _, north = find_city(self.city).bounds
        middle = (south + north) / 2
        # Rounded, so that a last-digit difference between mathematics libraries cannot matter.
        radians = math.radians(middle)
        return middle * _MICRO, round(math.cos(radians), 9), round(math.sin(radians), 9)

    def distance_m(self, lat_1: IntArray, lng_1: IntArray, lat_2: IntArray, lng_2: IntArray) -> FloatArray:
        """Return straight-line distances.

        Flat-earth distance with the cosine of the mean latitude to second order; within 0.02 % of
        the great circle inside a city.

        Parameters
        ----------
        lat_1, lng_1, lat_2, lng_2
            Millionths of a degree, any shapes that broadcast.

        Returns
        -------
        float64, metres.
        """
        middle, cosine, sine = self._middle
        off = ((lat_1 + lat_2) * 0.5 - middle) * (math.pi / 180 / _MICRO)
        stretch = cosine - sine * off - 0.5 * cosine * off * off
        north = (lat_2 - lat_1) * (M_PER_DEGREE / _MICRO)
        east = (lng_2 - lng_1) * stretch * (M_PER_DEGREE / _MICRO)
        distance: FloatArray = np.sqrt(north * north + east * east)
        return distance

    @cached_property
    def _zone_distance_m(self) -> FloatArray:
        """Distances between the middles of zones, (Z, Z)."""
        lat, lng = self.zone_lat_e6, self.zone_lng_e6
        return self.distance_m(lat[:, None], lng[:, None], lat[None, :], lng[None, :])

    @cached_property
    def _affinity(self) -> FloatArray:
        """Fixed random factors of pairs of zones, (Z, Z)."""
        return _affinity_factors(self.zones)

    def _gravity(self, place: Place) -> IntArray:
        """Return the whole-number weights of each zone for a place, by the zone it is drawn from.

        Returns
        -------
        (Z, Z) int64; rows are the zones drawn from, each with a sum below 2^32.
        """
        count = np.diff(self.zone_first[_DRAWN_FROM[place][0]])
        ratio = self._zone_distance_m / float(self.reach_m[place])
        spread = (1.0 + ratio * ratio) * (1.0 + ratio * ratio)
        falling = _KERNEL_SCALE / (spread * spread) * self._affinity
        np.fill_diagonal(falling, _KERNEL_SCALE * self.local_factor)
        # Bounded, so that a row sums below 2^32.
        weights: IntArray = np.minimum(falling, _KERNEL_CEILING).astype(np.int64) * count
        # The most remote home still has somewhere to go: any address, each as likely.
        weights[weights.sum(axis=1) == 0] = count
        return weights

    def _gravity_table(self, place: Place) -> tuple[IntArray, IntArray, IntArray]:
        """Return the running sum over all rows, and each row's start and total; kept once made."""
        if place not in self.tables:
            weights = self._gravity(place)
            totals = weights.sum(axis=1)
            starts = np.cumsum(totals) - totals
            self.tables[place] = np.cumsum(weights.reshape(-1)), starts, totals
        return self.tables[place]

    def draw(self, place: Place, given: IntArray | None, pick_zone: IntArray, pick: IntArray) -> IntArray:
        """Draw an address for each device.

        Parameters
        ----------
        place
            Kind of place.
        given
            (n,) int64, address it is drawn from (home or work); None for homes.
        pick_zone, pick
            (n,) int64, uniform in [0, 2^32).

        Returns
        -------
        (n,) int64, addresses.
        """
        kind, origin = _DRAWN_FROM[place]
        first = self.zone_first[kind]
        chosen: IntArray
        if origin is None or given is None:
            chosen = first[0] + ((pick * (first[-1] - first[0])) >> 32)
            return chosen
        running, starts, totals = self._gravity_table(place)
        row = self._zone_of_address[given]
        target = starts[row] + ((pick_zone * totals[row]) >> 32)
        zone = np.searchsorted(running, target, side="right") - row * self.zones
        low = first[zone]
        chosen = low + ((pick * (first[zone + 1] - low)) >> 32)
        return chosen

    @cached_property
    def place_law(self) -> FloatArray:
        """The probability of each address for each kind of place.

        Returns
        -------
        (5, A) float64; rows are kinds of place and sum to 1. They differ from the law of ``draw`` only
        by its use of 32-bit uniform numbers, below one part in a thousand million.
        """
        law = np.zeros((len(Place), self.size), dtype=np.float64)
        zone_law: dict[Place, FloatArray] = {}
        for place, (kind, origin) in _DRAWN_FROM.items():
            count = np.diff(self.zone_first[kind]).astype(np.float64)
            if origin is None:
                zone_law[place] = count / count.sum()
            else:
                running, _, totals = self._gravity_table(place)
                weights = np.diff(running, prepend=0).reshape(self.zones, self.zones)
                zone_law[place] = (zone_law[origin] / totals) @ weights
            each = np.divide(zone_law[place], count, out=np.zeros_like(count), where=count > 0)
            start, stop = int(self.zone_first[kind, 0]), int(self.zone_first[kind, -1])
            law[place, start:stop] = each[self._zone_of_address[start:stop]]
        law.flags.writeable = False
        return law

    def index_at(self, resolution: int) -> npt.NDArray[np.int32]:
        """Return the domain index of each address.

        Parameters
        ----------
        resolution
            H3 resolution, 5 to 10.

        Returns
        -------
        (A,) int32, each in [0, d): every address lies on land, so none is outside.
        """
        if resolution not in self.indices:
            domain = city_domain(self.city, resolution)
            cells = cells_of_points(self.fine_cells, self.lat_e6, self.lng_e6, self.strays, resolution)
            index = domain.index_of_cells(cells).astype(np.int32)
            index.flags.writeable = False
            self.indices[resolution] = index
        return self.indices[resolution]


def _affinity_factors(zones: int) -> FloatArray:
    """Return a fixed random factor for each pair of zones, the same both ways.

    Real flows scatter about any law of distance by a factor of several: lines, schools and habits tie
    some neighbourhoods together and not others.

    Returns
    -------
    (Z, Z) float64, log-normal with logarithmic standard deviation ``_AFFINITY_LOG_SD``.
    """
    number = np.arange(zones, dtype=np.uint64)
    low, high = np.minimum(number[:, None], number[None, :]), np.maximum(number[:, None], number[None, :])
    # SplitMix64 of the pair (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014).
    mixed = (low * np.uint64(1 << 20) + high + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    table: FloatArray = lognormal_table(_AFFINITY_LOG_SD)[(mixed ^ (mixed >> np.uint64(31))) >> np.uint64(54)]
    return table


def lognormal_table(log_sd: float) -> FloatArray:
    """Return 1,024 equally likely values of a log-normal law of median 1.

    Rounded, so that a last-digit difference between mathematics libraries cannot matter.
    """
    law = NormalDist(0.0, log_sd)
    return np.array([round(math.exp(law.inv_cdf((i + 0.5) / 1024)), 6) for i in range(1024)])


def spread_points(cells: CellArray, owner: IntArray) -> tuple[IntArray, IntArray]:
    """Spread points evenly inside H3 cells, by a fixed stream.

    Parameters
    ----------
    cells
        (m,) uint64, H3 cells that are hexagons.
    owner
        (A,) int64, for each point the number of its cell, in [0, m).

    Returns
    -------
    Two (A,) int64 arrays, latitude and longitude in millionths of a degree.
    """
    corners = np.array([h3.cell_to_boundary(cell) for cell in cells.tolist()], dtype=np.float64)
    corners_e6 = np.rint(corners * _MICRO).astype(np.int64)  # (m, 6, 2)
    middle = corners_e6.sum(axis=1) // 6
    offset = corners_e6 - middle[:, None, :]
    rng = np.random.Generator(np.random.Philox(_SPREAD_SEED))
    bits = rng.integers(0, 1 << 32, size=(3, owner.size), dtype=np.uint32).astype(np.int64)
    side = (bits[0] * 6) >> 32
    along, across = bits[1] >> 12, bits[2] >> 12  # 20 bits
    # Fold the unit square onto the triangle between the middle and one side of the hexagon.
    beyond = along + across >= 1 << 20
    along = np.where(beyond, (1 << 20) - 1 - along, along)
    across = np.where(beyond, (1 << 20) - 1 - across, across)
    step = offset[owner, side] * along[:, None] + offset[owner, (side + 1) % 6] * across[:, None]
    point = middle[owner] + ((step * SHRINK_PER_1024) >> 30)
    return point[:, 0], point[:, 1]


def cells_of_points(
    fine_cells: CellArray,
    lat_e6: IntArray,
    lng_e6: IntArray,
    strays: Mapping[int, BoolArray],
    resolution: int,
) -> CellArray:
    """Return the cell that holds each point, by bit arithmetic wherever that is known to be right.

    Parameters
    ----------
    fine_cells
        (A,) uint64, the cell of each point at resolution 10.
    lat_e6, lng_e6
        (A,) int64, degrees times a million.
    strays
        Points that don't lie in the ancestor of their fine cell; where a resolution is missing, every point is
        looked up by its coordinates.
    resolution
        5 to 10.

    Returns
    -------
    (A,) uint64.
    """
    if resolution == ADDRESS_RESOLUTION:
        return fine_cells
    if resolution not in strays:
        return points_to_cells(lat_e6 / _MICRO, lng_e6 / _MICRO, resolution)
    cells, stray = ancestors(fine_cells, resolution), strays[resolution]
    cells[stray] = points_to_cells(lat_e6[stray] / _MICRO, lng_e6[stray] / _MICRO, resolution)
    return cells


def make_book(
    city: str,
    cells: CellArray,
    counts: IntArray,
    reach_m: IntArray,
    local_factor: int,
    strays: Mapping[int, BoolArray] = MappingProxyType({}),
) -> AddressBook:
    """Lay out the addresses of a city from the number of each kind in each fine cell.

    Parameters
    ----------
    city
        Slug.
    cells
        (m,) uint64, H3 cells of resolution 10 that lie wholly on land.
    counts
        (m, 4) int64, addresses of each kind (see ``KINDS``).
    reach_m
        (4,) int64, distance scales of work, shop, out and near work, metres.
    local_factor
        Pull of the same zone.
    strays
        What `find_strays` said of these cells and counts; without it every point is looked up by its coordinates.
    """
    owner = np.repeat(np.tile(np.arange(cells.size), len(KINDS)), counts.T.reshape(-1))
    lat, lng = spread_points(cells, owner)
    fine_cells = cells[owner]
    kind = np.repeat(np.arange(len(KINDS)), counts.sum(axis=0))
    zone_of_point = cells_of_points(fine_cells, lat, lng, strays, ZONE_RESOLUTION)
    zone_cells, zone = np.unique(zone_of_point, return_inverse=True)
    order = np.lexsort((zone, kind))
    lat, lng, fine_cells = lat[order], lng[order], fine_cells[order]
    per_zone = np.bincount(kind * zone_cells.size + zone, minlength=len(KINDS) * zone_cells.size)
    per_zone = per_zone.reshape(len(KINDS), -1)
    ends = np.cumsum(per_zone.reshape(-1)).reshape(per_zone.shape)
    zone_first = np.column_stack([ends[:, 0] - per_zone[:, 0], ends])
    middles = np.zeros((zone_cells.size, 2), dtype=np.int64)
    np.add.at(middles, zone[order], np.column_stack([lat, lng]))
    middles //= per_zone.sum(axis=0)[:, None]
    drawn = [place for place, (_, origin) in _DRAWN_FROM.items() if origin is not None]
    return AddressBook(
        city=city,
        lat_e6=lat,
        lng_e6=lng,
        fine_cells=fine_cells,
        zone_first=zone_first,
        zone_cells=zone_cells,
        zone_lat_e6=middles[:, 0],
        zone_lng_e6=middles[:, 1],
        reach_m=MappingProxyType(dict(zip(drawn, reach_m.tolist(), strict=True))),
        local_factor=local_factor,
        strays=MappingProxyType({resolution: stray[order] for resolution, stray in strays.items()}),
    )


def find_strays(cells: CellArray, counts: IntArray) -> dict[int, BoolArray]:
    """Find the points that don't lie in the ancestor of their fine cell, at every coarser resolution.

    Parameters
    ----------
    cells, counts
        As for `make_book`.

    Returns
    -------
    By resolution, (A,) bool in the order in which points are spread: kind by kind, cell by cell.
    """
    owner = np.repeat(np.tile(np.arange(cells.size), len(KINDS)), counts.T.reshape(-1))
    lat, lng = spread_points(cells, owner)
    return {
        resolution: points_to_cells(lat / _MICRO, lng / _MICRO, resolution)
        != ancestors(cells, resolution)[owner]
        for resolution in COARSER
    }


@lru_cache(maxsize=3)
def address_book(city: str) -> AddressBook:
    """Return the addresses of a built-in city.

    Raises
    ------
    ParameterError
        If there is no such city.
    """
    find_city(city)
    with np.load(DATA_FOLDER / f"{city}_addresses.npz", allow_pickle=False) as file:
        counts = file["counts"].astype(np.int64)
        strays = {
            resolution: np.unpackbits(file[f"strays_{resolution}"], count=int(counts.sum())).astype(bool)
            for resolution in COARSER
        }
        return make_book(
            city,
            np.cumsum(file["cell_steps"]),
            counts,
            file["reach_m"],
            int(file["local_factor"]),
            strays,
        )
