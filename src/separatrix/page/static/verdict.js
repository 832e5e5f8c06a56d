// Whether a line separates the points, in one sentence.
import { addView, at, state } from "./state.js";

function drawVerdict() {
  const found = state.verdict;
  if (!found) return at("verdict").replaceChildren();
  let text = "A line cannot separate these points: the hulls meet at the cross.";
  if (found.verdict === "separable") {
    text = found.mistake_bound === null
      ? "Separable, by a margin too small to be told."
      : `Separable: margin ${Number(found.margin).toPrecision(3)}, at most ${Math.floor(found.mistake_bound)} mistakes.`;
  } else if (found.verdict === "quasi-separable") {
    text = "Quasi-separable: a line touches both classes, none has them strictly apart.";
  } else if (!found.meeting) text = "Not separable.";
  at("verdict").textContent = text;
  at("verdict").title = found.text;
  return undefined;
}

export function setUpVerdict() {
  addView(drawVerdict, () => {});
}
