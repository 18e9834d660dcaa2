"""The user's own trip file: drop it, see what was recognised, correct it, account for every row.

The file lives in this session's memory and nowhere else; a button forgets it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

import streamlit as st

from ldpcore.errors import ParameterError, TripFileError
from ldpcore.settings import Scenario
from ldpcore.trips.cities import CITIES, city_land_geojson
from ui.number_words import count_of, thousands
from ui.pipeline import AREA_KEY, TRIPS_KEY, forget_own_trips, get_population, own_trips

if TYPE_CHECKING:
    from ldpcore.trips.account import Choice
    from ldpcore.trips.table import TripTable

FROM_FILE: Final = "Found from the file"
A_BOX: Final = "A box of your own"
A_POLYGON: Final = "A polygon (GeoJSON file)"
NO_COLUMN: Final = "(none)"
ENDINGS: Final = (
    "csv",
    "txt",
    "tsv",
    "gz",
    "zip",
    "parquet",
    "geoparquet",
    "geojson",
    "json",
    "jsonl",
    "gpx",
    "plt",
)
USUAL_FIELDS: Final = frozenset(
    {"start_lat", "start_lng", "end_lat", "end_lng", "start_time", "end_time", "device", "trip"}
)
SAMPLE_ABOVE: Final = 2_000_000
"""Trips above which a random part of a file is used, and said so."""

WANTED_KEY: Final = "wanted_trips"
"""Session key of the digest of the file that a link needs and nobody loaded yet."""
_UPLOAD, _ZONES, _POLYGON, _CRS = "own_upload", "own_zones", "own_polygon", "own_crs"
_ERROR, _COLUMNS, _MAPPING, _NEEDS_ZONES = "own_error", "own_columns", "own_mapping", "own_needs_zones"
_FIELD: Final = "own_map_{}"
_WRONG: Final = "own_wrong_file"
_READING: Final = (_WRONG, _ERROR, _COLUMNS, _MAPPING, _NEEDS_ZONES)


# --- In the sidebar ---------------------------------------------------------------------------


def file_controls(slots: dict[str, Any]) -> None:
    """Draw the uploader and the choice of the service area in the sidebar."""
    upload = st.file_uploader(
        "Trip file",
        type=list(ENDINGS),
        key=_UPLOAD,
        on_change=_take_new_file,
        help="CSV, Parquet, GeoJSON, GPX or JSON, also as gz or zip. It stays in this session's memory.",
    )
    slots["trips"] = st.empty()
    state = st.session_state
    if problem := state.get(_ERROR):
        slots["trips"].error(problem)
        _remedies()
    table = own_trips()
    if table is None:
        wanted = state.get(WANTED_KEY)
        if wanted and upload is None:
            slots["trips"].info(
                f"This link was made with a trip file that it doesn't carry (SHA-256 {wanted[:12]}…). Load the same file."
            )
        return
    st.button("Forget this file", on_click=_forget, width="stretch")
    _area_controls(slots)


def _remedies() -> None:
    """Draw what a refused file may need: a zone file, or a coordinate system."""
    if st.session_state.get(_NEEDS_ZONES):
        st.file_uploader(
            "Zone file",
            type=["geojson", "json", "csv", "zip", "gpkg", "parquet", "geoparquet"],
            key=_ZONES,
            on_change=_read_again,
            help="Names or shapes of the zones: GeoJSON, a zipped shapefile, or CSV with coordinates or shapes.",
        )
    st.text_input(
        "Coordinate system, if not degrees",
        key=_CRS,
        placeholder="EPSG:25833",
        on_change=_read_again,
        help="Needed only for places in metres that don't say their system. Write E6 for millionths of a degree "
        "(E5, E7 likewise).",
    )


def _area_controls(slots: dict[str, Any]) -> None:
    st.selectbox(
        "Service area",
        [FROM_FILE, *CITIES, A_BOX, A_POLYGON],
        format_func=lambda choice: CITIES[choice].label if choice in CITIES else choice,
        key="own_area_choice",
        on_change=_choose_area,
        help="The cells a device may report. It should be public and not taken from where people went.",
    )
    choice = st.session_state["own_area_choice"]
    if choice == A_BOX:
        st.text_input(
            "West, south, east, north (degrees)",
            key="own_box",
            placeholder="10.6,59.8,10.9,60.0",
            on_change=_choose_area,
        )
    if choice == A_POLYGON:
        st.file_uploader(
            "Outline of the area", type=["geojson", "json"], key=_POLYGON, on_change=_choose_area
        )
    if choice in {A_BOX, A_POLYGON, FROM_FILE}:
        st.text_input("Time zone (IANA)", key="own_timezone", placeholder="UTC", on_change=_choose_area)
    slots["area"] = st.empty()
    slots["timezone"] = st.empty()
    if problem := st.session_state.get("own_area_error"):
        slots["area"].error(problem)


# --- On the page ------------------------------------------------------------------------------


def own_file(scenario: Scenario) -> None:
    """Draw what was recognised in the user's file: mapping, first rows, points, account of every row."""
    if st.session_state.get("set_source") != "Your own file":
        return
    table = own_trips()
    if table is None:
        if _COLUMNS in st.session_state:
            with st.container(border=True):
                st.write("**Say which columns hold what**, and the file is read again.")
                _mapping_editor(st.session_state[_COLUMNS], {})
        if _ERROR in st.session_state:
            st.warning(
                "Your file could not be used; the reason stands beside it in the sidebar. What follows is the bundled city."
            )
        else:
            st.info(
                "Load a trip file in the sidebar; until then the map shows the bundled city. A latitude and a longitude "
                "for the start of each trip are enough. Nothing is written to disk."
            )
        return
    title = f"Your file: {table.schema}, {count_of(table.rows_read, 'row')}"
    panel = st.expander(title, key="open_file", on_change="rerun")
    if not panel.open:
        return
    with panel:
        if st.session_state.get(_WRONG):
            st.warning(
                "This is not the file that the link was made with: its content differs. The figures are of this file."
            )
        if scenario.trips == table.digest:
            _account(scenario, table)
        st.write(" ".join(table.reasons))
        for note in table.notes:
            st.info(note)
        st.write(table.unit_sentence)
        _mapping_editor(table.columns, table.mapping)
        left, right = st.columns([0.62, 0.38])
        with left:
            st.write("**First rows, as in the file**")
            st.dataframe(table.preview, hide_index=True, key="own_preview", height=300)
        with right:
            st.write("**Where its places lie**")
            _points_map(table, scenario)


