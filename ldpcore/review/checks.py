"""The sections that say what was tried: the checklist, attacks on the client, guesses, and forged reports."""

from __future__ import annotations

import math

from ldpcore.mechanisms.histogram import LARGEST_ENTRY
from ldpcore.privacy.audit import FAILURE
from ldpcore.privacy.averaging import MOST_REPORTS, exact_success, memo_draws
from ldpcore.privacy.composition import LIFETIME_DAYS
from ldpcore.privacy.poisoning import Poisoning
from ldpcore.review.facts import Facts
from ldpcore.review.report import Claim, Section, Table, said
from ldpcore.review.words import listed, percent, rounded, signed, whole


def checklist(facts: Facts) -> Section:
    """State the six points of the checklist, each with what was found."""
    checks = facts.evidence.checks
    passed = len(checks.entries) - len(checks.failed)
    text = f"{passed} of {len(checks.entries)} points hold, over a domain of {whole(checks.cells)} cells. "
    text += (
        "The figures of the first point are from the same source with seeded coins, so that they stay the same; the command check "
        "draws afresh, so its figures for that point vary. "
    )
    if checks.failed and not checks.contradicts(facts.schedule):
        text += "What fails is what a schedule without memory does not ask for."
    rows = tuple(
        (entry.item, "holds" if entry.passed else "FAILS", entry.evidence) for entry in checks.entries
    )
    return Section(
        "checklist",
        "The checklist, run",
        (
            Claim(
                text.strip(),
                reproduce=facts.check_command,
                figures={entry.item: entry.passed for entry in checks.entries},
                about="Six points",
                table=Table(("point", "result", "evidence"), rows),
            ),
        ),
    )


def audit(facts: Facts) -> Section:
    """State what attacking the client proved, and what it could have proved at most."""
    attack = facts.evidence.audit
    replica = attack.replica
    what = (
        f"The client that ships was attacked over {whole(attack.cells)} cells"
        + (
            ""
            if attack.cells == facts.population.domain.size
            else " (fewer than the domain has: the code that makes a report is the same)"
        )
        + f": {whole(replica.trials)} reports from each of two cells, with coins from the operating system. "
        + (
            "It passed: no event proved a loss above the one claimed."
            if attack.live_passed
            else "IT FAILED: an event proved a loss above the one claimed. The claim is not supported."
        )
        + " An honest client is accused once in a million attacks at most, all events and corrections included."
    )
    bound = (
        f"The same source file with seeded coins, so that the figures can be made again, proves a loss of at least "
        f"{rounded(replica.epsilon_lower_bound, 4)} with confidence 99.9999 %, and the claim is {rounded(replica.epsilon_effective, 6)}. "
        f"With so many trials no attack could have proved more than {rounded(replica.max_certifiable, 4)}"
        + (
            ": less than the claim, so the attack could not have refuted it, whatever it found; passing says nothing for the claim here."
            if not attack.could_refute
            else ". A loss above that would still have been found to exceed the claim; how far it goes beyond could not be told."
        )
    )
    return Section(
        "audit",
        "Attack on the client that ships",
        (
            Claim(
                what,
                reproduce=facts.audit_command,
                figures={
                    "passed": attack.live_passed,
                    "trials": replica.trials,
                    "failure": FAILURE,
                    "cells": attack.cells,
                },
                about="The client with its own coins",
            ),
            Claim(
                bound,
                reproduce=facts.review_command,
                figures={
                    "epsilon_lower_bound": replica.epsilon_lower_bound,
                    "epsilon_effective": replica.epsilon_effective,
                    "max_certifiable": replica.max_certifiable,
                    "trials": replica.trials,
                    "passed": replica.passed,
                },
                about="Lower bound",
                table=Table(
                    ("event", "in one world", "in the other", "trials", "ε it proves"),
                    tuple(
                        (
                            finding.event,
                            whole(finding.hits_one),
                            whole(finding.hits_other),
                            whole(finding.trials),
                            rounded(finding.epsilon_lower_bound),
                        )
                        for finding in replica.findings
                    ),
                    (1, 2, 3, 4),
                ),
            ),
            Claim(
                "An attack can refute a claim, never prove it. The proof is that of the randomiser, whose exact probabilities stand "
                "above; the attack looks for what the proof doesn't see, such as a mistake in the code.",
                about="What it can show",
            ),
            Claim(
                f"All reports of both attacks had {whole(attack.payload_bytes)} bytes of payload, whatever the cell.",
                figures={"payload_bytes": attack.payload_bytes},
                about="Size",
            ),
        ),
    )


