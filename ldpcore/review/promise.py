"""The sections that say what is promised: to whom, per what, by which probabilities, and what it adds up to."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final

import h3.api.numpy_int as h3
import numpy as np

import ldpcore
from ldpcore.device.wire import HEADER_BYTES
from ldpcore.mechanisms import MECHANISMS
from ldpcore.population import DROPPED_WORDS, UNITS
from ldpcore.privacy.composition import LIFETIME_DAYS, MEMO_CAVEAT, Loss, device_loss, optimal_composition
from ldpcore.privacy.shuffle import amplify
from ldpcore.review.diagram import draw_trust, trust_table
from ldpcore.review.facts import Facts
from ldpcore.review.report import NOT_ADDRESSED, Claim, Section, Table, said, said_all
from ldpcore.review.words import fraction, rounded, whole
from ldpcore.schedule import AT_CAP
from ldpcore.settings import QUERIES
from ldpcore.trips.generate import DEFAULT_PRESENCE_HOUR

SYNTHETIC: Final = (
    "Synthetic data: the trips were generated, no person made them. What is proved of the randomiser holds for any data; "
    "what is said of errors and published cells holds for trips spread like these."
)
OWN_FILE: Final = (
    "For the reviewer, not for publication: the errors and counts below were taken from the trips of a file, with coins "
    "from a seed that can be guessed, so this report protects nobody in that file."
)
_OUTSIDE: Final = {
    "origins": "trips that start",
    "destinations": "trips that end",
    "presence": "devices that are, at that hour,",
}
CONFIGURATION_COVERS: Final = (
    "The configuration is a hash of the version, of every setting of the run, and of the schedule. It covers neither the user's "
    "statements nor the level, nor a scenario set beside this one."
)
_TYPICAL_CELLS: Final = 2
_NO_PERSON: Final = (
    "The file names no person, so nothing here says how many of its trips one person made. What follows is about a device under this "
    "schedule, each report of it one trip."
)


def purpose(facts: Facts) -> Section:
    """Say what the data are for, what they are, and which run this is."""
    scenario, population = facts.scenario, facts.population
    when = (
        f", {scenario.day or 'weekday'}s"
        if scenario.synthetic
        else f", {scenario.day}s"
        if scenario.day
        else ""
    )
    hour = "" if scenario.hour is None else f", in the hour from {scenario.hour:02d}:00"
    if scenario.query == "presence":
        at = DEFAULT_PRESENCE_HOUR if scenario.hour is None else scenario.hour
        hour = f", at {at:02d}:00" + (
            ", which is taken where no hour is named" if scenario.hour is None else ""
        )
    data = (
        f"{whole(population.size)} {facts.noun} answer the question {QUERIES[scenario.query]!r} in {population.area.label}"
        f"{when}{hour}. Their trips are "
        + ("synthetic" if scenario.synthetic else f"those of the file with SHA-256 {scenario.trips}")
        + "."
    )
    dropped = "; ".join(
        f"{whole(rows)} {DROPPED_WORDS.get(name, name)}" for name, rows in population.rows_dropped.items()
    )
    used = population.rows_read - sum(population.rows_dropped.values())
    rows = f"Of {whole(population.rows_read)} trips, {whole(used)} gave a value." + (
        f" Left out: {dropped}." if dropped else ""
    )
    run = (
        f"LDP Atlas {ldpcore.__version__}, configuration {facts.configuration[:16]}, seed {scenario.seed}, redraw "
        f"{scenario.draw}, level {facts.evidence.level}. {CONFIGURATION_COVERS} The seed makes the simulation repeatable; a real phone takes its coins from its operating system."
    )
    claims = [
        *said_all(
            facts.statements,
            ("name", "data_curators", "intended_use", "sector", "region", "publication_date"),
        ),
        said(facts.statements, "data_subjects"),
        Claim(data, reproduce=facts.run_command, figures={"reports": population.size}, about="Data"),
        Claim(
            rows,
            reproduce=facts.run_command,
            figures={
                "rows_read": population.rows_read,
                "rows_used": used,
                "rows_dropped": dict(population.rows_dropped),
            },
            about="Trips used",
        ),
        Claim(
            run,
            reproduce=facts.review_command,
            figures={"seed": scenario.seed, "draw": scenario.draw, "level": facts.evidence.level},
            about="This run",
            exact=(
                ("Configuration (SHA-256)", facts.configuration),
                ("Parameters version", facts.mechanism.parameters_version),
            ),
        ),
    ]
    if population.drawn:
        claims.append(
            Claim(
                "At this many devices the truth was drawn from the city's exact distribution, not counted trip by trip.",
                about="Truth",
            )
        )
    claims += [Claim(sentence, about="Note on the file") for sentence in population.notes]
    return Section("purpose", "Purpose and data", tuple(claims))


def trust(facts: Facts) -> Section:
    """Draw who sees what and who is not defended."""
    shuffler = facts.statements.get("shuffler")
    names = ["actors", "access_type", "transport", "retention"]
    text = (
        "Everything left of the randomiser stays on the phone. Whoever sits right of it sees at most what the table says; the "
        "guarantee needs trust in the phone and its client alone."
        + (
            " What ε bounds is what an answer says of a cell; that a remembered answer changes or stops is seen as well, and no ε bounds that."
            if facts.schedule.memo
            else ""
        )
    )
    claims = (
        Claim(
            text,
            about="Who sees what",
            table=trust_table(shuffler=shuffler is not None, memo=facts.schedule.memo),
        ),
        said(facts.statements, "shuffler", missing="No shuffler is drawn and none is counted on."),
        *said_all(facts.statements, names),
    )
    return Section(
        "trust",
        "Who is trusted with what",
        claims,
        draw_trust(shuffler=shuffler is not None, memo=facts.schedule.memo),
    )


def unit(facts: Facts) -> Section:
    """State the unit in a sentence and formally."""
    scenario, population = facts.scenario, facts.population
    most = facts.mechanism.epsilon_effective
    sentence = (
        f"What is protected is {UNITS[population.unit]}. Whoever sees that one report can raise the odds of any cell against "
        f"any other, beyond what they knew, by a factor of at most e^{rounded(most, 6)} = {rounded(math.exp(most), 4)}."
    )
    formal = (
        f"For all cells v, w of the domain and every set S of reports: P[M(v) ∈ S] ≤ e^ε · P[M(w) ∈ S], with ε = "
        f"{scenario.epsilon:g} and δ = 0. Neighbours differ in the value of one {population.unit} (replace-one); the data are "
        "fixed, and the probability is over the coins of that one report."
    )
    outside = (
        f"Not covered by the unit: that a {population.unit} reports at all, and how many do. That somebody lives or works in the "
        "domain is not hidden by which cell they report from."
    )
    return Section(
        "unit",
        "The unit of privacy",
        (
            Claim(
                sentence,
                figures={"epsilon_effective": most, "odds_factor": math.exp(most)},
                about="In a sentence",
            ),
            Claim(formal, figures={"epsilon": scenario.epsilon, "delta": 0}, about="Formally"),
            Claim(outside, about="Not covered"),
        ),
    )


def randomiser(facts: Facts) -> Section:
    """State the mechanism's exact probabilities and the epsilon that they imply."""
    scenario, mechanism = facts.scenario, facts.mechanism
    entry = MECHANISMS[scenario.mechanism]
    exact: list[tuple[str, str]] = []
    figures: dict[str, object] = {
        "epsilon": scenario.epsilon,
        "epsilon_effective": mechanism.epsilon_effective,
        "report_bits": mechanism.report_bits,
        "p": None if mechanism.p is None else float(mechanism.p),
        "q": None if mechanism.q is None else float(mechanism.q),
    }
    if mechanism.p is not None and mechanism.q is not None:
        exact += [("p", fraction(mechanism.p)), ("q", fraction(mechanism.q))]
        odds = (
            f"A report supports the own cell with probability p = {rounded(float(mechanism.p), 6)} and any one other cell with "
            f"probability q = {rounded(float(mechanism.q), 6)}; both are exact fractions, and the server divides by these same."
        )
    else:
        odds = (
            "This randomiser has no one pair of probabilities p and q: what a report says of a cell depends on more than "
            "whether it is the own one."
        )
    ratio = getattr(mechanism, "ratio", None)
    if isinstance(ratio, Fraction):
        exact.append(("R, e^ε rounded down", fraction(ratio)))
    gap = scenario.epsilon - mechanism.epsilon_effective
    implied = (
        f"The greatest log-likelihood ratio of anything that is sent is ε = {rounded(mechanism.epsilon_effective, 9)}, beside a label "
        f"of {scenario.epsilon:g}"
        + (f": {rounded(gap)} below it. " if gap > 0 else ", and not above it. ")
        + "It follows from the fractions and is rounded up, so it never understates the loss; every fraction is made of e^ε rounded "
        "down, so the label is never exceeded."
    )
    return Section(
        "mechanism",
        "The randomiser and its exact probabilities",
        (
            Claim(f"{entry.label}. {entry.summary}", about="Randomiser"),
            Claim(odds, figures=figures, about="Probabilities", exact=tuple(exact)),
            Claim(
                implied,
                reproduce=facts.run_command,
                figures={"epsilon": scenario.epsilon, "epsilon_effective": mechanism.epsilon_effective},
                about="Epsilon that they imply",
            ),
            Claim(
                f"One report is {whole(mechanism.report_bits)} bits beside a header of {HEADER_BYTES} bytes; every report has the same size.",
                figures={"report_bits": mechanism.report_bits, "header_bytes": HEADER_BYTES},
                about="Report",
            ),
            Claim(f"The proof is in: {entry.reference}.", about="Reference"),
            said(facts.statements, "tuning"),
        ),
    )


