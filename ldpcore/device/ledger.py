"""The ledger: what a device remembers of its reports, what it has spent, and what is still to be sent.

A report is written here before it is sent, and the file is on the disk before the bytes are handed out. So a
device that dies at any point either never showed the report to anybody, or sends the same bytes once more
after the restart, with the same message id, by which the server counts them once. Nothing is drawn twice.

One epoch is kept at a time. Memoised reports belong to a header (mechanism, parameters, domain version) and
a cell: a new domain or new parameters find no old answer. They all count against the same epoch, so a server
that changes its parameters does not get a new budget. The next epoch begins when the clock shows a day
after the last day of this one; then the old cells and reports are deleted and two totals remain. The
epoch never decreases: a clock that goes back opens no epoch again. The device has no other notion of time, so
a clock that goes *forward* past the end of an epoch buys fresh answers, each time it does: whoever sets the
clock of a phone ten weeks ahead, a week at a time, gets ten answers from one place in a day. That is not
protected. A reading that is plainly wrong is held off:

- A day more than `AHEAD_DAYS` after the end of the epoch is not believed before the clock has shown
  `CONFIRMATIONS` different days there, each later than the one before; until then the device is silent. A
  phone that was off for half a year loses two days by that.
- A day after `LAST_DAY` is never believed.
- A day more than an epoch's length before the beginning of the epoch keeps the device silent until the clock comes
  near again. Otherwise a clock that was far ahead and then set right would leave the same answers in use for
  all that time, and they would tell the phone from others. This can be long; it is silence, not a leak.

The first day that a new device ever sees has nothing to be compared with, and a clock that stands still ends no
epoch.

Where the past of an epoch cannot be read (damaged, cut, removed or replaced by an older copy, key lost)
nobody knows what was spent. The ledger is then closed and the device silent until the next epoch.

Imports: the standard library, and `cryptography` by way of `ldpcore.device.store`.
"""

from __future__ import annotations

import json
import struct
from dataclasses import asdict, dataclass, field, replace
from datetime import date
from fractions import Fraction
from secrets import token_bytes
from typing import Any, NamedTuple

from ldpcore.device.epoch import Epoch, epoch_of
from ldpcore.device.store import Anchor, DamagedError, KeyStore, Store, new_key, seal, unseal

MESSAGE_ID_BYTES = 16
OUTBOX = 64
"""Messages that may wait for the network at once."""

AHEAD_DAYS = 60
"""A clock that shows a day so much later than the epoch's last one is doubted."""
CONFIRMATIONS = 3
"""Different days that a doubted clock has to show before it is believed."""
LAST_DAY = date(2099, 12, 31)
"""No clock is believed that shows a later day."""
# The longest epoch, 3,650 days, may end after it.
_LAST_ENTERED = LAST_DAY.toordinal() + 3650

_LENGTH = struct.Struct("<I")

Place = tuple[bytes, int | None]
"""Header and cell; None is any place outside the domain, which counts as one more cell."""


class Message(NamedTuple):
    """A report with the random number by which a server knows it again."""

    message_id: bytes
    report: bytes

    @property
    def data(self) -> bytes:
        """What goes over the network: the id, then the report."""
        return self.message_id + self.report


class Entry(NamedTuple):
    """The epoch that counts now, if there is one, and why the clock keeps the device silent; empty if not."""

    epoch: Epoch | None
    silent: str = ""


@dataclass(frozen=True, slots=True)
class Account:
    """Reports that were handed out, by kind, and what they spent.

    Parameters
    ----------
    fresh
        Reports that were drawn; each spends its epsilon.
    memo
        Reports drawn before in this epoch and sent again for the same cell.
    replay
        Reports drawn before in this epoch and sent in place of a cell beyond the cap.
    epsilon
        Sum over the fresh reports, exact.
    """

    fresh: int = 0
    memo: int = 0
    replay: int = 0
    epsilon: Fraction = Fraction(0)

    @property
    def reports(self) -> int:
        """All reports; each has its own message id."""
        return self.fresh + self.memo + self.replay

    def __add__(self, other: Account) -> Account:
        return Account(
            self.fresh + other.fresh,
            self.memo + other.memo,
            self.replay + other.replay,
            self.epsilon + other.epsilon,
        )


