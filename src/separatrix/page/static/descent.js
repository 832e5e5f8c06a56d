// The view of gradient descent on a curve: start and step size can be dragged.
import { ask } from "./api.js";
import { ticksInside } from "./axes.js";
import { checkedDescent, RATES } from "./engine/descent.js";
import { draw, scale, shown } from "./svg.js";

const WIDE = 640;
const HIGH = 400;
const EXAMPLES = [
  ["x^2, step 0.1", "square", -1, 0.1], ["x^2, step 1", "square", -1, 1], ["x^2, step 1.1", "square", -1, 1.1],
  ["two minima, from -1.5", "two minima", -1.5, 0.05], ["two minima, from 1.5", "two minima", 1.5, 0.05],
];
const TANGENT = 90; // pixels of the tangent to each side
const SPEED = 500; // milliseconds of a step while playing
const asked = { curve: "square", start: -1, learning_rate: 0.1 };
let result = null;
let step = 0;
let latest = 0;
let dragging = null;
let playing = null;
let changed = () => {}; // called when the view or its settings change

const at = (id) => document.getElementById(id);
const rounded = (value) => Number(value.toPrecision(4));
const within = (value, [low, high]) => Math.min(high, Math.max(low, value));

async function walk() {
  const mine = (latest += 1);
  stop();
  document.body.dataset.busy = "yes";
  at("curve-name").value = asked.curve;
  at("curve-start").value = asked.start;
  at("curve-rate").value = asked.learning_rate;
  try {
    const found = await ask("descent", asked);
    if (mine !== latest) return;
    result = found;
    step = dragging ? Math.min(step, result.path.length - 1) : 0;
    at("curve-message").textContent = "";
    show();
  } catch (error) {
    if (mine === latest) at("curve-message").textContent = error.message;
  }
  if (mine === latest) delete document.body.dataset.busy;
}

function change(part) {
  Object.assign(asked, part);
  changed();
  walk();
}

// ---- drawing ------------------------------------------------------------------------------------

function places() {
  const sides = [result.x[0], result.x[result.x.length - 1]];
  const [low, high] = [Math.min(...result.f), Math.max(...result.f)];
  const room = 0.12 * (high - low);
  return [scale(sides, [20, WIDE - 20]), scale([low - room, high + room], [HIGH - 24, 10])];
}

function handle(name, text, px, py, now, [low, high]) {
  const made = draw("g", {
    id: `handle-${name}`, class: `handle ${name}`, role: "slider", tabindex: 0, "aria-label": text,
    "aria-valuemin": low, "aria-valuemax": high, "aria-valuenow": now, "aria-valuetext": shown(now),
  });
  made.append(draw("circle", { cx: px, cy: py, r: 22, class: "reach" }));
  made.append(name === "start" ? draw("circle", { cx: px, cy: py, r: 8 }) : draw("rect", { x: px - 7, y: py - 7, width: 14, height: 14 }));
  return made;
}

// The tangent at the point of the step: its slope decides about the next.
function tangent([px, py], gradient, [x, y]) {
  const [dx, dy] = [x(1) - x(0), (y(1) - y(0)) * gradient];
  const length = Math.hypot(dx, dy);
  if (!Number.isFinite(length)) return draw("g");
  const [u, v] = [(TANGENT * dx) / length, (TANGENT * dy) / length];
  return draw("line", { x1: px - u, y1: py - v, x2: px + u, y2: py + v, class: "tangent" });
}

