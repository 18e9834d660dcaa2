"""The Learn page without a browser: eight steps, their links, a class, and every bad link answered in a sentence."""

import math
import re
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from ldpcore.lesson import inversion
from ldpcore.scenario import run
from ldpcore.settings import Scenario

ROOT = Path(__file__).resolve().parents[2]
SMALL = {"devices": "300000", "resolution": "6", "epsilon": "1.5"}


def open_page(**params: str) -> AppTest:
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120)
    for name, value in params.items():
        app.query_params[name] = value
    app.run()
    return app.switch_page("pages/learn.py").run()


def page_text(app: AppTest) -> str:
    texts = [
        element.proto.body.replace("\N{NO-BREAK SPACE}", " ")
        for element in app.get("html")
        if "<style>" not in element.proto.body
    ]
    return " ".join(texts + [element.value for element in (*app.markdown, *app.caption)])


def headline(app: AppTest) -> str:
    found = re.search(r"<h1[^>]*>(.*?)</h1>", page_text(app))
    assert found
    return found[1]


def map_version(app: AppTest) -> str:
    found = re.search(r'data-testid="sent" data-version="([0-9a-f]+)"', page_text(app))
    assert found
    return found[1]


def param(app: AppTest, name: str) -> str:
    value = app.query_params.get(name, "")
    return value[0] if isinstance(value, list) else value


@pytest.mark.parametrize("step", range(1, 9))
def test_every_step_has_an_idea_a_control_a_picture_and_a_question(step: int) -> None:
    app = open_page(**SMALL, step=str(step))
    assert not app.exception
    assert not app.error
    assert not app.warning
    text = page_text(app)
    assert f"Step {step} of 8" in text
    assert re.search(r"\d", headline(app))
    assert 'class="idea"' in text
    assert "<img" in text or 'data-testid="redraws"' in text or 'data-testid="sent"' in text
    controls = [entry.key or "" for entry in (*app.slider, *app.select_slider, *app.selectbox, *app.toggle)]
    assert any(key.startswith("learn_") for key in controls)
    question = next(entry for entry in app.radio if entry.key == f"learn_answer_{step}")
    assert len(question.options) == 3
    assert question.value is None
    for process in ("Encode", "Perturb", "Aggregate", "Estimate"):
        assert process in text
    assert "sr-only>, this step" in text


@pytest.mark.parametrize("step", range(1, 9))
def test_one_choice_is_right_and_every_choice_is_explained(step: int) -> None:
    app = open_page(**SMALL, step=str(step))
    verdicts = []
    for choice in range(3):
        app.radio(key=f"learn_answer_{step}").set_value(choice).run()
        assert not app.exception
        answer = re.search(r'<p class="answer".*?</p>', page_text(app), re.DOTALL)
        assert answer
        verdicts.append("<b>Right.</b>" in answer[0])
        assert len(answer[0]) > 80
        assert verdicts[-1] or "The answer:" in answer[0]
    assert verdicts.count(True) == 1


def test_the_numbers_are_those_of_the_run() -> None:
    scenario = Scenario(devices=300_000, resolution=6, epsilon=1.5)
    release = run(scenario)
    found = inversion(release, int(release.population.true_counts.argmax()))
    text = page_text(open_page(**SMALL, step="4"))
    assert f"{found.support:,} reports point to the cell" in text
    assert f"{found.truth:,} are there" in text
    assert f"{found.by_chance:,.0f}" in text


def test_a_control_recomputes_and_is_in_the_link() -> None:
    app = open_page(**SMALL, step="3")
    before = headline(app)
    app.select_slider(key="learn_crowd").set_value(1_000).run()
    assert "1,000 phones report" in headline(app) != before
    assert param(app, "crowd") == "1000"
    assert headline(open_page(**SMALL, step="3", crowd="1000")) == headline(app)


def test_next_and_back_walk_the_steps_and_the_link_follows() -> None:
    app = open_page(**SMALL)
    assert "Step 1 of 8" in page_text(app)
    app.button(key="learn_next").click().run()
    assert "Step 2 of 8" in page_text(app)
    assert param(app, "step") == "2"
    app.button(key="learn_next").click().run()
    app.button(key="learn_back").click().run()
    assert param(app, "step") == "2"
    assert not app.exception


