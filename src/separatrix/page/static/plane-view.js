// The data plane of the run: collects the state for drawing, and its grid of scores.
import { contour } from "./engine/contours.js";
import { placesOf } from "./engine/grid.js";
import { GRID } from "./engine/limits.js";
import { votesOf } from "./engine/votes.js";
import { boxOf, drawPlane, HEIGHT, scoresOf, WIDTH } from "./plane.js";
import { drawLossView } from "./chart-views.js";
import { askAtStep } from "./run.js";
import { gridAt, saved } from "./saved.js";
import { addView, at, canFlip, classesOf, flipped, render, scoresNow, shownPoints, state, strengthsAt, weightsAt } from "./state.js";

const MOST_NUMBERED = 12; // points whose numbers are always shown
const NEAR = 12; // pixels of the screen: a point is smaller than a finger
let places = null; // from points to pixels, and back

// The position of the pointer in the plane.
export function placeOf(event) {
  const shape = at("plane").getBoundingClientRect();
  return [
    places[0].back(((event.clientX - shape.left) / shape.width) * WIDTH),
    places[1].back(((event.clientY - shape.top) / shape.height) * HEIGHT),
  ];
}

// The row whose symbol is under the pointer, or else the nearest within reach; or null.
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

// The returned weights if they are not the last ones: the average, or the pocket.
function keptWeights() {
  const { keep } = state.method;
  if (!state.step || keep === "last" || keep === "voted" || !state.steps) return null;
  if (keep === "average") return state.steps.average ? state.steps.average[state.step - 1] : null;
  const best = state.steps.best[state.step - 1];
  return best ? weightsAt(best) : null;
}

// The boundary of the vote of all weights so far; for two classes, which a line need not separate.
function voteLines() {
  const last = state.steps && state.step ? weightsAt(state.step) : null;
  if (state.method.keep !== "voted" || !last || last.length !== 1 || saved) return null;
  const votes = votesOf({ k: 1, updated: state.steps.updated, weights: weightsAt }, placesOf(state.box), state.step);
  return { box: state.box, lines: [contour(votes.map(([count]) => count), GRID, 0)] };
}

// The rows of the current step; while a question is open, the row in question.
function rowsInTurn() {
  if (state.question) return state.question.row === null ? [] : [state.question.row];
  return state.step && state.steps ? state.steps.rows[state.step - 1] ?? [] : [];
}

// The minimum for one lambda, which is shown instead of the run, with hollow held-out points.
function minimumView({ weights, held }) {
  const scores = state.points.map((point) => scoresOf(weights, point.slice(0, 2)));
  return { weights, held, other: null, grid: null, scores, strengths: [], turn: [], meeting: null, votes: null, centers: null };
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
    turn: rowsInTurn(), numbered: Boolean(state.question && state.question.asks_row) || state.points.length <= MOST_NUMBERED,
    meeting: verdict && verdict.meeting ? { place: verdict.meeting, rows: verdict.witness.rows } : null,
    votes: line && !flipped() ? voteLines() : null, centers: run ? run.centers : null,
    ...(state.minimum ? minimumView(state.minimum) : {}),
  });
}

// Boundaries that are not lines: scores on a grid. One request at a time: of the steps in the
// meantime only the last is requested.
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

// A saved page contains the grid: the following draws it at once.
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
    state.grid = null; // it was for the other box
    render();
  });
}
