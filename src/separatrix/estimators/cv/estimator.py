"""Choosing the penalty by cross-validation: a path of fits per fold, without copying rows."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, Self

from ...data.device_arrays import memory_released
from ...losses import Loss, get_loss
from ...solvers import Solver
from ...training.loop import Callback
from ...training.stopping import Stop
from ..base import AllOrNothing, FitSettings
from ..foreign_parameters import translating
from .candidates import tried_penalty
from .cross_validated import CrossValidated
from .results import doubts
from .scores import NEW_DEFAULT, UNSAID, meant_scoring
from .splits import metadata_router


class LinearClassifierCV(CrossValidated):
    """A :class:`LinearClassifier` whose ``l2``, or ``l1`` and ``l2``, is chosen by
    cross-validation.

    The path goes from the largest ``l2`` to the smallest, and each fit starts from the previous
    one. If no row is left out twice, the loss is smooth and there are not too many features, all
    folds are fitted together (see :mod:`separatrix.estimators.cv`), else one after another;
    held-out rows are never copied. If there are far more features than rows, the fits use as many
    coordinates as rows, with the same scores. Finally the chosen ``l2`` is fitted to all rows.

    With ``l1_ratio`` the path has strengths s, ``l1 = l1_ratio * s`` and ``l2 = (1 - l1_ratio) * s
    / 2``, the same for all folds, which are fitted one after another.

    The rows of a source are assigned to folds by a hash of their number. A source that is not in
    memory is read again for every step of every fit: use a cache, and few values of ``l2``.

    Parameters
    ----------
    loss : str or Loss
        As in :class:`LinearClassifier`.
    l2s : int or array
        The number of values, on a logarithmic grid of eight decades that starts where the penalty
        outweighs the data; or the values. A warning says so if the largest or the smallest has the
        best score, for three or more given values if it is better than all others by more than its
        standard error. Not used with ``l1_ratio``.
    l1_ratio : None, float or list of float
        Above 0, at most 1: the share of ``l1`` in a sparse path (see :func:`path`). If several are
        given, the best is used, and ``rule`` chooses along its path. None: the path in ``l2``.
    strengths : int or array
        With ``l1_ratio``: the number of strengths, from the one that leaves only the bias on all
        rows down to 1e-4 of it (1e-2 for fewer rows than features), or the values.
    penalty_weights : array (d,) or None
        With ``l1_ratio``, as in :class:`LinearClassifier`.
    groups : array (d,) of int, "classes" or None
        With ``l1_ratio``, as in :class:`LinearClassifier`. There is no ``penalty``: the search
        makes its penalties itself. Search the parameters of an object by ``GridSearchCV``.
    cv : int, splitter, iterable of (train, test) rows, or "loo"
        A splitter that needs groups gets those of ``fit(X, y, groups=groups)``. For a source that
        is not in memory only the number of folds can be given. "loo" leaves out one row at a time:
        exactly for the squared loss; for a smooth convex loss, two classes and rows of equal weight
        by Newton steps, or fits where these do not converge, so that every score w.x + b has an
        error of at most 1e-4. Rows count by their weight in the mean score; a row of weight 2 is
        left out as a whole, two copies one at a time. "loo" uses square matrices of the rows or
        the features, whichever are fewer, at most 8192 of these (4.3 GB); not with ``l1_ratio``.
    scoring : "loss", None, str or callable
        "loss": minus the mean loss of the held-out rows. None: accuracy, which for a rare class is
        often best where the features have no effect. Both are weighted within each fold, and folds
        count equally, as in scikit-learn. Other values as in scikit-learn (with "loo" only
        "accuracy", which is the same as None): for arrays without weights, for a source in memory
        with those of its rows, without class weights. The default, "warn", is "loss" with a
        FutureWarning, because it was None before; it still is None for the perceptron loss, which
        is least at zero weights. The next version will not warn.
    rule : {"best", "one_standard_error"}
        Choose the l2, or strength, with the best mean score (the largest in a tie), or the largest
        whose score is within one standard error of the best.
    solver : "auto" or Solver
        As in :class:`LinearClassifier`.
    max_iter : int
        Maximum number of passes or iterations of each fit.
    tol : float or None
        Tolerance of each fit, as in :class:`LinearClassifier`.
    stop : Stop or None
        More rules for each fit of the search and the last one, as in :class:`LinearClassifier`:
        ``Stop(seconds=60)`` is a minute for each. With ``Stop(validation=..., patience=...)`` every
        fit starts from zeros, so that each ends as it would alone; the rows should not be among
        those of ``fit``. Folds are then fitted one after another. Not with "loo".
    standardize : bool
        As in :class:`LinearClassifier`. Every fold is scaled by the deviations of its training
        rows, and so has its own penalty for the features as given, ``l2 * |scale * w|^2``: folds
        that are fitted together share one penalty, so these are fitted one after another.
    fit_intercept : bool
        Whether to fit a bias.
    class_weight : dict, "balanced" or None
        Weights of the classes, times the sample weights; not for rows with several labels.
    prior_correction : bool
        As in :class:`LinearClassifier`; also where a scorer measures a fold. ``scoring="loss"`` is
        the mean with class weights, before the shift.
    n_jobs : int or None
        Number of threads; None: all of this process. The result does not depend on it.
    device : None, "cpu", "cuda" or "cuda:1"
        As in :class:`LinearClassifier`. Folds are weights of the same rows, which are copied to a
        GPU once. If they do not fit there, folds are chosen as for a source that is not in memory.
    random_state : int, Generator, RandomState or None
        Seed of shuffling and random starts in the fits.
    callbacks : sequence of callables
        Callbacks of the last fit; a :class:`Checkpoint` also saves the finished fits of the search.
        A callback may have the methods ``searching(l2s)``, called with the path, ``searched(l2)``,
        called after each fit, and ``scored(scores)``, called after each fold if folds are fitted
        one after another.
    verbose : bool or int
        Show progress of the last fit on stderr, unless False or 0.

    Attributes
    ----------
    l2_ : float
        The chosen value.
    l2_path_ : array
        All values, from the largest to the smallest; not with ``l1_ratio``.
    l1_ : float
        With ``l1_ratio``, the chosen value.
    strength_ : float
        With ``l1_ratio``, the chosen value.
    l1_ratio_ : float
        The chosen ratio.
    zero_ : array (k, d) of bool
        Weights that are proven to be 0 in every minimum, as in :class:`LinearClassifier`.
    nonzero_ : array (k, d) of bool or None
        Weights that are proven not to be 0 in any minimum, as in :class:`LinearClassifier`.
    selection_ : str
        "proven" if ``zero_`` and ``nonzero_`` cover every weight, else "undecided".
    selected_ : array (k, d) of bool
        ``coef_ != 0``.
    undecided_ : array (k, d) of bool
        Weights of 0 that are not proven to be 0.
    cv_results_ : dict of arrays
        ``l2`` (with ``l1_ratio`` also ``l1_ratio``, ``strength`` and ``l1``),
        ``mean_test_score``, ``std_test_score``, ``standard_error`` of the mean, and
        ``split0_test_score``, ... for up to 100 folds. With "loo" mean and deviation are weighted,
        and the standard error uses Kish's effective number of rows, ``sum(c)^2 / sum(c^2)``.
    loo_check_ : LeaveOneOutCheck
        With "loo" by Newton steps only: for the l2 with the best score, a check with the rows of
        largest influence actually left out.
    coef_ : array (1, d), or (k, d) for k > 2 classes
        Weights of the last fit, to all rows, like all following attributes.
    intercept_ : array (1,) or (k,)
        Biases.
    prior_shift_ : array (1,) or (k,)
        With ``prior_correction``, what was added to the biases that minimise the objective.
    classes_ : array (k,)
        The labels; of two, the larger is +1. After a fit to an indicator matrix, the names or
        numbers of its columns, (q,).
    multilabel_ : bool
        Whether the fit was to an indicator matrix: one penalty is chosen for all labels, and folds
        are not stratified.
    decision_ : Decision
        How it decides, after ``set_decision`` or ``tune_threshold``; ``fit`` removes it.
    objective_ : float
        The objective at ``coef_`` and ``intercept_``.
    gap_ : float or None
        ``objective_`` exceeds the minimum by no more than this.
    scale_ : array (d,) or None
        With ``standardize``, the deviations that features were divided by.
    solver_ : Solver
        The solver used; its repr gives the reason.
    stop_ : str
        Why the fit ended, as in :class:`LinearClassifier`.
    converged_ : bool
        Whether ``stop_`` is "optimal", "closed form" or "tol".
    n_iter_ : int
        Number of passes or iterations.
    n_updates_ : int
        Number of updates by single rows, for solvers that visit single rows.
    history_ : dict of arrays
        One entry per pass.
    trace_ : Trace
        Replays the fit.
    embedding_strengths_ : array (n,)
        As in :class:`LinearClassifier`.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : array
        Names of the features seen during fit, if X has names; for files, all feature columns.
    coef_names_ : array (d,)
        Names of the weights.
    uses_offset_ : bool
        Whether the fit had an offset: predictions then need one, too.
    split_ : Split or None
        Which rows of files were held out before the fit (``read(validation=...)``), if any.
    unknown_categories_ : dict
        For a model that was fitted to files, after a prediction: by column, the number of values
        that the fit did not have.

    See Also
    --------
    LinearClassifier : for one ``l2``.
    path : every fit along a path of strengths.
    PathDisplay : a plot of the search.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from separatrix import LinearClassifierCV
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> clf = LinearClassifierCV("squared", cv="loo", scoring=None).fit(X, y)
    >>> len(clf.l2_path_), round(float(clf.cv_results_["mean_test_score"].max()), 3)
    (20, 0.953)
    """

    @translating
    def __init__(
        self,
        loss: str | Loss = "logistic",
        *,
        l2s: Any = 20,
        l1_ratio: Any = None,
        strengths: Any = 100,
        penalty_weights: Any = None,
        groups: Any = None,
        cv: Any = 5,
        scoring: Any = UNSAID,
        rule: str = "best",
        solver: str | Solver = "auto",
        max_iter: int = 1000,
        tol: float | None = 1e-6,
        stop: Stop | None = None,
        standardize: bool = False,
        fit_intercept: bool = True,
        class_weight: Any = None,
        prior_correction: bool = False,
        n_jobs: int | None = None,
        device: str | None = None,
        random_state: Any = None,
        callbacks: Sequence[Callback] = (),
        verbose: bool = False,
    ) -> None:
        self.loss = loss
        self.l2s = l2s
        self.l1_ratio = l1_ratio
        self.strengths = strengths
        self.penalty_weights = penalty_weights
        self.groups = groups
        self.cv = cv
        self.scoring = scoring
        self.rule = rule
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.stop = stop
        self.standardize = standardize
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.prior_correction = prior_correction
        self.n_jobs = n_jobs
        self.device = device
        self.random_state = random_state
        self.callbacks = callbacks
        self.verbose = verbose

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        offset: Any = None,
        **params: Any,
    ) -> Self:
        """Choose l2 by cross-validation, then fit it to all rows, X and y or a source.

        ``offset`` is as in :class:`LinearClassifier`; every fold has that of its rows.

        ``params`` are passed to the splitter and the scorer: with scikit-learn's metadata routing,
        to those that request them; else only ``groups``, to the splitter.
        """
        scoring = self._scoring
        with memory_released(), AllOrNothing(self):
            unfinished = self._searched(X, y, sample_weight, offset, scoring, params)
        if scoring is not self.scoring and scoring is not None:
            warnings.warn(NEW_DEFAULT, FutureWarning, stacklevel=2)
        self._warn_of_the_end()
        self._warn_if_nothing_is_selected(getattr(self, "l1_", 0.0))
        for text, category in doubts(self, unfinished):
            warnings.warn(text, category, stacklevel=2)
        return self

    def _settings(self) -> FitSettings:
        given = self.l1_ratio, self.strengths, self.penalty_weights, self.groups, self.cv
        loss = get_loss(self.loss)
        return self._loss_settings(loss, tried_penalty(loss, *given))

    @property
    def _scoring(self) -> Any:
        return meant_scoring(self.scoring, get_loss(self.loss))

    @property
    def penalty(self) -> str:
        """The attribute that ``sklearn.feature_selection.SelectFromModel`` looks for."""
        return "l2" if self.l1_ratio is None else "l1"

    def get_metadata_routing(self) -> Any:
        """Routing of other arguments than X and y: to the splitter, and to a scorer."""
        return metadata_router(self, self._scoring)
