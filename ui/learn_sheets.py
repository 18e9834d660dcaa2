"""The teacher's notes and the exercise sheet as files that any browser opens and prints."""

from __future__ import annotations

from html import escape
from typing import Final

from ldpcore.lesson_sheet import REPEATS, Exercise, Facts, exercises
from ui.learn_steps import PROCESSES, STEPS
from ui.number_words import thousands

__all__ = ["Facts", "exercise_sheet", "teachers_notes"]

_STYLE: Final = """
@page { margin: 18mm 16mm; }
body { font: 11pt/1.45 "Source Sans 3", "Source Sans Pro", "Segoe UI", Arial, sans-serif; color: #1B2733; max-width: 46rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 18pt; margin: 0 0 4pt; } h2 { font-size: 13pt; margin: 16pt 0 4pt; } p { margin: 4pt 0; }
.small { font-size: 9.5pt; color: #5C6B78; } .task { break-inside: avoid; margin: 12pt 0; }
.room { height: 64pt; border-bottom: 1px solid #C3C7BD; } .solution { border-left: 3px solid #0B6E6E; padding-left: 8pt; margin-top: 4pt; }
table { border-collapse: collapse; width: 100%; font-size: 10pt; } th, td { text-align: left; padding: 3pt 6pt; border-bottom: 1px solid #C3C7BD; vertical-align: top; }
td.number { white-space: nowrap; }
@media print { body { margin: 0; max-width: none; } }
"""

MINUTES: Final = (8, 7, 6, 8, 10, 6, 8, 7)
"""How long each step takes in a class that talks; an hour in all."""

_NOTES: Final = (
    (
        "Let everybody toss a real coin first: heads, answer truly; tails, answer by a second toss. Then open the step "
        "and raise ε.",
        "“The answers are useless, because they may be lies.” One is; a thousand are not.",
    ),
    (
        "Let each student put the phone on another cell and read the report aloud: how many marks, and is the own one "
        "among them? In a class link all see the replica; the real client differs each time.",
        "“The mark that is set most is the true one.” Every mark is set once or not at all.",
    ),
    (
        "Ask for a guess before moving the slider: will more phones make empty cells look empty?",
        "“With enough phones the noise cancels out.” The part that chance adds does not cancel; it grows with n.",
    ),
    (
        "Derive it on the board: what comes from the c phones in the cell, what from the n − c others. Then let students "
        "put in the numbers of their own cell.",
        "“The inversion uses up privacy.” It reads what the server has already.",
    ),
    (
        "Play the redraws and have the class count the error bars that miss. Then set negative estimates to zero and read "
        "the bias together.",
        "“A negative count is a bug.” It is the price of being right on average.",
    ),
    (
        "Ask what an analyst gains by smaller cells, then compare the share of published cells.",
        "“More cells mean more noise.” Not in a cell, with marks on a list; the count shrinks under the noise.",
    ),
    (
        "Play ten days with fresh coins, then with memory. Ask what an observer still sees with memory: that the place "
        "did not change.",
        "“ε = 2 a day is ε = 2.” It is ε = 2 for each fresh report.",
    ),
    (
        "Move the belief before. The factor stays, the belief does not. Then ask who in the room would notice a hundred "
        "forged phones.",
        "“Differential privacy keeps secrets.” It bounds how much one report changes odds.",
    ),
)


