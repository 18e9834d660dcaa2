"""The bytes of one update: what the browser will read, how many there are, and what is refused."""

from __future__ import annotations

import json
import struct

import h3
import numpy as np
import pytest

from ldpcore.errors import ParameterError
from ui.hex_map import HoverColumn, HoverStatus, Panel, check_cells, pack_update
from ui.palettes import RAMPS


def cells_around(size: int, resolution: int = 8, lat: float = 40.75, lng: float = -73.98) -> np.ndarray:
    rings = int(np.ceil(np.sqrt(size / 3)))
    disk = h3.grid_disk(h3.latlng_to_cell(lat, lng, resolution), rings)[:size]
    return np.sort(np.array([int(cell, 16) for cell in disk], dtype=np.uint64))


def an_update(size: int, seed: int = 1, **changes):
    rng = np.random.default_rng(seed)
    truth = rng.pareto(1.2, size) * 900
    arguments = {
        "cells": cells_around(size),
        "domain_version": "0123456789abcdef",
        "panels": [
            Panel(
                id="truth",
                title="Truth",
                index=rng.integers(0, 256, size).astype(np.uint8),
                ramp=RAMPS["counts"],
                hatch=False,
            ),
            Panel(
                id="published",
                title="Published",
                index=rng.integers(0, 256, size).astype(np.uint8),
                ramp=RAMPS["counts"],
            ),
            Panel(
                id="error",
                title="Error",
                index=rng.integers(0, 256, size).astype(np.uint8),
                ramp=RAMPS["error"],
            ),
        ],
        "hatched": rng.random(size) < 0.7,
        "columns": [
            HoverColumn(label="Truth", values=truth, unit="devices"),
            HoverColumn(label="Estimate", values=truth + 7, error=np.full(size, 2689.0), unit="devices"),
            HoverColumn(label="Error", values=np.full(size, 7.0), signed=True, unit="devices"),
        ],
        "status": HoverStatus(codes=rng.integers(0, 3, size).astype(np.uint8), labels=["a", "b", "c"]),
        "dark": False,
        "header": {"key": "map", "tokens": {}, "selected": None},
    }
    arguments.update(changes)
    return arguments


def read(payload: bytes):
    """Read as the browser does, from the layout in words and not from the writer's code."""
    (length,) = struct.unpack_from("<I", payload)
    header = json.loads(payload[4 : 4 + length])
    kinds = {"u64": "<u8", "f32": "<f4", "u32": "<u4", "u8": "u1"}
    arrays = {
        name: np.frombuffer(payload, dtype=kinds[kind], count=count, offset=4 + length + offset)
        for name, (kind, offset, count) in header["arrays"].items()
    }
    assert (4 + length) % 8 == 0
    assert all(offset % 8 == 0 for _, offset, _ in header["arrays"].values())
    return header, arrays


def test_the_browser_reads_what_was_written():
    update = an_update(517)
    payload, version = pack_update(**update)
    header, arrays = read(payload)
    assert header["version"] == version
    assert header["key"] == "map"
    assert (header["domain"], header["size"], header["dark"]) == ("0123456789abcdef", 517, False)
    assert [panel["ramp"] for panel in header["panels"]] == [0, 0, 1], "two panels share one table"
    assert [panel["hatch"] for panel in header["panels"]] == [False, True, True]
    np.testing.assert_array_equal(arrays["cells"], update["cells"])
    for number, panel in enumerate(update["panels"]):
        np.testing.assert_array_equal(arrays[f"index{number}"], panel.index)
    np.testing.assert_array_equal(arrays["ramp1"].reshape(256, 4), RAMPS["error"].light)
    bits = np.array([arrays["hatched"][i >> 3] >> (i & 7) & 1 for i in range(517)], dtype=bool)
    np.testing.assert_array_equal(bits, update["hatched"])
    np.testing.assert_allclose(arrays["value1"], update["columns"][1].values, rtol=1e-6)
    assert set(arrays["error1"]) == {np.float32(2689.0)}
    assert "error0" not in arrays
    np.testing.assert_array_equal(arrays["status"], update["status"].codes)


