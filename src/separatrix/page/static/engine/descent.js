// Gradient descent on a curve of one variable: x <- x - step f'(x), as in the course.
//
// The ends are those of the library: a run converges, oscillates (Brent's algorithm finds a point that
// comes back), diverges (overflow, or steps that grow by a factor that does not fall), or goes on.
import { BadRequest } from "./settings.js";
import { general } from "./text.js";

const MOST_STEPS = 200;
const POINTS = 241; // of the curve that is drawn
const FAR = 1e9; // larger coordinates are not reported
const NEAR = 1e-3; // distance that counts as at a minimum
const TOL = 1e-8; // of the largest gradient so far
const [SAME_POINT, STEPS_TO_NEAR_CYCLE, STANDS_STILL] = [1e-13, 64, 64 * Number.EPSILON];
const STEPS_TO_GROWTH = 24;
export const RATES = [1e-4, 10];

const slope = (x) => 4 * x * x * x - 4 * x + 0.5;

// The root of a derivative near a point, by Newton's method.
function rootNear(x) {
  for (let i = 0; i < 60; i += 1) x -= slope(x) / (12 * x * x - 4);
  return x;
}

// text, function, derivative, the interval to draw, and the minima.
export const CURVES = {
  square: { text: "x^2", f: (x) => x * x, gradient: (x) => 2 * x, sides: [-2, 2], minima: [0] },
  "two minima": {
    text: "x^4 - 2 x^2 + 0.5 x", f: (x) => x ** 4 - 2 * x * x + 0.5 * x, gradient: slope, sides: [-1.7, 1.7],
    minima: [rootNear(-1), rootNear(1)],
  },
};

// Whether the next point is the landmark again; after many steps up to the drift of its rounding.
class ReturnFinder {
  constructor(start) { Object.assign(this, { landmark: start, distance: 0, power: 2, extent: 0 }); }

  isBack(x) {
    if (this.distance === 0) this.extent = 0;
    const apart = Math.abs(x - this.landmark);
    this.extent = Math.max(this.extent, apart);
    if (!(this.extent > STANDS_STILL * Math.abs(x))) return false;
    return apart <= (this.distance + 1 >= STEPS_TO_NEAR_CYCLE ? SAME_POINT * this.extent : 0);
  }

  closes(x) {
    if (this.isBack(x)) return true;
    this.distance += 1;
    if (this.distance === this.power) Object.assign(this, { landmark: x, distance: 0, power: 2 * this.power });
    return false;
  }
}

// Whether the second half of a run grows by a factor that does not fall; each step is compared with the
// one two before, as every other may be shorter.
function grows(path, values) {
  if (path.length <= STEPS_TO_GROWTH) return false;
  const half = Math.floor(path.length / 2);
  const late = values.slice(half);
  const moves = path.slice(half).map((x, i, all) => Math.abs(x - all[i - 1])).slice(1);
  const rises = (all) => all.slice(2).every((v, i) => v > all[i]);
  if (!rises(late) || !rises(moves)) return false;
  const quarter = 2 * Math.floor((moves.length - 1) / 4);
  const [first, middle, last] = [moves.at(-1 - 2 * quarter), moves.at(-1 - quarter), moves.at(-1)].map(Math.log);
  return last - middle >= (middle - first) * (1 - 1e-6);
}

function walked({ f, gradient }, start, rate) {
  const [path, values] = [[start], [f(start)]];
  const cycle = new ReturnFinder(start);
  for (let [x, t, largest] = [start, 1, 0]; ; t += 1) {
    const [g, value] = [gradient(x), values.at(-1)];
    largest = Math.max(largest, Math.abs(g));
    const end = !Number.isFinite(x) || !Number.isFinite(value) ? "diverging"
      : Math.abs(g) <= TOL * largest ? "converged" : t > 1 && cycle.closes(x) ? "oscillating" : null;
    if (end) return { path, values, stop: end };
    if (t > MOST_STEPS) return { path, values, stop: grows(path, values) ? "diverging" : "max_iter" };
    x -= rate * g;
    path.push(x);
    values.push(f(x));
  }
}

function ending({ path, stop }, { f, minima }, rate) {
  const [steps, last] = [path.length - 1, path.at(-1)];
  const x = Number(last.toFixed(4)) + 0;
  if (stop === "diverging") return `With a step of ${general(rate)} the iterates grow ever faster: it diverges.`;
  if (stop === "oscillating") return `With a step of ${general(rate)} it returns to an earlier point: it oscillates forever.`;
  if (stop !== "converged") return `After ${steps} steps it is at x = ${general(x)}, and still moving.`;
  const at = `After ${steps} ${steps === 1 ? "step" : "steps"} it is at x = ${general(x)}${last === x ? "" : " (rounded)"}`;
  const lowest = minima.reduce((found, one) => (f(one) < f(found) ? one : found));
  if (Math.min(...minima.map((one) => Math.abs(last - one))) > NEAR) return `${at}, where the slope is 0 but there is no minimum: a start there stays.`;
  if (Math.abs(last - lowest) > NEAR) return `${at}, a minimum, but not the lowest: only the local slope guides it.`;
  return `${at}, the minimum.`;
}

function checkedNumber(value, name, [low, high]) {
  if (typeof value !== "number" || !(value >= low && value <= high)) throw new BadRequest(`${name}: expected a number from ${general(low)} to ${general(high)}`);
  return value;
}

export function checkedDescent({ curve = "square", start, learning_rate: rate }) {
  if (!Object.hasOwn(CURVES, curve)) throw new BadRequest(`curve: expected one of ${Object.keys(CURVES).join(", ")}`);
  checkedNumber(start, "start", CURVES[curve].sides);
  checkedNumber(rate, "learning_rate", RATES);
  return { curve, start, learning_rate: rate };
}

// The path, the curve to draw it on, and how it ended.
export function descentOf(asked) {
  const { curve: name, start, learning_rate: rate } = checkedDescent(asked);
  const curve = CURVES[name];
  const [low, high] = curve.sides;
  const x = Array.from({ length: POINTS }, (_, i) => (i === POINTS - 1 ? high : low + (i * (high - low)) / (POINTS - 1)));
  const found = walked(curve, start, rate);
  const far = found.path.findIndex((one) => !(Math.abs(one) <= FAR));
  const path = far < 0 ? found.path : found.path.slice(0, far);
  const gradients = path.map(curve.gradient);
  return {
    text: curve.text, x, f: x.map(curve.f), path, values: found.values.slice(0, path.length), gradients, stop: found.stop,
    arithmetic: path.slice(1).map((after, i) => (
      `x <- x - ${general(rate)} f'(x): ${general(path[i], 4)} ${gradients[i] >= 0 ? "-" : "+"} ${general(rate)}*${general(Math.abs(gradients[i]), 4)} = ${general(after, 4)}`)),
    sentence: ending(found, curve, rate),
  };
}
