"""The largest margin: the point of the convex hull of the signed rows that is nearest to 0.

Problem: ``max min_i z_i.w`` over ``|w| = 1``; the same direction solves ``min |w|^2`` subject to
``z_i.w >= 1``, and its dual is ``min |sum lambda_i z_i|`` over weights of sum 1.
Input: signed rows and any direction with every margin > 0. Output: w, two bounds on the margin,
and the rows that pin it with their shares lambda.
Algorithm: the dual method of Goldfarb and Idnani (1983) on a working set. From w = 0 it adds the
most violated row and drops rows whose multiplier would become negative, one at a time. It never
forms products of rows with rows, so it stays accurate where the hull nearly touches 0. A pass over
all rows gives the lower bound ``min z.w / |w|`` and the missing rows; the multipliers give the
upper bound ``|sum lambda z|``. If floating point leaves a gap, Wolfe's method continues in whole
numbers, as long as that is affordable. Both bounds include all rounding.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.linalg import qr, qr_delete, qr_insert, solve_triangular

from ..numeric.types import Array, Ints
from . import thresholds
from .bounds import Direction, lower_bound, upper_bound
from .budget import OutOfWork, limited_work, spend
from .nearest_point import Corral, minimised, started
from .rational import to_lattice
from .signed_rows import Matrix, SignedRows, dense, stacked

RELATIVE = 5e-7  # bounds that differ by at most twice this share of the margin agree
MAX_ROUNDS = 200  # of adding missing rows


class Margin(NamedTuple):
    """A direction of norm 1, bounds on the largest margin, and the rows that determine it."""

    direction: Direction
    lower: float
    upper: float
    ids: Ints
    share: Array  # of each of these rows in the nearest point

    def on(self, rows: SignedRows) -> float:
        """Lower bound on the margin of other rows by the same direction; 0 if there is none."""
        return lower_bound(rows, self.direction, self.upper, _step(rows))[0]

    @property
    def known(self) -> bool:
        return self.upper - self.lower <= 2 * RELATIVE * self.upper


class Working(NamedTuple):
    """Signed rows that may determine the margin."""

    ids: Ints
    Z: Matrix
    scaled: Matrix
    """Divided by a power of two near the longest row, so that squares do not overflow."""


def largest_margin(rows: SignedRows, direction: Array) -> Margin:
    """Compute from any separating direction (k, d + 1).

    Results that overflow are discarded.
    """
    with np.errstate(all="ignore"):
        best, working = _in_floats(rows, direction)
        if not best.known and rows.dimension <= thresholds.EXACT_MARGIN_DIMENSION:
            best = _in_whole_numbers(rows, best, working)
        return best


def _in_floats(rows: SignedRows, direction: Array) -> tuple[Margin, Working]:
    step = _step(rows)
    best, ids = _of_direction(rows, direction, step)  # available even if the rest fails
    working = _gathered(rows, ids)
    active: list[int] = []
    left = thresholds.FLOAT_MARGIN_WORK
    for _ in range(MAX_ROUNDS):
        try:
            with limited_work(left) as work:
                goldfarb_idnani(_short(working.scaled), active)
        except OutOfWork:  # the rows found until then still bound the margin from above
            left = 0.0
        else:
            left = work.left
        if not active:
            break
        w, share = _accurate(working.scaled[active])
        if not (np.all(np.isfinite(w)) and np.any(share > 0.0)):
            break
        found, low = _bounded(rows, working, active, w, share)
        best = _better(best, found)
        # A row of the working set is still the lowest: floating point cannot improve the result.
        if best.known or left <= 0.0 or len(low) == 0 or low[0] in working.ids:
            break
        working = _extended(rows, working, low)
    return best, working


def _step(rows: SignedRows) -> int:
    """Number of rows that are added to the working set at a time."""
    return max(100, 3 * min(rows.dimension, 500))


def _gathered(rows: SignedRows, ids: Ints) -> Working:
    Z = rows.gather(ids)
    return Working(ids, Z, Z / _scale(rows))


def _extended(rows: SignedRows, working: Working, low: Ints) -> Working:
    new = _gathered(rows, np.setdiff1d(low, working.ids))
    return Working(
        np.append(working.ids, new.ids),
        stacked(working.Z, new.Z),
        stacked(working.scaled, new.scaled),
    )


def _scale(rows: SignedRows) -> float:
    return float(np.ldexp(1.0, min(int(np.frexp(rows.radius)[1]), 1023)))


def _of_direction(rows: SignedRows, direction: Array, step: int) -> tuple[Margin, Ints]:
    W = direction / np.abs(direction).max()  # its squares must not overflow
    W = W / np.linalg.norm(W)
    w = Direction(W, np.zeros_like(W))
    lower, low = lower_bound(rows, w, np.inf, step)
    lowest, alone = low.ids[:1], np.ones(1)
    return Margin(w, lower, upper_bound(rows.gather(lowest), alone), lowest, alone), low.ids


def _bounded(
    rows: SignedRows, working: Working, active: list[int], w: Array, share: Array
) -> tuple[Margin, Ints]:
    W = (w / float(np.sqrt(w @ w))).reshape(rows.shape)
    support = share > 0.0
    at, share = np.array(active)[support], share[support]
    upper = upper_bound(working.Z[at], share)
    direction = Direction(W, np.zeros_like(W))
    lower, low = lower_bound(rows, direction, upper, _step(rows))
    return Margin(direction, lower, upper, working.ids[at], share), low.ids


def _better(best: Margin, found: Margin) -> Margin:
    if not found.upper <= best.upper:
        found = found._replace(upper=best.upper, ids=best.ids, share=best.share)
    return (
        found
        if found.lower >= best.lower
        else found._replace(lower=best.lower, direction=best.direction)
    )


def _in_whole_numbers(rows: SignedRows, best: Margin, working: Working) -> Margin:
    """Wolfe's method from the combination that floating point found, within the limit of work."""
    corral = None
    share = np.zeros(len(working.ids))
    share[[int(np.flatnonzero(working.ids == number)[0]) for number in best.ids]] = best.share
    try:
        with limited_work(thresholds.EXACT_MARGIN_WORK):
            start = started(working.Z, share)
            while True:
                numbers, exponent = to_lattice(working.Z)
                corral = minimised(numbers, exponent, start)
                while (more := corral.extended(numbers)) is not None:
                    corral = minimised(numbers, exponent, more)
                found, low = _of_corral(rows, working, corral)
                best = _better(best, found)
                if best.known or np.all(np.isin(low, working.ids)):
                    return best
                working, start = _extended(rows, working, low), corral
    except OutOfWork:
        return best if corral is None else _better(best, _of_corral(rows, working, corral)[0])


