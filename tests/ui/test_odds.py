"""Odds are said in phones, and a bound is never rounded down."""

import math

import pytest

from ldpcore.mechanisms import make_mechanism
from ui.odds import belief_after_support, odds_ratio, odds_sentence


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 0.5, 0.7, 0.995, 1.0, 1.1, 2.0, 3.3, 5.0, 8.0, 16.0, 20.0])
def test_the_bound_is_at_least_the_ratio_and_close_to_it(epsilon: float) -> None:
    shown = float(odds_ratio(make_mechanism("oue", epsilon=epsilon, domain_size=50)).replace(",", ""))
    assert shown >= math.exp(epsilon) - 1e-6
    assert shown <= math.exp(epsilon) * 1.01


def test_the_sentence_counts_phones() -> None:
    sentence = odds_sentence(make_mechanism("oue", epsilon=2.0, domain_size=50))
    assert "about 50 point to it" in sentence
    assert "about 12 do too" in sentence


def test_belief_follows_bayes() -> None:
    mechanism = make_mechanism("grr", epsilon=2.0, domain_size=10)
    belief = belief_after_support(mechanism, 0.5)
    # Seeing home at a prior of one half: 0.8808 (posterior odds e^2 to 1).
    assert belief is not None
    assert belief.after == pytest.approx(math.exp(2) / (1 + math.exp(2)), rel=1e-9)
