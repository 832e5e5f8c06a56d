"""The largest margin: the point of the convex hull of the signed rows that is nearest to 0.

Problem: ``max min_i z_i.w`` over ``|w| = 1``; the same direction solves ``min |w|^2`` subject to
``z_i.w >= 1``, and its dual is ``min |sum lambda_i z_i|`` over weights of sum 1.
Input: signed rows and any direction with every margin > 0. Output: w, two bounds on the margin,
and the rows that pin it with their shares lambda.
Algorithm: the dual method of Goldfarb and Idnani (1983) on a working set. From w = 0 it adds the
row most in the way and drops rows whose multiplier would turn negative, one at a time. It never
forms products of rows with rows, so it stays accurate where the hull nearly touches 0. A pass over
all rows gives the lower bound ``min z.w / |w|`` and the rows that are missing; the multipliers
give the upper bound ``|sum lambda z|``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.linalg import qr, qr_delete, qr_insert, solve_triangular

from ..numeric.types import Array, Ints
from . import thresholds
from .budget import spend
from .signed_rows import Matrix, SignedRows, dense, stacked

RELATIVE, ABSOLUTE = 5e-7, 5e-15  # the bounds meet to twice this: relative, or in units of R
MAX_ROUNDS = 200  # of rows that are missing and are added


class Margin(NamedTuple):
    """Weights of norm 1, bounds on the largest margin, and the rows that pin it."""

    weights: Array
    lower: float
    upper: float
    ids: Ints
    share: Array  # of each of these rows in the nearest point


def novikoff_bound(radius: float, margin: float, n_classes: int) -> float:
    """The most mistakes of the online perceptron (Novikoff 1962); infinity if it overflows.

    ``(radius / margin)**2`` from zero weights with a constant step. Twice that for more than two
    classes: an update adds z = (x, 1) to one weight vector and -(x, 1) to another, so that
    ``|z|^2 <= 2 radius^2`` takes the place of ``radius^2`` in the proof.
    """
    if margin <= 0.0:  # too small for floating point
        return np.inf
    with np.errstate(over="ignore"):
        ratio = np.float64(radius) / margin
        return float(ratio**2 * (1 if n_classes == 2 else 2))


def largest_margin(rows: SignedRows, direction: Array) -> Margin:
    """From any separating direction (k, d + 1).

    What overflows on the way is not believed.
    """
    with np.errstate(all="ignore"):
        return _largest_margin(rows, direction)


def _largest_margin(rows: SignedRows, direction: Array) -> Margin:
    step = max(100, 3 * min(rows.dimension, 500))
    scale = float(np.ldexp(1.0, min(int(np.frexp(rows.radius)[1]), 1023)))
    ids = rows.below(direction, np.inf, step).ids
    Z = rows.gather(ids) / scale
    active: list[int] = []
    best = _of_direction(rows, direction)  # however hard the rest is, this one has margins > 0
    for _ in range(MAX_ROUNDS):
        active = goldfarb_idnani(_short(Z), active)
        w, share = _accurate(Z[active])
        found, low = _bounded(rows, ids[active], share, w, share @ Z[active], scale, step)
        best = _better(best, found)
        if best.upper - best.lower <= max(2 * RELATIVE * best.upper, 2 * ABSOLUTE * rows.radius):
            break
        new = np.setdiff1d(low, ids)
        if len(new) == 0:
            break
        ids = np.append(ids, new)
        Z = stacked(Z, rows.gather(new) / scale)
    return best


def _of_direction(rows: SignedRows, direction: Array) -> Margin:
    W = direction / np.abs(direction).max()  # its squares must not overflow
    W = W / np.linalg.norm(W)
    lower = max(0.0, float(rows.below(W, np.inf, 1).margins[0]))
    return Margin(W, lower, np.inf, np.empty(0, np.int64), np.empty(0))


def _bounded(
    rows: SignedRows, ids: Ints, share: Array, w: Array, point: Array, scale: float, step: int
) -> tuple[Margin, Ints]:
    size = float(np.sqrt(w @ w))
    W = (w / size).reshape(rows.shape)
    upper = float(np.sqrt(point @ point)) * scale
    low = rows.below(W, upper, step)
    lower = upper if low.found == 0 else float(low.margins[0])
    support = share > 0.0
    return Margin(W, lower, upper, ids[support], share[support]), low.ids


def _better(best: Margin, found: Margin) -> Margin:
    if not np.all(np.isfinite([found.lower, found.upper, *found.weights.ravel()])):
        return best
    if best.upper < found.upper:
        found = found._replace(upper=best.upper, ids=best.ids, share=best.share)
    return (
        found
        if found.lower >= best.lower
        else found._replace(lower=best.lower, weights=best.weights)
    )


class ActiveSet:
    """Rows on which ``z.w = 1``, with the factors Q R of their columns, updated row by row."""

    def __init__(self, Z: Array, active: list[int]) -> None:
        self.Z = Z
        self.active = list(active)
        self.Q: Any = None
        self.R: Any = None
        self._factors()

    def _factors(self) -> None:
        self.Q, self.R = qr(self.Z[self.active].T) if self.active else (None, None)

    def add(self, row: int) -> None:
        """One more row."""
        if self.active:
            at = len(self.active)
            self.Q, self.R = qr_insert(self.Q, self.R, self.Z[row], at, which="col")
        self.active.append(row)
        if len(self.active) == 1:
            self._factors()

    def drop(self, place: int) -> None:
        """The row at a place no longer."""
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
        """A row as a combination of these, and what is left of it."""
        s = len(self.active)
        if s == 0:
            return np.zeros(0), z
        parts = self.Q.T @ z
        return solve_triangular(self.R[:s], parts[:s]), self.Q[:, s:] @ parts[s:]


def goldfarb_idnani(Z: Array, active: list[int]) -> list[int]:
    """Rows that pin the shortest w with ``Z w >= 1``, from rows that pin it for some of them."""
    pinned = ActiveSet(Z, active)
    w, multipliers = pinned.solution()
    for _ in range(20 * (len(Z) + 10)):
        spend(100.0 + Z.size / 500.0)
        margins = Z @ w
        added = int(np.argmin(margins))
        if margins[added] >= 1.0 - RELATIVE / 4 or added in pinned.active:
            break
        if not _admit(pinned, added, w, multipliers):
            break  # no w has these margins: left to the caller's bounds
        w, multipliers = pinned.solution()
        while multipliers.min(initial=1.0) <= 0.0:  # rounding
            pinned.drop(int(np.argmin(multipliers)))
            w, multipliers = pinned.solution()
    return pinned.active


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
    if sp.issparse(Z):  # wide: the products of rows are all that fits
        multipliers = np.linalg.lstsq((Z @ Z.T).toarray(), ones, rcond=None)[0]
        w = Z.T @ multipliers
    else:
        Q, R = np.linalg.qr(Z.T)
        along = solve_triangular(R, ones, trans="T")
        w, multipliers = Q @ along, solve_triangular(R, along)
    shares = np.maximum(multipliers, 0.0)
    return w, shares / shares.sum()


def _short(Z: Matrix) -> Array:
    """Rows with the same products in no more coordinates than there are rows."""
    m, D = Z.shape
    if m >= D and not sp.issparse(Z):
        return np.asarray(Z)
    if m >= D or m * D <= thresholds.QR_VALUES:
        values = dense(Z)
        return values if m >= D else np.asarray(qr(values.T, mode="economic")[1].T)
    products = (Z @ Z.T).toarray() if sp.issparse(Z) else Z @ Z.T
    values, vectors = np.linalg.eigh(products)
    result: Array = vectors * np.sqrt(np.maximum(values, 0.0))
    return result
