"""Trees of counts: least squares against dense normal equations, sums against enumeration."""

from __future__ import annotations

from itertools import combinations

import h3
import numpy as np
import pytest

from ldpcore.covariance import has_region_variance, pair_terms, region_variance
from ldpcore.errors import ParameterError
from ldpcore.hierarchy import cell_tree, constrained_inference
from ldpcore.mechanisms import MECHANISMS, make_mechanism
from ldpcore.trips.cities import city_domain


def dense_least_squares(parents, values, weights, noise):
    """Solve for the leaves by normal equations; return all nodes and their variances under `noise`."""
    parents = np.asarray(parents)
    leaves = [node for node in range(parents.size) if node not in parents]
    design = np.zeros((parents.size, len(leaves)))
    for column, leaf in enumerate(leaves):
        node = leaf
        while node >= 0:
            design[node, column] = 1
            node = parents[node]
    seen = np.isfinite(weights)
    inverse = np.diag(1 / np.asarray(weights)[seen])
    solve = np.linalg.solve(design[seen].T @ inverse @ design[seen], design[seen].T @ inverse)
    linear = design @ solve
    return linear @ np.asarray(values)[seen], np.diag(linear @ np.diag(np.asarray(noise)[seen]) @ linear.T)


def random_tree(rng):
    parents = [-1, -1] + [0] * 3
    while len(parents) < 30:
        parents += [int(rng.integers(1, len(parents)))] * int(rng.integers(1, 8))
    return np.sort(np.array(parents))


def test_least_squares_agree_with_dense_equations_for_any_tree_and_variances() -> None:
    rng = np.random.default_rng(1)
    for _ in range(30):
        parents = random_tree(rng)
        values = rng.normal(100, 30, parents.size)
        weights = rng.uniform(1, 500, parents.size)
        inner = np.isin(np.arange(parents.size), parents)
        weights[inner & (rng.random(parents.size) < 0.3)] = np.inf
        noise = np.where(np.isfinite(weights), rng.uniform(1, 500, parents.size), np.inf)
        tree = constrained_inference(parents, values, weights, true_variances=noise)
        wanted, variance = dense_least_squares(parents, values, weights, noise)
        assert tree.estimate == pytest.approx(wanted, rel=1e-9)
        assert tree.variance == pytest.approx(variance, rel=1e-9)


def test_a_known_root_is_kept_and_parents_are_sums() -> None:
    parents = [-1, 0, 0, 1, 1, 2, 2]
    tree = constrained_inference(parents, [100, 61, 33, 40, 30, 20, 5], [0, 20, 20, 50, 50, 50, 50])
    assert tree.estimate[0] == 100
    for node in range(3):
        children = tree.estimate[[child for child, parent in enumerate(parents) if parent == node]]
        assert tree.estimate[node] == pytest.approx(children.sum())


@pytest.mark.parametrize(
    ("parents", "variances"),
    [([1, -1], [1, 1]), ([-1, 0], [1, -1]), ([-1, 0], [1, np.inf]), ([-1, 0], [np.nan, 1]), ([-1, 0], [1])],
)
def test_a_broken_tree_is_refused(parents, variances) -> None:
    with pytest.raises(ParameterError):
        constrained_inference(parents, [1.0, 2.0], variances)


def test_the_tree_over_a_city_follows_the_index() -> None:
    domain = city_domain("helsinki", 7)
    tree = cell_tree(domain, 5)
    assert tree.resolutions == (5, 6, 7)
    assert (tree.cells[tree.leaves] == domain.cells).all()
    assert (np.diff(tree.cells[tree.level(6)].astype(np.int64)) > 0).all()
    for node in np.random.default_rng(1).integers(0, tree.size, 40):
        text = h3.int_to_str(int(tree.cells[node]))
        assert tree.resolution[node] == h3.get_resolution(text)
        if tree.parents[node] >= 0:
            assert int(tree.cells[tree.parents[node]]) == h3.str_to_int(h3.cell_to_parent(text))
    values = np.random.default_rng(2).integers(0, 100, domain.size)
    sums = tree.sums(values)
    for level in tree.resolutions:
        assert sums[tree.level(level)].sum() == values.sum()
    with pytest.raises(ParameterError):
        cell_tree(domain, 8)


