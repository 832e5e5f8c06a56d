// Whether a line separates the points, with a proof in exact arithmetic.
//
// z is the signed row y (x, 1); for more than two classes, of a row and a rival: the row in the block
// of its class, and minus the row in the block of the rival. The classes are separable if 0 is not in
// the hull of the z: the nearest point of the hull is then the direction of the largest margin, and its
// length that margin. Otherwise shares of some z add up to 0, which is the witness. Every weak
// separator is then 0 on these z: the search goes on among the directions orthogonal to them.
import { dotExact, orthogonal, ratio, rootOfRatio, toWhole } from "./exact.js";
import { nearestPoint, OutOfWork } from "./nearest-point.js";
import { general } from "./text.js";

const UNDECIDED = "Separability is not decided here: it takes too much work. `separatrix playground` decides it.";

// The signed rows, each with the number of its row, and with the power of two that they are scaled by.
function signedRows(rows) {
  const { numbers, power } = toWhole(rows.x.map((x) => (rows.intercept ? x : x.slice(0, -1))));
  if (rows.k === 1) {
    return { Z: numbers.map((x, i) => (rows.y[i] < 0 ? x.map((v) => -v) : x)), of: [...numbers.keys()], numbers, power };
  }
  const [Z, of] = [[], []];
  const width = numbers[0].length;
  numbers.forEach((x, i) => {
    for (let rival = 0; rival < rows.k; rival += 1) {
      if (rival === rows.y[i]) continue;
      const z = new Array(rows.k * width).fill(0n);
      x.forEach((v, j) => {
        z[rows.y[i] * width + j] = v;
        z[rival * width + j] = -v;
      });
      Z.push(z);
      of.push(i);
    }
  });
  return { Z, of, numbers, power };
}

// Whether some direction has no negative product with any row, and a positive one with some.
function hasWeakSeparator(Z, found) {
  const basis = orthogonal(found.ids.map((i) => Z[i]), Z[0].length);
  const rest = Z.map((z) => basis.map((e) => dotExact(z, e))).filter((z) => z.some(Boolean));
  if (!rest.length) return false;
  const next = nearestPoint(rest);
  return next.square !== 0n || hasWeakSeparator(rest, next);
}

// The sum of shares of signed rows, over its largest number.
function directionOf(Z, { shares, ids }) {
  const sums = Z[0].map((_, j) => ids.reduce((sum, id, i) => sum + shares.numerators[i] * Z[id][j], 0n));
  const most = sums.reduce((found, v) => (v > found ? v : -v > found ? -v : found), 0n);
  return sums.map((v) => ratio(v, most));
}

function separable({ square, shares, ids }, { Z, numbers, of, power }, rows) {
  const { denominator } = shares;
  const radius = numbers.map((x) => dotExact(x, x)).reduce((most, v) => (v > most ? v : most), 0n);
  const [top, bottom] = [(rows.k > 1 ? 2n : 1n) * radius * denominator * denominator, square];
  const whole = top / bottom;
  const margin = rootOfRatio(square, denominator * denominator) * 2 ** power;
  const bound = Number(whole) + ratio(((top % bottom) << 30n) / bottom, 1n << 30n);
  const [text, mistakes] = [general(margin, 3), Number.isFinite(bound) ? bound : null];
  return {
    verdict: "separable", margin: margin || null, margin_words: margin ? text : null, mistake_bound: margin ? mistakes : null,
    direction: directionOf(Z, { shares, ids }),
    support: { rows: ids.map((i) => of[i]), weights: shares.numerators.map((v) => ratio(v, denominator)) },
    text: `A line has every point strictly on its side; the largest margin of any (w, b) of norm 1 is ${text}.`,
  };
}

// Where the hulls of two classes meet: the mean of the witness's rows of one class.
function meetingOf({ ids, shares }, rows) {
  if (rows.k > 1 || !rows.intercept || rows.width !== 3) return null;
  const upper = ids.map((id, i) => [rows.x[id], shares.numerators[i], rows.y[id]]).filter(([, , y]) => y > 0);
  const total = upper.reduce((sum, [, share]) => sum + share, 0n);
  if (!total) return null;
  return [0, 1].map((axis) => upper.reduce((sum, [x, share]) => sum + x[axis] * ratio(share, total), 0));
}

function decided(rows) {
  const signed = signedRows(rows);
  const found = nearestPoint(signed.Z);
  if (found.square) return separable(found, signed, rows);
  const quasi = hasWeakSeparator(signed.Z, found);
  const { numerators, denominator } = found.shares;
  return {
    verdict: quasi ? "quasi-separable" : "overlapping",
    witness: { rows: found.ids.map((i) => signed.of[i]), weights: numerators.map((v) => ratio(v, denominator)) },
    meeting: quasi ? null : meetingOf(found, rows),
    text: quasi ? "A line has no point on its wrong side, but some always lie on it."
      : "No line separates these points: shares of the signed rows of the witness add up to 0.",
  };
}

const NOTHING = { margin: null, margin_words: null, mistake_bound: null, direction: null, support: null, witness: null, meeting: null };
const known = new WeakMap();

export function verdictOf(rows) {
  if (!known.has(rows)) {
    try {
      known.set(rows, { ...NOTHING, ...decided(rows) });
    } catch (error) {
      if (!(error instanceof OutOfWork)) throw error;
      known.set(rows, { ...NOTHING, verdict: "undecided", text: UNDECIDED });
    }
  }
  return known.get(rows);
}
