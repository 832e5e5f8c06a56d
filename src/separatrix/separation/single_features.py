"""Rows that one feature decides: they are removed before any linear program.

Problem: a rare category, an id or a leaked column often shows one class only. If all values of one
class are at least c, and all of the other at most c, then ``+-(x_j - c)`` is a weak separator:
no row is on its wrong side, and all rows are strictly correct where the feature differs from c.
Algorithm: such rows are removed, and the rest is examined again. A weak separator of the rest, plus
a large multiple of that of the removed rows, is one of all rows; so the verdict is that of the
rest, but rows that overlap there are the boundary here. Weights with which rows of the rest cancel
prove the same for all features: a feature that is left out is a multiple of the intercept there.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..data import ArraySource, Block, Source, Sum
from ..data.validation import check_rows
from ..numeric.types import AnyArray, Array, Ints
from ..rows import RowsLike, host_rows_of
from . import thresholds
from .budget import CountedSource, ReadBudget
from .rational import common_denominator
from .search import Proven, SeparabilitySearch
from .settled import Weights, rounded
from .signed_blocks import SignedRowEncoding
from .signed_rows import SignedRows

DENSE_FEATURES = 64  # most sparse features with c != 0 in a step: all their values are read


def decision(rows: SignedRows, exact: bool = False, budget: ReadBudget | None = None) -> Proven:
    """The verdict with its certificate: by single features first, then by a search on the rest."""
    size = rows.source.n_rows * rows.source.row_bytes
    if rows.encoding.stacked == 1 and size <= thresholds.SINGLE_FEATURE_BYTES:
        remaining = Remaining.of(rows)
        steps = remaining.removed()
        if steps:
            return _composed(rows, steps, remaining, exact, budget)
    return SeparabilitySearch(rows, exact, budget).decide()


class Removal(NamedTuple):
    """A weak separator, a sum of single features: the rows that it decides are removed."""

    features: Ints
    weights: list[Fraction]
    bias: Fraction
    least: float
    """Lower bound on the margins of the rows that it removes."""
    most: Fraction
    """Upper bound on the sizes of the margins of all rows."""


@dataclass(frozen=True)
class Present(Sum[tuple[list[RowsLike], list[Array], list[Ints]]]):
    """The rows that have signed rows, with their signs and numbers."""

    encoding: SignedRowEncoding

    def of(self, block: Block) -> tuple[list[RowsLike], list[Array], list[Ints]]:
        """Lists of one entry each."""
        signs = self.encoding.signs(block)
        at = np.flatnonzero(signs)
        X = block.X if len(at) == len(signs) else block.rows.take(at).X
        return [X], [signs[at]], [at + block.start]


@dataclass
class Remaining:
    """The rows that no step has removed, those of sign +1 first."""

    X: Any
    signs: Array
    ids: Ints
    largest: Array
    """Largest absolute value of every feature, in all rows."""
    intercept: bool

    @classmethod
    def of(cls, rows: SignedRows) -> Remaining:
        """All rows of a source, read once."""
        found, signs, ids = rows.source.total(Present(rows.encoding))
        parts = [host_rows_of(X).as_matrix() for X in found]
        if any(sp.issparse(part) for part in parts):
            X: Any = sp.csr_array(sp.vstack(parts, format="csr"))
        else:
            X = parts[0] if len(parts) == 1 else np.vstack(parts)
        sign = np.concatenate(signs)
        order = np.argsort(-sign, kind="stable")
        d = rows.source.n_features
        return cls(
            X[order], sign[order], np.concatenate(ids)[order], rows.largest[:d], rows.intercept
        )

    def removed(self) -> list[Removal]:
        """The steps that remove rows, until no feature shows one class only."""
        steps: list[Removal] = []
        while len(self.ids) and len(steps) < thresholds.SINGLE_FEATURE_STEPS:
            with np.errstate(all="ignore"):
                step = self._one_class() or self._step()
            if step is None:
                break
            steps.append(step)
        return steps

    def _one_class(self) -> Removal | None:
        """The intercept alone, if all remaining rows are of one class."""
        sign = self.signs[0]
        if not self.intercept or sign != self.signs[-1]:
            return None
        self._keep(np.zeros(len(self.ids), bool))
        return Removal(np.empty(0, np.int64), [], Fraction(int(sign)), 1.0, Fraction(1))

    def _step(self) -> Removal | None:
        positive = int(np.count_nonzero(self.signs > 0.0))
        (low, high), (other_low, other_high) = (
            _range(part) for part in (self.X[:positive], self.X[positive:])
        )
        least, most = np.minimum(low, other_low), np.maximum(high, other_high)
        sign, centre = np.zeros(len(low)), np.zeros(len(low))
        for direction, below, above in ((1.0, other_high, low), (-1.0, high, other_low)):
            possible, c = _between(below, above, self.intercept)
            chosen = possible & (sign == 0.0) & ((least < c) | (most > c))
            sign[chosen], centre[chosen] = direction, c[chosen]
        reach = np.maximum(most - centre, centre - least)
        at = np.flatnonzero((sign != 0.0) & np.isfinite(reach))
        return self._of_features(at, sign, centre, np.frexp(reach)[1]) if len(at) else None

    def _of_features(self, at: Ints, sign: Array, centre: Array, power: Ints) -> Removal | None:
        """Remove the rows on which some of these features differs from its centre."""
        if sp.issparse(self.X):
            far = at[centre[at] != 0.0]
            at = np.setdiff1d(at, far[DENSE_FEATURES:])
        margins = self._largest_term(at, centre, power)
        if margins is None:
            return None
        strict = margins > 0.0
        weights = [Fraction(int(sign[j])) / Fraction(2) ** int(power[j]) for j in at]
        c = [Fraction(float(centre[j])) for j in at]
        reach = [abs(Fraction(float(self.largest[j]))) + abs(v) for j, v in zip(at, c, strict=True)]
        least = 0.5 * float(margins[strict].min())
        self._keep(~strict)
        return Removal(
            at, weights, -sum((w * v for w, v in zip(weights, c, strict=True)), Fraction(0)), least,
            sum((abs(w) * r for w, r in zip(weights, reach, strict=True)), Fraction(0)),
        )  # fmt: skip

    def _largest_term(self, at: Ints, centre: Array, power: Ints) -> Array | None:
        """The largest ``|x_j - c_j|`` of every row, each feature divided by its power of two.

        None if one of them underflows.
        """
        if not sp.issparse(self.X):
            return _largest(self.X[:, at] - centre[at], power[at])
        far = at[centre[at] != 0.0]
        found = _largest(self.X[:, far].toarray() - centre[far], power[far])
        size = np.zeros(self.X.shape[1])
        near = np.setdiff1d(at, far)
        size[near] = np.ldexp(1.0, -power[near])
        terms = sp.csr_array(
            (np.abs(self.X.data) * size[self.X.indices], self.X.indices, self.X.indptr),
            shape=self.X.shape,
        )
        if found is None or np.any((terms.data == 0.0) & (self.X.data != 0.0) & (
                size[self.X.indices] != 0.0)):  # fmt: skip
            return None
        largest: Array = np.maximum(found, terms.max(axis=1).toarray().ravel())
        return largest

    def _keep(self, kept: AnyArray) -> None:
        self.X, self.signs, self.ids = self.X[kept], self.signs[kept], self.ids[kept]

    def varying(self) -> Ints:
        """Features that the intercept does not repeat; at least one, as a source needs it."""
        low, high = _range(self.X)
        found = np.flatnonzero(low != high if self.intercept else (low != 0.0) | (high != 0.0))
        return found if len(found) else np.zeros(1, np.int64)

    def source(self, features: Ints) -> ArraySource:
        """These rows, with some of the features."""
        X = self.X if len(features) == self.X.shape[1] else self.X[:, features]
        X = X if sp.issparse(X) else np.ascontiguousarray(X)
        return ArraySource(check_rows(X), self.signs, np.array([-1, 1]))


def _range(X: Any) -> tuple[Array, Array]:
    """The smallest and the largest value of every feature."""
    if not X.shape[0]:
        return np.full(X.shape[1], np.inf), np.full(X.shape[1], -np.inf)
    low, high = X.min(axis=0), X.max(axis=0)
    if sp.issparse(X):
        low, high = low.toarray(), high.toarray()
    return low.astype(np.float64).ravel(), high.astype(np.float64).ravel()


def _between(below: Array, above: Array, intercept: bool) -> tuple[AnyArray, Array]:
    """Whether there is a c with ``below <= c <= above``, and one such c: 0 if possible."""
    zero = (below <= 0.0) & (above >= 0.0)
    if not intercept:
        return zero, np.zeros(len(below))
    middle = 0.5 * below + 0.5 * above
    middle = np.where((below < middle) & (middle < above), middle, below)
    return below <= above, np.where(zero, 0.0, middle)


def _largest(differences: Array, power: Ints) -> Array | None:
    """The largest scaled size in every row; None if one underflows."""
    terms = np.ldexp(np.abs(differences.astype(np.float64)), -power)
    if np.count_nonzero(terms) != np.count_nonzero(differences):
        return None
    result: Array = terms.max(axis=1, initial=0.0)
    return result


def _composed(
    rows: SignedRows, steps: list[Removal], rest: Remaining, exact: bool, budget: ReadBudget | None
) -> Proven:
    """The verdict on all rows, from the steps and a search on the rows that they leave."""
    core, features = None, np.empty(0, np.int64)
    if len(rest.ids):
        features = rest.varying()
        source: Source = rest.source(features)
        if budget is not None:
            source = CountedSource(source, budget, len(rest.ids) / budget.n_rows)
        core = SeparabilitySearch(
            SignedRows(source, intercept=rows.intercept), exact, budget
        ).decide()
    w = common_denominator(_direction(rows, steps, core, features))
    found = Proven("separable", rounded(w, rows.shape), w, exact=True)
    if core is None:
        return found
    found.rounds = core.rounds
    if core.verdict == "separable":
        return found
    found.verdict, found.exact = "quasi-separable", core.exact
    found.witness, found.interior = _renamed(core.witness, rest.ids), _renamed(
        core.interior, rest.ids)  # fmt: skip
    on = rest.ids if core.boundary is None else rest.ids[core.boundary]
    found.boundary = np.sort(on)
    return found


def _direction(
    rows: SignedRows, steps: list[Removal], core: Proven | None, features: Ints
) -> list[Fraction]:
    """Weights with which every removed row is strictly correct, and the rest as in the core."""
    d = rows.source.n_features
    total = [Fraction(0)] * rows.width
    if core is not None and core.direction is not None:
        own = core.exact_direction
        each = own.each() if own is not None else map(Fraction, core.direction.ravel().tolist())
        for j, weight in zip([*features.tolist(), d], each, strict=False):
            total[j] = weight
    reach = [*map(Fraction, rows.largest.tolist())]
    most = sum((abs(w) * r for w, r in zip(total, reach, strict=True)), Fraction(0))
    for step in reversed(steps):
        times = Fraction(1)
        if most:
            ratio = 2 * most / Fraction(step.least)
            times = Fraction(2) ** (
                ratio.numerator.bit_length() - ratio.denominator.bit_length() + 1
            )
        for j, weight in zip(step.features.tolist(), step.weights, strict=True):
            total[j] += times * weight
        if rows.intercept:
            total[-1] += times * step.bias
        most += times * step.most
    return total


def _renamed(weights: Weights | None, ids: Ints) -> Weights | None:
    """The same weights with other row numbers, in increasing order."""
    if weights is None:
        return None
    renamed = ids[weights.ids]
    order = np.argsort(renamed, kind="stable")
    fractions = weights.fractions
    if fractions is not None:
        fractions = fractions._replace(numerators=fractions.numerators[order])
    return Weights(renamed[order], weights.floats[order], fractions)
