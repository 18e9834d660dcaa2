"""How numbers read in a report: no more digits than they carry, and always a unit beside them."""

from __future__ import annotations

import math
from fractions import Fraction


def whole(number: float) -> str:
    """Write a count with commas.

    Examples
    --------
    >>> whole(1234567.4)
    '1,234,567'
    """
    return f"{round(number):,}"


def rounded(number: float, digits: int = 3) -> str:
    """Write a number with so many significant digits, with commas, never in powers of ten above 0.0001.

    Examples
    --------
    >>> rounded(2687.9), rounded(0.01234), rounded(0.0), rounded(-1234.0)
    ('2,690', '0.0123', '0', '−1,230')
    """
    if number == 0:
        return "0"
    size = math.floor(math.log10(abs(number)))
    value = round(number, digits - 1 - size)
    if value != 0 and abs(value) < 1e-4:
        text = f"{abs(value):.{digits - 1}e}"
    else:
        # Rounding up can add a place: 0.9996 is 1.00 with three digits.
        places = max(digits - 1 - (math.floor(math.log10(abs(value))) if value else size), 0)
        text = f"{abs(value):,.{places}f}"
    if "." in text and "e" not in text:
        text = text.rstrip("0").rstrip(".")
    return f"−{text}" if value < 0 else text


def signed(number: float, digits: int = 3) -> str:
    """Write a number with its sign.

    Examples
    --------
    >>> signed(12.3), signed(-12.3)
    ('+12.3', '−12.3')
    """
    text = rounded(number, digits)
    return text if number <= 0 else f"+{text}"


def percent(share: float, digits: int = 3) -> str:
    """Write a share in per cent.

    Examples
    --------
    >>> percent(0.44025), percent(0.0000012), percent(0.99996), percent(1.0)
    ('44 %', '0.00012 %', 'over 99.9 %', '100 %')
    """
    # Only what is certain is 100 %.
    if share < 1 and _plain(100 * share, digits) == "100":
        return f"over {_plain(100 - 10.0 ** (2 - digits), digits)} %" if digits > 2 else "over 99 %"
    return f"{_plain(100 * share, digits)} %"


def _plain(number: float, digits: int) -> str:
    if number == 0:
        return "0"
    text = rounded(number, digits)
    if "e" in text:
        text = f"{number:.{digits - 1 - math.floor(math.log10(abs(number)))}f}".rstrip("0").rstrip(".")
    return text


def fraction(number: Fraction) -> str:
    """Write a fraction in full, "a/b"."""
    return f"{number.numerator}/{number.denominator}"


def listed(words: list[str]) -> str:
    """Write words as a list in a sentence.

    Examples
    --------
    >>> listed(["a", "b", "c"]), listed(["a"])
    ('a, b and c', 'a')
    """
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else "".join(words)
