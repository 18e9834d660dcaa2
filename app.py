"""The frame of the dashboard: page settings, navigation, the shared controls, then the page."""

import streamlit as st

from ui.frame import apply_style, page_icon
from ui.learn_link import place
from ui.link import remember_link, start_session
from ui.scenario import scenario_controls, unit_of
from ui.schedule import get_schedule, standing_line

st.set_page_config(page_title="LDP Atlas", page_icon=page_icon(), layout="wide", initial_sidebar_state="auto")
apply_style()
problems = start_session()
page = st.navigation(
    {
        "Decide": [
            st.Page("pages/explore.py", title="What can be published?", url_path="explore", default=True),
            st.Page("pages/tradeoffs.py", title="What does privacy cost here?", url_path="tradeoffs"),
            st.Page("pages/fallback.py", title="What if a cell is too small?", url_path="fallback"),
            st.Page("pages/sizing.py", title="Can LDP work here?", url_path="sizing"),
            st.Page("pages/mechanisms.py", title="Which randomiser?", url_path="mechanisms"),
            st.Page("pages/library.py", title="Which of two scenarios?", url_path="library"),
        ],
        "Learn": [
            st.Page("pages/learn.py", title="How does it work?", url_path="learn"),
            st.Page("pages/device.py", title="What does a week of reports give away?", url_path="device"),
        ],
        "Review": [
            st.Page("pages/review.py", title="What would a reviewer sign?", url_path="review"),
            st.Page("pages/troubleshooting.py", title="What went wrong?", url_path="troubleshooting"),
        ],
    },
    position="top",
)
scenario = scenario_controls()
# A class draws from its own number: two pupils with different seeds in their links see one page.
class_seed = place().class_seed if page.url_path == "learn" else None
st.html(standing_line(scenario, get_schedule(), unit=unit_of(scenario), class_seed=class_seed))
for problem in problems:
    st.warning(problem)
page.run()
remember_link(scenario)
