"""The bytes that travel to the map at one update, and the checks before they leave.

Layout: uint32 length of the header, the header as JSON, then arrays that each start at a
multiple of 8 bytes, little-endian as every browser is. Cells are sent once as 64-bit numbers
and not as text (15 characters each); colours as one byte per cell and panel and a table of 256
colours; what the tooltip shows as float32, which the browser formats.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from ldpcore.errors import ParameterError
from ldpcore.shapes import BoolArray, ByteArray, CellArray, IntArray
from ui.palettes import Ramp

MAX_WEIGHT: Final = 8
"""Greatest weight of an outline; wider ones would cover their cells."""

MAX_DRAWN: Final = 100_000
"""More cells than this would freeze a tab; pages coarsen long before."""

_KINDS: Final[Mapping[str, str]] = {"uint64": "u64", "float32": "f32", "uint32": "u32", "uint8": "u8"}


@dataclass(frozen=True, kw_only=True, eq=False)
class Panel:
    """One of the maps side by side.

    Parameters
    ----------
    id
        Short and constant, letters only: the browser keeps its layers by it.
    title, subtitle
        What it shows, in words. The subtitle may be empty.
    index
        (d,) uint8, the colour of each cell in `ramp`.
    ramp
        The colours.
    hatch
        Whether cells that are not published are hatched here. The truth has no such cells.
    hatched
        (d,) bool, the cells that are not published here, where that differs from the other panels.
    groups
        (d,) integers from 0: cells that stand for one number together. No line is drawn between two cells of one group.
    weights
        (d,) integers from 0 to `MAX_WEIGHT`, how heavy the outline of each cell's group is; 0 is the hairline of a
        plain cell. The heavier of two neighbours decides.
    """

    id: str
    title: str
    index: ByteArray
    ramp: Ramp
    subtitle: str = ""
    hatch: bool = True
    hatched: BoolArray | None = None
    groups: IntArray | None = None
    weights: IntArray | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class HoverColumn:
    """One line of the tooltip.

    Parameters
    ----------
    label
        Plain words.
    values
        (d,) numbers; sent as float32. NaN is shown as "no value".
    error
        (d,) numbers shown after a "±", or none. The value is rounded to the digits it allows.
    unit
        Written after the number, "devices" for instance; may be empty.
    signed
        Whether a plus sign is written before positive values.
    optional
        Whether the line is left out where the value is NaN, instead of saying so.
    """

    label: str
    values: npt.ArrayLike
    error: npt.ArrayLike | None = None
    unit: str = ""
    signed: bool = False
    optional: bool = False


@dataclass(frozen=True, kw_only=True, eq=False)
class HoverStatus:
    """The last line of the tooltip, one of a few sentences.

    Parameters
    ----------
    codes
        (d,) uint8, which of `labels` applies.
    labels
        The sentences.
    """

    codes: ByteArray
    labels: Sequence[str]


def check_cells(cells: CellArray) -> None:
    """Refuse what the map would draw as nothing at all.

    Raises
    ------
    ParameterError
        `cells` is not a vector of uint64, holds more than `MAX_DRAWN`, mixes resolutions, repeats a
        cell, or holds a number that is no H3 cell.
    """
    if cells.dtype != np.uint64 or cells.ndim != 1:
        message = f"Cells are a vector of 64-bit numbers, not {cells.dtype} of shape {cells.shape}."
        raise ParameterError("cells", message)
    if cells.size > MAX_DRAWN:
        message = f"The map draws at most {MAX_DRAWN:,} cells, not {cells.size:,}; use a coarser resolution."
        raise ParameterError("cells", message)
    if cells.size == 0:
        return
    # Bits of an H3 cell: 0, mode 1 (4 bits), reserved 0 (3), resolution (4), base cell (7), digits (15 x 3).
    head = cells >> np.uint64(56)
    if (head != 8).any():
        wrong = int(cells[head != 8][0])
        raise ParameterError("cells", f"{wrong:x} is not an H3 cell.")
    resolutions = (cells >> np.uint64(52)) & np.uint64(0xF)
    if (resolutions != resolutions[0]).any():
        raise ParameterError("cells", "The map draws cells of one resolution; these mix several.")
    # A domain is ascending, which is cheaper to see than to sort.
    ascending = bool((cells[1:] > cells[:-1]).all())
    if not ascending and np.unique(cells).size != cells.size:
        raise ParameterError("cells", "The map draws each cell once; these repeat one.")


def _vector(name: str, values: npt.ArrayLike, dtype: type[np.generic], size: int) -> npt.NDArray[np.generic]:
    array = np.ascontiguousarray(values, dtype=dtype)
    if array.shape != (size,):
        message = f"{name} needs one value for each of the {size:,} cells; it has shape {array.shape}."
        raise ParameterError(name, message)
    return array


def pack_update(
    *,
    cells: CellArray,
    domain_version: str,
    panels: Sequence[Panel],
    hatched: BoolArray | None,
    columns: Sequence[HoverColumn],
    status: HoverStatus | None,
    dark: bool,
    header: Mapping[str, object],
) -> tuple[bytes, str]:
    """Put one update of the map into bytes.

    Parameters
    ----------
    cells
        (d,) uint64, the domain.
    domain_version
        Changes when any cell or the order changes; the browser rebuilds its hexagons only then.
    panels
        One to three.
    hatched
        (d,) bool, the cells that are not published; none when all are.
    columns, status
        What the tooltip shows.
    dark
        Which table of each ramp to send.
    header
        What else the browser needs, JSON-able.

    Returns
    -------
    bytes, str
        The payload, and its version: 16 hex digits that change with any of it.

    Raises
    ------
    ParameterError
        An array has not one value per cell, or the cells are not what `check_cells` asks.
    """
    size = int(cells.size)
    check_cells(cells)
    if not 1 <= len(panels) <= 3:
        raise ParameterError("panels", f"The map has one to three panels, not {len(panels)}.")

    arrays: dict[str, npt.NDArray[np.generic]] = {"cells": cells}
    ramps: list[Ramp] = []
    panel_heads = []
    for number, panel in enumerate(panels):
        arrays[f"index{number}"] = _vector(
            f"The colour index of panel {panel.id}", panel.index, np.uint8, size
        )
        arrays |= _panel_arrays(panel, number, size)
        if panel.ramp not in ramps:
            ramps.append(panel.ramp)
        panel_heads.append(
            {
                "id": panel.id,
                "title": panel.title,
                "subtitle": panel.subtitle,
                "ramp": ramps.index(panel.ramp),
                "hatch": panel.hatch,
            }
        )
    for number, ramp in enumerate(ramps):
        arrays[f"ramp{number}"] = ramp.colours(dark=dark).ravel()
    if hatched is not None:
        arrays["hatched"] = _bits(hatched, size)

    column_heads = []
    for number, column in enumerate(columns):
        arrays[f"value{number}"] = _vector(column.label, column.values, np.float32, size)
        if column.error is not None:
            arrays[f"error{number}"] = _vector(f"The error of {column.label}", column.error, np.float32, size)
        column_heads.append(
            {
                "label": column.label,
                "unit": column.unit,
                "signed": column.signed,
                "optional": column.optional,
            }
        )
    if status is not None:
        arrays["status"] = _vector("status", status.codes, np.uint8, size)

    head = {
        **header,
        "domain": domain_version,
        "size": size,
        "dark": dark,
        "panels": panel_heads,
        "columns": column_heads,
        "statusLabels": list(status.labels) if status is not None else [],
    }
    return _assemble(head, arrays)


def _bits(hatched: BoolArray, size: int) -> ByteArray:
    return np.packbits(_vector("hatched", hatched, np.bool_, size).astype(np.bool_), bitorder="little")


def _panel_arrays(panel: Panel, number: int, size: int) -> dict[str, npt.NDArray[np.generic]]:
    """Return what one panel draws in its own way: its hatching and the outlines of its groups."""
    arrays: dict[str, npt.NDArray[np.generic]] = {}
    if panel.hatched is not None:
        arrays[f"hatched{number}"] = _bits(panel.hatched, size)
    if panel.groups is None:
        return arrays
    weights = panel.weights if panel.weights is not None else np.zeros(size, np.int64)
    if panel.groups.size and int(panel.groups.min()) < 0:
        raise ParameterError("groups", f"Groups are counted from 0, got {int(panel.groups.min())}.")
    if weights.size and not 0 <= int(weights.min()) <= int(weights.max()) <= MAX_WEIGHT:
        raise ParameterError("weights", f"Weights of outlines are whole numbers from 0 to {MAX_WEIGHT}.")
    arrays[f"group{number}"] = _vector(f"The group of panel {panel.id}", panel.groups, np.uint32, size)
    arrays[f"weight{number}"] = _vector(f"The weight of panel {panel.id}", weights, np.uint8, size)
    return arrays


def _assemble(head: dict[str, object], arrays: Mapping[str, npt.NDArray[np.generic]]) -> tuple[bytes, str]:
    body = bytearray()
    places = {}
    for name, array in arrays.items():
        places[name] = [_KINDS[array.dtype.name], len(body), int(array.size)]
        body += array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()
        body += bytes(-len(body) % 8)
    content = json.dumps({**head, "arrays": places}, separators=(",", ":"), allow_nan=False).encode()
    version = hashlib.sha256(content + body).hexdigest()[:16]
    text = content[:-1] + b',"version":"' + version.encode() + b'"}'
    text += b" " * (-(len(text) + 4) % 8)  # so that the arrays start at a multiple of 8
    return struct.pack("<I", len(text)) + text + bytes(body), version
