"""How often the best guess from one report is right when some cells are likelier than others beforehand.

The observer knows the randomiser and the share of devices in each cell, and names the cell with the greatest
posterior. The probability of being right is the sum over reports of the greatest prior times likelihood; no rule does
better. Where that sum has no closed form it is measured on simulated reports. Beside it stands the success of the same observer without a report: the share of the fullest cell.
"""

from __future__ import annotations

from functools import singledispatch
from typing import Final

import numpy as np

from ldpcore.mechanisms import FrequencyOracle, Mechanism
from ldpcore.mechanisms.direct import GeneralizedRandomizedResponse
from ldpcore.mechanisms.hashing import LocalHashing
from ldpcore.mechanisms.unary import UnaryEncoding
from ldpcore.privacy.posterior import posterior
from ldpcore.shapes import FloatArray

_ENTRIES: Final = 4_000_000
_FEWEST, _MOST = 50, 2_000


@singledispatch
def guess_with_prior(mechanism: FrequencyOracle, prior: FloatArray) -> float | None:  # noqa: ARG001
    """Return the probability that the best guess from one report is right; None where no closed form is known.

    Parameters
    ----------
    mechanism
        The randomiser.
    prior
        (d,) probabilities, what is known of a device before it reports.
    """
    return None


@guess_with_prior.register
def _direct(mechanism: GeneralizedRandomizedResponse, prior: FloatArray) -> float:
    p, q = float(mechanism.p), float(mechanism.q)
    greatest = np.partition(prior, -2)[-2:]
    others = np.where(prior == greatest[1], greatest[0], greatest[1])
    if (prior == greatest[1]).sum() > 1:
        others = np.full_like(prior, greatest[1])
    return float(np.maximum(prior * p, others * q).sum())


@guess_with_prior.register
def _unary(mechanism: UnaryEncoding, prior: FloatArray) -> float:
    p, q = mechanism.p, mechanism.q
    return _independent(prior, float(p), float(q), float(p * (1 - q) / ((1 - p) * q)))


@guess_with_prior.register
def _hashing(mechanism: LocalHashing, prior: FloatArray) -> float:
    # An ideal hash is assumed, as for the variance: each other cell meets the bucket with chance 1 / g.
    return _independent(prior, float(mechanism.p), 1 / mechanism.buckets, float(mechanism.ratio))


def _independent(prior: FloatArray, p: float, q: float, ratio: float) -> float:
    """Return the success where cells are supported independently and support multiplies the likelihood by `ratio`.

    Of equally likely cells the first is named. With its own cell supported, a device in cell v is named unless a
    likelier cell is supported too, or one is so much likelier that it wins without. Without support only the
    likeliest cell can be named, where no supported cell overtakes it.
    """
    falling = -np.sort(-np.asarray(prior, np.float64))
    reachable = falling * ratio >= falling[0]
    ahead = np.arange(falling.size)
    with_support = float((falling * p * (1 - q) ** ahead * reachable).sum())
    overtaking = int((falling[1:] * ratio > falling[0]).sum())
    without = float(falling[0] * (1 - p) * (1 - q) ** overtaking)
    return with_support + without


def measured_guess(mechanism: Mechanism, prior: FloatArray, *, seed: int) -> tuple[float, float]:
    """Return the success of the best guess over simulated reports, and its standard error.

    Each report counts with the greatest posterior it leaves, which is the chance that the best guess is right, so the
    mean needs fewer reports than counting hits would.

    Parameters
    ----------
    mechanism
        The randomiser.
    prior
        (d,) probabilities.
    seed
        Of the simulation.
    """
    many = int(np.clip(_ENTRIES // mechanism.domain_size, _FEWEST, _MOST))
    rng = np.random.default_rng([seed, 2])
    cells = rng.choice(mechanism.domain_size, size=many, p=prior / prior.sum())
    reports = mechanism.privatize(cells, rng=rng)
    greatest = np.array(
        [posterior(mechanism, reports[place : place + 1], prior=prior).max() for place in range(many)]
    )
    return float(greatest.mean()), float(greatest.std(ddof=1) / np.sqrt(many))
