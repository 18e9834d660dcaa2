"""Epsilon in odds: what a report says about a phone, in phones out of a hundred.

Wording by odds was understood best by lay people (Nanayakkara, Smart, Cummings, Kaptchuk,
Redmiles, *What Are the Chances? Explaining the Epsilon Parameter in Differential Privacy*,
USENIX Security 2023).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ldpcore.mechanisms import FrequencyOracle
from ldpcore.plain_numbers import one_in, plain


@dataclass(frozen=True, slots=True)
class Belief:
    """What an observer believes about one phone before and after a report for a cell.

    Parameters
    ----------
    before, after
        Probability that the phone is in the cell.
    """

    before: float
    after: float


def odds_sentence(mechanism: FrequencyOracle) -> str:
    """Return one sentence that says epsilon in phones out of a hundred."""
    general = f"Nobody's odds about a phone change by more than {odds_ratio(mechanism)} to 1."
    if mechanism.p is None or mechanism.q is None:
        return general
    here, elsewhere = float(mechanism.p), float(mechanism.q)
    return f"{_who(here, 'truly in a cell', 'point to it')}; {_who(elsewhere, 'elsewhere', 'do too').lower()}. {general}"


def odds_ratio(mechanism: FrequencyOracle) -> str:
    """Return the greatest factor by which a report may change the odds about its phone, rounded up."""
    return _ratio(math.exp(mechanism.epsilon_effective))


def belief_after_support(mechanism: FrequencyOracle, share: float) -> Belief | None:
    """Return an observer's belief about a phone whose report supports a cell.

    Parameters
    ----------
    mechanism
        The randomiser.
    share
        Share of all phones that are in the cell, the observer's belief before.

    Returns
    -------
    None where the mechanism has no single pair of support probabilities.
    """
    if mechanism.p is None or mechanism.q is None:
        return None
    here, elsewhere = share * float(mechanism.p), (1 - share) * float(mechanism.q)
    return Belief(before=share, after=here / (here + elsewhere) if here + elsewhere > 0 else share)


def _who(share: float, where: str, what: str) -> str:
    """Say how many of a hundred phones; where that is no phone at all, in how many there is one."""
    if share >= 0.001:
        return f"Of 100 phones {where}, about {_phones(share)} {what}"
    return f"Of phones {where}, about {one_in(share, 3)} {what}"


def _phones(share: float) -> str:
    phones = 100 * share
    if phones >= 10:
        return f"{phones:.0f}"
    return f"{phones:.1f}" if phones >= 1 else f"{plain(phones, 2)}"


def _ratio(ratio: float) -> str:
    """Write a bound; it is rounded up, since a bound rounded down would not be one."""
    decimals = max(0, 2 - math.floor(math.log10(ratio)))
    return f"{math.ceil(ratio * 10**decimals - 1e-9) / 10**decimals:,.{decimals}f}"
