"""One battery over the whole table: a new mechanism inherits every test here."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import json
import math
import pkgutil
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest

import ldpcore.mechanisms
from ldpcore.errors import ParameterError
from ldpcore.mechanisms import MECHANISMS, Mechanism, make_mechanism, parse_options
from ldpcore.mechanisms.blocks import BLOCK_DEVICES

SIZES = (2, 3, 8, 64, 65, 131)
every_name = pytest.mark.parametrize("name", MECHANISMS)
# Options that change what a report or a count is go through the same battery.
every_variant = pytest.mark.parametrize("name", [*MECHANISMS, "hr:blocks=2", "olh:g=3"])
every_size = pytest.mark.parametrize("domain_size", SIZES)


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def make(variant: str, *, epsilon: object, domain_size: object) -> Mechanism:
    name, _, options = variant.partition(":")
    return make_mechanism(name, epsilon=epsilon, domain_size=domain_size, **parse_options(options))  # type: ignore[arg-type]


def subclasses(root: type) -> set[type]:
    found = set(root.__subclasses__())
    return found.union(*(subclasses(child) for child in found)) if found else found


def test_table_holds_every_mechanism_of_the_package() -> None:
    for module in pkgutil.walk_packages(ldpcore.mechanisms.__path__, "ldpcore.mechanisms."):
        importlib.import_module(module.name)
    concrete = {
        entry
        for entry in subclasses(Mechanism)
        if not inspect.isabstract(entry) and entry.__module__.startswith("ldpcore.")
    }
    # A frozen dataclass with slots is made twice; the first, unused one has no slots.
    concrete = {entry for entry in concrete if "__slots__" in vars(entry)}
    assert concrete == set(MECHANISMS.values())


def test_table_is_read_only() -> None:
    with pytest.raises(TypeError):
        MECHANISMS["grr"] = MECHANISMS["oue"]  # type: ignore[index]


@every_name
def test_class_describes_itself(name: str) -> None:
    entry = MECHANISMS[name]
    assert entry.name == name
    for text in (entry.label, entry.summary, entry.reference, entry.__doc__):
        assert text is not None
        assert len(text.strip()) > 5
    assert isinstance(entry.exact_joint_sampler, bool)
    assert dataclasses.is_dataclass(entry)


def test_import_does_not_load_the_compiler() -> None:
    code = (
        "import sys, numpy, ldpcore.mechanisms as m, ldpcore.estimate as e\n"
        "o = m.make_mechanism('oue', epsilon=2, domain_size=50)\n"
        "c = o.sample_counts([10] * 50, rng=numpy.random.default_rng(1))\n"
        "e.estimate_counts(o, c, n=500)\n"
        "sys.exit('numba' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@every_variant
@every_size
def test_privatize_is_perturb_after_encode(name: str, domain_size: int) -> None:
    mechanism = make(name, epsilon=1.5, domain_size=domain_size)
    values = rng(3).integers(0, domain_size, 1000)
    stream = rng(5)
    two_steps = mechanism.perturb(mechanism.encode(values, rng=stream), rng=stream)
    reports = mechanism.privatize(values, rng=rng(5))
    assert len(reports) == 1000
    assert reports.dtype == two_steps.dtype
    assert np.array_equal(reports, two_steps)


@every_variant
def test_a_value_or_its_neighbours_do_not_change_another_report(name: str) -> None:
    mechanism = make(name, epsilon=1.5, domain_size=40)
    values = rng(3).integers(0, 40, 30)
    reports = mechanism.privatize(values, rng=rng(5))
    longer = mechanism.privatize(np.append(values, values), rng=rng(5))
    assert np.array_equal(longer[:30], reports)


@every_variant
def test_threads_do_not_change_the_result(name: str) -> None:
    mechanism = make(name, epsilon=1.5, domain_size=70)
    values = rng(3).integers(0, 70, 2 * BLOCK_DEVICES + 5)
    alone = mechanism.collect(values, rng=rng(9))
    for threads in (2, 3):
        assert np.array_equal(alone, mechanism.collect(values, rng=rng(9), threads=threads))
        together = mechanism.privatize(values, rng=rng(9), threads=threads)
        assert np.array_equal(together, mechanism.privatize(values, rng=rng(9)))
    assert np.array_equal(alone, mechanism.aggregate(together))


@every_variant
@every_size
def test_collect_counts_the_reports_that_privatize_makes(name: str, domain_size: int) -> None:
    mechanism = make(name, epsilon=0.7, domain_size=domain_size)
    values = rng(3).integers(0, domain_size, 777)
    counts = mechanism.collect(values, rng=rng(4))
    assert counts.shape == mechanism.counts_shape
    assert counts.dtype == mechanism.counts_dtype
    assert np.array_equal(counts, mechanism.aggregate(mechanism.privatize(values, rng=rng(4))))


@every_variant
def test_aggregates_add_up_across_batches(name: str) -> None:
    mechanism = make(name, epsilon=2.0, domain_size=33)
    reports = mechanism.privatize(rng(3).integers(0, 33, 500), rng=rng(4))
    parts = mechanism.aggregate(reports[:123]) + mechanism.aggregate(reports[123:])
    assert np.array_equal(parts, mechanism.aggregate(reports))


@every_variant
@pytest.mark.parametrize("dtype", ["u1", "i2", "u4", "i8", "u8"])
def test_values_of_any_integer_type_are_the_same(name: str, dtype: str) -> None:
    mechanism = make(name, epsilon=2.0, domain_size=100)
    values = rng(3).integers(0, 100, 50)
    frozen = values.astype(dtype)
    frozen.setflags(write=False)
    counts = mechanism.collect(values, rng=rng(1))
    assert np.array_equal(counts, mechanism.collect(frozen, rng=rng(1)))


@every_variant
def test_no_devices_give_no_counts(name: str) -> None:
    mechanism = make(name, epsilon=2.0, domain_size=10)
    reports = mechanism.privatize([], rng=rng())
    assert len(reports) == 0
    counts = mechanism.aggregate(reports)
    assert counts.shape == mechanism.counts_shape
    assert not counts.any()
    assert not mechanism.collect([], rng=rng()).any()
    assert not mechanism.sample_counts(np.zeros(10, int), rng=rng()).any()
    assert np.array_equal(mechanism.estimate(counts, n=0), np.zeros(10))
    assert np.array_equal(mechanism.variance(np.zeros(10), n=0), np.zeros(10))


@every_variant
def test_values_outside_the_domain_are_refused(name: str) -> None:
    mechanism = make(name, epsilon=2.0, domain_size=10)
    for wrong, found in (([3, 10], "10"), ([-1, 3], "-1"), ([0.5], "float64"), ([[1]], "axis")):
        for method in (mechanism.encode, mechanism.privatize, mechanism.collect):
            with pytest.raises(ParameterError, match="values") as caught:
                method(wrong, rng=rng())
            assert found in str(caught.value)
            assert caught.value.parameter == "values"


@every_variant
def test_reports_of_another_shape_or_type_are_refused(name: str) -> None:
    mechanism = make(name, epsilon=2.0, domain_size=10)
    reports = mechanism.privatize([1, 2, 3], rng=rng())
    wider = make(name, epsilon=2.0, domain_size=10_000)
    wrong = [reports.astype(object), reports[..., None], np.zeros((3, 7)), np.array(5)]
    if wider.privatize([9_999], rng=rng()).shape != reports[:1].shape:
        wrong.append(wider.privatize([9_999], rng=rng()))
    for array in wrong:
        with pytest.raises(ParameterError, match=f"reports of {mechanism.name} over 10 cells") as caught:
            mechanism.aggregate(array)
        assert caught.value.parameter == "reports"


@every_variant
@every_size
def test_sampled_counts_look_like_collected_ones(name: str, domain_size: int) -> None:
    mechanism = make(name, epsilon=1.0, domain_size=domain_size)
    counts = mechanism.sample_counts(rng(2).integers(0, 9, domain_size), rng=rng(3))
    assert counts.shape == mechanism.counts_shape
    assert counts.dtype == mechanism.counts_dtype
    again = mechanism.sample_counts(rng(2).integers(0, 9, domain_size), rng=rng(3))
    assert np.array_equal(counts, again)


@every_variant
def test_true_counts_are_checked(name: str) -> None:
    mechanism = make(name, epsilon=1.0, domain_size=5)
    for wrong in ([1, 2, 3], [1, 2, 3, 4, -1], [1.5] * 5, [[1] * 5]):
        with pytest.raises(ParameterError, match="true_counts"):
            mechanism.sample_counts(wrong, rng=rng())


@every_variant
def test_estimate_takes_many_redraws_at_once(name: str) -> None:
    mechanism = make(name, epsilon=1.0, domain_size=6)
    draws = np.stack([mechanism.sample_counts([5, 0, 3, 9, 1, 2], rng=rng(seed)) for seed in range(4)])
    together = mechanism.estimate(draws, n=20)
    assert together.shape == (4, 6)
    for draw, estimate in zip(draws, together, strict=True):
        assert estimate == pytest.approx(mechanism.estimate(draw, n=20), rel=1e-12, abs=1e-12)
    with pytest.raises(ParameterError, match="counts of"):
        mechanism.estimate(draws[..., :-1], n=20)
    with pytest.raises(ParameterError, match="n must be"):
        mechanism.estimate(draws[0], n=-1)


@every_variant
@pytest.mark.parametrize("epsilon", [0.01, 0.5, 2.0, 8.0, 20.0])
def test_pure_formulas_hold(name: str, epsilon: float) -> None:
    mechanism = make(name, epsilon=epsilon, domain_size=50)
    p, q = mechanism.p, mechanism.q
    assert (p is None) == (q is None) == (not mechanism.pure)
    if p is None or q is None:
        return
    assert isinstance(p, Fraction)
    assert isinstance(q, Fraction)
    assert 0 < q < p < 1
    # From the law of a single report: a supported cell scores (1 - q)/(p - q), any other -q/(p - q).
    own = p * (1 - q) / (p - q) - (1 - p) * q / (p - q)
    own_square = p * ((1 - q) / (p - q)) ** 2 + (1 - p) * (q / (p - q)) ** 2
    other = q * (1 - q) / (p - q) - (1 - q) * q / (p - q)
    other_square = q * ((1 - q) / (p - q)) ** 2 + (1 - q) * (q / (p - q)) ** 2
    assert own == 1
    assert other == 0
    counts = np.full(50, 7.0)
    expected = float(7 * (own_square - 1) + 343 * other_square)
    assert mechanism.variance(counts, n=350) == pytest.approx(expected, rel=1e-9)
    assert mechanism.variance_empty == pytest.approx(float(other_square), rel=1e-12)
    assert mechanism.variance_slope == pytest.approx(
        float(own_square - 1 - other_square), rel=1e-9, abs=1e-12
    )
    support = np.arange(50) * 7
    expected_estimate = [float((int(c) - 350 * q) / (p - q)) for c in support]
    assert mechanism.estimate(support, n=350) == pytest.approx(expected_estimate, rel=1e-9, abs=1e-9)


@every_variant
def test_variance_terms_agree_with_the_variance(name: str) -> None:
    mechanism = make(name, epsilon=1.2, domain_size=12)
    true_counts = rng(1).integers(0, 50, 12)
    n = int(true_counts.sum())
    counts = mechanism.sample_counts(true_counts, rng=rng(2))
    base, slope = mechanism.variance_terms(counts, n=n)
    assert base.shape == slope.shape == (12,)
    if mechanism.variance_empty is None:
        # Other cells are plugged in by their sums, so only the mean can be compared; see statistical tests.
        assert (base > 0).all()
        return
    plug_in = mechanism.estimate(counts, n=n)
    assert base + plug_in * slope == pytest.approx(mechanism.variance(plug_in, n=n), rel=1e-9)


@every_variant
def test_objects_are_frozen_and_equal_by_their_settings(name: str) -> None:
    mechanism = make(name, epsilon=2, domain_size=10)
    with pytest.raises(dataclasses.FrozenInstanceError):
        mechanism.epsilon = 3.0  # type: ignore[misc]
    assert mechanism == make(name, epsilon=2.0, domain_size=np.int64(10))
    assert len({mechanism, make(name, epsilon=2.0, domain_size=10)}) == 1
    assert mechanism != make(name, epsilon=2.0, domain_size=11)


@every_variant
def test_parameters_are_json_and_rebuild_the_mechanism(name: str) -> None:
    mechanism = make(name, epsilon=2, domain_size=10)
    parameters = json.loads(json.dumps(mechanism.parameters()))
    assert parameters["mechanism"] == mechanism.name
    for key, probability in (("p", mechanism.p), ("q", mechanism.q)):
        assert parameters[key] is None or Fraction(parameters[key]) == probability
    options = {
        key: value
        for key, value in parameters.items()
        if key not in {"mechanism", "epsilon", "domain_size", "ratio", "p", "q"}
    }
    rebuilt = make_mechanism(
        mechanism.name, epsilon=parameters["epsilon"], domain_size=parameters["domain_size"], **options
    )
    assert rebuilt == mechanism


@every_variant
@pytest.mark.parametrize(
    "epsilon", [0, -1, -0.5, 20.001, math.inf, -math.inf, math.nan, "2", None, True, 1e-300, [1.0]]
)
def test_epsilon_outside_its_range_is_refused(name: str, epsilon: object) -> None:
    with pytest.raises(ParameterError, match="epsilon") as caught:
        make(name, epsilon=epsilon, domain_size=10)
    assert caught.value.parameter == "epsilon"
    assert "try" in str(caught.value)


@every_variant
@pytest.mark.parametrize("domain_size", [1, 0, -5, 2.0, "9", None, True, 2**31])
def test_domain_size_outside_its_range_is_refused(name: str, domain_size: object) -> None:
    with pytest.raises(ParameterError, match="domain_size must be an integer of at least 2") as caught:
        make(name, epsilon=1.0, domain_size=domain_size)
    assert caught.value.parameter == "domain_size"


def test_the_sentence_names_condition_value_and_remedy() -> None:
    with pytest.raises(ParameterError) as caught:
        make_mechanism("grr", epsilon=-1, domain_size=10)
    assert str(caught.value) == "epsilon must be greater than 0 and at most 20, got -1; try 2"


def test_unknown_mechanism_names_those_that_exist() -> None:
    with pytest.raises(ParameterError) as caught:
        make_mechanism("warner", epsilon=1.0, domain_size=10)
    assert caught.value.parameter == "mechanism"
    for name in MECHANISMS:
        assert name in str(caught.value)


@every_name
def test_unknown_option_names_those_allowed(name: str) -> None:
    with pytest.raises(ParameterError, match="has no option 'colour'") as caught:
        make_mechanism(name, epsilon=1.0, domain_size=10, colour=3)
    assert caught.value.parameter == "options"
    for option in ldpcore.mechanisms.option_names(MECHANISMS[name]):
        assert option in str(caught.value)
    with pytest.raises(ParameterError):
        make_mechanism(name, epsilon=1.0, domain_size=10, ratio=3)


@pytest.mark.parametrize("buckets", [1, 0, 2.5, "4", True])
def test_too_few_buckets_are_refused_with_a_value_that_works(buckets: object) -> None:
    with pytest.raises(ParameterError, match=r"g must be an integer of at least 2.*try 8") as caught:
        make_mechanism("olh", epsilon=2.0, domain_size=10, g=buckets)
    assert caught.value.parameter == "g"
    assert make_mechanism("olh", epsilon=2.0, domain_size=10, g=8).parameters()["g"] == 8


def test_options_are_read_from_text() -> None:
    assert parse_options("") == {}
    assert parse_options("k=5, g=8") == {"k": 5, "g": 8}
    assert parse_options("instantaneous=(0.5,0.75),seeds=none,a=true,b=word") == {
        "instantaneous": (0.5, 0.75),
        "seeds": None,
        "a": True,
        "b": "word",
    }
    for wrong in ("k", "k=", "=3", "k=1,k=2"):
        with pytest.raises(ParameterError) as caught:
            parse_options(wrong)
        assert caught.value.parameter == "options"


def test_padding_bits_and_impossible_reports_are_refused() -> None:
    unary = make_mechanism("oue", epsilon=2.0, domain_size=10)
    with pytest.raises(ParameterError, match="padding"):
        unary.aggregate(np.array([[0, 4]], np.uint8))
    unary.aggregate(np.array([[255, 3]], np.uint8))
    direct = make_mechanism("grr", epsilon=2.0, domain_size=10)
    with pytest.raises(ParameterError, match="cell outside the domain"):
        direct.aggregate(np.array([10], np.uint32))
    hashed = make_mechanism("olh", epsilon=2.0, domain_size=10)
    report = hashed.privatize([3], rng=rng())
    for field, value in (("a0", 2_642_239), ("a2", 2**32 - 1), ("bucket", 8)):
        wrong = report.copy()
        wrong[field] = value
        with pytest.raises(ParameterError, match=r"seed outside|bucket outside"):
            hashed.aggregate(wrong)


def test_only_one_bit_may_be_encoded() -> None:
    mechanism = make_mechanism("oue", epsilon=2.0, domain_size=16)
    for encoded in ([[0, 0]], [[3, 0]], [[1, 1]]):
        with pytest.raises(ParameterError, match="exactly one bit"):
            mechanism.perturb(np.array(encoded, np.uint8), rng=rng())
