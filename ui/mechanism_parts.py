"""The parts of the Mechanisms page, from the sentence at the top to the download."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from html import escape
from types import MappingProxyType
from typing import Final

import numpy as np
import pandas as pd
import streamlit as st

from ldpcore.advice import Wishes, advise
from ldpcore.comparison import LIMIT_REFERENCE, Comparison, compare_mechanisms, error_curve, limit_error
from ldpcore.device.wire import make_client
from ldpcore.errors import ParameterError
from ldpcore.population import Population
from ldpcore.settings import Scenario
from ldpcore.shapes import FloatArray
from ldpcore.timing import Times, machine_name, measure
from ui.controls import note
from ui.explore_parts import is_dark
from ui.headline import figures_html
from ui.mechanism_charts import curve_chart, error_rows
from ui.mechanism_table import column_config, rounded, table_csv, table_frame
from ui.mechanism_words import answer, four_figures
from ui.number_words import round_significant, thousands, unbroken
from ui.pipeline import get_measured_errors
from ui.scenario import complain, use_mechanism
from ui.view_choice import linked_choice, one_of, say_problem

REDRAWS: Final = 20
AT_ONCE_CELLS: Final = 3_000
"""Cells up to which redraws are made without asking; above, they take more than a few seconds together."""

EPSILONS: Final = np.geomspace(0.1, 10.0, 41)
TABLE_EPSILONS: Final = (0.1, 0.2, 0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 10.0)
LARGEST_REPORTS: Final[Mapping[str, str]] = MappingProxyType(
    {"": "any number of bytes", **{str(size): f"{size:,} bytes" for size in (4, 16, 128, 1024, 16_384)}}
)
SERVER_TIMES: Final[Mapping[str, str]] = MappingProxyType(
    {"": "any time", "1": "1 second", "60": "1 minute", "3600": "1 hour"}
)
PREFERENCES: Final[Mapping[str, str]] = MappingProxyType(
    {"": "the shortest report", "server": "the quickest server"}
)
ORDER: Final = (
    "randomiser",
    "name",
    "error_typical",
    "measured_mean",
    "measured_low",
    "measured_high",
    "error_empty",
    "error_busiest",
    "devices_for_the_same",
    "report_bytes",
    "report_bits",
    "guess_success",
    "epsilon_effective",
    "device_us",
    "server_us",
    "p",
    "q",
    "variance_empty",
    "variance_slope",
    "guess_how",
    "chosen",
)

_DOTS: Final = "_dots"
_WANTED: Final = "measure_redraws"
_TIMES: Final = "_mechanism_times"


def usable(scenario: Scenario, population: Population) -> tuple[Scenario, Comparison]:
    """Return the comparison at the scenario's settings, and the scenario it is about.

    Impossible options of its randomiser are answered at their control; the page goes on with the best ones.
    """
    compare = partial(
        compare_mechanisms,
        population.true_counts,
        epsilon=scenario.epsilon,
        chosen=scenario.mechanism,
        unit=population.unit,
    )
    try:
        return scenario, compare(options=dict(scenario.options))
    except ParameterError as error:
        complain(error)
        st.info(f"{error} What follows is with the options that suit it best.")
        return replace(scenario, options=()), compare()


def headline(comparison: Comparison) -> None:
    """Write the answer."""
    st.html(f'<h1 class="headline">{escape(unbroken(answer(comparison)))}</h1>')


def picture(comparison: Comparison, scenario: Scenario) -> None:
    """Draw all errors, theory and the redraws there are, and the chosen randomiser's four figures."""
    measured = known_redraws(scenario)
    st.altair_chart(error_rows(comparison, measured, dark=is_dark()), key="errors")
    first = _first_redraw(scenario)
    if measured:
        dots = (
            f"Dots: {REDRAWS} redraws of the devices' coins, same trips, as Explore draws them (redraws {first} to "
            f"{first + REDRAWS - 1} of seed {scenario.seed})."
        )
    else:
        dots = "Dots: redraws of the devices' coins, none made yet."
    st.html(
        f'<p class="quiet">Tick: theory. {dots} First row: the least that any randomiser of this ε can have in '
        f"the worst case, with many devices ({escape(LIMIT_REFERENCE)}).</p>"
    )
    if not measured and comparison.cells > AT_ONCE_CELLS:
        st.button(
            f"Measure {REDRAWS} redraws",
            key=_WANTED,
            help=f"{REDRAWS} draws of every randomiser take a while with {thousands(comparison.cells)} cells.",
        )
    st.html(figures_html(four_figures(comparison), map_version=""))


