"""Sentences of a report that count, order, round or name a scope: each agrees with what it is about."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
import yaml

from ldpcore.review import Evidence, Other, Report, compose, gather, review
from ldpcore.review.words import percent
from ldpcore.review.yaml import report_yaml
from ldpcore.scenario_file import ScenarioFile
from ldpcore.settings import Scenario

SMALL = Scenario(city="cape_town", resolution=5, devices=50_000)
NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


@pytest.fixture(scope="module")
def evidence() -> Evidence:
    return gather(SMALL)


@pytest.fixture(scope="module")
def report(evidence: Evidence) -> Report:
    return compose(evidence, now=NOON)


def claim_of(report: Report, section: str, about: str) -> Any:
    return next(claim for claim in report.section(section).statements if claim.about == about)


def test_the_lists_of_what_is_open_agree(report: Report) -> None:
    fields = yaml.safe_load(report_yaml(report))["evidence"]["not_addressed"]
    count = claim_of(report, "risks", "Not addressed").figures["not_addressed"]
    assert len(fields) == len(set(fields)) == count
    assert f"{count} points are not addressed" in report.verdict
    assert dict(report.sections[0].statements[0].table.rows)["Not addressed"] == f"{count} points"


def test_flows_are_said_to_be_missing(report: Report) -> None:
    claim = claim_of(report, "utility", "Flows between cells")
    assert claim.source == "not addressed"
    assert "origin-destination pairs are not estimated" in claim.text


def test_only_certainty_is_a_hundred_per_cent() -> None:
    assert [percent(share) for share in (1.0, 0.9995, 0.99951, 0.9989, 0.9994)] == [
        "100 %",
        "over 99.9 %",
        "over 99.9 %",
        "99.9 %",
        "99.9 %",
    ]


def test_published_deployments_stand_in_the_order_they_are_said_to(report: Report) -> None:
    claim = claim_of(report, "context", "Published deployments")
    assert "local ones first, then the central ones" in claim.text
    rows = [(row[2] == "central", row[1].split(",")[0], row[0]) for row in claim.table.rows[1:]]
    assert rows == sorted(rows)


def test_presence_without_an_hour_says_which_is_taken(evidence: Evidence) -> None:
    scenario = replace(SMALL, query="presence")
    found = compose(replace(evidence, scenario=scenario), now=NOON)
    assert "at 12:00, which is taken where no hour is named" in claim_of(found, "purpose", "Data").text
    named_hour = compose(replace(evidence, scenario=replace(scenario, hour=8)), now=NOON)
    assert "at 08:00." in claim_of(named_hour, "purpose", "Data").text


def test_beside_it_too() -> None:
    other = Other(ScenarioFile(name="Where they are", scenario=replace(SMALL, query="presence")))
    found = review(SMALL, beside=other, now=NOON)
    rows = {row[0]: row[1:] for row in claim_of(found, "beside", "Settings that differ").table.rows}
    assert rows["Hour"] == ("all day", "12:00")


def test_the_configuration_says_what_it_covers(evidence: Evidence, report: Report) -> None:
    assert "neither the user's statements nor the level" in claim_of(report, "purpose", "This run").text
    said = compose(evidence, statements={"retention": "A day."}, now=NOON)
    assert said.configuration == report.configuration
