// Moving points with mouse, touch and keys on the data plane.
import { drawPlaneView, placeOf, rowAt } from "./plane-view.js";
import { edit, remember } from "./points.js";
import { rerun } from "./run.js";
import { at, render, signOf, state } from "./state.js";

// The position of a point under the pointer: it may be drawn flipped.
function putAt(event, label) {
  return placeOf(event).map((value) => signOf(label) * Number(value.toPrecision(3)));
}

function onPointerDown(event) {
  const row = rowAt(event);
  event.preventDefault();
  at("plane").focus();
  if (row === null) {
    const where = putAt(event, state.newClass);
    state.chosen = state.points.length;
    edit((points) => points.push([...where, state.newClass]));
    return;
  }
  state.chosen = row;
  state.dragging = { row, before: JSON.stringify(state.points), moved: false };
  at("plane").setPointerCapture(event.pointerId);
  drawPlaneView();
}

function onPointerMove(event) {
  if (!state.dragging) return;
  const point = state.points[state.dragging.row];
  const where = putAt(event, point[2]);
  if (where[0] === point[0] && where[1] === point[1]) return;
  state.dragging.moved = true;
  [point[0], point[1]] = where;
  drawPlaneView(); // at once, without waiting for the server
  rerun({ keepStep: true });
}

function onPointerUp() {
  const dragged = state.dragging;
  state.dragging = null;
  if (dragged && dragged.moved) {
    remember(dragged.before);
    render();
  }
}

const MOVES = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };

function onKey(event) {
  const { box, chosen, points } = state;
  const small = [(box[1] - box[0]) / 50, (box[3] - box[2]) / 50];
  const middle = [(box[0] + box[1]) / 2, (box[2] + box[3]) / 2];
  if (event.key === "n" || event.key === "N") {
    state.chosen = points.length;
    const sign = signOf(state.newClass);
    edit((all) => all.push([...middle.map((v) => sign * Number(v.toPrecision(3))), state.newClass]));
  } else if (event.key === "[" || event.key === "]") {
    const by = event.key === "]" ? 1 : -1;
    state.chosen = points.length ? ((chosen ?? -by) + by + points.length) % points.length : null;
    drawPlaneView();
  } else if (chosen === null) {
    return;
  } else if (MOVES[event.key]) {
    const move = MOVES[event.key].map((by) => by * signOf(points[chosen][2]));
    edit((all) => {
      for (const axis of [0, 1]) all[chosen][axis] = Number((all[chosen][axis] + move[axis] * small[axis]).toPrecision(4));
    }, { keepStep: true });
  } else if (event.key === "Delete" || event.key === "Backspace") {
    edit((all) => all.splice(chosen, 1));
  } else if ("1234".includes(event.key)) {
    edit((all) => { all[chosen][2] = Number(event.key) - 1; });
  } else return;
  event.preventDefault();
}

export function setUpHand() {
  const plane = at("plane");
  plane.addEventListener("pointerdown", onPointerDown);
  plane.addEventListener("pointermove", onPointerMove);
  plane.addEventListener("pointerup", onPointerUp);
  plane.addEventListener("keydown", onKey);
}
