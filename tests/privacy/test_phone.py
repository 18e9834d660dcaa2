"""The phone: what it sends from where, what that spends, and when it says nothing."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timedelta
from fractions import Fraction

import pytest

from ldpcore.device.inbox import Inbox
from ldpcore.device.ledger import OUTBOX, Ledger
from ldpcore.device.phone import Outcome, Phone
from ldpcore.device.store import MemoryKeyStore, MemoryStore
from ldpcore.device.wire import HEADER_BYTES, make_phone, read_header
from ldpcore.errors import ParameterError
from ldpcore.mechanisms import MECHANISMS, Mechanism, make_mechanism
from ldpcore.privacy.audit import audit_mechanism
from ldpcore.privacy.composition import device_loss
from ldpcore.schedule import Schedule

MONDAY = datetime(2026, 3, 2, 8)
DAY = timedelta(days=1)
VERSION, OTHER_VERSION = "0123456789abcdef", "fedcba9876543210"

# Two reports drawn apart are the same bytes with probability at most the greatest of any report's. With
# 512 cells of unary encoding at epsilon 1 that is below (0.74)^511 < 1e-66.
WIDE = make_mechanism("oue", epsilon=1, domain_size=512)


@dataclass(frozen=True)
class Rules:
    memo: bool = True
    cap: int = 3
    epoch_days: int = 7
    at_cap: str = "silent"


class Device:
    """A ledger's two stores, and a phone that can be started again from them."""

    def __init__(self, mechanism: Mechanism = WIDE, **rules: object) -> None:
        self.mechanism, self.rules = mechanism, Rules(**rules)  # type: ignore[arg-type]
        self.store, self.keys = MemoryStore(), MemoryKeyStore()
        self.version = VERSION
        self.start()

    def start(self) -> Phone:
        self.phone = make_phone(
            self.mechanism, self.version, ledger=Ledger(self.store, self.keys), rules=self.rules
        )
        return self.phone

    def go(self, *cells: int | None, at: datetime = MONDAY) -> list[Outcome]:
        """Report from each cell and have each message confirmed."""
        outcomes = []
        for cell in cells:
            outcome = self.phone.answer(cell, at)
            if outcome.message is not None:
                self.phone.sent(outcome.message.message_id)
            outcomes.append(outcome)
        return outcomes


def kinds(outcomes: list[Outcome]) -> list[str]:
    return [outcome.kind for outcome in outcomes]


# -- memo ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MECHANISMS)
def test_every_mechanism_repeats_itself_to_the_byte_also_after_a_restart(name: str) -> None:
    device = Device(make_mechanism(name, epsilon=1, domain_size=40))
    first = device.go(7, None, 7, None)
    device.start()
    again = device.go(7, None)
    assert kinds(first + again) == ["fresh", "fresh", "memo", "memo", "memo", "memo"]
    assert first[0].report == first[2].report == again[0].report
    assert first[1].report == first[3].report == again[1].report
    assert device.phone.spent().epsilon == 2 * Fraction(device.mechanism.epsilon_effective)
    # Message ids are random and differ although the reports are the same.
    assert len({outcome.message.message_id for outcome in first + again if outcome.message}) == 6


def test_without_memo_every_report_is_drawn_and_spends() -> None:
    device = Device(memo=False)
    outcomes = device.go(7, 7, 7, 7)
    assert kinds(outcomes) == ["fresh"] * 4
    assert len({outcome.report for outcome in outcomes}) == 4
    assert device.phone.spent().epsilon == 4


def test_a_day_of_288_reports_spends_288_or_one() -> None:
    five_minutes = timedelta(minutes=5)
    for memo, spent in ((False, 288), (True, 1)):
        device = Device(memo=memo)
        for turn in range(288):
            device.go(7, at=datetime(2026, 3, 2) + turn * five_minutes)
        assert device.phone.spent().epsilon == spent
        assert device.phone.spent().reports == 288


class Repeating:
    """A new phone that is asked for payloads, as an audit does."""

    def __init__(self, mechanism: Mechanism, *, memo: bool) -> None:
        self.device = Device(mechanism, memo=memo)

    def payload(self, cell: int | None) -> bytes:
        (outcome,) = self.device.go(cell)
        assert outcome.report is not None
        return outcome.report[HEADER_BYTES:]


@pytest.mark.slow
def test_an_attack_on_three_reports_proves_no_more_than_one_epsilon_unless_they_are_fresh() -> None:
    # The audit accuses an honest phone once in a million runs. A fresh one sends "cell 0" three times with
    # probability (R / (R + 1))^3 = 0.547 against 0.006; by the exact law the bound stays below 1.5 with
    # probability under 1e-12 (summed over both binomials, with twice as many events as there are).
    mechanism = make_mechanism("grr", epsilon=1.5, domain_size=2)
    memo, fresh = (
        audit_mechanism(
            mechanism, trials=1000, reports=3, new_device=lambda memo=memo: Repeating(mechanism, memo=memo)
        )
        for memo in (True, False)
    )
    assert memo.passed, memo.findings[0]
    assert not fresh.passed


