"""The Review page without a browser: the sentence first, a run by click, the user's words, the files."""

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from ldpcore.statements import STATEMENTS
from ui.statements import field_key

ROOT = Path(__file__).resolve().parents[2]
SMALL = {"city": "cape_town", "resolution": "6", "devices": "100000"}


def open_page(**params: str) -> AppTest:
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=180)
    for name, value in params.items():
        app.query_params[name] = value
    app.run()
    return app.switch_page("pages/review.py").run()


def page_text(app: AppTest) -> str:
    texts = [element.proto.body.replace("\N{NO-BREAK SPACE}", " ") for element in app.get("html")]
    return " ".join(texts + [element.value for element in (*app.markdown, *app.caption)])


@pytest.fixture(scope="module")
def done() -> AppTest:
    app = open_page(**SMALL)
    return app.button(key="review_run").click().run()


def test_nothing_runs_before_the_click() -> None:
    app = open_page(**SMALL)
    assert not app.exception
    text = page_text(app)
    assert "The claim: one report has a privacy loss of at most ε = 2." in text
    assert "Nothing has been tried yet" in text
    assert (
        "<h4>Device</h4><p>the true cell, before the coins</p>" in text
    )  # the drawing, as a list for phones
    assert "attack on the client found nothing" not in text


def test_a_click_gives_verdict_label_sections_and_files(done: AppTest) -> None:
    assert not done.exception
    assert not done.error
    text = page_text(done)
    assert "is supported: the exact probabilities imply 2" in text
    assert "Synthetic data: the trips were generated" in text
    titles = " ".join(entry.label for entry in done.expander)
    for title in ("The unit of privacy", "The checklist, run", "Fake devices", "Hazards", "Sign-off"):
        assert title in titles
    assert "4611686018427387904/38687692719241485507" in text
    assert [entry.label for entry in done.get("download_button")] == [
        "PDF",
        "HTML",
        "YAML, registry fields",
        "JSON",
    ]
    assert "anonymous" not in text.lower()
    command = next(entry.value for entry in done.code if " review " in entry.value)
    assert "--city cape_town" in command
    assert "--level quick" in command


def test_what_is_typed_stands_in_the_report_and_not_in_the_link() -> None:
    app = open_page(**SMALL)
    app.text_input(key=field_key("name")).set_value("Ward map <script>alert(1)</script>").run()
    app.text_area(key=field_key("retention")).set_value("Thirty days, then <b>gone</b>.").run()
    app.button(key="review_run").click().run()
    assert not app.exception
    text = page_text(app)
    assert "Ward map &lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert "<script>alert" not in text
    assert "Thirty days, then &lt;b&gt;gone&lt;/b&gt;." in text
    assert "In your own words: 2 of" in " ".join(entry.label for entry in app.expander)
    assert not any("Ward" in str(value) for value in app.query_params.values())


def test_typing_after_the_run_changes_the_report_without_a_new_run(done: AppTest) -> None:
    done.text_area(key=field_key("open_risks")).set_value("The bus company sees addresses.").run()
    assert "The bus company sees addresses." in page_text(done)
    assert "is supported" in page_text(done)


def test_a_word_that_claims_too_much_is_answered_at_its_box() -> None:
    app = open_page(**SMALL)
    app.text_area(key=field_key("singling_out")).set_value("The data are anonymous.").run()
    assert any("what no figure of this report can show" in entry.value for entry in app.error)
    assert "In your own words: 0 of" in " ".join(entry.label for entry in app.expander)


def test_the_level_is_in_the_link_and_a_wrong_one_is_left() -> None:
    app = open_page(**SMALL, level="full")
    assert app.session_state["review_level"] == "full"
    app = open_page(**SMALL, level="deep")
    assert app.session_state["review_level"] == "quick"
    assert "level" not in app.query_params


def test_a_box_for_every_statement() -> None:
    app = open_page(**SMALL)
    keys = {entry.key for entry in (*app.text_input, *app.text_area)}
    assert {field_key(name) for name in STATEMENTS} <= keys


def test_another_scenario_beside_comes_from_the_link_and_adds_a_section() -> None:
    app = open_page(**SMALL, beside="library.districts")
    assert not app.exception
    assert app.selectbox(key="review_beside").value == "library.districts"
    app.button(key="review_run").click().run()
    assert not app.exception
    assert "Beside another scenario" in [entry.label for entry in app.expander]
    text = page_text(app)
    assert "B is “District report”" in text
    assert app.query_params["beside"] == "library.districts"
    command = next(entry.value for entry in app.code if " review " in entry.value)
    assert "--beside districts" in command
    # Another choice, or none, needs no new run of the checks, and none leaves no heading.
    app.selectbox(key="review_beside").set_value("").run()
    assert "is supported" in page_text(app)
    assert "Beside another scenario" not in [entry.label for entry in app.expander]
    assert "beside" not in app.query_params


def test_a_saved_scenario_comes_with_its_file() -> None:
    name = "Mine <b>bold</b>"
    linked = "name=Mine+%3Cb%3Ebold%3C%2Fb%3E&city=cape_town&resolution=5&devices=50000&epsilon=1"
    app = open_page(**SMALL, beside=linked)
    assert not app.exception
    app.button(key="review_run").click().run()
    assert not app.exception
    assert "B is “Mine &lt;b&gt;bold&lt;/b&gt;”" in page_text(app)
    assert "Scenario file (JSON)" in [entry.label for entry in app.get("download_button")]
    assert name not in page_text(app)


def test_a_link_that_names_no_scenario_is_left_and_said() -> None:
    app = open_page(**SMALL, beside="library.nowhere")
    assert not app.exception
    assert any("can't be read" in entry.value for entry in app.warning)
    assert app.selectbox(key="review_beside").value == ""
    assert "beside" not in app.query_params


def test_a_level_that_there_is_not_is_named_on_the_page() -> None:
    app = open_page(level="huge")
    assert not app.exception
    assert any(
        "The setting level of the link must be one of quick" in entry.value for entry in app.main.warning
    )


def test_the_odds_stand_under_epsilon_before_anything_is_run() -> None:
    assert "odds about a phone change by more than" in page_text(open_page(**SMALL))
