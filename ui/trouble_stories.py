"""Each fault as it is drawn: the sentence, the panels of the map, and the figures, measured beside expected."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final

import numpy as np

from ldpcore.faults import (
    Cell,
    Inversion,
    Table,
    causes_for,
    demonstrable,
    invert_wrongly,
    noise_scenarios,
    noise_table,
    shown_by,
    sign_changes,
    sparse_cells,
    swing_table,
)
from ldpcore.faults_device import WEEK, beliefs, repeat_reports
from ldpcore.plain_numbers import plain
from ldpcore.release import Release
from ldpcore.schedule import Schedule
from ldpcore.shapes import BoolArray, FloatArray
from ldpcore.side_by_side import redraws_for
from ui.headline import Figure
from ui.number_words import nice_at_least, percent, round_significant, thousands
from ui.palettes import CountScale, ErrorScale, count_scale, error_scale
from ui.pipeline import get_release, kept
from ui.trouble_table import card, value_words

FIVE_MINUTES: Final = 288
"""Reports a day of the guide's example."""
PER: Final = 1000
"""Beliefs are drawn as phones of so many."""


@dataclass(frozen=True, eq=False, slots=True)
class View:
    """One panel: values of each cell and how they are coloured.

    Parameters
    ----------
    id, title, subtitle
        Of the panel.
    values
        (d,) numbers.
    hatched
        (d,) cells that are not shown, or None.
    """

    id: str
    title: str
    subtitle: str
    values: FloatArray
    hatched: BoolArray | None = None


@dataclass(frozen=True, eq=False, slots=True)
class Plate:
    """Panels over the cells of one run, with the scale they share.

    Parameters
    ----------
    release
        Whose cells are drawn.
    views, scale
        The panels and their colours.
    unit, label
        Of the values, in the tooltip and in the legend.
    open_top
        Whether values above the top of the scale are possible.
    cell
        A phone's own cell, which is outlined, as an index of the domain.
    """

    release: Release
    views: tuple[View, ...]
    scale: CountScale | ErrorScale
    unit: str
    label: str
    open_top: bool = True
    cell: int | None = None


@dataclass(frozen=True, eq=False, slots=True)
class Story:
    """A fault on the scenario in force.

    Parameters
    ----------
    headline
        What happens, with its numbers.
    plates
        One or two maps.
    figures
        The four cards.
    table
        All figures.
    notes
        Sentences under the map.
    """

    headline: str
    plates: tuple[Plate, ...]
    figures: tuple[Figure, ...]
    table: Table
    notes: tuple[str, ...] = field(default=())


def _float(values: object) -> FloatArray:
    return np.asarray(values, np.float64)


def _stand_in(release: Release) -> tuple[Release, tuple[str, ...]]:
    """Return a run whose randomiser has one pair p and q, and a sentence where it isn't the scenario's own."""
    scenario = demonstrable(release)
    if scenario == release.scenario:
        return release, ()
    other = get_release(scenario)
    return other, (
        f"{release.mechanism.label} has no single pair of probabilities, so this is shown with {other.mechanism.label}.",
    )


# --- Every cell looks equally busy ------------------------------------------------------------------


def flat(release: Release, variant: str, schedule: Schedule, *, on: bool) -> Story:  # noqa: ARG001 - one shape for all
    """Tell the story of counts inverted wrongly."""
    release, notes = _stand_in(release)
    cause = variant.partition(".")[2] or "raw"
    if cause not in causes_for(release.mechanism):
        notes = (
            *notes,
            "Another encoding is a mistake of unary encodings; choose one to see it. Shown: no inversion.",
        )
        cause = "raw"
    found = invert_wrongly(release, cause)
    truth, noun = _float(release.population.true_counts), release.population.noun
    views = [
        View("truth", "Truth", "no server ever sees this", truth),
        View("mended", "Mended", "inverted with the client's parameters", found.right),
    ]
    column = 2
    headline = (
        "Mended: inverted with the client's own parameters, a cell is off by "
        f"±{thousands(round_significant(release.figures.rmse))} {noun}."
    )
    if on:
        views.insert(1, View("fault", "With the fault", "the same reports", found.wrong))
        column = 1
        headline = _flat_headline(found, truth, noun)
        if not found.seen_in_total:
            notes = (
                *notes,
                "With this randomiser the cells still add up to the number of reports, so the total gives nothing away.",
            )
    table = found.table
    figures = (
        card(table.line("busiest"), column),
        card(table.line("quiet"), column),
        card(table.line("check"), column, label="All cells over all reports"),
        card(table.line("rmse"), column),
    )
    plate = Plate(release, tuple(views), count_scale(truth), noun, f"{noun.capitalize()} per cell")
    return Story(headline, (plate,), figures, table, notes)


