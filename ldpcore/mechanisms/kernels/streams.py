"""Random words, uniform integers and Bernoulli draws inside compiled kernels.

Streams are seeded by (key, block number), so a block can be made by any thread. The generator
(a splitmix64 counter; S. Steele, D. Lea, C. Flood, *Fast Splittable Pseudorandom Number Generators*,
2014) is for simulation: the device client has its own source.

Integers are exact: bounds by rejection, probabilities by comparing 64-bit words with a threshold of
128 bits, so that a probability is met to within 2^-128.

Numba checks only a function's own file before it reuses compiled code, so after a change here the
`__pycache__` folder beside this file must be deleted.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, TypeVar, cast

import numba
import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba.extending import intrinsic

_Function = TypeVar("_Function", bound=Callable[..., Any])

U = np.uint64
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def kernel(function: _Function) -> _Function:
    """Compile without the interpreter lock and keep the result on disk."""
    return cast("_Function", numba.njit(nogil=True, cache=True)(function))


def inline(function: _Function) -> _Function:
    """Compile into each caller; a call in an inner loop would stop it from vectorising."""
    return cast("_Function", numba.njit(inline="always")(function))


def _population_count(_context: Any, _word: Any) -> Any:  # noqa: ANN401

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:  # noqa: ANN401
        return builder.ctpop(arguments[0])

    return numba.types.uint64(numba.types.uint64), generate


def _high_product(_context: Any, _left: Any, _right: Any) -> Any:  # noqa: ANN401

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:  # noqa: ANN401
        wide = ir.IntType(128)
        product = builder.mul(builder.zext(arguments[0], wide), builder.zext(arguments[1], wide))
        return builder.trunc(builder.lshr(product, ir.Constant(wide, 64)), ir.IntType(64))

    return numba.types.uint64(numba.types.uint64, numba.types.uint64), generate


# Numba hands an intrinsic a typing context that its own signature does not show to a type checker.
population_count = cast("Callable[[np.uint64], np.uint64]", intrinsic(_population_count))
"""Count the set bits of a uint64."""

high_product = cast("Callable[[np.uint64, np.uint64], np.uint64]", intrinsic(_high_product))
"""Return the upper 64 bits of the 128-bit product of two uint64."""


@inline
def mix(word: np.uint64) -> np.uint64:
    """Scramble a word so that neighbouring inputs give unrelated outputs."""
    word = word + _GOLDEN
    word ^= word >> U(30)
    word *= U(0xBF58476D1CE4E5B9)
    word ^= word >> U(27)
    word *= U(0x94D049BB133111EB)
    return word ^ (word >> U(31))


@inline
def stream_of(seed: np.uint64, block: np.uint64) -> np.uint64:
    """Return the state at which the stream of a block begins."""
    return mix(mix(seed) ^ (block * U(0xD1342543DE82EF95)))


@inline
def next_word(state: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Return (64 random bits, next state)."""
    return mix(state), state + _GOLDEN


@inline
def next_below(state: np.uint64, bound: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Return (uniform integer in [0, bound), next state), by multiplication with rejection."""
    word, state = next_word(state)
    low = word * bound
    if low < bound:
        limit = (U(0) - bound) % bound
        while low < limit:
            word, state = next_word(state)
            low = word * bound
    return high_product(word, bound), state


@inline
def next_bernoulli(state: np.uint64, high: np.uint64, low: np.uint64) -> tuple[np.bool_, np.uint64]:
    """Return (True with probability (high 2^64 + low) / 2^128, next state).

    The second word is needed once in 2^64 draws, so the exactness costs nothing.
    """
    word, state = next_word(state)
    chosen = word < high
    if word == high:
        word, state = next_word(state)
        chosen = word < low
    return chosen, state


def threshold_words(probability: Fraction, bits: int = 128) -> tuple[np.uint64, np.uint64]:
    """Return floor(probability * 2^bits) as (all but the lowest 64 bits, lowest 64 bits).

    Raises
    ------
    ValueError
        If probability is not in [0, 1).
    """
    if not 0 <= probability < 1:
        raise ValueError(f"a threshold needs a probability in [0, 1), got {probability}")
    threshold = (probability.numerator << bits) // probability.denominator
    return np.uint64(threshold >> 64), np.uint64(threshold & (2**64 - 1))
