"""The reviewer's report: what is promised, by which code, with what evidence, and what is not protected.

Each sentence is computed at that moment, the user's own words, or "not addressed". The same scenario, schedule,
statements and level give the same report, byte for byte save the time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from threading import Event
from typing import Any

import ldpcore
from ldpcore.errors import ParameterError
from ldpcore.population import Population, population_of
from ldpcore.privacy.composition import device_loss
from ldpcore.release import Release
from ldpcore.review import checks, limits, promise, use
from ldpcore.review.beside import beside as beside_section
from ldpcore.review.evidence import LEVELS, Evidence, Progress, ReviewCancelled
from ldpcore.review.facts import Facts, traced
from ldpcore.review.gathering import STEPS, gather
from ldpcore.review.label import label
from ldpcore.review.other import Beside, Other, run_both
from ldpcore.review.registry import registry_of
from ldpcore.review.report import NOT_ADDRESSED, Claim, Report, Section, Table
from ldpcore.review.words import rounded
from ldpcore.scenario import run_population
from ldpcore.schedule import DEFAULT_SCHEDULE, Schedule
from ldpcore.settings import Scenario
from ldpcore.statements import STATEMENTS, checked_statements, visible

__all__ = [
    "LEVELS",
    "Beside",
    "Claim",
    "Evidence",
    "Other",
    "Report",
    "ReviewCancelled",
    "Section",
    "Table",
    "compose",
    "gather",
    "review",
]

SECTIONS: tuple[Callable[[Facts], Section | None], ...] = (
    promise.purpose,
    promise.trust,
    promise.unit,
    promise.randomiser,
    promise.domain,
    promise.composition,
    promise.shuffling,
    use.justification,
    use.utility,
    use.suppression,
    use.postprocessing,
    beside_section,
    checks.checklist,
    checks.audit,
    checks.generator,
    checks.reconstruction,
    checks.poisoning,
    limits.unprotected,
    limits.hazards,
    limits.legal,
    limits.context,
)
"""Between the label and the open risks, in the order of reading; one that gives None is not there at all."""

_USELESS = 20
"""Loss a day from which odds can change by more than a hundred million, so that little is left to promise."""


def review(
    scenario: Scenario,
    *,
    schedule: Schedule = DEFAULT_SCHEDULE,
    statements: Mapping[str, str] | None = None,
    level: str = "quick",
    beside: Other | None = None,
    population_at: Callable[[Scenario], Population] = population_of,
    progress: Progress = lambda done, total, sentence: None,  # noqa: ARG005
    cancelled: Event | None = None,
    now: datetime | None = None,
) -> Report:
    """Try, measure and write: the whole report of a scenario.

    Parameters
    ----------
    scenario
        Every setting of the run.
    schedule
        When devices report.
    statements
        The user's own words by name of `ldpcore.statements.STATEMENTS`.
    level
        A key of `LEVELS`.
    beside
        Another scenario to set beside this one, in a section of its own; None for a report without that section.
    population_at
        Makes the devices of a scenario; one that reads a user's file closes over it.
    progress
        Called with steps done, steps in all, and what is done next.
    cancelled
        Set it to stop.
    now
        Time of the report; by default the clock's.

    Raises
    ------
    ParameterError
        If a setting or a statement can't be used, named in the error.
    ReviewCancelled
        If `cancelled` was set.
    """
    usable = checked_statements(statements or {})
    if level not in LEVELS:
        raise ParameterError("level", f"There is no level {level!r}; choose one of {', '.join(LEVELS)}.")
    pair = None
    if beside is not None:
        pair, population_at, progress = _first_step(
            scenario, schedule, beside, population_at, progress, cancelled
        )
    evidence = gather(
        scenario,
        schedule=schedule,
        level=level,
        population_at=population_at,
        progress=progress,
        cancelled=cancelled,
    )
    return compose(evidence, statements=usable, beside=pair, now=now)


def _first_step(
    scenario: Scenario,
    schedule: Schedule,
    other: Other,
    population_at: Callable[[Scenario], Population],
    progress: Progress,
    cancelled: Event | None,
) -> tuple[Beside, Callable[[Scenario], Population], Progress]:
    """Run both scenarios before anything is tried, so that one that can't be run is refused at once.

    Returns
    -------
    Both; what makes devices, with those of the two kept; and a progress that counts this step.
    """
    made: dict[Scenario, Population] = {}

    def kept(wanted: Scenario) -> Population:
        # Redraws share their devices: another draw is no other trip.
        key = replace(wanted, draw=0, per_report=False)
        if wanted.per_report:
            return population_at(wanted)
        if key not in made:
            made[key] = population_at(wanted)
        return made[key]

    def run(wanted: Scenario) -> Release:
        if cancelled is not None and cancelled.is_set():
            raise ReviewCancelled
        progress(0, STEPS + 1, "setting the other scenario beside")
        return run_population(wanted, kept(wanted))

    pair = run_both(scenario, schedule, other, release_of=run, population_of=kept)

    def told(done: int, total: int, sentence: str) -> None:
        progress(done + 1, total + 1, sentence)

    return pair, kept, told


def compose(
    evidence: Evidence,
    *,
    statements: Mapping[str, str] | None = None,
    beside: Beside | None = None,
    now: datetime | None = None,
) -> Report:
    """Write a report from evidence that was gathered; quick, so a changed statement costs no new run.

    Parameters as for `review`, save that the other scenario was run already.
    """
    facts = Facts(evidence, checked_statements(statements or {}), beside)
    # Labels of an own area and notes on an own file may hold what hides or reorders text, as statements may.
    written = [_shown(traced(section, facts)) for make in SECTIONS if (section := make(facts)) is not None]
    signature = _shown(traced(limits.signoff(facts), facts))
    open_points = _open_points([*written, signature], facts)
    supported = _supported(evidence)
    verdict = _verdict(facts, supported=supported, open_points=open_points)
    registry, gaps = registry_of(facts)
    place = visible(facts.population.area.label)
    return Report(
        title=f"Privacy review: {facts.statements.get('name', place)}",
        verdict=verdict,
        supported=supported,
        sections=(
            _shown(label(facts, verdict, open_points)),
            *written,
            _shown(traced(limits.risks(facts, open_points), facts)),
            signature,
        ),
        registry={part: _visible_texts(fields) for part, fields in registry.items()},
        registry_gaps=gaps,
        banner=promise.SYNTHETIC if evidence.scenario.synthetic else promise.OWN_FILE,
        level=evidence.level,
        configuration=facts.configuration,
        version=ldpcore.__version__,
        created=(now or datetime.now(tz=UTC)).isoformat(timespec="seconds"),
    )


def _shown(section: Section) -> Section:
    """Return a section without characters that hide or reorder text."""
    claims = tuple(
        replace(
            claim,
            text=visible(claim.text),
            reproduce=visible(claim.reproduce),
            page=visible(claim.page),
            table=claim.table
            and replace(
                claim.table, rows=tuple(tuple(visible(cell) for cell in row) for row in claim.table.rows)
            ),
        )
        for claim in section.statements
    )
    return replace(section, statements=claims)


def _visible_texts(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: visible(value) if isinstance(value, str) else value for name, value in fields.items()}


def _supported(evidence: Evidence) -> bool:
    """Tell whether every check of this run agrees with the claim."""
    return (
        evidence.audit.live_passed
        and evidence.audit.replica.passed
        and not evidence.generator.objections
        and evidence.mechanism.epsilon_effective <= evidence.scenario.epsilon
        and evidence.refused is not None
        and not evidence.checks.contradicts(evidence.schedule)
    )


def _open_points(sections: list[Section], facts: Facts) -> tuple[str, ...]:
    """Return what nobody addressed, once each, in the order of reading."""
    points = [
        claim.about for section in sections for claim in section.statements if claim.source == NOT_ADDRESSED
    ]
    if "open_risks" not in facts.statements:
        points.append(STATEMENTS["open_risks"].label)
    return tuple(dict.fromkeys(points))


def _verdict(facts: Facts, *, supported: bool, open_points: tuple[str, ...]) -> str:
    scenario = facts.scenario
    claim = f"one report has a privacy loss of at most ε = {scenario.epsilon:g}"
    count = len(open_points)
    still = f"{count} points are not addressed" if count != 1 else "one point is not addressed"
    failed = len(facts.evidence.checks.failed)
    day = device_loss(scenario.epsilon, facts.schedule, days=1, distinct_cells=facts.population.domain.size)
    total = f" One device adds up to at most ε = {rounded(day.epsilon, 6)} a day"
    total += "" if day.pattern_hidden else " for which cells it was in; when it changed cell is not covered"
    total += ", which is no guarantee in any useful sense." if day.epsilon > _USELESS else "."
    if not supported:
        return f"No: a check of this run contradicts the claim that {claim}; see what failed. {still[0].upper()}{still[1:]}."
    most = facts.evidence.audit.replica.max_certifiable
    text = (
        f"The claim that {claim} is supported: the exact probabilities imply {rounded(facts.mechanism.epsilon_effective, 6)}, and an "
        f"attack on the client that could have proved up to {rounded(most)} found nothing against it."
        if facts.evidence.audit.could_refute
        else f"The claim that {claim} is supported by the proof alone: the exact probabilities imply "
        f"{rounded(facts.mechanism.epsilon_effective, 6)}. The attack on the client could have proved {rounded(most)} at most, less than "
        "the claim, so that it found nothing does not count as support."
    )
    if failed:
        text += f" {failed} of the 6 points of the checklist fail{'s' if failed == 1 else ''}."
    text += total
    return f"{text} {still[0].upper()}{still[1:]}." if count else f"{text} Every point has a statement."
