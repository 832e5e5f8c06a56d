// Next to the data plane: the points after the feature map, (z1, z2), where a line separates them.
import { boxOf, drawPlane } from "./plane.js";
import { addView, at, classesOf, scoresNow, state, strengthsAt, weightsAt } from "./state.js";

function drawFeatures() {
  const figure = at("feature-view").closest("figure");
  const { run, step } = state;
  const shownNow = Boolean(run && run.centers && weightsAt(step) && run.centers.length > 1);
  figure.hidden = !shownNow;
  if (!shownNow) return;
  const labels = classesOf(state.points);
  const points = run.recording.data.x.map((z, row) => [z[0], z[1], state.points[row][2]]);
  const whole = run.centers.length === 2; // else the line also depends on the other features
  drawPlane(at("feature-view"), {
    points, names: ["z1", "z2"], box: boxOf(points), labels, weights: whole ? weightsAt(step) : null, scores: scoresNow(),
    strengths: strengthsAt(step), turn: step ? state.steps.rows[step - 1] ?? [] : [],
  });
  at("feature-note").textContent = whole
    ? `z1 and z2 measure how close a point is to centres 1 and 2${state.steps.mistakes.at(-1) === 0 ? ": here a line is enough" : ""}.`
    : `The first two of ${run.centers.length} features: the boundary also depends on the others.`;
}

export function setUpFeatures() {
  addView(drawFeatures);
}
