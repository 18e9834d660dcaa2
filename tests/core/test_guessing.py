"""Success of the best guess, against sums over every output of tables of probability made here by hand."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from ldpcore.guessing import MEASURED, best_guess
from ldpcore.mechanisms import MECHANISMS, make_mechanism

EPSILONS = (0.3, 1.0, 3.0)


def bayes(table: np.ndarray) -> float:
    """Return the best success of a (cells, outputs) table of P(output | cell)."""
    assert table.sum(axis=1) == pytest.approx(np.ones(len(table)))
    return float(table.max(axis=0).sum() / len(table))


def bits_table(cells: int, p: float, q: float) -> np.ndarray:
    rows = []
    for cell in range(cells):
        chances = np.full(cells, q)
        chances[cell] = p
        rows.append(
            [
                np.prod(np.where(bits, chances, 1 - chances))
                for bits in itertools.product((0, 1), repeat=cells)
            ]
        )
    return np.array(rows)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("cells", [2, 3, 6])
def test_randomised_response(cells: int, epsilon: float) -> None:
    table = np.ones((cells, cells)) + (math.exp(epsilon) - 1) * np.eye(cells)
    found = best_guess(make_mechanism("grr", epsilon=epsilon, domain_size=cells)).success
    assert found == pytest.approx(bayes(table / table.sum(axis=1, keepdims=True)))


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("cells", [2, 5])
def test_unary_encodings(cells: int, epsilon: float) -> None:
    ratio = math.exp(epsilon)
    pairs = {
        "oue": (0.5, 1 / (ratio + 1)),
        "sue": (1 - 1 / (math.sqrt(ratio) + 1), 1 / (math.sqrt(ratio) + 1)),
    }
    for name, (p, q) in pairs.items():
        found = best_guess(make_mechanism(name, epsilon=epsilon, domain_size=cells)).success
        assert found == pytest.approx(bayes(bits_table(cells, p, q)))
    theta = 0.7
    threshold = make_mechanism("the", epsilon=epsilon, domain_size=cells, theta=theta)
    p, q = 1 - math.exp(epsilon * (theta - 1) / 2) / 2, math.exp(-epsilon * theta / 2) / 2
    assert best_guess(threshold).success == pytest.approx(bayes(bits_table(cells, p, q)))


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("buckets", [2, 3])
def test_local_hashing_over_all_functions(buckets: int, epsilon: float) -> None:
    cells, ratio = 4, math.exp(epsilon)
    functions = list(itertools.product(range(buckets), repeat=cells))
    table = [
        [
            (ratio if function[cell] == bucket else 1) / (ratio + buckets - 1) / len(functions)
            for function in functions
            for bucket in range(buckets)
        ]
        for cell in range(cells)
    ]
    found = best_guess(make_mechanism("olh", epsilon=epsilon, domain_size=cells, g=buckets)).success
    assert found == pytest.approx(bayes(np.array(table)))


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("size", [1, 2, 4])
def test_subset_selection(size: int, epsilon: float) -> None:
    cells = 5
    sets = list(itertools.combinations(range(cells), size))
    table = np.array(
        [[math.exp(epsilon) if cell in chosen else 1.0 for chosen in sets] for cell in range(cells)]
    )
    found = best_guess(make_mechanism("ss", epsilon=epsilon, domain_size=cells, k=size)).success
    assert found == pytest.approx(bayes(table / table.sum(axis=1, keepdims=True)))


def sign(row: int, column: int) -> int:
    return -1 if (row & column).bit_count() % 2 else 1


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("cells", [2, 3, 4, 5, 7])
def test_a_signed_row_of_the_hadamard_matrix(cells: int, epsilon: float) -> None:
    rows = 1 << (cells - 1).bit_length()
    kept = math.exp(epsilon) / (math.exp(epsilon) + 1)
    table = [
        [(kept if sign(row, cell) == sent else 1 - kept) / rows for row in range(rows) for sent in (1, -1)]
        for cell in range(cells)
    ]
    found = best_guess(make_mechanism("hrr", epsilon=epsilon, domain_size=cells)).success
    assert found == pytest.approx(bayes(np.array(table)))


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize(
    ("cells", "blocks"), [(2, 1), (3, 1), (5, 1), (5, 2), (7, 2), (8, 4), (9, 4), (5, 4)]
)
def test_a_column_of_the_hadamard_matrix(cells: int, blocks: int, epsilon: float) -> None:
    columns = 1
    while columns <= -(-cells // blocks):
        columns *= 2
    table = np.ones((cells, blocks * columns))
    for cell in range(cells):
        block, row = divmod(cell, columns - 1)
        for column in range(columns):
            if sign(row + 1, column) > 0:
                table[cell, block * columns + column] = math.exp(epsilon)
    found = best_guess(make_mechanism("hr", epsilon=epsilon, domain_size=cells, blocks=blocks)).success
    assert found == pytest.approx(bayes(table / table.sum(axis=1, keepdims=True)))


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_a_noisy_histogram_against_draws(epsilon: float) -> None:
    cells, draws = 6, 400_000
    rng = np.random.default_rng(11)
    entries = rng.laplace(scale=2 / epsilon, size=(draws, cells))
    entries[:, 0] += 1
    likelihood = np.clip(np.abs(entries) - np.abs(entries - 1), -1, 1).round(12)
    top = likelihood.max(axis=1, keepdims=True)
    right = (likelihood[:, 0] == top[:, 0]) / (likelihood == top).sum(axis=1)
    found = best_guess(make_mechanism("she", epsilon=epsilon, domain_size=cells)).success
    # Five standard errors: fails once in two million.
    assert found == pytest.approx(right.mean(), abs=5 * right.std() / math.sqrt(draws))


@pytest.mark.parametrize("name", ["grr", "oue", "olh", "hr", "hrr", "ss"])
def test_a_mechanism_without_a_form_is_measured(name: str) -> None:
    mechanism = make_mechanism(name, epsilon=2.0, domain_size=12)
    measured = best_guess.dispatch(object)(mechanism)
    assert measured.how == MEASURED
    known = best_guess(mechanism).success
    assert known is not None
    assert measured.success == pytest.approx(known, abs=5 * measured.spread)


@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize("cells", [2, 357, 100_000])
def test_no_guess_beats_what_epsilon_allows(name: str, cells: int) -> None:
    for epsilon in (0.01, 1.0, 8.0, 20.0):
        success = best_guess(make_mechanism(name, epsilon=epsilon, domain_size=cells)).success
        assert success is not None
        ratio = math.exp(epsilon)
        assert 1 / cells - 1e-12 <= success <= ratio / (ratio + cells - 1) + 1e-12