def test_the_epsilon_of_step_1_is_the_shared_one() -> None:
    app = open_page(**SMALL)
    app.select_slider(key="learn_epsilon").set_value(3.0).run()
    assert not app.exception
    assert app.session_state["scenario"].epsilon == 3.0
    assert param(app, "epsilon") == "3.0"


def test_tossing_again_gives_other_coins_that_the_link_keeps() -> None:
    app = open_page(**SMALL)
    before = headline(app)
    app.button(key="learn_toss_again").click().run()
    app.button(key="learn_toss_again").click().run()
    assert headline(app) != before
    assert param(app, "toss") == "2"
    assert headline(open_page(**SMALL, toss="2")) == headline(app)


def test_clamping_is_measured_on_the_spot() -> None:
    app = open_page(**SMALL, step="5")
    assert "do not exist" not in page_text(app)
    app.toggle(key="learn_clamp").set_value(True).run()
    text = page_text(app)
    found = re.search(r"In standard errors</span><span class=\"value\">([\d.]+) ±([\d.]+)", text)
    assert found
    assert abs(float(found[1]) - 0.399) < 5 * float(found[2])
    assert "theory 1 ÷ √(2π) = 0.399" in text


def test_the_textbook_numbers_stand_on_the_page() -> None:
    # At the default epsilon of 2 and ten districts.
    app = open_page(devices="300000", resolution="6", step="7", repeats="5")
    assert "71 phones in 100; after one report it is 45" in headline(app)
    app.select_slider(key="learn_memory").set_value(30).run()
    assert "45 phones in 100; after one report it is 45" in headline(app)
    app = open_page(devices="300000", resolution="6", step="8", belief="50")
    assert "for 88 in 100 after one report" in headline(app)


# -- a class ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", ["2", "3", "4", "6"])
def test_a_class_sees_one_map(step: str) -> None:
    link = {**SMALL, "step": step, "class": "1234"}
    first, second = open_page(**link), open_page(**link, seed="77")
    assert map_version(first) == map_version(second)
    assert headline(first) == headline(second)
    assert "Class 1234: everybody" in page_text(first)
    assert map_version(open_page(**{**link, "class": "1235"})) != map_version(first)


def test_without_spoilers_a_choice_is_kept_and_the_answer_is_not_shown() -> None:
    app = open_page(**SMALL, step="3", spoilers="0")
    app.radio(key="learn_answer_3").set_value(1).run()
    text = page_text(app)
    assert "Answers are off" in text
    assert "Right." not in text
    assert "That is why raw counts mislead" not in text
    app.session_state["open_class"] = True
    app.run()
    app.toggle(key="learn_spoilers").set_value(False).run()
    assert "<b>Right.</b>" in page_text(app)
    assert param(app, "spoilers") == ""


def test_a_teacher_makes_a_class_link() -> None:
    app = open_page(**SMALL, step="2")
    app.session_state["open_class"] = True
    app.run()
    app.number_input(key="learn_class").set_value(4321).run()
    assert param(app, "class") == "4321"
    assert any("class=4321" in entry.value for entry in app.code)
    app.number_input(key="learn_class").set_value(5_000_000).run()
    assert any("whole number from 1 to 999,999" in entry.value for entry in app.error)
    assert param(app, "class") == "4321"


def test_the_choices_of_other_pages_are_no_choices_of_the_lesson() -> None:
    # The Device page has days and a prior of its own.
    for step in ("7", "8"):
        app = open_page(**SMALL, step=step, days="365", prior="0.5")
        assert not app.warning


# -- bad links ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "sentence"),
    [
        ({"step": "12"}, "There is no step '12': the lesson has steps 1 to 8"),
        ({"step": "<b>"}, "There is no step '<b>'"),
        ({"class": "0"}, "The class number must be a whole number from 1 to 999,999, got '0'"),
        ({"class": "12345678"}, "goes on with the scenario's own seed"),
        ({"spoilers": "maybe"}, "spoilers of the link must be 0 or 1"),
        ({"step": "3", "crowd": "many"}, "crowd of the link must be a whole number"),
        ({"step": "7", "repeats": "400"}, "repeats of the link must be a whole number from 1 to 30"),
        ({"step": "4", "place": "nowhere"}, "'nowhere' of the link is not a cell of this map"),
        ({"step": "8", "belief": "100"}, "belief of the link must be a whole number from 1 to 99"),
    ],
)
def test_a_link_that_cannot_be_followed_is_answered_in_a_sentence(
    params: dict[str, str], sentence: str
) -> None:
    app = open_page(**SMALL, **params)
    assert not app.exception
    assert sentence in " ".join(entry.value for entry in app.warning)
    assert "of 8" in page_text(app)


