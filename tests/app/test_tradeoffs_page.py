"""The Trade-offs page without a browser: its answer, its figures, its choices, its work and what ends it."""

from __future__ import annotations

import io
import json
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from ldpcore.cli import main
from ldpcore.deciles import error_by_decile
from ldpcore.population import population_of
from ldpcore.scenario import run
from ldpcore.settings import Scenario
from ldpcore.sweep import Grid, run_sweep
from ldpcore.top_list import list_over_redraws
from tests.app.test_explore_page import errors, link
from ui import tradeoff_work
from ui.run_cache import RunCache
from ui.tradeoff_frames import heat_frame, on_front, pareto_frame
from ui.tradeoff_maps import picture, raster_of
from ui.tradeoff_words import MEASURES, answer, list_answer, write

ROOT = Path(__file__).resolve().parents[2]
LINK = {
    "city": "helsinki",
    "devices": "200000",
    "resolution": "6",
    "floor": "50",
    "try_epsilons": "1,4",
    "try_resolutions": "5,6",
}
SCENARIO = Scenario(city="helsinki", devices=200_000, resolution=6, floor=50)
GRID = Grid(
    base=replace(SCENARIO, epsilon=1.0, resolution=5),
    epsilons=(1.0, 2.0, 4.0),
    resolutions=(5, 6),
    repeats=10,
)
WORK = "_tradeoff_work"


def open_page(**params: str) -> AppTest:
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120)
    for name, value in {**LINK, **params}.items():
        app.query_params[name] = value
    app.run()
    return app.switch_page("pages/tradeoffs.py").run()


def settle(app: AppTest) -> AppTest:
    """Wait until the work is done, and draw the page with it."""
    app.session_state[WORK].wait(120)
    return app.run()


def page_text(app: AppTest) -> str:
    texts = [element.proto.body.replace("\N{NO-BREAK SPACE}", " ") for element in app.get("html")]
    return " ".join(texts + [element.value for element in app.markdown])


def figures_of(app: AppTest, column: str) -> pd.DataFrame:
    return next(element.value for element in app.dataframe if column in element.value)


@pytest.fixture(scope="module")
def app() -> AppTest:
    return settle(open_page())


@pytest.fixture(scope="module")
def points():
    return run_sweep(GRID)


def test_the_page_answers_for_its_scenario(app: AppTest, points) -> None:
    assert not app.exception
    assert not app.error
    assert answer(points, SCENARIO, 0.25, finished=True) in page_text(app)
    assert link(app) == LINK


def test_the_answer_is_what_the_points_say(points) -> None:
    shares = {
        (point.settings["epsilon"], point.settings["resolution"]): point.mean["published_share"]
        for point in points
    }
    for useful in (0.05, 0.25, 0.5, 0.9, 1.0):
        enough = sorted(place for place, share in shares.items() if share >= useful)
        sentence = answer(points, SCENARIO, useful, finished=True)
        if not enough:
            assert "at no ε tried, up to 4" in sentence
            assert write(max(shares.values()), "share") in sentence
            continue
        first = min(epsilon for epsilon, _ in enough)
        assert f"from ε = {first:g} on" in sentence
        assert f"resolution {max(r for epsilon, r in enough if epsilon == first)};" in sentence
        own = [resolution for epsilon, resolution in enough if epsilon == SCENARIO.epsilon]
        assert (f"down to resolution {max(own)}" if own else "at no resolution tried") in sentence
    assert answer(points, SCENARIO, 0.25, finished=False).startswith("So far, in Helsinki")
    assert "working out" in answer([], SCENARIO, 0.25, finished=False)


def test_the_table_is_the_twin_of_the_heat_map(app: AppTest, points) -> None:
    table = figures_of(app, "spread")
    assert len(table) == 6
    for point in points:
        row = table[
            (table["epsilon"] == point.settings["epsilon"])
            & (table["resolution"] == point.settings["resolution"])
        ].iloc[0]
        assert row["value"] == pytest.approx(point.mean["published_share"])
        assert row["std_error"] == pytest.approx(point.spread["published_share"] / np.sqrt(10))
        assert row["theory"] == pytest.approx(point.fixed["published_share_expected"])


