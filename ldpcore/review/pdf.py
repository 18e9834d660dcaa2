"""A report as PDF: real text, an outline, fonts of the typesetter's own, no file and no network read.

The text reaches the typesetter as data, never as source, so nothing a user writes can be run by it.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Final, Literal

import typst

from ldpcore.review.glyphs import named, undrawable
from ldpcore.review.report import Claim, Report, Section, Table

_SOURCE: Final = Path(__file__).resolve().parent / "templates" / "review.typ"
_LONGEST_WORD: Final = 22
"""Letters of a word that fits in the narrowest column, were they all as wide as W."""
_LONGEST_MONO: Final = 48
_JOINERS: Final = "\u200c\u200d"
_MOST_NAMED: Final = 12
_SHORT_TITLE: Final = 60


def report_pdf(report: Report) -> bytes:
    """Return the report as a PDF document, A4, black on white."""
    pdf: bytes = _compiled(report, "pdf")
    return pdf


def report_pictures(report: Report, *, ppi: float = 72.0) -> list[bytes]:
    """Return the pages of the same document as PNG, to look at.

    Parameters
    ----------
    report
        The report.
    ppi
        Pixels an inch.
    """
    found: bytes | list[bytes] = _compiled(report, "png", ppi=ppi)
    return found if isinstance(found, list) else [found]


def unprintable(report: Report) -> tuple[str, ...]:
    """Return the characters of a report that its PDF names by number, because no font of the typesetter has them."""
    return undrawable(_texts(report))


def unprintable_words(report: Report) -> str:
    """Return in a sentence or two what the PDF can't print and where it can be read, "" where it prints everything."""
    missing = unprintable(report)
    if not missing:
        return ""
    some = ", ".join(f"U+{ord(character):04X}" for character in missing[:_MOST_NAMED])
    more = len(missing) - _MOST_NAMED
    count = "One character" if len(missing) == 1 else f"{len(missing)} different characters"
    return (
        f"{count} of the text can't be printed in this PDF, whose fonts lack them, and stand as numbers in brackets: {some}"
        + (f" and {more} more" if more > 0 else "")
        + ". The HTML file of the same report holds the text as it was written."
    )


def _compiled(report: Report, kind: Literal["pdf", "png"], *, ppi: float | None = None) -> Any:  # noqa: ANN401 - bytes, or one for each page
    return typst.compile(
        _SOURCE.read_bytes(),
        format=kind,
        ignore_system_fonts=True,
        sys_inputs={"report": json.dumps(_data(report), ensure_ascii=False)},
        timestamp=datetime.fromisoformat(report.created),
        ppi=ppi,
    )


def _texts(report: Report) -> Iterator[str]:
    """Yield every text that is set, save those of this program alone."""
    yield from (report.title, report.verdict, report.banner, *report.repeats)
    for section in report.sections:
        for claim in section.statements:
            yield from (claim.about, claim.text, *(text for pair in claim.exact for text in pair))
            if claim.table is not None:
                yield from (cell for row in claim.table.rows for cell in row)


def _data(report: Report) -> dict[str, Any]:
    missing = unprintable(report)
    data = _data_of(report)
    named_data: dict[str, Any] = _named(data, missing) if missing else data
    # What a reader of files shows as its title needs no font.
    return named_data | {"file_title": report.title, "unprintable": unprintable_words(report)}


def _named(value: Any, missing: tuple[str, ...]) -> Any:  # noqa: ANN401 - ready for JSON
    """Return data with the characters of no font named in every text."""
    if isinstance(value, str):
        return named(value, missing)
    if isinstance(value, dict):
        return {name: _named(entry, missing) for name, entry in value.items()}
    return [_named(entry, missing) for entry in value] if isinstance(value, list) else value


def _data_of(report: Report) -> dict[str, Any]:
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
        "repeats": [[name, _breakable_mono(text)] for text, name in report.repeats.items()],
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
        "exact": [[name, _breakable_mono(value)] for name, value in claim.exact],
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


def _breakable_mono(text: str) -> str:
    """Let words of letters of one width break after so many as fit in a line: a page has an edge."""
    return re.sub(rf"(\S{{{_LONGEST_MONO}}})(?=\S)", "\\1\u200b", text)


def _breakable(text: str) -> str:
    """Let long words break anywhere: how many letters fit in a line depends on their widths, which the typesetter knows."""
    return re.sub(rf"\S{{{_LONGEST_WORD},}}", _with_breaks, text)


def _with_breaks(word: re.Match[str]) -> str:
    """Return a word with a place to break before each letter, never between a letter and the marks on it."""
    broken = ""
    for letter in word.group():
        joined = unicodedata.category(letter).startswith("M") or letter in _JOINERS or broken[-1:] in _JOINERS
        broken += letter if joined or not broken else f"\u200b{letter}"
    return broken
