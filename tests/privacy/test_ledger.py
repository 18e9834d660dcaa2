"""The ledger when things go wrong: killed at any point, damaged, rolled back, without its key, on a full disk.

Reports here are drawn by the client that ships, so there is no seed. Two drawn apart are the same bytes with
probability below 2^-59 (a hash of 60 random bits each); over all pairs looked at in this file, fewer than
10^7, a test fails by chance with probability below 1e-10.
"""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from collections import defaultdict
from datetime import datetime, timedelta
from fractions import Fraction
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import pytest

from ldpcore.device import store as store_module
from ldpcore.device.inbox import Inbox
from ldpcore.device.ledger import Ledger
from ldpcore.device.phone import Phone
from ldpcore.device.store import (
    Anchor,
    DamagedError,
    FileKeyStore,
    FileStore,
    MemoryKeyStore,
    MemoryStore,
    new_key,
    seal,
    unseal,
)
from ldpcore.device.wire import make_client, make_phone
from ldpcore.mechanisms import make_mechanism
from tests.privacy.crashing_disk import Disk, KilledError

MONDAY = datetime(2026, 3, 2, 8)
WEEK = timedelta(days=7)
VERSION = "0123456789abcdef"
HASHED = make_mechanism("olh", epsilon=1, domain_size=64)
CAP = 3
RULES = SimpleNamespace(memo=True, cap=CAP, epoch_days=7, at_cap="silent")

# A day's way through the phone: cells and the epoch they are reported in. It fills the cap, goes on, comes
# back, goes outside the domain, and enters the next epoch.
WALK: list[tuple[int | None, int]] = [(5, 0), (5, 0), (None, 0), (9, 0), (7, 0), (5, 0), (5, 1), (9, 1)]


class World:
    """A disk, a server, and everything that was ever handed out."""

    def __init__(self, disk: Disk) -> None:
        self.disk = disk
        self.delivered: list[bytes] = []
        self.handed_out: dict[tuple[int, int | None], set[bytes]] = defaultdict(set)
        self.turn = 0

    def phone(self) -> Phone:
        ledger = Ledger(FileStore("/phone/store"), FileKeyStore("/phone/keys"))
        return make_phone(HASHED, VERSION, ledger=ledger, rules=RULES)

    def send(self, phone: Phone, data: bytes) -> None:
        # The network is one more place to die at: before the message is out, or right after.
        stops = self.disk.tick()
        self.delivered.append(data)
        if stops:
            self.disk.end()
        phone.sent(data[:16])

    def live(self) -> Phone:
        """Start the phone, send what is pending, and go on with the walk to its end."""
        phone = self.phone()
        for message in phone.pending():
            self.send(phone, message.data)
        while self.turn < len(WALK):
            cell, week = WALK[self.turn]
            outcome = phone.answer(cell, MONDAY + week * WEEK)
            assert not phone.ledger.closed, phone.ledger.closed
            if outcome.message is not None:
                assert outcome.epoch is not None
                self.handed_out[outcome.epoch, cell].add(outcome.message.report)
                self.send(phone, outcome.message.data)
            self.turn += 1
        return phone


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    """A disk in place of the machine's."""
    made = Disk()
    monkeypatch.setattr(store_module, "os", made)
    monkeypatch.setattr("fcntl.flock", lambda *_: None)
    return made


def use(monkeypatch: pytest.MonkeyPatch) -> Disk:
    made = Disk()
    monkeypatch.setattr(store_module, "os", made)
    return made


