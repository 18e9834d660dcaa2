"""The city's own map in the lesson, the reader's cell on it, and its twin as a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import h3
import numpy as np
import pandas as pd
import streamlit as st

from ldpcore.population import Population
from ldpcore.release import Release, Status
from ldpcore.settings import Scenario
from ldpcore.shapes import BoolArray, FloatArray
from ldpcore.trips.cities import CITIES, city_land_geojson
from ui import assets
from ui.explore_map import STATUS_SENTENCES, cell_bounds, raw_counts
from ui.hex_map import HexMapState, HoverColumn, HoverStatus, Panel, hex_map, pin_cell
from ui.learn_link import keep

MAP_HEIGHT: Final = 360
_LISTED: Final = 6


def is_dark() -> bool:
    """Return whether the reader's page is dark."""
    return st.context.theme.type == "dark"


def reader_cell(population: Population) -> int:
    """Return the cell the lesson follows, as an index of the domain: the link's, else the truly busiest."""
    text = str(st.session_state.get("view_place") or "")
    busiest = int(population.true_counts.argmax())
    if not text:
        return busiest
    try:
        number = int(text, 16)
    except ValueError:
        number = 0
    if 0 < number < 2**64:
        found = int(population.domain.index_of_cells(np.array([number], np.uint64))[0])
        if found >= 0:
            return found
    st.warning(
        f"The cell {text[:40]!r} of the link is not a cell of this map; the busiest one is followed instead. Choose "
        "another on the map or in the list."
    )
    return busiest


def choose_cell(population: Population, *, key: str, label: str) -> int:
    """Draw the list of cells to follow, the keyboard's twin of a click on the map, and return the one chosen."""
    current = reader_cell(population)
    names, truth = population.domain.cell_ids(), population.true_counts
    order = np.argsort(-truth, kind="stable").tolist()
    listed = [*order[:_LISTED], order[len(order) // 3], *order[-3:]]
    listed = list(dict.fromkeys([*([] if current in listed else [current]), *listed]))
    place = {index: rank + 1 for rank, index in enumerate(order)}
    st.session_state[key] = current

    def take() -> None:
        keep("place", names[st.session_state[key]], "")

    st.selectbox(
        label,
        listed,
        format_func=lambda index: (
            f"{names[index]}: busiest {place[index]} of {len(order)}"
            + (", empty" if truth[index] == 0 else "")
        ),
        key=key,
        on_change=take,
        help="A click on the map chooses any other cell.",
    )
    return current


def lesson_map(
    population: Population,
    scenario: Scenario,
    panels: Sequence[Panel],
    *,
    key: str,
    columns: Sequence[HoverColumn] = (),
    hatched: BoolArray | None = None,
    status: HoverStatus | None = None,
    followed: int | None = None,
) -> HexMapState:
    """Draw panels of the city; a click chooses the cell to follow where one is given."""
    domain = population.domain
    assert scenario.city is not None  # noqa: S101 - a lesson is about a bundled city
    selected = domain.cell_ids()[followed] if followed is not None else None

    def take() -> None:
        keep("place", dict(st.session_state[key]).get("selected") or "", "")

    held = st.session_state.get(key)
    if held is not None and dict(held).get("selected") != selected:
        pin_cell(key, selected)
    state = hex_map(
        key=key,
        domain_version=domain.version,
        cells=domain.cells,
        panels=panels,
        bounds=cell_bounds(domain.cells),
        view_key=f"{population.area.name} {population.area.bounds}",
        hatched=hatched,
        columns=columns,
        status=status,
        selected=selected,
        dark=is_dark(),
        attribution=population.area.attribution,
        height=MAP_HEIGHT,
        place=CITIES[scenario.city].label,
        land_url=assets.publish_land(scenario.city, city_land_geojson(scenario.city)),
        on_select=take,
    )
    # What a test, or a second pair of eyes, compares: equal versions are equal bytes.
    st.html(f'<span data-testid="sent" data-version="{state.version}"></span>')
    return state


def map_table(release: Release, *, label: str = "The same as a table") -> None:
    """Offer the map's numbers as a table, one row per cell, busiest first."""
    panel = st.expander(label, key=f"learn_table_{release.scenario.resolution}", on_change="rerun")
    if not panel.open:
        return
    estimates, truth = release.estimates, release.population.true_counts
    order = np.argsort(-truth, kind="stable")
    frame = pd.DataFrame(
        {
            "Cell (H3)": np.array(release.population.domain.cell_ids())[order],
            "Truth, devices": truth[order],
            "Raw count, reports": raw_counts(release)[order].round(),
            "Estimate, devices": estimates.estimate[order].round(),
            "One standard error": estimates.std_error[order].round(),
            "Status": [STATUS_SENTENCES[Status(int(code))] for code in release.status[order]],
        }
    )
    with panel:
        st.dataframe(frame, hide_index=True, width="stretch", height=360)
        st.download_button(
            "CSV",
            data=frame.to_csv(index=False).encode(),
            file_name=f"lesson_{release.scenario.city}_r{release.scenario.resolution}.csv",
            mime="text/csv",
            on_click="ignore",
        )


def hexagons(population: Population, *, width: float) -> tuple[list[str], float]:
    """Return the outline of each cell as an SVG path, and the height of the picture they fit.

    A flat picture: longitudes are shortened by the cosine of the middle latitude.
    """
    west, south, east, north = cell_bounds(population.domain.cells)
    shrink = float(np.cos(np.radians((south + north) / 2)))
    scale = width / ((east - west) * shrink)
    paths = []
    for cell in population.domain.cell_ids():
        corners = h3.cell_to_boundary(cell)
        paths.append(
            "M"
            + "L".join(
                f"{(lng - west) * shrink * scale:.1f} {(north - lat) * scale:.1f}" for lat, lng in corners
            )
            + "Z"
        )
    return paths, (north - south) * scale


def hover(label: str, values: FloatArray, **more: Any) -> HoverColumn:  # noqa: ANN401 - unit, error, sign
    """Return one line of the tooltip."""
    return HoverColumn(label=label, values=values, **more)
