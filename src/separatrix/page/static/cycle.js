// A run that ends in a cycle: it can be stepped and played without end.
import { saved } from "./saved.js";
import { goTo, state, weightsAt } from "./state.js";

const isSame = (V, W) => V.every((row, c) => row.every((v, j) => v === W[c][j]));

function search() {
  const { passes, stop, total } = state.run.recording;
  if (stop !== "cycle" || state.steps.rows.length < total || (saved && saved.numbers.at(-1) !== total)) return null;
  const last = weightsAt(total); // the coefficients of a kernel never come back, only its scores do
  if (!last) return null;
  const ends = [0, ...passes.slice(0, -1)];
  for (let number = ends.length - 1; number >= 0; number -= 1) {
    const start = ends[number];
    if (isSame(weightsAt(start), last)) return { start, length: total - start, passes: passes.length - number };
  }
  return null;
}

let known = { of: null, count: 0, found: null };

// {start, length, passes}: after the last step the run is where it was after step start; or null.
export function cycleNow() {
  if (!state.run) return null;
  const count = state.steps.rows.length;
  if (known.of !== state.run || known.count !== count) known = { of: state.run, count, found: search() };
  return known.found;
}

// Whether the page has seen the run come back.
export const hasClosed = () => Boolean(cycleNow()) && (state.round > 0 || state.step >= state.run.recording.total);

export function stepForward() {
  if (!state.run) return;
  const cycle = cycleNow();
  if (cycle && state.step >= state.run.recording.total) goTo(cycle.start + 1, state.round + 1);
  else goTo(state.step + 1, state.round);
}

export function stepBack() {
  if (!state.run) return;
  const cycle = cycleNow();
  if (state.round && state.step === cycle.start + 1) goTo(state.run.recording.total, state.round - 1);
  else goTo(state.step - 1, state.round);
}

// The next step for which this holds, in the next round if there is none left; else the last step.
export function goToNext(holds) {
  const { length } = state.steps.rows;
  const cycle = cycleNow();
  const again = cycle && state.step >= length;
  let step = (again ? cycle.start : state.step) + 1;
  while (step < length && !holds(step)) step += 1;
  goTo(step, state.round + (again ? 1 : 0));
}

export function cycleText() {
  if (!hasClosed()) return "";
  const { start, length, passes } = cycleNow();
  const steps = `${length} ${length === 1 ? "step" : "steps"} (${passes} ${passes === 1 ? "pass" : "passes"})`;
  const from = start ? `the state after step ${start}` : "the start";
  return `The run is back at ${from}: a cycle of ${steps}, without end. Step and Play go on; round ${state.round + 1}.`;
}
