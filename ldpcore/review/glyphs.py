"""Which characters the typesetter's own fonts can draw: what they can't would be a box, and a box says nothing.

The fonts that come with the typesetter hold Latin, Greek and Cyrillic letters and signs, and no Chinese, Japanese or
Korean ones, no emoji, and few of other scripts. A font of all of them is larger than this whole program, so a PDF
names what it can't draw by number, at that place; the other formats hold the characters themselves.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable
from functools import lru_cache
from typing import Final

import typst

_NOWHERE: Final = "\U000f0000"
"""A character of no font: it comes out as the box that stands for whatever can't be drawn."""

_SHEET: Final = b"""#set page(width: 400pt, height: auto, margin: 10pt)
#set text(font: ("Libertinus Serif", "New Computer Modern"))
#for character in json(bytes(sys.inputs.characters)) { block(height: 20pt, above: 0pt, below: 0pt, character) }"""
_LINE: Final = re.compile(r'translate\([\d.]+ ([\d.]+)\)"><g transform="matrix[^>]*>(.*?)</g>')
_GLYPH: Final = re.compile(r'href="#(\w+)"')
_PLAIN: Final = frozenset(map(chr, [*range(0x20, 0x7F), *range(0xA1, 0x100)])) | {"\n", "\u200b"}
"""Drawn by every font there is, so they need no look."""

_JOINERS: Final = "\u200c\u200d\ufe0e\ufe0f"
"""Draw nothing by themselves."""
_MOST_NAMED: Final = 6


def undrawable(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the characters of some texts that no font of the typesetter has, each once, in the order of their numbers.

    Parameters
    ----------
    texts
        What is to be set.
    """
    asked = sorted({character for text in texts for character in text} - _PLAIN - set(_JOINERS))
    return _boxes(tuple(character for character in asked if not character.isspace()))


@lru_cache(maxsize=8)
def _boxes(characters: tuple[str, ...]) -> tuple[str, ...]:
    """Set each character on a line of its own and return those that come out as the box."""
    if not characters:
        return ()
    svg: bytes = typst.compile(
        _SHEET,
        format="svg",
        ignore_system_fonts=True,
        sys_inputs={"characters": json.dumps([_NOWHERE, *characters], ensure_ascii=False)},
    )
    lines = {
        round((float(height) - 10) / 20): set(_GLYPH.findall(drawn))
        for height, drawn in _LINE.findall(svg.decode("utf-8"))
    }
    box = lines[0]
    return tuple(
        character for line, character in enumerate(characters, start=1) if lines.get(line, set()) & box
    )


def named(text: str, missing: Collection[str]) -> str:
    r"""Return a text with every run of such characters as their numbers in brackets, the first few of a long run.

    Parameters
    ----------
    text
        Of the report.
    missing
        From `undrawable`.

    Examples
    --------
    >>> named("\u6771\u4eac bus", "\u6771\u4eac")
    '[U+6771 U+4EAC] bus'
    """
    if not missing:
        return text
    run = f"[{re.escape(''.join(sorted(missing)))}][{re.escape(''.join(sorted(missing)))}{_JOINERS}]*"
    return re.sub(run, lambda found: _numbers(found.group()), text)


def _numbers(run: str) -> str:
    numbers = [f"U+{ord(character):04X}" for character in run if character not in _JOINERS]
    rest = len(numbers) - _MOST_NAMED
    return f"[{' '.join(numbers[:_MOST_NAMED])}{f' and {rest} more' if rest > 0 else ''}]"
