// Challenges by teachers: a condition from a list, validated, checked, and refused where the verdict on
// separability shows that it cannot be met.
import { foldsOf } from "./cross-validation.js";
import { marginOfRow } from "./losses.js";
import { evaluated, lengthOf, rowsOf, scoresAt } from "./rows.js";
import { EngineRun } from "./run.js";
import { verdictOf } from "./separability.js";
import { BadRequest, checkedPoints, checkedProblem, checkedWhole, isObject, labelsOf } from "./settings.js";
import { counted, general } from "./text.js";

const LONGEST = { title: 80, task: 400, hint: 300 };
const FOLDS = 4; // one of them is held out
const LARGEST = 1e6; // number in a condition
const ROUNDING = 1e-9; // relative: what is refused differs by more
const CONTROL = /[\u0000-\u0009\u000b-\u001f\u007f]/;

const answer = (done, text) => ({ done, text });

function checkedNumber(value, name, low, high) {
  if (typeof value !== "number" || !(value >= low && value <= high)) throw new BadRequest(`${name}: expected a number from ${low} to ${high}`);
}

// ---- what the points allow -----------------------------------------------------------------------

// The points that are held out: about a quarter of each class.
function heldOf(points) {
  const labels = labelsOf(points);
  const folds = foldsOf(points.map((point) => labels.indexOf(point[2])), FOLDS);
  return { held: points.filter((_, i) => folds[i] === 0), training: points.filter((_, i) => folds[i] !== 0) };
}

function verdictOn(points, labels = labelsOf(points)) {
  return verdictOf(rowsOf(points.map((point) => point.slice(0, 2)), points.map((point) => labels.indexOf(point[2])), labels.length, true));
}

// Why no line separates, or null.
function inseparable({ verdict }, what) {
  if (verdict === "undecided") return `Whether a line separates ${what} is not decided here: place fewer points.`;
  return verdict === "separable" ? null : `It cannot be met: no line separates ${what} (${verdict}).`;
}

// The distance of a place from the weights (w1, w2) of all separating lines, which are a sector.
function distanceFromSeparators(points, [u, v], [a, b]) {
  const [low, high] = labelsOf(points).map((label) => points.filter((point) => point[2] === label));
  const turn = (x, y) => Math.atan2(u * y - v * x, u * x + v * y);
  let [least, most] = [Infinity, -Infinity];
  for (const p of high) {
    for (const q of low) {
      const angle = turn(p[0] - q[0], p[1] - q[1]);
      [least, most] = [Math.min(least, angle), Math.max(most, angle)];
    }
  }
  const [first, last, here] = [most - Math.PI / 2, least + Math.PI / 2, turn(a, b)];
  const size = Math.hypot(a, b);
  if (!size || (here >= first && here <= last)) return 0;
  const toRay = (ray) => {
    const apart = Math.abs(Math.atan2(Math.sin(here - ray), Math.cos(here - ray)));
    return apart < Math.PI / 2 ? size * Math.sin(apart) : size;
  };
  return Math.min(toRay(first), toRay(last));
}

// ---- the conditions ------------------------------------------------------------------------------

const lastWeights = (run) => run.weights(run.steps.length);
const mistakesOf = (run, points) => evaluated(run.rowsAt(points), run.loss, 0, lastWeights(run)).mistakes;

