// Points from pasted or dropped CSV text: the user chooses two columns and the class.
import { fromText } from "./link.js";
import { replacePoints } from "./points.js";
import { at, say } from "./state.js";

const COLUMNS = ["csv-x1", "csv-x2", "csv-class"];
const MOST = 2000;

// Lines of cells; a quoted cell may contain the separator, and quotes written twice.
export function cellsOf(text) {
  const separator = [",", ";", "\t"].find((one) => text.split("\n")[0].includes(one)) ?? ",";
  return text.split(/\r?\n/).filter((line) => line.trim() !== "").map((line) => {
    const cells = [""];
    let quoted = false;
    for (let i = 0; i < line.length; i += 1) {
      const letter = line[i];
      if (letter === '"' && quoted && line[i + 1] === '"') cells[cells.length - 1] += line[(i += 1)];
      else if (letter === '"') quoted = !quoted;
      else if (letter === separator && !quoted) cells.push("");
      else cells[cells.length - 1] += letter;
    }
    return cells.map((cell) => cell.trim());
  });
}

const isNumber = (cell) => cell !== undefined && cell !== "" && Number.isFinite(Number(cell));

// A first line without numbers, followed by lines with numbers, names the columns.
function named(lines) {
  const header = lines.length > 1 && !lines[0].some(isNumber) && lines[1].some(isNumber);
  const names = lines.length ? lines[0].map((cell, i) => (header ? cell : "") || `column ${i + 1}`) : [];
  return { names, rows: header ? lines.slice(1) : lines, skipped: header ? 1 : 0 };
}

// Default: the first two numeric columns, and the last column as the class.
function offerColumns() {
  const { names, rows } = named(cellsOf(at("csv").value));
  const numbers = names.map((_, i) => i).filter((i) => rows.every((row) => isNumber(row[i])));
  const last = names.length - 1;
  const free = numbers.filter((i) => i !== last);
  const chosen = [free[0] ?? 0, free[1] ?? Math.min(1, Math.max(0, last)), last];
  COLUMNS.forEach((id, i) => {
    at(id).replaceChildren(...names.map((name, number) => new Option(name, number)));
    at(id).value = chosen[i];
    at(id).disabled = !names.length;
  });
}

function takeCsv() {
  const { rows, skipped } = named(cellsOf(at("csv").value));
  const [x1, x2, label] = COLUMNS.map((id) => Number(at(id).value));
  if (!rows.length) return say("Paste lines such as 1.5,2,yes, or drop a file of them here.");
  if (rows.length > MOST) return say(`${rows.length} lines; expected ${MOST} at most.`);
  const wrong = rows.findIndex((row) => !isNumber(row[x1]) || !isNumber(row[x2]) || !row[label]);
  if (wrong >= 0) return say(`Line ${wrong + skipped + 1}: expected two numbers and a class in the columns chosen.`);
  const labels = [...new Set(rows.map((row) => row[label]))].sort();
  if (labels.length < 2 || labels.length > 4) return say(`The class column has ${labels.length} different values; expected two to four.`);
  return replacePoints(rows.map((row) => [Number(row[x1]), Number(row[x2]), labels.indexOf(row[label])]));
}

function offer(text) {
  at("csv").closest("details").open = true;
  at("csv").value = text;
  offerColumns();
  takeCsv();
}

// open: opens a file that was saved instead of a link.
async function takeFile(file, open) {
  if (!file) return;
  const text = await file.text();
  if (!text.trimStart().startsWith("{")) return offer(text);
  try {
    await open(fromText(text, "file"));
  } catch (error) {
    say(error.message);
  }
}

export function setUpCsv(open) {
  at("csv").addEventListener("input", offerColumns);
  at("take-csv").addEventListener("click", takeCsv);
  at("file").addEventListener("change", () => takeFile(at("file").files[0], open));
  document.addEventListener("dragover", (event) => event.preventDefault());
  document.addEventListener("drop", (event) => {
    event.preventDefault();
    takeFile(event.dataTransfer.files[0], open);
  });
  offerColumns();
}
