"""The number of bits that number all sets of k cells, against exact binomials."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest

from ldpcore.mechanisms import subset_counting
from ldpcore.mechanisms.subset_counting import bits_of_sets


def exact(cells: int, size: int) -> int:
    return (math.comb(cells, size) - 1).bit_length()


def test_small_domains_all() -> None:
    for cells in range(1, 70):
        for size in range(cells + 1):
            assert bits_of_sets(cells, size) == exact(cells, size)


def test_the_series_agrees_with_exact_counting(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    for _ in range(60):
        cells = int(rng.integers(4_100, 40_000))
        size = int(rng.integers(2_001, cells - 2_001))
        assert bits_of_sets(cells, size) == exact(cells, size)
    assert bits_of_sets(300_000, 100_000) == exact(300_000, 100_000)
    # The logarithm itself, against the sum of logarithms: 15 digits.
    assert float(subset_counting._log_factorial(5_000)) == pytest.approx(
        math.fsum(math.log(number) for number in range(1, 5_001)), rel=1e-14
    )
    # Where the series may not decide, everything is counted.
    monkeypatch.setattr(subset_counting, "_SURE", subset_counting.Decimal(1))
    assert bits_of_sets(9_000, 4_000) == exact(9_000, 4_000)


@pytest.mark.parametrize("cells", [300_000, 10**7, 2**31 - 2])
def test_it_costs_no_time(cells: int) -> None:
    began = time.process_time()
    for size in (1, 2_000, 2_001, cells // 1000, cells // 2, cells - 1):
        # Between the entropy bound and it less log2(cells + 1): T. Cover, J. Thomas, Elements of Information Theory.
        share = size / cells
        entropy = -share * math.log2(share) - (1 - share) * math.log2(1 - share)
        assert cells * entropy - math.log2(cells + 1) <= bits_of_sets(cells, size) <= cells * entropy + 1
    assert time.process_time() - began < 1.0
