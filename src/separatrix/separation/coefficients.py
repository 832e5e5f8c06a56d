"""Which coefficients of a logistic fit without penalty are infinite.

Problem: the signs of each w_j over the weak separators, {w : z.w >= 0 for all rows, not all 0},
along which the mean logistic loss only decreases (Albert and Anderson 1984).
Algorithm: w_j is identified if e_j lies in the span of all rows, and finite if it lies in the span
of the boundary rows, both by elimination modulo a prime. Weak separators vanish on the boundary. So
if a row is a multiple of e_j, up to boundary rows, its sign is that of w_j: this decides rare
categories. For other weights linear programs, ``max +-w_j``, decide which signs are reached.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from scipy.optimize import linprog

from ..numeric.types import AnyArray, Array, Ints
from . import modular, rational, thresholds
from .scales import rescaled
from .search import SeparabilitySearch, WeakSeparator
from .settled import Weights, rounded, spanned, spanning
from .signed_rows import SignedRows, dense

NEGLIGIBLE_TERM = 1e-9  # of the largest term w_j x_j


def infinite_coefficients(
    rows: SignedRows, direction: Array | None, boundary: Ints | AnyArray | None
) -> list[str]:
    """One word per feature, and the last for the intercept if there is one.

    The fit diverges along the weak separators. A row strictly inside the correct side has no
    influence in the limit, so the rows on the boundary keep coefficients finite: exactly the
    weights that these rows span. For the others a linear program decides the sign.
    """
    rows, powers = rescaled(rows)
    identified = spanned(rows, rows.all())[1].axes()
    if direction is None:  # overlapping
        return ["finite" if known else "not identified" for known in identified]
    on = np.empty(0, np.int64) if boundary is None else np.asarray(boundary, np.int64)
    span = spanned(rows, on)[1]
    pinned = span.axes()
    powers = np.append(powers, 0)[: rows.width]
    with np.errstate(over="ignore", under="ignore"):  # lost values are computed again
        direction = np.ldexp(rows.own(direction), powers)
    signs = WeightSigns(rows, direction)
    signs.by_single_rows(span, np.flatnonzero(identified & ~pinned), np.setdiff1d(rows.all(), on))
    words = []
    for j, known in enumerate(identified):
        if not known:
            words.append("not identified")
        elif pinned[j]:
            words.append("finite")
        else:
            words.append(signs.word(j))
    return words


def runs_away(rows: SignedRows, direction: Sequence[Fraction]) -> Ints:
    """Signs (k, width) of weights with the margins of a direction that need few features.

    Weights of features that repeat each other can be shifted between them without effect. A program
    minimises the sum of their sizes, where the intercept costs as much as all features together,
    and the selected ones are solved for in whole numbers.
    """
    k, d = rows.shape[0], rows.source.n_features
    rows, powers = rescaled(rows)
    each = rows.own(np.array(direction, object).reshape(k, d + 1))
    each = each * np.array([Fraction(2) ** int(p) for p in [*powers, 0]], object)[: rows.width]
    given = rational.common_denominator(each.ravel())
    signs: Ints = np.sign(given.numerators).astype(np.int64)
    if k == 1 or rows.count * rows.dimension <= thresholds.SPANNING_VALUES:
        basis, largest = spanning(rows, rows.all()), np.tile(rows.largest, k)
        columns = basis / np.where(largest > 0.0, largest, 1.0)
        prices = np.ones(rows.shape)
        prices[:, d:] = rows.width
        terms = rounded(given, rows.shape).ravel() * largest
        taken = _few(columns, terms, prices.ravel())
        numbers, exponents = rational.to_integers(basis)
        right = numbers.dot(rational.scale_by_powers_of_two(given.numerators, exponents))
        solved = rational.solve(numbers[:, taken], right)
        if solved is not None:
            signs = np.zeros_like(signs)
            signs[taken] = np.sign(solved.numerators).astype(np.int64)
    return signs.reshape(rows.shape)


def _few(columns: Array, terms: Array, prices: Array) -> Ints:
    """Columns of which few, or cheap, terms have the same combination."""
    terms = terms / np.abs(terms).max()
    both = np.hstack([columns, -columns])
    found = linprog(np.tile(prices, 2), A_eq=both, b_eq=columns @ terms)
    if found.status == 0:
        terms = found.x[: len(terms)] - found.x[len(terms) :]
    return np.flatnonzero(np.abs(terms) > NEGLIGIBLE_TERM * np.abs(terms).max())


class WeightSigns:
    """Which signs each weight has among the weak separators of two classes."""

    def __init__(self, rows: SignedRows, direction: Array) -> None:
        self.rows, self.search = rows, SeparabilitySearch(rows)
        self.reached = {1.0: np.zeros(rows.width, bool), -1.0: np.zeros(rows.width, bool)}
        self.excluded = {1.0: np.zeros(rows.width, bool), -1.0: np.zeros(rows.width, bool)}
        self._note(direction)

    def _note(self, W: Array) -> None:
        """A weak separator decides for every weight that is not negligible."""
        terms = W[0] * self.rows.largest
        size = float(np.abs(terms).max())
        if size < np.inf:
            for sign, reached in self.reached.items():
                reached |= sign * terms > NEGLIGIBLE_TERM * size

    def by_single_rows(self, boundary: modular.Span, features: Ints, ids: Ints) -> None:
        """Exclude signs by rows that are multiples of e_j, up to rows on the boundary.

        The direction is positive on such a row, so the multiple has the sign of its w_j.
        """
        axes = np.zeros((len(features), self.rows.dimension))
        axes[np.arange(len(features)), features] = 1.0
        lines = boundary.lines_modulo(axes)
        found: set[bytes] = set()
        for _, Z in self.rows.chunks(ids):
            found.update(boundary.lines_modulo(dense(Z)))
        for j, line in zip(features.tolist(), lines, strict=True):
            if line in found:
                for sign in (1.0, -1.0):
                    self.excluded[sign][j] = self.reached[-sign][j]

    def word(self, j: int) -> str:
        """The sign of one weight over all weak separators."""
        possible = [sign for sign in (1.0, -1.0) if self._reaches(j, sign)]
        if len(possible) != 1:
            return "infinite, sign not determined"
        return "+inf" if possible[0] > 0.0 else "-inf"

    def _reaches(self, j: int, sign: float) -> bool:
        """Whether some weak separator has a weight of this sign."""
        if self.reached[sign][j] or self.excluded[sign][j]:
            return bool(self.reached[sign][j])
        rows = self.rows
        objective = np.zeros(rows.dimension)
        objective[j] = sign
        right = np.zeros(rows.dimension, object)
        right[j] = int(-sign) << 1074

        def prove(weights: Array, _: Array) -> Weights | None:
            return self.search.solved(weights, right)

        found = self.search.improve(objective, prove)
        if found is None:  # not decided by floating point
            return not isinstance(self.search.exactly_improved(right), Weights)
        if isinstance(found, WeakSeparator):
            self._note(found.weights)
        return isinstance(found, WeakSeparator)
