"""The lesson and the tour as a student meets them, in a real Chromium."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from tests.browser.harness import ROOT, Server, settle_colours, wait_until_painted

LINK = "devices=300000&resolution=6&epsilon=1.5"
NO_WEBGL = """
const real = HTMLCanvasElement.prototype.getContext;
HTMLCanvasElement.prototype.getContext = function (kind, ...rest) {
  return String(kind).startsWith('webgl') ? null : real.call(this, kind, ...rest);
};
"""


@pytest.fixture(scope="session")
def app(serve: Callable[..., Server]) -> Server:
    return serve(ROOT / "app.py")


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    with browser.new_context(viewport={"width": 1440, "height": 1000}) as context:
        yield context.new_page()


def rest(page: Page) -> None:
    page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]", timeout=60_000)


def open_step(page: Page, app: Server, step: int, more: str = "") -> None:
    page.goto(f"{app.url}/learn?{LINK}&step={step}{more}")
    page.wait_for_selector("h1.headline", timeout=60_000)
    rest(page)


def painted(page: Page) -> str:
    wait_until_painted(page)
    version = page.locator("[data-testid=sent]").first.get_attribute("data-version")
    assert version
    return version


def settled_text(page: Page) -> str:
    """Return the text of the page once it stands still: charts and the map's own words come after the script."""
    main = page.get_by_test_id("stMain")
    text, still = main.inner_text(), 0
    while still < 4:
        page.wait_for_timeout(300)
        now = main.inner_text()
        still = still + 1 if now == text and "Loading the map" not in now else 0
        text = now
    return text


@pytest.mark.parametrize("step", [2, 3, 6])
def test_two_browsers_with_one_class_link_see_the_same_map(browser: Browser, app: Server, step: int) -> None:
    seen = []
    for more in ("", "&seed=77&draw=3"):
        with browser.new_context(viewport={"width": 1440, "height": 1000}) as context:
            page = context.new_page()
            open_step(page, app, step, f"&class=1234{more}")
            expect(page.get_by_text("Class 1234: everybody")).to_be_visible()
            expect(page.locator(".standing")).to_contain_text("class 1234")
            seen.append((painted(page), settled_text(page)))
    assert seen[0] == seen[1]


def test_two_browsers_of_one_class_see_the_same_redraws(browser: Browser, app: Server) -> None:
    seen = []
    for seed in (1, 2):
        with browser.new_context() as context:
            page = context.new_page()
            open_step(page, app, 5, f"&class=1234&seed={seed}")
            page.locator(".player .say").wait_for()
            seen.append(
                (
                    page.locator("[data-testid=redraws]").get_attribute("data-version"),
                    page.locator(".player .say").inner_text(),
                )
            )
    assert seen[0] == seen[1]


def test_a_click_on_the_map_moves_the_phone_and_the_link(page: Page, app: Server) -> None:
    open_step(page, app, 2)
    before = painted(page)
    box = page.locator(".atlas-map canvas").bounding_box()
    assert box
    page.mouse.click(box["x"] + box["width"] * 0.45, box["y"] + box["height"] * 0.62)
    expect(page).to_have_url(re.compile(r"place=86[0-9a-f]{13}"))
    rest(page)
    assert painted(page) != before
    cell = re.search(r"place=([0-9a-f]+)", page.url)
    assert cell
    expect(page.get_by_role("combobox", name="Where the phone is")).to_have_value(re.compile(cell[1]))


def test_redraws_play_and_count_the_error_bars(page: Page, app: Server) -> None:
    open_step(page, app, 5)
    player, say = page.locator(".player"), page.locator(".player .say")
    expect(say).to_contain_text("Counted so far")
    first = say.inner_text()
    player.get_by_role("button", name="Play").click()
    expect(player).to_have_attribute("data-frame", "2", timeout=10_000)
    player.get_by_role("button", name="Pause").click()
    assert say.inner_text() != first
    slider = player.get_by_role("slider", name="Redraw shown")
    slider.focus()
    page.keyboard.press("End")
    expect(player).to_have_attribute("data-frame", "19")
    expect(player.get_by_text("Redraw 20 of 20")).to_be_visible()


