"""One small made-up file for every kind that people bring: exactly these cells, exactly this account."""

from __future__ import annotations

import io
import json
import zipfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import geopandas
import h3
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import shapely

from ldpcore.domain import cells_over
from ldpcore.errors import ParameterError, TripFileError
from ldpcore.trips.areas import box_area
from ldpcore.trips.read import ZoneFileNeededError, read_trips, read_zones
from ldpcore.trips.values import table_values

MADE_UP = Path(__file__).parent / "files" / "made_up"
Place = tuple[float, float]
NEW_YORK = (-74.2, 40.6, -73.8, 40.9)
HELSINKI = (24.5, 60.0, 25.3, 60.4)
CHICAGO = (-87.9, 41.7, -87.5, 42.0)
LENOX = (40.765, -73.965)


@dataclass(frozen=True)
class Case:
    """What one file must give."""

    schema: str
    box: tuple[float, float, float, float]
    read: int
    origins: list[Place]
    origins_dropped: dict[str, int] = field(default_factory=dict)
    destinations: list[Place] | None = None
    destinations_dropped: dict[str, int] = field(default_factory=dict)
    unit: str = "trip"
    timezone: str = "UTC"
    hours: list[int] = field(default_factory=list)  # local start hours of the origins used
    mended: dict[str, int] = field(default_factory=dict)


