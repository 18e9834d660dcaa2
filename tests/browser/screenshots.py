"""Take the pictures of the README, and of every width in light and dark for looking at.

    make screenshots

Writes docs/explore.png, and the rest to test-results/screenshots.
"""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from tests.browser.harness import CHROMIUM_FLAGS, ROOT, find_chromium, start_server, wait_until_painted

README_PICTURE = ROOT / "docs" / "explore.png"
LOOK_AT = ROOT / "test-results" / "screenshots"
WIDTHS = {"wide": (1440, 900), "laptop": (1024, 768), "phone": (390, 844)}
QUERY = "?resolution=8"


def take(browser: Browser, url: str, path: Path, *, size: tuple[int, int], scheme: str) -> None:
    """Open a page at one size and theme and save it once the map is painted."""
    context = browser.new_context(
        viewport={"width": size[0], "height": size[1]}, color_scheme="dark" if scheme == "dark" else "light"
    )
    page = context.new_page()
    page.goto(url)
    page.wait_for_selector("[data-testid=sent]", timeout=60_000)
    wait_until_painted(page)
    page.wait_for_timeout(1500)
    path.parent.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=path)
    context.close()


def main() -> None:
    """Take all pictures."""
    LOOK_AT.mkdir(parents=True, exist_ok=True)
    server = start_server(ROOT / "app.py", LOOK_AT / "server.log")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=CHROMIUM_FLAGS)
        take(browser, server.url + "/" + QUERY, README_PICTURE, size=(1440, 900), scheme="light")
        for name, size in WIDTHS.items():
            for scheme in ("light", "dark"):
                take(browser, server.url, LOOK_AT / f"explore_{name}_{scheme}.png", size=size, scheme=scheme)
        browser.close()
    server.stop()


if __name__ == "__main__":
    main()
