"""Release files carry the contract's columns, the scenario, and nothing that a spreadsheet would run."""

import io
import json
from dataclasses import replace

import geopandas
import h3
import pandas as pd
import pyarrow.parquet as pq
import pytest

from ldpcore.errors import ParameterError
from ldpcore.release_files import escape_formulas, release_bytes, require_writable, sidecar, write_release
from ldpcore.scenario import run
from ldpcore.settings import Scenario
from ldpcore.trips.read import read_trips

COLUMNS = [
    "cell",
    "resolution",
    "reports",
    "support",
    "estimate",
    "std_error",
    "ci_low",
    "ci_high",
    "at_least",
    "status",
]


@pytest.fixture(scope="module")
def release():
    return run(Scenario(devices=50_000, resolution=6, floor=50))


def test_the_release_holds_no_truth(release) -> None:
    frame = pd.read_csv(io.BytesIO(release_bytes(release, ".csv", truth=False)))
    assert list(frame.columns) == COLUMNS
    for content in (
        release_bytes(release, ".csv", truth=False),
        release_bytes(release, ".geojson", truth=False),
    ):
        assert b"true_count" not in content
    assert (
        "true_count"
        not in geopandas.read_parquet(io.BytesIO(release_bytes(release, ".parquet", truth=False))).columns
    )


def test_the_comparison_adds_the_truth_in_full_precision(release) -> None:
    frame = pd.read_csv(io.BytesIO(release_bytes(release, ".csv", truth=True)))
    assert list(frame.columns) == [*COLUMNS, "true_count"]
    assert frame["true_count"].tolist() == release.population.true_counts.tolist()
    assert frame["estimate"].tolist() == release.estimates.estimate.tolist()
    assert set(frame["status"]) <= {"published", "below_floor", "within_noise"}
    assert all(h3.is_valid_cell(cell) and h3.get_resolution(cell) == 6 for cell in frame["cell"])


def test_geoparquet_carries_hexagons_and_the_scenario(release) -> None:
    content = release_bytes(release, ".parquet", truth=True)
    frame = geopandas.read_parquet(io.BytesIO(content))
    assert frame.crs.to_epsg() == 4326
    first = frame.iloc[0]
    lat, lng = h3.cell_to_latlng(first["cell"])
    assert first.geometry.contains(first.geometry.centroid)
    assert abs(first.geometry.centroid.x - lng) < 0.01
    assert abs(first.geometry.centroid.y - lat) < 0.01
    note = json.loads(pq.read_schema(io.BytesIO(content)).metadata[b"ldp_atlas"])
    assert note["scenario"]["devices"] == 50_000
    assert note["domain"]["version"] == release.population.domain.version


def test_geojson_has_longitude_first_and_one_feature_per_cell(release) -> None:
    document = json.loads(release_bytes(release, ".geojson", truth=False))
    assert len(document["features"]) == release.population.domain.size
    longitude, latitude = document["features"][0]["geometry"]["coordinates"][0][0]
    assert -75 < longitude < -73
    assert 40 < latitude < 41


def test_the_sidecar_makes_the_release_again(release, tmp_path) -> None:
    table, beside = write_release(release, tmp_path / "release.csv", truth=True)
    note = json.loads(beside.read_text())
    assert note["table"] == "comparison"
    scenario, problems = Scenario.from_params(note["link"])
    assert not problems
    assert release_bytes(run(scenario), ".csv", truth=True) == table.read_bytes()
    assert note["mechanism"]["p"]


def test_texts_that_a_spreadsheet_would_run_are_escaped() -> None:
    frame = pd.DataFrame({"name": ["=1+1", "+2", "-3", "@x", "\tx", "fine"], "number": [-1, 2, 3, 4, 5, 6]})
    safe = escape_formulas(frame)
    assert safe["name"].tolist() == ["'=1+1", "'+2", "'-3", "'@x", "'\tx", "fine"]
    assert safe["number"].tolist() == [-1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("name", ["release.xlsx", "release", "missing_folder/release.csv"])
def test_a_name_that_cannot_be_written_is_refused_before_the_run(name: str, tmp_path) -> None:
    with pytest.raises(ParameterError) as refused:
        require_writable(tmp_path / name)
    assert refused.value.parameter == "out"


def test_a_redraw_is_another_release(release) -> None:
    other = run(replace(release.scenario, draw=1))
    assert release_bytes(other, ".csv", truth=False) != release_bytes(release, ".csv", truth=False)


def test_the_release_of_an_own_file_leaves_without_what_would_undo_it(tmp_path) -> None:
    path = tmp_path / "trips.csv"
    path.write_text("start_lat,start_lng\n" + "40.75,-73.98\n" * 50 + "0,0\n")
    table = read_trips(path)
    release = run(Scenario(city="new_york", trips=table.digest, resolution=6, seed=77, draw=3), table)
    public = json.dumps(sidecar(release, truth=False))
    assert table.digest not in public
    assert "77" not in json.dumps(sidecar(release, truth=False)["scenario"])
    assert "zero_zero" not in public
    assert "simulation" in public
    own = sidecar(release, truth=True)
    assert own["scenario"]["seed"] == 77
    assert "devices" not in own["scenario"]
