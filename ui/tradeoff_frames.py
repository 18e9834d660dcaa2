"""The tables behind the pictures of the Trade-offs page: each picture draws one, and shows it below."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

import numpy as np
import pandas as pd

from ldpcore.release_files import escape_formulas
from ldpcore.settings import Scenario
from ldpcore.shapes import BoolArray, FloatArray
from ldpcore.sweep import Point
from ldpcore.sweep_figures import Record
from ldpcore.top_list import share_interval
from ui.tradeoff_words import Measure, finite, standard_error, uncertain, write


def heat_frame(points: Iterable[Point], measure: Measure, scenario: Scenario) -> pd.DataFrame:
    """Return one row a combination of epsilon and resolution.

    Returns
    -------
    Columns ``epsilon``, ``resolution``, ``cells``, ``value`` (NaN where it could not be run), ``std_error`` (of the
    mean over the redraws), ``spread`` (standard deviation of one redraw), ``theory``, ``redraws``, ``written``,
    ``error_words``, ``strength`` (0 the least useful of all, 1 the most), ``now`` (whether it is the scenario in
    force) and ``error`` (why it could not be run, or none).
    """
    rows = [_row(point, measure, scenario) for point in points]
    frame = pd.DataFrame(rows, columns=list(_COLUMNS))
    frame["strength"] = strength(frame["value"].to_numpy(np.float64), measure)
    return frame.sort_values(["resolution", "epsilon"], ignore_index=True)


_COLUMNS: Final = (
    "epsilon",
    "resolution",
    "cells",
    "value",
    "std_error",
    "spread",
    "theory",
    "redraws",
    "written",
    "error_words",
    "now",
    "error",
)


def _row(point: Point, measure: Measure, scenario: Scenario) -> dict[str, Any]:
    settings = point.settings
    ran = point.error is None
    value, theory, spread = finite(
        (
            point.mean.get(measure.key),
            point.fixed.get(f"{measure.key}_expected"),
            point.spread.get(measure.key),
        )
    )
    return {
        "epsilon": settings["epsilon"],
        "resolution": settings["resolution"],
        "cells": point.fixed.get("domain_size"),
        "value": value,
        "std_error": standard_error(point, measure) if ran else np.nan,
        "spread": spread,
        "theory": theory,
        "redraws": point.repeats,
        "written": write(value, measure.kind) if ran else "failed",
        "error_words": uncertain(point, measure) if ran else point.error,
        "now": (settings["epsilon"], settings["resolution"]) == (scenario.epsilon, scenario.resolution),
        "error": point.error,
    }


def strength(values: FloatArray, measure: Measure) -> FloatArray:
    """Return how useful each value is among all, from 0 to 1.

    By the square root for what is best high, as on maps, and by the logarithm for errors.
    """
    known = np.isfinite(values)
    out = np.zeros(values.size)
    if not known.any():
        return out
    if measure.more_is_better:
        top = 1.0 if measure.kind == "share" else max(float(values[known].max()), 1e-12)
        out[known] = np.sqrt(np.clip(values[known] / top, 0, 1))
        return out
    logs = np.log(np.maximum(values[known], 1e-12))
    span = float(logs.max() - logs.min())
    out[known] = (logs.max() - logs) / span if span > 0 else 1.0
    return out


def line_frames(
    points: Iterable[Point], theory: Mapping[Any, Sequence[Record]], measure: Measure, axis: str
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the dots and the lines of a figure against epsilon.

    Returns
    -------
    Dots: ``line`` (the value of `axis`), ``epsilon``, ``value``, ``low``, ``high`` (one standard deviation of a redraw
    to either side, or the exact 95 % interval of a probability that was counted), ``theory``, ``redraws``. Lines:
    ``line``, ``epsilon``, ``theory``.
    """
    dots = []
    for point in points:
        value = point.mean.get(measure.key)
        if point.error is not None or value is None:
            continue
        if measure.key == "top_list_right":
            low, high = share_interval(round(value * point.repeats), point.repeats)
        else:
            spread = point.spread.get(measure.key) or 0.0
            low, high = value - spread, value + spread
        dots.append(
            {
                "line": point.settings[axis],
                "epsilon": point.settings["epsilon"],
                "value": value,
                "low": low,
                "high": high,
                "theory": point.fixed.get(f"{measure.key}_expected"),
                "redraws": point.repeats,
            }
        )
    lines = [
        {"line": line, "epsilon": record["epsilon"], "theory": record[f"{measure.key}_expected"]}
        for line, records in theory.items()
        for record in records
    ]
    dot_columns = ("line", "epsilon", "value", "low", "high", "theory", "redraws")
    return (
        pd.DataFrame(dots, columns=list(dot_columns)).sort_values(["line", "epsilon"], ignore_index=True),
        pd.DataFrame(lines, columns=["line", "epsilon", "theory"]),
    )


