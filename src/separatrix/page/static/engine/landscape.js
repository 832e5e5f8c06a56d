// Weight space: the objective or the mistakes over two of the weights; the others are fixed.
import { contour } from "./contours.js";
import { LANDSCAPE, MOST_BOX } from "./limits.js";
import { copied, evaluated } from "./rows.js";
import { BadRequest, checkedWhole } from "./settings.js";

const MOST_LEVELS = 12; // contours, and bands between them

export function checkedBox(box) {
  if (!Array.isArray(box) || box.length !== 4 || !box.every((v) => typeof v === "number" && Math.abs(v) <= MOST_BOX)) {
    throw new BadRequest("box: expected [left, right, bottom, top]");
  }
  return box;
}

export function between(low, high, size) {
  return Array.from({ length: size }, (_, i) => (i === size - 1 ? high : low + (i * (high - low)) / (size - 1)));
}

function valuesOnGrid(run, W, { column, axes, of }, box) {
  const [across, up] = [between(box[0], box[1], LANDSCAPE), between(box[2], box[3], LANDSCAPE)];
  const there = copied(W);
  const found = [];
  for (const v of up) {
    for (const u of across) {
      [there[column][axes[0]], there[column][axes[1]]] = [u, v];
      const { mistakes, value } = evaluated(run.rows, run.loss, run.l2, there);
      const wanted = of === "mistakes" ? mistakes : value;
      found.push(Number.isNaN(wanted) ? Infinity : wanted);
    }
  }
  return found;
}

const FLAT = 1e-12; // relative difference of levels that may be rounding

// Levels that differ by more than rounding; those of smooth values are just below flat parts.
function distinct(sorted, smooth) {
  const differs = (level, before) => (level === Infinity ? before !== Infinity : level - before > FLAT * Math.abs(level));
  const kept = sorted.filter((level, i) => i === 0 || differs(level, sorted[i - 1]));
  return kept.map((level, i) => (i && smooth && level !== Infinity ? level - 2 * FLAT * Math.abs(level) : level));
}

// Levels, bands and contours: a letter for each place of the grid, "a" the lowest band.
function banded(values, smooth) {
  const sorted = Float64Array.from(values).sort();
  const quantiles = between(0, 1, MOST_LEVELS).map((share) => sorted[Math.floor(share * (sorted.length - 1))]);
  const levels = distinct(quantiles, smooth);
  const band = (value) => levels.findLastIndex((level) => level <= value);
  const letters = values.map((value) => String.fromCharCode(97 + band(value)));
  const lines = smooth ? levels.slice(1).filter(Number.isFinite).map((level) => contour(values, LANDSCAPE, level)) : [];
  return { levels: levels.map((level) => (Number.isFinite(level) ? level : null)), lines, bands: letters.join("") };
}

export function landscapeOf(run, { step, box, axes, column = 0, of = "objective" }) {
  if (run.isKernel) throw new BadRequest("the weights of a kernel are not in the plane: there is no weight space");
  const W = run.weights(checkedWhole(step, "step", 0, run.steps.length));
  checkedWhole(column, "column", 0, W.length - 1);
  const allowed = Array.isArray(axes) && axes.length === 2 && axes[0] !== axes[1]
    && axes.every((one) => Number.isInteger(one) && one >= 0 && one < W[0].length);
  if (!allowed) throw new BadRequest(`axes: expected two different numbers from 0 to ${W[0].length - 1}`);
  if (!["objective", "mistakes"].includes(of)) throw new BadRequest("of: expected objective or mistakes");
  const values = valuesOnGrid(run, W, { column, axes, of }, checkedBox(box));
  return { step, box, size: LANDSCAPE, ...banded(values, of === "objective") };
}