# -- cap -------------------------------------------------------------------------------------------


def test_beyond_the_cap_the_phone_is_silent_about_new_cells_alone() -> None:
    device = Device()
    outcomes = device.go(1, 2, None, 3, 4, 2, None)
    assert kinds(outcomes) == ["fresh", "fresh", "fresh", "silent", "silent", "memo", "memo"]
    assert [outcome.report for outcome in outcomes[3:5]] == [None, None]
    assert "3 cells are used up" in outcomes[3].reason
    assert device.phone.spent().epsilon == 3


def test_replay_sends_the_latest_report_whatever_the_new_cell_is() -> None:
    device = Device(at_cap="replay")
    outcomes = device.go(1, 2, 3, 1, 4, 5, 2, 6)
    assert kinds(outcomes) == ["fresh", "fresh", "fresh", "memo", "replay", "replay", "memo", "replay"]
    assert outcomes[4].report == outcomes[5].report == outcomes[0].report
    assert outcomes[7].report == outcomes[1].report
    spent = device.phone.spent()
    assert (spent.fresh, spent.memo, spent.replay, spent.epsilon) == (3, 2, 3, 3)


def test_a_cap_that_was_lowered_keeps_old_answers_and_draws_no_new_one() -> None:
    device = Device()
    device.go(1, 2, 3)
    device.rules = Rules(cap=1)
    device.start()
    assert kinds(device.go(1, 2, 3, 4)) == ["memo", "memo", "memo", "silent"]


