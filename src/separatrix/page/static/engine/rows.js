// The rows of a run: features with a 1 at the end, and what weights make of them.
import { isMistake, lossOf } from "./losses.js";

// features: a list of numbers for each point; numbers: of their classes, from 0 to count - 1.
export function rowsOf(features, numbers, count, intercept) {
  const k = count === 2 ? 1 : count;
  return {
    x: features.map((row) => [...row, 1]), y: numbers.map((c) => (k > 1 ? c : 2 * c - 1)), numbers,
    k, n: features.length, width: features[0].length + 1, classes: count, intercept,
  };
}

export function zeros({ k, width }) {
  return Array.from({ length: k }, () => new Array(width).fill(0));
}

export const copied = (W) => W.map((row) => [...row]);

export function dot(a, b) {
  let sum = 0;
  for (let j = 0; j < a.length; j += 1) sum += a[j] * b[j];
  return sum;
}

export const scoresAt = (W, x) => W.map((row) => dot(row, x));

export const isFiniteAll = (W) => W.every((row) => row.every(Number.isFinite));

export const isSame = (V, W) => V.every((row, c) => row.every((v, j) => v === W[c][j]));

// W + factor * change, in place.
export function addScaled(W, factor, change) {
  W.forEach((row, c) => { for (let j = 0; j < row.length; j += 1) row[j] += factor * change[c][j]; });
  return W;
}

// The length of all weights, without overflow of their squares.
export function lengthOf(W) {
  const square = W.reduce((sum, row) => sum + dot(row, row), 0);
  return square > 1e-250 && square < Infinity ? Math.sqrt(square) : Math.hypot(...W.flat());
}

// The sum of the squares of the weights; biases have no penalty.
export function penaltyOf(W, l2) {
  if (!l2) return 0;
  return l2 * W.reduce((sum, row) => sum + dot(row.slice(0, -1), row.slice(0, -1)), 0);
}

// The number of mistakes, and the mean loss with its penalty.
export function evaluated(rows, loss, l2, W) {
  let [mistakes, sum] = [0, 0];
  for (let i = 0; i < rows.n; i += 1) {
    const scores = scoresAt(W, rows.x[i]);
    if (isMistake(rows.y[i], scores)) mistakes += 1;
    sum += loss.value(rows.y[i], scores);
  }
  return { mistakes, value: sum / rows.n + penaltyOf(W, l2) };
}

// The mean gradient over some rows, without the penalty; of all rows if none are given.
export function meanGradient(rows, loss, W, some = rows.x.keys()) {
  const total = zeros(rows);
  let count = 0;
  for (const i of some) {
    const gradient = loss.gradient(rows.y[i], scoresAt(W, rows.x[i]));
    gradient.forEach((g, c) => { if (g !== 0) addRow(total[c], g, rows.x[i], rows.intercept); });
    count += 1;
  }
  return total.map((row) => row.map((v) => v / count));
}

// One row of weights gains a row of the data; its bias only if there is one.
export function addRow(weights, factor, x, intercept) {
  const last = weights.length - 1;
  for (let j = 0; j < last; j += 1) weights[j] += factor * x[j];
  if (intercept) weights[last] += factor * x[last];
}

// The gradient of the objective: of the mean loss and of the penalty.
export function objectiveGradient(rows, loss, l2, W) {
  const gradient = meanGradient(rows, loss, W);
  if (l2) gradient.forEach((row, c) => { for (let j = 0; j < row.length - 1; j += 1) row[j] += 2 * l2 * W[c][j]; });
  return gradient;
}

// The sum of y (x, 1); for k classes, k - 1 times the rows of a class less all others.
export function signedSum(rows) {
  const W = zeros(rows);
  rows.x.forEach((x, i) => W.forEach((row, c) => {
    addRow(row, rows.k === 1 ? rows.y[i] : c === rows.y[i] ? rows.k - 1 : -1, x, rows.intercept);
  }));
  return W;
}

export const perceptronLoss = (rows) => lossOf("perceptron", rows.k);
