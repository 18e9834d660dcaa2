"""Another scenario beside a report: figures by hand, nothing ranked, the same bytes, hostile names, bad files."""

from __future__ import annotations

import io
import json
import math
import shlex
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import pypdf
import pytest
import yaml

from ldpcore.cli import main
from ldpcore.errors import ParameterError
from ldpcore.population import population_of
from ldpcore.review import Beside, Evidence, Other, Report, ReviewCancelled, compose, gather, review
from ldpcore.review.files import WRITERS
from ldpcore.review.other import run_both
from ldpcore.scenario import run, run_population
from ldpcore.scenario_file import ScenarioFile
from ldpcore.schedule import DEFAULT_SCHEDULE, Schedule
from ldpcore.settings import Scenario

SMALL = Scenario(city="cape_town", resolution=5, devices=50_000)
OTHER = replace(SMALL, epsilon=1.0, floor=100, resolution=6)
FILE = ScenarioFile(name="Half the loss", scenario=OTHER, schedule=Schedule(reports_a_day=4, memo=False))
NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
WORDS = ["review", "--city", "cape_town", "--resolution", "5", "--devices", "50000"]
ABOUTS = ["Which two", "Settings that differ", "What changes in the promise", "What changes in use"]


def both(file: ScenarioFile, scenario: Scenario = SMALL, word: str = "half.json") -> Beside:
    return run_both(
        scenario, DEFAULT_SCHEDULE, Other(file, word), release_of=run, population_of=population_of
    )


@pytest.fixture(scope="module")
def evidence() -> Evidence:
    return gather(SMALL)


@pytest.fixture(scope="module")
def report(evidence: Evidence) -> Report:
    return compose(evidence, beside=both(FILE), now=NOON)


def claim_of(report: Report, about: str) -> Any:
    return next(claim for claim in report.section("beside").statements if claim.about == about)


# -- what is in it ---------------------------------------------------------------------------------


def test_the_section_is_there_only_where_it_was_asked_for(evidence: Evidence, report: Report) -> None:
    alone = compose(evidence, now=NOON)
    assert "beside" not in [section.id for section in alone.sections]
    assert [section.id for section in report.sections if section.id != "beside"] == [
        section.id for section in alone.sections
    ]
    assert "beside_another_scenario" not in yaml.safe_load(WRITERS[".yaml"](alone))
    for suffix in (".html", ".yaml", ".json"):
        assert "Beside another scenario" not in WRITERS[suffix](alone).decode()
    # Another scenario changes neither what is claimed nor whether it holds.
    assert (report.verdict, report.configuration) == (alone.verdict, alone.configuration)
    assert [claim.about for claim in report.section("beside").statements] == ABOUTS


def test_the_settings_are_those_that_differ(report: Report) -> None:
    claim = claim_of(report, "Settings that differ")
    assert claim.text.startswith("5 settings differ")
    assert claim.table.rows == (
        ("Resolution (H3)", "5", "6"),
        ("Privacy loss of one report (ε)", "2", "1"),
        ("Floor, devices", "300", "100"),
        ("Reports a day", "1", "4"),
        ("Answers remembered (memoisation)", "yes", "no"),
    )


def test_the_promise_by_hand(report: Report) -> None:
    claim = claim_of(report, "What changes in the promise")
    figures = claim.figures
    assert (figures["epsilon"]["a"], figures["epsilon"]["b"]) == (2.0, 1.0)
    assert 2 - 1e-12 < figures["epsilon_effective"]["a"] <= 2
    assert 1 - 1e-12 < figures["epsilon_effective"]["b"] <= 1
    assert figures["odds"]["b"] == pytest.approx(math.e, rel=1e-12)
    # A: a report a day, remembered for epochs of seven days, so a day has one; B: four afresh.
    assert (figures["epsilon_1_days"]["a"], figures["epsilon_1_days"]["b"]) == (2, 4)
    assert figures["epsilon_30_days"]["b"] == 4 * 30
    assert "One report covers the same in both" in claim.text
    # With a memory the total is for places alone, so the two totals are of different things.
    assert "that of B also covers when the device changed cell" in claim.text


def test_the_worst_device_visits_no_more_cells_than_there_are(evidence: Evidence) -> None:
    """The same day as in the label: a cap of 1,000 cells in a domain of fewer."""
    schedule = Schedule(reports_a_day=1_000, cap=1_000, epoch_days=1)
    pair = both(ScenarioFile(name="Busy", scenario=SMALL, schedule=schedule))
    figures = claim_of(compose(evidence, beside=pair, now=NOON), "What changes in the promise").figures
    cells = evidence.population.domain.size
    assert cells < 1_000
    assert figures["epsilon_1_days"]["b"] == 2.0 * cells


