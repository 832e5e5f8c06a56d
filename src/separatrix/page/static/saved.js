// A page that was saved: its data are inside, and stand for the answers of a server.
const inside = document.getElementById("saved");
export const saved = inside ? JSON.parse(inside.textContent) : null;

const known = new Map(); // what was decoded once

function decoded(text, Kind) {
  if (!known.has(text)) {
    known.set(text, new Kind(Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)).buffer));
  }
  return known.get(text);
}

// Scores at the grid, one list for each of k; and those of the points, k for each.
export function gridAt(step) {
  const { size, box, k, of, scores, rows, lines, ends } = saved.grids;
  const cells = size * size;
  const all = decoded(scores, Int8Array);
  const found = { size, box, step, scores: [], rows: null, lines: [] };
  for (let c = 0; c < k; c += 1) {
    const begin = (of[step] * k + c) * cells;
    found.scores.push(all.subarray(begin, begin + cells));
  }
  const pieces = decoded(lines, Uint16Array);
  let begin = ends[of[step]][0];
  for (const end of ends[of[step]].slice(1)) {
    const line = [];
    for (; begin < end; begin += 1) line.push(Array.from(pieces.subarray(4 * begin, 4 * begin + 4)));
    found.lines.push(line);
  }
  if (rows) {
    const own = decoded(rows, Float32Array);
    const count = saved.points.length;
    found.rows = saved.points.map((_, row) => {
      const begin = (of[step] * count + row) * k;
      return Array.from(own.subarray(begin, begin + k));
    });
  }
  return found;
}

export function answerOf(name) {
  const answers = {
    run: () => saved.run,
    verdict: () => saved.verdict, schema: () => saved.schema, presets: () => ({}),
  };
  if (!answers[name]) throw new Error("This page was saved, and has no server to ask.");
  return answers[name]();
}

// The number of a step in the whole run: a saved page may hold some of its steps only.
export function numberOf(step) {
  return saved && step ? saved.numbers[step - 1] : step;
}
