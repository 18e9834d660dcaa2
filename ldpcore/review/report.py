"""What a report is made of: sections of claims, each computed now, said by the user, or not addressed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from ldpcore.statements import STATEMENTS

COMPUTED: Final = "computed"
USER: Final = "user"
NOT_ADDRESSED: Final = "not addressed"
BESIDE: Final = "beside"
"""Id of the section that is there only where another scenario is set beside."""
SOURCES: Final = (COMPUTED, USER, NOT_ADDRESSED)
"""Where a claim comes from; there is no fourth."""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of text under a claim.

    Parameters
    ----------
    columns
        Headings.
    rows
        One text a column.
    numbers
        Columns, by place, that hold numbers.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Claim:
    """One statement of a report.

    Parameters
    ----------
    text
        Whole sentences; the user's own words where the source is "user".
    source
        One of `SOURCES`.
    reproduce
        The command that prints the figures again, or the source they were read from; "" where there is nothing to reproduce.
    figures
        The numbers of the text by name, ready for JSON.
    about
        What the claim is about, where it answers a named question: the label of a statement, say.
    table
        What doesn't fit in a sentence.
    exact
        Name and value of what is long and exact, such as a fraction.
    page
        Link to the page of the dashboard that draws the figures, beside the command; "" where none does.
    """

    text: str
    source: str = COMPUTED
    reproduce: str = ""
    figures: Mapping[str, Any] = field(default_factory=dict)
    about: str = ""
    table: Table | None = None
    exact: tuple[tuple[str, str], ...] = ()
    page: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the claim ready for JSON; what it doesn't have is left out."""
        written: dict[str, Any] = {"text": self.text, "source": self.source}
        if self.about:
            written["about"] = self.about
        written |= {"reproduce": self.reproduce or None, "figures": dict(self.figures)}
        if self.page:
            written["page"] = self.page
        if self.exact:
            written["exact"] = dict(self.exact)
        if self.table is not None:
            written["table"] = {
                "columns": list(self.table.columns),
                "rows": [list(row) for row in self.table.rows],
            }
        return written


@dataclass(frozen=True, slots=True)
class Section:
    """One heading of a report.

    Parameters
    ----------
    id
        Short name, also the anchor in HTML.
    title
        Heading.
    statements
        Its claims.
    svg
        A drawing that stands under the heading, from this program and never from the user; "" where there is none.
    """

    id: str
    title: str
    statements: tuple[Claim, ...]
    svg: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the section ready for JSON; the drawing says nothing that its table doesn't."""
        return {
            "id": self.id,
            "title": self.title,
            "statements": [claim.to_dict() for claim in self.statements],
        }


@dataclass(frozen=True, slots=True)
class Report:
    """A whole report.

    Parameters
    ----------
    title
        Of the document.
    verdict
        One sentence: whether the claim is supported, and what is open.
    supported
        Whether every check of this run agrees with the claim.
    sections
        In the order of reading; the first is the label.
    registry
        The fields of the deployments registry, nested; None where there is no answer.
    registry_gaps
        Why a field of the registry is None, by its path.
    banner
        What must be read before anything else.
    level
        How much was tried.
    configuration
        SHA-256 of the version, every setting of the run and the schedule; not of statements, level or another scenario.
    version
        Of the package.
    created
        Time of the report, ISO 8601: the only part that differs between two reports of the same settings.
    """

    title: str
    verdict: str
    supported: bool
    sections: tuple[Section, ...]
    registry: Mapping[str, Any]
    registry_gaps: Mapping[str, str]
    banner: str
    level: str
    configuration: str
    version: str
    created: str

    @property
    def repeats(self) -> dict[str, str]:
        """A short name for every command, page or file that gives figures again: R1, R2, ... in the order of reading."""
        found = dict.fromkeys(
            text
            for section in self.sections
            for claim in section.statements
            for text in (claim.reproduce, claim.page)
            if text
        )
        return {text: f"R{number}" for number, text in enumerate(found, start=1)}

    @property
    def not_addressed(self) -> tuple[str, ...]:
        """What nobody addressed, once each, in the order of reading."""
        return tuple(
            dict.fromkeys(
                claim.about
                for section in self.sections
                for claim in section.statements
                if claim.source == NOT_ADDRESSED
            )
        )

    def section(self, name: str) -> Section:
        """Return one section by its id."""
        return next(section for section in self.sections if section.id == name)

    def to_dict(self) -> dict[str, Any]:
        """Return the report ready for JSON."""
        return {
            "title": self.title,
            "verdict": self.verdict,
            "supported": self.supported,
            "banner": self.banner,
            "level": self.level,
            "configuration": self.configuration,
            "version": self.version,
            "created": self.created,
            "sections": [section.to_dict() for section in self.sections],
        }


def said(statements: Mapping[str, str], name: str, *, missing: str = "") -> Claim:
    """Return a statement in the user's own words, or that it is not addressed.

    Parameters
    ----------
    statements
        Checked statements by name.
    name
        A key of `STATEMENTS`.
    missing
        What follows from its absence, in a whole sentence.
    """
    label = STATEMENTS[name].label
    if name in statements:
        return Claim(statements[name], USER, about=label)
    return Claim(f"Not addressed. {missing}".strip(), NOT_ADDRESSED, about=label)


def said_all(statements: Mapping[str, str], names: Sequence[str]) -> tuple[Claim, ...]:
    """Return several statements, each as `said` gives it."""
    return tuple(said(statements, name) for name in names)
