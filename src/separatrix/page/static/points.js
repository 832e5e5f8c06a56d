// The points: editing with undo and redo, presets, the class of new points.
import { chooseMethod } from "./method-form.js";
import { symbol } from "./plane.js";
import { rerun } from "./run.js";
import { addView, at, state } from "./state.js";
import { draw } from "./svg.js";

const past = [];
const future = [];

export function edit(change, { keepStep = false } = {}) {
  remember(JSON.stringify(state.points));
  change(state.points);
  if (state.chosen !== null && state.chosen >= state.points.length) state.chosen = null;
  rerun({ keepStep });
}

// The state that undo restores.
export function remember(before) {
  past.push(before);
  future.length = 0;
}

function travel(from, to) {
  if (!from.length) return;
  to.push(JSON.stringify(state.points));
  state.points = JSON.parse(from.pop());
  state.chosen = null;
  rerun();
}

export function replacePoints(found) {
  edit((points) => points.splice(0, points.length, ...found.map((point) => [...point])));
}

// Replace points and method at once.
export function beginWith(points, method) {
  remember(JSON.stringify(state.points));
  Object.assign(state, { points: points.map((point) => [...point]), chosen: null });
  return chooseMethod(method);
}

function classButtons() {
  for (let c = 0; c < 4; c += 1) {
    const input = document.createElement("input");
    Object.assign(input, { type: "radio", name: "class", value: c, checked: c === state.newClass, id: `class-${c}` });
    input.addEventListener("change", () => { state.newClass = c; });
    const label = document.createElement("label");
    const sample = draw("svg", { viewBox: "-10 -10 20 20", class: "sample", "aria-hidden": "true" });
    const [name, shape] = symbol(c, 0, 0, 7);
    sample.append(draw(name, { ...shape, class: `c${c}` }));
    label.append(input, sample, String(c), " ");
    at("classes").append(label);
  }
}

function drawHistory() {
  at("undo").disabled = !past.length;
  at("redo").disabled = !future.length;
}

export function setUpPoints() {
  classButtons();
  at("undo").addEventListener("click", () => travel(past, future));
  at("redo").addEventListener("click", () => travel(future, past));
  at("clear").addEventListener("click", () => edit((points) => points.splice(0)));
  addView(drawHistory);
}

export function setUpPresets(presets) {
  at("preset").append(...["", ...Object.keys(presets)].map((name) => new Option(name || "choose", name)));
  at("preset").addEventListener("change", () => {
    const found = presets[at("preset").value];
    if (found) replacePoints(found);
  });
}
