// Held-out points and lambda: the minimum for each value of the penalty, and the k-fold
// cross-validation curve. While it is shown, the plane shows this minimum instead of the run.
import { powerName, powersOf, ticksAcross, ticksOf, ticksUp } from "./axes.js";
import { crossValidation, foldsOf } from "./engine/cross-validation.js";
import { startingMethod } from "./methods.js";
import { drawPlaneView } from "./plane-view.js";
import { beginWith } from "./points.js";
import { at, classesOf, state } from "./state.js";
import { option, redraw, scale, shown } from "./svg.js";

const L2S = Array.from({ length: 21 }, (_, i) => Number((10 ** (-4 + i / 4)).toPrecision(3)));
const MOST_FOLDS = 10;
const USUAL_FOLDS = 5;
const AT_ONCE = 30; // milliseconds of work before the page is drawn again
const WIDE = 360;
const HIGH = 150;
const EDGE = 44;
const FOOT = 26;
const SMOOTH = ["logistic", "squared", "squared_hinge"];

let found = null; // {key, places: the folds of each value}
let working = 0;

// The loss of the page's method if it has a curvature, else the logistic one.
function lossOfPage() {
  const { name, loss } = state.method;
  if (name === "least_squares") return "squared";
  return ["gradient_descent", "newton"].includes(name) && SMOOTH.includes(loss) ? loss : "logistic";
}

function mostFolds() {
  const labels = state.points.map((point) => point[2]);
  return Math.min(MOST_FOLDS, ...classesOf(state.points).map((label) => labels.filter((one) => one === label).length));
}

function chosenFolds() {
  const most = mostFolds();
  const given = Number(at("lambda-folds").value) || USUAL_FOLDS;
  return Math.max(2, Math.min(most, given));
}

function offer(id, values, chosen) {
  const now = [...at(id).options].map((one) => Number(one.value));
  if (values.join() !== now.join()) at(id).replaceChildren(...values.map((value) => option(String(value), value, value === chosen)));
}

const upTo = (first, last) => Array.from({ length: Math.max(0, last - first + 1) }, (_, i) => first + i);
const mean = (folds, name) => folds.reduce((sum, one) => sum + one[name], 0) / folds.length;

// ---- the fits, in pieces so that the page stays responsive ---------------------------------------

async function compute(key, asked) {
  working += 1;
  const mine = working;
  found = { key, places: [] };
  const loss = lossOfPage();
  let until = performance.now() + AT_ONCE;
  for (const { place, folds } of crossValidation(asked.points, { name: "newton", loss, fit_intercept: asked.intercept }, { l2s: L2S, folds: asked.folds })) {
    found.places[place] = folds;
    if (performance.now() < until) continue;
    await new Promise((done) => { setTimeout(done, 0); });
    if (mine !== working) return; // the points have changed
    until = performance.now() + AT_ONCE;
  }
  show();
}

// ---- what is shown -------------------------------------------------------------------------------

function heldRows(fold) {
  const labels = classesOf(state.points);
  const folds = foldsOf(state.points.map((point) => labels.indexOf(point[2])), chosenFolds());
  return new Set(folds.flatMap((one, row) => (one === fold ? [row] : [])));
}

const place = () => Number(at("lambda").value);

function curve(name, [x, y]) {
  return found.places.map((folds, i) => `${x(Math.log10(L2S[i]))},${y(mean(folds, name))}`).join(" ");
}

function best() {
  const all = found.places.map((folds) => mean(folds, "heldOut"));
  return all.indexOf(Math.min(...all));
}

function drawCurves() {
  const all = found.places.flatMap((folds) => [mean(folds, "heldOut"), mean(folds, "training")]);
  const room = 0.1 * (Math.max(...all) - Math.min(...all)) || 0.1;
  const [low, high] = [Math.min(...all) - room, Math.max(...all) + room];
  const places = [scale([-4, 1], [EDGE, WIDE - 12]), scale([low, high], [HIGH - FOOT, 10])];
  const [x, y] = places;
  const exponent = (value) => x(Math.log10(value));
  const least = best();
  at("lambda-view").setAttribute("viewBox", `0 0 ${WIDE} ${HIGH}`);
  redraw(at("lambda-view"), [
    ["line", { x1: EDGE, x2: WIDE - 12, y1: HIGH - FOOT, y2: HIGH - FOOT, class: "axis" }],
    ["line", { x1: EDGE, x2: EDGE, y1: 10, y2: HIGH - FOOT, class: "axis" }],
    ...ticksAcross(powersOf(L2S[0], L2S.at(-1), 6), exponent, HIGH - FOOT, powerName),
    ...ticksUp(ticksOf(low, high, 4), y, EDGE),
    ["polyline", { points: curve("training", places), class: "curve rival" }],
    ["polyline", { points: curve("heldOut", places), class: "curve" }],
    ["circle", { cx: exponent(L2S[least]), cy: y(mean(found.places[least], "heldOut")), r: 5, class: "began" }],
    ["line", { x1: exponent(L2S[place()]), x2: exponent(L2S[place()]), y1: 10, y2: HIGH - FOOT, class: "now" }],
  ]);
}

function words(fold) {
  const { heldOut, training, mistakes } = found.places[place()][fold];
  const held = heldRows(fold).size;
  const least = best();
  return `Minimum of the ${lossOfPage()} loss + lambda |w|^2. Loss of the ${state.points.length - held} training points ${shown(training)}, `
    + `of the ${held} held-out ones (hollow, ${mistakes} wrong) ${shown(heldOut)}. `
    + `Curves: mean of the folds; held out (solid) ${shown(mean(found.places[place()], "heldOut"))}, `
    + `lowest at lambda = ${shown(L2S[least])}; training (dashed).`;
}

function show() {
  const fold = Number(at("lambda-fold").value) - 1;
  const folds = found?.places[place()];
  if (at("lambda-panel").hidden || !folds || found.places.length < L2S.length || !folds[fold]) return;
  state.minimum = { weights: folds[fold].weights, held: heldRows(fold) };
  at("lambda-value").textContent = shown(L2S[place()]);
  at("lambda").setAttribute("aria-valuetext", `lambda ${shown(L2S[place()])}`);
  at("lambda-words").textContent = words(fold);
  drawCurves();
  drawPlaneView();
}

function nothing(text) {
  found = null;
  working += 1;
  at("lambda-words").textContent = text;
  at("lambda-view").replaceChildren();
  leave();
}

// The plane shows the run again.
function leave() {
  if (!state.minimum) return;
  state.minimum = null;
  drawPlaneView();
}

export const heldOut = {
  name: "held-out points and lambda",
  suits: () => false,
  draw() {
    if (!state.run) return nothing("");
    if (mostFolds() < 2) return nothing("Every class needs two points or more: some are held out.");
    const folds = chosenFolds();
    offer("lambda-folds", upTo(2, mostFolds()), folds);
    offer("lambda-fold", upTo(1, folds), 1);
    const asked = { points: state.points, folds, intercept: state.method.fit_intercept };
    const key = JSON.stringify([asked, lossOfPage()]);
    if (found?.key !== key) {
      state.minimum = null; // of other points
      compute(key, asked);
    } else show();
    return undefined;
  },
  leave,
};

export function setUpHeldOut() {
  at("lambda-use").addEventListener("click", () => {
    beginWith(state.points, { ...startingMethod("newton"), loss: lossOfPage(), l2: L2S[place()], fit_intercept: state.method.fit_intercept });
  });
  at("lambda").addEventListener("input", show);
  for (const id of ["lambda-folds", "lambda-fold"]) at(id).addEventListener("change", () => heldOut.draw());
}
