"""The map alone, for the browser tests. Settings come from the address, so each test has its own."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path

import numpy as np
import streamlit as st

# The app runs as a script of its own, from a folder that holds its static files.
for folder in (Path(__file__).resolve().parents[3], Path(__file__).resolve().parent):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))

import map_data  # noqa: E402

from ui import assets  # noqa: E402
from ui.hex_map import HoverColumn, HoverStatus, Panel, hex_map, pin_cell  # noqa: E402
from ui.legend import legend_html  # noqa: E402
from ui.palettes import RAMPS, count_scale, error_scale, vsup_index  # noqa: E402

STATIC = Path(__file__).resolve().parent / "static"
assets.ensure_assets(STATIC)


@st.cache_data
def the_cells(resolution: int, size: int) -> np.ndarray:
    """Return the domain: New York's, or a disk of a given size."""
    return map_data.disk_cells(size, resolution) if size else map_data.city_cells(resolution)


@st.cache_data
def the_counts(resolution: int, size: int, devices: int) -> np.ndarray:
    """Return the true devices per cell."""
    return map_data.counts(the_cells(resolution, size), devices)


def map_page() -> None:
    """Draw the map with a slider over it."""
    query = st.query_params
    resolution = int(query.get("resolution", "8"))
    size = int(query.get("size", "0"))
    devices = int(query.get("devices", "10000000"))
    dark = query.get("dark", "0") == "1"
    epsilon = st.slider("epsilon", 0.2, 6.0, 2.0, 0.1)
    vsup = st.toggle("VSUP", value=query.get("vsup") == "1")
    place = st.radio("City", ["New York", "Brooklyn"], horizontal=True)

    cells = the_cells(resolution, size)[: 0 if query.get("empty") else None]
    truth = the_counts(resolution, size, devices)[: cells.size]
    std_error = np.full(cells.size, np.sqrt(4 * np.exp(epsilon) * devices) / np.expm1(epsilon))
    estimate = truth + std_error * np.random.default_rng(1).standard_normal(cells.size)
    hatched = estimate - 1.96 * std_error < 300
    scale = count_scale(truth)
    errors = error_scale(estimate - truth)
    counts_or_vsup = (
        (vsup_index(scale, estimate, std_error), RAMPS["vsup"])
        if vsup
        else (scale.index(estimate), RAMPS["counts"])
    )
    panels = [
        Panel(
            id="truth",
            title="Truth",
            subtitle="what no server sees",
            index=scale.index(truth),
            ramp=RAMPS["counts"],
            hatch=False,
        ),
        Panel(
            id="published",
            title="Published",
            subtitle=f"{(~hatched).sum():,} of {cells.size:,} cells",
            index=counts_or_vsup[0],
            ramp=counts_or_vsup[1],
        ),
        Panel(
            id="error",
            title="Error",
            subtitle="published less truth",
            index=errors.index(estimate - truth),
            ramp=RAMPS["error"],
        ),
    ]
    if query.get("groups"):
        # The published map stands for index parents, none of which is hatched.
        panels[1] = dataclasses.replace(
            panels[1],
            groups=map_data.parent_groups(cells, int(query["groups"])),
            weights=np.full(cells.size, int(query.get("weight", "2"))),
            hatched=np.zeros(cells.size, bool),
        )
    if st.button("Pin the first cell"):
        pin_cell("map", f"{cells[0]:x}")
    state = hex_map(
        key="map",
        domain_version=map_data.version_of(cells),
        cells=cells,
        panels=panels[: int(query.get("panels", "3"))],
        hatched=hatched,
        columns=[
            HoverColumn(label="Truth", values=truth, unit="devices"),
            HoverColumn(label="Estimate", values=estimate, error=1.96 * std_error, unit="devices"),
            HoverColumn(label="Error", values=estimate - truth, signed=True, unit="devices"),
        ],
        status=HoverStatus(
            codes=hatched.astype(np.uint8), labels=["Published", "Not published: below the floor <b>"]
        ),
        land_url=assets.publish_land("new_york", map_data.land_geojson(), STATIC),
        bounds=map_data.BOUNDS if place == "New York" else (-74.05, 40.57, -73.85, 40.74),
        view_key=place,
        place=place,
        dark=dark,
        attribution="Land © OpenStreetMap contributors, ODbL",
        tiles=query.get("tiles"),
        height=int(query.get("height", "480")),
    )
    st.html(
        legend_html(
            scale=scale,
            errors=errors,
            dark=dark,
            hatched=bool(hatched.any()),
            vsup=vsup,
        )
    )
    sent = {
        "version": state.version,
        "epsilon": f"{epsilon:.1f}",
        "pinned": state.selected,
        "bytes": state.payload_bytes,
    }
    st.html(
        '<i data-testid="sent" '
        + " ".join(f'data-{name}="{value}"' for name, value in sent.items())
        + "></i>"
    )


def other_page() -> None:
    """Hold nothing, so that the map leaves the page."""
    st.write("The other page.")


st.set_page_config(layout="wide", page_title="map")
st.navigation(
    [st.Page(map_page, title="Map", default=True), st.Page(other_page, title="Other")], position="top"
).run()
