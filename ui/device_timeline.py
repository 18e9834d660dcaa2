"""The timeline of the Device page: where the phone was, what the server can tell apart, what was spent."""

from __future__ import annotations

from typing import Final

import numpy as np
import pandas as pd
import streamlit as st

from ldpcore.trips.cities import city_domain
from ldpcore.week import FRESH, KINDS, REPLAY, SILENT, Week
from ldpcore.whereabouts import OUTSIDE, moment_time
from ui.controls import heading, note
from ui.device_charts import spend_chart, timeline_chart
from ui.device_parts import View, is_dark
from ui.number_words import count_of, thousands

KIND_WORDS: Final = {
    "fresh": "new answer drawn",
    "memo": "remembered answer sent again",
    "replay": "older answer sent instead",
    "silent": "nothing sent",
}
"""What a phone does when it would report, in plain words."""
PICTURES: Final = {
    "place": "Where it was: the truth, one line a place",
    "answer": "What the server sees: one line for equal reports",
}
MOST_ROWS: Final = 24
"""Different answers drawn as rows of their own at most."""


def timeline(view: View) -> None:
    """Draw where the phone was above what the server can tell apart, and what was spent."""
    heading("The days, report by report")
    segments = segments_of(view)
    st.markdown(_timeline_words(view))
    for picture, title in PICTURES.items():
        if picture == "answer" and not view.setting.schedule.memo:
            continue  # thousands of lines with one report each
        bars = segments[segments["picture"] == picture]
        rows = [str(name) for name in dict.fromkeys(bars.sort_values("order")["row"])]
        total = int(bars["rows"].max())
        more = f" (the first {len(rows)} of {thousands(total)})" if total > len(rows) else ""
        chart = timeline_chart(
            bars,
            rows=rows,
            title=title + more,
            truth=picture == "place",
            epochs=_epoch_starts(view),
            dark=is_dark(),
        )
        st.altair_chart(chart, width="stretch", theme=None, key=f"device_picture_{picture}")
    st.altair_chart(spend_chart(spend_frame(view), dark=is_dark()), width="stretch", theme=None)
    with st.expander("The same as a table, and every report as a file"):
        stretches = changes(view)
        st.dataframe(
            stretches,
            hide_index=True,
            width="stretch",
            height=320,
            column_config={
                "time": st.column_config.DatetimeColumn("From", format="ddd D MMM, HH:mm"),
                "reports": st.column_config.NumberColumn("Reports", format="localized"),
                "place": "Where it was",
                "cell": "Cell (H3)",
                "did": "What the phone did first",
                "answer": "What the server sees",
                "cells_in_epoch": "Cells so far",
                "epsilon": st.column_config.NumberColumn("ε so far", format="localized"),
                "epsilon_fresh": st.column_config.NumberColumn("ε if fresh", format="localized"),
            },
        )
        st.download_button(
            "Every report (CSV)",
            data=lambda: every_report(view).to_csv(index=False).encode(),
            file_name=f"phone_{view.setting.phone}_{view.setting.days}_days.csv",
            mime="text/csv",
            on_click="ignore",
        )
        note(
            "Place letters and answer numbers follow the first appearance. The server never sees the first three columns."
        )


def _timeline_words(view: View) -> str:
    week, schedule = view.week, view.setting.schedule
    changes_seen = week.label_changes
    if not schedule.memo:
        return (
            f"Without memory every one of the {thousands(week.sent_count)} answers is drawn anew. The server sees no two that must be "
            "equal, so there is no pattern to draw. Nobody needs one: the answers from one place average out, as the maps above show."
        )
    words = (
        "The upper picture is the truth, which stays on the phone. The lower one is all that the server can tell apart: which "
        f"reports are equal to the byte. {_shape_words(view)}Memory hides *which* cells they are; it shows *when* the phone "
        f"moved: {count_of(changes_seen, 'change')} in the {view.span}."
    )
    if week.count(SILENT):
        words += " On its line “silent” nothing was sent, which says that the phone was in one cell too many."
    if week.count(REPLAY):
        words += " Beyond the cap the phone repeats its last answer, so the two pictures differ there."
    if int(week.epochs[-1]):
        words += " At a dashed line a new epoch begins: every answer is drawn anew."
    return words


def _shape_words(view: View) -> str:
    """Say that both pictures have one shape where they do: as many changes, at the same moments."""
    week = view.week
    places = _starts(place_letters(week), week.epochs)
    answers = _starts(week.labels, week.epochs)
    same = np.array_equal(places, answers) and week.labels.max() + 1 == week.count(FRESH)
    return "**The two have the same shape.** " if same else ""


