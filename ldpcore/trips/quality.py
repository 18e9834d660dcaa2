"""What is checked in every file: a defect is mended and said, dropped and counted, or refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import h3
import numpy as np
import pandas as pd
from scipy.spatial import cKDTree

from ldpcore.errors import TripFileError
from ldpcore.shapes import BoolArray, ByteArray, ComplexArray, FloatArray
from ldpcore.trips.names import VEHICLE_NAMES, reduce_name
from ldpcore.trips.schemas import Box
from ldpcore.trips.table import REASON_CODES
from ldpcore.trips.units import best_share, beyond_degrees, inside, not_degrees, scale_of, share_inside

_SOME = 20_000  # latitudes looked at to see that they differ
_ROWS_A_POINT, _FEWEST_ROWS = 20, 200
_METRES_A_DEGREE = 111_195.0
_RESOLUTIONS = range(5, 11)


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
    unknown
        (n,) bool, a zone that the zone file does not have; None where places are no zones.
    problem
        (n,) uint8, place in `REASONS`, 0 where the place is usable.
    """

    name: str
    lat: FloatArray
    lng: FloatArray
    missing: BoolArray
    unreadable: BoolArray
    unknown: BoolArray | None = None
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
    columns
        Canonical column to name in the file.
    totals
        (n,) float64, how many trips each row stands for, where a column says so.
    mended, notes
        What was put right, with the number of rows, and sentences.
    finest_resolution
        Finest H3 resolution that the places support, None where nothing was noticed.
    person_column
        Whether a column is taken to name people; a detector may take that back.
    scale
        What whole numbers are to be divided by, where the user says so.
    """

    label: str
    sides: Sequence[Side]
    homes: Sequence[Box]
    columns: Mapping[str, str] = field(default_factory=dict)
    totals: FloatArray | None = None
    mended: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    finest_resolution: int | None = None
    person_column: bool = False
    scale: float | None = None


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
    stage
        "columns" before the places are read, "places" after.
    """

    name: str
    label: str
    action: str
    apply: Callable[[Draft], None]
    stage: str = "places"


def _both(draft: Draft) -> tuple[FloatArray, FloatArray]:
    return (
        np.concatenate([side.lat for side in draft.sides]),
        np.concatenate([side.lng for side in draft.sides]),
    )


def _rows(draft: Draft, masks: Sequence[BoolArray]) -> int:
    """Count the rows of which any place is marked."""
    any_side = np.zeros(draft.sides[0].lat.shape, dtype=np.bool_)
    for mask in masks:
        any_side |= mask
    return int(np.count_nonzero(any_side))


def _totals(draft: Draft) -> None:
    if draft.totals is None or "trip" in draft.columns or draft.person_column:
        return
    known = draft.totals[~np.isnan(draft.totals)]
    if known.size and np.all(known == np.floor(known)) and known.max(initial=0) > 1:
        raise TripFileError(
            f"{draft.label} holds totals, not trips: by its column {draft.columns['total']} a row stands "
            f"for up to {known.max():,.0f} trips, and only single trips can be randomised one by one; load "
            "those, or take the column out of the mapping if it is something else."
        )


def _vehicles(draft: Draft) -> None:
    column = draft.columns.get("device", "")
    if draft.person_column and reduce_name(column) in VEHICLE_NAMES:
        draft.person_column = False
        draft.notes.append(
            f"{column} names vehicles, and whoever rides one next is another person; the unit stays one trip."
        )


def _missing(draft: Draft) -> None:
    for side in draft.sides:
        reason = "missing_origin" if side.name == "start" else "missing_destination"
        side.problem[side.missing] = REASON_CODES[reason]
        side.problem[side.unreadable & ~side.missing] = REASON_CODES["not_a_coordinate"]
        if side.unknown is not None:
            side.problem[side.unknown] = REASON_CODES["unknown_zone"]


def _zero_zero(draft: Draft) -> None:
    for side in draft.sides:
        at_zero = (side.lat == 0) & (side.lng == 0)
        side.problem[at_zero & (side.problem == 0)] = REASON_CODES["zero_zero"]
        side.lat[at_zero] = np.nan
        side.lng[at_zero] = np.nan


