"""The table of all randomisers: the twin of the picture, sortable, and as a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from ldpcore.advice import upload_bytes
from ldpcore.comparison import Comparison, Entry
from ldpcore.release_files import escape_formulas
from ldpcore.timing import Times
from ui.number_words import round_significant


def table_frame(
    comparison: Comparison, measured: Mapping[str, Sequence[float]], times: Mapping[str, Times]
) -> pd.DataFrame:
    """Return one row per randomiser, best first; errors are one standard error in devices.

    Parameters
    ----------
    comparison
        Theory.
    measured
        By name, typical errors of the redraws; empty where none were drawn.
    times
        By name, times measured in this session; empty where none were.
    """
    best = comparison.best
    return pd.DataFrame(
        [
            _row(comparison, entry, best, measured.get(entry.name, ()), times.get(entry.name))
            for entry in comparison.ranked()
        ]
    )


def _row(
    comparison: Comparison, entry: Entry, best: Entry, measured: Sequence[float], times: Times | None
) -> dict[str, Any]:
    mechanism = entry.mechanism
    return {
        "name": entry.name,
        "randomiser": entry.label,
        "chosen": entry.name == comparison.chosen,
        "error_typical": entry.error_typical,
        "measured_mean": float(np.mean(measured)) if measured else None,
        "measured_low": min(measured, default=None),
        "measured_high": max(measured, default=None),
        "error_empty": entry.error_empty,
        "error_busiest": entry.error_busiest,
        "devices_for_the_same": comparison.devices_ratio(entry, best),
        "report_bytes": upload_bytes(entry),
        "report_bits": mechanism.report_bits,
        "guess_success": entry.guess.success,
        "guess_how": entry.guess.how,
        "epsilon": mechanism.epsilon,
        "epsilon_effective": mechanism.epsilon_effective,
        "p": None if mechanism.p is None else float(mechanism.p),
        "q": None if mechanism.q is None else float(mechanism.q),
        "variance_empty": mechanism.variance_empty,
        "variance_slope": mechanism.variance_slope,
        "device_us": None if times is None or times.device_s is None else 1e6 * times.device_s,
        "server_us": None if times is None else 1e6 * times.server_s,
    }


def rounded(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table whose errors have four significant digits, as many as a reader compares."""
    shown = frame.copy()
    for name in shown.columns:
        if name.startswith(("error", "measured")) and shown[name].notna().any():
            shown[name] = [round_significant(value, 4) for value in shown[name]]
    return shown


def table_csv(frame: pd.DataFrame) -> bytes:
    """Return the table as CSV, UTF-8, its texts safe for spreadsheets, numbers in full precision."""
    text: str = escape_formulas(frame).to_csv(index=False, lineterminator="\n")
    return text.encode()


def column_config() -> dict[str, Any]:
    """Return how the table's columns read, plain words first."""
    number = st.column_config.NumberColumn
    devices = "localized"
    return {
        "name": st.column_config.TextColumn("Short"),
        "randomiser": st.column_config.TextColumn("Randomiser", pinned=True),
        "chosen": st.column_config.CheckboxColumn("Chosen"),
        "error_typical": number(
            "Typical error ±", format=devices, help="One standard error, devices; theory."
        ),
        "measured_mean": number("Measured", format=devices, help="Mean of the redraws, devices."),
        "measured_low": number("Lowest", format=devices, help="Smallest of the redraws."),
        "measured_high": number("Highest", format=devices, help="Greatest of the redraws."),
        "error_empty": number("Empty cell ±", format=devices, help="Devices."),
        "error_busiest": number("Busiest cell ±", format=devices, help="Devices."),
        "devices_for_the_same": number(
            "Devices to match the best", format="× %.2f", help="For the same relative error."
        ),
        "report_bytes": number("Sent, bytes", help="A report as it is really sent, without the header."),
        "report_bits": number(
            "Content, bits",
            help="Fewest bits that could tell all reports apart; sent are whole bytes, often more.",
        ),
        "guess_success": number(
            "Best guess right",
            format="percent",
            help="From one report, every cell equally likely before.",
        ),
        "guess_how": st.column_config.TextColumn("Guess from"),
        "epsilon": number("ε, label", format="%g"),
        "epsilon_effective": number("ε, really spent", format="%.6g"),
        "p": number("p", format="%.4g", help="A report points to its own cell."),
        "q": number("q", format="%.4g", help="A report points to any one other cell."),
        "variance_empty": number("V0", format="%.4g", help="Variance that one device adds to a cell."),
        "variance_slope": number("V1", format="%.4g", help="What each device inside adds on top."),
        "device_us": number("Phone, µs", format="%.3g", help="Making one report, measured."),
        "server_us": number("Server, µs", format="%.3g", help="Adding one report, measured."),
    }
