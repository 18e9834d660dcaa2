"""The numbers of the lesson: what each of its eight steps computes, by the same core as every other page.

The steps follow the four processes of data aggregation under local privacy: encode, perturb, aggregate,
estimate (M. Yang, L. Lyu, J. Zhao, T. Zhu, K.-Y. Lam, *Local Differential Privacy and Its Applications: A
Comprehensive Survey*, figure 2). Whatever is drawn here comes from a generator of the lesson's own seed, so
that a link, or a class that shares one, sees the same numbers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

import numpy as np

from ldpcore.device.randomiser import RANDOMISERS
from ldpcore.errors import ParameterError
from ldpcore.estimate import true_variance_terms
from ldpcore.mechanisms import MECHANISMS, FrequencyOracle, make_mechanism
from ldpcore.mechanisms.options import checked_integer
from ldpcore.postprocess import clamping_bias, measure_postprocessing
from ldpcore.release import Release
from ldpcore.settings import DEFAULT, Scenario
from ldpcore.shapes import BoolArray, FloatArray, IntArray

STEPS: Final = 8
PHONES: Final = 100
"""Phones that an icon array draws."""
DISTRICTS: Final = 10
"""Cells of the small domain of the last two steps."""
FINEST: Final = 7
"""Finest resolution of the lesson's own map, so that its cells can be seen one by one."""
CLASS_SEEDS: Final = (1, 999_999)
"""Smallest and greatest seed that a class may share."""


@dataclass(frozen=True, slots=True)
class LessonScenario:
    """The scenario the lesson works on.

    Parameters
    ----------
    scenario
        A bundled city at a resolution of at most `FINEST` with a randomiser that the steps can open.
    changes
        One sentence for each setting that differs from the dashboard's own, and why.
    """

    scenario: Scenario
    changes: tuple[str, ...]


def lesson_scenario(scenario: Scenario, class_seed: int | None = None) -> LessonScenario:
    """Reduce a scenario to one that can be taught, and say what was changed.

    Parameters
    ----------
    scenario
        Any scenario.
    class_seed
        The seed that a class shares; it takes the place of the scenario's seed and redraw.
    """
    changes: list[str] = []
    if not scenario.synthetic:
        city = scenario.city or DEFAULT.city
        scenario = replace(scenario, trips=None, area=None, timezone=None, city=city, day=None)
        changes.append("The lesson uses a bundled city: your own file stays out of it.")
    if scenario.resolution > FINEST:
        changes.append(
            f"The lesson's map has resolution {FINEST} instead of {scenario.resolution}, so that its cells can be seen."
        )
        scenario = replace(scenario, resolution=FINEST)
    if not _can_be_opened(scenario):
        label = MECHANISMS[scenario.mechanism].label
        scenario = replace(scenario, mechanism="oue", options=())
        changes.append(
            f"{label} has no single pair of odds p and q to teach with, or no client for phones; the lesson uses "
            f"{MECHANISMS['oue'].label} at the same ε."
        )
    if scenario.per_report:
        scenario = replace(scenario, per_report=False)
    if class_seed is not None:
        scenario = replace(scenario, seed=class_seed, draw=0)
    return LessonScenario(scenario, tuple(changes))


def _can_be_opened(scenario: Scenario) -> bool:
    if scenario.mechanism not in RANDOMISERS:
        return False
    made = make_mechanism(
        scenario.mechanism, epsilon=scenario.epsilon, domain_size=1_000, **dict(scenario.options)
    )
    return made.pure


def checked_class_seed(text: str) -> int:
    """Read the seed of a class from a link.

    Raises
    ------
    ParameterError
        If it is not a whole number within `CLASS_SEEDS`.

    Examples
    --------
    >>> checked_class_seed("1234")
    1234
    """
    low, high = CLASS_SEEDS
    seed = int(text) if text.isascii() and text.isdigit() and len(text) <= 12 else 0
    if not low <= seed <= high:
        raise ParameterError(
            "class",
            f"The class number must be a whole number from {low} to {high:,}, got {text[:40]!r}; try 1234.",
        )
    return seed


