// Challenges: tasks to solve, checked by the library.
import { ask } from "./api.js";
import { startingMethod } from "./methods.js";
import { beginWith } from "./points.js";
import { at, say, state } from "./state.js";

const done = new Set();
let begun = null; // the name of the challenge that the page shows

function element(name, properties, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

function entry(challenge) {
  const { name, title, task, points, method } = challenge;
  const result = element("p", { className: "result" });
  result.setAttribute("role", "status");
  const begin = element("button", { type: "button", textContent: "Begin" });
  const check = element("button", { type: "button", textContent: "Check" });
  begin.setAttribute("aria-label", `Begin: ${title}`);
  check.setAttribute("aria-label", `Check: ${title}`);
  begin.addEventListener("click", () => {
    result.textContent = "";
    begun = name;
    beginWith(points, { ...startingMethod(method.name), ...method });
  });
  check.addEventListener("click", () => checkIt(name, result));
  const made = element("li", { id: `challenge-${name.replaceAll(" ", "-")}` });
  made.dataset.name = name;
  made.append(
    element("strong", { textContent: title }), element("p", { textContent: task }),
    element("div", { className: "bar" }, begin, check), result,
  );
  return made;
}

async function checkIt(name, result) {
  try {
    const found = await ask("challenge", { name, points: state.points, method: state.method });
    if (found.done) done.add(name);
    result.className = found.done ? "result right" : "result wrong";
    result.textContent = `${found.done ? "Done." : "Not yet."} ${found.text}`;
    at("challenges-done").textContent = `${done.size} of ${at("challenges").children.length} done`;
  } catch (error) {
    say(error.message);
  }
}

export const begunChallenge = () => begun;

// The challenge of a link, if the page has it.
export function showChallenge(name) {
  const found = [...at("challenges").children].find((one) => one.dataset.name === name);
  if (!found) return say(`This page has no challenge ${name}.`);
  begun = name;
  at("challenges-box").open = true;
  return undefined;
}

export async function setUpChallenges() {
  const all = await ask("challenges", {}).catch((error) => { say(error.message); return []; });
  at("challenges").replaceChildren(...all.map(entry));
}
