"""The ledger under a clock that jumps, a key store that is damaged, and more than one loss.

Reports are drawn by the client that ships, so there is no seed. Two drawn apart are the same bytes with
probability below (0.74)^511 < 1e-66 (512 cells of unary encoding at epsilon 1); fewer than 10^5 pairs are compared.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest

from ldpcore.device.ledger import Ledger
from ldpcore.device.phone import Phone
from ldpcore.device.store import Anchor, FileKeyStore, KeyStore, MemoryKeyStore, MemoryStore, new_key
from ldpcore.device.wire import make_phone
from ldpcore.mechanisms import make_mechanism

MONDAY = datetime(2026, 3, 2, 8)
DAY, WEEK = timedelta(days=1), timedelta(days=7)
WIDE = make_mechanism("oue", epsilon=1, domain_size=512)


class Device:
    """Two stores and a phone that is started again before each report."""

    def __init__(self, store: MemoryStore | None = None, keys: KeyStore | None = None) -> None:
        self.store, self.keys = store or MemoryStore(), keys or MemoryKeyStore()

    def phone(self) -> Phone:
        rules = SimpleNamespace(memo=True, cap=3, epoch_days=7, at_cap="silent")
        return make_phone(WIDE, "0123456789abcdef", ledger=Ledger(self.store, self.keys), rules=rules)

    def go(self, at: datetime, cell: int = 7) -> tuple[str, str]:
        phone = self.phone()
        outcome = phone.answer(cell, at)
        assert (outcome.message is None) == (outcome.kind == "silent")
        if outcome.message is not None:
            phone.sent(outcome.message.message_id)
        assert outcome.kind != "silent" or outcome.reason
        return outcome.kind, outcome.reason


# -- clocks ----------------------------------------------------------------------------------------


def test_steps_forward_buy_fresh_answers_and_the_ledger_books_each() -> None:
    # Not protected, and said so where the limits are listed.
    device = Device()
    assert [device.go(MONDAY + step * WEEK)[0] for step in range(10)] == ["fresh"] * 10
    assert device.phone().lifetime().account.epsilon == 10


@pytest.mark.parametrize(
    "wrong", [datetime.max, datetime(2100, 1, 1), datetime(2099, 12, 31), MONDAY + 6 * DAY + 61 * DAY]
)
def test_one_reading_far_ahead_changes_nothing(wrong: datetime) -> None:
    device = Device()
    assert device.go(MONDAY)[0] == "fresh"
    for _ in range(5):
        kind, reason = device.go(wrong, cell=8)
        assert kind == "silent"
        assert str(wrong.date()) in reason
    assert device.go(MONDAY + DAY) == ("memo", "")
    assert device.go(MONDAY + WEEK)[0] == "fresh"
    assert device.phone().lifetime().epochs == 2


def test_a_first_reading_of_the_last_day_of_the_calendar_enters_nothing() -> None:
    device = Device()
    for _ in range(3):
        assert "9999-12-31, which is not believed" in device.go(datetime.max)[1]
    assert device.phone().spent().reports == 0
    assert [device.go(MONDAY + days * DAY)[0] for days in (0, 0, 7)] == ["fresh", "memo", "fresh"]


def test_sixty_days_after_the_epoch_are_believed_at_once() -> None:
    device = Device()
    device.go(MONDAY)
    assert device.go(MONDAY + 66 * DAY) == ("fresh", "")


def test_a_phone_that_was_off_for_a_year_reports_on_the_third_day() -> None:
    device = Device()
    device.go(MONDAY)
    later = MONDAY + 366 * DAY
    kinds = [device.go(later + hours * timedelta(hours=1))[0] for hours in (0, 1, 24, 25, 48, 49)]
    assert kinds == ["silent"] * 4 + ["fresh", "memo"]
    # The doubt is over: the next epoch begins as usual.
    assert device.go(later + WEEK)[0] == "fresh"


def test_a_doubt_begins_again_after_a_day_that_can_be_believed_and_with_a_day_that_goes_back() -> None:
    device = Device()
    device.go(MONDAY)
    later = MONDAY + 366 * DAY
    for turn in range(4):
        assert [device.go(later + turn * DAY)[0], device.go(MONDAY)[0]] == ["silent", "memo"]
    for days in (5, 6, 4, 3, 4, 80, 300):
        assert device.go(later + days * DAY)[0] == "silent"
    assert "1 so far" in device.go(later + 300 * DAY)[1]


def test_no_answer_stays_in_use_after_a_wrong_clock_was_set_right() -> None:
    device = Device()
    for days in range(3):
        device.go(datetime(2090, 1, 2) + days * DAY)
    # Set right: the old answers would be sent for sixty years. Silent, and no past epoch opens.
    for days in range(0, 800, 7):
        kind, reason = device.go(MONDAY + days * DAY)
        assert kind == "silent"
        assert "silent until 2089-12-" in reason
    assert device.phone().spent().fresh == 1


@pytest.mark.parametrize(("days", "kind"), [(-7, "memo"), (-8, "silent"), (-1, "memo"), (0, "memo")])
def test_a_clock_up_to_one_epoch_behind_keeps_its_answers(days: int, kind: str) -> None:
    device = Device()
    device.go(MONDAY)
    assert device.go(MONDAY + days * DAY)[0] == kind


# -- a damaged key store ---------------------------------------------------------------------------


def test_any_changed_bit_of_the_key_store_keeps_the_phone_silent_and_says_so(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    device = Device(keys=FileKeyStore(path))
    device.go(MONDAY)
    whole, data = path.read_bytes(), device.store.data
    assert len(whole) == 96
    for bit in range(8 * len(whole)):
        changed = bytearray(whole)
        changed[bit // 8] ^= 1 << bit % 8
        path.write_bytes(bytes(changed))
        kind, reason = Device(MemoryStore(data), FileKeyStore(path)).go(MONDAY)
        assert kind == "silent"
        assert "its key is lost" in reason


def test_any_changed_bit_of_a_key_store_without_a_check_draws_nothing_twice() -> None:
    # A platform's store that gives back damaged numbers: refused, or what is remembered is sent again.
    device = Device()
    device.go(MONDAY)
    assert isinstance(device.keys, MemoryKeyStore)
    anchor = device.keys.anchor
    assert anchor is not None
    damaged = [anchor._replace(drawn=anchor.drawn ^ 1 << bit) for bit in range(64)]
    damaged += [anchor._replace(last_day=anchor.last_day ^ 1 << bit) for bit in range(32)]
    damaged += [anchor._replace(losses=anchor.losses ^ 1 << bit) for bit in range(32)]
    damaged += [
        anchor._replace(key=(int.from_bytes(anchor.key, "big") ^ 1 << bit).to_bytes(32, "big"))
        for bit in range(256)
    ]
    damaged += [anchor._replace(key=b""), Anchor(new_key(), 2**63, 2**32 - 1, 2**31)]
    kinds = []
    for wrong in damaged:
        again = Device(MemoryStore(device.store.data), MemoryKeyStore(wrong))
        kinds.append(again.go(MONDAY)[0])
        assert again.go(MONDAY + DAY)[0] == kinds[-1]
    assert set(kinds) == {"silent", "memo"}
    assert kinds[-258:] == ["silent"] * 258


# -- losses ----------------------------------------------------------------------------------------


def test_each_loss_is_counted_once() -> None:
    device = Device()
    for losses in range(1, 5):
        assert device.go(MONDAY + 2 * losses * WEEK)[0] == "fresh"
        device.store.data = None if losses % 2 else b"damaged"
        # Restarted three times in the closed epoch, it is still one loss.
        for _ in range(3):
            assert device.go(MONDAY + 2 * losses * WEEK)[0] == "silent"
        assert device.phone().lifetime().losses == losses
    assert device.go(MONDAY + 10 * WEEK)[0] == "fresh"
    assert device.phone().lifetime().losses == 4


def test_a_copy_from_before_a_loss_does_not_undo_it() -> None:
    device = Device()
    device.go(MONDAY)
    copy = device.store.data
    device.store.data = None
    device.go(MONDAY)
    device.store.data = copy
    assert "older copy" in device.go(MONDAY)[1]
    assert device.phone().lifetime().losses == 2


def test_with_the_key_store_the_number_of_losses_is_gone_too() -> None:
    device = Device()
    for week in range(2):
        device.go(MONDAY + week * WEEK)
        device.keys = MemoryKeyStore()
        assert "its key is lost" in device.go(MONDAY + week * WEEK)[1]
        assert device.phone().lifetime().losses == 1
