"""A simulated phone reporting for days, and what a whole crowd of them spends.

One phone runs through the shipped rules: `ldpcore.device.phone.Phone` with its ledger decides at every moment
whether a report is drawn, repeated, replaced or withheld. Only the coins differ: the client of a phone takes
them from the operating system, and nothing could be reproduced from a link then, so `SeededClient` stands in
for it here. `real_week` runs the same days through the real client.

A crowd is too many for that. Its budget needs no reports, only which cells came first in each epoch, so
`spend_of` applies the same rules to stays at once; a test holds the two together.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date, timedelta
from functools import cached_property
from typing import Final

import numpy as np

from ldpcore.device.epoch import epoch_of
from ldpcore.device.ledger import Ledger
from ldpcore.device.phone import Phone
from ldpcore.device.randomiser import Client
from ldpcore.device.store import MemoryKeyStore, MemoryStore
from ldpcore.device.wire import make_client, make_phone
from ldpcore.mechanisms import Mechanism
from ldpcore.schedule import Schedule
from ldpcore.shapes import AnyArray, BoolArray, ByteArray, FloatArray, IntArray
from ldpcore.whereabouts import FIRST_DAY, OUTSIDE, Stays, moment_time

KINDS: Final = ("fresh", "memo", "replay", "silent")
"""What a phone can do when it would report, in the words of `ldpcore.device.phone`."""
FRESH, MEMO, REPLAY, SILENT = range(4)

_MIX = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))


@dataclass(frozen=True, slots=True)
class SeededClient(Client):
    """A client whose coins come from a seeded generator: for simulations that a link must reproduce.

    It sends reports of the same law and the same bytes as the real one. It never leaves a simulation.

    Parameters
    ----------
    randomiser
        The mechanism.
    rng
        Source of all coins.
    """

    randomiser: Mechanism
    rng: np.random.Generator

    def payload(self, cell: int | None) -> bytes:
        """Randomise one cell; None, outside the domain, sends the report of a random cell."""
        place = int(self.rng.integers(self.cells)) if cell is None else cell
        return self.randomiser.pack(self.randomiser.privatize([place], rng=self.rng)).tobytes()


@dataclass(frozen=True, eq=False)
class Week:
    """What one phone did at each moment at which it would report.

    Parameters
    ----------
    mechanism, schedule
        What it ran with.
    cells
        (n,) int64, where it was; `OUTSIDE` outside the domain.
    epochs
        (n,) int64, the epoch, counted from the first.
    kinds
        (n,) uint8, an index into `KINDS`.
    sent
        (n,) int64, which of the drawn reports was sent, or -1 if none.
    payloads
        (k, bytes) uint8, the reports that were drawn, in the order of drawing.
    """

    mechanism: Mechanism
    schedule: Schedule
    cells: IntArray
    epochs: IntArray
    kinds: ByteArray
    sent: IntArray
    payloads: ByteArray

    @property
    def moments(self) -> int:
        """Moments at which the phone would report."""
        return self.cells.size

    @property
    def sent_count(self) -> int:
        """Reports that were sent."""
        return int((self.kinds != SILENT).sum())

    def count(self, kind: int) -> int:
        """Return how often the phone did one of `KINDS`."""
        return int((self.kinds == kind).sum())

    @property
    def distinct_cells(self) -> int:
        """Different cells the phone was in; any place outside the domain is one more."""
        return int(np.unique(self.cells).size)

    @cached_property
    def spent(self) -> FloatArray:
        """(n,) epsilon spent up to and with each moment; each drawn report costs the label's epsilon."""
        return np.asarray(np.cumsum(self.kinds == FRESH) * self.mechanism.epsilon, np.float64)

    @cached_property
    def spent_fresh(self) -> FloatArray:
        """(n,) epsilon that a phone without a memory would have spent by then."""
        return np.asarray(np.arange(1, self.moments + 1) * self.mechanism.epsilon, np.float64)

    @cached_property
    def cells_so_far(self) -> IntArray:
        """(n,) how many cells were reported in the epoch up to and with each moment."""
        new = self.first_answers.astype(np.int64)
        total = np.cumsum(new)
        begins = np.append(True, self.epochs[1:] != self.epochs[:-1])
        before = np.maximum.accumulate(np.where(begins, total - new, 0))
        return total - before

    @cached_property
    def first_answers(self) -> BoolArray:
        """(n,) whether this is the first report of a cell in its epoch."""
        drawn = np.flatnonzero(self.kinds == FRESH)
        pairs = np.stack([self.epochs[drawn], self.cells[drawn]], axis=1)
        _, first = np.unique(pairs, axis=0, return_index=True)
        answers = np.zeros(self.moments, bool)
        answers[drawn[first]] = True
        return answers

    @cached_property
    def labels(self) -> IntArray:
        """(n,) what the server can tell apart: equal numbers for equal bytes, by first appearance; -1 for none."""
        _, inverse = np.unique(self.payloads, axis=0, return_inverse=True)
        inverse = inverse.reshape(-1)
        _, first = np.unique(inverse, return_index=True)
        rank = np.empty(first.size, np.int64)
        rank[np.argsort(first)] = np.arange(first.size)
        return np.where(self.sent < 0, -1, rank[inverse[self.sent]])

    @property
    def label_changes(self) -> int:
        """How often the server sees a report that differs from the one before, or a silence begin or end."""
        return int((self.labels[1:] != self.labels[:-1]).sum())

    @property
    def reports(self) -> AnyArray:
        """The drawn reports in the form of `Mechanism.privatize`."""
        return self.mechanism.unpack(self.payloads).reports


