"""The map in a real browser, by pixels, by text and by what Python hears of it."""

from __future__ import annotations

import io
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from PIL import Image
from playwright.sync_api import Browser, Locator, Page, Route, expect

from tests.browser.harness import APPS, Server, wait_until_painted
from ui.palettes import LIGHT, hex_to_rgb

CELL = re.compile("^88[0-9a-f]{13}$")
Open = Callable[..., "MapPage"]


@dataclass
class MapPage:
    """A page with the map, and everything it asked for and complained about."""

    page: Page
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    @property
    def root(self) -> Locator:
        return self.page.locator(".atlas-map")

    @property
    def stage(self) -> Locator:
        return self.page.locator(".atlas-map .stage")

    def view(self) -> tuple[float, ...]:
        return tuple(float(part) for part in (self.root.get_attribute("data-view") or "").split())

    @property
    def sent(self) -> Locator:
        """What Python last sent and heard, as attributes."""
        return self.page.get_by_test_id("sent")

    def expect_pinned(self, cell: str | re.Pattern[str]) -> str:
        expect(self.sent).to_have_attribute("data-pinned", cell)
        return self.sent.get_attribute("data-pinned") or ""

    def expect_view(self, changed: Callable[[tuple[float, ...]], bool]) -> tuple[float, ...]:
        """Wait until the view that is on the canvas is as it should be, and return it."""
        until = time.monotonic() + 15
        while not changed(self.view()) and time.monotonic() < until:
            self.page.wait_for_timeout(50)
        assert changed(self.view()), f"the view stayed at {self.view()}"
        return self.view()

    def expect_outlined(self, hovered: str, pinned: str) -> None:
        expect(self.root).to_have_attribute(
            "data-outlined", re.compile(f"^{hovered} {pinned}$"), timeout=15_000
        )

    def leave(self) -> None:
        """Take the pointer off the map."""
        self.page.mouse.move(5, 5)

    def pixels(self, target: Locator | None = None) -> np.ndarray:
        image = Image.open(io.BytesIO((target or self.stage).screenshot()))
        return np.asarray(image.convert("RGB")).astype(int)

    def point_in(self, panel: int, across: float = 0.42, down: float = 0.45) -> tuple[float, float]:
        box = self.stage.bounding_box()
        return box["x"] + box["width"] * (panel + across) / 3, box["y"] + box["height"] * down

    def nudge_slider(self, times: int = 1) -> None:
        self.page.get_by_role("slider").focus()
        for _ in range(times):
            self.page.keyboard.press("ArrowRight")

    def wait(self) -> None:
        wait_until_painted(self.page)


@pytest.fixture
def open_map(browser: Browser, map_server: Server) -> Iterator[Open]:
    contexts = []

    def start(
        query: str = "",
        *,
        width: int = 1440,
        height: int = 1200,
        server: Server = map_server,
        prepare: Callable[[Page], object] | None = None,
        painted: bool = True,
        **options: object,
    ) -> MapPage:
        context = browser.new_context(viewport={"width": width, "height": height}, **options)
        contexts.append(context)
        opened = MapPage(context.new_page())
        opened.page.on("request", lambda request: opened.requests.append(request.url))
        opened.page.on("pageerror", lambda error: opened.complaints.append(str(error)))
        opened.page.on(
            "console",
            lambda message: (
                opened.complaints.append(message.text) if message.type in {"error", "warning"} else None
            ),
        )
        if prepare:
            prepare(opened.page)
        opened.page.goto(f"{server.url}/?{query}")
        if painted:
            opened.wait()
        return opened

    yield start
    for context in contexts:
        context.close()


def share_of(pixels: np.ndarray, colour: str, within: int = 6) -> float:
    """Share of pixels that have a colour, give or take."""
    return float((np.abs(pixels - hex_to_rgb(colour)).max(axis=-1) <= within).mean())


