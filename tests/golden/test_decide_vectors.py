"""The reference vectors of post-processing, trees, sizing, central and shuffle, each with its own tolerance."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ldpcore.covariance import region_variance
from ldpcore.errors import ParameterError
from ldpcore.hierarchy import constrained_inference
from ldpcore.mechanisms import make_mechanism
from ldpcore.postprocess import base_pos, clamping_bias, ibu, mle_apx, norm, norm_cut, norm_mul, norm_sub
from ldpcore.privacy.central import geometric_variance, laplace_variance, local_to_central
from ldpcore.privacy.shuffle import amplify, blanket_delta, clone_delta, closed_form, closed_form_valid
from ldpcore.sizing import Case, devices_for_share, size, solve_cells

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


@pytest.mark.parametrize(
    "case", cases("hierarchy", "constrained_inference", "constrained_inference_root_known")
)
def test_constrained_inference(case: dict[str, Any]) -> None:
    given, expected = case["inputs"], case["expected"]
    tree = constrained_inference(given["parents"], given["y"], given["var"])
    assert close(tree.estimate, case, expected["h"])
    if "root_var_after" in expected:
        assert close(tree.variance[0], case, expected["root_var_after"])
    else:
        assert tree.variance[0] == 0


@pytest.mark.parametrize("case", cases("range", "region_sum"))
def test_region_sum(case: dict[str, Any]) -> None:
    given, expected = case["inputs"], case["expected"]
    cells, inside, n, levels = given["d"], given["m"], given["n"], 4
    true_counts = np.zeros(cells, np.int64)
    true_counts[0], true_counts[-1] = given["c_region"], n - given["c_region"]
    regions = np.ones(cells, np.int64)
    regions[:inside] = 0
    for name, key in (("oue", "var_OUE_flat"), ("grr", "var_GRR_flat")):
        mechanism = make_mechanism(name, epsilon=given["epsilon"], domain_size=cells)
        variance = region_variance(mechanism, regions, true_counts, size=2)[0]
        assert close(variance, case, expected[key])
    # One node of a level that a fixed quarter of the devices report, its count taken as a quarter of the truth.
    node = make_mechanism("oue", epsilon=given["epsilon"], domain_size=2)
    group = node.variance(np.array([given["c_region"] / levels, 0]), n=n // levels)[0]
    assert close(levels**2 * group, case, expected["var_one_tree_node_sampled_level_L4_fixed_split"])


@pytest.mark.parametrize("case", cases("central", "geometric_laplace"))
def test_central(case: dict[str, Any]) -> None:
    given, expected = case["inputs"], case["expected"]
    epsilon, sensitivity = given["epsilon"], given["l1_sensitivity"]
    laplace = laplace_variance(epsilon, sensitivity=sensitivity)
    assert close(geometric_variance(epsilon, sensitivity=sensitivity), case, expected["var_geometric"])
    assert close(laplace, case, expected["var_laplace"])
    mechanism = make_mechanism("oue", epsilon=epsilon, domain_size=100)
    ratio = local_to_central(mechanism, n=given["n"], sensitivity=sensitivity)
    assert close(ratio, case, expected["ratio_sd_OUE_to_geometric"])
    assert mechanism.variance_empty is not None
    local = math.sqrt(given["n"] * mechanism.variance_empty)
    assert close(local / math.sqrt(laplace), case, expected["ratio_sd_OUE_to_laplace"])


@pytest.mark.parametrize("case", cases("shuffle", "binaryRR_delta", "GRR_delta"))
def test_shuffle_delta(case: dict[str, Any]) -> None:
    given, expected = case["inputs"], case["expected"]
    local, central, devices = given["eps0"], given["eps"], given["n"]
    ratio, cells = math.exp(local), given.get("k", 2)
    clone, stronger = (
        clone_delta(central, epsilon=local, devices=devices, clone_share=share)
        for share in (1 / ratio, 2 / (ratio + 1))
    )
    assert close(clone, case, expected["delta_clone_FMT21"])
    assert close(stronger, case, expected.get("delta_stronger_2RR", expected.get("delta_stronger_general")))
    found = [expected["delta_exact_worst_dataset"]]
    if cells > 2:
        settings = {"epsilon": local, "devices": devices, "label_share": 1 / (ratio + cells - 1)}
        found += [
            blanket_delta(central, **settings, direct_cells=cells),
            blanket_delta(central, **settings),
        ]
        assert close(found[1], case, expected["delta_blanket_GRR"])
        assert close(found[2], case, expected["delta_3label_TV"])
    # Each bound holds for the worst data set, and each is looser than the one before.
    found += [stronger, clone]
    assert found == sorted(found)


@pytest.mark.parametrize("case", cases("shuffle", "amplified_eps"))
def test_shuffle_epsilon(case: dict[str, Any]) -> None:
    given, expected = case["inputs"], case["expected"]
    settings = {"devices": given["n"], "delta": given["delta"]}
    local = given["eps0"]
    assert close(amplify(local, **settings).epsilon_central, case, expected["numeric_clone_FMT21"])
    stronger = amplify(local, **settings, bound="stronger").epsilon_central
    assert close(stronger, case, expected["numeric_stronger_2over(e+1)"])
    assert closed_form_valid(local, **settings) == expected["valid_log2"]
    if expected["closed_form_paper"] is None:
        with pytest.raises(ParameterError):
            closed_form(local, **settings)
    else:
        assert close(closed_form(local, **settings), case, expected["closed_form_paper"])


@pytest.mark.parametrize("case", cases("sizing", "OUE", "SUE", "BLH", "GRR"))
def test_sizing(case: dict[str, Any]) -> None:
    given, expected = case["inputs"], case["expected"]
    name = case["mechanism"].lower()
    cells = 100
    asked = Case(
        devices=given["n"],
        cells=cells,
        epsilon=given["epsilon"],
        target_error=given["target_rel_se"],
        mechanism=name,
    )
    assert solve_cells(asked) == expected["max_uniform_d"]
    if "crossover_d_vs_OUE" in expected:
        at, above = (
            make_mechanism(name, epsilon=given["epsilon"], domain_size=expected["crossover_d_vs_OUE"] + step)
            for step in (0, 1)
        )
        unary = make_mechanism("oue", epsilon=given["epsilon"], domain_size=cells).variance_empty
        assert at.variance_empty <= unary < above.variance_empty
        return
    verdict = size(asked)
    assert close(verdict.smallest_count, case, expected["min_count"])
    assert close(verdict.smallest_count / given["n"], case, expected["min_share"])
    # A cell of one hundredth of the devices: all of a hundred cells hold the same.
    assert close(verdict.error, case, expected["rel_se_c_0.01n"])
    share = asked.randomiser()
    needed = devices_for_share(share, 0.001, relative_error=given["target_rel_se"])
    assert needed == math.ceil(expected["min_n_for_share_0.001"])
