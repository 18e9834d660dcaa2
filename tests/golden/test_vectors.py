"""The reference vectors that belong to mechanisms and estimates, each with its own tolerance."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtr

from ldpcore.binomial_sums import upper_tail
from ldpcore.estimate import (
    critical_value,
    estimate_counts,
    publication_probability,
    publication_threshold,
    score_interval,
    smallest_count,
)
from ldpcore.mechanisms import make_mechanism
from ldpcore.mechanisms.hadamard import HadamardResponse
from ldpcore.rational import exp_floor, log_ceiling

CASES: list[dict[str, Any]] = json.loads(Path(__file__).with_name("vectors.json").read_text())["cases"]

NAMES = {
    "GRR": "grr",
    "BRR": "grr",
    "SUE": "sue",
    "OUE": "oue",
    "BLH": "blh",
    "OLH": "olh",
    "HRR": "hrr",
    "HR": "hr",
    "SS": "ss",
    "THE": "the",
}


def cases(kind: str, *mechanisms: str) -> list[Any]:
    found = [case for case in CASES if case["kind"] == kind and case["mechanism"] in mechanisms]
    assert found, f"no case of kind {kind} for {mechanisms}"
    return [pytest.param(case, id=case["id"]) for case in found]


def close(actual: Any, case: dict[str, Any], expected: float) -> bool:
    tolerance = case["tol"]
    return abs(float(actual) - expected) <= tolerance["abs"] + tolerance["rel"] * abs(expected)


@pytest.mark.parametrize("case", cases("frequency", *NAMES))
def test_frequency(case: dict[str, Any]) -> None:
    given, expected = case["inputs"], case["expected"]
    mechanism = make_mechanism(NAMES[case["mechanism"]], epsilon=given["epsilon"], domain_size=given["d"])
    assert mechanism.p is not None
    assert mechanism.q is not None
    assert close(mechanism.p, case, expected["p_star"])
    assert close(mechanism.q, case, expected["q_star"])
    assert close(mechanism.variance_empty, case, expected["var_per_client_c0"])
    assert close(mechanism.variance_slope, case, expected["var1_coeff"])
    count = given["c"]
    true_counts = np.array([count, given["n"] - count] + [0] * (given["d"] - 2))
    variance = mechanism.variance(true_counts, n=given["n"])[0]
    assert close(variance, case, expected["var_count"])
    assert close(math.sqrt(variance), case, expected["se_count"])
    assert close(math.exp(mechanism.epsilon_effective), case, expected["max_lr"])
    if "bits" in expected:
        assert mechanism.report_bits == expected["bits"]
    if "k_ceil" in expected:
        assert mechanism.parameters()["k"] == given["k"] == expected["k"]
        larger = make_mechanism("ss", epsilon=given["epsilon"], domain_size=given["d"], k=expected["k_ceil"])
        assert close(larger.variance_empty, case, expected["var0_at_k_ceil"])
    if "theta_opt" in expected:
        assert close(mechanism.parameters()["theta"], case, expected["theta_opt"])
    if "g" in expected:
        assert mechanism.parameters()["g"] == expected["g"]


@pytest.mark.parametrize("case", cases("frequency", "HR_block"))
def test_hadamard_response_with_blocks(case: dict[str, Any]) -> None:
    given, expected = case["inputs"], case["expected"]
    mechanism = HadamardResponse(epsilon=given["epsilon"], domain_size=given["d"], blocks=given["B"])
    assert mechanism.block_outputs == given["b"]
    assert mechanism.outputs == expected["K"]
    assert not mechanism.pure
    assert mechanism.report_bits == expected["bits"]
    true_counts = np.array(given["hist"])
    variance = mechanism.variance(true_counts, n=int(true_counts.sum()))
    assert close(variance[given["cell"]], case, expected["var_count"])
    assert close(math.exp(mechanism.epsilon_effective), case, expected["max_lr"])
    # The sets have s columns, and one of them is sent with probability p_star.
    ratio = math.exp(given["epsilon"])
    members = expected["s"]
    assert close(members * ratio / expected["Z"], case, expected["p_star"])
    assert close(members * ratio + expected["K"] - members, case, expected["Z"])


@pytest.mark.parametrize("case", cases("frequency", "SHE"))
def test_summed_histograms(case: dict[str, Any]) -> None:
    given, expected = case["inputs"], case["expected"]
    mechanism = make_mechanism("she", epsilon=given["epsilon"], domain_size=given["d"])
    assert mechanism.p is None
    assert close(mechanism.variance_empty, case, expected["var_per_client_c0"])
    assert mechanism.variance_slope == 0
    true_counts = np.full(given["d"], given["c"])
    assert close(mechanism.variance(true_counts, n=given["n"])[0], case, expected["var_count"])
    assert close(math.exp(mechanism.epsilon_effective), case, expected["max_lr"])
    assert mechanism.report_bits == expected["bits"]


@pytest.mark.parametrize("case", cases("interval", "OUE", "GRR", "BLH"))
def test_score_interval(case: dict[str, Any]) -> None:
    given, expected = case["inputs"], case["expected"]
    mechanism = make_mechanism(NAMES[case["mechanism"]], epsilon=given["epsilon"], domain_size=given["d"])
    n = given["n"]
    assert mechanism.variance_empty is not None
    low, high = score_interval(
        given["estimate"],
        base=n * mechanism.variance_empty,
        slope=mechanism.variance_slope,
        z=critical_value(1 - given["alpha"]),
        n=n,
    )
    assert close(low, case, expected["score_lo"])
    assert close(high, case, expected["score_hi"])
    cells = given["d"]
    for correction in ("bonferroni", "sidak"):
        z = critical_value(1 - given["alpha"], correction=correction, cells=cells)
        assert close(z, case, expected[f"z_{correction}"])
    # The same through the public door: counts whose estimate is the given one.
    assert mechanism.p is not None
    assert mechanism.q is not None
    counts = np.full(cells, given["estimate"] * float(mechanism.p - mechanism.q) + n * float(mechanism.q))
    table = estimate_counts(mechanism, counts, n=n, confidence=1 - given["alpha"])
    assert table.ci_low == pytest.approx(expected["score_lo"], rel=1e-9)
    assert table.ci_high == pytest.approx(expected["score_hi"], rel=1e-9)
    assert table.std_error == pytest.approx(expected["se_plugin"], rel=1e-9)


@pytest.mark.parametrize("case", cases("interval", "OUE_exact_interval"))
def test_exact_interval(case: dict[str, Any]) -> None:
    given, expected = case["inputs"], case["expected"]
    mechanism = make_mechanism("oue", epsilon=given["epsilon"], domain_size=2)
    counts = np.full(2, given["support_count"])
    table = estimate_counts(mechanism, counts, n=given["n"], confidence=1 - given["alpha"], interval="exact")
    assert table.exact_used
    assert close(table.estimate[0], case, expected["estimate"])
    assert table.ci_low[0] == expected["c_lo"]
    assert table.ci_high[0] == expected["c_hi"]


@pytest.mark.parametrize("case", cases("interval", "OUE_exact_tail"))
def test_exact_tail(case: dict[str, Any]) -> None:
    given = case["inputs"]
    mechanism = make_mechanism("oue", epsilon=given["epsilon"], domain_size=2)
    assert mechanism.q is not None
    tail = upper_tail(given["support_count_at_least"], given["c"], n=given["n"], p=0.5, q=float(mechanism.q))
    assert close(float(tail), case, case["expected"]["prob"])


@pytest.mark.parametrize("case", cases("suppression", "OUE_threshold"))
def test_publication(case: dict[str, Any]) -> None:
    given, expected = case["inputs"], case["expected"]
    mechanism = make_mechanism("oue", epsilon=given["epsilon"], domain_size=given["d"])
    confidence = float(ndtr(given["z"]))
    settings = {"n": given["n"], "floor": given["floor"], "confidence": confidence, "correction": "none"}
    threshold = publication_threshold(mechanism, **settings)
    assert close(threshold, case, expected["publish_threshold"])
    if given["floor"] < 1:
        return  # a release publishes nothing below one device, so the predictions start there
    counts = [given["floor"], 0, *map(int, expected["false_suppress_prob"])]
    probability = publication_probability(mechanism, counts, **settings)
    assert close(probability[0], case, expected["false_publish_prob_at_floor"])
    assert close(given["d"] * probability[1], case, expected["expected_false_publish_all_empty"])
    for published, suppressed in zip(probability[2:], expected["false_suppress_prob"].values(), strict=True):
        assert 1 - published == pytest.approx(suppressed, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("case", cases("quantisation", "rational_ratio_2^32"))
def test_rational_ratio(case: dict[str, Any]) -> None:
    expected = case["expected"]
    ratio = exp_floor(Fraction(case["inputs"]["epsilon"]), bits=32)
    assert ratio == Fraction(int(expected["R_numerator"]), int(expected["R_denominator"]))
    assert close(log_ceiling(ratio), case, expected["eps_actual"])


@pytest.mark.parametrize("case", cases("sizing", "OUE"))
def test_smallest_count(case: dict[str, Any]) -> None:
    given, expected = case["inputs"], case["expected"]
    mechanism = make_mechanism("oue", epsilon=given["epsilon"], domain_size=100)
    count = smallest_count(mechanism, n=given["n"], relative_error=given["target_rel_se"])
    assert close(count, case, expected["min_count"])
    share_of = 0.01 * given["n"]
    deviation = math.sqrt(mechanism.variance(np.full(100, share_of), n=given["n"])[0])
    assert close(deviation / share_of, case, expected["rel_se_c_0.01n"])
