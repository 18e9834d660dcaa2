"""The Sizing page without a browser: the product manager's question, the nearest yes, and what it says of other models."""

import json
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from ldpcore.cli import main
from ldpcore.sizing import Case, size
from ldpcore.trips.cities import city_domain

ROOT = Path(__file__).resolve().parents[2]
LONDON = {"city": "london", "devices": "400000", "resolution": "8", "count": "500", "error": "20"}


def open_page(**params: str) -> AppTest:
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120)
    for name, value in params.items():
        app.query_params[name] = value
    app.run()
    return app.switch_page("pages/sizing.py").run()


def page_text(app: AppTest) -> str:
    texts = [element.proto.body for element in app.get("html")]
    return " ".join(texts + [element.value for element in (*app.markdown, *app.caption)])


@pytest.fixture(scope="module")
def app() -> AppTest:
    return open_page(**LONDON)


def button(app: AppTest, label: str, number: int):
    return [entry for entry in app.button if entry.label == label][number]


def test_the_product_manager_reads_no_and_the_nearest_yes(app: AppTest) -> None:
    assert not app.exception
    assert not app.error
    text = page_text(app)
    assert (
        "No: a cell of 500 devices among 400,000 cannot be known to ±20 % at ε = 2; its error would be ±108 %."
        in text
    )
    assert "5.14 instead of 2" in text
    assert "2,704 instead of 500" in text
    assert "11,604,987 instead of 400,000" in text
    assert "**worse**" in text
    assert "In London, " in text


def test_one_click_makes_the_nearest_yes_the_scenario() -> None:
    app = open_page(**LONDON)
    button(app, "Use this", 0).click().run()
    assert not app.exception
    assert app.session_state["scenario"].epsilon == 5.14
    assert "Yes: a cell of 500 devices among 400,000 can be known to ±20 % at ε = 5.14" in page_text(app)
    assert app.query_params["epsilon"] in ("5.14", ["5.14"])


def test_the_smallest_count_and_the_error_can_be_taken_over() -> None:
    app = open_page(**LONDON)
    choices = [entry.label for entry in app.button]
    assert choices.count("Use this") >= 3
    app.number_input(key="sizing_count").set_value(3_000).run()
    assert "Yes: a cell of 3,000 devices" in page_text(app)
    app.number_input(key="sizing_error").set_value(1.0).run()
    assert "No: a cell of 3,000 devices" in page_text(app)
    assert app.query_params["count"] in ("3000", ["3000"])


def test_the_command_on_the_page_gives_the_same_verdict(app: AppTest, capsys) -> None:
    words = next(entry.value for entry in app.code if " size " in entry.value).split()
    assert main([*words[3:], "--json"]) == 0
    verdict = json.loads(capsys.readouterr().out)
    case = Case(
        devices=400_000, cells=city_domain("london", 8).size, epsilon=2.0, target_error=0.2, count=500.0
    )
    assert verdict["epsilon_needed"] == pytest.approx(size(case).epsilon_needed)
    assert verdict["affordable"] is False


def test_other_models_stand_beside_with_their_own_guarantee(app: AppTest) -> None:
    text = page_text(app)
    for words in (
        "not comparable as numbers",
        "none is ranked",
        "no one has to be trusted",
        "sees every true value",
        "does not collude",
        "numeric clone bound",
    ):
        assert words in text


def test_the_three_conditions_end_in_a_sentence() -> None:
    app = open_page(**{**LONDON, "epsilon": "8"})
    assert "Local privacy is not the right tool as long as" in page_text(app)
    app.checkbox(key="sizing_no_party").check()
    app.checkbox(key="sizing_client").check().run()
    assert "All three hold" in page_text(app)


def test_a_month_adds_up() -> None:
    app = open_page(**LONDON, memo="0")
    app.number_input(key="sched_reports_a_day").set_value(288).run()
    assert "288 reports a day" in page_text(app)
    assert "**17,280** a month" in page_text(app)
    app.toggle(key="sched_memo").set_value(True).run()
    # Thirty days can touch six epochs of seven days, each with ten first answers.
    assert "6 × 10 cells × ε 2 = 120, **120** in any month" in page_text(app)


def test_more_wanted_than_there_are_is_answered_at_the_control() -> None:
    app = open_page(city="london", devices="1000", resolution="7", count="5000")
    assert not app.exception
    assert any("more than the 1,000 that report" in entry.value for entry in app.error)


def test_a_randomiser_without_closed_form_is_answered_at_its_control() -> None:
    app = open_page(**LONDON, mechanism="hr", options="blocks=2")
    assert not app.exception
    assert any("depends on what other cells hold" in entry.value for entry in app.error)
