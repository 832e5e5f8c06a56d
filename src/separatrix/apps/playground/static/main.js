// The page: its parts are set up, and the first run is asked for.
import { ask } from "./api.js";
import { setUpCharts } from "./chart-views.js";
import { setUpExport } from "./export.js";
import { setUpHand } from "./hand.js";
import { fromLink } from "./link.js";
import { drawMethod } from "./methods.js";
import { setUpPlane } from "./plane-view.js";
import { setUpPlayer } from "./player.js";
import { setUpPoints, setUpPresets } from "./points.js";
import { rerun } from "./run.js";
import { at, goTo, say, state } from "./state.js";
import { setUpTable } from "./table.js";
import { setUpVerdict } from "./verdict.js";

function onMethod(method, focus) {
  state.method = method;
  drawMethod(at("method"), method, onMethod);
  if (focus) at(focus).focus();
  rerun();
}

async function begin() {
  for (const setUp of [setUpPlane, setUpPlayer, setUpCharts, setUpVerdict, setUpTable, setUpPoints, setUpHand, setUpExport]) setUp();
  const presets = await ask("presets", {}).catch((error) => { say(error.message); return {}; });
  setUpPresets(presets);
  const linked = await fromLink(location.hash);
  if (linked) Object.assign(state, { points: linked.points, method: linked.method });
  else if (presets.and) state.points = presets.and.map((point) => [...point]);
  drawMethod(at("method"), state.method, onMethod);
  await rerun();
  if (linked && linked.step) goTo(linked.step);
  document.body.dataset.ready = "yes";
}

begin();
