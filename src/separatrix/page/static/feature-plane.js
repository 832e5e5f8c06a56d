// Beside the data plane: the same points as a feature map sees them, (z1, z2), where they are cut
// by a line.
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
  const whole = run.centers.length === 2; // else the line would need a place in the other features
  drawPlane(at("feature-view"), {
    points, names: ["z1", "z2"], box: boxOf(points), labels, weights: whole ? weightsAt(step) : null, scores: scoresNow(),
    strengths: strengthsAt(step), turn: step ? state.steps.rows[step - 1] ?? [] : [],
  });
  at("feature-note").textContent = whole
    ? "z1 and z2 are how near a point is to centres 1 and 2: here a line is enough."
    : `The first two of ${run.centers.length} features: the boundary is no line of these two alone.`;
}

export function setUpFeatures() {
  addView(drawFeatures);
}
