"""Subset selection: send a random set of k cells that holds the own one more often than not.

S. Wang, L. Huang, P. Wang, Y. Nie, H. Xu, W. Yang, X. Li, C. Qiao, *Mutual Information Optimally Local
Private Discrete Distribution Estimation*, 2016; M. Ye, A. Barg, *Optimal Schemes for Discrete
Distribution Estimation under Locally Differential Privacy*, 2018.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from ldpcore.errors import ParameterError
from ldpcore.mechanisms import kernels
from ldpcore.mechanisms.base import Mechanism
from ldpcore.mechanisms.blocks import Key
from ldpcore.mechanisms.options import checked_integer
from ldpcore.mechanisms.packing import (
    bit_of,
    bytes_from_words,
    packed_width,
    padding_set,
    weights,
    weights_of,
    words_from_bytes,
)
from ldpcore.mechanisms.subset_counting import bits_of_sets
from ldpcore.mechanisms.subset_sampling import other_picks
from ldpcore.shapes import AnyArray, BoolArray, IntArray

MOST_AT_ONCE = 10**9 - 1
"""Devices that numpy's hypergeometric sampler takes at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SubsetSelection(Mechanism):
    """Send a set of exactly k cells; sets that hold the own cell are R times as likely as the others.

    Parameters
    ----------
    k
        Size of the set, at least 1 and below domain_size. By default floor(domain_size / (R + 1)), but at
        least 1, or one more, whichever has the smaller variance of an empty cell.

    Notes
    -----
    Report: ceil(domain_size / 8) bytes with exactly k bits set, packed as in `UnaryEncoding`. A packed
    set has no order, so nothing about the own cell leaks through the order of the cells.

    The own cell is in the set with probability p = k R / (k R + d - k), and the other k - 1 or k cells are a
    uniform choice from the rest, so every set with the own cell has R times the probability of any set
    without it. Any other cell is in the set with probability q = (k - p) / (d - 1). The estimates of all
    cells add up to n. With k = 1 this is generalized randomised response; its variance is never above that
    of optimised unary encoding, and the two meet as the domain grows.

    `report_bits` is the shortest fixed width, the number of bits that number all sets; the packed set that is
    really sent takes domain_size bits.
    """

    name: ClassVar[str] = "ss"
    label: ClassVar[str] = "Subset selection"
    summary: ClassVar[str] = (
        "The phone sends a random set of cells of a fixed size that holds its own more often than chance. "
        "The most accurate of all at any number of cells."
    )
    reference: ClassVar[str] = (
        "M. Ye, A. Barg, Optimal Schemes for Discrete Distribution Estimation under Locally Differential "
        "Privacy, 2018; S. Wang et al., Mutual Information Optimally Local Private Discrete Distribution "
        "Estimation, 2016"
    )
    exact_joint_sampler: ClassVar[bool] = True

    k: int | None = None

    def _prepare(self) -> None:
        smallest = max(1, int(self.domain_size / (self.ratio + 1)))
        sizes = [size for size in (smallest, smallest + 1) if size < self.domain_size]
        best = min(sizes, key=self._variance_with)
        if self.k is None:
            self._set("k", best)
        else:
            most = self.domain_size - 1
            self._set("k", checked_integer("k", self.k, minimum=1, maximum=most, example=best))

    def _variance_with(self, size: int) -> Fraction:
        """Variance of an empty cell per device with sets of this size."""
        p, q = self._pair_with(size)
        return q * (1 - q) / (p - q) ** 2

    def _pair_with(self, size: int) -> tuple[Fraction, Fraction]:
        p = size * self.ratio / (size * self.ratio + self.domain_size - size)
        return p, (size - p) / (self.domain_size - 1)

    @property
    def size(self) -> int:
        """Number k of cells in a set."""
        if self.k is None:
            raise ParameterError("k", "k is chosen when the mechanism is made")
        return self.k

    @property
    def p(self) -> Fraction:
        """Probability k R / (k R + d - k) that the own cell is in the set."""
        return self._pair_with(self.size)[0]

    @property
    def q(self) -> Fraction:
        """Probability (k - p) / (d - 1) that any one other cell is in the set."""
        return self._pair_with(self.size)[1]

    @property
    def report_bits(self) -> int:
        """Bits that number all sets of k cells."""
        return bits_of_sets(self.domain_size, self.size)

    @property
    def report_layout(self) -> tuple[np.dtype[Any], tuple[int, ...]]:
        """Packed bits, ceil(domain_size / 8) bytes a report."""
        return np.dtype(np.uint8), (packed_width(self.domain_size),)

    def _greatest_ratio(self) -> Fraction:
        # p is shared out among C(d - 1, k - 1) sets, 1 - p among C(d - 1, k); their ratio is k / (d - k).
        return self.p * (self.domain_size - self.size) / ((1 - self.p) * self.size)

    def _perturb_block(self, encoded: AnyArray, key: Key) -> AnyArray:
        rows = np.empty((encoded.size, (self.domain_size + 63) // 64), np.uint64)
        self._run(encoded.astype(np.int64), key, np.empty(0, np.int64), rows)
        return bytes_from_words(rows, self.domain_size)

    def _collect_block(self, values: IntArray, encode_key: Key, perturb_key: Key, tally: AnyArray) -> None:  # noqa: ARG002
        self._run(np.array(values), perturb_key, tally, np.empty((0, 0), np.uint64))

    def _run(self, values: IntArray, key: Key, counts: IntArray, rows: AnyArray) -> None:
        # One standard deviation below the size, so that cells hardly ever have to be removed.
        aim = self.size - math.sqrt(self.size * (1 - self.size / self.domain_size))
        kernels.subset.subset_rows(
            values,
            self.domain_size,
            self.size,
            kernels.subset.crude_masks(aim / self.domain_size),
            *kernels.streams.threshold_words(self.p),
            np.uint64(key.seed),
            np.uint64(key.block),
            counts,
            rows,
        )

    def _aggregate_block(self, reports: AnyArray, tally: AnyArray) -> None:
        kernels.unary.add_rows(words_from_bytes(reports), tally)

    def _supports(self, reports: AnyArray, cell: int) -> BoolArray:
        return bit_of(reports, cell)

    def _faults(self, reports: AnyArray) -> dict[str, BoolArray]:
        sizes = weights_of(reports)
        return {
            "padding bits set": padding_set(reports, self.domain_size),
            "impossible weight": np.asarray(sizes != self.size),
        }

    @property
    def payload_bytes(self) -> int:
        """Bytes of one bit a cell."""
        return packed_width(self.domain_size)

    def device_settings(self) -> dict[str, object]:
        """Size of the set, and weights of a set with the own cell and of one without."""
        return {
            "cells": self.domain_size,
            "picks": self.size,
            **weights(self.ratio),
            "size": self.payload_bytes,
        }

    def _sample(self, true_counts: IntArray, rng: np.random.Generator) -> IntArray:
        counts = np.zeros(self.domain_size, np.int64)
        for devices in _crowds(true_counts):
            including = rng.binomial(devices, float(self.p))
            counts += including + other_picks(including, self.size - 1, rng)
            counts += other_picks(devices - including, self.size, rng)
        return counts


def _crowds(devices: IntArray) -> Iterator[IntArray]:
    """Split devices into crowds that the hypergeometric sampler can take; their counts add up."""
    ends = np.concatenate([[0], np.cumsum(devices)])
    for start in range(0, max(int(ends[-1]), 1), MOST_AT_ONCE):
        passed = np.clip(ends - start, 0, MOST_AT_ONCE)
        yield passed[1:] - passed[:-1]
