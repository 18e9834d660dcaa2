"""The formats a report is written in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from ldpcore.errors import ParameterError
from ldpcore.review.html import report_html
from ldpcore.review.pdf import report_pdf
from ldpcore.review.report import Report
from ldpcore.review.yaml import report_json, report_yaml


def _encoded(write: Callable[[Report], str]) -> Callable[[Report], bytes]:
    return lambda report: write(report).encode("utf-8")


WRITERS: Final[Mapping[str, Callable[[Report], bytes]]] = MappingProxyType(
    {
        ".html": _encoded(report_html),
        ".pdf": report_pdf,
        ".yaml": _encoded(report_yaml),
        ".json": _encoded(report_json),
    }
)
"""How each kind of file is made, by its suffix."""


def require_report_path(path: Path) -> None:
    """Refuse a file that a report can't be written to, before any work.

    Raises
    ------
    ParameterError
        If its suffix is no format, or its folder doesn't exist.
    """
    if path.suffix.lower() not in WRITERS or not path.parent.is_dir():
        raise ParameterError(
            "out",
            f"A report is written to a file that ends in {', '.join(WRITERS)}, in a folder that exists; got {path}.",
        )


def write_report(report: Report, path: Path) -> None:
    """Write a report in the format that the file's suffix names."""
    require_report_path(path)
    path.write_bytes(WRITERS[path.suffix.lower()](report))
