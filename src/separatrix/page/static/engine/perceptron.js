// The perceptron, row by row: (w, b) += step * y * (x, 1) at every row that is a mistake.
//
// Rosenblatt, Psychological Review 65 (1958). For k classes the true class gains what the best rival
// loses. With a penalty, w first shrinks by 1 - 2 * step * l2, at every row.
import { bestRival, isMistake } from "./losses.js";
import { orderOfPass } from "./random.js";
import { addRow, copied, scoresAt } from "./rows.js";
import { isConstant, stepSize } from "./schedules.js";

// One row: the weights after it, and whether it was a mistake.
export function visit(rows, W, row, size, l2) {
  const [x, y] = [rows.x[row], rows.y[row]];
  const scores = scoresAt(W, x);
  const wrong = isMistake(y, scores);
  const after = copied(W);
  if (l2) shrink(after, size, l2);
  if (wrong) {
    if (rows.k === 1) addRow(after[0], size * y, x, rows.intercept);
    else {
      addRow(after[y], size, x, rows.intercept);
      addRow(after[bestRival(y, scores)], -size, x, rows.intercept);
    }
  }
  return { weights: after, wrong, scores };
}

export function shrink(W, size, l2) {
  const factor = Math.max(0, 1 - 2 * size * l2);
  W.forEach((row) => { for (let j = 0; j < row.length - 1; j += 1) row[j] *= factor; });
}

// From zero, with a constant step and no penalty, the step only rescales the weights: the run has
// step 1 and is scaled at the end, so that rounding cannot change its course.
export function unitOf(settings, start) {
  const rescales = isConstant(settings) && !settings.l2 && start.every((row) => row.every((v) => v === 0));
  return rescales ? settings.learning_rate : 1;
}

export const scaled = (W, unit) => (unit === 1 ? W : W.map((row) => row.map((v) => unit * v)));

// Passes of the run: each yields its steps, and what the rules need to know of it.
export function* passes(rows, settings, start, loss, seed) {
  const unit = unitOf(settings, start);
  let V = unit === 1 ? copied(start) : start.map((row) => row.map((v) => v / unit));
  let t = 0;
  for (let pass = 0; ; pass += 1) {
    const order = settings.shuffle ? orderOfPass(rows.n, seed, pass) : [...rows.x.keys()];
    const steps = [];
    let [mistakes, sum] = [0, 0];
    for (const row of order) {
      t += 1;
      const size = unit === 1 ? stepSize(settings, t) : 1;
      const { weights, wrong, scores } = visit(rows, V, row, size, settings.l2);
      V = weights;
      mistakes += wrong ? 1 : 0;
      sum += loss.value(rows.y[row], scores);
      steps.push({ weights: scaled(V, unit), rows: [row], updated: wrong ? [row] : [], size });
    }
    yield { steps, mistakes, value: (unit * sum) / rows.n, byRow: true, position: V };
  }
}

// Whether weights that repeat prove that the run repeats for ever.
export const isFixedMap = (settings) => !settings.shuffle && isConstant(settings);
