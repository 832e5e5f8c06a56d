"""Passive-aggressive learning, I and II."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..numeric import checks
from ..numeric.types import AnyArray, Array
from ..objective import Objective
from ..separation import Separability
from ..solvers import Solver
from ..training.loop import Callback
from ..training.minimize import Result
from ..training.mistake_bound import passive_aggressive_bound
from ..training.stopping import Stop
from .base import FitSettings
from .foreign_parameters import translating
from .online_rules import OnlineRuleModel

RULES = {"hinge": "passive_aggressive_1", "squared_hinge": "passive_aggressive_2"}


class PassiveAggressive(OnlineRuleModel):
    """Passive-aggressive learning: the smallest change of the weights that gives a row a margin.

    A row whose margin ``m = y * (w.x + b)`` is 1 or more changes nothing. Any other row changes
    the weights by ``tau * y * z`` with z = (x, 1), where the loss ``1 - m`` decides tau:

    - ``loss="hinge"`` (PA-I): ``tau = min(C, (1 - m) / |z|^2)``;
    - ``loss="squared_hinge"`` (PA-II): ``tau = (1 - m) / (|z|^2 + 1 / (2 * C))``.

    For more than two classes there is one weight vector per class; the margin is the score of the
    true class minus the score of the best rival (the first in a tie). The true class then gains
    ``tau * z``, the rival loses it, and ``2 * |z|^2`` takes the place of ``|z|^2``.

    Parameters
    ----------
    C : float
        Aggressiveness: the larger, the longer the steps. Noisy labels need a small C.
    loss : {"hinge", "squared_hinge"}
        The rule, PA-I or PA-II.
    max_iter : int
        Maximum number of passes over the data.
    tol : float or None
        Stop when the loss during a pass and the weights barely change.
    patience : int or None
        Stop after this many consecutive passes without fewer mistakes than in the best pass before.
    stop : Stop or None
        More rules, which end a fit early: ``Stop(validation=(X_val, y_val), patience=5)`` when the
        hinge loss of these rows has not fallen for 5 passes, ``Stop(seconds=60)`` after a minute.
    shuffle : bool
        Permute the rows anew in every pass, from one seed; else keep the given order.
    keep : {"last", "best", "average"}
        Which weights to return: the last; those at the pass end with the fewest mistakes; the mean
        after every visit. With ``partial_fit``, where each call is one pass, the best is the last.
    start : {"zeros", "random", "sum"} or array
        Initial weights: (d + 1,) or (k, d + 1), bias last. "sum" is the sum of y * (x, 1).
    fit_intercept : bool
        Whether to fit a bias.
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
    monitor : Separability or None
        The result of :func:`separatrix.separability` for this data. ``history_`` then has
        ``mistakes_so_far`` and ``mistake_bound``, and ``mistake_bound_`` is set. Refused if the
        theory does not apply: it requires separable rows of weight 1, a bias, and zeros as the
        start.

    Attributes
    ----------
    coef_ : array (1, d), or (k, d) for k > 2 classes
        Weights.
    intercept_ : array (1,) or (k,)
        Biases.
    classes_ : array (k,)
        The labels; of two, the larger is +1.
    mistake_bound_ : float or None
        Bound on the number of mistakes of the whole run, over any number of passes; None without a
        ``monitor``. With the margin gamma and the longest row R of the monitor,
        ``max(R^2, 1 / C) / gamma^2`` for PA-I and ``(R^2 + 1 / (2 * C)) / gamma^2`` for PA-II; for
        more than two classes with ``2 * R^2``.
    decision_ : Decision
        How it decides, after ``set_decision`` or ``tune_threshold``; ``fit`` removes it.
    n_iter_ : int
        Number of passes.
    n_updates_ : int
        Number of visited rows that changed the weights, in all passes.
    embedding_strengths_ : array (n,)
        In how many passes each row changed the weights.
    stop_ : str
        "tol", "no progress", "cycle", "max_iter", "validation", "seconds", "callback" or
        "interrupted", as in :class:`Perceptron`. A pass without mistakes does not end the fit: rows
        within the margin still change the weights, until "tol" or, after ``patience`` passes, "no
        progress".
    converged_ : bool
        Whether ``stop_`` is "tol".
    history_ : dict of arrays
        ``pass``, ``objective`` (the mean hinge loss), ``mistakes``, ``norm``, ``seconds``: one
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
    Perceptron : fixed steps, and only on mistakes.
    AROW : a step size for each feature.
    LinearClassifier : minimises the hinge loss with a penalty.

    Notes
    -----
    scikit-learn's ``PassiveAggressiveClassifier`` has the same C and loss. It leaves the bias out
    of ``|z|^2``, trains each class against the rest, and multiplies a step by the sample weight;
    here the bias counts, the classes are trained together, and a row of weight 2 is the row twice.

    Examples
    --------
    >>> from separatrix import PassiveAggressive
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 0, 0, 1]
    >>> clf = PassiveAggressive(C=1.0, shuffle=False).fit(X, y)
    >>> clf.predict(X), clf.score(X, y)
    (array([0, 0, 0, 1]), 1.0)
    """

    mistake_bound_: float | None

    @translating
    def __init__(
        self,
        C: float = 1.0,
        *,
        loss: str = "hinge",
        max_iter: int = 1000,
        tol: float | None = 1e-3,
        patience: int | None = 20,
        stop: Stop | None = None,
        shuffle: bool = True,
        keep: str = "last",
        start: Any = "zeros",
        fit_intercept: bool = True,
        class_weight: Any = None,
        warm_start: bool = False,
        random_state: Any = None,
        callbacks: Sequence[Callback] = (),
        verbose: bool = False,
        monitor: Separability | None = None,
    ) -> None:
        self.C = C
        self.loss = loss
        self.max_iter = max_iter
        self.tol = tol
        self.patience = patience
        self.stop = stop
        self.shuffle = shuffle
        self.keep = keep
        self.start = start
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.random_state = random_state
        self.callbacks = callbacks
        self.verbose = verbose
        self.monitor = monitor

    def _rule_and_parameter(self) -> tuple[str, float]:
        loss = checks.choice("loss", self.loss, tuple(RULES))
        return RULES[loss], checks.number("C", self.C, strict=True)

    def _check_stream(self) -> None:
        if self.monitor is not None:
            raise ValueError(
                "monitor needs a whole fit from its start, but partial_fit continues from where "
                "the last call ended; set monitor=None, or call fit"
            )

    def _watched(
        self, settings: FitSettings, objective: Objective, solver: Solver, W: Array
    ) -> FitSettings:
        """With a monitor, add its bound to each pass."""
        settings = super()._watched(settings, objective, solver, W)
        if self.monitor is None:
            return settings
        solver.check(objective)  # before the data is read for the monitor
        rule, C = self._rule_and_parameter()
        bound = passive_aggressive_bound(self.monitor, objective, W, rule=rule, C=C)
        return replace(settings, watchers=(*settings.watchers, bound))

    def _finish(self, objective: Objective, result: Result) -> None:
        super()._finish(objective, result)
        bound: AnyArray = self.history_.get("mistake_bound", np.empty(0))
        self.mistake_bound_ = float(bound[-1]) if len(bound) else None
