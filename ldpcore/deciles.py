"""Who bears the error: cells by tenths of density, each with what theory predicts and what redraws gave.

The noise of a cell hardly depends on how many devices are in it, so its error in devices is much the same
everywhere, while the error as a share of the count is carried by the quiet cells. A single figure for the whole map
hides that.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Final

import numpy as np
import pandas as pd

from ldpcore.estimate import publication_probability
from ldpcore.mechanisms.options import checked_integer
from ldpcore.population import Population
from ldpcore.scenario import run_population, scenario_mechanism
from ldpcore.settings import Scenario
from ldpcore.shapes import FloatArray, IntArray

TENTHS: Final = 10
MEAN_ABSOLUTE: Final = math.sqrt(2 / math.pi)
"""Mean absolute value of a standard normal."""


def density_tenths(true_counts: IntArray) -> list[IntArray]:
    """Return the cells of each tenth by density, emptiest first.

    Parameters
    ----------
    true_counts
        (d,) devices in each cell.

    Returns
    -------
    Ten arrays of indices of the domain, int64, of equal length but for one; of equal cells the first come first.
    With fewer than ten cells the last ones are empty.

    Examples
    --------
    >>> [cells.tolist() for cells in density_tenths(np.array([7, 0, 5]))][:4]
    [[1], [2], [0], []]
    """
    order = np.argsort(true_counts, kind="stable")
    return [np.asarray(part, np.int64) for part in np.array_split(order, TENTHS)]


def error_by_decile(scenario: Scenario, population: Population, *, redraws: int = 20) -> pd.DataFrame:
    """Return the error of each tenth of the cells by density, emptiest first.

    Parameters
    ----------
    scenario
        Every setting; its draw is the first of the redraws.
    population
        Its devices.
    redraws
        Redraws of the devices' coins over the same trips; 0 gives theory alone.

    Returns
    -------
    One row a tenth:

    ``decile``
        1, the emptiest, to 10.
    ``cells``, ``devices``, ``mean_count``
        Cells, devices in them, and devices a cell.
    ``error_expected``, ``error``, ``error_sd``
        Mean absolute error of a cell in devices: by theory, its mean over the redraws, and its standard deviation
        from one redraw to another. Theory takes errors as normal.
    ``relative_error_expected``, ``relative_error``
        Root mean squared error of a cell over `mean_count`: one standard error as a share of the count; none where
        nobody is.
    ``published_share_expected``, ``published_share``, ``published_share_sd``
        Share of its cells that are published.

    The measured columns are missing (NaN) without redraws, the deviations with fewer than two, and everything but the
    number of cells in a tenth that has none.

    Raises
    ------
    ParameterError
        If `redraws` is negative or a setting of the scenario is impossible.
    """
    checked_integer("redraws", redraws, minimum=0, example=20)
    counts = population.true_counts
    mechanism = scenario_mechanism(scenario, population)
    variance = mechanism.variance(counts, n=population.size)
    chance = publication_probability(
        mechanism,
        counts,
        n=population.size,
        floor=scenario.floor,
        confidence=scenario.confidence,
        correction=scenario.correction,
    )
    tenths = density_tenths(counts)
    frame = pd.DataFrame([_expected(cells, counts, variance, chance) for cells in tenths])
    frame.insert(0, "decile", np.arange(1, TENTHS + 1))
    measured = _measured(scenario, population, tenths, redraws)
    means = frame["mean_count"].to_numpy()
    frame["error"], frame["error_sd"] = _mean(measured[0]), _deviation(measured[0])
    frame["relative_error"] = _over(np.sqrt(_mean(measured[1])), means)
    frame["published_share"], frame["published_share_sd"] = _mean(measured[2]), _deviation(measured[2])
    return frame[list(COLUMNS)]


COLUMNS: Final = (
    "decile",
    "cells",
    "devices",
    "mean_count",
    "error_expected",
    "error",
    "error_sd",
    "relative_error_expected",
    "relative_error",
    "published_share_expected",
    "published_share",
    "published_share_sd",
)


def _expected(cells: IntArray, counts: IntArray, variance: FloatArray, chance: FloatArray) -> dict[str, Any]:
    if not cells.size:
        nothing = ("mean_count", "error_expected", "relative_error_expected", "published_share_expected")
        return {"cells": 0, "devices": 0, **dict.fromkeys(nothing, math.nan)}
    mean = float(counts[cells].mean())
    deviation = np.sqrt(np.maximum(variance[cells], 0.0))
    return {
        "cells": int(cells.size),
        "devices": int(counts[cells].sum()),
        "mean_count": mean,
        "error_expected": float(MEAN_ABSOLUTE * deviation.mean()),
        "relative_error_expected": math.sqrt(float(variance[cells].mean())) / mean if mean else math.nan,
        "published_share_expected": float(chance[cells].mean()),
    }


def _measured(
    scenario: Scenario, population: Population, tenths: list[IntArray], redraws: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return mean absolute error, mean squared error and published share, (redraws, 10) each."""
    found = np.full((3, redraws, TENTHS), math.nan)
    for row in range(redraws):
        release = run_population(replace(scenario, draw=scenario.draw + row), population)
        error = release.estimates.estimate - population.true_counts
        for place, cells in enumerate(tenths):
            if cells.size:
                found[0, row, place] = np.abs(error[cells]).mean()
                found[1, row, place] = (error[cells] ** 2).mean()
                found[2, row, place] = release.published[cells].mean()
    return found[0], found[1], found[2]


def _mean(rows: FloatArray) -> FloatArray:
    return rows.mean(axis=0) if len(rows) else np.full(TENTHS, math.nan)


def _deviation(rows: FloatArray) -> FloatArray:
    return rows.std(axis=0, ddof=1) if len(rows) > 1 else np.full(TENTHS, math.nan)


def _over(error: FloatArray, counts: FloatArray) -> FloatArray:
    known = counts > 0
    return np.where(known, error / np.where(known, counts, 1.0), math.nan)
