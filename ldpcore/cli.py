"""The command line: the same runs as the dashboard, as tables or JSON.

Standard output carries the answer alone; progress goes to standard error. Bad input ends
with exit code 2 and one sentence.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from typer.exceptions import TyperException

from ldpcore.errors import ParameterError, TripFileError
from ldpcore.mechanisms import MECHANISMS, make_mechanism, parse_options
from ldpcore.settings import DEFAULT, RESOLUTIONS, Scenario
from ldpcore.trips.cities import CITIES, city_domain

if TYPE_CHECKING:
    from ldpcore.release import Release
    from ldpcore.trips.read import TripTable

EXIT_BAD_INPUT: Final = 2

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Local differential privacy on location data: synthetic or own trips, randomised, de-biased, published.",
)

Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


def main(arguments: Sequence[str]) -> int:
    """Run one verb and return its exit code; a user's mistake is one line on standard error."""
    command = typer.main.get_command(app)
    try:
        outcome = command.main(args=list(arguments), prog_name="python -m ldpcore", standalone_mode=False)
    except (ParameterError, TripFileError) as error:
        return _refuse(str(error))
    except TyperException as error:  # every mistake in the words of the call
        return _refuse(error.format_message())
    except typer.Abort:
        return 130
    return int(outcome or 0)


@app.command()
def cities(*, as_json: Json = False) -> None:
    """List the built-in service areas and how many cells each has."""
    rows = [
        {
            "name": slug,
            "cells": {str(resolution): city_domain(slug, resolution).size for resolution in RESOLUTIONS},
        }
        for slug in CITIES
    ]
    _print(rows, as_json=as_json, flatten="cells")


@app.command()
def mechanisms(
    epsilon: Annotated[float, typer.Option(help="Privacy loss of one report.")] = DEFAULT.epsilon,
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
                "p": _number(mechanism.p),
                "q": _number(mechanism.q),
                "variance_empty": mechanism.variance_empty,
                "variance_slope": mechanism.variance_slope,
                "report_bits": mechanism.report_bits,
                "epsilon_effective": mechanism.epsilon_effective,
            }
        )
    _print(rows, as_json=as_json)


@app.command()
def audit(
    mechanism: Annotated[str, typer.Option(help="Randomiser; see the verb mechanisms.")] = DEFAULT.mechanism,
    epsilon: Annotated[float, typer.Option(help="Privacy loss on the label.")] = DEFAULT.epsilon,
    domain_size: Annotated[int, typer.Option(help="Number of cells.")] = 20,
    trials: Annotated[int, typer.Option(help="Reports in each of the two worlds.")] = 20_000,
    options: Annotated[str, typer.Option(help="Options of the randomiser, k=v,k=v.")] = "",
    *,
    as_json: Json = False,
) -> None:
    """Attack the on-device client and say which epsilon its reports prove."""
    from ldpcore.privacy.audit import audit_mechanism

    made = make_mechanism(mechanism, epsilon=epsilon, domain_size=domain_size, **parse_options(options))
    _progress(f"making {2 * trials} reports on the device's own code")
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
        "seconds": time.perf_counter() - start,
    }
    _print(answer, as_json=as_json)
    if not found.passed:
        raise typer.Exit(1)


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
    rows = write_trips(out, scenario, progress=_progress)
    seconds = time.perf_counter() - start
    _print({"rows": rows, "devices": devices, "seconds": seconds}, as_json=as_json)


