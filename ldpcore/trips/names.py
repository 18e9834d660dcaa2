"""What a column of an unknown vendor may be, told by the words of its name."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

#: Columns that name people. Bikes, taxis and scooters are vehicles: whoever rides them next is
#: another person, so they never make a device.
PERSON_NAMES = frozenset(
    [
        *("uid", "user", "userid", "rider", "riderid", "person", "personid", "customer", "customerid"),
        *("clientid", "memberid", "subscriberid", "participant", "participantid", "passengerid"),
        *("traveler", "travelerid", "traveller", "travellerid", "phoneid"),
    ]
)
VEHICLE_NAMES = frozenset(
    [
        *(
            "bike",
            "bikeid",
            "bikenumber",
            "taxi",
            "taxiid",
            "vehicle",
            "vehicleid",
            "vehiclenumber",
            "scooter",
        ),
        *("scooterid", "car", "carid", "cab", "cabid", "medallion", "plate", "licenseplate", "vin", "busid"),
        *("trainid", "boatid", "deviceid", "driver", "driverid", "hacklicense"),
    ]
)
TRIP_NAMES = frozenset(
    {"tripid", "rideid", "journeyid", "rentalid", "trip", "tid", "ride", "trajectoryid", "trajid"}
)
#: Columns that may name trips, rows, vehicles or people: what they hold has to tell (see `Builder.ids`).
BARE_IDS = frozenset({"id", "uuid", "guid", "uniqueid", "recordid"})
#: Names of a column that says how many trips a row stands for.
_TOTAL_NAMES = frozenset(
    [
        *(
            "count",
            "counts",
            "trips",
            "flow",
            "flows",
            "volume",
            "total",
            "totaltrips",
            "numtrips",
            "tripcount",
        ),
        *("ntrips", "numberoftrips", "tripscount", "journeys", "rides", "totalrides", "totaljourneys"),
    ]
)
_LATITUDE_WORDS = frozenset({"lat", "latitude", "y", "breitengrad"})
_LONGITUDE_WORDS = frozenset({"lng", "lon", "long", "longitude", "x"})
START_WORDS = frozenset(
    [
        *("start", "started", "origin", "orig", "pickup", "pickedup", "from", "begin", "began", "beginning"),
        *("o", "s", "pu", "starting", "departure", "dep", "first", "source", "src"),
    ]
)
_END_WORDS = frozenset(
    [
        *(
            "end",
            "ended",
            "destination",
            "dest",
            "dropoff",
            "droppedoff",
            "to",
            "finish",
            "finished",
            "d",
            "do",
        ),
        *("e", "ending", "arrival", "arr", "stop", "last", "target"),
    ]
)
_TIME_WORDS = frozenset({"time", "datetime", "timestamp", "date", "at", "ts", "when"})
_PATH_WORDS = frozenset(
    {"polyline", "geometry", "geom", "wkt", "wkb", "shape", "path", "coordinates", "linestring"}
)
_PLACE_WORDS = frozenset(
    {"location", "point", "place", "position", "coords", "coordinate", "latlng", "latlon"}
)
_ZONE_WORDS = frozenset(
    [
        *("zone", "zoneid", "locationid", "taz", "tazid", "stationid", "district", "districtid", "areaid"),
        *("tract", "tractid", "blockid", "cellid", "neighborhood", "neighbourhood", "borough", "station"),
        *("zonename", "stationname", "municipality", "postcode", "zip", "zipcode"),
    ]
)
#: Of several zone columns of one side, the one with an id tells zones apart best.
_ZONE_ID = ("id", "code", "number")


def reduce_name(name: str) -> str:
    """Reduce a column name to its letters and digits, lower case.

    >>> reduce_name("Start Station_Latitude")
    'startstationlatitude'
    """
    return "".join(c for c in name.casefold() if c.isalnum())


def words_of(name: str) -> list[str]:
    """Split a column name into words, also where they are written together.

    >>> words_of("pickupLatitude"), words_of("startlat"), words_of("PULocationID")
    (['pickup', 'latitude'], ['start', 'lat'], ['pu', 'location', 'id'])
    """
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", name)
    out: list[str] = []
    for word in re.split(r"[^A-Za-z0-9]+", spaced.lower()):
        if word:
            out += _parts(word)
    for first, second in (("pick", "up"), ("drop", "off"), ("check", "in")):
        for place in range(len(out) - 1):
            if out[place : place + 2] == [first, second]:
                out[place : place + 2] = [first + second]
    return out


def _parts(word: str) -> list[str]:
    tails = (
        "latitude",
        "longitude",
        "latitudee6",
        "longitudee6",
        "latitudee7",
        "longitudee7",
        "lat",
        "lng",
        "lon",
    )
    for tail in (*tails, "x", "y", "time", "date", "datetime", "zone"):
        side = word[: -len(tail)]
        if word.endswith(tail) and (side in START_WORDS or side in _END_WORDS):
            return [side, tail]
    return [word]


def guess(names: Sequence[str], taken: Mapping[str, int]) -> dict[str, int]:
    """Guess which column is which by the words of their names.

    Parameters
    ----------
    names
        Column names.
    taken
        Canonical column to place, where it is known already.

    Returns
    -------
    Canonical column to place, what was taken included.
    """
    places = dict(taken)
    used = set(taken.values())
    zones: dict[str, list[int]] = {"start": [], "end": []}

    def take(canonical: str, place: int) -> None:
        if canonical not in places:
            places[canonical] = place
            used.add(place)

    for place, name in enumerate(names):
        if place in used:
            continue
        words, reduced = _bare(words_of(name)), reduce_name(name)
        side = "end" if words & _END_WORDS and not words & START_WORDS else "start"
        if words & _LATITUDE_WORDS and not words & _LONGITUDE_WORDS:
            take(f"{side}_lat", place)
        elif words & _LONGITUDE_WORDS and not words & _LATITUDE_WORDS:
            take(f"{side}_lng", place)
        elif (
            words & {"zone", "station", "location"} and words & {"id", "name", "zone"} and "time" not in words
        ):
            zones[side].append(place)
        elif words & _TIME_WORDS and not words & {"duration", "day", "offset"}:
            take(
                f"{side}_clock" if f"{side}_time" in places and "date" not in words else f"{side}_time", place
            )
        elif reduced in PERSON_NAMES:
            take("device", place)
        elif reduced in TRIP_NAMES:
            take("trip", place)
        elif reduced in _TOTAL_NAMES:
            take("total", place)
        elif words & _PATH_WORDS or words & _PLACE_WORDS:
            take("geometry" if side == "start" else "end_geometry", place)
        elif (
            words & _ZONE_WORDS
            or reduced in _ZONE_WORDS
            or reduced in {"origin", "destination", "from", "to"}
        ):
            zones[side].append(place)
    _settle(places, names, zones)
    return places


def _bare(words: Sequence[str]) -> set[str]:
    """Take the scale off the name of a coordinate: latitudeE6 is a latitude."""
    return {re.sub(r"^(lat|lng|lon|latitude|longitude)(e[5-7]|micro)$", r"\1", word) for word in words}


def _settle(places: dict[str, int], names: Sequence[str], zones: Mapping[str, Sequence[int]]) -> None:
    """Leave out what a better column makes needless."""
    pairs = [{f"{side}_lat", f"{side}_lng"} <= places.keys() for side in ("start", "end")]
    if pairs[0] or pairs[1]:
        places.pop("geometry", None)
        places.pop("end_geometry", None)
    if "start_clock" in places and "date" not in words_of(names[places["start_time"]]):
        places.pop("start_clock")
    if "end_clock" in places and "date" not in words_of(names[places["end_time"]]):
        places.pop("end_clock")
    if any(pairs) or "geometry" in places:
        return
    for side, columns in zones.items():
        if columns:
            best = sorted(columns, key=lambda p: not set(words_of(names[p])) & set(_ZONE_ID))
            places.setdefault(f"{side}_zone", best[0])
