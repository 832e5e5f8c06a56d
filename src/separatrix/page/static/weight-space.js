// Weight space: two of the weights, the contours of the objective, and the path of the weights.
import { ticksInside } from "./axes.js";
import { cycleNow, hasClosed } from "./cycle.js";
import { LARGEST } from "./engine/limits.js";
import { askAtStep } from "./run.js";
import { landscapeAt, numberOf, saved } from "./saved.js";
import { addView, at, classesOf, state, weightsAt } from "./state.js";
import { draw, option, scale, shown } from "./svg.js";

const WIDE = 400;
const HIGH = 266;
const FIRST = 5; // steps: a run whose weights get far longer than in these diverges
const WILD = 1e4; // times as long
const ROOM = 20; // of its frame, times the first weights
const MOST_DRAWN = 2000; // points of the path
const TAIL = 100; // number of last steps drawn in bold
const chosen = { across: 0, up: 1, of: "objective", column: 0 };
let walk = []; // the two weights at every step
let box = null;
let land = null; // the server's answer, with its request
let asking = false;

function namesOf(weights) {
  const names = weights[0].slice(0, -1).map((_, j) => `w${j + 1}`);
  return state.method.fit_intercept ? [...names, "b"] : names;
}

function hasSpace() {
  const weights = weightsAt(0);
  return Boolean(weights) && namesOf(weights).length > 1;
}

// The weights that the frame has to show: of a run that diverges only the first.
function framed() {
  const size = ([u, v]) => (u === null || v === null ? Infinity : Math.max(Math.abs(u), Math.abs(v)));
  const first = walk.slice(0, FIRST + 1).map(size).filter(Number.isFinite);
  const wild = state.run.recording.stop === "diverged" || walk.some((place) => size(place) > WILD * (Math.max(...first) || 1));
  const most = wild ? Math.min(LARGEST, ROOM * (first.find(Boolean) ?? 1)) : LARGEST;
  return walk.filter((place) => size(place) <= most);
}

function boxOfWalk() {
  const shownPlaces = framed();
  const sides = [0, 1].map((axis) => {
    const all = shownPlaces.map((place) => place[axis]);
    const [low, high] = [Math.min(...all, Infinity), Math.max(...all, -Infinity)];
    if (!all.length) return [-1, 1];
    const room = 0.25 * (high - low) || 1;
    return [low - room, high + room];
  });
  return [...sides[0], ...sides[1]];
}

function look() {
  const { across, up, column } = chosen;
  walk = [];
  for (let step = 0; step <= state.steps.rows.length; step += 1) {
    const own = weightsAt(step)[column];
    walk.push([own[across], own[up]]);
  }
  box = (saved && landscapeAt(0, chosen)?.box) || boxOfWalk();
}

// ---- the landscape ------------------------------------------------------------------------------

// Everything that the contours depend on, including the fixed weights.
function question() {
  const held = weightsAt(state.step).map((row) => [...row]);
  held[chosen.column][chosen.across] = held[chosen.column][chosen.up] = 0;
  return JSON.stringify([held, chosen, box]);
}

async function fetchLand() {
  if (!state.run || !hasSpace()) return;
  if (saved) {
    takeLand();
    return;
  }
  if (asking) return;
  const { run } = state;
  const wanted = question();
  if (land && land.run === run && land.wanted === wanted) return;
  if (weightsAt(state.step).flat().some((v) => v === null)) return; // overflow
  asking = true;
  const { across, up, of, column } = chosen;
  const { step } = state;
  const found = await askAtStep("landscape", { axes: [across, up], of, column, box });
  asking = false;
  if (!state.run || !hasSpace()) return;
  if (state.run !== run || question() !== wanted || (!found && state.step !== step)) {
    fetchLand(); // another one is needed by now
  } else if (found) {
    land = { ...found, run, wanted };
    drawLand();
  }
}

// A saved page contains the contours of some steps.
function takeLand() {
  const found = landscapeAt(state.step, chosen);
  if (found && land !== found) {
    land = found;
    drawLand();
  }
  const near = found && !sameHeld(found.at, state.step);
  at("weight-near").textContent = near ? `The contours are for step ${numberOf(found.at)}.` : "";
  at("weight-contours").hidden = !found;
  if (!found) at("weight-levels").textContent = "";
}

