"""What is tried and measured for a report: everything that takes time, done before a sentence is written.

Every figure is a function of the scenario and the level: coins come from the scenario's seed, and work is set by
counts and never by the clock. The client with its own coins and the checklist are run as well; what they measure
varies, so only whether they passed is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from threading import Event
from types import MappingProxyType
from typing import Any, Final

import numpy as np
import pandas as pd

from ldpcore.comparison import Comparison, compare_mechanisms
from ldpcore.deciles import error_by_decile
from ldpcore.device.wire import make_client, receive
from ldpcore.errors import ParameterError
from ldpcore.estimate import publication_probability, smallest_count
from ldpcore.guessing import Guess, best_guess
from ldpcore.mechanisms import Mechanism, make_mechanism
from ldpcore.population import Population, population_of
from ldpcore.postprocess import fitting_postprocessors
from ldpcore.postprocess_measured import MeasuredBias, measure_postprocessing, redrawn_counts
from ldpcore.privacy.poisoning import ATTACKS, Leverage, Poisoning, leverage, poison
from ldpcore.release import Release
from ldpcore.review.checklist import Checks, run_checks
from ldpcore.review.prior import guess_with_prior, measured_guess
from ldpcore.review.replica import ClientAudit, Generator, audit_client, read_generator
from ldpcore.scenario import run_population, scenario_mechanism
from ldpcore.schedule import DEFAULT_SCHEDULE, Schedule
from ldpcore.settings import RESOLUTIONS, Scenario
from ldpcore.shapes import FloatArray

Progress = Callable[[int, int, str], None]
FAKES: Final = (0.01, 0.05)
"""Shares of fake devices that a report shows."""

TRUSTED: Final = 0.1
"""Relative error of a count that can be used, one standard error."""

_DEVICES_BY_HAND: Final = 20_000_000
"""Reports made one by one over all redraws at most, for randomisers whose counts can't be drawn at once."""


@dataclass(frozen=True, slots=True)
class Level:
    """How much is tried.

    Parameters
    ----------
    label
        In words.
    redraws
        Redraws of the devices' coins.
    audit_microseconds
        Work for one world of one attack on the client.
    checked_cells
        Cells of the domain that the checklist runs over at most.
    """

    label: str
    redraws: int
    audit_microseconds: float
    checked_cells: int


LEVELS: Final[Mapping[str, Level]] = MappingProxyType(
    {
        "quick": Level("quick: a few seconds", 20, 2e5, 40),
        "full": Level("full: a minute or more", 200, 5e6, 600),
    }
)


class ReviewCancelled(Exception):  # noqa: N818 - nothing went wrong
    """The reader asked to stop."""


@dataclass(frozen=True, slots=True)
class Selection:
    """What holding cells back does to those that are printed, over the redraws; devices a printed cell.

    Parameters
    ----------
    bias, bias_error
        Mean of estimate minus truth over all printed cells, and its standard error.
    borderline_bias, borderline_bias_error
        The same for printed cells that are printed in fewer than half of all draws (and in more than one in a
        thousand); None where none was.
    borderline
        How many such cells the domain has.
    held_back_share
        Expected share of the devices in cells that are held back.
    coverage, coverage_printed
        Share of all cells, and of printed ones, whose truth lies in the interval of the cell.
    """

    bias: float | None
    bias_error: float | None
    borderline_bias: float | None
    borderline_bias_error: float | None
    borderline: int
    held_back_share: float
    coverage: float
    coverage_printed: float | None


@dataclass(frozen=True, slots=True)
class Alternative:
    """Another setting and what it would give, by exact theory.

    Parameters
    ----------
    what
        The setting in words.
    epsilon, resolution
        Its values.
    cells
        Of its domain.
    published
        Expected number of published cells.
    share
        Expected share of the devices in them.
    error
        Root mean squared error over all cells, in devices.
    own
        Whether it is the scenario itself.
    """

    what: str
    epsilon: float
    resolution: int
    cells: int
    published: float
    share: float
    error: float
    own: bool


