"""Hadamard mechanisms: send one entry of a row of signs, or a column in which the own row has a plus.

The Hadamard matrix has entry +1 where row and column number share an even number of binary digits, else
-1; any two rows agree in half of their places. It is never stored: the server transforms its counts in
place.

Joint law of the counts without making reports: the digits of the random row (or column) are drawn one after
another. After some digits two devices whose remaining digits and parity so far agree are alike, so they are
counted together: at every step there are twice as many prefixes and half as many kinds of device. That is
one binomial draw per counter and digit, O(D log D) altogether, whatever the number of devices.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from ldpcore.errors import ParameterError
from ldpcore.mechanisms import kernels
from ldpcore.mechanisms.base import Mechanism
from ldpcore.mechanisms.blocks import Key
from ldpcore.mechanisms.options import checked_integer
from ldpcore.mechanisms.packing import bytes_to_numbers, numbers_to_bytes, weights
from ldpcore.mechanisms.sampling import uniform_split
from ldpcore.shapes import AnyArray, BoolArray, ByteArray, FloatArray, IntArray


def walsh_hadamard(numbers: AnyArray) -> AnyArray:
    """Multiply by the Hadamard matrix along the last axis, whose length is a power of two.

    Examples
    --------
    >>> walsh_hadamard(np.array([1, 0, 2, 0]))
    array([ 3,  3, -1, -1])
    """
    size = numbers.shape[-1]
    # Sums and differences of neighbours go to the two halves: after one step a digit the digits are in their
    # old order again, and every step is two whole-array operations, however short the distances.
    now, following = np.array(numbers), np.empty_like(numbers)
    for _ in range(size.bit_length() - 1):
        left, right = now[..., 0::2], now[..., 1::2]
        np.add(left, right, out=following[..., : size // 2])
        np.subtract(left, right, out=following[..., size // 2 :])
        now, following = following, now
    return now


@dataclass(frozen=True, slots=True, kw_only=True)
class HadamardRandomizedResponse(Mechanism):
    """Draw a row of the Hadamard matrix at random, send it with the randomised sign at the own cell.

    Notes
    -----
    Report: uint32 code, 2 row + 1 where the sign that is sent is -1; row in [0, D) with D the smallest
    power of two that is at least domain_size (and 2).

    The row is uniform and does not depend on the value; the sign is kept with probability p = R / (R +
    1), so the likelihood ratio is R. A report supports the cells whose entry in its row has the sign it
    names: the own cell with probability p, any other with probability q = 1/2. The variance of an empty
    cell is ((R + 1) / (R - 1))^2 per device, each device in the cell takes 1 away, and estimates of
    different cells are uncorrelated. Row 0 is all +1 and tells nothing; it is kept so that q is the same
    for all pairs.
    """

    name: ClassVar[str] = "hrr"
    label: ClassVar[str] = "Hadamard randomised response"
    summary: ClassVar[str] = (
        "The phone sends a random row number and one randomised bit. The shortest report and the cheapest "
        "server; good at small epsilon only."
    )
    reference: ClassVar[str] = (
        "G. Cormode, T. Kulkarni, D. Srivastava, "
        "Answering Range Queries Under Local Differential Privacy, 2019; "
        "R. Bassily, K. Nissim, U. Stemmer, A. Thakurta, Practical Locally Private Heavy Hitters, 2017"
    )
    exact_joint_sampler: ClassVar[bool] = True

    @property
    def rows(self) -> int:
        """Number D of rows."""
        return 1 << (self.domain_size - 1).bit_length()

    @property
    def p(self) -> Fraction:
        """R / (R + 1)."""
        return self.ratio / (self.ratio + 1)

    @property
    def q(self) -> Fraction:
        """One half."""
        return Fraction(1, 2)

    @property
    def report_bits(self) -> int:
        """One bit and those that number the rows."""
        return 1 + (self.rows - 1).bit_length()

    @property
    def report_layout(self) -> tuple[np.dtype[Any], tuple[int, ...]]:
        """One uint32 a report."""
        return np.dtype(np.uint32), ()

    def _greatest_ratio(self) -> Fraction:
        return self.p / (1 - self.p)

    def _encode_block(self, values: IntArray, key: Key) -> AnyArray:
        codes = np.empty(values.size, np.uint32)
        kernels.hadamard.sign_block(
            np.array(values), np.uint64(self.rows), np.uint64(key.seed), np.uint64(key.block), codes
        )
        return codes

    def _perturb_block(self, encoded: AnyArray, key: Key) -> AnyArray:
        codes = np.array(encoded, np.uint32)
        kernels.hadamard.flip_signs(codes, *_keep_words(self), np.uint64(key.seed), np.uint64(key.block))
        return codes

    def _new_tally(self) -> IntArray:
        return np.zeros(2 * self.rows, np.int64)

    def _aggregate_block(self, reports: AnyArray, tally: AnyArray) -> None:
        kernels.direct.count_block(np.array(reports, np.uint32), tally)

    def _counts_of(self, tally: AnyArray) -> AnyArray:
        return self._support_counts(tally[0::2], tally[1::2])

    def _support_counts(self, plus: AnyArray, minus: AnyArray) -> AnyArray:
        """Turn reports per row and sign into supports: half of all reports and of the signed sum."""
        signed = walsh_hadamard(plus - minus)[: self.domain_size]
        return np.asarray((plus.sum() + minus.sum() + signed) // 2)

    def _supports(self, reports: AnyArray, cell: int) -> BoolArray:
        parity = np.bitwise_count((reports >> np.uint32(1)) & np.uint32(cell)) & 1
        return np.asarray(parity == (reports & np.uint32(1)))

    def _check_encoded(self, encoded: AnyArray) -> None:
        self._check_reports(encoded)

    def _faults(self, reports: AnyArray) -> dict[str, BoolArray]:
        return {"row outside the matrix": reports >= 2 * self.rows}

    def _pack(self, reports: AnyArray) -> ByteArray:
        return numbers_to_bytes(reports, self.payload_bytes)

    def _unpack(self, payloads: ByteArray) -> AnyArray:
        return bytes_to_numbers(payloads).astype(np.uint32)

    def device_settings(self) -> dict[str, object]:
        """Bits of a row's number, and weights of the true sign and of the other."""
        return {
            "row_bits": (self.rows - 1).bit_length(),
            **weights(self.ratio),
            "size": self.payload_bytes,
        }

    def _sample(self, true_counts: IntArray, rng: np.random.Generator) -> AnyArray:
        # Axes: prefix of the row's digits, remaining digits of the cell, sign so far.
        state = np.zeros((1, self.rows, 2), np.int64)
        state[0, : self.domain_size, 0] = true_counts
        while state.shape[1] > 1:
            kinds = state.reshape(state.shape[0], 2, -1, 2)
            one = rng.binomial(kinds, 0.5)
            zero = kinds - one
            turned = np.stack([one[:, 0, :, 0] + one[:, 1, :, 1], one[:, 0, :, 1] + one[:, 1, :, 0]], axis=-1)
            state = np.stack([zero.sum(axis=1), turned], axis=1).reshape(-1, kinds.shape[2], 2)
        kept = rng.binomial(state[:, 0], float(self.p))
        lost = state[:, 0] - kept
        return self._support_counts(kept[:, 0] + lost[:, 1], kept[:, 1] + lost[:, 0])


