"""Release files: CSV, GeoJSON and GeoParquet, each with the whole scenario beside it.

Two tables leave the product: the *release*, which a server could publish, and the
*comparison*, which adds the truth and exists only because the trips are simulated or the
user's own.
"""

from __future__ import annotations

import io
import json
import math
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import h3
import pandas as pd

import ldpcore
from ldpcore.errors import ParameterError
from ldpcore.population import UNITS
from ldpcore.release import Release
from ldpcore.report_header import SIMULATION

if TYPE_CHECKING:
    from ldpcore.reports import ReportGroup

SIMULATED: Final = (
    "A simulation from a file that lies on one machine: its coins come from a seed that can be guessed, so this table "
    "does not protect the people of the file. A private release is counted from reports that the devices' own client "
    "made (perturb --device, then aggregate)."
)
"""What the release of a user's own file is, and what it is not."""

_FORMULA_STARTS: Final = ("=", "+", "-", "@", "\t", "\r")


def sidecar(release: Release, *, truth: bool) -> dict[str, Any]:
    """Return all that is needed to make a release again, ready for JSON.

    Parameters
    ----------
    release
        The run.
    truth
        Whether the table it stands beside holds the truth.
    """
    scenario, population = release.scenario, release.population
    if not truth and not scenario.synthetic:
        return _sidecar_for_others(release)
    return {
        "package": "ldp-atlas",
        "package_version": ldpcore.__version__,
        "created": datetime.now(tz=UTC).isoformat(timespec="seconds"),
        "table": "comparison" if truth else "release",
        "scenario": scenario.to_dict(),
        "link": scenario.to_params(),
        "command": scenario.to_command(),
        "domain": {
            "name": population.domain.name,
            "version": population.domain.version,
            "resolution": population.domain.resolution,
            "cells": population.domain.size,
            "from_data": population.area.from_data,
        },
        "mechanism": release.mechanism.parameters(),
        "epsilon_effective": release.mechanism.epsilon_effective,
        "unit": UNITS[population.unit],
        "reports": population.size,
        "rows_dropped": dict(population.rows_dropped),
        "attribution": population.area.attribution,
    }


def _sidecar_for_others(release: Release) -> dict[str, Any]:
    """Return what may stand beside the release of a user's own file.

    The seed would undo the simulated noise, and the digest and the exact row counts of the file
    would tell it from a file that differs by one trip; none of them leaves with the release.
    """
    scenario, population = release.scenario, release.population
    hidden = {"seed", "draw", "trips"}
    return {
        "package": "ldp-atlas",
        "package_version": ldpcore.__version__,
        "created": datetime.now(tz=UTC).isoformat(timespec="seconds"),
        "table": "release",
        "warning": SIMULATED,
        "scenario": {name: value for name, value in scenario.to_dict().items() if name not in hidden},
        "domain": {
            "name": population.domain.name,
            "version": population.domain.version,
            "resolution": population.domain.resolution,
            "cells": population.domain.size,
            "from_data": population.area.from_data,
        },
        "mechanism": release.mechanism.parameters(),
        "epsilon_effective": release.mechanism.epsilon_effective,
        "unit": UNITS[population.unit],
        "reports": population.size,
        "attribution": population.area.attribution,
    }


def reports_sidecar(group: ReportGroup, *, rules: Mapping[str, Any]) -> dict[str, Any]:
    """Return what stands beside a release that was counted from reports.

    Parameters
    ----------
    group
        The reports: one question, one domain, one set of parameters.
    rules
        The rules of publishing: floor, confidence, correction, interval.
    """
    said = [(context.get("trips"), context.get("made_by")) for context in group.contexts]
    lines = sorted({str(context["attribution"]) for context in group.contexts if context.get("attribution")})
    unit = group.question["unit"]
    return {
        "package": "ldp-atlas",
        "package_version": ldpcore.__version__,
        "created": datetime.now(tz=UTC).isoformat(timespec="seconds"),
        "table": "release",
        **({"warning": SIMULATED} if ("a file", SIMULATION) in said else {}),
        "question": dict(group.question),
        "rules": dict(rules),
        "domain": {
            "name": group.domain.name,
            "version": group.domain.version,
            "resolution": group.domain.resolution,
            "cells": group.domain.size,
            "from_data": group.domain_from_data,
        },
        "domain_version": group.domain.version,
        "parameters": group.mechanism.parameters(),
        "epsilon_effective": group.mechanism.epsilon_effective,
        "unit": UNITS.get(unit, unit) if isinstance(unit, str) else unit,
        "reports": group.reports,
        "attribution": "; ".join(lines),
        "contexts": [dict(context) for context in group.contexts],
    }


