"""What the Device page says in words alone: beside the report, who can't be protected, and the answers to remember."""

from __future__ import annotations

from typing import Final

import pandas as pd
import streamlit as st

from ldpcore.device.wire import HEADER_BYTES
from ldpcore.settings import Scenario
from ldpcore.trips.cities import city_domain
from ui.checklist_panel import checklist_panel
from ui.controls import heading, note
from ui.device_attack import span_words
from ui.device_parts import View
from ui.number_words import count_of, thousands

BESIDE: Final = (
    (
        "The schedule",
        "A report that comes only when the phone moves, or only by day, says so by its time. A phone that is off says when.",
        "Send at fixed times, whatever happened; outside the area send the report of a random cell.",
    ),
    (
        "The network address (IP)",
        "Most addresses name a town, many a household. At home, at work and on the move they differ: that alone is a trajectory.",
        "A relay that strips addresses (a shuffler), run by somebody else.",
    ),
    (
        "The account or session",
        "A login, a cookie or a push token ties all reports of a phone together, over every epoch.",
        "Send without a login, on a connection of its own.",
    ),
    (
        "The client build",
        "Version, language and parameters travel with the report. A rare build is a name; a build for one person is a trap.",
        "Few versions at once, the same for all; count versions apart; publish the build so that others can compare it.",
    ),
    (
        "The size of a report",
        "A length that depends on the cell gives the cell away.",
        "Nothing to do here: all reports of a randomiser have one size.",
    ),
    (
        "The phone's clock",
        "A new epoch draws new answers, and the phone knows the day by its clock alone. Whoever sets that clock forward, a step "
        "at a time, gets a fresh answer from the same place with each step.",
        "Take the time from a source the server doesn't run. A jump of more than 60 days waits until it was seen on three days.",
    ),
    (
        "A changed phone",
        "An app that was tampered with sends the truth, or lies. The server cannot tell.",
        "Attestation helps a little; it is no proof.",
    ),
)
"""What goes with a report: what it is, what it gives away, what helps."""

UNPROTECTED: Final = (
    (
        "Somebody whose movements are themselves the secret",
        "the night worker, the patient at the same hour each week: the times of moves stay visible with memory, at any ε",
    ),
    (
        "Somebody who moves a lot",
        "beyond the cap they fall silent, which marks them, or are counted in a wrong place",
    ),
    (
        "Somebody who stays for years",
        "each epoch draws anew, so the home cell comes out at the rate of epochs; ε adds up without end",
    ),
    (
        "Somebody who is already suspected",
        "ε bounds how far odds move, not where they end: from even odds, one report at ε = 2 can go to 88 %",
    ),
    (
        "Somebody alone behind an address or an account",
        "a household's address, or a login, names the phone beside every answer",
    ),
    ("Somebody with a changed phone", "its reports may be anything"),
)
"""Who local privacy can't protect here, and why."""


def beside_the_report(view: View) -> None:
    """List what gives a phone away however good its report is, and what every report says of its making."""
    panel = st.expander(
        "What gives a phone away however good the report is", key="open_beside", on_change="rerun"
    )
    if not panel.open:
        return
    with panel:
        rows = pd.DataFrame(BESIDE, columns=["Beside the report", "What it gives away", "What helps"])
        st.table(rows.set_index("Beside the report"))
        st.markdown(version_words(view))


def version_words(view: View) -> str:
    """Return what every report says of its making, and what a change of it does."""
    setting = view.setting
    mechanism = setting.mechanism
    domain = city_domain(setting.city, setting.scenario.resolution)
    return (
        f"Every report of this phone begins with the same {HEADER_BYTES} bytes: format, randomiser ({mechanism.name}), its "
        f"parameters ({mechanism.parameters_version}), the version of the domain ({domain.version}) and ε. The server counts "
        "versions apart and decodes none with the parameters of another. When one of these changes, the phone draws every answer "
        "anew, and its cells are paid for again; they still count against the cap of the same epoch."
    )


def unprotected() -> None:
    """Name the people that this can't protect."""
    with st.container(border=True):
        st.markdown("**Who can't be protected this way**")
        st.markdown("\n".join(f"- {who}: {why}." for who, why in UNPROTECTED))


def to_remember(view: View) -> None:
    """Ask the three questions that the page answers, each with its answer under it."""
    heading("Say it in your own words")
    for number, (question, answer) in enumerate(questions(view)):
        with st.expander(question, key=f"device_question_{number}"):
            st.markdown(answer)
    note("Try to answer before you open one.")


def questions(view: View) -> tuple[tuple[str, str], ...]:
    """Return the questions with their answers, in the numbers of this page."""
    setting = view.setting
    epsilon, schedule = setting.scenario.epsilon, setting.schedule
    cap = schedule.cap
    epoch = "day" if schedule.epoch_days == 1 else count_of(schedule.epoch_days, "day")
    return (
        (
            "Why does a phone that draws a new answer every five minutes have no privacy?",
            f"Because each answer leans a little towards the truth, and 288 a day from the same place average the rest away. In "
            f"ε: 288 × {epsilon:g} = {288 * epsilon:,.6g} a day, and a guarantee of e to the {288 * epsilon:,.6g} guarantees nothing. "
            "A small ε per report does not help: more reports make up for it.",
        ),
        (
            "What does memory do about it?",
            "It draws one answer per cell and repeats it. Reading it a thousand times says no more than reading it once, so each "
            f"cell costs ε = {epsilon:g} once in an epoch. It does not hide when the answer changes, and a new epoch draws anew: "
            f"every {epoch} the observer gets one more fresh answer, so 52 epochs are as telling as 52 fresh reports.",
        ),
        (
            "And the cap?",
            f"It stops the sum: at most {cap} cells an epoch, so at most {cap} × {epsilon:g} = {cap * epsilon:,.6g}, however much somebody "
            "moves. The price: beyond it the phone is silent, which shows that it was there, or repeats an old answer, which puts it "
            f"in the wrong place. At this cadence an epoch holds {thousands(setting.per_epoch)} reports, or {span_words(setting.per_epoch, schedule.reports_a_day)}.",
        ),
    )


def checks(scenario: Scenario) -> None:
    """Offer the guide's checklist, run against the client and the estimator that ship; last on the page."""
    panel = st.expander("The guide's checklist, run now", key="open_checks", on_change="rerun")
    if panel.open:
        with panel:
            checklist_panel(scenario)
