// A script that makes the same fit with the library.
const literal = (value) => {
  if (typeof value === "boolean") return value ? "True" : "False";
  if (value === null) return "None";
  if (Array.isArray(value)) return `[${value.map(literal).join(", ")}]`;
  return typeof value === "string" ? `"${value}"` : String(value);
};
const argument = ([key, value]) => `${key}=${value?.code ?? literal(value)}`;
const called = (name, given) => `${name}(${Object.entries(given).map(argument).join(", ")})`;

function rateOf({ schedule, learning_rate: rate }) {
  if (schedule === "inverse_scaling") return { code: `InverseScaling(${rate})` };
  return schedule === "step_decay" ? { code: `StepDecay(${rate}, every=50)` } : rate;
}

function solverOf(method) {
  if (method.name === "newton") return { code: "Newton()" };
  if (method.name === "least_squares") return { code: "LeastSquares()" };
  const size = { batch: null, "mini-batch": method.batch_size }[method.form];
  return {
    code: called("GradientDescent", {
      batch_size: size === undefined ? 1 : size, shuffle: method.form !== "sequential",
      learning_rate: rateOf(method), average: method.keep === "average",
    }),
  };
}

function estimatorOf(run) {
  const { method } = run;
  const passes = run.stop === "callback" ? run.passes.length : method.max_iter;
  const common = { max_iter: passes, fit_intercept: method.fit_intercept, random_state: method.seed };
  const rate = rateOf(method);
  if (method.name === "kernel_perceptron") {
    return called("KernelPerceptron", {
      kernel: method.kernel, gamma: method.gamma, degree: method.degree, learning_rate: rate, shuffle: method.shuffle,
      keep: "last", patience: null, max_norm: method.max_norm || null, ...common,
    });
  }
  if (["perceptron", "batch_perceptron", "radial_basis"].includes(method.name)) {
    const batch = method.name === "batch_perceptron";
    return called("Perceptron", {
      update: batch ? "batch" : "online", learning_rate: rate, l2: batch ? 0 : method.l2, start: method.start,
      shuffle: method.shuffle, keep: method.keep === "voted" ? "last" : method.keep, patience: null,
      max_norm: method.max_norm || null, ...common,
    });
  }
  const loss = method.name === "least_squares" ? "squared" : method.loss;
  return called("LinearClassifier", { loss, l2: method.l2, start: method.start, solver: solverOf(method), ...common });
}

export function pythonOf(run) {
  const rows = run.centres ? "Z" : "X";
  const { gamma, centers, seed } = run.method;
  const lines = [
    "import separatrix", "from separatrix import *", "",
    `X = ${literal(run.points.map((point) => point.slice(0, 2)))}`, `y = ${literal(run.points.map((point) => point[2]))}`,
  ];
  if (run.centres) lines.push(`Z = ${called("features.RadialBasis", { gamma, n_centers: centers, random_state: seed })}.fit_transform(X)`);
  lines.push(
    `clf = ${estimatorOf(run)}`, `clf.fit(${rows}, y)`, `recording = clf.trace_.recording(${rows}, y)`,
    "print(clf.stop_, len(recording))",
  );
  return `${lines.join("\n")}\n`;
}
