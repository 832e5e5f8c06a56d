// The points as a table, which can be edited as well; and points pasted as CSV.
import { edit, replacePoints } from "./points.js";
import { addView, at, say, state, strengthsAt } from "./state.js";

function cell(row, axis, value) {
  const input = document.createElement("input");
  Object.assign(input, { type: "number", step: "any", value, id: `cell-${row}-${axis}` });
  input.setAttribute("aria-label", `row ${row}, ${["x1", "x2", "class"][axis]}`);
  input.addEventListener("change", () => {
    const told = axis === 2 ? Math.min(3, Math.max(0, Math.round(Number(input.value)))) : Number(input.value);
    edit((points) => { points[row][axis] = told; });
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

function drawTable() {
  if (!at("table").closest("details").open) return;
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

function takeCsv() {
  const rows = at("csv").value.trim().split(/\r?\n/).map((line) => line.split(/[,;\t]/));
  const numbers = rows.filter((row) => row.length >= 3 && row.slice(0, 2).every((v) => v.trim() !== "" && Number.isFinite(Number(v))));
  const labels = [...new Set(numbers.map((row) => row[2].trim()))].sort();
  if (!numbers.length || labels.length < 2 || labels.length > 4 || numbers.length > 2000) {
    say("Expected lines such as 1.5,2,yes: two numbers and one of two to four classes, 2,000 lines at most.");
    return;
  }
  replacePoints(numbers.map((row) => [Number(row[0]), Number(row[1]), labels.indexOf(row[2].trim())]));
}

export function setUpTable() {
  at("table").closest("details").addEventListener("toggle", drawTable);
  at("take-csv").addEventListener("click", takeCsv);
  addView(drawTable);
}
