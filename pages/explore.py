"""Explore: truth, published estimate and error of one scenario, side by side."""

import streamlit as st

from ldpcore.errors import ParameterError, TripFileError
from ui.explore_parts import (
    data_flow,
    downloads,
    headline_and_map,
    pinned_cell,
    ranked_table,
)
from ui.pipeline import get_release
from ui.scenario import complain, get_settings, show_odds
from ui.upload import own_file

scenario = get_settings()
try:
    own_file(scenario)
    release = get_release(scenario)
except (ParameterError, TripFileError) as error:
    complain(error)
    st.stop()
show_odds(release.mechanism)
selected = headline_and_map(release)
pinned_cell(release, selected)
ranked_table(release)
data_flow(release)
downloads(release)
