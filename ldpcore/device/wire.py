"""The wire: how a report travels, what it says about itself, and what the server refuses.

A report is a header of 44 bytes and a payload. All numbers are little-endian.

    offset  bytes  what
         0      3  the letters LDP
         3      1  version of this format, 1
         4      8  name of the mechanism, ASCII, filled up with zero bytes
        12      4  number of cells of the domain
        16      8  version of the domain: its 16 hexadecimal digits
        24      8  version of the parameters: the start of a SHA-256 of all of them, exact fractions included
        32      8  epsilon on the label, IEEE double
        40      4  bytes of the payload

Payloads, all of one size for one client:

    grr            number of the cell
    sue, oue, the  one bit a cell: bit i mod 8, from the least significant, of byte i div 8; padding is 0
    ss             the same, with exactly k bits set
    she            a signed 64-bit number a cell, in steps of 2^-20 of a device
    blh, olh       seed a0 + P (a1 + P a2) in 8 bytes (or a0, a1, a2 in 4 bytes each where P = 2^31 - 1),
                   then the number of the bucket
    hrr            2 row + 1 if the sign is minus
    hr             number of the column

Numbers take as many whole bytes as their greatest value needs.

A server knows which mechanism and which domain it asked for. Reports of any other are refused and
counted, never decoded with the wrong parameters; so are reports with a wrong length, padding bits set,
numbers out of range, or a weight that an honest client has less than once in 10^9 times.

A phone with a ledger sends a message: 16 random bytes, then the report, so that a server counts what arrives
twice once (`ldpcore.device.inbox`). The id is no part of the report and is not stored with it.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from ldpcore.device.ledger import Ledger
from ldpcore.device.phone import Phone, Rules
from ldpcore.device.randomiser import RANDOMISERS, Client
from ldpcore.errors import ParameterError
from ldpcore.mechanisms.base import Mechanism
from ldpcore.schedule import AT_CAP
from ldpcore.shapes import AnyArray, BoolArray, ByteArray

FORMAT_VERSION = 1
_MAGIC = b"LDP"
_HEADER = struct.Struct("<3sB8sI8s8sdI")
HEADER_BYTES = _HEADER.size


class Header(NamedTuple):
    """What a report says about itself."""

    mechanism: str
    domain_size: int
    domain_version: str
    parameters_version: str
    epsilon: float
    payload_bytes: int


class Received(NamedTuple):
    """Reports that can be counted, how many were refused for each reason, and which messages were not."""

    reports: AnyArray
    rejected: dict[str, int]
    kept: BoolArray


def header_of(mechanism: Mechanism, domain_version: str) -> bytes:
    """Return the header of every report of one mechanism over one domain.

    Parameters
    ----------
    mechanism
        The mechanism with its exact parameters.
    domain_version
        16 hexadecimal digits.

    Raises
    ------
    ParameterError
        If the domain version is something else.
    """
    return _HEADER.pack(
        _MAGIC,
        FORMAT_VERSION,
        mechanism.name.encode(),
        mechanism.domain_size,
        checked_version(domain_version),
        bytes.fromhex(mechanism.parameters_version),
        mechanism.epsilon,
        mechanism.payload_bytes,
    )


def checked_version(domain_version: str) -> bytes:
    """Return 16 hexadecimal digits as 8 bytes, or say what is wrong with them."""
    try:
        version = bytes.fromhex(domain_version)
    except ValueError:
        version = b""
    if len(version) != 8:
        raise ParameterError(
            "domain_version", f"a domain version has 16 hexadecimal digits, got {domain_version!r}"
        )
    return version


def read_header(report: bytes) -> Header:
    """Read the header of a report.

    Raises
    ------
    ParameterError
        If it is too short, not a report, or of a format this server does not know.
    """
    if len(report) < HEADER_BYTES:
        raise ParameterError("report", f"a report has at least {HEADER_BYTES} bytes, got {len(report)}")
    magic, version, name, cells, domain, parameters, epsilon, size = _HEADER.unpack_from(report)
    if magic != _MAGIC:
        raise ParameterError("report", "this is not a report: it does not begin with LDP")
    if version != FORMAT_VERSION:
        raise ParameterError("report", f"this server reads format {FORMAT_VERSION}, got {version}")
    text = name.rstrip(b"\0").decode("ascii", "replace")
    return Header(text, cells, domain.hex(), parameters.hex(), epsilon, size)


def make_client(mechanism: Mechanism, domain_version: str) -> Client:
    """Make the client of a mechanism over a domain: what a phone receives once.

    Raises
    ------
    ParameterError
        If there is no on-device randomiser for the mechanism, or the domain version is not one.
    """
    if mechanism.name not in RANDOMISERS:
        raise ParameterError(
            "mechanism",
            f"there is no client for {mechanism.name!r} yet; there is one for {', '.join(RANDOMISERS)}",
        )
    return Client(
        mechanism=mechanism.name,
        cells=mechanism.domain_size,
        settings=mechanism.device_settings(),
        header=header_of(mechanism, domain_version),
    )


def make_phone(mechanism: Mechanism, domain_version: str, *, ledger: Ledger, rules: Rules) -> Phone:
    """Make the phone of a mechanism over a domain: its client with a ledger and the rules of a schedule.

    Parameters
    ----------
    mechanism
        The mechanism; its `epsilon_effective` is what the ledger books for each report that is drawn.
    domain_version
        16 hexadecimal digits.
    ledger
        The phone's own.
    rules
        A `Schedule`, or anything with its memo, cap, epoch_days and at_cap.

    Raises
    ------
    ParameterError
        If there is no on-device randomiser for the mechanism, or a version or a rule is impossible.
    """
    for name in ("cap", "epoch_days"):
        if getattr(rules, name) < 1:
            raise ParameterError(name, f"{name} must be at least 1, got {getattr(rules, name)}; try 7")
    if rules.at_cap not in AT_CAP:
        raise ParameterError("at_cap", f"at_cap is {' or '.join(AT_CAP)}, got {rules.at_cap!r}")
    client = make_client(mechanism, domain_version)
    return Phone(client, ledger, rules, Fraction(mechanism.epsilon_effective))


def receive(messages: Iterable[bytes], mechanism: Mechanism, domain_version: str) -> Received:
    """Read reports as they arrive, refuse and count what cannot be counted.

    Parameters
    ----------
    messages
        Whole reports, header and payload; anything may be among them.
    mechanism
        The mechanism that was asked for.
    domain_version
        The domain that was asked about.

    Returns
    -------
    Received
        Reports for `mechanism.aggregate` in the order of their messages, the refused ones by reason, and for
        each message whether it was kept, (n,) bool.
    """
    expected = header_of(mechanism, domain_version)
    rejected: Counter[str] = Counter()
    payloads: list[bytes] = []
    readable: list[bool] = []
    for message in messages:
        reason = _refusal(message, expected, mechanism.payload_bytes)
        readable.append(reason is None)
        if reason is None:
            payloads.append(message[HEADER_BYTES:])
        else:
            rejected[reason] += 1
    unpacked = mechanism.unpack(payload_matrix(payloads, mechanism.payload_bytes))
    rejected.update(unpacked.rejected)
    kept = np.array(readable, bool)
    kept[kept] = unpacked.kept
    return Received(unpacked.reports, dict(rejected), kept)


def payload_matrix(payloads: list[bytes], width: int) -> ByteArray:
    """Stack payloads of one width into (n, width) uint8."""
    return np.frombuffer(b"".join(payloads), np.uint8).reshape(len(payloads), width)


def _refusal(message: bytes, expected: bytes, payload_bytes: int) -> str | None:
    """Say why a message cannot be decoded with the expected header, or None where it can."""
    if message[:HEADER_BYTES] == expected:
        return None if len(message) == HEADER_BYTES + payload_bytes else "wrong length"
    if len(message) < HEADER_BYTES or message[:3] != _MAGIC:
        return "not a report"
    if message[3] != FORMAT_VERSION:
        return "unknown version"
    found, wanted = read_header(message), read_header(expected)
    if found.mechanism != wanted.mechanism:
        return "other mechanism"
    if (found.domain_version, found.domain_size) != (wanted.domain_version, wanted.domain_size):
        return "other domain"
    return "other parameters"
