"""The lesson's choices: each lives in the link, and what a link says wrongly is answered in a sentence.

A choice is owned by its session key ``view_NAME``, which `ui.link` reads from the address and writes back
to it; the control only shows it and moves it. So going back in the browser moves the controls too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import streamlit as st

from ldpcore.errors import ParameterError
from ldpcore.lesson import checked_class_seed, checked_step

PROBLEMS_KEY: Final = "_learn_problems"


@dataclass(frozen=True, slots=True)
class Place:
    """Where in the lesson a reader is.

    Parameters
    ----------
    step
        1 to 8.
    class_seed
        The seed a class shares, or none.
    spoilers
        Whether answers are shown once a choice is made.
    problems
        One sentence for each thing of the link that can't be used.
    """

    step: int
    class_seed: int | None
    spoilers: bool
    problems: tuple[str, ...]


def place() -> Place:
    """Read step, class and spoilers from the link."""
    problems: list[str] = []
    step, class_seed = 1, None
    if text := _text("step"):
        try:
            step = checked_step(text)
        except ParameterError as error:
            problems.append(str(error))
    if text := _text("class"):
        try:
            class_seed = checked_class_seed(text)
        except ParameterError as error:
            problems.append(f"{error} The lesson goes on with the scenario's own seed.")
    spoilers = _text("spoilers")
    if spoilers not in {"", "0", "1"}:
        problems.append(
            f"The setting spoilers of the link must be 0 or 1, got {spoilers[:40]!r}; answers are shown."
        )
    return Place(step, class_seed, spoilers != "0", tuple(problems))


def _text(name: str) -> str:
    return str(st.session_state.get(f"view_{name}") or "")


def go_to(step: int) -> None:
    """Make a step the one shown; call from a callback."""
    st.session_state["view_step"] = str(step)


def whole_number(name: str, *, default: int, least: int, most: int) -> int:
    """Return a whole number of the link, or the default, with a sentence, where it is none or out of range."""
    text = _text(name)
    if not text:
        return default
    number = int(text) if text.isascii() and text.isdigit() and len(text) <= 12 else -1
    if least <= number <= most:
        return number
    st.warning(
        f"The setting {name} of the link must be a whole number from {least:,} to {most:,}, got {text[:40]!r}; "
        f"{default:,} is used."
    )
    return default


def keep(name: str, value: object, default: object) -> None:
    """Put a choice into the link, or take it out where it is the default."""
    st.session_state[f"view_{name}"] = "" if value == default else str(value)


def number_slider(
    name: str, label: str, *, default: int, least: int, most: int, step: int = 1, help_text: str
) -> int:
    """Draw a slider over whole numbers whose value is in the link."""
    key = f"learn_{name}"
    value = whole_number(name, default=default, least=least, most=most)
    st.session_state[key] = value

    def take() -> None:
        keep(name, st.session_state[key], default)

    st.slider(label, least, most, step=step, key=key, on_change=take, help=help_text)
    return value


def stop_choice(
    name: str,
    label: str,
    stops: Sequence[int],
    *,
    default: int,
    show: Callable[[int], str],
    help_text: str,
) -> int:
    """Draw a slider over named stops whose value is in the link; another number in a link snaps to the nearest."""
    key = f"learn_{name}"
    number = whole_number(name, default=default, least=stops[0], most=stops[-1])
    value = min(stops, key=lambda stop: abs(stop - number))
    st.session_state[key] = value

    def take() -> None:
        keep(name, st.session_state[key], default)

    st.select_slider(label, list(stops), format_func=show, key=key, on_change=take, help=help_text)
    return value


def switch(name: str, label: str, *, help_text: str) -> bool:
    """Draw a switch whose state is in the link; off by default."""
    key = f"learn_{name}"
    on = whole_number(name, default=0, least=0, most=1) == 1
    st.session_state[key] = on

    def take() -> None:
        keep(name, int(st.session_state[key]), 0)

    st.toggle(label, key=key, on_change=take, help=help_text)
    return on


def again_button(name: str, label: str, *, help_text: str) -> int:
    """Draw a button that counts its clicks in the link, and return the count."""
    count = whole_number(name, default=0, least=0, most=10**9)

    def take() -> None:
        keep(name, count + 1, 0)

    st.button(label, key=f"learn_{name}_again", on_click=take, help=help_text)
    return count
