// The layer that draws the cells of one panel: colour, hairline and hatching in one pass.
//
// deck.gl's own hexagons are instances of one shape, and go through its projection code for every
// corner of every cell at every frame. A machine without a graphics card feels both: half a second
// for three panels of 2,400 cells. The map is flat and north is up, so here the projection is one multiplication and one
// addition, worked out in double precision once per panel.
//
// A cell that is not published is filled with the colour of the land and crossed by lines at 45
// degrees, computed for each pixel: no geometry, so 15,000 hatched cells cost what 15,000 plain
// ones do. The lines run through neighbouring cells without a seam, keep their distance in pixels
// at every zoom, and move with the map because they are counted from a fixed place on it.

import { CORNERS } from "./cells.js";

const HATCH_PERIOD_PIXELS = 7; // from line to line, measured across them
const HATCH_LINE_PIXELS = 1.3;
const WEIGHT_PIXELS = 1.1; // what each step of a group's weight adds to its outline
const GRID_IN_HATCH_PIXELS = 8; // smaller cells (to their sides) are hatched without a hairline, which would only blur

const uniforms = `\
layout(std140) uniform cellsUniforms {
  vec4 grid;
  vec4 hatch;
  vec4 ground;
  vec4 outline;
  vec2 scale;
  vec2 origin;
  vec2 hatchOrigin;
  float apothem;
  float period;
  float lineWidth;
  float gridInk;
  float hatchGridInk;
  float weightWidth;
} cells;
`;

const cellsModule = {
  name: "cells",
  vs: uniforms,
  fs: uniforms,
  uniformTypes: {
    grid: "vec4<f32>",
    hatch: "vec4<f32>",
    ground: "vec4<f32>",
    outline: "vec4<f32>",
    scale: "vec2<f32>",
    origin: "vec2<f32>",
    hatchOrigin: "vec2<f32>",
    apothem: "f32",
    period: "f32",
    lineWidth: "f32",
    gridInk: "f32",
    hatchGridInk: "f32",
    weightWidth: "f32",
  },
};

// The third number of a place is 0 on the sides of a cell and 1 in its middle, so times the apothem it
// is the distance to the nearest side.
const vs = `#version 300 es
in vec3 place;
in vec4 paint;
flat out vec4 vPaint;
out float vInner;

void main() {
  gl_Position = vec4(place.xy * cells.scale + cells.origin, 0.0, 1.0);
  vPaint = paint;
  vInner = place.z;
}
`;

const fs = `#version 300 es
precision highp float;
flat in vec4 vPaint;
in float vInner;
out vec4 fragColor;

void main() {
  vec3 colour = vPaint.rgb;
  float gridInk = cells.gridInk;
  float code = floor(vPaint.a * 255.0 + 0.5);
  float weight = mod(code, 128.0);
  if (code < 128.0) {
    vec2 place = gl_FragCoord.xy - cells.hatchOrigin;
    float across = (place.x - place.y) * 0.70710678;
    float away = abs(mod(across, cells.period) - 0.5 * cells.period);
    float ink = 1.0 - smoothstep(0.5 * cells.lineWidth - 0.5, 0.5 * cells.lineWidth + 0.5, away);
    colour = mix(cells.ground.rgb, cells.hatch.rgb, ink);
    gridInk = cells.hatchGridInk;
  }
  // Half of each line lies in this cell and half in its neighbour: no line inside a group, a hairline
  // around plain cells, a wider and darker one around groups.
  float away = vInner * cells.apothem;
  if (weight > 1.5) {
    float reach = 0.5 * (weight - 1.0) * cells.weightWidth;
    colour = mix(colour, cells.outline.rgb, clamp(reach + 0.5 - away, 0.0, 1.0));
  } else {
    colour = mix(colour, cells.grid.rgb, clamp(1.0 - away, 0.0, 1.0) * gridInk * weight);
  }
  fragColor = vec4(colour, 1.0);
}
`;

