"""A Chromium, Streamlit servers on free ports, and pictures.

Tests in this folder are marked `browser`. They use the system's own Chromium through the
synchronous interface of Playwright, so that nothing has to be downloaded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserType, Page

from tests.browser.harness import APPS, CHROMIUM_FLAGS, PICTURES, Server, find_chromium, start_server


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(item.path).is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def chromium_path() -> str:
    path = find_chromium()
    if path is None:
        pytest.fail(
            "The browser tests need Chromium or Chrome: `sudo apt-get install chromium` on Debian and "
            "Ubuntu, `brew install --cask google-chrome` on macOS. "
            "To leave them out: pytest -m 'not browser'.",
            pytrace=False,
        )
    return path


@pytest.fixture(scope="session")
def browser(browser_type: BrowserType, chromium_path: str) -> Iterator[Browser]:
    """Replace pytest-playwright's own browser by the system's Chromium."""
    browser = browser_type.launch(executable_path=chromium_path, args=CHROMIUM_FLAGS)
    yield browser
    browser.close()


@pytest.fixture(scope="session")
def serve(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Server]]:
    """Return a function that starts a server once per script and options, stopped at the end."""
    running: dict[tuple[str, ...], Server] = {}

    def start(script: Path, *options: str) -> Server:
        key = (str(script), *options)
        if key not in running:
            log = tmp_path_factory.mktemp("server") / "streamlit.log"
            running[key] = start_server(script, log, *options)
        return running[key]

    yield start
    for server in running.values():
        server.stop()


@pytest.fixture(scope="session")
def map_server(serve: Callable[..., Server]) -> Server:
    return serve(APPS / "map_app.py")


@pytest.fixture
def picture() -> Callable[[Page, str], Path]:
    """Return a function that saves a screenshot under test-results/browser/ and returns its path."""

    def save(page: Page, name: str) -> Path:
        PICTURES.mkdir(parents=True, exist_ok=True)
        path = PICTURES / f"{name}.png"
        page.screenshot(path=path)
        return path

    return save
