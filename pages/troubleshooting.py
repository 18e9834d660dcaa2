"""Troubleshooting: each failure of a local deployment, made to happen on this scenario, and mended."""

import streamlit as st

from ui.scenario import get_settings, release_in_force, show_odds
from ui.schedule import get_schedule
from ui.trouble_parts import all_figures, answer, cap, choose, redraw_chart, show, tell, who_sees

scenario, schedule = get_settings(), get_schedule()
top = st.container()
variant, on = choose()
release = release_in_force(scenario)
show_odds(release.mechanism)
story = tell(release, variant, schedule, on=on)
top.html(answer(story))
show(story, variant)
if variant.startswith("sparse"):
    redraw_chart(release)
if variant.startswith("loss"):
    cap(scenario, schedule)
if variant == "data":
    who_sees()
all_figures(story)
