"""Compressed sparse rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike
from scipy.sparse import csr_array

from .. import loops
from ..numeric.rows import CsrArrays, to_dense
from ..numeric.standardization import Standardization
from ..numeric.tolerances import VANISHING
from ..numeric.types import AnyArray, Array, Ints
from .base import Storage
from .host import HostRows
from .thresholds import FAR_FROM_0, FEW_VALUES, GRAM_ROWS, OWN_GRAM_FEATURES, PRODUCT_ROWS


class CsrRows(CsrArrays, HostRows):
    """Sparse rows. ``indptr`` may be a slice of a larger matrix's, so blocks need no copy."""

    __slots__ = ()
    storage: Storage = "csr"

    @property
    def X(self) -> CsrRows:  # noqa: N802
        """The rows themselves: compiled loops take them as a tuple of arrays."""
        return self

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.indptr) - 1, self.n_features

    @property
    def n_values(self) -> int:
        return int(self.indptr[-1] - self.indptr[0])

    @property
    def nbytes(self) -> int:
        return int(self.data.nbytes + self.indices.nbytes + self.indptr.nbytes)

    @property
    def row_values(self) -> float:
        return len(self.data) / max(len(self.indptr) - 1, 1)

    @property
    def row_bytes(self) -> float:
        return (self.data.itemsize + self.indices.itemsize) * self.row_values

    @property
    def values(self) -> AnyArray:
        return self.data

    @property
    def entries(self) -> slice:
        return slice(self.indptr[0], self.indptr[-1])

    def part(self, start: int, stop: int) -> CsrRows:
        """Some rows: only the offsets change."""
        return self._replace(indptr=self.indptr[start : stop + 1])

    def own(self, data: AnyArray | None = None) -> CsrRows:
        """The same rows with their own values only, or with other values in these places."""
        at = self.entries
        values = self.data[at] if data is None else data
        return CsrRows(values, self.indices[at], self.indptr - self.indptr[0], self.n_features)

    def take(self, at: Ints) -> CsrRows:
        sizes = np.diff(self.indptr)[at]
        indptr = np.concatenate([[0], np.cumsum(sizes)]).astype(self.indptr.dtype)
        entries = np.repeat(self.indptr[at] - indptr[:-1], sizes) + np.arange(indptr[-1])
        return CsrRows(self.data[entries], self.indices[entries], indptr, self.n_features)

    def take_features(self, at: Ints) -> CsrRows:
        return CsrRows.of_scipy(self.as_scipy()[:, at])

    @classmethod
    def of_scipy(cls, X: Any) -> CsrRows:
        """From a SciPy matrix; offsets get the type of the indices."""
        offsets = X.indptr.astype(X.indices.dtype, copy=False)
        return cls(X.data, X.indices, offsets, X.shape[1])

    def with_values(self, values: AnyArray) -> CsrRows:
        return self._replace(data=values)

    def per_feature(self, function: Any, numbers: AnyArray) -> CsrRows:
        at = self.entries
        data = function(self.data[at].astype(np.float64), numbers[self.indices[at]])
        return self.own(data)

    def places(self, entries: Ints) -> tuple[Ints, Ints]:
        rows = np.searchsorted(self.indptr, entries, side="right") - 1
        return rows, self.indices[entries]

    def named_arrays(self) -> tuple[dict[str, AnyArray], int | None]:
        """Values, indices and offsets that begin at 0; and the number of features."""
        data, indices, indptr, n_features = self.own()
        return {"data": data, "indices": indices, "indptr": indptr}, n_features

    @property
    def stored_by_feature(self) -> Ints:
        """How many values are stored of every feature."""
        return np.bincount(self.indices[self.entries], minlength=self.n_features)

    def squares(self, shift: Array | None) -> CsrRows:
        with np.errstate(over="ignore"):
            return self.own(self.data[self.entries].astype(np.float64) ** 2)

    @property
    def sound(self) -> bool:
        """Whether offsets match the values, and indices are in range and in order."""
        ends = self.indptr[0] == 0 and self.indptr[-1] == len(self.data)
        return bool(ends) and not loops.csr_flaw(self)

    @property
    def index_bytes(self) -> int:
        return int(self.indices.itemsize)

    def widened(self, n_features: int) -> CsrRows:
        """The same rows with more features, all zero."""
        return self._replace(n_features=n_features)

    def stored_features(self, most: int) -> AnyArray | None:
        """For every feature, whether some row stores it: (d,); None if more than ``most`` are."""
        return loops.stored_features(self, most)

    def to_dense(self) -> Array:
        return to_dense(self)

    def dense_features(self, start: int, stop: int) -> Array:
        some: Array = self.as_scipy()[:, start:stop].toarray().astype(np.float64, copy=False)
        return some

    def features_as_dense(self, at: Ints) -> Array:
        some: Array = self.as_scipy()[:, at].toarray().astype(np.float64, copy=False)
        return some

    def as_scipy(self) -> csr_array:
        """As a SciPy matrix, whose first offset must be 0."""
        at, offsets = self.entries, self.indptr - self.indptr[0]
        return csr_array((self.data[at], self.indices[at], offsets), shape=self.shape)

    def as_matrix(self) -> csr_array:
        return self.as_scipy()

    def row_products(self) -> Array:
        """All products of two rows, computed a few rows at a time to save memory."""
        x = self.as_scipy().astype(np.float64, copy=False)
        turned, out = x.T.tocsr(), np.empty((x.shape[0], x.shape[0]))
        for start in range(0, len(out), PRODUCT_ROWS):
            at = slice(start, start + PRODUCT_ROWS)
            out[at] = (x[at] @ turned).toarray()
        return out

    def sums_stored_alone(self, standardization: Standardization) -> bool:
        """Whether rows store few values and centring after the sum is accurate."""
        n, d = self.shape
        squares = float(np.sum(np.diff(self.indptr).astype(np.float64) ** 2))
        scale = standardization.scale[:-1]
        near = np.abs(standardization.mean) <= FAR_FROM_0 * scale
        squared = (scale > VANISHING) & (scale < 1.0 / VANISHING)  # and still a number
        return squares <= FEW_VALUES * n * d**2 and bool(np.all(near & squared))

    def add_gram(self, weight: Array, standardization: Standardization, out: Array) -> None:
        """Add ``gram`` from stored values only."""
        loops.gram(self, weight, standardization.mean, 1.0 / standardization.scale, out)

    def gram(
        self,
        weight: Array,
        standardization: Standardization,
        dtype: DTypeLike = np.float64,
    ) -> Array:
        """From stored values only if there are few; else from a few dense rows at a time."""
        n, d = self.shape
        total = np.zeros((d + 1, d + 1))
        if self.sums_stored_alone(standardization):
            self.add_gram(weight, standardization, total)
            return total
        if d > OWN_GRAM_FEATURES:
            return super().gram(weight, standardization, dtype)
        mean, factor = standardization.mean, 1.0 / standardization.scale
        for start in range(0, n, GRAM_ROWS):
            some = self.part(start, min(start + GRAM_ROWS, n)).to_dense()
            loops.gram(some, weight[start : start + GRAM_ROWS], mean, factor, total)
        return total

    def merged(self, at: Ints, held: AnyArray, new: CsrRows) -> CsrRows:
        order = np.argsort(np.concatenate([np.flatnonzero(held), np.flatnonzero(~held)]))
        return CsrRows.concatenated([self.take(at[held]), new]).take(order)

    @property
    def row_sizes(self) -> Ints:
        return np.diff(self.indptr)

    @classmethod
    def concatenated(cls, parts: Sequence[CsrRows]) -> CsrRows:
        lengths = np.concatenate([rows.row_sizes for rows in parts])
        return cls(
            np.concatenate([rows.data[rows.entries] for rows in parts]),
            np.concatenate([rows.indices[rows.entries] for rows in parts]),
            np.concatenate([[0], np.cumsum(lengths)]).astype(parts[0].indptr.dtype),
            parts[0].n_features,
        )

    def columns(self, features: Ints, means: Array) -> CsrRows:
        """Some features as rows, not centred: means would make them dense."""
        return CsrRows(*loops.csr_columns(self, features))
