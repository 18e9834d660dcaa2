"""Zone files: trips that name zones or stations get a place when the user adds where those are."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import geopandas
import numpy as np
import pyarrow as pa
import pyogrio
import shapely
from shapely.geometry import shape

from ldpcore.errors import ParameterError, TripFileError
from ldpcore.shapes import BoolArray, FloatArray
from ldpcore.trips.convert import clean_text, to_text
from ldpcore.trips.degrees import read_pair
from ldpcore.trips.geometry import check_crs, to_degrees
from ldpcore.trips.names import guess
from ldpcore.trips.readers.archive import take_members
from ldpcore.trips.readers.delimited import is_text, open_delimited
from ldpcore.trips.readers.jsontext import is_json
from ldpcore.trips.readers.source import Readable, Source, as_source, harmless

_SHAPE_ENDINGS = (".shp", ".shx", ".dbf", ".prj", ".cpg")
_MIN_SHARE = 0.5
MAX_ZONES = 200_000


class ZoneFileNeededError(TripFileError):
    """Trips that name zones only, which a zone file would place."""


@dataclass(frozen=True, eq=False)
class Zones:
    """Zones or stations with one place each.

    Attributes
    ----------
    label
        Label of the file.
    keys
        Column to zone id or name (reduced) to row.
    lat, lng
        (n,) float64, degrees: the centre where it lies inside, else a place inside.
    digest
        SHA-256 of the content, hexadecimal.
    """

    label: str
    keys: Mapping[str, Mapping[str, int]]
    lat: FloatArray
    lng: FloatArray
    digest: str

    def locate(self, column: Any) -> tuple[FloatArray, FloatArray, BoolArray, BoolArray, str]:  # noqa: ANN401
        """Find the place of each zone.

        Parameters
        ----------
        column
            pyarrow array of zone ids or names.

        Returns
        -------
        latitude and longitude (n,) float64, where nothing is named (n,) bool, where the zone file
        does not have the name (n,) bool, and the column of the zone file that was used.

        Raises
        ------
        TripFileError
            If no column of the zone file has at least half of the zones.
        """
        coded = clean_text(to_text(column)).dictionary_encode()
        coded = coded.combine_chunks() if isinstance(coded, pa.ChunkedArray) else coded
        words = [_key(word) for word in coded.dictionary.to_pylist()]
        missing = np.asarray(coded.is_null().to_numpy(zero_copy_only=False), dtype=np.bool_)
        shares = {name: sum(word in rows for word in words) for name, rows in self.keys.items()}
        best = max(shares, key=lambda name: shares[name], default="")
        if words and (not best or shares[best] < _MIN_SHARE * len(words)):
            shown = ", ".join(sorted(words)[:3])
            raise TripFileError(
                f"No column of {self.label} has the zones that the trips name, such as {shown}."
            )
        rows = np.array([self.keys[best].get(word, -1) for word in words] if best else [-1], dtype=np.int64)
        place = np.full(len(missing), -1) if not words else rows[_indices(coded)]
        unknown = (place < 0) & ~missing
        nowhere = missing | unknown
        lat, lng = self.lat[np.maximum(place, 0)], self.lng[np.maximum(place, 0)]
        lat[nowhere], lng[nowhere] = np.nan, np.nan
        return lat, lng, missing, unknown, best


def _indices(coded: Any) -> Any:  # noqa: ANN401
    return coded.indices.fill_null(0).to_numpy(zero_copy_only=False)


def _key(word: object) -> str:
    text = " ".join(str(word).split()).casefold()
    return text[:-2] if text.endswith(".0") and text[:-2].lstrip("-").isdigit() else text


def read_zones(source: Readable, *, name: str = "", crs: str | None = None) -> Zones:
    """Read a zone file: GeoJSON, GeoParquet, a zipped shapefile, GeoPackage, or CSV with WKT or coordinates.

    Parameters
    ----------
    source
        Path, bytes, or an open binary file.
    name
        Label for messages.
    crs
        Coordinate system, where the file does not say.

    Raises
    ------
    TripFileError
        If it is damaged, or has names but no places.
    ParameterError
        If `crs` is unknown.
    """
    system = check_crs(crs) if crs else None
    content = as_source(source, name)
    columns, shapes, found = _open(content)
    if not len(shapes):
        raise TripFileError(f"{content.name} holds no zone.")
    if len(shapes) > MAX_ZONES:
        raise TripFileError(
            f"{content.name} has {len(shapes):,} zones, more than the {MAX_ZONES:,} that are read."
        )
    system = found if found is not None else system
    x, y = _inside(shapes)
    if system is not None:
        lat, lng = to_degrees(system, x, y)
    else:
        lat, lng = y, x
    good = np.isfinite(lat) & np.isfinite(lng) & (np.abs(lat) <= 90) & (np.abs(lng) <= 180)
    if not good.any():
        raise TripFileError(
            f"{content.name} has zones that are not in degrees and names no coordinate system; "
            "save it as WGS 84."
        )
    keys: dict[str, dict[str, int]] = {}
    for column, values in columns.items():
        rows: dict[str, int] = {}
        for row, value in enumerate(values):
            if value is not None and good[row]:
                rows.setdefault(_key(value), row)
        if rows:
            keys[column] = rows
    return Zones(content.name, keys, lat, lng, content.digest)


_Opened = tuple[dict[str, list[str | None]], Any, Any]


def _open(content: Source) -> _Opened:
    head = content.head()
    try:
        if head.startswith(b"PAR1"):
            return _frame(geopandas.read_parquet(io.BytesIO(content.data)))
        if head.startswith(b"PK"):
            return _frame(_shapefile(content))
        if head.startswith(b"SQLite format 3"):
            return _frame(pyogrio.read_dataframe(io.BytesIO(content.data)))
        if is_json(head):
            return _geojson(content)
        if is_text(head):
            return _text(content)
    except TripFileError:
        raise
    except _LIBRARY_ERRORS as error:
        raise TripFileError(f"{content.name} cannot be read as a zone file.") from error
    raise TripFileError(
        f"{content.name} is no zone file; GeoJSON, GeoParquet, a zipped shapefile and CSV are."
    )


_LIBRARY_ERRORS = (
    pyogrio.errors.DataSourceError,
    pyogrio.errors.DataLayerError,
    shapely.errors.ShapelyError,
    pa.ArrowException,
    ValueError,
    TypeError,
    KeyError,
    AttributeError,
    IndexError,
    OSError,
    RecursionError,
    OverflowError,
    zipfile.BadZipFile,
)


def _frame(frame: Any) -> _Opened:  # noqa: ANN401
    shapes = np.asarray(frame.geometry.to_numpy(), dtype=object)
    rest = frame.drop(columns=frame.geometry.name)
    columns = {str(c): to_text(pa.array(rest[c], from_pandas=True)).to_pylist() for c in rest.columns}
    return columns, shapes, None if frame.crs is None else check_crs(frame.crs.to_json_dict())


def _shapefile(content: Source) -> Any:  # noqa: ANN401
    """Repack the parts of a shapefile, unpacked with limits, for the library to read from memory."""
    parts = take_members(content, _SHAPE_ENDINGS)
    if not parts:
        raise TripFileError(f"{content.name} holds no shapefile.")
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        for ending, data in parts.items():
            archive.writestr(f"zones{ending}", data)
    return pyogrio.read_dataframe(out.getvalue())


def _geojson(content: Source) -> _Opened:
    document = json.loads(bytes(content.data).decode("utf-8-sig"))
    features = document["features"] if document.get("type") == "FeatureCollection" else [document]
    shapes = np.array([shape(f["geometry"]) if f.get("geometry") else None for f in features], dtype=object)
    names = dict.fromkeys(key for f in features for key in f.get("properties") or {})
    columns: dict[str, list[str | None]] = {
        key: [None if (v := (f.get("properties") or {}).get(key)) is None else str(v) for f in features]
        for key in names
    }
    columns["id"] = [None if f.get("id") is None else str(f["id"]) for f in features]
    named = (document.get("crs") or {}).get("properties", {}).get("name")
    try:
        return columns, shapes, check_crs(named) if named else None
    except ParameterError as error:
        raise TripFileError(
            f"{content.name} names a coordinate system that is unknown; save it as WGS 84."
        ) from error


def _text(content: Source) -> _Opened:
    raw = open_delimited(content)
    places = guess(raw.names, {})
    loaded = raw.load(range(len(raw.names)))
    columns = {name: to_text(c).to_pylist() for name, c in zip(raw.names, loaded.columns, strict=True)}
    if {"start_lat", "start_lng"} <= places.keys():
        pair = read_pair(
            *(loaded.columns[places[f]] for f in ("start_lat", "start_lng")), decimal_comma=raw.decimal_comma
        )
        if pair.example and pair.unreadable.all():
            raise TripFileError(
                f"{content.name} has coordinates such as {harmless(pair.example)}; write degrees as plain numbers with "
                "a decimal point, such as 59.9127."
            )
        return columns, shapely.points(pair.lng, pair.lat), None
    for name, values in columns.items():
        if any(
            str(v).lstrip().upper().startswith(("POLYGON", "MULTIPOLYGON", "POINT")) for v in values[:20] if v
        ):
            shapes = shapely.from_wkt(np.array(values, dtype=object), on_invalid="ignore")
            return {n: v for n, v in columns.items() if n != name}, shapes, None
    raise TripFileError(
        f"{content.name} names zones but does not say where they are; add a zone file with shapes "
        "(GeoJSON, a zipped shapefile) or with columns of latitude and longitude."
    )


def _inside(shapes: Sequence[Any]) -> tuple[FloatArray, FloatArray]:
    """Return one place (x, y) per zone: the centre where it lies inside, else a place inside."""
    whole = np.asarray(shapes, dtype=object)
    areas = np.isin(shapely.get_type_id(whole), (3, 6))
    whole[areas] = shapely.make_valid(whole[areas])
    centre = shapely.centroid(whole)
    outside = areas & ~shapely.intersects(whole, centre)
    centre[outside] = shapely.point_on_surface(whole[outside])
    return (np.asarray(shapely.get_x(centre), np.float64), np.asarray(shapely.get_y(centre), np.float64))
