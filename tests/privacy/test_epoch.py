"""Epochs: the calendar cut into equal spans, the same on every device."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldpcore.device.epoch import epoch_of

DAYS = st.dates(max_value=date(9999, 1, 1))


def test_a_week_begins_on_monday() -> None:
    monday = date(2026, 3, 2)
    assert monday.weekday() == 0
    epoch = epoch_of(monday, 7)
    assert (epoch.first, epoch.last) == (monday, date(2026, 3, 8))
    assert {epoch_of(monday + timedelta(days), 7) for days in range(7)} == {epoch}
    assert epoch_of(date(2026, 3, 9), 7).number == epoch.number + 1


@given(DAYS, st.integers(1, 3650))
def test_epochs_hold_their_day_and_leave_no_gap(day: date, epoch_days: int) -> None:
    epoch = epoch_of(day, epoch_days)
    assert epoch.first <= day <= epoch.last
    if epoch.last < date.max:
        following = epoch_of(epoch.last + timedelta(days=1), epoch_days)
        assert following.number == epoch.number + 1
        assert following.first == epoch.last + timedelta(days=1)
        assert (epoch.last - epoch.first).days == epoch_days - 1


def test_the_calendar_ends_inside_an_epoch() -> None:
    assert epoch_of(date.max, 3650).last == date.max


def test_an_epoch_without_a_day_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1 day"):
        epoch_of(date(2026, 3, 2), 0)
