"""Steps 5 and 6: the error bar, drawn twenty times; and a finer grid with the same phones."""

from __future__ import annotations

from dataclasses import replace
from html import escape
from typing import Final

import numpy as np
import pandas as pd
import streamlit as st

from ldpcore.lesson import lesson_generator, probabilities
from ldpcore.lesson_errors import Clamping, Grid, direct_limit, grid, measure_clamping
from ldpcore.mechanisms import make_mechanism
from ldpcore.release import Release
from ldpcore.settings import Scenario
from ui.glossary import term
from ui.headline import Figure, figures_html
from ui.hex_map import HoverStatus, Panel
from ui.learn_frame import headline
from ui.learn_link import Place, stop_choice, switch
from ui.learn_map import choose_cell, hover, is_dark, lesson_map, map_table
from ui.learn_player import player
from ui.learn_redraws import Redraws, redraw_frames, redraw_svg, redraws
from ui.learn_steps import STEPS, Choice, Question
from ui.number_words import count_of, plus_minus, thousands, to_error
from ui.palettes import RAMPS, count_scale
from ui.pipeline import get_population, get_release

REDRAWS: Final = 20
CLAMP_REDRAWS: Final = 100


def error_bar(place: Place, scenario: Scenario) -> Question:  # noqa: ARG001 - every step takes both
    """Draw step 5 and return its question."""
    population = get_population(scenario)
    top = st.container()
    cell = choose_cell(population, key="learn_redrawn_cell", label="Cell to watch, beside an empty one")
    found = redraws(scenario, watched=cell, count=REDRAWS)
    empty_negative = int((found.empty["estimate"] < 0).sum())
    held = int(found.empty["holds"].sum())
    quiet = (
        "an empty cell"
        if found.empty_truth == 0
        else f"the quietest cell ({thousands(found.empty_truth)} devices)"
    )
    with top:
        headline(
            STEPS[4],
            f"In {REDRAWS} redraws the estimate of {quiet} fell below zero {empty_negative} times, down to "
            f"{to_error(float(found.empty['estimate'].min()), found.std_error)}; its error bar held the truth {held} times.",
        )
    version = player(
        redraw_svg(found, population, confidence=scenario.confidence, dark=is_dark()),
        key="learn_redraws",
        texts=redraw_frames(found, confidence=scenario.confidence),
        label=f"The map of estimates and the error bars of two cells over {REDRAWS} redraws",
        frame_word="Redraw",
        dark=is_dark(),
    )
    st.html(f'<span data-testid="redraws" data-version="{version}"></span>')
    st.html(
        f"<p class=lesson>The trips are the same in every redraw; only the phones' coins differ. A real server gets one draw "
        f"and never learns which. The {term('interval', place='redraws')} is made so that it holds the truth in about "
        f"{100 * scenario.confidence:g} of 100 draws; that share is its {term('coverage', place='redraws')}. An estimate "
        "that is right on average must lie below an empty cell's truth, zero, about every second time: a negative estimate "
        "is no mistake.</p>"
        f"<p class=lesson>Every phone adds its own chance, so with n phones the error of a cell grows like √n: ±"
        f"{thousands(found.std_error)} devices with {thousands(population.size)} phones, about ±"
        f"{thousands(found.std_error * 10**0.5)} with ten times as many. A cell that keeps its share of the phones has ten times "
        "the count by then, so its relative error is 3.2 times smaller; a cell that keeps its count is 3.2 times worse off.</p>"
    )
    with st.expander(f"The {REDRAWS} redraws as a table"):
        _redraw_table(found)
    st.html("<h2 class=card-name>What setting negative estimates to zero does</h2>")
    if switch(
        "clamp",
        "Set every negative estimate to zero (clamp)",
        help_text="Measured now, over all empty cells and many redraws.",
    ):
        _clamping(_measured(scenario))
    return Question(
        f"A cell is published as −{thousands(0.7 * found.std_error)} devices. What is right?",
        (
            Choice(
                "It is a bug: a count can't be negative, so show 0.",
                False,
                "A count can't; an estimate can. Zeroing the low half and keeping the high half lifts every quiet cell, by "
                "0.399 standard errors on average.",
            ),
            Choice(
                "It is an estimate within its error bar of zero; publish it with the error bar, or hold the cell back.",
                True,
                f"With a standard error of {thousands(found.std_error)} an empty cell reads like that or lower about one time "
                "in four. Over many draws, or over many cells, low and high cancel.",
            ),
            Choice(
                "The cell is truly emptier than its neighbours.",
                False,
                "No cell is emptier than empty: one draw of the coins came out low.",
            ),
        ),
    )


