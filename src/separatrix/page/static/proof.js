// The convergence proof of the perceptron, as the run goes on: t gamma <= v . u <= |v| <= sqrt(t) R.
import { ticksAcross, ticksOf, ticksUp } from "./axes.js";
import { verdictOf } from "./engine/separability.js";
import { problemNow } from "./problem.js";
import { at, state, updatesByStep, valuesOf, weightsAt } from "./state.js";
import { circleAt, redraw, scale, shown } from "./svg.js";

const WIDE = 360;
const HIGH = 150;
const EDGE = 34;
const FOOT = 36;
const RIGHT = 262; // of the chart
const RADIUS = 40; // of the circle in which the angle is drawn
const MOST_SHOWN = 100; // a bound up to it is on the axis from the start
const FIRST_SHOWN = 10;

const holds = () => Boolean(state.run && state.run.recording.bounds.updates);

// gamma and R, and the unit vector u of the largest margin.
function factsOf(found) {
  const { direction, margin: gamma, mistake_bound: bound } = found;
  const size = Math.hypot(...direction);
  return { gamma, bound, R: gamma * Math.sqrt(bound), u: direction.map((v) => v / size) };
}

// v = (w, b) over the step size: the sum of the signed rows of all mistakes.
function vectorNow(width) {
  const { rows } = problemNow();
  const weights = weightsAt(state.step).map((row) => (rows.intercept ? row : row.slice(0, -1)));
  return weights.flat().slice(0, width).map((v) => v / state.method.learning_rate);
}

function lastShown(t, bound) {
  if (bound <= MOST_SHOWN) return Math.max(FIRST_SHOWN, bound);
  let last = FIRST_SHOWN;
  while (last < 1.25 * t) last *= 2;
  return Math.min(last, bound);
}

// The length of v after each update so far.
function lengths() {
  const [updates, norm] = [updatesByStep(), valuesOf("norm")];
  const found = [];
  for (let step = 0; step <= state.step; step += 1) found[updates[step]] = norm[step] / state.method.learning_rate;
  return found;
}

function chart({ gamma, bound, R }, t, length) {
  const last = lastShown(t, bound);
  const high = 1.08 * Math.sqrt(last) * R;
  const [x, y] = [scale([0, last], [EDGE, RIGHT]), scale([0, high], [HIGH - FOOT, 8])];
  const root = Array.from({ length: 61 }, (_, i) => (last * i * i) / 3600).map((one) => `${x(one)},${y(Math.sqrt(one) * R)}`);
  return [
    ["line", { x1: EDGE, x2: RIGHT, y1: HIGH - FOOT, y2: HIGH - FOOT, class: "axis" }],
    ["line", { x1: EDGE, x2: EDGE, y1: 8, y2: HIGH - FOOT, class: "axis" }],
    ...ticksAcross(ticksOf(0, last, 5), x, HIGH - FOOT), ...ticksUp(ticksOf(0, high, 3), y, EDGE),
    ["text", { x: RIGHT, y: HIGH - 5, "text-anchor": "end" }, "updates t"],
    ["polyline", { points: root.join(" "), class: "bound" }],
    ["line", { x1: x(0), y1: y(0), x2: x(last), y2: y(last * gamma), class: "bound" }],
    ["polyline", { points: lengths().map((one, i) => `${x(i)},${y(one)}`).join(" "), class: "curve" }],
    ["path", { d: circleAt(x(t), y(length), 4), class: "now-at" }],
    ["text", { x: x(0.3 * last), y: y(Math.sqrt(0.3 * last) * R) - 6, "text-anchor": "end" }, "sqrt(t) R"],
    ["text", { x: x(0.62 * last), y: y(0.62 * last * gamma) + (y(0.62 * last * gamma) > HIGH - FOOT - 16 ? -5 : 15), "text-anchor": "start" }, "t gamma"],
  ];
}

// u to the right, v turned away from it.
function angleDrawn(cosine) {
  const [px, py] = [WIDE - RADIUS - 8, HIGH / 2 - 8];
  const drawn = [
    ["path", { d: circleAt(px, py, RADIUS), class: "unit" }],
    ["path", { d: `M${px} ${py}h${RADIUS}m-7 -4l7 4l-7 4`, class: "bound" }],
    ["text", { x: px + RADIUS - 4, y: py + 16, "text-anchor": "end" }, "u"],
  ];
  if (cosine === null) return [...drawn, ["text", { x: px, y: HIGH - 8, "text-anchor": "middle" }, "v = 0"]];
  const turn = -Math.acos(cosine);
  const [ex, ey] = [px + RADIUS * Math.cos(turn), py + RADIUS * Math.sin(turn)];
  return [
    ...drawn,
    ["line", { x1: px, y1: py, x2: ex, y2: ey, class: "curve" }],
    ["text", { x: px + 0.6 * (ex - px) - 8, y: py + 0.6 * (ey - py) - 4, "text-anchor": "end" }, "v"],
    ["text", { x: px, y: HIGH - 8, "text-anchor": "middle" }, `angle ${shown((180 / Math.PI) * Math.acos(cosine))}\u00b0`],
  ];
}

export const proof = {
  name: "the convergence proof",
  suits: holds,
  draw() {
    const nothing = (text) => { at("proof-view").replaceChildren(); at("proof-words").textContent = text; };
    if (!state.run) return nothing("");
    if (!holds()) return nothing("The proof holds for the perceptron row by row, from zero, with a constant step and a bias, without a penalty, on separable points.");
    const found = verdictOf(problemNow().rows);
    if (!found.margin) return nothing("The margin is not known here.");
    const facts = factsOf(found);
    const v = vectorNow(facts.u.length);
    const t = updatesByStep()[state.step];
    const [length, along] = [Math.hypot(...v), v.reduce((sum, one, j) => sum + one * facts.u[j], 0)];
    const cosine = length ? Math.min(1, along / length) : null;
    at("proof-view").setAttribute("viewBox", `0 0 ${WIDE} ${HIGH}`);
    redraw(at("proof-view"), [...chart(facts, t, length), ...angleDrawn(cosine)]);
    at("proof-words").textContent = `t = ${t}: t gamma = ${shown(t * facts.gamma)} <= v . u = ${shown(along)} <= |v| = ${shown(length)} <= sqrt(t) R = ${shown(Math.sqrt(t) * facts.R)}, `
      + `so t <= R^2 / gamma^2 = ${Math.floor(facts.bound)}. v = (w, b) / step; u: the direction of the largest margin, gamma; R: the longest signed row.`;
    return undefined;
  },
};
