"""The legend says in numbers what the colours mean, and shows text as text."""

from __future__ import annotations

import base64
import re

import pytest

from ui.legend import legend_html
from ui.palettes import CountScale, ErrorScale

SCALE = CountScale(50_000.0, (0.0, 5_000.0, 20_000.0, 50_000.0))


def pictures(html: str) -> list[str]:
    return [base64.b64decode(part).decode() for part in re.findall(r'base64,([^"]+)"', html)]


@pytest.mark.parametrize("dark", [False, True])
def test_breaks_units_and_swatches(dark):
    html = legend_html(scale=SCALE, dark=dark, errors=ErrorScale(8_000.0))
    for text in (
        "5,000<",
        "20,000<",
        "50,000+<",
        "−8,000<",
        ">0<",
        "+8,000<",
        "not published",
        "about zero",
        "Devices per cell",
        "Published less truth, devices",
        "outside the area",
    ):
        assert text in html


def test_nothing_is_explained_that_is_not_on_the_map():
    html = legend_html(scale=SCALE, dark=False, hatched=False)
    assert "not published" not in html
    assert "less truth" not in html
    assert "certainty" not in html


def test_the_wedge_has_fifteen_fields_and_names_its_levels():
    wedge = next(svg for svg in pictures(legend_html(scale=SCALE, dark=False, vsup=True)) if "within" in svg)
    fills = re.findall(r'fill="(#[0-9A-F]{6})" stroke', wedge)
    assert len(fills) == len(set(fills)) == 15
    for text in ("10\u202f%", "25\u202f%", "50\u202f%", "less certain", "50,000"):
        assert text in wedge


def test_labels_that_would_touch_are_left_out_but_never_the_ends():
    scale = CountScale(9_000_000.0, (0.0, 1_000_000.0, 1_200_000.0, 8_500_000.0, 9_000_000.0))
    html = legend_html(scale=scale, dark=False)
    assert "1,000,000<" in html
    assert "1,200,000<" not in html
    assert "8,500,000<" not in html
    assert "9,000,000+<" in html


def test_text_from_outside_stays_text():
    html = legend_html(
        scale=SCALE,
        dark=False,
        errors=ErrorScale(1.0),
        counts_label="<img src=x onerror=alert(1)>",
        counts_note="<b>",
        error_label="<script>",
    )
    assert "<script>" not in html
    assert "<b>" not in html
    assert "<img src=x" not in html
