"""The parts of the Review page: the sentence, the label, the sections as they stand in the files, and the files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from html import escape
from typing import Final

import streamlit as st

from ldpcore.privacy.composition import device_loss
from ldpcore.review import Beside, Evidence, Report
from ldpcore.review.diagram import draw_trust, parties, trust_words, untrusted_words
from ldpcore.review.files import WRITERS
from ldpcore.review.html import section_html, style, table_html
from ldpcore.review.other import ANY_FILE
from ldpcore.review.pdf import unprintable_words
from ldpcore.review.report import NOT_ADDRESSED, USER, Section
from ldpcore.schedule import Schedule
from ldpcore.settings import Scenario
from ldpcore.statements import STATEMENTS
from ui.controls import heading, note
from ui.explore_parts import is_dark
from ui.headline import Figure, figures_html
from ui.number_words import thousands, unbroken
from ui.palettes import tokens

FILES: Final = {
    ".pdf": ("PDF", "application/pdf"),
    ".html": ("HTML", "text/html"),
    ".yaml": ("YAML, registry fields", "application/yaml"),
    ".json": ("JSON", "application/json"),
}
_OWN_COLOURS: Final = (
    ".rv-claim, .rv-drawing, .rv-wide { --rv-text: currentColor; "
    "--rv-quiet: color-mix(in srgb, currentColor 72%, transparent); "
    "--rv-line: color-mix(in srgb, currentColor 18%, transparent); } "
    ".rv-name { font-size: 0.875rem; margin: 0; } .st-key-trust_narrow { display: none; } "
    "@media (max-width: 640px) { .st-key-trust_wide { display: none; } .st-key-trust_narrow { display: flex; } }"
)


def apply_review_style() -> None:
    """Add the style of the report's sections, in the colours of the theme."""
    st.html(f"<style>{_OWN_COLOURS}\n{style(page=False)}</style>")


def nothing_tried(scenario: Scenario, schedule: Schedule) -> None:
    """Say what is claimed before anything was tried, and draw who is trusted."""
    day = device_loss(scenario.epsilon, schedule, days=1)
    st.html(
        f'<h1 class="headline">{escape(unbroken(_claim(scenario)))} Nothing has been tried yet: run the checks to see whether it holds.</h1>'
    )
    note(
        f"Under the schedule of the sidebar one device spends at most ε = {day.epsilon:,.6g} a day. The checks attack the client that "
        "ships, run the guide's checklist, redraw the coins, and write down what is not protected."
    )


def _claim(scenario: Scenario) -> str:
    return f"The claim: one report has a privacy loss of at most ε = {scenario.epsilon:g}."


def trust_picture(*, shuffler: bool, memo: bool) -> None:
    """Draw who sees what, in the colours of the theme."""
    svg = draw_trust(shuffler=shuffler, memo=memo, font="sans-serif", ink=tokens(dark=is_dark()).text)
    with st.container(key="trust_wide"):
        st.image(svg, width="stretch", alt=trust_words(shuffler=shuffler))
    # A row of boxes can't be read on a phone: there it is a list.
    steps = "".join(
        f"<li><h4>{escape(party.name)}</h4><p>{escape(' '.join(party.lines))}</p></li>"
        for party in parties(shuffler=shuffler)
    )
    with st.container(key="trust_narrow"):
        st.html(f'<ol class="flow">{steps}</ol>')
        note(
            "The randomiser stands between the device and the network; the device alone is trusted. Everybody else is "
            f"{untrusted_words(memo=memo)}."
        )


