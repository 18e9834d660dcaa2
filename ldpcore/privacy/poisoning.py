"""Fake devices: how far forged reports move the map, and what a check of their weight holds back.

The server divides the noise out, so one report counts for more than one device. A forged report that supports a cell
moves its estimate by (1 - q) / (p - q) devices, one that does not by -q / (p - q), whatever the true counts are. The
smaller epsilon, the stronger the lever: privacy and resistance to fakes pull in opposite directions.

A server that reads reports one by one can refuse those that no honest client sends. For unary encodings that is a
check of how many bits are set (popcount): it caps *how many cells* one report lifts at once. It doesn't touch how far
one cell is lifted, since a forged report of ordinary weight looks like any other; only a limit on how many reports
one party can send does.

A. Cheu, A. Smith, J. Ullman, *Manipulation Attacks in Local Differential Privacy*, 2021; X. Cao, J. Jia, N. Gong,
*Data Poisoning Attacks to Local Differential Privacy Protocols*, 2021.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import singledispatch
from types import MappingProxyType
from typing import Final, NamedTuple

import numpy as np
from scipy.special import ndtr

from ldpcore.errors import ParameterError
from ldpcore.estimate import publication_threshold
from ldpcore.mechanisms import FrequencyOracle
from ldpcore.mechanisms.direct import GeneralizedRandomizedResponse
from ldpcore.mechanisms.hadamard import HadamardRandomizedResponse, HadamardResponse
from ldpcore.mechanisms.hashing import LocalHashing
from ldpcore.mechanisms.sampling import binomial_range
from ldpcore.mechanisms.subset import SubsetSelection
from ldpcore.mechanisms.unary import UnaryEncoding
from ldpcore.shapes import FloatArray, IntArray

WEIGHT_FAILURE: Final = 1e-9
"""How often the check of weights refuses an honest report at most."""


@dataclass(frozen=True, slots=True)
class Leverage:
    """What one forged report does, in devices.

    Parameters
    ----------
    up
        What it adds to each cell it supports: (1 - q) / (p - q).
    down
        What it adds to each cell it does not: -q / (p - q), not positive.
    cells
        Cells that one report can support at once where reports are only decoded.
    cells_checked
        The same where reports that no honest client sends are refused, as the server here does.
    """

    up: float
    down: float
    cells: int
    cells_checked: int


def leverage(mechanism: FrequencyOracle) -> Leverage | None:
    """Return what one forged report does; None where the mechanism has no one pair of probabilities.

    Examples
    --------
    >>> from ldpcore.mechanisms import make_mechanism
    >>> found = leverage(make_mechanism("oue", epsilon=1, domain_size=100))
    >>> round(found.up, 3), round(found.down, 3), found.cells
    (3.164, -1.164, 100)
    """
    if mechanism.p is None or mechanism.q is None:
        return None
    p, q = mechanism.p, mechanism.q
    plain, checked = cells_at_once(mechanism)
    return Leverage(float((1 - q) / (p - q)), float(-q / (p - q)), plain, checked)


@singledispatch
def cells_at_once(mechanism: FrequencyOracle) -> tuple[int, int]:
    """Return how many cells one report can support: where it is only decoded, and where it is checked first.

    Where nothing is known of the format, all of them, both times.
    """
    return mechanism.domain_size, mechanism.domain_size


@cells_at_once.register
def _direct(mechanism: GeneralizedRandomizedResponse) -> tuple[int, int]:  # noqa: ARG001 - one number, one cell
    return 1, 1


@cells_at_once.register
def _unary(mechanism: UnaryEncoding) -> tuple[int, int]:
    _, most = binomial_range(mechanism.domain_size - 1, float(mechanism.q), failure=WEIGHT_FAILURE)
    return mechanism.domain_size, min(most + 1, mechanism.domain_size)


@cells_at_once.register
def _subset(mechanism: SubsetSelection) -> tuple[int, int]:
    return mechanism.domain_size, mechanism.size


@cells_at_once.register
def _hashing(mechanism: LocalHashing) -> tuple[int, int]:
    # Any bucket of any seed is a report that an honest client may send; a bucket holds about d / g cells.
    bucket = max(round(mechanism.domain_size / mechanism.buckets), 1)
    return bucket, bucket


@cells_at_once.register
def _signed_row(mechanism: HadamardRandomizedResponse) -> tuple[int, int]:
    # Row 0 with a plus supports every cell, and honest clients send it too.
    return mechanism.domain_size, mechanism.domain_size


@cells_at_once.register
def _column(mechanism: HadamardResponse) -> tuple[int, int]:
    half = min(max(mechanism.block_outputs // 2, 1), mechanism.domain_size)
    return half, half


def _one_cell(found: Leverage, *, checked: bool) -> int:  # noqa: ARG001 - aimed at one cell, check or not
    return 1


def _many_cells(found: Leverage, *, checked: bool) -> int:
    return found.cells_checked if checked else found.cells


ATTACKS: Final[Mapping[str, Callable[..., int]]] = MappingProxyType(
    {"one cell": _one_cell, "as many cells as one report can": _many_cells}
)
"""What the fakes want, and how many cells each of their reports then lifts."""


class _Rule(NamedTuple):
    """When a cell is published."""

    floor: float
    confidence: float
    correction: str

    def threshold(self, mechanism: FrequencyOracle, n: int) -> float:
        """Return the estimate from which a cell is published."""
        return publication_threshold(mechanism, n=n, **self._asdict())


@dataclass(frozen=True, slots=True)
class Poisoning:
    """What a share of fake devices does to one map.

    Parameters
    ----------
    share
        Fakes among all devices that report.
    fakes
        How many that is, beside the honest ones.
    attack
        A key of `ATTACKS`.
    checked
        Whether the server refuses reports that no honest client sends.
    cells
        Cells that are lifted.
    shift
        Devices by which each of them is lifted.
    publish_empty
        Probability that a lifted cell without a single device is published.
    false_published
        Expected number of published cells whose true count is below the floor, fakes included.
    false_published_before
        The same without fakes.
    fakes_for_one_cell
        Fewest fakes that publish an empty cell in half of all draws.
    """

    share: float
    fakes: int
    attack: str
    checked: bool
    cells: int
    shift: float
    publish_empty: float
    false_published: float
    false_published_before: float
    fakes_for_one_cell: int


def poison(
    mechanism: FrequencyOracle,
    true_counts: IntArray,
    *,
    share: float,
    attack: str,
    checked: bool,
    floor: int,
    confidence: float,
    correction: str,
) -> Poisoning:
    """Work out what fake devices do that all lift the emptiest cells.

    Parameters
    ----------
    mechanism
        A randomiser with one pair of probabilities p and q.
    true_counts
        (d,) int64 honest devices in each cell.
    share
        Fakes among all devices that report, above 0 and below 1.
    attack
        A key of `ATTACKS`.
    checked
        Whether reports that no honest client sends are refused. Fakes that know of the check keep within it.
    floor, confidence, correction
        The rule of publication.

    Raises
    ------
    ParameterError
        If the share or the attack is none, or the mechanism has no p and q.

    Notes
    -----
    From the exact expectations and variances, by the normal law. Where a report must support other cells as well, the
    fakes are taken to spread them as honest reports would, which leaves those cells where they were.
    """
    if not 0 < share < 1:
        raise ParameterError(
            "share", f"The share of fakes must lie between 0 and 1, got {share:g}; try 0.01."
        )
    if attack not in ATTACKS:
        raise ParameterError("attack", f"There is no attack {attack!r}; choose one of {', '.join(ATTACKS)}.")
    found = leverage(mechanism)
    if found is None:
        raise ParameterError(
            "mechanism", f"{mechanism.name} has no one pair of probabilities p and q; choose oue."
        )
    rule = _Rule(max(float(floor), 1.0), confidence, correction)
    honest = int(true_counts.sum())
    fakes = round(honest * share / (1 - share))
    cells = min(ATTACKS[attack](found, checked=checked), true_counts.size)
    lifted = np.zeros(true_counts.size, bool)
    lifted[np.argsort(true_counts, kind="stable")[:cells]] = True
    shift = fakes * found.up
    publish = _publish(mechanism, true_counts, n=honest + fakes, lift=np.where(lifted, shift, 0.0), rule=rule)
    before = _publish(mechanism, true_counts, n=honest, lift=np.zeros(true_counts.size), rule=rule)
    empty = _publish(mechanism, np.zeros(1, np.int64), n=honest + fakes, lift=np.array([shift]), rule=rule)
    below = true_counts < floor
    return Poisoning(
        share=share,
        fakes=fakes,
        attack=attack,
        checked=checked,
        cells=cells,
        shift=shift,
        publish_empty=float(empty[0]),
        false_published=float(publish[below].sum()),
        false_published_before=float(before[below].sum()),
        fakes_for_one_cell=_fewest_fakes(mechanism, honest, found.up, rule),
    )


def _publish(
    mechanism: FrequencyOracle,
    true_counts: IntArray,
    *,
    n: int,
    lift: FloatArray,
    rule: _Rule,
) -> FloatArray:
    """Return how likely each cell is published when its estimate is lifted."""
    threshold = rule.threshold(mechanism, n)
    empty, slope = mechanism.variance_empty, mechanism.variance_slope
    assert empty is not None  # noqa: S101 - a mechanism with p and q has both
    assert slope is not None  # noqa: S101
    deviation = np.sqrt(np.maximum(n * empty + true_counts * slope, 1e-300))
    return np.asarray(ndtr((true_counts + lift - threshold) / deviation), np.float64)


def _fewest_fakes(mechanism: FrequencyOracle, honest: int, up: float, rule: _Rule) -> int:
    """Return the fewest fakes whose lift of an empty cell reaches the threshold, which grows with them."""

    def enough(fakes: int) -> bool:
        return fakes * up >= rule.threshold(mechanism, honest + fakes)

    high = max(math.ceil(rule.floor / up), 1)
    while not enough(high):
        high *= 2
    low = 0
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
