"""Make the small land and region files under data/cities/ from public sources.

Run by a developer, never at install or run time: it needs npm, pip and a network. The sources
are named, with their licences, in data/README.md.

    python data/build_cities.py [--sources DIR]
"""

from __future__ import annotations

import argparse
import io
import json
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import geopandas as gpd
import numpy as np
import shapely
from shapely.geometry import mapping, shape
from shapely.geometry.base import BaseGeometry

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from ldpcore.trips.cities import CITIES, City  # noqa: E402

OUT = Path(__file__).resolve().parent / "cities"
SEAS = "@geo-maps/earth-seas-10m@0.6.0"
VEGA = "vega-datasets@3.2.1"
GEOPANDAS = "geopandas==0.14.4"  # the last line of releases that carried the New York boroughs

M_PER_DEGREE = 111_195.0
GRID_DEG = 1e-5  # about 1 m

# The seas are drawn to 10 m. The land is widened by twice that, so that a quay, a pier or a phone's
# position beside the water does not fall outside, and then simplified by less than it was widened.
WIDEN_M = 20.0
SIMPLIFY_M = 8.0
SMALLEST_ISLAND_M2 = 500.0
REGION_SIMPLIFY_M = 30.0


def fetch(folder: Path) -> dict[str, Path]:
    """Download the three sources into a folder, or reuse them there; return where each lies."""
    folder.mkdir(parents=True, exist_ok=True)
    found = {}
    for key, package, pattern in [
        ("seas", SEAS, "geo-maps-earth-seas-10m-*.tgz"),
        ("vega", VEGA, "vega-datasets-*.tgz"),
    ]:
        if not list(folder.glob(pattern)):
            subprocess.run(["npm", "pack", package], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        found[key] = next(folder.glob(pattern))
    if not list(folder.glob("geopandas-*.whl")):
        pip = [sys.executable, "-m", "pip", "download", "--no-deps", "--quiet", GEOPANDAS]
        subprocess.run(pip, cwd=folder, check=True)
    found["nybb"] = next(folder.glob("geopandas-*.whl"))
    return found


def read_member(archive: Path, name: str) -> Any:  # noqa: ANN401  (JSON)
    """Read one JSON member of an npm package."""
    with tarfile.open(archive) as tar:
        member = tar.extractfile(f"package/{name}")
        if member is None:
            raise FileNotFoundError(name)
        return json.load(member)


def polygons(geometry: BaseGeometry) -> Iterator[shapely.Polygon]:
    """Yield the polygons of a geometry."""
    if isinstance(geometry, shapely.Polygon):
        yield geometry
    else:
        for part in getattr(geometry, "geoms", []):
            yield from polygons(part)


def in_metres(geometry: BaseGeometry, middle_lat: float, change: Any) -> BaseGeometry:  # noqa: ANN401
    """Apply a change of shape in metres to a geometry in degrees."""
    scale = np.array([np.cos(np.radians(middle_lat)), 1.0]) * M_PER_DEGREE
    metres = shapely.transform(geometry, lambda xy: xy * scale)
    return shapely.transform(change(metres), lambda xy: xy / scale)


def widened(land: BaseGeometry, city: City, frame: BaseGeometry) -> shapely.MultiPolygon:
    """Widen, simplify and put on the coordinate grid."""
    middle = (city.bounds[1] + city.bounds[3]) / 2
    shaped = in_metres(land, middle, lambda g: g.buffer(WIDEN_M, quad_segs=2).simplify(SIMPLIFY_M))
    shaped = shapely.set_precision(shapely.make_valid(shaped.intersection(frame)), GRID_DEG)
    smallest = SMALLEST_ISLAND_M2 / M_PER_DEGREE**2
    return shapely.MultiPolygon([part for part in polygons(shaped) if part.area > smallest])


def box_minus_seas(seas: list[shapely.Polygon], city: City) -> BaseGeometry:
    """Return the land in a city's box."""
    frame = shapely.box(*city.bounds)
    # The sea polygons span oceans and some are invalid: clipping first makes the rest quick and safe.
    near = [sea for sea in seas if shapely.box(*sea.bounds).intersects(frame)]
    clipped = [shapely.make_valid(shapely.clip_by_rect(sea, *city.bounds)) for sea in near]
    return shapely.make_valid(frame.difference(shapely.union_all(clipped)))


def boroughs_of_london(topology: dict[str, Any]) -> dict[str, BaseGeometry]:
    """Decode the TopoJSON of the 33 boroughs."""
    scale, translate = topology["transform"]["scale"], topology["transform"]["translate"]
    arcs = [np.cumsum(np.array(arc), axis=0) * scale + translate for arc in topology["arcs"]]

    def ring(indices: list[int]) -> np.ndarray:
        pieces = [arcs[i] if i >= 0 else arcs[~i][::-1] for i in indices]
        return np.concatenate([pieces[0], *[piece[1:] for piece in pieces[1:]]])

    found = {}
    for item in topology["objects"]["boroughs"]["geometries"]:
        parts = [item["arcs"]] if item["type"] == "Polygon" else item["arcs"]
        shapes = [shapely.Polygon(ring(rings[0]), [ring(hole) for hole in rings[1:]]) for rings in parts]
        found[item["id"]] = shapely.make_valid(shapely.MultiPolygon(shapes))
    return found


def boroughs_of_new_york(wheel: Path) -> dict[str, BaseGeometry]:
    """Read the five boroughs from the data set inside an old geopandas wheel."""
    with zipfile.ZipFile(wheel) as archive:
        inner = io.BytesIO(archive.read("geopandas/datasets/nybb_16a.zip"))
    frame = gpd.read_file(inner).to_crs("EPSG:4326")
    return {
        name: in_metres(outline, 40.7, lambda g: g.simplify(REGION_SIMPLIFY_M))
        for name, outline in zip(frame["BoroName"], frame.geometry, strict=True)
    }


def write(path: Path, features: list[dict[str, Any]], about: dict[str, str]) -> None:
    """Write a compact GeoJSON FeatureCollection with its source and licence in it."""
    collection = {"type": "FeatureCollection", **about, "features": features}
    path.write_text(
        json.dumps(collection, separators=(",", ":"), ensure_ascii=False) + "\n", encoding="utf-8"
    )
    print(f"{path.relative_to(ROOT)}  {path.stat().st_size:,} bytes")


def feature(name: str, geometry: BaseGeometry) -> dict[str, Any]:
    """Return a GeoJSON feature with coordinates of five decimals."""
    rounded = shapely.transform(geometry, lambda xy: xy.round(5))
    return {"type": "Feature", "properties": {"name": name}, "geometry": mapping(rounded)}


def main() -> None:
    """Build every file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sources", type=Path, default=Path(tempfile.gettempdir()) / "ldp_atlas_sources")
    sources = fetch(parser.parse_args().sources.resolve())
    OUT.mkdir(exist_ok=True)

    seas = [
        part
        for item in read_member(sources["seas"], "map.geo.json")["geometries"]
        for part in polygons(shape(item))
    ]
    regions = {
        "new_york": boroughs_of_new_york(sources["nybb"]),
        "london": boroughs_of_london(read_member(sources["vega"], "data/londonBoroughs.json")),
    }
    for slug, city in CITIES.items():
        land = (
            shapely.union_all(list(regions[slug].values()))
            if slug == "london"
            else box_minus_seas(seas, city)
        )
        shaped = widened(land, city, shapely.box(*city.bounds))
        write(
            OUT / f"{slug}.geojson",
            [feature(slug, shaped)],
            {"attribution": city.attribution, "license": city.licence},
        )
        if slug in regions:
            named = [
                feature(name, shapely.set_precision(shapely.make_valid(outline), GRID_DEG))
                for name, outline in sorted(regions[slug].items())
            ]
            about = {"attribution": city.regions_attribution, "license": city.regions_licence}
            write(OUT / f"{slug}_regions.geojson", named, about)


if __name__ == "__main__":
    main()
