"""The command line: the same runs as the dashboard, as tables or JSON.

Standard output carries the answer alone; progress and notes go to standard error. Bad input
ends with exit code 2 and one sentence.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.exceptions import TyperException

from ldpcore import __version__, cli_decide, cli_device, cli_library, cli_reports, cli_review
from ldpcore.cli_library import ScenarioOption, run_file
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
    exact,
    note,
    number,
    print_answer,
    progress,
    read_scenario,
    refuse,
)
from ldpcore.errors import ParameterError, TripFileError
from ldpcore.mechanisms import MECHANISMS, make_mechanism, parse_options
from ldpcore.settings import DEFAULT, RESOLUTIONS, Scenario
from ldpcore.trips.cities import CITIES, city_domain

if TYPE_CHECKING:
    from ldpcore.release import Release

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Local differential privacy on location data: synthetic or own trips, randomised, de-biased, published.",
)
app.add_typer(cli_reports.app)
app.add_typer(cli_decide.app)
app.add_typer(cli_library.app)
app.add_typer(cli_device.app)
app.add_typer(cli_review.app)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"ldpcore {__version__}")
        raise typer.Exit


@app.callback()
def about(
    *,
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version and stop.", callback=_print_version, is_eager=True),
    ] = False,
) -> None:
    """Local differential privacy on location data: synthetic or own trips, randomised, de-biased, published."""


def main(arguments: Sequence[str]) -> int:
    """Run one verb and return its exit code; a user's mistake is one line on standard error."""
    command = typer.main.get_command(app)
    if not arguments:
        arguments = ["--help"]
    try:
        outcome = command.main(args=list(arguments), prog_name="python -m ldpcore", standalone_mode=False)
    except (ParameterError, TripFileError) as error:
        return refuse(str(error))
    except TyperException as error:  # every mistake in the words of the call
        return refuse(error.format_message())
    except typer.Abort:
        return 130
    return int(outcome or 0)


@app.command()
def cities(*, as_json: Json = False) -> None:
    """List the built-in service areas and how many cells each has."""
    rows = [
        {"name": slug, "cells": {str(level): city_domain(slug, level).size for level in RESOLUTIONS}}
        for slug in CITIES
    ]
    print_answer(rows, as_json=as_json, flatten="cells")


@app.command()
def mechanisms(
    epsilon: EpsilonOption = DEFAULT.epsilon,
    domain_size: Annotated[int, typer.Option(help="Number of cells.")] = 318,
    *,
    as_json: Json = False,
) -> None:
    """Compare the randomisers at one epsilon and domain size."""
    rows = []
    for name in MECHANISMS:
        mechanism = make_mechanism(name, epsilon=epsilon, domain_size=domain_size)
        rows.append(
            {
                "name": name,
                "p": number(mechanism.p),
                "q": number(mechanism.q),
                "variance_empty": mechanism.variance_empty,
                "variance_slope": mechanism.variance_slope,
                "report_bits": mechanism.report_bits,
                "payload_bytes": mechanism.payload_bytes,
                "epsilon_effective": mechanism.epsilon_effective,
            }
        )
    print_answer(rows, as_json=as_json)


@app.command()
def trips(
    city: Annotated[str, typer.Option(help="Built-in city.")],
    devices: Annotated[int, typer.Option(help="Number of devices.")],
    out: Annotated[Path, typer.Option(help="File to write: .csv or .parquet.")],
    seed: Annotated[int, typer.Option(help="Seed of the trips.")] = DEFAULT.seed,
    day: Annotated[str, typer.Option(help="weekday or weekend.")] = "weekday",
    *,
    as_json: Json = False,
) -> None:
    """Write synthetic trips to a file."""
    from ldpcore.trips.write import write_trips

    # The scenario knows the rules for these settings, so it checks them before any work.
    scenario = Scenario(city=city, devices=devices, seed=seed, day=day)
    start = time.perf_counter()
    rows = write_trips(out, scenario, progress=progress)
    seconds = time.perf_counter() - start
    print_answer({"rows": rows, "devices": devices, "seconds": seconds}, as_json=as_json)


@app.command()
def run(
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
    method: Annotated[
        str | None,
        typer.Option(
            "--fall-back",
            help="Answer suppressed cells by coarser ones: summed or groups; --out then holds mixed resolutions.",
        ),
    ] = None,
    coarsest: Annotated[
        int | None, typer.Option(help="Coarsest resolution of --fall-back; by default two above.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Write the table, truth included: .csv, .geojson or .parquet.")
    ] = None,
    *,
    as_json: Json = False,
) -> None:
    """Randomise, de-bias and publish: the main job."""
    from ldpcore.population import population_of
    from ldpcore.release_files import require_writable, write_release
    from ldpcore.scenario import run_population

    if out is not None:
        require_writable(out)
    if coarsest is not None and method is None:
        raise ParameterError(
            "coarsest", "--coarsest belongs to --fall-back; add --fall-back summed or groups."
        )
    reading = {"zones": zones, "crs": crs, "mapping": column}
    if scenario is not None:
        settings, table = run_file(scenario, context, trips=trips, reading=reading)
    else:
        settings, table = read_scenario(
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
    progress("making trips" if table is None else "placing trips in cells")
    population = population_of(settings, table)
    for sentence in population.notes:
        note(sentence)
    progress("randomising and estimating")
    release = run_population(settings, population)
    figures = run_figures(release)
    if method is None:
        written = write_release(release, out, truth=True) if out is not None else []
    else:
        from ldpcore.fallback import fall_back
        from ldpcore.fallback_files import fallback_figures, write_fallback

        mixed = fall_back(settings, population, method=method, coarsest=coarsest)
        written = write_fallback(release, mixed, out, truth=True) if out is not None else []
        figures |= fallback_figures(mixed)
    for path in written:
        progress(f"wrote {path}")
    print_answer(figures, as_json=as_json)


def run_figures(release: Release) -> dict[str, Any]:
    """Return the figures of a run, as the verb ``run`` prints them."""
    population, figures, mechanism = release.population, release.figures, release.mechanism
    return {
        "domain_size": population.domain.size,
        "domain_version": population.domain.version,
        "reports": population.size,
        "unit": population.unit,
        "p": number(mechanism.p),
        "q": number(mechanism.q),
        "p_exact": exact(mechanism.p),
        "q_exact": exact(mechanism.q),
        "epsilon_effective": mechanism.epsilon_effective,
        "published": figures.published,
        "published_expected": figures.published_expected,
        "suppressed": population.domain.size - figures.published,
        "rmse": figures.rmse,
        "rmse_expected": figures.rmse_expected,
        "coverage": figures.coverage,
        "false_published": figures.false_published,
        "false_published_expected": figures.false_published_expected,
        "false_suppressed": figures.false_suppressed,
        "rows_read": population.rows_read,
        "rows_used": population.rows_read - sum(population.rows_dropped.values()),
        "rows_dropped": dict(population.rows_dropped),
        "domain_from_data": population.area.from_data,
        "truth_drawn_from_law": population.drawn,
        "notes": list(population.notes),
        "seconds": release.seconds,
    }
