"""The guided tour of Explore: five cards, each beside what it explains, for who comes the first time.

A card stands in the page, above or below its subject, so it never covers the map. Which one is shown, and that
somebody switched the tour off, is kept in the browser's own storage; nothing of it reaches the server or the link.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from html import escape
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

import streamlit as st

if TYPE_CHECKING:
    from streamlit.components.v2.types import ComponentRenderer

_SCRIPT: Final = Path(__file__).resolve().parent / "tour.js"


@dataclass(frozen=True, slots=True)
class Stop:
    """One card: its number in the tour, its title and its words."""

    number: int
    title: str
    words: str


STOPS: Final[Mapping[str, Stop]] = MappingProxyType(
    {
        "sentence": Stop(
            1,
            "The answer in one sentence",
            "How many cells can be published, and from which count on a number can be trusted. It changes with every setting.",
        ),
        "privacy": Stop(
            2,
            "Privacy loss, ε",
            "In the panel at the left, which the arrow at the top opens on a phone. Left is more private, right more accurate; "
            "the sentence under it says what that means for 100 phones.",
        ),
        "map": Stop(
            3,
            "Truth, estimate, error",
            "Truth is there because the trips are simulated; a server sees the estimate alone. Hatched cells are not published. "
            "Point at a cell for its numbers, click to pin it.",
        ),
        "figures": Stop(
            4,
            "What happened, and what theory says",
            "Each figure stands beside its prediction. If they differ by more than chance, something is wrong with the code.",
        ),
        "more": Stop(
            5,
            "Look closer",
            "A pinned cell shows how its estimate moves when all coins are tossed again; below, the map's numbers stand in rows. "
            "Learn, in the menu at the top, explains all of it in eight steps.",
        ),
    }
)


@cache
def _component() -> ComponentRenderer:
    return st.components.v2.component("ldp_atlas_tour", js=_SCRIPT.read_text(encoding="utf-8"))


def invitation() -> None:
    """Draw the one line that offers the tour to who has not switched it off, and start its script."""
    _component()(key="tour_script", data={"stops": len(STOPS)})
    st.html(
        '<div class="tour-card" data-stop="0" role="note"><span>New here? Five short stops explain this page.</span>'
        '<span class="tour-buttons"><button type="button" data-tour-action="start">Show me</button>'
        '<button type="button" data-tour-action="off">No, thanks</button></span></div>'
    )


def stop(name: str) -> None:
    """Draw the card of a stop; it takes no room unless the tour is there.

    Parameters
    ----------
    name
        A key of `STOPS`.
    """
    found = STOPS[name]
    last = found.number == len(STOPS)
    back = '<button type="button" data-tour-action="back">Back</button>' if found.number > 1 else ""
    end = "" if last else '<button type="button" data-tour-action="off">End the tour</button>'
    st.html(
        f'<section class="tour-card" data-stop="{found.number}" aria-label="Tour, stop {found.number} of {len(STOPS)}">'
        f"<span><b>{found.number} of {len(STOPS)}. {escape(found.title)}.</b> {escape(found.words)}</span>"
        f'<span class="tour-buttons">{back}<button type="button" data-tour-action="next">{"Done" if last else "Next"}</button>'
        f"{end}</span></section>"
    )


def again() -> None:
    """Draw the small button that shows the tour once more, at the foot of the page."""
    st.html(
        '<p class="quiet tour-again"><button type="button" data-tour-action="start">Show the tour of this page</button></p>'
    )
