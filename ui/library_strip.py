"""The strip under Explore's first screen: the library's scenarios, one click and one sentence each."""

from __future__ import annotations

from html import escape

import streamlit as st

from ldpcore.library import LIBRARY
from ui.controls import heading
from ui.library_store import open_library


def scenario_strip() -> None:
    """Draw a button and a sentence for each scenario of the library."""
    heading("Start from a worked case")
    with st.container(key="strip"):
        columns = st.columns(len(LIBRARY), gap="small")
        for column, named in zip(columns, LIBRARY, strict=True):
            with column:
                st.button(
                    named.name,
                    key=f"strip_{named.slug}",
                    on_click=open_library,
                    args=(named.slug,),
                    width="stretch",
                )
                st.html(f'<p class="quiet">{escape(named.sentence)}</p>')
