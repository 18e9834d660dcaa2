"""The verbs size, shuffle and sweep: the keys they promise, and one line for a mistake."""

import json

import pandas as pd
import pytest

from ldpcore.cli import main


def answer(capsys, text: str):
    assert main([*text.split(), "--json"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    return json.loads(captured.out)


def test_size_says_no_and_what_would_be_yes(capsys) -> None:
    verdict = answer(
        capsys,
        "size --devices 400000 --cells 2587 --epsilon 2 --mechanism oue --target-error 0.2 --smallest-count 500",
    )
    assert verdict["affordable"] is False
    assert verdict["smallest_count"] == pytest.approx(2703.4, abs=0.1)
    assert verdict["devices_needed"] == 11_604_987
    assert verdict["epsilon_needed"] == pytest.approx(5.138, abs=1e-3)
    assert all(isinstance(reason, str) for reason in verdict["reasons"])


def test_size_without_a_count_asks_whether_even_cells_are_full_enough(capsys) -> None:
    assert answer(capsys, "size --devices 3000000 --cells 101 --epsilon 2 --target-error 0.05")["affordable"]
    verdict = answer(capsys, "size --devices 3000000 --cells 102 --epsilon 2 --target-error 0.05")
    assert not verdict["affordable"]
    assert verdict["cells_at_most"] == 101


def test_shuffle_gives_the_numeric_bound_and_says_where_the_closed_form_fails(capsys) -> None:
    found = answer(capsys, "shuffle --epsilon 2 --devices 10000 --delta 1e-6 --target 0.1")
    assert found == {
        "epsilon_central": pytest.approx(0.15504524250422946, rel=2e-6),
        "bound": "clone",
        "valid": True,
        "smallest_batch": 22640,
    }
    refused = answer(capsys, "shuffle --epsilon 2 --devices 10 --delta 1e-6 --bound closed_form")
    assert refused == {"epsilon_central": 2.0, "bound": "closed_form", "valid": False}


def test_sweep_gives_a_row_a_combination(capsys, tmp_path) -> None:
    out = tmp_path / "sweep.parquet"
    rows = answer(
        capsys,
        "sweep --city helsinki --devices 50000 --floor 100 --epsilons 0.5,1 --resolutions 5,6 --mechanisms oue,grr "
        f"--repeats 3 --out {out}",
    )
    assert [(row["epsilon"], row["resolution"], row["mechanism"]) for row in rows] == [
        (epsilon, resolution, mechanism)
        for epsilon in (0.5, 1.0)
        for resolution in (5, 6)
        for mechanism in ("oue", "grr")
    ]
    for row in rows:
        assert row["repeats"] == 3
        assert row["published"] + row["suppressed"] == pytest.approx(row["domain_size"])
        assert row["rmse"] == pytest.approx(row["rmse_expected"], rel=0.6)
        assert row["rmse_sd"] > 0
        assert row["p_exact"].count("/") == 1
        assert row["error"] is None
    assert len(pd.read_parquet(out)) == len(rows)


def test_a_combination_that_cannot_run_is_noted(capsys) -> None:
    words = "sweep --city helsinki --devices 5000 --epsilons 1,99 --resolutions 5 --repeats 2 --json"
    assert main(words.split()) == 0
    captured = capsys.readouterr()
    good, bad = json.loads(captured.out)
    assert good["error"] is None
    assert "at most 20" in bad["error"]
    assert captured.err.startswith("note: not run: epsilon 99.0, resolution 5")


@pytest.mark.parametrize(
    "words",
    [
        "size --devices 0 --cells 10 --epsilon 1 --mechanism oue --target-error 0.1",
        "size --devices 10 --cells 1 --epsilon 1 --mechanism oue --target-error 0.1",
        "size --devices 10 --cells 10 --epsilon 0 --mechanism oue --target-error 0.1",
        "size --devices 10 --cells 10 --epsilon nan --mechanism oue --target-error 0.1",
        "size --devices 10 --cells 10 --epsilon 1 --mechanism magic --target-error 0.1",
        "size --devices 10 --cells 10 --epsilon 1 --mechanism oue --target-error 0",
        "size --devices 10 --cells 10 --epsilon 1 --mechanism oue --target-error 0.1 --smallest-count 11",
        "size --devices 10 --cells 10",
        "shuffle --epsilon 0 --devices 10 --delta 1e-6",
        "shuffle --epsilon 1 --devices 0 --delta 1e-6",
        "shuffle --epsilon 1 --devices 10 --delta 0",
        "shuffle --epsilon 1 --devices 10 --delta 1e-6 --bound hope",
        "shuffle --epsilon 20 --devices 10 --delta 1e-6 --target 0.0001",
        "sweep --epsilons a,b",
        "sweep --epsilons 99",
        "sweep --mechanisms magic",
        "sweep --repeats 0",
        "sweep --city atlantis",
        "sweep --trips missing.csv",
        "sweep --trips missing.csv --devices 5",
        "sweep --out sweep.csv",
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(words: str, capsys, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(words.split()) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert captured.err.startswith("error: ")
