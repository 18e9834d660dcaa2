"""Local hashing: hash the cell into a few buckets with a fresh hash, then randomise the bucket.

T. Wang, J. Blocki, N. Li, S. Jha, *Locally Differentially Private Protocols for Frequency Estimation*, 2017.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from ldpcore.errors import ParameterError
from ldpcore.mechanisms import kernels
from ldpcore.mechanisms.base import MAX_DOMAIN_SIZE, Mechanism
from ldpcore.mechanisms.blocks import Key
from ldpcore.mechanisms.options import checked_integer
from ldpcore.mechanisms.packing import bytes_to_numbers, numbers_to_bytes, packed_width, weights
from ldpcore.mechanisms.sampling import support_counts
from ldpcore.shapes import AnyArray, BoolArray, ByteArray, IntArray

SHORT_PRIME = 2_642_239
"""The largest prime whose cube is below 2^64: three coefficients then are one 64-bit seed."""

LONG_PRIME = 2**31 - 1
"""For domains that the short one cannot tell apart, and for very many buckets, whose widths would differ."""

MOST_BUCKETS_OF_SHORT_PRIME = 4096

HASH_REPORT = np.dtype([("a0", "<u4"), ("a1", "<u4"), ("a2", "<u4"), ("bucket", "<u4")])
"""One report in memory: the coefficients of its hash and the bucket it names, little-endian."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalHashing(Mechanism):
    """Hash the cell into one of g buckets with a hash of the device's own; send hash and randomised bucket.

    Notes
    -----
    Report: (a0, a1, a2, bucket), see `HASH_REPORT`. The hash puts a cell into bucket
    floor(g ((a2 cell^2 + a1 cell + a0) mod P) / P) with coefficients uniform in [0, P), independently of
    the cell; P is 2642239, so that a hash is a 64-bit seed, or 2^31 - 1 for more than so many cells or more
    than 4096 buckets. The bucket is kept with probability p = R / (R + g - 1) and is otherwise any other
    one, so two cells differ in likelihood by at most R, whatever the hash.

    A report supports every cell that its hash puts into the bucket it names: the own cell with
    probability p, any other with probability q = 1 / g. P is a prime, so buckets cannot all have the same
    width and two cells meet with `collision_probability`, not exactly 1 / g; `bias_per_device` is what
    that does to an estimate: less than one device in five billion reports at any epsilon up to 20.

    Values at any three cells are independent, so the mean, the variance and every covariance (0) of the
    estimates are those of an ideal hash. `sample_counts` draws from the joint law under an ideal hash,
    which is that of a unary encoding with these p and q.
    """

    exact_joint_sampler: ClassVar[bool] = True

    @property
    @abstractmethod
    def buckets(self) -> int:
        """Number g of buckets."""

    @property
    def prime(self) -> int:
        """Modulus P of the hash; every cell and every bucket is below it."""
        short = self.domain_size <= SHORT_PRIME and self.buckets <= MOST_BUCKETS_OF_SHORT_PRIME
        return SHORT_PRIME if short else LONG_PRIME

    @property
    def seed_bits(self) -> int:
        """Bits of the three coefficients: 64, or 93 with the long prime."""
        return (self.prime**3 - 1).bit_length()

    @property
    def p(self) -> Fraction:
        """R / (R + g - 1)."""
        return self.ratio / (self.ratio + self.buckets - 1)

    @property
    def q(self) -> Fraction:
        """1 / g."""
        return Fraction(1, self.buckets)

    @property
    def collision_probability(self) -> Fraction:
        """Probability that a fresh hash puts two given cells into the same bucket, exact."""
        narrow, wide_buckets = divmod(self.prime, self.buckets)
        pairs = wide_buckets * (narrow + 1) ** 2 + (self.buckets - wide_buckets) * narrow**2
        return Fraction(pairs, self.prime**2)

    @property
    def bias_per_device(self) -> Fraction:
        """What one device elsewhere adds to the mean of an estimate, as buckets differ in width."""
        move = (1 - self.p) / (self.buckets - 1)
        support = self.p * self.collision_probability + move * (1 - self.collision_probability)
        return (support - self.q) / (self.p - self.q)

    @property
    def report_bits(self) -> int:
        """Bits of the seed and of the bucket."""
        return self.seed_bits + (self.buckets - 1).bit_length()

    @property
    def report_layout(self) -> tuple[np.dtype[Any], tuple[int, ...]]:
        """One record a report."""
        return HASH_REPORT, ()

    def _greatest_ratio(self) -> Fraction:
        return self.p * (self.buckets - 1) / (1 - self.p)

    def _encode_block(self, values: IntArray, key: Key) -> AnyArray:
        rows = np.empty((values.size, 4), np.uint32)
        kernels.hashing.hash_block(
            np.array(values),
            np.uint64(self.prime),
            np.uint64(self.buckets),
            np.uint64(key.seed),
            np.uint64(key.block),
            rows,
        )
        return _reports_of(rows)

    def _perturb_block(self, encoded: AnyArray, key: Key) -> AnyArray:
        rows = _rows_of(encoded)
        kernels.hashing.move_buckets(
            rows,
            np.uint64(self.buckets),
            *kernels.streams.threshold_words(self.p),
            np.uint64(key.seed),
            np.uint64(key.block),
        )
        return _reports_of(rows)

    def _aggregate_block(self, reports: AnyArray, tally: AnyArray) -> None:
        prime, buckets = np.uint64(self.prime), np.uint64(self.buckets)
        kernels.hashing.add_supports(_rows_of(reports), prime, buckets, tally)

    def _supports(self, reports: AnyArray, cell: int) -> BoolArray:
        return np.asarray(self.buckets_of(reports, cell) == reports["bucket"])

    def buckets_of(self, reports: AnyArray, cell: int) -> IntArray:
        """Return the bucket into which the hash of each report puts a cell; (n,) int64."""
        a0, a1, a2 = (reports[name].astype(np.uint64) for name in ("a0", "a1", "a2"))
        prime, place = np.uint64(self.prime), np.uint64(cell)
        residue = ((a2 * place + a1) % prime * place + a0) % prime
        return (residue * np.uint64(self.buckets) // prime).astype(np.int64)

    def distinguishing_events(self, reports: AnyArray, one: int, other: int) -> dict[str, BoolArray]:
        """Tell which reports support one cell only, and which hashes alone set the cells apart.

        An honest hash does not depend on the cell, so the second kind is equally likely under both.
        """
        first, second = self.buckets_of(reports, one) == 0, self.buckets_of(reports, other) == 0
        return {
            # The zero-argument form of super does not work in dataclasses with slots.
            **Mechanism.distinguishing_events(self, reports, one, other),
            f"hash puts cell {one} into bucket 0 and not {other}": np.asarray(first & ~second),
            f"hash puts cell {other} into bucket 0 and not {one}": np.asarray(second & ~first),
        }

    def _check_encoded(self, encoded: AnyArray) -> None:
        self._check_reports(encoded)

    def _faults(self, reports: AnyArray) -> dict[str, BoolArray]:
        greatest = np.maximum(np.maximum(reports["a0"], reports["a1"]), reports["a2"])
        return {
            "seed outside the family of hashes": greatest >= self.prime,
            "bucket outside the hash": reports["bucket"] >= self.buckets,
        }

    @property
    def payload_bytes(self) -> int:
        """Bytes of the seed and of the bucket."""
        return sum(self._seed_sizes) + self._bucket_size

    @property
    def _seed_sizes(self) -> tuple[int, ...]:
        """Bytes of the numbers that make the seed: one of 8, or three of 4 with the long prime."""
        return (8,) if self.prime == SHORT_PRIME else (4, 4, 4)

    @property
    def _bucket_size(self) -> int:
        return packed_width((self.buckets - 1).bit_length())

    def _pack(self, reports: AnyArray) -> ByteArray:
        parts = [reports[name].astype(np.uint64) for name in ("a0", "a1", "a2")]
        if len(self._seed_sizes) == 1:
            prime = np.uint64(self.prime)
            parts = [np.asarray(parts[0] + prime * (parts[1] + prime * parts[2]), np.uint64)]
        seed = [numbers_to_bytes(part, size) for part, size in zip(parts, self._seed_sizes, strict=True)]
        return np.hstack([*seed, numbers_to_bytes(reports["bucket"], self._bucket_size)])

    def _unpack(self, payloads: ByteArray) -> AnyArray:
        edges = np.cumsum([0, *self._seed_sizes])
        parts = [bytes_to_numbers(payloads[:, low:high]) for low, high in pairwise(edges)]
        if len(parts) == 1:
            prime = np.uint64(self.prime)
            parts = [parts[0] % prime, parts[0] // prime % prime, parts[0] // prime // prime]
        reports = np.empty(len(payloads), HASH_REPORT)
        for name, part in zip(("a0", "a1", "a2"), parts, strict=True):
            reports[name] = part
        reports["bucket"] = bytes_to_numbers(payloads[:, edges[-1] :])
        return reports

    def device_settings(self) -> dict[str, object]:
        """Family of hashes, and weights of the own bucket and of any other."""
        return {
            "prime": self.prime,
            "buckets": self.buckets,
            **weights(self.ratio),
            "seed_sizes": self._seed_sizes,
            "size": self._bucket_size,
        }

    def _sample(self, true_counts: IntArray, rng: np.random.Generator) -> IntArray:
        return support_counts(true_counts, float(self.p), float(self.q), rng)


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimizedLocalHashing(LocalHashing):
    """Local hashing with the number of buckets that gives the smallest variance.

    Parameters
    ----------
    g
        Number of buckets, at least 2. By default floor(R + 1) or one more, whichever has the smaller
        variance of an empty cell.

    Notes
    -----
    Report, probabilities and hash: see `LocalHashing`. With g = R + 1 the probabilities would be those of
    optimised unary encoding; rounding to a whole number of buckets costs less than 1 % of variance.
    """

    name: ClassVar[str] = "olh"
    label: ClassVar[str] = "Optimised local hashing"
    summary: ClassVar[str] = (
        "The phone hashes its cell into a few buckets and sends the hash and a randomised bucket. "
        "As accurate as optimised unary encoding with short reports; the server works harder."
    )
    reference: ClassVar[str] = (
        "T. Wang, J. Blocki, N. Li, S. Jha, "
        "Locally Differentially Private Protocols for Frequency Estimation, 2017"
    )

    g: int | None = None

    def _prepare(self) -> None:
        if self.g is None:
            fewest = max(2, int(self.ratio + 1))
            self._set("g", min((fewest, fewest + 1), key=self._variance_with))
        else:
            best = max(2, round(self.ratio + 1))
            self._set("g", checked_integer("g", self.g, minimum=2, maximum=MAX_DOMAIN_SIZE, example=best))

    def _variance_with(self, buckets: int) -> Fraction:
        """Variance of an empty cell per device with so many buckets."""
        return (self.ratio + buckets - 1) ** 2 / ((self.ratio - 1) ** 2 * (buckets - 1))

    @property
    def buckets(self) -> int:
        """Number g of buckets."""
        if self.g is None:
            raise ParameterError("g", "g is chosen when the mechanism is made")
        return self.g


@dataclass(frozen=True, slots=True, kw_only=True)
class BinaryLocalHashing(LocalHashing):
    """Local hashing into two buckets.

    Notes
    -----
    Report, probabilities and hash: see `LocalHashing`, with g = 2: p = R / (R + 1) and q = 1/2. The variance
    of an empty cell is ((R + 1) / (R - 1))^2 per device and each device in the cell takes 1 away. That never
    falls below 1, so at large epsilon it is far less accurate than the optimised form.
    """

    name: ClassVar[str] = "blh"
    label: ClassVar[str] = "Binary local hashing"
    summary: ClassVar[str] = (
        "The phone hashes its cell to a single bit and sends the hash and the randomised bit. "
        "Good at small epsilon only."
    )
    reference: ClassVar[str] = (
        "R. Bassily, A. Smith, Local, Private, Efficient Protocols for Succinct Histograms, 2015; "
        "T. Wang, J. Blocki, N. Li, S. Jha, "
        "Locally Differentially Private Protocols for Frequency Estimation, 2017"
    )

    @property
    def buckets(self) -> int:
        """Two."""
        return 2


def _rows_of(reports: AnyArray) -> AnyArray:
    """Copy records into a writeable (n, 4) uint32 array in the machine's byte order."""
    return np.ascontiguousarray(reports).view("<u4").reshape(-1, 4).astype(np.uint32)


def _reports_of(rows: AnyArray) -> AnyArray:
    return rows.astype("<u4", copy=False).view(HASH_REPORT).reshape(-1)
