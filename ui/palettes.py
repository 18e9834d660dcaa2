"""The one table of colours: tokens, ramps, and the scales that turn a value into a colour.

The map never receives colours per cell. Python sends one byte per cell, an index into a
ramp of 256 colours, so that a change of theme or of palette costs one kilobyte.

Counts are drawn on a square-root scale. Trip counts are heavy-tailed: on a linear scale a
handful of cells in the centre take the whole ramp, and on a logarithmic one the noise around
zero does. The square root lies between the two, has a value at zero, and is the scale on
which the spread of a count does not depend on its size.

References: M. Correll, D. Moritz, J. Heer, "Value-Suppressing Uncertainty Palettes", CHI 2018
(the VSUP); B. Ottosson, "A perceptual color space for image processing", 2020 (OKLab, in
which the ramps are interpolated).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

import numpy as np
import numpy.typing as npt

from ldpcore.errors import ParameterError
from ldpcore.shapes import ByteArray, FloatArray
from ui.number_words import nice_at_least

RAMP_SIZE: Final = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens:
    """The named colours of one theme, each "#RRGGBB".

    Parameters
    ----------
    page, panel
        Backgrounds: of the page, and of what lies on it.
    text, quiet
        Text, and text that stands back.
    accent
        Controls and links.
    water, land, coast
        The map under the cells.
    grid
        The hairline between cells. Without it a cell near zero would look like bare land.
    hatch
        The 45-degree lines of a cell that is not published, drawn on `land`.
    unsure
        The single colour of the least certain level of the VSUP.
    """

    page: str
    panel: str
    text: str
    quiet: str
    accent: str
    water: str
    land: str
    coast: str
    grid: str
    hatch: str
    unsure: str


LIGHT: Final = Tokens(
    page="#FBFAF7",
    panel="#FFFFFF",
    text="#1B2733",
    quiet="#5C6B78",
    accent="#0B6E6E",
    water="#CFE0EA",
    land="#F4F2EC",
    coast="#AAB4B8",
    grid="#C3C7BD",
    hatch="#8A969F",
    unsure="#B7C2B9",
)
DARK: Final = Tokens(
    page="#10171D",
    panel="#18222B",
    text="#E8EEF2",
    quiet="#9DB0BF",
    accent="#4FB8B0",
    water="#16222B",
    land="#24303A",
    coast="#3C4A55",
    grid="#44545F",
    hatch="#70808D",
    unsure="#5A6A64",
)


def tokens(*, dark: bool) -> Tokens:
    """Return the named colours of the dark or the light theme."""
    return DARK if dark else LIGHT


# The stops of each ramp, from the lowest value to the highest.
_STOPS: Final[Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]]] = MappingProxyType(
    {
        "counts": (
            ("#F7F4DC", "#8FD0B4", "#2E8FA3", "#14286E"),
            ("#22323B", "#2E6F7E", "#6FC3A8", "#F5F0B8"),
        ),
        "error": (
            ("#2166AC", "#F5F5F2", "#B2182B"),
            ("#5BA3E0", "#2A3640", "#F0776B"),
        ),
    }
)


def hex_to_rgb(colour: str) -> tuple[int, int, int]:
    """Turn "#RRGGBB" into three numbers in [0, 255].

    >>> hex_to_rgb("#0B6E6E")
    (11, 110, 110)
    """
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def rgb_to_hex(rgb: npt.ArrayLike) -> str:
    """Turn three numbers in [0, 255] into "#RRGGBB"."""
    red, green, blue = (int(channel) for channel in np.asarray(rgb)[:3])
    return f"#{red:02X}{green:02X}{blue:02X}"


_RGB_TO_LMS = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
_LMS_TO_OKLAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)


def rgb_to_oklab(rgb: npt.ArrayLike) -> FloatArray:
    """Turn sRGB (..., 3) in [0, 255] into OKLab (..., 3): lightness in [0, 1], then two axes of hue."""
    srgb = np.asarray(rgb, dtype=np.float64)[..., :3] / 255
    linear = np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)
    lab: FloatArray = np.cbrt(linear @ _RGB_TO_LMS.T) @ _LMS_TO_OKLAB.T
    return lab


def _oklab_to_rgb(lab: FloatArray) -> ByteArray:
    linear = (lab @ np.linalg.inv(_LMS_TO_OKLAB).T) ** 3 @ np.linalg.inv(_RGB_TO_LMS).T
    linear = np.clip(linear, 0, 1)
    srgb = np.where(linear <= 0.0031308, linear * 12.92, 1.055 * linear ** (1 / 2.4) - 0.055)
    rounded: ByteArray = np.rint(srgb * 255).astype(np.uint8)
    return rounded


def _interpolate(stops: tuple[str, ...], at: FloatArray) -> FloatArray:
    """Colours (n, 3) in OKLab at positions (n,) in [0, 1] along equally spaced stops."""
    lab = rgb_to_oklab([hex_to_rgb(stop) for stop in stops])
    knots = np.linspace(0, 1, len(stops))
    return np.stack([np.interp(at, knots, lab[:, axis]) for axis in range(3)], axis=-1)


def _opaque(rgb: ByteArray) -> ByteArray:
    table = np.full((RAMP_SIZE, 4), 255, dtype=np.uint8)
    table[:, :3] = rgb
    table.flags.writeable = False
    return table


@dataclass(frozen=True, eq=False, slots=True)
class Ramp:
    """256 colours for each theme.

    Parameters
    ----------
    light, dark
        (256, 4) uint8, red, green, blue, opacity. Read-only.
    """

    light: ByteArray
    dark: ByteArray

    def __post_init__(self) -> None:
        for name in ("light", "dark"):
            table = getattr(self, name)
            if table.shape != (RAMP_SIZE, 4) or table.dtype != np.uint8:
                message = f"A ramp has 256 colours of 4 bytes; {name} has shape {table.shape}, {table.dtype}."
                raise ParameterError("ramp", message)

    def colours(self, *, dark: bool) -> ByteArray:
        """Return the (256, 4) table of one theme."""
        return self.dark if dark else self.light

    def css(self, index: int, *, dark: bool) -> str:
        """Return one colour of the table as "#RRGGBB"."""
        return rgb_to_hex(self.colours(dark=dark)[index])


def _ramp_of(name: str) -> Ramp:
    at = np.linspace(0, 1, RAMP_SIZE)
    if name == "error":
        # Index 128 is exactly zero, so the two halves have 128 and 127 steps.
        at = np.where(np.arange(RAMP_SIZE) <= 128, np.arange(RAMP_SIZE) / 256, 0)
        at[128:] = np.linspace(0.5, 1, 128)
    light, dark = (_opaque(_oklab_to_rgb(_interpolate(stops, at))) for stops in _STOPS[name])
    return Ramp(light, dark)


# --- The value-suppressing uncertainty palette -----------------------------------------------

VSUP_LIMITS: Final = (0.10, 0.25, 0.50)
"""One standard error over the count, at which a cell falls to the next level of certainty."""

VSUP_BINS: Final = (8, 4, 2, 1)
"""How many values each level tells apart: the less certain, the fewer."""

_VSUP_OFFSETS: Final = (0, 8, 12, 14)
_VSUP_BLEND: Final = (0.0, 0.35, 0.65, 1.0)


def _vsup_ramp() -> Ramp:
    tables = []
    for theme, stops in zip((LIGHT, DARK), _STOPS["counts"], strict=True):
        unsure = rgb_to_oklab(hex_to_rgb(theme.unsure))
        rows = []
        for bins, blend in zip(VSUP_BINS, _VSUP_BLEND, strict=True):
            centres = (np.arange(bins) + 0.5) / bins
            rows.append((1 - blend) * _interpolate(stops, centres) + blend * unsure)
        colours = _oklab_to_rgb(np.concatenate(rows))
        colours[-1] = hex_to_rgb(theme.unsure)
        tables.append(_opaque(np.concatenate([colours, np.repeat(colours[-1:], RAMP_SIZE - 15, axis=0)])))
    return Ramp(tables[0], tables[1])


RAMPS: Final[Mapping[str, Ramp]] = MappingProxyType(
    {"counts": _ramp_of("counts"), "error": _ramp_of("error"), "vsup": _vsup_ramp()}
)
"""Every ramp the map draws with, by name."""


# --- Scales: value to index -------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CountScale:
    """The square-root scale that truth and estimate share.

    Parameters
    ----------
    top
        Count at which the ramp ends; what lies above takes the last colour.
    breaks
        Round counts for the legend, ascending, from 0 to `top`.
    """

    top: float
    breaks: tuple[float, ...] = field(default=())

    def position(self, values: npt.ArrayLike) -> FloatArray:
        """Return where counts lie on the ramp, in [0, 1]; negative ones and NaN at 0."""
        share = np.nan_to_num(np.asarray(values, dtype=np.float64), nan=0.0) / self.top
        return np.sqrt(np.clip(share, 0, 1))

    def index(self, values: npt.ArrayLike) -> ByteArray:
        """Return (d,) uint8 indices into the ramp "counts"."""
        index: ByteArray = np.rint(self.position(values) * (RAMP_SIZE - 1)).astype(np.uint8)
        return index


def count_scale(values: npt.ArrayLike) -> CountScale:
    """Choose the scale for counts.

    Parameters
    ----------
    values
        Counts (d,) the scale is made for: the truth where it is known, so that the colours stay
        put while epsilon moves; else the estimates.

    Returns
    -------
    CountScale
        Its top is a round number at or above the 99th percentile: one extreme cell must not make
        all others pale. Breaks are round numbers about evenly spaced in colour.
    """
    finite = np.asarray(values, dtype=np.float64)
    finite = finite[np.isfinite(finite)]
    high = float(np.quantile(finite, 0.99)) if finite.size else 0.0
    top = nice_at_least(max(high, 1.0))
    # One and two thirds of the way along a square-root ramp; more labels would not fit a phone.
    inner = (_nice_nearest(top * share * share) for share in (1 / 3, 2 / 3))
    breaks = sorted({0.0, *(value for value in inner if 1 <= value < top), top})
    return CountScale(top, tuple(breaks))


def _nice_nearest(value: float) -> float:
    """Return the round number that lies nearest."""
    magnitude = 10.0 ** np.floor(np.log10(value))
    steps = np.array([1, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 10]) * magnitude
    return float(steps[np.abs(steps - value).argmin()])


@dataclass(frozen=True, slots=True)
class ErrorScale:
    """A linear scale around zero: too low on one side, too high on the other.

    Parameters
    ----------
    limit
        Error in devices at which either end of the ramp is reached.
    """

    limit: float

    def index(self, errors: npt.ArrayLike) -> ByteArray:
        """Return (d,) uint8 indices into the ramp "error"; 128 is exactly zero, NaN too."""
        share = np.nan_to_num(np.asarray(errors, dtype=np.float64), nan=0.0) / self.limit
        steps = np.where(share < 0, 128, 127)
        index: ByteArray = np.rint(128 + np.clip(share, -1, 1) * steps).astype(np.uint8)
        return index


def error_scale(errors: npt.ArrayLike) -> ErrorScale:
    """Choose the scale for errors: its ends are a round number at or above 99 % of |error|."""
    finite = np.abs(np.asarray(errors, dtype=np.float64))
    finite = finite[np.isfinite(finite)]
    high = float(np.quantile(finite, 0.99)) if finite.size else 0.0
    return ErrorScale(nice_at_least(max(high, 1.0)))


def vsup_index(scale: CountScale, estimates: npt.ArrayLike, std_errors: npt.ArrayLike) -> ByteArray:
    """Return indices into the ramp "vsup".

    Parameters
    ----------
    scale
        The scale of the counts, so that the palette keeps the order of the plain ramp.
    estimates, std_errors
        (d,) estimated devices and one standard error of each.

    Returns
    -------
    (d,) uint8
        0-7 where one standard error is at most 10 % of the estimate, 8-11 up to 25 %, 12-13 up to
        50 %, 14 beyond (and for every estimate at or below zero): a count that is mostly noise
        has no value to show.
    """
    estimate = np.asarray(estimates, dtype=np.float64)
    error = np.asarray(std_errors, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = np.where(estimate > 0, error / estimate, np.inf)
    level = np.searchsorted(VSUP_LIMITS, np.nan_to_num(relative, nan=np.inf), side="left")
    bins = np.asarray(VSUP_BINS)[level]
    within = np.minimum((scale.position(estimate) * bins).astype(np.int64), bins - 1)
    index: ByteArray = (np.asarray(_VSUP_OFFSETS)[level] + within).astype(np.uint8)
    return index


def vsup_swatch(level: int, bin_number: int, *, dark: bool) -> str:
    """Return the colour of one field of the wedge as "#RRGGBB", for the legend."""
    return RAMPS["vsup"].css(_VSUP_OFFSETS[level] + bin_number, dark=dark)
