"""Rows with many features, for which linear programs over a working set are too slow.

Problem: w with ``z.w > 0`` for the rows of a working set, or weights > 0 with which few of them
cancel.
Algorithm: Newton's method for the squared hinge loss, ``min sum max(0, 1 - z.w)^2``, which is
piecewise quadratic, so the method ends after finitely many steps with an exact line search
(Mangasarian 2002). The minimum is 0 where w separates; otherwise its slopes ``max(0, 1 - z.w)`` are
weights with which the rows cancel, and by the theorem of Caratheodory (1911) at most D + 1 of the
rows are needed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve, lu, solve_triangular
from scipy.sparse import issparse
from scipy.sparse.linalg import lsmr

from ..numeric.types import AnyArray, Array, Ints
from . import thresholds
from .signed_rows import Matrix, dense, stacked
from .working_set import MAX_ROUNDS, TIE, WorkingSet

NEWTON_MAX_ITER = 60  # more show that rounding is the limit
PUSHES = 64  # rows taken out between two updates of the table of the others
SIGNIFICANT = 1e-9  # of the largest slope: smaller ones may be rounding
NOISE = 1e-13  # of the largest slope: a sum this small may be rounding
RIDGE = 1e-13  # of the trace of normal equations, which may be singular
REFINEMENTS = 2  # of a solution of normal equations
PIVOT_TOLERANCE = 1e-11  # of the largest pivot: smaller ones are dependent


class SquaredHingeNewton:
    """Answers the questions of a search on a working set of wide rows."""

    def __init__(self, working: WorkingSet) -> None:
        self.working = working
        self.slopes: Array | None = None
        """Weights with which the rows of the working set cancel, once known."""

    def separator(self) -> tuple[Array | None, Array | None]:
        """Weights of the features that separate all rows, or of few rows that cancel.

        Neither if the question is not decided.
        """
        W = self.direction()
        return (None, self.few()) if W is None else (W, None)

    def direction(self) -> Array | None:
        """Weights of the features that separate all rows.

        Otherwise ``slopes`` are weights with which rows cancel, unless the question is not decided.
        """
        working = self.working
        w = np.zeros(working.rows.dimension)
        for _ in range(MAX_ROUNDS):
            working.rounds += 1
            w, slopes = least_squared_hinge(working.scaled, w, working.products)
            if self._cancel(slopes):
                slopes = self._from_fewer(w, slopes)
                break
            W = working.coordinates.weights(w)
            low = working.rows.within_rounding_error(W, 1.0, working.step)
            if low.found == 0:
                return W
            if not working.add(low.ids):
                break
        if len(slopes) == len(working.ids) and self._cancel(slopes):
            self.slopes = slopes
        return None

    def few(self) -> Array | None:
        """Weights of few rows that cancel, from those of more."""
        slopes = self.slopes
        if slopes is None:
            return None
        columns = stacked(self.working.scaled.T, np.ones((1, len(slopes))))
        at, values = caratheodory(columns, slopes / slopes.sum())
        weights = np.zeros(len(slopes))
        weights[at] = values
        return weights

    def join(self, ids: Ints, weights: Array) -> bool:
        """Add rows to those that cancel; return whether they cancel together.

        Their own sum, with these weights, is to be a combination of the rows that cancel already.
        """
        working, slopes = self.working, self.slopes
        assert slopes is not None, "rows that cancel are known"
        working.add(ids)
        order = np.argsort(working.ids)
        at = order[np.searchsorted(working.ids, ids, sorter=order)]
        more, old = np.zeros(len(working.ids)), np.zeros(len(working.ids))
        old[: len(slopes)] = slopes
        more[at] = weights * working.norms[at]
        more *= slopes.max() / more.max()
        some = significant(old)
        shift = _shortest(working.scaled[some], -(more @ working.scaled))
        enough = max(1.0, 2.0 * float(np.max(-shift / old[some])))
        more += enough * old
        more[some] += shift
        self.slopes = more / more.max() if self._cancel(more) else None
        return self.slopes is not None

    def _cancel(self, slopes: Array) -> bool:
        """Whether the rows of the working set, with these weights, not all 0, sum to 0."""
        scaled = self.working.scaled
        size = slopes @ abs(scaled) + NOISE / TIE * slopes.max(initial=0.0)
        return bool(slopes.any() and np.all(np.abs(slopes @ scaled) <= TIE * size))

    def _from_fewer(self, w: Array, slopes: Array) -> Array:
        """Weights with which fewer rows cancel, if a part of the working set is enough."""
        order = np.random.default_rng(0).permutation(len(slopes))
        for share in (4, 7):
            some = np.sort(order[: share * self.working.rows.dimension])
            if len(some) == len(slopes):
                break
            part = np.zeros(len(slopes))
            part[some] = least_squared_hinge(self.working.scaled[some], w, self.working.products)[1]
            if self._cancel(part):
                return part
        return slopes

    def interior(self, start: Array) -> Array | None:
        """Weights >= 0 of few rows that take a sum to 0, from those with which rows cancel."""
        slopes, scaled = self.slopes, self.working.scaled
        if slopes is None or len(slopes) != len(self.working.ids):
            return None
        at = significant(slopes)
        shift = _shortest(scaled[at], -start)
        enough = max(0.0, float(np.max(-shift / slopes[at])))
        kept, values = caratheodory(scaled[at].T, shift + 1.5 * enough * slopes[at])
        weights = np.zeros(len(slopes))
        weights[at[kept]] = values
        size = np.abs(start) + weights @ abs(scaled)
        near = np.all(np.abs(start + weights @ scaled) <= TIE * size)
        return weights if near else None


def least_squared_hinge(
    Z: Matrix, w: Array, products: Callable[[int], None]
) -> tuple[Array, Array]:
    """A minimiser of the squared hinge loss from w, and the slopes there.

    ``products`` is called with the number of products with all rows, and may end the search.
    """
    margins = Z @ w
    equations = NormalEquations(Z) if _sparse_with_gram(Z) else None
    for _ in range(NEWTON_MAX_ITER):
        active = margins < 1.0
        slopes = np.where(active, 1.0 - margins, 0.0)
        if margins.min() > 1e-3:
            break
        gradient = slopes @ Z
        size = slopes @ abs(Z)
        if np.all(np.abs(gradient) <= 1e-14 * size):
            break
        if equations is not None:
            step, count = equations.step(active, slopes), 5
        else:
            step, count = _least_squares(Z[active], slopes[active])
        products(count)
        along = Z @ step
        length = _line(margins, along)
        moved = margins + length * along
        if not np.any((moved < 1.0) != active) and abs(length - 1.0) < 1e-9:
            w, margins = w + length * step, Z @ (w + length * step)
            break
        w = w + length * step
        margins = Z @ w
    return w, np.maximum(0.0, 1.0 - margins)


def significant(slopes: Array) -> Ints:
    """The slopes that are more than rounding."""
    return np.flatnonzero(slopes > SIGNIFICANT * slopes.max(initial=0.0))


def _sparse_with_gram(Z: Matrix) -> bool:
    return bool(issparse(Z) and Z.shape[1] <= thresholds.GRAM_DIMENSION)


class NormalEquations:
    """Least squares on the sparse rows that are active: Z'Z is updated by those that change."""

    def __init__(self, Z: Matrix) -> None:
        self.Z = Z
        self.products = np.zeros((Z.shape[1], Z.shape[1]))
        self.active = np.zeros(Z.shape[0], bool)

    def step(self, active: AnyArray, slopes: Array) -> Array:
        """The x that minimises ``|Z x - slopes|`` on the active rows."""
        for some, sign in ((active & ~self.active, 1.0), (self.active & ~active, -1.0)):
            if some.any():
                rows = self.Z[some]
                self.products += sign * (rows.T @ rows).toarray()
        self.active = active
        solve, rows, x = _factored(self.products), self.Z[active], np.zeros(self.Z.shape[1])
        for _ in range(1 + REFINEMENTS):
            x = x + solve(rows.T @ (slopes[active] - rows @ x))
        return x


