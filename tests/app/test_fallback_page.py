"""The Falling back page without a browser: its sentence, its two choices, its measured gains, and own files."""

import json
import re
import shlex
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

import ui.fallback_runs as runs
from ldpcore.cli import main
from ldpcore.fallback import fall_back
from ldpcore.fallback_measured import measure_fallback
from ldpcore.population import population_of
from ldpcore.postprocess import POSTPROCESSORS, postprocess
from ldpcore.scenario import run_population
from ldpcore.settings import Scenario
from ldpcore.trips.read import read_trips
from ui.fallback_parts import gains_frame
from ui.fallback_post import bias_frame, columns_bytes
from ui.fallback_runs import get_measured_bias

ROOT = Path(__file__).resolve().parents[2]
LINK = {"city": "helsinki", "devices": "200000", "floor": "100", "seed": "3"}
SCENARIO = Scenario(city="helsinki", devices=200_000, floor=100, seed=3)


def open_page(**params: str) -> AppTest:
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120)
    for name, value in params.items():
        app.query_params[name] = value
    app.run()
    return app.switch_page("pages/fallback.py").run()


def page_text(app: AppTest) -> str:
    texts = [element.proto.body.replace("\N{NO-BREAK SPACE}", " ") for element in app.get("html")]
    return " ".join(texts + [element.value for element in (*app.markdown, *app.caption)])


def link(app: AppTest) -> dict[str, str]:
    return {name: value if isinstance(value, str) else value[0] for name, value in app.query_params.items()}


def sentence(method: str = "summed", coarsest: int | None = None, scenario: Scenario = SCENARIO) -> str:
    """The headline, from the runs themselves."""
    population = population_of(scenario)
    run = fall_back(scenario, population, method=method, coarsest=coarsest)
    alone = int(run_population(scenario, population).published.sum())
    by = [
        f"{count:,} {'by themselves' if level == scenario.resolution else f'by resolution {level}'}"
        for level, count in sorted(run.answered.items(), reverse=True)
    ]
    assert all(run.answered.values())
    return (
        f"At ε = {scenario.epsilon:g} and resolution {scenario.resolution} alone, {alone:,} of {population.domain.size:,} "
        f"cells can be published; with parents {sum(run.answered.values()):,} are answered: "
        f"{', '.join(by[:-1])} and {by[-1]}."
    )


@pytest.fixture(scope="module")
def app() -> AppTest:
    return open_page(**LINK)


def test_the_page_opens_on_what_is_answered_by_which_resolution(app: AppTest) -> None:
    assert not app.exception
    assert not app.error
    text = page_text(app)
    assert sentence() in text
    assert "about honesty here, not privacy" in text
    assert "No interval is ever computed from a post-processed column" in text
    assert "Devices per km²" in text
    assert "anonymous" not in text.lower()
    assert link(app) == LINK


def test_method_and_levels_are_choices_of_the_link() -> None:
    app = open_page(**LINK, fall_back="groups", coarsest="4")
    assert sentence("groups", 4) in page_text(app)
    app.select_slider(key="fallback_coarsest").set_value(6).run()
    assert sentence("groups", 6) in page_text(app)
    assert link(app) == {**LINK, "fall_back": "groups", "coarsest": "6"}
    app.segmented_control(key="fallback_method").set_value("summed").run()
    assert sentence("summed", 6) in page_text(app)
    app.select_slider(key="fallback_coarsest").set_value(5).run()
    assert link(app) == LINK


@pytest.mark.parametrize(
    "wrong", [{"fall_back": "hope"}, {"coarsest": "9"}, {"coarsest": "-1"}, {"coarsest": "<b>"}]
)
def test_a_link_with_an_impossible_choice_opens_on_the_usual_one(wrong: dict[str, str]) -> None:
    app = open_page(**LINK, **wrong)
    assert not app.exception
    assert sentence() in page_text(app)
    assert link(app) == LINK


def test_a_finer_grid_keeps_a_coarsest_level_that_still_fits() -> None:
    app = open_page(**LINK, coarsest="3")
    app.select_slider(key="set_resolution").set_value(8).run()
    assert not app.exception
    assert "coarsest" not in link(app)  # 3 is more than four above 8
    assert sentence(scenario=replace(SCENARIO, resolution=8)) in page_text(app)


def test_the_gains_on_the_page_are_those_of_the_runs(app: AppTest) -> None:
    population = population_of(SCENARIO)
    measured = measure_fallback(SCENARIO, population, draws=20)
    shown = next(table.value for table in app.dataframe if "all_cells" in table.value)
    wanted = gains_frame(measured)
    for name in ("rmse", "rmse_error", "rmse_expected"):
        wanted[name] = wanted[name].round()
    pd.testing.assert_frame_equal(shown, wanted, check_dtype=False)
    text = page_text(app)
    for entry in measured:
        total = entry.cells_answered.sum(axis=1)
        assert re.search(rf"{round(total.mean()):,}|{total.mean():,.1f}|{total.mean():,.2f}", text)
    assert "asking in groups" in text
    assert "Asking in groups is better at the top" in text


