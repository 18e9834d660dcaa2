"""Success of the averaging attack against brute force, an independent sum, and simulated phones."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest
from scipy.stats import binom

from ldpcore.errors import ParameterError
from ldpcore.mechanisms import MECHANISMS, make_mechanism
from ldpcore.privacy.averaging import exact_success, memo_draws, reports_until, simulated_success


def success_of(laws: list[dict[object, Fraction]], reports: int) -> float:
    """Return the success of the best guess, from every sequence of reports.

    However ties are broken, the guess is right with the mean over cells of the greatest likelihood.
    """
    total = Fraction(0)
    for seen in product(laws[0], repeat=reports):
        total += max(math.prod((law[output] for output in seen), start=Fraction(1)) for law in laws)
    return float(total / len(laws))


@pytest.mark.parametrize(
    ("epsilon", "cells", "reports"), [(1.0, 3, 4), (0.3, 2, 7), (1.3, 4, 6), (2.0, 5, 5), (5.0, 3, 6)]
)
def test_randomised_response_against_every_sequence(epsilon: float, cells: int, reports: int) -> None:
    mechanism = make_mechanism("grr", epsilon=epsilon, domain_size=cells)
    p, q = mechanism.p, mechanism.q
    assert p is not None
    assert q is not None
    laws: list[dict[object, Fraction]] = [{y: p if y == v else q for y in range(cells)} for v in range(cells)]
    assert exact_success(mechanism, reports) == pytest.approx(success_of(laws, reports), rel=1e-11)


@pytest.mark.parametrize("name", ["oue", "sue", "the"])
@pytest.mark.parametrize(("epsilon", "cells", "reports"), [(1.0, 3, 3), (2.0, 2, 5), (0.5, 4, 2)])
def test_unary_encodings_against_every_sequence(name: str, epsilon: float, cells: int, reports: int) -> None:
    mechanism = make_mechanism(name, epsilon=epsilon, domain_size=cells)
    p, q = mechanism.p, mechanism.q
    assert p is not None
    assert q is not None
    laws: list[dict[object, Fraction]] = []
    for value in range(cells):
        law: dict[object, Fraction] = {}
        for bits in product((0, 1), repeat=cells):
            ones = [p if cell == value else q for cell in range(cells)]
            law[bits] = math.prod(
                (one if bit else 1 - one for one, bit in zip(ones, bits, strict=True)), start=Fraction(1)
            )
        laws.append(law)
    assert exact_success(mechanism, reports) == pytest.approx(success_of(laws, reports), rel=1e-11)


@pytest.mark.parametrize(("reports", "expected"), [(1, 0.451), (5, 0.710), (10, 0.887)])
def test_the_example_of_ten_cells_at_epsilon_two(reports: int, expected: float) -> None:
    mechanism = make_mechanism("grr", epsilon=2, domain_size=10)
    assert exact_success(mechanism, reports) == pytest.approx(expected, abs=5e-4)
    # Remembered, the same reports are one draw.
    assert exact_success(mechanism, memo_draws(reports, reports_per_epoch=10)) == pytest.approx(
        0.451, abs=5e-4
    )


@pytest.mark.parametrize(("cells", "reports"), [(300, 40), (2000, 30), (40, 60)])
def test_randomised_response_over_many_cells(cells: int, reports: int) -> None:
    """Another route, in exact fractions: (d q)^t / d times the mean of R^(greatest count) of evenly spread reports."""
    mechanism = make_mechanism("grr", epsilon=1.5, domain_size=cells)
    ratio, q = mechanism.ratio, mechanism.q
    assert q is not None
    total, below = Fraction(0), Fraction(0)
    for most in range(1, reports + 1):
        at_most = _spreads(cells, reports, most)
        total += ratio**most * (at_most - below)
        below = at_most
    assert below == Fraction(cells**reports, math.factorial(reports))
    expected = q**reports * math.factorial(reports) * total / cells
    assert exact_success(mechanism, reports) == pytest.approx(float(expected), rel=1e-11)


def _spreads(cells: int, reports: int, most: int) -> Fraction:
    """Return the coefficient of x^t in (1 + x + x^2/2! + ... + x^most/most!)^cells, by the recurrence for powers."""
    terms = [Fraction(1, math.factorial(k)) for k in range(most + 1)]
    power = [Fraction(1)]
    for degree in range(1, reports + 1):
        parts = (
            (cells * k - degree + k) * terms[k] * power[degree - k] for k in range(1, min(degree, most) + 1)
        )
        power.append(sum(parts, start=Fraction(0)) / degree)
    return power[reports]


@pytest.mark.parametrize("name", sorted(set(MECHANISMS) - {"she"}))
def test_simulated_phones_agree(name: str) -> None:
    """Fixed seed. 1,500 phones; five standard errors at most, which an honest simulation exceeds once in a million."""
    mechanism = make_mechanism(name, epsilon=1.5, domain_size=20)
    for reports in (1, 4, 15):
        found = simulated_success(mechanism, reports, trials=1500, rng=np.random.default_rng(reports))
        assert found is not None
        expected = exact_success(mechanism, reports)
        if expected is None:
            # No exact form: the success lies between one report's and certainty, and grows.
            one = exact_success(mechanism, 1)
            assert one is not None
            assert one < found.share <= 1
            continue
        assert abs(found.share - expected) <= 5 * math.sqrt(expected * (1 - expected) / 1500)
        assert found.low <= found.share <= found.high


def test_drawn_counts_and_made_reports_are_attacked_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fixed seed; both are held to the exact success within five standard errors."""
    mechanism = make_mechanism("oue", epsilon=0.4, domain_size=12)
    expected = exact_success(mechanism, 30)
    assert expected is not None
    for most in (0, 100):
        monkeypatch.setattr("ldpcore.privacy.averaging._MADE_ONE_BY_ONE", most)
        found = simulated_success(mechanism, 30, trials=1500, rng=np.random.default_rng(9))
        assert found is not None
        assert abs(found.share - expected) <= 5 * math.sqrt(expected * (1 - expected) / 1500)


