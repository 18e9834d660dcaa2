"""The parts of the library page: two scenarios side by side, the library, and what this session saved."""

from __future__ import annotations

from functools import partial
from html import escape
from typing import Final

import streamlit as st

from ldpcore.errors import ParameterError, TripFileError
from ldpcore.library import LIBRARY
from ldpcore.scenario_file import (
    LONGEST_ABOUT,
    LONGEST_NAME,
    MAX_BYTES,
    ScenarioFile,
    link_token,
    read_scenario_file,
)
from ldpcore.side_by_side import Side, compare_sides, comparison_csv, comparison_json, side_of
from ui import legend
from ui.controls import heading, note
from ui.library_map import estimate_map, is_dark, shared_scale, warn_of_truth
from ui.library_store import (
    CURRENT,
    add,
    choices,
    current_file,
    delete,
    from_token,
    open_library,
    open_saved,
    rename,
    save,
    saved,
)
from ui.library_words import headline, literal, table_html
from ui.number_words import thousands, unbroken
from ui.pipeline import get_figures, get_release

DEFAULT_PAIR: Final = {"first": CURRENT, "second": f"library.{LIBRARY[1].slug}"}
_UPLOADS: Final = "_library_uploads"
_SAID: Final = "_library_said"


def choose_pair() -> tuple[ScenarioFile, ScenarioFile]:
    """Draw the two selectors and return what they say; the pair is in the link."""
    left, right = st.columns(2, gap="medium")
    with left:
        first = _choose("first", "A")
    with right:
        second = _choose("second", "B")
    return first, second


def _choose(side: str, letter: str) -> ScenarioFile:
    state, key, seen = st.session_state, f"pair_{side}", f"_pair_{side}_seen"
    options = choices()
    linked = state.get(f"view_{side}") or DEFAULT_PAIR[side]
    if state.get(seen) != linked:
        state[key] = linked  # the link of the address bar, at first or after going back
    token = state.get(key) or linked
    problems: list[str] = []
    if token not in options:
        file, problems = from_token(token)
        if file is None:
            token = DEFAULT_PAIR[side]
        else:
            options[token] = file
    state[key] = token
    words = {option: _option_words(option, file) for option, file in options.items()}
    st.selectbox(
        letter,
        list(options),
        format_func=words.__getitem__,
        key=key,
        help="The scenario in the sidebar, one of the library, or one that you saved.",
    )
    for problem in problems:
        st.warning(literal(problem))
    chosen: str = state[key]
    state[f"view_{side}"] = "" if chosen == DEFAULT_PAIR[side] else chosen
    state[seen] = chosen
    return options[chosen]


def _option_words(token: str, file: ScenarioFile) -> str:
    if token == CURRENT:
        return "The scenario in the sidebar"
    if token.startswith("library."):
        return f"{file.name} (library)"
    return f"{file.name} (saved)" if file.name in saved() else f"{file.name} (from the link)"


def run_pair(files: tuple[ScenarioFile, ScenarioFile]) -> tuple[Side, Side] | None:
    """Run both sides; None where one can't be run, with the reason on the page."""
    sides = []
    for letter, file in zip("AB", files, strict=True):
        try:
            with st.spinner("Drawing both scenarios again and again"):
                sides.append(side_of(file, get_release, figures_of=get_figures))
        except (ParameterError, TripFileError) as error:
            st.error(f"{letter}, {literal(file.name)}: {literal(str(error))}")
    return (sides[0], sides[1]) if len(sides) == 2 else None


def pair_maps(first: Side, second: Side) -> None:
    """Draw the estimates of both sides next to each other on one scale."""
    warn_of_truth(first.scenario, second.scenario)
    releases = [get_release(side.scenario) for side in (first, second)]
    scale = shared_scale(*releases)
    for column, letter, side, release in zip(
        st.columns(2, gap="medium"), "AB", (first, second), releases, strict=True
    ):
        with column:
            estimate_map(
                release,
                scale,
                key=f"pair_map_{letter}",
                title=f"{letter}  {side.file.name}",
                subtitle=f"{thousands(release.published.sum())} of {thousands(release.population.domain.size)} cells published",
            )
    st.html(
        legend.legend_html(
            scale=scale,
            dark=is_dark(),
            counts_label=f"{' or '.join(sorted({side.population.noun for side in (first, second)})).capitalize()} per cell",
            counts_note="A and B share this scale.",
        )
    )
    if first.scenario.resolution != second.scenario.resolution:
        note("The cells are of different size: a larger one holds more devices at the same density.")


