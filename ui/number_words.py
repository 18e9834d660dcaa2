"""How numbers are written: grouped by thousands, with no more digits than the error allows."""

from __future__ import annotations

import math

MINUS = "\N{MINUS SIGN}"


def thousands(value: float) -> str:
    """Write a number rounded to a whole one, grouped by commas.

    >>> thousands(14300.4)
    '14,300'
    >>> thousands(-1250)
    '−1,250'
    """
    if not math.isfinite(value):
        return "no value"
    return f"{round(value):,}".replace("-", MINUS)


def unbroken(text: str) -> str:
    """Return a text whose equations stay on one line.

    >>> unbroken("at ε = 14, or not") == "at ε\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}14, or not"
    True
    """
    return text.replace(" = ", "\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}")


def signed(value: float) -> str:
    """Write a difference with its sign.

    >>> signed(230), signed(-230), signed(0)
    ('+230', '−230', '0')
    """
    text = thousands(value)
    return text if text.startswith(MINUS) or text in {"0", "no value"} else f"+{text}"


def round_significant(value: float, digits: int = 2) -> float:
    """Round to a number of significant digits.

    >>> round_significant(2689.0)
    2700.0
    """
    if value == 0 or not math.isfinite(value):
        return value
    return float(round(value, digits - 1 - math.floor(math.log10(abs(value)))))


def _decimals(error: float) -> int:
    """Return the decimal place of the second significant digit of an error; negative left of the point."""
    return 1 - math.floor(math.log10(abs(round_significant(error))))


def _write(value: float, decimals: int) -> str:
    return f"{round(value, decimals):,.{max(decimals, 0)}f}".replace("-", MINUS)


def to_error(value: float, error: float) -> str:
    """Write a value with no more digits than two significant digits of its error justify.

    >>> to_error(14312.7, 2689.0)
    '14,300'
    >>> to_error(0.4271, 0.031)
    '0.427'
    """
    if not math.isfinite(value):
        return "no value"
    if not math.isfinite(error) or error == 0:
        return thousands(value)
    text = _write(value, _decimals(error))
    return text.removeprefix(MINUS) if text.strip(f"{MINUS}0.,") == "" else text


def about(value: float, error: float) -> str:
    """Write an uncertain value in words.

    >>> about(14312.7, 2689.0)
    'about 14,300'
    """
    return f"about {to_error(value, error)}"


def plus_minus(error: float) -> str:
    """Write an error with two significant digits.

    >>> plus_minus(2689.0), plus_minus(0.04321), plus_minus(0)
    ('±2,700', '±0.043', '±0')
    """
    if not math.isfinite(error):
        return "±no value"
    if error == 0:
        return "±0"
    return f"±{_write(abs(error), _decimals(error))}"


def with_error(value: float, error: float, unit: str = "") -> str:
    """Write a value, its error and its unit.

    >>> with_error(14312.7, 2689.0, "devices")
    '14,300 ±2,700 devices'
    """
    text = f"{to_error(value, error)} {plus_minus(error)}"
    return f"{text} {unit}" if unit else text


def percent(share: float, decimals: int = 1) -> str:
    """Write a share of one as a percentage, with a narrow space before the sign.

    >>> ascii(percent(0.948)).replace(chr(92), "/")
    "'94.8/u202f%'"
    """
    if not math.isfinite(share):
        return "no value"
    return f"{100 * share:,.{decimals}f}\N{NARROW NO-BREAK SPACE}%".replace("-", MINUS)


def count_of(number: float, singular: str, plural: str | None = None) -> str:
    """Write a count with its noun in the right number.

    >>> count_of(1, "cell"), count_of(2218, "cell")
    ('1 cell', '2,218 cells')
    """
    return f"{thousands(number)} {singular if round(number) == 1 else plural or singular + 's'}"


def nice_at_least(value: float) -> float:
    """Return the smallest round number at or above a positive one.

    Round are 1, 1.5, 2, 2.5, 3, 4, 5, 6 and 8 times a power of ten.

    >>> nice_at_least(26900), nice_at_least(100), nice_at_least(0.021)
    (30000.0, 100.0, 0.025)
    """
    magnitude = 10.0 ** math.floor(math.log10(value))
    for step in (1, 1.5, 2, 2.5, 3, 4, 5, 6, 8):
        # Binary powers of ten are a hair off; a round value must map to itself.
        if step * magnitude >= value * (1 - 1e-12):
            return float(f"{step * magnitude:.12g}")
    return float(f"{10 * magnitude:.12g}")