@dataclass(frozen=True, slots=True)
class Lifetime:
    """Totals of all epochs.

    Parameters
    ----------
    account
        Of all epochs together, since the last loss.
    epochs
        Epochs in which the ledger was open, since the last loss.
    losses
        How often the ledger was found lost; what was spent before the last time is not in the account. The
        key store keeps this number: where the key store itself is lost it begins again at 1.
    """

    account: Account
    epochs: int
    losses: int


@dataclass(frozen=True, slots=True)
class _State:
    """All that is in the file. `memo` is in the order of the last release."""

    epoch: Epoch | None = None
    closed: str = ""
    memo: dict[Place, bytes] = field(default_factory=dict)
    account: Account = field(default_factory=Account)
    past: Account = field(default_factory=Account)
    epochs: int = 0
    losses: int = 0
    drawn: int = 0
    outbox: tuple[Message, ...] = ()
    doubt: tuple[int, int] | None = None
    """The last day a doubted clock showed, as an ordinal, and how many different ones it has shown."""


class Ledger:
    """The ledger of one device.

    Parameters
    ----------
    store
        Its file.
    keys
        The platform's key store.

    Notes
    -----
    Every method that changes something returns only when the change is on the disk. One that fails (a
    full disk) leaves the old or the new file; which one is read again before the next step.
    """

    def __init__(self, store: Store, keys: KeyStore) -> None:
        self._store = store
        self._keys = keys
        self._anchor = Anchor(b"")
        self._state: _State | None = None

    # -- reading ---------------------------------------------------------------------------------

    @property
    def epoch(self) -> Epoch | None:
        """The epoch that was entered last; None before the first."""
        return self._read().epoch

    @property
    def closed(self) -> str:
        """Why nothing may be reported in this epoch; empty where it may."""
        return self._read().closed

    @property
    def distinct(self) -> int:
        """Cells reported in this epoch, those of every header together."""
        return len(self._read().memo)

    @property
    def account(self) -> Account:
        """Of this epoch."""
        return self._read().account

    @property
    def lifetime(self) -> Lifetime:
        """Of all epochs."""
        state = self._read()
        return Lifetime(state.past + state.account, state.epochs, state.losses)

    def find(self, header: bytes, cell: int | None) -> bytes | None:
        """Return the report of a cell in this epoch, or None where there is none."""
        return self._read().memo.get((header, cell))

    def latest(self, header: bytes) -> bytes | None:
        """Return the report with this header that was released last in this epoch."""
        memo = self._read().memo
        return next((memo[place] for place in reversed(memo) if place[0] == header), None)

    def pending(self) -> tuple[Message, ...]:
        """Return messages that were handed out and not confirmed, oldest first."""
        return self._read().outbox

    # -- changing --------------------------------------------------------------------------------

    def enter(self, day: date, epoch_days: int) -> Entry:
        """Begin the next epoch if the day lies after this one and can be believed; else stay.

        Parameters
        ----------
        day
            Today by the device's clock.
        epoch_days
            Length of the epoch that would begin; this one keeps its own.

        Returns
        -------
        Entry
            The epoch that counts now, which may lie after the day, if the clock went back; None before the
            first. And a sentence where the clock is not believed.
        """
        state = self._read()
        if day > LAST_DAY:
            return Entry(state.epoch, f"The clock shows {day}, which is not believed; the phone is silent.")
        if state.epoch is not None and (reason := self._doubt(state, state.epoch, day)):
            return Entry(state.epoch, reason)
        state = self._read()
        if state.epoch is not None and day <= state.epoch.last:
            return Entry(state.epoch, _behind(state.epoch, day))
        if state.closed and state.epoch is None:
            # Just found lost. What is known is the last day of the newest epoch, unless the key is lost too.
            known = date.fromordinal(max(self._anchor.last_day, 1))
            epoch = epoch_of(max(day, known), epoch_days)
            self._commit(replace(state, epoch=epoch))
            return Entry(epoch)
        epoch = epoch_of(day, epoch_days)
        self._commit(
            replace(
                state,
                epoch=epoch,
                closed="",
                memo={},
                account=Account(),
                past=state.past + state.account,
                epochs=state.epochs + 1,
                doubt=None,
            )
        )
        return Entry(epoch)

    def spend(self, header: bytes, cell: int | None, report: bytes, epsilon: Fraction) -> Message:
        """Write down a report that was just drawn, and its cost; return the message to send."""
        state = self._read()
        account = replace(
            state.account, fresh=state.account.fresh + 1, epsilon=state.account.epsilon + epsilon
        )
        return self._release(replace(state, drawn=state.drawn + 1, account=account), (header, cell), report)

    def repeat(self, header: bytes, cell: int | None) -> Message:
        """Release the report of a cell once more."""
        state = self._read()
        account = replace(state.account, memo=state.account.memo + 1)
        return self._release(replace(state, account=account), (header, cell), state.memo[header, cell])

    def replay(self, header: bytes) -> Message:
        """Release the latest report once more, in place of one that may not be drawn."""
        state = self._read()
        place = next(place for place in reversed(state.memo) if place[0] == header)
        account = replace(state.account, replay=state.account.replay + 1)
        return self._release(replace(state, account=account), place, state.memo[place])

    def sent(self, message_id: bytes) -> None:
        """Note that the network took a message; an id that is not pending changes nothing."""
        state = self._read()
        outbox = tuple(message for message in state.outbox if message.message_id != message_id)
        if len(outbox) < len(state.outbox):
            self._commit(replace(state, outbox=outbox))

    def close(self) -> None:
        """Let another process use the file."""
        self._store.close()

    def _doubt(self, state: _State, epoch: Epoch, day: date) -> str:
        """Note a day that lies far ahead; say why it is not believed, or nothing where it is."""
        shown_day = day.toordinal()
        ahead = shown_day - epoch.last.toordinal()
        if ahead <= AHEAD_DAYS:
            if state.doubt is not None:
                self._commit(replace(state, doubt=None))
            return ""
        before, shown = state.doubt or (0, 0)
        if not before <= shown_day <= before + AHEAD_DAYS:
            shown = 0
        if shown_day != before:
            shown += 1
            if shown >= CONFIRMATIONS:
                return ""
            self._commit(replace(state, doubt=(shown_day, shown)))
        return (
            f"The clock jumped to {day}, {ahead} days after this epoch; the phone is silent until it has shown "
            f"{CONFIRMATIONS} different days there, {shown} so far."
        )

    # -- the file --------------------------------------------------------------------------------

    def _release(self, state: _State, place: Place, report: bytes) -> Message:
        message = Message(token_bytes(MESSAGE_ID_BYTES), report)
        memo = {other: kept for other, kept in state.memo.items() if other != place}
        memo[place] = report
        self._commit(replace(state, memo=memo, outbox=(*state.outbox, message)))
        return message

    def _commit(self, state: _State) -> None:
        """Write the file, then raise the numbers of the key store; only then does the state count."""
        self._state = None
        self._store.replace(seal(self._anchor.key, _encode(state)))
        self._raise_anchor(state)
        self._state = state

    def _raise_anchor(self, state: _State) -> None:
        last_day = state.epoch.last.toordinal() if state.epoch else 0
        anchor = Anchor(self._anchor.key, state.drawn, last_day, state.losses)
        if anchor != self._anchor:
            self._keys.save(anchor)
            self._anchor = anchor

    def _read(self) -> _State:
        if self._state is None:
            self._state = self._load()
        return self._state

    def _load(self) -> _State:
        anchor, sealed = self._keys.load(), self._store.read()
        # A key store that gives back a day which no device has ever entered was damaged, key and all.
        if anchor is None or len(anchor.key) != 32 or anchor.last_day > _LAST_ENTERED:
            self._anchor = Anchor(new_key())
            self._keys.save(self._anchor)
            return _State() if sealed is None else _lost("its key is lost", self._anchor)
        self._anchor = anchor
        if sealed is None:
            # The key is kept before the first write, so a start that was interrupted there is no loss.
            return _State() if anchor[1:] == (0, 0, 0) else _lost("its file is gone", anchor)
        try:
            state = _decode(unseal(anchor.key, sealed))
        except DamagedError as damage:
            return _lost(f"its file cannot be read: {damage}", anchor)
        last_day = state.epoch.last.toordinal() if state.epoch else 0
        if state.drawn < anchor.drawn or last_day < anchor.last_day or state.losses < anchor.losses:
            return _lost("its file is an older copy", anchor)
        self._raise_anchor(state)
        return state


