"""The lower half of the Sizing page: conditions, other models, a month's budget, engineering, downloads."""

from __future__ import annotations

import json
import math
import shlex
from dataclasses import replace
from typing import Final

import streamlit as st

from ldpcore.errors import ParameterError
from ldpcore.plain_numbers import plain
from ldpcore.privacy.central import (
    CENTRAL_GUARANTEE,
    LOCAL_GUARANTEE,
    central_smallest_count,
    geometric_variance,
)
from ldpcore.privacy.composition import MEMO_CAVEAT, device_loss
from ldpcore.privacy.shuffle import SHUFFLE_GUARANTEE, amplify, smallest_batch
from ui.controls import heading, note
from ui.number_words import thousands
from ui.schedule import get_schedule
from ui.sizing_parts import Question

DELTAS: Final = (1e-5, 1e-6, 1e-7, 1e-8, 1e-9)
DAYS_OF_MONTH: Final = 30
ENGINEERING: Final = (
    ("A randomiser that can be audited", "exact probabilities from the system's cryptographic source"),
    ("A memo store", "kept between starts and encrypted at rest"),
    ("A cap on distinct cells", "enforced on the device, per epoch"),
    ("An epoch that rotates", "the same way on every device, without being told"),
    ("A parameter version in every report", "the server counts versions apart"),
    (
        "A release cycle of weeks",
        "devices cannot be patched together, and a fault is invisible from the server",
    ),
)


def conditions(question: Question) -> None:
    """Ask the three conditions under which local privacy is the right tool, and say what follows."""
    heading("The three conditions")
    first = st.checkbox(
        "Nobody may hold raw coordinates, not even for an hour",
        key="sizing_no_party",
        help="If some party may hold them, central noise or a shuffler gives far better counts.",
    )
    second = question.verdict.affordable
    st.checkbox(
        f"Cells that matter hold at least {thousands(math.ceil(question.verdict.smallest_count))} {question.noun} (computed above)",
        value=second,
        disabled=True,
        key=f"sizing_counts_{second}",
        help="No fixed number of devices is enough: what a cell needs grows with the root of all that report.",
    )
    third = st.checkbox(
        "You build, ship and can attest the client yourself",
        key="sizing_client",
        help="A modified client reports what it likes, and no check on the server can tell.",
    )
    missing = [
        words
        for holds, words in (
            (first, "some party may hold raw coordinates"),
            (second, "the cells are too small at this ε"),
            (third, "the client is not yours"),
        )
        if not holds
    ]
    if missing:
        st.markdown(
            "Local privacy is not the right tool as long as "
            + ", and ".join(missing)
            + ". Look at the other models below."
        )
    else:
        st.markdown("All three hold: local privacy is a fair choice here.")


def alternatives(question: Question) -> None:
    """Draw what a trusted server or a shuffler would give for the same data, each with its own guarantee."""
    case, verdict = question.case, question.verdict
    heading("Other models on the same data")
    st.caption(
        "Three guarantees against three different readers. Their epsilons are not comparable as numbers, so none is ranked "
        "against another. All hide the replacement of one device's value."
    )
    delta = st.select_slider(
        "Delta of the shuffled guarantee",
        DELTAS,
        value=1e-6,
        format_func=_tiny,
        key="sizing_delta",
        help="Chance that the guarantee after shuffling does not hold; far below one over the devices.",
    )
    target = f"±{100 * case.target_error:g} %"
    local, shuffled, central = st.columns(3, gap="medium")
    with local:
        st.markdown("**Local**, this page")
        st.markdown(_guarantee(LOCAL_GUARANTEE))
        st.markdown(
            f"ε = {case.epsilon:g} a report. A count is known to {target} from {thousands(math.ceil(verdict.smallest_count))} "
            f"{question.noun} on."
        )
    with shuffled:
        st.markdown("**Shuffle**")
        st.markdown(_guarantee(SHUFFLE_GUARANTEE))
        st.markdown(_shuffle_words(question, delta))
    with central:
        st.markdown("**Central**")
        st.markdown(_guarantee(CENTRAL_GUARANTEE))
        least = central_smallest_count(case.epsilon, relative_error=case.target_error)
        st.markdown(
            f"With noise labelled ε = {case.epsilon:g} a count is off by ±{plain(geometric_variance(case.epsilon) ** 0.5, 2)} devices "
            f"and known to {target} from {thousands(max(math.ceil(least), 1))} on, however many devices there are."
        )


