"""Code shared by the estimators: from data and parameters to a fitted model, all or nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any, cast

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..data import Source
from ..data.cluster.dask_input import dask_source, is_dask
from ..data.device_source import placed_source
from ..data.feature_map import FeatureMap, occupied_features, with_features
from ..data.offset import offset_source
from ..losses import Loss
from ..numeric import checks
from ..numeric.types import AnyArray, Array, Ints
from ..objective import Objective
from ..objective.feature_scales import feature_standardization
from ..penalties import Penalty
from ..proofs.units import original_weights, seen_weights
from ..solvers import Solver, State
from ..training.ending import CONVERGED
from ..training.loop import Callback
from ..training.minimize import Result, minimize
from ..training.progress import progress_line
from ..training.stopping import Stop
from ..training.trace import Trace
from .label_columns import given_start, loss_for
from .offsets import refuse_offset_beside
from .prior_correction import check_correctable
from .stop_parameter import with_rules, with_validation_rows
from .stream import StreamState
from .training_rows import TrainingRows
from .validation_loss import ValidationLoss, Watcher

ONNX = "separatrix.models.onnx_converter"
"""Imported only when skl2onnx converts a model: it is in a layer above."""


@dataclass(frozen=True)
class FitSettings:
    """Hyper-parameters after validation."""

    loss: Loss
    penalty: Penalty
    stop: Stop
    keep: str
    features: FeatureMap | None = None
    """Settings for the solver, if they differ from the given ones."""
    given: Source | None = None  # the rows before they were standardised, if they were
    watchers: tuple[Watcher, ...] = ()
    """Called after every pass, before the user's callbacks; the history gets their columns."""

    def kept_by(self, solver: Solver) -> FitSettings:
        """With these settings, make an averaging solver return its average."""
        averages = self.keep == "last" and getattr(solver, "average", False)
        return replace(self, keep="average") if averages else self


class AllOrNothing:
    """A context that restores the attributes of an estimator if an exception leaves it.

    A class and no generator, which calls more functions: ``partial_fit`` of a row takes so few.
    """

    def __init__(self, estimator: Any) -> None:
        self._estimator, self._before = estimator, dict(vars(estimator))

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            self._estimator.__dict__ = self._before