// entries: what each holds besides its kind; check: their values; text: the condition in words; impossible:
// why fixed points cannot meet it; met: whether a run meets it.
const CONDITIONS = {
  margin: {
    entries: ["value"],
    check: ({ value }) => checkedNumber(value, "condition.value", 1e-6, LARGEST),
    text: ({ value }) => `Every point ends at a margin of ${general(value)} or more, for (w, b) of length 1.`,
    impossible({ value }, points) {
      const found = verdictOn(points);
      const { margin, margin_words: words } = found;
      return inseparable(found, "these points") ?? (value > margin * (1 + ROUNDING) ? `It cannot be met: the largest margin of these points is ${words}.` : null);
    },
    met({ value }, points, method) {
      const run = new EngineRun(points, method);
      const W = lastWeights(run);
      const margin = Math.min(...run.rows.x.map((x, i) => marginOfRow(run.rows.y[i], scoresAt(W, x)))) / lengthOf(W);
      return answer(margin >= value, Number.isFinite(margin) ? `The smallest margin at the end is ${general(margin, 4)}.` : "The weights at the end have no margin.");
    },
  },
  updates: {
    entries: ["value"],
    check: ({ value }) => checkedWhole(value, "condition.value", 1, LARGEST),
    text: ({ value }) => `The perceptron, row by row, ends without mistakes after at most ${counted(value, "update")}.`,
    impossible: (_, points) => inseparable(verdictOn(points), "these points"),
    met({ value }, points, method) {
      const run = new EngineRun(points, method);
      if (run.method.name !== "perceptron") return answer(false, "Use the perceptron, row by row.");
      const updates = run.steps.filter((step) => step.updated.length).length;
      if (run.stop !== "no mistakes") return answer(false, `The run does not end without mistakes, but with '${run.stop}'.`);
      return answer(updates <= value, `It needs ${counted(updates, "update")}.`);
    },
  },
  held_out: {
    entries: ["value"],
    check({ value }, points) {
      checkedWhole(value, "condition.value", 0, points.length);
      const least = Math.min(...labelsOf(points).map((label) => points.filter((point) => point[2] === label).length));
      if (least < FOLDS) throw new BadRequest(`points: held-out mistakes need ${FOLDS} points of each class`);
    },
    text: ({ value }) => `A quarter of the points is held out, fold 1 of ${FOLDS}: a run on the others makes at most ${counted(value, "mistake")} on them.`,
    impossible: ({ value }, points) => (value ? null : inseparable(verdictOn(heldOf(points).held, labelsOf(points)), "the held-out points")),
    met({ value }, points, method) {
      const { held, training } = heldOf(points);
      const wrong = mistakesOf(new EngineRun(training, method), held);
      return answer(wrong <= value, `${counted(wrong, "mistake")} on ${held.length} held-out points.`);
    },
  },
  disc: {
    entries: ["center", "radius"],
    check({ center, radius }, points) {
      if (!Array.isArray(center) || center.length !== 2) throw new BadRequest("condition.center: expected [w1, w2]");
      center.forEach((one, i) => checkedNumber(one, `condition.center[${i}]`, -LARGEST, LARGEST));
      checkedNumber(radius, "condition.radius", 1e-6, LARGEST);
      if (labelsOf(points).length !== 2) throw new BadRequest("points: a disc of weights needs two classes");
    },
    text: ({ center, radius }) => `No mistake at the end, and (w1, w2) is at most ${general(radius)} from (${center.map((v) => general(v)).join(", ")}).`,
    impossible({ center, radius }, points) {
      const found = verdictOn(points);
      const why = inseparable(found, "these points");
      if (why) return why;
      const far = distanceFromSeparators(points, found.direction, center);
      return far > radius * (1 + ROUNDING) ? `It cannot be met: the weights of separating lines are ${general(far, 4)} or more from the centre.` : null;
    },
    met({ center, radius }, points, method) {
      const run = new EngineRun(points, method);
      const [w1, w2] = lastWeights(run)[0];
      const [wrong, far] = [mistakesOf(run, points), Math.hypot(w1 - center[0], w2 - center[1])];
      return answer(!wrong && far <= radius, `${counted(wrong, "mistake")} at the end, and (w1, w2) is ${general(far, 4)} from the centre.`);
    },
  },
};

// ---- what the page asks --------------------------------------------------------------------------

function checkedText(value, name) {
  if (typeof value !== "string" || value.length > LONGEST[name] || CONTROL.test(value)) throw new BadRequest(`challenge.${name}: expected text of up to ${LONGEST[name]} letters`);
  if (name !== "hint" && !value.trim()) throw new BadRequest(`challenge.${name}: expected some text`);
  return value;
}

function checkedCondition(given, points) {
  if (!isObject(given) || !Object.hasOwn(CONDITIONS, given.kind)) throw new BadRequest(`challenge.condition: expected a kind, one of ${Object.keys(CONDITIONS).join(", ")}`);
  const { kind } = given;
  const { entries, check } = CONDITIONS[kind];
  const other = Object.keys(given).find((name) => name !== "kind" && !entries.includes(name));
  if (other !== undefined) throw new BadRequest(`condition.${other.slice(0, 40)}: there is no such entry`);
  check(given, points);
  return { kind, ...Object.fromEntries(entries.map((name) => [name, given[name]])) };
}

// A challenge of a link or of the form; its own points are those of the page unless it has others.
export function checkedOwn(given, points) {
  const { title, task, hint = "", fixed, condition, points: start = points, ...others } = given;
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) throw new BadRequest(`challenge.${unknown.slice(0, 40)}: there is no such entry`);
  if (typeof fixed !== "boolean") throw new BadRequest("challenge.fixed: expected true or false");
  checkedProblem(checkedPoints(start));
  return {
    title: checkedText(title, "title"), task: checkedText(task, "task"), hint: checkedText(hint, "hint"), fixed,
    condition: checkedCondition(condition, start), points: start.map(([u, v, label]) => [u, v, label]),
  };
}

export const conditionText = (condition) => CONDITIONS[condition.kind].text(condition);

// Why a challenge cannot be met, or null.
export function impossible({ fixed, condition, points }) {
  return fixed ? CONDITIONS[condition.kind].impossible(condition, points) : null;
}

export function metBy({ fixed, condition, points: start }, { points, method }) {
  const sorted = (all, of) => JSON.stringify(all.map(of).sort());
  if (fixed && sorted(points, String) !== sorted(start, String)) return answer(false, "The points of this challenge are fixed: begin again, or undo.");
  if (sorted(points, (point) => point[2]) !== sorted(start, (point) => point[2])) {
    return answer(false, "Points may move, but none may be added, removed or given another class: begin again, or undo.");
  }
  if (["kernel_perceptron", "radial_basis"].includes(method.name)) return answer(false, "Use a method whose boundary is a line.");
  return CONDITIONS[condition.kind].met(condition, points, method);
}
