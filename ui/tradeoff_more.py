"""The lower half of the Trade-offs page: small maps, who bears the error, whether the decision would change, files."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from html import escape
from typing import Final

import pandas as pd
import streamlit as st

from ldpcore.errors import ParameterError, TripFileError
from ldpcore.population import Population
from ldpcore.settings import RESOLUTIONS, Scenario
from ldpcore.sweep import Grid, Point, points_frame, sweep_bytes
from ldpcore.sweep_figures import measured_figures
from ldpcore.top_list import ListRedraws, share_interval
from ui.controls import heading, note
from ui.explore_parts import is_dark
from ui.number_words import percent, thousands
from ui.pipeline import get_release, runs_of
from ui.tradeoff_charts import decile_chart, decile_share_chart, rank_chart
from ui.tradeoff_frames import csv_bytes, labels
from ui.tradeoff_maps import Raster, picture, picture_html, raster_of
from ui.tradeoff_parts import sweep_done
from ui.tradeoff_words import decile_answer, list_answer, write
from ui.tradeoff_work import DECILE_REDRAWS, LIST_REDRAWS, Work
from ui.upload import reading_words

SHOWN: Final = RESOLUTIONS[1:]
_WATCH: Final = "tradeoff_watch"


def maps(scenario: Scenario, work: Work, noun: str) -> None:
    """Draw what is published at resolutions 6 to 10 and this epsilon, as pictures side by side."""
    heading(f"Resolutions {SHOWN[0]} to {SHOWN[-1]} at the same privacy")
    if work.running and not sweep_done(work):
        note("These pictures come when the sweep is done.")
        return
    pictures, rows = [], []
    for resolution in SHOWN:
        here = replace(scenario, resolution=resolution, per_report=False)
        try:
            html, row = _small_map(here, noun, now=resolution == scenario.resolution)
        except (ParameterError, TripFileError) as error:
            html = (
                f'<figure class="smallmap"><figcaption>Resolution {resolution}</figcaption><p>Could not be drawn. '
                f"{escape(str(error))}</p></figure>"
            )
        else:
            rows.append(row)
        pictures.append(html)
    st.html(f'<div class="smallmaps">{"".join(pictures)}</div>')
    note(
        f"One run each at ε = {scenario.epsilon:g} (redraw {scenario.draw} of seed {scenario.seed}), as Explore draws it. Coloured: published; hatched: not. "
        "Each map has its own scale, up to the number under it. Still pictures of about 300 pixels across: a pixel takes the "
        "colour of the cell at its middle, so at resolution 10 some cells have none."
    )
    if rows:
        frame = pd.DataFrame(rows)
        with st.expander("The same as a table"):
            st.dataframe(
                frame,
                hide_index=True,
                width="stretch",
                key="tradeoff_table_maps",
                column_config=labels(frame),
            )
            _csv("maps", frame)


def _small_map(scenario: Scenario, noun: str, *, now: bool) -> tuple[str, dict[str, float]]:
    release = get_release(scenario)
    domain, area = release.population.domain, release.population.area
    raster: Raster = runs_of(scenario).get(
        ("raster", area.name, area.bounds, domain.version), lambda: raster_of(area, domain)
    )
    png, scale = picture(release, raster, dark=is_dark())
    found = measured_figures(release)
    published = int(found["published"])
    share = write(found["published_share"], "share")
    error = write(found["mean_absolute_error"], "count")
    top = write(found["top_relative_error"], "relative")
    lines = (
        f"{share} of {thousands(domain.size)} cells published",
        f"cells ±{error} {noun} on average, fullest ten {top}",
        f"darkest: {thousands(scale.top)} {noun} or more"
        if not is_dark()
        else f"brightest: {thousands(scale.top)} {noun} or more",
    )
    html = picture_html(
        png,
        title=f"Resolution {scenario.resolution}",
        lines=lines,
        alt=f"Map of {area.label} at resolution {scenario.resolution}: {published} of {domain.size} cells published, the "
        "others hatched.",
        now=now,
    )
    row = {
        "resolution": scenario.resolution,
        "cells": domain.size,
        "published": published,
        "published_share": found["published_share"],
        "published_share_expected": release.figures.published_expected / domain.size,
        "mean_absolute_error": found["mean_absolute_error"],
        "top_relative_error": found["top_relative_error"],
    }
    return html, row


def bearers(work: Work, noun: str) -> None:
    """Draw who bears the error: each tenth of the cells by density."""
    heading("Who bears the error")
    frame = work.deciles
    if frame is None:
        _not_yet(work)
        return
    st.markdown(decile_answer(frame, noun))
    left, right = st.columns(2, gap="medium")
    with left:
        st.altair_chart(
            decile_chart(frame, dark=is_dark()),
            key="tradeoff_deciles",
            theme=None,
            alt="Error over the count of each tenth of the cells; the table below holds the same.",
        )
    with right:
        st.altair_chart(
            decile_share_chart(frame, dark=is_dark()),
            key="tradeoff_decile_shares",
            theme=None,
            alt="Published share of each tenth of the cells; the table below holds the same.",
        )
    note(
        f"Dot: mean of {DECILE_REDRAWS} redraws; right, the line is one standard deviation. Tick: theory. A tenth where nobody "
        "is has no relative error and is left out on the left."
    )
    with st.expander("The same as a table"):
        st.dataframe(
            frame,
            hide_index=True,
            width="stretch",
            key="tradeoff_table_deciles",
            column_config=labels(frame, error="Mean absolute error"),
        )
        _csv("deciles", frame)


def decision(work: Work, population: Population) -> None:
    """Draw whether another toss of the coins would give another list."""
    heading("Would the decision change?")
    lists = work.lists
    if lists is None:
        _not_yet(work)
        return
    ids = population.domain.cell_ids()
    point = work.current
    theory = None if point is None else point.fixed.get("top_list_right_expected")
    st.markdown(list_answer(lists, theory))
    if population.domain.size <= lists.truth.size:
        note("The area has no more cells than the list is long, so the list can't be wrong.")
    frame = lists.rank_frame()
    frame.insert(2, "h3", [ids[cell] for cell in frame["cell"]])
    st.altair_chart(
        rank_chart(frame, size=lists.truth.size, redraws=lists.redraws, dark=is_dark()),
        key="tradeoff_ranks",
        theme=None,
        alt="Rank of each cell of the true list over the redraws; the table below holds the same.",
    )
    note(
        f"Line: middle 90 % of the redraws, dot: median; dashed: end of the list. Right: in how many of {lists.redraws} redraws the "
        f"cell is on the list. Same trips, new coins; the list is ranked by "
        "estimate, published or not."
    )
    intruders = lists.intruders()
    intruders.insert(1, "h3", [ids[cell] for cell in intruders["cell"]])
    _watch(lists, population, [*frame["h3"], *intruders["h3"][:40]])
    with st.expander("The same as a table"):
        st.dataframe(
            frame.drop(columns=["cell"]),
            hide_index=True,
            width="stretch",
            key="tradeoff_table_ranks",
            column_config=labels(frame),
        )
        _csv("ranks", frame.drop(columns=["cell"]))
        if len(intruders):
            st.write("Cells that were on the list and do not belong there:")
            st.dataframe(
                intruders[["h3", "listed"]],
                hide_index=True,
                width="stretch",
                key="tradeoff_table_intruders",
                column_config=labels(intruders),
            )
            _csv("intruders", intruders[["h3", "listed"]])


def _watch(lists: ListRedraws, population: Population, offered: list[str]) -> None:
    """Say of one cell how often it is on the list."""
    state = st.session_state
    wanted = state.get("view_watch", "")
    index = _index_of(wanted, population) if wanted else -1
    if wanted and index < 0:
        st.error(
            f"{wanted!r} is no cell of this grid: it belongs to another resolution or area. Choose one below."
        )
    options = offered if index < 0 or wanted in offered else [wanted, *offered]
    chosen = st.selectbox(
        "How often is a cell on the list?",
        options,
        index=options.index(wanted) if index >= 0 else None,
        placeholder="One of the true list, or one that got onto it",
        key=f"{_WATCH}_{wanted}_{population.domain.version}",
    )
    if chosen is None:
        return
    state["view_watch"] = chosen
    cell = _index_of(chosen, population)
    times = lists.times_listed(cell)
    low, high = share_interval(times, lists.redraws)
    place = lists.truth.tolist().index(cell) + 1 if cell in lists.truth else None
    truly = f"truly number {place}" if place is not None else "truly not on it"
    st.markdown(
        f"Cell {chosen} ({thousands(population.true_counts[cell])} in truth, {truly}) is on the list in **{times} of "
        f"{lists.redraws}** redraws: probability {write(times / lists.redraws, 'share')}, 95 % interval "
        f"{percent(low)} to {percent(high)}."
    )


def _index_of(text: str, population: Population) -> int:
    try:
        number = int(text, 16)
    except ValueError:
        return -1
    if not 0 <= number < 2**64:
        return -1
    return int(population.domain.index_of_cells([number])[0])


def _not_yet(work: Work) -> None:
    if work.running:
        note("This comes after the sweep.")
    elif work.current is not None and work.current.error is not None:
        st.warning(f"The scenario could not be run. {work.current.error}")
    else:
        note("Not made: the work was cancelled. Press Go on above.")


def downloads(work: Work) -> None:
    """Offer the whole sweep as a file and as a command that gives the same figures."""
    heading("Take it with you")
    study = work.study
    grids = [("Sweep", "sweep", study.grid, work.points)]
    if study.lines is not None:
        grids.append(("Sweep of the lines", "lines", study.lines, work.line_points))
    for label, name, grid, found in grids:
        points = [found[place] for place in sorted(found)]
        left, right = st.columns([0.3, 0.7], gap="medium", vertical_alignment="top")
        with left:
            st.download_button(
                f"{label} (Parquet)",
                data=partial(sweep_bytes, points),
                file_name=f"tradeoffs_{name}.parquet",
                on_click="ignore",
                key=f"tradeoff_parquet_{name}",
                disabled=not points,
                width="stretch",
            )
            st.download_button(
                f"{label} (CSV)",
                data=partial(_points_csv, points),
                file_name=f"tradeoffs_{name}.csv",
                mime="text/csv",
                on_click="ignore",
                key=f"tradeoff_sweep_csv_{name}",
                disabled=not points,
                width="stretch",
            )
        with right:
            for command in commands(grid):
                st.code(command, language="bash", wrap_lines=True)
    note(
        f"The commands give the same figures: redraws 0 to {study.grid.repeats - 1} of seed {study.scenario.seed}, counts drawn "
        f"from their joint law, whatever redraw Explore shows. The list above is from redraws 0 to {LIST_REDRAWS - 1}."
    )


def _points_csv(points: list[Point]) -> bytes:
    return csv_bytes(points_frame(points))


def commands(grid: Grid) -> list[str]:
    """Return the commands that give a grid's figures: two where only one of its randomisers has options."""
    own = grid.base.mechanism
    reading = reading_words()
    if not grid.base.options or set(grid.mechanisms) <= {own}:
        return [grid.to_command(reading=reading)]
    others = tuple(name for name in grid.mechanisms if name != own)
    without = replace(grid, base=replace(grid.base, options=()), mechanisms=others)
    return [
        replace(grid, mechanisms=(own,)).to_command(reading=reading),
        without.to_command(reading=reading),
    ]


def _csv(name: str, frame: pd.DataFrame) -> None:
    st.download_button(
        "CSV",
        data=partial(csv_bytes, frame),
        file_name=f"tradeoffs_{name}.csv",
        mime="text/csv",
        on_click="ignore",
        key=f"tradeoff_csv_{name}",
    )