def distinct(pixels: np.ndarray) -> int:
    """Number of colours in steps of 16: a blank canvas has one or two."""
    return len(np.unique((pixels // 16).reshape(-1, 3), axis=0))


def test_three_panels_are_drawn_and_every_request_stays_at_home(open_map: Open, map_server: Server):
    opened = open_map()
    pixels = opened.pixels()
    for panel in np.array_split(pixels, 3, axis=1):
        assert distinct(panel) > 25
    for title in ("Truth", "Published", "Error"):
        expect(opened.page.locator(".title strong", has_text=title)).to_be_visible()
    expect(opened.page.locator(".attribution")).to_have_text("Land © OpenStreetMap contributors, ODbL")
    foreign = [url for url in opened.requests if not url.startswith((map_server.url, "blob:", "data:"))]
    assert [url for url in foreign if not url.startswith(map_server.url.replace("http", "ws"))] == []
    assert opened.complaints == []


def test_hatching_appears_where_cells_are_suppressed_and_only_there(open_map: Open):
    truth, published, error = np.array_split(open_map().pixels(), 3, axis=1)
    assert share_of(truth, LIGHT.hatch, 10) < 0.005
    for panel in (published, error):
        assert share_of(panel, LIGHT.hatch, 10) > 0.03
        assert share_of(panel, LIGHT.land, 4) > 0.15


def test_hatching_runs_at_45_degrees(open_map: Open):
    published = np.array_split(open_map("resolution=5&devices=1000").pixels(), 3, axis=1)[1]
    ink = np.abs(published[150:330, 100:280] - hex_to_rgb(LIGHT.hatch)).max(axis=-1) < 24
    assert ink.mean() > 0.05
    # Shifted one to the right and one up the picture repeats; one right and one down it does not.
    rising = (ink[1:, :-1] & ink[:-1, 1:]).sum() / ink[1:, :-1].sum()
    falling = (ink[:-1, :-1] & ink[1:, 1:]).sum() / ink[:-1, :-1].sum()
    assert rising > 0.9
    assert falling < 0.6


def test_cells_that_stand_for_one_number_have_one_outline_and_their_own_hatching(open_map: Open):
    plain = np.array_split(open_map("resolution=7").pixels(), 3, axis=1)
    opened = open_map("resolution=7&groups=6")
    truth, published, _ = np.array_split(opened.pixels(), 3, axis=1)
    # Nothing changes in the other panels.
    assert (plain[0] != truth).any(axis=-1).mean() < 0.001
    assert share_of(published, LIGHT.hatch, 10) < 0.005
    assert share_of(plain[1], LIGHT.text, 24) < 0.002
    assert share_of(published, LIGHT.text, 24) > 0.01
    # The side between two cells of one group carries no line, the one between two groups does: seven cells have
    # 42 half sides, of which 24 lie inside.
    assert share_of(published, LIGHT.grid, 6) < 0.3 * share_of(truth, LIGHT.grid, 6)
    heavy = np.array_split(open_map("resolution=7&groups=6&weight=5").pixels(), 3, axis=1)[1]
    assert share_of(heavy, LIGHT.text, 24) > 1.7 * share_of(published, LIGHT.text, 24)
    assert opened.complaints == []


@pytest.mark.parametrize("resolution", [5, 7, 9])
def test_every_resolution_draws_cells(open_map: Open, resolution: int):
    opened = open_map(f"resolution={resolution}")
    assert distinct(np.array_split(opened.pixels(), 3, axis=1)[0]) > 8


def test_a_slider_move_repaints_the_estimate_and_leaves_truth_and_view_alone(open_map: Open):
    opened = open_map()
    fitted = opened.view()
    opened.stage.hover(position={"x": 200, "y": 200})
    opened.page.mouse.wheel(0, -300)
    opened.leave()
    opened.expect_view(lambda view: view != fitted)
    opened.page.wait_for_timeout(500)  # the wheel comes to rest
    view, before = opened.view(), np.array_split(opened.pixels(), 3, axis=1)
    opened.nudge_slider(10)
    expect(opened.sent).to_have_attribute("data-epsilon", "3.0")
    opened.wait()
    after = np.array_split(opened.pixels(), 3, axis=1)
    assert opened.view() == view
    assert (before[0] != after[0]).any(axis=-1).mean() < 0.001
    assert (before[1] != after[1]).any(axis=-1).mean() > 0.02


def test_a_click_pins_in_all_panels_survives_a_rerun_and_a_second_click_unpins(open_map: Open):
    opened = open_map()
    before = opened.pixels()
    opened.page.mouse.click(*opened.point_in(1))
    cell = opened.expect_pinned(CELL)
    opened.leave()
    opened.expect_outlined("none", cell)
    for old, new in zip(
        np.array_split(before, 3, axis=1), np.array_split(opened.pixels(), 3, axis=1), strict=True
    ):
        changed = (old != new).any(axis=-1)
        assert 30 < changed.sum() < 3000, "an outline in each panel and nothing else"
    opened.nudge_slider()
    expect(opened.sent).to_have_attribute("data-epsilon", "2.1")
    opened.wait()
    opened.expect_pinned(cell)
    opened.page.mouse.click(*opened.point_in(0))
    opened.expect_pinned("None")


def test_the_page_can_pin_a_cell_too(open_map: Open):
    opened = open_map()
    opened.page.mouse.click(*opened.point_in(1))
    clicked = opened.expect_pinned(CELL)
    opened.page.get_by_role("button", name="Pin the first cell").click()
    expect(opened.sent).not_to_have_attribute("data-pinned", clicked)
    opened.expect_pinned(CELL)


def test_the_map_can_be_used_by_keys_alone(open_map: Open):
    opened = open_map()
    opened.stage.focus()
    start = opened.view()
    opened.page.keyboard.press("ArrowRight")
    opened.page.keyboard.press("ArrowUp")
    opened.expect_view(lambda view: view[0] > start[0] and view[1] > start[1] and view[2] == start[2])
    opened.page.keyboard.press("+")
    opened.page.keyboard.press("+")
    opened.expect_view(lambda view: view[2] == pytest.approx(start[2] + 1.4, abs=1e-4))
    opened.page.keyboard.press("-")
    opened.expect_view(lambda view: view[2] == pytest.approx(start[2] + 0.7, abs=1e-4))
    opened.page.keyboard.press("0")
    opened.expect_view(lambda view: view == start)
    expect(opened.page.locator(".crosshair")).to_be_visible()
    opened.page.keyboard.press("Enter")
    opened.expect_pinned(CELL)
    expect(opened.page.locator("[aria-live]").filter(has_text="Truth:")).to_have_count(1)
    opened.page.keyboard.press("Escape")
    opened.expect_pinned("None")
    assert opened.stage.get_attribute("aria-label") == "Map: Truth, Published, Error"


def test_another_place_moves_the_view_and_the_button_brings_it_back(open_map: Open):
    opened = open_map()
    city = opened.view()
    opened.page.get_by_text("Brooklyn").click()
    place = opened.expect_view(lambda view: view[2] > city[2] + 0.5)
    opened.page.get_by_role("button", name="Zoom out").click()
    opened.expect_view(lambda view: view[2] == pytest.approx(place[2] - 0.7, abs=1e-4))
    opened.page.get_by_role("button", name="Zoom to Brooklyn").click()
    opened.expect_view(lambda view: view == place)


def test_the_tooltip_shows_numbers_with_their_errors_and_markup_as_text(open_map: Open):
    opened = open_map("devices=300000")
    opened.page.mouse.move(*opened.point_in(1, 0.15, 0.3))
    tooltip = opened.page.locator(".tooltip")
    expect(tooltip).to_be_visible()
    text = tooltip.inner_text()
    assert re.search(r"Estimate\s+−?[\d,]+ ±[\d,]+ devices", text)
    assert re.search(r"Error\s+[+−][\d,]+ devices", text)
    assert "Not published: below the floor <b>" in text
    opened.expect_outlined(CELL.pattern.strip("^$"), "none")
    opened.leave()
    opened.expect_outlined("none", "none")
    expect(tooltip).to_be_hidden()


def test_fast_moves_draw_the_last_one_and_no_queue(open_map: Open):
    opened = open_map()
    opened.nudge_slider(25)
    expect(opened.sent).to_have_attribute("data-epsilon", "4.5", timeout=15_000)
    opened.wait()
    marks = opened.page.evaluate(
        "() => performance.getEntriesByType('mark').filter((m) => m.name.startsWith('hex-map:'))"
        ".map((m) => [m.name, m.detail])"
    )
    painted = [detail for name, detail in marks if name == "hex-map:painted"]
    assert painted[-1] == opened.sent.get_attribute("data-version")
    assert len(painted) == len(set(painted)) <= len([name for name, _ in marks if name == "hex-map:received"])


KEEP_CONTEXTS = """
window.contexts = [];
const make = HTMLCanvasElement.prototype.getContext;
HTMLCanvasElement.prototype.getContext = function (kind, ...rest) {
  const context = make.call(this, kind, ...rest);
  if (kind === 'webgl2' && context && !window.contexts.includes(context)) window.contexts.push(context);
  return context;
};
"""


def test_leaving_and_coming_back_keeps_the_view_and_gives_every_context_back(open_map: Open):
    opened = open_map(prepare=lambda page: page.add_init_script(KEEP_CONTEXTS))
    fitted = opened.view()
    opened.page.get_by_role("button", name="Zoom in").click()
    view = opened.expect_view(lambda view: view[2] > fitted[2])
    for _ in range(3):
        opened.page.get_by_role("link", name="Other").click()
        expect(opened.page.get_by_text("The other page.")).to_be_visible()
        expect(opened.root).to_have_count(0)
        opened.page.get_by_role("link", name="Map").click()
        expect(opened.root).to_have_count(1)
        opened.wait()
    opened.expect_view(lambda drawn: drawn == view)
    expect(opened.page.locator(".atlas-map canvas")).to_have_count(1)
    assert distinct(opened.pixels()) > 25
    lost = opened.page.evaluate("window.contexts.map((context) => context.isContextLost())")
    assert lost.count(False) == 1, "browsers allow about sixteen at a time"
    assert len(lost) >= 4


def test_a_lost_context_is_drawn_again(open_map: Open):
    opened = open_map()
    opened.page.locator(".atlas-map canvas").evaluate(
        "(canvas) => canvas.getContext('webgl2').getExtension('WEBGL_lose_context').loseContext()"
    )
    opened.page.wait_for_timeout(1500)
    assert distinct(opened.pixels()) > 25


NO_WEBGL = """
const real = HTMLCanvasElement.prototype.getContext;
HTMLCanvasElement.prototype.getContext = function (kind, ...rest) {
  return String(kind).startsWith('webgl') ? null : real.call(this, kind, ...rest);
};
"""


@pytest.mark.parametrize(
    ("prepare", "words"),
    [
        (
            lambda page: page.route("**/deck-*.js", lambda route: route.abort()),
            "its library did not load from",
        ),
        (
            lambda page: page.route("**/deck-*.js", lambda route: route.fulfill(body="1")),
            "its library did not load",
        ),
        (lambda page: page.add_init_script(NO_WEBGL), "WebGL 2 is off or not supported"),
        (
            lambda page: page.route("**/hex_map.js", lambda route: route.abort()),
            "The map could not be loaded",
        ),
    ],
    ids=["no bundle", "wrong bundle", "no webgl", "no static files"],
)
def test_what_cannot_be_drawn_says_why_and_what_to_do(open_map: Open, prepare: Callable, words: str):
    opened = open_map(prepare=prepare, painted=False)
    alert = opened.page.get_by_role("alert").filter(has_text=words)
    expect(alert).to_be_visible(timeout=20_000)


def test_missing_land_leaves_the_cells_and_says_so(open_map: Open):
    opened = open_map(prepare=lambda page: page.route("**/land/*", lambda route: route.fulfill(status=404)))
    assert distinct(opened.pixels()) > 25
    expect(opened.page.locator(".attribution")).to_contain_text("The coastline could not be loaded.")


def test_no_cells_is_a_sentence_and_not_an_empty_sea(open_map: Open):
    opened = open_map("empty=1")
    expect(opened.page.locator(".message")).to_have_text(re.compile("There is no cell to draw"))


def test_a_phone_shows_one_panel_and_a_switch(open_map: Open):
    opened = open_map(width=390, height=1000)
    group = opened.page.get_by_role("group", name="Which map to show")
    expect(group.get_by_role("button")).to_have_count(3)
    expect(group.get_by_role("button", name="Truth")).to_have_attribute("aria-pressed", "true")
    truth = opened.pixels()
    group.get_by_role("button", name="Error").click()
    opened.page.wait_for_timeout(400)
    expect(group.get_by_role("button", name="Error")).to_have_attribute("aria-pressed", "true")
    assert (truth != opened.pixels()).any(axis=-1).mean() > 0.1
    assert opened.stage.bounding_box()["width"] > 340
    # No sideways scrolling, and nothing of the map outside the screen.
    assert opened.page.evaluate("document.documentElement.scrollWidth") <= 390


def test_turning_the_phone_brings_three_panels(open_map: Open):
    opened = open_map(width=390, height=900)
    opened.page.set_viewport_size({"width": 1200, "height": 900})
    expect(opened.page.locator(".title")).to_have_count(3)
    opened.page.wait_for_timeout(500)
    for panel in np.array_split(opened.pixels(), 3, axis=1):
        assert distinct(panel) > 10


def test_the_dark_map_is_dark_and_its_words_are_light(open_map: Open):
    opened = open_map("dark=1", color_scheme="dark")
    assert opened.pixels().mean() < 90
    colour = opened.page.locator(".title strong").first.evaluate("(node) => getComputedStyle(node).color")
    assert colour == "rgb(232, 238, 242)"


def test_online_tiles_are_asked_for_only_when_given(open_map: Open):
    asked: list[str] = []

    def answer(page: Page) -> None:
        page.route("https://tiles.example/**", lambda route: (asked.append(route.request.url), route.abort()))

    open_map("tiles=https://tiles.example/{z}/{x}/{y}.png", prepare=answer).page.wait_for_timeout(500)
    assert asked
    assert all(re.fullmatch(r"https://tiles\.example/\d+/\d+/\d+\.png", url) for url in asked)


def test_a_base_path_and_a_deep_page_find_their_files(open_map: Open, serve: Callable[..., Server]):
    opened = open_map(server=serve(APPS / "map_app.py", "--server.baseUrlPath", "some/where"))
    assert distinct(opened.pixels()) > 25


@pytest.mark.parametrize(("query", "width"), [("", 1440), ("dark=1", 1440), ("", 390)])
def test_the_map_has_no_finding_of_axe(open_map: Open, query: str, width: int):
    scheme = "dark" if "dark" in query else "light"
    opened = open_map(query, width=width, color_scheme=scheme)
    results = Axe().run(
        opened.page, context=".stBidiComponent, [data-testid=legend]", options={"resultTypes": ["violations"]}
    )
    found = [(v["id"], [node["html"][:120] for node in v["nodes"]]) for v in results.response["violations"]]
    assert found == []


def test_until_its_style_has_come_the_map_is_one_sentence(open_map: Open) -> None:
    held: list[Route] = []

    def hold(route: Route) -> None:  # Playwright takes no built-in method
        held.append(route)

    opened = open_map(prepare=lambda page: page.route("**/hex_map.css*", hold), painted=False)
    expect(opened.page.locator(".atlas-map")).to_be_attached(timeout=30_000)
    opened.page.wait_for_timeout(1_000)
    assert held
    for part in (".controls button", ".attribution", ".unseen"):
        expect(opened.page.locator(f".atlas-map {part}").first).to_be_hidden()
    for route in held:
        route.continue_()
    opened.wait()
    expect(opened.page.locator(".atlas-map .controls button").first).to_be_visible()
    expect(opened.page.locator(".attribution")).to_be_visible()
    assert distinct(opened.pixels()) > 25
