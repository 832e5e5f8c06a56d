// The charts next to the plane: numbers by step, and the loss over the margin.
import { drawChart, drawLoss, moveChart, stepAt } from "./charts.js";
import { marginOf } from "./plane.js";
import { numberOf } from "./saved.js";
import { addView, at, goTo, scoresNow, state, updatesByStep, valuesOf } from "./state.js";
import { shown } from "./svg.js";

const CHARTS = {
  objective: "Objective", mistakes: "Mistakes", updates: "Updates", norm: "Length of the weights",
};
let values = {}; // of each chart, from the start on

// A bound of the chart, or the value at which the run stops.
function limitOf(chart) {
  const { bounds } = state.run.recording;
  const found = {
    objective: ["lower bound", bounds.objective], updates: ["bound", bounds.updates],
    norm: ["limit", state.method.max_norm || null],
  }[chart];
  return found && found[1] !== null ? { name: found[0], value: found[1] } : null;
}

function drawCharts() {
  for (const chart of Object.keys(CHARTS)) at(`${chart}-view`).replaceChildren();
  if (!state.run) return;
  values = { updates: updatesByStep() };
  for (const chart of ["objective", "mistakes", "norm"]) values[chart] = valuesOf(chart);
  at("updates-view").closest("figure").hidden = !values.updates.at(-1); // for methods that process single rows
  for (const chart of Object.keys(CHARTS)) drawChart(at(`${chart}-view`), values[chart], numberOf, state.step, limitOf(chart));
  sayCharts();
}

function sayCharts() {
  for (const [chart, text] of Object.entries(CHARTS)) {
    at(`${chart}-view`).setAttribute("aria-label", `${text} by step: ${shown(values[chart][state.step])} at step ${state.step}`);
  }
}

function moveCharts() {
  for (const chart of Object.keys(CHARTS)) moveChart(at(`${chart}-view`), state.steps.rows.length + 1, state.step);
  sayCharts();
}

export function drawLossView() {
  const scores = state.run ? scoresNow() : null;
  const drawn = Boolean(state.run && state.run.curve); // for two classes
  at("loss-view").closest("figure").classList.toggle("hidden", !drawn);
  if (!scores || !drawn) return at("loss-view").replaceChildren();
  const y = state.run.recording.data.y;
  const labels = state.points.map((point) => point[2]);
  return drawLoss(at("loss-view"), state.run.curve, scores.map((own, row) => [marginOf(own, y[row], 2), labels[row]]));
}

export function setUpCharts() {
  for (const chart of Object.keys(CHARTS)) {
    const svg = at(`${chart}-view`);
    svg.addEventListener("click", (event) => state.run && goTo(stepAt(svg, event, state.steps.rows.length + 1)));
  }
  addView(drawCharts, moveCharts);
  addView(drawLossView);
}
