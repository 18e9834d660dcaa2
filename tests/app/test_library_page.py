"""The library without a browser: one click opens a case, two stand side by side, and what is saved comes back."""

import csv
import io
import json
from pathlib import Path
from urllib.parse import parse_qs

import pytest
from streamlit.testing.v1 import AppTest

from ldpcore.library import LIBRARY, find_named
from ldpcore.scenario import run
from ldpcore.scenario_file import ScenarioFile, read_scenario_file
from ldpcore.schedule import Schedule
from ldpcore.settings import Scenario
from ldpcore.side_by_side import comparison_csv, side_of
from ldpcore.trips.read import read_trips
from ui.library_store import from_token, link_token

ROOT = Path(__file__).resolve().parents[2]
SMALL = {"city": "tokyo", "devices": "50000", "resolution": "5"}
EVIL = "<img src=x onerror=alert(1)> **b** [l](http://h) $x$"


def open_app(page: str | None = None, **params: str) -> AppTest:
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120)
    for name, value in params.items():
        app.query_params[name] = value
    app.run()
    return app.switch_page(f"pages/{page}.py").run() if page else app


def texts(app: AppTest) -> str:
    return " ".join(
        [e.proto.body.replace("\N{NO-BREAK SPACE}", " ") for e in app.get("html")]
        + [e.value for e in app.markdown]
    )


def param(app: AppTest, name: str) -> str:
    value = app.query_params.get(name, "")
    return value[0] if isinstance(value, list) else value


def open_library(**params: str) -> AppTest:
    return open_app("library", **{**SMALL, "second": "library.districts", **params})


@pytest.mark.parametrize("named", LIBRARY, ids=lambda named: named.slug)
def test_one_click_on_the_start_page_opens_a_case(named) -> None:
    app = open_app(**SMALL)
    assert named.sentence.replace("'", "&#x27;") in texts(app)
    app.button(key=f"strip_{named.slug}").click().run()
    assert not app.exception
    assert app.session_state["scenario"] == named.scenario
    assert app.session_state["schedule"] == named.schedule
    params = {name: param(app, name) for name in app.query_params}
    assert Scenario.from_params(params)[0] == named.scenario


def test_the_comparison_shows_the_figures_of_the_core() -> None:
    app = open_library()
    assert not app.exception
    text = texts(app)
    file = ScenarioFile(name="x", scenario=Scenario(city="tokyo", devices=50_000, resolution=5))
    mine, theirs = side_of(file, run), side_of(find_named("districts").to_file(), run)
    means = [sum(figures.published for figures in side.draws) / 20 for side in (mine, theirs)]
    assert f"about {means[0]:.0f} of 12 cells at ε = 2" in text
    assert f"about {means[1]:.0f} of 12 cells at ε = 2" in text
    assert "Optimised unary encoding" in text
    assert "Generalized randomised response" in text
    assert "What changes in the promise" in text
    assert "City" not in text.split("What changes in the promise")[0].split("Settings that differ")[1]


def test_the_pair_is_in_the_link_and_comes_back_from_it() -> None:
    app = open_library(first="library.night", second="library.unaffordable")
    assert "A (Night-time demand)" in texts(app)
    assert "B (Not affordable)" in texts(app)
    app.selectbox(key="pair_first").set_value("library.coverage").run()
    assert param(app, "first") == "library.coverage"
    again = open_library(first=param(app, "first"), second=param(app, "second"))
    assert "A (Coverage map)" in texts(again)


def test_a_saved_scenario_travels_in_the_link_with_its_name_and_schedule() -> None:
    file = ScenarioFile(
        name=EVIL,
        scenario=Scenario(city="tokyo", devices=20_000, resolution=5, epsilon=4.0),
        schedule=Schedule(reports_a_day=288, memo=False),
    )
    token = link_token(file)
    assert from_token(token) == (file, [])
    app = open_library(first=token)
    assert not app.exception
    text = texts(app)
    assert "<img src=x" not in text
    assert "&lt;img src=x" in text
    assert parse_qs(param(app, "first"))["epsilon"] == ["4.0"]
    assert "105,120" not in text
    assert "420,480" in text  # 365 days of 288 fresh reports at 4


@pytest.mark.parametrize(
    "token", ["nonsense", "name=", "library.nothing", "name=x&" + "a=1&" * 100, "x" * 5000, "name=%20"]
)
def test_a_pair_that_cannot_be_read_falls_back(token: str) -> None:
    app = open_library(second=token)
    assert not app.exception
    assert app.warning
    assert "B (Coverage map)" in texts(app)


def test_a_setting_of_the_pair_that_cannot_be_used_is_named() -> None:
    app = open_library(second="name=Mine&epsilon=99&city=tokyo&resolution=5&devices=5000")
    assert not app.exception
    assert any("epsilon" in entry.value for entry in app.warning)
    assert "B (Mine)" in texts(app)


def test_a_pair_that_needs_a_file_says_so() -> None:
    app = open_library(second="name=Mine&trips=" + "ab" * 32)
    assert not app.exception
    assert any("needs its trip file" in entry.value for entry in app.error)


def save(app: AppTest, name: str, about: str = "") -> AppTest:
    app.text_input(key="library_name").set_value(name)
    app.text_input(key="library_about").set_value(about)
    return next(entry for entry in app.button if entry.label == "Save").click().run()


