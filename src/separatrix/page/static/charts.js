// Charts next to the plane: one number by step, and the loss over the margin.
import { powerName, powersOf, ticksAcross, ticksOf, ticksUp } from "./axes.js";
import { circleAt, draw, layers, redraw, scale, scaleOfPowers, shown } from "./svg.js";

export const WIDE = 300;
export const HIGH = 180;
export const EDGE = 52; // left of the axis
export const FOOT = 40; // below it

// The axes with their ticks; returns the scales of both.
export function frame(svg, label, [first, last], [low, high], { log = false, count = null } = {}) {
  const x = scale([first, last], [EDGE, WIDE - 8]);
  const y = log ? scaleOfPowers([low, high], [HIGH - FOOT, 8]) : scale([low, high], [HIGH - FOOT, 8]);
  const across = ticksOf(first, last, 5).filter((value) => count === null || Number.isInteger(value));
  svg.setAttribute("viewBox", `0 0 ${WIDE} ${HIGH}`);
  svg.replaceChildren(...[
    ["line", { x1: EDGE, y1: HIGH - FOOT, x2: WIDE - 8, y2: HIGH - FOOT, class: "axis" }],
    ["line", { x1: EDGE, y1: 8, x2: EDGE, y2: HIGH - FOOT, class: "axis" }],
    ...ticksAcross(across, x, HIGH - FOOT, count ? (value) => String(count(value) ?? value) : shown),
    ...(log ? ticksUp(powersOf(low, high), y, EDGE, powerName) : ticksUp(ticksOf(low, high, 5), y, EDGE)),
    ["text", { x: WIDE - 10, y: HIGH - 8, "text-anchor": "end" }, log ? `${label}; log scale` : label],
  ].map((one) => draw(...one)));
  return [x, y];
}

const WILD = 1e3; // times the median: such values are drawn on a log scale

// Whether the values need a log scale; null stands for an overflow.
function isWild(values) {
  const positive = values.filter((value) => value > 0).sort((a, b) => a - b);
  return positive.length > 2 && positive.at(-1) > WILD * positive[Math.floor(positive.length / 2)];
}

// The sides of the values: from 0 on, or powers of ten on a log scale.
function sidesOf(values, log, limit) {
  if (log) {
    const positive = values.filter((value) => value > 0);
    const power = (value, round) => Number(`1e${round(Math.log10(value))}`);
    const high = power(positive.reduce((most, value) => Math.max(most, value), 0), Math.ceil);
    return [power(positive.reduce((least, value) => Math.min(least, value), Infinity), Math.floor), Number.isFinite(high) ? high : Number.MAX_VALUE];
  }
  const high = values.reduce((most, value) => Math.max(most, value), 0); // null counts as 0
  return [0, (limit && limit.value <= 3 * (high || 1) ? Math.max(high, limit.value) : high) || 1];
}

// values: from the start; numbered: the number of a step of the page; limit: a line and its name; at: the current step.
export function drawChart(svg, values, numbered, at, limit = null) {
  const log = isWild(values);
  const [low, high] = sidesOf(values, log, limit);
  const [x, y] = frame(svg, "step", [0, Math.max(1, values.length - 1)], [low, high], { log, count: numbered });
  const jump = Math.max(1, Math.floor(values.length / 600));
  const points = [];
  values.forEach((one, step) => {
    if (one !== null && (step % jump === 0 || step === values.length - 1)) points.push(`${x(step)},${y(one)}`);
  });
  svg.append(draw("polyline", { points: points.join(" "), class: "curve" }));
  if (values.includes(null)) svg.append(draw("text", { x: x(values.indexOf(null)), y: 18, "text-anchor": "end" }, "then infinite"));
  if (limit) drawLimit(svg, limit, y, [low, high]);
  svg.append(draw("line", { y1: 8, y2: HIGH - FOOT, class: "now" }));
  moveChart(svg, values.length, at);
}

function drawLimit(svg, { name, value }, y, [low, high]) {
  const text = `${name}: ${shown(value)}`;
  if (value < low || value > high) {
    svg.append(draw("text", { x: WIDE - 12, y: value > high ? 18 : HIGH - FOOT - 6, "text-anchor": "end" }, `${text}, ${value > high ? "above" : "below"}`));
    return;
  }
  svg.append(draw("line", { x1: EDGE, x2: WIDE - 8, y1: y(value), y2: y(value), class: "bound" }));
  svg.append(draw("text", { x: WIDE - 12, y: y(value) + (y(value) < 22 ? 14 : -4), "text-anchor": "end" }, text));
}

// The step at a position on a chart.
export function stepAt(svg, event, count) {
  const shape = svg.getBoundingClientRect();
  const place = ((event.clientX - shape.left) / shape.width) * WIDE;
  return Math.round(scale([0, Math.max(1, count - 1)], [EDGE, WIDE - 8]).back(place));
}

// Move only the line that marks the current step.
export function moveChart(svg, count, at) {
  const now = svg.querySelector(".now");
  if (!now) return;
  const x = scale([0, Math.max(1, count - 1)], [EDGE, WIDE - 8]);
  for (const end of ["x1", "x2"]) now.setAttribute(end, x(at));
}

// The curve, which is the same at every step of a run.
function lossCurve(into, { margin, loss }, high) {
  const made = draw("g");
  const [x, y] = frame(made, "margin", [margin[0], margin.at(-1)], [0, high]);
  made.append(
    draw("line", { x1: x(0), x2: x(0), y1: 8, y2: HIGH - FOOT, class: "axis" }),
    draw("polyline", { points: margin.map((m, i) => `${x(m)},${y(loss[i])}`).join(" "), class: "curve" }),
  );
  into.replaceChildren(...made.children);
}

// curve: {margin, loss} from the library; dots: [margin, class] of every row.
export function drawLoss(svg, curve, dots) {
  const { margin, loss } = curve;
  const [first, last, high] = [margin[0], margin[margin.length - 1], Math.max(...loss)];
  const places = [scale([first, last], [EDGE, WIDE - 8]), scale([0, high], [HIGH - FOOT, 8])];
  const [behind, above] = layers(svg, ["ground", "dots"]);
  if (behind.curve !== curve) {
    behind.curve = curve;
    lossCurve(behind, curve, high);
    svg.setAttribute("viewBox", `0 0 ${WIDE} ${HIGH}`);
  }
  const each = (last - first) / (margin.length - 1);
  const kinds = { c0: [], c1: [], c2: [], c3: [], out: [] }; // out: drawn at the edge
  for (const [m, c] of dots) {
    const place = Math.min(margin.length - 1, Math.max(0, Math.round((m - first) / each)));
    const outside = m < first - each || m > last + each;
    kinds[outside ? "out" : `c${c}`].push(circleAt(places[0](margin[place]), places[1](loss[place]), 4));
  }
  redraw(above, Object.entries(kinds).map(([kind, found]) => ["path", { d: found.join(""), class: kind }]));
}
