"""Every output of every mechanism on small domains, in exact fractions.

The law of one report is written down here from the papers, with the ratio as the only input, and
compared with what the classes say; the greatest likelihood ratio is found by looking at every output and
every pair of values. That the code really draws from these laws is held in `tests/statistical`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest

from ldpcore.mechanisms import MECHANISMS, Mechanism, make_mechanism
from ldpcore.rational import exp_floor, root_ratio_of

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


def threshold_law(mechanism: Mechanism, value: int) -> Law:
    """Laplace noise of scale 2 / epsilon exceeds theta, or theta - 1, with these probabilities."""
    half, theta = Fraction(mechanism.epsilon) / 2, Fraction(mechanism.theta)  # type: ignore[attr-defined]
    own = 1 - 1 / (2 * exp_floor(half * (1 - theta)))
    other = 1 / (2 * exp_floor(half * theta))
    return unary_law(own, other, mechanism.domain_size, value)


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


def parity(number: int) -> int:
    return number.bit_count() % 2


def signed_row_law(mechanism: Mechanism, value: int) -> Law:
    rows = mechanism.rows  # type: ignore[attr-defined]
    ratio = mechanism.ratio
    return {
        (row, sign): (ratio if sign == parity(row & value) else Fraction(1)) / (ratio + 1) / rows
        for row in range(rows)
        for sign in (0, 1)
    }


def signed_row_support(mechanism: Mechanism, output: object) -> set[int]:
    assert isinstance(output, tuple)
    row, sign = output
    return {cell for cell in range(mechanism.domain_size) if parity(row & cell) == sign}


def column_set(mechanism: Mechanism, cell: int) -> set[int]:
    columns = mechanism.block_outputs  # type: ignore[attr-defined]
    block, row = divmod(cell, columns - 1)
    return {block * columns + y for y in range(columns) if parity((row + 1) & y) == 0}


def column_law(mechanism: Mechanism, value: int) -> Law:
    outputs = mechanism.outputs  # type: ignore[attr-defined]
    members, ratio = column_set(mechanism, value), mechanism.ratio
    total = len(members) * ratio + outputs - len(members)
    return {y: (ratio if y in members else Fraction(1)) / total for y in range(outputs)}


def column_support(mechanism: Mechanism, output: object) -> set[int]:
    return {cell for cell in range(mechanism.domain_size) if output in column_set(mechanism, cell)}


def subset_law(mechanism: Mechanism, value: int) -> Law:
    size = mechanism.size  # type: ignore[attr-defined]
    cells, ratio = mechanism.domain_size, mechanism.ratio
    total = math.comb(cells - 1, size - 1) * ratio + math.comb(cells - 1, size)
    return {
        subset: (ratio if value in subset else Fraction(1)) / total
        for subset in combinations(range(cells), size)
    }


def subset_support(_: Mechanism, output: object) -> set[int]:
    assert isinstance(output, tuple)
    return set(output)


LAWS: Mapping[str, tuple[Callable[[Mechanism, int], Law], Callable[[Mechanism, object], set[int]]]] = {
    "grr": (direct_law, direct_support),
    "sue": (symmetric_unary_law, unary_support),
    "oue": (optimised_unary_law, unary_support),
    "the": (threshold_law, unary_support),
    "blh": (hashing_law, hashing_support),
    "olh": (hashing_law, hashing_support),
    "hrr": (signed_row_law, signed_row_support),
    "hr": (column_law, column_support),
    "ss": (subset_law, subset_support),
}

CASES = [
    (name, epsilon, cells)
    for name in LAWS
    for epsilon in EPSILONS
    for cells in (2, 3, 4)
    if name != "olh" or epsilon < 2.5  # the number of functions grows as buckets^cells
]


def test_every_mechanism_with_finitely_many_outputs_is_enumerated() -> None:
    # Noisy histograms have endlessly many outputs; tests/privacy/test_device.py looks at their law.
    assert set(LAWS) == set(MECHANISMS) - {"she"}


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


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize(("cells", "blocks"), [(2, 2), (5, 2), (7, 4), (9, 16), (12, 4)])
def test_hadamard_response_with_blocks(epsilon: float, cells: int, blocks: int) -> None:
    """Mean and variance of one device's contribution, from the law of its report."""
    mechanism = make_mechanism("hr", epsilon=epsilon, domain_size=cells, blocks=blocks)
    outputs = mechanism.counts_shape[0]
    one_report = mechanism.estimate(np.eye(outputs, dtype=int), n=1)
    laws = [column_law(mechanism, value) for value in range(cells)]
    assert all(sum(law.values()) == 1 for law in laws)
    greatest = max(
        laws[v][y] / laws[w][y] for v, w in product(range(cells), repeat=2) for y in range(outputs)
    )
    assert greatest == mechanism._greatest_ratio() == mechanism.ratio
    for value in range(cells):
        law = np.array([float(laws[value][y]) for y in range(outputs)])
        truth = np.arange(cells) == value
        mean = law @ one_report
        assert mean == pytest.approx(truth.astype(float), abs=1e-10)
        variance = law @ one_report**2 - mean**2
        assert mechanism.variance(truth.astype(int), n=1) == pytest.approx(variance, rel=1e-9, abs=1e-9)
    for output in range(outputs):
        supports = mechanism.support(np.eye(outputs, dtype=int)[output], n=1)
        assert set(np.flatnonzero(supports)) == column_support(mechanism, output)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("size", [1, 2, 4])
def test_subset_selection_of_any_size(epsilon: float, size: int) -> None:
    mechanism = make_mechanism("ss", epsilon=epsilon, domain_size=5, k=size)
    laws = [subset_law(mechanism, value) for value in range(5)]
    greatest = max(laws[v][s] / laws[w][s] for v, w in product(range(5), repeat=2) for s in laws[0])
    assert greatest == mechanism._greatest_ratio() == mechanism.ratio
    for cell, value in product(range(5), repeat=2):
        support = sum((weight for subset, weight in laws[value].items() if cell in subset), start=Fraction(0))
        assert support == (mechanism.p if cell == value else mechanism.q)
