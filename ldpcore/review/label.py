"""The front of a report: one page with what a reader needs who reads no further."""

from __future__ import annotations

import math

from ldpcore.population import UNITS
from ldpcore.privacy.composition import LIFETIME_DAYS, device_loss
from ldpcore.review.evidence import TRUSTED
from ldpcore.review.facts import Facts
from ldpcore.review.report import Claim, Section, Table
from ldpcore.review.words import percent, rounded, whole


def label(facts: Facts, verdict: str, open_points: tuple[str, ...]) -> Section:
    """Write the label: what is promised to whom, what it costs, and what it leaves open."""
    rows = tuple((name, text) for name, text in _rows(facts, open_points) if text)
    return Section(
        "label",
        "Label",
        (
            Claim(
                verdict, reproduce=facts.review_command, about="Verdict", table=Table(("what", "here"), rows)
            ),
        ),
    )


def _rows(facts: Facts, open_points: tuple[str, ...]) -> list[tuple[str, str]]:
    scenario, schedule, evidence = facts.scenario, facts.schedule, facts.evidence
    figures, noun = facts.release.figures, facts.noun
    cells = facts.population.domain.size
    most = math.exp(facts.mechanism.epsilon_effective)
    losses = {
        name: device_loss(scenario.epsilon, schedule, days=days, distinct_cells=cells)
        for name, days in (("a day", 1), (f"{LIFETIME_DAYS} days", LIFETIME_DAYS))
    }
    added = "; ".join(f"{rounded(loss.epsilon, 6)} in {name}" for name, loss in losses.items())
    hidden = all(loss.pattern_hidden for loss in losses.values())
    attack = evidence.audit
    trusted = (
        f"{rounded(evidence.smallest)} {noun}"
        if evidence.smallest <= facts.population.size
        else f"none of the {whole(facts.population.size)} here"
    )
    return [
        ("Name", facts.statements.get("name", "not addressed")),
        ("Intended use", _first_line(facts.statements.get("intended_use", "not addressed"))),
        ("Protected", UNITS[facts.population.unit]),
        (
            "Privacy loss of one report",
            f"ε = {scenario.epsilon:g}: odds change by a factor of at most {rounded(most, 3)}",
        ),
        (
            "What one device adds up to, worst case",
            added + ("" if hidden else "; when it changed cell is not covered"),
        ),
        (
            "Who must be trusted",
            "the phone and its client"
            + (", and the shuffler for its part" if "shuffler" in facts.statements else ""),
        ),
        (
            "Randomiser",
            f"{facts.mechanism.label} ({scenario.mechanism}), {whole(facts.mechanism.report_bits)} bits a report",
        ),
        (
            "Places",
            f"{whole(cells)} hexagons of resolution {scenario.resolution} in {facts.population.area.label}",
        ),
        ("Reports", f"{whole(facts.population.size)} {noun}" + (", synthetic" if scenario.synthetic else "")),
        ("Typical error of a cell", f"±{rounded(figures.rmse_expected)} {noun}"),
        (f"Smallest count known to ±{100 * TRUSTED:g}\u00a0%", trusted),
        (
            "Published",
            f"{whole(figures.published)} of {whole(cells)} cells; the others hold about {percent(evidence.selection.held_back_share)} of the {noun}",
        ),
        (
            "Best guess from one report",
            f"right in {percent(evidence.prior_after)} of all tries, {percent(evidence.prior_before)} without it",
        ),
        (
            "Attack on the client",
            ("passed" if attack.live_passed and attack.replica.passed else "FAILED")
            + f"; proves at least {rounded(attack.replica.epsilon_lower_bound)}, could have proved at most "
            f"{rounded(attack.replica.max_certifiable)}"
            + ("" if attack.could_refute else ", less than the claim: it could not have refuted it"),
        ),
        (
            "Fake devices",
            "lever not computed for this randomiser"
            if evidence.lever is None
            else f"{whole(evidence.poisonings[0].fakes_for_one_cell)} publish an empty cell in half of all draws",
        ),
        (
            "Not protected",
            "that a phone reports, when, and from which address; a phone or client that was changed; "
            + (
                "when the cell changed"
                if schedule.memo and not hidden
                else "what repeated reports average to"
            ),
        ),
        ("Not addressed", f"{len(open_points)} points" if open_points else "nothing"),
    ]


def _first_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 200 else line[:197].rstrip() + "..."
