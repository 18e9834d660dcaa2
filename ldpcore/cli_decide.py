"""The verbs that help to decide: can it work here, what would shuffling add, and how do many settings compare."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from ldpcore.console import (
    AreaOption,
    CityOption,
    ConfidenceOption,
    CorrectionOption,
    CrsOption,
    DayOption,
    EpsilonOption,
    HourOption,
    IntervalOption,
    Json,
    MapOption,
    MechanismOption,
    OptionsOption,
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
from ldpcore.settings import DEFAULT

app = typer.Typer()

_Value = TypeVar("_Value")


@app.command()
def size(
    devices: Annotated[int, typer.Option(help="Devices that report.")],
    cells: Annotated[int, typer.Option(help="Cells of the domain.")],
    target_error: Annotated[
        float, typer.Option(help="Relative error wanted: one standard error over the count.")
    ],
    epsilon: EpsilonOption = DEFAULT.epsilon,
    mechanism: MechanismOption = DEFAULT.mechanism,
    smallest_count: Annotated[
        float | None,
        typer.Option(help="Devices in the cell that must be known so well; without it, devices / cells."),
    ] = None,
    options: OptionsOption = "",
    *,
    as_json: Json = False,
) -> None:
    """Say whether local privacy can work here, and what would make it work."""
    from ldpcore.sizing import Case
    from ldpcore.sizing import size as judge

    case = Case(
        devices=devices,
        cells=cells,
        epsilon=epsilon,
        target_error=target_error,
        mechanism=mechanism,
        options=tuple(sorted(parse_options(options).items())),
        count=smallest_count,
    )
    verdict = judge(case)
    print_answer(
        {
            "affordable": verdict.affordable,
            "smallest_count": verdict.smallest_count,
            "devices_needed": verdict.devices_needed,
            "cells_at_most": verdict.cells_at_most,
            "epsilon_needed": verdict.epsilon_needed,
            "relative_error": verdict.error,
            "devices_at_most": verdict.devices_at_most,
            "reasons": list(verdict.reasons),
        },
        as_json=as_json,
    )


@app.command()
def shuffle(
    epsilon: Annotated[float, typer.Option(help="Privacy loss of one report.")],
    devices: Annotated[int, typer.Option(help="Honest reports shuffled in one batch.")],
    delta: Annotated[float, typer.Option(help="Delta of the guarantee after shuffling.")],
    bound: Annotated[str, typer.Option(help="clone, closed_form or stronger.")] = "clone",
    target: Annotated[
        float | None, typer.Option(help="Also find the smallest batch that reaches this epsilon.")
    ] = None,
    *,
    as_json: Json = False,
) -> None:
    """Say what a shuffled batch guarantees against whoever sees only the batch."""
    from ldpcore.privacy.shuffle import amplify, closed_form_valid, smallest_batch

    amplify(epsilon, devices=devices, delta=delta)  # so that every setting but the bound is checked first
    valid = bound != "closed_form" or closed_form_valid(epsilon, devices=devices, delta=delta)
    # Where the closed form does not hold it is refused: what stands then is the report's own guarantee.
    central = (
        amplify(epsilon, devices=devices, delta=delta, bound=bound).epsilon_central if valid else epsilon
    )
    answer: dict[str, Any] = {"epsilon_central": central, "bound": bound, "valid": valid}
    if target is not None:
        progress("looking for the smallest batch")
        answer["smallest_batch"] = smallest_batch(epsilon, target=target, delta=delta, bound=bound)
    print_answer(answer, as_json=as_json)


@app.command()
def sweep(
    city: CityOption = None,
    devices: Annotated[str | None, typer.Option(help="Numbers of synthetic devices, n,n,n.")] = None,
    trips: TripsOption = None,
    area: AreaOption = None,
    zones: ZonesOption = None,
    crs: CrsOption = None,
    column: MapOption = None,
    timezone: TimezoneOption = None,
    epsilons: Annotated[str, typer.Option("--epsilons", "--epsilon", help="Privacy losses to try.")] = str(
        DEFAULT.epsilon
    ),
    resolutions: Annotated[
        str, typer.Option("--resolutions", "--resolution", help="H3 resolutions to try.")
    ] = str(DEFAULT.resolution),
    mechanisms: Annotated[
        str, typer.Option("--mechanisms", "--mechanism", help="Randomisers to try.")
    ] = DEFAULT.mechanism,
    floors: Annotated[str, typer.Option("--floors", "--floor", help="Floors to try.")] = str(DEFAULT.floor),
    queries: Annotated[str, typer.Option("--queries", "--query", help="Questions to try.")] = DEFAULT.query,
    repeats: Annotated[int, typer.Option(help="Redraws of each combination.")] = 10,
    confidence: ConfidenceOption = DEFAULT.confidence,
    seed: Annotated[int, typer.Option(help="Seed of trips and simulated randomisation.")] = DEFAULT.seed,
    hour: HourOption = None,
    day: DayOption = None,
    correction: CorrectionOption = DEFAULT.correction,
    interval: IntervalOption = DEFAULT.interval,
    options: OptionsOption = "",
    scheduler: Annotated[
        str | None,
        typer.Option(help="Address of a Dask scheduler, tcp://host:port; without it, this machine."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Also write the rows to a .parquet file.")] = None,
    *,
    as_json: Json = False,
) -> None:
    """Run every combination of some settings, each several times."""
    from ldpcore.sweep import Grid, Update, require_parquet, run_sweep, write_sweep

    if out is not None:
        require_parquet(out)
    numbers = _listed("devices", devices, int) if devices is not None else ()
    if trips is not None and numbers:
        raise ParameterError("devices", "--devices counts synthetic devices; leave it out with --trips.")
    base, table = read_scenario(
        {
            "confidence": confidence,
            "seed": seed,
            "hour": hour,
            "day": day,
            "correction": correction,
            "interval": interval,
        },
        devices=None,
        trips=trips,
        place={"city": city, "area": area, "timezone": timezone},
        reading={"zones": zones, "crs": crs, "mapping": column},
    )
    grid = Grid(
        base=base,
        epsilons=_listed("epsilons", epsilons, float),
        resolutions=_listed("resolutions", resolutions, int),
        mechanisms=_listed("mechanisms", mechanisms, str),
        devices=numbers,
        floors=_listed("floors", floors, int),
        queries=_listed("queries", queries, str),
        repeats=repeats,
        options=tuple(sorted(parse_options(options).items())),
    )

    def tell(update: Update) -> None:
        left = "" if update.seconds_left is None else f", about {update.seconds_left:.0f} s left"
        progress(f"{update.done} of {update.total} tasks done{left}")

    points = run_sweep(grid, told=tell, trips=table, scheduler=scheduler)
    failed = [point for point in points if point.error is not None]
    if len(failed) == len(points):
        raise ParameterError("sweep", failed[0].error or "No combination could be run.")
    for point in failed:
        what = ", ".join(f"{name} {value}" for name, value in point.settings.items())
        note(f"not run: {what}. {point.error}")
    if out is not None:
        write_sweep(points, out)
    rows = [point.row() for point in points]
    names = list(dict.fromkeys(name for row in rows for name in row))
    print_answer([{name: row.get(name) for name in names} for row in rows], as_json=as_json)


def _listed(name: str, text: str, convert: Callable[[str], _Value]) -> tuple[_Value, ...]:
    try:
        values = tuple(convert(part.strip()) for part in text.split(",") if part.strip())
    except ValueError:
        values = ()
    if not values:
        raise ParameterError(
            name, f"--{name} takes values between commas, got {text!r}; try 0.5,1,2 or 6,7,8."
        )
    return values
