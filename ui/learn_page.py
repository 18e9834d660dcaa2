"""Which function draws which step, and the scenario they all draw."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from ldpcore.lesson import LessonScenario, lesson_scenario
from ldpcore.settings import Scenario
from ui.learn_crowd import crowd, way_back
from ui.learn_error import error_bar, finer_grid
from ui.learn_limits import limits, tomorrow
from ui.learn_link import Place
from ui.learn_phone import coin, grid_report
from ui.learn_steps import Draw
from ui.pipeline import get_release
from ui.scenario import show_odds

__all__ = ["STEPS_DRAWN", "lesson"]

STEPS_DRAWN: Final[Mapping[int, Draw]] = MappingProxyType(
    {
        1: coin,
        2: grid_report,
        3: crowd,
        4: way_back,
        5: error_bar,
        6: finer_grid,
        7: tomorrow,
        8: limits,
    }
)


def lesson(scenario: Scenario, place: Place) -> LessonScenario:
    """Return the scenario the steps draw, and write its odds under the epsilon slider."""
    taught = lesson_scenario(scenario, place.class_seed)
    show_odds(get_release(taught.scenario).mechanism)
    return taught
