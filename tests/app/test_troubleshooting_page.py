"""The troubleshooting page without a browser: every failure can be made to happen, and its figures are the core's."""

import re
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from ldpcore.faults import invert_wrongly
from ldpcore.faults_device import repeat_reports
from ldpcore.scenario import run
from ldpcore.schedule import Schedule
from ldpcore.settings import Scenario
from ldpcore.trips.read import read_trips
from ui.trouble_words import TROUBLES

ROOT = Path(__file__).resolve().parents[2]
SMALL = {"city": "tokyo", "devices": "100000", "resolution": "6"}
SCENARIO = Scenario(city="tokyo", devices=100_000, resolution=6)
VARIANTS = [variant for trouble in TROUBLES.values() for variant in trouble.variants]


def open_page(**params: str) -> AppTest:
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120)
    for name, value in {**SMALL, **params}.items():
        app.query_params[name] = value
    app.run()
    return app.switch_page("pages/troubleshooting.py").run()


def texts(app: AppTest) -> str:
    return " ".join(
        [e.proto.body.replace("\N{NO-BREAK SPACE}", " ") for e in app.get("html")]
        + [e.value for e in app.markdown]
    )


def headline(app: AppTest) -> str:
    return re.findall(r'<h1 class="headline">(.*?)</h1>', texts(app))[0]


def param(app: AppTest, name: str) -> str:
    value = app.query_params.get(name, "")
    return value[0] if isinstance(value, list) else value


@pytest.mark.parametrize("off", ["", "1"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_every_failure_opens_from_its_link_on_and_off(variant: str, off: str) -> None:
    app = open_page(fault=variant, off=off)
    assert not app.exception
    assert not app.error
    text = texts(app)
    for words in ("Cause", "How it is noticed", "Remedy", "What the guide says"):
        assert words in text
    assert "anonym" not in text.lower()
    assert len(headline(app)) > 30
    assert bool(app.toggle(key="trouble_on").value) == (off == "")
    assert param(app, "fault") == ("" if variant == "flat" else variant)
    assert param(app, "off") == off


def test_the_switch_mends_and_is_in_the_link() -> None:
    app = open_page()
    found = invert_wrongly(run(SCENARIO), "raw")
    assert headline(app).startswith("Every cell looks equally busy")
    assert f"{round(found.offset, -2):,.0f}" in headline(app)
    app.toggle(key="trouble_on").set_value(False).run()
    assert headline(app).startswith("Mended")
    assert param(app, "off") == "1"
    app.toggle(key="trouble_on").set_value(True).run()
    assert param(app, "off") == ""


def test_another_failure_is_chosen_and_lands_in_the_link() -> None:
    app = open_page()
    app.selectbox(key="trouble_fault").set_value("sparse").run()
    assert not app.exception
    assert param(app, "fault") == "sparse"
    assert "Sparse cells swing" in headline(app)
    assert "One sparse cell, redrawn" in texts(app)
    app.radio(key="trouble_variant_sparse").set_value("sparse.bar").run()
    assert not app.exception
    assert param(app, "fault") == "sparse.bar"


@pytest.mark.parametrize("fault", ["nonsense", "flat.nothing", "../x", "<b>"])
def test_a_failure_that_is_none_opens_the_first(fault: str) -> None:
    app = open_page(fault=fault)
    assert not app.exception
    assert app.selectbox(key="trouble_fault").value == "flat"


@pytest.mark.parametrize("name", ["grr", "oue", "she", "ss", "hr"])
@pytest.mark.parametrize("fault", ["flat.scheme", "loss", "data"])
def test_each_kind_of_randomiser_has_a_story(name: str, fault: str) -> None:
    app = open_page(mechanism=name, fault=fault)
    assert not app.exception
    assert not app.error
    if name == "she" and fault != "loss":
        assert "no single pair of probabilities" in texts(app)


def test_shrinking_is_not_called_equally_busy() -> None:
    app = open_page(mechanism="olh", fault="flat.epsilon")
    assert headline(app).startswith("Every count shrinks to")


def test_the_loss_is_that_of_the_schedule() -> None:
    app = open_page(fault="loss.own", reports_a_day="24")
    found = repeat_reports(run(SCENARIO), Schedule(reports_a_day=24))
    week = found.table.line("week").cells
    assert f"ε {week[1].measured:g} instead of {week[0].measured:g}" in headline(app)
    assert week[1].measured == 24 * 7 * 2
    often = open_page(fault="loss", reports_a_day="24")
    assert f"{288 * 7 * 2:,}" in headline(often)


def test_a_finer_grid_than_the_page_shows_stays_usable() -> None:
    app = open_page(city="tokyo", devices="100000", resolution="9", fault="noisy")
    assert not app.exception
    assert "at resolution 9" in headline(app)


def test_the_figures_can_be_taken_along() -> None:
    app = open_page(fault="loss")
    labels = [entry.label for entry in app.get("download_button")]
    assert "Figures (CSV)" in labels
    assert "Cap (CSV)" in labels


@pytest.mark.parametrize("variant", ["flat", "noisy", "sparse", "loss", "data"])
def test_a_file_of_the_users_shows_every_failure_with_a_warning(variant: str) -> None:
    table = read_trips(ROOT / "tests/trips/files/oslo_bysykkel.csv")
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120)
    app.session_state["own_trips"] = table
    for name, value in {"trips": table.digest, "city": "", "resolution": "7", "fault": variant}.items():
        app.query_params[name] = value
    app.run()
    app.switch_page("pages/troubleshooting.py").run()
    assert not app.exception
    assert not app.error
    assert any("they are not private" in entry.value for entry in app.warning)
    assert "devices" not in headline(app)


def test_what_a_link_says_wrongly_is_named_on_the_page() -> None:
    app = open_page(fault="nonsense", off="maybe")
    assert not app.exception
    said = " ".join(entry.value for entry in app.main.warning)
    assert "The setting fault of the link must be one of the failures listed" in said
    assert "The setting off of the link must be 0 or 1" in said
