"""Unary encodings: one bit per cell, each randomised by itself.

T. Wang, J. Blocki, N. Li, S. Jha, *Locally Differentially Private Protocols for Frequency Estimation*, 2017.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from ldpcore.errors import ParameterError
from ldpcore.mechanisms import kernels
from ldpcore.mechanisms.base import Mechanism
from ldpcore.mechanisms.blocks import Key
from ldpcore.mechanisms.packing import (
    bit_of,
    bytes_from_words,
    packed_width,
    padding_set,
    weights_of,
    words_from_bytes,
)
from ldpcore.mechanisms.sampling import binomial_range, support_counts
from ldpcore.rational import root_ratio_of
from ldpcore.shapes import AnyArray, BoolArray, IntArray


@dataclass(frozen=True, slots=True, kw_only=True)
class UnaryEncoding(Mechanism):
    """A vector with one bit per cell, 1 at the own cell; each bit is then redrawn by itself.

    Notes
    -----
    Report: ceil(domain_size / 8) bytes. Cell i is bit i mod 8, counted from the least significant one, of
    byte i div 8; the bits above the last cell are 0.

    The bit of the own cell is 1 with probability p, every other bit with probability q, independently.
    Two values differ in two bits, so the likelihood ratio is p (1 - q) / ((1 - p) q). Estimates of
    different cells are uncorrelated, and independent given the values.
    """

    exact_joint_sampler: ClassVar[bool] = True

    @property
    @abstractmethod
    def p(self) -> Fraction:
        """Probability that the own bit is 1."""

    @property
    @abstractmethod
    def q(self) -> Fraction:
        """Probability that any other bit is 1."""

    @property
    def report_bits(self) -> int:
        """One bit a cell."""
        return self.domain_size

    @property
    def report_layout(self) -> tuple[np.dtype[Any], tuple[int, ...]]:
        """Packed bits, ceil(domain_size / 8) bytes a report."""
        return np.dtype(np.uint8), (packed_width(self.domain_size),)

    def _greatest_ratio(self) -> Fraction:
        return self.p * (1 - self.q) / ((1 - self.p) * self.q)

    def _encode_block(self, values: IntArray, key: Key) -> AnyArray:  # noqa: ARG002 - nothing to draw
        encoded = np.zeros((values.size, packed_width(self.domain_size)), np.uint8)
        encoded[np.arange(values.size), values >> 3] = np.left_shift(1, values & 7)
        return encoded

    def _perturb_block(self, encoded: AnyArray, key: Key) -> AnyArray:
        byte = encoded.argmax(axis=1)
        bit = np.bitwise_count(encoded[np.arange(len(encoded)), byte] - np.uint8(1))
        return self._rows((byte * 8 + bit).astype(np.int64), key)

    def _privatize_block(self, values: IntArray, encode_key: Key, perturb_key: Key) -> AnyArray:  # noqa: ARG002
        return self._rows(values, perturb_key)

    def _rows(self, values: IntArray, key: Key) -> AnyArray:
        rows = np.empty((values.size, (self.domain_size + 63) // 64), np.uint64)
        self._run(values, key, np.empty(0, np.int64), rows)
        return bytes_from_words(rows, self.domain_size)

    def _collect_block(self, values: IntArray, encode_key: Key, perturb_key: Key, tally: AnyArray) -> None:  # noqa: ARG002
        self._run(values, perturb_key, tally, np.empty((0, 0), np.uint64))

    def _run(self, values: IntArray, key: Key, counts: IntArray, rows: AnyArray) -> None:
        law = kernels.unary.unary_law(self.p, self.q)
        seed, block = np.uint64(key.seed), np.uint64(key.block)
        kernels.unary.unary_rows(np.array(values), self.domain_size, *law, seed, block, counts, rows)

    def _aggregate_block(self, reports: AnyArray, tally: AnyArray) -> None:
        kernels.unary.add_rows(words_from_bytes(reports), tally)

    def _check_encoded(self, encoded: AnyArray) -> None:
        self._check_reports(encoded)
        if not (weights_of(encoded) == 1).all():
            raise ParameterError(
                "encoded", "encoded values have exactly one bit set each; pass what encode returned"
            )

    def _supports(self, reports: AnyArray, cell: int) -> BoolArray:
        return bit_of(reports, cell)

    def _faults(self, reports: AnyArray) -> dict[str, BoolArray]:
        return {"padding bits set": padding_set(reports, self.domain_size)}

    def _improbable(self, reports: AnyArray) -> BoolArray:
        weight = weights_of(reports)
        others = self.domain_size - 1
        fewest, most = binomial_range(others, float(self.q), failure=1e-9)
        return np.asarray((weight < fewest) | (weight > most + 1))

    def device_settings(self) -> dict[str, object]:
        """Probabilities of a 1 at the own cell and at any other, as pairs of whole numbers."""
        return {
            "cells": self.domain_size,
            "p": self.p.as_integer_ratio(),
            "q": self.q.as_integer_ratio(),
            "size": self.payload_bytes,
        }

    def _sample(self, true_counts: IntArray, rng: np.random.Generator) -> IntArray:
        # Bits are independent given the values and a cell's count uses only its own bits, so the counts
        # are independent: this is their joint law, not only that of each one.
        return support_counts(true_counts, float(self.p), float(self.q), rng)


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimizedUnaryEncoding(UnaryEncoding):
    """Unary encoding that keeps the true bit with probability 1/2 and makes false ones as rare as possible.

    Notes
    -----
    Report: ceil(domain_size / 8) bytes, see `UnaryEncoding`.

    With R the ratio, p = 1/2 and q = 1 / (R + 1), so p (1 - q) / ((1 - p) q) = R <= e^epsilon. Among all
    unary encodings this one has the smallest variance of an empty cell, 4 R / (R - 1)^2 per device; each
    device in the cell adds exactly 1.
    """

    name: ClassVar[str] = "oue"
    label: ClassVar[str] = "Optimised unary encoding"
    summary: ClassVar[str] = (
        "The phone sends one bit per cell: its own is right half of the time, the others are rarely set. "
        "Accuracy does not depend on the number of cells, the size of a report does."
    )
    reference: ClassVar[str] = (
        "T. Wang, J. Blocki, N. Li, S. Jha, "
        "Locally Differentially Private Protocols for Frequency Estimation, 2017"
    )

    @property
    def p(self) -> Fraction:
        """One half."""
        return Fraction(1, 2)

    @property
    def q(self) -> Fraction:
        """1 / (R + 1)."""
        return 1 / (self.ratio + 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class SymmetricUnaryEncoding(UnaryEncoding):
    """Unary encoding that flips every bit with the same probability: basic one-time RAPPOR.

    Notes
    -----
    Report: ceil(domain_size / 8) bytes, see `UnaryEncoding`.

    With S = floor(e^(epsilon/2) 2^64) / 2^64, p = S / (S + 1) and q = 1 / (S + 1), so the likelihood ratio is
    S^2 <= e^epsilon. Ones and zeros are equally telling, which costs variance in the many empty cells; only
    where a cell holds a large share of all devices is it more accurate than optimised unary encoding.
    """

    name: ClassVar[str] = "sue"
    label: ClassVar[str] = "Symmetric unary encoding"
    summary: ClassVar[str] = (
        "The phone sends one bit per cell and flips each with the same probability. "
        "This is basic one-time RAPPOR; the optimised form is more accurate nearly everywhere."
    )
    reference: ClassVar[str] = (
        "U. Erlingsson, V. Pihur, A. Korolova, RAPPOR: Randomized Aggregatable Privacy-Preserving "
        "Ordinal Response, 2014"
    )

    def _prepare(self) -> None:
        self._set("ratio", root_ratio_of(self.epsilon) ** 2)

    @property
    def p(self) -> Fraction:
        """S / (S + 1)."""
        return 1 - self.q

    @property
    def q(self) -> Fraction:
        """1 / (S + 1)."""
        return 1 / (root_ratio_of(self.epsilon) + 1)
