"""The parts of the Explore page, from the sentence at the top to the downloads."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from html import escape
from typing import Any, Final

import numpy as np
import pandas as pd
import streamlit as st

from ldpcore.population import DROPPED_WORDS, UNITS
from ldpcore.release import Release, Status
from ldpcore.release_files import SIMULATED, WRITERS, release_bytes, sidecar, sidecar_bytes
from ldpcore.trips.cities import CITIES, city_land_geojson
from ui import assets, legend, tour
from ui.explore_map import STATUS_SENTENCES, Choices, MapContent, area_geojson, cell_bounds, map_content
from ui.flow import flow_html
from ui.glossary import words_used
from ui.headline import figures_html, four_figures, headline, headline_note
from ui.hex_map import HexMapState, hex_map, pin_cell
from ui.number_words import percent, thousands, to_error, unbroken
from ui.odds import belief_after_support, odds_ratio
from ui.palettes import tokens
from ui.pipeline import get_release
from ui.table import FIRST_ROWS, ranked, table_rows

MAP_KEY: Final = "explore_map"
MAP_HEIGHT: Final = 440
REDRAWS: Final = 20
TILES: Final = "https://tile.openstreetmap.org/{z}/{x}/{y}.png"
FILE_WORDS: Final = {".csv": "CSV", ".geojson": "GeoJSON", ".parquet": "GeoParquet"}


def is_dark() -> bool:
    """Return whether the reader's page is dark."""
    return st.context.theme.type == "dark"


def headline_and_map(release: Release) -> str | None:
    """Draw the sentence, the switches, the three panels, their legend and the four figures.

    Returns
    -------
    The pinned cell as an H3 hex string, or None.
    """
    tour.invitation()
    st.html(f'<h1 class="headline">{escape(unbroken(headline(release)))}</h1>')
    tour.stop("sentence")
    tour.stop("privacy")
    if not release.scenario.synthetic:
        st.warning(
            "The truth panel shows the file as it is: it is not private. Keep it to those who may see the file."
        )
    choices = _switches()
    content = map_content(release, choices)
    if choices.raw:
        st.warning(
            "Raw counts are the bug everyone makes: every report also points to cells its phone is not in, so empty "
            "cells look busy. The server has to invert the randomisation first; switch this off to see it done."
        )
    if content.drawing.coarsened:
        st.info(
            f"Resolution {release.scenario.resolution} has {thousands(release.population.domain.size)} cells, more than "
            f"a map can show. Everything is computed there; the map draws sums over cells of resolution "
            f"{content.drawing.resolution}. Hatched: none of the cells inside can be published."
        )
    tour.stop("map")
    drawn = _map(release, content)
    st.html(_legend(content, choices, released=release))
    st.html(figures_html(four_figures(release), map_version=drawn.version))
    tour.stop("figures")
    st.html(f'<p class="quiet">{escape(headline_note(release))}</p>')
    words_used("epsilon", "standard_error", "interval", "floor", "raw_count", "coverage", place="explore")
    tour.stop("more")
    return drawn.selected


def _switches() -> Choices:
    with st.container(horizontal=True, gap="medium", key="switches"):
        vsup = st.toggle(
            "Fade uncertain cells",
            value=st.session_state.get("view_colours") == "fade",
            key="switch_vsup",
            help="Colours lose their detail where the error bar is wide (VSUP).",
        )
        raw = st.toggle(
            "Raw counts",
            value=st.session_state.get("view_raw") == "1",
            key="switch_raw",
            help="Show the reports before the inversion, to see the commonest bug.",
        )
        tiles = st.toggle(
            "Online map tiles",
            value=st.session_state.get("view_tiles") == "1",
            key="switch_tiles",
            help="Off by default. On, your browser asks tile.openstreetmap.org for pictures of the area you look at, "
            "so that server learns your address and where you look.",
        )
    st.session_state["view_colours"] = "fade" if vsup else ""
    st.session_state["view_raw"] = "1" if raw else ""
    st.session_state["view_tiles"] = "1" if tiles else ""
    if tiles:
        st.caption(
            "Online tiles are on: tile.openstreetmap.org learns your address and which area you look at."
        )
    return Choices(vsup=vsup, raw=raw)


def _map(release: Release, content: MapContent) -> HexMapState:
    area, scenario = release.population.area, release.scenario
    if scenario.city is not None:
        land: dict[str, Any] = {
            "land_url": assets.publish_land(scenario.city, city_land_geojson(scenario.city))
        }
        place = CITIES[scenario.city].label
    else:
        land, place = {"land_geojson": area_geojson(area)}, "area"
    drawn = set(content.drawing.cells.tolist())
    pinned = st.session_state.get("view_cell")
    if pinned and _cell_number(pinned) not in drawn:
        # A pin of another grid or city would point at nothing.
        pin_cell(MAP_KEY, None)
        st.session_state["view_cell"] = None
    state = hex_map(
        key=MAP_KEY,
        domain_version=content.drawing.version,
        cells=content.drawing.cells,
        panels=content.panels,
        bounds=cell_bounds(content.drawing.cells),
        view_key=f"{area.name} {area.bounds}",
        hatched=content.hatched,
        columns=content.columns,
        status=content.status,
        selected=st.session_state.get("view_cell"),
        dark=is_dark(),
        attribution=area.attribution,
        tiles=TILES if st.session_state.get("view_tiles") == "1" else None,
        height=MAP_HEIGHT,
        place=place,
        **land,
    )
    st.session_state["view_cell"] = state.selected
    return state