def _lost(reason: str, anchor: Anchor) -> _State:
    return _State(
        closed=f"The ledger of this epoch is lost ({reason}), so nobody knows what was spent; "
        "the device is silent until the next epoch.",
        losses=anchor.losses + 1,
        drawn=anchor.drawn,
    )


def _behind(epoch: Epoch, day: date) -> str:
    """Say why a clock that is behind keeps the device silent, or nothing where it is near enough."""
    first, length = epoch.first.toordinal(), epoch.last.toordinal() - epoch.first.toordinal() + 1
    if day.toordinal() >= first - length:
        return ""
    return (
        f"The clock shows {day}, more than an epoch before this one began on {epoch.first}; the phone is silent "
        f"until {date.fromordinal(first - length)}."
    )


def _encode(state: _State) -> bytes:
    """Turn a state into bytes: a JSON text of everything but reports, then the reports."""
    about = {
        "epoch": None if state.epoch is None else [state.epoch.number, *map(date.toordinal, state.epoch[1:])],
        "closed": state.closed,
        "account": _account_to_json(state.account),
        "past": _account_to_json(state.past),
        "epochs": state.epochs,
        "losses": state.losses,
        "drawn": state.drawn,
        "doubt": state.doubt,
        "memo": [[header.hex(), cell, len(report)] for (header, cell), report in state.memo.items()],
        "outbox": [[message.message_id.hex(), len(message.report)] for message in state.outbox],
    }
    text = json.dumps(about, separators=(",", ":")).encode()
    reports = [*state.memo.values(), *(message.report for message in state.outbox)]
    return b"".join([_LENGTH.pack(len(text)), text, *reports])


