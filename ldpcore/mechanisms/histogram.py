"""Histogram encodings: a one-hot vector with Laplace noise on every entry, summed or cut at a threshold.

Both are here for comparison: T. Wang, J. Blocki, N. Li, S. Jha, *Locally Differentially Private Protocols for
Frequency Estimation*, 2017, introduce them and show that others are more accurate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from ldpcore.errors import ParameterError
from ldpcore.mechanisms import kernels
from ldpcore.mechanisms.base import Mechanism
from ldpcore.mechanisms.blocks import Key
from ldpcore.mechanisms.unary import UnaryEncoding
from ldpcore.rational import exp_floor
from ldpcore.shapes import AnyArray, BoolArray, ByteArray, FloatArray, IntArray

GRID = 2**20
"""Steps of noise in one device: so fine that the variance is that of continuous noise to 13 digits."""

LARGEST_ENTRY = 2**53 - 1

_MOST_STEPS = 2**62

_PAPER = "Locally Differentially Private Protocols for Frequency Estimation"
_REFERENCE = f"T. Wang, J. Blocki, N. Li, S. Jha, {_PAPER}, 2017"


@dataclass(frozen=True, slots=True, kw_only=True)
class SummationHistogramEncoding(Mechanism):
    """Send a one-hot vector with discrete Laplace noise on every entry; the server adds the vectors up.

    Notes
    -----
    Report: domain_size int64 numbers in steps of 2^-20 of a device. Noise z, in steps, has probability
    proportional to e^(-|z| epsilon / 2^21), exactly: whole numbers on a fixed grid leak nothing through
    their low digits, as Laplace noise in floating point does. Numbers beyond 2^53 - 1 are clamped, which
    only matters below epsilon = 1e-6.

    Two one-hot vectors differ by 2^20 steps in two entries, so the likelihood ratio is e^epsilon,
    exactly; this is the one mechanism whose probabilities are not fractions in R, because its outputs
    have no end. The estimate is the sum of the vectors. Its variance is 2 a / (1 - a)^2 / 2^40 per device
    with a = e^(-epsilon / 2^21), which is 8 / epsilon^2 to 13 digits, whatever the count; estimates are
    independent.
    """

    name: ClassVar[str] = "she"
    label: ClassVar[str] = "Summation with histogram encoding"
    summary: ClassVar[str] = (
        "The phone sends a noisy number for every cell. By far the longest report and not accurate; "
        "the textbook Laplace mechanism, for comparison."
    )
    reference: ClassVar[str] = (
        f"{_REFERENCE}; C. Canonne, G. Kamath, T. Steinke, "
        "The Discrete Gaussian for Differential Privacy, 2020"
    )
    exact_joint_sampler: ClassVar[bool] = True

    @property
    def _scale(self) -> float:
        """Scale of the noise in steps."""
        return 2 * GRID / self.epsilon

    @property
    def report_bits(self) -> int:
        """64 bits a cell."""
        return 64 * self.domain_size

    @property
    def report_layout(self) -> tuple[np.dtype[Any], tuple[int, ...]]:
        """One int64 a cell."""
        return np.dtype(np.int64), (self.domain_size,)

    def _greatest_ratio(self) -> None:
        return None

    def _perturb_block(self, encoded: AnyArray, key: Key) -> AnyArray:
        rows = np.empty((encoded.size, self.domain_size), np.int64)
        self._run(encoded.astype(np.int64), key, np.empty(0, np.int64), rows)
        return rows

    def _collect_block(self, values: IntArray, encode_key: Key, perturb_key: Key, tally: AnyArray) -> None:  # noqa: ARG002
        self._run(np.array(values), perturb_key, tally, np.empty((0, 0), np.int64))

    def _run(self, values: IntArray, key: Key, counts: IntArray, rows: IntArray) -> None:
        seed, block = np.uint64(key.seed), np.uint64(key.block)
        kernels.laplace.noisy_rows(values, self.domain_size, GRID, self._scale, seed, block, counts, rows)

    def _aggregate_block(self, reports: AnyArray, tally: AnyArray) -> None:
        tally += reports.sum(axis=0)

    def _supports(self, reports: AnyArray, cell: int) -> BoolArray:
        return np.asarray(reports[:, cell] >= GRID)

    def distinguishing_events(self, reports: AnyArray, one: int, other: int) -> dict[str, BoolArray]:
        """Tell which reports have at least 1 at one cell and at most 0 at the other."""
        first, second = self.supports(reports, one), self.supports(reports, other)
        return {
            f"at least 1 at cell {one} and at most 0 at {other}": first & (reports[:, other] <= 0),
            f"at least 1 at cell {other} and at most 0 at {one}": second & (reports[:, one] <= 0),
        }

    def _faults(self, reports: AnyArray) -> dict[str, BoolArray]:
        beyond = (reports > LARGEST_ENTRY) | (reports < -LARGEST_ENTRY)
        return {"entry out of range": np.asarray(beyond.any(axis=1))}

    def _pack(self, reports: AnyArray) -> ByteArray:
        return np.ascontiguousarray(reports.astype("<i8")).view(np.uint8)

    def _unpack(self, payloads: ByteArray) -> AnyArray:
        return np.ascontiguousarray(payloads).view("<i8").astype(np.int64)

    def device_settings(self) -> dict[str, object]:
        """Grid, and the scale of the noise in its steps as a pair of whole numbers."""
        scale = 2 * GRID / Fraction(self.epsilon)
        return {
            "cells": self.domain_size,
            "grid": GRID,
            "scale": scale.as_integer_ratio(),
            "largest": LARGEST_ENTRY,
        }

    def _support(self, counts: AnyArray, n: int) -> AnyArray:  # noqa: ARG002
        return counts / GRID

    def _estimate(self, counts: AnyArray, n: int) -> FloatArray:  # noqa: ARG002
        return np.asarray(counts / GRID, np.float64)

    def _device_variance(self) -> tuple[float, float]:
        return 1 / (2 * (GRID * math.sinh(1 / (2 * self._scale))) ** 2), 0.0

    def _sample(self, true_counts: IntArray, rng: np.random.Generator) -> IntArray:
        devices = int(true_counts.sum())
        if devices == 0:
            return np.zeros(self.domain_size, np.int64)
        # Discrete Laplace noise is the difference of two geometric numbers, and geometric numbers add up to
        # a negative binomial one.
        stop = -math.expm1(-1 / self._scale)
        if devices * self._scale > _MOST_STEPS:
            return true_counts * GRID + self._coarse_noise(devices, rng)
        plus: IntArray = rng.negative_binomial(devices, stop, self.domain_size)
        minus: IntArray = rng.negative_binomial(devices, stop, self.domain_size)
        return true_counts * GRID + plus - minus

    def _coarse_noise(self, devices: int, rng: np.random.Generator) -> IntArray:
        """Draw the summed noise where its geometric numbers leave 64 bits.

        The noise then spans so many steps that continuous Laplace noise differs from it by less than a
        floating-point number can tell.
        """
        plus, minus = rng.standard_gamma(devices, (2, self.domain_size))
        steps = np.rint((plus - minus) * self._scale)
        if np.abs(steps).max() > _MOST_STEPS:
            raise ParameterError(
                "epsilon",
                f"epsilon {self.epsilon:g} with {devices} devices makes sums of {self.name} that 64 bits "
                "cannot hold; try 0.01",
            )
        return np.asarray(steps, np.int64)


@dataclass(frozen=True, slots=True, kw_only=True)
class ThresholdHistogramEncoding(UnaryEncoding):
    """Noisy one-hot vector of which the phone sends, for every entry, whether it exceeds a threshold.

    Parameters
    ----------
    theta
        The threshold, above 1/2 and below 1. By default the one with the smallest variance of an empty cell.

    Notes
    -----
    Report: ceil(domain_size / 8) bytes, see `UnaryEncoding`. Noise on the entries is independent, so the
    bits are too, and they are drawn directly: with A = floor(e^(epsilon theta / 2) 2^64) / 2^64 and B =
    floor(e^(epsilon (1 - theta) / 2) 2^64) / 2^64, the own bit is 1 with probability p = 1 - 1 / (2 B)
    and any other with probability q = 1 / (2 A).

    The likelihood ratio is p (1 - q) / ((1 - p) q) = (2 A - 1) (2 B - 1), which is *below* e^epsilon:
    thresholding on the phone throws privacy away that was paid for with noise. Optimised unary encoding at
    `epsilon_effective` is more accurate, so this is for comparison only.
    """

    name: ClassVar[str] = "the"
    label: ClassVar[str] = "Thresholding with histogram encoding"
    summary: ClassVar[str] = (
        "The phone adds noise to every cell and sends which exceed a threshold. Its real epsilon is lower "
        "than the label, so it wastes accuracy; for comparison only."
    )
    reference: ClassVar[str] = _REFERENCE

    theta: float | None = None

    def _prepare(self) -> None:
        best = _best_threshold(self.epsilon)
        theta = best if self.theta is None else self.theta
        if isinstance(theta, bool) or not isinstance(theta, int | float) or not 0.5 < theta < 1:
            raise ParameterError(
                "theta", f"theta must be greater than 0.5 and less than 1, got {theta!r}; try {best:.3f}"
            )
        self._set("theta", float(theta))
        self._set("ratio", self._greatest_ratio())

    @property
    def _shares(self) -> tuple[Fraction, Fraction]:
        """Exponents epsilon theta / 2 and epsilon (1 - theta) / 2, exact."""
        half, theta = Fraction(self.epsilon) / 2, Fraction(self.theta or 0)
        return half * theta, half * (1 - theta)

    @property
    def p(self) -> Fraction:
        """1 - 1 / (2 B)."""
        return 1 - 1 / (2 * exp_floor(self._shares[1]))

    @property
    def q(self) -> Fraction:
        """1 / (2 A)."""
        return 1 / (2 * exp_floor(self._shares[0]))


def _best_threshold(epsilon: float) -> float:
    """Return the threshold with the smallest variance of an empty cell.

    With x = e^(epsilon theta / 2) and s = e^(-epsilon / 2) the variance is (2 x - 1) / (1 + s x^2 - 2
    x)^2, and its derivative vanishes where 3 s x^2 - 2 (1 + s) x + 1 = 0, at the greater root.
    """
    s = math.exp(-epsilon / 2)
    root = math.sqrt((1 + s) ** 2 - 3 * s)
    theta = 2 * math.log((1 + s + root) / (3 * s)) / epsilon
    # At a tiny epsilon rounding could reach the end of the interval.
    return max(theta, 0.5 + 2.0**-30)
