"""The verb about the phone's program: the guide's checklist, run against what ships."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from ldpcore.console import (
    ConfidenceOption,
    CorrectionOption,
    EpsilonOption,
    FloorOption,
    IntervalOption,
    Json,
    MechanismOption,
    OptionsOption,
    print_answer,
    progress,
)
from ldpcore.mechanisms import make_mechanism, parse_options
from ldpcore.schedule import DEFAULT_SCHEDULE, Schedule
from ldpcore.settings import DEFAULT, Scenario

app = typer.Typer()


@app.command()
def check(
    mechanism: MechanismOption = DEFAULT.mechanism,
    epsilon: EpsilonOption = DEFAULT.epsilon,
    domain_size: Annotated[int, typer.Option(help="Number of cells.")] = 20,
    options: OptionsOption = "",
    cap: Annotated[int, typer.Option(help="Distinct cells of an epoch.")] = DEFAULT_SCHEDULE.cap,
    at_cap: Annotated[
        str, typer.Option(help="What the device does beyond the cap: silent or replay.")
    ] = DEFAULT_SCHEDULE.at_cap,
    floor: FloorOption = DEFAULT.floor,
    confidence: ConfidenceOption = DEFAULT.confidence,
    correction: CorrectionOption = DEFAULT.correction,
    interval: IntervalOption = DEFAULT.interval,
    *,
    memo: Annotated[
        bool, typer.Option("--memo/--no-memo", help="Whether the device remembers its answers.")
    ] = DEFAULT_SCHEDULE.memo,
    as_json: Json = False,
) -> None:
    """Run the guide's six-point checklist against the client and the estimator that ship."""
    from ldpcore.checklist import ITEMS, Check, Publishing, checklist
    from ldpcore.limits import require_cells

    require_cells(domain_size)
    made = make_mechanism(mechanism, epsilon=epsilon, domain_size=domain_size, **parse_options(options))
    schedule = Schedule(cap=cap, at_cap=at_cap, memo=memo)
    # A scenario refuses what cannot be published by, in its own words.
    rules = Scenario(floor=floor, confidence=confidence, correction=correction, interval=interval)
    publishing = Publishing(rules.floor, rules.confidence, rules.correction, rules.interval)
    found: list[Check] = []
    running = checklist(made, schedule=schedule, rules=publishing)
    for item in ITEMS:
        progress(f"checking: {item}")
        found.append(next(running))
    answer = [asdict(each) for each in found]
    if not as_json:
        answer = [{**row, "passed": "yes" if row["passed"] else "no"} for row in answer]
        for row in answer:
            del row["figures"]
    print_answer(answer, as_json=as_json)
    if not all(each.passed for each in found):
        raise typer.Exit(1)
