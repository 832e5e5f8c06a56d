// A step in words: the update with its numbers, and one sentence.
import { isSame } from "./rows.js";
import { counted, general, vector } from "./text.js";

const SAME = 1e-9; // relative difference below which numbers are shown as equal

export const mistakesLeft = (mistakes) => (mistakes ? `${counted(mistakes, "mistake")} left` : "no mistakes left");

// The end of a pass, for the sentence of its last row.
export function endOfPass(run, step, stopsClean) {
  const place = run.passes.indexOf(step);
  if (place < 0) return "";
  const first = place ? run.passes[place - 1] : 0;
  if (stopsClean && run.steps.slice(first, step).every((one) => !one.updated.length)) {
    return ` Pass ${place + 1} ends without a mistake: every row is on its side.`;
  }
  return ` Pass ${place + 1} ends, ${mistakesLeft(run.values(step).mistakes)}.`;
}

const nameOf = (run, row) => run.labels[run.rows.numbers[row]];
const isPerceptron = (run) => ["perceptron", "radial_basis"].includes(run.method.name);
const isBatch = (run) => run.method.name === "batch_perceptron";

// ---- arithmetic ----------------------------------------------------------------------------------

class Writer {
  constructor(run) {
    Object.assign(this, { run, bias: run.rows.intercept });
    this.names = this.bias ? "(w, b)" : "w";
    this.x = this.bias ? "(x, 1)" : "x";
  }

  cut(row) { return vector(this.bias ? row : row.slice(0, -1)); }

  shown(W) {
    if (W.length === 1) return this.cut(W[0]);
    return W.map((row, c) => `${this.run.labels[c]}: ${this.cut(row)}`).join(", ");
  }

  shrunk(decay) {
    if (decay === 1) return this.names;
    return this.bias ? `(${general(decay)} w, b)` : `${general(decay)} w`;
  }

  sum(old, decay, gain, x) {
    const before = old.map((v, j) => (j < old.length - 1 ? decay * v : v));
    return `${this.cut(before)} ${gain < 0 ? "-" : "+"} ${general(Math.abs(gain))}*${this.cut(x)}`;
  }

  oneColumn(old, after, x, gain, decay, y) {
    const left = `${this.names} <- ${this.shrunk(decay)}`;
    if (!gain) return `${left} = ${this.cut(after)}`;
    const a = gain * y;
    const rule = Math.abs(a - 1) > SAME ? `${left} + a y ${this.x}, a = ${general(a)}` : `${left} + y ${this.x}`;
    return `${rule}: ${this.sum(old, decay, gain, x)} = ${this.cut(after)}`;
  }

  // before + a y (x, 1) = after; null if the update has another form.
  byRow(step, before, after) {
    const { rows, method } = this.run;
    const { size, updated, rows: [row] } = this.run.steps[step - 1];
    const x = rows.x[row].map((v, j, all) => (j < all.length - 1 ? v : this.bias ? 1 : 0));
    const decay = this.run.l2 && size !== null ? Math.max(0, 1 - 2 * size * method.l2) : 1;
    const kept = before.map((own) => own.map((v, j) => (j < own.length - 1 ? decay * v : v)));
    const length = x.reduce((sum, v) => sum + v * v, 0);
    const gains = after.map((own, c) => (!length || !updated.length ? 0
      : own.reduce((sum, v, j) => sum + (v - kept[c][j]) * x[j], 0) / length));
    const missed = Math.max(...after.map((own, c) => Math.max(...own.map((v, j) => Math.abs(v - kept[c][j] - gains[c] * x[j])))));
    const largest = Math.max(1, ...after.flat().map(Math.abs));
    if (!(missed <= SAME * largest)) return null;
    if (before.length === 1) return this.oneColumn(before[0], after[0], x, gains[0], decay, rows.y[row]);
    const each = before.map((old, c) => (gains[c] || decay !== 1
      ? `${this.run.labels[c]}: ${this.sum(old, decay, gains[c], x)} = ${this.cut(after[c])}` : null));
    return `${this.names} <- ${this.shrunk(decay)} + a ${this.x}, ${each.filter(Boolean).join("; ")}`;
  }

  byGradient(step, before, after) {
    const { method } = this.run;
    const { size, updated } = this.run.steps[step - 1];
    const change = after.map((own, c) => own.map((v, j) => v - before[c][j]));
    let text = `${this.names} <- ${this.names} + change`;
    if (isBatch(this.run)) {
      text = `${this.names} <- ${this.names} + the sum of y ${this.x} over ${counted(updated.length, "mistake")}`;
    } else if (method.name === "newton") text = `${this.names} <- ${this.names} - t H^-1 gradient`;
    else if (method.name === "gradient_descent" && size) {
      const gradient = this.shown(change.map((own) => own.map((v) => -v / size)));
      text = `${this.names} <- ${this.names} - ${general(size)} gradient`;
      return `${text}: ${this.shown(before)} - ${general(size)}*${gradient} = ${this.shown(after)}`;
    }
    return `${text}: ${this.shown(before)} + ${this.shown(change)} = ${this.shown(after)}`;
  }
}

const MOST_WEIGHTS = 30; // weights of a recording; of more only the rule is shown

