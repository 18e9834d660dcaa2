"""The page in a real browser: cold start to the first map, and slider to repainted map.

    python -m benchmarks.page

Headless Chromium with software rendering. Prints a table and writes benchmarks/results/page.json.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

from benchmarks.machine import describe
from tests.browser.harness import CHROMIUM_FLAGS, find_chromium, start_server

ROOT = Path(__file__).resolve().parents[1]
RESULTS = Path(__file__).parent / "results" / "page.json"
MOVES = 24
SCENARIOS = {
    "2,186 cells": "devices=10000000&resolution=8",
    "14,000 cells": "devices=10000000&resolution=9",
}
_PAINTED = "document.querySelector('[data-painted]')?.dataset.painted ?? ''"


def slider_seconds(page: Page) -> list[float]:
    """Move the epsilon slider with the keyboard and time each move to the painted map, seconds."""
    thumb = page.get_by_role("slider", name="Privacy loss").first
    thumb.focus()
    seconds = []
    for move in range(MOVES):
        before = page.evaluate(_PAINTED)
        start = time.perf_counter()
        page.keyboard.press("ArrowRight" if move % 6 < 3 else "ArrowLeft")
        page.wait_for_function(f"({_PAINTED}) !== {json.dumps(before)}", polling="raf", timeout=30_000)
        seconds.append(time.perf_counter() - start)
        page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]")
        page.wait_for_timeout(150)
    return seconds


def main() -> None:
    """Measure, print, write."""
    rows: list[dict[str, Any]] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=list(CHROMIUM_FLAGS))
        start = time.perf_counter()
        server = start_server(ROOT / "app.py", ROOT / "test-results" / "benchmark.log")
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.goto(server.url)
        page.wait_for_function(f"({_PAINTED}) !== ''", timeout=60_000)
        rows.append(
            {"what": "cold start: process to first painted map", "seconds": time.perf_counter() - start}
        )
        for name, params in SCENARIOS.items():
            page.goto(f"{server.url}/?{params}")
            page.wait_for_function(f"({_PAINTED}) !== ''", timeout=60_000)
            page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]")
            page.wait_for_timeout(1000)
            moves = sorted(slider_seconds(page))
            rows.append(
                {
                    "what": f"slider to repainted map, {name}, 10M devices",
                    "seconds": statistics.median(moves),
                    "p95": moves[int(0.95 * (len(moves) - 1))],
                }
            )
        server.stop()
        browser.close()
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps({"machine": describe(), "rows": rows}, indent=2) + "\n", encoding="utf-8")
    for row in rows:
        print(
            f"{row['what']:<58} {row['seconds']:6.2f} s"
            + (f"  (p95 {row['p95']:.2f} s)" if "p95" in row else "")
        )
    print(f"wrote {RESULTS}", file=sys.stderr)


if __name__ == "__main__":
    main()