// Whether all weights except the two shown are the same at both steps.
function sameHeld(one, other) {
  const [a, b] = [weightsAt(one), weightsAt(other)];
  const free = (c, j) => c === chosen.column && (j === chosen.across || j === chosen.up);
  return a.every((row, c) => row.every((value, j) => free(c, j) || value === b[c][j]));
}

function drawLand() {
  const [bands, lines] = ["bands", "contours"].map((name) => at("weight-view").querySelector(`.${name}`));
  if (!land || !bands) return;
  const { size, levels } = land;
  const [wide, high] = [WIDE / (size - 1), HIGH / (size - 1)];
  const paths = levels.map(() => []);
  for (let row = 0; row < size; row += 1) {
    let begin = 0;
    for (let col = 1; col <= size; col += 1) {
      const band = land.bands.charCodeAt(row * size + begin);
      if (col < size && land.bands.charCodeAt(row * size + col) === band) continue;
      const place = `M${(begin - 0.5) * wide} ${HIGH - (row + 0.5) * high}`;
      paths[band - 97].push(`${place}h${(col - begin) * wide}v${high}h${-(col - begin) * wide}z`);
      begin = col;
    }
  }
  bands.replaceChildren(...paths.map((path, i) => draw("path", {
    d: path.join(""), "fill-opacity": levels.length > 1 ? (0.7 * i) / (levels.length - 1) : 0,
  })));
  const [x, y] = [scale([0, 1000], [0, WIDE]), scale([0, 1000], [HIGH, 0])];
  const pieces = land.lines.flat().map(([a, b, c, d]) => `M${x(a)} ${y(b)}L${x(c)} ${y(d)}`);
  lines.setAttribute("d", pieces.join(""));
  at("weight-levels").textContent = levels[0] === null ? "The objective is infinite in all of the picture." : `${chosen.of === "objective" ? "Objective" : "Mistakes"} from `
    + `${shown(levels[0])} (faint) to ${shown(levels[levels.length - 1])} and more (strong).`;
}

// ---- the path -----------------------------------------------------------------------------------

function places() {
  return [scale([box[0], box[1]], [0, WIDE]), scale([box[2], box[3]], [HIGH, 0])];
}

function points(from, to) {
  const [x, y] = places();
  const jump = Math.max(1, Math.ceil((to - from) / MOST_DRAWN));
  const found = [];
  for (let step = from; step <= to; step += 1) {
    const [u, v] = walk[step];
    if (u !== null && v !== null && ((step - from) % jump === 0 || step === to)) found.push(`${x(u)},${y(v)}`);
  }
  return found.join(" ");
}

// The place of the weights, at the edge of the picture if they are outside of it.
function placed(px, py) {
  const inside = [Math.min(WIDE - 7, Math.max(7, px)), Math.min(HIGH - 7, Math.max(7, py))];
  const outside = px < 0 || px > WIDE || py < 0 || py > HIGH;
  return outside ? [true, ...inside] : [false, px, py];
}

// An arrow at the edge, towards weights that are outside.
function pointer(px, py, x, y) {
  const turn = Math.atan2(y - py, x - px);
  const end = (angle, length) => `${px + length * Math.cos(turn + angle)} ${py + length * Math.sin(turn + angle)}`;
  return `M${end(0, 6)}L${end(2.6, 16)}L${end(-2.6, 16)}z`;
}

