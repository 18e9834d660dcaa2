"""The shared scenario: its controls in the sidebar, and the sentences at a control.

A setting that cannot be used is answered at its own control and the page goes on with the last
scenario that could. `ui.link` keeps the scenario in the address bar.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import fields, replace
from html import escape
from typing import Any, Final, NoReturn
from urllib.parse import urlencode

import h3
import streamlit as st

from ldpcore.errors import ParameterError, TripFileError
from ldpcore.mechanisms import MECHANISMS, FrequencyOracle, option_names, parse_options
from ldpcore.release import Release
from ldpcore.settings import DAYS, DEFAULT, QUERIES, RESOLUTIONS, Scenario
from ldpcore.trips.cities import CITIES
from ldpcore.trips.generate import DEFAULT_PRESENCE_HOUR
from ui.controls import heading, stop_slider
from ui.frame import require_frame
from ui.glossary import explained
from ui.link import (
    BUNDLED,
    EVERY_DAY,
    OWN_FILE,
    SCENARIO_KEY,
    SOURCE_KEY,
    WHOLE_DAY,
    control_values,
    follow_history,
    follow_source,
    link_params,
    session_started,
)
from ui.odds import odds_sentence
from ui.pipeline import get_release, own_trips
from ui.schedule import budget_meter, schedule_controls
from ui.upload import file_controls, reading_words

EPSILON_STOPS: Final = (
    0.1,
    0.2,
    0.3,
    0.5,
    0.7,
    1.0,
    1.2,
    1.5,
    2.0,
    2.5,
    3.0,
    3.5,
    4.0,
    5.0,
    6.0,
    8.0,
    10.0,
    12.0,
    16.0,
)
DEVICE_STOPS: Final = (*(first * 10**power for power in range(3, 9) for first in (1, 2, 5)), 10**9)
CONFIDENCES: Final = (0.8, 0.9, 0.95, 0.99, 0.999)
DAY_WORDS: Final = {EVERY_DAY: "Every day", "weekday": "A weekday", "weekend": "A weekend day"}
HOUR_WORDS: Final = {
    ("origins", False): "Trips that start in this hour.",
    ("origins", True): "Trips that start in this hour.",
    ("destinations", False): "Trips that start in this hour, by where they end.",
    ("destinations", True): "Trips that end in this hour.",
    (
        "presence",
        False,
    ): "Where a device is when the hour begins, noon if none is chosen; on its way, where it is heading.",
    ("presence", True): "Where the file last puts a device or trip in this hour, noon if none is chosen.",
}
"""What an hour means, by question and whether the trips are the user's own."""
CORRECTION_WORDS: Final = {
    "bonferroni": "all cells at once (Bonferroni)",
    "sidak": "all cells at once (Šidák)",
    "none": "each cell alone",
}
INTERVAL_WORDS: Final = {"score": "score (Wilson's)", "exact": "exact (slower)"}
_LAST_RUN: Final = "_last_run"
_SLOTS: Final = "_slots"
_OPTIONS_TEXT: Final = "options_text"
_OPTIONS_ERROR: Final = "_options_error"


def get_settings() -> Scenario:
    """Return the scenario in force; the defaults where a page runs alone."""
    if not session_started():
        require_frame()
    scenario: Scenario = st.session_state.get(SCENARIO_KEY, Scenario())
    return scenario


def complain(error: ParameterError) -> None:
    """Show an error's sentence at the control concerned, or on the page where there is none."""
    slot = _slot_of(error.parameter)
    (slot if slot is not None else st).error(str(error))


def _slot_of(parameter: str) -> Any:  # noqa: ANN401 - a place of the page, or None
    """Return the place under a setting's control; None where it has none."""
    if parameter in option_names(MECHANISMS[get_settings().mechanism]):
        parameter = "options"
    return st.session_state.get(_SLOTS, {}).get(parameter)


def halt(error: ParameterError | TripFileError, *, titled: bool = False) -> NoReturn:
    """End a page that can't go on: its sentence in the main column, and at the control concerned.

    On a phone the sidebar is out of sight, so a sentence there alone leaves an empty page.
    """
    if not titled:
        st.html('<h1 class="headline">This page cannot be drawn with these settings.</h1>')
    st.error(str(error))
    slot = _slot_of(error.parameter) if isinstance(error, ParameterError) else None
    if slot is not None:
        slot.error(str(error))
    st.stop()