def checked_step(text: str) -> int:
    """Read the number of a step from a link.

    Raises
    ------
    ParameterError
        If there is no such step.
    """
    step = int(text) if text.isascii() and text.isdigit() and len(text) <= 4 else 0
    if not 1 <= step <= STEPS:
        raise ParameterError(
            "step", f"There is no step {text[:40]!r}: the lesson has steps 1 to {STEPS}; this is step 1."
        )
    return step


def lesson_generator(scenario: Scenario, *, step: int, toss: int = 0) -> np.random.Generator:
    """Return the generator of a step's own coins; another `toss` gives others.

    Its stream differs from that of the scenario's trips and reports.
    """
    return np.random.default_rng(
        np.random.SeedSequence(scenario.seed, spawn_key=(scenario.draw, 0x1EA2, step, toss))
    )


# -- step 1: one phone, one coin ------------------------------------------------------------------


@dataclass(frozen=True, eq=False, slots=True)
class Survey:
    """One hundred phones answer a yes-or-no question by randomised response.

    Parameters
    ----------
    truth, answers
        (100,) bool, whether the true and the sent answer is yes.
    mechanism
        Generalised randomised response over two values.
    estimate, std_error
        The server's estimate of the true yes answers, and its standard error, in phones.
    """

    truth: BoolArray
    answers: BoolArray
    mechanism: FrequencyOracle
    estimate: float
    std_error: float

    @property
    def turned(self) -> BoolArray:
        """(100,) bool, whether the coin turned the answer round."""
        return np.not_equal(self.truth, self.answers)


def survey(epsilon: float, *, yes: int, rng: np.random.Generator) -> Survey:
    """Let 100 phones answer, `yes` of them truly yes.

    Raises
    ------
    ParameterError
        If `yes` is not between 0 and 100.
    """
    yes = checked_integer("yes", yes, minimum=0, maximum=PHONES)
    mechanism = make_mechanism("grr", epsilon=epsilon, domain_size=2)
    truth = np.arange(PHONES) < yes
    reports = mechanism.privatize(truth.astype(np.int64), rng=rng)
    counts = mechanism.aggregate(reports)
    return Survey(
        truth=truth,
        answers=np.asarray(reports) == 1,
        mechanism=mechanism,
        estimate=float(mechanism.estimate(counts, n=PHONES)[1]),
        std_error=math.sqrt(float(mechanism.variance([PHONES - yes, yes], n=PHONES)[1])),
    )


# -- steps 3 and 4: raw counts and the way back ----------------------------------------------------


@dataclass(frozen=True, slots=True)
class Inversion:
    """One cell's way from reports to an estimate, every number of the formula by itself.

    Parameters
    ----------
    reports
        n, all reports.
    support
        C, reports that point to the cell.
    p, q
        Probability that a phone in the cell, and one elsewhere, points to it.
    by_chance
        n q, what an empty cell would get on average.
    gap
        p - q, what one phone in the cell adds on average.
    estimate, std_error
        (C - n q) / (p - q), and its standard error at the estimate, in devices; may be negative.
    truth
        Devices in the cell.
    """

    reports: int
    support: int
    p: float
    q: float
    by_chance: float
    gap: float
    estimate: float
    std_error: float
    truth: int


def inversion(release: Release, cell: int) -> Inversion:
    """Take the estimate of one cell apart; the release's randomiser must have p and q.

    Parameters
    ----------
    release
        A run.
    cell
        Index in the domain.
    """
    p, q = probabilities(release.mechanism)
    n = release.population.size
    support = release.mechanism.support(release.counts, n=n)
    return Inversion(
        reports=n,
        support=int(support[cell]),
        p=p,
        q=q,
        by_chance=n * q,
        gap=p - q,
        estimate=float(release.estimates.estimate[cell]),
        std_error=float(release.estimates.std_error[cell]),
        truth=int(release.population.true_counts[cell]),
    )