def test_the_measured_bias_is_that_of_the_redraws_themselves(app: AppTest) -> None:
    """Each figure again from the plain runs of the redraws and the public functions."""
    population = population_of(SCENARIO)
    plain = [run_population(replace(SCENARIO, draw=draw), population) for draw in range(20)]
    groups, found = get_measured_bias(SCENARIO)
    frame = bias_frame(groups, found, plain[0])
    assert list(dict.fromkeys(frame["column"])) == [
        "raw",
        *(name for name in POSTPROCESSORS if name != "ibu"),
    ]
    empty = population.true_counts == 0
    assert groups[0].label == f"{empty.sum():,} empty cells"
    for name in ("raw", "base-pos", "norm-sub", "base-cut"):
        values = [
            run.estimates.estimate
            if name == "raw"
            else postprocess(name, run.mechanism, run.counts, n=population.size, confidence=0.95)
            for run in plain
        ]
        sums = [value[empty].sum() for value in values]
        row = frame[(frame["column"] == name) & (frame["cells"] == groups[0].label)].iloc[0]
        assert row["bias"] == pytest.approx(np.mean(sums))
        assert row["bias_error"] == pytest.approx(np.std(sums, ddof=1) / np.sqrt(20))
        errors = [np.sqrt(((value - population.true_counts) ** 2).mean()) for value in values]
        assert row["rmse"] == pytest.approx(np.mean(errors))
    shown = next(table.value for table in app.dataframe if "bias_error" in table.value)
    assert shown["bias"].tolist() == frame["bias"].round().tolist()
    best = min((entry for entry in found if entry.name != "raw"), key=lambda entry: entry.rmse.mean())
    sure = np.abs(best.sum_bias) / np.maximum(best.sum_bias_error, 1e-9)
    sure[np.abs(best.sum_bias) < 0.5] = 0
    words = next(entry.value for entry in app.markdown if entry.value.startswith("**Raw"))
    assert f"{best.name} brings that to" in words
    assert groups[int(np.argmax(sure))].label in words


