// Gradient descent on a curve: start and step size can be dragged; the server computes the path.
import { ask } from "./api.js";
import { draw, scale, shown } from "./svg.js";

const WIDE = 640;
const HIGH = 400;
const EXAMPLES = [
  ["x^2, step 0.1", "square", -1, 0.1], ["x^2, step 1", "square", -1, 1], ["x^2, step 1.1", "square", -1, 1.1],
  ["two minima, from -1.6", "two minima", -1.6, 0.05], ["two minima, from 1.6", "two minima", 1.6, 0.05],
];
const LIMITS = [1e-4, 10]; // of the step size
const asked = { curve: "square", start: -1, learning_rate: 0.1 };
let result = null;
let step = 0;
let latest = 0;
let dragging = null;

const at = (id) => document.getElementById(id);
const rounded = (value) => Number(value.toPrecision(4));
const within = (value, [low, high]) => Math.min(high, Math.max(low, value));

async function walk() {
  const mine = (latest += 1);
  document.body.dataset.busy = "yes";
  at("curve").value = asked.curve;
  at("start").value = asked.start;
  at("rate").value = asked.learning_rate;
  try {
    const found = await ask("descent", asked);
    if (mine !== latest) return;
    result = found;
    step = dragging ? Math.min(step, result.path.length - 1) : 0;
    at("message").textContent = "";
    show();
  } catch (error) {
    if (mine === latest) at("message").textContent = error.message;
  }
  if (mine !== latest) return;
  delete document.body.dataset.busy;
  document.body.dataset.ready = "yes";
}

function change(part) {
  Object.assign(asked, part);
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

function drawDescent() {
  const svg = at("descent-view");
  const [x, y] = places();
  const held = svg.contains(document.activeElement) ? document.activeElement.id : null;
  svg.setAttribute("viewBox", `0 0 ${WIDE} ${HIGH}`);
  svg.replaceChildren(draw("line", { x1: 0, x2: WIDE, y1: y(0), y2: y(0), class: "axis" }));
  svg.append(draw("line", { x1: x(0), x2: x(0), y1: 0, y2: HIGH, class: "axis" }));
  svg.append(draw("polyline", { points: result.x.map((u, i) => `${x(u)},${y(result.f[i])}`).join(" "), class: "curve" }));
  const seen = result.path.map((u, i) => [x(u), y(result.values[i])]);
  // Parts out of view are drawn up to the edge.
  const inside = (value) => within(value, [-3 * WIDE, 4 * WIDE]);
  const upTo = seen.slice(0, step + 1).map(([px, py]) => [inside(px), inside(py)]);
  svg.append(draw("polyline", { points: upTo.map((place) => place.join(",")).join(" "), class: "walked" }));
  for (const [px, py] of upTo.slice(1)) svg.append(draw("circle", { cx: px, cy: py, r: 3.5, class: "visited" }));
  const [px, py] = upTo[step];
  svg.append(draw("circle", { cx: px, cy: py, r: 6, class: "now-at" }));
  svg.append(draw("text", { x: 8, y: 18 }, `f(x) = ${result.text}`));
  svg.append(draw("text", { x: WIDE - 8, y: 18, "text-anchor": "end" }, `x: ${shown(result.x[0])} to ${shown(result.x[result.x.length - 1])}`));
  if (seen.length > 1 && Math.abs(result.gradients[0]) > 1e-9) {
    const place = within(seen[1][0], [14, WIDE - 14]);
    svg.append(draw("line", { x1: seen[0][0], y1: HIGH - 14, x2: place, y2: HIGH - 14, class: "arrow" }));
    svg.append(draw("text", { x: seen[0][0], y: HIGH - 30, "text-anchor": "middle" }, "first step"));
    svg.append(handle("size", "step size", place, HIGH - 14, asked.learning_rate, LIMITS));
  }
  svg.append(handle("start", "start", ...seen[0], asked.start, [result.x[0], result.x[result.x.length - 1]]));
  if (held && at(held)) at(held).focus();
}

function show() {
  const total = result.path.length - 1;
  drawDescent();
  at("scrub").max = total;
  at("scrub").value = step;
  at("at").textContent = `${step} of ${total}`;
  at("back").disabled = step === 0;
  for (const id of ["step", "last"]) at(id).disabled = step >= total;
  at("sentence").textContent = result.sentence;
  at("arithmetic").textContent = step ? result.arithmetic[step - 1]
    : `start: x = ${shown(asked.start)}, f(x) = ${shown(result.values[0])}, f'(x) = ${shown(result.gradients[0])}`;
}

function goTo(there) {
  if (!result) return;
  step = within(there, [0, result.path.length - 1]);
  show();
}

// ---- dragging -----------------------------------------------------------------------------------

function sidesOf() {
  return [result.x[0], result.x[result.x.length - 1]];
}

function drag(event) {
  const shape = at("descent-view").getBoundingClientRect();
  const there = places()[0].back(((event.clientX - shape.left) / shape.width) * WIDE);
  if (dragging === "start") return change({ start: rounded(within(there, sidesOf())) });
  return change({ learning_rate: rounded(within((asked.start - there) / result.gradients[0], LIMITS)) });
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

function onKey(event) {
  const found = event.target.closest(".handle");
  const by = KEYS[event.key];
  if (!found || !by) return;
  event.preventDefault();
  if (found.classList.contains("start")) change({ start: rounded(within(asked.start + 0.05 * by, sidesOf())) });
  else change({ learning_rate: rounded(within(asked.learning_rate + 0.01 * by, LIMITS)) });
}

function listen() {
  const svg = at("descent-view");
  svg.addEventListener("pointerdown", onDown);
  svg.addEventListener("pointermove", (event) => { if (dragging) drag(event); });
  for (const end of ["pointerup", "pointercancel"]) svg.addEventListener(end, () => { dragging = null; });
  svg.addEventListener("keydown", onKey);
  at("curve").addEventListener("change", () => change({ curve: at("curve").value, start: -1, learning_rate: 0.1 }));
  at("start").addEventListener("change", () => change({ start: within(Number(at("start").value), sidesOf()) }));
  at("rate").addEventListener("change", () => change({ learning_rate: within(Number(at("rate").value), LIMITS) }));
  at("back").addEventListener("click", () => goTo(step - 1));
  at("step").addEventListener("click", () => goTo(step + 1));
  at("last").addEventListener("click", () => goTo(Infinity));
  at("scrub").addEventListener("input", () => goTo(Number(at("scrub").value)));
  for (const [text, curve, start, rate] of EXAMPLES) {
    const button = document.createElement("button");
    Object.assign(button, { type: "button", textContent: text });
    button.addEventListener("click", () => change({ curve, start, learning_rate: rate }));
    at("examples").append(button);
  }
}

listen();
walk();