function drawDescent() {
  const svg = at("descent-view");
  const [x, y] = places();
  const held = svg.contains(document.activeElement) ? document.activeElement.id : null;
  svg.setAttribute("viewBox", `0 0 ${WIDE} ${HIGH}`);
  const sides = [x.back(0), x.back(WIDE), y.back(HIGH), y.back(0)];
  svg.replaceChildren(draw("line", { x1: 0, x2: WIDE, y1: y(0), y2: y(0), class: "axis" }));
  svg.append(draw("line", { x1: x(0), x2: x(0), y1: 0, y2: HIGH, class: "axis" }));
  svg.append(draw("polyline", { points: result.x.map((u, i) => `${x(u)},${y(result.f[i])}`).join(" "), class: "curve" }));
  svg.append(...ticksInside(sides, [x, y], [WIDE, HIGH]).map((one) => draw(...one)));
  const seen = result.path.map((u, i) => [x(u), y(result.values[i])]);
  // Parts out of view are drawn up to the edge.
  const inside = (value) => within(value, [-3 * WIDE, 4 * WIDE]);
  const upTo = seen.slice(0, step + 1).map(([px, py]) => [inside(px), inside(py)]);
  svg.append(draw("polyline", { points: upTo.map((place) => place.join(",")).join(" "), class: "walked" }));
  for (const [px, py] of upTo.slice(1)) svg.append(draw("circle", { cx: px, cy: py, r: 3.5, class: "visited" }));
  const [px, py] = upTo[step];
  svg.append(tangent(upTo[step], result.gradients[step], [x, y]), draw("circle", { cx: px, cy: py, r: 6, class: "now-at" }));
  svg.append(draw("text", { x: WIDE / 2, y: 18, "text-anchor": "middle" }, `f(x) = ${result.text}`));
  if (px < 0 || px > WIDE || py < 0 || py > HIGH) svg.append(draw("text", { x: px < WIDE / 2 ? 40 : WIDE - 8, y: 36, "text-anchor": px < WIDE / 2 ? "start" : "end" }, `outside: x = ${shown(result.path[step])}, f(x) = ${shown(result.values[step])}`));
  if (seen.length > 1 && Math.abs(result.gradients[0]) > 1e-9) {
    const place = within(seen[1][0], [14, WIDE - 14]);
    svg.append(draw("line", { x1: seen[0][0], y1: HIGH - 40, x2: place, y2: HIGH - 40, class: "arrow" }));
    svg.append(draw("text", { x: seen[0][0], y: HIGH - 56, "text-anchor": "middle" }, "first step"));
    svg.append(handle("size", "step size", place, HIGH - 40, asked.learning_rate, RATES));
  }
  svg.append(handle("start", "start", ...seen[0], asked.start, [result.x[0], result.x[result.x.length - 1]]));
  if (held && at(held)) at(held).focus();
}

// The slope and what it leads to; how the run ends is said at its last step.
function sentence() {
  if (step === result.path.length - 1) return result.sentence;
  const slope = result.gradients[step];
  if (slope === 0) return "The slope is 0: there is no way down.";
  return `The slope is ${shown(slope)}: down is to the ${slope > 0 ? "left" : "right"}, and the next step moves ${shown(asked.learning_rate * Math.abs(slope))} that way.`;
}

function show() {
  const total = result.path.length - 1;
  drawDescent();
  at("curve-scrub").max = total;
  at("curve-scrub").value = step;
  at("curve-at").textContent = step < total ? `${step}` : `${step}, the last`;
  at("curve-back").disabled = step === 0;
  for (const id of ["step", "play", "last"]) at(`curve-${id}`).disabled = step >= total;
  at("curve-sentence").textContent = sentence();
  at("curve-arithmetic").textContent = step ? result.arithmetic[step - 1]
    : `start: x = ${shown(asked.start)}, f(x) = ${shown(result.values[0])}, f'(x) = ${shown(result.gradients[0])}`;
}

function goTo(there) {
  if (!result) return;
  step = within(there, [0, result.path.length - 1]);
  show();
}

function stop() {
  clearTimeout(playing);
  playing = null;
  at("curve-play").textContent = "Play";
  at("curve-play").setAttribute("aria-pressed", "false");
}

