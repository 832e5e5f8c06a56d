"""``solver="auto"``: which solver fits an objective, and why."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..data import Block, InMemory, Source, Sum
from ..numeric.dot import dot
from ..numeric.standardization import Standardization
from ..numeric.threads import one_blas_thread
from ..numeric.types import Ints
from ..objective import Objective
from ..objective.thresholds import SAMPLE_ROWS
from ..rows import host_rows_of
from .base import Solver
from .coordinate_descent import CoordinateDescent
from .dual.coordinate_ascent import CoordinateAscent
from .dual.interior_point import InteriorPoint
from .dual_ascent import DualAscent, is_badly_scaled, is_wide, suits_interior_point
from .gradient_descent import GradientDescent
from .lbfgs import LBFGS
from .least_squares import LeastSquares, is_squared
from .linear_program import LinearProgram, solvable
from .newton import Newton
from .proximal_newton import ProximalNewton
from .row_systems import has_row_systems
from .thresholds import (
    CLOSED_FORM_FEATURES,
    CLOSED_FORM_VALUES,
    COMMON_DIRECTION,
    DENSE_ROWS_OF_A_FEATURE,
    FACTORED_UNKNOWNS,
    FEATURES_OF_A_ROW,
    FEW_ROWS,
    FEW_VALUES_OF_FEATURES,
    FEW_WEIGHTS,
    INTERIOR_UNKNOWNS,
    MOST_CLOSED_FORM_FEATURES,
    MOST_CORRELATED,
    NEARLY_SEPARABLE,
    RARE_FEATURES,
    RARE_ROWS,
    RARE_SHARE,
    RARE_STRENGTH,
    ROW_CURVATURE,
    ROWS_OF_A_FEATURE,
    SMALL_TABLE,
)

LOOKED_AT, CORRELATION_ROWS = 1000, 200  # rows on which the decision is based


def _suits_coordinate_ascent(objective: Objective) -> bool:
    """Whether coordinate ascent on a smooth loss is faster than methods that use full gradients.

    It is on sparse rows that have a feature for every few rows. A bias couples all rows: with one,
    only if features outnumber rows, the rows share no direction, and the penalty is not so strong
    that gradients need few reads.
    """
    source = objective.source
    if objective.shape[0] > 1 or objective.loss.max_curvature is None:
        return False
    if not _has_a_feature_for_every_few_rows(source) or not DualAscent().accepts(objective):
        return False
    n, d = source.n_rows, source.n_features
    if min(n, d) <= FACTORED_UNKNOWNS and not is_wide(objective):
        return False
    if not objective.intercept:
        return True
    if n > d:
        return False
    some = _some_rows(objective.in_memory)
    square, curvature = _row_curvature(objective, some)
    mean = some.transpose_product(np.full((len(some.y), 1), 1.0 / len(some.y)))[0, :-1]
    return curvature >= ROW_CURVATURE and dot(mean, mean) <= COMMON_DIRECTION * square


def _suits_one_vs_rest_ascent(objective: Objective) -> bool:
    """Whether coordinate ascent is faster for a one-vs-rest loss.

    It is on sparse rows that have a feature for every few rows; with a bias, which couples all
    rows, unless the penalty is so strong that gradients need few reads.
    """
    source = objective.source
    if objective.shape[0] == 1 or not _has_a_feature_for_every_few_rows(source):
        return False
    if not CoordinateAscent().accepts(objective):
        return False
    if not objective.intercept:
        return True
    return _row_curvature(objective, _some_rows(objective.in_memory))[1] >= ROW_CURVATURE


def _has_a_feature_for_every_few_rows(source: Source) -> bool:
    """Whether rows in memory are sparse and there are enough features to distinguish them."""
    if source.storage != "csr" or not isinstance(source, InMemory):
        return False
    return source.n_rows <= ROWS_OF_A_FEATURE * source.n_features


def _some_rows(source: InMemory) -> InMemory:
    """Rows spread evenly over the data."""
    count = len(source.y)
    return source.take(np.linspace(0, count - 1, min(count, LOOKED_AT)).astype(np.int64))


def _row_curvature(objective: Objective, some: InMemory) -> tuple[float, float]:
    """Mean |x|^2, and the curvature of J along such a row, in units of the penalty."""
    square = float(some.row_norms(squared=True).mean())
    most = objective.loss.max_curvature or 0.0
    return square, most * square / (2.0 * objective.penalty.l2 * objective.source.n_rows)


def _suits_interior_point(objective: Objective) -> bool:
    """Whether an interior point is faster, as many rows are at the kink of a squared hinge.

    On nearly separable rows second derivatives jump there, and gradients need hundreds of reads if
    the penalty is weak; about twenty systems solve it for any penalty. The curvature along a row,
    in units of the penalty, above which these are faster grows with the number of unknowns; with
    the rows per feature, because fewer rows are at the kink; and, up to a point, with the
    correlation of features, because few directions then have most of the curvature.
    """
    n, d = objective.source.n_rows, objective.source.n_features
    loss = objective.loss
    if loss.max_curvature is None or not loss.spares or not InteriorPoint().accepts(objective):
        return False
    if n > NEARLY_SEPARABLE * d or not suits_interior_point(objective):
        return False
    square = float(np.sum(objective.moments.deviation**2))
    curvature = loss.max_curvature * square / (2.0 * objective.penalty.l2 * n)
    weak = (min(n, d) / INTERIOR_UNKNOWNS) ** 2.5
    if n > d:
        correlation = _mean_squared_correlation(objective)
        weak *= (n / d) ** 3 * correlation ** min(2.0, 2.0 * (n / d - 1.0))
    return bool(curvature >= weak)


def _suits_row_systems(objective: Objective) -> bool:
    """Whether Newton systems with one unknown per row cost less than the reads of L-BFGS."""
    n, d = objective.source.n_rows, objective.source.n_features
    return n <= min(FEW_ROWS, d / FEATURES_OF_A_ROW) and has_row_systems(objective)


def _has_rare_features(objective: Objective) -> bool:
    """Whether a sample cannot estimate the curvature along many of a few hundred sparse features.

    Then L-BFGS takes hundreds of reads where the penalty is weak, and ten Hessians of all rows
    solve a squared hinge whatever the penalty.
    """
    source = objective.source
    n, d = source.n_rows, source.n_features
    if source.storage != "csr" or not isinstance(source, InMemory) or d > RARE_FEATURES:
        return False
    strength = 2.0 * objective.penalty.l2 * source.weight_sum
    spares = objective.loss.spares and objective.shape[0] == 1
    if not spares or not 0.0 < strength * RARE_STRENGTH <= 1.0:
        return False
    (stored,) = source.total(StoredValues())
    rare = stored * min(1.0, SAMPLE_ROWS / n) < RARE_ROWS
    return bool(np.count_nonzero(rare & (stored > 0.0)) >= RARE_SHARE * np.count_nonzero(stored))


@dataclass(frozen=True)
class StoredValues(Sum[tuple[Ints]]):
    """Number of stored values of every feature."""

    def of(self, block: Block) -> tuple[Ints]:
        return (host_rows_of(block.X).stored_by_feature,)


def _drowns_in_features(objective: Objective) -> bool:
    """Whether a squared hinge needs interior points because the penalty is lost to rounding.

    If the rows can be separated, J consists of the penalty alone.
    """
    if not objective.loss.spares or not InteriorPoint().accepts(objective):
        return False
    return is_badly_scaled(objective)


def _mean_squared_correlation(objective: Objective) -> float:
    """1 if features are uncorrelated, up to ``MOST_CORRELATED``.

    The mean square of the eigenvalues of their correlations (which are 1 in the mean), from the
    products of some rows.
    """
    n, d = objective.source.n_rows, objective.source.n_features
    numbers = np.unique(np.linspace(0, n - 1, CORRELATION_ROWS).astype(np.int64))
    mean, deviation = objective.moments
    units = Standardization(mean, np.append(np.where(deviation > 0.0, deviation, 1.0), 1.0))
    blocks = objective.in_memory.take(numbers).blocks()
    some = np.concatenate([block.rows.standardized(units)[:, :-1] for block in blocks])
    with one_blas_thread(len(some) ** 2 * d):
        products = some @ some.T
    apart = ~np.eye(len(some), dtype=np.bool_)
    return float(np.clip(np.mean(products[apart] ** 2) / d, 1.0, MOST_CORRELATED))


def _suits_least_squares(objective: Objective) -> bool:
    """Whether products of all features pay off: they cost about d / 15 reads of the rows.

    Gradients need ten to thirty reads for a proof. Without a penalty nothing can be proven, and
    the shortest of several minima is wanted.
    """
    n, d = objective.source.n_rows, objective.source.n_features
    if objective.penalty.l2 > 0.0 and n * d > SMALL_TABLE:
        if not isinstance(objective.source, InMemory):  # reads are expensive, and L-BFGS takes more
            return d <= FEW_WEIGHTS
        few = n * d <= CLOSED_FORM_VALUES * objective.shape[0]
        return d <= (MOST_CLOSED_FORM_FEATURES if few else CLOSED_FORM_FEATURES)
    return min(n, d) <= LeastSquares().direct_size


def _suits_products(objective: Objective) -> bool:
    """Whether conjugate gradients, which need only products with the rows, are faster.

    They are for rows that store few of their features or are fewer than the features. For many
    dense rows, L-BFGS with the second derivative of a sample is better.
    """
    source = objective.source
    few_values = source.row_values <= FEW_VALUES_OF_FEATURES * source.n_features
    return objective.penalty.l2 > 0.0 and (few_values or source.n_rows < source.n_features)


def _suits_columns(objective: Objective) -> bool:
    """Whether coordinate descent is faster for l1: sparse rows, or few dense rows per feature.

    With many dense rows, products of some columns cost less than steps along each of them.
    """
    loss, source = objective.loss, objective.source
    in_memory = isinstance(source, InMemory) and source.visitable
    if not in_memory or objective.penalty.groups is not None or objective.penalty.constrains:
        return False
    few = source.n_rows < DENSE_ROWS_OF_A_FEATURE * source.n_features
    by_class = loss.column_loss is not None and loss.convex and loss.has_curvature
    return by_class and (source.storage == "csr" or few)


def _for_another_penalty(objective: Objective) -> Solver:
    """For penalties other than plain l2."""
    loss, model = objective.loss, objective.loss.has_convex_model
    some_zero = objective.penalty.thresholds.any()
    kind = "weights become 0" if some_zero else "features have penalties of their own"
    kind = "weights have bounds" if objective.penalty.constrains else kind
    if _suits_columns(objective):
        return CoordinateDescent(reason=f"{kind}, and columns of wide or sparse rows are cheap")
    if model and ProximalNewton().holds_groups(objective):
        return ProximalNewton(reason=f"{kind}, and second derivatives fit in memory")
    why = "a group is too large for second derivatives" if model else ""
    why = why or f"{loss.name} has no curvature to use"
    return GradientDescent(reason=f"{kind}, and {why}")


def _for_a_kinked_loss(objective: Objective) -> Solver:
    """The dual, if it is known, because it proves the minimum."""
    loss = objective.loss
    if DualAscent().accepts(objective):
        return DualAscent(reason=f"{loss.name} has a kink, and its dual proves the minimum")
    if solvable(objective):
        return LinearProgram(reason=f"{loss.name} without a penalty is a linear program")
    if not objective.source.visitable:
        why = f"{loss.name} has a kink, and the rows offer sums alone"
        return GradientDescent(reason=why)
    why = f"{loss.name} has a kink, at which steps over all rows stall"
    return GradientDescent(batch_size=1, reason=why)


def choose(objective: Objective) -> Solver:
    """Choose the solver for this loss and shape of data; ``reason`` says why."""
    loss, source = objective.loss, objective.source
    n, d = source.n_rows, source.n_features
    sparse = source.storage == "csr"
    if not LBFGS().takes(objective.penalty):
        return _for_another_penalty(objective)
    if not loss.smooth:
        return _for_a_kinked_loss(objective)
    if is_squared(loss) and _suits_least_squares(objective):
        return LeastSquares(reason="the squared loss has a closed form")
    if is_squared(loss) and _suits_products(objective):
        why = "the squared loss is a quadratic, and products with wide or sparse rows are cheap"
        return LeastSquares(direct_size=0, reason=why)
    if _suits_coordinate_ascent(objective):
        why = f"the rows are sparse: coordinate ascent is faster for {loss.name}"
        return DualAscent(reason=why)
    if _suits_one_vs_rest_ascent(objective):
        why = f"the rows are sparse: coordinate ascent solves {loss.name} class by class"
        return CoordinateAscent(reason=why)
    if not sparse and _drowns_in_features(objective):
        why = f"{loss.name} has features so large that rounding hides the penalty"
        return DualAscent(reason=why)
    k = objective.shape[0]
    twice = loss.has_curvature and loss.convex
    if twice and not sparse and k * d <= FEW_WEIGHTS and n * d * k**2 <= SMALL_TABLE:
        return Newton(reason=f"{loss.name} is convex and twice differentiable, and {n} x {d} small")
    if not sparse and _suits_interior_point(objective):
        why = f"{loss.name} has {n} rows for {d} features, and a weak penalty"
        return DualAscent(reason=why)
    if twice and not sparse and _suits_row_systems(objective):
        why = (
            f"{loss.name} has {n} rows for {d} features: systems with an unknown per row are small"
        )
        return Newton(reason=why)
    if _has_rare_features(objective):
        why = f"{loss.name} has rare features, which a sample would miss, and a weak penalty"
        return Newton(reason=why)
    return LBFGS(reason=f"{loss.name} is smooth: gradients are enough, and cheap")