def test_one_update_of_new_york_stays_far_below_a_hundred_kilobytes():
    payload, _ = pack_update(**an_update(2218))
    assert len(payload) < 70_000


def test_the_version_follows_the_content_and_nothing_else():
    same = pack_update(**an_update(64))[1]
    assert pack_update(**an_update(64))[1] == same
    assert pack_update(**an_update(64, seed=2))[1] != same
    assert pack_update(**an_update(64, dark=True))[1] != same
    assert pack_update(**an_update(64, header={"key": "map", "tokens": {}, "selected": "x"}))[1] != same


@pytest.mark.parametrize(
    ("resolution", "lat", "lng"), [(5, 40.7, -74.0), (8, -33.9, 18.5), (10, 1.35, 103.8), (7, -17.0, 179.99)]
)
def test_cells_of_every_resolution_and_hemisphere_pass(resolution, lat, lng):
    check_cells(cells_around(300, resolution, lat, lng))


def test_no_cell_at_all_is_not_an_error():
    nothing = np.zeros(0)
    update = an_update(
        0,
        cells=np.zeros(0, np.uint64),
        hatched=None,
        status=None,
        columns=[HoverColumn(label="Truth", values=nothing)],
    )
    header, _ = read(pack_update(**update)[0])
    assert header["size"] == 0


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda cells: cells.astype(np.int64), "64-bit numbers"),
        (lambda cells: np.r_[cells, cells[:1]], "repeat"),
        (lambda cells: np.r_[cells, cells_around(1, 7)], "mix several"),
        (lambda cells: np.r_[cells, np.array([12345], np.uint64)], "3039 is not an H3 cell"),
        (lambda cells: cells.reshape(1, -1), "vector"),
        (lambda cells: np.tile(cells, 2001), "at most 100,000"),
    ],
)
def test_cells_that_would_draw_nothing_are_refused(wrong, words):
    with pytest.raises(ParameterError, match=words):
        check_cells(wrong(cells_around(50)))


def test_a_column_of_another_length_is_refused_by_name():
    with pytest.raises(ParameterError, match="Estimate needs one value for each of the 50 cells"):
        pack_update(**an_update(50, columns=[HoverColumn(label="Estimate", values=np.zeros(49))]))


def grouped(**changes) -> Panel:
    own = {"groups": np.arange(50) // 7, "weights": np.full(50, 3), "hatched": np.arange(50) == 4}
    return Panel(id="a", title="A", index=np.zeros(50, np.uint8), ramp=RAMPS["counts"], **{**own, **changes})


def test_a_panel_may_have_groups_and_hatching_of_its_own():
    plain = an_update(50)["panels"][0]
    update = an_update(50, panels=[plain, grouped()])
    _, arrays = read(pack_update(**update)[0])
    np.testing.assert_array_equal(arrays["group1"], np.arange(50) // 7)
    np.testing.assert_array_equal(arrays["weight1"], 3)
    bits = [bool(arrays["hatched1"][at >> 3] >> (at & 7) & 1) for at in range(50)]
    assert [at for at in range(50) if bits[at]] == [4]
    assert not {"group0", "weight0", "hatched0"} & set(arrays)
    assert set(read(pack_update(**an_update(50, panels=[grouped(weights=None)]))[0])[1]["weight0"]) == {0}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"groups": np.arange(49)}, "one value for each"),
        ({"groups": np.arange(50) - 1}, "counted from 0"),
        ({"weights": np.full(50, 9)}, "from 0 to 8"),
        ({"weights": np.full(49, 1)}, "one value for each"),
        ({"hatched": np.zeros(49, bool)}, "one value for each"),
    ],
)
def test_groups_that_cannot_be_drawn_are_refused(changes, words):
    with pytest.raises(ParameterError, match=words):
        pack_update(**an_update(50, panels=[grouped(**changes)]))


@pytest.mark.parametrize("number", [0, 4])
def test_one_to_three_panels(number):
    panel = Panel(id="a", title="A", index=np.zeros(9, np.uint8), ramp=RAMPS["counts"])
    with pytest.raises(ParameterError, match="one to three panels"):
        pack_update(**an_update(9, panels=[panel] * number))
