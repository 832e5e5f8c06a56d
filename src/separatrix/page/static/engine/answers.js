// What the page asks, answered without a server: the names and formats are those of the server.
import { challenges, checkedChallenge } from "./challenges.js";
import { descentOf } from "./descent.js";
import { gridOf } from "./grid.js";
import { landscapeOf } from "./landscape.js";
import { questionOf } from "./questions.js";
import { answerOf } from "./recording.js";
import { rowsOf } from "./rows.js";
import { EngineRun } from "./run.js";
import { verdictOf } from "./separability.js";
import { BadRequest, checkedProblem, labelsOf } from "./settings.js";
import { shipped } from "./shipped.js";

const KEPT = 4; // runs: the page asks about the same one again and again
const runs = new Map();

export function runOf({ points, method }) {
  const key = JSON.stringify([points, method]);
  const found = runs.get(key) ?? new EngineRun(points.map((point) => [...point]), method);
  runs.delete(key);
  runs.set(key, found);
  if (runs.size > KEPT) runs.delete(runs.keys().next().value);
  return found;
}

function verdict({ points, fit_intercept: intercept = true }) {
  checkedProblem(points);
  const labels = labelsOf(points);
  const numbers = points.map((p) => labels.indexOf(p[2]));
  return verdictOf(rowsOf(points.map((p) => p.slice(0, 2)), numbers, labels.length, intercept));
}

const ANSWERS = {
  run: (asked) => answerOf(runOf(asked), asked.first),
  grid: (asked) => gridOf(runOf(asked), asked),
  landscape: (asked) => landscapeOf(runOf(asked), asked),
  question: (asked) => questionOf(runOf(asked), asked.kind, asked.step),
  verdict,
  descent: descentOf,
  presets: () => shipped.presets,
  challenges: () => challenges(),
  challenge: checkedChallenge,
};

export async function answered(name, asked) {
  if (!ANSWERS[name]) throw new BadRequest("This needs Python: run separatrix playground.");
  return ANSWERS[name](asked);
}
