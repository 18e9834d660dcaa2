"""A crowd of phones on the Device page: what each spends, and what the cap does to the counts."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from ldpcore.privacy.composition import device_loss
from ldpcore.shapes import FloatArray
from ldpcore.trips.cities import city_domain
from ldpcore.week import CrowdSpend, Week, real_week
from ui.controls import note
from ui.device_charts import spend_histogram
from ui.device_data import PHONES_TO_CHOOSE, Setting, get_crowd, get_stays
from ui.device_parts import View, is_dark
from ui.number_words import count_of, percent, thousands


def crowd(view: View) -> None:
    """Draw the budget of all phones, and silence against replay."""
    panel = st.expander(
        "A crowd of phones: what they spend, and what the cap costs", key="open_crowd", on_change="rerun"
    )
    if not panel.open:
        return
    with panel:
        setting = view.setting
        with st.spinner("Following the crowd"):
            spend = get_crowd(setting)
        st.markdown(crowd_words(setting, spend))
        counts = spend_counts(setting, spend)
        st.altair_chart(
            spend_histogram(counts, dark=is_dark()),
            width="stretch",
            theme=None,
        )
        note(
            f"{count_of(spend.draws.size, 'simulated phone')} over {count_of(setting.days, 'day')}; the share of phones has a standard "
            f"error of at most {percent(0.5 / spend.draws.size**0.5)}. Without memory each spends {setting.moments * setting.scenario.epsilon:,.6g}."
        )
        if st.toggle("The same as a table", key="device_crowd_table"):
            st.dataframe(
                counts,
                hide_index=True,
                column_config={
                    "epsilon": st.column_config.NumberColumn("ε spent", format="localized"),
                    "phones": st.column_config.NumberColumn("Phones", format="localized"),
                },
            )
        st.markdown("**At the cap: silence or replay**")
        st.markdown(cap_words(setting, spend))
        table = cap_table(setting, spend)
        st.dataframe(table, hide_index=True, width="stretch")
        note(
            "Shares are of all moments of all phones inside the area. Worst cell: the largest relative error among cells in which "
            "the crowd spends at least 1 in 1,000 of its time. This error does not shrink with more phones."
        )
        st.download_button(
            "The crowd (CSV)",
            data=lambda: crowd_frame(setting, spend).to_csv(index=False).encode(),
            file_name="crowd.csv",
            mime="text/csv",
            on_click="ignore",
        )


def spend_counts(setting: Setting, spend: CrowdSpend) -> pd.DataFrame:
    """Return how many phones spend each total: ``epsilon``, ``phones``."""
    phones = np.bincount(spend.draws)
    draws = np.flatnonzero(phones)
    step = max(1, -(-(int(draws[-1]) + 1) // 40))
    grouped = np.add.reduceat(
        np.append(phones, np.zeros(-phones.size % step, np.int64)), np.arange(0, phones.size, step)
    )
    first = np.arange(grouped.size) * step
    names = first * setting.scenario.epsilon
    rows = pd.DataFrame({"epsilon": np.round(names, 6), "phones": grouped})
    return rows[first + step > int(draws[0])].reset_index(drop=True)


def crowd_frame(setting: Setting, spend: CrowdSpend) -> pd.DataFrame:
    """Return one row per phone."""
    return pd.DataFrame(
        {
            "phone": np.arange(spend.draws.size),
            "answers_drawn": spend.draws,
            "epsilon": spend.draws * setting.scenario.epsilon,
            "most_cells_in_an_epoch": spend.most_cells,
            "moments_beyond_the_cap": spend.withheld,
        }
    )


def crowd_words(setting: Setting, spend: CrowdSpend) -> str:
    """Return what the histogram says."""
    epsilon, schedule = setting.scenario.epsilon, setting.schedule
    spent = np.asarray(spend.draws * epsilon, dtype=np.float64)
    worst = device_loss(epsilon, schedule, days=setting.days) if schedule.memo else None
    bound = (
        f" The rules allow any phone at most {worst.epsilon:,.6g} in such a span ({worst.formula})."
        if worst
        else ""
    )
    return (
        f"With memory, a cap of {schedule.cap} and epochs of {count_of(schedule.epoch_days, 'day')}, the middle phone spends "
        f"ε = **{np.median(spent):,.6g}** in {count_of(setting.days, 'day')}, {_at_the_top(spent)}, and "
        f"**{percent(spend.over_cap)}** hit the cap.{bound} People who move a lot spend more: the budget is not the same for all."
    )


def _at_the_top(spent: FloatArray) -> str:
    """Return how many spend the most, counted: where many spend the same, a tenth of them is nowhere to be cut off.

    >>> _at_the_top(np.array([4.0, 20.0, 8.0, 20.0]))
    '50\u202f% spend the most, 20'
    """
    tenth = np.quantile(spent, 0.9, method="inverted_cdf")
    share = f"{100 * np.mean(spent >= tenth):.3g}\N{NARROW NO-BREAK SPACE}%"
    if tenth == spent.max():
        return f"{share} spend the most, {tenth:,.6g}"
    return f"{share} spend {tenth:,.6g} or more"


def cap_words(setting: Setting, spend: CrowdSpend) -> str:
    """Return what silence gives away, and what replay costs."""
    over = percent(spend.over_cap)
    cells = setting.schedule.cap + 1
    if not spend.over_cap:
        return (
            "No phone of this crowd reached the cap, so neither rule did anything. Make the cap smaller, or the cadence higher, "
            "to see what each costs."
        )
    return (
        f"**Silence is a message.** {over} of the phones are in at least {cells} cells in one epoch. Who sees one fall silent knows "
        f"that it is one of them: the chance goes from {over} to 100 %, which no ε covers. When it speaks again it is back in an "
        f"old cell, or a new epoch began. **Replay hides both**: the phone keeps its schedule and repeats its last answer, but the server counts it in the "
        "wrong place. Silence loses counts, replay moves them; below are both, by numbers."
    )


def cap_table(setting: Setting, spend: CrowdSpend) -> pd.DataFrame:
    """Return one row for each rule at the cap."""
    ids = city_domain(setting.city, setting.scenario.resolution).cell_ids()
    least = max(int(spend.truth.sum() // 1000), 1)
    rows = []
    for rule, counted, lost, moved, shown in (
        ("silent (default)", spend.silent, spend.lost, 0.0, "that the cap was hit, and when"),
        ("replay", spend.replayed, 0.0, spend.moved, "nothing about the cap"),
    ):
        cell, error = spend.worst_cell(counted, least=least)
        rows.append(
            {
                "At the cap": rule,
                "The server learns": shown,
                "Counts lost": percent(lost, 2),
                "Counts moved": percent(moved, 2),
                "Worst cell": f"{100 * error:+.1f} %".replace("-", "\N{MINUS SIGN}") if cell >= 0 else "none",
                "Which (H3)": ids[cell] if cell >= 0 else "",
            }
        )
    return pd.DataFrame(rows)


def not_hidden(view: View) -> None:
    """Say what memory does not hide, with the numbers of this phone and of the crowd."""
    panel = st.expander("What memory does not hide", key="open_pattern", on_change="rerun")
    if not panel.open:
        return
    with panel:
        setting, week = view.setting, view.week
        st.markdown(
            "With memory, the stream of reports is a list of answers, one per cell, and the order in which they are used. For two "
            f"ways through the city **that change cell at the same reports** and have at most K cells, the stream is at most "
            f"e to the K ε = {setting.scenario.epsilon:g} K times as likely under one as under the other. That is the guarantee, and all of it."
        )
        st.markdown(
            "For two ways that change at *different* reports no finite ε holds. A phone that stayed in one cell never sends two "
            "different answers in one epoch: probability 0. One that moved may: probability above 0. So two different answers prove "
            "that it moved, whatever ε is."
        )
        with st.spinner("Following the crowd"):
            spend = get_crowd(setting)
        st.markdown(pattern_words(week, spend))


def pattern_words(week: Week, spend: CrowdSpend) -> str:
    """Return how telling the pattern of changes is."""
    size = spend.draws.size
    stays = (
        "Somebody who knows when a person left home and came back finds their phone by that alone."
        if spend.alone > 0.5
        else "At this cadence most phones share their pattern with others, which is the surest remedy: report less often."
    )
    return (
        f"This phone showed {count_of(week.label_changes, 'change')}. Of {thousands(size)} simulated phones over the same days, "
        f"**{percent(spend.alone)}** have a pattern of changes that no other of them has. {stays} Remedies: one report an epoch; a "
        "fixed slot with its own budget; or saying plainly that the times of moves are not protected."
    )


def real_client(view: View) -> None:
    """Run the same days through the real client, once, on a click."""
    panel = st.expander("The same days on the real client", key="open_real", on_change="rerun")
    if not panel.open:
        return
    with panel:
        setting, week = view.setting, view.week
        st.markdown(
            "What you saw runs the shipped phone and ledger, but with seeded coins in place of the operating system's. This button "
            "runs the shipped client itself. **Its answers cannot be reproduced**, by this link or by anyone, and they are "
            "thrown away after the comparison."
        )
        if st.button("Run the real client once", key="device_run_real"):
            domain = city_domain(setting.city, setting.scenario.resolution)
            cells = get_stays(setting, PHONES_TO_CHOOSE).cells_of(setting.phone)
            with st.spinner("Running the real client"):
                real = real_week(setting.mechanism, cells, setting.schedule, domain_version=domain.version)
            st.markdown(real_words(week, real))


def real_words(seeded: Week, real: Week) -> str:
    """Return how a run of the real client compares with the seeded one."""
    same = bool((real.kinds == seeded.kinds).all() and (real.sent == seeded.sent).all())
    equal = int((real.payloads == seeded.payloads).all(axis=1).sum()) if same else 0
    rules = (
        "At every moment it did the same: drew, repeated, replayed or kept silent"
        if same
        else "It did **not** do the same at every moment, which is a fault: please report it"
    )
    return (
        f"The real client sent {thousands(real.sent_count)} reports and drew {thousands(len(real.payloads))} answers, ε = "
        f"{real.spent[-1]:,.6g}. {rules}. Of its answers, {thousands(equal)} happen to equal the seeded ones to the byte: the coins differ."
    )
