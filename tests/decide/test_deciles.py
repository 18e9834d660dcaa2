"""Error by tenth of density: theory against redraws, and against the arithmetic done by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from ldpcore.deciles import density_tenths, error_by_decile
from ldpcore.errors import ParameterError
from ldpcore.population import population_of
from ldpcore.scenario import run
from ldpcore.settings import Scenario

SCENARIO = Scenario(city="helsinki", devices=200_000, resolution=7, floor=100, epsilon=3.0)
REDRAWS = 60


@pytest.fixture(scope="module")
def population():
    return population_of(SCENARIO)


@pytest.fixture(scope="module")
def frame(population):
    return error_by_decile(SCENARIO, population, redraws=REDRAWS)


def test_every_cell_and_device_is_in_one_tenth(frame, population) -> None:
    assert frame["decile"].tolist() == list(range(1, 11))
    assert frame["cells"].sum() == population.domain.size
    assert frame["cells"].max() - frame["cells"].min() <= 1
    assert frame["devices"].sum() == population.size
    assert frame["mean_count"].is_monotonic_increasing
    counts = np.sort(population.true_counts)
    assert frame["devices"].iloc[-1] == counts[-frame["cells"].iloc[-1] :].sum()


def test_theory_is_the_variance_written_out(frame, population) -> None:
    """Optimised unary encoding: p = 1/2, q = 1/(e^eps + 1), variance of a cell by its two binomials."""
    p, q, n = 0.5, 1 / (math.exp(3.0) + 1), population.size
    counts = np.sort(population.true_counts)[-frame["cells"].iloc[-1] :].astype(float)
    variance = (counts * p * (1 - p) + (n - counts) * q * (1 - q)) / (p - q) ** 2
    last = frame.iloc[-1]
    assert last["error_expected"] == pytest.approx(
        math.sqrt(2 / math.pi) * np.sqrt(variance).mean(), rel=1e-5
    )
    assert last["relative_error_expected"] == pytest.approx(
        math.sqrt(variance.mean()) / counts.mean(), rel=1e-5
    )


def test_theory_agrees_with_the_redraws(frame) -> None:
    """Ten tenths, 60 redraws: within 6 standard errors of their mean, of t_59; failure rate below 1e-5."""
    known = frame[frame["mean_count"] > 0]
    assert len(known) == 7  # in the emptiest three nobody starts a trip
    for row in known.itertuples():
        assert abs(row.error - row.error_expected) < 6 * row.error_sd / math.sqrt(REDRAWS)
        # Squares of some 30 cells times 60 redraws: 12 % is over 5 standard deviations, sqrt(2 / 1800) / 2 each.
        assert row.relative_error == pytest.approx(row.relative_error_expected, rel=0.12)
        spread = max(row.published_share_sd / math.sqrt(REDRAWS), 0.5 / (row.cells * REDRAWS))
        assert abs(row.published_share - row.published_share_expected) < 6 * spread


def test_the_first_redraw_is_the_run_itself(population) -> None:
    frame = error_by_decile(replace(SCENARIO, draw=3), population, redraws=1)
    release = run(replace(SCENARIO, draw=3))
    tenths = density_tenths(population.true_counts)
    error = np.abs(release.estimates.estimate - population.true_counts)
    assert frame["error"].tolist() == pytest.approx([error[cells].mean() for cells in tenths])
    assert frame["published_share"].tolist() == pytest.approx(
        [release.published[cells].mean() for cells in tenths]
    )
    assert frame["error_sd"].isna().all()


def test_theory_needs_no_redraws(population, frame) -> None:
    alone = error_by_decile(SCENARIO, population, redraws=0)
    assert alone["error"].isna().all()
    assert alone["error_expected"].equals(frame["error_expected"])
    with pytest.raises(ParameterError):
        error_by_decile(SCENARIO, population, redraws=-1)


def test_a_tenth_without_cells_says_so() -> None:
    few = Scenario(city="singapore", devices=10_000, resolution=5, floor=10)
    population = population_of(few)
    frame = error_by_decile(few, population, redraws=2)
    empty = frame[frame["cells"] == 0]
    assert len(empty) == max(10 - population.domain.size, 0)
    assert empty[["error", "error_expected", "relative_error", "published_share"]].isna().all(axis=None)


def test_equal_cells_are_split_in_order() -> None:
    tenths = density_tenths(np.zeros(20, np.int64))
    assert [cells.tolist() for cells in tenths] == [[2 * at, 2 * at + 1] for at in range(10)]
