"""Report files: their schema, their round trip, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import h3.api.numpy_int as h3
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ldpcore.domain import Domain
from ldpcore.errors import ParameterError
from ldpcore.mechanisms import MECHANISMS, make_mechanism, parse_options
from ldpcore.mechanisms.blocks import BLOCK_DEVICES
from ldpcore.reports import (
    aggregate_files,
    mechanism_from,
    open_reports,
    perturb_to_file,
    report_schema,
    write_reports,
)


def disk(rings: int, lat: float = 60.17) -> Domain:
    return Domain("disk", 8, np.sort(h3.grid_disk(h3.latlng_to_cell(lat, 24.94, 8), rings)))


@pytest.fixture(scope="module")
def domain() -> Domain:
    return disk(3)


@pytest.fixture(scope="module")
def values(domain: Domain) -> np.ndarray:
    return np.random.default_rng(1).integers(0, domain.size, 500)


def test_schema(domain: Domain) -> None:
    mechanism = make_mechanism("oue", epsilon=2.0, domain_size=domain.size)
    schema = report_schema(mechanism, domain, {"query": "origins"})
    assert schema.names == ["payload"]
    assert schema.field(0).type == pa.binary(5)
    about = json.loads(schema.metadata[b"ldp_atlas.reports"])
    assert about["format"] == 1
    assert about["mechanism"] == mechanism.parameters()
    assert about["domain"] == {"name": "disk", "resolution": 8, "version": domain.version}
    assert about["context"] == {"query": "origins"}
    assert np.array_equal(np.frombuffer(schema.metadata[b"ldp_atlas.cells"], "<u8"), domain.cells)
    with pytest.raises(ParameterError, match="the mechanism has 5 cells and the domain has 37"):
        report_schema(make_mechanism("oue", epsilon=2.0, domain_size=5), domain)


@pytest.mark.parametrize("variant", [*MECHANISMS, "hr:blocks=4", "ss:k=2", "olh:g=5"])
def test_a_file_gives_the_counts_of_its_reports(
    tmp_path: Path, domain: Domain, values: np.ndarray, variant: str
) -> None:
    name, _, options = variant.partition(":")
    mechanism = make_mechanism(name, epsilon=1.0, domain_size=domain.size, **parse_options(options))
    path = tmp_path / "reports.parquet"
    written = perturb_to_file(
        path, values, mechanism, domain, rng=np.random.default_rng(4), context={"query": "origins"}
    )
    assert written == (500, mechanism.payload_bytes, domain.version)
    found = aggregate_files([path])
    assert found.rejected == {}
    (group,) = found.groups
    assert group.mechanism == mechanism
    assert group.domain == domain
    assert group.reports == 500
    assert group.contexts == ({"query": "origins"},)
    assert np.array_equal(group.counts, mechanism.collect(values, rng=np.random.default_rng(4)))


def test_threads_and_chunks_do_not_change_a_file(
    tmp_path: Path, domain: Domain, monkeypatch: pytest.MonkeyPatch
) -> None:
    mechanism = make_mechanism("oue", epsilon=1.0, domain_size=domain.size)
    values = np.random.default_rng(1).integers(0, domain.size, 3 * BLOCK_DEVICES + 7)
    one, two = tmp_path / "one.parquet", tmp_path / "two.parquet"
    monkeypatch.setattr("ldpcore.reports._CHUNK_BYTES", 5 * BLOCK_DEVICES)
    for path, threads in ((one, 1), (two, 2)):
        perturb_to_file(path, values, mechanism, domain, rng=np.random.default_rng(4), threads=threads)
    assert pq.read_table(one).column(0).to_pylist() == pq.read_table(two).column(0).to_pylist()
    (group,) = aggregate_files([one]).groups
    assert group.reports == values.size
    estimate = mechanism.estimate(group.counts, n=values.size)
    truth = np.bincount(values, minlength=domain.size)
    assert (abs(estimate - truth) < 6 * np.sqrt(mechanism.variance(truth, n=values.size))).all()


@pytest.mark.parametrize("name", MECHANISMS)
def test_the_real_client_writes_the_same_kind_of_file(tmp_path: Path, domain: Domain, name: str) -> None:
    """The real coins have no seed: seven standard errors, which no cell passes with a chance above 1e-9.

    Every count expected here is at least 50, so that a binomial tail beyond seven deviations is that small.
    """
    mechanism = make_mechanism(name, epsilon=4.0, domain_size=domain.size)
    path = tmp_path / "device.parquet"
    truth = np.full(domain.size, 60)
    values = np.arange(domain.size).repeat(60)
    assert perturb_to_file(path, values, mechanism, domain, rng=None).reports == values.size
    found = aggregate_files([path])
    (group,) = found.groups
    assert group.reports + sum(found.rejected.values()) == values.size
    assert sum(found.rejected.values()) == 0
    error = abs(mechanism.estimate(group.counts, n=values.size) - truth)
    assert (error < 7 * np.sqrt(mechanism.variance(truth, n=values.size))).all()


def test_other_parameters_and_domains_are_kept_apart(
    tmp_path: Path, domain: Domain, values: np.ndarray
) -> None:
    rng = np.random.default_rng(2)
    other = disk(3, lat=60.3)
    made = []
    for place, (area, epsilon) in enumerate([(domain, 1.0), (domain, 2.0), (other, 1.0), (domain, 1.0)]):
        path = tmp_path / f"{place}.parquet"
        mechanism = make_mechanism("oue", epsilon=epsilon, domain_size=area.size)
        perturb_to_file(path, values, mechanism, area, rng=rng, context={"day": place % 3})
        made.append(path)
    groups = aggregate_files(made).groups
    assert [(g.domain.version, g.mechanism.epsilon, g.reports) for g in groups] == [
        (domain.version, 1.0, 1000),
        (domain.version, 2.0, 500),
        (other.version, 1.0, 500),
    ]
    assert groups[0].contexts == ({"day": 0},)
    alone = [aggregate_files([path]).groups[0].counts for path in made]
    assert np.array_equal(groups[0].counts, alone[0] + alone[3])


def test_malformed_reports_are_refused_and_counted(
    tmp_path: Path, domain: Domain, values: np.ndarray
) -> None:
    mechanism = make_mechanism("oue", epsilon=2.0, domain_size=domain.size)
    payloads = mechanism.pack(mechanism.privatize(values, rng=np.random.default_rng(1)))
    broken = payloads.copy()
    broken[:3, -1] |= 128
    broken[3] = [255, 255, 255, 255, 31]
    path = tmp_path / "reports.parquet"
    write_reports(path, [broken[:100], broken[100:]], mechanism, domain)
    found = aggregate_files([path])
    assert found.rejected == {"padding bits set": 3, "impossible weight": 1}
    (group,) = found.groups
    assert group.reports == 496
    good = mechanism.unpack(payloads[4:]).reports
    assert np.array_equal(group.counts, mechanism.aggregate(good))


def test_an_empty_file_is_a_group_without_reports(tmp_path: Path, domain: Domain) -> None:
    mechanism = make_mechanism("hrr", epsilon=2.0, domain_size=domain.size)
    path = tmp_path / "reports.parquet"
    assert perturb_to_file(path, [], mechanism, domain, rng=np.random.default_rng(1)).reports == 0
    (group,) = aggregate_files([path]).groups
    assert group.reports == 0
    assert not group.counts.any()


def rewrite(path: Path, change: Any) -> None:
    table = pq.read_table(path)
    metadata = dict(table.schema.metadata)
    about = json.loads(metadata[b"ldp_atlas.reports"])
    change(about, metadata)
    metadata.setdefault(b"ldp_atlas.reports", b"")
    if metadata[b"ldp_atlas.reports"]:
        metadata[b"ldp_atlas.reports"] = json.dumps(about).encode()
    pq.write_table(table.replace_schema_metadata(metadata), path)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda a, _: a.update(format=2), "has report format 2, this version reads 1"),
        (lambda a, _: a["mechanism"].update(epsilon=3.0), "computes other probabilities"),
        (lambda a, _: a["mechanism"].update(epsilon=-3.0), "epsilon must be greater than 0"),
        (lambda a, _: a["mechanism"].update(mechanism="nobody"), "there is no mechanism 'nobody'"),
        (lambda a, _: a["mechanism"].pop("epsilon"), "wrongly: the entry mechanism.epsilon is missing"),
        (lambda a, _: a.update(parameters_version="0" * 16), "its versions do not describe"),
        (lambda a, _: a["domain"].update(version="0" * 16), "its versions do not describe"),
        (
            lambda _, m: m.update({b"ldp_atlas.cells": m[b"ldp_atlas.cells"][:-8]}),
            "its versions do not describe",
        ),
        (lambda _, m: m.update({b"ldp_atlas.cells": b"123"}), "describes its reports wrongly"),
        (lambda _, m: m.pop(b"ldp_atlas.cells"), "is not a report file"),
    ],
)
def test_a_file_that_lies_about_itself_is_refused(
    tmp_path: Path, domain: Domain, values: np.ndarray, change: Any, reason: str
) -> None:
    path = tmp_path / "reports.parquet"
    mechanism = make_mechanism("oue", epsilon=2.0, domain_size=domain.size)
    perturb_to_file(path, values, mechanism, domain, rng=np.random.default_rng(1))
    rewrite(path, change)
    with pytest.raises(ParameterError, match=reason) as caught:
        open_reports(path)
    assert caught.value.parameter == "files"


def test_files_that_are_no_report_files(tmp_path: Path, domain: Domain) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("hello")
    with pytest.raises(ParameterError, match=r"notes\.txt cannot be read as Parquet"):
        aggregate_files([text])
    with pytest.raises(ParameterError, match=r"missing\.parquet cannot be read"):
        aggregate_files([tmp_path / "missing.parquet"])
    table = tmp_path / "table.parquet"
    pq.write_table(pa.table({"payload": [b"1"]}), table)
    with pytest.raises(ParameterError, match="is not a report file; write one with the verb perturb"):
        aggregate_files([table])
    with pytest.raises(ParameterError, match="at least one report file"):
        aggregate_files([])
    mechanism = make_mechanism("grr", epsilon=2.0, domain_size=domain.size)
    schema = report_schema(mechanism, domain)
    pq.write_table(pa.table({"other": [b"1"]}).replace_schema_metadata(schema.metadata), table)
    with pytest.raises(ParameterError, match="must have one column payload of 1 bytes"):
        open_reports(table)


def test_values_outside_the_domain_are_refused(tmp_path: Path, domain: Domain) -> None:
    mechanism = make_mechanism("grr", epsilon=2.0, domain_size=domain.size)
    for rng in (None, np.random.default_rng(1)):
        with pytest.raises(ParameterError, match=r"values must lie in 0\.\.36"):
            perturb_to_file(tmp_path / "x.parquet", [37], mechanism, domain, rng=rng)


@pytest.mark.parametrize("name", MECHANISMS)
def test_mechanisms_are_rebuilt_from_their_parameters(name: str) -> None:
    mechanism = make_mechanism(name, epsilon=1.3, domain_size=77)
    assert mechanism_from(json.loads(json.dumps(mechanism.parameters()))) == mechanism
