// The state of the page: points, method, the run and the current step; and the views that draw it.
import { CURVED, startingMethod } from "./methods.js";
import { scoresOf } from "./plane.js";
import { saved } from "./saved.js";

export const state = {
  points: [], method: startingMethod(), newClass: 1, chosen: null, flip: false, box: [-1, 2, -1, 2],
  run: null, steps: null, step: 0, round: 0, grid: null, verdict: null, dragging: null, question: null, minimum: null,
};

export const at = (id) => document.getElementById(id);

export function say(text) {
  at("message").textContent = text;
}

// ---- views: each draws the state whenever it changes ------------------------------------------

const views = [];

// draw: everything; move: only what changes between steps of the same run (default: draw).
export function addView(draw, move = draw) {
  views.push({ draw, move });
}

export function render() {
  for (const view of views) view.draw();
}

// round: how often the steps of a cycle have been repeated.
export function goTo(step, round = 0) {
  if (!state.run) return;
  state.round = round;
  state.step = Math.max(0, Math.min(state.steps.rows.length, step));
  state.grid = state.grid && state.grid.step === state.step ? state.grid : null;
  for (const view of views) view.move();
}

// ---- derived values ---------------------------------------------------------------------------

export function classesOf(points) {
  return [...new Set(points.map((point) => point[2]))].sort();
}

// Whether y x can be shown instead of x: for two classes and a linear method.
export function canFlip() {
  const line = saved ? saved.run.line : !CURVED.includes(state.method.name);
  return line && classesOf(state.points).length === 2;
}

export const flipped = () => state.flip && canFlip();

// The factor of a point of a class when it is drawn.
export function signOf(label) {
  return flipped() && label === classesOf(state.points)[0] ? -1 : 1;
}

export function shownPoints() {
  if (!flipped()) return state.points;
  const [turned] = classesOf(state.points);
  return state.points.map(([u, v, label]) => (label === turned ? [-u, -v, label] : [u, v, label]));
}

export function weightsAt(step) {
  if (!state.run) return null;
  return step === 0 ? state.run.recording.start.weights : state.steps.weights[step - 1] ?? null;
}

export function valuesOf(name) {
  return [state.run.recording.start[name], ...state.steps[name]];
}

// ---- sums over the steps; the last are cached, and the next step adds to them ------------------

let strengths = { of: null, step: 0, found: [] };

export function strengthsAt(step) {
  const updated = state.steps ? state.steps.updated : null;
  if (strengths.of !== updated || strengths.found.length !== state.points.length) {
    strengths = { of: updated, step: 0, found: new Array(state.points.length).fill(0) };
  }
  const { found } = strengths;
  const add = (number, by) => { for (const row of updated[number - 1]) found[row] += by; };
  for (; updated && strengths.step < step; strengths.step += 1) add(strengths.step + 1, 1);
  for (; updated && strengths.step > step; strengths.step -= 1) add(strengths.step, -1);
  return found;
}

let updates = { of: null, found: [0] };

// By step, the number of updates of the weights so far: the number that the theory bounds.
export function updatesByStep() {
  if (saved) return [0, ...saved.updates];
  const { updated } = state.steps;
  if (updates.of !== updated) updates = { of: updated, found: [0] };
  const { found } = updates;
  while (found.length <= updated.length) found.push(found.at(-1) + (updated[found.length - 1].length ? 1 : 0));
  return found;
}

export function scoresNow() {
  const weights = weightsAt(state.step);
  if (!weights) return state.grid && state.grid.step === state.step ? state.grid.rows : null;
  const x = state.run.recording.data.x;
  return x.map((row) => scoresOf(weights, row));
}
