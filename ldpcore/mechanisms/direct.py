"""Generalized randomised response: send the true cell, or any other one.

P. Kairouz, K. Bonawitz, D. Ramage, *Discrete Distribution Estimation under Local Privacy*, 2016. With two
cells it is S. L. Warner's randomised response of 1965.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from ldpcore.mechanisms import kernels
from ldpcore.mechanisms.base import Mechanism
from ldpcore.mechanisms.blocks import Key
from ldpcore.mechanisms.packing import bytes_to_numbers, numbers_to_bytes, weights
from ldpcore.mechanisms.sampling import uniform_split
from ldpcore.shapes import AnyArray, BoolArray, ByteArray, IntArray


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneralizedRandomizedResponse(Mechanism):
    """Send the true cell with probability p, else one of the other cells, each with probability q.

    Notes
    -----
    Report: the number of a cell, uint32 in [0, domain_size).

    With R the ratio and d the number of cells, p = R / (R + d - 1) and q = 1 / (R + d - 1), so
    p / q = R <= e^epsilon. The estimates of all cells always add up to n. Two estimates i, j have covariance
    -[(c_i + c_j) p q + (n - c_i - c_j) q^2] / (p - q)^2.

    The variance per device is (R + d - 2) / (R - 1)^2: it grows with the number of cells, and is at most that
    of optimised unary encoding only up to d = 3R + 2 cells.
    """

    name: ClassVar[str] = "grr"
    label: ClassVar[str] = "Generalized randomised response"
    summary: ClassVar[str] = (
        "The phone sends its cell, or, by chance, any other one. Best for a handful of cells; "
        "with two cells it is binary randomised response."
    )
    reference: ClassVar[str] = (
        "P. Kairouz, K. Bonawitz, D. Ramage, Discrete Distribution Estimation under Local Privacy, 2016; "
        "S. L. Warner, Randomized Response, 1965"
    )
    exact_joint_sampler: ClassVar[bool] = True

    @property
    def p(self) -> Fraction:
        """R / (R + d - 1)."""
        return self.ratio / (self.ratio + self.domain_size - 1)

    @property
    def q(self) -> Fraction:
        """1 / (R + d - 1)."""
        return 1 / (self.ratio + self.domain_size - 1)

    @property
    def report_bits(self) -> int:
        """Bits that number the cells."""
        return (self.domain_size - 1).bit_length()

    @property
    def report_layout(self) -> tuple[np.dtype[Any], tuple[int, ...]]:
        """One uint32 a report."""
        return np.dtype(np.uint32), ()

    def _greatest_ratio(self) -> Fraction:
        return self.p / self.q

    def _perturb_block(self, encoded: AnyArray, key: Key) -> AnyArray:
        reports = np.empty(encoded.size, np.uint32)
        kernels.direct.direct_block(
            encoded.astype(np.int64),
            np.uint64(self.domain_size),
            *_keep_words(self),
            np.uint64(key.seed),
            np.uint64(key.block),
            reports,
        )
        return reports

    def _aggregate_block(self, reports: AnyArray, tally: AnyArray) -> None:
        kernels.direct.count_block(np.array(reports, np.uint32), tally)

    def _supports(self, reports: AnyArray, cell: int) -> BoolArray:
        return np.asarray(reports == cell)

    def _faults(self, reports: AnyArray) -> dict[str, BoolArray]:
        return {"cell outside the domain": reports >= self.domain_size}

    def _pack(self, reports: AnyArray) -> ByteArray:
        return numbers_to_bytes(reports, self.payload_bytes)

    def _unpack(self, payloads: ByteArray) -> AnyArray:
        return bytes_to_numbers(payloads).astype(np.uint32)

    def device_settings(self) -> dict[str, object]:
        """Weights of the own cell and of any other, as whole numbers."""
        return {"cells": self.domain_size, **weights(self.ratio), "size": self.payload_bytes}

    def _sample(self, true_counts: IntArray, rng: np.random.Generator) -> IntArray:
        # "Truth with probability p - q, else uniform over all cells" is the same law as the class describes,
        # and the uniform part forgets which cell it came from.
        truthful = rng.binomial(true_counts, float(self.p - self.q))
        return truthful + uniform_split(int(true_counts.sum() - truthful.sum()), self.domain_size, rng)


@lru_cache(maxsize=64)
def _keep_words(mechanism: GeneralizedRandomizedResponse) -> tuple[np.uint64, np.uint64]:
    """Work the exact threshold out once and not for every block: it costs as much as two thousand reports."""
    return kernels.streams.threshold_words(mechanism.p)
