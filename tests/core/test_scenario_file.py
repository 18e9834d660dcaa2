"""A scenario file comes back as it was written, and what is no such file is refused with the field named."""

import dataclasses
import hashlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldpcore.cli import main
from ldpcore.errors import ParameterError
from ldpcore.scenario_file import FORMAT, MAX_BYTES, VERSION, ScenarioFile, read_scenario_file
from ldpcore.schedule import Schedule
from ldpcore.settings import Scenario
from ldpcore.statements import STATEMENTS, visible

OWN = {"trips": "ab" * 32, "city": None, "area": "10.6,59.8,10.9,60.0", "timezone": "Europe/Oslo"}


def document(**changes):
    """A good file as an object, with some fields changed."""
    return {"format": FORMAT, "version": VERSION, "name": "Mine", "scenario": {}, **changes}


def text(**changes) -> str:
    return json.dumps(document(**changes))


def refused(content: str | bytes) -> ParameterError:
    with pytest.raises(ParameterError) as caught:
        read_scenario_file(content)
    assert "\n" not in str(caught.value)
    return caught.value


@given(
    name=st.text(min_size=1, max_size=8),
    about=st.text(max_size=200),
    epsilon=st.floats(1e-6, 20, allow_nan=False),
    floor=st.integers(0, 10**6),
    seed=st.integers(0, 2**63 - 1),
    city=st.sampled_from(["new_york", "cape_town"]),
    hour=st.none() | st.integers(0, 23),
    per_report=st.booleans(),
    reports_a_day=st.integers(1, 1440),
    memo=st.booleans(),
    notes=st.text(max_size=100).filter(lambda words: "anonym" not in words.lower()),
)
def test_a_file_comes_back_as_it_was_written(name, about, notes, reports_a_day, memo, **settings) -> None:
    if not visible(name).strip("\u200c\u200d \n"):
        name = "Mine"
    made = ScenarioFile(
        name=name,
        about=about,
        scenario=Scenario(**settings),
        schedule=Schedule(reports_a_day=reports_a_day, memo=memo),
        statements={"notes": notes},
    )
    written = made.to_json()
    assert read_scenario_file(written) == made
    assert read_scenario_file(written.encode()) == made
    assert read_scenario_file(written).to_json() == written


def test_a_file_holds_every_setting_and_nothing_else() -> None:
    written = json.loads(ScenarioFile(name="Mine").to_json())
    assert list(written) == ["format", "version", "name", "about", "scenario", "schedule", "statements"]
    assert set(written["scenario"]) == {entry.name for entry in dataclasses.fields(Scenario)}
    assert set(written["schedule"]) == {"reports_a_day", "memo", "cap", "epoch_days", "at_cap"}
    assert (written["format"], written["version"]) == ("ldp-atlas-scenario", 1)


def test_a_scenario_on_a_file_names_it_by_its_digest() -> None:
    made = ScenarioFile(name="Oslo", scenario=Scenario(**OWN))
    written = json.loads(made.to_json())
    assert written["scenario"]["trips"] == "ab" * 32
    assert "devices" not in written["scenario"]
    assert read_scenario_file(made.to_json()) == made


def test_options_of_a_randomiser_come_back() -> None:
    made = ScenarioFile(name="Four", scenario=Scenario(mechanism="olh", options=(("g", 4),)))
    assert read_scenario_file(made.to_json()).scenario.options == (("g", 4),)


def test_what_a_file_leaves_out_has_its_default() -> None:
    read = read_scenario_file(text(scenario={"epsilon": 1}))
    assert read.scenario == Scenario(epsilon=1.0)
    assert isinstance(read.scenario.epsilon, float)
    assert (read.schedule, read.about, dict(read.statements)) == (Schedule(), "", {})


def test_a_file_with_a_byte_order_mark_is_read() -> None:
    assert read_scenario_file(b"\xef\xbb\xbf" + text().encode()).name == "Mine"


