// Gradient descent in four forms: all rows at once, one by one in order, one by one at random, and
// small batches at random.
//
// All rows: W <- W - step * gradient. Otherwise w first shrinks by 1 - 2 * step * l2, then moves
// against the mean gradient of the rows of the batch, at the weights before it.
import { isMistake } from "./losses.js";
import { shrink } from "./perceptron.js";
import { orderOfPass } from "./random.js";
import { addRow, addScaled, copied, evaluated, objectiveGradient, penaltyOf, scoresAt } from "./rows.js";
import { isConstant, stepSize } from "./schedules.js";

export function stepOfAll(rows, loss, l2, W, size) {
  return addScaled(copied(W), -size, objectiveGradient(rows, loss, l2, W));
}

// A step of some rows: the weights after it, the rows whose loss has a slope, and their losses.
export function stepOfBatch(rows, loss, l2, W, batch, size) {
  const after = copied(W);
  if (l2) shrink(after, size, l2);
  const updated = [];
  let [mistakes, sum] = [0, 0];
  for (const i of batch) {
    const scores = scoresAt(W, rows.x[i]);
    sum += loss.value(rows.y[i], scores);
    if (isMistake(rows.y[i], scores)) mistakes += 1;
    let moved = false;
    loss.gradient(rows.y[i], scores).forEach((g, c) => {
      if (g === 0) return;
      moved = true;
      addRow(after[c], (-size * g) / batch.length, rows.x[i], rows.intercept);
    });
    if (moved) updated.push(i);
  }
  return { weights: after, updated, mistakes, sum };
}

export function batchSize({ form, batch_size: size }, n) {
  return form === "mini-batch" ? Math.min(size, n) : 1;
}

function* passesOfAll(rows, settings, start, loss) {
  let W = start;
  for (let t = 1; ; t += 1) {
    const size = stepSize(settings, t);
    const before = evaluated(rows, loss, settings.l2, W);
    W = stepOfAll(rows, loss, settings.l2, W, size);
    yield { steps: [{ weights: W, rows: null, updated: [], size }], ...before, byRow: false, position: W };
  }
}

export function* passes(rows, settings, start, loss, seed) {
  if (settings.form === "batch") {
    yield* passesOfAll(rows, settings, start, loss);
    return;
  }
  const each = batchSize(settings, rows.n);
  let [W, t] = [start, 0];
  for (let pass = 0; ; pass += 1) {
    const order = settings.form === "sequential" ? [...rows.x.keys()] : orderOfPass(rows.n, seed, pass);
    const steps = [];
    let [mistakes, sum] = [0, 0];
    for (let first = 0; first < rows.n; first += each) {
      t += 1;
      const [batch, size] = [order.slice(first, first + each), stepSize(settings, t)];
      const found = stepOfBatch(rows, loss, settings.l2, W, batch, size);
      W = found.weights;
      mistakes += found.mistakes;
      sum += found.sum;
      steps.push({ weights: W, rows: batch, updated: found.updated, size });
    }
    yield { steps, mistakes, value: sum / rows.n + penaltyOf(W, settings.l2), byRow: true, position: W };
  }
}

export const isFixedMap = (settings) => isConstant(settings) && ["batch", "sequential"].includes(settings.form);
