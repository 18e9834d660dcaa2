// The browser half of the compare map: up to three panels, one canvas, one shared view.
//
// Python sends a whole update at every rerun. `receive` keeps only the newest and draws it at the
// next frame, so a fast slider never leaves a queue of stale pictures behind it.

import { createCellLayer } from "./cell_layer.js";
import { Cells } from "./cells.js";
import { createFrame, drawTitles, hideTooltip, say, showTooltip } from "./frame.js";
import { buildLayers, layerFilter } from "./layers.js";
import { hasWebGL, loadDeck, loadLand, loadStyle } from "./load.js";
import { writeNumber } from "./numbers.js";
import { cellNames, sameBytes, unpack } from "./payload.js";

const NARROW_PIXELS = 640;
const PAN_PIXELS = 60;
const ZOOM_LIMITS = { minZoom: 1, maxZoom: 17 };
const CELL_NAME = /^8[0-9a-f]{14}$/;

// View and chosen panel of each map by its key. They outlive the map, so that going to another
// page and back shows the place one left.
const kept = new Map();

class HexMap {
  constructor(parent) {
    this.parent = parent;
    this.model = null; // the update on screen
    this.pending = null; // the newest update, not drawn yet
    this.frameRequested = false;
    this.cells = new Cells(null, []);
    this.drawn = new Map(); // panel id -> the bytes its colours were last made from
    this.viewState = null;
    this.selected = null;
    this.hovered = -1;
    this.pointer = null;
    this.land = null;
    this.contextLosses = 0;
    this.frame = createFrame({
      zoomBy: (step) => this.zoomBy(step),
      fit: () => this.fit(),
      click: (x, y) => this.togglePinAt(x, y),
      hover: (x, y) => this.hover(x, y),
      keys: {
        ArrowLeft: () => this.panBy(-PAN_PIXELS, 0),
        ArrowRight: () => this.panBy(PAN_PIXELS, 0),
        ArrowUp: () => this.panBy(0, -PAN_PIXELS),
        ArrowDown: () => this.panBy(0, PAN_PIXELS),
        "+": () => this.zoomBy(0.7),
        "=": () => this.zoomBy(0.7),
        "-": () => this.zoomBy(-0.7),
        0: () => this.fit(),
        Enter: () => this.pinCentre(),
        Escape: () => this.pin(null),
      },
    });
    parent.append(this.frame.root);
    this.resizes = new ResizeObserver(() => this.resized());
    this.resizes.observe(this.frame.stage);
    loadStyle().then(
      (text) => (this.frame.style.textContent = text),
      () => (this.frame.style.textContent = ""), // a map without style is still one with buttons
    );
  }

  // --- updates ---------------------------------------------------------------------------------

  receive(bytes, setStateValue) {
    this.setStateValue = setStateValue;
    this.pending = unpack(bytes);
    performance.mark("hex-map:received", { detail: this.pending.version });
    this.requestFrame();
  }

  requestFrame() {
    if (this.frameRequested || this.destroyed) return;
    this.frameRequested = true;
    requestAnimationFrame(() => {
      this.frameRequested = false;
      if (this.destroyed) return;
      try {
        this.update();
      } catch (error) {
        this.fail(error);
      }
    });
  }

  update() {
    if (this.pending) {
      const model = this.pending;
      this.pending = null;
      this.adopt(model);
    }
    if (!this.model) return;
    if (!this.lib) {
      this.start();
      return;
    }
    this.drawAll();
    performance.mark("hex-map:applied", { detail: this.model.version });
  }

  // Take over what an update says, and remember which parts of it are new.
  adopt(model) {
    const { arrays } = model;
    this.model = model;
    this.tokens = model.tokens;
    const { root, stage, attribution, fit } = this.frame;
    for (const [name, colour] of Object.entries(model.tokens)) root.style.setProperty(`--map-${name}`, colour);
    this.setHeight();
    stage.setAttribute("aria-label", `Map: ${model.panels.map(({ title }) => title).join(", ")}`);
    attribution.textContent = model.attribution;
    attribution.hidden = model.attribution === "";
    for (const name of ["aria-label", "title"]) fit.setAttribute(name, `Zoom to ${model.place}`);

    if (model.domain !== this.cells.version || model.size !== this.cells.names.length) {
      this.cells = new Cells(model.domain, cellNames(arrays.cells));
      this.cells.whenReady = () => this.requestFrame(); // for outlines that waited for it
      this.hovered = -1;
      hideTooltip(this.frame);
    }
    for (const panel of model.panels) this.adoptColours(panel, arrays);
    this.adoptLand(model);
    this.adoptSelection(model.selected);
    this.memory = kept.get(model.key) ?? {};
    kept.set(model.key, this.memory);
    if (!model.panels.some(({ id }) => id === this.memory.panel)) this.memory.panel = model.panels[0].id;
    if (this.memory.viewKey !== model.viewKey) {
      this.memory.viewKey = model.viewKey;
      this.memory.view = null;
    }
    this.viewState = this.memory.view ?? null;
  }

