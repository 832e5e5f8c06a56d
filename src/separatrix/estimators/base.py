"""What the estimators share: from data and parameters to a fitted model, all or nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from ..data import ArraySource
from ..data.arrays import scores, small_scores
from ..data.validation import (
    array_source,
    check_classes,
    check_labels,
    check_rows,
    check_scores,
    plain_rows,
)
from ..losses import Loss
from ..numeric import checks
from ..numeric.types import AnyArray, Array, Ints
from ..objective import Objective
from ..penalties import L2
from ..solvers import Solver, State
from ..training.ending import CONVERGED
from ..training.interrupt import gentle_interrupt
from ..training.loop import Callback
from ..training.minimize import Result, minimize
from ..training.progress import progress_line
from ..training.stopping import Stop
from ..training.trace import Trace


@dataclass(frozen=True)
class Plan:
    """Hyper-parameters after their check."""

    loss: Loss
    l2: float
    stop: Stop
    keep: str
    watchers: tuple[Callback, ...] = ()
    """Called after every pass, before the user's own callbacks."""

    def kept_by(self, solver: Solver) -> Plan:
        """A solver that averages is asked for its average."""
        averages = self.keep == "last" and getattr(solver, "average", False)
        return replace(self, keep="average") if averages else self


@dataclass(frozen=True)
class Resume:
    """Where ``partial_fit`` goes on: the solver asked for, the one that runs, and its state."""

    asked: Solver
    used: Solver
    state: State | None
    streams: bool = False


