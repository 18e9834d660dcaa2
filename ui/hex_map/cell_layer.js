// The layer that draws the cells of one panel: colour, hairline and hatching in one pass.
//
// deck.gl's own hexagons go through its projection code for every corner of every cell at every
// frame, which a machine without a graphics card feels: half a second for three panels of 2,400
// cells. The map is flat and north is up, so here the projection is one multiplication and one
// addition, worked out in double precision once per panel.
//
// A cell that is not published is filled with the colour of the land and crossed by lines at 45
// degrees, computed for each pixel: no geometry, so 15,000 hatched cells cost what 15,000 plain
// ones do. The lines run through neighbouring cells without a seam, keep their distance in pixels
// at every zoom, and move with the map because they are counted from a fixed place on it.

import { CORNERS } from "./cells.js";

const HATCH_PERIOD_PIXELS = 7; // from line to line, measured across them
const HATCH_LINE_PIXELS = 1.3;
const GRID_IN_HATCH_PIXELS = 8; // smaller cells (to their sides) are hatched without a hairline, which would only blur

const uniforms = `\
layout(std140) uniform cellsUniforms {
  vec4 grid;
  vec4 hatch;
  vec4 ground;
  vec2 scale;
  vec2 origin;
  vec2 hatchOrigin;
  float apothem;
  float period;
  float lineWidth;
  float gridInk;
  float hatchGridInk;
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
    scale: "vec2<f32>",
    origin: "vec2<f32>",
    hatchOrigin: "vec2<f32>",
    apothem: "f32",
    period: "f32",
    lineWidth: "f32",
    gridInk: "f32",
    hatchGridInk: "f32",
  },
};

// Corners 0 to 5 and, as 6, the middle. `vInner` is 0 on the sides and 1 in the middle, so times
// the apothem it is the distance to the nearest side.
const vs = `#version 300 es
in vec4 cornersA;
in vec4 cornersB;
in vec4 cornersC;
in vec4 paint;
flat out vec4 vPaint;
out float vInner;

void main() {
  vec2 place;
  switch (gl_VertexID) {
    case 0: place = cornersA.xy; break;
    case 1: place = cornersA.zw; break;
    case 2: place = cornersB.xy; break;
    case 3: place = cornersB.zw; break;
    case 4: place = cornersC.xy; break;
    case 5: place = cornersC.zw; break;
    default:
      place = (cornersA.xy + cornersA.zw + cornersB.xy + cornersB.zw + cornersC.xy + cornersC.zw) / 6.0;
  }
  gl_Position = vec4(place * cells.scale + cells.origin, 0.0, 1.0);
  vPaint = paint;
  vInner = gl_VertexID == ${CORNERS} ? 1.0 : 0.0;
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
  if (vPaint.a < 0.5) {
    vec2 place = gl_FragCoord.xy - cells.hatchOrigin;
    float across = (place.x - place.y) * 0.70710678;
    float away = abs(mod(across, cells.period) - 0.5 * cells.period);
    float ink = 1.0 - smoothstep(0.5 * cells.lineWidth - 0.5, 0.5 * cells.lineWidth + 0.5, away);
    colour = mix(cells.ground.rgb, cells.hatch.rgb, ink);
    gridInk = cells.hatchGridInk;
  }
  // Half of the hairline lies in this cell and half in its neighbour.
  float line = clamp(1.0 - vInner * cells.apothem, 0.0, 1.0) * gridInk;
  fragColor = vec4(mix(colour, cells.grid.rgb, line), 1.0);
}
`;

// A fan of six triangles around the middle.
const FAN = new Uint16Array(Array.from({ length: CORNERS }, (_, at) => [CORNERS, at, (at + 1) % CORNERS]).flat());

export function createCellLayer(deck, luma) {
  class CellLayer extends deck.Layer {
    getShaders() {
      return super.getShaders({ vs, fs, modules: [cellsModule] });
    }

    initializeState() {
      this.setState({ buffers: {} });
    }

    updateState({ props, oldProps }) {
      const { device } = this.context;
      const { cells, paint } = props;
      const { buffers } = this.state;
      if (cells !== oldProps.cells || !this.state.model) {
        cells.build((at) => props.getPolygon(props.data[at], { index: at }));
        this.replace("corners", cells.corners);
        this.replace("paint", colours(paint, cells.names.length));
        if (!this.state.model) this.setState({ model: this.createModel(device, buffers) });
        this.state.model.setAttributes({ corners: buffers.corners, paint: buffers.paint });
        this.state.model.setInstanceCount(cells.names.length);
      } else if (paint !== oldProps.paint) {
        buffers.paint.write(colours(paint, cells.names.length));
      }
    }

    replace(name, data) {
      const { buffers } = this.state;
      buffers[name]?.destroy();
      buffers[name] = this.context.device.createBuffer({ id: `${this.id}-${name}`, data });
    }

    createModel(device, { corners, paint }) {
      const floats = (attribute, at) => ({ attribute, format: "float32x4", byteOffset: 16 * at });
      return new luma.Model(device, {
        ...this.getShaders(),
        id: this.id,
        topology: "triangle-list",
        isInstanced: true,
        vertexCount: FAN.length,
        indexBuffer: device.createBuffer({ usage: luma.Buffer.INDEX, data: FAN }),
        bufferLayout: [
          {
            name: "corners",
            stepMode: "instance",
            byteStride: 48,
            attributes: [floats("cornersA", 0), floats("cornersB", 1), floats("cornersC", 2)],
          },
          { name: "paint", stepMode: "instance", format: "unorm8x4" },
        ],
        attributes: { corners, paint },
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

// Four bytes per cell; an opacity of 0 is how the shader knows a cell to be hatched.
function colours({ index, ramp, hatched }, count) {
  const bytes = new Uint8Array(4 * count);
  for (let cell = 0; cell < count; cell++) {
    const from = 4 * index[cell];
    bytes[4 * cell] = ramp[from];
    bytes[4 * cell + 1] = ramp[from + 1];
    bytes[4 * cell + 2] = ramp[from + 2];
    bytes[4 * cell + 3] = hatched && (hatched[cell >> 3] >> (cell & 7)) & 1 ? 0 : 255;
  }
  return bytes;
}
