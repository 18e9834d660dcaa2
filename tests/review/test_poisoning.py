"""Fake devices: the lever of one report, and the check of weights, against reports that are really forged."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ldpcore.errors import ParameterError
from ldpcore.estimate import estimate_counts
from ldpcore.mechanisms import make_mechanism
from ldpcore.privacy.poisoning import leverage, poison
from ldpcore.release import Status, decide

VECTORS = Path(__file__).resolve().parents[1] / "golden" / "vectors.json"
CASES = [case for case in json.loads(VECTORS.read_text())["cases"] if case["kind"] == "poisoning"]
RULE: dict[str, Any] = {"floor": 300, "confidence": 0.95, "correction": "bonferroni"}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_the_lever_of_one_forged_report(case: dict[str, Any]) -> None:
    settings = {"epsilon": case["inputs"]["epsilon"], "domain_size": case["inputs"]["d"]}
    unary, direct = (leverage(make_mechanism(name, **settings)) for name in ("oue", "grr"))
    assert unary is not None
    assert direct is not None
    expected, rel = case["expected"], max(case["tol"]["rel"], 1e-10)
    assert unary.up == pytest.approx(expected["OUE_per_cell_all_cells"], rel=rel)
    assert unary.down == pytest.approx(expected["OUE_min_per_cell"], rel=rel)
    assert direct.up == pytest.approx(expected["GRR_one_cell"], rel=rel)
    assert (unary.cells, direct.cells) == (case["inputs"]["d"], 1)


def test_a_randomiser_without_one_pair_of_probabilities_has_no_lever() -> None:
    she = make_mechanism("she", epsilon=1, domain_size=10)
    assert leverage(she) is None
    with pytest.raises(ParameterError, match="choose oue"):
        poison(she, np.full(10, 5), share=0.01, attack="one cell", checked=True, **RULE)


def forged(bits: np.ndarray) -> np.ndarray:
    return np.packbits(bits.astype(np.uint8), bitorder="little")[None, :]


def test_the_server_refuses_all_ones_and_takes_the_heaviest_plausible_report() -> None:
    mechanism = make_mechanism("oue", epsilon=1.0, domain_size=400)
    found = leverage(mechanism)
    assert found is not None
    all_ones = np.ones(400, bool)
    assert mechanism.unpack(forged(all_ones)).rejected == {"impossible weight": 1}
    for weight, kept in ((found.cells_checked, 1), (found.cells_checked + 1, 0)):
        bits = np.arange(400) < weight
        assert int(mechanism.unpack(forged(bits)).kept.sum()) == kept, weight
    # The heaviest that passes lifts each of its cells as far as all ones would have.
    bits = np.arange(400) < found.cells_checked
    unpacked = mechanism.unpack(forged(bits)).reports
    estimate = mechanism.estimate(mechanism.aggregate(unpacked), n=1)
    assert estimate[0] == pytest.approx(found.up)
    assert estimate[-1] == pytest.approx(found.down)


@pytest.mark.parametrize("name", ["grr", "sue", "oue", "ss", "the"])
def test_no_honest_report_supports_more_cells_than_is_said(name: str) -> None:
    """Fixed seed; of 600 honest reports the check refuses one in 10^9 each."""
    mechanism = make_mechanism(name, epsilon=1.0, domain_size=60)
    found = leverage(mechanism)
    assert found is not None
    reports = mechanism.privatize(np.arange(60).repeat(10), rng=np.random.default_rng(11))
    supported = np.array([mechanism.supports(reports, cell) for cell in range(60)]).sum(axis=0)
    assert supported.max() <= found.cells_checked <= found.cells
    assert supported.max() >= found.cells_checked / 2


def test_one_hundredth_of_fakes_is_where_the_estimates_of_real_forged_reports_land() -> None:
    """Honest reports are drawn and forged ones added; the mean over 200 draws, failure rate 1e-6 (normal, 4.9 se)."""
    mechanism = make_mechanism("oue", epsilon=1.0, domain_size=50)
    truth = np.r_[np.zeros(10, np.int64), np.full(40, 1_000)]
    found = poison(mechanism, truth, share=0.01, attack="one cell", checked=True, **RULE)
    assert found.fakes == round(40_000 / 99)
    rng = np.random.default_rng(5)
    n, target = int(truth.sum()), 0
    estimates = []
    for _ in range(200):
        counts = mechanism.sample_counts(truth, rng=rng)
        fake = rng.binomial(found.fakes, float(mechanism.q), 50)  # of the weight of honest reports
        fake[target] = found.fakes
        estimates.append(mechanism.estimate(counts + fake, n=n + found.fakes))
    mean = np.mean(estimates, axis=0)
    error = 4.9 * math.sqrt((n + found.fakes) * mechanism.variance_empty / 200)
    assert abs(mean[target] - found.shift) < error
    assert np.all(np.abs(mean[1:10]) < error * 1.2)


def test_the_fewest_fakes_publish_an_empty_cell_in_half_of_the_draws() -> None:
    """The share over 400 draws of a fair coin; outside 0.5 +- 0.13 once in 10^6 (exact binomial)."""
    mechanism = make_mechanism("oue", epsilon=2.0, domain_size=40)
    truth = np.r_[np.zeros(1, np.int64), np.full(39, 5_000)]
    fewest = poison(mechanism, truth, share=0.05, attack="one cell", checked=True, **RULE).fakes_for_one_cell
    rng, published = np.random.default_rng(3), 0
    n = int(truth.sum()) + fewest
    for _ in range(400):
        counts = mechanism.sample_counts(truth, rng=rng)
        fake = rng.binomial(fewest, float(mechanism.q), 40)
        fake[0] = fewest
        counts = counts + fake
        estimates = estimate_counts(mechanism, counts, n=n, confidence=0.95, correction="bonferroni")
        published += int(decide(estimates, floor=300)[0] == Status.PUBLISHED)
    assert 0.37 < published / 400 < 0.63


def test_the_check_limits_how_many_cells_are_lifted_and_not_how_far() -> None:
    mechanism = make_mechanism("oue", epsilon=2.0, domain_size=300)
    truth = np.r_[np.zeros(200, np.int64), np.full(100, 30_000)]
    attack = "as many cells as one report can"
    free, checked = (
        poison(mechanism, truth, share=0.05, attack=attack, checked=flag, **RULE) for flag in (False, True)
    )
    assert free.shift == checked.shift
    assert free.cells == 300
    assert checked.cells < 120
    assert free.false_published == pytest.approx(200, abs=1e-6)
    assert checked.false_published == pytest.approx(checked.cells, abs=0.5)
    assert free.false_published_before < 0.1


@pytest.mark.parametrize(("share", "attack"), [(0.0, "one cell"), (1.0, "one cell"), (0.01, "all")])
def test_a_share_or_an_attack_that_is_none_is_refused(share: float, attack: str) -> None:
    mechanism = make_mechanism("oue", epsilon=1, domain_size=10)
    with pytest.raises(ParameterError, match=r"share of fakes|no attack"):
        poison(mechanism, np.full(10, 5), share=share, attack=attack, checked=True, **RULE)
