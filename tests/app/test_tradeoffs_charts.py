"""The pictures of the Trade-offs page: all of them can be drawn from a whole sweep, a part of one, and one that failed."""

from __future__ import annotations

import pytest

from ldpcore.settings import Scenario
from ldpcore.sweep import Grid, Point, run_sweep
from ldpcore.sweep_figures import theory_figures
from ui.tradeoff_charts import front_chart, heat_map, theory_lines
from ui.tradeoff_frames import heat_frame, line_frames, pareto_frame
from ui.tradeoff_words import MEASURES

SCENARIO = Scenario(city="helsinki", devices=20_000, resolution=6, floor=50)
GRID = Grid(base=SCENARIO, epsilons=(0.1, 2.0), resolutions=(5, 6), repeats=2)


@pytest.fixture(scope="module")
def points() -> list[Point]:
    failed = Point({**dict(GRID.points()[3])}, error="k must be smaller.")
    return [*run_sweep(GRID)[:3], failed]


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("figure", MEASURES)
@pytest.mark.parametrize("many", [1, 2, 4])
def test_every_figure_can_be_drawn(points, figure: str, many: int, dark: bool) -> None:
    measure, some = MEASURES[figure], points[:many]
    frame = heat_frame(some, measure, SCENARIO)
    grid = {"epsilons": GRID.epsilons, "resolutions": GRID.resolutions}
    heat = heat_map(frame, measure, **grid, noun="devices", dark=dark).to_dict()
    # Combinations that are still to come keep their place.
    assert heat["layer"][0]["encoding"]["x"]["scale"]["domain"] == [0.1, 2.0]
    front = pareto_frame(some, measure, SCENARIO)
    assert len(front) == len(some) - (many == 4)
    front_chart(front, measure, noun="devices", dark=dark).to_dict()
    for theory in ({}, {5: [{"epsilon": 0.1, **_theory(5)}]}):
        dots, lines = line_frames(some, theory, measure, "resolution")
        chart = theory_lines(
            dots, lines, measure, chosen=6, now=2.0, names={5: "r5", 6: "r6"}, noun="devices", dark=dark
        )
        chart.to_dict()


def _theory(resolution: int) -> dict[str, float]:
    from dataclasses import replace

    from ldpcore.population import population_of

    scenario = replace(SCENARIO, epsilon=0.1, resolution=resolution)
    return theory_figures(scenario, population_of(scenario))


def test_the_strongest_colour_is_the_most_useful(points) -> None:
    for measure in MEASURES.values():
        frame = heat_frame(points[:3], measure, SCENARIO).sort_values("strength")
        values = frame["value"].tolist()
        assert values == sorted(values, reverse=not measure.more_is_better)
