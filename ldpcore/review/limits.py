"""The sections that say what is not promised: what stays in the open, what can go wrong, and who decides."""

from __future__ import annotations

from ldpcore.population import UNITS
from ldpcore.privacy.composition import device_loss
from ldpcore.review.context import DEPLOYMENTS
from ldpcore.review.facts import Facts
from ldpcore.review.promise import loss_formula
from ldpcore.review.report import NOT_ADDRESSED, Claim, Section, Table, said, said_all
from ldpcore.review.words import percent, rounded, whole
from ldpcore.statements import STATEMENTS

OPEN_FIELD = "Not addressed."


def unprotected(facts: Facts) -> Section:
    """List what epsilon does not bound."""
    statements = facts.statements
    memory = (
        "Reports of one phone within an epoch can be linked by the answer it repeats, and over epochs by whatever else arrives with "
        "them. When the cell changed is visible in every epoch."
        if facts.schedule.memo
        else "Reports of one phone can be linked only by what arrives beside them, such as address or account; if they are, the noise "
        "of fresh reports averages out."
    )
    cells = facts.population.domain.size
    small = f"The domain has {whole(cells)} cells. " + (
        "That is few: one report then narrows a place down far, whatever ε."
        if cells < 50
        else "Within an area that somebody already knows to hold the phone, such as one district, the choice is among far fewer, "
        "and one report gives away more."
    )
    claims = (
        Claim(
            "Address, account and time of a report arrive beside it and are not randomised. Nothing in this program hides them.",
            about="Address, account, time",
        ),
        said(statements, "transport"),
        Claim(
            f"Every report has the same size, {whole(facts.evidence.audit.payload_bytes)} bytes in the attack above, whatever the cell. "
            "That a report was sent can still be seen.",
            figures={"payload_bytes": facts.evidence.audit.payload_bytes},
            about="Size",
        ),
        Claim(
            "When a phone reports is not protected. Times that are the same for everybody say nothing; times that depend on a trip say "
            "when it was made.",
            about="Times of reports",
        ),
        said(statements, "reporting_times"),
        Claim(
            "The guarantee is that of the source that was read and attacked here. That the client on a phone was built from it can't be "
            "seen from here.",
            about="Client build",
        ),
        said(statements, "attestation"),
        Claim(
            "Where reports are made by a web page, the server can send other code at any visit, and the guarantee is worth as much as the "
            "trust in the server.",
            about="Web clients",
        ),
        said(statements, "web_clients"),
        Claim(memory, about="Linking over time"),
        Claim(small, figures={"cells": cells}, about="Small domains"),
        Claim(
            "A phone knows the day by its own clock. Each time that clock goes forward past the end of an epoch, new answers are drawn, so "
            "whoever can set it forward in steps gets a fresh answer, or a cap of them, with each step. The loss over a span of days holds "
            "for clocks that are right."
            if facts.schedule.memo
            else "A phone knows the day by its own clock, and nothing here checks that clock.",
            about="The phone's clock",
        ),
        Claim(
            "A changed phone, or other software on it, sees the true place before the coins are tossed.",
            about="The phone itself",
        ),
    )
    return Section("unprotected", "What is not protected", claims)


def hazards(facts: Facts) -> Section:
    """List what can go wrong, each with what was done about it here, in the user's words, or neither."""
    rows = [_hazard_row(name, evidence, statement, facts) for name, evidence, statement in _hazards(facts)]
    open_rows = sum(row[2] == NOT_ADDRESSED for row in rows)
    text = (
        f"{len(rows)} hazards. {len(rows) - open_rows} have evidence of this run or a statement of the user's; {open_rows} are not addressed. "
        "Evidence says what was found, not that the hazard is gone."
    )
    table = Table(("hazard", "evidence or statement", "from"), tuple(rows))
    return Section(
        "hazards",
        "Hazards",
        (
            Claim(
                text, figures={"hazards": len(rows), "not_addressed": open_rows}, about="Hazards", table=table
            ),
        ),
    )


def _hazard_row(name: str, evidence: str, statement: str, facts: Facts) -> tuple[str, str, str]:
    parts, source = [], []
    if evidence:
        parts.append(evidence)
        source.append("computed")
    if statement and statement in facts.statements:
        label = STATEMENTS[statement].label
        parts.append(f"The user, under “{label}”: {_short(facts.statements[statement])}")
        source.append("user")
    if not parts:
        return (name, OPEN_FIELD, NOT_ADDRESSED)
    if statement and statement not in facts.statements:
        parts.append(f"{STATEMENTS[statement].label}: not addressed.")
    return (name, " ".join(parts), " and ".join(source))


