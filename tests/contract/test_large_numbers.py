"""Ten billion devices, the most a scenario takes: every mechanism samples, estimates and predicts."""

from __future__ import annotations

import numpy as np
import pytest

from ldpcore.errors import ParameterError
from ldpcore.estimate import estimate_counts, publication_probability, smallest_count
from ldpcore.mechanisms import MECHANISMS, make_mechanism
from ldpcore.mechanisms.subset import MOST_AT_ONCE

CASES = [(name, {}) for name in MECHANISMS] + [("hr", {"blocks": 4})]


@pytest.mark.parametrize(("name", "options"), CASES)
@pytest.mark.parametrize("epsilon", [0.001, 2.0, 20.0])
def test_ten_billion_devices(name: str, options: dict[str, object], epsilon: float) -> None:
    mechanism = make_mechanism(name, epsilon=epsilon, domain_size=16, **options)
    true = np.full(16, 10**7)
    true[0] = 10**10 - true[1:].sum()
    counts = mechanism.sample_counts(true, rng=np.random.default_rng(3))
    n = int(true.sum())
    table = estimate_counts(mechanism, counts, n=n)
    # 16 cells, 33 cases, seven standard deviations: fails once in 10^9.
    assert (np.abs(table.estimate - true) <= 7 * np.sqrt(mechanism.variance(true, n=n)) + 1e-3).all()
    assert np.isfinite(publication_probability(mechanism, true, n=n, floor=300)).all()
    assert smallest_count(mechanism, n=n, relative_error=0.1, counts=counts) > 0


def test_subset_selection_splits_a_crowd_without_losing_anybody() -> None:
    mechanism = make_mechanism("ss", epsilon=1.0, domain_size=5, k=2)
    true = np.array([MOST_AT_ONCE, 0, 1, 2 * MOST_AT_ONCE + 5, 7])
    counts = mechanism.sample_counts(true, rng=np.random.default_rng(2))
    assert counts.sum() == 2 * true.sum()


def test_sums_of_laplace_noise_beyond_64_bits_are_refused() -> None:
    true = np.full(4, 2_500_000_000)
    coarse = make_mechanism("she", epsilon=1e-6, domain_size=4)
    counts = coarse.sample_counts(true, rng=np.random.default_rng(1))
    error = coarse.estimate(counts, n=10**10) - true
    assert (np.abs(error) <= 7 * np.sqrt(8e10) / 1e-6).all()
    assert (np.abs(error) >= 1e-4 * np.sqrt(8e10) / 1e-6).all()
    tiny = make_mechanism("she", epsilon=1e-9, domain_size=4)
    with pytest.raises(ParameterError, match="cannot hold") as caught:
        tiny.sample_counts(true, rng=np.random.default_rng(1))
    assert caught.value.parameter == "epsilon"
