"""The audit: honest clients pass, and one deliberately broken double for each bug known from other tools is caught.

Honest clients are accused with probability 1e-6 each by construction; seeds cannot be fixed, because the
client takes its coins from the operating system.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from secrets import randbelow
from typing import Any

import numpy as np
import pytest
from scipy.stats import beta

from ldpcore.device import randomiser
from ldpcore.device.wire import make_client
from ldpcore.errors import ParameterError
from ldpcore.mechanisms import MECHANISMS, Mechanism, make_mechanism
from ldpcore.privacy.audit import (
    Audit,
    audit_mechanism,
    clopper_pearson,
    collect_world,
    epsilon_lower_bound,
    judge,
    max_certifiable,
    no_events,
)

TRIALS = 20_000
VECTORS = json.loads((Path(__file__).parents[1] / "golden" / "vectors.json").read_text())["cases"]


def vectors(prefix: str) -> list[Any]:
    found = [v for v in VECTORS if v["kind"] == "audit" and v["mechanism"].startswith(prefix)]
    assert found
    return [pytest.param(v, id=v["id"]) for v in found]


# -- bounds ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", vectors("clopper_pearson"))
def test_bounds_against_the_vectors(case: dict[str, Any]) -> None:
    given, expected = case["inputs"], case["expected"]
    hits, trials, alpha = (given["hits_world1"], given["hits_world2"]), given["trials_each"], given["alpha"]
    low, _ = clopper_pearson(hits[0], trials, alpha)
    _, high = clopper_pearson(hits[1], trials, alpha)
    assert float(low) == pytest.approx(expected["p1_lower"], rel=1e-9)
    assert float(high) == pytest.approx(expected["p2_upper"], rel=1e-9)
    bound = epsilon_lower_bound(*hits, trials=trials, alpha=alpha)
    assert float(bound) == pytest.approx(expected["eps_lower_bound"], rel=1e-9)


def test_bounds_at_the_ends_and_far_out() -> None:
    low, high = clopper_pearson([0, 5, 10], 10, 0.1)
    assert low[0] == 0
    assert high[2] == 1
    assert high[0] == pytest.approx(1 - 0.05 ** (1 / 10), rel=1e-12)
    assert low[2] == pytest.approx(0.05 ** (1 / 10), rel=1e-12)
    assert low[1] == pytest.approx(beta.ppf(0.05, 5, 6), rel=1e-9)
    assert clopper_pearson(0, 10**6, 1e-12)[1] == pytest.approx(-math.log(5e-13) / 10**6, rel=1e-4)
    assert epsilon_lower_bound(0, 0, trials=10, alpha=0.05) == 0
    assert epsilon_lower_bound(2, 9, trials=10, alpha=0.05) == 0
    with_delta = epsilon_lower_bound(900, 100, trials=1000, alpha=0.05, delta=0.1)
    low, high = clopper_pearson(900, 1000, 0.05)[0], clopper_pearson(100, 1000, 0.05)[1]
    assert float(with_delta) == pytest.approx(math.log((low - 0.1) / high), rel=1e-12)


def test_what_can_be_certified_grows_with_the_logarithm_of_the_trials() -> None:
    for trials in (10**3, 10**5, 10**7):
        found = max_certifiable(trials // 2, trials=trials, alpha=1e-6)
        assert found == pytest.approx(math.log(trials / 2 / math.log(2e6)), abs=0.3)


EVENTS = {"GRR": "grr", "OUE": "oue", "SUE": "sue", "SS": "ss", "OLH_fresh_hash": "olh", "HR": "hr"}


@pytest.mark.parametrize("case", vectors("best_event"))
def test_events_have_the_probabilities_of_the_vectors(case: dict[str, Any]) -> None:
    """400,000 simulated reports a world, 5.3 standard errors: 1e-7 for each of the 24 frequencies."""
    given, expected = case["inputs"], case["expected"]
    name = EVENTS[case["mechanism"].removeprefix("best_event_")]
    mechanism = make_mechanism(name, epsilon=given["epsilon"], domain_size=given["d"])
    devices = 400_000
    for cell, probability in ((0, expected["prob_world1"]), (99, expected["prob_world2"])):
        reports = mechanism.privatize(np.full(devices, cell), rng=np.random.default_rng(cell))
        hits = mechanism.distinguishing_events(reports, 0, 99)["supports cell 0 and not 99"].sum()
        error = math.sqrt(devices * probability * (1 - probability))
        assert abs(hits - devices * probability) < 5.3 * error


# -- honest clients --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0, 4.0])
def test_honest_clients_pass(name: str, epsilon: float) -> None:
    mechanism = make_mechanism(name, epsilon=epsilon, domain_size=8)
    trials = 1000 if name == "she" else TRIALS
    audit = audit_mechanism(mechanism, trials=trials)
    assert audit.passed
    assert audit.epsilon == epsilon
    assert audit.epsilon_effective == mechanism.epsilon_effective
    assert 0 <= audit.epsilon_lower_bound <= audit.epsilon_effective
    assert audit.epsilon_lower_bound <= audit.max_certifiable
    if name != "she" and epsilon <= 2:
        # The bound comes near the truth, so the audit is not blind.
        assert audit.epsilon_lower_bound > audit.epsilon_effective - 0.35
    assert {finding.trials for finding in audit.findings} == {trials, trials - trials // 2}


def test_the_audit_says_what_it_can_reach() -> None:
    mechanism = make_mechanism("oue", epsilon=8.0, domain_size=8)
    audit = audit_mechanism(mechanism, trials=2000)
    assert audit.passed
    assert audit.max_certifiable < 5


# -- broken doubles --------------------------------------------------------------------------------


@dataclass
class Double:
    """A device made of one function."""

    send: Callable[[int], bytes]

    def payload(self, cell: int | None) -> bytes:
        assert cell is not None
        return self.send(cell)


def attack(mechanism: Mechanism, send: Callable[[int], bytes], **options: Any) -> Audit:
    return audit_mechanism(mechanism, trials=TRIALS, new_device=lambda: Double(send), **options)


def settings_of(mechanism: Mechanism) -> dict[str, Any]:
    return mechanism.device_settings()


def test_a_true_bit_that_is_never_cleared() -> None:
    """A RAPPOR client whose epsilon is infinite: the bound is as high as so many trials can prove."""
    mechanism = make_mechanism("sue", epsilon=1.0, domain_size=8)
    settings = settings_of(mechanism)

    def send(cell: int) -> bytes:
        bits = randomiser.coins(8, *settings["q"]) | 1 << cell
        return bits.to_bytes(1, "little")

    audit = attack(mechanism, send)
    assert not audit.passed
    assert audit.epsilon_lower_bound > 5


def test_a_true_bit_that_is_kept_with_the_wrong_probability() -> None:
    mechanism = make_mechanism("oue", epsilon=1.0, domain_size=8)
    settings = {**settings_of(mechanism), "p": (3, 4)}
    audit = attack(mechanism, lambda cell: randomiser.unary(cell, **settings))
    assert not audit.passed
    assert audit.epsilon_lower_bound > 1.7  # ln(3 e), less what the trials cost


def test_a_true_value_that_comes_first_in_the_subset() -> None:
    """The set is right, its order is not; found without knowing that reports are lists of cells."""
    mechanism = make_mechanism("ss", epsilon=1.0, domain_size=12, k=3)
    settings = settings_of(mechanism)

    def send(cell: int) -> bytes:
        bits = int.from_bytes(randomiser.subset(cell, **settings), "little")
        chosen = [other for other in range(12) if bits >> other & 1]
        chosen.sort(key=lambda other: other != cell)
        return bytes(chosen)

    worlds = [collect_world(lambda: Double(send), cell, trials=TRIALS) for cell in (5, 11)]
    audit = judge(*worlds, events=no_events, epsilon=1.0, epsilon_effective=1.0)
    assert not audit.passed
    assert audit.epsilon_lower_bound > 4

    def shuffled(cell: int) -> bytes:
        order = list(send(cell))
        return bytes(order.pop(randbelow(len(order))) for _ in range(3))

    worlds = [collect_world(lambda: Double(shuffled), cell, trials=TRIALS) for cell in (5, 11)]
    assert judge(*worlds, events=no_events, epsilon=1.0, epsilon_effective=1.0).passed


def test_a_seed_that_is_drawn_until_it_suits_the_value() -> None:
    """The bucket is randomised honestly, but only hashes that put the cell into bucket 0 are sent."""
    mechanism = make_mechanism("olh", epsilon=1.0, domain_size=8)
    settings = settings_of(mechanism)

    def send(cell: int) -> bytes:
        prime, buckets = settings["prime"], settings["buckets"]
        while True:
            a0, a1, a2 = (randbelow(prime) for _ in range(3))
            if (a2 * cell * cell + a1 * cell + a0) % prime * buckets // prime == 0:
                break
        sent = randomiser.other_unless_kept(0, buckets, settings["ratio"], settings["one"])
        return (a0 + prime * (a1 + prime * a2)).to_bytes(8, "little") + bytes([sent])

    audit = attack(mechanism, send)
    assert not audit.passed
    assert audit.epsilon_lower_bound > 4
    assert "hash puts" in audit.findings[0].event


def test_a_seed_that_depends_on_the_value() -> None:
    """A client that saves randomness by deriving its hash from the cell: found from the bytes alone."""
    mechanism = make_mechanism("olh", epsilon=1.0, domain_size=8)
    settings = settings_of(mechanism)

    def send(cell: int) -> bytes:
        honest = randomiser.local_hash(cell, **settings)
        return bytes([honest[0] & 0xF8 | cell]) + honest[1:]

    audit = attack(mechanism, send)
    assert not audit.passed
    assert audit.findings[0].event.startswith(("byte", "bit"))


@dataclass
class Remembering:
    """A device that draws its answer for a cell once and repeats it."""

    mechanism: Mechanism
    answers: dict[int, bytes] = field(default_factory=dict)

    def payload(self, cell: int | None) -> bytes:
        assert cell is not None
        if cell not in self.answers:
            self.answers[cell] = make_client(self.mechanism, "0" * 16).payload(cell)
        return self.answers[cell]


def test_a_permanent_answer_that_is_redrawn() -> None:
    """Two reports of one device: remembered they have the epsilon of one, redrawn that of two."""
    mechanism = make_mechanism("sue", epsilon=1.0, domain_size=8)
    remembered = audit_mechanism(
        mechanism, trials=TRIALS // 2, new_device=lambda: Remembering(mechanism), reports=2
    )
    assert remembered.passed
    client = make_client(mechanism, "0" * 16)
    redrawn = audit_mechanism(mechanism, trials=TRIALS, new_device=lambda: client, reports=2)
    assert not redrawn.passed
    assert 1.2 < redrawn.epsilon_lower_bound < 2


def test_a_malformed_report_that_depends_on_the_value() -> None:
    mechanism = make_mechanism("grr", epsilon=1.0, domain_size=8)
    audit = attack(mechanism, lambda cell: bytes([8 if cell == 0 and randbelow(10) == 0 else randbelow(8)]))
    assert not audit.passed
    assert audit.findings[0].event in {"malformed", "byte 0 is 8", "bit 3 of byte 0 is 1"}


def test_thresholding_is_tested_against_its_own_lower_epsilon() -> None:
    """A client that spends the whole label where only the lower epsilon is claimed fails."""
    mechanism = make_mechanism("the", epsilon=2.0, domain_size=8)
    assert mechanism.epsilon_effective < 1.64
    label = make_mechanism("oue", epsilon=2.0, domain_size=8)
    settings: Mapping[str, Any] = settings_of(label)
    assert not attack(mechanism, lambda cell: randomiser.unary(cell, **settings)).passed
    assert attack(label, lambda cell: randomiser.unary(cell, **settings)).passed


# -- refusals --------------------------------------------------------------------------------------


def test_settings_are_checked() -> None:
    mechanism = make_mechanism("grr", epsilon=1.0, domain_size=8)
    for cells in ((0, 8), (-1, 3), (2, 2)):
        with pytest.raises(ParameterError, match="cells"):
            audit_mechanism(mechanism, trials=100, cells=cells)
    for trials in (0, 9, 2.5):
        with pytest.raises(ParameterError, match="trials must be an integer of at least 10"):
            audit_mechanism(mechanism, trials=trials)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="payloads must have one size, got 1 to 2 bytes"):
        collect_world(lambda: Double(lambda _: bytes(1 + randbelow(2))), 0, trials=100)
    worlds = [collect_world(lambda: Double(bytes), cell, trials=20) for cell in (1, 2)]
    with pytest.raises(ParameterError, match="both worlds must send alike"):
        judge(*worlds, events=no_events, epsilon=1.0, epsilon_effective=1.0)
