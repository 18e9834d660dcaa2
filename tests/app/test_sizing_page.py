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
    texts = [element.proto.body.replace("\N{NO-BREAK SPACE}", " ") for element in app.get("html")]
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


def test_more_wanted_than_there_are_is_answered_in_the_main_column() -> None:
    app = open_page(city="helsinki", devices="400", count="500")
    assert not app.exception
    assert (
        "No: a cell of 500 cannot exist among 400 devices; the nearest question is a cell of all 400."
        in page_text(app)
    )
    assert "The formulas with these numbers" in [entry.label for entry in app.expander]
    [ask] = [entry for entry in app.button if entry.label == "Ask for a cell of 400"]
    ask.click().run()
    assert not app.exception
    assert "a cell of 400 devices among 400 can" in page_text(app)
    assert app.query_params["count"] in ("400", ["400"])


def test_enough_devices_for_the_cell_are_one_click_away() -> None:
    app = open_page(city="helsinki", devices="400", count="500", hour="8")
    [more] = [entry for entry in app.button if entry.label.startswith("Raise the devices to ")]
    more.click().run()
    assert not app.exception
    assert "cannot exist" not in page_text(app)
    assert "a cell of 500 devices among 5" in page_text(app)


@pytest.mark.parametrize(
    ("count", "error"), [("-5", "abc"), ("1e18", "0"), ("0", "nan"), ("<b>x", "inf"), ("9" * 40, "-1")]
)
def test_what_a_link_says_wrongly_is_named_on_the_page(count: str, error: str) -> None:
    app = open_page(**LONDON | {"count": count, "error": error})
    assert not app.exception
    said = [entry.value for entry in app.main.warning]
    assert len(said) == 2
    assert "setting count of the link must be a whole number" in said[0]
    assert "500 is used" in said[0]
    assert "setting error of the link must be a number from 0.1" in said[1]
    assert "20 is used" in said[1]
    # It stays until the control is moved: a page may run again by itself.
    app.run()
    assert len(app.main.warning) == 2
    app.number_input(key="sizing_count").set_value(700).run()
    assert len(app.main.warning) == 1


def test_a_randomiser_without_closed_form_is_answered_at_its_control() -> None:
    app = open_page(**LONDON, mechanism="hr", options="blocks=2")
    assert not app.exception
    assert any("depends on what other cells hold" in entry.value for entry in app.error)
