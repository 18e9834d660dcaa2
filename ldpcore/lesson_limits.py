"""The lesson's numbers about limits: reports of many days, beliefs held before, and forged reports."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np

from ldpcore.errors import ParameterError
from ldpcore.lesson import probabilities
from ldpcore.mechanisms import FrequencyOracle, Mechanism, make_mechanism
from ldpcore.mechanisms.options import checked_integer
from ldpcore.privacy.averaging import exact_success, memo_draws
from ldpcore.privacy.composition import device_loss
from ldpcore.privacy.posterior import informed_prior, posterior, posterior_path, uniform_prior
from ldpcore.schedule import Schedule
from ldpcore.shapes import BoolArray, FloatArray, IntArray

DISTRICTS: Final = 10
"""Cells of the small domain of the last two steps."""


@lru_cache(maxsize=4096)
def named_right(epsilon: float, districts: int, reports: int) -> float:
    """Return how often an observer of fresh reports about one district names it.

    Every district is equally likely before, and the phone answers by generalised randomised response with fresh
    coins each time; see `ldpcore.privacy.averaging`.

    Parameters
    ----------
    epsilon
        Of one report.
    districts
        At least 2.
    reports
        Independent reports, 1 to 366. Those of a phone that remembers its answer: `memo_draws`.

    Examples
    --------
    >>> [round(named_right(2.0, 10, reports), 3) for reports in (1, 5, 10)]
    [0.451, 0.71, 0.887]
    """
    reports = checked_integer("reports", reports, minimum=1, maximum=366)
    success = exact_success(_direct(epsilon, districts), reports)
    assert success is not None  # noqa: S101 - exact for this randomiser up to 20,000 reports
    return success


def _direct(epsilon: float, districts: int) -> Mechanism:
    return make_mechanism("grr", epsilon=epsilon, domain_size=districts)


@dataclass(frozen=True, eq=False, slots=True)
class Watch:
    """What an observer of one phone believes, day by day.

    Parameters
    ----------
    reported
        (days,) int64, the district reported each day.
    beliefs
        (days, districts) float64, the observer's belief after each day; rows sum to 1.
    home
        The phone's own district.
    """

    reported: IntArray
    beliefs: FloatArray
    home: int


def watch(epsilon: float, *, days: int, memory_days: int, rng: np.random.Generator) -> Watch:
    """Let a phone report its district every day and an observer add up what is seen.

    Parameters
    ----------
    epsilon
        Of one fresh report.
    days
        At least 1.
    memory_days
        How long a randomised answer is kept and sent again, at least 1.
    rng
        Source of the coins.
    """
    days = checked_integer("days", days, minimum=1)
    mechanism = _direct(epsilon, DISTRICTS)
    home = int(rng.integers(DISTRICTS))
    draws = memo_draws(days, reports_per_epoch=memory_days)
    fresh = mechanism.privatize(np.full(draws, home), rng=rng)
    # Copies of an answer say nothing new, and the observer knows which are copies.
    path = posterior_path(mechanism, fresh, range(1, draws + 1))
    return Watch(
        reported=np.repeat(np.asarray(fresh, np.int64), memory_days)[:days],
        beliefs=np.repeat(path, memory_days, axis=0)[:days],
        home=home,
    )


def observed_right(epsilon: float, *, reports: int, phones: int, rng: np.random.Generator) -> BoolArray:
    """Simulate an observer of many phones and say of which the district is named rightly.

    Parameters
    ----------
    epsilon
        Of one fresh report.
    reports
        Independent reports of each phone, at least 1.
    phones
        Phones, each with a district of its own drawn at random.
    rng
        Source of homes, coins and of the choice between districts reported equally often.

    Returns
    -------
    (phones,) bool
    """
    mechanism = _direct(epsilon, DISTRICTS)
    home = rng.integers(DISTRICTS, size=phones)
    reported = np.asarray(mechanism.privatize(np.repeat(home, reports), rng=rng)).reshape(phones, reports)
    counts = (reported[:, :, None] == np.arange(DISTRICTS)).sum(axis=1)
    named = (counts + rng.random(counts.shape)).argmax(axis=1)  # a tie is settled by chance
    return np.asarray(named == home)


def belief(epsilon: float, *, prior: float, districts: int = DISTRICTS) -> tuple[float, float]:
    """Return an observer's belief that a phone is at home after a report of home, and of another district.

    Parameters
    ----------
    epsilon
        Of the report, by generalised randomised response.
    prior
        Belief before that the phone is at home, strictly between 0 and 1; the rest is spread evenly over the
        other districts.
    districts
        At least 2.

    Examples
    --------
    >>> [round(value, 4) for value in belief(2.0, prior=0.5)]
    [0.8808, 0.369]
    """
    if not 0 < prior < 1:
        raise ParameterError("prior", f"The belief before must lie between 0 and 1, got {prior:g}; try 0.5.")
    mechanism = _direct(epsilon, districts)
    before = informed_prior(uniform_prior(districts), cell=0, share=prior)
    home, away = (
        float(posterior(mechanism, np.array([named], np.uint32), prior=before)[0]) for named in (0, 1)
    )
    return home, away


def remembered_loss(epsilon: float, *, days: int, epoch_days: int) -> tuple[float, float]:
    """Return what a phone that remembers its answer spends on one unchanged place, at least and at most.

    A remembered answer costs its epsilon once an epoch, not once for ever: the least is for days that begin with an
    epoch, the most for the worst place of their first day in one.

    Parameters
    ----------
    epsilon
        Of one fresh report.
    days
        Days with one report each, at least 1.
    epoch_days
        Days that an answer is kept.

    Examples
    --------
    >>> remembered_loss(2.0, days=10, epoch_days=7), remembered_loss(2.0, days=7, epoch_days=7)
    ((4.0, 6.0), (2.0, 4.0))
    """
    most = device_loss(epsilon, Schedule(epoch_days=epoch_days), days=days, distinct_cells=1).epsilon
    return epsilon * memo_draws(days, reports_per_epoch=epoch_days), most


def forged_shift(mechanism: FrequencyOracle) -> float:
    """Return by how many devices one forged report for a cell lifts that cell's estimate: (1 - q) / (p - q).

    The forged report counts as one more report, so an honest phone elsewhere lifts it by 0 on average.
    """
    p, q = probabilities(mechanism)
    return (1 - q) / (p - q)
