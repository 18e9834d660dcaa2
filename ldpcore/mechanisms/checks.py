"""What callers hand in, checked once at the edge: values, counts per cell and aggregated counts."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ldpcore.errors import ParameterError
from ldpcore.shapes import AnyArray, IntArray


def checked_values(values: npt.ArrayLike, domain_size: int) -> IntArray:
    """Return values as (n,) int64, each in [0, domain_size), or say what is wrong with them."""
    array = np.asarray(values)
    if array.ndim != 1:
        raise ParameterError("values", f"values must have one axis, one per device, got {array.ndim}")
    if array.size == 0:
        return np.empty(0, np.int64)
    if array.dtype.kind not in "iu":
        raise ParameterError("values", f"values must be integers, numbers of cells, got {array.dtype}")
    low, high = int(array.min()), int(array.max())
    if low < 0 or high >= domain_size:
        raise ParameterError(
            "values",
            f"values must lie in 0..{domain_size - 1}, the cells of the domain, "
            f"got {low if low < 0 else high}; drop what lies outside before privatizing",
        )
    return array.astype(np.int64, copy=False)


def checked_cells(
    parameter: str, counts: npt.ArrayLike, domain_size: int, *, allow_negative: bool = False
) -> AnyArray:
    """Return an array whose last axis runs over the cells, or say what is wrong with it."""
    array = np.asarray(counts)
    if array.ndim == 0 or array.shape[-1] != domain_size:
        raise ParameterError(
            parameter,
            f"{parameter} must hold one number for each of {domain_size} cells, got shape {array.shape}",
        )
    if not allow_negative and array.size and array.min() < 0:
        raise ParameterError(parameter, f"{parameter} must not be negative, got {array.min()}")
    return array


def checked_counts(counts: npt.ArrayLike, name: str, shape: tuple[int, ...]) -> AnyArray:
    """Return aggregated counts whose last axes have the given shape, or say what is wrong with them."""
    array = np.asarray(counts)
    if array.shape[-len(shape) :] != shape:
        raise ParameterError("counts", f"counts of {name} have shape {shape} here, got {array.shape}")
    return array
