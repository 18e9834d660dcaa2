"""The Mechanisms page as a reader meets it, in a real Chromium."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from tests.browser.harness import ROOT, Server, settle_colours, wait_until_painted

LINK = "devices=300000&resolution=6&floor=50&epsilon=1.5"
PANELS = ("Table", "How the error changes", "What each one sends")


@pytest.fixture(scope="module")
def fresh(serve: Callable[..., Server]) -> Server:
    """A server that nobody has visited: an option makes it another one than that of other tests."""
    return serve(ROOT / "app.py", "--client.toolbarMode", "viewer")


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    with browser.new_context(viewport={"width": 1440, "height": 1000}) as context:
        yield context.new_page()


def settle(page: Page) -> None:
    """Wait until the redraws are in the picture and the script rests."""
    expect(page.get_by_text("Dots: 20 redraws", exact=False)).to_be_visible(timeout=60_000)
    page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]", timeout=60_000)


def open_page(page: Page, app: Server, *panels: str) -> None:
    page.goto(f"{app.url}/mechanisms?{LINK}")
    settle(page)
    for panel in panels:
        page.get_by_text(panel).first.click()
        settle(page)


def test_a_link_to_the_page_is_answered_even_by_a_fresh_server(page: Page, fresh: Server) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    open_page(page, fresh)
    expect(page.locator("h1.headline")).to_contain_text("At ε = 1.5 on")
    expect(page.get_by_role("slider", name="Privacy loss")).to_be_visible()
    expect(
        page.locator("[data-testid=stVegaLiteChart] canvas, [data-testid=stVegaLiteChart] svg")
    ).to_be_visible()
    own = (fresh.url, "data:", "blob:", fresh.url.replace("http", "ws"))
    assert [url for url in asked if not url.startswith(own)] == []


def test_a_card_changes_the_randomiser_of_every_page_and_of_the_link(page: Page, fresh: Server) -> None:
    open_page(page, fresh, "What each one sends")
    card = page.locator(".st-key-card_hrr")
    expect(card.locator(".report")).to_contain_text("Row")
    expect(card.locator("img.strip")).to_be_visible()
    card.get_by_role("button", name="Use this randomiser").click()
    expect(page).to_have_url(re.compile("mechanism=hrr"))
    expect(card.get_by_role("button", name="In use")).to_be_disabled()
    page.get_by_role("button", name="Decide").click()
    page.get_by_text("What can be published?").click()
    page.wait_for_selector("[data-testid=sent]", timeout=60_000)
    wait_until_painted(page)
    expect(page).to_have_url(re.compile(r"epsilon=1\.5"))
    assert "mechanism=hrr" in page.url
    expect(page.get_by_role("combobox", name="Randomiser")).to_have_value("Hadamard randomised response")


def test_the_table_is_downloaded_as_it_is_shown(page: Page, fresh: Server) -> None:
    open_page(page, fresh, "Table")
    with page.expect_download() as download:
        page.get_by_role("button", name="CSV", exact=True).click()
    rows = list(csv.DictReader(Path(download.value.path()).read_text(encoding="utf-8").splitlines()))
    assert len(rows) == 10
    errors = [float(row["error_typical"]) for row in rows]
    assert errors == sorted(errors)
    best = f"±{float(f'{errors[0]:.3g}'):,.0f}"
    assert best in page.locator("h1.headline").inner_text()


@pytest.mark.parametrize("width", [390, 1024, 1440])
def test_nothing_overflows_sideways(browser: Browser, fresh: Server, width: int) -> None:
    with browser.new_context(viewport={"width": width, "height": 900}) as context:
        page = context.new_page()
        open_page(page, fresh, *PANELS)
        overflow = page.evaluate(
            "() => { const m = document.querySelector('[data-testid=stMain]'); return m.scrollWidth - m.clientWidth; }"
        )
        assert overflow <= 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_serious_fault(browser: Browser, fresh: Server, scheme: str) -> None:
    with browser.new_context(color_scheme=scheme) as context:
        page = context.new_page()
        open_page(page, fresh, *PANELS)
        settle_colours(page)
        found = Axe().run(page).response["violations"]
    serious = {
        fault["id"]: fault["nodes"][0]["html"][:200]
        for fault in found
        if fault["impact"] in {"serious", "critical"}
    }
    assert serious == {}
