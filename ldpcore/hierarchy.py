"""Trees of counts: a parent is the sum of its children, and estimates of all levels can be made to agree.

`constrained_inference` finds the least-squares counts for independent errors of any variances and any
fan-outs, in one pass up and one down (M. Hay, V. Rastogi, G. Miklau, D. Suciu, *Boosting the Accuracy of
Differentially Private Histograms Through Consistency*, 2010, is the case of equal variances and equal fan-outs).
It is linear, so what was unbiased stays so; nothing is clipped.

In an H3 tree the parent of a cell is the one that its index names. Seven children share an index parent but
don't fill its outline exactly, so sums hold for index parents, not for outlines.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ldpcore.domain import Domain
from ldpcore.errors import ParameterError
from ldpcore.shapes import AnyArray, CellArray, FloatArray, IntArray


@dataclass(frozen=True, eq=False, slots=True)
class ConsistentTree:
    """Estimates of all nodes that add up.

    Parameters
    ----------
    estimate
        (k,) float64, each parent the sum of its children; may be negative.
    variance
        (k,) float64, exact variance of each, in devices squared.
    """

    estimate: FloatArray
    variance: FloatArray


@dataclass(frozen=True, eq=False, slots=True)
class CellTree:
    """The H3 ancestors of a domain, coarsest level first.

    Parameters
    ----------
    cells
        (k,) uint64, the cell of each node; within a level ascending.
    resolution
        (k,) int64.
    parents
        (k,) int64, index of the parent node, -1 at the coarsest level.
    leaves
        (d,) int64, the node of each cell of the domain; the last d nodes, in order.
    """

    cells: CellArray
    resolution: IntArray
    parents: IntArray
    leaves: IntArray

    @property
    def size(self) -> int:
        """Number of nodes."""
        return int(self.cells.size)

    @property
    def resolutions(self) -> tuple[int, ...]:
        """Resolutions of the levels, coarsest first."""
        return tuple(int(level) for level in np.unique(self.resolution))

    def level(self, resolution: int) -> slice:
        """Return the nodes of one resolution."""
        start, stop = np.searchsorted(self.resolution, [resolution, resolution + 1])
        return slice(int(start), int(stop))

    def ancestors(self) -> IntArray:
        """Return (levels, d) int64: the node that holds each cell of the domain, coarsest level first."""
        rows = [self.leaves]
        for _ in self.resolutions[1:]:
            rows.append(self.parents[rows[-1]])
        return np.stack(rows[::-1])

    def sums(self, values: AnyArray) -> AnyArray:
        """Sum (d,) values of cells into (k,) values of nodes, of the same type."""
        total = np.zeros(self.size, values.dtype)
        for nodes in self.ancestors():
            np.add.at(total, nodes, values)
        return total


def cell_tree(domain: Domain, coarsest: int) -> CellTree:
    """Return the tree over a domain from its own resolution up to the coarsest.

    Parameters
    ----------
    domain
        The leaves.
    coarsest
        Resolution of the roots, from 0 to that of the domain.

    Raises
    ------
    ParameterError
        If the coarsest resolution is finer than the domain or negative.
    """
    if not 0 <= coarsest <= domain.resolution:
        raise ParameterError(
            "coarsest",
            f"The coarsest resolution must be from 0 to that of the cells, {domain.resolution}, got {coarsest}.",
        )
    cells, resolutions, parents = [], [], []
    above = np.zeros(0, np.uint64)
    offset = 0
    for resolution in range(coarsest, domain.resolution + 1):
        ancestors = domain.parents(resolution) if resolution < domain.resolution else domain.cells
        level, first = np.unique(ancestors, return_index=True)
        if resolution == coarsest:
            parents.append(np.full(level.size, -1, np.int64))
        else:
            over = domain.parents(resolution - 1)[first]
            parents.append(offset - above.size + np.searchsorted(above, over).astype(np.int64))
        cells.append(level)
        resolutions.append(np.full(level.size, resolution, np.int64))
        above = level
        offset += level.size
    return CellTree(
        cells=np.concatenate(cells),
        resolution=np.concatenate(resolutions),
        parents=np.concatenate(parents),
        leaves=np.arange(offset - domain.size, offset, dtype=np.int64),
    )


def constrained_inference(
    parents: npt.ArrayLike,
    values: npt.ArrayLike,
    variances: npt.ArrayLike,
    *,
    true_variances: npt.ArrayLike | None = None,
) -> ConsistentTree:
    """Return the least-squares estimates of a tree's nodes that add up.

    Parameters
    ----------
    parents
        (k,) integers, the parent of each node, which comes before it; -1 at a root. Several roots are several trees.
    values
        (k,) unbiased estimates with independent errors.
    variances
        (k,) not negative, the weights of the least squares. 0 where a node is known (usually the root), infinite where
        an inner node was not measured.
    true_variances
        (k,) variances of the values, where they are not the weights: weights that don't depend on the data keep the
        result unbiased, and its variance is then computed from these. By default the weights.

    Returns
    -------
    Estimates and their exact variances.

    Raises
    ------
    ParameterError
        If a parent does not come before its child, shapes differ, a variance is negative or not a number, or that of
        a leaf is infinite.
    """
    up = np.asarray(parents, np.int64)
    weight = np.asarray(variances, np.float64)
    noise = weight if true_variances is None else np.asarray(true_variances, np.float64)
    raw = np.asarray(values, np.float64)
    levels = _checked_levels(up, raw, weight, noise)
    # Up: each node's best estimate from its own subtree, weighing its own value against its children's sum.
    best, spread, error = raw.copy(), weight.copy(), noise.copy()
    own = np.ones(up.size)
    below, below_spread, below_error = np.zeros(up.size), np.zeros(up.size), np.zeros(up.size)
    for nodes in reversed(levels):
        inner = nodes[np.isin(nodes, up)]
        own[inner] = _share(below_spread[inner], weight[inner])
        rest = 1 - own[inner]
        measured = np.where(own[inner] > 0, raw[inner], 0.0)
        noise_seen = np.where(own[inner] > 0, noise[inner], 0.0)
        best[inner] = own[inner] * measured + rest * below[inner]
        spread[inner] = np.where(
            own[inner] > 0, own[inner] * np.minimum(weight[inner], 1e300), below_spread[inner]
        )
        error[inner] = own[inner] ** 2 * noise_seen + rest**2 * below_error[inner]
        children = nodes[up[nodes] >= 0]
        for total, part in ((below, best), (below_spread, spread), (below_error, error)):
            np.add.at(total, up[children], part[children])
    # Down: what the rest of the tree says about a parent is shared out in proportion to the children's variances.
    # A node's result is kept * best + something independent of its subtree, of variance `outside`.
    kept, outside = np.ones(up.size), np.zeros(up.size)
    for nodes in levels[1:]:
        over = up[nodes]
        part = _share(spread[nodes], below_spread[over] - spread[nodes])
        pull = kept[over] * (1 - own[over]) - 1
        kept[nodes] = 1 + part * pull
        seen = np.where(own[over] > 0, noise[over], 0.0)
        outside[nodes] = part**2 * (
            pull**2 * np.maximum(below_error[over] - error[nodes], 0.0)
            + (kept[over] * own[over]) ** 2 * seen
            + outside[over]
        )
        best[nodes] += part * (best[over] - below[over])
    return ConsistentTree(best, kept**2 * error + outside)


def _share(mine: FloatArray, others: FloatArray) -> FloatArray:
    """Return mine / (mine + others): 0 where the others are infinite, 1 where both are zero."""
    with np.errstate(divide="ignore", invalid="ignore"):
        share = mine / (mine + others)
    return np.where(mine + others == 0, 1.0, share)


def _checked_levels(up: IntArray, raw: FloatArray, weight: FloatArray, noise: FloatArray) -> list[IntArray]:
    """Return the nodes of each depth, or say what is wrong with the tree."""
    if up.ndim != 1 or not up.shape == raw.shape == weight.shape == noise.shape:
        raise ParameterError(
            "parents", "Parents, values and variances must have one axis of the same length."
        )
    order = np.arange(up.size)
    if up.size == 0 or (up >= order).any() or (up < -1).any():
        raise ParameterError(
            "parents", "Each parent must come before its children; a root has the parent -1."
        )
    leaf = ~np.isin(order, up)
    if not ((weight >= 0).all() and (noise >= 0).all()) or not np.isfinite(weight[leaf]).all():
        raise ParameterError(
            "variances", "Variances must be at least 0, and finite at the nodes without children."
        )
    return list(_levels(up))


def _levels(up: IntArray) -> Iterator[IntArray]:
    nodes = np.flatnonzero(up < 0)
    while nodes.size:
        yield nodes
        nodes = np.flatnonzero(np.isin(up, nodes))
