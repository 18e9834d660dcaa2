"""Falling back over the H3 tree: exact errors seen in redraws, and a table that answers what it can."""

from __future__ import annotations

from dataclasses import replace

import h3
import numpy as np
import pytest

from ldpcore.errors import ParameterError
from ldpcore.fallback import METHODS, expected_std_error, fall_back, fitting_methods, measure_fallback
from ldpcore.population import population_of
from ldpcore.release import Status
from ldpcore.scenario import run_population
from ldpcore.settings import Scenario

SCENARIO = Scenario(city="helsinki", devices=100_000, resolution=7, floor=100, seed=3)
POPULATION = population_of(SCENARIO)


@pytest.mark.parametrize("method", list(METHODS))
def test_estimates_are_unbiased_with_the_exact_variance(method: str) -> None:
    """400 redraws: about 360 nodes, mean and spread of each scaled error; failure rate 1e-6 altogether."""
    draws = 400
    expected = expected_std_error(SCENARIO, POPULATION, method=method)
    runs = [fall_back(replace(SCENARIO, draw=draw), POPULATION, method=method) for draw in range(draws)]
    error = np.array([run.estimates.estimate for run in runs]) - runs[0].true_counts
    scaled = error / expected
    assert np.abs(scaled.mean(axis=0)).max() < 6.2 / np.sqrt(draws)
    # A sample variance of 400 normals leaves [0.60, 1.52] once in 1e9.
    assert scaled.var(axis=0).min() > 0.6
    assert scaled.var(axis=0).max() < 1.52
    covered = [
        (run.estimates.ci_low <= run.true_counts) & (run.true_counts <= run.estimates.ci_high) for run in runs
    ]
    assert 0.94 < np.mean(covered) < 0.965


@pytest.mark.parametrize("method", list(METHODS))
def test_parents_are_the_sums_of_their_children(method: str) -> None:
    run = fall_back(SCENARIO, POPULATION, method=method)
    tree = run.tree
    sums = tree.sums(run.estimates.estimate[tree.leaves])
    assert run.estimates.estimate == pytest.approx(sums, abs=1e-6)
    assert (tree.sums(POPULATION.true_counts) == run.true_counts).all()


def test_the_fine_level_of_sums_is_the_plain_run() -> None:
    plain = run_population(SCENARIO, POPULATION)
    run = fall_back(SCENARIO, POPULATION, method="summed")
    fine = run.tree.leaves
    assert run.estimates.estimate[fine] == pytest.approx(plain.estimates.estimate)
    assert run.estimates.ci_low[fine] == pytest.approx(plain.estimates.ci_low)
    # More cells are looked at, so the bound is a little lower.
    assert (run.estimates.at_least[fine] < plain.estimates.at_least).all()


@pytest.mark.parametrize("method", list(METHODS))
def test_every_cell_is_answered_by_the_finest_published_cell_around_it(method: str) -> None:
    run = fall_back(SCENARIO, POPULATION, method=method)
    tree, published = run.tree, run.status == Status.PUBLISHED
    for cell, node in zip(POPULATION.domain.cell_ids(), run.answer, strict=True):
        around = (
            [
                at
                for at in range(tree.size)
                if published[at]
                and h3.cell_to_parent(cell, int(tree.resolution[at])) == h3.int_to_str(int(tree.cells[at]))
            ]
            if node < 0 or tree.resolution[node] < 7
            else [int(node)]
        )
        wanted = max(around, key=lambda at: tree.resolution[at], default=-1)
        assert node == wanted
    table = run.frame(truth=True)
    assert table["cells_answered"].sum() == POPULATION.domain.size
    assert not table["cell"].duplicated().any()
    shown = table[table["status"] == "published"]
    assert (shown["at_least"] >= SCENARIO.floor).all()
    assert set(shown["resolution"]) <= {5, 6, 7}
    assert sum(run.answered.values()) == shown["cells_answered"].sum()
    assert "true_count" not in run.frame(truth=False)


def test_falling_back_answers_more_and_its_benefit_is_measured() -> None:
    found = {entry.method: entry for entry in measure_fallback(SCENARIO, POPULATION, draws=10)}
    assert list(found) == ["none", "summed", "groups"]
    assert found["summed"].devices_answered > found["none"].devices_answered + 0.1
    assert found["groups"].rmse_expected[5] < found["summed"].rmse_expected[5]
    assert found["groups"].rmse_expected[7] > found["none"].rmse_expected[7]
    for entry in found.values():
        assert entry.false_published < 0.5
        for level, rmse in entry.rmse.items():
            assert rmse == pytest.approx(entry.rmse_expected[level], rel=0.35)


@pytest.mark.parametrize("mechanism", ["grr", "hr"])
def test_sums_of_correlated_cells_have_their_exact_error_and_groups_are_refused(mechanism: str) -> None:
    """300 redraws of about 40 sums; a scaled variance leaves [0.55, 1.65] once in 1e8."""
    scenario = replace(SCENARIO, mechanism=mechanism, epsilon=4.0)
    assert fitting_methods(scenario, POPULATION) == ("summed",)
    expected = expected_std_error(scenario, POPULATION, method="summed", coarsest=6)
    runs = [
        fall_back(replace(scenario, draw=draw), POPULATION, method="summed", coarsest=6)
        for draw in range(300)
    ]
    nodes = runs[0].tree.level(6)
    error = (np.array([run.estimates.estimate for run in runs]) - runs[0].true_counts) / expected
    assert error[:, nodes].var(axis=0).min() > 0.55
    assert error[:, nodes].var(axis=0).max() < 1.65
    with pytest.raises(ParameterError, match="independent errors"):
        fall_back(scenario, POPULATION, method="groups")


def test_impossible_trees_are_refused() -> None:
    for settings in ({"coarsest": 8}, {"coarsest": -1}, {"method": "hope"}):
        with pytest.raises(ParameterError):
            fall_back(SCENARIO, POPULATION, **settings)
    small = replace(SCENARIO, city="singapore")
    with pytest.raises(ParameterError, match="one cell"):
        fall_back(small, population_of(small), coarsest=1)
