// The data plane: points, regions, the boundary with w as an arrow, mistakes, the current point.
import { ticksInside } from "./axes.js";
import { flippedLines, gridLines, gridRegions, lines as linesOfWeights, otherLine, regions } from "./boundary.js";
import { circleAt, layers, put, redraw, scale } from "./svg.js";

export const WIDTH = 600;
export const HEIGHT = 480;
const NONE = new Set();
const LAYERS = ["ground", "frame", "lines", "points", "rings"];

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

// ---- background of the points ------------------------------------------------------------------

function groundOf({ box, flip, grid, labels, weights }, places) {
  if (flip) return [];
  if (grid) return gridRegions(grid, labels, places);
  return weights ? regions(box, weights, labels, places) : [];
}

function linesOf(view, places) {
  const { box, flip, grid, labels, weights, other } = view;
  if (flip) return weights ? flippedLines(box, weights[0], labels, places) : [];
  const own = grid ? gridLines(grid, places) : weights ? linesOfWeights(box, weights, labels, places) : [];
  return [
    ...own, ...(other && weights && weights.length === 1 ? otherLine(box, other, places) : []),
    ...(view.votes ? gridLines(view.votes, places).map(([name, shape]) => [name, { ...shape, class: "other" }]) : []),
    ...(view.meeting ? meetingOf(view.points, view.meeting, places) : []),
    ...(view.centers ? centresOf(view.centers, places) : []),
  ];
}

// Rows that prove that no line separates the classes, each with a line to where the hulls meet.
function meetingOf(points, { place, rows }, [x, y]) {
  const [px, py] = [x(place[0]), y(place[1])];
  return [
    ...rows.map((row) => ["line", { x1: x(points[row][0]), y1: y(points[row][1]), x2: px, y2: py, class: "witness" }]),
    ...[-1, 1].map((d) => ["line", { x1: px - 7, y1: py - 7 * d, x2: px + 7, y2: py + 7 * d, class: "meeting" }]),
  ];
}

function centresOf(all, [x, y]) {
  return all.flatMap(([u, v], i) => {
    const [px, py] = [x(u), y(v)];
    return [
      ["path", { d: `M${px - 8} ${py}h16M${px} ${py - 8}v16`, class: "centre" }],
      ["text", { x: px + 7, y: py - 7 }, `centre ${i + 1}`],
    ];
  });
}

function frameOf(box, names, [x, y]) {
  return [
    ["line", { x1: x(box[0]), x2: x(box[1]), y1: y(0), y2: y(0), class: "axis" }],
    ["line", { x1: x(0), x2: x(0), y1: y(box[2]), y2: y(box[3]), class: "axis" }],
    ...ticksInside(box, [x, y], [WIDTH, HEIGHT], 6),
    ["text", { x: WIDTH - 6, y: HEIGHT - 8, "text-anchor": "end" }, names[0]],
    ["text", { x: 6, y: 18 }, names[1]],
  ];
}

// ---- points ------------------------------------------------------------------------------------

// [name, attributes] of the symbol of a class.
export function symbol(c, px, py, size) {
  if (c === 0) return ["circle", { cx: px, cy: py, r: size }];
  if (c === 1) return ["rect", { x: px - size, y: py - size, width: 2 * size, height: 2 * size }];
  const turn = c === 2 ? [[0, -1.3], [1.2, 0.9], [-1.2, 0.9]] : [[0, -1.4], [1.4, 0], [0, 1.4], [-1.4, 0]];
  return ["polygon", { points: turn.map(([u, v]) => `${px + u * size},${py + v * size}`).join(" ") }];
}

// [x, y, size] of every point, in pixels.
function spotsOf(view, [x, y]) {
  return view.points.map(([u, v, label], row) => {
    const sign = view.flip && label === view.labels[0] ? -1 : 1;
    return [x(sign * u), y(sign * v), 6 + Math.min(8, 1.5 * Math.sqrt(view.strengths[row] || 0))];
  });
}

// Most points do not change between steps: these are skipped.
function drawPoints(group, points, spots, held) {
  const before = group.spots ?? [];
  const kinds = points.map(([, , label], row) => `point c${label}${held.has(row) ? " held" : ""}`);
  points.forEach(([, , label], row) => {
    const [px, py, size] = spots[row];
    const old = before[row];
    if (old && old[0] === px && old[1] === py && old[2] === size && old[3] === kinds[row]) return;
    const [name, shape] = symbol(label, px, py, size);
    put(group, row, [name, { ...shape, class: kinds[row], "data-row": row }]);
  });
  group.spots = points.map((_, row) => [...spots[row], kinds[row]]);
  while (group.children.length > points.length) group.lastChild.remove();
}

// Circles around points.
function circles(rows, spots, more, kind) {
  const one = (row) => circleAt(spots[row][0], spots[row][1], spots[row][2] + more);
  return ["path", { d: rows.map(one).join(""), class: kind }];
}

function ringsOf(view, spots) {
  const { labels, points, scores } = view;
  const wrong = [];
  if (scores) {
    points.forEach((point, row) => {
      if (marginOf(scores[row], labels.indexOf(point[2]), labels.length) <= 0) wrong.push(row);
    });
  }
  const chosen = view.chosen === null || view.chosen === undefined || view.chosen >= points.length ? [] : [view.chosen];
  const numbers = view.numbered ? spots.map(([px, py, size], row) => (
    ["text", { x: px + size + 3, y: py - size - 1, class: "number" }, String(row)])) : [];
  return [
    circles(wrong, spots, 4, "ring"), circles(view.turn.filter((row) => row < points.length), spots, 9, "turn"),
    circles(chosen, spots, 13, "chosen"), ...numbers,
  ];
}

// view: points, box, labels of the classes, weights or a grid of scores, other weights, scores of
// the points, strengths, current rows; optionally flip (two classes), held-out rows, the selected row, the meeting
// point of the hulls, centres of features, the numbers of the rows, names of the axes.
export function drawPlane(svg, view) {
  const { box } = view;
  const places = [scale([box[0], box[1]], [0, WIDTH]), scale([box[2], box[3]], [HEIGHT, 0])];
  const [ground, frame, between, among, above] = layers(svg, LAYERS);
  const spots = spotsOf(view, places);
  redraw(ground, groundOf(view, places));
  redraw(frame, frameOf(box, view.names ?? ["x1", "x2"], places));
  const lines = linesOf(view, places);
  const isAbove = ([name, { class: kind }]) => name === "text" || kind.startsWith("arrow"); // drawn above the points
  redraw(between, lines.filter((one) => !isAbove(one)));
  drawPoints(among, view.points, spots, view.held ?? NONE);
  redraw(above, [...ringsOf(view, spots), ...lines.filter(isAbove)]);
  svg.setAttribute("viewBox", `0 0 ${WIDTH} ${HEIGHT}`);
  return places;
}
