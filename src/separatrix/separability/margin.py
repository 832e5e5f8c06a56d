"""The largest margin: the point of the convex hull of the signed rows that is nearest to 0.

Its direction is the separator of largest margin, its length that margin. The same separator is
the shortest w with ``z.w >= 1`` for all rows, which the dual method of Goldfarb and Idnani (1983)
finds on a working set: from w = 0 it adds the row most in the way and drops rows whose multiplier
would turn negative, one at a time. It never forms products of rows with rows, so it stays accurate
where the hull nearly touches 0. A pass over all rows gives the lower bound ``min z.w / |w|`` and
the rows that are missing; the multipliers give the upper bound ``|sum lambda z|``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ..typing import Array, Ints
from .rows import Matrix, SignedRows

RELATIVE, ABSOLUTE = 5e-7, 5e-15  # the bounds meet to twice this: relative, or in units of R
MOST_ROUNDS = 200
DENSE_ENTRIES = 4e7


class Margin(NamedTuple):
    """Weights of norm 1, bounds on the largest margin, and the rows that pin it."""

    weights: Array
    lower: float
    upper: float
    ids: Ints
    share: Array  # of each of these rows in the nearest point


def largest_margin(rows: SignedRows, direction: Array) -> Margin:
    """From any separating direction (k, d + 1)."""
    step = max(100, 3 * min(rows.dimension, 500))
    scale = float(2.0 ** np.round(np.log2(rows.radius)))
    ids = rows.below(direction, np.inf, step).ids
    Z = rows.gather(ids) / scale
    active: list[int] = []
    best: Margin | None = None
    for _ in range(MOST_ROUNDS):
        active = shortest(_short(Z), active)
        w, share = _accurate(Z[active])
        found, low = _bounded(rows, ids[active], share, w, share @ Z[active], scale, step)
        best = _better(best, found)
        if best.upper - best.lower <= max(2 * RELATIVE * best.upper, 2 * ABSOLUTE * rows.radius):
            break
        new = np.setdiff1d(low, ids)
        if len(new) == 0:
            break
        ids = np.append(ids, new)
        Z = _stacked(Z, rows.gather(new) / scale)
    assert best is not None
    return best


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


def _better(best: Margin | None, found: Margin) -> Margin:
    if best is None:
        return found
    if best.upper < found.upper:
        found = found._replace(upper=best.upper, ids=best.ids, share=best.share)
    return (
        found
        if found.lower >= best.lower
        else found._replace(lower=best.lower, weights=best.weights)
    )


def shortest(Z: Array, active: list[int]) -> list[int]:
    """Rows that pin the shortest w with ``Z w >= 1``, from rows that pin it for some of them."""
    w = np.zeros(Z.shape[1])
    multipliers = np.zeros(0)
    if active:
        w, multipliers = _on(Z[active])
    for _ in range(20 * (len(Z) + 10)):
        margins = Z @ w
        added = int(np.argmin(margins))
        if margins[added] >= 1.0 - RELATIVE / 4 or added in active:
            break
        multiplier = 0.0
        while True:
            z = Z[added]
            Q, R = (
                np.linalg.qr(Z[active].T) if active else (np.zeros((len(z), 0)), np.zeros((0, 0)))
            )
            along = Q.T @ z
            away = z - Q @ along
            away -= Q @ (Q.T @ away)
            shrink = np.linalg.solve(R, along) if active else along
            square = float(away @ away)
            full = (1.0 - z @ w) / square if square > (1e-14**2) * float(z @ z) else np.inf
            falling = shrink > 0.0
            part = np.min(multipliers[falling] / shrink[falling], initial=np.inf)
            length = min(full, part)
            if not np.isfinite(length):
                return active  # no w has these margins: left to the caller's bounds
            multipliers = multipliers - length * shrink
            multiplier += length
            if full <= part:
                active = [*active, added]
                w, multipliers = _on(Z[active])
                break
            w = w + length * away if np.isfinite(full) else w
            gone = int(np.argmin(np.where(falling, multipliers, np.inf)))
            active = active[:gone] + active[gone + 1 :]
            multipliers = np.delete(multipliers, gone)
        if multipliers.min(initial=0.0) < 0.0:  # rounding: begin again without these rows
            active = [a for a, m in zip(active, multipliers, strict=True) if m > 0.0]
            w, multipliers = _on(Z[active])
    return active


def _on(Z: Array) -> tuple[Array, Array]:
    """The shortest w with ``Z w = 1``, and its multipliers."""
    Q, R = np.linalg.qr(Z.T)
    w = Q @ np.linalg.solve(R.T, np.ones(len(Z)))
    return w, np.linalg.solve(R, Q.T @ w)


def _accurate(Z: Matrix) -> tuple[Array, Array]:
    """The shortest w with ``Z w = 1``, and shares whose combination is ``w / |w|^2``."""
    S = Z.toarray() if sp.issparse(Z) else Z
    w, multipliers = _on(S)
    shares = np.maximum(multipliers, 0.0)
    return w, shares / shares.sum()


def _short(Z: Matrix) -> Array:
    """Rows with the same products in no more coordinates than there are rows."""
    m, D = Z.shape
    if m >= D and not sp.issparse(Z):
        return np.asarray(Z)
    if m >= D or m * D <= DENSE_ENTRIES:
        dense = Z.toarray() if sp.issparse(Z) else Z
        return dense if m >= D else np.linalg.qr(dense.T, mode="r").T
    products = (Z @ Z.T).toarray() if sp.issparse(Z) else Z @ Z.T
    values, vectors = np.linalg.eigh(products)
    result: Array = vectors * np.sqrt(np.maximum(values, 0.0))
    return result


def _stacked(a: Matrix, b: Matrix) -> Matrix:
    return sp.vstack([a, b], format="csr") if sp.issparse(a) else np.vstack([a, b])
