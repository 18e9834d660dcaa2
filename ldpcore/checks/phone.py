"""Four checks of the phone's program: its memory, its coins, its cap, and the versions it sends."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol

import numpy as np

from ldpcore.checks import ITEMS, VERSIONS, Check
from ldpcore.device import phone as phone_module
from ldpcore.device.inbox import Inbox, Tally
from ldpcore.device.ledger import Account, Ledger, Message
from ldpcore.device.store import FileKeyStore, FileStore, KeyStore, MemoryKeyStore, MemoryStore, Store
from ldpcore.device.wire import make_phone, read_header, receive
from ldpcore.mechanisms import Mechanism
from ldpcore.privacy.source import read_source
from ldpcore.rational import MIN_EPSILON
from ldpcore.schedule import DEFAULT_SCHEDULE, Schedule

_MORNING = datetime(2026, 3, 4, 8)


class Reporter(Protocol):
    """A phone, as far as the checks look at it; `ldpcore.device.phone.Phone` is one."""

    def report(self, cell: int | None, at: datetime) -> bytes | None:
        """Return the report to send now, or None."""

    def pending(self) -> tuple[Message, ...]:
        """Return messages that go out with the next opportunity."""

    def sent(self, message_id: bytes) -> None:
        """Confirm that a message went out."""

    def spent(self) -> Account:
        """Return what this epoch's reports spent."""


class Counter(Protocol):
    """A server, as far as the checks look at it; `ldpcore.device.inbox.Inbox` is one."""

    @property
    def tallies(self) -> Sequence[Tally]:
        """Counts for each mechanism and domain that was asked for."""

    @property
    def rejected(self) -> dict[str, int]:
        """Refused messages by reason."""

    def take(self, messages: Iterable[bytes]) -> int:
        """Count messages."""


PhoneMaker = Callable[[Mechanism, str, Store, KeyStore], Reporter]
"""Starts a phone: mechanism, domain version, and the two stores that outlive it."""

CounterMaker = Callable[..., Counter]


def shipped_phone(schedule: Schedule) -> PhoneMaker:
    """Return what starts the phone that ships, under a schedule."""

    def start(mechanism: Mechanism, version: str, store: Store, keys: KeyStore) -> Reporter:
        return make_phone(mechanism, version, ledger=Ledger(store, keys), rules=schedule)

    return start


def check_memo(mechanism: Mechanism, *, schedule: Schedule, start: PhoneMaker | None = None) -> Check:
    """Report cells over and over, also after a restart from the disk, and compare the bytes."""
    start = start or shipped_phone(schedule)
    places = list(islice(_places(mechanism), min(schedule.cap, 5)))
    first: dict[int | None, bytes | None] = {}
    calls = different = 0
    spent = Account()
    with TemporaryDirectory() as folder:
        for _ in range(2):
            with closing(FileStore(Path(folder) / "store")) as store:
                phone = start(mechanism, VERSIONS[0], store, FileKeyStore(Path(folder) / "keys"))
                for place in [*places] * 10:
                    report = phone.report(place, _MORNING)
                    _deliver(phone)
                    calls += 1
                    different += report is None or report != first.setdefault(place, report)
                spent = phone.spent()
    passed = different == 0 and spent.fresh == len(places)
    return Check(
        ITEMS[1],
        passed,
        f"{len(places)} cells reported {calls // len(places)} times each, half of the times after a restart from the "
        f"disk: {different} of {calls} reports differ from the first of their cell by a byte or more. "
        f"The ledger counts {spent.fresh} drawn and {spent.memo} repeated reports, "
        f"epsilon {float(spent.epsilon):.6g}.",
        {"reports": calls, "different": different, "drawn": spent.fresh, "epsilon": float(spent.epsilon)},
    )


def check_generator(*, entry: Path | None = None, root: Path | None = None) -> Check:
    """Read the source of the phone's program and say where its randomness comes from."""
    entry = entry or Path(phone_module.__file__)
    reading = read_source(entry, root=root or Path(phone_module.__file__).parents[2])
    found = (
        "; ".join(reading.objections)
        if reading.objections
        else "none; nothing else draws, and no clock is read"
    )
    draws = ", ".join(f"secrets.{name}" for name in reading.draws) or "nothing"
    return Check(
        ITEMS[2],
        bool(reading.draws) and not reading.objections,
        f"{len(reading.files)} files with {reading.lines:,} lines read, imports followed from {reading.files[0]}. "
        f"Random bits come from {draws}. Objections: {found}.",
        {"files": len(reading.files), "lines": reading.lines, "objections": len(reading.objections)},
    )