@st.cache_resource(max_entries=64, show_spinner="Tossing the coins a hundred times")
def _measured(scenario: Scenario) -> Clamping:
    release = get_release(scenario)
    return measure_clamping(
        release.mechanism,
        release.population.true_counts,
        redraws=CLAMP_REDRAWS,
        rng=lesson_generator(scenario, step=5),
    )


def _redraw_table(found: Redraws) -> None:
    rows = []
    for number in range(len(found.empty)):
        row: dict[str, object] = {"Redraw": number + 1}
        for name, frame in (("Empty cell", found.empty), ("Watched cell", found.watched)):
            entry = frame.iloc[number]
            row |= {
                f"{name}: estimate": round(float(entry["estimate"])),
                f"{name}: from": round(float(entry["low"])),
                f"{name}: to": round(float(entry["high"])),
                f"{name}: holds the truth": bool(entry["holds"]),
            }
        rows.append(row | {"Cells whose bar holds, %": round(100 * float(found.coverage[number]), 1)})
    st.dataframe(pd.DataFrame(rows), hide_index=True, width="stretch")


def _clamping(found: Clamping) -> None:
    st.html(
        figures_html(
            (
                Figure(
                    "Empty cell, raw estimates",
                    f"{to_error(found.raw, found.raw_error)} {plus_minus(found.raw_error)}",
                    "theory 0",
                    "Mean over all empty cells and redraws, in devices.",
                ),
                Figure(
                    "Empty cell, clamped",
                    f"{to_error(found.clamped, found.clamped_error)} {plus_minus(found.clamped_error)}",
                    f"theory 0.399 × {thousands(found.std_error)} = {thousands(found.expected)}",
                    "The same with every negative estimate set to zero, in devices.",
                ),
                Figure(
                    "In standard errors",
                    f"{found.clamped / found.std_error:.3f} {plus_minus(found.clamped_error / found.std_error)}",
                    "theory 1 ÷ √(2π) = 0.399",
                    "The bias of clamping, whatever the randomiser.",
                ),
                Figure(
                    "Devices that do not exist",
                    thousands(found.clamped * found.cells),
                    f"over {count_of(found.cells, 'empty cell')}",
                    "What clamping adds to a map of quiet streets.",
                ),
            ),
            map_version=f"clamp-{found.cells}",
        )
    )
    moved = (
        f" This city has no empty cell, so the {thousands(found.emptied)} devices of the quietest one were moved to the busiest "
        "for this measurement."
        if found.emptied
        else ""
    )
    st.html(
        f"<p class=lesson>Measured now in {found.redraws} redraws. {term('clamping', 'Clamping', place='clamp')} keeps the "
        "draws that came out high and cuts those that came out low, so quiet cells look busy on average, and no number of "
        f"redraws mends it.{escape(moved)}</p>"
    )


