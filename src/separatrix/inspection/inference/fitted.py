"""The likelihood of a fitted model near its weights: what a covariance is computed from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...data import Source
from ...estimators import LinearClassifier, LinearClassifierCV
from ...estimators.sources import reweighted
from ...estimators.weight_constraints import has_constraints
from ...losses import get_loss
from ...numeric.checks import flag
from ...numeric.dense import dense
from ...numeric.dependent import dependences
from ...numeric.standardization import Standardization
from ...numeric.threads import one_blas_thread
from ...numeric.types import AnyArray, Array, Ints
from ...objective import Objective
from ...objective.firth_objective import FirthObjective
from ...objective.sums import Hessian, ValueGradient
from ...penalties import L2
from ..certify.rows import training_rows
from ..diagnose.unwrapping import penalty_of_fit

MOST_VARIABLES = 4000  # whose second derivative is in memory
SAME = 1e-6  # relative difference of J at which the rows are not those of the fit
TINY = 1e-12  # J of a perfect fit is only rounding
NAMED = 5  # features in a sentence


@dataclass(frozen=True)
class FittedLikelihood:
    """Sums over the training rows at the weights of a fit, in standardised variables.

    A variable is a feature or the bias of one class; ``hessian`` and ``gradient`` are those of the
    sum of the losses, (k (d + 1),) squared, without the penalty. Of too many variables ``hessian``
    is empty.
    """

    model: Any
    """The given estimator: the classifier or a pipeline that ends in it."""
    clf: Any
    source: Source
    n: float
    """Sum of the weights of the rows, without those of classes."""
    class_weight: Array | None
    """The factor of each class in the weights of ``source``; None: 1."""
    objective: Objective
    """Without the penalty, for the features as given."""
    weights: Array
    loss_sum: float
    gradient: Array
    hessian: Array
    penalty: Array
    """Second derivative of the penalty, times the sum of the weights: (k (d + 1),)."""
    standardization: Standardization
    reference: int
    """The class that others are compared with; -1 for two classes."""
    whole: Source | None = None
    """All rows, if ``source`` has only what is on the boundary of quasi-separable classes."""
    limit: Array | None = None
    """For these, 0 for finite reported coefficients, else infinity with its sign, or NaN."""
    other: bool = False
    """Whether the rows are not those of the fit, as the caller allowed."""
    dropped: AnyArray | None = None
    """For these, variables that the rows do not determine, fixed at 0."""

    @property
    def penalised(self) -> bool:
        """Whether any variable has a penalty."""
        return bool(self.penalty.any())

    @property
    def many(self) -> bool:
        """Whether there are too many variables for matrices of all."""
        return not self.hessian.size

    @property
    def firth(self) -> bool:
        """Whether the likelihood has Firth's penalty; ``loss_sum`` and ``gradient`` have it."""
        return isinstance(self.objective, FirthObjective)

    @property
    def squared(self) -> bool:
        """Whether the loss is squared, so that its scale is estimated."""
        return self.objective.loss.constant_curvature is not None

    @property
    def free(self) -> AnyArray:
        """Variables that the losses and the penalty determine, (k (d + 1),).

        The softmax does not change if the same is added to a variable of all classes: without a
        penalty on it, that of the reference class is fixed at 0.
        """
        k, width = self.weights.shape
        free = np.ones((k, width), dtype=np.bool_)
        free[:, -1] = self.objective.intercept
        if self.dropped is not None:
            free &= ~self.dropped.reshape(k, width)
        if k > 1:
            free[self.reference] &= self.penalty.reshape(k, width)[self.reference] > 0.0
        return free.ravel()

    @property
    def reported_variables(self) -> Ints:
        """Numbers of the variables of the reported coefficients, without the reference class."""
        k, width = self.weights.shape
        numbers = np.arange(k * width).reshape(k, width)
        numbers = numbers[:, : width - (not self.objective.intercept)]
        kept: Ints = np.delete(numbers, [self.reference] if k > 1 else [], axis=0).ravel()
        return kept

    @property
    def contrasts(self) -> Array:
        """Rows that map the variables to the reported ones, before units are converted.

        Two classes: the variables themselves. More: those of each class minus the reference's.
        """
        k, width = self.weights.shape
        if k == 1:
            return np.eye(width)
        others = [c for c in range(k) if c != self.reference]
        rows = np.eye(k)[others]
        rows[:, self.reference] = -1.0
        return np.asarray(np.kron(rows, np.eye(width)), dtype=np.float64)

    @property
    def units(self) -> Array:
        """Matrix from the reported variables to coefficients of the features as given."""
        k, width = self.weights.shape
        one = self.standardization.to_weights(np.eye(width)).T
        return np.asarray(np.kron(np.eye(max(k - 1, 1)), one), dtype=np.float64)

    @property
    def curvature(self) -> Array:
        """Second derivative of the losses and the penalty in the ``free`` variables."""
        free = self.free
        curvature: Array = (self.hessian + np.diag(self.penalty))[np.ix_(free, free)]
        return curvature

    @property
    def coefficients(self) -> Array:
        """The reported ones for the features as given: of a class minus those of the reference."""
        W = self.weights
        return W if len(W) == 1 else np.delete(W, self.reference, axis=0) - W[self.reference]


