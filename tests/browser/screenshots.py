"""Take the pictures of the README, and of every page at every width in light and dark for looking at.

    make screenshots
    .venv/bin/python -m tests.browser.screenshots device learn     # only these pages, only for looking at

Writes docs/explore.png and the other pictures of the README; the rest goes to test-results/screenshots.
"""

from __future__ import annotations

import sys
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from tests.browser.harness import CHROMIUM_FLAGS, ROOT, find_chromium, start_server

DOCS = ROOT / "docs"
LOOK_AT = ROOT / "test-results" / "screenshots"
WIDTHS = {"wide": 1440, "laptop": 1024, "phone": 390}
TALL = 2200
PAGES = {
    "explore": "resolution=8",
    "tradeoffs": "city=helsinki&devices=2000000",
    "fallback": "resolution=8",
    "sizing": "city=london&devices=400000&count=500&error=0.2",
    "mechanisms": "resolution=8",
    "library": "",
    "learn": "step=3",
    "device": "reports_a_day=288",
    "review": "",
    "troubleshooting": "",
}
"""Each page with the link it is shown at."""
README_PICTURES = ("explore", "fallback", "learn", "device")
README_SIZE = (1440, 900)


def take(browser: Browser, url: str, path: Path, *, size: tuple[int, int], scheme: str) -> None:
    """Open a page at one size and theme and save it once its script has ended and its maps are painted."""
    context = browser.new_context(
        viewport={"width": size[0], "height": size[1]}, color_scheme="dark" if scheme == "dark" else "light"
    )
    page = context.new_page()
    page.goto(url)
    page.wait_for_selector("h1.headline", timeout=90_000)
    page.wait_for_selector(
        "[data-testid=stApp][data-test-script-state=notRunning]", timeout=90_000, state="attached"
    )
    page.wait_for_timeout(4000)
    path.parent.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=path)
    context.close()


def main() -> None:
    """Take the pictures of the pages named on the command line, or of all and those of the README."""
    named = sys.argv[1:]
    LOOK_AT.mkdir(parents=True, exist_ok=True)
    server = start_server(ROOT / "app.py", LOOK_AT / "server.log")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=CHROMIUM_FLAGS)
        for name in named or PAGES:
            url = f"{server.url}/{name}?{PAGES[name]}"
            if not named and name in README_PICTURES:
                take(browser, url, DOCS / f"{name}.png", size=README_SIZE, scheme="light")
            for width, pixels in WIDTHS.items():
                for scheme in ("light", "dark"):
                    path = LOOK_AT / f"{name}_{width}_{scheme}.png"
                    take(browser, url, path, size=(pixels, TALL), scheme=scheme)
        browser.close()
    server.stop()


if __name__ == "__main__":
    main()
