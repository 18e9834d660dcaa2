"""Small controls the sidebar is built from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape

import streamlit as st


def stop_slider(
    label: str,
    *,
    key: str,
    stops: Sequence[float],
    show: Callable[[float], str],
    ends: tuple[str, str],
    step: float | None,
    number_format: str,
    help_text: str,
) -> None:
    """Draw a slider over named stops with a number box for exact values and words at both ends.

    The number box owns the value (``st.session_state[key]``). The slider shows the nearest
    stop and moves the box, so that an exact value from a link is kept as it is.

    Parameters
    ----------
    label
        Of the control.
    key
        Session key of the value.
    stops
        Values the slider stops at, ascending.
    show
        How a stop reads on the slider.
    ends
        Words at the left and the right end.
    step
        Of the number box; None lets the browser decide.
    number_format
        Of the number box, printf style.
    help_text
        One sentence.
    """
    slider_key = f"{key}_slider"
    value = st.session_state[key]
    nearest = min(stops, key=lambda stop: abs(stop - value)) if value is not None else stops[0]
    if st.session_state.get(slider_key) != nearest:
        st.session_state[slider_key] = nearest

    def take_stop() -> None:
        st.session_state[key] = st.session_state[slider_key]

    wide, narrow = st.columns([0.64, 0.36], vertical_alignment="bottom", gap="small")
    with wide:
        st.select_slider(
            label, options=list(stops), format_func=show, key=slider_key, on_change=take_stop, help=help_text
        )
    with narrow:
        st.number_input(
            f"{label}, exact value",
            value=None,  # an emptied box is no number, not a zero
            key=key,
            step=step,
            format=number_format,
            label_visibility="collapsed",
        )
    left, right = ends
    st.html(f'<div class="ends"><span>{left}</span><span>{right}</span></div>')


def note(text: str) -> None:
    """Write small print; Streamlit's own caption is too pale for its size in the light theme."""
    st.html(f'<p class="quiet">{escape(text)}</p>')


def heading(text: str) -> None:
    """Write a small heading above a group of controls."""
    st.html(f'<div class="group">{text}</div>')