export function createCellLayer(deck, luma) {
  class CellLayer extends deck.Layer {
    getShaders() {
      return super.getShaders({ vs, fs, modules: [cellsModule] });
    }

    initializeState() {
      this.setState({ buffers: {} });
    }

    updateState({ props, oldProps }) {
      const { cells, paint } = props;
      const { buffers } = this.state;
      if (cells !== oldProps.cells || !this.state.model) {
        cells.build((at) => props.getPolygon(props.data[at], { index: at }));
        const { vertices, indices } = cells.mesh();
        this.replace("place", vertices);
        this.replace("paint", colours(paint, cells));
        this.replace("fans", indices, luma.Buffer.INDEX);
        this.state.model?.destroy();
        this.setState({ model: this.createModel(buffers, indices.length) });
      } else if (paint !== oldProps.paint) {
        buffers.paint.write(colours(paint, cells));
      }
    }

    replace(name, data, usage = luma.Buffer.VERTEX) {
      const { buffers } = this.state;
      buffers[name]?.destroy();
      buffers[name] = this.context.device.createBuffer({ id: `${this.id}-${name}`, data, usage });
    }

    createModel({ place, paint, fans }, vertexCount) {
      return new luma.Model(this.context.device, {
        ...this.getShaders(),
        id: this.id,
        topology: "triangle-list",
        vertexCount,
        indexBuffer: fans,
        bufferLayout: [
          { name: "place", format: "float32x3" },
          { name: "paint", format: "unorm8x4" },
        ],
        attributes: { place, paint },
      });
    }

    draw({ renderPass }) {
      const { viewport, device } = this.context;
      const { cells, look } = this.props;
      const { model } = this.state;
      const ratio = device.canvasContext.cssToDeviceRatio();
      const height = device.canvasContext.getDrawingBufferSize()[1];
      // From common space to clip space. There is no pitch, so the fourth component is constant.
      const m = viewport.viewProjectionMatrix;
      const [x, y] = cells.origin;
      const w = m[3] * x + m[7] * y + m[15];
      const origin = [(m[0] * x + m[4] * y + m[12]) / w, (m[1] * x + m[5] * y + m[13]) / w];
      const apothem = cells.apothem * viewport.scale * ratio;
      const period = HATCH_PERIOD_PIXELS * ratio;
      // Along either axis the pattern repeats after this many pixels; the remainder keeps the
      // numbers small enough for the shader when the first cell is far off screen.
      const repeat = period * Math.SQRT2;
      // On very small cells a full hairline would be all one sees.
      const gridInk = Math.min(1, Math.max(0.35, (apothem / ratio - 1) / 2.5));
      model.shaderInputs.setProps({
        cells: {
          ...look,
          scale: [m[0] / w, m[5] / w],
          origin,
          hatchOrigin: [
            ((viewport.x + ((origin[0] + 1) / 2) * viewport.width) * ratio) % repeat,
            (height - (viewport.y + ((1 - origin[1]) / 2) * viewport.height) * ratio) % repeat,
          ],
          apothem,
          period,
          lineWidth: HATCH_LINE_PIXELS * ratio,
          gridInk,
          hatchGridInk: apothem / ratio < GRID_IN_HATCH_PIXELS ? 0 : gridInk,
          weightWidth: WEIGHT_PIXELS * ratio * Math.min(1, Math.max(0.4, apothem / ratio / 4)),
        },
      });
      model.draw(renderPass);
    }

    finalizeState(context) {
      super.finalizeState(context);
      for (const buffer of Object.values(this.state.buffers)) buffer.destroy();
    }
  }
  CellLayer.layerName = "CellLayer";
  CellLayer.defaultProps = {
    cells: { type: "object", value: null },
    paint: { type: "object", value: null },
    look: { type: "object", value: null, compare: 2 },
    getPolygon: { type: "accessor", value: null },
  };
  return CellLayer;
}

// Four bytes for each corner and the middle of each cell. The last byte tells the shader whether the
// cell is published (128) and how a side is drawn: 0 not at all, 1 as a hairline, more as an outline.
// A triangle takes the bytes of its last corner, so those of corner k + 1 belong to side k alone.
function colours({ index, ramp, hatched, groups, weights }, cells) {
  const count = cells.names.length;
  const beyond = groups ? cells.sides() : null;
  const perCell = CORNERS + 1;
  const bytes = new Uint8Array(4 * perCell * count);
  const words = new Uint32Array(bytes.buffer);
  const one = new Uint8Array(4);
  const word = new Uint32Array(one.buffer);
  for (let cell = 0; cell < count; cell++) {
    const published = hatched && (hatched[cell >> 3] >> (cell & 7)) & 1 ? 0 : 128;
    one.set(ramp.subarray(4 * index[cell], 4 * index[cell] + 3));
    one[3] = published + 1;
    words.fill(word[0], perCell * cell, perCell * (cell + 1));
    if (!groups) continue;
    for (let side = 0; side < CORNERS; side++) {
      const other = beyond[CORNERS * cell + side];
      let weight = weights[cell];
      if (other >= 0) weight = groups[other] === groups[cell] ? -1 : Math.max(weight, weights[other]);
      bytes[4 * (perCell * cell + ((side + 1) % CORNERS)) + 3] = published + weight + 1;
    }
  }
  return bytes;
}
