"""The Mechanisms page without a browser: its answer, its table, its adviser, its cards, and bad options."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from ldpcore.comparison import compare_mechanisms
from ldpcore.mechanisms import MECHANISMS
from ldpcore.population import population_of
from ldpcore.scenario import run
from ldpcore.settings import Scenario
from tests.app.test_explore_page import SMALL, errors, link, open_app, page_text
from ui.headline import headline
from ui.mechanism_words import FORMULAS, answer
from ui.report_picture import READINGS

SCENARIO = Scenario(devices=200_000, resolution=6, floor=50)
PAGE = str(Path(__file__).resolve().parents[2] / "pages" / "mechanisms.py")


def open_page(**params: str) -> AppTest:
    app = open_app(**{**SMALL, **params})
    return app.switch_page("pages/mechanisms.py").run()


def expected(**changes: object) -> str:
    scenario = replace(SCENARIO, **changes)  # type: ignore[arg-type]
    true = population_of(scenario).true_counts
    return answer(
        compare_mechanisms(
            true, epsilon=scenario.epsilon, chosen=scenario.mechanism, options=dict(scenario.options)
        )
    )


def keep_open(app: AppTest, *panels: str) -> AppTest:
    """Open panels that are drawn on request, for the next run; AppTest doesn't send them back by itself."""
    for panel in panels:
        app.session_state[panel] = True
    return app


def opened(app: AppTest, *panels: str) -> AppTest:
    return keep_open(app, *panels).run()


@pytest.fixture(scope="module")
def app() -> AppTest:
    return open_page()


def test_the_page_answers_for_its_scenario(app: AppTest) -> None:
    assert not app.exception
    assert not app.error
    assert expected() in page_text(app)
    assert link(app) == SMALL


def test_the_page_runs_alone() -> None:
    app = AppTest.from_file(PAGE, default_timeout=120).run()
    assert not app.exception
    assert "has the smallest error" in page_text(app)


def test_the_scenario_stays_when_the_page_is_switched() -> None:
    other = open_app(**SMALL, epsilon="0.7", mechanism="grr")
    other.switch_page("pages/mechanisms.py").run()
    assert expected(epsilon=0.7, mechanism="grr") in page_text(other)
    assert link(other) == {**SMALL, "epsilon": "0.7", "mechanism": "grr"}
    other.switch_page("pages/explore.py").run()
    assert headline(run(replace(SCENARIO, epsilon=0.7, mechanism="grr"))) in page_text(other)


def test_the_table_is_the_twin_of_the_picture() -> None:
    app = opened(open_page(), "open_mechanism_table", "open_curves")
    assert not app.exception
    table = next(element.value for element in app.dataframe if "randomiser" in element.value)
    assert sorted(table["name"]) == sorted(MECHANISMS)
    population = population_of(SCENARIO)
    compared = compare_mechanisms(population.true_counts, epsilon=2.0, chosen="oue")
    for row in table.itertuples():
        entry = compared.entries[row.name]
        assert row.error_typical == pytest.approx(entry.error_typical, rel=1e-3)
        assert row.measured_low <= row.measured_mean <= row.measured_high
        assert row.epsilon_effective <= 2.0
        assert row.guess_success == pytest.approx(entry.guess.success)
    # One of the dots is the run that Explore shows.
    shown = run(SCENARIO).figures.rmse
    own = table.set_index("name").loc["oue"]
    assert own.measured_low <= shown * 1.001
    assert shown <= own.measured_high * 1.001
    curve = next(element.value for element in app.dataframe if "least possible" in element.value)
    at_two = curve.set_index("ε").loc[2.0]
    assert at_two["oue"] == pytest.approx(compared.entries["oue"].error_typical, rel=1e-3)
    assert (curve.drop(columns=["ε"]).min(axis=1) >= 0.999 * curve["least possible"]).all()


def test_times_are_measured_only_when_asked() -> None:
    app = opened(open_page(), "open_mechanism_table")
    table = next(element.value for element in app.dataframe if "randomiser" in element.value)
    assert "server_us" not in table
    keep_open(app, "open_mechanism_table").button(key="measure_times").click().run()
    table = next(element.value for element in app.dataframe if "randomiser" in element.value)
    assert (table["server_us"] > 0).all()
    assert (table["device_us"] > 0).all()
    assert "best of three runs on one core" in page_text(app)


