"""Every computed figure of a report has a command that prints it, and no sentence claims more than was found."""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from ldpcore.cli import main
from ldpcore.review import Evidence, compose, gather
from ldpcore.review.diagram import draw_trust, trust_table
from ldpcore.review.report import COMPUTED
from ldpcore.schedule import Schedule
from ldpcore.settings import Scenario

SMALL = Scenario(city="cape_town", resolution=5, devices=50_000)


@pytest.fixture(scope="module")
def evidence() -> Evidence:
    return gather(SMALL)


def numbers(value: Any) -> Iterator[float]:
    if isinstance(value, dict):
        for entry in value.values():
            yield from numbers(entry)
    elif isinstance(value, list | tuple):
        for entry in value:
            yield from numbers(entry)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield float(value)


def claim_of(evidence: Evidence, section: str, about: str) -> Any:
    found = compose(evidence)
    return next(claim for claim in found.section(section).statements if claim.about == about)


# -- where the figures come from -------------------------------------------------------------------


def test_every_computed_claim_with_figures_has_a_command(evidence: Evidence) -> None:
    for found in (evidence, replace(evidence, schedule=Schedule(memo=False, reports_a_day=24))):
        for section in compose(found).sections:
            for claim in section.statements:
                if claim.source == COMPUTED and (claim.figures or claim.exact):
                    assert claim.reproduce.startswith("python -m ldpcore "), (section.id, claim.about)


def test_every_cited_command_prints_the_cited_figures(evidence: Evidence, capsys: Any) -> None:
    """The report's own command holds the figures of the claims; a narrower one must print each of them itself."""
    report = compose(evidence)
    own = report.sections[0].statements[0].reproduce
    wanted: dict[str, list[tuple[str, float]]] = {}
    for section in report.sections:
        for claim in section.statements:
            if claim.reproduce.startswith("python"):
                wanted.setdefault(claim.reproduce, []).extend(
                    (claim.about, number) for number in numbers(dict(claim.figures))
                )
    assert len(wanted) >= 4
    assert own in wanted
    for command, cited in wanted.items():
        words = shlex.split(command)[3:]
        assert main([*words, *([] if "--json" in words else ["--json"])]) == 0, command
        printed = list(numbers(json.loads(capsys.readouterr().out)))
        for about, number in cited:
            assert any(math.isclose(number, other, rel_tol=1e-9) for other in printed), (
                command,
                about,
                number,
            )


def test_the_first_point_says_that_its_command_draws_afresh(evidence: Evidence) -> None:
    claim = claim_of(evidence, "checklist", "Six points")
    assert claim.reproduce.startswith("python -m ldpcore check ")
    assert "the same source with seeded coins" in claim.text
    assert "the command check draws afresh" in claim.text
    assert "The same source with seeded coins: " in claim.table.rows[0][2]


# -- no sentence claims too much -------------------------------------------------------------------


def test_with_memory_the_diagram_says_what_epsilon_does_not_bound(evidence: Evidence) -> None:
    changes = "when a remembered answer changes or stops"
    assert changes in draw_trust(shuffler=False, memo=True)
    assert changes not in draw_trust(shuffler=False, memo=False)
    server = next(row for row in trust_table(shuffler=True, memo=True).rows if row[0] == "Server")
    assert changes in server[3]
    assert changes in compose(evidence).section("trust").svg
    fresh = compose(replace(evidence, schedule=Schedule(memo=False)))
    assert changes not in fresh.section("trust").svg
    assert all(changes not in cell for row in fresh.section("trust").statements[0].table.rows for cell in row)


def test_an_attack_that_could_refute_says_how_far_it_sees(evidence: Evidence) -> None:
    replica = replace(evidence.audit.replica, max_certifiable=3.1)
    found = replace(evidence, audit=replace(evidence.audit, replica=replica))
    text = claim_of(found, "audit", "Lower bound").text
    assert "would still have been found to exceed the claim" in text
    assert "unseen" not in text
    assert "could have proved up to 3.1 found nothing against it" in compose(found).verdict


def test_an_attack_that_could_not_refute_is_no_support(evidence: Evidence) -> None:
    """A claim of 2, and trials that could prove 0.7 at most: only the proof supports the claim."""
    replica = replace(evidence.audit.replica, max_certifiable=0.7)
    found = replace(evidence, audit=replace(evidence.audit, replica=replica))
    report = compose(found)
    assert report.verdict.startswith(
        "The claim that one report has a privacy loss of at most ε = 2 is supported by the proof alone"
    )
    assert "could have proved 0.7 at most, less than the claim" in report.verdict
    front = dict(report.sections[0].statements[0].table.rows)
    assert front["Attack on the client"].endswith("less than the claim: it could not have refuted it")
    assert "could not have refuted it" in claim_of(found, "audit", "Lower bound").text


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("origins", "trips that start outside"),
        ("destinations", "trips that end outside"),
        ("presence", "devices that are, at that hour, outside"),
    ],
)
def test_what_lies_outside_is_told_by_the_question(evidence: Evidence, query: str, words: str) -> None:
    found = replace(evidence, scenario=replace(evidence.scenario, query=query))
    assert words in claim_of(found, "domain", "Outside the domain").text
