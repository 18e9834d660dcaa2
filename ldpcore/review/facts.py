"""What every section reads: the evidence, the schedule, the user's words, and the commands that repeat a figure."""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from urllib.parse import urlencode

import ldpcore
from ldpcore.mechanisms import Mechanism
from ldpcore.population import Population
from ldpcore.release import Release
from ldpcore.review.evidence import Evidence
from ldpcore.review.other import Beside
from ldpcore.review.report import COMPUTED, Claim, Section
from ldpcore.schedule import Schedule
from ldpcore.settings import Scenario


@dataclass(frozen=True, eq=False, slots=True)
class Facts:
    """All that a report is written from.

    Parameters
    ----------
    evidence
        What was tried and measured.
    statements
        The user's own words, checked.
    beside
        Another scenario, run beside this one; None where the report stands alone.
    """

    evidence: Evidence
    statements: Mapping[str, str]
    beside: Beside | None = None

    @property
    def scenario(self) -> Scenario:
        """Every setting of the run."""
        return self.evidence.scenario

    @property
    def schedule(self) -> Schedule:
        """When devices report."""
        return self.evidence.schedule

    @property
    def release(self) -> Release:
        """The run."""
        return self.evidence.release

    @property
    def population(self) -> Population:
        """What the devices hold."""
        return self.evidence.population

    @property
    def mechanism(self) -> Mechanism:
        """The randomiser."""
        return self.evidence.mechanism

    @property
    def noun(self) -> str:
        """What reports once, as many: devices or trips."""
        return f"{self.population.unit}s"

    @property
    def configuration(self) -> str:
        """SHA-256 of every setting of the run and the schedule, and of the package's version."""
        return configuration_of(self.scenario, self.schedule)

    # -- how to repeat a figure ------------------------------------------------------------------

    @property
    def run_command(self) -> str:
        """The command that makes the run again."""
        return self.scenario.to_command()

    @property
    def review_command(self) -> str:
        """The command that makes the report again."""
        other = None if self.beside is None else self.beside.word
        return full_review_command(self.scenario, self.schedule, level=self.evidence.level, beside=other)

    @property
    def audit_command(self) -> str:
        """The command that attacks the client with its own coins."""
        audit, scenario = self.evidence.audit, self.scenario
        words = ["python", "-m", "ldpcore", "audit", "--mechanism", scenario.mechanism]
        words += ["--epsilon", repr(scenario.epsilon), "--domain-size", str(audit.cells)]
        words += ["--trials", str(audit.replica.trials)]
        if scenario.options:
            words += ["--options", ",".join(f"{name}={value}" for name, value in scenario.options)]
        return shlex.join(words)

    @property
    def check_command(self) -> str:
        """The command that runs the checklist against the client with its own coins."""
        scenario, schedule = self.scenario, self.schedule
        words = ["python", "-m", "ldpcore", "check", "--mechanism", scenario.mechanism]
        words += ["--epsilon", repr(scenario.epsilon), "--domain-size", str(self.evidence.checks.cells)]
        words += ["--floor", str(scenario.floor), "--confidence", repr(scenario.confidence)]
        words += ["--correction", scenario.correction, "--interval", scenario.interval]
        words += ["--cap", str(schedule.cap), "--at-cap", schedule.at_cap]
        if not schedule.memo:
            words.append("--no-memo")
        if scenario.options:
            words += ["--options", ",".join(f"{name}={value}" for name, value in scenario.options)]
        return shlex.join(words)

    def page(self, name: str, **view: str) -> str:
        """Return the link to a page with these settings and choices of its view, relative to the dashboard."""
        params = {**self.scenario.to_params(), **self.schedule.to_params(), **view}
        return f"/{name}?{urlencode(params)}" if params else f"/{name}"


def traced(section: Section, facts: Facts) -> Section:
    """Return a section whose every computed number has a command: the report's own where no narrower one prints it."""

    def with_command(claim: Claim) -> Claim:
        if claim.source != COMPUTED or claim.reproduce or not (claim.figures or claim.exact):
            return claim
        return replace(claim, reproduce=facts.review_command)

    return replace(section, statements=tuple(with_command(claim) for claim in section.statements))


def configuration_of(scenario: Scenario, schedule: Schedule) -> str:
    """Return the SHA-256 of every setting of a run and its schedule, and of the package's version, in hexadecimal."""
    settings = {
        "version": ldpcore.__version__,
        "scenario": scenario.to_dict(),
        "schedule": schedule.to_dict(),
    }
    text = json.dumps(settings, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def full_review_command(
    scenario: Scenario, schedule: Schedule, *, level: str, beside: str | None = None
) -> str:
    """Return the command that makes the report of a scenario, beside another one where its word is given."""
    words = scenario.to_command().replace("ldpcore run", "ldpcore review", 1)
    extra = ["--level", level, *schedule_words(schedule)]
    if beside is not None:
        extra += ["--beside", beside]
    return f"{words} {shlex.join(extra)} --json"


def schedule_words(schedule: Schedule) -> list[str]:
    """Return the words of a command line that say when devices report; none for what is the default."""
    default = Schedule()
    words: list[str] = []
    for name, option in (
        ("reports_a_day", "--reports-a-day"),
        ("cap", "--cap"),
        ("epoch_days", "--epoch-days"),
        ("at_cap", "--at-cap"),
    ):
        value = getattr(schedule, name)
        if value != getattr(default, name):
            words += [option, str(value)]
    if schedule.memo != default.memo:
        words.append("--memo" if schedule.memo else "--no-memo")
    return words
