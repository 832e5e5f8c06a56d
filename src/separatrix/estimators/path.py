"""A path of models: a fit with proof for each strength of the penalty, and held-out scores."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, cast

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..data import Source
from ..data.cluster.dask_input import dask_source, is_dask
from ..data.files.encoding.suspects import ColumnWarning
from ..data.offset import offset_source
from ..data.wrapped import Featureless
from ..losses import Loss
from ..numeric import checks
from ..numeric.types import AnyArray, Array
from ..objective import Objective
from ..penalties import L2, Penalty, SparsityInducing, is_l2
from ..solvers import Solver, State
from ..training.interrupt import passed_on
from .base import FitSettings
from .cv.estimator import LinearClassifierCV
from .cv.l2_path import l2_path
from .cv.results import text_of_end
from .linear import LinearClassifier
from .offsets import refuse_offset_beside
from .path_result import Path
from .strengths import (
    NullModel,
    at_strength,
    checked_ratio,
    checked_strengths,
    grid,
    null_model,
)

STRENGTHS, VALUES_OF_L2 = 100, 20  # of a grid, as in LinearClassifierCV
EXPLAINED = 0.999  # of the deviance: smaller strengths add only noise
NO_CHANGE = 1e-5  # of the deviance explained, from one strength to the next
FEWEST = 5  # strengths before a grid may end early
NO_LOSS = 1e-16  # a mean loss at the level of rounding: free features already explain everything


def path(
    X: Any,
    y: Any = None,
    *,
    loss: str | Loss = "logistic",
    l1_ratio: float = 1.0,
    strengths: Any = None,
    smallest: float | None = None,
    penalty_weights: Any = None,
    groups: Any = None,
    sample_weight: Any = None,
    offset: Any = None,
    cv: Any = None,
    scoring: Any = "loss",
    solver: str | Solver = "auto",
    max_iter: int = 1000,
    tol: float | None = 1e-6,
    standardize: bool = False,
    fit_intercept: bool = True,
    class_weight: Any = None,
    n_jobs: int | None = None,
    random_state: Any = None,
    callbacks: Sequence[Any] = (),
) -> Path:
    """Fit models for decreasing strengths s, from the one that selects no feature.

    ``l1 = l1_ratio * s`` and ``l2 = (1 - l1_ratio) * s / 2``, as in glmnet. Each fit starts from
    the previous one, and is proven to be within ``tol`` of its minimum. ``separatrix path`` is the
    same on the command line.

    Parameters
    ----------
    X : array, sparse matrix, frame or Source
        The rows.
    y : array (n,), optional
        Their labels; not with a source, which has its own.
    loss : str or Loss
        As in :class:`LinearClassifier`, for ``l1`` unless ``l1_ratio`` is 0.
    l1_ratio : float
        From 0 to 1; 1 is the lasso, and 0 a path in ``l2 = s / 2`` without ``l1``.
    strengths : int, array or None
        The number of strengths, at equal ratios from the smallest one that leaves only the bias;
        None: 100, or 20 with ``l1_ratio=0``. Such a grid ends early, after five or more, if 0.999
        of the deviance is explained or the explained share grows by less than 1e-5 of itself. With
        ``l1_ratio=0`` the grid starts where the penalty outweighs the data, as in
        :class:`LinearClassifierCV`, and does not end early. Or the values, which are then all
        fitted.
    smallest : float, optional
        End of the grid, as a share of the largest strength: by default 1e-4, or 1e-2 for fewer rows
        than features; 1e-8 with ``l1_ratio=0``.
    penalty_weights, groups : array (d,), optional
        As in :class:`LinearClassifier`; not with ``l1_ratio=0``.
    sample_weight : array (n,), optional
        Sample weights.
    offset : array (n,) or (n, k), optional
        As in :class:`LinearClassifier`; the fit of the bias alone has it, too.
    cv, scoring
        As in :class:`LinearClassifierCV`, to score every strength on held-out rows. None: without
        scores.
    solver, max_iter, tol, standardize, fit_intercept, class_weight, n_jobs, random_state
        Parameters of each fit, as in :class:`LinearClassifier`.
    callbacks : sequence of callables
        Those with a method ``searched(strength)`` are called after each fit; with ``cv`` they are
        also the callbacks of :class:`LinearClassifierCV`.

    Returns
    -------
    Path

    See Also
    --------
    LinearClassifier : one fit.
    LinearClassifierCV : chooses a strength by cross-validation.
    PathDisplay : plots the path.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from separatrix import path
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> found = path(X, y, standardize=True, smallest=0.01)
    >>> len(found.strengths), int(found.nonzeros[-1]), round(float(found.deviance[-1]), 3)
    (100, 13, 0.9)
    """
    ratio = checked_ratio(l1_ratio, zero=True)
    count = (STRENGTHS if ratio else VALUES_OF_L2) if strengths is None else strengths
    wanted = checked_strengths(count, smallest)
    if ratio == 0.0 and (penalty_weights is not None or groups is not None):
        name = "groups" if penalty_weights is None else "penalty_weights"
        raise ValueError(f"{name} is for sparse paths: leave it out, or give an l1_ratio above 0")
    of_fits: dict[str, Any] = {
        "penalty_weights": penalty_weights, "groups": groups, "solver": solver,
        "max_iter": max_iter, "tol": tol, "standardize": standardize,
        "fit_intercept": fit_intercept, "class_weight": class_weight, "n_jobs": n_jobs,
        "random_state": random_state,
    }  # fmt: skip
    model = LinearClassifier(loss, l1=ratio, l2=(1.0 - ratio) / 2.0, **of_fits)
    if isinstance(X, Source):
        refuse_offset_beside(offset)
    if is_dask(X):
        X, y, sample_weight = dask_source(X, y, sample_weight, offset), None, None
        offset = None
    settings, objective = _posed(model, X, y, sample_weight, offset)
    null = null_model(objective, ratio) if ratio else _constant_model(model, objective)
    own_grid = isinstance(wanted, int)
    values = wanted if not isinstance(wanted, int) else _grid(objective, null, wanted, smallest)
    fits: list[LinearClassifier] = []
    losses: list[float] = []
    for fit, mean_loss in _fits(model, settings, objective, null, ratio, values):
        fits.append(fit)
        losses.append(mean_loss)
        for call in callbacks:
            if hasattr(call, "searched"):
                call.searched(float(values[len(fits) - 1]))
        if own_grid and ratio and _is_enough(losses, null.loss):
            break
    _warn_of_unproven(fits)
    if ratio and not own_grid and values[-1] >= null.largest > 0.0:
        warnings.warn(
            f"no feature is selected: no strength is below {null.largest:g}, the smallest one "
            "that leaves only the bias; give smaller strengths, or their number",
            UserWarning,
            stacklevel=2,
        )
    values, explained = values[: len(fits)], [_explained(loss, null.loss) for loss in losses]
    results = None
    if cv is not None:
        search = {"cv": cv, "scoring": scoring, "callbacks": callbacks, **of_fits}
        clf = LinearClassifierCV(loss, **search)
        results = _scored(clf, ratio, values, X, y, sample_weight, offset)
        if text := text_of_end(results, "strength" if ratio else "l2", own_grid):
            warnings.warn(text, UserWarning, stacklevel=2)
    return _path(ratio, values, fits, np.array(explained), results)


def _grid(objective: Objective, null: NullModel, count: int, smallest: float | None) -> Array:
    """Strengths from the largest; of a path in l2, twice its values."""
    if is_l2(objective.penalty):
        return 2.0 * l2_path(count, objective, smallest)
    return grid(objective, null, count, smallest)


def _constant_model(model: LinearClassifier, objective: Objective) -> NullModel:
    """The fit of the biases for any loss; without an offset it depends on the class weights."""
    classes, sums = objective.source.classes, objective.source.class_weight_sums()
    alone = LinearClassifier(
        model.loss,
        l2=1.0,
        tol=model.tol,
        fit_intercept=model.fit_intercept,
        max_iter=model.max_iter,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        if objective.source.has_offset:
            alone.fit(Featureless(objective.source))
        else:
            alone.fit(np.zeros((len(classes), 1)), classes, sample_weight=sums)
    return NullModel(np.zeros(objective.shape), alone.objective_, np.inf)


def _scored(
    clf: LinearClassifierCV,
    l1_ratio: float,
    strengths: Array,
    X: Any,
    y: Any,
    sample_weight: Any,
    offset: Any,
) -> dict[str, AnyArray]:
    """Scores of every strength on held-out rows."""
    if l1_ratio:
        clf.set_params(l1_ratio=l1_ratio, strengths=strengths)
    else:
        clf.set_params(l2s=strengths / 2.0)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "the best score is that of", UserWarning)
        warnings.simplefilter("ignore", ColumnWarning)  # of a frame, which was read before
        return clf.fit(X, y, sample_weight, offset=offset).cv_results_


def _posed(
    model: LinearClassifier, X: Any, y: Any, sample_weight: Any, offset: Any
) -> tuple[FitSettings, Objective]:
    """The objective for a strength of 1; the model records the features of the rows."""
    settings = model._checked_settings()
    found = model._given_source if isinstance(X, Source) else model._source
    source = found(X, y, sample_weight)
    if offset is not None:
        source = offset_source(source, offset)
    model._note_offset(source)
    settings, source = model._standardized(settings, source)
    settings, objective, _, _ = model._posed(settings, source, 0)
    _ = objective.moments  # cached here, so that they are not computed again for every strength
    return settings, objective


def _fits(
    model: LinearClassifier,
    settings: FitSettings,
    objective: Objective,
    null: NullModel,
    l1_ratio: float,
    strengths: Array,
) -> Iterator[tuple[LinearClassifier, float]]:
    """Yield a fitted classifier and its mean loss for each strength in turn."""
    W, seed = null.weights, checks.seed(model.random_state)
    before: tuple[str, State | None] = "", None
    for strength in strengths.tolist():
        penalty = _at(objective.penalty, l1_ratio, strength)
        fit, own = copy(model), objective.with_penalty(penalty)
        fit.l1, fit.l2 = penalty.l1, penalty.l2
        solver = fit._solver(own, partial=False)
        posed = replace(settings, penalty=penalty).kept_by(solver)
        with passed_on():  # Ctrl-C ends the path, not one of its many fits
            state = before[1] if before[0] == solver.name else None
            result = fit._minimize(posed, own, solver, seed, W, state)
        before = solver.name, solver.handed_on(result.state)
        fit._note_fit(posed, solver, result)
        fit._finish(own, result)
        W = result.weights
        yield fit, fit.objective_ - penalty.value(W)


def _at(penalty: Penalty, l1_ratio: float, strength: float) -> Penalty:
    if is_l2(penalty):
        return L2(strength / 2.0)
    return at_strength(cast(SparsityInducing, penalty), l1_ratio, strength)


def _explained(loss: float, null_loss: float) -> float:
    """The share of the null model's loss that is explained; 0 if it has no loss."""
    return 1.0 - loss / null_loss if null_loss > NO_LOSS else 0.0


