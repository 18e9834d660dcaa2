"""The Explore page without a browser: what it says, and how it answers impossible settings."""

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from ldpcore.scenario import run
from ldpcore.settings import Scenario
from ui.headline import headline

ROOT = Path(__file__).resolve().parents[2]
SMALL = {"devices": "200000", "resolution": "6", "floor": "50"}


def open_app(**params: str) -> AppTest:
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    for name, value in params.items():
        app.query_params[name] = value
    return app.run()


def page_text(app: AppTest) -> str:
    texts = [element.proto.body.replace("\N{NO-BREAK SPACE}", " ") for element in app.get("html")]
    return " ".join(texts + [element.value for element in app.markdown])


def link(app: AppTest) -> dict[str, str]:
    return {name: value if isinstance(value, str) else value[0] for name, value in app.query_params.items()}


def errors(app: AppTest) -> list[str]:
    return [element.value for element in app.error]


@pytest.fixture(scope="module")
def app() -> AppTest:
    return open_app(**SMALL)


def test_the_page_opens_on_the_headline_of_its_scenario(app: AppTest) -> None:
    assert not app.exception
    assert not app.error
    assert headline(run(Scenario(devices=200_000, resolution=6, floor=50))) in page_text(app)


def test_the_link_is_the_scenario(app: AppTest) -> None:
    assert link(app) == SMALL


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("set_epsilon", 0.0, "greater than 0"),
        ("set_epsilon", 25.0, "at most 20"),
        ("set_devices", 0, "No data"),
        ("set_floor", -1, "floor must be between 0"),
        ("set_seed", -1, "seed must be between 0"),
    ],
)
def test_an_impossible_setting_is_answered_and_the_page_goes_on(key: str, value: float, words: str) -> None:
    app = open_app(**SMALL)
    app.number_input(key=key).set_value(value).run()
    assert not app.exception
    assert len(errors(app)) == 1
    assert words in errors(app)[0]
    assert headline(run(Scenario(devices=200_000, resolution=6, floor=50))) in page_text(app)


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"epsilon": "none"}, "epsilon"),
        ({"epsilon": "inf"}, "epsilon"),
        ({"city": "atlantis"}, "atlantis"),
        ({"confidence": "1"}, "confidence"),
    ],
)
def test_a_link_that_cannot_be_used_says_what_was_left_out(params: dict[str, str], words: str) -> None:
    app = open_app(**{**SMALL, **params})
    assert not app.exception
    assert any(words in warning.value for warning in app.warning)


def test_a_redraw_keeps_the_trips_and_is_in_the_link() -> None:
    app = open_app(**SMALL)
    next(button for button in app.button if button.label == "Redraw").click().run()
    assert link(app)["draw"] == "1"
    assert headline(run(Scenario(devices=200_000, resolution=6, floor=50, draw=1))) in page_text(app)


def test_the_number_box_moves_the_slider_and_keeps_the_exact_value() -> None:
    app = open_app(**SMALL)
    app.number_input(key="set_epsilon").set_value(1.9).run()
    assert app.select_slider(key="set_epsilon_slider").value == 2.0
    assert link(app)["epsilon"] == "1.9"
    app.select_slider(key="set_epsilon_slider").set_value(4.0).run()
    assert app.number_input(key="set_epsilon").value == 4.0
    assert link(app)["epsilon"] == "4.0"


def test_raw_counts_come_with_the_warning_that_they_are_the_bug() -> None:
    app = open_app(**SMALL, raw="1")
    assert any("bug everyone makes" in warning.value for warning in app.warning)


def test_online_tiles_are_off_and_say_who_learns_what() -> None:
    app = open_app(**SMALL)
    switch = app.toggle(key="switch_tiles")
    assert switch.value is False
    assert "learns" in switch.help
    switch.set_value(True).run()
    assert any("learns your address" in caption.value for caption in app.caption)


def test_a_link_cannot_switch_online_tiles_on() -> None:
    app = open_app(**SMALL, tiles="1")
    assert app.toggle(key="switch_tiles").value is False
    assert "tiles" not in link(app)


def test_presence_without_an_hour_asks_about_noon() -> None:
    app = open_app(**SMALL)
    app.selectbox(key="set_query").set_value("presence").run()
    assert not app.exception
    assert link(app)["hour"] == "12"


@pytest.mark.parametrize("key", ["set_floor", "set_seed", "set_epsilon", "set_devices"])
def test_an_emptied_number_box_is_no_number_and_not_zero(key: str) -> None:
    app = open_app(**SMALL)
    app.number_input(key=key).set_value(None).run()
    assert not app.exception
    assert any("Enter a number" in error for error in errors(app))
    assert headline(run(Scenario(devices=200_000, resolution=6, floor=50))) in page_text(app)


def test_a_setting_that_cannot_be_run_keeps_the_last_run() -> None:
    app = open_app(**SMALL)
    app.selectbox(key="set_mechanism").set_value("she").run()
    app.selectbox(key="set_interval").set_value("exact").run()
    assert not app.exception
    assert any("exact" in error for error in errors(app))
    assert headline(run(Scenario(devices=200_000, resolution=6, floor=50, mechanism="she"))) in page_text(app)


def test_a_pin_of_another_grid_is_dropped() -> None:
    app = open_app(**SMALL, cell="872a1072cffffff")
    assert not app.exception
    assert "cell" not in link(app)


@pytest.mark.parametrize("cell", ["zzz", "<b>", "-1", "ffffffffffffffffffff"])
def test_a_link_with_a_cell_that_is_none_opens(cell: str) -> None:
    app = open_app(**SMALL, cell=cell)
    assert not app.exception
