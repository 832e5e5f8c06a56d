"""The perceptron in the feature space of a kernel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassifierMixin
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import check_is_fitted, validate_data

from ..config import LinkedToPages
from ..data import Source
from ..data.labels import check_labels, numbers
from ..data.validation import check_weights, sound_rows, weighed_classes
from ..kernels import Kernel, Linear, Matrix
from ..kernels.perceptron import KernelPerceptronRun
from ..losses.rivals import predicted_labels
from ..numeric import checks
from ..numeric.types import AnyArray, Array, Ints
from ..schedules import LearningRate
from ..training.loop import Callback, Loop, history
from ..training.progress import progress_line
from ..training.run import Run
from ..training.stopping import Stop, StoppingRules
from .feature_space import FeatureSpace
from .foreign_parameters import translating
from .kernel_expansion import KernelExpansion, rows_labels_weights
from .kernel_parameters import KernelParameters
from .kernel_stopping import HeldOutRows, measured
from .kernel_trace import KernelTrace
from .sources import accuracy, check_features, refuse_labels_beside


class KernelPerceptron(LinkedToPages, ClassifierMixin, KernelParameters):
    """The perceptron in the dual: it accesses the rows only through a kernel.

    The weights are a sum over the rows that were mistakes, ``w = sum_i a_i * phi(x_i)``, so scores
    are sums of kernel values, ``sum_i a_i * (K(x_i, x) + 1)``; the 1 is the bias. With the linear
    kernel it takes the same steps as :class:`Perceptron`, row for row. Two classes: a row is a
    mistake when ``y * score <= 0``; then its ``a_i`` grows by ``y``. More classes: there is one
    column of coefficients per class; a row is a mistake when a rival reaches the true class, which
    then gains the row, while the best rival (the first in a tie) loses it.

    Parameters
    ----------
    kernel : {"rbf", "poly", "linear", "sigmoid", "laplacian", "precomputed"} or callable
        See :mod:`separatrix.kernels`. A callable takes two arrays (or CSR matrices) A and B and
        returns (len(A), len(B)). With "precomputed", X is the kernel matrix: (n, n) to fit, and
        (rows, n) to classify.
    gamma : {"scale", "auto"} or float
        For rbf, poly, sigmoid and laplacian. "scale": 1 / (features * X.var()), where a row counts
        by its sample weight; "auto": 1 / features.
    degree : int
        Degree of poly.
    coef0 : float
        Constant of poly and sigmoid.
    max_iter : int
        Maximum number of passes over the data.
    learning_rate : number, schedule or callable
        As in :class:`Perceptron`. A number only rescales the scores.
    shuffle : bool
        Permute the rows anew in every pass, from one seed; else keep the given order.
    keep : {"auto", "last", "average", "voted"}
        "last": the last weights. "average": their mean after every row. "voted": the votes of all
        weight vectors, each weighted by the number of rows it survived, counted from 1 at its
        creation (score 0 is a vote for the larger of two classes, or the first of more): as good as
        the average, but classification is slower the more updates there were. "auto": the last
        after a pass without mistakes, else the average (see budget).
    budget : int or None
        Maximum number of supports. When a row would exceed it, the support with the smallest share
        of the weights (``|a|^2 K(x, x)``; the oldest in a tie) is removed, and its share is
        projected onto the remaining support most similar to it: dropping it outright, chosen by
        this rule, by age or by margin, was less accurate in trials. Not with "average" and "voted",
        which need every former support; "auto" is then the last weights after a pass without
        mistakes, else those at the pass end with the fewest.
    cache_mb : float or None
        Memory for rows of the kernel matrix, in megabytes; the most recently used rows are kept
        (rbf, dense: of rows that were mistakes twice), at least one. It changes the time, not the
        result. None: 200, but 0 for rbf of dense rows without a budget, whose kernel rows are about
        as fast to recompute, unless there are few features and about a hundred passes.
    patience : int or None
        Stop after this many consecutive passes without fewer mistakes than the best before.
    max_norm : float or None
        Stop when the norm of the weights, in feature space, exceeds it.
    tol : float or None
        Stop when the loss during a pass and the weights barely change.
    stop : Stop or None
        More rules, which end a fit early: ``Stop(validation=(X_val, y_val), patience=5)`` when the
        perceptron loss of these rows has not fallen for 5 passes (of the average if keep is "auto"
        or "average" and there is no budget, else of the last weights; the parameter ``patience`` is
        then not used), ``Stop(seconds=60)`` after a minute. For "precomputed", X_val is the kernel
        of these rows with the training rows. A run that ends before it has converged returns the
        weights of the pass with the smallest loss.
    fit_intercept : bool
        Whether to add 1 to the kernel.
    class_weight : dict, "balanced" or None
        Weights of the classes, times the sample weights.
    random_state : int, Generator, RandomState or None
        Seed of the shuffles.
    callbacks : sequence of callables
        As in :class:`Perceptron`. ``step.weights`` are the coefficients of all rows, (1, n) or
        (k, n), and ``step.state["scores"]`` their scores.
    verbose : bool or int
        Show progress on stderr, unless False or 0.

    Attributes
    ----------
    embedding_strengths_ : array (n,), or (n, k) for k > 2 classes
        Number of mistakes of each row; for more classes, signed: how often each class gained the
        row minus how often it lost it. Removed supports keep their counts.
    support_ : array (n_support,)
        Rows with a coefficient; for "voted", in any of the weight vectors.
    support_vectors_ : array or CSR matrix (n_support, d)
        Empty for "precomputed".
    dual_coef_ : array (1 or k, n_support)
        Scores are ``dual_coef_ @ (K(support_vectors_, X) + 1)``; for "voted", of the last vector.
    intercept_ : array (1,) or (k,)
        The part of the scores from the added 1: the sum of the coefficients.
    coef_ : array (1 or k, d)
        Weights of the features, only for the linear kernel.
    classes_ : array (k,)
        The labels; of two, the larger is +1.
    n_iter_ : int
        Number of passes.
    n_updates_ : int
        Number of mistakes, each of which was an update.
    history_ : dict of arrays
        ``pass``, ``objective``, ``mistakes``, ``norm``, ``seconds``: one entry per pass. With
        ``Stop(validation=...)`` also ``validation_loss``.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : array
        Names of the features seen during fit, if X has names.
    stop_ : str
        As in :class:`Perceptron`. "cycle", for a fixed order, a constant step and no budget: the
        scores of all rows repeated, so the run would go on forever.
    converged_ : bool
        Whether ``stop_`` is "no mistakes" or "tol".
    trace_ : KernelTrace
        ``clf.trace_.recording(X, y)`` replays the fit step by step.

    See Also
    --------
    Perceptron : the same algorithm in the primal.
    features.RadialBasis : a few kernel columns as features.

    Notes
    -----
    Not available, unlike in :class:`Perceptron`: ``l2`` (a decay at every row would change all
    coefficients at every row, and the bias separately), ``update="batch"`` (it needs the whole
    kernel matrix in every pass), ``start`` and ``warm_start`` (weights cannot be given as
    coefficients of unknown rows), ``keep="best"`` and ``partial_fit``.

    Memory: the cache, the supports, and some numbers per row and class (about 15 for two classes);
    never the whole kernel matrix, and no copy of dense rows with "rbf", in float64 or float32.

    Examples
    --------
    >>> from separatrix import KernelPerceptron
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0]
    >>> clf = KernelPerceptron("poly", degree=2, shuffle=False).fit(X, y)
    >>> clf.stop_, clf.embedding_strengths_, clf.predict(X)
    ('no mistakes', array([6, 4, 4, 3]), array([0, 1, 1, 0]))
    """

    embedding_strengths_: Ints
    support_: Ints
    support_vectors_: Matrix
    dual_coef_: Array
    intercept_: Array
    classes_: AnyArray
    n_iter_: int
    n_updates_: int
    converged_: bool
    stop_: str
    history_: dict[str, AnyArray]
    trace_: KernelTrace
    n_features_in_: int
    feature_names_in_: AnyArray
    _expansion: KernelExpansion
    _coef: Array | None

    @translating
    def __init__(
        self,
        kernel: str | Callable[[Any, Any], Any] = "rbf",
        *,
        gamma: str | float = "scale",
        degree: int = 3,
        coef0: float = 1.0,
        max_iter: int = 100,
        learning_rate: LearningRate = 1.0,
        shuffle: bool = True,
        keep: str = "auto",
        budget: int | None = None,
        cache_mb: float | None = None,
        patience: int | None = 20,
        max_norm: float | None = None,
        tol: float | None = None,
        stop: Stop | None = None,
        fit_intercept: bool = True,
        class_weight: Any = None,
        random_state: Any = None,
        callbacks: Sequence[Callback] = (),
        verbose: bool = False,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.max_iter = max_iter
        self.learning_rate = learning_rate
        self.shuffle = shuffle
        self.keep = keep
        self.budget = budget
        self.cache_mb = cache_mb
        self.patience = patience
        self.max_norm = max_norm
        self.tol = tol
        self.stop = stop
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.random_state = random_state
        self.callbacks = callbacks
        self.verbose = verbose

    # ---- training ------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Train on all rows, X and y or a source in memory, until a rule stops it.

        A mistake adds its row times the step size and its weight, relative to the mean weight, as
        in :class:`Perceptron`; rows of weight 0 are ignored.
        """
        stop = self._checked_stop()
        held_out = None if stop.validation is None else HeldOutRows.of(stop.validation, X)
        if isinstance(X, Source):
            refuse_labels_beside(y, sample_weight)
            X, y, sample_weight = rows_labels_weights(X)
        # The loop for dense Gaussians reads either type, so that float32 rows are not copied.
        found = sound_rows(X)[0]
        either = isinstance(self.kernel, str) and self.kernel == "rbf" and not sp.issparse(found)
        rows = self._checked_rows(found, [np.float64, np.float32] if either else np.float64)
        labels = check_labels(y)
        check_consistent_length(rows, labels)
        sample_weight = check_weights(sample_weight, len(labels))
        kernel = self._checked_kernel(rows, sample_weight)
        classes, weight, _ = weighed_classes(labels, None, sample_weight, self.class_weight)
        run = self._run(kernel, rows, classes, numbers(labels, classes), weight)
        stop = replace(stop, cycle=run.repeats)
        early = None
        if held_out is not None and stop.patience is not None:
            others = self._checked_rows(sound_rows(held_out.X)[0], rows.dtype)
            held_out = held_out.checked(others, rows, kernel)
            early = held_out.stopping(stop.patience, run, kernel, rows, classes)
        space = FeatureSpace()
        start = np.zeros_like(run.scores)
        rules = StoppingRules(stop, start, space, early=early, cycles=stop.cycle)
        loop = Loop(
            rules, self.callbacks, progress=progress_line(self.verbose),
            solver_state=partial(space.expected_state, run.scores.shape),
        )  # fmt: skip
        settings = partial(self._run_settings, rows, labels, sample_weight, stop, kernel, held_out)
        drawn = ("seed",) if checks.is_left_to_chance(self.random_state) else ()
        whole = Run(loop, {"passes": run}, settings, run.seed, np.empty(0), drawn)
        with whole.closing:
            whole.begin()
            why = loop.train(run.steps())[1]  # drops the last step, which takes much memory
        # Set only now, when nothing can fail any more: an earlier fit stays intact until then.
        validate_data(self, X, skip_check_array=True)
        self.classes_ = classes
        self.stop_, self.converged_ = why, why in ("no mistakes", "tol")
        self.history_, self.n_iter_ = history(loop.infos), len(loop.infos)
        if early is not None:
            self.history_ |= early.columns()
        self.trace_ = KernelTrace(
            kernel, self.learning_rate, self.shuffle, self.fit_intercept, self.class_weight,
            self.budget, classes, run.seed, len(labels), self.n_iter_, why, run.weight_sum,
        )  # fmt: skip
        self._count(run)
        keep = self.keep
        if early is not None and early.best is not None and not self.converged_:
            run.restore(early.best)
            keep = keep if keep == "voted" else measured(run)
        self._keep(run, kernel, rows, keep, loop.rule)
        return self

    def _count(self, run: KernelPerceptronRun) -> None:
        """Set the numbers of updates of the whole run."""
        counts = run.ended.counts
        self.embedding_strengths_ = np.abs(counts[0]) if len(counts) == 1 else counts.T.copy()
        self.n_updates_ = run.ended.updates

    def _keep(
        self, run: KernelPerceptronRun, kernel: Kernel, rows: Matrix, keep: str, rule: str
    ) -> None:
        """Set the model from the last complete pass of a run, and the reason why it ended."""
        found = KernelExpansion.of(run, kernel, rows, keep, rule)
        self._show(found)
        self._coef = None
        if isinstance(kernel, Linear):
            self._coef = found.scaled(np.asarray(found.sums @ self.support_vectors_))

    def _show(self, found: KernelExpansion) -> None:
        """Set the public attributes."""
        self._expansion, self.support_, self.support_vectors_ = found, found.support, found.vectors
        self.dual_coef_, self.intercept_ = found.scaled(found.sums), found.scaled(found.bias_sums)

    # ---- use -----------------------------------------------------------------------------

    @property
    def coef_(self) -> Array:
        """Weights of the features, (1 or k, d), for the linear kernel."""
        check_is_fitted(self)
        if self._coef is None:
            raise AttributeError(
                f"coef_ exists only for kernel='linear': the weights of kernel={self.kernel!r} "
                "live in its feature space; dual_coef_ has the coefficients of the supports"
            )
        return self._coef

    def decision_function(self, X: Any) -> Array:
        """Scores, or sums of votes for "voted": (n,), above 0 the larger of two classes, or (n, k).

        Two classes: votes for the larger minus votes for the smaller.
        """
        check_is_fitted(self)
        rows = self._checked_rows(sound_rows(X)[0], np.float64)
        validate_data(self, X, reset=False, skip_check_array=True)
        scores = self._expansion.scores(rows)
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> AnyArray:
        """Class of each row; in a tie the larger of two classes, the first of more."""
        scores = self.decision_function(X)
        return predicted_labels(self.classes_, scores)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Weighted accuracy on X and y, or on a source."""
        if not isinstance(X, Source):
            y = check_labels(y) if y is None else y
            return float(super().score(X, y, sample_weight))
        check_is_fitted(self)
        refuse_labels_beside(y, sample_weight)
        check_features(X, self.n_features_in_, type(self).__name__)
        return accuracy(X, self.classes_, self._expansion.of_rows)
