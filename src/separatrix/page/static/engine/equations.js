// Linear equations with small symmetric matrices that have no negative eigenvalue.
//
// Jacobi's rotations give eigenvalues and vectors of a matrix with a unit diagonal; eigenvalues that
// are rounding are left out, so that of several solutions the shortest scaled one is returned.
const SWEEPS = 60;
const SINGULAR = 1e-13; // of the largest eigenvalue, per row

function identity(n) {
  return Array.from({ length: n }, (_, i) => Array.from({ length: n }, (_, j) => (i === j ? 1 : 0)));
}

function rotate(A, V, p, q) {
  const angle = (A[q][q] - A[p][p]) / (2 * A[p][q]);
  const t = (angle >= 0 ? 1 : -1) / (Math.abs(angle) + Math.hypot(angle, 1));
  const c = 1 / Math.hypot(t, 1);
  const s = t * c;
  for (let i = 0; i < A.length; i += 1) {
    [A[i][p], A[i][q]] = [c * A[i][p] - s * A[i][q], s * A[i][p] + c * A[i][q]];
  }
  for (let i = 0; i < A.length; i += 1) {
    [A[p][i], A[q][i]] = [c * A[p][i] - s * A[q][i], s * A[p][i] + c * A[q][i]];
    [V[i][p], V[i][q]] = [c * V[i][p] - s * V[i][q], s * V[i][p] + c * V[i][q]];
  }
}

function eigen(matrix) {
  const A = matrix.map((row) => [...row]);
  const V = identity(A.length);
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    let moved = false;
    for (let p = 0; p < A.length; p += 1) {
      for (let q = p + 1; q < A.length; q += 1) {
        if (Math.abs(A[p][q]) <= 1e-300 || Math.abs(A[p][q]) < 1e-17 * Math.sqrt(Math.abs(A[p][p] * A[q][q]))) continue;
        rotate(A, V, p, q);
        moved = true;
      }
    }
    if (!moved) break;
  }
  return { values: A.map((row, i) => row[i]), vectors: V };
}

// Cholesky's factor L with L L' = A; null if a pivot is too small to trust.
function factored(A) {
  const L = A.map((row) => row.map(() => 0));
  for (let i = 0; i < A.length; i += 1) {
    for (let j = 0; j <= i; j += 1) {
      let rest = A[i][j];
      for (let l = 0; l < j; l += 1) rest -= L[i][l] * L[j][l];
      if (i === j && !(rest > 1e-14)) return null;
      L[i][j] = i === j ? Math.sqrt(rest) : rest / L[j][j];
    }
  }
  return L;
}

function bySubstitution(L, right) {
  const u = [...right];
  for (let i = 0; i < u.length; i += 1) {
    for (let j = 0; j < i; j += 1) u[i] -= L[i][j] * u[j];
    u[i] /= L[i][i];
  }
  for (let i = u.length - 1; i >= 0; i -= 1) {
    for (let j = i + 1; j < u.length; j += 1) u[i] -= L[j][i] * u[j];
    u[i] /= L[i][i];
  }
  return u;
}

export function solve(matrix, right) {
  const scale = matrix.map((row, i) => (row[i] > 0 ? 1 / Math.sqrt(row[i]) : 1));
  const A = matrix.map((row, i) => row.map((v, j) => v * scale[i] * scale[j]));
  const b = right.map((v, i) => v * scale[i]);
  const L = factored(A);
  if (L) return bySubstitution(L, b).map((v, i) => v * scale[i]);
  const { values, vectors } = eigen(A);
  const least = SINGULAR * A.length * Math.max(...values);
  const u = new Array(b.length).fill(0);
  values.forEach((value, e) => {
    if (!(value > least)) return;
    let along = 0;
    for (let i = 0; i < b.length; i += 1) along += vectors[i][e] * b[i];
    for (let i = 0; i < b.length; i += 1) u[i] += (along / value) * vectors[i][e];
  });
  return u.map((v, i) => v * scale[i]);
}
