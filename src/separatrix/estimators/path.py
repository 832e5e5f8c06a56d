"""A path of sparse models: a fit with proof for each strength of the penalty."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..data import Source
from ..data.cluster.dask_input import dask_source, is_dask
from ..losses import Loss
from ..numeric import checks
from ..numeric.types import Array, Ints
from ..objective import Objective
from ..penalties import SparsityInducing
from ..solvers import Solver, State
from ..training.interrupt import passed_on
from .base import FitSettings
from .linear import LinearClassifier
from .strengths import (
    NullModel,
    at_strength,
    checked_ratio,
    checked_strengths,
    grid,
    null_model,
)

EXPLAINED = 0.999  # of the deviance: smaller strengths add only noise
NO_CHANGE = 1e-5  # of the deviance explained, from one strength to the next
FEWEST = 5  # strengths before a grid may end early
NO_LOSS = 1e-16  # a mean loss at the level of rounding: free features already explain everything
SAME = 1e-9  # relative difference for a strength that was printed and read again


@dataclass(frozen=True)
class Path:
    """Fits along a path of strengths s, from the largest: ``l1 = l1_ratio * s``,
    ``l2 = (1 - l1_ratio) * s / 2``.

    See Also
    --------
    path : computes it.
    PathDisplay : plots it.
    LinearClassifierCV : chooses a strength by cross-validation.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from separatrix import path
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> found = path(X, y, standardize=True, strengths=5)
    >>> found.nonzeros.tolist()
    [0, 5, 13, 22, 27]
    >>> found.at(found.strengths[2]).stop_
    'optimal'
    """

    l1_ratio: float
    """The share of the absolute values in the penalty."""
    strengths: Array
    """(m,), from large to small."""
    coefficients: Array
    """(m, k, d), k = 1 for two classes; for the features as given."""
    intercepts: Array
    """(m, k): biases."""
    objectives: Array
    """(m,): J of each fit."""
    gaps: Array
    """(m,): J exceeds its minimum by no more than this; NaN where there are no proofs."""
    nonzeros: Ints
    """(m,): weights that are not 0, over all classes."""
    deviance: Array
    """(m,): the share of the mean loss of the null model that a fit explains; the null model has
    only the biases and the weights of features with a penalty weight of 0. 0 if it has no loss."""
    _fits: tuple[LinearClassifier, ...] = field(repr=False, compare=False)

    def at(self, strength: float) -> LinearClassifier:
        """Return the fitted classifier for a strength of the path."""
        s = checks.number("strength", strength, strict=True)
        nearest = int(np.argmin(np.abs(np.log(self.strengths / s))))
        if abs(self.strengths[nearest] - s) > SAME * s:
            raise ValueError(
                f"no fit was made for the strength {s!r}: the nearest is "
                f"{float(self.strengths[nearest])!r}; give one of strengths, or fit a "
                f"LinearClassifier(l1={self.l1_ratio * s:g}, l2={(1 - self.l1_ratio) * s / 2:g})"
            )
        fit = copy(self._fits[nearest])
        fit.coef_, fit.intercept_ = fit.coef_.copy(), fit.intercept_.copy()
        return fit

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with a row for every strength, without the weights."""
        try:
            import pandas as pd  # type: ignore[import-untyped]
        except ImportError as error:
            raise ImportError(
                "Path.to_frame needs pandas, which is not installed: pip install pandas"
            ) from error
        return pd.DataFrame(
            {
                "strength": self.strengths,
                "l1": self.l1_ratio * self.strengths,
                "l2": (1.0 - self.l1_ratio) * self.strengths / 2.0,
                "nonzeros": self.nonzeros,
                "deviance": self.deviance,
                "objective": self.objectives,
                "gap": self.gaps,
            }
        )


