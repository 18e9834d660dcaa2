"""The sentences of the Falling back page, from its headline to when each way wins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

import numpy as np

from ldpcore.fallback import FallbackRelease
from ldpcore.fallback_measured import PLAIN, MeasuredFallback
from ldpcore.release import Release
from ldpcore.shapes import FloatArray, IntArray
from ui.headline import Figure
from ui.number_words import count_of, percent, plus_minus, round_significant, thousands, to_error

METHOD_LABELS: Final[Mapping[str, str]] = MappingProxyType(
    {PLAIN: "Plain release", "summed": "Add up fine reports", "groups": "Ask in groups"}
)
_SUBJECTS: Final[Mapping[str, str]] = MappingProxyType(
    {
        PLAIN: "the plain release answers",
        "summed": "adding up fine reports",
        "groups": "asking in groups",
    }
)
METHOD_HELP: Final = (
    "Add up fine reports (summed): everybody reports the fine cell, and a parent is the sum of its cells. "
    "Ask in groups (groups): each device picks one resolution by chance and reports its cell there, at the full ε; "
    "constrained inference makes the resolutions agree."
)
HONESTY: Final = (
    "Holding a cell back is about honesty here, not privacy. The estimates are private already, each device by its own "
    "randomised report, and publishing a parent beside its children exposes nobody. What is held back is a number too "
    "uncertain to be read."
)


def headline(plain: Release, run: FallbackRelease) -> str:
    """Return how many cells are answered now, and by which resolution, against the plain release."""
    scenario, fine = run.scenario, run.population.domain.resolution
    cells = count_of(run.population.domain.size, "cell")
    alone = int(plain.published.sum())
    opening = (
        f"At ε = {scenario.epsilon:g} and resolution {fine} alone, {thousands(alone) if alone else 'none'} of {cells} can "
        "be published"
    )
    total = sum(run.answered.values())
    if total == 0:
        return f"{opening}, and no parent up to resolution {run.tree.resolutions[0]} can either."
    parts = [
        f"{thousands(count)} {_itself(count) if level == fine else f'by resolution {level}'}"
        for level, count in sorted(run.answered.items(), reverse=True)
        if count
    ]
    by = parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
    return f"{opening}; with parents {thousands(total)} are answered: {by}."


def _itself(count: int) -> str:
    return "by itself" if count == 1 else "by themselves"


def no_fallback(plain: Release, reason: str) -> str:
    """Return the headline where nothing can be fallen back to."""
    alone = int(plain.published.sum())
    cells = count_of(plain.population.domain.size, "cell")
    return f"{thousands(alone)} of {cells} can be published at this resolution, and there is no falling back here. {reason}"


def four_figures(plain: Release, run: FallbackRelease, expected: FloatArray) -> tuple[Figure, ...]:
    """Return what is answered, for how many devices, what is false of it, and how wrong the coarsest cells are."""
    population = run.population
    noun = "devices" if population.unit == "device" else "trips"
    answered = run.answer >= 0
    held, alone = (
        population.true_counts[cells].sum() / population.size for cells in (answered, plain.published)
    )
    false = int((run.published & (run.true_counts < run.scenario.floor)).sum())
    roots = run.tree.level(run.tree.resolutions[0])
    error = run.estimates.estimate[roots] - run.true_counts[roots]
    measured = float(np.sqrt((error**2).mean()))
    theory = float(np.sqrt((expected[roots] ** 2).mean()))
    return (
        Figure(
            "Cells answered",
            f"{thousands(answered.sum())} of {thousands(population.domain.size)}",
            f"{thousands(plain.published.sum())} at resolution {population.domain.resolution} alone",
            "Cells of the domain with a published cell around them, at any resolution.",
        ),
        Figure(
            f"{noun.capitalize()} in answered cells",
            percent(float(held)),
            f"{percent(float(alone))} without falling back",
            f"Share of the {noun} whose cell is answered. Only a simulation can know.",
        ),
        Figure(
            "False alarms",
            thousands(false),
            f"of {count_of(int(run.published.sum()), 'published figure')}",
            "Published cells of any resolution that hold fewer than the floor. Only a simulation can know.",
        ),
        Figure(
            f"Typical error at resolution {run.tree.resolutions[0]}",
            plus_minus(round_significant(measured, 3)),
            f"theory {plus_minus(round_significant(theory, 3))} {noun}",
            "Root mean squared error over the coarsest cells.",
        ),
    )


def mean_spread(values: FloatArray | IntArray) -> tuple[float, float]:
    """Return the mean over redraws and how far one redraw lies from it (standard deviation)."""
    return float(np.mean(values)), float(np.std(values, ddof=1))


def benefit(measured: Sequence[MeasuredFallback], *, cells: int, noun: str) -> str:
    """Return what each method gains over the redraws, in one or two sentences."""
    parts = []
    for entry in measured:
        total = entry.cells_answered.sum(axis=1)
        mean, spread = mean_spread(total)
        share = percent(float(entry.devices_answered.mean()))
        held = f"{share} of the {noun}" if entry.method == PLAIN else share
        parts.append(f"{_SUBJECTS[entry.method]} {to_error(mean, spread)} {plus_minus(spread)} ({held})")
    return (
        f"Of {thousands(cells)} cells, {', '.join(parts[:-1])} and {parts[-1]}: means of {measured[0].draws} redraws of the "
        "coins, ± how far a single one lies from them."
    )


def when_each_wins(measured: Sequence[MeasuredFallback], *, noun: str) -> str:
    """Return when each method wins, with this scenario's errors in it."""
    found = {entry.method: entry for entry in measured}
    if "groups" not in found:
        return (
            "Adding up keeps the fine cells as they are; the error of a parent grows with the root of the number of "
            "its cells."
        )
    summed, groups = found["summed"], found["groups"]
    coarsest, fine = summed.resolutions[0], summed.resolutions[-1]

    def error(entry: MeasuredFallback, level: int) -> str:
        return plus_minus(round_significant(float(entry.rmse_expected[entry.resolutions.index(level)]), 3))

    return (
        f"Adding up keeps the fine cells as they are ({error(summed, fine)} {noun} at resolution {fine}) and pays at the "
        f"top: {error(summed, coarsest)} at resolution {coarsest}, since a parent carries the noise of all its cells. Asking "
        f"in groups is better at the top, {error(groups, coarsest)}, and pays at the bottom, {error(groups, fine)}, since "
        "fewer devices speak for each resolution. Add up where the fine cells matter most; ask in groups where a coarse "
        "answer nearly everywhere is worth more, and it must be decided before anything is reported."
    )
