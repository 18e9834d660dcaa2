"""The averaging attack of the Device page: beliefs on the map after t reports, and success over time."""

from __future__ import annotations

from dataclasses import replace
from html import escape
from typing import Final

import numpy as np
import pandas as pd
import streamlit as st

from ldpcore.privacy.averaging import Success, exact_success, reports_until, simulated_success
from ldpcore.privacy.posterior import cells_holding
from ldpcore.shapes import ByteArray, CellArray, FloatArray
from ldpcore.trips.cities import CITIES, city_area, city_domain, city_land_geojson
from ui import assets
from ui.controls import note
from ui.device_charts import success_chart
from ui.device_data import (
    AFTER,
    DAYS,
    PRIORS,
    TRIALS,
    Attack,
    Curve,
    Setting,
    get_attack,
    get_curve,
    home_of,
    prior_of,
    without_cap,
)
from ui.device_parts import PRIOR_KEY, View, figures, is_dark, share_here
from ui.explore_map import MAX_DRAWN, cell_bounds, drawable_parents
from ui.hex_map import HoverColumn, Panel, hex_map
from ui.link import remember_link
from ui.number_words import count_of, percent, thousands
from ui.palettes import RAMP_SIZE, RAMPS, tokens
from ui.scenario import get_settings
from ui.view_choice import keep_choice, open_choice, whole_of

MAP_KEY: Final = "device_map"
AFTER_KEY: Final = "device_after"
_PLAYING: Final = "_device_playing"
_STEP_S: Final = 0.9
_BREAKS: Final = (0.0, 0.01, 0.1, 0.25, 0.5, 1.0)
_DEFAULT_AFTER: Final = 30


def attack_map(view: View) -> None:
    """Draw the map of beliefs with its slider; while it plays, this part alone runs again and again."""
    open_choice(
        "after",
        AFTER_KEY,
        default=_DEFAULT_AFTER,
        read=whole_of(AFTER),
        must="one of " + ", ".join(map(str, AFTER)),
    )
    playing = bool(st.session_state.get(_PLAYING))
    # What a step of the animation does is told from what a run of the page does by this mark.
    st.session_state["_device_page_run"] = True
    st.fragment(_beliefs, run_every=_STEP_S if playing else None)(view)


def _beliefs(view: View) -> None:
    state = st.session_state
    if state.get(_PLAYING) and not state.pop("_device_page_run", False):
        place = AFTER.index(state[AFTER_KEY])
        if place + 1 < len(AFTER):
            state[AFTER_KEY] = AFTER[place + 1]
        else:
            state[_PLAYING] = False
            st.rerun()
    state.pop("_device_page_run", None)
    setting = view.setting
    attack = get_attack(setting, home_of(view.week))
    shown = st.container()
    left, right = st.columns([0.82, 0.18], gap="medium", vertical_alignment="bottom")
    with left:
        after = st.select_slider(
            "Reports the observer has read, all sent from the phone's home cell",
            AFTER,
            key=AFTER_KEY,
            format_func=thousands,
            help="2,016 is a week of one every five minutes.",
        )
    with right:
        st.button(
            "Stop" if state.get(_PLAYING) else "Play",
            key="device_play",
            on_click=_toggle,
            width="stretch",
            help="Let the number of reports grow by itself.",
        )
    if state.pop("_device_toggled", False):
        st.rerun()
    keep_choice("after", after, _DEFAULT_AFTER)
    step = AFTER.index(after)
    with shown:
        version = _map(view, attack, step)
        st.html(_legend())
    st.markdown(belief_words(setting, attack, step))
    fresh, memo = success_after(setting, after, attack.draws[step], attack.home)
    figures(
        view,
        fresh_success=fresh,
        memo_success=f"fresh, after {count_of(after, 'report')}; with memory {memo}",
        map_version=version,
    )
    remember_link(get_settings())


def _toggle() -> None:
    state = st.session_state
    state[_PLAYING] = not state.get(_PLAYING, False)
    state["_device_toggled"] = True
    if state[_PLAYING] and state[AFTER_KEY] == AFTER[-1]:
        state[AFTER_KEY] = AFTER[0]


