"""The verb that writes the reviewer's report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from ldpcore.cli_library import ScenarioOption, named_or_file, open_scenario, run_file
from ldpcore.console import (
    AreaOption,
    CityOption,
    ConfidenceOption,
    CorrectionOption,
    CrsOption,
    DayOption,
    DevicesOption,
    EpsilonOption,
    FloorOption,
    HourOption,
    IntervalOption,
    Json,
    MapOption,
    MechanismOption,
    OptionsOption,
    QueryOption,
    ResolutionOption,
    TimezoneOption,
    TripsOption,
    ZonesOption,
    note,
    print_answer,
    progress,
    read_scenario,
)
from ldpcore.errors import ParameterError
from ldpcore.mechanisms import parse_options
from ldpcore.schedule import DEFAULT_SCHEDULE, Schedule
from ldpcore.settings import DEFAULT
from ldpcore.statements import checked_statements

if TYPE_CHECKING:
    from ldpcore.review.other import Other

app = typer.Typer()

_LARGEST: Final = 256 * 1024


@app.command()
def review(
    context: typer.Context,
    scenario: ScenarioOption = None,
    city: CityOption = None,
    devices: DevicesOption = None,
    trips: TripsOption = None,
    area: AreaOption = None,
    zones: ZonesOption = None,
    crs: CrsOption = None,
    column: MapOption = None,
    timezone: TimezoneOption = None,
    query: QueryOption = DEFAULT.query,
    resolution: ResolutionOption = DEFAULT.resolution,
    mechanism: MechanismOption = DEFAULT.mechanism,
    epsilon: EpsilonOption = DEFAULT.epsilon,
    floor: FloorOption = DEFAULT.floor,
    confidence: ConfidenceOption = DEFAULT.confidence,
    seed: Annotated[int, typer.Option(help="Seed of trips and simulated randomisation.")] = DEFAULT.seed,
    draw: Annotated[
        int, typer.Option(help="Which redraw of the randomisation; the trips stay.")
    ] = DEFAULT.draw,
    hour: HourOption = None,
    day: DayOption = None,
    correction: CorrectionOption = DEFAULT.correction,
    interval: IntervalOption = DEFAULT.interval,
    options: OptionsOption = "",
    per_report: Annotated[bool, typer.Option(help="Really make and count every report.")] = False,
    reports_a_day: Annotated[
        int, typer.Option(help="Reports of one device a day.")
    ] = DEFAULT_SCHEDULE.reports_a_day,
    cap: Annotated[int, typer.Option(help="Distinct cells of an epoch.")] = DEFAULT_SCHEDULE.cap,
    epoch_days: Annotated[
        int, typer.Option(help="Days after which answers are drawn anew.")
    ] = DEFAULT_SCHEDULE.epoch_days,
    at_cap: Annotated[
        str, typer.Option(help="What the device does beyond the cap: silent or replay.")
    ] = DEFAULT_SCHEDULE.at_cap,
    level: Annotated[str, typer.Option(help="quick or full: how much is tried.")] = "quick",
    statements: Annotated[
        Path | None, typer.Option(help="Your own words: a JSON object of text by name of the statement.")
    ] = None,
    beside: Annotated[
        str | None,
        typer.Option(
            help="Another scenario to set beside this one: a scenario file, or a name of the library such as congestion."
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Write the report: .html, .pdf, .yaml or .json.")] = None,
    *,
    memo: Annotated[
        bool, typer.Option("--memo/--no-memo", help="Whether the device remembers its answers.")
    ] = DEFAULT_SCHEDULE.memo,
    as_json: Json = False,
) -> None:
    """Write the evidence that a privacy reviewer signs: each sentence computed now, yours, or not addressed.

    Ends with exit code 1 where a check contradicts the claim.
    """
    from ldpcore.population import Population, population_of
    from ldpcore.review import LEVELS
    from ldpcore.review import review as write
    from ldpcore.review.files import require_report_path, write_report
    from ldpcore.review.pdf import unprintable_words
    from ldpcore.settings import Scenario

    if out is not None:
        require_report_path(out)
    if level not in LEVELS:
        raise ParameterError("level", f"There is no level {level!r}; choose one of {', '.join(LEVELS)}.")
    words = read_statements(statements) if statements is not None else {}
    other = read_other(beside) if beside is not None else None
    reading = {"zones": zones, "crs": crs, "mapping": column}
    if scenario is not None:
        what, table = run_file(scenario, context, trips=trips, reading=reading)
        file = open_scenario(scenario)
        schedule = file.schedule
        if statements is None:
            words = dict(file.statements)
    else:
        schedule = Schedule(
            reports_a_day=reports_a_day, memo=memo, cap=cap, epoch_days=epoch_days, at_cap=at_cap
        )
        what, table = read_scenario(
            {
                "query": query,
                "resolution": resolution,
                "mechanism": mechanism,
                "options": tuple(sorted(parse_options(options).items())),
                "epsilon": epsilon,
                "floor": floor,
                "confidence": confidence,
                "seed": seed,
                "draw": draw,
                "hour": hour,
                "day": day,
                "correction": correction,
                "interval": interval,
                "per_report": per_report,
            },
            devices=devices,
            trips=trips,
            place={"city": city, "area": area, "timezone": timezone},
            reading=reading,
        )
    said = ""

    def told(done: int, total: int, sentence: str) -> None:
        nonlocal said
        if sentence != said:
            progress(f"{done} of {total}: {sentence}")
        said = sentence

    def population_at(other: Scenario) -> Population:
        return population_of(other, table)

    report = write(
        what,
        schedule=schedule,
        statements=words,
        level=level,
        beside=other,
        population_at=population_at,
        progress=told,
    )
    if out is not None:
        write_report(report, out)
        progress(f"wrote {out}")
        if out.suffix.lower() == ".pdf" and (lacking := unprintable_words(report)):
            note(lacking)
    if not what.synthetic:
        note(report.banner)
    answer: Any = report.to_dict()
    if not as_json:
        front = report.sections[0].statements[0].table
        rows = front.rows if front is not None else ()
        answer = {"Verdict": report.verdict, **{row[0]: row[1] for row in rows}}
    print_answer(answer, as_json=as_json)
    if not report.supported:
        raise typer.Exit(1)


def read_other(text: str) -> Other:
    """Return the scenario that ``--beside`` names.

    Raises
    ------
    ParameterError
        If it is no name of the library and no scenario file, with the field of the file named.
    """
    from ldpcore.review.other import Other

    try:
        file = named_or_file(text)
    except ParameterError as error:
        raise ParameterError("beside", f"--beside: {error}") from error
    # A report says nothing of the folders of who made it.
    return Other(file, Path(text).name)


def read_statements(path: Path) -> dict[str, str]:
    """Read a file of statements.

    Raises
    ------
    ParameterError
        If it can't be opened, is too large, is no JSON object, or a statement in it can't be used.
    """
    try:
        with path.open("rb") as file:
            content = file.read(_LARGEST + 1)
    except (OSError, ValueError) as error:
        raise ParameterError("statements", f"The file of statements {path.name} cannot be opened.") from error
    if len(content) > _LARGEST:
        raise ParameterError(
            "statements", f"The file of statements {path.name} is larger than 256 kB; shorten it."
        )
    try:
        found = json.loads(content.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise ParameterError(
            "statements", f'{path.name} is no JSON; write an object such as {{"name": "Congestion map"}}.'
        ) from error
    if not isinstance(found, dict):
        raise ParameterError(
            "statements", f'{path.name} holds no JSON object; write one such as {{"name": "Congestion map"}}.'
        )
    return checked_statements(found)