def _short(text: str) -> str:
    """Return the beginning of a statement, which stands in full in its own section."""
    line = " ".join(text.split())
    return line if len(line) <= 160 else line[:157].rstrip() + "..."


def _hazards(facts: Facts) -> list[tuple[str, str, str]]:
    """Return hazard, computed evidence ("" where there is none), and the statement that could speak to it."""
    evidence, scenario, schedule = facts.evidence, facts.scenario, facts.schedule
    attack, lever = evidence.audit, evidence.lever
    epoch = device_loss(scenario.epsilon, schedule, days=schedule.epoch_days)
    passed = attack.live_passed and attack.replica.passed
    quiet = evidence.deciles[evidence.deciles["devices"] > 0].iloc[0]
    selection = evidence.selection
    return [
        (
            "The loss of a report is larger than its label",
            f"The exact probabilities imply {rounded(facts.mechanism.epsilon_effective, 6)}; the attack on the client "
            + (
                "FAILED."
                if not passed
                else "passed."
                if attack.could_refute
                else "passed, and could not have refuted it."
            ),
            "",
        ),
        (
            "Client and server use other parameters, so that every cell looks busy",
            f"A report made with half the ε was refused by the server as {evidence.refused!r}."
            if evidence.refused
            else "A report made with half the ε was NOT refused.",
            "",
        ),
        (
            "The coins can be guessed",
            "The source takes coins from the operating system's cryptographic source alone."
            if not evidence.generator.objections
            else f"FOUND: {'; '.join(evidence.generator.objections)}.",
            "",
        ),
        (
            "Reports add up to more than was planned",
            f"Under the schedule, at most ε = {rounded(epoch.epsilon, 6)} in {whole(epoch.days)} days in a row ({loss_formula(epoch)}).",
            "other_releases",
        ),
        ("The same device also answers other questions", "", "other_releases"),
        (
            "It shows when a device changed cell",
            "It does: two different remembered answers prove a change, and no ε bounds that."
            if not epoch.pattern_hidden
            else "Under this schedule no two reports of an epoch can be compared for it.",
            "reporting_times",
        ),
        (
            "The cap itself says something",
            (
                "At the cap a device falls silent, which says that it was hit."
                if schedule.at_cap == "silent"
                else "At the cap an old answer is repeated."
            )
            if schedule.memo
            else "There is no cap: each report is fresh and spends ε.",
            "",
        ),
        (
            "Phones are followed from epoch to epoch",
            "New answers are drawn in every epoch, so a repeated answer links reports only within one."
            if schedule.memo
            else "No answer is remembered, so none links reports.",
            "transport",
        ),
        (
            "The domain itself gives places away",
            "The area was taken from the data: it does."
            if facts.population.area.from_data
            else ("The area is a bundled public one." if scenario.city is not None else ""),
            "domain_origin",
        ),
        (
            "Fake devices light up a place",
            ""
            if lever is None
            else f"They can: {whole(evidence.poisonings[0].fakes_for_one_cell)} forged reports publish an empty cell in half of all draws; "
            f"checking weights leaves {whole(lever.cells_checked)} of {whole(lever.cells)} cells a report.",
            "fake_reports",
        ),
        ("The client on the phone is not the one that was audited", "", "attestation"),
        ("A web page's code is swapped by the server", "", "web_clients"),
        ("Address, account or time name the sender", "", "transport"),
        (
            "The size of a report tells cells apart",
            f"All reports of the attack had {whole(attack.payload_bytes)} bytes.",
            "",
        ),
        ("Single reports are kept longer than needed", "", "retention"),
        (
            "Readers take noise for devices",
            f"{rounded(facts.release.figures.false_published_expected)} false publications are expected; of printed cells "
            + (
                f"{percent(selection.coverage_printed)} have their truth in the error bar."
                if selection.coverage_printed is not None
                else "there are none."
            ),
            "",
        ),
        (
            "Quiet places vanish from the map and are planned for less",
            f"They do: in the quietest tenth where anybody is, {percent(float(quiet.published_share))} of the cells are published; cells held "
            f"back are expected to hold {percent(selection.held_back_share)} of the {facts.noun}.",
            "",
        ),
        ("People without such a phone are not counted", "", "data_subjects"),
        ("Reports are treated as if they were no personal data", "", "legal_basis"),
    ]


