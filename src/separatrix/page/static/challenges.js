// Challenges: tasks to solve, those of the page and one by a teacher, checked by library or engine.
import { ask } from "./api.js";
import { conditionText, metBy } from "./engine/conditions.js";
import { shortened } from "./engine/settings.js";
import { startingMethod } from "./methods.js";
import { beginWith } from "./points.js";
import { note } from "./results.js";
import { at, say, state } from "./state.js";

const done = new Set();
let begun = null; // the challenge that the page shows: a name, or what a teacher made

function element(name, properties, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

// challenge: name, title, task, points and method; own: what a teacher made, with condition and hint.
function entry(challenge, own = null) {
  const { name, title, task, points, method } = challenge;
  const result = element("p", { className: "result" });
  result.setAttribute("role", "status");
  const begin = element("button", { type: "button", textContent: "Begin" });
  const check = element("button", { type: "button", textContent: "Check" });
  begin.setAttribute("aria-label", `Begin: ${title}`);
  check.setAttribute("aria-label", `Check: ${title}`);
  begin.addEventListener("click", () => {
    result.textContent = "";
    begun = own ?? name;
    beginWith(points, { ...startingMethod(method.name), ...method });
  });
  check.addEventListener("click", () => checkIt(challenge, own, result));
  const made = element("li", { id: own ? "challenge-own" : `challenge-${name.replaceAll(" ", "-")}` });
  made.dataset.name = name;
  made.append(element("strong", { textContent: title }), element("p", { textContent: task }));
  if (own) {
    made.append(element("p", { textContent: `${conditionText(own.condition)} ${own.fixed ? "The points are fixed." : "Points may be moved."}` }));
    if (own.hint) made.append(element("details", {}, element("summary", { textContent: "Hint" }), element("p", { textContent: own.hint })));
  }
  made.append(element("div", { className: "bar" }, begin, check), result);
  return made;
}

async function checkIt({ name, title, task }, own, result) {
  const now = { points: state.points, method: state.method };
  try {
    const found = own ? metBy(own, now) : await ask("challenge", { name, ...now });
    if (found.done) done.add(name);
    result.className = found.done ? "result right" : "result wrong";
    result.textContent = `${found.done ? "Done." : "Not yet."} ${found.text}`;
    sayDone();
    await note({ title, task, condition: own ? conditionText(own.condition) : "" }, found, { points: now.points, method: shortened(now.method), challenge: own ?? name });
  } catch (error) {
    say(error.message);
  }
}

function sayDone() {
  at("challenges-done").textContent = done.size ? `${done.size} of ${at("challenges").children.length} done` : "";
}

// What a link holds: the points of a challenge only where they are not those of the page.
export function begunChallenge() {
  if (!begun || typeof begun === "string") return begun;
  const { points, hint, ...rest } = begun;
  return { ...rest, ...(hint ? { hint } : {}), ...(JSON.stringify(points) === JSON.stringify(state.points) ? {} : { points }) };
}

// The challenge of a link: the name of one of the page, or one by a teacher.
export function showChallenge(given, method) {
  if (typeof given !== "string") return showOwn(given, method);
  const found = [...at("challenges").children].find((one) => one.dataset.name === given);
  if (!found) return say(`This page has no challenge ${given}.`);
  begun = given;
  at("challenges-box").open = true;
  return undefined;
}

const OWN = "of a teacher";

export function showOwn(own, method) {
  at("challenge-own")?.remove();
  done.delete(OWN);
  begun = own;
  at("challenges").prepend(entry({ name: OWN, title: own.title, task: own.task, points: own.points, method: { ...method } }, own));
  at("challenges-box").open = true;
  sayDone();
}

export async function setUpChallenges() {
  const all = await ask("challenges", {}).catch((error) => { say(error.message); return []; });
  at("challenges").replaceChildren(...all.map((one) => entry(one)));
}