def pareto_frame(points: Iterable[Point], measure: Measure, scenario: Scenario) -> pd.DataFrame:
    """Return the rows of `heat_frame` that ran, with ``front``: whether no other point beats this one.

    A point is beaten by one that is at least as private and as useful, and better at one of the two.
    """
    frame = heat_frame(points, measure, scenario)
    frame = pd.DataFrame(frame.loc[np.isfinite(frame["value"].to_numpy(np.float64))].reset_index(drop=True))
    value = frame["value"].to_numpy(np.float64)
    frame["front"] = on_front(
        frame["epsilon"].to_numpy(np.float64), value if measure.more_is_better else -value
    )
    return frame


def on_front(epsilon: FloatArray, utility: FloatArray) -> BoolArray:
    """Return which points no other one dominates.

    Parameters
    ----------
    epsilon
        (m,) privacy loss, the smaller the better.
    utility
        (m,) the greater the better.

    Examples
    --------
    >>> on_front(np.array([1.0, 1.0, 2.0, 3.0]), np.array([5.0, 4.0, 5.0, 9.0])).tolist()
    [True, False, False, True]
    """
    as_good = (epsilon[None, :] <= epsilon[:, None]) & (utility[None, :] >= utility[:, None])
    better = (epsilon[None, :] < epsilon[:, None]) | (utility[None, :] > utility[:, None])
    dominated = np.asarray((as_good & better).any(axis=1), np.bool_)
    return np.logical_not(dominated)


def csv_bytes(frame: pd.DataFrame) -> bytes:
    """Return a table as CSV whose texts a spreadsheet cannot run as formulas."""
    text: str = escape_formulas(frame).to_csv(index=False, lineterminator="\n")
    return text.encode("utf-8")


LABELS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "epsilon": "ε",
        "resolution": "Resolution",
        "mechanism": "Randomiser",
        "devices": "Devices",
        "cells": "Cells",
        "value": "Mean of the redraws",
        "std_error": "Its standard error",
        "spread": "Spread of one redraw",
        "low": "Bar from",
        "high": "Bar to",
        "theory": "Theory",
        "redraws": "Redraws",
        "error": "Why not",
        "front": "On the front",
        "published": "Published",
        "published_share": "Published share",
        "published_share_sd": "Its spread",
        "published_share_expected": "Its theory",
        "mean_absolute_error": "Mean absolute error",
        "top_relative_error": "Relative error, top cells",
        "decile": "Tenth",
        "mean_count": "Mean count",
        "error_expected": "Mean absolute error, theory",
        "error_sd": "Its spread",
        "relative_error": "Error over the count",
        "relative_error_expected": "Its theory",
        "rank": "True rank",
        "h3": "Cell (H3)",
        "listed": "On the list",
        "same_rank": "At just this rank",
        "rank_low": "Rank, 5 %",
        "rank_median": "Rank, median",
        "rank_high": "Rank, 95 %",
    }
)
"""Heads of the tables' columns on the page; files keep the short names."""


def labels(frame: pd.DataFrame, **other: str) -> dict[str, str]:
    """Return the heads of a table's columns by name.

    Parameters
    ----------
    frame
        The table.
    **other
        Heads that differ from `LABELS`.
    """
    return {name: {**LABELS, **other}[name] for name in frame.columns if name in LABELS}
