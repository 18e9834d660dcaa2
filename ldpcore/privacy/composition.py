"""What the reports of one device add up to.

Fresh reports compose by addition (sequential composition), also where later ones are chosen by what earlier ones said.
A device that remembers its answers spends epsilon once per distinct cell and epoch, *for which cells they were*:
between trajectories that change cell at the same reports the loss is at most that. When it changed cell stays visible,
whatever epsilon is: two equal cells never give two different answers, two different ones may, so no finite loss covers
the pattern of changes.

References
----------
C. Dwork, G. Rothblum, S. Vadhan: Boosting and differential privacy (2010).
P. Kairouz, S. Oh, P. Viswanath: The composition theorem for differential privacy (2015), theorem 3.3.
Ú. Erlingsson, V. Pihur, A. Korolova: RAPPOR (2014), for memoisation.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.special import gammaln, logsumexp

from ldpcore.errors import ParameterError
from ldpcore.mechanisms.options import checked_integer
from ldpcore.schedule import Schedule

LIFETIME_DAYS: Final = 730
"""Two years, about how long a phone is kept; what "lifetime" means on the pages."""

MEMO_CAVEAT: Final = "This counts which cells were reported. When the device changed cell stays visible, however small epsilon is."


@dataclass(frozen=True, slots=True)
class Loss:
    """What one device spends at most over some days.

    Parameters
    ----------
    epsilon
        Total privacy loss.
    days
        Days in a row that it covers.
    reports
        Reports sent in them at most.
    draws
        Reports drawn afresh among them; the others repeat one of these.
    epochs
        Epochs that the days touch at most.
    formula
        The sum with its numbers, for people.
    pattern_hidden
        Whether it covers when the device changed cell as well; False where answers are remembered and the device
        reports more than once in an epoch.
    """

    epsilon: float
    days: int
    reports: int
    draws: int
    epochs: int
    formula: str
    pattern_hidden: bool


def device_loss(epsilon: float, schedule: Schedule, *, days: int, distinct_cells: int | None = None) -> Loss:
    """Return what the worst device spends in any `days` days in a row.

    Parameters
    ----------
    epsilon
        Of one report.
    schedule
        How often the device reports and what it remembers.
    days
        At least 1. They may begin at any day of an epoch; the worst is taken.
    distinct_cells
        Cells that the device visits in each epoch, where that is known to be fewer than the cap; at most the size of
        the domain.

    Examples
    --------
    The guide's phone, every five minutes at epsilon 1, afresh and with a memory of ten cells a day:

    >>> device_loss(1.0, Schedule(reports_a_day=288, memo=False), days=1).epsilon
    288.0
    >>> device_loss(1.0, Schedule(reports_a_day=288, cap=10, epoch_days=1), days=1).epsilon
    10.0
    """
    epsilon = _checked_epsilon(epsilon)
    days = checked_integer("days", days, minimum=1, example=7)
    reports = schedule.reports_a_day * days
    epochs = (days + schedule.epoch_days - 2) // schedule.epoch_days + 1
    if not schedule.memo:
        return Loss(
            epsilon=reports * epsilon,
            days=days,
            reports=reports,
            draws=reports,
            epochs=epochs,
            formula=f"{reports:,} reports × ε {epsilon:g} = {reports * epsilon:,.6g}",
            pattern_hidden=True,
        )
    cells = schedule.cap
    if distinct_cells is not None:
        cells = min(cells, checked_integer("distinct_cells", distinct_cells, minimum=1, example=5))
    draws = _most_draws(schedule, cells, days)
    return Loss(
        epsilon=draws * epsilon,
        days=days,
        reports=reports,
        draws=draws,
        epochs=epochs,
        formula=_memo_formula(epsilon, draws=draws, cells=cells, epochs=epochs, reports=reports),
        pattern_hidden=schedule.reports_a_day * min(days, schedule.epoch_days) == 1,
    )


def _most_draws(schedule: Schedule, cells: int, days: int) -> int:
    """Return the draws of the worst alignment: the days begin on each day of an epoch in turn."""
    first = np.minimum(np.arange(1, schedule.epoch_days + 1), days)
    full, last = np.divmod(days - first, schedule.epoch_days)
    a_day = schedule.reports_a_day
    in_epochs = (
        np.minimum(first * a_day, cells)
        + full * min(schedule.epoch_days * a_day, cells)
        + np.minimum(last * a_day, cells)
    )
    return int(in_epochs.max())


def _memo_formula(epsilon: float, *, draws: int, cells: int, epochs: int, reports: int) -> str:
    total = f"{draws * epsilon:,.6g}"
    if draws == reports:
        return f"{draws:,} reports × ε {epsilon:g} = {total}"
    if draws == epochs * cells:
        return f"{epochs:,} × {cells:,} cells × ε {epsilon:g} = {total}"
    return f"{draws:,} first answers × ε {epsilon:g} = {total}"


def advanced_composition(epsilon: float, *, reports: int, delta: float) -> float:
    """Return the epsilon of `reports` fresh reports together with a chance delta that it does not hold.

    The closed form of Dwork, Rothblum and Vadhan; where it is above plain addition, addition is the better statement.
    """
    epsilon, delta = _checked_epsilon(epsilon), _checked_delta(delta)
    reports = checked_integer("reports", reports, minimum=1, example=288)
    return epsilon * math.sqrt(2 * reports * math.log(1 / delta)) + reports * epsilon * math.expm1(epsilon)


def optimal_composition(epsilon: float, *, reports: int, delta: float) -> float:
    """Return the smallest epsilon of the grid (k - 2i) epsilon at which k fresh reports are (epsilon, delta)-private.

    Parameters
    ----------
    epsilon
        Of one report.
    reports
        Number k of fresh reports, at least 1.
    delta
        Chance that the statement does not hold, between 0 and 1.

    Notes
    -----
    Theorem 3.3 of Kairouz, Oh and Viswanath: exact for mechanisms that are only known to be epsilon-private. The sums
    are taken in logarithms, so a thousand reports do not overflow.

    Examples
    --------
    >>> optimal_composition(1.0, reports=288, delta=1e-6)
    200.0
    """
    epsilon, delta = _checked_epsilon(epsilon), _checked_delta(delta)
    k = checked_integer("reports", reports, minimum=1, example=288)
    low, high = 0, k // 2  # the answer's i: delta grows with i
    while low < high:
        middle = (low + high + 1) // 2
        if _log_delta(epsilon, k, middle) <= math.log(delta):
            low = middle
        else:
            high = middle - 1
    return (k - 2 * low) * epsilon


def _log_delta(epsilon: float, k: int, i: int) -> float:
    if i == 0:
        return -math.inf
    chosen = np.arange(i)
    log_choose = gammaln(k + 1) - gammaln(chosen + 1) - gammaln(k - chosen + 1)
    # e^((k-l) eps) - e^((k-2i+l) eps) = e^((k-l) eps) (1 - e^(-2 (i-l) eps))
    terms = log_choose + (k - chosen) * epsilon + np.log(-np.expm1(-2.0 * (i - chosen) * epsilon))
    return float(logsumexp(terms) - k * np.logaddexp(0.0, epsilon))


def _checked_epsilon(epsilon: float) -> float:
    if not (math.isfinite(epsilon) and epsilon > 0):
        raise ParameterError("epsilon", f"Epsilon must be greater than 0, got {epsilon:g}; try 1.")
    return float(epsilon)


def _checked_delta(delta: float) -> float:
    if not 0 < delta < 1:
        raise ParameterError("delta", f"Delta must lie between 0 and 1, got {delta:g}; try 0.000001.")
    return float(delta)
