"""Every numeric option of every verb, with numbers that cannot be: one line, exit code 2, and no long wait."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from ldpcore.cli import main

NEVER = (
    "-1",
    "nan",
    "inf",
    "-inf",
    "1e400",
    "-0.5",
    "-9223372036854775809",
    "99999999999999999999999",
    "many",
)
"""No option of any verb can be one of these but where `FINE` says so."""

SMALL = "--devices 500 --resolution 5"
VERBS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "run": (
        f"run {SMALL}",
        ("devices", "resolution", "epsilon", "floor", "confidence", "seed", "draw", "hour"),
    ),
    "run --fall-back": (f"run --fall-back summed {SMALL}", ("coarsest",)),
    "perturb": (f"perturb --out r.parquet {SMALL}", ("devices", "resolution", "epsilon", "seed", "hour")),
    "aggregate": ("aggregate reports.parquet", ("floor", "confidence")),
    "audit": ("audit --trials 20 --mechanism grr", ("epsilon", "domain-size", "trials")),
    "shuffle": ("shuffle --epsilon 1 --devices 1000 --delta 1e-6", ("epsilon", "devices", "delta", "target")),
    "size": (
        "size --devices 100000 --cells 100 --target-error 0.1",
        ("devices", "cells", "target-error", "epsilon", "smallest-count"),
    ),
    "sweep": (
        "sweep --devices 500 --resolutions 5 --repeats 1",
        ("devices", "epsilons", "resolutions", "floors", "repeats", "confidence", "seed", "hour"),
    ),
    "trips": ("trips --city helsinki --devices 10 --out t.csv", ("devices", "seed")),
    "mechanisms": ("mechanisms", ("epsilon", "domain-size")),
    "check": ("check", ("epsilon", "domain-size", "cap", "floor", "confidence")),
    "compare": ("compare congestion congestion", ("redraws",)),
    "review": (
        f"review {SMALL}",
        (
            *("devices", "resolution", "epsilon", "floor", "confidence", "seed", "draw", "hour"),
            *("reports-a-day", "cap", "epoch-days"),
        ),
    ),
}
FINE = {("shuffle", "target", "99999999999999999999999")}
"""A target above the epsilon of a report is reached by a batch of one."""

ZERO_IS_NOTHING = {
    "devices",
    "resolution",
    "epsilon",
    "confidence",
    "domain-size",
    "trials",
    "delta",
    "target",
    "cells",
    "target-error",
    "smallest-count",
    "epsilons",
    "resolutions",
    "repeats",
    "cap",
    "reports-a-day",
    "epoch-days",
    "redraws",
    "coarsest",
}
TINY = "1e-300"
TINY_IS_NOTHING = {"epsilon", "epsilons", "target", "target-error", "smallest-count"}
HUGE = {
    ("audit", "domain-size", "1000000000"),
    ("audit", "trials", "99999999999"),
    ("check", "domain-size", "1000000000"),
    ("perturb", "devices", "9999999999"),
}


def impossible() -> list[tuple[str, str, str]]:
    tried = [
        (verb, option, value) for verb, (_, options) in VERBS.items() for option in options for value in NEVER
    ]
    for verb, (_, options) in VERBS.items():
        tried += [(verb, option, "0") for option in options if option in ZERO_IS_NOTHING]
        tried += [(verb, option, TINY) for option in options if option in TINY_IS_NOTHING]
    return [case for case in [*tried, *sorted(HUGE)] if case not in FINE]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("numbers")
    assert main(["perturb", *SMALL.split(), "--out", str(path / "reports.parquet")]) == 0
    return path


@pytest.mark.parametrize("verb", VERBS)
def test_an_impossible_number_is_one_line_at_once(
    verb: str, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    for name, option, value in impossible():
        if name != verb:
            continue
        words = VERBS[verb][0].split()
        if f"--{option}" in words:
            place = words.index(f"--{option}")
            del words[place : place + 2]
        began = time.process_time()
        assert main([*words, f"--{option}={value}"]) == 2, (option, value)
        captured = capsys.readouterr()
        assert time.process_time() - began < 5, (option, value)
        assert captured.out == "", (option, value)
        assert captured.err.count("\n") == 1, (option, value, captured.err)
        assert captured.err.startswith("error: "), (option, value)


def test_every_number_of_every_verb_is_tried(capsys: pytest.CaptureFixture[str]) -> None:
    """A numeric option that is added later must be added here."""
    known: dict[str, set[str]] = {}
    for verb, (_, options) in VERBS.items():
        known.setdefault(verb.split()[0], set()).update(options)
    assert main(["--help"]) == 0
    verbs = re.findall(r"^  ([a-z]+)  ", capsys.readouterr().out.split("Commands:")[1], re.MULTILINE)
    assert len(verbs) >= 12
    for verb in verbs:
        assert main([verb, "--help"]) == 0
        numeric = set(re.findall(r"--([a-z-]+) <(?:int|float)>", capsys.readouterr().out))
        assert numeric <= known.get(verb, set()), verb


@pytest.mark.parametrize("cells", ["300000", "10000000", "2147483646"])
def test_mechanisms_answers_at_any_size_of_domain(cells: str, capsys: pytest.CaptureFixture[str]) -> None:
    for epsilon in ("0.01", "1", "20"):
        began = time.process_time()
        assert main(["mechanisms", "--domain-size", cells, "--epsilon", epsilon, "--json"]) == 0
        assert time.process_time() - began < 3
        capsys.readouterr()
