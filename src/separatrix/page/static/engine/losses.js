// The losses: value, gradient and curvature by the scores of one row.
//
// Two classes have one score s, whose margin is m = y s with y = -1 or 1. More classes have one
// score each, and y is the number of the true class.

// e^-x for x >= 0; never 0, so that a slope is never lost.
const expNegative = (x) => Math.exp(-Math.min(x, 708));

// 1 - tanh m and 1 - tanh^2 m, without cancellation for large |m|.
function tanhParts(m) {
  const e = expNegative(2 * Math.abs(m));
  return [(2 * (m > 0 ? e : 1)) / (1 + e), (4 * e) / (1 + e) ** 2];
}

function logisticParts(m) {
  const e = expNegative(Math.abs(m));
  return [(m > 0 ? e : 1) / (1 + e), e / (1 + e) ** 2];
}

// attained: whether the minimum exists whatever the points are, without a penalty.
const BINARY = {
  perceptron: {
    phi: (m) => Math.max(0, -m), slope: (m) => (m > 0 ? 0 : -1), convex: true, smooth: false, attained: true,
  },
  logistic: {
    phi: (m) => Math.max(0, -m) + Math.log1p(Math.exp(-Math.abs(m))), slope: (m) => -logisticParts(m)[0],
    curvature: (m) => logisticParts(m)[1], convex: true, smooth: true, attained: false,
  },
  squared: {
    phi: (m) => (1 - m) ** 2, slope: (m) => -2 * (1 - m), curvature: () => 2, convex: true, smooth: true, attained: true,
  },
  tanh_squared: {
    phi: (m) => tanhParts(m)[0] ** 2, slope: (m) => -2 * tanhParts(m)[0] * tanhParts(m)[1],
    convex: false, smooth: true, attained: false,
  },
  hinge: {
    phi: (m) => Math.max(0, 1 - m), slope: (m) => (m >= 1 ? 0 : -1), convex: true, smooth: false, attained: true,
  },
  squared_hinge: {
    phi: (m) => Math.max(0, 1 - m) ** 2, slope: (m) => -2 * Math.max(0, 1 - m),
    curvature: (m) => (m >= 1 ? 0 : 2), convex: true, smooth: true, attained: true,
  },
};
export const LOSSES = Object.keys(BINARY);

// ---- more than two classes -----------------------------------------------------------------------

// The best rival of the true class, the first of several.
export function bestRival(y, scores) {
  let rival = -1;
  for (let c = 0; c < scores.length; c += 1) {
    if (c !== y && (rival < 0 || scores[c] > scores[rival])) rival = c;
  }
  return rival;
}

// Whether the scores of a row make a mistake: a tie is one.
export function isMistake(y, scores) {
  if (scores.length === 1) return !(y * scores[0] > 0);
  return !(scores[y] > scores[bestRival(y, scores)]);
}

export function marginOfRow(y, scores) {
  return scores.length === 1 ? y * scores[0] : scores[y] - scores[bestRival(y, scores)];
}

function fromTo(y, rival, k, moved) {
  const found = new Array(k).fill(0);
  if (moved) [found[rival], found[y]] = [1, -1];
  return found;
}

export function probabilities(scores) {
  const top = Math.max(...scores);
  const e = scores.map((s) => expNegative(top - s));
  const total = e.reduce((sum, one) => sum + one, 0);
  return e.map((one) => one / total);
}

function softmaxValue(y, scores) {
  const gaps = scores.map((s, c) => (c === y ? -Infinity : s - scores[y]));
  const top = Math.min(Math.max(...gaps, 0), Number.MAX_VALUE);
  const rest = gaps.reduce((sum, gap) => sum + Math.exp(gap - top), 0) + Math.expm1(-top);
  return top + Math.log1p(rest); // log1p: the loss of a correct row is small
}

function joint(name) {
  if (name === "logistic") {
    return {
      value: softmaxValue,
      gradient: (y, scores) => probabilities(scores).map((p, c) => (c === y ? p - 1 : p)),
      curvature(y, scores) {
        const p = probabilities(scores);
        return p.map((a, i) => p.map((b, j) => a * ((i === j ? 1 : 0) - b)));
      },
    };
  }
  const least = name === "hinge" ? 1 : 0;
  return {
    value: (y, scores) => Math.max(0, least + scores[bestRival(y, scores)] - scores[y]),
    gradient(y, scores) {
      const rival = bestRival(y, scores);
      const moved = least ? least + scores[rival] - scores[y] > 0 : !(scores[y] > scores[rival]);
      return fromTo(y, rival, scores.length, moved);
    },
  };
}

// The sum of a two-class loss for every class, +1 for the true one and -1 for the others.
function oneVsRest({ phi, slope, curvature }) {
  const signs = (y, scores) => scores.map((_, c) => (c === y ? 1 : -1));
  const zeros = (k) => Array.from({ length: k }, () => new Array(k).fill(0));
  return {
    value: (y, scores) => signs(y, scores).reduce((sum, sign, c) => sum + phi(sign * scores[c]), 0),
    gradient: (y, scores) => signs(y, scores).map((sign, c) => sign * slope(sign * scores[c])),
    curvature: curvature && ((y, scores) => {
      const found = zeros(scores.length);
      signs(y, scores).forEach((sign, c) => { found[c][c] = curvature(sign * scores[c]); });
      return found;
    }),
  };
}

// The loss for k columns of weights: 1 for two classes.
export function lossOf(name, k) {
  const binary = BINARY[name];
  const { phi, slope, curvature, convex, smooth, attained } = binary;
  const facts = { name, convex, smooth, attained, binary, homogeneous: name === "perceptron" };
  if (k === 1) {
    return {
      ...facts, value: (y, [s]) => phi(y * s), gradient: (y, [s]) => [y * slope(y * s)],
      curvature: curvature && ((y, [s]) => [[curvature(y * s)]]),
    };
  }
  const shifts = ["perceptron", "logistic", "hinge"].includes(name);
  return { ...facts, shifts, ...(shifts ? joint(name) : oneVsRest(binary)) };
}
