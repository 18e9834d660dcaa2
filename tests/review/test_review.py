"""The reviewer's report: its sections, its figures against the core, the same bytes again, hostile words."""

from __future__ import annotations

import io
import json
import math
import re
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction
from threading import Event
from typing import Any

import numpy as np
import pypdf
import pytest
import yaml

from ldpcore.guessing import best_guess
from ldpcore.mechanisms import make_mechanism
from ldpcore.population import population_of
from ldpcore.privacy.posterior import posterior
from ldpcore.privacy.shuffle import amplify
from ldpcore.review import Evidence, Report, ReviewCancelled, compose, gather, review
from ldpcore.review.files import WRITERS
from ldpcore.review.prior import guess_with_prior, measured_guess
from ldpcore.review.registry import FIELDS
from ldpcore.review.report import COMPUTED, NOT_ADDRESSED, SOURCES, USER
from ldpcore.scenario import run_population
from ldpcore.schedule import Schedule
from ldpcore.settings import Scenario
from ldpcore.statements import LONGEST, STATEMENTS

SMALL = Scenario(city="cape_town", resolution=6, devices=200_000)
NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
SECTIONS = [
    "label",
    "purpose",
    "trust",
    "unit",
    "mechanism",
    "domain",
    "composition",
    "shuffle",
    "justification",
    "utility",
    "suppression",
    "postprocessing",
    "checklist",
    "audit",
    "generator",
    "reconstruction",
    "poisoning",
    "unprotected",
    "hazards",
    "legal",
    "context",
    "risks",
    "signoff",
]
HOSTILE = (
    '#read("/etc/passwd")',
    "</script><script>alert(1)</script>",
    ": - {",
    "left\u202eright",
    "=HYPERLINK(1)\n@cmd",
    "#set page(width: 1pt)\n$x$ *b* <label> `raw`",
    "{{ 7 * 7 }} {% include 'x' %}",
    "--- !!python/object/apply:os.system ['id']",
    "x" * LONGEST,
)


@pytest.fixture(scope="module")
def evidence() -> Evidence:
    return gather(SMALL)


@pytest.fixture(scope="module")
def report(evidence: Evidence) -> Report:
    return compose(evidence, now=NOON)


def text_of(report: Report, name: str) -> str:
    section = report.section(name)
    rows = [cell for claim in section.statements if claim.table for row in claim.table.rows for cell in row]
    return " ".join([claim.text for claim in section.statements] + rows)


def figures_of(report: Report, name: str, about: str) -> dict[str, Any]:
    return dict(next(claim.figures for claim in report.section(name).statements if claim.about == about))


def pdf_text(content: bytes) -> str:
    return "\n".join(page.extract_text() for page in pypdf.PdfReader(io.BytesIO(content)).pages)


# -- what is in it ---------------------------------------------------------------------------------


def test_every_section_is_there_and_every_claim_has_one_of_three_sources(report: Report) -> None:
    assert [section.id for section in report.sections] == SECTIONS
    for section in report.sections:
        assert section.statements, section.id
        for claim in section.statements:
            assert claim.source in SOURCES
            assert claim.text.strip()
            assert claim.about
            if claim.source == NOT_ADDRESSED:
                assert claim.text.startswith("Not addressed.")


def test_the_figures_are_those_of_the_run(report: Report) -> None:
    release = run_population(SMALL, population_of(SMALL))
    error = figures_of(report, "utility", "Error of a cell")
    assert (error["rmse"], error["rmse_expected"]) == (release.figures.rmse, release.figures.rmse_expected)
    published = figures_of(report, "utility", "Published")
    assert published["published"] == int(release.published.sum())
    held_back = figures_of(report, "suppression", "What it removes")
    assert held_back["held_back"] == release.population.domain.size - int(release.published.sum())


def test_p_and_q_are_exact_and_imply_the_epsilon_beside_the_label(report: Report) -> None:
    claim = next(entry for entry in report.section("mechanism").statements if entry.about == "Probabilities")
    exact = dict(claim.exact)
    p, q = Fraction(exact["p"]), Fraction(exact["q"])
    ratio = p * (1 - q) / ((1 - p) * q)
    assert 2 - 1e-15 < math.log(ratio) <= 2
    assert ratio == Fraction(exact["R, e^ε rounded down"])
    assert figures_of(report, "mechanism", "Epsilon that they imply")["epsilon_effective"] <= 2


def test_a_clock_set_forward_is_among_what_is_not_protected(evidence: Evidence) -> None:
    # tests/privacy/test_ledger_clock.py steps a clock ten weeks in a day and gets ten answers.
    for memo, said in (
        (True, "gets a fresh answer, or a cap of them, with each step"),
        (False, "its own clock"),
    ):
        report = compose(replace(evidence, schedule=Schedule(memo=memo)), now=NOON)
        claims = report.section("unprotected").statements
        (claim,) = [claim for claim in claims if claim.about == "The phone's clock"]
        assert said in claim.text


