// Newton's method: W <- W + t u with H u = -gradient; t is 1, halved until the objective falls.
//
// The equations are solved for centred features of variance 1, which hardly lose digits.
import { solve } from "./equations.js";
import { addScaled, copied, dot, evaluated, objectiveGradient, scoresAt, zeros } from "./rows.js";

const ENOUGH = 1e-4; // of the decrease that the slope promises: Armijo's condition
const MOST_HALVINGS = 50;
const HIDDEN = 1e-13; // of the objective: a decrease that rounding may hide
const ROUNDING = 2e-15;

// The variables of the equations: every weight, and the biases if there are any.
function unknowns({ k, width, intercept }) {
  const each = intercept ? width : width - 1;
  return Array.from({ length: k * each }, (_, i) => [Math.floor(i / each), i % each]);
}

// Means and deviations of the features; without a bias they are not centred.
function scalesOf({ x, width, intercept, n }) {
  const sum = (of) => x.reduce((total, row) => total + of(row), 0) / n;
  return Array.from({ length: width - 1 }, (_, j) => {
    const mean = intercept ? sum((row) => row[j]) : 0;
    return { mean, deviation: Math.sqrt(sum((row) => (row[j] - mean) ** 2)) || 1 };
  });
}

// The second derivative. All biases may shift together without effect where the loss depends on
// differences of scores alone: that direction gets a curvature, so that the matrix is regular.
function hessian(rows, loss, l2, W, scales, free) {
  const H = free.map(() => new Array(free.length).fill(0));
  rows.x.forEach((x, i) => {
    const C = loss.curvature(rows.y[i], scoresAt(W, x));
    const z = x.map((v, j) => (j < scales.length ? (v - scales[j].mean) / scales[j].deviation : 1));
    free.forEach(([c, j], a) => {
      for (let b = 0; b <= a; b += 1) H[a][b] += C[c][free[b][0]] * z[j] * z[free[b][1]];
    });
  });
  free.forEach((_, a) => {
    for (let b = 0; b <= a; b += 1) H[b][a] = H[a][b] = H[a][b] / rows.n;
  });
  free.forEach(([, j], a) => {
    if (j < scales.length) H[a][a] += (2 * l2) / scales[j].deviation ** 2;
    else if (loss.shifts) free.forEach(([, i], b) => { if (i === j) H[a][b] += 1 / rows.k; });
  });
  return H;
}

// The direction, and the slope of the objective along it; zeros if it is flat up to rounding.
function direction(rows, loss, l2, W) {
  const gradient = objectiveGradient(rows, loss, l2, W);
  const [free, scales] = [unknowns(rows), scalesOf(rows)];
  const right = free.map(([c, j]) => (j < scales.length
    ? -(gradient[c][j] - scales[j].mean * gradient[c].at(-1)) / scales[j].deviation : -gradient[c][j]));
  const solved = solve(hessian(rows, loss, l2, W, scales, free), right);
  const found = zeros(rows);
  free.forEach(([c, j], a) => {
    if (j < scales.length) {
      found[c][j] = solved[a] / scales[j].deviation;
      found[c][rows.width - 1] -= found[c][j] * scales[j].mean;
    } else found[c][j] += solved[a];
  });
  const slope = gradient.reduce((sum, row, c) => sum + dot(row, found[c]), 0);
  return slope < 0 ? { direction: found, slope } : { direction: zeros(rows), slope: 0 };
}

// One step from W: the weights after it, and the decrease that the parabola predicts.
export function step(rows, loss, l2, W) {
  const before = evaluated(rows, loss, l2, W).value;
  const { direction: u, slope } = direction(rows, loss, l2, W);
  for (let [length, tried] = [1, 0]; tried < MOST_HALVINGS; length *= 0.5, tried += 1) {
    const there = addScaled(copied(W), length, u);
    const { value } = evaluated(rows, loss, l2, there);
    if (value <= before + ENOUGH * length * slope) return { weights: there, decrease: -0.5 * slope };
    if (-slope < HIDDEN * Math.abs(before)) {
      if (slope < 0 && value <= before + ROUNDING * Math.abs(before)) return { weights: there, decrease: -0.5 * slope };
      break;
    }
  }
  return { weights: copied(W), decrease: 0 };
}

export function* passes(rows, settings, start, loss) {
  let W = start;
  for (;;) {
    const { weights, decrease } = step(rows, loss, settings.l2, W);
    W = weights;
    const after = evaluated(rows, loss, settings.l2, W);
    yield { steps: [{ weights: W, rows: null, updated: [], size: null }], ...after, byRow: false, position: W, decrease };
  }
}

export const isFixedMap = () => false;
