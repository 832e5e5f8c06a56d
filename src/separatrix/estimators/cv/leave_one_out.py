"""Leave-one-out without n refits: exact for the squared loss, to a few digits for smooth ones.

Both look at the fit to all n rows with the penalty that n - 1 rows would have, that is the sum
of the losses plus ``(n - 1) * l2 * |w|^2``, and remove the influence of one row at a time. For
a smooth loss that is a Newton step, or some. Rows that bend the loss so much that these do not
arrive, few more than there are features, are fitted without in earnest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
import scipy.linalg

from ... import loops
from ...data import ArraySource
from ...losses import Logistic, MarginLoss
from ...numeric.linear_systems import cholesky_solver
from ...numeric.rows import shape_of, slice_rows, to_dense
from ...numeric.threads import one_blas_thread
from ...numeric.tolerances import EPS
from ...numeric.types import AnyArray, Array, Ints
from ...objective import Objective
from ...solvers.least_squares import QR_ROWS, targets

WHOLE = 5_000_000  # values of all rows up to which they are factored in one piece
LARGEST = 1e307  # penalty: beyond, nothing but it counts
RIGHT = 1e-4  # how far the score of a row left out may be off
BELIEVED = 1e-3  # second derivatives may be so much smaller than where they were computed
SHORT = 0.5  # change of scores by a step that is bounded
LEAST_LEFT = 1e-6
MOST_STEPS = 30
FALLS = 0.5  # steps that shrink less are left
CHECKED = 10  # rows left out in earnest to check the others

Fit = Callable[[Objective, Array], Array]
"""The minimum of an objective, from a start."""


def _source(objective: Objective) -> ArraySource:
    source = objective.source
    if not isinstance(source, ArraySource):
        raise TypeError("leave-one-out needs rows in memory; use cv=5")
    if source.weight is not None and np.ptp(source.weight) > 0.0:
        raise ValueError(
            "cv='loo' leaves out one row at a time and takes no weights: drop sample_weight and "
            "class_weight, or use cv=5"
        )
    return source


def squared_scores(objective: Objective, l2s: Array) -> Array:
    """Scores of every row by the least-squares fit without it: (len(l2s), n, k), exactly.

    With the matrix M that takes y to the residuals of the ridge fit at the penalty of n - 1
    rows, the residual of a row left out is ``(M y)_i / M_ii``. One factorisation serves all l2.
    """
    source, k = _source(objective), objective.shape[0]
    n, d = shape_of(source.X)
    mean = objective.moments.mean if objective.intercept else np.zeros(d)
    (block,) = source.blocks()
    Y = targets(block, k)
    R = Y - Y.mean(axis=0) if objective.intercept else Y
    # A penalty that is lost in the rounding of X'X needs the rows themselves.
    around = objective.moments.deviation if objective.intercept else np.hypot(*objective.moments)
    lost = np.min(l2s) <= EPS * d * float(np.sum(around**2))
    with one_blas_thread(float(n) * d * min(n, d)):
        if n * d <= WHOLE or lost:
            left = _by_singular_values(source, mean, R, l2s, objective.intercept)
        else:
            left = _by_products(source, mean, R, l2s, objective.intercept)
    return Y - left


def _centred(source: ArraySource, mean: Array, at: slice) -> Array:
    x: Array = to_dense(slice_rows(source.X, at.start, at.stop)) - mean
    return x


def _by_singular_values(
    source: ArraySource, mean: Array, R: Array, l2s: Array, intercept: bool
) -> Array:
    """Residuals of the rows left out, (len(l2s), n, k), without squaring the condition.

    M is what the columns of U leave of the space, plus mu / (s^2 + mu) of each of them: no
    difference of nearly equal numbers, however small the penalty.
    """
    n = len(R)
    U, s, _ = scipy.linalg.svd(_centred(source, mean, slice(0, n)), full_matrices=False)
    kept = s > EPS * max(n, len(mean)) * s[0] if len(s) else np.zeros(0, bool)
    U, squares = U[:, kept], s[kept] ** 2
    within = U.T @ R
    outside = R - U @ within
    leverage = np.sum(U * U, axis=1) + (1.0 / n if intercept else 0.0)
    free = 1.0 - leverage
    if U.shape[1] + intercept >= n:  # U and the mean fill the space: nothing is left of it
        outside, free = np.zeros_like(outside), np.zeros(n)
    left = np.empty((len(l2s), *R.shape))
    with np.errstate(over="ignore"):
        stiffness = np.minimum((n - 1) * l2s, LARGEST)
    for j, mu in enumerate(stiffness):
        share = mu / (squares + mu)
        residual = outside + U @ (share[:, None] * within)
        left[j] = residual / (free + (U * U) @ share)[:, None]
    return left


def _by_products(source: ArraySource, mean: Array, R: Array, l2s: Array, intercept: bool) -> Array:
    """The same for many rows, from X'X, a few rows at a time."""
    n, d = shape_of(source.X)
    pieces = [slice(start, min(start + QR_ROWS, n)) for start in range(0, n, QR_ROWS)]
    inner, product = np.zeros((d, d)), np.zeros((d, R.shape[1]))
    for at in pieces:
        x = _centred(source, mean, at)
        inner += x.T @ x
        product += x.T @ R[at]
    squares, V = scipy.linalg.eigh(inner)
    left = np.empty((len(l2s), *R.shape))
    for at in pieces:
        z = _centred(source, mean, at) @ V
        for j, mu in enumerate((n - 1) * l2s):
            shrunk = 1.0 / (np.maximum(squares, 0.0) + mu)
            residual = R[at] - z @ (shrunk[:, None] * (V.T @ product))
            free = 1.0 - (1.0 / n if intercept else 0.0) - (z * z) @ shrunk
            left[j, at] = residual / free[:, None]
    return left