def belief_words(setting: Setting, attack: Attack, step: int) -> str:
    """Return what the observer believes, in words."""
    after, draws, home = attack.after[step], attack.draws[step], attack.home
    fresh, memo = attack.fresh[step], attack.memo[step]
    span = span_words(after, setting.schedule.reports_a_day)
    return (
        f"After **{count_of(after, 'report')}** from home ({span} at this cadence), somebody who knows the randomiser holds the "
        f"true cell for **{_chance(float(fresh[home]))}** likely if each answer was drawn afresh; "
        f"95 % of their belief lies in {count_of(cells_holding(fresh), 'cell')} of {thousands(fresh.size)}. With memory the phone gave "
        f"{count_of(draws, 'different answer')} in that time, and they are left at **{_chance(float(memo[home]))}**: 95 % lies in "
        f"{count_of(cells_holding(memo), 'cell')}."
    )


def _chance(probability: float) -> str:
    """Write a probability of any size; certainty is never claimed."""
    if probability > 0.9995:
        return "over 99.9\N{NARROW NO-BREAK SPACE}%"
    if probability >= 0.01:
        return percent(probability)
    return (
        f"{100 * probability:.2g}\N{NARROW NO-BREAK SPACE}%"
        if probability > 1e-6
        else "next to 0\N{NARROW NO-BREAK SPACE}%"
    )


def span_words(reports: int, reports_a_day: int) -> str:
    """Return how long a phone takes for so many reports, in the largest unit that fits.

    >>> span_words(30, 288), span_words(2016, 288), span_words(2016, 1)
    ('2.5 hours', '7 days', '5.5 years')
    """
    days = reports / reports_a_day
    for size, unit in ((365.25, "year"), (1.0, "day"), (1 / 24, "hour"), (1 / 1440, "minute")):
        if days >= size:
            number = f"{days / size:.2g}" if days / size < 100 else f"{days / size:,.0f}"
            return f"{number} {unit}" if number == "1" else f"{number} {unit}s"
    return "under a minute"


def success_after(setting: Setting, after: int, draws: int, home: int) -> tuple[str, str]:
    """Return how often the guess is right after so many reports, fresh and with memory, in words."""
    bare = replace(without_cap(setting), phone=0, days=DAYS[0])
    return tuple(_success_words(bare, count, home) for count in (after, draws))  # type: ignore[return-value]


def _success_words(setting: Setting, count: int, home: int) -> str:
    exact, played = _success(setting, count, home)
    if exact is not None:
        return _chance(exact)
    if played is None:
        return "not computed"
    return f"{percent(played.share, 0)} (±{100 * (played.high - played.low) / 2:.0f})"


