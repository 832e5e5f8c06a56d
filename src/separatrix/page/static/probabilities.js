// Bars: the probability of each class for one point, before and after the step.
import { probabilities } from "./engine/losses.js";
import { scoresOf } from "./plane.js";
import { at, state, weightsAt } from "./state.js";
import { redraw, scale, shown } from "./svg.js";

const WIDE = 360;
const HIGH = 150;
const LEFT = 64;

// The point being processed, else the selected one, else the first.
function pointNow() {
  const rows = state.step ? state.steps.rows[state.step - 1] : null;
  if (rows && rows.length === 1) return rows[0];
  return state.chosen !== null && state.chosen < state.points.length ? state.chosen : 0;
}

// Two classes have one score: the other has 0.
function ofPoint(weights, row) {
  if (!weights || weights.flat().includes(null)) return null;
  const scores = scoresOf(weights, state.run.recording.data.x[row]);
  return probabilities(scores.length === 1 ? [0, scores[0]] : scores);
}

function bars(before, now, labels) {
  const x = scale([0, 1], [LEFT, WIDE - 60]);
  const each = (HIGH - 20) / labels.length;
  return now.flatMap((p, c) => {
    const top = 10 + c * each;
    return [
      ["text", { x: LEFT - 8, y: top + each / 2 + 4, "text-anchor": "end" }, `class ${labels[c]}`],
      ["rect", { x: LEFT, y: top + 5, width: x(1) - LEFT, height: each - 10, class: "unit" }],
      ["rect", { x: LEFT, y: top + 5, width: x(p) - LEFT, height: each - 10, class: `prob c${labels[c]}` }],
      ["line", { x1: x(before[c]), x2: x(before[c]), y1: top + 1, y2: top + each - 1, class: "was" }],
      ["text", { x: x(1) + 6, y: top + each / 2 + 4 }, shown(p)],
    ];
  });
}

export const probabilityBars = {
  name: "probabilities of one point",
  suits: () => ["gradient_descent", "newton"].includes(state.method.name) && state.method.loss === "logistic",
  draw() {
    const nothing = (text) => { at("probabilities-view").replaceChildren(); at("probabilities-words").textContent = text; };
    if (!state.run) return nothing("");
    if (!probabilityBars.suits()) return nothing("Only the logistic loss makes probabilities: choose gradient descent or Newton's method with it.");
    const labels = state.run.recording.data.classes;
    const row = pointNow();
    const now = ofPoint(weightsAt(state.step), row);
    if (!now) return nothing("The weights have overflowed: there are no probabilities.");
    const before = ofPoint(weightsAt(Math.max(0, state.step - 1)), row);
    at("probabilities-view").setAttribute("viewBox", `0 0 ${WIDE} ${HIGH}`);
    at("probabilities-view").setAttribute("aria-label", `Probabilities of row ${row}: ${now.map((p, c) => `class ${labels[c]} ${shown(p)}`).join(", ")}`);
    redraw(at("probabilities-view"), bars(before, now, labels));
    const own = state.points[row][2];
    const p = now[labels.indexOf(own)];
    at("probabilities-words").textContent = `Row ${row}, of class ${own}: its loss is -log ${shown(p)} = ${shown(-Math.log(p))}. `
      + `${labels.length > 2 ? "Softmax: e^score over the sum of e^score." : "1 / (1 + e^-score)."} A vertical line marks the value before the step.`;
    return undefined;
  },
};
