// A run as a recording: the format that the library writes, in parts.
import { STEPS_AT_ONCE } from "./limits.js";
import { pythonOf } from "./python.js";
import { isSame } from "./rows.js";
import { isConstant } from "./schedules.js";
import { verdictOf } from "./separability.js";
import { checkedWhole } from "./settings.js";
import { arithmetic, sentence } from "./words.js";

const MOST_WEIGHTS = 30;
const CURVE = 161; // points of the curve of a loss

const finite = (value) => (Number.isFinite(value) ? value : null);
const finiteAll = (W) => W.map((row) => row.map(finite));

// Whether the theory bounds the mistakes of this run: the online perceptron from zero, with a
// constant step, a bias and no penalty.
export function isBounded({ method, start }) {
  const zero = start.every((row) => row.every((v) => v === 0));
  return method.name === "perceptron" && zero && !method.l2 && method.fit_intercept && isConstant(method);
}

function bounds(run) {
  if (!isBounded(run)) return { updates: null, objective: null };
  const found = verdictOf(run.rows);
  if (found.verdict === "undecided") return { updates: null, objective: null, undecided: true };
  return { updates: found.mistake_bound ?? null, objective: null };
}

function described({ method, loss, l2, isKernel }) {
  const kernel = isKernel ? { kernel: method.kernel } : null;
  return {
    solver: isKernel ? null : { solver: method.name }, loss: loss.name, l2, fit_intercept: method.fit_intercept, kernel,
    seed: method.seed,
  };
}

// The pocket after every step: the step at the end of a pass with the fewest mistakes so far.
function bestSteps(run) {
  if (!run.best) {
    const ends = new Set(run.passes);
    let best = null;
    run.best = run.steps.map((_, i) => {
      const step = i + 1;
      if (ends.has(step) && (best === null || run.values(step).mistakes < run.values(best).mistakes)) best = step;
      return best;
    });
  }
  return run.best;
}

// The mean of the weights after every step so far.
function averages(run) {
  if (run.isKernel || run.method.keep !== "average" || ["newton", "least_squares"].includes(run.method.name)) return null;
  if (!run.averages) {
    const sum = run.start.map((row) => row.map(() => 0));
    run.averages = run.steps.map(({ weights }, i) => sum.map((row, c) => row.map((_, j) => {
      row[j] += weights[c][j];
      return row[j] / (i + 1);
    })));
  }
  return run.averages;
}

function columns(run, first, last) {
  const shown = !run.isKernel && run.start.flat().length <= MOST_WEIGHTS;
  const numbers = Array.from({ length: last - first + 1 }, (_, i) => first + i);
  const each = (of) => numbers.map(of);
  const step = (number) => run.steps[number - 1];
  const average = shown ? averages(run) : null;
  return {
    rows: each((n) => step(n).rows),
    margins: each((n) => run.margins(n)?.map(finite) ?? null),
    updated: each((n) => step(n).updated),
    change: each((n) => {
      if (!shown || isSame(run.weights(n), run.weights(n - 1))) return null;
      return run.weights(n).map((row, c) => row.map((v, j) => finite(v - run.weights(n - 1)[c][j])));
    }),
    weights: each((n) => (shown ? finiteAll(step(n).weights) : null)),
    coefficients: run.isKernel ? each((n) => step(n).coefficients) : null,
    mistakes: each((n) => run.values(n).mistakes),
    objective: each((n) => finite(run.values(n).objective)),
    norm: each((n) => finite(run.values(n).norm)),
    average: average && each((n) => finiteAll(average[n - 1])),
    best: bestSteps(run).slice(first - 1, last),
    arithmetic: each((n) => arithmetic(run, n)),
    sentence: each((n) => sentence(run, n)),
  };
}

export function recordingOf(run, first = 1, count = Infinity) {
  const total = run.steps.length;
  checkedWhole(first, "first", 1, Math.max(1, total));
  const start = run.values(0);
  return {
    format: "separatrix recording", version: 1, method: described(run),
    data: { classes: run.labels, x: run.rows.x.map((row) => row.slice(0, -1)), y: run.rows.numbers },
    bounds: bounds(run), total, cut: run.cut, stop: run.stop, passes: run.passes,
    start: {
      weights: run.isKernel || run.start.flat().length > MOST_WEIGHTS ? null : run.start,
      mistakes: start.mistakes, objective: finite(start.objective), norm: finite(start.norm),
    },
    first, steps: columns(run, first, Math.min(total, first + count - 1)),
  };
}

// The loss by the margin, as far as the margins at the end reach; for two classes.
function lossCurve(run) {
  if (run.rows.k > 1) return null;
  const scores = run.scores(run.points, run.steps.length).map(([s]) => Math.abs(s)).filter(Number.isFinite);
  const reach = Math.min(100, Math.max(2, ...scores));
  const margin = Array.from({ length: CURVE }, (_, i) => -reach + (2 * reach * i) / (CURVE - 1));
  return { margin, loss: margin.map(run.loss.binary.phi) };
}

// The answer to the page: a part of the recording, and the facts that accompany it.
export function answerOf(run, first = 1) {
  return {
    recording: recordingOf(run, first, STEPS_AT_ONCE), python: pythonOf(run),
    line: !["kernel_perceptron", "radial_basis"].includes(run.method.name), curve: lossCurve(run), centers: run.centres,
  };
}
