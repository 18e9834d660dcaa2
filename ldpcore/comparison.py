"""All randomisers at one epsilon, domain and truth: error, report, leakage, and the limit no one beats.

Everything is exact theory from the mechanisms' own fractions, except `measured_error`, which draws.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ldpcore.estimate import true_variance_terms
from ldpcore.guessing import Guess, best_guess
from ldpcore.mechanisms import MECHANISMS, Mechanism, make_mechanism
from ldpcore.population import Population
from ldpcore.scenario import randomise, scenario_mechanism
from ldpcore.settings import Scenario
from ldpcore.shapes import FloatArray, IntArray

LIMIT_REFERENCE = "M. Ye, A. Barg, Asymptotically Optimal Private Estimation Under Mean Square Loss, 2017 (arXiv:1708.00059)"


@dataclass(frozen=True, slots=True)
class Entry:
    """One randomiser in a comparison; errors are one standard error, in devices.

    Parameters
    ----------
    mechanism
        With its exact parameters.
    error_typical
        Root of the mean exact variance over all cells: what an average cell is off by.
    error_empty
        Of a cell with no device. Where the variance depends on other cells too, the root mean over cells.
    error_busiest
        Of the cell with most devices.
    guess
        Success of the best guess of a phone's cell from one report.
    """

    mechanism: Mechanism
    error_typical: float
    error_empty: float
    error_busiest: float
    guess: Guess

    @property
    def name(self) -> str:
        """Key in the table of mechanisms."""
        return self.mechanism.name

    @property
    def label(self) -> str:
        """Name for people."""
        return self.mechanism.label


@dataclass(frozen=True, slots=True)
class Comparison:
    """All randomisers in one setting.

    Parameters
    ----------
    entries
        By name, in the order of menus.
    chosen
        Name of the scenario's own.
    epsilon, devices, cells, busiest
        The setting: privacy on the label, number of reports, number of cells, devices in the busiest cell.
    limit
        Typical error that no randomiser can beat, in devices; see `limit_error`.
    unit
        What reports once: "device", or "trip" where a file names no person.
    """

    entries: Mapping[str, Entry]
    chosen: str
    epsilon: float
    devices: int
    cells: int
    busiest: int
    limit: float
    unit: str = "device"

    @property
    def best(self) -> Entry:
        """The entry with the smallest typical error; the first of equals."""
        return min(self.entries.values(), key=lambda entry: entry.error_typical)

    @property
    def own(self) -> Entry:
        """The scenario's own entry."""
        return self.entries[self.chosen]

    @property
    def noun(self) -> str:
        """The unit, as many."""
        return f"{self.unit}s"

    def ranked(self) -> list[Entry]:
        """Return the entries, smallest typical error first."""
        return sorted(self.entries.values(), key=lambda entry: entry.error_typical)

    def devices_ratio(self, entry: Entry, other: Entry) -> float:
        """Return how many times as many devices `entry` needs for the relative error that `other` has.

        At a fixed share of devices in each cell the relative error falls with the root of their number,
        so it is the ratio of the variances.
        """
        return (entry.error_typical / other.error_typical) ** 2


def compare_mechanisms(
    true_counts: IntArray,
    *,
    epsilon: float,
    chosen: str,
    options: Mapping[str, Any] | None = None,
    unit: str = "device",
) -> Comparison:
    """Compare all randomisers on one truth.

    Parameters
    ----------
    true_counts
        (d,) int64 devices in each cell, d at least 2.
    epsilon
        Privacy loss on the label.
    chosen
        The scenario's mechanism, a key of `MECHANISMS`.
    options
        Options of the chosen one; every other has its defaults.
    unit
        What reports once, "device" or "trip".

    Raises
    ------
    ParameterError
        If an option of the chosen mechanism is impossible.
    """
    entries = {}
    for name in MECHANISMS:
        own = dict(options or {}) if name == chosen else {}
        mechanism = make_mechanism(name, epsilon=epsilon, domain_size=true_counts.size, **own)
        entries[name] = _entry(mechanism, true_counts)
    devices = int(true_counts.sum())
    return Comparison(
        entries=entries,
        chosen=chosen,
        epsilon=epsilon,
        devices=devices,
        cells=true_counts.size,
        busiest=int(true_counts.max()),
        limit=limit_error(epsilon, domain_size=true_counts.size, n=devices),
        unit=unit,
    )


def _entry(mechanism: Mechanism, true_counts: IntArray) -> Entry:
    true = true_counts.astype(np.float64)
    base, slope = true_variance_terms(mechanism, true, n=int(true_counts.sum()))
    variance = np.maximum(base + true * slope, 0.0)
    return Entry(
        mechanism=mechanism,
        error_typical=float(np.sqrt(variance.mean())),
        error_empty=float(np.sqrt(base.mean())),
        error_busiest=float(np.sqrt(variance[np.argmax(true)])),
        guess=best_guess(mechanism),
    )


def limit_error(epsilon: float, *, domain_size: int, n: int) -> float:
    """Return the typical error that no epsilon-LDP randomiser beats, in devices.

    M. Ye and A. Barg (2017) show that, as n grows, the least worst-case mean squared error of a distribution
    over d cells, over all non-interactive epsilon-LDP randomisers and all estimators, is

        min over k of (d - 1)^2 (k R + d - k)^2 / (n d k (d - k) (R - 1)^2),    R = e^epsilon,

    with the constant, not only in order. That error includes the chance of who is asked, which is (1 - 1/d) / n
    where it is largest, at equal cells; here the devices are given, so it is taken off. What is left,
    spread over d cells and counted in devices, is returned.

    Parameters
    ----------
    epsilon
        Above 0.
    domain_size
        Number d of cells, at least 2.
    n
        Number of devices.

    Notes
    -----
    A statement about the worst case and many devices: for one particular truth a randomiser may do a
    little better. Subset selection with the best size attains it, whatever the truth.
    """
    ratio, d = math.exp(epsilon), domain_size
    smallest = min(max(int(d / (ratio + 1)), 1), d - 1)
    least = min(
        (d - 1) ** 2 * (size * ratio + d - size) ** 2 / (d * size * (d - size) * (ratio - 1) ** 2)
        for size in {smallest, min(smallest + 1, d - 1)}
    )
    return math.sqrt(n * max(least - (1 - 1 / d), 0.0) / d)


def error_curve(
    name: str, options: Mapping[str, Any], epsilons: Sequence[float], true_counts: IntArray
) -> FloatArray:
    """Return the typical error of one randomiser at several epsilons, (len(epsilons),) in devices."""
    true, n = true_counts.astype(np.float64), int(true_counts.sum())
    errors = []
    for epsilon in epsilons:
        mechanism = make_mechanism(name, epsilon=epsilon, domain_size=true_counts.size, **options)
        base, slope = true_variance_terms(mechanism, true, n=n)
        errors.append(math.sqrt(max(float(np.mean(base + true * slope)), 0.0)))
    return np.array(errors)


def measured_error(scenario: Scenario, population: Population) -> float:
    """Return the root mean squared error over all cells in one draw of a scenario, in devices.

    The draw is the one that `ldpcore.scenario.run` makes of this scenario, from the counts' joint law, so the
    figure is the "typical error" that Explore shows for it.
    """
    scenario = replace(scenario, per_report=False)
    mechanism = scenario_mechanism(scenario, population)
    counts = randomise(scenario, population, mechanism)
    error = mechanism.estimate(counts, n=population.size) - population.true_counts
    return float(np.sqrt(np.mean(error**2)))
