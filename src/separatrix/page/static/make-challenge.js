// The form in which teachers make a challenge of the points and the method of the page.
import { showOwn } from "./challenges.js";
import { checkedOwn, impossible } from "./engine/conditions.js";
import { at, state } from "./state.js";
import { option } from "./svg.js";

const KINDS = {
  margin: ["margin at least", 0.1], updates: ["updates at most", 20], held_out: ["held-out mistakes at most", 2],
  disc: ["weights inside a disc", null],
};

function given() {
  const kind = at("own-kind").value;
  const number = (id) => (at(id).value === "" ? NaN : Number(at(id).value));
  const condition = kind === "disc" ? { kind, center: [number("own-w1"), number("own-w2")], radius: number("own-radius") }
    : { kind, value: number("own-value") };
  return { title: at("own-title").value, task: at("own-task").value, hint: at("own-hint").value, fixed: at("own-fixed").checked, condition };
}

function make() {
  const say = (text, kind) => {
    at("own-result").textContent = text;
    at("own-result").className = `result ${kind}`;
  };
  try {
    const challenge = checkedOwn(given(), state.points);
    const why = impossible(challenge);
    if (why) return say(why, "wrong");
    showOwn(challenge, state.method);
    return say("It is the first challenge of the list, and part of the link: press Copy link.", "right");
  } catch (error) {
    return say(`${error.message}.`, "wrong");
  }
}

function offerFields() {
  const kind = at("own-kind").value;
  at("own-value").closest("label").hidden = kind === "disc";
  at("own-disc").hidden = kind !== "disc";
  if (kind !== "disc") [, at("own-value").value] = KINDS[kind];
}

export function setUpMaking() {
  at("own-kind").append(...Object.entries(KINDS).map(([kind, [name]], i) => option(name, kind, i === 0)));
  at("own-kind").addEventListener("change", offerFields);
  at("own-make").addEventListener("click", make);
  offerFields();
}