def _points_map(table: TripTable, scenario: Scenario) -> None:
    from ldpcore.trips.account import some_points
    from ui.charts import points_chart

    points = some_points(table)
    land = city_land_geojson(scenario.city) if scenario.city else None
    dark = st.context.theme.type == "dark"
    st.altair_chart(points_chart(points, land=land, dark=dark), key="own_points")
    st.caption(f"{count_of(len(points), 'place')} of the file, as they were read. These are not private.")


def _account(scenario: Scenario, table: TripTable) -> None:
    from ldpcore.trips.account import account, rows_not_used

    try:
        population = get_population(scenario)
    except (ParameterError, TripFileError):
        return  # said at the control concerned, where the run is asked for
    lines = account(table, population.table_values)
    used = population.rows_read - sum(population.rows_dropped.values())
    st.write(
        f"**Every row accounted for.** {count_of(population.rows_read, 'row')} read, {thousands(used)} used. "
        f"Service area: {population.area.label}."
    )
    for note in population.notes[len(table.notes) :]:
        st.warning(note)
    finest = table.finest_resolution
    if finest is not None and scenario.resolution > finest:
        st.warning(
            f"The coordinates of this file are rounded or snapped to few places: they support cells down to "
            f"resolution {finest}. At resolution {scenario.resolution} the map shows the rounding, not the city."
        )
        st.button(f"Use resolution {finest}", on_click=_use_resolution, args=(finest,))
    st.dataframe(
        lines,
        hide_index=True,
        key="own_account",
        column_order=["rows", "meaning", "what"],
        column_config={
            "what": "Used?",
            "meaning": st.column_config.TextColumn("Why", width="large"),
            "rows": st.column_config.NumberColumn("How many", format="localized"),
        },
    )
    with st.container(horizontal=True):
        st.download_button(
            "Account (CSV)",
            data=lambda: lines.to_csv(index=False).encode(),
            file_name="rows_account.csv",
            on_click="ignore",
            key="own_account_download",
        )
        st.download_button(
            "Every row not used, with its reason (CSV)",
            data=lambda: rows_not_used(table, population.table_values).to_csv(index=False).encode(),
            file_name="rows_not_used.csv",
            on_click="ignore",
            key="own_rows_download",
        )


