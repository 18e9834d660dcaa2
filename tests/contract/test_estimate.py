"""Estimates, intervals, bounds and predictions: what they promise and what they refuse."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom, norm

from ldpcore.errors import ParameterError
from ldpcore.estimate import (
    CORRECTIONS,
    INTERVALS,
    Estimates,
    critical_value,
    estimate_counts,
    expected_false_publications,
    needs_exact,
    needs_exact_bound,
    publication_probability,
    publication_threshold,
    score_interval,
    smallest_count,
)
from ldpcore.mechanisms import MECHANISMS, Mechanism, make_mechanism
from ldpcore.shapes import FloatArray


@pytest.fixture
def oue() -> Mechanism:
    return make_mechanism("oue", epsilon=2.0, domain_size=50)


@dataclass(frozen=True)
class Lopsided:
    """A test double without inheritance: the variance of a cell depends on its number."""

    name: str = "lopsided"
    domain_size: int = 3
    pure: bool = False
    p: Fraction | None = None
    q: Fraction | None = None
    variance_empty: float | None = None
    variance_slope: float | None = None

    def estimate(self, counts: object, *, n: int) -> FloatArray:  # noqa: ARG002
        return np.asarray(counts, float) * 2

    def variance_terms(self, counts: object, *, n: int) -> tuple[FloatArray, FloatArray]:  # noqa: ARG002
        return np.array([1.0, 4.0, 9.0]) * n, np.array([0.0, 1.0, -1.0])


def test_tables_name_what_the_command_line_offers() -> None:
    assert list(CORRECTIONS) == ["none", "bonferroni", "sidak"]
    assert list(INTERVALS) == ["score", "exact"]


def test_columns_of_a_table(oue: Mechanism) -> None:
    n = 10_000
    counts = np.linspace(0, 5000, 50).astype(int)
    table = estimate_counts(oue, counts, n=n, confidence=0.9, correction="sidak")
    assert not table.exact_used
    q = 1 / (math.exp(2) + 1)
    assert table.estimate == pytest.approx((counts - n * q) / (0.5 - q), rel=1e-12)
    assert (table.estimate < 0).any()
    assert (table.ci_low < 0).any()
    assert (table.ci_high > n).any()
    base, slope = n * 4 * math.exp(2) / (math.exp(2) - 1) ** 2, 1.0
    assert table.std_error == pytest.approx(np.sqrt(base + np.maximum(table.estimate, 0) * slope), rel=1e-12)
    z = norm.isf(0.05)
    for end in (table.ci_low, table.ci_high):
        assert abs(table.estimate - end) == pytest.approx(z * np.sqrt(base + end * slope), rel=1e-9)
    z = norm.isf(1 - 0.9 ** (1 / 50))
    assert table.estimate - table.at_least == pytest.approx(
        z * np.sqrt(base + table.at_least * slope), rel=1e-9
    )


def test_null_error_alone_would_cover_far_too_little(oue: Mechanism) -> None:
    """The term that depends on the count matters: a full cell has twice the variance of an empty one."""
    full, empty = oue.variance(np.array([3000.0] + [0.0] * 49), n=3000)[:2]
    assert full / empty == pytest.approx(1 + 1 / (4 * math.exp(2) / (math.exp(2) - 1) ** 2), rel=1e-12)


@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize("interval", INTERVALS)
@pytest.mark.parametrize("correction", CORRECTIONS)
def test_order_of_the_bounds(name: str, interval: str, correction: str) -> None:
    mechanism = make_mechanism(name, epsilon=2.0, domain_size=20)
    if interval == "exact" and not mechanism.pure:
        return
    true_counts = np.arange(20) ** 3
    n = int(true_counts.sum())
    counts = mechanism.sample_counts(true_counts, rng=np.random.default_rng(1))
    table = estimate_counts(mechanism, counts, n=n, correction=correction, interval=interval)
    assert (table.ci_low <= table.ci_high).all()
    if interval == "score":
        assert (table.ci_low < table.estimate).all()
        assert (table.estimate < table.ci_high).all()
    if correction == "none":
        assert (table.at_least >= table.ci_low).all()
    else:
        assert (table.at_least <= table.ci_low).all()


@pytest.mark.parametrize("name", ["grr", "oue", "olh"])
@pytest.mark.parametrize("floor", [0.0, 1.0, 50.0, 300.0])
def test_lower_bound_is_the_inverse_of_the_publication_rule(name: str, floor: float) -> None:
    mechanism = make_mechanism(name, epsilon=2.0, domain_size=4000)
    n = 10**9 if name == "grr" else 200_000  # enough for the normal tail, see needs_exact_bound
    assert mechanism.q is not None
    # Supports around the threshold, one apart, so that both sides of it occur.
    threshold = publication_threshold(mechanism, n=n, floor=floor, confidence=0.95, correction="bonferroni")
    assert mechanism.p is not None
    centre = int(n * float(mechanism.q) + threshold * float(mechanism.p - mechanism.q))
    counts = np.maximum(centre - 2000, 0) + np.arange(4000)
    table = estimate_counts(mechanism, counts, n=n, confidence=0.95, correction="bonferroni")
    published = table.at_least >= floor
    assert 0 < published.sum() < 4000
    assert np.array_equal(published, table.estimate >= threshold)


def test_no_reports_give_zeros(oue: Mechanism) -> None:
    table = estimate_counts(oue, np.zeros(50, int), n=0)
    for column in (table.estimate, table.std_error, table.ci_low, table.ci_high, table.at_least):
        assert np.array_equal(column, np.zeros(50))
    assert np.array_equal(publication_probability(oue, np.zeros(50), n=0, floor=0), np.zeros(50))


def test_the_exact_interval_takes_over_by_itself() -> None:
    mechanism = make_mechanism("oue", epsilon=8.0, domain_size=5)
    q = 1 / (math.exp(8) + 1)
    limit = 20 / (q * (1 - q))
    assert needs_exact(mechanism, n=int(limit) - 1)
    assert not needs_exact(mechanism, n=int(limit) + 1)
    assert estimate_counts(mechanism, np.arange(5), n=100).exact_used
    assert not estimate_counts(mechanism, np.arange(5), n=100_000).exact_used
    assert estimate_counts(mechanism, np.arange(5), n=100_000, interval="exact").exact_used


@pytest.mark.parametrize(
    ("name", "epsilon", "n", "times"),
    [
        # By the exact binomial tail of an empty cell among 2,186, beside the level 0.05 / 2,186 of the normal bound.
        ("oue", 6.0, 10_000, 6.8),
        ("oue", 5.0, 30_000, 1.9),
        ("grr", 6.0, 60_000, 6.4),
        ("oue", 2.0, 10_000, 1.2),
    ],
)
def test_the_bound_of_thousands_of_cells_keeps_its_level(
    name: str, epsilon: float, n: int, times: float
) -> None:
    """The normal bound would be wrong `times` as often as stated; the one that is used never more than stated."""
    mechanism = make_mechanism(name, epsilon=epsilon, domain_size=2186)
    assert mechanism.p is not None
    assert mechanism.q is not None
    level = 0.05 / 2186
    false_supports = binom(n, float(mechanism.q))

    def chance(estimates: Estimates, supports: np.ndarray) -> float:
        first = supports[estimates.at_least > 0][0]  # of an empty cell, to be thought not empty
        return float(false_supports.sf(first - 1)) / level

    middle = int(n * float(mechanism.q))
    supports = middle + np.arange(2186)
    used = estimate_counts(mechanism, supports, n=n)
    assert used.exact_bound
    assert not used.exact_used
    assert 0.5 < chance(used, supports) <= 1
    base, slope = mechanism.variance_terms(supports, n=n)
    z = float(norm.isf(level))
    normal, _ = score_interval(mechanism.estimate(supports, n=n), base=base, slope=slope, z=z, n=n)
    first = supports[normal > 0][0]
    assert float(false_supports.sf(first - 1)) / level == pytest.approx(times, rel=0.04)
    # The prediction is about the bound that is used.
    predicted = publication_probability(mechanism, np.zeros(1), n=n, floor=1)
    assert predicted[0] / level == pytest.approx(chance(used, supports), rel=1e-6)


def test_large_counts_keep_the_score_bound() -> None:
    mechanism = make_mechanism("oue", epsilon=2.0, domain_size=2186)
    assert needs_exact_bound(mechanism, n=50_000, level=0.05 / 2186)
    assert not needs_exact_bound(mechanism, n=100_000, level=0.05 / 2186)
    assert not needs_exact_bound(mechanism, n=5_000, level=0.05)
    # Where q is one half nothing is skewed; where there is no q there is nothing exact.
    assert not needs_exact_bound(make_mechanism("hrr", epsilon=2.0, domain_size=2186), n=100, level=1e-6)
    assert not needs_exact_bound(make_mechanism("she", epsilon=2.0, domain_size=10), n=100, level=1e-6)


def test_exact_and_score_agree_where_many_supports_are_expected() -> None:
    mechanism = make_mechanism("oue", epsilon=2.0, domain_size=30)
    n = 10**7
    true_counts = np.append(np.geomspace(1, 10**6, 29).astype(int), 0)
    counts = mechanism.sample_counts(true_counts, rng=np.random.default_rng(3))
    score = estimate_counts(mechanism, counts, n=n)
    exact = estimate_counts(mechanism, counts, n=n, interval="exact")
    inside = score.ci_low > 0
    for column in ("ci_low", "ci_high", "at_least"):
        difference = getattr(score, column) - getattr(exact, column)
        assert (abs(difference[inside]) < 0.01 * score.std_error[inside]).all()


def test_exact_bounds_beyond_every_count() -> None:
    mechanism = make_mechanism("oue", epsilon=8.0, domain_size=3)
    table = estimate_counts(mechanism, np.array([0, 50, 100]), n=100)
    assert table.ci_low.tolist()[0] == 0
    assert table.ci_low.tolist()[2] == table.ci_high.tolist()[2] == 100
    assert table.at_least[2] == 100


def test_estimates_far_above_n_end_at_n() -> None:
    low, high = score_interval([1e6], base=100.0, slope=-1.0, z=2.0, n=100)
    assert (low[0], high[0]) == (100.0, 100.0)


def test_a_mechanism_without_p_and_q_needs_no_inheritance() -> None:
    double = Lopsided()
    table = estimate_counts(double, [3, 5, 7], n=4, confidence=0.95, correction="none")  # type: ignore[arg-type]
    assert table.estimate.tolist() == [6, 10, 14]
    assert table.std_error == pytest.approx(np.sqrt([4, 16 + 10, 36 - 14]), rel=1e-12)
    z = norm.isf(0.025)
    assert (table.estimate - table.ci_low) ** 2 == pytest.approx(
        z**2 * (np.array([4, 16, 36]) + table.ci_low * np.array([0, 1, -1])), rel=1e-9
    )
    with pytest.raises(
        ParameterError, match="exact interval needs a randomiser with one pair of probabilities"
    ):
        estimate_counts(double, [3, 5, 7], n=4, interval="exact")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="no closed form"):
        smallest_count(double, n=4, relative_error=0.1)  # type: ignore[arg-type]


@pytest.mark.parametrize("confidence", [0.0, 1.0, -0.1, 1.5, math.nan])
def test_confidence_outside_its_range_is_refused(oue: Mechanism, confidence: float) -> None:
    with pytest.raises(ParameterError, match="confidence must lie strictly between 0 and 1") as caught:
        estimate_counts(oue, np.zeros(50, int), n=10, confidence=confidence)
    assert caught.value.parameter == "confidence"


def test_unknown_settings_name_those_that_exist(oue: Mechanism) -> None:
    with pytest.raises(ParameterError, match="none, bonferroni, sidak") as caught:
        estimate_counts(oue, np.zeros(50, int), n=10, correction="holm")
    assert caught.value.parameter == "correction"
    with pytest.raises(ParameterError, match="score, exact") as caught:
        estimate_counts(oue, np.zeros(50, int), n=10, interval="wald")
    assert caught.value.parameter == "interval"


def test_low_confidence_bounds_lie_above_the_estimate(oue: Mechanism) -> None:
    counts = np.full(50, 3000)
    table = estimate_counts(oue, counts, n=10_000, confidence=0.2, correction="none")
    assert (table.at_least > table.estimate).all()
    assert critical_value(0.2, two_sided=False) == pytest.approx(norm.isf(0.8), rel=1e-12)


def test_publication_by_the_exact_law() -> None:
    """By hand: the smallest support that rejects one device fewer than the floor, then its tail."""
    mechanism = make_mechanism("oue", epsilon=6.0, domain_size=10)
    q, n, floor = 1 / (math.exp(6) + 1), 200, 4
    alpha = 0.05 / 10

    def tail(support: int, count: int) -> float:
        own = np.arange(count + 1)
        return float(binom.pmf(own, count, 0.5) @ binom.sf(support - own - 1, n - count, q))

    support = next(k for k in range(n + 1) if tail(k, floor - 1) <= alpha)
    found = publication_probability(mechanism, [0, 3, 10, 40], n=n, floor=floor)
    assert found == pytest.approx([tail(support, count) for count in (0, 3, 10, 40)], rel=1e-8)
    counts = np.arange(10) + support - 5
    table = estimate_counts(mechanism, counts, n=n)
    assert np.array_equal(table.at_least >= floor, counts >= support)


def test_false_publications_are_those_below_the_floor(oue: Mechanism) -> None:
    true_counts = np.array([0, 99, 100, 500] + [0] * 46)
    probability = publication_probability(oue, true_counts, n=10_000, floor=100)
    found = expected_false_publications(oue, true_counts, n=10_000, floor=100)
    assert found == pytest.approx(probability.sum() - probability[2] - probability[3], rel=1e-12)
    assert expected_false_publications(oue, true_counts, n=10_000, floor=0) == 0
    assert found <= 0.05


def test_smallest_count_has_the_error_asked_for(oue: Mechanism) -> None:
    count = smallest_count(oue, n=10**6, relative_error=0.1)
    variance = oue.variance(np.full(50, count), n=10**6)[0]
    assert math.sqrt(variance) / count == pytest.approx(0.1, rel=1e-12)
    for wrong in (0.0, -1.0, math.nan):
        with pytest.raises(ParameterError, match="relative_error must be greater than 0"):
            smallest_count(oue, n=10**6, relative_error=wrong)


@pytest.mark.parametrize("name", ["grr", "oue", "olh"])
def test_a_million_devices_cost_a_blink(name: str) -> None:
    """Sampler and score table of 2,218 cells: 0.05 s of processor time allowed, about 0.002 s needed."""
    mechanism = make_mechanism(name, epsilon=2.0, domain_size=2218)
    true_counts = np.full(2218, 451)
    rng = np.random.default_rng(1)
    used = []
    for _ in range(3):
        start = time.process_time()
        estimate_counts(mechanism, mechanism.sample_counts(true_counts, rng=rng), n=int(true_counts.sum()))
        used.append(time.process_time() - start)
    assert min(used) < 0.05


@pytest.fixture
def blocky() -> Mechanism:
    """Hadamard response with blocks: devices of the own block add more to a variance than the others."""
    return make_mechanism("hr", epsilon=3.0, domain_size=20, blocks=4)


def test_publication_is_predicted_where_variances_depend_on_other_cells(blocky: Mechanism) -> None:
    rng = np.random.default_rng(5)
    true = np.full(20, 1_000)
    true[:3] = (9_000, 4_000, 30_000)
    n, floor = int(true.sum()), 3_000
    rounds = 400
    published = np.zeros(20)
    for _ in range(rounds):
        counts = blocky.sample_counts(true, rng=rng)
        published += estimate_counts(blocky, counts, n=n).at_least >= floor
    predicted = publication_probability(blocky, true, n=n, floor=floor)
    assert ((predicted > 0.05) & (predicted < 0.95)).any()
    # 20 binomial shares; five standard deviations and a hundredth for the normal law: fails once in 10^5.
    spread = np.sqrt(predicted * (1 - predicted) / rounds)
    assert (np.abs(published / rounds - predicted) <= 5 * spread + 0.01).all()


def test_smallest_count_holds_in_the_worst_cell_where_cells_differ(blocky: Mechanism) -> None:
    true = np.full(20, 1_000)
    true[:3] = (9_000, 4_000, 30_000)
    n = int(true.sum())
    counts = blocky.sample_counts(true, rng=np.random.default_rng(1))
    trusted = smallest_count(blocky, n=n, relative_error=0.1, counts=counts)
    base, slope = blocky.variance_terms(counts, n=n)
    errors = np.sqrt(base + trusted * slope) / trusted
    assert errors.max() == pytest.approx(0.1)
    assert errors.min() < 0.09
    with pytest.raises(ParameterError, match="other cells"):
        smallest_count(blocky, n=n, relative_error=0.1)
