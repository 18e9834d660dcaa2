"""Figures as people read them, and tables in Markdown."""

from __future__ import annotations

import math
from collections.abc import Sequence


def significant(number: float, digits: int = 2) -> str:
    """Write a number with so many significant digits, thousands apart by commas.

    Examples
    --------
    >>> significant(0.003456), significant(1234.5), significant(17.2, 3)
    ('0.0035', '1,200', '17.2')
    """
    if number == 0 or not math.isfinite(number):
        return "0" if number == 0 else str(number)
    places = digits - 1 - math.floor(math.log10(abs(number)))
    rounded = round(number, places)
    # 9.96 rounds up to 10, which has a digit more before the point.
    places = digits - 1 - math.floor(math.log10(abs(rounded)))
    return f"{rounded:,.{max(places, 0)}f}"


def seconds_text(seconds: float) -> str:
    """Write seconds with two significant digits."""
    return significant(seconds)


def times_text(ratio: float) -> str:
    """Write a ratio; below ten with two digits, above as a whole number of two digits.

    Examples
    --------
    >>> times_text(4567.0), times_text(3.14)
    ('4,600 ×', '3.1 ×')
    """
    return f"{significant(ratio)} ×"


def bytes_text(count: float) -> str:
    """Write a number of bytes as kB or MB.

    Examples
    --------
    >>> bytes_text(68_400), bytes_text(1_250_000)
    ('68 kB', '1.2 MB')
    """
    return f"{significant(count / 1e6)} MB" if count >= 1e6 else f"{significant(count / 1e3)} kB"


def percentile(numbers: Sequence[float], share: float) -> float:
    """Return the smallest of the numbers that at least this share of them does not exceed.

    Examples
    --------
    >>> percentile([3.0, 1.0, 2.0, 4.0], 0.5), percentile([3.0, 1.0, 2.0, 4.0], 0.95)
    (2.0, 4.0)
    """
    ordered = sorted(numbers)
    return ordered[max(math.ceil(share * len(ordered)) - 1, 0)]


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table with its columns padded, so that it reads as plain text too."""
    lines = [list(header), *(list(row) for row in rows)]
    widths = [max(3, *(len(line[column]) for line in lines)) for column in range(len(header))]

    def write(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)) + " |"

    rule = "| " + " | ".join("-" * width for width in widths) + " |"
    return "\n".join([write(lines[0]), rule, *(write(line) for line in lines[1:])])