def _cell_number(text: str) -> int:
    """Return the number of a cell's hexadecimal name; a link may carry anything, which is then no cell."""
    try:
        return int(text, 16)
    except ValueError:
        return 0


def _legend(content: MapContent, choices: Choices, *, released: Release) -> str:
    noun = "Devices" if released.population.unit == "device" else "Trips"
    return legend.legend_html(
        scale=content.counts,
        errors=content.errors,
        dark=is_dark(),
        vsup=choices.vsup and not choices.raw,
        hatched=not choices.raw,
        counts_label="Reports per cell" if choices.raw else f"{noun} per cell",
        counts_note="Truth and raw counts share this scale"
        if choices.raw
        else "Truth and estimate share this scale",
        error_label=f"Error, {noun.lower()}",
    )


def pinned_cell(release: Release, selected: str | None) -> None:
    """Draw the pinned cell: its error bar against the truth, 20 redraws, and what a report says of a phone."""
    panel = st.expander(
        f"Pinned cell {selected}" if selected else "Pinned cell", key="open_cell", on_change="rerun"
    )
    if not panel.open:
        return
    domain = release.population.domain
    with panel:
        if selected is None:
            st.write("Click a cell on the map to pin it, or choose one here.")
        busiest = [domain.cell_ids()[i] for i in ranked(release)[:FIRST_ROWS]]
        index = (
            int(domain.index_of_cells(np.array([int(selected, 16)], dtype=np.uint64))[0]) if selected else -1
        )
        if selected is not None and index < 0:
            st.write(
                f"Cell {selected} is not a cell of this grid: it belongs to another resolution or another area, or it "
                "is the sum the map drew. Pin another one."
            )
        options = busiest if index < 0 or selected in busiest else [selected, *busiest]
        st.selectbox(
            "Cell",
            options,
            index=options.index(selected) if index >= 0 else None,
            placeholder="One of the 50 busiest by estimate",
            key=f"pick_cell_{selected}_{domain.version}",
            on_change=_pin_from_list,
            args=(f"pick_cell_{selected}_{domain.version}",),
        )
        if index >= 0:
            _cell_story(release, index)


def _pin_from_list(key: str) -> None:
    pin_cell(MAP_KEY, st.session_state[key])
    st.session_state["view_cell"] = st.session_state[key]


def _cell_story(release: Release, index: int) -> None:
    from ui.charts import interval_line, redraw_strip  # half a second that the first map need not wait for

    scenario, estimates, n = release.scenario, release.estimates, release.population.size
    truth = int(release.population.true_counts[index])
    low, high = float(estimates.ci_low[index]), float(estimates.ci_high[index])
    estimate, at_least = float(estimates.estimate[index]), float(estimates.at_least[index])
    std_error = float(estimates.std_error[index])
    status = Status(int(release.status[index]))
    negative = (
        " A negative estimate is right for a nearly empty cell: over many redraws it averages to the truth, and "
        "cutting it at zero would make every quiet street look busier than it is."
        if estimate < 0
        else ""
    )
    st.write(
        f"Estimate **{to_error(estimate, std_error)}**, {100 * scenario.confidence:g} % interval "
        f"{to_error(low, std_error)} to {to_error(high, std_error)}, truth **{thousands(truth)}**, {STATUS_SENTENCES[status]}. Sure of at least "
        f"{to_error(max(at_least, 0.0), std_error)}.{negative}"
    )
    st.altair_chart(
        interval_line(
            estimate=estimate,
            low=low,
            high=high,
            at_least=at_least,
            truth=truth,
            floor=scenario.floor,
            n=n,
            dark=is_dark(),
        ),
        key="cell_interval",
    )
    draws = redraws(release, index)
    held = int(draws["holds"].sum())
    st.write(
        f"**{REDRAWS} redraws** of the devices' coins, same trips: {held} of {REDRAWS} error bars hold the truth; "
        f"about {REDRAWS * scenario.confidence:.3g} should."
    )
    st.altair_chart(
        redraw_strip(draws, truth=truth, this_draw=scenario.draw, floor=scenario.floor, dark=is_dark()),
        key="cell_redraws",
    )
    belief = belief_after_support(release.mechanism, truth / n)
    if belief is not None and truth > 0:
        st.write(
            f"**What one report says of its phone.** Before: {_one_in(belief.before)} phones is here. After a report "
            f"that points to this cell: {_one_in(belief.after)}. Epsilon bounds this step: the odds never change by "
            f"more than {odds_ratio(release.mechanism)} to 1, whatever else the observer knows."
        )


