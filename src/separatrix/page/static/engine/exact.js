// Exact arithmetic: floats as whole numbers on one grid, linear equations, and square roots.

// [m, e] with value = m * 2^e, m odd or 0.
function parts(value) {
  if (value === 0) return [0n, 0];
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, value);
  const bits = view.getBigUint64(0);
  const power = Number((bits >> 52n) & 0x7ffn);
  let m = (bits & 0xfffffffffffffn) | (power ? 1n << 52n : 0n);
  let e = Math.max(power, 1) - 1075;
  for (; !(m & 1n); m >>= 1n) e += 1;
  return [value < 0 ? -m : m, e];
}

// Lists of floats as whole numbers: value = number * 2^power, with one power for all.
export function toWhole(lists) {
  const all = lists.map((list) => list.map(parts));
  const power = Math.min(0, ...all.flat().filter(([m]) => m).map(([, e]) => e));
  return { numbers: all.map((list) => list.map(([m, e]) => (m ? m << BigInt(e - power) : 0n))), power };
}

export function dotExact(a, b) {
  let sum = 0n;
  for (let j = 0; j < a.length; j += 1) if (a[j] && b[j]) sum += a[j] * b[j];
  return sum;
}

const bitsOf = (value) => (value < 0n ? -value : value).toString(16).length * 4;

// num / den as a float, accurate to a few units of its last digit.
export function ratio(num, den) {
  if (!num) return 0;
  const shift = 80 - (bitsOf(num) - bitsOf(den));
  const quotient = shift >= 0 ? (num << BigInt(shift)) / den : num / (den << BigInt(-shift));
  const half = Math.trunc(-shift / 2); // in two factors: one alone may overflow
  return Number(quotient) * 2 ** half * 2 ** (-shift - half);
}

function rootOf(value) {
  if (value < 2n) return value;
  let guess = 1n << BigInt(Math.ceil(bitsOf(value) / 2));
  for (;;) {
    const next = (guess + value / guess) >> 1n;
    if (next >= guess) return guess;
    guess = next;
  }
}

// The square root of num / den, as accurate.
export function rootOfRatio(num, den) {
  const shift = 2 * Math.ceil((160 - (bitsOf(num) - bitsOf(den))) / 2);
  const square = shift >= 0 ? (num << BigInt(shift)) / den : num / (den << BigInt(-shift));
  const half = Math.trunc(-shift / 4);
  return Number(rootOf(square)) * 2 ** half * 2 ** (-shift / 2 - half);
}

// Bareiss's elimination, without fractions, to a reduced form: rows with a pivot, their columns, and
// the common pivot value.
function reduced(matrix) {
  const A = matrix.map((row) => [...row]);
  const columns = [];
  let last = 1n;
  for (let j = 0; A.length && j < A[0].length && columns.length < A.length; j += 1) {
    const r = columns.length;
    const pivot = A.findIndex((row, i) => i >= r && row[j]);
    if (pivot < 0) continue;
    [A[r], A[pivot]] = [A[pivot], A[r]];
    for (let i = 0; i < A.length; i += 1) {
      if (i === r) continue;
      const factor = A[i][j];
      for (let c = 0; c < A[i].length; c += 1) A[i][c] = (A[r][j] * A[i][c] - factor * A[r][c]) / last;
    }
    last = A[r][j];
    columns.push(j);
  }
  return { rows: A.slice(0, columns.length), columns, value: last };
}

// The solution of a regular system, as numerators and a common denominator above 0; null if singular.
export function solveExact(matrix, right) {
  if (!matrix.length) return { numerators: [], denominator: 1n };
  const { rows, columns, value } = reduced(matrix.map((row, i) => [...row, right[i]]));
  if (columns.length < matrix.length || columns.at(-1) === matrix.length) return null;
  const sign = value < 0n ? -1n : 1n;
  return { numerators: rows.map((row) => sign * row.at(-1)), denominator: sign * value };
}

// A basis, in whole numbers, of the vectors that are orthogonal to all of these.
export function orthogonal(vectors, width) {
  const { rows, columns, value } = reduced(vectors);
  const free = Array.from({ length: width }, (_, j) => j).filter((j) => !columns.includes(j));
  return free.map((j) => {
    const found = new Array(width).fill(0n);
    found[j] = value;
    rows.forEach((row, r) => { found[columns[r]] = -row[j]; });
    return found;
  });
}