@st.cache_data(max_entries=512, show_spinner=False)
def _success(setting: Setting, count: int, home: int) -> tuple[float | None, Success | None]:
    """Return the exact success where every cell is equally likely and a form is known, else a simulated one."""
    mechanism = setting.mechanism
    prior = prior_of(setting, home)
    exact = exact_success(mechanism, count) if prior is None else None
    if exact is not None:
        return exact, None
    trials = max(60, min(TRIALS, 1_000_000 // mechanism.domain_size))
    rng = np.random.default_rng(np.random.SeedSequence(setting.scenario.seed, spawn_key=(14, count)))
    return None, simulated_success(mechanism, count, trials=trials, rng=rng, prior=prior)


# -- the map -------------------------------------------------------------------------------------


def _map(view: View, attack: Attack, step: int) -> str:
    setting = view.setting
    domain = city_domain(setting.city, setting.scenario.resolution)
    area = city_area(setting.city)
    columns = (share_here(view), attack.fresh[step], attack.memo[step])
    cells: CellArray = domain.cells
    if domain.size > MAX_DRAWN:
        _, cells, parent_of = drawable_parents(domain)
        columns = tuple(  # type: ignore[assignment]
            np.bincount(parent_of, weights=column, minlength=cells.size) for column in columns
        )
    after, draws = attack.after[step], attack.draws[step]
    titles = (
        ("place", "Where it was", "share of its time, the truth"),
        ("fresh", "Believed, fresh answers", f"{count_of(after, 'answer')} read"),
        (
            "memo",
            "Believed, with memory",
            f"{count_of(draws, 'answer')} read, {thousands(after - draws)} repeats",
        ),
    )
    panels = tuple(
        Panel(
            id=name, title=title, subtitle=subtitle, index=_index(values), ramp=RAMPS["counts"], hatch=False
        )
        for (name, title, subtitle), values in zip(titles, columns, strict=True)
    )
    hover = tuple(
        HoverColumn(label=title, values=np.round(100 * values.astype(np.float64), 3), unit="%")
        for (_, title, _), values in zip(titles, columns, strict=True)
    )
    state = hex_map(
        key=MAP_KEY,
        domain_version=domain.version if cells is domain.cells else f"{domain.version}/drawn",
        cells=cells,
        panels=panels,
        bounds=cell_bounds(cells),
        view_key=f"{area.name} {area.bounds}",
        columns=hover,
        dark=is_dark(),
        attribution=area.attribution,
        land_url=assets.publish_land(setting.city, city_land_geojson(setting.city)),
        height=380,
        place=CITIES[setting.city].label,
    )
    return state.version


def _index(shares: FloatArray) -> ByteArray:
    """Return colours on a square-root scale from 0 to 1, the same for all panels and all steps."""
    index: ByteArray = np.rint(np.sqrt(np.clip(shares, 0.0, 1.0)) * (RAMP_SIZE - 1)).astype(np.uint8)
    return index


def _legend() -> str:
    dark = is_dark()
    theme = tokens(dark=dark)
    stops = np.rint(np.linspace(0, RAMP_SIZE - 1, 17)).astype(int)
    ramp = ",".join(RAMPS["counts"].css(int(at), dark=dark) for at in stops)
    labels = "".join(
        f'<span style="position:absolute;left:{100 * share**0.5:.1f}%;transform:translateX({shift});white-space:nowrap">'
        f"{100 * share:g}{' %' if share == 1 else ''}</span>"
        for share in _BREAKS
        for shift in ["0" if share == 0 else "-100%" if share == 1 else "-50%"]
    )
    title = "Share of time, and probability in the observer's eyes"
    return (
        '<div role="group" aria-label="Legend" data-testid="legend" style="font-size:14px;line-height:1.35;'
        f'font-variant-numeric:tabular-nums;color:{theme.text}"><div style="font-weight:600;margin-bottom:4px">'
        f'{escape(title)}</div><div style="position:relative;width:264px;max-width:100%"><div style="height:14px;'
        f"border-radius:4px;box-sizing:border-box;border:1px solid {theme.grid};background:linear-gradient(90deg,{ramp})"
        f'"></div><div style="position:relative;height:20px;margin-top:4px">{labels}</div></div></div>'
    )


def belief_table(view: View) -> None:
    """Offer the map's numbers as a table and as a file."""
    panel = st.expander("The maps as a table", key="open_beliefs", on_change="rerun")
    if not panel.open:
        return
    with panel:
        setting = view.setting
        attack = get_attack(setting, home_of(view.week))
        step = AFTER.index(st.session_state.get(AFTER_KEY, _DEFAULT_AFTER))
        ids = city_domain(setting.city, setting.scenario.resolution).cell_ids()
        table = pd.DataFrame(
            {
                "cell": ids,
                "time_here": share_here(view),
                "believed_fresh": attack.fresh[step].astype(np.float64),
                "believed_memory": attack.memo[step].astype(np.float64),
            }
        ).sort_values(["time_here", "believed_fresh"], ascending=False)
        note(f"After {count_of(AFTER[step], 'report')}. The phone's home is the first row.")
        st.dataframe(
            table.head(100),
            hide_index=True,
            width="stretch",
            column_config={
                "cell": "Cell (H3)",
                "time_here": st.column_config.NumberColumn("Time here", format="percent"),
                "believed_fresh": st.column_config.NumberColumn("Believed, fresh", format="percent"),
                "believed_memory": st.column_config.NumberColumn("Believed, with memory", format="percent"),
            },
        )
        st.download_button(
            "All cells (CSV)",
            data=lambda: table.to_csv(index=False).encode(),
            file_name="beliefs.csv",
            mime="text/csv",
            on_click="ignore",
        )


# -- success over time ---------------------------------------------------------------------------


def knowledge() -> None:
    """Draw the choice of what the observer knows before the first report."""
    st.selectbox(
        "The observer knows beforehand",
        list(PRIORS),
        format_func=PRIORS.__getitem__,
        key=PRIOR_KEY,
        help="The prior. Epsilon bounds how far a report moves the odds from it, whatever it is.",
    )


def success_curves(view: View) -> None:
    """Draw the success of the averaging attack over the years, fresh against remembered."""
    panel = st.expander("Averaging: from five minutes to ten years", key="open_curve", on_change="rerun")
    if not panel.open:
        return
    with panel:
        setting = view.setting
        curve = get_curve(setting)
        st.markdown(curve_words(setting, curve))
        lines, dots = curve_frames(curve)
        st.altair_chart(
            success_chart(lines, dots, marks=_marks(setting, curve), dark=is_dark()),
            width="stretch",
            theme=None,
        )
        trials = next((played.trials for played in curve.played_fresh if played), 0)
        theory = (
            "Lines: exact"
            + (", under an ideal hash" if setting.scenario.mechanism in {"olh", "blh"} else "")
            + ". "
            if curve.exact
            else "No exact form is known for this randomiser beyond one report, so there is no line. "
        )
        note(
            f"{theory}Dots: {thousands(trials)} simulated phones each, with 95 % intervals. Every cell equally likely before; "
            "a guess among equals counts its share."
        )
        table = pd.concat([lines.assign(how="exact"), dots.assign(how="simulated")], ignore_index=True)
        st.dataframe(
            # An exact value has no interval: nothing is written there.
            table.assign(
                **{
                    end: ["" if np.isnan(value) else percent(value) for value in table[end].astype(float)]
                    for end in ("low", "high")
                }
            ),
            hide_index=True,
            width="stretch",
            height=220,
            column_config={
                "kind": "Answers",
                "reports": st.column_config.NumberColumn("Reports", format="localized"),
                "success": st.column_config.NumberColumn("Guess is right", format="percent"),
                "how": "How it is known",
                "low": "95 % from",
                "high": "95 % to",
            },
        )
        st.download_button(
            "Curves (CSV)",
            data=lambda: table.to_csv(index=False).encode(),
            file_name="averaging.csv",
            mime="text/csv",
            on_click="ignore",
        )


def curve_frames(curve: Curve) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the lines and the dots of the chart."""
    lines = pd.concat(
        [
            pd.DataFrame({"kind": kind, "reports": curve.reports, "success": values}).dropna()
            for kind, values in (("fresh answers", curve.fresh), ("with memory", curve.memo))
        ],
        ignore_index=True,
    )
    if not curve.exact:
        lines = lines.iloc[:0]
    dots = pd.DataFrame(
        [
            ("fresh answers", count, played.share, played.low, played.high)
            for count, played in zip(curve.played, curve.played_fresh, strict=True)
            if played is not None
        ],
        columns=["kind", "reports", "success", "low", "high"],
    )
    return lines, dots


def curve_words(setting: Setting, curve: Curve) -> str:
    """Return what the curves say."""
    a_day, epoch = setting.schedule.reports_a_day, setting.schedule.epoch_days
    needed = reports_until(setting.mechanism, 0.95) if curve.exact else None
    rule = (
        "Noise that is drawn anew with every report averages out; noise that is drawn once and remembered does not. But "
        "memory ends with its epoch: each new epoch is one fresh report, so the same attack comes back at the rate of epochs."
    )
    if needed is None:
        return rule
    years = needed * epoch / 365.25
    slow = f"{years:,.1f} years" if years >= 2 else count_of(needed * epoch, "day")
    return (
        f"{rule} Here the home cell is named right with 95 % after **{count_of(needed, 'fresh report')}**, which is "
        f"{span_words(needed, a_day)} at this cadence. With memory it takes as many epochs of {count_of(epoch, 'day')}: **{slow}**. "
        "An answer that is never drawn anew would hold for ever, but it would also name the phone for ever: equal bytes, same phone."
    )


def _marks(setting: Setting, curve: Curve) -> pd.DataFrame:
    a_day = setting.schedule.reports_a_day
    spans = [("a day", 1), ("a week", 7), ("a year", 365)]
    rows = [(days * a_day, name) for name, days in spans if 1 < days * a_day <= curve.reports[-1]]
    return pd.DataFrame(rows, columns=["reports", "name"])
