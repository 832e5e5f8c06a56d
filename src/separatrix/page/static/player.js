// Control of the steps: forward and back, play, scrub; and the step as text and numbers.
import { cycleNow, cycleText, goToNext, stepBack, stepForward } from "./cycle.js";
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
    stepForward();
    if (!state.run || (state.step >= state.run.recording.total && !cycleNow())) return stopPlaying();
    playing = setTimeout(tick, 1000 / Number(at("speed").value));
    return undefined;
  };
  playing = setTimeout(tick, 0);
  return undefined;
}

function drawWords() {
  const { run, steps, step } = state;
  const total = run ? run.recording.total : 0;
  at("scrub").max = total;
  at("scrub").value = step;
  at("at").textContent = `${numberOf(step)} of ${numberOf(total)}${state.round ? `, round ${state.round + 1}` : ""}`;
  for (const id of ["first", "back"]) at(id).disabled = !run || step === 0;
  for (const id of ["step", "play", "mistake", "pass"]) at(id).disabled = !run || (step >= total && !cycleNow());
  at("last").disabled = !run || step >= total;
  at("cycle").textContent = cycleText();
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
  if (own || document.body.dataset.page || event.ctrlKey || event.altKey || event.metaKey) return;
  const act = { " ": stepForward, ArrowRight: stepForward, ArrowLeft: stepBack, Home: () => goTo(0), End: () => goTo(Infinity) }[event.key];
  if (!act) return;
  event.preventDefault();
  act();
}

export function setUpPlayer() {
  const clicks = {
    first: () => goTo(0), back: stepBack, step: stepForward, last: () => goTo(Infinity), play,
    mistake: () => goToNext((step) => state.steps.updated[step - 1].length > 0),
    pass: () => goToNext((step) => state.run.recording.passes.includes(step)),
  };
  for (const [id, act] of Object.entries(clicks)) at(id).addEventListener("click", () => state.run && act()); // none while the next is computed
  at("scrub").addEventListener("input", () => goTo(Number(at("scrub").value)));
  document.addEventListener("keydown", onKey);
  addView(drawWords);
}