def escape_formulas(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table whose texts a spreadsheet cannot run as formulas.

    A text that begins with ``= + - @``, a tab or a carriage return gets an apostrophe before
    it (OWASP, *CSV Injection*). Numbers stay numbers.
    """
    safe = frame.copy()
    for name in safe.columns:
        if not pd.api.types.is_numeric_dtype(safe[name]):
            texts = safe[name].astype(str)
            safe[name] = texts.where(~texts.str.startswith(_FORMULA_STARTS), "'" + texts)
    return safe


def csv_bytes(frame: pd.DataFrame, about: Mapping[str, Any]) -> bytes:  # noqa: ARG001 - CSV has no place for it
    """Return a table as CSV, UTF-8, one row per cell, numbers in full precision."""
    text: str = escape_formulas(frame).to_csv(index=False, lineterminator="\n")
    return text.encode()


def geojson_bytes(frame: pd.DataFrame, about: Mapping[str, Any]) -> bytes:
    """Return a table as GeoJSON, one hexagon per cell, longitude before latitude as the format has it."""
    features = [
        {"type": "Feature", "id": row["cell"], "geometry": _hexagon(row["cell"]), "properties": _finite(row)}
        for row in frame.to_dict(orient="records")
    ]
    collection = {"type": "FeatureCollection", "ldp_atlas": dict(about), "features": features}
    return json.dumps(collection, separators=(",", ":"), allow_nan=False).encode()


def geoparquet_bytes(frame: pd.DataFrame, about: Mapping[str, Any]) -> bytes:
    """Return a table as GeoParquet in WGS 84, what it is about in its metadata under ``ldp_atlas``."""
    import geopandas
    import pyarrow as pa
    import pyarrow.parquet as pq
    import shapely

    hexagons = [shapely.geometry.shape(_hexagon(cell)) for cell in frame["cell"]]
    plain = io.BytesIO()
    geopandas.GeoDataFrame(frame, geometry=hexagons, crs="EPSG:4326").to_parquet(plain, index=False)
    # Read from memory that is Arrow's own and on this thread alone: a reader of Arrow's that still holds a Python
    # object when the program ends can abort it ("terminate called without an active exception").
    source = pa.BufferReader(pa.py_buffer(plain.getvalue()))
    with pq.ParquetFile(source, pre_buffer=False) as file:
        table = file.read(use_threads=False)
    metadata = {**(table.schema.metadata or {}), b"ldp_atlas": json.dumps(dict(about)).encode()}
    out = pa.BufferOutputStream()
    pq.write_table(table.replace_schema_metadata(metadata), out)
    return out.getvalue().to_pybytes()  # type: ignore[no-any-return]


WRITERS: Final[Mapping[str, Callable[[pd.DataFrame, Mapping[str, Any]], bytes]]] = MappingProxyType(
    {".csv": csv_bytes, ".geojson": geojson_bytes, ".parquet": geoparquet_bytes}
)
"""How a table and what it is about become bytes, by the ending of the file's name."""


def release_bytes(release: Release, ending: str, *, truth: bool) -> bytes:
    """Return a release as the bytes of a file.

    Parameters
    ----------
    release
        The run.
    ending
        A key of `WRITERS`.
    truth
        Whether the truth is added, which no server could publish.
    """
    return WRITERS[ending](release.frame(truth=truth), sidecar(release, truth=truth))


def sidecar_bytes(about: Mapping[str, Any]) -> bytes:
    """Return what a table is about as JSON text, indented for people."""
    return json.dumps(dict(about), indent=2, ensure_ascii=False).encode()


def require_writable(path: Path) -> None:
    """Refuse a file name whose ending no writer knows, or whose folder does not exist.

    Called before a run, so that a mistyped name costs no work.
    """
    if path.suffix.lower() not in WRITERS:
        raise ParameterError(
            "out", f"--out must end in {', '.join(WRITERS)}, got {path.name!r}; try release.csv."
        )
    if not path.parent.is_dir():
        raise ParameterError(
            "out", f"The folder {str(path.parent)!r} of --out does not exist; create it first."
        )


def write_release(release: Release, path: Path, *, truth: bool) -> list[Path]:
    """Write a release and its sidecar; the name's ending chooses the format.

    Returns
    -------
    The files written: the table, and ``NAME.scenario.json`` beside it.
    """
    return write_table(release.frame(truth=truth), sidecar(release, truth=truth), path)


def write_table(frame: pd.DataFrame, about: Mapping[str, Any], path: Path) -> list[Path]:
    """Write a table of cells and what it is about beside it, as for `write_release`."""
    require_writable(path)
    path.write_bytes(WRITERS[path.suffix.lower()](frame, about))
    beside = path.with_name(path.name + ".scenario.json")
    beside.write_bytes(sidecar_bytes(about))
    return [path, beside]


def _hexagon(cell: str) -> dict[str, Any]:
    ring = [[longitude, latitude] for latitude, longitude in h3.cell_to_boundary(cell)]
    return {"type": "Polygon", "coordinates": [[*ring, ring[0]]]}


def _finite(row: Mapping[Any, Any]) -> dict[Any, Any]:
    """Return a row without NaN, which JSON doesn't have: a figure that doesn't exist is null."""
    return {
        name: None if isinstance(value, float) and math.isnan(value) else value for name, value in row.items()
    }