def test_what_is_got_is_the_mean_of_the_redraws_beside_theory(report: Report) -> None:
    claim = claim_of(report, "What changes in use")
    population = population_of(OTHER)
    releases = [run_population(replace(OTHER, draw=draw), population) for draw in range(20)]
    published = np.array([release.published.sum() for release in releases])
    errors = np.array([release.estimates.estimate - population.true_counts for release in releases])
    figures = claim.figures
    assert figures["redraws"] == [20, 20]
    assert figures["published"]["b"] == pytest.approx(published.mean())
    assert figures["published"]["b_error"] == pytest.approx(published.std(ddof=1) / math.sqrt(20))
    assert figures["rmse"]["b"] == pytest.approx(math.sqrt((errors**2).mean()))
    # Within six standard errors of exact theory: fails less than once in 10^8 seeds, and the seed is fixed.
    gap = figures["rmse"]["b"] - figures["rmse"]["b_expected"]
    assert abs(gap) < 6 * figures["rmse"]["b_error"]
    truth = population.true_counts
    false = np.array([(release.published & (truth < 100)).sum() for release in releases])
    held = np.array([(~release.published & (truth >= 100)).sum() for release in releases])
    assert figures["false_published"]["b"] == pytest.approx(false.mean())
    assert figures["false_suppressed"]["b"] == pytest.approx(held.mean())
    assert "A: 20 redraws of the devices' coins, draws 0 to 19" in claim.text
    assert "The cells are not the same in A and B" in claim.text


def test_the_same_run_twice_says_so(evidence: Evidence) -> None:
    found = compose(evidence, beside=both(ScenarioFile(name="The same", scenario=SMALL)), now=NOON)
    claim = claim_of(found, "Settings that differ")
    assert claim.text == "No setting differs: both are the same run under the same schedule."
    assert claim.table is None
    rows = claim_of(found, "What changes in use").table.rows
    assert {row[-1] for row in rows} == {"no"}


def test_epsilons_of_different_units_are_never_ranked(tmp_path: Path) -> None:
    from ldpcore.trips.read import read_trips

    lines = ["start_lat,start_lng"] + [f"{51.5 + 0.0004 * (i % 50):.5f},{-0.12:.5f}" for i in range(4_000)]
    path = tmp_path / "trips.csv"
    path.write_text("\n".join(lines))
    table = read_trips(path)
    scenario = Scenario(trips=table.digest, city="london", resolution=6)
    found = review(
        scenario,
        beside=Other(FILE, "half.json"),
        population_at=lambda other: population_of(other, table),
        now=NOON,
    )
    text = claim_of(found, "What changes in the promise").text
    assert "One report covers one trip" in text
    assert "neither is the smaller one" in text
    for word in ("lower ε", "higher ε", "stronger", "weaker", "safer", "better"):
        assert word not in text
    lost = ScenarioFile(name="Lost", scenario=replace(scenario, trips="0" * 64))
    with pytest.raises(ParameterError, match=r"SHA-256 0000.*which this report does not read"):
        review(scenario, beside=Other(lost), now=NOON)


def test_it_says_that_nothing_is_ranked(report: Report) -> None:
    text = " ".join(claim.text for claim in report.section("beside").statements)
    assert "ranks nothing" in text
    assert "anonym" not in text.lower()


# -- its files -------------------------------------------------------------------------------------


def test_it_is_in_all_four_formats(report: Report) -> None:
    assert '<section id="beside">' in WRITERS[".html"](report).decode()
    reader = pypdf.PdfReader(io.BytesIO(WRITERS[".pdf"](report)))
    assert "Beside another scenario" in [entry["/Title"] for entry in reader.outline]
    text = " ".join(" ".join(page.extract_text() for page in reader.pages).split())
    assert "B is “Half the loss”" in text
    found = yaml.safe_load(WRITERS[".yaml"](report))["beside_another_scenario"]
    assert list(found) == ABOUTS
    section = next(
        entry for entry in json.loads(WRITERS[".json"](report))["sections"] if entry["id"] == "beside"
    )
    for claim in section["statements"]:
        assert claim["reproduce"]
        assert found[claim["about"]]["figures"] == claim["figures"]


def test_the_same_two_give_the_same_bytes(evidence: Evidence) -> None:
    one, other = (compose(evidence, beside=both(FILE), now=NOON) for _ in range(2))
    for suffix, writer in WRITERS.items():
        assert writer(one) == writer(other), suffix