def test_every_figure_is_drawn_and_stays_in_the_link(points) -> None:
    app = open_page(figure="mean_absolute_error", utility="top_list_right", useful="60")
    settle(app)
    assert not app.exception
    assert answer(points, SCENARIO, 0.6, finished=True) in page_text(app)
    for key in MEASURES:
        app.selectbox(key="tradeoff_figure").set_value(key).run()
        app.selectbox(key="tradeoff_utility").set_value(key).run()
        assert not app.exception
        table = figures_of(app, "spread")
        assert table["value"].tolist() == pytest.approx(
            heat_frame(points, MEASURES[key], SCENARIO)["value"].tolist()
        )
    assert link(app) == {**LINK, "figure": "top_list_right", "utility": "top_list_right", "useful": "60"}


def test_theory_is_on_every_line_and_is_that_of_the_points(app: AppTest, points) -> None:
    """That theory agrees with the redraws is held in tests/decide/test_theory_lines.py, with many more of them."""
    work = app.session_state[WORK]
    assert set(work.theory) == {5, 6}
    for value, records in work.theory.items():
        epsilons = [record["epsilon"] for record in records]
        assert epsilons == sorted(epsilons)
        assert {1.0, 2.0, 4.0} <= set(epsilons)
        for point in points:
            if point.settings["resolution"] == value:
                record = next(r for r in records if r["epsilon"] == point.settings["epsilon"])
                assert record["published_expected"] == pytest.approx(point.fixed["published_expected"])


def test_the_front_has_what_nothing_beats(points) -> None:
    for measure in MEASURES.values():
        frame = pareto_frame(points, measure, SCENARIO)
        sign = 1 if measure.more_is_better else -1
        for row in frame.itertuples():
            beaten = any(
                other.epsilon <= row.epsilon
                and sign * other.value >= sign * row.value
                and (other.epsilon < row.epsilon or sign * other.value > sign * row.value)
                for other in frame.itertuples()
            )
            assert row.front is not beaten
        assert frame["now"].sum() == 1
    assert on_front(np.array([1.0, 1.0]), np.array([2.0, 2.0])).all()


def test_a_point_of_the_list_becomes_the_scenario_and_nothing_known_runs_again(monkeypatch) -> None:
    app = settle(open_page())
    app.selectbox(key="tradeoff_list_2.0_6").set_value((4.0, 5)).run()
    ran = []
    monkeypatch.setattr("ldpcore.sweep.run_population", lambda *given: ran.append(given))
    settle(app.button(key="tradeoff_take").click().run())
    assert not app.exception
    assert app.session_state["scenario"].epsilon == 4.0
    assert app.session_state["scenario"].resolution == 5
    # What is tried is now 1 and 4; all of it was known.
    assert link(app) == {**LINK, "epsilon": "4.0", "resolution": "5"}
    assert ran == []
    assert app.button(key="tradeoff_take").label == "In use"


def test_another_floor_draws_nothing_again(monkeypatch) -> None:
    app = settle(open_page())
    before = dict(app.session_state[WORK].points)
    ran = []
    monkeypatch.setattr("ldpcore.sweep.run_population", lambda *given: ran.append(given))
    app.number_input(key="set_floor").set_value(4321)
    settle(app.run())
    assert not app.exception
    assert ran == []
    after = app.session_state[WORK].points
    assert after.keys() == before.keys()
    for place, point in after.items():
        assert point.settings["floor"] == 4321
        assert point.mean["rmse"] == before[place].mean["rmse"]
        assert point.mean["published"] <= before[place].mean["published"]
    assert sum(point.mean["published"] for point in after.values()) < sum(
        point.mean["published"] for point in before.values()
    )


