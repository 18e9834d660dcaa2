"""One function runs a scenario: trips, values, reports, counts, estimates, release.

The dashboard, the command line, the benchmarks and the tests all call `run`.
"""

from __future__ import annotations

import time

import numpy as np

from ldpcore.estimate import estimate_counts
from ldpcore.mechanisms import FrequencyOracle, Mechanism, make_mechanism
from ldpcore.metrics import compare
from ldpcore.population import Population, population_of
from ldpcore.release import Release, Status, decide
from ldpcore.settings import QUERIES, RESOLUTIONS, Scenario
from ldpcore.shapes import IntArray
from ldpcore.trips.table import TripTable

__all__ = ["QUERIES", "RESOLUTIONS", "Scenario", "noise_generator", "randomise", "run", "run_population"]


def run(scenario: Scenario, trips: TripTable | None = None) -> Release:
    """Run a scenario from its trips to its release.

    Parameters
    ----------
    scenario
        Every setting.
    trips
        The user's file where the scenario is about one.

    Raises
    ------
    ParameterError
        If a setting is impossible, named in the error.
    """
    return run_population(scenario, population_of(scenario, trips))


def run_population(scenario: Scenario, population: Population) -> Release:
    """Run a scenario whose trips are already made.

    A page that moves epsilon or the floor calls this and keeps the population.
    """
    start = time.perf_counter()
    n = population.size
    mechanism = scenario_mechanism(scenario, population)
    counts = randomise(scenario, population, mechanism)
    estimates = estimate_counts(
        mechanism,
        counts,
        n=n,
        confidence=scenario.confidence,
        correction=scenario.correction,
        interval=scenario.interval,
    )
    status = decide(estimates, floor=scenario.floor)
    seconds = time.perf_counter() - start
    figures = compare(
        mechanism,
        estimates,
        true_counts=population.true_counts,
        published=status == Status.PUBLISHED,
        floor=scenario.floor,
        confidence=scenario.confidence,
        correction=scenario.correction,
    )
    return Release(
        scenario=scenario,
        population=population,
        mechanism=mechanism,
        counts=counts,
        estimates=estimates,
        status=status,
        figures=figures,
        seconds=seconds,
    )


def scenario_mechanism(scenario: Scenario, population: Population) -> Mechanism:
    """Return the randomiser of a scenario for the domain of its population."""
    return make_mechanism(
        scenario.mechanism,
        epsilon=scenario.epsilon,
        domain_size=population.domain.size,
        **dict(scenario.options),
    )


def randomise(scenario: Scenario, population: Population, mechanism: FrequencyOracle) -> IntArray:
    """Return the server's counts of one draw of all devices' reports.

    Every report is really made where the scenario asks for it; else the counts are drawn from
    their joint law. The generator simulates the devices' coins: a real device uses the
    operating system's cryptographic source and nothing else.
    """
    rng = noise_generator(scenario)
    if scenario.per_report:
        if population.values is None:
            raise ValueError("reports can only be made for a population with values")
        return mechanism.collect(population.values, rng=rng)
    return mechanism.sample_counts(population.true_counts, rng=rng)


def noise_generator(scenario: Scenario) -> np.random.Generator:
    """Return the generator of a scenario's randomisation.

    It depends on the seed and the draw alone, so that neighbouring settings share their coins
    and a slider shows the effect of the setting rather than of new noise.
    """
    return np.random.default_rng(np.random.SeedSequence(scenario.seed, spawn_key=(scenario.draw, 0)))