def generator(facts: Facts) -> Section:
    """State where the coins of the client come from."""
    found = facts.evidence.generator
    if found.objections:
        text = f"NOT AS CLAIMED: the source of the client, ldpcore/device/randomiser.py, {listed(list(found.objections))}."
    else:
        calls = listed([f"secrets.{name}" for name in found.coins])
        text = (
            f"The randomiser's source, ldpcore/device/randomiser.py, {whole(found.lines)} lines, takes every coin from {calls}, the operating system's cryptographic "
            "source. It imports the standard library alone, holds no other generator, and divides nothing into a rounded number."
        )
    return Section(
        "generator",
        "Where the coins come from",
        (
            Claim(
                text,
                figures={
                    "lines": found.lines,
                    "imports": list(found.imports),
                    "objections": list(found.objections),
                },
                about="Read from the source now",
                exact=(("SHA-256 of the source", found.sha256),),
            ),
            Claim(
                "That the operating system's source is sound, and that the phone runs this source, is outside what can be read here.",
                about="Not shown",
            ),
        ),
    )


def reconstruction(facts: Facts) -> Section:
    """State how much one report gives away, against what was known before."""
    evidence, cells = facts.evidence, facts.population.domain.size
    most = math.exp(facts.mechanism.epsilon_effective)
    guess = evidence.guess
    if guess.success is None:
        uniform = "How often the best guess from one report is right is not known for this randomiser."
    else:
        how = "" if not guess.spread else f", standard error {percent(guess.spread, 2)}"
        uniform = (
            f"Somebody who holds all {whole(cells)} cells for equally likely names the right one in {percent(1 / cells)} of all tries; "
            f"after one report in {percent(guess.success)} ({guess.how}{how})."
        )
    how = (
        f"measured, standard error {percent(evidence.prior_spread, 2)}"
        if evidence.prior_spread
        else "closed form"
    )
    known = (
        f"Somebody who knows how the {facts.noun} are spread is right in {percent(evidence.prior_before)} of all tries without a report, "
        f"and in {percent(evidence.prior_after)} after one ({how})."
    )
    half = most / (most + 1)
    bound = (
        f"Whatever somebody knew before, one report multiplies the odds by at most {rounded(most, 4)}: a belief of 50 % can become "
        f"{percent(half)}, one of 1 % can become {percent(0.01 * most / (0.01 * most + 0.99))}. That bound is the promise; the rates above "
        "are what it means for one observer."
    )
    return Section(
        "reconstruction",
        "What one report gives away",
        (
            Claim(
                uniform,
                page=facts.page("mechanisms"),
                figures={"before": 1 / cells, "after": guess.success},
                about="Knowing nothing",
            ),
            Claim(
                known,
                reproduce=facts.review_command,
                figures={"before": evidence.prior_before, "after": evidence.prior_after},
                about="Knowing the city",
            ),
            Claim(bound, figures={"odds_factor": most, "from_one_half": half}, about="Whatever was known"),
            _repeats(facts),
        ),
    )


def _repeats(facts: Facts) -> Claim:
    """State how the best guess grows while a device stays where it is."""
    schedule, rows, figures = facts.schedule, [], {}
    per_epoch = schedule.reports_a_day * schedule.epoch_days
    for days in (1, 7, 30, LIFETIME_DAYS):
        reports = schedule.reports_a_day * days
        draws = memo_draws(reports, reports_per_epoch=per_epoch) if schedule.memo else reports
        success = exact_success(facts.mechanism, draws) if draws <= MOST_REPORTS else None
        rows.append(
            (
                f"{whole(days)} day{'s' * (days > 1)}",
                whole(reports),
                whole(draws),
                "not computed" if success is None else percent(success),
            )
        )
        figures[f"{days}_days"] = success
    how = (
        "It remembers, so only a new epoch adds a new answer; over many epochs the noise is averaged out all the same."
        if schedule.memo
        else "It does not remember, so every report adds to what is known."
    )
    return Claim(
        f"A device that stays in one cell under this schedule, attacked by somebody who collects all its reports and held every cell "
        f"for equally likely. {how}",
        page=facts.page("device"),
        figures=figures,
        about="After many reports",
        table=Table(("after", "reports", "different answers", "best guess right"), tuple(rows), (1, 2, 3)),
    )