def release_in_force(scenario: Scenario) -> Release:
    """Return the run of a scenario, or of the last one that could be run, with the reason at its control."""
    state = st.session_state
    try:
        with st.spinner("Making and counting every report") if scenario.per_report else nullcontext():
            release = get_release(scenario)
    except (ParameterError, TripFileError) as error:
        complain(error if isinstance(error, ParameterError) else ParameterError("trips", str(error)))
        last: Scenario = state.get(_LAST_RUN, DEFAULT)
        st.info(f"{error} What follows is the last scenario that could be run.")
        return get_release(last)
    state[_LAST_RUN] = scenario
    return release


def show_odds(mechanism: FrequencyOracle) -> None:
    """Write under the epsilon slider what a report says of a phone, once the randomiser is known."""
    slot = st.session_state.get(_SLOTS, {}).get("odds")
    if slot is not None:
        slot.html(f'<p class="odds">{escape(odds_sentence(mechanism))}</p>')


def scenario_controls() -> Scenario:
    """Draw the controls in the sidebar and return the scenario in force.

    An impossible setting is answered at its control; the last possible scenario stays in force.
    """
    slots: dict[str, Any] = {}
    st.session_state[_SLOTS] = slots
    problems = follow_history()
    follow_source()
    # Streamlit forgets a control that a run didn't draw; it comes back with the scenario in force.
    for name, value in control_values(get_settings()).items():
        st.session_state.setdefault(name, value)
    for problem in problems:
        st.warning(problem)
    with st.sidebar:
        _where(slots)
        _who(slots)
        _privacy(slots)
        _grid(slots)
        _publish(slots)
        scenario = _assemble()
        _budget(scenario)
        _seed_and_link(slots, scenario)
    st.session_state[SCENARIO_KEY] = scenario
    return scenario


def _assemble() -> Scenario:
    state = st.session_state
    own = state[SOURCE_KEY] == OWN_FILE
    settings = {
        field.name: state[f"set_{field.name}"] for field in fields(Scenario) if f"set_{field.name}" in state
    }
    hour = state["set_hour"]
    if state["set_query"] == "presence" and hour == WHOLE_DAY:
        hour = DEFAULT_PRESENCE_HOUR
    settings["hour"] = None if hour == WHOLE_DAY else hour
    if own:
        table = own_trips()
        settings["trips"] = table.digest if table is not None else None
        if table is not None:
            settings["devices"] = DEFAULT.devices  # without meaning for a file, so not in its link
        settings["day"] = None if settings["day"] == EVERY_DAY else settings["day"]
        if settings["trips"] is None:
            own = False
    if not own:
        settings |= {"trips": None, "area": None, "timezone": None}
        settings["city"] = settings["city"] or "new_york"
        settings["day"] = None if settings["day"] in {EVERY_DAY, DAYS[0]} else settings["day"]
    problems: list[ParameterError] = []
    last: Scenario = state[SCENARIO_KEY]
    for name in ("devices", "epsilon", "floor", "seed", "draw"):
        if settings[name] is None:
            problems.append(
                ParameterError(name, f"Enter a number for {name}; until then {getattr(last, name)} is used.")
            )
            settings[name] = getattr(last, name)
    # Each setting is tried on its own, so that one mistake doesn't take the others with it.
    scenario = last
    try:
        scenario = Scenario(**settings)
    except ParameterError:
        scenario = replace(
            last,
            **{
                name: settings[name] for name in ("trips", "area", "timezone", "city", "day", "hour", "query")
            },
        )
        for name, value in settings.items():
            try:
                scenario = replace(scenario, **{name: value})
            except ParameterError as error:
                problems.append(error)
    for problem in problems:
        complain(problem)
    return scenario


