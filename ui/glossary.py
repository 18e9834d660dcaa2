"""The words of the field: standard name, one sentence, and the step of the lesson that explains it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from html import escape
from types import MappingProxyType
from typing import Final

import streamlit as st


@dataclass(frozen=True, slots=True)
class Term:
    """One word.

    Parameters
    ----------
    name
        The standard name.
    sentence
        What it means, in one sentence.
    step
        Step of the lesson that explains it, 1 to 8.
    """

    name: str
    sentence: str
    step: int


TERMS: Final[Mapping[str, Term]] = MappingProxyType(
    {
        "ldp": Term(
            "local differential privacy (LDP)",
            "Every phone randomises its own report before it leaves, so that no report changes anybody's odds about its "
            "phone by more than e to the ε.",
            1,
        ),
        "epsilon": Term(
            "epsilon (ε), privacy loss",
            "The most a report may say: odds about its phone change by at most a factor of e to the ε, whatever the "
            "observer knew before.",
            1,
        ),
        "randomised_response": Term(
            "randomised response",
            "Answer truly with a known chance and otherwise not, so that no single answer can be held against anyone "
            "(Warner, 1965).",
            1,
        ),
        "odds": Term(
            "odds",
            "Chance for against chance against: 1 to 1 is one half, 7 to 1 is seven eighths.",
            1,
        ),
        "randomiser": Term(
            "randomiser (mechanism)",
            "The rule by which a phone turns its true value into a random report.",
            2,
        ),
        "encode": Term(
            "encode",
            "Write a value in the form the randomiser needs, one mark on a row of bits for instance.",
            2,
        ),
        "perturb": Term(
            "perturb", "Change the encoded value by chance, on the phone, before anything is sent.", 2
        ),
        "aggregate": Term(
            "aggregate", "Add up what the reports say of each cell; the sums can be added again.", 3
        ),
        "estimate": Term(
            "estimate",
            "What the server computes from the sums by undoing the chance: right on average, and wrong by about one "
            "standard error each time.",
            4,
        ),
        "domain": Term(
            "domain",
            "The list of all cells a phone may report: the public service area, never the places people went.",
            2,
        ),
        "cell": Term(
            "cell (H3)",
            "A hexagon of a fixed world-wide grid; one step of resolution makes seven of one.",
            2,
        ),
        "report": Term("report", "What one phone sends: its randomised value, and which rule made it.", 2),
        "p": Term("p", "The chance that a phone in a cell sends a report that points to that cell.", 4),
        "q": Term(
            "q", "The chance that a phone elsewhere sends a report that points to the cell all the same.", 4
        ),
        "raw_count": Term(
            "raw count (support count)",
            "How many reports point to a cell, before the chance is undone; an empty cell has about n times q.",
            3,
        ),
        "unbiased": Term(
            "unbiased",
            "Right on average over all coins; then some estimates of an empty cell must be negative.",
            4,
        ),
        "standard_error": Term(
            "standard error",
            "The typical distance between estimate and truth: about two draws in three lie closer.",
            5,
        ),
        "interval": Term(
            "error bar (95 % interval)",
            "A range around the estimate made so that it holds the truth in about 95 of 100 redraws.",
            5,
        ),
        "coverage": Term(
            "coverage", "The share of error bars that do hold the truth; only a simulation can count it.", 5
        ),
        "clamping": Term(
            "clamping",
            "Setting negative estimates to zero; it lifts an empty cell by 0.399 standard errors on average.",
            5,
        ),
        "floor": Term(
            "floor",
            "A cell is published only where at least so many devices are sure; it protects the reader from noise.",
            5,
        ),
        "resolution": Term("resolution", "How fine the grid is: each step has seven times as many cells.", 6),
        "relative_error": Term(
            "relative error", "One standard error over the count; ±10 % of 1,000 devices is ±100 devices.", 6
        ),
        "composition": Term(
            "composition",
            "Privacy losses of fresh reports add up: ten reports at ε = 2 may say as much as one at ε = 20.",
            7,
        ),
        "memoisation": Term(
            "memoisation",
            "A phone keeps its randomised answer for a place and sends that same answer again, so that repeats say "
            "nothing new about which place it is.",
            7,
        ),
        "epoch": Term(
            "epoch", "The time for which answers are kept; afterwards the phone tosses new coins.", 7
        ),
        "cap": Term("cap", "The most different places a phone answers for within one epoch.", 7),
        "posterior": Term(
            "posterior",
            "What an observer believes after a report; how much depends on the belief before (prior).",
            8,
        ),
        "poisoning": Term(
            "poisoning",
            "Modified phones send forged reports; each lifts a cell by up to (1 − q) ÷ (p − q) devices.",
            8,
        ),
        "shuffle_model": Term(
            "shuffle model",
            "A party in between strips addresses and mixes reports; it has to be trusted not to look.",
            8,
        ),
    }
)


def term(key: str, words: str | None = None, *, place: str) -> str:
    """Return a word as HTML whose definition shows under the pointer or the keyboard's focus.

    Parameters
    ----------
    key
        A key of `TERMS`.
    words
        The word as it stands in the sentence; its standard name by default.
    place
        Where on the page it stands, letters and digits; key and place together must be unique on a page,
        since a screen reader finds the definition by them.

    Examples
    --------
    >>> "aria-describedby" in term("epsilon", "ε", place="a")
    True
    """
    found = TERMS[key]
    name = f"tip-{key}-{place}"
    return (
        f'<span class="term"><button type="button" aria-describedby="{name}">{escape(words or found.name)}</button>'
        f'<span class="tip" role="tooltip" id="{name}">{escape(found.sentence)} (Learn, step {found.step})</span></span>'
    )


def words_used(*keys: str, place: str) -> None:
    """Write the words that a page uses in one quiet line, each with its definition."""
    words = " · ".join(term(key, place=place) for key in keys)
    st.html(f'<p class="quiet words">Words used here: {words}</p>')


def explained(sentence: str, step: int) -> str:
    """Return the help of a control: its sentence and the link to the step that explains it.

    The link names the step alone: a control is drawn before the scenario it is part of is known.
    """
    return f"{sentence} [Learn, step {step}](learn?step={step})"


def glossary_html(step_link: Callable[[int], str]) -> str:
    """Return all words with their sentences and the links to their steps, by name.

    Parameters
    ----------
    step_link
        From a step to its address.
    """
    rows = "".join(
        f"<dt>{escape(found.name)}</dt><dd>{escape(found.sentence)} "
        f'<a href="{escape(step_link(found.step), quote=True)}">Step {found.step}</a></dd>'
        for found in sorted(TERMS.values(), key=lambda found: found.name.lower())
    )
    return f'<dl class="glossary">{rows}</dl>'
