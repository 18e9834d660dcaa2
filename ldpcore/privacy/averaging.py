"""The averaging attack: how often the best guess is right after t reports from the same cell.

Noise that is drawn anew with every report averages out. An observer who collects t fresh reports of a phone
that did not move, adds up what each says of every cell and names the likeliest one, is right ever more often; a
phone that answers every five minutes has nothing left to hide within days. A phone that remembers its answer
repeats one report, and the observer knows after a thousand what they knew after one. When the memo is drawn anew
at each epoch, the attack comes back at the rate of epochs: E epochs are E fresh reports.

Two families have an exact success, every cell equally likely and ties broken evenly:

* generalized randomised response: the own cell is named m ~ Bin(t, p) times, and the other t - m reports are spread
  evenly over the other cells; the guess is right where none of these is named more often than m;
* unary encodings, and local hashing under an ideal hash: the supports of the cells are independent binomials.

Elsewhere the attack is played out on simulated reports, and its result carries the error of the simulation.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import singledispatch

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln
from scipy.stats import binom

from ldpcore.errors import ParameterError
from ldpcore.guessing import MEASURED, best_guess
from ldpcore.mechanisms import Mechanism
from ldpcore.mechanisms.direct import GeneralizedRandomizedResponse
from ldpcore.mechanisms.hashing import LocalHashing
from ldpcore.mechanisms.histogram import SummationHistogramEncoding
from ldpcore.mechanisms.options import checked_integer
from ldpcore.mechanisms.unary import UnaryEncoding
from ldpcore.privacy.posterior import checked_prior, log_likelihood
from ldpcore.shapes import AnyArray, FloatArray

MOST_REPORTS = 10_000_000
"""Reports that a success is computed for at most."""

_NEGLIGIBLE = 1e-15
_Z = 1.959963984540054
_MADE_ONE_BY_ONE = 20_000
"""Up to so many reports are made and counted, which is fast for every mechanism; above, counts are drawn."""
_MOST_ENTRIES = 40_000_000
"""Noisy histograms say more than their sum, so they must be made; so many numbers in one simulated attack."""
_MOST_SPREAD = 20_000
"""Reports of randomised response up to which the spread over the other cells is computed."""
_RARE_TIES, _FEW_TIES = 0.01, 5
_LOG_NEGLIGIBLE = -45.0


@dataclass(frozen=True, slots=True)
class Success:
    """How often a simulated attack was right.

    Parameters
    ----------
    share
        Of the trials; a guess among k equally likely cells counts 1 / k.
    low, high
        95 % interval (Wilson's; with ties it is a little too wide).
    trials
        Phones attacked.
    """

    share: float
    low: float
    high: float
    trials: int


def memo_draws(reports: int, *, reports_per_epoch: int) -> int:
    """Return how many different answers a remembering phone has given for one cell after so many reports.

    Examples
    --------
    >>> memo_draws(2016, reports_per_epoch=2016), memo_draws(2017, reports_per_epoch=2016)
    (1, 2)
    """
    reports = checked_integer("reports", reports, minimum=0)
    per_epoch = checked_integer("reports_per_epoch", reports_per_epoch, minimum=1)
    return -(-reports // per_epoch)


@singledispatch
def exact_success(mechanism: Mechanism, reports: int) -> float | None:
    """Return the probability that the best guess is right after t fresh reports from one cell.

    Parameters
    ----------
    mechanism
        The randomiser.
    reports
        Number t of reports, 1 to ten million. What a remembering phone gives away is the same at t = the number of
        its draws, see `memo_draws`.

    Returns
    -------
    Probability, every cell equally likely before and ties broken evenly; None where no exact form is known.
    """
    reports = _checked_reports(reports)
    if reports > 1:
        return None
    guess = best_guess(mechanism)
    return None if guess.how == MEASURED else guess.success


@exact_success.register
def _direct(mechanism: GeneralizedRandomizedResponse, reports: int) -> float | None:
    """Sum over how often the own cell is named of the chance that no other is named more often."""
    reports = _checked_reports(reports)
    p, q = float(mechanism.p), float(mechanism.q)
    others = mechanism.domain_size - 1
    # Chernoff: one report names the own cell or the other one, so their difference moves up with p, down with q.
    if others * math.exp(reports * math.log1p(-((math.sqrt(p) - math.sqrt(q)) ** 2))) < _NEGLIGIBLE:
        return 1.0
    if reports > _MOST_SPREAD:
        return None
    own = binom(reports, p)
    first, last = max(int(own.ppf(_NEGLIGIBLE)), 1), int(own.isf(_NEGLIGIBLE))
    named = np.arange(first, last + 1)
    alone = [_not_overtaken(reports - times, others, times) for times in named.tolist()]
    return min(float(own.pmf(named) @ np.array(alone)), 1.0)


def _not_overtaken(reports: int, cells: int, limit: int) -> float:
    """Return the mean of 1 / (1 + ties) where no cell gets more than `limit` of evenly spread reports, else 0.

    The counts are independent Poisson numbers given their sum. With b the generating function of such a number
    below the limit and a its chance to be at it, k ties among c cells have the generating function C(c, k) a^k
    b^(c-k), and the sum of these over 1 / (1 + k) is ((a + b)^(c+1) - b^(c+1)) / ((c + 1) a). Powers are taken in
    frequency space, with room enough that nothing wraps around.
    """
    if reports < limit:
        return 1.0
    if reports > cells * limit:
        return 0.0
    rate = reports / cells
    size = 1 << (4 * (reports + limit) + 256).bit_length()
    law = np.zeros(size)
    law[:limit] = np.exp(_poisson_log(np.arange(limit), rate))
    below = np.fft.rfft(law)
    at = math.exp(_poisson_log(limit, rate))
    scale = float(_poisson_log(reports, reports)) + math.log(size)
    if cells * at > _RARE_TIES:
        turned = np.exp(-2j * np.pi * (np.arange(below.size) * limit % size) / size)
        place = reports + limit
        both = _power(below + at * turned, cells + 1, place, scale) - _power(below, cells + 1, place, scale)
        return min(max(both / ((cells + 1) * at), 0.0), 1.0)
    chance, weight = 0.0, 1.0
    for ties in range(min(_FEW_TIES, reports // limit, cells) + 1):
        chance += weight * _power(below, cells - ties, reports - ties * limit, scale) / (ties + 1)
        weight *= (cells - ties) / (ties + 1) * at
    return min(max(chance, 0.0), 1.0)


def _poisson_log(count: npt.ArrayLike, rate: float) -> FloatArray:
    """Return the log-probability of Poisson counts; a third of the time of scipy's, which checks more."""
    return np.asarray(
        np.asarray(count) * math.log(rate) - rate - gammaln(np.asarray(count) + 1.0), np.float64
    )


def _power(transform: AnyArray, exponent: int, place: int, scale: float) -> float:
    """Return one place of the inverse transform of a power, over e^scale."""
    if exponent == 0:
        return float(place == 0) * 2 * (transform.size - 1) * math.exp(-scale)
    # Almost all frequencies of a sum of many numbers are zero to any accuracy.
    kept = np.flatnonzero(np.abs(transform) > math.exp((scale + _LOG_NEGLIGIBLE) / exponent))
    size = 2 * (transform.size - 1)
    logs = exponent * np.log(transform[kept]) + 2j * np.pi * (kept * place % size) / size - scale
    parts = np.exp(logs).real
    ends = (kept == 0) | (kept == transform.size - 1)
    return float(2 * parts.sum() - parts[ends].sum())


@exact_success.register
def _unary(mechanism: UnaryEncoding, reports: int) -> float:
    return _independent(
        _checked_reports(reports), float(mechanism.p), float(mechanism.q), mechanism.domain_size
    )


@exact_success.register
def _hashing(mechanism: LocalHashing, reports: int) -> float:
    return _independent(
        _checked_reports(reports), float(mechanism.p), float(mechanism.q), mechanism.domain_size
    )


def _independent(reports: int, p: float, q: float, cells: int) -> float:
    """Return the success where the own cell has Bin(t, p) supports and every other Bin(t, q), independently.

    Given m own supports, the d - 1 others do not exceed them, and share the guess with ties, with mean
    (F(m)^d - F(m - 1)^d) / (d f(m)), f and F being the law of Bin(t, q).
    """
    # Chernoff: the difference to another cell moves up with p (1 - q) and down with q (1 - p).
    affinity = (math.sqrt(p * q) + math.sqrt((1 - p) * (1 - q))) ** 2
    if (cells - 1) * math.exp(reports * math.log(affinity)) < _NEGLIGIBLE:
        return 1.0
    own, other = binom(reports, p), binom(reports, q)
    count = np.arange(int(own.ppf(_NEGLIGIBLE)), int(own.isf(_NEGLIGIBLE)) + 1)
    log_below, log_at = other.logcdf(count), other.logpmf(count)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        share = np.exp(np.minimum(log_at - log_below, 0.0))
        ties = np.where(share < 1e-12, 1.0, -np.expm1(cells * np.log1p(-share)) / (cells * share))
    return float(min((own.pmf(count) * np.exp((cells - 1) * log_below) * ties).sum(), 1.0))


def simulated_success(
    mechanism: Mechanism,
    reports: int,
    *,
    trials: int,
    rng: np.random.Generator,
    prior: npt.ArrayLike | None = None,
) -> Success | None:
    """Attack simulated phones, each at a cell drawn from the prior, with t fresh reports each.

    Parameters
    ----------
    mechanism
        The randomiser.
    reports
        Number t of reports of each phone.
    trials
        Phones, at least 1.
    rng
        Source of the cells and of the reports.
    prior
        (d,) what the attacker knows, and where the phones are; by default every cell is equally likely.

    Returns
    -------
    Share of right guesses with its error; None where so many reports of this randomiser are too many to make.
    """
    reports = _checked_reports(reports)
    trials = checked_integer("trials", trials, minimum=1, example=200)
    cells = mechanism.domain_size
    noisy = isinstance(mechanism, SummationHistogramEncoding)
    if noisy and reports * cells * trials > _MOST_ENTRIES:
        return None
    if reports > _MADE_ONE_BY_ONE and not mechanism.exact_joint_sampler:
        return None
    known = None if prior is None else checked_prior(prior, cells)
    with np.errstate(divide="ignore"):
        log_prior = 0.0 if known is None else np.log(known)
    truths = (
        rng.integers(cells, size=trials)
        if known is None
        else rng.choice(cells, size=trials, p=known / known.sum())
    )
    right = np.empty(trials)
    for trial, truth in enumerate(truths.tolist()):
        belief = log_prior + _fresh_log_likelihood(mechanism, truth, reports, rng)
        best = belief == belief.max()
        right[trial] = best[truth] / best.sum()
    return _with_interval(float(right.mean()), trials)


def _fresh_log_likelihood(
    mechanism: Mechanism, cell: int, reports: int, rng: np.random.Generator
) -> FloatArray:
    """Draw t reports from one cell and return their log-likelihood; (d,) float64."""
    if reports <= _MADE_ONE_BY_ONE:
        return log_likelihood(mechanism, mechanism.privatize(np.full(reports, cell), rng=rng))
    counts = np.zeros(mechanism.domain_size, np.int64)
    counts[cell] = reports
    drawn: AnyArray = mechanism.sample_counts(counts, rng=rng)
    return np.asarray(mechanism.support(drawn, n=reports) * math.log(mechanism.ratio), np.float64)


def _with_interval(share: float, trials: int) -> Success:
    centre = (share + _Z**2 / (2 * trials)) / (1 + _Z**2 / trials)
    half = _Z / (1 + _Z**2 / trials) * math.sqrt(share * (1 - share) / trials + _Z**2 / (4 * trials**2))
    return Success(share, max(centre - half, 0.0), min(centre + half, 1.0), trials)


def reports_until(mechanism: Mechanism, success: float) -> int | None:
    """Return the fewest fresh reports after which the best guess is right with at least a probability.

    Returns
    -------
    A number of reports; None where no exact form is known or ten million are not enough.
    """
    if not 0 < success < 1:
        raise ParameterError("success", f"The success must lie between 0 and 1, got {success:g}; try 0.5.")
    low, high = 0, 1
    while True:
        reached = exact_success(mechanism, high)
        if reached is None:
            return None
        if reached >= success:
            break
        if high >= MOST_REPORTS:
            return None
        low, high = high, min(2 * high, MOST_REPORTS)
    while high - low > 1:
        middle = (low + high) // 2
        reached = exact_success(mechanism, middle)
        if reached is not None and reached >= success:
            high = middle
        else:
            low = middle
    return high


def _checked_reports(reports: int) -> int:
    return checked_integer("reports", reports, minimum=1, maximum=MOST_REPORTS, example=288)