@dataclass(frozen=True, slots=True, kw_only=True)
class HadamardResponse(Mechanism):
    """Send a column of the Hadamard matrix, more likely one in which the row of the own cell has a plus.

    Parameters
    ----------
    blocks
        Number B of blocks of columns, a power of two, at most the smallest one that is at least
        domain_size. 1 suits small epsilon; the paper's choice for a large one is half of the smallest
        power of two that is at least min(e^epsilon, 2 domain_size).

    Notes
    -----
    Report: uint32 in [0, K). There are B blocks of b columns, b the smallest power of two above
    domain_size / B, and K = B b. Cell v has row v mod (b - 1) + 1 of block v div (b - 1), and its set S_v
    is the s = b / 2 columns of that block in which the row has a plus. A column of S_v is sent with
    probability R / Z each, any other with probability 1 / Z each, Z = s R + K - s; so the likelihood
    ratio is R.

    With one block every other cell's set holds half of S_v and half of the rest: p = R / (R + 1), q =
    1/2, and the variance is that of `HadamardRandomizedResponse`; two cells are correlated only where the
    sum of their rows, digit by digit without carry, is the row of a third cell. With more blocks a cell
    of the own block is supported more often than one of another, so the mechanism is not pure; the
    estimate uses only the reports that fall into the cell's block, and variance = Z / (s (R - 1)^2) (N (R
    + 1) + 2 (n - N)) - count, N the devices whose cell lies in the block.
    """

    name: ClassVar[str] = "hr"
    label: ClassVar[str] = "Hadamard response"
    summary: ClassVar[str] = (
        "The phone sends one number: a column of a fixed matrix of signs that agrees with its cell more "
        "often than not. Short reports and a fast server at any epsilon, if the blocks are chosen for it."
    )
    reference: ClassVar[str] = (
        "J. Acharya, Z. Sun, H. Zhang, Hadamard Response: Estimating Distributions Privately, Efficiently, "
        "and with Little Communication, 2019"
    )
    exact_joint_sampler: ClassVar[bool] = True

    blocks: int = 1

    def _prepare(self) -> None:
        most = 1 << (self.domain_size - 1).bit_length()
        blocks = checked_integer("blocks", self.blocks, minimum=1, maximum=most)
        if blocks & (blocks - 1):
            nearest = 1 << (blocks.bit_length() - 1)
            raise ParameterError("blocks", f"blocks must be a power of two, got {blocks}; try {nearest}")
        self._set("blocks", blocks)

    @property
    def block_outputs(self) -> int:
        """Number b of columns in a block."""
        cells = -(-self.domain_size // self.blocks)
        return 1 << cells.bit_length()

    @property
    def outputs(self) -> int:
        """Number K of columns."""
        return self.blocks * self.block_outputs

    @property
    def p(self) -> Fraction | None:
        """R / (R + 1) with one block."""
        return self.ratio / (self.ratio + 1) if self.blocks == 1 else None

    @property
    def q(self) -> Fraction | None:
        """One half with one block."""
        return Fraction(1, 2) if self.blocks == 1 else None

    @property
    def report_bits(self) -> int:
        """Bits that number the columns."""
        return (self.outputs - 1).bit_length()

    @property
    def counts_shape(self) -> tuple[int, ...]:
        """One number a cell with one block, else the reports of each column."""
        return (self.domain_size,) if self.blocks == 1 else (self.outputs,)

    @property
    def _members(self) -> int:
        """Number s of columns in the set of a cell."""
        return self.block_outputs // 2

    @property
    def _total_weight(self) -> Fraction:
        """Z, the weight of all columns when those outside the set weigh 1."""
        return self._members * self.ratio + self.outputs - self._members

    @property
    def telling(self) -> Fraction:
        """Probability of sending a uniform member of the set, where any column is sent otherwise."""
        return (self.ratio - 1) * self._members / self._total_weight

    @property
    def report_layout(self) -> tuple[np.dtype[Any], tuple[int, ...]]:
        """One uint32 a report."""
        return np.dtype(np.uint32), ()

    def _greatest_ratio(self) -> Fraction:
        return self.ratio

    def _perturb_block(self, encoded: AnyArray, key: Key) -> AnyArray:
        reports = np.empty(encoded.size, np.uint32)
        kernels.hadamard.response_block(
            encoded.astype(np.int64),
            np.uint64(self.block_outputs),
            np.uint64(self.blocks),
            *_telling_words(self),
            np.uint64(key.seed),
            np.uint64(key.block),
            reports,
        )
        return reports

    def _new_tally(self) -> IntArray:
        return np.zeros(self.outputs, np.int64)

    def _aggregate_block(self, reports: AnyArray, tally: AnyArray) -> None:
        kernels.direct.count_block(np.array(reports, np.uint32), tally)

    def _counts_of(self, tally: AnyArray) -> AnyArray:
        return self._support_counts(tally) if self.blocks == 1 else tally

    def _signed_sums(self, histogram: AnyArray) -> AnyArray:
        """Sum the signs of each cell's row over the reports of its block; leading axes are kept."""
        leading = histogram.shape[:-1]
        by_row = walsh_hadamard(histogram.reshape(*leading, self.blocks, self.block_outputs))[..., 1:]
        return by_row.reshape(*leading, -1)[..., : self.domain_size]

    def _in_block(self, per_block: AnyArray) -> AnyArray:
        """Give each cell the number of its block."""
        rows = self.block_outputs - 1
        return np.repeat(per_block, rows, axis=-1)[..., : self.domain_size]

    def _support_counts(self, histogram: AnyArray) -> AnyArray:
        block_sums = histogram.reshape(*histogram.shape[:-1], self.blocks, -1).sum(axis=-1)
        return (self._in_block(block_sums) + self._signed_sums(histogram)) // 2

    def _support(self, counts: AnyArray, n: int) -> AnyArray:  # noqa: ARG002
        return counts if self.blocks == 1 else self._support_counts(counts)

    def _supports(self, reports: AnyArray, cell: int) -> BoolArray:
        columns = np.uint32(self.block_outputs)
        block, row = divmod(cell, self.block_outputs - 1)
        parity = np.bitwise_count(reports % columns & np.uint32(row + 1)) & 1
        return np.asarray((reports // columns == block) & (parity == 0))

    def _faults(self, reports: AnyArray) -> dict[str, BoolArray]:
        return {"column outside the matrix": reports >= self.outputs}

    def _pack(self, reports: AnyArray) -> ByteArray:
        return numbers_to_bytes(reports, self.payload_bytes)

    def _unpack(self, payloads: ByteArray) -> AnyArray:
        return bytes_to_numbers(payloads).astype(np.uint32)

    def device_settings(self) -> dict[str, object]:
        """Shape of the matrix, and weights of a column in the own set and of any other."""
        return {
            "columns": self.block_outputs,
            "blocks": self.blocks,
            **weights(self.ratio),
            "size": self.payload_bytes,
        }

    def _estimate(self, counts: AnyArray, n: int) -> FloatArray:
        if self.blocks == 1:
            return np.asarray((2 * counts - n) * float((self.ratio + 1) / (self.ratio - 1)), np.float64)
        scale = self._total_weight / (self._members * (self.ratio - 1))
        return np.asarray(self._signed_sums(counts) * float(scale), np.float64)

    def _variance(self, true_counts: FloatArray, n: int) -> FloatArray:
        rows = self.block_outputs - 1
        padded = np.zeros((*true_counts.shape[:-1], self.blocks * rows))
        padded[..., : self.domain_size] = true_counts
        devices = padded.reshape(*padded.shape[:-1], self.blocks, rows).sum(axis=-1)
        if self.blocks == 1:
            devices = np.full_like(devices, n)
        return self._variance_in_block(self._in_block(devices), n) - true_counts

    def _variance_in_block(self, devices: AnyArray, n: int) -> FloatArray:
        """Variance of an empty cell whose block holds so many devices."""
        weight = float(self._total_weight / (self._members * (self.ratio - 1) ** 2))
        ratio = float(self.ratio)
        return np.asarray(weight * (devices * (ratio + 1) + 2 * (n - devices)), np.float64)

    def _variance_terms(self, counts: AnyArray, n: int) -> tuple[FloatArray, FloatArray]:
        slope = np.full(self.domain_size, -1.0)
        if self.blocks == 1:
            return self._variance_in_block(np.full(self.domain_size, n), n), slope
        # A report falls into the own block with probability 2 s / Z more than into another.
        reports = counts.reshape(*counts.shape[:-1], self.blocks, -1).sum(axis=-1)
        elsewhere = self.block_outputs / self._total_weight
        devices = (reports - n * float(elsewhere)) / float(self.telling)
        return self._variance_in_block(self._in_block(np.clip(devices, 0, n)), n), slope

    def _sample(self, true_counts: IntArray, rng: np.random.Generator) -> AnyArray:
        telling = rng.binomial(true_counts, float(self.telling))
        histogram = self._members_histogram(telling, rng)
        histogram += uniform_split(int(true_counts.sum() - telling.sum()), self.outputs, rng)
        return self._counts_of(histogram)

    def _members_histogram(self, devices: IntArray, rng: np.random.Generator) -> IntArray:
        """Let every device send a uniform member of its cell's set; (K,) counts per column."""
        rows = self.block_outputs - 1
        padded = np.zeros(self.blocks * rows, np.int64)
        padded[: self.domain_size] = devices
        # Axes: block and prefix of the column's digits, remaining digits of the row, parity still to be made.
        state = np.zeros((self.blocks, self.block_outputs, 2), np.int64)
        state[:, 1:, 0] = padded.reshape(self.blocks, rows)
        while state.shape[1] > 1:
            kinds = state.reshape(state.shape[0], 2, -1, 2)
            chance = np.full(kinds.shape[1:], 0.5)
            # The last 1 of the row decides the parity, so there the digit is forced.
            chance[1, 0] = (0.0, 1.0)
            one = rng.binomial(kinds, chance)
            zero = kinds - one
            turned = np.stack([one[:, 0, :, 0] + one[:, 1, :, 1], one[:, 0, :, 1] + one[:, 1, :, 0]], axis=-1)
            state = np.stack([zero.sum(axis=1), turned], axis=1).reshape(-1, kinds.shape[2], 2)
        return state[:, 0, 0].copy()


# Exact fractions cost as much as two thousand reports, so they are worked out once and not for every block.


@lru_cache(maxsize=64)
def _keep_words(mechanism: HadamardRandomizedResponse) -> tuple[np.uint64, np.uint64]:
    return kernels.streams.threshold_words(mechanism.p)


@lru_cache(maxsize=64)
def _telling_words(mechanism: HadamardResponse) -> tuple[np.uint64, np.uint64]:
    return kernels.streams.threshold_words(mechanism.telling)