def finer_grid(place: Place, scenario: Scenario) -> Question:  # noqa: ARG001 - every step takes both
    """Draw step 6 and return its question."""
    base = scenario.resolution
    top = st.container()
    resolution = stop_choice(
        "finer",
        "Resolution of the grid",
        (base, base + 1, base + 2),
        default=base + 1,
        show=str,
        help_text="The same city, the same phones, the same ε.",
    )
    rows = [_grid_at(replace(scenario, resolution=number)) for number in range(base, base + 3)]
    coarse, shown = rows[0], rows[resolution - base]
    release = get_release(replace(scenario, resolution=resolution))
    n = release.population.size
    with top:
        if resolution == base:
            sentence = (
                f"At resolution {base} a cell of mean count, {thousands(n / coarse.cells)} devices, is known to "
                f"±{100 * coarse.relative_error:.3g} %; choose a finer grid to see what it costs."
            )
        else:
            same = round(shown.std_error) == round(coarse.std_error)
            empty = (
                f"stays ±{thousands(coarse.std_error)} devices"
                if same
                else f"goes from ±{thousands(coarse.std_error)} to ±{thousands(shown.std_error)} devices"
            )
            sentence = (
                f"{shown.cells / coarse.cells:.1f} times the cells: the error of an empty cell {empty}, that of a mean cell goes "
                f"from ±{100 * coarse.relative_error:.3g} % to ±{100 * shown.relative_error:.3g} % of its count."
            )
        headline(STEPS[5], sentence)
    truth = release.population.true_counts.astype(np.float64)
    scale = count_scale(truth)
    lesson_map(
        release.population,
        scenario,
        [
            Panel(
                id="truth",
                title="Truth",
                subtitle=f"resolution {resolution}, up to {thousands(scale.top)} devices",
                index=scale.index(truth),
                ramp=RAMPS["counts"],
                hatch=False,
            ),
            Panel(
                id="estimate",
                title="Published estimates",
                subtitle="hatched: not sure to reach the floor",
                index=scale.index(release.estimates.estimate),
                ramp=RAMPS["counts"],
            ),
        ],
        key="learn_finer_map",
        columns=(
            hover("Truth", truth, unit="devices"),
            hover("Estimate", release.estimates.estimate, error=release.estimates.std_error, unit="devices"),
        ),
        hatched=~release.published,
        status=HoverStatus(
            codes=release.status, labels=("published", "not published", "not published: noise")
        ),
    )
    _grid_table(rows, scenario, n)
    _exactly(rows, scenario, release)
    _which_randomiser(coarse, scenario, n)
    map_table(release)
    factor = rows[1].relative_error / coarse.relative_error
    return Question(
        f"You go one resolution finer with the same phones and {release.mechanism.label.lower()}. What happens to one cell?",
        (
            Choice(
                "Its error in devices grows seven-fold, because there are seven times more cells.",
                False,
                f"It goes from ±{thousands(coarse.std_error)} to ±{thousands(rows[1].std_error)} devices in an empty cell.",
            ),
            Choice(
                f"It holds about a seventh of the phones, so its relative error is {factor:.1f} times as large.",
                True,
                f"±{100 * coarse.relative_error:.3g} % became ±{100 * rows[1].relative_error:.3g} % for a cell of mean count. "
                "A finer grid does not add detail that was not reported; it spreads it thinner.",
            ),
            Choice(
                "Nothing: the same phones give the same information.",
                False,
                "The same information is spread over more cells, and each has to be told from the noise by itself.",
            ),
        ),
    )


def _grid_at(scenario: Scenario) -> Grid:
    population = get_population(scenario)
    return grid(
        scenario.mechanism,
        epsilon=scenario.epsilon,
        resolution=scenario.resolution,
        cells=population.domain.size,
        devices=population.size,
        **dict(scenario.options),
    )


def _grid_table(rows: list[Grid], scenario: Scenario, n: int) -> None:
    table = pd.DataFrame(
        {
            "Resolution": [str(row.resolution) for row in rows],
            "Cells": [row.cells for row in rows],
            "Mean devices in a cell": [round(n / row.cells) for row in rows],
            "Error of an empty cell, devices": [round(row.std_error) for row in rows],
            "Relative error of a mean cell": [round(row.relative_error, 3) for row in rows],
            "Largest error of any cell, about": [round(row.largest_error) for row in rows],
            "Cells published": [
                int(get_release(replace(scenario, resolution=row.resolution)).published.sum()) for row in rows
            ],
        }
    )
    st.dataframe(
        table,
        hide_index=True,
        width="stretch",
        column_config={
            name: st.column_config.NumberColumn(format="localized")
            for name in table.columns
            if table[name].dtype.kind in "if"
        }
        | {"Relative error of a mean cell": st.column_config.NumberColumn(format="percent")},
    )


