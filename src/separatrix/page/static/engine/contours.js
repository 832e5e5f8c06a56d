// Contour lines of values on a square grid, as segments in thousandths of its box.
//
// Every cell is cut into two triangles; linear interpolation gives each at most one segment.
const UNITS = 1000;

function crossing([a, b, c], level) {
  const above = [a, b, c].map((corner) => corner.value >= level);
  const count = above.filter(Boolean).length;
  if (count === 0 || count === 3) return null;
  const corners = [a, b, c];
  const alone = above.findIndex((is) => is === (count === 1));
  const ends = [1, 2].map((turn) => {
    const [from, to] = [corners[alone], corners[(alone + turn) % 3]];
    const share = (from.value - level) / (from.value - to.value);
    return [from.x + share * (to.x - from.x), from.y + share * (to.y - from.y)];
  });
  return ends.flat().map(Math.round);
}

// values: row by row upwards, size * size of them.
export function contour(values, size, level) {
  const pieces = [];
  const each = UNITS / (size - 1);
  const corner = (row, column) => ({ value: values[row * size + column], x: column * each, y: row * each });
  for (let row = 0; row + 1 < size; row += 1) {
    for (let column = 0; column + 1 < size; column += 1) {
      const [low, right, top, far] = [corner(row, column), corner(row, column + 1), corner(row + 1, column), corner(row + 1, column + 1)];
      for (const triangle of [[low, right, far], [low, far, top]]) {
        if (!triangle.every(({ value }) => Number.isFinite(value))) continue;
        const piece = crossing(triangle, level);
        if (piece) pieces.push(piece);
      }
    }
  }
  return pieces;
}
