"""What goes wrong on the device and in the promise: losses that add up, and reports that are about somebody.

Both are shown on one simulated phone of the scenario: what its reports say about its cell, guessed as well as anybody
can. The coins come from the scenario's seed, so that a link shows the same phone again.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Final

import h3
import numpy as np
from scipy.stats import binom

from ldpcore.domain import Domain
from ldpcore.faults import Cell, Line, Table
from ldpcore.guessing import best_guess
from ldpcore.mechanisms.direct import GeneralizedRandomizedResponse
from ldpcore.mechanisms.unary import UnaryEncoding
from ldpcore.privacy.composition import LIFETIME_DAYS, device_loss
from ldpcore.release import Release
from ldpcore.scenario import noise_generator
from ldpcore.schedule import Schedule
from ldpcore.shapes import AnyArray, BoolArray, FloatArray

TRIALS: Final = 200
"""Phones that a rate of success is measured on."""
MOST_REPORTS: Final = 500
WEEK: Final = 7
ADDRESS_RINGS: Final = 2
"""Rings of cells around a phone that its network address narrows it down to, in this illustration."""


# --- Losses that add up ---------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, slots=True)
class Repeats:
    """A week of reports of one phone that stays in one cell, randomised afresh or remembered.

    Parameters
    ----------
    cell
        Its cell, as an index of the domain.
    reports
        Reports of the week, at most 500.
    fresh, memo
        (d,) share of the reports that point to each cell.
    table
        How often the best guess is right, and the loss; columns remembered, fresh.
    """

    cell: int
    reports: int
    fresh: FloatArray
    memo: FloatArray
    table: Table


def repeat_reports(release: Release, schedule: Schedule, *, cell: int | None = None) -> Repeats:
    """Send a week of reports of one phone, and guess its cell.

    Parameters
    ----------
    release
        A run of the scenario; the phone is one of it.
    schedule
        How often it reports.
    cell
        Where it stays, as an index of the domain; the busiest cell where None.
    """
    mechanism: Any = release.mechanism
    own = int(np.argmax(release.population.true_counts)) if cell is None else cell
    reports = min(schedule.reports_a_day * WEEK, MOST_REPORTS)
    rng = noise_generator(release.scenario).spawn(1)[0]
    fresh = _support(mechanism, own, reports, rng)
    memo = _support(mechanism, own, 1, rng)
    trials = {
        "memo": _success(mechanism, own, 1, rng),
        "fresh": _success(mechanism, own, reports, rng),
    }
    epsilon = release.scenario.epsilon
    remembered = device_loss(epsilon, replace(schedule, memo=True), days=WEEK, distinct_cells=1)
    afresh = device_loss(epsilon, replace(schedule, memo=False), days=WEEK)
    planned = device_loss(epsilon, replace(schedule, memo=True), days=LIFETIME_DAYS, distinct_cells=1)
    spent = device_loss(epsilon, replace(schedule, memo=False), days=LIFETIME_DAYS)
    lines = (
        Line("reports", "Reports that are guessed from", (Cell(float(reports)), Cell(float(reports)))),
        Line(
            "guess",
            "The best guess names the phone's cell",
            tuple(
                Cell(mean, error, expected_success(mechanism, count))
                for (mean, error), count in ((trials["memo"], 1), (trials["fresh"], reports))
            ),
            "share",
        ),
        Line(
            "week",
            "Loss of a week (ε), of a phone in one cell",
            (Cell(remembered.epsilon), Cell(afresh.epsilon)),
        ),
        Line("lifetime", "Loss of two years (ε)", (Cell(planned.epsilon), Cell(spent.epsilon))),
    )
    return Repeats(
        own,
        reports,
        fresh / reports,
        memo,
        Table(("One answer, remembered", "Drawn afresh each time"), lines),
    )


def cap_table(epsilon: float, schedule: Schedule, *, visited: int) -> Table:
    """Return what a device that visits many cells in one epoch spends, by where the cap is kept.

    Parameters
    ----------
    epsilon
        Of one report.
    schedule
        Whose cap it is; answers are remembered.
    visited
        Distinct cells visited in the epoch.

    Notes
    -----
    A server that drops what exceeds the cap has it already: every distinct cell was sent.
    """
    kept = min(visited, schedule.cap)
    lines = (
        Line("sent", "Distinct answers that leave the phone", (Cell(float(kept)), Cell(float(visited)))),
        Line("counted", "Distinct answers that the server counts", (Cell(float(kept)), Cell(float(kept)))),
        Line("loss", "Loss of the epoch (ε)", (Cell(kept * epsilon), Cell(visited * epsilon))),
    )
    return Table(("Cap kept on the device", "Cap kept on the server"), lines)


def _support(mechanism: Any, cell: int, reports: int, rng: np.random.Generator) -> FloatArray:  # noqa: ANN401
    counts = mechanism.collect(np.full(reports, cell, np.int64), rng=rng)
    return np.asarray(mechanism.support(counts, n=reports), np.float64)


def _success(mechanism: Any, cell: int, reports: int, rng: np.random.Generator) -> tuple[float, float]:  # noqa: ANN401
    """Return how often the cell with most support is the phone's, ties shared, and its standard error."""
    right = np.empty(TRIALS)
    for trial in range(TRIALS):
        support = _support(mechanism, cell, reports, rng)
        top = support == support.max()
        right[trial] = top[cell] / top.sum()
    return float(right.mean()), float(right.std(ddof=1) / math.sqrt(TRIALS))


