"""What the Device page computes, cached by plain settings: days of phones, one phone's reports, attacks, a crowd."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import streamlit as st

from ldpcore.mechanisms import Mechanism, make_mechanism
from ldpcore.population import scenario_domain
from ldpcore.privacy.averaging import Success, exact_success, memo_draws, simulated_success
from ldpcore.privacy.posterior import informed_prior, posterior_path
from ldpcore.schedule import Schedule
from ldpcore.settings import DEFAULT, Scenario
from ldpcore.shapes import FloatArray, IntArray
from ldpcore.trips.cities import city_area, city_domain
from ldpcore.trips.generate import cell_law
from ldpcore.week import CrowdSpend, Week, seeded_week, spend_of
from ldpcore.whereabouts import OUTSIDE, Stays, stays
from ui.run_cache import RunCache

DAYS: Final = (7, 14, 28)
MOST_MOMENTS: Final = 10_080
"""Reports of one phone followed at most: a week, once a minute."""
MOST_PHONES: Final = 10_000
PHONES_TO_CHOOSE: Final = 500
AFTER: Final = (1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 500, 700, 1000, 1500, 2016)
"""Numbers of reports at which the attack can be looked at; the last is a week of one every five minutes."""
PRIORS: Final = {
    "": "nothing: every cell equally likely",
    "city": "how many people live or stay in each cell",
    "half": "a strong suspicion: one half on the true cell",
}
"""What the attacker knows before the first report."""
TRIALS: Final = 200
_CROWD_MOMENTS: Final = 20_160_000
_CACHE_BYTES: Final = 96 * 2**20
_WEEK, _ATTACK, _PLAYED = 11, 12, 13


@dataclass(frozen=True, slots=True)
class Setting:
    """All that decides the page, ready to be a key.

    Parameters
    ----------
    scenario
        City, resolution, randomiser, epsilon and seed.
    schedule
        How often the phone reports, with which memory, cap and epoch.
    phone
        Number of the simulated phone.
    days
        Days it is followed.
    prior
        What the attacker knows, a key of `PRIORS`.
    """

    scenario: Scenario
    schedule: Schedule
    phone: int
    days: int
    prior: str

    @property
    def city(self) -> str:
        """The bundled city that the phone lives in."""
        return self.scenario.city or DEFAULT.city or ""

    @property
    def mechanism(self) -> Mechanism:
        """The randomiser over the city's cells."""
        return make_mechanism(
            self.scenario.mechanism,
            epsilon=self.scenario.epsilon,
            domain_size=city_domain(self.city, self.scenario.resolution).size,
            **dict(self.scenario.options),
        )

    @property
    def moments(self) -> int:
        """Times at which the phone would report."""
        return self.days * self.schedule.reports_a_day

    @property
    def per_epoch(self) -> int:
        """Reports of one phone in an epoch."""
        return self.schedule.reports_a_day * self.schedule.epoch_days


def setting_of(scenario: Scenario, schedule: Schedule, *, phone: int, days: int, prior: str) -> Setting:
    """Return the page's setting, with what has no bearing on it at its default."""
    part = replace(
        DEFAULT,
        city=scenario.city or DEFAULT.city,
        resolution=scenario.resolution,
        mechanism=scenario.mechanism,
        options=scenario.options,
        epsilon=scenario.epsilon,
        seed=scenario.seed,
        draw=scenario.draw,
    )
    scenario_domain(part, city_area(part.city or ""))
    return Setting(part, schedule, phone, days, prior)


def days_offered(reports_a_day: int) -> tuple[int, ...]:
    """Return the numbers of days that can be followed at a cadence."""
    return tuple(days for days in DAYS if days * reports_a_day <= MOST_MOMENTS)


@st.cache_resource(show_spinner=False)
def _cache() -> RunCache[Any]:
    return RunCache(_CACHE_BYTES)


