// Sets up the parts of the page, and requests the first run.
import { setUpAside, showAside } from "./aside.js";
import { keepAddress } from "./address.js";
import { ask, hasServer, onServerGone } from "./api.js";
import { setUpChallenges, showChallenge } from "./challenges.js";
import { setUpCharts } from "./chart-views.js";
import { setUpCsv } from "./csv.js";
import { shipped } from "./engine/shipped.js";
import { setUpCurve, showCurve } from "./descent.js";
import { setUpExport } from "./export.js";
import { setUpFeatures } from "./feature-plane.js";
import { setUpGradients } from "./gradients.js";
import { setUpHand } from "./hand.js";
import { checkedState, fromLink } from "./link.js";
import { drawMethodForm } from "./method-form.js";
import { startingMethod } from "./methods.js";
import { setUpMaking } from "./make-challenge.js";
import { setUpPlane } from "./plane-view.js";
import { setUpPlayer } from "./player.js";
import { setUpPseudocode } from "./pseudocode.js";
import { setUpPoints, setUpPresets } from "./points.js";
import { setUpQuestions } from "./questions.js";
import { setUpRace } from "./race.js";
import { setUpResults } from "./results.js";
import { rerun } from "./run.js";
import { numberOf, saved } from "./saved.js";
import { at, goTo, say, state } from "./state.js";
import { setUpTable } from "./table.js";
import { setUpVerdict } from "./verdict.js";
import { setUpWeightSpace, showSpace } from "./weight-space.js";

const PARTS = [
  setUpPlane, setUpFeatures, setUpPlayer, setUpPseudocode, setUpCharts, setUpWeightSpace, setUpVerdict, setUpTable,
  setUpPoints, setUpExport, setUpRace, setUpAside, setUpGradients,
];

// Open the state of a link or a file.
async function open(given) {
  Object.assign(state, { points: given.points, method: given.method, chosen: null });
  if (given.controls === "hidden") document.body.dataset.controls = "hidden";
  if (given.embed) document.body.dataset.embed = "yes";
  if (given.view) {
    at("flip").checked = state.flip = given.view.flip;
    showSpace(given.view);
    showAside(given.view.aside);
  }
  drawMethodForm();
  await rerun();
  showCurve(given.curve);
  if (given.challenge) showChallenge(given.challenge, given.method);
  if (given.step) goTo(given.step);
}

// A saved page has no server, so everything that needs one is hidden.
async function openSaved() {
  document.body.dataset.saved = "yes";
  document.body.dataset.plane = saved.box ? "yes" : "no";
  at("method-words").textContent = saved.words;
  at("plane").removeAttribute("tabindex");
  at("plane").setAttribute("role", "img");
  at("plane").setAttribute("aria-label", "Data plane");
  await open({ points: saved.points, method: saved.method ?? startingMethod() });
  const total = saved.numbers.length;
  let step = 0;
  while (step < total && numberOf(step) < (saved.step ?? 0)) step += 1;
  goTo(step);
  if (numberOf(total) > total) say(`This page contains ${total} of ${numberOf(total)} steps; the others were left out.`);
}

// The state that a saved page opens with.
const opened = () => (shipped.opened ? checkedState(shipped.opened) : null);

// The parts of the page that need Python are shown while a server answers.
function showServer() {
  document.body.dataset.server = hasServer() ? "yes" : "no";
}

async function openFirst() {
  showServer();
  onServerGone((text) => { showServer(); say(text); });
  setUpQuestions(); // before hand.js: a click that answers must not move a point
  setUpHand();
  setUpCsv(open);
  await setUpChallenges();
  setUpMaking();
  setUpResults();
  const presets = await ask("presets", {}).catch((error) => { say(error.message); return {}; });
  setUpPresets(presets);
  let refused = "";
  const linked = await fromLink(location.hash).catch((error) => { refused = error.message; return null; });
  await open(linked ?? opened() ?? { points: (presets.and ?? []).map((point) => [...point]), method: state.method });
  if (refused) say(refused);
  setUpCurve(keepAddress());
  addEventListener("hashchange", () => fromLink(location.hash).then((given) => given && open(given)).catch((error) => say(error.message)));
}

async function begin() {
  for (const setUp of PARTS) setUp();
  await (saved ? openSaved() : openFirst());
  document.body.dataset.ready = "yes";
}

begin();