def _which_randomiser(own: Grid, scenario: Scenario, n: int) -> None:
    """Say when to send one cell and when marks on a list, with the numbers of this grid."""
    epsilon, limit = scenario.epsilon, direct_limit(scenario.epsilon)
    direct, marks = (
        grid(name, epsilon=epsilon, resolution=own.resolution, cells=own.cells, devices=n)
        for name in ("grr", "oue")
    )
    named = probabilities(make_mechanism("grr", epsilon=epsilon, domain_size=own.cells))[0]
    better = "optimised unary encoding" if own.cells > limit else "generalised randomised response"
    st.html(
        "<h2 class=card-name>Which randomiser, then</h2><p class=lesson>Generalised randomised response sends one cell: the "
        f"phone's own with chance e^ε ÷ (e^ε + d − 1), any other with the same small chance. With d = {thousands(own.cells)} "
        f"cells only {100 * named:.3g} of 100 phones send their own, so the many wrong names drown the right ones. Optimised "
        "unary encoding sends a mark or none for each cell by itself, so it does not matter how many others there are.</p>"
        f"<p class=lesson>The two err alike in an empty cell at d = 3e^ε + 2, here {limit:.1f} cells. Fewer cells: send one "
        f"name, which is shorter too. More cells: send marks. At resolution {own.resolution} an empty cell is known to "
        f"±{thousands(direct.std_error)} devices by the first and to ±{thousands(marks.std_error)} by the second: {better} "
        "is the better one here.</p>"
    )


def _exactly(rows: list[Grid], scenario: Scenario, release: Release) -> None:
    """Say what more cells do and what they don't, for this randomiser and for the direct one."""
    coarse, finest = rows[0], rows[2]
    n = release.population.size
    other = [
        grid("grr", epsilon=scenario.epsilon, resolution=row.resolution, cells=row.cells, devices=n)
        for row in rows
    ]
    times = finest.cells / coarse.cells
    own = finest.std_error / coarse.std_error
    direct = other[2].std_error / other[0].std_error
    label = escape(release.mechanism.label.lower())
    stays = abs(own - 1) < 0.02
    st.html(
        "<h2 class=card-name>Exactly: what more cells do, and what they do not</h2><ul class=derivation>"
        f"<li>With {label} the error of one cell in devices "
        + ("<b>stays</b>" if stays else f"becomes <b>{own:.2f} times</b> as large")
        + f" when there are {times:.0f} times the cells (resolution {finest.resolution} instead of {coarse.resolution}): "
        f"±{thousands(coarse.std_error)} and ±{thousands(finest.std_error)} for an empty one.</li>"
        f"<li>The {term('relative_error', place='finer')} of a cell of mean count grows "
        f"{finest.relative_error / coarse.relative_error:.0f}-fold, from {100 * coarse.relative_error:.3g} % to "
        f"{100 * finest.relative_error:.3g} %, because it holds {times:.0f} times fewer devices.</li>"
        f"<li>The squared errors of all cells together grow with the number of cells, {times * own**2:.0f}-fold; the largest "
        f"error on the map grows slowly, like √(2 ln d): about ±{thousands(coarse.largest_error)} and "
        f"±{thousands(finest.largest_error)}.</li>"
        "<li>Generalised randomised response, which sends one cell, is different: its error in devices becomes "
        f"{direct:.1f} times as large, its relative error {other[2].relative_error / other[0].relative_error:.0f} times.</li>"
        f"<li>A hatched cell is held back because not at least {thousands(scenario.floor)} devices are sure "
        f"({term('floor', place='finer')}). That protects the reader from noise, not the phones: the estimates are private "
        "already, whether they are shown or not.</li>"
        "<li>More cells do <b>not</b> change ε, nor how many phones report, nor the sum over a coarse cell for the better: "
        "adding up seven small estimates adds up seven errors.</li></ul>"
    )
