// The charts beside the plane: numbers by step, and the loss over the margin.
import { drawChart, drawLoss, moveChart } from "./charts.js";
import { marginOf } from "./plane.js";
import { addView, at, scoresNow, state, valuesOf } from "./state.js";

const CHARTS = { objective: "objective-view", mistakes: "mistakes-view", norm: "norm-view" };

function drawCharts() {
  for (const [name, id] of Object.entries(CHARTS)) {
    if (!state.run) at(id).replaceChildren();
    else {
      const bounds = name === "objective" ? { "lower bound": state.run.recording.bounds.objective } : {};
      drawChart(at(id), valuesOf(name), state.step, bounds);
    }
  }
}

function moveCharts() {
  for (const id of Object.values(CHARTS)) moveChart(at(id), state.steps.rows.length + 1, state.step);
}

export function drawLossView() {
  const scores = state.run ? scoresNow() : null;
  const drawn = Boolean(state.run && state.run.curve); // of two classes
  at("loss-view").closest("figure").classList.toggle("hidden", !drawn);
  if (!scores || !drawn) return at("loss-view").replaceChildren();
  const y = state.run.recording.data.y;
  const labels = state.points.map((point) => point[2]);
  return drawLoss(at("loss-view"), state.run.curve, scores.map((own, row) => [marginOf(own, y[row], 2), labels[row]]));
}

export function setUpCharts() {
  addView(drawCharts, moveCharts);
  addView(drawLossView);
}
