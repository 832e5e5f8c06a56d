"""``solver="auto"``: which solver fits an objective, and why."""

from __future__ import annotations

from ..layout import CsrRows
from ..objective import Objective
from .base import Solver
from .descent import GradientDescent
from .direct import LeastSquares, is_squared
from .dual import DualAscent, takes
from .lbfgs import LBFGS
from .newton import Newton

FEW_WEIGHTS = 200
SMALL = 200_000  # values in all rows: below, a second derivative costs next to nothing


def choose(objective: Objective) -> Solver:
    """The solver for this loss and this shape of data; ``reason`` says why."""
    loss, source = objective.loss, objective.source
    n, d = source.n_rows, source.n_features
    sparse = isinstance(getattr(source, "X", None), CsrRows)
    if is_squared(loss) and min(n, d) <= LeastSquares().direct_size:
        return LeastSquares(reason="the squared loss has a closed form")
    if not loss.smooth and takes(objective):
        return DualAscent(reason=f"{loss.name} has a kink, and its dual proves the minimum")
    if not loss.smooth:
        why = f"{loss.name} has a kink, at which steps over all rows stall"
        return GradientDescent(batch_size=1, reason=why)
    twice = loss.has_curvature and loss.convex
    k = objective.shape[0]
    if twice and not sparse and k * d <= FEW_WEIGHTS and n * d * k**2 <= SMALL:
        return Newton(reason=f"{loss.name} is convex and twice differentiable, and {n} x {d} small")
    return LBFGS(reason=f"{loss.name} is smooth: gradients are enough, and cheap")
