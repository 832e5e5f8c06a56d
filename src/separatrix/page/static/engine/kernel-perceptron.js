// The perceptron in the dual: scores s(x) = sum of a_i (K(x_i, x) + 1), seen only through a kernel.
//
// Aizerman, Braverman and Rozonoer (1964). Every mistake changes the coefficient of its own row; the 1
// is that of the bias. An update costs one row of the kernel matrix.
import { bestRival, isMistake, marginOfRow } from "./losses.js";
import { orderOfPass } from "./random.js";
import { isConstant, stepSize } from "./schedules.js";

export function kernelOf({ kernel, gamma, degree }) {
  if (kernel === "rbf") return (a, b) => Math.exp(-gamma * ((a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2));
  if (kernel === "linear") return (a, b) => a[0] * b[0] + a[1] * b[1];
  return (a, b) => {
    const base = gamma * (a[0] * b[0] + a[1] * b[1]) + 1;
    let value = base;
    for (let power = 1; power < degree; power += 1) value *= base;
    return value;
  };
}

// The columns that a mistake changes, with the sign of the change.
export function changesOf(rows, row, scores) {
  const y = rows.y[row];
  return rows.k === 1 ? [[0, y]] : [[y, 1], [bestRival(y, scores), -1]];
}

// The scores of all rows, one list per column, and the squared length of the weights.
class State {
  constructor(rows, points, settings) {
    Object.assign(this, { rows, points, squared: 0 });
    this.kernel = kernelOf(settings);
    this.bias = rows.intercept ? 1 : 0;
    this.scores = Array.from({ length: rows.k }, () => new Float64Array(rows.n));
    this.known = new Map(); // rows of the kernel matrix
  }

  line(row) {
    if (!this.known.has(row)) this.known.set(row, Float64Array.from(this.points, (x) => this.kernel(x, this.points[row]) + this.bias));
    return this.known.get(row);
  }

  scoresOf(row) { return this.scores.map((column) => column[row]); }

  add(column, row, amount) {
    const [own, line] = [this.scores[column], this.line(row)];
    this.squared += 2 * amount * own[row] + amount * amount * line[row];
    for (let i = 0; i < own.length; i += 1) own[i] += amount * line[i];
  }

  evaluated(loss) {
    let [mistakes, sum] = [0, 0];
    for (let i = 0; i < this.rows.n; i += 1) {
      const scores = this.scoresOf(i);
      if (isMistake(this.rows.y[i], scores)) mistakes += 1;
      sum += loss.value(this.rows.y[i], scores);
    }
    return { mistakes, objective: sum / this.rows.n, norm: Math.sqrt(Math.max(this.squared, 0)) };
  }
}

// A constant step only rescales: the run has step 1 and is scaled where it is shown.
export function* passes(rows, settings, points, loss, seed) {
  const unit = isConstant(settings) ? settings.learning_rate : 1;
  const [run, shown] = [new State(rows, points, settings), unit === 1 ? null : new State(rows, points, settings)];
  let [t, now] = [0, run.evaluated(loss)];
  yield { start: now };
  for (let pass = 0; ; pass += 1) {
    const order = settings.shuffle ? orderOfPass(rows.n, seed, pass) : [...rows.x.keys()];
    const steps = [];
    let missed = 0;
    for (const row of order) {
      t += 1;
      const size = unit === 1 ? stepSize(settings, t) : 1;
      const scores = run.scoresOf(row);
      const margin = marginOfRow(rows.y[row], (shown ?? run).scoresOf(row));
      const wrong = isMistake(rows.y[row], scores);
      const changes = wrong ? changesOf(rows, row, scores) : [];
      for (const [column, sign] of changes) {
        run.add(column, row, sign * size);
        shown?.add(column, row, unit * sign);
      }
      if (wrong) now = (shown ?? run).evaluated(loss);
      missed += wrong ? 1 : 0;
      steps.push({
        rows: [row], margins: [margin], updated: wrong ? [row] : [], ...now,
        coefficients: changes.map(([column, sign]) => [column, row, unit * sign * size]),
      });
    }
    const length = unit * Math.sqrt(Math.max(run.squared, 0));
    yield { steps, mistakes: missed, byRow: true, length, position: run.scores.map((column) => Array.from(column)) };
  }
}

export const isFixedMap = (settings) => !settings.shuffle && isConstant(settings);
