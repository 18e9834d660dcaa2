"""The days of simulated phones: where they are, what the shipped rules make of it, and crowds by the same rules."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime, timedelta

import numpy as np
import pytest

from ldpcore.domain import Domain
from ldpcore.errors import ParameterError
from ldpcore.mechanisms import MECHANISMS, make_mechanism
from ldpcore.schedule import Schedule
from ldpcore.shapes import IntArray
from ldpcore.trips.cities import city_domain
from ldpcore.trips.generate import generate_trips
from ldpcore.week import (
    FRESH,
    MEMO,
    REPLAY,
    SILENT,
    epoch_numbers,
    real_week,
    seeded_week,
    spend_of,
)
from ldpcore.whereabouts import FIRST_DAY, OUTSIDE, Stays, moment_time, stays

FIVE_MINUTES = Schedule(reports_a_day=288)


@pytest.fixture(scope="module")
def crowd() -> Stays:
    return stays("new_york", resolution=7, devices=300, seed=1, days=9, reports_a_day=288)


def by_hand(device: int, day: int, reports_a_day: int, domain: Domain) -> IntArray:
    """Follow one phone through one day moment by moment, straight from its trips."""
    today = FIRST_DAY + timedelta(days=day)
    weekend = today.weekday() >= 5
    start = date(2024, 6, 8) if weekend else date(2024, 6, 5)
    number = (
        sum((start + timedelta(days=n)).weekday() >= 5 for n in range((today - start).days))
        if weekend
        else sum((start + timedelta(days=n)).weekday() < 5 for n in range((today - start).days))
    )
    trips = generate_trips(
        "new_york", devices=device + 1, seed=1, day="weekend" if weekend else "weekday", day_number=number
    )
    mine = trips[trips["device"] == device]
    assert set(mine["start_time"].dt.date) == {today}
    cells = []
    for moment in range(reports_a_day):
        now = datetime.combine(today, datetime.min.time()) + timedelta(
            seconds=(moment + 0.5) * 86400 / reports_a_day
        )
        first = mine.iloc[0]
        lat, lng = first["start_lat"], first["start_lng"]
        for _, trip in mine.iterrows():
            if now >= trip["end_time"]:
                lat, lng = trip["end_lat"], trip["end_lng"]
            elif now > trip["start_time"]:
                share = (now - trip["start_time"]) / (trip["end_time"] - trip["start_time"])
                lat = trip["start_lat"] + share * (trip["end_lat"] - trip["start_lat"])
                lng = trip["start_lng"] + share * (trip["end_lng"] - trip["start_lng"])
        cells.append(int(domain.index_of_points([lat], [lng])[0]))
    return np.array(cells)


@pytest.mark.parametrize("device", [0, 5, 13])
def test_a_phone_is_where_its_trips_put_it(crowd: Stays, device: int) -> None:
    domain = city_domain("new_york", 7)
    for day in (0, 5, 7):
        expected = by_hand(device, day, 288, domain)
        assert (crowd.cells_of(device)[day * 288 : (day + 1) * 288] == expected).all()


def test_stays_cover_every_moment_once(crowd: Stays) -> None:
    assert (crowd.length > 0).all()
    assert (np.bincount(crowd.device, crowd.length) == 9 * 288).all()
    assert all(crowd.cells_of(device).size == crowd.moments == 9 * 288 for device in (0, 299))
    # A stay never runs over midnight.
    assert ((crowd.start + crowd.length - 1) // 288 == crowd.day).all()


def test_more_phones_and_more_days_only_add(crowd: Stays) -> None:
    few = stays("new_york", resolution=7, devices=20, seed=1, days=3)
    for device in range(20):
        assert (few.cells_of(device) == crowd.cells_of(device)[: 3 * 288]).all()


def test_once_a_day_is_noon_and_five_minutes_are_five_minutes() -> None:
    assert moment_time(1, 1) == datetime(2024, 6, 11, 12)
    assert moment_time(289, 288) - moment_time(288, 288) == timedelta(minutes=5)
    assert FIRST_DAY.weekday() == 0


@pytest.mark.parametrize(
    "schedule",
    [
        FIVE_MINUTES,
        replace(FIVE_MINUTES, cap=3),
        replace(FIVE_MINUTES, cap=4, at_cap="replay", epoch_days=2),
        replace(FIVE_MINUTES, cap=1, epoch_days=1),
        replace(FIVE_MINUTES, cap=5, at_cap="replay", epoch_days=7),
    ],
)
def test_a_crowd_is_spent_by_the_rules_of_the_shipped_phone(crowd: Stays, schedule: Schedule) -> None:
    spend = spend_of(crowd, schedule)
    mechanism = make_mechanism("grr", epsilon=1, domain_size=crowd.domain.size)
    truth, counted = (np.zeros(crowd.domain.size, np.int64) for _ in range(2))
    for device in range(8):
        cells = crowd.cells_of(device)
        week = seeded_week(mechanism, cells, schedule, rng=np.random.default_rng(device))
        assert week.count(FRESH) == spend.draws[device]
        assert week.count(SILENT) + week.count(REPLAY) == spend.withheld[device]
        # Whose answer was sent: the cell for which it was drawn.
        of_draw = cells[week.kinds == FRESH]
        sent = week.sent >= 0
        truth += np.bincount(cells[cells >= 0], minlength=truth.size)
        at = of_draw[week.sent[sent]]
        counted += np.bincount(at[at >= 0], minlength=truth.size)
    few = spend_of(_first(crowd, 8), schedule)
    assert (few.truth == truth).all()
    assert ((few.replayed if schedule.at_cap == "replay" else few.silent) == counted).all()


def _first(crowd: Stays, devices: int) -> Stays:
    mine = crowd.device < devices
    return Stays(
        crowd.domain,
        devices,
        crowd.days,
        crowd.reports_a_day,
        *(getattr(crowd, name)[mine] for name in ("device", "start", "length", "cell")),
    )


def made_up(cells_by_day: list[list[list[int]]]) -> Stays:
    """Build stays of one moment each from [phone][day][moment] cells."""
    device, start, cell = [], [], []
    a_day = len(cells_by_day[0][0])
    for phone, days in enumerate(cells_by_day):
        for day, moments in enumerate(days):
            for moment, place in enumerate(moments):
                device.append(phone)
                start.append(day * a_day + moment)
                cell.append(place)
    size = len(device)
    return Stays(
        city_domain("new_york", 5),
        len(cells_by_day),
        len(cells_by_day[0]),
        a_day,
        np.array(device),
        np.array(start),
        np.ones(size, np.int64),
        np.array(cell),
    )


def test_spend_on_days_written_down_by_hand() -> None:
    # Phone 0: cells 1 2 3 | 2 4 1; phone 1: 5 5 5 | 5 5 5; phone 2 moves just as phone 3 does, elsewhere.
    crowd = made_up(
        [
            [[1, 2, 3], [2, 4, 1]],
            [[5, 5, 5], [5, 5, 5]],
            [[6, 6, 7], [7, 7, 6]],
            [[8, 8, 9], [9, 9, 8]],
        ]
    )
    weekly = spend_of(crowd, Schedule(reports_a_day=3, cap=2, epoch_days=7))
    assert weekly.draws.tolist() == [2, 1, 2, 2]
    assert weekly.most_cells.tolist() == [4, 1, 2, 2]
    assert weekly.withheld.tolist() == [2, 0, 0, 0]
    assert weekly.over_cap == 0.25
    assert weekly.lost == pytest.approx(2 / 24)
    # Replay puts the third moment into cell 2, and the fifth, after cell 2 again, too.
    assert weekly.truth[:5].tolist() == [0, 2, 2, 1, 1]
    assert weekly.silent[:5].tolist() == [0, 2, 2, 0, 0]
    assert weekly.replayed[:5].tolist() == [0, 2, 4, 0, 0]
    assert weekly.moved == pytest.approx(2 / 24)
    assert weekly.worst_cell(weekly.replayed, least=2) == (2, 1.0)
    assert weekly.worst_cell(weekly.silent, least=100) == (-1, 0.0)
    # Phones 2 and 3 look alike to the server; 0 and 1 are alone.
    assert weekly.alone == 0.5
    daily = spend_of(crowd, Schedule(reports_a_day=3, cap=2, epoch_days=1))
    assert daily.draws.tolist() == [4, 2, 4, 4]
    assert daily.withheld.tolist() == [2, 0, 0, 0]


def test_outside_the_domain_is_one_more_cell_and_never_silence() -> None:
    mechanism = make_mechanism("grr", epsilon=1, domain_size=20)
    cells = np.array([3, OUTSIDE, OUTSIDE, 3, 4])
    week = seeded_week(mechanism, cells, Schedule(reports_a_day=5, cap=2), rng=np.random.default_rng(0))
    assert week.kinds.tolist() == [FRESH, FRESH, MEMO, MEMO, SILENT]
    assert week.distinct_cells == 3
    spend = spend_of(made_up([[cells.tolist()]]), Schedule(reports_a_day=5, cap=2))
    assert spend.draws.tolist() == [2]
    assert spend.truth.sum() == 3


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_week_of_every_mechanism(crowd: Stays, name: str) -> None:
    mechanism = make_mechanism(name, epsilon=2, domain_size=crowd.domain.size)
    cells = crowd.cells_of(0)[:288]
    schedule = replace(FIVE_MINUTES, cap=3)
    week = seeded_week(mechanism, cells, schedule, rng=np.random.default_rng(4))
    again = seeded_week(mechanism, cells, schedule, rng=np.random.default_rng(4))
    assert (week.payloads == again.payloads).all()
    assert len(week.payloads) == week.count(FRESH) <= 3
    assert week.sent_count + week.count(SILENT) == week.moments == 288
    # One answer per cell: equal cells send equal bytes.
    for cell in np.unique(cells):
        assert np.unique(week.sent[(cells == cell) & (week.sent >= 0)]).size <= 1
    assert week.spent[-1] == 2 * week.count(FRESH)
    assert week.spent_fresh[-1] == 2 * 288
    assert len(week.reports) == len(week.payloads)


def test_without_a_memory_every_report_is_drawn_and_the_cap_is_off(crowd: Stays) -> None:
    mechanism = make_mechanism("oue", epsilon=1, domain_size=crowd.domain.size)
    week = seeded_week(
        mechanism,
        crowd.cells_of(0)[:288],
        replace(FIVE_MINUTES, memo=False, cap=1),
        rng=np.random.default_rng(1),
    )
    assert week.count(FRESH) == 288
    assert week.spent[-1] == 288  # the guide's example
    # 318 bits of fresh noise never repeat: the server sees 288 different reports.
    assert week.labels.max() == 287


def test_epochs_begin_with_the_week_and_draw_anew(crowd: Stays) -> None:
    assert epoch_numbers(15, 7).tolist() == [0] * 7 + [1] * 7 + [2]
    mechanism = make_mechanism("oue", epsilon=1, domain_size=crowd.domain.size)
    cells = np.full(9, 3)
    week = seeded_week(mechanism, cells, Schedule(reports_a_day=1), rng=np.random.default_rng(1))
    assert week.kinds.tolist() == [FRESH, *[MEMO] * 6, FRESH, MEMO]
    assert week.epochs.tolist() == [0] * 7 + [1] * 2
    assert week.cells_so_far.tolist() == [1] * 9
    assert week.label_changes == 1


def test_what_the_server_sees_is_bytes_and_not_cells() -> None:
    """Two cells may give the same answer; the labels then do not tell them apart."""
    mechanism = make_mechanism("grr", epsilon=0.1, domain_size=2)
    cells = np.array([0, 1, 0, 1])
    patterns = {
        tuple(seeded_week(mechanism, cells, Schedule(), rng=np.random.default_rng(seed)).labels.tolist())
        for seed in range(40)
    }
    assert patterns == {(0, 0, 0, 0), (0, 1, 0, 1)}


def test_the_real_client_follows_the_same_rules_with_other_coins(crowd: Stays) -> None:
    """Real coins: 318 bits agree by chance less than once in 10^60 runs."""
    mechanism = make_mechanism("oue", epsilon=1, domain_size=crowd.domain.size)
    cells = crowd.cells_of(5)[: 7 * 288]
    seeded = seeded_week(mechanism, cells, FIVE_MINUTES, rng=np.random.default_rng(1))
    real = real_week(mechanism, cells, FIVE_MINUTES)
    assert (real.kinds == seeded.kinds).all()
    assert (real.sent == seeded.sent).all()
    assert (real.payloads != seeded.payloads).any()
    assert (real.payloads != real_week(mechanism, cells, FIVE_MINUTES).payloads).any()


def test_impossible_settings_are_refused() -> None:
    with pytest.raises(ParameterError, match="devices"):
        stays("new_york", resolution=7, devices=0, seed=1)
    with pytest.raises(ParameterError, match="days"):
        stays("new_york", resolution=7, devices=1, seed=1, days=91)
    with pytest.raises(ParameterError, match="city"):
        stays("atlantis", resolution=7, devices=1, seed=1)
