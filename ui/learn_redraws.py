"""Twenty redraws of the coins: the map, an empty cell's error bar and a watched cell's, frame by frame."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from ldpcore.population import Population
from ldpcore.settings import Scenario
from ldpcore.shapes import FloatArray
from ui.learn_map import hexagons
from ui.number_words import percent, thousands, to_error
from ui.palettes import RAMPS, count_scale, tokens
from ui.pipeline import get_population, get_release

_MAP_WIDTH = 380.0


@dataclass(frozen=True, eq=False, slots=True)
class Redraws:
    """What twenty redraws gave.

    Parameters
    ----------
    estimates
        (redraws, d) float64, devices.
    empty, watched
        One row per redraw of an empty and of the watched cell: estimate, low, high, holds.
    empty_truth, watched_truth
        Devices truly in them.
    empty_name, watched_name
        Their H3 names.
    coverage
        (redraws,) share of all cells whose error bar holds the truth, redraw by redraw.
    std_error
        Of the empty cell, devices.
    """

    estimates: FloatArray
    empty: pd.DataFrame
    watched: pd.DataFrame
    empty_truth: int
    watched_truth: int
    empty_name: str
    watched_name: str
    coverage: FloatArray
    std_error: float


def redraws(scenario: Scenario, *, watched: int, count: int) -> Redraws:
    """Run a scenario's coins `count` times from its own redraw on.

    Parameters
    ----------
    scenario
        The lesson's.
    watched
        Cell to follow beside the first of the emptiest ones.
    count
        Redraws.
    """
    population = get_population(scenario)
    truth = population.true_counts
    quietest = np.flatnonzero(truth == truth.min())
    empty = int(quietest[0]) if quietest[0] != watched or quietest.size == 1 else int(quietest[1])
    runs = [get_release(replace(scenario, draw=scenario.draw + number)).estimates for number in range(count)]
    holds = np.array([(run.ci_low <= truth) & (truth <= run.ci_high) for run in runs])

    def story(cell: int) -> pd.DataFrame:
        return pd.DataFrame(
            {
                "estimate": [float(run.estimate[cell]) for run in runs],
                "low": [float(run.ci_low[cell]) for run in runs],
                "high": [float(run.ci_high[cell]) for run in runs],
                "holds": holds[:, cell],
            }
        )

    names = population.domain.cell_ids()
    return Redraws(
        estimates=np.array([run.estimate for run in runs]),
        empty=story(empty),
        watched=story(watched),
        empty_truth=int(truth[empty]),
        watched_truth=int(truth[watched]),
        empty_name=names[empty],
        watched_name=names[watched],
        coverage=holds.mean(axis=1),
        std_error=float(np.mean([run.std_error[empty] for run in runs])),
    )


def redraw_svg(found: Redraws, population: Population, *, confidence: float, dark: bool) -> str:
    """Return the map and the two rows of error bars, marked for the player."""
    colours = tokens(dark=dark)
    paths, height = hexagons(population, width=_MAP_WIDTH)
    scale = count_scale(population.true_counts.astype(np.float64))
    index = scale.index(found.estimates)
    ramp = [RAMPS["counts"].css(shade, dark=dark) for shade in range(256)]
    negative = found.estimates < 0
    cells = "".join(
        f'<path d="{path}" stroke="{colours.page}" stroke-width="0.6" data-seq="fill='
        + ";".join(
            RAMPS["error"].css(70, dark=dark) if below else ramp[shade]
            for shade, below in zip(index[:, cell].tolist(), negative[:, cell].tolist(), strict=True)
        )
        + '"/>'
        for cell, path in enumerate(paths)
    )
    names = population.domain.cell_ids()
    frames = "".join(
        f'<path d="{paths[names.index(name)]}" fill="none" stroke="{colours.page}" stroke-width="5"/>'
        f'<path d="{paths[names.index(name)]}" fill="none" stroke="{colours.text}" stroke-width="2"/>'
        for name in (found.empty_name, found.watched_name)
    )
    below = RAMPS["error"].css(70, dark=dark)
    city = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_MAP_WIDTH:.0f} {height + 24:.0f}" '
        f'font-size="12" class="w380" style="max-width:440px">{cells}{frames}'
        f'<rect x="2" y="{height + 9:.0f}" width="11" height="11" fill="{below}"/>'
        f'<text x="18" y="{height + 19:.0f}" fill="{colours.quiet}">estimate below zero; framed: the two cells of the '
        "bars</text></svg>"
    )
    bars = _bars(found, confidence=confidence, dark=dark)
    return city + bars


def _bars(found: Redraws, *, confidence: float, dark: bool) -> str:
    colours = tokens(dark=dark)
    width, pitch, left = 480, 21.0, 46
    rows = []
    empty_word = "An empty cell" if found.empty_truth == 0 else "The quietest cell"
    for top, frame, truth, title in (
        (18, found.empty, found.empty_truth, f"{empty_word}, {found.empty_name}"),
        (184, found.watched, found.watched_truth, f"The watched cell, {found.watched_name}"),
    ):
        low, high = min(float(frame["low"].min()), truth), max(float(frame["high"].max()), truth)
        span = max(high - low, 1e-9)

        def at(value: float, top: float = top, high: float = high, span: float = span) -> float:
            return top + 12 + (high - value) / span * 116

        marks = []
        for number, (estimate, lower, upper, holds) in enumerate(
            zip(frame["estimate"], frame["low"], frame["high"], frame["holds"], strict=True)
        ):
            x = left + 10 + number * pitch
            colour = colours.accent if holds else RAMPS["error"].css(255, dark=dark)
            dash = "" if holds else ' stroke-dasharray="4 3"'
            marks.append(
                f'<g data-from="{number}"><path d="M{x:.1f} {at(upper):.1f}V{at(lower):.1f}" stroke="{colour}" '
                f'stroke-width="3"{dash}/><circle cx="{x:.1f}" cy="{at(estimate):.1f}" r="4" fill="{colour}"/></g>'
                f'<path data-at="{number}" d="M{x - 7:.1f} {top + 134}h14" stroke="{colours.text}" stroke-width="2"/>'
            )
        rows.append(
            f'<text x="2" y="{top}" fill="{colours.text}" font-weight="600">{title}</text>'
            f'<path d="M{left} {at(truth):.1f}H{width - 4}" stroke="{colours.text}" stroke-width="1.2"/>'
            f'<text x="{left - 4}" y="{at(truth) + 4:.1f}" text-anchor="end" fill="{colours.text}">truth</text>'
            f'<text x="2" y="{top + 18}" fill="{colours.quiet}">{_short(high)}</text>'
            f'<text x="2" y="{top + 130}" fill="{colours.quiet}">{_short(low)}</text>{"".join(marks)}'
        )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} 350" font-size="12" class="w480" '
        f'style="max-width:620px">{"".join(rows)}<text x="2" y="344" fill="{colours.quiet}">{100 * confidence:g} of '
        "100 bars should hold the truth; a broken one does not</text></svg>"
    )


def _short(value: float) -> str:
    for size, letter in ((1e9, "B"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.3g}{letter}".replace("-", "−")
    return f"{value:.0f}".replace("-", "−")


def redraw_frames(found: Redraws, *, confidence: float) -> list[str]:
    """Return the sentence of each redraw, with the coverage counted so far."""
    cells = found.estimates.shape[1]
    texts = []
    held = np.cumsum(found.coverage) * cells
    for number in range(len(found.empty)):
        empty, watched = float(found.empty["estimate"][number]), float(found.watched["estimate"][number])
        so_far = (number + 1) * cells
        below = int((found.estimates[number] < 0).sum())
        texts.append(
            f"Empty cell {to_error(empty, found.std_error)}, watched cell {to_error(watched, found.std_error)} devices; "
            f"{below} of {cells} estimates below zero. Counted so far: {thousands(held[number])} of {thousands(so_far)} error "
            f"bars hold the truth, {percent(held[number] / so_far)}; {100 * confidence:g} % should."
        )
    return texts
