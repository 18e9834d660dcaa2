"""What is checked in every file: a defect is mended and said, dropped and counted, or refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from ldpcore.errors import TripFileError
from ldpcore.shapes import BoolArray, ByteArray, FloatArray
from ldpcore.trips.schemas import Box
from ldpcore.trips.table import REASON_CODES

#: A longitude of 180 that is a full turn off; whatever is beyond is in another unit.
_MOST_DEGREES = 540.0


@dataclass
class Side:
    """Start or end places while they are checked: degrees, and what is wrong with each.

    Attributes
    ----------
    name
        "start" or "end".
    lat, lng
        (n,) float64, NaN where absent or no number.
    missing
        (n,) bool, one of the two is absent.
    unreadable
        (n,) bool, text that is no number.
    problem
        (n,) uint8, place in `REASONS`, 0 where the place is usable.
    """

    name: str
    lat: FloatArray
    lng: FloatArray
    missing: BoolArray
    unreadable: BoolArray
    problem: ByteArray = field(init=False)

    def __post_init__(self) -> None:
        self.problem = np.zeros(self.lat.shape, dtype=np.uint8)


@dataclass
class Draft:
    """A file on its way to trips; detectors change it in place.

    Attributes
    ----------
    label
        Label of the file, for messages.
    sides
        Start places, and end places where the file has any.
    homes
        Boxes (west, south, east, north) in which the points may lie, to tell the order of the two numbers.
    mended, notes
        What was put right, with the number of rows, and sentences.
    """

    label: str
    sides: Sequence[Side]
    homes: Sequence[Box]
    mended: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Detector:
    """One defect.

    Attributes
    ----------
    name, label
        Key and plain words.
    action
        "mends", "drops", "refuses" or "warns".
    apply
        Looks for the defect and acts.
    """

    name: str
    label: str
    action: str
    apply: Callable[[Draft], None]


def share_inside(lat: FloatArray, lng: FloatArray, box: Box) -> float:
    """Share of the places that lie in a box (west, south, east, north); 0 where there are none."""
    known = int(np.count_nonzero(~np.isnan(lat) & ~np.isnan(lng)))
    west, south, east, north = box
    inside = (lat >= south) & (lat <= north) & (lng >= west) & (lng <= east)
    return int(np.count_nonzero(inside)) / known if known else 0.0


def _both(draft: Draft) -> tuple[FloatArray, FloatArray]:
    return (
        np.concatenate([side.lat for side in draft.sides]),
        np.concatenate([side.lng for side in draft.sides]),
    )


def _missing(draft: Draft) -> None:
    for side in draft.sides:
        reason = "missing_origin" if side.name == "start" else "missing_destination"
        side.problem[side.missing] = REASON_CODES[reason]
        side.problem[side.unreadable & ~side.missing] = REASON_CODES["not_a_coordinate"]


def _zero_zero(draft: Draft) -> None:
    for side in draft.sides:
        at_zero = (side.lat == 0) & (side.lng == 0)
        side.problem[at_zero & (side.problem == 0)] = REASON_CODES["zero_zero"]
        side.lat[at_zero] = np.nan
        side.lng[at_zero] = np.nan


def _metres(draft: Draft) -> None:
    lat, lng = _both(draft)
    size = np.maximum(np.abs(lat), np.abs(lng))
    size = size[~np.isnan(size)]
    if size.size and float(np.median(size)) > _MOST_DEGREES:
        raise TripFileError(
            f"{draft.label} has coordinates such as {np.nanmedian(lat):,.0f} and {np.nanmedian(lng):,.0f}, "
            "which are not degrees; convert them to latitude and longitude (WGS 84)."
        )


def _swapped(draft: Draft) -> None:
    lat, lng = _both(draft)
    known = ~np.isnan(lat) & ~np.isnan(lng)
    if not known.any():
        return
    here = max((share_inside(lat, lng, box) for box in draft.homes), default=0.0)
    there = max((share_inside(lng, lat, box) for box in draft.homes), default=0.0)
    impossible = np.count_nonzero(np.abs(lat[known]) > 90) > known.sum() / 2 and np.all(
        np.abs(lng[known]) <= 90
    )
    if not impossible and (here >= 0.5 or there < 0.5):
        return
    for side in draft.sides:
        side.lat, side.lng = side.lng, side.lat
    draft.mended["swapped_lat_lng"] = int(np.count_nonzero(known[: draft.sides[0].lat.size]))
    draft.notes.append(
        "Latitude and longitude stand in each other's column (only the other order lies where such trips "
        "are made); they were exchanged."
    )


def _wrapped(draft: Draft) -> None:
    count = 0
    for side in draft.sides:
        east, west = (side.lng > 180) & (side.lng <= 540), (side.lng < -180) & (side.lng >= -540)
        side.lng[east] -= 360.0
        side.lng[west] += 360.0
        count += int(np.count_nonzero(east | west))
    if count:
        draft.mended["longitude_360"] = count
        draft.notes.append(f"{count:,} longitudes were a full turn (360°) off and were turned back.")


def _out_of_range(draft: Draft) -> None:
    for side in draft.sides:
        with np.errstate(invalid="ignore"):
            wrong = (np.abs(side.lat) > 90) | (np.abs(side.lng) > 180)
        side.problem[wrong & (side.problem == 0)] = REASON_CODES["not_a_coordinate"]
        bad = side.problem > 0
        side.lat[bad] = np.nan
        side.lng[bad] = np.nan


#: Applied in this order: each may rely on what the ones before it left.
DETECTORS: tuple[Detector, ...] = (
    Detector("missing", "no place, or text that is no number", "drops", _missing),
    Detector("zero_zero", "latitude 0 and longitude 0", "drops", _zero_zero),
    Detector("metres", "coordinates that are not degrees", "refuses", _metres),
    Detector("swapped_lat_lng", "latitude and longitude exchanged", "mends", _swapped),
    Detector("longitude_360", "longitude a full turn off", "mends", _wrapped),
    Detector("out_of_range", "latitude or longitude out of range", "drops", _out_of_range),
)


def check(draft: Draft) -> None:
    """Run every detector on a draft.

    Raises
    ------
    TripFileError
        If one refuses the file.
    """
    for detector in DETECTORS:
        detector.apply(draft)
