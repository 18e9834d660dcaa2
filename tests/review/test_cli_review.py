"""The verb review: its JSON, its files, its words for bad input, and the commands that the report itself prints."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from ldpcore.cli import main
from ldpcore.scenario_file import ScenarioFile
from ldpcore.schedule import Schedule
from ldpcore.settings import Scenario

SMALL = ["review", "--city", "cape_town", "--resolution", "5", "--devices", "50000"]


def answer(capsys: Any, *words: str) -> Any:
    assert main([*words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def refused(capsys: Any, *words: str) -> str:
    assert main([*words]) == 2
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 1
    return lines[0]


def test_sections_on_standard_output_and_a_file(capsys: Any, tmp_path: Path) -> None:
    out = tmp_path / "review.yaml"
    found = answer(
        capsys, *SMALL, "--reports-a-day", "4", "--cap", "3", "--epoch-days", "1", "--out", str(out)
    )
    sections = {section["id"]: section for section in found["sections"]}
    loss = next(
        claim for claim in sections["composition"]["statements"] if claim["about"] == "What they add up to"
    )
    assert loss["figures"]["1_days"] == 6.0
    assert yaml.safe_load(out.read_text())["privacy_loss"]["privacy_parameters"]["epsilon"] == 2.0


def test_the_commands_a_report_prints_can_be_run(capsys: Any) -> None:
    found = answer(capsys, *SMALL, "--no-memo", "--mechanism", "grr")
    commands = {
        claim["reproduce"]
        for section in found["sections"]
        for claim in section["statements"]
        if (claim["reproduce"] or "").startswith("python -m ldpcore ")
    }
    assert len(commands) >= 4
    for command in commands:
        words = shlex.split(command)[3:]
        # A checklist without memory fails its second point, which is exit code 1.
        assert main([word for word in words if word != "--json"]) in (
            {0, 1} if words[0] == "check" else {0}
        ), command
    capsys.readouterr()


def test_the_review_command_of_a_report_gives_the_same_report(capsys: Any) -> None:
    found = answer(capsys, *SMALL, "--cap", "4", "--draw", "3")
    label = found["sections"][0]["statements"][0]
    words = shlex.split(label["reproduce"])[3:]
    assert main(words) == 0
    again = json.loads(capsys.readouterr().out)
    for report in (found, again):
        report.pop("created")
    assert again == found


def test_a_scenario_file_brings_settings_schedule_and_words(capsys: Any, tmp_path: Path) -> None:
    file = ScenarioFile(
        name="A map",
        scenario=Scenario(city="cape_town", resolution=5, devices=50_000, epsilon=1.0),
        schedule=Schedule(memo=False, reports_a_day=2),
        statements={"retention": "Thirty days."},
    )
    path = tmp_path / "map.json"
    path.write_text(file.to_json(), encoding="utf-8")
    found = answer(capsys, "review", "--scenario", str(path), "--level", "quick")
    text = json.dumps(found)
    assert "Thirty days." in text
    assert "2 reports a day, each drawn afresh" in text
    assert "at most \\u03b5 = 1" in text
    assert "setting of the scenario file" in refused(capsys, "review", "--scenario", str(path), "--cap", "3")


def test_a_file_of_statements(capsys: Any, tmp_path: Path) -> None:
    path = tmp_path / "words.json"
    path.write_text(json.dumps({"name": "A map", "decision": ""}), encoding="utf-8")
    found = answer(capsys, *SMALL, "--statements", str(path))
    assert found["title"] == "Privacy review: A map"


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"[]", "holds no JSON object"),
        (b"{", "is no JSON"),
        (b"\xff\xfe", "is no JSON"),
        (b"[" * 100_000, "is no JSON"),
        (b'{"nonsense": "x"}', "There is no statement 'nonsense'"),
        (b'{"name": 3}', "The statement name must be text"),
        (b'{"decision_date": "soon"}', "write a date as YYYY-MM-DD"),
        (b'{"shuffled_reports": "1e5"}', "digits only"),
        (b'{"inference": "It is all anonymised"}', "what no figure of this report can show"),
        (b'{"notes": "' + b"x" * 5_001 + b'"}', "at most 5,000 characters, got 5,001"),
        (b" " * 300_000, "larger than 256 kB"),
    ],
)
def test_bad_statements_are_one_line(capsys: Any, tmp_path: Path, content: bytes, sentence: str) -> None:
    path = tmp_path / "words.json"
    path.write_bytes(content)
    assert sentence in refused(capsys, *SMALL, "--statements", str(path))


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--level", "deep"], "There is no level 'deep'; choose one of quick, full."),
        (["--out", "review.docx"], "ends in .html, .pdf, .yaml, .json"),
        (["--out", "/no/such/folder/review.pdf"], "in a folder that exists"),
        (["--cap", "0"], "The cap on distinct cells must be between 1 and 1,000"),
        (["--at-cap", "shout"], "At the cap a device is silent or replays"),
        (["--epsilon", "0"], "Epsilon must be greater than 0"),
        (["--statements", "/no/such/file.json"], "file.json cannot be opened"),
        (["--scenario", "/no/such/file.json"], "is a setting of the scenario file"),
    ],
)
def test_bad_input_is_one_line_before_any_work(capsys: Any, words: list[str], sentence: str) -> None:
    assert sentence in refused(capsys, *SMALL, *words)


def test_without_json_the_label_is_a_table(capsys: Any) -> None:
    assert main(SMALL) == 0
    text = capsys.readouterr().out
    assert "Verdict" in text
    assert "Attack on the client" in text
