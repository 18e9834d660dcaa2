"""Steps 1 and 2: one phone, one coin; one phone, a grid."""

from __future__ import annotations

import math
from html import escape
from typing import Final

import numpy as np
import pandas as pd
import streamlit as st

from ldpcore.device.wire import HEADER_BYTES, read_header
from ldpcore.lesson import PHONES, Survey, lesson_generator, probabilities, survey
from ldpcore.mechanisms import FrequencyOracle, Mechanism
from ldpcore.scenario import scenario_mechanism
from ldpcore.settings import Scenario
from ui.controls import note
from ui.explore_map import raw_counts
from ui.glossary import term
from ui.headline import Figure, figures_html
from ui.hex_map import Panel
from ui.learn_frame import headline
from ui.learn_link import Place, again_button, number_slider
from ui.learn_map import choose_cell, hover, is_dark, lesson_map
from ui.learn_pictures import Phone, bit_grid, columns, phones
from ui.learn_player import player
from ui.learn_steps import STEPS, Choice, Question
from ui.learn_way import way_frames, way_svg
from ui.link import SCENARIO_KEY
from ui.number_words import count_of, plus_minus, thousands, to_error
from ui.odds import odds_ratio
from ui.palettes import RAMPS, tokens
from ui.pipeline import get_population, get_release
from ui.report_picture import OpenReport, make_report
from ui.scenario import EPSILON_STOPS

DEFAULT_YES: Final = 30
ONE_BIT_A_CELL: Final = frozenset({"oue", "sue", "the", "ss"})
"""Randomisers whose reports are one bit a cell."""
_REPORT: Final = "_learn_report"
_SENT: Final = "_learn_sent"
_SHOWN_BITS: Final = 640


def coin(place: Place, scenario: Scenario) -> Question:  # noqa: ARG001 - every step takes both
    """Draw step 1 and return its question."""
    top = st.container()
    left, right = st.columns([0.62, 0.38], gap="large")
    with right:
        yes = number_slider(
            "yes",
            "Phones that are truly a yes",
            default=DEFAULT_YES,
            least=0,
            most=PHONES,
            help_text="Of 100 phones. Only a simulation can set it; a server would like to find it.",
        )
        _epsilon_choice()
        toss = again_button(
            "toss", "Toss all coins again", help_text="The truth stays, every phone tosses its coin again."
        )
    found = survey(scenario.epsilon, yes=yes, rng=lesson_generator(scenario, step=1, toss=toss))
    turned, said = int(found.turned.sum()), int(found.answers.sum())
    with top:
        headline(
            STEPS[0],
            f"Of 100 phones {turned} sent the opposite of the truth, and nobody can tell which; the server estimates "
            f"{to_error(found.estimate, found.std_error)} {plus_minus(found.std_error)} yes, and {yes} is true.",
        )
    colours = tokens(dark=is_dark())
    with left:
        st.html(
            "<h2 class=card-name>What is true</h2>"
            + phones(
                [Phone(bool(value)) for value in found.truth],
                colours,
                f"100 phones, {yes} of them filled: truly a yes.",
            )
            + "<h2 class=card-name>What the phones answer</h2>"
            + phones(
                [
                    Phone(bool(said), bool(turned))
                    for said, turned in zip(found.answers, found.turned, strict=True)
                ],
                colours,
                f"The same 100 phones by their answer: {said} yes. A stroke marks the {turned} whose coin turned the "
                "answer round; the server does not see the strokes.",
            )
            + "<p class=quiet>Filled: yes. Struck through: the coin turned the answer round, which the server does "
            "not see.</p>"
        )
    p, q = probabilities(found.mechanism)
    st.html(
        figures_html(_coin_figures(found, yes=yes, said=said), map_version=f"coin-{turned}-{said}-{toss}")
    )
    st.html(
        f"<p class=lesson>Each phone tosses a coin that says “answer truly” with chance p = {p:.3f}, else “say the "
        f"opposite”. This is {term('randomised_response', place='coin')}, thought up by Stanley Warner in 1965 for "
        f"questions people would rather not answer. {term('epsilon', 'Epsilon', place='coin')} is the promise behind it, "
        f"best read in {term('odds', place='coin')}: whatever somebody believed about a phone, its answer changes those "
        f"odds by at most {odds_ratio(found.mechanism)} to 1. A phone you held for a yes at 1 to 1 is, after its yes, a "
        f"yes at {odds_ratio(found.mechanism)} to 1, and never certain.</p>"
    )
    with st.expander("The same as a table"):
        table = pd.DataFrame(
            {
                "Truth": ["yes", "no"],
                "Answered yes": [
                    int((found.answers & found.truth).sum()),
                    int((found.answers & ~found.truth).sum()),
                ],
                "Answered no": [
                    int((~found.answers & found.truth).sum()),
                    int((~found.answers & ~found.truth).sum()),
                ],
            }
        )
        st.dataframe(table, hide_index=True, width="stretch")
        st.markdown(
            f"The server's way back: ({said} − 100 × {q:.4f}) ÷ ({p:.4f} − {q:.4f}) = {found.estimate:.2f}, one standard "
            f"error {found.std_error:.2f}. Step 4 does the same for a map."
        )
    ratio = odds_ratio(found.mechanism)
    return Question(
        f"One of these phones answered yes, at ε = {scenario.epsilon:g}. What does that tell you about it?",
        (
            Choice(
                "It is a yes.",
                False,
                f"Its coin may have turned a no round: {100 * q:.0f} of 100 noes answer yes.",
            ),
            Choice(
                "Nothing at all.",
                False,
                "It does tell something: a yes is sent more often by a phone that is a yes.",
            ),
            Choice(
                f"The odds that it is a yes are {ratio} times what you held them for before, and no more.",
                True,
                f"That is what ε = {scenario.epsilon:g} promises: a factor of at most e to the ε on anybody's odds, "
                "whatever they knew before.",
            ),
        ),
    )


