"""The user's own statements about a deployment: kept in the session and in the scenario file, never in the link.

A link lands in histories and logs, and such a text can name people.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import streamlit as st

from ldpcore.errors import ParameterError
from ldpcore.statements import STATEMENTS, checked_statement, checked_statements

STATEMENTS_KEY: Final = "statements"


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
