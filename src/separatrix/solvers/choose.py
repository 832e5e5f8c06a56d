"""``solver="auto"``: which solver fits an objective, and why."""

from __future__ import annotations

from dataclasses import replace

from ..loops import CsrRows
from ..losses import Loss, MarginLoss, Squared
from ..objective import Objective
from .base import Solver
from .descent import GradientDescent
from .direct import LeastSquares
from .lbfgs import LBFGS
from .newton import Newton

FEW_FEATURES = 200


def choose(objective: Objective) -> Solver:
    """The solver for this loss and this shape of data; ``reason`` says why."""
    loss, d = objective.loss, objective.source.n_features
    sparse = isinstance(getattr(objective.source, "X", None), CsrRows)
    if type(loss) is Squared and min(d, objective.source.n_rows) <= LeastSquares().direct_size:
        return LeastSquares(reason="the squared loss has a closed form")
    if not loss.smooth:
        return _for_kinks(loss)
    if isinstance(loss, MarginLoss) and loss.has_curvature and loss.convex:
        if d <= FEW_FEATURES and not sparse:
            return Newton(
                reason=f"{loss.name} is convex with a second derivative, and {d} features are few"
            )
        many = "the rows are sparse" if sparse else f"{d} features are many"
        return LBFGS(reason=f"{loss.name} is smooth, and {many} for a second derivative")
    return LBFGS(reason=f"{loss.name} is smooth, but not convex with a second derivative")


def _for_kinks(loss: Loss) -> Solver:
    solver: Solver = GradientDescent(batch_size=1)
    return replace(solver, reason=f"{loss.name} has a kink, where a step over all rows stalls")
