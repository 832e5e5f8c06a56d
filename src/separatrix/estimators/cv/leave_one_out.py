"""Leave-one-out scores for a smooth loss, to a few digits and without n fits.

Problem: for every l2 and every row i, the score of row i by the minimum over the other n - 1 rows
of the mean loss plus ``l2 |w|^2``. Input: an objective of two classes with rows of equal weight in
memory, the values of l2, and two ways to fit. Output: these scores, (len(l2s), n), each with an
error of at most 1e-4, and the fits to all rows. Algorithm: one or several Newton steps with one row
removed, from the fit to all n rows with the penalty that n - 1 rows would have, that is the sum of
the losses plus ``(n - 1) * l2 * |w|^2``. Rows whose curvature is so large that these steps do not
converge, not many more than there are features, are removed by fits without them.

Beirami, Razaviyayn, Shahrampour and Tarokh, On optimal generalizability in parametric learning,
2017. Rad and Maleki, A scalable estimate of the out-of-sample prediction error via approximate
leave-one-out cross-validation, 2020.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from ...data import InMemory
from ...losses import MarginLoss
from ...numeric.linear_systems import inverse
from ...numeric.threads import one_blas_thread
from ...numeric.types import AnyArray, Array, Ints
from ...objective import Objective
from ...penalties import L2
from ...solvers.least_squares import is_squared
from ...solvers.least_squares_sums import QR_ROWS
from ...training.stopping import Stop
from .press import press_scores
from .row_space import RowSpace, check_room, is_wide
from .sums import row_scores

SCORE_ERROR = 1e-4  # maximum error of the score of a held-out row
SHRINKAGE = 1e-3  # relative decrease of second derivatives that is allowed for
SELF_CONCORDANT_STEP = 0.5  # largest change of scores for which a step is bounded
MIN_REMAINDER = 1e-6  # of a row's curvature after it is removed: below is rounding
MOST_NEWTON_STEPS = 30  # for the score of a row without that row
MIN_CONTRACTION = 0.5  # steps that converge more slowly are given up
CHECKED_ROWS = 10  # rows removed by fits, to check the others

Fit = Callable[[Objective, Array], Array]
"""Computes the minimum of an objective from a start."""


def check_arguments(
    cv: str, scoring: Any, objective: Objective, standardize: bool, stop: Stop | None
) -> None:
    """Refuse arguments for which leaving one row out is not supported, or takes too much memory."""
    if cv != "loo":
        raise ValueError(
            f"cv must be a whole number, a splitter, an iterable of splits or 'loo', got {cv!r}"
        )
    if objective.source.labels is not None:
        raise ValueError(
            "cv='loo' scores rows of classes that exclude each other, and here rows have several "
            "labels each: use cv=5 or cv=10"
        )
    if scoring not in (None, "accuracy", "loss"):
        raise ValueError(
            f"cv='loo' scores one row at a time: scoring must be None or 'accuracy', or "
            f"'loss', got {scoring!r}; use cv=5 with other scores"
        )
    if stop is not None:
        raise ValueError(
            "cv='loo' removes rows from the minimum of all rows, but stop ends fits before it: use "
            "cv=5, or set stop=None"
        )
    if standardize:
        raise ValueError(
            "cv='loo' removes rows from one fit to all, but standardize=True scales every fold by "
            "its own rows: use cv=5, or scale the rows before (e.g. with sklearn's "
            "StandardScaler) and set standardize=False"
        )
    if not is_squared(objective.loss):
        check_smooth(objective)
    check_room(objective)


def equal_rows(objective: Objective) -> InMemory:
    """Rows in memory of equal weight, or an error with a remedy."""
    source = objective.in_memory
    if source.weight is not None and np.ptp(source.weight) > 0.0:
        raise ValueError(
            f"cv='loo' with loss={objective.loss.name!r} needs rows of equal weight: drop "
            "sample_weight and class_weight, or use loss='squared' or cv=5"
        )
    return source


def check_smooth(objective: Objective) -> None:
    """Refuse losses for which Newton steps cannot remove a row."""
    source, loss = equal_rows(objective), objective.loss
    if objective.shape[0] > 1 or not loss.has_curvature or not loss.convex:
        raise ValueError(
            f"cv='loo' supports the squared loss and, for two classes, smooth convex losses; "
            f"{loss.name!r} "
            f"with {len(source.classes)} classes is neither: use cv=5"
        )


def scores(
    objective: Objective, l2s: Array, scoring: Any, together: Fit, alone: Fit
) -> tuple[Array, LeaveOneOutCheck | None]:
    """Whether every row is correct, or minus its loss, by the fit without it: (n, len(l2s)).

    And, for approximate scores, a check with some rows; NaN is the score of rows of weight 0.
    """
    checked = None
    if is_squared(objective.loss):
        left_out = press_scores(objective, l2s)
    else:
        left_out, checked = _by_removal(objective, l2s, scoring, together, alone)
    source = objective.in_memory
    each = np.swapaxes(left_out, 1, 2)
    found = row_scores(scoring, objective.loss, source.y, each).T.astype(np.float64)
    if source.weight is not None:  # rows of weight 0 are ignored
        found[source.weight == 0.0] = np.nan
    return found, checked


def _by_removal(
    objective: Objective, l2s: Array, scoring: Any, together: Fit, alone: Fit
) -> tuple[Array, LeaveOneOutCheck]:
    """Scores (len(l2s), n, 1) by Newton steps, and a check at the l2 with the best score."""
    if is_wide(objective):
        objective = RowSpace.of(objective, float(l2s[-1])).objective
    found, fits = smooth_scores(objective, l2s, together, alone)
    y = objective.in_memory.y
    best = int(np.argmax(row_scores(scoring, objective.loss, y, found[:, None]).mean(axis=1)))
    chosen = objective.with_penalty(L2(float(l2s[best])))
    return found[:, :, None], check(chosen, fits[best], found[best], alone)


def smooth_scores(
    objective: Objective, l2s: Array, together: Fit, alone: Fit
) -> tuple[Array, list[Array]]:
    """Scores of every row by the fit without it, (len(l2s), n), two classes; and fits to all.

    Newton steps start from the fit to all rows (by ``together``); if they do not reach the minimum
    without the row, a separate fit (``alone``) starts from its result for the previous l2. Each
    score has an error of at most ``SCORE_ERROR``.
    """
    source, found, fits = equal_rows(objective), [], []
    n, W = source.n_rows, np.zeros(objective.shape)
    ended: dict[int, Array] = {}
    for l2 in l2s.tolist():
        all_rows = objective.with_penalty(L2(l2 * (n - 1) / n))
        W = together(all_rows, W)
        scores, arrived = removed(all_rows, W)
        for row in np.flatnonzero(~arrived).tolist():
            rest = without(objective, row).with_penalty(L2(l2))
            ended[row] = alone(rest, ended.get(row, W))
            scores[row] = _score_of(source, row, ended[row])
        found.append(scores)
        fits.append(W)
    return np.array(found), fits


def without(objective: Objective, row: int) -> Objective:
    """The same objective without one row."""
    source = equal_rows(objective)
    kept = np.ones(len(source.y))
    kept[row] = 0.0
    rest = source.with_weight(kept)
    return replace(objective, source=rest)


def _score_of(source: InMemory, row: int, W: Array) -> float:
    return float(source.take(np.array([row])).scores(W)[0, 0])


def removed(objective: Objective, W: Array) -> tuple[Array, AnyArray]:
    """Scores of every row by the fit without it, (n,), and whether they are accurate enough.

    One Newton step from W, close to the minimum (at the penalty of n - 1 rows), with the row
    removed: ``s + slope * y * h / (1 - curvature * h)``, h the row's leverage in the inverse second
    derivative (approximate leave-one-out). If that is not known to be sufficient, more steps
    follow, each with the gradient at the end of the previous one.
    """
    check_smooth(objective)
    source = equal_rows(objective)
    n, d = len(source.y), source.n_features
    with one_blas_thread(float(min(n, QR_ROWS)) * d * max(d, min(n, QR_ROWS))):
        fit = _Removal(objective, W)
        scores, arrived = fit.by_one_step()
        rest = np.flatnonzero(~arrived & fit.steady)
        for start in range(0, len(rest), QR_ROWS):
            rows = rest[start : start + QR_ROWS]
            scores[rows], arrived[rows] = fit.by_steps(rows)
    return scores, arrived


class _Removal:
    """Removes single rows from a fit to all rows, in standardised variables.

    H is the second derivative of all rows and the penalty. Without row i it is H minus ``curvature
    * z z'``, so its inverse follows from that of H (Sherman and Morrison).
    """

    def __init__(self, objective: Objective, W: Array) -> None:
        self.objective, self.source, self.standardization = (
            objective,
            objective.in_memory,
            objective.standardization,
        )
        self.n, d = len(self.source.y), self.source.n_features
        y, self.loss = self.source.y, cast(MarginLoss, objective.loss)
        self.scores = self.source.scores(W)[:, 0]
        self.offset = self.source.scores(np.zeros_like(W))[:, 0]
        self.slope = self.loss.slope(y * self.scores) * y
        self.curvature = self.loss.curvature(y * self.scores)
        self.u = self.standardization.from_weights(W)[0]
        self.stiffness = (
            self.n * objective.penalty.diagonal((1, d + 1))[0] / self.standardization.scale**2
        )
        hessian = self.n * objective.class_hessian(W, self.standardization)
        self.inverse = inverse(hessian)
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
        # The share of the space that a row's own curvature leaves along it: below this is rounding.
        self.left = 1.0 - self.curvature * self.leverage
        self.steady = self.left > MIN_REMAINDER

    def _rows(self) -> Iterator[tuple[slice, Array]]:
        """A few rows at a time in standardised variables."""
        for block in self.source.batches(QR_ROWS):
            z = block.rows.standardized(self.standardization)
            z[:, -1] *= self.objective.intercept
            yield block.at, z

    def by_one_step(self) -> tuple[Array, AnyArray]:
        """Scores after one step, and where it is known to be sufficient.

        The third derivative of the logistic loss does not exceed the second: if no score changes by
        more than r during the step, it leaves (e^r - 1 - r) / r of the gradient.
        """
        left = np.where(self.steady, self.left, 1.0)
        change = self.along - self.slope * self.leverage
        pulled, curved = self.slope * (self.along + change), self.curvature * change**2 / left
        size = np.sqrt(np.maximum(self.square - pulled + curved, 0.0))
        scores = self.scores - change / left
        if not self.loss.log_likelihood:
            return scores, np.zeros(self.n, dtype=bool)
        r = np.sqrt(self.leverage.max() / left) * size
        near = np.clip(r, 1e-8, SELF_CONCORDANT_STEP)
        most = np.sqrt(self.leverage / left) * size * np.exp(2 * SELF_CONCORDANT_STEP)
        error = most * (np.expm1(near) / near - 1)
        return scores, self.steady & (r <= SELF_CONCORDANT_STEP) & (error <= SCORE_ERROR)

    def by_steps(self, rows: Ints) -> tuple[Array, AnyArray]:
        """Scores of some rows after as many steps as needed, and whether these were few enough."""
        own = np.concatenate([z[rows[_within(rows, at)] - at.start] for at, z in self._rows()])
        pull, curvature, left = own @ self.inverse, self.curvature[rows], self.left[rows]
        # Error of a score for a step of size 1, with the curvatures at the fit.
        reach = np.sqrt(self.leverage[rows] / left)
        u, arrived = np.tile(self.u, (len(rows), 1)), np.zeros(len(rows), dtype=bool)
        gradient, before = self.gradient - self.slope[rows, None] * own, np.inf
        at = np.arange(len(rows))  # rows that have not converged
        for _ in range(MOST_NEWTON_STEPS):
            step = gradient @ self.inverse
            step += (curvature[at] * np.sum(own[at] * step, axis=1) / left[at])[:, None] * pull[at]
            u[at] -= step
            size = np.sqrt(np.maximum(np.sum(gradient * step, axis=1), 0.0))
            arrived[at] = reach[at] * size <= SHRINKAGE * SCORE_ERROR
            going = ~arrived[at] & (size <= MIN_CONTRACTION * before)
            at, before = at[going], size[going]
            if not len(at):
                break
            gradient = self._gradients(rows[at], own[at], u[at])
        return np.sum(own * u, axis=1) + self.offset[rows], arrived

    def _gradients(self, rows: Ints, own: Array, u: Array) -> Array:
        """Gradients of the sums over the other rows, for each of some rows at its own variables."""
        y, total = self.source.y, self.stiffness * u
        for at, z in self._rows():
            total += _slopes(self.loss, y[at, None], z @ u.T + self.offset[at, None]).T @ z
        mine = _slopes(self.loss, y[rows], np.sum(own * u, axis=1) + self.offset[rows])
        result: Array = total - mine[:, None] * own
        return result


def _within(rows: Ints, at: slice) -> AnyArray:
    inside: AnyArray = (rows >= at.start) & (rows < at.stop)
    return inside


def _slopes(loss: MarginLoss, y: AnyArray, scores: Array) -> Array:
    return loss.slope(y * scores) * y


@dataclass(frozen=True)
class LeaveOneOutCheck:
    """Scores of some rows by fits without them, next to their approximate scores."""

    rows: Ints
    exact: Array
    approximate: Array

    @property
    def largest_error(self) -> float:
        """Largest difference of scores."""
        return float(np.max(np.abs(self.exact - self.approximate)))


def check(objective: Objective, W: Array, scores: Array, alone: Fit) -> LeaveOneOutCheck:
    """Check the rows whose removal changes their scores most, by fits without them."""
    source = equal_rows(objective)
    moved = np.abs(scores - source.scores(W)[:, 0])
    rows = np.argsort(-moved, kind="stable")[:CHECKED_ROWS]
    exact = [_score_of(source, i, alone(without(objective, i), W)) for i in rows.tolist()]
    return LeaveOneOutCheck(rows, np.array(exact), scores[rows])