def check_smooth(objective: Objective) -> None:
    """Refuse what one Newton step does not leave out."""
    source, loss = _source(objective), objective.loss
    if not isinstance(loss, MarginLoss) or not loss.has_curvature or not loss.convex:
        raise ValueError(
            f"cv='loo' knows the squared loss and, for two classes, smooth convex ones; "
            f"{loss.name!r} "
            f"with {len(source.classes)} classes is neither: use cv=5"
        )


def smooth_scores(
    objective: Objective, l2s: Array, together: Fit, alone: Fit
) -> tuple[Array, list[Array]]:
    """Scores of every row by the fit without it, (len(l2s), n), two classes; and fits to all.

    From the fit to all rows (by ``together``) by Newton steps, where these arrive at the minimum
    without the row; else by a fit of its own (``alone``), from where it ended for the l2 before.
    Each score is right to ``RIGHT``.
    """
    source, found, fits = _source(objective), [], []
    n, W = source.n_rows, np.zeros(objective.shape)
    ended: dict[int, Array] = {}
    for l2 in l2s.tolist():
        all_rows = objective.with_penalty(l2 * (n - 1) / n)
        W = together(all_rows, W)
        scores, arrived = removed(all_rows, W)
        for row in np.flatnonzero(~arrived).tolist():
            rest = without(objective, row).with_penalty(l2)
            ended[row] = alone(rest, ended.get(row, W))
            scores[row] = _score_of(source, row, ended[row])
        found.append(scores)
        fits.append(W)
    return np.array(found), fits


def without(objective: Objective, row: int) -> Objective:
    """The same on all rows but one."""
    source = _source(objective)
    kept = np.ones(len(source.y))
    kept[row] = 0.0
    rest = ArraySource(source.X, source.y, source.classes, kept, source.n_jobs)
    return replace(objective, source=rest)


def _score_of(source: ArraySource, row: int, W: Array) -> float:
    return float(loops.scores(slice_rows(source.X, row, row + 1), W)[0, 0])


def removed(objective: Objective, W: Array) -> tuple[Array, AnyArray]:
    """Scores of every row by the fit without it, (n,), and whether they are right to ``RIGHT``.

    One Newton step from W, about the minimum (at the penalty of n - 1 rows), with the row
    removed: ``s - slope * y * h / (1 - curvature * h)``, h the row's leverage in the inverse
    second derivative (approximate leave-one-out). Where that is not known to be enough, more of
    them, each with the gradient where the one before ended.
    """
    check_smooth(objective)
    n, d = shape_of(_source(objective).X)
    with one_blas_thread(float(min(n, QR_ROWS)) * d * max(d, min(n, QR_ROWS))):
        fit = _Removal(objective, W)
        scores, arrived = fit.by_one_step()
        rest = np.flatnonzero(~arrived & fit.steady)
        for start in range(0, len(rest), QR_ROWS):
            rows = rest[start : start + QR_ROWS]
            scores[rows], arrived[rows] = fit.by_steps(rows)
    return scores, arrived