@app.command()
def run(
    city: Annotated[str | None, typer.Option(help="Built-in city (new_york without --trips).")] = None,
    devices: Annotated[int | None, typer.Option(help="Number of synthetic devices.")] = None,
    trips: Annotated[Path | None, typer.Option(help="Trip file of your own, CSV or Parquet.")] = None,
    area: Annotated[
        str | None, typer.Option(help="Service area of --trips: W,S,E,N in degrees or a GeoJSON file.")
    ] = None,
    zones: Annotated[
        Path | None, typer.Option(help="Zone file, for trips that name zones instead of coordinates.")
    ] = None,
    crs: Annotated[
        str | None, typer.Option(help="Coordinate system of --trips in metres, such as EPSG:25833.")
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option("--map", help="Which column holds what: field=column, may be repeated."),
    ] = None,
    timezone: Annotated[str | None, typer.Option(help="IANA zone of an --area (UTC without it).")] = None,
    query: Annotated[str, typer.Option(help="origins, destinations or presence.")] = DEFAULT.query,
    resolution: Annotated[int, typer.Option(help="H3 resolution, 5 to 10.")] = DEFAULT.resolution,
    mechanism: Annotated[str, typer.Option(help="Randomiser; see the verb mechanisms.")] = DEFAULT.mechanism,
    epsilon: Annotated[float, typer.Option(help="Privacy loss of one report, up to 20.")] = DEFAULT.epsilon,
    floor: Annotated[
        int, typer.Option(help="Smallest number of devices that may be published.")
    ] = DEFAULT.floor,
    confidence: Annotated[
        float, typer.Option(help="Of error bars and floor, between 0 and 1.")
    ] = DEFAULT.confidence,
    seed: Annotated[int, typer.Option(help="Seed of trips and simulated randomisation.")] = DEFAULT.seed,
    draw: Annotated[
        int, typer.Option(help="Which redraw of the randomisation; the trips stay.")
    ] = DEFAULT.draw,
    hour: Annotated[int | None, typer.Option(help="Local hour of the day, 0 to 23.")] = None,
    day: Annotated[str | None, typer.Option(help="weekday or weekend.")] = None,
    correction: Annotated[
        str, typer.Option(help="Over cells: none, bonferroni or sidak.")
    ] = DEFAULT.correction,
    interval: Annotated[str, typer.Option(help="score or exact.")] = DEFAULT.interval,
    options: Annotated[str, typer.Option(help="Options of the randomiser, k=v,k=v.")] = "",
    per_report: Annotated[bool, typer.Option(help="Really make and count every report.")] = False,
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
    if trips is not None and devices is not None:
        raise ParameterError("devices", "--devices counts synthetic devices; leave it out with --trips.")
    if trips is None and area is not None:
        raise ParameterError(
            "area", "--area is the service area of --trips; choose a --city for synthetic trips."
        )
    settings: dict[str, Any] = {
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
    }
    if trips is None:
        Scenario(**settings)  # so that a bad setting is refused before the file is read
        scenario = Scenario(**settings, **_given(city=city, devices=devices))
        table = None
    else:
        scenario, table = _read_scenario(
            trips,
            settings,
            {"city": city, "area": area, "timezone": timezone},
            {"zones": zones, "crs": crs, "mapping": column or []},
        )
    _progress("making trips" if table is None else "placing trips in cells")
    population = population_of(scenario, table)
    for note in population.notes:
        typer.echo(f"note: {note}", err=True)
    _progress("randomising and estimating")
    release = run_population(scenario, population)
    if out is not None:
        for path in write_release(release, out, truth=True):
            _progress(f"writing {path}")
    _print(run_figures(release), as_json=as_json)


def run_figures(release: Release) -> dict[str, Any]:
    """Return the figures of a run, as the verb ``run`` prints them."""
    population, figures, mechanism = release.population, release.figures, release.mechanism
    return {
        "domain_size": population.domain.size,
        "domain_version": population.domain.version,
        "reports": population.size,
        "unit": population.unit,
        "p": _number(mechanism.p),
        "q": _number(mechanism.q),
        "p_exact": _exact(mechanism.p),
        "q_exact": _exact(mechanism.q),
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


def _read_scenario(
    path: Path, settings: Mapping[str, Any], place: Mapping[str, Any], reading: Mapping[str, Any]
) -> tuple[Scenario, TripTable]:
    """Read a file and return the scenario about it.

    Parameters
    ----------
    path
        The trip file.
    settings
        Settings of the run.
    place
        City, area and time zone as far as they were named.
    reading
        Zone file, coordinate system and columns, for files that need help.
    """
    from ldpcore.trips.areas import area_from_text
    from ldpcore.trips.read import read_trips
    from ldpcore.trips.zones import read_zones

    Scenario(**settings, trips="0" * 64, **place)  # so that a bad setting is refused before the file is read
    homes = []
    if place["city"] is not None:
        homes = [CITIES[place["city"]].bounds]
    if place["area"] is not None:
        homes = [area_from_text(place["area"], timezone=place["timezone"]).bounds]
    mapping = {}
    for pair in reading["mapping"]:
        name, equals, column = pair.partition("=")
        if not equals:
            raise ParameterError("map", f"--map takes field=column, got {pair!r}; try start_lat=latitude.")
        mapping[name] = column
    zones = read_zones(reading["zones"]) if reading["zones"] is not None else None
    _progress(f"reading {path}")
    table = read_trips(path, mapping=mapping, homes=homes, zones=zones, crs=reading["crs"])
    return Scenario(**settings, trips=table.digest, **place), table


def _given(**settings: Any) -> dict[str, Any]:  # noqa: ANN401 - whatever the option holds
    return {name: value for name, value in settings.items() if value is not None}


def _number(fraction: Any) -> float | None:  # noqa: ANN401 - Fraction or None
    return None if fraction is None else float(fraction)


def _exact(fraction: Any) -> str | None:  # noqa: ANN401 - Fraction or None
    return None if fraction is None else f"{fraction.numerator}/{fraction.denominator}"


def _progress(sentence: str) -> None:
    """Say what is being done, to a person: a script that keeps standard error gets mistakes and notes alone."""
    if sys.stderr.isatty():
        typer.echo(f"{sentence} ...", err=True)


def _refuse(sentence: str) -> int:
    typer.echo("error: " + " ".join(sentence.split()), err=True)
    return EXIT_BAD_INPUT


def _print(answer: Any, *, as_json: bool, flatten: str | None = None) -> None:  # noqa: ANN401 - any JSON
    if as_json:
        sys.stdout.write(json.dumps(answer, allow_nan=False) + "\n")
        return
    rows = (
        answer if isinstance(answer, list) else [{"figure": k, "value": _cell(v)} for k, v in answer.items()]
    )
    if flatten:
        rows = [{**{k: v for k, v in row.items() if k != flatten}, **row[flatten]} for row in rows]
    names = list(rows[0])
    texts = [names] + [[_cell(row[name]) for name in names] for row in rows]
    widths = [max(len(line[i]) for line in texts) for i in range(len(names))]
    for line in texts:
        sys.stdout.write(
            "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip() + "\n"
        )


def _cell(value: Any) -> str:  # noqa: ANN401 - any JSON value
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {count}" for name, count in value.items()) or "none"
    if isinstance(value, list):
        return "; ".join(str(item) for item in value) or "none"
    return "" if value is None else str(value)
