"""The ranked table: busiest estimates first, each with its error bar drawn in the row."""

from __future__ import annotations

import base64

import numpy as np
import pandas as pd

from ldpcore.release import Release
from ldpcore.shapes import IntArray
from ui.palettes import Tokens

FIRST_ROWS = 50
_WIDTH, _HEIGHT, _EDGE = 160, 22, 8

STATUS_WORDS = {
    "published": "published",
    "below_floor": "held back: floor not sure",
    "within_noise": "held back: within noise",
}


def ranked(release: Release) -> IntArray:
    """Return the (d,) int64 order of cells, greatest estimate first."""
    return np.argsort(-release.estimates.estimate, kind="stable").astype(np.int64)


def table_rows(release: Release, order: IntArray, tokens: Tokens) -> pd.DataFrame:
    """Return the rows of some cells for display.

    Parameters
    ----------
    release
        The run.
    order
        (m,) int64 cells to show, as indices of the domain.
    tokens
        Colours of the drawn error bars.
    """
    estimates, truth = release.estimates, release.population.true_counts
    ids = release.population.domain.cell_ids()
    words = [STATUS_WORDS[status] for status in release.frame(truth=False)["status"].to_numpy()[order]]
    n = release.population.size
    top = float(max(np.max(estimates.ci_high[order], initial=1.0), np.max(truth[order], initial=1)))
    bars = [
        error_bar_svg(
            low=float(np.clip(estimates.ci_low[i], 0, n)),
            high=float(np.clip(estimates.ci_high[i], 0, n)),
            estimate=float(estimates.estimate[i]),
            truth=float(truth[i]),
            top=top,
            tokens=tokens,
        )
        for i in order
    ]
    return pd.DataFrame(
        {
            "rank": np.arange(1, len(order) + 1),
            "cell": [ids[i] for i in order],
            "bar": bars,
            "estimate": np.round(estimates.estimate[order]).astype(np.int64),
            "plus_minus": np.round((estimates.ci_high[order] - estimates.ci_low[order]) / 2).astype(np.int64),
            "truth": truth[order],
            "at_least": np.round(estimates.at_least[order]).astype(np.int64),
            "status": words,
        }
    )


def error_bar_svg(
    *, low: float, high: float, estimate: float, truth: float, top: float, tokens: Tokens
) -> str:
    """Return a data URI of one row's error bar: the interval, the estimate, and the truth as a tick."""

    def x(value: float) -> float:
        return round(_EDGE + (_WIDTH - 2 * _EDGE) * min(max(value / top, 0.0), 1.0), 1)

    middle = _HEIGHT / 2
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{_HEIGHT}">'
        f'<line x1="{_EDGE}" x2="{_WIDTH - _EDGE}" y1="{middle}" y2="{middle}" stroke="{tokens.grid}"/>'
        f'<line x1="{x(low)}" x2="{x(high)}" y1="{middle}" y2="{middle}" stroke="{tokens.accent}" '
        f'stroke-width="8" stroke-opacity="0.45" stroke-linecap="round"/>'
        f'<circle cx="{x(estimate)}" cy="{middle}" r="3" fill="{tokens.accent}"/>'
        f'<line x1="{x(truth)}" x2="{x(truth)}" y1="3" y2="{_HEIGHT - 3}" stroke="{tokens.text}" stroke-width="2"/>'
        "</svg>"
    )
    return "data:image/svg+xml;base64," + base64.b64encode(svg.encode()).decode()
