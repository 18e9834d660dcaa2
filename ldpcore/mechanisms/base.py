"""What every frequency mechanism is: one object that owns the client's half and the server's half.

The public methods validate once, cut the work into blocks and call small hooks; a mechanism is
the hooks. Client and server read the same exact fractions, so their parameters cannot drift apart.

Three kinds of mechanism fit. A *pure* one has a support set for each report: a device's own cell is in
it with probability p, every other cell with probability q (T. Wang, J. Blocki, N. Li, S. Jha, *Locally
Differentially Private Protocols for Frequency Estimation*, 2017); it gives p and q and inherits estimate,
variance and counts. One that is not pure leaves p and q None and overrides the estimate and variance
hooks and, where its statistic is not one number a cell, `counts_shape` and `counts_dtype`.

Consumers are typed against `ldpcore.mechanisms.oracle.FrequencyOracle`, so a test double or a deliberately
broken mechanism needs no inheritance.
"""

from __future__ import annotations

import hashlib
import json
from abc import abstractmethod
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ldpcore.errors import ParameterError
from ldpcore.mechanisms.blocks import BLOCK_DEVICES, Key, block_slices, draw_key, join_blocks, map_blocks
from ldpcore.mechanisms.checks import checked_cells, checked_counts, checked_values
from ldpcore.mechanisms.formats import ReportFormat
from ldpcore.mechanisms.options import checked_integer, option_names
from ldpcore.rational import checked_epsilon, log_ceiling, ratio_of
from ldpcore.shapes import AnyArray, FloatArray, IntArray

MAX_DOMAIN_SIZE = 2**31 - 2
"""Cells are numbered in 32-bit reports, and hashed modulo the prime 2^31 - 1."""


_DEVICES_AT_ONCE = 128 * BLOCK_DEVICES