def fitted_likelihood(
    model: Any,
    X: Any,
    y: Any,
    sample_weight: Any,
    offset: Any,
    reference: Any,
    other_rows: bool = False,
) -> FittedLikelihood:
    """The sums for a fitted estimator, after it and its rows have been checked."""
    flag("other_rows", other_rows)
    clf = model.steps[-1][1] if hasattr(model, "steps") else model
    _check_model(clf)
    source = training_rows(model, clf, X, y, sample_weight, offset, firth=True)
    n, factors = source.weight_sum, None
    if clf.class_weight is not None:
        before = np.asarray(source.class_weight_sums())
        source = reweighted(source, clf.class_weight)
        factors = np.asarray(source.class_weight_sums()) / before
    loss = get_loss(clf.loss).for_classes(len(clf.classes_))
    firth = getattr(clf, "_firth", False)
    kind = FirthObjective if firth else Objective
    objective = kind(loss, L2(0.0), source, clf.fit_intercept)
    W = np.column_stack([dense(clf.coef_), clf.intercept_])
    own = objective.standardization
    if W.size > MOST_VARIABLES:
        _check_many(clf, W, firth)
        hessian = np.empty((0, 0))
        loss_sum, _, gradient = source.total(ValueGradient(loss, W))
    else:
        with one_blas_thread(source.n_rows * float(W.size) ** 2):
            loss_sum, _, gradient, hessian = source.total(Hessian(loss, W, own))
    if isinstance(objective, FirthObjective):
        loss_sum, gradient = _with_firth(objective, W)
    penalty = _penalty(clf, W.shape)
    value = float(loss_sum) / source.weight_sum + 0.5 * float(np.sum(penalty * W**2))
    difference = _difference(clf, value, source.weight_sum)
    if difference and not other_rows:
        raise ValueError(f"{difference} of the fit, or other_rows=True for other rows")
    if difference and clf.stop_ == "no minimum":
        raise ValueError(f"{difference} of the fit: without a minimum other rows say nothing of it")
    C = source.weight_sum
    slope = own.gradient(gradient + C * penalty * W).ravel() if not firth else gradient
    number = _number(reference, clf.classes_)
    scaled = C * penalty / np.square(own.scale)
    return FittedLikelihood(
        model,
        clf,
        source,
        n,
        factors,
        objective,
        W,
        float(loss_sum),
        slope,
        hessian,
        scaled.ravel(),
        own,
        number,
        other=bool(difference),
    )


def _check_many(clf: Any, W: Array, firth: bool) -> None:
    """What is possible without a matrix of all coefficients."""
    if firth:
        raise ValueError(
            f"with Firth's penalty standard errors take a matrix of all {W.size} coefficients, and "
            f"at most {MOST_VARIABLES} are possible: fit fewer features"
        )
    if clf.stop_ == "no minimum":
        raise ValueError(infinite(clf))


def _difference(clf: Any, value: float, weight_sum: float) -> str:
    """What shows that the rows are not those of the fit; empty if nothing does."""
    if not abs(value - clf.objective_) <= SAME * abs(clf.objective_) + TINY:
        return (
            f"the objective on these rows is {value:.6g}, but the fit reached "
            f"{clf.objective_:.6g}: pass the X, y, sample_weight and offset"
        )
    # Weights times a constant have the same minimum, but other standard errors.
    trace = getattr(clf, "trace_", None)  # a model that was loaded may have none
    if trace is not None and not abs(weight_sum - trace.weight_sum) <= SAME * trace.weight_sum:
        return (
            f"the weights of these rows sum to {weight_sum:g}, but those of the fit to "
            f"{trace.weight_sum:g}: pass the sample_weight"
        )
    return ""


def _with_firth(objective: FirthObjective, W: Array) -> tuple[float, Array]:
    """The negative penalised log-likelihood, and its gradient in the standardised variables."""
    likelihood = objective.likelihood
    at = likelihood.at(likelihood.variables(W))
    if at is None:
        return np.inf, np.zeros(W.size)
    return at.value, -likelihood.of_classes(likelihood.score(at)).ravel()


