"""The area of a file: what was named, a city, or a box that is marked as taken from the data."""

from __future__ import annotations

import json
from pathlib import Path

import h3
import numpy as np
import pytest

from ldpcore.domain import cells_over
from ldpcore.errors import ParameterError
from ldpcore.trips.areas import area_from_geojson, area_from_text, choose_area, flag_area
from ldpcore.trips.read import read_trips
from ldpcore.trips.table import TripTable
from ldpcore.trips.values import table_values


def table_of(points: list[tuple[float, float]]) -> TripTable:
    return read_trips(("lat,lng\n" + "".join(f"{lat},{lng}\n" for lat, lng in points)).encode())


def test_half_of_the_points_make_it_a_city() -> None:
    inside, outside = (40.7, -74.0), (51.9, 4.5)
    area = choose_area(table_of([inside] * 5 + [outside] * 5))
    assert (area.name, area.timezone, area.from_data) == ("new_york", "America/New_York", False)
    assert choose_area(table_of([inside] * 4 + [outside] * 6)).from_data


def test_the_box_of_the_middle_is_rounded_outward_and_flagged() -> None:
    rng = np.random.default_rng(5)
    lat, lng = rng.normal(59.91, 0.01, 2000), rng.normal(10.75, 0.015, 2000)
    lat[:3], lng[:3] = 10.0, 90.0  # strays that must not stretch the box
    area = choose_area(table_of(list(zip(lat.tolist(), lng.tolist(), strict=True))))
    # 98 % of a normal law lie within 2.33 sd: latitude 59.887 to 59.933, longitude 10.715 to 10.785.
    assert area.bounds == (10.7, 59.8, 10.8, 60.0)
    assert (area.from_data, area.timezone) == (True, "UTC")


def test_a_point_on_a_grid_line_still_has_an_area() -> None:
    assert choose_area(table_of([(59.9, 10.7)])).bounds == (10.7, 59.9, 10.8, 60.0)


def test_named_areas_win() -> None:
    table = table_of([(40.7, -74.0)])
    assert choose_area(table, city="london").name == "london"
    box = choose_area(table, area_text="-75,40,-73,41", timezone="America/New_York")
    assert (box.bounds, box.timezone, box.from_data) == (
        (-75.0, 40.0, -73.0, 41.0),
        "America/New_York",
        False,
    )
    with pytest.raises(ParameterError, match="not both"):
        choose_area(table, city="london", area_text="0,0,1,1")
    with pytest.raises(ParameterError, match="no time zone"):
        choose_area(table, area_text="0,0,1,1", timezone="Oslo")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1,2,3", "not four numbers"),
        ("a,b,c,d", "not four numbers"),
        ("", "not four numbers"),
        ("nan,0,1,1", "not a number"),
        ("1,0,0,1", "west before east"),
        ("0,1,1,1", "south before north"),
        ("-181,0,0,1", "beyond"),
        ("0,0,1,91", "beyond"),
        ("missing.geojson", "cannot be opened"),
    ],
)
def test_an_area_that_is_none_is_one_sentence(text: str, words: str) -> None:
    with pytest.raises(ParameterError, match=words) as caught:
        area_from_text(text)
    assert caught.value.parameter == "area"


def test_polygons_of_a_file(tmp_path: Path) -> None:
    def ring(west: float, east: float) -> list[list[float]]:
        return [[west, 59.8], [east, 59.8], [east, 60.0], [west, 60.0], [west, 59.8]]

    two = {
        "type": "FeatureCollection",
        "features": [
            {
                "type": "Feature",
                "properties": {},
                "geometry": {"type": "Polygon", "coordinates": [ring(10.6, 10.7)]},
            },
            {"type": "Feature", "properties": {}, "geometry": {"type": "Point", "coordinates": [0, 0]}},
            {"type": "Feature", "properties": {}, "geometry": None},
            {
                "type": "Feature",
                "properties": {},
                "geometry": {"type": "MultiPolygon", "coordinates": [[ring(10.8, 10.9)]]},
            },
        ],
    }
    path = tmp_path / "zone.geojson"
    path.write_text(json.dumps(two))
    area = area_from_text(str(path))
    assert (area.label, area.bounds, area.timezone) == ("zone", (10.6, 59.8, 10.9, 60.0), "UTC")
    assert area.geometry.area == pytest.approx(2 * 0.1 * 0.2)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "is not GeoJSON"),
        ("[1]", "cannot be read"),
        ('{"type":"Point","coordinates":[1,2]}', "holds no polygon"),
        ('{"type":"Polygon","coordinates":[[[1,2],[3]]]}', "cannot be read"),
        ('{"type":"Polygon","coordinates":[[[262000,6649000],[263000,6649000],[263000,6650000],[262000,6649000]]]}',
         "not in degrees"),
        ("[" * 100_000, "is not GeoJSON"),
    ],
)  # fmt: skip
def test_a_bad_area_file_is_one_sentence(tmp_path: Path, content: str, words: str) -> None:
    path = tmp_path / "bad.geojson"
    path.write_text(content)
    with pytest.raises(ParameterError, match=words):
        area_from_text(str(path))


