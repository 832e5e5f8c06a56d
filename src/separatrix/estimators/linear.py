"""The linear classifier that minimises any loss."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from ..data.device_arrays import memory_released
from ..losses import Loss, get_loss
from ..penalties import Penalty, is_l2
from ..solvers import Solver
from ..training.loop import Callback
from ..training.stopping import Stop
from .base import AllOrNothing, FitSettings
from .bias_reduction import NEEDS_ALL_ROWS, BiasReduced, check_bias_reduction, no_penalty
from .certified import NEEDS_PROOF
from .foreign_parameters import translating
from .partial_fit import StreamModel
from .penalty_object import PenaltyObject
from .penalty_parameters import DEFAULT_L2, given_penalty, penalty_of
from .soft_labels import check_soft_labels
from .sparse import SparseModel
from .weight_constraints import ConstrainedModel, asked_for


class LinearClassifier(ConstrainedModel, PenaltyObject, BiasReduced, StreamModel, SparseModel):
    """Minimises ``mean of loss(y * (w.x + b)) + l1 * |w|_1 + l2 * |w|^2``.

    The bias is not penalised, the mean is weighted, and the objective is the same for every solver:
    scikit-learn's ``C`` is ``1 / (2 * l2 * n)``, or with an ``l1_ratio``, ``l1 = l1_ratio / (C *
    n)`` and ``l2 = (1 - l1_ratio) / (2 * C * n)``. With more than two classes there is one weight
    vector per class, penalised alike, and the loss is joint: softmax for "logistic", the multiclass
    perceptron, Crammer and Singer's for "hinge". Other losses are summed over the classes, each
    class against the rest; so are "one_vs_rest_logistic" and "one_vs_rest_hinge", which for two
    classes equal "logistic" and "hinge".

    ``y`` may also be an indicator matrix (n, q) of 0 and 1, dense or sparse, for rows with any
    number of labels. Then there is one weight vector per label, and the objective is the sum of the
    q objectives of two classes, each with its own penalty, as in scikit-learn's
    ``OneVsRestClassifier``; all labels are fitted together. ``predict`` returns an indicator
    matrix, ``predict_proba`` the probability of each label, and ``score`` the share of the rows
    whose labels are all right. A label that all rows have, or none, is predicted so, with a
    warning: its weights are 0, and its bias is 1 or -1, or 1000 or -1000 if the loss only
    approaches its minimum. ``partial_fit`` learns all columns of the matrix, and later calls need
    the same columns. ``class_weight`` weighs rows without a label (0) and with it (1), label by
    label.

    Parameters
    ----------
    loss : str or Loss
        "logistic", "one_vs_rest_logistic", "squared", "hinge", "one_vs_rest_hinge",
        "squared_hinge", "tanh_squared", "perceptron", or an object, e.g. of your own subclass of
        :class:`separatrix.MarginLoss`.
    l1 : float
        Strength of the sum of ``|w_j|``, which makes weights exactly 0: the remaining features are
        ``selected_``. For smooth losses: not "hinge" or "perceptron". ``l2`` also applies: an
        elastic net, whose weights are unique if the loss is convex and no ``penalty_weights`` are
        0. ``l2=0`` is the lasso.
    l2 : float
        Strength of the sum of ``w_j^2``.
    penalty_weights : array (d,) or None
        Factors of both penalties for every feature, all 1 by default; features of weight 0 are not
        penalised. For the same losses as ``l1``.
    groups : array (d,) of int, "classes" or None
        Features whose weights become 0 together: the group number of each feature, 0, 1, ...
        without gaps. For a group the penalty is ``l1`` times ``sqrt(size) * |w_g|``, with the
        length of its weights for one class, instead of the sum of ``|w_j|``, and its
        ``penalty_weights`` must be equal. "classes": the weights of a feature for all classes are a
        group, without the root, so that a feature is selected for all classes or for none.
    penalty : None or penalty object
        The penalty as an object: ``L2(...)``, ``ElasticNet(...)``, ``GroupLasso(...)`` or one of
        your own. None, the default, takes it from ``l1``, ``l2``, ``penalty_weights`` and
        ``groups``, which are the shorthand for these three; give either the object or the
        shorthand. The words of scikit-learn are refused: "l1" is ``l1=...`` here, and no penalty
        is ``l2=0``. ``set_params(penalty__l1=...)`` replaces the object by one with another l1.
        Other penalties than ``L2`` are for the losses and solvers that ``l1`` is for.
    bounds : pair, dict or None
        The smallest and largest weights, ``(low, high)``: each of them is a number, None for no
        bound, an array (d,) or a dict by feature (name or number); ``bounds=(0, None)`` for weights
        that are not negative. Or a dict from features to pairs; the name of an encoded column means
        all of its features. Bounds are for ``coef_``, also with ``standardize``; equal ones fix a
        weight. For convex smooth losses, without ``groups``. See docs/penalties.md.
    monotone : dict, list or None
        Weights in order: ``{"grade": "increasing"}`` along the categories of an encoded column,
        or "decreasing", or a list of the categories in order. Or a list of pairs such as
        ``(["low", "mid", "high"], "increasing")``, of features given by names or numbers. For l2
        alone, and losses that are a sum over the classes.
    solver : "auto" or Solver
        ``LBFGS()``, ``Newton()``, ``LeastSquares()``, ``GradientDescent(batch_size=...)``, ...;
        with ``l1`` or ``penalty_weights`` ``ProximalNewton()``, ``CoordinateDescent()`` or
        ``GradientDescent()``; with ``bounds`` or ``monotone`` the first or the last of these.
        "auto" chooses by loss and shape; ``solver_`` shows the choice and the reason.
    start : {"zeros", "random", "sum"} or array
        Initial weights: (d + 1,) or (k, d + 1), bias last.
    max_iter : int
        Maximum number of passes or iterations.
    tol : float or None
        Stop when the objective is proven to be within ``tol * objective_`` of its minimum
        (``gap_``); values below 1e-14, the rounding of the objective itself, count as 1e-14. If
        there is no such proof (a loss that is not convex or is your own, or the hinge without a
        penalty): stop when the objective changes by at most ``tol`` of itself, and the weights
        barely move or the solver expects little more.
    stop : Stop or None
        More rules: ``Stop(validation=(X_val, y_val), patience=5)`` ends a fit when the loss of
        these rows has not fallen for 5 passes, ``Stop(seconds=60)`` after a minute;
        ``Stop(certify=X_test)`` continues below ``tol`` until all labels of these rows are proven.
    standardize : bool
        Whether to divide features by their weighted standard deviation for the fit (constant
        features by 1), and to centre dense ones if there is an intercept; the deviations are
        ``scale_``. ``coef_`` and ``intercept_`` are still for the features as given; the penalty is
        on the scaled weights, ``l2 * |scale_ * w|^2``, so the units of the features do not matter.
        Rows in memory are copied (only the values of sparse ones), rows of other sources are scaled
        while they are read; sparse rows stay sparse. float32 input stays float32 after scaling;
        ``objective_`` and ``gap_`` refer to the scaled float32 data, or for float64 to the data as
        given. ``start`` is for the features as given, and so are the weights that callbacks and
        ``trace_.replay`` show; the norms in ``history_`` are those of the scaled weights. Not for
        ``partial_fit``, which does not see all rows.
    fit_intercept : bool
        Whether to fit a bias.
    certify_predictions : bool
        Whether ``certified`` needs no training rows later; for l2 penalties on all features.
    class_weight : dict, "balanced" or None
        Weights of the classes, times the sample weights. They change the probabilities: to find
        more of a rare class, a threshold (``set_decision``) does not. For an indicator matrix, a
        dict of 0 and 1 for all labels, or "balanced" for each label by itself.
    prior_correction : bool
        With ``class_weight`` and the logistic loss, subtract the logarithms of the class weights
        from ``intercept_`` after the fit, so that probabilities are those of the rows without class
        weights if the model is right. It is not the fit without class weights, whose ``coef_``
        differs. ``objective_`` and ``gap_`` are those before the shift, ``prior_shift_``.
    warm_start : bool
        Start from the weights of the previous fit.
    n_jobs : int or None
        Number of threads; None: all of this process. The result does not depend on it.
    device : None, "cpu", "cuda" or "cuda:1"
        Where the fit runs. None: where X is; an array on a GPU is read there. "cuda" copies other
        rows to the GPU, in blocks in every pass if they do not fit; "cpu" copies X to main memory.
    soft_labels : bool
        Whether ``y`` has probabilities in place of labels: of the second of two classes, (n,) from
        0 to 1, or of every class, (n, k), with rows that sum to 1. For the logistic loss and
        softmax, with X in memory. The loss is the cross-entropy: each row counts as a copy with
        each label, weighted by its probability, and ``classes_`` are the numbers from 0.
    bias_reduction : None, "mdypl" or "firth"
        For the logistic loss, in place of a penalty: ``l2`` is then 0, leave it out. The estimate
        is finite for every data set. "mdypl": labels of two classes are pulled towards 1/2, a
        convex problem with a proof. "firth": the likelihood of two or more classes has Firth's
        penalty, ``log|I| / 2`` with the expected information I; ``objective_`` is the negative of
        it divided by the rows, ``gap_`` is None, and predictions use ``intercept_flic_``. See
        docs/bias_reduction.md.
    random_state : int, Generator, RandomState or None
        Seed of shuffling and random starts; it does not affect the minimum of a convex objective.
    callbacks : sequence of callables
        ``callback(step, info)`` after every pass, as in :class:`Perceptron`; true stops.
    verbose : bool or int
        Show progress on stderr, unless False or 0.

    Attributes
    ----------
    objective_ : float
        The objective at ``coef_`` and ``intercept_``, with a relative error of 1e-12 whatever the
        offsets of the features. If it is almost 0 it may have fewer correct digits: the scores are
        exact to about ``1e-31 * d`` of the sum of ``|w_j x_j|`` and ``|b|``.
    gap_ : float or None
        ``objective_`` exceeds the minimum by no more than this: proven by duality, including the
        rounding of all sums. None for ``tol=None`` (0 asks for the best that rounding allows), for
        losses that are not convex, for your own losses without a ``conjugate``, after
        ``partial_fit``, and without a penalty if there is no minimum, the loss has a kink or there
        are more than some thousand weights.
    zero_ : array (k, d) of bool
        With ``l1``: weights that are **proven** to be 0 in every minimum, so that "not selected" is
        a proven statement. A smaller ``tol`` proves more of them. ``coef_`` is 0 there: values that
        the solver left are removed, and ``objective_`` and ``gap_`` are those of the resulting
        weights. (In the rare case that their gap would be above ``tol``, and larger than before,
        the weight stays, as ``selected_``.)
    nonzero_ : array (k, d) of bool or None
        Weights that are **proven** not to be 0 in any minimum, with the signs of ``coef_``; None if
        ``gap_`` is None. With ``l2 > 0`` by the squares of the penalty, with ``l1`` also by the
        curvature of the loss: for "logistic" (and softmax), "one_vs_rest_logistic", "squared" and
        "squared_hinge". ``certify_selection`` proves more, from the rows of the fit.
    selection_ : str
        "proven" if ``zero_`` and ``nonzero_`` cover every weight, else "undecided".
    selected_ : array (k, d) of bool
        ``coef_ != 0``.
    undecided_ : array (k, d) of bool
        Weights of 0 that are not proven to be 0.
    scale_ : array (d,) or None
        With ``standardize``, the deviations that features were divided by.
    solver_ : Solver
        The solver used; its repr gives the reason if "auto" chose it.
    stop_ : str
        "optimal" (``gap_`` is within ``tol``), "stationary" (of ``bias_reduction="firth"``: the
        gradient is 0, up to ``tol`` standard errors), "tol" (no more progress; without proof),
        "closed form" (also without proof), "no progress" (rounding, or the solver, allows no
        smaller gap), "no minimum" (without a penalty the objective decreases forever), "diverged"
        (it ended above its start, or overflowed: the learning rate is too large), "no mistakes" (of
        the perceptron loss without a penalty), "certified" (see ``stop``), "max_iter", "cycle",
        "validation", "seconds", "callback" or "interrupted".
    converged_ : bool
        Whether it is "optimal", "closed form", "stationary", "tol", "no mistakes" or "certified".
    coef_ : array (1, d), or (k, d) for k > 2 classes, or (q, d) for q labels
        Weights, for the features as given.
    intercept_ : array (1,), (k,) or (q,)
        Biases. With more than two classes and a loss that depends only on differences of scores
        (softmax, Crammer and Singer's, the perceptron's) they sum to 0.
    intercept_flic_ : array (1,) or (k,)
        With ``bias_reduction="firth"``, the intercept of predictions: the one for which the mean
        probabilities of the training rows are the shares of the classes.
    prediction_bounds_ : object
        What ``certified`` needs besides rows, after its first call or ``certify_predictions=True``.
    prior_shift_ : array (1,) or (k,)
        With ``prior_correction``, what was added to the biases that minimise the objective.
    classes_ : array (k,)
        The labels; of two, the larger is +1. For an indicator matrix, its columns' names, (q,).
    multilabel_ : bool
        Whether the fit was to an indicator matrix.
    decision_ : Decision
        How it decides, after ``set_decision`` or ``tune_threshold``; ``fit`` removes it.
    n_iter_ : int
        Number of passes or iterations.
    n_updates_ : int
        Number of updates by single rows, for solvers that visit single rows.
    history_ : dict of arrays
        ``pass``, ``objective``, ``mistakes``, ``norm``, ``seconds``: one entry per pass.
    trace_ : Trace
        ``for step in clf.trace_.replay(X, y)`` yields every intermediate weight vector.
    embedding_strengths_ : array (n,)
        How often each row moved the weights, for solvers that visit single rows.
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
        For files, after a prediction: by column, the number of values that the fit did not have.

    See Also
    --------
    LinearClassifierCV : finds ``l2``.
    certify : how far models of other libraries are from their optimum.
    diagnose : what is wrong with a fit.

    Notes
    -----
    With ``loss="perceptron"`` the objective is least at (w, b) = 0, and for l2 > 0 only there: a
    solver that "converges" there has learned nothing. So with this loss the weights with the fewest
    mistakes during the run are kept, and zeros are returned only if no other weights classified a
    row correctly.

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

    _weighs_labels = True

    @translating
    def __init__(
        self,
        loss: str | Loss = "logistic",
        *,
        l1: float = 0.0,
        l2: float = DEFAULT_L2,
        penalty_weights: Any = None,
        groups: Any = None,
        penalty: Penalty | None = None,
        bounds: Any = None,
        monotone: Any = None,
        solver: str | Solver = "auto",
        start: Any = "zeros",
        max_iter: int = 1000,
        tol: float | None = 1e-6,
        stop: Stop | None = None,
        standardize: bool = False,
        fit_intercept: bool = True,
        certify_predictions: bool = False,
        class_weight: Any = None,
        prior_correction: bool = False,
        warm_start: bool = False,
        n_jobs: int | None = None,
        device: str | None = None,
        soft_labels: bool = False,
        bias_reduction: str | None = None,
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
        self.bounds = bounds
        self.monotone = monotone
        self.solver = solver
        self.start = start
        self.max_iter = max_iter
        self.tol = tol
        self.stop = stop
        self.standardize = standardize
        self.fit_intercept = fit_intercept
        self.certify_predictions = certify_predictions
        self.class_weight = class_weight
        self.prior_correction = prior_correction
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.device = device
        self.soft_labels = soft_labels
        self.bias_reduction = bias_reduction
        self.random_state = random_state
        self.callbacks = callbacks
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, offset: Any = None) -> Self:
        """Minimise the objective on all rows, X and y or a source.

        ``y`` has one label per row, (n,), or is an indicator matrix of labels, (n, q); with
        ``soft_labels`` it has probabilities. ``offset`` has known numbers that are added to the
        scores: (n,) for two classes, to the score of the larger one, else (n, k). Then predictions
        need it, too.
        """
        with memory_released(), AllOrNothing(self):
            objective, result = self._fit(X, y, sample_weight, offset)
            self._finish(objective, result)
            l1 = objective.penalty.l1
            del objective, result
        self._warn_of_the_end()
        self._warn_if_nothing_is_selected(l1)
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
        if self._own_objective:
            raise ValueError(NEEDS_ALL_ROWS)
        if self.certify_predictions:
            raise ValueError(NEEDS_PROOF)
        if asked := asked_for(self):
            raise ValueError(f"partial_fit goes row by row and does not take {asked}: call fit")
        with AllOrNothing(self):
            objective, result = self._partial_fit(X, y, classes, sample_weight, offset)
            self._finish(objective, result)
        self._pass_on_interrupt()
        return self

    def _settings(self) -> FitSettings:
        loss = get_loss(self.loss)
        if self.soft_labels is not False:
            check_soft_labels(self, loss)
        return self._loss_settings(loss, self._penalty(loss))

    @property
    def _drops_first(self) -> bool:
        # Without a penalty the features of a column must not sum to 1, like the intercept.
        penalty = self._penalty()
        return self.fit_intercept and is_l2(penalty) and penalty.l2 == 0.0

    def _penalty(self, loss: Loss | None = None) -> Penalty:
        given, loss = self.__dict__.get("penalty"), get_loss(self.loss) if loss is None else loss
        if self.bias_reduction is not None:
            check_bias_reduction(self, loss)
            return no_penalty()
        if given is None:
            return penalty_of(loss, self.l1, self.l2, self.penalty_weights, self.groups)
        return given_penalty(
            loss, given, l1=self.l1, l2=self.l2, penalty_weights=self.penalty_weights,
            groups=self.groups,
        )  # fmt: skip
