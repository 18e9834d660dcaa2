"""Every sentence of the scenario library is true of its scenario, and a comparison shows what differs."""

import csv
import io
import json
import math
import re
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

from ldpcore.cli import main
from ldpcore.library import LIBRARY, Named, find_named
from ldpcore.population import population_of
from ldpcore.scenario import run
from ldpcore.scenario_file import ScenarioFile, read_scenario_file
from ldpcore.schedule import Schedule
from ldpcore.settings import Scenario
from ldpcore.side_by_side import (
    SETTING_LABELS,
    Row,
    Side,
    compare_sides,
    comparison_csv,
    comparison_json,
    side_of,
)
from ldpcore.trips.cities import CITIES, city_domain

R2 = math.exp(2)


def numbers(sentence: str) -> list[float]:
    return [float(word.replace(",", "")) for word in re.findall(r"\d[\d,]*\.?\d*", sentence)]


def expected_published(named: Named) -> float:
    """Published cells that the normal law expects, from the closed forms of OUE and GRR alone."""
    scenario = named.scenario
    true = population_of(scenario).true_counts.astype(float)
    n, d, ratio = true.sum(), true.size, math.exp(scenario.epsilon)
    if scenario.mechanism == "oue":
        empty, slope = 4 * ratio / (ratio - 1) ** 2, 1.0
    else:
        empty, slope = (ratio + d - 2) / (ratio - 1) ** 2, (d - 2) / (ratio - 1)
    z = norm.isf((1 - scenario.confidence) / d)
    threshold = scenario.floor + z * math.sqrt(n * empty + scenario.floor * slope)
    return float(norm.sf((threshold - true) / np.sqrt(n * empty + true * slope)).sum())


@pytest.mark.parametrize("named", LIBRARY, ids=lambda named: named.slug)
def test_a_named_scenario_is_one_sentence_and_a_file(named: Named) -> None:
    for words, longest in ((named.sentence, 120), (named.about, 240)):
        assert words.count(". ") == 0
        assert words.endswith(".")
        assert len(words) < longest
        assert "anonym" not in words
    assert read_scenario_file(named.to_file().to_json()) == named.to_file()
    assert find_named(named.slug) is named
    assert find_named(named.slug + "x") is None


def test_the_library_has_the_cases_that_were_asked_for() -> None:
    assert [named.slug for named in LIBRARY] == [
        "congestion",
        "coverage",
        "night",
        "districts",
        "unaffordable",
    ]


@pytest.mark.parametrize("slug", ["congestion", "coverage", "night", "districts"])
def test_the_published_cells_of_a_sentence_are_the_expected_ones(slug: str) -> None:
    named = find_named(slug)
    release = run(named.scenario)
    said = re.search(r"about (\d+) of (\d+)", named.sentence)
    expected = expected_published(named)
    assert round(expected) == int(said.group(1))
    assert f"about {said.group(1)} of" in " ".join(named.about.split())
    # One run stays within five standard deviations of a sum of independent publications (failure under 1e-6).
    assert abs(release.figures.published - expected) < 5 * math.sqrt(max(expected, 1.0))
    assert release.population.domain.size == int(said.group(2))


def test_the_congestion_map_counts_who_starts_between_eight_and_nine() -> None:
    named = find_named("congestion")
    assert (named.scenario.city, named.scenario.hour, named.scenario.floor) == ("new_york", 8, 300)
    assert population_of(named.scenario).size == pytest.approx(2.46e6, rel=0.002)


def test_the_coverage_map_has_half_the_loss_a_larger_floor_and_larger_cells() -> None:
    scenario = find_named("coverage").scenario
    assert (scenario.epsilon, scenario.floor, scenario.hour) == (Scenario().epsilon / 2, 3000, 18)
    assert (scenario.query, scenario.devices) == ("presence", 5_000_000)
    # Uber's table of H3: 36.13 km² on average at resolution 6.
    assert "36 km²" in find_named("coverage").sentence


def test_at_night_few_devices_start_a_trip() -> None:
    named = find_named("night")
    assert population_of(named.scenario).size == pytest.approx(3_600, rel=0.01)
    assert named.scenario.devices == 10_000_000
    by_day = run(replace(named.scenario, hour=8, day=None)).figures
    assert by_day.published_expected > 10 * run(named.scenario).figures.published_expected


def test_the_district_report_has_the_fewest_cells_of_all_cities() -> None:
    named = find_named("districts")
    fewest = min(city_domain(slug, 5).size for slug in CITIES)
    assert city_domain("tokyo", 5).size == fewest == 12
    release = run(named.scenario)
    # Randomised response keeps its cell with R / (R + d - 1).
    assert float(release.mechanism.p) == pytest.approx(R2 / (R2 + 11), rel=1e-9)
    assert round(100 * R2 / (R2 + 11)) == 40
    assert "40 %" in named.sentence


def test_the_unaffordable_one_publishes_nothing() -> None:
    named = find_named("unaffordable")
    assert expected_published(named) < 0.05
    releases = [run(replace(named.scenario, draw=draw)) for draw in range(5)]
    # Five runs that each expect under 0.02: the seed is fixed, so this holds or not once and for all.
    assert [release.figures.published for release in releases] == [0] * 5
    ratio = math.exp(0.5)
    empty = 4 * ratio / (ratio - 1) ** 2
    # c = (1 + sqrt(1 + 4 n rho^2 V0)) / (2 rho^2) with rho = 0.1 for OUE, whose slope is 1.
    trusted = (1 + math.sqrt(1 + 4 * 50_000 * 0.01 * empty)) / 0.02
    assert round(trusted, -2) == 8_900
    assert round(int(releases[0].population.true_counts.max()), -2) == 1_200
    assert numbers(named.about) == [50_000, 1_957, 0.5, 1_200, 10, 8_900]
    assert releases[0].population.domain.size == 1_957
    assert numbers(named.sentence) == [1_957, 50_000, 0.5]


