"""A report as one HTML page: everything in it, nothing fetched, every text escaped by the template."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from ldpcore.review.report import COMPUTED, NOT_ADDRESSED, USER, Report, Section, Table

_FOLDER: Final = Path(__file__).resolve().parent / "templates"
_MARKS: Final = {COMPUTED: "computed", USER: "user", NOT_ADDRESSED: "open"}


@lru_cache(maxsize=1)
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_FOLDER), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    environment.filters["trusted"] = _trusted
    environment.filters["raised"] = _raised
    environment.globals["marks"] = _MARKS
    return environment


def _trusted(svg: str) -> Markup:
    """Pass a drawing of our own through; it holds no text of the user's."""
    return Markup(svg)  # noqa: S704 - made by ldpcore.review.diagram, which escapes what it writes


_POWER: Final = re.compile(r"\b(e|10)\^(ε|[0-9][0-9,]*(?:\.[0-9]+)?)")


def _raised(text: str) -> Markup:
    """Write powers such as e^2 with a raised exponent; everything is escaped first."""
    return Markup(_POWER.sub(r"\1<sup>\2</sup>", str(escape(text))))  # noqa: S704 - escaped, tags of ours alone


@lru_cache(maxsize=2)
def style(*, page: bool) -> str:
    """Return the style of sections, and with `page` that of the document around them."""
    names = ("review.css", "section.css") if page else ("section.css",)
    # The print rules of the page come last, over those of its sections.
    parts = [(_FOLDER / name).read_text(encoding="utf-8") for name in reversed(names)]
    return "\n".join(parts)


def section_html(section: Section, repeats: Mapping[str, str], *, linked: bool = True) -> str:
    """Return one section without its heading, every text in it escaped.

    Parameters
    ----------
    section
        The section.
    repeats
        Short names of what gives figures again, from the report.
    linked
        Whether the short names lead to the list of them.
    """
    template = _environment().get_template("section.html.j2")
    return template.render(section=section, repeats=repeats, linked=linked)


def table_html(table: Table) -> str:
    """Return a table by itself, every text in it escaped."""
    return _environment().get_template("table.html.j2").render(table=table)


def report_html(report: Report) -> str:
    """Return the whole report as a page that asks no other host for anything."""

    def section_body(section: Section) -> Markup:
        return Markup(section_html(section, report.repeats))  # noqa: S704 - escaped by its template

    def front(section: Section) -> Markup:
        # The verdict stands above already; what is left of the label is its table.
        tables = [table_html(claim.table) for claim in section.statements if claim.table is not None]
        return Markup("".join(tables))  # noqa: S704 - escaped by its template

    template = _environment().get_template("review.html.j2")
    text: str = template.render(
        report=report,
        style=Markup(style(page=True)),  # noqa: S704 - a file of ours
        section_body=section_body,
        front=front,
        repeats=report.repeats,
    )
    return text
