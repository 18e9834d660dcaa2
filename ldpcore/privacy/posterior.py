"""What somebody who knows the randomiser believes about a phone's cell after reading its reports.

Bayes' rule: posterior of a cell is proportional to its prior times the probability of the reports if the
phone were there. In every mechanism of the table whose report has a support set, a report is R times as likely
from a supported cell as from any other, so the likelihood of t independent reports is R to the number of them
that support the cell, times something that is the same for all cells. The noisy histogram is the exception:
there an entry x tells by |x| - |x - 1| how much more likely its cell is.

What epsilon bounds is not the posterior but its odds: for any two cells and any prior, one report changes the
odds by a factor of at most e^epsilon, t independent ones by at most e^(t epsilon). A report that is only
repeated, as a memo does, says nothing new: hand each distinct report in once.

A sum of logarithms replaces the product of likelihoods, so thousands of reports neither overflow nor vanish.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import singledispatch

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

from ldpcore.errors import ParameterError
from ldpcore.mechanisms import Mechanism
from ldpcore.mechanisms.histogram import GRID, SummationHistogramEncoding
from ldpcore.shapes import AnyArray, FloatArray

_SHARE_TOLERANCE = 1e-6
_ENTRIES_AT_ONCE = 1 << 22


def uniform_prior(domain_size: int) -> FloatArray:
    """Return the prior that holds every cell for equally likely; (domain_size,) float64."""
    return np.full(domain_size, 1.0 / domain_size)


def informed_prior(base: npt.ArrayLike, *, cell: int, share: float) -> FloatArray:
    """Return a prior that puts a share on one cell and spreads the rest as another prior does.

    Parameters
    ----------
    base
        (d,) prior of somebody who does not suspect the cell.
    cell
        The suspected one, in [0, d).
    share
        Probability it gets, from 0 to 1.

    Examples
    --------
    >>> informed_prior([0.25, 0.25, 0.5], cell=0, share=0.5).round(3).tolist()
    [0.5, 0.167, 0.333]
    """
    spread = checked_prior(base)
    if not 0 <= cell < spread.size:
        raise ParameterError("cell", f"The suspected cell must lie in 0..{spread.size - 1}, got {cell}.")
    if not 0 <= share <= 1:
        raise ParameterError("share", f"The share of the suspected cell must lie in 0..1, got {share}.")
    spread[cell] = 0.0
    left = float(spread.sum())
    if left > 0:
        spread *= (1 - share) / left
    elif share < 1:
        raise ParameterError("share", "Nothing but the suspected cell is possible, so its share must be 1.")
    spread[cell] = share
    return spread


def checked_prior(prior: npt.ArrayLike, domain_size: int | None = None) -> FloatArray:
    """Return a prior as a new (d,) float64 array, refusing what is none.

    Raises
    ------
    ParameterError
        If it has another length, holds a negative or infinite number, or does not add up to 1.
    """
    shares = np.array(prior, np.float64)
    if shares.ndim != 1 or shares.size == 0 or (domain_size is not None and shares.size != domain_size):
        wanted = "one probability a cell" if domain_size is None else f"{domain_size} probabilities"
        raise ParameterError("prior", f"A prior has {wanted}, got shape {shares.shape}.")
    if not np.isfinite(shares).all() or (shares < 0).any():
        raise ParameterError("prior", "A prior has no negative and no infinite probability.")
    if abs(float(shares.sum()) - 1) > _SHARE_TOLERANCE:
        raise ParameterError("prior", f"The probabilities of a prior add up to 1, not {shares.sum():.6g}.")
    return shares


@singledispatch
def log_likelihood(mechanism: Mechanism, reports: AnyArray) -> FloatArray:
    """Return the log-probability of some independent reports under each cell, up to a common constant.

    Parameters
    ----------
    mechanism
        The randomiser.
    reports
        Reports of it as `privatize` makes them, first axis n; may be empty.

    Returns
    -------
    Array
        (d,) float64. Only differences between cells mean anything: each is at most n epsilon.

    Raises
    ------
    ParameterError
        If a report is one that no client of this mechanism sends.
    """
    supports = mechanism.support(mechanism.aggregate(reports), n=len(reports))
    return np.asarray(supports * math.log(mechanism.ratio), np.float64)


@log_likelihood.register
def _noisy_histogram(mechanism: SummationHistogramEncoding, reports: AnyArray) -> FloatArray:
    # A discrete Laplace number z has probability proportional to e^(-|z| epsilon / (2 GRID)), and z is the entry,
    # less GRID at the own cell.
    mechanism.supports(reports, 0)  # refuses what no client sends
    total = np.zeros(mechanism.domain_size)
    rows = max(1, _ENTRIES_AT_ONCE // mechanism.domain_size)
    for start in range(0, len(reports), rows):
        part = reports[start : start + rows]
        total += (np.abs(part) - np.abs(part - GRID)).sum(axis=0)
    return total * (mechanism.epsilon / (2 * GRID))


def posterior(mechanism: Mechanism, reports: AnyArray, *, prior: npt.ArrayLike | None = None) -> FloatArray:
    """Return the probability of each cell after some independent reports of one phone that did not move.

    Parameters
    ----------
    mechanism
        The randomiser.
    reports
        Reports of it as `privatize` makes them, first axis n. With none the prior comes back.
    prior
        (d,) probabilities before; by default every cell is equally likely.

    Returns
    -------
    Array
        (d,) float64, adds up to 1.

    Raises
    ------
    ParameterError
        If the prior is none, or a report is one that no client of this mechanism sends.

    Examples
    --------
    >>> from ldpcore.mechanisms import make_mechanism
    >>> grr = make_mechanism("grr", epsilon=2, domain_size=10)
    >>> posterior(grr, np.array([0], np.uint32))[:2].round(4).tolist()
    [0.4509, 0.061]
    """
    return from_log_likelihood(log_likelihood(mechanism, reports), prior=prior)


def posterior_path(
    mechanism: Mechanism,
    reports: AnyArray,
    after: Sequence[int],
    *,
    prior: npt.ArrayLike | None = None,
) -> FloatArray:
    """Return the posterior after the first t reports, for several t.

    Parameters
    ----------
    mechanism
        The randomiser.
    reports
        As in `posterior`.
    after
        Numbers of reports, ascending, each from 0 to the number there is.
    prior
        As in `posterior`.

    Returns
    -------
    Array
        (len(after), d) float64, each row adds up to 1.
    """
    steps = list(after)
    if any(not 0 <= step <= len(reports) for step in steps) or steps != sorted(steps):
        raise ParameterError(
            "after", f"Numbers of reports must ascend from 0 to at most {len(reports)}, got {steps}."
        )
    total = np.zeros(mechanism.domain_size)
    rows = np.empty((len(steps), mechanism.domain_size))
    seen = 0
    for row, step in enumerate(steps):
        if step > seen:
            total += log_likelihood(mechanism, reports[seen:step])
            seen = step
        rows[row] = from_log_likelihood(total, prior=prior)
    return rows


def from_log_likelihood(log_likelihoods: FloatArray, *, prior: npt.ArrayLike | None = None) -> FloatArray:
    """Apply Bayes' rule to log-likelihoods that are known up to a common constant; (d,) float64."""
    size = log_likelihoods.size
    shares = uniform_prior(size) if prior is None else checked_prior(prior, size)
    with np.errstate(divide="ignore"):
        weights = np.log(shares) + log_likelihoods
    return np.asarray(np.exp(weights - logsumexp(weights)), np.float64)


def cells_holding(posterior_shares: npt.ArrayLike, share: float = 0.95) -> int:
    """Return the smallest number of cells that together hold at least a share of the posterior.

    Examples
    --------
    >>> cells_holding([0.6, 0.3, 0.1], 0.85)
    2
    """
    ordered = np.sort(np.asarray(posterior_shares, np.float64))[::-1]
    reached = int(np.searchsorted(np.cumsum(ordered), share * (1 - 1e-12)))
    return min(reached + 1, ordered.size)
