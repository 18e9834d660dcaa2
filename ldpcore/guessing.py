"""How often an observer who sees one report names its phone's cell, at best.

The observer knows the randomiser, holds every cell for equally likely, and names the cell that makes
the report most likely; no rule does better. The probability of being right is

    (1 / d) * sum over reports y of max over cells v of P(y | v).

Two randomisers with the same epsilon need not give the same success: epsilon bounds how far the odds
move, not how often the best guess is right. H. H. Arcolezi, S. Gambs, J.-F. Couchot, C. Palamidessi, *On
the Risks of Collecting Multidimensional Data Under Local Differential Privacy*, 2023, compare protocols by
this figure, partly with approximate forms; the exact forms here follow from the sum above.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import singledispatch

import numpy as np

from ldpcore.mechanisms import FrequencyOracle
from ldpcore.mechanisms.direct import GeneralizedRandomizedResponse
from ldpcore.mechanisms.hadamard import HadamardRandomizedResponse, HadamardResponse
from ldpcore.mechanisms.hashing import LocalHashing
from ldpcore.mechanisms.histogram import SummationHistogramEncoding
from ldpcore.mechanisms.subset import SubsetSelection
from ldpcore.mechanisms.unary import UnaryEncoding

CLOSED_FORM = "closed form"
INTEGRAL = "one integral, computed"
MEASURED = "measured"

_REPORTS = 4096


@dataclass(frozen=True, slots=True)
class Guess:
    """Success of the best guess from one report.

    Parameters
    ----------
    success
        Probability that the guess is the phone's cell, every cell equally likely before; None where
        nothing is known.
    how
        How the number came about.
    spread
        Standard error where it was measured, else 0.
    """

    success: float | None
    how: str
    spread: float = 0.0


@singledispatch
def best_guess(mechanism: FrequencyOracle) -> Guess:
    """Return how often the best guess from one report is right.

    Where no form is registered for the mechanism's class, a pure one is measured on 4,096 reports, from
    a fixed seed: its best guess is any supported cell.

    Parameters
    ----------
    mechanism
        The randomiser.
    """
    if not mechanism.pure:
        return Guess(None, "not known")
    rng = np.random.default_rng(0)
    cells = rng.integers(mechanism.domain_size, size=_REPORTS)
    reports = mechanism.privatize(cells, rng=rng)
    right = np.empty(_REPORTS)
    for device, cell in enumerate(cells):
        supported = np.asarray(mechanism.aggregate(reports[device : device + 1])) > 0
        right[device] = supported[cell] / supported.sum() if supported.any() else 1 / mechanism.domain_size
    return Guess(float(right.mean()), MEASURED, float(right.std() / math.sqrt(_REPORTS)))


@best_guess.register
def _direct(mechanism: GeneralizedRandomizedResponse) -> Guess:
    return Guess(float(mechanism.p), CLOSED_FORM)


@best_guess.register
def _unary(mechanism: UnaryEncoding) -> Guess:
    # Any cell whose bit is set; where none is, any cell at all.
    p, q = float(mechanism.p), float(mechanism.q)
    return Guess(_one_of_the_supported(p, q, q, mechanism.domain_size), CLOSED_FORM)


@best_guess.register
def _hashing(mechanism: LocalHashing) -> Guess:
    # Any cell that the hash puts into the bucket sent; an ideal hash is assumed, as for the variance.
    meeting = 1 / mechanism.buckets
    return Guess(
        _one_of_the_supported(float(mechanism.p), meeting, meeting, mechanism.domain_size), CLOSED_FORM
    )


@best_guess.register
def _subset(mechanism: SubsetSelection) -> Guess:
    return Guess(float(mechanism.p) / mechanism.size, CLOSED_FORM)


@best_guess.register
def _signed_row(mechanism: HadamardRandomizedResponse) -> Guess:
    # Each of the D - 1 telling rows has a cell with either sign, which is sent with probability p / D; row 0
    # is all plus and tells nothing.
    p, rows = float(mechanism.p), mechanism.rows
    return Guess((2 * (rows - 1) * p + 1) / (mechanism.domain_size * rows), CLOSED_FORM)


@best_guess.register
def _column(mechanism: HadamardResponse) -> Guess:
    # A column weighs R where a cell of its block has a plus there, else 1. One row has a plus in half of
    # the columns, two in three quarters, the first three in all of them.
    columns = mechanism.block_outputs
    members = columns // 2
    covered_by = (0, members, 3 * columns // 4, columns)
    covered, left = 0, mechanism.domain_size
    for _ in range(mechanism.blocks):
        cells = min(left, columns - 1)
        covered += covered_by[min(cells, 3)]
        left -= cells
    ratio = float(mechanism.ratio)
    total = members * ratio + mechanism.outputs - members
    weight = covered * ratio + mechanism.outputs - covered
    return Guess(weight / total / mechanism.domain_size, CLOSED_FORM)


@best_guess.register
def _noisy_histogram(mechanism: SummationHistogramEncoding) -> Guess:
    """Name the largest entry, where all above 1 tell the same and all below 0 do too.

    The likelihood of a cell depends on its entry x by |x| - |x - 1| alone. Noise is taken as continuous:
    the grid of 2^-20 changes the seventh digit.
    """
    from scipy.integrate import quad  # a third of a second, for one randomiser alone

    epsilon, others = mechanism.epsilon, mechanism.domain_size - 1
    above = math.exp(-epsilon / 2) / 2  # another entry reaches 1, or the own one falls to 0
    top = 0.5 * _share_of_ties(above, others)
    bottom = above * 0.5**others / mechanism.domain_size

    def between(log_tail: float) -> float:
        # The own entry lies where another exceeds it with probability u = e^log_tail in [above, 1/2].
        return math.exp(others * math.log1p(-math.exp(log_tail)) - log_tail)

    middle, _ = quad(between, math.log(above), math.log(0.5), limit=200)
    return Guess(top + above / 2 * middle + bottom, INTEGRAL)


def _one_of_the_supported(p: float, q_with_own: float, q_without_own: float, cells: int) -> float:
    """Return the success of naming any supported cell, or any cell at all where none is supported."""
    return p * _share_of_ties(q_with_own, cells - 1) + (1 - p) * (1 - q_without_own) ** (cells - 1) / cells


def _share_of_ties(chance: float, others: int) -> float:
    """Return the mean of 1 / (1 + T), T of `others` cells being tied with the own one by chance each."""
    return -math.expm1((others + 1) * math.log1p(-chance)) / ((others + 1) * chance)
