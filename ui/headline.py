"""The one sentence at the top of Explore, and the four figures under the map."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from ldpcore.estimate import smallest_count
from ldpcore.plain_numbers import plain
from ldpcore.release import Release
from ui.number_words import count_of, percent, plus_minus, round_significant, thousands

TRUSTED_ERROR = 0.10
"""Relative error the headline speaks of: one standard error over the count."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure: what it is, what happened, what theory says, and one sentence of help."""

    label: str
    value: str
    theory: str
    help: str


def headline(release: Release) -> str:
    """Return the answer in words."""
    scenario, population = release.scenario, release.population
    published = int(release.published.sum())
    trusted = smallest_count(
        release.mechanism, n=population.size, relative_error=TRUSTED_ERROR, counts=release.counts
    )
    noun = "devices" if population.unit == "device" else "trips"
    cells = count_of(population.domain.size, "cell")
    opening = f"At ε = {scenario.epsilon:g} and resolution {scenario.resolution}, "
    what = (
        f"{thousands(published)} of {cells} can be published."
        if published
        else f"none of {cells} can be published."
    )
    if trusted > population.size:
        return f"{opening}{what} No count can be trusted to ±10 %, not even that of all {count_of(population.size, noun[:-1])}."
    return f"{opening}{what} The smallest count you can trust to ±10 % is {thousands(round_significant(trusted, 3))} {noun}."


def headline_note(release: Release) -> str:
    """Return the small print of the headline."""
    noun = "device" if release.population.unit == "device" else "trip"
    drawn = (
        " At this many devices the truth is drawn from the city's exact distribution rather than trip by trip."
        if release.population.drawn
        else ""
    )
    return (
        f"±10 % is one standard error; the 95 % interval is ±20 %. A cell is published when at least "
        f"{count_of(release.scenario.floor, noun)} are sure. Holding a cell back protects the reader from noise, "
        f"not the {noun}s: where the reports are private, so are the estimates.{drawn}"
    )


def four_figures(release: Release) -> tuple[Figure, ...]:
    """Return published cells, typical error, coverage and false alarms, each with its prediction."""
    figures, population = release.figures, release.population
    cells = population.domain.size
    noun = "devices" if population.unit == "device" else "trips"
    return (
        Figure(
            "Cells published",
            f"{thousands(figures.published)} of {thousands(cells)}",
            f"theory {thousands(figures.published_expected)}",
            "Cells whose lower bound reaches the floor.",
        ),
        Figure(
            f"Typical error, {noun}",
            plus_minus(round_significant(figures.rmse, 3)) if figures.rmse else "±0",
            f"theory {plus_minus(round_significant(figures.rmse_expected, 3))}",
            "Root mean squared error over all cells, published or not.",
        ),
        Figure(
            "Intervals that hold the truth",
            percent(figures.coverage),
            f"theory {percent(figures.coverage_expected)}",
            "Share of all cells whose true count lies inside its error bar.",
        ),
        Figure(
            "False alarms, cells",
            thousands(figures.false_published),
            f"theory {_rare(figures.false_published_expected)}",
            "Cells published though fewer than the floor were there. Only a simulation can know.",
        ),
    )


def figures_html(figures: tuple[Figure, ...], *, map_version: str) -> str:
    """Return the figures as a row of cards that wraps on a phone.

    Parameters
    ----------
    figures
        What to show.
    map_version
        Of the map that belongs to the figures, kept in the page so that a test or a benchmark can
        wait until just that map is painted.
    """
    cards = "".join(
        f'<div class="figure" title="{escape(figure.help, quote=True)}"><span class="label">{escape(figure.label)}</span>'
        f'<span class="value">{escape(figure.value)}</span><span class="theory">{escape(figure.theory)}</span></div>'
        for figure in figures
    )
    return f'<div class="figures" data-testid="sent" data-version="{escape(map_version, quote=True)}">{cards}</div>'


def _rare(number: float) -> str:
    return thousands(number) if number >= 10 else plain(number, 1) if number >= 0.001 else "under 0.001"
