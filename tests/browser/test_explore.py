"""The Explore page as a reader meets it, in a real Chromium."""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from tests.browser.harness import ROOT, Server, settle_colours, wait_until_painted

CELL = "862a1072fffffff"
LINK = "?devices=300000&resolution=6&floor=50&epsilon=1.5"


@pytest.fixture(scope="session")
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
    page.goto(f"{app.url}/{query}")
    settle(page)


def figures(page: Page) -> list[str]:
    return [page.locator("h1.headline").inner_text(), *page.locator(".figure .value").all_inner_texts()]


def test_nothing_is_asked_of_another_host(page: Page, app: Server) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    open_page(page, app)
    assert asked
    assert [
        url for url in asked if not url.startswith((app.url, "data:", "blob:", app.url.replace("http", "ws")))
    ] == []


def test_a_link_gives_the_same_figures_in_another_browser(browser: Browser, app: Server) -> None:
    with browser.new_context() as context:
        first = context.new_page()
        open_page(first, app, "?devices=300000&resolution=6&floor=50")
        first.get_by_role("slider", name="Privacy loss").focus()
        first.keyboard.press("ArrowRight")
        expect(first).to_have_url(re.compile("epsilon=2.5"))
        settle(first)
        link, shown = first.url, figures(first)
    with browser.new_context() as context:
        second = context.new_page()
        second.goto(link)
        settle(second)
        assert figures(second) == shown


