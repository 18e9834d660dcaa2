"""The page in a real browser: cold start to the first map, and slider to repainted map, with its shares.

    python -m benchmarks.page [--quick]

Headless Chromium with software rendering. Each move of the slider is a scenario that was never computed
before. One clock, the browser's, times it all: key pressed, message sent, run of the page begun, bytes of the map handed
over, message arrived, map drawn. Writes benchmarks/results/page.json.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
import urllib.error
import urllib.request
from typing import Any

from playwright.sync_api import Page, sync_playwright

from benchmarks.machine import ROOT, describe, write_results
from benchmarks.tables import bytes_text, markdown_table, percentile
from benchmarks.timed_server import TIMES
from tests.browser.harness import CHROMIUM_FLAGS, find_chromium, free_port
from ui.assets import ensure_assets

DEVICES = 10_000_000
RESOLUTIONS = (8, 9, 10)
ROUNDS = 2
MOVES = 15
RAPID_MOVES = 12
RAPID_PAUSE_MS = 40
CLOCK_ERROR_MS = 2.0

SHARES = ("browser, before", "network and server", "Python", "browser, after")

_PAINTED = "atlasPainted()"
_IDLE = "[data-testid=stApp][data-test-script-state=notRunning]"

# Finds what the map says it has drawn, inside its shadow tree; notes every key, and every message of the page's socket with its size; runs before any script of the page.
_WATCH = """
let map = null;
const all = (root) => [...root.querySelectorAll("*")].flatMap(
  (node) => [node, ...(node.shadowRoot ? all(node.shadowRoot) : [])]);
