"""The glossary's words, the lesson's fixed words, its drawn pictures and its printed sheets."""

from __future__ import annotations

import base64
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

from ldpcore.lesson_sheet import exercises, facts_of
from ldpcore.scenario import run
from ldpcore.settings import Scenario
from ui.glossary import TERMS, explained, glossary_html, term
from ui.learn_pictures import Phone, bit_grid, columns, phones, strip, strip_bins
from ui.learn_redraws import redraw_frames, redraw_svg, redraws
from ui.learn_sheets import MINUTES, exercise_sheet, teachers_notes
from ui.learn_steps import PROCESSES, STEPS
from ui.link import EXTRA_PARAMS
from ui.palettes import tokens
from ui.pipeline import get_population
from ui.tour import STOPS

UI = Path(__file__).resolve().parents[2] / "ui"


def svg_of(html: str) -> ET.Element:
    """Return the picture inside an image's address; parsing it proves that a browser can."""
    found = re.search(r'src="data:image/svg\+xml;base64,([^"]+)"', html)
    assert found
    return ET.fromstring(base64.b64decode(found[1]))  # noqa: S314 - own pictures


def test_every_word_is_one_plain_sentence_with_its_step() -> None:
    assert len(TERMS) >= 25
    for found in TERMS.values():
        assert 1 <= found.step <= 8
        assert found.sentence.endswith(".")
        assert re.search(r"[.!?] [A-Z]", found.sentence) is None, "one sentence"
        assert "!" not in found.sentence
        assert len(found.sentence) < 200
    assert {found.step for found in TERMS.values()} == set(range(1, 9))


def test_a_word_carries_its_definition_for_pointer_keyboard_and_screen_reader() -> None:
    html = term("epsilon", "ε", place="here")
    name = re.search(r'aria-describedby="([^"]+)"', html)
    assert name
    assert f'role="tooltip" id="{name[1]}"' in html
    assert ">ε</button>" in html
    assert term("epsilon", place="there") != html
    assert "<b>" not in term("epsilon", "<b>x</b>", place="here")


def test_the_glossary_lists_every_word_once_with_a_link() -> None:
    html = glossary_html(lambda step: f"learn?step={step}&a=1")
    assert html.count("<dt>") == len(TERMS)
    assert html.count('href="learn?step=') == len(TERMS)
    assert "&amp;a=1" in html


def test_the_help_of_a_control_ends_in_its_step() -> None:
    assert explained("Phones.", 3) == "Phones. [Learn, step 3](learn?step=3)"


def test_every_control_of_the_sidebar_names_its_step() -> None:
    for name in ("scenario.py", "schedule.py"):
        text = (UI / name).read_text(encoding="utf-8")
        helps = re.findall(r"help(?:_text)?=(\w+)", text)
        assert len(helps) >= 5
        plain = [found for found in helps if found != "explained"]
        assert len(plain) <= 2, "all but the options' own and the slot of a file"


def test_the_steps_name_the_four_processes() -> None:
    assert [step.number for step in STEPS] == list(range(1, 9))
    assert PROCESSES == ("Encode", "Perturb", "Aggregate", "Estimate")
    assert {process for step in STEPS for process in step.processes} == {0, 1, 2, 3}
    assert sum(MINUTES) == 60


def test_the_tour_has_five_stops_in_order() -> None:
    assert [stop.number for stop in STOPS.values()] == [1, 2, 3, 4, 5]
    style = (UI / "learn.css").read_text(encoding="utf-8")
    for number in range(6):
        assert (
            f'html[data-tour="{number}"] .stElementContainer:has(.tour-card[data-stop="{number}"])' in style
        )


def test_the_two_colours_of_the_style_sheet_are_those_of_the_palettes() -> None:
    style = (UI / "learn.css").read_text(encoding="utf-8")
    light, dark = tokens(dark=False), tokens(dark=True)
    assert f"--atlas-accent: light-dark({light.accent}, {dark.accent})" in style
    assert f"--atlas-panel: light-dark({light.panel}, {dark.panel})" in style


# -- pictures -----------------------------------------------------------------------------------------


