"""Least squares in closed form.

Problem     min over W of sum_i p_i |t_i - w.x_i - b|^2 + l2 |w|^2, p the rows' shares of all
            weight, t = -1 or +1, one column of targets per class if there are more than two.
Input       Rows, targets, l2 >= 0.
Output      The minimum; of several, which l2 = 0 may leave, that of smallest |w|. J there.
Algorithm   Normal equations with refinement, where the last step proves that they leave no error;
            else a triangle R with R'R = X'X by orthogonal factorisations, block by block, and its
            singular values; else, where both n and d are large, conjugate gradients for all
            classes at once, one read per step, until the gap is proven; without a penalty, where
            the shortest of several minima is wanted, LSMR on the centred rows.
Paper       Golub and Van Loan, Matrix Computations (2013), chapters 5 and 11; Fong and Saunders,
            LSMR, SIAM Journal on Scientific Computing 33 (2011).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.linalg
from scipy.linalg import lapack
from scipy.sparse.linalg import LinearOperator, lsmr

from ..losses import Loss, Squared
from ..numeric.dot import dot
from ..numeric.expected import Check, array, entries, flag, real, whole
from ..numeric.threads import one_blas_thread
from ..numeric.tolerances import EPS, SMALLEST_NORMAL
from ..numeric.types import Array
from ..objective import Evaluation, Objective
from .base import Solver, State, Step, lowest
from .least_squares_sums import (
    QR_ROWS,
    RootProduct,
    RootScores,
    RootTargets,
    TriangleSum,
)
from .thresholds import FILLED_VALUES

READS = 3  # of the data, at least: for the means, the products, and J
# For conjugate gradients: the gap at the end of the first round, of J; reads per round, at most.
FIRST_GAP, PRODUCTS = 1e-5, 20
BEHIND, NOTHING = 1e-9, 1e-20  # of J, and J itself, which is of the order of 1: rounding
OUT_OF_STEPS = 7  # return code of LSMR
# Of the normal equations: a smaller pivot is noise; the last step, as a share of the first; and
# how many there may be.
SINGULAR, REFINED, MOST_STEPS = 1e-6, 1e-12, 4


@dataclass(frozen=True, repr=False)
class LeastSquares(Solver):
    """The minimum of the squared loss, with the smallest ``|w|`` if there are several.

    It solves the normal equations if these are accurate to the last digits, as a refinement step
    shows. Otherwise centred rows are reduced to a triangular matrix by orthogonal factorisations,
    block by block, and its singular values are used: valid for rank-deficient data or n < d. If
    both n and d exceed ``direct_size``, or sparse rows would take too much memory, it uses
    conjugate gradients, which only need products with the rows: all classes share each read, and a
    step is as many of them as bring the gap below the next power of ten of J. Without a penalty it
    uses LSMR, until that reports convergence.

    Parameters
    ----------
    direct_size : int
        If rows and features are both more than this, conjugate gradients are used.

    See Also
    --------
    LinearClassifier : ``loss="squared"``.
    losses.Squared : the loss.

    Examples
    --------
    >>> from separatrix import LeastSquares, LinearClassifier
    >>> clf = LinearClassifier("squared", l2=0.0, solver=LeastSquares())
    >>> clf.fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]).coef_.round(6)
    array([[0.8]])
    """

    name = "LeastSquares"
    draws = False

    direct_size: int = 3000

    def check(self, objective: Objective) -> None:
        """Only the squared loss is supported."""
        super().check(objective)
        if not is_squared(objective.loss):
            raise ValueError(
                f"LeastSquares solves loss='squared' only, not {objective.loss.name!r}; use "
                "LBFGS() or Newton()"
            )

    def steps(
        self, objective: Objective, W: Array, rng: np.random.Generator, state: State | None = None
    ) -> Iterator[Step]:
        """Yield the minimum repeatedly, or steps towards it.

        If rounding, at scales beyond floating point, makes it worse than the start or zeros, these
        are yielded instead, and not as solved.
        """
        direct = self._direct(objective)
        if not direct and objective.penalty.l2 > 0.0:
            yield from by_products(objective, W, state)
        start = W
        while True:
            if state is None or not (state["solved"] or state["lost"]):
                n, d = objective.source.n_rows, objective.source.n_features
                found = normal_equations(objective) if direct and d < n else None
                if found is not None:
                    W, at, solved = *found, True
                elif direct:
                    with one_blas_thread(min(n, QR_ROWS + 2 * d) * d * d):
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

    def expected_state(self, objective: Objective) -> Check:
        """A minimum, or the end of a round of products."""
        W, k = array(*objective.shape), objective.shape[0]
        at = {"weights": W, "value": real, "gradient": W, "mistakes": real}
        if not self._direct(objective) and objective.penalty.l2 > 0.0:
            return entries({**at, "direction": W, "size": array(k), "reads": whole()})
        return entries({**at, "solved": flag, "lost": flag})

    def _direct(self, objective: Objective) -> bool:
        n, d = objective.source.n_rows, objective.source.n_features
        sparse = objective.source.storage == "csr"
        filled = min(n, QR_ROWS + 2 * d) * d
        return min(n, d) <= self.direct_size and not (sparse and filled > FILLED_VALUES)


def is_squared(loss: Loss) -> bool:
    """Whether a loss is the squared loss, for two or more classes."""
    # By exact class: the equations are for (1 - m)^2, not for any quadratic.
    return type(loss.column_loss) is Squared and not loss.weighs_columns


def _centre(objective: Objective) -> tuple[Array, Array]:
    """Weighted means of x (d,) and of the targets (k,); zeros without an intercept."""
    source, k = objective.source, objective.shape[0]
    if not objective.intercept:
        return np.zeros(source.n_features), np.zeros(k)
    weight = objective.class_sums[:, -1]  # of every class, or label
    total = weight[1:] - weight[:1] if k == 1 else 2.0 * weight - source.weight_sum
    total = total - objective.offset_sums.total
    return objective.moments.mean, total / source.weight_sum


def _with_bias(w: Array, mean: Array, target: Array) -> Array:
    """Weights (k, d + 1) from w (d, k) of the centred problem."""
    return np.ascontiguousarray(np.column_stack([w.T, target - mean @ w]))


def normal_equations(objective: Objective) -> tuple[Array, Evaluation] | None:
    """Minimise by the normal equations, and return J too; None if they are not accurate.

    Their error is the square of that of an orthogonal factorisation, and each Newton step with
    the gradient at the solution reduces it by as much again: a step that hardly changes the
    solution proves that no error is left.
    """
    standardization = objective.standardization
    W, at = np.zeros(objective.shape), objective.at_zeros()
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
        size = -dot(g, u)
        whole = max(whole, size)
        if size <= REFINED**2 * whole:
            return W, at
        W = W + standardization.to_weights(u)
        at = objective.value_and_gradient(W)
    return None


def qr_svd(objective: Objective) -> Array:
    """Minimise over a triangle R with R'R = X'CX, built up block by block."""
    mean, target = _centre(objective)
    d, source = objective.source.n_features, objective.source
    (triangle,) = source.total(TriangleSum(mean, target, source.weight_sum))
    rows = triangle.rows
    w = ridge(rows[:, :d], rows[:, d:], objective.penalty.l2)
    return _with_bias(w, mean, target)


def ridge(A: Array, B: Array, l2: float) -> Array:
    """The w that minimises |A w - B|^2 + l2 |w|^2, the shortest one for l2 = 0."""
    U, s, Vt = scipy.linalg.svd(A, full_matrices=False, check_finite=False)
    cut = EPS * max(A.shape) * (s[0] if len(s) else 0.0)
    keep = s > cut
    # Under a penalty, a direction that is left out is worth at most s^2 / l2 of J.
    counts = not keep.all() and not cut**2 <= EPS * l2
    if counts and (found := _with_equal_scales(A, B, l2, int(keep.sum()))) is not None:
        return found
    shrunk = np.zeros_like(s)
    kept = s[keep]
    square = kept**2 + l2
    # Without a penalty it is 1 / s, computed so where squares lose digits or underflow.
    lost = (square < SMALLEST_NORMAL) & (l2 == 0.0)
    shrunk[keep] = np.where(lost, 1.0, kept) / np.where(lost, kept, square)
    w: Array = Vt.T @ (shrunk[:, None] * (U.T @ B))
    return w


def _with_equal_scales(A: Array, B: Array, l2: float, rank: int) -> Array | None:
    """The same in variables with columns of equal size; None if the rank is not higher.

    Columns of very different sizes look dependent when they are not. Of several minima it is the
    shortest in these variables.
    """
    size = np.hypot(np.abs(A).max(axis=0, initial=0.0), np.sqrt(l2))
    size = np.where(size > 0.0, size, 1.0)
    if l2 > 0.0:
        A = np.vstack([A, np.sqrt(l2) * np.eye(len(size))])
        B = np.vstack([B, np.zeros((len(size), B.shape[1]))])
    w, _, found, _ = scipy.linalg.lstsq(A / size, B, cond=EPS * max(A.shape), check_finite=False)
    return w / size[:, None] if found > rank else None


def by_products(objective: Objective, W: Array, state: State | None) -> Iterator[Step]:
    """Conjugate gradients (Hestenes and Stiefel, 1952), preconditioned by the diagonal.

    Each class has its own step lengths and directions, and all classes share one read per product.
    Biases are optimal from the start: centred rows do not change them. After every round J and its
    gradient are evaluated at the weights, and the next round starts with that gradient, so that
    rounding errors of the recursion do not accumulate.
    """
    if state is None:
        least = lowest(objective, W).weights
        at = objective.value_and_gradient(least) if least.any() else objective.at_zeros()
        state = {
            "weights": least, **at._asdict(), "direction": np.zeros_like(least),
            "size": np.zeros(len(least)), "reads": 0,
        }  # fmt: skip
    while True:
        with np.errstate(all="ignore"):
            state = _round_of_products(objective, state)
            gap = _gap(objective, _centred_descent(objective, state["gradient"]))
        yield Step(
            state["weights"], state, state["value"], state["mistakes"],
            predicted_decrease=gap, gradient=state["gradient"], reads=state["reads"],
        )  # fmt: skip


def _centred_descent(objective: Objective, gradient: Array) -> Array:
    """Minus the derivative with respect to w, (k, d), with the biases kept optimal."""
    descent: Array = gradient[:, -1:] * objective.standardization.mean - gradient[:, :-1]
    return descent


def _gap(objective: Objective, descent: Array) -> float:
    """Between J and the bound from the tangents there; J has curvature 2 l2 at least."""
    return objective.penalty.conjugate(descent)


def _round_of_products(objective: Objective, state: State) -> State:
    """Products until the gap is below the next power of ten of J."""
    mean, inverse = objective.standardization.mean, objective.standardization.scale[:-1] ** -2.0
    W, V, size = state["weights"].copy(), state["direction"].copy(), state["size"]
    p, r = V[:, :-1], _centred_descent(objective, state["gradient"])
    of_bias = 0.5 * state["gradient"][:, -1]  # J curves by 2 along a bias
    W[:, -1] -= of_bias
    J = state["value"] - float(of_bias @ of_bias)
    enough = min(FIRST_GAP, 10.0 ** np.floor(np.log10(0.5 * _gap(objective, r) / J)))
    for count in range(1, PRODUCTS + 1):  # noqa: B007 (used below)
        z = inverse * r
        before, size = size, np.einsum("cj,cj->c", r, z)
        p *= np.where(before > 0.0, size / before, 0.0)[:, None]
        p += z
        V[:, -1] = -np.einsum("cj,j->c", p, mean)
        image = objective.hessian_product(W, V)
        curvature = np.einsum("cj,cj->c", V, image)
        length = np.where(curvature > 0.0, size / curvature, 0.0)
        W += length[:, None] * V
        r -= length[:, None] * image[:, :-1]
        J -= 0.5 * float(length @ size)
        if _gap(objective, r) <= enough * J:
            break
    at = objective.value_and_gradient(W)
    if at.value <= (1.0 + BEHIND) * state["value"]:
        return {
            "weights": W, **at._asdict(), "direction": V, "size": size, "reads": count + 1,
        }  # fmt: skip
    return state | {"direction": np.zeros_like(V), "size": np.zeros_like(size), "reads": count + 1}


def by_lsmr(objective: Objective, start: Array | None) -> tuple[Array, bool]:
    """LSMR (Fong and Saunders, 2011) on the centred rows, which are never formed.

    Without a penalty, features are not scaled, because that would change which of several minima is
    the shortest.
    """
    mean, target = _centre(objective)
    source, C = objective.source, objective.source.weight_sum
    d, k = source.n_features, objective.shape[0]

    def product(u: Array) -> Array:
        w = u.ravel()
        W = np.append(w, -(w @ mean))[None]
        return np.concatenate(source.total(RootScores(W, C))[0])

    def transposed(z: Array) -> Array:
        (out,) = source.total(RootProduct(z.ravel(), C))
        product: Array = out[0, :-1] - out[0, -1] * mean
        return product

    Y = np.concatenate(source.total(RootTargets(target, C))[0])
    A = LinearOperator((len(Y), d), matvec=product, rmatvec=transposed)
    columns, arrived = [], True
    for c in range(k):
        first = None if start is None else start[c, :-1]
        u, reason, *_ = lsmr(A, Y[:, c], atol=1e-15, btol=1e-15, conlim=0, maxiter=4 * d, x0=first)
        columns.append(u)
        arrived = arrived and reason != OUT_OF_STEPS
    return _with_bias(np.column_stack(columns), mean, target), arrived
