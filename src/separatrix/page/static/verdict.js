// Whether a line separates the points, in one sentence.
import { mistakesWithin } from "./engine/text.js";
import { addView, at, state } from "./state.js";
import { shown } from "./svg.js";

// Maximum number of rows listed per class.
const MOST_ROWS = 6;

function proof({ meeting, witness }) {
  const rows = (witness && witness.rows) || [];
  const which = `${rows.slice(0, MOST_ROWS).join(", ")}${rows.length > MOST_ROWS ? ", ..." : ""}`;
  const proven = rows.length === 1 ? `row ${which} proves` : `rows ${which} prove`;
  if (meeting) return `the hulls meet at (${meeting.map(shown).join(", ")}), the cross, as ${proven}`;
  const line = state.method.fit_intercept ? "" : "without a bias it goes through 0, and ";
  return rows.length ? `${line}${proven} it` : "their classes overlap";
}

// Whether the bound on mistakes holds for the method: the online perceptron from zero, with a constant
// step, a bias and no penalty.
function bounded() {
  const { name, start, schedule, l2, fit_intercept: bias } = state.method;
  return name === "perceptron" && (start ?? "zeros") === "zeros" && (schedule ?? "constant") === "constant" && !l2 && bias;
}

function drawVerdict() {
  const found = state.verdict;
  if (!found) return at("verdict").replaceChildren();
  let text = `No line separates these points: ${proof(found)}.`;
  if (found.verdict === "separable") {
    text = found.mistake_bound === null ? "Separable, by a margin too small to compute."
      : `Separable: margin ${found.margin_words}${bounded() ? `; from zero, point by point, the perceptron makes at most ${mistakesWithin(found.mistake_bound)}` : ""}.`;
  } else if (found.verdict === "quasi-separable") {
    text = "Quasi-separable: a line touches both classes, but none separates them strictly.";
  } else if (found.verdict === "undecided") {
    text = found.text;
  }
  at("verdict").textContent = text;
  at("verdict").title = found.text;
  return undefined;
}

export function setUpVerdict() {
  addView(drawVerdict, () => {});
}