A, B, C, D = (60.17, 24.94), (60.19, 24.96), (60.21, 24.80), (60.22, 25.05)
CASES: dict[str, Case] = {
    "citibike_2021.csv": Case(
        "bikeshare",
        NEW_YORK,
        4,
        [(40.741739, -73.994155), (40.75, -73.99), (40.72, -73.95)],
        {"duplicate_id": 1},
        [(40.766953, -73.981693), (40.73, -73.96)],
        {"duplicate_id": 1, "missing_destination": 1},
        hours=[8, 9, 23],
    ),
    "citibike_old.csv": Case(
        "bikeshare_old",
        NEW_YORK,
        2,
        [(40.7405826, -74.00550867)] * 2,
        destinations=[(40.73587678, -73.98205027), (40.7405826, -74.00550867)],
        hours=[0, 13],
    ),
    "citibike_title.csv": Case(
        "bikeshare_old",
        NEW_YORK,
        2,
        [(40.78275, -73.97137), (40.729236, -73.990868)],
        destinations=[(40.775794, -73.976206)],
        destinations_dropped={"missing_destination": 1},
        hours=[0, 0],
    ),
    "chicago_title.csv": Case(
        "chicago_taxi",
        CHICAGO,
        2,
        [(41.899602111, -87.633308037)],
        {"missing_origin": 1},
        [(41.878865584, -87.625192142)] * 2,
        hours=[17],
    ),
    "porto.csv": Case(
        "porto_taxi",
        (-8.8, 41.0, -8.4, 41.3),
        3,
        [(41.141412, -8.618643), (41.159826, -8.639847)],
        {"missing_origin": 1},
        [(41.14251, -8.620326), (41.159826, -8.639847)],
        {"missing_destination": 1},
        timezone="Europe/Lisbon",
        hours=[1, 1],  # 2013-07-01 00:00:58 and 00:02:31 UTC, an hour later in Portugal
    ),
    "geolife.plt": Case(
        "geolife",
        (116.2, 39.9, 116.5, 40.1),
        3,
        [(39.984702, 116.318417)],
        {"not_chosen": 2},
        [(39.996, 116.33)],
        {"not_chosen": 2},
        timezone="Asia/Shanghai",
        hours=[10],  # 02:53 UTC
    ),
    "t_drive.txt": Case(
        "t_drive",
        (116.2, 39.8, 116.7, 40.1),
        3,
        [(39.92123, 116.51172), (39.93883, 116.51135)],
        {"zero_zero": 1},
        hours=[15, 15],
    ),
    "gowalla.txt": Case(
        "check_ins",
        (-97.9, 30.1, -97.6, 30.4),
        3,
        [(30.2359091167, -97.7951395833), (30.2691029532, -97.7493953705), (30.2557309927, -97.7633857727)],
        unit="device",
        timezone="America/Chicago",
        hours=[18, 17, 16],
    ),
    "foursquare.txt": Case(
        "foursquare",
        NEW_YORK,
        2,
        [(40.719810375488535, -74.00258103213994), (40.606799581406435, -74.04416981025437)],
        unit="device",
        timezone="America/New_York",
        hours=[14, 14],
    ),
    "uid_tid.csv": Case(
        "points",
        HELSINKI,
        4,
        [(60.17, 24.94), (60.22, 25.05)],
        {"not_chosen": 2},
        [(60.20, 24.96), (60.21, 24.80)],
        {"not_chosen": 2},
        unit="device",
        hours=[8, 9],
    ),
    "tracks_1_1.gpx": Case("gpx", HELSINKI, 5, [A, C], {"not_chosen": 3}, [B, D], {"not_chosen": 3}),
    "tracks_1_0.gpx": Case("gpx", HELSINKI, 2, [A], {"not_chosen": 1}, [B], {"not_chosen": 1}),
    "waypoints.gpx": Case("gpx_points", HELSINKI, 2, [A, B]),
    "mds.json": Case(
        "mds",
        HELSINKI,
        2,
        [A, B],
        destinations=[B],
        destinations_dropped={"missing_destination": 1},
        timezone="Europe/Helsinki",
        hours=[9, 10],
    ),
    "mds_route.json": Case(
        "mds", HELSINKI, 1, [A], destinations=[B], timezone="Europe/Helsinki", hours=[9]
    ),
    "lines.geojson": Case(
        "geojson",
        HELSINKI,
        5,
        [A, C, (60.20, 24.90)],
        {"missing_origin": 1, "not_a_coordinate": 1},
        [B, D],
        {"missing_destination": 2, "not_a_coordinate": 1},
    ),
    "points.geojson": Case(
        "geojson",
        HELSINKI,
        2,
        [A, B],  # as UTM zone 35 north, worked out by Krüger's series
        unit="device",
        hours=[8, 9],
        mended={"projected": 2},
    ),
    "polyline.csv": Case(
        "named",
        (-127.0, 38.0, -120.0, 44.0),
        3,
        [(38.5, -120.2)],  # the example of the format's description
        {"missing_origin": 1, "not_a_coordinate": 1},
        [(43.252, -126.453)],
        {"missing_destination": 1, "not_a_coordinate": 1},
        hours=[8],
    ),
    "wkt.csv": Case(
        "named", HELSINKI, 3, [A, C], {"missing_origin": 1}, [B, D], {"missing_destination": 1}, hours=[8, 8]
    ),
    "date_and_time.csv": Case("named", HELSINKI, 2, [A, C], destinations=[B, D], hours=[8, 17]),
    "location_pairs.csv": Case(
        "named",
        HELSINKI,
        2,
        [A, C],
        destinations=[B],
        destinations_dropped={"missing_destination": 1},
        timezone="Europe/Helsinki",
        hours=[9, 10],
    ),
}  # fmt: skip


def check(content: bytes | Path, case: Case, name: str = "") -> None:
    table = read_trips(content, name=name)
    assert (table.schema_name, table.unit, table.rows_read) == (case.schema, case.unit, case.read)
    assert table.mended == case.mended
    area = box_area(*case.box, timezone=case.timezone)
    domain = cells_over(area, 8 if case.box[2] - case.box[0] < 2 else 5)
    ids = domain.cell_ids()
    for query, places, expected in (
        ("origins", case.origins, case.origins_dropped),
        ("destinations", case.destinations, case.destinations_dropped),
    ):
        if places is None:
            with pytest.raises(TripFileError, match="no end places"):
                table_values(table, area=area, domain=domain, query=query)
            continue
        values = table_values(table, area=area, domain=domain, query=query)
        cells = Counter(h3.latlng_to_cell(*place, domain.resolution) for place in places)
        assert Counter(ids[v] for v in values.values) == cells
        assert dict(Counter(table.dropped) + Counter(values.dropped)) == expected
        assert table.rows_read == len(values.values) + sum(expected.values())
    for hour, count in Counter(case.hours).items():
        assert len(table_values(table, area=area, domain=domain, hour=hour).values) == count


