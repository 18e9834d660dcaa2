"""Another scenario beside the one under review: which, kept in the link, and the runs of both."""

from __future__ import annotations

from typing import Final

import streamlit as st

from ldpcore.errors import ParameterError, TripFileError
from ldpcore.review import Beside, Other
from ldpcore.review.other import ANY_FILE, run_both
from ldpcore.scenario_file import ScenarioFile
from ldpcore.schedule import Schedule
from ldpcore.settings import Scenario
from ui.library_store import CURRENT, choices, from_token, saved
from ui.library_words import literal
from ui.pipeline import get_figures, get_population, get_release

NONE: Final = ""
_KEY: Final = "review_beside"
_VIEW: Final = "view_beside"
_SEEN: Final = "_review_beside_seen"
_LIBRARY: Final = "library."


def choose_other() -> Other | None:
    """Draw the choice of the other scenario, which the link carries; None where the report stands alone."""
    state = st.session_state
    options: dict[str, ScenarioFile] = {token: file for token, file in choices().items() if token != CURRENT}
    linked = state.get(_VIEW) or NONE
    if state.get(_SEEN) != linked:
        state[_KEY] = linked  # the link of the address bar, at first or after going back
    token = state.get(_KEY, linked)
    problems: list[str] = []
    if token != NONE and token not in options:
        file, problems = from_token(token)
        if file is None:
            token = NONE
        else:
            options[token] = file
    state[_KEY] = token
    words = {NONE: "None", **{option: _words(option, file) for option, file in options.items()}}
    st.selectbox(
        "Beside which scenario?",
        list(words),
        format_func=words.__getitem__,
        key=_KEY,
        help="The report gets a section that sets the two side by side: settings, promise and use. The checks stay those of this scenario.",
    )
    for problem in problems:
        st.warning(literal(problem))
    chosen: str = state[_KEY]
    state[_VIEW] = state[_SEEN] = chosen
    if chosen == NONE:
        return None
    return Other(options[chosen], chosen.removeprefix(_LIBRARY) if chosen.startswith(_LIBRARY) else ANY_FILE)


def _words(token: str, file: ScenarioFile) -> str:
    if token.startswith(_LIBRARY):
        return f"{file.name} (library)"
    return f"{file.name} (saved)" if file.name in saved() else f"{file.name} (from the link)"


def run_beside(scenario: Scenario, schedule: Schedule, other: Other | None) -> Beside | None:
    """Run both scenarios; None where there is no other or it can't be run, with the reason on the page."""
    if other is None:
        return None
    try:
        with st.spinner("Drawing both scenarios again and again"):
            return run_both(
                scenario,
                schedule,
                other,
                release_of=get_release,
                population_of=get_population,
                figures_of=get_figures,
            )
    except (ParameterError, TripFileError) as error:
        st.error(f"{literal(other.file.name)}: {literal(str(error))}")
        return None