def _coin_figures(found: Survey, *, yes: int, said: int) -> tuple[Figure, ...]:
    p, q = probabilities(found.mechanism)
    expected = yes * p + (PHONES - yes) * q
    spread = math.sqrt(PHONES * p * q)
    return (
        Figure("Truly yes", str(yes), "set by you", "Only a simulation knows it."),
        Figure(
            "Answered yes",
            str(said),
            f"theory {expected:.1f} {plus_minus(spread)}",
            "What the server counts: pulled towards one half.",
        ),
        Figure(
            "Estimated yes",
            f"{to_error(found.estimate, found.std_error)} {plus_minus(found.std_error)}",
            "one standard error",
            "The count with the coin's part taken away and the rest scaled up; may be below 0 or above 100.",
        ),
        Figure(
            "Answers turned round",
            f"{int(found.turned.sum())} of 100",
            f"theory {100 * q:.1f} {plus_minus(spread)}",
            "Coins that said: the opposite.",
        ),
    )


def _epsilon_choice() -> None:
    """Draw epsilon here as well: it is the shared one, and on a phone the sidebar is closed."""
    scenario: Scenario = st.session_state.get(SCENARIO_KEY, Scenario())
    stops = sorted({*(stop for stop in EPSILON_STOPS if stop <= 8), scenario.epsilon})
    st.session_state["learn_epsilon"] = scenario.epsilon

    def take() -> None:
        st.session_state["set_epsilon"] = st.session_state["learn_epsilon"]

    st.select_slider(
        "Privacy loss (ε)",
        stops,
        format_func=lambda stop: f"{stop:g}",
        key="learn_epsilon",
        on_change=take,
        help="The same ε as in the sidebar. Left is more private, right more accurate.",
    )


def grid_report(place: Place, scenario: Scenario) -> Question:
    """Draw step 2 and return its question."""
    population = get_population(scenario)
    mechanism = scenario_mechanism(scenario, population)
    domain = population.domain
    release = get_release(scenario)
    top = st.container()
    left, right = st.columns([0.58, 0.42], gap="large")
    with right:
        cell = choose_cell(population, key="learn_phone_cell", label="Where the phone is")
        if place.class_seed is None:
            report = _real_report(mechanism, scenario, cell)
        else:
            toss = again_button("toss", "Send another report", help_text="The phone stays where it is.")
            report = _replica(mechanism, scenario, cell, toss)
    pointed = report.support > 0.5
    own = bool(pointed[cell])
    count = int(pointed.sum())
    names = domain.cell_ids()
    with top:
        headline(
            STEPS[1],
            f"The phone is in one cell; its report points to {count_of(count, 'cell')} of {thousands(domain.size)}, "
            f"and its own {'is' if own else 'is not'} among them.",
        )
    with left:
        lesson_map(
            population,
            scenario,
            [
                Panel(
                    id="report",
                    title="What the report says",
                    subtitle="cells it points to are dark; the phone's own has a frame",
                    index=np.where(pointed, 190, 12).astype(np.uint8),
                    ramp=RAMPS["counts"],
                    hatch=False,
                )
            ],
            key="learn_report_map",
            columns=(hover("Report points here (1 yes, 0 no)", pointed.astype(np.float64)),),
            followed=cell,
        )
    colours = tokens(dark=is_dark())
    with right:
        st.html(_bits_html(report, mechanism, cell=cell, dark=is_dark()))
        if place.class_seed is None:
            note(
                "Made by the client that would run on a phone. Its coins come from the operating system and from nowhere "
                "else: whoever could guess them could undo them. So this report cannot be made again from the link; every other "
                "number here can."
            )
        else:
            note(
                "In a class this is a replica with the same odds, whose coins come from the class number, so that all see "
                "the same report. A real phone never uses a seed."
            )
    p, q = probabilities(mechanism)
    st.html("<h2 class=card-name>The report's way to the map</h2>")
    player(
        way_svg(
            report.support,
            cell,
            raw=raw_counts(release),
            estimates=release.estimates.estimate,
            tokens=colours,
        ),
        key="learn_way",
        texts=way_frames(
            cell_name=names[cell],
            cells=domain.size,
            count=count,
            own=own,
            p=p,
            q=q,
            one_a_cell=_one_a_cell(mechanism),
            crowd=release.population.size,
        ),
        label="A report's way in five pictures: encode and perturb on the phone, send, aggregate and estimate on the server",
        frame_word="Picture",
        dark=is_dark(),
        interval_ms=2200,
    )
    st.html(
        f"<p class=lesson>The phone {term('encode', 'encodes', place='grid')} its cell, "
        f"{term('perturb', 'perturbs', place='grid')} the result with its {term('randomiser', place='grid')}, here "
        f"{escape(mechanism.label.lower())}, and sends. The list of cells, the {term('domain', place='grid')}, is the "
        "public service area: a list made of visited places would itself say where people went.</p>"
    )
    others = (domain.size - 1) * q
    st.html(
        columns(
            [
                ("phones in this cell", 100 * p, f"{100 * p:.1f} of 100 point to it"),
                ("phones elsewhere", 100 * q, f"{100 * q:.1f} of 100 point to it too"),
            ],
            most=100,
        )
    )
    with st.expander("The same as a table"):
        st.dataframe(
            pd.DataFrame(
                {
                    "Cell (H3)": names,
                    "Report points to it": pointed,
                    "The phone's own": np.arange(domain.size) == cell,
                }
            ),
            hide_index=True,
            width="stretch",
            height=320,
        )
    with st.expander("What travels, byte by byte"):
        _bytes(report)
    return Question(
        f"Somebody intercepts this report. It points to {count_of(count, 'cell')}. Which one is the phone's?",
        (
            Choice(
                "One of those it points to, for certain.",
                False,
                f"The phone's own cell is among them with chance {p:.3f} only.",
            ),
            Choice(
                "It cannot be told; each cell's odds changed by a known factor at most.",
                True,
                f"On average chance alone marks {others:.1f} other cells, and the own one is missing with chance "
                f"{1 - p:.3f}. No cell's odds change by more than {odds_ratio(mechanism)} to 1.",
            ),
            Choice(
                "The one in the middle of the cells it points to.",
                False,
                "Marks set by chance do not lie around the phone; they lie anywhere in the city.",
            ),
        ),
    )


