"""JSON in all its shapes: GeoJSON, lists of records, one record a line, MDS, frames written by pandas."""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from ldpcore.errors import ParameterError, TripFileError
from ldpcore.trips.geometry import check_crs, path_of
from ldpcore.trips.readers.source import MAX_COLUMNS, Source, preview_of, unique_names
from ldpcore.trips.table import Loaded, RawTable

#: Parsed JSON takes some ten times its size in memory.
MAX_JSON_BYTES = 128 * 1024 * 1024
_MAX_DEPTH = 4
_GEOMETRIES = frozenset({"Point", "LineString", "MultiPoint", "MultiLineString", "Polygon", "MultiPolygon"})
_PATHS = _GEOMETRIES - {"Polygon", "MultiPolygon"}
_FEED_KEYS = frozenset({"last_updated", "ttl"})


def is_json(head: bytes) -> bool:
    """Whether text begins like JSON."""
    return text_start(head).startswith(("{", "[", "\x1e"))


def text_start(head: bytes) -> str:
    """Decode the first bytes, without a byte-order mark and white space."""
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return head[: len(head) // 2 * 2].decode("utf-16", errors="replace").lstrip()
    return head.decode("utf-8", errors="replace").lstrip("\ufeff \t\r\n")


def open_json(source: Source) -> RawTable:
    """Open JSON.

    Raises
    ------
    TripFileError
        If it is damaged, too deep, too large, a feed, or holds no list of trips.
    """
    if len(source.data) > MAX_JSON_BYTES:
        raise TripFileError(
            f"{source.name} is JSON of more than {MAX_JSON_BYTES // 2**20} MB; save it as Parquet or CSV."
        )
    document = _parse(source)
    if isinstance(document, dict) and document.keys() >= _FEED_KEYS:
        raise TripFileError(
            f"{source.name} is a feed (GBFS): it says where vehicles stand, not where people travel."
        )
    if isinstance(document, dict) and document.get("type") == "Topology":
        raise TripFileError(f"{source.name} is TopoJSON; save it as GeoJSON.")
    features = _features(document)
    if features is not None:
        return _geojson(source, document, features)
    records = _records(document)
    if not records:
        raise TripFileError(f"{source.name} is JSON without a list of trips in it.")
    return _table("JSON", [_flat(record) for record in records])


def _parse(source: Source) -> Any:  # noqa: ANN401 - any JSON
    data = bytes(source.data)
    text = _decoded(data)
    try:
        return json.loads(text)
    except RecursionError as error:
        raise TripFileError(f"{source.name} is JSON nested too deeply to be a list of trips.") from error
    except ValueError as error:
        lines = [line for line in text.replace("\x1e", "").splitlines() if line.strip()]
        try:
            if len(lines) > 1:
                return [json.loads(line) for line in lines]
        except RecursionError:
            pass
        except ValueError:
            pass
        where = f" (line {error.lineno})" if isinstance(error, json.JSONDecodeError) else ""
        raise TripFileError(
            f"{source.name} is not complete JSON{where}; it may have been cut off."
        ) from error


def _decoded(data: bytes) -> str:
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16", errors="replace")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252", errors="replace")


def _features(document: Any) -> list[dict[str, Any]] | None:  # noqa: ANN401
    """Return the features of GeoJSON in any of its outer shapes, or None where it is not GeoJSON."""
    if isinstance(document, dict):
        kind = document.get("type")
        if kind == "FeatureCollection" and isinstance(document.get("features"), list):
            return [f if isinstance(f, dict) else {} for f in document["features"]]
        if kind == "Feature":
            return [document]
        if isinstance(kind, str) and (kind in _GEOMETRIES or kind == "GeometryCollection"):
            parts = document.get("geometries") if kind == "GeometryCollection" else [document]
            return [{"geometry": part} for part in parts] if isinstance(parts, list) else None
    if (
        isinstance(document, list)
        and document
        and all(isinstance(f, dict) and f.get("type") == "Feature" for f in document)
    ):
        return document
    return None


def _geojson(source: Source, document: Any, features: list[dict[str, Any]]) -> RawTable:  # noqa: ANN401
    kinds = {g.get("type") for f in features if isinstance(g := f.get("geometry"), dict)}
    if kinds and kinds <= {"Polygon", "MultiPolygon"}:
        raise TripFileError(
            f"{source.name} holds areas, not trips; use it as the service area or as the zone file."
        )
    has_lines = bool(kinds & {"LineString", "MultiLineString", "MultiPoint"})
    rows = []
    for feature in features:
        properties = feature.get("properties")
        row = _flat(properties) if isinstance(properties, dict) else {}
        if "id" in feature and "id" not in row:
            row["id"] = feature["id"]
        geometry = feature.get("geometry")
        path = path_of(geometry) if isinstance(geometry, dict) and geometry.get("type") in _PATHS else []
        written = bool(geometry)
        row |= _ends(path, written, has_lines=has_lines)
        rows.append(row)
    table = _table("GeoJSON", rows)
    given = {field: table.names.index(name) for field, name in _GEO_NAMES.items() if name in table.names}
    return RawTable(
        format=table.format,
        names=table.names,
        preview=table.preview,
        load=table.load,
        given=given,
        schema_name="geojson",
        crs=_named_crs(source, document),
    )


_GEO_NAMES = {
    "start_lat": "first latitude",
    "start_lng": "first longitude",
    "end_lat": "last latitude",
    "end_lng": "last longitude",
}