def seeded_week(
    mechanism: Mechanism,
    cells: IntArray,
    schedule: Schedule,
    *,
    rng: np.random.Generator,
    domain_version: str = "0" * 16,
) -> Week:
    """Let a phone report from given cells, through the shipped phone and ledger but with seeded coins.

    Parameters
    ----------
    mechanism
        The randomiser.
    cells
        (n,) the cell at each moment of the schedule, from `FIRST_DAY` on; `OUTSIDE` outside the domain.
    schedule
        How often, with which memory and cap.
    rng
        Source of all coins.
    domain_version
        16 hexadecimal digits.
    """
    shipped = make_client(mechanism, domain_version)
    client = SeededClient(
        shipped.mechanism, shipped.cells, shipped.settings, shipped.header, randomiser=mechanism, rng=rng
    )
    phone = _phone(mechanism, schedule, domain_version)
    return _follow(replace(phone, client=client), mechanism, cells, schedule)


def real_week(
    mechanism: Mechanism, cells: IntArray, schedule: Schedule, *, domain_version: str = "0" * 16
) -> Week:
    """Let a phone report from given cells with the real client: the operating system's coins, never the same twice."""
    return _follow(_phone(mechanism, schedule, domain_version), mechanism, cells, schedule)


def _phone(mechanism: Mechanism, schedule: Schedule, domain_version: str) -> Phone:
    ledger = Ledger(MemoryStore(), MemoryKeyStore())
    return make_phone(mechanism, domain_version, ledger=ledger, rules=schedule)


def _follow(phone: Phone, mechanism: Mechanism, cells: IntArray, schedule: Schedule) -> Week:
    """Ask a phone at every moment, and confirm what it sends."""
    kinds = np.empty(cells.size, np.uint8)
    epochs = np.zeros(cells.size, np.int64)
    sent = np.full(cells.size, -1, np.int64)
    drawn: list[bytes] = []
    of_cell: dict[tuple[int | None, int], int] = {}
    latest = -1
    header = len(phone.client.header)
    for moment, cell in enumerate(cells.tolist()):
        outcome = phone.answer(None if cell == OUTSIDE else cell, moment_time(moment, schedule.reports_a_day))
        kinds[moment] = KINDS.index(outcome.kind)
        epochs[moment] = outcome.epoch or 0
        if outcome.message is None:
            continue
        if kinds[moment] == FRESH:
            of_cell[outcome.epoch, cell] = len(drawn)
            drawn.append(outcome.message.report[header:])
        # A replay goes out again as it went last.
        latest = latest if kinds[moment] == REPLAY else of_cell[outcome.epoch, cell]
        sent[moment] = latest
        phone.sent(outcome.message.message_id)
    payloads = np.frombuffer(b"".join(drawn), np.uint8).reshape(len(drawn), -1)
    return Week(mechanism, schedule, cells, epochs - epochs[:1], kinds, sent, payloads)


# -- many phones ---------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, slots=True)
class CrowdSpend:
    """What many remembering phones spend, and what the cap does to their counts.

    Parameters
    ----------
    draws
        (devices,) int64, reports drawn by each phone over all epochs.
    most_cells
        (devices,) int64, the most different cells of each phone in one epoch, capped or not.
    withheld
        (devices,) int64, moments of each phone in a cell beyond the cap.
    truth, silent, replayed
        (d,) int64, moments of all phones in each cell: as it is, as far as a silent phone reports it, and as a
        replaying phone reports it.
    alone
        Share of phones whose pattern of changes no other phone of the crowd has.
    """

    draws: IntArray
    most_cells: IntArray
    withheld: IntArray
    truth: IntArray
    silent: IntArray
    replayed: IntArray
    alone: float

    @property
    def over_cap(self) -> float:
        """Share of phones that hit the cap at least once."""
        return float((self.withheld > 0).mean())

    @property
    def lost(self) -> float:
        """Share of all moments in the domain that silence leaves out."""
        return 1 - float(self.silent.sum() / self.truth.sum())

    @property
    def moved(self) -> float:
        """Share of all moments in the domain that replay counts in a wrong cell."""
        return float(np.abs(self.replayed - self.truth).sum() / 2 / self.truth.sum())

    def worst_cell(self, counted: IntArray, *, least: int) -> tuple[int, float]:
        """Return the cell with the greatest relative error of its count, of those with at least so many moments.

        Returns
        -------
        Its index and (counted - truth) / truth; (-1, 0.0) where no cell has so many.
        """
        busy = np.flatnonzero(self.truth >= max(least, 1))
        if busy.size == 0:
            return -1, 0.0
        error = (counted[busy] - self.truth[busy]) / self.truth[busy]
        worst = int(np.argmax(np.abs(error)))
        return int(busy[worst]), float(error[worst])


