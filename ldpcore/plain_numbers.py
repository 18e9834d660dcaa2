"""Numbers as they stand in sentences: never in scientific notation, and no more digits than are meant.

The core writes sentences too (reasons, checks), so this lies below the pages.
"""

from __future__ import annotations

import math
from typing import Final

_PERCENT: Final = "\N{NARROW NO-BREAK SPACE}%"
_MINUS: Final = "\N{MINUS SIGN}"
_WORDS: Final = ((1e12, "trillion"), (1e9, "billion"), (1e6, "million"))
_RARE: Final = 1e-4
"""Shares below it are read more easily as one in so many."""


def plain(value: float, digits: int = 3) -> str:
    """Write a number with some significant digits, in figures or from a million on in words.

    >>> plain(2_221_530), plain(0.0123456), plain(9.996), plain(12_345), plain(0.5)
    ('2.22 million', '0.0123', '10', '12,300', '0.5')
    """
    if not math.isfinite(value):
        return "no value"
    if value < 0:
        return _MINUS + plain(-value, digits)
    value = float(f"{value:.{max(digits, 1)}g}")
    for size, word in _WORDS:
        if value >= size:
            return f"{_positional(value / size, digits)} {word}"
    return _positional(value, digits)


def plain_percent(share: float, digits: int = 2) -> str:
    """Write a share of one as a percentage, or where it is rare as one in so many.

    >>> plain_percent(0.857).split(), plain_percent(2.6e-8)
    (['86', '%'], '1 in 38 million')
    """
    if 0 < share < _RARE:
        return one_in(share, digits)
    return plain(100 * share, digits) + _PERCENT


def one_in(share: float, digits: int = 2) -> str:
    """Write a positive probability as one in so many.

    >>> one_in(1 / 90_123)
    '1 in 90,000'
    """
    # The smallest numbers have a reciprocal beyond all others; there is no telling them from nothing.
    return f"1 in {plain(1 / share, digits)}" if share > 1e-300 else "never"


def chance(probability: float, digits: int = 2) -> str:
    """Write a probability as a number, or where it is rare as one in so many.

    >>> chance(0.35), chance(2.1e-05), chance(0)
    ('0.35', '1 in 48,000', '0')
    """
    return one_in(probability, digits) if 0 < probability < _RARE else plain(probability, digits)


def _positional(value: float, digits: int) -> str:
    if value == 0:
        return "0"
    places = max(digits - 1 - math.floor(math.log10(value)), 0)
    text = f"{value:,.{places}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
