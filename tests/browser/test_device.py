"""The Device page as a reader meets it, in a real Chromium."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from tests.browser.harness import ROOT, Server, settle_colours, wait_until_painted

LINK = "city=helsinki&resolution=6&reports_a_day=288"
PANELS = (
    "The maps as a table",
    "The same as a table, and every report",
    "What memory does not hide",
    "Averaging: from five minutes",
    "A crowd of phones",
    "What gives a phone away",
    "The same days on the real client",
)


@pytest.fixture(scope="module")
def app(serve: Callable[..., Server]) -> Server:
    return serve(ROOT / "app.py")


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    with browser.new_context(viewport={"width": 1440, "height": 1000}) as context:
        yield context.new_page()


def settle(page: Page) -> None:
    page.wait_for_selector("[data-testid=sent]", timeout=60_000)
    wait_until_painted(page)


def open_page(page: Page, app: Server, query: str = LINK) -> None:
    page.goto(f"{app.url}/device?{query}")
    settle(page)


def shown(page: Page) -> list[str]:
    return [page.locator("h1.headline").inner_text(), *page.locator(".figure .value").all_inner_texts()]


def test_the_slider_moves_the_maps_the_figures_and_the_link(
    browser: Browser, page: Page, app: Server
) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    open_page(page, app)
    expect(page.locator("h1.headline")).to_contain_text("This phone")
    before = shown(page)
    slider = page.get_by_role("slider", name="Reports the observer has read")
    slider.focus()
    page.keyboard.press("ArrowLeft")
    expect(page).to_have_url(re.compile("after=20"))
    settle(page)
    after = shown(page)
    assert after[:-1] == before[:-1]
    assert after[-1] != before[-1]
    expect(page.get_by_text("After 20 reports from home")).to_be_visible()
    own = (app.url, "data:", "blob:", app.url.replace("http", "ws"))
    assert [url for url in asked if not url.startswith(own)] == []
    with browser.new_context() as context:
        second = context.new_page()
        second.goto(page.url)
        settle(second)
        assert shown(second) == after


def test_the_attack_plays_and_stops(page: Page, app: Server) -> None:
    open_page(page, app, f"{LINK}&after=1")
    page.get_by_role("button", name="Play").click()
    expect(page.get_by_text("After 5 reports from home")).to_be_visible(timeout=60_000)
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_role("button", name="Play")).to_be_visible(timeout=30_000)
    settle(page)
    page.wait_for_timeout(1500)
    still = shown(page)
    page.wait_for_timeout(2500)
    assert shown(page) == still


def test_who_asked_for_less_motion_has_the_slider_alone(browser: Browser, app: Server) -> None:
    with browser.new_context(reduced_motion="reduce") as context:
        page = context.new_page()
        open_page(page, app)
        expect(page.get_by_role("slider", name="Reports the observer has read")).to_be_visible()
        expect(page.locator(".st-key-device_play")).to_be_hidden()


def test_every_report_can_be_taken_along(page: Page, app: Server) -> None:
    open_page(page, app)
    page.get_by_text("The same as a table, and every report").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Every report (CSV)").click()
    rows = list(csv.DictReader(Path(download.value.path()).read_text(encoding="utf-8").splitlines()))
    assert len(rows) == 2016
    spent = page.locator(".figure .value").nth(1).inner_text()
    assert float(rows[-1]["epsilon"]) == float(spent.replace(",", ""))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_serious_fault(
    browser: Browser, app: Server, scheme: str, picture: Callable[[Page, str], Path]
) -> None:
    with browser.new_context(viewport={"width": 1440, "height": 1000}, color_scheme=scheme) as context:  # type: ignore[arg-type]
        page = context.new_page()
        open_page(page, app)
        for panel in PANELS:
            page.get_by_text(panel).first.click()
            page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]", timeout=60_000)
        settle_colours(page)
        picture(page, f"device_{scheme}")
        found = Axe().run(page).response["violations"]
    serious = {
        fault["id"]: fault["nodes"][0]["html"][:200]
        for fault in found
        if fault["impact"] in {"serious", "critical"}
    }
    assert serious == {}


@pytest.mark.parametrize("width", [390, 1024, 1440])
def test_nothing_overflows_sideways(browser: Browser, app: Server, width: int) -> None:
    with browser.new_context(viewport={"width": width, "height": 900}) as context:
        page = context.new_page()
        open_page(page, app)
        for panel in PANELS:
            page.get_by_text(panel).first.click()
            page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]", timeout=60_000)
        overflow = page.evaluate(
            "() => { const m = document.querySelector('[data-testid=stMain]'); return m.scrollWidth - m.clientWidth; }"
        )
        assert overflow <= 1
        expect(page.get_by_role("slider", name="Reports the observer has read")).to_be_visible()