def _factored(products: Array) -> Callable[[Array], Array]:
    """A solver of normal equations, with a ridge that makes them positive definite."""
    diagonal = np.diag_indices(len(products))
    ridge = RIDGE * float(np.trace(products)) or 1.0
    while True:
        shifted = products.copy()
        shifted[diagonal] += ridge
        try:
            factor = cho_factor(shifted, overwrite_a=True, check_finite=False)
        except np.linalg.LinAlgError:
            ridge *= 100.0
            continue
        return lambda right: cho_solve(factor, right, check_finite=False)


def _shortest(Z: Matrix, total: Array) -> Array:
    """The shortest weights of rows with this sum."""
    if not _sparse_with_gram(Z):
        most = 4 * len(total) + 200
        found: Array = lsmr(Z.T, total, atol=1e-15, btol=1e-15, maxiter=most)[0]
        return found
    solve, weights = _factored((Z.T @ Z).toarray()), np.zeros(Z.shape[0])
    for _ in range(1 + REFINEMENTS):
        weights = weights + Z @ solve(total - weights @ Z)
    return weights


def _least_squares(A: Matrix, b: Array) -> tuple[Array, int]:
    """The shortest x that minimises |A x - b|, and the number of products with A."""
    m, n = A.shape
    if issparse(A):
        most = 4 * min(m, n) + 200
        x, _, steps, *_ = lsmr(A, b, atol=1e-14, btol=1e-14, conlim=1e12, maxiter=most)
        return x, 2 * steps
    products = A.T @ A if m > n else A @ A.T
    products[np.diag_indices(min(m, n))] += 1e-13 * np.trace(products)
    factor = cho_factor(products)
    x = np.zeros(n)
    for _ in range(2):
        rest = b - A @ x
        x = x + (cho_solve(factor, A.T @ rest) if m > n else A.T @ cho_solve(factor, rest))
    return x, 5


