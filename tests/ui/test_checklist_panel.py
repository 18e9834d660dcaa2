"""The checklist as a panel: run on a click, evidence shown, out of date when settings change."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest

from ldpcore.checklist import ITEMS, Check
from ui.checklist_panel import checks_html


def panel() -> None:
    """A page of its own."""
    from dataclasses import replace

    import streamlit as st

    from ldpcore.schedule import Schedule
    from ldpcore.settings import DEFAULT
    from ui.checklist_panel import checklist_panel

    small = {"devices": 2000, "resolution": 5, "mechanism": "grr", "floor": 20}
    memo = st.toggle("memo", value=True)
    st.session_state["schedule"] = Schedule(memo=memo)
    checklist_panel(replace(DEFAULT, **small))


def text(app: AppTest) -> str:
    return " ".join(element.proto.body for element in app.get("html"))


def test_the_panel_runs_on_a_click_and_knows_when_it_is_out_of_date() -> None:
    app = AppTest.from_function(panel, default_timeout=120).run()
    assert "figures differ from run to run" in text(app)
    assert not any(item in text(app) for item in ITEMS)
    # What ships fails with probability at most 1e-9.
    app.button(key="checklist_run").click().run()
    assert not app.exception
    assert "All 6 checks passed." in text(app)
    assert text(app).count("Passed") == 6
    app.toggle[0].set_value(False).run()
    assert "other settings" in app.warning[0].value
    app.button(key="checklist_run").click().run()
    assert not app.warning
    # A phone that doesn't remember keeps no cap either.
    assert "2 checks failed." in text(app)
    assert text(app).count("Failed") == 2


def test_evidence_is_shown_as_text() -> None:
    shown = checks_html([Check("<b>item</b>", passed=False, evidence="a < b & c")])
    assert "&lt;b&gt;item" in shown
    assert "a &lt; b &amp; c" in shown
    assert "Failed" in shown