def expected_success(mechanism: Any, reports: int) -> float | None:  # noqa: ANN401 - any frequency oracle
    """Return how often the cell with most support is the phone's, every cell equally likely before.

    Exact for one report of every randomiser whose guess is known, and for any number of reports where bits are
    independent: the own cell has Bin(t, p) supports, each of the others Bin(t, q), and ties are shared, so that

        sum over k of P(own = k) (F(k)^d - F(k - 1)^d) / (d f(k)),

    with f and F of Bin(t, q). None where nothing is known.
    """
    if isinstance(mechanism, UnaryEncoding):
        p, q, d = float(mechanism.p), float(mechanism.q), mechanism.domain_size
        k = np.arange(reports + 1)
        others, at_most = binom.pmf(k, reports, q), binom.cdf(k, reports, q)
        # F(k)^d - F(k - 1)^d = F(k)^d (1 - (1 - f / F)^d), which keeps its digits where f is tiny and the own cell wins
        # alone.
        win = np.ones(k.size)
        some = (others > 0) & (at_most > 0)
        share = np.minimum(others[some] / at_most[some], 1.0)
        with np.errstate(divide="ignore"):
            win[some] = at_most[some] ** d * -np.expm1(d * np.log1p(-share)) / (d * others[some])
        return min(float(np.minimum(win, 1.0) @ binom.pmf(k, reports, p)), 1.0)
    return best_guess(mechanism).success if reports == 1 else None


# --- Who holds personal data? ----------------------------------------------------------------------


@dataclass(frozen=True, eq=False, slots=True)
class Beliefs:
    """What somebody believes about one phone's cell.

    Parameters
    ----------
    cell
        Its cell, as an index of the domain.
    before, after, with_address
        (d,) probabilities: from the public distribution, after one report, and after one report with the address.
    table
        Figures, columns in the same order.
    """

    cell: int
    before: FloatArray
    after: FloatArray
    with_address: FloatArray
    table: Table


def beliefs(release: Release) -> Beliefs:
    """Send one report of one phone, and say what it lets somebody believe.

    The phone is drawn from the scenario's devices. Before the report the observer knows how devices are spread; the
    network address tells the phone's surroundings, here two rings of cells, as a mobile network's gateway may.
    """
    mechanism: Any = release.mechanism
    prior = release.population.true_counts / release.population.size
    rng = noise_generator(release.scenario).spawn(2)[1]
    cell = int(rng.choice(prior.size, p=prior))
    near = surroundings(release.population.domain, cell)
    support = _support(mechanism, cell, 1, rng)
    before = prior.astype(np.float64)
    after = posterior(mechanism, support, before)
    narrow = np.where(near, before, 0.0)
    with_address = posterior(mechanism, support, narrow / narrow.sum())
    rates = _rates(release, rng)
    expected = (float(before.max()), expected_hit(mechanism, before), None)
    lines = (
        Line(
            "own",
            "Belief in this phone's cell",
            tuple(Cell(float(b[cell])) for b in (before, after, with_address)),
            "share",
        ),
        Line(
            "hit",
            "The best guess is right, over all phones",
            tuple(Cell(mean, error, exact) for (mean, error), exact in zip(rates, expected, strict=True)),
            "share",
        ),
        Line(
            "half",
            "Fewest cells that hold half of the belief",
            tuple(Cell(float(_half(belief))) for belief in (before, after, with_address)),
            "cells",
        ),
    )
    columns = ("Before the report", "After the report", "After the report, with its address")
    return Beliefs(cell, before, after, with_address, Table(columns, lines))