def _decode(data: bytes) -> _State:
    """Undo `_encode`; what is decoded was sealed by this code, so it is not checked again."""
    (length,) = _LENGTH.unpack_from(data)
    start = _LENGTH.size + length
    about: dict[str, Any] = json.loads(data[_LENGTH.size : start])

    def take(size: int) -> bytes:
        nonlocal start
        start += size
        return data[start - size : start]

    epoch = about["epoch"]
    return _State(
        epoch=None if epoch is None else Epoch(epoch[0], *map(date.fromordinal, epoch[1:])),
        closed=about["closed"],
        account=_account_from_json(about["account"]),
        past=_account_from_json(about["past"]),
        epochs=about["epochs"],
        losses=about["losses"],
        drawn=about["drawn"],
        doubt=None if about["doubt"] is None else (about["doubt"][0], about["doubt"][1]),
        memo={(bytes.fromhex(header), cell): take(size) for header, cell, size in about["memo"]},
        outbox=tuple(Message(bytes.fromhex(number), take(size)) for number, size in about["outbox"]),
    )


def _account_to_json(account: Account) -> dict[str, object]:
    return {**asdict(account), "epsilon": str(account.epsilon)}


def _account_from_json(fields: dict[str, Any]) -> Account:
    return Account(**{**fields, "epsilon": Fraction(fields["epsilon"])})
