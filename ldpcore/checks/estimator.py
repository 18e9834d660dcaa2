"""Two checks of the estimator: that it is right on average, and that what is published keeps the floor."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.stats import binom

from ldpcore.checks import FAILURE, ITEMS, VERSIONS, Check, Progress
from ldpcore.device.wire import make_client, payload_matrix
from ldpcore.estimate import estimate_counts
from ldpcore.mechanisms import Mechanism
from ldpcore.plain_numbers import chance
from ldpcore.privacy.audit import PayloadSource
from ldpcore.privacy.unbiasedness import judge_estimates
from ldpcore.release import Status, decide
from ldpcore.shapes import AnyArray, BoolArray, FloatArray, IntArray

DRAWS: Final = 400
DEVICES: Final = 50
REDRAWS: Final = 200

_MOST_DEVICES = 10**9
_REFUSED_BY_CHANCE = 3
"""Honest reports have an impossible weight once in 10^9; four of a check's 20,000 do once in 10^20."""

Publisher = Callable[[AnyArray, int], tuple[FloatArray, BoolArray]]
"""From counts and number of reports to `at_least` and whether each cell is published."""


@dataclass(frozen=True, slots=True)
class Publishing:
    """The rules by which cells are published, as in `Scenario`."""

    floor: int = 300
    confidence: float = 0.95
    correction: str = "bonferroni"
    interval: str = "score"


def shipped_publisher(mechanism: Mechanism, rules: Publishing) -> Publisher:
    """Return the estimator and the decision that ship."""

    def publish(counts: AnyArray, n: int) -> tuple[FloatArray, BoolArray]:
        estimates = estimate_counts(
            mechanism,
            counts,
            n=n,
            confidence=rules.confidence,
            correction=rules.correction,
            interval=rules.interval,
        )
        return estimates.at_least, np.equal(decide(estimates, floor=rules.floor), Status.PUBLISHED)

    return publish


def check_unbiased(
    mechanism: Mechanism,
    *,
    client: PayloadSource | None = None,
    estimate: Callable[[AnyArray, int], FloatArray] | None = None,
    draws: int = DRAWS,
    devices: int = DEVICES,
    progress: Progress | None = None,
) -> Check:
    """Let a known crowd report many times, and hold mean and spread of the estimates against the exact law.

    Parameters
    ----------
    mechanism
        Says what the law is.
    client, estimate
        What is checked; by default those that ship.
    draws, devices
        Reports are drawn `draws` times from each of `devices` devices.
    progress
        Told the share that is done.
    """
    client = client or make_client(mechanism, VERSIONS[0])
    cells = mechanism.domain_size
    true_counts = known_crowd(cells, devices)
    holders = np.repeat(np.arange(cells), true_counts).tolist()
    estimates, refused = np.empty((draws, cells)), 0
    for draw in range(draws):
        payloads = [client.payload(cell) for cell in holders]
        unpacked = mechanism.unpack(payload_matrix(payloads, mechanism.payload_bytes))
        counts, n = mechanism.aggregate(unpacked.reports), len(unpacked.reports)
        refused += devices - n
        estimates[draw] = estimate(counts, n) if estimate else mechanism.estimate(counts, n=n)
        if progress:
            progress((draw + 1) / draws)
    fit = judge_estimates(mechanism, estimates, true_counts, failure=FAILURE)
    worst, odd = int(fit.mean_chance.argmin()), int(fit.spread_chance.argmin())
    passed = fit.mean_accused.size == fit.spread_accused.size == 0 and refused <= _REFUSED_BY_CHANCE
    evidence = (
        f"{draws * devices:,} reports of the client ({draws} draws of {devices} devices) over {cells:,} cells. "
        f"Mean: cell {worst} is estimated as {fit.mean[worst]:.2f} and holds {true_counts[worst]} devices, "
        f"{abs(fit.error[worst]):.2f} standard errors apart, the least likely of all cells "
        f"(probability {chance(float(fit.mean_chance[worst]))}). "
        f"Spread: the squared errors of cell {odd} are {fit.spread[odd]:.2f} times their exact variance "
        f"(probability at most {chance(float(fit.spread_chance[odd]))}). "
        f"Accused below {chance(FAILURE / (4 * cells), 1)}: {fit.mean_accused.size} means, {fit.spread_accused.size} spreads."
    )
    if refused:
        evidence += f" {refused} reports were refused as malformed."
    return Check(
        ITEMS[0],
        passed,
        evidence,
        {
            "reports": draws * devices,
            "worst_standard_errors": float(abs(fit.error[worst])),
            "worst_spread": float(fit.spread[odd]),
            "means_accused": int(fit.mean_accused.size),
            "spreads_accused": int(fit.spread_accused.size),
            "refused": refused,
        },
    )


