"""The parts of the Falling back page about coarser cells, from the sentence at the top to the downloads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from html import escape
from typing import Any, Final

import numpy as np
import pandas as pd
import streamlit as st

from ldpcore.errors import ParameterError
from ldpcore.fallback import (
    METHODS,
    FallbackRelease,
    coarsest_choices,
    default_coarsest,
    fitting_methods,
    tree_std_error,
    why_unfit,
)
from ldpcore.fallback_files import fallback_bytes, fallback_command, fallback_sidecar
from ldpcore.fallback_measured import MeasuredFallback
from ldpcore.release import Release, Status
from ldpcore.release_files import SIMULATED, WRITERS, sidecar_bytes
from ldpcore.trips.cities import CITIES, city_land_geojson
from ui import assets
from ui.controls import heading, note
from ui.explore_map import area_geojson, cell_bounds
from ui.explore_parts import FILE_WORDS, MAP_HEIGHT, is_dark
from ui.fallback_charts import answered_bars, level_errors
from ui.fallback_map import mixed_legend, mixed_map
from ui.fallback_runs import (
    REDRAWS,
    first_redraw,
    get_fallback,
    get_measured_fallback,
    quick_fallback,
)
from ui.fallback_words import (
    HONESTY,
    METHOD_HELP,
    METHOD_LABELS,
    benefit,
    four_figures,
    headline,
    mean_spread,
    no_fallback,
    when_each_wins,
)
from ui.headline import figures_html
from ui.hex_map import hex_map
from ui.number_words import count_of, thousands, unbroken
from ui.table import STATUS_WORDS
from ui.upload import reading_words
from ui.view_choice import forget_problem, linked_choice, one_of, say_problem, whole_of

MAP_KEY: Final = "fallback_map"
METHOD_KEY: Final = "fallback_method"
COARSEST_KEY: Final = "fallback_coarsest"
FIRST_ROWS: Final = 200


@dataclass(frozen=True, slots=True)
class Choice:
    """How to fall back.

    Parameters
    ----------
    methods
        Methods that fit the randomiser; never empty.
    method
        The chosen one.
    coarsest
        Resolution of the coarsest cells.
    """

    methods: tuple[str, ...]
    method: str
    coarsest: int


def answer(plain: Release) -> tuple[Choice, FallbackRelease] | None:
    """Draw the sentence and the two controls; None, with the reason in words, where nothing can be fallen back to."""
    scenario, population = plain.scenario, plain.population
    top = st.container()
    fits = fitting_methods(scenario, population)
    choices = coarsest_choices(population)
    reason = why_unfit(scenario, population, "summed")
    if reason is None and not choices:
        try:
            default_coarsest(population)
        except ParameterError as error:
            reason = str(error)
    if reason is not None:
        top.html(f'<h1 class="headline">{escape(unbroken(no_fallback(plain, reason)))}</h1>')
        return None
    choice = _controls(plain, fits, choices)
    run = get_fallback(scenario, method=choice.method, coarsest=choice.coarsest)
    top.html(f'<h1 class="headline">{escape(unbroken(headline(plain, run)))}</h1>')
    with top:
        note(HONESTY)
    if not scenario.synthetic:
        top.warning(SIMULATED)
    return choice, run


def _controls(plain: Release, fits: tuple[str, ...], choices: tuple[int, ...]) -> Choice:
    default = default_coarsest(plain.population)
    method = linked_choice(
        "fall_back",
        default=fits[0],
        read=one_of(fits),
        must="one of " + ", ".join(fits),
        used=f"“{METHOD_LABELS[fits[0]]}”",
    )
    coarsest = linked_choice(
        "coarsest", default=default, read=whole_of(choices), must="one of " + ", ".join(map(str, choices))
    )
    say_problem("fall_back")
    say_problem("coarsest")
    # The link owns both choices, so that going back in the browser brings them back too.
    st.session_state[METHOD_KEY], st.session_state[COARSEST_KEY] = method, coarsest
    st.session_state["view_fall_back"] = "" if method == fits[0] else method
    st.session_state["view_coarsest"] = "" if coarsest == default else str(coarsest)
    left, right = st.columns([0.5, 0.5], gap="medium")
    with left:
        st.segmented_control(
            "How parents are known (method)",
            list(fits),
            format_func=METHOD_LABELS.__getitem__,
            key=METHOD_KEY,
            required=True,
            on_change=_take,
            args=("fall_back", METHOD_KEY),
            help=METHOD_HELP,
        )
    with right:
        if len(choices) > 1:
            st.select_slider(
                "Coarsest resolution to fall back to",
                list(choices),
                key=COARSEST_KEY,
                on_change=_take,
                args=("coarsest", COARSEST_KEY),
                help="More levels answer more cells, and each costs a little: every cell looked at counts in the correction.",
            )
        else:
            note(f"Only resolution {choices[0]} lies above these cells with more than one cell.")
    for name in METHODS:
        unfit = why_unfit(plain.scenario, plain.population, name)
        if unfit is not None:
            note(f"“{METHOD_LABELS[name]}” is not offered. {unfit}")
    return Choice(fits, method, coarsest)


def _take(name: str, key: str) -> None:
    forget_problem(name)
    st.session_state[f"view_{name}"] = str(st.session_state[key])


def picture(plain: Release, run: FallbackRelease) -> None:
    """Draw the mixed map beside the plain release, their legend and the four figures."""
    content = mixed_map(plain, run)
    population, scenario = run.population, run.scenario
    noun = "devices" if population.unit == "device" else "trips"
    version = ""
    if content is None:
        st.info(
            f"{thousands(population.domain.size)} cells are more than a map can show, and so are the parents of "
            f"resolution {run.tree.resolutions[0]}; choose a coarser one to fall back to. The table holds every answer."
        )
    else:
        if content.resolution != population.domain.resolution:
            st.info(
                f"Resolution {population.domain.resolution} has {thousands(population.domain.size)} cells, more than a map "
                f"can show. The map draws the answers of resolution {content.resolution} and coarser; sentence, figures "
                "and table hold all of them."
            )
        if scenario.city is not None:
            land: dict[str, Any] = {
                "land_url": assets.publish_land(scenario.city, city_land_geojson(scenario.city))
            }
            place = CITIES[scenario.city].label
        else:
            land, place = {"land_geojson": area_geojson(population.area)}, "area"
        state = hex_map(
            key=MAP_KEY,
            domain_version=content.version,
            cells=content.cells,
            panels=content.panels,
            bounds=cell_bounds(content.cells),
            view_key=f"{population.area.name} {population.area.bounds}",
            columns=content.columns,
            status=content.status,
            dark=is_dark(),
            attribution=population.area.attribution,
            height=MAP_HEIGHT,
            place=place,
            **land,
        )
        version = state.version
        st.html(mixed_legend(content, noun=noun, dark=is_dark()))
    expected = tree_std_error(scenario, population, run.tree, method=run.method)
    st.html(figures_html(four_figures(plain, run, expected), map_version=version))
    note(
        "Counts of cells of different size cannot be compared by colour, so the colour is devices per area and a coarse "
        "answer has that of its average. A parent stands for all its cells together, the published ones among them included, so a released parent and its "
        "released children may be read side by side but not added up. Parents are those of the H3 index."
    )


def gains(plain: Release, choice: Choice) -> None:
    """Draw what each method gains on this scenario, measured by redraws, with the table."""
    heading("What each way gains here")
    scenario, population = plain.scenario, plain.population
    wanted = "measure_fallback"
    if not quick_fallback(plain.mechanism) and not st.session_state.get(wanted):
        st.button(
            f"Measure {REDRAWS} redraws",
            key=wanted,
            help=f"{REDRAWS} draws of every method take a while with {thousands(population.domain.size)} cells.",
        )
        return
    with st.spinner(f"Drawing every method {REDRAWS} times"):
        measured = get_measured_fallback(scenario, methods=choice.methods, coarsest=choice.coarsest)
    noun = "devices" if population.unit == "device" else "trips"
    st.markdown(benefit(measured, cells=population.domain.size, noun=noun))
    st.altair_chart(
        answered_bars(measured, cells=population.domain.size, dark=is_dark()), key="fallback_answered"
    )
    st.altair_chart(level_errors(measured, noun=noun, dark=is_dark()), key="fallback_errors")
    first = first_redraw(scenario)
    note(
        f"Redraws {first} to {first + REDRAWS - 1} of seed {scenario.seed}, same trips. Bars: mean; line at their end: "
        "least to most of all redraws. Below: tick, theory; dot, redraws, "
        "with two standard errors."
    )
    st.markdown(when_each_wins(measured, noun=noun))
    frame = gains_frame(measured)
    with st.expander("The same as a table", key="open_gains"):
        shown = frame.assign(
            **{name: frame[name].round() for name in ("rmse", "rmse_error", "rmse_expected")}
        )
        st.dataframe(shown, hide_index=True, width="stretch", column_config=_gains_config(noun))
        st.download_button(
            "CSV",
            frame.to_csv(index=False, lineterminator="\n").encode(),
            "falling_back_measured.csv",
            "text/csv",
            on_click="ignore",
            key="download_gains",
        )


def gains_frame(measured: Sequence[MeasuredFallback]) -> pd.DataFrame:
    """Return the measured figures, one row a method and resolution, with means and spreads over the redraws."""
    rows = []
    for entry in measured:
        total, total_spread = mean_spread(entry.cells_answered.sum(axis=1))
        devices, devices_spread = mean_spread(entry.devices_answered)
        false, false_spread = mean_spread(entry.false_published)
        for place, level in enumerate(entry.resolutions):
            cells, spread = mean_spread(entry.cells_answered[:, place])
            rows.append(
                {
                    "method": METHOD_LABELS[entry.method],
                    "resolution": level,
                    "cells": cells,
                    "cells_spread": spread,
                    "all_cells": total,
                    "all_cells_spread": total_spread,
                    "devices": devices,
                    "devices_spread": devices_spread,
                    "false": false,
                    "false_spread": false_spread,
                    "relative_error": float(np.nanmean(entry.relative_error))
                    if np.isfinite(entry.relative_error).any()
                    else np.nan,
                    "rmse": float(entry.rmse[place]),
                    "rmse_error": float(entry.rmse_error[place]),
                    "rmse_expected": float(entry.rmse_expected[place]),
                }
            )
    return pd.DataFrame(rows)


def _gains_config(noun: str) -> dict[str, Any]:
    def number(label: str, digits: str, help_text: str = "") -> Any:  # noqa: ANN401 - a column's settings
        return st.column_config.NumberColumn(label, format=digits, help=help_text or None)

    return {
        "method": "Method",
        "resolution": number("Resolution", "%d"),
        "cells": number("Cells answered by it", "%.1f"),
        "cells_spread": number("± (sd)", "%.1f"),
        "all_cells": number("Cells answered", "%.1f", "At any resolution."),
        "all_cells_spread": number("± (sd) ", "%.1f"),
        "devices": number(f"{noun.capitalize()} in them", "percent"),
        "devices_spread": number("± (sd)  ", "percent"),
        "false": number("False alarms", "%.2f", "Published cells with fewer than the floor, a redraw."),
        "false_spread": number("± (sd)   ", "%.2f"),
        "relative_error": number(
            "Relative error",
            "percent",
            "Median over answered cells of error over truth, mean of the redraws.",
        ),
        "rmse": number(f"Error, {noun}", "localized", "Root mean square over all cells of the resolution."),
        "rmse_error": number("± (se)", "localized", "One standard error of the measurement."),
        "rmse_expected": number("Theory", "localized"),
    }


def table(run: FallbackRelease) -> None:
    """Draw the table, the map's twin."""
    panel = st.expander("Table", key="open_fallback_table", on_change="rerun")
    if not panel.open:
        return
    with panel:
        frame = run.frame(truth=True)
        # Answers first, the greatest estimate of each kind on top.
        frame = frame.assign(held=frame["status"] != Status.PUBLISHED.word).sort_values(
            ["held", "estimate"], ascending=[True, False], kind="stable"
        )
        everything = len(frame) <= FIRST_ROWS or st.toggle(
            f"All {thousands(len(frame))} rows", key="fallback_table_all"
        )
        shown = frame if everything else frame[:FIRST_ROWS]
        unit = "devices" if run.population.unit == "device" else "trips"
        confidence = f"{100 * run.scenario.confidence:g} %"
        st.dataframe(
            pd.DataFrame(
                {
                    "cell": shown["cell"],
                    "resolution": shown["resolution"],
                    "cells_answered": shown["cells_answered"],
                    "estimate": shown["estimate"].round(),
                    "plus_minus": ((shown["ci_high"] - shown["ci_low"]) / 2).round(),
                    "truth": shown["true_count"],
                    "at_least": shown["at_least"].round(),
                    "status": [_status_words(word) for word in shown["status"]],
                }
            ),
            hide_index=True,
            height=440,
            key="fallback_table",
            column_config={
                "cell": st.column_config.TextColumn("Cell (H3)"),
                "resolution": st.column_config.NumberColumn("Resolution", format="%d"),
                "cells_answered": st.column_config.NumberColumn("Cells it answers", format="localized"),
                "estimate": st.column_config.NumberColumn(f"Estimate, {unit}", format="localized"),
                "plus_minus": st.column_config.NumberColumn(f"± ({confidence})", format="localized"),
                "truth": st.column_config.NumberColumn(f"Truth, {unit}", format="localized"),
                "at_least": st.column_config.NumberColumn("At least", format="localized"),
                "status": st.column_config.TextColumn("Status"),
            },
        )
        left = int((run.answer < 0).sum())
        note(
            f"One row for each published cell that answers, and one for each coarsest cell that leaves some without an "
            f"answer ({count_of(left, 'cell')} in all). Estimate, ± and truth are of the whole cell in the row."
        )


