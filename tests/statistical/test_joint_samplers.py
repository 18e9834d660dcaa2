"""Whole joint laws, not only their moments: three devices, every outcome of the counts, chi-square.

The law of the counts is computed by adding up the enumerated laws of single reports, so nothing here is
simulated but the sampler itself. Fixed seed, failure rate 1e-6 for each test.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import product

import numpy as np
import pytest
from scipy.stats import chisquare

from ldpcore.mechanisms import Mechanism, make_mechanism, parse_options

DRAWS = 2_500


def report_law(mechanism: Mechanism, value: int) -> dict[tuple[int, ...], float]:
    """Probability of each support pattern (or column) of one report."""
    d, ratio = mechanism.domain_size, float(mechanism.ratio)
    weights: dict[tuple[int, ...], float] = defaultdict(float)
    if mechanism.name == "grr":
        for output in range(d):
            weights[tuple(int(cell == output) for cell in range(d))] += ratio if output == value else 1
    elif mechanism.name == "ss":
        for pattern in product((0, 1), repeat=d):
            if sum(pattern) == mechanism.size:  # type: ignore[attr-defined]
                weights[pattern] += ratio if pattern[value] else 1
    elif mechanism.name == "hrr":
        for row, sign in product(range(mechanism.rows), (0, 1)):  # type: ignore[attr-defined]
            pattern = tuple(int((row & cell).bit_count() % 2 == sign) for cell in range(d))
            weights[pattern] += ratio if pattern[value] else 1
    else:
        b, k = mechanism.block_outputs, mechanism.outputs  # type: ignore[attr-defined]
        for column in range(k):
            supported = [
                column // b == cell // (b - 1) and ((cell % (b - 1) + 1) & column).bit_count() % 2 == 0
                for cell in range(d)
            ]
            key = tuple(map(int, supported)) if k == b else tuple(int(y == column) for y in range(k))
            weights[key] += ratio if supported[value] else 1
    total = sum(weights.values())
    return {pattern: weight / total for pattern, weight in weights.items()}


def counts_law(mechanism: Mechanism, values: list[int]) -> dict[tuple[int, ...], float]:
    law: dict[tuple[int, ...], float] = {(0,) * mechanism.counts_shape[0]: 1.0}
    for value in values:
        grown: dict[tuple[int, ...], float] = defaultdict(float)
        for (counts, one), (pattern, other) in product(law.items(), report_law(mechanism, value).items()):
            grown[tuple(a + b for a, b in zip(counts, pattern, strict=True))] += one * other
        law = grown
    return law


@pytest.mark.parametrize(
    ("variant", "cells", "values"),
    [
        ("grr", 3, [0, 1, 1]),
        ("hrr", 4, [0, 1, 1]),
        ("hrr", 3, [2, 2, 0]),
        ("hr", 3, [0, 1, 1]),
        ("hr", 5, [2, 4, 0]),
        ("hr:blocks=2", 4, [0, 1, 3]),
        ("hr:blocks=4", 3, [2, 2, 0]),
        ("ss:k=1", 3, [0, 1, 1]),
        ("ss:k=2", 4, [2, 2, 0]),
        ("ss:k=3", 4, [0, 1, 1]),
    ],
)
def test_joint_law_of_the_counts(variant: str, cells: int, values: list[int]) -> None:
    name, _, options = variant.partition(":")
    mechanism = make_mechanism(name, epsilon=1.0, domain_size=cells, **parse_options(options))
    law = counts_law(mechanism, values)
    rng = np.random.default_rng(77)
    true_counts = np.bincount(values, minlength=cells)
    found = Counter(tuple(mechanism.sample_counts(true_counts, rng=rng).tolist()) for _ in range(DRAWS))
    assert set(found) <= set(law)
    # Rare outcomes are pooled, so that the chi-square law holds.
    outcomes = sorted(law, key=lambda outcome: law[outcome])
    expected, seen, pooled = [], [], [0.0, 0.0]
    for outcome in outcomes:
        pooled[0] += DRAWS * law[outcome]
        pooled[1] += found[outcome]
        if pooled[0] >= 10:
            expected.append(pooled[0])
            seen.append(pooled[1])
            pooled = [0.0, 0.0]
    expected[-1] += pooled[0]
    seen[-1] += pooled[1]
    assert chisquare(seen, np.array(expected) * sum(seen) / sum(expected)).pvalue > 1e-6