def test_what_the_attacker_knows_before_counts() -> None:
    """One report of randomised response at prior 1/2 on one cell, by hand: name the reported cell if it is home.

    Fixed seed, five standard errors.
    """
    mechanism = make_mechanism("grr", epsilon=1, domain_size=10)
    prior = [0.5, *[1 / 18] * 9]
    ratio, p, q = math.e, float(mechanism.p or 0), float(mechanism.q or 0)
    # Another cell is named only if its posterior beats home's: 1/18 R against 1/2; here it never does.
    assert ratio / 18 < 0.5
    expected = 0.5 * (p + 9 * q)
    found = simulated_success(mechanism, 1, trials=4000, rng=np.random.default_rng(2), prior=prior)
    assert found is not None
    assert abs(found.share - expected) <= 5 * math.sqrt(expected * (1 - expected) / 4000)


@pytest.mark.parametrize("name", ["grr", "oue", "olh"])
def test_success_grows_to_certainty(name: str) -> None:
    mechanism = make_mechanism(name, epsilon=2, domain_size=318)
    curve = [exact_success(mechanism, reports) for reports in (1, 2, 5, 20, 100, 500, 2016, 100_000)]
    assert all(a is not None and b is not None and a <= b + 1e-12 for a, b in pairwise(curve))
    assert curve[-1] == pytest.approx(1.0)


def test_chernoff_short_cut_meets_the_sum() -> None:
    """Where the short cut says 1, the sum itself is 1 to twelve digits."""
    for name, reports in (("oue", 300), ("grr", 9000)):
        mechanism = make_mechanism(name, epsilon=2, domain_size=318)
        assert exact_success(mechanism, reports) == pytest.approx(1.0, abs=1e-12)
    p, q = 0.5, 1 / (1 + math.exp(2))
    count = np.arange(301)
    assert float((binom.pmf(count, 300, p) * binom.cdf(count, 300, q) ** 317).sum()) == pytest.approx(
        1, abs=1e-9
    )


def test_reports_until() -> None:
    mechanism = make_mechanism("oue", epsilon=1, domain_size=318)
    needed = reports_until(mechanism, 0.5)
    assert needed is not None
    before, at = exact_success(mechanism, needed - 1), exact_success(mechanism, needed)
    assert before is not None
    assert at is not None
    assert before < 0.5 <= at
    assert reports_until(make_mechanism("hrr", epsilon=1, domain_size=318), 0.5) is None
    with pytest.raises(ParameterError, match="between 0 and 1"):
        reports_until(mechanism, 1.0)


def test_memo_draws() -> None:
    assert [memo_draws(t, reports_per_epoch=2016) for t in (0, 1, 2016, 2017, 104832)] == [0, 1, 1, 2, 52]
    with pytest.raises(ParameterError, match="reports_per_epoch"):
        memo_draws(5, reports_per_epoch=0)


def test_too_many_noisy_histograms_are_not_made() -> None:
    mechanism = make_mechanism("she", epsilon=1, domain_size=2000)
    assert simulated_success(mechanism, 100_000, trials=100, rng=np.random.default_rng(0)) is None
    assert exact_success(mechanism, 2) is None


def test_impossible_numbers_are_refused() -> None:
    with pytest.raises(ParameterError, match="reports"):
        exact_success(make_mechanism("grr", epsilon=1, domain_size=4), 0)
