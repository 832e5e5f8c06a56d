"""Sums of the products ``z z'`` of rows with many different weights.

With few columns the products of all pairs of columns are computed once, and all sums together are a
single product of matrices. A symmetric matrix is then kept as its upper triangle, row by row.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .lazy import cached_property
from .types import Array, Ints

MOST_PAIRED = 128  # columns: with more, the product for each weight has the speed of BLAS by itself


@dataclass(frozen=True)
class PairProducts:
    """Sums of products of p columns, and symmetric matrices, in the form that suits p."""

    p: int

    @property
    def paired(self) -> bool:
        """Whether products of pairs are computed; if not, matrices are kept whole."""
        return self.p <= MOST_PAIRED

    @property
    def width(self) -> int:
        """Number of values of a matrix."""
        return self.p * (self.p + 1) // 2 if self.paired else self.p**2

    def of(self, Z: Array) -> Array:
        """What the sums need of the rows Z (n, p): the products of pairs, (width, n), or Z."""
        if not self.paired:
            return Z
        columns, products = np.ascontiguousarray(Z.T), np.empty((self.width, len(Z)))
        start = 0
        for i in range(self.p):
            np.multiply(columns[i:], columns[i], out=products[start : start + self.p - i])
            start += self.p - i
        return products

    def add_grams(self, products: Array, C: Array, total: Array) -> None:
        """Add ``sum_i C_im z_i z_i'`` for every column of C to (m, width)."""
        if self.paired:
            total += C.T @ products.T
            return
        for gram, weight in zip(total.reshape(-1, self.p, self.p), C.T, strict=True):
            gram += (products * weight[:, None]).T @ products

    def matrices(self, total: Array) -> Array:
        """The sums as matrices, (m, p, p)."""
        if not self.paired:
            return total.reshape(-1, self.p, self.p)
        (i, j), whole = self._upper, np.empty((len(total), self.p, self.p))
        whole[:, i, j] = total
        whole[:, j, i] = total
        return whole

    def forms_of(self, upper: Array) -> Array:
        """What ``forms`` needs of the upper triangles of matrices (m, p, p): (m, width)."""
        i, j = self._upper
        if self.paired:
            return upper[:, i, j] * np.where(i == j, 1.0, 2.0)
        whole = upper.copy()
        whole[:, j, i] = upper[:, i, j]
        return whole.reshape(len(upper), -1)

    def forms(self, products: Array, known: Array) -> Array:
        """``z_i' M_m z_i`` of matrices for which ``forms_of`` is known: (n, m)."""
        if self.paired:
            return np.asarray(products.T @ known.T)
        forms = np.empty((len(products), len(known)))
        for number, one in enumerate(known.reshape(-1, self.p, self.p)):
            np.einsum("ij,ij->i", products @ one, products, out=forms[:, number])
        return forms

    @cached_property
    def _upper(self) -> tuple[Ints, Ints]:
        return np.triu_indices(self.p)
