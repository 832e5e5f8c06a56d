"""Conversion of scikit-learn's linear classifiers to classifiers of this package."""

from __future__ import annotations

import math
from collections.abc import Mapping
from copy import copy
from typing import Any

import numpy as np

from ...data import Source
from ...data.labels import check_labels
from ...data.validation import weighed_classes
from ...estimators import LinearClassifier, Perceptron
from ...estimators.sources import refuse_labels_beside, reweighted
from ...estimators.stream import COLUMNS, StreamState
from ...losses import get_loss, one_vs_rest_name
from ...numeric import checks
from ...penalties import L2, ElasticNet, Penalty
from ...solvers import GradientDescent, Rosenblatt, Solver
from ...training.trace import Trace
from . import certify
from .claims import CLAIMS, Claim, claim_of
from .minimum import TOL
from .rows import Transformed, mapped
from .weights import weights_of

OBJECTIVE = {
    "C", "Cs", "alpha", "alphas", "penalty", "l1_ratio", "l1_ratios", "loss", "intercept_scaling",
    "multi_class", "early_stopping", "learning_rate", "positive", "refit",
}  # fmt: skip
"""Parameters that define the objective: they become ``loss`` and ``l2``, or are refused."""
COPIED = {"fit_intercept", "class_weight", "warm_start", "n_jobs", "random_state", "verbose"}
"""Parameters with the same meaning here."""
WAY = {
    "solver", "tol", "max_iter", "dual", "eta0", "power_t", "shuffle", "average",
    "n_iter_no_change", "validation_fraction", "epsilon", "copy_X", "cv", "scoring",
    "use_legacy_attributes", "store_cv_results",
}  # fmt: skip
"""Parameters of the algorithm: here ``solver="auto"`` reaches the minimum within ``tol``."""


def from_sklearn(
    estimator: Any, X: Any = None, y: Any = None, *, sample_weight: Any = None, n: Any = None
) -> Any:
    """Convert to a classifier with the same objective, and with its weights if fitted.

    Parameters
    ----------
    estimator : scikit-learn's LogisticRegression, LinearSVC, SGDClassifier, RidgeClassifier, ...
        The classifiers that :func:`certify` accepts, fitted or not, or a Pipeline that ends in one,
        whose other steps are kept. Parameters that define the objective become ``loss`` and ``l2``,
        or are refused by name; parameters of the algorithm (``solver``, ``max_iter``, ``tol``, ...)
        are replaced by ``solver="auto"`` and ``tol=1e-6``.
    X, y, sample_weight
        The rows that it was trained on, or will be; X may be a source. For a fitted classifier they
        define ``objective_`` and ``gap_``, which are NaN and None without them.
    n : float
        Instead of rows: their total weight, which is their number if they have no weights. ``C``
        and ridge's ``alpha`` refer to the sum over the rows, ``l2`` to the mean, so one of the two
        is needed.

    Returns
    -------
    LinearClassifier, for scikit-learn's Perceptron a Perceptron, or a Pipeline

    See Also
    --------
    certify : how far a model is from its optimum.

    Notes
    -----
    The number of classes is known from the fit or from y; without both it is assumed to be two.
    Unfitted classifiers are refused if this package does not have their objective: with a penalised
    bias (LinearSVC, liblinear); one class against the rest for more than two classes, except for
    the squared hinge and the logistic loss without class weights. If fitted, such a classifier has
    the same weights and predictions here, while ``objective_`` and ``gap_`` refer to the objective
    here, which ``fit`` would minimise. ``stop_`` of a fitted one is "optimal" if that gap is within
    ``tol``, else "converted".

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from separatrix import from_sklearn
    >>> from_sklearn(LogisticRegression(C=0.5), n=100)
    LinearClassifier(l2=0.01, verbose=0)
    """
    if hasattr(estimator, "steps"):
        return _pipeline(estimator, X, y, sample_weight, n)
    if type(estimator).__module__.partition(".")[0] != "sklearn":
        names = ", ".join(name for package, name in CLAIMS if package == "sklearn")
        raise ValueError(
            f"{type(estimator).__name__} is not a scikit-learn classifier; expected one of {names}"
        )
    claim, fitted = claim_of(estimator), hasattr(estimator, "coef_")
    _refuse_unknown(estimator)
    k = _number_of_classes(estimator, X, y)
    _refuse_objective(estimator, claim, fitted, k)
    l1, l2 = (_strength(s, estimator, claim, X, y, sample_weight, n)
              for s in (claim.absolute, claim.strength))  # fmt: skip
    if not 0.0 <= l2 < math.inf:
        strength = {name: value for name, value in estimator.get_params(deep=False).items()
                    if name in ("C", "alpha")}  # fmt: skip
        raise ValueError(
            f"{type(estimator).__name__} with {strength} has a penalty of l2={l2:g}, but it must "
            "be 0 or more and finite: C must be above 0, alpha 0 or more"
        )
    clf = _translated(estimator, claim, l1, l2, k)
    if not fitted:
        return clf
    _take_weights(clf, estimator)
    if X is not None and isinstance(clf, LinearClassifier):
        found = certify(clf, X, y, sample_weight=sample_weight)
        clf.objective_, clf.gap_ = found.objective, found.gap if found.proven else None
        near = found.proven and found.gap <= TOL * found.objective
        clf.stop_, clf.converged_ = ("optimal", True) if near else (clf.stop_, False)
    return clf


