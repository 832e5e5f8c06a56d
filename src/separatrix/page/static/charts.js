// Charts next to the plane: one number by step, and the loss over the margin.
import { circleAt, draw, layers, redraw, scale, shown } from "./svg.js";

export const WIDE = 300;
export const HIGH = 180;
export const EDGE = 52; // left of the axis
export const FOOT = 40; // below it

export function frame(svg, label, low, high) {
  svg.setAttribute("viewBox", `0 0 ${WIDE} ${HIGH}`);
  svg.replaceChildren(
    draw("line", { x1: EDGE, y1: HIGH - FOOT, x2: WIDE - 8, y2: HIGH - FOOT, class: "axis" }),
    draw("line", { x1: EDGE, y1: 8, x2: EDGE, y2: HIGH - FOOT, class: "axis" }),
    draw("text", { x: EDGE - 5, y: 18, "text-anchor": "end" }, shown(high)),
    draw("text", { x: EDGE - 5, y: HIGH - FOOT, "text-anchor": "end" }, shown(low)),
    draw("text", { x: WIDE - 10, y: HIGH - 8, "text-anchor": "end" }, label),
  );
}

// values: from the start; last: number of the last step; limit: a line and its name; at: the current step.
export function drawChart(svg, values, last, at, limit = null) {
  let high = 0;
  for (const value of values) high = Math.max(high, value); // null (overflow) counts as 0
  const { name, value } = limit ?? {};
  if (limit && value <= 3 * (high || 1)) high = Math.max(high, value);
  high = high || 1;
  frame(svg, "step", 0, high);
  const x = scale([0, Math.max(1, values.length - 1)], [EDGE, WIDE - 8]);
  const y = scale([0, high], [HIGH - FOOT, 8]);
  svg.append(
    draw("text", { x: EDGE, y: HIGH - 24, "text-anchor": "middle" }, "0"),
    draw("text", { x: WIDE - 10, y: HIGH - 24, "text-anchor": "end" }, last),
  );
  const jump = Math.max(1, Math.floor(values.length / 600));
  const points = [];
  values.forEach((one, step) => {
    if (one !== null && (step % jump === 0 || step === values.length - 1)) points.push(`${x(step)},${y(one)}`);
  });
  svg.append(draw("polyline", { points: points.join(" "), class: "curve" }));
  if (limit && value > high) {
    svg.append(draw("text", { x: WIDE - 12, y: 18, "text-anchor": "end" }, `${name}: ${shown(value)}, above`));
  } else if (limit) {
    svg.append(draw("line", { x1: EDGE, x2: WIDE - 8, y1: y(value), y2: y(value), class: "bound" }));
    svg.append(draw("text", { x: WIDE - 12, y: y(value) + (y(value) < 22 ? 14 : -4), "text-anchor": "end" }, `${name}: ${shown(value)}`));
  }
  svg.append(draw("line", { y1: 8, y2: HIGH - FOOT, class: "now" }));
  moveChart(svg, values.length, at);
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
function lossCurve(into, { margin, loss }, [x, y], high) {
  const made = draw("g");
  const last = margin[margin.length - 1];
  frame(made, "margin", 0, high);
  made.append(
    draw("line", { x1: x(0), x2: x(0), y1: 8, y2: HIGH - FOOT, class: "axis" }),
    draw("polyline", { points: margin.map((m, i) => `${x(m)},${y(loss[i])}`).join(" "), class: "curve" }),
    draw("text", { x: EDGE, y: HIGH - 24, "text-anchor": "middle" }, shown(margin[0])),
    draw("text", { x: x(0), y: HIGH - 24, "text-anchor": "middle" }, "0"),
    draw("text", { x: WIDE - 10, y: HIGH - 24, "text-anchor": "end" }, shown(last)),
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
    lossCurve(behind, curve, places, high);
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
