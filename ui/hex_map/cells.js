// The shapes of the cells of one domain, worked out once and used for drawing, for the outline of
// a cell, and for finding the cell under the pointer.
//
// Places are kept in deck.gl's common space (Web Mercator, the world 512 units wide, north up),
// relative to the first corner of the first cell: so 32-bit numbers are exact to a fraction of a
// pixel at every zoom.

const WORLD = 512;
export const CORNERS = 6;

export function lngLatToCommon([longitude, latitude]) {
  const y = Math.log(Math.tan(Math.PI / 4 + (latitude * Math.PI) / 360));
  return [(WORLD * (longitude + 180)) / 360, (WORLD * (Math.PI + y)) / (2 * Math.PI)];
}

function commonToLngLat([x, y]) {
  const latitude = Math.atan(Math.exp((y * 2 * Math.PI) / WORLD - Math.PI)) * 2 - Math.PI / 2;
  return [(x * 360) / WORLD - 180, (latitude * 180) / Math.PI];
}

// A cell on an edge of H3's icosahedron has extra corners on its sides, a pentagon has five. The
// drawing wants six: the extra ones, which turn least, are left out; a missing one is doubled.
function sixCorners(points) {
  const corners = points.slice();
  const turn = (at) => {
    const [before, here, after] = [-1, 0, 1].map((step) => corners[(at + step + corners.length) % corners.length]);
    const cross =
      (here[0] - before[0]) * (after[1] - here[1]) - (here[1] - before[1]) * (after[0] - here[0]);
    const dot = (here[0] - before[0]) * (after[0] - here[0]) + (here[1] - before[1]) * (after[1] - here[1]);
    return Math.abs(Math.atan2(cross, dot));
  };
  while (corners.length > CORNERS) {
    const turns = corners.map((_, at) => turn(at));
    corners.splice(turns.indexOf(Math.min(...turns)), 1);
  }
  while (corners.length < CORNERS) corners.push(corners.at(-1));
  return corners;
}

export class Cells {
  constructor(version, names) {
    this.version = version;
    this.names = names;
    this.places = new Map(names.map((name, at) => [name, at]));
    this.corners = null; // (12 n) float32: x and y of six corners, from `origin`
    this.origin = [0, 0];
    this.apothem = 0; // mean distance from the middle of a cell to its sides
    this.whenReady = () => {};
  }

  get ready() {
    return this.corners !== null;
  }

  // `polygonOf(at)` gives the corners of a cell as longitude, latitude, longitude, ...
  build(polygonOf) {
    if (this.ready) return;
    const count = this.names.length;
    const corners = new Float32Array(2 * CORNERS * count);
    let area = 0;
    for (let at = 0; at < count; at++) {
      const flat = polygonOf(at);
      const points = [];
      for (let i = 0; i < flat.length; i += 2) points.push(lngLatToCommon([flat[i], flat[i + 1]]));
      const [first, last] = [points[0], points.at(-1)];
      if (first[0] === last[0] && first[1] === last[1]) points.pop();
      if (at === 0) this.origin = points[0];
      // A domain across the date line stays in one piece.
      const aside = points[0][0] - this.origin[0];
      const shift = aside > WORLD / 2 ? -WORLD : aside < -WORLD / 2 ? WORLD : 0;
      const six = sixCorners(points);
      for (let corner = 0; corner < CORNERS; corner++) {
        const [x, y] = six[corner];
        const [nextX, nextY] = six[(corner + 1) % CORNERS];
        corners[2 * (CORNERS * at + corner)] = x + shift - this.origin[0];
        corners[2 * (CORNERS * at + corner) + 1] = y - this.origin[1];
        area += (x - first[0]) * (nextY - first[1]) - (nextX - first[0]) * (y - first[1]);
      }
    }
    // Of a regular hexagon: area = 2 sqrt(3) apothem^2.
    this.apothem = Math.sqrt(Math.abs(area) / 2 / count / (2 * Math.sqrt(3)));
    this.corners = corners;
    this.buildIndex();
    this.whenReady();
  }

