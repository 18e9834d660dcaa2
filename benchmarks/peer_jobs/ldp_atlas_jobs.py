"""LDP Atlas: `collect` makes every report and counts it, then `estimate`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpcore.mechanisms import MECHANISMS, make_mechanism

Values = npt.NDArray[np.int64]
Work = Callable[[], Any]


def _prepare(name: str, values: Values, cells: int, epsilon: float, threads: int) -> Work:
    mechanism = make_mechanism(name, epsilon=epsilon, domain_size=cells)

    def work() -> Any:  # noqa: ANN401
        counts = mechanism.collect(values, rng=np.random.default_rng(1), threads=threads)
        return mechanism.estimate(counts, n=values.size)

    return work


JOBS = {name: partial(_prepare, name) for name in MECHANISMS}
