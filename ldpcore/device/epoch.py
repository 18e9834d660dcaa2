"""Epochs: spans of whole local days in which a device may spend its budget once.

Every device cuts the calendar at the same midnights, so the number of an epoch says nothing about its
owner. Days are those of the device's own clock; what happens when that clock is wrong is the ledger's
business, which never goes back to an epoch that is over (`ldpcore.device.ledger`).
"""

from __future__ import annotations

from datetime import date
from typing import NamedTuple


class Epoch(NamedTuple):
    """One span of days: its number, its first and its last day, both in it."""

    number: int
    first: date
    last: date


def epoch_of(day: date, epoch_days: int) -> Epoch:
    """Return the epoch that a local day lies in.

    Parameters
    ----------
    day
        A day of the device's clock.
    epoch_days
        Length of an epoch in days, at least 1. Epoch 0 begins on Monday, 1 January of the year 1, so epochs
        of 7 days begin on Mondays.

    Raises
    ------
    ValueError
        If an epoch has no day.

    Examples
    --------
    >>> epoch_of(date(2026, 3, 4), 7)
    Epoch(number=105692, first=datetime.date(2026, 3, 2), last=datetime.date(2026, 3, 8))
    """
    if epoch_days < 1:
        raise ValueError(f"an epoch has at least 1 day, got {epoch_days}; try 7")
    number = (day.toordinal() - 1) // epoch_days
    first = number * epoch_days + 1
    # The calendar ends in the year 9999; an epoch that would not is cut there.
    last = min(first + epoch_days - 1, date.max.toordinal())
    return Epoch(number, date.fromordinal(first), date.fromordinal(last))
