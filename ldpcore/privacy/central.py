"""The same map under central differential privacy: a trusted server adds noise to true counts.

A comparison needs the same neighbours on both sides. A local randomiser hides which value a device holds, so two
data sets are neighbours when one device's value is *replaced*; that moves two cells of a histogram by one, and
the central noise must be scaled to an L1 sensitivity of 2. Sensitivity 1 (one device added or removed) would
flatter the central side by a factor of two.

The two guarantees differ in who must be trusted, not in a number: the epsilons of the two columns are never
ranked against each other.

A. Ghosh, T. Roughgarden, M. Sundararajan, *Universally Utility-Maximizing Privacy Mechanisms*, 2012 (geometric
noise); C. Dwork, F. McSherry, K. Nissim, A. Smith, *Calibrating Noise to Sensitivity in Private Data
Analysis*, 2006 (Laplace noise).
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from ldpcore.errors import ParameterError
from ldpcore.mechanisms.options import checked_integer
from ldpcore.mechanisms.oracle import FrequencyOracle
from ldpcore.rational import checked_epsilon
from ldpcore.shapes import IntArray

REPLACE_ONE: Final = 2
"""L1 sensitivity of a histogram when one device's value is replaced: the neighbours of local privacy."""

LOCAL_GUARANTEE: Final = (
    "Local: each device randomises its report before it leaves. Nobody, the server included, learns from a report "
    "much that they did not know; no one has to be trusted."
)
CENTRAL_GUARANTEE: Final = (
    "Central: the server sees every true value and adds noise to what it publishes. Readers of the map learn little "
    "about any one device; the server, and whoever breaks into it, knows everything."
)


def geometric_variance(epsilon: float, *, sensitivity: int = REPLACE_ONE) -> float:
    """Return the variance that two-sided geometric noise adds to a count, in devices squared.

    Parameters
    ----------
    epsilon
        Greater than 0, at most 20.
    sensitivity
        L1 sensitivity of the histogram, at least 1.

    Examples
    --------
    >>> round(geometric_variance(2.0), 3)
    1.841
    """
    rate = checked_epsilon(epsilon) / checked_integer("sensitivity", sensitivity, minimum=1)
    # 2 a / (1 - a)^2 with a = e^-rate.
    return 2 * math.exp(-rate) / math.expm1(-rate) ** 2


def laplace_variance(epsilon: float, *, sensitivity: int = REPLACE_ONE) -> float:
    """Return the variance that Laplace noise adds to a count, 2 (sensitivity / epsilon)^2.

    Parameters as for `geometric_variance`.
    """
    rate = checked_epsilon(epsilon) / checked_integer("sensitivity", sensitivity, minimum=1)
    return 2 / rate**2


def central_counts(
    true_counts: IntArray, *, epsilon: float, rng: np.random.Generator, sensitivity: int = REPLACE_ONE
) -> IntArray:
    """Draw the counts that a trusted server would publish: true counts with two-sided geometric noise.

    Parameters
    ----------
    true_counts
        Devices in each cell, any shape.
    epsilon
        Of the release, greater than 0, at most 20.
    rng
        Source of the simulated noise.
    sensitivity
        L1 sensitivity of the histogram.

    Returns
    -------
    int64, shape of `true_counts`; unbiased, may be negative.
    """
    rate = checked_epsilon(epsilon) / checked_integer("sensitivity", sensitivity, minimum=1)
    success = -math.expm1(-rate)
    shape = true_counts.shape
    return np.asarray(true_counts + rng.geometric(success, shape) - rng.geometric(success, shape), np.int64)


def central_smallest_count(epsilon: float, *, relative_error: float, sensitivity: int = REPLACE_ONE) -> float:
    """Return the smallest count that a trusted server publishes to the given relative error.

    Parameters
    ----------
    epsilon, sensitivity
        As for `geometric_variance`.
    relative_error
        One standard error over the count, above 0.
    """
    if not relative_error > 0:
        raise ParameterError(
            "relative_error", f"The relative error must be greater than 0, got {relative_error:g}; try 0.1."
        )
    return math.sqrt(geometric_variance(epsilon, sensitivity=sensitivity)) / relative_error


def local_to_central(mechanism: FrequencyOracle, *, n: int, sensitivity: int = REPLACE_ONE) -> float:
    """Return how many times the local error of an empty cell is that of central noise at the same label.

    Parameters
    ----------
    mechanism
        A mechanism whose variance of a cell depends on no other cell.
    n
        Number of reports.
    sensitivity
        L1 sensitivity of the histogram.

    Returns
    -------
    Ratio of standard deviations. It says what local privacy costs in accuracy, and nothing about which guarantee
    is stronger.
    """
    empty = mechanism.variance_empty
    if empty is None:
        raise ParameterError(
            "mechanism",
            f"The error of a cell under {mechanism.name} depends on other cells, so one ratio does not describe it; "
            "choose oue.",
        )
    return math.sqrt(n * empty / geometric_variance(mechanism.epsilon, sensitivity=sensitivity))