def _ends(path: Sequence[tuple[float, float]], written: bool, *, has_lines: bool) -> dict[str, Any]:
    bad = "not a place" if written and not path else None
    first = path[0] if path else (bad, bad)
    last = path[-1] if len(path) > 1 else ((bad, bad) if not path else (None, None))
    ends: dict[str, Any] = {_GEO_NAMES["start_lat"]: first[1], _GEO_NAMES["start_lng"]: first[0]}
    if has_lines:
        ends |= {_GEO_NAMES["end_lat"]: last[1], _GEO_NAMES["end_lng"]: last[0]}
    return ends


def _named_crs(source: Source, document: Any) -> Any:  # noqa: ANN401
    """Return the coordinate system that older GeoJSON names, None for WGS 84."""
    crs = document.get("crs") if isinstance(document, dict) else None
    properties = crs.get("properties") if isinstance(crs, dict) else None
    name = properties.get("name") if isinstance(properties, dict) else None
    if name is None:
        return None
    try:
        return check_crs(name)
    except ParameterError as error:
        raise TripFileError(
            f"{source.name} names a coordinate system that is unknown; save it as WGS 84."
        ) from error


def _records(document: Any) -> list[dict[str, Any]]:  # noqa: ANN401
    if isinstance(document, dict):
        names, rows = document.get("columns"), document.get("data")
        if isinstance(names, list) and isinstance(rows, list):  # pandas, orient="split"
            return [dict(zip(map(str, names), row, strict=False)) for row in rows if isinstance(row, list)]
        if "schema" in document and isinstance(rows, list):  # pandas, orient="table"
            return [row for row in rows if isinstance(row, dict)]
    found = max(_lists(document, 0), key=len, default=[])
    if found:
        return found
    if isinstance(document, dict) and document and all(isinstance(v, dict | list) for v in document.values()):
        return _columns(document)
    if isinstance(document, dict):
        return [document]
    return []


def _lists(value: Any, depth: int) -> Iterator[list[dict[str, Any]]]:  # noqa: ANN401
    """Yield the lists of records in a document, the outermost first."""
    if isinstance(value, list):
        records = [item for item in value if isinstance(item, dict)]
        if records and len(records) * 2 >= len(value):
            yield records
    elif isinstance(value, dict) and depth < _MAX_DEPTH:
        for item in value.values():
            yield from _lists(item, depth + 1)


def _columns(document: dict[str, Any]) -> list[dict[str, Any]]:
    """Turn {column: {row: value}} or {column: [value, ...]}, as pandas writes it, into records."""
    if all(isinstance(v, dict) and str(key).isdigit() for key, v in document.items()):  # orient="index"
        return list(document.values())
    columns = {str(name): list(v.values() if isinstance(v, dict) else v) for name, v in document.items()}
    lengths = {len(values) for values in columns.values()}
    if len(lengths) != 1:
        return []
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _flat(record: dict[str, Any], prefix: str = "", depth: int = 0) -> dict[str, Any]:
    """Flatten nested records with a dot between the names; GeoJSON inside becomes a list of points."""
    out: dict[str, Any] = {}
    for key, value in record.items():
        name = f"{prefix}{key}"
        if isinstance(value, dict) and value.get("type") in {"FeatureCollection", "Feature", *_GEOMETRIES}:
            out[name] = json.dumps([list(point) for point in _ordered_path(value)])
        elif isinstance(value, dict) and depth < _MAX_DEPTH:
            out |= _flat(value, f"{name}.", depth + 1)
        elif isinstance(value, dict | list):
            try:
                out[name] = json.dumps(value)
            except (ValueError, RecursionError):
                out[name] = ""
        else:
            out[name] = value
    return out


def _ordered_path(value: dict[str, Any]) -> list[tuple[float, float]]:
    """Return the ends of a route, its points put in the order of their times."""
    features = value.get("features")
    if isinstance(features, list) and len(features) > 1:

        def time_of(feature: Any) -> float:  # noqa: ANN401
            properties = feature.get("properties") if isinstance(feature, dict) else None
            time = properties.get("timestamp") if isinstance(properties, dict) else None
            return float(time) if isinstance(time, int | float) and not isinstance(time, bool) else 0.0

        features = sorted(features, key=time_of)
        return path_of(features)
    return path_of(value)


def _table(kind: str, rows: Sequence[dict[str, Any]]) -> RawTable:
    keys = list(dict.fromkeys(key for row in rows for key in row))
    if len(keys) > MAX_COLUMNS:
        raise TripFileError(f"The records have {len(keys):,} different fields, more than {MAX_COLUMNS:,}.")
    names = unique_names(keys)

    def load(places: Sequence[int]) -> Loaded:
        return Loaded([_array([row.get(keys[place]) for row in rows]) for place in places], len(rows))

    preview = preview_of(names, ([_text(row.get(key)) for key in keys] for row in rows))
    return RawTable(format=kind, names=names, preview=preview, load=load)


def _array(values: Sequence[Any]) -> Any:  # noqa: ANN401
    if all(v is None or (isinstance(v, int | float) and not isinstance(v, bool)) for v in values):
        try:
            return pa.array(np.array([np.nan if v is None else float(v) for v in values], dtype=np.float64))
        except OverflowError:
            pass
    return pa.array([_text(v) for v in values], type=pa.string())


def _text(value: Any) -> str | None:  # noqa: ANN401
    if value is None:
        return None
    # A lone surrogate is legal in JSON text and nowhere else.
    return str(value).encode("utf-8", errors="replace").decode("utf-8")
