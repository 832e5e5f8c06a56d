"""The covariance of a few coefficients of many, without a matrix of all.

With A the second derivative of the penalised losses and rows c of the requested coefficients, only
the columns ``v = A^-1 c`` are needed. Conjugate gradients find them from products of A with
vectors, and every pass over the rows serves all columns (M. R. Hestenes and E. Stiefel, 1952).

Accuracy. Let r = c - A v be the residual, computed anew at the end. The error d = A^-1 r of a
column has ``d'A d = r'A^-1 r <= r'P^-1 r / m`` in the metric of the second derivative, with P the
preconditioner and m the least eigenvalue of ``P^-1 A``. A penalty on all variables bounds m from
below; otherwise the Lanczos values of the same run estimate it, with a margin, as they approach it
from above. A column is accepted only if its error is below 1e-8 of its length. From these columns
``c'A^-1 c = v'c + v'r + d'A d`` is right to the square of that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import eigvalsh_tridiagonal

from ...numeric.threads import one_blas_thread
from ...numeric.types import AnyArray, Array, Ints
from .column_sums import CurvatureProducts, ProjectedGradients
from .covariance import Covariance, Estimated, few_factor, number_of_rows, scale_of
from .fitted import FittedLikelihood
from .reported import Reported

ACCURACY = 1e-8  # of a column, in the metric of the second derivative
MARGIN = 10.0  # between the least Lanczos value and the least eigenvalue
FLAT = 1e-13  # of |p|^2: curvature below it is rounding, so a combination of features is 0
MOST_PRODUCTS = 10_000  # of the second derivative, for all columns together
RESTARTS = 8  # from residuals that are computed anew
MOST_VALUES = 16_000_000  # of all columns


class Columns(NamedTuple):
    """Solutions v of ``A v = c``, and their residuals, (m, p) each."""

    v: Array
    residual: Array


def estimated_columns(found: FittedLikelihood, asked: Covariance, reported: Reported) -> Estimated:
    """The covariance of the reported coefficients alone."""
    free, at = np.flatnonzero(found.free), reported.at
    if len(at) * len(free) > MOST_VALUES:
        raise ValueError(
            f"features= names {len(at)} of {len(free)} coefficients, and the columns of at most "
            f"{MOST_VALUES // len(free)} fit into memory: name fewer features at a time"
        )
    n, penalty = number_of_rows(found, asked), found.penalty[free]
    if found.squared and found.penalised:
        raise ValueError(
            "the variance of the errors of the squared loss needs the effective number of "
            f"parameters, which is not computed for {len(free)} coefficients: use loss='logistic', "
            "or l2=0"
        )
    C = coefficient_rows(found, at)[:, free]
    with one_blas_thread(float(len(free)) * len(at) ** 2):
        V, R = solved_columns(Curvature(found, free), C, reported)
        effective = np.nan if found.penalised else float(len(free))
        scale = scale_of(found, n - effective)
        if asked.kind == "model":
            middle = V @ C.T + V @ R.T  # of A; less the penalty that of the losses
            if found.penalised:
                middle = V @ (C - R).T - (V * penalty) @ V.T
            middle *= 2.0 * scale if found.squared else 1.0
        else:
            middle = _projected(found, asked, V, free, n)
        step = -V @ found.gradient[free]
    return Estimated(np.empty((0, 0)), 0.5 * (middle + middle.T), step, effective, scale, n)


def coefficient_rows(found: FittedLikelihood, at: Ints) -> Array:
    """Rows that map all variables to the reported coefficients with these numbers, (m, p)."""
    k, width = found.weights.shape
    own, numbers = found.standardization, found.reported_variables[at]
    classes, features = np.divmod(numbers, width)
    rows = np.zeros((len(at), k, width))
    each = np.arange(len(at))
    rows[each, classes, features] = 1.0 / own.scale[features]
    for place in np.flatnonzero(features == width - 1):
        rows[place, classes[place], :-1] = -own.mean / own.scale[:-1]
    if k > 1:
        rows[:, found.reference] -= rows[each, classes]
    return rows.reshape(len(at), k * width)


@dataclass(frozen=True)
class Curvature:
    """The second derivative A of the penalised losses in the free variables."""

    found: FittedLikelihood
    free: Ints

    @property
    def penalty(self) -> Array:
        """Its part that is diagonal, (p,)."""
        own: Array = self.found.penalty[self.free]
        return own

    @property
    def diagonal(self) -> Array:
        """About that of A: standardised features have about the same curvature. (p,)."""
        return self.found.source.weight_sum + self.penalty

    def products(self, V: Array) -> Array:
        """A times directions, (m, p), in one pass over the rows."""
        found = self.found
        U = found.standardization.from_weights(found.weights)
        whole = whole_directions(found, self.free, V)
        asked = CurvatureProducts(found.objective.loss, U, whole, found.standardization)
        (image,) = found.source.total(asked)
        flat: Array = image.reshape(len(V), -1)[:, self.free]
        return flat + V * self.penalty


def whole_directions(found: FittedLikelihood, free: Ints, V: Array) -> Array:
    """Directions in all variables, (m, k, d + 1), from those in the free ones."""
    whole = np.zeros((len(V), *found.weights.shape))
    whole.reshape(len(V), -1)[:, free] = V
    return whole


def solved_columns(A: Curvature, C: Array, reported: Reported) -> Columns:
    """Conjugate gradients for all columns, from residuals that are computed anew now and then."""
    P = A.diagonal
    V, R = np.zeros_like(C), C.copy()
    least, open_ = np.inf, np.arange(len(C))
    floor, products = float(np.min(A.penalty / P)), 0
    wanted = np.sum(R * R / P, axis=1)  # of r'P^-1 r, before its share: first the residual's own
    for _ in range(RESTARTS):
        goal = (0.1 * ACCURACY) ** 2 * wanted[open_]
        change, eigenvalue, count = _conjugate(A, P, R[open_], goal, MOST_PRODUCTS - products)
        products, least = products + count, min(least, eigenvalue)
        V[open_] += change
        R[open_] = C[open_] - A.products(V[open_])
        length = np.sum(V * (C - R), axis=1)  # |v|^2 in the metric of A
        wanted = length * max(least / MARGIN, floor)
        open_ = np.flatnonzero(~(np.sum(R * R / P, axis=1) <= ACCURACY**2 * wanted))
        if not len(open_):
            return Columns(V, R)
        if products >= MOST_PRODUCTS:
            break
    name = reported.names[open_[0]]
    raise ValueError(
        f"the standard error of {name!r} is not accurate after {products} products with the second "
        "derivative: the feature is nearly a combination of others; leave some of them out, or use "
        "a penalty (l2 > 0)"
    )


def _conjugate(
    A: Curvature, P: Array, R: Array, goal: Array, most: int
) -> tuple[Array, float, int]:
    """Steps until ``r'P^-1 r`` is at most ``goal``: the change, the least Lanczos value, products.

    A column whose direction has no curvature ends there: A is singular along it.
    """
    V, R, D = np.zeros_like(R), R.copy(), R / P
    size = np.sum(R * D, axis=1)
    lengths: list[list[float]] = [[] for _ in V]
    ratios: list[list[float]] = [[] for _ in V]
    going, count = np.flatnonzero(size > goal), 0
    while len(going) and count < most:
        image = A.products(D[going])
        count += 1
        bend, reach = np.sum(D[going] * image, axis=1), np.sum(D[going] ** 2 * P, axis=1)
        curved: AnyArray = bend > FLAT * reach
        going, image, bend = going[curved], image[curved], bend[curved]
        length = size[going] / bend
        V[going] += length[:, None] * D[going]
        R[going] -= length[:, None] * image
        Z = R[going] / P
        new = np.sum(R[going] * Z, axis=1)
        ratio = new / size[going]
        D[going], size[going] = Z + ratio[:, None] * D[going], new
        for column, a, b in zip(going, length, ratio, strict=True):
            lengths[column].append(float(a))
            ratios[column].append(float(b))
        going = going[new > goal[going]]
    values = [_least_lanczos(*one) for one in zip(lengths, ratios, strict=True)]
    return V, min(values, default=np.inf), count


def _least_lanczos(lengths: list[float], ratios: list[float]) -> float:
    """The least eigenvalue of the tridiagonal matrix that the steps define (Lanczos)."""
    if not lengths:
        return np.inf
    a, b = np.array(lengths), np.array(ratios)
    diagonal = 1.0 / a
    diagonal[1:] += b[:-1] / a[:-1]
    values = eigvalsh_tridiagonal(diagonal, np.sqrt(b[:-1]) / a[:-1])
    return float(values[0])


def _projected(found: FittedLikelihood, asked: Covariance, V: Array, free: Ints, n: float) -> Array:
    """``v'cov(g) v`` for all columns: the products of the gradients of rows or clusters with v."""
    power = 1 if asked.weights == "frequency" else 2
    sums = ProjectedGradients(
        found.objective.loss,
        found.standardization.from_weights(found.weights),
        whole_directions(found, free, V),
        found.standardization,
        power,
        found.class_weight,
        asked.clusters,
        asked.count,
    )
    (total,) = found.source.total(sums)
    factor = few_factor(found, asked, n)
    return factor * (total if asked.clusters is None else total.T @ total)
