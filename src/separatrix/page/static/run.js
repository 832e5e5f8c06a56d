// The run of the points and the method: asked of the server whenever one of them changes.
import { ask, askForRun } from "./api.js";
import { boxOf } from "./plane.js";
import { stopPlaying } from "./player.js";
import { saved } from "./saved.js";
import { classesOf, render, say, shownPoints, state } from "./state.js";

let asked = 0; // questions so far: an answer to an earlier one is thrown away

export async function rerun({ keepStep = false } = {}) {
  stopPlaying();
  const mine = (asked += 1);
  document.body.dataset.busy = "yes";
  try {
    await answered(mine, keepStep);
  } finally {
    if (mine === asked) delete document.body.dataset.busy;
  }
}

async function answered(mine, keepStep) {
  const before = state.step;
  const nothing = { run: null, steps: null, step: 0, grid: null, verdict: null };
  if (!keepStep) Object.assign(state, nothing); // while a point is moved, the last answer stays
  if (!state.dragging) state.box = saved?.box ?? boxOf(shownPoints());
  if (classesOf(state.points).length < 2) {
    Object.assign(state, nothing);
    say("Place points of two classes: choose a class, then click into the plane.");
    return render();
  }
  say("");
  const request = { points: state.points, method: state.method };
  try {
    const [run, verdict] = await Promise.all([
      askForRun(request),
      ask("verdict", { points: state.points, fit_intercept: state.method.fit_intercept }),
    ]);
    if (mine !== asked) return undefined; // a later question is on its way
    state.run = run;
    state.verdict = verdict;
    state.grid = null;
    state.steps = run.recording.steps;
    state.step = keepStep ? Math.min(before, run.recording.total) : 0;
    render();
    await rest(mine, request);
  } catch (error) {
    if (mine !== asked) return undefined;
    Object.assign(state, nothing);
    say(error.message);
  }
  return render();
}

// Later steps of a long run, part by part.
async function rest(mine, request) {
  while (state.steps.rows.length < state.run.recording.total) {
    const first = state.steps.rows.length + 1;
    const more = (await askForRun({ ...request, first })).recording.steps;
    if (mine !== asked) return;
    for (const [name, column] of Object.entries(more)) {
      if (column) state.steps[name].push(...column);
    }
    render();
  }
}

// What else is asked about the run at the step that is shown; null if it is no longer shown.
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