@pytest.mark.parametrize(
    ("field", "content"),
    [
        ("file", ""),
        ("file", "cell,estimate\n1,2\n"),
        ("file", b"PK\x03\x04\xff\xfe"),
        ("file", "[]"),
        ("file", '"a"'),
        ("file", "[" * 100_000),
        ("file", '{"a":' * 50_000),
        ("file", " " * (MAX_BYTES + 1)),
        ("file", text(scenario={"epsilon": float("nan")})),
        ("file", text(scenario={"epsilon": float("-inf")})),
        ("file", text(scenario={"seed": 0}).replace('"seed": 0', '"seed": ' + "9" * 5000)),
        ("format", "{}"),
        ("format", text(format="ldp-atlas-release")),
        ("format", text(format=["ldp-atlas-scenario"])),
        ("version", text(version=2)),
        ("version", text(version="1")),
        ("version", text(version=True)),
        ("version", text(version=0)),
        ("version", json.dumps({"format": FORMAT, "name": "Mine", "scenario": {}})),
        ("name", json.dumps({"format": FORMAT, "version": 1, "scenario": {}})),
        ("name", text(name=" \u200d\n ")),
        ("name", text(name="x" * 81)),
        ("name", text(name=3)),
        ("about", text(about="x" * 2001)),
        ("about", text(about=None)),
        ("scenario", json.dumps({"format": FORMAT, "version": 1, "name": "Mine"})),
        ("scenario", text(scenario=[])),
        ("schedule", text(schedule="daily")),
        ("statements", text(statements=[])),
        ("statements", text(statements={"opinion": "x"})),
        ("notes", text(statements={"notes": 3})),
        ("notes", text(statements={"notes": "x" * 5001})),
        ("comment", text(comment="hello")),
        ("colour", text(scenario={"colour": "red"})),
        ("pace", text(schedule={"pace": 3})),
        # Wrong types
        ("epsilon", text(scenario={"epsilon": "2"})),
        ("epsilon", text(scenario={"epsilon": True})),
        ("epsilon", text(scenario={"epsilon": None})),
        ("epsilon", '{"format":"ldp-atlas-scenario","version":1,"name":"M","scenario":{"epsilon":1e999}}'),
        ("epsilon", text(scenario={"epsilon": 10**400})),
        ("devices", text(scenario={"devices": 1.5})),
        ("devices", text(scenario={"devices": "many"})),
        ("city", text(scenario={"city": ["new_york"]})),
        ("mechanism", text(scenario={"mechanism": {"name": "oue"}})),
        ("hour", text(scenario={"hour": "8"})),
        ("per_report", text(scenario={"per_report": 1})),
        ("options", text(scenario={"options": "g=4"})),
        ("options", text(scenario={"mechanism": "olh", "options": {"g": {"a": 1}}})),
        ("options", text(scenario={"mechanism": "olh", "options": {"g": [["a"]]}})),
        ("memo", text(schedule={"memo": 1})),
        ("at_cap", text(schedule={"at_cap": ["silent"]})),
        ("trips", text(scenario={"trips": "../../trips.csv"})),
        ("area", text(scenario={**OWN, "area": "/srv/areas/secret.geojson"})),
        ("area", text(scenario={**OWN, "area": "1,2,3,a.geojson"})),
        ("area", text(scenario={**OWN, "area": "polygon:../x"})),
        # Out of range
        ("epsilon", text(scenario={"epsilon": 21})),
        ("resolution", text(scenario={"resolution": 3})),
        ("city", text(scenario={"city": "atlantis"})),
        ("city", text(scenario={"city": None})),
        ("area", text(scenario={**OWN, "area": "10.9,59.8,10.6,60.0"})),
        ("timezone", text(scenario={**OWN, "timezone": "Mars/Olympus"})),
        ("reports_a_day", text(schedule={"reports_a_day": 0})),
        # Against one another
        ("devices", text(scenario={**OWN, "devices": 5})),
        ("area", text(scenario={"area": "10.6,59.8,10.9,60.0"})),
        ("area", text(scenario={**OWN, "city": "london"})),
        ("timezone", text(scenario={"timezone": "Europe/Oslo"})),
        ("options", text(scenario={"mechanism": "oue", "options": {"g": 4}})),
        # Twice
        ("epsilon", text(scenario={"epsilon": 7}).replace('"epsilon": 7', '"epsilon": 1, "epsilon": 8')),
        ("name", text().replace('"name"', '"name": "Other", "name"')),
    ],
)
def test_what_is_no_scenario_file_is_refused_with_the_field_named(field: str, content: str | bytes) -> None:
    error = refused(content)
    assert error.parameter == field
    assert len(str(error)) < 1200


