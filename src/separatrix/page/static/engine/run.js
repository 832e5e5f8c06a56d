// A run of the page: the steps of a method on some points, and why it ended.
import * as batchPerceptron from "./batch-perceptron.js";
import * as gradientDescent from "./gradient-descent.js";
import * as kernelPerceptron from "./kernel-perceptron.js";
import * as leastSquares from "./least-squares.js";
import { MOST_STEPS } from "./limits.js";
import { lossOf, marginOfRow } from "./losses.js";
import * as newton from "./newton.js";
import * as perceptron from "./perceptron.js";
import { centresOf, featuresOf } from "./radial-basis.js";
import { seedOfRun } from "./random.js";
import { evaluated, lengthOf, rowsOf, scoresAt, signedSum, zeros } from "./rows.js";
import { stoppingRules } from "./rules.js";
import { verdictOf } from "./separability.js";
import { BadRequest, checkedMethod, checkedProblem, labelsOf } from "./settings.js";
import { shipped } from "./shipped.js";

const SOLVERS = {
  perceptron, batch_perceptron: batchPerceptron, gradient_descent: gradientDescent, newton,
  least_squares: leastSquares, kernel_perceptron: kernelPerceptron, radial_basis: perceptron,
};
const PERCEPTRONS = ["perceptron", "batch_perceptron", "kernel_perceptron", "radial_basis"];
const ROUNDING = 1e-12; // of an objective: a rise that may be rounding

function lossName({ name, loss }) {
  if (PERCEPTRONS.includes(name)) return "perceptron";
  return name === "least_squares" ? "squared" : loss;
}

// The penalty that the method uses: some have none.
function penaltyOfMethod({ name, l2 }) {
  return ["batch_perceptron", "kernel_perceptron"].includes(name) ? 0 : l2;
}

function checkedPair(method, loss) {
  if (method.name === "newton" && (!loss.curvature || !loss.convex)) {
    const why = loss.convex ? "defines no curvature" : "is not convex";
    throw new BadRequest(`Newton cannot minimise '${method.loss}', which ${why}: choose logistic, squared or squared_hinge`);
  }
}

export class EngineRun {
  constructor(points, given) {
    this.points = checkedProblem(points);
    this.method = checkedMethod(given);
    this.labels = labelsOf(points);
    this.l2 = penaltyOfMethod(this.method);
    this.solver = SOLVERS[this.method.name];
    this.centres = this.method.name === "radial_basis" ? centresOf(points, this.method) : null;
    this.rows = this.rowsAt(points);
    this.loss = lossOf(lossName(this.method), this.rows.k);
    checkedPair(this.method, this.loss);
    this.isKernel = this.method.name === "kernel_perceptron";
    this.start = this.isKernel ? zeros({ k: this.rows.k, width: this.rows.n }) : this.startingWeights();
    this.known = [];
    this.train();
  }

  rowsAt(points) {
    const features = this.centres ? featuresOf(points, this.centres, this.method.gamma) : points.map((p) => p.slice(0, 2));
    const numbers = points.map((p) => this.labels.indexOf(p[2]));
    return rowsOf(features, numbers, this.labels.length, this.method.fit_intercept);
  }

  startingWeights() {
    const { start, seed } = this.method;
    const { rows } = this;
    if (start === "zeros") return zeros(rows);
    if (start === "sum") return signedSum(rows);
    const drawn = shipped.starts[seed];
    if (!drawn || drawn.length < rows.k * rows.width) {
      throw new BadRequest(`The random start needs a seed from 0 to ${shipped.starts.length - 1} here, and two features: run separatrix playground for others.`);
    }
    const W = Array.from({ length: rows.k }, (_, c) => drawn.slice(c * rows.width, (c + 1) * rows.width));
    if (!rows.intercept) W.forEach((row) => { row[rows.width - 1] = 0; });
    return W;
  }

  // ---- training ------------------------------------------------------------------------------------

  train() {
    const { rows, method } = this;
    const settings = { ...method, l2: this.l2 };
    const seed = method.shuffle || method.name === "gradient_descent" ? seedOf(method) : 0n;
    const from = this.isKernel ? this.points : this.start;
    const passes = this.solver.passes(rows, settings, from, this.loss, seed);
    if (this.isKernel) this.known[0] = passes.next().value.start;
    const ends = stoppingRules({
      start: this.start, fixed: this.solver.isFixedMap(settings), maxIter: method.max_iter,
      stopsClean: this.loss.homogeneous && !this.l2, converges: ["gradient_descent", "newton"].includes(method.name),
      mostPasses: Math.max(1, Math.floor(MOST_STEPS / rows.n)), maxNorm: PERCEPTRONS.includes(method.name) ? method.max_norm : 0,
    });
    Object.assign(this, { steps: [], passes: [], cut: false });
    let number = 0;
    let rule = null;
    while (!rule) {
      const pass = passes.next().value;
      number += 1;
      rule = ends(pass, number);
      if (rule === "diverged") { // the steps of the last pass that can be shown
        this.steps.push(...pass.steps.slice(0, firstOverflow(pass.steps)));
        break;
      }
      this.steps.push(...pass.steps);
      this.passes.push(this.steps.length);
    }
    this.stop = this.settled(rule);
  }