function drawWalk() {
  const svg = at("weight-view");
  if (!svg.querySelector(".now-at")) return;
  svg.querySelector(".cycle").setAttribute("points", hasClosed() ? points(cycleNow().start, state.steps.rows.length) : "");
  svg.querySelector(".walked").setAttribute("points", points(Math.max(0, state.step - TAIL), state.step));
  const [x, y] = places();
  const [u, v] = walk[state.step];
  let [outside, px, py] = [false, 0, 0];
  if (u !== null && v !== null) {
    [outside, px, py] = placed(x(u), y(v));
    svg.querySelector(".now-at").setAttribute("cx", px);
    svg.querySelector(".now-at").setAttribute("cy", py);
  }
  svg.querySelector(".now-at").classList.toggle("outside", outside);
  svg.querySelector(".off-frame").setAttribute("d", outside ? pointer(px, py, x(u), y(v)) : "");
  const names = namesOf(weightsAt(0));
  const own = weightsAt(state.step)[chosen.column];
  const rest = names.map((name, j) => [name, own[j], j]).filter(([, , j]) => j !== chosen.across && j !== chosen.up);
  const others = state.run.recording.data.classes.length > 2 ? ", and the weights of the other classes" : "";
  at("weight-held").textContent = `Fixed at this step: ${rest.map(([name, value]) => `${name} = ${shown(value)}`).join(", ") || "nothing"}${others}.${outside ? ` The weights are outside of the picture: ${names[chosen.across]} = ${shown(u)}, ${names[chosen.up]} = ${shown(v)}.` : ""}`;
  svg.setAttribute("aria-label", `Weight space: ${names[chosen.across]} = ${shown(u)}, ${names[chosen.up]} = ${shown(v)} at step ${state.step}`);
}

function drawFrame() {
  const svg = at("weight-view");
  const [x, y] = places();
  const names = namesOf(weightsAt(0));
  svg.setAttribute("viewBox", `0 0 ${WIDE} ${HIGH}`);
  const [u, v] = walk[0];
  svg.replaceChildren(
    draw("g", { class: "bands" }), draw("path", { class: "contours" }),
    draw("line", { x1: 0, x2: WIDE, y1: y(0), y2: y(0), class: "axis" }),
    draw("line", { x1: x(0), x2: x(0), y1: 0, y2: HIGH, class: "axis" }),
    draw("polyline", { points: points(0, walk.length - 1), class: "walk" }),
    draw("polyline", { class: "cycle" }), draw("polyline", { class: "walked" }),
    draw("rect", { x: x(u) - 4, y: y(v) - 4, width: 8, height: 8, class: "began" }),
    draw("circle", { r: 6, class: "now-at" }), draw("path", { class: "off-frame" }),
    ...ticksInside(box, [x, y], [WIDE, HIGH]).map((one) => draw(...one)),
    draw("text", { x: WIDE - 6, y: HIGH - 8, "text-anchor": "end" }, names[chosen.across]),
    draw("text", { x: 6, y: 16 }, names[chosen.up]),
  );
}

function drawChoices() {
  const names = namesOf(weightsAt(0));
  const labels = classesOf(state.points);
  if (Math.max(chosen.across, chosen.up) >= names.length) Object.assign(chosen, { across: 0, up: 1 });
  if (chosen.column >= weightsAt(0).length) chosen.column = 0;
  for (const id of ["across", "up"]) {
    const other = id === "across" ? "up" : "across";
    const left = names.map((name, j) => [j, name]).filter(([j]) => j !== chosen[other]);
    at(`weight-${id}`).replaceChildren(...left.map(([j, name]) => option(name, j, j === chosen[id])));
  }
  at("weight-column").replaceChildren(...weightsAt(0).map((_, c) => option(labels[c], c, c === chosen.column)));
  at("weight-column").closest("label").hidden = weightsAt(0).length < 2;
}

function drawSpace() {
  const shownNow = Boolean(state.run) && hasSpace();
  at("weight-view").closest("figure").hidden = !shownNow;
  if (!shownNow) return;
  drawChoices();
  look();
  drawFrame();
  drawWalk();
  if (saved) land = null; // redrawn with the frame
  else if (land && land.run === state.run && land.wanted === question()) drawLand();
  fetchLand();
}

function moveSpace() {
  if (!state.run || !hasSpace()) return;
  drawWalk();
  fetchLand();
}

// The view of a link, and back.
export function showSpace({ across, up, of, column }) {
  Object.assign(chosen, { across, up, of, column });
  at("weight-of").value = of;
}

export const shownSpace = () => ({ across: chosen.across, up: chosen.up, of: chosen.of, column: chosen.column });

export function setUpWeightSpace() {
  for (const name of ["across", "up", "of", "column"]) {
    at(`weight-${name}`).addEventListener("change", () => {
      const { value } = at(`weight-${name}`);
      chosen[name] = name === "of" ? value : Number(value);
      drawSpace();
    });
  }
  addView(drawSpace, moveSpace);
}
