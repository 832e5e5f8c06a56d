// The points as an editable table.
import { edit } from "./points.js";
import { addView, at, state, strengthsAt } from "./state.js";

function cell(row, axis, value) {
  const input = document.createElement("input");
  Object.assign(input, { type: "number", step: "any", value, id: `cell-${row}-${axis}` });
  input.setAttribute("aria-label", `row ${row}, ${["x1", "x2", "class"][axis]}`);
  input.addEventListener("change", () => {
    const entered = axis === 2 ? Math.min(3, Math.max(0, Math.round(Number(input.value)))) : Number(input.value);
    edit((points) => { points[row][axis] = entered; });
  });
  return input;
}

function remover(row) {
  const remove = document.createElement("button");
  Object.assign(remove, { type: "button", textContent: "Delete" });
  remove.setAttribute("aria-label", `delete row ${row}`);
  remove.addEventListener("click", () => edit((points) => points.splice(row, 1)));
  return remove;
}

const isOpen = () => at("table").closest("details").open;

// At another step of the same run only the strengths differ.
function moveTable() {
  if (!isOpen()) return;
  const strengths = strengthsAt(state.step);
  Array.from(at("table").tBodies[0].rows, (line, row) => { line.cells[4].textContent = strengths[row]; });
}

function drawTable() {
  if (!isOpen()) return;
  const strengths = strengthsAt(state.step);
  at("table").tBodies[0].replaceChildren(...state.points.map((point, row) => {
    const line = document.createElement("tr");
    const cells = [row, ...point.map((value, axis) => cell(row, axis, value)), strengths[row], remover(row)];
    for (const one of cells) {
      const data = document.createElement("td");
      data.append(one instanceof Node ? one : String(one));
      line.append(data);
    }
    return line;
  }));
}

export function setUpTable() {
  at("table").closest("details").addEventListener("toggle", drawTable);
  addView(drawTable, moveTable);
}
