"""The objective that a fitted linear model claims to minimise, derived from its parameters.

Every claim has one form,

    share * sum_i c_i * loss_i  +  strength * |w|^2  +  absolute * sum_j |w_j| ,

where the sum may be divided by the number of rows or by the sum of their weights. Libraries differ
in everything else: whether a bias is free or a penalised column, how losses are defined for more
than two classes, and on which rows class weights act.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ...estimators.penalty_parameters import checked_groups
from ...losses import Loss, get_loss
from ...penalties import L2, ElasticNet, GroupLasso

LOSSES = {
    "log_loss": "logistic", "hinge": "hinge", "squared_hinge": "squared_hinge",
    "perceptron": "perceptron",
}  # fmt: skip
"""The scikit-learn models that are covered, and their names here."""


@dataclass(frozen=True)
class Claim:
    """The objective that a model claims to minimise."""

    loss: Loss  # the loss, for two classes or for any number of them
    share: float  # factor of the losses
    strength: float  # factor of |w|^2
    divided_by: Literal["", "rows", "weights"] = ""  # divisor of the sum of the losses
    one_vs_rest: bool = False
    """Whether each class against the rest is a separate problem for more than two classes."""
    fit_intercept: bool = True
    intercept_scaling: float | None = None
    """The value of the column whose weight is a penalised bias."""
    class_weight: Any = None
    counts_rows: bool = False  # whether "balanced" counts rows; otherwise it sums their weights
    absolute: float = 0.0  # factor of the sum of |w_j|
    feature_weights: tuple[float, ...] | None = None
    """Factors of both penalties for every feature; None: 1."""
    groups: tuple[int, ...] | str | None = None
    """Weights that become 0 together, as in LinearClassifier: their lengths replace |w_j|."""

    def __post_init__(self) -> None:
        if self.absolute and not self.loss.smooth:
            raise ValueError(
                f"loss={self.loss.name!r} is not smooth, nor is an L1 penalty: certify covers L1 "
                "only for smooth losses"
            )
        if not self.loss.convex:
            raise ValueError(
                f"loss={self.loss.name!r} is not convex, so its minimum is unknown: "
                "certify covers convex losses"
            )

    def in_words(self, k: int, labels: bool = False) -> str:
        """The objective as a formula; k is the number of classes, or of labels of which rows may
        have several."""
        over = {"": "the sum", "rows": "the sum over the rows, divided by their number,",
                "weights": "the weighted mean"}[self.divided_by]  # fmt: skip
        factor = "" if self.share == 1.0 else f"{self.share:.6g} * "
        name = self.loss.for_classes(2).name.replace("_", " ")
        text = f"{factor}{over} of the {name} loss"
        if self.strength:
            text += f" + {self.strength:.6g} * |w|^2"
        if self.absolute:
            text += f" + {self.absolute:.6g} * " + self._lengths_in_words()
        if self.feature_weights is not None:
            text += ", every feature with its own penalty_weights"
        if not self.fit_intercept:
            text += ", without a bias"
        elif self.intercept_scaling is not None:
            text += f", the bias penalised as the weight of a column of {self.intercept_scaling:g}"
        if labels:
            text += ", summed over the labels"
        elif k > 2:
            each = self.one_vs_rest or self.loss.for_classes(k).column_loss is not None
            text += ", summed over the classes, each against the rest" * each
            text += ", for all classes at once" * (not each)
        if self.class_weight is not None:
            text += f", class_weight={self.class_weight!r}"
            text += " (of the class that stands against the rest)" * (self.one_vs_rest and k > 2)
        return text

    def _lengths_in_words(self) -> str:
        if self.groups is None:
            return "|w|_1"
        each = "feature over the classes" if isinstance(self.groups, str) else "group of features"
        root = "" if isinstance(self.groups, str) else "sqrt(size) * "
        return f"the sum of {root}|w_g|, g each {each}"


@dataclass(frozen=True)
class WeightsAsModel:
    """Weights that were given without a model."""

    coef_: Any
    intercept: Any  # the biases, or None

    @classmethod
    def of(cls, given: tuple[Any, ...]) -> WeightsAsModel:
        """Create from (coef, intercept)."""
        if len(given) != 2:
            raise TypeError(
                f"expected a model or (coef, intercept), got a tuple of {len(given)} entries"
            )
        return cls(np.atleast_2d(np.asarray(given[0], dtype=np.float64)), given[1])

    @property
    def intercept_(self) -> Any:
        """Zeros if there are no biases."""
        return 0.0 if self.intercept is None else self.intercept


def claim_of(model: Any) -> Claim:
    """The objective of a model; ValueError, by name, if the model is not covered."""
    kind = type(model)
    known = CLAIMS.get((kind.__module__.partition(".")[0], kind.__name__))
    if known is not None:
        return known(model)
    name, names = kind.__name__, ", ".join(sorted({name for _, name in CLAIMS}))
    hint = ": pass model.best_estimator_" if hasattr(model, "best_estimator_") else ""
    raise ValueError(
        f"{name} is not covered{hint}; expected one of {names}, a Pipeline that ends in one, or "
        "(coef, intercept) with loss=... and l2=...: kernels, ensembles and subclasses may "
        "minimise anything"
    )


def claim_of_weights(intercept: Any, loss: Any, l2: Any) -> Claim:
    """For given weights: the mean loss and l2 * |w|^2, as in LinearClassifier."""
    if loss is None or l2 is None:
        raise TypeError(
            "weights alone do not define their objective: pass certify((coef, intercept), X, y, "
            "loss='logistic', l2=...), for weighted mean loss + l2 * |w|^2"
        )
    if not np.isfinite(l2) or l2 < 0.0:
        raise ValueError(f"l2 must be a finite number >= 0, got {l2!r}")
    return Claim(get_loss(loss), 1.0, float(l2), "weights", fit_intercept=intercept is not None)


def _refuse(model: Any, what: str, why: str) -> ValueError:
    return ValueError(f"{type(model).__name__}({what}) is not covered: {why}")


def _logistic_regression(model: Any) -> Claim:
    return _logistic(model, model.C, model.l1_ratio, float(model.intercept_scaling))


def _logistic_regression_cv(model: Any) -> Claim:
    if not model.refit:
        raise _refuse(
            model, "refit=False", "it averages weights of the folds, which minimise no objective"
        )
    if not hasattr(model, "C_"):
        raise _refuse(model, "...", "it chooses C when it is fitted")
    # The fit to all rows, unlike those to the folds, uses intercept_scaling=1.
    return _logistic(model, np.ravel(model.C_)[0], np.ravel(model.l1_ratio_)[0], 1.0)


def _logistic(model: Any, C: Any, l1_ratio: Any, intercept_scaling: float) -> Claim:
    """``C * sum + (1 - r) |w|^2 / 2 + r |w|_1``; liblinear penalises the bias too."""
    penalty = getattr(model, "penalty", "deprecated")
    free = penalty is None or bool(np.isinf(C))
    ratio = {"l1": 1.0, "l2": 0.0}.get(penalty, float(l1_ratio or 0.0))
    penalised = model.fit_intercept and model.solver == "liblinear"
    return Claim(
        get_loss("logistic"), 1.0 if free else float(C), 0.0 if free else 0.5 * (1.0 - ratio),
        "weights" if free else "", fit_intercept=model.fit_intercept,
        intercept_scaling=intercept_scaling if penalised else None,
        class_weight=model.class_weight, absolute=0.0 if free else ratio,
    )  # fmt: skip


def _linear_svc(model: Any) -> Claim:
    """``C * sum + |(w, b / scaling)|^2 / 2``; Crammer and Singer's for two classes has one w.

    With ``penalty="l1"`` the sum of absolute values instead of half the square.
    """
    l1 = model.penalty == "l1"
    joint = model.multi_class == "crammer_singer"
    # w = w_1 - w_0 with w_0 = -w_1: half the sum of both squares is a quarter of |w|^2.
    two = len(getattr(model, "classes_", ())) == 2
    return Claim(
        get_loss("hinge" if joint else LOSSES[model.loss]), float(model.C),
        0.0 if l1 else 0.25 if joint and two else 0.5, one_vs_rest=not joint,
        fit_intercept=model.fit_intercept, absolute=float(l1),
        intercept_scaling=float(model.intercept_scaling) if model.fit_intercept else None,
        class_weight=model.class_weight,
    )  # fmt: skip


def _sgd(model: Any) -> Claim:
    """``sum / n + alpha * ((1 - r) |w|^2 / 2 + r |w|_1)``; n, also where rows have weights."""
    loss = getattr(model, "loss", "perceptron")
    if model.early_stopping:
        raise _refuse(
            model, "early_stopping=True", "it trains on a part of the rows that is not recorded"
        )
    if getattr(model, "learning_rate", "") in ("pa1", "pa2"):
        raise _refuse(
            model, f"learning_rate={model.learning_rate!r}", "its steps descend no objective"
        )
    if loss not in LOSSES:
        why = "it is a loss for regression" if loss != "modified_huber" else "it is missing here"
        raise _refuse(model, f"loss={loss!r}", why)
    alpha = 0.0 if model.penalty is None else float(model.alpha)
    ratio = {"l1": 1.0, "elasticnet": float(model.l1_ratio)}.get(model.penalty, 0.0)
    return Claim(
        get_loss(LOSSES[loss]), 1.0, 0.5 * alpha * (1.0 - ratio), "rows", one_vs_rest=True,
        fit_intercept=model.fit_intercept, class_weight=model.class_weight, counts_rows=True,
        absolute=alpha * ratio,
    )  # fmt: skip


def _ridge(model: Any) -> Claim:
    """``sum of (t - s)^2 + alpha * |w|^2`` with targets t of -1 and +1: the squared loss here."""
    if getattr(model, "positive", False):
        raise _refuse(model, "positive=True", "bounds on weights are not supported here")
    if hasattr(model, "alphas") and not hasattr(model, "alpha_"):
        raise _refuse(model, "...", "it chooses alpha when it is fitted")
    alpha = np.ravel(model.alpha_ if hasattr(model, "alphas") else model.alpha)
    if len(alpha) != 1:
        raise _refuse(model, "alpha of several numbers", "every class has a separate penalty")
    return Claim(
        get_loss("squared"), 1.0, float(alpha[0]), fit_intercept=model.fit_intercept,
        class_weight=model.class_weight, counts_rows=True,
    )  # fmt: skip


def _own(model: Any) -> Claim:
    if hasattr(model, "survivors_"):
        raise _refuse(model, "keep='voted'", "many weight vectors vote, and minimise no objective")
    loss = get_loss(getattr(model, "loss", "perceptron"))
    l2 = float(getattr(model, "l2_", getattr(model, "l2", 0.0)))
    l1 = float(getattr(model, "l1_", getattr(model, "l1", 0.0)))
    groups = checked_groups(getattr(model, "groups", None))
    weights = getattr(model, "penalty_weights", None)
    given = model.get_params(deep=False).get("penalty")
    for name in ("bounds", "monotone"):
        if getattr(model, name, None) is not None:
            raise _refuse(model, f"{name}=...", "constraints on weights are not supported here")
    if given is not None:
        # A claim is written in their numbers.
        if not isinstance(given, L2 | ElasticNet | GroupLasso):
            raise _refuse(model, f"penalty={type(given).__name__}(...)", "no claim is known of it")
        l1, l2, weights, groups = given.l1, given.l2, given.weights, given.groups
    return Claim(
        loss, 1.0, l2, "weights", fit_intercept=model.fit_intercept,
        class_weight=model.class_weight, absolute=l1,
        feature_weights=None if weights is None else tuple(map(float, weights)), groups=groups,
    )  # fmt: skip


CLAIMS: dict[tuple[str, str], Callable[[Any], Claim]] = {
    ("sklearn", "LogisticRegression"): _logistic_regression,
    ("sklearn", "LogisticRegressionCV"): _logistic_regression_cv,
    ("sklearn", "LinearSVC"): _linear_svc,
    ("sklearn", "SGDClassifier"): _sgd,
    ("sklearn", "RidgeClassifier"): _ridge,
    ("sklearn", "RidgeClassifierCV"): _ridge,
    ("sklearn", "Perceptron"): _sgd,
    ("separatrix", "LinearClassifier"): _own,
    ("separatrix", "LinearClassifierCV"): _own,
    ("separatrix", "Perceptron"): _own,
}
"""By package and name: importing all of scikit-learn would take longer than many fits."""
