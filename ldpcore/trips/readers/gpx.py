"""GPX 1.0 and 1.1: each track is a trip; read with defusedxml, which refuses entities that expand."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from xml.etree.ElementTree import ParseError

import pyarrow as pa
from defusedxml import DefusedXmlException  # type: ignore[import-untyped]
from defusedxml.ElementTree import iterparse  # type: ignore[import-untyped]

from ldpcore.errors import TripFileError
from ldpcore.trips.readers.jsontext import text_start
from ldpcore.trips.readers.source import Source, preview_of
from ldpcore.trips.table import Loaded, RawTable

_POINTS = {"trkpt": "track", "rtept": "route", "wpt": "waypoint"}
_NAMES = ("track", "lat", "lon", "time")
_MAX_POINTS = 5_000_000


@dataclass
class _Points:
    track: list[str] = field(default_factory=list)
    lat: list[str | None] = field(default_factory=list)
    lng: list[str | None] = field(default_factory=list)
    time: list[str | None] = field(default_factory=list)


def is_gpx(head: bytes) -> bool:
    """Whether text begins like GPX."""
    start = text_start(head)
    return start.startswith("<") and "<gpx" in start[:4000].lower()


def open_gpx(source: Source) -> RawTable:
    """Open GPX.

    Raises
    ------
    TripFileError
        If it is damaged, or holds no point.
    """
    found = {kind: _Points() for kind in _POINTS.values()}
    try:
        _collect(source, found)
    except DefusedXmlException as error:
        raise TripFileError(
            f"{source.name} has XML entities, which no file of tracks needs; it was not read."
        ) from error
    except (ParseError, ValueError, LookupError) as error:
        if isinstance(error, TripFileError):
            raise
        raise TripFileError(
            f"{source.name} is not complete GPX; it may have been cut off on the way."
        ) from error
    kind = next((kind for kind, points in found.items() if points.lat), None)
    if kind is None:
        raise TripFileError(f"{source.name} is GPX without a single point.")
    points = found[kind]
    others = ", ".join(f"{len(p.lat):,} points of {k}s" for k, p in found.items() if k != kind and p.lat)
    notes = (
        (f"Beside the {kind}s the file has {others}, which are no trips and were left out.",)
        if others
        else ()
    )
    columns = (points.track, points.lat, points.lng, points.time)

    def load(places: Sequence[int]) -> Loaded:
        return Loaded([pa.array(columns[place], type=pa.string()) for place in places], len(points.lat))

    given = {"start_lat": 1, "start_lng": 2}
    if any(points.time):
        given["start_time"] = 3
    if kind != "waypoint":
        given["trip"] = 0
    return RawTable(
        format="GPX",
        names=_NAMES,
        preview=preview_of(_NAMES, zip(*columns, strict=True)),
        load=load,
        notes=notes,
        given=given,
        schema_name="gpx_points" if kind == "waypoint" else "gpx",
    )


def _collect(source: Source, found: dict[str, _Points]) -> None:
    number = 0
    root: Any = None
    for event, element in iterparse(io.BytesIO(source.data), events=("start", "end"), forbid_dtd=False):
        tag = element.tag.rsplit("}", 1)[-1] if isinstance(element.tag, str) else ""
        if event == "start":
            root = element if root is None else root
            number += tag in {"trk", "rte"}
            continue
        if tag in _POINTS:
            points = found[_POINTS[tag]]
            points.track.append(str(number))
            points.lat.append(element.get("lat"))
            points.lng.append(element.get("lon") or element.get("lng"))
            points.time.append(next((c.text for c in element if str(c.tag).endswith("time")), None))
            if len(points.lat) > _MAX_POINTS:
                raise TripFileError(f"{source.name} has more than {_MAX_POINTS:,} points; split it.")
            element.clear()
        elif tag in {"trkseg", "trk", "rte"}:
            element.clear()
            if root is not None and tag != "trkseg":
                root.clear()