def _where(slots: dict[str, Any]) -> None:
    heading("Where")
    st.segmented_control(
        "Trips from",
        [BUNDLED, OWN_FILE],
        key=SOURCE_KEY,
        required=True,
        label_visibility="collapsed",
        width="stretch",
        help="Bundled trips are synthetic; your own file stays in this session's memory.",
    )
    if st.session_state[SOURCE_KEY] == BUNDLED:
        st.selectbox(
            "City",
            list(CITIES),
            format_func=lambda slug: CITIES[slug].label,
            key="set_city",
            help=explained("A public service area, whose cells are the list of possible answers.", 2),
        )
    else:
        file_controls(slots)
    slots["city"] = st.empty()
    st.selectbox(
        "Question",
        list(QUERIES),
        format_func=QUERIES.__getitem__,
        key="set_query",
        help=explained("What each device answers with one cell.", 2),
    )
    slots["query"] = st.empty()
    left, right = st.columns(2, gap="small")
    with left:
        days = DAYS if st.session_state[SOURCE_KEY] == BUNDLED else tuple(DAY_WORDS)
        if st.session_state["set_day"] not in days:
            st.session_state["set_day"] = days[0]
        st.selectbox(
            "Day",
            days,
            format_func=DAY_WORDS.__getitem__,
            key="set_day",
            help=explained("One day is one report of each device; further days add up.", 7),
        )
    with right:
        st.selectbox(
            "Hour",
            [WHOLE_DAY, *range(24)],
            format_func=_hour_word,
            key="set_hour",
            help=explained("An hour has fewer devices than a day, so its cells are harder to tell.", 6),
        )
    slots["hour"] = st.empty()
    if st.session_state["set_hour"] != WHOLE_DAY or st.session_state["set_query"] == "presence":
        own = st.session_state[SOURCE_KEY] == OWN_FILE
        st.html(f'<p class="quiet">{HOUR_WORDS[st.session_state["set_query"], own]}</p>')


