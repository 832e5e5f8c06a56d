// A race of two methods on the same points and seed. The clock counts processed rows: a step over
// all n rows counts as n.
import { ask, askForRun } from "./api.js";
import { FOOT, frame, HIGH } from "./charts.js";
import { drawMethod, METHODS, startingMethod } from "./methods.js";
import { drawPlane, scoresOf } from "./plane.js";
import { addView, at, classesOf, say, state } from "./state.js";
import { draw } from "./svg.js";

const TICKS = 100; // from start to end while playing
let rival = { ...startingMethod("gradient_descent"), form: "batch" };
let lanes = null; // of the page's method and its rival
let of = null; // the run that the race belongs to
let playing = null;

// ---- a lane: a method, its run, and the number of rows processed after every step ---------------

async function laneOf(method) {
  const request = { points: state.points, method };
  const run = await askForRun(request);
  const { steps } = run.recording;
  while (steps.rows.length < run.recording.total) {
    const first = steps.rows.length + 1;
    const more = (await askForRun({ ...request, first })).recording.steps;
    for (const [name, column] of Object.entries(more)) if (column) steps[name].push(...column);
  }
  const looked = [0];
  for (const rows of steps.rows) looked.push(looked[looked.length - 1] + (rows ? rows.length : state.points.length));
  const mistakes = [run.recording.start.mistakes, ...steps.mistakes];
  return { method, run, steps, looked, mistakes, grid: null };
}

function stepAt(lane, clock) {
  let step = lane.looked.length - 1;
  while (lane.looked[step] > clock) step -= 1;
  return step;
}

function weightsOf(lane, step) {
  return step ? lane.steps.weights[step - 1] : lane.run.recording.start.weights;
}

// Number of rows processed when the last mistake was made; null if mistakes remain.
function cleanFrom(lane) {
  let step = lane.mistakes.length;
  while (step > 0 && lane.mistakes[step - 1] === 0) step -= 1;
  return step < lane.mistakes.length ? lane.looked[step] : null;
}

function nameOf(lane) {
  return METHODS[lane.method.name][0];
}

function outcome(lane) {
  const clean = cleanFrom(lane);
  const rows = lane.looked[lane.looked.length - 1];
  const ended = `It ended after ${rows} rows: ${lane.run.recording.stop}.`;
  const left = lane.mistakes[lane.mistakes.length - 1];
  return `${nameOf(lane)}: ${clean === null ? `${left} ${left === 1 ? "mistake" : "mistakes"} at the end` : `no mistakes after ${clean} rows`}. ${ended}`;
}

function winner() {
  const [left, right] = lanes.map((lane) => cleanFrom(lane) ?? Infinity);
  if (left !== right) return `${nameOf(lanes[left < right ? 0 : 1])} is first without mistakes.`;
  if (left < Infinity) return "Both are without mistakes after the same number of rows.";
  const [a, b] = lanes.map((lane) => lane.mistakes[lane.mistakes.length - 1]);
  if (a === b) return `Both end with ${a} ${a === 1 ? "mistake" : "mistakes"}.`;
  return `${nameOf(lanes[a < b ? 0 : 1])} ends with fewer mistakes, ${Math.min(a, b)} against ${Math.max(a, b)}.`;
}

// ---- what is shown -----------------------------------------------------------------------------

function drawLane(lane, side, clock) {
  const step = stepAt(lane, clock);
  const { line, recording } = lane.run;
  const weights = weightsOf(lane, step);
  const grid = lane.grid && lane.grid.step === step ? lane.grid : null;
  const scores = weights ? recording.data.x.map((row) => scoresOf(weights, row)) : grid && grid.rows;
  drawPlane(at(`race-plane-${side}`), {
    points: state.points, box: state.box, labels: classesOf(state.points),
    weights: line ? weights : null, other: null, grid: line ? null : grid, scores,
    strengths: [], turn: [],
  });
  at(`race-name-${side}`).textContent = `${nameOf(lane)}: step ${step}, ${lane.mistakes[step] ?? "many"} ${lane.mistakes[step] === 1 ? "mistake" : "mistakes"}`;
  if (!line && !grid) fetchGrid(lane, side, step);
}

