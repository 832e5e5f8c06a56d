// The data plane: points, regions, the boundary with w as an arrow, mistakes, the row in turn.
import { draw, layers, redraw, scale, shown } from "./svg.js";

export const WIDTH = 600;
export const HEIGHT = 480;

export function boxOf(points) {
  if (!points.length) return [-1, 2, -1, 2];
  const sides = [0, 1].map((axis) => {
    const all = points.map((point) => point[axis]);
    const low = Math.min(...all, 0);
    const high = Math.max(...all, 0);
    const room = 0.25 * (high - low || 1);
    return [low - room, high + room];
  });
  return [...sides[0], ...sides[1]];
}

export function scoresOf(weights, x) {
  return weights.map((row) => row.reduce((sum, w, j) => sum + w * (j < x.length ? x[j] : 1), 0));
}

export function marginOf(scores, y, classes) {
  if (classes === 2) return (y === 1 ? 1 : -1) * scores[0];
  return scores[y] - Math.max(...scores.filter((_, c) => c !== y));
}

// The part of a polygon where a linear function [a, b, c] is not negative.
function clipped(polygon, [a, b, c]) {
  const at = ([x, y]) => a * x + b * y + c;
  const kept = [];
  polygon.forEach((here, i) => {
    const next = polygon[(i + 1) % polygon.length];
    const [v, w] = [at(here), at(next)];
    if (v >= 0) kept.push(here);
    if ((v < 0 && w > 0) || (v > 0 && w < 0)) {
      const t = v / (v - w);
      kept.push([here[0] + t * (next[0] - here[0]), here[1] + t * (next[1] - here[1])]);
    }
  });
  return kept;
}

function corners([left, right, bottom, top]) {
  return [[left, bottom], [right, bottom], [right, top], [left, top]];
}

function line(box, weights, level, places, className) {
  const [a, b, c] = [weights[0], weights[1], weights[2] - level];
  const ends = clipped(clipped(corners(box), [a, b, c]), [-a, -b, -c]);
  if (ends.length < 2) return null;
  const [x, y] = places;
  return draw("line", {
    x1: x(ends[0][0]), y1: y(ends[0][1]), x2: x(ends[1][0]), y2: y(ends[1][1]), class: className,
  });
}

function regions(into, box, weights, places) {
  const [x, y] = places;
  const columns = weights.length === 1 ? [weights[0].map((v) => -v), weights[0]] : weights;
  columns.forEach((own, c) => {
    let area = corners(box);
    columns.forEach((rival, j) => {
      if (j === c) return;
      const gain = columns.length === 2 ? own : own.map((v, i) => v - rival[i]);
      area = clipped(area, gain);
    });
    if (area.length > 2 && weights.some((row) => row.some((v) => v !== 0))) {
      const points = area.map(([u, v]) => `${x(u)},${y(v)}`).join(" ");
      into.append(draw("polygon", { points, class: `region r${c}` }));
    }
  });
}

// A path for each class: of every row of the grid the stretches that are its own.
function gridRegions(into, grid, places) {
  const [x, y] = places;
  const { size, box, scores } = grid;
  const [wide, high] = [(box[1] - box[0]) / (size - 1), (box[3] - box[2]) / (size - 1)];
  const classAt = (i) => {
    if (scores.length === 1) return scores[0][i] >= 0 ? 1 : 0;
    let best = 0;
    for (let c = 1; c < scores.length; c += 1) if (scores[c][i] > scores[best][i]) best = c;
    return best;
  };
  const paths = Array.from({ length: Math.max(2, scores.length) }, () => []);
  for (let row = 0; row < size; row += 1) {
    const [top, bottom] = [y(box[2] + (row + 0.5) * high), y(box[2] + (row - 0.5) * high) + 0.5];
    let begin = 0;
    for (let col = 1; col <= size; col += 1) {
      const before = classAt(row * size + begin);
      if (col < size && classAt(row * size + col) === before) continue;
      const [left, right] = [x(box[0] + (begin - 0.5) * wide), x(box[0] + (col - 0.5) * wide) + 0.5];
      paths[before].push(`M${left} ${top}H${right}V${bottom}H${left}z`);
      begin = col;
    }
  }
  paths.forEach((path, c) => {
    if (path.length) into.append(draw("path", { d: path.join(""), class: `region r${c}` }));
  });
}

function axes(into, box, places) {
  const [x, y] = places;
  into.append(draw("line", { x1: x(box[0]), x2: x(box[1]), y1: y(0), y2: y(0), class: "axis" }));
  into.append(draw("line", { x1: x(0), x2: x(0), y1: y(box[2]), y2: y(box[3]), class: "axis" }));
  into.append(draw("text", { x: 6, y: HEIGHT - 6 }, `${shown(box[0])} to ${shown(box[1])}`));
  into.append(draw("text", { x: 6, y: 16 }, `${shown(box[2])} to ${shown(box[3])}`));
}

