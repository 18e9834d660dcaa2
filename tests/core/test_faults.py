"""Each fault does what theory says it does, and what is mended is right."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom, norm

from ldpcore.faults import (
    RULES,
    causes_for,
    demonstrable,
    invert_wrongly,
    noise_scenarios,
    noise_table,
    other_epsilon,
    sign_changes,
    sparse_cells,
    swing_table,
    swinging_cell,
)
from ldpcore.faults_device import (
    beliefs,
    cap_table,
    expected_hit,
    expected_success,
    likelihood_ratio,
    posterior,
    repeat_reports,
)
from ldpcore.mechanisms import MECHANISMS, make_mechanism
from ldpcore.scenario import run
from ldpcore.schedule import Schedule
from ldpcore.settings import Scenario

SMALL = Scenario(city="tokyo", devices=200_000, resolution=6)
R = math.exp(2)


@pytest.fixture(scope="module")
def release():
    return run(SMALL)


def sue_pair(epsilon: float) -> tuple[float, float]:
    half = math.exp(epsilon / 2)
    return half / (half + 1), 1 / (half + 1)


def test_counts_that_are_not_inverted_are_supports(release) -> None:
    found = invert_wrongly(release, "raw")
    assert found.wrong.tolist() == release.counts.tolist()
    q = 1 / (R + 1)
    true = release.population.true_counts
    assert found.offset == pytest.approx(200_000 * q, rel=1e-9)
    assert found.expected == pytest.approx(true * 0.5 + (200_000 - true) * q, rel=1e-9)


def test_another_epsilon_adds_the_same_to_every_cell(release) -> None:
    found = invert_wrongly(release, "epsilon")
    q, server_q = 1 / (R + 1), 1 / (math.exp(3) + 1)
    assert found.offset == pytest.approx(200_000 * (q - server_q) / (0.5 - server_q), rel=1e-9)
    stretch = (0.5 - q) / (0.5 - server_q)
    assert found.wrong - found.offset == pytest.approx(stretch * found.right, rel=1e-6, abs=1e-3)


def test_another_encoding_takes_devices_from_every_cell(release) -> None:
    found = invert_wrongly(release, "scheme")
    p, q = sue_pair(2.0)
    assert found.offset == pytest.approx(200_000 * (1 / (R + 1) - q) / (p - q), rel=1e-9)
    assert (found.wrong < 0).all()
    back = invert_wrongly(run(replace(SMALL, mechanism="sue")), "scheme")
    assert back.offset == pytest.approx(200_000 * (q - 1 / (R + 1)) / (0.5 - 1 / (R + 1)), rel=1e-9)


@pytest.mark.parametrize("name", sorted(MECHANISMS))
def test_every_randomiser_can_show_the_fault(name: str) -> None:
    made = run(replace(SMALL, mechanism=name))
    made = run(demonstrable(made))
    for cause in causes_for(made.mechanism):
        found = invert_wrongly(made, cause)
        true = made.population.true_counts
        spread = np.abs(found.wrong - found.expected)
        # Bernoulli supports of n reports: a cell is off by at most 6 of sqrt(n) / (2 (p' - q')), failure under 1e-6.
        p, q = float(made.mechanism.p), float(made.mechanism.q)
        slope = (found.expected[true.argmax()] - found.expected[true.argmin()]) / (true.max() - true.min())
        assert spread.max() < 6 * math.sqrt(true.sum()) / 2 * abs(slope / (p - q))
        check = found.table.line("check").cells
        assert check[2].expected == 1.0
        assert found.stretch == pytest.approx(slope, rel=1e-6)
        assert 0 < found.stretch < 1 or cause == "scheme"
        # One cell a report, or a set of fixed size, adds up whatever the server takes epsilon for.
        adds_up = made.mechanism.name == "grr" or (made.mechanism.name, cause) == ("ss", "epsilon")
        assert found.seen_in_total != adds_up
        assert (abs(check[1].expected - 1) < 1e-9) == adds_up
    assert ("scheme" in causes_for(made.mechanism)) == (made.mechanism.name in {"oue", "sue"})


def test_the_form_of_a_report_stays_where_only_epsilon_is_wrong() -> None:
    made = run(replace(SMALL, mechanism="olh"))
    found = invert_wrongly(made, "epsilon")
    g = 8  # of e^2 + 1, rounded, whichever has the smaller variance
    assert made.mechanism.g == g
    server_p = math.exp(3) / (math.exp(3) + g - 1)
    p = R / (R + g - 1)
    assert 200_000 * (1 / g - 1 / g) / (server_p - 1 / g) == found.offset == 0
    assert found.wrong == pytest.approx(found.right * (p - 1 / g) / (server_p - 1 / g), rel=1e-6)


def test_the_other_epsilon_is_possible() -> None:
    assert (other_epsilon(2.0), other_epsilon(19.5)) == (3.0, 18.5)


def test_finer_grids_are_the_fault_and_hashing_is_no_remedy() -> None:
    releases = {name: run(scenario) for name, scenario in noise_scenarios(SMALL).items()}
    assert [r.scenario.resolution for r in releases.values()] == [8, 8, 7, 6]
    table = noise_table(releases)
    relative = [cell.expected for cell in table.line("relative").cells]
    error = [cell.expected for cell in table.line("rmse").cells]
    # Unary and hashed reports have one error; that error hardly depends on the grid; the counts do.
    assert error[1] == pytest.approx(error[0], rel=0.01)
    assert error[3] == pytest.approx(error[0], rel=0.02)
    cells = [cell.measured for cell in table.line("cells").cells]
    assert relative[0] / relative[3] == pytest.approx(cells[0] / cells[3], rel=0.02)
    for line in ("rmse", "relative"):
        for cell in table.line(line).cells:
            # A root mean square over 55 cells or more: within half of itself.
            assert cell.measured == pytest.approx(cell.expected, rel=0.5)


def test_the_finest_grids_stay_where_they_are() -> None:
    for resolution, expected in ((10, 10), (9, 9), (8, 9), (5, 7)):
        fine = next(iter(noise_scenarios(Scenario(resolution=resolution)).values()))
        assert fine.resolution == expected
    assert noise_scenarios(replace(SMALL, mechanism="olh"))["hashing"].mechanism == "oue"


def test_what_rules_show_agrees_with_the_normal_law() -> None:
    releases = [run(replace(SMALL, draw=draw)) for draw in range(20)]
    table = swing_table(releases)
    assert table.columns == tuple(RULES.values())
    true = releases[0].population.true_counts.astype(float)
    sigma = np.sqrt(200_000 * 4 * R / (R - 1) ** 2 + true)
    bar = 1.96 * math.sqrt(200_000 * 4 * R / (R - 1) ** 2)
    shown = norm.sf((bar - true) / sigma) + norm.cdf((-bar - true) / sigma)
    assert table.line("shown").cells[1].expected == pytest.approx(shown.sum(), rel=1e-9)
    assert table.line("negative").cells[0].expected == pytest.approx(norm.cdf(-true / sigma).sum(), rel=1e-9)
    assert table.line("negative").cells[2].measured == 0
    for line in table.lines:
        for cell in line.cells:
            # Sums of independent cells over 20 draws of a fixed seed: five standard deviations of a mean of counts.
            bound = 5 * math.sqrt(max(cell.expected, 0.2) / 20) + 0.05
            assert abs(cell.measured - cell.expected) < bound


def test_half_of_the_emptiest_cells_change_sign() -> None:
    releases = [run(replace(SMALL, draw=draw)) for draw in range(20)]
    sparse = sparse_cells(releases[0])
    se0 = math.sqrt(200_000 * 4 * R / (R - 1) ** 2)
    assert sparse.tolist() == (releases[0].population.true_counts < se0).tolist()
    cell = sign_changes(releases)
    assert abs(cell.measured - cell.expected) < 5 * max(cell.error, 0.02)
    assert 0.3 < cell.expected <= 0.5
    index = swinging_cell(releases[0])
    assert abs(releases[0].population.true_counts[index] - se0 / 2) <= se0 / 2


def test_a_grid_without_sparse_cells_has_no_share() -> None:
    full = run(Scenario(city="tokyo", devices=10_000_000, resolution=5, epsilon=10.0))
    cell = sign_changes([full, run(replace(full.scenario, draw=1))])
    assert cell.measured is None or 0 <= cell.measured <= 1


# --- The device ------------------------------------------------------------------------------------


@pytest.mark.parametrize("reports", [1, 2, 3])
def test_the_success_of_many_reports_agrees_with_enumeration(reports: int) -> None:
    mechanism = make_mechanism("oue", epsilon=1.5, domain_size=3)
    p, q = float(mechanism.p), float(mechanism.q)
    total = 0.0
    for counts in itertools.product(range(reports + 1), repeat=3):
        weight = math.prod(binom.pmf(k, reports, p if cell == 0 else q) for cell, k in enumerate(counts))
        best = max(counts)
        total += weight * (counts[0] == best) / counts.count(best)
    assert expected_success(mechanism, reports) == pytest.approx(total, rel=1e-12)


def test_the_success_grows_to_one_and_never_beyond() -> None:
    mechanism = make_mechanism("oue", epsilon=2, domain_size=5000)
    values = [expected_success(mechanism, reports) for reports in (1, 5, 20, 100, 500)]
    assert values == sorted(values)
    assert values[0] < 0.01
    assert values[-1] == pytest.approx(1.0, abs=1e-9)
    assert values[-1] <= 1.0
    assert expected_success(make_mechanism("grr", epsilon=2, domain_size=12), 1) == pytest.approx(
        R / (R + 11)
    )
    assert expected_success(make_mechanism("grr", epsilon=2, domain_size=12), 5) is None


def test_fresh_answers_give_the_cell_away_and_one_answer_does_not(release) -> None:
    found = repeat_reports(release, Schedule(reports_a_day=24))
    assert found.reports == 168
    memo, fresh = found.table.line("guess").cells
    assert fresh.expected > 0.999
    assert fresh.measured == 1.0
    # 200 phones, at most half a unit each: five standard deviations of a mean.
    assert abs(memo.measured - memo.expected) < 5 * 0.5 / math.sqrt(200)
    assert set(np.unique(found.memo)) <= {0.0, 1.0}
    assert found.fresh.argmax() == found.cell == release.population.true_counts.argmax()
    week = found.table.line("week").cells
    # A phone that stays gives one answer in each of the two epochs that a week can touch.
    assert (week[0].measured, week[1].measured) == (2 * 2.0, 168 * 2.0)


def test_a_long_schedule_is_cut_for_the_picture_alone(release) -> None:
    found = repeat_reports(release, Schedule(reports_a_day=1440))
    assert found.reports == 500
    assert found.table.line("week").cells[1].measured == 1440 * 7 * 2.0


def test_a_cap_on_the_server_is_no_cap() -> None:
    table = cap_table(1.0, Schedule(cap=10), visited=40)
    assert [cell.measured for cell in table.line("loss").cells] == [10.0, 40.0]
    assert [cell.measured for cell in table.line("counted").cells] == [10.0, 10.0]


def unary_law(mechanism, cell: int):
    """Every report of a unary encoding and its probability."""
    p, q, d = float(mechanism.p), float(mechanism.q), mechanism.domain_size
    for bits in itertools.product((0, 1), repeat=d):
        chance = 1.0
        for place, bit in enumerate(bits):
            one = p if place == cell else q
            chance *= one if bit else 1 - one
        yield np.array(bits), chance


@pytest.mark.parametrize("name", ["oue", "sue", "the"])
def test_belief_after_a_report_is_bayes_rule(name: str) -> None:
    mechanism = make_mechanism(name, epsilon=1.2, domain_size=4)
    prior = np.array([0.55, 0.25, 0.15, 0.05])
    laws = [{tuple(bits): chance for bits, chance in unary_law(mechanism, cell)} for cell in range(4)]
    hit = 0.0
    for report in laws[0]:
        joint = prior * np.array([law[report] for law in laws])
        assert posterior(mechanism, np.array(report), prior) == pytest.approx(joint / joint.sum(), rel=1e-9)
        hit += joint.max()
    assert expected_hit(mechanism, prior) == pytest.approx(hit, rel=1e-9)


@pytest.mark.parametrize("prior", [[0.7, 0.2, 0.1], [1 / 3, 1 / 3, 1 / 3], [0.4, 0.4, 0.2]])
def test_the_best_guess_under_direct_response_is_a_sum_of_greatest(prior) -> None:
    mechanism = make_mechanism("grr", epsilon=1.0, domain_size=3)
    p, q = float(mechanism.p), float(mechanism.q)
    hit = sum(max(prior[v] * (p if v == y else q) for v in range(3)) for y in range(3))
    assert expected_hit(mechanism, np.array(prior)) == pytest.approx(hit, rel=1e-12)


@pytest.mark.parametrize("name", [name for name in sorted(MECHANISMS) if name != "she"])
def test_no_report_moves_the_odds_beyond_epsilon(name: str) -> None:
    mechanism = make_mechanism(name, epsilon=2.0, domain_size=7)
    assert 1 < likelihood_ratio(mechanism) <= R * (1 + 1e-12)


def test_one_report_and_its_address_narrow_a_phone_down(release) -> None:
    found = beliefs(release)
    for belief in (found.before, found.after, found.with_address):
        assert belief.sum() == pytest.approx(1.0)
    prior = release.population.true_counts / 200_000
    assert found.before == pytest.approx(prior)
    hit = found.table.line("hit").cells
    assert hit[0].expected == pytest.approx(prior.max())
    for cell in hit[:2]:
        assert abs(cell.measured - cell.expected) < 5 * 0.5 / math.sqrt(200)
    assert hit[2].measured > hit[1].measured
    assert (found.with_address[found.before == 0] == 0).all()
    # Odds change by at most e to the epsilon.
    before, after = found.before[found.cell], found.after[found.cell]
    assert after / (1 - after) <= R * before / (1 - before) * (1 + 1e-9)


def test_the_same_link_shows_the_same_phone(release) -> None:
    assert beliefs(release).cell == beliefs(run(SMALL)).cell
    one, other = (repeat_reports(release, Schedule()) for _ in range(2))
    assert one.fresh.tolist() == other.fresh.tolist()
    assert other.table == one.table


def test_the_table_is_a_file(release) -> None:
    text = invert_wrongly(release, "raw").table.to_csv().decode()
    assert text.splitlines()[0] == "figure,label,column,measured,std_error,expected,unit"
    assert "With the fault" in text
