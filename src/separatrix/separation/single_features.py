"""Rows that one feature decides, or a weak separator: they are removed before any linear program.

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

from ..data import ArraySource, Block, Sum
from ..data.validation import check_rows
from ..numeric.types import AnyArray, Array, Ints
from ..rows import RowsLike, host_rows_of
from . import thresholds
from .faces import Face
from .null_space import null_space
from .signed_blocks import SignedRowEncoding
from .signed_rows import SignedRows

DENSE_FEATURES = 64  # most sparse features with c != 0 in a step: all their values are read


class Removal(NamedTuple):
    """A weak separator, a sum of single features: the rows that it decides are removed."""

    features: Ints
    weights: list[Fraction]
    bias: Fraction
    least: float  # lower bound on the margins of the rows that it removes
    most: Fraction  # upper bound on the sizes of the margins of all rows


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
    largest: Array  # largest absolute value of every feature, in all rows
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
            if np.count_nonzero(X) <= thresholds.SPARSE_SHARE * X.size:
                X = sp.csr_array(X)
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

    def independent(self, features: Ints) -> Ints:
        """Some of these features, of which the others and the intercept are combinations."""
        X = sp.csr_array(self.X[:, features]).astype(np.float64)
        first = int(self.intercept)  # kept, as the first column
        if first:
            X = sp.hstack([np.ones((X.shape[0], 1)), X], format="csr")
        return np.delete(features, null_space(X).dependent - first)

    def beyond(self, face: Face, features: Ints) -> Removal:
        """Remove the rows for which a weak separator of these features is strictly correct."""
        weights = [Fraction(w) for w in face.weights.each()]
        bias = weights.pop() if self.intercept else Fraction(0)
        at = np.flatnonzero(np.array(weights, object))
        weights = [weights[j] for j in at]
        reach = [abs(Fraction(float(v))) for v in self.largest[features[at]]]
        most = sum((abs(w) * r for w, r in zip(weights, reach, strict=True)), abs(bias))
        kept = np.ones(len(self.ids), bool)
        kept[face.strict] = False
        self._keep(kept)
        return Removal(features[at], weights, bias, face.least, most)

    def source(self, features: Ints) -> ArraySource:
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
