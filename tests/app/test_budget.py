"""The budget at the side of every page: its totals, its controls, and its place in the link."""

from __future__ import annotations

from pathlib import Path

from streamlit.testing.v1 import AppTest

from ldpcore.schedule import DEFAULT_SCHEDULE, Schedule
from ldpcore.settings import Scenario
from ui.schedule import SCHEDULE_KEY, budget_meter, standing_line

APP = str(Path(__file__).parents[2] / "app.py")


def open_app(**params: str) -> AppTest:
    app = AppTest.from_file(APP, default_timeout=120)
    for name, value in params.items():
        app.query_params[name] = value
    return app.run()


def meter_of(app: AppTest) -> str:
    return next(element.proto.body for element in app.get("html") if 'class="meter"' in element.proto.body)


def rows(meter: str) -> list[str]:
    return [cell.split(">")[-1] for cell in meter.split("</td></tr>")[:-1]]


def test_the_totals() -> None:
    """One report a day at epsilon 2; two years of 730 days touch at most 106 epochs of a week, ten answers each: 2,120."""
    one = budget_meter(Scenario(), DEFAULT_SCHEDULE, unit="device")
    assert "Total ε 2</b> for one device for one day: one report, of one" in one
    assert rows(one) == ["2", "14", "1,460"]
    often = budget_meter(Scenario(), Schedule(reports_a_day=288), unit="device")
    assert "Total ε 20</b> for one device for one day: 288 reports." in often
    assert rows(often) == ["20", "40", "2,120"]
    assert "When the device changed cell stays visible" in often
    fresh = budget_meter(Scenario(epsilon=1.0), Schedule(reports_a_day=288, memo=False), unit="device")
    assert rows(fresh) == ["288", "2,016", "210,240"]
    assert "stays visible" not in fresh


def test_a_file_that_names_nobody_bounds_nobody() -> None:
    meter = budget_meter(Scenario(), Schedule(reports_a_day=288), unit="trip")
    assert "Total ε 2</b> for one trip" in meter
    assert "Nothing bounds what a person spends: each of their trips costs ε 2." in meter
    assert "<table" not in meter
    line = standing_line(Scenario(trips="0" * 64, city=None), Schedule(reports_a_day=288), unit="trip")
    assert "Total ε 2</b> for one trip<span> · your own file · seed 1, redraw 0" in line


def test_unit_total_and_seed_stand_above_every_page() -> None:
    app = open_app(city="helsinki", devices="1000", epsilon="1.5", seed="7", reports_a_day="4")
    lines = [element.proto.body for element in app.get("html") if 'class="standing"' in element.proto.body]
    assert len(lines) == 1
    assert "Total ε 6</b> for one device for one day<span> · Helsinki · seed 7, redraw 0" in lines[0]


def test_the_schedule_is_in_the_link_and_runs_nothing_again() -> None:
    app = open_app(city="helsinki", devices="1000", epoch_days="1", memo="1")
    assert not app.exception
    assert rows(meter_of(app)) == ["2", "14", "1,460"]
    before = [element.proto.body for element in app.get("html") if "headline" in element.proto.body]
    app.number_input(key="sched_reports_a_day").set_value(48).run()
    assert rows(meter_of(app))[0] == "20"
    assert dict(app.query_params)["reports_a_day"] == "48"
    assert dict(app.query_params)["epoch_days"] == "1"
    assert before == [element.proto.body for element in app.get("html") if "headline" in element.proto.body]


def test_what_cannot_be_is_answered_and_the_last_schedule_stays() -> None:
    app = open_app(city="helsinki", devices="1000", cap="many", at_cap="shout")
    assert [warning.value.split(".")[0] for warning in app.warning] == [
        "The setting cap of the link was not used",
        "The setting at_cap of the link was not used",
    ]
    app.number_input(key="sched_cap").set_value(0).run()
    assert [error.value for error in app.error] == [
        "The cap on distinct cells must be between 1 and 1,000, got 0; try 10."
    ]
    assert app.session_state[SCHEDULE_KEY] == DEFAULT_SCHEDULE
    app.number_input(key="sched_cap").set_value(None).run()
    assert [error.value for error in app.error] == ["Enter a number; until then the last one is used."]
