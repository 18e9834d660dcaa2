"""What a report file says about itself: questions kept apart, repeats counted once, and lies named in a sentence."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h3.api.numpy_int as h3
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ldpcore.domain import Domain
from ldpcore.errors import ParameterError
from ldpcore.mechanisms import make_mechanism
from ldpcore.report_header import CELLS_KEY, REPORTS_KEY, question_words, read_header
from ldpcore.reports import aggregate_files, open_reports, perturb_to_file

DOMAIN = Domain("disk", 8, np.sort(h3.grid_disk(h3.latlng_to_cell(60.17, 24.94, 8), 3)))
ASKED = {"query": "origins", "day": "weekday", "hour": 8, "unit": "device", "clock": "Europe/Helsinki"}


def made(path: Path, seed: int, context: dict[str, Any] | None = None, reports: int = 200) -> Path:
    mechanism = make_mechanism("oue", epsilon=2.0, domain_size=DOMAIN.size)
    values = np.random.default_rng(seed).integers(0, DOMAIN.size, reports)
    perturb_to_file(path, values, mechanism, DOMAIN, rng=np.random.default_rng(seed), context=context)
    return path


@pytest.mark.parametrize(
    "change",
    [
        {"query": "destinations"},
        {"day": "weekend"},
        {"hour": 9},
        {"hour": None},
        {"unit": "trip"},
        {"clock": "UTC"},
    ],
)
def test_answers_to_different_questions_are_never_added_up(tmp_path: Path, change: dict[str, Any]) -> None:
    one = made(tmp_path / "one.parquet", 1, ASKED)
    same = made(tmp_path / "same.parquet", 2, {**ASKED, "attribution": "somebody else"})
    other = made(tmp_path / "other.parquet", 3, {**ASKED, **change})
    found = aggregate_files([one, other, same])
    assert [group.reports for group in found.groups] == [400, 200]
    assert found.groups[0].question == ASKED
    assert found.groups[1].question == {**ASKED, **change}
    assert len(found.groups[0].contexts) == 2
    assert any("different questions" in sentence for sentence in found.notes)
    alone = [aggregate_files([path]) for path in (one, same)]
    assert all(not entry.notes for entry in alone)
    assert np.array_equal(found.groups[0].counts, sum(entry.groups[0].counts for entry in alone))


@pytest.mark.parametrize("again", ["path", "link", "hard link", "copy", "other way"])
def test_a_file_given_twice_is_counted_once(tmp_path: Path, again: str) -> None:
    first = made(tmp_path / "first.parquet", 1)
    second = tmp_path / "second.parquet"
    if again == "path":
        second = first
    elif again == "link":
        second.symlink_to(first)
    elif again == "hard link":
        second.hardlink_to(first)
    elif again == "copy":
        shutil.copy(first, second)
    else:
        (tmp_path / "folder").mkdir()
        second = tmp_path / "folder" / ".." / "first.parquet"
    found = aggregate_files([first, second])
    assert found.rejected == {"the same file again": 200}
    assert [group.reports for group in found.groups] == [200]
    assert "is counted once" in found.notes[0]


def test_two_phones_that_answer_alike_are_two_reports(tmp_path: Path) -> None:
    """The same coins twice give the same payload; a random number of each file's own tells them apart."""
    paths = [made(tmp_path / f"{name}.parquet", 7, reports=1) for name in ("one", "two")]
    assert pq.read_table(paths[0]).column(0).to_pylist() == pq.read_table(paths[1]).column(0).to_pylist()
    found = aggregate_files(paths)
    assert (found.groups[0].reports, found.rejected) == (2, {})


@pytest.mark.parametrize("kind", [pa.binary(3), pa.binary(5), pa.binary(), pa.large_binary()])
def test_payloads_of_another_width_are_refused_and_counted_beside_good_files(
    tmp_path: Path, kind: pa.DataType
) -> None:
    good = made(tmp_path / "good.parquet", 1)
    metadata = pq.read_schema(good).metadata
    rows: list[bytes | None] = pq.read_table(good).column(0).to_pylist()
    fixed = pa.types.is_fixed_size_binary(kind)
    if fixed and kind.byte_width == 3:
        rows = [row[:3] for row in rows if row is not None]
    else:
        rows[3] = None
        if not fixed:
            rows[5:8] = [b"", b"four", b"x" * 1000]
    odd = tmp_path / "odd.parquet"
    schema = pa.schema([pa.field("payload", kind)], metadata=metadata)
    pq.write_table(pa.table({"payload": rows}, schema=schema), odd)
    found = aggregate_files([good, odd])
    expected = {"missing": 1}
    if fixed and kind.byte_width == 3:
        expected = {"wrong length": 200}
    elif not fixed:
        expected = {"missing": 1, "wrong length": 3}
    assert found.rejected == expected
    assert found.groups[0].reports == 400 - sum(expected.values())