  // What is drawn: for each cell its corners and its middle as x, y and "how far in" (0 on the sides,
  // 1 in the middle), and a fan of six triangles. One plain mesh rather than instances of one shape,
  // which a machine without a graphics card draws one by one.
  mesh() {
    const perCell = CORNERS + 1;
    const count = this.names.length;
    const vertices = new Float32Array(3 * perCell * count);
    const indices = new Uint32Array(3 * CORNERS * count);
    for (let at = 0; at < count; at++) {
      const first = perCell * at;
      for (let corner = 0; corner < CORNERS; corner++) {
        vertices[3 * (first + corner)] = this.corners[2 * (CORNERS * at + corner)];
        vertices[3 * (first + corner) + 1] = this.corners[2 * (CORNERS * at + corner) + 1];
        const index = 3 * (CORNERS * at + corner);
        indices[index] = first + CORNERS;
        indices[index + 1] = first + corner;
        indices[index + 2] = first + ((corner + 1) % CORNERS);
      }
      vertices.set([...this.centre(at), 1], 3 * (first + CORNERS));
    }
    return { vertices, indices };
  }

  centre(at) {
    let [x, y] = [0, 0];
    for (let i = 0; i < 2 * CORNERS; i += 2) {
      x += this.corners[2 * CORNERS * at + i] / CORNERS;
      y += this.corners[2 * CORNERS * at + i + 1] / CORNERS;
    }
    return [x, y];
  }

  // Squares about as wide as a cell, each with the cells whose middle it holds.
  buildIndex() {
    this.step = 2.4 * this.apothem;
    this.squares = new Map();
    for (let at = 0; at < this.names.length; at++) {
      const square = this.squareOf(this.centre(at), 0, 0);
      const found = this.squares.get(square);
      if (found) found.push(at);
      else this.squares.set(square, [at]);
    }
  }

  squareOf([x, y], right, up) {
    return (Math.floor(x / this.step) + right) * 1e6 + Math.floor(y / this.step) + up;
  }

  // Which cell holds a place, or -1.
  find(lngLat) {
    if (!this.ready) return -1;
    const common = lngLatToCommon(lngLat);
    for (const turn of [0, WORLD, -WORLD]) {
      const at = this.findNear([common[0] + turn - this.origin[0], common[1] - this.origin[1]]);
      if (at >= 0) return at;
    }
    return -1;
  }

  findNear(place) {
    for (let right = -1; right <= 1; right++) {
      for (let up = -1; up <= 1; up++) {
        for (const at of this.squares.get(this.squareOf(place, right, up)) ?? []) {
          if (this.holds(at, place)) return at;
        }
      }
    }
    return -1;
  }

  // For each side of each cell the cell beyond it, or -1. Side k runs from corner k to the next one.
  // Worked out when a panel first draws outlines of groups, and kept.
  sides() {
    if (this.beyond) return this.beyond;
    const beyond = new Int32Array(CORNERS * this.names.length).fill(-1);
    for (let at = 0; at < this.names.length; at++) {
      const [x, y] = this.centre(at);
      for (let corner = 0; corner < CORNERS; corner++) {
        const a = 2 * (CORNERS * at + corner);
        const b = 2 * (CORNERS * at + ((corner + 1) % CORNERS));
        const side = [(this.corners[a] + this.corners[b]) / 2, (this.corners[a + 1] + this.corners[b + 1]) / 2];
        beyond[CORNERS * at + corner] = this.findNear([x + 1.3 * (side[0] - x), y + 1.3 * (side[1] - y)]);
      }
    }
    this.beyond = beyond;
    return beyond;
  }

  // Cells are convex: a place is inside when it lies on the same side of every edge.
  holds(at, [x, y]) {
    let side = 0;
    for (let corner = 0; corner < CORNERS; corner++) {
      const a = 2 * (CORNERS * at + corner);
      const b = 2 * (CORNERS * at + ((corner + 1) % CORNERS));
      const [ax, ay, bx, by] = [this.corners[a], this.corners[a + 1], this.corners[b], this.corners[b + 1]];
      const cross = (bx - ax) * (y - ay) - (by - ay) * (x - ax);
      if (cross === 0) continue;
      if (side === 0) side = Math.sign(cross);
      else if (Math.sign(cross) !== side) return false;
    }
    return true;
  }

  // The outline of a cell, longitude first, closed.
  outline(at) {
    const points = [];
    for (let corner = 0; corner <= CORNERS; corner++) {
      const i = 2 * (CORNERS * at + (corner % CORNERS));
      points.push(commonToLngLat([this.corners[i] + this.origin[0], this.corners[i + 1] + this.origin[1]]));
    }
    return points;
  }
}
