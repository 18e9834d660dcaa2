"""The domain: exactly the overlapping cells, a version that moves with them, look-ups, refusals."""

from __future__ import annotations

import time

import h3
import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

from ldpcore.domain import MAX_CELLS, Area, Domain, cells_over, domain_version, points_to_cells
from ldpcore.errors import ParameterError


def area(geometry: shapely.Geometry, label: str = "Somewhere") -> Area:
    return Area(name="here", label=label, geometry=geometry, timezone="UTC", attribution="")


def outline(cell: int, near_lng: float = 0.0) -> shapely.Polygon:
    """The cell as a polygon, its longitudes brought to within 180 degrees of a given one."""
    corners = h3.cell_to_boundary(h3.int_to_str(cell))
    return shapely.Polygon([((lng - near_lng + 180) % 360 - 180 + near_lng, lat) for lat, lng in corners])


def overlapping_by_geometry(geometry: shapely.Geometry, resolution: int, near_lng: float = 0.0) -> set[int]:
    """Every cell of a generous neighbourhood whose outline shapely finds to meet the geometry."""
    west, south, east, north = geometry.bounds
    step = h3.average_hexagon_edge_length(resolution, unit="km") / 111.2 / 2
    lng_step = step / max(np.cos(np.radians(max(abs(south), abs(north)))), 0.1)
    lats = np.arange(south - 3 * step, north + 3 * step, step)
    lngs = np.arange(west - 3 * lng_step, east + 3 * lng_step, lng_step)
    lat, lng = (grid.ravel() for grid in np.meshgrid(lats, lngs))
    candidates = np.unique(points_to_cells(lat, (lng + 180) % 360 - 180, resolution))
    shapely.prepare(geometry)
    hit = shapely.intersects(geometry, np.array([outline(int(cell), near_lng) for cell in candidates]))
    return {int(cell) for cell in candidates[hit]}


SHAPES = {
    "triangle": shapely.Polygon([(10.0, 50.0), (10.31, 50.02), (10.12, 50.2)]),
    "hole": shapely.box(-0.3, 51.3, 0.1, 51.6).difference(shapely.box(-0.2, 51.35, 0.0, 51.55)),
    "islands": shapely.MultiPolygon(
        [shapely.box(24.0, 60.0, 24.1, 60.05), shapely.box(24.1005, 60.0, 24.2, 60.05)]
    ),
    "smaller than a cell": shapely.box(103.8, 1.3, 103.80001, 1.30001),
    "southern": shapely.box(18.3, -34.2, 18.5, -34.0),
}


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("resolution", [5, 7, 8])
def test_domain_is_exactly_the_cells_that_overlap(name: str, resolution: int) -> None:
    domain = cells_over(area(SHAPES[name]), resolution)
    expected = overlapping_by_geometry(SHAPES[name], resolution)
    assert set(domain.cells.tolist()) == expected
    assert domain.size == len(expected)


def test_hole_wider_than_a_cell_is_left_out() -> None:
    inside_hole = points_to_cells([51.45], [-0.1], 8)
    assert cells_over(area(SHAPES["hole"]), 8).index_of_cells(inside_hole).tolist() == [-1]


@pytest.mark.parametrize(
    "geometry",
    [
        shapely.box(179.8, -17.2, 180.3, -16.8),
        shapely.box(-180.2, -17.2, -179.7, -16.8),
        shapely.MultiPolygon(
            [shapely.box(179.8, -17.2, 180.0, -16.8), shapely.box(-180.0, -17.2, -179.7, -16.8)]
        ),
    ],
)
def test_an_area_may_cross_the_antimeridian(geometry: shapely.Geometry) -> None:
    domain = cells_over(area(geometry), 7)
    unbroken = shapely.box(179.8, -17.2, 180.3, -16.8)
    assert set(domain.cells.tolist()) == overlapping_by_geometry(unbroken, 7, near_lng=180.0)


def test_a_wide_area_is_not_read_as_its_complement() -> None:
    # 300 degrees wide: H3 alone would take the edges as crossing the antimeridian.
    domain = cells_over(area(shapely.box(-150.0, 0.0, 150.0, 0.4)), 5)
    assert domain.index_of_points([0.2, 0.2, 0.2], [0.0, -149.0, 179.0]).tolist()[2] == -1
    assert (domain.index_of_points([0.2, 0.2], [0.0, -149.0]) >= 0).all()


def test_cells_are_ascending_unique_and_read_only() -> None:
    domain = cells_over(area(SHAPES["triangle"]), 8)
    assert domain.cells.dtype == np.uint64
    assert (np.diff(domain.cells.astype(np.int64)) > 0).all()
    with pytest.raises(ValueError, match="read-only"):
        domain.cells[0] = 0


def test_version_moves_with_any_cell_the_order_and_the_resolution() -> None:
    cells = cells_over(area(SHAPES["triangle"]), 8).cells
    base = domain_version(8, cells)
    assert len(base) == 16
    assert int(base, 16) >= 0
    swapped = cells.copy()
    swapped[[0, 1]] = swapped[[1, 0]]
    others = {domain_version(8, np.delete(cells, i)) for i in range(0, cells.size, 7)}
    others |= {domain_version(8, swapped), domain_version(9, cells)}
    assert base not in others
    assert len(others) == 2 + len(range(0, cells.size, 7))


def test_domains_are_equal_by_version_whatever_their_name() -> None:
    cells = cells_over(area(SHAPES["triangle"]), 7).cells
    one, other = Domain("a", 7, cells), Domain("b", 7, cells.copy())
    assert one == other
    assert hash(one) == hash(other)
    assert one != Domain("a", 7, cells[1:])


