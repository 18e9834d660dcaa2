"""The part of the Sizing page over resolutions: a city's distribution, or a user's file, on every grid."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import pandas as pd
import streamlit as st

from ldpcore.errors import ParameterError
from ldpcore.settings import RESOLUTIONS
from ldpcore.sizing import CityFit
from ldpcore.trips.cities import CITIES
from ui.controls import heading
from ui.number_words import thousands
from ui.pipeline import get_population
from ui.sizing_parts import Question, city_fit_of, distribution, use_scenario

HERE: Final = "this scenario"
IN_THEM: Final = "{} in them"
AT_ONCE_ROWS: Final = 200_000
"""Rows of a file up to which it is placed on the grids of all resolutions without asking."""


def over_resolutions(question: Question) -> None:
    """Draw how the city, or the user's file, fares at every resolution."""
    scenario, case = question.scenario, question.case
    heading("Which resolution")
    if not scenario.synthetic and not _resolutions_wanted(question):
        return
    rows, left_out = [], []
    for resolution in RESOLUTIONS[:-1] if scenario.resolution < RESOLUTIONS[-1] else RESOLUTIONS:
        here = replace(scenario, resolution=resolution)
        try:
            shares, devices = distribution(here, None if scenario.synthetic else get_population(here))
            fit = city_fit_of(here, replace(case, cells=shares.size, devices=devices), shares)
        except ParameterError as error:  # too many cells over the area of a file, or none in it
            left_out.append(str(error))
            continue
        rows.append((resolution, fit))
    _resolution_answer(question, rows)
    st.dataframe(
        pd.DataFrame(
            {
                "Resolution": f"{resolution}, {HERE}"
                if resolution == scenario.resolution
                else str(resolution),
                "Cells": fit.cells,
                "Busiest cell": round(fit.busiest_count),
                "Median cell": round(fit.median_count),
                "Known to the target": fit.cells_known,
                IN_THEM.format(question.noun.capitalize()): fit.share_known,
                "Published, expected": round(fit.cells_published, 1),
            }
            for resolution, fit in rows
        ),
        hide_index=True,
        width="stretch",
        column_config={
            IN_THEM.format(question.noun.capitalize()): st.column_config.NumberColumn(format="percent"),
            **{
                name: st.column_config.NumberColumn(format="localized")
                for name in (
                    "Cells",
                    "Busiest cell",
                    "Median cell",
                    "Known to the target",
                    "Published, expected",
                )
            },
        },
    )
    whose = (
        "what the city's distribution gives on average"
        if scenario.synthetic
        else "those of your file, which are not private"
    )
    st.caption(
        " ".join(
            (
                f"Counts per cell are {whose}. Published: the lower bound reaches the floor of {thousands(scenario.floor)} at "
                f"{100 * scenario.confidence:g} % confidence.",
                *left_out,
            )
        )
    )


def _resolutions_wanted(question: Question) -> bool:
    """Ask first where a file is so long that placing its trips on every grid takes a while."""
    population = get_population(question.scenario)
    if population.rows_read <= AT_ONCE_ROWS or st.session_state.get("sizing_all_resolutions"):
        return True
    st.button(
        "Place the file on every grid",
        key="sizing_all_resolutions",
        help=f"{thousands(population.rows_read)} rows are placed in the cells of each resolution; this takes a while.",
    )
    return False


def _resolution_answer(question: Question, rows: list[tuple[int, CityFit]]) -> None:
    scenario, case = question.scenario, question.case
    where = f"In {CITIES[scenario.city].label}" if scenario.city is not None else "In the area of your file"
    best, fit = max(rows, key=lambda row: row[1].cells_known)
    sentence = (
        f"{where}, resolution {best} has the most cells that hold at least "
        f"{thousands(case.target_count)} {question.noun} and are known to ±{100 * case.target_error:g} %: "
        f"{thousands(fit.cells_known)}."
        if fit.cells_known
        else f"{where}, no cell of any resolution is known to ±{100 * case.target_error:g} % at this ε."
    )
    left, right = st.columns([0.84, 0.16], vertical_alignment="center", gap="small")
    left.markdown(sentence)
    if fit.cells_known and best != scenario.resolution:
        right.button(
            "Use this",
            key="sizing_use_resolution",
            on_click=use_scenario(scenario, resolution=best),
            width="stretch",
        )
