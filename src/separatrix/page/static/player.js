// Control of the steps: forward and back, play, scrub; and the step as text and numbers.
import { numberOf } from "./saved.js";
import { addView, at, goTo, state, updatesByStep } from "./state.js";
import { shown } from "./svg.js";

let playing = null;

export function stopPlaying() {
  clearTimeout(playing);
  playing = null;
  at("play").textContent = "Play";
  at("play").setAttribute("aria-pressed", "false");
}

function play() {
  if (playing) return stopPlaying();
  at("play").textContent = "Pause";
  at("play").setAttribute("aria-pressed", "true");
  const tick = () => {
    goTo(state.step + 1);
    if (!state.run || state.step >= state.run.recording.total) return stopPlaying();
    playing = setTimeout(tick, 1000 / Number(at("speed").value));
    return undefined;
  };
  playing = setTimeout(tick, 0);
  return undefined;
}

function nextWhere(isSo) {
  for (let step = state.step + 1; step <= state.steps.rows.length; step += 1) if (isSo(step)) return step;
  return state.steps.rows.length;
}

function drawWords() {
  const { run, steps, step } = state;
  const total = run ? run.recording.total : 0;
  at("scrub").max = total;
  at("scrub").value = step;
  at("at").textContent = `${numberOf(step)} of ${numberOf(total)}`;
  for (const id of ["first", "back"]) at(id).disabled = !run || step === 0;
  for (const id of ["step", "play", "mistake", "pass", "last"]) at(id).disabled = !run || step >= total;
  const here = step ? step - 1 : null;
  at("sentence").textContent = !run ? "" : here === null
    ? `The start. Press Step to ${steps.rows[0]?.length === 1 ? "process the first row" : "take the first step"}.` : steps.sentence[here] ?? "";
  at("arithmetic").textContent = run && here !== null ? steps.arithmetic[here] ?? "" : "";
  if (!run) return at("state").replaceChildren();
  const value = (name) => shown((step ? steps[name][here] : run.recording.start[name]) ?? null);
  const { updates: bound, undecided } = run.recording.bounds;
  const updates = updatesByStep();
  at("state").textContent = `mistakes ${value("mistakes")}, objective ${value("objective")}, `
    + `|(w, b)| ${value("norm")}`
    + (updates.at(-1) ? `, updates ${updates[step]}` : "")
    + (bound ? `, bound ${Math.floor(bound)}` : "")
    + (undecided ? ", the bound on updates is undecided within the budget of work" : "")
    + (step === total ? `; ended: ${run.recording.stop === "callback" ? "at the limit of the page" : run.recording.stop}` : "");
  return undefined;
}

// Space and the arrows step, where they have no other meaning.
function onKey(event) {
  const own = event.target.closest("input, select, textarea, button, summary, a, #plane, .handle");
  if (own || event.ctrlKey || event.altKey || event.metaKey) return;
  const to = { " ": state.step + 1, ArrowRight: state.step + 1, ArrowLeft: state.step - 1, Home: 0, End: Infinity }[event.key];
  if (to === undefined) return;
  event.preventDefault();
  goTo(to);
}

export function setUpPlayer() {
  const clicks = {
    first: () => goTo(0), back: () => goTo(state.step - 1), step: () => goTo(state.step + 1),
    last: () => goTo(Infinity), play,
    mistake: () => goTo(nextWhere((step) => state.steps.updated[step - 1].length > 0)),
    pass: () => goTo(nextWhere((step) => state.run.recording.passes.includes(step))),
  };
  for (const [id, act] of Object.entries(clicks)) at(id).addEventListener("click", () => state.run && act()); // none while the next is computed
  at("scrub").addEventListener("input", () => goTo(Number(at("scrub").value)));
  document.addEventListener("keydown", onKey);
  addView(drawWords);
}
