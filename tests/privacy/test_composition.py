"""What reports add up to: the vectors, every alignment by hand, and settings that cannot be."""

from __future__ import annotations

import json
from fractions import Fraction
from math import comb, exp, inf, nan
from pathlib import Path
from typing import Any

import pytest

from ldpcore.errors import ParameterError
from ldpcore.privacy.composition import advanced_composition, device_loss, optimal_composition
from ldpcore.schedule import AT_CAP, DEFAULT_SCHEDULE, Schedule

CASES = json.loads((Path(__file__).parents[1] / "golden" / "vectors.json").read_text())["cases"]


def cases(mechanism: str) -> list[Any]:
    found = [case for case in CASES if case["kind"] == "composition" and case["mechanism"] == mechanism]
    assert found
    return [pytest.param(case["inputs"], case["expected"], id=case["id"]) for case in found]


@pytest.mark.parametrize(("inputs", "expected"), cases("sequential"))
def test_vectors_of_sequential_composition(inputs: Any, expected: Any) -> None:
    epsilon, k, delta = inputs["epsilon"], inputs["k"], inputs["delta"]
    fresh = device_loss(epsilon, Schedule(reports_a_day=k, memo=False), days=1)
    assert fresh.epsilon == pytest.approx(expected["basic"], rel=1e-11)
    advanced = advanced_composition(epsilon, reports=k, delta=delta)
    assert advanced == pytest.approx(expected["advanced_DRV"], rel=1e-11)
    best = optimal_composition(epsilon, reports=k, delta=delta)
    assert best == pytest.approx(expected["optimal_KOV_grid"], rel=1e-11)


@pytest.mark.parametrize(("inputs", "expected"), cases("memo_cap"))
def test_vectors_of_memoisation(inputs: Any, expected: Any) -> None:
    epsilon, a_day = inputs["epsilon_per_value"], inputs["reports_per_day"]
    visited, cap = inputs["distinct_values"], inputs["cap"]
    schedule = Schedule(reports_a_day=a_day, cap=cap, epoch_days=1)

    def day(**options: Any) -> float:
        return device_loss(epsilon, Schedule(reports_a_day=a_day, epoch_days=1, **options), days=1).epsilon

    assert day(memo=False) == expected["eps_no_memo_day"]
    uncapped = Schedule(reports_a_day=a_day, epoch_days=1, cap=1000)
    assert (
        device_loss(epsilon, uncapped, days=1, distinct_cells=visited).epsilon == expected["eps_memo_no_cap"]
    )
    assert device_loss(epsilon, schedule, days=1, distinct_cells=visited).epsilon == expected["eps_memo_cap"]
    all_epochs = device_loss(epsilon, schedule, days=inputs["epochs"], distinct_cells=visited)
    assert all_epochs.epsilon == expected["eps_worst_case_all_epochs_fresh_memo"]


@pytest.mark.parametrize("a_day", [1, 3, 288])
@pytest.mark.parametrize("cap", [1, 4, 10])
@pytest.mark.parametrize("epoch_days", [1, 2, 7, 30])
@pytest.mark.parametrize("days", [1, 2, 7, 8, 30])
def test_the_worst_alignment_is_taken(a_day: int, cap: int, epoch_days: int, days: int) -> None:
    """Every start within an epoch, day by day."""
    worst, most_epochs = 0, 0
    for start in range(epoch_days):
        in_epoch: dict[int, int] = {}
        for day in range(start, start + days):
            in_epoch[day // epoch_days] = in_epoch.get(day // epoch_days, 0) + a_day
        worst = max(worst, sum(min(reports, cap) for reports in in_epoch.values()))
        most_epochs = max(most_epochs, len(in_epoch))
    schedule = Schedule(reports_a_day=a_day, cap=cap, epoch_days=epoch_days)
    loss = device_loss(0.5, schedule, days=days)
    assert (loss.draws, loss.epochs, loss.epsilon) == (worst, most_epochs, worst * 0.5)
    assert loss.formula.endswith(f"= {worst * 0.5:,.6g}")


def test_the_pattern_is_hidden_only_where_there_is_none() -> None:
    assert device_loss(1.0, Schedule(reports_a_day=1), days=1).pattern_hidden
    assert not device_loss(1.0, Schedule(reports_a_day=1), days=7).pattern_hidden
    assert device_loss(1.0, Schedule(reports_a_day=1, epoch_days=1), days=7).pattern_hidden
    assert not device_loss(1.0, Schedule(reports_a_day=2, epoch_days=1), days=7).pattern_hidden
    assert device_loss(1.0, Schedule(reports_a_day=288, memo=False), days=7).pattern_hidden


@pytest.mark.parametrize(("epsilon", "k"), [(0.3, 5), (1.0, 8), (2.0, 11)])
def test_the_optimal_grid_by_exact_fractions(epsilon: float, k: int) -> None:
    ratio = Fraction(exp(epsilon))
    for exponent in range(1, 9):
        delta = 10.0**-exponent
        best = k
        for i in range(k // 2 + 1):
            total = sum(comb(k, j) * (ratio ** (k - j) - ratio ** (k - 2 * i + j)) for j in range(i))
            if total / (1 + ratio) ** k <= Fraction(delta):
                best = k - 2 * i
        assert optimal_composition(epsilon, reports=k, delta=delta) == best * epsilon


def test_many_reports_do_not_overflow() -> None:
    found = optimal_composition(1.0, reports=100_000, delta=1e-6)
    # The loss of one report has mean tanh(1/2); the sum is within seven deviations of it, and above it.
    mean = 100_000 * 0.46211715726000975
    assert mean < found < mean + 7 * 100_000**0.5


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"reports_a_day": 0}, "Reports a day must be between 1 and 1,440"),
        ({"cap": 1001}, "between 1 and 1,000"),
        ({"epoch_days": 1.5}, "must be a whole number"),
        ({"memo": 1}, "true or false"),
        ({"at_cap": "shout"}, "silent or replays"),
    ],
)
def test_impossible_schedules(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        Schedule(**settings)


@pytest.mark.parametrize("epsilon", [0.0, -1.0, nan, inf])
def test_impossible_epsilons(epsilon: float) -> None:
    with pytest.raises(ParameterError, match="greater than 0"):
        device_loss(epsilon, DEFAULT_SCHEDULE, days=1)


def test_links_hold_a_schedule() -> None:
    schedule = Schedule(reports_a_day=288, memo=False, cap=3, epoch_days=30, at_cap="replay")
    assert Schedule.from_params(schedule.to_params()) == (schedule, [])
    assert DEFAULT_SCHEDULE.to_params() == {}
    edited, problems = Schedule.from_params(
        {"reports_a_day": "many", "memo": "yes", "cap": "0", "epoch_days": "2"}
    )
    assert edited == Schedule(epoch_days=2)
    assert len(problems) == 3
    assert set(AT_CAP) == {"silent", "replay"}
