"""What the browser tests share: find a Chromium, start a Streamlit, wait for the map to be drawn.

Reliable waiting, in this order: the script has ended, then the map carries the version that the
page says it sent. Pictures are judged by screenshots; WebGL pixels are never read back.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Page

from ui.assets import ensure_assets

ROOT = Path(__file__).resolve().parents[2]
APPS = Path(__file__).resolve().parent / "apps"
PICTURES = ROOT / "test-results" / "browser"

# WebGL without a graphics card, and no errands of the browser's own on the network.
CHROMIUM_FLAGS = [
    "--no-sandbox",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--ignore-gpu-blocklist",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


def find_chromium() -> str | None:
    """Return the path of the first Chromium on this machine, or none."""
    for name in ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"):
        path = shutil.which(name)
        if path:
            return path
    mac = Path("/Applications/Google Chrome.app/Contents/MacOS/Google Chrome")
    return str(mac) if mac.exists() else None


@dataclass
class Server:
    """A running Streamlit."""

    url: str
    process: subprocess.Popen[bytes]
    log: Path

    def stop(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(10)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def start_server(script: Path, log: Path, *options: str, env: dict[str, str] | None = None) -> Server:
    """Start Streamlit on a free port and wait until it answers.

    Parameters
    ----------
    script
        The app. Its folder's `static/` is what is served.
    log
        Where the server's own output goes.
    options
        More options of `streamlit run`.
    env
        More environment variables.
    """
    ensure_assets(script.parent / "static")
    port = free_port()
    command = [
        sys.executable,
        "-m",
        "streamlit",
        "run",
        str(script),
        "--server.port",
        str(port),
        "--server.address",
        "127.0.0.1",
        "--server.headless",
        "true",
        *options,
    ]
    with log.open("wb") as output:
        # From the root, so that the product's own .streamlit/config.toml is the one in force.
        process = subprocess.Popen(
            command, cwd=ROOT, stdout=output, stderr=subprocess.STDOUT, env={**os.environ, **(env or {})}
        )
    url = f"http://127.0.0.1:{port}"
    server = Server(url, process, log)
    base = next((options[at + 1] for at, name in enumerate(options) if name == "--server.baseUrlPath"), "")
    if base:
        server.url = f"{url}/{base}"
    until = time.monotonic() + 60
    while time.monotonic() < until:
        if process.poll() is not None:
            break
        try:
            with urllib.request.urlopen(f"{server.url}/_stcore/health", timeout=2):  # noqa: S310 - own server
                return server
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    server.stop()
    pytest.fail(f"Streamlit did not start; its output:\n{log.read_text()[-3000:]}", pytrace=False)


def wait_until_painted(page: Page, version: str | None = None, timeout: float = 30_000) -> None:
    """Wait until the run has ended and the newest map that Python sent, or one version, is drawn."""
    page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]", timeout=timeout)
    page.wait_for_function(
        """(version) => {
            const all = (root) => [...root.querySelectorAll('*')].flatMap(
                (node) => [node, ...(node.shadowRoot ? all(node.shadowRoot) : [])]);
            const found = all(document).find((node) => node.classList?.contains('atlas-map'));
            const wanted = version ?? document.querySelector('[data-testid=sent]')?.dataset.version;
            return found && found.dataset.land !== 'loading' && found.dataset.painted === wanted;
        }""",
        arg=version,
        timeout=timeout,
    )


def settle_colours(page: Page) -> None:
    """Wait until nothing fades any more: Streamlit pales what a run has not drawn again yet."""
    page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]", timeout=60_000)
    page.wait_for_function("!document.querySelector('[data-stale=true]')", timeout=60_000)
    page.wait_for_timeout(1500)