def verdict(report: Report, evidence: Evidence) -> None:
    """Write the verdict, what must be read first, and the four figures."""
    answer, _, rest = report.verdict.partition(". ")
    st.html(f'<h1 class="headline">{escape(unbroken(answer.rstrip(".")))}.</h1>')
    if rest:
        st.html(f"<p>{escape(rest)}</p>")
    note(report.banner)
    attack, checks = evidence.audit, evidence.checks
    said = _count(report, USER)
    missing = len(report.not_addressed)
    day = device_loss(
        evidence.scenario.epsilon, evidence.schedule, days=1, distinct_cells=evidence.population.domain.size
    )
    figures = (
        Figure(
            "ε of one report",
            f"{evidence.scenario.epsilon:g}",
            f"implied by the fractions: {evidence.mechanism.epsilon_effective:.9g}",
            "The label, and the greatest log-likelihood ratio of what is really sent.",
        ),
        Figure(
            "ε of a device in a day",
            f"{day.epsilon:,.6g}",
            "worst device" if day.pattern_hidden else "for which cells, not when they changed",
            "Under the schedule of the sidebar.",
        ),
        Figure(
            "Attack on the client",
            "passed" if attack.live_passed and attack.replica.passed else "FAILED",
            f"proves ≥ {attack.replica.epsilon_lower_bound:.2f}, could have up to {attack.replica.max_certifiable:.2f}"
            if attack.could_refute
            else f"could have proved {attack.replica.max_certifiable:.2f} at most: less than the claim, so no support",
            "A lower bound on the loss, and the greatest that so many reports could have proved.",
        ),
        Figure(
            "Checklist",
            f"{len(checks.entries) - len(checks.failed)} of {len(checks.entries)}",
            f"{thousands(said)} statements yours, {thousands(missing)} missing",
            "Points of the guide's checklist that hold, and how much is left for people to say.",
        ),
    )
    st.html(figures_html(figures, map_version="review"))


def _count(report: Report, source: str) -> int:
    return sum(claim.source == source for section in report.sections for claim in section.statements)


def label(report: Report) -> None:
    """Show the front of the report."""
    heading("The label, first page of the report")
    for claim in report.sections[0].statements:
        if claim.table is not None:
            st.html(table_html(claim.table))


def downloads(report: Report, command: str, pair: Beside | None = None) -> None:
    """Offer the report in every format, made when it is asked for, and the command that makes it."""
    heading("Take it with you")
    columns = st.columns(len(FILES), gap="small")
    for column, (suffix, (words, mime)) in zip(columns, FILES.items(), strict=True):
        column.download_button(
            words,
            _maker(report, suffix),
            f"review{suffix}",
            mime,
            key=f"review_file{suffix}",
            width="stretch",
            on_click="ignore",
        )
    if lacking := unprintable_words(report):
        note(f"{lacking.replace('this PDF', 'the PDF')}")
    st.caption(
        "This command makes the same report in a terminal; your statements come with --statements or a scenario file."
    )
    st.code(command, language="bash", wrap_lines=True)
    if pair is not None and pair.word == ANY_FILE:
        left, right = st.columns([0.7, 0.3], gap="small", vertical_alignment="center")
        with left:
            note(f"In it, {ANY_FILE} is the scenario that stands beside this one: save that file first.")
        right.download_button(
            "Scenario file (JSON)",
            pair.second.file.to_json(),
            ANY_FILE,
            "application/json",
            key="review_beside_file",
            width="stretch",
            on_click="ignore",
        )


def _maker(report: Report, suffix: str) -> Callable[[], bytes]:
    return lambda: WRITERS[suffix](report)


def sections(report: Report, evidence: Evidence) -> None:
    """Show every section after the label, each behind its title, with what is missing in it."""
    heading("The report, section by section")
    for section in report.sections[1:]:
        with st.expander(_title(section)):
            # A page's sanitiser takes drawings out of HTML; this one stands above as a picture.
            st.html(section_html(replace(section, svg=""), report.repeats, linked=False))
            if section.id == "checklist":
                note(
                    "The first point with the client's own coins, which differ each time and are therefore in no file: "
                    + evidence.checks.live_figures
                )


def repeats(report: Report) -> None:
    """List the commands and pages that give the figures again, by the short names the sections use."""
    with st.expander("Where the figures come from: R1, R2, ..."):
        note("Commands run in a terminal; what begins with a slash is a page of this dashboard.")
        for text, name in report.repeats.items():
            st.html(f'<p class="rv-name">{name}</p>')
            st.code(text, language="bash" if text.startswith("python") else None, wrap_lines=True)


def _title(section: Section) -> str:
    missing = sum(claim.source == NOT_ADDRESSED for claim in section.statements)
    return f"{section.title} ({missing} not addressed)" if missing else section.title


def form_title(statements: dict[str, str]) -> str:
    """Return how much of the form is filled."""
    return f"In your own words: {len(statements)} of {len(STATEMENTS)} statements"