def check_cap(mechanism: Mechanism, *, schedule: Schedule, start: PhoneMaker | None = None) -> Check:
    """Fill the cap, then visit new cells: at once, after a restart, with the clock set back, with another domain."""
    cap = min(schedule.cap, mechanism.domain_size)
    start = start or shipped_phone(replace(schedule, cap=cap))
    places = list(islice(_places(mechanism), cap + 5))
    within, beyond = places[:cap], places[cap:]
    store, keys = MemoryStore(), MemoryKeyStore()
    phone = start(mechanism, VERSIONS[0], store, keys)
    released = []
    for place in within:
        phone.report(place, _MORNING)
        released += [message.report for message in _deliver(phone)]
    attempts = [
        (phone, _MORNING),
        (start(mechanism, VERSIONS[0], store, keys), _MORNING),
        (start(mechanism, VERSIONS[0], store, keys), _MORNING - timedelta(days=schedule.epoch_days)),
        (start(mechanism, VERSIONS[1], store, keys), _MORNING),
    ]
    tried = sent = new = 0
    for phone, at in attempts:
        for place in beyond:
            answered = phone.report(place, at)
            reports = [message.report for message in _deliver(phone)]
            if answered is not None and answered not in reports:
                reports.append(answered)
            tried += 1
            sent += len(reports)
            new += sum(report not in released for report in reports)
    spent = phone.spent()
    leaked = new if schedule.at_cap == "replay" else sent
    passed = len(released) == cap and leaked == 0 and spent.fresh <= cap
    rule = (
        f"{new} of {sent} reports sent were new"
        if schedule.at_cap == "replay"
        else f"{sent} reports were sent"
    )
    shown = (
        f"a cap of {cap}"
        if cap == schedule.cap
        else f"a cap of {schedule.cap}, more than the {cap} cells there are"
    )
    return Check(
        ITEMS[3],
        passed,
        f"Under {shown}, {len(released)} of {len(within)} cells were reported. Then {tried} visits to new cells, "
        f"a quarter each at once, after a restart, with the clock an epoch back and over another domain: "
        f"{rule} (rule: {schedule.at_cap}). The epoch spent epsilon {float(spent.epsilon):.6g}.",
        {"visits": tried, "sent": sent, "new": new, "drawn": spent.fresh, "epsilon": float(spent.epsilon)},
    )


def check_versions(
    mechanism: Mechanism, *, start: PhoneMaker | None = None, count: CounterMaker | None = None
) -> Check:
    """Let one phone report under two domains, one that the server does not know, and other parameters."""
    start, count = start or shipped_phone(DEFAULT_SCHEDULE), count or Inbox
    # Other parameters: any other epsilon does.
    other = replace(mechanism, epsilon=max(mechanism.epsilon / 2, MIN_EPSILON * 3))
    asked = [(mechanism, version) for version in VERSIONS[:2]]
    store, keys = MemoryStore(), MemoryKeyStore()
    sent: list[list[Message]] = []
    remembered = mislabelled = drawn = 0
    for made, version in (*asked, (mechanism, VERSIONS[2]), (other, VERSIONS[0])):
        phone = start(made, version, store, keys)
        messages: list[Message] = []
        for place in range(2):
            phone.report(place, _MORNING)
            messages += _deliver(phone)
        # Two cells of one epoch, remembered for another version, have to be drawn anew.
        remembered += phone.spent().fresh - drawn != len(messages)
        drawn = phone.spent().fresh
        for header in (read_header(message.report) for message in messages):
            stated = (header.domain_version, header.parameters_version)
            mislabelled += stated != (version, made.parameters_version)
        sent.append(messages)
    server = count(*asked)
    everything = [message.data for messages in sent for message in messages]
    counted = server.take([*everything, everything[0]])
    apart = [tally.domain_version for tally in server.tallies] == list(VERSIONS[:2])
    expected = 0
    for tally, messages in zip(server.tallies, sent, strict=False):
        alone = receive([message.report for message in messages], mechanism, tally.domain_version).reports
        apart &= tally.reports == len(alone) and np.array_equal(tally.counts, mechanism.aggregate(alone))
        expected += len(alone)
    refused = sum(server.rejected.values())
    whole = counted == expected and refused == len(everything) + 1 - expected
    reasons = ", ".join(f"{number} {reason}" for reason, number in sorted(server.rejected.items()))
    groups = " and ".join(f"{tally.reports} of domain {tally.domain_version}" for tally in server.tallies)
    return Check(
        ITEMS[5],
        apart and whole and remembered == mislabelled == 0,
        f"One phone reported two cells under each of two domains, a third the server does not know, and other "
        f"parameters; one message went twice. Reports without the right versions in their header: {mislabelled}. "
        f"Versions under which an old answer was used again: {remembered}. Counted: {groups}, "
        f"{'each as if the others were not there' if apart else 'not kept apart'}. Refused: {reasons or 'none'}.",
        {"sent": len(everything) + 1, "counted": counted, "refused": refused, "mislabelled": mislabelled},
    )


def _places(mechanism: Mechanism) -> Iterator[int | None]:
    """Every cell, then any place outside the domain."""
    yield from range(mechanism.domain_size)
    yield None


def _deliver(phone: Reporter) -> list[Message]:
    """Let everything go out that wants to, and return it."""
    messages = list(phone.pending())
    for message in messages:
        phone.sent(message.message_id)
    return messages