def _check_model(clf: Any) -> None:
    if not isinstance(clf, (LinearClassifier, LinearClassifierCV)):
        raise TypeError(
            "inference takes a fitted LinearClassifier, LinearClassifierCV or a pipeline that ends "
            f"in one, got {clf!r}"
        )
    if not hasattr(clf, "coef_"):
        raise ValueError(f"this {type(clf).__name__} is not fitted yet: call fit first")
    if clf.bias_reduction == "mdypl":
        raise ValueError(
            "standard errors are not available with bias_reduction='mdypl': use "
            "bias_reduction='firth', which has them, or fit without it"
        )
    loss, k = get_loss(clf.loss), len(clf.classes_)
    if getattr(clf, "multilabel_", False):
        raise ValueError("inference takes one label per row: fit and pass each label by itself")
    known = loss.for_classes(k)
    columns = k > 2 and known.column_loss is not None  # fits of each class by itself
    if columns or not (known.log_likelihood or known.constant_curvature is not None):
        raise ValueError(
            f"standard errors need a likelihood, and {loss.name or loss!r} has none for {k} "
            "classes; use loss='logistic' (softmax for more than two classes), or for two classes "
            "'squared'"
        )
    if penalty_of_fit(clf).l1 > 0.0:
        raise ValueError(
            "after selection by l1 the usual standard errors are wrong: they ignore that the "
            "features were chosen on the same rows; use l2, or select on other rows and fit the "
            "selected features with l1=0"
        )
    if has_constraints(clf):
        raise ValueError(
            "with bounds or monotone the usual standard errors are wrong: near its bound an "
            "estimate is not normally distributed; fit without constraints for the errors"
        )
    if hasattr(clf, "prior_shift_"):
        raise ValueError(
            "prior_correction=True shifts the intercept from the estimate to another one, whose "
            "standard errors are not known: fit without class_weight and prior_correction"
        )


def infinite(clf: Any) -> str:
    """The error for a likelihood whose maximum is at infinity."""
    found = clf._runaway
    names = [str(name) for name in clf.coef_names_[list(found.features)]]
    names += ["the intercept"] * found.intercept
    return (
        f"the rows are {found.verdict}, so the maximum of the likelihood is at infinity in "
        f"{', '.join(names)}: these coefficients have no standard errors; leave out the features, "
        "use bias_reduction='firth', or use a penalty (l2 > 0), whose standard errors are those of "
        "the penalised estimate"
    )


def _penalty(clf: Any, shape: tuple[int, int]) -> Array:
    """Second derivative of the penalty by the weights of the features as given, (k, d + 1)."""
    diagonal = np.array(penalty_of_fit(clf).diagonal(shape))
    scale = getattr(clf, "scale_", None)
    if scale is not None:
        diagonal[:, :-1] *= np.square(scale)
    return diagonal


def _number(reference: Any, classes: AnyArray) -> int:
    """The number of the reference class; -1 for two classes."""
    labels = classes.tolist()
    allowed = labels if len(labels) > 2 else labels[:1]  # of two, the smaller
    if reference is not None and reference not in allowed:
        raise ValueError(f"reference must be one of {allowed!r}, got {reference!r}")
    if len(labels) == 2:
        return -1
    return 0 if reference is None else labels.index(reference)


def dependent(found: FittedLikelihood) -> list[tuple[int, Ints]]:
    """Variables that are combinations of others, and these: collinear features."""
    at = np.flatnonzero(found.free)
    return [(int(at[one.variable]), at[one.others]) for one in dependences(found.curvature)]


def refuse_collinear(found: FittedLikelihood) -> None:
    """Coefficients of features that are combinations of others are not determined."""
    bad, names = dependent(found), found.clf.coef_names_
    if not bad:
        return
    width = found.weights.shape[1]
    number, others = bad[0]

    def name(at: int) -> str:
        return "the intercept" if at % width == width - 1 else repr(str(names[at % width]))

    of = list(dict.fromkeys(name(at) for at in others.tolist()))
    more = f" and {len(of) - NAMED} more" if len(of) > NAMED else ""
    text = f"a combination of {', '.join(of[:NAMED])}{more}" if of else "constant"
    encoding = getattr(getattr(found.clf, "_reading", None), "encoding", None)
    features = {str(names[at % width]) for at in (number, *others) if at % width < len(names)}
    if encoding is not None and encoding.sum_to_one(features):
        remedy = "read with drop_first=True, as categories without one sum to 1"
    else:
        remedy = "leave it out"
    raise ValueError(
        f"the coefficient of {name(number)} is not determined: the feature is {text}; {remedy}, "
        "or use a penalty (l2 > 0)"
    )