def _line(margins: Array, along: Array) -> float:
    """Step length at which the derivative, which is increasing, is 0."""
    low, high = 0.0, 1.0
    while high < 1e6 and np.maximum(0.0, 1.0 - margins - high * along) @ along > 0.0:
        low, high = high, 2.0 * high
    for _ in range(60):
        middle = 0.5 * (low + high)
        if np.maximum(0.0, 1.0 - margins - middle * along) @ along > 0.0:
            low = middle
        else:
            high = middle
    # A quadratic piece ends the search exactly.
    slopes = np.where(margins + low * along < 1.0, 1.0 - margins, 0.0)
    curvature = float(along[slopes != 0.0] @ along[slopes != 0.0])
    return float(slopes @ along) / curvature if curvature > 0.0 else low


def caratheodory(A: Any, weights: Array) -> tuple[Ints, Array]:
    """Few independent columns of A, with weights >= 0 of the same combination.

    Columns are removed from a set of independent ones and the others, a chunk at a time: the weight
    of a column outside goes to those inside until it is 0, or until one of theirs is 0, and these
    two are exchanged.
    """
    rank = A.shape[0]
    kept = np.flatnonzero(weights > 0.0)
    kept = kept[np.argsort(-weights[kept], kind="stable")]
    inside, now = kept[: 2 * rank], weights.copy()
    rest = kept[2 * rank :]
    while True:
        inside, values = _pushed(A[:, inside], now[inside], inside)
        now[kept] = np.where(np.isin(kept, rest), now[kept], 0.0)
        now[inside] = values
        if len(rest) == 0:
            positive = values > 0.0
            return inside[positive], values[positive]
        inside, rest = np.append(inside, rest[:rank]), rest[rank:]


def _pushed(columns: Any, weights: Array, names: Ints) -> tuple[Ints, Array]:
    A = dense(columns)
    while True:
        order, L, U = lu(A.T, p_indices=True)
        pivots = np.abs(np.diag(U))
        known = pivots > PIVOT_TOLERANCE * pivots.max(initial=0.0)
        if known.all():
            break
        A = A[: len(pivots)][known]  # the others depend on these
    rank = len(pivots)
    order = np.argsort(order)
    names, weights = names[order], weights[order]
    inner, values = names[:rank].copy(), weights[:rank].copy()
    outer, others = names[rank:], weights[rank:]
    table = solve_triangular(L[:rank, :rank].T, L[rank:, :rank].T, unit_diagonal=True)
    for start in range(0, len(outer), PUSHES):
        some = range(start, min(start + PUSHES, len(outer)))
        changes = np.zeros((rank, len(some)))
        rows: list[int] = []
        for j in some:
            column = table[:, j].copy()
            for at, row in enumerate(rows):
                column += changes[:, at] * column[row]
            # An entry that is 0 but for rounding must not become a pivot.
            falling = np.flatnonzero(column < -PIVOT_TOLERANCE * np.abs(column).max())
            room = values[falling] / -column[falling]
            if len(falling) == 0 or room.min() >= others[j]:
                values = np.maximum(values + others[j] * column, 0.0)
                continue
            leave = int(falling[np.argmin(room)])
            amount = float(room.min())
            values = np.maximum(values + amount * column, 0.0)
            inner[leave], values[leave] = outer[j], others[j] - amount
            change = -column / column[leave]
            change[leave] = 1.0 / column[leave] - 1.0
            changes[:, len(rows)] = change
            rows.append(leave)
        later = table[:, some.stop :]
        if rows and later.shape[1]:
            used = changes[:, : len(rows)]
            small = np.eye(len(rows)) - np.tril(used[rows], -1)
            later += used @ solve_triangular(small, later[rows], lower=True, unit_diagonal=True)
    return inner, values
