"""How often each cell is picked when many devices each pick a uniform set, without making the sets.

The domain is halved again and again. For every segment the devices are counted by how many picks they have
in it, those whose own cell lies inside it apart from the others, because the former have one place fewer to
pick from. When a segment is halved

* which of the devices with the own cell inside have it in the left half is a uniform choice
  (hypergeometric, column by column);
* the picks of a device fall into the left half by the hypergeometric law of its number of picks and of
the places
  in both halves, so each column is split by a multinomial draw.

Devices that agree in all of that are alike, so this is the exact joint law. Segments of one cell hold the
answer. There are as many columns as a number of picks is likely to vary over, which shrinks with the
segments; in all about 50 k log2(d) counters are drawn, whatever the number of devices.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from ldpcore.shapes import FloatArray, IntArray

_REACH = 10.0
"""Standard deviations around the mean within which a number of picks is looked for: 1e-22 lies outside."""


class _Columns(NamedTuple):
    """(segments, columns) devices; column j counts those with `low` + j picks in the segment."""

    low: int
    counts: IntArray


def other_picks(devices: IntArray, picks: int, rng: np.random.Generator) -> IntArray:
    """Let every device pick so many cells other than its own, uniformly.

    Parameters
    ----------
    devices
        (d,) int64, devices by their own cell, fewer than 10^9 in all: numpy's hypergeometric sampler takes
        no more.
    picks
        Cells that each device picks, in [0, d - 1].
    rng
        Source of randomness.

    Returns
    -------
    Array
        (d,) int64, how often each cell was picked.
    """
    if picks == 0 or not devices.any():
        return np.zeros(devices.size, np.int64)
    ends = np.concatenate([[0], np.cumsum(devices)])
    edges = np.array([0, devices.size])
    inside = _Columns(picks, np.array([[ends[-1]]]))
    outside = _Columns(picks, np.zeros((1, 1), np.int64))
    while edges.size <= devices.size:
        sizes = np.diff(edges)
        middles = edges[:-1] + (sizes + 1) // 2
        own_left = ends[middles] - ends[edges[:-1]]
        halves: dict[int, tuple[_Columns, ...]] = {}
        for size in np.unique(sizes):
            chosen = sizes == size
            halves[int(size)] = _halve(
                _Columns(inside.low, inside.counts[chosen]),
                _Columns(outside.low, outside.counts[chosen]),
                int(size),
                own_left[chosen],
                rng,
            )
        new_edges = np.unique(np.concatenate([edges, middles]))
        inside, outside = (
            _interleaved([halves[int(size)][which : which + 2] for size in halves], list(halves), sizes)
            for which in (0, 2)
        )
        edges = new_edges
    picked = 1 - outside.low
    columns = outside.counts.shape[1]
    return outside.counts[:, picked] if 0 <= picked < columns else np.zeros(devices.size, np.int64)


def _halve(
    inside: _Columns, outside: _Columns, size: int, own_left: IntArray, rng: np.random.Generator
) -> tuple[_Columns, _Columns, _Columns, _Columns]:
    """Split segments of one size; return inside left, inside right, outside left and outside right."""
    left = (size + 1) // 2
    lefts, rights = _choose(inside.counts, own_left, rng)
    left_in, right_a = _split(_Columns(inside.low, lefts), size - 1, left - 1, rng)
    left_a, right_in = _split(_Columns(inside.low, rights), size - 1, left, rng)
    left_b, right_b = _split(outside, size, left, rng)
    return left_in, right_in, _sum(left_a, left_b), _sum(right_a, right_b)


def _choose(counts: IntArray, chosen: IntArray, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
    """Choose so many devices of each row, all alike; return the chosen and the others by column."""
    taken = np.zeros_like(counts)
    wanted = chosen.copy()
    rest = counts.sum(axis=1)
    for column in range(counts.shape[1]):
        here = counts[:, column]
        rest = rest - here
        taken[:, column] = rng.hypergeometric(here, rest, wanted)
        wanted = wanted - taken[:, column]
    return taken, counts - taken


def _split(groups: _Columns, places: int, left: int, rng: np.random.Generator) -> tuple[_Columns, _Columns]:
    """Let each device's picks fall on `places` places, `left` of them in the left half."""
    low, counts = groups
    used = np.flatnonzero(counts.any(axis=0))
    if used.size == 0:
        nobody = np.zeros((counts.shape[0], 1), np.int64)
        return _Columns(0, nobody), _Columns(0, nobody)
    low, counts = low + int(used[0]), counts[:, used[0] : used[-1] + 1]
    picks = low + np.arange(counts.shape[1])
    first, law = _hypergeometric_law(picks, places, left)
    drawn = rng.multinomial(counts, law)
    width = law.shape[1]
    right = np.zeros((counts.shape[0], counts.shape[1] + width - 1), np.int64)
    for column in range(counts.shape[1]):
        right[:, column : column + width] += drawn[:, column, ::-1]
    return _Columns(first, drawn.sum(axis=1)), _Columns(low - (first + width - 1), right)


def _hypergeometric_law(picks: IntArray, places: int, left: int) -> tuple[int, FloatArray]:
    """Return the smallest number in the left half, and the law of the number for each number of picks."""
    share = left / places if places else 0.0
    spread = _REACH * np.sqrt(picks * share * (1 - share)) + 1
    first = max(0, int(np.floor((picks * share - spread).min())), int(picks.min()) - (places - left))
    last = min(left, int(np.ceil((picks * share + spread).max())), int(picks.max()))
    lefts = np.arange(first, max(last, first) + 1)
    rights = picks[:, None] - lefts
    possible = (rights >= 0) & (rights <= places - left)
    log_law = np.where(
        possible,
        _log_choose(left, lefts) + _log_choose(places - left, np.clip(rights, 0, places - left)),
        -np.inf,
    )
    law = np.exp(log_law - log_law.max(axis=1, keepdims=True))
    return first, law / law.sum(axis=1, keepdims=True)


def _log_choose(things: int, chosen: IntArray) -> FloatArray:
    return np.asarray(gammaln(things + 1) - gammaln(chosen + 1) - gammaln(things - chosen + 1), np.float64)


def _sum(one: _Columns, other: _Columns) -> _Columns:
    low = min(one.low, other.low)
    high = max(part.low + part.counts.shape[1] for part in (one, other))
    counts = np.zeros((one.counts.shape[0], high - low), np.int64)
    for part in (one, other):
        start = part.low - low
        counts[:, start : start + part.counts.shape[1]] += part.counts
    return _Columns(low, counts)


def _interleaved(
    halves: Sequence[tuple[_Columns, ...]], sizes_of_halves: Sequence[int], sizes: IntArray
) -> _Columns:
    """Put left and right halves of segments of different sizes back into the order of the domain."""
    low = min(part.low for pair in halves for part in pair)
    high = max(part.low + part.counts.shape[1] for pair in halves for part in pair)
    counts = np.zeros((sizes.size, 2, high - low), np.int64)
    for pair, size in zip(halves, sizes_of_halves, strict=True):
        rows = np.flatnonzero(sizes == size)
        for side, part in enumerate(pair):
            start = part.low - low
            counts[rows, side, start : start + part.counts.shape[1]] = part.counts
    # A segment of one cell has no right half.
    exists = np.column_stack([np.ones(sizes.size, bool), sizes > 1])
    together = counts[exists]
    used = np.flatnonzero(together.any(axis=0))
    return (
        _Columns(low + int(used[0]), together[:, used[0] : used[-1] + 1])
        if used.size
        else _Columns(0, together[:, :1])
    )
