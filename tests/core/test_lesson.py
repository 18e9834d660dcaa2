"""The lesson's numbers against values worked out apart from them: closed forms, the papers' tables, and the core."""

import math
import re

import numpy as np
import pytest

from ldpcore.errors import ParameterError
from ldpcore.lesson import (
    busy,
    checked_class_seed,
    checked_step,
    inversion,
    lesson_generator,
    lesson_scenario,
    survey,
)
from ldpcore.lesson_errors import direct_limit, grid, measure_clamping
from ldpcore.lesson_limits import (
    belief,
    forged_shift,
    named_right,
    observed_right,
    remembered_loss,
    watch,
)
from ldpcore.lesson_sheet import exercises, facts_of
from ldpcore.mechanisms import MECHANISMS, make_mechanism
from ldpcore.release import Release
from ldpcore.scenario import run
from ldpcore.settings import Scenario

SMALL = Scenario(devices=300_000, resolution=6)


@pytest.fixture(scope="module")
def release() -> Release:
    return run(SMALL)


# -- what is taught ---------------------------------------------------------------------------------


def test_a_fine_grid_is_coarsened_and_the_lesson_says_so() -> None:
    taught = lesson_scenario(Scenario(resolution=10, epsilon=1.5))
    assert (taught.scenario.resolution, taught.scenario.epsilon) == (7, 1.5)
    assert "resolution 7 instead of 10" in taught.changes[0]
    assert lesson_scenario(Scenario(resolution=6)).changes == ()


@pytest.mark.parametrize("name", list(MECHANISMS))
def test_every_randomiser_is_taught_or_replaced_with_a_sentence(name: str) -> None:
    taught = lesson_scenario(Scenario(mechanism=name))
    made = make_mechanism(taught.scenario.mechanism, epsilon=2.0, domain_size=50)
    assert made.p is not None
    assert made.q is not None
    assert (taught.scenario.mechanism == name) is (taught.changes == ())


def test_an_own_file_stays_out_of_the_lesson() -> None:
    taught = lesson_scenario(Scenario(trips="0" * 64, city=None, area="10,59,11,60"))
    assert taught.scenario.synthetic
    assert taught.scenario.city == "new_york"
    assert "your own file stays out" in taught.changes[0]


def test_a_class_shares_seed_and_redraw_and_nothing_else() -> None:
    scenario = Scenario(seed=5, draw=9, epsilon=1.0, resolution=6)
    taught = lesson_scenario(scenario, 1234).scenario
    assert (taught.seed, taught.draw, taught.epsilon) == (1234, 0, 1.0)
    assert taught == lesson_scenario(Scenario(seed=77, epsilon=1.0, resolution=6), 1234).scenario


@pytest.mark.parametrize("text", ["0", "1000000", "-3", "1.5", "abc", "", "9" * 40, "²"])
def test_a_class_number_out_of_range_is_a_sentence(text: str) -> None:
    with pytest.raises(ParameterError, match="whole number from 1 to 999,999") as caught:
        checked_class_seed(text)
    assert caught.value.parameter == "class"


@pytest.mark.parametrize("text", ["0", "9", "-1", "x", "1.0", "77777777"])
def test_a_step_that_is_not_there_is_a_sentence(text: str) -> None:
    with pytest.raises(ParameterError, match="steps 1 to 8"):
        checked_step(text)


def test_coins_depend_on_seed_redraw_step_and_toss() -> None:
    def first(scenario: Scenario, **what: int) -> int:
        return int(lesson_generator(scenario, **what).integers(2**62))

    base = first(Scenario(), step=1)
    assert base == first(Scenario(epsilon=5.0), step=1)
    others = {
        first(Scenario(seed=2), step=1),
        first(Scenario(draw=1), step=1),
        first(Scenario(), step=2),
        first(Scenario(), step=1, toss=1),
    }
    assert len(others | {base}) == 5


# -- step 1 -------------------------------------------------------------------------------------------


def test_the_survey_is_warners_and_right_on_average() -> None:
    yes, rounds = 30, 4000
    p = math.e**2 / (math.e**2 + 1)
    found = [survey(2.0, yes=yes, rng=np.random.default_rng(seed)) for seed in range(rounds)]
    one = found[0]
    assert one.truth.sum() == yes
    assert one.estimate == pytest.approx((one.answers.sum() - 100 * (1 - p)) / (2 * p - 1), rel=1e-9)
    deviation = math.sqrt(100 * p * (1 - p)) / (2 * p - 1)
    assert one.std_error == pytest.approx(deviation, rel=1e-9)
    # Fails once in 1.7 million seeds.
    assert abs(np.mean([each.estimate for each in found]) - yes) < 5 * deviation / math.sqrt(rounds)
    assert np.array_equal(one.turned, one.truth ^ one.answers)


@pytest.mark.parametrize("yes", [-1, 101])
def test_there_are_a_hundred_phones(yes: int) -> None:
    with pytest.raises(ParameterError, match="yes"):
        survey(1.0, yes=yes, rng=np.random.default_rng(0))


