// The page: state, what the person does, and what is asked of the server.
import { ask, checkRecording } from "./api.js";
import { drawChart, drawLoss, moveChart } from "./charts.js";
import { drawMethod, startingMethod } from "./methods.js";
import { boxOf, drawPlane, HEIGHT, marginOf, scoresOf, WIDTH } from "./plane.js";
import { fromLink, toLink } from "./link.js";
import { shown } from "./svg.js";

const at = (id) => document.getElementById(id);
const state = {
  points: [], method: startingMethod(), newClass: 1, chosen: null, flip: false,
  run: null, steps: null, step: 0, grid: null, verdict: null, playing: null,
};
const past = [];
const future = [];
let places = null;
let box = [-1, 2, -1, 2];
let asked = 0;

// ---- the run -------------------------------------------------------------------------------

function classesOf(points) {
  return [...new Set(points.map((point) => point[2]))].sort();
}

async function rerun({ keepStep = false } = {}) {
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
  Object.assign(state, { run: null, steps: null, step: 0, grid: null, verdict: null });
  if (!state.dragging) box = boxOf(state.points);
  if (classesOf(state.points).length < 2) {
    say("Place points of two classes: choose a class, then click into the plane.");
    return render();
  }
  say("");
  const request = { points: state.points, method: state.method };
  try {
    const [run, verdict] = await Promise.all([
      ask("run", request),
      ask("verdict", { points: state.points, fit_intercept: state.method.fit_intercept }),
    ]);
    if (mine !== asked) return undefined; // a later question is on its way
    state.run = run;
    state.verdict = verdict;
    state.steps = checkRecording(run.recording).steps;
    state.step = keepStep ? Math.min(before, run.recording.total) : 0;
    render();
    fetchGrid();
    await rest(mine, request);
  } catch (error) {
    if (mine === asked) say(error.message);
  }
  return render();
}

// Later steps of a long run, part by part.
async function rest(mine, request) {
  while (state.steps.rows.length < state.run.recording.total) {
    const first = state.steps.rows.length + 1;
    const more = checkRecording((await ask("run", { ...request, first })).recording).steps;
    if (mine !== asked) return;
    for (const [name, column] of Object.entries(more)) {
      if (column) state.steps[name].push(...column);
    }
    renderCharts();
  }
}

async function fetchGrid() {
  if (!state.run || state.run.line) return;
  const [mine, step] = [asked, state.step];
  try {
    const grid = await ask("grid", { points: state.points, method: state.method, step, box });
    if (mine === asked && step === state.step) {
      state.grid = grid;
      renderPlane();
      renderLoss();
    }
  } catch (error) {
    say(error.message);
  }
}

// ---- what is shown -------------------------------------------------------------------------

function say(text) {
  at("message").textContent = text;
}

function weightsAt(step) {
  if (!state.run) return null;
  return step === 0 ? state.run.recording.start.weights : state.steps.weights[step - 1] ?? null;
}

function valuesOf(name) {
  return [state.run.recording.start[name], ...state.steps[name]];
}

function strengthsAt(step) {
  const found = new Array(state.points.length).fill(0);
  if (state.steps) {
    for (const rows of state.steps.updated.slice(0, step)) for (const row of rows) found[row] += 1;
  }
  return found;
}

function scoresNow() {
  const weights = weightsAt(state.step);
  if (!weights) return state.grid && state.grid.step === state.step ? state.grid.rows : null;
  const x = state.run.recording.data.x;
  return x.map((row) => scoresOf(weights, row));
}

function otherWeights() {
  const { keep } = state.method;
  if (!state.step || keep === "last" || !state.steps) return null;
  if (keep === "average") return state.steps.average ? state.steps.average[state.step - 1] : null;
  const best = state.steps.best[state.step - 1];
  return best ? weightsAt(best) : null;
}

function renderPlane() {
  const number = new Map(classesOf(state.points).map((label, i) => [label, i]));
  const line = !state.run || state.run.line;
  places = drawPlane(at("plane"), {
    points: state.points, box, classes: Math.max(2, number.size), number,
    weights: line ? weightsAt(state.step) : null, other: line ? otherWeights() : null,
    grid: line ? null : state.grid, scores: state.run ? scoresNow() : null,
    strengths: strengthsAt(state.step), flip: state.flip, chosen: state.chosen,
    turn: state.step && state.steps ? state.steps.rows[state.step - 1] ?? [] : [],
    meeting: state.verdict ? state.verdict.meeting : null,
  });
}

