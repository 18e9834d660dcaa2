"""The compare map: up to three panels of H3 cells in one canvas with one shared view.

A Streamlit component whose browser half (`hex_map.js` and its modules) draws with the deck.gl
build inside the installed pydeck. See `ui.assets` for how both reach the browser.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import streamlit as st

from ldpcore.errors import ParameterError
from ldpcore.shapes import BoolArray, CellArray
from ui import assets
from ui.hex_map.pack import HoverColumn, HoverStatus, Panel, check_cells, pack_update
from ui.palettes import tokens

if TYPE_CHECKING:
    from streamlit.components.v2.types import ComponentRenderer

__all__ = [
    "HexMapState",
    "HoverColumn",
    "HoverStatus",
    "Panel",
    "check_cells",
    "hex_map",
    "pack_update",
    "pin_cell",
]

# Streamlit sends this text with every update, so it only fetches the real module, which the
# browser keeps. It is also the part that still runs, and speaks, when static serving is off.
_LOADER = """
export default function (component) {
  let cleanup = null, gone = false;
  const address = new URL("%s", document.baseURI).href;
  const library = new URL("%s", document.baseURI).href;
  if (!window.deck && !document.querySelector(`link[href="${library}"]`)) {
    // Four megabytes, so they are asked for before the module that will ask for them has come.
    const link = document.createElement("link");
    document.head.append(Object.assign(link, { rel: "preload", as: "script", href: library }));
  }
  import(address).then(
    (module) => { if (!gone) cleanup = module.default(component); },
    () => {
      const note = document.createElement("p");
      note.setAttribute("role", "alert");
      note.textContent = "The map could not be loaded: this server does not give out " + address +
        ". Start the dashboard with `make run`, which puts the file there, then reload the page.";
      component.parentElement.replaceChildren(note);
    });
  return () => { gone = true; if (cleanup) cleanup(); };
}
"""


_SENDING_S = 0.02
"""How long a run stands still once the map is handed over.

The thread that sends it shares the interpreter with the run, and gets it back only now and then while the rest of
the page is worked out: without the pause the map left 0.05 s later, at times only after the whole run. Streamlit
looks for what is to be sent every 10 ms.
"""


@dataclass(frozen=True, slots=True)
class HexMapState:
    """What the map says to Python.

    Parameters
    ----------
    selected
        The pinned cell as an H3 hex string, or none.
    version
        Version of what was sent; the browser writes it to `data-painted` once it is drawn.
    payload_bytes
        Size of what was sent.
    """

    selected: str | None
    version: str
    payload_bytes: int


@cache
def _component() -> ComponentRenderer:
    """Register the component once per process, at the first map and not at import."""
    return st.components.v2.component(
        "ldp_atlas_hex_map", js=_LOADER % (assets.script_url(), assets.deck_url())
    )


def _nothing() -> None:
    """Do nothing: a state without a callback is not reported by Streamlit."""


def hex_map(
    *,
    key: str,
    domain_version: str,
    cells: CellArray,
    panels: Sequence[Panel],
    bounds: tuple[float, float, float, float],
    view_key: str,
    hatched: BoolArray | None = None,
    columns: Sequence[HoverColumn] = (),
    status: HoverStatus | None = None,
    land_url: str | None = None,
    land_geojson: str | None = None,
    selected: str | None = None,
    dark: bool = False,
    attribution: str = "",
    tiles: str | None = None,
    height: int = 480,
    place: str = "city",
    on_select: Callable[[], None] | None = None,
) -> HexMapState:
    """Draw the panels, and return the cell that is pinned.

    Parameters
    ----------
    key
        Constant name of this map; view and pinned cell live by it, across reruns and page changes.
    domain_version, cells
        The domain: a version that changes with it, and its cells, (d,) uint64.
    panels
        One to three maps side by side; on a phone one at a time, with a switch.
    bounds
        West, south, east, north of the area, in degrees; the view is fitted to them.
    view_key
        The view is fitted again only when this changes.
    hatched
        (d,) bool, the cells that are not published.
    columns, status
        The lines of the tooltip.
    land_url
        Address of the land, from `ui.assets.publish_land`; fetched once and kept.
    land_geojson
        The land itself, for an area a user brought; sent with every update.
    selected
        Cell to pin when the map first appears. Later clicks win; see `pin_cell`.
    dark
        Whether the page is dark.
    attribution
        Who made the land; always visible.
    tiles
        Address template of online map tiles, or none, in which case no request leaves the server.
    height
        Greatest height of the maps in pixels, their titles not counted; narrow maps are less tall.
    place
        What "zoom to ..." names.
    on_select
        Called before the rerun that a click causes.

    Returns
    -------
    HexMapState
        The pinned cell and what was sent.

    Raises
    ------
    ParameterError
        The cells are no H3 cells of one resolution, or an array has not one value per cell.
    """
    assets.ensure_assets()
    west, south, east, north = bounds
    if not (-180 <= west <= 180 and -180 <= east <= 180 and -90 <= south < north <= 90):
        message = f"Bounds are west, south, east, north in degrees, south below north; got {bounds}."
        raise ParameterError("bounds", message)

    header: dict[str, Any] = {
        "key": key,
        "bounds": [west, south, east, north],
        "viewKey": view_key,
        "selected": _pinned(key, selected),
        "attribution": attribution,
        "tiles": tiles,
        "height": height,
        "place": place,
        "deck": assets.deck_url(),
        "tokens": asdict(tokens(dark=dark)),
        "landUrl": land_url,
        "land": json.loads(land_geojson) if land_geojson is not None else None,
    }
    payload, version = pack_update(
        cells=cells,
        domain_version=domain_version,
        panels=panels,
        hatched=hatched,
        columns=columns,
        status=status,
        dark=dark,
        header=header,
    )
    result = _component()(
        key=key,
        data=payload,
        default={"selected": selected},
        on_selected_change=on_select or _nothing,
    )
    time.sleep(_SENDING_S)
    return HexMapState(result.selected, version, len(payload))


def _pinned(key: str, default: str | None) -> str | None:
    """Return the cell Python takes for pinned: from the last click, else the page's own."""
    state = st.session_state.get(key)
    return state.get("selected") if state is not None and "selected" in state else default


def pin_cell(key: str, cell: str | None) -> None:
    """Pin a cell from the page, from a row of a table for instance, or unpin with none.

    Call it before `hex_map` in the run, or in a callback.
    """
    st.session_state[key] = {"selected": cell}
