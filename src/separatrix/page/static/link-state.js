// What a link holds: points, method, step, view and challenge.
import { shownAside } from "./aside.js";
import { begunChallenge } from "./challenges.js";
import { shownCurve } from "./descent.js";
import { shortened } from "./engine/settings.js";
import { state } from "./state.js";
import { shownSpace } from "./weight-space.js";

const USUAL = JSON.stringify({ across: 0, up: 1, of: "objective", column: 0, flip: false, aside: "auto" });

export function linkState() {
  const found = { points: state.points, method: shortened(state.method), step: state.step };
  const view = { ...shownSpace(), flip: state.flip, aside: shownAside() };
  if (JSON.stringify(view) !== USUAL) found.view = view;
  if (shownCurve()) found.curve = shownCurve();
  if (begunChallenge()) found.challenge = begunChallenge();
  if (document.body.dataset.embed) found.embed = true;
  if (document.body.dataset.controls) found.controls = "hidden";
  return found;
}
