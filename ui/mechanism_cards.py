"""A card for each randomiser: what it sends, its formulas, one real report, and a button to use it."""

from __future__ import annotations

from html import escape
from typing import Final

import numpy as np
import streamlit as st

from ldpcore.comparison import Comparison, Entry
from ldpcore.domain import Domain
from ldpcore.population import Population
from ui.controls import note
from ui.explore_parts import is_dark
from ui.mechanism_words import FORMULAS, parameters_line
from ui.number_words import count_of
from ui.palettes import tokens
from ui.report_picture import OpenReport, make_report, report_html
from ui.scenario import use_mechanism

_REPORTS: Final = "_open_reports"
_AT_ONCE: Final = 64 * 1024
"""Bytes of a report above which it is made on request only: the client takes its time."""


def cards(comparison: Comparison, population: Population) -> None:
    """Draw all cards, smallest error first."""
    panel = st.expander("What each one sends, and one real report", key="open_cards", on_change="rerun")
    if not panel.open:
        return
    with panel:
        cell, words = _cell_shown(population)
        st.write(
            f"The reports below were made just now by the client that ships on a phone, for {words}. "
            "Its coins come from the operating system, so no seed brings them back; keep pressing to see how little "
            "one report says."
        )
        st.button("Make other reports", on_click=_forget_reports)
        entries = comparison.ranked()
        for left in range(0, len(entries), 2):
            for column, entry in zip(st.columns(2, gap="medium"), entries[left : left + 2], strict=False):
                with column:
                    _card(comparison, entry, population.domain, cell)
        note(
            "R = e^ε; d cells, n devices, c of them in the cell; error² is the variance of the cell's estimate. "
            "Strip: all cells in the order of the domain, dark where the report points, the phone's own cell marked."
        )


def _cell_shown(population: Population) -> tuple[int, str]:
    domain = population.domain
    pinned = st.session_state.get("view_cell")
    if pinned:
        index = int(domain.index_of_cells(np.array([int(pinned, 16)], dtype=np.uint64))[0])
        if index >= 0:
            return index, f"a phone in the pinned cell {pinned}"
    busiest = int(np.argmax(population.true_counts))
    return busiest, f"a phone in the busiest cell, {domain.cell_ids()[busiest]} (pin another on the map)"


def _card(comparison: Comparison, entry: Entry, domain: Domain, cell: int) -> None:
    mechanism = entry.mechanism
    chosen = entry.name == comparison.chosen
    with st.container(border=True, key=f"card_{entry.name}", height="stretch"):
        st.html(
            f'<h3 class="card">{escape(entry.label)} <span class="quiet">{escape(entry.name)}</span></h3>'
            f"<p>{escape(mechanism.summary)}</p>"
        )
        report = _report(entry, domain, cell)
        if report is None:
            st.button(
                f"Make a report of {count_of(mechanism.payload_bytes, 'byte')}",
                key=f"make_{entry.name}",
                on_click=_wanted,
                args=(entry.name,),
            )
        else:
            st.html(report_html(report, mechanism, domain, tokens(dark=is_dark())))
        lines = "".join(f"<li>{escape(line)}</li>" for line in FORMULAS.get(entry.name, ()))
        st.html(
            f'<ul class="formulas">{lines}<li>here: {escape(parameters_line(mechanism))}</li></ul>'
            f'<p class="quiet">{escape(mechanism.reference)}</p>'
        )
        st.button(
            "In use" if chosen else "Use this randomiser",
            key=f"use_{entry.name}",
            disabled=chosen,
            on_click=use_mechanism,
            args=(entry.name,),
        )


def _report(entry: Entry, domain: Domain, cell: int) -> OpenReport | None:
    mechanism = entry.mechanism
    kept: dict[str, tuple[object, OpenReport]] = st.session_state.setdefault(_REPORTS, {})
    setting = (mechanism.parameters_version, domain.version, cell)
    if entry.name in kept and kept[entry.name][0] == setting:
        return kept[entry.name][1]
    if mechanism.payload_bytes > _AT_ONCE and not st.session_state.pop(f"wanted_{entry.name}", False):
        return None
    report = make_report(mechanism, domain, cell)
    kept[entry.name] = (setting, report)
    return report


def _forget_reports() -> None:
    st.session_state.pop(_REPORTS, None)


def _wanted(name: str) -> None:
    st.session_state[f"wanted_{name}"] = True
