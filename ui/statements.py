"""The user's own statements about a deployment: kept in the session and in the scenario file, never in the link.

A link lands in histories and logs, and such a text can name people.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from typing import Final

import streamlit as st

from ldpcore.errors import ParameterError
from ldpcore.statements import LONGEST, STATEMENTS, checked_statement, checked_statements
from ui.controls import heading, note

STATEMENTS_KEY: Final = "statements"
_SHORT_LONGEST: Final = 400


def get_statements() -> dict[str, str]:
    """Return the statements that can be used, by name, in the order of the table."""
    held = st.session_state.get(STATEMENTS_KEY, {})
    usable = {}
    for name in STATEMENTS:
        try:
            if text := checked_statement(name, held.get(name, "")):
                usable[name] = text
        except ParameterError:
            continue  # the form says so at the field
    return usable


def set_statements(statements: Mapping[str, str]) -> None:
    """Put statements, such as those of a scenario file, in the place of all that were there.

    Call before the form is drawn, or from a callback.

    Raises
    ------
    ParameterError
        If one of them can't be used, named in the error.
    """
    checked = checked_statements(statements)
    st.session_state[STATEMENTS_KEY] = checked
    for name in STATEMENTS:
        # Streamlit fills a box from its own key.
        st.session_state[field_key(name)] = checked.get(name, "")


def field_key(name: str) -> str:
    """Return the session key of a field's box."""
    return f"statement_{name}"


def statement_form() -> None:
    """Draw a box for each statement; what can't be used is answered at its box and counts as not said."""
    note(
        "These are yours to say; no program can compute them. They go into the report word for word, marked as yours, and "
        "an empty one is printed as not addressed. They stay in this session and in a scenario file that you save, never "
        "in the link."
    )
    held: dict[str, str] = st.session_state.setdefault(STATEMENTS_KEY, {})
    for group, entries in groupby(STATEMENTS.items(), key=lambda item: item[1].group):
        heading(group)
        for place, (name, statement) in enumerate(entries):
            if place % 2 == 0:  # a row of two, so that the order stays where a phone stacks them
                pair = st.columns(2, gap="medium")
            key = field_key(name)
            # Streamlit forgets a box that a run didn't draw; the session keeps its text.
            st.session_state.setdefault(key, held.get(name, ""))
            with pair[place % 2]:
                draw = st.text_area if statement.long else st.text_input
                draw(
                    statement.label,
                    key=key,
                    placeholder=statement.help,
                    max_chars=LONGEST if statement.long else _SHORT_LONGEST,
                    on_change=_keep,
                    args=(name,),
                )
                try:
                    checked_statement(name, st.session_state[key])
                except ParameterError as error:
                    st.error(str(error))


def _keep(name: str) -> None:
    """Put what was typed among the statements; a callback, so that the whole next run knows it."""
    held: dict[str, str] = st.session_state.setdefault(STATEMENTS_KEY, {})
    st.session_state[STATEMENTS_KEY] = {**held, name: st.session_state[field_key(name)]}