def _of_corral(rows: SignedRows, working: Working, corral: Corral) -> tuple[Margin, Ints]:
    w, upper = corral.direction(), corral.distance()
    w = w._replace(
        weights=w.weights.reshape(rows.shape), correction=w.correction.reshape(rows.shape)
    )
    lower, low = lower_bound(rows, w, upper, _step(rows))
    share = np.array([float(s) for s in corral.share])
    return Margin(w, lower, upper, working.ids[corral.places], share), low.ids


class ActiveSet:
    """Rows on which ``z.w = 1``, with the factors Q R of their columns, updated row by row.

    The given list of these rows is updated, too.
    """

    def __init__(self, Z: Array, active: list[int]) -> None:
        self.Z = Z
        self.active = active
        self.Q: Any = None
        self.R: Any = None
        self._factors()

    def _factors(self) -> None:
        self.Q, self.R = qr(self.Z[self.active].T) if self.active else (None, None)

    def add(self, row: int) -> None:
        if self.active:
            at = len(self.active)
            self.Q, self.R = qr_insert(self.Q, self.R, self.Z[row], at, which="col")
        self.active.append(row)
        if len(self.active) == 1:
            self._factors()

    def drop(self, place: int) -> None:
        self.active.pop(place)
        if self.active:
            self.Q, self.R = qr_delete(self.Q, self.R, place, which="col")

    def solution(self) -> tuple[Array, Array]:
        """The shortest w with ``z.w = 1`` on these rows, and its multipliers."""
        s = len(self.active)
        if s == 0:
            return np.zeros(self.Z.shape[1]), np.zeros(0)
        along = solve_triangular(self.R[:s], np.ones(s), trans="T")
        return self.Q[:, :s] @ along, solve_triangular(self.R[:s], along)

    def split(self, z: Array) -> tuple[Array, Array]:
        """A row as a combination of these, and the remainder."""
        s = len(self.active)
        if s == 0:
            return np.zeros(0), z
        parts = self.Q.T @ z
        return solve_triangular(self.R[:s], parts[:s]), self.Q[:, s:] @ parts[s:]


