// Hatching, drawn by the graphics card.
//
// A cell that is not published is filled with the colour of the land and crossed by lines at 45
// degrees. The lines are computed for each pixel in the fragment shader of the layer that fills
// the cells: one more float per cell and no geometry, so 15,000 hatched cells cost what 15,000
// plain ones do. Lines run through neighbouring cells without a seam, keep their distance in
// pixels at every zoom, and move with the map because they are counted from a fixed place on it.

const PERIOD_PIXELS = 7; // from line to line, measured across them
const LINE_PIXELS = 1.3;

const uniformBlock = `\
layout(std140) uniform hatchUniforms {
  vec4 line;
  vec4 ground;
  vec2 origin;
  float period;
  float width;
  float grow;
} hatch;
`;

const hatchModule = {
  name: "hatch",
  vs: uniformBlock,
  fs: uniformBlock,
  uniformTypes: {
    line: "vec4<f32>",
    ground: "vec4<f32>",
    origin: "vec2<f32>",
    period: "f32",
    width: "f32",
    grow: "f32",
  },
};

export function createHatchExtension(deck) {
  class HatchExtension extends deck.LayerExtension {
    getShaders() {
      return {
        modules: [hatchModule],
        inject: {
          "vs:#decl": "in float instanceHatched;\nout float vHatched;",
          "vs:DECKGL_FILTER_COLOR": "vHatched = instanceHatched;",
          "vs:DECKGL_FILTER_SIZE": "if (instanceHatched > 0.5) size *= hatch.grow;",
          "fs:#decl": "in float vHatched;",
          "fs:DECKGL_FILTER_COLOR": `
            if (vHatched > 0.5) {
              vec2 place = gl_FragCoord.xy - hatch.origin;
              float across = (place.x - place.y) * 0.70710678;
              float away = abs(mod(across, hatch.period) - 0.5 * hatch.period);
              float ink = 1.0 - smoothstep(0.5 * hatch.width - 0.5, 0.5 * hatch.width + 0.5, away);
              color = mix(hatch.ground, hatch.line, ink);
            }`,
        },
      };
    }

    initializeState() {
      // A composite layer hands its extensions on and has no attributes of its own.
      this.getAttributeManager()?.addInstanced({
        instanceHatched: { size: 1, accessor: "getHatched", defaultValue: 0 },
      });
    }

    draw() {
      const { viewport, device } = this.context;
      const ratio = device.canvasContext.cssToDeviceRatio();
      const height = device.canvasContext.getDrawingBufferSize()[1];
      const [x, y] = viewport.project(this.props.hatchAnchor);
      const period = PERIOD_PIXELS * ratio;
      // Along either axis the pattern repeats after this many pixels; the remainder keeps the
      // numbers small enough for the shader when the anchor is far off screen.
      const repeat = period * Math.SQRT2;
      this.setShaderModuleProps({
        hatch: {
          line: this.props.hatchLine,
          ground: this.props.hatchGround,
          origin: [((x + viewport.x) * ratio) % repeat, (height - (y + viewport.y) * ratio) % repeat],
          period,
          width: LINE_PIXELS * ratio,
          grow: this.props.hatchGrow,
        },
      });
    }
  }
  HatchExtension.extensionName = "HatchExtension";
  HatchExtension.defaultProps = {
    getHatched: { type: "accessor", value: 0 },
    hatchLine: { type: "array", value: [0.5, 0.5, 0.5, 1], compare: true },
    hatchGround: { type: "array", value: [1, 1, 1, 1], compare: true },
    hatchGrow: { type: "number", value: 1 },
    hatchAnchor: { type: "array", value: [0, 0], compare: true },
  };
  return new HatchExtension();
}
