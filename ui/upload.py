"""The user's own trip file: drop it, see what was recognised, correct it, account for every row.

The file lives in this session's memory and nowhere else; a button forgets it.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

import pandas as pd
import streamlit as st

from ldpcore.errors import ParameterError, TripFileError
from ldpcore.population import DROPPED_WORDS, Population
from ldpcore.settings import Scenario
from ldpcore.trips.cities import CITIES
from ldpcore.trips.schemas import FIELDS
from ldpcore.trips.table import TripTable
from ui.number_words import count_of, thousands
from ui.pipeline import TRIPS_KEY, forget_own_trips, get_population, own_trips

FROM_FILE: Final = "Found from the file"
A_BOX: Final = "A box of your own"
NO_COLUMN: Final = "(none)"
MAPPED: Final = ("start_lat", "start_lng", "end_lat", "end_lng", "start_time", "end_time", "device", "trip")
_UPLOAD: Final = "own_upload"
_ERROR: Final = "own_error"
_COLUMNS: Final = "own_columns"
_MAPPING: Final = "own_mapping"


def file_controls(slots: dict[str, Any]) -> None:
    """Draw the uploader and the choice of the service area in the sidebar."""
    upload = st.file_uploader(
        "Trip file",
        type=["csv", "parquet", "txt", "tsv", "gz", "zip"],
        key=_UPLOAD,
        on_change=_load,
        help="CSV or Parquet, one row per trip. It stays in this session's memory.",
    )
    slots["trips"] = st.empty()
    if problem := st.session_state.get(_ERROR):
        slots["trips"].error(problem)
    table = own_trips()
    if table is None:
        wanted = st.session_state.get("set_trips")
        if wanted and upload is None:
            slots["trips"].info(
                f"This link was made with a trip file that it doesn't carry (SHA-256 {wanted[:12]}…). Load the same file."
            )
        return
    st.button("Forget this file", on_click=_forget, width="stretch")
    st.selectbox(
        "Service area",
        [FROM_FILE, *CITIES, A_BOX],
        format_func=lambda choice: CITIES[choice].label if choice in CITIES else choice,
        key="own_area_choice",
        on_change=_choose_area,
        help="The cells a device may report. It should be public and not taken from where people went.",
    )
    if st.session_state["own_area_choice"] == A_BOX:
        st.text_input(
            "West, south, east, north (degrees)",
            key="own_box",
            placeholder="10.6,59.8,10.9,60.0",
            on_change=_choose_area,
        )
        st.text_input("Time zone (IANA)", key="own_timezone", placeholder="UTC", on_change=_choose_area)
    slots["area"] = st.empty()
    slots["timezone"] = st.empty()


def own_file(scenario: Scenario) -> None:
    """Draw what was recognised in the user's file: mapping, first rows, account of every row."""
    table = own_trips()
    if st.session_state.get("set_source") != "Your own file":
        return
    if table is None:
        if _COLUMNS in st.session_state:
            with st.container(border=True):
                st.write("Say which columns hold what, and the file is read again.")
                _mapping_editor(st.session_state[_COLUMNS], {})
        else:
            st.info(
                "Load a trip file in the sidebar. Until then the map shows the bundled city. One row per trip with the "
                "latitude and longitude of its start is enough; the README lists the formats that are recognised."
            )
        return
    with st.expander(
        f"Your file: {table.schema}, {count_of(table.rows_read, 'row')}", key="open_file", on_change="rerun"
    ) as panel:
        if not panel.open:
            return
        for sentence in (*table.reasons, *table.notes, table.unit_sentence):
            st.write(sentence)
        _mapping_editor(table.columns, table.mapping)
        st.write("**First rows, as in the file**")
        st.dataframe(table.preview, hide_index=True, key="own_preview", height=220)
        if scenario.trips == table.digest:
            _account(scenario, table)


def account_table(population: Population, table: TripTable) -> pd.DataFrame:
    """Return what became of the rows of a file, one line per reason.

    Parameters
    ----------
    population
        The values made of the file.
    table
        The file.
    """
    used = population.rows_read - sum(population.rows_dropped.values())
    lines = [{"rows": used, "what became of them": "used", "reason": "used"}]
    lines += [
        {"rows": rows, "what became of them": DROPPED_WORDS[reason], "reason": reason}
        for reason, rows in population.rows_dropped.items()
    ]
    lines += [
        {"rows": rows, "what became of them": f"mended: {what}", "reason": "mended"}
        for what, rows in table.mended.items()
    ]
    return pd.DataFrame(lines)