def _flat_headline(found: Inversion, truth: FloatArray, noun: str) -> str:
    offset, what = found.offset, found.what
    size = thousands(round_significant(abs(offset), 3))
    if abs(offset) < 0.01 * float(truth.max()):
        return f"Every count shrinks to {percent(found.stretch, 0)} of what it is: the server {what}."
    if offset < 0:
        return f"Every cell looks equally empty: the server {what}, which takes {size} {noun} from each."
    return f"Every cell looks equally busy: the server {what}, which adds {size} {noun} to each."


# --- Wildly noisy -------------------------------------------------------------------------------------


def noisy(release: Release, variant: str, schedule: Schedule, *, on: bool) -> Story:  # noqa: ARG001
    """Tell the story of a grid too fine."""
    scenarios = noise_scenarios(release.scenario)
    releases = {name: get_release(scenario) for name, scenario in scenarios.items()}
    table = noise_table(releases)
    order = list(releases)
    fine = "hashing" if variant.endswith(".hashing") else "fine"
    relative = table.line("relative").cells
    at_fine, at_coarse = relative[order.index(fine)], relative[order.index("coarse")]
    coarse = releases["coarse"]
    if on:
        headline = (
            f"Wildly noisy: at resolution {releases[fine].scenario.resolution} the error is "
            f"{value_words(at_fine.measured, 'share')} of an average cell's count, with "
            f"{thousands(releases[fine].population.size)} {release.population.noun}."
        )
    else:
        headline = (
            f"Mended: at resolution {coarse.scenario.resolution} the error is "
            f"{value_words(at_coarse.measured, 'share')} of an average cell's count."
        )
    shown = [fine, "coarse"] if on else ["coarse"]
    column = order.index(shown[0])
    figures = tuple(
        card(table.line(key), column, label=label, theory=theory)
        for key, label, theory in (
            ("mean", None, "from the settings"),
            ("rmse", "Typical error of a cell", None),
            ("relative", "Error over an average cell", None),
            ("published", "Cells published", None),
        )
    )
    plates = (
        tuple(_noise_plate(releases[name], fault=name == fine) for name in shown)
        if on
        else (_coarse_plate(coarse),)
    )
    return Story(headline, plates, figures, table)


def _noise_plate(release: Release, *, fault: bool) -> Plate:
    view = View(
        "estimate",
        "With the fault" if fault else "Mended",
        f"resolution {release.scenario.resolution}, every estimate",
        release.estimates.estimate,
    )
    return Plate(release, (view,), _truth_scale(release), *_units(release))


def _coarse_plate(release: Release) -> Plate:
    truth = View("truth", "Truth", "no server ever sees this", _float(release.population.true_counts))
    mended = _noise_plate(release, fault=False).views
    return Plate(release, (truth, *mended), _truth_scale(release), *_units(release))


def _units(release: Release) -> tuple[str, str]:
    noun = release.population.noun
    return noun, f"{noun.capitalize()} per cell"


def _truth_scale(release: Release) -> CountScale:
    return count_scale(_float(release.population.true_counts))


# --- Sparse cells swing --------------------------------------------------------------------------------


def sparse_redraws(release: Release) -> list[Release]:
    """Return the block of redraws around the one shown."""
    count = redraws_for(release.population.domain.size)
    first = release.scenario.draw - release.scenario.draw % count
    scenario = replace(release.scenario, per_report=False)
    return [get_release(replace(scenario, draw=draw)) for draw in range(first, first + count)]