@pytest.mark.parametrize("name", CASES)
def test_each_kind_of_file(name: str) -> None:
    check(MADE_UP / name, CASES[name])
    check((MADE_UP / name).read_bytes(), CASES[name], name="misleading.pdf")


def test_every_made_up_file_is_held_to_something() -> None:
    others = {"nyc_tlc.csv", "taxis_named.csv", "zones.geojson"}
    assert {path.name for path in MADE_UP.iterdir()} == set(CASES) | others


def parquet(frame: geopandas.GeoDataFrame, **options: object) -> bytes:
    stream = io.BytesIO()
    frame.to_parquet(stream, **options)
    return stream.getvalue()


def lines() -> geopandas.GeoDataFrame:
    shapes = [shapely.LineString([A[::-1], B[::-1]]), shapely.LineString([C[::-1], D[::-1]]), None]
    return geopandas.GeoDataFrame({"started_at": ["2024-05-06 08:00"] * 3}, geometry=shapes, crs=4326)


def arrow_points(frame: geopandas.GeoDataFrame) -> bytes:
    points = frame[:2].set_geometry(shapely.get_point(frame.geometry.to_numpy()[:2], 0), crs=4326)
    return parquet(points, geometry_encoding="geoarrow")


GEOPARQUET: dict[str, tuple[Callable[[], bytes], Case]] = {
    "degrees": (
        lambda: parquet(lines()),
        Case("geoparquet", HELSINKI, 3, [A, C], {"missing_origin": 1}, [B, D], {"missing_destination": 1},
             hours=[8, 8]),
    ),
    "metres with a system": (
        lambda: parquet(lines().to_crs(3067)),
        Case("geoparquet", HELSINKI, 3, [A, C], {"missing_origin": 1}, [B, D], {"missing_destination": 1},
             mended={"projected": 3}),
    ),
    "feet with a system, axes north first": (
        lambda: parquet(lines().to_crs(2393)),  # KKJ / Finland uniform, defined north first
        Case("geoparquet", HELSINKI, 3, [A, C], {"missing_origin": 1}, [B, D], {"missing_destination": 1},
             mended={"projected": 3}),
    ),
    "degrees, system unknown": (
        lambda: parquet(lines().set_crs(None, allow_override=True)),
        Case("geoparquet", HELSINKI, 3, [A, C], {"missing_origin": 1}, [B, D], {"missing_destination": 1}),
    ),
    "points as columns": (lambda: arrow_points(lines()), Case("geoparquet", HELSINKI, 2, [A, C])),
}  # fmt: skip


@pytest.mark.parametrize("kind", GEOPARQUET)
def test_geoparquet_honours_its_coordinate_system(kind: str) -> None:
    make, case = GEOPARQUET[kind]
    check(make(), case)


def test_metres_without_a_system_are_refused_with_the_remedy() -> None:
    content = parquet(lines().to_crs(3067).set_crs(None, allow_override=True))
    with pytest.raises(TripFileError, match="EPSG:32635 would put them"):
        read_trips(content)
    table = read_trips(content, crs="EPSG:3067")
    assert table.frame["start_lat"].iloc[0] == pytest.approx(A[0], abs=1e-6)
    assert table.frame["end_lng"].iloc[1] == pytest.approx(D[1], abs=1e-6)
    for nonsense in ("EPSG:999999", "+proj=longlat", "../etc/passwd", ""):
        if nonsense:
            with pytest.raises(ParameterError, match="coordinate system"):
                read_trips(content, crs=nonsense)


def test_projected_columns_of_a_csv() -> None:
    text = b"lat,lng\n6672126.7,385700.4\n6674319.0,386878.7\n"  # A and B in UTM zone 35 north
    with pytest.raises(TripFileError, match="not degrees"):
        read_trips(text)
    table = read_trips(text, crs="3067")
    assert table.frame["start_lat"].tolist() == pytest.approx([A[0], B[0]], abs=1e-5)
    assert table.mended == {"projected": 2}