def test_a_hundred_phones_are_drawn_one_by_one() -> None:
    drawn = [Phone(number < 30, number == 5) for number in range(100)]
    colours = tokens(dark=False)
    html = phones(drawn, colours, 'a "quoted" <picture>')
    root = svg_of(html)
    bodies = [node for node in root if node.tag.endswith("rect")]
    assert len(bodies) == 100
    assert sum(node.get("fill") == colours.accent for node in bodies) == 30
    assert 'alt="a &quot;quoted&quot; &lt;picture&gt;"' in html


def test_bits_are_drawn_one_by_one_and_the_own_one_has_a_frame() -> None:
    bits = np.arange(357) % 5 == 0
    root = svg_of(bit_grid(bits, own=10, tokens=tokens(dark=True), description="bits"))
    rects = [node for node in root if node.tag.endswith("rect")]
    assert len(rects) == 358
    assert sum(node.get("fill") == tokens(dark=True).accent for node in rects) == int(bits.sum())
    assert sum(node.get("fill") == "none" for node in rects) == 1


@pytest.mark.parametrize("cells", [3, 180, 401])
def test_the_strip_draws_all_cells_busiest_first(cells: int) -> None:
    truth = np.arange(cells, dtype=np.float64)
    order = np.argsort(-truth, kind="stable")
    bins = strip_bins(truth, order)
    assert bins.size == min(cells, 180)
    assert (np.diff(bins) < 0).all()
    html = strip(
        truth - 5, truth, dark=False, tokens=tokens(dark=False), bars_are="estimates", unit="devices"
    )
    assert len([node for node in svg_of(html) if node.tag.endswith("rect")]) == bins.size
    assert "Line, the truth" in html


def test_a_bar_is_as_long_as_its_share() -> None:
    html = columns([("a", 25.0, "25 of 100"), ("<b>", 300.0, "too many")], most=100)
    assert "width:25.0%" in html
    assert "width:100.0%" in html
    assert "&lt;b&gt;" in html


def test_redraws_count_the_error_bars_that_hold() -> None:
    scenario = Scenario(devices=100_000, resolution=5)
    found = redraws(scenario, watched=3, count=4)
    cells = found.estimates.shape[1]
    texts = redraw_frames(found, confidence=0.95)
    assert len(texts) == 4
    assert f"of {4 * cells} error bars hold the truth" in texts[-1]
    held = 0
    for draw in range(4):
        release = run(Scenario(devices=100_000, resolution=5, draw=draw))
        truth = release.population.true_counts
        held += int(((release.estimates.ci_low <= truth) & (truth <= release.estimates.ci_high)).sum())
        assert np.array_equal(release.estimates.estimate, found.estimates[draw])
    assert f"{held} of {4 * cells}" in texts[-1]
    svg = redraw_svg(found, get_population(scenario), confidence=0.95, dark=False)
    parts = [ET.fromstring(part + "</svg>") for part in svg.split("</svg>") if part]  # noqa: S314 - own pictures
    fills = [
        node.get("data-seq") for node in parts[0].iter() if (node.get("data-seq") or "").startswith("fill=")
    ]
    assert len(fills) == cells
    assert all(len(fill.split(";")) == 4 for fill in fills)


# -- sheets -------------------------------------------------------------------------------------------


def test_the_sheets_print_without_asking_anybody() -> None:
    facts = facts_of(run(Scenario(devices=100_000, resolution=6)), class_seed=1234)
    without, solved, notes = (
        exercise_sheet(facts, solutions=False),
        exercise_sheet(facts, solutions=True),
        teachers_notes(facts),
    )
    for page in (without, solved, notes):
        assert page.startswith("<!doctype html>")
        assert "http" not in page
        assert "class 1234" in page
        assert "@page" in page
    for exercise in exercises(facts):
        # Escaped as it is printed, so that ' becomes a reference.
        shown = exercise.solution.replace("&", "&amp;").replace("'", "&#x27;")
        assert shown not in without
        assert shown in solved
        assert shown in notes
    assert without.count('class="room"') == len(exercises(facts))


def test_no_two_choices_of_the_view_share_a_name() -> None:
    assert len(set(EXTRA_PARAMS)) == len(EXTRA_PARAMS)
