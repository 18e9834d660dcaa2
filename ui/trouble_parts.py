"""The parts of the troubleshooting page: which failure, the switch, the map, the figures, the advice."""

from __future__ import annotations

from html import escape
from typing import Final

import numpy as np
import pandas as pd
import streamlit as st

from ldpcore.faults import swinging_cell
from ldpcore.faults_device import cap_table
from ldpcore.release import Release
from ldpcore.schedule import Schedule
from ldpcore.settings import Scenario
from ui import legend
from ui.controls import heading, note
from ui.explore_map import draw
from ui.headline import figures_html
from ui.hex_map import HoverColumn, Panel, pin_cell
from ui.library_map import is_dark, on_drawing, panels_map, warn_of_truth
from ui.number_words import unbroken
from ui.palettes import RAMPS, ErrorScale
from ui.trouble_stories import STORIES, Plate, Story, sparse_redraws
from ui.trouble_table import table_html
from ui.trouble_words import TROUBLES, advice_html, sees_html
from ui.view_choice import linked_choice, one_of, say_problem

DEFAULT: Final = "flat"
VISITED: Final = 40
_FAULT, _SWITCH, _SEEN = "trouble_fault", "trouble_on", "_trouble_seen"


def choose() -> tuple[str, bool]:
    """Draw the choice of the failure and its switch; both are in the link.

    Returns
    -------
    The variant, such as ``"flat.epsilon"``, and whether the fault is on.
    """
    state = st.session_state
    linked = linked_choice(
        "fault",
        default=DEFAULT,
        read=one_of([variant for trouble in TROUBLES.values() for variant in dict(trouble.variants)]),
        must="one of the failures listed",
        used="the first",
    )
    off = linked_choice("off", default="", read=one_of(("0", "1")), must="0 or 1", used="0") == "1"
    say_problem("fault")
    say_problem("off")
    if state.get(_SEEN) != (linked, off):
        # The link of the address bar, at first or after going back; what is no failure opens the first one.
        state[_FAULT] = linked.partition(".")[0]
        state[f"trouble_variant_{state[_FAULT]}"] = linked
        state[_SWITCH] = not off
    state.setdefault(_FAULT, DEFAULT)
    state.setdefault(_SWITCH, True)
    st.selectbox(
        "What went wrong?",
        list(TROUBLES),
        format_func=_symptom,
        key=_FAULT,
    )
    trouble = TROUBLES[state[_FAULT]]
    variant_key = f"trouble_variant_{state[_FAULT]}"
    variants = dict(trouble.variants)
    if state.get(variant_key) not in variants:
        state[variant_key] = next(iter(variants))
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        if len(variants) > 1:
            st.radio(
                trouble.choice,
                list(variants),
                format_func=variants.__getitem__,
                key=variant_key,
                horizontal=True,
            )
        st.toggle("Reproduce it", key=_SWITCH, help="Off shows the same scenario with the fault mended.")
    variant, on = str(state[variant_key]), bool(state[_SWITCH])
    state["view_fault"] = "" if variant == DEFAULT else variant
    state["view_off"] = "" if on else "1"
    state[_SEEN] = (variant, not on)
    return variant, on


def _symptom(name: str) -> str:
    return TROUBLES[name].symptom


def tell(release: Release, variant: str, schedule: Schedule, *, on: bool) -> Story:
    """Work the story out."""
    with st.spinner("Making it happen"):
        return STORIES[variant.partition(".")[0]](release, variant, schedule, on=on)


def show(story: Story, variant: str) -> None:
    """Draw the maps, their legend, the figures and the notes."""
    warn_of_truth(*(plate.release.scenario for plate in story.plates))
    columns = st.columns(len(story.plates), gap="medium")
    one_scale = all(plate.scale is story.plates[0].scale for plate in story.plates)
    versions = []
    for number, (column, plate) in enumerate(zip(columns, story.plates, strict=True)):
        with column:
            versions.append(_plate_map(plate, key=f"trouble_map_{number}_of_{len(story.plates)}"))
            if not one_scale:
                st.html(_legend(plate))
    if one_scale:
        st.html(_legend(story.plates[0]))
    st.html(figures_html(story.figures, map_version=versions[0]))
    for sentence in story.notes:
        note(sentence)
    st.html(advice_html(TROUBLES[variant.partition(".")[0]]))


