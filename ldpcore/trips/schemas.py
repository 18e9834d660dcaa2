"""How headers map to the columns of a trip: one row per vendor, recognised by the header alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

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
        "geometry": "place or path in one column",
        "end_geometry": "end place in one column",
        "start_zone": "start zone",
        "end_zone": "end zone",
        "start_time": "start time",
        "start_clock": "start time of day, where the date stands apart",
        "end_time": "end time",
        "end_clock": "end time of day, where the date stands apart",
        "duration_s": "duration in seconds",
        "length_m": "length",
        "total": "number of trips that the row stands for",
    }
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
    unless
        Reduced names of which none may be there.
    homes
        Boxes (west, south, east, north) in which such files lie, to tell swapped coordinates.
    epoch_is_local
        Whether Unix times are the local clock written as if it were UTC.
    naive_is_utc
        Whether times without a zone are UTC.
    length_factor
        Metres in one unit of the length column.
    points
        Whether a row is a point of a path rather than a trip.
    path_step_s
        Seconds from one point of a path to the next, 0 where unknown.
    layout
        For files without a header: a pattern per column. The columns are then named by `columns`.
    columns
        Names given to the columns of a file without a header.
    note
        What to know about such files.
    refusal
        Why such a file cannot be used, and the remedy; empty where it can.
    """

    name: str
    label: str
    fields: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    signature: tuple[str | tuple[str, ...], ...] = ()
    unless: tuple[str, ...] = ()
    homes: tuple[Box, ...] = ()
    epoch_is_local: bool = False
    naive_is_utc: bool = False
    length_factor: float = 1.0
    points: bool = False
    path_step_s: int = 0
    layout: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    note: str = ""
    refusal: str = ""


_MILE_M = 1609.344
_BIKE_HOMES: tuple[Box, ...] = ((-125.0, 24.0, -66.0, 50.0),)
_URBAN_SHARING_HOMES: tuple[Box, ...] = ((4.0, 57.0, 32.0, 72.0), (-3.6, 55.7, -2.9, 56.1))