def _is_enough(losses: list[float], null_loss: float) -> bool:
    """Whether smaller strengths cannot add anything."""
    if len(losses) < FEWEST:
        return False
    explained, before = (_explained(loss, null_loss) for loss in (losses[-1], losses[-2]))
    return explained >= EXPLAINED or explained - before < NO_CHANGE * explained


def _warn_of_unproven(fits: list[LinearClassifier]) -> None:
    """Issue one warning for all fits that ended before tol was reached."""
    short = [fit for fit in fits if not fit.converged_]
    if short:
        ends = ", ".join(sorted({fit.stop_ for fit in short}))
        tol, known, raised = short[0].tol, "have converged", "max_iter"
        if tol is not None:
            known, raised = f"be within tol={tol:g} of their minimum", "max_iter or tol"
        warnings.warn(
            f"{len(short)} of {len(fits)} fits of the path ended ({ends}) before they were known "
            f"to {known}, the first at l1 = {short[0].l1:.3g} (see gaps): raise {raised}, "
            "scale the features (standardize=True), or end the path earlier (smallest=...)",
            ConvergenceWarning,
            stacklevel=3,
        )


def _path(
    l1_ratio: float,
    strengths: Array,
    fits: list[LinearClassifier],
    deviance: Array,
    cv_results: dict[str, AnyArray] | None,
) -> Path:
    coefficients = np.array([fit.coef_ for fit in fits])
    for fit, coef in zip(fits, coefficients, strict=True):
        fit.coef_ = coef  # shared with the path
    return Path(
        l1_ratio,
        strengths,
        coefficients,
        np.array([fit.intercept_ for fit in fits]),
        np.array([fit.objective_ for fit in fits]),
        np.array([np.nan if fit.gap_ is None else fit.gap_ for fit in fits]),
        np.count_nonzero(coefficients, axis=(1, 2)),
        deviance,
        tuple(fits),
        cv_results,
    )
