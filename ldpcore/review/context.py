"""Epsilons of published deployments, each with its unit: to see what an epsilon is of, never to rank.

From the public Differential Privacy Deployments Registry (registry.opendp.org), as its entries state them. An entry
without a unit is shown as that.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class Deployment(NamedTuple):
    """One entry of the registry.

    Parameters
    ----------
    name, curator, year
        What, whose, and when it was published.
    model
        Local or central: who adds the noise.
    epsilon
        As stated.
    unit
        What that epsilon is of, in the registry's words.
    remark
        What else must be known to read the number, "" where nothing.
    """

    name: str
    curator: str
    year: int
    model: str
    epsilon: float
    unit: str
    remark: str = ""


DEPLOYMENTS: Final[tuple[Deployment, ...]] = (
    Deployment("AutoPlay Intent", "Apple", 2017, "local", 8.0, "user-level"),
    Deployment("HealthKit", "Apple", 2017, "local", 2.0, "user-level"),
    Deployment(
        "Iconic scenes",
        "Apple",
        2023,
        "local",
        1.0,
        "no unit stated",
        "a histogram of places; with δ = 1.5e-7 and secure aggregation",
    ),
    Deployment(
        "Lookup Hints", "Apple", 2016, "local", 8.0, "user-level", "two donations a day of ε = 4 each"
    ),
    Deployment("Popular Emojis", "Apple", 2017, "local", 4.0, "event-level", "one emoji typed"),
    Deployment(
        "Safari energy draining domains", "Apple", 2017, "local", 4.0, "event-level", "one page loaded"
    ),
    Deployment(
        "Telemetry Collection in Windows",
        "Microsoft",
        2017,
        "local",
        1.672,
        "user-quarter-day",
        "six hours of one user",
    ),
    Deployment(
        "Community Mobility",
        "Google",
        2020,
        "central",
        2.64,
        "user-day",
        "a trusted server sees every true place",
    ),
    Deployment(
        "Shared Mobility",
        "Google",
        2022,
        "central",
        0.66,
        "user-trip",
        "with δ = 2.1e-29; a trusted server sees every true place",
    ),
)
"""Local ones first, each kind in the order of curator and name, which says nothing of their worth."""
