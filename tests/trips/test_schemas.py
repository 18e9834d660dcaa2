"""Headers are told apart by their names, and what a name means can be corrected."""

from __future__ import annotations

import pytest

from ldpcore.trips.names import guess, words_of
from ldpcore.trips.recognise import recognise
from ldpcore.trips.schemas import FIELDS, SCHEMAS

HEADERS = {
    "pickup_datetime,pickup_longitude,pickup_latitude,dropoff_longitude,dropoff_latitude,vendor_id": {
        "start_time": "pickup_datetime",
        "start_lng": "pickup_longitude",
        "start_lat": "pickup_latitude",
        "end_lng": "dropoff_longitude",
        "end_lat": "dropoff_latitude",
    },
    "Date/Time,Lat,Lon,Base": {"start_time": "Date/Time", "start_lat": "Lat", "start_lng": "Lon"},
    "userId,startLatitude,startLongitude,endLatitude,endLongitude,startTime": {
        "device": "userId",
        "start_lat": "startLatitude",
        "start_lng": "startLongitude",
        "end_lat": "endLatitude",
        "end_lng": "endLongitude",
        "start_time": "startTime",
    },
    "TripID,OriginLat,OriginLng,DestLat,DestLng": {
        "trip": "TripID",
        "start_lat": "OriginLat",
        "start_lng": "OriginLng",
        "end_lat": "DestLat",
        "end_lng": "DestLng",
    },
    "StartLatitude,StartLongitude,StartDate,StartTime,EndLatitude,EndLongitude,EndDate,EndTime,BikeID": {
        "start_lat": "StartLatitude",
        "start_lng": "StartLongitude",
        "start_time": "StartDate",
        "start_clock": "StartTime",
        "end_lat": "EndLatitude",
        "end_lng": "EndLongitude",
        "end_time": "EndDate",
        "end_clock": "EndTime",
    },
    "timestamp,lat,lon,speed,device_id": {"start_time": "timestamp", "start_lat": "lat", "start_lng": "lon"},
    "slat,slng,elat,elng": {"start_lat": "slat", "start_lng": "slng", "end_lat": "elat", "end_lng": "elng"},
    "trip_id,from_station_id,from_station_name,to_station_id,to_station_name": {
        "trip": "trip_id",
        "start_zone": "from_station_id",
        "end_zone": "to_station_id",
    },
    "platform,plateau,flat,along": {},
}


@pytest.mark.parametrize("header", HEADERS)
def test_names_of_an_unknown_vendor(header: str) -> None:
    names = header.split(",")
    assert {field: names[place] for field, place in guess(names, {}).items()} == HEADERS[header]


def test_words() -> None:
    assert words_of("Pickup Centroid Latitude") == ["pickup", "centroid", "latitude"]
    assert words_of("tpep_pickup_datetime") == ["tpep", "pickup", "datetime"]
    assert words_of("pick up time") == ["pickup", "time"]
    assert words_of("endlng") == ["end", "lng"]


@pytest.mark.parametrize(
    "schema", [s for s in SCHEMAS if s.signature and not s.refusal], ids=lambda s: s.name
)
def test_each_schema_is_recognised_by_its_signature(schema: object) -> None:
    first = [part if isinstance(part, str) else part[0] for part in schema.signature]  # type: ignore[attr-defined]
    assert recognise(first).schema.name == schema.name  # type: ignore[attr-defined]
    assert set(schema.fields) <= set(FIELDS)  # type: ignore[attr-defined]


def test_keys_are_unique() -> None:
    assert len({schema.name for schema in SCHEMAS}) == len(SCHEMAS)
