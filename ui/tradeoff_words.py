"""What the Trade-offs page measures, and how it says it: the figures, the answer, the sentences."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

import numpy as np
import pandas as pd

from ldpcore.plain_numbers import plain
from ldpcore.settings import Scenario
from ldpcore.sweep import Point
from ldpcore.top_list import TOP, ListRedraws, share_interval
from ldpcore.trips.cities import CITIES
from ui.headline import Figure
from ui.number_words import percent, round_significant, thousands, to_error


@dataclass(frozen=True, slots=True)
class Measure:
    """One figure that privacy is traded for.

    Parameters
    ----------
    key
        Its name in a sweep; its theory has ``_expected`` after it.
    label
        In plain words.
    axis
        The same with its unit, for an axis.
    kind
        ``"share"`` of one, ``"relative"`` error as a share of a count, or ``"count"``.
    more_is_better
        Whether a greater value is the more useful one.
    help
        One sentence.
    """

    key: str
    label: str
    axis: str
    kind: str
    more_is_better: bool
    help: str

    @property
    def logarithmic(self) -> bool:
        """Whether it is drawn on a logarithmic axis: errors span powers of ten."""
        return not self.more_is_better


MEASURES: Final[Mapping[str, Measure]] = MappingProxyType(
    {
        measure.key: measure
        for measure in (
            Measure(
                "published_share",
                "Published share",
                "Share of cells published",
                "share",
                True,
                "Cells whose lower bound reaches the floor, of all cells.",
            ),
            Measure(
                "published",
                "Published cells",
                "Cells published",
                "count",
                True,
                "Cells whose lower bound reaches the floor: finer grids have more cells to publish.",
            ),
            Measure(
                "top_relative_error",
                "Relative error of the top cells",
                f"Relative error of the {TOP} fullest cells",
                "relative",
                False,
                f"One standard error over the count, mean of the {TOP} fullest cells.",
            ),
            Measure(
                "mean_absolute_error",
                "Mean absolute error",
                "Mean absolute error of a cell",
                "count",
                False,
                "Distance of estimate and truth, mean over all cells, published or not.",
            ),
            Measure(
                "top_list_right",
                "Top-10 list right",
                "Probability that the top-10 list is right",
                "share",
                True,
                f"How often the {TOP} greatest estimates are the {TOP} fullest cells, in any order.",
            ),
        )
    }
)


def write(value: float | None, kind: str) -> str:
    """Write a figure with two significant digits, or three where it is a count.

    >>> write(0.395, "share"), write(0.0094, "relative"), write(2145.06, "count")
    ('40 %', '±0.94 %', '2,150')
    >>> write(0.0004, "share"), write(0.62, "count")
    ('< 0.1 %', '0.62')
    """
    if value is None or not math.isfinite(value):
        return "no value"
    if kind == "count":
        rounded = round_significant(value, 3)
        return thousands(rounded) if rounded >= 10 or rounded == 0 else plain(value, 2)
    per_cent = 100 * value
    if kind == "share" and 0 < per_cent < 0.1:
        return "< 0.1 %"
    if kind == "share" and per_cent >= 99.5:
        text = "100" if value == 1 else f"{math.floor(per_cent * 10) / 10:g}"
    else:
        text = f"{round_significant(per_cent, 2):,.{_places(per_cent)}f}" if per_cent else "0"
    return f"±{text} %" if kind == "relative" else f"{text} %"


def _places(per_cent: float) -> int:
    return max(1 - math.floor(math.log10(per_cent)), 0) if per_cent < 9.95 else 0


def standard_error(point: Point, measure: Measure) -> float:
    """Return the standard error of a point's mean over its redraws; infinite with a single one."""
    spread = point.spread.get(measure.key)
    return math.inf if spread is None else spread / math.sqrt(point.repeats)


def uncertain(point: Point, measure: Measure) -> str:
    """Write how far a point's figure is off: an exact interval for a share that was counted, else a standard error."""
    value = point.mean.get(measure.key)
    if value is None:
        return ""
    if measure.key == "top_list_right":
        low, high = share_interval(round(value * point.repeats), point.repeats)
        return f"95 % interval {percent(low, 0)} to {percent(high, 0)}"
    error = standard_error(point, measure)
    if not math.isfinite(error):
        return "one redraw: no error known"
    return f"± {write(error, measure.kind).removeprefix('±')}"


def exact(value: float | None, error: float, kind: str) -> str:
    """Write a figure with the digits its standard error allows.

    >>> exact(0.39475, 0.001, "share"), exact(0.00984, 0.001, "relative"), exact(2145.06, 40.0, "count")
    ('39.48 %', '±0.98 %', '2,145')
    """
    if value is None or not math.isfinite(value):
        return "no value"
    if not (math.isfinite(error) and error > 0):
        return write(value, kind)
    if kind == "count":
        return to_error(value, error)
    return f"{'±' if kind == 'relative' else ''}{to_error(100 * value, 100 * error)} %"


