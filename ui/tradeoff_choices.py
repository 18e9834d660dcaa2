"""What the reader chooses on the Trade-offs page: kept in the link, checked when read, answered at its control."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, Final

import streamlit as st

from ldpcore.errors import ParameterError
from ldpcore.mechanisms import MECHANISMS
from ldpcore.settings import MAX_DEVICES, MAX_EPSILON, RESOLUTIONS, Scenario
from ldpcore.sweep import Grid
from ui.scenario import EPSILON_STOPS, short_count
from ui.tradeoff_words import MEASURES
from ui.tradeoff_work import Study

EPSILONS: Final = (0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0)
TRIED: Final = RESOLUTIONS[1:]
REDRAWS: Final = (10, 20, 50, 100)
MOST_EPSILONS: Final = 24
LINES: Final = {
    "resolution": "Resolution",
    "mechanism": "Randomiser (mechanism)",
    "devices": "Number of devices",
}
_PROBLEM: Final = "_tradeoff_problem_"
_WAS: Final = "_tradeoff_was_"


@dataclass(frozen=True, slots=True)
class _Choice:
    """One choice: where its control keeps it, and how the link writes it."""

    default: Any
    read: Callable[[str], Any]
    write: Callable[[Any], str] = str

    @staticmethod
    def key(name: str) -> str:
        """Return the session key of the control."""
        return f"tradeoff_{name}"


def choice_key(name: str) -> str:
    """Return the session key of a choice's control."""
    return _Choice.key(name)


def has_problem(name: str) -> bool:
    """Return whether what the link said of a choice was not used."""
    return bool(st.session_state.get(_PROBLEM + name))


def problem_at(name: str) -> None:
    """Show at a control why what the link said of it was not used."""
    problem = st.session_state.get(_PROBLEM + name)
    if problem:
        st.error(problem)


def read_choices(scenario: Scenario) -> dict[str, Any]:
    """Return every choice, from its control or else from the link, and put them into the link.

    Call before the controls are drawn. What can't be used is left at its default and named at the control.
    """
    state = st.session_state
    found: dict[str, Any] = {}
    for name, choice in _CHOICES.items():
        key, text = choice.key(name), state.get(f"view_{name}", "")
        if key not in state or state.get(_WAS + name, "") != text:
            state.pop(_PROBLEM + name, None)
            try:
                state[key] = choice.read(text) if text else copy(choice.default)
            except ParameterError as error:
                state[key] = copy(choice.default)
                state[_PROBLEM + name] = str(error)
        if name == "lines" and state[key] == "devices" and not scenario.synthetic:
            state[key] = choice.default  # the devices of a file are those in it
        value = state[key]
        if value != choice.default:
            state.pop(_PROBLEM + name, None)
        if value is None or value == []:
            state[_PROBLEM + name] = "Choose at least one; until then the usual ones are tried."
            value = choice.default
        found[name] = value
        state[f"view_{name}"] = state[_WAS + name] = "" if value == choice.default else choice.write(value)
    return found


def study_of(scenario: Scenario, choices: dict[str, Any]) -> Study:
    """Return what to run for a scenario and the reader's choices."""
    # The command line's sweeps start at redraw 0 and draw counts from their law; the page gives the same figures.
    here = replace(scenario, draw=0, per_report=False)
    epsilons = tuple(sorted({*choices["try_epsilons"], here.epsilon}))
    resolutions = tuple(sorted({*choices["try_resolutions"], here.resolution}))
    # Varied settings stand at their first value, so that a click on another point is still the same sweep.
    base = replace(here, epsilon=epsilons[0], resolution=resolutions[0])
    repeats = choices["redraws"]
    grid = Grid(base=base, epsilons=epsilons, resolutions=resolutions, repeats=repeats)
    lines = None
    at = replace(here, epsilon=epsilons[0])
    if choices["lines"] == "mechanism":
        lines = Grid(base=at, epsilons=epsilons, mechanisms=tuple(MECHANISMS), repeats=repeats)
    elif choices["lines"] == "devices":
        lines = Grid(base=at, epsilons=epsilons, devices=device_steps(here.devices), repeats=repeats)
    return Study(here, grid, lines)


