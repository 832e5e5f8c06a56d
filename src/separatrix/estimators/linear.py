"""The minimiser of any loss."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any, Self

from ..losses import Loss, get_loss
from ..penalties import Penalty
from ..solvers import Solver
from ..training.loop import Callback
from .base import FitSettings
from .partial_fit import StreamModel
from .penalty_parameters import DEFAULT_L2, given_penalty, penalty_of
from .sparse import SparseModel


class LinearClassifier(StreamModel, SparseModel):
    """Minimises ``mean of loss(y * (w.x + b)) + l1 * |w|_1 + l2 * |w|^2``.

    The bias is not penalised, the mean is weighted, and the objective is the same for every
    solver: scikit-learn's ``C`` is ``1 / (2 * l2 * n)``, and with an ``l1_ratio`` it means
    ``l1 = l1_ratio / (C * n)`` and ``l2 = (1 - l1_ratio) / (2 * C * n)``. For more than two
    classes there is one weight vector per class, penalised alike, and the loss is joint: softmax
    for "logistic", the multiclass perceptron, Crammer and Singer's for "hinge", and for the others
    the sum of one two-class loss per class, the class against the rest: also for
    "one_vs_rest_logistic" and "one_vs_rest_hinge", which on two classes are "logistic" and "hinge".

    Parameters
    ----------
    loss : str or Loss
        "logistic", "one_vs_rest_logistic", "squared", "hinge", "one_vs_rest_hinge",
        "squared_hinge", "tanh_squared", "perceptron", or an object, e.g. of your own subclass of
        :class:`separatrix.MarginLoss`.
    l1 : float
        Strength of the sum of ``|w_j|``, which makes weights exactly 0: the features that are left
        are ``selected_``. For smooth losses: not "hinge" nor "perceptron". ``l2`` stays in force
        beside it: an elastic net, whose weights are unique if the loss is convex and no
        ``penalty_weights`` are 0. ``l2=0`` is the lasso.
    l2 : float
        Strength of the sum of ``w_j^2``.
    penalty_weights : array (d,) or None
        Factors of both for every feature, all 1 by default: those of weight 0 are free. For the
        losses that ``l1`` is for.
    groups : array (d,) of int, "classes" or None
        Features whose weights become 0 together: the number of the group of each, 0, 1, ...
        without a gap. Of a group ``l1`` times ``sqrt(size) * |w_g|``, the length of its weights for
        one class, stands in place of the sum of ``|w_j|``, and the ``penalty_weights`` within it
        must be equal. "classes": the weights of a feature for all classes are a group, without the
        root, so that a feature is selected for all classes or for none.
    penalty : None or penalty object
        The penalty as an object: ``L2(...)``, ``ElasticNet(...)``, ``GroupLasso(...)`` or one of
        your own. None, the default, takes it from ``l1``, ``l2``, ``penalty_weights`` and
        ``groups``, which are the shorthand for these three; give either the object or the
        shorthand. The words of scikit-learn are refused: "l1" is ``l1=...`` here, and no penalty
        is ``l2=0``. ``set_params(penalty__l1=...)`` replaces the object by one with another l1.
        Other penalties than ``L2`` are for the losses that ``l1`` is for, and "auto" or the
        solvers named there.
    solver : "auto" or Solver
        ``LBFGS()``, ``Newton()``, ``LeastSquares()``, ``GradientDescent(batch_size=...)``, ...;
        with ``l1`` or ``penalty_weights`` ``ProximalNewton()``, ``CoordinateDescent()`` or
        ``GradientDescent()``.
        "auto" chooses by loss and shape, and ``solver_`` says which and why.
    start : {"zeros", "random", "sum"} or array
        First weights: (d + 1,) or (k, d + 1), bias last.
    max_iter : int
        Most passes or iterations.
    tol : float or None
        Stop when the objective is proven to be within ``tol * objective_`` of its minimum
        (``gap_``); below 1e-14 it counts as that, the rounding of the objective itself. Where
        there is no such proof (no penalty, a loss that is not convex or of your own): when the
        objective changes by no more than ``tol`` of itself, and the weights barely move or the
        solver expects little more.
    standardize : bool
        Whether features are divided by their weighted standard deviation for the fit (those that
        do not vary by 1), and dense ones centred if there is an intercept; the deviations are
        ``scale_``. ``coef_`` and ``intercept_`` are for the features as given all the same; the
        penalty is on the scaled weights, ``l2 * |scale_ * w|^2``, and so it does not matter in
        which units features are measured. Rows in memory are copied (of sparse ones the values),
        those of other sources are scaled while they are read: sparse rows stay sparse. float32
        rows are scaled to float32, and ``objective_`` and ``gap_`` are for the scaled float32
        rows; for float64 rows they are for the rows as given. ``start`` is for the features as
        given, and so are the weights that callbacks and ``trace_.replay`` show; the norms in
        ``history_`` are those of the scaled weights. Not for ``partial_fit``, which does not see
        all rows.
    fit_intercept : bool
        Whether there is a bias.
    class_weight : dict, "balanced" or None
        Weights of the classes, times the sample weights.
    warm_start : bool
        Begin with the weights of the fit before.
    n_jobs : int or None
        Threads; None: all of this process's. The result does not depend on it.
    random_state : int, Generator, RandomState or None
        Seed of whatever chance decides; a minimum does not depend on it.
    callbacks : sequence of callables
        ``callback(step, info) -> bool | None`` after every pass, as in :class:`Perceptron`; true
        stops.
    verbose : bool or int
        A live line on stderr, unless False or 0.

    Attributes
    ----------
    objective_ : float
        The objective at ``coef_`` and ``intercept_``, to 1e-12 of itself whatever the features'
        offsets. Where it is almost 0 it may have fewer digits: the scores that it is computed from
        are exact to about ``1e-31 * d`` of the sum of ``|w_j x_j|`` and ``|b|``.
    gap_ : float or None
        ``objective_`` exceeds the minimum by no more than this: proven by duality, the rounding
        of all sums allowed for. None for ``tol=None`` (0 asks for the best that rounding
        allows), without a penalty, for losses that are not convex, for those of your own without a
        ``conjugate``, and after ``partial_fit``.
    zero_ : array (k, d) of bool
        With ``l1``: weights that are **proven** to be 0 in every minimum, so that "not selected"
        is a statement and not a rounding. More of them the smaller ``tol`` is. ``coef_`` is 0
        there: what the solver had left of them is taken away, and ``objective_`` and ``gap_``
        are those of the weights without it. (In the rare case that these were known less well
        than ``tol`` asks, and less well than with it, the weight stays, as ``selected_``.)
    selected_ : array (k, d) of bool
        ``coef_ != 0``.
    undecided_ : array (k, d) of bool
        Weights of 0 that are not proven to be.
    scale_ : array (d,) or None
        With ``standardize`` the deviations that features were divided by.
    solver_ : Solver
        The solver used; its text says why, if it was chosen by "auto".
    stop_ : str
        "optimal" (``gap_`` is within ``tol``), "tol" (progress has ended; there is no proof),
        "closed form" (likewise without proof), "no progress" (rounding, or the solver, allows no
        smaller gap), "no minimum" (without a penalty the objective falls for ever), "diverged"
        (it ended above where it began, or beyond floating point: the learning rate is too
        large), "max_iter", "cycle", "callback" or "interrupted".
    converged_ : bool
        Whether ``stop_`` is "optimal", "closed form" or "tol".
    coef_ : array (1, d), or (k, d) for k > 2 classes
        Weights, for the features as given.
    intercept_ : array (1,) or (k,)
        Biases. With more than two classes and a loss that depends only on differences of scores
        (softmax, Crammer and Singer's, the perceptron's) they sum to 0.
    classes_ : array (k,)
        The labels; of two, the larger is +1.
    n_iter_ : int
        Passes or iterations.
    n_updates_ : int
        Updates of single rows, of solvers that go row by row.
    history_ : dict of arrays
        ``pass``, ``objective``, ``mistakes``, ``norm``, ``seconds``: one entry per pass.
    trace_ : Trace
        ``for step in clf.trace_.replay(X, y)`` gives every intermediate weight vector.
    embedding_strengths_ : array (n,)
        How often each row moved the weights: for solvers that go row by row with a loss that
        leaves some rows alone.
    n_features_in_ : int
        Features of the rows of the fit.
    feature_names_in_ : array
        If X had names; of a file, all its columns that are features.
    coef_names_ : array (d,)
        Names of the weights.
    split_ : Split or None
        Which rows of files were held out before the fit (``read(validation=...)``), if any.
    unknown_categories_ : dict
        Of a model that was fitted to files, after a prediction: by column, how many values the fit
        did not have. They count as 0.

    See Also
    --------
    LinearClassifierCV : finds ``l2``.
    certify : how far models of other libraries are from their optimum.
    diagnose : what is wrong with a fit.

    Notes
    -----
    With ``loss="perceptron"`` the objective is least at (w, b) = 0, and with l2 > 0 only there:
    a solver that "converges" there has learned nothing. So this loss keeps the weights with the
    fewest mistakes met on the way, and returns zeros only if no others got a row right.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from separatrix import LinearClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> clf = LinearClassifier(l2=1e-3).fit(X, y)
    >>> clf.stop_, round(clf.objective_, 6), round(clf.score(X, y), 3)
    ('optimal', 0.095333, 0.958)
    >>> clf.gap_ <= 1e-6 * clf.objective_
    True
    """

    def __init__(
        self,
        loss: str | Loss = "logistic",
        *,
        l1: float = 0.0,
        l2: float = DEFAULT_L2,
        penalty_weights: Any = None,
        groups: Any = None,
        penalty: Penalty | None = None,
        solver: str | Solver = "auto",
        start: Any = "zeros",
        max_iter: int = 1000,
        tol: float | None = 1e-6,
        standardize: bool = False,
        fit_intercept: bool = True,
        class_weight: Any = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        callbacks: Sequence[Callback] = (),
        verbose: bool = False,
    ) -> None:
        self.loss = loss
        self.l1 = l1
        self.l2 = l2
        self.penalty_weights = penalty_weights
        self.groups = groups
        self.penalty = penalty
        self.solver = solver
        self.start = start
        self.max_iter = max_iter
        self.tol = tol
        self.standardize = standardize
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.callbacks = callbacks
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Minimise the objective on all rows, X and y or a source."""
        with self._all_or_nothing():
            objective, result = self._fit(X, y, sample_weight)
            self._finish(objective, result)
        self._warn_of_the_end()
        self._warn_if_nothing_is_selected(self._penalty().l1)
        return self

    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None
    ) -> Self:
        """One pass over these rows, going on from the calls before.

        Ctrl-C raises KeyboardInterrupt, so that a loop of calls ends; a pass that had ended by
        then is kept, else the model is as before.
        """
        with self._all_or_nothing():
            objective, result = self._partial_fit(X, y, classes, sample_weight)
            self._finish(objective, result)
        self._pass_on_interrupt()
        return self

    @property
    def penalty(self) -> Any:
        """The penalty object, if one is given; else the word for it.

        ``sklearn.feature_selection.SelectFromModel`` asks for the word, "l1" or "l2".
        """
        given = self.__dict__.get("penalty")
        if given is not None:
            return given
        l1: Any = self.l1  # unchecked
        return "l1" if isinstance(l1, Real) and float(l1) > 0.0 else "l2"

    @penalty.setter
    def penalty(self, given: Any) -> None:
        self.__dict__["penalty"] = given

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name, as they were given."""
        return {**super().get_params(deep), "penalty": self.__dict__.get("penalty")}

    def set_params(self, **params: Any) -> Self:
        """Set parameters; ``solver__x`` and ``penalty__x`` replace that by one with another x."""
        example = "set_params(penalty=ElasticNet(l1=0.01))"
        super().set_params(**self._with_nested("penalty", params, example))
        return self

    def _settings(self) -> FitSettings:
        return self._loss_settings(self._penalty())

    def _penalty(self) -> Penalty:
        given, loss = self.__dict__.get("penalty"), get_loss(self.loss)
        if given is None:
            return penalty_of(loss, self.l1, self.l2, self.penalty_weights, self.groups)
        return given_penalty(
            loss, given, l1=self.l1, l2=self.l2, penalty_weights=self.penalty_weights,
            groups=self.groups,
        )  # fmt: skip

    @property
    def _given_weights(self) -> Any:
        given = self.__dict__.get("penalty")
        return self.penalty_weights if given is None else given.weights
