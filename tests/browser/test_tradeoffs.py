"""The Trade-offs page as a reader meets it, in a real Chromium."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pandas as pd
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from tests.browser.harness import ROOT, Server, settle_colours

LINK = "city=helsinki&devices=300000&resolution=6&floor=50&epsilon=2.0&try_epsilons=1,2,4&try_resolutions=6,7"
CHARTS = "[data-testid=stVegaLiteChart]"


@pytest.fixture(scope="module")
def fresh(serve: Callable[..., Server]) -> Server:
    return serve(ROOT / "app.py", "--client.toolbarMode", "viewer")


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    with browser.new_context(viewport={"width": 1440, "height": 1000}) as context:
        yield context.new_page()


def settle(page: Page) -> None:
    """Wait until the work is done and the script rests."""
    page.wait_for_selector("h1.headline", timeout=90_000)
    expect(page.get_by_text("redraws the list of the")).to_be_visible(timeout=120_000)
    expect(page.get_by_role("button", name="Cancel")).to_have_count(0, timeout=60_000)
    page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]", timeout=60_000)


def open_page(page: Page, app: Server, link: str = LINK) -> None:
    page.goto(f"{app.url}/tradeoffs?{link}")
    settle(page)


def test_the_page_comes_by_itself_and_asks_no_other_host(page: Page, fresh: Server) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    open_page(page, fresh)
    expect(page.locator("h1.headline")).to_contain_text("In Helsinki with 300,000 devices")
    expect(page.locator(CHARTS)).to_have_count(6)
    expect(page.locator(".smallmap img")).to_have_count(5)
    own = (fresh.url, "data:", "blob:", fresh.url.replace("http", "ws"))
    assert [url for url in asked if not url.startswith(own)] == []


def test_a_click_on_the_heat_map_makes_the_point_the_scenario(page: Page, fresh: Server) -> None:
    open_page(page, fresh)
    box = page.locator(CHARTS).first.bounding_box()
    assert box is not None
    # The last of three columns, the upper of two rows.
    page.mouse.click(box["x"] + 0.85 * box["width"], box["y"] + 0.2 * box["height"])
    expect(page).to_have_url(re.compile(r"epsilon=4\.0"), timeout=30_000)
    settle(page)
    expect(page.locator("h1.headline")).to_contain_text("your ε\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}4")
    # And the other row, from the new state: one click is enough every time. The link leaves out what is the default.
    page.mouse.click(box["x"] + 0.5 * box["width"], box["y"] + 0.55 * box["height"])
    expect(page).not_to_have_url(re.compile("epsilon=4|resolution=6"), timeout=30_000)
    settle(page)
    expect(page.locator(".smallmap.now figcaption")).to_contain_text("Resolution 7")


def test_the_list_does_the_same_from_the_keyboard(page: Page, fresh: Server) -> None:
    open_page(page, fresh)
    page.get_by_role("combobox", name="Make this the scenario").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    button = page.get_by_role("button", name="Use this", exact=True)
    expect(button).to_be_enabled(timeout=30_000)
    button.focus()
    page.keyboard.press("Enter")
    expect(page).not_to_have_url(
        re.compile(r"epsilon=2\.0&|epsilon=2\.0$|resolution=6.*epsilon=2"), timeout=30_000
    )
    settle(page)


def test_work_is_cancelled_and_goes_on(page: Page, fresh: Server) -> None:
    page.goto(f"{fresh.url}/tradeoffs?city=helsinki&devices=300000&seed=9&redraws=100&try_resolutions=6,9,10")
    cancel = page.get_by_role("button", name="Cancel")
    expect(cancel).to_be_visible(timeout=60_000)
    expect(page.locator("h1.headline")).to_contain_text("So far, in Helsinki", timeout=90_000)
    expect(page.locator(CHARTS).first).to_be_visible()
    cancel.click()
    expect(page.get_by_text("Cancelled:", exact=False)).to_be_visible(timeout=60_000)
    page.get_by_role("button", name="Go on").click()
    expect(cancel).to_be_visible(timeout=60_000)
    cancel.click()
    expect(page.get_by_text("Cancelled:", exact=False)).to_be_visible(timeout=60_000)


def test_files_hold_what_the_page_shows(page: Page, fresh: Server) -> None:
    open_page(page, fresh)
    page.get_by_text("The same as a table").first.click()
    with page.expect_download() as download:
        page.get_by_role("button", name="CSV", exact=True).first.click()
    rows = list(csv.DictReader(Path(download.value.path()).read_text(encoding="utf-8").splitlines()))
    assert len(rows) == 6
    with page.expect_download() as download:
        page.get_by_role("button", name="Sweep (Parquet)").click()
    table = pd.read_parquet(download.value.path())
    shares = sorted(table["published_share"])
    assert shares == pytest.approx(sorted(float(row["value"]) for row in rows))


@pytest.mark.parametrize("width", [390, 1024, 1440])
def test_nothing_overflows_sideways(browser: Browser, fresh: Server, width: int) -> None:
    with browser.new_context(viewport={"width": width, "height": 900}) as context:
        page = context.new_page()
        open_page(page, fresh)
        overflow = page.evaluate(
            "() => { const m = document.querySelector('[data-testid=stMain]'); return m.scrollWidth - m.clientWidth; }"
        )
        assert overflow <= 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_serious_fault(browser: Browser, fresh: Server, scheme: str) -> None:
    with browser.new_context(color_scheme=scheme) as context:
        page = context.new_page()
        open_page(page, fresh)
        page.get_by_text("What is tried").click()
        settle_colours(page)
        found = Axe().run(page).response["violations"]
    serious = {
        fault["id"]: fault["nodes"][0]["html"][:200]
        for fault in found
        if fault["impact"] in {"serious", "critical"}
    }
    assert serious == {}
