"""Which weights of a fit are proven not to be 0: in the fit, and on request from its rows."""

from __future__ import annotations

import numpy as np

from ..data import InMemory, Source
from ..numeric.types import AnyArray, Array
from ..objective import Objective
from ..penalties import Penalty
from ..proofs.gap import GapTracker
from ..proofs.screening import proven_zeros
from ..proofs.selection import proven_nonzeros
from ..proofs.units import GivenUnits, seen_weights
from ..solvers import choose
from ..solvers.dual.proximal_point import reduced_run
from ..training.minimize import minimize
from ..training.stopping import Stop
from .certified import SAME, TINY
from .minimizer import LossModel
from .thresholds import SELECTION_PRODUCTS, SELECTION_READS, SELECTION_SHARE

REFIT_TOL = 1e-11  # of a fit without a feature: its bound is to be above another minimum
ALL_READS = 100  # of the rows, that a proof on request may take


def proven_in_fit(proof: GapTracker, W: Array) -> AnyArray:
    """Which weights of the objective are proven not to be 0, for little more than the fit took."""
    source = proof.objective.source
    work = 0.0
    if isinstance(source, InMemory) or proof.reads >= SELECTION_READS:
        of_fit = SELECTION_SHARE * proof.reads * W.shape[0] * W.shape[1]
        work = max(of_fit, SELECTION_PRODUCTS / source.n_rows)
    return proven_nonzeros(proof, W, _zeros(proof, W), work)


def _zeros(proof: GapTracker, W: Array) -> AnyArray:
    zeros: AnyArray = proven_zeros(proof) & (W[:, :-1] == 0.0)
    return zeros


def check_selection(model: LossModel) -> None:
    """Check that more may be proven about the selection of a fitted model."""
    if model._own_objective or model.multilabel_:
        what = "its own objective" if model._own_objective else "several labels for a row"
        raise ValueError(f"certify_selection is not for a fit with {what}: fit without it")
    if model.trace_.penalty.smooth:
        raise ValueError(
            "certify_selection is for penalties that make weights 0: this fit has none, fit with "
            "l1 > 0"
        )
    if model.gap_ is None:
        raise ValueError(
            "a selection is certified by gap_, and this fit has none: fit again with tol, such as "
            "tol=1e-6, and a convex loss (partial_fit and tol=None make no proof)"
        )


def proven_on_request(model: LossModel, source: Source) -> AnyArray:
    """Which weights of the objective are proven not to be 0, given the rows of the fit."""
    features = model._features
    scaled = features is not None and features.standardization is not None
    rows = source if features is None else features.source(source)
    objective = Objective(model.trace_.loss, model.trace_.penalty, rows, model.fit_intercept)
    units = GivenUnits(objective, features, source if scaled else None)
    W = seen_weights(model._minimum(), features)
    proof = GapTracker(objective, model.tol or 0.0, reduced_run, reads=ALL_READS, units=units)
    proof.close(W, W, None)
    if not abs(proof.value - model.objective_) <= SAME * abs(model.objective_) + TINY:
        raise ValueError(
            f"the objective on these rows is {proof.value:.9g}, but the fit reached "
            f"{model.objective_:.9g}: pass the X, y, sample_weight and offset of the fit"
        )
    found = proven_nonzeros(proof, W, _zeros(proof, W))
    if len(W) == 1:
        for j in np.flatnonzero((W[0, :-1] != 0.0) & ~found[0]).tolist():
            without = objective.penalty.without_feature(j, W.shape[1] - 1)
            found[0, j] = without is not None and _is_larger(proof, without, W, j, model.max_iter)
    return found


def _is_larger(proof: GapTracker, without: Penalty, W: Array, j: int, max_iter: int) -> bool:
    """Whether the minimum with another penalty is provably above J at W.

    Weights with ``J <= J(W)`` are a convex set without any whose weight of feature j is 0: so that
    weight has the same sign in all of them, among which are W and all minima.
    """
    objective, units = proof.objective.with_penalty(without), proof.given
    start = W.copy()
    start[0, j] = 0.0
    result = minimize(
        objective, choose(objective), stop=Stop(tol=REFIT_TOL, max_iter=max_iter), start=start,
        features=units.features, given=units.given,
    )  # fmt: skip
    return result.proof is not None and result.proof.lower_bound > proof.value + proof.error