def test_colours_and_redraws_of_explore_recompute_nothing(app: AppTest) -> None:
    before = app.session_state[WORK]
    app.selectbox(key="tradeoff_figure").set_value("published").run()
    app.number_input(key="tradeoff_useful").set_value(40.0).run()
    assert app.session_state[WORK] is before
    app.selectbox(key="tradeoff_figure").set_value("published_share").run()
    app.number_input(key="tradeoff_useful").set_value(25.0).run()
    assert app.session_state[WORK] is before


def test_the_floor_touches_what_is_published() -> None:
    app = settle(open_page())
    before = figures_of(app, "spread")["value"].tolist()
    settle(app.number_input(key="set_floor").set_value(5_000).run())
    after = figures_of(app, "spread")["value"].tolist()
    assert after != before
    assert max(after) < max(before)


def test_the_small_maps_are_the_runs_of_explore(app: AppTest) -> None:
    table = figures_of(app, "published_share_expected")
    table = next(
        element.value
        for element in app.dataframe
        if "published_share_expected" in element.value
        and "cells" in element.value
        and "decile" not in element.value
    )
    assert table["resolution"].tolist() == [6, 7, 8, 9, 10]
    for row in table.itertuples():
        if row.resolution <= 8:
            figures = run(replace(SCENARIO, resolution=row.resolution)).figures
            assert row.published == figures.published
    text = page_text(app)
    assert text.count("data:image/png;base64,") == 5
    assert "others hatched" in text


@pytest.mark.parametrize("dark", [False, True])
def test_a_small_map_shows_published_cells_and_hatches_the_others(dark: bool) -> None:
    from PIL import Image

    release = run(replace(SCENARIO, resolution=7, epsilon=4.0))
    raster = raster_of(release.population.area, release.population.domain)
    png, _ = picture(release, raster, dark=dark)
    pixels = np.asarray(Image.open(io.BytesIO(png)))
    assert pixels.shape == raster.cell.shape
    here = np.maximum(raster.cell, 0)
    published = (raster.cell >= 0) & release.published[here]
    held = (raster.cell >= 0) & ~release.published[here]
    assert published.any()
    assert held.any()
    assert (pixels[published] <= 251).all()
    assert set(np.unique(pixels[held])) == {253, 254}
    assert (pixels[(raster.cell < 0) & ~raster.land] == 252).all()
    # Every cell of the land that can be seen at this size is there.
    assert len(np.unique(raster.cell)) > 0.9 * release.population.domain.size


def test_who_bears_the_error_is_the_core_s_answer(app: AppTest) -> None:
    table = figures_of(app, "decile")
    expected = error_by_decile(SCENARIO, population_of(SCENARIO), redraws=tradeoff_work.DECILE_REDRAWS)
    pd.testing.assert_frame_equal(table.reset_index(drop=True), expected, check_dtype=False)


def test_the_decision_is_the_core_s_answer(app: AppTest, points) -> None:
    population = population_of(SCENARIO)
    lists = list_over_redraws(SCENARIO, population, redraws=tradeoff_work.LIST_REDRAWS)
    point = next(p for p in points if (p.settings["epsilon"], p.settings["resolution"]) == (2.0, 6))
    assert list_answer(lists, point.fixed["top_list_right_expected"]) in page_text(app)
    ids = population.domain.cell_ids()
    watched = open_page(watch=ids[int(lists.truth[-1])])
    settle(watched)
    assert f"**{lists.times_listed(int(lists.truth[-1]))} of 100** redraws" in page_text(watched)
    assert "truly number 10" in page_text(watched)
    assert link(watched)["watch"] == ids[int(lists.truth[-1])]


def test_a_cell_of_another_grid_is_answered_at_its_control() -> None:
    for cell in ("882a1072b5fffff", "nonsense", "-1"):
        app = settle(open_page(watch=cell))
        assert not app.exception
        assert len(errors(app)) == 1
        assert "no cell of this grid" in errors(app)[0]


