"""A scenario validates its settings, fits in a link and comes back from it unchanged."""

import dataclasses
import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldpcore.errors import ParameterError
from ldpcore.mechanisms import MECHANISMS
from ldpcore.settings import DAYS, QUERIES, RESOLUTIONS, Scenario
from ldpcore.trips.cities import CITIES

SCENARIOS = st.builds(
    Scenario,
    city=st.sampled_from(sorted(CITIES)),
    devices=st.integers(1, 10**10),
    query=st.sampled_from(sorted(QUERIES)),
    day=st.sampled_from([None, *DAYS]),
    hour=st.none() | st.integers(0, 23),
    resolution=st.sampled_from(RESOLUTIONS),
    mechanism=st.sampled_from(sorted(MECHANISMS)),
    epsilon=st.floats(1e-6, 20, allow_nan=False),
    floor=st.integers(0, 10**6),
    confidence=st.floats(0.001, 0.999),
    correction=st.sampled_from(["none", "bonferroni", "sidak"]),
    interval=st.sampled_from(["score", "exact"]),
    seed=st.integers(0, 2**63 - 1),
    draw=st.integers(0, 2**31),
    per_report=st.booleans(),
)


@given(SCENARIOS)
def test_a_scenario_comes_back_from_its_link(scenario: Scenario) -> None:
    back, problems = Scenario.from_params(scenario.to_params())
    assert back == scenario
    assert problems == []


def test_a_scenario_on_a_file_comes_back_from_its_link() -> None:
    scenario = Scenario(city=None, area="10.6,59.8,10.9,60.0", trips="ab" * 32, timezone="Europe/Oslo")
    back, problems = Scenario.from_params(scenario.to_params())
    assert back == scenario
    assert problems == []


def test_the_default_scenario_needs_no_words_in_its_link() -> None:
    assert Scenario().to_params() == {}


def test_the_defaults_are_the_documented_ones() -> None:
    given = dataclasses.asdict(Scenario())
    documented = {
        "city": "new_york",
        "devices": 10_000_000,
        "query": "origins",
        "resolution": 7,
        "mechanism": "oue",
        "epsilon": 2.0,
        "floor": 300,
        "confidence": 0.95,
        "correction": "bonferroni",
        "interval": "score",
        "seed": 1,
    }
    assert {name: given[name] for name in documented} == documented


@pytest.mark.parametrize(
    ("setting", "value", "words"),
    [
        ("epsilon", 0.0, "greater than 0"),
        ("epsilon", -1.0, "got -1"),
        ("epsilon", float("nan"), "got nan"),
        ("epsilon", float("inf"), "got inf"),
        ("epsilon", 20.5, "at most 20"),
        ("devices", 0, "No data"),
        ("devices", -5, "got -5"),
        ("floor", -1, "got -1"),
        ("confidence", 0.0, "both excluded"),
        ("confidence", 1.0, "both excluded"),
        ("resolution", 4, "5, 6, 7, 8, 9 or 10"),
        ("city", "paris", "new_york"),
        ("query", "dreams", "origins"),
        ("mechanism", "magic", "grr"),
        ("correction", "hope", "bonferroni"),
        ("interval", "guess", "score"),
        ("hour", 24, "between 0 and 23"),
        ("day", "friday", "weekend"),
        ("seed", -1, "got -1"),
    ],
)
def test_an_impossible_setting_is_refused_by_name(setting: str, value: object, words: str) -> None:
    with pytest.raises(ParameterError) as refused:
        Scenario(**{setting: value})
    assert refused.value.parameter == setting
    assert words in str(refused.value)
    assert "\n" not in str(refused.value)


def test_what_a_link_gets_wrong_is_named_and_the_rest_is_kept() -> None:
    scenario, problems = Scenario.from_params(
        {"epsilon": "many", "resolution": "8", "city": "atlantis", "junk": "1"}
    )
    assert scenario == Scenario(resolution=8)
    assert len(problems) == 2
    assert any("epsilon" in problem for problem in problems)
    assert any("atlantis" in problem for problem in problems)


def test_the_command_holds_every_setting_that_differs() -> None:
    scenario = Scenario(
        city="tokyo", hour=8, day="weekend", draw=3, correction="sidak", per_report=True, epsilon=0.1
    )
    words = shlex.split(scenario.to_command())
    for pair in (
        ["--city", "tokyo"],
        ["--hour", "8"],
        ["--day", "weekend"],
        ["--draw", "3"],
        ["--epsilon", "0.1"],
    ):
        at = words.index(pair[0])
        assert words[at : at + 2] == pair
    assert "--per-report" in words
