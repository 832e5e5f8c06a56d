"""Rows in a plain array."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike
from scipy.sparse import csr_array

from .. import loops
from ..numeric.standardization import Standardization
from ..numeric.types import AnyArray, Array, Ints
from .host import HostRows
from .thresholds import OWN_GRAM_FEATURES


class DenseRows(HostRows):
    """Rows in a C-contiguous array (n, d) of float32 or float64."""

    __slots__ = ("X",)

    X: AnyArray

    def __init__(self, X: AnyArray) -> None:
        self.X = X

    @property
    def shape(self) -> tuple[int, int]:
        n, d = self.X.shape
        return n, d

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.X.dtype

    @property
    def row_bytes(self) -> float:
        return float(self.X.itemsize * self.X.shape[1])

    @property
    def n_values(self) -> int:
        return int(self.X.size)

    @property
    def nbytes(self) -> int:
        return int(self.X.nbytes)

    @property
    def values(self) -> AnyArray:
        return self.X

    def part(self, start: int, stop: int) -> DenseRows:
        return DenseRows(self.X[start:stop])

    def take(self, at: Ints) -> DenseRows:
        """Some rows in the given order; runs of neighbours are views."""
        if len(at) and at[-1] - at[0] == len(at) - 1 and np.all(np.diff(at) == 1):
            return DenseRows(self.X[at[0] : at[-1] + 1])
        return DenseRows(self.X.take(at, axis=0))  # twice as fast as X[at]

    def take_features(self, at: Ints) -> DenseRows:
        return DenseRows(self.X.take(at, axis=1))

    def with_values(self, values: AnyArray) -> DenseRows:
        return DenseRows(values)

    def per_feature(self, function: Any, numbers: AnyArray) -> DenseRows:
        return DenseRows(function(self.X.astype(np.float64), numbers))

    def places(self, entries: Ints) -> tuple[Ints, Ints]:
        return np.divmod(entries, self.X.shape[1])

    def named_arrays(self) -> tuple[dict[str, AnyArray], int | None]:
        """The array, named ``X``."""
        return {"X": self.X}, None

    @property
    def stored_by_feature(self) -> Ints:
        n, d = self.X.shape
        return np.full(d, n)

    def squares(self, shift: Array | None) -> DenseRows:
        with np.errstate(over="ignore"):
            away = np.subtract(self.X, 0.0 if shift is None else shift, dtype=np.float64)
            return DenseRows(np.multiply(away, away, out=away))

    def to_dense(self) -> Array:
        return self.X.astype(np.float64, copy=False)

    def dense_features(self, start: int, stop: int) -> Array:
        return self.X[:, start:stop].astype(np.float64)

    def features_as_dense(self, at: Ints) -> Array:
        return self.X[:, at].astype(np.float64)

    def as_scipy(self) -> csr_array:
        """As a SciPy matrix without the zeros."""
        return csr_array(self.X)

    def as_matrix(self) -> AnyArray:
        return self.X

    def row_products(self) -> Array:
        rows = self.to_dense()
        out: Array = rows @ rows.T
        return out

    def mean(self) -> Array:
        mean: Array = self.X.mean(axis=0, dtype=np.float64)
        return mean

    def standardized(
        self, standardization: Standardization, dtype: DTypeLike = np.float64
    ) -> Array:
        return standardization.rows(self.X, dtype)

    def gram(
        self,
        weight: Array,
        standardization: Standardization,
        dtype: DTypeLike = np.float64,
    ) -> Array:
        """By a compiled loop for few features, by BLAS for many."""
        d = self.X.shape[1]
        if d > OWN_GRAM_FEATURES:
            return super().gram(weight, standardization, dtype)
        total = np.zeros((d + 1, d + 1))
        loops.gram(self.X, weight, standardization.mean, 1.0 / standardization.scale, total)
        return total

    def merged(self, at: Ints, held: AnyArray, new: DenseRows) -> DenseRows:
        rows = np.empty((len(held), new.X.shape[1]))
        if held.any():
            self.X.take(at, axis=0, out=rows, mode="clip")
        rows[~held] = new.X
        return DenseRows(rows)

    @property
    def row_sizes(self) -> Ints:
        n, d = self.X.shape
        return np.full(n, d)

    def columns(self, features: Ints, means: Array) -> DenseRows:
        """Some features as rows: centred copies in float64."""
        taken = self.X.take(features, axis=1).T.astype(np.float64, order="C")
        taken -= means[features, None]
        return DenseRows(taken)
