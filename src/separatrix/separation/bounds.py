"""Bounds on the largest margin that include all rounding.

A direction w proves the lower bound ``min z.w / |w|``, a convex combination of signed rows the
upper bound ``|sum lambda z|``. Sums are compensated (Dot2 of Ogita, Rump and Oishi, 2005), so that
both stay sharp where large terms cancel, as far from the origin; the remaining error is subtracted
from the lower bound and added to the upper one.
"""

from __future__ import annotations

from fractions import Fraction
from math import fsum, hypot, inf, sqrt
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ..numeric.tolerances import EPS, SMALLEST_FLOAT
from ..numeric.types import Array
from ..rows import CsrRows, DenseRows, Rows
from .rational import Exact, root_bounds, to_lattice
from .signed_rows import SUMMABLE_POWER, LowMarginRows, Matrix, SignedRows, dense

FEW_ROUNDINGS = 8 * EPS  # relative error that exceeds the effect of several rounded operations


class Direction(NamedTuple):
    """A direction ``weights + correction``, (k, width) each: twice the digits of a float."""

    weights: Array
    correction: Array
    numbers: Exact | None = None
    """The same up to its length in whole numbers, if twice the digits may not suffice."""

    def exact_margin(self, Z: Array) -> float:
        """The smallest ``z.w / |w|``, rounded down; 0 if it is not positive."""
        if self.numbers is None:
            raise ValueError("a direction in floating point")
        numbers, exponent = to_lattice(Z)
        smallest = int(numbers.dot(self.numbers).min())
        if smallest <= 0:
            return 0.0
        square = Fraction(smallest**2, int(self.numbers.dot(self.numbers)))
        return root_bounds(square * Fraction(4) ** exponent)[0]


def lower_bound(
    rows: SignedRows, w: Direction, at_most: float = inf, most: int = 1
) -> tuple[float, LowMarginRows]:
    """A number that ``min z.w / |w|`` is not below, and the ``most`` rows of smallest ``z.w``.

    ``|w|`` is about 1. All rows whose ``z.w`` is not above ``at_most``, even if rounding hides it,
    are among the returned rows. A bound of 0 is uninformative unless w is known to separate the
    rows.
    """
    given, bound_of_rest = w, at_most
    power = int(np.max(np.frexp(w.weights)[1] + np.frexp(rows.largest)[1])) - SUMMABLE_POWER
    if power > 0:  # products that could overflow: the margin does not depend on the length of w
        w = Direction(np.ldexp(w.weights, -power), np.ldexp(w.correction, -power))
        at_most = float(np.ldexp(at_most, -power))
    size = np.abs(w.weights) + np.abs(w.correction)
    terms = float(np.max(size @ rows.largest)) * (1 if rows.encoding.stacked == 1 else 2)
    lost = _lost(rows.width, terms)
    at_most = (at_most + 2.0 * lost) * (1.0 + FEW_ROUNDINGS)
    low = rows.lowest(w.weights, w.correction, at_most, most)
    smallest = float(low.margins[0]) if low.found else at_most
    if given.numbers is not None and 0 < low.found == len(low.ids):  # all others are larger
        return min(given.exact_margin(dense(rows.gather(low.ids))), bound_of_rest), low
    length = sqrt(fsum(np.square(size).ravel())) * (1.0 + FEW_ROUNDINGS)
    bound = (smallest - lost - FEW_ROUNDINGS * abs(smallest)) / length * (1.0 - FEW_ROUNDINGS)
    return (bound if 0.0 < bound < inf else 0.0), low


def upper_bound(Z: Matrix, share: Array) -> float:
    """A number that ``|sum share z| / sum share`` is not above, for shares >= 0."""
    high, low = _as_rows(Z).compensated_transpose_product(share[:, None])
    *point, total = np.abs(high + low)[0].tolist()
    sizes = (share @ abs(Z)).tolist()
    point = [
        p * (1.0 + FEW_ROUNDINGS) + _lost(len(share), s) for p, s in zip(point, sizes, strict=True)
    ]
    bound = hypot(*point) * (1.0 + FEW_ROUNDINGS) / (total * (1.0 - FEW_ROUNDINGS))
    return bound if bound == bound else inf


def mistake_bound(rows: SignedRows, margin: float) -> float:
    """Upper bound on the mistakes of the online perceptron (Novikoff 1962); infinity if it
    overflows.

    ``(R / margin)^2``, R the largest |(x, 1)|, from zero weights with a constant step. Twice that
    for more than two classes: an update adds (x, 1) to one weight vector and -(x, 1) to another, so
    that ``|z|^2 <= 2 R^2`` replaces ``R^2`` in the proof. A lower bound on the margin gives an
    upper bound on the mistakes.
    """
    if margin <= 0.0:  # too small for floating point
        return inf
    radius = rows.radius * (1.0 + rows.width * EPS + FEW_ROUNDINGS)
    with np.errstate(over="ignore"):
        ratio = np.float64(radius) / margin
        return float(ratio**2 * (1.0 + FEW_ROUNDINGS) * (1 if rows.encoding.stacked == 1 else 2))


def _lost(count: int, terms: float) -> float:
    """Error of a compensated sum of this many products beyond the rounding of its result."""
    return ((count + 8) * EPS) ** 2 * 1.01 * terms + 8 * (count + 1) * SMALLEST_FLOAT


def _as_rows(Z: Matrix) -> Rows:
    if not sp.issparse(Z):
        return DenseRows(np.ascontiguousarray(Z))
    return CsrRows(Z.data, Z.indices, Z.indptr, Z.shape[1])