def teachers_notes(facts: Facts) -> str:
    """Return the teacher's notes as one HTML file with the numbers of the class's own link."""
    rows = "".join(
        f"<tr><td class=number>{step.number}</td><td>{escape(step.title)}<br><span class=small>"
        f"{escape(', '.join(PROCESSES[place] for place in step.processes))}</span></td>"
        f"<td class=number>{minutes} min</td><td>{escape(number)}</td></tr>"
        for step, minutes, number in zip(STEPS, MINUTES, _numbers(facts), strict=True)
    )
    parts = "".join(
        f"<section class=task><h2>Step {step.number}. {escape(step.title)}</h2><p>{escape(step.idea)}</p>"
        f"<p><b>Do.</b> {escape(do)}</p><p><b>Expect to hear.</b> {escape(hear)}</p>"
        + "".join(
            f"<p class=solution><b>Exercise {number}.</b> {escape(exercise.solution)}</p>"
            for number, exercise in enumerate(exercises(facts), 1)
            if exercise.step == step.number
        )
        + "</section>"
        for step, (do, hear) in zip(STEPS, _NOTES, strict=True)
    )
    body = (
        f"<h1>Teacher's notes</h1>{_origin(facts)}"
        "<p>Eight steps, about an hour. Send the class link with answers off, let students choose, talk, then turn answers "
        "on. After it they can say why raw counts mislead, why estimates can be negative, what epsilon promises, what a "
        "finer grid costs and what repeated reports cost.</p>"
        f"<table><tr><th>Step</th><th>What</th><th>Time</th><th>The number to look for</th></tr>{rows}</table>{parts}"
    )
    return _page("Teacher's notes", body)


def _numbers(facts: Facts) -> tuple[str, ...]:
    example, coarse, fine = facts.example, *facts.grids
    return (
        f"{100 * facts.coin:.0f} of 100 phones answer truly; odds change by at most {facts.odds:.3g}",
        f"A report points to about {example.p + (facts.busy.cells - 1) * example.q:.0f} of {facts.busy.cells} cells",
        f"An empty cell has about {thousands(example.by_chance)} raw counts of {thousands(example.reports)} phones",
        f"{facts.example_cell}: {thousands(example.estimate)} ±{thousands(example.std_error)} devices, "
        f"truth {thousands(example.truth)}",
        f"An empty cell: ±{thousands(facts.empty_error)} devices; clamping adds {thousands(facts.clamped)}",
        f"Relative error of a mean cell: ±{100 * coarse.relative_error:.3g} % at resolution {coarse.resolution}, "
        f"±{100 * fine.relative_error:.3g} % at {fine.resolution}",
        "Named right after "
        + ", ".join(f"{reports}: {chance:.3f}" for reports, chance in zip(REPEATS, facts.named, strict=True)),
        f"Home after a report of home: {100 * facts.beliefs[0]:.0f} % from 1 in 10, {100 * facts.beliefs[1]:.0f} % from "
        "1 in 2",
    )


def exercise_sheet(facts: Facts, *, solutions: bool) -> str:
    """Return the exercise sheet as one HTML file, with room to write or with the solutions."""
    parts = "".join(
        _exercise(number, exercise, solutions) for number, exercise in enumerate(exercises(facts), 1)
    )
    title = "Exercises with solutions" if solutions else "Exercises"
    body = (
        f"<h1>{title}: local differential privacy on a map</h1>{_origin(facts)}"
        f"<p>n phones report; p and q are the chances that a phone in a cell, and one elsewhere, points to it; C reports "
        f"point to a cell. Here n = {facts.example.reports:,}, p = {facts.example.p:.6f}, q = {facts.example.q:.6f}.</p>"
        f"{parts}"
    )
    return _page(title, body)


def _exercise(number: int, exercise: Exercise, solutions: bool) -> str:
    end = f'<p class="solution">{escape(exercise.solution)}</p>' if solutions else '<div class="room"></div>'
    return (
        f'<section class="task"><h2>{number}. <span class="small">Step {exercise.step}</span></h2>'
        f"<p>{escape(exercise.task)}</p>{end}</section>"
    )


def _origin(facts: Facts) -> str:
    scenario = facts.scenario
    seed = f"class {facts.class_seed}" if facts.class_seed is not None else f"seed {scenario.seed}"
    return (
        f'<p class="small">LDP Atlas. {escape(facts.place)}, synthetic trips, {facts.example.reports:,} devices, '
        f"resolution {scenario.resolution} with {facts.busy.cells:,} cells, {escape(scenario.mechanism)}, "
        f"ε = {scenario.epsilon:g}, {seed}, redraw {scenario.draw}.</p>"
    )


def _page(title: str, body: str) -> str:
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" '
        f'content="width=device-width, initial-scale=1"><title>{escape(title)}</title><style>{_STYLE}</style></head>'
        f"<body>{body}</body></html>\n"
    )
