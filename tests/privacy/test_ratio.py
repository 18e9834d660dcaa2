"""The one rational per epsilon, against mpmath, and the epsilon of what is really sent."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import pytest

from ldpcore.mechanisms import MECHANISMS, make_mechanism
from ldpcore.mechanisms.kernels.streams import threshold_words
from ldpcore.mechanisms.kernels.unary import unary_law
from ldpcore.rational import exp_floor, log_ceiling, ratio_of, root_ratio_of

EPSILONS = (0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 20.0)
DOMAIN_SIZES = (2, 3, 10, 100, 2218, 15_000, 100_000)

# Small steps that a slider makes, and floats that are not short decimals.
MORE_EPSILONS = (*EPSILONS, 1e-9, 1e-6, 2.0**-20, 1 / 3, math.pi, 7.3, 13.8155105579643)


@pytest.fixture(autouse=True)
def many_digits() -> object:
    with mpmath.workdps(120):
        yield


def exact_log(ratio: Fraction) -> mpmath.mpf:
    return mpmath.log(mpmath.mpf(ratio.numerator)) - mpmath.log(mpmath.mpf(ratio.denominator))


@pytest.mark.parametrize("epsilon", MORE_EPSILONS)
def test_ratio_is_the_floor_of_the_exponential(epsilon: float) -> None:
    scaled = mpmath.exp(mpmath.mpf(epsilon)) * 2**64
    assert ratio_of(epsilon) == Fraction(int(mpmath.floor(scaled)), 2**64)
    # Far enough from a whole number that no rounding inside could have changed the floor.
    assert abs(scaled - mpmath.nint(scaled)) > mpmath.mpf(2) ** -40
    root = mpmath.exp(mpmath.mpf(epsilon) / 2) * 2**64
    assert root_ratio_of(epsilon) == Fraction(int(mpmath.floor(root)), 2**64)


@pytest.mark.parametrize("bits", [1, 8, 32, 64, 200])
def test_ratio_at_any_precision(bits: int) -> None:
    expected = int(mpmath.floor(mpmath.exp(mpmath.mpf(2)) * mpmath.mpf(2) ** bits))
    assert exp_floor(Fraction(2), bits=bits) == Fraction(expected, 2**bits)


@pytest.mark.parametrize("ratio", [Fraction(1), Fraction(2), Fraction(10**30 + 1, 10**30), Fraction(7, 3)])
def test_log_is_the_smallest_float_not_below(ratio: Fraction) -> None:
    result = log_ceiling(ratio)
    assert exact_log(ratio) <= result
    assert result == 0 or mpmath.mpf(math.nextafter(result, 0)) < exact_log(ratio)


def test_log_of_less_than_one_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        log_ceiling(Fraction(1, 2))


@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_epsilon_effective_is_true_and_never_above_the_label(name: str, epsilon: float) -> None:
    for domain_size in DOMAIN_SIZES:
        mechanism = make_mechanism(name, epsilon=epsilon, domain_size=domain_size)
        ratio = mechanism._greatest_ratio()
        if ratio is None:
            assert mechanism.epsilon_effective == epsilon
            continue
        log_ratio = exact_log(ratio)
        assert log_ratio <= mpmath.mpf(epsilon)
        assert log_ratio <= mpmath.mpf(mechanism.epsilon_effective) <= mpmath.mpf(epsilon)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_thresholds_of_the_kernels_keep_the_label(epsilon: float) -> None:
    """What the compiled loops compare with is rounded once more; the ratio stays below e^epsilon."""
    oue = make_mechanism("oue", epsilon=epsilon, domain_size=10)
    assert oue.p is not None
    assert oue.q is not None
    masks, rest_high, rest_low, own_high, own_low = unary_law(oue.p, oue.q)
    leading = sum(1 << (9 - place) for place, mask in enumerate(masks) if mask)
    q = Fraction((leading << 128) + (int(rest_high) << 64) + int(rest_low), 2**138)
    p = Fraction((int(own_high) << 64) + int(own_low), 2**128)
    assert 0 <= oue.q - q < Fraction(1, 2**138)
    assert 0 <= oue.p - p < Fraction(1, 2**128)
    assert exact_log(p * (1 - q) / ((1 - p) * q)) <= mpmath.mpf(epsilon)
    grr = make_mechanism("grr", epsilon=epsilon, domain_size=2218)
    assert grr.p is not None
    high, low = threshold_words(grr.p)
    keep = Fraction((int(high) << 64) + int(low), 2**128)
    assert 0 <= grr.p - keep < Fraction(1, 2**128)
    assert exact_log(keep / ((1 - keep) / 2217)) <= mpmath.mpf(epsilon)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0, 4.0])
def test_thresholding_on_the_phone_wastes_privacy(epsilon: float) -> None:
    mechanism = make_mechanism("the", epsilon=epsilon, domain_size=50)
    assert mechanism.epsilon_effective < 0.95 * epsilon
    better = make_mechanism("oue", epsilon=mechanism.epsilon_effective, domain_size=50)
    assert better.variance_empty is not None
    assert mechanism.variance_empty is not None
    assert better.variance_empty < mechanism.variance_empty


def test_lower_effective_epsilon_of_thresholding_has_the_known_values() -> None:
    for epsilon, effective in ((1.0, 0.896), (2.0, 1.636)):
        found = make_mechanism("the", epsilon=epsilon, domain_size=50).epsilon_effective
        assert round(found, 3) == effective
