"""The cache of runs is bounded in bytes, keeps what was used last, and never mixes keys."""

from dataclasses import dataclass

import numpy as np

from ldpcore.scenario import run
from ldpcore.settings import Scenario
from ui.run_cache import RunCache, bytes_of


def test_the_oldest_go_when_the_bytes_run_out() -> None:
    cache: RunCache[np.ndarray] = RunCache(max_bytes=30_000)
    made = []

    def maker(number: int):
        def make() -> np.ndarray:
            made.append(number)
            return np.full(1250, number)  # 10,000 bytes

        return make

    for number in (1, 2, 3):
        cache.get(number, maker(number))
    cache.get(1, maker(1))  # used again, so 2 is now the oldest
    cache.get(4, maker(4))
    assert cache.bytes == 30_000
    assert cache.get(1, maker(1))[0] == 1
    assert cache.get(3, maker(3))[0] == 3
    assert made == [1, 2, 3, 4]
    cache.get(2, maker(2))
    assert made == [1, 2, 3, 4, 2]


def test_one_entry_larger_than_the_bound_is_kept_alone() -> None:
    cache: RunCache[np.ndarray] = RunCache(max_bytes=100)
    cache.get("small", lambda: np.zeros(1))
    cache.get("large", lambda: np.zeros(10_000))
    assert len(cache) == 1
    assert cache.get("large", lambda: np.ones(1)).size == 10_000


def test_bytes_are_those_of_all_arrays_inside() -> None:
    @dataclass
    class Inner:
        numbers: np.ndarray

    @dataclass
    class Outer:
        inner: Inner
        more: tuple[np.ndarray, int]

    assert bytes_of(Outer(Inner(np.zeros(10)), (np.zeros(5, np.uint8), 3))) == 85
    assert bytes_of(run(Scenario(devices=10_000, resolution=6))) > 63 * 8 * 5
