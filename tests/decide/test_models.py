"""Central and shuffle models: closed forms, monotonicity, inverses and refusals."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ldpcore.errors import ParameterError
from ldpcore.mechanisms import make_mechanism
from ldpcore.privacy.central import (
    REPLACE_ONE,
    central_counts,
    central_smallest_count,
    geometric_variance,
    local_to_central,
)
from ldpcore.privacy.shuffle import BOUNDS, amplify, clone_delta, closed_form, smallest_batch


def test_the_local_error_is_the_central_one_times_the_root_of_twice_the_crowd() -> None:
    # n 4R/(R-1)^2 over 2R/(R-1)^2, exact at sensitivity 1.
    for epsilon in (0.1, 1.0, 4.0):
        mechanism = make_mechanism("oue", epsilon=epsilon, domain_size=10)
        assert local_to_central(mechanism, n=5_000, sensitivity=1) == pytest.approx(math.sqrt(10_000))
    assert REPLACE_ONE == 2
    assert geometric_variance(2.0) == pytest.approx(geometric_variance(1.0, sensitivity=1))


def test_central_counts_have_the_stated_mean_and_variance() -> None:
    """Failure rate 1e-6: 4.9 standard errors of the mean, and of the variance with the noise's own kurtosis."""
    draws = 200_000
    counts = central_counts(np.full(draws, 7), epsilon=1.0, rng=np.random.default_rng(1))
    variance = geometric_variance(1.0)
    assert abs(counts.mean() - 7) < 4.9 * math.sqrt(variance / draws)
    fourth = np.mean((counts - 7.0) ** 4)
    assert abs(counts.var() - variance) < 4.9 * math.sqrt((fourth - variance**2) / draws)


def test_the_smallest_central_count_does_not_depend_on_the_crowd() -> None:
    assert central_smallest_count(2.0, relative_error=0.1) == pytest.approx(13.57, abs=0.01)
    with pytest.raises(ParameterError):
        central_smallest_count(2.0, relative_error=0)


@pytest.mark.parametrize("bound", ["clone", "stronger"])
def test_more_reports_hide_better_and_never_worse_than_the_label(bound: str) -> None:
    found = [
        amplify(2.0, devices=devices, delta=1e-6, bound=bound).epsilon_central
        for devices in (1, 10, 100, 1_000, 10_000, 100_000, 10**7, 10**10)
    ]
    assert found == sorted(found, reverse=True)
    assert found[0] <= 2.0
    assert found[-1] < 0.001


def test_the_guarantee_holds_at_what_is_returned() -> None:
    for local, devices in ((0.5, 300), (2.0, 50_000), (5.0, 10**6)):
        central = amplify(local, devices=devices, delta=1e-6).epsilon_central
        share = math.exp(-local)
        assert clone_delta(central, epsilon=local, devices=devices, clone_share=share) <= 1e-6
        assert clone_delta(central * 0.9999, epsilon=local, devices=devices, clone_share=share) > 1e-6


def test_runs_of_clone_numbers_never_flatter(monkeypatch) -> None:
    settings = {"epsilon": 1.0, "devices": 200_000, "clone_share": math.exp(-1)}
    exact = clone_delta(0.01, **settings)
    monkeypatch.setattr("ldpcore.privacy.shuffle._MOST_TERMS", 10)
    coarse = clone_delta(0.01, **settings)
    assert exact < coarse < exact * 1.001


@pytest.mark.parametrize("bound", list(BOUNDS))
def test_the_smallest_batch_is_the_smallest(bound: str) -> None:
    batch = smallest_batch(2.0, target=0.3, delta=1e-6, bound=bound)
    assert amplify(2.0, devices=batch, delta=1e-6, bound=bound).epsilon_central <= 0.3 * (1 + 2e-8)
    assert amplify(2.0, devices=batch - 1, delta=1e-6, bound=bound).epsilon_central > 0.3 * (1 - 2e-8)
    assert smallest_batch(0.2, target=0.3, delta=1e-6, bound=bound) == 1


def test_the_closed_form_is_refused_where_it_does_not_hold() -> None:
    with pytest.raises(ParameterError, match="epsilon up to"):
        closed_form(9.0, devices=10_000, delta=1e-6)
    with pytest.raises(ParameterError, match="no epsilon at all"):
        amplify(1.0, devices=10, delta=1e-6, bound="closed_form")


@pytest.mark.parametrize(
    "settings",
    [
        {"epsilon": 0.0},
        {"epsilon": math.nan},
        {"devices": 0},
        {"delta": 0.0},
        {"delta": 1.0},
        {"bound": "hope"},
    ],
)
def test_bad_settings_are_refused(settings) -> None:
    good = {"epsilon": 1.0, "devices": 1_000, "delta": 1e-6}
    with pytest.raises(ParameterError):
        amplify(**{**good, **settings})
    with pytest.raises(ParameterError):
        smallest_batch(1.0, target=0.0, delta=1e-6)
    with pytest.raises(ParameterError):
        smallest_batch(20.0, target=1e-3, delta=1e-6)
