"""``solver="auto"``: which solver fits an objective, and why."""

from __future__ import annotations

import numpy as np

from ..losses import SquaredHinge
from ..numeric.dot import dot
from ..numeric.rows import CsrRows, squared_norms, take_rows
from ..numeric.threads import one_blas_thread
from ..objective import Objective
from .base import Solver
from .dual.newton_system import DIRECT
from .dual_ascent import DualAscent, few_rows, takes
from .gradient_descent import GradientDescent
from .lbfgs import LBFGS
from .least_squares import LeastSquares, is_squared
from .linear_program import LinearProgram, solvable
from .newton import Newton

FEW_WEIGHTS = 200
SMALL = 200_000  # values in all rows: below, a second derivative costs next to nothing


# Where single alphas are ahead of gradients, as measured (benchmarks/choices.py): rows that are
# worth a step each, and a penalty in whose units a row bends by so much. Below, gradients need few
# reads too; above, alphas crawl, unless rows have features of their own. A bias ties all rows
# together: then they must have features of their own, bend (less where they have more of them), and
# be unlike each other.
LONG_ROWS = 40
BENDS = (0.1, 3.0)
WIDE = 4  # features per row
BENDS_WITH_BIAS, ALIKE = 3.0, 0.25
LOOKED_AT = 1000
ALIKE_ROWS = 200


def _suits_coordinate_ascent(objective: Objective) -> bool:
    source, curvature = objective.source, objective.loss.max_curvature
    if curvature is None or not takes(objective):
        return False
    X, n, d = objective.in_memory.X, source.n_rows, source.n_features
    if not isinstance(X, CsrRows) or min(n, d) <= DIRECT:
        return False
    if len(X.data) < LONG_ROWS * len(X.indptr):
        return False
    some = take_rows(X, np.linspace(0, len(X.indptr) - 2, LOOKED_AT).astype(np.int64))
    square = float(squared_norms(some).mean())
    bend = curvature * square / (2.0 * objective.penalty.l2 * n)
    if not objective.intercept:
        return bend >= BENDS[0] and (bend <= BENDS[1] or d >= WIDE * n)
    if d < WIDE * n or bend * d < BENDS_WITH_BIAS * n:
        return False
    assert isinstance(some, CsrRows)
    mean = np.bincount(some.indices, some.data, d) / LOOKED_AT
    return dot(mean, mean) <= ALIKE * square


# The squared hinge on rows that can nearly be separated has many rows at its kink, at which second
# derivatives jump, and gradients need hundreds of reads where the penalty is weak. About twenty
# systems of equations solve it whatever the penalty. What a row must bend by, in units of the
# penalty, for these to be ahead grows with the unknowns; with the rows per feature, as fewer of
# them are at the kink; and as features are more alike, so that few directions do most of the
# bending, up to a point (measured on 30 tables, six penalties each).
SEPARABLE = 3  # rows per feature
UNKNOWNS, MOST_ALIKE = 90.0, 5.0


def _suits_interior_point(objective: Objective) -> bool:
    n, d = objective.source.n_rows, objective.source.n_features
    if not isinstance(objective.loss, SquaredHinge) or not takes(objective):
        return False
    if n > SEPARABLE * d or not few_rows(objective):
        return False
    square = float(np.sum(objective.moments.deviation**2))
    bend = SquaredHinge.max_curvature * square / (2.0 * objective.penalty.l2 * n)
    weak = (min(n, d) / UNKNOWNS) ** 2.5
    if n > d:
        weak *= (n / d) ** 3 * _mean_squared_correlation(objective) ** min(2.0, 2.0 * (n / d - 1.0))
    return bool(bend >= weak)


def _mean_squared_correlation(objective: Objective) -> float:
    """1 if features have nothing in common, up to ``MOST_ALIKE``.

    The mean square of the eigenvalues of their correlations (which are 1 in the mean), from the
    products of some rows.
    """
    X, (mean, deviation) = objective.in_memory.X, objective.moments
    n, d = objective.source.n_rows, objective.source.n_features
    numbers = np.unique(np.linspace(0, n - 1, ALIKE_ROWS).astype(np.int64))
    some = (np.asarray(take_rows(X, numbers)) - mean) / np.where(deviation > 0.0, deviation, 1.0)
    with one_blas_thread(len(some) ** 2 * d):
        products = some @ some.T
    apart = ~np.eye(len(some), dtype=np.bool_)
    return float(np.clip(np.mean(products[apart] ** 2) / d, 1.0, MOST_ALIKE))


def _suits_least_squares(objective: Objective) -> bool:
    """Whether products of all features are worth their price: about d / 15 reads of the rows.

    Gradients need ten to thirty to be proven near enough. Without a penalty nothing is proven,
    and of several minima the shortest is wanted.
    """
    n, d = objective.source.n_rows, objective.source.n_features
    if objective.penalty.l2 > 0.0 and n * d > SMALL:
        return d <= FEW_WEIGHTS
    return min(n, d) <= LeastSquares().direct_size


def choose(objective: Objective) -> Solver:
    """The solver for this loss and this shape of data; ``reason`` says why."""
    loss, source = objective.loss, objective.source
    n, d = source.n_rows, source.n_features
    sparse = isinstance(getattr(source, "X", None), CsrRows)
    if is_squared(loss) and _suits_least_squares(objective):
        return LeastSquares(reason="the squared loss has a closed form")
    if not loss.smooth and takes(objective):
        return DualAscent(reason=f"{loss.name} has a kink, and its dual proves the minimum")
    if solvable(objective):
        return LinearProgram(reason=f"{loss.name} without a penalty is a linear program")
    if not loss.smooth:
        why = f"{loss.name} has a kink, at which steps over all rows stall"
        return GradientDescent(batch_size=1, reason=why)
    if _suits_coordinate_ascent(objective):
        why = f"the rows are sparse and the penalty is strong enough for single rows of {loss.name}"
        return DualAscent(reason=why)
    twice = loss.has_curvature and loss.convex
    k = objective.shape[0]
    if twice and not sparse and k * d <= FEW_WEIGHTS and n * d * k**2 <= SMALL:
        return Newton(reason=f"{loss.name} is convex and twice differentiable, and {n} x {d} small")
    if not sparse and _suits_interior_point(objective):
        why = f"{loss.name} has {n} rows for {d} features, and hardly a penalty"
        return DualAscent(reason=why)
    return LBFGS(reason=f"{loss.name} is smooth: gradients are enough, and cheap")
