// The rows, loss and penalty of the run, for what the page computes from its weights.
import { lossOf } from "./engine/losses.js";
import { rowsOf } from "./engine/rows.js";
import { state } from "./state.js";

let known = { of: null, found: null };

function problemOf({ recording }) {
  const { name, loss, l2, fit_intercept: intercept } = state.method;
  const { classes, x, y } = recording.data;
  const rows = rowsOf(x, y, classes.length, intercept);
  const used = { gradient_descent: loss, newton: loss, least_squares: "squared" }[name] ?? "perceptron";
  return { rows, loss: lossOf(used, rows.k), l2: l2 ?? 0 };
}

export function problemNow() {
  if (known.of !== state.run) known = { of: state.run, found: problemOf(state.run) };
  return known.found;
}
