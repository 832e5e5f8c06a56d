// The gradient of a step in two parts: of the loss and of the penalty.
import { meanGradient } from "./engine/rows.js";
import { problemNow } from "./problem.js";
import { saved } from "./saved.js";
import { addView, at, state, weightsAt } from "./state.js";
import { shown as digits } from "./svg.js";

const vector = (values) => `(${values.map(digits).join(", ")})`;

// The methods with a gradient; of the perceptron only with a penalty, without one its update says it all.
function hasGradient({ name, l2 }) {
  return ["gradient_descent", "newton"].includes(name) || (name === "perceptron" && l2 > 0);
}

function text() {
  const W = state.step ? weightsAt(state.step - 1) : null;
  if (!W || W.flat().includes(null) || !hasGradient(state.method)) return "";
  const { rows, loss, l2 } = problemNow();
  const some = state.steps.rows[state.step - 1];
  const ofLoss = meanGradient(rows, loss, W, some ?? undefined);
  const ofPenalty = W.map((row) => row.map((v, j) => (j < row.length - 1 ? 2 * l2 * v : 0)));
  const shown = (G) => G.map((row, c) => `${G.length > 1 ? `class ${state.run.recording.data.classes[c]} ` : ""}${vector(rows.intercept ? row : row.slice(0, -1))}`).join(", ");
  const what = some ? (some.length === 1 ? ` of row ${some[0]}` : ` of ${some.length} rows`) : "";
  const first = `gradient of the loss${what}: ${shown(ofLoss)}`;
  if (!l2) return `${first}; no penalty`;
  return `${first}; of the penalty, 2 l2 w: ${shown(ofPenalty)}; their sum: ${shown(ofLoss.map((row, c) => row.map((v, j) => v + ofPenalty[c][j])))}`;
}

export function setUpGradients() {
  if (saved) return;
  addView(() => { at("gradients").textContent = state.run ? text() : ""; });
}
