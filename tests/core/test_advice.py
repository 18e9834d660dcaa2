"""The adviser: what it takes under which limits, the numbers in its reasons, and what it refuses."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ldpcore.advice import AS_GOOD, RULES, Wishes, advise, more_devices, upload_bytes
from ldpcore.comparison import Comparison, compare_mechanisms
from ldpcore.device.wire import make_client
from ldpcore.errors import ParameterError
from ldpcore.mechanisms import make_mechanism
from ldpcore.timing import Times, machine_name, measure


def comparison(cells: int, epsilon: float = 2.0) -> Comparison:
    true = np.full(cells, 100)
    true[0] = 50_000
    return compare_mechanisms(true, epsilon=epsilon, chosen="oue")


def test_few_cells_take_randomised_response() -> None:
    compared = comparison(8, epsilon=4.0)
    advice = advise(compared, Wishes())
    assert advice.entry is not None
    assert advice.entry.name == "grr"
    assert "so it does." in " ".join(advice.reasons)


def test_many_cells_take_a_short_report_as_accurate_as_the_best() -> None:
    compared = comparison(2186)
    advice = advise(compared, Wishes())
    assert advice.entry is not None
    assert advice.entry.name == "olh"
    assert advice.entry.error_typical <= AS_GOOD * compared.best.error_typical
    words = " ".join(advice.reasons)
    assert f"3e^ε + 2 = {3 * math.exp(2.0) + 2:.3g} cells; here there are 2,186, so it does not" in words
    assert f"{(math.exp(2.0) + 1) ** 2 / (4 * math.exp(2.0)):.3g} times" in words
    assert "1.636" in words


@pytest.mark.parametrize("limit", [2, 9, 45, 10_000])
def test_the_report_fits_the_limit(limit: int) -> None:
    compared = comparison(357)
    advice = advise(compared, Wishes(largest_report=limit))
    assert advice.entry is not None
    assert upload_bytes(advice.entry) <= limit
    fitting = [entry for entry in compared.entries.values() if upload_bytes(entry) <= limit]
    assert advice.entry.error_typical <= AS_GOOD * min(entry.error_typical for entry in fitting)


def test_a_limit_nothing_fits_is_answered_with_the_shortest_report() -> None:
    advice = advise(comparison(357), Wishes(largest_report=1))
    assert advice.entry is None
    assert "2 bytes" in advice.verdict


def test_the_server_decides_where_asked_and_only_by_measured_times() -> None:
    compared = comparison(357)
    times = {name: Times(None, 1e-6, 100) for name in compared.entries}
    times["ss"] = Times(None, 1e-9, 100)
    quick = advise(compared, Wishes(quick_server=True), times)
    assert quick.entry is not None
    assert quick.entry.name == "ss"
    limit = advise(compared, Wishes(server_seconds=compared.devices * 1e-8), times)
    assert limit.entry is not None
    assert limit.entry.name == "ss"
    assert advise(compared, Wishes(server_seconds=60.0)).entry is None


@pytest.mark.parametrize(
    "wrong", [{"largest_report": 0}, {"server_seconds": 0.0}, {"server_seconds": math.nan}]
)
def test_impossible_wishes_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ParameterError, match="must") as caught:
        Wishes(**wrong)  # type: ignore[arg-type]
    assert caught.value.parameter in wrong


def test_rules_about_an_absent_randomiser_keep_silent() -> None:
    empty = Comparison({}, "oue", 2.0, 100, 10, 5, 1.0)
    assert [rule(empty) for rule in RULES] == [None] * len(RULES)


@pytest.mark.parametrize("epsilon", [0.01, 20.0])
@pytest.mark.parametrize("cells", [2, 500])
def test_reasons_are_sentences_at_the_ends_of_the_range(epsilon: float, cells: int) -> None:
    advice = advise(comparison(cells, epsilon), Wishes())
    for sentence in (advice.verdict, *advice.reasons):
        assert sentence.endswith(".")
        assert "nan" not in sentence
        assert "inf" not in sentence


def test_more_devices_in_words() -> None:
    assert more_devices(1.0002) == "practically the same number of devices"
    assert more_devices(1.124) == "12\N{NARROW NO-BREAK SPACE}% more devices"
    assert more_devices(2.381) == "2.38 times as many devices"


@pytest.mark.parametrize("name", ["grr", "ss", "she"])
def test_times_are_measured(name: str) -> None:
    mechanism = make_mechanism(name, epsilon=2.0, domain_size=20)
    client = make_client(mechanism, "0" * 16)
    times = measure(mechanism, client=client.payload)
    assert times.server_s > 0
    assert times.device_s is not None
    assert times.device_s > 0
    assert measure(mechanism).device_s is None
    assert "Python" in machine_name()