def check(world: World, phone: Phone) -> None:
    """Hold what the server saw against what the ledger says, and both against the rules."""
    reports_of_week: dict[int, set[bytes]] = defaultdict(set)
    for (epoch, _), reports in world.handed_out.items():
        assert len(reports) == 1, "a cell was drawn twice in one epoch"
        reports_of_week[epoch] |= reports
    assert all(len(reports) <= CAP for reports in reports_of_week.values())
    life = phone.lifetime()
    different = {data[:16]: data[16:] for data in world.delivered}
    # Each message was delivered at least once, each with one content, and none is unknown to the ledger.
    assert len(set(world.delivered)) == len(different) == life.account.reports
    assert life.losses == 0
    assert life.account.fresh == len(set(different.values()))
    assert life.account.epsilon == life.account.fresh * Fraction(HASHED.epsilon_effective)
    inbox = Inbox((HASHED, VERSION))
    assert inbox.take(world.delivered) == life.account.reports
    assert sum(inbox.rejected.values()) == len(world.delivered) - life.account.reports


def test_without_an_accident_the_walk_spends_five(disk: Disk) -> None:
    world = World(disk)
    phone = world.live()
    check(world, phone)
    account = phone.lifetime().account
    assert (account.fresh, account.memo, account.replay) == (5, 2, 0)
    assert len(world.delivered) == 7


CRASHES = [
    pytest.param({"power_cut": False}, id="killed"),
    *(
        pytest.param(
            {"power_cut": True, "lost_bytes": lost_bytes, "lost_names": lost_names},
            id=f"power cut{', bytes lost' * lost_bytes}{', names lost' * lost_names}",
        )
        for lost_bytes, lost_names in product((False, True), repeat=2)
    ),
]


@pytest.mark.parametrize("crash", CRASHES)
@pytest.mark.parametrize("middle", [False, True], ids=["before", "in the middle"])
def test_killed_at_any_operation_the_ledger_is_right(
    disk: Disk, monkeypatch: pytest.MonkeyPatch, crash: dict[str, bool], *, middle: bool
) -> None:
    World(disk).live()
    total = disk.operations
    assert total > 150
    for stop in range(1, total + 1):
        world = World(use(monkeypatch))
        world.disk.stop, world.disk.middle = stop, middle
        with pytest.raises(KilledError):
            world.live()
        world.disk.restart(**crash)
        check(world, world.live())