def _pipeline(pipeline: Any, X: Any, y: Any, sample_weight: Any, n: Any) -> Any:
    """The same steps with the last one converted; a fitted one sees X after the other steps."""
    *others, (name, last) = pipeline.steps
    if X is not None and hasattr(last, "coef_") and others:
        transform = pipeline[:-1].transform
        source = isinstance(X, Source)
        X = mapped(X, Transformed(transform), last.coef_.shape[1]) if source else transform(X)
    result = copy(pipeline)
    translated = from_sklearn(last, X, y, sample_weight=sample_weight, n=n)
    result.steps = [*others, (name, translated)]
    return result


def _refuse_unknown(estimator: Any) -> None:
    """Refuse unknown parameters, which may change the objective."""
    for name, value in estimator.get_params(deep=False).items():
        if name not in OBJECTIVE | COPIED | WAY:
            raise ValueError(
                f"{type(estimator).__name__}({name}={value!r}) is not covered: this parameter is "
                "unknown here"
            )
    jobs = getattr(estimator, "n_jobs", None)
    if jobs is not None and jobs < -1:
        raise ValueError(f"n_jobs={jobs} is not covered: expected None, -1 or a number of threads")


def _number_of_classes(estimator: Any, X: Any, y: Any) -> int | None:
    if hasattr(estimator, "classes_"):
        return len(estimator.classes_)
    if isinstance(X, Source):
        return len(X.classes)
    return None if y is None else len(np.unique(check_labels(y)))


def _refuse_objective(estimator: Any, claim: Claim, fitted: bool, k: int | None) -> None:
    """Refuse objectives that this package does not minimise, unless the model is fitted."""
    name = type(estimator).__name__
    against_rest = claim.one_vs_rest and k is not None and k > 2
    if fitted:
        return
    if claim.intercept_scaling is not None:
        raise ValueError(
            f"{name}(fit_intercept=True) is not covered unless fitted: its bias is penalised, as "
            "the weight of a column of intercept_scaling, but here the bias is free; "
            "fit_intercept=False is covered"
        )
    if getattr(estimator, "multi_class", "") == "crammer_singer":
        raise ValueError(
            f"{name}(multi_class='crammer_singer') is not covered unless fitted: on two classes it "
            "has half the penalty that it has on more"
        )
    if against_rest and one_vs_rest_name(claim.loss) is None:
        raise ValueError(
            f"{name}(loss={claim.loss.name!r}) on {k} classes is not covered unless fitted: it "
            "fits each class against the rest, but here this loss is joint; use "
            "OneVsRestClassifier(LinearClassifier(...))"
        )
    if against_rest and claim.class_weight is not None:
        raise ValueError(
            f"{name}(class_weight=...) on {k} classes is not covered unless fitted: it weighs "
            "only the class that stands against the rest, but here the rows of every class"
        )