@dataclass(frozen=True, eq=False, slots=True)
class Evidence:
    """All that was tried and measured for one report.

    Parameters
    ----------
    scenario, schedule, level
        For which it was.
    mechanism
        The randomiser.
    release
        The run itself.
    redraws
        How many redraws the measured figures are over.
    measured
        Mean and standard error over the redraws of ``rmse``, ``published``, ``false_published`` and
        ``false_suppressed``.
    selection
        What holding back does.
    deciles
        From `error_by_decile`.
    postprocessing
        Bias of each way of post-processing.
    comparison
        All randomisers at these settings.
    alternatives
        Other resolutions and other epsilons.
    smallest
        Smallest count known to `TRUSTED`, in devices.
    guess
        Best guess from one report, every cell equally likely before.
    prior_before, prior_after
        Success of an observer who knows the city, without and with one report.
    prior_spread
        Standard error of the latter where it was measured, else 0.
    lever, poisonings
        Of forged reports; None and empty where the randomiser has no one pair of probabilities.
    audit
        Of the client.
    generator
        Of its coins.
    refused
        Why the server refuses a report made with another epsilon; None where it doesn't.
    checks
        The six points of the checklist.
    """

    scenario: Scenario
    schedule: Schedule
    level: str
    mechanism: Mechanism
    release: Release
    redraws: int
    measured: Mapping[str, tuple[float, float]]
    selection: Selection
    deciles: pd.DataFrame
    postprocessing: tuple[MeasuredBias, ...]
    comparison: Comparison
    alternatives: tuple[Alternative, ...]
    smallest: float
    guess: Guess
    prior_before: float
    prior_after: float
    prior_spread: float
    lever: Leverage | None
    poisonings: tuple[Poisoning, ...]
    audit: ClientAudit
    generator: Generator
    refused: str | None
    checks: Checks

    @property
    def population(self) -> Population:
        """What the devices hold."""
        return self.release.population


