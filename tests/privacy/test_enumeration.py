"""Every output of every mechanism on small domains, in exact fractions.

The law of one report is written down here from the papers, with the ratio as the only input, and
compared with what the classes say; the greatest likelihood ratio is found by looking at every output and
every pair of values. That the code really draws from these laws is held in `tests/statistical`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from itertools import product

import pytest

from ldpcore.mechanisms import Mechanism, make_mechanism
from ldpcore.rational import root_ratio_of

Law = dict[object, Fraction]
"""Output to probability."""

EPSILONS = (0.1, 1.0, 2.5, 6.0)


def direct_law(mechanism: Mechanism, value: int) -> Law:
    ratio, cells = mechanism.ratio, mechanism.domain_size
    return {
        output: (ratio if output == value else Fraction(1)) / (ratio + cells - 1) for output in range(cells)
    }


def direct_support(_: Mechanism, output: object) -> set[int]:
    assert isinstance(output, int)
    return {output}


def unary_law(p: Fraction, q: Fraction, cells: int, value: int) -> Law:
    law: Law = {}
    for bits in product((0, 1), repeat=cells):
        probability = Fraction(1)
        for cell, bit in enumerate(bits):
            one = p if cell == value else q
            probability *= one if bit else 1 - one
        law[bits] = probability
    return law


def optimised_unary_law(mechanism: Mechanism, value: int) -> Law:
    return unary_law(Fraction(1, 2), 1 / (mechanism.ratio + 1), mechanism.domain_size, value)


def symmetric_unary_law(mechanism: Mechanism, value: int) -> Law:
    root = root_ratio_of(mechanism.epsilon)
    return unary_law(root / (root + 1), 1 / (root + 1), mechanism.domain_size, value)


def unary_support(_: Mechanism, output: object) -> set[int]:
    assert isinstance(output, tuple)
    return {cell for cell, bit in enumerate(output) if bit}


def hashing_law(mechanism: Mechanism, value: int) -> Law:
    """Every function from cells to buckets, equally likely, then randomised response on the bucket."""
    buckets, ratio = mechanism.buckets, mechanism.ratio  # type: ignore[attr-defined]
    functions = list(product(range(buckets), repeat=mechanism.domain_size))
    return {
        (function, bucket): (ratio if bucket == function[value] else Fraction(1))
        / (ratio + buckets - 1)
        / len(functions)
        for function in functions
        for bucket in range(buckets)
    }


def hashing_support(_: Mechanism, output: object) -> set[int]:
    assert isinstance(output, tuple)
    function, bucket = output
    return {cell for cell, image in enumerate(function) if image == bucket}


LAWS: Mapping[str, tuple[Callable[[Mechanism, int], Law], Callable[[Mechanism, object], set[int]]]] = {
    "grr": (direct_law, direct_support),
    "sue": (symmetric_unary_law, unary_support),
    "oue": (optimised_unary_law, unary_support),
    "blh": (hashing_law, hashing_support),
    "olh": (hashing_law, hashing_support),
}

CASES = [
    (name, epsilon, cells)
    for name in LAWS
    for epsilon in EPSILONS
    for cells in (2, 3, 4)
    if name != "olh" or epsilon < 2.5  # the number of functions grows as buckets^cells
]


@pytest.mark.parametrize(("name", "epsilon", "cells"), CASES)
def test_laws(name: str, epsilon: float, cells: int) -> None:
    mechanism = make_mechanism(name, epsilon=epsilon, domain_size=cells)
    law_of, support_of = LAWS[name]
    laws = [law_of(mechanism, value) for value in range(cells)]
    for law in laws:
        assert sum(law.values()) == 1
    greatest = max(
        laws[one][output] / laws[other][output]
        for one, other in product(range(cells), repeat=2)
        for output in laws[0]
    )
    assert greatest == mechanism._greatest_ratio()
    # ratio <= e^epsilon is held against mpmath in test_ratio.
    assert greatest <= mechanism.ratio
    for cell, value in product(range(cells), repeat=2):
        support = sum(
            (
                probability
                for output, probability in laws[value].items()
                if cell in support_of(mechanism, output)
            ),
            start=Fraction(0),
        )
        assert support == (mechanism.p if cell == value else mechanism.q)


@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_ideal_hash_has_the_joint_law_of_unary_encoding(epsilon: float) -> None:
    mechanism = make_mechanism("olh", epsilon=epsilon, domain_size=4)
    assert mechanism.p is not None
    assert mechanism.q is not None
    expected = unary_law(mechanism.p, mechanism.q, 4, 1)
    joint = dict.fromkeys(expected, Fraction(0))
    for output, probability in hashing_law(mechanism, 1).items():
        support = hashing_support(mechanism, output)
        joint[tuple(int(cell in support) for cell in range(4))] += probability
    assert joint == expected
