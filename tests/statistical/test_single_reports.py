"""The law of a single report: chi-square over every output, half a million devices of one value.

Fixed seed, failure rate 1e-6 for each test.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import chisquare, kstest, laplace

from ldpcore.mechanisms import make_mechanism

DEVICES = 500_000
FAILURE = 1e-6


def assert_law(outputs: npt.NDArray[np.int64], probabilities: npt.NDArray[np.float64]) -> None:
    found = np.bincount(outputs, minlength=probabilities.size)
    assert found.size == probabilities.size
    assert chisquare(found, DEVICES * probabilities / probabilities.sum()).pvalue > FAILURE


def bits_law(p: float, q: float, cells: int, value: int) -> npt.NDArray[np.float64]:
    law = np.ones(2**cells)
    for pattern, cell in product(range(2**cells), range(cells)):
        one = p if cell == value else q
        law[pattern] *= one if pattern >> cell & 1 else 1 - one
    return law


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
@pytest.mark.parametrize("value", [0, 5])
def test_direct(epsilon: float, value: int) -> None:
    mechanism = make_mechanism("grr", epsilon=epsilon, domain_size=6)
    reports = mechanism.privatize(np.full(DEVICES, value), rng=np.random.default_rng(11))
    law = np.full(6, 1.0)
    law[value] = np.exp(epsilon)
    assert_law(reports.astype(np.int64), law)


@pytest.mark.parametrize("epsilon", [0.5, 2.0, 6.0])
@pytest.mark.parametrize("value", [0, 3])
def test_unary(epsilon: float, value: int) -> None:
    mechanism = make_mechanism("oue", epsilon=epsilon, domain_size=4)
    reports = mechanism.privatize(np.full(DEVICES, value), rng=np.random.default_rng(12))
    assert_law(reports[:, 0].astype(np.int64), bits_law(0.5, 1 / (np.exp(epsilon) + 1), 4, value))


@pytest.mark.parametrize("name", ["sue", "the"])
def test_other_unary_encodings(name: str) -> None:
    mechanism = make_mechanism(name, epsilon=2.0, domain_size=4)
    reports = mechanism.privatize(np.full(DEVICES, 2), rng=np.random.default_rng(16))
    if name == "sue":
        p, q = np.e / (np.e + 1), 1 / (np.e + 1)
    else:
        theta = mechanism.parameters()["theta"]
        assert isinstance(theta, float)
        p, q = 1 - np.exp(theta - 1) / 2, np.exp(-theta) / 2
    assert_law(reports[:, 0].astype(np.int64), bits_law(p, q, 4, 2))


@pytest.mark.parametrize("epsilon", [0.1, 2.0])
def test_noise_of_histograms(epsilon: float) -> None:
    mechanism = make_mechanism("she", epsilon=epsilon, domain_size=5)
    reports = mechanism.privatize(np.full(DEVICES // 5, 3), rng=np.random.default_rng(17)) / 2**20
    reports[:, 3] -= 1
    assert kstest(reports.ravel(), laplace(scale=2 / epsilon).cdf).pvalue > FAILURE


@pytest.mark.parametrize(("epsilon", "buckets"), [(0.5, 3), (2.0, 8), (1.0, 2)])
def test_hashing_supports_three_cells_like_a_unary_encoding(epsilon: float, buckets: int) -> None:
    mechanism = make_mechanism("olh", epsilon=epsilon, domain_size=3, g=buckets)
    reports = mechanism.privatize(np.full(DEVICES, 1), rng=np.random.default_rng(13))
    pattern = np.zeros(DEVICES, np.int64)
    for cell in range(3):
        place = (
            reports["a2"].astype(np.int64) * cell * cell
            + reports["a1"].astype(np.int64) * cell
            + reports["a0"]
        ) % 2_642_239
        pattern += (place * buckets // 2_642_239 == reports["bucket"]).astype(np.int64) << cell
    ratio = np.exp(epsilon)
    assert_law(pattern, bits_law(ratio / (ratio + buckets - 1), 1 / buckets, 3, 1))


def test_hashing_of_neighbours_far_from_the_value_is_uncorrelated() -> None:
    """Covariance of the supports of cells i and i + 1, pooled over 2,000 pairs of a large domain."""
    mechanism = make_mechanism("olh", epsilon=2.0, domain_size=2218)
    devices = 4000
    reports = mechanism.privatize(np.full(devices, 7), rng=np.random.default_rng(14))
    cells = np.arange(100, 2101, dtype=np.int64)
    a0, a1, a2 = (reports[field].astype(np.int64)[:, None] for field in ("a0", "a1", "a2"))
    place = (a2 * (cells * cells % 2_642_239) + a1 * cells + a0) % 2_642_239
    support = (place * 8 // 2_642_239 == reports["bucket"][:, None]) - 1 / 8
    for lag in (1, 2, 64):
        products = support[:, lag:] * support[:, :-lag]
        # Pairs of one report share its hash, so the error is taken from the spread between reports.
        by_report = products.mean(axis=1)
        z = by_report.mean() / (by_report.std(ddof=1) / np.sqrt(devices))
        assert abs(z) < 5.1  # two-sided 1e-6 over three lags


@pytest.mark.parametrize(("size", "value"), [(1, 0), (3, 2), (3, 5), (5, 5)])
def test_subsets(size: int, value: int) -> None:
    mechanism = make_mechanism("ss", epsilon=1.0, domain_size=6, k=size)
    reports = mechanism.privatize(np.full(DEVICES, value), rng=np.random.default_rng(15))
    patterns = [pattern for pattern in range(64) if pattern.bit_count() == size]
    law = np.array([np.exp(1.0) if pattern >> value & 1 else 1.0 for pattern in patterns])
    place = np.full(256, -1)
    place[patterns] = np.arange(len(patterns))
    assert_law(place[reports[:, 0]], law)
