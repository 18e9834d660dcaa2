// What deck.gl draws. The land and the outlines are drawn by one layer in every panel; the cells
// are one layer per panel. Every layer's data keeps its identity as long as it is the same, so
// deck.gl rebuilds only what changed.

function rgb(colour) {
  return [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
}

const unit = (colour) => [...rgb(colour).map((channel) => channel / 255), 1];

// Shared layers are drawn in every panel, the others in the panel whose id they carry.
export function layerFilter({ layer, viewport }) {
  return layer.id.startsWith("shared-") || layer.id.startsWith(`${viewport.id}-`);
}

export function buildLayers(deck, CellLayer, map) {
  const { model, cells, land, tokens, drawn } = map;
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
  if (cells.names.length === 0) return layers;

  for (const panel of map.visiblePanels()) {
    layers.push(
      // deck.gl's layer knows how to turn the name of a cell into its corners; what draws them is ours.
      new deck.H3HexagonLayer({
        id: `${panel.id}-cells`,
        data: cells.names,
        getHexagon: (name) => name,
        highPrecision: true,
        // Everything lies on one plane and is drawn in order; the cells have no depth to compare.
        parameters: { depthCompare: "always", depthWriteEnabled: false },
        _subLayerProps: {
          "hexagon-cell-hifi": {
            type: CellLayer,
            cells,
            paint: drawn.get(panel.id),
            look: {
              grid: unit(tokens.grid),
              hatch: unit(tokens.hatch),
              ground: unit(tokens.land),
              // On dark cells the text's own colour would outshine what is drawn.
              outline: unit(model.dark ? tokens.quiet : tokens.text),
            },
          },
        },
      }),
    );
  }
  if (map.hovered >= 0) layers.push(...outline(deck, "hover", cells, map.hovered, tokens, 1.5));
  // A pin from another resolution waits, unseen, until its resolution comes back.
  const pinned = cells.places.get(map.selected);
  if (pinned !== undefined) layers.push(...outline(deck, "pin", cells, pinned, tokens, 3));
  return layers;
}

// Two lines, so that the outline stands out on the palest and on the darkest colour.
function outline(deck, id, cells, at, tokens, width) {
  if (!cells.ready) return []; // drawn as soon as it is, see Cells.whenReady
  const line = (part, colour, pixels) =>
    new deck.PathLayer({
      id: `shared-${id}-${part}`,
      data: [cells.outline(at)],
      getPath: (path) => path,
      getColor: rgb(colour),
      getWidth: pixels,
      widthUnits: "pixels",
      jointRounded: true,
      updateTriggers: { getColor: colour },
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