def device_steps(devices: int) -> tuple[int, ...]:
    """Return a tenth of a number of devices, the number, and ten times as many, where they are possible.

    >>> device_steps(1_000_000), device_steps(5)
    ((100000, 1000000, 10000000), (1, 5, 50))
    """
    return tuple(sorted({max(devices // 10, 1), devices, min(devices * 10, MAX_DEVICES)}))


def line_names(study: Study) -> dict[Any, str]:
    """Return what each line is called, by the value that tells it apart, in order."""
    if study.lines is None:
        return {resolution: f"r{resolution}" for resolution in study.grid.resolutions}
    if study.lines.mechanisms:
        return {name: name for name in study.lines.mechanisms}
    return {devices: short_count(devices) for devices in study.lines.devices}


def _numbers(
    convert: Callable[[str], Any], check: Callable[[Any], bool], words: str
) -> Callable[[str], list[Any]]:
    def read(text: str) -> list[Any]:
        try:
            values = [convert(part) for part in text.split(",")]
        except ValueError:
            values = []
        if not values or not all(check(value) for value in values) or len(values) > MOST_EPSILONS:
            raise ParameterError("link", f"The link's {text!r} was not used: {words}.")
        return sorted(set(values))

    return read


def _one_of(options: Sequence[Any], words: str) -> Callable[[str], Any]:
    def read(text: str) -> Any:  # noqa: ANN401 - one of the options
        for option in options:
            if str(option) == text:
                return option
        raise ParameterError("link", f"The link's {text!r} was not used: {words}.")

    return read


def _share(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.1 <= value <= 100:
        raise ParameterError("link", f"The link's {text!r} was not used: give 0.1 to 100 per cent.")
    return value


def _joined(values: Sequence[Any]) -> str:
    return ",".join(f"{value:g}" for value in values)


_CHOICES: Final = {
    "figure": _Choice("published_share", _one_of(tuple(MEASURES), "choose one of the figures listed")),
    "useful": _Choice(25.0, _share, lambda value: f"{value:g}"),
    "lines": _Choice("resolution", _one_of(tuple(LINES), "choose one of those listed")),
    "utility": _Choice("published", _one_of(tuple(MEASURES), "choose one of the figures listed")),
    "try_epsilons": _Choice(
        list(EPSILONS),
        _numbers(
            float,
            lambda value: 0 < value <= MAX_EPSILON,
            "give up to 24 ε above 0 and at most 20, between commas",
        ),
        _joined,
    ),
    "try_resolutions": _Choice(
        list(TRIED),
        _numbers(int, lambda value: value in RESOLUTIONS, "give resolutions from 5 to 10, between commas"),
        _joined,
    ),
    "redraws": _Choice(REDRAWS[0], _one_of(REDRAWS, "choose 10, 20, 50 or 100 redraws")),
}


def grid_controls(scenario: Scenario) -> None:
    """Draw the controls that say what the sweep tries."""
    state = st.session_state
    left, middle, right = st.columns([0.5, 0.28, 0.22], gap="medium")
    with left:
        key = choice_key("try_epsilons")
        st.multiselect(
            "ε to try",
            sorted({*EPSILON_STOPS, *(state.get(key) or ())}),
            format_func=lambda value: f"{value:g}",
            key=key,
            help=f"The ε of the scenario, {scenario.epsilon:g}, is always among them.",
        )
        problem_at("try_epsilons")
    with middle:
        st.multiselect(
            "Resolutions to try",
            list(RESOLUTIONS),
            key=choice_key("try_resolutions"),
            help=f"That of the scenario, {scenario.resolution}, is always among them.",
        )
        problem_at("try_resolutions")
    with right:
        st.selectbox(
            "Redraws of each",
            REDRAWS,
            key=choice_key("redraws"),
            help="More redraws make the dots surer and the sweep longer.",
        )
        problem_at("redraws")
