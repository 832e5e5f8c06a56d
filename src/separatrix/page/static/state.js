// What the page knows: points, method, the run and the step that is shown; and who draws it.
import { startingMethod } from "./methods.js";
import { scoresOf } from "./plane.js";
import { saved } from "./saved.js";

export const state = {
  points: [], method: startingMethod(), newClass: 1, chosen: null, flip: false, box: [-1, 2, -1, 2],
  run: null, steps: null, step: 0, grid: null, verdict: null, dragging: null, question: null,
};

export const at = (id) => document.getElementById(id);

export function say(text) {
  at("message").textContent = text;
}

// ---- views: each draws the state whenever it changes ------------------------------------------

const views = [];

// draw: everything; move: what differs at another step of the same run, else the same as draw.
export function addView(draw, move = draw) {
  views.push({ draw, move });
}

export function render() {
  for (const view of views) view.draw();
}

export function goTo(step) {
  if (!state.run) return;
  state.step = Math.max(0, Math.min(state.steps.rows.length, step));
  state.grid = state.grid && state.grid.step === state.step ? state.grid : null;
  for (const view of views) view.move();
}

// ---- what follows from it ---------------------------------------------------------------------

export function classesOf(points) {
  return [...new Set(points.map((point) => point[2]))].sort();
}

// Where the points are drawn: with flip, y x in place of x.
export function shownPoints() {
  const labels = classesOf(state.points);
  if (!state.flip || labels.length !== 2) return state.points;
  return state.points.map(([u, v, label]) => (label === labels[0] ? [-u, -v, label] : [u, v, label]));
}

export function weightsAt(step) {
  if (!state.run) return null;
  return step === 0 ? state.run.recording.start.weights : state.steps.weights[step - 1] ?? null;
}

export function valuesOf(name) {
  return [state.run.recording.start[name], ...state.steps[name]];
}

export function strengthsAt(step) {
  const found = new Array(state.points.length).fill(0);
  if (state.steps) {
    for (const rows of state.steps.updated.slice(0, step)) for (const row of rows) found[row] += 1;
  }
  return found;
}

// From the start on, steps so far that a row, or several at once, moved the weights: what theory
// bounds.
export function updatesByStep() {
  if (saved) return [0, ...saved.updates];
  let sum = 0;
  return [0, ...state.steps.updated.map((rows) => (sum += rows.length ? 1 : 0))];
}

export function scoresNow() {
  const weights = weightsAt(state.step);
  if (!weights) return state.grid && state.grid.step === state.step ? state.grid.rows : null;
  const x = state.run.recording.data.x;
  return x.map((row) => scoresOf(weights, row));
}