class _Removal:
    """A fit to all rows, and what it takes to remove one: sums over rows in standardised variables.

    H is the second derivative of all rows and the penalty. Without row i it is H less a product
    ``bend * z z'``, so that its inverse is known from that of H (Sherman and Morrison).
    """

    def __init__(self, objective: Objective, W: Array) -> None:
        self.objective, self.source, self.standardization = (
            objective,
            objective.in_memory,
            objective.standardization,
        )
        self.n, d = shape_of(self.source.X)
        y, self.loss = self.source.y, cast(MarginLoss, objective.loss)
        self.scores = loops.scores(self.source.X, W)[:, 0]
        self.slope = self.loss.slope(y * self.scores) * y
        self.bend = self.loss.curvature(y * self.scores)
        self.u = self.standardization.from_weights(W)[0]
        self.stiffness = (
            self.n * objective.penalty.diagonal((1, d + 1))[0] / self.standardization.scale**2
        )
        hessian = self.n * objective.class_hessian(W, self.standardization)
        inverse = cholesky_solver(hessian)
        self.inverse = np.column_stack([inverse(column) for column in np.eye(d + 1)])
        gradient = self.stiffness * self.u
        for at, z in self._rows():
            gradient += self.slope[at] @ z
        self.gradient = gradient
        whole = self.inverse @ gradient
        self.leverage, self.along = np.empty(self.n), np.empty(self.n)
        for at, z in self._rows():
            self.leverage[at] = np.sum((z @ self.inverse) * z, axis=1)
            self.along[at] = z @ whole
        self.square = max(float(gradient @ whole), 0.0)
        # What a row's own bend leaves of the space along it: below, rounding is all there is.
        self.left = 1.0 - self.bend * self.leverage
        self.steady = self.left > LEAST_LEFT

    def _rows(self) -> Iterator[tuple[slice, Array]]:
        """A few rows at a time in standardised variables."""
        for start in range(0, self.n, QR_ROWS):
            at = slice(start, min(start + QR_ROWS, self.n))
            z = self.standardization.rows(slice_rows(self.source.X, at.start, at.stop))
            z[:, -1] *= self.objective.intercept
            yield at, z

    def by_one_step(self) -> tuple[Array, AnyArray]:
        """Scores after it, and where it is known to be enough.

        The third derivative of the logistic loss is no larger than the second: where no score
        changes by more than r on the way, a step leaves (e^r - 1 - r) / r of the gradient.
        """
        left = np.where(self.steady, self.left, 1.0)
        change = self.along - self.slope * self.leverage
        size = np.sqrt(np.maximum(
            self.square - self.slope * (self.along + change) + self.bend * change**2 / left, 0.0
        ))  # fmt: skip
        scores = self.scores - change / left
        if type(self.loss) is not Logistic:
            return scores, np.zeros(self.n, dtype=bool)
        r = np.sqrt(self.leverage.max() / left) * size
        near = np.clip(r, 1e-8, SHORT)
        error = (
            np.sqrt(self.leverage / left) * size * np.exp(2 * SHORT) * (np.expm1(near) / near - 1)
        )
        return scores, self.steady & (r <= SHORT) & (error <= RIGHT)

    def by_steps(self, rows: Ints) -> tuple[Array, AnyArray]:
        """Scores of some rows after as many as it takes, and whether that was few enough."""
        own = np.concatenate([z[rows[_within(rows, at)] - at.start] for at, z in self._rows()])
        pull, bend, left = own @ self.inverse, self.bend[rows], self.left[rows]
        # How far a score may be off for a step of size 1, if all bends as at the fit to all rows.
        reach = np.sqrt(self.leverage[rows] / left)
        u, arrived = np.tile(self.u, (len(rows), 1)), np.zeros(len(rows), dtype=bool)
        gradient, before = self.gradient - self.slope[rows, None] * own, np.inf
        at = np.arange(len(rows))  # those still on the way
        for _ in range(MOST_STEPS):
            step = gradient @ self.inverse
            step += (bend[at] * np.sum(own[at] * step, axis=1) / left[at])[:, None] * pull[at]
            u[at] -= step
            size = np.sqrt(np.maximum(np.sum(gradient * step, axis=1), 0.0))
            arrived[at] = reach[at] * size <= BELIEVED * RIGHT
            going = ~arrived[at] & (size <= FALLS * before)
            at, before = at[going], size[going]
            if not len(at):
                break
            gradient = self._gradients(rows[at], own[at], u[at])
        return np.sum(own * u, axis=1), arrived

    def _gradients(self, rows: Ints, own: Array, u: Array) -> Array:
        """For each of some rows, of the sum over the others at variables of its own."""
        y, total = self.source.y, self.stiffness * u
        for at, z in self._rows():
            total += _slopes(self.loss, y[at, None], z @ u.T).T @ z
        mine = _slopes(self.loss, y[rows], np.sum(own * u, axis=1))
        result: Array = total - mine[:, None] * own
        return result


def _within(rows: Ints, at: slice) -> AnyArray:
    inside: AnyArray = (rows >= at.start) & (rows < at.stop)
    return inside


def _slopes(loss: MarginLoss, y: AnyArray, scores: Array) -> Array:
    return loss.slope(y * scores) * y


@dataclass(frozen=True)
class LeaveOneOutCheck:
    """Some rows left out in earnest, beside the scores that they were given."""

    rows: Ints
    exact: Array
    approximate: Array

    @property
    def largest_error(self) -> float:
        """Largest difference of scores."""
        return float(np.max(np.abs(self.exact - self.approximate)))


def check(objective: Objective, W: Array, scores: Array, alone: Fit) -> LeaveOneOutCheck:
    """The rows whose scores leaving them out moves most from those of W, by fits of their own."""
    source = _source(objective)
    moved = np.abs(scores - loops.scores(source.X, W)[:, 0])
    rows = np.argsort(-moved, kind="stable")[:CHECKED]
    exact = [_score_of(source, i, alone(without(objective, i), W)) for i in rows.tolist()]
    return LeaveOneOutCheck(rows, np.array(exact), scores[rows])
