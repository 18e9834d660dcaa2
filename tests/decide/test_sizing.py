"""Sizing: closed forms against the mechanism's own exact variance, and verdicts that keep their word."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from ldpcore.errors import ParameterError
from ldpcore.mechanisms import MECHANISMS, make_mechanism
from ldpcore.sizing import (
    SOLVERS,
    Case,
    busiest_first,
    case_of_busiest,
    city_fit,
    devices_at_most,
    size,
    solve_cells,
    solve_error,
)
from ldpcore.trips.generate import cell_law

CASE = Case(devices=400_000, cells=2_587, epsilon=2.0, target_error=0.2, count=500)
CLOSED = [
    name for name in MECHANISMS if make_mechanism(name, epsilon=1, domain_size=50).variance_empty is not None
]


def direct_error(mechanism, n: int, count: float) -> float:
    """Relative error by the mechanism's own variance of a map with this count in the first cell."""
    counts = np.zeros(mechanism.domain_size)
    counts[0], counts[1] = count, n - count
    return math.sqrt(mechanism.variance(counts, n=n)[0]) / count


@pytest.mark.parametrize("name", CLOSED)
@pytest.mark.parametrize("count", [None, 4_000.0])
def test_each_answer_is_enough_and_nothing_less_is(name: str, count: float | None) -> None:
    case = Case(devices=300_000, cells=60, epsilon=1.5, target_error=0.1, mechanism=name, count=count)
    verdict = size(case)
    mechanism = case.randomiser()
    assert direct_error(mechanism, case.devices, verdict.smallest_count) == pytest.approx(0.1)
    assert verdict.affordable == (case.target_count >= verdict.smallest_count)
    share = case.share
    assert direct_error(mechanism, verdict.devices_needed, share * verdict.devices_needed) <= 0.1 * (1 + 1e-9)
    fewer = verdict.devices_needed - 1
    assert direct_error(mechanism, fewer, share * fewer) > 0.1 * (1 - 1e-9)
    cells = verdict.cells_at_most
    assert direct_error(case.randomiser(cells=cells), case.devices, case.devices / cells) <= 0.1 * (1 + 1e-9)
    more = case.randomiser(cells=cells + 1)
    assert direct_error(more, case.devices, case.devices / (cells + 1)) > 0.1 * (1 - 1e-9)
    assert verdict.error == pytest.approx(direct_error(mechanism, case.devices, case.target_count))
    assert verdict.affordable == (verdict.error <= 0.1)
    if verdict.epsilon_needed is None:
        # The variance of one-bit reports stays above 1 at any epsilon, so some cases have no answer.
        assert direct_error(case.randomiser(epsilon=20), case.devices, case.target_count) > 0.1
        return
    enough = case.randomiser(epsilon=verdict.epsilon_needed)
    assert direct_error(enough, case.devices, case.target_count) <= 0.1 * (1 + 1e-6)
    scarce = case.randomiser(epsilon=verdict.epsilon_needed * 0.999)
    assert direct_error(scarce, case.devices, case.target_count) > 0.1


@pytest.mark.parametrize("unknown", list(SOLVERS))
def test_solving_for_one_and_putting_it_back_gives_the_target(unknown: str) -> None:
    case = Case(devices=300_000, cells=60, epsilon=1.5, target_error=0.1)
    value = SOLVERS[unknown](case)
    assert value is not None
    field = {"smallest_count": "count"}.get(unknown, unknown)
    solved = replace(case, **{field: value})
    wanted = solved.target_error
    # Whole numbers of cells and devices are the next ones that suffice.
    assert solve_error(solved) == pytest.approx(wanted, rel=0.03)
    assert solve_error(solved) <= wanted * (1 + 1e-9)


def test_the_trap_more_devices_at_a_fixed_count_are_worse() -> None:
    worse, better = replace(CASE, devices=800_000), replace(CASE, devices=800_000, count=1_000)
    assert solve_error(worse) > solve_error(CASE) > solve_error(better)
    most = devices_at_most(replace(CASE, epsilon=8.0))
    assert solve_error(replace(CASE, epsilon=8.0, devices=most)) <= 0.2
    assert solve_error(replace(CASE, epsilon=8.0, devices=most + 1)) > 0.2
    assert devices_at_most(replace(CASE, target_error=0.01)) == 0


def test_the_product_managers_question_gets_the_honest_no_with_the_nearest_yes() -> None:
    verdict = size(CASE)
    assert not verdict.affordable
    # sqrt(400,000 * 4 R / (R - 1)^2 + 500) / 500 by hand; 4 R / (R - 1)^2 = 0.02375 at R = 170.4.
    assert verdict.error == pytest.approx(1.0773, abs=1e-3)
    assert verdict.epsilon_needed == pytest.approx(5.138, abs=1e-3)
    text = " ".join(verdict.reasons)
    assert "An epsilon of 5.14 would" in text
    assert "2,704 devices or more" in text
    assert "More devices at this same count make the cell worse" in text
    assert size(replace(CASE, epsilon=verdict.epsilon_needed)).affordable


def test_even_cells_against_the_published_example() -> None:
    case = Case(devices=3_000_000, cells=101, epsilon=2.0, target_error=0.05)
    verdict = size(case)
    assert verdict.affordable
    assert verdict.cells_at_most == 101
    assert math.floor(verdict.smallest_count) == 29_677
    assert not size(replace(case, cells=102)).affordable
    assert solve_cells(Case(devices=10, cells=2, epsilon=0.1, target_error=0.01)) == 0


def test_a_real_city_busiest_first() -> None:
    law = cell_law("london", query="origins", resolution=7)
    shares = law.probabilities
    case = Case(devices=2_000_000, cells=shares.size, epsilon=2.0, target_error=0.2)
    fit = city_fit(case, shares, floor=300)
    even = city_fit(case, np.full(shares.size, 1 / shares.size), floor=300)
    need = size(case).smallest_count
    assert fit.cells_known == int((case.devices * shares >= need).sum())
    assert even.cells_known in {0, shares.size}
    assert 0 < fit.cells_known < shares.size
    assert fit.cells_known / fit.cells < fit.share_known < 1
    assert fit.busiest_count > even.busiest_count > fit.median_count
    # The last cell that is known needs no more than what there is, the next one more.
    known = case_of_busiest(case, shares, rank=fit.cells_known)
    beyond = case_of_busiest(case, shares, rank=fit.cells_known + 1)
    assert size(known).epsilon_needed <= 2.0 < size(beyond).epsilon_needed
    assert size(known).devices_needed <= 2_000_000 < size(beyond).devices_needed
    assert busiest_first(shares)[0] == pytest.approx(shares.max() / shares.sum())
    with pytest.raises(ParameterError):
        city_fit(case, shares[1:], floor=300)


@pytest.mark.parametrize(
    "change",
    [
        {"devices": 0},
        {"cells": 1},
        {"epsilon": 0.0},
        {"epsilon": 21.0},
        {"target_error": 0.0},
        {"target_error": math.nan},
        {"mechanism": "magic"},
        {"count": 0},
        {"count": 500_000},
    ],
)
def test_impossible_settings_are_refused(change) -> None:
    with pytest.raises(ParameterError):
        replace(CASE, **change)


def test_a_mechanism_without_closed_form_is_refused_in_words() -> None:
    case = Case(
        devices=1_000, cells=50, epsilon=1, target_error=0.1, mechanism="hr", options=(("blocks", 2),)
    )
    with pytest.raises(ParameterError, match="depends on what other cells hold"):
        solve_error(case)