def short_count(number: float) -> str:
    """Write a round count shortly: 10M."""
    for size, letter in ((1e9, "B"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:g}{letter}"
    return f"{number:g}"


def _hour_word(hour: int) -> str:
    return "All day" if hour == WHOLE_DAY else f"{hour:02d}:00"


def _who(slots: dict[str, Any]) -> None:
    if st.session_state[SOURCE_KEY] == BUNDLED:
        heading("Who")
        stop_slider(
            "Devices",
            key="set_devices",
            stops=DEVICE_STOPS,
            show=short_count,
            ends=("fewer", "more"),
            step=1,
            number_format="%d",
            help_text=explained("Phones that report, one report each.", 3),
        )
    slots["devices"] = st.empty()


def _privacy(slots: dict[str, Any]) -> None:
    heading("Privacy")
    stop_slider(
        "Privacy loss (ε)",
        key="set_epsilon",
        stops=EPSILON_STOPS,
        show=lambda stop: f"{stop:g}",
        ends=("more private", "more accurate"),
        step=None,
        number_format="%g",
        help_text=explained(
            "How much one report may say about its device: odds change by at most e to the ε.", 1
        ),
    )
    slots["epsilon"] = st.empty()
    slots["odds"] = st.empty()
    st.selectbox(
        "Randomiser (mechanism)",
        list(MECHANISMS),
        format_func=lambda name: MECHANISMS[name].label,
        key="set_mechanism",
        on_change=_use_best_options,
        help=explained("How a device hides its cell before anything leaves it.", 2),
    )
    slots["mechanism"] = st.empty()
    _options(slots)


def use_mechanism(name: str) -> None:
    """Make a randomiser, with its own best options, the scenario's; call from a callback."""
    st.session_state["set_mechanism"] = name
    _use_best_options()


def _use_best_options() -> None:
    """Drop the options, which belong to the randomiser that was chosen before."""
    st.session_state["set_options"] = ()
    for key in (_OPTIONS_TEXT, _OPTIONS_ERROR):
        st.session_state.pop(key, None)


def _options(slots: dict[str, Any]) -> None:
    names = option_names(MECHANISMS[st.session_state["set_mechanism"]])
    if names:
        st.session_state.setdefault(_OPTIONS_TEXT, get_settings().to_params().get("options", ""))
        st.text_input(
            "Its options",
            key=_OPTIONS_TEXT,
            placeholder=f"{', '.join(names)}: chosen for you",
            on_change=_take_options,
            help=f"Written name=value. This randomiser has {', '.join(names)}; left empty it takes what suits it.",
        )
    slots["options"] = st.empty()
    if problem := st.session_state.get(_OPTIONS_ERROR):
        slots["options"].error(problem)


def _take_options() -> None:
    st.session_state.pop(_OPTIONS_ERROR, None)
    try:
        options = tuple(sorted(parse_options(st.session_state[_OPTIONS_TEXT]).items()))
    except ParameterError as error:
        st.session_state[_OPTIONS_ERROR] = str(error)
    else:
        st.session_state["set_options"] = options


def _grid(slots: dict[str, Any]) -> None:
    heading("Grid")
    st.select_slider(
        "Resolution (H3)",
        RESOLUTIONS,
        key="set_resolution",
        help=explained("Each step makes cells seven times smaller and seven times as many.", 6),
    )
    area_km2 = h3.average_hexagon_area(st.session_state["set_resolution"], unit="km^2")
    st.html(
        f'<div class="ends"><span>coarser</span><span>cell ≈ {area_km2:.3g} km²</span><span>finer</span></div>'
    )
    slots["resolution"] = st.empty()


def _publish(slots: dict[str, Any]) -> None:
    heading("Publish")
    left, right = st.columns(2, gap="small")
    with left:
        st.number_input(
            "Floor",
            value=None,
            key="set_floor",
            step=50,
            help=explained("A cell is published when at least this many devices are sure.", 5),
        )
    with right:
        options = sorted({*CONFIDENCES, st.session_state["set_confidence"]})
        st.selectbox(
            "Confidence",
            options,
            format_func=lambda share: f"{100 * share:g} %",
            key="set_confidence",
            help=explained("How often the error bars, and the promise behind the floor, are to hold.", 5),
        )
    slots["floor"] = st.empty()
    slots["confidence"] = st.empty()
    with st.expander("Rules"):
        st.selectbox(
            "The confidence is for",
            list(CORRECTION_WORDS),
            format_func=CORRECTION_WORDS.__getitem__,
            key="set_correction",
            help=explained(
                "Whether all published cells are right together with this confidence, or each alone.", 5
            ),
        )
        st.selectbox(
            "Error bars (intervals)",
            list(INTERVAL_WORDS),
            format_func=INTERVAL_WORDS.__getitem__,
            key="set_interval",
            help=explained("Score intervals turn to exact ones by themselves where reports are few.", 5),
        )
    slots["interval"] = st.empty()


def unit_of(scenario: Scenario) -> str:
    """Return what one report's epsilon covers, a key of `UNITS`."""
    return "device" if scenario.synthetic else str(st.session_state.get("own_unit", "trip"))


def _budget(scenario: Scenario) -> None:
    heading("Budget")
    meter = st.empty()
    with st.expander("How often a device reports"):
        schedule = schedule_controls()
    meter.html(budget_meter(scenario, schedule, unit=unit_of(scenario)))


def _seed_and_link(slots: dict[str, Any], scenario: Scenario) -> None:
    heading("Seed and link")
    left, right = st.columns([0.5, 0.5], gap="small", vertical_alignment="bottom")
    with left:
        st.number_input(
            "Seed",
            value=None,
            key="set_seed",
            step=1,
            help=explained("Same seed, same trips and same coins.", 5),
        )
    with right:
        st.button(
            "Redraw",
            on_click=_redraw,
            width="stretch",
            help=explained("Toss the devices' coins again; the trips stay.", 5),
        )
    slots["seed"] = st.empty()
    slots["draw"] = st.empty()
    st.html(f'<p class="quiet">Seed {scenario.seed}, redraw {scenario.draw}</p>')
    with st.popover("Link and command", width="stretch"):
        base = (st.context.url or "").split("?")[0]
        if scenario.synthetic:
            st.caption("This link opens the same run in any browser that reaches this server.")
        else:
            st.caption(
                "This link opens the same run once the same file is loaded; it names the file by its SHA-256."
            )
        st.code(base + "?" + urlencode(link_params(scenario)), language=None, wrap_lines=True)
        st.caption("This command makes the same run in a terminal.")
        st.code(scenario.to_command(reading=reading_words()), language="bash", wrap_lines=True)


def _redraw() -> None:
    st.session_state["set_draw"] = int(st.session_state.get("set_draw") or 0) + 1