  // A panel whose bytes did not change keeps its version, and deck.gl leaves its colours alone.
  adoptColours(panel, arrays) {
    const at = this.model.panels.indexOf(panel);
    const index = arrays[`index${at}`];
    const ramp = arrays[`ramp${panel.ramp}`];
    const hatched = panel.hatch ? (arrays[`hatched${at}`] ?? arrays.hatched) : undefined;
    const [groups, weights] = [arrays[`group${at}`], arrays[`weight${at}`]];
    const old = this.drawn.get(panel.id);
    const same =
      old &&
      sameBytes(old.index, index) &&
      sameBytes(old.ramp, ramp) &&
      sameBytes(old.hatched, hatched) &&
      sameBytes(old.groups, groups) &&
      sameBytes(old.weights, weights);
    if (!same) {
      this.drawn.set(panel.id, { index, ramp, hatched, groups, weights, version: (old?.version ?? 0) + 1 });
    }
  }

  adoptLand(model) {
    if (model.land) {
      // Sent anew with every update; the first copy is kept as long as it says the same.
      const text = JSON.stringify(model.land);
      if (text !== this.landSource) this.land = model.land;
      this.landSource = text;
      this.frame.root.dataset.land = "ready";
      return;
    }
    if (model.landUrl === this.landSource) return;
    this.landSource = model.landUrl;
    this.land = null;
    if (!model.landUrl) return;
    this.frame.root.dataset.land = "loading";
    loadLand(model.landUrl).then(
      (land) => {
        if (this.landSource !== model.landUrl) return;
        this.land = land;
        this.frame.root.dataset.land = "ready";
        this.requestFrame();
      },
      () => {
        this.landSource = undefined; // the next update tries again
        this.frame.root.dataset.land = "failed";
        this.frame.attribution.hidden = false;
        this.frame.attribution.textContent = "The coastline could not be loaded. " + model.attribution;
      },
    );
  }

  // Python repeats the pin with every update. An update that was under way when the user clicked
  // still carries the old one; it must not undo the click.
  adoptSelection(said) {
    if (said === this.saidByPython) return;
    this.saidByPython = said;
    const waiting = this.clicked && performance.now() < this.clicked.until;
    if (waiting && said !== this.clicked.name) return;
    this.clicked = null;
    this.selected = said && CELL_NAME.test(said) ? said : null;
  }

  // --- deck.gl ---------------------------------------------------------------------------------

  start() {
    if (this.starting) return;
    if (!hasWebGL()) {
      this.fail(
        "This browser cannot draw the map: WebGL 2 is off or not supported. The table below the map " +
          "holds the same numbers. To see the map, turn on hardware acceleration in the browser's settings.",
      );
      return;
    }
    this.starting = loadDeck(this.model.deck).then(
      (lib) => {
        this.lib = lib;
        this.CellLayer = createCellLayer(lib, window.luma);
        this.requestFrame();
      },
      () => {
        this.starting = null;
        this.fail(
          `The map could not be drawn: its library did not load from ${this.model.deck}. ` +
            "Run `make` to put it there, then reload the page. The table below the map holds the same numbers.",
        );
      },
    );
  }

  drawAll() {
    this.setHeight();
    const { stage } = this.frame;
    const { model } = this;
    const narrow = this.frame.root.clientWidth < NARROW_PIXELS && model.panels.length > 1;
    this.narrow = narrow;
    drawTitles(this.frame, model.panels, {
      narrow,
      active: this.memory.panel,
      choose: (id) => {
        this.memory.panel = id;
        this.requestFrame();
      },
    });
    this.frame.crosshair.style.left = `${50 / this.visiblePanels().length}%`;
    if (stage.clientWidth === 0) return; // in a closed tab or expander; `resized` comes back
    if (!this.viewState) this.setView(this.fittedView(), { byUser: false, draw: false });
    if (this.cells.names.length === 0) {
      say(this.frame, "empty", "There is no cell to draw: no part of a cell lies in this area.");
      this.frame.root.dataset.painted = model.version;
    } else {
      say(this.frame, "ready", "");
    }

    const panels = this.visiblePanels();
    const props = {
      views: panels.map(
        ({ id }, at) =>
          new this.lib.MapView({
            id,
            x: `${(100 * at) / panels.length}%`,
            width: `${100 / panels.length}%`,
            repeat: true, // an area on either side of the date line
            controller: {
              dragRotate: false,
              touchRotate: false,
              keyboard: false, // the stage has its own, which works for all panels at once
              doubleClickZoom: false, // it would hold every click back to see whether a second comes
              inertia: matchMedia("(prefers-reduced-motion: reduce)").matches ? false : 200,
            },
          }),
      ),
      viewState: this.viewState,
      layers: buildLayers(this.lib, this.CellLayer, this),
    };
    if (this.deck) this.deck.setProps(props);
    else this.createDeck(props);
    // Draw now and not at deck.gl's own next frame, which may be one later. Without a reason it
    // draws only if something changed, and does not draw again.
    if (this.deck.isInitialized) this.deck.redraw();
  }

