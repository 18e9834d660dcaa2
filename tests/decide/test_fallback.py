"""Falling back over the H3 tree: exact errors seen in redraws, and a table that answers what it can."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from pathlib import Path

import h3
import numpy as np
import pandas as pd
import pytest

from ldpcore.cli import main
from ldpcore.errors import ParameterError
from ldpcore.fallback import (
    METHODS,
    coarsest_choices,
    default_coarsest,
    draw_nodes,
    expected_std_error,
    fall_back,
    fallback_tree,
    fitting_methods,
    why_unfit,
)
from ldpcore.fallback_files import fallback_bytes, fallback_command, fallback_sidecar
from ldpcore.fallback_measured import measure_fallback
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


def level_sizes(resolutions: tuple[int, ...]) -> np.ndarray:
    """How many cells each resolution has; normal errors make a mean square known to one in root (2 draws cells)."""
    cells = POPULATION.domain.cell_ids()
    return np.array([len({h3.cell_to_parent(cell, level) for cell in cells}) for level in resolutions])


def test_falling_back_answers_more_and_its_benefit_is_measured() -> None:
    draws = 10
    found = {entry.method: entry for entry in measure_fallback(SCENARIO, POPULATION, draws=draws)}
    assert list(found) == ["none", "summed", "groups"]
    assert (found["summed"].devices_answered > found["none"].devices_answered + 0.1).all()
    rmse = {
        name: dict(zip(entry.resolutions, entry.rmse_expected, strict=True)) for name, entry in found.items()
    }
    assert rmse["groups"][5] < rmse["summed"][5]
    assert rmse["groups"][7] > rmse["none"][7]
    for entry in found.values():
        assert entry.draws == draws
        assert entry.false_published.mean() < 0.5
        assert (abs(entry.rmse - entry.rmse_expected) < 6 * entry.rmse_error).all()
        assert entry.rmse_error == pytest.approx(
            entry.rmse / np.sqrt(2 * draws * level_sizes(entry.resolutions)), rel=0.6
        )
    # Draw by draw the figures are those of the runs themselves.
    for draw in range(draws):
        run = fall_back(replace(SCENARIO, draw=draw), POPULATION, method="groups")
        answered = run.answer >= 0
        entry = found["groups"]
        assert entry.cells_answered[draw].tolist() == list(run.answered.values())
        held = POPULATION.true_counts[answered].sum() / POPULATION.true_counts.sum()
        assert entry.devices_answered[draw] == pytest.approx(held)
        nodes = run.answer[answered]
        error = abs(run.estimates.estimate[nodes] / run.true_counts[nodes] - 1)
        assert entry.relative_error[draw] == pytest.approx(np.median(error))
        plain = run_population(replace(SCENARIO, draw=draw), POPULATION)
        assert found["none"].cells_answered[draw].tolist() == [plain.published.sum()]


def test_kept_estimates_give_the_same_figures_and_are_asked_for_once_a_draw() -> None:
    tree = fallback_tree(POPULATION, 6)
    asked: list[tuple[int, str]] = []

    def kept(at: Scenario, method: str):
        asked.append((at.draw, method))
        return draw_nodes(at, POPULATION, tree, method=method)

    own = measure_fallback(SCENARIO, POPULATION, draws=3, coarsest=6, drawer=kept)
    fresh = measure_fallback(SCENARIO, POPULATION, draws=3, coarsest=6)
    for left, right in zip(own, fresh, strict=True):
        assert (left.cells_answered == right.cells_answered).all()
    assert sorted(asked) == sorted((draw, m) for draw in range(3) for m in ("summed", "summed", "groups"))


def test_the_floor_and_the_confidence_draw_nothing_anew() -> None:
    tree = fallback_tree(POPULATION)
    for method in METHODS:
        nodes = draw_nodes(SCENARIO, POPULATION, tree, method=method)
        other = draw_nodes(replace(SCENARIO, floor=7, confidence=0.5), POPULATION, tree, method=method)
        for left, right in zip(nodes, other, strict=True):
            assert (left == right).all()


def test_few_false_supports_take_the_exact_law_as_a_plain_run_does() -> None:
    scenario = replace(SCENARIO, devices=2_000, epsilon=6.0, floor=10)
    population = population_of(scenario)
    plain = run_population(scenario, population)
    assert plain.estimates.exact_used
    run = fall_back(scenario, population)
    fine = run.tree.leaves
    assert run.estimates.exact_used
    assert run.estimates.ci_low[fine] == pytest.approx(plain.estimates.ci_low)
    assert run.estimates.ci_high[fine] == pytest.approx(plain.estimates.ci_high)
    assert (run.estimates.at_least[fine] <= plain.estimates.at_least).all()


def test_reports_really_made_by_groups_are_unbiased_too() -> None:
    """60 redraws of 27 nodes of the two coarse levels; 6 standard errors fail once in 1e7."""
    scenario = replace(SCENARIO, devices=3_000, per_report=True, city="singapore", resolution=6)
    population = population_of(scenario)
    expected = expected_std_error(scenario, population, method="groups", coarsest=4)
    runs = [
        fall_back(replace(scenario, draw=draw), population, method="groups", coarsest=4) for draw in range(60)
    ]
    scaled = (np.array([run.estimates.estimate for run in runs]) - runs[0].true_counts) / expected
    coarse = runs[0].tree.resolution < 6
    assert abs(scaled.mean(axis=0)[coarse]).max() < 6 / np.sqrt(60)
    assert 0.75 < scaled[:, coarse].std() < 1.25


def test_the_coarsest_resolution_leaves_at_least_two_cells() -> None:
    assert coarsest_choices(POPULATION) == (3, 4, 5, 6)
    assert default_coarsest(POPULATION) == 5
    small = population_of(replace(SCENARIO, city="singapore", resolution=5))
    parents = {
        level: len({h3.cell_to_parent(cell, level) for cell in small.domain.cell_ids()}) for level in range(5)
    }
    assert coarsest_choices(small) == tuple(level for level in range(1, 5) if parents[level] > 1)


def test_methods_that_do_not_fit_say_why() -> None:
    for mechanism, options, method, words in (
        ("grr", (), "groups", "ties its cells together"),
        ("hr", (("blocks", 2),), "summed", "not known"),
        ("hr", (("blocks", 2),), "groups", "not known"),
    ):
        scenario = replace(SCENARIO, mechanism=mechanism, options=options)
        assert words in (why_unfit(scenario, POPULATION, method) or "")
    assert why_unfit(SCENARIO, POPULATION, "groups") is None


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


@pytest.mark.parametrize("method", list(METHODS))
def test_the_command_line_writes_the_mixed_release(method: str, capsys, tmp_path: Path) -> None:
    out = tmp_path / "mixed.csv"
    run = fall_back(SCENARIO, POPULATION, method=method, coarsest=6)
    words = shlex.split(fallback_command(SCENARIO.to_command(out=str(out)), run))
    assert main([*words[3:], "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert figures["answered_by_resolution"] == {str(level): cells for level, cells in run.answered.items()}
    assert figures["answered"] == (run.answer >= 0).sum()
    assert figures["published"] == run_population(SCENARIO, POPULATION).published.sum()
    assert figures["nodes_false_published"] == (run.published & (run.true_counts < SCENARIO.floor)).sum()
    table = pd.read_csv(out)
    wanted = run.frame(truth=True)
    assert table["cell"].tolist() == wanted["cell"].tolist()
    assert table["estimate"].tolist() == wanted["estimate"].tolist()
    assert set(table["resolution"]) == {6, 7}
    about = json.loads((tmp_path / "mixed.csv.scenario.json").read_text())
    assert about["fall_back"]["method"] == method
    assert about["command"].endswith(f"--fall-back {method} --coarsest 6")
    assert about["link"]["coarsest"] == "6"


def test_the_release_of_an_own_file_gives_no_seed_away() -> None:
    plain = run_population(SCENARIO, POPULATION)
    own = replace(plain, scenario=replace(SCENARIO, trips="0" * 64))
    about = fallback_sidecar(own, fall_back(SCENARIO, POPULATION), truth=False)
    assert about["fall_back"]["method"] == "summed"
    assert not {"link", "command"} & set(about)
    assert not {"seed", "draw", "trips"} & set(about["scenario"])
    mixed = fallback_bytes(plain, fall_back(SCENARIO, POPULATION), ".geojson", truth=False)
    features = json.loads(mixed)["features"]
    assert {feature["properties"]["resolution"] for feature in features} <= {5, 6, 7}
    assert "true_count" not in features[0]["properties"]
