// Points and settings from links, files and the page: checked before anything is computed.
import { LARGEST, MOST_CLASSES, MOST_POINTS } from "./limits.js";
import { LOSSES } from "./losses.js";

export class BadRequest extends Error {}

const CHOICES = {
  name: ["perceptron", "batch_perceptron", "gradient_descent", "newton", "least_squares", "kernel_perceptron", "radial_basis"],
  loss: LOSSES,
  form: ["batch", "sequential", "stochastic", "mini-batch"],
  schedule: ["constant", "inverse_scaling", "step_decay"],
  keep: ["last", "best", "average", "voted"],
  start: ["zeros", "random", "sum"],
  kernel: ["rbf", "poly", "linear"],
};
const DEFAULTS = {
  name: "perceptron", loss: "logistic", form: "stochastic", batch_size: 8, learning_rate: 1, schedule: "constant", l2: 0,
  start: "zeros", shuffle: false, keep: "last", fit_intercept: true, max_iter: 50, max_norm: 0, kernel: "rbf", gamma: 1,
  degree: 2, centers: 2, seed: 0,
};
const LIMITS = {
  batch_size: [1, 1000], learning_rate: [1e-6, 1e6], l2: [0, 1e3], max_iter: [1, 2000], gamma: [1e-3, 1e3],
  degree: [1, 10], centers: [1, 20], seed: [0, 2 ** 31], max_norm: [0, 1e9],
};
const WHOLE = ["batch_size", "max_iter", "degree", "centers", "seed"];

export const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const short = (value) => String(value).slice(0, 40);

function checkedSetting(name, value) {
  if (CHOICES[name]) {
    if (!CHOICES[name].includes(value)) throw new BadRequest(`method.${name}: expected one of ${CHOICES[name].join(", ")}`);
    return;
  }
  if (typeof DEFAULTS[name] === "boolean") {
    if (typeof value !== "boolean") throw new BadRequest(`method.${name}: expected true or false`);
    return;
  }
  const [low, high] = LIMITS[name];
  const whole = WHOLE.includes(name);
  if (typeof value !== "number" || !(whole ? Number.isInteger(value) : Number.isFinite(value))) {
    throw new BadRequest(`method.${name}: expected a ${whole ? "whole " : ""}number`);
  }
  if (!(value >= low && value <= high)) throw new BadRequest(`method.${name}: expected ${low} to ${high}, got ${value}`);
}

// The settings of a method, with defaults for those that are not given.
export function checkedMethod(given = {}) {
  if (!isObject(given)) throw new BadRequest("method: expected an object of settings");
  for (const [name, value] of Object.entries(given)) {
    if (!Object.hasOwn(DEFAULTS, name)) throw new BadRequest(`method.${short(name)}: there is no such setting`);
    checkedSetting(name, value);
  }
  return { ...DEFAULTS, ...given };
}

// The settings that differ from the defaults: they are enough for a link.
export function shortened(method) {
  return Object.fromEntries(Object.entries(method).filter(([name, value]) => name === "name" || value !== DEFAULTS[name]));
}

// A list of points, each with a class; perhaps of one class only.
export function checkedPoints(points, least = 2) {
  if (!Array.isArray(points) || points.length < least || points.length > MOST_POINTS) {
    throw new BadRequest(`points: expected ${least} to ${MOST_POINTS} points`);
  }
  points.forEach((point, number) => {
    const numbers = Array.isArray(point) && point.length === 3
      && point.every((v) => typeof v === "number" && Math.abs(v) <= LARGEST);
    if (!numbers || !Number.isInteger(point[2]) || point[2] < 0 || point[2] >= MOST_CLASSES) {
      throw new BadRequest(`points[${number}]: expected [x, y, class], with numbers up to a million and a class from 0 to ${MOST_CLASSES - 1}`);
    }
  });
  return points;
}

export const labelsOf = (points) => [...new Set(points.map((point) => point[2]))].sort((a, b) => a - b);

// The same, of at least two classes.
export function checkedProblem(points) {
  checkedPoints(points);
  if (labelsOf(points).length < 2) throw new BadRequest("points: place points of at least two classes");
  return points;
}

// A whole number within limits, for steps, columns and axes.
export function checkedWhole(value, name, low, high) {
  if (!Number.isInteger(value) || value < low || value > high) throw new BadRequest(`${name}: expected ${low} to ${high}`);
  return value;
}
