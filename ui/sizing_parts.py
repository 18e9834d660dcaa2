"""The parts of the Sizing page, from the question to the formulas with its numbers in them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from html import escape
from typing import Any, Final

import altair as alt
import numpy as np
import pandas as pd
import streamlit as st

from ldpcore.errors import ParameterError
from ldpcore.mechanisms import MECHANISMS
from ldpcore.plain_numbers import plain, plain_percent
from ldpcore.population import Population
from ldpcore.settings import MAX_DEVICES, Scenario
from ldpcore.shapes import FloatArray
from ldpcore.sizing import Case, CityFit, Verdict, city_fit, size, solve_count, solve_epsilon
from ldpcore.trips.generate import cell_law
from ui.charts import themed
from ui.controls import heading, note
from ui.headline import Figure, figures_html
from ui.link import set_controls
from ui.number_words import percent, round_significant, thousands, unbroken
from ui.palettes import tokens as tokens_of
from ui.view_choice import keep_choice, number, open_choice, whole

DEFAULT_COUNT: Final = 500
DEFAULT_ERROR: Final = 20.0
ERROR_KEY, COUNT_KEY = "sizing_error", "sizing_count"


@dataclass(frozen=True, slots=True)
class Question:
    """What somebody wants to know, with its answer.

    Parameters
    ----------
    scenario
        The shared settings.
    case
        The same as a sizing case: a cell with the wanted count.
    verdict
        Its answer.
    fit
        How the case fares over the real distribution of devices, busiest cells first.
    noun
        What reports: ``"devices"`` or ``"trips"``.
    """

    scenario: Scenario
    case: Case
    verdict: Verdict
    fit: CityFit
    noun: str


def ask(scenario: Scenario, population: Population | None) -> Question:
    """Draw the verdict and the two controls of the page, which make a question with the shared scenario.

    Parameters
    ----------
    scenario
        The shared settings.
    population
        The values of a user's file; None for a bundled city, whose exact distribution is known.
    """
    top = st.container()
    heading("What must be known")
    open_choice(
        "count",
        COUNT_KEY,
        default=DEFAULT_COUNT,
        read=whole(1, MAX_DEVICES),
        must=f"a whole number from 1 to {thousands(MAX_DEVICES)}",
    )
    open_choice(
        "error",
        ERROR_KEY,
        default=DEFAULT_ERROR,
        read=number(0.1, 1000.0),
        must="a number from 0.1 to 1,000",
        used=f"{DEFAULT_ERROR:g}",
    )
    left, right = st.columns(2, gap="medium")
    with left:
        count = st.number_input(
            "Smallest count (devices in a cell)",
            min_value=1,
            max_value=MAX_DEVICES,
            step=50,
            key=COUNT_KEY,
            help="The least number of devices in an area that you need to be able to tell.",
        )
    with right:
        error = st.number_input(
            "Error you can live with (%)",
            min_value=0.1,
            max_value=1000.0,
            step=1.0,
            key=ERROR_KEY,
            format="%g",
            help="One standard error over the count. The 95 % error bar is twice as wide.",
        )
    keep_choice("count", count, DEFAULT_COUNT)
    keep_choice("error", error, DEFAULT_ERROR, write=lambda value: f"{value:g}")
    shares, devices = distribution(scenario, population)
    case = Case(
        devices=devices,
        cells=shares.size,
        epsilon=scenario.epsilon,
        target_error=error / 100,
        mechanism=scenario.mechanism,
        options=scenario.options,
        count=float(min(count, devices)),
    )
    noun = "devices" if population is None or population.unit == "device" else "trips"
    question = Question(scenario, case, size(case), city_fit_of(scenario, case, shares), noun)
    if count > devices:
        with top:
            _impossible(question, count)
    else:
        top.html(f'<h1 class="headline">{escape(unbroken(headline(question)))}</h1>')
    return question


def _impossible(question: Question, count: int) -> None:
    """Say that no cell can hold more devices than report, and offer what can be asked instead."""
    case, scenario, noun = question.case, question.scenario, question.noun
    st.html(f'<h1 class="headline">{escape(unbroken(impossible(question, count)))}</h1>')
    note(f"What follows asks for a cell of all {thousands(case.devices)}. {headline(question)}")
    left, right = st.columns(2, gap="small")
    left.button(
        f"Ask for a cell of {thousands(case.devices)}",
        key="sizing_use_all",
        on_click=lambda: _set(COUNT_KEY, case.devices),
        width="stretch",
    )
    enough = math.ceil(count * scenario.devices / case.devices)
    if scenario.synthetic and enough <= MAX_DEVICES:
        right.button(
            f"Raise the {noun} to {thousands(enough)}",
            key="sizing_use_enough",
            on_click=use_scenario(scenario, devices=enough),
            width="stretch",
        )


def impossible(question: Question, count: int) -> str:
    """Return in one sentence that fewer devices report than a cell is to hold, and what comes nearest."""
    devices, noun = thousands(question.case.devices), question.noun
    return f"No: a cell of {thousands(count)} cannot exist among {devices} {noun}; the nearest question is a cell of all {devices}."


def distribution(scenario: Scenario, population: Population | None) -> tuple[FloatArray, int]:
    """Return the share of the reporting devices in each cell, and how many report."""
    if population is not None:
        return population.true_counts / population.size, population.size
    assert scenario.city is not None  # noqa: S101 - a synthetic scenario has a city
    probabilities, share = _law(
        scenario.city, scenario.query, scenario.resolution, scenario.day or "weekday", scenario.hour
    )
    return probabilities, max(round(share * scenario.devices), 1)


@st.cache_resource(max_entries=64, show_spinner="Reading the city's distribution")
def _law(city: str, query: str, resolution: int, day: str, hour: int | None) -> tuple[FloatArray, float]:
    law = cell_law(city, query=query, resolution=resolution, day=day, hour=hour)
    return law.probabilities, law.share


def city_fit_of(scenario: Scenario, case: Case, shares: FloatArray) -> CityFit:
    """Return how a case fares over a distribution of devices, under the scenario's rules of publishing."""
    return city_fit(
        case,
        shares,
        floor=scenario.floor,
        confidence=scenario.confidence,
        correction=scenario.correction,
    )


