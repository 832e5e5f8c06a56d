"""The perceptron of the course: online or batch, with optional monitoring of its theory."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

from sklearn.utils.validation import validate_data

from ..data import InMemory, Source
from ..data.cluster.dask_input import is_dask
from ..data.validation import check_rows
from ..losses import PerceptronLoss
from ..numeric import checks
from ..numeric.types import Array
from ..objective import Objective
from ..penalties import L2
from ..schedules import LearningRate, as_schedule
from ..separation import Separability
from ..solvers import BatchPerceptron, Rosenblatt, Solver
from ..training.loop import Callback
from ..training.minimize import Result
from ..training.mistake_bound import mistake_bound_callback
from ..training.stopping import Stop
from .base import AllOrNothing, FitSettings
from .foreign_parameters import translating
from .partial_fit import StreamModel
from .sources import FiniteScores
from .voted import survivors_of, voted_scores

LARGE_NORM = 1e100  # of weights whose products with features may overflow


class Perceptron(StreamModel):
    """Rosenblatt's perceptron, online or batch.

    A row is a mistake when ``y * (w.x + b) <= 0``; then ``(w, b) += learning_rate * y * (x, 1)``.
    From zero, with a constant step size and no penalty, the step size only rescales the weights:
    such a run uses step size 1 and is scaled at the end, so that rounding cannot change its course.

    For more than two classes there is one weight vector per class; a row is a mistake when the
    score of some rival reaches that of the true class, which then gains the row while the best
    rival (the first in a tie) loses it.

    Parameters
    ----------
    max_iter : int
        Maximum number of passes over the data.
    update : {"online", "batch"}
        After each misclassified row, or once per pass with the sum of all of them.
    learning_rate : number, schedule or callable
        Step size, or ``t -> step size`` with t counting rows (online) or passes (batch).
    l2 : float
        Penalty: every row first shrinks w by ``1 - 2 * learning_rate * l2``. Online only.
    start : {"zeros", "random", "sum"} or array
        Initial weights: (d + 1,) or (k, d + 1), bias last. "sum" is the sum of y * (x, 1).
    shuffle : bool
        Permute the rows anew in every pass, from one seed; else keep the given order.
    keep : {"auto", "last", "best", "average", "voted"}
        Which weights to return: the last; those at the pass end with the fewest mistakes; the mean
        after every row. "auto": the last after a pass without mistakes, else the average or the
        best, whichever makes fewer mistakes in training (ties: average). With ``partial_fit``,
        where each call is one pass, the best is the last. "voted": every weight vector votes, by
        the number of rows it survived, counted from 1 at its creation; ``decision_function`` then
        has the sums of votes, and ``coef_`` the last vector. It needs X and y in memory, no
        penalty and ``update="online"``, and repeats the run update by update after the fit.
    max_survivors : int
        Maximum number of weight vectors that "voted" keeps: those with the most votes, the earlier
        in a tie. They take ``8 * k * (d + 1)`` bytes each (k = 1 for two classes), and a prediction
        computes the scores of all of them.
    patience : int or None
        Stop after this many consecutive passes without fewer mistakes than in the best pass before.
    max_norm : float or None
        Stop when the norm of (w, b) exceeds it. On data that cannot be separated the weights
        stay bounded, so it may never be reached and proves nothing.
    tol : float or None
        Stop when the loss during a pass and the weights barely change.
    stop : Stop or None
        More rules, which end a fit early: ``Stop(validation=(X_val, y_val), patience=5)`` when the
        loss of these rows has not fallen for 5 passes, ``Stop(seconds=60)`` after a minute.
    fit_intercept : bool
        Whether to fit a bias.
    class_weight : dict, "balanced" or None
        Weights of the classes, times the sample weights.
    warm_start : bool
        Start from the weights of the previous fit.
    random_state : int, Generator, RandomState or None
        Seed of the shuffles and of ``start="random"``.
    callbacks : sequence of callables
        ``callback(step, info) -> bool | None`` after every pass; true stops. ``step`` has
        ``weights``, ``mistakes``, ``objective``, ``rows`` and ``state``, all read-only;
        ``info`` has ``iteration``, ``objective``, ``mistakes``, ``norm`` and ``seconds``. A
        callback with a method ``begin(run)`` is called before the first pass with the whole state
        of the run, which it may read or replace, as :class:`Checkpoint` does.
    verbose : bool or int
        Show progress on stderr, unless False or 0.
    monitor : Separability or None
        The result of :func:`separatrix.separability` for this data. ``history_`` then compares
        every pass with the theory: ``mistakes_so_far`` with ``mistake_bound``; for
        ``update="batch"``, ``passes_with_mistakes`` with ``pass_bound``, the bound for the longest
        step so far. Refused if the theory does not apply: it requires separable rows of weight 1, a
        bias, no penalty, a constant step size, and zeros as the start (or, for "batch" with step 1,
        "sum").

    Attributes
    ----------
    coef_ : array (1, d), or (k, d) for k > 2 classes
        Weights.
    intercept_ : array (1,) or (k,)
        Biases.
    classes_ : array (k,)
        The labels; of two, the larger is +1.
    survivors_ : array (m, 1, d + 1), or (m, k, d + 1) for k > 2 classes
        For "voted", the weight vectors that vote, in the order of their creation, bias last.
    votes_ : array (m,)
        For "voted", the number of rows that each survived.
    decision_ : Decision
        How it decides, after ``set_decision`` or ``tune_threshold``; ``fit`` removes it.
    n_iter_ : int
        Number of passes.
    n_updates_ : int
        Number of updates by single rows; in the batch rule every misclassified row counts.
    embedding_strengths_ : array (n,)
        How often each row was a mistake.
    stop_ : str
        "no mistakes", "cycle", "max_iter", "max_norm", "tol", "no progress", "validation",
        "seconds", "callback" or "interrupted". "no mistakes" (only for l2 = 0) proves that the data
        is separated; "cycle", for a fixed order and a constant step size, that this run would go on
        forever.
    converged_ : bool
        Whether ``stop_`` is "no mistakes" or "tol".
    history_ : dict of arrays
        ``pass``, ``objective``, ``mistakes``, ``norm``, ``seconds``: one entry per pass.
        Objective and mistakes are counted during the pass, each row before its update. With a
        ``monitor`` there are two more.
    trace_ : Trace
        ``for step in clf.trace_.replay(X, y)`` yields every intermediate weight vector, and
        ``clf.trace_.recording(X, y)`` records the fit step by step.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : array
        Names of the features seen during fit, if X has names; for files, all feature columns.
    coef_names_ : array (d,)
        Names of the weights: categories of a file have one each, or share one if they are hashed.
    uses_offset_ : bool
        Whether the fit had an offset: predictions then need one, too.
    split_ : Split or None
        Which rows of files were held out before the fit (``read(validation=...)``), if any.
    unknown_categories_ : dict
        For a model that was fitted to files, after a prediction: by column, the number of values
        that the fit did not have. They count as 0.

    See Also
    --------
    KernelPerceptron : the same algorithm in the dual.
    LinearClassifier : a loss that has a minimum.
    separability : whether the data can be separated, and after how many mistakes.

    Examples
    --------
    >>> from separatrix import Perceptron
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 0, 0, 1]
    >>> clf = Perceptron(shuffle=False).fit(X, y)
    >>> clf.coef_, clf.intercept_, clf.n_iter_, clf.stop_
    (array([[3., 2.]]), array([-4.]), 9, 'no mistakes')
    """

    survivors_: Array
    votes_: Array

    @translating
    def __init__(
        self,
        max_iter: int = 1000,
        *,
        update: str = "online",
        learning_rate: LearningRate = 1.0,
        l2: float = 0.0,
        start: Any = "zeros",
        shuffle: bool = True,
        keep: str = "auto",
        max_survivors: int = 1000,
        patience: int | None = 20,
        max_norm: float | None = None,
        tol: float | None = None,
        stop: Stop | None = None,
        fit_intercept: bool = True,
        class_weight: Any = None,
        warm_start: bool = False,
        random_state: Any = None,
        callbacks: Sequence[Callback] = (),
        verbose: bool = False,
        monitor: Separability | None = None,
    ) -> None:
        self.max_iter = max_iter
        self.update = update
        self.learning_rate = learning_rate
        self.l2 = l2
        self.start = start
        self.shuffle = shuffle
        self.keep = keep
        self.max_survivors = max_survivors
        self.patience = patience
        self.max_norm = max_norm
        self.tol = tol
        self.stop = stop
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.random_state = random_state
        self.callbacks = callbacks
        self.verbose = verbose
        self.monitor = monitor

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, offset: Any = None) -> Self:
        """Train on all rows, X and y or a source, until a rule stops it.

        ``offset`` has known numbers that are added to the scores, also of the mistakes: (n,) for
        two classes, to the score of the larger one, else (n, k). Then predictions need it, too.
        """
        with AllOrNothing(self):
            for name in ("survivors_", "votes_"):
                self.__dict__.pop(name, None)
            objective, result = self._fit(X, y, sample_weight, offset)
            self._refuse_overflow(objective, result)
            if self.keep == "voted":
                found = survivors_of(self.trace_, objective, self.max_survivors)
                self.survivors_, self.votes_ = found
        return self

    def partial_fit(
        self,
        X: Any,
        y: Any = None,
        classes: Any = None,
        sample_weight: Any = None,
        offset: Any = None,
    ) -> Self:
        """Make one pass over these rows, continuing from the previous calls.

        ``offset`` is as in ``fit``: if one call had it, every later one needs it.
        Ctrl-C raises KeyboardInterrupt, so that a loop of calls ends; a pass that was complete by
        then is kept, else the model is unchanged.
        """
        if self.monitor is not None:
            raise ValueError(
                "monitor needs a whole fit from its start, but partial_fit continues from where "
                "the last call ended; set monitor=None, or call fit"
            )
        if self.keep == "voted":
            raise ValueError(
                "keep='voted' repeats the run of fit to find its weight vectors, but partial_fit "
                "has only the rows of the last call; use keep='average', or call fit"
            )
        with AllOrNothing(self):
            self._refuse_overflow(*self._partial_fit(X, y, classes, sample_weight, offset))
        self._pass_on_interrupt()
        return self

    def _watched(
        self, settings: FitSettings, objective: Objective, solver: Solver, W: Array
    ) -> FitSettings:
        """With a monitor, add its bounds to each pass."""
        settings = super()._watched(settings, objective, solver, W)
        if self.monitor is None:
            return settings
        solver.check(objective)  # before the data is read for the monitor
        bound = mistake_bound_callback(
            self.monitor, objective, W,
            update=self.update, learning_rate=self.learning_rate, l2=self.l2,
        )  # fmt: skip
        return replace(settings, watchers=(*settings.watchers, bound))

    def _refuse_overflow(self, objective: Objective, result: Result) -> None:
        """Refuse overflow: if scores overflow, it is not known which rows are mistakes."""
        # The run may have used step 1 inside: its weights were larger by this factor.
        unit = min(1.0, result.state.get("unit", 1.0))
        if result.infos[-1].norm > LARGE_NORM * unit:
            objective.source.total(FiniteScores(result.last / unit))
        for info in result.infos:
            if info.objective is not None and not math.isfinite(info.objective):
                raise ValueError(
                    f"the scores overflowed floating point in pass {info.iteration}: scale the "
                    "features (e.g. with sklearn's StandardScaler), or lower learning_rate"
                )

    def _settings(self) -> FitSettings:
        l2 = checks.number("l2", self.l2)
        checks.choice("update", self.update, ("online", "batch"))
        checks.flag("shuffle", self.shuffle)
        as_schedule(self.learning_rate, l2)
        keep = checks.choice("keep", self.keep, ("auto", "last", "best", "average", "voted"))
        checks.whole("max_survivors", self.max_survivors)
        if keep == "voted":
            if l2 or self.update != "online":
                raise ValueError(
                    "keep='voted' counts the rows that a weight vector survives, but a penalty "
                    "changes the weights at every row, and update='batch' once per pass; set l2=0 "
                    "and update='online'"
                )
            keep = "last"
        stop = Stop(
            max_iter=checks.whole("max_iter", self.max_iter),
            no_mistakes=l2 == 0.0,
            tol=checks.optional_number("tol", self.tol),
            max_norm=checks.optional_number("max_norm", self.max_norm),
            patience=checks.optional_whole("patience", self.patience),
            prove=False,  # it returns the result of the algorithm
        )
        return FitSettings(PerceptronLoss(), L2(l2), stop, keep)

    def _scores(self, X: Any, offset: Any = None) -> Array:
        if "survivors_" not in self.__dict__:
            return super()._scores(X, offset)
        self._refuse_unvoted(X, offset)
        rows = check_rows(X, owner=self)
        validate_data(self, X, reset=False, skip_check_array=True)
        found = voted_scores(rows, self.survivors_, self.votes_)
        return found[:, 0] if self._columns is None else found

    def score(self, X: Any, y: Any = None, sample_weight: Any = None, offset: Any = None) -> float:
        """Share of the rows, by weight, that are classified correctly.

        As for :class:`LinearClassifier`; with ``keep="voted"`` of arrays and sparse matrices only.
        """
        if "survivors_" in self.__dict__:
            self._refuse_unvoted(X, offset)
        return super().score(X, y, sample_weight, offset)

    def _refuse_unvoted(self, X: Any, offset: Any) -> None:
        if isinstance(X, Source) or is_dask(X) or self._reads(X) or offset is not None:
            raise TypeError(
                "a model with keep='voted' classifies arrays and sparse matrices, without an "
                "offset: pass these, or fit with keep='average', which is about as good"
            )

    def _solver(self, objective: Objective, partial: bool) -> Solver:
        if self.keep == "voted" and (
            not isinstance(objective.source, InMemory) or objective.source.has_offset
            or "_reading" in self.__dict__
        ):  # fmt: skip
            raise TypeError(
                "keep='voted' repeats the run, so it needs the rows in memory, as arrays or a "
                "sparse matrix, without an offset; use keep='average'"
            )
        average = self.keep in ("auto", "average")
        if self.update == "online":
            return Rosenblatt(self.learning_rate, self.shuffle, average)
        if partial:
            raise ValueError(
                "partial_fit visits single rows, but update='batch' needs all rows at once; use "
                "update='online'"
            )
        return BatchPerceptron(self.learning_rate, average)