def check_floor(
    mechanism: Mechanism,
    *,
    rules: Publishing,
    publish: Publisher | None = None,
    redraws: int = REDRAWS,
    seed: int = 1,
    progress: Progress | None = None,
) -> Check:
    """Put one device fewer than the floor into almost every cell, and count how often such a cell is published."""
    floor = max(rules.floor, 1)
    if not mechanism.exact_joint_sampler:
        # Every report has to be made: a low floor keeps the crowd small, and the promise is the same.
        floor = min(floor, 30)
    rules = Publishing(floor, rules.confidence, rules.correction, rules.interval)
    publish = publish or shipped_publisher(mechanism, rules)
    cells, alpha = mechanism.domain_size, 1 - rules.confidence
    true_counts = np.full(cells, floor - 1, np.int64)
    true_counts[0] = _clear_of_the_floor(mechanism, true_counts, floor)
    n = int(true_counts.sum())
    rng = np.random.default_rng(seed)
    wrong = np.zeros(cells, np.int64)
    draws_wrong = rows = unrecorded = 0
    for redraw in range(redraws):
        at_least, published = publish(mechanism.sample_counts(true_counts, rng=rng), n)
        false = published & (true_counts < floor)
        wrong += false
        draws_wrong += bool(false.any())
        rows += int(published.sum())
        unrecorded += int((published & ~(at_least >= floor)).sum())
        if progress:
            progress((redraw + 1) / redraws)
    # Without a correction the promise is that of each cell by itself.
    by_cell = rules.correction == "none"
    seen = int(wrong.max()) if by_cell else draws_wrong
    likely = float(binom.sf(seen - 1, redraws, alpha)) * (cells if by_cell else 1)
    passed = likely > FAILURE and unrecorded == 0
    whom = "the most often published one" if by_cell else "one or more of them"
    return Check(
        ITEMS[4],
        passed,
        f"{redraws} redraws of {n:,} devices, {floor - 1:,} in each of {cells - 1:,} cells, one fewer than the floor of "
        f"{floor:,}: {whom} came out published in {seen} redraws, {100 * seen / redraws:.3g} %. Promised are at most "
        f"{100 * alpha:.3g} %, which give so many with a probability of {chance(min(likely, 1.0))}. "
        f"{rows:,} rows were published, each with its at_least, the devices that are in the cell with that confidence: "
        f"{unrecorded} of them below the floor. How many devices really are in a cell no server can see.",
        {"redraws": redraws, "redraws_wrong": seen, "allowed": alpha, "rows": rows, "rows_below": unrecorded},
    )


def known_crowd(cells: int, devices: int) -> IntArray:
    """Return (cells,) devices: each cell half of those that are left, the second half of the cells empty."""
    counts = np.zeros(cells, np.int64)
    left = devices
    for cell in range(max(cells // 2, 1)):
        counts[cell] = (left + 1) // 2
        left -= int(counts[cell])
    counts[0] += left
    return counts


def _clear_of_the_floor(mechanism: Mechanism, true_counts: IntArray, floor: int) -> int:
    """Return devices enough that their cell is published in almost every redraw."""
    counts = true_counts.copy()
    for _ in range(30):
        error = float(np.sqrt(mechanism.variance(counts, n=int(counts.sum()))[0]))
        counts[0] = min(floor + 12 * error + 1, _MOST_DEVICES)
    return int(counts[0])
