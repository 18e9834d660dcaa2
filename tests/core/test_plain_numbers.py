"""Numbers in sentences: no scientific notation, nothing impossible, at any epsilon a reader can choose."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest

from ldpcore.advice import Wishes, advise
from ldpcore.comparison import compare_mechanisms
from ldpcore.mechanisms import MECHANISMS, make_mechanism
from ldpcore.plain_numbers import chance, plain, plain_percent
from ui.mechanism_words import answer, four_figures, parameters_line
from ui.odds import odds_sentence

EPSILONS = (1e-6, 0.01, 0.1, 0.5, 1.0, 2.0, 4.0, 8.0, 12.0, 16.0, 20.0)
CELLS = {5: 8, 6: 63, 7: 318, 8: 2218, 9: 14_000, 10: 93_384}
"""Cells of a domain by resolution, as New York has them."""

SCIENTIFIC = re.compile(r"\de[+-]?\d")


def complain_about(text: str) -> None:
    assert not SCIENTIFIC.search(text), text
    assert not re.search(r"\b(nan|inf|None)\b", text), text
    for number in re.findall(r"([\d.,]+)\N{NARROW NO-BREAK SPACE}% smaller", text):
        assert 0 < float(number.replace(",", "")) < 100, text
    assert "\N{MINUS SIGN}0\N{NARROW NO-BREAK SPACE}%" not in text, text


@pytest.mark.parametrize("resolution", CELLS)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_adviser_and_the_odds_are_in_words(epsilon: float, resolution: int) -> None:
    cells = CELLS[resolution]
    counts = np.zeros(cells, np.int64)
    for devices in (cells, 10_000_000):
        counts[:] = np.bincount(np.arange(min(cells, 400)) % cells, minlength=cells) * (devices // 400)
        counts[0] += 1
        comparison = compare_mechanisms(counts, epsilon=epsilon, chosen="grr")
        advice = advise(comparison, Wishes())
        texts = [advice.verdict, *advice.reasons, answer(comparison)]
        texts += [text for figure in four_figures(comparison) for text in (figure.value, figure.theory)]
        for entry in comparison.entries.values():
            texts += [parameters_line(entry.mechanism), odds_sentence(entry.mechanism)]
        for text in texts:
            complain_about(text)


def test_how_much_smaller_an_error_is_is_a_share_of_the_greater() -> None:
    """Subset selection at 1.504 beside optimised unary encoding at 10.56 is 1 - 1.504 / 10.56 = 86 % smaller."""
    counts = np.full(93_384, 107, np.int64)
    comparison = compare_mechanisms(counts, epsilon=16.0, chosen="oue")
    subset, unary = comparison.entries["ss"].error_typical, comparison.entries["oue"].error_typical
    (sentence,) = [
        reason for reason in advise(comparison, Wishes()).reasons if "never less accurate" in reason
    ]
    (stated,) = re.findall(r"([\d.]+)\N{NARROW NO-BREAK SPACE}% smaller", sentence)
    assert float(stated) == pytest.approx(100 * (1 - subset / unary), abs=0.5)


def test_phones_that_are_none_of_a_hundred_are_one_in_so_many() -> None:
    mechanism = make_mechanism("oue", epsilon=16.0, domain_size=100)
    # q = 1 / (e^16 + 1) = 1 / 8,886,112
    assert "of phones elsewhere, about 1 in 8.89 million do too" in odds_sentence(mechanism)


def test_plain_numbers_keep_their_digits() -> None:
    """Any positive number from 1e-12 to 1e18 comes back to half a unit of its last digit."""
    size = {"million": 1e6, "billion": 1e9, "trillion": 1e12, "": 1.0}
    rng = np.random.default_rng(2)
    for value, digits in itertools.product(10 ** rng.uniform(-12, 18, 2000), (1, 2, 3, 4, 6)):
        text = plain(float(value), digits)
        assert not SCIENTIFIC.search(text)
        figures, _, word = text.partition(" ")
        assert float(figures.replace(",", "")) * size[word] == pytest.approx(
            value, rel=0.5000001 * 10.0 ** (1 - digits)
        )
    assert (plain(0), plain(-2.5e7), plain(float("nan")), plain(float("inf"))) == (
        "0",
        "\N{MINUS SIGN}25 million",
        "no value",
        "no value",
    )
    assert (plain(999_999), plain(999.9, 2), plain(1e9, 1)) == ("1 million", "1,000", "1 billion")
    assert plain_percent(0) == "0\N{NARROW NO-BREAK SPACE}%"
    assert chance(2e-13) == "1 in 5 trillion"
    assert chance(5e-324) == "never"


def test_every_randomiser_says_its_setting_without_exponents() -> None:
    for name, epsilon, cells in itertools.product(MECHANISMS, (0.01, 1.0, 20.0), (2, 300, 300_000)):
        complain_about(parameters_line(make_mechanism(name, epsilon=epsilon, domain_size=cells)))
