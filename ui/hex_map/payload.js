// Reads the bytes that pack.py wrote. See there for the layout.

const KINDS = { u64: BigUint64Array, f32: Float32Array, u32: Uint32Array, u8: Uint8Array };

export function unpack(bytes) {
  // A copy, so that the arrays outlive Streamlit's message and start where typed arrays may.
  const buffer = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
  const headerLength = new DataView(buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, headerLength)));
  const body = 4 + headerLength;
  const arrays = {};
  for (const [name, [kind, offset, length]] of Object.entries(header.arrays)) {
    arrays[name] = new KINDS[kind](buffer, body + offset, length);
  }
  return { ...header, arrays };
}

export function cellNames(cells) {
  return Array.from(cells, (cell) => cell.toString(16));
}

export function sameBytes(left, right) {
  if (left === right) return true;
  if (!left || !right || left.length !== right.length) return false;
  for (let i = 0; i < left.length; i++) if (left[i] !== right[i]) return false;
  return true;
}