def known_redraws(scenario: Scenario) -> Mapping[str, tuple[float, ...]]:
    """Return the typical errors of the redraws made for this scenario, by name; none before they are made."""
    key, measured = st.session_state.get(_DOTS, (None, {}))
    found: Mapping[str, tuple[float, ...]] = measured if key == _dots_key(scenario) else {}
    return found


def make_redraws(comparison: Comparison, scenario: Scenario) -> None:
    """Make the redraws if they are missing, then run the page again with them.

    Called last, so that everything else is on the screen while they are made. With many cells they wait for
    the button.
    """
    if known_redraws(scenario):
        return
    if comparison.cells > AT_ONCE_CELLS and not st.session_state.get(_WANTED):
        return
    measured = {}
    with st.spinner(f"Drawing every randomiser {REDRAWS} times"):
        for name in comparison.entries:
            own = scenario.options if name == scenario.mechanism else ()
            drawn = replace(replace(scenario, options=()), mechanism=name, options=own)
            measured[name] = get_measured_errors(drawn, first=_first_redraw(scenario), count=REDRAWS)
    st.session_state[_DOTS] = (_dots_key(scenario), measured)
    st.rerun()


def _first_redraw(scenario: Scenario) -> int:
    return scenario.draw - scenario.draw % REDRAWS


def _dots_key(scenario: Scenario) -> str:
    default = Scenario()
    return repr(
        replace(
            scenario,
            draw=_first_redraw(scenario),
            floor=default.floor,
            confidence=default.confidence,
            correction=default.correction,
            interval=default.interval,
        )
    )


def adviser(comparison: Comparison, population: Population) -> None:
    """Draw the adviser: what the reader can spend, a verdict, its reasons."""
    with st.expander("Adviser: which one to take, and why", expanded=True, key="open_adviser"):
        left, middle, right = st.columns(3, gap="medium")
        with left:
            largest = _wish(
                "report", "A report may take", LARGEST_REPORTS, "What each phone uploads, without the header."
            )
        with middle:
            seconds = _wish(
                "server",
                "The server may take",
                SERVER_TIMES,
                "For adding up all reports on one core, by times measured on this machine.",
            )
        with right:
            prefer = _wish(
                "prefer",
                "Among equally accurate ones",
                PREFERENCES,
                "Errors within 1 % of one another count as equal.",
            )
        wishes = Wishes(
            largest_report=int(largest) if largest else None,
            server_seconds=float(seconds) if seconds else None,
            quick_server=bool(prefer),
        )
        times = known_times(comparison, population)
        if wishes.needs_times and not times:
            st.write("Times of the server belong to a machine; they have to be measured on this one first.")
            st.button(
                "Measure times here",
                key="measure_for_advice",
                on_click=_measure_all,
                args=(comparison, population),
            )
            return
        advice = advise(comparison, wishes, times)
        st.write(f"**{advice.verdict}**")
        if advice.reasons:
            st.markdown("\n".join(f"- {reason}" for reason in advice.reasons))
        if advice.entry is not None and advice.entry.name != comparison.chosen:
            st.button(
                f"Use {advice.entry.label}",
                key="use_advised",
                on_click=use_mechanism,
                args=(advice.entry.name,),
            )


def _wish(name: str, label: str, choices: Mapping[str, str], help_text: str) -> str:
    """Draw one choice of the adviser, which the link carries beside the scenario."""
    options = list(choices)
    kept = linked_choice(
        name,
        default=options[0],
        read=one_of(options),
        must="one of " + ", ".join(option for option in options if option),
        used=f"“{choices[options[0]]}”",
    )
    say_problem(name)
    picked = st.selectbox(
        label,
        options,
        index=options.index(kept),
        format_func=choices.__getitem__,
        key=f"wish_{name}",
        help=help_text,
    )
    st.session_state[f"view_{name}"] = picked
    return picked


