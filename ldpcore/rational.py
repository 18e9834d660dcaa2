"""One exact rational per epsilon: the ratio that every probability of a mechanism is built from.

A probability that is computed as a float and then compared with a random float is not the
probability on the label: rounding can raise the likelihood ratio above e^epsilon, and at large
epsilon it can make an output impossible, which is no privacy at all. So every mechanism here starts
from one rational R = floor(e^epsilon * 2^64) / 2^64, defines all of its probabilities as exact
fractions in R, and its estimator uses the same fractions. The likelihood ratio is then R, exactly,
and R <= e^epsilon by construction.

The floor is found with integer interval arithmetic on the exact binary value of epsilon: a lower and
an upper bound of e^epsilon are carried side by side, and the precision is doubled until both have
the same floor. That always ends, because e to a rational power other than 0 is never rational, and
it is stricter than asserting a safe distance from the next integer.

The idea of quantising the ratio once, rather than each probability, is discussed with the
alternatives in C. Canonne, G. Kamath, T. Steinke, *The Discrete Gaussian for Differential Privacy*, 2020.
"""

from __future__ import annotations

import math
import numbers
from fractions import Fraction
from functools import lru_cache

from ldpcore.errors import ParameterError

RATIO_BITS = 64
"""Binary digits of the ratio after the point."""

MAX_EPSILON = 20.0
"""Above this a report is the value itself in all but name, so it is refused."""

MIN_EPSILON = 1e-9
"""Below this the ratio keeps too few digits above 1 to be worth the name of a measurement."""


def checked_epsilon(epsilon: object) -> float:
    """Return epsilon as a float, or say what is wrong with it.

    Raises
    ------
    ParameterError
        If epsilon is not a number, not finite, not above 0 or above 20, or is so small (below 1e-9)
        that nothing could be measured.
    """
    rule = "epsilon must be greater than 0 and at most 20"
    if isinstance(epsilon, bool) or not isinstance(epsilon, numbers.Real):
        raise ParameterError("epsilon", f"{rule}, got {epsilon!r}; try 2")
    number = float(epsilon)
    if not math.isfinite(number) or not 0 < number <= MAX_EPSILON:
        raise ParameterError("epsilon", f"{rule}, got {number:g}; try 2")
    if number < MIN_EPSILON:
        raise ParameterError(
            "epsilon", f"epsilon below {MIN_EPSILON:g} leaves nothing to measure, got {number:g}; try 0.1"
        )
    return number


@lru_cache(maxsize=4096)
def exp_floor(exponent: Fraction, bits: int = RATIO_BITS) -> Fraction:
    """Round e^exponent down to a multiple of 2^-bits, exactly.

    Parameters
    ----------
    exponent
        A positive rational; the exact binary value of an epsilon, or half of it.
    bits
        Binary digits after the point.

    Examples
    --------
    >>> exp_floor(Fraction(2), bits=8)
    Fraction(1891, 256)
    >>> 1891 / 256 <= math.exp(2) < 1892 / 256
    True
    """
    guard = 64
    while True:
        low, high = _exp_bounds(exponent, bits + guard)
        if low >> guard == high >> guard:
            return Fraction(low >> guard, 1 << bits)
        guard *= 2


def ratio_of(epsilon: float) -> Fraction:
    """Return R, the greatest multiple of 2^-64 that is not above e^epsilon."""
    return exp_floor(Fraction(epsilon))


def root_ratio_of(epsilon: float) -> Fraction:
    """Return S, the greatest multiple of 2^-64 that is not above e^(epsilon/2).

    Mechanisms whose probabilities contain the square root of the ratio use S, and S^2 as their ratio.
    """
    return exp_floor(Fraction(epsilon) / 2)


def log_ceiling(ratio: Fraction) -> float:
    """Return the smallest float that is not below ln(ratio).

    Rounding up never overstates safety. Where ratio <= e^epsilon for a float epsilon the result is at
    most epsilon, because epsilon is then itself a float that is not below ln(ratio).

    Raises
    ------
    ValueError
        If ratio is below 1: a likelihood ratio never is.

    Examples
    --------
    >>> log_ceiling(Fraction(1))
    0.0
    >>> log_ceiling(ratio_of(2.0))
    2.0
    """
    if ratio < 1:
        raise ValueError(f"a likelihood ratio is at least 1, got {float(ratio):g}")
    if ratio == 1:
        return 0.0
    # log1p keeps the digits of a ratio just above 1; the guess is then walked to the exact answer.
    guess = math.log1p(float(ratio - 1))
    while not _exp_reaches(guess, ratio):
        guess = math.nextafter(guess, math.inf)
    while True:
        below = math.nextafter(guess, 0.0)
        if not _exp_reaches(below, ratio):
            return guess
        guess = below


def _exp_reaches(exponent: float, ratio: Fraction) -> bool:
    """Tell whether e^exponent >= ratio, without rounding."""
    if exponent <= 0:
        return ratio <= 1
    bits = 128
    while True:
        low, high = _exp_bounds(Fraction(exponent), bits)
        if Fraction(low, 1 << bits) >= ratio:
            return True
        if Fraction(high, 1 << bits) < ratio:
            return False
        bits *= 2


def _exp_bounds(exponent: Fraction, bits: int) -> tuple[int, int]:
    """Enclose e^exponent * 2^bits between two integers, by the Taylor series with outward rounding."""
    numerator, denominator = exponent.numerator, exponent.denominator
    low = high = term_low = term_high = 1 << bits
    k = 0
    # Once k >= 2 * exponent each further term is at most half of the one before, so the rest of
    # the series is at most the last term.
    while term_high > 1 or k < 2 * exponent:
        k += 1
        term_low = term_low * numerator // (denominator * k)
        term_high = -(-term_high * numerator // (denominator * k))
        low += term_low
        high += term_high
    return low, high + term_high