function arrow(into, box, weights, places) {
  const [w1, w2, b] = weights;
  const length2 = w1 * w1 + w2 * w2;
  if (!length2) return;
  const [x, y] = places;
  const middle = [(box[0] + box[1]) / 2, (box[2] + box[3]) / 2];
  const off = (w1 * middle[0] + w2 * middle[1] + b) / length2;
  const foot = [middle[0] - off * w1, middle[1] - off * w2];
  const reach = 0.12 * Math.min(box[1] - box[0], box[3] - box[2]) / Math.sqrt(length2);
  const [x1, y1] = [x(foot[0]), y(foot[1])];
  const [x2, y2] = [x(foot[0] + reach * w1), y(foot[1] + reach * w2)];
  into.append(draw("line", { x1, y1, x2, y2, class: "arrow" }));
  const turn = Math.atan2(y2 - y1, x2 - x1);
  for (const side of [-0.5, 0.5]) {
    into.append(draw("line", {
      x1: x2, y1: y2, x2: x2 - 11 * Math.cos(turn + side), y2: y2 - 11 * Math.sin(turn + side),
      class: "arrow",
    }));
  }
}

// [name, attributes] of the symbol of a class.
function symbol(c, px, py, size) {
  if (c === 0) return ["circle", { cx: px, cy: py, r: size }];
  if (c === 1) return ["rect", { x: px - size, y: py - size, width: 2 * size, height: 2 * size }];
  const turn = c === 2 ? [[0, -1.3], [1.2, 0.9], [-1.2, 0.9]] : [[0, -1.4], [1.4, 0], [0, 1.4], [-1.4, 0]];
  return ["polygon", { points: turn.map(([u, v]) => `${px + u * size},${py + v * size}`).join(" ") }];
}

function ground(into, view, places) {
  const { box } = view;
  const all = draw("g");
  if (view.grid) gridRegions(all, view.grid, places);
  else if (view.weights) regions(all, box, view.weights, places);
  axes(all, box, places);
  if (view.weights && view.weights.length === 1 && !view.grid) {
    for (const [level, name] of [[0, "boundary"], [1, "band"], [-1, "band"]]) {
      const made = line(box, view.weights[0], level, places, name);
      if (made) all.append(made);
    }
    arrow(all, box, view.weights[0], places);
    const made = view.other && line(box, view.other[0], 0, places, "other");
    if (made) all.append(made);
  }
  into.replaceChildren(...all.children);
}

// Symbols of the points, and rings about some of them.
function marks(view, [x, y]) {
  const { points, classes } = view;
  const [symbols, rings] = [[], []];
  points.forEach((point, row) => {
    const sign = view.flip && classes === 2 && point[2] === 0 ? -1 : 1;
    const [cx, cy] = [x(sign * point[0]), y(sign * point[1])];
    const size = 6 + Math.min(8, 1.5 * Math.sqrt(view.strengths[row] || 0));
    const [name, shape] = symbol(point[2], cx, cy, size);
    symbols.push([name, { ...shape, class: `point c${point[2]}`, "data-row": row }]);
    if (view.scores && marginOf(view.scores[row], view.number.get(point[2]), classes) <= 0) {
      rings.push(["circle", { cx, cy, r: size + 4, class: "ring" }]);
    }
    if (view.turn.includes(row)) rings.push(["circle", { cx, cy, r: size + 9, class: "turn" }]);
    if (view.chosen === row) rings.push(["circle", { cx, cy, r: size + 13, class: "chosen" }]);
  });
  if (view.meeting) {
    const [px, py] = [x(view.meeting[0]), y(view.meeting[1])];
    for (const d of [-1, 1]) {
      rings.push(["line", { x1: px - 7, y1: py - 7 * d, x2: px + 7, y2: py + 7 * d, class: "meeting" }]);
    }
  }
  return [symbols, rings];
}

// view: points, box, weights, average, grid, scores (per point), step facts, flip, chosen, meeting.
export function drawPlane(svg, view) {
  const { box } = view;
  const places = [scale([box[0], box[1]], [0, WIDTH]), scale([box[2], box[3]], [HEIGHT, 0])];
  const [behind, among, above] = layers(svg, ["ground", "points", "rings"]);
  const [symbols, rings] = marks(view, places);
  ground(behind, view, places);
  redraw(among, symbols);
  redraw(above, rings);
  svg.setAttribute("viewBox", `0 0 ${WIDTH} ${HEIGHT}`);
  return places;
}
