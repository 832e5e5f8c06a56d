"""Least squares in closed form."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.linalg
from scipy.linalg import lapack
from scipy.sparse.linalg import LinearOperator, lsmr

from .. import loops
from ..data import Block
from ..losses import Columns, Loss, Squared
from ..numeric.rows import CsrRows, slice_rows, to_dense
from ..numeric.threads import one_blas_thread
from ..numeric.tolerances import EPS
from ..numeric.types import Array
from ..objective import Evaluation, Objective
from .base import Solver, State, Step, lowest

ROWS = 1024  # converted to float64 at a time
MOST_FILLED = 5_000_000  # values that sparse rows may become when they are filled in
READS = 3  # of the data, at least: for the means, for the products, and for J
BEHIND, NOTHING = 1e-9, 1e-20  # of J, and J itself, which is of the order of 1: rounding
OUT_OF_STEPS = 7  # LSMR's word for it
# Of the normal equations: a smaller pivot is noise; the last step, as a share of the first; and
# how many there may be.
SINGULAR, REFINED, MOST_STEPS = 1e-6, 1e-12, 4


@dataclass(frozen=True, repr=False)
class LeastSquares(Solver):
    """The minimum of the squared loss, of smallest |w| where there are several.

    From the products of the features where these tell it to the last digits, which a step of
    refinement shows. Else centred rows are reduced to a triangle by orthogonal factorisations, a
    block at a time, and the triangle by its singular values: right where the matrix is rank
    deficient or n < d. Where
    both n and d exceed ``direct_size``, or sparse rows would fill too much memory, LSMR on the
    centred rows, which stay as they are; every step then goes on until it says it has arrived.
    """

    direct_size: int = 3000

    def check(self, objective: Objective) -> None:
        """Only the squared loss."""
        if not is_squared(objective.loss):
            raise ValueError(
                f"LeastSquares solves loss='squared' only, not {objective.loss.name!r}; use "
                "LBFGS() or Newton()"
            )

    def steps(
        self, objective: Objective, W: Array, rng: np.random.Generator, state: State | None = None
    ) -> Iterator[Step]:
        """The minimum, again and again; or on the way to it.

        Where rounding, at scales that floating point does not hold, leaves more than the start
        or zeros, these are told, and not as solved.
        """
        direct = self._direct(objective)
        start = W
        while True:
            if state is None or not (state["solved"] or state["lost"]):
                n, d = objective.source.n_rows, objective.source.n_features
                found = normal_equations(objective) if direct and d < n else None
                if found is not None:
                    W, at, solved = *found, True
                elif direct:
                    with one_blas_thread(min(n, ROWS + 2 * d) * d * d):
                        W, solved = qr_svd(objective), True
                    at = objective.value_and_gradient(W)
                else:
                    W, solved = by_lsmr(objective, None if state is None else state["weights"])
                    at = objective.value_and_gradient(W)
                least = lowest(objective, start)
                lost = not at.value <= (1.0 + BEHIND) * least.objective + NOTHING
                if lost:
                    W, at = least.weights, objective.value_and_gradient(least.weights)
                state = {"weights": W, "solved": solved and not lost, "lost": lost, **at._asdict()}
            yield Step(
                state["weights"], state, state["value"], state["mistakes"],
                solved=state["solved"], gradient=state["gradient"], reads=READS,
            )  # fmt: skip

    def _direct(self, objective: Objective) -> bool:
        n, d = objective.source.n_rows, objective.source.n_features
        sparse = isinstance(getattr(objective.source, "X", None), CsrRows)
        filled = min(n, ROWS + 2 * d) * d
        return min(n, d) <= self.direct_size and not (sparse and filled > MOST_FILLED)


def is_squared(loss: Loss) -> bool:
    """Whether a loss is the squared one, for two classes or more."""
    return type(loss.binary if isinstance(loss, Columns) else loss) is Squared


def targets(block: Block, k: int) -> Array:
    """-1 and +1, one column for two classes, else one per class: (n, k)."""
    if k == 1:
        return np.asarray(block.y)[:, None]
    return np.where(block.y[:, None] == np.arange(k), 1.0, -1.0)


def _centre(objective: Objective) -> tuple[Array, Array]:
    """Weighted means of x (d,) and of the targets (k,); zeros without an intercept."""
    source, k = objective.source, objective.shape[0]
    if not objective.intercept:
        return np.zeros(source.n_features), np.zeros(k)
    total = np.zeros(k)
    for block in objective.source.blocks():
        y = targets(block, k)
        total += y.sum(axis=0) if block.weight is None else block.weight @ y
    return objective.moments.mean, total / source.weight_sum


def _with_bias(w: Array, mean: Array, target: Array) -> Array:
    """Weights (k, d + 1) from w (d, k) of the centred problem."""
    return np.ascontiguousarray(np.column_stack([w.T, target - mean @ w]))


def normal_equations(objective: Objective) -> tuple[Array, Evaluation] | None:
    """Minimise by the normal equations, and J there; None where they leave an error.

    Their error is the square of that of an orthogonal factorisation, and each Newton step with
    the gradient at the solution takes as much off it again: one that hardly moves it is proof
    that nothing is left.
    """
    standardization, W, at = (
        objective.standardization,
        np.zeros(objective.shape),
        objective.at_zeros(),
    )
    hessian = objective.class_hessian(W, standardization)
    if not np.diag(hessian).min() > 0.0:  # a constant feature, and no penalty
        return None
    scale = 1.0 / np.sqrt(np.diag(hessian))
    with one_blas_thread(len(hessian) ** 3):
        R, failed = lapack.dpotrf(hessian * scale * scale[:, None])
    if failed or np.diag(R).min() < SINGULAR:
        return None
    whole = 0.0
    for _ in range(MOST_STEPS):
        g = standardization.gradient(at.gradient)
        u = -np.array([scale * lapack.dpotrs(R, scale * each)[0] for each in g])
        size = float(-np.vdot(g, u))
        whole = max(whole, size)
        if size <= REFINED**2 * whole:
            return W, at
        W = W + standardization.to_weights(u)
        at = objective.value_and_gradient(W)
    return None


def qr_svd(objective: Objective) -> Array:
    """Minimise over a triangle R with R'R = X'CX, built up block by block."""
    mean, target = _centre(objective)
    d, k = objective.source.n_features, objective.shape[0]
    triangle = np.empty((0, d + k))
    for block in objective.source.blocks():
        n = len(block.y)
        weight = np.ones(n) if block.weight is None else block.weight
        y = targets(block, k)
        for start in range(0, n, ROWS):
            at = slice(start, min(start + ROWS, n))
            root = np.sqrt(weight[at] / objective.source.weight_sum)
            x = np.empty((len(root), d + k))
            x[:, :d] = to_dense(slice_rows(block.X, at.start, at.stop)) - mean
            x[:, d:] = y[at] - target
            triangle = np.concatenate([triangle, x * root[:, None]])
            if len(triangle) > 2 * (d + k):
                triangle = scipy.linalg.qr(
                    triangle, mode="r", overwrite_a=True, check_finite=False
                )[0][: d + k]
    w = ridge(triangle[:, :d], triangle[:, d:], objective.penalty.l2)
    return _with_bias(w, mean, target)


def ridge(A: Array, B: Array, l2: float) -> Array:
    """The w that minimises |A w - B|^2 + l2 |w|^2, the shortest one for l2 = 0."""
    U, s, Vt = scipy.linalg.svd(A, full_matrices=False, check_finite=False)
    cut = EPS * max(A.shape) * (s[0] if len(s) else 0.0)
    keep = s > cut
    shrunk = np.zeros_like(s)
    shrunk[keep] = s[keep] / (s[keep] ** 2 + l2)
    w: Array = Vt.T @ (shrunk[:, None] * (U.T @ B))
    return w


def by_lsmr(objective: Objective, start: Array | None) -> tuple[Array, bool]:
    """LSMR (Fong and Saunders, 2011) on the centred rows, which are never formed.

    With a penalty the minimum is unique, and features are scaled to converge sooner; without,
    scaling would change which of several minima is the shortest.
    """
    mean, target = _centre(objective)
    source, k = objective.source, objective.shape[0]
    d, l2 = source.n_features, objective.penalty.l2
    scale = objective.standardization.scale[:-1] if l2 else np.ones(d)
    blocks = list(objective.source.blocks())
    roots = [
        np.sqrt((np.ones(len(b.y)) if b.weight is None else b.weight) / source.weight_sum)
        for b in blocks
    ]
    n = sum(map(len, roots))

    def product(u: Array) -> Array:
        w = u.ravel() / scale
        W = np.append(w, -(w @ mean))[None]
        parts = [loops.scores(b.X, W)[:, 0] * r for b, r in zip(blocks, roots, strict=True)]
        return np.concatenate([*parts, np.sqrt(l2) * w])

    def transposed(z: Array) -> Array:
        z = z.ravel()
        out = np.zeros((1, d + 1))
        start = 0
        for b, r in zip(blocks, roots, strict=True):
            loops.transpose_product(b.X, (z[start : start + len(r)] * r)[:, None], out)
            start += len(r)
        product: Array = (out[0, :-1] - out[0, -1] * mean + np.sqrt(l2) * z[n:]) / scale
        return product

    Y = np.concatenate(
        [r[:, None] * (targets(b, k) - target) for b, r in zip(blocks, roots, strict=True)]
    )
    A = LinearOperator((n + d, d), matvec=product, rmatvec=transposed)
    columns, arrived = [], True
    for c in range(k):
        first = None if start is None else scale * start[c, :-1]
        right = np.append(Y[:, c], np.zeros(d))
        u, reason, *_ = lsmr(A, right, atol=1e-15, btol=1e-15, conlim=0, maxiter=4 * d, x0=first)
        columns.append(u / scale)
        arrived = arrived and reason != OUT_OF_STEPS
    return _with_bias(np.column_stack(columns), mean, target), arrived