def test_killed_again_while_it_recovers_the_ledger_is_right(
    disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    World(disk).live()
    for stop, later in product(range(1, disk.operations, 7), range(1, 40, 3)):
        world = World(use(monkeypatch))
        for wait in (stop, later):
            world.disk.stop = world.disk.operations + wait
            try:
                world.live()
            except KilledError:
                world.disk.restart(power_cut=True, lost_bytes=True, lost_names=True)
        world.disk.stop = 0
        check(world, world.live())


def test_a_disk_that_fails_at_any_operation_costs_a_report_and_no_budget(
    disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    World(disk).live()
    silent = 0
    for stop in range(1, disk.operations + 1):
        world = World(use(monkeypatch))
        world.disk.error = OSError(errno.ENOSPC, "No space left on device")
        world.disk.stop = stop
        phone = world.phone() if stop > 1 else None
        if phone is None:
            continue
        for cell, week in WALK:
            outcome = phone.answer(cell, MONDAY + week * WEEK)
            if outcome.message is not None:
                assert outcome.epoch is not None
                world.handed_out[outcome.epoch, cell].add(outcome.message.report)
            elif "No space left" in outcome.reason:
                silent += 1
            # A message that is on the disk is pending, also when the phone could not be sure of it.
            for message in phone.pending():
                world.delivered.append(message.data)
                phone.sent(message.message_id)
        check(world, phone)
    assert silent > 20


# -- real processes, really killed -----------------------------------------------------------------


@pytest.mark.slow
def test_processes_killed_two_hundred_times_leave_the_ledger_right(tmp_path: Path) -> None:
    client = make_client(HASHED, VERSION)
    job = [client.mechanism, client.cells, dict(client.settings), client.header.hex()]
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("killed_phone.py")), str(tmp_path), "200"],
        input=json.dumps(job).encode(),
        capture_output=True,
        timeout=300,
        check=False,
        cwd=Path(store_module.__file__).parents[2],
    )
    assert done.returncode == 0, done.stderr.decode()
    killed, cells = done.stdout.decode().split()
    assert int(killed) == 200, done.stderr.decode()
    size = 16 + len(client.report(0))
    log = (tmp_path / "server").read_bytes()
    messages = [log[start : start + size] for start in range(0, len(log), size)]
    phone = make_phone(
        HASHED,
        VERSION,
        ledger=Ledger(FileStore(tmp_path / "store"), FileKeyStore(tmp_path / "keys")),
        rules=SimpleNamespace(memo=True, cap=10, epoch_days=1, at_cap="replay"),
    )
    messages += [message.data for message in phone.pending()]
    life = phone.lifetime()
    phone.ledger.close()
    assert life.losses == 0
    assert len({message[:16] for message in messages}) == len(set(messages)) == life.account.reports
    assert life.account.fresh == len({message[16:] for message in messages})
    # Hours of one day are one epoch; each day visits the same number of cells.
    days = -(-life.account.reports // 24)
    # A phone killed at midnight may have entered the day and reported nothing in it.
    assert life.epochs in {days, life.account.reports // 24 + 1}
    assert life.account.fresh <= days * int(cells)
    assert life.account.reports > 24
    inbox = Inbox((HASHED, VERSION))
    assert inbox.take(messages) == life.account.reports


# -- what is on the disk ---------------------------------------------------------------------------


def memory_phone(store: MemoryStore, keys: MemoryKeyStore) -> Phone:
    return make_phone(HASHED, VERSION, ledger=Ledger(store, keys), rules=RULES)


def lived() -> tuple[MemoryStore, MemoryKeyStore, list[bytes]]:
    """The stores of a phone that reported from two cells, and its reports."""
    store, keys = MemoryStore(), MemoryKeyStore()
    phone = memory_phone(store, keys)
    reports = []
    for cell in (5, 9):
        outcome = phone.answer(cell, MONDAY)
        assert outcome.message is not None
        phone.sent(outcome.message.message_id)
        reports.append(outcome.message.report)
    return store, keys, reports


def must_wait(phone: Phone, reason: str) -> None:
    """The phone is silent to the end of the week, says why, and reports again in the next."""
    for day in (0, 6):
        outcome = phone.answer(5, MONDAY + timedelta(days=day))
        assert (outcome.kind, outcome.message) == ("silent", None)
        assert reason in outcome.reason
        assert "until the next epoch" in outcome.reason
    assert phone.answer(5, MONDAY + WEEK).kind == "fresh"
    assert phone.lifetime().losses == 1


def test_the_file_is_sealed_and_its_size_does_not_count_cells() -> None:
    store, keys, reports = lived()
    assert keys.anchor is not None
    assert store.data is not None
    assert all(report not in store.data and report[44:] not in store.data for report in reports)
    assert keys.anchor.key not in store.data
    empty, its_keys = MemoryStore(), MemoryKeyStore()
    Ledger(empty, its_keys).enter(MONDAY.date(), 7)
    assert empty.data is not None
    assert len(empty.data) == len(store.data)
    # The same state sealed twice is other bytes.
    assert seal(keys.anchor.key, b"x") != seal(keys.anchor.key, b"x")


@pytest.mark.parametrize("size", [0, 1, 4091, 4092, 4093, 10_000])
def test_what_is_sealed_comes_back_and_only_with_its_key(size: int) -> None:
    key, data = new_key(), os.urandom(size)
    assert unseal(key, seal(key, data)) == data
    with pytest.raises(DamagedError):
        unseal(new_key(), seal(key, data))


def test_any_changed_bit_and_any_cut_is_noticed() -> None:
    store, keys, _ = lived()
    assert store.data is not None
    whole = store.data
    damaged = [whole[:length] for length in (*range(64), *range(64, len(whole), 97), len(whole) - 1)]
    damaged += [whole + b"\0", b"\0" * len(whole)]
    for place in (*range(64), *range(64, len(whole), 61), len(whole) - 1):
        changed = bytearray(whole)
        changed[place] ^= 1 << place % 8
        damaged.append(bytes(changed))
    for data in damaged:
        must_wait(memory_phone(MemoryStore(data), MemoryKeyStore(keys.anchor)), "cannot be read")


def test_a_damaged_ledger_stays_closed_over_a_restart() -> None:
    store, keys, _ = lived()
    store.data = b"nonsense"
    assert memory_phone(store, keys).report(5, MONDAY) is None
    must_wait(memory_phone(store, keys), "cannot be read")


@pytest.mark.parametrize("gone", [None, Anchor(new_key())], ids=["gone", "another"])
def test_a_lost_key_closes_the_epoch(gone: Anchor | None) -> None:
    store, _, _ = lived()
    must_wait(memory_phone(store, MemoryKeyStore(gone)), "key")


def test_a_removed_file_closes_the_epoch() -> None:
    _, keys, _ = lived()
    must_wait(memory_phone(MemoryStore(), keys), "its file is gone")


def test_an_older_copy_closes_the_epoch() -> None:
    store, keys = MemoryStore(), MemoryKeyStore()
    memory_phone(store, keys).answer(5, MONDAY)
    copy = MemoryStore(store.data)
    memory_phone(store, keys).answer(9, MONDAY)
    must_wait(memory_phone(copy, keys), "older copy")


def test_a_copy_of_the_last_epoch_opens_it_no_second_time() -> None:
    store, keys = MemoryStore(), MemoryKeyStore()
    memory_phone(store, keys).answer(5, MONDAY)
    copy = MemoryStore(store.data)
    Ledger(store, keys).enter(MONDAY.date() + WEEK, 7)
    # The clock says the old week, the key store knows of the new one.
    phone = memory_phone(copy, keys)
    for week in (0, 1):
        assert "older copy" in phone.answer(5, MONDAY + week * WEEK).reason
    assert phone.answer(5, MONDAY + 2 * WEEK).kind == "fresh"


def test_a_copy_from_before_the_message_was_confirmed_sends_it_twice_and_spends_once() -> None:
    store, keys = MemoryStore(), MemoryKeyStore()
    phone = memory_phone(store, keys)
    message = phone.answer(5, MONDAY).message
    assert message is not None
    copy = MemoryStore(store.data)
    phone.sent(message.message_id)
    again = memory_phone(copy, keys)
    assert again.pending() == (message,)
    inbox = Inbox((HASHED, VERSION))
    inbox.take([message.data, again.pending()[0].data])
    assert (inbox.tallies[0].reports, inbox.rejected) == (1, {"sent twice": 1})


def test_a_start_that_was_interrupted_before_anything_was_written_is_no_loss() -> None:
    assert memory_phone(MemoryStore(), MemoryKeyStore(Anchor(new_key()))).answer(5, MONDAY).kind == "fresh"


def test_an_old_epoch_leaves_no_cell_and_no_report_behind() -> None:
    store, keys, reports = lived()
    assert keys.anchor is not None
    assert store.data is not None
    before = unseal(keys.anchor.key, store.data)
    assert all(report in before for report in reports)
    phone = memory_phone(store, keys)
    (new,) = [phone.report(7, MONDAY + WEEK)]
    after = unseal(keys.anchor.key, store.data)
    assert new is not None
    assert new in after
    assert not any(report[44:] in after for report in reports)
    assert phone.ledger.distinct == 1


def test_two_processes_cannot_keep_one_ledger(tmp_path: Path) -> None:
    first = FileStore(tmp_path / "store")
    with pytest.raises(BlockingIOError, match="another process keeps this ledger"):
        FileStore(tmp_path / "store")
    first.close()
    FileStore(tmp_path / "store").close()


def test_files_are_the_owners_alone(tmp_path: Path) -> None:
    store, keys = FileStore(tmp_path / "store"), FileKeyStore(tmp_path / "keys")
    Ledger(store, keys).enter(MONDAY.date(), 7)
    store.close()
    assert {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {
        "store": 0o600,
        "store.lock": 0o600,
        "keys": 0o600,
    }
    (tmp_path / "keys").write_bytes(b"short")
    assert keys.load() is None