function play() {
  if (playing) return stop();
  at("curve-play").textContent = "Pause";
  at("curve-play").setAttribute("aria-pressed", "true");
  const tick = () => {
    goTo(step + 1);
    if (step >= result.path.length - 1) return stop();
    playing = setTimeout(tick, SPEED);
    return undefined;
  };
  playing = setTimeout(tick, 0);
  return undefined;
}

// ---- dragging -----------------------------------------------------------------------------------

function sidesOf() {
  return [result.x[0], result.x[result.x.length - 1]];
}

function drag(event) {
  const shape = at("descent-view").getBoundingClientRect();
  const there = places()[0].back(((event.clientX - shape.left) / shape.width) * WIDE);
  if (dragging === "start") return change({ start: rounded(within(there, sidesOf())) });
  return change({ learning_rate: rounded(within((asked.start - there) / result.gradients[0], RATES)) });
}

function onDown(event) {
  const found = event.target.closest(".handle");
  if (!found) return;
  event.preventDefault();
  found.focus();
  dragging = found.classList.contains("start") ? "start" : "size";
  at("descent-view").setPointerCapture(event.pointerId);
}

const KEYS = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 5, PageDown: -5 };

// Space and the arrows step, where they have no other meaning.
function onPageKey(event) {
  if (!isOpen() || event.target.closest("input, select, button, .handle") || event.ctrlKey || event.altKey || event.metaKey) return;
  const by = { " ": 1, ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!by) return;
  event.preventDefault();
  stop();
  goTo(step + by);
}

function onKey(event) {
  const found = event.target.closest(".handle");
  const by = KEYS[event.key];
  if (!found || !by) return;
  event.preventDefault();
  if (found.classList.contains("start")) change({ start: rounded(within(asked.start + 0.05 * by, sidesOf())) });
  else change({ learning_rate: rounded(within(asked.learning_rate + 0.01 * by, RATES)) });
}

function listen() {
  const svg = at("descent-view");
  svg.addEventListener("pointerdown", onDown);
  svg.addEventListener("pointermove", (event) => { if (dragging) drag(event); });
  for (const end of ["pointerup", "pointercancel"]) svg.addEventListener(end, () => { dragging = null; });
  svg.addEventListener("keydown", onKey);
  document.addEventListener("keydown", onPageKey);
  at("curve-name").addEventListener("change", () => change({ curve: at("curve-name").value, start: -1, learning_rate: 0.1 }));
  at("curve-start").addEventListener("change", () => change({ start: within(Number(at("curve-start").value), sidesOf()) }));
  at("curve-rate").addEventListener("change", () => change({ learning_rate: within(Number(at("curve-rate").value), RATES) }));
  const clicks = { back: () => goTo(step - 1), step: () => goTo(step + 1), last: () => goTo(Infinity), play };
  for (const [id, act] of Object.entries(clicks)) at(`curve-${id}`).addEventListener("click", () => { if (id !== "play") stop(); act(); });
  at("curve-scrub").addEventListener("input", () => { stop(); goTo(Number(at("curve-scrub").value)); });
  for (const [text, curve, start, rate] of EXAMPLES) {
    const button = document.createElement("button");
    Object.assign(button, { type: "button", textContent: text });
    button.addEventListener("click", () => change({ curve, start, learning_rate: rate }));
    at("curve-examples").append(button);
  }
}

function isOpen() {
  return document.body.dataset.page === "curve";
}

// Show the curve, with the settings of a link, or the points and lines.
export function showCurve(given) {
  stop();
  if (!given) {
    delete document.body.dataset.page;
    return;
  }
  document.body.dataset.page = "curve";
  change(checkedDescent(given));
}

export const shownCurve = () => (isOpen() ? { ...asked } : null);

// act: called when the view or its settings change.
export function setUpCurve(act) {
  listen();
  changed = act;
  at("open-curve").addEventListener("click", () => showCurve(asked));
  at("close-curve").addEventListener("click", () => { showCurve(null); changed(); });
}
