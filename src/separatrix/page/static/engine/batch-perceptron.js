// The batch perceptron: once per pass, (w, b) += step * (sum of y (x, 1) over all mistakes).
import { isMistake } from "./losses.js";
import { scaled, unitOf } from "./perceptron.js";
import { addRow, addScaled, copied, scoresAt, zeros } from "./rows.js";
import { isConstant, stepSize } from "./schedules.js";

// One pass: the weights after it, its mistakes, and the sum of the losses before it.
export function step(rows, W, size, loss) {
  const total = zeros(rows);
  const wrong = [];
  let sum = 0;
  for (let i = 0; i < rows.n; i += 1) {
    const scores = scoresAt(W, rows.x[i]);
    sum += loss.value(rows.y[i], scores);
    if (isMistake(rows.y[i], scores)) {
      wrong.push(i);
      loss.gradient(rows.y[i], scores).forEach((g, c) => { if (g) addRow(total[c], -g, rows.x[i], rows.intercept); });
    }
  }
  return { weights: addScaled(copied(W), size, total), wrong, sum };
}

export function* passes(rows, settings, start, loss) {
  const unit = unitOf(settings, start);
  let V = unit === 1 ? copied(start) : start.map((row) => row.map((v) => v / unit));
  for (let t = 1; ; t += 1) {
    const size = unit === 1 ? stepSize(settings, t) : 1;
    const { weights, wrong, sum } = step(rows, V, size, loss);
    V = weights;
    const taken = { weights: scaled(V, unit), rows: null, updated: wrong, size: null };
    yield { steps: [taken], mistakes: wrong.length, value: (unit * sum) / rows.n, byRow: false, position: V, names: true };
  }
}

export const isFixedMap = (settings) => isConstant(settings);
