// The centres of k-means, with the choices of scikit-learn's KMeans for the same seed.
//
// Arthur and Vassilvitskii, k-means++ (2007), with several candidates for every centre; then Lloyd's
// algorithm (1982) until no row changes its centre, or the centres hardly move.
import { MersenneTwister } from "./random.js";

const MOST_ROUNDS = 300;
const TOLERANCE = 1e-4; // of the mean variance of the features

const squared = (a, b) => (a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2;
const sumOf = (values) => values.reduce((sum, v) => sum + v, 0);
const meanOf = (values) => sumOf(values) / values.length;

// The first place at which running sums reach a value.
function placeOf(values, wanted, strictly) {
  let sum = 0;
  for (let i = 0; i < values.length; i += 1) {
    sum += values[i];
    if (strictly ? sum > wanted : sum >= wanted) return i;
  }
  return values.length - 1;
}

function firstCentres(X, count, random) {
  const trials = 2 + Math.floor(Math.log(count));
  const chosen = [placeOf(X.map(() => 1 / X.length), random.next(), true)];
  let near = X.map((x) => squared(x, X[chosen[0]]));
  while (chosen.length < count) {
    const total = sumOf(near);
    const wanted = Array.from({ length: trials }, () => random.next() * total);
    let best = null;
    for (const candidate of wanted.map((one) => placeOf(near, one, false))) {
      const distances = X.map((x, i) => Math.min(near[i], squared(x, X[candidate])));
      const left = sumOf(distances);
      if (!best || left < best.left) best = { left, distances, candidate };
    }
    chosen.push(best.candidate);
    near = best.distances;
  }
  return chosen.map((i) => [...X[i]]);
}

function nearest(x, centres) {
  let best = 0;
  for (let c = 1; c < centres.length; c += 1) if (squared(x, centres[c]) < squared(x, centres[best])) best = c;
  return best;
}

// The rows farthest from their centres fill clusters that have lost all rows.
function filled(X, of, centres) {
  const empty = centres.map((_, c) => c).filter((c) => !of.includes(c));
  if (!empty.length) return of;
  const far = X.map((x, i) => [squared(x, centres[of[i]]), i]).sort((a, b) => b[0] - a[0]);
  const found = [...of];
  empty.forEach((c, place) => { found[far[place][1]] = c; });
  return found;
}

function means(X, of, count) {
  return Array.from({ length: count }, (_, c) => {
    const own = X.filter((_, i) => of[i] === c);
    return own.length ? [0, 1].map((axis) => meanOf(own.map((x) => x[axis]))) : [0, 0];
  });
}

// At most this many different rows, in their order.
function differentRows(points, most) {
  const found = new Map();
  for (const [u, v] of points) {
    if (found.size < most) found.set(`${u + 0} ${v + 0}`, [u + 0, v + 0]);
  }
  return [...found.values()];
}

export function kMeans(points, count, seed) {
  const different = differentRows(points, count);
  if (different.length < count) return different;
  const middle = [0, 1].map((axis) => meanOf(points.map((x) => x[axis])));
  const X = points.map((x) => x.slice(0, 2).map((v, axis) => v - middle[axis]));
  const spread = meanOf([0, 1].map((axis) => meanOf(X.map((x) => x[axis] ** 2))));
  let centres = firstCentres(X, count, new MersenneTwister(seed % 2 ** 32));
  let before = null;
  for (let round = 0; round < MOST_ROUNDS; round += 1) {
    const of = X.map((x) => nearest(x, centres));
    const moved = means(X, filled(X, of, centres), count);
    const shift = sumOf(moved.map((c, i) => squared(c, centres[i])));
    centres = moved;
    if (before && of.every((c, i) => c === before[i])) break;
    if (shift <= TOLERANCE * spread) break;
    before = of;
  }
  return centres.map((c) => c.map((v, axis) => v + middle[axis]));
}
