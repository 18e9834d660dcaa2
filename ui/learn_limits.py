"""Steps 7 and 8: again tomorrow; and what local privacy does not protect."""

from __future__ import annotations

import math
from typing import Final

import altair as alt
import pandas as pd
import streamlit as st

from ldpcore.lesson import PHONES, inversion, lesson_generator
from ldpcore.lesson_errors import direct_limit
from ldpcore.lesson_limits import (
    DISTRICTS,
    belief,
    forged_shift,
    named_right,
    observed_right,
    remembered_loss,
    watch,
)
from ldpcore.mechanisms import MECHANISMS, make_mechanism
from ldpcore.privacy.averaging import memo_draws
from ldpcore.privacy.composition import device_loss
from ldpcore.schedule import Schedule
from ldpcore.settings import Scenario
from ui.charts import themed
from ui.controls import note
from ui.glossary import term
from ui.headline import Figure, figures_html
from ui.learn_frame import headline
from ui.learn_link import Place, again_button, number_slider, stop_choice
from ui.learn_map import choose_cell, is_dark
from ui.learn_pictures import Phone, columns, phones
from ui.learn_player import player
from ui.learn_steps import STEPS, Choice, Question
from ui.learn_watch import watch_frames, watch_svg
from ui.number_words import percent, plus_minus, round_significant, signed, thousands, to_error
from ui.odds import odds_ratio
from ui.palettes import tokens
from ui.pipeline import get_release
from ui.schedule import get_schedule

DAYS: Final = 30
DEFAULT_DAYS: Final = 10
MEMORIES: Final = (1, 7, 30)
MEMORY_WORDS: Final = {1: "fresh coins every day", 7: "kept 7 days", 30: "kept 30 days"}
FAKE_STOPS: Final = (0, 10, 100, 1_000, 10_000, 100_000)