# -- steps 3 and 4 ------------------------------------------------------------------------------------


def test_an_empty_cell_shows_n_q_reports(release: Release) -> None:
    found = busy(release)
    n, q = 300_000, 1 / (math.e**2 + 1)
    assert found.by_chance == pytest.approx(n * q, rel=1e-9)
    assert found.empty == int((release.population.true_counts == 0).sum()) > 0
    assert found.touched == found.cells == release.population.domain.size
    # The mean of `empty` binomial counts; fails once in 1.7 million seeds.
    assert abs(found.empty_mean - n * q) < 5 * math.sqrt(n * q * (1 - q) / found.empty)


def test_the_inversion_is_the_one_of_the_release(release: Release) -> None:
    q = 1 / (math.e**2 + 1)
    for cell in (0, int(release.population.true_counts.argmax())):
        found = inversion(release, cell)
        assert found.estimate == pytest.approx((found.support - 300_000 * q) / (0.5 - q), rel=1e-7, abs=1e-3)
        assert found.estimate == release.estimates.estimate[cell]
        assert found.truth == release.population.true_counts[cell]
        assert found.gap == pytest.approx(0.5 - q)


# -- step 5 -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["oue", "grr", "hrr"])
def test_clamping_lifts_an_empty_cell_by_0_399_standard_errors(name: str) -> None:
    mechanism = make_mechanism(name, epsilon=1.0, domain_size=40)
    counts = np.zeros(40, np.int64)
    counts[:8] = 50_000
    found = measure_clamping(mechanism, counts, redraws=300, rng=np.random.default_rng(11))
    assert found.cells == 32
    assert found.emptied == 0
    assert found.expected == pytest.approx(0.39894228 * found.std_error, rel=1e-6)
    # Fails once in 1.7 million seeds each; empty cells of grr are negatively correlated, so its bound is wide.
    assert abs(found.clamped - found.expected) < 5 * found.clamped_error
    assert abs(found.raw) < 5 * found.raw_error


def test_a_city_without_an_empty_cell_has_its_quietest_one_emptied() -> None:
    mechanism = make_mechanism("oue", epsilon=2.0, domain_size=4)
    counts = np.array([50, 900, 70, 80])
    found = measure_clamping(mechanism, counts, redraws=20, rng=np.random.default_rng(0))
    assert (found.cells, found.emptied) == (1, 50)
    assert counts.tolist() == [50, 900, 70, 80]


# -- step 6: the exact statements ---------------------------------------------------------------------


def test_two_resolutions_finer_leave_the_error_of_a_cell_and_take_the_count() -> None:
    coarse = grid("oue", epsilon=2.0, resolution=8, cells=2_000, devices=10_000_000)
    fine = grid("oue", epsilon=2.0, resolution=10, cells=98_000, devices=10_000_000)
    ratio = math.e**2
    assert coarse.std_error == pytest.approx(math.sqrt(1e7 * 4 * ratio / (ratio - 1) ** 2), rel=1e-7)
    assert fine.std_error == coarse.std_error
    assert fine.relative_error / coarse.relative_error == pytest.approx(49, rel=1e-3)
    assert fine.largest_error / coarse.largest_error == pytest.approx(
        math.sqrt(math.log(98_000) / math.log(2_000))
    )


def test_the_direct_randomiser_pays_twice_for_a_finer_grid() -> None:
    coarse = grid("grr", epsilon=2.0, resolution=8, cells=2_000, devices=10_000_000)
    fine = grid("grr", epsilon=2.0, resolution=10, cells=98_000, devices=10_000_000)
    assert fine.std_error / coarse.std_error == pytest.approx(7, rel=0.01)
    assert fine.relative_error / coarse.relative_error == pytest.approx(343, rel=0.01)


def test_a_randomiser_without_closed_form_is_refused_in_words() -> None:
    with pytest.raises(ParameterError, match="depends on other cells"):
        grid("hr", epsilon=2.0, resolution=7, cells=300, devices=1000, blocks=2)


# -- steps 7 and 8 ------------------------------------------------------------------------------------


def test_repeats_name_a_district_of_ten_as_often_as_worked_out_by_hand() -> None:
    assert [round(named_right(2.0, 10, reports), 3) for reports in (1, 5, 10)] == [0.451, 0.710, 0.887]


@pytest.mark.parametrize("reports", [1, 4, 12])
def test_simulated_observers_are_right_as_often_as_the_closed_form_says(reports: int) -> None:
    phones = 20_000
    right = observed_right(2.0, reports=reports, phones=phones, rng=np.random.default_rng(5)).mean()
    expected = named_right(2.0, 10, reports)
    # Fails once in 1.7 million seeds.
    assert abs(right - expected) < 5 * math.sqrt(expected * (1 - expected) / phones)