def _plate_map(plate: Plate, *, key: str) -> str:
    """Draw one map; it knows one set of hatched cells, so a plate has at most one view with some."""
    drawing = draw(plate.release, raw=False)
    ramp = RAMPS["error" if isinstance(plate.scale, ErrorScale) else "counts"]
    panels, columns = [], []
    hatched = None
    for view in plate.views:
        values = on_drawing(plate.release, view.values)
        panels.append(
            Panel(
                id=view.id,
                title=view.title,
                subtitle=view.subtitle,
                index=plate.scale.index(values),
                ramp=ramp,
                hatch=view.hatched is not None,
            )
        )
        columns.append(HoverColumn(label=view.title, values=values, unit=plate.unit))
        if view.hatched is not None:
            shown = (~view.hatched).astype(np.float64)
            hatched = on_drawing(plate.release, shown) == 0
    if plate.cell is not None:
        # The phone's own cell stays outlined, whatever was clicked.
        key = f"{key}_phone"
        pin_cell(
            key, plate.release.population.domain.cell_ids()[plate.cell] if not drawing.coarsened else None
        )
    state = panels_map(plate.release, drawing, tuple(panels), tuple(columns), key=key, hatched=hatched)
    return state.version


def _legend(plate: Plate) -> str:
    hatched = any(view.hatched is not None for view in plate.views)
    if isinstance(plate.scale, ErrorScale):
        return legend.legend_html(
            scale=None,
            errors=plate.scale,
            dark=is_dark(),
            hatched=hatched,
            error_label=plate.label,
            error_note="Left of 0: negative. The ends hold whatever lies beyond.",
        )
    return legend.legend_html(
        scale=plate.scale,
        dark=is_dark(),
        hatched=hatched,
        counts_label=plate.label,
        counts_note="The panels share this scale." if len(plate.views) > 1 else "",
        open_top=plate.open_top,
    )


def redraw_chart(release: Release) -> None:
    """Draw one sparse cell over the redraws, as a strip and as a table."""
    from ui.charts import redraw_strip  # half a second that the other failures need not wait for

    index = swinging_cell(release)
    truth = float(release.population.true_counts[index])
    rows = []
    for run in sparse_redraws(release):
        low, high = float(run.estimates.ci_low[index]), float(run.estimates.ci_high[index])
        rows.append(
            {
                "draw": run.scenario.draw,
                "estimate": float(run.estimates.estimate[index]),
                "low": low,
                "high": high,
                "holds": low <= truth <= high,
            }
        )
    draws = pd.DataFrame(rows)
    heading("One sparse cell, redrawn")
    negative = int((draws["estimate"] < 0).sum())
    mean, error = draws["estimate"].mean(), draws["estimate"].std() / np.sqrt(len(draws))
    st.markdown(
        f"Cell {release.population.domain.cell_ids()[index]} holds {truth:,.0f} {release.population.noun}. Its estimate is negative in "
        f"{negative} of {len(draws)} redraws; the mean of all is {mean:,.0f} ±{error:,.0f}."
    )
    st.altair_chart(
        redraw_strip(
            draws,
            truth=truth,
            this_draw=release.scenario.draw,
            floor=None,
            dark=is_dark(),
        ),
        key="trouble_strip",
    )
    with st.expander("The same as a table"):
        st.dataframe(draws.round(1), hide_index=True, width="stretch")
        _download("Redraws (CSV)", draws.to_csv(index=False).encode(), "redraws.csv")


def cap(scenario: Scenario, schedule: Schedule) -> None:
    """Draw what a cap is worth by where it is kept."""
    heading("Where the cap is kept")
    st.markdown(
        f"A phone that visits {VISITED} cells in one epoch, under this cap of {schedule.cap}. What the server drops has "
        "left the phone already."
    )
    table = cap_table(scenario.epsilon, schedule, visited=VISITED)
    st.html(table_html(table))
    _download("Cap (CSV)", table.to_csv(), "cap.csv")


def who_sees() -> None:
    """Draw who sees what."""
    heading("Who sees what")
    st.html(sees_html())


def all_figures(story: Story) -> None:
    """Draw every figure as a table, and offer it as a file."""
    heading("All figures, measured beside expected")
    st.html(table_html(story.table))
    _download("Figures (CSV)", story.table.to_csv(), "figures.csv")


def _download(label: str, content: bytes, name: str) -> None:
    st.download_button(
        label, data=content, file_name=name, mime="text/csv", on_click="ignore", key=f"trouble_{name}"
    )


def answer(story: Story) -> str:
    """Return the sentence at the top as HTML."""
    return f'<h1 class="headline">{escape(unbroken(story.headline))}</h1>'
