"""Sweeps: the same answer however they are run, and a failing combination that takes nothing with it."""

from __future__ import annotations

import io
import json
import os
import signal
import threading
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from ldpcore.cli import main
from ldpcore.errors import ParameterError
from ldpcore.population import population_of
from ldpcore.scenario import run
from ldpcore.settings import Scenario
from ldpcore.sweep import (
    DRAWS_A_TASK,
    Grid,
    at_floor,
    points_frame,
    run_sweep,
    sweep,
    sweep_bytes,
    write_sweep,
)
from ldpcore.sweep_figures import theory_figures

BASE = Scenario(city="helsinki", devices=50_000, floor=100)
GRID = Grid(
    base=BASE, epsilons=(1.0, 4.0), resolutions=(5, 6), mechanisms=("oue", "grr"), repeats=DRAWS_A_TASK + 2
)


@pytest.fixture(scope="module")
def points():
    return run_sweep(GRID)


def test_the_answer_is_that_of_single_runs(points) -> None:
    assert len(points) == 8
    point = points[3]
    assert dict(point.settings) == {
        "epsilon": 1.0,
        "resolution": 6,
        "mechanism": "grr",
        "devices": 50_000,
        "floor": 100,
        "query": "origins",
    }
    scenarios = [
        Scenario(**{**BASE.to_dict(), "options": (), **point.settings, "draw": draw})
        for draw in range(GRID.repeats)
    ]
    releases = [run(scenario) for scenario in scenarios]
    rmse = [release.figures.rmse for release in releases]
    assert point.repeats == GRID.repeats
    assert point.mean["rmse"] == pytest.approx(np.mean(rmse), rel=1e-12)
    assert point.spread["rmse"] == pytest.approx(np.std(rmse, ddof=1), rel=1e-12)
    assert point.mean["published"] == np.mean([release.figures.published for release in releases])
    assert point.fixed["rmse_expected"] == pytest.approx(releases[0].figures.rmse_expected)
    row = point.row()
    assert row["domain_size"] == releases[0].population.domain.size
    assert row["published_share"] == pytest.approx(row["published"] / row["domain_size"])


def test_theory_agrees_with_the_redraws() -> None:
    """200 redraws: within 5 standard errors of their mean; failure rate 1e-6 a figure."""
    (point,) = run_sweep(
        Grid(base=Scenario(city="helsinki", devices=50_000, floor=100, epsilon=4), repeats=200)
    )
    for name in (
        "published",
        "published_share",
        "mean_absolute_error",
        "top_relative_error",
        "error_decile_10",
        "error_decile_1",
    ):
        spread = point.spread[name]
        assert spread is not None
        error = abs(point.mean[name] - point.fixed[f"{name}_expected"])
        assert error < 5 * spread / np.sqrt(200) + 1e-9, name
    assert 0 <= point.mean["top_list_right"] <= 1


@pytest.mark.parametrize("workers", [1, 4])
def test_the_number_of_workers_changes_nothing(points, workers: int) -> None:
    assert points_frame(run_sweep(GRID, workers=workers)).equals(points_frame(points))


def test_partial_results_come_with_progress() -> None:
    updates = list(sweep(GRID))
    assert [update.done for update in updates] == list(range(17))
    assert {update.total for update in updates} == {16}
    assert updates[0].seconds_left is None
    assert updates[-1].seconds_left == 0
    places = [place for update in updates for place, _ in update.finished]
    assert sorted(places) == list(range(8))
    assert updates[-1].finished


def test_a_combination_that_fails_is_told_and_the_rest_is_kept() -> None:
    grid = Grid(
        base=BASE,
        epsilons=(1.0, 99.0),
        mechanisms=("oue", "ss"),
        options=(("k", 2),),
        repeats=2,
        resolutions=(5,),
    )
    found = {(point.settings["epsilon"], point.settings["mechanism"]): point for point in run_sweep(grid)}
    assert found[1.0, "ss"].error is None
    assert found[1.0, "ss"].spread["rmse"] > 0
    assert "no option 'k'" in found[1.0, "oue"].error
    assert "at most 20" in found[99.0, "ss"].error


