// Questions about the next steps of a run, with the right answer and its reason.
//
// The answers are taken from the run or from the proof of separability: nothing is guessed.
import { kernelOf } from "./kernel-perceptron.js";
import { marginOfRow } from "./losses.js";
import { isBounded } from "./recording.js";
import { rowsOf } from "./rows.js";
import { isConstant } from "./schedules.js";
import { verdictOf } from "./separability.js";
import { BadRequest, checkedWhole } from "./settings.js";
import { general, mistakesWithin } from "./text.js";
import { sentence } from "./words.js";

const MOST_KERNEL_ROWS = 30; // whose products are the features of an exact proof
const SAME = 1e-12; // relative difference of scores that counts as none
const ENDINGS = {
  "It converges, and detects it": ["no mistakes", "tol", "closed form"],
  "It makes no more progress, and stops": ["no progress"],
  "It would go on forever": ["cycle", "no minimum"],
  "It reaches the maximum number of passes": ["max_iter", "max_norm", "callback"],
  "It diverges": ["diverged"],
};
const REASONS = {
  "no mistakes": "every point is on its side",
  tol: "the objective and the weights hardly change",
  "closed form": "the equations of the minimum are solved directly",
  "no progress": "nothing better was found, without a proof that there is nothing better",
  cycle: "the weights are those of an earlier pass, so that everything repeats",
  "no minimum": "a line has every point on its side, or some on the line itself, and there is no penalty: longer weights are always better, so the objective decreases forever",
  max_iter: "it was still moving after the last pass",
  max_norm: "the weights are longer than the limit",
  callback: "it was still moving at the limit of the page",
  diverged: "the objective ended above its start: the step is too long",
};

const asked = (text, choices, right, reason, more = {}) => ({
  text, choices, right, reason, row: null, right_row: null, asks_row: false, shows: null, ...more,
});
const noQuestion = (why) => asked(why, [], null, "");

// Which way the line moves at the next row.
function whichWay(run, step) {
  if (step === run.steps.length) return noQuestion("The run has ended: go back some steps, and ask again.");
  const [before, after] = [run.scores(run.points, step), run.scores(run.points, step + 1)];
  const rows = run.steps[step].rows ?? run.points.map((_, i) => i);
  const margin = (scores, row) => marginOfRow(run.rows.y[row], scores[row]);
  const row = rows.reduce((best, one) => (margin(before, one) < margin(before, best) ? one : best), rows[0]);
  const many = run.labels.length > 2;
  const [low, high] = run.labels;
  const choices = many ? ["grows", "shrinks"].map((will) => `The lead of row ${row}'s class ${will}`)
    : [high, low].map((c) => `Row ${row} lies deeper in class ${c}`);
  const [old, now] = many ? [margin(before, row), margin(after, row)] : [before[row][0], after[row][0]];
  const right = Math.abs(now - old) <= SAME * Math.max(1, Math.abs(old)) ? 2 : now < old ? 1 : 0;
  const turn = rows.length === 1 ? "is processed next" : "has the smallest margin";
  const what = many ? "lead over its best rival" : "score w x + b";
  const goes = right === 2 ? `stays ${general(old, 4)}` : `goes from ${general(old, 4)} to ${general(now, 4)}`;
  const line = !run.isKernel && !run.centres && !many ? "line" : "boundary";
  return asked(
    `Row ${row} (class ${run.labels[run.rows.numbers[row]]}) ${turn}. Which way will the ${line} move?`,
    [...choices, "It does not move"], right, `${sentence(run, step + 1)} The row's ${what} ${goes}.`, { row, shows: step + 1 },
  );
}

// Which row is on the wrong side when it is processed.
function nextMistake(run, step) {
  const { name, form, shuffle } = run.method;
  const inOrder = name === "gradient_descent" ? form === "sequential"
    : ["perceptron", "kernel_perceptron", "radial_basis"].includes(name) && !shuffle;
  if (!inOrder) {
    return noQuestion("The next mistake can be predicted only if points are processed one by one and in order: use the perceptron, row by row, without Shuffle.");
  }
  const text = "Points are processed in order, 0, 1, 2 and so on, and again from 0. Which is the next on the wrong side, or on the line itself, when it is processed? Click it.";
  for (let later = step; later < run.steps.length; later += 1) {
    if (!(run.margins(later + 1)[0] <= 0)) continue;
    const [row, waited] = [run.steps[later].rows[0], later - step];
    const passed = waited ? `${waited} ${waited === 1 ? "row before it is" : "rows before it are"} on the right side. ` : "";
    return asked(text, ["None"], null, passed + sentence(run, later + 1), { right_row: row, asks_row: true, shows: later + 1 });
  }
  return asked(text, ["None"], 0, "All points processed from here to the end of the run are on their side.", { asks_row: true });
}

// Whether separability decides if the run ever stops.
function theoremHolds({ method, points }) {
  if (!method.name.includes("perceptron") && method.name !== "radial_basis") return false;
  if (method.name === "kernel_perceptron" && points.length > MOST_KERNEL_ROWS) return false;
  return (method.l2 === 0 || method.name !== "perceptron") && isConstant(method);
}

// The rows whose separability decides: of a kernel, its values for all points, with the 1 of the bias.
function decidingRows(run) {
  if (!run.isKernel) return run.rows;
  const kernel = kernelOf(run.method);
  const Z = run.points.map((a) => run.points.map((b) => kernel(a, b) + (run.rows.intercept ? 1 : 0)));
  return rowsOf(Z, run.rows.numbers, run.labels.length, false);
}

function willItStop(run) {
  if (!theoremHolds(run)) {
    const right = Object.values(ENDINGS).findIndex((words) => words.includes(run.stop));
    return asked(
      `At most ${run.method.max_iter} passes are allowed. How does this run end?`, Object.keys(ENDINGS), right,
      `It ends with '${run.stop}': ${REASONS[run.stop]}.`,
    );
  }
  const { verdict, mistake_bound: bound } = verdictOf(decidingRows(run));
  const text = "With an unlimited number of passes, will the perceptron ever stop?";
  const choices = ["Yes, after finitely many mistakes", "No, never"];
  if (verdict === "undecided") {
    return noQuestion("Whether the perceptron ever stops is not decided here: it takes too much work. Place fewer points, or run separatrix playground.");
  }
  if (verdict === "separable") {
    const most = bound !== null && isBounded(run) ? `, after at most ${mistakesWithin(bound)}` : "";
    return asked(text, choices, 0, `The classes can be separated strictly, so it must stop${most}.`);
  }
  const why = verdict === "overlapping" ? "nothing separates them" : "some points always stay on the boundary";
  return asked(text, choices, 1, `It stops only when every point is strictly on its side, but ${why}.`);
}

const KINDS = { way: whichWay, mistake: nextMistake, stop: willItStop };

export function questionOf(run, kind, step) {
  if (!Object.hasOwn(KINDS, kind)) throw new BadRequest(`kind: expected one of ${Object.keys(KINDS).join(", ")}`);
  return KINDS[kind](run, checkedWhole(step, "step", 0, run.steps.length));
}
