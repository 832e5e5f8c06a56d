"""The signed rows of a classification, read from any source one block at a time.

Two classes: ``z_i = y_i * (x_i, 1)``. Many classes: Kesler's pairs, for row i and a rival c the
vector with ``(x_i, 1)`` at the place of the row's own class and ``-(x_i, 1)`` at that of c. In both
cases weights W, (k, d + 1) stacked, classify without a mistake if every ``z.W > 0``. Without an
intercept the 1 is left out, and W is (k, d).
A signed row is identified by a number: the row's, or ``row * k + rival``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..data import Source
from ..numeric.lazy import cached_property
from ..numeric.tolerances import EPS, SMALLEST_FLOAT
from ..numeric.types import Array, Ints
from ..rows import RowsLike, host_rows_of
from . import thresholds
from .signed_blocks import CHUNK, MarginSelection, SignedRowEncoding
from .sums import Extremes, Gather, LowMargins, SelectedSum, StratifiedSample

SUMMABLE_POWER = 980  # of two: terms up to this size can be summed without overflow
GATHERED_VALUES = 1 << 22  # of signed rows that are read at once

Matrix = Any  # a float64 array or scipy.sparse.csr_array, one signed row per row


def stacked(a: Matrix, b: Matrix) -> Matrix:
    return sp.vstack([a, b], format="csr") if sp.issparse(a) else np.vstack([a, b])


def dense(Z: Matrix) -> Array:
    result: Array = Z.toarray() if sp.issparse(Z) else Z
    return result


class LowMarginRows(NamedTuple):
    """Signed rows of small margin, smallest first, and their total number."""

    ids: Ints
    margins: Array
    found: int


@dataclass(frozen=True)
class SignedRows:
    """All z of a source, or the z of two of its classes."""

    source: Source
    pair: tuple[int, int] | None = None
    intercept: bool = True
    sparse: bool = False  # whether rows are gathered as sparse arrays, whatever their length

    def __post_init__(self) -> None:
        # An offset is no part of a direction.
        object.__setattr__(self, "source", self.source.without_offset)

    @cached_property
    def encoding(self) -> SignedRowEncoding:
        """How rows are converted to signed rows."""
        return SignedRowEncoding(len(self.source.classes), self.pair, self.intercept)

    @property
    def width(self) -> int:
        """Length of (x, 1), or of x without an intercept."""
        return self.source.n_features + self.intercept

    @property
    def shape(self) -> tuple[int, int]:
        return self.encoding.stacked, self.width

    @property
    def dimension(self) -> int:
        """Length of z."""
        return self.encoding.stacked * self.width

    def own(self, W: Array) -> Array:
        """Weights (k, d + 1) for these rows: without an intercept the bias is left out."""
        return W[:, : self.width]

    @cached_property
    def count(self) -> int:
        return int(self.class_sizes.sum()) * max(1, self.encoding.stacked - 1)

    @property
    def rank_at_most(self) -> int:
        """Kesler's pairs do not depend on what all classes share."""
        return self.width * max(1, self.encoding.stacked - 1)

    @cached_property
    def _reach(self) -> tuple[Array, Array, float]:
        pieces, norms, counts = self.source.total(Extremes(self.encoding))
        return np.max(pieces, axis=0), np.sum(counts, axis=0), float(max(norms))

    @property
    def largest(self) -> Array:
        """Largest absolute value of every entry of (x, 1)."""
        return self._reach[0]

    @property
    def class_sizes(self) -> Array:
        return self._reach[1]

    @property
    def radius(self) -> float:
        """The largest |(x, 1)|."""
        return self._reach[2]

    def below(self, W: Array, bound: float, most: int | None = None) -> LowMarginRows:
        """Signed rows whose margin is not above a bound: the ``most`` lowest of them, or all."""
        return self._low(MarginSelection(W, at_most=bound), most)

    def lowest(self, W: Array, correction: Array, bound: float, most: int) -> LowMarginRows:
        """The same for W + correction, from sums of twice the working precision."""
        return self._low(MarginSelection(W, at_most=bound, correction=correction), most)

    def within_rounding_error(
        self, W: Array, error_multiples: float, most: int | None = None, size: Array | None = None
    ) -> LowMarginRows:
        """Signed rows whose margin is at most this multiple of its own largest rounding error.

        With one unit every other row is certainly positive, in whatever order its margin was
        summed. If the weights are rounded sums themselves, ``size`` is the size of their terms.
        """
        return self._low(self._selection(W, error_multiples, size), most)

    def _selection(self, W: Array, error_multiples: float, size: Array | None) -> MarginSelection:
        least = 1.1 * (self.width + 4) * EPS
        size = np.abs(W) if size is None else size
        power = int(np.max(np.frexp(size)[1] + np.frexp(self.largest)[1])) - SUMMABLE_POWER
        if power > 0:  # terms that overflow
            W, size = np.ldexp(W, -power), np.ldexp(size, -power)
        most = float(np.max(size @ self.largest)) * (1 if self.encoding.stacked == 1 else 2)
        lost = 4 * self.width * SMALLEST_FLOAT if error_multiples > 0.0 else -np.inf
        return MarginSelection(
            W, max(0.0, lost, error_multiples * least * most), error_multiples * least, size, lost
        )

    def _low(self, selection: MarginSelection, most: int | None) -> LowMarginRows:
        sum = LowMargins(self.encoding, selection, most)
        found, lowest, count = self.source.total(sum)
        ids, margins = np.concatenate(found), np.concatenate(lowest)
        order = np.argsort(margins, kind="stable")[:most]
        return LowMarginRows(ids[order], margins[order], count)

    def all(self) -> Ints:
        return np.sort(self.below(np.zeros(self.shape), 0.0).ids)

    def sample(self, most: int) -> Ints:
        """Signed rows from all over the data, equally many of each class if available."""
        rivals = max(1, self.encoding.stacked - 1)
        present = self.class_sizes > 0
        share = most / rivals / present.sum() / np.maximum(self.class_sizes, 1)
        (ids,) = self.source.total(StratifiedSample(self.encoding, share))
        return np.concatenate(ids)

    def gather(self, ids: Ints) -> Matrix:
        """The signed rows with these numbers, in the given order."""
        k = self.encoding.stacked
        order = np.argsort(ids, kind="stable")
        rows = ids[order] // k
        found, signs = self.source.total(Gather(self.encoding, rows))
        wide = self.sparse or self.dimension > thresholds.DENSE_DIMENSION
        x = _stack(found, self.intercept, wide)
        sign = np.concatenate(signs)
        if k == 1:
            z = x.multiply(sign[:, None]).tocsr() if wide else x * sign[:, None]
        else:
            z = _kesler(x, sign.astype(np.int64), ids[order] % k, k, wide)
        back = np.empty(len(ids), np.int64)
        back[order] = np.arange(len(ids))
        return z[back]

    def chunks(self, ids: Ints) -> Iterator[tuple[Ints, Matrix]]:
        """Signed rows in small chunks, if there may be many; they are read in larger ones."""
        many = CHUNK * max(1, GATHERED_VALUES // (CHUNK * self.dimension))
        for first in range(0, len(ids), many):
            Z = self.gather(ids[first : first + many])
            for start in range(0, Z.shape[0], CHUNK):
                some = slice(start, start + CHUNK)
                yield ids[first : first + many][some], Z[some]

    def total(
        self, W: Array | None = None, error_multiples: float = 0.0, size: Array | None = None
    ) -> tuple[Array, int]:
        """Sum of all z, or of those within this many rounding errors of 0, and their number."""
        selection = None if W is None else self._selection(W, error_multiples, size)
        total, count = self.source.total(SelectedSum(self.encoding, selection))
        return total.ravel(), count


def _stack(found: list[RowsLike], intercept: bool, wide: bool) -> Matrix:
    """Some rows, with a 1 appended for the intercept, as one float64 matrix."""
    rows = [host_rows_of(X) for X in found]
    if wide:
        parts = [some.as_scipy() for some in rows]
        x = sp.vstack(parts, format="csr").astype(np.float64)
        return sp.hstack([x, np.ones((x.shape[0], 1))], format="csr") if intercept else x
    d = rows[0].shape[1]
    x = np.ones((sum(some.shape[0] for some in rows), d + intercept))
    start = 0
    for some in rows:
        stop = start + some.shape[0]
        x[start:stop, :d] = some.to_dense()
        start = stop
    return x


def _kesler(x: Matrix, own: Ints, rivals: Ints, k: int, wide: bool) -> Matrix:
    n, width = x.shape
    if not wide:
        z = np.zeros((n, k, width))
        z[np.arange(n), own] = x
        z[np.arange(n), rivals] = -x
        return z.reshape(n, k * width)
    x = x.tocoo()
    rows, columns = x.coords
    at = (np.r_[rows, rows], np.r_[own[rows] * width + columns, rivals[rows] * width + columns])
    return sp.csr_array((np.r_[x.data, -x.data], at), shape=(n, k * width))
