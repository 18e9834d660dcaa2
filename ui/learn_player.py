"""A picture that plays: redraws, a report's way, an observer who adds up days.

A Streamlit component of one small script. All frames travel at once and play in the browser, so nothing is
asked of the server while they do; each frame has its sentence, and the page a table of all of them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st

from ldpcore.errors import ParameterError
from ui.palettes import tokens as tokens_of

if TYPE_CHECKING:
    from streamlit.components.v2.types import ComponentRenderer

_FOLDER = Path(__file__).resolve().parent


@cache
def _component() -> ComponentRenderer:
    """Register the component once per process, at the first picture and not at import."""
    return st.components.v2.component(
        "ldp_atlas_lesson_player",
        js=(_FOLDER / "learn_player.js").read_text(encoding="utf-8"),
        css=(_FOLDER / "learn_player.css").read_text(encoding="utf-8"),
    )


def player(
    svg: str,
    *,
    key: str,
    texts: Sequence[str],
    label: str,
    frame_word: str,
    dark: bool,
    start: int = 0,
    interval_ms: int = 550,
) -> str:
    """Draw a picture with a play button and a slider over its frames.

    Parameters
    ----------
    svg
        One or more SVG elements, marked as `learn_player.js` reads them; made of numbers and fixed words.
    key
        Constant name of this picture.
    texts
        One sentence a frame.
    label
        What the picture shows, for who can't see it.
    frame_word
        What a frame is called: "Redraw", "Day".
    dark
        Whether the page is dark.
    start
        Frame shown first.
    interval_ms
        Time between frames while it plays.

    Returns
    -------
    str
        16 hex digits that change with anything the picture shows.

    Raises
    ------
    ParameterError
        If there are no frames.
    """
    if not texts:
        raise ParameterError("texts", "A picture that plays needs at least one frame.")
    colours = tokens_of(dark=dark)
    version = hashlib.sha256("\n".join((svg, *texts)).encode()).hexdigest()[:16]
    _component()(
        key=key,
        data={
            "svg": svg,
            "texts": list(texts),
            "label": label,
            "frameWord": frame_word,
            "sliderLabel": f"{frame_word} shown",
            "accent": colours.accent,
            "onAccent": colours.page,
            "text": colours.text,
            "start": start,
            "interval": interval_ms,
            "version": version,
        },
    )
    return version