def test_geolife_folders_make_the_person() -> None:
    plt = (MADE_UP / "geolife.plt").read_text()
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("Geolife/Data/000/Trajectory/20081023025304.plt", plt)
        archive.writestr("Geolife/Data/000/Trajectory/20081024010000.plt", plt.replace("10-23", "10-24"))
        archive.writestr("Geolife/Data/001/Trajectory/20081023025304.plt", plt)
        archive.writestr("Geolife/User Guide.pdf", b"%PDF")
    table = read_trips(stream.getvalue(), name="geolife.zip")
    assert (table.unit, table.rows_read, len(table.frame)) == ("device", 9, 3)
    assert table.frame["device"].tolist() == ["000", "000", "001"]
    area = box_area(116.2, 39.9, 116.5, 40.1, timezone="Asia/Shanghai")
    values = table_values(table, area=area, domain=cells_over(area, 8))
    assert len(values.values) == 3  # two days of one person, one of another
    assert read_trips(MADE_UP / "geolife.plt").unit == "trip"


def test_a_zip_of_monthly_parts_is_one_table() -> None:
    month = (MADE_UP / "citibike_2021.csv").read_bytes()
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("202403_1.csv", month)
        archive.writestr("202403_2.csv", month.replace(b'"A', b'"B'))
        archive.writestr("__MACOSX/._202403_1.csv", b"\x00\x05\x16\x07")
        archive.writestr("stations.csv", b"station_id,name,lat,lon\n1,a,40.7,-74\n")
    table = read_trips(stream.getvalue(), name="trips.zip")
    assert (table.rows_read, table.dropped) == (8, {"duplicate_id": 2})
    assert np.flatnonzero(table.row_codes).tolist() == [3, 7]
    assert any("left out" in note and "stations.csv" in note for note in table.notes)


SHAPES = ["origins", "destinations"]


def zone_files() -> dict[str, bytes]:
    document = json.loads((MADE_UP / "zones.geojson").read_text())
    frame = geopandas.GeoDataFrame.from_features(document["features"], crs=4326)
    out = {"GeoJSON": (MADE_UP / "zones.geojson").read_bytes(), "GeoParquet": parquet(frame.to_crs(2263))}
    wkt = frame.assign(the_geom=frame.geometry.to_wkt()).drop(columns="geometry")
    out["CSV with WKT"] = wkt.to_csv(index=False).encode()
    inside = frame.geometry.representative_point()
    # The first zone is a rectangle, whose centre lies inside; the second is a C, whose does not.
    lat = [LENOX[0], inside.y[1]]
    lng = [LENOX[1], inside.x[1]]
    out["CSV with places"] = (
        frame[["LocationID", "zone"]].assign(latitude=lat, longitude=lng).to_csv(index=False).encode()
    )
    return out


def test_zones_need_a_zone_file_and_say_so() -> None:
    for name in ("nyc_tlc.csv", "taxis_named.csv"):
        with pytest.raises(ZoneFileNeededError, match="add a zone file"):
            read_trips(MADE_UP / name)
    with pytest.raises(TripFileError, match="does not say where they are"):
        read_zones(b"LocationID,zone,borough\n1,Newark Airport,EWR\n2,Jamaica Bay,Queens\n")


@pytest.mark.parametrize("kind", ["GeoJSON", "GeoParquet", "CSV with WKT", "CSV with places"])
def test_trips_by_zone(kind: str) -> None:
    zones = read_zones(zone_files()[kind], name="zones")
    area = box_area(*NEW_YORK)
    domain = cells_over(area, 8)
    ids = domain.cell_ids()
    table = read_trips(MADE_UP / "nyc_tlc.csv", zones=zones)
    assert table.schema_name == "nyc_tlc"
    origins = table_values(table, area=area, domain=domain)
    assert origins.dropped == {"unknown_zone": 1}
    assert ids[origins.values[0]] == h3.latlng_to_cell(*LENOX, 8)
    bay = shapely.from_wkt(
        "POLYGON ((-73.98 40.74, -73.96 40.74, -73.96 40.742, -73.978 40.742, -73.978 40.758, -73.96 40.758, "
        "-73.96 40.76, -73.98 40.76, -73.98 40.74))"
    )
    lat, lng = table.frame["start_lat"].iloc[1], table.frame["start_lng"].iloc[1]
    assert bay.contains(shapely.Point(lng, lat))
    assert not bay.contains(bay.centroid)  # why the centre will not do
    ends = table_values(table, area=area, domain=domain, query="destinations")
    assert ends.dropped == {"unknown_zone": 1, "missing_destination": 1}
    named = read_trips(MADE_UP / "taxis_named.csv", zones=zones)
    starts = table_values(named, area=area, domain=domain)
    assert (starts.dropped, ids[starts.values[0]]) == ({"missing_origin": 1}, h3.latlng_to_cell(*LENOX, 8))