def _mapping_editor(columns: tuple[str, ...], mapping: Mapping[str, str]) -> None:
    from ldpcore.trips.account import mapping_choices

    st.write("**Which column holds what** (change one and the file is read again)")
    choices = mapping_choices(columns, dict(mapping))
    usual = [choice for choice in choices if choice.column or choice.field in USUAL_FIELDS]
    _mapping_rows(usual)
    with st.expander("More kinds of columns"):
        _mapping_rows([choice for choice in choices if choice not in usual])


def _mapping_rows(choices: Sequence[Choice]) -> None:
    for start in range(0, len(choices), 4):
        row = choices[start : start + 4]
        for slot, choice in zip(st.columns(4)[: len(row)], row, strict=True):
            key = _FIELD.format(choice.field)
            if st.session_state.get(key) not in choice.options:
                st.session_state[key] = choice.column
            with slot:
                st.selectbox(
                    choice.label.capitalize(),
                    choice.options,
                    format_func=lambda column: column or NO_COLUMN,
                    key=key,
                    on_change=_remap,
                )


# --- What the controls do ---------------------------------------------------------------------


def _take_new_file() -> None:
    """Take a new file: nothing of the one before stays."""
    forget_own_trips()
    state = st.session_state
    if state.get(WANTED_KEY):
        _read(_linked_reading())
        return
    for name in [
        *_READING,
        _CRS,
        "view_columns",
        "view_crs",
        *(key for key in state if str(key).startswith("own_map_")),
    ]:
        state.pop(name, None)
    _read({})


def _linked_reading() -> dict[str, str]:
    """Return how the link says that its file was read, and take it over."""
    state = st.session_state
    state[_CRS] = state.get("view_crs") or None
    try:
        columns = json.loads(state.get("view_columns") or "{}")
    except ValueError:
        return {}
    if not isinstance(columns, dict):
        return {}
    state[_MAPPING] = {str(field): str(column) for field, column in columns.items()}
    return dict(state[_MAPPING])


def reading_words() -> list[str]:
    """Return the words of the command line that say how the user's file was read."""
    state = st.session_state
    if own_trips() is None:
        return []
    words = []
    if state.get(_CRS):
        words += ["--crs", str(state[_CRS])]
    if state.get(_ZONES) is not None:
        words += ["--zones", "ZONES"]
    for field, column in state.get(_MAPPING, {}).items():
        words += ["--map", f"{field}={column}"]
    return words


def _read_again() -> None:
    _read(st.session_state.get(_MAPPING, {}))


def _remap() -> None:
    state = st.session_state
    table = own_trips()
    before = table.mapping if table is not None else {}
    mapping = dict(state.get(_MAPPING, {}))
    prefix = _FIELD.format("")
    for key in [key for key in state if str(key).startswith(prefix)]:
        field = str(key).removeprefix(prefix)
        if state[key] != before.get(field, ""):
            mapping[field] = state[key]
    state[_MAPPING] = mapping
    state["view_columns"] = json.dumps(mapping) if mapping else ""
    _read(mapping)