def test_an_error_while_running_is_one_sentence(monkeypatch) -> None:
    def broken(*_: object) -> None:
        raise MemoryError("no room")

    monkeypatch.setattr("ldpcore.sweep.run_population", broken)
    (point,) = run_sweep(Grid(base=BASE, resolutions=(5,), repeats=1))
    assert point.error == "This combination failed with MemoryError: no room"


def test_a_cancelled_sweep_keeps_what_is_finished(points) -> None:
    cancelled = threading.Event()

    def tell(update) -> None:
        if update.done == 4:
            cancelled.set()

    found = run_sweep(GRID, told=tell, cancelled=cancelled, workers=1)
    assert 1 <= len(found) < 8
    whole = {tuple(point.settings.items()): point for point in points}
    for point in found:
        assert point.row() == whole[tuple(point.settings.items())].row()


def test_a_sweep_that_ends_by_itself_was_not_cancelled() -> None:
    cancelled = threading.Event()
    assert len(run_sweep(replace(GRID, repeats=1), cancelled=cancelled)) == 8
    assert not cancelled.is_set()


def test_a_scheduler_that_breaks_is_heard(monkeypatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("no threads left")

    monkeypatch.setattr("dask.base.compute", broken)
    with pytest.raises(RuntimeError, match="no threads left"):
        run_sweep(GRID)


def test_leaving_early_ends_the_work() -> None:
    before = threading.active_count()
    updates = sweep(GRID, workers=1)
    next(updates)
    next(updates)
    updates.close()
    assert threading.active_count() <= before + 1  # Dask may keep its pool


def test_a_file_is_swept_without_a_number_of_devices(tmp_path) -> None:
    from ldpcore.trips.read import read_trips
    from ldpcore.trips.write import write_trips

    path = tmp_path / "trips.csv"
    write_trips(path, Scenario(city="helsinki", devices=3_000), progress=print)
    table = read_trips(path)
    base = Scenario(city="helsinki", trips=table.digest, floor=20)
    points = run_sweep(Grid(base=base, resolutions=(5, 6), repeats=2), trips=table)
    assert [point.error for point in points] == [None, None]
    assert [point.settings["devices"] for point in points] == [None, None]
    assert [point.fixed["reports"] for point in points] == [3_000, 3_000]
    # Without its file it can't be run, and says so.
    (missing,) = run_sweep(Grid(base=base, repeats=2))
    assert "needs its trip file" in missing.error


def test_one_redraw_has_no_spread_and_a_tiny_domain_no_empty_tenth() -> None:
    (point,) = run_sweep(Grid(base=BASE, resolutions=(5,), repeats=1))
    assert point.spread["rmse"] is None
    assert point.row()["rmse_sd"] is None


def test_parquet_holds_every_row(points, tmp_path) -> None:
    path = tmp_path / "sweep.parquet"
    write_sweep(points, path)
    table = pd.read_parquet(path)
    assert len(table) == 8
    assert table["rmse"].tolist() == [point.mean["rmse"] for point in points]
    with pytest.raises(ParameterError):
        write_sweep(points, tmp_path / "sweep.csv")


@pytest.mark.parametrize(
    "settings",
    [{"repeats": 0}, {"repeats": 10**6}, {"base": Scenario(trips="0" * 64), "devices": (5,)}],
)
def test_impossible_grids_are_refused(settings) -> None:
    with pytest.raises(ParameterError):
        Grid(**{"base": BASE, **settings})


def test_a_scheduler_that_does_not_answer_is_named(monkeypatch) -> None:
    monkeypatch.setattr("ldpcore.sweep._CONNECT_S", 1)
    with pytest.raises(ParameterError, match="No Dask scheduler answers"):
        run_sweep(GRID, scheduler="tcp://127.0.0.1:9")


@pytest.mark.slow
def test_a_cluster_that_loses_a_worker_gives_the_same_answer() -> None:
    from distributed import LocalCluster

    # Real reports take long enough that the worker is lost in the middle of its work.
    base = Scenario(city="helsinki", devices=200_000, floor=100, resolution=6, per_report=True)
    grid = Grid(base=base, epsilons=(1.0, 2.0, 3.0, 4.0), repeats=3 * DRAWS_A_TASK)
    killed = []
    with LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
    ) as cluster:
        victim = cluster.workers[0].pid

        def tell(update) -> None:
            if update.done >= update.total // 2 and not killed:
                os.kill(victim, signal.SIGKILL)
                killed.append(update.total - update.done)

        found = run_sweep(grid, told=tell, scheduler=cluster.scheduler_address)
    assert killed[0] >= 4
    assert points_frame(found).equals(points_frame(run_sweep(grid)))