def test_a_zone_file_in_a_shapefile_with_its_own_system(tmp_path: Path) -> None:
    document = json.loads((MADE_UP / "zones.geojson").read_text())
    frame = geopandas.GeoDataFrame.from_features(document["features"], crs=4326).to_crs(2263)
    frame.to_file(tmp_path / "taxi_zones.shp")
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in tmp_path.iterdir():
            archive.write(path, f"taxi_zones/{path.name}")
    zones = read_zones(stream.getvalue(), name="zones.zip")
    assert zones.lat[0] == pytest.approx(LENOX[0], abs=1e-5)
    assert zones.lng[0] == pytest.approx(LENOX[1], abs=1e-5)
    with pytest.raises(TripFileError, match=r"No column of zones\.zip has the zones"):
        read_trips(b"trip_id,start_zone,end_zone\n1,x,y\n2,z,w\n", zones=zones)


def test_stations_by_number_with_a_list_of_stations() -> None:
    trips = (
        b"trip_id,start_time,end_time,bikeid,from_station_id,from_station_name,to_station_id,to_station_name\n"
        b"1,2015-01-01 08:00,2015-01-01 08:10,9,5,X,7,Y\n"
        b"2,2015-01-01 09:00,2015-01-01 09:10,9,7,Y,99,Z\n"
    )
    stations = b"id,name,latitude,longitude,dpcapacity\n5,X,41.88,-87.63\n7,Y,41.90,-87.65\n"
    table = read_trips(trips, zones=read_zones(stations.replace(b",dpcapacity", b"")))
    assert table.frame["start_lat"].tolist() == [41.88, 41.90]
    area = box_area(*CHICAGO)
    ends = table_values(table, area=area, domain=cells_over(area, 8), query="destinations")
    assert ends.dropped == {"unknown_zone": 1}


def test_parquet_columns_inside_records_and_odd_types() -> None:
    table = pa.table(
        {
            "start_location": pa.array([{"lat": 60.17, "lng": 24.94}, {"lat": 60.21, "lng": 24.80}]),
            "user_id": pa.array(["a", "b"]).dictionary_encode(),
            "start_time": pa.array([1714975200000, 1714978800000], type=pa.timestamp("ms", tz="UTC")),
            "list": pa.array([[1, 2], []]),
        }
    )
    stream = io.BytesIO()
    pq.write_table(table, stream)
    trips = read_trips(stream.getvalue())
    assert trips.columns == ("start_location.lat", "start_location.lng", "user_id", "start_time", "list")
    assert (trips.unit, trips.frame["start_lat"].tolist()) == ("device", [60.17, 60.21])
    assert trips.start_utc is not None
    assert trips.start_utc.all()


@pytest.mark.parametrize("form", ["records", "split", "columns", "index", "table", "lines", "wrapped"])
def test_json_in_any_shape(form: str) -> None:
    rows = [
        {"started_at": "2024-05-06 08:00", "start_lat": 60.17, "start_lng": 24.94},
        {"started_at": None, "start_lat": "60.21", "start_lng": 24.8},
    ]
    names = list(rows[0])
    text = {
        "records": json.dumps(rows),
        "split": json.dumps({"columns": names, "index": [0, 1], "data": [list(r.values()) for r in rows]}),
        "columns": json.dumps({n: {str(i): r[n] for i, r in enumerate(rows)} for n in names}),
        "index": json.dumps({str(i): r for i, r in enumerate(rows)}),
        "table": json.dumps(
            {"schema": {"fields": [{"name": n} for n in ["index", *names]]}, "data": rows * 2}
        ),
        "lines": "\n".join(json.dumps(r) for r in rows),
        "wrapped": json.dumps({"meta": {"n": 2}, "result": {"trips": rows}}),
    }[form]
    table = read_trips(text.encode("utf-16" if form == "records" else "utf-8-sig"))
    assert table.frame["start_lat"].tolist()[:2] == [60.17, 60.21]
    assert table.rows_read == (4 if form == "table" else 2)


