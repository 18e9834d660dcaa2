"""The numbers of the lesson: what each of its eight steps computes, by the same core as every other page.

The steps follow the four processes of data aggregation under local privacy: encode, perturb, aggregate,
estimate (M. Yang, L. Lyu, J. Zhao, T. Zhu, K.-Y. Lam, *Local Differential Privacy and Its Applications: A
Comprehensive Survey*, figure 2). Whatever is drawn here comes from a generator of the lesson's own seed, so
that a link, or a class that shares one, sees the same numbers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from ldpcore.device.randomiser import RANDOMISERS
from ldpcore.errors import ParameterError
from ldpcore.mechanisms import MECHANISMS, FrequencyOracle, make_mechanism
from ldpcore.mechanisms.options import checked_integer
from ldpcore.release import Release
from ldpcore.settings import DEFAULT, Scenario
from ldpcore.shapes import BoolArray

STEPS: Final = 8
PHONES: Final = 100
"""Phones that an icon array draws."""
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


def written_for(probability: float, reports: int) -> str:
    """Write a probability with as many digits as it takes to work out its product with the reports to the unit.

    Examples
    --------
    >>> written_for(0.11920292202, 1_000), written_for(0.11920292202, 10_000_000)
    ('0.11920', '0.119202922')
    """
    return f"{probability:.{max(4, len(str(reports)) + 1)}f}"


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
