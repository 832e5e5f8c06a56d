"""AROW: adaptive regularisation of weight vectors, with a variance for each weight."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..numeric import checks
from ..numeric.types import Array
from ..objective import Objective
from ..training.loop import Callback
from ..training.minimize import Result
from ..training.stopping import Stop
from .foreign_parameters import translating
from .online_rules import OnlineRuleModel


class AROW(OnlineRuleModel):
    """Adaptive regularisation of weight vectors (AROW), with a diagonal covariance.

    Every weight has a variance, 1 at first, which is small for weights that many rows have
    confirmed. With the loss ``l = max(0, 1 - y * (w.x + b))`` of a row, z = (x, 1), and the
    variances s, a row with a loss changes

    - the weights by ``l / (v + r) * y * s * z``, where ``v = sum_j s_j z_j^2``;
    - the variances to ``1 / (1 / s + z^2 / r)``.

    So rare features, whose variances are still large, take long steps. For more than two classes
    there is one weight vector, with its variances, per class; the loss is that of the score of the
    true class minus the score of the best rival (the first in a tie). The true class gains, the
    rival loses, and v is the sum over both.

    Parameters
    ----------
    r : float
        Noise: the larger, the shorter the steps, and the slower the variances fall.
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

    Attributes
    ----------
    coef_ : array (1, d), or (k, d) for k > 2 classes
        Weights.
    intercept_ : array (1,) or (k,)
        Biases.
    classes_ : array (k,)
        The labels; of two, the larger is +1.
    coef_variance_ : array (1, d), or (k, d) for k > 2 classes
        Variances of the weights, at the end of the run. :class:`ConfidenceDisplay` draws them.
    intercept_variance_ : array (1,) or (k,)
        Variances of the biases; 1 without a bias.
    decision_ : Decision
        How it decides, after ``set_decision`` or ``tune_threshold``; ``fit`` removes it.
    n_iter_ : int
        Number of passes.
    n_updates_ : int
        Number of visited rows that changed the weights, in all passes.
    embedding_strengths_ : array (n,)
        In how many passes each row changed the weights.
    stop_ : str
        "tol", "no progress", "max_iter", "validation", "seconds", "callback" or "interrupted", as
        in :class:`PassiveAggressive`.
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
    PassiveAggressive : one step size for all features.
    ConfidenceDisplay : draws two weights with their variances as an ellipse.
    inference : standard errors of a model that minimises a loss.

    Notes
    -----
    The variances are those of the rule, and no standard errors. With ``warm_start`` they begin at 1
    again; with ``partial_fit`` they continue.

    There is no ``mistake_bound_``: the bound of Crammer, Kulesza and Dredze is for full matrices.

    Examples
    --------
    >>> from separatrix import AROW
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 0, 0, 1]
    >>> clf = AROW(r=1.0, shuffle=False).fit(X, y)
    >>> clf.predict(X), clf.coef_variance_.shape
    (array([0, 0, 0, 1]), (1, 2))
    """

    coef_variance_: Array
    intercept_variance_: Array

    @translating
    def __init__(
        self,
        r: float = 1.0,
        *,
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
    ) -> None:
        self.r = r
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

    def _rule_and_parameter(self) -> tuple[str, float]:
        return "arow", checks.number("r", self.r, strict=True)

    def _finish(self, objective: Objective, result: Result) -> None:
        super()._finish(objective, result)
        variances = result.state["variances"]
        self.coef_variance_ = variances[:, :-1].copy()
        self.intercept_variance_ = variances[:, -1].copy()