@pytest.mark.parametrize("step", ["2", "4", "6"])
@pytest.mark.parametrize("mechanism", ["grr", "ss", "olh", "hrr", "hr"])
def test_the_steps_work_with_other_randomisers(step: str, mechanism: str) -> None:
    app = open_page(**{**SMALL, "resolution": "5"}, step=step, mechanism=mechanism)
    assert not app.exception
    assert not app.error


def test_a_randomiser_without_p_and_q_is_replaced_and_named() -> None:
    text = page_text(open_page(**SMALL, step="4", mechanism="she"))
    assert "has no single pair of odds" in text


def test_the_glossary_is_at_the_foot() -> None:
    app = open_page(**SMALL)
    app.session_state["open_glossary"] = True
    app.run()
    assert '<dl class="glossary">' in page_text(app)
    assert "epsilon=1.5&amp;step=4" in page_text(app)


def standing(app: AppTest) -> str:
    return next(element.proto.body for element in app.get("html") if 'class="standing"' in element.proto.body)


def test_a_class_stands_above_the_page_instead_of_each_pupils_seed() -> None:
    pages = [
        open_page(**SMALL, step="4", **{"class": "4711"}, **more)
        for more in ({}, {"seed": "77", "draw": "3"})
    ]
    assert "class 4711" in standing(pages[0])
    assert "seed" not in standing(pages[0])
    # The sidebar keeps each pupil's own seed; what is taught beside it is alike.
    taught = [[entry.proto.body for entry in app.main.get("html")] for app in pages]
    assert len(taught[0]) > 5
    assert taught[0] == taught[1]
    # Elsewhere the seed is the one in force.
    assert "seed 77, redraw 3" in standing(pages[1].switch_page("pages/sizing.py").run())


def test_a_remembered_answer_is_not_promised_beyond_its_epoch() -> None:
    """Ten days at epsilon 1.5: two weeks' epochs cost 3, three 4.5; with an epoch of 30 days one costs 1.5."""
    for epoch, words in (
        ("7", "come to ε = 3, and where they begin amid one up to ε = 4.5"),
        ("30", "come to ε = 1.5, and"),
    ):
        app = open_page(**SMALL, step="7", epoch_days=epoch)
        right = app.radio(key="learn_answer_7").options[1]
        assert right.endswith("at ε = 1.5 within one epoch.")
        app.radio(key="learn_answer_7").set_value(1).run()
        assert words in page_text(app)


@pytest.mark.parametrize("step", ["7", "8"])
def test_the_randomiser_of_the_ten_districts_is_named(step: str) -> None:
    # 3 e^1.5 + 2 = 15.4
    text = page_text(open_page(**SMALL, step=step))
    assert "Generalised randomised response, not optimised unary encoding as in the steps before" in text
    assert "fewer than 3e^ε + 2 = 15.4" in text
    other = page_text(open_page(**(SMALL | {"epsilon": "0.5"}), step=step))
    assert "not fewer than 3e^ε + 2 = 6.9" in other


def test_the_part_of_chance_is_nearly_the_same_and_not_more() -> None:
    scenario = Scenario(devices=10_000, resolution=6, epsilon=1.5)
    release = run(scenario)
    busiest, q = int(release.population.true_counts.max()), 1 / (math.exp(1.5) + 1)
    text = page_text(open_page(**SMALL, step="3", crowd="10000"))
    assert f"{(10_000 - busiest) * q:,.0f} in the busiest and {10_000 * q:,.0f} in an empty one" in text
    assert "second part is the same" not in text


def test_the_odds_stand_under_epsilon() -> None:
    assert "Of 100 phones truly in a cell, about 50 point to it" in page_text(open_page(**SMALL))
