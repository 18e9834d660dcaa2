"""Gathering the evidence of a report: runs, redraws, attacks and checks, with progress and a way to stop."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from threading import Event
from typing import Any, Final

import numpy as np

from ldpcore.comparison import compare_mechanisms
from ldpcore.deciles import error_by_decile
from ldpcore.device.wire import make_client, receive
from ldpcore.errors import ParameterError
from ldpcore.estimate import publication_probability, smallest_count
from ldpcore.guessing import best_guess
from ldpcore.mechanisms import Mechanism, make_mechanism
from ldpcore.population import Population, population_of
from ldpcore.postprocess import fitting_postprocessors
from ldpcore.postprocess_measured import measure_postprocessing, redrawn_counts
from ldpcore.privacy.poisoning import ATTACKS, Poisoning, leverage, poison
from ldpcore.review.checklist import run_checks
from ldpcore.review.evidence import (
    FAKES,
    LEVELS,
    TRUSTED,
    Alternative,
    Evidence,
    Progress,
    ReviewCancelled,
    Selection,
)
from ldpcore.review.other import DEVICES_BY_HAND
from ldpcore.review.prior import guess_with_prior, measured_guess
from ldpcore.review.replica import audit_client, read_generator
from ldpcore.scenario import run_population, scenario_mechanism
from ldpcore.schedule import DEFAULT_SCHEDULE, Schedule
from ldpcore.settings import RESOLUTIONS, Scenario
from ldpcore.shapes import FloatArray


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
    steps = iter(range(1, STEPS + 1))
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
        progress(place, STEPS, said)

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
        redraws = int(np.clip(DEVICES_BY_HAND // population.size, 2, redraws))
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
    progress(STEPS, STEPS, "writing")
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


STEPS: Final = 11
"""Of `gather`, each told as it begins."""


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
        printed=printed,
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
