"""Scenario files on the command line: run one, or set two side by side."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from ldpcore.console import Json, print_answer, progress, read_trip_file
from ldpcore.errors import ParameterError

if TYPE_CHECKING:
    from ldpcore.scenario_file import ScenarioFile
    from ldpcore.settings import Scenario
    from ldpcore.trips.table import TripTable

app = typer.Typer()

ScenarioOption = Annotated[
    Path | None,
    typer.Option("--scenario", help="Scenario file (JSON) that holds every setting; saved by the dashboard."),
]
_BESIDE: Final = frozenset(
    {
        "scenario",
        "trips",
        "zones",
        "crs",
        "column",
        "out",
        "as_json",
        "method",
        "coarsest",
        "level",
        "statements",
        "beside",
    }
)
"""Options of `run` that say where a file lies or what comes out, and so may stand beside a scenario file."""
_ENDINGS: Final = (".json", ".csv")


def run_file(
    path: Path, context: typer.Context, *, trips: Path | None, reading: dict[str, Any]
) -> tuple[Scenario, TripTable | None]:
    """Return the scenario of a file, and its trips where it is about a user's.

    Parameters
    ----------
    path
        The scenario file.
    context
        Of the verb, which knows what was given.
    trips
        The trip file, which a scenario names by its digest alone.
    reading
        ``zones``, ``crs`` and ``mapping``, for files that need help.

    Raises
    ------
    ParameterError
        If a setting is given beside the file, so that nobody has to guess which one counts, or if the trip file is
        missing or another one.
    """
    for parameter in context.command.params:
        name = str(parameter.name)
        if name in _BESIDE or context.get_parameter_source(name) is None:
            continue
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            option = f"--{name.replace('_', '-')}"
            raise ParameterError(
                name, f"{option} is a setting of the scenario file; leave it out, or change {path.name}."
            )
    scenario = open_scenario(path).scenario
    if scenario.trips is None:
        if trips is not None:
            raise ParameterError(
                "trips", f"The scenario of {path.name} has synthetic trips; leave --trips out."
            )
        return scenario, None
    if trips is None:
        raise ParameterError(
            "trips",
            f"The scenario of {path.name} is about the trip file with SHA-256 {scenario.trips}; give it with --trips.",
        )
    if scenario.area is not None and scenario.area.startswith("polygon:"):
        raise ParameterError(
            "area",
            "This scenario's service area is an outline that a scenario file doesn't carry; write its settings out with "
            "--area OUTLINE.geojson instead of --scenario.",
        )
    place = {"city": scenario.city, "area": scenario.area, "timezone": scenario.timezone}
    return scenario, read_trip_file(trips, place=place, reading=reading)


def open_scenario(path: Path) -> ScenarioFile:
    """Read a scenario file from a path.

    Raises
    ------
    ParameterError
        If it can't be opened or is no scenario file.
    """
    from ldpcore.scenario_file import MAX_BYTES, read_scenario_file

    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        raise ParameterError("scenario", f"The scenario file {path.name} cannot be opened.") from error
    return read_scenario_file(content)


def named_or_file(text: str) -> ScenarioFile:
    """Return a scenario of the library by its name, or of a file by its path.

    Raises
    ------
    ParameterError
        If the text is neither, or the file is no scenario file.
    """
    from ldpcore.library import LIBRARY, find_named

    named = find_named(text)
    if named is not None:
        return named.to_file()
    path = Path(text)
    if not path.suffix:
        slugs = ", ".join(entry.slug for entry in LIBRARY)
        raise ParameterError("scenario", f"{text!r} is no scenario file, and the library holds {slugs}.")
    return open_scenario(path)


@app.command()
def compare(
    first: Annotated[
        str, typer.Argument(help="A scenario file, or a name of the library such as congestion.")
    ],
    second: Annotated[str, typer.Argument(help="Another one.")],
    redraws: Annotated[
        int | None,
        typer.Option(
            help="Redraws that measured figures are the mean of, 2 to 1000; 20, or 5 on very fine grids."
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Write the comparison: .json or .csv.")] = None,
    *,
    as_json: Json = False,
) -> None:
    """Set two scenarios side by side: settings that differ, the promise, and what is got."""
    from ldpcore.scenario import run
    from ldpcore.side_by_side import comparison_csv, comparison_dict, comparison_json, side_of

    if redraws is not None and not 2 <= redraws <= 1000:
        raise ParameterError("redraws", f"--redraws must be between 2 and 1,000, got {redraws:,}; try 20.")
    if out is not None and out.suffix not in _ENDINGS:
        raise ParameterError("out", f"--out writes .json or .csv, got {out.name!r}.")
    sides = []
    for file in (named_or_file(first), named_or_file(second)):
        if file.scenario.trips is not None:
            raise ParameterError(
                "trips",
                "compare runs scenarios with synthetic trips; compare those of your own file on the page.",
            )
        progress(f"running {file.name}")
        sides.append(side_of(file, run, redraws=redraws))
    if out is not None:
        write = comparison_json if out.suffix == ".json" else comparison_csv
        try:
            out.write_bytes(write(*sides))
        except OSError as error:
            raise ParameterError("out", f"{out.name} cannot be written: {error.strerror}.") from error
        progress(f"wrote {out}")
    answer = comparison_dict(*sides)
    shown = (
        "group",
        "key",
        "first",
        "second",
        "first_error",
        "second_error",
        "first_expected",
        "second_expected",
    )
    print_answer(
        answer if as_json else [{name: row[name] for name in shown} for row in answer["rows"]],
        as_json=as_json,
    )
