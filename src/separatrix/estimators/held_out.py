"""Scores of rows by fits without them, and what they are used for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.optimize

from ..data.offset import check_offset
from ..data.validation import check_rows
from ..losses import Loss
from ..losses.rivals import best_rival
from ..numeric import checks
from ..numeric.types import AnyArray, Array, Ints
from ..rows import host_rows_of

MOST_DOUBLINGS = 1000  # of a bracket for the temperature
CLOSE = 1e-14  # relative error of the inverse temperature


@dataclass(frozen=True, eq=False)
class LeaveOneOutScores:
    """What the fit without each row gives to that row, and how it differs from the fit to all.

    Returned by :func:`leave_one_out`. The exact minimum without row i is what is described: with
    all other rows, their class weights and, with ``standardize``, their deviations.

    Parameters
    ----------
    scores : array (n,), or (n, k) for more than two classes
        Held-out scores: ``decision_function`` of each row by the fit without it.
    error : array (n,) or (n, k)
        Proven bounds: a held-out score is within ``error`` of the score by the exact minimum
        without the row, including rounding. Infinite where nothing is proven.
    method : array (n,) of str
        How the row was left out: "closed form" (least squares, exact up to rounding), "newton"
        (Newton steps), "active set" (linear equations, of hinges), "unchanged" (the row is no
        support vector: the minimum without it is the same) or "refit" (a fit without it).
    coef : array (n, k, d)
        ``coef_`` of the fit without each row; one row of weights for two classes.
    intercept : array (n, k)
        Its ``intercept_``.
    coef_change : array (n, k, d)
        ``coef`` minus ``coef_`` of the fit: the influence of the row on the coefficients.
    intercept_change : array (n, k)
        The same for the intercept.
    score_change : array (n,) or (n, k)
        ``scores`` minus the scores by the fit: the influence of the row on its own score.
    influence : array (n,)
        Root mean square change of the scores of all rows when the row is left out. It measures the
        change of the coefficients in the units of a score.
    labels : array (n,)
        The label of each row.
    weights : array (n,)
        The sample weight of each row. A row of weight 2 is left out as a whole.
    classes : array (k,)
        As ``classes_`` of the fit.
    loss : Loss
        The loss of the fit, for its number of classes.
    uses_offset : bool
        Whether the fit had an offset.

    See Also
    --------
    leave_one_out : computes it.
    diagnose : lists the most influential rows.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from separatrix import LinearClassifier, leave_one_out
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> clf = LinearClassifier(l2=1e-3, standardize=True).fit(X, y)
    >>> held_out = leave_one_out(clf, X, y)
    >>> bool(held_out.error.max() < 1e-4), held_out.most_influential(3).tolist()
    (True, [297, 213, 40])
    """

    scores: Array
    error: Array
    method: AnyArray
    coef: Array = field(repr=False)
    intercept: Array = field(repr=False)
    coef_change: Array = field(repr=False)
    intercept_change: Array = field(repr=False)
    score_change: Array = field(repr=False)
    influence: Array = field(repr=False)
    labels: AnyArray = field(repr=False)
    weights: Array = field(repr=False)
    classes: AnyArray
    loss: Loss
    uses_offset: bool = field(default=False, repr=False)

    @property
    def numbers(self) -> Ints:
        """The index in ``classes`` of the label of each row, (n,)."""
        return np.searchsorted(self.classes, self.labels)

    def most_influential(self, count: int = 10) -> Ints:
        """Numbers of the rows of largest ``influence``, the largest first."""
        count = checks.whole("count", count, least=0)
        rows: Ints = np.argsort(-self.influence, kind="stable")[:count]
        return rows

    @property
    def temperature(self) -> float:
        """The number T with the least mean loss of ``scores / T``, for logistic and softmax.

        Probabilities of ``decision_function(X) / T`` are then calibrated on rows that the fit did
        not see. T > 1 if the fit is too sure of itself. It is infinite if no T is better than equal
        probabilities, and 0 if every held-out score is right. Rows count by their weight.
        """
        if not self.loss.log_likelihood:
            raise ValueError(
                f"a temperature is for loss='logistic', whose scores are logarithms of odds, got "
                f"loss={self.loss.name!r}: use LinearClassifier(..., probability='loo')"
            )
        return fitted_temperature(self.loss, self._encoded, self._columns, self.weights)

    def conformal_sets(
        self, X: Any, *, alpha: float = 0.1, per_class: bool = False, offset: Any = None
    ) -> AnyArray:
        """Sets of labels of new rows that contain the true one with a given probability.

        The jackknife+ for classification: a label y is left out of the set of a row x if
        ``(1 - alpha) (n + 1)`` training rows or more have a larger margin by the fit without them
        than (x, y) has by that same fit. The margin of a label is its score minus the largest other
        one. If the rows of the fit and the new one are exchangeable, the set contains the true
        label with a probability of at least ``1 - 2 alpha``, usually about ``1 - alpha``. That is
        a theorem only for exact held-out scores (``error`` of 0) and for a penalty that was not
        chosen on the same rows.

        Parameters
        ----------
        X : array or sparse matrix (m, d)
            New rows, with the features of ``coef_``.
        alpha : float
            The error rate, above 0 and below 1.
        per_class : bool
            Whether rows are compared with those of their own class alone, so that the guarantee
            holds for the rows of every class. A class needs ``1 / alpha - 1`` rows or more before
            it is left out of any set.
        offset : array, optional
            As in ``decision_function``; needed if the fit had one.

        Returns
        -------
        array (m, k) of bool
            Whether the set of each row has each label, in the order of ``classes``.
        """
        alpha = checks.number("alpha", alpha)
        if not 0.0 < alpha < 1.0:
            raise ValueError(f"alpha must be above 0 and below 1, got {alpha:g}")
        checks.flags(per_class=per_class)
        present = self.weights > 0.0
        if np.ptp(self.weights[present]) > 0.0:
            raise ValueError(
                "conformal sets need exchangeable rows, but the rows of this fit have different "
                "weights: fit without sample_weight (class_weight is allowed)"
            )
        rows = host_rows_of(check_rows(X))
        if rows.shape[1] != self.coef.shape[2]:
            raise ValueError(
                f"X has {rows.shape[1]} features, but the held-out fits have weights for "
                f"{self.coef.shape[2]}"
            )
        added = (
            0.0 if offset is None else check_offset(offset, rows.shape[0], self._columns.shape[1])
        )
        if offset is None and self.uses_offset:
            raise ValueError("the fit had an offset, and its scores are wrong without: pass offset")
        larger = self._larger_margins(rows.as_matrix(), added, np.flatnonzero(present))
        counts = np.bincount(self.numbers[present], minlength=len(self.classes))
        if per_class:
            few: AnyArray = np.einsum("mkk->mk", larger) < (1.0 - alpha) * (counts + 1)
        else:
            few = larger.sum(axis=2) < (1.0 - alpha) * (counts.sum() + 1)
        return few

    @property
    def _columns(self) -> Array:
        return self.scores[:, None] if self.scores.ndim == 1 else self.scores

    @property
    def _encoded(self) -> AnyArray:
        """Labels as the loss takes them."""
        numbers = self.numbers
        return numbers if len(self.classes) > 2 else np.where(numbers > 0, 1.0, -1.0)

    def _larger_margins(self, X: Any, added: Any, present: Ints) -> Ints:
        """For new rows and labels, by class the number of rows with a larger margin, (m, k, k)."""
        k, numbers = len(self.classes), self.numbers[present]
        own = np.take_along_axis(_margins(self._columns[present]), numbers[:, None], axis=1)[:, 0]
        found = np.zeros((X.shape[0], k, k), dtype=np.int64)
        for margin, number, row in zip(own, numbers, present, strict=True):
            scores = X @ self.coef[row].T + self.intercept[row] + added
            found[:, :, number] += margin > _margins(scores)
        return found


def _margins(scores: Array) -> Array:
    """Of each class, its score minus the largest other one, (n, k)."""
    if scores.shape[1] == 1:
        return np.column_stack([-scores, scores])
    n, k = scores.shape
    found = np.empty((n, k))
    for a in range(k):
        own, _, best = best_rival(np.full(n, a), scores)
        found[:, a] = own - best
    return found


def fitted_temperature(loss: Loss, y: AnyArray, scores: Array, weights: Array) -> float:
    """The T with the least weighted mean loss of scores / T; 0 or infinite at the ends."""
    here = weights > 0.0
    y, scores, weights = y[here], scores[here], weights[here]
    if loss.shifts:
        scores = scores - scores.mean(axis=1, keepdims=True)
    unit = float(np.abs(scores).max(initial=0.0))
    if not unit > 0.0:
        return np.inf
    scores = scores / unit

    def slope(inverse: float) -> float:
        return float(np.sum(weights[:, None] * loss.gradient(y, inverse * scores) * scores))

    if slope(0.0) >= 0.0:
        return np.inf
    if not np.any(loss.mistakes(y, scores)):
        return 0.0
    high = 1.0
    for _ in range(MOST_DOUBLINGS):
        if slope(high) > 0.0:
            break
        high *= 2.0
    inverse = scipy.optimize.brentq(slope, 0.0, high, xtol=CLOSE * min(high, 1.0), rtol=CLOSE)
    return unit / float(inverse)