def grid_table(cells: list[str]) -> TripTable:
    rng = np.random.default_rng(8)
    centres = [h3.cell_to_latlng(cell) for cell in cells for _ in range(3)]
    return table_of([(lat + rng.normal(0, 1e-5), lng + rng.normal(0, 1e-5)) for lat, lng in centres])


def geojson_of(cells: list[str]) -> bytes:
    return json.dumps(h3.cells_to_geo(cells)).encode()


def test_an_area_made_of_the_visited_cells_is_flagged() -> None:
    middle = h3.latlng_to_cell(59.91, 10.75, 8)
    visited = h3.grid_disk(middle, 3)
    area = area_from_geojson(geojson_of(visited))
    assert flag_area(area, grid_table(visited)).from_data
    # The same cells with trips in half of them only: a plan, not a list of what was visited.
    assert not flag_area(area, grid_table(visited[: len(visited) // 2])).from_data
    # A polygon of another shape, however full it is.
    square = area_from_text("10.7,59.88,10.8,59.94")
    assert not flag_area(square, grid_table(visited)).from_data


def test_a_box_drawn_around_the_outermost_points_is_flagged() -> None:
    table = table_of([(59.911901, 10.749929), (59.9280667, 10.7512026), (59.9121829, 10.7544337)])
    assert choose_area(table, area_text="10.749929,59.911901,10.7544337,59.9280667").from_data
    assert not choose_area(table, area_text="10.7,59.9,10.8,60").from_data


def fiji(count: int = 400) -> tuple[np.ndarray, np.ndarray]:
    """Places between 179.85 E and 179.85 W, on Taveuni and around it."""
    rng = np.random.default_rng(9)
    lng = rng.uniform(179.85, 180.15, count)
    return rng.uniform(-17.0, -16.8, count), np.where(lng > 180, lng - 360, lng)


def test_places_on_both_sides_of_the_date_line_give_a_small_box() -> None:
    lat, lng = fiji()
    table = table_of(list(zip(lat.tolist(), lng.tolist(), strict=True)))
    area = choose_area(table)
    assert area.bounds == pytest.approx((179.8, -17.0, 180.2, -16.7), abs=0.11)
    assert area.bounds[0] >= 179.7
    assert area.from_data
    domain = cells_over(area, 7)
    # The box is 0.4 by 0.2 degrees at most a step wider: some 43 by 33 km, and a cell has about 5 km2.
    assert 150 < domain.size < 600
    values = table_values(table, area=area, domain=domain)
    right = [h3.str_to_int(h3.latlng_to_cell(y, x, 7)) for y, x in zip(lat, lng, strict=True)]
    kept = [right[row] for row in values.rows]
    assert domain.cells[values.values].tolist() == kept
    assert len(kept) >= 0.95 * len(lat)


def test_a_box_over_the_date_line_is_named_with_west_beyond_east() -> None:
    area = area_from_text("179.8,-17.1,-179.8,-16.7")
    assert area.bounds == pytest.approx((179.8, -17.1, 180.2, -16.7))
    lat, lng = fiji()
    points = list(zip(lat.tolist(), lng.tolist(), strict=True))
    domain = cells_over(area, 7)
    values = table_values(table_of(points), area=area, domain=domain)
    assert (values.dropped, values.mended) == ({}, {})
    # The named box tells the order of the two numbers there as everywhere.
    exchanged = table_values(table_of([(x, y) for y, x in points]), area=area, domain=domain)
    assert np.array_equal(exchanged.values, values.values)
    assert flag_area(
        area_from_text(f"{lng[lng > 0].min()},{lat.min()},{lng[lng < 0].max()},{lat.max()}"), table_of(points)
    ).from_data


@pytest.mark.parametrize(
    "text", ["10.9,59.8,10.6,60.0", "-73.7,40.5,-74.2,40.9", "170,1,-9,2.5", "10,1,10,2"]
)
def test_exchanged_edges_are_not_a_box_around_the_world(text: str) -> None:
    with pytest.raises(ParameterError, match="west before east"):
        area_from_text(text)


@pytest.mark.parametrize("turn", [0, -360])
def test_an_outline_may_be_drawn_over_the_date_line(turn: int) -> None:
    ring = [[179.8, -17], [180.2, -17], [180.2, -16.7], [179.8, -16.7], [179.8, -17]]
    outline = {"type": "Polygon", "coordinates": [[[x + turn, y] for x, y in ring]]}
    area = area_from_geojson(json.dumps(outline).encode())
    assert area.bounds == pytest.approx((179.8, -17, 180.2, -16.7))
    assert cells_over(area, 7) == cells_over(area_from_text("179.8,-17,-179.8,-16.7"), 7)


def test_places_all_around_the_world_are_not_squeezed_over_the_date_line() -> None:
    rng = np.random.default_rng(2)
    area = choose_area(
        table_of(list(zip(rng.uniform(-80, 80, 500), rng.uniform(-180, 180, 500), strict=True)))
    )
    assert area.bounds[0] < -170 < 170 < area.bounds[2]
    with pytest.raises(ParameterError, match="smaller area"):
        cells_over(area, 5)
