"""The inner loops still vectorise: a small change can make LLVM give up, and they are six times slower.

Times are compared with those of numpy loops on the same machine, so that a slow machine is no failure; limits
leave a factor of about three.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from ldpcore.mechanisms import make_mechanism

CELLS = 2000
DEVICES = 40_000


def seconds(work: Callable[[], object]) -> float:
    work()
    used = []
    for _ in range(5):
        start = time.process_time()
        work()
        used.append(time.process_time() - start)
    return min(used)


def has_avx2() -> bool:
    about = Path("/proc/cpuinfo")
    return about.exists() and "avx2" in about.read_text()


@pytest.mark.skipif(not has_avx2(), reason="the limits are those of a processor with AVX2")
@pytest.mark.parametrize(("name", "words", "limit"), [("oue", 10, 0.6), ("sue", 10, 0.6), ("ss", 7, 1.2)])
def test_random_bits_cost_less_than_their_words_in_numpy(name: str, words: int, limit: float) -> None:
    """Ten (or seven) random words are spent on 64 cells; numpy needs about 0.8 ns for one of them."""
    mechanism = make_mechanism(name, epsilon=2.0, domain_size=CELLS)
    values = np.arange(DEVICES) % CELLS
    spent = seconds(lambda: mechanism.collect(values, rng=np.random.default_rng(1)))
    generator = np.random.Generator(np.random.SFC64(1))
    numbers = DEVICES * CELLS * words // 64
    allowed = seconds(lambda: generator.integers(0, 2**64, numbers, dtype=np.uint64))
    assert spent < limit * allowed


@pytest.mark.skipif(not has_avx2(), reason="the limits are those of a processor with AVX2")
def test_a_hash_and_its_comparison_cost_a_few_additions() -> None:
    mechanism = make_mechanism("olh", epsilon=2.0, domain_size=CELLS)
    reports = mechanism.privatize(np.arange(DEVICES) % CELLS, rng=np.random.default_rng(1))
    spent = seconds(lambda: mechanism.aggregate(reports))
    numbers = np.ones(4000, np.uint32)
    rounds = DEVICES * CELLS // numbers.size

    def add() -> None:
        for _ in range(rounds):
            np.add(numbers, numbers, out=numbers)

    assert spent < 2.5 * seconds(add)


@pytest.mark.parametrize("name", ["grr", "hrr", "hr"])
def test_reports_of_one_number_cost_nanoseconds(name: str) -> None:
    mechanism = make_mechanism(name, epsilon=2.0, domain_size=CELLS)
    values = np.arange(400_000) % CELLS
    spent = seconds(lambda: mechanism.collect(values, rng=np.random.default_rng(1)))
    generator = np.random.default_rng(1)
    assert spent < 4 * seconds(lambda: generator.integers(0, 2**64, (values.size, 4), dtype=np.uint64))
