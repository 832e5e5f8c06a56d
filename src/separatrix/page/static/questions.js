// Questions about the next steps: requested from the server, answered by clicking, and counted.
import { rowAt } from "./plane-view.js";
import { askAtStep } from "./run.js";
import { addView, at, goTo, render, state } from "./state.js";

const counted = { right: 0, all: 0 };

// A question stays open as long as its run is shown at its step.
async function open(kind) {
  if (!state.run) return undefined; // the next one is being computed
  const question = await askAtStep("question", { kind });
  if (!question) return undefined;
  if (!question.choices.length) return sayAnswer(question.text);
  state.question = { ...question, run: state.run, step: state.step };
  document.body.dataset.asking = kind;
  at("question").textContent = question.text;
  sayAnswer("");
  at("answers").replaceChildren(
    ...(question.asks_row ? [rowField()] : []),
    ...question.choices.map((text, choice) => button(text, () => answer(choice, null))),
  );
  return render();
}

function close() {
  state.question = null;
  delete document.body.dataset.asking;
  at("question").textContent = "";
  at("answers").replaceChildren();
}

function answer(choice, row) {
  const { right, right_row: rightRow, reason, shows } = state.question;
  const isRight = row === null ? choice === right : row === rightRow;
  counted.all += 1;
  counted.right += isRight ? 1 : 0;
  close();
  sayAnswer(`${isRight ? "Right." : "Wrong."} ${reason}`, isRight ? "right" : "wrong");
  at("counted").textContent = `${counted.right} of ${counted.all} right`;
  if (shows === null) render();
  else goTo(shows);
}

function sayAnswer(text, how = "") {
  at("answered").textContent = text;
  at("answered").className = how;
}

function button(text, act) {
  const made = document.createElement("button");
  Object.assign(made, { type: "button", textContent: text });
  made.addEventListener("click", act);
  return made;
}

// For users who do not click into the plane.
function rowField() {
  const input = document.createElement("input");
  Object.assign(input, { type: "number", min: 0, max: state.points.length - 1, step: 1, id: "answer-row" });
  const label = document.createElement("label");
  label.append("Row ", input);
  const both = document.createElement("span");
  both.className = "bar";
  both.append(label, button("Answer", () => input.value !== "" && answer(null, Number(input.value))));
  return both;
}

function onPlane(event) {
  if (!state.question || !state.question.asks_row) return;
  const row = rowAt(event);
  if (row === null) return;
  event.preventDefault();
  event.stopImmediatePropagation(); // the click must not drag a point
  answer(null, row);
}

function closeIfPast() {
  const { question } = state;
  if (question && (question.run !== state.run || question.step !== state.step)) close();
  for (const kind of ["way", "mistake", "stop"]) at(`ask-${kind}`).disabled = !state.run;
}

export function setUpQuestions() {
  for (const kind of ["way", "mistake", "stop"]) at(`ask-${kind}`).addEventListener("click", () => open(kind));
  at("plane").addEventListener("pointerdown", onPlane, { capture: true });
  addView(closeIfPast);
}
