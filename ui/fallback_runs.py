"""Runs of the Falling back page, kept so that a control recomputes only what it touches.

The estimates of all nodes depend on the trips, the randomiser and the coins; the floor and the confidence decide
about them afterwards and draw nothing anew.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from ldpcore.covariance import pair_terms
from ldpcore.fallback import FallbackRelease, NodeEstimates, draw_nodes, fallback_tree, release_nodes
from ldpcore.fallback_measured import MeasuredFallback, measure_fallback
from ldpcore.mechanisms import FrequencyOracle
from ldpcore.postprocess import fitting_postprocessors
from ldpcore.postprocess_measured import (
    CellGroup,
    MeasuredBias,
    cell_groups,
    measure_postprocessing,
    redrawn_counts,
)
from ldpcore.scenario import scenario_mechanism
from ldpcore.settings import DEFAULT, Scenario
from ui.pipeline import get_population, runs_of

REDRAWS: Final = 20
KEPT_NODES: Final = 40_000
"""Nodes up to which every redraw's estimates are kept: twenty draws of more would push all else out of the cache."""

AT_ONCE_CELLS: Final = 3_000
QUICK_CELLS: Final = 30_000
"""Cells up to which redraws are made without asking, and where every step is a few array operations."""


def first_redraw(scenario: Scenario) -> int:
    """Return the first of the block of redraws that the scenario's own belongs to, as Explore draws them."""
    return scenario.draw - scenario.draw % REDRAWS


def get_fallback(scenario: Scenario, *, method: str, coarsest: int) -> FallbackRelease:
    """Return the release of mixed resolutions of a scenario."""

    def make() -> FallbackRelease:
        population = get_population(scenario)
        tree = fallback_tree(population, coarsest)
        return release_nodes(
            scenario, population, tree, _nodes(scenario, method=method, coarsest=coarsest), method=method
        )

    run: FallbackRelease = runs_of(scenario).get(("fallback", method, coarsest, scenario), make)
    return run


def get_measured_fallback(
    scenario: Scenario, *, methods: tuple[str, ...], coarsest: int
) -> tuple[MeasuredFallback, ...]:
    """Return what the plain release and each method answered over the block of redraws."""
    at = replace(scenario, draw=first_redraw(scenario), per_report=False)

    def make() -> tuple[MeasuredFallback, ...]:
        population = get_population(at)
        small = fallback_tree(population, coarsest).size <= KEPT_NODES
        drawer = (lambda drawn, method: _nodes(drawn, method=method, coarsest=coarsest)) if small else None
        return tuple(
            measure_fallback(at, population, draws=REDRAWS, methods=methods, coarsest=coarsest, drawer=drawer)
        )

    found: tuple[MeasuredFallback, ...] = runs_of(at).get(("measured fallback", methods, coarsest, at), make)
    return found


def get_measured_bias(scenario: Scenario) -> tuple[tuple[CellGroup, ...], tuple[MeasuredBias, ...]]:
    """Return the groups of cells, and what each way of post-processing did to their sums over the redraws."""
    # Only base-cut reads the confidence, so the others are kept when it moves.
    part = _before_publishing(replace(scenario, draw=first_redraw(scenario), per_report=False))
    names = fitting_postprocessors(scenario_mechanism(part, get_population(part)))
    others = _bias(part, tuple(name for name in names if name != "base-cut"), DEFAULT.confidence)
    cut = _bias(part, ("base-cut",), scenario.confidence)[1:] if "base-cut" in names else ()
    order = {name: place for place, name in enumerate(("raw", *names))}
    return cell_groups(get_population(part)), tuple(
        sorted((*others, *cut), key=lambda entry: order[entry.name])
    )


def quick_fallback(mechanism: FrequencyOracle) -> bool:
    """Tell whether redraws of falling back take no more than a few seconds."""
    limit = AT_ONCE_CELLS if pair_terms(mechanism) is None else QUICK_CELLS
    return mechanism.domain_size <= limit


def quick_postprocessing(mechanism: FrequencyOracle) -> bool:
    """Tell whether redraws of all ways of post-processing take no more than a few seconds."""
    limit = AT_ONCE_CELLS if "ibu" in fitting_postprocessors(mechanism) else QUICK_CELLS
    return mechanism.domain_size <= limit


def _bias(part: Scenario, names: tuple[str, ...], confidence: float) -> tuple[MeasuredBias, ...]:
    def make() -> tuple[MeasuredBias, ...]:
        population = get_population(part)
        return tuple(
            measure_postprocessing(
                scenario_mechanism(part, population),
                population.true_counts,
                redrawn_counts(part, population, draws=REDRAWS),
                names=names,
                confidence=confidence,
                groups=[group.cells for group in cell_groups(population)],
            )
        )

    found: tuple[MeasuredBias, ...] = runs_of(part).get(("bias", names, confidence, part), make)
    return found


def _nodes(scenario: Scenario, *, method: str, coarsest: int) -> NodeEstimates:
    part = _before_publishing(scenario)

    def make() -> NodeEstimates:
        population = get_population(part)
        return draw_nodes(part, population, fallback_tree(population, coarsest), method=method)

    nodes: NodeEstimates = runs_of(part).get(("nodes", method, coarsest, part), make)
    return nodes


def _before_publishing(scenario: Scenario) -> Scenario:
    """Return the scenario with every setting that is about publishing at its default."""
    return replace(
        scenario,
        floor=DEFAULT.floor,
        confidence=DEFAULT.confidence,
        correction=DEFAULT.correction,
        interval=DEFAULT.interval,
    )