def test_a_newer_version_says_so() -> None:
    assert "newer than version 1" in str(refused(text(version=2)))


def test_a_field_of_a_million_letters_is_not_repeated_in_the_answer() -> None:
    assert len(str(refused(text(**{"x" * 200_000: 1})))) < 300


def test_a_name_is_one_line_without_hidden_characters() -> None:
    made = ScenarioFile(name="  Rush\nhour \u202e map\x00 ")
    assert made.name == "Rush hour [U+202E] map[U+0000]"


def test_a_lone_half_of_a_character_does_not_break_the_writing() -> None:
    read = read_scenario_file('{"format":"ldp-atlas-scenario","version":1,"name":"a\\ud800","scenario":{}}')
    assert read.to_json().encode()


def test_the_statements_of_a_review_are_carried() -> None:
    words = dict.fromkeys(STATEMENTS, "") | {"notes": "Two pilots."}
    made = ScenarioFile(name="Mine", statements=words)
    assert dict(read_scenario_file(made.to_json()).statements) == {"notes": "Two pilots."}


def answer(capsys, *words: str):
    assert main([*words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_the_command_line_runs_a_scenario_file(capsys, tmp_path) -> None:
    scenario = Scenario(city="tokyo", devices=30_000, resolution=5, epsilon=1.0, hour=8, draw=3)
    path = tmp_path / "mine.json"
    path.write_text(ScenarioFile(name="Mine", scenario=scenario).to_json(), encoding="utf-8")
    from_file = answer(capsys, "run", "--scenario", str(path))
    from_words = answer(capsys, *scenario.to_command().split()[3:])
    for figures in (from_file, from_words):
        figures.pop("seconds")
    assert from_file == from_words


@pytest.mark.parametrize(
    "words", ["--epsilon 2", "--city tokyo", "--draw 0", "--per-report", "--devices 5", "--trips x.csv"]
)
def test_a_setting_beside_a_scenario_file_is_refused(words: str, capsys, tmp_path) -> None:
    path = tmp_path / "mine.json"
    path.write_text(ScenarioFile(name="Mine").to_json(), encoding="utf-8")
    assert main(["run", "--scenario", str(path), *words.split()]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert words.split(maxsplit=1)[0] in error
    assert error.count("\n") == 1


def test_a_scenario_on_a_file_needs_just_that_file(capsys, tmp_path) -> None:
    trips = tmp_path / "trips.csv"
    rows = [f"{i},59.{900 + i % 20},10.{700 + i % 30}" for i in range(200)]
    trips.write_text("trip_id,start_lat,start_lng\n" + "\n".join(rows) + "\n", encoding="utf-8")
    digest = hashlib.sha256(trips.read_bytes()).hexdigest()
    settings = {**OWN, "trips": digest, "resolution": 6}
    path = tmp_path / "oslo.json"
    path.write_text(ScenarioFile(name="Oslo", scenario=Scenario(**settings)).to_json(), encoding="utf-8")
    figures = answer(capsys, "run", "--scenario", str(path), "--trips", str(trips))
    assert figures["rows_read"] == 200
    assert figures["reports"] + sum(figures["rows_dropped"].values()) == 200
    assert main(["run", "--scenario", str(path)]) == 2
    assert digest in capsys.readouterr().err
    trips.write_text("trip_id,start_lat,start_lng\n1,59.9,10.7\n2,59.91,10.71\n", encoding="utf-8")
    assert main(["run", "--scenario", str(path), "--trips", str(trips)]) == 2
    assert "not the one the scenario was made with" in capsys.readouterr().err


@pytest.mark.parametrize("content", ["", "{}", text(version=9), text(scenario={"epsilon": 99})])
def test_the_command_line_refuses_what_is_no_scenario_file(content: str, capsys, tmp_path) -> None:
    path = tmp_path / "mine.json"
    path.write_text(content, encoding="utf-8")
    for words in (["run", "--scenario", str(path)], ["compare", str(path), "night"]):
        assert main(words) == 2
        assert capsys.readouterr().err.count("\n") == 1