def _real_report(mechanism: Mechanism, scenario: Scenario, cell: int) -> OpenReport:
    """Return the report of the client that ships; the same one until the reader asks for another."""
    held = st.session_state.get(_REPORT)
    sent = st.session_state.get(_SENT, 0)
    key = (scenario.city, scenario.resolution, mechanism, cell, sent)

    def again() -> None:
        st.session_state[_SENT] = sent + 1

    st.button("Send another report", key="learn_send", on_click=again, help="The phone stays where it is.")
    if held is None or held[0] != key:
        held = (key, make_report(mechanism, get_population(scenario).domain, cell))
        st.session_state[_REPORT] = held
    report: OpenReport = held[1]
    return report


def _replica(mechanism: Mechanism, scenario: Scenario, cell: int, toss: int) -> OpenReport:
    """Return a report with the same odds whose coins come from the class's seed."""
    rng = lesson_generator(scenario, step=2, toss=toss)
    content = mechanism.privatize(np.array([cell]), rng=rng)
    payload = mechanism.pack(content)[0].tobytes()
    support = np.asarray(mechanism.support(mechanism.aggregate(content), n=1), np.float64)
    return OpenReport(cell, payload, payload, content, support)


def _one_a_cell(mechanism: FrequencyOracle) -> bool:
    return mechanism.name in ONE_BIT_A_CELL


def _bits_html(report: OpenReport, mechanism: FrequencyOracle, *, cell: int, dark: bool) -> str:
    bits = np.unpackbits(np.frombuffer(report.payload, np.uint8), bitorder="little")
    one_a_cell = _one_a_cell(mechanism)
    bits = bits[: report.support.size] if one_a_cell else bits
    shown = bits[:_SHOWN_BITS]
    sentence = (
        "One bit a cell, read by rows: filled is 1. The frame marks the phone's own cell."
        if one_a_cell
        else "The payload's bits, from the least significant of the first byte on. They are the number of what was sent, "
        "not one bit a cell."
    )
    picture = bit_grid(
        shown.astype(bool),
        own=cell if one_a_cell and cell < shown.size else None,
        tokens=tokens(dark=dark),
        description=f"{bits.size} bits of the report, {int(bits.sum())} of them 1.",
    )
    return f"<h2 class=card-name>The report, bit by bit</h2>{picture}<p class=quiet>{sentence}</p>"


def _bytes(report: OpenReport) -> None:
    header = len(report.message) - len(report.payload)
    if header == HEADER_BYTES:
        said = read_header(report.message)
        st.markdown(
            f"A header of {header} bytes says how the report was made, so that a server never counts it with other "
            f"parameters: randomiser {said.mechanism}, {said.domain_size:,} cells, domain version {said.domain_version}, "
            f"parameters version {said.parameters_version}, ε = {said.epsilon:g}. Then {len(report.payload)} bytes:"
        )
    st.code(report.payload.hex(" "), language=None, wrap_lines=True)
    note("In hexadecimal: two digits a byte. All reports of these settings have the same size.")
