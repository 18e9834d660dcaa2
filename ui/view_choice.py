"""The choices of a page in its link: read and checked in one place, so that no page drops one without a word.

`ui.link` reads ``view_NAME`` from the address and writes it back. A page takes each of its choices from here.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import Any, Final, TypeVar

import streamlit as st

T = TypeVar("T")

_PROBLEM: Final = "_view_problem_"
_SEEN: Final = "_view_seen_"
_LONGEST_SHOWN: Final = 40


def open_choice(
    name: str, key: str, *, default: T, read: Callable[[str], T], must: str, used: str | None = None
) -> None:
    """Give a control the value that the link says, or its default with a sentence on the page.

    Call in the main column, before the control is drawn; after it, call `keep_choice`. The sentence stays until
    the control is moved.

    Parameters
    ----------
    name
        In the link.
    key
        Session key of the control.
    default
        Where the link is silent, or says what can't be used.
    read
        Makes the value of the link's text; raises ValueError where it can't be used.
    must
        What the text must be, to complete "The setting … of the link must be".
    used
        The default in words; None writes it as it is.
    """
    state = st.session_state
    text = str(state.get(f"view_{name}") or "")
    if key not in state or state.get(_SEEN + name, "") != text:
        state.pop(_PROBLEM + name, None)
        state[key] = default
        if text:
            try:
                state[key] = read(text)
            except (ValueError, OverflowError):
                state[_PROBLEM + name] = problem_of(name, text, must, str(default) if used is None else used)
    elif state[key] != default:
        state.pop(_PROBLEM + name, None)
    state[_SEEN + name] = text
    say_problem(name)


def keep_choice(name: str, value: object, default: object, *, write: Callable[[Any], str] = str) -> None:
    """Put a choice into the link, or take it out where it is the default."""
    text = "" if value == default or value is None else write(value)
    st.session_state[f"view_{name}"] = st.session_state[_SEEN + name] = text


def linked_choice(
    name: str, *, default: T, read: Callable[[str], T], must: str, used: str | None = None
) -> T:
    """Return a choice that the link itself owns, or the default; `say_problem` shows what was wrong with it."""
    state = st.session_state
    text = str(state.get(f"view_{name}") or "")
    if not text:
        # A page that has put its default into the link says what was wrong until something is chosen.
        return default
    state.pop(_PROBLEM + name, None)
    try:
        return read(text)
    except (ValueError, OverflowError):
        state[_PROBLEM + name] = problem_of(name, text, must, str(default) if used is None else used)
        return default


def say_problem(name: str) -> None:
    """Show what was wrong with a choice of the link, if anything was."""
    problem = st.session_state.get(_PROBLEM + name)
    if problem:
        st.warning(problem)


def forget_problem(name: str) -> None:
    """Drop the sentence about a choice; call where it is chosen anew."""
    st.session_state.pop(_PROBLEM + name, None)


def problem_of(name: str, text: str, must: str, used: str) -> str:
    """Return the sentence about a choice of the link that can't be used.

    >>> problem_of("count", "-5", "a whole number from 1", "500")
    "The setting count of the link must be a whole number from 1, got `'-5'`; 500 is used."
    """
    # As code: what somebody wrote into a link is shown, never drawn.
    got = repr(text[:_LONGEST_SHOWN]).replace("`", "'")
    return f"The setting {name} of the link must be {must}, got `{got}`; {used} is used."


def whole(least: int, most: int) -> Callable[[str], int]:
    """Return a reader of whole numbers within bounds.

    >>> whole(0, 9)("7")
    7
    """
    return lambda text: _checked(int(_digits(text)), range(least, most + 1))


def whole_of(allowed: Container[int]) -> Callable[[str], int]:
    """Return a reader of the whole numbers allowed.

    >>> whole_of((7, 28))("28")
    28
    """
    return lambda text: _checked(int(_digits(text)), allowed)


def number(least: float, most: float) -> Callable[[str], float]:
    """Return a reader of numbers within bounds; no number, such as nan, is within any.

    >>> number(0.1, 1000)("20")
    20.0
    """

    def read(text: str) -> float:
        value = float(text)
        if not least <= value <= most:
            raise ValueError
        return value

    return read


def one_of(allowed: Container[str]) -> Callable[[str], str]:
    """Return a reader of the words allowed.

    >>> one_of(("quick", "full"))("full")
    'full'
    """
    return lambda text: _checked(text, allowed)


def _digits(text: str) -> str:
    if not (text.isascii() and text.isdigit() and len(text) <= 18):
        raise ValueError
    return text


def _checked(value: T, allowed: Container[T]) -> T:
    if value not in allowed:
        raise ValueError
    return value