def headline(question: Question) -> str:
    """Return the verdict in one sentence."""
    case, verdict = question.case, question.verdict
    what = (
        f"a cell of {thousands(case.target_count)} {question.noun} among {thousands(case.devices)} "
        f"{{}} to ±{100 * case.target_error:g} % at ε = {case.epsilon:g}"
    )
    if verdict.affordable:
        return f"Yes: {what.format('can be known')}; its error is ±{_percent(verdict.error)}."
    return f"No: {what.format('cannot be known')}; its error would be ±{_percent(verdict.error)}."


def figures(question: Question) -> None:
    """Draw the four figures and what decides."""
    verdict, fit, case = question.verdict, question.fit, question.case
    least = verdict.smallest_count
    needed = verdict.epsilon_needed
    shown = (
        Figure(
            "Error of such a cell",
            f"±{_percent(verdict.error)}",
            f"95 % error bar ±{_percent(1.96 * verdict.error)}",
            "One standard error over the count, from the exact variance.",
        ),
        Figure(
            f"Smallest count known to ±{100 * case.target_error:g} %",
            thousands(round_significant(least, 3)) if least <= case.devices else "none",
            question.noun if least <= case.devices else f"more than all {thousands(case.devices)}",
            "Cells with fewer have a larger relative error.",
        ),
        Figure(
            "Cells here known so well",
            f"{thousands(fit.cells_known)} of {thousands(fit.cells)}",
            f"they hold {percent(fit.share_known)} of the {question.noun}",
            "Over the real distribution, busiest cells first: cells with at least the wanted count and error.",
        ),
        Figure(
            "ε that would be enough",
            f"{_up(needed):g}" if needed is not None else "none",
            f"now {case.epsilon:g}" if needed is not None else "not even 20",
            "Smallest privacy loss at which such a cell is known to the target.",
        ),
    )
    st.html(figures_html(shown, map_version="sizing"))
    for reason in verdict.reasons[:2]:
        st.html(f'<p class="quiet">{escape(reason)}</p>')


