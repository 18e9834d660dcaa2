"""The word that no report may hold, dressed up, and characters that show nothing."""

from __future__ import annotations

import pytest

from ldpcore.errors import ParameterError
from ldpcore.statements import checked_statement, visible


@pytest.mark.parametrize(
    "text",
    [
        "It is Anonymous.",
        "ａｎｏｎｙｍｏｕｓ",
        "anon\u034fymous",
        "\u0430n\u043enym\u043eus",
        "an\u115fonymous",
        "anony\u3164mous",
        "anony\u2800mised",
        "anony\u00admous",
        "anony\u200dmous",
        "𝐚𝐧𝐨𝐧𝐲𝐦𝐨𝐮𝐬",
        "anonymóus",
        "ΑΝΟΝΥΜΟUS",
        "an0nym0us",
        "anony-mous",
    ],
)
def test_the_word_cannot_be_dressed_up(text: str) -> None:
    with pytest.raises(ParameterError, match="what no figure of this report can show"):
        checked_statement("notes", text)


@pytest.mark.parametrize("text", ["Анна и Ωmega, naïve café", "a synonym", "Данные хранятся 30 дней", "名前"])
def test_other_words_stay_as_they_are(text: str) -> None:
    assert checked_statement("notes", text) == text


@pytest.mark.parametrize("character", ["\u034f", "\u115f", "\u1160", "\u3164", "\uffa0", "\u2800"])
def test_letters_that_show_nothing_are_shown(character: str) -> None:
    assert visible(f"a{character}b") == f"a[U+{ord(character):04X}]b"
