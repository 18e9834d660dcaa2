"""The six checks of the guide's checklist; `ldpcore.checklist` runs them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

FAILURE: Final = 1e-9
"""Probability that a right client or estimator fails a check."""

ITEMS: Final = (
    "The estimator is unbiased, and as exact as it says",
    "A cell reported again gives the same bytes",
    "The client's random generator is cryptographic",
    "The device itself keeps the cap on distinct cells",
    "No published cell is below the floor, with the stated confidence",
    "Versions of the domain are kept apart",
)
"""What is claimed, in the guide's order."""

VERSIONS: Final = ("0123456789abcdef", "fedcba9876543210", "00000000ffffffff")
"""Two versions of the domain that a server asks for, and one that it does not know."""


Progress = Callable[[float], None]
"""Told the share of a check that is done."""


@dataclass(frozen=True, slots=True)
class Check:
    """One point of the checklist.

    Parameters
    ----------
    item
        What is claimed.
    passed
        Whether it holds.
    evidence
        What was done and found, in sentences with figures.
    figures
        The figures by name.
    """

    item: str
    passed: bool
    evidence: str
    figures: dict[str, float] = field(default_factory=dict)
