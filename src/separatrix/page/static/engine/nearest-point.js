// The point of a convex hull that is nearest to 0, in exact arithmetic.
//
// Wolfe, Finding the nearest point in a polytope, Mathematical Programming 11 (1976): a few points,
// the corral, whose nearest point is inside their hull; the point with the smallest product joins.
import { dotExact, solveExact } from "./exact.js";

const MOST_PRODUCTS = 1_000_000; // of whole numbers: a second or two

export class OutOfWork extends Error {}

// The nearest point of the affine hull: shares of the points, numerators over a denominator.
function affineShares(points) {
  const [first, ...others] = points;
  const sides = others.map((z) => z.map((v, j) => v - first[j]));
  const matrix = sides.map((a) => sides.map((b) => dotExact(a, b)));
  const found = solveExact(matrix, sides.map((a) => -dotExact(a, first)));
  const { numerators, denominator } = found;
  return { numerators: [denominator - numerators.reduce((sum, v) => sum + v, 0n), ...numerators], denominator };
}

// Towards the affine shares as far as no share becomes negative; shares that reach 0 leave.
function moved(now, next) {
  let [top, bottom] = [1n, 1n]; // the part of the way: top / bottom
  now.numerators.forEach((share, i) => {
    if (next.numerators[i] > 0n) return;
    const along = share * next.denominator;
    const whole = along - next.numerators[i] * now.denominator;
    if (along * bottom < top * whole) [top, bottom] = [along, whole];
  });
  const numerators = now.numerators.map((share, i) => (
    (bottom - top) * share * next.denominator + top * next.numerators[i] * now.denominator));
  return { numerators, denominator: bottom * now.denominator * next.denominator };
}

function combined(points, { numerators }) {
  return points[0].map((_, j) => points.reduce((sum, z, i) => sum + numerators[i] * z[j], 0n));
}

// ids of points and their shares; point: the numerators of the nearest point, over the denominator.
export function nearestPoint(Z) {
  const squares = Z.map((z) => dotExact(z, z));
  const least = (values) => values.reduce((best, v, i) => (v < values[best] ? i : best), 0);
  let ids = [least(squares)];
  let shares = { numerators: [1n], denominator: 1n };
  let work = 0;
  for (;;) {
    const corral = ids.map((i) => Z[i]);
    const point = combined(corral, shares);
    const square = dotExact(point, point);
    work += Z.length * point.length;
    if (work > MOST_PRODUCTS) throw new OutOfWork();
    const products = Z.map((z) => dotExact(point, z));
    const next = least(products);
    if (!square || products[next] * shares.denominator >= square) return { ids, shares, point, square };
    ids = [...ids, next];
    shares = { ...shares, numerators: [...shares.numerators, 0n] };
    for (;;) {
      const wanted = affineShares(ids.map((i) => Z[i]));
      if (wanted.numerators.every((share) => share > 0n)) {
        shares = wanted;
        break;
      }
      const found = moved(shares, wanted);
      const kept = found.numerators.map((share, i) => [share, ids[i]]).filter(([share]) => share > 0n);
      ids = kept.map(([, id]) => id);
      shares = { numerators: kept.map(([share]) => share), denominator: found.denominator };
    }
  }
}
