"""One real report of the on-device client, opened: its bytes, what is in it, and the cells it points to."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from html import escape
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from ldpcore.device.wire import make_client
from ldpcore.domain import Domain
from ldpcore.mechanisms import Mechanism
from ldpcore.shapes import AnyArray, FloatArray
from ui.number_words import count_of, thousands
from ui.palettes import Tokens

_BINS: Final = 240
_SHOWN_BYTES: Final = 24
_WIDTH, _HEIGHT = 480, 30


@dataclass(frozen=True, eq=False, slots=True)
class OpenReport:
    """One report that the client made for a cell, with what the server reads from it.

    Parameters
    ----------
    cell
        The phone's own cell, as an index of the domain.
    message
        Everything sent: header and payload.
    payload
        The payload alone.
    content
        The one report as an array of the mechanism, first axis 1.
    support
        (d,) what the report says of each cell: 1 where it points to the cell, else 0; noisy numbers where
        the randomiser sends numbers.
    """

    cell: int
    message: bytes
    payload: bytes
    content: AnyArray
    support: FloatArray


def make_report(mechanism: Mechanism, domain: Domain, cell: int) -> OpenReport:
    """Let the on-device client make one report for a cell; its coins are the operating system's."""
    client = make_client(mechanism, domain.version)
    while True:
        message = client.report(cell)
        payload = message[len(client.header) :]
        content, _, refused = mechanism.unpack(np.frombuffer(payload, np.uint8)[None, :])
        # Once in 10^9 times the server takes an honest report for a forged one.
        if not refused:
            break
    support = np.asarray(mechanism.support(mechanism.aggregate(content), n=1), np.float64)
    return OpenReport(cell, message, payload, content, support)


def report_html(report: OpenReport, mechanism: Mechanism, domain: Domain, tokens: Tokens) -> str:
    """Return the report as HTML: what is in it, a strip of all cells, its first bytes."""
    own = bool(report.support[report.cell] > 0.5)
    pointed = int((report.support > 0.5).sum())
    numbers = not np.isin(report.support, (0.0, 1.0)).all()
    reading = READINGS.get(mechanism.name)
    content = reading(report, mechanism, domain) if reading else ""
    if numbers:
        points = "Nothing in it says which cell is the phone's own."
    else:
        points = (
            f"It points to {count_of(pointed, 'cell')} of {thousands(domain.size)}; the phone's own "
            f"{'is' if own else 'is not'} among them."
        )
    start = report.payload[:_SHOWN_BYTES].hex(" ")
    rest = " …" if len(report.payload) > _SHOWN_BYTES else ""
    header = len(report.message) - len(report.payload)
    return (
        f'<div class="report"><p>{escape(content)} {escape(points)}</p>'
        f"{strip(report, tokens, numbers=numbers)}"
        f'<p class="quiet"><code>{start}{rest}</code> {count_of(len(report.payload), "byte")}, '
        f"after a header of {header}</p></div>"
    )


def strip(report: OpenReport, tokens: Tokens, *, numbers: bool) -> str:
    """Return a picture of all cells in a row: dark where the report points, the own cell marked below."""
    cells = report.support.size
    bins = min(cells, _BINS)
    edges = np.linspace(0, cells, bins + 1).astype(np.int64)
    width = _WIDTH / bins
    if numbers:
        heights = np.maximum.reduceat(np.abs(report.support), edges[:-1])
        shades = heights / max(float(heights.max()), 1e-12)
    else:
        shades = np.add.reduceat(report.support, edges[:-1]) / np.diff(edges)
    bars = "".join(
        f'<rect x="{at * width:.2f}" y="2" width="{max(width - 0.4, 0.6):.2f}" height="18" fill="{tokens.accent}" '
        f'fill-opacity="{shade:.2f}"/>'
        for at, shade in enumerate(shades)
        if shade > 0.005
    )
    mark = (report.cell + 0.5) / cells * _WIDTH
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" preserveAspectRatio="none">'
        f'<rect x="0" y="2" width="{_WIDTH}" height="18" fill="{tokens.land}"/>{bars}'
        f'<path d="M{mark:.1f} 21 l4 7 h-8 z" fill="{tokens.text}"/></svg>'
    )
    address = base64.b64encode(svg.encode()).decode()
    what = "sizes of the noisy numbers" if numbers else "cells the report points to"
    return (
        f'<img class="strip" src="data:image/svg+xml;base64,{address}" '
        f'alt="All {cells} cells in a row: {what}; the phone\'s own cell is marked below">'
    )


# -- what is in a report, by randomiser; one without a reading shows its bytes and its strip -----------


def _cell(report: OpenReport, mechanism: Mechanism, domain: Domain) -> str:  # noqa: ARG001
    return f"The number of one cell, {domain.cell_ids()[int(report.content[0])]}."


def _bits(report: OpenReport, mechanism: Mechanism, domain: Domain) -> str:  # noqa: ARG001
    return f"{thousands(mechanism.domain_size)} bits, {thousands(report.support.sum())} of them set."


def _set(report: OpenReport, mechanism: Mechanism, domain: Domain) -> str:  # noqa: ARG001
    return f"A set of exactly {count_of(report.support.sum(), 'cell')}, as one bit a cell."


def _numbers(report: OpenReport, mechanism: Mechanism, domain: Domain) -> str:  # noqa: ARG001
    others = np.delete(report.support, report.cell)
    return (
        f"{thousands(mechanism.domain_size)} noisy numbers: {report.support[report.cell]:+.2f} at the own cell, "
        f"{others.min():+.2f} to {others.max():+.2f} at the others."
    )


def _hash(report: OpenReport, mechanism: Any, domain: Domain) -> str:  # noqa: ANN401, ARG001
    record = report.content[0]
    return (
        f"A hash of its own (numbers {record['a0']}, {record['a1']}, {record['a2']}) and bucket "
        f"{int(record['bucket']) + 1} of {mechanism.buckets}."
    )


def _row(report: OpenReport, mechanism: Any, domain: Domain) -> str:  # noqa: ANN401, ARG001
    code = int(report.content[0])
    return (
        f"Row {thousands(code // 2)} of {thousands(mechanism.rows)} and the sign {'−' if code % 2 else '+'}."
    )


def _column(report: OpenReport, mechanism: Any, domain: Domain) -> str:  # noqa: ANN401, ARG001
    return f"Column {thousands(int(report.content[0]))} of {thousands(mechanism.outputs)}."


READINGS: Final[Mapping[str, Callable[[OpenReport, Any, Domain], str]]] = MappingProxyType(
    {
        "grr": _cell,
        "sue": _bits,
        "oue": _bits,
        "the": _bits,
        "she": _numbers,
        "blh": _hash,
        "olh": _hash,
        "hrr": _row,
        "hr": _column,
        "ss": _set,
    }
)
