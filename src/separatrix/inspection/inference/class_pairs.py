"""More than two classes as pairs of a row and a rival class, and the limit of softmax on them.

With one weight vector w_c per class, and that of the reference class fixed at 0, softmax has the
losses ``log(1 + sum_c exp(-z_ic.w))``, where ``z_ic.w = s_y - s_c`` is the lead of the own class y
of row i over the rival c. So each pair has a margin, as each row has for two classes, and weak
separators, boundary and infinite coefficients are those of the vectors z_ic (Albert and Anderson
1984; the pairs are Kesler's).

Limit. Let w0 be a weak separator whose margin is 0 on the boundary pairs B and positive on all
others. Then ``loss(w) >= loss_B(w)``, the losses without the terms of other pairs, and
``loss(w + t w0)`` tends to ``loss_B(w)`` as t grows. So the infimum is that of loss_B: every row
keeps its own class and those rivals that are on the boundary with it. A positive combination of all
of B vanishes, so loss_B is constant along all directions in which no margin of B falls, and it
attains its minimum, uniquely up to directions orthogonal to B. A coefficient is therefore finite if
it is a combination of vectors in B. Any other one that is a combination of all z_ic, with positive
factors off the boundary, tends to infinity on every minimising sequence, as these margins do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...data import Block, Source
from ...data.wrapped import BlockMap, MappedSource
from ...numeric.lazy import cached_property
from ...numeric.types import AnyArray, Array, Ints
from ...rows import CsrRows, RowsLike, Storage, host_rows_of, with_offset
from ...separation.thresholds import SPARSE_SHARE


class ClassPairs(MappedSource):
    """Pairs of a row and a rival class as rows of two classes without an intercept.

    Row i and class c have the number i k + c; the own class has the weight 0. The features are
    those of every class but the reference, the intercept last, class after class.
    """

    def __init__(self, source: Source, reference: int, intercept: bool) -> None:
        k = len(source.classes)
        super().__init__(source.without_offset, PairEncoding(k, reference, intercept))
        self.n_features = (k - 1) * (source.n_features + intercept)
        self.classes, self.k = np.array([0, 1]), k

    @property
    def n_rows(self) -> int:
        """Number of pairs."""
        return self.source.n_rows * (self.k - 1)

    @property
    def length(self) -> int:
        """Number of pairs, with those of the own class."""
        return self.source.length * self.k

    @property
    def weight_sum(self) -> float:
        """Every pair has the weight of its row."""
        return self.source.weight_sum * (self.k - 1)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Double precision."""
        return np.dtype(np.float64)

    @property
    def storage(self) -> Storage:
        """Sparse also for dense rows of many classes: most pairs have the features of two."""
        return "csr" if _mostly_zeros(self.k) else super().storage

    @property
    def row_bytes(self) -> float:
        """At most, for sparse rows."""
        wide = 2.0 if self.storage == "csr" else self.k - 1.0
        return wide * (2.0 * self.source.row_bytes + 8.0)

    @property
    def cancelling(self) -> AnyArray | float:
        return 0.0


@dataclass(frozen=True)
class PairEncoding(BlockMap):
    """Rows of k classes as pairs; label and features have the sign that leaves most positive."""

    k: int
    reference: int
    intercept: bool

    def __call__(self, block: Block) -> Block:
        """Copy the features of both classes of each pair."""
        k, n, y = self.k, len(block.y), np.asarray(block.y)
        sign = np.where(y == self.reference, -1.0, 1.0)
        one = np.eye(k)
        factors = sign[:, None, None] * (one[y][:, None, :] - one)  # 0 for the own class
        factors = np.delete(factors, self.reference, axis=2).reshape(n * k, k - 1)
        weight = np.where(one[y] == 1.0, 0.0, block.weights[:, None])
        X = host_rows_of(block.X).as_matrix()
        sparse = sp.issparse(X) or _mostly_zeros(k)
        pairs = _sparse(X, factors, self) if sparse else _dense(X, factors, self)
        return Block(pairs, np.repeat(sign, k), weight.ravel(), k * block.start)


def _mostly_zeros(k: int) -> bool:
    return SPARSE_SHARE * (k - 1) > 2.0


def _dense(X: AnyArray, factors: Array, of: PairEncoding) -> Array:
    x = np.ones((len(X), X.shape[1] + of.intercept))
    x[:, : X.shape[1]] = X
    each = factors.reshape(len(X), of.k, of.k - 1, 1) * x[:, None, None, :]
    return np.ascontiguousarray(each.reshape(len(factors), -1))


def _sparse(X: Any, factors: Array, of: PairEncoding) -> RowsLike:
    x = sp.csr_array(X, dtype=np.float64)
    if of.intercept:
        x = sp.csr_array(sp.hstack([x, np.ones((x.shape[0], 1))], format="csr"))
    pair, place = np.nonzero(factors)  # by pairs, then by classes
    each = x[pair // of.k]
    counts = np.diff(each.indptr)
    indices = each.indices + np.repeat(place * x.shape[1], counts)
    of_pair = np.bincount(pair, weights=counts, minlength=len(factors)).astype(np.int64)
    indptr = np.concatenate([[0], np.cumsum(of_pair)])
    values = each.data * np.repeat(factors[pair, place], counts)
    shape = len(factors), (of.k - 1) * x.shape[1]
    return CsrRows.of_scipy(sp.csr_array((values, indices, indptr), shape=shape))


class BoundaryPairs(MappedSource):
    """Rows with those rivals of their class that are on the boundary; the others drop out.

    Scores of other classes are minus infinity, and rows without such a rival have the weight 0.
    """

    def __init__(self, source: Source, pairs: Ints) -> None:
        self.pairs = np.sort(pairs)
        super().__init__(source, OtherRivalsAbsent(self.pairs, len(source.classes)))

    @property
    def has_offset(self) -> bool:
        """Yes: the minus infinity of a class that drops out."""
        return True

    @cached_property
    def n_rows(self) -> int:
        """Number of rows with a rival."""
        return len(np.unique(self.pairs // len(self.classes)))

    @cached_property
    def weight_sum(self) -> float:
        """Their weights."""
        return float(np.sum(self.class_weight_sums()))


@dataclass(frozen=True)
class OtherRivalsAbsent(BlockMap):
    """A block in which the other rivals of a row have no probability."""

    pairs: Ints
    """Numbers ``row * k + class``, in increasing order."""
    k: int

    @property
    def copies(self) -> bool:
        """No: only weights and the offset are new."""
        return False

    def __call__(self, block: Block) -> Block:
        n, k = len(block.y), self.k
        first, last = np.searchsorted(self.pairs, [k * block.start, k * (block.start + n)])
        kept = np.zeros((n, k), dtype=np.bool_)
        kept.ravel()[self.pairs[first:last] - k * block.start] = True
        weight = np.where(kept.any(axis=1), block.weights, 0.0)
        kept[np.arange(n), block.y] = True
        given, rows = block.rows.offset, block.rows
        offset = np.where(kept, 0.0 if given is None else given, -np.inf)
        return block._replace(X=with_offset(rows, offset).X, weight=weight)