def enumerated_covariance(mechanism, cell: int) -> np.ndarray:
    """Covariance of one device's estimates, over all its reports, from the likelihood of each."""
    cells = mechanism.domain_size
    ratio = float(mechanism.ratio)
    if mechanism.name == "grr":
        supports = np.eye(cells)
    elif mechanism.name == "ss":
        supports = np.array(
            [np.isin(np.arange(cells), chosen) for chosen in combinations(range(cells), mechanism.size)],
            float,
        )
    else:
        size = mechanism.block_outputs
        signs = np.array([[bin(r & c).count("1") % 2 == 0 for r in range(1, cells + 1)] for c in range(size)])
        supports = signs.astype(float)
    weight = np.where(supports[:, cell] == 1, ratio, 1.0)
    weight /= weight.sum()
    centred = supports - weight @ supports
    return (centred.T * weight) @ centred / float(mechanism.p - mechanism.q) ** 2


@pytest.mark.parametrize(
    ("name", "cells", "options"),
    [("grr", 6, {}), ("ss", 6, {"k": 2}), ("ss", 7, {"k": 3}), ("ss", 2, {}), ("hr", 5, {}), ("hr", 7, {})],
)
def test_the_variance_of_a_sum_is_that_of_all_reports_enumerated(name, cells, options) -> None:
    mechanism = make_mechanism(name, epsilon=1.3, domain_size=cells, **options)
    true_counts = np.arange(1, cells + 1) * 10
    covariance = sum(count * enumerated_covariance(mechanism, cell) for cell, count in enumerate(true_counts))
    regions = np.array([0, 0, 1, 0, 1, 2, 1])[:cells]
    found = region_variance(mechanism, regions, true_counts, size=3)
    for region in range(3):
        inside = regions == region
        assert found[region] == pytest.approx(covariance[np.ix_(inside, inside)].sum(), rel=1e-9)


@pytest.mark.parametrize("name", list(MECHANISMS))
def test_a_sum_over_one_cell_is_the_cell(name: str) -> None:
    mechanism = make_mechanism(name, epsilon=1, domain_size=12)
    true_counts = np.arange(12) * 100
    if not has_region_variance(mechanism):
        with pytest.raises(ParameterError):
            region_variance(mechanism, np.arange(12), true_counts, size=12)
        return
    found = region_variance(mechanism, np.arange(12), true_counts, size=12)
    assert found == pytest.approx(mechanism.variance(true_counts, n=int(true_counts.sum())), rel=1e-9)


@pytest.mark.parametrize("name", list(MECHANISMS))
def test_the_variance_of_a_sum_is_seen_in_redraws(name: str) -> None:
    """2,000 redraws: each variance within 17 %, or 5.4 standard errors; failure rate about 1e-6 altogether."""
    mechanism = make_mechanism(name, epsilon=1, domain_size=12)
    if not has_region_variance(mechanism):
        pytest.skip("no closed form")
    true_counts = np.array([400, 0, 30, 0, 0, 100, 5, 9, 0, 0, 300, 60])
    regions = (np.arange(12) >= 7).astype(np.int64)
    rng = np.random.default_rng(7)
    n = int(true_counts.sum())
    sums = np.array(
        [
            np.bincount(
                regions, weights=mechanism.estimate(mechanism.sample_counts(true_counts, rng=rng), n=n)
            )
            for _ in range(2_000)
        ]
    )
    assert sums.var(axis=0, ddof=1) == pytest.approx(
        region_variance(mechanism, regions, true_counts, size=2), rel=0.17
    )
    if name == "grr":
        assert pair_terms(mechanism) < (0, 0)