async function fetchGrid(lane, side, step) {
  try {
    const grid = await ask("grid", { points: state.points, method: lane.method, step, box: state.box });
    lane.grid = grid;
    const clock = Number(at("race-clock").value);
    if (lanes && lanes.includes(lane) && stepAt(lane, clock) === step) drawLane(lane, side, clock);
  } catch (error) {
    say(error.message);
  }
}

function drawMistakes(clock) {
  const end = Number(at("race-clock").max);
  const high = Math.max(1, ...lanes.flatMap((lane) => lane.mistakes.filter((value) => value !== null)));
  const [x, y] = frame(at("race-chart"), "rows processed", [0, Math.max(1, end)], [0, high]);
  lanes.forEach((lane, i) => {
    const jump = Math.max(1, Math.floor(lane.looked.length / 600));
    const points = [];
    lane.mistakes.forEach((value, step) => {
      const last = step === lane.mistakes.length - 1;
      if (value !== null && (step % jump === 0 || last)) points.push(`${x(lane.looked[step])},${y(value)}`);
    });
    at("race-chart").append(draw("polyline", { points: points.join(" "), class: i ? "curve rival" : "curve" }));
  });
  at("race-chart").append(draw("line", { x1: x(clock), x2: x(clock), y1: 8, y2: HIGH - FOOT, class: "now" }));
}

function show() {
  const clock = Number(at("race-clock").value);
  drawLane(lanes[0], "left", clock);
  drawLane(lanes[1], "right", clock);
  drawMistakes(clock);
  at("race-at").textContent = `${clock} rows processed`;
}

// ---- control -----------------------------------------------------------------------------------

function stop() {
  clearTimeout(playing);
  playing = null;
  at("race-play").textContent = "Play";
}

function play() {
  if (playing) return stop();
  const clock = at("race-clock");
  const each = Math.max(1, Math.round(Number(clock.max) / TICKS));
  if (clock.value === clock.max) clock.value = 0;
  at("race-play").textContent = "Pause";
  const tick = () => {
    clock.value = Number(clock.value) + each;
    show();
    if (clock.value === clock.max) return stop();
    playing = setTimeout(tick, 60);
    return undefined;
  };
  playing = setTimeout(tick, 0);
  return undefined;
}

async function start() {
  if (!state.run) return;
  const mine = state.run;
  at("race").dataset.busy = "yes";
  try {
    const found = await Promise.all([state.method, { ...rival, seed: state.method.seed }].map(laneOf));
    if (mine !== state.run) return; // the points or the method changed meanwhile
    [lanes, of] = [found, mine];
    at("race-clock").max = Math.max(...lanes.map((lane) => lane.looked[lane.looked.length - 1]));
    at("race-clock").value = 0;
    at("race-lanes").hidden = false;
    at("race-result").textContent = `${winner()} ${lanes.map(outcome).join(" ")}`;
    show();
  } catch (error) {
    say(error.message);
  } finally {
    delete at("race").dataset.busy;
  }
}

// A race of other points, or of another method, is over.
function end() {
  at("race-start").disabled = !state.run;
  if (!lanes || of === state.run) return;
  stop();
  lanes = null;
  at("race-lanes").hidden = true;
  at("race-result").textContent = "";
}

function drawRival(focus = null) {
  drawMethod(at("rival"), rival, (method, changed) => {
    rival = method;
    of = null;
    end();
    drawRival(changed);
  }, { prefix: "rival", without: ["seed"] });
  if (focus) at(focus).focus();
}

export function setUpRace() {
  drawRival();
  at("race-start").addEventListener("click", start);
  at("race-play").addEventListener("click", play);
  at("race-clock").addEventListener("input", () => { stop(); show(); });
  addView(end);
}
