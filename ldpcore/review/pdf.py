"""A report as PDF: real text, an outline, fonts of the typesetter's own, no file and no network read.

The text reaches the typesetter as data, never as source, so nothing a user writes can be run by it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import typst

from ldpcore.review.report import Claim, Report, Section, Table

_SOURCE: Final = Path(__file__).resolve().parent / "templates" / "review.typ"
_LONGEST_WORD: Final = 48
_SHORT_TITLE: Final = 80


def report_pdf(report: Report) -> bytes:
    """Return the report as a PDF document, A4, black on white."""
    pdf: bytes = typst.compile(
        _SOURCE.read_bytes(),
        format="pdf",
        ignore_system_fonts=True,
        sys_inputs={"report": json.dumps(_data(report), ensure_ascii=False)},
        timestamp=datetime.fromisoformat(report.created),
    )
    return pdf


def _data(report: Report) -> dict[str, Any]:
    title = report.title if len(report.title) <= _SHORT_TITLE else report.title[: _SHORT_TITLE - 3] + "..."
    return {
        "title": _breakable(report.title),
        "short_title": _breakable(title),
        "mark": "Synthetic data"
        if report.banner.startswith("Synthetic")
        else "For the reviewer, not for publication",
        "verdict": report.verdict,
        "supported": report.supported,
        "banner": report.banner,
        "level": report.level,
        "configuration": report.configuration,
        "version": report.version,
        "created": report.created,
        "sections": [_section(section, report.repeats) for section in report.sections],
        "repeats": [[name, _breakable(text)] for text, name in report.repeats.items()],
    }


def _section(section: Section, repeats: Mapping[str, str]) -> dict[str, Any]:
    return {
        "id": section.id,
        "title": section.title,
        "svg": section.svg,
        "alt": "Who stands between the phone and the public; the table below says the same."
        if section.svg
        else "",
        "statements": [_claim(claim, repeats) for claim in section.statements],
    }


def _claim(claim: Claim, repeats: Mapping[str, str]) -> dict[str, Any]:
    return {
        "about": claim.about,
        "source": claim.source,
        "text": _breakable(claim.text),
        "exact": [[name, _breakable(value)] for name, value in claim.exact],
        "table": None if claim.table is None else _table(claim.table),
        "again": repeats.get(claim.reproduce, ""),
        "page": repeats.get(claim.page, ""),
    }


def _table(table: Table) -> dict[str, Any]:
    """Return a table with the widths of its columns: 0 where a column is as wide as its numbers."""
    longest = [max((len(row[place]) for row in table.rows), default=0) for place in range(len(table.columns))]
    widths = [
        0 if place in table.numbers or longest[place] <= 14 else max(round(longest[place] ** 0.5), 3)
        for place in range(len(table.columns))
    ]
    return {
        "columns": list(table.columns),
        "rows": [[_breakable(cell) for cell in row] for row in table.rows],
        "numbers": list(table.numbers),
        "widths": widths,
    }


def _breakable(text: str) -> str:
    """Let words that are longer than a line break: a page has an edge."""
    return re.sub(rf"(\S{{{_LONGEST_WORD}}})(?=\S)", "\\1\u200b", text)