def test_the_command_gives_the_figures_of_the_page(app: AppTest, capsys, points) -> None:
    command = next(entry.value for entry in app.code if " sweep " in entry.value)
    assert main([*command.split()[3:], "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["published_share"] for row in rows] == [point.mean["published_share"] for point in points]


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"try_epsilons": "1,abc"}, "up to 24 ε"),
        ({"try_epsilons": "0,1"}, "above 0"),
        ({"try_resolutions": "3"}, "from 5 to 10"),
        ({"redraws": "7"}, "10, 20, 50 or 100"),
        ({"useful": "0"}, "0.1 to 100"),
        ({"figure": "beauty"}, "one of the figures"),
        ({"lines": "colour"}, "one of those listed"),
        ({"utility": "x"}, "one of the figures"),
    ],
)
def test_what_a_link_says_wrongly_is_answered_at_its_control(params: dict[str, str], words: str) -> None:
    app = open_page(**{"try_epsilons": "2", "try_resolutions": "5", **params})
    assert not app.exception
    assert len(errors(app)) == 1
    assert words in errors(app)[0]
    assert "was not used" in errors(app)[0]
    # Nor is it folded away.
    [tried] = [entry for entry in app.expander if entry.label == "What is tried"]
    assert tried.proto.expanded == any(
        name in params for name in ("try_epsilons", "try_resolutions", "redraws")
    )
    app.session_state[WORK].cancel()


def test_nothing_to_try_is_answered_at_its_control() -> None:
    app = settle(open_page())
    app.multiselect(key="tradeoff_try_resolutions").set_value([]).run()
    assert "Choose at least one" in errors(app)[0]
    app.session_state[WORK].cancel()
    app.multiselect(key="tradeoff_try_resolutions").set_value([6]).run()
    assert not app.error
    assert link(app)["try_resolutions"] == "6"


def test_lines_by_randomiser_and_by_devices() -> None:
    app = settle(
        open_page(
            lines="mechanism", mechanism="hr", options="blocks=2", try_epsilons="2", try_resolutions="6"
        )
    )
    assert not app.exception
    table = figures_of(app, "mechanism")
    assert len(set(table["mechanism"])) == 10
    commands = [entry.value for entry in app.code if " sweep " in entry.value]
    assert len(commands) == 3
    assert sum("--options blocks=2" in command for command in commands) == 2
    settle(app.segmented_control(key="tradeoff_lines").set_value("devices").run())
    assert not app.exception
    assert sorted(set(figures_of(app, "low")["devices"])) == [
        20_000,
        200_000,
        2_000_000,
    ]
    assert link(app)["lines"] == "devices"


def test_a_combination_that_fails_is_told_and_the_rest_is_drawn() -> None:
    app = settle(open_page(mechanism="ss", options="k=30", try_epsilons="2", try_resolutions="5,6"))
    assert not app.exception
    told = [element.value for element in app.warning]
    assert any("resolution 5" in words and "k must be" in words for words in told), told
    assert any(np.isfinite(figures_of(app, "spread")["value"]))


def test_impossible_options_are_answered_at_their_control() -> None:
    app = settle(open_page(mechanism="ss", options="k=100000", try_epsilons="2", try_resolutions="6"))
    assert not app.exception
    assert "k must be" in errors(app)[0]


def test_cancelled_work_keeps_what_it_has_and_goes_on() -> None:
    app = open_page(seed="77", redraws="100", try_resolutions="6,9", try_epsilons="0.5,1,2,4")
    work = app.session_state[WORK]
    deadline = time.monotonic() + 60
    while not work.points and time.monotonic() < deadline:
        time.sleep(0.01)
    app.run()
    assert "So far, in Helsinki" in page_text(app)
    app.button(key="tradeoff_cancel").click().run()
    work.wait(60)
    assert not work.running
    there = len(work.points)
    assert 0 < there < 8
    app.run()
    assert f"Cancelled: {there} of 8" in page_text(app)
    app.button(key="tradeoff_go_on").click().run()
    again = app.session_state[WORK]
    assert again is not work
    assert len(again.points) >= there
    again.cancel()