def nearest_yes(question: Question) -> None:
    """Draw the nearest affordable cases, each with a button that makes it the scenario."""
    verdict, case, scenario = question.verdict, question.case, question.scenario
    heading("The nearest yes" if not verdict.affordable else "What else would do")
    rows: list[tuple[str, str, Callable[[], None] | None]] = []
    needed = verdict.epsilon_needed
    if needed is None:
        rows.append(("Privacy loss (ε)", "No ε up to 20 is enough with this randomiser.", None))
    else:
        epsilon = _up(needed)
        rows.append(
            (
                "Privacy loss (ε)",
                f"{epsilon:g} instead of {case.epsilon:g}",
                use_scenario(scenario, epsilon=epsilon),
            )
        )
    best = best_mechanism(case)
    if best is not None and best[0] != case.mechanism:
        name, epsilon = best
        rows.append(
            (
                "Randomiser (mechanism)",
                f"{MECHANISMS[name].label} needs the smallest ε of all: {epsilon:g}",
                use_scenario(scenario, mechanism=name, epsilon=epsilon, options=()),
            )
        )
    if verdict.smallest_count <= case.devices:
        least = math.ceil(verdict.smallest_count)
        rows.append(
            (
                "Smallest count",
                f"{thousands(least)} instead of {thousands(case.target_count)}",
                lambda: _set(COUNT_KEY, least),
            )
        )
    worst = math.ceil(1000 * verdict.error) / 10
    if worst <= 1000:
        rows.append(
            (
                "Error",
                f"±{worst:g} % instead of ±{100 * case.target_error:g} %",
                lambda: _set(ERROR_KEY, worst),
            )
        )
    more = (
        f"{thousands(verdict.devices_needed)} instead of {thousands(case.devices)}, if such a cell held the same share, "
        f"{plain_percent(case.share, 3)}, of them"
    )
    rows.append(("Devices", more, None))
    if 0 < verdict.devices_at_most < case.devices:
        rows.append(
            (
                "Fewer devices elsewhere",
                f"At most {thousands(verdict.devices_at_most)} devices in all, if the cell kept its count: a smaller area, "
                "or fewer phones asked outside it",
                None,
            )
        )
    for place, (name, change, use) in enumerate(rows):
        left, middle, right = st.columns([0.24, 0.6, 0.16], vertical_alignment="center", gap="small")
        left.markdown(f"**{name}**")
        middle.markdown(change)
        if use is not None:
            right.button("Use this", key=f"sizing_use_{place}", on_click=use, width="stretch")


def best_mechanism(case: Case) -> tuple[str, float] | None:
    """Return the randomiser that needs the smallest epsilon, and that epsilon rounded up; None where none is enough."""
    found = {}
    for name in MECHANISMS:
        try:
            needed = solve_epsilon(replace(case, mechanism=name, options=()))
        except ParameterError:
            continue  # its error depends on other cells, so no count alone decides
        if needed is not None:
            found[name] = needed
    if not found:
        return None
    own = found.get(case.mechanism, math.inf)
    name = min(found, key=lambda other: found[other])
    # A difference that rounding hides is no reason to change.
    if _up(own) <= _up(found[name]):
        name = case.mechanism
    return name, _up(found[name])


