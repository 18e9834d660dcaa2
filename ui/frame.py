"""The frame of every page: one style sheet and the icon, both from this server."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final

import streamlit as st

_FOLDER: Final = Path(__file__).resolve().parent


@cache
def _style() -> str:
    return (_FOLDER / "style.css").read_text(encoding="utf-8")


def apply_style() -> None:
    """Add the product's mark and style sheet to the page."""
    st.logo(str(_FOLDER / "logo.svg"), size="medium")
    st.html(f"<style>{_style()}</style>")


def page_icon() -> str:
    """Return the path of the page's icon; a named icon would be fetched from a font host."""
    return str(_FOLDER / "icon.svg")