def place_words(scenario: Scenario) -> str:
    """Return where the scenario is, to begin a sentence with."""
    if not scenario.synthetic:
        return "In your file"
    assert scenario.city is not None  # noqa: S101 - a synthetic scenario has one
    return f"In {CITIES[scenario.city].label} with {thousands(scenario.devices)} devices"


def answer(points: Iterable[Point], scenario: Scenario, useful: float, *, finished: bool) -> str:
    """Return the answer in one sentence: from which epsilon on something useful can be published, and how fine.

    Parameters
    ----------
    points
        What the sweep has found so far.
    scenario
        In force.
    useful
        Share of the cells from which a map is useful.
    finished
        Whether the whole sweep is there.
    """
    known = [point for point in points if point.error is None]
    share = f"{100 * useful:g} % of the cells"
    if not known:
        return f"{place_words(scenario)}: working out what can be published at which ε and resolution."
    start = (
        place_words(scenario)
        if finished
        else f"So far, {place_words(scenario)[0].lower()}{place_words(scenario)[1:]}"
    )
    enough = [point for point in known if (point.mean["published_share"] or 0.0) >= useful]
    most = max(point.settings["epsilon"] for point in known)
    if not enough:
        closest = max(known, key=lambda point: point.mean["published_share"] or 0.0)
        reached = write(closest.mean["published_share"], "share")
        return (
            f"{start}, {share} can be published at no ε tried, up to {most:g}, and at no resolution; the most is "
            f"{reached}, at ε = {closest.settings['epsilon']:g} and resolution {closest.settings['resolution']}."
        )
    first = min(enough, key=lambda point: (point.settings["epsilon"], -point.settings["resolution"]))
    here = [point.settings["resolution"] for point in enough if point.settings["epsilon"] == scenario.epsilon]
    own = (
        f"your ε = {scenario.epsilon:g} does it down to resolution {max(here)}."
        if here
        else f"your ε = {scenario.epsilon:g} does it at no resolution tried."
    )
    least = min(point.settings["epsilon"] for point in known)
    smallest = ", the smallest tried," if first.settings["epsilon"] == least else ","
    return (
        f"{start}, {share} can be published from ε = {first.settings['epsilon']:g} on{smallest} at resolution "
        f"{first.settings['resolution']}; {own}"
    )


def cards(point: Point, noun: str) -> tuple[Figure, ...]:
    """Return the four figures of the scenario in force, each beside its theory."""
    shown = ("published_share", "top_relative_error", "mean_absolute_error", "top_list_right")
    figures = []
    for key in shown:
        measure = MEASURES[key]
        value = point.mean[key]
        unit = f", {noun}" if key == "mean_absolute_error" else ""
        error = math.inf if key == "top_list_right" else standard_error(point, measure)
        theory = exact(point.fixed.get(f"{key}_expected"), error, measure.kind)
        figures.append(
            Figure(
                measure.label + unit,
                exact(value, error, measure.kind),
                f"{uncertain(point, measure)}; theory {theory}",
                measure.help,
            )
        )
    return tuple(figures)


def list_answer(lists: ListRedraws, theory: float | None) -> str:
    """Return in words whether the decision would change."""
    changed, many = lists.changed, lists.redraws
    low, high = share_interval(changed, many)
    size = lists.truth.size
    expected = "" if theory is None else f"; theory {write(1 - theory, 'share')}"
    return (
        f"In {changed} of {many} redraws the list of the {size} greatest estimates is not that of the {size} fullest cells "
        f"(probability {write(changed / many, 'share')}, 95 % interval {percent(low)} to {percent(high)}{expected})."
    )


def decile_answer(frame: pd.DataFrame, noun: str) -> str:
    """Return in words who bears the error."""
    known = frame[frame["relative_error"].notna()]
    if known.empty:
        return f"No tenth of the cells has any {noun}."
    full, quiet = known.iloc[-1], known.iloc[0]
    error = f"off by {write(full['error'], 'count')} {noun} on average, one of the quietest that holds any by {write(quiet['error'], 'count')}"
    return (
        f"A cell of the fullest tenth is {error}; as a share of its count that is {write(full['relative_error'], 'relative')} "
        f"against {write(quiet['relative_error'], 'relative')}. Of the fullest tenth "
        f"{write(full['published_share'], 'share')} of the cells are published, of the quietest "
        f"{write(quiet['published_share'], 'share')}."
    )


def seconds_words(seconds: float | None) -> str:
    """Write the time left.

    >>> seconds_words(None), seconds_words(0.4), seconds_words(12.2), seconds_words(200)
    ('', 'about 1 s left', 'about 12 s left', 'about 3 min left')
    """
    if seconds is None:
        return ""
    if seconds < 90:
        return f"about {max(round(seconds), 1)} s left"
    return f"about {round(seconds / 60)} min left"


def finite(values: Iterable[float | None]) -> np.ndarray:
    """Return the numbers of a column, NaN where there is none."""
    return np.array([math.nan if value is None else value for value in values], np.float64)