def test_version_of_a_known_list_never_changes() -> None:
    # The bytes "h3:8:" and one little-endian id, hashed with coreutils' sha256sum.
    assert domain_version(8, np.array([0x882A100D65FFFFF], dtype=np.uint64)) == "a2525b204525a834"


def test_look_up_of_cells_and_points() -> None:
    domain = cells_over(area(SHAPES["triangle"]), 8)
    assert domain.index_of_cells(domain.cells[::-1]).tolist() == list(range(domain.size))[::-1]
    centres = domain.centres()
    assert domain.index_of_points(centres[:, 0], centres[:, 1]).tolist() == list(range(domain.size))
    assert domain.cell_ids()[3] == h3.int_to_str(int(domain.cells[3]))
    assert centres[5].tolist() == pytest.approx(h3.cell_to_latlng(domain.cell_ids()[5]))
    assert domain.index_of_cells(np.empty(0, dtype=np.uint64)).size == 0


@pytest.mark.parametrize(
    ("lat", "lng"),
    [
        (np.nan, 10.1),
        (50.05, np.nan),
        (np.inf, 10.1),
        (91.0, 10.1),
        (50.05, 181.0),
        (0.0, 0.0),
        (50.05, -10.1),
    ],
)
def test_what_is_not_in_the_domain_has_no_index(lat: float, lng: float) -> None:
    assert (
        cells_over(area(SHAPES["triangle"]), 8).index_of_points([lat, 50.05], [lng, 10.1]).tolist()[0] == -1
    )


def test_a_point_that_is_no_coordinate_has_no_cell() -> None:
    assert points_to_cells([np.nan, 90.0, -90.5], [0.0, 180.0, 0.0], 8).astype(bool).tolist() == [
        False,
        True,
        False,
    ]


@pytest.mark.parametrize("resolution", [0, 5, 7, 8])
def test_parents_are_those_of_h3(resolution: int) -> None:
    domain = cells_over(area(SHAPES["southern"]), 8)
    expected = [h3.str_to_int(h3.cell_to_parent(cell, resolution)) for cell in domain.cell_ids()]
    assert domain.parents(resolution).tolist() == expected


@pytest.mark.parametrize("resolution", [-1, 9])
def test_parents_of_no_ancestor_are_refused(resolution: int) -> None:
    with pytest.raises(ParameterError, match="resolutions 0 to 8"):
        cells_over(area(SHAPES["triangle"]), 8).parents(resolution)


@settings(max_examples=25, deadline=None)
@given(st.floats(-80, 80), st.floats(-179, 178), st.floats(0.01, 0.4), st.floats(0.01, 0.4))
def test_every_point_of_a_box_lies_in_its_domain(
    south: float, west: float, height: float, width: float
) -> None:
    domain = cells_over(area(shapely.box(west, south, west + width, south + height)), 6)
    grid = np.linspace(0.0, 1.0, 9)
    lat, lng = (part.ravel() for part in np.meshgrid(south + height * grid, west + width * grid))
    inner = (lat < south + height) & (lat > south) & (lng > west) & (lng < west + width)
    assert (domain.index_of_points(lat[inner], lng[inner]) >= 0).all()


def test_too_many_cells_are_refused_quickly_with_the_finest_that_works() -> None:
    wide = area(shapely.box(5.0, 45.0, 15.0, 55.0), "The middle of Europe")
    began = time.process_time()
    with pytest.raises(ParameterError, match=r"about [\d,]+ cells over The middle of Europe") as caught:
        cells_over(wide, 10)
    assert time.process_time() - began < 2.0
    assert caught.value.parameter == "resolution"
    finest = int(str(caught.value).rstrip(".").split()[-1])
    assert cells_over(wide, finest).size <= MAX_CELLS
    with pytest.raises(ParameterError):
        cells_over(wide, finest + 1)


def test_an_area_where_no_resolution_works_says_so() -> None:
    with pytest.raises(ParameterError, match="choose a smaller area"):
        cells_over(area(shapely.box(-180.0, -80.0, 180.0, 80.0)), 8)


@pytest.mark.parametrize("resolution", [4, 11, -1])
def test_resolutions_not_offered_are_refused(resolution: int) -> None:
    with pytest.raises(ParameterError, match="from 5 to 10") as caught:
        cells_over(area(SHAPES["triangle"]), resolution)
    assert str(resolution) in str(caught.value)


def test_an_empty_area_and_a_list_out_of_order_are_refused() -> None:
    with pytest.raises(ParameterError, match="no polygon"):
        cells_over(area(shapely.Polygon()), 8)
    cells = cells_over(area(SHAPES["triangle"]), 8).cells
    with pytest.raises(ParameterError, match="ascending"):
        Domain("x", 8, cells[::-1])
    with pytest.raises(ParameterError, match="unique"):
        Domain("x", 8, np.repeat(cells, 2))
    with pytest.raises(ParameterError, match="resolution 7"):
        Domain("x", 7, cells)


def test_a_million_points_are_found_within_two_seconds() -> None:
    rng = np.random.default_rng(1)
    domain = cells_over(area(shapely.box(-74.2, 40.52, -73.7, 40.92)), 8)
    lat, lng = rng.uniform(40.52, 40.92, 1_000_000), rng.uniform(-74.2, -73.7, 1_000_000)
    began = time.process_time()
    index = domain.index_of_points(lat, lng)
    assert time.process_time() - began < 2.0
    assert index.min() >= 0
