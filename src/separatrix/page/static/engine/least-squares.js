// Least squares: the minimum of the mean of (t - w.x - b)^2 plus l2 |w|^2, without squaring the rows.
//
// The targets t are -1 and 1; for more than two classes every class has targets of its own. The rows
// are centred where there is a bias; with a penalty, a row sqrt(n l2) e_j with target 0 is added for
// each feature. Hestenes' rotations (1958) make the columns orthogonal: X V = U S. Of several minima,
// w is the shortest.
import { dot, evaluated } from "./rows.js";

const SWEEPS = 60;
const ORTHOGONAL = 1e-16; // cosine of two columns that needs no rotation
const SINGULAR = 1e-14; // a column so much shorter than the longest is rounding

const meanOf = (values) => values.reduce((sum, v) => sum + v, 0) / values.length;

// Rotates two columns of X, and of V, until they are orthogonal; whether they were not.
function rotated(X, V, p, q) {
  const [a, b, c] = [dot(X[p], X[p]), dot(X[q], X[q]), dot(X[p], X[q])];
  if (!(Math.abs(c) > ORTHOGONAL * Math.sqrt(a * b))) return false;
  const angle = (b - a) / (2 * c);
  const t = (angle >= 0 ? 1 : -1) / (Math.abs(angle) + Math.hypot(1, angle));
  const cosine = 1 / Math.hypot(1, t);
  for (const columns of [X, V]) {
    const [first, second] = [columns[p], columns[q]];
    for (let i = 0; i < first.length; i += 1) {
      [first[i], second[i]] = [cosine * (first[i] - t * second[i]), cosine * (t * first[i] + second[i])];
    }
  }
  return true;
}

// Orthogonal columns X V, and V by columns.
function orthogonalised(columns) {
  const X = columns.map((column) => [...column]);
  const V = columns.map((_, j) => columns.map((_, i) => (i === j ? 1 : 0)));
  for (let [sweep, moved] = [0, true]; moved && sweep < SWEEPS; sweep += 1) {
    moved = false;
    for (let p = 0; p < X.length; p += 1) for (let q = p + 1; q < X.length; q += 1) moved = rotated(X, V, p, q) || moved;
  }
  return { X, V };
}

export function solution(rows, l2) {
  const d = rows.width - 1;
  const middle = Array.from({ length: d }, (_, j) => (rows.intercept ? meanOf(rows.x.map((x) => x[j])) : 0));
  const ridge = Math.sqrt(rows.n * l2);
  const below = (j) => (l2 ? middle.map((_, i) => (i === j ? ridge : 0)) : []);
  const { X, V } = orthogonalised(middle.map((m, j) => [...rows.x.map((x) => x[j] - m), ...below(j)]));
  const squares = X.map((column) => dot(column, column));
  const least = SINGULAR ** 2 * Math.max(...squares);
  return Array.from({ length: rows.k }, (_, c) => {
    const t = rows.y.map((y) => (rows.k === 1 ? y : y === c ? 1 : -1));
    const mean = rows.intercept ? meanOf(t) : 0;
    const targets = X[0].map((_, i) => (i < rows.n ? t[i] - mean : 0));
    const parts = X.map((column, e) => (squares[e] > least ? dot(column, targets) / squares[e] : 0));
    const w = middle.map((_, j) => V.reduce((sum, column, e) => sum + parts[e] * column[j], 0));
    return [...w, rows.intercept ? mean - dot(w, middle) : 0];
  });
}

export function* passes(rows, settings, start, loss) {
  for (;;) {
    const W = solution(rows, settings.l2);
    const after = evaluated(rows, loss, settings.l2, W);
    yield { steps: [{ weights: W, rows: null, updated: [], size: null }], ...after, byRow: false, position: W, solved: true };
  }
}

export const isFixedMap = () => false;
