"""The Mechanisms page in words: its answer, its four figures, and each randomiser's formulas."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from ldpcore.advice import AS_GOOD, low_label, more_devices, upload_bytes
from ldpcore.comparison import Comparison, Entry
from ldpcore.mechanisms import Mechanism
from ldpcore.plain_numbers import chance, plain, plain_percent
from ui.headline import Figure
from ui.number_words import count_of, percent, round_significant, thousands

FORMULAS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "grr": (
            "own cell: p = R / (R + d − 1)",
            "any other cell: q = 1 / (R + d − 1)",
            "error² = n (R + d − 2) / (R − 1)² + c (d − 2) / (R − 1)",
        ),
        "sue": (
            "own bit set: p = √R / (√R + 1)",
            "any other bit set: q = 1 / (√R + 1)",
            "error² = n √R / (√R − 1)²",
        ),
        "oue": (
            "own bit set: p = 1/2",
            "any other bit set: q = 1 / (R + 1)",
            "error² = n 4R / (R − 1)² + c",
        ),
        "she": (
            "own entry 1, others 0, each plus Laplace noise of scale 2/ε",
            "estimate = sum of the entries",
            "error² = 8 n / ε²",
        ),
        "the": (
            "own bit set: p = 1 − e^(−ε (1 − θ)/2) / 2",
            "any other bit set: q = e^(−εθ/2) / 2",
            "really spent: ln [p (1 − q) / ((1 − p) q)], below ε",
        ),
        "blh": (
            "own bucket of 2 kept: p = R / (R + 1)",
            "any other cell in it: q = 1/2",
            "error² = n ((R + 1) / (R − 1))² − c",
        ),
        "olh": (
            "own bucket of g kept: p = R / (R + g − 1), g about R + 1",
            "any other cell in it: q = 1/g",
            "error² = n (R + g − 1)² / ((R − 1)² (g − 1)) + c (1 − p − q) / (p − q)",
        ),
        "hrr": (
            "sign kept: p = R / (R + 1)",
            "any other cell has that sign: q = 1/2",
            "error² = n ((R + 1) / (R − 1))² − c",
        ),
        "hr": (
            "column with a plus in the own row: weight R, any other: weight 1",
            "one block: p = R / (R + 1), q = 1/2",
            "one block: error² = n ((R + 1) / (R − 1))² − c",
        ),
        "ss": (
            "own cell in the set of k: p = k R / (k R + d − k), k about d / (R + 1)",
            "any other cell in it: q = (k − p) / (d − 1)",
            "error² = n q (1 − q) / (p − q)² + c (1 − p − q) / (p − q)",
        ),
    }
)
"""R = e^ε, d cells, n devices, c of them in the cell; error² is the variance of the cell's estimate."""


def answer(comparison: Comparison) -> str:
    """Return the page's answer: which randomiser has the smallest error, and what it costs against the chosen one."""
    best, own = comparison.best, comparison.own
    opening = (
        f"At ε = {plain(comparison.epsilon)} on {count_of(comparison.cells, 'cell')}, {low_label(best)} has the smallest error: "
        f"{spread(best.error_typical)} {comparison.noun} in a typical cell."
    )
    if own is best:
        return f"{opening} It is the one chosen."
    ratio = comparison.devices_ratio(own, best)
    if own.error_typical <= AS_GOOD * best.error_typical:
        accuracy = f"is as accurate to {percent(AS_GOOD - 1, 0)}"
    else:
        accuracy = f"needs {more_devices(ratio, comparison.noun)} for the same"
    return f"{opening} The one chosen, {low_label(own)}, {accuracy}; a report takes {_instead(best, own)}."


def _instead(best: Entry, own: Entry) -> str:
    here, there = upload_bytes(own), upload_bytes(best)
    if here == there:
        return f"{count_of(here, 'byte')} with either"
    return f"{count_of(here, 'byte')} instead of {thousands(there)}"


def four_figures(comparison: Comparison) -> tuple[Figure, ...]:
    """Return what the chosen randomiser costs: error, devices, bytes, and what a report gives away."""
    own, best = comparison.own, comparison.best
    ratio = comparison.devices_ratio(own, best)
    shortest = min(upload_bytes(entry) for entry in comparison.entries.values())
    guess = own.guess.success
    return (
        Figure(
            f"Chosen: typical error, {comparison.noun}",
            spread(own.error_typical),
            f"least possible {spread(comparison.limit)}",
            "Root of the mean variance over all cells: one standard error.",
        ),
        Figure(
            f"{comparison.noun.capitalize()} to match the best",
            f"× {ratio:.2f}" if ratio < 100 else f"× {thousands(ratio)}",
            f"best: {best.label}",
            f"Accuracy grows with the root of the number of {comparison.noun}.",
        ),
        Figure(
            "A report takes",
            count_of(upload_bytes(own), "byte"),
            f"shortest here {count_of(shortest, 'byte')}",
            "As it is sent, without the header that all have alike.",
        ),
        Figure(
            "A report gives its cell away",
            "not known" if guess is None else share(guess),
            f"blind guess {share(1 / comparison.cells)}",
            "How often the best guess from one report is right, every cell equally likely before.",
        ),
    )


def spread(error: float) -> str:
    """Write an error that is known exactly, with three significant digits.

    >>> spread(2678.14), spread(3.14159)
    ('±2,680', '±3.14')
    """
    return (
        f"±{thousands(round_significant(error, 3))}"
        if error >= 100
        else f"±{plain(error) if error >= 0.001 else 'less than 0.001'}"
    )


def share(value: float) -> str:
    """Write a probability with two significant digits at any size.

    >>> ascii(share(0.0117)).replace(chr(92), "/")
    "'1.2/u202f%'"
    """
    if value >= 0.0995:
        return percent(value, 0)
    return plain_percent(value)


def parameters_line(mechanism: Mechanism) -> str:
    """Return the exact setting of a randomiser in numbers: options, p, q, V0 and V1."""
    parameters = mechanism.parameters()
    fixed = {"mechanism", "epsilon", "domain_size", "ratio", "p", "q"}
    parts = [f"{name} = {_short(value)}" for name, value in parameters.items() if name not in fixed]
    if mechanism.p is not None and mechanism.q is not None:
        parts += [f"p = {chance(float(mechanism.p), 4)}", f"q = {chance(float(mechanism.q), 4)}"]
    if mechanism.variance_empty is not None and mechanism.variance_slope is not None:
        parts.append(f"error² = {plain(mechanism.variance_empty, 4)} n {_signed(mechanism.variance_slope)} c")
    return ", ".join(parts)


def _short(value: object) -> str:
    return plain(value, 4) if isinstance(value, float) else str(value)


def _signed(slope: float) -> str:
    return f"− {plain(-slope, 4)}" if slope < 0 else f"+ {plain(slope, 4)}"