def poisoning(facts: Facts) -> Section:
    """State what fake devices do, and what the defence does against them."""
    evidence, noun = facts.evidence, facts.noun
    lever = evidence.lever
    title = "Fake devices"
    if lever is None:
        if facts.scenario.mechanism == "she":
            text = (
                f"A report of this randomiser is a number a cell, of any size up to {rounded(LARGEST_ENTRY / 2**20)} {noun}: a single "
                "forged report can move any cell by that much, and the server's check is of the range alone."
            )
            figures = {"most": LARGEST_ENTRY / 2**20}
        else:
            text = "Not computed: this randomiser has no one pair of probabilities, and the lever of a forged report depends on its cell."
            figures = {}
        return Section(
            "poisoning",
            title,
            (Claim(text, figures=figures, about="Lever"), said(facts.statements, "fake_reports")),
        )
    one = (
        f"One forged report moves each cell it supports by {signed(lever.up)} {noun}, and each it doesn't by {signed(lever.down)}, "
        "whatever the truth. A smaller ε makes this worse."
    )
    first = evidence.poisonings[0]
    share = first.fakes_for_one_cell / facts.population.size
    beside = (
        f"{percent(share)} of the {noun}"
        if share <= 1
        else f"{rounded(share)} times as many as there are honest {noun}"
    )
    fewest = f"{whole(first.fakes_for_one_cell)} fake devices that all name one empty cell get it published in half of all draws: {beside}."
    if lever.cells_checked < lever.cells:
        defence = (
            f"The server refuses reports of a weight that an honest client sends less than once in 10^9. That brings the cells one forged "
            f"report can lift from {whole(lever.cells)} down to {whole(lever.cells_checked)}. It does not change by how much a cell is "
            "lifted, and a forged report of ordinary weight passes: only a limit on reports a party can send bounds that."
        )
    else:
        defence = (
            f"One forged report supports at most {whole(lever.cells_checked)} cells, and honest clients send every such report too, so no "
            "check of single reports helps: only a limit on reports a party can send does."
        )
    return Section(
        "poisoning",
        title,
        (
            Claim(one, figures={"up": lever.up, "down": lever.down}, about="Lever of one report"),
            Claim(
                fewest,
                reproduce=facts.review_command,
                figures={"fakes": first.fakes_for_one_cell},
                about="Fewest for one cell",
            ),
            Claim(
                f"Cells that would be published although fewer than {whole(facts.scenario.floor)} {noun} are there, with 1 % and 5 % of all "
                "reports forged: expected number, from exact means and variances by the normal law.",
                reproduce=facts.review_command,
                figures={
                    f"{entry.attack}, {100 * entry.share:g} %, {'checked' if entry.checked else 'unchecked'}": entry.false_published
                    for entry in evidence.poisonings
                },
                about="One and five in a hundred",
                table=_poisoning_table(evidence.poisonings, noun),
            ),
            Claim(
                defence,
                figures={"cells": lever.cells, "cells_checked": lever.cells_checked},
                about="Defence",
            ),
            said(
                facts.statements,
                "fake_reports",
                missing="Nothing else is known to limit how many reports one party can send.",
            ),
        ),
    )


def _poisoning_table(poisonings: tuple[Poisoning, ...], noun: str) -> Table:
    rows = [
        (
            f"{entry.attack}, weights {'checked' if entry.checked else 'not checked'}",
            f"{100 * entry.share:g} % ({whole(entry.fakes)})",
            whole(entry.cells),
            signed(entry.shift),
            percent(entry.publish_empty),
            rounded(entry.false_published),
        )
        for entry in poisonings
    ]
    columns = (
        "attack",
        "fakes",
        "cells lifted",
        f"each by ({noun})",
        "an empty one published",
        "false publications",
    )
    return Table(columns, tuple(rows), (1, 2, 3, 4, 5))