def _account(scenario: Scenario, table: TripTable) -> None:
    population = get_population(scenario)
    account = account_table(population, table)
    st.write(
        f"**Every row accounted for.** {count_of(population.rows_read, 'row')} read, {thousands(account['rows'][0])} used. "
        f"Service area: {population.area.label}."
    )
    for note in population.notes[len(table.notes) :]:
        st.warning(note)
    st.dataframe(account, hide_index=True, key="own_account")
    st.download_button(
        "Account (CSV)",
        data=account.to_csv(index=False).encode(),
        file_name="rows_account.csv",
        on_click="ignore",
        key="own_account_download",
    )


def _mapping_editor(columns: tuple[str, ...], mapping: Mapping[str, str]) -> None:
    st.write("**Which column holds what** (change one and the file is read again)")
    for start in range(0, len(MAPPED), 4):
        for slot, field in zip(st.columns(4), MAPPED[start : start + 4], strict=True):
            options = [NO_COLUMN, *columns]
            current = mapping.get(field, NO_COLUMN)
            key = f"own_map_{field}"
            if st.session_state.get(key) not in options:
                st.session_state[key] = current
            with slot:
                st.selectbox(FIELDS[field].capitalize(), options, key=key, on_change=_remap)


def _remap() -> None:
    state = st.session_state
    chosen = {field: state[f"own_map_{field}"] for field in MAPPED if f"own_map_{field}" in state}
    table = own_trips()
    before = table.mapping if table is not None else {}
    mapping = dict(state.get(_MAPPING, {}))
    for field, choice in chosen.items():
        column = "" if choice == NO_COLUMN else choice
        if column != before.get(field, ""):
            mapping[field] = column
    state[_MAPPING] = mapping
    _read(mapping)


def _load() -> None:
    """Take a new file: nothing of the one before stays."""
    forget_own_trips()
    for name in (_ERROR, _COLUMNS, _MAPPING, *(f"own_map_{field}" for field in MAPPED)):
        st.session_state.pop(name, None)
    _read({})


def _read(mapping: Mapping[str, str]) -> None:
    from ldpcore.trips.read import read_trips  # a bundled city needs no reader
    from ldpcore.trips.readers import as_source, open_raw

    state = st.session_state
    upload = state.get(_UPLOAD)
    state.pop(_ERROR, None)
    if upload is None:
        return
    content, name = upload.getvalue(), upload.name
    try:
        table = read_trips(content, name=name, mapping=mapping)
    except (TripFileError, ParameterError) as error:
        state[_ERROR] = str(error)
        # A table whose columns could not be told can still be mapped by hand.
        with suppress(TripFileError):
            state[_COLUMNS] = open_raw(as_source(content, name)).names
        return
    state.pop(_COLUMNS, None)
    forget_own_trips()
    state[TRIPS_KEY] = table
    state["own_unit"] = table.unit
    if state.get("set_trips") != table.digest:
        state["set_trips"] = table.digest
        state["set_city"], state["set_area"], state["set_timezone"] = None, None, None
        state["own_area_choice"] = FROM_FILE
    state.setdefault(
        "own_area_choice", state.get("set_city") or (A_BOX if state.get("set_area") else FROM_FILE)
    )
    for field in MAPPED:
        state[f"own_map_{field}"] = table.mapping.get(field, NO_COLUMN)
    state["open_file"] = True


def _choose_area() -> None:
    state = st.session_state
    choice = state["own_area_choice"]
    state["set_city"] = choice if choice in CITIES else None
    state["set_area"] = (state.get("own_box") or None) if choice == A_BOX else None
    state["set_timezone"] = (state.get("own_timezone") or None) if choice == A_BOX else None


def _forget() -> None:
    forget_own_trips()
    state = st.session_state
    for name in (_UPLOAD, _ERROR, _COLUMNS, _MAPPING):
        state.pop(name, None)
    state["set_trips"], state["set_area"], state["set_timezone"] = None, None, None
    state["set_city"] = state.get("set_city") or "new_york"
    state["set_source"] = "A bundled city"
