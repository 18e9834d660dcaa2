// Writes numbers as ui/number_words.py does: grouped, and with no more digits than the error allows.

const MINUS = "\u2212";

function grouped(value, decimals) {
  const places = Math.max(decimals, 0);
  const scale = 10 ** decimals;
  // Rounding left of the point is not what toLocaleString does, so it is done first.
  const rounded = decimals < 0 ? Math.round(value * scale) / scale : value;
  const text = rounded.toLocaleString("en-US", { minimumFractionDigits: places, maximumFractionDigits: places });
  return text === "-0" || /^-0\.0+$/.test(text) ? text.slice(1) : text.replace("-", MINUS);
}

// Place of the second significant digit of an error; negative left of the point.
function decimalsOf(error) {
  const rounded = Number(Math.abs(error).toPrecision(2));
  return 1 - Math.floor(Math.log10(rounded));
}

export function writeNumber(value, { error, unit = "", signed = false } = {}) {
  if (!Number.isFinite(value)) return "no value";
  const known = Number.isFinite(error) && error !== 0;
  let text = grouped(value, known ? decimalsOf(error) : 0);
  if (signed && value > 0 && text !== "0") text = `+${text}`;
  if (known) text += ` \u00b1${grouped(Math.abs(error), decimalsOf(error))}`;
  return unit ? `${text} ${unit}` : text;
}