@pytest.mark.parametrize(
    "name", ["<script>alert(1)</script>", '#read("/etc/passwd")', "left\u202eright", "{{ 7 * 7 }}", "x" * 80]
)
def test_a_hostile_name_comes_out_as_a_name(evidence: Evidence, name: str) -> None:
    pair = both(ScenarioFile(name=name, scenario=SMALL), word=f"{name} ; rm.json")
    found = compose(evidence, beside=pair, now=NOON)
    wanted = name.replace("\u202e", "[U+202E]")
    assert (
        yaml.safe_load(WRITERS[".yaml"](found))["beside_another_scenario"]["Which two"]["figures"]["name"]
        == wanted
    )
    page = WRITERS[".html"](found).decode()
    assert "<script" not in page
    assert "\u202e" not in page
    text = "".join(page.extract_text() for page in pypdf.PdfReader(io.BytesIO(WRITERS[".pdf"](found))).pages)
    squeezed = "".join(text.replace("\u200b", "").split())
    assert "".join(wanted.split()) in squeezed
    words = shlex.split(claim_of(found, "Settings that differ").reproduce)
    assert words[words.index("--beside") + 1] == f"{wanted} ; rm.json"


def test_stopping_while_both_are_drawn() -> None:
    stop = Event()
    steps = []

    def told(done: int, total: int, sentence: str) -> None:
        steps.append((done, total, sentence))
        stop.set()

    with pytest.raises(ReviewCancelled):
        review(SMALL, beside=Other(FILE), progress=told, cancelled=stop)
    assert steps == [(0, 12, "setting the other scenario beside")]


# -- the verb --------------------------------------------------------------------------------------


def refused(capsys: Any, *words: str) -> str:
    assert main([*words]) == 2
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 1
    return str(lines[0])


def test_the_verb_takes_a_file_and_its_commands_give_the_same(
    capsys: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, other = tmp_path / "own map.json", tmp_path / "half the loss.json"
    own.write_text(ScenarioFile(name="Own", scenario=SMALL).to_json(), encoding="utf-8")
    other.write_text(FILE.to_json(), encoding="utf-8")
    assert main(["review", "--scenario", str(own), "--beside", str(other), "--json"]) == 0
    output = capsys.readouterr()
    found = json.loads(output.out)
    assert str(tmp_path) not in output.out  # a report says nothing of folders
    section = next(entry for entry in found["sections"] if entry["id"] == "beside")
    words = shlex.split(section["statements"][1]["reproduce"])[3:]
    monkeypatch.chdir(tmp_path)
    assert main(words) == 0
    again = json.loads(capsys.readouterr().out)
    for made in (found, again):
        made.pop("created")
    assert again == found
    # B by itself has the configuration that is named.
    words = shlex.split(section["statements"][0]["reproduce"])[3:]
    assert main(words) == 0
    alone = json.loads(capsys.readouterr().out)
    assert alone["configuration"] == section["statements"][0]["figures"]["configuration"]


def test_the_verb_takes_a_name_of_the_library(capsys: Any) -> None:
    assert main([*WORDS, "--beside", "districts", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    section = next(entry for entry in found["sections"] if entry["id"] == "beside")
    assert "B is “District report”" in section["statements"][0]["text"]
    assert section["statements"][-1]["page"].endswith("&second=library.districts")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("{", "--beside: This is no JSON"),
        ('{"format": "other"}', "--beside: This is no scenario file: its format must be"),
        (
            '{"format": "ldp-atlas-scenario", "version": 1, "name": "A", "scenario": {"floor": "many"}}',
            "--beside: floor must be a whole number, got 'many'",
        ),
        ('{"format": "ldp-atlas-scenario", "version": 9}', "newer than version 1"),
        (
            json.dumps(
                {
                    "format": "ldp-atlas-scenario",
                    "version": 1,
                    "name": "A",
                    "scenario": {"trips": "0" * 64, "city": "london"},
                }
            ),
            "which this report does not read",
        ),
    ],
)
def test_bad_files_are_refused_with_the_field(
    capsys: Any, tmp_path: Path, content: str, sentence: str
) -> None:
    path = tmp_path / "other.json"
    path.write_text(content, encoding="utf-8")
    assert sentence in refused(capsys, *WORDS, "--beside", str(path))


def test_what_is_no_file_and_no_name_is_refused(capsys: Any) -> None:
    assert "'nowhere' is no scenario file, and the library holds congestion" in refused(
        capsys, *WORDS, "--beside", "nowhere"
    )
    assert "nowhere.json cannot be opened" in refused(capsys, *WORDS, "--beside", "/no/nowhere.json")
