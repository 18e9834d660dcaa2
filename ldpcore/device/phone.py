"""The phone: the client, its ledger, and the rules of the schedule put together.

Each time the phone would report, one of four things happens:

    fresh    a cell not reported yet in this epoch: a report is drawn, its epsilon spent
    memo     a cell already reported in this epoch: the same bytes again, nothing spent
    replay   a new cell beyond the cap, rule `replay`: the latest report again, nothing spent, and nothing
             about the new cell in it
    silent   a new cell beyond the cap, rule `silent`; or nobody knows what was spent; or nothing can be kept;
             or the clock cannot be believed

What this does not protect. A memo hides which cells, not when the cell changed: a report that
differs from the one before says that the phone moved. Silence beyond the cap says that there were more
cells than the cap. Replay says neither, and the server then counts the phone where it was. The message
id is random, drawn anew for each report and sent again only with the same report: it links a message to
its own repetitions and to nothing else.

The clock is not protected either. A day after the epoch begins a new one with new answers, so whoever can set
the phone's clock forward a step at a time (its owner, its network, its time server) buys fresh answers, up to a cap
of them with each step; `ldpcore.device.ledger` says which readings are held off.

Imports: the standard library, the randomiser and the ledger; no numpy.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from typing import Literal, Protocol

from ldpcore.device.ledger import OUTBOX, Account, Ledger, Lifetime, Message
from ldpcore.device.randomiser import Client

Kind = Literal["fresh", "memo", "replay", "silent"]


class Rules(Protocol):
    """What the phone needs of a schedule."""

    @property
    def memo(self) -> bool:
        """Whether reports are remembered; without it each report is drawn anew and spends anew."""

    @property
    def cap(self) -> int:
        """Distinct cells an epoch of a phone that remembers, at least 1; any place outside the domain is one more cell."""

    @property
    def epoch_days(self) -> int:
        """Days an epoch, at least 1."""

    @property
    def at_cap(self) -> str:
        """What happens with a new cell beyond the cap: `silent` or `replay`."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the phone did when it would have reported.

    Parameters
    ----------
    kind
        See the top of this module.
    epoch
        Number of the epoch; None where the ledger could not even be read, or no epoch was entered yet.
    message
        What is to be sent; None if silent.
    reason
        A sentence where there is something to say: why the phone is silent, why a report is a replay, that
        the clock is behind. Otherwise empty.
    """

    kind: Kind
    epoch: int | None
    message: Message | None
    reason: str = ""

    @property
    def report(self) -> bytes | None:
        """Header and payload, without the message id."""
        return None if self.message is None else self.message.report


@dataclass(frozen=True, slots=True)
class Phone:
    """One phone, used by one thread at a time.

    Parameters
    ----------
    client
        Mechanism, parameters and domain version, as the server published them.
    ledger
        What this phone remembers.
    rules
        Cap, epoch, memo, and what happens at the cap; a `Schedule` is one.
    epsilon
        Privacy loss of one drawn report, exact.
    """

    client: Client
    ledger: Ledger
    rules: Rules
    epsilon: Fraction

    def report(self, cell: int | None, at: datetime) -> bytes | None:
        """Return header and payload of the report to send now, or None if the phone is silent."""
        return self.answer(cell, at).report

    def answer(self, cell: int | None, at: datetime) -> Outcome:
        """Decide what to send from a cell at a time, and write it down before handing it out.

        Parameters
        ----------
        cell
            The cell, in [0, cells); None outside the domain.
        at
            Local time of the phone's clock; only its day counts.

        Returns
        -------
        Outcome
            After sending `message.data` call `sent(message.message_id)`; what was not confirmed
            is in `pending` after a restart.

        Raises
        ------
        ValueError
            If the cell is not one of the domain's.
        """
        if cell is not None and not 0 <= cell < self.client.cells:
            raise ValueError(f"cell must lie in 0..{self.client.cells - 1}, got {cell}")
        try:
            return self._answer(cell, at)
        except OSError as error:
            # Not on the disk, so not handed out.
            return Outcome("silent", None, None, f"The ledger cannot be kept ({error}), so nothing is sent.")

    def pending(self) -> tuple[Message, ...]:
        """Return messages that were handed out and not confirmed, oldest first: send them again as they are."""
        return self.ledger.pending()

    def sent(self, message_id: bytes) -> None:
        """Confirm that a message went out.

        If that cannot be noted, the message goes out once more, and the server counts it once.
        """
        with suppress(OSError):
            self.ledger.sent(message_id)

    def spent(self) -> Account:
        """Return what the current epoch's reports were and what they spent."""
        return self.ledger.account

    def lifetime(self) -> Lifetime:
        """Return the totals of all epochs."""
        return self.ledger.lifetime

    def _answer(self, cell: int | None, at: datetime) -> Outcome:
        ledger, rules, header = self.ledger, self.rules, self.client.header
        day = at.date()
        epoch, silent = ledger.enter(day, rules.epoch_days)
        if epoch is None or silent:
            return Outcome("silent", epoch.number if epoch else None, None, silent)
        note = ""
        if day < epoch.first:
            note = f"The clock shows {day}, before this epoch began on {epoch.first}; the epoch stays."

        if ledger.closed:
            return Outcome("silent", epoch.number, None, ledger.closed)
        if len(ledger.pending()) >= OUTBOX:
            reason = f"{OUTBOX} reports wait for the network; the next one waits for them."
            return Outcome("silent", epoch.number, None, reason)
        known = ledger.find(header, cell) is not None
        if known and rules.memo:
            return Outcome("memo", epoch.number, ledger.repeat(header, cell), note)
        if known or not rules.memo or ledger.distinct < rules.cap:
            message = ledger.spend(header, cell, self.client.report(cell), self.epsilon)
            return Outcome("fresh", epoch.number, message, note)
        return self._beyond_cap(epoch.number)

    def _beyond_cap(self, epoch: int) -> Outcome:
        """Answer for a new cell that may not be drawn, without looking at it."""
        cap = f"This epoch's {self.rules.cap} cells are used up"
        if self.rules.at_cap != "replay":
            return Outcome("silent", epoch, None, f"{cap}; the phone is silent about new ones.")
        if self.ledger.latest(self.client.header) is None:
            reason = f"{cap}, none of them with these parameters, so there is nothing to send again."
            return Outcome("silent", epoch, None, reason)
        message = self.ledger.replay(self.client.header)
        return Outcome("replay", epoch, message, f"{cap}; the latest report goes again.")
