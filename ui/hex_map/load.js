// Fetches, once per page, what the map draws with: deck.gl, the style sheet, the land.

const deckScripts = new Map();
const landFiles = new Map();
let styleText;

const resolve = (address) => new URL(address, document.baseURI).href;

// deck.gl is a classic script that puts itself on `window`. A failed load is forgotten, so that
// the next update tries again.
export function loadDeck(address) {
  const url = resolve(address);
  if (!deckScripts.has(url)) {
    const loading = new Promise((done, failed) => {
      const script = document.createElement("script");
      script.src = url;
      script.onload = () => (window.deck?.H3HexagonLayer ? done(window.deck) : failed(new Error(url)));
      script.onerror = () => failed(new Error(url));
      document.head.appendChild(script);
    });
    loading.catch(() => deckScripts.delete(url));
    deckScripts.set(url, loading);
  }
  return deckScripts.get(url);
}

export function loadStyle() {
  styleText ??= fetch(new URL("hex_map.css", import.meta.url)).then((answer) => (answer.ok ? answer.text() : ""));
  return styleText;
}

export function loadLand(address) {
  const url = resolve(address);
  if (!landFiles.has(url)) {
    const loading = fetch(url).then((answer) => {
      if (!answer.ok) throw new Error(url);
      return answer.json();
    });
    loading.catch(() => landFiles.delete(url));
    landFiles.set(url, loading);
  }
  return landFiles.get(url);
}

// Asked before deck.gl starts: its own failure is a console message and an empty canvas.
export function hasWebGL() {
  try {
    const context = document.createElement("canvas").getContext("webgl2");
    context?.getExtension("WEBGL_lose_context")?.loseContext();
    return context !== null;
  } catch {
    return false;
  }
}