def redraws(release: Release, index: int) -> pd.DataFrame:
    """Return one cell's estimate and interval in the redraws around the one shown.

    Parameters
    ----------
    release
        The run shown.
    index
        Cell, as an index of the domain.
    """
    scenario = release.scenario
    first = scenario.draw - scenario.draw % REDRAWS
    rows = []
    truth = release.population.true_counts[index]
    for draw in range(first, first + REDRAWS):
        estimates = get_release(replace(scenario, draw=draw)).estimates
        low, high = float(estimates.ci_low[index]), float(estimates.ci_high[index])
        rows.append(
            {
                "draw": draw,
                "estimate": float(estimates.estimate[index]),
                "low": low,
                "high": high,
                "holds": bool(low <= truth <= high),
            }
        )
    return pd.DataFrame(rows)


def _one_in(probability: float) -> str:
    return f"1 in {thousands(1 / probability)}" if probability < 0.3 else percent(probability) + " of"


def ranked_table(release: Release) -> None:
    """Draw the ranked table with drawn error bars; the first rows at once, all on request."""
    panel = st.expander("Table", key="open_table", on_change="rerun")
    if not panel.open:
        return
    with panel:
        order = ranked(release)
        everything = len(order) <= FIRST_ROWS or st.toggle(
            f"All {thousands(len(order))} cells", key="table_all"
        )
        shown = order if everything else order[:FIRST_ROWS]
        rows = table_rows(release, shown, tokens(dark=is_dark()))
        unit = "devices" if release.population.unit == "device" else "trips"
        confidence = f"{100 * release.scenario.confidence:g} %"
        st.dataframe(
            rows,
            hide_index=True,
            height=440,
            key="release_table",
            column_config={
                "rank": st.column_config.NumberColumn("Rank", width="small"),
                "cell": st.column_config.TextColumn("Cell (H3)"),
                "bar": st.column_config.ImageColumn(
                    "Error bar", width=200, help="Dot: estimate. Band: interval. Tick: truth."
                ),
                "estimate": st.column_config.NumberColumn(f"Estimate, {unit}", format="localized"),
                "plus_minus": st.column_config.NumberColumn(f"± ({confidence})", format="localized"),
                "truth": st.column_config.NumberColumn(f"Truth, {unit}", format="localized"),
                "at_least": st.column_config.NumberColumn("At least", format="localized"),
                "status": st.column_config.TextColumn("Status"),
            },
        )
        st.caption(
            "Ranked by estimate, so the top rows are biased upward: the luckiest draws rise (winner's curse). "
            f"Dot: estimate. Band: {confidence} interval, cut at zero where it is drawn. Tick: truth."
        )


def data_flow(release: Release) -> None:
    """Draw how the numbers came about."""
    panel = st.expander("How these numbers came about", key="open_flow", on_change="rerun")
    if not panel.open:
        return
    with panel:
        st.html(flow_html(release))
        mechanism = release.mechanism
        if mechanism.p is not None and mechanism.q is not None:
            st.write(
                f"A phone's own cell is supported with probability p = {float(mechanism.p):.6g}, any other cell with "
                f"q = {float(mechanism.q):.6g}. Largest ratio of what is sent: e to the "
                f"{mechanism.epsilon_effective:.6g}, never above the label ε = {release.scenario.epsilon:g}."
            )
        st.write(f"Unit of privacy: {UNITS[release.population.unit]}.")
        st.write(
            "**What this does not protect:** the phone's address, account and the time and size of its message; a "
            "modified app; the same phone answering again tomorrow, which adds its epsilon to today's."
        )
        dropped = release.population.rows_dropped
        if dropped:
            st.write(
                "Trips not used: "
                + "; ".join(f"{thousands(rows)} {DROPPED_WORDS[name]}" for name, rows in dropped.items())
                + "."
            )


def _sidecar_of(release: Release, *, truth: bool) -> bytes:
    return sidecar_bytes(sidecar(release, truth=truth))


def downloads(release: Release) -> None:
    """Offer the two tables, built when opened and not before."""
    panel = st.expander("Download", key="open_download", on_change="rerun")
    if not panel.open:
        return
    with panel:
        if not release.scenario.synthetic:
            st.warning(SIMULATED)
        for truth, name, what in (
            (False, "Release", "What a server could publish: estimates, error bars, status. No truth."),
            (
                True,
                "Comparison",
                "The same with the truth beside it, which only a simulation or the file's owner has.",
            ),
        ):
            st.write(f"**{name}.** {what}")
            with st.container(horizontal=True):
                for ending in WRITERS:
                    stem = f"{name.lower()}_{release.scenario.city or 'own'}_r{release.scenario.resolution}"
                    st.download_button(
                        FILE_WORDS[ending],
                        data=partial(release_bytes, release, ending, truth=truth),
                        file_name=f"{stem}{ending}",
                        on_click="ignore",
                        key=f"download_{name}_{ending}",
                    )
                st.download_button(
                    "Scenario (JSON)",
                    data=partial(_sidecar_of, release, truth=truth),
                    file_name=f"{name.lower()}.scenario.json",
                    on_click="ignore",
                    key=f"download_{name}_sidecar",
                )
        st.caption(
            "CSV and GeoJSON open anywhere; GeoParquet carries the scenario in its metadata. The command under "
            "“Link and command” writes the same comparison."
        )