window.atlasPainted = () => {
  if (!map?.isConnected) map = all(document).find((node) => node.classList?.contains("atlas-map")) ?? null;
  return map?.dataset.painted ?? "";
};
window.atlasTimes = [];
const note = (event, size) => atlasTimes.push({ event, at: performance.timeOrigin + performance.now(), size });
addEventListener("keydown", () => note("key", 0), true);
const Plain = window.WebSocket;
window.WebSocket = class extends Plain {
  constructor(...words) {
    super(...words);
    this.addEventListener("message", ({ data }) => note("message", data.byteLength ?? data.size ?? data.length));
  }
  send(data) {
    note("send", data.byteLength ?? data.size ?? data.length);
    super.send(data);
  }
};
"""

_READ_TIMES = """() => [
  ...window.atlasTimes,
  ...performance.getEntriesByType("mark").filter(({ name }) => name.startsWith("hex-map:")).map((mark) => (
    { event: mark.name.slice(8), at: performance.timeOrigin + mark.startTime, version: mark.detail })),
].sort((one, other) => one.at - other.at)"""


class TimedServer:
    """The product's page on a free port, with its times noted."""

    def __init__(self) -> None:
        folder = ROOT / "test-results"
        folder.mkdir(exist_ok=True)
        self.times = folder / "benchmark_times.jsonl"
        self.times.unlink(missing_ok=True)
        ensure_assets(ROOT / "static")
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        options = {"port": port, "address": "127.0.0.1", "headless": "true"}
        command = [sys.executable, "-m", "benchmarks.timed_server", "app.py"]
        for name, value in options.items():
            command += [f"--server.{name}", str(value)]
        self.process = subprocess.Popen(
            command,
            cwd=ROOT,
            env={**os.environ, TIMES: str(self.times)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        while self.process.poll() is None:
            try:
                with urllib.request.urlopen(f"{self.url}/_stcore/health", timeout=2):  # noqa: S310 - own server
                    return
            except (urllib.error.URLError, OSError):
                time.sleep(0.02)
        raise RuntimeError("Streamlit did not start")

    def events(self) -> list[dict[str, Any]]:
        """Return what was noted so far."""
        return [json.loads(line) for line in self.times.read_text(encoding="utf-8").splitlines()]

    def stop(self) -> None:
        """End the server."""
        self.process.terminate()
        self.process.wait(10)


def open_page(page: Page, address: str) -> None:
    """Open an address and wait until its map is drawn and nothing runs."""
    page.goto(address)
    page.wait_for_function(f"({_PAINTED}) !== ''", timeout=60_000)
    page.wait_for_selector(_IDLE)
    page.wait_for_timeout(1000)


def focus_slider(page: Page) -> None:
    """Give the slider of epsilon the keyboard."""
    page.get_by_role("slider", name="Privacy loss").first.focus()


def clock_offset_ms(page: Page, tries: int = 7) -> float:
    """Return how far the browser's clock is ahead of Python's: it is set once, at the start of the browser."""
    found = []
    for _ in range(tries):
        asked = time.time() * 1000
        there = float(page.evaluate("performance.timeOrigin + performance.now()"))
        answered = time.time() * 1000
        found.append((answered - asked, there - (asked + answered) / 2))
    return min(found)[1]


def _times_since_key(page: Page, server: TimedServer, start_ms: float) -> list[dict[str, Any]]:
    """Return what browser and server noted since a time of Python's clock, all by the browser's clock."""
    offset = clock_offset_ms(page)
    of_server = [{**event, "at": event["at"] + offset} for event in server.events()]
    events = [*page.evaluate(_READ_TIMES), *of_server]
    chosen = [event for event in events if event["at"] >= start_ms + offset]
    return sorted(chosen, key=lambda event: float(event["at"]))


def split_move(events: list[dict[str, Any]]) -> dict[str, Any]:
    """Split one move of the slider into its parts.

    Parameters
    ----------
    events
        What happened from the key on, in the order of time.

    Returns
    -------
    dict
        Seconds of each of `SHARES` and in all, bytes of the map's message and of all messages.

    Raises
    ------
    ValueError
        If the map was not drawn anew after the key.
    """
    if not any(event["event"] == "painted" for event in events):
        raise ValueError("the map was not drawn anew")
    painted = [event for event in events if event["event"] == "painted"][-1]
    before = [event for event in events if event["at"] <= painted["at"]]

    def first(kind: str) -> float:
        return float(next(event["at"] for event in before if event["event"] == kind))

    received = next(
        event for event in before if event["event"] == "received" and event["version"] == painted["version"]
    )
    key, send, run = first("key"), first("send"), first("run")
    # The run may go on and hand over a next map before this one is drawn. A map that the browser was sent before
    # comes as a reference of some bytes, so size alone does not tell which message carries it.
    until = [event for event in before if event["at"] <= received["at"] + CLOCK_ERROR_MS]
    sent = float([event for event in until if event["event"] == "map"][-1]["at"])
    arrived = max(
        (event for event in until if event["event"] == "message" and event["at"] >= sent - CLOCK_ERROR_MS),
        key=lambda event: int(event["size"]),
    )
    parts = (
        send - key,
        (run - send) + (arrived["at"] - sent),
        sent - run,
        painted["at"] - arrived["at"],
    )
    return {
        "seconds": (painted["at"] - key) / 1000,
        "shares": {name: part / 1000 for name, part in zip(SHARES, parts, strict=True)},
        "map_bytes": arrived["size"],
        "all_bytes": sum(event["size"] for event in events if event["event"] == "message"),
        "runs": sum(event["event"] == "run" for event in events),
    }


def one_move(page: Page, server: TimedServer, key: str) -> dict[str, Any]:
    """Press a key on the slider and wait until the map is drawn anew and the page has ended its run."""
    before = page.evaluate(_PAINTED)
    start_ms = time.time() * 1000
    page.keyboard.press(key)
    page.wait_for_function(f"({_PAINTED}) !== {json.dumps(before)}", polling="raf", timeout=30_000)
    page.wait_for_selector(_IDLE)
    page.wait_for_timeout(200)
    return split_move(_times_since_key(page, server, start_ms))


def rapid_moves(page: Page, server: TimedServer) -> dict[str, Any]:
    """Hold the key down and tell what was drawn after it was let go: the latest move, and nothing stale."""
    before = page.evaluate(_PAINTED)
    start_ms = time.time() * 1000
    for _ in range(RAPID_MOVES):
        page.keyboard.press("ArrowRight")
        page.wait_for_timeout(RAPID_PAUSE_MS)
    page.wait_for_function(f"({_PAINTED}) !== {json.dumps(before)}", timeout=60_000)
    page.wait_for_selector(_IDLE, timeout=60_000)
    page.wait_for_timeout(2000)
    page.wait_for_selector(_IDLE, timeout=60_000)
    events = _times_since_key(page, server, start_ms)
    last_key = [event for event in events if event["event"] == "key"][-1]["at"]
    painted = [event for event in events if event["event"] == "painted"]
    drawn, sent = page.evaluate(
        f"[{_PAINTED}, document.querySelector('[data-testid=sent]')?.dataset.version]"
    )
    return {
        "moves": RAPID_MOVES,
        "runs": sum(event["event"] == "run" for event in events),
        "maps_drawn": len(painted),
        "stale_maps_after_last_key": max(sum(event["at"] > last_key for event in painted) - 1, 0),
        "seconds_after_last_key": (painted[-1]["at"] - last_key) / 1000,
        "latest_wins": drawn == sent,
    }


def measure_resolution(
    page: Page, server: TimedServer, resolution: int, *, rounds: int, moves: int
) -> dict[str, Any]:
    """Measure moves between scenarios never seen, moves between seen ones, and a key held down."""
    fresh, seen = [], []
    for seed in range(rounds):
        query = f"devices={DEVICES}&resolution={resolution}&epsilon=0.1&seed={100 + seed}"
        open_page(page, f"{server.url}/?{query}")
        focus_slider(page)
        fresh += [one_move(page, server, "ArrowRight") for _ in range(moves)]
        seen += [one_move(page, server, "ArrowLeft") for _ in range(moves // 2)]
    cells = page.evaluate("document.querySelector('[data-testid=sent]')?.textContent ?? ''")
    open_page(page, f"{server.url}/?devices={DEVICES}&resolution={resolution}&epsilon=0.1&seed=99")
    focus_slider(page)
    return {
        "resolution": resolution,
        "figures": cells,
        "fresh": fresh,
        "seen": seen,
        "rapid": rapid_moves(page, server),
    }


def summary(moves: list[dict[str, Any]]) -> dict[str, Any]:
    """Return p50 and p95 of moves, the median of every share, and the median sizes."""
    seconds = [move["seconds"] for move in moves]
    return {
        "p50": percentile(seconds, 0.5),
        "p95": percentile(seconds, 0.95),
        "shares": {name: statistics.median(move["shares"][name] for move in moves) for name in SHARES},
        "map_bytes": statistics.median(move["map_bytes"] for move in moves),
        "all_bytes": statistics.median(move["all_bytes"] for move in moves),
    }


def tables(results: dict[str, Any]) -> str:
    """Return the tables in Markdown."""
    rows = []
    for row in results["rows"]:
        for kind, words in (("fresh", "never computed before"), ("seen", "seen before")):
            figures = summary(row[kind])
            rows.append(
                [
                    f"{row['cells']:,}",
                    words,
                    f"{figures['p50']:.2f} s",
                    f"{figures['p95']:.2f} s",
                    *(f"{figures['shares'][name]:.3f} s" for name in SHARES),
                    bytes_text(figures["map_bytes"]),
                    bytes_text(figures["all_bytes"]),
                ]
            )
    rapid = [
        [
            f"{row['cells']:,}",
            str(row["rapid"]["moves"]),
            str(row["rapid"]["runs"]),
            str(row["rapid"]["maps_drawn"]),
            str(row["rapid"]["stale_maps_after_last_key"]),
            f"{row['rapid']['seconds_after_last_key']:.2f} s",
            "yes" if row["rapid"]["latest_wins"] else "NO",
        ]
        for row in results["rows"]
    ]
    return "\n\n".join(
        [
            f"Cold start, process begun to first map drawn: **{results['cold_start_s']:.1f} s**, "
            f"of which {results['server_start_s']:.1f} s until the server answers. "
            f"A second reader's first map: {results['warm_start_s']:.1f} s.",
            markdown_table(
                ("cells", "a move to a scenario", "p50", "p95", *SHARES, "map", "all messages"), rows
            ),
            markdown_table(
                (
                    "cells",
                    "keys, 25 a second",
                    "runs",
                    "maps drawn",
                    "stale maps after the last key",
                    "last key to last map",
                    "latest wins",
                ),
                rapid,
            ),
        ]
    )


def domain_cells(resolution: int) -> int:
    """Return how many cells New York has at a resolution."""
    from ldpcore.trips.cities import city_domain

    return city_domain("new_york", resolution).size


def measure(*, rounds: int, moves: int, resolutions: tuple[int, ...]) -> dict[str, Any]:
    """Start server and browser, and measure everything."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=list(CHROMIUM_FLAGS))
        start = time.perf_counter()
        server = TimedServer()
        answered = time.perf_counter()
        try:
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            page.add_init_script(_WATCH)
            page.goto(server.url)
            page.wait_for_function(f"({_PAINTED}) !== ''", timeout=60_000)
            cold = time.perf_counter() - start
            page.wait_for_timeout(3000)
            again = time.perf_counter()
            other = browser.new_page(viewport={"width": 1440, "height": 900})
            other.add_init_script(_WATCH)
            other.goto(server.url)
            other.wait_for_function(f"({_PAINTED}) !== ''", timeout=60_000)
            warm = time.perf_counter() - again
            other.close()
            rows = []
            for resolution in resolutions:
                row = measure_resolution(page, server, resolution, rounds=rounds, moves=moves)
                rows.append({**row, "cells": domain_cells(resolution)})
        finally:
            server.stop()
            browser.close()
    return {
        "cold_start_s": cold,
        "server_start_s": answered - start,
        "warm_start_s": warm,
        "devices": DEVICES,
        "rows": rows,
    }


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="few moves at one resolution, nothing written")
    given = parser.parse_args()
    machine = describe()
    if given.quick:
        figures = measure(rounds=1, moves=3, resolutions=(8,))
    else:
        figures = measure(rounds=ROUNDS, moves=MOVES, resolutions=RESOLUTIONS)
    results = {"machine": machine, **figures}
    print(tables(results))
    if not given.quick:
        write_results("page", results)


if __name__ == "__main__":
    main()