def sparse(release: Release, variant: str, schedule: Schedule, *, on: bool) -> Story:  # noqa: ARG001
    """Tell the story of cells with fewer devices than the error."""
    scenario, noun = release.scenario, release.population.noun
    redraws = sparse_redraws(release)
    table, changes = kept(scenario, "swing", lambda: (swing_table(redraws), sign_changes(redraws)))
    following = get_release(replace(scenario, draw=scenario.draw + 1, per_report=False))
    few = sparse_cells(release)
    rule = ("bar" if variant.endswith(".bar") else "all") if on else "sure"
    column = {"all": 0, "bar": 1, "sure": 2}[rule]
    # The colours belong to the sparse cells; a busy one is off their scale anyway.
    estimates = release.estimates.estimate[few] if few.any() else release.estimates.estimate
    scale = error_scale(estimates)
    plates = tuple(
        _redraw_plate(run, rule, scale, subtitle)
        for run, subtitle in (
            (release, "the one of the sidebar"),
            (following, "the same trips, other coins"),
        )
    )
    shown, off, negative = (table.line(key) for key in ("shown", "off", "negative"))
    if on:
        headline = _swing_headline(changes, int(few.sum()), noun)
        if rule == "bar":
            headline = (
                f"Hidden within the error bar of zero, {value_words(off.cells[1].measured, '')} of the "
                f"{value_words(shown.cells[1].measured, '')} cells shown are still off by more than their own count."
            )
    else:
        headline = (
            f"Mended: {value_words(shown.cells[2].measured, '')} cells are shown, those whose floor is sure, and none "
            "of them as negative."
        )
    figures = (
        card(shown, column),
        card(off, column, label="Cells off by more than their count"),
        card(negative, column, label="Cells shown as negative"),
        Figure(
            "Sparse cells that change sign",
            value_words(changes.measured, "share", changes.error),
            "" if changes.expected is None else f"theory {value_words(changes.expected, 'share')}",
            f"Of the cells with fewer {noun} than one standard error, from one redraw to the next.",
        ),
    )
    return Story(
        headline,
        plates,
        figures,
        table,
        (
            f"Figures: means of {len(redraws)} redraws ± their standard errors, beside the normal law at the truth.",
        ),
    )


def _redraw_plate(run: Release, rule: str, scale: ErrorScale, subtitle: str) -> Plate:
    view = View(
        "draw",
        f"Redraw {run.scenario.draw}",
        subtitle,
        run.estimates.estimate,
        hatched=None if rule == "all" else ~shown_by(rule, run),
    )
    return Plate(run, (view,), scale, run.population.noun, f"Estimate, {run.population.noun}")


def _swing_headline(changes: Cell, cells: int, noun: str) -> str:
    if changes.measured is None:
        return f"No cell here holds fewer {noun} than the error, so none swings; take a finer grid."
    return (
        f"Sparse cells swing: of {thousands(cells)} cells with fewer {noun} than the error, "
        f"{value_words(changes.measured, 'share')} change sign from one redraw to the next."
    )


# --- Losses that add up -----------------------------------------------------------------------------------


