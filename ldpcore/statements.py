"""What only people can state: the fields of a review that no program can compute.

A report about a deployment holds three kinds of sentence: computed at that moment, in the user's own words,
or "not addressed". This table lists the second kind. The page draws its form from it, the scenario file carries
the answers, and the deployments registry takes those that have a path there.

The words are untrusted: `checked_statements` refuses what can't be used, and `visible` makes characters that
hide or reorder text plain to see. Escaping is left to each format.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from types import MappingProxyType
from typing import Any, Final

from ldpcore.errors import ParameterError

LONGEST: Final = 5_000
"""Characters of one statement at most."""

_OVERCLAIM: Final = re.compile(r"anonymous|anonymi[sz]")
_LOOK_ALIKES: Final = str.maketrans(
    {
        **dict.fromkeys("\u0430\u03b1\u0251\u1d00@", "a"),
        **dict.fromkeys("\u043f\u0578\u057c\u03b7\u03bd\u0274\u0438", "n"),
        **dict.fromkeys("\u043e\u03bf\u0585\u1d0f\u0275\u00f80", "o"),
        **dict.fromkeys("\u0443\u03b3\u03c5\u028f\u04af\u10e7", "y"),
        **dict.fromkeys("\u043c\u1d0d\u03bc", "m"),
        **dict.fromkeys("\u057d\u1d1c\u028b", "u"),
        **dict.fromkeys("\u0455\ua731$", "s"),
        **dict.fromkeys("\u0456\u03b9\u0131\u0269\u026a1|!", "i"),
        **dict.fromkeys("\u1d22\u0437\u03b6", "z"),
        **dict.fromkeys("-\u2010\u2011\u2012\u2013\u2212", None),
    }
)
"""Small letters that read as another one, from Cyrillic, Greek, Armenian and phonetic letters, and signs in their place."""

_UNSEEN: Final = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0"
    + "".join(map(chr, range(0xE0100, 0xE01F0)))
)
"""Characters that count as marks or letters and show nothing."""


def _any_text(text: str) -> str:
    return text


def _iso_date(text: str) -> str:
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError:
        raise ValueError("write a date as YYYY-MM-DD, such as 2026-11-30") from None


def _batch(text: str) -> str:
    if not re.fullmatch(r"[0-9]{1,13}", text) or not 2 <= int(text) <= 10**12:
        raise ValueError("write a whole number from 2 to 1000000000000, digits only, such as 100000")
    return str(int(text))


def _small_probability(text: str) -> str:
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < 1:
        raise ValueError("write a number between 0 and 1, such as 1e-8")
    return text


@dataclass(frozen=True, slots=True)
class Statement:
    """One field of the user's own words.

    Parameters
    ----------
    label
        How the form calls it.
    help
        What is asked, in one sentence.
    registry
        Path in the deployments registry, such as ``basic.name``; None where it has no field for it.
    group
        Under which heading the form shows it.
    long
        Whether the answer may run over several lines.
    read
        Returns the text in its usual form; raises ValueError with what to write instead.
    """

    label: str
    help: str
    registry: str | None = None
    group: str = "The deployment"
    long: bool = False
    read: Callable[[str], str] = _any_text


_DEPLOYMENT: Final = "The deployment"
_CLIENTS: Final = "Devices and server"
_LEGAL: Final = "Three questions of law"
_SIGN: Final = "Risks and sign-off"

STATEMENTS: Final[Mapping[str, Statement]] = MappingProxyType(
    {
        "name": Statement("Name", "What the deployment is called.", "basic.name"),
        "data_curators": Statement(
            "Who collects", "The organisations that collect and publish.", "basic.data_curators"
        ),
        "intended_use": Statement(
            "Intended use",
            "Which decisions rest on the release, and whose.",
            "basic.intended_use",
            long=True,
        ),
        "region": Statement("Region", "Where the people are who report.", "basic.data_product_region"),
        "sector": Statement("Sector", "Transport, health, public administration ...", "basic.sector"),
        "publication_date": Statement(
            "Publication date",
            "When the release is or was published.",
            "basic.publication_date",
            read=_iso_date,
        ),
        "data_subjects": Statement(
            "Who reports",
            "Whose devices report, how they were asked, and who is left out.",
            long=True,
        ),
        "tuning": Statement(
            "How the settings were chosen",
            "Who chose epsilon, resolution and floor, from which evidence, and whether real data were looked at.",
            "implementation.preprocessing_and_hyperparameter_tuning",
            long=True,
        ),
        "justification": Statement(
            "Why these settings",
            "Why this loss is worth this use.",
            "implementation.justification",
            long=True,
        ),
        "sources": Statement(
            "Sources", "Documents that describe the deployment.", "administrative.sources", long=True
        ),
        "notes": Statement("Notes", "Anything else for the registry.", "administrative.notes", long=True),
        "registry_authors": Statement(
            "Authors of the entry", "Who wrote the registry entry.", "administrative.registry_authors"
        ),
        "actors": Statement(
            "Who takes part",
            "Who makes the client, runs the server, sees single reports, and reads the release.",
            "deployment_model.actors",
            _CLIENTS,
            long=True,
        ),
        "access_type": Statement(
            "Who may read the release",
            "Everybody, named partners, or staff.",
            "deployment_model.access_type",
            _CLIENTS,
        ),
        "domain_origin": Statement(
            "Where the list of cells comes from",
            "From which public source, and that no report or trip had a part in it.",
            group=_CLIENTS,
            long=True,
        ),
        "attestation": Statement(
            "Client build",
            "How anyone can tell that the client on a phone is the one that was audited.",
            group=_CLIENTS,
            long=True,
        ),
        "web_clients": Statement(
            "Web clients",
            "Whether code that the server can replace at any visit makes reports.",
            group=_CLIENTS,
            long=True,
        ),
        "transport": Statement(
            "Address, time and account",
            "What else arrives with a report, and what is kept of it.",
            group=_CLIENTS,
            long=True,
        ),
        "reporting_times": Statement(
            "When devices report",
            "Whether the times are fixed for everybody, or depend on where somebody is.",
            group=_CLIENTS,
            long=True,
        ),
        "retention": Statement(
            "Retention",
            "How long single reports are kept, and how they are deleted.",
            group=_CLIENTS,
            long=True,
        ),
        "other_releases": Statement(
            "Other releases",
            "What else is collected from the same devices, with which loss.",
            group=_CLIENTS,
            long=True,
        ),
        "fake_reports": Statement(
            "Fake reports", "What limits how many reports one party can send.", group=_CLIENTS, long=True
        ),
        "shuffler": Statement(
            "Shuffler",
            "Who mixes reports before the server sees them, and why it doesn't collude; empty where nobody does.",
            group=_CLIENTS,
            long=True,
        ),
        "shuffled_reports": Statement(
            "Honest reports a shuffled batch",
            "How many reports of honest devices each batch holds at least.",
            group=_CLIENTS,
            read=_batch,
        ),
        "shuffle_delta": Statement(
            "Delta after shuffling",
            "Probability with which the guarantee after shuffling may fail.",
            group=_CLIENTS,
            read=_small_probability,
        ),
        "singling_out": Statement(
            "Singling out",
            "Can somebody be told apart from everybody else by what is kept or published?",
            group=_LEGAL,
            long=True,
        ),
        "linkability": Statement(
            "Linkability",
            "Can two records be found to be about the same person?",
            group=_LEGAL,
            long=True,
        ),
        "inference": Statement(
            "Inference",
            "Can something about a person be concluded with good probability?",
            group=_LEGAL,
            long=True,
        ),
        "legal_basis": Statement(
            "Legal basis", "On which basis single reports are processed.", group=_LEGAL, long=True
        ),
        "open_risks": Statement(
            "Open risks", "What is known and accepted, by whom, until when.", group=_SIGN, long=True
        ),
        "reviewer": Statement("Reviewer", "Name and office of whoever signs.", group=_SIGN),
        "decision": Statement(
            "Decision", "Approved, approved with conditions, or refused, and why.", group=_SIGN, long=True
        ),
        "decision_date": Statement(
            "Date of the decision", "Written YYYY-MM-DD.", group=_SIGN, read=_iso_date
        ),
    }
)
"""Every field, in the order of the form."""


def checked_statements(statements: Mapping[str, Any]) -> dict[str, str]:
    """Return the statements that say something, each in its usual form.

    Parameters
    ----------
    statements
        Text by name of `STATEMENTS`. Empty ones are left out: they count as not addressed.

    Raises
    ------
    ParameterError
        If a name is unknown, or a text is no text, too long, or can't be used; the error names the field.
    """
    checked = {}
    for name, text in statements.items():
        if name not in STATEMENTS:
            raise ParameterError(
                "statements",
                f"There is no statement {str(name)[:60]!r}; choose among {', '.join(STATEMENTS)}.",
            )
        if not isinstance(text, str):
            raise ParameterError(name, f"The statement {name} must be text, got {type(text).__name__}.")
        if usable := checked_statement(name, text):
            checked[name] = usable
    return {name: checked[name] for name in STATEMENTS if name in checked}


def checked_statement(name: str, text: str) -> str:
    """Return one statement in its usual form, "" where it says nothing.

    Raises
    ------
    ParameterError
        If the text is too long or can't be used, with what to write instead.
    """
    label = STATEMENTS[name].label
    if len(text) > LONGEST:
        raise ParameterError(
            name, f"{label} takes at most {LONGEST:,} characters, got {len(text):,}; shorten it."
        )
    written = text
    text = visible(text).strip()
    if not text:
        return ""
    if _OVERCLAIM.search(_as_read(written)):
        raise ParameterError(
            name,
            f"{label} says of data what no figure of this report can show; say instead what is protected, against "
            "whom, and by how much.",
        )
    try:
        return STATEMENTS[name].read(text)
    except ValueError as error:
        raise ParameterError(name, f"{label}: {error}.") from None


def _as_read(text: str) -> str:
    """Return text as an eye reads it: compatible forms made plain, nothing unseen, no accents, look-alikes as one letter."""
    plain = unicodedata.normalize("NFKD", "".join(letter for letter in text if letter not in _UNSEEN))
    seen = (
        letter
        for letter in plain
        if letter not in _UNSEEN and unicodedata.category(letter) not in {"Mn", "Me", "Cf", "Cc", "Co", "Cn"}
    )
    return "".join(seen).casefold().translate(_LOOK_ALIKES)


def visible(text: str) -> str:
    r"""Return text without characters that hide or reorder it; each becomes its number in brackets.

    Line breaks become ``\n``, tabs a space. Marks that join the letters of a script stay.

    Examples
    --------
    >>> visible("a\u202eb")
    'a[U+202E]b'
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\t", " ")
    return "".join(character if _is_plain(character) else f"[U+{ord(character):04X}]" for character in text)


def _is_plain(character: str) -> bool:
    if character in "\n\u200c\u200d":  # two joiners that scripts need
        return True
    if character in _UNSEEN:
        return False
    # Control, format (which reorder), lone surrogates, private use, unassigned, line and paragraph separators.
    return unicodedata.category(character) not in {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