def damaged(path: Path, change: Callable[[dict[str, Any]], object]) -> dict[bytes, bytes]:
    metadata = dict(pq.read_schema(path).metadata)
    about = json.loads(metadata[REPORTS_KEY])
    change(about)
    return {**metadata, REPORTS_KEY: json.dumps(about).encode()}


def holders(about: dict[str, Any]) -> list[tuple[dict[str, Any], str]]:
    """Return every entry of a description, wherever it lies."""
    found = []
    for name, value in about.items():
        found.append((about, name))
        if isinstance(value, dict):
            found += holders(value)
    return found


ODD = (
    None,
    True,
    -1,
    0,
    1.5,
    10**30,
    1e308,
    "",
    "x",
    "1/0",
    "\u202e=cmd()",
    [],
    [1],
    {},
    {"a": {}},
    "9" * 5000,
)
PYTHON_TEXT = (
    "object",
    "indices",
    "NoneType",
    "'int'",
    "'str'",
    "subscript",
    "argument",
    "Traceback",
    "iterable",
)


def test_no_description_leaks_the_words_of_python(tmp_path: Path) -> None:
    """Every entry missing, and with every odd value; and a thousand random pairs of both."""
    path = made(tmp_path / "reports.parquet", 1, ASKED)
    pristine = json.loads(pq.read_schema(path).metadata[REPORTS_KEY])
    cells = pq.read_schema(path).metadata[CELLS_KEY]
    rng = np.random.default_rng(3)
    places = len(holders(pristine))
    choices = (*ODD, "missing")
    tries = [[(place, odd)] for place in range(places) for odd in choices]
    tries += [
        [(int(rng.integers(places)), choices[int(rng.integers(len(choices)))]) for _ in range(2)]
        for _ in range(1000)
    ]
    refused = 0
    for changes in tries:
        about = json.loads(json.dumps(pristine))
        entries = holders(about)
        for place, odd in changes:
            holder, name = entries[place]
            if odd == "missing":
                holder.pop(name, None)
            else:
                holder[name] = odd
        try:
            header = read_header("r.parquet", {REPORTS_KEY: json.dumps(about).encode(), CELLS_KEY: cells})
        except ParameterError as error:
            refused += 1
            assert error.parameter == "files"
            assert str(error).startswith("r.parquet ")
            said = str(error).replace("must be an object", "").replace("not a JSON object", "")
            assert not any(text in said for text in PYTHON_TEXT), said
        else:
            assert header.mechanism.parameters() == pristine["mechanism"]
            assert header.domain == DOMAIN
            assert "/" not in question_words(header.question)
    assert refused > len(tries) // 2


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b"[1]",
        b"null",
        b"\xff\xfe",
        b'{"format": NaN}',
        b'{"format": 1e999}',
        b'{"a": "\\ud800"}',
        b"[" * 100_000,
        b'{"a": ' + b"9" * 5000 + b"}",
        b'{"a": "' + b"x" * 300_000 + b'"}',
    ],
)
def test_a_description_that_is_no_object_is_named(text: bytes) -> None:
    with pytest.raises(ParameterError, match=r"^r describes its reports in|^r has a description that is not"):
        read_header("r", {REPORTS_KEY: text, CELLS_KEY: b""})


@pytest.mark.parametrize(
    ("cells", "reason"),
    [
        (b"", "holds no cell"),
        (b"123", "64-bit numbers"),
        (b"\x00" * 8 * 300_001, "at most 300,000"),
        (b"\x00" * 16, "unique and in ascending order"),
        (np.arange(3, dtype="<u8").tobytes(), "must be of resolution 8"),
        ((np.uint64(0x88) << np.uint64(52)).astype("<u8").tobytes(), "no H3 cells"),
    ],
)
def test_cells_that_are_none_are_named(tmp_path: Path, cells: bytes, reason: str) -> None:
    metadata = dict(pq.read_schema(made(tmp_path / "r.parquet", 1)).metadata)
    with pytest.raises(ParameterError, match=reason):
        read_header("r", {**metadata, CELLS_KEY: cells})


def test_a_size_is_believed_only_when_the_cells_bear_it_out(tmp_path: Path) -> None:
    """A mechanism of two thousand million cells is not even made."""
    path = made(tmp_path / "r.parquet", 1)
    metadata = damaged(path, lambda about: about["mechanism"].update(domain_size=2**31 - 2, mechanism="ss"))
    with pytest.raises(ParameterError, match="its versions do not describe"):
        read_header("r", metadata)


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    path = made(tmp_path / "r.parquet", 1, reports=20_000)
    raw = bytearray(path.read_bytes())
    raw[4:40] = b"\xff" * 36  # the header of the first page
    path.write_bytes(raw)
    with pytest.raises(ParameterError, match=r"r\.parquet is damaged"):
        aggregate_files([path])
    assert open_reports(path).reports == 20_000
