"""The library and the troubleshooting page as a reader meets them, in a real Chromium."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from ldpcore.library import find_named
from ldpcore.scenario_file import ScenarioFile, read_scenario_file
from ldpcore.settings import Scenario
from tests.browser.harness import ROOT, Server, settle_colours, wait_until_painted

PAIR = "city=tokyo&devices=50000&resolution=5&second=library.districts"


@pytest.fixture(scope="module")
def app(serve: Callable[..., Server]) -> Server:
    return serve(ROOT / "app.py")


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    with browser.new_context(viewport={"width": 1440, "height": 1000}) as context:
        yield context.new_page()


def settle(page: Page) -> None:
    page.wait_for_selector("h1.headline", timeout=60_000)
    page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]", timeout=60_000)


def test_one_click_on_the_start_page_opens_a_case(page: Page, app: Server) -> None:
    page.goto(f"{app.url}/?{PAIR}")
    wait_until_painted(page)
    # The strip stands below the map and the figures, so it pushes neither down.
    strip, figures = page.locator(".st-key-strip"), page.locator(".figures")
    assert strip.bounding_box()["y"] > figures.bounding_box()["y"]
    page.get_by_role("button", name="District report").click()
    expect(page).to_have_url(re.compile("mechanism=grr"), timeout=60_000)
    wait_until_painted(page)
    expect(page.locator("h1.headline")).to_contain_text("of 12 cells can be published")


def test_two_maps_stand_side_by_side_and_the_pair_is_in_the_address(page: Page, app: Server) -> None:
    page.goto(f"{app.url}/library?{PAIR}")
    settle(page)
    expect(page.locator("h1.headline")).to_contain_text("B (District report)")
    maps = page.locator(".atlas-map")
    expect(maps).to_have_count(2, timeout=60_000)
    left, right = (maps.nth(at).bounding_box() for at in (0, 1))
    assert right["x"] > left["x"] + left["width"] / 2
    assert abs(left["y"] - right["y"]) < 2
    page.get_by_role("combobox", name="B").click()
    page.get_by_role("option", name="Night-time demand (library)").click()
    expect(page.locator("h1.headline")).to_contain_text("B (Night-time demand)", timeout=60_000)
    expect(page).to_have_url(re.compile("second=library.night"), timeout=60_000)


def test_a_scenario_goes_out_as_a_file_and_comes_back(page: Page, app: Server, tmp_path: Path) -> None:
    page.goto(f"{app.url}/library?{PAIR}")
    settle(page)
    with page.expect_download() as caught:
        page.get_by_role("button", name="Scenario B (JSON)").click()
    content = caught.value.path().read_text(encoding="utf-8")
    assert read_scenario_file(content) == find_named("districts").to_file()
    evil = ScenarioFile(name="<b>x</b>", scenario=Scenario(city="tokyo", devices=9_000, resolution=5))
    path = tmp_path / "evil.json"
    path.write_text(evil.to_json(), encoding="utf-8")
    page.get_by_text("Open a scenario file").click()
    page.locator("input[type=file]").last.set_input_files(path)
    expect(page.get_by_text("<b>x</b>").first).to_be_visible(timeout=60_000)
    path.write_text(json.dumps({"format": "other"}), encoding="utf-8")
    page.locator("input[type=file]").last.set_input_files(path)
    expect(page.get_by_text("This is no scenario file", exact=False)).to_be_visible(timeout=60_000)


def test_a_failure_is_switched_on_and_off(page: Page, app: Server) -> None:
    page.goto(f"{app.url}/troubleshooting?city=tokyo&devices=100000&resolution=6")
    wait_until_painted(page)
    expect(page.locator("h1.headline")).to_contain_text("Every cell looks equally busy")
    page.get_by_text("Reproduce it").click()
    expect(page.locator("h1.headline")).to_contain_text("Mended", timeout=60_000)
    wait_until_painted(page)
    expect(page).to_have_url(re.compile("off=1"), timeout=60_000)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", ["library", "troubleshooting"])
def test_the_pages_pass_the_scan_for_contrast_and_names(
    browser: Browser, app: Server, scheme: str, path: str
) -> None:
    with browser.new_context(viewport={"width": 1440, "height": 1000}, color_scheme=scheme) as context:
        page = context.new_page()
        page.goto(f"{app.url}/{path}?{PAIR}")
        settle(page)
        settle_colours(page)
        found = Axe().run(page).response["violations"]
    serious = {
        fault["id"]: fault["nodes"][0]["html"][:200]
        for fault in found
        if fault["impact"] in {"serious", "critical"}
    }
    assert serious == {}
