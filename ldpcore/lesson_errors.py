"""The lesson's numbers about errors: what clamping does to empty cells, and what a finer grid costs."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ldpcore.errors import ParameterError
from ldpcore.estimate import true_variance_terms
from ldpcore.mechanisms import FrequencyOracle, make_mechanism
from ldpcore.mechanisms.options import checked_integer
from ldpcore.postprocess import clamping_bias
from ldpcore.postprocess_measured import measure_postprocessing
from ldpcore.shapes import FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class Clamping:
    """What setting negative estimates to zero does to empty cells, measured by redraws.

    Parameters
    ----------
    cells, redraws
        Empty cells looked at, and redraws of the coins.
    raw, raw_error
        Mean raw estimate over those cells and redraws, and one standard error of it, in devices.
    clamped, clamped_error
        The same once negative estimates are set to zero.
    expected
        std_error / sqrt(2 pi), the closed form.
    std_error
        Of one empty cell.
    emptied
        Devices moved out of the quietest cell, where the city has no empty one; else 0.
    """

    cells: int
    redraws: int
    raw: float
    raw_error: float
    clamped: float
    clamped_error: float
    expected: float
    std_error: float
    emptied: int


def measure_clamping(
    mechanism: FrequencyOracle, true_counts: IntArray, *, redraws: int, rng: np.random.Generator
) -> Clamping:
    """Measure the bias of clamping over the empty cells of a population.

    Parameters
    ----------
    mechanism
        The randomiser.
    true_counts
        (d,) int64; where no cell is empty the quietest one is emptied into the busiest.
    redraws
        At least 2.
    rng
        Source of the coins.
    """
    counts = np.array(true_counts, np.int64)
    emptied = 0
    if (counts > 0).all():
        quiet = int(counts.argmin())
        emptied = int(counts[quiet])
        counts[int(counts.argmax())] += emptied
        counts[quiet] = 0
    empty = counts == 0
    coins = (mechanism.sample_counts(counts, rng=rng) for _ in range(redraws))
    raw, clamped = measure_postprocessing(mechanism, counts, coins, names=("base-pos",))
    base, _ = true_variance_terms(mechanism, counts.astype(np.float64), n=int(counts.sum()))
    std_error = math.sqrt(float(base[empty].mean()))
    cells = int(empty.sum())

    def pooled(errors: FloatArray) -> float:
        # Cells of one redraw are nearly independent; where they are not, they are negatively correlated.
        return math.sqrt(float((errors[empty] ** 2).sum())) / cells

    return Clamping(
        cells=cells,
        redraws=redraws,
        raw=float(raw.bias[empty].mean()),
        raw_error=pooled(raw.bias_error),
        clamped=float(clamped.bias[empty].mean()),
        clamped_error=pooled(clamped.bias_error),
        expected=clamping_bias(std_error),
        std_error=std_error,
        emptied=emptied,
    )


# -- step 6: a finer grid --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Grid:
    """What one grid costs with the same phones.

    Parameters
    ----------
    resolution, cells
        Of the grid.
    share
        Mean share of the devices in a cell, 1 / cells.
    std_error
        Of an empty cell, in devices.
    relative_error
        One standard error over the mean count, for a cell that holds it.
    largest_error
        sqrt(2 ln d) standard errors: about the largest error of any of the d cells.
    """

    resolution: int
    cells: int
    share: float
    std_error: float
    relative_error: float
    largest_error: float


def direct_limit(epsilon: float) -> float:
    """Return 3 e^epsilon + 2: up to so many cells generalised randomised response errs no more than marks on a list.

    Compared is the error of an empty cell, with optimised unary encoding: (d - 2 + e^epsilon) / (e^epsilon - 1)^2
    against 4 e^epsilon / (e^epsilon - 1)^2 per report (T. Wang, J. Blocki, N. Li, S. Jha, *Locally Differentially
    Private Protocols for Frequency Estimation*, USENIX Security 2017, section 5).

    Parameters
    ----------
    epsilon
        Of one report.

    Examples
    --------
    >>> round(direct_limit(2.0), 1)
    24.2
    """
    return 3 * math.exp(epsilon) + 2


def grid(
    mechanism_name: str, *, epsilon: float, resolution: int, cells: int, devices: int, **options: object
) -> Grid:
    """Say what a grid costs: the error of a cell, alone and against what it holds.

    Parameters
    ----------
    mechanism_name, epsilon, options
        The randomiser.
    resolution, cells, devices
        The grid and how many devices report, at least 1.
    """
    devices = checked_integer("devices", devices, minimum=1)
    mechanism = make_mechanism(mechanism_name, epsilon=epsilon, domain_size=cells, **options)
    empty, slope = mechanism.variance_empty, mechanism.variance_slope
    if empty is None or slope is None:
        raise ParameterError(
            "mechanism", f"The error of {mechanism.label} depends on other cells; choose oue."
        )
    mean = devices / cells
    std_error = math.sqrt(devices * empty)
    return Grid(
        resolution=resolution,
        cells=cells,
        share=1 / cells,
        std_error=std_error,
        relative_error=math.sqrt(devices * empty + mean * slope) / mean,
        largest_error=std_error * math.sqrt(2 * math.log(cells)),
    )
