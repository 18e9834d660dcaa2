"""The Falling back page as a reader meets it, in a real Chromium."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from tests.browser.harness import ROOT, Server, settle_colours, wait_until_painted

LINK = "city=helsinki&devices=200000&floor=100&seed=3"
PANELS = ("Table", "Download and command", "The columns, cell by cell", "What each column does")


@pytest.fixture(scope="module")
def app(serve: Callable[..., Server]) -> Server:
    return serve(ROOT / "app.py")


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    with browser.new_context(viewport={"width": 1440, "height": 1000}) as context:
        yield context.new_page()


def settle(page: Page) -> None:
    """Wait until the whole page is there and the map is the one that was sent last."""
    expect(page.get_by_text("What each column does", exact=True)).to_be_visible(timeout=60_000)
    wait_until_painted(page, timeout=60_000)


def open_page(page: Page, app: Server, *panels: str, more: str = "") -> None:
    page.goto(f"{app.url}/fallback?{LINK}{more}")
    settle(page)
    for panel in panels:
        page.get_by_text(panel, exact=True).first.click()
        settle(page)


def test_the_sentence_the_map_and_the_link_say_the_same(page: Page, app: Server) -> None:
    open_page(page, app)
    words = page.locator("h1.headline").inner_text()
    answered = re.search(r"with parents ([\d,]+) are answered", words)
    assert answered
    figure = page.locator(".figure", has_text="Cells answered").locator(".value")
    expect(figure).to_have_text(re.compile(f"^{answered[1]} of "))
    page.get_by_text("Ask in groups", exact=True).first.click()
    expect(page).to_have_url(re.compile("fall_back=groups"))
    expect(page.locator("h1.headline")).not_to_have_text(words)
    settle(page)
    more = page.locator("h1.headline").inner_text()
    page.go_back()
    expect(page.locator("h1.headline")).to_have_text(words, timeout=30_000)
    open_page(page, app, more="&fall_back=groups")
    expect(page.locator("h1.headline")).to_have_text(more)


def test_a_hover_tells_the_answer_its_error_and_its_resolution(page: Page, app: Server) -> None:
    open_page(page, app)
    box = page.locator(".atlas-map .stage").bounding_box()
    assert box
    seen: set[str] = set()
    tooltip = page.locator(".tooltip")
    for across in range(8, 46, 2):
        for down in (30, 45, 60, 75):
            page.mouse.move(box["x"] + box["width"] * across / 100, box["y"] + box["height"] * down / 100)
            page.wait_for_timeout(40)
            if tooltip.is_visible():
                seen.add(tooltip.inner_text())
    answered = [text for text in seen if "published by" in text]
    assert any(re.search(r"published by its parent of resolution [56]", text) for text in answered)
    for text in answered:
        assert re.search(r"Answered at resolution\s+[567]", text)
        assert re.search(r"Count there\s+[\d,]+ ±[\d,]+ devices", text)
        assert re.search(r"Per (100 )?km²\s+[\d,.]+ ±[\d,.]+ devices", text)
    held = [text for text in seen if "not published at any resolution" in text]
    assert held
    assert all("no value" not in text and "Count there" not in text for text in held)


def test_the_release_is_downloaded_without_truth_and_the_comparison_with_it(page: Page, app: Server) -> None:
    open_page(page, app, "Download and command")
    found = []
    for number in (0, 1):
        box = page.get_by_test_id("stExpander").filter(has_text="Mixed release")
        with page.expect_download() as download:
            box.get_by_role("button", name="CSV", exact=True).nth(number).click()
        rows = list(csv.DictReader(Path(download.value.path()).read_text(encoding="utf-8").splitlines()))
        found.append(rows)
    assert "true_count" not in found[0][0]
    assert "true_count" in found[1][0]
    assert [row["estimate"] for row in found[0]] == [row["estimate"] for row in found[1]]
    answered = sum(int(row["cells_answered"]) for row in found[0] if row["status"] == "published")
    assert f"with parents {answered:,} are answered" in page.locator("h1.headline").inner_text()


def test_nothing_overflows_sideways(page: Page, app: Server) -> None:
    open_page(page, app, *PANELS)
    for width in (1440, 1024, 390):
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_timeout(1500)
        overflow = page.evaluate(
            "() => { const m = document.querySelector('[data-testid=stMain]'); return m.scrollWidth - m.clientWidth; }"
        )
        assert overflow <= 1, width


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_serious_fault(browser: Browser, app: Server, scheme: str) -> None:
    with browser.new_context(color_scheme=scheme) as context:
        page = context.new_page()
        open_page(page, app, *PANELS)
        settle_colours(page)
        found = Axe().run(page).response["violations"]
    serious = {
        fault["id"]: fault["nodes"][0]["html"][:200]
        for fault in found
        if fault["impact"] in {"serious", "critical"}
    }
    assert serious == {}
