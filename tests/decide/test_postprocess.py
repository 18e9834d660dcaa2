"""Post-processing: laws every way obeys, and its bias measured by redraws."""

from __future__ import annotations

from dataclasses import replace

import h3
import numpy as np
import pytest

from ldpcore.errors import ParameterError
from ldpcore.mechanisms import make_mechanism
from ldpcore.population import population_of
from ldpcore.postprocess import (
    POSTPROCESSORS,
    clamping_bias,
    fitting_postprocessors,
    ibu,
    mle_apx,
    norm_sub,
    postprocess,
)
from ldpcore.postprocess_measured import cell_groups, measure_postprocessing
from ldpcore.settings import Scenario

TRUE_COUNTS = np.array([20_000, 5_000, 1_000] + [0] * 37)


def bisected_projection(raw: np.ndarray, total: float) -> np.ndarray:
    low, high = raw.min() - total, raw.max()
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if np.maximum(raw - middle, 0).sum() > total else (low, middle)
    return np.maximum(raw - high, 0)


def test_nearest_counts_equal_a_bisection_for_the_shift() -> None:
    rng = np.random.default_rng(1)
    for _ in range(50):
        raw = rng.normal(0, 100, size=rng.integers(1, 60))
        assert norm_sub(raw, total=90) == pytest.approx(bisected_projection(raw, 90), abs=1e-9)


def test_most_likely_counts_with_equal_variances_are_the_nearest() -> None:
    rng = np.random.default_rng(2)
    for _ in range(50):
        raw = rng.normal(0.02, 0.05, size=40)
        assert mle_apx(raw, empty=0.7, slope=0.0) == pytest.approx(norm_sub(raw, total=1.0), abs=1e-12)


@pytest.mark.parametrize("slope", [-1.0, 1.0, 300.0])
def test_most_likely_counts_beat_every_neighbour(slope: float) -> None:
    # With variances empty + share * slope the criterion sum (raw - share)^2 / variance, to first order in the
    # multiplier: its ratio (share - raw) / (empty + slope share) is one number over the active cells.
    rng = np.random.default_rng(3)
    for _ in range(30):
        raw = rng.normal(0, 0.05, size=30)
        raw[:3] += 0.3
        shares = mle_apx(raw, empty=0.7, slope=slope)
        assert shares.sum() == pytest.approx(1)
        assert (shares >= 0).all()
        active = shares > 0
        ratio = (shares - raw)[active] / (0.7 + slope * shares[active])
        assert ratio == pytest.approx(np.full(active.sum(), ratio[0]), abs=1e-9)


def test_ibu_never_loses_likelihood() -> None:
    counts, own, other = np.array([50, 30, 20, 0, 0]), 0.4, 0.15
    channel = np.full((5, 5), other) + np.eye(5) * (own - other)
    last = -np.inf
    for steps in range(1, 40):
        shares = ibu(counts, own=own, other=other, iterations=steps, tolerance=0.0)
        likelihood = float(counts @ np.log(channel @ shares))
        assert likelihood >= last
        last = likelihood


@pytest.mark.parametrize("name", list(POSTPROCESSORS))
def test_every_way_gives_one_number_a_cell(name: str) -> None:
    mechanism = make_mechanism("grr", epsilon=2, domain_size=TRUE_COUNTS.size)
    counts = mechanism.sample_counts(TRUE_COUNTS, rng=np.random.default_rng(4))
    before = counts.copy()
    values = postprocess(name, mechanism, counts, n=int(TRUE_COUNTS.sum()))
    assert values.shape == TRUE_COUNTS.shape
    assert (counts == before).all()
    entry = POSTPROCESSORS[name]
    assert entry.label
    assert entry.summary.endswith(".")
    assert entry.reference


@pytest.mark.parametrize("name", ["norm", "norm-mul", "norm-sub", "mle-apx"])
def test_counts_sum_to_the_reports(name: str) -> None:
    mechanism = make_mechanism("oue", epsilon=1, domain_size=TRUE_COUNTS.size)
    counts = mechanism.sample_counts(TRUE_COUNTS, rng=np.random.default_rng(5))
    assert postprocess(name, mechanism, counts, n=26_000).sum() == pytest.approx(26_000)