def crowd_size(setting: Setting) -> int:
    """Return how many phones are followed at the setting's cadence."""
    return min(MOST_PHONES, _CROWD_MOMENTS // setting.moments)


def get_stays(setting: Setting, phones: int) -> Stays:
    """Return the days of the first phones of the city."""
    scenario, a_day = setting.scenario, setting.schedule.reports_a_day

    def make() -> Stays:
        return stays(
            setting.city,
            resolution=scenario.resolution,
            devices=phones,
            seed=scenario.seed,
            days=setting.days,
            reports_a_day=a_day,
        )

    key = ("stays", setting.city, scenario.resolution, scenario.seed, setting.days, a_day, phones)
    found: Stays = _cache().get(key, make)
    return found


def get_week(setting: Setting) -> Week:
    """Return what the phone of the setting did."""
    part = replace(setting, prior="")

    def make() -> Week:
        return seeded_week(
            part.mechanism,
            get_stays(part, PHONES_TO_CHOOSE).cells_of(part.phone),
            part.schedule,
            rng=_coins(part, _WEEK),
            domain_version=city_domain(part.city, part.scenario.resolution).version,
        )

    found: Week = _cache().get(("week", part), make)
    return found


def get_crowd(setting: Setting) -> CrowdSpend:
    """Return what all phones spend under the schedule."""
    part = replace(
        setting,
        scenario=replace(
            setting.scenario,
            mechanism=DEFAULT.mechanism,
            options=(),
            epsilon=DEFAULT.epsilon,
            draw=DEFAULT.draw,
        ),
        schedule=replace(setting.schedule, memo=True, at_cap="silent"),
        phone=0,
        prior="",
    )
    found: CrowdSpend = _cache().get(
        ("crowd", part), lambda: spend_of(get_stays(part, crowd_size(part)), part.schedule)
    )
    return found


def without_cap(setting: Setting) -> Setting:
    """Return the setting with memory, cap and its rule at their defaults: an attack on one cell knows none of them."""
    rules = setting.schedule
    return replace(setting, schedule=Schedule(reports_a_day=rules.reports_a_day, epoch_days=rules.epoch_days))


def home_of(week: Week) -> int:
    """Return the cell in which the phone spent most time; inside the domain."""
    inside = week.cells[week.cells != OUTSIDE]
    return int(np.bincount(inside).argmax())


@dataclass(frozen=True, eq=False, slots=True)
class Attack:
    """Beliefs of somebody who reads reports that all come from the phone's home cell.

    Parameters
    ----------
    home
        The cell.
    after
        Numbers of reports, `AFTER`.
    draws
        How many different answers a remembering phone has given by then.
    fresh, memo
        (len(after), d) float32, probability of each cell.
    """

    home: int
    after: tuple[int, ...]
    draws: tuple[int, ...]
    fresh: FloatArray
    memo: FloatArray


def get_attack(setting: Setting, home: int) -> Attack:
    """Return the attack on the home cell, from the same coins for the phone that forgets and the one that remembers."""
    setting = without_cap(setting)

    def make() -> Attack:
        mechanism = setting.mechanism
        draws = tuple(memo_draws(count, reports_per_epoch=setting.per_epoch) for count in AFTER)
        reports = mechanism.privatize(np.full(AFTER[-1], home), rng=_coins(setting, _ATTACK))
        steps = sorted({*AFTER, *draws})
        path = posterior_path(mechanism, reports, steps, prior=prior_of(setting, home))
        row = {step: number for number, step in enumerate(steps)}
        return Attack(
            home=home,
            after=AFTER,
            draws=draws,
            fresh=path[[row[step] for step in AFTER]].astype(np.float32),
            memo=path[[row[step] for step in draws]].astype(np.float32),
        )

    found: Attack = _cache().get(("attack", setting, home), make)
    return found


def prior_of(setting: Setting, home: int) -> FloatArray | None:
    """Return what the attacker holds for likely before the first report; None for every cell alike."""
    if setting.prior == "":
        return None
    law = cell_law(
        setting.city, query="presence", resolution=setting.scenario.resolution, hour=4
    ).probabilities
    return informed_prior(law, cell=home, share=0.5) if setting.prior == "half" else law


@dataclass(frozen=True, eq=False, slots=True)
class Curve:
    """Success of the best guess over numbers of reports from one cell.

    Parameters
    ----------
    reports
        (m,) numbers of reports.
    fresh, memo
        (m,) exact success; NaN where no exact form is known. Every cell equally likely before.
    played, played_fresh
        Numbers of reports at which simulated phones were attacked, and how that went.
    """

    reports: IntArray
    fresh: FloatArray
    memo: FloatArray
    played: tuple[int, ...]
    played_fresh: tuple[Success | None, ...]

    @property
    def exact(self) -> bool:
        """Whether there is a theory line."""
        return bool(np.isfinite(self.fresh[1:]).any())


def get_curve(setting: Setting) -> Curve:
    """Return success over time of the phone that forgets and of the one that remembers."""
    part = replace(without_cap(setting), phone=0, prior="", days=DAYS[0])

    def make() -> Curve:
        mechanism = part.mechanism
        ten_years = 3650 * part.schedule.reports_a_day
        reports = np.unique(np.geomspace(1, max(ten_years, AFTER[-1]), 36).round().astype(np.int64))
        draws = [memo_draws(int(count), reports_per_epoch=part.per_epoch) for count in reports]
        known: dict[int, float] = {}

        def success(count: int) -> float:
            if count not in known:
                # Once certain, always certain.
                certain = any(done < count and value > 1 - 1e-9 for done, value in known.items())
                found = 1.0 if certain else exact_success(mechanism, count)
                known[count] = np.nan if found is None else found
            return known[count]

        played = tuple(int(count) for count in (1, 3, 10, 30, 100, 300, 1000) if count <= reports[-1])
        rng = _coins(part, _PLAYED)
        return Curve(
            reports=reports,
            fresh=np.array([success(int(count)) for count in reports]),
            memo=np.array([success(count) for count in draws]),
            played=played,
            played_fresh=tuple(
                simulated_success(mechanism, count, trials=_trials(mechanism), rng=rng) for count in played
            ),
        )

    found: Curve = _cache().get(("curve", part), make)
    return found


def _trials(mechanism: Mechanism) -> int:
    """Return how many phones are attacked: fewer where a report is long."""
    return max(60, min(TRIALS, 1_000_000 // mechanism.domain_size))


def _coins(setting: Setting, purpose: int) -> np.random.Generator:
    """Return the coins of one part of the page: by seed, redraw and phone, so that a link reproduces them."""
    scenario = setting.scenario
    return np.random.default_rng(
        np.random.SeedSequence(scenario.seed, spawn_key=(scenario.draw, purpose, setting.phone))
    )
