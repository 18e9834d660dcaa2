"""The server's end of the line: messages of many phones, each counted once, versions kept apart.

A message is 16 random bytes, the message id, and a report. A phone that died between writing and sending, or a
network that delivers twice, brings the same id again; the second copy is refused. A memoised report brings
the same *report* under a new id and is counted again, as it should be: that is why ids are compared, never
contents. What an id gives away is that two copies are one message. It is drawn anew for each message, so
it links nothing else, and a shuffler that stands before the server drops it after use.

An id is used up when its report is counted, not before: a copy that was damaged on the way is refused for its
damage and the honest one that follows is counted. Whoever damages a copy and sends another therefore gains
nothing. An id is no signature: somebody on the way who swaps a report for another well-formed one under the
same id has it counted in its place, as one who drops the first and forges the second could anyway.

What was counted and the ids that were used belong together, so `to_bytes` writes both and `from_bytes` goes
on from there after a restart. Ids would pile up, 16 bytes a message, so `next_epoch` forgets those that are
two epochs old. A phone that sends a message again later than that, because it never heard that it
had arrived, is counted twice.

Reports are counted under the mechanism and the domain version that their header names, if this server
asked for them, and refused otherwise: never decoded with other parameters.
"""

from __future__ import annotations

import json
import struct
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Self

import numpy as np

from ldpcore.device.ledger import MESSAGE_ID_BYTES
from ldpcore.device.wire import HEADER_BYTES, header_of, receive
from ldpcore.errors import ParameterError
from ldpcore.mechanisms.base import Mechanism
from ldpcore.shapes import AnyArray

_MAGIC = b"LDP inbox 1\0"
_LENGTH = struct.Struct("<I")


@dataclass(eq=False, slots=True)
class Tally:
    """Counts of one mechanism over one version of the domain.

    Parameters
    ----------
    mechanism, domain_version
        What the reports mean.
    counts
        What `mechanism.aggregate` returns for all reports so far.
    reports
        How many there were.
    """

    mechanism: Mechanism
    domain_version: str
    counts: AnyArray
    reports: int = 0


