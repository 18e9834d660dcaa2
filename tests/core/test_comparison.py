"""The comparison of all randomisers: theory from the definitions, the limit by brute force, draws as a run makes them."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from ldpcore.comparison import compare_mechanisms, error_curve, limit_error, measured_error
from ldpcore.errors import ParameterError
from ldpcore.mechanisms import MECHANISMS, make_mechanism
from ldpcore.population import population_of
from ldpcore.scenario import run
from ldpcore.settings import Scenario

TRUE = np.array([700, 0, 50, 200, 50, 0, 0, 0, 1_000, 8_000])
N = int(TRUE.sum())


def test_errors_are_those_of_the_papers() -> None:
    compared = compare_mechanisms(TRUE, epsilon=2.0, chosen="oue")
    ratio, cells = math.exp(2.0), TRUE.size
    unary, direct = compared.entries["oue"], compared.entries["grr"]
    empty = 4 * ratio / (ratio - 1) ** 2
    assert unary.error_empty == pytest.approx(math.sqrt(N * empty))
    assert unary.error_busiest == pytest.approx(math.sqrt(N * empty + 8_000))
    assert unary.error_typical == pytest.approx(math.sqrt(N * empty + N / cells))
    p, q = ratio / (ratio + cells - 1), 1 / (ratio + cells - 1)
    variance = (TRUE * p * (1 - p) + (N - TRUE) * q * (1 - q)) / (p - q) ** 2
    assert direct.error_typical == pytest.approx(math.sqrt(variance.mean()))
    assert direct.error_busiest == pytest.approx(math.sqrt(variance[9]))
    assert compared.devices_ratio(direct, unary) == pytest.approx(
        direct.error_typical**2 / unary.error_typical**2
    )


def test_best_and_order() -> None:
    compared = compare_mechanisms(TRUE, epsilon=1.0, chosen="blh")
    errors = [entry.error_typical for entry in compared.ranked()]
    assert errors == sorted(errors)
    assert compared.best.error_typical == errors[0]
    assert compared.own.name == "blh"
    assert set(compared.entries) == set(MECHANISMS)


def test_options_are_those_of_the_chosen_one_alone() -> None:
    compared = compare_mechanisms(TRUE, epsilon=3.0, chosen="hr", options={"blocks": 2})
    assert compared.own.mechanism.parameters()["blocks"] == 2
    assert compared.own.mechanism.variance_empty is None
    exact = compared.own.mechanism.variance(TRUE, n=N)
    assert compared.own.error_typical == pytest.approx(math.sqrt(exact.mean()))
    assert compared.own.error_busiest == pytest.approx(math.sqrt(exact[9]))
    assert compare_mechanisms(TRUE, epsilon=3.0, chosen="oue").entries["hr"].mechanism.pure
    with pytest.raises(ParameterError, match="power of two"):
        compare_mechanisms(TRUE, epsilon=3.0, chosen="hr", options={"blocks": 3})


@pytest.mark.parametrize("cells", [2, 3, 10, 60])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 2.0, 5.0])
def test_the_limit_is_subset_selection_at_its_best_size(cells: int, epsilon: float) -> None:
    n = 1_000
    best = math.inf
    for size in range(1, cells):
        p = size * math.exp(epsilon) / (size * math.exp(epsilon) + cells - size)
        q = (size - p) / (cells - 1)
        # Summed over cells the variance is the same for every truth.
        total = n * (cells * q * (1 - q) + (1 - p - q) * (p - q)) / (p - q) ** 2
        best = min(best, math.sqrt(total / cells))
    assert limit_error(epsilon, domain_size=cells, n=n) == pytest.approx(best)


@pytest.mark.parametrize("cells", [2, 10, 400, 20_000])
def test_nothing_beats_the_limit(cells: int) -> None:
    true = np.random.default_rng(cells).multinomial(10_000, np.full(cells, 1 / cells))
    for epsilon in (0.01, 0.5, 2.0, 6.0, 16.0):
        compared = compare_mechanisms(true, epsilon=epsilon, chosen="grr")
        assert compared.limit > 0
        assert all(entry.error_typical >= compared.limit * (1 - 1e-9) for entry in compared.entries.values())


@pytest.mark.parametrize(("name", "options"), [("grr", {}), ("hr", {"blocks": 2}), ("ss", {}), ("the", {})])
def test_the_curve_passes_through_the_comparison(name: str, options: dict[str, int]) -> None:
    curve = error_curve(name, options, [0.5, 3.0], TRUE)
    for at, epsilon in enumerate([0.5, 3.0]):
        compared = compare_mechanisms(TRUE, epsilon=epsilon, chosen=name, options=options)
        assert curve[at] == pytest.approx(compared.own.error_typical)


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_measured_dot_is_the_error_of_the_same_run(name: str) -> None:
    scenario = Scenario(devices=20_000, resolution=5, mechanism=name, draw=3, floor=10)
    population = population_of(scenario)
    assert measured_error(scenario, population) == pytest.approx(run(scenario).figures.rmse)


@pytest.mark.parametrize("name", MECHANISMS)
def test_measured_dots_scatter_around_theory(name: str) -> None:
    scenario = Scenario(devices=50_000, resolution=6, mechanism=name)
    population = population_of(scenario)
    theory = compare_mechanisms(population.true_counts, epsilon=2.0, chosen=name).own
    squares = np.array([measured_error(replace(scenario, draw=draw), population) ** 2 for draw in range(30)])
    # The mean of 30 mean squares; five of its own standard errors: fails once in about a hundred thousand runs,
    # and the seed is fixed.
    assert abs(squares.mean() - theory.error_typical**2) <= 5 * squares.std(ddof=1) / math.sqrt(30)


def test_ranking_two_cells_says_randomised_response() -> None:
    compared = compare_mechanisms(np.array([3, 5]), epsilon=1.0, chosen="oue")
    assert compared.best.name == "grr"
    warner = make_mechanism("grr", epsilon=1.0, domain_size=2)
    assert compared.best.error_typical == pytest.approx(math.sqrt(8 * (warner.variance_empty or 0)))
