"""The law behind the first check: exact tails, bounds that hold, and what they let through."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import comb

import numpy as np
import pytest

from ldpcore.mechanisms import MECHANISMS, make_mechanism
from ldpcore.privacy.unbiasedness import judge_estimates


def exact_law(count: int, n: int, p: Fraction, q: Fraction) -> list[Fraction]:
    """P(Bin(count, p) + Bin(n - count, q) = k), k = 0..n, in fractions."""
    law = [Fraction(0)] * (n + 1)
    for own, other in product(range(count + 1), range(n - count + 1)):
        law[own + other] += (
            comb(count, own)
            * p**own
            * (1 - p) ** (count - own)
            * comb(n - count, other)
            * q**other
            * (1 - q) ** (n - count - other)
        )
    return law


@pytest.mark.parametrize(("name", "epsilon"), [("grr", 1), ("oue", 2), ("oue", 10), ("sue", 0.5)])
def test_chances_agree_with_every_outcome_of_two_draws(name: str, epsilon: float) -> None:
    mechanism = make_mechanism(name, epsilon=epsilon, domain_size=3)
    assert mechanism.p is not None
    assert mechanism.q is not None
    true_counts = np.array([3, 1, 0])
    n = 4
    laws = [exact_law(int(count), n, mechanism.p, mechanism.q) for count in true_counts]
    supports = list(product(range(n + 1), repeat=2))
    estimate_of = [mechanism.estimate(np.full(3, k), n=n) for k in range(n + 1)]
    variance = mechanism.variance(true_counts, n=n)
    fits = {
        pair: judge_estimates(mechanism, np.array([estimate_of[k] for k in pair]), true_counts, failure=1e-9)
        for pair in supports
    }
    for cell, law in enumerate(laws):
        chance = {pair: float(law[pair[0]] * law[pair[1]]) for pair in supports}
        squares = {
            pair: sum((estimate_of[k][cell] - true_counts[cell]) ** 2 for k in pair) / variance[cell]
            for pair in supports
        }
        for pair, fit in fits.items():
            above = sum(chance[other] for other in supports if sum(other) >= sum(pair))
            below = sum(chance[other] for other in supports if sum(other) <= sum(pair))
            assert fit.mean_chance[cell] == pytest.approx(min(above, below), rel=1e-8)
            wider = sum(chance[other] for other in supports if squares[other] >= squares[pair] - 1e-9)
            closer = sum(chance[other] for other in supports if squares[other] <= squares[pair] + 1e-9)
            side = wider if squares[pair] > 2 else closer
            assert fit.spread_chance[cell] >= side * (1 - 1e-9)


@pytest.mark.parametrize("name", MECHANISMS)
def test_right_estimates_are_accused_no_more_often_than_stated(name: str) -> None:
    # 60 crowds, each accused with probability at most 0.01: more than 8 times with probability below 1e-7.
    mechanism = make_mechanism(name, epsilon=1, domain_size=4)
    rng = np.random.default_rng(11)
    true_counts = np.array([20, 9, 1, 0])
    accused = 0
    for _ in range(60):
        counts = np.array([mechanism.sample_counts(true_counts, rng=rng) for _ in range(12)])
        fit = judge_estimates(mechanism, mechanism.estimate(counts, n=30), true_counts, failure=0.01)
        accused += fit.mean_accused.size + fit.spread_accused.size > 0
    assert accused <= 8


def test_a_shift_of_seven_standard_errors_is_accused_and_one_of_three_is_not() -> None:
    mechanism = make_mechanism("oue", epsilon=2, domain_size=4)
    true_counts = np.array([20, 9, 1, 0])
    error = np.sqrt(mechanism.variance(true_counts, n=30) / 400)
    rng = np.random.default_rng(5)
    noise = rng.normal(size=(400, 4)) * error * 20
    noise -= noise.mean(axis=0)
    for shift, accused in ((0, 0), (3, 0), (9, 4)):
        fit = judge_estimates(mechanism, true_counts + shift * error + noise, true_counts, failure=1e-9)
        assert np.allclose(fit.error, shift)
        assert fit.mean_accused.size == accused
        assert fit.spread_accused.size == 0


def test_large_epsilon_does_not_overflow() -> None:
    mechanism = make_mechanism("sue", epsilon=20, domain_size=4)
    true_counts = np.array([20, 9, 1, 0])
    rng = np.random.default_rng(5)
    counts = np.array([mechanism.sample_counts(true_counts, rng=rng) for _ in range(400)])
    fit = judge_estimates(mechanism, mechanism.estimate(counts, n=30), true_counts, failure=1e-9)
    assert np.isfinite(fit.spread_chance).all()
    assert fit.mean_accused.size == fit.spread_accused.size == 0