def domain(facts: Facts) -> Section:
    """State the list of cells, its version, and where it comes from."""
    population = facts.population
    found = population.domain
    area = float(
        np.mean(
            [h3.cell_area(cell, unit="km^2") for cell in found.cells[:: max(found.size // 500, 1)].tolist()]
        )
    )
    smaller = (
        f"With {whole(found.size)} cells, a guess without any report is right once in {whole(found.size)} where all are "
        "equally likely. A small domain makes every guess better: see how much one report gives away."
    )
    cells = (
        f"{whole(found.size)} hexagons of H3 resolution {found.resolution} over {population.area.label}, about {rounded(area)} "
        "km² each, in a fixed order that client and server share. The version names the list: reports over another are refused."
    )
    if population.area.from_data:
        origin = Claim(
            "The area was taken from where the trips of the file are. A list of cells chosen so is itself a leak: before a "
            "real release, name a public area.",
            about="Public or from the data",
            figures={"from_data": True},
        )
    elif facts.scenario.city is not None:
        origin = Claim(
            "The area is one of the bundled public ones, made from maps of land and water; no trip and no report had a part "
            "in it.",
            about="Public or from the data",
            figures={"from_data": False},
        )
    else:
        origin = Claim(
            "The area was given by whoever ran this; whether it is public is for them to say.",
            about="Public or from the data",
            figures={"from_data": False},
        )
    return Section(
        "domain",
        "The domain",
        (
            Claim(
                cells,
                figures={"cells": found.size, "resolution": found.resolution, "cell_area_km2": area},
                about="Cells",
                exact=(("Domain version", found.version),),
            ),
            origin,
            said(facts.statements, "domain_origin"),
            Claim(smaller, figures={"cells": found.size}, about="Size"),
            Claim(
                f"Here, {_OUTSIDE[facts.scenario.query]} outside the domain are counted and left out before anything is randomised. A client that "
                "ships reports a random cell instead, so that silence doesn't say where somebody is not.",
                about="Outside the domain",
            ),
        ),
    )


def composition(facts: Facts) -> Section:
    """Add up what the reports of one device say."""
    epsilon, schedule = facts.scenario.epsilon, facts.schedule
    spans = (
        ("one report", None),
        ("one day", 1),
        (
            f"one epoch ({whole(schedule.epoch_days)} days)"
            if schedule.epoch_days > 1
            else "one epoch (1 day)",
            schedule.epoch_days,
        ),
        ("30 days", 30),
        (f"lifetime ({LIFETIME_DAYS} days)", LIFETIME_DAYS),
    )
    cells = min(_TYPICAL_CELLS, facts.population.domain.size)
    rows, figures = [], {}
    for label, days in spans:
        if days is None:
            rows.append((label, f"{epsilon:g}", f"{epsilon:g}", "1 report"))
            figures["report"] = epsilon
            continue
        worst = device_loss(epsilon, schedule, days=days, distinct_cells=facts.population.domain.size)
        typical = device_loss(epsilon, schedule, days=days, distinct_cells=cells)
        rows.append((label, rounded(worst.epsilon, 6), rounded(typical.epsilon, 6), loss_formula(worst)))
        figures[f"{days}_days"] = worst.epsilon
        figures[f"{days}_days_two_cells"] = typical.epsilon
    a_day = (
        "one report a day"
        if schedule.reports_a_day == 1
        else f"{whole(schedule.reports_a_day)} reports a day"
    )
    how = (
        f"Each device sends {a_day}. It remembers the answer it drew for a cell and repeats it until an epoch of "
        f"{whole(schedule.epoch_days)} day{'s' if schedule.epoch_days > 1 else ''} ends, for at most {whole(schedule.cap)} "
        f"cells; then it {AT_CAP[schedule.at_cap]}."
        if schedule.memo
        else f"Each device sends {a_day}, each drawn afresh."
    )
    claims = [
        Claim(how, figures=schedule.to_dict(), about="Schedule"),
        *(() if facts.population.unit == "device" else (Claim(_NO_PERSON, about="Whose reports"),)),
        Claim(
            "Losses of one device add up. The worst device visits as many distinct cells as it may; the other column is a device "
            f"that is never in more than {cells} cells an epoch, such as home and work. Any days in a row are covered, so a "
            "day may touch two epochs.",
            reproduce=facts.review_command,
            figures=figures,
            about="What they add up to",
            table=Table(
                ("span", "ε, worst device", f"ε, {cells} cells an epoch", "how the worst comes about"),
                tuple(rows),
                (1, 2),
            ),
        ),
    ]
    if schedule.memo:
        claims.append(
            Claim(
                f"{MEMO_CAVEAT} Two different answers in one epoch prove that the cell changed, and no ε bounds that: it is a "
                "quantity that is not protected.",
                about="What memory does not hide",
            )
        )
        claims.append(
            Claim(
                "A remembered answer is a name for the device within an epoch: whoever sees its reports can link them. A new epoch "
                "draws new answers, which ends the link and starts the loss anew: a cell that is visited in every epoch, such as "
                "home, can be averaged out over epochs.",
                about="Linking",
            )
        )
        claims.append(_at_cap(facts))
    else:
        claims.append(_averaging(facts))
    claims += said_all(facts.statements, ("reporting_times", "other_releases"))
    return Section("composition", "What a device's reports add up to", tuple(claims))


def loss_formula(loss: Loss) -> str:
    """Return the sum that a loss is, in words that count one report as one."""
    return loss.formula.replace("1 reports", "1 report") if loss.reports == 1 else loss.formula


def _at_cap(facts: Facts) -> Claim:
    if facts.schedule.at_cap == "silent":
        text = (
            "At the cap a device falls silent. Silence is an output that depends on where somebody was: it says that the cap was "
            "hit, and no ε bounds that. Repeating an old answer (replay) hides it, at the price of counts that lag."
        )
    else:
        text = (
            "At the cap a device repeats an old answer, so that its reports don't say that the cap was hit. The server then "
            "counts it where it was, so capped time is missing from new cells."
        )
    return Claim(text, about="At the cap")


def _averaging(facts: Facts) -> Claim:
    reports = facts.schedule.reports_a_day
    if reports == 1:
        return Claim(
            "Fresh reports of the same cell can be averaged: after some weeks of them the noise is gone. One report a day "
            "spends the loss of a day every day.",
            about="Averaging",
        )
    day = optimal_composition(facts.scenario.epsilon, reports=reports, delta=1e-6)
    return Claim(
        f"Fresh reports of the same cell can be averaged, so the noise goes away. With a chance of δ = 0.000001 set aside, a "
        f"day of {whole(reports)} reports is ({rounded(day, 6)}, δ)-private instead of {rounded(reports * facts.scenario.epsilon, 6)}; "
        "both are beyond what a guarantee is usually held to be."
        if day > 20
        else f"With a chance of δ = 0.000001 set aside, a day of {whole(reports)} fresh reports is ({rounded(day, 6)}, δ)-private.",
        figures={"epsilon_day_at_delta_1e-6": day, "delta": 1e-6},
        about="Averaging",
    )


def shuffling(facts: Facts) -> Section:
    """State what a shuffler adds, only if there is one."""
    statements, title = facts.statements, "With a shuffler"
    who = said(
        statements,
        "shuffler",
        missing="Without one, the guarantee against the server is the local one and nothing is added here.",
    )
    if who.source == NOT_ADDRESSED:
        return Section("shuffle", title, (who,))
    batch, delta = statements.get("shuffled_reports"), statements.get("shuffle_delta")
    claims = [who, *said_all(statements, ("shuffled_reports", "shuffle_delta"))]
    if batch is None or delta is None:
        claims.append(
            Claim(
                "Not addressed. Without the number of honest reports a batch and a delta, no central guarantee can be computed.",
                NOT_ADDRESSED,
                about="Guarantee after shuffling",
            )
        )
        return Section("shuffle", title, tuple(claims))
    central = amplify(facts.scenario.epsilon, devices=int(batch), delta=float(delta))
    claims.append(
        Claim(
            f"If the shuffler works as stated, a batch of {whole(int(batch))} honest reports is ({rounded(central.epsilon_central, 4)}, "
            f"{float(delta):g})-private against whoever sees only the shuffled batch, one report a device and batch. No noise is added after "
            "shuffling. The bound is that of V. Feldman, A. McMillan and K. Talwar, Hiding Among the Clones, 2021, evaluated "
            "numerically. Against a shuffler that colludes with the server the local guarantee is what is left. Hash seeds and "
            "versions must be shuffled with the report.",
            reproduce=f"python -m ldpcore shuffle --epsilon {facts.scenario.epsilon!r} --devices {int(batch)} --delta {float(delta):g}",
            figures={"epsilon_central": central.epsilon_central, "delta": float(delta), "batch": int(batch)},
            about="Guarantee after shuffling",
        )
    )
    return Section("shuffle", title, tuple(claims))