  createDeck(props) {
    this.deck = new this.lib.Deck({
      parent: this.frame.canvas,
      width: "100%",
      height: "100%",
      useDevicePixels: Math.min(window.devicePixelRatio || 1, 2),
      pickingRadius: 2,
      layerFilter,
      getCursor: ({ isDragging }) => (isDragging ? "grabbing" : this.hovered >= 0 ? "pointer" : "grab"),
      // Nothing is read back and nothing is kept between frames: a copy of the canvas per frame saved.
      deviceProps: { webgl: { preserveDrawingBuffer: false } },
      onViewStateChange: ({ viewState }) => this.setView(viewState),
      onAfterRender: () => this.painted(),
      onError: (error) => this.fail(error),
      ...props,
    });
  }

  // Tests and benchmarks wait for these marks: what is on the canvas now.
  painted() {
    const { root, canvas } = this.frame;
    const { latitude, longitude, zoom } = this.viewState;
    root.dataset.view = [latitude, longitude, zoom].map((part) => part.toFixed(5)).join(" ");
    root.dataset.outlined = [this.cells.names[this.hovered], this.selected].map((name) => name ?? "none").join(" ");
    if (!this.watchedCanvas) {
      this.watchedCanvas = canvas.querySelector("canvas");
      if (this.watchedCanvas) this.watchedCanvas.tabIndex = -1; // the stage takes the keys
      this.watchedCanvas?.addEventListener("webglcontextlost", () => this.contextLost());
    }
    if (!this.model || root.dataset.painted === this.model.version) return;
    root.dataset.painted = this.model.version;
    performance.mark("hex-map:painted", { detail: this.model.version });
  }

  contextLost() {
    if (this.destroyed) return;
    this.dropDeck();
    this.contextLosses += 1;
    if (this.contextLosses <= 3) this.requestFrame();
    else this.fail("The browser took the map's drawing memory away several times. Reload the page to see it again.");
  }

  fail(reason) {
    const text = typeof reason === "string" ? reason : `The map could not be drawn: ${reason.message ?? reason}`;
    if (typeof reason !== "string") console.error("hex map:", reason);
    say(this.frame, "failed", text);
  }

  // --- view ------------------------------------------------------------------------------------

  visiblePanels() {
    const { panels } = this.model;
    return this.narrow ? panels.filter(({ id }) => id === this.memory.panel) : panels;
  }

  panelSize() {
    const { stage } = this.frame;
    return { width: stage.clientWidth / this.visiblePanels().length, height: stage.clientHeight };
  }

  fittedView() {
    const { width, height } = this.panelSize();
    const [west, south, east, north] = this.model.bounds;
    const corners = [
      [west, south],
      [east < west ? east + 360 : east, north], // across the date line
    ];
    const padding = Math.min(16, width / 8, height / 8);
    const { longitude, latitude, zoom } = new this.lib.WebMercatorViewport({ width, height }).fitBounds(corners, {
      padding,
    });
    return { longitude, latitude, zoom, pitch: 0, bearing: 0, ...ZOOM_LIMITS };
  }

  setView({ longitude, latitude, zoom }, { byUser = true, draw = true } = {}) {
    const within = Math.min(ZOOM_LIMITS.maxZoom, Math.max(ZOOM_LIMITS.minZoom, zoom));
    this.viewState = { longitude, latitude, zoom: within, pitch: 0, bearing: 0, ...ZOOM_LIMITS };
    this.memory.view = this.viewState;
    this.memory.moved = byUser;
    hideTooltip(this.frame);
    // Through the frame loop, so that a fast wheel draws the last of its steps only.
    if (draw) this.requestFrame();
  }

  fit() {
    if (this.lib && this.model) this.setView(this.fittedView(), { byUser: false });
  }

  zoomBy(step) {
    if (this.viewState) this.setView({ ...this.viewState, zoom: this.viewState.zoom + step });
  }

  panBy(right, down) {
    if (!this.viewState || !this.lib) return;
    const { width, height } = this.panelSize();
    const viewport = new this.lib.WebMercatorViewport({ ...this.viewState, width, height });
    const [longitude, latitude] = viewport.unproject([width / 2 + right, height / 2 + down]);
    this.setView({ ...this.viewState, longitude, latitude });
  }

