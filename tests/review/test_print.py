"""What a report looks like on paper: no box in the place of a letter, nothing past the edge, powers raised, no source alone."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pypdf
import pytest
from PIL import Image

from ldpcore.cli import main
from ldpcore.review import Evidence, Report, compose, gather
from ldpcore.review.glyphs import named, undrawable
from ldpcore.review.html import report_html
from ldpcore.review.pdf import report_pdf, report_pictures, unprintable_words
from ldpcore.settings import Scenario
from ldpcore.statements import STATEMENTS

SMALL = Scenario(city="cape_town", resolution=5, devices=50_000)
NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


@pytest.fixture(scope="module")
def evidence() -> Evidence:
    return gather(SMALL)


@pytest.fixture(scope="module")
def report(evidence: Evidence) -> Report:
    return compose(evidence, now=NOON)


def pages(content: bytes) -> list[str]:
    return [page.extract_text() for page in pypdf.PdfReader(io.BytesIO(content)).pages]


def claim_of(report: Report, section: str, about: str) -> Any:
    return next(claim for claim in report.section(section).statements if claim.about == about)


# -- characters of no font -------------------------------------------------------------------------


def test_fonts_draw_latin_greek_and_cyrillic_and_no_east_asian_script_or_emoji() -> None:
    assert undrawable(["Zürich, ε ≤ 2 · ∈ ± “naïve” … Łódź Москва Αθήνα\n\u200b"]) == ()
    assert undrawable(["東京 bus 東", "한 😀"]) == ("京", "東", "한", "😀")


def test_a_run_of_them_is_numbers_and_joiners_go_with_it() -> None:
    assert named("a東京b", "東京") == "a[U+6771 U+4EAC]b"
    assert named("👩\u200d👩!", "👩") == "[U+1F469 U+1F469]!"
    assert named("東" * 9, "東") == "[U+6771 U+6771 U+6771 U+6771 U+6771 U+6771 and 3 more]"
    assert named("]-^\\", "]^\\") == "[U+005D]-[U+005E U+005C]"


def test_the_pdf_says_what_it_cannot_print(evidence: Evidence) -> None:
    words = {"name": "東京 Bus 😀", "retention": "三十日 then gone"}
    found = compose(evidence, statements=words, now=NOON)
    content = report_pdf(found)
    front = " ".join(pages(content)[0].split())
    assert "Privacy review: [U+6771 U+4EAC] Bus [U+1F600]" in front
    assert "6 different characters of the text can't be printed in this PDF" in front
    assert "The HTML file of the same report holds the text as it was written." in front
    assert "[U+4E09 U+5341 U+65E5] then gone" in " ".join(" ".join(pages(content)).split())
    metadata = pypdf.PdfReader(io.BytesIO(content)).metadata
    assert metadata is not None
    assert metadata.title == "Privacy review: 東京 Bus 😀"
    assert "三十日 then gone" in report_html(found)


def test_a_report_without_them_says_nothing(report: Report) -> None:
    assert unprintable_words(report) == ""
    assert "can't be printed" not in " ".join(pages(report_pdf(report)))


def test_the_command_line_says_so_too(capsys: Any, tmp_path: Path) -> None:
    words = tmp_path / "words.json"
    words.write_text('{"name": "東京"}', encoding="utf-8")
    command = ["review", "--city", "cape_town", "--resolution", "5", "--devices", "50000", "--json"]
    assert main([*command, "--statements", str(words), "--out", str(tmp_path / "r.pdf")]) == 0
    assert "2 different characters of the text can't be printed in this PDF" in capsys.readouterr().err


# -- the edge of the page --------------------------------------------------------------------------


def test_wide_letters_stay_on_the_page(evidence: Evidence) -> None:
    """The outer 12 mm of every page are empty: the margins are 18 mm, and no word may run into them."""
    wide = {name: "W" * 70 for name, entry in STATEMENTS.items() if entry.read.__name__ == "_any_text"}
    wide["retention"] = "iW" * 900 + " " + "W\u0301" * 70
    found = compose(evidence, statements=wide, now=NOON)
    for picture in report_pictures(found, ppi=36):
        pixels = np.asarray(Image.open(io.BytesIO(picture)).convert("L"))
        edge = round(12 / 25.4 * 36)
        assert (pixels[:, :edge] > 250).all()
        assert (pixels[:, -edge:] > 250).all()


# -- layout ----------------------------------------------------------------------------------------


def test_no_page_begins_with_a_source_line(report: Report) -> None:
    """Text of many lengths in front moves every claim past a page break at some time."""
    for lines in range(0, 40, 8):
        risky = replace(
            report.section("purpose").statements[1], source="user", text="\n".join(["x"] * (lines + 1))
        )
        first = replace(report.sections[1], statements=(risky, *report.sections[1].statements))
        moved = replace(report, sections=(report.sections[0], first, *report.sections[2:]))
        for text in pages(report_pdf(moved))[2:]:
            # The running head comes first: the title and the configuration.
            body = text.split(report.configuration[:16], 1)[1].strip()
            assert not body.startswith("Again with")


def test_powers_are_raised_on_paper_and_plain_in_data(evidence: Evidence, report: Report) -> None:
    page = report_html(report)
    assert "e<sup>2</sup> = 7.389" in page
    assert "e<sup>ε</sup>" in page
    assert "10<sup>9</sup>. That" in page
    assert not re.search(r"\b(e|10)\^", page)
    assert not re.search(r"\b(e|10)\^", " ".join(pages(report_pdf(report))))
    assert "e^2 = 7.389" in claim_of(report, "unit", "In a sentence").text
    said = compose(evidence, statements={"retention": "10^9 <b> days"}, now=NOON)
    assert "10^9 &lt;b&gt; days" in report_html(said)
