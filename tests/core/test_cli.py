"""The command line prints what the contract names, and answers mistakes with one line and exit code 2."""

import json
import math
import shlex
import subprocess
import sys
from datetime import datetime
from pathlib import Path

import pandas as pd
import pytest

import ldpcore
from ldpcore.cli import main
from ldpcore.release_files import release_bytes
from ldpcore.scenario import run
from ldpcore.settings import Scenario

ROOT = Path(__file__).resolve().parents[2]


def answer(capsys, *words: str):
    assert main([*words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(
    "words",
    [
        "run --epsilon 0",
        "run --epsilon abc",
        "run --epsilon nan",
        "run --epsilon inf",
        "run --epsilon 21",
        "run --devices 0",
        "run --devices many",
        "run --floor -1",
        "run --confidence 0",
        "run --confidence 1",
        "run --resolution 3",
        "run --city atlantis",
        "run --query dreams",
        "run --mechanism magic",
        "run --options k=",
        "run --options nonsense=1",
        "run --hour 24",
        "run --day friday",
        "run --correction hope",
        "run --interval guess",
        "run --trips missing.csv",
        "run --area 1,2,3,4",
        "run --trips x.csv --devices 5",
        "run --out release.xlsx",
        "run --coarsest 5",
        "run --fall-back hope",
        "run --fall-back summed --coarsest 8",
        "run --mechanism grr --fall-back groups",
        "run --bogus",
        "mechanisms --epsilon 0",
        "mechanisms --domain-size 1",
        "trips --city atlantis --devices 5 --out t.csv",
        "trips --city tokyo --devices 5 --out t.xlsx",
        "trips --city tokyo",
        "perturb --devices 5",
        "perturb --devices 5 --out r.csv",
        "perturb --devices 5 --device --seed 1 --out r.parquet",
        "aggregate missing.parquet",
        "audit --epsilon 0",
        "audit --trials 1",
        "sing",
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(words: str, capsys, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(words.split()) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert captured.err.startswith("error: ")
    assert "Usage" not in captured.err


def test_the_module_runs_as_a_program() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "ldpcore", "run", "--epsilon", "-1"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1


def test_cities_lists_every_area_with_its_cells(capsys) -> None:
    rows = {row["name"]: row["cells"] for row in answer(capsys, "cities")}
    assert set(rows) == {"new_york", "san_francisco", "london", "singapore", "tokyo", "helsinki", "cape_town"}
    assert list(rows["new_york"]) == ["5", "6", "7", "8", "9", "10"]
    # Overlap counts of resolution 8 measured independently, within 5 %.
    measured = {
        "new_york": 2218,
        "san_francisco": 2232,
        "london": 2587,
        "singapore": 1779,
        "tokyo": 1915,
        "helsinki": 2054,
        "cape_town": 2523,
    }
    for city, cells in measured.items():
        assert rows[city]["8"] == pytest.approx(cells, rel=0.05)


def test_mechanisms_agrees_with_closed_forms(capsys) -> None:
    rows = {
        row["name"]: row for row in answer(capsys, "mechanisms", "--epsilon", "2", "--domain-size", "2000")
    }
    r = 7.38905609893065
    assert rows["oue"]["p"] == pytest.approx(0.5, rel=1e-12)
    assert rows["oue"]["q"] == pytest.approx(1 / (r + 1), rel=1e-12)
    assert rows["oue"]["variance_empty"] == pytest.approx(4 * r / (r - 1) ** 2, rel=1e-12)
    assert rows["oue"]["variance_slope"] == pytest.approx(1, rel=1e-12)
    assert rows["oue"]["report_bits"] == 2000
    assert rows["oue"]["payload_bytes"] == 250
    # A set of k = 238 of 2,000 cells holds log2 C(2000, 238) bits; one bit for each cell is sent.
    assert rows["ss"]["report_bits"] == math.ceil(math.log2(math.comb(2000, 238)))
    assert rows["ss"]["payload_bytes"] == 250
    assert rows["grr"]["variance_empty"] == pytest.approx((r + 1998) / (r - 1) ** 2, rel=1e-12)
    assert rows["grr"]["variance_slope"] == pytest.approx(1998 / (r - 1), rel=1e-12)
    assert all(row["epsilon_effective"] <= 2 for row in rows.values())


def test_trips_are_written_and_read_again(capsys, tmp_path) -> None:
    for name in ("trips.csv", "trips.parquet"):
        path = tmp_path / name
        written = answer(
            capsys, "trips", "--city", "helsinki", "--devices", "3000", "--seed", "5", "--out", str(path)
        )
        figures = answer(capsys, "run", "--trips", str(path), "--city", "helsinki", "--resolution", "7")
        assert written["devices"] == 3000
        assert figures["rows_read"] == written["rows"]
        assert figures["reports"] == 3000
        assert figures["unit"] == "device"
        assert figures["rows_dropped"] == {"not_chosen": written["rows"] - 3000}


def test_a_link_and_its_command_give_identical_numbers(capsys, tmp_path) -> None:
    scenario = Scenario(
        city="singapore", devices=30_000, resolution=7, epsilon=1.3, draw=2, floor=20, hour=18
    )
    out = tmp_path / "release.csv"
    words = shlex.split(scenario.to_command(out=str(out)))
    assert main(words[3:]) == 0
    capsys.readouterr()
    assert out.read_bytes() == release_bytes(run(scenario), ".csv", truth=True)
    assert len(pd.read_csv(out)) > 100


def test_a_table_is_printed_without_json(capsys) -> None:
    assert main(["run", "--devices", "5000", "--resolution", "6"]) == 0
    captured = capsys.readouterr()
    assert "domain_size" in captured.out
    assert captured.err == ""


def test_report_files_are_counted_by_domain_and_parameters(capsys, tmp_path) -> None:
    made = [
        ("a", ["--resolution", "6", "--epsilon", "1", "--mechanism", "olh"], 4000),
        ("b", ["--resolution", "6", "--epsilon", "1", "--mechanism", "olh", "--seed", "2"], 3000),
        ("c", ["--resolution", "6", "--epsilon", "2", "--mechanism", "olh"], 2000),
        ("d", ["--resolution", "5", "--epsilon", "1", "--mechanism", "grr", "--device"], 500),
    ]
    for name, words, devices in made:
        out = tmp_path / f"{name}.parquet"
        written = answer(capsys, "perturb", "--devices", str(devices), "--out", str(out), *words)
        assert written["reports"] == devices
    files = [str(tmp_path / f"{name}.parquet") for name, _, _ in made]
    counted = answer(capsys, "aggregate", *files, "--out", str(tmp_path / "r.csv"))
    assert [group["reports"] for group in counted["groups"]] == [7000, 2000, 500]
    assert counted["rejected"] == {}
    releases = sorted(path.name for path in tmp_path.glob("r.*.csv"))
    assert len(releases) == 3
    domain = counted["groups"][2]["domain_version"]
    frame = pd.read_csv(tmp_path / f"r.{domain}.csv")
    assert "true_count" not in frame.columns
    assert frame["reports"].unique().tolist() == [500]


def test_questions_are_released_apart_and_the_sidecar_says_what_the_reports_were(capsys, tmp_path) -> None:
    trips = tmp_path / "trips.csv"
    trips.write_text(
        "device,start_time,end_time,start_lat,start_lon,end_lat,end_lon\n"
        + "".join(
            f"{i},2024-03-05T08:{i % 60:02d},2024-03-05T09:00,47.{370 + i % 7},8.5{i % 5},47.38,8.5{i % 4}\n"
            for i in range(300)
        )
    )
    files = []
    for query in ("origins", "destinations"):
        files.append(str(tmp_path / f"{query}.parquet"))
        words = ["--resolution", "7", "--query", query, "--hour", "8" if query == "origins" else "9"]
        assert main(["perturb", "--trips", str(trips), "--out", files[-1], *words]) == 0
    capsys.readouterr()
    assert main(["aggregate", *files, files[0], "--out", str(tmp_path / "r.csv"), "--json"]) == 0
    captured = capsys.readouterr()
    found = json.loads(captured.out)
    assert [group["question"]["query"] for group in found["groups"]] == ["origins", "destinations"]
    assert found["rejected"] == {"the same file again": found["groups"][0]["reports"]}
    assert "different questions" in captured.err
    assert "was taken from the data" in captured.err
    releases = sorted(path.name for path in tmp_path.glob("r.*.csv"))
    assert [name.split(".")[2].split("-")[0] for name in releases] == ["destinations", "origins"]
    assert sorted(Path(name).name for group in found["groups"] for name in group["files"]) == sorted(
        [*releases, *(f"{name}.scenario.json" for name in releases)]
    )
    about = json.loads((tmp_path / f"{releases[1]}.scenario.json").read_text())
    assert about["package_version"] == ldpcore.__version__
    assert datetime.fromisoformat(about["created"]).tzinfo is not None
    assert about["domain"]["from_data"] is True
    assert about["domain"]["resolution"] == 7
    assert about["epsilon_effective"] == 2.0
    assert about["question"] == {"query": "origins", "day": None, "hour": 8, "unit": "trip", "clock": "UTC"}
    assert "does not protect the people of the file" in about["warning"]


def test_one_report_file_gives_the_release_of_the_run_by_reports(capsys, tmp_path) -> None:
    reports, release = tmp_path / "reports.parquet", tmp_path / "release.csv"
    words = ["--devices", "20000", "--resolution", "6", "--mechanism", "oue", "--seed", "3"]
    answer(capsys, "perturb", "--out", str(reports), *words)
    answer(capsys, "aggregate", str(reports), "--floor", "40", "--out", str(release))
    run_release = run(Scenario(devices=20000, resolution=6, seed=3, floor=40, per_report=True))
    frame = pd.read_csv(release)
    assert frame["estimate"].tolist() == run_release.estimates.estimate.tolist()
    assert frame["status"].tolist() == run_release.frame(truth=False)["status"].tolist()


def test_the_audit_passes_the_client_that_ships(capsys) -> None:
    found = answer(capsys, "audit", "--mechanism", "grr", "--epsilon", "1", "--trials", "5000")
    assert found["passed"] is True
    assert 0 < found["epsilon_lower_bound"] <= found["epsilon_effective"] <= 1
    assert found["max_certifiable"] > 1


def test_the_version_is_that_of_every_sidecar(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"ldpcore {ldpcore.__version__}\n"