def path(
    X: Any,
    y: Any = None,
    *,
    loss: str | Loss = "logistic",
    l1_ratio: float = 1.0,
    strengths: Any = 100,
    smallest: float | None = None,
    penalty_weights: Any = None,
    groups: Any = None,
    sample_weight: Any = None,
    solver: str | Solver = "auto",
    max_iter: int = 1000,
    tol: float | None = 1e-6,
    standardize: bool = False,
    fit_intercept: bool = True,
    class_weight: Any = None,
    n_jobs: int | None = None,
    random_state: Any = None,
) -> Path:
    """Fit sparse models for decreasing strengths s, from the one that selects no feature.

    ``l1 = l1_ratio * s`` and ``l2 = (1 - l1_ratio) * s / 2``, as in glmnet. Each fit starts from
    the previous one, and is proven to be within ``tol`` of its minimum.

    Parameters
    ----------
    X : array, sparse matrix or Source
        The rows.
    y : array (n,), optional
        Their labels; not with a source, which has its own.
    loss : str or Loss
        As in :class:`LinearClassifier`, for ``l1``.
    l1_ratio : float
        Above 0 and at most 1; 1 is the lasso.
    strengths : int or array
        The number of strengths, at equal ratios from the smallest one that leaves only the bias.
        Such a grid ends early, after five or more, if 0.999 of the deviance is explained or the
        explained share grows by less than 1e-5 of itself. Or the values, which are then all fitted.
    smallest : float, optional
        End of the grid, as a share of the largest strength: by default 1e-4, or 1e-2 for fewer rows
        than features.
    penalty_weights, groups : array (d,), optional
        As in :class:`LinearClassifier`.
    sample_weight : array (n,), optional
        Sample weights.
    solver, max_iter, tol, standardize, fit_intercept, class_weight, n_jobs, random_state
        Parameters of each fit, as in :class:`LinearClassifier`.

    Returns
    -------
    Path

    See Also
    --------
    LinearClassifier : one fit.
    LinearClassifierCV : chooses a strength by cross-validation.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from separatrix import path
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> found = path(X, y, standardize=True, smallest=0.01)
    >>> len(found.strengths), int(found.nonzeros[-1]), round(float(found.deviance[-1]), 3)
    (100, 13, 0.9)
    """
    ratio, wanted = checked_ratio(l1_ratio), checked_strengths(strengths, smallest)
    model = LinearClassifier(
        loss, l1=ratio, l2=(1.0 - ratio) / 2.0, penalty_weights=penalty_weights, groups=groups,
        solver=solver, max_iter=max_iter, tol=tol, standardize=standardize,
        fit_intercept=fit_intercept, class_weight=class_weight, n_jobs=n_jobs,
        random_state=random_state,
    )  # fmt: skip
    settings, objective = _posed(model, X, y, sample_weight)
    null = null_model(objective, ratio)
    early = isinstance(wanted, int)
    values = grid(objective, null, wanted, smallest) if isinstance(wanted, int) else wanted
    fits: list[LinearClassifier] = []
    losses: list[float] = []
    for fit, mean_loss in _fits(model, settings, objective, null, ratio, values):
        fits.append(fit)
        losses.append(mean_loss)
        if early and _is_enough(losses, null.loss):
            break
    _warn_of_unproven(fits)
    if not early and values[-1] >= null.largest > 0.0:
        warnings.warn(
            f"no feature is selected: no strength is below {null.largest:g}, the smallest one "
            "that leaves only the bias; give smaller strengths, or their number",
            UserWarning,
            stacklevel=2,
        )
    explained = [_explained(loss, null.loss) for loss in losses]
    return _path(ratio, values[: len(fits)], fits, np.array(explained))


def _posed(
    model: LinearClassifier, X: Any, y: Any, sample_weight: Any
) -> tuple[FitSettings, Objective]:
    """The objective for a strength of 1; the model records the features of the rows."""
    settings = model._checked_settings()
    if is_dask(X):
        X, y, sample_weight = dask_source(X, y, sample_weight), None, None
    found = model._given_source if isinstance(X, Source) else model._source
    settings, source = model._standardized(settings, found(X, y, sample_weight))
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
        penalty = at_strength(cast(SparsityInducing, objective.penalty), l1_ratio, strength)
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


def _path(l1_ratio: float, strengths: Array, fits: list[LinearClassifier], deviance: Array) -> Path:
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
    )
