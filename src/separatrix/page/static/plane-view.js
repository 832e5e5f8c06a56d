// The data plane of the run: its state put together for drawing, and its grid of scores.
import { boxOf, drawPlane, HEIGHT, WIDTH } from "./plane.js";
import { drawLossView } from "./chart-views.js";
import { askAtStep } from "./run.js";
import { gridAt, saved } from "./saved.js";
import { addView, at, canFlip, classesOf, flipped, render, scoresNow, shownPoints, state, strengthsAt, weightsAt } from "./state.js";

const NEAR = 12; // pixels of the screen: a point is small, and a finger is not
let places = null; // from points to pixels, and back

// Where a pointer is, in the plane.
export function placeOf(event) {
  const shape = at("plane").getBoundingClientRect();
  return [
    places[0].back(((event.clientX - shape.left) / shape.width) * WIDTH),
    places[1].back(((event.clientY - shape.top) / shape.height) * HEIGHT),
  ];
}

// The row whose symbol is under a pointer, or else the nearest that is close by; or null.
export function rowAt(event) {
  if (event.target.dataset.row !== undefined) return Number(event.target.dataset.row);
  const shape = at("plane").getBoundingClientRect();
  let [found, least] = [null, NEAR];
  shownPoints().forEach(([u, v], row) => {
    const across = shape.left + (places[0](u) / WIDTH) * shape.width - event.clientX;
    const up = shape.top + (places[1](v) / HEIGHT) * shape.height - event.clientY;
    const far = Math.hypot(across, up);
    if (far <= least) [found, least] = [row, far];
  });
  return found;
}

// The weights that are kept instead of the last ones: the average, or the pocket.
function keptWeights() {
  const { keep } = state.method;
  if (!state.step || keep === "last" || !state.steps) return null;
  if (keep === "average") return state.steps.average ? state.steps.average[state.step - 1] : null;
  const best = state.steps.best[state.step - 1];
  return best ? weightsAt(best) : null;
}

// Those of the step that is shown; while a question is open, the row that it is about.
function rowsInTurn() {
  if (state.question) return state.question.row === null ? [] : [state.question.row];
  return state.step && state.steps ? state.steps.rows[state.step - 1] ?? [] : [];
}

export function drawPlaneView() {
  const labels = classesOf(state.points);
  const { run, verdict } = state;
  const line = !state.run || state.run.line;
  places = drawPlane(at("plane"), {
    points: state.points, box: state.box, labels,
    weights: line ? weightsAt(state.step) : null, other: line ? keptWeights() : null,
    grid: line ? null : state.grid, scores: state.run ? scoresNow() : null,
    strengths: strengthsAt(state.step), flip: flipped(), chosen: state.chosen,
    turn: rowsInTurn(), numbered: Boolean(state.question && state.question.asks_row),
    meeting: verdict && verdict.meeting ? { place: verdict.meeting, rows: verdict.witness.rows } : null,
    centers: run ? run.centers : null,
  });
}

// Boundaries that are no lines: scores at points of a grid. One is asked for at a time: of the steps
// meanwhile, the last alone.
let asking = false;

async function fetchGrid() {
  if (saved || asking || !state.run || state.run.line || state.grid) return;
  asking = true;
  const { box, run, step } = state;
  const grid = await askAtStep("grid", { box });
  asking = false;
  if (grid && box === state.box) {
    state.grid = grid;
    drawPlaneView();
    drawLossView();
  } else if (state.run !== run || state.step !== step || state.box !== box) fetchGrid();
}

// A saved page has it inside: what follows draws it at once.
function takeGrid() {
  if (saved && state.run && !state.run.line) state.grid = gridAt(state.step);
}

function offerFlip() {
  at("flip").disabled = !canFlip();
}

export function setUpPlane() {
  addView(takeGrid);
  addView(drawPlaneView);
  addView(fetchGrid);
  addView(offerFlip, () => {});
  at("flip").addEventListener("change", () => {
    state.flip = at("flip").checked;
    state.box = boxOf(shownPoints());
    state.grid = null; // it was of the other box
    render();
  });
}
