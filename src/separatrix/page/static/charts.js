// Charts beside the plane: one number by step, and the loss over the margin.
import { draw, layers, redraw, scale, shown } from "./svg.js";

const WIDE = 300;
const HIGH = 180;
const EDGE = 44;

function frame(svg, label, low, high) {
  svg.setAttribute("viewBox", `0 0 ${WIDE} ${HIGH}`);
  svg.replaceChildren(
    draw("line", { x1: EDGE, y1: HIGH - EDGE, x2: WIDE - 8, y2: HIGH - EDGE, class: "axis" }),
    draw("line", { x1: EDGE, y1: 8, x2: EDGE, y2: HIGH - EDGE, class: "axis" }),
    draw("text", { x: EDGE - 5, y: 18, "text-anchor": "end" }, shown(high)),
    draw("text", { x: EDGE - 5, y: HIGH - EDGE, "text-anchor": "end" }, shown(low)),
    draw("text", { x: WIDE - 10, y: HIGH - 8, "text-anchor": "end" }, label),
  );
}

// values: from the start on; bounds: lines to draw, by name; at: the step that is shown.
export function drawChart(svg, values, at, bounds = {}) {
  const finite = values.filter((value) => value !== null);
  const lines = Object.entries(bounds).filter(([, value]) => value !== null && value !== undefined);
  let high = Math.max(...finite, 0);
  for (const [, value] of lines) if (value <= 3 * (high || 1)) high = Math.max(high, value);
  high = high || 1;
  frame(svg, "step", 0, high);
  const x = scale([0, Math.max(1, values.length - 1)], [EDGE, WIDE - 8]);
  const y = scale([0, high], [HIGH - EDGE, 8]);
  const jump = Math.max(1, Math.floor(values.length / 600));
  const points = [];
  values.forEach((value, step) => {
    if (value !== null && (step % jump === 0 || step === values.length - 1)) points.push(`${x(step)},${y(value)}`);
  });
  svg.append(draw("polyline", { points: points.join(" "), class: "curve" }));
  for (const [name, value] of lines) {
    if (value > high) {
      svg.append(draw("text", { x: WIDE - 10, y: 18, "text-anchor": "end" }, `${name}: ${shown(value)}, above`));
      continue;
    }
    svg.append(draw("line", { x1: EDGE, x2: WIDE - 8, y1: y(value), y2: y(value), class: "bound" }));
    svg.append(draw("text", { x: WIDE - 10, y: y(value) + (y(value) < 22 ? 14 : -4), "text-anchor": "end" }, `${name}: ${shown(value)}`));
  }
  svg.append(draw("line", { y1: 8, y2: HIGH - EDGE, class: "now" }));
  moveChart(svg, values.length, at);
}

// The same chart at another step: only the line that marks it moves.
export function moveChart(svg, count, at) {
  const now = svg.querySelector(".now");
  if (!now) return;
  const x = scale([0, Math.max(1, count - 1)], [EDGE, WIDE - 8]);
  for (const end of ["x1", "x2"]) now.setAttribute(end, x(at));
}

// curve: {margin, loss} as the library computed them; dots: [margin, class] of every row.
export function drawLoss(svg, curve, dots) {
  const { margin, loss } = curve;
  const high = Math.max(...loss);
  const x = scale([margin[0], margin[margin.length - 1]], [EDGE, WIDE - 8]);
  const y = scale([0, high], [HIGH - EDGE, 8]);
  const [behind, above] = layers(svg, ["ground", "dots"]);
  if (behind.curve !== curve) {
    behind.curve = curve; // the same at every step of a run
    const made = draw("g");
    frame(made, "margin", 0, high);
    made.append(draw("line", { x1: x(0), x2: x(0), y1: 8, y2: HIGH - EDGE, class: "axis" }));
    made.append(draw("polyline", { points: margin.map((m, i) => `${x(m)},${y(loss[i])}`).join(" "), class: "curve" }));
    behind.replaceChildren(...made.children);
    svg.setAttribute("viewBox", `0 0 ${WIDE} ${HIGH}`);
  }
  const each = (margin[margin.length - 1] - margin[0]) / (margin.length - 1);
  redraw(above, dots.map(([m, c]) => {
    const place = Math.min(margin.length - 1, Math.max(0, Math.round((m - margin[0]) / each)));
    return ["circle", { cx: x(margin[place]), cy: y(loss[place]), r: 4, class: `c${c}` }];
  }));
}
