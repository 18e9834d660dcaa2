"""Exercises with solutions, made of one scenario's own numbers.

Every number is computed here from the same core as the page, so that a sheet and the page of the same link
agree; a solution names its formula with the numbers in it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from ldpcore.lesson import Busy, Inversion, busy, inversion, probabilities, written_for
from ldpcore.lesson_errors import Grid, grid
from ldpcore.lesson_limits import DISTRICTS, belief, forged_shift, named_right
from ldpcore.mechanisms import make_mechanism
from ldpcore.postprocess import clamping_bias
from ldpcore.release import Release
from ldpcore.settings import Scenario
from ldpcore.trips.cities import CITIES, city_domain

REPEATS: Final = (1, 5, 10)
"""Fresh reports after which a sheet asks how often an observer is right."""
_YES: Final = 400
_ASKED: Final = 1_000
_LIFT: Final = 10_000


@dataclass(frozen=True, slots=True)
class Facts:
    """Every number a sheet or the teacher's notes print.

    Parameters
    ----------
    scenario
        The lesson's scenario.
    place
        Its city, in words.
    class_seed
        The class's seed, or none.
    coin
        Chance that a phone answers a yes-or-no question truly.
    odds
        e to the epsilon that is really spent: the greatest factor on anybody's odds.
    example
        The busiest cell, taken apart.
    example_cell
        Its H3 name.
    busy
        What the raw counts look like.
    grids
        The scenario's grid and the next finer one.
    empty_error
        Standard error of an empty cell, devices.
    clamped
        What an empty cell gains by clamping, devices.
    named
        Chance that an observer names one of ten districts after `REPEATS` fresh reports.
    beliefs
        After a report of home, with a belief of 1 in 10 before and of 1 in 2.
    forged
        Devices by which one forged report lifts a cell.
    """

    scenario: Scenario
    place: str
    class_seed: int | None
    coin: float
    odds: float
    example: Inversion
    example_cell: str
    busy: Busy
    grids: tuple[Grid, Grid]
    empty_error: float
    clamped: float
    named: tuple[float, ...]
    beliefs: tuple[float, float]
    forged: float


@dataclass(frozen=True, slots=True)
class Exercise:
    """One exercise: its step, the task in words, and the solution with its numbers."""

    step: int
    task: str
    solution: str


def facts_of(release: Release, *, class_seed: int | None = None) -> Facts:
    """Compute what the sheets print from the run that the lesson shows.

    Parameters
    ----------
    release
        The run of the lesson's scenario, on a bundled city, with a randomiser that has p and q.
    class_seed
        The class's seed, where it has one.
    """
    scenario = release.scenario
    assert scenario.city is not None  # noqa: S101 - a lesson is about a bundled city
    n = release.population.size
    coin = make_mechanism("grr", epsilon=scenario.epsilon, domain_size=2)
    cell = int(release.population.true_counts.argmax())
    finer = scenario.resolution + 1
    grids = tuple(
        grid(
            scenario.mechanism,
            epsilon=scenario.epsilon,
            resolution=resolution,
            cells=city_domain(scenario.city, resolution).size,
            devices=n,
            **dict(scenario.options),
        )
        for resolution in (scenario.resolution, finer)
    )
    return Facts(
        scenario=scenario,
        place=CITIES[scenario.city].label,
        class_seed=class_seed,
        coin=probabilities(coin)[0],
        odds=math.exp(coin.epsilon_effective),
        example=inversion(release, cell),
        example_cell=release.population.domain.cell_ids()[cell],
        busy=busy(release),
        grids=(grids[0], grids[1]),
        empty_error=grids[0].std_error,
        clamped=clamping_bias(grids[0].std_error),
        named=tuple(named_right(scenario.epsilon, DISTRICTS, reports) for reports in REPEATS),
        beliefs=(belief(scenario.epsilon, prior=1 / DISTRICTS)[0], belief(scenario.epsilon, prior=0.5)[0]),
        forged=forged_shift(release.mechanism),
    )


def exercises(facts: Facts) -> tuple[Exercise, ...]:
    """Return the exercises of a sheet, in the order of the steps."""
    scenario, example = facts.scenario, facts.example
    epsilon, n, cells = scenario.epsilon, example.reports, facts.busy.cells
    lies = 1 - facts.coin
    warner = (_YES - _ASKED * lies) / (facts.coin - lies)
    marks = example.p + (cells - 1) * example.q
    coarse, fine = facts.grids
    half = 1.959964 * example.std_error
    low, high = example.estimate - half, example.estimate + half
    forged = math.ceil(_LIFT / facts.forged)
    sums = np.array(REPEATS) * epsilon
    return (
        Exercise(
            1,
            f"A phone answers a yes-or-no question truly with chance e^ε ÷ (e^ε + 1). With ε = {epsilon:g}, about how "
            "many of 100 phones answer truly? By what factor can one answer change anybody's odds about its phone?",
            f"e^{epsilon:g} ÷ (e^{epsilon:g} + 1) = {facts.coin:.4f}, so about {100 * facts.coin:.0f} of 100. The odds "
            f"change by at most e^{epsilon:g} = {facts.odds:.4g}: {facts.coin:.4f} ÷ {lies:.4f}.",
        ),
        Exercise(
            1,
            f"{_ASKED:,} phones answer in this way and {_YES} answers are yes. About how many phones are truly a yes?",
            f"By chance alone {_ASKED:,} × {lies:.4f} = {_ASKED * lies:.1f} answers would be yes. "
            f"({_YES} − {_ASKED * lies:.1f}) ÷ ({facts.coin:.4f} − {lies:.4f}) = {warner:.1f}."
            + (
                " Below zero: so few yes answers come up by chance, and the estimate says so."
                if warner < 0
                else ""
            ),
        ),
        Exercise(
            2,
            f"The grid of {facts.place} has {cells:,} cells. A report points to the phone's own cell with chance "
            f"p = {example.p:.4f} and to every other cell with chance q = {example.q:.4f}. To how many cells does a "
            "report point on average? Can somebody who reads it say where the phone is?",
            f"p + ({cells:,} − 1) q = {marks:.2f} cells. Nobody can say: the own cell is among them with chance p only, "
            "and any cell could be there by chance. The odds of a cell change by at most the factor of exercise 1.",
        ),
        Exercise(
            3,
            f"{n:,} phones report. How many reports point to a cell without a single phone, on average? Why is a map of "
            "these raw counts wrong?",
            f"n q = {n:,} × {written_for(example.q, n)} = {example.by_chance:,.0f}. Chance adds that number to an empty cell, and (n − c) q, "
            f"nearly as much, to one with c phones; on this map {facts.busy.empty} of {cells:,} cells are empty and all look busy.",
        ),
        Exercise(
            4,
            f"{example.support:,} reports point to cell {facts.example_cell}. Estimate how many phones are in it.",
            f"(C − n q) ÷ (p − q) = ({example.support:,} − {example.by_chance:,.0f}) ÷ {written_for(example.gap, n)} = "
            f"{example.estimate:,.0f}. The truth, which only a simulation knows: {example.truth:,}.",
        ),
        Exercise(
            5,
            f"The standard error of that estimate is {example.std_error:,.0f}. Give the 95 % error bar. Of 100 such "
            "error bars, how many miss the truth?",
            f"{example.estimate:,.0f} ± 1.96 × {example.std_error:,.0f}: from {low:,.0f} to {high:,.0f}. About five "
            "of 100 miss it.",
        ),
        Exercise(
            5,
            f"An empty cell has a standard error of {facts.empty_error:,.0f} devices. How often is its estimate below "
            "zero? By how much does the cell look too busy on average if every negative estimate is set to zero, and "
            f"what does that add up to over {facts.busy.empty} empty cells?",
            f"About half of the time. The mean of the positive half is SE ÷ √(2π) = 0.399 × {facts.empty_error:,.0f} = "
            f"{facts.clamped:,.0f} devices; {facts.busy.empty} × {facts.clamped:,.0f} is about "
            f"{_three_digits(facts.busy.empty * facts.clamped):,.0f} devices that do not exist.",
        ),
        Exercise(
            6,
            f"At resolution {fine.resolution} the same city has {fine.cells:,} cells instead of {coarse.cells:,}, with "
            "the same phones. What happens to the error of one cell in devices, and to its relative error?",
            f"An empty cell: ±{coarse.std_error:,.0f} devices before, ±{fine.std_error:,.0f} after. A cell of mean count "
            f"holds {n / coarse.cells:,.0f} devices before and {n / fine.cells:,.0f} after; its relative error goes from "
            f"±{100 * coarse.relative_error:.3g} % to ±{100 * fine.relative_error:.3g} %, "
            f"{fine.relative_error / coarse.relative_error:.3g} times as much.",
        ),
        Exercise(
            7,
            f"A phone sends one of {DISTRICTS} districts every day with fresh coins, ε = {epsilon:g} each. How much "
            f"privacy loss adds up after {REPEATS[0]}, {REPEATS[1]} and {REPEATS[2]} days? What changes if it remembers "
            "its answer?",
            f"{sums[0]:g}, {sums[1]:g} and {sums[2]:g}. An observer then names the district with chance "
            f"{facts.named[0]:.3f}, {facts.named[1]:.3f} and {facts.named[2]:.3f}. A remembered answer for an unchanged "
            f"place stays at ε = {epsilon:g} and {facts.named[0]:.3f} as long as it is kept; that the place did not "
            "change can be seen all the same.",
        ),
        Exercise(
            8,
            f"A report names a phone's home district. What does an observer believe who held home for 1 in {DISTRICTS} "
            "before? Who held it for 1 in 2?",
            f"{100 * facts.beliefs[0]:.1f} % and {100 * facts.beliefs[1]:.1f} %. In both cases the odds changed by the "
            f"same factor, {facts.odds:.4g}; the belief before makes the difference.",
        ),
        Exercise(
            8,
            f"How many modified phones does it take to add {_LIFT:,} devices to a cell of the map?",
            f"Each forged report adds (1 − q) ÷ (p − q) = {facts.forged:.4g} devices; {_LIFT:,} ÷ {facts.forged:.4g}, "
            f"so {forged:,}.",
        ),
    )


def _three_digits(number: float) -> float:
    return float(f"{number:.3g}")