class Inbox:
    """A server that counts what it asked for.

    Parameters
    ----------
    asked
        Pairs of mechanism and domain version, at least one, no pair twice.

    Raises
    ------
    ParameterError
        If a pair is missing or stands there twice.
    """

    def __init__(self, *asked: tuple[Mechanism, str]) -> None:
        self._tallies = {
            header_of(mechanism, version): Tally(
                mechanism, version, np.zeros(mechanism.counts_shape, mechanism.counts_dtype)
            )
            for mechanism, version in asked
        }
        if not asked or len(self._tallies) < len(asked):
            raise ParameterError(
                "asked", "an inbox needs at least one pair of mechanism and domain, each once"
            )
        self._seen: set[bytes] = set()
        self._seen_before: set[bytes] = set()
        self._rejected: Counter[str] = Counter()

    @property
    def tallies(self) -> tuple[Tally, ...]:
        """One for each pair asked for, in that order; never to be added up."""
        return tuple(self._tallies.values())

    @property
    def rejected(self) -> dict[str, int]:
        """How many messages were refused for each reason."""
        return dict(self._rejected)

    def take(self, messages: Iterable[bytes]) -> int:
        """Count messages as they arrive; anything may be among them.

        Returns
        -------
        int
            How many were counted; the others are in `rejected`.
        """
        waiting: dict[bytes, list[bytes]] = {header: [] for header in self._tallies}
        first = next(iter(waiting))
        rejected: Counter[str] = Counter()
        arrived: list[tuple[bytes, bytes]] = []
        for message in messages:
            message_id, report = message[:MESSAGE_ID_BYTES], message[MESSAGE_ID_BYTES:]
            if self._has(message_id):
                rejected["sent twice"] += 1
                continue
            # A report nobody asked for goes to the first pair, which says why it cannot be read.
            header = report[:HEADER_BYTES] if report[:HEADER_BYTES] in waiting else first
            waiting[header].append(report)
            arrived.append((message_id, header))
        received = {
            header: receive(reports, self._tallies[header].mechanism, self._tallies[header].domain_version)
            for header, reports in waiting.items()
        }
        for answer in received.values():
            rejected.update(answer.rejected)
        # Of readable copies that came together the first one counts.
        readable = {header: iter(answer.kept.tolist()) for header, answer in received.items()}
        once: dict[bytes, list[bool]] = {header: [] for header in received}
        new: set[bytes] = set()
        for message_id, header in arrived:
            if next(readable[header]):
                once[header].append(message_id not in new)
                rejected["sent twice"] += message_id in new
                new.add(message_id)
        counts = {
            header: self._tallies[header].mechanism.aggregate(answer.reports[np.array(once[header], bool)])
            for header, answer in received.items()
        }
        # Nothing below fails, so an id is used up exactly where its report is counted.
        for header, added in counts.items():
            tally = self._tallies[header]
            tally.counts = tally.counts + added
            tally.reports += sum(once[header])
        self._seen |= new
        self._rejected.update(+rejected)
        return len(new)

    def next_epoch(self) -> None:
        """Forget ids that were used before the last call; call it once an epoch, so that two epochs are remembered."""
        self._seen_before, self._seen = self._seen, set()

    def to_bytes(self) -> bytes:
        """Return all that this inbox knows: counts, refusals and used ids, in an order that tells nothing.

        It is not encrypted: ids and counts are what the server knows anyway. Write it to the disk as a whole,
        before the phones hear that their messages have arrived; what is lost after that is not sent again.
        """
        about = {
            "tallies": [
                [header.hex(), tally.reports, tally.counts.dtype.str, list(tally.counts.shape)]
                for header, tally in self._tallies.items()
            ],
            "rejected": dict(self._rejected),
            "seen": [len(self._seen_before), len(self._seen)],
        }
        text = json.dumps(about).encode()
        parts = [_LENGTH.pack(len(text)), text]
        parts += [tally.counts.tobytes() for tally in self._tallies.values()]
        parts += [*sorted(self._seen_before), *sorted(self._seen)]
        body = b"".join(parts)
        return _MAGIC + sha256(body).digest() + body

    @classmethod
    def from_bytes(cls, data: bytes, *asked: tuple[Mechanism, str]) -> Self:
        """Go on where `to_bytes` was called.

        Parameters
        ----------
        data
            What it returned.
        asked
            The same pairs in the same order.

        Raises
        ------
        ParameterError
            If the data was cut or changed, or belongs to other pairs.
        """
        start = len(_MAGIC) + 32
        body = data[start:]
        if not data.startswith(_MAGIC) or data[len(_MAGIC) : start] != sha256(body).digest():
            raise ParameterError(
                "data", "this is no saved inbox, or it was cut or changed; use an older copy"
            )
        (length,) = _LENGTH.unpack_from(body)
        about: dict[str, Any] = json.loads(body[_LENGTH.size : _LENGTH.size + length])
        place = _LENGTH.size + length
        inbox = cls(*asked)
        if [header.hex() for header in inbox._tallies] != [row[0] for row in about["tallies"]]:
            raise ParameterError(
                "asked", "this inbox was saved for other mechanisms or domains; ask for the same pairs"
            )
        for tally, (_, reports, dtype, shape) in zip(inbox.tallies, about["tallies"], strict=True):
            tally.reports = reports
            tally.counts = np.frombuffer(body, dtype, tally.counts.size, place).reshape(shape).copy()
            place += tally.counts.nbytes
        ids = [body[at : at + MESSAGE_ID_BYTES] for at in range(place, len(body), MESSAGE_ID_BYTES)]
        before = about["seen"][0]
        inbox._seen_before, inbox._seen = set(ids[:before]), set(ids[before:])
        inbox._rejected = Counter(about["rejected"])
        return inbox

    def _has(self, message_id: bytes) -> bool:
        return message_id in self._seen or message_id in self._seen_before
