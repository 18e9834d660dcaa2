"""Scenarios of this session: the one in force, those saved under a name, those of the library, and those of a link.

Saved scenarios live in the session and nowhere else; a file keeps them longer, a link carries one to somebody else.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final
from urllib.parse import parse_qsl

import streamlit as st

from ldpcore.errors import ParameterError
from ldpcore.library import LIBRARY, find_named
from ldpcore.scenario_file import ScenarioFile, checked_name, link_token
from ldpcore.schedule import Schedule
from ldpcore.settings import Scenario
from ui.link import open_scenario
from ui.scenario import get_settings
from ui.schedule import get_schedule
from ui.statements import get_statements, set_statements

CURRENT: Final = "this"
MOST_SAVED: Final = 50
_SAVED: Final = "library_saved"
_LIBRARY: Final = "library."
_LONGEST_LINK: Final = 4_000
_MOST_FIELDS: Final = 64


def saved() -> dict[str, ScenarioFile]:
    """Return the scenarios saved in this session by name, oldest first."""
    found: dict[str, ScenarioFile] = st.session_state.setdefault(_SAVED, {})
    return found


def current_file(name: str = "Current scenario", about: str = "") -> ScenarioFile:
    """Return the scenario in force with its schedule and the user's words."""
    return ScenarioFile(
        name=name,
        about=about,
        scenario=get_settings(),
        schedule=get_schedule(),
        statements=get_statements(),
    )


def save(file: ScenarioFile) -> None:
    """Save a scenario under its name.

    Raises
    ------
    ParameterError
        If the name is taken, or too many are saved.
    """
    if len(saved()) >= MOST_SAVED:
        raise ParameterError(
            "name", f"A session keeps at most {MOST_SAVED} scenarios; delete one, or download it first."
        )
    if file.name in saved():
        raise ParameterError(
            "name", f"There is already a scenario named {file.name}; choose another name, or delete that one."
        )
    saved()[file.name] = file


def add(file: ScenarioFile) -> str:
    """Save a scenario that came from a file, under a free name next to its own, and return that name."""
    name, number = file.name, 1
    while name in saved():
        number += 1
        ending = f" ({number})"
        name = file.name[: 80 - len(ending)] + ending
    save(replace(file, name=name))
    return name


def rename(old: str, new: str) -> None:
    """Give a saved scenario another name; its place in the list stays.

    Raises
    ------
    ParameterError
        If the name is empty, too long, or taken.
    """
    name = checked_name(new)
    if name == old:
        return
    if name in saved():
        raise ParameterError("name", f"There is already a scenario named {name}; choose another name.")
    st.session_state[_SAVED] = {
        (name if key == old else key): (replace(file, name=name) if key == old else file)
        for key, file in saved().items()
    }


def delete(name: str) -> None:
    """Drop a saved scenario."""
    saved().pop(name, None)


def open_library(slug: str) -> None:
    """Make a scenario of the library the one in force; the user's words stay. Call from a callback."""
    named = find_named(slug)
    if named is not None:
        open_scenario(named.scenario, named.schedule)


def open_saved(name: str) -> None:
    """Make a saved scenario the one in force, with the words that were saved with it. Call from a callback."""
    file = saved().get(name)
    if file is not None:
        open_scenario(file.scenario, file.schedule)
        set_statements(file.statements)


def choices() -> dict[str, ScenarioFile]:
    """Return every scenario that can be compared, by the token that stands for it in a link."""
    return {
        CURRENT: current_file(),
        **{_LIBRARY + named.slug: named.to_file() for named in LIBRARY},
        **{link_token(file): file for file in saved().values()},
    }


def from_token(token: str) -> tuple[ScenarioFile | None, list[str]]:
    """Read a scenario from a parameter of a link; what can't be used is left at its default and named.

    Returns
    -------
    The scenario, or None where the parameter is none, and one sentence for each thing that was not used.
    """
    wrong = ["A scenario of this link can't be read; choose another one."]
    if len(token) > _LONGEST_LINK:
        return None, wrong
    try:
        params = dict(
            parse_qsl(token, keep_blank_values=True, strict_parsing=True, max_num_fields=_MOST_FIELDS)
        )
        name = checked_name(params.pop("name", ""))
    except (ParameterError, ValueError):
        return None, wrong
    scenario, problems = Scenario.from_params(params)
    schedule, schedule_problems = Schedule.from_params(params)
    return ScenarioFile(name=name, scenario=scenario, schedule=schedule), problems + schedule_problems