def tomorrow(place: Place, scenario: Scenario) -> Question:  # noqa: ARG001 - every step takes both
    """Draw step 7 and return its question."""
    epsilon = scenario.epsilon
    top = st.container()
    left, middle, right = st.columns([0.38, 0.38, 0.24], gap="large", vertical_alignment="bottom")
    with left:
        days = number_slider(
            "repeats",
            "Days in a row",
            default=DEFAULT_DAYS,
            least=1,
            most=DAYS,
            help_text="One report a day about the same district.",
        )
    with middle:
        memory = stop_choice(
            "memory",
            "The phone's answer is",
            MEMORIES,
            default=1,
            show=MEMORY_WORDS.__getitem__,
            help_text="A kept answer is sent again as it is; then the phone tosses new coins.",
        )
    with right:
        toss = again_button(
            "toss", "Another phone", help_text="Another phone with its own district and coins."
        )
    seen = memo_draws(days, reports_per_epoch=memory)
    right_now, first = named_right(epsilon, DISTRICTS, seen), named_right(epsilon, DISTRICTS, 1)
    with top:
        headline(
            STEPS[6],
            f"After {days} {'day' if days == 1 else 'days'} with {_memory_words(memory)}, an observer names the district of "
            f"{100 * right_now:.0f} phones in 100; after one report it is {100 * first:.0f}.",
        )
    note(_which_randomiser(scenario))
    found = watch(epsilon, days=days, memory_days=memory, rng=lesson_generator(scenario, step=7, toss=toss))
    player(
        watch_svg(found, tokens(dark=is_dark())),
        key="learn_watch",
        texts=watch_frames(found, memory_days=memory),
        label=f"One phone's reports over {days} days and what an observer believes of its district after each",
        frame_word="Day",
        dark=is_dark(),
        start=days - 1,
        interval_ms=900,
    )
    hits = observed_right(
        epsilon, reports=seen, phones=PHONES, rng=lesson_generator(scenario, step=7, toss=10**6 + toss)
    )
    total = device_loss(epsilon, Schedule(memo=False), days=seen)
    chance = math.sqrt(right_now * (1 - right_now) / PHONES)
    ratio = seen * make_mechanism("grr", epsilon=epsilon, domain_size=DISTRICTS).epsilon_effective
    st.html(
        "<h2 class=card-name>A hundred phones watched in this way</h2>"
        + phones(
            [Phone(bool(hit)) for hit in sorted(hits, reverse=True)],
            tokens(dark=is_dark()),
            f"100 phones; the district of {int(hits.sum())} of them, filled, was named rightly.",
        )
        + "<p class=quiet>Filled: the observer named the right one of ten districts.</p>"
    )
    st.html(
        figures_html(
            (
                Figure(
                    "Named rightly, of 100 phones",
                    str(int(hits.sum())),
                    f"theory {100 * right_now:.1f} {plus_minus(100 * chance)}",
                    "Simulated phones of this page; the theory is exact.",
                ),
                Figure(
                    "Independent reports seen",
                    str(seen),
                    f"of {days} sent",
                    "Copies of a kept answer say nothing new about which district it is.",
                ),
                Figure(
                    "Privacy loss added up",
                    f"{total.epsilon:g}",
                    total.formula,
                    "Losses of fresh reports add up; a kept answer costs once for as long as it is kept.",
                ),
                Figure(
                    "Odds may change by",
                    f"{_big(ratio)} to 1",
                    "e to that loss",
                    "The promise that is left after these reports.",
                ),
            ),
            map_version=f"tomorrow-{days}-{memory}-{toss}",
        )
    )
    own = device_loss(epsilon, get_schedule(), days=days)
    note(
        f"The dashboard's own schedule, set in the sidebar under Budget, spends at most {own.formula} in {days} days. It is a "
        "bound for the worst device, which may visit new places and see an epoch begin."
    )
    _curves(epsilon)
    st.html(
        f"<p class=lesson>Losses of fresh reports add up ({term('composition', place='tomorrow')}). With "
        f"{term('memoisation', 'memory', place='tomorrow')} the phone sends the same randomised answer again, so an observer "
        f"learns nothing new about which place it is, until a new {term('epoch', place='tomorrow')} begins and coins are tossed "
        "anew. Three things memory does not do. It does not hide that the place changed: two different answers come from two "
        f"places. It does not help a phone that moves: each new place is one more loss, which is why there is a "
        f"{term('cap', place='tomorrow')} on different places per epoch. And a phone that falls silent at its cap says by that "
        "that it moved a lot; one that repeats an old answer instead does not, but counts suffer.</p>"
    )
    fresh_ten = named_right(epsilon, DISTRICTS, 10)
    return Question(
        f"A phone reports its district every day with fresh coins, ε = {epsilon:g} each. What does it give away in ten days?",
        (
            Choice(
                f"ε = {epsilon:g}: each report is protected.",
                False,
                f"Each is, alone. Together they add up to {10 * epsilon:g}: an observer names the district of "
                f"{100 * fresh_ten:.0f} phones in 100 instead of {100 * first:.0f}.",
            ),
            Choice(
                f"Up to ε = {10 * epsilon:g}; remembering its answer would keep an unchanged place at ε = {epsilon:g} within "
                "one epoch.",
                True,
                "Repeated fresh reports of one place average out. A remembered answer says nothing new for as long as it is "
                f"kept, but shows when the place changes, and each epoch begins with new coins. {_ten_days(epsilon)}",
            ),
            Choice(
                "Nothing, because the answers contradict one another.",
                False,
                "The district named most often wins.",
            ),
        ),
    )


def _ten_days(epsilon: float) -> str:
    """Say what ten days of one unchanged place cost under the epoch of the schedule in force."""
    epoch = get_schedule().epoch_days
    least, most = remembered_loss(epsilon, days=10, epoch_days=epoch)
    kept = "a day" if epoch == 1 else f"{epoch} days"
    worst = "" if most == least else f", and where they begin amid one up to ε = {most:g}"
    return f"With an epoch of {kept}, as set in the sidebar, ten days that begin with one come to ε = {least:g}{worst}."


def _which_randomiser(scenario: Scenario) -> str:
    """Say which randomiser the ten districts go through, and why not that of the other steps."""
    direct, own = "Generalised randomised response", MECHANISMS[scenario.mechanism].label.lower()
    limit = direct_limit(scenario.epsilon)
    if scenario.mechanism == "grr":
        return f"{direct}, the randomiser of the steps before, reports the district: one name a report."
    reason = (
        f"With {DISTRICTS} places, fewer than 3e^ε + 2 = {limit:.1f}, it also counts more exactly than optimised unary encoding."
        if limit > DISTRICTS
        else f"With {DISTRICTS} places, not fewer than 3e^ε + 2 = {limit:.1f}, it counts no more exactly than optimised unary "
        "encoding; step 6 says why."
    )
    return (
        f"{direct}, not {own} as in the steps before, reports the district: it sends one name, so what an observer learns "
        f"can be read off each report. {reason}"
    )