def test_points_that_are_known_are_told_at_once_and_not_run_again(points, monkeypatch) -> None:
    known = {place: points[place] for place in range(7)}
    updates = list(sweep(GRID, known=known))
    assert dict(updates[0].finished) == known
    assert updates[-1].total == 2  # 7 redraws of one point are two tasks
    assert updates[-1].finished[0][1].row() == points[7].row()
    monkeypatch.setattr("ldpcore.sweep.run_population", None)
    everything = run_sweep(GRID, known=dict(enumerate(points)))
    assert points_frame(everything).equals(points_frame(points))


@pytest.mark.parametrize("mechanism", ["oue", "grr", "she"])
@pytest.mark.parametrize("floor", [0, 1, 37, 5000, 10**9])
def test_another_floor_is_known_without_drawing_again(mechanism: str, floor: int) -> None:
    """Every figure of a sweep at a floor, from one at another; to the last bit."""
    base = Scenario(city="helsinki", devices=200_000, resolution=6, mechanism=mechanism, floor=300)
    (swept,) = run_sweep(Grid(base=base, repeats=7))
    wanted = replace(base, floor=floor)
    (direct,) = run_sweep(Grid(base=wanted, repeats=7))
    assert at_floor(swept, wanted, population_of(wanted)).row() == direct.row()


def test_populations_that_a_caller_keeps_are_used(points) -> None:
    asked = []

    def populate(part: Scenario):
        asked.append(part.resolution)
        return population_of(part)

    assert points_frame(run_sweep(GRID, populate=populate)).equals(points_frame(points))
    assert sorted(asked) == [5, 6]


def test_theory_alone_is_the_theory_of_the_sweep(points) -> None:
    for point in points:
        base = Scenario(**{**BASE.to_dict(), "options": (), **point.settings})
        for name, value in theory_figures(base, population_of(base)).items():
            assert point.fixed[name] == pytest.approx(value, rel=1e-12), name


@pytest.mark.parametrize(
    "changes",
    [{}, {"day": "weekend", "hour": 8, "correction": "none", "interval": "exact", "confidence": 0.9}],
)
def test_the_command_gives_the_same_figures(capsys, changes) -> None:
    grid = replace(GRID, base=replace(BASE, **changes), repeats=2)
    assert main([*grid.to_command().split()[3:], "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    told = run_sweep(grid)
    assert len(rows) == len(told)
    for row, point in zip(rows, told, strict=True):
        for name, value in point.row().items():
            assert row[name] == (pytest.approx(value, rel=1e-9) if isinstance(value, float) else value), name


def test_what_the_command_line_cannot_say_is_refused() -> None:
    for change in ({"draw": 1}, {"per_report": True}):
        with pytest.raises(ParameterError):
            replace(GRID, base=replace(BASE, **change)).to_command()


def test_the_bytes_are_the_file(points, tmp_path) -> None:
    path = tmp_path / "sweep.parquet"
    write_sweep(points, path)
    assert pd.read_parquet(io.BytesIO(sweep_bytes(points))).equals(pd.read_parquet(path))
