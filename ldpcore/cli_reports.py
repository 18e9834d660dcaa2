"""The verbs about reports: make report files, count them, attack the client that makes them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

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
from ldpcore.mechanisms import make_mechanism, parse_options
from ldpcore.settings import DEFAULT, require_publishing_rules

if TYPE_CHECKING:
    from ldpcore.reports import ReportGroup

app = typer.Typer()


@app.command()
def perturb(
    out: Annotated[Path, typer.Option(help="Report file to write, .parquet.")],
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
    seed: Annotated[
        int | None, typer.Option(help="Seed of trips and simulated randomisation; not with --device.")
    ] = None,
    hour: HourOption = None,
    day: DayOption = None,
    options: OptionsOption = "",
    device: Annotated[
        bool, typer.Option("--device", help="Use the client that ships: cryptographic coins, no seed.")
    ] = False,
    *,
    as_json: Json = False,
) -> None:
    """Write one randomised report per device to a file."""
    from ldpcore.population import population_of
    from ldpcore.report_header import context_of
    from ldpcore.reports import perturb_to_file
    from ldpcore.scenario import noise_generator, scenario_mechanism

    if device and seed is not None:
        raise ParameterError("seed", "The client that ships takes no seed; leave out --seed or --device.")
    if out.suffix.lower() != ".parquet" or not out.parent.is_dir():
        raise ParameterError(
            "out",
            f"--out must be a .parquet file in a folder that exists, got {str(out)!r}; try reports.parquet.",
        )
    scenario, table = read_scenario(
        {
            "query": query,
            "resolution": resolution,
            "mechanism": mechanism,
            "options": tuple(sorted(parse_options(options).items())),
            "epsilon": epsilon,
            "seed": DEFAULT.seed if seed is None else seed,
            "hour": hour,
            "day": day,
        },
        devices=devices,
        trips=trips,
        place={"city": city, "area": area, "timezone": timezone},
        reading={"zones": zones, "crs": crs, "mapping": column},
    )
    population = population_of(scenario, table, with_values=True)
    assert population.values is not None  # noqa: S101 - asked for with values
    for sentence in population.notes:
        note(sentence)
    made = scenario_mechanism(scenario, population)
    progress(f"making {population.size} reports")
    written = perturb_to_file(
        out,
        population.values,
        made,
        population.domain,
        rng=None if device else noise_generator(scenario),
        context=context_of(scenario, population, shipped=device),
    )
    print_answer(written._asdict(), as_json=as_json)


@app.command()
def aggregate(
    files: Annotated[list[Path], typer.Argument(help="Report files of the verb perturb.")],
    out: Annotated[
        Path | None, typer.Option(help="Release to write, without truth: .csv, .geojson or .parquet.")
    ] = None,
    floor: FloorOption = DEFAULT.floor,
    confidence: ConfidenceOption = DEFAULT.confidence,
    correction: CorrectionOption = DEFAULT.correction,
    interval: IntervalOption = DEFAULT.interval,
    *,
    as_json: Json = False,
) -> None:
    """Count report files and publish; domains, parameters and questions are never mixed."""
    from ldpcore.release import release_of_reports
    from ldpcore.release_files import reports_sidecar, require_writable, write_table
    from ldpcore.report_header import question_words
    from ldpcore.reports import aggregate_files

    rules: dict[str, Any] = {
        "floor": floor,
        "confidence": confidence,
        "correction": correction,
        "interval": interval,
    }
    require_publishing_rules(**rules)
    if out is not None:
        require_writable(out)
    start = time.perf_counter()
    counted = aggregate_files(files)
    for sentence in counted.notes:
        note(sentence)
    if not any(group.reports for group in counted.groups):
        refused = ", ".join(f"{rows} {reason}" for reason, rows in counted.rejected.items())
        raise ParameterError(
            "files",
            f"No data: the files hold no report that can be counted (refused: {refused or 'none'}); "
            "write one with the verb perturb.",
        )
    groups = []
    for group, path in zip(counted.groups, _release_paths(out, counted.groups), strict=True):
        if group.domain_from_data:
            note(
                f"The service area {group.domain.name!r} was taken from the data. Cells chosen from where people went "
                "say where they went: before a real release, name a public area instead."
            )
        written = []
        if group.reports:
            frame = release_of_reports(group.domain, group.mechanism, group.counts, n=group.reports, **rules)
            if path is not None:
                written = write_table(frame, reports_sidecar(group, rules=rules), path)
        else:
            note(f"No report about {question_words(group.question)} can be counted, so it has no release.")
        groups.append(
            {
                "domain_version": group.domain.version,
                "parameters": group.mechanism.parameters(),
                "reports": group.reports,
                "question": dict(group.question),
                "domain": group.domain.name,
                "resolution": group.domain.resolution,
                "domain_from_data": group.domain_from_data,
                "epsilon_effective": group.mechanism.epsilon_effective,
                "files": [str(name) for name in written],
            }
        )
    seconds = time.perf_counter() - start
    answer = {"groups": groups, "rejected": counted.rejected, "seconds": seconds}
    print_answer(answer, as_json=as_json)


def _release_paths(out: Path | None, groups: Sequence[ReportGroup]) -> list[Path | None]:
    """Return where each group's release goes: one name, made longer by what tells the groups apart."""
    if out is None:
        return [None] * len(groups)
    from ldpcore.report_header import question_words

    marks = [
        (group.domain.version, group.mechanism.parameters_version, question_words(group.question))
        for group in groups
    ]
    names: list[str] = []
    for mark in marks:
        same_domain = [other for other in marks if other[0] == mark[0]]
        same = [other for other in same_domain if other[1] == mark[1]]
        parts = [mark[0]] if len(groups) > 1 else []
        parts += [mark[1]] if len({other[1] for other in same_domain}) > 1 else []
        parts += [mark[2]] if len(same) > 1 else []
        name = ".".join([out.stem, *parts])
        # Questions of a stranger's file may read alike after what a file name cannot hold was taken out.
        names.append(name if name not in names else f"{name}.{len(names) + 1}")
    return [out.with_name(name + out.suffix) for name in names]


@app.command()
def audit(
    mechanism: MechanismOption = DEFAULT.mechanism,
    epsilon: EpsilonOption = DEFAULT.epsilon,
    domain_size: Annotated[int, typer.Option(help="Number of cells.")] = 10,
    trials: Annotated[int, typer.Option(help="Reports in each of the two worlds.")] = 20_000,
    options: OptionsOption = "",
    *,
    as_json: Json = False,
) -> None:
    """Attack the on-device client and say which epsilon its reports prove."""
    from ldpcore.limits import require_cells, require_room
    from ldpcore.privacy.audit import FAILURE, audit_mechanism

    require_cells(domain_size)
    made = make_mechanism(mechanism, epsilon=epsilon, domain_size=domain_size, **parse_options(options))
    require_room(made, 2 * trials, parameter="trials", per=2)
    progress(f"making {2 * trials} reports on the device's own code")
    start = time.perf_counter()
    found = audit_mechanism(made, trials=trials)
    answer = {
        "mechanism": mechanism,
        "epsilon": epsilon,
        "epsilon_effective": made.epsilon_effective,
        "epsilon_lower_bound": found.epsilon_lower_bound,
        "max_certifiable": found.max_certifiable,
        "passed": found.passed,
        "best_event": found.findings[0].event,
        "trials": trials,
        "cells": domain_size,
        "failure": FAILURE,
        "seconds": time.perf_counter() - start,
    }
    print_answer(answer, as_json=as_json)
    if not found.passed:
        raise typer.Exit(1)
