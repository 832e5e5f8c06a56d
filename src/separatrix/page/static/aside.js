// Below the pseudocode: the convergence proof, held-out points and lambda, or probabilities.
import { heldOut, setUpHeldOut } from "./held-out.js";
import { probabilityBars } from "./probabilities.js";
import { proof } from "./proof.js";
import { saved } from "./saved.js";
import { addView, at, state } from "./state.js";
import { option } from "./svg.js";

// Each has a name, and says whether it suits the run; draw fills the element of its panel.
const PANELS = { proof, probabilities: probabilityBars, lambda: heldOut };
const CHOICES = { auto: "what suits the run", ...Object.fromEntries(Object.entries(PANELS).map(([id, { name }]) => [id, name])), none: "nothing" };
let chosen = "auto";

function current() {
  if (PANELS[chosen]) return chosen;
  return chosen === "auto" && state.run ? Object.keys(PANELS).find((id) => PANELS[id].suits()) : undefined;
}

function drawAside() {
  const now = current();
  document.body.dataset.aside = now ?? "none";
  for (const id of Object.keys(PANELS)) {
    at(`${id}-panel`).hidden = id !== now;
    if (id !== now) PANELS[id].leave?.();
  }
  if (now) PANELS[now].draw();
}

// A step shows the run again in the plane.
function moveAside() {
  if (current() === "lambda") show("none");
  else drawAside();
}

function show(name) {
  chosen = name;
  at("aside-of").value = name;
  drawAside();
}

// The panel of a link, and back.
export const showAside = show;
export const shownAside = () => chosen;

export function setUpAside() {
  if (saved) return;
  at("aside-of").append(...Object.entries(CHOICES).map(([id, name]) => option(name, id, id === chosen)));
  at("aside-of").addEventListener("change", () => show(at("aside-of").value));
  setUpHeldOut();
  addView(drawAside, moveAside);
}