@pytest.fixture(scope="module")
def sides() -> tuple[Side, Side]:
    one = find_named("districts").to_file()
    other = ScenarioFile(
        name="=Half <b>",
        scenario=replace(one.scenario, epsilon=1.0, mechanism="oue"),
        schedule=Schedule(reports_a_day=288, memo=False),
    )
    return side_of(one, run), side_of(other, run)


def rows_of(sides: tuple[Side, Side]) -> dict[tuple[str, str], Row]:
    return {(row.group, row.key): row for row in compare_sides(*sides)}


def test_only_settings_that_differ_are_listed(sides) -> None:
    rows = [row for row in compare_sides(*sides) if row.group == "settings"]
    assert {row.key: (row.first, row.second) for row in rows} == {
        "mechanism": ("grr", "oue"),
        "epsilon": (2.0, 1.0),
        "reports_a_day": (1, 288),
        "memo": (True, False),
    }
    assert all(row.differs for row in rows)


def test_every_setting_has_plain_words() -> None:
    assert set(SETTING_LABELS) == set(Scenario().to_dict()) | set(Schedule().to_dict())


def test_the_promise_follows_from_the_settings(sides) -> None:
    rows = rows_of(sides)
    assert (rows["promise", "epsilon"].first, rows["promise", "epsilon"].second) == (2.0, 1.0)
    odds = rows["promise", "odds"]
    assert odds.first == pytest.approx(R2)
    assert odds.second == pytest.approx(math.e)
    # One fresh answer a day for a year at 2; 288 fresh reports a day at 1.
    year = rows["promise", "epsilon_365_days"]
    assert year.second == 365 * 288 * 1.0
    assert rows["promise", "epsilon_1_days"].first == 2.0
    # One optimised unary report of 12 cells: p (1 - (1-q)^d) / (d q) + (1-p) (1-q)^(d-1) / d.
    p, q, d = 0.5, 1 / (math.e + 1), 12
    guess = p * (1 - (1 - q) ** d) / (d * q) + (1 - p) * (1 - q) ** (d - 1) / d
    assert rows["promise", "best_guess"].second == pytest.approx(guess, rel=1e-6)


def test_the_use_is_a_mean_over_redraws_beside_theory(sides) -> None:
    rows = rows_of(sides)
    error = rows["use", "rmse"]
    ratio, n, d = math.e, 100_000, 12
    exact = math.sqrt(n * 4 * ratio / (ratio - 1) ** 2 + n / d)
    assert error.second_expected == pytest.approx(exact, rel=1e-9)
    # Twenty draws of a fixed seed: within five of their own standard errors.
    for mean, spread, expected in (
        (error.first, error.first_error, error.first_expected),
        (error.second, error.second_error, error.second_expected),
    ):
        assert abs(mean - expected) < 5 * spread
    assert error.differs
    assert rows["use", "cells"].first == rows["use", "cells"].second == 12
    share = rows["use", "published_share"]
    assert share.first == pytest.approx(rows["use", "published"].first / 12)


def test_two_of_a_kind_differ_in_nothing(sides) -> None:
    one = sides[0]
    assert not [row.key for row in compare_sides(one, one) if row.differs]


def test_luck_alone_is_no_difference(sides) -> None:
    other = ScenarioFile(name="Other coins", scenario=replace(sides[0].scenario, draw=40))
    rows = rows_of((sides[0], side_of(other, run)))
    assert rows["settings", "draw"].second == 40
    assert rows["use", "rmse"].first != rows["use", "rmse"].second
    assert not rows["use", "rmse"].differs


def test_the_files_hold_every_line_and_no_formula(sides) -> None:
    document = json.loads(comparison_json(*sides))
    assert document["first"]["format"] == "ldp-atlas-scenario"
    assert document["redraws"] == [20, 20]
    lines = list(csv.DictReader(io.StringIO(comparison_csv(*sides).decode())))
    assert len(lines) == len(document["rows"]) == len(compare_sides(*sides))
    assert {line["name_b"] for line in lines} == {"'=Half <b>"}
    by_key = {line["key"]: line for line in lines}
    assert float(by_key["rmse"]["b_expected"]) == pytest.approx(
        next(row["second_expected"] for row in document["rows"] if row["key"] == "rmse")
    )


def test_the_command_line_compares_files_and_names(capsys, tmp_path, sides) -> None:
    path = tmp_path / "half.json"
    path.write_text(sides[1].file.to_json(), encoding="utf-8")
    out = tmp_path / "pair.csv"
    assert main(["compare", "districts", str(path), "--out", str(out), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(comparison_json(*sides))
    assert out.read_bytes() == comparison_csv(*sides)


@pytest.mark.parametrize(
    "words",
    [
        "compare districts nowhere",
        "compare districts missing.json",
        "compare districts night --redraws 1",
        "compare districts night --out pair.xlsx",
        "compare districts",
    ],
)
def test_a_comparison_that_cannot_be_is_one_line(words: str, capsys) -> None:
    assert main(words.split()) == 2
    assert capsys.readouterr().err.count("\n") == 1
