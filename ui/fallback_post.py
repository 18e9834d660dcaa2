"""The post-processing part of the Falling back page: eight columns beside the raw estimate, and what each one shifts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from html import escape
from typing import Any, Final

import numpy as np
import pandas as pd
import streamlit as st

from ldpcore.postprocess import IBU_ITERATIONS, POSTPROCESSORS, fitting_postprocessors, postprocess, why_unfit
from ldpcore.postprocess_measured import RAW, CellGroup, MeasuredBias
from ldpcore.release import Release
from ldpcore.release_files import SIMULATED, WRITERS, sidecar
from ldpcore.shapes import FloatArray
from ui.controls import heading, note
from ui.explore_parts import FILE_WORDS, is_dark
from ui.fallback_charts import sum_errors
from ui.fallback_runs import (
    AT_ONCE_CELLS,
    REDRAWS,
    first_redraw,
    get_measured_bias,
    quick_postprocessing,
)
from ui.fallback_words import mean_spread
from ui.number_words import percent, plus_minus, round_significant, thousands, to_error
from ui.pipeline import runs_of

RULE: Final = (
    "The raw estimate is what is published: it is right on average in every cell and in every sum, and only it has error "
    "bars. No interval is ever computed from a post-processed column, because at zero its errors are neither normal nor "
    "centred. Post-processing costs no privacy: it reads what the server has already."
)
FIRST_ROWS: Final = 50


def measured(release: Release) -> None:
    """Draw what each way of post-processing shifts on this scenario, by redraws, with the table."""
    heading("Post-processing: counts that look like counts")
    if not quick_postprocessing(release.mechanism) and not st.session_state.get("measure_bias"):
        note(RULE)
        st.button(
            f"Measure {REDRAWS} redraws of every column",
            key="measure_bias",
            help=f"With {thousands(release.population.domain.size)} cells this takes a while"
            + (
                f"; ibu alone may climb {IBU_ITERATIONS:,} steps a redraw."
                if "ibu" in fitting_postprocessors(release.mechanism)
                else "."
            ),
        )
        return
    with st.spinner(f"Drawing the coins {REDRAWS} times"):
        groups, found = get_measured_bias(release.scenario)
    noun = "devices" if release.population.unit == "device" else "trips"
    st.markdown(f"**{answer(groups, found, release, noun=noun)}**")
    note(RULE)
    names = [entry.name for entry in found]
    pictures = [
        ("Typical error of one cell", [entry.rmse for entry in found], False),
        *(
            (f"Error of the sum: {_short(group)}", [entry.sums[place] for entry in found], True)
            for place, group in enumerate(groups)
        ),
    ]
    for start in range(0, len(pictures), 3):
        row = pictures[start : start + 3]
        for number, (slot, (title, values, zero)) in enumerate(
            zip(st.columns(3, gap="medium")[: len(row)], row, strict=True)
        ):
            with slot:
                st.html(f'<p class="chart-title">{escape(title)}</p>')
                st.altair_chart(
                    sum_errors(names, values, title=noun.capitalize(), zero=zero, dark=is_dark()),
                    key=f"post_{start + number}",
                )
    first = first_redraw(release.scenario)
    region = next((group.label for group in groups if group.name == "region"), "")
    note(
        f"Dot: mean of redraws {first} to {first + REDRAWS - 1} of seed {release.scenario.seed}, same trips. Band: least to "
        f"most. Left of zero: the sum is too low.{f' The region is the busiest one: {region}.' if region else ''}"
    )
    with st.expander("The same as a table", key="open_bias"):
        frame = bias_frame(groups, found, release)
        config: dict[str, Any] = {"column": "Column", "cells": "Added up"}
        labels = {
            "truth": f"Truth, {noun}",
            "bias": "Mean error of the sum",
            "bias_error": "± (standard error)",
            "spread": "One redraw, ± (sd)",
            "rmse": "Error of a cell",
            "rmse_spread": "± (sd)",
        }
        config |= {
            name: st.column_config.NumberColumn(label, format="localized") for name, label in labels.items()
        }
        config["relative"] = st.column_config.NumberColumn("Of the truth", format="percent")
        shown = frame.copy()
        for name in labels:
            shown[name] = shown[name].round()
        st.dataframe(shown, hide_index=True, width="stretch", column_config=config)
        st.download_button(
            "CSV",
            frame.to_csv(index=False, lineterminator="\n").encode(),
            "post_processing_measured.csv",
            "text/csv",
            on_click="ignore",
            key="download_bias",
        )


def answer(groups: Sequence[CellGroup], found: Sequence[MeasuredBias], release: Release, *, noun: str) -> str:
    """Return which column has the smallest error of a cell, and what it does to a sum that people would form."""
    raw, *others = found
    best = min(others, key=lambda entry: float(entry.rmse.mean()))
    mean, _ = mean_spread(best.rmse)
    raw_mean, _ = mean_spread(raw.rmse)
    opening = (
        f"Raw, a cell is off by {plus_minus(round_significant(raw_mean, 3))} {noun} here; {best.name} brings that to "
        f"{plus_minus(round_significant(mean, 3))}"
    )
    truth = release.population.true_counts
    # The sum it shifts most surely, in standard errors of the measured mean.
    sure = np.abs(best.sum_bias) / np.maximum(best.sum_bias_error, 1e-9)
    sure[np.abs(best.sum_bias) < 0.5] = 0
    place = int(np.argmax(sure))
    if sure[place] < 3:
        return f"{opening} and shifts no sum by more than these redraws can tell."
    group, bias = groups[place], float(best.sum_bias[place])
    held = int(truth[group.cells].sum())
    of = f", {percent(bias / held)} of the {thousands(held)} there" if held else ", where nobody is"
    error = float(best.sum_bias_error[place])
    shift = f"{'+' if bias > 0 else ''}{to_error(bias, error)} {plus_minus(error)}"
    return f"{opening}, and shifts the sum over {_of(group)} by {shift}{of}."


def _of(group: CellGroup) -> str:
    return group.label if group.name == "all" else f"the {group.label}"


def _short(group: CellGroup) -> str:
    return "busiest region" if group.name == "region" else group.label


def bias_frame(groups: Sequence[CellGroup], found: Sequence[MeasuredBias], release: Release) -> pd.DataFrame:
    """Return mean error, its standard error and the spread of every column and sum."""
    truth = release.population.true_counts
    rows = []
    for entry in found:
        rmse, rmse_spread = mean_spread(entry.rmse)
        for place, group in enumerate(groups):
            held = int(truth[group.cells].sum())
            bias = float(entry.sum_bias[place])
            rows.append(
                {
                    "column": entry.name,
                    "cells": group.label,
                    "truth": held,
                    "bias": bias,
                    "bias_error": float(entry.sum_bias_error[place]),
                    "relative": bias / held if held else np.nan,
                    "spread": mean_spread(entry.sums[place])[1],
                    "rmse": rmse,
                    "rmse_spread": rmse_spread,
                }
            )
    return pd.DataFrame(rows)


def post_columns(release: Release) -> Mapping[str, FloatArray]:
    """Return the fitting columns of a release by name, kept as long as the run is."""

    def make() -> tuple[tuple[str, FloatArray], ...]:
        return tuple(
            (
                name,
                postprocess(
                    name,
                    release.mechanism,
                    release.counts,
                    n=release.population.size,
                    confidence=release.scenario.confidence,
                ),
            )
            for name in fitting_postprocessors(release.mechanism)
        )

    found: tuple[tuple[str, FloatArray], ...] = runs_of(release.scenario).get(
        ("post columns", release.scenario), make
    )
    return dict(found)


def columns(release: Release) -> None:
    """Draw the columns beside the raw estimate, busiest estimates first, with their download."""
    panel = st.expander("The columns, cell by cell", key="open_columns", on_change="rerun")
    if not panel.open:
        return
    with panel:
        values = post_columns(release)
        estimate = release.estimates.estimate
        order = np.argsort(-estimate, kind="stable")
        everything = order.size <= FIRST_ROWS or st.toggle(
            f"All {thousands(order.size)} cells", key="columns_all"
        )
        shown = order if everything else order[:FIRST_ROWS]
        noun = "devices" if release.population.unit == "device" else "trips"
        half = (release.estimates.ci_high - release.estimates.ci_low) / 2
        ids = release.population.domain.cell_ids()
        frame = pd.DataFrame(
            {
                "cell": [ids[at] for at in shown],
                RAW: np.round(estimate[shown]),
                "plus_minus": np.round(half[shown]),
                "truth": release.population.true_counts[shown],
                **{name: np.round(column[shown]) for name, column in values.items()},
            }
        )
        labels = {
            RAW: f"Raw, {noun}",
            "plus_minus": f"± ({100 * release.scenario.confidence:g} %) of raw",
            "truth": f"Truth, {noun}",
        }
        st.dataframe(
            frame,
            hide_index=True,
            height=440,
            key="post_table",
            column_config={
                "cell": st.column_config.TextColumn("Cell (H3)"),
                **{
                    name: st.column_config.NumberColumn(labels.get(name, name), format="localized")
                    for name in frame.columns[1:]
                },
            },
        )
        if not release.scenario.synthetic:
            st.warning(SIMULATED)
        for truth, title in ((False, "Columns"), (True, "Columns with truth")):
            st.write(
                f"**{title}.** The release with these columns beside it"
                + (", and the truth." if truth else ". No truth.")
            )
            with st.container(horizontal=True):
                for ending in WRITERS:
                    st.download_button(
                        FILE_WORDS[ending],
                        data=partial(columns_bytes, release, ending, truth=truth),
                        file_name=f"columns{'_truth' if truth else ''}_r{release.scenario.resolution}{ending}",
                        on_click="ignore",
                        key=f"download_{title}_{ending}",
                    )


def columns_bytes(release: Release, ending: str, *, truth: bool) -> bytes:
    """Return the release with its post-processed columns as the bytes of a file."""
    frame = release.frame(truth=truth)
    values = post_columns(release)
    for name, column in values.items():
        frame[name.replace("-", "_")] = column
    about = sidecar(release, truth=truth)
    about["post_processing"] = {
        "columns": {name.replace("-", "_"): POSTPROCESSORS[name].summary for name in values},
        "intervals": "std_error, ci_low, ci_high and at_least belong to the column estimate alone.",
    }
    return WRITERS[ending](frame, about)


def ways(release: Release) -> None:
    """List every way in one sentence, and why one does not fit this randomiser."""
    panel = st.expander("What each column does", key="open_ways", on_change="rerun")
    if not panel.open:
        return
    with panel:
        rows = []
        for name, entry in POSTPROCESSORS.items():
            unfit = why_unfit(name, release.mechanism)
            reason = f" <b>Not here:</b> {escape(unfit)}" if unfit else ""
            rows.append(
                f"<li><code>{escape(name)}</code> {escape(entry.label)}. {escape(entry.summary)}{reason}</li>"
            )
        st.html(f'<ul class="ways">{"".join(rows)}</ul>')
        references = dict.fromkeys(entry.reference for entry in POSTPROCESSORS.values())
        note("; ".join(references) + ".")
        if "ibu" in fitting_postprocessors(release.mechanism):
            note(
                f"ibu stops after {IBU_ITERATIONS:,} steps, and above {thousands(AT_ONCE_CELLS)} cells its redraws wait for a click."
            )