_LATITUDES = ("lat", "latitude", "stoplat", "stationlatitude", "stationlat", "y")
_TIMES = (
    "time",
    "datetime",
    "timestamp",
    "date",
    "starttime",
    "startedat",
    "starttimestamp",
    "endtime",
    "endedat",
)

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
        {"trip": ("tripid",), "start_time": ("timestamp",), "geometry": ("polyline",)},
        ("polyline", "timestamp", ("tripid", "missingdata")),
        homes=((-9.6, 40.0, -6.5, 42.5),),
        path_step_s=15,
        note="The path has a point every 15 seconds, which gives the end time. "
        "The taxi id is a vehicle, not a person.",
    ),
    Schema(
        "nyc_tlc",
        "New York taxi (TLC)",
        {
            "start_zone": ("pulocationid",),
            "end_zone": ("dolocationid",),
            "start_time": ("tpeppickupdatetime", "lpeppickupdatetime", "pickupdatetime"),
            "end_time": ("tpepdropoffdatetime", "lpepdropoffdatetime", "dropoffdatetime"),
            "length_m": ("tripdistance", "tripmiles"),
        },
        ("pulocationid", "dolocationid"),
        length_factor=_MILE_M,
        note="Places are taxi zones; 264 and 265 stand for unknown.",
    ),
    Schema(
        "zone_names",
        "New York taxi with names of zones",
        {
            "start_zone": ("pickupzone",),
            "end_zone": ("dropoffzone",),
            "start_time": ("pickup", "pickupdatetime"),
            "end_time": ("dropoff", "dropoffdatetime"),
            "length_m": ("distance",),
        },
        ("pickupzone", "dropoffzone"),
        length_factor=_MILE_M,
        note="Places are taxi zones.",
    ),
    Schema(
        "mds",
        "MDS trips",
        {
            "trip": ("tripid",),
            "start_time": ("starttime",),
            "end_time": ("endtime",),
            "start_lat": ("startlocationlat",),
            "start_lng": ("startlocationlng", "startlocationlon"),
            "end_lat": ("endlocationlat",),
            "end_lng": ("endlocationlng", "endlocationlon"),
            "geometry": ("startlocation", "route"),
            "end_geometry": ("endlocation",),
            "duration_s": ("duration", "tripduration"),
            "length_m": ("distance", "tripdistance"),
        },
        (
            "deviceid",
            "tripid",
            ("starttime", "startlocationlat"),
            ("startlocationlat", "startlocation", "route"),
        ),
        note="The device id is a vehicle, not a person.",
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
    Schema(
        "gpx",
        "GPX tracks",
        points=True,
        note="A track is a trip, from its first to its last point, over all its segments.",
    ),
    Schema("geojson", "GeoJSON", points=True),
    Schema("geoparquet", "GeoParquet", points=True),
    Schema("gpx_points", "GPX waypoints", note="The file has no track: each waypoint is a place by itself."),
    Schema(
        "geolife",
        "GeoLife",
        {
            "device": ("user",),
            "trip": ("file",),
            "start_lat": ("lat",),
            "start_lng": ("lng",),
            "start_time": ("date",),
            "start_clock": ("time",),
        },
        naive_is_utc=True,
        points=True,
        columns=("lat", "lng", "zero", "altitude_ft", "days", "date", "time"),
        note="A file is a trip; the person is the folder above Trajectory. Times are UTC.",
    ),
    Schema(
        "t_drive",
        "T-Drive",
        {"start_time": ("time",), "start_lat": ("lat",), "start_lng": ("lng",)},
        homes=((110.0, 35.0, 122.0, 44.0),),
        layout=(r"\d{1,7}", r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", r"-?\d+\.?\d*", r"-?\d+\.?\d*"),
        columns=("taxi", "time", "lng", "lat"),
        note="Each row is one position of a taxi, counted by itself; the taxi is a vehicle, not a person.",
    ),
    Schema(
        "check_ins",
        "check-ins (Gowalla, Brightkite)",
        {"device": ("user",), "start_time": ("time",), "start_lat": ("lat",), "start_lng": ("lng",)},
        layout=(r"\d+", r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", r"-?\d+\.?\d*", r"-?\d+\.?\d*", r"\w+"),
        columns=("user", "time", "lat", "lng", "place"),
        note="Rows are check-ins, not trips: each is a place where the person was.",
    ),
    Schema(
        "foursquare",
        "check-ins (Foursquare)",
        {"device": ("user",), "start_time": ("time",), "start_lat": ("lat",), "start_lng": ("lng",)},
        layout=(
            *(r"\d+", r"[0-9a-f]{24}", r"[0-9a-f]{24}", r".*", r"-?\d+\.?\d*", r"-?\d+\.?\d*", r"-?\d+"),
            r"\w{3} \w{3} \d\d \d\d:\d\d:\d\d \+0000 \d{4}",
        ),
        columns=("user", "venue", "category", "category name", "lat", "lng", "offset", "time"),
        note="Rows are check-ins, not trips: each is a place where the person was.",
    ),
    Schema(
        "stops",
        "list of stops, stations or zones",
        signature=(
            ("stopid", "stationid", "stationcode", "dockid", "locationid", "zoneid"),
            (*_LATITUDES, "zone", "zonename", "thegeom", "wkt", "geom", "geometry"),
        ),
        unless=(*_TIMES, "tripid", "rideid", "uid", "userid"),
        refusal="is a list of stops, stations or zones, not of trips; load the trips, and use this as the "
        "zone file if they name stations only.",
    ),
    Schema(
        "gtfs",
        "timetable (GTFS)",
        signature=(("stopsequence", "shapeptsequence", "routetype", "agencytimezone"),),
        refusal="is part of a timetable (GTFS), which says when vehicles run, not where people travel.",
    ),
)