def _guarantee(sentences: str) -> str:
    """Return a guarantee without the name of its model, which stands above it."""
    _, _, words = sentences.partition(": ")
    return words[0].upper() + words[1:]


def _tiny(number: float) -> str:
    return f"{number:.0e}".replace("e-0", "e-")


def _shuffle_words(question: Question, delta: float) -> str:
    case = question.case
    after = amplify(case.epsilon, devices=case.devices, delta=delta).epsilon_central
    words = (
        f"The counts are those of the local column. If all {thousands(case.devices)} reports are shuffled in one batch, the "
        f"server's view is ({plain(after)}, {_tiny(delta)})-private (numeric clone bound; honest reports only)."
    )
    try:
        batch = smallest_batch(case.epsilon, target=0.5, delta=delta)
    except ParameterError:
        return words + " No batch brings that down to 0.5."
    return words + f" The smallest batch for 0.5 is {thousands(batch)} reports."


def budget(question: Question) -> None:
    """Add up a month of reports of one device under the schedule in the sidebar."""
    heading("A month of one device")
    schedule, epsilon = get_schedule(), question.case.epsilon
    fresh = device_loss(epsilon, replace(schedule, memo=False), days=DAYS_OF_MONTH)
    loss = device_loss(epsilon, schedule, days=DAYS_OF_MONTH, distinct_cells=question.case.cells)
    st.markdown(
        f"{_reports(schedule.reports_a_day)} a day at ε = {epsilon:g}, each drawn afresh: {fresh.formula}, a total ε of "
        f"**{plain(fresh.epsilon, 6)}** a month. "
        + ("That is no guarantee in any useful sense." if fresh.epsilon > 20 else "")
    )
    if schedule.memo:
        st.markdown(
            f"With one answer per cell, drawn anew every {_days(schedule.epoch_days)}, and at most {schedule.cap} cells in "
            f"between: {loss.formula}, **{plain(loss.epsilon, 6)}** in any month. "
            + ("" if loss.pattern_hidden else f"{MEMO_CAVEAT} ")
            + ("Going silent at the cap shows that it was hit." if schedule.at_cap == "silent" else "")
        )
    note("How often a device reports, and what it remembers, is set under Budget at the side.")


def _reports(number: int) -> str:
    return "One report" if number == 1 else f"{thousands(number)} reports"


def _days(number: int) -> str:
    return "day" if number == 1 else f"{number} days"


def engineering() -> None:
    """List what local privacy costs to build and keep."""
    with st.expander("What it costs to build"):
        st.markdown("\n".join(f"- **{what}**: {why}." for what, why in ENGINEERING))
        st.markdown("Central noise keeps all of this on servers that can be mended in an afternoon.")


def command(question: Question) -> str:
    """Return the command line that gives the same verdict."""
    case = question.case
    words = ["python", "-m", "ldpcore", "size", "--devices", str(case.devices), "--cells", str(case.cells)]
    words += ["--epsilon", repr(case.epsilon), "--mechanism", case.mechanism]
    words += ["--target-error", repr(case.target_error), "--smallest-count", f"{case.target_count:g}"]
    if case.options:
        words += ["--options", ",".join(f"{name}={value}" for name, value in case.options)]
    return shlex.join(words)


def verdict_json(question: Question) -> str:
    """Return the case and its verdict as JSON text."""
    case, verdict, fit = question.case, question.verdict, question.fit
    return json.dumps(
        {
            "case": {
                "devices": case.devices,
                "cells": case.cells,
                "epsilon": case.epsilon,
                "mechanism": case.mechanism,
                "options": dict(case.options),
                "target_error": case.target_error,
                "smallest_count_wanted": case.target_count,
            },
            "affordable": verdict.affordable,
            "relative_error": verdict.error,
            "smallest_count": verdict.smallest_count,
            "devices_needed": verdict.devices_needed,
            "cells_at_most": verdict.cells_at_most,
            "epsilon_needed": verdict.epsilon_needed,
            "reasons": list(verdict.reasons),
            "cells_known": fit.cells_known,
            "share_of_devices_known": fit.share_known,
            "cells_published_expected": fit.cells_published,
        },
        indent=2,
    )


def downloads(question: Question) -> None:
    """Offer the verdict as a file and as a command."""
    heading("Take it with you")
    left, right = st.columns([0.3, 0.7], gap="medium", vertical_alignment="center")
    left.download_button(
        "Verdict (JSON)", verdict_json(question), "sizing.json", "application/json", width="stretch"
    )
    right.code(command(question), language="bash", wrap_lines=True)
