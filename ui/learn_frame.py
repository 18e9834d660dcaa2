"""The frame of the lesson: list of steps, thread of processes, question, next and back, class, glossary."""

from __future__ import annotations

from html import escape
from typing import Final
from urllib.parse import urlencode

import streamlit as st

from ldpcore.errors import ParameterError
from ldpcore.lesson import CLASS_SEEDS, checked_class_seed
from ldpcore.lesson_sheet import Facts, facts_of
from ldpcore.settings import Scenario
from ui.controls import note
from ui.glossary import glossary_html
from ui.learn_link import Place, go_to
from ui.learn_sheets import exercise_sheet, teachers_notes
from ui.learn_steps import PROCESSES, STEPS, WHERE, Question, Step
from ui.link import link_params
from ui.number_words import unbroken
from ui.pipeline import get_release
from ui.scenario import get_settings

_ANSWERS: Final = "_learn_answers"
_SHOWN: Final = "_learn_shown"
_CLASS_ERROR: Final = "_learn_class_error"
EXAMPLE_SEED: Final = 1234


def opening(place: Place, changes: tuple[str, ...]) -> Step:
    """Draw the list of steps and the thread, and say what of the link or the scenario was changed."""
    step = STEPS[place.step - 1]
    _back_to_top(step)
    for problem in place.problems:
        st.warning(problem)
    st.session_state["learn_step"] = step.number

    def take() -> None:
        go_to(st.session_state["learn_step"])

    st.segmented_control(
        "Steps of the lesson",
        [entry.number for entry in STEPS],
        format_func=lambda number: f"{number} {STEPS[number - 1].short}",
        key="learn_step",
        on_change=take,
        required=True,
        label_visibility="collapsed",
    )
    st.html(_thread(step))
    if place.class_seed is not None:
        note(
            f"Class {place.class_seed}: everybody with this link and the settings in it sees the same map and the same "
            "numbers. The class number stands in for the seed and the redraw of the sidebar."
        )
    for change in changes:
        note(change)
    return step


def _thread(step: Step) -> str:
    items = "".join(
        f"<li{' class=on' if number in step.processes else ''}><b>{name}</b> <span>{where}</span>"
        f"{'<span class=sr-only>, this step</span>' if number in step.processes else ''}</li>"
        for number, (name, where) in enumerate(zip(PROCESSES, WHERE, strict=True))
    )
    return f'<ol class="thread" aria-label="The four processes, those of this step marked">{items}</ol>'


def headline(step: Step, sentence: str) -> None:
    """Draw the step's name, its one sentence with numbers, and its idea."""
    st.html(
        f'<p class="step-name">Step {step.number} of {len(STEPS)}: {escape(step.title)}</p>'
        f'<h1 class="headline" tabindex="-1">{escape(unbroken(sentence))}</h1><p class="idea">{escape(step.idea)}</p>'
    )


def _back_to_top(step: Step) -> None:
    """Show a new step from its beginning: Streamlit keeps the page where the button was."""
    before = st.session_state.get(_SHOWN)
    st.session_state[_SHOWN] = step.number
    moved = before is not None and before != step.number
    count = st.session_state.get("_learn_moves", 0) + moved
    st.session_state["_learn_moves"] = count
    if count:
        st.html(
            f"<script>/* move {count} */ document.querySelector('[data-testid=stMain]')?.scrollTo(0, 0); "
            "document.querySelector('h1.headline')?.focus({preventScroll: true});</script>",
            unsafe_allow_javascript=True,
        )


def ask(question: Question, place: Place) -> None:
    """Draw the question; after a choice, whether it is right and why, unless the class hides answers."""
    answers: dict[int, int] = st.session_state.setdefault(_ANSWERS, {})
    key = f"learn_answer_{place.step}"
    st.session_state[key] = answers.get(place.step)

    def take() -> None:
        chosen = st.session_state[key]
        if chosen is not None:
            answers[place.step] = chosen

    with st.container(border=True):
        st.html(f'<h2 class="question">Question {place.step}</h2>')
        chosen = st.radio(
            question.text,
            range(len(question.choices)),
            format_func=lambda number: question.choices[number].text,
            key=key,
            on_change=take,
        )
        if chosen is None:
            return
        if not place.spoilers:
            note(
                "Your choice is kept. Answers are off in this link; they show once your teacher turns them on."
            )
            return
        choice = question.choices[chosen]
        verdict = "Right." if choice.right else "Not quite."
        st.html(
            f'<p class="answer" role="status"><b>{verdict}</b> {escape(choice.why)}'
            + (
                ""
                if choice.right
                else f" The answer: {escape(question.answer.text)} {escape(question.answer.why)}"
            )
            + "</p>"
        )