def legal(facts: Facts) -> Section:
    """Put the three tests as questions, with what is known and the user's answer."""
    evidence, schedule = facts.evidence, facts.schedule
    statements = facts.statements
    singling = (
        "What is published are estimates for cells, each with an error bar. What is kept is another matter: single reports arrive with an "
        "address and a time. "
        + (
            "A remembered report is repeated byte for byte and can tell a phone apart from all others within an epoch."
            if schedule.memo
            else "A fresh report says little by itself, but a sender's address tells senders apart."
        )
    )
    linking = (
        "Two reports of one phone in one epoch are the same bytes where the cell is the same, so they can be linked; across epochs, answers "
        "are drawn anew and only what arrives beside a report links them."
        if schedule.memo
        else "Each report is drawn anew, so nothing in the bytes links two of them; what arrives beside them may."
    )
    inferring = (
        "One report moves odds by a bounded factor and not by nothing. The best guess of somebody who knows the city is right in "
        f"{percent(evidence.prior_after)} of all tries after one report, {percent(evidence.prior_before)} without; for somebody who knew "
        "more before, it is right more often."
    )
    questions = (
        ("singling_out", "Can somebody be singled out?", singling),
        ("linkability", "Can records about one person be linked?", linking),
        ("inference", "Can something about a person be inferred?", inferring),
    )
    claims: list[Claim] = [
        Claim(
            "These are questions of law, and answering them is for a lawyer who knows the whole deployment. What this run can say to "
            "each stands first, the user's answer after it.",
            about="How to read this",
        )
    ]
    for name, question, fact in questions:
        claims += [
            Claim(fact, about=question, reproduce=facts.review_command if name == "inference" else ""),
            said(statements, name),
        ]
    claims.append(
        Claim(
            "Randomised reports with an address, a time or an account beside them are about a person who can be found. That nobody holds "
            "personal data does not follow from local privacy.",
            about="Personal data",
        )
    )
    claims.append(said(statements, "legal_basis"))
    return Section("legal", "Three questions of law", tuple(claims))


def context(facts: Facts) -> Section:
    """Put epsilon beside published ones, each with its unit."""
    unit = UNITS[facts.population.unit].split(":")[0]
    rows = [("this scenario", "", "local", f"{facts.scenario.epsilon:g}", unit, "of one report")]
    rows += [
        (
            entry.name,
            f"{entry.curator}, {entry.year}",
            entry.model,
            f"{entry.epsilon:g}",
            entry.unit,
            entry.remark,
        )
        for entry in DEPLOYMENTS
    ]
    return Section(
        "context",
        "Epsilon in context",
        (
            Claim(
                "Entries of the public deployments registry, as it states them. An ε is only as good as its unit: 4 for each page loaded is more "
                "than 8 for all of a user's day, once there are three pages. The list has the local ones first, then the central ones, each in the order of "
                "who made them and of names; it ranks nothing. A central ε "
                "is about what readers learn, with a server that sees everything.",
                reproduce="https://registry.opendp.org",
                about="Published deployments",
                table=Table(("deployment", "by", "model", "ε", "unit", "remark"), tuple(rows), (3,)),
            ),
        ),
    )


def risks(facts: Facts, open_points: tuple[str, ...]) -> Section:
    """List what is open: what the user says, what failed, and what nobody addressed."""
    listed = "; ".join(open_points)
    count = len(open_points)
    text = (
        f"{count} points of this report are not addressed: {listed}."
        if count
        else "Every point that asks for a statement has one."
    )
    return Section(
        "risks",
        "Open risks",
        (
            said(facts.statements, "open_risks"),
            Claim(text, figures={"not_addressed": count}, about="Not addressed"),
            *((said(facts.statements, "notes"),) if "notes" in facts.statements else ()),
        ),
    )


def signoff(facts: Facts) -> Section:
    """Leave room for a decision."""
    blank = "\u2026" * 9
    return Section(
        "signoff",
        "Sign-off",
        (
            *said_all(facts.statements, ("reviewer", "decision", "decision_date")),
            Claim(
                "Whoever signs confirms to have read what is not protected and what is not addressed, for this configuration alone. "
                "The configuration does not cover the statements or the level: to sign those as well, name the SHA-256 of the file itself.",
                about="Signature",
                table=Table(("name", "date", "signature"), ((blank, blank, blank),)),
                exact=(("Configuration (SHA-256)", facts.configuration),),
            ),
        ),
    )
