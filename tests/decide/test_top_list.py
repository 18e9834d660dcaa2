"""The list of the fullest cells: its theory against redraws and closed forms, its ranks against plain sorting."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import norm

from ldpcore.errors import ParameterError
from ldpcore.population import population_of
from ldpcore.scenario import run
from ldpcore.settings import Scenario
from ldpcore.top_list import (
    TOP_LIST_ERROR,
    list_over_redraws,
    list_right_probability,
    share_interval,
    top_cells,
)

SCENARIO = Scenario(city="helsinki", devices=400_000, resolution=7, floor=100, epsilon=2.0)


def test_the_list_is_that_of_a_full_sort() -> None:
    rng = np.random.default_rng(5)
    for _ in range(20):
        counts = rng.integers(0, 12, 50)  # many equal ones
        for size in (1, 10, 49, 50, 60):
            expected = sorted(range(50), key=lambda cell: (-counts[cell], cell))[:size]
            assert top_cells(counts, size).tolist() == expected


@pytest.mark.parametrize(("gap", "sd"), [(0, 3.0), (4, 3.0), (10, 2.0)])
def test_two_cells_have_a_closed_form(gap: int, sd: float) -> None:
    found = list_right_probability(np.array([50, 50 - gap]), np.array([sd, sd]), size=1)
    assert found == pytest.approx(norm.cdf(gap / (sd * math.sqrt(2))), abs=1e-3)


def test_equal_cells_are_right_by_chance_alone() -> None:
    """k of d equal cells: one of all (d over k) lists, each as likely."""
    found = list_right_probability(np.full(7, 9), np.full(7, 2.0), size=3)
    assert found == pytest.approx(1 / math.comb(7, 3), abs=1e-3)


def test_theory_agrees_with_normal_draws() -> None:
    """20,000 draws: within 5 standard errors and the 0.001 of the integration; failure rate 1e-6."""
    rng = np.random.default_rng(11)
    counts = np.array([90, 80, 70, 60, 55, 50, 20, 10])
    sd = np.linspace(6, 14, counts.size)
    drawn = counts + sd * rng.standard_normal((20_000, counts.size))
    right = (np.sort(np.argsort(-drawn, axis=1)[:, :3], axis=1) == [0, 1, 2]).all(axis=1).mean()
    found = list_right_probability(counts, sd, size=3)
    assert abs(right - found) < 5 * math.sqrt(found * (1 - found) / 20_000) + 0.001


def test_nothing_can_go_wrong_without_rivals_or_noise() -> None:
    assert list_right_probability(np.array([3, 2, 1]), np.ones(3), size=3) == 1.0
    assert list_right_probability(np.array([30, 20, 10]), np.zeros(3), size=2) == 1.0
    assert list_right_probability(np.array([10**9, 1, 0]), np.ones(3), size=1) == 1.0


@pytest.mark.parametrize(
    ("mechanism", "epsilon"), [("oue", 2.0), ("oue", 4.0), ("grr", 6.0), ("hrr", 2.0), ("olh", 3.0)]
)
def test_theory_agrees_with_the_redraws_of_a_city(mechanism: str, epsilon: float) -> None:
    """400 redraws: within 5 standard errors and the stated error for what ties cells together; failure rate 1e-6 each."""
    scenario = Scenario(city="helsinki", devices=400_000, resolution=7, mechanism=mechanism, epsilon=epsilon)
    population = population_of(scenario)
    drawn = list_over_redraws(scenario, population, redraws=400)
    mechanism_made = run(scenario).mechanism
    deviation = np.sqrt(mechanism_made.variance(population.true_counts, n=population.size))
    theory = list_right_probability(population.true_counts, deviation)
    right = 1 - drawn.changed / drawn.redraws
    assert abs(right - theory) < 5 * math.sqrt(max(theory * (1 - theory), 1 / 400) / 400) + TOP_LIST_ERROR


@pytest.fixture(scope="module")
def drawn():
    return list_over_redraws(SCENARIO, population_of(SCENARIO), redraws=30)


def test_redraws_are_the_runs_of_the_scenario(drawn) -> None:
    for draw in (0, 7):
        estimate = run(Scenario(**{**SCENARIO.to_dict(), "options": (), "draw": draw})).estimates.estimate
        assert drawn.lists[draw].tolist() == np.argsort(-estimate, kind="stable")[:10].tolist()
        place = np.empty(estimate.size, int)
        place[np.argsort(-estimate, kind="stable")] = np.arange(1, estimate.size + 1)
        assert drawn.ranks[draw].tolist() == place[drawn.truth].tolist()


def test_the_figures_are_counts_over_the_redraws(drawn) -> None:
    sets = [set(row) for row in drawn.lists.tolist()]
    truth = set(drawn.truth.tolist())
    assert drawn.changed == sum(found != truth for found in sets)
    assert 0 < drawn.changed <= 30
    frame = drawn.rank_frame()
    for row in frame.itertuples():
        assert row.listed == sum(row.cell in found for found in sets) == drawn.times_listed(row.cell)
        assert row.same_rank <= row.listed
        assert row.rank_low <= row.rank_median <= row.rank_high
    intruders = drawn.intruders()
    assert not set(intruders["cell"]) & truth
    assert intruders["listed"].sum() + frame["listed"].sum() == 30 * 10


def test_it_ends_early_when_told() -> None:
    few = list_over_redraws(SCENARIO, population_of(SCENARIO), redraws=30, told=lambda done: done < 4)
    assert few.redraws == 4
    with pytest.raises(ParameterError):
        list_over_redraws(SCENARIO, population_of(SCENARIO), redraws=0)


def test_the_interval_of_a_share_is_the_exact_one() -> None:
    low, high = share_interval(0, 100)
    assert low == 0
    assert high == pytest.approx(1 - 0.025 ** (1 / 100))
    assert share_interval(0, 0) == (0.0, 1.0)