def _scaled(draft: Draft) -> None:
    """Divide whole numbers that are millionths (or the like) of a degree; refuse metres without a system."""
    lat, lng = _both(draft)
    known = ~np.isnan(lat) & ~np.isnan(lng)
    if not beyond_degrees(lat, lng):
        if draft.scale is not None:
            draft.notes.append("Coordinates are degrees already, so they were not divided.")
        return
    lat, lng = lat[known], lng[known]
    scale = draft.scale or scale_of(lat, lng, columns=draft.columns, homes=draft.homes)
    if scale is None:
        raise TripFileError(not_degrees(draft.label, lat, lng, draft.homes))
    for side in draft.sides:
        side.lat /= scale
        side.lng /= scale
    draft.mended["whole_numbers"] = _rows(draft, [~np.isnan(side.lat) for side in draft.sides])
    draft.notes.append(f"Coordinates are whole numbers of 1/{scale:,.0f} degree and were divided.")


def _metres(draft: Draft) -> None:
    lat, lng = _both(draft)
    if beyond_degrees(lat, lng):
        known = ~np.isnan(lat) & ~np.isnan(lng)
        raise TripFileError(not_degrees(draft.label, lat[known], lng[known], draft.homes))


def _swapped(draft: Draft) -> None:
    lat, lng = _both(draft)
    known = ~np.isnan(lat) & ~np.isnan(lng)
    if not known.any():
        return
    here = best_share(lat, lng, draft.homes)
    there = best_share(lng, lat, draft.homes)
    beyond = np.abs(lat[known]) > 90
    impossible = np.mean(beyond) > 0.5 and np.all(np.abs(lng[known]) <= 90)
    if impossible or (here < 0.5 <= there):
        for side in draft.sides:
            side.lat, side.lng = side.lng, side.lat
        draft.mended["swapped_lat_lng"] = _rows(
            draft, [~np.isnan(side.lat) & ~np.isnan(side.lng) for side in draft.sides]
        )
        draft.notes.append(
            "Latitude and longitude stand in each other's column (only the other order lies where such trips "
            "are made); they were exchanged."
        )
    elif here >= 0.5:
        _swap_single(draft, max(draft.homes, key=lambda box: share_inside(lat, lng, box)))


def _swap_single(draft: Draft, home: Box) -> None:
    """Exchange the two numbers in single rows that only so lie where the others do."""
    if _meets_its_mirror(home):
        return  # both orders may lie there, so neither is an error
    masks = []
    for side in draft.sides:
        wrong = ~inside(side.lat, side.lng, home) & inside(side.lng, side.lat, home)
        side.lat[wrong], side.lng[wrong] = side.lng[wrong], side.lat[wrong]
        masks.append(wrong)
    count = _rows(draft, masks)
    if count:
        draft.mended["swapped_lat_lng"] = count
        draft.notes.append(f"{count:,} rows had latitude and longitude exchanged and were put right.")


def _meets_its_mirror(box: Box) -> bool:
    """Whether a box and the box with latitude and longitude exchanged have a place in common."""
    west, south, east, north = box
    return max(west, south) <= min(east, north)


def swap_into(draft: Draft) -> None:
    """Exchange latitude and longitude where only so the places lie in the homes of a draft."""
    with np.errstate(invalid="ignore"):
        _swapped(draft)


def _wrapped(draft: Draft) -> None:
    masks = []
    for side in draft.sides:
        east, west = (side.lng > 180) & (side.lng <= 540), (side.lng < -180) & (side.lng >= -540)
        side.lng[east] -= 360.0
        side.lng[west] += 360.0
        masks.append(east | west)
    count = _rows(draft, masks)
    if count:
        draft.mended["longitude_360"] = count
        draft.notes.append(f"{count:,} rows had a longitude a full turn (360°) off, which was turned back.")


def _out_of_range(draft: Draft) -> None:
    for side in draft.sides:
        wrong = (np.abs(side.lat) > 90) | (np.abs(side.lng) > 180)
        side.problem[wrong & (side.problem == 0)] = REASON_CODES["not_a_coordinate"]
        bad = side.problem > 0
        side.lat[bad] = np.nan
        side.lng[bad] = np.nan


def _usable(draft: Draft) -> list[tuple[str, FloatArray, FloatArray]]:
    """Return the usable places of each side that has any, with the name of the side."""
    sides = [(side.name, side.problem == 0, side) for side in draft.sides]
    return [(name, side.lat[good], side.lng[good]) for name, good, side in sides if good.any()]


def cell_spacing_m(resolution: int) -> float:
    """Mean distance between the centres of neighbouring H3 cells, metres."""
    return float(np.sqrt(3) * h3.average_hexagon_edge_length(resolution, unit="m"))


def _finest(step_m: float) -> int | None:
    """Return the finest resolution whose cells are at least a step apart, None where every one is."""
    fit = [resolution for resolution in _RESOLUTIONS if cell_spacing_m(resolution) >= step_m]
    finest = max(fit, default=_RESOLUTIONS[0])
    return None if finest == _RESOLUTIONS[-1] else finest


