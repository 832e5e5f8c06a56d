// Challenges: tasks to solve with points and settings, checked by the engine.
import { EngineRun } from "./run.js";
import { verdictOf } from "./separability.js";
import { BadRequest } from "./settings.js";
import { shipped } from "./shipped.js";
import { general } from "./text.js";

const UPDATES = 20; // that the first challenge asks for
const NO_VERDICT = "Whether a line separates these points is not decided here: place fewer points.";

// Points that the class of the larger score puts on a wrong side at the end of the run.
function wrongAtTheEnd(run) {
  const scores = run.scores(run.points, run.steps.length);
  return scores.filter((own, i) => {
    const number = run.rows.numbers[i];
    return own.length === 1 ? (own[0] >= 0 ? 1 : 0) !== number : own.indexOf(Math.max(...own)) !== number;
  }).length;
}

// The number of initial points that are missing, and of points that were added.
function compared(points, start) {
  const left = start.map(String);
  let added = 0;
  for (const point of points) {
    const place = left.indexOf(String(point));
    if (place >= 0) left.splice(place, 1);
    else added += 1;
  }
  return { missing: left.length, added };
}

const verdictHere = (run) => verdictOf(run.rows);
const answer = (done, text) => ({ done, text });

function manyUpdates({ points }) {
  const run = new EngineRun(points, { name: "perceptron", max_iter: 2000 });
  if (points.length !== 4) return answer(false, `There are ${points.length} points; expected four.`);
  const { verdict } = verdictHere(run);
  if (verdict === "undecided") return answer(false, NO_VERDICT);
  if (verdict !== "separable") return answer(false, "No line separates these four points: the updates never end.");
  const updates = run.steps.reduce((sum, one) => sum + one.updated.length, 0);
  if (run.stop !== "no mistakes") return answer(true, `More than ${updates} updates, and still no end within the limits of the page.`);
  const text = `The perceptron needs ${updates} updates.`;
  return answer(updates > UPDATES, updates > UPDATES ? text : `${text} Expected more than ${UPDATES}.`);
}

function onePoint({ points }, start) {
  const { missing, added } = compared(points, start);
  if (missing) return answer(false, "The original points must not move: begin again, or undo.");
  if (added !== 1) return answer(false, `Add one point: ${added} were added.`);
  const found = verdictHere(new EngineRun(points, { max_iter: 1 }));
  if (found.verdict === "undecided") return answer(false, NO_VERDICT);
  if (found.verdict === "separable") return answer(false, `A line still separates them; the largest margin is ${found.margin_words}.`);
  return answer(true, `That is proven: the points are ${found.verdict} now.`);
}

function divergingStep({ points, method }) {
  const run = new EngineRun(points, method);
  if (run.method.name !== "gradient_descent") return answer(false, "Keep gradient descent, and change its step size.");
  const rate = run.method.learning_rate;
  if (run.stop !== "diverged") return answer(false, `With steps of ${general(rate)} it ends with '${run.stop}'.`);
  const shorter = Math.max(1e-6, rate / 100);
  const calm = new EngineRun(points, { ...run.method, learning_rate: shorter });
  if (calm.stop === "diverged") return answer(false, "A hundredth of the step diverges as well: the step is not the cause.");
  return answer(true, `Steps of ${general(rate)} increase the objective, those of ${general(shorter)} do not: that run ends with '${calm.stop}'.`);
}

function exclusiveOr({ points, method }, start) {
  const { missing, added } = compared(points, start);
  if (missing || added) return answer(false, "The four points of XOR must not change: begin again, or undo.");
  const wrong = wrongAtTheEnd(new EngineRun(points, method));
  if (wrong) return answer(false, `${wrong} of the four points are on the wrong side at the end.`);
  return answer(true, "All four are correct: more features do what no line in the plane can.");
}

function strongPenalty({ points, method }) {
  const run = new EngineRun(points, method);
  const { verdict } = verdictHere(run);
  if (verdict === "undecided") return answer(false, NO_VERDICT);
  if (verdict !== "separable") return answer(false, "No line separates these points, so mistakes prove nothing.");
  if (run.method.name !== "newton") return answer(false, "Keep Newton's method, and change its penalty.");
  const [wrong, l2] = [wrongAtTheEnd(run), run.method.l2];
  if (!wrong) return answer(false, `With l2 = ${general(l2)} every point is still classified correctly.`);
  const weaker = l2 / 1000;
  const left = wrongAtTheEnd(new EngineRun(points, { ...run.method, l2: weaker }));
  if (left >= wrong) return answer(false, `With l2 = ${general(weaker)} as many are wrong: the penalty is not the cause.`);
  return answer(true, `l2 = ${general(l2)} costs ${wrong} points, l2 = ${general(weaker)} only ${left}.`);
}

const CHECKS = {
  "many updates": manyUpdates, "one point": onePoint, "diverging step": divergingStep, xor: exclusiveOr,
  "strong penalty": strongPenalty,
};

export const challenges = () => shipped.challenges;

export function checkedChallenge({ name, points, method }) {
  const found = challenges().find((one) => one.name === name);
  if (!found || !Object.hasOwn(CHECKS, name)) throw new BadRequest(`name: expected one of ${Object.keys(CHECKS).join(", ")}`);
  return CHECKS[name]({ points, method }, found.points);
}
