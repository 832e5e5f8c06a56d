"""Code shared by the estimators that minimise a loss: solver, stopping rules, probabilities."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from functools import update_wrapper
from types import MethodType
from typing import Any, Self, cast

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from ..data.cluster.dask_input import is_dask
from ..data.device_arrays import like
from ..losses import Loss, get_loss
from ..losses.multilabel import multilabel
from ..numeric import checks
from ..numeric.types import Array
from ..objective import Objective
from ..penalties import Penalty
from ..solvers import GradientDescent, Solver, choose
from ..training.minimize import Result
from ..training.no_minimum import Runaway
from ..training.stopping import Stop
from .base import FitSettings, LinearModel
from .lazy import lazily
from .prior_correction import prior_shift
from .sigmoid import Sigmoids

MOST_NAMED = 5  # coefficients in a warning
BY_ROW = GradientDescent(batch_size=1, reason="partial_fit goes row by row")


class _IfProbabilities:
    """A method that exists only if the loss defines probabilities; otherwise the error says why.

    Like ``available_if`` of scikit-learn, whose error gives no reason.
    """

    def __init__(self, method: Callable[..., Array]) -> None:
        self.method = method
        update_wrapper(cast(Any, self), method)

    def __get__(self, estimator: LossModel | None, owner: type) -> Callable[..., Array]:
        if estimator is None:
            return self.method
        try:
            loss = get_loss(estimator.loss)
        except (TypeError, ValueError) as error:
            raise AttributeError(str(error)) from error
        if not hasattr(loss, "probability") and estimator.probability is None:
            raise AttributeError(
                f"{owner.__name__} has no {self.method.__name__} with loss={loss.name!r}, which "
                "defines no probabilities: use loss='logistic', "
                "LinearClassifier(..., probability='loo'), or "
                "sklearn.calibration.CalibratedClassifierCV around this classifier"
            )
        return MethodType(self.method, estimator)


class LossModel(LinearModel):
    """A linear classifier with a ``loss``, a ``solver`` and ``n_jobs``."""

    loss: str | Loss
    solver: str | Solver
    max_iter: int
    tol: float | None
    n_jobs: int | None
    objective_: float
    gap_: float | None
    solver_: Solver
    _runaway: Runaway | None
    probability: str | None = None
    _takes_labels = True

    @property
    def multilabel_(self) -> bool:
        """Whether the model was fitted to rows with several labels each, an indicator matrix."""
        check_is_fitted(self)
        return self._has_labels

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

    @property
    def scale_(self) -> Array | None:
        """The factors that features were divided by for the fit; None without ``standardize``."""
        check_is_fitted(self)
        features = self._features
        if features is None or features.standardization is None:
            return None
        return features.standardization.scale[:-1]

    def _finish(self, objective: Objective, result: Result) -> None:
        self.solver_ = self.trace_.solver.after(result.state)
        if result.objective is None:  # a chunk of partial_fit
            self.objective_ = objective.value(result.weights)[0]
        else:
            self.objective_ = result.objective
        self.gap_ = None if result.proof is None else result.proof.gap
        self._runaway = result.runaway
        occupied = None if self._features is None else self._features.occupied
        if self._runaway is not None and occupied is not None:
            self._runaway = self._runaway.with_features(occupied)
        self._correct_prior()

    def _correct_prior(self) -> None:
        """With ``prior_correction``, take the class weights out of the intercepts."""
        self.__dict__.pop("prior_shift_", None)
        if "_class_factors" in self.__dict__:
            self.prior_shift_ = prior_shift(self._class_factors)
            self.intercept_ = self._corrected(self.intercept_)
            del self._class_factors

    def _corrected(self, intercept: Array) -> Array:
        """Intercepts of a fit that has not ended, as they will be reported."""
        factors = self.__dict__.get("_class_factors")
        return intercept if factors is None else intercept + prior_shift(factors)

    def _warn_of_the_end(self) -> None:
        if self._runaway is None and self.stop_ not in ("max_iter", "no progress", "diverged"):
            return
        scale = "" if self.standardize else "scale the features (standardize=True), "
        other = scale and f"{scale}or "
        text = {
            "max_iter": f"stopped at max_iter={self.max_iter} {self._reached()}: raise max_iter, "
            f"{scale}use another solver, or a larger l2 or tol",
            "no progress": f"cannot make more progress {self._reached()}: {other}use another "
            "solver, or a larger l2 or tol",
            "diverged": f"diverged {self._reached()}: lower learning_rate or start closer "
            f"(start='zeros'), {scale}or use solver='auto'",
        }.get(self.stop_, "")
        if self._runaway is not None:
            text = self._of_no_minimum(self._runaway)
        solver = replace(self.solver_, reason="")
        warnings.warn(f"{solver!r} {text}", ConvergenceWarning, stacklevel=3)

    def _reached(self) -> str:
        """Where the fit ended."""
        text = f"with the objective {self.objective_:.6g}"
        if self.gap_ is None or not np.isfinite(self.gap_):
            return text
        text += f", proven to be within {self.gap_:.3g} of its minimum"
        asked = "" if self.tol is None else f" (tol={self.tol:g} requires {{:.3g}})"
        return text + asked.format((self.tol or 0.0) * self.objective_)

    def _of_no_minimum(self, found: Runaway) -> str:
        remedy = "add a penalty, e.g. l2=1e-4"
        if not found.settled:
            return (
                f"stopped {self._reached()}; whether there is a minimum was not decided within ten "
                "times the reads of the fit, and there may be none, because some weights have no "
                f"penalty: {remedy}, or use separatrix.separability"
            )
        fast = [str(name) for name in self.coef_names_[list(found.features)]]
        off = fast[:MOST_NAMED] + ["the intercept"] * found.intercept
        if len(fast) > MOST_NAMED:
            off.append(f"{len(fast) - MOST_NAMED} more features")
        return (
            f"stopped {self._reached()}, but there is no minimum: the data is {found.verdict} by "
            f"weights that have no penalty, so they diverge "
            f"({', '.join(off)}); {remedy}, or see separatrix.separability"
        )

    def _loss_settings(self, loss: Loss, penalty: Penalty) -> FitSettings:
        if self.n_jobs is not None and (not checks.is_integer(self.n_jobs) or self.n_jobs == 0):
            raise ValueError(
                f"n_jobs must be None, a positive whole number, or -1 for all, got {self.n_jobs!r}"
            )
        homogeneous = loss.for_classes(2).homogeneous
        stop = Stop(
            max_iter=checks.whole("max_iter", self.max_iter),
            tol=checks.optional_number("tol", self.tol),
            no_mistakes=homogeneous and penalty.absent,
        )
        return FitSettings(loss, penalty, stop, "best" if homogeneous else "last")

    def _asks_by_row(self) -> bool:
        return isinstance(self.solver, Solver) and self.solver.by_row

    def _solver(self, objective: Objective, partial: bool) -> Solver:
        if isinstance(self.solver, str) and self.solver == "auto":
            return BY_ROW if partial else choose(objective)
        if isinstance(self.solver, Solver):
            return self.solver
        raise ValueError(
            f"solver must be 'auto' or a solver such as LBFGS(), Newton(), LeastSquares() or "
            f"GradientDescent(batch_size=1), got {self.solver!r}"
        )

    def set_params(self, **params: Any) -> Self:
        """Set parameters; ``solver__x=...`` replaces the solver by one with another x."""
        example = "set_params(solver=GradientDescent(batch_size=32))"
        super().set_params(**self._with_nested("solver", params, example))
        return self

    def _with_nested(self, kind: str, params: dict[str, Any], example: str) -> dict[str, Any]:
        """Parameters with ``kind__x=...`` as an object of that kind with another x."""
        prefix, others = f"{kind}__", dict(params)
        nested = {
            name.removeprefix(prefix): others.pop(name)
            for name in params
            if name.startswith(prefix)
        }
        if not nested:
            return others
        given = others.get(kind, self.get_params(deep=False).get(kind))
        if not is_dataclass(given) or isinstance(given, type):
            raise ValueError(
                f"{kind}={given!r} has no parameters to set: name a {kind} first, e.g. {example}"
            )
        known = [f.name for f in fields(given) if f.name != "reason"]
        if unknown := sorted(set(nested) - set(known)):
            raise ValueError(
                f"Invalid parameter {unknown[0]!r} for {kind} {given!r}. "
                f"Valid parameters are: {known!r}."
            )
        reason = {"reason": ""} if hasattr(given, "reason") else {}
        others[kind] = replace(given, **nested, **reason)
        return others

    @_IfProbabilities
    def predict_proba(self, X: Any, offset: Any = None) -> Array:
        """Probability of each class, (n, k); only for losses that define one.

        ``offset`` is as in ``decision_function``.

        For "logistic" on more than two classes: softmax. For "one_vs_rest_logistic": the
        probability of each class against the rest, divided by their sum, as in OneVsRestClassifier
        of scikit-learn. After a fit to an indicator matrix: the probability of each label by
        itself, (n, q).
        """
        return self._probability(X, "probability", offset)

    @_IfProbabilities
    def predict_log_proba(self, X: Any, offset: Any = None) -> Array:
        """Logarithms of the probabilities, (n, k), without underflow."""
        return self._probability(X, "log_probability", offset)

    def _likelihood(self) -> Loss | Sigmoids:
        loss = get_loss(self.loss)
        if self._has_labels:
            return multilabel(loss)
        loss = loss.for_classes(len(self.classes_))
        sigmoid = self.__dict__.get("sigmoid_")
        return loss if sigmoid is None else Sigmoids(loss, sigmoid)

    def _probability(self, X: Any, kind: str, offset: Any) -> Array:
        if is_dask(X):
            self._check_dask(X, offset)
            method = "predict_proba" if kind == "probability" else "predict_log_proba"
            return cast(Array, lazily(self, method, X, len(self.classes_), np.float64, offset))
        return cast(Array, like(X, self._probability_at(self._scores(X, offset), kind)))

    def _probability_at(self, scores: Array, kind: str = "probability") -> Array:
        """Probabilities, or their logarithms, by scores of ``decision_function``."""
        loss = self._likelihood()
        if isinstance(loss, Sigmoids):
            scores, loss = loss.logits(scores), loss.model
        if kind == "log_probability" and not hasattr(loss, kind):
            return np.log(self._probability_at(scores))
        of = getattr(loss, kind)
        if self._columns is None:
            return np.column_stack([of(-scores), of(scores)])
        result: Array = of(scores)
        return result
