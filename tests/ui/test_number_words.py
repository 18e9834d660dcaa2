"""Numbers carry no more digits than their error allows."""

from __future__ import annotations

import math

import pytest

from ui import number_words as words


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (14_312.7, 2_689, "14,300 ±2,700"),
        (14_312.7, 95.2, "14,313 ±95"),
        (0.4271, 0.031, "0.427 ±0.031"),
        (-1_250.4, 99.6, "−1,250 ±100"),  # the error itself rounds up to three digits
        (12.0, 4_000, "0 ±4,000"),  # an estimate below its error's digits is not −0 or 12
        (-12.0, 4_000, "0 ±4,000"),
        (1_234_567.0, 0, "1,234,567 ±0"),
    ],
)
def test_value_and_error_agree_in_digits(value, error, text):
    assert words.with_error(value, error) == text


def test_no_value_is_said_and_not_nan():
    assert words.thousands(math.nan) == "no value"
    assert words.to_error(math.inf, 3.0) == "no value"
    assert words.percent(math.nan) == "no value"
    assert words.plus_minus(math.nan) == "±no value"


@pytest.mark.parametrize(("number", "text"), [(0, "0 cells"), (1, "1 cell"), (2218, "2,218 cells")])
def test_nouns_agree(number, text):
    assert words.count_of(number, "cell") == text


@pytest.mark.parametrize(
    ("value", "nice"),
    [(1, 1), (1.01, 1.5), (26_900, 30_000), (0.021, 0.025), (999, 1000), (1e6, 1e6), (3e-5, 3e-5)],
)
def test_nice_numbers_are_at_or_above(value, nice):
    assert words.nice_at_least(value) == pytest.approx(nice, rel=1e-12)