export function arithmetic(run, step) {
  if (run.method.name === "kernel_perceptron") return ofCoefficients(run, step);
  const writer = new Writer(run);
  const [before, after] = [run.weights(step - 1), run.weights(step)];
  if (before.flat().length > MOST_WEIGHTS) {
    return isPerceptron(run) ? `${writer.names} <- ${writer.names} + step y ${writer.x} on a mistake`
      : `${writer.names} <- ${writer.names} + change`;
  }
  if (isSame(before, after)) return `${writer.names} stays ${writer.shown(after)}`;
  if (run.method.name === "least_squares") return `${writer.names} = the least squares solution: ${writer.shown(after)}`;
  const { rows } = run.steps[step - 1];
  return (rows && rows.length === 1 && writer.byRow(step, before, after)) || writer.byGradient(step, before, after);
}

function ofCoefficients(run, step) {
  const { coefficients } = run.steps[step - 1];
  if (!coefficients.length) return "no coefficient changes";
  const each = coefficients.map(([column, row, amount]) => {
    const [sign, size] = [amount < 0 ? "-" : "+", general(Math.abs(amount))];
    const name = `a_${row}${run.labels.length > 2 ? `[${run.labels[column]}]` : ""}`;
    const gain = run.labels.length === 2 && Math.abs(amount) === 1 ? "+ y" : `${sign} ${size}`;
    const before = run.coefficientBefore(step, column, row);
    return `${name} <- ${name} ${gain}: ${general(before)} ${sign} ${size} = ${general(before + amount)}`;
  });
  return `${each.join("; ")}, in s(x) = sum of a_i ${run.rows.intercept ? "(K(x_i, x) + 1)" : "K(x_i, x)"}`;
}

// ---- sentences -----------------------------------------------------------------------------------

export function sentence(run, step) {
  const { rows } = run.steps[step - 1];
  if (run.method.name === "kernel_perceptron") return ofKernelRow(run, step) + endOfPass(run, step, true);
  if (!rows) return ofAllRows(run, step);
  const text = rows.length === 1 ? ofOneRow(run, step, rows[0])
    : `${rows.length} rows at once, the mean of their gradients: ${trend(run, step)}.`;
  return text + endOfPass(run, step, isPerceptron(run) && !run.l2);
}

function ofKernelRow(run, step) {
  const { rows: [row], margins: [margin], updated } = run.steps[step - 1];
  const who = `Row ${row} (class ${nameOf(run, row)})`;
  if (!updated.length) return `${who} is on its side, margin ${general(margin)}: nothing changes.`;
  const where = margin === 0 ? "lies on the boundary, which counts as wrong" : `is on the wrong side, margin ${general(margin)}`;
  return `${who} ${where}: its strength grows by one, and its kernel bends the scores.`;
}

function ofOneRow(run, step, row) {
  const [margin, moved] = [run.margins(step)[0], run.steps[step - 1].updated.length > 0];
  const who = `Row ${row} (class ${nameOf(run, row)})`;
  if (isPerceptron(run)) {
    if (!moved) {
      const rest = run.l2 ? "only the penalty shrinks the weights" : "nothing changes";
      return `${who} is on its side, margin ${general(margin)}: ${rest}.`;
    }
    const where = margin === 0 ? "lies on the boundary, which counts as wrong" : `is on the wrong side, margin ${general(margin)}`;
    return `${who} ${where}: ${towards(run, row)}.`;
  }
  if (!moved || isSame(run.weights(step - 1), run.weights(step))) {
    return `${who}, margin ${general(margin)}, has no slope in its loss: nothing changes.`;
  }
  return `${who}, margin ${general(margin)}: ${towards(run, row)}, as far as its loss is steep.`;
}

function towards(run, row) {
  if (run.labels.length > 2) {
    return `its class gains the row, ${isPerceptron(run) ? "its best rival loses it" : "the others lose some of it"}`;
  }
  return `${run.rows.y[row] > 0 ? "adding" : "subtracting"} it raises its margin`;
}

function ofAllRows(run, step) {
  const { name } = run.method;
  if (isBatch(run)) {
    const wrong = run.steps[step - 1].updated.length;
    if (!wrong) return "No row is wrong: nothing is added, and the run ends.";
    return wrong === 1 ? "1 row is wrong and is added." : `${wrong} rows are wrong, and their sum is added at once.`;
  }
  if (name === "least_squares") {
    return `The minimum of the squared loss, by solving equations: ${mistakesLeft(run.values(step).mistakes)}.`;
  }
  const who = name === "newton" ? "A Newton step, to the foot of a parabola fitted to the objective"
    : "A step down the gradient of all rows";
  return `${who}: ${trend(run, step)}.`;
}

function trend(run, step) {
  const [old, { objective: now, mistakes }] = [run.values(step - 1).objective, run.values(step)];
  if (!Number.isFinite(now)) return "the objective is beyond floating point, the step far too long";
  const left = mistakesLeft(mistakes);
  if (Math.abs(now - old) <= SAME * Math.abs(old)) return `the objective stays at ${general(now)}, ${left}`;
  return `the objective ${now < old ? "falls" : "rises"} from ${general(old)} to ${general(now)}, ${left}`;
}