@dataclass(frozen=True, slots=True, kw_only=True)
class Mechanism(ReportFormat):
    """A local randomiser over cells 0..domain_size-1 with its unbiased estimator and exact variance.

    Parameters
    ----------
    epsilon
        The privacy parameter on the label: finite, above 0, at most 20.
    domain_size
        Number of cells, an integer of at least 2.

    Notes
    -----
    Reports made here come from a fast generator that is seeded by the caller: they are for simulation.
    What ships on a phone is `ldpcore.device`, which takes its bits from the operating system.

    Hooks of a subclass: `_prepare`, `_encode_block` with `_check_encoded`, `_perturb_block`,
    `_aggregate_block`, `_supports`, `_sample`, `_greatest_ratio`, `report_bits`, `p`, `q`; for the wire
    `report_layout`, `_pack`, `_unpack`, `_faults`, `_improbable`, `device_settings`; where it is not pure also
    `_estimate`, `_device_variance` or `_variance` and `_variance_terms`; where reports are first counted in
    another form `_new_tally` and `_counts_of`; for speed `_privatize_block` and `_collect_block`.
    """

    name: ClassVar[str]
    label: ClassVar[str]
    summary: ClassVar[str]
    reference: ClassVar[str]
    exact_joint_sampler: ClassVar[bool]
    """Whether `sample_counts` draws from the joint law in time that does not depend on the number of devices.

    Where False it makes every report instead: still the right law, but as slow as `collect`.
    """

    epsilon: float
    domain_size: int
    ratio: Fraction = field(init=False, repr=False, compare=False)
    """R: e^epsilon rounded down to a multiple of 2^-64; see `ldpcore.rational`."""

    def __post_init__(self) -> None:
        self._set("epsilon", checked_epsilon(self.epsilon))
        self._set(
            "domain_size",
            checked_integer("domain_size", self.domain_size, minimum=2, maximum=MAX_DOMAIN_SIZE),
        )
        self._set("ratio", ratio_of(self.epsilon))
        self._prepare()

    def _set(self, attribute: str, value: object) -> None:
        object.__setattr__(self, attribute, value)

    def _prepare(self) -> None:
        """Validate the options and derive what is needed once; the last step of construction."""

    # -- what the mechanism is -------------------------------------------------------------------

    @property
    def p(self) -> Fraction | None:
        """Probability that a report supports the device's own cell, exact; None where not pure."""
        return None

    @property
    def q(self) -> Fraction | None:
        """Probability that a report supports any one other cell, exact; None where not pure."""
        return None

    @property
    def pure(self) -> bool:
        """Whether p and q tell all that estimate and variance need."""
        return self.p is not None

    @property
    def epsilon_effective(self) -> float:
        """Greatest log likelihood ratio of what is really sent, rounded up; never above `epsilon`."""
        ratio = self._greatest_ratio()
        return self.epsilon if ratio is None else min(log_ceiling(ratio), self.epsilon)

    @property
    def parameters_version(self) -> str:
        """16 hexadecimal digits that change with any parameter: the start of a SHA-256 of them all."""
        text = json.dumps(self.parameters(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def counts_shape(self) -> tuple[int, ...]:
        """Shape of the aggregated statistic; (domain_size,) for pure mechanisms."""
        return (self.domain_size,)

    @property
    def counts_dtype(self) -> np.dtype[Any]:
        """Number type of the aggregated statistic: int64, or float64 where reports are real numbers."""
        return np.dtype(np.int64)

    @property
    def variance_empty(self) -> float | None:
        """V0: variance that one device adds to a cell it is not in; None where not of that form."""
        terms = self._device_variance()
        return None if terms is None else float(terms[0])

    @property
    def variance_slope(self) -> float | None:
        """V1: what the variance gains for each device that is in the cell; None where not of that form."""
        terms = self._device_variance()
        return None if terms is None else float(terms[1])

    def parameters(self) -> dict[str, object]:
        """Return everything that defines the mechanism, ready for JSON, fractions as "a/b"."""
        options = {name: getattr(self, name) for name in option_names(type(self))}
        return {
            "mechanism": self.name,
            "epsilon": self.epsilon,
            "domain_size": self.domain_size,
            **options,
            "ratio": _fraction_text(self.ratio),
            "p": _fraction_text(self.p),
            "q": _fraction_text(self.q),
        }

    # -- the client's half -----------------------------------------------------------------------

    def encode(self, values: npt.ArrayLike, *, rng: np.random.Generator, threads: int = 1) -> AnyArray:
        """Bring values into report space, without randomising what they say.

        Parameters
        ----------
        values
            (n,) integers, each in [0, domain_size).
        rng
            Source of randomness that does not depend on the values (hash seeds, rows).
        threads
            Number of threads; the result is the same for any number.

        Returns
        -------
        Array
            First axis n; not private yet.

        Raises
        ------
        ParameterError
            If a value is not an integer or lies outside the domain.
        """
        cells, key = checked_values(values, self.domain_size), draw_key(rng)

        def encode_one(block: int, part: slice) -> AnyArray:
            return self._encode_block(cells[part], Key(key, block))

        return join_blocks(map_blocks(encode_one, cells.size, threads=threads))

    def perturb(self, encoded: AnyArray, *, rng: np.random.Generator, threads: int = 1) -> AnyArray:
        """Randomise encoded values; after this a report satisfies epsilon-LDP.

        Parameters
        ----------
        encoded
            What `encode` returned, first axis n.
        rng
            Source of the coins.
        threads
            Number of threads; the result is the same for any number.

        Returns
        -------
        Array
            Reports, first axis n.

        Raises
        ------
        ParameterError
            If `encoded` cannot have come from `encode`.
        """
        self._check_encoded(encoded)
        key = draw_key(rng)

        def perturb_one(block: int, part: slice) -> AnyArray:
            return self._perturb_block(encoded[part], Key(key, block))

        return join_blocks(map_blocks(perturb_one, len(encoded), threads=threads))

    def privatize(self, values: npt.ArrayLike, *, rng: np.random.Generator, threads: int = 1) -> AnyArray:
        """Make one report per device: `perturb` after `encode`, to the byte.

        Parameters
        ----------
        values
            (n,) integers, each in [0, domain_size).
        rng
            Source of randomness.
        threads
            Number of threads; the result is the same for any number.

        Returns
        -------
        Array
            Reports, first axis n.

        Raises
        ------
        ParameterError
            If a value is not an integer or lies outside the domain.
        """
        cells, encode_key, perturb_key = (
            checked_values(values, self.domain_size),
            draw_key(rng),
            draw_key(rng),
        )

        def privatize_one(block: int, part: slice) -> AnyArray:
            return self._privatize_block(cells[part], Key(encode_key, block), Key(perturb_key, block))

        return join_blocks(map_blocks(privatize_one, cells.size, threads=threads))

    # -- the server's half -----------------------------------------------------------------------

    def aggregate(self, reports: AnyArray) -> AnyArray:
        """Count what reports support; counts of several batches may be added.

        Parameters
        ----------
        reports
            Reports of this mechanism with these parameters, first axis n.

        Returns
        -------
        Array
            Of shape `counts_shape` and type `counts_dtype`.

        Raises
        ------
        ParameterError
            If shape or type are not those of a report, or a report is one that no client sends.
        """
        self._check_reports(reports)
        tally = self._new_tally()
        for part in block_slices(len(reports)):
            self._aggregate_block(reports[part], tally)
        return self._counts_of(tally)

    def collect(self, values: npt.ArrayLike, *, rng: np.random.Generator, threads: int = 1) -> AnyArray:
        """Make every report and count it, in blocks, so that memory does not grow with the devices.

        The result equals `aggregate(privatize(values, rng=rng))` to the last count, and is the same
        for any number of threads.

        Parameters
        ----------
        values
            (n,) integers, each in [0, domain_size).
        rng
            Source of randomness.
        threads
            Number of threads.

        Returns
        -------
        Array
            Of shape `counts_shape` and type `counts_dtype`.

        Raises
        ------
        ParameterError
            If a value is not an integer or lies outside the domain.
        """
        cells, encode_key, perturb_key = (
            checked_values(values, self.domain_size),
            draw_key(rng),
            draw_key(rng),
        )
        threads = checked_integer("threads", threads, minimum=1)
        tallies = [self._new_tally() for _ in range(threads)]

        def collect_one(block: int, part: slice) -> None:
            # A thread takes every `threads`-th block, so each tally has one writer.
            tally = tallies[block % threads]
            self._collect_block(cells[part], Key(encode_key, block), Key(perturb_key, block), tally)

        map_blocks(collect_one, cells.size, threads=threads)
        return self._counts_of(np.asarray(sum(tallies[1:], start=tallies[0])))

    def sample_counts(self, true_counts: npt.ArrayLike, *, rng: np.random.Generator) -> AnyArray:
        """Draw the server's counts directly, without making the reports.

        Parameters
        ----------
        true_counts
            (domain_size,) integers, devices in each cell.
        rng
            Source of randomness.

        Returns
        -------
        Array
            Same law as `collect` on devices with these counts. Where `exact_joint_sampler` is False
            the reports are made after all.

        Raises
        ------
        ParameterError
            If the counts have another shape, are not integers or are negative.
        """
        counts = checked_cells("true_counts", true_counts, self.domain_size)
        if counts.ndim != 1:
            raise ParameterError("true_counts", f"true_counts must have one axis, got {counts.ndim}")
        if counts.dtype.kind not in "iu":
            raise ParameterError("true_counts", f"true_counts must be integers, got {counts.dtype}")
        return self._sample(counts.astype(np.int64, copy=False), rng)

    @abstractmethod
    def device_settings(self) -> dict[str, object]:
        """Return the exact whole numbers that the on-device client of this mechanism needs."""

    def support(self, counts: npt.ArrayLike, *, n: int) -> AnyArray:
        """Return how many reports support each cell, or what the estimate uses in place of that.

        Parameters
        ----------
        counts
            What `aggregate` returned.
        n
            Number of reports.

        Returns
        -------
        Array
            (domain_size,) numbers; the counts themselves for pure mechanisms.
        """
        return self._support(
            checked_counts(counts, self.name, self.counts_shape), checked_integer("n", n, minimum=0)
        )

    def estimate(self, counts: npt.ArrayLike, *, n: int) -> FloatArray:
        """Invert the randomisation: unbiased device counts a cell, never clipped, possibly negative.

        Parameters
        ----------
        counts
            What `aggregate` returned, shape `counts_shape`; or many of them, with leading axes.
        n
            Number of reports. With 0 reports the result is zeros: whoever publishes must say
            "no data" then, because a measured zero looks the same.

        Returns
        -------
        Array
            (domain_size,) float64, with the leading axes of `counts`.

        Raises
        ------
        ParameterError
            If the shape is another or n is negative.
        """
        return self._estimate(
            checked_counts(counts, self.name, self.counts_shape), checked_integer("n", n, minimum=0)
        )

    def variance(self, true_counts: npt.ArrayLike, *, n: int) -> FloatArray:
        """Return the exact variance of the estimated counts, over the coins of the devices.

        Parameters
        ----------
        true_counts
            (domain_size,) devices in each cell, or an estimate of them; leading axes are kept.
        n
            Number of reports.

        Returns
        -------
        Array
            Float64, shape of `true_counts`, in devices squared; n V0 + count V1 for pure mechanisms.

        Raises
        ------
        ParameterError
            If the shape is another or n is negative.
        """
        counts = checked_cells("true_counts", true_counts, self.domain_size, allow_negative=True)
        return self._variance(counts.astype(np.float64), checked_integer("n", n, minimum=0))

    def variance_terms(self, counts: npt.ArrayLike, *, n: int) -> tuple[FloatArray, FloatArray]:
        """Return (base, slope): the variance of a cell's estimate is base + count * slope at any true count.

        Parameters
        ----------
        counts
            What `aggregate` returned. Used only where the variance of a cell depends on other cells
            too; their estimates are then plugged into the base.
        n
            Number of reports.

        Returns
        -------
        tuple of arrays
            Two float64 arrays of shape (domain_size,).
        """
        return self._variance_terms(
            checked_counts(counts, self.name, self.counts_shape), checked_integer("n", n, minimum=0)
        )

    # -- hooks -----------------------------------------------------------------------------------

    def _encode_block(self, values: IntArray, key: Key) -> AnyArray:  # noqa: ARG002
        """Encode one block of at most `BLOCK_DEVICES` valid values; by default the cell itself."""
        return values.astype(np.uint32)

    @abstractmethod
    def _perturb_block(self, encoded: AnyArray, key: Key) -> AnyArray:
        """Randomise one block of encoded values."""

    def _privatize_block(self, values: IntArray, encode_key: Key, perturb_key: Key) -> AnyArray:
        """Encode and randomise one block; override to skip the encoded form, with the same result."""
        return self._perturb_block(self._encode_block(values, encode_key), perturb_key)

    def _new_tally(self) -> AnyArray:
        """Return zeros to add blocks to; override where reports are first counted in another form."""
        return np.zeros(self.counts_shape, self.counts_dtype)

    def _counts_of(self, tally: AnyArray) -> AnyArray:
        """Turn the tally of all blocks into counts; must be linear, so that batches add up."""
        return tally

    @abstractmethod
    def _aggregate_block(self, reports: AnyArray, tally: AnyArray) -> None:
        """Add one block of checked reports to the tally."""

    def _collect_block(self, values: IntArray, encode_key: Key, perturb_key: Key, tally: AnyArray) -> None:
        """Make one block of reports and add it to the tally; override to fuse both, with the same result."""
        self._aggregate_block(self._privatize_block(values, encode_key, perturb_key), tally)

    def _check_encoded(self, encoded: AnyArray) -> None:
        """Refuse what `encode` cannot have returned: by default cells as uint32."""
        if encoded.ndim != 1 or encoded.dtype != np.uint32 or (encoded >= self.domain_size).any():
            raise ParameterError("encoded", "encoded values are uint32 cells; pass what encode returned")

    def _sample(self, true_counts: IntArray, rng: np.random.Generator) -> AnyArray:
        """Draw counts from their joint law; by default by making every report, in bounded memory."""
        counts = np.zeros(self.counts_shape, self.counts_dtype)
        ends = np.cumsum(true_counts)
        for start in range(0, int(ends[-1]), _DEVICES_AT_ONCE):
            # The share of each cell among the next devices, when devices stand in the order of their cells.
            passed = np.clip(ends - start, 0, _DEVICES_AT_ONCE)
            values = np.repeat(np.arange(self.domain_size), np.diff(passed, prepend=0))
            counts += self.collect(values, rng=rng)
        return counts

    @abstractmethod
    def _greatest_ratio(self) -> Fraction | None:
        """Greatest likelihood ratio of any output between any two values; None where it is e^epsilon."""

    def _support(self, counts: AnyArray, n: int) -> AnyArray:  # noqa: ARG002 - not needed where pure
        return counts

    def _estimate(self, counts: AnyArray, n: int) -> FloatArray:
        p, q = self._pure_pair()
        return np.asarray(counts * float(1 / (p - q)) - n * float(q / (p - q)), np.float64)

    def _device_variance(self) -> tuple[Fraction | float, Fraction | float] | None:
        """V0 and V1 where the variance is n V0 + count V1, else None."""
        if not self.pure:
            return None
        p, q = self._pure_pair()
        return q * (1 - q) / (p - q) ** 2, (1 - p - q) / (p - q)

    def _variance(self, true_counts: FloatArray, n: int) -> FloatArray:
        empty, slope = self._required_device_variance()
        return np.asarray(n * float(empty) + true_counts * float(slope), np.float64)

    def _variance_terms(self, counts: AnyArray, n: int) -> tuple[FloatArray, FloatArray]:  # noqa: ARG002
        empty, slope = self._required_device_variance()
        return np.full(self.domain_size, n * float(empty)), np.full(self.domain_size, float(slope))

    # -- helpers ---------------------------------------------------------------------------------

    def _pure_pair(self) -> tuple[Fraction, Fraction]:
        p, q = self.p, self.q
        if p is None or q is None:
            raise NotImplementedError(f"{self.name} has no p and q: it needs its own estimate and variance")
        return p, q

    def _required_device_variance(self) -> tuple[Fraction | float, Fraction | float]:
        terms = self._device_variance()
        if terms is None:
            raise NotImplementedError(f"{self.name} has no V0 and V1: it needs its own variance")
        return terms


def _fraction_text(number: Fraction | None) -> str | None:
    return None if number is None else f"{number.numerator}/{number.denominator}"
