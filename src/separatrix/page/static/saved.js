// A saved page contains its data, which replace the answers of a server.
const inside = document.getElementById("saved");
export const saved = inside ? JSON.parse(inside.textContent) : null;

const known = new Map(); // cache of decoded data

function decoded(text, Kind) {
  if (!known.has(text)) {
    known.set(text, new Kind(Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)).buffer));
  }
  return known.get(text);
}

// Scores on the grid, one list for each of k; and of the points, k for each.
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

const drawn = new Map(); // cache of landscapes

// The contours of weight space at a step, or at a step close to it; null if there are none.
export function landscapeAt(step, { across, up, of, column }) {
  const view = (saved.landscapes?.views ?? []).find((one) => one.column === column && one.axes.includes(across) && one.axes.includes(up));
  if (!view) return null;
  const name = JSON.stringify([column, across, up, of, view.of[step]]);
  if (!drawn.has(name)) drawn.set(name, landscapeOf(view, of, view.of[step], across > up));
  return drawn.get(name);
}

// turned: they are stored with the first of the two weights across.
function landscapeOf(view, of, place, turned) {
  const { levels, bands, lines } = view[of][place];
  const { size } = saved.landscapes;
  const all = decoded(lines, Uint16Array);
  const pieces = [];
  for (let i = 0; i < all.length; i += 4) {
    const [a, b, c, d] = all.subarray(i, i + 4);
    pieces.push(turned ? [b, a, d, c] : [a, b, c, d]);
  }
  return {
    size, levels, lines: [pieces], at: view.at[place],
    box: turned ? [...view.box.slice(2), ...view.box.slice(0, 2)] : view.box,
    bands: turned ? Array.from(bands, (_, i) => bands[(i % size) * size + Math.floor(i / size)]).join("") : bands,
  };
}

export function answerOf(name) {
  const answers = {
    run: () => saved.run,
    verdict: () => saved.verdict, schema: () => saved.schema, presets: () => ({}),
  };
  if (!answers[name]) throw new Error("This is a saved page without a server.");
  return answers[name]();
}

// The number of a step in the whole run: a saved page may contain only some steps.
export function numberOf(step) {
  return saved && step ? saved.numbers[step - 1] : step;
}
