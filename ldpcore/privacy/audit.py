"""Attack a client: a lower bound on the epsilon that its reports really have.

Two worlds differ in one device's cell. The client reports many times in each; an event that is k times as
likely in one world as in the other proves an epsilon of at least ln k. Frequencies become proofs by the
bounds of Clopper and Pearson (1934) on both of them, with the error probability shared among everything
that was looked at. An honest client passes; a bound above its epsilon is a bug, or one chance in a million.

Events come from the mechanism (the best ones, whose ratio is the likelihood ratio itself) and from the
bytes: half of the reports are used to find the bit or byte that differs most between the worlds, the
other half to judge it. The second kind knows nothing of the mechanism, so it also finds leaks that nobody
thought of.

What an audit cannot do: prove an epsilon. With N reports a world no bound goes above about
ln(N P / ln(2 / alpha)), P the probability of the event, which is stated beside the result.

Source: H. Arcolezi, S. Gambs, *Revealing the True Cost of Locally Differentially Private Protocols: An
Auditing Perspective*, 2024; half for choosing and half for judging: Z. Ding, Y. Wang, G. Wang, D. Zhang, D.
Kifer, *Detecting Violations of Differential Privacy*, 2018.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
from scipy.special import betainccinv, betaincinv

from ldpcore.device.wire import make_client, payload_matrix
from ldpcore.errors import ParameterError
from ldpcore.mechanisms.base import Mechanism
from ldpcore.mechanisms.options import checked_integer
from ldpcore.shapes import BoolArray, ByteArray, FloatArray

FAILURE = 1e-6
"""Probability that an honest client is accused, after all corrections."""

_ANY_DOMAIN = "0" * 16


class PayloadSource(Protocol):
    """A device: what the audit needs of a client."""

    def payload(self, cell: int | None) -> bytes:
        """Randomise one cell."""


class Events(Protocol):
    """Tells which of (n, bytes) payloads fall into which event."""

    def __call__(self, payloads: ByteArray) -> Mapping[str, BoolArray]:
        """Return (n,) bool for every event, the same names for any payloads."""


class Finding(NamedTuple):
    """One event, how often it happened in each world, and the epsilon that this proves."""

    event: str
    hits_one: int
    hits_other: int
    trials: int
    epsilon_lower_bound: float


@dataclass(frozen=True, slots=True)
class Audit:
    """The outcome of an attack.

    Parameters
    ----------
    epsilon
        The epsilon on the label.
    epsilon_effective
        The epsilon that was put to the test.
    epsilon_lower_bound
        The greatest epsilon that any event proves, at the confidence 1 - failure.
    max_certifiable
        The greatest bound that so many trials could have given, had the likeliest event never happened in
        the other world.
    passed
        Whether the bound is at most the epsilon put to the test.
    trials
        Devices a world.
    findings
        Every event that was judged, the most telling first.
    """

    epsilon: float
    epsilon_effective: float
    epsilon_lower_bound: float
    max_certifiable: float
    passed: bool
    trials: int
    findings: tuple[Finding, ...]


def clopper_pearson(hits: npt.ArrayLike, trials: int, alpha: float) -> tuple[FloatArray, FloatArray]:
    """Return the exact two-sided confidence interval of a probability, alpha / 2 on each side.

    Parameters
    ----------
    hits
        How often the event happened, in [0, trials]; any shape.
    trials
        Number of trials, at least 1.
    alpha
        Probability of error.
    """
    found = np.asarray(hits, np.float64)
    missed = trials - found
    # The quantiles at the ends are 0 and 1, where the beta law has no second parameter.
    low = np.where(found > 0, betaincinv(np.maximum(found, 1), missed + 1, alpha / 2), 0.0)
    high = np.where(missed > 0, betainccinv(found + 1, np.maximum(missed, 1), alpha / 2), 1.0)
    return low, high


def epsilon_lower_bound(
    hits_one: npt.ArrayLike, hits_other: npt.ArrayLike, *, trials: int, alpha: float, delta: float = 0.0
) -> FloatArray:
    """Return the epsilon that an event proves: ln((low of one - delta) / high of the other), at least 0.

    Parameters
    ----------
    hits_one, hits_other
        How often the event happened in each world; broadcast.
    trials
        Trials in each world.
    alpha
        Probability of error of the two bounds together.
    delta
        For a claim of (epsilon, delta).
    """
    low = clopper_pearson(hits_one, trials, alpha)[0] - delta
    high = clopper_pearson(hits_other, trials, alpha)[1]
    return np.where(low > 0, np.maximum(np.log(np.maximum(low, 1e-300) / high), 0.0), 0.0)


def max_certifiable(hits: int, *, trials: int, alpha: float) -> float:
    """Return the bound that an event seen so often in one world gives if it never happens in the other."""
    return float(epsilon_lower_bound(hits, 0, trials=trials, alpha=alpha))


def audit_mechanism(
    mechanism: Mechanism,
    *,
    trials: int,
    new_device: Callable[[], PayloadSource] | None = None,
    reports: int = 1,
    cells: tuple[int, int] | None = None,
    failure: float = FAILURE,
) -> Audit:
    """Attack the on-device client of a mechanism, or another that claims to be it.

    Parameters
    ----------
    mechanism
        Says what reports mean and what epsilon is claimed.
    trials
        Devices in each of the two worlds, at least 10.
    new_device
        Makes a device; by default the real client, which remembers nothing.
    reports
        Reports that each device sends. The claim is then that all of them together have the epsilon of
        one, as those of a device that repeats a remembered answer.
    cells
        The two cells; by default the first and the last.
    failure
        Probability that an honest client is accused.

    Raises
    ------
    ParameterError
        If a number is out of range, or payloads of the device differ in size.
    """
    last = mechanism.domain_size - 1
    one, other = cells or (0, last)
    for cell in (one, other):
        checked_integer("cells", cell, minimum=0, maximum=last)
    if one == other:
        raise ParameterError("cells", f"the two cells must differ, got {one} twice")
    if new_device is None:
        client = make_client(mechanism, _ANY_DOMAIN)

        def new_device() -> PayloadSource:
            return client

    def events(payloads: ByteArray) -> Mapping[str, BoolArray]:
        unpacked = mechanism.unpack(payloads)
        found = {"malformed": ~unpacked.kept}
        for name, mask in mechanism.distinguishing_events(unpacked.reports, one, other).items():
            found[name] = np.zeros(len(payloads), bool)
            found[name][unpacked.kept] = mask
        return found

    worlds = [collect_world(new_device, cell, trials=trials, reports=reports) for cell in (one, other)]
    return judge(
        worlds[0],
        worlds[1],
        events=events,
        epsilon=mechanism.epsilon,
        epsilon_effective=mechanism.epsilon_effective,
        failure=failure,
    )


def collect_world(
    new_device: Callable[[], PayloadSource], cell: int, *, trials: int, reports: int = 1
) -> list[ByteArray]:
    """Let many devices report the same cell.

    Parameters
    ----------
    new_device
        Makes a device.
    cell
        What every device reports.
    trials
        Number of devices, at least 10.
    reports
        Reports of each device.

    Returns
    -------
    list of arrays
        One (trials, bytes) uint8 for the first reports, one for the second ones, ...

    Raises
    ------
    ParameterError
        If the payloads differ in size: then their size alone may tell cells apart.
    """
    trials = checked_integer("trials", trials, minimum=10, example=200_000)
    reports = checked_integer("reports", reports, minimum=1)
    sent: list[list[bytes]] = [[] for _ in range(reports)]
    for _ in range(trials):
        device = new_device()
        for turn in sent:
            turn.append(device.payload(cell))
    sizes = {len(payload) for turn in sent for payload in turn}
    if len(sizes) > 1:
        raise ParameterError("client", f"payloads must have one size, got {min(sizes)} to {max(sizes)} bytes")
    return [payload_matrix(turn, sizes.copy().pop()) for turn in sent]


def judge(
    one: Sequence[ByteArray],
    other: Sequence[ByteArray],
    *,
    events: Events,
    epsilon: float,
    epsilon_effective: float,
    failure: float = FAILURE,
) -> Audit:
    """Compare what devices sent in two worlds.

    Parameters
    ----------
    one, other
        From `collect_world`, with equally many trials and reports.
    events
        Events of a single report. Where devices send several, an event is that all of them fall into it.
    epsilon
        The epsilon on the label.
    epsilon_effective
        The epsilon that is put to the test.
    failure
        Probability that an honest client is accused.

    Raises
    ------
    ParameterError
        If the worlds differ in the number or the size of their reports.
    """
    if one[0].shape != other[0].shape:
        raise ParameterError(
            "client", f"both worlds must send alike, got reports of shape {one[0].shape} and {other[0].shape}"
        )
    trials = len(one[0])
    known = [_together(events, world) for world in (one, other)]
    half = trials // 2
    learned = _learn([world[0][:half] for world in (one, other)])
    judged = [{name: matches(world[0][half:]) for name, matches in learned.items()} for world in (one, other)]
    # Each event is judged in both directions.
    alpha = failure / (2 * (len(known[0]) + len(learned)))
    findings = []
    for masks, count in ((known, trials), (judged, trials - half)):
        for name in masks[0]:
            hits = [int(mask[name].sum()) for mask in masks]
            bound = max(
                float(epsilon_lower_bound(first, second, trials=count, alpha=alpha))
                for first, second in (hits, hits[::-1])
            )
            findings.append(Finding(name, hits[0], hits[1], count, bound))
    findings.sort(key=lambda finding: finding.epsilon_lower_bound, reverse=True)
    likeliest = max(max(int(mask[name].sum()) for mask in known) for name in known[0])
    bound = findings[0].epsilon_lower_bound
    return Audit(
        epsilon=epsilon,
        epsilon_effective=epsilon_effective,
        epsilon_lower_bound=bound,
        max_certifiable=max_certifiable(likeliest, trials=trials, alpha=alpha),
        passed=bound <= epsilon_effective,
        trials=trials,
        findings=tuple(findings),
    )


def no_events(payloads: ByteArray) -> Mapping[str, BoolArray]:
    """Know nothing of the mechanism: leave everything to the bytes."""
    return {"any report": np.ones(len(payloads), bool)}


def _together(events: Events, world: Sequence[ByteArray]) -> dict[str, BoolArray]:
    """Return which devices sent nothing but reports of an event."""
    first, *rest = [events(payloads) for payloads in world]
    return {
        name: np.logical_and.reduce([mask, *(later[name] for later in rest)]) for name, mask in first.items()
    }


def _learn(halves: Sequence[ByteArray]) -> dict[str, Callable[[ByteArray], BoolArray]]:
    """Find, in each direction, the byte value and the bit whose frequencies differ most."""
    trials, width = halves[0].shape
    values = np.array(
        [[np.bincount(half[:, place], minlength=256) for place in range(width)] for half in halves]
    )
    # Bit b of a byte is 1 for the values that have it; so bit counts are sums of value counts.
    has_bit = (np.arange(256)[:, None] >> np.arange(8) & 1).astype(np.int64)
    bits = values @ has_bit
    found: dict[str, Callable[[ByteArray], BoolArray]] = {}
    for first, second in ((0, 1), (1, 0)):
        scores = epsilon_lower_bound(values[first], values[second], trials=trials, alpha=0.05)
        place, value = np.unravel_index(scores.argmax(), scores.shape)
        found[f"byte {place} is {value}"] = _byte_is(int(place), int(value))
        ones = epsilon_lower_bound(bits[first], bits[second], trials=trials, alpha=0.05)
        zeros = epsilon_lower_bound(trials - bits[first], trials - bits[second], trials=trials, alpha=0.05)
        both = np.stack([zeros, ones])
        bit, place, number = np.unravel_index(both.argmax(), both.shape)
        found[f"bit {number} of byte {place} is {bit}"] = _bit_is(int(place), int(number), int(bit))
    return found


def _byte_is(place: int, value: int) -> Callable[[ByteArray], BoolArray]:
    return lambda payloads: np.asarray(payloads[:, place] == value)


def _bit_is(place: int, number: int, bit: int) -> Callable[[ByteArray], BoolArray]:
    return lambda payloads: np.asarray((payloads[:, place] >> number & 1) == bit)
