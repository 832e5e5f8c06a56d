"""Coordinate descent on a second-order model, by columns.

Problem     min over w and a free bias of a quadratic in the scores of rows, with absolute values
            and squares of w added to it.
Input       The columns, the slopes and curvatures of the rows, weights to begin with.
Output      Weights where an epoch gains next to nothing.
Algorithm   Epochs over all weights, and between them over those that are not 0, with Anderson's
            extrapolation of every few. Once epochs have cost as much as the products of these
            columns and a system of them would, Newton's steps with the signs fixed.
Paper       Bertrand and Massias, Anderson acceleration of coordinate descent (2021).
"""

from __future__ import annotations

import numpy as np

from .. import loops
from ..numeric.dot import dot
from ..numeric.threads import one_blas_thread
from ..numeric.types import Array, Ints
from ..objective.columns import FeatureColumns
from ..rows import HostRows
from .proximal_newton import minimise_quadratic
from .thresholds import FULL, MOST_FACTORED, MOST_FILLED, PRODUCTS_AN_EPOCH

ENOUGH = 3e-2  # of what a model has gained: an epoch that adds no more is its last
MOST_EPOCHS = 100  # over all weights, and between two of them over those that are not 0
CRAWL = 0.9  # of what the epoch before gained, after a minimum by products: more is rounding
MEMORY = 5  # epochs that are extrapolated
FLAT = 1e-12  # of its trace, added to the matrix of products of their changes


class ModelDescent:
    """Coordinate descent on a model, from weights w where its slopes by the scores are given."""

    def __init__(
        self, model: loops.ColumnModel, columns: FeatureColumns, w: Array, slope: Array
    ) -> None:
        self.model, self.columns, self.w = model, columns, w
        self.start, self.first = w.copy(), slope
        self.slope, self.shift = slope.copy(), self._best_shift(slope)
        self.spent = 0
        """Epochs over weights that are not 0, since their products were last used."""
        self.epochs = 0.0
        """In all, over as many values as all columns have."""

    def _best_shift(self, slope: Array) -> float:
        total = self.model.total
        return -float(slope.sum()) / total if total > 0.0 else 0.0

    def run(self, enough: float, nothing: float) -> None:
        """Until an epoch over all weights gains no more than enough, or next to nothing."""
        gained, enough, before, factored = 0.0, max(enough, nothing), np.inf, False
        for _ in range(MOST_EPOCHS):
            gain = self.epoch(zeros=True)
            self.epochs += 1.0
            gained += gain
            enough = max(enough, ENOUGH * gained)
            if gain <= enough or (factored and gain > CRAWL * before):
                return
            before, factored = gain, self.settle(max(0.1 * enough, nothing))

    def settle(self, enough: float) -> bool:
        """Until an epoch over the weights that are not 0 gains no more than that.

        By their products once epochs have cost as much as these would; whether that was so.
        """
        support = np.flatnonzero((self.w != 0.0) | (self.model.thresholds == 0.0))
        affordable = self.epochs_of_products(support)
        share = self.columns.n_values_of(support) / max(self.columns.rows.n_values, 1)
        points = [self.w.copy()]
        for _ in range(MOST_EPOCHS):
            if self.spent >= affordable:
                self.minimise_on(support)
                self.epochs += share * affordable
                self.spent = 0
                return True
            self.spent += 1
            self.epochs += share
            if self.epoch(zeros=False) <= enough:
                return False
            points.append(self.w.copy())
            if len(points) > MEMORY:
                self.extrapolate(np.array(points))
                points = [self.w.copy()]
        return False

    def epochs_of_products(self, support: Ints) -> float:
        """How many epochs cost as much as the products of these columns, and a system of them."""
        m = len(support)
        if m > MOST_FACTORED:
            return np.inf
        stored = self.columns.n_values_of(support)
        an_epoch = PRODUCTS_AN_EPOCH[not self.columns.dense]
        return MEMORY + (m + m**3 / max(stored, 1)) / an_epoch

    def epoch(self, zeros: bool) -> float:
        """One look at all weights, or at those that are not 0; what it gains, at least."""
        result = self.columns.rows.column_descent(
            self.model, self.w, self.slope, self.shift, zeros=zeros, max_epochs=1, enough=0.0
        )
        self.shift = result.shift
        return result.gain

    def minimise_on(self, support: Ints) -> None:
        """By Newton's steps with signs fixed, and coordinate descent, on products of columns."""
        model, h = self.model, self.model.curvature
        columns, ridge = self.columns.rows.take(support), model.ridge[support]
        slope = columns.scores(np.append(self.slope + self.shift * h, 0.0)[None])[:, 0]
        with one_blas_thread(float(len(support)) ** 2 * len(h)):
            hessian = products(columns, h)
        if model.total > 0.0:
            along = model.products[support]
            hessian -= along[:, None] * (along / model.total)
        np.einsum("ii->i", hessian)[:] += ridge
        w, u = self.w.copy(), self.w[support]
        minimise_quadratic(hessian, model.thresholds[support], u, slope + ridge * u)
        w[support] = u
        self.go_to(w)

    def extrapolate(self, points: Array) -> None:
        """Go to the mean of weights whose changes nearly cancel, if the model is lower there."""
        changes = np.diff(points, axis=0)
        with one_blas_thread(MEMORY * float(changes.size)):
            products = changes @ changes.T
            products[np.diag_indices(MEMORY)] += FLAT * np.trace(products)
            factors = np.linalg.solve(products, np.ones(MEMORY))
            if abs(factors.sum()) > 0.0:
                self.go_to((factors / factors.sum()) @ points[1:])

    def go_to(self, w: Array) -> None:
        before, changed = self._value(self.w, self._changes(self.w)), self._changes(w)
        if self._value(w, changed) < before:
            self.w = w
            self.slope = self.first + self.model.curvature * changed
            self.shift = self._best_shift(self.slope)

    def _changes(self, w: Array) -> Array:
        """Change of the scores since the start, without the bias."""
        return self.columns.scores(w - self.start)

    def _value(self, w: Array, changes: Array) -> float:
        """The model, the bias at its best."""
        h = self.model.curvature
        t = changes + self._best_shift(self.first + h * changes)
        penalty = dot(self.model.thresholds, np.abs(w)) + 0.5 * dot(self.model.ridge * w, w)
        return dot(self.first + 0.5 * h * t, t) + penalty


def products(columns: HostRows, weight: Array) -> Array:
    """Products of all columns with each other, rows weighted: (m, m)."""
    root, size = np.sqrt(weight), len(weight) * columns.shape[0]
    full = FULL * size < columns.n_values and size <= MOST_FILLED
    if full or columns.storage == "dense":
        z = columns.to_dense() * root
        return np.asarray(z @ z.T)
    some = columns.as_scipy().astype(np.float64)
    some.data *= root[some.indices]
    return np.asarray((some @ some.T).toarray())