REFUSED: dict[str, tuple[bytes, str]] = {
    "origin-destination totals by zone": (b"origin,destination,count\n1,2,30\n1,3,4\n", "holds totals"),
    "totals with coordinates": (b"o_lat,o_lng,d_lat,d_lng,flow\n60.1,24.9,60.2,24.9,12\n", "up to 12 trips"),
    "stops of a timetable": (b"stop_id,stop_name,stop_lat,stop_lon\n1,A,60.1,24.9\n", "list of stops"),
    "stations": (b"station_id,name,lat,lon,capacity\n1,A,60.1,24.9,10\n", "list of stops"),
    "stop times": (b"trip_id,arrival_time,departure_time,stop_id,stop_sequence\n1,08:00,08:00,2,1\n", "GTFS"),
    "shapes": (b"shape_id,shape_pt_lat,shape_pt_lon,shape_pt_sequence\n1,60.1,24.9,1\n", "GTFS"),
    "feed": (b'{"last_updated": 1, "ttl": 60, "data": {"bikes": [{"lat": 60.1, "lon": 24.9}]}}', "GBFS"),
    "areas": ((MADE_UP / "zones.geojson").read_bytes(), "holds areas"),
    "no trips in it": (b'{"a": 1, "b": "x"}', "no pair of columns"),
    "cut-off JSON": (b'[{"lat": 60.1, "lng": 24.9}, {"lat"', "not complete JSON"),
    "an unknown system": (
        b'{"type":"FeatureCollection","crs":{"properties":{"name":"Mars"}},"features":[{"type":"Feature",'
        b'"geometry":{"type":"Point","coordinates":[1,2]}}]}',
        "coordinate system that is unknown",
    ),
    "no point": (b'<gpx version="1.1"><trk><trkseg/></trk></gpx>', "without a single point"),
    "cut-off GPX": (b'<gpx version="1.1"><trk><trkseg><trkpt lat="1" lon="2">', "not complete GPX"),
    "web page": (b"<!DOCTYPE html><html><body>lat,lng</body></html>", "is a web page"),
    "KML": (b'<?xml version="1.0"?><kml xmlns="x"></kml>', "is KML"),
    "another XML": (b'<?xml version="1.0"?><osm></osm>', "XML document that is not GPX"),
    "GeoLife without a point": (b"Geolife trajectory\nWGS 84\nx\ny\nz\n0\n", "without a point"),
    "no header, unknown": (b"1,2.5,3.5\n2,2.6,3.6\n", "Name them in the mapping"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_is_no_file_of_trips_is_refused_with_the_reason(kind: str) -> None:
    content, words = REFUSED[kind]
    with pytest.raises(TripFileError, match=words) as caught:
        read_trips(content, name="file.csv")
    assert str(caught.value).endswith(".")
    assert "\n" not in str(caught.value)


def archive_of(*names: str) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name in names:
            archive.writestr(name, b"a,b\n1,2\n")
    return stream.getvalue()


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (("stops.txt", "trips.txt", "routes.txt", "stop_times.txt"), "GTFS"),
        (("[Content_Types].xml", "xl/workbook.xml"), "is a spreadsheet"),
        (("a.shp", "a.dbf", "a.shx"), "is a shapefile"),
        (("picture.png", "notes.docx"), "no file of trips of a kind"),
    ],
)
def test_archives_of_other_things(names: tuple[str, ...], words: str) -> None:
    with pytest.raises(TripFileError, match=words):
        read_trips(archive_of(*names), name="a.zip")
