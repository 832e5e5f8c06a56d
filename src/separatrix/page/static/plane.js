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
  const value = ([u, v]) => weights[0] * u + weights[1] * v + weights[2] - level;
  const ends = [];
  corners(box).forEach((here, i, all) => {
    const next = all[(i + 1) % 4];
    const [v, w] = [value(here), value(next)];
    if (v < 0 === w < 0) return;
    ends.push([0, 1].map((axis) => here[axis] + (v / (v - w)) * (next[axis] - here[axis])));
  });
  if (ends.length < 2) return null;
  const [x, y] = places;
  return draw("line", {
    x1: x(ends[0][0]), y1: y(ends[0][1]), x2: x(ends[1][0]), y2: y(ends[1][1]), class: className,
  });
}

// labels: the class of each column; their colours are those of its points.
function regions(into, box, weights, labels, places) {
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
      into.append(draw("polygon", { points, class: `region r${labels[c]} ${weights.length > 1 ? "edged" : ""}` }));
    }
  });
}

// A path for each class: of every row of the grid the stretches that are its own.
function gridRegions(into, grid, labels, places) {
  const [x, y] = places;
  const { size, box, scores } = grid;
  const [wide, high] = [(box[1] - box[0]) / (size - 1), (box[3] - box[2]) / (size - 1)];
  const classAt = (i) => {
    if (scores.length === 1) return scores[0][i] >= 0 ? 1 : 0;
    let best = 0;
    for (let c = 1; c < scores.length; c += 1) if (scores[c][i] > scores[best][i]) best = c;
    return best;
  };
  const paths = labels.map(() => []);
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
    if (path.length) into.append(draw("path", { d: path.join(""), class: `region r${labels[c]}` }));
  });
}

// Pieces of contours as the server tells them: in thousandths of the grid's box.
function gridLines(into, { box, lines }, places) {
  const [x, y] = places;
  const across = scale([0, 1000], [x(box[0]), x(box[1])]);
  const up = scale([0, 1000], [y(box[2]), y(box[3])]);
  lines.forEach((pieces, i) => {
    const d = pieces.map(([a, b, c, e]) => `M${across(a)} ${up(b)}L${across(c)} ${up(e)}`).join("");
    into.append(draw("path", { d, class: i ? "band" : "boundary" }));
  });
}

// With y x in place of x: the line, and, as y b is taken along, another for the rows turned round.
function flippedLines(into, box, weights, labels, places) {
  const [w1, w2, b] = weights;
  if (!b && (w1 || w2)) {
    const area = clipped(corners(box), [w1, w2, 0]).map(([u, v]) => `${places[0](u)},${places[1](v)}`);
    into.append(draw("polygon", { points: area.join(" "), class: "region right-side" }));
  }
  for (const [sign, label] of [[-1, labels[0]], [1, labels[1]]]) {
    const made = line(box, [w1, w2, sign * b], 0, places, b ? `boundary l${label}` : "boundary");
    if (made) into.append(made);
  }
  arrow(into, box, [w1, w2, 0], places);
}

// Rows that prove that no line separates, each with a line to where the hulls meet.
function meetingOf(into, points, { place, rows }, places) {
  const [x, y] = places;
  const [px, py] = [x(place[0]), y(place[1])];
  for (const row of rows) {
    into.append(draw("line", { x1: x(points[row][0]), y1: y(points[row][1]), x2: px, y2: py, class: "witness" }));
  }
  for (const d of [-1, 1]) {
    into.append(draw("line", { x1: px - 7, y1: py - 7 * d, x2: px + 7, y2: py + 7 * d, class: "meeting" }));
  }
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

function boundary(into, view, places) {
  const { box, grid, labels, weights } = view;
  if (view.flip) {
    if (weights) flippedLines(into, box, weights[0], labels, places);
    return;
  }
  if (grid) {
    gridLines(into, grid, places);
    return;
  }
  if (!weights || weights.length > 1) return;
  for (const [level, name] of [[0, "boundary"], [1, "band"], [-1, "band"]]) {
    const made = line(box, weights[0], level, places, name);
    if (made) into.append(made);
  }
  arrow(into, box, weights[0], places);
  const made = view.other && line(box, view.other[0], 0, places, "other");
  if (made) into.append(made);
}

function centres(into, all, places) {
  all.forEach(([u, v], i) => {
    const [px, py] = [places[0](u), places[1](v)];
    into.append(draw("path", { d: `M${px - 8} ${py}h16M${px} ${py - 8}v16`, class: "centre" }));
    into.append(draw("text", { x: px + 7, y: py - 7 }, `centre ${i + 1}`));
  });
}

// Symbols of the points, and rings about some of them.
function pointMarks(view, places) {
  const { labels } = view;
  const [symbols, rings] = [[], []];
  view.points.forEach((point, row) => {
    const sign = view.flip && point[2] === labels[0] ? -1 : 1;
    const [cx, cy] = [places[0](sign * point[0]), places[1](sign * point[1])];
    const size = 6 + Math.min(8, 1.5 * Math.sqrt(view.strengths[row] || 0));
    const [name, shape] = symbol(point[2], cx, cy, size);
    symbols.push([name, { ...shape, class: `point c${point[2]}`, "data-row": row }]);
    const ring = (more, kind) => rings.push(["circle", { cx, cy, r: size + more, class: kind }]);
    if (view.scores && marginOf(view.scores[row], labels.indexOf(point[2]), labels.length) <= 0) ring(4, "ring");
    if (view.turn.includes(row)) ring(9, "turn");
    if (view.chosen === row) ring(13, "chosen");
    if (view.numbered) rings.push(["text", { x: cx + size + 3, y: cy - size - 1, class: "number" }, String(row)]);
  });
  return [symbols, rings];
}

function ground(into, view, places) {
  const { box, labels } = view;
  const all = draw("g");
  if (!view.flip) {
    if (view.grid) gridRegions(all, view.grid, labels, places);
    else if (view.weights) regions(all, box, view.weights, labels, places);
  }
  axes(all, box, places);
  boundary(all, view, places);
  if (view.meeting && !view.flip) meetingOf(all, view.points, view.meeting, places);
  if (view.centers && !view.flip) centres(all, view.centers, places);
  into.replaceChildren(...all.children);
}

// view: points, box, labels of the classes, weights or a grid of scores, other weights, scores of
// the points, strengths, rows in turn; and where they are wanted flip (of two classes), the chosen
// row, the meeting of the hulls, centres of features, the numbers of the rows.
export function drawPlane(svg, view) {
  const { box } = view;
  const places = [scale([box[0], box[1]], [0, WIDTH]), scale([box[2], box[3]], [HEIGHT, 0])];
  const [behind, among, above] = layers(svg, ["ground", "points", "rings"]);
  const [symbols, rings] = pointMarks(view, places);
  ground(behind, view, places);
  redraw(among, symbols);
  redraw(above, rings);
  svg.setAttribute("viewBox", `0 0 ${WIDTH} ${HEIGHT}`);
  return places;
}