def gather(
    scenario: Scenario,
    *,
    schedule: Schedule = DEFAULT_SCHEDULE,
    level: str = "quick",
    population_at: Callable[[Scenario], Population] = population_of,
    progress: Progress = lambda done, total, sentence: None,  # noqa: ARG005
    cancelled: Event | None = None,
) -> Evidence:
    """Try and measure everything that a report of this scenario says.

    Parameters
    ----------
    scenario
        Every setting.
    schedule
        What the phone of the checklist remembers and where it stops.
    level
        A key of `LEVELS`.
    population_at
        Makes the devices of a scenario: of this one, and of its neighbours in resolution.
    progress
        Called with steps done, steps in all, and what is done next, before each step and some times in long ones.
    cancelled
        Set it to stop.

    Raises
    ------
    ParameterError
        If the level or a setting is impossible.
    ReviewCancelled
        If `cancelled` was set.
    """
    if level not in LEVELS:
        raise ParameterError("level", f"There is no level {level!r}; choose one of {', '.join(LEVELS)}.")
    steps = iter(range(1, _STEPS + 1))
    said = ""

    def step(sentence: str) -> None:
        nonlocal said
        said = sentence
        tick_at(next(steps) - 1)

    place = 0

    def tick_at(number: int) -> None:
        nonlocal place
        place = number
        tick()

    def tick() -> None:
        if cancelled is not None and cancelled.is_set():
            raise ReviewCancelled
        progress(place, _STEPS, said)

    # Reports made one by one have the same law as counts drawn at once, which redraws use.
    base = replace(scenario, per_report=False)
    plan = LEVELS[level]
    step("making the trips")
    population = population_at(scenario)
    mechanism = scenario_mechanism(scenario, population)
    step("randomising and estimating")
    release = run_population(scenario, population)
    redraws = plan.redraws
    if not mechanism.exact_joint_sampler:
        redraws = int(np.clip(_DEVICES_BY_HAND // population.size, 2, redraws))
    step("redrawing the coins")
    measured, selection = _redraw(base, population, redraws, tick)
    step("asking who bears the error")
    deciles = error_by_decile(base, population, redraws=redraws)
    step("measuring what post-processing would do")
    postprocessing = measure_postprocessing(
        mechanism,
        population.true_counts,
        redrawn_counts(scenario, population, draws=redraws),
        names=[name for name in fitting_postprocessors(mechanism) if name != "ibu"],
        confidence=scenario.confidence,
        groups=[np.ones(population.domain.size, bool)],
    )
    step("comparing the randomisers")
    comparison = compare_mechanisms(
        population.true_counts,
        epsilon=scenario.epsilon,
        chosen=scenario.mechanism,
        options=dict(scenario.options),
        unit=population.unit,
    )
    step("trying other resolutions and epsilons")
    alternatives = _alternatives(base, population, population_at)
    step("forging reports")
    lever = leverage(mechanism)
    poisonings = () if lever is None else _poisonings(base, population)
    step("guessing from one report")
    prior = population.true_counts / population.size
    after, spread = _informed_guess(mechanism, prior, seed=scenario.seed)
    step("attacking the client")
    audit = audit_client(mechanism, seed=scenario.seed, microseconds=plan.audit_microseconds, tick=tick)
    step("running the checklist")
    checks = run_checks(scenario, schedule, cells=min(population.domain.size, plan.checked_cells), tick=tick)
    progress(_STEPS, _STEPS, "writing")
    return Evidence(
        scenario=scenario,
        schedule=schedule,
        level=level,
        mechanism=mechanism,
        release=release,
        redraws=redraws,
        measured=measured,
        selection=selection,
        deciles=deciles,
        postprocessing=tuple(postprocessing),
        comparison=comparison,
        alternatives=alternatives,
        smallest=smallest_count(mechanism, n=population.size, relative_error=TRUSTED, counts=release.counts),
        guess=best_guess(mechanism),
        prior_before=float(prior.max()),
        prior_after=after,
        prior_spread=spread,
        lever=lever,
        poisonings=poisonings,
        audit=audit,
        generator=read_generator(),
        refused=_refusal(base, population),
        checks=checks,
    )


_STEPS: Final = 11


def _redraw(
    scenario: Scenario, population: Population, redraws: int, tick: Callable[[], None]
) -> tuple[dict[str, tuple[float, float]], Selection]:
    """Return what redraws of the coins gave, from the scenario's own draw on."""
    names = ("rmse", "published", "false_published", "false_suppressed", "coverage")
    figures: list[list[float]] = []
    excess: list[float] = []
    borderline_excess: list[float] = []
    printed_covered = printed = 0
    chance = _chance(scenario, population)
    borderline = (chance < 0.5) & (chance > 1e-3)
    for draw in range(scenario.draw, scenario.draw + redraws):
        tick()
        release = run_population(replace(scenario, draw=draw), population)
        figures.append([float(getattr(release.figures, name)) for name in names])
        estimates, truth = release.estimates, population.true_counts
        error, out = estimates.estimate - truth, release.published
        if out.any():
            excess.append(float(error[out].mean()))
            covered = (estimates.ci_low <= truth) & (truth <= estimates.ci_high)
            printed_covered += int(covered[out].sum())
            printed += int(out.sum())
        if (out & borderline).any():
            borderline_excess.append(float(error[out & borderline].mean()))
    means = {name: _mean(values) for name, values in zip(names, zip(*figures, strict=True), strict=True)}
    bias, borderline_bias = _mean(excess), _mean(borderline_excess)
    selection = Selection(
        bias=bias[0] if excess else None,
        bias_error=bias[1] if len(excess) > 1 else None,
        borderline_bias=borderline_bias[0] if borderline_excess else None,
        borderline_bias_error=borderline_bias[1] if len(borderline_excess) > 1 else None,
        borderline=int(borderline.sum()),
        held_back_share=float((population.true_counts * (1 - chance)).sum()) / population.size,
        coverage=means["coverage"][0],
        coverage_printed=printed_covered / printed if printed else None,
    )
    return means, selection


def _mean(values: Any) -> tuple[float, float]:  # noqa: ANN401 - numbers
    """Return a mean and its standard error; NaN where there is nothing to take it of."""
    found: FloatArray = np.asarray(list(values), np.float64)
    if found.size < 2:
        return (float(found[0]) if found.size else float("nan")), float("nan")
    return float(found.mean()), float(found.std(ddof=1) / np.sqrt(found.size))


def _chance(scenario: Scenario, population: Population) -> FloatArray:
    """Return how likely each cell is published."""
    return publication_probability(
        scenario_mechanism(scenario, population),
        population.true_counts,
        n=population.size,
        floor=scenario.floor,
        confidence=scenario.confidence,
        correction=scenario.correction,
    )


def _alternatives(
    scenario: Scenario, population: Population, population_at: Callable[[Scenario], Population]
) -> tuple[Alternative, ...]:
    """Return the neighbours in resolution and in epsilon, the scenario itself among them."""
    level = scenario.resolution
    found = []
    for resolution in (level - 1, level, level + 1):
        if resolution not in RESOLUTIONS:
            continue
        other = replace(scenario, resolution=resolution)
        try:
            there = population if resolution == level else population_at(other)
            found.append(_alternative(f"resolution {resolution}", other, there, own=resolution == level))
        except ParameterError:
            continue  # an area with too many cells, or a single one, at that resolution is no alternative
    for epsilon in (scenario.epsilon / 2, min(2 * scenario.epsilon, 20.0)):
        if epsilon != scenario.epsilon:
            other = replace(scenario, epsilon=epsilon)
            found.append(_alternative(f"ε = {epsilon:g}", other, population, own=False))
    return tuple(found)


def _alternative(what: str, scenario: Scenario, population: Population, *, own: bool) -> Alternative:
    chance = _chance(scenario, population)
    variance = scenario_mechanism(scenario, population).variance(population.true_counts, n=population.size)
    return Alternative(
        what=what,
        epsilon=scenario.epsilon,
        resolution=scenario.resolution,
        cells=population.domain.size,
        published=float(chance.sum()),
        share=float((chance * population.true_counts).sum()) / population.size,
        error=float(np.sqrt(np.maximum(variance, 0.0).mean())),
        own=own,
    )


def _informed_guess(mechanism: Mechanism, prior: FloatArray, *, seed: int) -> tuple[float, float]:
    """Return the success of somebody who knows the prior, and its standard error where it was measured."""
    exact = guess_with_prior(mechanism, prior)
    return measured_guess(mechanism, prior, seed=seed) if exact is None else (exact, 0.0)


def _poisonings(scenario: Scenario, population: Population) -> tuple[Poisoning, ...]:
    """Return each attack at each share of fakes, unchecked and checked."""
    return tuple(
        poison(
            scenario_mechanism(scenario, population),
            population.true_counts,
            share=share,
            attack=attack,
            checked=checked,
            floor=scenario.floor,
            confidence=scenario.confidence,
            correction=scenario.correction,
        )
        for attack in ATTACKS
        for share in FAKES
        for checked in (False, True)
    )


def _refusal(scenario: Scenario, population: Population) -> str | None:
    """Send the server one report made with another epsilon and return why it refuses it."""
    mechanism = scenario_mechanism(scenario, population)
    other = make_mechanism(
        scenario.mechanism,
        epsilon=scenario.epsilon / 2,
        domain_size=population.domain.size,
        **dict(scenario.options),
    )
    version = population.domain.version
    received = receive([make_client(other, version).report(0)], mechanism, version)
    return next(iter(received.rejected), None)