def test_the_copied_command_gives_the_numbers_of_the_page(page: Page, app: Server) -> None:
    open_page(page, app)
    page.get_by_role("button", name="Link and command").click()
    command = page.get_by_test_id("stCode").last.inner_text()
    done = subprocess.run(
        [sys.executable, *command.split()[1:], "--json"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    answer = json.loads(done.stdout)
    assert (
        page.locator(".figure .value").first.inner_text()
        == f"{answer['published']} of {answer['domain_size']}"
    )
    page.keyboard.press("Escape")
    page.get_by_text("Download", exact=True).click()
    with page.expect_download() as download:
        page.get_by_role("button", name="CSV").last.click()
    rows = list(csv.DictReader(Path(download.value.path()).read_text(encoding="utf-8").splitlines()))
    assert len(rows) == answer["domain_size"]
    assert sum(row["status"] == "published" for row in rows) == answer["published"]
    assert sum(int(row["true_count"]) for row in rows) == answer["reports"]


def test_a_pinned_cell_tells_its_story_and_survives_a_move_of_epsilon(page: Page, app: Server) -> None:
    open_page(page, app, f"{LINK}&cell={CELL}")
    page.get_by_text(f"Pinned cell {CELL}").click()
    expect(page.get_by_text("20 redraws", exact=False).first).to_be_visible()
    expect(page.locator(".stVegaLiteChart canvas, .stVegaLiteChart svg").first).to_be_visible()
    page.get_by_role("slider", name="Privacy loss").focus()
    page.keyboard.press("ArrowLeft")
    expect(page).to_have_url(re.compile("epsilon=1.2"))
    settle(page)
    expect(page.get_by_text(f"Pinned cell {CELL}")).to_be_visible()
    assert f"cell={CELL}" in page.url


def test_a_file_is_read_accounted_for_and_forgotten(page: Page, app: Server) -> None:
    open_page(page, app, "?resolution=8&floor=1&epsilon=4")
    page.get_by_text("Your own file").first.click()
    page.locator("input[type=file]").set_input_files(ROOT / "tests/trips/files/oslo_bysykkel.csv")
    expect(page.get_by_text("Every row accounted for")).to_be_visible(timeout=20_000)
    expect(page.get_by_text("it is not private", exact=False)).to_be_visible()
    expect(page).to_have_url(re.compile("trips="))
    page.get_by_role("button", name="Forget this file").click()
    expect(page.get_by_text("Every row accounted for")).to_have_count(0)
    settle(page)
    expect(page).not_to_have_url(re.compile("trips="))


def load_file(page: Page, name: str) -> None:
    page.locator("input[type=file]").set_input_files(ROOT / "tests/trips/files" / name)
    expect(page.get_by_text("Every row accounted for")).to_be_visible(timeout=20_000)
    settle(page)


def test_the_run_that_was_left_comes_back(page: Page, app: Server) -> None:
    open_page(page, app, "?resolution=8&floor=1&epsilon=4&devices=300000")
    city = figures(page)
    page.get_by_text("Your own file").first.click()
    load_file(page, "chicago_taxi.csv")
    expect(page).to_have_url(re.compile("trips="))
    own, link = figures(page), page.url
    page.get_by_text("A bundled city").first.click()
    expect(page.locator("h1.headline")).to_have_text(city[0])
    page.get_by_text("Your own file").first.click()
    expect(page.locator("h1.headline")).to_have_text(own[0])
    settle(page)
    assert figures(page) == own
    expect(page).to_have_url(link)
    page.get_by_role("button", name="Forget this file").click()
    expect(page.locator("h1.headline")).to_have_text(city[0])
    expect(page.get_by_test_id("stException")).to_have_count(0)


def test_a_link_to_a_file_waits_for_the_file_and_shows_nothing_of_it(
    browser: Browser, page: Page, app: Server
) -> None:
    open_page(page, app, "?resolution=8&floor=1&epsilon=4")
    page.get_by_text("Your own file").first.click()
    load_file(page, "chicago_taxi.csv")
    expect(page).to_have_url(re.compile("trips="))
    own, link = figures(page), page.url
    with browser.new_context() as context:
        other = context.new_page()
        other.goto(link)
        settle(other)
        expect(other.get_by_text("Load the same file", exact=False).first).to_be_visible()
        assert figures(other) != own
        load_file(other, "chicago_taxi.csv")
        assert figures(other) == own


def test_going_back_opens_the_link_of_the_address_bar(page: Page, app: Server) -> None:
    open_page(page, app, "?devices=300000&resolution=6&city=london")
    london = figures(page)
    page.get_by_role("combobox", name="City").click()
    page.keyboard.type("Tok")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("city=tokyo"))
    settle(page)
    page.go_back()
    expect(page.locator("h1.headline")).to_have_text(london[0])


def test_a_hostile_file_is_refused_in_a_sentence_and_the_page_stays(
    page: Page, app: Server, tmp_path: Path
) -> None:
    open_page(page, app)
    shown = figures(page)
    junk = tmp_path / "<img src=x onerror=alert(1)>.csv"
    junk.write_bytes(b"\x00\xff\xfe" * 500)
    page.on("dialog", lambda dialog: pytest.fail(f"a script of the file ran: {dialog.message}"))
    page.get_by_text("Your own file").first.click()
    page.locator("input[type=file]").set_input_files(junk)
    expect(page.get_by_test_id("stAlert").first).to_be_visible(timeout=20_000)
    assert figures(page) == shown


@pytest.mark.parametrize("width", [390, 1024, 1440])
def test_nothing_overflows_sideways(browser: Browser, app: Server, width: int) -> None:
    with browser.new_context(viewport={"width": width, "height": 900}) as context:
        page = context.new_page()
        open_page(page, app)
        overflow = page.evaluate(
            "() => { const m = document.querySelector('[data-testid=stMain]'); return m.scrollWidth - m.clientWidth; }"
        )
        assert overflow <= 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_serious_fault(browser: Browser, app: Server, scheme: str) -> None:
    with browser.new_context(color_scheme=scheme) as context:
        page = context.new_page()
        open_page(page, app)
        settle_colours(page)
        found = Axe().run(page).response["violations"]
    serious = {
        fault["id"]: fault["nodes"][0]["html"][:200]
        for fault in found
        if fault["impact"] in {"serious", "critical"}
    }
    assert serious == {}
