"""Algebra that holds for every input: merging, relabelling, round trips, monotony."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ldpcore.binomial_sums import greatest_count_kept, smallest_count_kept, upper_tail
from ldpcore.estimate import estimate_counts, score_interval
from ldpcore.mechanisms import MECHANISMS, make_mechanism, parse_options
from ldpcore.mechanisms.sampling import uniform_split
from ldpcore.mechanisms.subset_sampling import other_picks
from ldpcore.rational import log_ceiling, ratio_of

names = st.sampled_from(list(MECHANISMS))
epsilons = st.floats(0.01, 20.0)
quick = settings(max_examples=40, deadline=None)


@quick
@given(names, epsilons, st.integers(2, 90), st.integers(0, 2**32), st.data())
def test_counts_of_batches_merge(
    name: str, epsilon: float, cells: int, seed: int, data: st.DataObject
) -> None:
    mechanism = make_mechanism(name, epsilon=epsilon, domain_size=cells)
    values = data.draw(st.lists(st.integers(0, cells - 1), max_size=40))
    cut = data.draw(st.integers(0, len(values)))
    reports = mechanism.privatize(np.array(values, int), rng=np.random.default_rng(seed))
    whole = mechanism.aggregate(reports)
    assert np.array_equal(whole, mechanism.aggregate(reports[:cut]) + mechanism.aggregate(reports[cut:]))
    order = np.random.default_rng(seed).permutation(len(values))
    assert np.array_equal(whole, mechanism.aggregate(reports[order]))


@quick
@given(st.sampled_from(["grr", "oue", "olh"]), epsilons, st.integers(2, 30), st.integers(0, 2**32))
def test_relabelling_cells_relabels_the_table(name: str, epsilon: float, cells: int, seed: int) -> None:
    mechanism = make_mechanism(name, epsilon=epsilon, domain_size=cells)
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 200, cells)
    order = rng.permutation(cells)
    plain = estimate_counts(mechanism, counts, n=200)
    moved = estimate_counts(mechanism, counts[order], n=200)
    for column in ("estimate", "std_error", "ci_low", "ci_high", "at_least"):
        assert np.array_equal(getattr(plain, column)[order], getattr(moved, column))


@quick
@given(epsilons, epsilons)
def test_ratio_grows_with_epsilon(one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert 1 < ratio_of(low) <= ratio_of(high)
    assert log_ceiling(ratio_of(low)) <= low


@quick
@given(st.fractions(min_value=1, max_value=10**9, max_denominator=10**12))
def test_log_is_close_and_never_below(ratio: Fraction) -> None:
    assert log_ceiling(ratio) == pytest.approx(math.log1p(float(ratio - 1)), rel=1e-12, abs=1e-300)


@quick
@given(
    st.floats(-1e6, 1e6),
    st.floats(0.01, 1e9),
    st.floats(-1.0, 1e3),
    st.floats(0.1, 6.0),
    st.integers(1, 10**6),
)
def test_score_roots_solve_the_equation(estimate: float, base: float, slope: float, z: float, n: int) -> None:
    low, high = (float(end) for end in score_interval(estimate, base=base, slope=slope, z=z, n=n))
    assert low <= high
    for root in (low, high):
        if base + estimate * slope + (z * slope / 2) ** 2 < 0:
            assert root in {0.0, float(n)}
            continue
        gap, spread = (estimate - root) ** 2, z**2 * (base + root * slope)
        scale = max(gap, estimate**2, z**2 * base, (z**2 * slope) ** 2, 1.0)
        assert abs(gap - spread) <= 1e-9 * scale


@st.composite
def binomial_sums(draw: st.DrawFn) -> tuple[int, float, float]:
    n = draw(st.integers(1, 60))
    q = draw(st.floats(1e-6, 0.8))
    p = draw(st.floats(q + 0.05, 0.999))
    return n, p, q


def convolved(n: int, count: int, p: float, q: float) -> np.ndarray:
    """Probabilities of 0..n supports, by adding one device at a time."""
    law = np.ones(1)
    for device in range(n):
        one = p if device < count else q
        law = np.convolve(law, [1 - one, one])
    return law


@quick
@given(binomial_sums(), st.data())
def test_tail_is_that_of_the_convolution(setting: tuple[int, float, float], data: st.DataObject) -> None:
    n, p, q = setting
    count = data.draw(st.integers(0, n))
    law = convolved(n, count, p, q)
    expected = [law[k:].sum() for k in range(n + 2)]
    found = upper_tail(np.arange(n + 2), count, n=n, p=p, q=q)
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-14)


@quick
@given(binomial_sums(), st.floats(0.001, 0.4))
def test_bounds_invert_the_test(setting: tuple[int, float, float], alpha: float) -> None:
    n, p, q = setting
    laws = np.array([convolved(n, count, p, q) for count in range(n + 1)])
    upper = np.cumsum(laws[:, ::-1], axis=1)[:, ::-1]
    lower = np.cumsum(laws, axis=1)
    supports = np.arange(n + 1)
    low = smallest_count_kept(supports, n=n, p=p, q=q, alpha=alpha)
    high = greatest_count_kept(supports, n=n, p=p, q=q, alpha=alpha)
    for support in supports:
        kept = np.flatnonzero(upper[:, support] > alpha)
        assert low[support] == (kept[0] if kept.size else n)
        kept = np.flatnonzero(lower[:, support] > alpha)
        assert high[support] == (kept[-1] if kept.size else 0)


@quick
@given(st.integers(0, 10**12), st.integers(1, 300), st.integers(0, 2**32))
def test_uniform_split_loses_nobody(total: int, cells: int, seed: int) -> None:
    counts = uniform_split(total, cells, np.random.default_rng(seed))
    assert counts.shape == (cells,)
    assert counts.min() >= 0
    assert counts.sum() == total


option_values = st.one_of(st.integers(), st.booleans(), st.none(), st.floats(0, 1))


@quick
@given(st.dictionaries(st.sampled_from(["k", "g", "seeds", "blocks"]), option_values))
def test_options_survive_writing_and_reading(options: dict[str, object]) -> None:
    assert parse_options(",".join(f"{name}={value}" for name, value in options.items())) == options


@quick
@given(st.lists(st.integers(0, 40), min_size=2, max_size=40), st.data(), st.integers(0, 2**32))
def test_picks_of_other_cells_add_up(devices: list[int], data: st.DataObject, seed: int) -> None:
    """Every device makes its picks, none of them its own cell, none twice."""
    picks = data.draw(st.integers(0, len(devices) - 1))
    counts = other_picks(np.array(devices), picks, np.random.default_rng(seed))
    assert counts.min() >= 0
    assert counts.sum() == picks * sum(devices)
    assert (counts <= sum(devices) - np.array(devices)).all()
