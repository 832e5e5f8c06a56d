"""Leaving out each row of a fit: held-out scores with proven errors, and the row's influence."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any, cast

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ...data import ArraySource, InMemory, Source
from ...data.arrays import as_arrays
from ...data.labels import class_numbers
from ...losses import Loss
from ...numeric import checks
from ...numeric.types import AnyArray, Array
from ...objective import Objective
from ...penalties import Penalty
from ...proofs.provable import provable
from ...proofs.training_scores import why_unbounded
from ..certified import CertifiedModel
from ..held_out import LeaveOneOutScores
from ..sources import labels_of, reweighted
from ..thresholds import LEFT_OUT_VALUES, LEFT_OUT_VARIABLES
from ..weight_constraints import asked_for
from . import active_set, newton
from .problem import HeldOutProblems, held_out_problems
from .refits import Refits

__all__ = ["leave_one_out"]

CHANGED_VALUES = 1 << 22  # changes of scores in memory at a time


def leave_one_out(
    clf: Any,
    X: Any,
    y: Any = None,
    *,
    sample_weight: Any = None,
    offset: Any = None,
    tol: float = 1e-6,
) -> LeaveOneOutScores:
    """Leave out each row of a fit: its held-out score, with a proven error, and its influence.

    What is computed is the minimum of the same objective on all other rows, as if the estimator had
    been fitted again: class weights of "balanced" and the deviations of ``standardize`` are those
    of the other rows. Rows are left out as a whole; a row of weight 2 counts as two equal rows of
    weight 1 in the fit, but these would be left out one at a time.

    For the squared loss it is a closed form. For the logistic loss and softmax, Newton steps from
    the fit go on until the proven error is below ``tol``. For the hinge and its square, the rows
    inside and on the margin determine the minimum by linear equations. Rows for which none of this
    gives a bound are left out by fits. See docs/leave_one_out.md for the costs.

    Parameters
    ----------
    clf : LinearClassifier or LinearClassifierCV, fitted
        With ``l2`` above 0 on all features, no ``l1``, and a convex loss other than the perceptron
        and Crammer and Singer's (``loss="hinge"`` for more than two classes). The penalty that
        LinearClassifierCV found is kept for all rows.
    X, y : arrays, or a source in memory as X alone
        The rows of the fit. Every class needs two rows or more.
    sample_weight : array (n,), optional
        The weights of the fit.
    offset : array, optional
        The offset of the fit.
    tol : float
        Largest error of a score by Newton steps. Rows for which they cannot reach it are fitted
        without. The error of fits is what their duality gap proves, often 1e-6 to 1e-4.

    Returns
    -------
    LeaveOneOutScores
        The held-out scores and what follows from them.

    See Also
    --------
    LeaveOneOutScores : the result.
    LinearClassifierCV : chooses ``l2`` by leaving out rows, with ``cv="loo"``.
    diagnose : lists the most influential rows.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from separatrix import LinearClassifier, leave_one_out
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> clf = LinearClassifier(l2=1e-3, standardize=True).fit(X, y)
    >>> held_out = leave_one_out(clf, X, y)
    >>> right = (held_out.scores > 0) == y
    >>> round(float(right.mean()), 3), round(clf.score(X, y), 3)
    (0.979, 0.988)
    """
    tol = checks.number("tol", tol, strict=True)
    _check_model(clf)
    given = _rows(clf, X, y, sample_weight, offset)
    _check_classes(given)
    if not provable(Objective(clf.trace_.loss, clf._single_penalty(), given, clf.fit_intercept)):
        raise ValueError(
            f"rows cannot be left out of this fit: no gap is known for loss={clf.loss!r} with its "
            "penalty, so that no error would be proven; use loss='logistic', 'squared', "
            "'squared_hinge' or, without penalty_weights, 'hinge'"
        )
    source = given
    if clf.class_weight is not None:
        source = as_arrays(cast(InMemory, reweighted(given, clf.class_weight)))
    _check_reached(clf, source)
    return _LeftOut(clf, given, source).result(tol)


class _LeftOut:
    """One computation for all rows."""

    def __init__(self, clf: Any, given: ArraySource, source: ArraySource) -> None:
        self.clf, self.given, self.source = clf, given, source
        self.loss: Loss = clf.trace_.loss
        self.penalty: Penalty = clf._single_penalty()
        self.W: Array = clf._minimum()
        n, k = len(source.y), len(self.W)
        self.weights = np.repeat(self.W[None], n, axis=0)
        self.scores, self.error = np.empty((n, k)), np.full((n, k), np.inf)
        self.method = np.full(n, "refit", dtype="<U11")

    def result(self, tol: float) -> LeaveOneOutScores:
        """Everything, by Newton steps where these apply, then by fits."""
        n, k, changes = len(self.source.y), len(self.W), self._changes_problem
        with np.errstate(under="ignore"):
            if self._has_steps:
                problem = held_out_problems(
                    self.clf, self.loss, self.source, self._strengths, self._start()
                )
                self._steps(problem, tol)
            self._fits(np.flatnonzero(~(self.error.max(axis=1) <= tol)), not changes)
        fitted = self.source.scores(self.W)
        change = self.weights - self.W

        def shaped(values: Array) -> Array:
            return values[:, 0] if k == 1 else values

        weights = np.ones(n) if self.given.weight is None else self.given.weight.copy()
        return LeaveOneOutScores(
            shaped(self.scores), shaped(self.error), self.method, self.weights[:, :, :-1],
            self.weights[:, :, -1], change[:, :, :-1], change[:, :, -1],
            shaped(self.scores - fitted), self._influence(change), labels_of(self.given), weights,
            self.source.classes, self.loss, self.source.has_offset,
        )  # fmt: skip

    @property
    def _changes_problem(self) -> bool:
        """Whether the weights of other rows or the penalty depend on the row left out."""
        return self.clf.scale_ is not None or isinstance(self.clf.class_weight, str)

    def _start(self) -> Array:
        """Weights near the minimum of all rows: where there are kinks, as near as can be."""
        if self.loss.smooth:
            return self.W
        refits = Refits(self.clf._single_fit, self.penalty, self.loss, self.given, True)
        start: Array = refits.fitted(self.penalty, self.given)._minimum()
        return start

    @property
    def _own_loss(self) -> Loss:
        """The loss of one column of scores, or the joint one."""
        column = self.loss.column_loss
        return self.loss if column is None else column

    @property
    def _strengths(self) -> Array:
        d = self.source.n_features
        l2: Array = 0.5 * self.penalty.diagonal((1, d + 1))[0, :-1]
        return l2

    @property
    def _has_steps(self) -> bool:
        """Whether rows can be left out from the fit to all, without fits."""
        own = self._own_loss
        joint = len(self.W) if self.loss.column_loss is None else 1
        variables = joint * (self.source.n_features + 1)
        known = newton.has_newton_bound(own) or own.hinge_power is not None
        if not known or variables > LEFT_OUT_VARIABLES:
            return False
        values = len(self.source.y) * (self.source.n_features + 1)
        if values > LEFT_OUT_VALUES:
            raise ValueError(
                f"leave_one_out on {len(self.source.y)} rows of {self.source.n_features} features "
                f"needs {8e-9 * values:.1f} GB or more, and takes up to "
                f"{8e-9 * LEFT_OUT_VALUES:.1f} GB: use a sample of the rows, for the fit, too"
            )
        return True

    def _steps(self, problem: HeldOutProblems, tol: float) -> None:
        """Steps for each column of scores by itself, or for all together."""
        if self._own_loss.hinge_power is None:
            parts = [newton.minima(each, tol) for each in problem.columns()]
        else:
            parts = [active_set.minima(each) for each in problem.columns()]
        u = np.concatenate([part.u for part in parts], axis=1)
        self.scores = np.concatenate([part.scores for part in parts], axis=1)
        self.error = np.concatenate([part.error for part in parts], axis=1)
        self.weights = problem.weights(u)
        exact = self.loss.constant_curvature is not None and problem.same_problem
        if self._own_loss.hinge_power is not None:
            self.method[:] = "active set"
        else:
            self.method[:] = "closed form" if exact else "newton"

    def _fits(self, rows: AnyArray, same: bool) -> None:
        """Leave out rows by fits, unless Newton steps have a smaller error."""
        if not len(rows):
            return
        refits = Refits(self.clf._single_fit, self.penalty, self.loss, self.given, same)
        for found in refits.without(rows, np.asarray(self.source.weights)):
            middle, half = found.low / 2.0 + found.high / 2.0, (found.high - found.low) / 2.0
            at = found.rows
            scores = np.where(np.isfinite(middle), middle, self._scores_of(at, found.weights))
            error = np.maximum(found.high - scores, scores - found.low)
            error = np.where(np.isfinite(half), error, np.inf)
            better = ~(self.error[at].max(axis=1) <= error.max(axis=1))
            at = at[better]
            self.scores[at], self.error[at] = scores[better], error[better]
            self.weights[at] = found.weights[better]
            self.method[at] = np.where(found.refit[better], "refit", "unchanged")

    def _scores_of(self, rows: AnyArray, weights: Array) -> Array:
        """Scores of rows, each by its own weights, (R, k)."""
        taken = [self.source.take(rows[i : i + 1]).scores(W)[0] for i, W in enumerate(weights)]
        return np.array(taken).reshape(len(rows), len(self.W))

    def _influence(self, change: Array) -> Array:
        """Root mean square change of all scores without each row, (n,)."""
        plain, (n, k, _) = self.source.without_offset, change.shape
        c = np.asarray(self.source.weights) / self.source.weight_sum
        squares = np.empty(n)
        size = max(1, CHANGED_VALUES // (n * k))
        for start in range(0, n, size):
            part = change[start : start + size]
            moved = plain.scores(part.reshape(-1, part.shape[2]))
            squares[start : start + size] = (c @ moved**2).reshape(-1, k).sum(axis=1)
        return np.sqrt(squares)


def refusal(clf: Any, loss: Loss, penalty: Penalty) -> str:
    """Why rows cannot be left out of a fit with these settings, and a remedy; else empty."""
    if getattr(clf, "bias_reduction", None) is not None:
        return f"bias_reduction={clf.bias_reduction!r} has no penalty: fit with l2"
    if getattr(clf, "soft_labels", False):
        return "rows with soft labels count as several rows: fit to labels"
    if asked := asked_for(clf):
        return f"weights without a row are not bounded by {asked}: fit without it"
    if clf.prior_correction:
        return "prior_correction=True shifts the intercept after the fit: set it to False"
    if clf.device not in (None, "cpu"):
        return f"rows are left out on the CPU: set device=None, got {clf.device!r}"
    return why_unbounded(loss, penalty)


def _check_model(clf: Any) -> None:
    if not isinstance(clf, CertifiedModel):
        raise TypeError(
            "leave_one_out takes a fitted LinearClassifier or LinearClassifierCV, got a "
            f"{type(clf).__name__}"
        )
    check_is_fitted(clf)
    problem = refusal(clf, clf.trace_.loss, clf.trace_.penalty)
    if not problem and not clf.converged_:
        problem = (
            f"the fit stopped with {clf.stop_!r}, not at the minimum: fit again with a larger "
            "max_iter and without stop"
        )
    if problem:
        raise ValueError(f"rows cannot be left out of this fit: {problem}")


def _rows(clf: Any, X: Any, y: Any, sample_weight: Any, offset: Any) -> ArraySource:
    """The rows of the fit, with their sample weights and without class weights."""
    if isinstance(X, Source) and not isinstance(X, InMemory):
        raise TypeError(
            "leave_one_out takes arrays, sparse matrices or a source in memory, got a "
            f"{type(X).__name__}: fit to a sample that fits in memory, source.sample(100_000), and "
            "pass it here, too"
        )
    plain = copy(clf)
    plain.class_weight = None
    source = plain._rows_of_fit(X, y, sample_weight, offset)
    if clf.scale_ is not None and source.dtype == np.float32:
        raise ValueError(
            "with standardize=True, float32 rows are rounded once more: fit float64 rows, "
            "X.astype('float64')"
        )
    return as_arrays(source)


def _check_classes(source: ArraySource) -> None:
    present = source.weights > 0.0
    counts = np.bincount(class_numbers(source.y, len(source.classes))[present],
                         minlength=len(source.classes))  # fmt: skip
    if counts.min() < 2:
        label = source.classes.tolist()[int(counts.argmin())]
        raise ValueError(
            f"the class {label!r} has {counts.min()} rows of positive weight; expected 2 or more: "
            "without its only row, the fit has another number of classes"
        )


def _check_reached(clf: Any, source: ArraySource) -> None:
    """Check that the rows are those of the fit."""
    weights = np.asarray(source.weights)
    value = float(weights @ clf.trace_.loss.value(source.y, source.scores(clf._minimum())))
    scale = 1.0 if clf.scale_ is None else clf.scale_
    penalty: Callable[[Array], float] = clf._single_penalty().value
    W = clf._minimum()
    W[:, :-1] *= scale
    value = value / source.weight_sum + penalty(W)
    if not abs(value - clf.objective_) <= 1e-6 * abs(clf.objective_) + 1e-12:
        raise ValueError(
            f"the objective on these rows is {value:.9g}, but the fit reached "
            f"{clf.objective_:.9g}: pass the X, y, sample_weight and offset of the fit"
        )
