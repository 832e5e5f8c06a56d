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
import scipy.sparse as sp
from scipy.optimize import linprog

from ..numeric.types import AnyArray, Array, Ints
from . import modular, rational, thresholds
from .rational import Fractions
from .scales import rescaled
from .search import SeparabilitySearch, WeakSeparator
from .settled import Weights, rounded, spanned, spanning
from .signed_rows import SignedRows, dense
from .weight_space import WeightSpace, weight_space, without_effect

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
    on = np.empty(0, np.int64) if boundary is None else np.asarray(boundary, np.int64)
    few = None if direction is None else weight_space(rows, on)
    if few is not None:
        identified: AnyArray = ~np.any(few.without_effect != 0.0, axis=1)
    else:
        identified = spanned(rows, rows.all())[1].axes()
    if direction is None:  # overlapping
        return ["finite" if known else "not identified" for known in identified]
    powers = np.append(powers, 0)[: rows.width]
    with np.errstate(over="ignore", under="ignore"):  # lost values are computed again
        direction = np.ldexp(rows.own(direction), powers)
    if few is not None:
        signs, pinned = WeightSigns(rows, direction, few), ~np.any(few.vectors != 0.0, axis=1)
        span, off = modular.Span(few.rows.dimension), few.rows.all()
    else:
        signs, span = WeightSigns(rows, direction), spanned(rows, on)[1]
        pinned, off = span.axes(), np.setdiff1d(rows.all(), on)
    signs.by_single_rows(span, np.flatnonzero(identified & ~pinned), off)
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
    prices = np.ones(rows.shape)
    prices[:, d:] = rows.width
    if (free := without_effect(rows)) is not None:
        return _shifted(given, free.vectors, rows, prices[0]).reshape(rows.shape)
    if k == 1 or rows.count * rows.dimension <= thresholds.SPANNING_VALUES:
        basis, largest = spanning(rows, rows.all()), np.tile(rows.largest, k)
        columns = basis / np.where(largest > 0.0, largest, 1.0)
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


def _shifted(given: Fractions, free: sp.csc_array, rows: SignedRows, prices: Array) -> Ints:
    """Signs of ``w + N c`` for the c of which few, or cheap, terms are not 0."""
    terms = rounded(given, rows.shape).ravel() * rows.largest
    terms = terms / np.abs(terms).max()
    one, moves = sp.eye_array(len(terms)), sp.diags_array(rows.largest) @ free
    found = linprog(
        np.concatenate([np.zeros(free.shape[1]), prices, prices]),
        A_eq=sp.hstack([moves, -one, one], format="csc"), b_eq=-terms,
        bounds=[(None, None)] * free.shape[1] + [(0, None)] * (2 * len(terms)),
    )  # fmt: skip
    signs: Ints = np.sign(given.numerators).astype(np.int64)
    if found.status != 0:
        return signs
    terms = found.x[free.shape[1] :][: len(terms)] - found.x[free.shape[1] + len(terms) :]
    gone = np.abs(terms) <= NEGLIGIBLE_TERM * np.abs(terms).max()
    N = free.toarray().astype(np.int64).astype(object)
    c = rational.solve(N[gone], -given.numerators[gone])
    if c is not None:
        signs = np.sign(given.numerators * c.denominator + N.dot(c.numerators)).astype(np.int64)
    return signs


class WeightSigns:
    """Which signs each weight has among the weak separators of two classes."""

    def __init__(self, rows: SignedRows, direction: Array, few: WeightSpace | None = None) -> None:
        """With a space of few weights, all questions are asked in its coordinates."""
        self.rows, self.few = rows, few
        self.asked = rows if few is None else few.rows
        self.search = SeparabilitySearch(self.asked)
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
        if len(features) == 0:
            return
        lines = boundary.lines_modulo(np.array([self._axis(j) for j in features]))
        found: set[bytes] = set()
        for _, Z in self.asked.chunks(ids):
            found.update(boundary.lines_modulo(dense(Z)))
        for j, line in zip(features.tolist(), lines, strict=True):
            if line in found:
                for sign in (1.0, -1.0):
                    self.excluded[sign][j] = self.reached[-sign][j]

    def _axis(self, j: int) -> Array:
        """The direction whose product with a weak separator is its weight j."""
        if self.few is not None:
            own: Array = self.few.vectors[j]
            return own
        axis = np.zeros(self.rows.dimension)
        axis[j] = 1.0
        return axis

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
        objective = sign * self._axis(j)
        right = -objective.astype(np.int64).astype(object) << 1074

        def prove(weights: Array, _: Array) -> Weights | None:
            return self.search.solved(weights, right)

        found = self.search.improve(objective, prove)
        if found is None:  # not decided by floating point
            return not isinstance(self.search.exactly_improved(right), Weights)
        if isinstance(found, WeakSeparator):
            W = found.weights
            self._note(W if self.few is None else (self.few.vectors @ W.T).T)
        return isinstance(found, WeakSeparator)
