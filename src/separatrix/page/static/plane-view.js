// The data plane of the run: its state put together for drawing, and its grid of scores.
import { boxOf, drawPlane } from "./plane.js";
import { drawLossView } from "./chart-views.js";
import { askAtStep } from "./run.js";
import { addView, at, classesOf, render, scoresNow, shownPoints, state, strengthsAt, weightsAt } from "./state.js";

let places = null; // from points to pixels, and back

export function placesOfPlane() {
  return places;
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
    strengths: strengthsAt(state.step), flip: state.flip && labels.length === 2, chosen: state.chosen,
    turn: rowsInTurn(), numbered: Boolean(state.question && state.question.asks_row),
    meeting: verdict && verdict.meeting ? { place: verdict.meeting, rows: verdict.witness.rows } : null,
    centers: run ? run.centers : null,
  });
}

// Boundaries that are no lines: scores at points of a grid.
async function fetchGrid() {
  if (!state.run || state.run.line || state.grid) return;
  const grid = await askAtStep("grid", { box: state.box });
  if (!grid) return;
  state.grid = grid;
  drawPlaneView();
  drawLossView();
}

export function setUpPlane() {
  addView(drawPlaneView);
  addView(fetchGrid);
  at("flip").addEventListener("change", () => {
    state.flip = at("flip").checked;
    state.box = boxOf(shownPoints());
    state.grid = null; // it was of the other box
    render();
  });
}
