// The guided tour of Explore: which of its cards is shown, and whether it was switched off for good.
// The cards are part of the page, each beside what it explains, so none can lie over the map; this file
// only says which one is there, moves the keyboard's focus to it, and remembers "off" in this browser.

const KEY = "ldp-atlas-tour";

function wasSwitchedOff() {
  try {
    return localStorage.getItem(KEY) === "off";
  } catch {
    return true; // a browser that keeps nothing would ask every time
  }
}

function switchOff() {
  try {
    localStorage.setItem(KEY, "off");
  } catch {
    // nothing to keep it in; the tour is closed all the same
  }
}

export default function ({ data, parentElement }) {
  if (parentElement.atlasTour) return parentElement.atlasTour;
  const root = document.documentElement;
  const card = (stop) => document.querySelector(`.tour-card[data-stop="${stop}"]`);

  function show(stop) {
    root.dataset.tour = stop;
    const shown = card(stop);
    if (!shown) return;
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    shown.scrollIntoView({ block: "nearest", behavior: still ? "auto" : "smooth" });
    shown.querySelector("[data-tour-action=next], [data-tour-action=off]")?.focus({ preventScroll: true });
  }
  function close() {
    delete root.dataset.tour;
    switchOff();
  }
  function act(action) {
    const stop = Number(root.dataset.tour ?? 0);
    if (action === "start") show(1);
    if (action === "next") stop < data.stops ? show(stop + 1) : close();
    if (action === "back") show(Math.max(stop - 1, 1));
    if (action === "off") close();
  }
  const onClick = (event) => {
    const button = event.target.closest?.("[data-tour-action]");
    if (button) act(button.dataset.tourAction);
  };
  const onKey = (event) => {
    if (event.key === "Escape" && root.dataset.tour && root.dataset.tour !== "0") close();
  };
  document.addEventListener("click", onClick);
  document.addEventListener("keydown", onKey);
  if (!wasSwitchedOff()) root.dataset.tour = "0";
  parentElement.atlasTour = () => {
    document.removeEventListener("click", onClick);
    document.removeEventListener("keydown", onKey);
    delete root.dataset.tour;
    delete parentElement.atlasTour;
  };
  return parentElement.atlasTour;
}