class LinearModel(ClassifierMixin, BaseEstimator):
    """A linear classifier, whatever trains it."""

    # Set by subclasses' __init__.
    start: Any
    fit_intercept: bool
    class_weight: Any
    warm_start: bool
    random_state: Any
    callbacks: Any
    verbose: bool
    # Set by fit.
    coef_: Array
    intercept_: Array
    classes_: AnyArray
    n_iter_: int
    n_updates_: int
    converged_: bool
    stop_: str
    history_: dict[str, AnyArray]
    trace_: Trace
    n_features_in_: int
    _resume: Resume

    def _plan(self) -> Plan:
        raise NotImplementedError

    def _solver(self, objective: Objective, partial: bool) -> Solver:
        raise NotImplementedError

    # ---- training ------------------------------------------------------------------------

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> tuple[Objective, Result]:
        plan = self._checked_plan()
        source = self._source(X, y, sample_weight)
        objective = self._objective(plan, source)
        solver = self._solver(objective, partial=False)
        seed = checks.seed(self.random_state)
        W = self._start(objective, seed)
        return objective, self._train(plan, objective, solver, seed, W)

    def _train(
        self, plan: Plan, objective: Objective, solver: Solver, seed: int, W: Array
    ) -> Result:
        """All passes over all rows, and what they leave to see."""
        result = self._minimize(plan.kept_by(solver), objective, solver, seed, W, None)
        self._resume = Resume(solver, solver, result.state)
        self.n_iter_, self.n_updates_ = len(result.history["pass"]), self.trace_.n_updates
        self.history_ = result.history
        return result

    def _partial_fit(
        self, X: Any, y: Any, classes: Any, sample_weight: Any
    ) -> tuple[Objective, Result]:
        if isinstance(self.class_weight, str) and self.class_weight == "balanced":
            raise ValueError(
                "class_weight='balanced' needs all rows at once, and partial_fit sees a few at a "
                "time: compute the weights with sklearn.utils.class_weight.compute_class_weight "
                "and pass them as a dict, class_weight={label: weight, ...}"
            )
        plan = self._checked_plan()
        first = not hasattr(self, "classes_")
        known = self._told_classes(y, classes, first)
        source = self._source(X, y, sample_weight, classes=known, reset=first)
        objective = self._objective(plan, source)
        solver = self._solver(objective, partial=True)
        if not solver.by_row:
            raise ValueError(
                f"{solver!r} needs all rows at once and cannot go on with a few; use "
                "solver=GradientDescent(batch_size=1), or 'auto', which means it here"
            )
        here, W, seed = self._where_it_stands(objective, solver)
        state, seen = _counted(here.state, source)
        # A chunk without mistakes proves nothing, and chunks differ: no cycle, no best.
        keep = {"auto": "average", "best": "last"}.get(plan.keep, plan.keep)
        plan = replace(plan, stop=Stop(max_iter=1, cycle=False, prove=False), keep=keep)
        with gentle_interrupt() as ctrl_c:
            result = self._minimize(plan, objective, here.used, seed, W, state)
        if ctrl_c.pressed:
            self.stop_ = result.stop = "interrupted"
        self._resume = replace(here, state=result.state | seen, streams=True)
        self.n_iter_ = getattr(self, "n_iter_", 0) + 1
        self.n_updates_ = getattr(self, "n_updates_", 0) + self.trace_.n_updates
        before = getattr(self, "history_", None)
        self.history_ = result.history if before is None else _longer(before, result.history)
        return objective, result

    def _pass_on_interrupt(self) -> None:
        """After ``partial_fit``: its pass is kept, and the loop of calls around it has to end."""
        if self.stop_ == "interrupted":
            raise KeyboardInterrupt(
                "interrupted: the pass of this partial_fit had ended, and is kept"
            )

    def _objective(self, plan: Plan, source: ArraySource) -> Objective:
        """Two classes have the form of their own, more the joint one."""
        loss = plan.loss if len(source.classes) == 2 else plan.loss.multiclass()
        return Objective(loss, L2(plan.l2), source, self.fit_intercept)

    def _checked_plan(self) -> Plan:
        checks.flag("fit_intercept", self.fit_intercept)
        checks.flag("warm_start", self.warm_start)
        checks.switch("verbose", self.verbose)
        checks.callables("callbacks", self.callbacks)
        return self._plan()

    def _source(
        self, X: Any, y: Any, sample_weight: Any, classes: Any = None, reset: bool = True
    ) -> ArraySource:
        rows = check_rows(X, owner=self)
        self._check_features(X, reset)
        return array_source(
            rows, y, classes=classes, sample_weight=sample_weight,
            class_weight=self.class_weight, n_jobs=getattr(self, "n_jobs", None),
        )  # fmt: skip

    def _check_features(self, X: Any, reset: bool) -> None:
        """Number and names of the features: noted, or compared with those of the fit."""
        nameless = type(X) is np.ndarray and not hasattr(self, "feature_names_in_")
        if nameless and (reset or X.shape[1] == self.n_features_in_):
            self.n_features_in_ = X.shape[1]
        else:
            validate_data(self, X, reset=reset, skip_check_array=True)

    def _told_classes(self, y: Any, classes: Any, first: bool) -> AnyArray:
        """Classes known before this call, or told by it."""
        if classes is None and not first:
            return self.classes_
        y = check_labels(y)
        if classes is not None:
            told: AnyArray = np.unique(classes)
            if not first and not np.array_equal(told, self.classes_):
                raise ValueError(
                    f"classes={told.tolist()!r} differ from those of the first call, "
                    f"{self.classes_.tolist()!r}; start a new model for other classes"
                )
            return check_classes(told)
        found: AnyArray = np.unique(y)
        if len(found) < 2:
            raise ValueError(
                f"the first call of partial_fit got rows of only one class, {found.tolist()!r}: "
                "pass classes=[...] with every label that will ever come"
            )
        return check_classes(found)

    def _where_it_stands(self, objective: Objective, asked: Solver) -> tuple[Resume, Array, int]:
        """How a stream goes on: solver and state, weights, and seed."""
        if not hasattr(self, "_resume"):
            seed = checks.seed(self.random_state)
            fresh = Resume(asked, asked.for_partial_fit(objective), None)
            return fresh, self._start(objective, seed), seed
        before, W, seed = self._resume, self._weights(), self.trace_.seed
        if before.asked != asked:
            return Resume(asked, asked.for_partial_fit(objective), None), W, seed
        if before.streams:
            return before, W, seed
        return Resume(asked, asked.for_partial_fit(objective), before.state), W, seed

    def _start(self, objective: Objective, seed: int) -> Array:
        """The weights to begin with."""
        if self.warm_start and hasattr(self, "coef_"):
            return self._warm(objective)
        if not isinstance(self.start, str):
            return checks.start_array(self.start, objective.shape, self.fit_intercept)
        start = checks.choice("start", self.start, ("zeros", "random", "sum"))
        if start == "zeros":
            return np.zeros(objective.shape)
        if start == "sum":
            return objective.signed_row_sum()
        W = np.random.default_rng((seed, 2**32)).standard_normal(objective.shape)
        W[:, -1] *= self.fit_intercept
        return W

    def _warm(self, objective: Objective) -> Array:
        if not np.array_equal(self.classes_, objective.source.classes):
            raise ValueError(
                f"warm_start=True, but the labels {objective.source.classes.tolist()!r} are not "
                f"those of the earlier fit, {self.classes_.tolist()!r}; set warm_start=False"
            )
        W = self._weights()
        if W.shape != objective.shape:
            raise ValueError(
                f"warm_start=True, but X has {objective.shape[1] - 1} features and the earlier "
                f"fit had {W.shape[1] - 1}; set warm_start=False"
            )
        W[:, -1] *= self.fit_intercept
        return W

    def _minimize(
        self,
        plan: Plan,
        objective: Objective,
        solver: Solver,
        seed: int,
        W: Array,
        state: State | None,
    ) -> Result:
        source = objective.source
        n = len(source.y) if isinstance(source, ArraySource) else source.n_rows
        self.trace_ = Trace(
            solver, objective.loss, plan.l2, self.fit_intercept, self.class_weight,
            source.classes, W, seed, n, source.weight_sum, state,
        )  # fmt: skip
        result = minimize(
            objective, solver, stop=plan.stop, callbacks=(*plan.watchers, *self.callbacks),
            seed=seed, start=W, state=state, keep=plan.keep, trace=self.trace_,
            progress=progress_line(self.verbose),
        )  # fmt: skip
        self.classes_ = source.classes
        self.coef_, self.intercept_ = result.weights[:, :-1].copy(), result.weights[:, -1].copy()
        self.stop_ = result.stop
        self.converged_ = result.stop in CONVERGED
        return result

    @property
    def embedding_strengths_(self) -> Ints:
        """How often each row moved the weights, (n,); for solvers that tell rows apart."""
        check_is_fitted(self)
        if self.trace_.strengths is None:
            raise AttributeError(
                f"{self.trace_.solver!r} moves the weights with all rows at once: there is no "
                "count per row"
            )
        return self.trace_.strengths.astype(np.int64)

    # ---- use -----------------------------------------------------------------------------

    def _weights(self) -> Array:
        return np.concatenate([self.coef_, self.intercept_[:, None]], axis=1)

    def decision_function(self, X: Any) -> Array:
        """Scores ``w.x + b``: for two classes (n,), above 0 for the larger; else (n, k)."""
        check_is_fitted(self)
        W, n_jobs = self._weights(), getattr(self, "n_jobs", None)
        named = hasattr(self, "feature_names_in_")
        plain = not named and plain_rows(X) and X.shape[1] == self.n_features_in_
        rows = X if plain else check_rows(X, owner=self, finite=False)
        if not plain:
            validate_data(self, X, reset=False, skip_check_array=True)
        result = scores(rows, W, n_jobs)
        # A value that is not finite leaves no finite score behind: only then look for one.
        if not np.all(np.isfinite(result)):
            check_rows(X, owner=self)
            check_scores(result, lambda: small_scores(rows, W, n_jobs))
        return result[:, 0] if len(self.classes_) == 2 else result

    def predict(self, X: Any) -> AnyArray:
        """Class of each row; on a tie of two classes the larger, of more the first."""
        scores = self.decision_function(X)
        if len(self.classes_) == 2:
            # A third of the time that it takes to pick by number.
            return np.where(scores >= 0.0, self.classes_[1:], self.classes_[:1])
        predicted: AnyArray = self.classes_[scores.argmax(axis=1)]
        return predicted

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "coef_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @contextmanager
    def _all_or_nothing(self) -> Iterator[Self]:
        """If the fit fails, the estimator is as it was before."""
        before = dict(vars(self))
        try:
            yield self
        except BaseException:
            self.__dict__ = before
            raise


def _counted(state: State | None, source: ArraySource) -> tuple[State | None, State]:
    """Where a stream stands, its weights in this source's unit; and its counts with these rows.

    A unit of weights is a power of two. Counts are kept in that of the larger weights: what then
    underflows was as nothing beside them.
    """
    power, rows, weight = source.weight_power, 0, 0.0
    if state is not None:
        rows, weight = state["rows_before"], state["weight_before"]
        shift = power - state.get("weight_power", 0)
        with np.errstate(over="ignore"):
            state = state | {"weight_before": float(np.ldexp(weight, shift))}
        power -= max(shift, 0)
        weight = float(np.ldexp(weight, min(shift, 0)))
    weight += float(np.ldexp(source.weight_sum, power - source.weight_power))
    seen = {"rows_before": rows + source.n_rows, "weight_before": weight, "weight_power": power}
    return state, seen


def _longer(before: dict[str, AnyArray], after: dict[str, AnyArray]) -> dict[str, AnyArray]:
    """A history continued: passes and seconds count on; a monitor's columns end with its fit."""
    shifted = dict(after)
    for name in ("pass", "seconds"):
        shifted[name] = after[name] + before[name][-1]
    return {name: np.concatenate([before[name], shifted[name]]) for name in after}