def place_letters(week: Week) -> np.ndarray:
    """Return (n,) the letter of the place at each moment, by first visit; "outside" outside the domain."""
    values, first, inverse = np.unique(week.cells, return_index=True, return_inverse=True)
    rank = np.empty(values.size, np.int64)
    rank[np.argsort(first)] = np.arange(values.size)
    names = np.array([_letter(number) for number in range(values.size)], dtype=object)[rank]
    names[values == OUTSIDE] = "outside"
    letters: np.ndarray = names[inverse]
    return letters


def _letter(number: int) -> str:
    """Return A to Z, then AA, AB and so on."""
    text = ""
    number += 1
    while number:
        number, rest = divmod(number - 1, 26)
        text = chr(65 + rest) + text
    return text


def answer_names(week: Week) -> np.ndarray:
    """Return (n,) what the server calls each report: a number by first appearance, or silence."""
    return np.array(["silent" if label < 0 else str(label + 1) for label in week.labels], dtype=object)


def _starts(*columns: np.ndarray) -> np.ndarray:
    """Return the rows at which any column differs from the row before."""
    changed = np.zeros(len(columns[0]), bool)
    changed[:1] = True
    for column in columns:
        changed[1:] |= column[1:] != column[:-1]
    return np.flatnonzero(changed)


def segments_of(view: View) -> pd.DataFrame:
    """Return the bars of both pictures: ``picture``, ``row``, ``order``, ``start``, ``end``."""
    week = view.week
    parts: list[pd.DataFrame] = []
    for picture, names in (("place", place_letters(week)), ("answer", answer_names(week))):
        starts = _starts(names, week.epochs) if picture == "answer" else _starts(names)
        rows = pd.DataFrame(
            {"row": names[starts], "start": starts, "end": np.append(starts[1:], week.moments)}
        )
        order = {name: number for number, name in enumerate(dict.fromkeys(names))}
        rows["order"] = rows["row"].map(order)
        kept = rows[rows["order"] < MOST_ROWS]
        parts.append(kept.assign(picture=picture, rows=len(order)))
    bars = pd.concat(parts, ignore_index=True)
    for end in ("start", "end"):
        bars[end] = [_time_of(view, int(moment)) for moment in bars[end]]
    return bars


def _time_of(view: View, moment: int) -> pd.Timestamp:
    """Return where the share of a moment begins, so that once a day fills its day."""
    a_day = view.setting.schedule.reports_a_day
    return pd.Timestamp(moment_time(0, 1)).normalize() + pd.Timedelta(days=moment / a_day)


def _epoch_starts(view: View) -> pd.DataFrame:
    starts = _starts(view.week.epochs)[1:]
    return pd.DataFrame({"time": [_time_of(view, int(moment)) for moment in starts]})


def spend_frame(view: View) -> pd.DataFrame:
    """Return both sums of epsilon over time, at their corners: ``kind``, ``time``, ``epsilon``."""
    week = view.week
    corners = np.unique(
        np.concatenate(
            [
                np.linspace(0, week.moments - 1, min(week.moments, 60)).astype(np.int64),
                np.geomspace(1, week.moments, 80).astype(np.int64) - 1,
                np.flatnonzero(week.kinds == FRESH)[:400],
            ]
        )
    )
    times = [_time_of(view, int(moment)) for moment in corners]
    kinds = {"fresh answers": week.spent_fresh}
    if view.setting.schedule.memo:
        kinds["with memory"] = week.spent
    return pd.concat(
        [
            pd.DataFrame({"kind": kind, "time": times, "epsilon": spent[corners]})
            for kind, spent in kinds.items()
        ],
        ignore_index=True,
    )


def every_report(view: View) -> pd.DataFrame:
    """Return one row per moment, with the truth beside what was sent."""
    week, setting = view.week, view.setting
    ids = np.array(
        [*city_domain(setting.city, setting.scenario.resolution).cell_ids(), "outside"], dtype=object
    )
    return pd.DataFrame(
        {
            "time": [moment_time(moment, setting.schedule.reports_a_day) for moment in range(week.moments)],
            "place": place_letters(week),
            "cell": ids[week.cells],
            "did": [KINDS[kind] for kind in week.kinds],
            "answer": answer_names(week),
            "epoch": week.epochs,
            "cells_in_epoch": week.cells_so_far,
            "epsilon": week.spent,
            "epsilon_fresh": week.spent_fresh,
        }
    )


def changes(view: View) -> pd.DataFrame:
    """Return one row for each stretch in which neither the place nor what the server sees changes."""
    rows = every_report(view)
    starts = _starts(rows["place"].to_numpy(), rows["answer"].to_numpy(), rows["epoch"].to_numpy())[:2000]
    ends = np.append(starts[1:], len(rows)) if starts.size < 2000 else starts + 1
    shown = rows.iloc[starts].drop(columns="epoch")
    shown.insert(1, "reports", ends - starts)
    last = ends - 1
    for name in ("cells_in_epoch", "epsilon", "epsilon_fresh"):
        shown[name] = rows[name].to_numpy()[last]
    return shown.assign(did=shown["did"].map(KIND_WORDS))
