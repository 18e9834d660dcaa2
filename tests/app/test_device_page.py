"""The Device page without a browser: the sentence, the figures, the choices in the link, and what each part says."""

from __future__ import annotations

import math
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from ldpcore.privacy.averaging import exact_success
from ldpcore.privacy.posterior import posterior
from ldpcore.schedule import Schedule
from ldpcore.settings import DEFAULT, Scenario
from ldpcore.week import FRESH, SILENT
from ui.device_attack import curve_frames, span_words
from ui.device_crowd import cap_table, crowd_words, real_words, spend_counts
from ui.device_data import (
    AFTER,
    days_offered,
    get_attack,
    get_crowd,
    get_curve,
    get_stays,
    get_week,
    home_of,
    setting_of,
)
from ui.device_parts import View, headline
from ui.device_timeline import answer_names, changes, every_report, place_letters, segments_of

ROOT = Path(__file__).resolve().parents[2]
PARTS = ("open_beliefs", "open_pattern", "open_curve", "open_crowd", "open_beside", "open_real")
OFTEN = Schedule(reports_a_day=288)


def open_page(*parts: str, **params: str) -> AppTest:
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=180)
    for name, value in params.items():
        app.query_params[name] = value
    app.run()
    app.switch_page("pages/device.py")
    for part in parts:
        app.session_state[part] = True
    return app.run()


def page_text(app: AppTest) -> str:
    texts = [element.proto.body.replace("\N{NO-BREAK SPACE}", " ") for element in app.get("html")]
    return " ".join(texts + [element.value for element in (*app.markdown, *app.caption)])


def view_of(schedule: Schedule = OFTEN, *, phone: int = 0, days: int = 7, **changes_: object) -> View:
    scenario = Scenario(**{"city": "helsinki", **changes_})  # type: ignore[arg-type]
    setting = setting_of(scenario, schedule, phone=phone, days=days, prior="")
    return View(setting, get_week(setting))


@pytest.fixture(scope="module")
def app() -> AppTest:
    return open_page(*PARTS, reports_a_day="288")


def test_the_first_sentence_and_the_four_figures(app: AppTest) -> None:
    assert not app.exception
    assert not app.error
    text = page_text(app)
    assert (
        "This phone reported 2,016 times in the week, from 9 cells. Fresh answers would spend ε = 4,032; with memory and "
        "a cap of 10 it spends at most 18, for which cells they were, not when it moved."
    ) in text
    assert '<span class="value">9 of 10</span>' in text
    assert "9 answers × ε 2; all fresh: 4,032" in text
    # What a best guess reaches after 30 reports and after one, from the core.
    mechanism = setting_of(DEFAULT, OFTEN, phone=0, days=7, prior="").mechanism
    fresh, memo = exact_success(mechanism, 30), exact_success(mechanism, 1)
    assert fresh is not None
    assert memo is not None
    assert f'<span class="value">{100 * fresh:.1f}\N{NARROW NO-BREAK SPACE}%' in text
    assert f"with memory {100 * memo:.1f}\N{NARROW NO-BREAK SPACE}%" in text


def test_the_parts_say_what_they_must(app: AppTest) -> None:
    text = page_text(app)
    for words in (
        "**The two have the same shape.**",
        "no finite ε holds",
        "comes back at the rate of epochs",
        "**Silence is a message.**",
        "**Replay hides both**",
        "**Its answers cannot be reproduced**",
        "**Who can't be protected this way**",
        "288 × 2 = 576 a day",
        "at most 10 × 2 = 20",
    ):
        assert words in text, words
    beside = app.table[0].value
    assert {"The network address (IP)", "The client build", "The schedule", "The phone's clock"} <= set(
        beside.index
    )
    assert "anonym" not in text.lower() + " ".join(map(str, beside.to_numpy().ravel())).lower()
    assert "!" not in " ".join(element.value for element in app.markdown)


def test_every_choice_is_in_the_link_and_comes_back() -> None:
    app = open_page(city="helsinki", reports_a_day="24")
    app.number_input(key="device_phone").set_value(7).run()
    app.select_slider(key="device_after").set_value(100).run()
    app.selectbox(key="device_prior").set_value("half").run()
    app.session_state["device_days"] = 14
    app.run()
    assert not app.exception
    link = {name: value[0] if isinstance(value, list) else value for name, value in app.query_params.items()}
    assert {name: link[name] for name in ("phone", "days", "after", "prior", "reports_a_day")} == {
        "phone": "7",
        "days": "14",
        "after": "100",
        "prior": "half",
        "reports_a_day": "24",
    }
    again = open_page(**link)
    assert page_text(again) == page_text(app)