  // Why the run ended, stated for its last weights.
  settled(rule) {
    if (rule === "callback" || PERCEPTRONS.includes(this.method.name)) return rule;
    const { loss } = this;
    const value = this.values(this.steps.length).objective;
    if (!Number.isFinite(value) || rule === "diverged") return "diverged";
    if (loss.convex && !loss.homogeneous) {
      const above = (other) => value > other + ROUNDING * Math.abs(other);
      if (above(this.values(0).objective)) return "diverged";
      const none = evaluated(this.rows, loss, this.l2, zeros(this.rows)).value;
      if (above(none)) return rule === "tol" || rule === "closed form" ? "no progress" : rule;
    }
    if (this.l2 || loss.attained || loss.homogeneous) return rule;
    const { verdict } = verdictOf(this.rows);
    if (verdict === "undecided") return rule === "tol" ? "no progress" : rule;
    return verdict === "overlapping" ? rule : "no minimum";
  }

  // ---- the state after a step; 0 is the start ------------------------------------------------------

  weights(step) { return this.isKernel ? null : step ? this.steps[step - 1].weights : this.start; }

  values(step) {
    if (!this.known[step]) {
      if (this.isKernel) this.known[step] = this.steps[step - 1];
      else this.known[step] = this.evaluatedAt(step);
    }
    return this.known[step];
  }

  evaluatedAt(step) {
    const W = this.weights(step);
    if (step && this.known[step - 1] && W.every((row, c) => row.every((v, j) => v === this.weights(step - 1)[c][j]))) {
      return this.known[step - 1];
    }
    const { mistakes, value } = evaluated(this.rows, this.loss, this.l2, W);
    return { mistakes, objective: value, norm: lengthOf(W) };
  }

  // The margins of the rows of a step, before it; null if it looks at all rows.
  margins(step) {
    const { rows: visited, margins } = this.steps[step - 1];
    if (margins || !visited) return margins ?? null;
    const W = this.weights(step - 1);
    return visited.map((row) => marginOfRow(this.rows.y[row], scoresAt(W, this.rows.x[row])));
  }

  // The coefficient of a row before a step: the totals are counted once.
  coefficientBefore(step, column, row) {
    if (!this.totals) {
      const now = new Map();
      this.totals = this.steps.map(({ coefficients }) => coefficients.map(([c, i, amount]) => {
        const key = `${c} ${i}`;
        const before = now.get(key) ?? 0;
        now.set(key, before + amount);
        return [c, i, before];
      }));
    }
    return this.totals[step - 1].find(([c, i]) => c === column && i === row)[2];
  }

  // Scores of places of the plane after a step, a list for each place.
  scores(places, step) {
    if (!this.isKernel) {
      const Z = this.centres ? featuresOf(places, this.centres, this.method.gamma) : places;
      const W = this.weights(step);
      return Z.map((z) => scoresAt(W, [...z, 1]));
    }
    const sums = Array.from({ length: this.rows.k }, () => new Map());
    for (const { coefficients } of this.steps.slice(0, step)) {
      for (const [c, i, amount] of coefficients) sums[c].set(i, (sums[c].get(i) ?? 0) + amount);
    }
    const kernel = kernelPerceptron.kernelOf(this.method);
    const bias = this.rows.intercept ? 1 : 0;
    const supports = sums.map((own) => [...own].filter(([, a]) => a !== 0));
    return places.map((place) => supports.map((own) => own.reduce((sum, [i, a]) => sum + a * (kernel(place, this.points[i]) + bias), 0)));
  }
}

function firstOverflow(steps) {
  const found = steps.findIndex((one) => (one.weights ? !one.weights.flat().every(Number.isFinite) : !Number.isFinite(one.objective)));
  return found < 0 ? steps.length : found;
}

const seeds = new Map(); // of the orders of a run, by the seed of the page

function seedOf({ seed }) {
  if (!seeds.has(seed)) seeds.set(seed, seedOfRun(seed));
  return seeds.get(seed);
}