def _strength(
    strength: float, estimator: Any, claim: Claim, X: Any, y: Any, sample_weight: Any, n: Any
) -> float:
    """``strength / factor`` of ``share * sum + strength * |w|^2 = factor * (mean + l2 |w|^2)``."""
    name, given = type(estimator).__name__, claim.class_weight
    if X is not None or y is not None:
        if n is not None:
            raise TypeError("n replaces rows: pass X and y, or n")
        if claim.counts_rows and given == "balanced" and sample_weight is not None:
            raise ValueError(
                f"{name}(class_weight='balanced') with sample_weight is not covered: it counts "
                "rows, but here their weights are summed; pass the class weights as a dict"
            )
        rows, total = _weight(X, y, sample_weight, given)
        divisor = {"": 1.0, "rows": rows, "weights": total}[claim.divided_by]
        return strength * divisor / (claim.share * total)
    if sample_weight is not None:
        raise TypeError("sample_weight needs rows: pass X and y with it, or its sum as n")
    if claim.divided_by == "weights" or not strength:
        return strength / claim.share
    if isinstance(given, Mapping):
        raise ValueError(
            f"{name}(class_weight={given!r}) needs the labels, to sum the weights of the rows: "
            "pass X and y"
        )
    if claim.divided_by == "rows":  # balanced weights sum to the number of rows
        return strength
    if n is None:
        what = "alpha" if hasattr(estimator, "alpha") or hasattr(estimator, "alphas") else "C"
        raise ValueError(
            f"{name}({what}={getattr(estimator, what, '...')!r}) applies to the sum over the rows "
            "and l2 to the mean: pass X and y, or the number of rows, n=..."
        )
    if not checks.is_number(n) or not 0.0 < float(n) < math.inf:
        raise ValueError(f"n must be a number of rows above 0, got {n!r}")
    return strength / (claim.share * float(n))


def _weight(X: Any, y: Any, sample_weight: Any, class_weight: Any) -> tuple[int, float]:
    """The number of rows, and what they weigh."""
    if isinstance(X, Source):
        refuse_labels_beside(y, sample_weight)
        weighed = X if class_weight is None else reweighted(X, class_weight)
        return X.length, weighed.weight_sum
    labels = check_labels(y)
    _, weight, power = weighed_classes(labels, None, sample_weight, class_weight)
    total = len(labels) if weight is None else math.ldexp(float(weight.sum()), -power)
    return len(labels), float(total)


def _translated(
    estimator: Any, claim: Claim, l1: float, l2: float, k: int | None
) -> LinearClassifier | Perceptron:
    given = estimator.get_params(deep=False)
    same = {name: given[name] for name in COPIED & given.keys()}
    if type(estimator).__name__ != "Perceptron":
        # For two classes both are the same; if their number is unknown, only the one for more
        # applies.
        loss = claim.loss
        form = one_vs_rest_name(loss) if claim.one_vs_rest and k != 2 else None
        return LinearClassifier(form or loss.name, l1=l1, l2=l2, **same)
    same.pop("n_jobs")  # it has one weight vector, and no threads
    patience = None if estimator.tol is None else estimator.n_iter_no_change
    return Perceptron(
        estimator.max_iter, learning_rate=estimator.eta0, l2=l2, shuffle=estimator.shuffle,
        keep="last", patience=patience, **same,
    )  # fmt: skip


def _take_weights(clf: LinearClassifier | Perceptron, estimator: Any) -> None:
    """Set the attributes of a fit, as far as the other model has them."""
    W = weights_of(estimator, len(estimator.classes_))
    clf.coef_, clf.intercept_ = W[:, :-1].copy(), W[:, -1].copy()
    clf.classes_, clf.n_features_in_ = estimator.classes_.copy(), W.shape[1] - 1
    if hasattr(estimator, "feature_names_in_"):
        clf.feature_names_in_ = estimator.feature_names_in_
    passes = getattr(estimator, "n_iter_", None)
    clf.n_iter_, clf.n_updates_ = 0 if passes is None else int(np.max(passes)), 0
    clf.stop_, clf.converged_ = "converted", False
    clf.history_ = {name: np.empty(0, int if name == "pass" else float) for name in COLUMNS}
    loss = get_loss(getattr(clf, "loss", "perceptron"))
    solver: Solver = Rosenblatt()
    l1 = getattr(clf, "l1", 0.0)
    penalty: Penalty = ElasticNet(l1, clf.l2) if l1 else L2(float(clf.l2))
    if isinstance(clf, LinearClassifier):
        solver = GradientDescent(batch_size=1, reason="the weights came from scikit-learn")
        clf.objective_, clf.gap_, clf.solver_, clf._runaway = np.nan, None, solver, None
    # A run without passes, from these weights: partial_fit continues from there.
    clf.trace_ = Trace(
        solver, loss.for_classes(len(clf.classes_)), penalty, clf.fit_intercept,
        clf.class_weight, clf.classes_, W, 0, 0, 0.0,
    )  # fmt: skip
    clf._stream, clf._features = StreamState(solver, solver, None), None
