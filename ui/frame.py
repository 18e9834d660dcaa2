"""The frame of every page: one style sheet and the icon, both from this server."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final

import streamlit as st
from streamlit.runtime.pages_manager import PagesManager

_FOLDER: Final = Path(__file__).resolve().parent


@cache
def _style() -> str:
    return "".join((_FOLDER / name).read_text(encoding="utf-8") for name in ("style.css", "learn.css"))


def apply_style() -> None:
    """Add the product's mark and style sheet to the page."""
    st.logo(str(_FOLDER / "logo.svg"), size="medium")
    st.html(f"<style>{_style()}</style>")


def page_icon() -> str:
    """Return the path of the page's icon; a named icon would be fetched from a font host."""
    return str(_FOLDER / "icon.svg")


def require_frame() -> None:
    """Start again at app.py where a page runs without it.

    Streamlit takes a folder named pages for its older kind of app until app.py has called st.navigation, so a
    link to a page that is the first request of a server would open the bare page. In a test that runs a page
    alone there is no app.py to start at, and nothing happens.
    """
    if PagesManager.uses_pages_directory:
        PagesManager.uses_pages_directory = False
        st.rerun()
