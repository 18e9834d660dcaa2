"""The reference vectors of post-processing, trees, sizing, central and shuffle, each with its own tolerance."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ldpcore.mechanisms import make_mechanism
from ldpcore.postprocess import base_pos, clamping_bias, ibu, mle_apx, norm, norm_cut, norm_mul, norm_sub

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


@pytest.mark.parametrize("case", cases("postprocess", "consistency"))
def test_consistency(case: dict[str, Any]) -> None:
    raw, total, expected = case["inputs"]["x"], case["inputs"]["total"], case["expected"]
    for repair in (norm, norm_sub, norm_mul, norm_cut):
        assert close(repair(raw, total=total), case, expected[repair.__name__]), repair.__name__
    assert close(base_pos(raw), case, expected["base_pos"])


@pytest.mark.parametrize("case", cases("postprocess", "MLE-Apx"))
def test_mle_apx(case: dict[str, Any]) -> None:
    p, q = (Fraction(case["inputs"][name]) for name in ("p_star", "q_star"))
    shares = mle_apx(
        case["inputs"]["f"],
        empty=float(q * (1 - q) / (p - q) ** 2),
        slope=float((1 - p - q) / (p - q)),
    )
    assert close(shares, case, case["expected"]["f_out"])


@pytest.mark.parametrize("case", cases("postprocess", "IBU", "IBU_limit"))
def test_ibu(case: dict[str, Any]) -> None:
    assert case["inputs"]["channel"] == "GRR e^eps=3 d=3"
    shares = ibu(
        case["inputs"]["counts"],
        own=3 / 5,
        other=1 / 5,
        iterations=case["inputs"].get("iterations", 4000),
        tolerance=0.0,
    )
    assert close(shares, case, case["expected"]["f"])


@pytest.mark.parametrize("case", cases("postprocess", "clamp_bias_empty_cell"))
def test_clamping_bias(case: dict[str, Any]) -> None:
    given, expected = case["inputs"], case["expected"]
    mechanism = make_mechanism("oue", epsilon=given["epsilon"], domain_size=given["d"])
    std_error = math.sqrt(mechanism.variance(np.zeros(given["d"]), n=given["n"])[0])
    assert close(std_error, case, expected["se"])
    assert close(clamping_bias(std_error), case, expected["bias_per_empty_cell"])
    assert close(given["d"] * clamping_bias(std_error), case, expected["total_phantom_mass_d_empty"])