def test_losses_add_up_by_hand(evidence: Evidence) -> None:
    schedule = Schedule(reports_a_day=288, memo=False)
    fresh = compose(replace(evidence, schedule=schedule), now=NOON)
    figures = figures_of(fresh, "composition", "What they add up to")
    assert figures["1_days"] == 288 * 2
    assert "at most ε = 576 a day, which is no guarantee in any useful sense." in fresh.verdict
    assert figures["730_days"] == 730 * 288 * 2
    # Five cells an epoch of one day; two cells, home and work, beside it.
    schedule = Schedule(reports_a_day=10, cap=5, epoch_days=1, at_cap="replay")
    memo = compose(replace(evidence, schedule=schedule), now=NOON)
    figures = figures_of(memo, "composition", "What they add up to")
    assert (figures["1_days"], figures["1_days_two_cells"]) == (10, 4)
    assert (
        "at most ε = 10 a day for which cells it was in; when it changed cell is not covered." in memo.verdict
    )
    assert "repeats an old answer" in text_of(memo, "composition")


def test_nothing_is_printed_of_a_shuffler_that_nobody_named(evidence: Evidence, report: Report) -> None:
    assert "nothing is added here" in text_of(report, "shuffle")
    assert all(claim.source != COMPUTED for claim in report.section("shuffle").statements)
    words = {"shuffler": "The post office.", "shuffled_reports": "100000", "shuffle_delta": "1e-8"}
    named = compose(evidence, statements=words, now=NOON)
    figures = figures_of(named, "shuffle", "Guarantee after shuffling")
    assert figures["epsilon_central"] == amplify(2.0, devices=100_000, delta=1e-8).epsilon_central
    assert "Shuffler" in named.section("trust").svg
    del words["shuffle_delta"]
    claims = compose(evidence, statements=words, now=NOON).section("shuffle").statements
    assert claims[-1].source == NOT_ADDRESSED


def test_the_users_words_stand_where_they_belong_and_the_rest_is_open(evidence: Evidence) -> None:
    words = {name: f"Statement about {name}." for name, entry in STATEMENTS.items() if entry.long}
    words |= {"name": "A map", "publication_date": "2026-11-30", "reviewer": "The data protection office"}
    said = compose(evidence, statements=words, now=NOON)
    claims = [claim for section in said.sections for claim in section.statements]
    for name, text in words.items():
        if name != "sources":  # the registry alone asks for it
            assert any(claim.source == USER and claim.text == text for claim in claims), name
    open_points = {claim.about for claim in claims if claim.source == NOT_ADDRESSED}
    assert open_points == {
        "Who collects",
        "Sector",
        "Region",
        "Who may read the release",
        "Honest reports a shuffled batch",
        "Delta after shuffling",
        "Guarantee after shuffling",
        "Date of the decision",
        "Flows between cells",
    }
    assert said.title == "Privacy review: A map"


def test_own_words_never_become_the_claim_of_a_check(evidence: Evidence) -> None:
    said = compose(evidence, statements={"attestation": "The claim is not supported"}, now=NOON)
    assert said.supported
    row = next(
        row
        for row in said.section("hazards").statements[0].table.rows
        if row[0].startswith("The client on the phone")
    )
    assert row[2] == "user"


def test_a_failed_check_changes_the_verdict(evidence: Evidence) -> None:
    broken = replace(evidence, audit=replace(evidence.audit, live_passed=False))
    failed = compose(broken, now=NOON)
    assert not failed.supported
    assert failed.verdict.startswith("No: a check of this run contradicts the claim")
    assert "FAILED" in text_of(failed, "audit")
    for writer in (WRITERS[".html"], WRITERS[".yaml"]):
        assert "contradicts the claim" in writer(failed).decode()


def test_a_schedule_without_memory_does_not_count_against_the_claim(evidence: Evidence) -> None:
    entries = list(evidence.checks.entries)
    entries[1] = replace(entries[1], passed=False)
    checks = replace(evidence.checks, entries=tuple(entries))
    fresh = compose(replace(evidence, checks=checks, schedule=Schedule(memo=False)), now=NOON)
    assert fresh.supported
    assert "1 of the 6 points of the checklist fails" in fresh.verdict
    assert not compose(replace(evidence, checks=checks), now=NOON).supported


def test_hazards_have_evidence_or_are_not_addressed(report: Report) -> None:
    table = report.section("hazards").statements[0].table
    assert table is not None
    for hazard, evidence_text, source in table.rows:
        assert hazard
        assert (source == NOT_ADDRESSED) == (evidence_text == "Not addressed.")


