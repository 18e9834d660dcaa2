"""Library: scenarios to start from, scenarios saved, and any two of them side by side."""

import streamlit as st

from ui.library_parts import (
    answer,
    choose_pair,
    library_list,
    pair_downloads,
    pair_maps,
    pair_tables,
    run_pair,
    saved_list,
)
from ui.scenario import get_settings, release_in_force, show_odds

top = st.container()
pair = run_pair(choose_pair())
show_odds(release_in_force(get_settings()).mechanism)
if pair is None:
    top.html('<h1 class="headline">These two scenarios cannot be compared yet.</h1>')
else:
    top.html(answer(*pair))
    pair_maps(*pair)
    pair_tables(*pair)
    pair_downloads(*pair)
library_list()
saved_list()