def test_a_kept_answer_is_sent_again_and_teaches_nothing() -> None:
    found = watch(2.0, days=14, memory_days=7, rng=np.random.default_rng(2))
    assert len(set(found.reported[:7].tolist())) == len(set(found.reported[7:].tolist())) == 1
    assert np.array_equal(found.beliefs[0], found.beliefs[6])
    assert found.beliefs[0].max() == pytest.approx(math.e**2 / (math.e**2 + 9))
    assert found.beliefs.sum(axis=1) == pytest.approx(np.ones(14))
    fresh = watch(2.0, days=14, memory_days=1, rng=np.random.default_rng(2))
    counts = np.bincount(fresh.reported, minlength=10)
    weights = np.exp(2.0 * counts)
    assert fresh.beliefs[-1] == pytest.approx(weights / weights.sum(), rel=1e-6)


@pytest.mark.parametrize(
    ("days", "epoch_days", "least", "most"),
    [(10, 7, 2, 3), (7, 7, 1, 2), (1, 7, 1, 1), (10, 1, 10, 10), (10, 30, 1, 2), (2, 10, 1, 2)],
)
def test_a_remembered_answer_costs_once_an_epoch(days: int, epoch_days: int, least: int, most: int) -> None:
    """Epochs counted by hand: every first day of an epoch is tried."""
    touched = [len({(first + day) // epoch_days for day in range(days)}) for first in range(epoch_days)]
    assert (touched[0], max(touched)) == (least, most)
    found = remembered_loss(1.5, days=days, epoch_days=epoch_days)
    assert found == pytest.approx((1.5 * least, 1.5 * most))


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0, 4.0])
def test_one_name_is_better_up_to_the_limit_and_marks_beyond(epsilon: float) -> None:
    marks = make_mechanism("oue", epsilon=epsilon, domain_size=1000).variance_empty
    below, beyond = (
        make_mechanism("grr", epsilon=epsilon, domain_size=cells).variance_empty
        for cells in (math.floor(direct_limit(epsilon)), math.ceil(direct_limit(epsilon)))
    )
    assert below is not None
    assert beyond is not None
    assert marks is not None
    # The client's chances are multiples of 2^-64 or coarser, which moves a variance by less than one in a thousand.
    assert below < marks * 1.001
    assert beyond > marks * 0.999


def test_one_report_about_ten_districts() -> None:
    assert [round(value, 4) for value in belief(2.0, prior=0.1)] == [0.4509, 0.0610]
    assert [round(value, 4) for value in belief(2.0, prior=0.5)] == [0.8808, 0.3690]
    for prior in (0.01, 0.3, 0.99):
        after, _ = belief(2.0, prior=prior)
        factor = after / (1 - after) / (prior / (1 - prior))
        assert factor == pytest.approx(math.e**2, rel=1e-9)


@pytest.mark.parametrize("prior", [0.0, 1.0, -0.5, math.nan])
def test_a_belief_is_a_chance(prior: float) -> None:
    with pytest.raises(ParameterError):
        belief(2.0, prior=prior)


def test_a_forged_report_lifts_the_estimate_by_what_the_lesson_says() -> None:
    mechanism = make_mechanism("oue", epsilon=1.0, domain_size=10)
    assert round(forged_shift(mechanism), 2) == 3.16
    counts = np.full(10, 500)
    forged = counts.copy()
    forged[3] += 20
    before, after = mechanism.estimate(counts, n=1000), mechanism.estimate(forged, n=1020)
    assert after[3] - before[3] == pytest.approx(20 * forged_shift(mechanism))


# -- the sheet ----------------------------------------------------------------------------------------


def test_the_sheet_has_the_numbers_of_the_run(release: Release) -> None:
    facts = facts_of(release, class_seed=1234)
    found = exercises(facts)
    text = " ".join(exercise.task + exercise.solution for exercise in found)
    cell = int(release.population.true_counts.argmax())
    assert f"{release.estimates.estimate[cell]:,.0f}" in text
    assert f"{release.population.true_counts[cell]:,}" in text
    assert f"{300_000 / (math.e**2 + 1):,.0f}" in text
    for number in ("0.8808", "7.389", "0.451, 0.710 and 0.887", "45.1 % and 88.1 %"):
        assert number in text
    assert {exercise.step for exercise in found} == set(range(1, 9))


@pytest.mark.parametrize("name", ["grr", "sue", "ss", "hrr"])
def test_a_sheet_can_be_made_with_every_kind_of_randomiser(name: str) -> None:
    facts = facts_of(run(Scenario(devices=2_000, resolution=5, mechanism=name, epsilon=1.0)))
    assert len(exercises(facts)) >= 10
    assert all(math.isfinite(value) for value in (facts.forged, facts.clamped, *facts.named, *facts.beliefs))


def test_a_product_on_the_sheet_can_be_worked_out_by_hand(release: Release) -> None:
    text = " ".join(exercise.solution for exercise in exercises(facts_of(release)))
    found = re.search(r"n q = ([\d,]+) × ([\d.]+) = ([\d,]+)\.", text)
    assert found
    reports, q, product = (float(part.replace(",", "")) for part in found.groups())
    assert round(reports * q) == product
