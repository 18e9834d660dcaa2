"""The Review page as a reviewer meets it, in a real Chromium."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from pathlib import Path

import pypdf
import pytest
import yaml
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from tests.browser.harness import ROOT, Server, settle_colours

LINK = "city=cape_town&devices=100000&resolution=6"


@pytest.fixture(scope="module")
def app(serve: Callable[..., Server]) -> Server:
    return serve(ROOT / "app.py")


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    with browser.new_context(viewport={"width": 1440, "height": 1000}, accept_downloads=True) as context:
        yield context.new_page()


def rest(page: Page) -> None:
    page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]", timeout=120_000)


def open_page(page: Page, app: Server) -> None:
    page.goto(f"{app.url}/review?{LINK}")
    expect(page.locator("h1.headline")).to_contain_text("Nothing has been tried yet", timeout=60_000)
    rest(page)


def run(page: Page) -> None:
    page.get_by_role("button", name="Run the checks").click()
    expect(page.locator("h1.headline")).to_contain_text("is supported", timeout=180_000)
    rest(page)


def test_a_reviewer_runs_the_checks_says_their_part_and_takes_the_report(page: Page, app: Server) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    open_page(page, app)
    expect(page.get_by_role("img", name="Device sees the true cell")).to_be_visible()
    run(page)
    page.get_by_text("In your own words").first.click()
    field = page.get_by_role("textbox", name="Retention")
    field.fill('Thirty days. #read("/etc/passwd") <img src=x onerror=alert(1)>')
    field.blur()
    rest(page)
    page.get_by_text("Who is trusted with what").first.click()
    expect(page.locator(".rv-user .rv-text", has_text="Thirty days.")).to_be_visible()
    expect(page.locator("img[src=x]")).to_have_count(0)
    assert "Thirty" not in page.url

    with page.expect_download() as waiting:
        page.get_by_role("button", name="PDF").click()
    pdf = pypdf.PdfReader(io.BytesIO(Path(waiting.value.path()).read_bytes()))
    text = "\n".join(entry.extract_text() for entry in pdf.pages)
    assert "Thirty days." in text
    assert "root:" not in text
    with page.expect_download() as waiting:
        page.get_by_role("button", name="YAML").click()
    fields = yaml.safe_load(Path(waiting.value.path()).read_text(encoding="utf-8"))
    assert fields["privacy_loss"]["privacy_parameters"]["epsilon"] == 2.0
    own = (app.url, "data:", "blob:", app.url.replace("http", "ws"))
    assert [url for url in asked if not url.startswith(own)] == []


def test_the_checks_can_be_stopped(page: Page, app: Server) -> None:
    open_page(page, app)
    page.get_by_text("Full: a minute or more").click()
    rest(page)
    page.get_by_role("button", name="Run the checks").click()
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_text("The checks were stopped before they were done")).to_be_visible(timeout=60_000)
    expect(page.locator("h1.headline")).to_contain_text("Nothing has been tried yet")
    assert "level=full" in page.url


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_barrier_in_either_theme(browser: Browser, app: Server, scheme: str) -> None:
    with browser.new_context(viewport={"width": 1440, "height": 1000}, color_scheme=scheme) as context:
        page = context.new_page()
        open_page(page, app)
        run(page)
        for panel in ("In your own words", "Purpose and data", "The checklist, run", "Hazards"):
            page.get_by_text(panel).first.click()
        settle_colours(page)
        found = Axe().run(page, options={"runOnly": ["wcag2a", "wcag2aa"]})
        serious = [
            entry for entry in found.response["violations"] if entry["impact"] in ("serious", "critical")
        ]
        assert serious == [], [(entry["id"], entry["nodes"][0]["html"][:200]) for entry in serious]


def test_on_a_phone_the_drawing_is_a_list_and_nothing_is_wider_than_the_screen(
    browser: Browser, app: Server
) -> None:
    with browser.new_context(viewport={"width": 390, "height": 844}) as context:
        page = context.new_page()
        open_page(page, app)
        run(page)
        expect(page.locator("ol.flow h4", has_text="Device")).to_be_visible()
        page.get_by_text("The checklist, run").first.click()
        wider = page.evaluate(
            "document.querySelector('[data-testid=stMain]').scrollWidth - document.querySelector('[data-testid=stMain]').clientWidth"
        )
        assert wider <= 0
