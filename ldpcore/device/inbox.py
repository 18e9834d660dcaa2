"""The server's end of the line: messages of many phones, each counted once, versions kept apart.

A message is 16 random bytes, the message id, and a report. A phone that died between writing and sending, or a
network that delivers twice, brings the same id again; the second copy is refused. A memoised report brings
the same *report* under a new id and is counted again, as it should be: that is why ids are compared, never
contents. What an id gives away is that two copies are one message. It is drawn anew for each message, so
it links nothing else, and a shuffler that stands before the server drops it after use.

Reports are counted under the mechanism and the domain version that their header names, if this server
asked for them, and refused otherwise: never decoded with other parameters.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ldpcore.device.ledger import MESSAGE_ID_BYTES
from ldpcore.device.wire import HEADER_BYTES, header_of, receive
from ldpcore.errors import ParameterError
from ldpcore.mechanisms.base import Mechanism
from ldpcore.shapes import AnyArray


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
        for message in messages:
            message_id, report = message[:MESSAGE_ID_BYTES], message[MESSAGE_ID_BYTES:]
            if message_id in self._seen:
                self._rejected["sent twice"] += 1
                continue
            self._seen.add(message_id)
            header = report[:HEADER_BYTES]
            # A report nobody asked for goes to the first pair, which says why it cannot be read.
            waiting[header if header in waiting else first].append(report)
        counted = 0
        for header, reports in waiting.items():
            tally = self._tallies[header]
            received = receive(reports, tally.mechanism, tally.domain_version)
            tally.counts = tally.counts + tally.mechanism.aggregate(received.reports)
            tally.reports += len(received.reports)
            counted += len(received.reports)
            self._rejected.update(received.rejected)
        return counted