def test_bias_is_what_theory_says() -> None:
    """Failure rate 1e-6 a comparison: 4.9 standard errors of the mean."""
    mechanism = make_mechanism("oue", epsilon=1, domain_size=TRUE_COUNTS.size)
    draws, rng = 4_000, np.random.default_rng(6)
    found = {
        entry.name: entry
        for entry in measure_postprocessing(
            mechanism,
            TRUE_COUNTS,
            (mechanism.sample_counts(TRUE_COUNTS, rng=rng) for _ in range(draws)),
            names=["base-pos", "norm-sub"],
            groups=[TRUE_COUNTS == 0, TRUE_COUNTS >= 0],
        )
    }
    assert list(found) == ["raw", "base-pos", "norm-sub"]
    raw = found["raw"]
    assert (np.abs(raw.bias) < 5.6 * raw.bias_error).all()  # 40 cells at 1e-6 altogether
    variance = mechanism.variance(TRUE_COUNTS, n=26_000)
    assert np.sqrt((raw.rmse**2).mean()) == pytest.approx(np.sqrt(variance.mean()), rel=0.01)
    empty = np.sqrt(variance[-1])
    gain = found["base-pos"].bias[3:].mean()
    # The clamped half of a normal has standard deviation 0.584: mean of 37 independent cells and the draws.
    assert abs(gain - clamping_bias(empty)) < 4.9 * 0.584 * empty / np.sqrt(37 * draws)
    phantom = found["base-pos"].sum_bias[0], found["base-pos"].sum_bias_error[0]
    assert abs(phantom[0] - 37 * clamping_bias(empty)) < 4.9 * phantom[1]
    assert phantom[1] == pytest.approx(0.584 * empty * np.sqrt(37 / draws), rel=0.15)
    assert found["norm-sub"].rmse.mean() < raw.rmse.mean()
    assert found["norm-sub"].bias[0] < -5 * found["norm-sub"].bias_error[0]
    assert found["norm-sub"].sum_bias[1] == pytest.approx(0, abs=1e-6)
    assert raw.sums[1].std() == pytest.approx(np.sqrt(variance.sum()), rel=0.15)


def test_what_does_not_fit_is_refused_in_one_sentence() -> None:
    oue = make_mechanism("oue", epsilon=1, domain_size=5)
    blocks = make_mechanism("hr", epsilon=1, domain_size=50, blocks=2)
    for name, mechanism, shape, n in (
        ("ibu", oue, 5, 10),
        ("magic", oue, 5, 10),
        ("norm", oue, 5, 0),
        ("base-cut", blocks, blocks.counts_shape[0], 10),
    ):
        with pytest.raises(ParameterError):
            postprocess(name, mechanism, np.zeros(shape, np.int64), n=n)
    assert "ibu" not in fitting_postprocessors(oue)
    assert fitting_postprocessors(make_mechanism("grr", epsilon=1, domain_size=5)) == tuple(POSTPROCESSORS)


def test_the_groups_of_a_city_are_what_their_labels_say() -> None:
    scenario = Scenario(city="helsinki", devices=3_000, resolution=7, seed=3)
    population = population_of(scenario)
    counts = population.true_counts
    groups = {group.name: group for group in cell_groups(population)}
    assert list(groups) == ["quiet", "busy", "region", "all"]
    assert groups["quiet"].label == f"{(counts == 0).sum():,} empty cells"
    assert counts[groups["quiet"].cells].sum() == 0
    busy = groups["busy"].cells
    assert busy.sum() == round(0.05 * counts.size)
    assert counts[busy].min() >= counts[~busy].max()
    by_parent: dict[str, int] = {}
    for cell, count in zip(population.domain.cell_ids(), counts, strict=True):
        parent = h3.cell_to_parent(cell, 5)
        by_parent[parent] = by_parent.get(parent, 0) + int(count)
    best = max(by_parent, key=lambda parent: by_parent[parent])
    assert groups["region"].label == f"region {best} (resolution 5)"
    assert counts[groups["region"].cells].sum() == by_parent[best]
    assert groups["all"].cells.all()
    # Where hardly a cell is empty, the quietest tenth stands in.
    crowded = replace(population, true_counts=counts + 1)
    assert cell_groups(crowded)[0].label == f"{round(0.1 * counts.size):,} quietest cells"