def _half(belief: FloatArray) -> int:
    return int(np.searchsorted(np.cumsum(np.sort(belief)[::-1]), 0.5) + 1)


def surroundings(domain: Domain, cell: int) -> BoolArray:
    """Return (d,) which cells lie within two rings of a cell."""
    disk = h3.grid_disk(domain.cell_ids()[cell], ADDRESS_RINGS)
    numbers = np.array([h3.str_to_int(other) for other in disk], dtype=np.uint64)
    return np.asarray(np.isin(domain.cells, numbers), np.bool_)


def likelihood_ratio(mechanism: Any) -> float:  # noqa: ANN401 - any frequency oracle
    """Return how much likelier a report is for a cell that it supports than for one that it doesn't.

    For independent bits that is p (1 - q) / ((1 - p) q), for the other randomisers with one pair p and q it is e to
    the epsilon that the exact probabilities have.
    """
    if isinstance(mechanism, UnaryEncoding):
        p, q = mechanism.p, mechanism.q
        return float(p * (1 - q) / ((1 - p) * q))
    return math.exp(mechanism.epsilon_effective)


def posterior(mechanism: Any, support: AnyArray, prior: FloatArray) -> FloatArray:  # noqa: ANN401
    """Return (d,) belief after one report: the prior, times the ratio where the report points, over the sum."""
    weights = prior * np.where(support > 0, likelihood_ratio(mechanism), 1.0)
    return np.asarray(weights / weights.sum(), np.float64)


def _rates(release: Release, rng: np.random.Generator) -> list[tuple[float, float]]:
    """Return how often the best guess is right before, after, and after with the address, with standard errors."""
    mechanism: Any = release.mechanism
    prior = release.population.true_counts / release.population.size
    domain = release.population.domain
    right = np.empty((TRIALS, 3))
    for trial, cell in enumerate(rng.choice(prior.size, size=TRIALS, p=prior).tolist()):
        support = _support(mechanism, cell, 1, rng)
        narrow = np.where(surroundings(domain, cell), prior, 0.0)
        for place, belief in enumerate(
            (
                prior,
                posterior(mechanism, support, prior),
                posterior(mechanism, support, narrow / narrow.sum()),
            )
        ):
            top = belief == belief.max()
            right[trial, place] = top[cell] / top.sum()
    errors = right.std(axis=0, ddof=1) / math.sqrt(TRIALS)
    return list(zip(right.mean(axis=0).tolist(), errors.tolist(), strict=True))


def expected_hit(mechanism: Any, prior: FloatArray) -> float | None:  # noqa: ANN401 - any frequency oracle
    """Return how often the best guess from one report is right under a prior, exactly; None where no form is known.

    Independent bits: with cells in falling order of the prior the guess is the first supported one, unless the first
    of all is likelier still. Direct response: the sum over reports of the greatest of prior times probability.
    """
    if isinstance(mechanism, GeneralizedRandomizedResponse):
        p, q = float(mechanism.p), float(mechanism.q)
        order = np.sort(prior)[::-1]
        others = np.full(prior.size, order[0])
        others[np.argmax(prior)] = order[1]
        return float(np.maximum(prior * p, others * q).sum())
    if not isinstance(mechanism, UnaryEncoding):
        return None
    p, q, ratio = float(mechanism.p), float(mechanism.q), likelihood_ratio(mechanism)
    order = np.sort(prior)[::-1]
    first = float(order[0])
    rank = np.arange(order.size)
    wins = ratio * order > first
    wins[0] = True
    hit = np.where(wins, order * p * (1 - q) ** rank, 0.0)
    # The first of all is also guessed where its own bit is 0 and no cell that could beat it is supported.
    hit[0] += first * (1 - p) * (1 - q) ** (wins.sum() - 1)
    return float(hit.sum())