def test_a_scenario_is_saved_compared_renamed_opened_and_deleted() -> None:
    app = save(open_library(epsilon="3.0"), EVIL, about="<b>why</b>")
    assert not app.exception
    assert "&lt;b&gt;why" in texts(app)
    assert "<b>why" not in texts(app)
    # Another scenario in force, so that opening has something to do.
    app.button(key="library_open_districts").click().run()
    assert app.session_state["scenario"].epsilon == 2.0
    token = next(o for o in app.session_state["library_saved"].values()).scenario.to_params()
    assert token["epsilon"] == "3.0"
    app.selectbox(key="pair_second").set_value(link_token(app.session_state["library_saved"][EVIL])).run()
    assert parse_qs(param(app, "second"))["epsilon"] == ["3.0"]
    app.text_input(key=f"saved_name_0_{EVIL}").set_value("Plain").run()
    app.button(key="saved_rename_0").click().run()
    assert list(app.session_state["library_saved"]) == ["Plain"]
    assert "B (Plain)" in texts(app)
    app.button(key="saved_open_0").click().run()
    assert app.session_state["scenario"].epsilon == 3.0
    app.button(key="saved_delete_0").click().run()
    assert not app.exception
    assert app.session_state["library_saved"] == {}
    assert "B (Coverage map)" in texts(app)


@pytest.mark.parametrize(
    ("name", "words"), [("", "needs a name"), ("   ", "needs a name"), ("Mine", "already")]
)
def test_a_name_that_cannot_be_used_is_answered(name: str, words: str) -> None:
    app = save(save(open_library(), "Mine"), name)
    assert not app.exception
    assert any(words in entry.value for entry in app.error)
    assert list(app.session_state["library_saved"]) == ["Mine"]


def upload(app: AppTest, content: bytes) -> AppTest:
    app.file_uploader(key="library_upload_0").set_value(("scenario.json", content, "application/json"))
    return app.run()


def test_a_file_is_added_beside_its_own_name() -> None:
    file = find_named("districts").to_file()
    app = upload(save(open_library(), file.name), file.to_json().encode())
    assert not app.exception
    assert list(app.session_state["library_saved"]) == [file.name, f"{file.name} (2)"]
    assert app.session_state["library_saved"][f"{file.name} (2)"].scenario == file.scenario


@pytest.mark.parametrize(
    ("content", "field"),
    [
        (b"not json", "file"),
        (b"{}", "format"),
        (b'{"format":"ldp-atlas-scenario","version":7}', "version"),
        (b'{"format":"ldp-atlas-scenario","version":1,"name":"x","scenario":{"epsilon":"2"}}', "epsilon"),
    ],
)
def test_a_file_that_is_none_is_refused_with_the_field_named(content: bytes, field: str) -> None:
    app = upload(open_library(), content)
    assert not app.exception
    assert any(entry.value.startswith(f"{field}") for entry in app.error)
    assert app.session_state["library_saved"] == {}


def test_what_is_downloaded_is_what_the_core_writes() -> None:
    app = open_library(first="library.districts", second="library.unaffordable")
    labels = {entry.label for entry in app.get("download_button")}
    assert {"Comparison (CSV)", "Comparison (JSON)", "Scenario A (JSON)", "Scenario B (JSON)"} <= labels
    sides = [side_of(find_named(slug).to_file(), run) for slug in ("districts", "unaffordable")]
    lines = list(csv.DictReader(io.StringIO(comparison_csv(*sides).decode())))
    published = next(line for line in lines if line["key"] == "published")
    assert f"{float(published['a']):.2f}"[:4] in texts(app)


def test_words_of_a_review_are_saved_and_come_back() -> None:
    app = open_library()
    app.session_state["statements"] = {"notes": "Two pilots."}
    app = save(app.run(), "Mine")
    file = app.session_state["library_saved"]["Mine"]
    assert json.loads(file.to_json())["statements"] == {"notes": "Two pilots."}
    assert read_scenario_file(file.to_json()) == file
    app.session_state["statements"] = {}
    app.run()
    app.button(key="saved_open_0").click().run()
    assert app.session_state["statements"] == {"notes": "Two pilots."}


def test_a_scenario_on_a_file_travels_without_a_city() -> None:
    scenario = Scenario(city=None, area="10.6,59.8,10.9,60.0", trips="ab" * 32, timezone="Europe/Oslo")
    file = ScenarioFile(name="Oslo", scenario=scenario)
    assert from_token(link_token(file)) == (file, [])


def test_no_link_opens_a_file_of_the_server(tmp_path) -> None:
    trips = tmp_path / "trips.csv"
    rows = [f"{i},59.{900 + i % 20},10.{700 + i % 30}" for i in range(50)]
    trips.write_text("trip_id,start_lat,start_lng\n" + "\n".join(rows) + "\n", encoding="utf-8")
    outline = tmp_path / "outline.geojson"
    ring = [[10.6, 59.8], [10.9, 59.8], [10.9, 60.0], [10.6, 60.0], [10.6, 59.8]]
    outline.write_text(json.dumps({"type": "Polygon", "coordinates": [ring]}), encoding="utf-8")
    table = read_trips(trips)
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120)
    app.session_state["own_trips"] = table
    scenario = Scenario(city=None, trips=table.digest, area=str(outline), resolution=6)
    app.query_params["first"] = link_token(ScenarioFile(name="Mine", scenario=scenario))
    app.run()
    app.switch_page("pages/library.py").run()
    assert not app.exception
    assert any("An area is written" in entry.value for entry in app.error)