def _read(mapping: Mapping[str, str]) -> None:
    from ldpcore.trips.account import sample_trips
    from ldpcore.trips.read import read_trips  # a bundled city needs no reader
    from ldpcore.trips.readers import as_source, open_raw
    from ldpcore.trips.zones import ZoneFileNeededError, read_zones

    state = st.session_state
    upload = state.get(_UPLOAD)
    if upload is None:
        return
    for name in (_ERROR, _COLUMNS, _NEEDS_ZONES):
        state.pop(name, None)
    content, name = upload.getvalue(), upload.name
    bar = st.sidebar.progress(0.0, "Opening the file")

    def tell(share: float, words: str) -> None:
        bar.progress(min(share, 1.0), words)

    try:
        zone_file = state.get(_ZONES)
        zones = read_zones(zone_file.getvalue(), name=zone_file.name) if zone_file is not None else None
        table = read_trips(
            content,
            name=name,
            mapping=mapping,
            zones=zones,
            crs=state.get(_CRS) or None,
            progress=tell,
        )
    except (TripFileError, ParameterError) as error:
        state[_ERROR] = str(error)
        state[_NEEDS_ZONES] = isinstance(error, ZoneFileNeededError)
        # A table whose columns could not be told can still be mapped by hand.
        with suppress(TripFileError):
            state[_COLUMNS] = open_raw(as_source(content, name)).names
        return
    finally:
        bar.empty()
    _adopt(sample_trips(table, most=SAMPLE_ABOVE))


def _adopt(table: TripTable) -> None:
    """Make a file that was read the trips of the scenario."""
    state = st.session_state
    forget_own_trips(keep_area=True)
    state[TRIPS_KEY] = table
    state["own_unit"] = table.unit
    state["view_crs"] = state.get(_CRS) or ""
    wanted = state.pop(WANTED_KEY, None)
    state[_WRONG] = wanted is not None and wanted != table.digest
    if state.get("set_trips") != table.digest:
        state["set_trips"] = table.digest
        state["set_city"], state["set_area"], state["set_timezone"] = None, None, None
        state["own_area_choice"] = FROM_FILE
        state["set_day"], state["set_hour"] = "every", -1
        if table.finest_resolution is not None and state.get("set_resolution", 0) > table.finest_resolution:
            state["set_resolution"] = table.finest_resolution
    if "own_area_choice" not in state:
        state["own_area_choice"] = state.get("set_city") or (A_BOX if state.get("set_area") else FROM_FILE)
        state["own_box"] = state.get("set_area") or ""
    for field, column in table.mapping.items():
        state[_FIELD.format(field)] = column
    state["open_file"] = True


def _choose_area() -> None:
    from ldpcore.trips.areas import area_from_geojson

    state = st.session_state
    choice = state["own_area_choice"]
    state.pop("own_area_error", None)
    state["set_city"] = choice if choice in CITIES else None
    state["set_area"] = (state.get("own_box") or "").strip() or None if choice == A_BOX else None
    state["set_timezone"] = (
        (state.get("own_timezone") or "").strip() or None if choice not in CITIES else None
    )
    outline = state.get(_POLYGON)
    if choice == A_POLYGON and outline is not None:
        content = outline.getvalue()
        try:
            area = area_from_geojson(content, label=outline.name, timezone=state["set_timezone"])
        except ParameterError as error:
            state["own_area_error"] = str(error)
            return
        name = f"polygon:{hashlib.sha256(content).hexdigest()[:16]}"
        state[AREA_KEY] = (name, area)
        state["set_area"] = name


def _use_resolution(resolution: int) -> None:
    st.session_state["set_resolution"] = resolution


def _forget() -> None:
    forget_own_trips()
    state = st.session_state
    for name in (_UPLOAD, _ZONES, _POLYGON, _CRS, "own_area_choice", *_READING):
        state.pop(name, None)
    state["set_trips"], state["set_area"], state["set_timezone"] = None, None, None
    state["set_city"] = state.get("set_city") or "new_york"
    state["set_source"] = "A bundled city"