def _cap(draft: Draft, resolution: int | None, sentence: str) -> None:
    if resolution is None:
        return
    if draft.finest_resolution is None or resolution < draft.finest_resolution:
        draft.finest_resolution = resolution
    draft.notes.append(f"{sentence} Resolutions finer than {resolution} would show more than the data hold.")


def _rounded(draft: Draft) -> None:
    places = _usable(draft)
    if not places or np.unique(places[0][1][:_SOME]).size < 5:
        return
    both = np.concatenate(places[0][1:])
    for digits in range(4):
        scaled = both * 10.0**digits
        share = float(np.mean(np.abs(scaled - np.round(scaled)) < 1e-6))
        if share >= 0.98:
            step_m = _METRES_A_DEGREE / 10**digits
            size = f"{step_m / 1000:,.0f} km" if step_m >= 1000 else f"{step_m:,.0f} m"
            who = "Coordinates" if share == 1 else "Nearly all coordinates"
            _cap(
                draft,
                _finest(step_m),
                f"{who} are rounded to {digits} digits after the point, steps of about {size}.",
            )
            return


def _snapped(draft: Draft) -> None:
    """Notice places that are all among a few points."""
    few = {name: _few_points(lat, lng) for name, lat, lng in _usable(draft)}
    found = [points for points in few.values() if points is not None]
    if not found or next(iter(few.values())) is None:
        return
    alone = len(found) < len(draft.sides)
    points = found[0] if alone else pd.unique(np.concatenate(found))
    flat = np.column_stack([points.real, points.imag]) * _METRES_A_DEGREE
    flat[:, 1] *= np.cos(np.radians(points.real.mean()))
    nearest, _ = cKDTree(flat).query(flat, k=2)
    step_m = float(np.median(np.asarray(nearest)[:, 1]))
    _cap(
        draft,
        _finest(step_m),
        f"All {f'{next(iter(few))} places' if alone else 'places'} are among {points.size:,} points (stations or "
        f"centres of zones), typically {step_m:,.0f} m from the next.",
    )


def _few_points(lat: FloatArray, lng: FloatArray) -> ComplexArray | None:
    """Return each place once where there are few for so many rows, as latitude and longitude in one number.

    Every row is looked at, since a sentence will say "all". A tenth of the rows disproves it cheaply.
    """
    most = lat.size // _ROWS_A_POINT
    if lat.size < _FEWEST_ROWS or pd.unique(lat[::10] + 1j * lng[::10]).size > most:
        return None
    points: ComplexArray = np.asarray(pd.unique(lat + 1j * lng), dtype=np.complex128)
    return points if 3 <= points.size <= most else None


#: Applied in this order: each may rely on what the ones before it left.
DETECTORS: tuple[Detector, ...] = (
    Detector("vehicles", "vehicles taken for people", "warns", _vehicles, "columns"),
    Detector("totals", "totals instead of trips", "refuses", _totals, "columns"),
    Detector("missing", "no place, or text that is no number", "drops", _missing),
    Detector("zero_zero", "latitude 0 and longitude 0", "drops", _zero_zero),
    Detector("whole_numbers", "millionths of a degree", "mends", _scaled),
    Detector("metres", "coordinates that are not degrees", "refuses", _metres),
    Detector("swapped_lat_lng", "latitude and longitude exchanged", "mends", _swapped),
    Detector("longitude_360", "longitude a full turn off", "mends", _wrapped),
    Detector("out_of_range", "latitude or longitude out of range", "drops", _out_of_range),
    Detector("rounded", "rounded coordinates", "warns", _rounded),
    Detector("snapped", "places snapped to few points", "warns", _snapped),
)

#: What was done to the rows that "mended" counts.
MENDED: Mapping[str, str] = {
    "trailing_delimiter": "empty fields at the end of a row evened out",
    "swapped_lat_lng": "latitude and longitude exchanged",
    "written_degrees": "written with degrees, minutes or letters, and converted",
    "longitude_360": "longitude turned back by 360°",
    "whole_numbers": "whole numbers divided into degrees",
    "projected": "converted from another coordinate system",
}


def check(draft: Draft, stage: str) -> None:
    """Run the detectors of a stage on a draft.

    Raises
    ------
    TripFileError
        If one refuses the file.
    """
    with np.errstate(invalid="ignore"):
        for detector in DETECTORS:
            if detector.stage == stage:
                detector.apply(draft)
