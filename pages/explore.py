"""Explore: truth, published estimate and error of one scenario, side by side."""

from ui.explore_parts import (
    data_flow,
    downloads,
    headline_and_map,
    pinned_cell,
    ranked_table,
)
from ui.library_strip import scenario_strip
from ui.scenario import get_settings, release_in_force, show_odds
from ui.tour import again
from ui.upload import own_file

scenario = get_settings()
own_file(scenario)
release = release_in_force(scenario)
show_odds(release.mechanism)
selected = headline_and_map(release)
scenario_strip()
pinned_cell(release, selected)
ranked_table(release)
data_flow(release)
downloads(release)
again()
