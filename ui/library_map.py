"""A single map of a run, for pages that set two of them next to each other on one scale."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import streamlit as st

from ldpcore.release import Release
from ldpcore.settings import Scenario
from ldpcore.shapes import BoolArray, FloatArray
from ldpcore.trips.cities import CITIES, city_land_geojson
from ui import assets
from ui.explore_map import (
    MAX_DRAWN,
    STATUS_SENTENCES,
    Drawing,
    area_geojson,
    cell_bounds,
    draw,
    drawable_parents,
)
from ui.hex_map import HexMapState, HoverColumn, HoverStatus, Panel, hex_map
from ui.palettes import RAMPS, CountScale, count_scale

MAP_HEIGHT: Final = 360


def is_dark() -> bool:
    """Return whether the reader's page is dark."""
    return st.context.theme.type == "dark"


def warn_of_truth(*scenarios: Scenario) -> None:
    """Say that a page shows what a user's file holds, where one of the scenarios is about it."""
    if not all(scenario.synthetic for scenario in scenarios):
        st.warning(
            "Truth and measured figures come from the file as it is: they are not private. Keep them to those who may "
            "see the file."
        )


def shared_scale(*releases: Release) -> CountScale:
    """Return one scale for several runs, from the truth of the one with the greater counts.

    Together their cells would give the scale of the run with more of them, and the other one a single colour.
    """
    return max(
        (count_scale(draw(release, raw=False).truth) for release in releases), key=lambda scale: scale.top
    )


def estimate_map(release: Release, scale: CountScale, *, key: str, title: str, subtitle: str) -> HexMapState:
    """Draw the published estimates of a run as one panel.

    Parameters
    ----------
    release
        The run.
    scale
        Of the colours.
    key
        Constant name of the map.
    title, subtitle
        Above it.
    """
    drawing = draw(release, raw=False)
    noun = "devices" if release.population.unit == "device" else "trips"
    panel = Panel(
        id="estimate",
        title=title,
        subtitle=subtitle,
        index=scale.index(drawing.estimate),
        ramp=RAMPS["counts"],
    )
    columns = (
        HoverColumn(label="Truth", values=drawing.truth, unit=noun),
        HoverColumn(label="Estimate", values=drawing.estimate, error=drawing.half_width, unit=noun),
    )
    return panels_map(
        release,
        drawing,
        (panel,),
        columns,
        key=key,
        hatched=drawing.hatched,
        status=HoverStatus(codes=drawing.status, labels=tuple(STATUS_SENTENCES.values())),
    )


def on_drawing(release: Release, values: FloatArray) -> FloatArray:
    """Return (m,) a column over the cells that the map draws: summed where it draws parents."""
    domain = release.population.domain
    if domain.size <= MAX_DRAWN:
        return values
    _, parents, parent_of = drawable_parents(domain)
    return np.bincount(parent_of, weights=values, minlength=parents.size).astype(np.float64)


def panels_map(
    release: Release,
    drawing: Drawing,
    panels: tuple[Panel, ...],
    columns: tuple[HoverColumn, ...],
    *,
    key: str,
    hatched: BoolArray | None = None,
    status: HoverStatus | None = None,
    height: int = MAP_HEIGHT,
) -> HexMapState:
    """Draw panels over the cells of a drawing, with the land of the run's area."""
    area, city = release.population.area, release.scenario.city
    if city is not None:
        land: dict[str, Any] = {"land_url": assets.publish_land(city, city_land_geojson(city))}
    else:
        land = {"land_geojson": area_geojson(area)}
    return hex_map(
        key=key,
        domain_version=drawing.version,
        cells=drawing.cells,
        panels=panels,
        bounds=cell_bounds(drawing.cells),
        view_key=f"{area.name} {area.bounds}",
        hatched=hatched,
        columns=columns,
        status=status,
        dark=is_dark(),
        attribution=area.attribution,
        height=height,
        place=CITIES[city].label if city is not None else "area",
        **land,
    )