def test_epsilon_in_context_has_units_and_no_ranking(report: Report) -> None:
    table = report.section("context").statements[0].table
    assert table is not None
    assert all(row[4] for row in table.rows)
    epsilons = [float(row[3]) for row in table.rows]
    assert epsilons != sorted(epsilons)
    assert epsilons != sorted(epsilons, reverse=True)


@pytest.mark.parametrize("mechanism", ["grr", "she", "hr", "olh", "ss"])
def test_every_randomiser_has_a_report(mechanism: str) -> None:
    # hr over a few cells at ε = 3 has several blocks, and so no one pair of probabilities.
    scenario = replace(SMALL, mechanism=mechanism, devices=20_000, resolution=5, epsilon=3.0)
    found = review(scenario, now=NOON)
    assert found.supported
    json.dumps(found.to_dict(), allow_nan=False)
    assert WRITERS[".pdf"](found).startswith(b"%PDF")


@pytest.mark.parametrize("name", ["oue", "grr", "hr", "ss", "she"])
def test_the_best_guess_with_a_prior_is_the_one_that_hits(name: str) -> None:
    """Hits of the most likely cell over 4,000 simulated phones, within 5 standard errors (failure below 1e-6 each)."""
    mechanism = make_mechanism(name, epsilon=2.5, domain_size=12)
    prior = np.arange(1, 13) / 78
    rng = np.random.default_rng(8)
    cells = rng.choice(12, size=4_000, p=prior)
    reports = mechanism.privatize(cells, rng=rng)
    guesses = [posterior(mechanism, reports[i : i + 1], prior=prior).argmax() for i in range(4_000)]
    hits = float(np.mean(np.array(guesses) == cells))
    exact = guess_with_prior(mechanism, prior)
    success, spread = (exact, 0.0) if exact is not None else measured_guess(mechanism, prior, seed=1)
    assert abs(hits - success) < 5 * math.hypot(math.sqrt(success * (1 - success) / 4_000), spread)
    assert success >= prior.max() - 5 * spread


def test_with_equal_cells_the_guess_is_the_reference_one() -> None:
    for name, expected in (("oue", None), ("grr", 0.45085)):
        mechanism = make_mechanism(name, epsilon=2.0, domain_size=10)
        found = guess_with_prior(mechanism, np.full(10, 0.1))
        assert found == pytest.approx(best_guess(mechanism).success)
        if expected:
            assert found == pytest.approx(expected, abs=1e-5)


# -- the same again --------------------------------------------------------------------------------


def test_the_same_scenario_gives_the_same_bytes_save_the_time() -> None:
    """The client's own coins are tossed anew: an honest one fails an attack or a check once in 10^6 runs at most."""
    one, other = (review(SMALL, statements={"name": "A map"}, now=NOON) for _ in range(2))
    for suffix, writer in WRITERS.items():
        assert writer(one) == writer(other), suffix
    later = replace(one, created="2027-01-01T00:00:00+00:00")
    for suffix in (".html", ".yaml", ".json"):
        changed = WRITERS[suffix](later).decode().replace(later.created, one.created)
        assert changed == WRITERS[suffix](one).decode(), suffix


def test_another_seed_is_another_report_with_the_same_promise(report: Report) -> None:
    other = review(replace(SMALL, seed=2), now=NOON)
    assert other.configuration != report.configuration
    assert text_of(other, "unit") == text_of(report, "unit")
    assert text_of(other, "utility") != text_of(report, "utility")


def test_cancelling_ends_it() -> None:
    stop = Event()
    steps = []

    def told(done: int, total: int, sentence: str) -> None:
        steps.append((done, total, sentence))
        if done == 3:
            stop.set()

    with pytest.raises(ReviewCancelled):
        gather(SMALL, progress=told, cancelled=stop)
    assert steps[0][0] == 0
    assert steps[-1][0] == 3


# -- its files -------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", list(WRITERS))
def test_the_word_is_in_no_file(report: Report, evidence: Evidence, suffix: str) -> None:
    replayed = compose(replace(evidence, schedule=Schedule(at_cap="replay", memo=False)), now=NOON)
    for found in (report, replayed):
        content = WRITERS[suffix](found)
        text = pdf_text(content) if suffix == ".pdf" else content.decode()
        assert "anonym" not in text.lower()


def test_the_page_asks_nobody_for_anything(report: Report) -> None:
    page = WRITERS[".html"](report).decode()
    assert "default-src 'none'" in page
    assert not re.search(r"<(script|link|iframe|img|object|embed|form)\b", page)
    assert not re.search(r"(src|href)=\"(?!#)", page)
    assert "url(" not in page
    assert "@import" not in page


