"""Small pictures of every resolution at one epsilon: what is published, drawn as pixels.

At resolution 10 a city has some hundred thousand cells, too many for hexagons in a picture the size of a hand. Each
pixel takes the colour of the cell at its middle, in the colours and the hatching of Explore.
"""

from __future__ import annotations

import base64
import io
import math
from dataclasses import dataclass
from html import escape
from typing import Final

import numpy as np
import numpy.typing as npt
import shapely
from PIL import Image

from ldpcore.domain import Area, Domain, points_to_cells
from ldpcore.release import Release
from ldpcore.shapes import BoolArray, ByteArray
from ui.palettes import RAMPS, CountScale, count_scale, hex_to_rgb
from ui.palettes import tokens as tokens_of

WIDTH: Final = 300
"""Pixels across a picture."""

_MOST_HEIGHT: Final = 380
_HATCH: Final = 7  # pixels from one line to the next
_LAST: Final = 251  # ramp colours in a picture's palette; after them water, land, hatch
_WATER, _LAND, _LINE = 252, 253, 254


@dataclass(frozen=True, eq=False, slots=True)
class Raster:
    """Which cell each pixel shows.

    Parameters
    ----------
    cell
        (height, width) int32, index of the domain, -1 where there is no cell.
    land
        (height, width) bool, whether the pixel lies in the service area.
    """

    cell: npt.NDArray[np.int32]
    land: BoolArray


def raster_of(area: Area, domain: Domain) -> Raster:
    """Lay a grid of pixels over an area and find the cell under each.

    Parameters
    ----------
    area
        Its box is drawn.
    domain
        The cells.
    """
    west, south, east, north = area.bounds
    squeeze = max(math.cos(math.radians((south + north) / 2)), 0.05)
    pixel = max((east - west) * squeeze / WIDTH, (north - south) / _MOST_HEIGHT, 1e-9)  # degrees of latitude
    columns = max(round((east - west) * squeeze / pixel), 1)
    rows = max(round((north - south) / pixel), 1)
    lng = west + (np.arange(columns) + 0.5) * (east - west) / columns
    lat = north - (np.arange(rows) + 0.5) * (north - south) / rows
    every_lat, every_lng = (part.ravel() for part in np.meshgrid(lat, lng, indexing="ij"))
    wrapped = (every_lng + 180.0) % 360.0 - 180.0
    cells = domain.index_of_cells(points_to_cells(every_lat, wrapped, domain.resolution))
    shapely.prepare(area.geometry)
    land = shapely.contains_xy(area.geometry, every_lng, every_lat)
    return Raster(cells.reshape(rows, columns).astype(np.int32), land.reshape(rows, columns))


def picture(release: Release, raster: Raster, *, dark: bool) -> tuple[bytes, CountScale]:
    """Draw what a release publishes.

    Parameters
    ----------
    release
        The run.
    raster
        Of its domain.
    dark
        Whether the page is dark.

    Returns
    -------
    A PNG, and the scale of its colours: that of the truth at this resolution, as on Explore.
    """
    scale = count_scale(release.population.true_counts.astype(np.float64))
    index = (scale.index(release.estimates.estimate).astype(np.int64) * _LAST // 255).astype(np.uint8)
    rows, columns = raster.cell.shape
    pixels: ByteArray = np.where(raster.land, _LAND, _WATER).astype(np.uint8)
    inside = raster.cell >= 0
    cell = np.maximum(raster.cell, 0)
    published = inside & release.published[cell]
    held = inside & ~release.published[cell]
    diagonal = (np.arange(rows)[:, None] + np.arange(columns)[None, :]) % _HATCH == 0
    pixels[held] = _LAND
    pixels[held & diagonal] = _LINE
    pixels[published] = index[cell][published]
    image = Image.fromarray(pixels, mode="P")
    image.putpalette(_palette(dark=dark))
    buffer = io.BytesIO()
    image.save(buffer, format="PNG", optimize=True)
    return buffer.getvalue(), scale


def _palette(*, dark: bool) -> bytes:
    tokens = tokens_of(dark=dark)
    ramp = RAMPS["counts"].colours(dark=dark)[:, :3]
    places = np.rint(np.arange(_LAST + 1) * 255 / _LAST).astype(np.int64)
    rest = np.array([hex_to_rgb(colour) for colour in (tokens.water, tokens.land, tokens.hatch)], np.uint8)
    return np.concatenate([ramp[places], rest]).astype(np.uint8).tobytes()


def picture_html(png: bytes, *, title: str, lines: tuple[str, ...], alt: str, now: bool) -> str:
    """Return one small map with its title above and its figures below, as HTML without script.

    Parameters
    ----------
    png
        The picture.
    title, lines
        Texts; escaped here.
    alt
        What the picture shows, for who can't see it.
    now
        Whether it is the scenario in force.
    """
    source = "data:image/png;base64," + base64.b64encode(png).decode()
    words = "".join(f"<p>{escape(line)}</p>" for line in lines)
    mark = " <b>now</b>" if now else ""
    return (
        f'<figure class="smallmap{" now" if now else ""}"><figcaption>{escape(title)}{mark}</figcaption>'
        f'<img src="{source}" alt="{escape(alt, quote=True)}">{words}</figure>'
    )
