"""Steps 3 and 4: a crowd, whose raw counts look busy everywhere; and the way back from them."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Final

import numpy as np
import streamlit as st

from ldpcore.lesson import Busy, Inversion, busy, inversion, probabilities, written_for
from ldpcore.release import Release
from ldpcore.settings import Scenario
from ui.explore_map import raw_counts
from ui.glossary import term
from ui.headline import Figure, figures_html
from ui.hex_map import Panel
from ui.learn_frame import headline
from ui.learn_link import Place, stop_choice, switch
from ui.learn_map import choose_cell, hover, is_dark, lesson_map, map_table
from ui.learn_pictures import strip
from ui.learn_steps import STEPS, Choice, Question
from ui.number_words import plus_minus, signed, thousands, to_error
from ui.palettes import RAMPS, count_scale, tokens
from ui.pipeline import get_release
from ui.scenario import short_count

CROWDS: Final = (100, 300, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
DEFAULT_CROWD: Final = 10_000


def crowd(place: Place, scenario: Scenario) -> Question:  # noqa: ARG001 - every step takes both
    """Draw step 3 and return its question."""
    top = st.container()
    devices = stop_choice(
        "crowd",
        "Phones that report",
        CROWDS,
        default=DEFAULT_CROWD,
        show=short_count,
        help_text="From 100 to a million phones; each sends one report.",
    )
    release = get_release(replace(scenario, devices=devices))
    found = busy(release)
    n, (p, q) = release.population.size, probabilities(release.mechanism)
    raw, truth = raw_counts(release), release.population.true_counts.astype(np.float64)
    with top:
        headline(
            STEPS[2],
            f"{thousands(n)} phones report and {found.touched} of {found.cells} cells look busy, though "
            f"{found.empty} are empty: an empty cell shows about {thousands(found.by_chance)}.",
        )
    scale = count_scale(raw)
    lesson_map(
        release.population,
        scenario,
        [
            Panel(
                id="truth",
                title="Truth",
                subtitle="no server ever sees this",
                index=scale.index(truth),
                ramp=RAMPS["counts"],
                hatch=False,
            ),
            Panel(
                id="raw",
                title="Raw counts",
                subtitle=f"reports that point to the cell, up to {thousands(scale.top)}",
                index=scale.index(raw),
                ramp=RAMPS["counts"],
                hatch=False,
            ),
        ],
        key="learn_crowd_map",
        columns=(
            hover("Truth", truth, unit="devices"),
            hover("Raw count", raw, unit="reports"),
        ),
    )
    st.html(
        strip(
            raw, truth, dark=is_dark(), tokens=tokens(dark=is_dark()), bars_are="raw counts", unit="reports"
        )
    )
    st.html(figures_html(_busy_figures(found), map_version=f"crowd-{n}"))
    st.html(
        f"<p class=lesson>A {term('raw_count', place='crowd')} adds two things. Of the c phones that are there, the share "
        f"p\u00a0=\u00a0{p:.3g} that points to its own cell: about {thousands(found.busiest_truth * p)} of "
        f"{thousands(found.busiest_truth)} in the busiest. And of the n − c phones elsewhere the share q\u00a0=\u00a0{q:.3g} that "
        f"chance made point here: (n − c) q, which is nearly the same for every cell, "
        f"{thousands((n - found.busiest_truth) * q)} in the busiest and {thousands(found.by_chance)} in an empty one. The "
        "second part grows with every phone elsewhere, so more phones do not make it go away. A map of raw counts is the "
        "most common mistake in this field.</p>"
    )
    map_table(release)
    n_text, q_text = thousands(n), written_for(found.by_chance / n, n)
    return Question(
        f"{n_text} phones report. Why does a cell with no phone in it show about {thousands(found.by_chance)}?",
        (
            Choice(
                "The reports of some phones were sent from the wrong place.",
                False,
                "Every phone is where it is. What points elsewhere was put into the reports on purpose, by chance.",
            ),
            Choice(
                f"Each of the {n_text} phones points to it by chance with q = {q_text}.",
                True,
                f"{n_text} × {q_text} = {thousands(found.by_chance)}. That is why raw counts mislead: they show chance where "
                "nobody is.",
            ),
            Choice(
                "There are too few phones; with more, the empty cells go down to zero.",
                False,
                "The number grows with the phones: ten times as many phones put ten times as much into an empty cell.",
            ),
        ),
    )


def _busy_figures(found: Busy) -> tuple[Figure, ...]:
    spread = math.sqrt(max(found.by_chance, 0.0))
    mean = "none is empty" if math.isnan(found.empty_mean) else to_error(found.empty_mean, max(spread, 1.0))
    return (
        Figure(
            "Cells with a raw count above 0",
            f"{found.touched} of {found.cells}",
            f"{found.empty} of them are empty",
            "Reports point to cells nobody is in.",
        ),
        Figure(
            "Empty cell, raw count",
            mean,
            f"theory n × q = {to_error(found.by_chance, max(spread / 3, 0.5))}",
            "Mean over the truly empty cells.",
        ),
        Figure(
            "Busiest raw count",
            thousands(found.busiest),
            f"truly busiest: {thousands(found.busiest_truth)} devices",
            "Reports that point to one cell, against the devices in the busiest one.",
        ),
        Figure(
            "Busiest over empty",
            f"{found.busiest / found.by_chance:.2f} times" if found.by_chance else "no value",
            "in truth: over nothing",
            "How little raw counts tell busy from empty.",
        ),
    )


def way_back(place: Place, scenario: Scenario) -> Question:  # noqa: ARG001 - every step takes both
    """Draw step 4 and return its question."""
    release = get_release(scenario)
    top = st.container()
    left, right = st.columns([0.6, 0.4], gap="large", vertical_alignment="bottom")
    with left:
        cell = choose_cell(release.population, key="learn_inverted_cell", label="Cell to work out")
    with right:
        inverted = switch(
            "invert",
            "Undo the chance (invert)",
            help_text="Off: the raw counts of step 3. On: the estimates.",
        )
    found = inversion(release, cell)
    with top:
        headline(
            STEPS[3],
            f"{thousands(found.support)} reports point to the cell and {thousands(found.by_chance)} would by chance; the "
            f"rest stands for {to_error(found.estimate, found.std_error)} {plus_minus(found.std_error)} devices, and "
            f"{thousands(found.truth)} are there.",
        )
    _inverted_map(release, scenario, cell=cell, inverted=inverted)
    _formula(found)
    map_table(release)
    n, chance = thousands(found.reports), thousands(found.by_chance)
    q_text = written_for(found.q, found.reports)
    return Question(
        f"Another cell gets {chance} reports of {n}, with q = {q_text}. About how many devices are in it?",
        (
            Choice(
                "None, give or take the error.",
                True,
                f"{n} × {q_text} = {chance}: chance alone explains all of it.",
            ),
            Choice(
                f"{chance}.", False, "That is the raw count; chance alone gives as much to an empty cell."
            ),
            Choice(
                f"{thousands(found.by_chance / found.p)}, because p = {found.p:.3g}.",
                False,
                "Dividing by p alone forgets the reports that point here by chance.",
            ),
        ),
    )


def _inverted_map(release: Release, scenario: Scenario, *, cell: int, inverted: bool) -> None:
    truth = release.population.true_counts.astype(np.float64)
    raw, estimate = raw_counts(release), release.estimates.estimate
    shown = estimate if inverted else raw
    truth_scale = count_scale(truth)
    scale = truth_scale if inverted else count_scale(raw)
    lesson_map(
        release.population,
        scenario,
        [
            Panel(
                id="truth",
                title="Truth",
                subtitle=f"devices, up to {thousands(truth_scale.top)}",
                index=truth_scale.index(truth),
                ramp=RAMPS["counts"],
                hatch=False,
            ),
            Panel(
                id="shown",
                title="Estimates" if inverted else "Raw counts",
                subtitle="devices, the scale of the truth"
                if inverted
                else f"reports, up to {thousands(scale.top)}",
                index=scale.index(shown),
                ramp=RAMPS["counts"],
                hatch=False,
            ),
        ],
        key="learn_inverted_map",
        columns=(
            hover("Truth", truth, unit="devices"),
            hover("Raw count", raw, unit="reports"),
            hover("Estimate", estimate, error=release.estimates.std_error, unit="devices"),
        ),
        followed=cell,
    )
    st.html(
        strip(
            shown,
            truth,
            dark=is_dark(),
            tokens=tokens(dark=is_dark()),
            bars_are="estimates" if inverted else "raw counts",
            unit="devices" if inverted else "reports",
        )
    )


def _formula(found: Inversion) -> None:
    st.html("<h2 class=card-name>The way back, with this scenario's numbers</h2>")
    st.html(
        f"<ol class=derivation><li>A phone in the cell points to it with chance {term('p', place='back')} = "
        f"{found.p:.6f}, a phone elsewhere with chance {term('q', place='back')} = {found.q:.6f}.</li>"
        f"<li>If c of n = {thousands(found.reports)} phones are in the cell, the server expects C = c p + (n − c) q reports "
        f"for it. Sorted: C = n q + c (p − q).</li>"
        f"<li>An empty cell would get n q = {thousands(found.reports)} × {written_for(found.q, found.reports)} = "
        f"{thousands(found.by_chance)}. This one got C = {thousands(found.support)}, which is "
        f"{signed(found.support - found.by_chance)}.</li>"
        f"<li>Every phone that is really there adds p − q = {found.gap:.6f} on average. So divide.</li></ol>"
    )
    st.html(
        '<p class="formula">estimate = (C − n q) ÷ (p − q)<br>'
        f"= ({thousands(found.support)} − {thousands(found.by_chance)}) ÷ {written_for(found.gap, found.reports)}<br>"
        f"= <b>{thousands(found.estimate)} ±{thousands(found.std_error)}</b> devices</p>"
    )
    st.html(
        f"<p class=lesson>This reads only what was sent already, so it costs no further privacy. The result is "
        f"{term('unbiased', place='back')}: too high and too low cancel over many tosses of all coins. ±"
        f"{thousands(found.std_error)} is one {term('standard_error', place='back')}; step 5 shows where it comes from.</p>"
    )
