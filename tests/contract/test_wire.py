"""The wire format, byte by byte, and what a server refuses."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from ldpcore.device.wire import HEADER_BYTES, header_of, make_client, read_header, receive
from ldpcore.errors import ParameterError
from ldpcore.mechanisms import MECHANISMS, make_mechanism

VERSION = "0123456789abcdef"


def test_header_byte_by_byte() -> None:
    mechanism = make_mechanism("oue", epsilon=2.0, domain_size=2218)
    header = header_of(mechanism, VERSION)
    assert HEADER_BYTES == len(header) == 44
    assert header[:3] == b"LDP"
    assert header[3] == 1
    assert header[4:12] == b"oue\0\0\0\0\0"
    assert int.from_bytes(header[12:16], "little") == 2218
    assert header[16:24].hex() == VERSION
    assert header[24:32].hex() == mechanism.parameters_version
    assert struct.unpack("<d", header[32:40]) == (2.0,)
    assert int.from_bytes(header[40:44], "little") == 278
    found = read_header(header)
    assert found.mechanism == "oue"
    assert found.domain_size == 2218
    assert found.domain_version == VERSION
    assert found.parameters_version == mechanism.parameters_version
    assert found.epsilon == 2.0
    assert found.payload_bytes == 278


@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize("domain_size", [2, 9, 300])
def test_reports_of_a_client_have_one_size(name: str, domain_size: int) -> None:
    mechanism = make_mechanism(name, epsilon=1.0, domain_size=domain_size)
    client = make_client(mechanism, VERSION)
    cells: list[int | None] = [0, domain_size - 1, None]
    sizes = {len(client.report(cell)) for cell in cells * (1 if name == "she" else 20)}
    assert sizes == {HEADER_BYTES + mechanism.payload_bytes}
    assert 8 * mechanism.payload_bytes >= mechanism.report_bits


@pytest.mark.parametrize("name", MECHANISMS)
def test_cells_outside_the_domain_are_refused_by_the_client(name: str) -> None:
    client = make_client(make_mechanism(name, epsilon=1.0, domain_size=5), VERSION)
    for cell in (-1, 5):
        with pytest.raises(ValueError, match=r"cell must lie in 0\.\.4"):
            client.report(cell)


def test_parameter_version_changes_with_every_parameter() -> None:
    versions = {
        make_mechanism(name, epsilon=epsilon, domain_size=cells, **options).parameters_version
        for name, epsilon, cells, options in (
            ("olh", 2.0, 10, {}),
            ("olh", 2.0000000000000004, 10, {}),
            ("olh", 2.0, 11, {}),
            ("olh", 2.0, 10, {"g": 7}),
            ("blh", 2.0, 10, {}),
        )
    }
    assert len(versions) == 5
    same = make_mechanism("olh", epsilon=2.0, domain_size=10, g=8)
    assert same.parameters_version == make_mechanism("olh", epsilon=2.0, domain_size=10).parameters_version


def test_reports_that_cannot_be_counted_are_refused_and_counted() -> None:
    mechanism = make_mechanism("oue", epsilon=2.0, domain_size=100)
    client = make_client(mechanism, VERSION)
    good = [client.report(cell) for cell in range(50)]
    one = good[0]
    flood = one[:HEADER_BYTES] + bytes([255] * 12 + [15])
    padded = bytearray(one)
    padded[-1] |= 128
    other_format = bytearray(one)
    other_format[3] = 2
    messages = [
        *good,
        one[:-1],
        one + b"\0",
        b"",
        b"hello",
        bytes(other_format),
        bytes(padded),
        flood,
        make_client(mechanism, "f" * 16).report(3),
        make_client(make_mechanism("sue", epsilon=2.0, domain_size=100), VERSION).report(3),
        make_client(make_mechanism("oue", epsilon=1.0, domain_size=100), VERSION).report(3),
        make_client(make_mechanism("oue", epsilon=2.0, domain_size=99), VERSION).report(3),
    ]
    received = receive(messages, mechanism, VERSION)
    assert len(received.reports) == 50
    assert received.rejected == {
        "wrong length": 2,
        "not a report": 2,
        "unknown version": 1,
        "padding bits set": 1,
        "impossible weight": 1,
        "other domain": 2,
        "other mechanism": 1,
        "other parameters": 1,
    }
    assert np.array_equal(
        mechanism.aggregate(received.reports), mechanism.aggregate(receive(good, mechanism, VERSION).reports)
    )


@pytest.mark.parametrize(
    ("name", "options", "payload", "reason"),
    [
        ("grr", {}, bytes([10]), "cell outside the domain"),
        ("hrr", {}, bytes([32]), "row outside the matrix"),
        ("hr", {}, bytes([16]), "column outside the matrix"),
        ("ss", {"k": 3}, bytes([3, 0]), "impossible weight"),
        ("ss", {"k": 3}, bytes([3, 4]), "padding bits set"),
        ("olh", {}, b"\xff" * 8 + bytes([0]), "seed outside the family of hashes"),
        ("olh", {}, bytes([1] * 7 + [0, 8]), "bucket outside the hash"),
        ("she", {}, (2**53).to_bytes(8, "little") + bytes(72), "entry out of range"),
        ("sue", {}, bytes([0, 4]), "padding bits set"),
    ],
)
def test_impossible_payloads(name: str, options: dict[str, int], payload: bytes, reason: str) -> None:
    mechanism = make_mechanism(name, epsilon=2.0, domain_size=10, **options)
    client = make_client(mechanism, VERSION)
    received = receive([client.header + payload, client.report(3)], mechanism, VERSION)
    assert received.rejected == {reason: 1}
    assert len(received.reports) == 1


def test_a_weight_that_happens_is_not_refused() -> None:
    """Bounds are one in 10^9: among 20,000 honest reports none is refused."""
    for name in ("oue", "sue", "the"):
        mechanism = make_mechanism(name, epsilon=4.0, domain_size=200)
        reports = mechanism.privatize(np.zeros(20_000, int), rng=np.random.default_rng(1))
        assert mechanism.unpack(mechanism.pack(reports)).rejected == {}


def test_payloads_of_another_width_are_never_guessed_at() -> None:
    mechanism = make_mechanism("oue", epsilon=2.0, domain_size=10)
    for wrong in (np.zeros((3, 3), np.uint8), np.zeros((3, 2), np.int64), np.zeros(6, np.uint8)):
        with pytest.raises(
            ParameterError, match=r"payloads of oue over 10 cells are uint8 of shape \(n, 2\)"
        ):
            mechanism.unpack(wrong)


@pytest.mark.parametrize("version", ["", "0123", "z" * 16, "0" * 17])
def test_a_domain_version_has_sixteen_digits(version: str) -> None:
    with pytest.raises(ParameterError, match="16 hexadecimal digits"):
        make_client(make_mechanism("oue", epsilon=2.0, domain_size=10), version)


def test_headers_that_are_none() -> None:
    for message, reason in (
        (b"LDP", "at least 44 bytes"),
        (b"x" * 50, "begin with LDP"),
        (b"LDP\7" + b"0" * 40, "format 1, got 7"),
    ):
        with pytest.raises(ParameterError, match=reason):
            read_header(message)
