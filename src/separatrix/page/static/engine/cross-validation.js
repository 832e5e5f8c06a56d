// k-fold cross-validation of lambda, the penalty l2: the mean loss of held-out points for each value.
//
// Every class, in the order of its first point, is dealt to the folds one after another, so that each
// fold has its share. The fits are Newton's method to the end, from the largest value to the smallest.
import { lossOf } from "./losses.js";
import { step } from "./newton.js";
import { evaluated, lengthOf, objectiveGradient, rowsOf, zeros } from "./rows.js";
import { BadRequest, checkedProblem, labelsOf } from "./settings.js";

const MOST_STEPS = 100; // of one fit: Newton's method needs ten or so
const FLAT = 1e-12; // length of a gradient that counts as 0

export function foldsOf(numbers, count) {
  const fold = new Array(numbers.length);
  let dealt = Array.from({ length: count }, (_, i) => i);
  for (const label of new Set(numbers)) {
    const own = numbers.map((c, i) => [c, i]).filter(([c]) => c === label).map(([, i]) => i);
    const [share, left] = [Math.floor(own.length / count), own.length % count];
    const more = new Set(dealt.slice(0, left));
    let next = 0;
    [...dealt].sort((a, b) => a - b).forEach((f) => {
      const size = share + (more.has(f) ? 1 : 0);
      own.slice(next, next + size).forEach((i) => { fold[i] = f; });
      next += size;
    });
    dealt = [...dealt.slice(left), ...dealt.slice(0, left)];
  }
  return fold;
}

function fitted(rows, loss, l2, start) {
  let W = start;
  for (let number = 0; number < MOST_STEPS; number += 1) {
    if (lengthOf(objectiveGradient(rows, loss, l2, W)) <= FLAT) break;
    const { weights, decrease } = step(rows, loss, l2, W);
    W = weights;
    if (!decrease) break;
  }
  return W;
}

// The folds one after another: of each value of l2, from the largest on, its place in the list, and of
// each fold the weights, the loss of the training points, and the loss and mistakes of the held-out ones.
export function* crossValidation(points, { name, loss: given, fit_intercept: intercept = true }, { l2s, folds: count }) {
  checkedProblem(points);
  const labels = labelsOf(points);
  const numbers = points.map((p) => labels.indexOf(p[2]));
  const loss = lossOf(name === "least_squares" ? "squared" : given, labels.length === 2 ? 1 : labels.length);
  if (!loss.curvature || !loss.convex) throw new BadRequest("The curve of lambda needs a loss with a curvature: logistic, squared or squared_hinge.");
  const least = Math.min(...labels.map((_, c) => numbers.filter((one) => one === c).length));
  if (!Number.isInteger(count) || count < 2 || count > least) {
    throw new BadRequest(`folds: expected 2 to ${least}, the number of points of the smallest class, got ${count}`);
  }
  const fold = foldsOf(numbers, count);
  const some = (wanted) => {
    const kept = points.map((_, i) => i).filter((i) => wanted(fold[i]));
    return rowsOf(kept.map((i) => points[i].slice(0, 2)), kept.map((i) => numbers[i]), labels.length, intercept);
  };
  const parts = Array.from({ length: count }, (_, f) => ({ training: some((of) => of !== f), test: some((of) => of === f) }));
  const fits = parts.map(({ training }) => zeros(training));
  const order = [...l2s.keys()].sort((a, b) => l2s[b] - l2s[a]);
  for (const place of order) {
    yield { place, folds: parts.map(({ training, test }, f) => {
      fits[f] = fitted(training, loss, l2s[place], fits[f]);
      const { value, mistakes } = evaluated(test, loss, 0, fits[f]);
      return { weights: fits[f], training: evaluated(training, loss, 0, fits[f]).value, heldOut: value, mistakes };
    }) };
  }
}

// The mean loss of the held-out points, and of those of the training, by value of l2.
export function crossValidated(points, method, asked) {
  const found = { heldOut: new Array(asked.l2s.length), training: new Array(asked.l2s.length) };
  for (const { place, folds } of crossValidation(points, method, asked)) {
    for (const name of ["heldOut", "training"]) found[name][place] = folds.reduce((sum, one) => sum + one[name], 0) / folds.length;
  }
  return found;
}