def spend_of(crowd: Stays, schedule: Schedule) -> CrowdSpend:
    """Apply memory, cap and epochs to all phones at once.

    Parameters
    ----------
    crowd
        Where the phones are.
    schedule
        Its cap and epochs; whether phones remember is not asked, they do.
    """
    epoch = epoch_numbers(crowd.days, schedule.epoch_days)[crowd.day]
    rank = _first_visit_rank(crowd.device, epoch, crowd.cell)
    allowed = rank < schedule.cap
    newest = np.append(True, (crowd.device[1:] != crowd.device[:-1]) | (epoch[1:] != epoch[:-1]))
    distinct = _running_most(rank + 1, newest)
    ends = np.append(newest[1:], True)
    draws = np.bincount(
        crowd.device[ends], np.minimum(distinct[ends], schedule.cap), minlength=crowd.devices
    ).astype(np.int64)
    most = np.zeros(crowd.devices, np.int64)
    np.maximum.at(most, crowd.device, rank + 1)
    withheld = np.bincount(crowd.device, np.where(allowed, 0, crowd.length), minlength=crowd.devices)
    # A replaying phone repeats the answer it sent last, which is that of its last allowed stay; the first of an
    # epoch is always allowed.
    last_allowed = np.maximum.accumulate(np.where(allowed, np.arange(allowed.size), 0))
    replayed_cell = crowd.cell[last_allowed]
    return CrowdSpend(
        draws=draws,
        most_cells=most,
        withheld=withheld.astype(np.int64),
        truth=_moments_in(crowd, crowd.cell, np.ones_like(allowed)),
        silent=_moments_in(crowd, crowd.cell, allowed),
        replayed=_moments_in(crowd, replayed_cell, crowd.cell != OUTSIDE),
        alone=_share_alone(crowd, np.where(allowed, rank, -1), newest),
    )


def epoch_numbers(days: int, epoch_days: int) -> IntArray:
    """Return (days,) int64, the epoch of each day of the simulation, counted from the first."""
    numbers = [epoch_of(day, epoch_days).number for day in _dates(days)]
    return np.array(numbers, np.int64) - numbers[0]


def _dates(days: int) -> Iterator[date]:
    return (FIRST_DAY + timedelta(days=day) for day in range(days))


def _moments_in(crowd: Stays, cell: IntArray, counted: BoolArray) -> IntArray:
    inside = counted & (cell != OUTSIDE)
    return np.bincount(cell[inside], crowd.length[inside], minlength=crowd.domain.size).astype(np.int64)


def _first_visit_rank(device: IntArray, epoch: IntArray, cell: IntArray) -> IntArray:
    """Return for each stay how many other cells its phone visited in the epoch before it first came here."""
    order = np.lexsort((np.arange(cell.size), cell, epoch, device))
    new_place = np.append(
        True,
        (device[order][1:] != device[order][:-1])
        | (epoch[order][1:] != epoch[order][:-1])
        | (cell[order][1:] != cell[order][:-1]),
    )
    first_stay = np.empty(cell.size, np.int64)
    first_stay[order] = order[np.maximum.accumulate(np.where(new_place, np.arange(cell.size), 0))]
    is_first = first_stay == np.arange(cell.size)
    begins = np.append(True, (device[1:] != device[:-1]) | (epoch[1:] != epoch[:-1]))
    firsts = np.cumsum(is_first)
    before = np.maximum.accumulate(np.where(begins, firsts - 1, 0))
    ranks: IntArray = (firsts - 1 - before)[first_stay]
    return ranks


def _running_most(values: IntArray, begins: BoolArray) -> IntArray:
    """Return the greatest value so far in each run of stays that begins where told."""
    group = np.cumsum(begins)
    # Groups only grow, so a multiple of the group lifts each above all before it.
    lift = group * (int(values.max(initial=0)) + 1)
    running: IntArray = np.maximum.accumulate(values + lift) - lift
    return running


def _share_alone(crowd: Stays, label: IntArray, begins: BoolArray) -> float:
    """Return the share of phones whose sequence of changes, as equal and different reports show it, is unique."""
    same = np.append(False, (label[1:] == label[:-1]) & ~begins[1:])
    kept = ~same
    # Each change is hashed with its moment and label; the sum over a phone stands for its whole pattern.
    first, second, third = _MIX
    mixed = crowd.start[kept].astype(np.uint64) * first + (label[kept] + 2).astype(np.uint64) * second
    mixed = (mixed ^ (mixed >> np.uint64(31))) * third
    mixed ^= mixed >> np.uint64(29)
    where = np.flatnonzero(np.append(True, np.diff(crowd.device[kept]) != 0))
    _, pattern, times = np.unique(np.add.reduceat(mixed, where), return_inverse=True, return_counts=True)
    return float((times[pattern] == 1).mean())
