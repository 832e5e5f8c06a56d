// Regions, lines and the arrow of w in the plane. Every function returns a list of
// [name, attributes, text] to draw.
import { scale } from "./svg.js";

const REACH = 58; // of an arrow, in pixels
const EDGE = 64; // distance of the arrow of an invisible line from the edge of the picture
const HEAD = 11;

// ---- lines and polygons ------------------------------------------------------------------------

function corners([left, right, bottom, top]) {
  return [[left, bottom], [right, bottom], [right, top], [left, top]];
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

// The points where a line enters and leaves the box; null if it is not visible.
function endsOf(box, [w1, w2, b], level = 0) {
  const value = ([u, v]) => w1 * u + w2 * v + b - level;
  const ends = [];
  corners(box).forEach((here, i, all) => {
    const next = all[(i + 1) % 4];
    const [v, w] = [value(here), value(next)];
    if (v < 0 === w < 0) return;
    ends.push([0, 1].map((axis) => here[axis] + (v / (v - w)) * (next[axis] - here[axis])));
  });
  return ends.length < 2 ? null : ends;
}

function line(box, weights, level, [x, y], className) {
  const ends = endsOf(box, weights, level);
  if (!ends) return [];
  const [[a, b], [c, d]] = ends;
  return [["line", { x1: x(a), y1: y(b), x2: x(c), y2: y(d), class: className }]];
}

function area(polygon, [x, y], className) {
  return ["polygon", { points: polygon.map(([u, v]) => `${x(u)},${y(v)}`).join(" "), class: className }];
}

// labels: the class of each column; regions have the colours of their points.
export function regions(box, weights, labels, places) {
  if (weights.every((row) => row.every((v) => v === 0))) return [];
  const columns = weights.length === 1 ? [weights[0].map((v) => -v), weights[0]] : weights;
  return columns.flatMap((own, c) => {
    let mine = corners(box);
    columns.forEach((rival, j) => {
      if (j !== c) mine = clipped(mine, columns.length === 2 ? own : own.map((v, i) => v - rival[i]));
    });
    const kind = `region r${labels[c]}${weights.length > 1 ? " edged" : ""}`;
    return mine.length > 2 ? [area(mine, places, kind)] : [];
  });
}

// ---- arrows ------------------------------------------------------------------------------------

// From a pixel, along a direction in pixels.
function arrow([px, py], [dx, dy], length, className) {
  const size = Math.hypot(dx, dy);
  const [x2, y2] = [px + (length * dx) / size, py + (length * dy) / size];
  const turn = Math.atan2(dy, dx);
  const head = [-0.5, 0.5].map((side) => `M${x2} ${y2}L${x2 - HEAD * Math.cos(turn + side)} ${y2 - HEAD * Math.sin(turn + side)}`);
  return { end: [x2, y2], drawn: ["path", { d: `M${px} ${py}L${x2} ${y2}${head.join("")}`, class: className }] };
}

// A direction of the plane in pixels.
function inPixels([w1, w2], [x, y]) {
  return [x(w1) - x(0), y(w2) - y(0)];
}

// The arrow starts at the point of the line nearest to the middle, or at its visible part. For an
// invisible line the arrow is drawn at the nearest edge, with a text.
function normal(box, weights, places) {
  const [w1, w2, b] = weights;
  const length2 = w1 * w1 + w2 * w2;
  if (!length2 || !Number.isFinite(length2)) return [];
  const [x, y] = places;
  const middle = [(box[0] + box[1]) / 2, (box[2] + box[3]) / 2];
  const off = (w1 * middle[0] + w2 * middle[1] + b) / length2;
  let foot = [middle[0] - off * w1, middle[1] - off * w2];
  const ends = endsOf(box, weights);
  const inside = foot[0] >= box[0] && foot[0] <= box[1] && foot[1] >= box[2] && foot[1] <= box[3];
  if (ends && !inside) foot = [0, 1].map((axis) => (ends[0][axis] + ends[1][axis]) / 2);
  const way = inPixels(weights, places);
  if (ends) return [arrow([x(foot[0]), y(foot[1])], way, REACH, "arrow").drawn];
  const within = (value, a, b_) => Math.min(Math.max(a, b_) - EDGE, Math.max(Math.min(a, b_) + EDGE, value));
  const [px, py] = [within(x(foot[0]), x(box[0]), x(box[1])), within(y(foot[1]), y(box[2]), y(box[3]))];
  const { drawn } = arrow([px, py], way, REACH, "arrow afar");
  const share = (px - x(box[0])) / (x(box[1]) - x(box[0]));
  const anchor = share < 0.3 ? "start" : share > 0.7 ? "end" : "middle";
  return [drawn, ["text", { x: anchor === "end" ? px + EDGE / 2 : px, y: way[1] < 0 ? py + 24 : py - 14, "text-anchor": anchor }, "w; the line is not visible"]];
}

// One arrow per class, all from 0, pointing towards the class; a longer arrow has more influence.
function spokes(weights, labels, places) {
  const [x, y] = places;
  const all = weights.map((own) => inPixels(own, places));
  const longest = Math.max(...all.map(([dx, dy]) => Math.hypot(dx, dy)));
  if (!longest || !Number.isFinite(longest)) return [];
  return all.flatMap((way, c) => {
    const length = 1.6 * REACH * (Math.hypot(...way) / longest);
    if (length < 1) return [];
    const { end, drawn } = arrow([x(0), y(0)], way, length, `arrow l${labels[c]}`);
    return [drawn, ["text", { x: end[0] + 6, y: end[1] - 4 }, `w of ${labels[c]}`]];
  });
}

// The line, its band and its arrow; for more than two classes, whose regions have edges, the arrows.
export function lines(box, weights, labels, places) {
  if (weights.length > 1) return spokes(weights, labels, places);
  return [
    ...[[0, "boundary"], [1, "band"], [-1, "band"]].flatMap(([level, name]) => line(box, weights[0], level, places, name)),
    ...normal(box, weights[0], places),
  ];
}

// Other weights than those of the step.
export function otherLine(box, weights, places) {
  return line(box, weights[0], 0, places, "other");
}

// For y x instead of x: the line, and, as b becomes y b, another one for the flipped rows.
export function flippedLines(box, [w1, w2, b], labels, places) {
  const side = !b && (w1 || w2) ? [area(clipped(corners(box), [w1, w2, 0]), places, "region right-side")] : [];
  const both = [[-1, labels[0]], [1, labels[1]]].flatMap(([sign, label]) => (
    line(box, [w1, w2, sign * b], 0, places, b ? `boundary l${label}` : "boundary")));
  return [...side, ...both, ...normal(box, [w1, w2, 0], places)];
}

// ---- grids of scores ---------------------------------------------------------------------------

function classesOnGrid({ scores }) {
  return Uint8Array.from(scores[0], (score, i) => {
    if (scores.length === 1) return score >= 0 ? 1 : 0;
    let best = 0;
    for (let c = 1; c < scores.length; c += 1) if (scores[c][i] > scores[best][i]) best = c;
    return best;
  });
}

// A path for each class: the intervals of every grid row that belong to it.
export function gridRegions(grid, labels, [x, y]) {
  const { size, box } = grid;
  const [wide, high] = [(box[1] - box[0]) / (size - 1), (box[3] - box[2]) / (size - 1)];
  const found = classesOnGrid(grid);
  const paths = labels.map(() => []);
  for (let row = 0; row < size; row += 1) {
    const [top, bottom] = [y(box[2] + (row + 0.5) * high), y(box[2] + (row - 0.5) * high) + 0.5];
    let begin = 0;
    for (let col = 1; col <= size; col += 1) {
      const before = found[row * size + begin];
      if (col < size && found[row * size + col] === before) continue;
      const [left, right] = [x(box[0] + (begin - 0.5) * wide), x(box[0] + (col - 0.5) * wide) + 0.5];
      paths[before].push(`M${left} ${top}H${right}V${bottom}H${left}z`);
      begin = col;
    }
  }
  return paths.flatMap((path, c) => (path.length ? [["path", { d: path.join(""), class: `region r${labels[c]}` }]] : []));
}

// Segments of contours from the server: in thousandths of the grid's box.
export function gridLines({ box, lines: all }, [x, y]) {
  const across = scale([0, 1000], [x(box[0]), x(box[1])]);
  const up = scale([0, 1000], [y(box[2]), y(box[3])]);
  return all.map((pieces, i) => {
    const d = pieces.map(([a, b, c, e]) => `M${across(a)} ${up(b)}L${across(c)} ${up(e)}`).join("");
    return ["path", { d, class: i ? "band" : "boundary" }];
  });
}
