"""One function runs a scenario; the same scenario gives the same numbers everywhere."""

import json
from dataclasses import replace

import h3
import numpy as np
import pytest

from ldpcore.cli import run_figures
from ldpcore.errors import ParameterError
from ldpcore.estimate import Estimates
from ldpcore.mechanisms import MECHANISMS
from ldpcore.population import population_of
from ldpcore.release import Status, decide
from ldpcore.scenario import run, run_population
from ldpcore.settings import Scenario
from ldpcore.trips.read import read_trips

SMALL = Scenario(devices=20_000, resolution=6, floor=50)


@pytest.fixture(scope="module")
def small_population():
    return population_of(replace(SMALL, per_report=True))


@pytest.mark.parametrize("mechanism", sorted(MECHANISMS))
def test_the_same_scenario_gives_the_same_table(mechanism: str) -> None:
    scenario = replace(SMALL, mechanism=mechanism)
    first, second = run(scenario), run(scenario)
    assert first.frame(truth=True).equals(second.frame(truth=True))


def test_a_redraw_changes_the_noise_and_keeps_the_trips() -> None:
    first, second = run(SMALL), run(replace(SMALL, draw=1))
    assert np.array_equal(first.population.true_counts, second.population.true_counts)
    assert not np.array_equal(first.counts, second.counts)


def test_the_seed_changes_the_trips() -> None:
    assert not np.array_equal(
        run(SMALL).population.true_counts, run(replace(SMALL, seed=2)).population.true_counts
    )


def test_every_trip_is_used_or_dropped_for_a_reason() -> None:
    figures = run_figures(run(replace(SMALL, hour=8)))
    assert figures["rows_read"] == figures["rows_used"] + sum(figures["rows_dropped"].values())
    assert figures["rows_used"] == figures["reports"]
    assert figures["published"] + figures["suppressed"] == figures["domain_size"]


def test_reports_that_really_exist_hold_the_values_of_the_population(small_population) -> None:
    counted = np.bincount(small_population.values, minlength=small_population.domain.size)
    assert np.array_equal(counted, small_population.true_counts)


@pytest.mark.parametrize("mechanism", sorted(MECHANISMS))
def test_a_run_by_reports_has_the_error_that_theory_predicts(mechanism: str, small_population) -> None:
    release = run_population(replace(SMALL, mechanism=mechanism, per_report=True), small_population)
    # 71 squared errors about their exact variances: the ratio has a standard deviation of about
    # sqrt(2 / 71) = 0.17 for independent cells, so 0.2 to 3 fails less than once in a million.
    ratio = (release.figures.rmse / release.figures.rmse_expected) ** 2
    assert 0.2 < ratio < 3


def test_no_devices_is_no_data_and_not_zero() -> None:
    with pytest.raises(ParameterError, match="No data"):
        Scenario(devices=0)


def test_statuses_follow_the_lower_bound() -> None:
    bounds = np.array([-3.0, 0.0, 0.5, 299.9, 300.0, 4000.0])
    nothing = np.zeros(6)
    estimates = Estimates(nothing, nothing, nothing, nothing, bounds, exact_used=False)
    words = [Status(code).word for code in decide(estimates, floor=300)]
    assert words == ["within_noise", "within_noise", "below_floor", "below_floor", "published", "published"]
    # A floor of zero still asks for one device.
    words = [Status(code).word for code in decide(estimates, floor=0)]
    assert words == ["within_noise", "within_noise", "below_floor", "published", "published", "published"]


def test_a_file_is_counted_cell_by_cell(tmp_path) -> None:
    rows = [(40.75, -73.98)] * 3 + [(40.68, -73.95)] * 2 + [(51.5, -0.1)]
    path = tmp_path / "trips.csv"
    path.write_text("start_lat,start_lng\n" + "\n".join(f"{lat},{lng}" for lat, lng in rows) + "\n")
    table = read_trips(path)
    release = run(Scenario(city="new_york", trips=table.digest, resolution=8), table)
    frame = release.frame(truth=True).set_index("cell")
    expected = {h3.latlng_to_cell(*rows[0], 8): 3, h3.latlng_to_cell(*rows[3], 8): 2}
    assert frame.loc[frame["true_count"] > 0, "true_count"].to_dict() == expected
    assert release.population.rows_dropped == {"outside_area": 1}
    assert release.population.unit == "trip"


def test_another_file_than_the_scenarios_is_refused(tmp_path) -> None:
    path = tmp_path / "trips.csv"
    path.write_text("start_lat,start_lng\n40.75,-73.98\n")
    table = read_trips(path)
    with pytest.raises(ParameterError, match="not the one"):
        run(Scenario(trips="0" * 64), table)


def test_the_figures_are_plain_json() -> None:
    figures = json.loads(json.dumps(run_figures(run(SMALL)), allow_nan=False))
    numerator, denominator = figures["p_exact"].split("/")
    assert int(numerator) / int(denominator) == pytest.approx(figures["p"], rel=1e-15)
    assert figures["epsilon_effective"] <= SMALL.epsilon
