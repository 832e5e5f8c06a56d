"""A storage of its own: 8-bit values with a scale for every row, never converted to an array."""

from __future__ import annotations

import numpy as np

from separatrix.rows import DenseRows, Rows


class ToyRows(Rows):
    """``x = scale * bytes`` for every row. A few rows at a time are multiplied, as numbers."""

    def __init__(self, values, scale):
        self.values, self.scale = values, scale

    def numbers(self):
        return self.scale[:, None] * self.values

    shape = property(lambda self: self.values.shape)
    dtype = property(lambda self: np.dtype(np.float64))
    n_values = property(lambda self: self.values.size)
    nbytes = property(lambda self: self.values.nbytes + self.scale.nbytes)

    def part(self, start, stop):
        return ToyRows(self.values[start:stop], self.scale[start:stop])

    def take(self, at):
        return ToyRows(self.values[at], self.scale[at])

    def take_features(self, at):
        return ToyRows(self.values[:, at], self.scale)

    def features_as_dense(self, at):
        return self.take_features(at).numbers()

    def absolute(self):
        return ToyRows(np.abs(self.values), self.scale)

    @classmethod
    def concatenated(cls, parts):
        return cls(*(np.concatenate([getattr(p, n) for p in parts]) for n in ("values", "scale")))

    def to_dense(self):
        raise AssertionError("a batch solver filled in the rows")

    def scores(self, W, out=None):
        out = np.empty((len(self.scale), len(W))) if out is None else out
        out[:] = self.scale[:, None] * (self.values @ W[:, :-1].T) + W[:, -1]
        return out

    def transpose_product(self, coefficients, out):
        out[:, :-1] += (self.scale[:, None] * coefficients).T @ self.values
        out[:, -1] += coefficients.sum(axis=0)

    def squared_norms(self, out=None):
        out = np.empty(len(self.scale)) if out is None else out
        out[:] = self.scale**2 * (self.values.astype(float) ** 2).sum(axis=1)
        return out

    def row_products(self):
        x = self.values.astype(float)
        return self.scale[:, None] * (x @ x.T) * self.scale

    def moments(self, weight, group, shift, sum, squares):
        DenseRows(self.numbers()).moments(weight, group, shift, sum, squares)

    def compensated_scores(self, W):
        return DenseRows(self.numbers()).compensated_scores(W)

    def compensated_transpose_product(self, coefficients):
        return DenseRows(self.numbers()).compensated_transpose_product(coefficients)

    def standardized(self, standardization, dtype=np.float64):
        return standardization.rows(self.numbers(), dtype)
