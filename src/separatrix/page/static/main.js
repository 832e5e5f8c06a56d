// The page: its parts are set up, and the first run is asked for.
import { ask } from "./api.js";
import { setUpChallenges } from "./challenges.js";
import { setUpCharts } from "./chart-views.js";
import { setUpExport } from "./export.js";
import { setUpHand } from "./hand.js";
import { setUpFeatures } from "./feature-plane.js";
import { fromLink } from "./link.js";
import { drawMethodForm } from "./method-form.js";
import { setUpPlane } from "./plane-view.js";
import { setUpPlayer } from "./player.js";
import { setUpPoints, setUpPresets } from "./points.js";
import { setUpQuestions } from "./questions.js";
import { setUpRace } from "./race.js";
import { rerun } from "./run.js";
import { goTo, say, state } from "./state.js";
import { setUpTable } from "./table.js";
import { setUpVerdict } from "./verdict.js";
import { setUpWeightSpace } from "./weight-space.js";

const PARTS = [
  setUpPlane, setUpFeatures, setUpPlayer, setUpCharts, setUpWeightSpace, setUpVerdict, setUpTable,
  setUpPoints, setUpHand, setUpExport, setUpQuestions, setUpRace,
];

async function begin() {
  for (const setUp of PARTS) setUp();
  const presets = await ask("presets", {}).catch((error) => { say(error.message); return {}; });
  setUpPresets(presets);
  const linked = await fromLink(location.hash);
  if (linked) Object.assign(state, { points: linked.points, method: linked.method });
  else if (presets.and) state.points = presets.and.map((point) => [...point]);
  drawMethodForm();
  await setUpChallenges();
  await rerun();
  if (linked && linked.step) goTo(linked.step);
  document.body.dataset.ready = "yes";
}

begin();