class LinearModel(TrainingRows):
    """A linear classifier, with any training method."""

    # Set by subclasses' __init__.
    start: Any
    fit_intercept: bool
    random_state: Any
    callbacks: Any
    verbose: bool
    standardize: bool = False
    stop: Stop | None = None
    _certifies = False  # whether ``stop`` may name rows whose predictions are to be certified
    # Set by fit.
    n_iter_: int
    n_updates_: int
    converged_: bool
    stop_: str
    history_: dict[str, AnyArray]
    trace_: Trace
    _stream: StreamState
    _features: FeatureMap | None

    def _settings(self) -> FitSettings:
        raise NotImplementedError

    def _solver(self, objective: Objective, partial: bool) -> Solver:
        raise NotImplementedError

    # ---- training ------------------------------------------------------------------------

    def _fit(
        self, X: Any, y: Any, sample_weight: Any, offset: Any = None
    ) -> tuple[Objective, Result]:
        settings = self._checked_settings()
        for name in ("decision_", "intercept_flic_"):
            self.__dict__.pop(name, None)
        if isinstance(X, Source):
            refuse_offset_beside(offset)
        if is_dask(X):
            X, y, sample_weight = dask_source(X, y, sample_weight, offset), None, None
            offset = None
        # Warnings of these name the caller of fit, counting the frames in between.
        found = self._given_source if isinstance(X, Source) else self._labelled_rows
        source = found(X, y, sample_weight)
        if offset is not None:
            source = offset_source(source, offset)
        source = placed_source(source, self.device)
        self._note_offset(source)
        source = self._as_trained(source)
        if settings.stop.validation is not None:
            stop = with_validation_rows(settings.stop, self, source)
            settings = replace(settings, stop=stop)
        settings = self._with_rows_to_certify(settings, source)
        settings, source = self._standardized(settings, source)
        seed = checks.seed(self.random_state)
        settings, objective, solver, W = self._posed(settings, source, seed)
        settings = self._watched(settings, objective, solver, W).kept_by(solver)
        result = self._minimize(settings, objective, solver, seed, W, None)
        self._note_fit(settings, solver, result)
        return objective, result

    @property
    def _own_objective(self) -> bool:
        """Whether the objective is not a loss on labelled rows plus a penalty."""
        return False

    @property
    def _labelled_rows(self) -> Callable[[Any, Any, Any], Source]:
        """What makes a source of X, y and sample_weight."""
        return self._source

    def _as_trained(self, source: Source) -> Source:
        """The rows with the labels that the fit uses, if these are not the given ones."""
        return source

    def _posed(
        self, settings: FitSettings, source: Source, seed: int
    ) -> tuple[FitSettings, Objective, Solver, Array]:
        """The objective, solver and start; features that no row stores are removed.

        Such features are kept where their weights are not 0 at the start, and if a solver visits
        single rows, because ``partial_fit`` continues from there and may encounter them.
        """
        objective = self._objective(settings, source)
        W = self._start(objective, seed, settings.features)
        occupied = None if self._asks_by_row() else occupied_features(source)
        if occupied is not None:
            given = settings.features or FeatureMap(source.n_features)
            features = replace(given, occupied=occupied)
            posed = replace(settings, penalty=settings.penalty.on_features(occupied))
            fewer = self._objective(posed, with_features(source, occupied))
            some = features.left(W)
            solver = self._solver(fewer, partial=False)
            if not solver.by_row and np.count_nonzero(some) == np.count_nonzero(W):
                return replace(settings, features=features), fewer, solver, some
        return settings, objective, self._solver(objective, partial=False), W

    def _asks_by_row(self) -> bool:
        """Whether the user chose a solver that visits single rows."""
        return True

    def _watched(
        self, settings: FitSettings, objective: Objective, solver: Solver, W: Array
    ) -> FitSettings:
        """The same settings, with observers of the whole fit: rows that the source holds out."""
        held_out = objective.source.validation
        if held_out is None or settings.stop.validation is not None:  # which has the same column
            return settings
        watch = ValidationLoss(objective.loss.unweighted, held_out)
        return replace(settings, watchers=(*settings.watchers, watch))

    def _note_fit(self, settings: FitSettings, solver: Solver, result: Result) -> None:
        """Set the attributes that describe a complete fit."""
        # Only partial_fit continues from it, row by row and with the features as given.
        state = result.state if solver.by_row and settings.features is None else None
        self._stream = StreamState(solver, solver, state)
        self.n_iter_, self.n_updates_ = len(result.infos), self.trace_.n_updates
        self.history_ = result.history
        for watcher in settings.watchers:
            self.history_ |= watcher.columns()

    def _standardized(self, settings: FitSettings, source: Source) -> tuple[FitSettings, Source]:
        """With ``standardize``, scale the features; return what converts their weights back."""
        if not self.standardize:
            return settings, source
        found = feature_standardization(source, centre=self.fit_intercept)
        features = FeatureMap(source.n_features, found)
        return replace(settings, features=features, given=source), features.source(source)

    def _objective(self, settings: FitSettings, source: Source) -> Objective:
        """The objective: two classes have their own form, more have the joint one, labels a sum."""
        loss = loss_for(settings.loss, source, self.class_weight)
        if self.prior_correction:
            check_correctable(self, loss)
        return Objective(loss, settings.penalty, source, self.fit_intercept)

    def _checked_settings(self) -> FitSettings:
        checks.flags(
            fit_intercept=self.fit_intercept, warm_start=self.warm_start,
            standardize=self.standardize, prior_correction=self.prior_correction,
        )  # fmt: skip
        checks.switch("verbose", self.verbose)
        checks.callables("callbacks", self.callbacks)
        settings = self._settings()
        if self.stop is None:
            return settings
        return replace(settings, stop=with_rules(settings.stop, self.stop, self._certifies))

    def _with_rows_to_certify(self, settings: FitSettings, source: Source) -> FitSettings:
        """The settings with the rows of ``Stop(certify=...)`` as a source."""
        return settings

    def _start(self, objective: Objective, seed: int, features: FeatureMap | None = None) -> Array:
        """The initial weights of the features that the solver sees."""
        if self.warm_start and hasattr(self, "coef_"):
            return seen_weights(self._warm(objective), features)
        if not isinstance(self.start, str):
            W = given_start(self, objective)
            return seen_weights(W, features)
        start = checks.choice("start", self.start, ("zeros", "random", "sum"))
        if start == "zeros":  # a perceptron changes what its offset gets wrong, and nothing else
            return np.zeros(objective.shape) if objective.loss.homogeneous else objective.zeros
        if start == "sum":
            return objective.signed_row_sum()
        W = np.random.default_rng((seed, 2**32)).standard_normal(objective.shape)
        W[:, -1] *= self.fit_intercept
        return W

    def _callbacks(self) -> tuple[Callback, ...]:
        """The callbacks of the fit to all rows."""
        return tuple(self.callbacks)

    def _drawn(self) -> tuple[str, ...]:
        """The random choices of a run, which may be made differently."""
        if not checks.is_left_to_chance(self.random_state):
            return ()
        warm = self.warm_start and hasattr(self, "coef_")
        random = isinstance(self.start, str) and self.start == "random" and not warm
        return ("seed", "start") if random else ("seed",)

    def _warm(self, objective: Objective) -> Array:
        labels = self._label_columns
        if labels is None and not np.array_equal(self.classes_, objective.source.classes):
            raise ValueError(
                f"warm_start=True, but the labels {objective.source.classes.tolist()!r} are not "
                f"those of the earlier fit, {self.classes_.tolist()!r}; set warm_start=False"
            )
        W = self._minimum() if labels is None else self._minimum()[labels.varying]
        if W.shape != objective.shape:
            raise ValueError(
                f"warm_start=True, but X has {objective.shape[1] - 1} features and the earlier "
                f"fit had {W.shape[1] - 1}; set warm_start=False"
            )
        W[:, -1] *= self.fit_intercept
        return W

    def _minimize(
        self,
        settings: FitSettings,
        objective: Objective,
        solver: Solver,
        seed: int,
        W: Array,
        state: State | None,
    ) -> Result:
        source = objective.source
        self.trace_ = Trace(
            solver, objective.loss, objective.penalty, self.fit_intercept, self.class_weight,
            source.classes.ravel(), W, seed, source.length, source.weight_sum, state,
            features=settings.features, parts=source.parts, own_objective=self._own_objective,
        )  # fmt: skip
        result = minimize(
            objective, solver, stop=settings.stop,
            callbacks=(*settings.watchers, *self._callbacks()), seed=seed, start=W, state=state,
            keep=settings.keep, trace=self.trace_,
            progress=progress_line(self.verbose), drawn=self._drawn(),
            features=settings.features, given=settings.given,
        )  # fmt: skip
        self.classes_, labels = source.classes, self._label_columns
        W = original_weights(result.weights, settings.features)
        if labels is not None:
            self.classes_, W = labels.names, labels.all_weights(W, objective.loss.attained)
        self.coef_, self.intercept_ = W[:, :-1].copy(), W[:, -1].copy()
        self._features = settings.features
        self.stop_ = self.trace_.stop = result.stop
        self.converged_ = result.stop in CONVERGED
        return result

    @property
    def embedding_strengths_(self) -> Ints:
        """How often each row moved the weights, (n,); for solvers that visit single rows."""
        check_is_fitted(self)
        if self.trace_.strengths is None:
            raise AttributeError(
                f"{self.trace_.solver!r} moves the weights with all rows at once: there is no "
                "count per row"
            )
        return self.trace_.strengths.astype(np.int64)

    def onnx_converter(self) -> Callable[[Any, Any, Any], None]:
        """Return the function with which skl2onnx converts this model."""
        return cast(Callable[[Any, Any, Any], None], import_module(ONNX).convert)

    def onnx_shape_calculator(self) -> Callable[[Any], None]:
        """Return the function with which skl2onnx finds the types of the outputs."""
        return cast(Callable[[Any], None], import_module(ONNX).shapes)