def loss(release: Release, variant: str, schedule: Schedule, *, on: bool) -> Story:
    """Tell the story of answers drawn afresh."""
    if not variant.endswith(".own"):
        schedule = replace(schedule, reports_a_day=FIVE_MINUTES)
    found = kept(release.scenario, ("repeats", schedule), lambda: repeat_reports(release, schedule))
    table = found.table
    weeks, guesses = table.line("week").cells, table.line("guess").cells
    column = 1 if on else 0
    fresh = View("fresh", "With the fault", f"{found.reports} reports, each drawn afresh", 100 * found.fresh)
    memo = View("memo", "Mended", f"{found.reports} reports, one answer repeated", 100 * found.memo)
    right = value_words(guesses[column].measured, "share")
    headline = (
        f"Privacy runs out: a week of fresh answers costs ε {plain(weeks[1].measured or 0.0, 6)} instead of "
        f"{plain(weeks[0].measured or 0.0, 6)}, and the best guess finds the phone's cell in {right} of weeks."
        if on
        else f"Mended: with one answer per cell a week in one cell costs ε {plain(weeks[0].measured or 0.0, 6)}, and the best guess "
        f"finds it in {right} of weeks."
    )
    figures = (
        card(table.line("week"), column, theory=f"planned {plain(weeks[0].measured or 0.0, 6)}"),
        card(table.line("lifetime"), column, theory="added up"),
        card(table.line("guess"), column, label="Best guess is right"),
        Figure(
            "Reports in a week",
            thousands(schedule.reports_a_day * WEEK),
            f"{schedule.reports_a_day} a day",
            "Of one phone, whether its answer is new or repeated.",
        ),
    )
    plate = Plate(
        release,
        (fresh, memo) if on else (memo,),
        CountScale(100.0, (0.0, 10.0, 100.0)),
        "% of its reports",
        "Reports that point to the cell, %",
        open_top=False,
        cell=found.cell,
    )
    short = schedule.reports_a_day * WEEK > found.reports
    notes = (
        "One phone of the scenario that stays in its busiest cell, outlined."
        + (f" The map and the guess use the first {found.reports} reports." if short else ""),
    )
    return Story(headline, (plate,), figures, table, notes)


# --- Who holds personal data? --------------------------------------------------------------------------------


def data(release: Release, variant: str, schedule: Schedule, *, on: bool) -> Story:  # noqa: ARG001
    """Tell the story of one report with and without its address."""
    release, notes = _stand_in(release)
    found = kept(release.scenario, "beliefs", lambda: beliefs(release))
    table = found.table
    hits, own = table.line("hit"), table.line("own")
    column = 2 if on else 1
    views = [
        View("before", "Before the report", "the public distribution", PER * found.before),
        View("after", "After the report", "without an address", PER * found.after),
    ]
    if on:
        views.append(
            View("address", "With its address", "which tells the surroundings", PER * found.with_address)
        )
    rises = f"from {value_words(own.cells[0].measured, 'share')} to {value_words(own.cells[column].measured, 'share')}"
    headline = (
        f"“Nobody” claims too much: with its address, one report takes the belief in this phone's cell {rises}."
        if on
        else f"Without its address, one report takes the belief in this phone's cell {rises}: less, and not nothing."
    )
    figures = (
        card(own, column, theory=f"before {value_words(own.cells[0].measured, 'share')}"),
        card(hits, column, label="Best guess is right, all phones"),
        card(
            table.line("half"),
            column,
            theory=f"before {value_words(table.line('half').cells[0].measured, 'cells')}",
        ),
        Figure(
            "Its odds rose by",
            f"{plain(_odds(own.cells[column].measured) / _odds(own.cells[0].measured))} times",
            f"one report alone: at most {plain(float(np.exp(release.mechanism.epsilon_effective)))}",
            "Odds of its own cell, after over before. The report's part is bounded by e to the epsilon; the address's is not.",
        ),
    )
    top = nice_at_least(max(float(view.values.max()) for view in views))
    plate = Plate(
        release,
        tuple(views),
        CountScale(top, (0.0, top)),
        f"of {thousands(PER)}",
        f"Of {thousands(PER)} such phones, in the cell",
        open_top=False,
        cell=found.cell,
    )
    notes = (
        *notes,
        "One phone of the scenario, its cell outlined; Redraw takes another. The address is taken to tell two rings of "
        "cells around the phone; what a real one tells depends on the network.",
    )
    return Story(headline, (plate,), figures, table, notes)


def _odds(belief: float | None) -> float:
    share = belief or 0.0
    return share / (1 - share) if share < 1 else float("inf")


STORIES: Final[Mapping[str, Callable[..., Story]]] = MappingProxyType(
    {"flat": flat, "noisy": noisy, "sparse": sparse, "loss": loss, "data": data}
)
"""How each failure mode of `ui.trouble_words.TROUBLES` is shown."""