def onward(step: Step) -> None:
    """Draw back and next."""
    left, right = st.columns(2, gap="small")
    if step.number > 1:
        before = STEPS[step.number - 2]
        left.button(
            f"Back: {before.title}", key="learn_back", on_click=go_to, args=(before.number,), width="stretch"
        )
    if step.number < len(STEPS):
        after = STEPS[step.number]
        right.button(
            f"Next: {after.title}",
            key="learn_next",
            type="primary",
            on_click=go_to,
            args=(after.number,),
            width="stretch",
        )
    else:
        right.page_link("pages/explore.py", label="Go on to Explore", width="stretch")


def for_classes(place: Place, scenario: Scenario) -> None:
    """Draw what a teacher needs: the class link, answers on or off, notes and the exercise sheet."""
    panel = st.expander("For classes", key="open_class", on_change="rerun")
    if not panel.open:
        return
    with panel:
        st.markdown(
            "One number in the link makes everybody's coins the same, so a class talks about one map. Send the link "
            "below; it carries the settings of the sidebar too."
        )
        _class_controls(place)
        base = (st.context.url or "").split("?")[0]
        params = link_params(get_settings())
        if place.class_seed is not None:
            params = {name: value for name, value in params.items() if name not in {"seed", "draw"}}
        st.code(base + "?" + urlencode(params), language=None, wrap_lines=True)

        def facts() -> Facts:
            return facts_of(get_release(scenario), class_seed=place.class_seed)

        notes, sheet, solved = st.columns(3, gap="small")
        notes.download_button(
            "Teacher's notes",
            data=lambda: teachers_notes(facts()).encode(),
            file_name="ldp-atlas-teachers-notes.html",
            mime="text/html",
            on_click="ignore",
            width="stretch",
            disabled=not place.spoilers,
            help="With all answers; turn answers on to download them.",
        )
        sheet.download_button(
            "Exercise sheet",
            data=lambda: exercise_sheet(facts(), solutions=False).encode(),
            file_name="ldp-atlas-exercises.html",
            mime="text/html",
            on_click="ignore",
            width="stretch",
        )
        solved.download_button(
            "Sheet with solutions",
            data=lambda: exercise_sheet(facts(), solutions=True).encode(),
            file_name="ldp-atlas-exercises-solutions.html",
            mime="text/html",
            on_click="ignore",
            width="stretch",
            disabled=not place.spoilers,
        )
        note(
            "The files open in any browser and print on A4 or Letter. Their numbers are computed now, by the same code "
            "as the page, from the settings in the link."
        )


def _class_controls(place: Place) -> None:
    low, high = CLASS_SEEDS
    left, right = st.columns(2, gap="medium", vertical_alignment="center")
    st.session_state["learn_class"] = place.class_seed

    def take_class() -> None:
        chosen = st.session_state["learn_class"]
        st.session_state.pop(_CLASS_ERROR, None)
        try:
            st.session_state["view_class"] = "" if chosen is None else str(checked_class_seed(str(chosen)))
        except ParameterError as error:
            st.session_state[_CLASS_ERROR] = str(error)

    with left:
        st.number_input(
            f"Class number ({low} to {high:,})",
            value=None,
            step=1,
            key="learn_class",
            on_change=take_class,
            placeholder=f"none; {EXAMPLE_SEED} for instance",
            help="The seed of everybody's coins; empty, each reader's own.",
        )
    if problem := st.session_state.get(_CLASS_ERROR):
        st.error(problem)
    st.session_state["learn_spoilers"] = not place.spoilers

    def take_spoilers() -> None:
        st.session_state["view_spoilers"] = "0" if st.session_state["learn_spoilers"] else ""

    with right:
        st.toggle(
            "Hide the answers",
            key="learn_spoilers",
            on_change=take_spoilers,
            help="Whoever opens the link sees questions without their answers. It is a courtesy, not a lock.",
        )


def _step_link(step: int) -> str:
    """Return the link to a step that keeps the scenario in force, relative to any page."""
    return "learn?" + urlencode({**link_params(get_settings()), "step": str(step)})


def glossary() -> None:
    """Draw all words at the foot of the page."""
    panel = st.expander("Glossary", key="open_glossary", on_change="rerun")
    if panel.open:
        panel.html(glossary_html(_step_link))
