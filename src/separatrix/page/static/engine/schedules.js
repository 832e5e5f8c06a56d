// Step sizes by the number of the step, t = 1, 2, 3, ...
const EVERY = 50; // steps until a step decay halves

export function stepSize({ schedule, learning_rate: rate }, t) {
  if (schedule === "inverse_scaling") return rate / Math.sqrt(t);
  if (schedule === "step_decay") return rate * 0.5 ** Math.floor((t - 1) / EVERY);
  return rate;
}

export const isConstant = (settings) => (settings.schedule ?? "constant") === "constant";