const CHARTS = { objective: "objective-view", mistakes: "mistakes-view", norm: "norm-view" };

function renderCharts() {
  for (const [name, id] of Object.entries(CHARTS)) {
    if (!state.run) at(id).replaceChildren();
    else {
      const bounds = name === "objective" ? { "lower bound": state.run.recording.bounds.objective } : {};
      drawChart(at(id), valuesOf(name), state.step, bounds);
    }
  }
  renderLoss();
}

function moveCharts() {
  for (const id of Object.values(CHARTS)) moveChart(at(id), state.steps.rows.length + 1, state.step);
  renderLoss();
}

function renderLoss() {
  const scores = state.run ? scoresNow() : null;
  const drawn = Boolean(state.run && state.run.curve); // of two classes
  at("loss-view").closest("figure").classList.toggle("hidden", !drawn);
  if (!scores || !drawn) return at("loss-view").replaceChildren();
  const y = state.run.recording.data.y;
  const labels = state.points.map((point) => point[2]);
  return drawLoss(at("loss-view"), state.run.curve, scores.map((own, row) => [marginOf(own, y[row], 2), labels[row]]));
}

function renderWords() {
  const { run, steps, step } = state;
  const total = run ? run.recording.total : 0;
  at("scrub").max = total;
  at("scrub").value = step;
  at("at").textContent = `${step} of ${total}`;
  for (const id of ["first", "back"]) at(id).disabled = !run || step === 0;
  for (const id of ["step", "play", "mistake", "pass", "last"]) at(id).disabled = !run || step >= total;
  const here = step ? step - 1 : null;
  at("sentence").textContent = !run ? "" : here === null
    ? "The start. Press Step: the first row is looked at." : steps.sentence[here] ?? "";
  at("arithmetic").textContent = run && here !== null ? steps.arithmetic[here] ?? "" : "";
  if (!run) return at("state").replaceChildren();
  const value = (name) => shown((step ? steps[name][here] : run.recording.start[name]) ?? null);
  const bound = run.recording.bounds.updates;
  const updates = strengthsAt(step).reduce((sum, one) => sum + one, 0);
  at("state").textContent = `mistakes ${value("mistakes")}, objective ${value("objective")}, `
    + `|(w, b)| ${value("norm")}, updates ${updates}`
    + (bound ? `, theory allows ${Math.floor(bound)}` : "")
    + (step === total ? `; ended: ${run.recording.stop}` : "");
  return undefined;
}

function renderVerdict() {
  const found = state.verdict;
  if (!found) return at("verdict").replaceChildren();
  let text = "A line cannot separate these points: the hulls meet at the cross.";
  if (found.verdict === "separable") {
    text = found.mistake_bound === null
      ? "Separable, by a margin too small to be told."
      : `Separable: margin ${Number(found.margin).toPrecision(3)}, at most ${Math.floor(found.mistake_bound)} mistakes.`;
  } else if (found.verdict === "quasi-separable") {
    text = "Quasi-separable: a line touches both classes, none has them strictly apart.";
  } else if (!found.meeting) text = "Not separable.";
  at("verdict").textContent = text;
  at("verdict").title = found.text;
  return undefined;
}

function renderTable() {
  const body = at("table").tBodies[0];
  if (!at("table").closest("details").open) return;
  const strengths = strengthsAt(state.step);
  body.replaceChildren(...state.points.map((point, row) => {
    const line = document.createElement("tr");
    const cells = [row, ...[0, 1, 2].map((axis) => {
      const input = document.createElement("input");
      Object.assign(input, { type: "number", step: "any", value: point[axis], id: `cell-${row}-${axis}` });
      input.setAttribute("aria-label", `row ${row}, ${["x1", "x2", "class"][axis]}`);
      input.addEventListener("change", () => {
        const value = axis === 2 ? Math.min(3, Math.max(0, Math.round(Number(input.value)))) : Number(input.value);
        edit((points) => { points[row][axis] = value; });
      });
      return input;
    }), strengths[row]];
    const remove = document.createElement("button");
    Object.assign(remove, { type: "button", textContent: "Delete" });
    remove.setAttribute("aria-label", `delete row ${row}`);
    remove.addEventListener("click", () => edit((points) => points.splice(row, 1)));
    for (const cell of [...cells, remove]) {
      const data = document.createElement("td");
      data.append(cell instanceof Node ? cell : String(cell));
      line.append(data);
    }
    return line;
  }));
}

function render() {
  renderPlane();
  renderWords();
  renderCharts();
  renderVerdict();
  renderTable();
  at("undo").disabled = !past.length;
  at("redo").disabled = !future.length;
}