def test_the_adviser_follows_the_largest_report() -> None:
    app = open_page()
    bold = next(element.value for element in app.markdown if element.value.startswith("**Take"))
    assert "3e^ε + 2 = 24.2 cells" in page_text(app)
    app.selectbox(key="wish_report").set_value("4").run()
    limited = next(element.value for element in app.markdown if element.value.startswith("**Take"))
    assert limited != bold
    assert link(app)["report"] == "4"
    again = open_page(report="4")
    assert limited in page_text(again)


def test_the_adviser_asks_for_times_before_it_judges_the_server() -> None:
    app = open_page(server="60")
    assert not any(element.value.startswith("**Take") for element in app.markdown)
    app.button(key="measure_for_advice").click().run()
    assert not app.exception
    assert any(element.value.startswith("**Take") for element in app.markdown)


def test_a_card_makes_its_randomiser_the_scenarios() -> None:
    app = opened(open_page(mechanism="hr", options="blocks=2"), "open_cards")
    assert not app.exception
    text = page_text(app)
    for mechanism in MECHANISMS.values():
        assert mechanism.summary.split(";")[0].split("'")[0] in text.replace("&#x27;", "'")
    assert text.count("after a header of 44") == len(MECHANISMS)
    assert app.button(key="use_hr").disabled
    app.button(key="use_ss").click().run()
    assert not app.exception
    assert link(app)["mechanism"] == "ss"
    assert "options" not in link(app)
    assert expected(mechanism="ss") in page_text(app)


def test_every_mechanism_has_formulas_and_a_reading() -> None:
    assert set(FORMULAS) == set(MECHANISMS)
    assert set(READINGS) == set(MECHANISMS)


@pytest.mark.parametrize(
    ("mechanism", "options", "words"),
    [
        ("hr", "blocks=3", "power of two"),
        ("ss", "k=100000", "k must be"),
        ("olh", "g=1", "g must be"),
        ("the", "theta=0.2", "theta must be"),
    ],
)
def test_impossible_options_are_answered_and_the_page_goes_on(
    mechanism: str, options: str, words: str
) -> None:
    app = open_page(mechanism=mechanism, options=options)
    assert not app.exception
    assert len(errors(app)) == 1
    assert words in errors(app)[0]
    assert expected(mechanism=mechanism) in page_text(app)


def test_options_are_set_and_mended_at_their_control() -> None:
    app = open_page(mechanism="hr")
    app.text_input(key="options_text").set_value("blocks=2").run()
    assert link(app)["options"] == "blocks=2"
    assert expected(mechanism="hr", options=(("blocks", 2),)) in page_text(app)
    app.text_input(key="options_text").set_value("blocks").run()
    assert "name=value" in errors(app)[0]
    app.text_input(key="options_text").set_value("").run()
    assert not app.error
    assert "options" not in link(app)
    app.text_input(key="options_text").set_value("blocks=4").run()
    app.selectbox(key="set_mechanism").set_value("oue").run()
    assert not app.error
    assert "options" not in link(app)


@pytest.mark.parametrize("value", [0.0, 25.0])
def test_an_impossible_epsilon_is_answered_and_the_page_goes_on(value: float) -> None:
    app = open_page()
    app.number_input(key="set_epsilon").set_value(value).run()
    assert not app.exception
    assert len(errors(app)) == 1
    assert expected() in page_text(app)


@pytest.mark.parametrize(
    ("epsilon", "devices"), [("0.001", "1"), ("20", "10000000000"), ("0.001", "10000000000")]
)
def test_the_ends_of_the_range(epsilon: str, devices: str) -> None:
    app = opened(
        open_page(epsilon=epsilon, devices=devices, resolution="5"), "open_mechanism_table", "open_curves"
    )
    assert not app.exception
    assert not app.error
    assert not any(math.isnan(value) for value in app.dataframe[0].value["error_typical"])


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_every_mechanism_works_on_explore(mechanism: str) -> None:
    app = open_app(**SMALL, mechanism=mechanism)
    assert not app.exception
    assert not app.error
    assert headline(run(replace(SCENARIO, mechanism=mechanism))) in page_text(app)


def test_blocks_of_hadamard_response_work_on_explore() -> None:
    app = open_app(**SMALL, mechanism="hr", options="blocks=4", cell="862a1072fffffff")
    assert not app.exception
    scenario = replace(SCENARIO, mechanism="hr", options=(("blocks", 4),))
    assert headline(run(scenario)) in page_text(app)
    opened(app, "open_cell", "open_table", "open_flow", "open_download")
    assert not app.exception


def test_a_wish_of_the_link_that_there_is_not_is_named_on_the_page() -> None:
    app = open_page(prefer="magic")
    assert not app.exception
    assert any("The setting prefer of the link must be" in entry.value for entry in app.main.warning)
