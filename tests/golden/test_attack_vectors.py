"""The reference vectors of posteriors and of averaging, each with its own tolerance."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

from ldpcore.guessing import best_guess
from ldpcore.mechanisms import make_mechanism
from ldpcore.privacy.averaging import exact_success, memo_draws
from ldpcore.privacy.posterior import posterior

CASES: list[dict[str, Any]] = json.loads(Path(__file__).with_name("vectors.json").read_text())["cases"]


def cases(kind: str, *mechanisms: str) -> list[Any]:
    found = [case for case in CASES if case["kind"] == kind and case["mechanism"] in mechanisms]
    assert found, f"no case of kind {kind} for {mechanisms}"
    return [pytest.param(case, id=case["id"]) for case in found]


def close(actual: Any, case: dict[str, Any], expected: Any) -> bool:
    tolerance = case["tol"]
    wanted = np.asarray(expected, np.float64)
    error = np.abs(np.asarray(actual, np.float64) - wanted)
    return bool((error <= tolerance["abs"] + tolerance["rel"] * np.abs(wanted)).all())


@pytest.mark.parametrize("case", cases("posterior", "GRR"))
def test_posterior_of_one_report(case: dict[str, Any]) -> None:
    inputs, expected = case["inputs"], case["expected"]
    mechanism = make_mechanism("grr", epsilon=inputs["epsilon"], domain_size=inputs["d"])
    prior = None if inputs["prior"] == "uniform" else [float(Fraction(share)) for share in inputs["prior"]]
    report = inputs["report"]
    found = posterior(mechanism, np.array([report], np.uint32), prior=prior)
    by_name = {
        "posterior_reported": found[report],
        "posterior_cell0": found[0],
        "posterior_other": found[(report + 1) % inputs["d"]],
    }
    for name, value in expected.items():
        assert close(by_name[name], case, value), name


@pytest.mark.parametrize(
    "case", cases("posterior", *(f"{name}_bayes_accuracy" for name in ("OUE", "SUE", "OLH", "SS")))
)
def test_success_of_the_best_guess_from_one_report(case: dict[str, Any]) -> None:
    inputs = case["inputs"]
    name = case["mechanism"].split("_")[0].lower()
    options = {option: inputs[option] for option in ("g", "k") if option in inputs}
    mechanism = make_mechanism(name, epsilon=inputs["epsilon"], domain_size=inputs["d"], **options)
    assert close(best_guess(mechanism).success, case, case["expected"]["map_accuracy"])
    assert close(exact_success(mechanism, 1), case, case["expected"]["map_accuracy"])


@pytest.mark.parametrize("case", cases("longitudinal", "GRR_fresh"))
def test_success_after_many_reports(case: dict[str, Any]) -> None:
    inputs, expected = case["inputs"], case["expected"]
    reports = inputs["t"]
    mechanism = make_mechanism("grr", epsilon=inputs["epsilon"], domain_size=inputs["d"])
    assert close(exact_success(mechanism, reports), case, expected["map_accuracy"])
    draws = memo_draws(reports, reports_per_epoch=reports)
    assert close(exact_success(mechanism, draws), case, expected["map_accuracy_memoised"])
    assert close(reports * mechanism.epsilon, case, expected["eps_total_fresh"])
    assert close(draws * mechanism.epsilon, case, expected["eps_total_memoised_one_value"])


@pytest.mark.parametrize("case", cases("longitudinal", "GRR_fresh_posterior"))
def test_posterior_of_many_reports(case: dict[str, Any]) -> None:
    inputs = case["inputs"]
    mechanism = make_mechanism("grr", epsilon=inputs["epsilon"], domain_size=inputs["d"])
    reports = np.repeat(np.arange(inputs["d"], dtype=np.uint32), inputs["counts"])
    assert close(posterior(mechanism, reports), case, case["expected"]["posterior"])


@pytest.mark.parametrize("case", cases("longitudinal", "OUE_fresh_bit_means"))
def test_bit_means(case: dict[str, Any]) -> None:
    """The normal bound of the reference lies above the exact failure; the bit means are p and q."""
    inputs, expected = case["inputs"], case["expected"]
    mechanism = make_mechanism("oue", epsilon=inputs["epsilon"], domain_size=inputs["d"])
    assert close(float(mechanism.p), case, expected["mean_true"])
    assert close(float(mechanism.q), case, expected["mean_other"])
    p, q, t = float(mechanism.p), float(mechanism.q), inputs["t"]
    separation = (p - q) / math.sqrt((p * (1 - p) + q * (1 - q)) / t)
    assert close(separation, case, expected["z_separation"])
    bound = min(1.0, (inputs["d"] - 1) * norm.sf(separation))
    assert close(bound, case, expected["union_error_bound_normal"])
    success = exact_success(mechanism, t)
    assert success is not None
    assert 1 - success <= 2 * bound


@pytest.mark.parametrize("case", cases("longitudinal", "memo_equality_pattern_leak"))
def test_equality_pattern(case: dict[str, Any]) -> None:
    """Two answers of a memo differ only where two cells do: no finite ratio covers that."""
    inputs, expected = case["inputs"], case["expected"]
    mechanism = make_mechanism("grr", epsilon=inputs["epsilon"], domain_size=inputs["d"])
    laws = np.where(np.eye(2, dtype=bool), float(mechanism.p), float(mechanism.q))
    unequal = {}
    for name in ("A", "B"):
        first, second = inputs[name]
        # One draw per cell: the same cell gives the same answer for certain.
        unequal[name] = 0.0 if first == second else 1 - float(laws[first] @ laws[second])
    assert close(unequal["A"], case, expected["prob_unequal_under_A"])
    assert close(unequal["B"], case, expected["prob_unequal_under_B"])
    assert expected["log_ratio_is_infinite"]
