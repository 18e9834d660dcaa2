"""What estimates, releases, sweeps and audits need of a mechanism, as a protocol.

`ldpcore.mechanisms.base.Mechanism` documents each member in full.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Protocol

import numpy as np
import numpy.typing as npt

from ldpcore.shapes import AnyArray, FloatArray


class FrequencyOracle(Protocol):
    """A client's and a server's half of a frequency estimate."""

    @property
    def name(self) -> str:
        """Key in the table of mechanisms."""

    @property
    def label(self) -> str:
        """Name for people."""

    @property
    def epsilon(self) -> float:
        """The privacy parameter on the label."""

    @property
    def domain_size(self) -> int:
        """Number of cells."""

    @property
    def pure(self) -> bool:
        """Whether p and q tell all."""

    @property
    def p(self) -> Fraction | None:
        """Probability that a report supports the device's own cell."""

    @property
    def q(self) -> Fraction | None:
        """Probability that a report supports any one other cell."""

    @property
    def epsilon_effective(self) -> float:
        """Greatest log likelihood ratio of what is really sent."""

    @property
    def report_bits(self) -> int:
        """Fewest bits that could tell all reports apart."""

    @property
    def payload_bytes(self) -> int:
        """Bytes of one report as it is really sent, without the header."""

    @property
    def exact_joint_sampler(self) -> bool:
        """Whether `sample_counts` needs no reports."""

    @property
    def counts_shape(self) -> tuple[int, ...]:
        """Shape of the aggregated statistic."""

    @property
    def variance_empty(self) -> float | None:
        """Variance of an empty cell per device."""

    @property
    def variance_slope(self) -> float | None:
        """What the variance gains per device in the cell."""

    def privatize(self, values: npt.ArrayLike, *, rng: np.random.Generator) -> AnyArray:
        """Make one report per device."""

    def aggregate(self, reports: AnyArray) -> AnyArray:
        """Count what reports support."""

    def collect(self, values: npt.ArrayLike, *, rng: np.random.Generator, threads: int = 1) -> AnyArray:
        """Make and count reports in blocks."""

    def sample_counts(self, true_counts: npt.ArrayLike, *, rng: np.random.Generator) -> AnyArray:
        """Draw the server's counts directly."""

    def support(self, counts: npt.ArrayLike, *, n: int) -> AnyArray:
        """Return supports per cell."""

    def estimate(self, counts: npt.ArrayLike, *, n: int) -> FloatArray:
        """Return unbiased device counts."""

    def variance(self, true_counts: npt.ArrayLike, *, n: int) -> FloatArray:
        """Return the exact variance of the estimates."""

    def variance_terms(self, counts: npt.ArrayLike, *, n: int) -> tuple[FloatArray, FloatArray]:
        """Return (base, slope) of the variance as a function of a cell's own count."""

    def parameters(self) -> dict[str, object]:
        """Return everything that defines the mechanism, ready for JSON."""
