// The page elements around the canvas: titles, buttons, tooltip, sentences. No data is ever parsed
// as HTML: every word that comes from outside is set as text.

export function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== null) node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

const HELP =
  "Arrow keys move the map, plus and minus zoom, 0 shows the whole area, " +
  "Enter pins the cell in the middle, Escape unpins.";

const CLICK_PIXELS = 5;

// Until the style sheet has come, and on a busy line that takes seconds: the sentence of the stage and nothing else.
const UNSTYLED =
  ".controls, .attribution, .tooltip, .unseen, .titles { display: none; } .stage { outline: none; }" +
  ".message { margin: 0; padding: 12px 16px; font: 14px/1.4 var(--st-font, sans-serif); }";

let frames = 0;

export function createFrame(actions) {
  const helpId = `atlas-map-help-${frames++}`;
  const titles = element("div", { class: "titles" });
  const canvas = element("div", { class: "canvas" });
  const dividers = element("div", { class: "dividers", "aria-hidden": "true" });
  const crosshair = element("div", { class: "crosshair", "aria-hidden": "true", hidden: "" });
  const tooltip = element("div", { class: "tooltip", "aria-hidden": "true", hidden: "" });
  const message = element("p", { class: "message" }, "Loading the map\u2026");
  const attribution = element("div", { class: "attribution" });
  const zoomIn = button("Zoom in", "M8 3v10M3 8h10", () => actions.zoomBy(0.7));
  const zoomOut = button("Zoom out", "M3 8h10", () => actions.zoomBy(-0.7));
  // Four corners of a frame: the whole area in view.
  const fit = button("Zoom to the area", "M3 6V3h3M10 3h3v3M13 10v3h-3M6 13H3v-3", actions.fit);
  const controls = element("div", { class: "controls" }, zoomIn, zoomOut, fit);
  const stage = element(
    "div",
    { class: "stage", tabindex: "0", role: "application", "aria-describedby": helpId },
    canvas,
    dividers,
    crosshair,
    message,
  );
  const help = element("p", { class: "unseen", id: helpId }, HELP);
  const news = element("p", { class: "unseen", "aria-live": "polite" });
  // Buttons stand beside the stage and not in it: their key presses are not the map's.
  const body = element("div", { class: "body" }, stage, controls, tooltip, attribution);
  const root = element("section", { class: "atlas-map", "data-state": "loading" }, titles, body, help, news);
  const style = element("style", {}, UNSTYLED);
  root.prepend(style);

  stage.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const act = actions.keys[event.key];
    if (!act) return;
    event.preventDefault();
    event.stopPropagation(); // Streamlit has shortcuts of its own
    act();
  });
  // The browser's own click: deck.gl's is a gesture with a time limit of a quarter of a second, which
  // a busy or slow machine misses. What moved between press and release was a drag.
  let pressed = null;
  canvas.addEventListener("pointerdown", ({ clientX, clientY }) => {
    pressed = [clientX, clientY];
  });
  canvas.addEventListener("click", ({ clientX, clientY }) => {
    if (!pressed || Math.hypot(clientX - pressed[0], clientY - pressed[1]) > CLICK_PIXELS) return;
    const { left, top } = canvas.getBoundingClientRect();
    // Where it was pressed: the coordinates of a click are whole numbers, and those of the pointer,
    // which show what will be pinned, are not.
    actions.click(pressed[0] - left, pressed[1] - top);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (event.buttons !== 0) return; // a drag
    const { left, top } = canvas.getBoundingClientRect();
    actions.hover(event.clientX - left, event.clientY - top);
  });
  canvas.addEventListener("pointerleave", () => actions.hover(-1, -1));
  // The cross that marks "the cell in the middle" is for those who steer by keys.
  stage.addEventListener("focus", () => {
    crosshair.hidden = !stage.matches(":focus-visible");
  });
  stage.addEventListener("blur", () => {
    crosshair.hidden = true;
  });
  return { root, style, titles, body, stage, canvas, dividers, crosshair, tooltip, message, attribution, fit, news };
}

function button(label, path, onClick) {
  const node = element("button", { type: "button", "aria-label": label, title: label });
  const picture = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  picture.setAttribute("viewBox", "0 0 16 16");
  picture.setAttribute("aria-hidden", "true");
  const line = document.createElementNS("http://www.w3.org/2000/svg", "path");
  line.setAttribute("d", path);
  picture.append(line);
  node.append(picture);
  node.addEventListener("click", onClick);
  return node;
}

// Wide: a title over each panel. Narrow: a switch between the panels.
export function drawTitles(frame, panels, { narrow, active, choose }) {
  const wanted = JSON.stringify([narrow, active, panels.map(({ id, title, subtitle }) => [id, title, subtitle])]);
  if (frame.titlesDrawn === wanted) return; // so that focus on the switch survives an update
  const focused = frame.titles.contains(frame.root.getRootNode().activeElement);
  frame.titlesDrawn = wanted;
  frame.titles.classList.toggle("narrow", narrow);
  frame.titles.style.setProperty("--panels", panels.length);
  if (!narrow) {
    frame.titles.replaceChildren(
      ...panels.map(({ title, subtitle }) =>
        element("div", { class: "title" }, element("strong", {}, title), element("span", {}, subtitle)),
      ),
    );
  } else {
    const choices = panels.map(({ id, title }) => {
      const choice = element("button", { type: "button", "aria-pressed": String(id === active) }, title);
      choice.addEventListener("click", () => choose(id));
      return choice;
    });
    const chosen = panels.find(({ id }) => id === active);
    frame.titles.replaceChildren(
      element("div", { class: "switch", role: "group", "aria-label": "Which map to show" }, ...choices),
      element("span", { class: "subtitle" }, chosen.subtitle),
    );
    if (focused) frame.titles.querySelector("[aria-pressed=true]").focus();
  }
  const gaps = narrow ? [] : panels.slice(1);
  frame.dividers.replaceChildren(
    ...gaps.map((_, at) => element("i", { style: `left:${(100 * (at + 1)) / panels.length}%` })),
  );
}

export function say(frame, state, text) {
  frame.root.dataset.state = state;
  frame.message.hidden = text === "";
  frame.message.textContent = text;
  if (state === "failed") frame.message.setAttribute("role", "alert");
  else frame.message.removeAttribute("role");
}

export function showTooltip(frame, { name, lines, status }, x, y) {
  const { tooltip, body } = frame;
  const rows = lines.flatMap(([label, text]) => [element("dt", {}, label), element("dd", {}, text)]);
  tooltip.replaceChildren(element("code", {}, name), element("dl", {}, ...rows));
  if (status) tooltip.append(element("em", {}, status));
  tooltip.hidden = false;
  // Beside the pointer, on the side where there is room, and never outside the map.
  const width = tooltip.offsetWidth;
  const height = tooltip.offsetHeight;
  const left = x + 16 + width > body.clientWidth ? x - 16 - width : x + 16;
  const top = y + 16 + height > body.clientHeight ? y - 16 - height : y + 16;
  tooltip.style.left = `${Math.max(4, left)}px`;
  tooltip.style.top = `${Math.max(4, top)}px`;
}

export function hideTooltip(frame) {
  frame.tooltip.hidden = true;
}