def probabilities(mechanism: FrequencyOracle) -> tuple[float, float]:
    """Return p and q as numbers, or say that the randomiser has none.

    Raises
    ------
    ParameterError
        If the mechanism is not pure.
    """
    if mechanism.p is None or mechanism.q is None:
        raise ParameterError("mechanism", f"{mechanism.label} has no p and q; choose oue.")
    return float(mechanism.p), float(mechanism.q)


@dataclass(frozen=True, slots=True)
class Busy:
    """How busy empty cells look before the inversion.

    Parameters
    ----------
    cells, empty
        Cells of the grid, and those without any device.
    empty_mean
        Mean raw count of the empty cells, in reports; nan where no cell is empty.
    by_chance
        n q, what theory says of it.
    busiest
        Greatest raw count.
    busiest_truth
        Devices in the truly busiest cell.
    touched
        Cells with at least one report pointing to them.
    """

    cells: int
    empty: int
    empty_mean: float
    by_chance: float
    busiest: int
    busiest_truth: int
    touched: int


def busy(release: Release) -> Busy:
    """Count what a map of raw counts would show."""
    _, q = probabilities(release.mechanism)
    n, truth = release.population.size, release.population.true_counts
    raw = np.asarray(release.mechanism.support(release.counts, n=n))
    empty = truth == 0
    return Busy(
        cells=truth.size,
        empty=int(empty.sum()),
        empty_mean=float(raw[empty].mean()) if empty.any() else math.nan,
        by_chance=n * q,
        busiest=int(raw.max()),
        busiest_truth=int(truth.max()),
        touched=int((raw > 0).sum()),
    )


# -- step 5: error bars and clamping ---------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Clamping:
    """What setting negative estimates to zero does to empty cells, measured by redraws.

    Parameters
    ----------
    cells, redraws
        Empty cells looked at, and redraws of the coins.
    raw, raw_error
        Mean raw estimate over those cells and redraws, and one standard error of it, in devices.
    clamped, clamped_error
        The same once negative estimates are set to zero.
    expected
        std_error / sqrt(2 pi), the closed form.
    std_error
        Of one empty cell.
    emptied
        Devices moved out of the quietest cell, where the city has no empty one; else 0.
    """

    cells: int
    redraws: int
    raw: float
    raw_error: float
    clamped: float
    clamped_error: float
    expected: float
    std_error: float
    emptied: int


def measure_clamping(
    mechanism: FrequencyOracle, true_counts: IntArray, *, redraws: int, rng: np.random.Generator
) -> Clamping:
    """Measure the bias of clamping over the empty cells of a population.

    Parameters
    ----------
    mechanism
        The randomiser.
    true_counts
        (d,) int64; where no cell is empty the quietest one is emptied into the busiest.
    redraws
        At least 2.
    rng
        Source of the coins.
    """
    counts = np.array(true_counts, np.int64)
    emptied = 0
    if (counts > 0).all():
        quiet = int(counts.argmin())
        emptied = int(counts[quiet])
        counts[int(counts.argmax())] += emptied
        counts[quiet] = 0
    empty = counts == 0
    raw, clamped = measure_postprocessing(mechanism, counts, draws=redraws, rng=rng, names=("base-pos",))
    base, _ = true_variance_terms(mechanism, counts.astype(np.float64), n=int(counts.sum()))
    std_error = math.sqrt(float(base[empty].mean()))
    cells = int(empty.sum())

    def pooled(errors: FloatArray) -> float:
        # Cells of one redraw are nearly independent; where they are not, they are negatively correlated.
        return math.sqrt(float((errors[empty] ** 2).sum())) / cells

    return Clamping(
        cells=cells,
        redraws=redraws,
        raw=float(raw.bias[empty].mean()),
        raw_error=pooled(raw.bias_error),
        clamped=float(clamped.bias[empty].mean()),
        clamped_error=pooled(clamped.bias_error),
        expected=clamping_bias(std_error),
        std_error=std_error,
        emptied=emptied,
    )