def pair_tables(first: Side, second: Side) -> None:
    """Draw what differs: settings, promise and use."""
    rows = compare_sides(first, second)
    names = (first.file.name, second.file.name)
    if any(row.group == "settings" for row in rows):
        st.html(table_html(rows, "settings", names=names))
    left, right = st.columns(2, gap="medium")
    with left:
        st.html(table_html(rows, "promise", names=names))
        note(
            "Losses are those of the worst device under each side's schedule. An ε protects what it is stated for: two of "
            "them compare only where one report covers the same."
        )
    with right:
        st.html(table_html(rows, "use", names=names))
        count = len(first.draws), len(second.draws)
        draws = f"{count[0]}" if count[0] == count[1] else f"{count[0]} (A) and {count[1]} (B)"
        note(
            f"Measured: mean of {draws} redraws of the devices' coins ± its standard error, beside what theory expects. The "
            "maps show one of them. Bold: the sides differ, by more than three standard errors where measured."
        )


def pair_downloads(first: Side, second: Side) -> None:
    """Offer the comparison as files, and the command that makes it again."""
    with st.container(horizontal=True, vertical_alignment="center"):
        for label, write, ending, mime in (
            ("Comparison (CSV)", comparison_csv, "csv", "text/csv"),
            ("Comparison (JSON)", comparison_json, "json", "application/json"),
        ):
            st.download_button(
                label,
                data=partial(write, first, second),
                file_name=f"comparison.{ending}",
                mime=mime,
                on_click="ignore",
                key=f"pair_{ending}",
            )
        for letter, side in zip("AB", (first, second), strict=True):
            st.download_button(
                f"Scenario {letter} (JSON)",
                data=side.file.to_json(),
                file_name=f"scenario_{letter.lower()}.json",
                mime="application/json",
                on_click="ignore",
                key=f"pair_scenario_{letter}",
            )
    note("In a terminal the same comparison is: python -m ldpcore compare scenario_a.json scenario_b.json")


def library_list() -> None:
    """Draw the library: a sentence and a button that opens it for each scenario."""
    heading("Library")
    for named in LIBRARY:
        left, right = st.columns([0.84, 0.16], vertical_alignment="center", gap="small")
        left.html(f'<h3 class="card">{escape(named.name)}</h3><p class="quiet">{escape(named.about)}</p>')
        right.button(
            "Open",
            key=f"library_open_{named.slug}",
            on_click=open_library,
            args=(named.slug,),
            width="stretch",
            help="Make it the scenario in the sidebar.",
        )


def saved_list() -> None:
    """Draw what this session saved, with saving, opening, renaming, deleting, export and import."""
    heading("Saved in this session")
    _save_form()
    _import()
    said = st.session_state.pop(_SAID, None)
    if said is not None:
        kind, sentence = said
        (st.error if kind == "error" else st.success)(literal(sentence))
    if not saved():
        note("Nothing is saved yet. What you save stays until this tab is closed; a file keeps it longer.")
    for number, (name, file) in enumerate(list(saved().items())):
        _saved_row(number, name, file)


def _save_form() -> None:
    with st.form("library_save", border=False, clear_on_submit=True):
        left, middle, right = st.columns([0.34, 0.5, 0.16], vertical_alignment="bottom", gap="small")
        left.text_input(
            "Name", key="library_name", max_chars=LONGEST_NAME, placeholder="Rush hour, half the loss"
        )
        middle.text_input("What it is for (may stay empty)", key="library_about", max_chars=LONGEST_ABOUT)
        right.form_submit_button(
            "Save", on_click=_save, help="Keeps the scenario in the sidebar under this name.", width="stretch"
        )