def _memory_words(memory: int) -> str:
    return "fresh coins every day" if memory == 1 else f"an answer kept for {memory} days"


def _big(log_ratio: float) -> str:
    """Write e to a number, which may be beyond any word for it."""
    if log_ratio > math.log(1e12):
        return f"10^{log_ratio / math.log(10):.0f}"
    ratio = math.exp(log_ratio)
    for size, word in ((1e9, "billion"), (1e6, "million")):
        if ratio >= size:
            return f"{ratio / size:.3g} {word}"
    return thousands(round_significant(ratio, 3)) if ratio > 100 else f"{ratio:.3g}"


def _curves(epsilon: float) -> None:
    colours = tokens(dark=is_dark())
    rows = [
        {
            "Day": day,
            "Answer": MEMORY_WORDS[memory],
            "Named rightly": named_right(epsilon, DISTRICTS, memo_draws(day, reports_per_epoch=memory)),
        }
        for memory in MEMORIES
        for day in range(1, DAYS + 1)
    ]
    frame = pd.DataFrame(rows)
    base = alt.Chart(frame).encode(
        x=alt.X(
            "Day:Q",
            title="Days in a row",
            scale=alt.Scale(domain=[1, DAYS]),
            axis=alt.Axis(grid=False, values=[1, 5, 10, 15, 20, 25, 30]),
        ),
        y=alt.Y(
            "Named rightly:Q",
            title="Named rightly",
            scale=alt.Scale(domain=[0, 1]),
            axis=alt.Axis(format="%", tickCount=5),
        ),
        color=alt.Color(
            "Answer:N",
            legend=None,
            scale=alt.Scale(
                domain=list(MEMORY_WORDS.values()), range=[colours.accent, colours.quiet, colours.text]
            ),
        ),
        tooltip=[
            alt.Tooltip("Day:Q"),
            alt.Tooltip("Answer:N"),
            alt.Tooltip("Named rightly:Q", format=".1%"),
        ],
    )
    ends = frame[frame["Day"] == DAYS]
    labels = (
        alt.Chart(ends)
        .mark_text(align="right", dy=-9, dx=-2)
        .encode(x="Day:Q", y="Named rightly:Q", text="Answer:N", color=alt.value(colours.text))
    )
    st.altair_chart(
        themed(
            alt.layer(base.mark_line(strokeWidth=2, interpolate="step-after"), labels), colours, height=220
        ),
        width="stretch",
        theme=None,
    )
    with st.expander("The same as a table"):
        st.dataframe(
            frame.pivot_table(index="Day", columns="Answer", values="Named rightly").round(4).reset_index(),
            hide_index=True,
            width="stretch",
        )