# -- step 6: a finer grid --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Grid:
    """What one grid costs with the same phones.

    Parameters
    ----------
    resolution, cells
        Of the grid.
    share
        Mean share of the devices in a cell, 1 / cells.
    std_error
        Of an empty cell, in devices.
    relative_error
        One standard error over the mean count, for a cell that holds it.
    largest_error
        sqrt(2 ln d) standard errors: about the largest error of any of the d cells.
    """

    resolution: int
    cells: int
    share: float
    std_error: float
    relative_error: float
    largest_error: float


def grid(
    mechanism_name: str, *, epsilon: float, resolution: int, cells: int, devices: int, **options: object
) -> Grid:
    """Say what a grid costs: the error of a cell, alone and against what it holds.

    Parameters
    ----------
    mechanism_name, epsilon, options
        The randomiser.
    resolution, cells, devices
        The grid and how many devices report, at least 1.
    """
    devices = checked_integer("devices", devices, minimum=1)
    mechanism = make_mechanism(mechanism_name, epsilon=epsilon, domain_size=cells, **options)
    empty, slope = mechanism.variance_empty, mechanism.variance_slope
    if empty is None or slope is None:
        raise ParameterError(
            "mechanism", f"The error of {mechanism.label} depends on other cells; choose oue."
        )
    mean = devices / cells
    std_error = math.sqrt(devices * empty)
    return Grid(
        resolution=resolution,
        cells=cells,
        share=1 / cells,
        std_error=std_error,
        relative_error=math.sqrt(devices * empty + mean * slope) / mean,
        largest_error=std_error * math.sqrt(2 * math.log(cells)),
    )


# -- step 7: again tomorrow ------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def named_right(epsilon: float, districts: int, reports: int) -> float:
    """Return how often an observer of fresh reports about one district names it.

    Every district is equally likely before; the phone answers by generalised randomised response with fresh
    coins each time, and the observer names the district reported most often, one of them by chance where
    several are. Exact: with the own district reported m times, the rest are spread evenly over the others,
    and a generating function counts how often none of them exceeds m and how many equal it.

    Parameters
    ----------
    epsilon
        Of one report.
    districts
        At least 2.
    reports
        Independent reports, at least 0.

    Examples
    --------
    >>> [round(named_right(2.0, 10, reports), 3) for reports in (1, 5, 10)]
    [0.451, 0.71, 0.887]
    """
    reports = checked_integer("reports", reports, minimum=0, maximum=366)
    if reports == 0:
        return 1 / districts
    p, q = probabilities(make_mechanism("grr", epsilon=epsilon, domain_size=districts))
    others = districts - 1
    total = 0.0
    for own in range(reports + 1):
        rest = reports - own
        # Coefficient of x^rest in sum_k C(others, k) / (k + 1) (x^own / own!)^k (sum_{j < own} x^j / j!)^(others - k),
        # with x scaled by q so that the numbers stay near one.
        below = np.array([q**j / math.factorial(j) for j in range(min(own, rest + 1))] or [0.0])
        equal = q**own / math.factorial(own)
        powers = [np.array([1.0])]
        for _ in range(others):
            powers.append(np.convolve(powers[-1], below)[: rest + 1])
        ways = 0.0
        for ties in range(others + 1):
            place = rest - ties * own
            if place < 0 or (own == 0 and rest > 0):
                break
            spread = powers[others - ties]
            if place < spread.size:
                ways += math.comb(others, ties) / (ties + 1) * equal**ties * float(spread[place])
        total += math.factorial(reports) / math.factorial(own) * p**own * ways
    return total


def reports_seen(days: int, *, memory_days: int) -> int:
    """Return how many independent reports about one unchanged place an observer has after some days.

    A phone that keeps its randomised answer for `memory_days` draws a new one at the start of each such
    stretch, so the answers of one stretch are copies of one another.

    Examples
    --------
    >>> reports_seen(30, memory_days=1), reports_seen(30, memory_days=7)
    (30, 5)
    """
    return math.ceil(days / memory_days)


