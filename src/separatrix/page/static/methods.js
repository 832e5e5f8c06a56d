// The form of the method: which settings each has, and their defaults.

const LOSSES = ["perceptron", "logistic", "squared", "tanh_squared", "hinge", "squared_hinge"];
const FIELDS = {
  loss: ["Loss", LOSSES],
  form: ["Form", ["batch", "sequential", "stochastic", "mini-batch"]],
  batch_size: ["Batch size", 8, 1],
  learning_rate: ["Step size", 1, "any"],
  schedule: ["Schedule", ["constant", "inverse_scaling", "step_decay"]],
  l2: ["Penalty l2", 0, "any"],
  start: ["Start", ["zeros", "random", "sum"]],
  shuffle: ["Shuffle rows", false],
  keep: ["Returned weights", ["last", "best", "average", "voted"]],
  fit_intercept: ["Bias", true],
  max_iter: ["Maximum passes", 50, 1],
  max_norm: ["Stop when |w| exceeds", 0, "any"],
  kernel: ["Kernel", ["rbf", "poly", "linear"]],
  gamma: ["gamma", 1, "any"],
  degree: ["Degree", 2, 1],
  centers: ["Centres", 2, 1],
  seed: ["Seed", 0, 1],
};
const COMMON = ["fit_intercept", "max_iter", "seed"];
export const METHODS = {
  perceptron: ["Perceptron, row by row", ["learning_rate", "schedule", "l2", "start", "shuffle", "keep", "max_norm"]],
  batch_perceptron: ["Perceptron, batch", ["learning_rate", "start", "keep", "max_norm"]],
  gradient_descent: ["Gradient descent", ["loss", "form", "batch_size", "learning_rate", "schedule", "l2", "start", "keep"]],
  newton: ["Newton's method", ["loss", "l2", "start"]],
  least_squares: ["Least squares", ["l2"]],
  kernel_perceptron: ["Kernel perceptron", ["kernel", "gamma", "degree", "learning_rate", "shuffle", "max_norm"]],
  radial_basis: ["Radial basis features", ["gamma", "centers", "learning_rate", "shuffle", "keep", "max_norm"]],
};
export const CURVED = ["kernel_perceptron", "radial_basis"]; // their boundary in the plane is not a line

export function startingMethod(name = "perceptron") {
  const settings = { name };
  for (const field of [...METHODS[name][1], ...COMMON]) {
    const given = FIELDS[field][1];
    settings[field] = Array.isArray(given) ? given[0] : given;
  }
  if (name === "batch_perceptron") settings.start = "sum";
  if (name === "gradient_descent") Object.assign(settings, { loss: "logistic", learning_rate: 0.5 });
  if (name === "newton") Object.assign(settings, { loss: "logistic", l2: 0.01 });
  return settings;
}

function labelled(text, input) {
  const label = document.createElement("label");
  if (input.type === "checkbox") label.append(input, text);
  else label.append(text, " ", input);
  return label;
}

function choice(options, value, names = null) {
  const made = document.createElement("select");
  options.forEach((option) => made.append(new Option(names ? names[option] : option, option)));
  made.value = value;
  return made;
}

// Rebuild the form for a method; changed is called on every change; ids begin with the prefix.
export function drawMethod(form, method, changed, { prefix = "method", without = [] } = {}) {
  const names = Object.fromEntries(Object.entries(METHODS).map(([name, [text]]) => [name, text]));
  const chooser = choice(Object.keys(METHODS), method.name, names);
  chooser.id = `${prefix}-name`;
  chooser.addEventListener("change", () => changed(startingMethod(chooser.value), chooser.id));
  const parts = [labelled("Method", chooser)];
  for (const field of [...METHODS[method.name][1], ...COMMON].filter((one) => !without.includes(one))) {
    const [text, given, step] = FIELDS[field];
    const kind = field === "keep" && method.name !== "perceptron" ? given.filter((one) => one !== "voted") : given;
    let input;
    if (Array.isArray(kind)) {
      input = choice(kind, method[field]);
    } else {
      input = document.createElement("input");
      input.type = typeof kind === "boolean" ? "checkbox" : "number";
      if (input.type === "checkbox") input.checked = method[field];
      else Object.assign(input, { value: method[field], step, min: 0 });
    }
    input.id = `${prefix}-${field}`;
    input.addEventListener("change", () => {
      const value = input.type === "checkbox" ? input.checked : input.type === "number" ? Number(input.value) : input.value;
      changed({ ...method, [field]: value }, input.id);
    });
    parts.push(labelled(text, input));
  }
  form.replaceChildren(...parts);
}
