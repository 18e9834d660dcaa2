"""The upper half of the Trade-offs page: the answer, its progress, the heat map, theory over dots, the front.

Everything here is drawn from what the sweep has found so far and drawn again while it goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from html import escape
from typing import Any, Final

import pandas as pd
import streamlit as st

from ldpcore.settings import Scenario
from ldpcore.sweep import Point
from ldpcore.top_list import TOP_LIST_ERROR
from ui.controls import heading
from ui.explore_parts import is_dark
from ui.headline import figures_html
from ui.link import remember_link, set_controls
from ui.number_words import unbroken
from ui.scenario import get_settings
from ui.tradeoff_charts import PICK, front_chart, heat_map, theory_lines
from ui.tradeoff_choices import LINES, choice_key, grid_controls, has_problem, line_names, problem_at
from ui.tradeoff_frames import csv_bytes, heat_frame, labels, line_frames, pareto_frame
from ui.tradeoff_words import MEASURES, answer, cards, seconds_words
from ui.tradeoff_work import State, Study, Work, cancel_work, get_work, go_on, line_axis

TICK_S: Final = 1.0
_PICKS: Final = "_tradeoff_picks"
_TAKEN: Final = "_tradeoff_taken"


def live(part: Callable[[], None], work: Work, *, ends: bool = False) -> None:
    """Draw a part, and again and again while the work goes on.

    Parameters
    ----------
    part
        Draws.
    work
        Looked in on.
    ends
        Whether this part has the whole page drawn again when a step of the work is done.
    """
    if not work.running:
        part()
        return
    begun, drawn = _phase(work), False

    def tick() -> None:
        nonlocal drawn
        work.look()
        # Never in a run of the whole page, which would end before the controls below are drawn and lose them.
        if drawn and (st.session_state.pop(_TAKEN, False) or (ends and _phase(work) != begun)):
            # The browser may have asked for this tick before it saw the newest link, which would then look like a step
            # back in its history.
            remember_link(get_settings())
            st.rerun()
        drawn = True
        part()

    st.fragment(tick, run_every=TICK_S)()


def top(study: Study, useful: float) -> None:
    """Write the answer and how far the work is."""
    work = get_work(study)
    st.session_state.pop(_TAKEN, None)  # this run of the whole page is what a taken point asked for

    def part() -> None:
        points = list(work.points.values())
        whole = len(points) == len(study.grid.points())
        sentence = answer(points, study.scenario, useful / 100, finished=whole)
        st.html(f'<h1 class="headline">{escape(unbroken(sentence))}</h1>')
        _progress(work)

    live(part, work, ends=True)


def _phase(work: Work) -> tuple[bool, bool]:
    """Return what decides which parts of the page can be drawn."""
    return work.running, sweep_done(work)


def sweep_done(work: Work) -> bool:
    """Return whether every combination of the sweep is there."""
    return len(work.points) == len(work.study.grid.points())


def _progress(work: Work) -> None:
    if work.failed is not None:
        st.error(work.failed)
    if work.running:
        left, right = st.columns([0.86, 0.14], vertical_alignment="center", gap="small")
        words = work.progress.step
        if time_left := seconds_words(work.progress.seconds_left):
            words += f", {time_left}"
        left.progress(min(max(work.progress.share, 0.0), 1.0), text=words)
        right.button("Cancel", key="tradeoff_cancel", on_click=cancel_work, width="stretch")
    elif work.state is State.CANCELLED:
        left, right = st.columns([0.86, 0.14], vertical_alignment="center", gap="small")
        left.html(
            f'<p class="quiet">Cancelled: {len(work.points)} of {len(work.study.grid.points())} combinations are '
            "there, and stay.</p>"
        )
        right.button("Go on", key="tradeoff_go_on", on_click=go_on, width="stretch")


def useful_control() -> None:
    """Draw the control that says from when on a map is useful, and which figure is drawn."""
    left, right = st.columns([0.62, 0.38], gap="medium", vertical_alignment="bottom")
    with left:
        st.selectbox(
            "Figure",
            list(MEASURES),
            format_func=lambda key: MEASURES[key].label,
            key=choice_key("figure"),
            help="What privacy is traded for, in the heat map and in the lines.",
        )
        problem_at("figure")
    with right:
        st.number_input(
            "A map is useful from (% of cells published)",
            min_value=0.1,
            max_value=100.0,
            step=5.0,
            format="%g",
            key=choice_key("useful"),
            help="What the sentence at the top asks for.",
        )
        problem_at("useful")


def heat(study: Study, figure: str, noun: str) -> None:
    """Draw the heat map, its table, and the list that makes a point the scenario."""
    work, measure = get_work(study), MEASURES[figure]

    def part() -> None:
        frame = heat_frame(list(work.points.values()), measure, study.scenario)
        if frame.empty:
            st.html('<p class="quiet">The first combinations are on their way.</p>')
            return
        unit = f", {noun}" if figure == "mean_absolute_error" else ""
        st.html(
            f'<p class="quiet"><b>{escape(measure.axis + unit)}</b>, mean of {study.grid.repeats} redraws. Stronger: '
            "more useful. Framed: the scenario now. Click a point to make it the scenario.</p>"
        )
        _picked_chart(
            heat_map(
                frame,
                measure,
                epsilons=study.grid.epsilons,
                resolutions=study.grid.resolutions,
                noun=noun,
                dark=is_dark(),
            ),
            "heat",
            alt=f"{measure.axis} for every ε and resolution tried; the table below holds the same.",
        )
        failed = frame[frame["error"].notna()]
        for reason, rows in failed.groupby("error"):
            places = ", ".join(
                f"ε = {row.epsilon:g} at resolution {row.resolution}" for row in rows.itertuples()
            )
            st.warning(f"Could not be run: {places}. {reason}")
        if work.current is not None and work.current.error is None:
            st.html(figures_html(cards(work.current, noun), map_version="tradeoffs"))
        _table("heat", frame, HEAT_COLUMNS, "tradeoffs_heat_map.csv")

    live(part, work)


HEAT_COLUMNS: Final = (
    "epsilon",
    "resolution",
    "cells",
    "value",
    "std_error",
    "spread",
    "theory",
    "redraws",
    "error",
)


def _picked_chart(chart: Any, name: str, *, alt: str) -> None:  # noqa: ANN401 - Altair's
    picks: dict[str, int] = st.session_state.setdefault(_PICKS, {})
    # A chart whose click was taken starts afresh: its selection would else stay on a point that is no longer news.
    key = f"tradeoff_{name}_{picks.get(name, 0)}"

    def taken() -> None:
        rows = st.session_state[key].selection.get(PICK) or []
        if rows and {"epsilon", "resolution"} <= set(rows[0]):
            picks[name] = picks.get(name, 0) + 1
            take_point(float(rows[0]["epsilon"]), int(rows[0]["resolution"]))

    st.altair_chart(chart, key=key, on_select=taken, selection_mode=PICK, theme=None, alt=alt)


def take_point(epsilon: float, resolution: int) -> None:
    """Make a point of the sweep the scenario; call from a callback."""
    set_controls(replace(get_settings(), epsilon=epsilon, resolution=resolution))
    st.session_state[_TAKEN] = True


def take_from_list(study: Study, scenario: Scenario) -> None:
    """Draw the list of points, for a keyboard: choosing one and pressing the button makes it the scenario."""
    points = [
        (epsilon, resolution) for resolution in study.grid.resolutions for epsilon in study.grid.epsilons
    ]
    left, right = st.columns([0.7, 0.3], gap="medium", vertical_alignment="bottom")
    with left:
        chosen = st.selectbox(
            "Make this the scenario",
            points,
            index=points.index((study.scenario.epsilon, study.scenario.resolution)),
            format_func=lambda point: f"ε = {point[0]:g}, resolution {point[1]}",
            key=f"tradeoff_list_{study.scenario.epsilon}_{study.scenario.resolution}",
            help="The same as a click on the heat map.",
        )
    same = chosen == (scenario.epsilon, scenario.resolution)
    right.button(
        "In use" if same else "Use this",
        key="tradeoff_take",
        disabled=same,
        on_click=partial(take_point, *chosen),
        width="stretch",
    )


def tried(scenario: Scenario) -> None:
    """Draw what the sweep tries, folded away."""
    # A sentence about the link must not be folded away.
    with st.expander(
        "What is tried", expanded=any(map(has_problem, ("try_epsilons", "try_resolutions", "redraws")))
    ):
        grid_controls(scenario)


def lines(study: Study, figure: str, noun: str) -> None:
    """Draw theory over the redraws against epsilon, one line a resolution, randomiser or number of devices."""
    heading("Theory and redraws")
    options = [name for name in LINES if name != "devices" or study.scenario.synthetic]
    st.segmented_control(
        "One line for each",
        options,
        format_func=LINES.__getitem__,
        key=choice_key("lines"),
        required=True,
        help="The other settings stay those of the scenario.",
    )
    problem_at("lines")
    work, measure, axis = get_work(study), MEASURES[figure], line_axis(study)

    def part() -> None:
        points = work.points if study.lines is None else work.line_points
        dots, curves = line_frames(list(points.values()), dict(work.theory), measure, axis)
        if dots.empty and curves.empty:
            st.html('<p class="quiet">Theory is on its way; the first redraws come after it.</p>')
            return
        bars = "the 95 % interval" if figure == "top_list_right" else "one standard deviation of a redraw"
        st.html(
            f'<p class="quiet">Line: theory{_theory_words(figure)}. Dot: mean of {study.grid.repeats} redraws; bar: {bars}. '
            f"Dashed: ε now.{_name_words(study)}</p>"
        )
        st.altair_chart(
            theory_lines(
                dots,
                curves,
                measure,
                chosen=getattr(study.scenario, axis),
                now=study.scenario.epsilon,
                names=line_names(study),
                noun=noun,
                dark=is_dark(),
            ),
            key="tradeoff_lines_chart",
            theme=None,
            alt=f"{measure.axis} against ε, theory and redraws; the table below holds the same.",
        )
        if study.lines is not None:
            _failures(points, axis)
        _table("lines", dots.rename(columns={"line": axis}), None, "tradeoffs_lines.csv")

    live(part, work)


def _name_words(study: Study) -> str:
    if study.lines is None:
        return f" r{study.scenario.resolution}: resolution {study.scenario.resolution}."
    return " Short names as on Which randomiser." if study.lines.mechanisms else ""


def _theory_words(figure: str) -> str:
    if figure == "top_list_right":
        return f", errors of cells taken as normal and independent (off by at most {100 * TOP_LIST_ERROR:g} points)"
    if figure in {"published", "published_share"}:
        return ", from the exact variance and the normal law, or the exact law where reports are few"
    return ", from the exact variance"


def _failures(points: Mapping[int, Point], axis: str) -> None:
    failed: dict[str, list[str]] = {}
    for point in list(points.values()):
        if point.error is not None:
            failed.setdefault(point.error, []).append(
                f"{point.settings[axis]} at ε = {point.settings['epsilon']:g}"
            )
    for reason, places in failed.items():
        st.warning(f"Could not be run: {', '.join(places)}. {reason}")


def front(study: Study, utility: str, noun: str) -> None:
    """Draw the front of privacy against usefulness."""
    heading("Privacy against usefulness (Pareto front)")
    st.selectbox(
        "Useful means",
        list(MEASURES),
        format_func=lambda key: MEASURES[key].label,
        key=choice_key("utility"),
        help="Every point of the heat map by this figure; finer grids have more cells to publish and more noise in each.",
    )
    problem_at("utility")
    work, measure = get_work(study), MEASURES[utility]

    def part() -> None:
        frame = pareto_frame(list(work.points.values()), measure, study.scenario)
        if frame.empty:
            st.html('<p class="quiet">The first combinations are on their way.</p>')
            return
        st.html(f'<p class="quiet">{escape(_front_words(frame))}</p>')
        _picked_chart(
            front_chart(frame, measure, noun=noun, dark=is_dark()),
            "front",
            alt=f"{measure.axis} against ε with the front; the table below holds the same.",
        )
        columns = ("epsilon", "resolution", "front", "value", "std_error", "theory", "redraws")
        ordered = frame.sort_values(["front", "epsilon"], ascending=[False, True])
        _table("front", ordered, columns, "tradeoffs_front.csv")

    live(part, work)


def _front_words(frame: pd.DataFrame) -> str:
    words = (
        "On the line nothing tried is both as private and more useful. Faint: something else is at least as good in both. "
        "Ringed: the scenario now. r7: resolution 7."
    )
    now = frame[frame["now"]]
    if now.empty or bool(now["front"].iloc[0]):
        return words
    epsilon = float(now["epsilon"].iloc[0])
    better = frame[frame["front"] & (frame["epsilon"] <= epsilon)].sort_values("epsilon").iloc[-1]
    return (
        f"{words} The scenario is beaten by ε = {better['epsilon']:g} at resolution {better['resolution']}: "
        f"{better['written']}."
    )


def _table(name: str, frame: pd.DataFrame, columns: tuple[str, ...] | None, file_name: str) -> None:
    """Draw a picture's table with its download."""
    shown = frame if columns is None else frame[list(columns)]
    with st.expander("The same as a table"):
        st.dataframe(
            shown.dropna(axis="columns", how="all"),
            hide_index=True,
            width="stretch",
            key=f"tradeoff_table_{name}",
            column_config=labels(shown),
        )
        st.download_button(
            "CSV",
            data=partial(csv_bytes, shown),
            file_name=file_name,
            mime="text/csv",
            on_click="ignore",
            key=f"tradeoff_csv_{name}",
        )
