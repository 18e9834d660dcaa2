// What deck.gl draws. One set of layers for all panels: land, the hairline grid and the outlines
// are drawn by the same layer in every panel, and only the fills are one layer per panel. Every
// layer's data keeps its identity as long as it is the same, so deck.gl rebuilds only what moved.

import { isHatched } from "./payload.js";

export const GRID_LAYER = "shared-grid";

export function rgb(colour) {
  return [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
}

const unit = (colour) => [...rgb(colour).map((channel) => channel / 255), 1];

// Shared layers are drawn in every panel, the others in the panel whose id they carry.
export function layerFilter({ layer, viewport }) {
  return layer.id.startsWith("shared-") || layer.id.startsWith(`${viewport.id}-`);
}

// Share of a hexagon that its colour fills; the rest shows the grid. The gap is about one pixel at
// every zoom, within limits: none would hide cells near zero, much would pale the colours.
function pixelsAcross(zoom, metersAcross, latitude) {
  const metersPerPixel = (78271.517 * Math.cos((latitude * Math.PI) / 180)) / 2 ** zoom;
  return metersAcross / metersPerPixel;
}

function coverageOf(pixels) {
  const coverage = Math.min(0.985, Math.max(0.86, 1 - 1 / pixels));
  return Math.round(coverage * 100) / 100; // in steps, so that a scroll does not change it each frame
}

const GRID_IN_HATCH_PIXELS = 18;

// Mean distance between opposite sides of an H3 cell.
const METERS_ACROSS = [2215000, 837000, 316000, 119600, 45200, 17100, 6450, 2440, 922, 348, 132, 50, 19, 7, 3, 1];

export function buildLayers(deck, map) {
  const { model, domain, land, tokens, viewState, hatching, drawn } = map;
  const layers = [];
  if (land) {
    layers.push(
      new deck.GeoJsonLayer({
        id: "shared-land",
        data: land,
        filled: true,
        stroked: true,
        getFillColor: rgb(tokens.land),
        getLineColor: rgb(tokens.coast),
        getLineWidth: 1,
        lineWidthUnits: "pixels",
        updateTriggers: { getFillColor: tokens.land, getLineColor: tokens.coast },
      }),
    );
  }
  if (model.tiles) for (const panel of map.visiblePanels()) layers.push(tileLayer(deck, panel, model.tiles));
  if (domain.names.length === 0) return layers;

  const hexagons = {
    data: domain.names,
    getHexagon: (name) => name,
    // The shape of one cell in the middle stands for all: across a metropolis H3 cells differ by
    // less than a pixel, and exact outlines would cost a polygon each.
    highPrecision: false,
    centerHexagon: domain.names[domain.names.length >> 1],
    extruded: false,
    stroked: false,
  };
  layers.push(
    new deck.H3HexagonLayer({
      ...hexagons,
      id: GRID_LAYER,
      coverage: 1,
      getFillColor: rgb(tokens.grid),
      pickable: true,
      updateTriggers: { getFillColor: tokens.grid },
    }),
  );
  const pixels = pixelsAcross(viewState.zoom, METERS_ACROSS[domain.resolution], viewState.latitude);
  const coverage = coverageOf(pixels);
  for (const panel of map.visiblePanels()) {
    const { index, ramp, hatched, version } = drawn.get(panel.id);
    layers.push(
      new deck.H3HexagonLayer({
        ...hexagons,
        id: `${panel.id}-fill`,
        coverage,
        getFillColor: (_, { index: cell, target }) => {
          const at = 4 * index[cell];
          for (let channel = 0; channel < 4; channel++) target[channel] = ramp[at + channel];
          return target;
        },
        extensions: [hatching],
        getHatched: (_, { index: cell }) => (isHatched(hatched, cell) ? 1 : 0),
        hatchLine: unit(tokens.hatch),
        hatchGround: unit(tokens.land),
        // Where cells are small, a grid through the hatching would only blur it.
        hatchGrow: pixels < GRID_IN_HATCH_PIXELS ? 1 / coverage : 1,
        hatchAnchor: domain.anchor,
        updateTriggers: { getFillColor: version, getHatched: version },
      }),
    );
  }
  if (map.hovered !== null) layers.push(...outline(deck, "hover", domain.names[map.hovered], tokens, 1.5));
  // A pin from another resolution waits, unseen, until its resolution comes back.
  if (domain.places.has(map.selected)) layers.push(...outline(deck, "pin", map.selected, tokens, 3));
  return layers;
}

// Two lines, so that the outline stands out on the palest and on the darkest colour.
function outline(deck, id, name, tokens, width) {
  const line = (part, colour, pixels) =>
    new deck.H3HexagonLayer({
      id: `shared-${id}-${part}`,
      data: [name],
      getHexagon: (hexagon) => hexagon,
      highPrecision: true,
      filled: false,
      extruded: false,
      stroked: true,
      getLineColor: rgb(colour),
      getLineWidth: pixels,
      lineWidthUnits: "pixels",
      lineJointRounded: true,
      updateTriggers: { getLineColor: colour, getHexagon: name },
    });
  return [line("halo", tokens.panel, width + 3), line("line", tokens.text, width)];
}

function tileLayer(deck, panel, template) {
  return new deck.TileLayer({
    id: `${panel.id}-tiles`,
    data: template,
    tileSize: 256,
    maxZoom: 18,
    onTileError: () => {},
    renderSubLayers: (props) => {
      const { west, south, east, north } = props.tile.bbox;
      return new deck.BitmapLayer(props, { data: null, image: props.data, bounds: [west, south, east, north] });
    },
  });
}
