// The method as numbered lines, with the line of the current step; and the score that decides about it.
import { scoresOf } from "./plane.js";
import { addView, at, state, weightsAt } from "./state.js";
import { shown } from "./svg.js";

// Of each method: its lines, and which is active at the start and at a step.
const BY_ROW = ["w, b = start", "for each row (x, y), again and again:", "  a = w . x + b", "  if y a <= 0, a mistake:", "    (w, b) = (w, b) + step y (x, 1)"];
const MANY = ["W = start", "for each row (x, y), again and again:", "  a_c = w_c . x + b_c for each class c", "  if a rival r reaches a_y, a mistake:", "    class y gains step (x, 1), r loses it"];
const BATCH = ["w, b = start", "again and again:", "  find the rows with y a <= 0, the mistakes", "  stop if there are none", "  (w, b) = (w, b) + step (sum of their y (x, 1))"];
const DESCENT = ["w, b = start", "again and again:", "  g = gradient of the mean loss + 2 l2 w", "  (w, b) = (w, b) - step g"];
const SOME = ["w, b = start", "for each row, or batch of rows, again and again:", "  g = mean gradient of their loss", "  w = (1 - 2 step l2) w", "  (w, b) = (w, b) - step g"];
const NEWTON = ["w, b = start", "again and again:", "  g, H = first and second derivative of the objective", "  solve H u = -g", "  (w, b) = (w, b) + t u, t = 1, 1/2, ... until it falls"];
const SQUARES = ["(w, b) = the solution of H (w, b) = X't, a linear system"];
const KERNEL = ["a = 0 for each row", "for each row i, again and again:", "  s = sum of a_j (K(x_j, x_i) + 1)", "  if y_i s <= 0, a mistake:", "    a_i = a_i + step y_i"];

function linesOf({ method, run }) {
  const { name, form } = method;
  if (name === "gradient_descent") return form === "batch" ? DESCENT : SOME;
  const many = run.recording.data.classes.length > 2;
  return {
    perceptron: many ? MANY : BY_ROW, radial_basis: many ? MANY : BY_ROW, batch_perceptron: BATCH, newton: NEWTON,
    least_squares: SQUARES, kernel_perceptron: KERNEL,
  }[name];
}

// The number of the active line.
function activeLine(lines) {
  if (!state.step) return 0;
  const moved = state.steps.updated[state.step - 1].length > 0;
  const byMistake = [BY_ROW, MANY, KERNEL].includes(lines);
  if (byMistake || lines === BATCH) return moved ? lines.length - 1 : 3;
  return lines.length - 1;
}

// a = 2*1 + 0*1 - 1 = 1, and whether it is a mistake; for one row and two classes.
function scoreText() {
  const rows = state.step ? state.steps.rows[state.step - 1] : null;
  const W = state.step ? weightsAt(state.step - 1) : null;
  if (!rows || rows.length !== 1 || !W || W.length !== 1 || W[0].includes(null)) return "";
  const { x, y } = state.run.recording.data;
  const own = x[rows[0]];
  const weights = W[0];
  const bias = weights[own.length];
  const [a, sign] = [scoresOf(W, own)[0], y[rows[0]] ? 1 : -1];
  const terms = own.slice(0, 3).map((v, j) => `${shown(weights[j])}*${shown(v)}`).join(" + ") + (own.length > 3 ? " + ..." : "");
  const text = `a = ${terms}${bias ? ` ${bias < 0 ? "-" : "+"} ${shown(Math.abs(bias))}` : ""} = ${shown(a)}`;
  return `${text}; y a = ${shown(sign * a)} ${sign * a > 0 ? "> 0: no mistake" : "<= 0: a mistake"}`;
}

let drawn = null;

function drawLines() {
  at("score").textContent = state.run ? scoreText() : "";
  const lines = state.run ? linesOf(state) : null;
  if (lines !== drawn) {
    at("pseudocode").replaceChildren(...(lines ?? []).map((text) => Object.assign(document.createElement("li"), { textContent: text })));
    drawn = lines;
  }
  if (!lines) return;
  const active = activeLine(lines);
  [...at("pseudocode").children].forEach((line, i) => {
    if (i === active) line.setAttribute("aria-current", "step");
    else line.removeAttribute("aria-current");
  });
}

export function setUpPseudocode() {
  addView(drawLines);
}
