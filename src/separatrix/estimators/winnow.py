"""Winnow: positive weights, multiplied on mistakes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..data import Source
from ..data.feature_map import FeatureMap
from ..losses import PerceptronLoss
from ..numeric import checks
from ..numeric.types import Array
from ..objective import Objective
from ..training.disjunction import disjunction_size
from ..training.loop import Callback
from ..training.minimize import Result
from ..training.stopping import Stop
from .base import FitSettings
from .foreign_parameters import translating
from .online_rules import OnlineRuleModel

ROUNDING = 1e-9  # relative: the bound is raised by more than its logarithms are rounded


class Winnow(OnlineRuleModel):
    """Winnow: the perceptron with multiplied, positive weights, for many irrelevant features.

    The weights begin at 1, and the score of a row is ``w.x - threshold``. A row is a mistake when
    ``y * score <= 0``; then ``w_j *= factor^(y * x_j)`` for every feature, which changes nothing
    where ``x_j = 0``. Features have to be 0 or more. They are usually 0 or 1; then the number of
    mistakes grows only with the logarithm of the number of features. Two classes alone: for more
    use scikit-learn's ``OneVsRestClassifier``.

    Parameters
    ----------
    factor : float
        What weights are multiplied with, above 1.
    threshold : float or None
        The score from which on a row is of the larger class; None: the number of features.
    max_iter : int
        Maximum number of passes over the data.
    tol : float or None
        Stop when the loss during a pass and the weights barely change.
    patience : int or None
        Stop after this many consecutive passes without fewer mistakes than in the best pass before.
    stop : Stop or None
        More rules, which end a fit early: ``Stop(validation=(X_val, y_val), patience=5)`` when the
        perceptron loss of these rows has not fallen for 5 passes, ``Stop(seconds=60)`` after a
        minute.
    shuffle : bool
        Permute the rows anew in every pass, from one seed; else keep the given order.
    keep : {"last", "best", "average"}
        Which weights to return: the last; those at the pass end with the fewest mistakes; the mean
        after every visit. With ``partial_fit``, where each call is one pass, the best is the last.
    class_weight : dict, "balanced" or None
        Weights of the classes, times the sample weights.
    warm_start : bool
        Start from the weights of the previous fit.
    random_state : int, Generator, RandomState or None
        Seed of the shuffles and of ``start="random"``.
    callbacks : sequence of callables
        ``callback(step, info) -> bool | None`` after every pass, as in :class:`Perceptron`.
    verbose : bool or int
        Show progress on stderr, unless False or 0.

    Attributes
    ----------
    coef_ : array (1, d)
        Weights, all above 0.
    intercept_ : array (1,)
        The threshold, negated.
    classes_ : array (2,)
        The labels; the larger is +1.
    mistake_bound_ : float or None
        Bound on the number of mistakes of the whole run, over any number of passes:
        ``(1 + factor) * k * (log(threshold) / log(factor) + 1) + factor * d / ((factor - 1) *
        threshold)``, where k features exist of which every row of the larger class has at least
        one, and no row of the other. k is found by a greedy search, so that fewer may do. None if
        there are none, if features are not 0 or 1, if a weight of a row is not 1, if the threshold
        is below 1, and after ``partial_fit`` or a warm start.
    decision_ : Decision
        How it decides, after ``set_decision`` or ``tune_threshold``; ``fit`` removes it.
    n_iter_ : int
        Number of passes.
    n_updates_ : int
        Number of visited rows that changed the weights, in all passes.
    embedding_strengths_ : array (n,)
        In how many passes each row changed the weights.
    stop_ : str
        "no mistakes", "tol", "no progress", "cycle", "max_iter", "validation", "seconds",
        "callback" or "interrupted", as in :class:`Perceptron`.
    converged_ : bool
        Whether ``stop_`` is "no mistakes" or "tol".
    history_ : dict of arrays
        ``pass``, ``objective`` (the mean perceptron loss), ``mistakes``, ``norm``, ``seconds``: one
        entry per pass. Loss and mistakes are counted during the pass, each row before its update.
    trace_ : Trace
        ``for step in clf.trace_.replay(X, y)`` yields every intermediate weight vector.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : array
        Names of the features seen during fit, if X has names.
    coef_names_ : array (d,)
        Names of the weights.
    uses_offset_ : bool
        False: the rule takes no offset.
    split_ : Split or None
        Which rows of files were held out before the fit, if any.
    unknown_categories_ : dict
        For a model that was fitted to files, as in :class:`Perceptron`.

    See Also
    --------
    Perceptron : weights of both signs, by addition.
    PassiveAggressive : as far as a margin asks for.

    Examples
    --------
    >>> from separatrix import Winnow
    >>> X, y = [[0, 0, 1], [0, 1, 0], [1, 0, 0], [1, 1, 1]], [0, 1, 1, 1]
    >>> clf = Winnow(shuffle=False).fit(X, y)
    >>> clf.predict(X), clf.coef_, clf.intercept_
    (array([0, 1, 1, 1]), array([[4., 4., 1.]]), array([-3.]))
    """

    mistake_bound_: float | None
    fit_intercept = True
    start = "zeros"

    @translating
    def __init__(
        self,
        factor: float = 2.0,
        *,
        threshold: float | None = None,
        max_iter: int = 1000,
        tol: float | None = None,
        patience: int | None = 20,
        stop: Stop | None = None,
        shuffle: bool = True,
        keep: str = "last",
        class_weight: Any = None,
        warm_start: bool = False,
        random_state: Any = None,
        callbacks: Sequence[Callback] = (),
        verbose: bool = False,
    ) -> None:
        self.factor = factor
        self.threshold = threshold
        self.max_iter = max_iter
        self.tol = tol
        self.patience = patience
        self.stop = stop
        self.shuffle = shuffle
        self.keep = keep
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.random_state = random_state
        self.callbacks = callbacks
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.positive_only = True
        tags.classifier_tags.poor_score = True  # not every class grows with the features
        return tags

    def _rule_and_parameter(self) -> tuple[str, float]:
        return "winnow", checks.number("factor", self.factor, least=1.0, strict=True)

    def _settings(self) -> FitSettings:
        settings = super()._settings()
        if self.threshold is not None:
            checks.number("threshold", self.threshold, strict=True)
        stop = replace(settings.stop, no_mistakes=True)
        return replace(settings, loss=PerceptronLoss(), stop=stop)

    def _objective(self, settings: FitSettings, source: Source) -> Objective:
        if len(source.classes) > 2:
            raise ValueError(
                "Only binary classification is supported. The type of the target is multiclass: y "
                f"has {len(source.classes)} classes; use sklearn's OneVsRestClassifier(Winnow()), "
                "or Perceptron"
            )
        return super()._objective(settings, source)

    def _start(self, objective: Objective, seed: int, features: FeatureMap | None = None) -> Array:
        """Weights of 1 and the threshold, or the weights of the previous fit."""
        W = np.ones(objective.shape)
        if self.warm_start and hasattr(self, "coef_"):
            W = super()._start(objective, seed, features)
        W[:, -1] = -self._threshold(objective.shape[1] - 1)
        return W

    def _threshold(self, n_features: int) -> float:
        return float(max(1, n_features) if self.threshold is None else self.threshold)

    def _finish(self, objective: Objective, result: Result) -> None:
        super()._finish(objective, result)
        d, self.mistake_bound_ = objective.shape[1] - 1, None
        fresh = not self._stream.streams and bool(np.all(self.trace_.start[:, :-1] == 1.0))
        threshold = self._threshold(d)
        k = disjunction_size(objective.source) if fresh and threshold >= 1.0 else None
        if k is not None:
            self.mistake_bound_ = winnow_bound(k, d, float(self.factor), threshold)


def winnow_bound(k: int, n_features: int, factor: float, threshold: float) -> float:
    """Bound on the mistakes of Winnow on rows that k features separate (Littlestone, 1988)."""
    promotions = k * (math.floor(math.log(threshold) / math.log(factor) + ROUNDING) + 1)
    bound = (1.0 + factor) * promotions + factor * n_features / ((factor - 1.0) * threshold)
    return bound * (1.0 + ROUNDING)