def _status_words(word: str) -> str:
    return STATUS_WORDS.get(word, word) if word != Status.PUBLISHED.word else "published"


def downloads(plain: Release, run: FallbackRelease) -> None:
    """Offer the release of mixed resolutions, with and without the truth, and the command that makes it."""
    panel = st.expander("Download and command", key="open_fallback_download", on_change="rerun")
    if not panel.open:
        return
    scenario = run.scenario
    stem = f"{scenario.city or 'own'}_r{run.tree.resolutions[0]}-{run.tree.resolutions[-1]}"
    with panel:
        for truth, name, what in (
            (False, "Mixed release", "What a server could publish. No truth."),
            (True, "Mixed comparison", "The same with the truth beside it, which only a simulation has."),
        ):
            st.write(f"**{name}.** {what}")
            with st.container(horizontal=True):
                for ending in WRITERS:
                    st.download_button(
                        FILE_WORDS[ending],
                        data=partial(fallback_bytes, plain, run, ending, truth=truth),
                        file_name=f"{name.lower().replace(' ', '_')}_{stem}{ending}",
                        on_click="ignore",
                        key=f"download_{name}_{ending}",
                    )
                st.download_button(
                    "Scenario (JSON)",
                    data=partial(_sidecar, plain, run, truth=truth),
                    file_name=f"{name.lower().replace(' ', '_')}.scenario.json",
                    on_click="ignore",
                    key=f"download_{name}_sidecar",
                )
        command = scenario.to_command(reading=reading_words(), out="mixed.csv")
        st.code(fallback_command(command, run), language="bash", wrap_lines=True)
        note("The command writes the mixed comparison.")


def _sidecar(plain: Release, run: FallbackRelease, *, truth: bool) -> bytes:
    return sidecar_bytes(fallback_sidecar(plain, run, truth=truth))
