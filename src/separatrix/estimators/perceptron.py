"""The perceptron as taught: online or batch, with its theory beside it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

from ..losses import PerceptronLoss
from ..numeric import checks
from ..numeric.types import Array
from ..objective import Objective
from ..schedules import LearningRate, as_schedule
from ..separation import Separability
from ..solvers import BatchPerceptron, Rosenblatt, Solver
from ..training.loop import Callback
from ..training.minimize import Result
from ..training.mistake_bound import mistake_bound_callback
from ..training.stopping import Stop
from .base import FitSettings
from .partial_fit import StreamModel
from .sources import FiniteScores

LARGE_NORM = 1e100  # of weights whose products with features may overflow


class Perceptron(StreamModel):
    """Rosenblatt's perceptron, online or batch.

    A row is a mistake when ``y * (w.x + b) <= 0``; then ``(w, b) += learning_rate * y * (x, 1)``.
    From zero, with a constant step and no penalty, the step only rescales the weights: such a
    run is done with step 1 and scaled at the end, so that rounding cannot lead it astray.

    For more than two classes there is one weight vector per class; a row is a mistake when the
    score of some rival reaches that of the true class, which then gains the row while the best
    rival (the first on a tie) loses it.

    Parameters
    ----------
    max_iter : int
        Most passes over the data.
    update : {"online", "batch"}
        After each mistaken row, or once per pass with the sum of all of them.
    learning_rate : number, schedule or callable
        Step size, or ``t -> step size`` with t counting rows (online) or passes (batch).
    l2 : float
        Penalty: every row first shrinks w by ``1 - 2 * learning_rate * l2``. Online only.
    start : {"zeros", "random", "sum"} or array
        First weights: (d + 1,) or (k, d + 1), bias last. "sum" is the sum of y * (x, 1).
    shuffle : bool
        A fresh permutation of the rows every pass, from one seed; else the order given.
    keep : {"auto", "last", "best", "average"}
        Which weights to keep: the last; those of the pass end with the fewest mistakes; the
        mean after every row. "auto": the last after a pass without mistakes, else whichever
        of average and best makes fewer mistakes in training (ties: average). With
        ``partial_fit``, whose calls are one pass each, the best is the last.
    patience : int or None
        Stop after so many passes in a row without progress: no pass met fewer mistakes than
        the best before it.
    max_norm : float or None
        Stop when the norm of (w, b) exceeds it. On data that cannot be separated the weights
        stay bounded, so it may never be reached and proves nothing.
    tol : float or None
        Stop when the loss met in a pass and the weights barely change.
    fit_intercept : bool
        Whether there is a bias.
    class_weight : dict, "balanced" or None
        Weights of the classes, times the sample weights.
    warm_start : bool
        Begin with the weights of the fit before.
    random_state : int, Generator, RandomState or None
        Seed of the shuffles and of ``start="random"``.
    callbacks : sequence of callables
        ``callback(step, info) -> bool | None`` after every pass; true stops. ``step`` has
        ``weights``, ``mistakes``, ``objective``, ``rows`` and ``state``, all read-only;
        ``info`` has ``iteration``, ``objective``, ``mistakes``, ``norm`` and ``seconds``. One that
        has a method ``begin(run)`` is called before the first pass with the whole state of the
        run, to read or to replace, as :class:`Checkpoint` does.
    verbose : bool or int
        A live line on stderr, unless False or 0.
    monitor : Separability or None
        What :func:`separatrix.separation` says of this data. ``history_`` then holds every
        pass against the theory: ``mistakes_so_far`` beside ``mistake_bound``; for
        ``update="batch"`` ``passes_with_mistakes`` beside ``pass_bound``, the most that the
        longest step so far allows. Refused where the theory does not apply: it presumes
        separable rows of weight 1, a bias, no penalty, a constant step, and zeros to start from
        (or, for "batch" with step 1, "sum").

    Attributes
    ----------
    coef_ : array (1, d), or (k, d) for k > 2 classes
        Weights.
    intercept_ : array (1,) or (k,)
        Biases.
    classes_ : array (k,)
        Of two, the larger is +1.
    n_iter_ : int
        Passes.
    n_updates_ : int
        Updates by single rows; in the batch rule every mistaken row counts.
    embedding_strengths_ : array (n,)
        How often each row was a mistake.
    stop_ : str
        "no mistakes", "cycle", "max_iter", "max_norm", "tol", "no progress", "callback" or
        "interrupted". "no mistakes" (only for l2 = 0) is a proof that the data is separated;
        "cycle", for a fixed order and a constant step, one that this run would go on for ever.
    converged_ : bool
        Whether ``stop_`` is "no mistakes" or "tol".
    history_ : dict of arrays
        ``pass``, ``objective``, ``mistakes``, ``norm``, ``seconds``: one entry per pass.
        Objective and mistakes are those met during the pass, each row before its update.
        With a ``monitor`` two more.
    trace_ : Trace
        ``for step in clf.trace_.replay(X, y)`` gives every intermediate weight vector, and
        ``clf.trace_.recording(X, y)`` tells the fit step by step.
    n_features_in_ : int
        Features of the rows of the fit.
    feature_names_in_ : array
        If X had names; of a file, all its columns that are features.
    coef_names_ : array (d,)
        Names of the weights: categories of a file have one each, or share those that they are
        hashed to.
    split_ : Split or None
        Which rows of files were held out before the fit (``read(validation=...)``), if any.
    unknown_categories_ : dict
        Of a model that was fitted to files, after a prediction: by column, how many values the fit
        did not have. They count as 0.

    See Also
    --------
    KernelPerceptron : the same in the dual.
    LinearClassifier : a loss that has a minimum.
    separability : whether it can end, and after how many mistakes.

    Examples
    --------
    >>> from separatrix import Perceptron
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 0, 0, 1]
    >>> clf = Perceptron(shuffle=False).fit(X, y)
    >>> clf.coef_, clf.intercept_, clf.n_iter_, clf.stop_
    (array([[3., 2.]]), array([-4.]), 9, 'no mistakes')
    """

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
        patience: int | None = 20,
        max_norm: float | None = None,
        tol: float | None = None,
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
        self.patience = patience
        self.max_norm = max_norm
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.random_state = random_state
        self.callbacks = callbacks
        self.verbose = verbose
        self.monitor = monitor

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Train on all rows, X and y or a source, until a rule stops it."""
        with self._all_or_nothing():
            self._refuse_overflow(*self._fit(X, y, sample_weight))
        return self

    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None
    ) -> Self:
        """One pass over these rows, going on from the calls before.

        Ctrl-C raises KeyboardInterrupt, so that a loop of calls ends; a pass that had ended by
        then is kept, else the model is as before.
        """
        if self.monitor is not None:
            raise ValueError(
                "monitor watches a whole fit from its start, and partial_fit goes on from where "
                "it stands; set monitor=None, or call fit"
            )
        with self._all_or_nothing():
            self._refuse_overflow(*self._partial_fit(X, y, classes, sample_weight))
        self._pass_on_interrupt()
        return self

    def _watched(
        self, settings: FitSettings, objective: Objective, solver: Solver, W: Array
    ) -> FitSettings:
        """With a monitor, each pass beside what it may come to."""
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
        """Which row is a mistake is not known where scores overflow: such a run has no meaning."""
        # Inside, a run may have gone by steps of 1: its weights were larger by so much.
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
        keep = checks.choice("keep", self.keep, ("auto", "last", "best", "average"))
        stop = Stop(
            max_iter=checks.whole("max_iter", self.max_iter),
            no_mistakes=l2 == 0.0,
            tol=checks.number("tol", self.tol, optional=True),
            max_norm=checks.number("max_norm", self.max_norm, optional=True),
            patience=checks.whole("patience", self.patience, optional=True),
            prove=False,  # it returns what the algorithm gives
        )
        return FitSettings(PerceptronLoss(), l2, stop, keep)

    def _solver(self, objective: Objective, partial: bool) -> Solver:
        average = self.keep in ("auto", "average")
        if self.update == "online":
            return Rosenblatt(self.learning_rate, self.shuffle, average)
        if partial:
            raise ValueError(
                "partial_fit goes row by row, and update='batch' needs all rows at once; use "
                "update='online'"
            )
        return BatchPerceptron(self.learning_rate, average)