// ---- points --------------------------------------------------------------------------------

function edit(change, { keepStep = false } = {}) {
  past.push(JSON.stringify(state.points));
  future.length = 0;
  change(state.points);
  if (state.chosen !== null && state.chosen >= state.points.length) state.chosen = null;
  rerun({ keepStep });
}

function travel(from, to) {
  if (!from.length) return;
  to.push(JSON.stringify(state.points));
  state.points = JSON.parse(from.pop());
  state.chosen = null;
  rerun();
}

function placeOf(event) {
  const shape = at("plane").getBoundingClientRect();
  const [x, y] = places;
  const across = ((event.clientX - shape.left) / shape.width) * WIDTH;
  const up = ((event.clientY - shape.top) / shape.height) * HEIGHT;
  return [x.back(across), y.back(up)].map((value) => Number(value.toPrecision(3)));
}

function onPointerDown(event) {
  const row = event.target.dataset ? event.target.dataset.row : undefined;
  event.preventDefault();
  at("plane").focus();
  if (row === undefined) {
    if (state.flip) return;
    const where = placeOf(event);
    state.chosen = state.points.length;
    edit((points) => points.push([...where, state.newClass]));
    return;
  }
  state.chosen = Number(row);
  state.dragging = { row: Number(row), before: JSON.stringify(state.points), moved: false };
  at("plane").setPointerCapture(event.pointerId);
  renderPlane();
}

function onPointerMove(event) {
  if (!state.dragging || state.flip) return;
  const where = placeOf(event);
  const point = state.points[state.dragging.row];
  if (where[0] === point[0] && where[1] === point[1]) return;
  state.dragging.moved = true;
  [point[0], point[1]] = where;
  rerun({ keepStep: true });
}

function onPointerUp() {
  const dragged = state.dragging;
  state.dragging = null;
  if (dragged && dragged.moved) {
    past.push(dragged.before);
    future.length = 0;
    render();
  }
}

const MOVES = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };

function onKey(event) {
  const { chosen, points } = state;
  const small = [(box[1] - box[0]) / 50, (box[3] - box[2]) / 50];
  const middle = [(box[0] + box[1]) / 2, (box[2] + box[3]) / 2];
  if (event.key === "n" || event.key === "N") {
    state.chosen = points.length;
    edit((all) => all.push([...middle.map((v) => Number(v.toPrecision(3))), state.newClass]));
  } else if (event.key === "[" || event.key === "]") {
    const by = event.key === "]" ? 1 : -1;
    state.chosen = points.length ? ((chosen ?? -by) + by + points.length) % points.length : null;
    renderPlane();
  } else if (chosen === null) {
    return;
  } else if (MOVES[event.key]) {
    const move = MOVES[event.key];
    edit((all) => {
      for (const axis of [0, 1]) all[chosen][axis] = Number((all[chosen][axis] + move[axis] * small[axis]).toPrecision(4));
    }, { keepStep: true });
  } else if (event.key === "Delete" || event.key === "Backspace") {
    edit((all) => all.splice(chosen, 1));
  } else if ("1234".includes(event.key)) {
    edit((all) => { all[chosen][2] = Number(event.key) - 1; });
  } else return;
  event.preventDefault();
}

function takeCsv() {
  const rows = at("csv").value.trim().split(/\r?\n/).map((line) => line.split(/[,;\t]/));
  const numbers = rows.filter((row) => row.length >= 3 && row.slice(0, 2).every((v) => v.trim() !== "" && Number.isFinite(Number(v))));
  const labels = [...new Set(numbers.map((row) => row[2].trim()))].sort();
  if (!numbers.length || labels.length < 2 || labels.length > 4 || numbers.length > 2000) {
    say("Expected lines such as 1.5,2,yes: two numbers and one of two to four classes, 2,000 lines at most.");
    return;
  }
  edit((points) => points.splice(0, points.length, ...numbers.map((row) => [Number(row[0]), Number(row[1]), labels.indexOf(row[2].trim())])));
}

// ---- control -------------------------------------------------------------------------------

function goTo(step) {
  if (!state.run) return;
  state.step = Math.max(0, Math.min(state.steps.rows.length, step));
  state.grid = state.grid && state.grid.step === state.step ? state.grid : null;
  renderPlane();
  renderWords();
  moveCharts();
  renderTable();
  fetchGrid();
}

