"""Standardised rows ``z = (x - mean) / scale`` that are not copied: the rows x are summed.

Problem: rows that are read in blocks would have to be standardised again in each read. Algorithm: a
score of z is a score of x with other weights, and a sum of multiples of z follows from the sum of
the same multiples of x and of 1. So every product is computed on the rows x and corrected. Products
that do not follow in this way are computed from standardised copies, a few rows at a time.

The bias subtracts the means from the scores, so that rounding errors grow with their distance from
0: see :attr:`StandardizedRows.cancelling`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from ..losses import Loss
from ..numeric.dot import pair_difference
from ..numeric.standardization import Standardization
from ..numeric.types import AnyArray, Array, Ints
from .base import Rows, Storage
from .dense import DenseRows
from .exact_standardization import exact_gradient, exact_to_weights
from .given import concatenate_rows, host_rows_of, rows_of
from .host import HostRows
from .standardizer import Standardizer
from .thresholds import VALUES_AT_ONCE
from .vectors import VectorSpace
from .visits import Visits

NO_LOW_PART = np.zeros(1)


class StandardizedRows(Rows):
    """Rows of any storage, standardised in double precision without a copy.

    Products are those of the given rows, corrected; a copy is made for visits and for some rows.
    """

    __slots__ = ("_copy", "given", "standardizer", "weight")

    def __init__(self, given: Rows, standardizer: Standardizer, weight: Array | None = None):
        self.given, self.standardizer = given, standardizer
        self.weight = weight
        """Weights of the rows: those of weight 0 may overflow in a copy, and are 0 there."""
        self._copy: HostRows | None = None

    @property
    def standardization(self) -> Standardization:
        """The means and scales."""
        return self.standardizer.standardization

    # ---- storage -----------------------------------------------------------------------------

    @property
    def stored(self) -> Rows:
        """A standardised copy, made once; the rows themselves if their storage cannot be copied."""
        rows = self.given.stored
        if self._copy is None and isinstance(rows, HostRows):
            self._copy = self.standardizer.copied(rows, self.weight, dtype=self.dtype)
        return self if self._copy is None else self._copy

    @property
    def offset(self) -> Array | None:
        return self.given.offset

    @property
    def without_offset(self) -> StandardizedRows:
        plain = self.given.without_offset
        return self if plain is self.given else self._of(plain)

    def with_own_offset(self, offset: Array) -> StandardizedRows | None:
        given = self.given.with_own_offset(offset)
        return None if given is None else self._of(given)

    def _of(self, given: Rows) -> StandardizedRows:
        return StandardizedRows(given, self.standardizer, self.weight)

    def vectors_of(self, shape: tuple[int, int]) -> VectorSpace:
        return self.given.vectors_of(shape)

    @property
    def visitable(self) -> bool:
        return self.given.visitable

    @property
    def visits(self) -> Visits:
        return self.given.visits if self.stored is self else host_rows_of(self)

    @property
    def compiled(self) -> bool:
        return self.given.compiled

    @property
    def on_threads(self) -> bool:
        return self.given.on_threads

    @property
    def start_bytes(self) -> float:
        return self.given.start_bytes

    def keep(self, *values: AnyArray | None) -> None:
        self.given.keep(*values)

    def home(self) -> HostRows:
        return self.standardizer.copied(self.given.home(), self.weight, dtype=self.dtype)

    def class_curvature(
        self, y: AnyArray, loss: Loss, W: Array, weight: Array | None, of: int | None
    ) -> Array | None:
        V = self._in_space_of(W).to_weights(W)
        return self.given.class_curvature(y, loss, V, weight, of)

    def curvature_product(
        self, y: AnyArray, loss: Loss, W: Array, V: Array, weight: Array | None
    ) -> Array | None:
        """Both conversions: those of weights, and of a sum of rows."""
        how = self._in_space_of(W)
        given = how.to_weights(W), how.to_weights(V)
        found = self.given.curvature_product(y, loss, *given, weight)
        return None if found is None else how.gradient(found)

    def curvature_sum(
        self, y: AnyArray, loss: Loss, W: Array, weight: Array | None
    ) -> Array | None:
        V = self._in_space_of(W).to_weights(W)
        return self.given.curvature_sum(y, loss, V, weight)

    @property
    def storage(self) -> Storage:
        return self.given.storage

    @property
    def rounding(self) -> float:
        return self.given.rounding

    @property
    def cancelling(self) -> AnyArray | float:
        """Twice the distance of the means from 0, which the bias subtracts, and of the given."""
        mean, scale = self.standardization.mean, self.standardization.scale[:-1]
        cancelling: AnyArray = 2.0 * np.abs(mean / scale) + self.given.cancelling / scale
        return cancelling

    @property
    def shape(self) -> tuple[int, int]:
        return self.given.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """Double precision, also for float32: the values are not rounded to what is stored."""
        return np.dtype(np.float64)

    @property
    def n_values(self) -> int:
        return self.given.n_values

    @property
    def nbytes(self) -> int:
        return self.given.nbytes

    @property
    def row_values(self) -> float:
        return self.given.row_values

    @property
    def row_bytes(self) -> float:
        return self.given.row_bytes

    def part(self, start: int, stop: int) -> StandardizedRows:
        weight = None if self.weight is None else self.weight[start:stop]
        return StandardizedRows(self.given.part(start, stop), self.standardizer, weight)

    def take(self, at: Ints) -> Rows:
        weight = None if self.weight is None else self.weight[at]
        return StandardizedRows(self.given.take(at), self.standardizer, weight).stored

    @classmethod
    def concatenated(cls, parts: Sequence[StandardizedRows]) -> StandardizedRows:
        """Concatenate rows of one standardization that cannot be copied."""
        weight = None
        if parts[0].weight is not None:
            weight = np.concatenate([part.weight for part in parts if part.weight is not None])
        given = rows_of(concatenate_rows([part.given.X for part in parts]))
        return cls(given, parts[0].standardizer, weight)

    def take_features(self, at: Ints) -> StandardizedRows:
        """Some features of the given rows, with their means and scales."""
        some = self.standardization.of_features(at)
        return StandardizedRows(self.given.take_features(at), Standardizer(some), self.weight)

    def absolute(self) -> HostRows:
        return host_rows_of(self).absolute()

    def features_as_dense(self, at: Ints) -> Array:
        z, some = self.given.features_as_dense(at), self.standardization.of_features(at)
        z -= some.mean
        z /= some.scale[:-1]
        return z

    def to_dense(self) -> Array:
        return host_rows_of(self).to_dense()

    def underlying(self, W: Array) -> tuple[Rows, Array]:
        return self.given.underlying(self.standardization.to_weights(W))

    # ---- sums --------------------------------------------------------------------------------

    def value_gradient(
        self,
        y: AnyArray,
        loss: Loss,
        W: Array,
        weight: Array | None = None,
        gradient: Array | None = None,
        curvature: Array | None = None,
        float32_sums: bool = False,
    ) -> tuple[float, float]:
        """See :meth:`Rows.value_gradient`; in double precision, as the given rows are far from 0.

        The second derivatives are by the scores, which are the same.
        """
        standardization = self._in_space_of(W)
        V = standardization.to_weights(W)
        if gradient is None:
            return self.given.value_gradient(y, loss, V, weight, None, curvature)
        of_given = np.zeros_like(gradient)
        sums = self.given.value_gradient(y, loss, V, weight, of_given, curvature)
        gradient += standardization.gradient(of_given)
        return sums

    def value_gradient_on_threads(
        self,
        y: AnyArray,
        loss: Loss,
        W: Array,
        weight: Array | None,
        edges: Ints,
        threads: int,
        float32_sums: bool,
    ) -> tuple[float, float, Array]:
        """The sum over all blocks of given rows, corrected once."""
        standardization = self._in_space_of(W)
        value, mistakes, of_given = self.given.value_gradient_on_threads(
            y, loss, standardization.to_weights(W), weight, edges, threads, float32_sums=False
        )
        return value, mistakes, standardization.gradient(of_given)

    def _in_space_of(self, W: Any) -> Standardization:
        """The means and scales where the weights are: on the host, or where the rows are."""
        if isinstance(W, np.ndarray):
            return self.standardization
        return self.standardization.in_space(self.vectors_of(W.shape).asarray)

    def scores(self, W: Array, out: Array | None = None) -> Array:
        return self.given.scores(self._in_space_of(W).to_weights(W), out)

    def transpose_product(self, coefficients: Array, out: Array) -> None:
        of_given = np.zeros(out.shape)
        self.given.transpose_product(coefficients, of_given)
        out += self.standardization.gradient(of_given)

    def mean(self) -> Array:
        mean: Array = self.given.mean() - self.standardization.mean
        mean /= self.standardization.scale[:-1]
        return mean

    def hessian_product(self, curvature: Array, V: Array, out: Array) -> None:
        """Both conversions: those of weights, and of a sum of rows."""
        of_given = np.zeros(out.shape)
        self.given.hessian_product(curvature, self.standardization.to_weights(V), of_given)
        out += self.standardization.gradient(of_given)

    def moments(
        self,
        weight: Array | None,
        group: Ints | None,
        shift: Array | None,
        sum: Array,
        squares: Array,
    ) -> None:
        """About the place of the shift among the given rows, in units of the scales."""
        mean, scale = self.standardization.mean, self.standardization.scale[:-1]
        there: Array | None = mean if shift is None else mean + scale * shift
        if self.storage == "csr":
            there = None
        of_given, of_squares = np.zeros(sum.shape), np.zeros(squares.shape)
        self.given.moments(weight, group, there, of_given, of_squares)
        sum += of_given / scale
        squares += of_squares / scale / scale

    def compensated_scores(self, W: Array) -> tuple[Array, Array]:
        """From weights that are converted to twice the working precision, too."""
        high, low = exact_to_weights(self.standardization, W)
        found, rest = self.given.compensated_scores(high)
        added = self.given.without_offset.scores(low)
        return pair_difference(found, rest, -added, NO_LOW_PART)

    def compensated_transpose_product(self, coefficients: Array) -> tuple[Array, Array]:
        """Corrected to twice the working precision."""
        sums = self.given.compensated_transpose_product(coefficients)
        return exact_gradient(self.standardization, *sums)

    def weighted_correct(self, y: AnyArray, weight: Array | None, W: Array, right: Array) -> None:
        self.given.weighted_correct(y, weight, self.standardization.to_weights(W), right)

    def max_standardised_norm2(self, weight: Array | None, mean: Array, factor: Array) -> float:
        """One standardisation after the other is one of the given rows."""
        own, scale = self.standardization.mean, self.standardization.scale[:-1]
        return self.given.max_standardised_norm2(weight, own + scale * mean, factor / scale)

    def standardized(
        self, standardization: Standardization, dtype: DTypeLike = np.float64
    ) -> Array:
        return self.given.standardized(standardization.after(self.standardization), dtype)

    def sums_stored_alone(self, standardization: Standardization) -> bool:
        return self.given.sums_stored_alone(standardization.after(self.standardization))

    def add_gram(self, weight: Array, standardization: Standardization, out: Array) -> None:
        """Add ``gram`` from the stored values of the given rows."""
        self.given.add_gram(weight, standardization.after(self.standardization), out)

    def gram(
        self,
        weight: Array,
        standardization: Standardization,
        dtype: DTypeLike = np.float64,
    ) -> Array:
        """Products of the given rows, standardised once for both."""
        return self.given.gram(weight, standardization.after(self.standardization), dtype)

    # ---- from copies -------------------------------------------------------------------------

    def squared_norms(self, out: Array | None = None) -> Array:
        """From copies of a few rows at a time, which stay in the cache."""
        n = self.shape[0]
        norms = np.empty(n) if out is None else out
        size = max(1, int(VALUES_AT_ONCE * n // max(self.n_values, 1)))
        for start in range(0, n, size):
            at = slice(start, min(start + size, n))
            some = self.part(at.start, at.stop)
            rows = some.stored
            if rows is some:
                rows = DenseRows(some.given.standardized(self.standardization)[:, :-1].copy())
            rows.squared_norms(norms[at])
        return norms

    def row_products(self) -> Array:
        return host_rows_of(self).row_products()