def trap(question: Question) -> None:
    """Draw the relative error against the number of devices, at a fixed count and at a fixed share."""
    case, noun = question.case, question.noun
    heading("More devices: better or worse?")
    st.markdown(
        f"At this same count of {thousands(case.target_count)}, more {noun} make the cell **worse**, because every report "
        f"adds noise. At the same share of {plain_percent(case.share, 3)} they make it **better**."
    )
    dark = st.context.theme.type == "dark"
    tokens = tokens_of(dark=dark)
    lines = trap_lines(case)
    base = alt.Chart(lines).encode(
        x=alt.X(
            "devices:Q",
            scale=alt.Scale(type="log"),
            title=f"{noun.capitalize()} that report",
            axis=alt.Axis(format="~s", tickCount=5, grid=False),
        ),
        y=alt.Y(
            "error:Q",
            scale=alt.Scale(type="log"),
            title="Relative error (one standard error)",
            axis=alt.Axis(format="~%", values=[0.001, 0.01, 0.1, 1, 10, 100]),
        ),
    )
    colour = alt.Color("held:N", legend=None, scale=alt.Scale(range=[tokens.quiet, tokens.accent]))
    line = base.mark_line(strokeWidth=2).encode(
        color=colour,
        tooltip=[
            alt.Tooltip("held:N", title="Held fixed"),
            alt.Tooltip("devices:Q", format=",.0f", title="Devices"),
            alt.Tooltip("error:Q", format=".1%", title="Relative error"),
        ],
    )
    # Each line is named at its upper end, away from the target.
    ends = lines.loc[lines.groupby("held")["error"].idxmax()].assign(
        left=lambda frame: frame["devices"] > frame["devices"].median()
    )
    # The page's own colour around the letters keeps the grid out of them.
    under_and_over: tuple[tuple[dict[str, Any], dict[str, Any]], ...] = (
        ({"stroke": tokens.page, "strokeWidth": 5, "color": tokens.page}, {}),
        ({}, {"color": colour}),
    )
    labels = [
        alt.Chart(ends[ends["left"] == left])
        .mark_text(align="right" if left else "left", dx=-10 if left else 10, dy=-9, **halo)
        .encode(x="devices:Q", y="error:Q", text="held:N", **colours)
        for left in (True, False)
        for halo, colours in under_and_over
    ]
    target = (
        alt.Chart(pd.DataFrame({"error": [case.target_error]}))
        .mark_rule(strokeDash=[4, 4], color=tokens.text)
        .encode(y="error:Q")
    )
    st.altair_chart(themed(alt.layer(line, target, *labels), tokens, height=240), width="stretch", theme=None)
    with st.expander("The same as a table"):
        st.dataframe(lines, hide_index=True, width="stretch")


def trap_lines(case: Case) -> pd.DataFrame:
    """Return the relative error over a range of devices, with the count or the share held fixed."""
    mechanism = case.randomiser()
    empty, slope = mechanism.variance_empty or 0.0, mechanism.variance_slope or 0.0
    devices = np.geomspace(max(case.devices / 100, case.target_count), case.devices * 100, 41)
    rows = []
    for held, counts in (
        ("same count", np.full(devices.size, case.target_count)),
        ("same share", case.share * devices),
    ):
        error = np.sqrt(np.maximum(devices * empty + counts * slope, 0.0)) / counts
        rows.append(pd.DataFrame({"held": held, "devices": devices.round(), "error": error}))
    return pd.concat(rows, ignore_index=True)


def formulas(question: Question) -> None:
    """Draw the formulas with this question's numbers in them."""
    case, verdict = question.case, question.verdict
    mechanism = case.randomiser()
    empty, slope = mechanism.variance_empty or 0.0, mechanism.variance_slope or 0.0
    count, n = case.target_count, case.devices
    with st.expander("The formulas with these numbers"):
        st.markdown(
            f"For {mechanism.label} at ε = {case.epsilon:g} over {thousands(case.cells)} cells, one {question.noun[:-1]} adds "
            f"a variance of V₀ = {plain(empty, 5)} to a cell it is not in, and V₀ + V₁ with V₁ = {plain(slope, 5)} to its own."
        )
        st.latex(
            rf"\frac{{\sqrt{{n V_0 + c V_1}}}}{{c}} = \frac{{\sqrt{{{n:,} \times {empty:.5g} + {count:,.0f} \times "
            rf"{slope:.5g}}}}}{{{count:,.0f}}} = {verdict.error:.4g}"
        )
        st.latex(
            r"c_{\min} = \frac{V_1 + \sqrt{V_1^2 + 4 n \rho^2 V_0}}{2 \rho^2}"
            rf" = {solve_count(case):,.1f} \quad (\rho = {case.target_error:g})"
        )
        st.latex(
            r"n_{\min} = \frac{V_0 + \sigma V_1}{\rho^2 \sigma^2}"
            rf" = {verdict.devices_needed:,} \quad (\sigma = c / n = {case.share:.4g})"
        )


def use_scenario(scenario: Scenario, **changes: Any) -> Callable[[], None]:  # noqa: ANN401 - any setting
    """Return a callback that makes a changed scenario the one in force."""
    return lambda: set_controls(replace(scenario, **changes))


def _set(key: str, value: float) -> None:
    st.session_state[key] = value


def _up(epsilon: float) -> float:
    """Round up to two places, so that what is read is really enough."""
    return min(math.ceil(epsilon * 100 - 1e-9) / 100, 20.0)


def _percent(error: float) -> str:
    return f"{100 * error:,.0f} %" if error >= 0.1 else f"{plain(100 * error, 2)} %"