def goldfarb_idnani(Z: Array, active: list[int]) -> None:
    """Find the rows that determine the shortest w with ``Z w >= 1``, from those for a subset.

    The list is updated. Out of work, it has the rows for another subset.
    """
    pinned = ActiveSet(Z, active)
    w, multipliers = pinned.solution()
    for _ in range(20 * (len(Z) + 10)):
        spend(100.0 + Z.size / 500.0 + Z.shape[1] ** 2 / 40.0)  # products, and changes of Q
        margins = Z @ w
        added = int(np.argmin(margins))
        if margins[added] >= 1.0 - RELATIVE / 4 or added in pinned.active:
            break
        if not _admit(pinned, added, w, multipliers):
            break  # no w has these margins: the caller's bounds decide
        w, multipliers = pinned.solution()
        while multipliers.min(initial=1.0) <= 0.0:  # rounding
            pinned.drop(int(np.argmin(multipliers)))
            w, multipliers = pinned.solution()


def _admit(pinned: ActiveSet, added: int, w: Array, multipliers: Array) -> bool:
    """Move w until the added row has ``z.w = 1``, dropping rows whose multipliers reach 0."""
    z = pinned.Z[added]
    while True:
        shrink, away = pinned.split(z)
        square = float(away @ away)
        full = (1.0 - z @ w) / square if square > 1e-28 * float(z @ z) else np.inf
        falling = shrink > 0.0
        part = float(np.min(multipliers[falling] / shrink[falling], initial=np.inf))
        length = min(full, part)
        if not np.isfinite(length):
            return False
        if full <= part:
            pinned.add(added)
            return True
        multipliers = multipliers - length * shrink
        w = w + length * away if np.isfinite(full) else w
        gone = int(np.argmin(np.where(falling, multipliers, np.inf)))
        pinned.drop(gone)
        multipliers = np.delete(multipliers, gone)


def _accurate(Z: Matrix) -> tuple[Array, Array]:
    """The shortest w with ``Z w = 1``, and shares whose combination is ``w / |w|^2``."""
    ones = np.ones(Z.shape[0])
    if sp.issparse(Z):  # wide: only the products of rows fit in memory
        multipliers = np.linalg.lstsq((Z @ Z.T).toarray(), ones, rcond=None)[0]
        w = Z.T @ multipliers
    else:
        Q, R = np.linalg.qr(Z.T)
        along = solve_triangular(R, ones, trans="T")
        w, multipliers = Q @ along, solve_triangular(R, along)
    shares = np.maximum(multipliers, 0.0)
    return w, shares / shares.sum()


def _short(Z: Matrix) -> Array:
    """Rows with the same products in at most as many coordinates as there are rows."""
    m, D = Z.shape
    spend(min(m, D) * m * (D if m < D else 0) / 5000.0)
    if m >= D and not sp.issparse(Z):
        return np.asarray(Z)
    if m >= D or m * D <= thresholds.QR_VALUES:
        values = dense(Z)
        return values if m >= D else np.asarray(qr(values.T, mode="economic")[1].T)
    products = (Z @ Z.T).toarray() if sp.issparse(Z) else Z @ Z.T
    values, vectors = np.linalg.eigh(products)
    result: Array = vectors * np.sqrt(np.maximum(values, 0.0))
    return result
