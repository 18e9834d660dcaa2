"""Shuffling: reports lose their sender in a crowd, and the crowd as a whole is more private than its label.

A shuffler between devices and server forwards the reports of a batch in random order. Against whoever sees only
the shuffled batch, each device then has an (epsilon, delta) guarantee of the central kind, smaller than the
epsilon of its own report. No noise is added after shuffling.

Three bounds, all for any epsilon-LDP randomiser, all non-adaptive, one report a device and batch:

* ``clone`` (default): V. Feldman, A. McMillan, K. Talwar, *Hiding Among the Clones*, 2021, evaluated
  numerically: each other device is a clone of the attacked one with probability e^-epsilon.
* ``closed_form``: Theorem 3.1 of the same paper; 3 to 5 times larger, and valid only up to
  epsilon <= ln(n / (16 ln(2 / delta))).
* ``stronger``: clones with probability 2 / (e^epsilon + 1). Its proof for randomisers other than the binary one
  is our own and awaits a second reader, so it is never the default.

`n` must count honest reports that are really shuffled: take colluders and dropouts off. Cohort, hash seed and
parameter version are part of the message and must be shuffled with it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

import numpy as np
from scipy.optimize import brentq
from scipy.special import gammaln
from scipy.stats import binom

from ldpcore.errors import ParameterError
from ldpcore.mechanisms.options import checked_integer
from ldpcore.rational import checked_epsilon
from ldpcore.shapes import FloatArray, IntArray

LEAST_TARGET: Final = 1e-5
"""Below it the smallest batch is so large that finding it takes minutes."""

MAX_BATCH: Final = 10**12
"""Largest batch that the inverse looks for."""

_MOST_TERMS: Final = 12_000
_RUNS: Final = 3_000
_LEAST_DELTA: Final = 1e-300

SHUFFLE_GUARANTEE: Final = (
    "Shuffle: a shuffler that does not collude with the server forwards the reports of a batch without senders. The "
    "server learns little about any one device from the batch; a shuffler that colludes leaves the local guarantee."
)


@dataclass(frozen=True, slots=True)
class Amplified:
    """What a batch guarantees after shuffling.

    Parameters
    ----------
    epsilon_central
        Of the (epsilon, delta) guarantee against whoever sees only the shuffled batch.
    delta
        Its delta.
    bound
        A key of `BOUNDS`.
    """

    epsilon_central: float
    delta: float
    bound: str


def amplify(epsilon: float, *, devices: int, delta: float, bound: str = "clone") -> Amplified:
    """Return the guarantee of a shuffled batch.

    Parameters
    ----------
    epsilon
        Of one report, greater than 0, at most 20.
    devices
        Honest reports really shuffled in one batch, at least 1.
    delta
        Between 0 and 1.
    bound
        A key of `BOUNDS`.

    Raises
    ------
    ParameterError
        If a setting is outside its range, or the closed form is asked for where it is not valid.
    """
    if bound not in BOUNDS:
        raise ParameterError("bound", f"There is no bound {bound!r}; choose one of {', '.join(BOUNDS)}.")
    local, n, delta = checked_epsilon(epsilon), _checked_batch(devices), _checked_delta(delta)
    return Amplified(min(local, BOUNDS[bound](local, n, delta)), delta, bound)


def smallest_batch(epsilon: float, *, target: float, delta: float, bound: str = "clone") -> int:
    """Return the smallest batch after whose shuffling the guarantee is at most the target.

    Parameters
    ----------
    epsilon
        Of one report.
    target
        Epsilon wanted after shuffling, greater than 0.
    delta
        Of the guarantee after shuffling.
    bound
        A key of `BOUNDS`.

    Raises
    ------
    ParameterError
        If a setting is outside its range, or no batch up to `MAX_BATCH` is enough.
    """
    if not (math.isfinite(target) and target >= LEAST_TARGET):
        raise ParameterError(
            "target",
            f"The target must be greater than 0, at least {LEAST_TARGET:.5f}, got {target:g}; try 0.5.",
        )
    if bound not in BOUNDS:
        raise ParameterError("bound", f"There is no bound {bound!r}; choose one of {', '.join(BOUNDS)}.")
    local, delta = checked_epsilon(epsilon), _checked_delta(delta)
    if local <= target:
        return 1
    enough = _REACHES[bound]
    high = 2
    while not enough(local, high, delta, target):
        high *= 2
        if high > MAX_BATCH:
            raise ParameterError(
                "target",
                f"No batch up to {MAX_BATCH:,} reports brings epsilon {local:g} down to {target:g} at delta "
                f"{delta:g}; choose a larger target or a smaller epsilon.",
            )
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(local, middle, delta, target) else (middle, high)
    return high


def closed_form_valid(epsilon: float, *, devices: int, delta: float) -> bool:
    """Tell whether the closed form of the clone bound holds: epsilon <= ln(n / (16 ln(2 / delta)))."""
    return epsilon <= math.log(devices / (16 * math.log(2 / delta)))


def closed_form(epsilon: float, *, devices: int, delta: float) -> float:
    """Return the closed form of the clone bound.

    Parameters as for `amplify`.

    Raises
    ------
    ParameterError
        If the closed form is not valid here; the numeric bound always is.
    """
    local, n, delta = checked_epsilon(epsilon), _checked_batch(devices), _checked_delta(delta)
    if not closed_form_valid(local, devices=n, delta=delta):
        most = math.log(n / (16 * math.log(2 / delta)))
        allowed = f"epsilon up to {most:.4g}" if most > 0 else "no epsilon at all"
        raise ParameterError(
            "bound",
            f"The closed form holds for {allowed} with {n} reports and delta {delta:g}, got epsilon {local:g}; "
            "use the bound clone.",
        )
    ratio = math.exp(local)
    crowd = 8 * math.sqrt(ratio * math.log(4 / delta)) / math.sqrt(n) + 8 * ratio / n
    return math.log1p(math.tanh(local / 2) * crowd)


def clone_delta(epsilon_central: float, *, epsilon: float, devices: int, clone_share: float) -> float:
    """Return the delta at which a shuffled batch is epsilon_central-private.

    Parameters
    ----------
    epsilon_central
        Not negative.
    epsilon
        Of one report.
    devices
        Reports in the batch.
    clone_share
        Probability that another device acts as a clone of the attacked one.

    Returns
    -------
    float
        Hockey-stick divergence of (A + B, C - A + 1 - B) against its mirror, with C ~ Bin(n - 1, share), A ~ Bin(C, 1/2)
        and B ~ Bernoulli(R / (R + 1)). Never below the true one: where C has more values than are summed one by
        one, each run of values counts as its smallest, which hides least, and the tails count in full.
    """
    if epsilon_central >= epsilon:
        return 0.0
    clones, mass, missed = _clone_counts(devices - 1, clone_share)
    keep = 1 / (1 + math.exp(-epsilon))
    growth = math.exp(epsilon_central)
    # More of the first kind than this in C + 1 speaks for the attacked value.
    cut = np.floor(
        (growth * keep - (1 - keep)) / ((2 * keep - 1) * (1 + growth)) * (clones + 1.0) + 1e-9
    ).astype(np.int64)
    tail = binom.sf(cut, clones, 0.5)
    at_cut = _half_binomial(cut, clones)
    # P(A + B > cut) = keep P(A >= cut) + (1 - keep) P(A > cut), and mirrored for the other world.
    gap = (1 - growth) * tail + (keep - growth * (1 - keep)) * at_cut
    return float(mass @ np.maximum(gap, 0.0)) + missed


def blanket_delta(
    epsilon_central: float,
    *,
    epsilon: float,
    devices: int,
    label_share: float,
    direct_cells: int | None = None,
) -> float:
    """Return delta by the three-label decomposition: attacked value, other value, neither.

    Parameters
    ----------
    epsilon_central
        Not negative.
    epsilon
        Of one report.
    devices
        Reports in the batch; work grows with its square, so at most 2,000.
    label_share
        Probability that another device emits the label of one given value: 1 / (R + k - 1) for direct encoding
        over k cells, at most 1 / (R + 1) for any randomiser.
    direct_cells
        For direct encoding, the number of cells k: the third label is then one of k - 2 other cells, which is tighter
        (B. Balle, J. Bell, A. Gascón, K. Nissim, *The Privacy Blanket of the Shuffle Model*, 2019).

    Returns
    -------
    float
        (1 / n) E[(G_1 + ... + G_n)_+], the exact sum.
    """
    n = checked_integer("devices", devices, minimum=1, maximum=2_000)
    ratio, growth = math.exp(epsilon), math.exp(epsilon_central)
    third = (1 - label_share - ratio * label_share) / ratio
    gain = ratio * (1 - growth)
    if direct_cells is not None:
        third, gain = (direct_cells - 2) * label_share, 1 - growth
    probabilities = np.array([label_share, label_share, max(third, 0.0)])
    total = 0.0
    for first in range(n + 1):
        second, neither = np.meshgrid(np.arange(n + 1 - first), np.arange(n + 1 - first), indexing="ij")
        fits = second + neither <= n - first
        second, neither = second[fits], neither[fits]
        rest = n - first - second - neither
        value = first * (ratio - growth) + second * (1 - ratio * growth) + neither * gain
        helpful = value > 0
        weight = _multinomial(
            np.stack([np.full_like(second, first), second, neither, rest])[:, helpful], probabilities
        )
        total += float(weight @ value[helpful])
    return total / n


def _multinomial(counts: IntArray, probabilities: FloatArray) -> FloatArray:
    shares = np.append(probabilities, 1 - probabilities.sum())
    logs = gammaln(counts.sum(axis=0) + 1) - gammaln(counts + 1).sum(axis=0)
    for count, share in zip(counts, shares, strict=True):
        logs = logs + (count * math.log(share) if share > 0 else np.where(count > 0, -np.inf, 0.0))
    return np.asarray(np.exp(logs), np.float64)


def _clone_counts(others: int, share: float) -> tuple[IntArray, FloatArray, float]:
    """Return numbers of clones, the probability of each (or of the run that starts there), and what is left out."""
    # Far enough out that what lies beyond is below any delta in use; it is counted in full anyway.
    reach = 10 * math.sqrt(others * share * (1 - share)) + 50
    low = max(0, math.floor(others * share - reach))
    high = min(others, math.ceil(others * share + reach))
    values = high - low + 1
    step = 1 if values <= _MOST_TERMS else -(-values // _RUNS)
    starts = np.arange(low, high + 1, step, dtype=np.int64)
    if step == 1:
        mass = binom.pmf(starts, others, share)
    else:
        ends = np.minimum(starts + step - 1, high)
        mass = np.diff(binom.cdf(ends, others, share), prepend=binom.cdf(low - 1, others, share))
    missed = float(binom.cdf(low - 1, others, share)) + float(binom.sf(high, others, share))
    return starts, np.maximum(np.asarray(mass, np.float64), 0.0), missed


def _half_binomial(successes: IntArray, trials: IntArray) -> FloatArray:
    """Probability of so many heads in so many fair tosses; 0 outside."""
    inside = (successes >= 0) & (successes <= trials)
    return np.where(inside, binom.pmf(np.where(inside, successes, 0), trials, 0.5), 0.0)


def _numeric(share_of: Callable[[float], float]) -> Callable[[float, int, float], float]:
    def bound(epsilon: float, devices: int, delta: float) -> float:
        share = share_of(epsilon)

        def excess(central: float) -> float:
            reached = clone_delta(central, epsilon=epsilon, devices=devices, clone_share=share)
            return math.log(max(reached, _LEAST_DELTA) / delta)

        if excess(0.0) <= 0:
            return 0.0
        # A hair above the root, so that the guarantee holds at what is returned.
        central = float(brentq(excess, 0.0, epsilon, xtol=1e-14, rtol=1e-9)) * (1 + 1e-8)
        while excess(central) > 0:
            central *= 1 + 1e-7
        return central

    return bound


def _clone_share(epsilon: float) -> float:
    return math.exp(-epsilon)


def _stronger_share(epsilon: float) -> float:
    return 2 / (math.exp(epsilon) + 1)


def _numeric_reach(share_of: Callable[[float], float]) -> Callable[[float, int, float, float], bool]:
    return lambda epsilon, devices, delta, target: (
        clone_delta(target, epsilon=epsilon, devices=devices, clone_share=share_of(epsilon)) <= delta
    )


BOUNDS: Final[Mapping[str, Callable[[float, int, float], float]]] = MappingProxyType(
    {
        "clone": _numeric(_clone_share),
        "closed_form": lambda epsilon, devices, delta: closed_form(epsilon, devices=devices, delta=delta),
        "stronger": _numeric(_stronger_share),
    }
)
"""Ways to bound the guarantee of a shuffled batch: bound(epsilon, devices, delta)."""

_REACHES: Final[Mapping[str, Callable[[float, int, float, float], bool]]] = MappingProxyType(
    {
        "clone": _numeric_reach(_clone_share),
        "closed_form": lambda epsilon, devices, delta, target: (
            closed_form_valid(epsilon, devices=devices, delta=delta)
            and closed_form(epsilon, devices=devices, delta=delta) <= target
        ),
        "stronger": _numeric_reach(_stronger_share),
    }
)


def _checked_batch(devices: int) -> int:
    return checked_integer("devices", devices, minimum=1, maximum=MAX_BATCH, example=100_000)


def _checked_delta(delta: float) -> float:
    if not (math.isfinite(delta) and 0 < delta < 1):
        raise ParameterError(
            "delta", f"Delta must lie between 0 and 1, both excluded, got {delta:g}; try 1e-6."
        )
    return delta
