"""Minima without single rows by fits without them, and rows whose removal changes nothing.

Problem: as in ``newton.py``, for any convex loss whose gap bounds predictions. Output: the weights
without each row, and an interval that contains the score at the exact minimum, from the duality gap
of the fit without the row (``certified``).

A loss that is 0 from some margin on, such as the hinge, often need not be fitted again. The fit
without row i minimises the sum of the other losses plus ``l2 C_i |w|^2``. Let the minimum of all
rows at that penalty, ``l2 C_i / C`` for the mean, have row i strictly beyond the kink. Then the
derivative of the sum does not change without it, so that the minimum is the same: its dual variable
is 0, and it is no support vector. One fit decides this for all rows of equal weight.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...data import InMemory
from ...losses import Loss
from ...losses.one_vs_rest import signs
from ...numeric.types import AnyArray, Array, Ints
from ...penalties import Penalty

CLOSE, MOST_ITERATIONS = 1e-12, 10_000  # tolerance and length of fits without a row
FEW = 2  # rows of equal weight: as many fits decide about them one by one


def fit_alone(model: Any, penalty: Penalty) -> dict[str, Any]:
    """Parameters of a classifier like this one, whose fit proves what its predictions are."""
    return {
        "loss": model.loss, "penalty": penalty, "max_iter": MOST_ITERATIONS, "tol": CLOSE,
        "standardize": model.standardize, "fit_intercept": model.fit_intercept,
        "certify_predictions": True, "class_weight": model.class_weight, "n_jobs": model.n_jobs,
    }  # fmt: skip


@dataclass(frozen=True)
class RowScores:
    """The result of leaving out some rows by fits."""

    rows: Ints
    weights: Array
    """(R, k, d + 1)."""
    low: Array
    high: Array
    """Bounds on the scores, (R, k) both."""
    refit: AnyArray
    """Whether these rows were left out by fits of their own."""


@dataclass(frozen=True)
class Refits:
    """Fits of the same estimator to some rows."""

    new: Callable[[Penalty], Any]
    """An estimator with this penalty that has not been fitted."""
    penalty: Penalty
    loss: Loss
    source: InMemory
    """The rows with their sample weights, without class weights."""
    same_problem: bool
    """Whether leaving out a row leaves the weights of others and the penalty's factors alone."""

    def without(self, rows: Ints, weight: Array) -> Iterator[RowScores]:
        """Leave out each of some rows; ``weight`` has the weights of all rows in the objective."""
        spares = self.loss.spares and self.loss.column_loss is not None
        if not (spares and self.same_problem):
            yield self._each(rows)
            return
        for value in np.unique(weight[rows]):
            alike = rows[weight[rows] == value]
            if len(alike) <= FEW and value > 0.0:
                yield self._each(alike)
                continue
            unchanged = self._unchanged(alike, 1.0 - value / weight.sum())
            yield unchanged
            yield self._each(np.setdiff1d(alike, unchanged.rows))

    def _each(self, rows: Ints) -> RowScores:
        kept = np.ones(len(self.source.y), dtype=bool)
        found = []
        for row in rows.tolist():
            kept[row] = False
            clf = self.fitted(self.penalty, self.source.take(np.flatnonzero(kept)))
            kept[row] = True
            found.append((clf._minimum(), *_interval(clf, self.source.take(np.array([row])))))
        if not found:
            return self._none()
        W, low, high = (np.array(each) for each in zip(*found, strict=True))
        return RowScores(rows, W, low[:, 0], high[:, 0], np.ones(len(rows), dtype=bool))

    def _unchanged(self, rows: Ints, share: float) -> RowScores:
        """Rows that are no support vectors, of some that leave this share of the weights."""
        clf = self.fitted(self.penalty.with_l2(self.penalty.l2 * share), self.source)
        taken = self.source.take(rows)
        low, high = _interval(clf, taken)
        sign = taken.y[:, None] if low.shape[1] == 1 else signs(taken.y, low)
        least = np.nextafter(np.where(sign > 0.0, low, -high), -np.inf)
        column = self.loss.column_loss
        assert column is not None
        idle = np.isfinite(low).all(axis=1) & (column.slope(least) == 0.0).all(axis=1)
        W = np.repeat(clf._minimum()[None], int(idle.sum()), axis=0)
        return RowScores(rows[idle], W, low[idle], high[idle], np.zeros(len(W), dtype=bool))

    def fitted(self, penalty: Penalty, source: InMemory) -> Any:
        with warnings.catch_warnings(action="ignore"):  # the error bound shows what was reached
            return self.new(penalty).fit(source)

    def _none(self) -> RowScores:
        k, d = len(self.source.classes), self.source.n_features
        k = 1 if k == 2 else k
        empty = np.empty((0, k))
        return RowScores(
            np.empty(0, dtype=np.int64), np.empty((0, k, d + 1)), empty, empty, np.empty(0, bool)
        )


def _interval(clf: Any, source: InMemory) -> tuple[Array, Array]:
    """Bounds on the scores of rows, (n, k) both; infinite if there is no proof."""
    found = clf.certified(source)
    n = len(found.labels)
    return found.score_low.reshape(n, -1), found.score_high.reshape(n, -1)