def test_theory_does_not_wait_for_the_redraws() -> None:
    study = tradeoff_work.Study(SCENARIO, replace(GRID, base=replace(GRID.base, seed=83)))
    work = tradeoff_work.Work(study, population_of, RunCache(2**20))
    next(work._steps())  # the first of the work, as its thread takes it
    assert list(work.theory) == [5]
    assert len(work.points) < len(GRID.points())


def test_work_nobody_looks_at_ends_and_is_taken_up_again(monkeypatch) -> None:
    app = open_page(seed="78", redraws="100", try_resolutions="9")
    work = app.session_state[WORK]
    monkeypatch.setattr(tradeoff_work, "LEFT_AFTER_S", -1.0)
    work.wait(60)
    assert work.state is tradeoff_work.State.LEFT
    monkeypatch.setattr(tradeoff_work, "LEFT_AFTER_S", 25.0)
    app.run()
    again = app.session_state[WORK]
    assert again is not work
    assert again.running
    again.cancel()


def test_another_scenario_ends_the_work_on_the_one_before() -> None:
    app = open_page(seed="79", redraws="100", try_resolutions="9")
    work = app.session_state[WORK]
    app.number_input(key="set_floor").set_value(60).run()
    work.wait(60)
    assert work.state is tradeoff_work.State.CANCELLED
    app.session_state[WORK].cancel()


def test_a_broken_run_is_told_in_a_sentence(monkeypatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("no room")

    monkeypatch.setattr(tradeoff_work, "list_over_redraws", broken)
    app = settle(open_page(seed="80", try_epsilons="2", try_resolutions="6"))
    assert not app.exception
    assert errors(app) == ["The sweep stopped with RuntimeError: no room"]


def test_the_page_runs_alone() -> None:
    app = AppTest.from_file(str(ROOT / "pages" / "tradeoffs.py"), default_timeout=120).run()
    assert not app.exception
    app.session_state[WORK].cancel()


def own_file(tmp_path: Path, seed: int):
    from ldpcore.trips.read import read_trips
    from ldpcore.trips.write import write_trips

    path = tmp_path / f"trips{seed}.csv"
    write_trips(path, Scenario(city="helsinki", devices=3_000, seed=seed), progress=lambda *_: None)
    return read_trips(path)


def test_an_own_file_is_swept_in_its_own_session(tmp_path) -> None:
    tables = [own_file(tmp_path, seed) for seed in (1, 2)]
    apps = []
    for table in tables:
        app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120)
        app.session_state["own_trips"] = table
        given = {
            "city": "helsinki",
            "trips": table.digest,
            "resolution": "6",
            "floor": "20",
            "epsilon": "4.0",
        }
        for name, value in {**given, "try_epsilons": "4", "try_resolutions": "5", "lines": "devices"}.items():
            app.query_params[name] = value
        app.run()
        apps.append(settle(app.switch_page("pages/tradeoffs.py").run()))
    for app, table in zip(apps, tables, strict=True):
        assert not app.exception
        assert errors(app) == []
        assert "In your file, " in page_text(app)
        points = run_sweep(
            Grid(
                base=Scenario(city="helsinki", trips=table.digest, floor=20, epsilon=4.0),
                resolutions=(5, 6),
                repeats=10,
            ),
            trips=table,
        )
        assert figures_of(app, "spread")["value"].tolist() == pytest.approx(
            [point.mean["published_share"] for point in points]
        )
        assert "--trips TRIPS" in next(entry.value for entry in app.code if " sweep " in entry.value)
    # The figures of one session are not where another looks.
    shared, own = (apps[at].session_state[WORK].kept for at in (0, 1))
    assert shared is not own