@dataclass(frozen=True, eq=False, slots=True)
class Watch:
    """What an observer of one phone believes, day by day.

    Parameters
    ----------
    reported
        (days,) int64, the district reported each day.
    beliefs
        (days, districts) float64, the observer's belief after each day; rows sum to 1.
    home
        The phone's own district.
    """

    reported: IntArray
    beliefs: FloatArray
    home: int


def watch(epsilon: float, *, days: int, memory_days: int, rng: np.random.Generator) -> Watch:
    """Let a phone report its district every day and an observer add up what is seen.

    Parameters
    ----------
    epsilon
        Of one fresh report.
    days
        At least 1.
    memory_days
        How long a randomised answer is kept and sent again, at least 1.
    rng
        Source of the coins.
    """
    days = checked_integer("days", days, minimum=1)
    mechanism = make_mechanism("grr", epsilon=epsilon, domain_size=DISTRICTS)
    home = int(rng.integers(DISTRICTS))
    fresh = np.asarray(
        mechanism.privatize(np.full(reports_seen(days, memory_days=memory_days), home), rng=rng)
    )
    reported = np.repeat(fresh.astype(np.int64), memory_days)[:days]
    # Copies of an answer say nothing new, and the observer knows which are copies.
    new = np.zeros((days, DISTRICTS))
    starts = np.arange(0, days, memory_days)
    new[starts, reported[starts]] = mechanism.epsilon_effective
    log_belief = np.cumsum(new, axis=0)
    weight = np.exp(log_belief - log_belief.max(axis=1, keepdims=True))
    return Watch(reported, weight / weight.sum(axis=1, keepdims=True), home)


def observed_right(epsilon: float, *, reports: int, phones: int, rng: np.random.Generator) -> BoolArray:
    """Simulate an observer of many phones and say of which the district is named rightly.

    Parameters
    ----------
    epsilon
        Of one fresh report.
    reports
        Independent reports of each phone, at least 1.
    phones
        Phones, each with a district of its own drawn at random.
    rng
        Source of homes, coins and of the choice between districts reported equally often.

    Returns
    -------
    (phones,) bool
    """
    mechanism = make_mechanism("grr", epsilon=epsilon, domain_size=DISTRICTS)
    home = rng.integers(DISTRICTS, size=phones)
    reported = np.asarray(mechanism.privatize(np.repeat(home, reports), rng=rng)).reshape(phones, reports)
    counts = (reported[:, :, None] == np.arange(DISTRICTS)).sum(axis=1)
    named = (counts + rng.random(counts.shape)).argmax(axis=1)  # a tie is settled by chance
    return np.asarray(named == home)


# -- step 8: what it does not protect --------------------------------------------------------------


def belief(epsilon: float, *, prior: float, districts: int = DISTRICTS) -> tuple[float, float]:
    """Return an observer's belief that a phone is at home after a report of home, and of another district.

    Parameters
    ----------
    epsilon
        Of the report, by generalised randomised response.
    prior
        Belief before that the phone is at home, strictly between 0 and 1; the rest is spread evenly over the
        other districts.
    districts
        At least 2.

    Examples
    --------
    >>> [round(value, 4) for value in belief(2.0, prior=0.5)]
    [0.8808, 0.369]
    """
    if not 0 < prior < 1:
        raise ParameterError("prior", f"The belief before must lie between 0 and 1, got {prior:g}; try 0.5.")
    p, q = probabilities(make_mechanism("grr", epsilon=epsilon, domain_size=districts))
    other = (1 - prior) / (districts - 1)
    home = prior * p / (prior * p + (1 - prior) * q)
    away = prior * q / (prior * q + other * p + (1 - prior - other) * q)
    return home, away


def forged_shift(mechanism: FrequencyOracle) -> float:
    """Return by how many devices one forged report for a cell lifts that cell's estimate: (1 - q) / (p - q).

    The forged report counts as one more report, so an honest phone elsewhere lifts it by 0 on average.
    """
    p, q = probabilities(mechanism)
    return (1 - q) / (p - q)