def limits(place: Place, scenario: Scenario) -> Question:  # noqa: ARG001 - every step takes both
    """Draw step 8 and return its question."""
    epsilon = scenario.epsilon
    top = st.container()
    st.html("<h2 class=card-name>1. What somebody knew before</h2>")
    note(_which_randomiser(scenario))
    prior = (
        number_slider(
            "belief",
            "Belief before that the phone is at home, of 100",
            default=round(100 / DISTRICTS),
            least=1,
            most=99,
            help_text=f"10 of 100: nothing is known, each of {DISTRICTS} districts is as likely.",
        )
        / 100
    )
    home, away = belief(epsilon, prior=prior)
    direct = make_mechanism("grr", epsilon=epsilon, domain_size=DISTRICTS)
    with top:
        headline(
            STEPS[7],
            f"An observer who held a district for {100 * prior:.0f} in 100 holds it for {100 * home:.0f} in 100 after one report "
            f"that names it; at even odds before, it is {100 * belief(epsilon, prior=0.5)[0]:.0f}.",
        )
    colours = tokens(dark=is_dark())
    left, right = st.columns([0.55, 0.45], gap="large")
    filled = round(100 * home)
    left.html(
        phones(
            [Phone(number < filled) for number in range(PHONES)],
            colours,
            f"100 phones whose report names one district; {filled}, filled, are really there.",
        )
        + f"<p class=quiet>Of 100 phones whose report names this district, {filled} are really there (filled).</p>"
    )
    right.html(
        columns(
            [
                ("before any report", prior, percent(prior)),
                ("report names it", home, percent(home)),
                ("names another", away, percent(away)),
            ],
            most=1.0,
        )
    )
    st.html(
        f"<p class=lesson>With ten districts and nothing known before, the {term('posterior', place='limits')} is "
        f"{percent(belief(epsilon, prior=1 / DISTRICTS)[0])}. That number is not the promise: it depends on the belief before. "
        f"The promise of ε = {epsilon:g} is the factor, at most {odds_ratio(direct)} to 1 on the odds, and it holds for every "
        "belief. A small list of places leaks more to a good guesser than a long one.</p>"
    )
    forged_sentence = _modified_client(scenario)
    st.html(
        "<h2 class=card-name>3. The envelope</h2><p class=lesson>A randomised report still comes at a time, from a network "
        "address, perhaps with an account, and with a size. When a phone reports, how often, and from where on the network "
        "is not randomised. All reports here have one size and a phone outside the area sends a report too; the rest needs "
        f"a relay or a shuffler ({term('shuffle_model', place='limits')}), who then has to be trusted.</p>"
        "<h2 class=card-name>4. What it costs to trust nobody</h2><p class=lesson>A server that may see every true place could "
        "add noise once and publish counts with an error that does not grow with the phones. Here every phone adds its own, "
        "and the error grows like √n. That is the price of a server that never holds a place; the two promises are against "
        "different observers, so their ε are not to be compared as numbers.</p>"
    )
    return Question(
        f"A report under ε = {epsilon:g} names a district. When is the observer nearly sure the phone is there?",
        (
            Choice("Never: ε keeps everybody below one half.", False, "ε bounds a factor, not the result."),
            Choice(
                "When they held it for likely before: the factor is bounded, the belief is not.",
                True,
                f"From 50 in 100 the report leads to {100 * belief(epsilon, prior=0.5)[0]:.0f}, from 90 in 100 to "
                f"{100 * belief(epsilon, prior=0.9)[0]:.0f}. {forged_sentence}",
            ),
            Choice(
                "Always: it says so in the report.", False, "A report names other districts by chance, too."
            ),
        ),
    )


def _modified_client(scenario: Scenario) -> str:
    """Draw what forged reports do to a cell, and return one sentence about it."""
    release = get_release(scenario)
    st.html("<h2 class=card-name>2. A modified client</h2>")
    left, right = st.columns(2, gap="large", vertical_alignment="bottom")
    with left:
        cell = choose_cell(release.population, key="learn_forged_cell", label="Cell they report")
    with right:
        fakes = stop_choice(
            "fakes",
            "Forged reports",
            FAKE_STOPS,
            default=1_000,
            show=thousands,
            help_text="Phones whose software was changed: they all point to this cell and to nothing else.",
        )
    found = inversion(release, cell)
    shift = forged_shift(release.mechanism)
    counts = release.mechanism.support(release.counts, n=found.reports)
    forged = (int(counts[cell]) + fakes - (found.reports + fakes) * found.q) / found.gap
    st.html(
        figures_html(
            (
                Figure(
                    "Estimate without them",
                    f"{to_error(found.estimate, found.std_error)} {plus_minus(found.std_error)}",
                    f"truth {thousands(found.truth)}",
                    "Devices; one standard error.",
                ),
                Figure(
                    "Estimate with them",
                    f"{to_error(forged, found.std_error)} {plus_minus(found.std_error)}",
                    f"{signed(forged - found.estimate)} devices",
                    "The server counts the forged reports like any other.",
                ),
                Figure(
                    "One forged report adds",
                    f"{shift:.2f} devices",
                    f"(1 − q) ÷ (p − q) = {1 - found.q:.4f} ÷ {found.gap:.4f}",
                    "An honest phone in the cell adds 1 on average, one elsewhere 0.",
                ),
                Figure(
                    "In standard errors",
                    f"{(forged - found.estimate) / found.std_error:.1f}",
                    f"{100 * fakes / (found.reports + fakes):.2g} % of all reports",
                    "From about 2 on, the false count shows above the noise.",
                ),
            ),
            map_version=f"forged-{fakes}",
        )
    )
    st.html(
        f"<p class=lesson>A phone whose software was changed need not toss a coin: this is {term('poisoning', place='forged')}. "
        "A report says nothing of whether its coins were fair. A server can refuse one that honest phones would hardly ever "
        "send, such as one with far too few marks; one that was forged with care it can't tell. The owner of such a phone loses "
        "the protection, and everybody else the count.</p>"
    )
    return f"A modified phone is the other limit: each forged report adds {shift:.2f} devices here."
