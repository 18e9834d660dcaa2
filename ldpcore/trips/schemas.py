"""How headers map to the columns of a trip: one row per vendor, recognised by the header alone."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from ldpcore.errors import ParameterError, TripFileError

Box = tuple[float, float, float, float]  # west, south, east, north

#: What a column of a file can be, with the words of the mapping control.
FIELDS: Mapping[str, str] = MappingProxyType(
    {
        "device": "person (rider or user)",
        "trip": "trip id",
        "start_lat": "start latitude",
        "start_lng": "start longitude",
        "end_lat": "end latitude",
        "end_lng": "end longitude",
        "start_time": "start time",
        "end_time": "end time",
        "duration_s": "duration in seconds",
        "length_m": "length",
        "polyline": "path as a list of points",
    }
)

#: Columns that name people. Bikes, taxis and scooters are vehicles: whoever rides them next is
#: another person, so they never make a device.
PERSON_NAMES = frozenset(
    [
        *("uid", "user", "userid", "rider", "riderid", "person", "personid", "customer", "customerid"),
        *("clientid", "memberid", "subscriberid", "participant", "participantid", "passengerid"),
        *("traveler", "travelerid", "traveller", "travellerid", "phoneid"),
    ]
)


@dataclass(frozen=True)
class Schema:
    """The columns of one vendor.

    Attributes
    ----------
    name, label
        Key and plain words.
    fields
        Canonical column to the spellings it has in files, each reduced by `reduce_name`.
    signature
        Reduced names that must all be there; a tuple inside means any one of them.
    homes
        Boxes (west, south, east, north) in which such files lie, to tell swapped coordinates.
    epoch_is_local
        Whether Unix times are the local clock written as if it were UTC.
    length_factor
        Metres in one unit of the length column.
    points
        Whether a row is a point of a path rather than a trip.
    note
        What to know about such files.
    refusal
        Why such a file cannot be used, and the remedy; empty where it can.
    """

    name: str
    label: str
    fields: Mapping[str, tuple[str, ...]]
    signature: tuple[str | tuple[str, ...], ...]
    homes: tuple[Box, ...] = ()
    epoch_is_local: bool = False
    length_factor: float = 1.0
    points: bool = False
    note: str = ""
    refusal: str = ""


_MILE_M = 1609.344
_BIKE_HOMES: tuple[Box, ...] = ((-125.0, 24.0, -66.0, 50.0),)
_URBAN_SHARING_HOMES: tuple[Box, ...] = ((4.0, 57.0, 32.0, 72.0), (-3.6, 55.7, -2.9, 56.1))

SCHEMAS: tuple[Schema, ...] = (
    Schema(
        "atlas",
        "LDP Atlas trips",
        {
            "device": ("device",),
            "trip": ("trip",),
            "start_lat": ("startlat",),
            "start_lng": ("startlng",),
            "end_lat": ("endlat",),
            "end_lng": ("endlng",),
            "start_time": ("starttime",),
            "end_time": ("endtime",),
            "length_m": ("lengthm",),
        },
        ("startlat", "startlng", "starttime", ("trip", "device")),
    ),
    Schema(
        "bikeshare",
        "Citi Bike, Divvy or Lyft (since 2021)",
        {
            "trip": ("rideid",),
            "start_lat": ("startlat",),
            "start_lng": ("startlng",),
            "end_lat": ("endlat",),
            "end_lng": ("endlng",),
            "start_time": ("startedat",),
            "end_time": ("endedat",),
        },
        ("rideid", "startedat", "startlat", "startlng"),
        homes=_BIKE_HOMES,
    ),
    Schema(
        "urban_sharing",
        "Oslo Bysykkel (Urban Sharing)",
        {
            "start_lat": ("startstationlatitude",),
            "start_lng": ("startstationlongitude",),
            "end_lat": ("endstationlatitude",),
            "end_lng": ("endstationlongitude",),
            "start_time": ("startedat",),
            "end_time": ("endedat",),
            "duration_s": ("duration",),
        },
        ("startedat", "startstationlatitude", "startstationlongitude"),
        homes=_URBAN_SHARING_HOMES,
        note="Places are those of the stations, not of the riders.",
    ),
    Schema(
        "bikeshare_old",
        "Citi Bike, Divvy or Lyft (before 2021)",
        {
            "start_lat": ("startstationlatitude",),
            "start_lng": ("startstationlongitude",),
            "end_lat": ("endstationlatitude",),
            "end_lng": ("endstationlongitude",),
            "start_time": ("starttime",),
            "end_time": ("stoptime", "endtime"),
            "duration_s": ("tripduration", "durationsec"),
        },
        (
            "startstationlatitude",
            "startstationlongitude",
            "starttime",
            ("bikeid", "usertype", "tripduration"),
        ),
        homes=_BIKE_HOMES,
        note="Places are those of the stations; the bike id is a vehicle, not a person.",
    ),
    Schema(
        "chicago_taxi",
        "Chicago taxi",
        {
            "trip": ("tripid",),
            "start_lat": ("pickuplatitude", "pickupcentroidlatitude"),
            "start_lng": ("pickuplongitude", "pickupcentroidlongitude"),
            "end_lat": ("dropofflatitude", "dropoffcentroidlatitude"),
            "end_lng": ("dropofflongitude", "dropoffcentroidlongitude"),
            "start_time": ("tripstarttimestamp",),
            "end_time": ("tripendtimestamp",),
            "duration_s": ("tripseconds",),
            "length_m": ("tripmiles",),
        },
        ("tripstarttimestamp", ("pickuplatitude", "pickupcentroidlatitude")),
        homes=((-88.6, 41.4, -87.2, 42.4),),
        epoch_is_local=True,
        length_factor=_MILE_M,
        note="Places are centres of districts and times are rounded: the city has protected them already. "
        "The taxi id is a vehicle, not a person.",
    ),
    Schema(
        "porto_taxi",
        "Porto taxi",
        {"trip": ("tripid",), "start_time": ("timestamp",), "polyline": ("polyline",)},
        ("polyline", "timestamp", ("tripid", "missingdata")),
        homes=((-9.6, 40.0, -6.5, 42.5),),
        note="The path has a point every 15 seconds, which gives the end time. "
        "The taxi id is a vehicle, not a person.",
    ),
    Schema(
        "nyc_tlc",
        "New York taxi (TLC)",
        {},
        ("pulocationid", "dolocationid"),
        refusal="has taxi zone numbers and no coordinates: add the centre of each zone as columns of "
        "latitude and longitude (the city publishes the zones), then load it again.",
    ),
    Schema(
        "points",
        "points of people (uid, tid, datetime, lat, lng)",
        {
            "device": ("uid", "userid", "user"),
            "trip": ("tid", "trajectoryid", "trajid"),
            "start_time": ("datetime", "timestamp", "time"),
            "start_lat": ("lat", "latitude"),
            "start_lng": ("lng", "lon", "longitude"),
        },
        (
            ("uid", "userid", "user"),
            ("datetime", "timestamp", "time"),
            ("lat", "latitude"),
            ("lng", "lon", "longitude"),
        ),
        points=True,
    ),
)

_GENERIC_LABEL = "columns recognised by their names"
_TRIP_NAMES = ("tripid", "rideid", "journeyid", "rentalid", "trip", "tid")
_LATITUDE_WORDS = frozenset({"lat", "latitude", "y"})
_LONGITUDE_WORDS = frozenset({"lng", "lon", "long", "longitude", "x"})
_START_WORDS = frozenset(
    {"start", "origin", "orig", "pickup", "from", "begin", "beginning", "o", "pu", "departure", "first"}
)
_END_WORDS = frozenset(
    {"end", "destination", "dest", "dropoff", "to", "finish", "d", "do", "arrival", "stop", "last"}
)
_TIME_WORDS = frozenset({"time", "datetime", "timestamp", "date", "at", "ts"})


@dataclass(frozen=True)
class Recognised:
    """A schema with the column of each of its fields.

    Attributes
    ----------
    schema
        The row of `SCHEMAS`, or one made from the names for an unknown vendor.
    places
        Canonical column to place in the header.
    reasons
        Sentences that say why.
    """

    schema: Schema
    places: Mapping[str, int]
    reasons: tuple[str, ...] = field(default=())


def reduce_name(name: str) -> str:
    """Reduce a column name to its letters and digits, lower case.

    >>> reduce_name("Start Station_Latitude")
    'startstationlatitude'
    """
    return "".join(c for c in name.casefold() if c.isalnum())


def recognise(names: Sequence[str], *, label: str = "The file") -> Recognised:
    """Find the schema of a header and the column of each field.

    Parameters
    ----------
    names
        Column names of the file.
    label
        Label of the file, for the message.

    Raises
    ------
    TripFileError
        If the schema is known not to work; the sentence says what to do. A header of no known
        schema gives a mapping without places, which `read_trips` refuses unless it is corrected.
    """
    reduced = [reduce_name(name) for name in names]
    present = set(reduced)
    for schema in SCHEMAS:
        if all(_has(part, present) for part in schema.signature):
            if schema.refusal:
                raise TripFileError(f"{label} ({schema.label}) {schema.refusal}")
            places = {}
            for canonical, spellings in schema.fields.items():
                place = next((reduced.index(s) for s in spellings if s in present), None)
                if place is not None:
                    places[canonical] = place
            return Recognised(schema, places, _why(schema, places, names))
    return _by_words(names, reduced)


def correct(recognised: Recognised, names: Sequence[str], mapping: Mapping[str, str]) -> Recognised:
    """Apply the user's corrections; an empty column name takes a field out.

    Raises
    ------
    ParameterError
        If a field or a column does not exist.
    """
    places = dict(recognised.places)
    reasons = list(recognised.reasons)
    for canonical, column in mapping.items():
        if canonical not in FIELDS:
            raise ParameterError(
                "mapping", f"There is no field {canonical!r} in the mapping; fields are {', '.join(FIELDS)}."
            )
        if not column:
            places.pop(canonical, None)
            continue
        if column not in names:
            shown = ", ".join(names[:30])
            raise ParameterError("mapping", f"The file has no column {column!r}; it has {shown}.")
        if places.get(canonical) != list(names).index(column):
            places[canonical] = list(names).index(column)
            reasons.append(f"You chose {column} as {FIELDS[canonical]}.")
    return Recognised(recognised.schema, places, tuple(reasons))


def _has(part: str | tuple[str, ...], present: set[str]) -> bool:
    return part in present if isinstance(part, str) else any(p in present for p in part)


def _why(schema: Schema, places: Mapping[str, int], names: Sequence[str]) -> tuple[str, ...]:
    shown = [names[p] for p in places.values()]
    sentence = f"Recognised as {schema.label} by its columns {', '.join(shown[:4])}."
    return (sentence, schema.note) if schema.note else (sentence,)


def _words(name: str) -> list[str]:
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
    words = [w for w in re.split(r"[^A-Za-z0-9]+", spaced.lower()) if w]
    out: list[str] = []
    for word in words:
        for tail in ("latitude", "longitude", "lat", "lng", "lon"):
            if word.endswith(tail) and word != tail and word[: -len(tail)] in _START_WORDS | _END_WORDS:
                out += [word[: -len(tail)], tail]
                break
        else:
            out.append(word)
    if "pick" in out and "up" in out:
        out.append("pickup")
    if "drop" in out and "off" in out:
        out.append("dropoff")
    return out


def _by_words(names: Sequence[str], reduced: Sequence[str]) -> Recognised:
    places: dict[str, int] = {}
    reasons: list[str] = []

    def take(canonical: str, place: int) -> None:
        if canonical not in places:
            places[canonical] = place
            reasons.append(f"{names[place]} looks like {FIELDS[canonical]}.")

    for place, name in enumerate(names):
        words = set(_words(name))
        side = "end" if words & _END_WORDS and not words & _START_WORDS else "start"
        if words & _LATITUDE_WORDS:
            take(f"{side}_lat", place)
        elif words & _LONGITUDE_WORDS:
            take(f"{side}_lng", place)
        elif words & _TIME_WORDS and not words & {"zone", "duration"}:
            take(f"{side}_time", place)
        elif reduced[place] in PERSON_NAMES:
            take("device", place)
        elif reduced[place] in _TRIP_NAMES:
            take("trip", place)
        elif reduced[place] == "polyline":
            take("polyline", place)
    points = "end_lat" not in places and "polyline" not in places
    schema = Schema("named", _GENERIC_LABEL, {}, (), points=points and "trip" in places)
    return Recognised(schema, places, tuple(reasons))