def _save() -> None:
    state = st.session_state
    try:
        file = current_file(state["library_name"], state["library_about"])
        save(file)
    except ParameterError as error:
        state[_SAID] = ("error", str(error))
    else:
        state[_SAID] = ("done", f"Saved as {file.name}.")


def _import() -> None:
    with st.expander("Open a scenario file"):
        st.file_uploader(
            "Scenario file (JSON)",
            type=["json"],
            key=_upload_key(),
            on_change=_take_file,
            max_upload_size=1,
            help=f"At most {MAX_BYTES // 1024} kB. It is read in this session's memory and added to the list below.",
        )


def _upload_key() -> str:
    return f"library_upload_{st.session_state.get(_UPLOADS, 0)}"


def _take_file() -> None:
    state = st.session_state
    upload = state.get(_upload_key())
    if upload is None:
        return
    state[_UPLOADS] = state.get(_UPLOADS, 0) + 1  # an empty box, ready for another file
    try:
        name = add(read_scenario_file(upload.getvalue()))
    except ParameterError as error:
        state[_SAID] = ("error", f"{error.parameter[:60]}: {error}")
    else:
        state[_SAID] = ("done", f"Added {name} to the list. Open makes it the scenario.")


def _saved_row(number: int, name: str, file: ScenarioFile) -> None:
    left, *buttons = st.columns([0.44, 0.12, 0.14, 0.16, 0.14], vertical_alignment="center", gap="small")
    about = f'<p class="quiet">{escape(file.about)}</p>' if file.about else ""
    left.html(
        f'<h3 class="card">{escape(name)}</h3>{about}<p class="quiet">{escape(_settings_words(file))}</p>'
    )
    buttons[0].button("Open", key=f"saved_open_{number}", on_click=open_saved, args=(name,), width="stretch")
    with buttons[1].popover("Rename", width="stretch"):
        st.text_input("New name", value=name, key=f"saved_name_{number}_{name}", max_chars=LONGEST_NAME)
        st.button(
            "Rename",
            key=f"saved_rename_{number}",
            on_click=_rename,
            args=(name, f"saved_name_{number}_{name}"),
        )
    buttons[2].download_button(
        "Download",
        data=file.to_json(),
        file_name="scenario.json",
        mime="application/json",
        on_click="ignore",
        key=f"saved_download_{number}",
        width="stretch",
    )
    buttons[3].button("Delete", key=f"saved_delete_{number}", on_click=_delete, args=(name,), width="stretch")


def _rename(name: str, key: str) -> None:
    try:
        file = saved()[name]
        rename(name, st.session_state[key])
    except ParameterError as error:
        st.session_state[_SAID] = ("error", str(error))
        return
    renamed = next((new for new in saved().values() if new.scenario is file.scenario), None)
    if renamed is not None:
        _follow(link_token(file), link_token(renamed))


def _delete(name: str) -> None:
    file = saved().get(name)
    delete(name)
    if file is not None:
        _follow(link_token(file), None)


def _follow(old: str, new: str | None) -> None:
    """Keep the pair on a scenario that got another name, and off one that was deleted."""
    for side, default in DEFAULT_PAIR.items():
        if st.session_state.get(f"pair_{side}") == old:
            st.session_state[f"pair_{side}"] = new or default
            st.session_state[f"view_{side}"] = new or default
            st.session_state[f"_pair_{side}_seen"] = new or default


def _settings_words(file: ScenarioFile) -> str:
    scenario = file.scenario
    place = scenario.city or scenario.area or "own area"
    who = (
        f"{thousands(scenario.devices)} devices"
        if scenario.synthetic
        else f"file {str(scenario.trips)[:12]}…"
    )
    return (
        f"{place.replace('_', ' ')}, {who}, {scenario.query}, resolution {scenario.resolution}, {scenario.mechanism}, "
        f"ε = {scenario.epsilon:g}, floor {thousands(scenario.floor)}"
    )


def answer(first: Side, second: Side) -> str:
    """Return the sentence at the top as HTML."""
    return f'<h1 class="headline">{escape(unbroken(headline(first, second)))}</h1>'
