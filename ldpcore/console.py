"""What the verbs of the command line share: options, answers as a table or JSON, progress, refusals."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from ldpcore.errors import ParameterError
from ldpcore.settings import Scenario
from ldpcore.trips.cities import CITIES

if TYPE_CHECKING:
    from ldpcore.trips.table import TripTable

EXIT_BAD_INPUT: Final = 2

Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
CityOption = Annotated[str | None, typer.Option("--city", help="Built-in city (new_york without --trips).")]
DevicesOption = Annotated[int | None, typer.Option("--devices", help="Number of synthetic devices.")]
TripsOption = Annotated[
    Path | None, typer.Option("--trips", help="Trip file of your own; the formats are in the README.")
]
AreaOption = Annotated[
    str | None,
    typer.Option("--area", help="Service area of --trips: W,S,E,N in degrees or a GeoJSON file."),
]
ZonesOption = Annotated[
    Path | None, typer.Option("--zones", help="Zone file, for trips that name zones instead of coordinates.")
]
CrsOption = Annotated[
    str | None,
    typer.Option(
        "--crs",
        help="Coordinate system of --trips that are not in degrees, such as EPSG:25833; E6 for millionths of a degree.",
    ),
]
MapOption = Annotated[
    list[str] | None,
    typer.Option("--map", help="Which column holds what: field=column, may be repeated."),
]
TimezoneOption = Annotated[
    str | None, typer.Option("--timezone", help="IANA zone of an --area (UTC without it).")
]
QueryOption = Annotated[str, typer.Option("--query", help="origins, destinations or presence.")]
ResolutionOption = Annotated[int, typer.Option("--resolution", help="H3 resolution, 5 to 10.")]
MechanismOption = Annotated[str, typer.Option("--mechanism", help="Randomiser; see the verb mechanisms.")]
EpsilonOption = Annotated[float, typer.Option("--epsilon", help="Privacy loss of one report, up to 20.")]
FloorOption = Annotated[
    int, typer.Option("--floor", help="Smallest number of devices that may be published.")
]
ConfidenceOption = Annotated[
    float, typer.Option("--confidence", help="Of error bars and floor, between 0 and 1.")
]
HourOption = Annotated[int | None, typer.Option("--hour", help="Local hour of the day, 0 to 23.")]
DayOption = Annotated[str | None, typer.Option("--day", help="weekday or weekend.")]
CorrectionOption = Annotated[str, typer.Option("--correction", help="Over cells: none, bonferroni or sidak.")]
IntervalOption = Annotated[str, typer.Option("--interval", help="score or exact.")]
OptionsOption = Annotated[str, typer.Option("--options", help="Options of the randomiser, k=v,k=v.")]


def progress(sentence: str) -> None:
    """Say what is being done, to a person: a script that keeps standard error gets mistakes and notes alone."""
    if sys.stderr.isatty():
        typer.echo(f"{sentence} ...", err=True)


def note(sentence: str) -> None:
    """Say on standard error what somebody who uses the answer should know."""
    typer.echo(f"note: {sentence}", err=True)


def refuse(sentence: str) -> int:
    """Say in one line what was wrong, and return the exit code for it."""
    typer.echo("error: " + " ".join(sentence.split()), err=True)
    return EXIT_BAD_INPUT


def print_answer(answer: Any, *, as_json: bool, flatten: str | None = None) -> None:  # noqa: ANN401 - any JSON
    """Print an answer: one object or a list of objects, as JSON or as a table.

    Parameters
    ----------
    answer
        What to print.
    as_json
        Whether as JSON.
    flatten
        Key whose entries become columns of the table.
    """
    if as_json:
        sys.stdout.write(json.dumps(answer, allow_nan=False) + "\n")
        return
    rows = (
        answer if isinstance(answer, list) else [{"figure": k, "value": _cell(v)} for k, v in answer.items()]
    )
    if flatten:
        rows = [{**{k: v for k, v in row.items() if k != flatten}, **row[flatten]} for row in rows]
    names = list(rows[0]) if rows else []
    texts = [names] + [[_cell(row[name]) for name in names] for row in rows]
    widths = [max(len(line[i]) for line in texts) for i in range(len(names))]
    for line in texts:
        padded = (text.ljust(width) for text, width in zip(line, widths, strict=True))
        sys.stdout.write("  ".join(padded).rstrip() + "\n")


def number(fraction: Fraction | None) -> float | None:
    """Return a fraction as a float; None stays None."""
    return None if fraction is None else float(fraction)


def exact(fraction: Fraction | None) -> str | None:
    """Return a fraction as text "a/b"; None stays None."""
    return None if fraction is None else f"{fraction.numerator}/{fraction.denominator}"


def read_scenario(
    settings: Mapping[str, Any],
    *,
    devices: int | None,
    trips: Path | None,
    place: Mapping[str, Any],
    reading: Mapping[str, Any],
) -> tuple[Scenario, TripTable | None]:
    """Return the scenario that a command line describes, and its trip file if it has one.

    Every setting is checked before a file is opened, so that a mistyped one costs no work.

    Parameters
    ----------
    settings
        Settings of the run.
    devices
        Number of synthetic devices, where it was given.
    trips
        The trip file.
    place
        ``city``, ``area`` and ``timezone`` as far as they were given.
    reading
        ``zones``, ``crs`` and ``mapping``, for files that need help.

    Raises
    ------
    ParameterError
        If settings contradict one another or are impossible.
    TripFileError
        If the file cannot be used.
    """
    if trips is not None and devices is not None:
        raise ParameterError("devices", "--devices counts synthetic devices; leave it out with --trips.")
    if trips is None:
        if place["area"] is not None:
            raise ParameterError(
                "area", "--area is the service area of --trips; choose a --city for synthetic trips."
            )
        given = {"city": place["city"], "devices": devices}
        return Scenario(
            **settings, **{name: value for name, value in given.items() if value is not None}
        ), None

    Scenario(**settings, trips="0" * 64, **place)
    table = read_trip_file(trips, place=place, reading=reading)
    return Scenario(**settings, trips=table.digest, **place), table


def read_trip_file(trips: Path, *, place: Mapping[str, Any], reading: Mapping[str, Any]) -> TripTable:
    """Read a trip file with what the command line says of it; see `read_scenario`."""
    from ldpcore.trips.areas import area_from_text
    from ldpcore.trips.read import read_trips
    from ldpcore.trips.zones import read_zones

    homes = []
    if place["city"] is not None:
        homes = [CITIES[place["city"]].bounds]
    if place["area"] is not None:
        homes = [area_from_text(place["area"], timezone=place["timezone"]).bounds]
    zones = read_zones(reading["zones"]) if reading["zones"] is not None else None
    progress(f"reading {trips}")
    return read_trips(
        trips, mapping=_mapping(reading["mapping"] or []), homes=homes, zones=zones, crs=reading["crs"]
    )


def _mapping(pairs: Sequence[str]) -> dict[str, str]:
    mapping = {}
    for pair in pairs:
        name, equals, column = pair.partition("=")
        if not equals:
            raise ParameterError("map", f"--map takes field=column, got {pair!r}; try start_lat=latitude.")
        mapping[name] = column
    return mapping


def _cell(value: Any) -> str:  # noqa: ANN401 - any JSON value
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {count}" for name, count in value.items()) or "none"
    if isinstance(value, list):
        return "; ".join(str(item) for item in value) or "none"
    return "" if value is None else str(value)