def test_the_pdf_has_text_an_outline_and_pages(report: Report) -> None:
    reader = pypdf.PdfReader(io.BytesIO(WRITERS[".pdf"](report)))
    assert len(reader.pages) >= 6
    titles = [entry["/Title"] for entry in reader.outline]
    assert titles == [section.title for section in report.sections] + ["Where the figures come from"]
    front = " ".join(reader.pages[0].extract_text().split())
    assert "is supported: the exact probabilities imply 2" in front
    assert "Synthetic data" in front
    assert "Not addressed" in front
    assert reader.metadata is not None
    assert reader.metadata.title == report.title


def test_the_yaml_has_every_registry_field_filled_or_null_with_a_reason(report: Report) -> None:
    found = yaml.safe_load(WRITERS[".yaml"](report))
    for part, names in FIELDS.items():
        assert list(found[part]) == list(names)
        for name in names:
            if found[part][name] is None:
                assert found["why_null"][f"{part}.{name}"].strip()
    parameters = found["privacy_loss"]["privacy_parameters"]
    assert parameters == {"epsilon": 2.0, "delta": 0, "rho": None}
    assert found["why_null"]["privacy_loss.privacy_parameters.rho"]
    assert found["deployment_model"]["model_name"] == "Local"


def test_the_yaml_takes_the_users_words(evidence: Evidence) -> None:
    words = {name: f"About {name}" for name, entry in STATEMENTS.items() if entry.registry}
    words["publication_date"] = "2026-11-30"
    words["data_curators"] = "City council\nBus company"
    found = yaml.safe_load(WRITERS[".yaml"](compose(evidence, statements=words, now=NOON)))
    assert list(found["why_null"]) == ["privacy_loss.privacy_parameters.rho"]
    assert found["basic"]["data_curators"] == ["City council", "Bus company"]
    assert found["basic"]["publication_date"] == "2026-11-30"
    assert found["implementation"]["justification"] == "About justification"


@pytest.mark.parametrize("words", HOSTILE, ids=lambda words: words[:12])
def test_hostile_words_come_out_as_words(evidence: Evidence, words: str) -> None:
    statements = {
        "name": words.replace("\n", " "),
        "open_risks": words,
        "data_curators": words,
        "retention": words,
    }
    found = compose(evidence, statements=statements, now=NOON)
    wanted = words.replace("\u202e", "[U+202E]")
    loaded = yaml.safe_load(WRITERS[".yaml"](found))
    assert loaded["basic"]["name"] == wanted.replace("\n", " ")
    assert loaded["basic"]["data_curators"] == wanted.split("\n")
    claims = json.loads(WRITERS[".json"](found))["sections"][-2]["statements"]
    assert claims[0] == {
        "text": wanted,
        "source": "user",
        "about": "Open risks",
        "reproduce": None,
        "figures": {},
    }
    page = WRITERS[".html"](found).decode()
    assert "<script" not in page
    assert "\u202e" not in page
    text = pdf_text(WRITERS[".pdf"](found))
    squeezed = re.sub(r"[\s\u200b]", "", text)
    assert re.sub(r"\s", "", wanted)[:200] in squeezed
    assert "root:" not in text


def test_the_name_of_an_own_area_is_escaped_too(evidence: Evidence) -> None:
    population = evidence.population
    area = replace(population.area, label="Ward <script>alert(1)</script>\u202e #panic()")
    release = replace(evidence.release, population=replace(population, area=area))
    found = compose(replace(evidence, release=release), now=NOON)
    page, fields = WRITERS[".html"](found).decode(), WRITERS[".yaml"](found).decode()
    assert "<script" not in page
    assert "\u202e" not in page + fields + WRITERS[".json"](found).decode()
    assert "#panic()" in pdf_text(WRITERS[".pdf"](found))


def test_reports_of_an_own_file_say_that_they_are_not_for_publication(tmp_path: Any) -> None:
    from ldpcore.trips.read import read_trips

    lines = ["start_lat,start_lng"] + [f"{51.5 + 0.0004 * (i % 50):.5f},{-0.12:.5f}" for i in range(4_000)]
    path = tmp_path / "trips.csv"
    path.write_text("\n".join(lines))
    table = read_trips(path)
    scenario = Scenario(trips=table.digest, city="london", resolution=6)
    found = review(scenario, population_at=lambda other: population_of(other, table), now=NOON)
    assert found.banner.startswith("For the reviewer, not for publication")
    assert "one trip" in text_of(found, "unit")
    assert "names no person" in text_of(found, "composition")
    assert "Synthetic data" not in WRITERS[".html"](found).decode()
