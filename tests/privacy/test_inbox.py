"""The server's inbox: an id is used up by the report that is counted, also over a restart."""

from __future__ import annotations

import numpy as np
import pytest

from ldpcore.device.inbox import Inbox
from ldpcore.device.wire import HEADER_BYTES, make_client
from ldpcore.errors import ParameterError
from ldpcore.mechanisms import make_mechanism

VERSION, OTHER_VERSION = "0123456789abcdef", "fedcba9876543210"
# 45 cells: the last byte of a payload has three padding bits.
MECHANISM = make_mechanism("sue", epsilon=2, domain_size=45)
CLIENT = make_client(MECHANISM, VERSION)
ASKED = (MECHANISM, VERSION)


def message(number: int, cell: int = 7) -> bytes:
    return number.to_bytes(16, "little") + honest(cell)


def honest(cell: int) -> bytes:
    """Return a report that no server takes for improbable: the cell's bit and every third one."""
    bits = np.arange(45) % 3 == 0
    bits[cell] = True
    return CLIENT.header + np.packbits(bits, bitorder="little").tobytes()


def padded(data: bytes) -> bytes:
    return data[:-1] + bytes([data[-1] | 0x80])


DAMAGE = {
    "padding bit set": padded,
    "cut": lambda data: data[:-1],
    "byte added": lambda data: data + b"\0",
    "payload gone": lambda data: data[: 16 + HEADER_BYTES],
    "id alone": lambda data: data[:16],
    "letters": lambda data: data[:16] + b"X" + data[17:],
    "other domain": lambda data: data[:16] + make_client(MECHANISM, OTHER_VERSION).header + data[60:],
}


@pytest.mark.parametrize("name", DAMAGE)
@pytest.mark.parametrize("together", [False, True], ids=["one after another", "together"])
def test_a_damaged_copy_does_not_use_up_the_id_of_the_honest_one(name: str, *, together: bool) -> None:
    inbox = Inbox(ASKED)
    good = message(1)
    bad = DAMAGE[name](good)
    batches = [[bad, bad, good, bad, good]] if together else [[bad], [bad], [good], [good]]
    assert sum(inbox.take(batch) for batch in batches) == 1
    (tally,) = inbox.tallies
    assert tally.reports == 1
    bits = np.arange(45) % 3 == 0
    bits[7] = True
    np.testing.assert_array_equal(tally.counts, bits)
    assert inbox.rejected["sent twice"] == 1
    assert sum(inbox.rejected.values()) == sum(map(len, batches)) - 1


def test_of_two_readable_copies_the_first_that_arrives_counts_whatever_its_domain() -> None:
    first = message(1)
    second = first[:16] + make_client(MECHANISM, OTHER_VERSION).header + first[60:]
    for order, reports in (((first, second), [1, 0]), ((second, first), [0, 1])):
        inbox = Inbox(ASKED, (MECHANISM, OTHER_VERSION))
        assert inbox.take(order) == 1
        assert [tally.reports for tally in inbox.tallies] == reports
        assert inbox.rejected == {"sent twice": 1}


def test_messages_that_break_off_use_up_nothing() -> None:
    inbox = Inbox(ASKED)

    def broken() -> object:
        yield message(1)
        raise ConnectionError

    with pytest.raises(ConnectionError):
        inbox.take(broken())  # type: ignore[arg-type]
    assert (inbox.take([message(1)]), inbox.rejected) == (1, {})


def test_after_a_restart_a_message_sent_again_is_still_counted_once() -> None:
    asked = (ASKED, (MECHANISM, OTHER_VERSION))
    inbox = Inbox(*asked)
    inbox.take([message(1), message(2, 8), padded(message(3))])
    saved = inbox.to_bytes()
    again = Inbox.from_bytes(saved, *asked)
    assert again.to_bytes() == saved
    assert again.take([message(2, 8), message(1), message(3)]) == 1
    assert [tally.reports for tally in again.tallies] == [3, 0]
    assert again.tallies[0].counts[[7, 8, 0, 1]].tolist() == [2, 1, 3, 0]
    assert again.rejected == {"padding bits set": 1, "sent twice": 2}


def test_a_saved_inbox_does_not_tell_the_order_of_arrival() -> None:
    saved = []
    for order in ((1, 2, 3), (3, 1, 2)):
        inbox = Inbox(ASKED)
        for number in order:
            inbox.take([message(number)])
        saved.append(inbox.to_bytes())
    assert saved[0] == saved[1]


def test_ids_are_kept_for_this_epoch_and_the_one_before() -> None:
    inbox = Inbox(ASKED)
    sizes = []
    for epoch in range(5):
        inbox.take([message(10 * epoch + number) for number in range(10)])
        assert inbox.take([message(10 * epoch), message(max(0, 10 * epoch - 1))]) == 0
        sizes.append(len(inbox.to_bytes()))
        inbox = Inbox.from_bytes(inbox.to_bytes(), ASKED)
        inbox.next_epoch()
    # From the second epoch on 20 ids are kept, 16 bytes each; the digits of the totals may grow by one each.
    assert max(sizes[1:]) - min(sizes[1:]) < 16
    assert inbox.take([message(0)]) == 1


def test_a_saved_inbox_that_was_changed_or_is_another_one_is_refused() -> None:
    inbox = Inbox(ASKED)
    inbox.take([message(1)])
    saved = inbox.to_bytes()
    for place in range(len(saved)):
        changed = bytearray(saved)
        changed[place] ^= 1 << place % 8
        for data in (bytes(changed), saved[:place]):
            with pytest.raises(ParameterError, match="cut or changed"):
                Inbox.from_bytes(data, ASKED)
    with pytest.raises(ParameterError, match="same pairs"):
        Inbox.from_bytes(saved, (MECHANISM, OTHER_VERSION))
