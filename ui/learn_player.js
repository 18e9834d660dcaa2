// Plays a picture frame by frame: a play button, a slider, and a sentence for each frame.
// The picture is SVG with a few marks that this file reads:
//   data-from="3"   visible from frame 3 on          data-at="3"   visible in frame 3 alone
//   data-seq="height=1;2;3|y=9;8;7"   attributes with one value a frame
// Whoever asked the system for less motion gets single steps and no fading.

const INTERVAL = 550;

export default function ({ data, parentElement }) {
  const reduced = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const state = (parentElement.lessonPlayer ??= { frame: 0, version: null });
  clearInterval(state.timer);
  if (state.version !== data.version) state.frame = Math.min(data.start ?? 0, data.texts.length - 1);
  state.version = data.version;

  let root = parentElement.querySelector(".player");
  if (!root) {
    root = document.createElement("div");
    root.className = "player";
    parentElement.append(root);
  }
  const last = data.texts.length - 1;
  root.innerHTML =
    `<div class="stage" role="img"></div><div class="bar"><button type="button"></button>` +
    `<input type="range" min="0" max="${last}" step="1"><span class="count"></span></div><p class="say"></p>`;
  root.style.setProperty("--accent", data.accent);
  root.style.setProperty("--on-accent", data.onAccent);
  root.style.setProperty("--text", data.text);
  root.classList.toggle("still", reduced);
  const stage = root.querySelector(".stage");
  const button = root.querySelector("button");
  const slider = root.querySelector("input");
  const say = root.querySelector(".say");
  stage.innerHTML = data.svg; // made by this app from numbers alone
  stage.setAttribute("aria-label", data.label);
  slider.setAttribute("aria-label", data.sliderLabel);

  const from = [...stage.querySelectorAll("[data-from]")].map((node) => [node, +node.dataset.from]);
  const at = [...stage.querySelectorAll("[data-at]")].map((node) => [node, +node.dataset.at]);
  const seq = [...stage.querySelectorAll("[data-seq]")].flatMap((node) =>
    node.dataset.seq.split("|").map((part) => {
      const [name, values] = part.split("=");
      return [node, name, values.split(";")];
    }),
  );

  function draw(frame) {
    state.frame = frame;
    for (const [node, first] of from) node.style.opacity = frame >= first ? 1 : 0.07;
    for (const [node, only] of at) node.style.opacity = frame === only ? 1 : 0;
    for (const [node, name, values] of seq) node.setAttribute(name, values[Math.min(frame, values.length - 1)]);
    slider.value = frame;
    slider.setAttribute("aria-valuetext", `${data.frameWord} ${frame + 1} of ${last + 1}`);
    root.querySelector(".count").textContent = `${data.frameWord} ${frame + 1} of ${last + 1}`;
    say.textContent = data.texts[frame];
    root.dataset.frame = frame;
  }
  function words() {
    const playing = state.timer !== undefined;
    button.textContent = reduced ? "Next" : playing ? "Pause" : "Play";
    // A sentence every half second would drown a screen reader.
    say.setAttribute("aria-live", playing ? "off" : "polite");
  }
  function stop() {
    clearInterval(state.timer);
    state.timer = undefined;
    words();
  }
  button.addEventListener("click", () => {
    if (reduced) return draw(state.frame >= last ? 0 : state.frame + 1);
    if (state.timer !== undefined) return stop();
    if (state.frame >= last) draw(0);
    state.timer = setInterval(() => {
      draw(Math.min(state.frame + 1, last));
      if (state.frame >= last) stop();
    }, data.interval ?? INTERVAL);
    words();
  });
  slider.addEventListener("input", () => {
    stop();
    draw(+slider.value);
  });
  state.timer = undefined;
  words();
  draw(state.frame);
  return () => clearInterval(state.timer);
}