@pytest.mark.parametrize(
    "broken",
    [
        {"phone": "9999", "days": "8", "after": "31", "prior": "all"},
        {"phone": "x", "days": "-7", "after": "1e3"},
    ],
)
def test_a_link_that_somebody_edited_still_opens(broken: dict[str, str]) -> None:
    app = open_page(city="helsinki", **broken)
    assert not app.exception
    assert "This phone reported 7 times in the week" in page_text(app)
    assert not {"phone", "days", "after", "prior"} & set(app.query_params)


@pytest.mark.parametrize(
    "params",
    [
        {"memo": "0"},
        {"cap": "2", "at_cap": "replay", "epoch_days": "1", "days": "28"},
        {"mechanism": "ss", "prior": "city"},
        {"mechanism": "she", "resolution": "6"},
        {"mechanism": "hr", "options": "blocks=4"},
        {"reports_a_day": "1440"},
        {"resolution": "10"},
    ],
)
def test_every_part_of_the_page_works_at(params: dict[str, str]) -> None:
    app = open_page(*PARTS, **{"city": "helsinki", "reports_a_day": "288", **params})
    assert not app.exception
    assert not app.error


def test_the_cadence_is_the_schedules() -> None:
    app = open_page(city="helsinki")
    app.session_state["device_cadence"] = "Every hour"
    assert app.session_state["schedule"].reports_a_day == 1
    assert days_offered(1440) == (7,)
    assert days_offered(288) == (7, 14, 28)


def test_headlines() -> None:
    fresh = view_of(Schedule(reports_a_day=288, memo=False), epsilon=1.0)
    assert "drew a fresh answer each time. It spent ε = 2,016, which guarantees nothing." in headline(fresh)
    capped = next(
        view
        for phone in range(50)
        if (view := view_of(Schedule(reports_a_day=288, cap=2), phone=phone)).week.count(SILENT)
    )
    silent = capped.week.count(SILENT)
    assert f"It reported {2016 - silent:,} times and fell silent {silent:,} time" in headline(capped)
    assert "spends at most 4, for which cells" in headline(capped)
    replayed = View(
        setting := setting_of(
            Scenario(city="helsinki"),
            Schedule(reports_a_day=288, cap=2, at_cap="replay"),
            phone=capped.setting.phone,
            days=7,
            prior="",
        ),
        get_week(setting),
    )
    assert f"It reported 2,016 times; {silent:,} of these repeat an older answer" in headline(replayed)


def test_the_timeline_and_its_table_tell_one_story() -> None:
    view = view_of(Schedule(reports_a_day=288, cap=1000))
    week = view.week
    rows = every_report(view)
    assert len(rows) == 2016
    assert rows["epsilon"].iloc[-1] == 2 * week.count(FRESH)
    assert rows["epsilon_fresh"].iloc[-1] == 4032
    stretches = changes(view)
    assert stretches["reports"].sum() == 2016
    assert stretches["answer"].ne(stretches["answer"].shift()).all()
    # Letters and numbers both follow the first appearance, so with a memory they run side by side.
    assert place_letters(week)[0] == "A"
    assert answer_names(week)[0] == "1"
    segments = segments_of(view)
    places, answers = (segments[segments["picture"] == picture] for picture in ("place", "answer"))
    assert places["start"].tolist() == answers["start"].tolist()
    assert (places["end"] - places["start"]).sum().days == 7


def test_the_attack_is_bayes_on_the_reports_of_the_link() -> None:
    view = view_of(epsilon=1.0)
    home = home_of(view.week)
    attack = get_attack(view.setting, home)
    assert attack.after == AFTER
    assert set(attack.draws) == {1}
    assert (attack.memo == attack.memo[0]).all()
    # One report: its posterior takes two values for a unary encoding, e apart.
    assert attack.fresh[0].max() / attack.fresh[0].min() == pytest.approx(math.e, rel=1e-5)
    assert attack.fresh[-1].argmax() == home
    assert attack.fresh.sum(axis=1) == pytest.approx(np.ones(len(AFTER)), rel=1e-5)
    # Once a day with epochs of a week, 2,016 days are 288 epochs, so memory gives way too.
    slow = setting_of(Scenario(city="helsinki", epsilon=1.0), Schedule(), phone=0, days=7, prior="")
    assert get_attack(slow, home).draws[-1] == 288
    mechanism = view.setting.mechanism
    one = mechanism.privatize([home], rng=np.random.default_rng(3))
    assert posterior(mechanism, one).max() <= math.e / mechanism.domain_size * 1.5