def test_a_control_recomputes_only_what_it_touches(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[str] = []
    draw, measure = runs.draw_nodes, runs.measure_postprocessing

    def counted_draw(*args, **kwargs):
        drawn.append("nodes")
        return draw(*args, **kwargs)

    def counted_measure(*args, **kwargs):
        drawn.append(" ".join(kwargs["names"]))
        return measure(*args, **kwargs)

    monkeypatch.setattr(runs, "draw_nodes", counted_draw)
    monkeypatch.setattr(runs, "measure_postprocessing", counted_measure)
    app = open_page(**{**LINK, "seed": "77"})
    assert drawn.count("nodes") == 40  # 20 redraws of each method
    assert len(drawn) == 42
    drawn.clear()
    app.number_input(key="set_floor").set_value(50).run()
    assert drawn == []
    app.segmented_control(key="fallback_method").set_value("groups").run()
    assert drawn == []
    app.selectbox(key="set_confidence").set_value(0.99).run()
    assert drawn == ["base-cut"]
    drawn.clear()
    app.number_input(key="set_epsilon").set_value(1.0).run()
    assert len(drawn) == 42
    assert not app.exception


def test_a_randomiser_whose_cells_hang_together_offers_sums_alone_and_says_why() -> None:
    app = open_page(**LINK, mechanism="grr", epsilon="4")
    assert not app.exception
    text = page_text(app)
    assert "“Ask in groups” is not offered." in text
    assert "ties its cells together" in text
    assert app.segmented_control(key="fallback_method").options == ["Add up fine reports"]
    shown = next(table.value for table in app.dataframe if "bias_error" in table.value)
    assert "ibu" in set(shown["column"])


def test_a_randomiser_without_exact_sums_says_so_and_keeps_the_columns() -> None:
    app = open_page(**LINK, mechanism="hr", options="blocks=2")
    assert not app.exception
    text = page_text(app)
    assert "there is no falling back here. The exact error of a sum of cells is not known" in text
    shown = next(table.value for table in app.dataframe if "bias_error" in table.value)
    assert set(shown["column"]) == {"raw", "base-pos", "norm", "norm-mul", "norm-sub", "norm-cut"}


def test_many_cells_wait_for_a_click() -> None:
    app = open_page(**{**LINK, "resolution": "10"})
    assert not app.exception
    labels = [button.label for button in app.button]
    assert "Measure 20 redraws" in labels
    assert "Measure 20 redraws of every column" in labels
    assert any("more than a map can show" in entry.value for entry in app.info)


def test_the_command_on_the_page_writes_the_mixed_release(capsys, tmp_path: Path, monkeypatch) -> None:
    app = open_page(**LINK, fall_back="groups", coarsest="6")
    app.session_state["open_fallback_download"] = True
    app.run()
    command = next(entry.value for entry in app.code if "--fall-back" in entry.value)
    monkeypatch.chdir(tmp_path)
    assert main(shlex.split(command)[3:]) == 0
    capsys.readouterr()
    run = fall_back(SCENARIO, population_of(SCENARIO), method="groups", coarsest=6)
    assert (
        pd.read_csv(tmp_path / "mixed.csv")["estimate"].tolist()
        == run.estimates.estimate[
            np.flatnonzero(np.isin(np.arange(run.tree.size), shown_nodes(run)))
        ].tolist()
    )


def shown_nodes(run) -> np.ndarray:
    """Nodes that answer, and coarsest ones that leave cells without an answer."""
    roots = run.tree.ancestors()[0]
    return np.unique(np.concatenate([run.answer[run.answer >= 0], roots[run.answer < 0]]))


def test_the_columns_are_written_beside_the_raw_estimate_with_a_warning_about_intervals() -> None:
    release = run_population(SCENARIO, population_of(SCENARIO))
    collection = json.loads(columns_bytes(release, ".geojson", truth=False))
    first = collection["features"][0]["properties"]
    assert first["norm_sub"] == pytest.approx(
        postprocess("norm-sub", release.mechanism, release.counts, n=release.population.size)[0]
    )
    assert first["estimate"] == release.estimates.estimate[0]
    assert "true_count" not in first
    about = collection["ldp_atlas"]["post_processing"]
    assert "belong to the column estimate alone" in about["intervals"]
    assert set(about["columns"]) == {name.replace("-", "_") for name in POSTPROCESSORS if name != "ibu"}


@pytest.mark.parametrize("panel", ["open_fallback_table", "open_columns", "open_ways"])
def test_the_panels_open(panel: str) -> None:
    app = open_page(**LINK)
    app.session_state[panel] = True
    app.run()
    assert not app.exception
    if panel == "open_fallback_table":
        run = fall_back(SCENARIO, population_of(SCENARIO))
        shown = next(entry.value for entry in app.dataframe if "cells_answered" in entry.value)
        assert shown["cells_answered"].sum() == run.answer.size
        published = shown[shown["status"] == "published"]
        assert published["cells_answered"].sum() == (run.answer >= 0).sum()
        assert published.index.tolist() == shown.index[: len(published)].tolist()
        assert f"({(run.answer < 0).sum():,} cells in all)" in page_text(app)
    if panel == "open_ways":
        assert all(f"<code>{name}</code>" in page_text(app) for name in POSTPROCESSORS)
        assert "<b>Not here:</b>" in page_text(app)


def own_file_page(page: str, **params: str) -> AppTest:
    table = read_trips(ROOT / "tests/trips/files/oslo_bysykkel.csv")
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120)
    app.session_state["own_trips"] = table
    app.query_params["trips"] = table.digest
    app.query_params["city"] = ""
    for name, value in params.items():
        app.query_params[name] = value
    app.run()
    return app.switch_page(page).run()


def test_an_own_file_falls_back_and_is_called_a_simulation() -> None:
    app = own_file_page("pages/fallback.py", resolution="8", floor="5", epsilon="6")
    assert not app.exception
    assert any("does not protect the people of the file" in entry.value for entry in app.warning)
    text = page_text(app)
    assert "can be published" in text
    assert "adding up fine reports" in text
    assert "Trips per" in text or "Devices per" in text


def test_an_own_file_is_sized_on_every_grid() -> None:
    app = own_file_page("pages/sizing.py", resolution="8", count="40", error="50", epsilon="6")
    assert not app.exception
    table = next(entry.value for entry in app.dataframe if "Known to the target" in entry.value)
    places = read_trips(ROOT / "tests/trips/files/oslo_bysykkel.csv")
    for _, row in table.iterrows():
        resolution = int(str(row["Resolution"]).split(",")[0])
        scenario = Scenario(
            city=None, trips=places.digest, resolution=resolution, epsilon=6.0, floor=SCENARIO.floor
        )
        population = population_of(scenario, places)
        assert row["Cells"] == population.domain.size
        assert row["Busiest cell"] == population.true_counts.max()
    assert "In the area of your file" in page_text(app)
    assert any("those of your file" in entry.value for entry in app.caption)


def test_what_a_link_says_wrongly_is_named_on_the_page() -> None:
    app = open_page(fall_back="xx", coarsest="-4")
    assert not app.exception
    said = [entry.value for entry in app.main.warning]
    assert any("The setting fall_back of the link must be one of" in entry for entry in said)
    assert any("The setting coarsest of the link must be one of" in entry for entry in said)


def test_a_method_that_this_randomiser_cannot_use_is_named() -> None:
    app = open_page(mechanism="grr", fall_back="groups", coarsest="0")
    assert not app.exception
    said = [entry.value for entry in app.main.warning]
    assert any("fall_back of the link must be one of summed" in entry for entry in said)
    assert any("coarsest of the link" in entry for entry in said)