def test_less_motion_means_single_steps(browser: Browser, app: Server) -> None:
    with browser.new_context(reduced_motion="reduce") as context:
        page = context.new_page()
        open_step(page, app, 5)
        player = page.locator(".player")
        expect(player.get_by_role("button", name="Play")).to_have_count(0)
        player.get_by_role("button", name="Next").click()
        expect(player).to_have_attribute("data-frame", "1")
        page.wait_for_timeout(1500)
        expect(player).to_have_attribute("data-frame", "1")
        assert (
            player.locator("[data-from]").first.evaluate("(n) => getComputedStyle(n).transitionDuration")
            == "0s"
        )


@pytest.mark.parametrize("step", [2, 3, 4, 6])
def test_without_webgl_the_strip_the_table_and_the_question_are_there(
    page: Page, app: Server, step: int
) -> None:
    page.add_init_script(NO_WEBGL)
    open_step(page, app, step)
    expect(page.get_by_text("WebGL 2 is off or not supported", exact=False)).to_be_visible(timeout=30_000)
    if step in {3, 4}:
        expect(page.locator("img.lesson-strip")).to_be_visible()
    page.get_by_text("The same as a table").first.click()
    expect(page.get_by_test_id("stDataFrame").last).to_be_visible()
    page.get_by_test_id("stRadio").get_by_role("radio").nth(1).locator("xpath=ancestor::label").click()
    expect(page.locator(".answer")).to_be_visible()


def test_next_begins_the_next_step_at_its_top(page: Page, app: Server) -> None:
    open_step(page, app, 3)
    page.get_by_role("button", name="Next: The way back").click()
    expect(page.get_by_text("Step 4 of 8", exact=False)).to_be_visible()
    expect(page).to_have_url(re.compile("step=4"))
    rest(page)
    page.wait_for_timeout(500)
    assert page.evaluate("document.querySelector('[data-testid=stMain]').scrollTop") < 10
    page.go_back()
    expect(page.get_by_text("Step 3 of 8", exact=False)).to_be_visible()


def test_a_word_shows_its_definition_under_focus(page: Page, app: Server) -> None:
    open_step(page, app, 1)
    word = page.get_by_role("button", name="Epsilon", exact=True)
    tip = page.locator("#tip-epsilon-coin")
    expect(tip).to_be_hidden()
    word.focus()
    expect(tip).to_be_visible()
    assert word.get_attribute("aria-describedby") == "tip-epsilon-coin"


def test_the_help_of_a_control_links_to_its_step(page: Page, app: Server) -> None:
    open_step(page, app, 1)
    page.get_by_test_id("stSidebar").get_by_role(
        "button", name=re.compile("[Hh]elp for Resolution")
    ).first.hover()
    link = page.get_by_role("link", name="Learn, step 6")
    expect(link).to_be_visible()
    assert link.evaluate("(node) => node.href") == f"{app.url}/learn?step=6"


def test_a_sheet_is_downloaded_with_the_numbers_of_the_page(page: Page, app: Server) -> None:
    open_step(page, app, 4, "&class=1234")
    shown = page.locator("h1.headline").inner_text().split(" reports")[0]
    page.get_by_text("For classes").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Sheet with solutions").click()
    text = download.value.path().read_text(encoding="utf-8")
    assert f"{shown} reports point to cell" in text
    assert "class 1234" in text


@pytest.mark.parametrize("width", [390, 1024, 1440])
def test_nothing_overflows_sideways(browser: Browser, app: Server, width: int) -> None:
    with browser.new_context(viewport={"width": width, "height": 844}) as context:
        page = context.new_page()
        for step in range(1, 9):
            open_step(page, app, step)
            overflow = page.evaluate(
                "() => { const m = document.querySelector('[data-testid=stMain]'); return m.scrollWidth - m.clientWidth; }"
            )
            assert overflow <= 1, step