def test_the_curves_are_the_cores() -> None:
    setting = setting_of(
        Scenario(city="helsinki"), Schedule(reports_a_day=288), phone=3, days=7, prior="half"
    )
    curve = get_curve(setting)
    mechanism = setting.mechanism
    assert curve.exact
    for place in (0, 5, 10):
        count = int(curve.reports[place])
        assert curve.fresh[place] == pytest.approx(exact_success(mechanism, count))
    assert curve.memo[0] == curve.fresh[0]
    assert curve.memo[curve.reports <= 2016] == pytest.approx(curve.fresh[0])
    assert curve.reports[-1] == 288 * 3650
    lines, dots = curve_frames(curve)
    assert set(lines["kind"]) == {"fresh answers", "with memory"}
    # Fixed seed; 95 % intervals, all of which hold here.
    for row in dots.itertuples():
        truth = exact_success(mechanism, row.reports)
        assert truth is not None
        assert row.low - 0.02 <= truth <= row.high + 0.02
    hadamard = get_curve(
        setting_of(Scenario(city="helsinki", mechanism="hrr"), OFTEN, phone=0, days=7, prior="")
    )
    assert not hadamard.exact
    assert len(curve_frames(hadamard)[0]) == 0


def test_the_crowd() -> None:
    view = view_of(Schedule(reports_a_day=24, cap=3))
    spend = get_crowd(view.setting)
    counts = spend_counts(view.setting, spend)
    assert counts["phones"].sum() == 10_000
    assert counts["epsilon"].max() == 6
    table = cap_table(view.setting, spend)
    assert table["Counts lost"].tolist()[1] == "0.00\N{NARROW NO-BREAK SPACE}%"
    assert table["Counts moved"].tolist()[0] == "0.00\N{NARROW NO-BREAK SPACE}%"
    assert spend.lost > spend.moved > 0
    # The crowd's first phones are those that can be chosen.
    chosen = get_stays(view.setting, 500)
    assert (chosen.cells_of(17) == get_stays(view.setting, 10_000).cells_of(17)).all()


def test_the_real_client_is_compared_and_not_kept() -> None:
    view = view_of(Schedule(reports_a_day=24))
    words = real_words(view.week, view.week)
    assert "At every moment it did the same" in words
    app = open_page("open_real", city="helsinki", reports_a_day="24")
    app.button(key="device_run_real").click().run()
    assert not app.exception
    assert "At every moment it did the same: drew, repeated, replayed or kept silent." in page_text(app)


@pytest.mark.parametrize(
    ("reports", "a_day", "words"),
    [
        (30, 288, "2.5 hours"),
        (1, 288, "5 minutes"),
        (2016, 288, "7 days"),
        (1, 1, "1 day"),
        (2016, 1, "5.5 years"),
    ],
)
def test_span_words(reports: int, a_day: int, words: str) -> None:
    assert span_words(reports, a_day) == words


def test_what_a_link_says_wrongly_is_named_on_the_page() -> None:
    app = open_page(phone="-1", days="9999", prior="<b>x", after="nan")
    assert not app.exception
    said = " ".join(entry.value for entry in app.main.warning)
    for name in ("phone", "days", "prior", "after"):
        assert f"The setting {name} of the link must be" in said
    assert "`'<b>x'`" in said


@pytest.mark.parametrize(
    ("draws", "words"),
    [
        # 31 of 100 phones share the greatest total, so no tenth can be cut off.
        ([1] * 69 + [5] * 31, "31\u202f% spend the most, 20,"),
        ([*range(1, 101)], "11\u202f% spend 360 or more,"),
    ],
)
def test_the_crowds_upper_tenth_is_counted(draws: list[int], words: str) -> None:
    setting = SimpleNamespace(scenario=Scenario(epsilon=4.0), schedule=Schedule(), days=7)
    spend = SimpleNamespace(draws=np.array(draws), over_cap=0.25)
    assert words in crowd_words(setting, spend)
