// When a run ends, and what the end is called.
//
// The words are those of the library. "optimal" is missing: it needs a proof, which the engine does
// not make. The rules are in the order in which the library looks at them.
import { isFiniteAll, isSame, lengthOf } from "./rows.js";

const TOL = 1e-6; // change of the objective that counts as none, relative to it
const SMALLEST = 1e-12; // an objective below counts as 0
const ROUNDING = 4e-16;
const OPTIMISM = 1e-3; // what a parabola predicts is trusted within this factor

// Brent's algorithm (BIT 20, 1980): positions are compared with one landmark, which is renewed at
// powers of two, so that a cycle of any length is found.
export class CycleFinder {
  constructor(start) { Object.assign(this, { landmark: start, distance: 0, power: 1 }); }

  closes(position) {
    if (isSame(position, this.landmark)) return true;
    this.distance += 1;
    if (this.distance === this.power) Object.assign(this, { landmark: position, distance: 0, power: 2 * this.power });
    return false;
  }
}

function difference(V, W) {
  return lengthOf(V.map((row, c) => row.map((v, j) => v - W[c][j])));
}

function hasConverged(pass, before) {
  if (!before) return false;
  const size = Math.max(Math.abs(pass.value), SMALLEST);
  if (!(Math.abs(pass.value - before.value) <= Math.max(TOL, ROUNDING) * size)) return false;
  if (pass.decrease !== undefined) return pass.decrease <= Math.max(OPTIMISM * TOL, ROUNDING) * size;
  return difference(pass.position, before.position) <= Math.sqrt(TOL) * Math.max(lengthOf(pass.position), SMALLEST);
}

// A function (pass, number) that returns why the run ends with this pass, or null.
export function stoppingRules({ start, fixed, stopsClean, converges, maxIter, mostPasses, maxNorm }) {
  const cycles = fixed ? new CycleFinder(start) : null;
  let before = null;
  return (pass, number) => {
    const length = pass.length ?? lengthOf(pass.steps.at(-1).weights);
    const rests = before !== null && !pass.byRow && !pass.names && isSame(pass.position, before.position);
    const cycle = cycles !== null && !rests && cycles.closes(pass.position);
    const converged = converges && hasConverged(pass, before);
    before = pass;
    if (!isFiniteAll(pass.position) || !Number.isFinite(length)) return "diverged";
    if (stopsClean && pass.mistakes === 0) return "no mistakes";
    if (pass.solved) return "closed form";
    if (cycle) return "cycle";
    if (converged) return "tol";
    if (maxNorm && length > maxNorm) return "max_norm";
    if (number >= maxIter) return "max_iter";
    return number >= mostPasses ? "callback" : null;
  };
}
