"""The trust diagram: who stands between a phone and the public, drawn as SVG in the colour of the text around it."""

from __future__ import annotations

from html import escape
from typing import Final, NamedTuple

from ldpcore.review.report import Table


class Party(NamedTuple):
    """One party of the diagram.

    Parameters
    ----------
    name
        Who.
    lines
        What it sees, in two short lines for the drawing.
    sees, held_back, not_defended
        For the table: what it sees, what keeps it from more, and what is not defended against it.
    """

    name: str
    lines: tuple[str, str]
    sees: str
    held_back: str
    not_defended: str


DEVICE: Final = Party(
    "Device",
    ("the true cell,", "before the coins"),
    "the true cell, and what was remembered of earlier reports",
    "nothing: the phone and its client are trusted",
    "a client that was changed, other apps, whoever holds the unlocked phone",
)
NETWORK: Final = Party(
    "Network",
    ("address, time, size", "of a sealed report"),
    "that a phone reports, when, from which address, and the size",
    "transport encryption, which is outside this program; the size is the same for every cell",
    "that somebody takes part, and when: times that depend on a place give the place away",
)
SHUFFLER: Final = Party(
    "Shuffler",
    ("single reports,", "and who sent them"),
    "single randomised reports with their senders, unless they are sealed for the server",
    "the randomiser: what it sees is already ε-private",
    "collusion with the server: then only the local guarantee is left",
)
SERVER: Final = Party(
    "Server",
    ("single reports", "after the coins"),
    "every randomised report, and with it whatever arrives beside it: address, account, time",
    "the randomiser: ε bounds what a report says",
    "linking the reports of one phone, reports that others forge, code it sends to web clients",
)
SERVER_SHUFFLED: Final = SERVER._replace(
    lines=("a batch of reports", "without senders"),
    sees="the reports of a batch in random order, without senders",
)
ANALYST: Final = Party(
    "Analyst",
    ("counts and", "estimates"),
    "support counts and estimates of every cell, also of those that are held back",
    "the same ε: what is computed from reports adds no loss",
    "taking noise for signal",
)
PUBLIC: Final = Party(
    "Public",
    ("published cells", "with error bars"),
    "published cells with their error bars",
    "the same ε; holding cells back protects readers from noise, not devices",
    "joining the map with other releases about the same people",
)


def parties(*, shuffler: bool) -> tuple[Party, ...]:
    """Return everybody from the phone to the public."""
    middle = (SHUFFLER, SERVER_SHUFFLED) if shuffler else (SERVER,)
    return (DEVICE, NETWORK, *middle, ANALYST, PUBLIC)


def trust_table(*, shuffler: bool, memo: bool) -> Table:
    """Return the diagram in words."""
    rows = tuple(
        (party.name, party.sees, party.held_back, party.not_defended)
        for party in (_with_memory(party) if memo else party for party in parties(shuffler=shuffler))
    )
    return Table(("party", "sees at most", "kept from more by", "not defended against"), rows)


def untrusted_words(*, memo: bool) -> str:
    """Return what stands under everybody who is not trusted: what they learn beyond what ε bounds."""
    beyond = "what arrives beside a report"
    if memo:
        beyond += ", and when a remembered answer changes or stops"
    return f"not trusted: sees nothing that ε does not bound, save {beyond}"


def trust_words(*, shuffler: bool) -> str:
    """Return what the drawing shows in one sentence, for those who can't see it."""
    return (
        "; ".join(f"{party.name} sees {' '.join(party.lines)}" for party in parties(shuffler=shuffler)) + "."
    )


def _with_memory(party: Party) -> Party:
    """Return a party with what the repeating of answers shows it, which no ε bounds."""
    if party not in {SERVER, SERVER_SHUFFLED, SHUFFLER}:
        return party
    return party._replace(
        held_back=party.held_back.replace("what a report says", "what one answer says of a cell"),
        not_defended=f"{party.not_defended}; seeing when a remembered answer changes or stops",
    )


_BOX_WIDTH, _BOX_HEIGHT, _GAP, _TOP, _EDGE = 136, 74, 34, 40, 4


def draw_trust(
    *,
    shuffler: bool,
    memo: bool,
    font: str = "Libertinus Serif, Source Sans 3, sans-serif",
    ink: str = "currentColor",
) -> str:
    """Return the diagram as SVG, in one colour, with a title that says what it shows.

    Parameters
    ----------
    shuffler
        Whether somebody mixes reports before the server sees them.
    memo
        Whether devices remember and repeat their answers.
    font, ink
        Family of the letters and colour of everything; by default the colour of the text around it.
    """
    shown = parties(shuffler=shuffler)
    words = trust_words(shuffler=shuffler)
    width = len(shown) * _BOX_WIDTH + (len(shown) - 1) * _GAP + 2 * _EDGE
    height = _TOP + _BOX_HEIGHT + 44
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img" font-family="{escape(font)}" font-size="12" color="{escape(ink)}">',
        f"<title>{escape(words)}</title>",
    ]
    middle = _TOP + _BOX_HEIGHT / 2
    for place, party in enumerate(shown):
        left = _EDGE + place * (_BOX_WIDTH + _GAP)
        dash = "" if place == 0 else ' stroke-dasharray="5 3"'
        stroke = 2 if place == 0 else 1.2
        parts.append(
            f'<rect x="{left}" y="{_TOP}" width="{_BOX_WIDTH}" height="{_BOX_HEIGHT}" rx="6" fill="none" '
            f'stroke="currentColor" stroke-width="{stroke}"{dash}/>'
        )
        centre = left + _BOX_WIDTH / 2
        parts.append(_text(centre, _TOP + 22, party.name, weight="bold", size=14))
        parts += [_text(centre, _TOP + 43 + 15 * row, line) for row, line in enumerate(party.lines)]
        if place:
            parts.append(_arrow(left - _GAP, left - 2, middle))
    wall = _EDGE + _BOX_WIDTH + _GAP / 2
    parts += [
        f'<line x1="{wall}" x2="{wall}" y1="22" y2="{height - 4}" stroke="currentColor" stroke-width="2"/>',
        _text(wall, 15, "the randomiser", weight="bold"),
        _text(_EDGE + _BOX_WIDTH / 2, height - 23, "trusted"),
        *(
            _text((wall + width) / 2, height - 23 + 15 * row, line)
            for row, line in enumerate(_two_lines(untrusted_words(memo=memo)))
        ),
        "</svg>",
    ]
    return "".join(parts)


def _two_lines(words: str) -> tuple[str, str]:
    """Return a sentence in two lines, so that it stays under the boxes in any font."""
    first, _, second = words.partition(", save ")
    return f"{first},", f"save {second}"


def _text(x: float, y: float, text: str, *, weight: str = "normal", size: int = 12) -> str:
    return (
        f'<text x="{x:g}" y="{y:g}" text-anchor="middle" font-weight="{weight}" font-size="{size}" fill="currentColor">'
        f"{escape(text)}</text>"
    )


def _arrow(start: float, end: float, y: float) -> str:
    return (
        f'<line x1="{start:g}" x2="{end - 6:g}" y1="{y:g}" y2="{y:g}" stroke="currentColor" stroke-width="1.2"/>'
        f'<polygon points="{end:g},{y:g} {end - 8:g},{y - 4:g} {end - 8:g},{y + 4:g}" fill="currentColor"/>'
    )