  // A narrow panel is not made tall: its map would lie in a column of water.
  setHeight() {
    const panels = this.narrow ? 1 : this.model.panels.length;
    this.frame.stage.style.height = `min(${this.model.height}px, max(260px, ${Math.round(125 / panels)}cqw))`;
  }

  resized() {
    if (!this.model || !this.lib) return;
    const wasNarrow = this.narrow;
    this.narrow = this.frame.root.clientWidth < NARROW_PIXELS && this.model.panels.length > 1;
    this.setHeight();
    // A view nobody chose is fitted to the new size; one that somebody chose stays.
    if (this.viewState && !this.memory.moved && this.frame.stage.clientWidth > 0) {
      this.setView(this.fittedView(), { byUser: false });
    }
    if (wasNarrow !== this.narrow || !this.deck) this.requestFrame();
  }

  // --- pointer and keys ------------------------------------------------------------------------

  // The cell under a point of the stage, or -1. Found by arithmetic: deck.gl would draw all cells
  // once more and read a pixel back.
  cellAt(x, y) {
    if (!this.viewState || !this.lib) return -1;
    const { width, height } = this.panelSize();
    const viewport = new this.lib.WebMercatorViewport({ ...this.viewState, width, height });
    return this.cells.find(viewport.unproject([x % width, y]));
  }

  hover(x, y) {
    const first = this.pointer === null;
    this.pointer = [x, y];
    if (!first) return;
    requestAnimationFrame(() => {
      const [left, top] = this.pointer ?? [-1, -1];
      this.pointer = null;
      const at = left < 0 || this.destroyed || !this.model ? -1 : this.cellAt(left, top);
      if (at < 0) hideTooltip(this.frame);
      else showTooltip(this.frame, this.describe(at), left, top);
      if (at === this.hovered) return;
      this.hovered = at;
      this.requestFrame();
    });
  }

  // Pins the cell at a point of the stage, or unpins it when it was pinned; tells whether there is one.
  togglePinAt(x, y) {
    const name = this.cells.names[this.cellAt(x, y)];
    if (name === undefined) return false;
    this.pin(name === this.selected ? null : name);
    return true;
  }

  pinCentre() {
    const { width, height } = this.panelSize();
    if (!this.togglePinAt(width / 2, height / 2)) this.frame.news.textContent = "No cell in the middle of the map.";
  }

  pin(name) {
    if (name === this.selected) return;
    this.selected = name;
    this.clicked = { name, until: performance.now() + 5000 };
    this.setStateValue("selected", name);
    this.frame.news.textContent = name === null ? "Unpinned." : `Pinned. ${this.inWords(name)}`;
    this.requestFrame();
  }

  describe(at) {
    const { arrays, columns, statusLabels } = this.model;
    const lines = columns.flatMap(({ label, unit, signed, optional }, number) => {
      const value = arrays[`value${number}`][at];
      if (optional && Number.isNaN(value)) return [];
      return [[label, writeNumber(value, { error: arrays[`error${number}`]?.[at], unit, signed })]];
    });
    return { name: this.cells.names[at], lines, status: statusLabels[arrays.status?.[at]] ?? "" };
  }

  inWords(name) {
    const at = this.cells.places.get(name);
    if (at === undefined) return name;
    const { lines, status } = this.describe(at);
    return [`Cell ${name}`, ...lines.map(([label, text]) => `${label}: ${text}`), status].filter(Boolean).join(". ");
  }

  // --- end -------------------------------------------------------------------------------------

  dropDeck() {
    if (!this.deck) return;
    const canvas = this.frame.canvas.querySelector("canvas");
    const context = canvas?.getContext("webgl2");
    const { deck } = this;
    this.deck = null;
    this.watchedCanvas = null;
    deck.finalize();
    // Browsers allow about sixteen live contexts and free them late; this one is given back now.
    context?.getExtension("WEBGL_lose_context")?.loseContext();
    this.frame.canvas.replaceChildren();
  }

  destroy() {
    this.destroyed = true;
    this.resizes.disconnect();
    this.dropDeck();
    this.frame.root.remove();
  }
}

const maps = new WeakMap();

export default function mount({ data, parentElement, setStateValue }) {
  let map = maps.get(parentElement);
  if (!map) {
    map = new HexMap(parentElement);
    maps.set(parentElement, map);
  }
  map.receive(data, setStateValue);
  return () => {
    // Streamlit also calls this for an update that a newer one overtook while it was loading; the
    // map then goes on. It has ended when its element has left the page.
    setTimeout(() => {
      if (parentElement.isConnected || maps.get(parentElement) !== map) return;
      maps.delete(parentElement);
      map.destroy();
    }, 0);
  };
}
