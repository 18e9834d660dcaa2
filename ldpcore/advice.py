"""Which randomiser to take, and why: a choice under limits, with its reasons as sentences.

The choice is made from the comparison's own numbers. Accuracy comes first; randomisers whose typical error is
within one per cent of the best that fits count as equally accurate, since no reader of a map could tell
them apart, and among them the shortest report or the quickest server decides.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from ldpcore.comparison import Comparison, Entry
from ldpcore.errors import ParameterError
from ldpcore.plain_numbers import plain, plain_percent
from ldpcore.timing import Times

AS_GOOD: Final = 1.01
"""Ratio of typical errors up to which two randomisers count as equally accurate."""

NO_DIFFERENCE: Final = 1e-4
"""Relative difference of errors below which it is none to any reader."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What a reader can spend.

    Parameters
    ----------
    largest_report
        Bytes of one report at most, at least 1; None without limit.
    server_seconds
        Time for adding up all reports on one core at most, above 0; None without limit.
    quick_server
        Whether among equally accurate randomisers the quickest server decides rather than the shortest report.

    Raises
    ------
    ParameterError
        If a limit is not positive.
    """

    largest_report: int | None = None
    server_seconds: float | None = None
    quick_server: bool = False

    def __post_init__(self) -> None:
        if self.largest_report is not None and self.largest_report < 1:
            raise ParameterError(
                "largest_report",
                f"The largest report must have at least 1 byte, got {self.largest_report}; try 16.",
            )
        if self.server_seconds is not None and not self.server_seconds > 0:
            raise ParameterError(
                "server_seconds",
                f"The time of the server must be greater than 0, got {self.server_seconds:g}; try 60.",
            )

    @property
    def needs_times(self) -> bool:
        """Whether measured times are needed to follow the wishes."""
        return self.server_seconds is not None or self.quick_server


@dataclass(frozen=True, slots=True)
class Advice:
    """The randomiser to take, or None where none fits, the verdict and its reasons, as sentences."""

    entry: Entry | None
    verdict: str
    reasons: tuple[str, ...]


def upload_bytes(entry: Entry) -> int:
    """Return the bytes of one report as it is sent, without the header that all have alike."""
    return entry.mechanism.payload_bytes


def advise(comparison: Comparison, wishes: Wishes, times: Mapping[str, Times] | None = None) -> Advice:
    """Choose a randomiser.

    Parameters
    ----------
    comparison
        All randomisers in the setting.
    wishes
        What the reader can spend.
    times
        Measured times by name; needed where `wishes.needs_times`. A randomiser without a time then does
        not fit.
    """
    fitting = [
        entry for entry in comparison.ranked() if _fits(entry, wishes, times or {}, comparison.devices)
    ]
    if not fitting:
        cheapest = min(comparison.entries.values(), key=upload_bytes)
        return Advice(
            None,
            f"No randomiser fits these limits; the shortest report is that of {low_label(cheapest)}, "
            f"{_bytes(upload_bytes(cheapest))}.",
            (),
        )
    best = fitting[0]
    equals = [entry for entry in fitting if entry.error_typical <= AS_GOOD * best.error_typical]
    if wishes.quick_server and times:
        taken = min(equals, key=lambda entry: times[entry.name].server_s)
        because = "and its server is the quickest of those as accurate"
    else:
        taken = min(equals, key=upload_bytes)
        because = "and its report is the shortest of those as accurate"
    verdict = (
        f"Take {low_label(taken)}: a typical cell is off by ±{_number(taken.error_typical)} {comparison.noun} with "
        f"{_bytes(upload_bytes(taken))} a report"
    )
    if len(equals) > 1:
        verdict += f", {because}"
    return Advice(taken, verdict + ".", tuple(_reasons(comparison, taken)))


def _fits(entry: Entry, wishes: Wishes, times: Mapping[str, Times], devices: int) -> bool:
    if wishes.largest_report is not None and upload_bytes(entry) > wishes.largest_report:
        return False
    if not wishes.needs_times:
        return True
    measured = times.get(entry.name)
    if measured is None:
        return False
    return wishes.server_seconds is None or measured.server_s * devices <= wishes.server_seconds


def _reasons(comparison: Comparison, taken: Entry) -> list[str]:
    best = comparison.best
    reasons = []
    if taken is not best:
        reasons.append(
            f"{best.label} ({best.name}) has the smallest error of all, ±{_number(best.error_typical)} {comparison.noun} with "
            f"{_bytes(upload_bytes(best))} a report; to match it {taken.name} needs "
            f"{more_devices(comparison.devices_ratio(taken, best), comparison.noun)}."
        )
    for rule in RULES:
        sentence = rule(comparison)
        if sentence is not None:
            reasons.append(sentence)
    return reasons


# -- rules: each says one fact of the literature with this setting's own numbers --------------------


def _few_cells(comparison: Comparison) -> str | None:
    if not comparison.entries.keys() >= {"grr", "oue"}:
        return None
    most = 3 * math.exp(comparison.epsilon) + 2
    better = comparison.cells <= most
    return (
        f"Sending one cell (grr) beats sending a bit for each (oue) only up to 3e^ε + 2 = {_number(most)} cells; "
        f"here there are {comparison.cells:,}, so it {'does' if better else 'does not'}."
    )


def _subset_size(comparison: Comparison) -> str | None:
    if not comparison.entries.keys() >= {"ss", "oue"}:
        return None
    subset, unary = comparison.entries["ss"], comparison.entries["oue"]
    gain = 1 - subset.error_typical / unary.error_typical if unary.error_typical > 0 else 0.0
    if gain < NO_DIFFERENCE:
        here = "its error is practically the same"
    elif gain < 0.99:
        here = f"its error is {plain_percent(gain)} smaller"
    elif subset.error_typical > 0:
        here = f"the error of oue is {plain(unary.error_typical / subset.error_typical)} times as large"
    else:
        here = "it has practically no error"
    return (
        f"Subset selection (ss) is never less accurate than oue; here {here}, "
        "and the difference vanishes as cells grow in number."
    )


def _hashing(comparison: Comparison) -> str | None:
    if not comparison.entries.keys() >= {"olh", "oue"}:
        return None
    hashing, unary = comparison.entries["olh"], comparison.entries["oue"]
    ratio = hashing.error_typical / unary.error_typical if unary.error_typical > 0 else 1.0
    if abs(ratio - 1) < NO_DIFFERENCE:
        error = "practically the error of oue"
    elif abs(ratio - 1) < 0.5:
        error = f"the error of oue to {plain_percent(abs(ratio - 1))}"
    else:
        error = f"{plain(ratio)} times the error of oue"
    shorter = upload_bytes(hashing) < upload_bytes(unary)
    return (
        f"Local hashing (olh) has {error} and sends "
        f"{_bytes(upload_bytes(hashing))} instead of {_bytes(upload_bytes(unary))}"
        f"{'' if shorter else ', no gain on so few cells'}; its server pays, hashing all "
        f"{comparison.cells:,} cells for every report."
    )


def _one_bit(comparison: Comparison) -> str | None:
    if not comparison.entries.keys() >= {"blh", "hrr", "oue"}:
        return None
    ratio = math.exp(comparison.epsilon)
    worse = (ratio + 1) ** 2 / (4 * ratio)
    return (
        f"One randomised bit (blh, hrr, hr with one block) needs (e^ε + 1)² / 4e^ε = {plain(worse)} times the "
        f"{comparison.noun} of oue in a nearly empty cell: hardly more at small ε, many more at large ε."
    )


def _busy_cells(comparison: Comparison) -> str | None:
    if not comparison.entries.keys() >= {"sue", "oue"}:
        return None
    symmetric, unary = comparison.entries["sue"].mechanism, comparison.entries["oue"].mechanism
    if symmetric.variance_empty is None or unary.variance_empty is None:
        return None
    share = symmetric.variance_empty - unary.variance_empty
    held = comparison.busiest / comparison.devices if comparison.devices else 0.0
    if share >= 1:
        return "Flipping every bit alike (sue) is less accurate than oue in every cell at this ε."
    return (
        f"Flipping every bit alike (sue) is better than oue only in cells with more than {plain_percent(share)} of all "
        f"{comparison.noun}; the busiest here has {plain_percent(held)}."
    )


def _threshold(comparison: Comparison) -> str | None:
    if "the" not in comparison.entries:
        return None
    real = comparison.entries["the"].mechanism.epsilon_effective
    return (
        f"A threshold on noisy numbers (the) really spends ε = {plain(real, 4)} of the {plain(comparison.epsilon)} on its label, "
        "so it buys less accuracy than was paid for; it is here for comparison."
    )


RULES: Final[tuple[Callable[[Comparison], str | None], ...]] = (
    _few_cells,
    _subset_size,
    _hashing,
    _one_bit,
    _busy_cells,
    _threshold,
)
"""What the adviser knows; a rule about a randomiser that isn't there keeps silent."""


def low_label(entry: Entry) -> str:
    """Return a label as it stands within a sentence, with the short name."""
    label = entry.label
    # A person's name keeps its capital.
    start = label if label.startswith("Hadamard") else label[0].lower() + label[1:]
    return f"{start} ({entry.name})"


def more_devices(ratio: float, noun: str = "devices") -> str:
    """Write how many more devices a ratio of variances, at least 1, asks for."""
    if ratio < 1.001:
        return f"practically the same number of {noun}"
    if ratio < 2:
        return f"{plain_percent(ratio - 1)} more {noun}"
    return f"{plain(ratio)} times as many {noun}"


def _number(value: float) -> str:
    return plain(value) if value >= 0.001 or value == 0 else "less than 0.001"


def _bytes(number: int) -> str:
    return f"{number:,} byte" if number == 1 else f"{number:,} bytes"