def known_times(comparison: Comparison, population: Population) -> Mapping[str, Times]:
    """Return the times measured in this session for just these randomisers, by name; none before."""
    key, times = st.session_state.get(_TIMES, (None, {}))
    found: Mapping[str, Times] = times if key == _times_key(comparison, population) else {}
    return found


def _times_key(comparison: Comparison, population: Population) -> tuple[str, ...]:
    versions = (entry.mechanism.parameters_version for entry in comparison.entries.values())
    return (population.domain.version, *versions)


def _measure_all(comparison: Comparison, population: Population) -> None:
    times = {}
    for name, entry in comparison.entries.items():
        client = make_client(entry.mechanism, population.domain.version)
        times[name] = measure(entry.mechanism, client=client.payload)
    st.session_state[_TIMES] = (_times_key(comparison, population), times)


def table(comparison: Comparison, scenario: Scenario, population: Population) -> None:
    """Draw the table, the picture's twin, with its download."""
    panel = st.expander("Table", key="open_mechanism_table", on_change="rerun")
    if not panel.open:
        return
    with panel:
        times = known_times(comparison, population)
        frame = table_frame(comparison, known_redraws(scenario), times)
        shown = rounded(frame).dropna(axis="columns", how="all")
        st.dataframe(
            shown,
            hide_index=True,
            key="mechanism_table",
            column_order=[name for name in ORDER if name in shown.columns],
            column_config=column_config(),
        )
        if times:
            note(
                f"Times of one report: best of three runs on one core ({machine_name()}); the phone's is that of the "
                "Python client."
            )
        else:
            st.button(
                "Measure times on this machine",
                key="measure_times",
                on_click=_measure_all,
                args=(comparison, population),
                help="Takes a few seconds: the real client makes reports, the server's half adds them up.",
            )
        note(
            f"Errors are one standard error in {comparison.noun}. Best guess: how often somebody who sees one report names its "
            "phone's cell, holding every cell for equally likely. Click a column's head to sort."
        )
        st.download_button(
            "CSV",
            data=partial(table_csv, frame),
            file_name=f"randomisers_eps{comparison.epsilon:g}_{comparison.cells}cells.csv",
            on_click="ignore",
            key="download_mechanisms",
        )


def over_epsilon(comparison: Comparison, scenario: Scenario, population: Population) -> None:
    """Draw how all errors change with epsilon, and the same as a table."""
    panel = st.expander("How the error changes with ε", key="open_curves", on_change="rerun")
    if not panel.open:
        return
    with panel:
        options = {
            name: () if name != scenario.mechanism else scenario.options for name in comparison.entries
        }

        def curves(epsilons: list[float]) -> dict[str, FloatArray]:
            return {
                name: error_curve(name, dict(own), epsilons, population.true_counts)
                for name, own in options.items()
            }

        least = np.array(
            [limit_error(epsilon, domain_size=comparison.cells, n=comparison.devices) for epsilon in EPSILONS]
        )
        st.altair_chart(
            curve_chart(
                EPSILONS,
                curves(EPSILONS.tolist()),
                least,
                chosen=comparison.chosen,
                now=comparison.epsilon,
                noun=comparison.noun,
                dark=is_dark(),
            ),
            key="curves",
        )
        st.html(
            '<p class="quiet">Theory alone. Dashed: the least that any randomiser can have. Upright line: ε now. '
            "Randomisers within 2 % of one another everywhere share a line.</p>"
        )
        rows = curves(list(TABLE_EPSILONS))
        rows["least possible"] = np.array(
            [
                limit_error(epsilon, domain_size=comparison.cells, n=comparison.devices)
                for epsilon in TABLE_EPSILONS
            ]
        )
        shown = {name: [round_significant(error, 4) for error in errors] for name, errors in rows.items()}
        config = {name: st.column_config.NumberColumn(name, format="localized") for name in shown}
        st.dataframe(
            pd.DataFrame({"ε": TABLE_EPSILONS} | shown),
            hide_index=True,
            key="curve_table",
            column_config=config,
        )
