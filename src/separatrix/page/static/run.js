// The run of the points and the method: requested whenever one of them changes.
import { ask, askForRun } from "./api.js";
import { boxOf } from "./plane.js";
import { stopPlaying } from "./player.js";
import { saved } from "./saved.js";
import { classesOf, render, say, shownPoints, state } from "./state.js";

const NOTHING = { run: null, steps: null, step: 0, round: 0, grid: null, verdict: null };
let asked = 0; // number of requests: answers to earlier ones are discarded
let next = null; // the request to send after the pending answer
let answering = null;

// While a point is moved (keepStep) the last answer stays visible until the next arrives.
export function rerun({ keepStep = false } = {}) {
  stopPlaying();
  asked += 1;
  if (!keepStep) Object.assign(state, NOTHING);
  next = { keepStep: keepStep && (next ? next.keepStep : true) };
  answering ??= answerAll();
  return answering;
}

// One request at a time: of the changes in the meantime, only the last is requested.
async function answerAll() {
  document.body.dataset.busy = "yes";
  try {
    while (next) {
      const { keepStep } = next;
      next = null;
      await answered(asked, keepStep);
    }
  } finally {
    answering = null;
    delete document.body.dataset.busy;
  }
}

async function answered(mine, keepStep) {
  if (!state.dragging) state.box = saved?.box ?? boxOf(shownPoints());
  if (classesOf(state.points).length < 2) {
    Object.assign(state, NOTHING);
    say("Place points of two classes: choose a class, then click into the plane.");
    return render();
  }
  say("");
  const request = { points: state.points, method: state.method };
  try {
    const [run, verdict] = await Promise.all([
      askForRun(request),
      // Without a verdict the run is still shown.
      ask("verdict", { points: state.points, fit_intercept: state.method.fit_intercept })
        .catch((error) => ({ verdict: "undecided", meeting: null, text: `No verdict: ${error.message}` })),
    ]);
    const seen = mine === asked || next.keepStep; // shown while the point moves on
    if (!seen) return undefined;
    state.run = run;
    state.verdict = verdict;
    state.grid = null;
    state.steps = run.recording.steps;
    state.step = keepStep ? Math.min(state.step, state.steps.rows.length) : 0;
    state.round = 0;
    render();
    await rest(mine, request);
  } catch (error) {
    if (mine !== asked) return undefined;
    Object.assign(state, NOTHING);
    say(error.message);
  }
  return render();
}

// Fetch later steps of a long run in parts.
async function rest(mine, request) {
  while (mine === asked && state.steps.rows.length < state.run.recording.total) {
    const first = state.steps.rows.length + 1;
    const more = (await askForRun({ ...request, first })).recording.steps;
    if (mine !== asked) return;
    for (const [name, column] of Object.entries(more)) {
      if (column) state.steps[name].push(...column);
    }
    render();
  }
}

// Other requests about the run at the current step; null if it is no longer shown.
export async function askAtStep(name, more) {
  const [mine, step] = [asked, state.step];
  try {
    const found = await ask(name, { points: state.points, method: state.method, step, ...more });
    return mine === asked && step === state.step ? found : null;
  } catch (error) {
    if (mine === asked) say(error.message);
    return null;
  }
}
