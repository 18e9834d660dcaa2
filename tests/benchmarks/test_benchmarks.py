"""The parts of the benchmarks that compute and write; nothing is timed here."""

import json
import math

import numpy as np
import pytest
from defusedxml import ElementTree

from benchmarks import charts, limits, page, peers, report, scaling, tables
from benchmarks.machine import describe
from benchmarks.peer_jobs import worker
from ldpcore.mechanisms import MECHANISMS

FAST = {"cpu_s": 0.2, "wall_s": 0.21, "extrapolated": ""}
SLOW = {"cpu_s": 1600.0, "wall_s": 1601.0, "extrapolated": "time"}


def peer_row(name="olh", devices=1_000_000, cells=2_000):
    return {
        "mechanism": name,
        "devices": devices,
        "cells": cells,
        "ours": {"1": FAST, "2": FAST},
        "peers": {"pure-ldp": SLOW, "multi-freq-ldpy": {**SLOW, "cpu_s": 1500.0}, "ldp-toolbox": None},
    }


def test_a_prediction_counts_the_fixed_cost_once():
    # 2 s of fixed cost and 0.01 s a device.
    assert worker.predicted(100, 3.0, 400, 6.0, 100_000) == pytest.approx(1002.0)


@pytest.mark.parametrize(("few_s", "many_s"), [(1.0, 5.0), (1.0, 1.0), (2.0, 1.0), (0.0, 4.0)])
def test_a_prediction_is_never_below_what_was_measured(few_s, many_s):
    assert worker.predicted(10, few_s, 40, many_s, 4000) >= many_s


def test_zipf_values_follow_their_law():
    values = worker.zipf_values(200_000, 50)
    weights = np.arange(1, 51) ** -1.2
    expected = 200_000 * weights / weights.sum()
    counts = np.bincount(values, minlength=50)
    # Chi-square with 49 degrees of freedom exceeds 120 with probability 5e-8; the seed is fixed.
    assert ((counts - expected) ** 2 / expected).sum() < 120


def test_the_worker_runs_all_devices_where_they_are_quick_and_predicts_where_not():
    def prepare(values, *_):
        return values.sum

    quick = worker.measure(prepare, devices=500, cells=10, epsilon=2.0, threads=1, sample_s=1e-9, most_s=60.0)
    assert (quick.measured_devices, quick.extrapolated) == (500, "")
    slow = worker.measure(prepare, devices=10**6, cells=10, epsilon=2.0, threads=1, sample_s=1e-9, most_s=0.0)
    assert slow.extrapolated == "time"
    assert slow.measured_devices < 10**6


def test_the_best_peer_is_the_fastest_that_ran():
    row = peer_row()
    assert peers.best_peer(row)[0] == "multi-freq-ldpy"
    assert peers.ratio_to_best_peer(row) == pytest.approx(7500)
    assert peers.figure_to_reach(row) == 0.4
    cells = peers.table_cells(row)
    assert len(cells) == len(peers.HEADER)
    assert "~1,600" in cells
    assert "7,500 ×" in cells
    alone = {**row, "peers": {}}
    assert peers.table_cells(alone)[-1] == "no peer has it"


def test_every_figure_to_reach_belongs_to_a_mechanism_of_the_table():
    assert set(peers.FIGURES_TO_REACH) <= set(MECHANISMS)
    assert set(limits.PER_CELL) | set(limits.PER_REPORT) <= set(MECHANISMS)


def test_peers_are_pinned():
    for peer in peers.PEERS:
        assert all("==" in package for package in peer.packages)


@pytest.mark.parametrize("number", [0.00123, 0.999, 0.0996, 9.96, 12.3, 12_345.0, 99.9])
def test_numbers_keep_two_significant_digits(number):
    written = float(tables.significant(number).replace(",", ""))
    assert math.isclose(written, number, rel_tol=0.051)
    assert len(tables.significant(number).replace(",", "").strip("0").replace(".", "").strip("0")) <= 2


def test_percentiles_are_numbers_that_occurred():
    numbers = list(range(1, 21))
    assert tables.percentile(numbers, 0.5) == 10
    assert tables.percentile(numbers, 0.95) == 19
    assert tables.percentile([7.0], 0.95) == 7.0


def test_a_move_is_split_into_parts_that_add_up():
    events = [
        {"event": "key", "at": 1000.0, "size": 0},
        {"event": "send", "at": 1010.0, "size": 80},
        {"event": "run", "at": 1014.0},
        {"event": "message", "at": 1016.0, "size": 900_000},  # before the map left Python: something else
        {"event": "map", "at": 1094.0},
        {"event": "message", "at": 1100.0, "size": 70_000},
        {"event": "received", "at": 1104.0, "version": "new"},
        {"event": "applied", "at": 1120.0, "version": "new"},
        {"event": "painted", "at": 1130.0, "version": "new"},
        {"event": "end", "at": 1200.0},
        {"event": "message", "at": 1210.0, "size": 3_000},
    ]
    move = page.split_move(events)
    assert move["seconds"] == pytest.approx(0.130)
    assert sum(move["shares"].values()) == pytest.approx(move["seconds"])
    assert list(move["shares"].values()) == pytest.approx([0.010, 0.010, 0.080, 0.030])
    assert move["map_bytes"] == 70_000
    assert move["all_bytes"] == 973_000
    with pytest.raises(ValueError, match="not drawn"):
        page.split_move(events[:7])


def test_charts_are_well_formed_and_name_every_mechanism():
    rows = [peer_row(name, *shape) for name in ("olh", "hr") for shape in peers.SHAPES]
    speed = ElementTree.fromstring(charts.speed_chart(rows))
    words = [element.text for element in speed.iter() if element.tag.endswith("text")]
    assert {"olh", "hr", "LDP Atlas", "pure-ldp"} <= set(words)
    points = [
        {"mechanism": name, "grows": grows, "value": value, "devices": 10, "cells": 10, "epsilon": 2.0,
         "cpu_s": 0.1 * value, "extrapolated": False}
        for name in ("olh", "hr") for grows in ("devices", "cells", "epsilon") for value in (1.0, 10.0)
    ]  # fmt: skip
    grown = ElementTree.fromstring(charts.scaling_chart(points))
    assert [element.text for element in grown.iter() if element.text == "olh"] == ["olh"] * 3


def test_labels_are_moved_apart_by_no_more_than_needed():
    apart = charts.spread({"a": 0.0, "b": 4.0, "c": 8.0, "d": 100.0}, 10.0)
    assert apart == {"a": -6.0, "b": 4.0, "c": 14.0, "d": 100.0}


def test_the_cost_table_marks_what_was_extrapolated():
    rows = [
        {"mechanism": "she", "grows": grows, "value": 1000, "devices": 1000, "cells": 2000, "epsilon": 2.0,
         "cpu_s": 0.5, "extrapolated": True}
        for grows in ("devices", "cells", "epsilon")
    ]  # fmt: skip
    assert "~500 ms" in scaling.tables({"cost": rows})


def test_the_page_of_figures_is_what_the_raw_figures_say():
    measured = {
        name: json.loads((report.README.parent / "results" / f"{name}.json").read_text(encoding="utf-8"))
        for name, *_ in report.SECTIONS
    }
    assert report.page_text(measured) == report.README.read_text(encoding="utf-8")


def test_a_machine_is_described_in_words():
    sentence = report.machine_sentence(describe())
    assert "cores" in sentence
    assert "numba" in sentence