@pytest.mark.parametrize(
    ("days", "epoch_days", "cap", "a_day"), [(1, 1, 3, 5), (4, 3, 2, 1), (7, 7, 3, 2), (9, 2, 4, 1)]
)
def test_the_budget_on_the_pages_is_what_the_most_restless_phone_spends(
    days: int, epoch_days: int, cap: int, a_day: int
) -> None:
    for memo in (True, False):
        schedule = Schedule(reports_a_day=a_day, memo=memo, cap=cap, epoch_days=epoch_days)
        spent = []
        for first in range(epoch_days):
            device = Device()
            device.rules = schedule
            phone = device.start()
            for turn in range(days * a_day):
                # Without a memo the phone that spends most stays where it is.
                device.go(turn if memo else 7, at=MONDAY + DAY * (first + turn // a_day))
            spent.append(phone.lifetime().account.epsilon)
        assert max(spent) == device_loss(1.0, schedule, days=days).epsilon


# -- versions --------------------------------------------------------------------------------------


def test_a_new_domain_or_new_parameters_find_no_old_answer_and_no_new_budget() -> None:
    device = Device()
    (first,) = device.go(7)
    device.version = OTHER_VERSION
    device.start()
    (second,) = device.go(7)
    device.mechanism = make_mechanism("oue", epsilon=0.5, domain_size=512)
    device.start()
    third, beyond = device.go(7, 8)
    assert kinds([first, second, third, beyond]) == ["fresh", "fresh", "fresh", "silent"]
    assert [read_header(o.report or b"").domain_version for o in (first, second, third)] == [
        VERSION,
        OTHER_VERSION,
        OTHER_VERSION,
    ]
    assert read_header(third.report or b"").epsilon == 0.5
    assert device.phone.spent().epsilon == Fraction(5, 2)
    # Back at the first domain the first answer is still the answer: nothing is drawn twice.
    device.mechanism, device.version = WIDE, VERSION
    device.start()
    assert device.go(7)[0].report == first.report


def test_replay_never_sends_a_report_of_other_parameters() -> None:
    device = Device(at_cap="replay")
    device.go(1, 2, 3)
    device.version = OTHER_VERSION
    device.start()
    (outcome,) = device.go(1)
    assert outcome.kind == "silent"
    assert "nothing to send again" in outcome.reason


# -- epochs and clocks -----------------------------------------------------------------------------


def test_a_new_epoch_forgets_the_old_answers_and_has_a_new_budget() -> None:
    device = Device()
    (first,) = device.go(7)
    device.go(1, 2, 3)
    sunday, monday = MONDAY + 6 * DAY, MONDAY + 7 * DAY
    assert kinds(device.go(7, 8, at=sunday)) == ["memo", "silent"]
    (second,) = device.go(7, at=monday)
    assert second.kind == "fresh"
    assert second.epoch == (first.epoch or 0) + 1
    assert second.report != first.report
    life = device.phone.lifetime()
    assert (life.epochs, life.account.epsilon, life.losses) == (2, 4, 0)
    assert (life.account.fresh, life.account.memo) == (4, 1)


def test_a_clock_that_goes_back_opens_no_past_epoch() -> None:
    device = Device()
    device.go(1, 2, at=MONDAY + 7 * DAY)
    outcomes = device.go(1, 3, 4, at=MONDAY)
    assert kinds(outcomes) == ["memo", "fresh", "silent"]
    assert len({outcome.epoch for outcome in outcomes}) == 1
    assert "before this epoch began on 2026-03-09" in outcomes[0].reason
    assert kinds(device.go(4, at=MONDAY + 13 * DAY)) == ["silent"]
    assert kinds(device.go(4, at=MONDAY + 14 * DAY)) == ["fresh"]


def test_a_clock_that_jumps_to_and_fro_spends_no_more_than_a_cap_an_epoch() -> None:
    device = Device()
    spent: Counter[int | None] = Counter()
    for turn in range(60):
        at = MONDAY + DAY * ((turn * 37) % 50)
        for outcome in device.go(turn % 5, at=at):
            spent[outcome.epoch] += outcome.kind == "fresh"
    assert max(spent.values()) <= 3
    numbers = [number for number in spent if number is not None]
    assert numbers == sorted(numbers)


def test_a_shorter_epoch_begins_only_when_the_running_one_is_over() -> None:
    device = Device()
    device.go(1, 2, 3)
    device.rules = Rules(epoch_days=1)
    device.start()
    assert kinds(device.go(4, at=MONDAY + 3 * DAY)) == ["silent"]
    assert kinds(device.go(4, at=MONDAY + 7 * DAY)) == ["fresh"]
    assert kinds(device.go(5, 6, 7, at=MONDAY + 7 * DAY)) == ["fresh", "fresh", "silent"]
    assert kinds(device.go(7, at=MONDAY + 8 * DAY)) == ["fresh"]


# -- the network -----------------------------------------------------------------------------------


def test_a_message_that_arrives_twice_is_counted_once_and_a_memo_each_time() -> None:
    device = Device()
    messages = [outcome.message for outcome in device.go(7, 7, 7)]
    inbox = Inbox((WIDE, VERSION))
    data = [message.data for message in messages if message]
    assert inbox.take(data) == 3
    assert inbox.take(data[:2]) == 0
    assert inbox.rejected == {"sent twice": 2}
    assert inbox.tallies[0].reports == 3


def test_a_server_counts_versions_apart_and_refuses_those_it_does_not_know() -> None:
    other = make_mechanism("oue", epsilon=0.5, domain_size=512)
    inbox = Inbox((WIDE, VERSION), (WIDE, OTHER_VERSION), (other, VERSION))
    expected = []
    for mechanism, version, reports in ((WIDE, VERSION, 1), (WIDE, OTHER_VERSION, 2), (other, VERSION, 3)):
        device = Device(mechanism)
        device.version = version
        device.start()
        inbox.take([o.message.data for o in device.go(*range(reports)) if o.message])
        expected.append(reports)
    stranger = Device()
    stranger.version = "0" * 16
    stranger.start()
    assert inbox.take([o.message.data for o in stranger.go(1, 2) if o.message]) == 0
    assert inbox.take([b"", b"short", b"x" * 200]) == 0
    assert [tally.reports for tally in inbox.tallies] == expected
    assert inbox.rejected == {"other domain": 2, "not a report": 3}


def test_an_inbox_asks_for_each_pair_once() -> None:
    with pytest.raises(ParameterError, match="each once"):
        Inbox((WIDE, VERSION), (WIDE, VERSION))


def test_messages_wait_for_the_network_and_are_sent_as_they_were() -> None:
    device = Device()
    handed_out = [device.phone.answer(7, MONDAY).message for _ in range(OUTBOX)]
    full = device.phone.answer(7, MONDAY)
    assert full.kind == "silent"
    assert "wait for the network" in full.reason
    waiting = device.start().pending()
    assert list(waiting) == handed_out
    device.phone.sent(waiting[0].message_id)
    device.phone.sent(b"unknown")
    assert device.phone.pending() == waiting[1:]
    assert kinds(device.go(7)) == ["memo"]


# -- bad input -------------------------------------------------------------------------------------


@pytest.mark.parametrize("cell", [-1, 512])
def test_a_cell_outside_the_domain_is_a_mistake_and_spends_nothing(cell: int) -> None:
    device = Device()
    with pytest.raises(ValueError, match=r"0\.\.511"):
        device.phone.report(cell, MONDAY)
    assert device.phone.spent().reports == 0


@pytest.mark.parametrize(("rule", "value"), [("cap", 0), ("epoch_days", 0), ("at_cap", "shout")])
def test_impossible_rules_are_refused(rule: str, value: object) -> None:
    with pytest.raises(ParameterError) as caught:
        Device(**{rule: value})
    assert caught.value.parameter == rule
