"""Review: the evidence that a privacy reviewer signs, run now, in the user's words, or marked as not addressed."""

import streamlit as st

from ldpcore.errors import ParameterError, TripFileError
from ldpcore.review import compose
from ldpcore.review.facts import Facts
from ldpcore.scenario import scenario_mechanism
from ui.controls import note
from ui.pipeline import get_population
from ui.review_beside import choose_other, run_beside
from ui.review_parts import (
    apply_review_style,
    downloads,
    form_title,
    label,
    nothing_tried,
    repeats,
    sections,
    trust_picture,
    verdict,
)
from ui.review_run import RUN_KEY, choose_level, held_evidence, run_checks, was_stopped
from ui.scenario import complain, get_settings, show_odds
from ui.schedule import get_schedule
from ui.statements import get_statements, statement_form

scenario, schedule, statements = get_settings(), get_schedule(), get_statements()
apply_review_style()
try:
    show_odds(scenario_mechanism(scenario, get_population(scenario)))
except ParameterError as error:
    complain(error)
except TripFileError:
    pass  # the checks say it, where the file is asked for
top = st.container()
left, right = st.columns([0.6, 0.4], gap="medium", vertical_alignment="bottom")
with left:
    level = choose_level()
    other = choose_other()
evidence = held_evidence(scenario, schedule, level)
pair = None
with right:
    wanted = st.button(
        "Run the checks" if evidence is None else "Checks are done",
        key=RUN_KEY,
        type="primary",
        disabled=evidence is not None,
        width="stretch",
    )
with top:
    if evidence is None:
        nothing_tried(scenario, schedule)
    else:
        pair = run_beside(scenario, schedule, other)
        report = compose(evidence, statements=statements, beside=pair)
        verdict(report, evidence)
if was_stopped():
    note("The checks were stopped before they were done; nothing of them was kept.")
if wanted:
    run_checks(scenario, schedule, level)
trust_picture(shuffler="shuffler" in statements, memo=schedule.memo)
if evidence is not None:
    label(report)
    downloads(report, Facts(evidence, statements, pair).review_command, pair)
with st.expander(form_title(statements)):
    statement_form()
if evidence is not None:
    sections(report, evidence)
    repeats(report)
