"""How many bits number all sets of k cells, without making a number of that many bits."""

from __future__ import annotations

import decimal
import math
from decimal import Decimal
from typing import Final

_EXACT_UP_TO: Final = 2_000
"""Sets of at most so many cells, or of all but so many, are counted exactly: a millisecond."""

_DIGITS: Final = 60
_PI: Final = Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899")
_SURE: Final = Decimal("1e-30")

_STIRLING: Final = ((1, 12), (-1, 360), (1, 1260), (-1, 1680), (1, 1188), (-691, 360_360), (1, 156))
"""Coefficients of 1/n, 1/n^3, ... in ln n!, beyond n ln n - n + ln(2 pi n) / 2."""


def bits_of_sets(cells: int, size: int) -> int:
    """Return ceil(log2 C(cells, size)), exact.

    Parameters
    ----------
    cells
        Number of cells.
    size
        Cells in a set, at least 0 and at most `cells`.

    Notes
    -----
    Large binomials are never made. The logarithm is taken by Stirling's series in 60 digits: it is asymptotic
    and alternating, so its error is below the first term left out, 3617 / 122400 n^-15 < 1e-50 for every
    n above 2,000, and that of rounding is below 1e-45 for logarithms below 2^32. Where it lies within 1e-30 of a
    whole number, which no binomial is known to do, all of it is counted after all.
    """
    few = min(size, cells - size)
    if few > _EXACT_UP_TO:
        with decimal.localcontext() as context:
            context.prec = _DIGITS
            natural = _log_factorial(cells) - _log_factorial(few) - _log_factorial(cells - few)
            bits = natural / Decimal(2).ln()
            whole = bits.to_integral_value(rounding=decimal.ROUND_CEILING)
            if _SURE < whole - bits < 1 - _SURE:
                return int(whole)
    return (math.comb(cells, few) - 1).bit_length()


def _log_factorial(number: int) -> Decimal:
    n = Decimal(number)
    series = sum(
        (Decimal(up) / down / n ** (2 * place + 1) for place, (up, down) in enumerate(_STIRLING)), Decimal(0)
    )
    return n * n.ln() - n + (2 * _PI * n).ln() / 2 + series