@pytest.mark.parametrize("step", [2, 5, 7])
def test_on_a_phone_the_words_of_a_picture_are_12_pixels_high(
    browser: Browser, app: Server, step: int
) -> None:
    with browser.new_context(viewport={"width": 390, "height": 844}) as context:
        page = context.new_page()
        open_step(page, app, step)
        page.locator(".player svg text").first.wait_for()
        words = page.locator(".player svg text").evaluate_all(
            """(nodes) => nodes.map((node) => {
              const svg = node.ownerSVGElement, box = node.getBBox(), view = svg.viewBox.baseVal;
              const shrunk = svg.getBoundingClientRect().width / view.width;
              return [parseFloat(getComputedStyle(node).fontSize) * shrunk, box.x, view.width - box.x - box.width];
            })"""
        )
        assert min(size for size, _, _ in words) >= 12
        # Larger words must still fit into the picture.
        assert min(left for _, left, _ in words) >= 0
        assert min(right for _, _, right in words) >= 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_serious_fault(browser: Browser, app: Server, scheme: str) -> None:
    serious = {}
    with browser.new_context(color_scheme=scheme) as context:
        page = context.new_page()
        for step in range(1, 9):
            open_step(page, app, step, "&clamp=1" if step == 5 else "")
            if step == 1:
                page.get_by_text("For classes").click()
                page.get_by_text("Glossary", exact=True).click()
                page.locator("dl.glossary").wait_for()
            page.get_by_test_id("stRadio").get_by_role("radio").nth(1).locator(
                "xpath=ancestor::label"
            ).click()
            page.locator(".answer").wait_for()
            settle_colours(page)
            for fault in Axe().run(page).response["violations"]:
                if fault["impact"] in {"serious", "critical"}:
                    serious[step, fault["id"]] = fault["nodes"][0]["html"][:200]
    assert serious == {}


# -- the tour -----------------------------------------------------------------------------------------


def first_visit(page: Page, app: Server) -> None:
    page.goto(f"{app.url}/?{LINK}")
    page.wait_for_selector("[data-testid=sent]", timeout=60_000)
    wait_until_painted(page)


def test_the_tour_is_walked_by_keyboard_and_stays_off(page: Page, app: Server) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    first_visit(page, app)
    page.get_by_role("button", name="Show me").focus()
    page.keyboard.press("Enter")
    for number in range(1, 6):
        card = page.locator(f'.tour-card[data-stop="{number}"]')
        expect(card).to_be_visible()
        expect(page.locator(".tour-card:visible")).to_have_count(1)
        assert card.evaluate("(node) => node.contains(document.activeElement)")
        page.keyboard.press("Enter")
    expect(page.locator(".tour-card:visible")).to_have_count(0)
    page.reload()
    page.wait_for_selector("[data-testid=sent]", timeout=60_000)
    wait_until_painted(page)
    page.wait_for_timeout(500)
    expect(page.locator(".tour-card:visible")).to_have_count(0)
    page.get_by_role("button", name="Show the tour of this page").click()
    expect(page.locator('.tour-card[data-stop="1"]')).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(".tour-card:visible")).to_have_count(0)
    own = (app.url, app.url.replace("http", "ws"), "data:", "blob:")
    assert [url for url in asked if not url.startswith(own)] == []


def test_declined_once_the_tour_does_not_ask_again(page: Page, app: Server) -> None:
    first_visit(page, app)
    page.get_by_role("button", name="No, thanks").click()
    expect(page.locator(".tour-card:visible")).to_have_count(0)
    page.get_by_role("slider", name="Privacy loss").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("h1.headline")).to_contain_text("At ε = 2 ")
    wait_until_painted(page)
    expect(page.locator(".tour-card:visible")).to_have_count(0)


def test_on_a_phone_no_card_lies_over_the_map(browser: Browser, app: Server) -> None:
    with browser.new_context(viewport={"width": 390, "height": 844}) as context:
        page = context.new_page()
        first_visit(page, app)
        page.get_by_role("button", name="Show me").click()
        for number in range(1, 6):
            card = page.locator(f'.tour-card[data-stop="{number}"]')
            expect(card).to_be_visible()
            page.wait_for_timeout(600)
            map_box, card_box = page.locator(".st-key-explore_map").bounding_box(), card.bounding_box()
            assert map_box
            assert card_box
            apart = (
                card_box["y"] + card_box["height"] <= map_box["y"]
                or card_box["y"] >= map_box["y"] + map_box["height"]
            )
            assert apart, number
            expect(card).to_be_in_viewport()
            card.get_by_role("button", name=re.compile("Next|Done")).click()