function nextWhere(isSo) {
  for (let step = state.step + 1; step <= state.steps.rows.length; step += 1) if (isSo(step)) return step;
  return state.steps.rows.length;
}

function stopPlaying() {
  clearTimeout(state.playing);
  state.playing = null;
  at("play").textContent = "Play";
  at("play").setAttribute("aria-pressed", "false");
}

function play() {
  if (state.playing) return stopPlaying();
  at("play").textContent = "Pause";
  at("play").setAttribute("aria-pressed", "true");
  const tick = () => {
    goTo(state.step + 1);
    if (!state.run || state.step >= state.run.recording.total) return stopPlaying();
    state.playing = setTimeout(tick, 1000 / Number(at("speed").value));
    return undefined;
  };
  state.playing = setTimeout(tick, 0);
  return undefined;
}

// ---- out of the page -----------------------------------------------------------------------

function download(name, text, type) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}

async function copy(text, what) {
  await navigator.clipboard.writeText(text);
  say(`${what} is in the clipboard.`);
}

async function copyLink() {
  const fragment = await toLink({ points: state.points, method: state.method, step: state.step });
  if (fragment.length > 8192) return say("This is too much for a link: save the recording as a file instead.");
  location.hash = fragment;
  return copy(location.href, "The link");
}

function saveSvg() {
  const plane = at("plane").cloneNode(true);
  plane.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  const originals = at("plane").querySelectorAll("*");
  plane.querySelectorAll("*").forEach((copied, i) => {
    const style = getComputedStyle(originals[i]);
    for (const name of ["fill", "stroke", "stroke-width", "stroke-dasharray"]) copied.setAttribute(name, style.getPropertyValue(name));
  });
  download("plane.svg", new XMLSerializer().serializeToString(plane), "image/svg+xml");
}

// ---- beginning -----------------------------------------------------------------------------

function onMethod(method, focus) {
  state.method = method;
  drawMethod(at("method"), method, onMethod);
  if (focus) at(focus).focus();
  rerun();
}

function listen() {
  const clicks = {
    undo: () => travel(past, future), redo: () => travel(future, past),
    clear: () => edit((points) => points.splice(0)), "take-csv": takeCsv,
    first: () => goTo(0), back: () => goTo(state.step - 1), step: () => goTo(state.step + 1),
    last: () => goTo(Infinity), play,
    mistake: () => goTo(nextWhere((step) => state.steps.updated[step - 1].length > 0)),
    pass: () => goTo(nextWhere((step) => state.run.recording.passes.includes(step))),
    "copy-link": copyLink, "copy-python": () => state.run && copy(state.run.python, "The script"),
    "save-svg": saveSvg,
    "save-json": () => state.run && download("recording.json", JSON.stringify({ ...state.run.recording, steps: state.steps }), "application/json"),
  };
  for (const [id, act] of Object.entries(clicks)) at(id).addEventListener("click", act);
  at("scrub").addEventListener("input", () => goTo(Number(at("scrub").value)));
  at("flip").addEventListener("change", () => { state.flip = at("flip").checked; renderPlane(); });
  at("table").closest("details").addEventListener("toggle", renderTable);
  const plane = at("plane");
  plane.addEventListener("pointerdown", onPointerDown);
  plane.addEventListener("pointermove", onPointerMove);
  plane.addEventListener("pointerup", onPointerUp);
  plane.addEventListener("keydown", onKey);
}

function classButtons() {
  for (let c = 0; c < 4; c += 1) {
    const input = document.createElement("input");
    Object.assign(input, { type: "radio", name: "class", value: c, checked: c === state.newClass, id: `class-${c}` });
    input.addEventListener("change", () => { state.newClass = c; });
    const label = document.createElement("label");
    label.append(input, String(c), " ");
    at("classes").append(label);
  }
}

async function begin() {
  classButtons();
  listen();
  const presets = await ask("presets", {}).catch((error) => { say(error.message); return {}; });
  at("preset").append(...["", ...Object.keys(presets)].map((name) => new Option(name || "choose", name)));
  at("preset").addEventListener("change", () => {
    const found = presets[at("preset").value];
    if (found) edit((points) => points.splice(0, points.length, ...found.map((point) => [...point])));
  });
  const linked = await fromLink(location.hash);
  if (linked) Object.assign(state, { points: linked.points, method: linked.method });
  else if (presets.and) state.points = presets.and.map((point) => [...point]);
  drawMethod(at("method"), state.method, onMethod);
  await rerun();
  if (linked && linked.step) goTo(linked.step);
  document.body.dataset.ready = "yes";
}

begin();
